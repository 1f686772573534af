"""Statements that add a product of two elements to a sum, as matrix instructions do.

C[i, j] += A[i, k] * B[k, j]   ->   the reads A[i, k] and B[k, j]
"""

from __future__ import annotations

from collections.abc import Mapping

from polyml.dtypes import F32
from polyml.frontend import syntax
from polyml.model.core.nest import subvalues
from polyml.model.core.reductions import Reduction
from polyml.model.core.scop import Access, Load, Scop, Statement, Value


def factors(statement: Statement, reductions: Mapping[str, Reduction], scop: Scop) -> tuple[Access, Access] | None:
    """Returns the reads of a statement that adds a product of two numbers of one type, as float32, to a float32; None for another
    statement, or where the order of the sum is not free.
    """
    update, value = reductions.get(statement.name), statement.value
    if update is None or not _is_sum_of_f32(statement, update, scop):
        return None
    if not isinstance(value, syntax.Binary) or value.op != "+":
        return None
    sums = [each for each in (value.left, value.right) if isinstance(each, Load) and each.access == update.access]
    products = [each for each in (value.left, value.right) if isinstance(each, syntax.Binary) and each.op == "*"]
    if len(sums) != 1 or len(products) != 1:
        return None
    loads = [_as_f32(each, statement, scop) for each in (products[0].left, products[0].right)]
    found = [statement.reads[each.access] for each in loads if each is not None]
    kinds = {scop.arrays[each.array].element for each in found}
    return (found[0], found[1]) if len(found) == 2 and len(kinds) == 1 else None


def multiplies_f32(statement: Statement, reductions: Mapping[str, Reduction], scop: Scop) -> bool:
    """Returns whether a statement adds to a float32 what has a product of elements of two arrays of float32 in it, whatever else."""
    update = reductions.get(statement.name)
    if update is None or not _is_sum_of_f32(statement, update, scop):
        return False

    def arrays(value: Value) -> set[str]:
        reads = [statement.reads[each.access] for each in subvalues(value) if isinstance(each, Load)]
        return {each.array for each in reads if each.subscripts and scop.arrays[each.array].element == F32}

    products = [each for each in subvalues(statement.value) if isinstance(each, syntax.Binary) and each.op == "*"]
    return any(arrays(each.left) and arrays(each.right) for each in products)


def _is_sum_of_f32(statement: Statement, update: Reduction, scop: Scop) -> bool:
    return update.operator == "+" and scop.arrays[update.array].element == F32 and statement.write.array == update.array


def _as_f32(value: Value, statement: Statement, scop: Scop) -> Load | None:
    """Returns the load of a number that is a float32, or is converted to one and nothing else."""
    if isinstance(value, syntax.Cast) and value.to == F32 and isinstance(value.operand, Load):
        return value.operand
    if isinstance(value, Load) and scop.arrays[statement.reads[value.access].array].element == F32:
        return value
    return None
