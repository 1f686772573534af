"""Which names a kernel binds, how often, which of its arguments it never changes, what expressions mention, and which new arrays hold truth
values.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence, Set

import numpy as np

from polyml.dtypes import BOOL, DType
from polyml.frontend import syntax, traversal
from polyml.frontend.arrays.views import is_truth
from polyml.frontend.name_resolution import statements
from polyml.frontend.parsing.functions.inlining import changes
from polyml.frontend.syntax import Expr, Stmt


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


def holds_truths(element: Expr | syntax.TypeOf | syntax.Like | DType | None, truths: Set[str]) -> bool:
    """Returns whether the elements of a new array are certainly truth values of NumPy.

    element: their type, or the number that all of them get
    truths: the names of the arrays of bool
    """
    if isinstance(element, syntax.TypeOf):
        return element.function == "truth" or not element.function and is_truth(element.of, truths)
    if isinstance(element, syntax.Const):
        return isinstance(element.value, (bool, np.bool_))
    return element == BOOL or isinstance(element, Expr) and is_truth(element, truths)


def is_size(node: Expr) -> bool:
    """Returns whether an expression is an int constant, a size of an array, or one of the operations + - * // %.

    The operands of the operation are not looked at.
    """
    if isinstance(node, syntax.Const):
        return type(node.value) is int
    return isinstance(node, syntax.Shape) or isinstance(node, syntax.Binary) and node.op in ("+", "-", "*", "//", "%")


def arrays_in(expr: Expr) -> set[str]:
    """Returns the names of the arrays whose elements an expression reads."""
    return {node.array for node in traversal.nodes(expr) if isinstance(node, syntax.Subscript)}


@dataclasses.dataclass(frozen=True)
class Uncertain:
    """An Uncertain stands in the place of an array, for a name that may mean one of several arrays at this place of the kernel.

    why: the reason, as a part of a message
    by_number: whether the values of the arguments that are numbers would decide which array it is
    """

    why: str
    by_number: bool = False
