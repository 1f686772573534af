"""Loops that are generated without isl run each instance once, in the schedule's order."""

import random

import pytest

from polyml.codegen.astgen.scan import scan
from tests.codegen.trees import CONTEXT, band, in_order, random_product, random_schedule, run, schedule_of, sequence


def check(schedule, sizes_of=((0, 0), (1, 1), (2, 5), (5, 2), (7, 6), (9, 9)), context=CONTEXT, every=False):
    """Whether it is for the generator, which is then right."""
    made = scan(schedule, context, every)
    if made is None:
        return False
    for n, m in sizes_of:
        sizes = {"N": n, "M": m}
        assert [*run(made, sizes)] == in_order(schedule, sizes), (sizes, str(schedule))
    return True


@pytest.mark.parametrize("domain", ["0 <= i < N and 0 <= j < M", "0 <= j <= i < N", "0 <= i < N and i < j < M", "0 <= i < N and j = i",
                                    "0 <= i < N and 0 <= j < M and N <= M", "0 <= i < N and -i <= 2j <= 3i + M"])  # fmt: skip
@pytest.mark.parametrize("sizes", [(2, 3), (4, 2), (6, 3)])
def test_tiles_of_one_statement(domain, sizes):
    a, b = sizes
    points = band("S[i, j] -> [(i)]", "S[i, j] -> [(j)]")
    tiles = band(f"S[i, j] -> [(i - i mod {a})]", f"S[i, j] -> [(j - j mod {b})]", child=points)
    assert check(schedule_of(f"S[i, j] : {domain}", tiles))


def test_tiles_in_tiles_begin_where_these_do():
    points = band("S[i, j] -> [(i)]", "S[i, j] -> [(j)]")
    tiles = band("S[i, j] -> [(j - j mod 6)]", child=band("S[i, j] -> [(i - i mod 2)]", "S[i, j] -> [(j - j mod 3)]", child=points))
    schedule = schedule_of("S[i, j] : 0 <= i < N and 0 <= j < M", tiles)
    assert check(schedule)
    (outer,) = scan(schedule, CONTEXT)
    (inner,) = outer.body[0].body
    assert (list(map(str, inner.lower)), inner.step) == (["c0"], 3)
    assert list(map(str, inner.upper)) == ["M - 1", "c0 + 5"]


def test_bounds_that_follow_from_loops_around_are_left_out():
    tiles = band("S[i] -> [(i - i mod 4)]", child=band("S[i] -> [(i)]"))
    (outer,) = scan(schedule_of("S[i] : 0 <= i < N and i < 2N", tiles), CONTEXT)
    assert list(map(str, outer.upper)) == ["N - 1"]
    assert list(map(str, outer.body[0].lower)) == ["c0"]


def test_a_part_of_a_sequence_that_has_no_instances():
    """The other part has all, so that its filter says nothing more."""
    parts = sequence(("S[i] : i <= 3", ""), ("S[i]", band("S[i] -> [(i)]")))
    assert check(schedule_of("S[i] : 4 <= i < N", band("S[i] -> [(i - i mod 8)]", child=parts)))


@pytest.mark.parametrize("bounds", ["0 <= j < M", "j = 0 and M > 1", "i <= j < M"])
def test_statements_of_one_loop(bounds):
    inner = sequence(("S[i]", ""), ("T[i, j]", band("T[i, j] -> [(j)]")))
    domain = f"S[i] : 0 <= i < N; T[i, j] : 0 <= i < N and {bounds}"
    ends_are_equal = bounds != "i <= j < M"
    assert check(schedule_of(domain, band("S[i] -> [(i)]; T[i, j] -> [(i)]", child=inner))) == ends_are_equal


def test_a_loop_that_is_said_to_stay_one_is_around_all_its_statements():
    inner = sequence(("S[i]", ""), ("T[i, j]", band("T[i, j] -> [(j)]")))
    domain = "S[i] : 0 <= i < N; T[i, j] : 0 <= i < N and i <= j < M"
    assert check(schedule_of(domain, band("S[i] -> [(i)]; T[i, j] -> [(i + 2)]", options="atomic[x]", child=inner)))


def test_parts_of_a_statement_by_a_filter():
    inner = sequence(("S[i, j] : j <= i", band("S[i, j] -> [(j)]")), ("S[i, j] : j > i", band("S[i, j] -> [(j)]")))
    assert check(schedule_of("S[i, j] : 0 <= i < N and 0 <= j < M", band("S[i, j] -> [(i)]", child=inner)))


def test_two_values_of_one_loop_must_be_the_same():
    """A part whose loop has one iteration, by two equations: that both hold is asked, also where a tile is around."""
    parts = ("S[i] : i <= 0 and i <= N - 3", "S[i] : N - 2 <= i <= 0", "S[i] : i > 0")
    inner = sequence(*((part, band("S[i] -> [(i)]")) for part in parts))
    assert check(schedule_of("S[i] : 0 <= i <= N - 2", inner), [(n, 0) for n in range(8)])
    assert check(schedule_of("S[i] : 0 <= i <= N - 2", band("S[i] -> [(i - i mod 4)]", child=inner)), [(n, 0) for n in range(14)])


