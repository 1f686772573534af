"""Loops that are generated without isl run each instance once, in the schedule's order."""

import random

import islpy as isl
import pytest

from polyml import polyhedra
from polyml.codegen.ast import Guard, Instance, Loop
from polyml.codegen.scan import scan

CONTEXT = isl.Set("[N, M] -> { : N >= 0 and M >= 0 }")


def run(nodes, values):
    """The instances in the order in which the loops reach them."""
    for node in nodes:
        if isinstance(node, Instance):
            yield node.statement, tuple(e.evaluate(values) for e in node.point)
        elif isinstance(node, Guard):
            if node.condition.evaluate(values):
                yield from run(node.body, values)
        else:
            assert isinstance(node, Loop)
            low, high = max(e.evaluate(values) for e in node.lower), min(e.evaluate(values) for e in node.upper)
            for value in range(low, high + 1, node.step):
                yield from run(node.body, {**values, node.var: value})


def in_order(schedule, sizes):
    """The instances, sorted by their times."""
    times = dict(polyhedra.points(schedule.get_map().intersect_domain(schedule.get_domain()), **sizes))
    return [instance for instance, _ in sorted(times.items(), key=lambda pair: pair[1][1])]


def check(schedule, sizes_of=((0, 0), (1, 1), (2, 5), (5, 2), (7, 6), (9, 9)), context=CONTEXT, every=False):
    """Whether it is for the generator, which is then right."""
    made = scan(schedule, context, every)
    if made is None:
        return False
    for n, m in sizes_of:
        sizes = {"N": n, "M": m}
        assert [*run(made, sizes)] == in_order(schedule, sizes), (sizes, str(schedule))
    return True


def schedule_of(domain, child):
    return isl.Schedule(f'{{ domain: "[N, M] -> {{ {domain} }}", child: {child} }}')


def band(*members, options="", child=None):
    inner = f", child: {child}" if child else ""
    chosen = f', options: "{{ {options} }}"' if options else ""
    return f'{{ schedule: "[N, M] -> [{", ".join("{ " + m + " }" for m in members)}]"{chosen}{inner} }}'


def sequence(*children):
    parts = (f'{{ filter: "[N, M] -> {{ {part} }}"{", child: " + child if child else ""} }}' for part, child in children)
    return f"{{ sequence: [ {', '.join(parts)} ] }}"


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


def random_domain(rng, names, every=False):
    bounds = []
    for k, name in enumerate(names):
        low = rng.choice(["0", "0", "1", *(names[:k]), *(f"{n} + 1" for n in names[:k])])
        high = rng.choice(["N", "M", "N - 1", "M - 2", *(names[:k]), *(f"{n} + 3" for n in names[:k])])
        bounds.append(f"{low} <= {name} < {high}")
    if rng.random() < 0.2:
        bounds.append(rng.choice(["N > 2", f"{names[0]} + {names[-1]} < N + 1", f"2{names[0]} <= M + {names[-1]}"]))
    if every and rng.random() < 0.5:
        name = rng.choice(names)
        bounds.append(rng.choice([f"({name} + N) mod 2 = 0", f"({name} < 2 or {name} > M - 3)", f"{name} mod 3 <= 1"]))
    return " and ".join(bounds)


def random_member(rng, names, of):
    """A member by which no later one is lost: each has one iterator more."""
    others = [n for n in names if n != of]
    skew = rng.choice(["", "", f" + {rng.choice([1, 2])}*{rng.choice(others)}"]) if others else ""
    return rng.choice([f"{of}{skew}", f"{of}{skew}", f"{of}{skew} + {rng.randint(-2, 3)}", f"-{of}"])


TILES_OF_TILES = [
    "floor(({a})/4) + floor(({b})/3) + floor((1 + {a} - floor(({b})/3))/4)",
    "floor((floor(({b})/2) - 3*floor(({a})/5))/2)",
    "({a}) - ({a}) mod 8 - (-3*floor(({a})/8)) mod 5",
]


def random_schedule(rng, every=False):
    names = ["i", "j", "k"][: rng.randint(1, 3)]
    point = f"[{', '.join(names)}]"
    statements = ["S"] if rng.random() < 0.5 else ["S", "T"]
    domain = random_domain(rng, names, every)
    domains = {s: domain if rng.random() < 0.7 else random_domain(rng, names, every) for s in statements}
    order = rng.sample(names, len(names))
    shared = rng.randint(0, len(names)) if len(statements) > 1 else 0
    own = {s: [random_member(rng, names[:k] + [of], of) for k, of in enumerate(order)] for s in statements}
    if rng.random() < 0.6:
        own = {s: [m if "-" in m or len(m) > 3 else of for m, of in zip(own["S"], order)] for s in statements}

    def member(k, make):
        return "; ".join(f"{s}{point} -> [({make(own[s][k], s)})]" for s in statements)

    def tile(size):
        return lambda e, _: rng_tile.format(e=e, size=size)

    rng_tile = rng.choice(["{e} - ({e}) mod {size}", "floor(({e})/{size})"])
    options = rng.choice(["", "atomic[x]"]) if len(statements) > 1 else ""

    def child_of(s, start):
        members = [f"{s}{point} -> [({own[s][k]})]" for k in range(start, len(names))]
        if not members or rng.random() < 0.6:
            return band(*members) if members else ""
        of, low, high = rng.choice(names), rng.choice(["0", "1", "N - 2", "M"]), rng.choice(["0", "2", "N - 1", "M + 1"])
        parts = [f"{of} < {low}", f"{low} <= {of} <= {high}", f"{of} >= {low} and {of} > {high}"]
        return sequence(*((f"{s}{point} : {part}", band(*members)) for part in parts))

    if len(statements) == 1:
        tree = child_of("S", 0)
    else:
        tree = sequence(*((f"{s}{point}", child_of(s, shared)) for s in statements))
        for k in reversed(range(shared)):
            tree = band(member(k, lambda e, _: e), options=options, child=tree)
    for k in rng.sample(range(len(names)), rng.randint(0, len(names))):
        tree = band(member(k, tile(rng.choice([2, 3, 4, 6]))), options=options, child=tree)
    if len(names) > 1 and rng.random() < 0.2:
        lean = "floor(({a})/3) + floor(({b})/3)"
        tree = band(member(0, lambda e, s: lean.format(a=e, b=own[s][1])), options=options, child=tree)
    if every and len(names) > 1 and rng.random() < 0.4:
        leaning = rng.choice(TILES_OF_TILES)
        tree = band(member(0, lambda e, s: leaning.format(a=e, b=own[s][1])), options=options, child=tree)
    return schedule_of("; ".join(f"{s}{point} : {d}" for s, d in domains.items()), tree)


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
def test_random_trees_of_every_kind(seed):
    assert check(random_schedule(random.Random(seed), every=True), every=True)


def test_most_random_trees_are_simple():
    made = [scan(random_schedule(random.Random(seed)), CONTEXT) is not None for seed in range(60)]
    assert sum(made) > 30
