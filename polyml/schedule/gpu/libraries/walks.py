"""Which elements the accesses of a launch go to as its loops run.

A[i, k + 1] in loops i, j and k   ->   the first element, and what an iteration of each loop adds: (1, 0), (0, 0), (0, 1)
"""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from polyml.model.core.scop import Access
from polyml.polyhedra import iterator_coefficients
from polyml.quasi_affine.from_isl import integer_expression
from polyml.schedule.gpu.libraries.products import Walk
from polyml.schedule.gpu.loop_roles import SurroundingLoop
from polyml.schedule.gpu.mapping import ThreadStatement
from polyml.schedule.gpu.merged_axes import loop_values


def at(instances: isl.UnionSet, fixed: tuple[str, SurroundingLoop]) -> isl.UnionSet:
    """Returns the instances in which a loop's variable equals a parameter. fixed: the parameter's name and the loop."""
    name, loop = fixed
    value = isl.UnionSet(f"[{name}] -> {{ [{name}] }}")
    return isl.UnionMap.from_union_pw_aff(loop.values).intersect_domain(instances).intersect_range(value).domain()


def same_elements(
    one: tuple[ThreadStatement, Access], other: tuple[ThreadStatement, Access], grid: Sequence[SurroundingLoop]
) -> bool:
    """Returns whether an access of a statement goes, in each iteration of the grid in which `other` goes anywhere, to the same elements."""
    first, second = (loop_values(run.instances, grid).reverse().apply_range(access.relation) for run, access in (one, other))
    return first.intersect_domain(second.domain()).is_equal(second)


def walk(access: Access, values: isl.Map, loops: int) -> Walk | None:
    """Returns which elements an access goes to as loops run; None where these are no affine functions of the loops.

    values: { S[i] -> [e0, e1, ...] }, those of the loops.
    """
    relation = values.reverse().apply_range(access.relation)
    if not relation.is_single_valued():
        return None
    subscripts = isl.PwMultiAff.from_map(relation).gist(relation.domain())
    steps = []
    for dim in range(len(access.subscripts)):
        pieces = {*iterator_coefficients(subscripts.get_at(dim))}
        found = [int(step) for step in pieces.pop() if step == int(step)]
        if pieces or len(found) < loops:
            return None
        steps.append(found)
    start = relation.intersect_domain(values.range().lexmin()).range()
    first = tuple(integer_expression(start.dim_min(dim).coalesce()) for dim in range(len(steps)))
    return Walk(access.array, first, tuple(zip(*steps)) if steps else ((),) * loops)