@pytest.mark.parametrize("domain", ["0 <= i < N and i mod 2 = 0", "0 <= i < N and (i < M or i > 2M)",
                                    "exists(e: 0 <= e < N and i = 5e + 3M)"])  # fmt: skip
def test_what_is_no_conjunction_is_left_to_isl(domain):
    assert not check(schedule_of(f"S[i] : {domain}", band("S[i] -> [(i)]")))


def test_strides_of_a_schedule_are_steps():
    schedule = schedule_of("S[i] : 0 <= i < N", band("S[i] -> [(2i)]"))
    assert not check(schedule) or scan(schedule, CONTEXT)[0].step == 2


@pytest.mark.parametrize("domain", ["0 <= i < N and i mod 2 = 0", "0 <= i < N and (i < M or i > 2M)", "0 <= i < N and 2*floor(i/3) < i",
                                    "exists(e: 0 <= e < N and i = 5e + 3M)"])  # fmt: skip
@pytest.mark.parametrize("member", ["i", "floor(i/3)", "i - i mod 6", "-i"])
def test_every_domain_is_scanned_if_need_be(domain, member):
    schedule = schedule_of(f"S[i] : {domain}", band(f"S[i] -> [({member})]", child=band("S[i] -> [(i)]")))
    assert check(schedule, every=True)


def test_statements_of_one_loop_have_the_bounds_of_all_if_need_be():
    inner = sequence(("S[i]", ""), ("T[i, j]", band("T[i, j] -> [(j)]")))
    domain = "S[i] : 0 <= i < N; T[i, j] : M <= i < 2M and i <= j < N"
    schedule = schedule_of(domain, band("S[i] -> [(i)]; T[i, j] -> [(-i)]", child=inner))
    assert not check(schedule) and check(schedule, every=True)


def test_quotients_that_no_loop_counts_are_asked():
    points = band("S[i, j] -> [(j)]", "S[i, j] -> [(i)]")
    lean = band("S[i, j] -> [(i - j - (i) mod 7)]", "S[i, j] -> [(3*floor((j)/4) + 2*floor((j)/12))]", child=points)
    schedule = schedule_of("S[i, j] : 0 <= i < N and 0 <= j < i + M and (i + j + N) mod 2 = 0", lean)
    assert not check(schedule) and check(schedule, every=True)


def test_of_many_bounds_some_are_taken():
    members = ["floor((t + i)/8)", "floor((t + j)/4)", "t + floor((t + k)/5)", "3t + i + j + k", "-t + (t) mod 16", "i - (i) mod 4",
               "t - (t) mod 16", "i - (i) mod 7", "j - (j) mod 2", "t", "i", "j"]  # fmt: skip
    domain = "S[t, i, j, k] : 0 <= t <= 1 and 0 < i < N - 1 and 0 < j < M - 1 and 0 < k < M - 1"
    schedule = schedule_of(domain, band(*(f"S[t, i, j, k] -> [({e})]" for e in members)))
    assert check(schedule, ((0, 0), (3, 3), (5, 4), (4, 6)), every=True)


LAST = "max(0, N - 1)"


def behind_a_product(last, size=4):
    """T adds up along k in tiles, S runs before the first one, and D behind the one that `last` is in."""
    parts = (
        ("S[i]", band("S[i] -> [(i)]")),
        ("T[i, k]", band("T[i, k] -> [(i)]", "T[i, k] -> [(k)]")),
        ("D[i]", band("D[i] -> [(i)]")),
    )
    member = f"T[i, k] -> [(k - k mod {size})]; S[i] -> [(0)]; D[i] -> [({last} - ({last}) mod {size})]"
    domain = "S[i] : 0 <= i < M; T[i, k] : 0 <= i < M and 0 <= k < N; D[i] : 0 <= i < M"
    return schedule_of(domain, band(member, options="atomic[x]", child=sequence(*parts)))


DEPTHS = [(n, 3) for n in range(14)]


def test_what_is_behind_a_product_runs_in_its_last_tile():
    """Also where the product is of nothing, so that the first tile is the last one."""
    schedule = behind_a_product(LAST)
    assert check(schedule, DEPTHS)
    (tiles,) = scan(schedule, CONTEXT)
    first, product, last = tiles.body
    assert (list(map(str, tiles.lower)), list(map(str, tiles.upper)), tiles.step) == (["0"], ["max(0, N - 1)"], 4)
    assert (str(first.condition), str(last.condition)) == ("c0 == 0", "c0 + 4 >= N")
    assert list(map(str, product.body[0].upper)) == ["N - 1", "c0 + 3"]


@pytest.mark.parametrize("last", ["max(0, N - 1, M - 2)", "max(0, N - 1) + 4", "max(2, N + 1)"])
def test_values_that_are_the_greatest_of_several(last):
    assert check(behind_a_product(last), [*DEPTHS, (0, 0), (1, 9), (4, 12)])


