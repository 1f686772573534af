"""The names of a typed kernel: new ones, and how often statements mention them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from polyml.frontend import syntax, traversal
from polyml.frontend.name_resolution import statements
from polyml.frontend.syntax import Stmt


class NewNames:
    """A NewNames gives names that a kernel does not have."""

    def __init__(self, kernel: syntax.Kernel):
        self._taken = {param.name for param in kernel.params} | {name for name, _ in kernel.scalars}
        self._taken |= {s.var for s in statements(kernel.body) if isinstance(s, syntax.For)}
        self._taken |= {s.name for s in statements(kernel.body) if isinstance(s, syntax.Alloc)}

    def fresh(self, stem: str) -> str:
        """Returns a new name that begins with `stem`."""
        name = next(name for n in range(len(self._taken) + 1) if (name := f"{stem}_{n}") not in self._taken)
        self._taken.add(name)
        return name


def mentions(body: Sequence[Stmt]) -> Counter[str]:
    """Returns how often statements mention each name that stands for a number."""
    found = Counter(stmt.var for stmt in statements(body) if isinstance(stmt, syntax.For))
    accessed = (e for stmt in statements(body) for e in traversal.accessed(stmt))
    found.update(node.name for e in accessed for node in traversal.nodes(e) if isinstance(node, syntax.Name))
    return found
