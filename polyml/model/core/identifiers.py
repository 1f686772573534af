"""Identifiers that isl, C and LLVM read back, made from the user's names and distinct from each other."""

from __future__ import annotations

import re

_OTHER = re.compile(r"[^A-Za-z0-9_]")
_GIVEN = re.compile(r"S\d+|c\d+\w*")  # names of statements, and of the variables of loops that code is made of
_ISL_KEYWORDS = frozenset("and or not exists mod floor ceil floord ceild min max rat true false infty infinity NaN implies".split())


class Names:
    """A Names makes identifiers that differ from all that it has reserved."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def fresh(self, wanted: str, avoid: tuple[str, ...] = ()) -> str:
        """Returns and reserves an identifier close to `wanted` that was not reserved before and is not in `avoid`."""
        name = self.local(wanted, avoid)
        self._taken.add(name)
        return name

    def local(self, wanted: str, avoid: tuple[str, ...] = ()) -> str:
        """Returns an identifier close to `wanted` that is not reserved and not in `avoid`.

        It is not reserved itself, since neighbouring loops may have the same iterator.
        """
        base = identifier(wanted)
        name, count = base, 0
        while name in self._taken or name in avoid:
            count += 1
            name = f"{base}_{count}"
        return name


def identifier(wanted: str) -> str:
    """Returns a C identifier close to a name, but no keyword of isl and no name of a statement or of a loop of the code that is made:
    `x.1` -> `x_1`, `mod` -> `mod_`, `c0` -> `c0_`.
    """
    name = _OTHER.sub("_", wanted)
    if not name or name[0].isdigit():
        name = f"_{name}"
    return f"{name}_" if name in _ISL_KEYWORDS or _GIVEN.fullmatch(name) else name
