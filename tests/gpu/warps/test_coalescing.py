"""Requests of warps at any points, against every thread on its own."""

import islpy as isl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyml import polyhedra
from polyml.gpu.warps.coalescing import requests
from polyml.gpu.warps.requests import sectors
from polyml.gpu.warps.thread_blocks import Threads
from polyml.gpu.warps.warp_requests import AccessBlock
from tests.gpu.brute import counted
from tests.gpu.mapping import H100

PLACES = st.lists(
    st.sampled_from([
        "0 <= i < 9", "0 <= i < 40", "2 <= i <= 21", "0 <= j < 70", "-3 <= j < 45", "5 <= j < 39", "0 <= k < 4", "k = 2", "j <= i + 20",
        "i + j <= 50", "k <= i", "i mod 3 = 1", "j mod 2 = 0", "(i + j) mod 3 = 0", "j != 17", "2k <= j", "i = 2k + 1",
    ]), max_size=5, unique=True,
).map(lambda facts: " and ".join(["-3 <= i < 45 and -8 <= j < 80 and 0 <= k < 5", *facts]))  # fmt: skip
EXPRESSIONS = st.sampled_from([
    "4i + 400j", "4j + 400i", "8j + 360i + 40k", "4k", "8*floor(j/2) + 512i", "4i + 4j + 4k", "12j + 4i", "4*(j mod 8) + 64i", "40j - 4i",
    "4*floor((i + j)/3)", "128i + 4j", "-8j + 264k", "4000",
])  # fmt: skip


def divided(dims, block):
    """{ T[i, j, k] -> T[b0, t0, b1, t1, o] }: the blocks and threads along two dimensions, and the other dimension."""
    names = "ijk"
    (other,) = {0, 1, 2} - {*dims}
    parts = [f"{names[dim]} = {size} b{n} + t{n} and 0 <= t{n} < {size}" for n, (dim, size) in enumerate(zip(dims, block))]
    return isl.Map(f"{{ T[i, j, k] -> T[b0, t0, b1, t1, o] : {' and '.join(parts)} and o = {names[other]} }}")


@settings(max_examples=10, deadline=None)
@given(PLACES, st.lists(EXPRESSIONS, min_size=1, max_size=3), st.tuples(st.integers(1, 40), st.integers(1, 20)),
       st.sampled_from([(0, 1), (1, 0), (2, 1), (1, 2)]), st.sampled_from([4, 8]))  # fmt: skip
def test_any_set_in_any_block(facts, expressions, block, dims, size):
    """Addresses of accesses made at the same times, some in two pieces, against every thread on its own."""
    when = isl.Set(f"{{ T[i, j, k] : {facts} }}")
    if when.is_empty():
        return
    accesses = [isl.PwAff(f"{{ T[i, j, k] -> [(10000 + {e})] }}") for e in expressions]
    accesses.append(isl.PwAff("{ T[i, j, k] -> [(10000 + 8j)] : j <= 30; T[i, j, k] -> [(20000 + 4i)] : j > 30 }"))
    there = divided(dims, block)
    back = isl.PwMultiAff.from_map(there.reverse())
    rows = [polyhedra.rows_by_piece(each.pullback_pw_multi_aff(back)) for each in accesses]
    made_by = AccessBlock(Threads(block, 32), ((0, 1), (2, 3)), sectors(size, H100), 128)
    found = requests(when.apply(there), rows, made_by)
    (other,) = {0, 1, 2} - {*dims}
    points = sorted(at for _, at in polyhedra.points(when))
    for made, access in zip(found, accesses):
        pairs = polyhedra.points(isl.Map.from_pw_aff(access).intersect_domain(when))
        address = {at: value for (_, at), (_, (value,)) in pairs}
        events = [(at[other], (at[dims[0]], at[dims[1]]), address[at]) for at in points]
        expected = counted(events, block)
        assert made.accuracy == "exact"
        assert (made.requests, made.lanes, *made.amounts[1:], made.most) == (
            expected.requests, expected.lanes, expected.sectors, expected.lines, expected.most
        )  # fmt: skip


@settings(max_examples=33, deadline=None)
@given(PLACES, st.dictionaries(st.integers(0, 2), st.integers(1, 9)))
def test_tiles_are_counted(facts, sizes):
    when = isl.Set(f"{{ T[i, j, k] : {facts} }}")
    tiles = {tuple(v // sizes.get(dim, 1) for dim, v in enumerate(at)) for _, at in polyhedra.points(when)}
    assert polyhedra.count_tiles(when, sizes) == len(tiles)


def in_rows(rows, most=1 << 20):
    """A triangle of so many rows, in blocks of 32 threads along j."""
    when = isl.Set(f"{{ T[b, t, i] : 0 <= i < {rows} and i <= 32 b + t <= i + i/2 and 0 <= t < 32 }}")
    address = polyhedra.rows_by_piece(isl.PwAff("{ T[b, t, i] -> [(128b + 4t + 4000i)] }"))
    (found,) = requests(when, [address], AccessBlock(Threads((32,), 32), ((0, 1),), sectors(4, H100), 128), most)
    return found


def test_of_too_many_warps_some_are_looked_at():
    exact, some = in_rows(600), in_rows(600, most=1000)
    assert some.accuracy.startswith("estimate") and exact.accuracy == "exact"
    assert some.amounts[1] == pytest.approx(exact.amounts[1], rel=0.1)


def test_loops_too_long_to_be_looked_at():
    """The triangle of 10^8 rows: as many requests as there are iterations, but for those that are cut."""
    when = isl.Set("{ T[b, t, j] : 0 <= 32b + t < 100000000 and 0 <= t < 32 and 32b + t <= j < 32b + t + 5 }")
    rows = polyhedra.rows_by_piece(isl.PwAff("{ T[b, t, j] -> [(128b + 4t)] }"))
    (found,) = requests(when, [rows], AccessBlock(Threads((32,), 32), ((0, 1),), sectors(4, H100), 128))
    assert found.accuracy.startswith("estimate") and found.requests == pytest.approx(10**8 / 32 * 36, rel=0.1)
