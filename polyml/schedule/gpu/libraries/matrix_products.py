"""Launches that begin with a product of matrices, which a library (a BLAS) may compute in their place.

    for i: for j:                                     C = alpha*(A @ B) + beta*C       by the library
        C[i, j] *= beta                         ->    for i: for j: D[i, j] = max(C[i, j], 0)
        for k: C[i, j] += alpha*A[i, k]*B[k, j]
        D[i, j] = max(C[i, j], 0)

Matched on dependences, loops and subscripts: a sum whose order is free (`model.core.reductions`), in loops that form a box, of the
product of two elements of which one moves along the rows of the result and the other one along its columns. What follows the sum in the
launch runs as launches of its own: no loop of the grid carries a dependence, so nothing before it needs what another thread does there.
Where that only rounds the sums to the operands' 16 bits, the library does it. Terms are multiplied by `alpha` once they are summed up, so results differ in rounding, as those of another order do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import islpy as isl

from polyml.dtypes import BF16, F16, F32, F64, HALVES, DType
from polyml.frontend import syntax
from polyml.model.core.reductions import Reduction
from polyml.model.core.scop import Load, Role, ScalarArg, Scop, Statement, Value
from polyml.polyhedra import along
from polyml.quasi_affine.affine import Affine
from polyml.quasi_affine.from_isl import integer_expression
from polyml.schedule.gpu.libraries.products import BATCH, COLUMN, ROW, SUM, MatrixProduct, Scale, Walk
from polyml.schedule.gpu.libraries.walks import at, same_elements, walk
from polyml.schedule.gpu.mapping import LaunchNest, ThreadStatement, those_of
from polyml.schedule.gpu.merged_axes import is_box, loop_values
from polyml.schedule.tree import loop_tree
from polyml.schedule.tree.loop_tree import Block, BlockPart, Node

_ROLES = {(True, True): BATCH, (True, False): ROW, (False, True): COLUMN}  # of a loop along which the left, the right operand moves
_TYPES = {F32: (F32, BF16, F16), F64: (F64,)}  # of the operands, by that of the result


@dataclass(frozen=True)
class Parted:
    """A Parted is a launch as a product of matrices and what follows it in the launch. rest: None where nothing does."""

    product: MatrixProduct
    rest: LaunchNest | None


def parted(nest: LaunchNest, scop: Scop, reductions: Mapping[str, Reduction]) -> Parted | str:
    """Returns the launch as a product of matrices and the rest; the reason where it is no product, "" if it has no sum of products.

    reductions: updates whose order is free.
    """
    parts = nest.body.parts if isinstance(nest.body, Block) else (BlockPart(nest.instances, nest.body),)
    runs = [_runs_of(part, nest) for part in parts]
    number = next((k for k, some in enumerate(runs) if any(run.inside for run in some)), None)
    if number is None or len(runs[number]) != 1:
        return ""
    (update,) = runs[number]
    terms = _terms(scop.statements[update.statement], scop)
    if terms is None:
        return ""
    if update.statement not in reductions:
        return "the order of its sum is kept"
    before = [run for some in runs[:number] for run in some]
    beta = _first_value(before, update, scop)
    if beta is None:
        return f"{before[0].statement} runs before its sum"
    first = _nest_of(parts[: number + 1], nest)
    product = _product(first, update, terms, beta, scop)
    if isinstance(product, str):
        return product
    after = parts[number + 1 :]
    rounded = _rounded(product, first, update, _runs_of(after[0], nest), scop) if after else None
    if rounded is not None:
        product, after = rounded, after[1:]
    return Parted(product, _nest_of(after, nest) if after else None)


def _runs_of(part: BlockPart, nest: LaunchNest) -> tuple[ThreadStatement, ...]:
    return LaunchNest(nest.host, nest.grid, part.body, nest.instances.intersect(part.instances)).runs()


def _nest_of(parts: Sequence[BlockPart], nest: LaunchNest) -> LaunchNest:
    """Returns the launch with some parts of its body alone."""
    body: Node = loop_tree.block([*parts])
    inside = reduce(isl.UnionSet.union, (part.instances for part in parts))
    return LaunchNest(nest.host, nest.grid, body, those_of(nest.instances.intersect(inside), body))


@dataclass(frozen=True)
class _Terms:
    """What a statement adds to an element: a factor times two elements. reads: their positions in the statement's reads."""

    alpha: Scale
    reads: tuple[int, int]


