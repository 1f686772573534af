"""Operations of a kernel's instances, by the type of their results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from polyml.frontend import syntax
from polyml.model.nest import subvalues
from polyml.model.scop import Scop, Value
from polyml.polyhedra import fix

ARITHMETIC = ("+", "-", "*", "/", "//", "%", "**", "min", "max")


def operations(scop: Scop, sizes: Mapping[str, int]) -> dict[str, int]:
    """By type such as "f64": additions, subtractions, multiplications, divisions, minima, maxima, signs and functions of numbers,
    each as one operation; those of both arms where data decide between two. Subscripts and conversions are none.
    """
    total: Counter[str] = Counter()
    for statement in scop.statements.values():
        instances = fix(statement.domain, sizes).count_val().to_python()
        for kind, count in of_value(statement.value).items():
            total[kind] += instances * count
    return dict(total)


def of_value(value: Value) -> Counter[str]:
    """Of one evaluation."""
    return Counter(part.dtype.name for part in subvalues(value) if _is_operation(part))


def _is_operation(part: Value) -> bool:
    if isinstance(part, syntax.Binary):
        return part.op in ARITHMETIC
    return isinstance(part, syntax.Call) or isinstance(part, syntax.Unary) and part.op == "-"
