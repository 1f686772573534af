"""What LLVM is told of the arrays of regions: accesses to different ones are to different memory (metadata `alias.scope` and `noalias`).

Without it LLVM compares the arrays' addresses before each loop that it makes lanes of, and loads again what a store may have changed.
Local arrays may share memory with each other, and memory that is allocated as the program runs may go from one array to another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from polyml.model.core.scop import Array, Role

NAME = "array scopes"  # of the metadata among a function's declarations
_MOST = 24  # of owners, since the text grows with their square
_LOCAL = "local arrays"


@dataclass(frozen=True)
class ArrayScopes:
    """The ArrayScopes of a kernel are owners of memory: each argument, each result, and all local arrays together.

    owners: their names, each of which has a scope
    """

    owners: tuple[str, ...] = ()

    @classmethod
    def of(cls, arrays: Sequence[Array], aliased: bool) -> ArrayScopes:
        """Returns the scopes of a kernel's arrays; none where arguments may share memory. aliased: whether they may"""
        owners = () if aliased else tuple(dict.fromkeys(filter(None, map(_owner, arrays))))
        return cls(owners) if 1 < len(owners) <= _MOST else cls()

    def of_access(self, array: Array) -> str:
        """Returns what stands behind a load or a store of an element."""
        owner = _owner(array)
        if owner not in self.owners:
            return ""
        own, others = (1 + part * len(self.owners) + self.owners.index(owner) for part in (1, 2))
        return f", !alias.scope !{own}, !noalias !{others}"

    def text(self) -> str:
        """Returns the definitions of the metadata."""
        count = len(self.owners)
        scopes = [f"!{1 + i}" for i in range(count)]
        lines = ['!0 = distinct !{!0, !"arrays"}']
        lines += [f'{scope} = distinct !{{{scope}, !0, !"{owner}"}}' for scope, owner in zip(scopes, self.owners)]
        lines += [f"!{1 + count + i} = !{{{scope}}}" for i, scope in enumerate(scopes)]
        lines += [f"!{1 + 2 * count + i} = !{{{', '.join(s for s in scopes if s != scope)}}}" for i, scope in enumerate(scopes)]
        return "\n".join(lines)


def _owner(array: Array) -> str:
    """Returns the name of the owner of an array's memory; "" where it has none of its own."""
    if array.role is Role.LATE or array.address:
        return ""
    return _LOCAL if array.role is Role.LOCAL else array.name
