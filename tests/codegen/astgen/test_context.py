"""What is proved where a loop is made holds in every iteration, and looking at some of them first hides no proof."""

from random import Random

import pytest

from polyml.codegen.astgen.context import SIZE, LoopContext
from polyml.codegen.presburger.constraint_rows import maximum, without_maxima
from polyml.codegen.presburger.omega_test import System
from polyml.quasi_affine.affine import variable

LARGEST = maximum([({}, 7), ({"N": 1}, -3), ({"N": 2}, -SIZE)])
NAMES = ("N", ("loop", 0), ("loop", 1), ("loop", 2), LARGEST)
FACTS = System(least=(({"N": 1}, -4), *LARGEST.facts()))


def value(row, point):
    values = {"N": SIZE, LARGEST: max(7, SIZE - 3, SIZE), **{("loop", depth): number for depth, number in enumerate(point.loops)}}
    return row[1] + sum(c * values[name] for name, c in row[0].items())


def random_row(rng, names, choices=(-1, 0, 0, 1, 2)):
    return {n: c for n in names if (c := rng.choice(choices))}, rng.randrange(-3, 4)


def random_place(rng):
    """Three loops, each with two bounds on both sides, and something else that is known of them."""
    place = LoopContext(FACTS)
    for depth in range(3):
        name = ("loop", depth)
        first = [random_row(rng, NAMES[1 : depth + 1], (-1, 0, 0)) for _ in range(2)]
        last = [random_row(rng, NAMES[1 : depth + 1], (-1, 0, 1)) for _ in range(2)]
        ends = [({**terms, name: rng.choice((1, 4))}, constant) for terms, constant in first]
        ends += [({**terms, "N": rng.choice((1, 2)), name: -rng.choice((1, 4))}, constant) for terms, constant in last]
        place = place.in_loop(ends, variable(f"c{depth}"), 1)
    return place.having([random_row(rng, NAMES)] if rng.random() < 0.5 else [])


@pytest.mark.parametrize("seed", range(60))
def test_points_are_iterations_and_hide_no_proof(seed):
    rng = Random(seed)
    place = random_place(rng)
    known = [row for bounds in place.bounds for row in bounds]
    assert all(value(row, point) >= 0 for row in [*known, *place.facts.least] for point in place.points)
    plain = LoopContext(place.facts, place.bounds)
    plain.__dict__["points"] = ()
    rows = [random_row(rng, NAMES) for _ in range(20)]
    rows += [({**terms, name: terms.get(name, 0) + 1}, constant + 1) for terms, constant in known for name in NAMES[:2]]
    rows = [({n: c for n, c in terms.items() if c}, constant) for terms, constant in rows]
    for row in rows:
        found = place.proves(row)
        assert found == plain.proves(row)
        assert not found or all(value(row, point) >= 0 for point in place.points)


def test_what_maxima_are_is_proved_of_each_operand():
    place = LoopContext(FACTS)
    for (terms, constant), expected in ((({"N": 2}, 7), True), (({"N": 1}, SIZE), False), (({"N": 2}, -3), False)):
        assert place.proves(({**terms, LARGEST: -1}, constant)) == expected
    assert place.proves(({LARGEST: 1, "N": -1}, 3)) and not place.proves(({LARGEST: 1, "N": -1}, 2))
    for size in range(-5, 30):
        value = max(7, size - 3, 2 * size - SIZE)
        for least in range(-5, 30):
            rows = without_maxima(({LARGEST: -1}, least))
            assert all(row[1] + sum(c * size for c in row[0].values()) >= 0 for row in rows) == (least - value >= 0)


def test_some_random_places_have_points_and_some_rows_proofs():
    places = [random_place(Random(seed)) for seed in range(60)]
    assert sum(bool(place.points) for place in places) > 10
    assert any(place.proves(row) for place in places for row in (place.bounds[0][0], ({"N": 1}, -1)))
