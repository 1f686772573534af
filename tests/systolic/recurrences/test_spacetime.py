"""Space-time mappings: what is legal, with a pair of instances where it is not; all classes; the classical designs."""

import time
from itertools import product

import islpy as isl
import numpy as np
import pytest

from polyml.errors import IllegalSchedule
from polyml.systolic.folding.fold_counts import is_stationary
from polyml.systolic.folding.folds import obstacle
from polyml.systolic.mapping.dataflows import dataflow_of, entry_cycles, kung_design, plans
from polyml.systolic.mapping.legality import check
from polyml.systolic.mapping.proof import prove
from polyml.systolic.mapping.search import MappingSearch, mappings
from polyml.systolic.recurrences.layouts import layouts
from polyml.systolic.recurrences.spacetime import Direction, linear
from tests.systolic.designs import (  # fmt: skip
    CALLS,
    channels,
    dot,
    fir,
    fir_with_a_scalar,
    layer,
    matmul,
    matvec,
    nests_of,
    strided,
    subsequence,
    zeros,
)

PRODUCT = tuple(Direction(v, True) for v in ((0, 1, 0), (1, 0, 0), (0, 0, 1)))
DOMAIN = "[K] -> { S[i, j, k] : 0 <= i, j < 4 and 0 <= k < K }"
CHAIN = "[K] -> { S[i, j, k] -> S[i, j, k + 1] : 0 <= i, j < 4 and 0 <= k < K - 1 }"


def order(places):
    return isl.UnionMap(f"{{ S[i, j, k] -> [{places}] }}").intersect_domain(isl.UnionSet(DOMAIN))


def refused(places, dependences=CHAIN, links="manhattan"):
    with pytest.raises(IllegalSchedule) as problem:
        check(order(places), isl.UnionMap(dependences), links, what="C[i, j]")
    return problem.value.message, problem.value.notes[0]


def test_stationary_outputs_are_legal():
    check(order("i + j + k, i, j"), isl.UnionMap(CHAIN))


def test_a_unit_runs_one_instance_per_cycle():
    message, _ = refused("i + j, i, j")
    assert message == "S[0, 0, 0] and S[0, 0, 1] would run on one unit in one cycle, with K = 2"


def test_a_value_is_used_after_it_was_made():
    assert refused("i + j - k, i, j") == ("S[0, 0, 1] must run after S[0, 0, 0], with K = 2", "dependence through C[i, j]")


def test_a_value_comes_over_links():
    there = "[K] -> { S[i, j, k] -> S[i + 1, j + 1, k] : 0 <= i, j < 3 and 0 <= k < K }"
    check(order("i + j + k, i, j"), isl.UnionMap(there))
    message, note = refused("i + k, i, j", there)
    assert message == "a value cannot come from S[0, 0, 0] to S[1, 1, 0] in time, with K = 1"
    assert note == "dependence through C[i, j], manhattan links"
    check(order("i + k, i, j"), isl.UnionMap(there), "diagonal")
    message, note = refused("i + k, 2i, j", there, "diagonal")
    assert message == "a value cannot come from S[0, 0, 0] to S[1, 1, 0] in time, with K = 1" and "diagonal" in note


def test_scalesim_s_stationary_outputs_leave_before_they_are_made():
    """It writes results of os row by row from the last one, beginning with the last cycle of the depth: row R - 1 - r at
    K - 1 + r + j, while the last multiply-add of row i is at i + j + K - 1.
    """
    size = "i, j < 4"
    domain = isl.UnionSet(f"[K] -> {{ S[i, j, k] : 0 <= {size} and 0 <= k < K; W[i, j] : 0 <= {size} and K > 0 }}")
    leaving = isl.UnionMap(f"[K] -> {{ S[i, j, k = K - 1] -> W[i, j] : 0 <= {size} and K > 0 }}")
    scalesim = isl.UnionMap("[K] -> { S[i, j, k] -> [i + j + k, i, j]; W[i, j] -> [K - 1 + 3 - i + j, 4, j] }")
    with pytest.raises(IllegalSchedule) as problem:
        check(scalesim.intersect_domain(domain), leaving)
    assert problem.value.message == "W[2, 0] must run after S[2, 0, 0], with K = 1"
    below = "W[i, j] -> [K - 1 + i + j + 2*(4 - i), 4, j]"  # behind the last row, each from its unit down, a link in two cycles
    after = isl.UnionMap(f"[K] -> {{ S[i, j, k] -> [i + j + k, i, j]; {below} }}")
    check(after.intersect_domain(domain), leaving)


@pytest.mark.parametrize("links, classes", [("manhattan", 3), ("diagonal", 24)])
def test_a_product_has_so_many_classes(links, classes):
    start = time.perf_counter()
    found = mappings(MappingSearch(3, PRODUCT, 2, links, reversible_axes=(0, 1, 2)))
    assert time.perf_counter() - start < 0.5
    assert len(found) == len(set(found)) == classes
    assert all(m.time == (1, 1, 1) and m.density == 1 for m in found)


