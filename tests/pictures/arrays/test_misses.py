"""Heat maps of misses: sums over lines and references are the simulator's totals, and lines are those of a small cache in plain Python."""

import re
from collections import Counter, OrderedDict
from xml.etree import ElementTree

import numpy as np
import pytest

import polyml
from polyml import kernels
from polyml.api.plotting.call_sizes import call_sizes
from polyml.caches.simulator.simulate import ThreadModel, simulate
from polyml.codegen.astgen.build import build
from polyml.errors import ConfigError, PolymlValueError
from polyml.machines.cache_spec import parse
from polyml.pictures.arrays.miss_svg import miss_svg
from polyml.pictures.arrays.misses import miss_map

CACHES = "512:2:64,4K:4:64"


def gemm(A, B, C):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] = C[i, j] + A[i, k] * B[k, j]


SIZES = {"C_0": 12, "C_1": 20, "A_1": 9}


def of_gemm():
    return polyml.kernel(gemm, cache=False).schedule("source", "f64[:,:]", "f64[:,:]", "f64[:,:]")


def numbers(svg: str, key: str) -> list[tuple[int, ...]]:
    root = ElementTree.fromstring(svg)
    return [
        tuple(map(int, each.get("data-misses").split(","))) for each in root.iter() if each.get(key) and each.get("data-misses")
    ]


