"""Updates `A[f(i)] = A[f(i)] op e` whose order is free, and the dependences that they relax.

They are recognised where `e` does not read the accumulator: + (also a - e), *, &, |, ^, `and` and `or` on truth values, min and
max in Python's and NumPy's forms, chains of one operator, `x if x > m else m` and its variants (for integers `m if m > x else x`
too), and any of these under a condition on data (`if c: s += x`). A float update is free only where the setting `fp` says so, an
integer one always, since it is exact.

Python's min and max are not commutative in the presence of NaN. `max(m, x)` is `x if x > m else m`: a NaN in x is passed over and
one in m stays, in whatever order the x come, so it counts; `max(x, m)` lets the last NaN win and does not. (The sign of a zero
may differ among equal zeros.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isfinite, log2

import islpy as isl

from polyml import polyhedra
from polyml.dtypes import F32, F64, DType
from polyml.frontend import syntax
from polyml.model.core.dependence import NONE, Dependences, SourceOrder, pairs
from polyml.model.core.nest import subvalues
from polyml.model.core.scop import Access, Load, Scop, Statement, Value

_NUMPY_EXTREMES = ("minimum", "maximum", "fmin", "fmax")
_NOT = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_COMMUTATIVE = ("*", "&", "|", "^")
VECTOR_BYTES = 64  # of the widest vector registers


@dataclass(frozen=True)
class Reduction:
    """A Reduction is a statement that updates an element, the accumulator, by an operator that may be applied in any order.

    The accumulator may also be computed from partial results. Each of them starts with `identity(operator, element)`, and the
    operator joins them, with the accumulator's old value on the left.

    operator: "+" "*" "&" "|" "^" "min" "max" (Python's, the accumulator on the left) "minimum" "maximum" "fmin" "fmax"
    access: the position, in the statement's `reads`, of the read of the accumulator
    """

    statement: str
    array: str
    operator: str
    access: int


def reductions(scop: Scop, fp: str) -> dict[str, Reduction]:
    """Returns the reductions of a SCoP, by the name of the statement.

    fp: "strict", "reassociate" or "fast"; "strict" leaves out updates of floats
    """
    found = {}
    for statement in scop.statements.values():
        if statement.region is not None:
            continue
        element = scop.arrays[statement.write.array].element
        if element.is_float and fp == "strict":
            continue
        access = _accumulator(statement)
        if access is None:
            continue
        operator = _update_operator(statement.value, access, element.is_float)
        if operator:
            found[statement.name] = Reduction(statement.name, statement.write.array, operator, access)
    return found


def scans(scop: Scop, fp: str) -> dict[str, Reduction]:
    """Returns, by name, the statements that store an update of one element in another element of the array, as prefix sums do.

    A sum may multiply the element by a constant first, as in X[i] = 0.5*X[i - 1] + A[i]: see `scan_factor`. Statements that do so
    with the element that they write, x = 0.5*x + A[i], are among them too.

    fp: "strict", "reassociate" or "fast"; "strict" leaves out floats
    """
    found = {}
    for statement in scop.statements.values():
        array = scop.arrays[statement.write.array]
        if array.element.is_float and fp == "strict":
            continue
        for index, access in enumerate(statement.reads):
            if access.array != array.name:
                continue
            operator = _update_operator(statement.value, index, array.element.is_float)
            if operator is not None and access.relation.plain_is_equal(statement.write.relation):
                continue
            if operator is None and scan_factor(statement, index, array.element) is not None:
                operator = "+"
            if operator:
                found[statement.name] = Reduction(statement.name, array.name, operator, index)
    return found


def scan_factor(statement: Statement, access: int, element: DType) -> float | None:
    """Returns c where the statement computes c*x + r of a read x, with a constant c and an r that does not depend on x, and where
    powers of c up to that of the number of lanes are neither infinite nor tiny, so that an x of zero or infinity times one of them
    is what it is times c, over and over. None for any other statement, and for integers.

    access: the position, in `reads`, of the read
    element: the type of the array
    """
    factor = _coefficient(statement.value, access) if element in (F32, F64) else None
    if not factor or not isfinite(factor):
        return None
    exponent = abs(log2(abs(factor))) * (VECTOR_BYTES // element.size_bytes)
    return factor if exponent < (120 if element == F32 else 1000) else None


def _coefficient(value: Value, access: int) -> float | None:
    """Returns c where the value is c*x + r of a read x, with a constant c and an r that does not depend on x; else None."""
    if isinstance(value, Load) and value.access == access:
        return 1.0
    if not _mentions(value, access):
        return 0.0
    if isinstance(value, syntax.Unary) and value.op == "-":
        inner = _coefficient(value.operand, access)
        return None if inner is None else -inner
    if not isinstance(value, syntax.Binary):
        return None
    left, right = _coefficient(value.left, access), _coefficient(value.right, access)
    if left is None or right is None:
        return None
    if value.op in ("+", "-"):
        return left + right if value.op == "+" else left - right
    by, other = (right, value.left) if _mentions(value.right, access) else (left, value.right)
    if value.op == "*" and isinstance(other, syntax.Const):
        return by * float(other.value)
    if value.op == "/" and other is value.right and isinstance(other, syntax.Const) and other.value:
        return by / float(other.value)
    return None


def relaxed(scop: Scop, found: Mapping[str, Reduction]) -> isl.UnionMap:
    """Returns those pairs { S[i] -> T[j] } of updates of one element by one operator, S[i] first, whose order is free.

    A pair is left out where another read of the array by S or T, besides that of the accumulator, keeps the two in order.

    found: the reductions, by statement
    """
    order = SourceOrder(scop)
    free: list[isl.UnionMap] = []
    kept: list[isl.UnionMap] = []
    for array, operator in dict.fromkeys((r.array, r.operator) for r in found.values()):
        members = [scop.statements[r.statement] for r in found.values() if (r.array, r.operator) == (array, operator)]
        writes = {s.name: _on_domain(s, s.write) for s in members}
        others = {s.name: m for s in members if (m := _other_reads(s, array, found[s.name].access)) is not None}
        free.append(pairs({array: writes}, {array: writes}, order))
        kept.append(pairs({array: writes}, {array: others}, order))
        kept.append(pairs({array: others}, {array: writes}, order))
    return polyhedra.union(free, NONE).subtract(polyhedra.union(kept, NONE))


def relaxed_validity(dependences: Dependences, scop: Scop, found: Mapping[str, Reduction]) -> isl.UnionMap:
    """Returns the dependences that a schedule must keep when the updates `found` may run in any order.

    A statement that reads or writes the element between two updates stays between them, by its own dependences.

    found: the reductions, by statement
    """
    return dependences.validity.subtract(relaxed(scop, found)) if found else dependences.validity


def identity(operator: str, element: DType) -> bool | int | float:
    """Returns the value for which `x op identity` is x, as an element of a type.

    For floats and + it is -0.0, since -0.0 + 0.0 is 0.0.
    """
    if operator in ("min", "max", *_NUMPY_EXTREMES):
        return _extreme(operator, element)
    if element.is_float:
        return -0.0 if operator == "+" else 1.0
    if element.kind == "b":
        return operator in ("*", "&")
    if operator == "&":
        return 2**element.bits - 1 if element.kind == "u" else -1
    return 1 if operator == "*" else 0


def _extreme(operator: str, element: DType) -> bool | int | float:
    """Returns the identity of a minimum or maximum: the greatest or least value of the type; NaN for fmin and fmax of floats."""
    if element.is_float and operator in ("fmin", "fmax"):
        return float("nan")
    return element.limits[operator in ("min", "minimum", "fmin")]


def _accumulator(statement: Statement) -> int | None:
    """Returns the position, in `reads`, of the statement's read of the element that it writes; None where it does not read it."""
    for index, access in enumerate(statement.reads):
        if access.array == statement.write.array and access.relation.plain_is_equal(statement.write.relation):
            return index
    return None


def _update_operator(value: Value, access: int, is_float: bool) -> str | None:
    """Returns the operator by which a value updates the accumulator, a read; None where it does anything else.

    For a value that is just the accumulator it is "".

    access: the position, in `reads`, of the read of the accumulator
    is_float: whether the accumulator is a float, which may be NaN
    """
    if isinstance(value, Load):
        return "" if value.access == access else None
    if isinstance(value, syntax.Binary):
        return _binary_operator(value, access, is_float)
    if isinstance(value, syntax.IfExp):
        return _select_operator(value, access, is_float)
    if isinstance(value, syntax.Call) and value.function in _NUMPY_EXTREMES and len(value.args) == 2:
        return _commutative_operator(value.function, *value.args, access, is_float)
    if isinstance(value, syntax.Logical) and value.dtype.kind == "b" and len(value.operands) == 2:
        return _commutative_operator("|" if value.op == "or" else "&", *value.operands, access, is_float)
    return None


def _binary_operator(value: syntax.Binary, access: int, is_float: bool) -> str | None:
    left, right = value.left, value.right
    if value.op == "-":
        return _operator_between("+", left, right, access, is_float)
    if value.op in ("min", "max") and is_float:
        return _operator_between(value.op, left, right, access, is_float)
    if value.op in ("+", "min", "max", *_COMMUTATIVE):
        return _commutative_operator(value.op, left, right, access, is_float)
    return None


def _commutative_operator(operator: str, left: Value, right: Value, access: int, is_float: bool) -> str | None:
    """Returns `operator` where one operand updates the accumulator by it, or is it, and the other operand does not read it.

    The result is None for any other operands.

    access: the position, in `reads`, of the read of the accumulator
    is_float: whether the accumulator is a float, which may be NaN
    """
    return _operator_between(operator, left, right, access, is_float) or _operator_between(operator, right, left, access, is_float)


def _operator_between(operator: str, update: Value, other: Value, access: int, is_float: bool) -> str | None:
    """Returns `operator` where `update` updates the accumulator by it, or is the accumulator, and `other` does not read it.

    The result is None for any other operands.

    access: the position, in `reads`, of the read of the accumulator
    is_float: whether the accumulator is a float, which may be NaN
    """
    if _mentions(other, access) or _update_operator(update, access, is_float) not in ("", operator):
        return None
    return operator


def _select_operator(value: syntax.IfExp, access: int, is_float: bool) -> str | None:
    """Returns the operator by which a select updates the accumulator m, else None.

    `x if x > m else m` is max(m, x), and `m op x if c else m` is an update by `op` under the condition c.

    access: the position, in `reads`, of the read of the accumulator
    is_float: whether the accumulator is a float, which may be NaN
    """
    if not _mentions(value.condition, access):
        branches = (_update_operator(value.then, access, is_float), _update_operator(value.orelse, access, is_float))
        if None in branches or (branches[0] and branches[1] and branches[0] != branches[1]):
            return None
        return branches[0] or branches[1]
    test = value.condition
    if not is_float and _is_load(value.then, access):  # no NaN, so the accumulator may be on either side
        value = replace(value, then=value.orelse, orelse=value.then)
        test = replace(test, op=_NOT[test.op]) if isinstance(test, syntax.Compare) and test.op in _NOT else test
    if not isinstance(test, syntax.Compare) or not _is_load(value.orelse, access) or _mentions(value.then, access):
        return None
    if test.left == value.then and _is_load(test.right, access):
        return {">": "max", ">=": "max", "<": "min", "<=": "min"}.get(test.op)
    if test.right == value.then and _is_load(test.left, access):
        return {"<": "max", "<=": "max", ">": "min", ">=": "min"}.get(test.op)
    return None


def _is_load(value: Value, access: int) -> bool:
    return isinstance(value, Load) and value.access == access


def _mentions(value: Value, access: int) -> bool:
    return any(_is_load(v, access) for v in subvalues(value))


def _other_reads(statement: Statement, array: str, accumulator: int) -> isl.Map | None:
    result = None
    for index, access in enumerate(statement.reads):
        if index != accumulator and access.array == array:
            relation = _on_domain(statement, access)
            result = relation if result is None else result.union(relation)
    return result


def _on_domain(statement: Statement, access: Access) -> isl.Map:
    return access.relation.intersect_domain(statement.domain)
