"""Which names a kernel binds, how often, and which of its arguments it never changes."""

from __future__ import annotations

from collections.abc import Sequence

from polyml.frontend import syntax
from polyml.frontend.name_resolution import statements
from polyml.frontend.parsing.functions.inlining import changes
from polyml.frontend.syntax import Stmt


def bound(body: Sequence[Stmt]) -> list[str]:
    """Returns the names that a block binds, loop variables and allocated arrays among them, each as often as it is bound."""
    found: list[str] = []
    for stmt in statements(body):
        match stmt:
            case syntax.For(var=name) | syntax.Alloc(name=name) | syntax.Assign(target=syntax.Name(name=name)):
                found.append(name)
    return found


def bound_once(kernel: syntax.Kernel) -> set[str]:
    """Returns the names that have one value throughout: parameters never assigned, and locals assigned once outside loops."""
    found = [*(param.name for param in kernel.params), *bound(kernel.body)]
    top = {s.target.name for s in kernel.body if isinstance(s, syntax.Assign) and isinstance(s.target, syntax.Name)}
    return {name for name in found if found.count(name) == 1 and (name in top or name in found[: len(kernel.params)])}


def unchanged(kernel: syntax.Kernel, aliased: bool) -> set[str]:
    """Returns the parameters that are arrays, if any, which the kernel never changes. aliased: whether they may share memory"""
    found = {param.name for param in kernel.params if not changes(kernel.body, {param.name})}
    return set() if aliased and len(found) < len(kernel.params) else found
