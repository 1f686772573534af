"""What is known of the loops of parts, compared with isl's relations between instances."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from polyml.frontend.argument_types import arg_type
from polyml.frontend.parsing.parse import parse
from polyml.frontend.types.infer import infer
from polyml.model.core.dependence import dependences
from polyml.pipeline.stages import extract
from polyml.polyhedra import domain_name, expressions, pieces, plus, range_name
from polyml.schedule.affine.scheduler import in_source_order
from polyml.schedule.strips.part_loops import PartLoops
from polyml.schedule.strips.row_nests import parts_of
from polyml.schedule.tree.text import parse_tree
from tests.schedule.scheduling import modelled


def shifts_and_transposes(A, B, C, s):
    n, m = A.shape
    for i in range(n):
        for j in range(m):
            C[i, j] = A[i, j] * 2
    for i in range(n):
        for j in range(m):
            s[i] += C[i, j]
    for j in range(m):
        for i in range(n):
            B[j, i] = C[i, j] - s[i]
    for i in range(1, n):
        for j in range(m):
            C[n - i, j] = B[j, n - i] + C[n - i - 1, j]
    for i in range(n - 1):
        for j in range(m):
            C[i + 1, j] = C[i + 1, j] / 2


def extracted(function, *arguments):
    return extract(infer(parse(function), tuple(map(arg_type, arguments))))


def parts_in(scop):
    """Each nest of the source, with its loops that may be exchanged as one band, and its number."""
    top = parse_tree(str(in_source_order(scop.schedule, dependences(scop))))["child"]
    children = top["sequence"] if "sequence" in top else [{"filter": str(scop.domain), "child": top}]
    found = [part for position, child in enumerate(children) for part in parts_of(child, position) if part.nests]
    return [replace(part, number=number) for number, part in enumerate(found)]


def verdicts(scop):
    """(whether instances are known to meet in one iteration, whether isl finds that all do) of each dependence between two statements
    and each pair of loops around these."""
    loops, parts = PartLoops(scop, {}), parts_in(scop)
    of = {name: part for part in parts for name in part.names}
    for pairs in pieces(dependences(scop).validity):
        source, sink = domain_name(pairs), range_name(pairs)
        if source in of and sink in of:
            mine, theirs = of[source].nests[0].members, of[sink].nests[0].members
            for k, d in product(range(len(mine)), range(len(theirs))):
                same = expressions(mine[k])[source].eq_map(expressions(theirs[d])[sink])
                yield loops.meet_in_one_iteration((of[source], source, k), (of[sink], sink, d)), pairs.is_subset(same)


A = np.zeros((4, 4))


@pytest.mark.parametrize(
    ("scop", "known"),
    [
        (extracted(shifts_and_transposes, A, A, A, A[0]), (14, 14, 48)),
        (modelled("k2mm").scop, (12, 12, 45)),
        (modelled("gemver").scop, (9, 9, 24)),
        (modelled("fdtd_2d").scop, (0, 0, 10)),
        (modelled("correlation").scop, (26, 30, 79)),
        (modelled("lu").scop, (0, 5, 8)),
    ],
    ids=["shifts", "k2mm", "gemver", "fdtd_2d", "correlation", "lu"],
)
def test_instances_that_are_known_to_meet_in_one_iteration_do(scop, known):
    found = [*verdicts(scop)]
    assert all(is_so for claimed, is_so in found if claimed)
    assert (sum(claimed for claimed, _ in found), sum(is_so for _, is_so in found), len(found)) == known


def test_a_shifted_loop_meets_where_its_subscript_does():
    scop = extracted(shifts_and_transposes, A, A, A, A[0])
    parts = parts_in(scop)
    (first, second), loops = (next(part for part in parts if name in part.names) for name in ("S0", "S4")), PartLoops(scop, {})
    assert not loops.meet_in_one_iteration((first, "S0", 0), (second, "S4", 0))
    (nest,) = second.nests
    moved = replace(second, number=99, nests=(replace(nest, members=(plus(nest.members[0], 1), nest.members[1])),))
    assert loops.meet_in_one_iteration((first, "S0", 0), (moved, "S4", 0))
