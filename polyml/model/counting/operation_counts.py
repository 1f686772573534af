"""The number of operations of a kernel's instances, by the type of their results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from polyml.frontend import syntax
from polyml.model.core.nest import subvalues
from polyml.model.core.scop import Scop, Statement, Value
from polyml.model.counting.cardinality import CannotCount, count
from polyml.polyhedra import fix

COUNT_STEPS = 200  # of a formula's sums
ARITHMETIC = ("+", "-", "*", "/", "//", "%", "**", "min", "max", "&", "|", "^", "<<", ">>")


def operations(scop: Scop, sizes: Mapping[str, int]) -> dict[str, int]:
    """Returns the number of operations that a kernel's instances make, by the type of their results, such as "f64".

    Additions, subtractions, multiplications, divisions, minima, maxima, sign changes, operations on bits and functions of numbers
    count as one each, and both arms where data decide between two. Subscripts and conversions do not count.
    """
    total: Counter[str] = Counter()
    for statement in scop.statements.values():
        runs = instances(statement, sizes)
        for kind, number in of_value(statement.value).items():
            total[kind] += runs * number
    return dict(total)


def instances(statement: Statement, sizes: Mapping[str, int]) -> int:
    """Returns how often a statement runs: by a formula, or point by point where the formula would take longer."""
    try:
        return count(statement.domain, steps=COUNT_STEPS).evaluate(sizes)
    except CannotCount:
        return fix(statement.domain, sizes).count_val().to_python()


def of_value(value: Value) -> Counter[str]:
    """Returns the number of operations in one evaluation of a value, by the type of their results."""
    return Counter(part.dtype.name for part in subvalues(value) if _is_operation(part))


def _is_operation(part: Value) -> bool:
    if isinstance(part, syntax.Binary):
        return part.op in ARITHMETIC
    return isinstance(part, syntax.Call) or isinstance(part, syntax.Unary) and part.op == "-"
