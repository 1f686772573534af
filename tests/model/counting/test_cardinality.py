"""Counts against isl's enumeration of the same set for numbers in place of the parameters."""

from random import Random

import islpy as isl
import pytest

from polyml import polyhedra
from polyml.model.counting.cardinality import CannotCount, count

WRITTEN = [
    "[N] -> { [i, j] : 0 <= i <= j < N }",
    "[N, M] -> { [i, j] : 0 <= i < N and 0 <= j < M and i + j < N + 2 }",
    "[N] -> { [i, l] : exists j : 0 <= i < N and 0 <= j < N and 8l <= j < 8l + 8 }",
    "[N] -> { [l] : exists i, j : 0 <= i < 10 and 0 <= j < N and 8l <= 13i + j < 8l + 8 }",
    "[N] -> { [i, k] : 0 <= i < N and exists q: i = 3q and k < 2i and k >= 0 }",
    "[N] -> { [i, k] : 2i = 3k and 0 <= k < N }",
    "[N] -> { [i] : 3i = N }",
    "[N, M] -> { [i, j] : 3i + 6j = N and i >= 0 and j >= M }",
    "[N, M] -> { [i, j, k] : 3i + 6j = N + k and i >= 0 and j >= M and 0 <= k < 5 and 2k = i + M }",
    "[N] -> { [t, i] : exists q: t = 32q and 0 <= t < N and t <= i < t + 32 and i < N }",
    "[N] -> { [x, y] : 0 <= x and 0 <= y and 2x + 3y <= N }",
    "[N] -> { [x, y, z] : 0 <= x <= 2y and y <= N and 3z <= x + y and z >= -2 }",
    "[N] -> { [i, l]: exists j: 0 <= i <= j < N and l = floor((j + 3)/4) }",
    "[N] -> { [i] : (0 <= i < N and i mod 3 = 1) or (N <= 2i < 3N and i mod 2 = 0) }",
    "[N] -> { : N >= 3 }",
    "[N] -> { [] : N mod 3 = 1 }",
]


def number_of_points(domain, values):
    return (
        len(polyhedra.points(domain, **values))
        if polyhedra.dimensions(domain)
        else int(not polyhedra.fix(domain, values).is_empty())
    )


@pytest.mark.parametrize("text", WRITTEN)
def test_written(text):
    domain, rng = isl.Set(text), Random(1)
    found = count(domain)
    for _ in range(20):
        values = {name: rng.randint(0, 40) for name in polyhedra.parameter_names(domain)}
        assert found.evaluate(values) == number_of_points(domain, values), values


def random_set(rng):
    names = ["i", "j", "k"][: rng.randint(1, 3)]
    rows = [f"0 <= {name} <= {rng.choice(['N', 'M', '7', '2N', 'N + M'])}" for name in names]
    for _ in range(rng.randint(0, 2)):
        terms = [f"{rng.randint(-3, 3)} {name}" for name in (*names, rng.choice("NM"))]
        rows.append(f"{' + '.join(terms)} + {rng.randint(-4, 6)} {rng.choice(['>=', '>=', '='])} 0")
    if rng.random() < 0.4:
        rows.append(f"({rng.choice(names)} + {rng.randint(0, 3)}) mod {rng.randint(2, 5)} = {rng.randint(0, 1)}")
    if rng.random() < 0.3:
        lost = names.pop()
        rows = [f"exists {lost} : {' and '.join(rows)}"]
    other = f" or ({rng.choice(names or ['N'])} = 1 and {' and '.join(f'0 <= {name} <= 4' for name in names) or 'N > 3'})"
    return f"[N, M] -> {{ [{', '.join(names)}] : ({' and '.join(rows)}){other if rng.random() < 0.3 else ''} }}"


@pytest.mark.parametrize("seed", range(150))
def test_random(seed):
    rng = Random(seed)
    text = random_set(rng)
    domain = isl.Set(text)
    try:
        found = count(domain)
    except CannotCount:
        pytest.fail(text)
    for _ in range(6):
        values = {"N": rng.randint(0, 9), "M": rng.randint(0, 9)}
        assert found.evaluate(values) == number_of_points(domain, values), (text, values)


def test_without_bounds():
    with pytest.raises(CannotCount, match="not bounded"):
        count(isl.Set("{ [i] : i >= 0 }"))


def test_gives_up_after_some_steps():
    domain = isl.Set(WRITTEN[0])
    assert count(domain, steps=10).evaluate({"N": 4}) == 10
    with pytest.raises(CannotCount, match="too long"):
        count(domain, steps=1)


def test_conditions_that_are_long_are_shown_in_data_alone():
    domain = isl.Set("[N, M] -> { [i] : 0 <= i < N or M <= i < M + 5 or 2M - 3 <= i < N + 4 }")
    counted = count(domain).within(isl.Set("[N, M] -> { : }"))
    ((value, where),) = counted.cases({"N": 20, "M": 9})
    assert len(where) > 60 and counted.text({"N": 20, "M": 9}) == f"{value} where sizes are like these"
    assert where in counted.text() and "like these" not in counted.text()
