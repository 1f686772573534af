"""What fired is read off compilations whose transformations are known, and summed as it should be."""

import numpy as np
import pytest

import polyml
from polyml.codegen.dot_products.instructions import use
from polyml.dtypes import I8, I32
from polyml.machines import cpu
from tests import campaign
from tests.transformations import Tally, hides, recording


def product(A, B):
    return A @ B


def centred(A):
    B = np.zeros_like(A)
    for i in range(A.shape[0]):
        total = 0.0
        for j in range(A.shape[1]):
            total += A[i, j]
        for j in range(A.shape[1]):
            B[i, j] = A[i, j] - total
    return B


def seidel(A):
    for t in range(4):
        for i in range(1, A.shape[0] - 1):
            A[i, 0] = A[i - 1, 0] + A[i + 1, 0]


def mirrored(A):
    for i in range(A.shape[0]):
        A[i, 0] = A[A.shape[0] - 1 - i, 0] * 0.5


def copied_twice(A):
    B, C = np.zeros_like(A), np.zeros_like(A)
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[i, j] = A[i, j] * 2
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            C[i, j] = B[i, j] + A[i, j]
    return B, C


def three_back(A):
    for i in range(3, A.shape[0]):
        A[i, 0] = A[i - 3, 0] * A[i, 1] + 1.0


def added(A, B):
    B += A @ A


def scaled_first(A, B):
    B *= 2
    B += 3 * (A @ A)


def squared(A):
    return A.T @ A


def shortest(A):
    for k in range(3):
        A[:] = np.minimum(A, np.add.outer(A[:, k], A[k]))


def activated(A, B, C):
    return np.maximum(A @ B + C, 0)


def summed(A, B):
    P = A @ B
    return np.sum(P * P)


@pytest.mark.parametrize(
    "function, arguments, threads, there, absent",
    [
        (added, 2, 1, {"array contraction", "in-place sum"}, {"update chain", "symmetric result", "copied rows"}),
        (scaled_first, 2, 1, {"array contraction", "update chain"}, {"in-place sum", "symmetric result", "copied rows"}),
        (squared, 1, 1, {"symmetric result"}, {"update chain", "in-place sum", "copied rows"}),
        (shortest, 1, 1, {"copied rows"}, {"update chain", "in-place sum", "symmetric result"}),
        (three_back, 1, 1, {"vectorise", "lanes in order"}, {"skew", "pack", "parallel"}),
        (product, 2, 2, {"tile", "pack", "vectorise", "parallel"}, {"skew", "index-set split", "expansion"}),
        (product, 2, 1, {"tile", "pack", "vectorise"}, {"parallel", "skew", "lanes in order"}),
        (centred, 1, 1, {"expansion"}, {"skew", "parallel", "pack"}),
        (mirrored, 1, 1, {"index-set split"}, {"skew", "pack"}),
        (copied_twice, 1, 1, {"fuse", "vectorise"}, {"skew", "index-set split", "pack"}),
        (summed, 2, 2, {"row strips", "sums over strips"}, {"skew", "update chain"}),
        (product, 2, 2, {"tile"}, {"row strips", "sums over strips"}),
        (activated, 3, 1, {"companions", "pack"}, {"row strips"}),
        (product, 2, 1, {"tile"}, {"companions"}),
        (seidel, 1, 1, set(), {"pack", "index-set split", "parallel"}),
    ],
)
def test_what_is_known_to_fire_is_seen_and_nothing_else(function, arguments, threads, there, absent):
    kernel = polyml.kernel(cache=False, threads=threads)(function)
    with recording() as seen:
        kernel(*[np.ones((320, 320)) for _ in range(arguments)])
    fired = set().union(*seen)
    assert there <= fired and not absent & fired


def test_a_script_s_skew_and_split_are_seen():
    kernel = polyml.kernel(cache=False, threads=1)(seidel)
    start = kernel.schedule("source", np.ones((40, 2)))
    for steps, name in ((lambda s: s.skew("i", "t", 2), "skew"), (lambda s: s.split("i", 4), "index-set split")):
        with recording() as seen:
            kernel.with_schedule(steps(start))(np.ones((40, 2)))
        assert name in set().union(*seen)


def test_pairs_are_of_one_compilation_and_a_part_boundary_goes_with_all():
    tally = Tally()
    tally.add([{"tile", "skew", "pass pack"}, {"pack", "pass pack"}], is_wrong=False, is_hidden=True, has_parts=True)
    assert tally.fired == {"tile": 1, "skew": 1, "pack": 1, "part boundary": 1} and tally.hidden == 1
    assert tally.passes == {"pack": 1}
    assert tally.pairs["tile skew"] == tally.pairs["pack part boundary"] == 1 and tally.pairs["tile pack"] == 0
    twice = tally + Tally.from_json(tally.to_json())
    assert twice.programs == 2 and twice.pairs["tile skew"] == 2
    assert "fuse" in twice.rare() and "tile with skew" in twice.rare()


def test_most_floats_decide_what_is_hidden():
    assert hides([np.array([np.nan, np.inf, 1.0])]) and not hides([np.array([np.nan, 1.0])]) and not hides([3, np.arange(3)])


def test_a_campaign_gives_each_fuzzer_its_share_and_goes_on_where_it_ended():
    done, steps = [0] * len(campaign.SHARES), 0
    while (turn := campaign.next_turn(done, 20_000)) is not None:
        place, count = turn
        done[place] += count
        steps += 1
        shares = [count / share for count, (share, _, _) in zip(done, campaign.SHARES)]
        assert max(shares) - min(shares) <= campaign.STEP / 100 + 1
    assert done == [3_000, 3_600, 2_000, 1_600, 7_600, 600, 1_600] and steps == 28
    state = campaign.State(done, Tally(programs=20_000), 1.5)
    assert campaign.State.from_json(state.to_json()) == state


def bytes_added_up(A, B, C):
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += np.int32(A[i, k]) * np.int32(B[k, j])


def test_words_fire_where_the_machine_has_an_instruction():
    with recording() as seen:
        numbers = np.ones((96, 96), np.int8)
        polyml.kernel(bytes_added_up, cache=False)(numbers, numbers, np.zeros((96, 96), np.int32))
    has_one = use(cpu.host(), I32, I8, I8) is not None
    assert ("words" in set().union(*seen)) == has_one
