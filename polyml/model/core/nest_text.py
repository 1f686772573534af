"""A nest as text for people, with loops and assignments as Python writes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polyml.frontend import syntax
from polyml.model.core.nest import ArrayInfo, Assign, Guard, Integer, Loop, Nest, Node, Read, Requirement, Truth, Value
from polyml.model.core.printer import (
    TIGHTEST,
    Printed,
    binding,
    constant_text,
    parameter_text,
    region_text,
    result_text,
    value_text,
)
from polyml.model.core.scop import ScalarArg
from polyml.quasi_affine.affine import Affine, Compare, Condition

_INDENT = "    "


def text(nest: Nest) -> str:
    """Returns a nest as text: its parameters, arrays and requirements, then its loops as in Python.

    array T: f64[N] (local)
    for i in range(1, N - 1):
        T[i] = 0.5*A[i - 1]
    """
    lines = [f"parameter {parameter_text(p)}" for p in nest.parameters]
    lines += [f"array {_array(name, array)}" for name, array in nest.arrays.items()]
    lines += [f"require {_requirement(r)}" for r in (*nest.requirements, *nest.contents)]
    lines += _block(nest.body, "")
    if nest.results:
        lines.append(f"return {', '.join(map(result_text, nest.results))}{',' * nest.result_is_tuple}")
    return "\n".join(lines)


def _array(name: str, array: ArrayInfo) -> str:
    shape = f"[{', '.join(map(str, array.shape))}]" if array.shape else ""
    facts = ["pairs"] * array.pairs + ["perhaps not allocated"] * array.conditional
    return f"{name}: {array.element}{shape} ({', '.join([array.role.value, *facts])})"


def _requirement(requirement: Requirement) -> str:
    around = "".join(f", {_head(node)}" for node in requirement.around)
    return f"{condition_text(requirement.condition)}{around}"


def condition_text(condition: Condition) -> str:
    """Returns an affine condition as a Python expression, such as `(N - 1 >= 0) and (i == 0)`."""
    if isinstance(condition, Compare):
        return f"{condition.expr} {condition.op} 0"
    return f" {condition.op} ".join(f"({condition_text(part)})" for part in condition.parts) or str(condition)


def _block(body: Sequence[Node], indent: str) -> Iterator[str]:
    """Yields the lines of a block of nodes, each behind `indent`."""
    for node in body:
        if isinstance(node, Assign) and node.region:
            yield f"{indent}{region_text(node.region)}"
        elif isinstance(node, Assign):
            yield f"{indent}{_place(node.array, node.subscripts)} = {value_text(node.value, _leaf)}{'  # perhaps' * node.may}"
        else:
            yield f"{indent}{_head(node)}:"
            yield from _block(node.body, indent + _INDENT)


def _head(node: Loop | Guard) -> str:
    if isinstance(node, Guard):
        return f"if {condition_text(node.condition)}"
    step = "" if node.step == 1 else f", {node.step}"
    return f"for {node.iterator} in range({node.start}, {node.stop}{step})"


def _place(array: str, subscripts: Sequence[Affine]) -> str:
    return f"{array}[{', '.join(map(str, subscripts))}]" if subscripts else array


def _leaf(value: Value) -> Printed:
    """Returns the text of a leaf and its precedence, a number that is greater the more tightly the outermost operation binds."""
    if isinstance(value, Read):
        return _place(value.array, value.subscripts), TIGHTEST
    if isinstance(value, Truth):
        return f"({condition_text(value.formula)})", TIGHTEST
    if isinstance(value, ScalarArg):
        return value.name, TIGHTEST
    if isinstance(value, Integer):
        made = str(value.affine)
    elif isinstance(value, syntax.Const):
        made = constant_text(value.value)
    else:
        raise TypeError(f"no leaf of a nest: {value!r}")
    return made, binding(made)
