"""Whatever runs together, every instance still runs once, and every element sees the same accesses in the same order."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings

from polyml.codegen.astgen.build import build
from polyml.codegen.costs.cost_model import CostModel
from polyml.codegen.ir.program import Guard, Instance, Jam, Loop, Program, Unroll, instances, loops
from polyml.codegen.passes import vectorize as vectorizing
from polyml.codegen.passes.vectorize import vectorize
from polyml.codegen.register_tiles import legal_tilings
from polyml.codegen.register_tiles.register_tile import CannotTile, register_tile
from polyml.machines import catalogue
from polyml.model.core.reductions import Reduction, reductions
from polyml.quasi_affine.affine import Affine, Compare, variable
from tests.codegen.forms import check, layouts, programs
from tests.codegen.histories import History
from tests.codegen.loop_nests import (  # fmt: skip
    KERNELS,
    backwards,
    closure,
    five_points,
    in_place,
    lower_update,
    lu,
    matmul,
    row_dots,
    upper,
)
from tests.codegen.nests import Text, sample, samples, steps, whole
from tests.codegen.samples import scop_of

PRESETS = ("avx2", "avx512", "neon")


class Proposals(vectorizing._Vectorizer):
    """Collects what would be considered for every nest, and changes nothing."""

    def __init__(self, *args):
        super().__init__(*args)
        self.found = []

    def _best(self, nest):
        model = self._prices.model(nest)
        lanes = self._prices.lanes(nest)
        for shape in legal_tilings.LegalTilings(nest, model, lanes, self._rare).all():
            self.found.append((nest, shape))
            self.found += [(nest, replace(shape, line=line)) for line in model.lines(shape)[:1]]


class Chosen(vectorizing._Vectorizer):
    """Applies one tiling to one nest, and changes nothing else."""

    def __init__(self, *args, nest, shape):
        super().__init__(*args)
        self._chosen, self._shape = nest, shape

    def _best(self, nest):
        is_chosen = (
            nest.chain[0] is self._chosen.chain[0] and nest.shared == self._chosen.shared
        )  # conditions of versions among them
        return (self._shape, 0.0) if is_chosen else None


def proposals(program, preset):
    found = Proposals(program, catalogue.processor(preset), layouts(program.scop))
    found.nodes(program.body, ())
    return found.found


def applied(program, preset, nest, shape):
    chosen = Chosen(program, catalogue.processor(preset), layouts(program.scop), nest=nest, shape=shape)
    body = chosen.nodes(program.body, ())
    return Program(program.scop, body, program.reductions, phases=chosen.phases_in(body))


def fits(nest, shape):
    try:
        register_tile(nest, shape)
    except CannotTile:
        return False
    return True


def nodes_in(nodes):
    for node in nodes:
        yield node
        yield from nodes_in(getattr(node, "body", ()))


def together(nodes):
    """Every Jam and Unroll below."""
    return [node for node in nodes_in(nodes) if isinstance(node, (Jam, Unroll))]


def vectorized(program, preset="avx2"):
    return vectorize(program, catalogue.processor(preset), layouts(program.scop))


@pytest.mark.parametrize("form", ["source", "apart"])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
@pytest.mark.sweep(keep=11)
def test_every_shape_that_is_proposed_is_legal(monkeypatch, kernel, form):
    monkeypatch.setattr(legal_tilings, "JAM_COUNTS", (3,))
    monkeypatch.setattr(legal_tilings, "VECTOR_COUNTS", (1, 2))
    program = programs(kernel)[form]
    for nest, shape in proposals(program, "neon"):
        if fits(nest, shape):
            changed = applied(program, "neon", nest, shape)
            for sizes in ((6, 9, 5), (9, 5, 7), (1, 2, 1)):
                check(kernel, changed, sizes, orders=("reversed",))
            check(kernel, changed, (7, 5, 4), orders=("shuffled",))


def _around_a_loop(write):
    """for s: if ...: for a: B[write] = ...; the nest of the loop over s has the loop over a in its body."""
    outer, inner = (Loop(name, (Affine(0),), (variable("N") - 1,), 1, ()) for name in "sa")
    text = Text("S", ("i0", "i1"), ("B", [write]), [])
    return sample([text], [outer, Guard(Compare(">=", Affine(0)), ())], [inner], [Instance("S", (variable("s"), variable("a")))])


def _by_the_distance():
    """for a: for k: A[k + 1] += f(A[k - 2*a]): lanes of the loop over k are legal under a condition on a."""
    a, k = (Loop(name, (Affine(0),), (variable("N") - 1,), 1, ()) for name in "ak")
    text = Text("S", ("i0", "i1"), ("B", ["1 + i0"]), [("B", ["1 + i0"]), ("B", ["i0 - 2*i1"])])
    reductions = {"S": Reduction("S", "B", "+", 0)}
    return sample([text], [], [a], [replace(k, body=(Instance("S", (variable("k"), variable("a"))),))], reductions)


@settings(max_examples=60, deadline=None)
@example(_by_the_distance())
@example(_around_a_loop("i0 + 2*i1"))
@example(_around_a_loop("i0 - 3*i1"))
@given(samples())
def test_every_shape_proposed_for_a_random_nest_is_legal(case):
    program = whole(case)
    wanted = [History({"N": size}, steps(case, size), program.reductions) for size in (2, 5, 9)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(legal_tilings, "JAM_COUNTS", (2, 3))
        patch.setattr(legal_tilings, "VECTOR_COUNTS", (1, 2))
        for nest, shape in proposals(program, "neon"):
            if fits(nest, shape):
                changed = applied(program, "neon", nest, shape)
                for history in wanted:
                    history.check(changed, order="shuffled")


@pytest.mark.parametrize(
    ("kernel", "form", "least"),
    [
        (matmul, "source", 200),
        (matmul, "apart", 60),
        (lu, "source", 40),
        (lu, "apart", 100),
        (five_points, "source", 60),
    ],
)
def test_many_shapes_are_proposed_where_loops_are_independent(kernel, form, least):
    assert len(proposals(programs(kernel)[form], "avx2")) >= least


@pytest.mark.parametrize("kernel", [in_place, closure], ids=lambda k: k.__name__)
def test_nothing_is_proposed_where_every_loop_waits(kernel):
    assert not [shape for _, shape in proposals(programs(kernel)["source"], "avx2") if shape.vector is not None]


SIZES = ((0, 0, 0), (1, 1, 1), (3, 0, 4), (7, 17, 6), (12, 8, 5))


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("form", ["source", "apart"])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
def test_the_chosen_shapes_keep_every_dependence_at_every_size(kernel, form, preset):
    program = programs(kernel)[form]
    changed = vectorized(program, preset)
    for sizes in SIZES:
        check(kernel, changed, sizes)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("kernel", [matmul, lower_update, row_dots, five_points, upper, backwards], ids=lambda k: k.__name__)
def test_lanes_are_as_many_as_the_machine_s_vectors_hold(kernel, preset):
    program = programs(kernel)["source"]
    target = catalogue.processor(preset)
    changed = vectorized(program, preset)
    lanes = {jam.lanes for jam in together(changed.body) if isinstance(jam, Jam)}
    assert max(lanes) == target.lanes(8) and lanes <= {1, target.lanes(8)}


@pytest.mark.parametrize(("layout", "dimension"), [("C", 1), ("F", 0)])
def test_lanes_run_along_the_dimension_whose_elements_are_neighbours(layout, dimension):
    program = programs(five_points)["source"]
    changed = vectorize(program, catalogue.processor("avx2"), (layout, layout))
    lanes = {jam.var for jam in together(changed.body) if isinstance(jam, Jam) and jam.lanes > 1}
    assert lanes and lanes <= {name for node in instances(changed.body) for name in node.point[dimension].names}


def test_gathered_rows_are_gone_along_by_the_loop_inside():
    """Lanes in rows of their own use eight lines, of which the next iteration needs the next elements."""

    def transposed(A, B):
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                B[j, i] = A[i, j]

    def added(A, B, C):
        for i in range(C.shape[0]):
            for j in range(C.shape[1]):
                C[i, j] = A[i, j] + B[j, i]

    for function, names in ((transposed, "AB"), (added, "ABC")):
        scop = scop_of(function, {name: np.zeros((3, 3)) for name in names})
        changed = vectorize(build(scop, scop.schedule), catalogue.processor("avx512"), ("C",) * len(names))
        (lanes,) = {jam.var for jam in together(changed.body) if isinstance(jam, Jam) and jam.lanes > 1}
        innermost = {loop.var for loop in loops(changed.body) if not [*loops(loop.body)]}
        assert lanes not in {name.partition("_")[0] for name in innermost}


def test_the_next_best_shape_is_taken_where_the_bounds_do_not_allow_the_best():
    """Unrolling i would be cheapest, but the rows of a triangle start elsewhere."""
    program = programs(upper)["source"]
    changed = vectorized(program)
    assert 4 in {jam.lanes for jam in together(changed.body) if isinstance(jam, Jam)}


def test_iterations_left_over_run_alone_where_the_bounds_do_not_allow_them_together(monkeypatch):
    """Of four rows none is in a whole block of eight, and the four that are left over begin at different columns."""

    def rows(B, C):
        for i in range(4):
            for j in range(6 * ((i + 1) // 2) - 3 * i, 6 * ((i + 1) // 2) - 3 * i + 3):
                for k in range(5):
                    C[i, j, k] = B[0, k]

    scop = scop_of(rows, {"B": np.zeros((1, 5)), "C": np.zeros((4, 6, 5))})
    best = ((0, 8), (1, 2))
    monkeypatch.setattr(CostModel, "per_iteration", lambda self, tiling: 1.0 if tiling.jams == best else 9.0)
    changed = vectorize(build(scop, scop.schedule), catalogue.processor("avx512"), ("C", "C"), {"B_1": 5})
    assert {jam.count for jam in together(changed.body) if jam.var == "c1"} == {2}


def test_a_tile_loop_and_a_parallel_loop_never_run_together():
    program = programs(matmul)["apart"]
    changed = vectorized(program)
    outer = {loop.var for loop in loops(program.body) if loop.role == "tile" or loop.parallel}
    assert outer and outer <= {loop.var for loop in loops(changed.body)}
    assert outer.isdisjoint(node.var for node in together(changed.body))


def test_partial_tiles_get_smaller_code_than_full_ones():
    program = programs(lower_update)["apart"]
    full, partial = (node for node in nodes_in(vectorized(program).body) if isinstance(node, Guard))
    assert not full.rare and partial.rare
    assert copies_in(partial) <= legal_tilings.RARE_COPIES_LIMIT * catalogue.processor("avx2").lanes(8)


def test_of_shapes_that_cost_the_same_one_that_keeps_sums_in_registers_is_taken():
    """Distances take operations that hide the loads and stores of sums; k stays the innermost loop all the same."""

    def distances(A, B, C):
        for i in range(8):
            for j in range(16):
                for k in range(A.shape[1]):
                    C[i, j] += abs(A[i, k] - B[k, j])

    scop = scop_of(distances, {name: np.zeros((30, 30)) for name in "ABC"})
    sums = reductions(scop, "reassociate")
    program = replace(build(scop, scop.schedule), reductions=sums)
    assert sums
    changed = vectorize(program, catalogue.processor("avx512"), ("C",) * 3, {f"{name}_{k}": 30 for name in "ABC" for k in (0, 1)})
    innermost = [node for node in nodes_in(changed.body) if isinstance(node, Loop) and isinstance(node.body[0], Jam)]
    assert innermost and all(loop.var == "c2" for loop in innermost)


def test_no_lanes_write_one_element():
    """Nor where a loop has one iteration, or none, and so no two that would write it."""

    def repeated(A, b):
        for t in range(b.shape[0]):
            for i in range(A.shape[0]):
                A[i] = 0.5 * A[i] - b[t]

    scop = scop_of(repeated, {"A": np.zeros(3), "b": np.zeros(3)})
    program = build(scop, scop.schedule)
    (outer,) = program.body
    once = replace(program, body=(replace(outer, lower=(variable("b_0") - 1,)),))
    found = {(nest.chain[shape.vector].var, outer.var) for nest, shape in proposals(once, "avx2") if shape.vector is not None}
    assert found == {(outer.body[0].var, outer.var)}


def copies_in(node):
    """The most iterations of one instance that run together."""
    if isinstance(node, Instance):
        return 1
    factor = node.count * getattr(node, "lanes", 1) if isinstance(node, (Jam, Unroll)) else 1
    return factor * max(copies_in(n) for n in node.body)


def scaled(A, b):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] = A[i, j] * b


def scaled_by_column(A, b):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] = A[i, j] * b[j]


def below(A, b):
    for i in range(1, A.shape[0]):
        for j in range(A.shape[1]):
            b[i, j] = A[i - 1, j] * A[i, j]


@pytest.mark.parametrize(
    ("kernel", "b", "expected"),
    [(scaled, 2.0, False), (scaled_by_column, np.ones(3), True), (below, np.ones((3, 3)), True)],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_rows_run_together_only_where_they_may_have_elements_in_common(kernel, b, expected):
    scop = scop_of(kernel, {"A": np.ones((3, 3)), "b": b})
    program = build(scop, scop.schedule, reductions(scop, "strict"))
    rows = [s for n, s in proposals(program, "avx2") for loop, _ in s.jams if loop == 0 and s.vector == 1]
    assert bool(rows) is expected


def test_divisions_run_beside_the_loads_and_stores_of_lanes_that_are_far_apart():
    """A division of eight lanes takes as long as two of single numbers: elements one by one are loaded and stored meanwhile."""

    def sweep(u, v, p, q, a, d, e):
        for i in range(1, u.shape[0] - 1):
            u[i, 0] = 1.0
            p[i, 0] = 0.0
            q[i, 0] = u[i, 0]
            for j in range(1, u.shape[1] - 1):
                p[i, j] = -d / (d * p[i, j - 1] + e)
            for j in range(1, u.shape[1] - 1):
                right = -a * v[i - 1, j] + (1.0 + 2.0 * a) * v[i, j] - a * v[i + 1, j] - d * q[i, j - 1]
                q[i, j] = right / (d * p[i, j - 1] + e)
            u[i, u.shape[1] - 1] = 1.0
            for j in range(u.shape[1] - 2, 0, -1):
                u[i, j] = p[i, j] * u[i, j + 1] + q[i, j]

    scop = scop_of(sweep, {name: np.zeros((30, 30)) for name in "uvpq"} | {"a": 0.5, "d": 0.25, "e": 2.0})
    changed = vectorize(build(scop, scop.schedule), catalogue.processor("avx512"), ("C",) * 4)
    jams = [node for node in together(changed.body) if isinstance(node, Jam)]
    assert jams and {(jam.var.partition("_")[0], jam.lanes) for jam in jams} == {("c0", 8)}
