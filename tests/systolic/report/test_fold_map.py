"""Pictures of large arrays: instances of each unit of the first fold, borders of folds in wavefronts; pictures and mappings from the report."""

from collections import Counter
from xml.etree import ElementTree

import numpy as np
import pytest

import polyml
from polyml.errors import ConfigError
from polyml.polyhedra.points import points
from polyml.systolic.report.pictures.fold_map import fold_map_svg, unit_counts
from polyml.systolic.report.pictures.wavefronts import wavefronts_svg


def matmul(A, B, C):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def triangular(A, x, y):
    for i in range(A.shape[0]):
        for j in range(i + 1):
            y[i] += A[i, j] * x[j]


def fir(x, h, y):
    for i in range(y.shape[0]):
        for k in range(h.shape[0]):
            y[i] += x[i + k] * h[k]


CASES = [
    (matmul, ((9, 7), (7, 10), (9, 10)), (4, 4)),
    (matmul, ((5, 3), (3, 2), (5, 2)), (3, 4)),
    (triangular, ((11, 11), (11,), (11,)), (4,)),
    (fir, ((12,), (4,), (9,)), (3,)),
]


def plans(function, shapes, array):
    kernel = polyml.kernel(function, cache=False)
    found = kernel.report(*map(np.zeros, shapes), target="systolic", array=array, dataflow="all")
    return [plan for nest in found.nests for plan in nest.plans]


def by_unit(plan) -> Counter:
    """{(fold, unit): instances}, of all points, with blocks that begin at the least coordinates."""
    every = [point[len(plan.recurrence.outer) :] for _, point in points(plan.recurrence.points)]
    outer = [point[: len(plan.recurrence.outer)] for _, point in points(plan.recurrence.points)]
    places = [tuple(sum(c * v for c, v in zip(row, axes)) for row in plan.mapping.space) for axes in every]
    least = [min(values) for values in zip(*places)]
    shape = plan.folds.shape
    found = Counter()
    for o, place in zip(outer, places):
        blocks = tuple((p - low) // n for p, low, n in zip(place, least, shape))
        found[(*o, *blocks), tuple((p - low) % n for p, low, n in zip(place, least, shape))] += 1
    return found


@pytest.mark.parametrize("function, shapes, array", CASES, ids=[f"{f.__name__} {a}" for f, _, a in CASES])
def test_instances_of_units_are_those_of_all_points(function, shapes, array):
    for plan in plans(function, shapes, array):
        counts, every = unit_counts(plan), by_unit(plan)
        first = min(fold for fold, _ in every)
        assert counts is not None
        assert {unit: number for unit, number in counts.items() if number} == {u: n for (f, u), n in every.items() if f == first}
        cells = [each for each in ElementTree.fromstring(fold_map_svg(plan, counts)).iter() if each.get("data-units")]
        assert sum(int(each.get("data-instances")) for each in cells) == sum(counts.values())


def test_an_array_that_is_too_large_is_drawn_as_shades():
    kernel = polyml.kernel(matmul, cache=False)
    report = kernel.report(*map(np.zeros, ((300, 200), (200, 100), (300, 100))), target="systolic", array=(64, 64))
    svg = report.pictures()["array"]
    cells = [each for each in ElementTree.fromstring(svg).iter() if each.get("data-units")]
    assert len(cells) == 32 * 32 and sum(int(each.get("data-instances")) for each in cells) == 64 * 64 * 200
    assert "each cell stands for 2 x 2 units" in svg and "the first of 10 folds" in svg
    with pytest.raises(ConfigError, match="too large to draw"):
        report.array()


def test_wavefronts_part_folds_by_lines():
    kernel = polyml.kernel(matmul, cache=False)
    for size, expected in ((4, 0), (9, 4 * 9)):  # two lines across and two down, each of 9 points
        shapes = ((size, 3), (3, size), (size, size))
        plan = (
            kernel.report(*map(np.zeros, shapes), target="systolic", array=(4, 4), mapping="t = i + j + k, x = i, y = j")
            .nests[0]
            .best
        )
        svg = wavefronts_svg(plan)
        sides = [each.get("d").count("M") for each in ElementTree.fromstring(svg).iter() if each.get("class") == "outline"]
        assert sum(sides) == expected and ("thick lines part folds" in svg) == bool(expected)
    assert ": t = 5, x = 4, y = 1, block 1, 0" in svg and "instances in 9 of 9 folds" in svg


def test_a_report_draws_its_array_and_lists_mappings():
    kernel = polyml.kernel(matmul, cache=False)
    report = kernel.report(*map(np.zeros, ((4, 5), (5, 4), (4, 4))), target="systolic", array=(4, 4))
    assert report.array() == report.pictures()["array"] and "Cycle 3 of" in report.array(cycle=3)
    assert [len(report.mappings(links)) for links in ("manhattan", "diagonal")] == [3, 24]
    for text in report.mappings():
        again = kernel.report(*map(np.zeros, ((4, 5), (5, 4), (4, 4))), target="systolic", array=(4, 4), mapping=text)
        assert again.nests[0].best.recurrence.text(again.nests[0].best.mapping) == text
    with pytest.raises(ConfigError, match="there is no nest 1"):
        report.array(nest=1)
    with pytest.raises(ConfigError, match="there are no links 'x'"):
        report.mappings("x")


def test_directions_are_said_as_they_are_drawn():
    kernel = polyml.kernel(matmul, cache=False)
    report = kernel.report(*map(np.zeros, ((4, 5), (5, 4), (4, 4))), target="systolic", array=(4, 4), dataflow="os")
    svg = report.array()
    assert "moves right (+y)" in svg and "moves down (+x)" in svg and "x is the row, counted downwards" in svg
    row = polyml.kernel(fir, cache=False).report(*map(np.zeros, (9, 4, 6)), target="systolic", array=(4,), dataflow="ws")
    text = row.array()
    assert "x counts units to the right" in text and ("right (+x)" in text or "left (-x)" in text) and "down (" not in text