def test_values_by_cases_that_are_no_maximum_are_left_to_isl():
    assert not check(behind_a_product("min(7, N + 3)"))
    parts = sequence(("T[i]", ""), ("D[i]", ""))
    jumps = "T[i] -> [(i)]; D[i] -> [(0)] : N <= 5; D[i] -> [(N - 1)] : N > 5"
    inside = "T[i] -> [(i)]; D[i] -> [(max(i, N - 1))]"
    for member in (jumps, inside):
        assert not check(schedule_of("T[i] : 0 <= i < N; D[i] : 0 <= i < N", band(member, options="atomic[x]", child=parts)))


@pytest.mark.parametrize(("first", "last"), [("0 <= i < N", "i = 0"), ("0 <= i < N", "i = 5"),
                                             ("0 <= i and 2i < N", "i = 8"), ("N <= i < M", "i = 4")])  # fmt: skip
@pytest.mark.parametrize("tile", ["i", "i - i mod 4"])
def test_one_loop_has_the_farthest_bound_of_its_statements(first, last, tile):
    inner = sequence(("S[i]", band("S[i] -> [(i)]")), ("T[i]", band("T[i] -> [(i)]")))
    member = f"S[i] -> [({tile})]; T[i] -> [({tile})]"
    assert check(
        schedule_of(f"S[i] : {first}; T[i] : {last}", band(member, options="atomic[x]", child=inner)), [*DEPTHS, (3, 9), (9, 30)]
    )


@pytest.mark.parametrize("last", ["0 <= i < M", "0 <= i and 3i < M"])
def test_statements_of_several_ranges_are_left_to_isl(last):
    inner = sequence(("S[i]", band("S[i] -> [(i)]")), ("T[i]", band("T[i] -> [(i)]")))
    tiles = band("S[i] -> [(i - i mod 4)]; T[i] -> [(i - i mod 4)]", options="atomic[x]", child=inner)
    assert not check(schedule_of(f"S[i] : 0 <= i < N; T[i] : {last}", tiles))


def test_bounds_that_depend_on_loops_around_are_no_reason_for_longer_loops():
    """The inner loop would go to the greatest of both ends in every iteration."""
    inner = sequence(("S[i, j]", ""), ("T[i, j]", ""))
    loops = band("S[i, j] -> [(i)]; T[i, j] -> [(i)]", "S[i, j] -> [(j)]; T[i, j] -> [(j)]", options="atomic[x]", child=inner)
    assert not check(schedule_of("S[i, j] : 0 <= i < N and 0 <= j < N and j <= i + 2; T[i, j] : 0 <= i < N and 0 <= j < M", loops))


@pytest.mark.parametrize("seed", range(150))
@pytest.mark.sweep(keep=45)
def test_random_products(seed):
    check(random_product(random.Random(seed)), [(n, m) for n in (0, 1, 2, 5, 6, 7, 9) for m in (0, 1, 3, 8)])


def test_most_random_products_are_simple():
    assert sum(scan(random_product(random.Random(seed)), CONTEXT) is not None for seed in range(60)) > 50


@pytest.mark.parametrize("seed", range(300))
def test_random_trees(seed):
    check(random_schedule(random.Random(seed)))


def test_tiles_that_begin_elsewhere_have_steps_as_long():
    tiles = band("S[i, j] -> [(-31 + i + (-1 - i) mod 32)]", "S[i, j] -> [(5 + j - j mod 8)]")
    points = band("S[i, j] -> [(i)]", "S[i, j] -> [(j)]")
    schedule = schedule_of("S[i, j] : 0 <= i < N and 0 <= j < M", tiles[:-2] + f", child: {points} }}")
    assert check(schedule, ((0, 0), (1, 9), (33, 17), (64, 8), (70, 30)))
    (outer,) = scan(schedule, CONTEXT)
    (inner,) = outer.body
    assert (outer.step, inner.step) == (32, 8)


def test_quotients_that_equations_give_are_computed_and_asked():
    tiles = "floor((i)/4) + floor((j)/3) + floor((1 + i - floor((j)/3))/4)"
    loops = band("S[i, j] -> [(3i + j)]", "S[i, j] -> [(floor((i)/4))]", f"S[i, j] -> [({tiles})]", "S[i, j] -> [(i)]")
    assert check(schedule_of("S[i, j] : i >= 0 and 2i <= N - 2 and 0 <= j < M", loops), ((9, 7), (16, 5), (37, 12)), every=True)


@pytest.mark.parametrize("seed", range(250))
@pytest.mark.sweep(keep=69)
def test_random_trees_of_every_kind(seed):
    assert check(random_schedule(random.Random(seed), every=True), every=True)


def test_most_random_trees_are_simple():
    made = [scan(random_schedule(random.Random(seed)), CONTEXT) is not None for seed in range(60)]
    assert sum(made) > 30