def _terms(statement: Statement, scop: Scop) -> _Terms | None:
    """Returns what a statement adds to the element that it writes; None for any other statement."""
    value, element = statement.value, scop.arrays[statement.write.array].element
    if not isinstance(value, syntax.Binary) or value.op not in ("+", "-") or value.dtype != element or element not in _TYPES:
        return None
    sides = [(value.left, value.right)] if value.op == "-" else [(value.left, value.right), (value.right, value.left)]
    added = [other for one, other in sides if _is_itself(one, statement)]
    found = _factors(added[0], element) if len(added) == 1 else None
    if found is None or len(found[1]) != 2:
        return None
    alpha, (left, right) = found
    return _Terms(alpha.times(Scale(-1.0 if value.op == "-" else 1.0)), (left, right))


def _is_itself(value: Value, statement: Statement) -> bool:
    """Returns whether a value is the element that the statement writes."""
    if not isinstance(value, Load):
        return False
    access = statement.reads[value.access]
    return access.array == statement.write.array and access.relation.is_equal(statement.write.relation)


def _factors(value: Value, element: DType) -> tuple[Scale, tuple[int, ...]] | None:
    """Returns a product as a factor and the reads of elements that it multiplies; None for any other value.

    element: the type in which it is computed.
    """
    scale = _scale(value, element)
    if scale is not None:
        return scale, ()
    if isinstance(value, syntax.Unary) and value.op == "-":
        found = _factors(value.operand, element)
        return None if found is None else (found[0].times(Scale(-1.0)), found[1])
    if isinstance(value, syntax.Binary) and value.op == "*" and value.dtype == element:
        one, other = _factors(value.left, element), _factors(value.right, element)
        return None if one is None or other is None else (one[0].times(other[0]), one[1] + other[1])
    load = value.operand if isinstance(value, syntax.Cast) and value.to == element else value
    return (Scale(), (load.access,)) if isinstance(load, Load) else None


def _scale(value: Value, element: DType) -> Scale | None:
    """Returns a value that is the same for all instances; None for any other. element: the type in which it is computed."""
    inner = value.operand if isinstance(value, syntax.Cast) and value.to == element else value
    if not (inner.dtype.is_float or inner.dtype.kind == "i"):
        return None
    if isinstance(inner, ScalarArg):
        return Scale(1.0, (inner.name,))
    return Scale(float(inner.value)) if isinstance(inner, syntax.Const) else None


def _first_value(before: Sequence[ThreadStatement], update: ThreadStatement, scop: Scop) -> Scale | None:
    """Returns by what the elements are multiplied before the sum: by 0 where they are set to it; None for any other statement before."""
    if not before:
        return Scale()
    statement, written = scop.statements[before[0].statement], scop.statements[update.statement].write.array
    if len(before) > 1 or statement.write.array != written or statement.write.may:
        return None
    value, element = statement.value, scop.arrays[written].element
    scale = _scale(value, element)
    if scale is not None:
        return scale if scale == Scale(0.0) else None
    if isinstance(value, syntax.Binary) and value.op == "*" and value.dtype == element:
        for one, other in ((value.left, value.right), (value.right, value.left)):
            if _is_itself(one, statement):
                return _scale(other, element)
    return None


