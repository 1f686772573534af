"""A bug planted in each pass on programs is found by its checker, which names the instance or the element; the pass itself is clean."""

from dataclasses import replace

import numpy as np
import pytest

from polyml import pass_manager
from polyml.checks import programs
from polyml.checks.programs import check, check_build
from polyml.codegen.analysis.loop_nest import FARTHEST, LaneReach, LoopNest
from polyml.codegen.ir.program import Instance, Jam, Loop, Unroll, every, with_body
from polyml.codegen.passes import (
    balance,
    fold_storage,
    full_tiles,
    index_bounds,
    prefetch,
    privatize,
    privatize_reductions,
    share_memory,
    split_loops,
)
from polyml.codegen.passes.packing import pack
from polyml.codegen.register_tiles import distance_versions, register_tile
from polyml.machines import catalogue
from polyml.pipeline import passes
from polyml.quasi_affine.affine import FALSE, Affine, variable
from polyml.schedule.tiling import contraction
from tests.checks.passing import compiled, finding, small
from tests.codegen.forms import blocks_of
from tests.codegen.loop_nests import lower_update


def product(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def both_sums(A, r, c):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            r[i] += A[i, j]
        for j in range(A.shape[1]):
            c[j] += r[i] * A[i, j]


def strips(A, B):
    T = np.empty((A.shape[0], A.shape[1]))
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            T[i, j] = A[i, j] * 2.0
    for i in range(A.shape[0]):
        for j in range(1, A.shape[1]):
            B[i, j] = T[i, j] + T[i, j - 1]


def two_in_turn(A, B):
    T = np.empty(A.shape[0])
    U = np.empty(A.shape[0])
    for i in range(A.shape[0]):
        T[i] = A[i] * 2.0
    for i in range(A.shape[0]):
        U[i] = T[A.shape[0] - 1 - i] + T[0]
    for i in range(A.shape[0]):
        B[i] = U[A.shape[0] - 1 - i] + U[0]


def kept_between_iterations(A, B):
    T = np.empty(A.shape[0])
    U = np.empty(A.shape[0])
    for t in range(2):
        for i in range(t, A.shape[0]):
            T[i] = A[i] * 2.0
        for i in range(A.shape[0]):
            B[i] = T[A.shape[0] - 1 - i] + T[0]
        for i in range(A.shape[0]):
            U[i] = B[A.shape[0] - 1 - i] + B[0]
        for i in range(A.shape[0]):
            A[i] = U[A.shape[0] - 1 - i] + U[0]


def three_rows_back(A):
    T = np.empty((A.shape[0], A.shape[1]))
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            T[i, j] = A[i, j] * 0.5
        if i >= 3:
            for j in range(A.shape[1]):
                A[i, j] = T[i - 1, j] + T[i - 3, j]


def wrapped(A, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[i, j] = A[i, j - 1] + A[i, j]


def gathered(A, rows, B):
    for i in range(rows.shape[0]):
        B[i] = A[rows[i]]


def recurrence(A):
    for i in range(1, A.shape[0]):
        A[i] = A[i - 1] * A[i] + 1.0


def six_back(A):
    for i in range(6, A.shape[0]):
        A[i] = A[i - 6] * A[i] + 1.0


def back_by(A, d):
    for i in range(d, A.shape[0]):
        A[i] = A[i - d] * A[i] + 1.0


def ahead(A):
    for i in range(A.shape[0] - 1):
        A[i] = A[i + 1] * 2.0


def square(*names, size=40, dtype=float):
    return {name: np.zeros((size, size), dtype) for name in names}


CALLS = {
    product: square("C", "A", "B"),
    both_sums: {**square("A"), "r": np.zeros(40), "c": np.zeros(40)},
    strips: square("A", "B"),
    two_in_turn: {"A": np.zeros(40), "B": np.zeros(40)},
    kept_between_iterations: {"A": np.zeros(40), "B": np.zeros(40)},
    three_rows_back: square("A"),
    wrapped: square("A", "B"),
    gathered: {"A": np.zeros(9), "rows": np.zeros(9, int), "B": np.zeros(9)},
    recurrence: {"A": np.zeros(200)},
    six_back: {"A": np.zeros(200)},
    back_by: {"A": np.zeros(200), "d": 30},
    ahead: {"A": np.zeros(200)},
    lower_update: {**square("C", "A", dtype=int), "m": 40},
}


def shorter(bounds, by):
    """The bounds with all but constants moved."""
    return tuple(e if e.is_constant else e + by for e in bounds)


def weaker_boxes(monkeypatch):
    right = full_tiles._extreme
    monkeypatch.setattr(full_tiles, "_extreme", lambda bound, boxes, largest: right(bound, boxes, not largest))


def short_fill(monkeypatch):
    right = pack._Packer._fill

    def fill(self, copy):
        made = right(self, copy)
        return replace(made, upper=tuple(e - 1 for e in made.upper))

    monkeypatch.setattr(pack._Packer, "_fill", fill)


def late_fill(monkeypatch):
    right = pack._Packer._filled

    def filled(self, chain, copies, level):
        made = right(self, chain, copies, level)
        own = [c for c in copies if c.level == level]
        return (*made[len(own) :], *made[: len(own)])

    monkeypatch.setattr(pack._Packer, "_filled", filled)


def short_ring(monkeypatch):
    right = fold_storage._reach
    monkeypatch.setattr(fold_storage, "_reach", lambda *given: None if (n := right(*given)) is None else max(n - 1, 1))


def short_range(monkeypatch):
    right = share_memory.uses

    def without_the_last_loop(program, names):
        return {name: [use for use in own if use.path[0] is not own[-1].path[0]] for name, own in right(program, names).items()}

    monkeypatch.setattr(share_memory, "uses", without_the_last_loop)


def all_within_iterations(monkeypatch):
    monkeypatch.setattr(share_memory, "hands_nothing_on", lambda *_: True)


def short_strip(monkeypatch):
    right = privatize._window
    monkeypatch.setattr(privatize, "_window", lambda low, lengths: right(low, [n and n - 1 for n in lengths]))


def shared_strip(monkeypatch):
    right = privatize.privatize

    def shared(program):
        made = right(program)
        body = tuple(replace(n, private=()) if isinstance(n, Loop) else n for n in made.body)
        return replace(made, body=body)

    monkeypatch.setitem(pass_manager.instead, "privatize", shared)


def exchanged_sides(monkeypatch):
    before, after = split_loops._before, split_loops._from
    monkeypatch.setattr(split_loops, "_before", after)
    monkeypatch.setattr(split_loops, "_from", before)


def wrong_identity(monkeypatch):
    monkeypatch.setattr(privatize_reductions, "identity", lambda operator, element: 1.0)


def one_thread_joined(monkeypatch):
    right = privatize_reductions._Privatizer._over

    def over(self, partial, statement, threads_first):
        made = right(self, partial, statement, threads_first)
        return made if threads_first else _with(made, lambda n: replace(n, upper=(Affine(0),)) if n.var.endswith("_t") else n)

    monkeypatch.setattr(privatize_reductions._Privatizer, "_over", over)


def no_end_of_share(monkeypatch):
    right = balance._ending

    def ending(node, tile, last, keep):
        return _with(right(node, tile, last, keep), lambda n: replace(n, upper=tuple(e for e in n.upper if e != variable(last))))

    monkeypatch.setattr(balance, "_ending", ending)


def fetched_read_that_is_not(monkeypatch):
    monkeypatch.setattr(prefetch, "_again", lambda program, table, tile: iter([(next(iter(program.scop.statements)), 7, "i")]))


def from_the_second_element(monkeypatch):
    right = index_bounds._loops

    def loops(*given):
        return _with(right(*given), lambda n: replace(n, lower=(Affine(1),)))

    monkeypatch.setattr(index_bounds, "_loops", loops)


def all_free(monkeypatch):
    monkeypatch.setattr(LoopNest, "is_independent", lambda *given, **options: True)


def any_lanes(monkeypatch):
    monkeypatch.setattr(LoopNest, "lane_reach", LaneReach(FARTHEST, FARTHEST, ()))


def no_order(monkeypatch):
    """Iterations that depend on each other run together as if they did not."""
    right = register_tile.register_tile
    monkeypatch.setattr(
        "polyml.codegen.passes.vectorize.register_tile",
        lambda nest, shape: tuple(_jams(n, lambda jam: replace(jam, in_order=False)) for n in right(nest, shape)),
    )


def no_version_for_others(monkeypatch):
    """Nothing runs where a distance is neither long nor not positive."""
    right = distance_versions.versions
    monkeypatch.setattr(
        "polyml.codegen.passes.vectorize.versions", lambda nest, far: (*right(nest, far)[:2], FALSE)[: 3 * bool(right(nest, far))]
    )


def no_masks(monkeypatch):
    right = register_tile.register_tile
    monkeypatch.setattr(
        "polyml.codegen.passes.vectorize.register_tile",
        lambda nest, shape: tuple(_jams(n, lambda jam: replace(jam, limit=None)) for n in right(nest, shape)),
    )


def dropped_remainder(monkeypatch):
    right = register_tile.register_tile
    monkeypatch.setattr("polyml.codegen.passes.vectorize.register_tile", lambda nest, shape: right(nest, shape)[:1])


def one_lane_too_many(monkeypatch):
    right = register_tile.register_tile

    def wide(jam):
        return jam if jam.limit is not None or jam.lanes == 1 else replace(jam, lanes=jam.lanes + 1)

    monkeypatch.setattr(
        "polyml.codegen.passes.vectorize.register_tile", lambda nest, shape: tuple(_jams(n, wide) for n in right(nest, shape))
    )


def _with(node, change):
    """The node with every loop changed."""
    if isinstance(node, Instance):
        return node
    made = with_body(node, tuple(_with(n, change) for n in node.body))
    return change(made) if isinstance(made, Loop) else made


def _jams(node, change):
    if isinstance(node, Instance):
        return node
    made = with_body(node, tuple(_jams(n, change) for n in node.body))
    return change(made) if isinstance(made, Jam) else made


PLANTED = [  # the pass, its bug, a kernel, what is said of it, and settings
    ("index_bounds", from_the_second_element, gathered, "is not looked at once"),
    ("privatize_reductions", wrong_identity, both_sums, "c["),
    ("privatize_reductions", one_thread_joined, both_sums, "c["),
    ("prefetch", fetched_read_that_is_not, both_sums, "read 7 of"),
    ("balance", no_end_of_share, strips, "in different iterations of parallel loop"),
    ("pack", short_fill, product, "before anything wrote it"),
    ("pack", late_fill, product, "S0_from"),
    ("full_tiles", weaker_boxes, lower_update, "which is no instance"),
    ("privatize", short_strip, strips, "has no memory there"),
    ("privatize", shared_strip, strips, "in different iterations of parallel loop"),
    ("split_loops", exchanged_sides, wrapped, "in place of"),
    ("vectorize", all_free, recurrence, "in different iterations of"),
    ("vectorize", any_lanes, six_back, "in different iterations of"),
    ("vectorize", any_lanes, back_by, "in different iterations of"),
    ("vectorize", no_version_for_others, back_by, "never runs"),
    ("vectorize", no_order, ahead, "in different iterations of"),
    ("vectorize", no_masks, six_back, "S0"),
    ("vectorize", no_masks, strips, "S"),
    ("vectorize", dropped_remainder, strips, "never runs"),
    ("vectorize", one_lane_too_many, strips, "S"),
    ("fold_storage", short_ring, three_rows_back, "whose memory holds", {"schedule": "source"}),
    ("share_memory", short_range, two_in_turn, "before anything wrote it", {"fusion": "no"}),
    ("share_memory", all_within_iterations, kept_between_iterations, "before anything wrote it", {"fusion": "no"}),
]


def test_a_bug_is_planted_in_every_pass():
    steps = (*passes.PROGRAM_PASSES, *passes.TILE_PASSES, *passes.VECTOR_PASSES)
    left = {step.name for step in steps} - {planted[0] for planted in PLANTED}
    assert left == {"mark_scans"}, (
        "PLANTED has a bug of every pass from a Program to a Program but mark_scans, which adds marks alone"
    )


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: f"{planted[0]}-{planted[1].__name__}")
def test_a_planted_bug_is_found(planted):
    name, plant, function, text, *settings = planted
    options = settings[0] if settings else {}
    with small() as patch:
        assert finding(name, function, CALLS[function], **options) is None
        plant(patch)
        problem = finding(name, function, CALLS[function], **options)
    assert problem is not None
    assert problem.message.startswith(f"pass {name} is wrong: ")
    assert text in problem.message


@pytest.mark.parametrize("first", [0, 1])
def test_words_that_begin_inside_of_words_are_found(first):
    def bytes_from(C, A, B):
        for i in range(C.shape[0]):
            for j in range(C.shape[1]):
                for k in range(first, A.shape[1]):
                    C[i, j] += np.int32(A[i, k]) * np.int32(B[k, j])

    call = {**square("C", dtype=np.int32), **square("A", "B", dtype=np.int8)}
    with small() as patch:
        patch.setattr("polyml.machines.cpu.host", lambda: catalogue.processor("zen4"))
        patch.setattr("polyml.codegen.passes.packing.choose.LEAST_WORD_USES", 2)
        patch.setattr(contraction, "blocks", blocks_of(14, 7, 4, 4))
        assert finding("vectorize", bytes_from, call) is None
        for module in ("passes.packing.words", "register_tiles.word_loops"):
            patch.setattr(f"polyml.codegen.{module}.all_multiples", lambda *_: True)
        made = next(after for name, _, after in compiled(bytes_from, call) if name == "vectorize")
        assert any(isinstance(node, Unroll) and node.word == "vpdpbusd" for node in every(made.body))
        problem = finding("vectorize", bytes_from, call)
    if first == 0:
        assert problem is None
    else:
        assert "as number 0 of a word of B_tile0, of which it is 1" in problem.message


def build_of(function):
    with small():
        return next((after.scop, after) for name, _, after in compiled(function, CALLS[function]) if name == "build")


@pytest.mark.parametrize("function", [product, strips, lower_update], ids=lambda f: f.__name__)
def test_loops_of_a_schedule_that_leave_out_or_exchange_instances_are_found(function):
    scop, program = build_of(function)
    assert check_build(scop, program) is None
    cut = replace(program, body=tuple(_with(n, lambda loop: replace(loop, upper=shorter(loop.upper, -1))) for n in program.body))
    assert "never runs" in check_build(scop, cut).what


def test_loops_that_run_in_an_order_that_a_dependence_forbids_are_found():
    scop, program = build_of(three_rows_back)
    assert check_build(scop, program) is None
    wrong = check_build(scop, replace(program, body=program.body[::-1]))
    assert wrong is not None
    assert wrong.instance
    assert wrong.element


def test_what_a_pass_leaves_as_it_is_is_not_run(monkeypatch):
    _, program = build_of(product)
    monkeypatch.setattr(programs, "Executable", None)
    assert check(program, replace(program, notes=("a note",))) is None


def test_an_earlier_pass_is_not_found_again():
    _, program = build_of(recurrence)
    wrong = replace(program, body=tuple(_with(n, lambda loop: replace(loop, parallel=True)) for n in program.body))
    found = check(program, wrong)
    assert "in different iterations of parallel loop" in found.what
    assert check(wrong, replace(wrong, body=program.body)) is None
