"""Pictures of footprints show what the functions touch: compared with runs in plain Python on arrays that write down every access."""

import time
from xml.etree import ElementTree

import islpy as isl
import numpy as np
import pytest

import polyml
from polyml import kernels
from polyml.api.plotting.call_sizes import call_sizes
from polyml.errors import ConfigError
from polyml.model.core.scop import Role
from polyml.pictures.arrays.footprint_svg import footprint_svg
from polyml.pictures.arrays.footprints import footprints, shape_of
from polyml.pictures.arrays.grids import grid
from polyml.polyhedra.points import points

SIZE = 5
SLOW = {"heat_3d": 4, "adi": 4}
SIMPLIFIED = {
    "ludcmp"
}  # w = A[i, j]; ...; A[i, j] = w: sums are in A[i, j] itself, and what is stored back unchanged is not stored


class Recorder:
    """An array that writes down which of its elements are read and written."""

    def __init__(self, values: np.ndarray):
        self.values, self.shape, self.read, self.written = values, values.shape, set(), set()

    def __array_function__(self, function, types, args, kwargs):
        return function(*(each.values if isinstance(each, Recorder) else each for each in args), **kwargs)

    def __getitem__(self, index):
        self.read.add(index if isinstance(index, tuple) else (index,))
        return self.values[index]

    def __setitem__(self, index, value):
        self.written.add(index if isinstance(index, tuple) else (index,))
        self.values[index] = value


def recorded(function, scop, sizes) -> dict[str, Recorder]:
    """Runs a function in plain Python on arrays of a call's sizes; returns its arrays by name."""
    arrays = {a.source_name: a for a in scop.arrays.values() if a.role is Role.ARGUMENT and a.shape}
    found, given = {}, []
    for name in scop.params:
        if name in arrays:
            found[name] = Recorder(np.ones(shape_of(arrays[name], sizes)))
        given.append(found.get(name, sizes.get(name, 1.5)))
    with np.errstate(all="ignore"):
        function(*given)
    return found


def of_relations(scop, sizes) -> dict[str, str]:
    """The use of each element by isl's access relations, applied to the domains as unions."""
    read, written = (
        {
            element
            for statement in scop.statements.values()
            for access in (statement.reads if kind == "read" else (statement.write,))
            for element in points(isl.UnionSet.from_set(statement.domain).apply(isl.UnionMap.from_map(access.relation)), **sizes)
        }
        for kind in ("read", "written")
    )
    found = {}
    for array in scop.arrays.values():
        for index in np.ndindex(shape_of(array, sizes)):
            use = (array.name, index) in read, (array.name, index) in written
            kinds = {(1, 1): "both", (1, 0): "read", (0, 1): "written", (0, 0): "untouched"}
            found[f"{array.name}[{', '.join(map(str, index))}]" if index else array.name] = kinds[use]
    return found


def cells(svg: str) -> dict[str, str]:
    """{element: its use} of a picture whose cells have one element each."""
    root = ElementTree.fromstring(svg)
    return {each.get("data-element"): each.get("data-use") for each in root.iter() if each.get("data-element")}


def outlined(svg: str) -> set[str]:
    root = ElementTree.fromstring(svg)
    return {each.get("data-element") for each in root.iter() if each.get("data-chosen") == "true"}


def uses(array: str, of: Recorder) -> dict[str, str]:
    kinds = {(1, 1): "both", (1, 0): "read", (0, 1): "written", (0, 0): "untouched"}
    return {
        f"{array}[{', '.join(map(str, index))}]": kinds[index in of.read, index in of.written] for index in np.ndindex(of.shape)
    }


@pytest.mark.parametrize("name", kernels.NAMES)
def test_elements_are_those_that_a_run_touches(name):
    found = kernels.load(name)
    arguments = found.inputs(found.sizes["MINI"], np.random.default_rng(0), found.dtype)
    function = found.kernel.py_func
    schedule = polyml.kernel(function, cache=False).schedule("source", *arguments.values())
    scop = schedule.problem.scop
    sizes = call_sizes(scop, {}, SLOW.get(name, SIZE))
    svg = footprint_svg(footprints(scop, schedule.tree, sizes), most=100_000)
    drawn, expected = cells(svg), {}
    for array, of in recorded(function, scop, sizes).items():
        expected |= uses(array, of)
    shown = {element: drawn[element] for element in expected}
    if name in SIMPLIFIED:
        assert {element for element, use in shown.items() if use == "untouched"} == {
            e for e, use in expected.items() if use == "untouched"
        }
    else:
        assert expected and shown == expected
    assert drawn == of_relations(scop, sizes)


def gemm(A, B, C):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] = C[i, j] + A[i, k] * B[k, j]


def of_gemm():
    return polyml.kernel(gemm, cache=False).schedule("source", "f64[:,:]", "f64[:,:]", "f64[:,:]")


SIZES = {"C_0": 7, "C_1": 9, "A_1": 4}


def test_a_wrong_cell_is_found():
    svg = polyml.plot(of_gemm(), "footprints", SIZES)
    planted = svg.replace('data-element="A[2, 3]" data-use="read"', 'data-element="A[2, 3]" data-use="both"')
    scop = of_gemm().problem.scop
    sizes = call_sizes(scop, SIZES)
    expected = {}
    for array, of in recorded(gemm, scop, sizes).items():
        expected |= uses(array, of)
    assert cells(svg) == expected and cells(planted) != expected