@pytest.mark.parametrize("links", ["manhattan", "diagonal"])
def test_classes_are_those_of_all_mappings_one_by_one(links):
    """Of every time (1, 1, 1) and coordinates of steps up to one link, legal and dense, up to the eight symmetries of a square."""

    def canonical(space):
        ways = []
        for rows in (space, space[::-1]):
            ways += [tuple(tuple(s * v for v in row) for s, row in zip(signs, rows)) for signs in product((1, -1), repeat=2)]
        return max(ways)

    classes = set()
    for space in product(product((-1, 0, 1), repeat=3), repeat=2):
        steps = list(zip(*space))
        if links == "manhattan" and any(abs(x) + abs(y) > 1 for x, y in steps):
            continue
        if abs(round(np.linalg.det([(1, 1, 1), *space]))) == 1:
            classes.add(canonical(space))
    assert {canonical(m.space) for m in mappings(MappingSearch(3, PRODUCT, 2, links, reversible_axes=(0, 1, 2)))} == classes


def test_products_are_output_weight_and_input_stationary():
    (nest,), sizes = nests_of(matmul)
    (recurrence,) = layouts(nest, sizes, 2)
    found = {}
    for mapping in mappings(MappingSearch(3, recurrence.directions, 2, reversible_axes=recurrence.reversible_axes)):
        prove(recurrence, mapping, "manhattan")
        (stream,) = (s for s in recurrence.streams if is_stationary(mapping, s))
        found[dataflow_of(recurrence, mapping)] = stream.use.text, recurrence.text(mapping), entry_cycles(recurrence, mapping)
    assert found == {
        "os": ("C[i, j]", "t = i + j + k, x = i, y = j", {"A[i, k]": "i + k", "B[k, j]": "j + k"}),
        "ws": ("B[k, j]", "t = i + j + k, x = j, y = k", {"A[i, k]": "i + k"}),
        "is": ("A[i, k]", "t = i + j + k, x = i, y = k", {"B[k, j]": "j + k"}),
    }


def test_every_mapping_with_diagonal_links_is_proved():
    (nest,), sizes = nests_of(matmul)
    (recurrence,) = layouts(nest, sizes, 2)
    for mapping in mappings(MappingSearch(3, recurrence.directions, 2, "diagonal", reversible_axes=recurrence.reversible_axes)):
        prove(recurrence, mapping, "diagonal")