class Cache:
    """A cache with sets of the lines used last; written for this test alone."""

    def __init__(self, size: int, ways: int):
        self.sets, self.ways = [OrderedDict() for _ in range(size // 64 // ways)], ways

    def misses(self, line: int) -> bool:
        own = self.sets[line % len(self.sets)]
        missed = line not in own
        own[line] = None
        own.move_to_end(line)
        if len(own) > self.ways:
            own.popitem(last=False)
        return missed


def test_lines_miss_as_in_a_cache_in_plain_python():
    """Lines of A, B and C, whose elements follow one another from a multiple of 64 bytes on, in the order in which loops use them."""
    rows, columns, depth = 12, 20, 9
    places, end = {}, 0
    for array, shape in (("A", (rows, depth)), ("B", (depth, columns)), ("C", (rows, columns))):
        places[array] = end, shape[1]
        end = -(-(end + 8 * shape[0] * shape[1]) // 64) * 64
    first, found, references = Cache(512, 2), Counter(), Counter()
    for i in range(rows):
        for j in range(columns):
            for k in range(depth):
                for kind, array, index in (
                    ("read", "C", (i, j)),
                    ("read", "A", (i, k)),
                    ("read", "B", (k, j)),
                    ("write", "C", (i, j)),
                ):
                    start, length = places[array]
                    line = (start + 8 * (index[0] * length + index[1])) // 64
                    if first.misses(line):
                        found[array, line - start // 64] += 1
                        references[kind, array] += 1
    svg = polyml.plot(of_gemm(), "misses", SIZES, caches=CACHES)
    drawn = Counter()
    for each in ElementTree.fromstring(svg).iter():
        if each.get("data-element") and each.get("data-misses"):
            array, row, column = re.fullmatch(r"(\w+)\[(\d+), (\d+)\]", each.get("data-element")).groups()
            line = 8 * (int(row) * places[array][1] + int(column)) // 64
            drawn[array, line] += int(each.get("data-misses"))
    assert +drawn == found
    told = {
        each.get("data-reference"): each.get("data-misses")
        for each in ElementTree.fromstring(svg).iter()
        if each.get("data-reference")
    }
    names = {
        "S0: read C[i, j]": ("read", "C"),
        "S0: read A[i, k]": ("read", "A"),
        "S0: read B[k, j]": ("read", "B"),
        "S0: write C[i, j]": ("write", "C"),
    }
    assert {names[name]: int(value.split(",")[0]) for name, value in told.items()} == {
        key: references[key] for key in names.values()
    }


@pytest.mark.parametrize("name", kernels.NAMES)
def test_sums_are_the_simulator_s_totals(name):
    found = kernels.load(name)
    arguments = found.inputs(found.sizes["MINI"], np.random.default_rng(0), found.dtype)
    schedule = polyml.kernel(found.kernel.py_func, cache=False).schedule("source", *arguments.values())
    scop, levels = schedule.problem.scop, parse(CACHES)
    sizes = call_sizes(scop, {}, 6)  # as many planes as are drawn
    program = build(scop, schedule.tree, dict(schedule.problem.reductions))
    shown = miss_map(program, sizes, levels)
    totals = simulate(program, sizes, levels, classify=False)
    for level in (0, 1):
        of_array = {each.array: each.total(level) for each in shown.arrays}
        expected = Counter()
        for reference, counts in totals.counts.items():
            expected[reference.array] += counts.misses[level]
        assert of_array == dict(expected) and sum(each.misses[level] for each in shown.references) == sum(expected.values())
        svg = miss_svg(shown, level, most=100_000)
        drawn = sum(each for (each,) in numbers(svg, "data-element"))
        assert drawn == sum(expected.values())
        titles = [int(number.replace(",", "")) for number in re.findall(r">\S.*?\s([\d,]+) misses</text>", svg)]
        assert sum(titles) == drawn  # of each array, or of each of its planes
        assert sum(row[level] for row in numbers(svg, "data-line")) == drawn or "rows are shown" in svg


def test_misses_by_line_do_not_change_the_others_and_add_up_with_threads():
    def scaled(A, B):
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                B[i, j] = 2.0 * A[i, j]

    schedule = polyml.kernel(scaled, cache=False).schedule("source", "f64[:,:]", "f64[:,:]").parallel("i")
    program = build(schedule.problem.scop, schedule.tree)
    sizes = call_sizes(schedule.problem.scop, {"A_0": 64, "A_1": 200})
    for caches in (CACHES, "512:2:64,4K:4:64:shared", "1K:2:64:shared=2,8K:4:64:plru:inclusive:shared"):
        for count in (1, 3):
            plain, by_line = (
                simulate(program, sizes, parse(caches), threads=ThreadModel(count), by_line=flag) for flag in (False, True)
            )
            assert plain.counts == by_line.counts and plain.line_misses is None
            for level in (0, 1):
                assert by_line.line_misses[:, level].sum() == sum(each.misses[level] for each in plain.counts.values()) > 0


def test_the_picture_says_which_array_misses_most_and_in_which_level():
    svg = polyml.plot(of_gemm(), "misses", SIZES, caches=CACHES, at="L2")
    label = ElementTree.fromstring(svg).get("aria-label")
    assert label.startswith("L2 misses of gemm. caches of 512 B, 4 KiB for") and "most misses: B, " in polyml.plot(
        of_gemm(), "misses", SIZES, caches=CACHES
    )
    assert 'data-line="' in svg and "C[i, j] = C[i, j] + A[i, k] * B[k, j]" in svg


def test_few_misses_are_told_from_none_and_from_many():
    svg = polyml.plot(of_gemm(), "misses", {"C_0": 40, "C_1": 40, "A_1": 40}, caches="2K:8:64")
    shades: dict[str, set[float]] = {}
    for each in ElementTree.fromstring(svg).iter():
        if each.get("data-element"):
            array = each.get("data-element").partition("[")[0]
            shades.setdefault(array, set()).add(float(re.search(r"fill-opacity:([\d.]+)", each.get("style"))[1]))
    assert 0.15 < max(shades["C"]) < 0.3 < 0.9 < max(shades["B"]) <= 1.0  # C misses once a line, B for each row of C
    both = polyml.plot(of_gemm(), "misses", {"C_0": 40, "C_1": 40, "A_1": 40}, at="L2", caches="2K:8:64,64K:8:64")
    assert "none" in both and "one cell: 2 x 2 elements" in both


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(ConfigError, match="at= does not take 'L9' here"):
        polyml.plot(of_gemm(), "misses", SIZES, at="L9")
    with pytest.raises(ConfigError, match="the picture domain takes no caches="):
        polyml.plot(of_gemm(), "domain", caches=CACHES)

    def gather(A, x, y):
        for i in range(y.shape[0]):
            y[i] = A[x[i]]

    schedule = polyml.kernel(gather, cache=False).schedule("source", "f64[:]", "i64[:]", "f64[:]")
    with pytest.raises(PolymlValueError, match="data decide which elements of A are used"):
        polyml.plot(schedule, "misses")
    assert "data decide which elements of A are read" in polyml.plot(schedule, "footprints")