def _product(nest: LaunchNest, update: ThreadStatement, terms: _Terms, beta: Scale, scop: Scop) -> MatrixProduct | str:
    """Returns a launch of a sum, and perhaps of what gives its elements their first values, as a product; the reason where it is none."""
    statement, loops = scop.statements[update.statement], (*nest.grid, *update.inside)
    accesses = (statement.write, *(statement.reads[k] for k in terms.reads))
    kinds = [scop.arrays[each.array].element for each in accesses]
    if kinds[1] != kinds[2] or kinds[1] not in _TYPES[kinds[0]]:
        return "its operands are not of one type that cuBLAS multiplies"
    if statement.write.array in (accesses[1].array, accesses[2].array) or any(each.may for each in accesses):
        return "it multiplies elements of its result" if not any(each.may for each in accesses) else "data decide what it adds"
    host = tuple(f"{loop.name}_{number}_host" for number, loop in enumerate(nest.host))
    instances = reduce(at, zip(host, nest.host), nest.instances)
    one = LaunchNest((), nest.grid, nest.body, instances)
    (run,) = (each for each in one.runs() if each.statement == update.statement)
    starts = [each for each in one.runs() if each.statement != update.statement]
    if not is_box(one) or any(
        not same_elements((each, scop.statements[each.statement].write), (run, statement.write), nest.grid) for each in starts
    ):
        return "its loops are no box"
    values = loop_values(run.instances, loops)
    walks = [walk(each, values, len(loops)) for each in accesses]
    if any(each is None for each in walks):
        return "its subscripts are not affine in its loops"
    result, left, right = (each for each in walks if each is not None)
    roles = _roles(result, left, right, len(nest.grid), len(loops))
    if isinstance(roles, str):
        return roles
    box = values.range()
    sides = [along(box, dim) for dim in range(len(loops))]
    extents = tuple(_expression(side.dim_max(0).sub(side.dim_min(0)), scop) + 1 for side in sides)
    return MatrixProduct(host, extents, roles, result, left, right, terms.alpha, beta)


def _rounded(
    product: MatrixProduct, nest: LaunchNest, update: ThreadStatement, runs: Sequence[ThreadStatement], scop: Scop
) -> MatrixProduct | None:
    """Returns the product with its elements rounded to the operands' type where a statement behind it does this and nothing else needs
    them; None where it does not.

    nest: that of the product.
    runs: what is behind it.
    """
    if len(runs) != 1 or runs[0].inside or product.beta != Scale(0.0):
        return None
    (run,), array = runs, scop.arrays[product.result.array]
    statement, sums = scop.statements[run.statement], scop.statements[update.statement]
    value, kind = statement.value, scop.arrays[product.left.array].element
    users = {
        each.name for each in scop.statements.values() if any(access.array == array.name for access in (*each.reads, each.write))
    }
    if (
        not isinstance(value, syntax.Cast)
        or not isinstance(value.operand, Load)
        or not (value.to == kind == scop.arrays[statement.write.array].element and kind in HALVES)
        or array.role is not Role.LOCAL
        or not users <= {*nest.statements, run.statement}
        or statement.write.may
    ):
        return None
    if not same_elements((run, statement.reads[value.operand.access]), (update, sums.write), nest.grid):
        return None
    instances = reduce(at, zip(product.host, nest.host), isl.UnionSet.from_set(run.instances))
    (one,) = LaunchNest((), nest.grid, loop_tree.Leaf((run.statement,)), instances).runs()
    result = walk(statement.write, loop_values(one.instances, nest.grid), len(nest.grid))
    if result is None or not all(map(result.moves, range(len(nest.grid)))):
        return None
    more = ((0,) * len(statement.write.subscripts),) * (len(product.roles) - len(nest.grid))
    return replace(product, result=Walk(result.array, result.first, (*result.steps, *more)))


def _roles(result: Walk, left: Walk, right: Walk, grid: int, loops: int) -> tuple[str, ...] | str:
    """Returns what each loop is; the reason where the loops are not those of a product of matrices.

    grid: how many loops of the grid there are, which come first, of all `loops`.
    """
    roles = []
    for loop in range(loops):
        moved = left.moves(loop), right.moves(loop)
        if loop < grid and result.moves(loop) and moved in _ROLES:
            roles.append(_ROLES[moved])
        elif loop >= grid and not result.moves(loop) and moved == (True, True):
            roles.append(SUM)
        else:
            return "its operands do not move as those of a product of two matrices do"
    if not {ROW, COLUMN} <= {*roles}:
        return "it is the product of a matrix and a vector"
    return tuple(roles)


def _expression(value: isl.PwAff, scop: Scop) -> Affine:
    return integer_expression(value.gist(scop.checked).coalesce())