def test_convolutions_of_one_dimension_are_kung_s():
    """Results or weights stay; what moves does so in opposite directions, where each unit rests every other cycle, or in one."""
    (nest,), sizes = nests_of(fir)
    recurrence = next(layouts(nest, sizes, 1))
    designs = {}
    for mapping in mappings(MappingSearch(2, recurrence.directions, 1, dense=False, reversible_axes=recurrence.reversible_axes)):
        prove(recurrence, mapping, "manhattan")
        designs.setdefault(kung_design(recurrence, mapping), []).append(mapping)
    assert set(designs) == {"R1", "R2", "W1", "W2", ""}
    assert all(m.density == 2 // int(design[1]) for design in ("R1", "W1", "R2", "W2") for m in designs[design])
    (opposite,) = designs["W1"]
    moves = {s.use.text: opposite.displacement(s.directions[0]) for s in recurrence.streams}
    assert moves["h[k]"] == (2, 0) and moves["y[i]"][1] == -moves["x[i + k]"][1]
    both = [m for m in designs[""] if not any(is_stationary(m, s) for s in recurrence.streams)]
    staying = [m for m in designs[""] if any(is_stationary(m, s) and s.use.text.startswith("x") for s in recurrence.streams)]
    assert staying and len(both) + len(staying) == len(designs[""])


def test_what_stays_with_slower_times_alone_is_found():
    """Under a stride of 2 pixels move two links for one of results: where weights stay, in three cycles."""
    (nest,), sizes = nests_of(strided)
    recurrence = next(layouts(nest, sizes, 1))
    fastest = mappings(MappingSearch(2, recurrence.directions, 1, reversible_axes=recurrence.reversible_axes))
    assert {dataflow_of(recurrence, m) for m in fastest} == {"os"} and {kung_design(recurrence, m) for m in fastest} == {"R1"}
    found = [p for p in plans(nest, sizes, (5,)) if p.dataflow == "ws"]
    assert {p.recurrence.text(p.mapping) for p in found} >= {"t = i - k, x = k"}


def test_sums_in_a_scalar_are_sums_in_an_array():
    array, scalar = (nests_of(f, CALLS[fir]) for f in (fir, fir_with_a_scalar))

    def found(nest, sizes):
        known = plans(nest, sizes, (4, 4))
        return [(p.recurrence.text(p.mapping), p.folds.cycles, p.folds.reads, p.folds.writes) for p in known]

    (nest,), sizes = array
    (other,), its = scalar
    assert found(nest, sizes) == found(other, its)


def test_the_picture_of_a_convolution_is_what_slides():
    for function in (layer, channels):
        (nest,), sizes = nests_of(function)
        for plan in plans(nest, sizes, (4, 4)):
            stationary = [s.use.array for s in plan.recurrence.streams if is_stationary(plan.mapping, s)]
            assert stationary == {"os": ["y"], "ws": ["w"], "is": ["x"], "": []}[plan.dataflow]


def test_values_used_once_come_to_the_units_of_a_row_alone():
    (nest,), sizes = nests_of(matvec)
    recurrence = next(layouts(nest, sizes, 2))
    assert len(recurrence.axes) == 2 and not obstacle(recurrence, 1) and not obstacle(recurrence, 2)

    def tensor(A, b, C):
        for i in range(C.shape[0]):
            for j in range(C.shape[1]):
                for k in range(A.shape[2]):
                    C[i, j] += A[i, j, k] * b[k]

    (nest,), sizes = nests_of(tensor, (zeros(3, 4, 5), zeros(5), zeros(3, 4)))
    recurrence = next(r for r in layouts(nest, sizes, 2) if len(r.axes) == 3)
    why = obstacle(recurrence, 2)
    assert why == "A[i, j, k] is another element in each instance: every unit would need a wire of its own"
    assert {len(p.folds.shape) for p in plans(nest, sizes, (4, 4))} <= {1, 2}


def test_tables_of_dynamic_programming_run_along_diagonals():
    (nest,), sizes = nests_of(subsequence)
    best = plans(nest, sizes, (16, 16))[0]
    assert best.recurrence.text(best.mapping).startswith("t = i + j") and best.folds.number == 1


def test_one_unit_adds_a_dot_product_up():
    (nest,), sizes = nests_of(dot)
    assert {p.recurrence.text(p.mapping) for p in plans(nest, sizes, (4, 4)) if p.dataflow == "os"} == {"t = i, x = 0"}


def test_times_that_folds_need_are_slower():
    step = tuple(Direction(v, False) for v in ((1, -1), (1, 0), (1, 1)))
    assert {m.time for m in mappings(MappingSearch(2, step, 1))} == {(1, 0)}
    assert (2, 1) in {m.time for m in mappings(MappingSearch(2, step, 1, slower=1))}


def floyd_warshall(P):
    for k in range(P.shape[0]):
        for i in range(P.shape[0]):
            for j in range(P.shape[0]):
                P[i, j] = min(P[i, j], P[i, k] + P[k, j])


def mirrored(T, x, y):
    for t in range(T):
        for i in range(x.shape[0]):
            y[i] = x[i] + x[y.shape[0] - 1 - i]
        for i in range(x.shape[0]):
            x[i] = y[y.shape[0] - 1 - i]


def elementwise(x, y):
    for i in range(x.shape[0]):
        y[i] = 2.0 * x[i]


def gathered(x, n, y):
    for i in range(y.shape[0]):
        for k in range(n.shape[0]):
            y[i] += x[n[k]]


REFUSED = {
    floyd_warshall: (
        (zeros(5, 5),),
        "P[i, k] is used on both sides of where it is made: S0[0, 0, 0] -> S0[0, 0, 1] with P_0 = 2, "
        "S0[0, 0, 1] -> S0[1, 0, 0] with P_0 = 2",
    ),
    mirrored: (
        (3, zeros(5), zeros(5)),
        "x[-1 + y_0 - i] is used at distances that differ: S1[0, 0] -> S0[1, 0] with x_0 = 1, y_0 = 1, T = 2, "
        "S1[0, 0] -> S0[1, 1] with x_0 = 2, y_0 = 2, T = 2",
    ),
    elementwise: ((zeros(5), zeros(5)), "no value of S0 is used twice: there is nothing for units to hand on"),
    gathered: ((zeros(9), np.zeros(3, dtype=np.int64), zeros(5)), "S0 reads elements that data decide"),
}


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_what_is_no_uniform_recurrence_is_refused(function):
    args, message = REFUSED[function]
    with pytest.raises(IllegalSchedule) as problem:
        nests_of(function, args)
    assert problem.value.message == message and problem.value.loc is not None


def test_a_refusal_shows_the_dependence():
    with pytest.raises(IllegalSchedule) as problem:
        nests_of(mirrored, REFUSED[mirrored][0])
    assert problem.value.notes[0].startswith("flow dependence through x: S1[t, i] -> S0[t' = 1 + t, i' = -1 + y_0 - i]")
    assert problem.value.notes[1].startswith("expected values that are used at one distance from where they are made")


def test_sums_print_as_people_write_them():
    assert linear((1, -1, 0), ("i", "j", "k")) == "i - j"
    assert linear((-1, 0, 3), ("i", "j", "k"), -2) == "-i + 3*k - 2"
    assert linear((0, 0), ("i", "j")) == "0"
