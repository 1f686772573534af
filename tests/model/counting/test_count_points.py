"""Points counted by formulas, or one by one where these have too many cases, against isl's own points."""

from collections import Counter

import islpy as isl
import numpy as np
import pytest

from polyml.model.counting import batch_evaluation, cardinality, count_points
from polyml.model.counting.cardinality import CannotCount, count
from polyml.model.counting.lattice_points import lattice
from polyml.polyhedra import points

FLOORS = " and ".join(f"(3i + {k}j + floor((i + j)/{p})) mod {p} <= {p // 2}" for k, p in enumerate((67, 71, 73), 1))
MANY = f"0 <= i, j < 40 and {FLOORS}"  # of periods that no formula has cases for


def test_the_formula_has_too_many_cases():
    with pytest.raises(CannotCount):
        count(isl.Set(f"{{ [i, j] : {MANY} }}"))


@pytest.mark.parametrize(
    "text", [f"{{ [i, j] : {MANY} }}", "{ [i, j] : 0 <= j <= i < 9 or 3 <= i, j < 12 }", "{ [i] : 2 <= i < 1 }"]
)
@pytest.mark.parametrize("most", [2**24, 10])
def test_sizes_of_sets(text, most, monkeypatch):
    monkeypatch.setattr(count_points, "MOST_POINTS", most)
    assert count_points.size(isl.Set(text)) == len(points(isl.Set(text)))


@pytest.mark.parametrize("condition", [MANY, "0 <= j <= i < 9"])
def test_sizes_by_parameters(condition):
    domain = isl.Set(f"[n, m] -> {{ [i, j] : {condition} and n <= i and j <= m }}")
    found = count_points.sizes(domain)
    for n, m in [(0, 39), (5, 7), (13, 2), (41, 3)]:
        assert found({"n": n, "m": m}) == len(points(domain, n=n, m=m))


@pytest.mark.parametrize("largest", [2**62, 10])
@pytest.mark.parametrize("condition", [MANY, "0 <= j <= i < 9", "0 <= 2i <= 3j + n < 20 and (i + 2j + m) mod 3 = 1"])
def test_tables_of_parameters(condition, largest, monkeypatch):
    """Also where numbers may have more bits than those of NumPy."""
    monkeypatch.setattr(batch_evaluation, "LARGEST", largest)
    domain = isl.Set(f"[n, m] -> {{ [i, j] : {condition} and n <= i and j <= m }}")
    at = np.array([(n, m) for n in range(-2, 12, 3) for m in range(0, 9, 2)])
    expected = [len(points(domain, n=n, m=m)) for n, m in at.tolist()]
    assert count_points.table(domain, ["n", "m"], at).tolist() == expected


def test_points_of_a_set_whose_projections_have_alternatives():
    """Without its last dimension it is no conjunction, so that what is asked of the others alone is tried at the end."""
    domain = isl.Set(f"{{ [n, i, j] : {MANY} and 0 <= n < 7 and 5n <= i < 5n + 5 }}")
    assert {tuple(point) for point in lattice(domain).tolist()} == {point for _, point in points(domain)}


@pytest.mark.parametrize("few", [0, count_points.FEW_POINTS])
@pytest.mark.parametrize("condition", [MANY, "0 <= j <= i < 9"])
def test_values_that_are_alike(condition, few, monkeypatch):
    """By a formula, and one by one."""
    monkeypatch.setattr(count_points, "FEW_POINTS", few)
    context = isl.Set("[n, m] -> { : 0 <= n < 7 and 0 <= m < 4 and (n + m) mod 3 <= 1 }")
    sets = [isl.Set(f"[n, m] -> {{ [i, j] : {condition} and 5n <= i < 5n + 5 }}"), isl.Set("[n, m] -> { [i] : 0 <= i < n }")]
    expected = Counter()
    for n in range(7):
        for m in range(4):
            if (n + m) % 3 <= 1:
                expected[tuple(len(points(each, n=n, m=m)) for each in sets)] += 1
    assert sorted(count_points.size_classes(context, sets)) == sorted((number, key) for key, number in expected.items())


def test_it_falls_back_only_where_there_is_no_formula(monkeypatch):
    monkeypatch.setattr(count_points, "lattice", None)
    assert count_points.size(isl.Set("{ [i, j] : 0 <= j <= i < 9 }")) == 45
    assert cardinality.count(isl.Set("{ [i] : 0 <= i < 4 }")).evaluate({}) == 4
