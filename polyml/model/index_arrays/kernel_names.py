"""The names of a typed kernel: new ones, how often statements mention them, and which numbers iterations of a loop carry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from polyml.frontend import syntax, traversal
from polyml.frontend.name_resolution import assigned_names, statements
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


def carried_numbers(loop: syntax.For, kernel: syntax.Kernel) -> set[str]:
    """Returns the numbers that an iteration of a loop may read from one before it, or that anything else mentions."""
    inside, everywhere = mentions((loop,)), mentions(kernel.body)
    stored = {s.target.name for s in statements(loop.body) if isinstance(s, syntax.Assign) and isinstance(s.target, syntax.Name)}
    return {name for name in stored if inside[name] < everywhere[name]} | (read_first(loop.body) & assigned_names(loop.body))


def read_first(body: Sequence[Stmt]) -> set[str]:
    """Returns the numbers that statements may read before these assign them."""
    found: set[str] = set()
    known: set[str] = set()
    for stmt in body:
        read = {n.name for e in traversal.expressions(stmt) for n in traversal.nodes(e) if isinstance(n, syntax.Name)}
        for inner in traversal.bodies(stmt):
            read |= read_first(inner) - ({stmt.var} if isinstance(stmt, syntax.For) else set())
        found |= read - known
        known |= surely_assigned((stmt,))
    return found


def surely_assigned(body: Sequence[Stmt]) -> set[str]:
    """Returns the numbers that statements assign on all paths."""
    found: set[str] = set()
    for stmt in body:
        if isinstance(stmt, syntax.Assign) and isinstance(stmt.target, syntax.Name):
            found.add(stmt.target.name)
        elif isinstance(stmt, syntax.If):
            found |= surely_assigned(stmt.then) & surely_assigned(stmt.orelse)
    return found