def test_the_outline_is_what_a_tile_an_instance_or_a_statement_touches():
    tiled = of_gemm().tile(i=3, j=4)
    svg = polyml.plot(tiled, "footprints", SIZES, at="tile S0[4, 5, 0]")
    rows, columns, depth = range(3, 6), range(4, 8), range(4)
    expected = {f"C[{i}, {j}]" for i in rows for j in columns} | {f"A[{i}, {k}]" for i in rows for k in depth}
    assert outlined(svg) == expected | {f"B[{k}, {j}]" for k in depth for j in columns}
    assert "outlined: elements that are touched by the 48 instances of S0 with loops over tiles at (3, 4)" in svg
    assert outlined(polyml.plot(tiled, "footprints", SIZES, at="S0[4, 5, 2]")) == {"C[4, 5]", "A[4, 2]", "B[2, 5]"}
    assert len(outlined(polyml.plot(tiled, "footprints", SIZES, at="S0"))) == 7 * 9 + 7 * 4 + 4 * 9
    assert "S0 with loops over tiles at (3, 4)" in polyml.plot(tiled, "footprints", SIZES)  # the full one in the middle
    assert "touched by S0[3, 4, 1]" in polyml.plot(of_gemm(), "footprints", SIZES)


@pytest.mark.parametrize(
    "at, message",
    [
        ("S9", "there is no statement S9"),
        ("S0[9, 9, 9]", "there is no instance S0[9, 9, 9] for"),
        ("tile S0[1, 1, 1]", "the schedule has no tiles around S0"),
        ("S0;", "at= does not take 'S0;'"),
        (3, "at= takes a text, not 3"),
    ],
)
def test_what_is_not_there_cannot_be_outlined(at, message):
    with pytest.raises(ConfigError) as refused:
        polyml.plot(of_gemm(), "footprints", SIZES, at=at)
    assert message in str(refused.value)


def test_sizes_of_arrays_are_the_least_that_calls_may_have_or_those_given():
    scop = of_gemm().problem.scop
    assert call_sizes(scop, SIZES) == {"A_0": 7, "A_1": 4, "B_0": 4, "B_1": 9, "C_0": 7, "C_1": 9}
    assert call_sizes(scop, {**SIZES, "B_0": 6})["B_0"] == 6
    with pytest.raises(ConfigError, match="no call may have"):
        call_sizes(scop, {**SIZES, "B_0": 3})
    assert call_sizes(scop, {}, 64, 10_000)["C_0"] == 16 and call_sizes(scop, {"C_1": 1}, 64, 10_000)["C_0"] == 64
    with pytest.raises(ConfigError, match="too many instances"):
        call_sizes(scop, {"C_0": 64, "C_1": 64, "A_1": 64}, 64, 10_000)
    with pytest.raises(ConfigError, match="there is no size 'Q'"):
        polyml.plot(of_gemm(), "footprints", {"Q": 3})


def test_large_arrays_have_cells_of_several_elements_and_say_so():
    sizes = {"C_0": 60, "C_1": 60, "A_1": 25}
    svg = polyml.plot(of_gemm(), "footprints", sizes)
    root = ElementTree.fromstring(svg)
    drawn = [each for each in root.iter() if each.get("data-cell")]
    of_c = [each for each in drawn if each.get("data-cell").startswith("C[")]
    assert len(drawn) <= 2_000 and sum(int(each.get("data-written")) for each in of_c) == 60 * 60
    assert "C is large: each cell stands for 3 x 3 elements" in svg
    own = polyml.kernel(gemm, cache=False).schedule("auto", *["f64[:,:]"] * 3)
    start = time.perf_counter()
    polyml.plot(own, "footprints", {"C_0": 20, "C_1": 20, "A_1": 20})  # one tile has all 8,000 instances
    assert time.perf_counter() - start < 2  # 0.1 s where nothing else runs


@pytest.mark.parametrize("shape", [(), (5,), (100,), (5000,), (6, 4), (3, 6, 4), (300, 300), (20, 20, 20), (2, 3, 4, 5), (0, 3)])
@pytest.mark.parametrize("most", [100, 2_000])
def test_cells_hold_every_element_of_drawn_planes_once(shape, most):
    layout = grid("A", shape, most)
    held = [(cell, index) for cell in layout.cells() for index in layout.elements(cell)]
    expected = [index for index in np.ndindex(shape) if len(shape) < 3 or index[:-2] in layout.planes]
    assert sorted(index for _, index in held) == sorted(expected)
    assert all(layout.cell(index) == cell for cell, index in held)
    assert len({cell for cell, _ in held}) <= max(most, 100)


def test_pictures_of_arrays_are_legible_in_a_window_of_400_pixels():
    """No line of words makes them so wide that letters of 12 pixels shrink to fewer than 9."""
    tiled = of_gemm().tile(i=2, j=3, k=2)
    for drawn in (
        polyml.plot(tiled, "footprints", SIZES, at="tile S0[4, 6, 0]"),
        polyml.plot(tiled, "misses", SIZES, caches="1K:4:64"),
    ):
        assert float(ElementTree.fromstring(drawn).get("width")) <= 530
