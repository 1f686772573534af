"""Pictures show what the sets and relations are: compared with all instances, run one after the other in plain Python."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

import polyml
from polyml import kernels
from polyml.api.plotting.nest import nest_of, order
from polyml.pictures.nest_svg import nest_svg
from polyml.pictures.nests import nest_picture, parameters
from polyml.polyhedra.points import points

SIZE = 4
SLOW = {"heat_3d": 3, "adi": 3}  # with as many instances as are drawn


def schedule_of(name: str):
    """The schedule of a kernel of PolyBench in the source's order."""
    found = kernels.load(name)
    arguments = found.inputs(found.sizes["MINI"], np.random.default_rng(0), found.dtype)
    return polyml.kernel(found.kernel.py_func, cache=False).schedule("source", *arguments.values())


def direct(scop, sizes) -> set[tuple[str, str, str]]:
    """The direct dependences, found by going through all accesses in the source's order."""
    times = {instance: time for instance, (_, time) in points(scop.schedule.get_map().intersect_domain(scop.domain), **sizes)}
    touched = {}
    for statement in scop.statements.values():
        for kind, accesses in (("read", statement.reads), ("write", (statement.write,))):
            for access in accesses:
                for instance, element in points(access.relation.intersect_domain(statement.domain), **sizes):
                    touched.setdefault(instance, {}).setdefault(kind, set()).add(element)
    found, writer, readers = set(), {}, {}
    for instance in sorted(times, key=times.get):
        own = touched.get(instance, {})
        for element in own.get("read", ()):
            if element in writer:
                found.add(("flow", writer[element], instance))
            readers.setdefault(element, set()).add(instance)
        for element in own.get("write", ()):
            if element in writer:
                found.add(("output", writer[element], instance))
            found |= {("anti", reader, instance) for reader in readers.pop(element, ()) if reader != instance}
            writer[element] = instance
    return {(kind, text(source), text(sink)) for kind, source, sink in found}


def text(instance) -> str:
    return f"{instance[0]}[{', '.join(map(str, instance[1]))}]"


def elements(svg: str, kind: str):
    """The elements of a picture of one CSS class, which stand for something."""
    root = ElementTree.fromstring(svg)
    return [
        each for each in root.iter() if kind in each.get("class", "").split() and any(k.startswith("data-") for k in each.keys())
    ]


@pytest.mark.parametrize("name", kernels.NAMES)
def test_points_arrows_and_times_are_those_of_the_sets(name):
    schedule = schedule_of(name)
    scop = schedule.problem.scop
    sizes = dict.fromkeys(parameters(scop), SLOW.get(name, SIZE))
    instances = points(scop.domain, **sizes)
    drawn, complete = {}, True
    for what in ("domain", "dependences", "schedule"):
        shown = nest_picture(nest_of(schedule, sizes), order(schedule), what, most=10_000)
        drawn[what] = nest_svg(shown)
        complete = complete and all(len(each.iterators) <= 3 for each in shown.statements)
    found = {each.get("data-instance") for each in elements(drawn["domain"], "point")}
    if complete:
        assert found == {text(each) for each in instances}
        arrows = [
            (each.get("data-kind"), each.get("data-source"), each.get("data-sink"))
            for each in elements(drawn["dependences"], "arrow")
        ]
        assert len(arrows) == len({*arrows}) and {*arrows} == direct(scop, sizes)
    else:
        assert found < {text(each) for each in instances} and "is drawn for" in drawn["domain"]
    numbers = {each.get("data-instance"): int(each.get("data-time")) for each in elements(drawn["schedule"], "point")}
    times = {text(instance): at for instance, (_, at) in points(scop.schedule.get_map().intersect_domain(scop.domain), **sizes)}
    in_order = sorted(times, key=times.get)
    assert numbers == {each: number for number, each in enumerate(in_order) if each in found}


def test_a_wrong_arrow_is_found():
    schedule = schedule_of("jacobi_1d")
    scop, sizes = schedule.problem.scop, dict.fromkeys(parameters(schedule.problem.scop), SIZE)
    svg = nest_svg(nest_picture(nest_of(schedule, sizes), order(schedule), "dependences"))
    planted = re.sub(r'data-sink="S0\[1, 2\]"', 'data-sink="S0[1, 1]"', svg, count=1)
    assert planted != svg
    arrows = {(each.get("data-kind"), each.get("data-source"), each.get("data-sink")) for each in elements(planted, "arrow")}
    assert arrows != direct(scop, sizes)


def seidel(A, T):
    for t in range(T):
        for i in range(1, A.shape[0] - 1):
            A[i] = A[i - 1] + A[i] + A[i + 1]


def test_tiles_are_those_of_the_schedule():
    schedule = polyml.kernel(seidel).schedule("source", "f64[:]", "int").skew("i", "t").tile(t=2, i=3)
    svg = polyml.plot(schedule, "tiles", {"A_0": 7, "T": 5})
    tiles = elements(svg, "tile")
    expected = {}
    for t in range(5):
        for i in range(1, 6):
            expected.setdefault((t // 2, (i + t) // 3), []).append(f"S0[{t},{i}]")
    members = sorted(sorted(re.findall(r"S0\[[^]]*\]", each.get("data-members"))) for each in tiles)
    assert members == sorted(map(sorted, expected.values()))
    full = {len(each) == 6 for each in expected.values()}
    assert full == {True, False}
    for each in tiles:
        is_full = len(re.findall("S0", each.get("data-members"))) == 6
        assert each.get("data-full") == str(is_full).lower() and (each.get("stroke-dasharray") is None) == is_full


def test_a_tile_is_full_where_the_domain_has_all_of_it():
    def plus(A):
        for t in range(A.shape[0]):
            for i in range(1, A.shape[1] - 1):
                A[t, i] += 1.0

    schedule = polyml.kernel(plus).schedule("source", "f64[:,:]").tile(t=8, i=3)
    tiles = elements(polyml.plot(schedule, "tiles", {"A_0": 5, "A_1": 8}), "tile")
    assert [each.get("data-full") for each in tiles] == ["false"] * 3  # 5 of 8 iterations of t
    tiles = elements(polyml.plot(schedule, "tiles", {"A_0": 16, "A_1": 8}), "tile")
    assert [each.get("data-full") for each in tiles] == ["false", "true", "false"] * 2  # i from 1 to 6 in tiles of 3: 1-2, 3-5, 6


def test_of_large_domains_every_nth_iteration_is_drawn():
    schedule = polyml.kernel(seidel).schedule("source", "f64[:]", "int")
    svg = polyml.plot(schedule, "domain", {"A_0": 102, "T": 100})
    label = ElementTree.fromstring(svg).get("aria-label")
    assert "1,156 instances of 10,000, those of every third iteration, for A_0 = 102, T = 100." in label
    found = {each.get("data-instance") for each in elements(svg, "point")}
    assert found == {f"S0[{t}, {i}]" for t in range(0, 100, 3) for i in range(1, 101, 3)}


def test_of_dependences_the_first_ones_in_the_sources_order_are_drawn():
    def rows(A):
        for i in range(A.shape[0]):
            for j in range(1, A.shape[1]):
                A[i, j] += A[i, j - 1]

    schedule = polyml.kernel(rows).schedule("source", "f64[:,:]")
    svg = polyml.plot(schedule, "dependences", {"A_0": 100, "A_1": 101})
    label = ElementTree.fromstring(svg).get("aria-label")
    assert len(elements(svg, "point")) == 2000 and "2,000 instances, the first of 10,000 in the source's order" in label


def test_of_many_dependences_so_many_of_the_first_instances_are_drawn_as_have_few():
    schedule = schedule_of("seidel_2d")
    scop, sizes = schedule.problem.scop, dict.fromkeys(parameters(schedule.problem.scop), 5)
    everything = direct(scop, sizes)
    shown = nest_picture(nest_of(schedule, sizes), order(schedule), "dependences", most_arrows=300)
    drawn = {(each.kind, text(each.source), text(each.sink)) for each in shown.arrows}
    inside = [f"S0[{t}, {i}, {j}]" for t in range(5) for i in range(1, 4) for j in range(1, 4)]
    count = len(shown.statements[0].points)
    assert {text(("S0", point)) for point in shown.statements[0].points} == {*inside[:count]} and 10 < count < len(inside)
    assert drawn == {each for each in everything if {*each[1:]} <= {*inside[:count]}} and len(drawn) <= 300
    assert len([each for each in everything if {*each[1:]} <= {*inside[: count + 1]}]) > 300
    assert f"{count} instances, the first of 45 in the source's order" in ElementTree.fromstring(nest_svg(shown)).get("aria-label")


def groups(svg) -> dict[str, int]:
    return {each.get("data-instance"): int(each.get("data-group")) for each in elements(svg, "point") if each.get("data-group")}


def test_wavefronts_are_runs_of_the_parallel_loop():
    schedule = polyml.kernel(seidel).schedule("source", "f64[:]", "int").skew("i", "t", 2).interchange("t", "i").parallel("t")
    fronts = sorted({i + 2 * t for t in range(5) for i in range(1, 7)})
    expected = {f"S0[{t}, {i}]": fronts.index(i + 2 * t) for t in range(5) for i in range(1, 7)}
    assert groups(polyml.plot(schedule, "wavefronts", {"A_0": 8, "T": 5})) == expected
    times = {front: sorted(t for t in range(5) for i in range(1, 7) if i + 2 * t == front) for front in fronts}
    threads = {f"S0[{t}, {i}]": times[i + 2 * t].index(t) for t in range(5) for i in range(1, 7)}
    assert groups(polyml.plot(schedule, "threads", {"A_0": 8, "T": 5})) == threads


def test_what_runs_outside_of_parallel_loops_has_no_thread():
    def two(A, B):
        for i in range(A.shape[0]):
            A[i] = A[i] + 1.0
        for i in range(1, A.shape[0]):
            B[i] = B[i - 1] + A[i]

    schedule = polyml.kernel(two).schedule("source", "f64[:]", "f64[:]").parallel("S0.i")
    assert groups(polyml.plot(schedule, "threads", {"A_0": 3})) == {"S0[0]": 0, "S0[1]": 1, "S0[2]": 2}
    assert groups(polyml.plot(schedule, "wavefronts", {"A_0": 3})) == {
        **dict.fromkeys(("S0[0]", "S0[1]", "S0[2]"), 0),
        "S1[1]": 1,
        "S1[2]": 1,
    }
    plain = polyml.kernel(two).schedule("source", "f64[:]", "f64[:]")
    assert "no loop of this schedule is parallel" in polyml.plot(plain, "threads", {"A_0": 3})


def test_groups_without_room_for_their_numbers_have_shapes():
    def cube(A, B):
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                for k in range(A.shape[2]):
                    B[i, j, k] = A[i, j, k] + 1.0

    schedule = polyml.kernel(cube).schedule("source", "f64[:,:,:]", "f64[:,:,:]").parallel("i")
    svg = polyml.plot(schedule, "threads", {"A_0": 14, "A_1": 2, "A_2": 2})
    shapes = {}
    for each in elements(svg, "point"):
        tag, corners = (
            each.tag.rpartition("}")[2],
            [tuple(map(float, corner.split(","))) for corner in each.get("points", "").split()],
        )
        outline = tuple((round(x - corners[0][0], 1), round(y - corners[0][1], 1)) for x, y in corners)
        shapes.setdefault(int(each.get("data-group")), set()).add((tag, tuple((round(x), round(y)) for x, y in outline)))
    assert [*sorted(shapes)] == [*range(14)] and all(len(own) == 1 for own in shapes.values())
    assert len({*map(frozenset, shapes.values())}) == 6 and all(shapes[group] == shapes[group % 6] for group in shapes)
    label = ElementTree.fromstring(svg).get("aria-label")
    assert "points without a number: ● 0, ■ 1, ▲ 2, ◆ 3, ✚ 4, ▼ 5, and so on again from ●" in label
    assert "points without a number" not in polyml.plot(schedule, "threads", {"A_0": 3, "A_1": 2, "A_2": 2})


def test_pictures_say_in_words_what_they_show():
    root = ElementTree.fromstring(polyml.plot(polyml.kernel(seidel).schedule("source", "f64[:]", "int"), "dependences"))
    label = root.get("aria-label")
    assert root.get("role") == "img" and label.startswith("Dependences of seidel. 24 instances for A_0 = 6, T = 6.")
    assert "flow: written, then read: S0 to S0 at (0, 1), (1, -1), (1, 0)" in label
    assert label.endswith("sizes: A_0 = A.shape[0]")


def mirror(A):
    n = A.shape[0]
    for i in range(n):
        A[i] = A[n - 1 - i]


def differences(A, D, R):
    n = A.shape[0]
    for i in range(n - 1):
        D[i] = A[i + 1] - A[i]
    for i in range(n - 2):
        R[i] = D[i + 1] - D[i]


def curve(way: str) -> list[tuple[float, float]]:
    """The start, the control point and the end of a quadratic curve that a path has, in pixels."""
    x, y, *rest = map(float, re.findall(r"-?\d+(?:\.\d+)?", way))
    return [(x, y), (x + rest[0], y + rest[1]), (x + rest[2], y + rest[3])]


def test_arrows_along_a_line_of_points_are_arcs_above_it_that_do_not_coincide():
    drawn = polyml.plot(polyml.kernel(mirror).schedule("source", "f64[:]"), "dependences", {"n": 10})
    (level,) = {float(each.get("cy")) for each in elements(drawn, "point")}
    heights = set()
    for arrow in elements(drawn, "arrow"):
        if arrow.get("data-source"):
            start, control, end = curve(arrow.get("d"))
            length = end[0] - start[0]
            rise = level - (start[1] + 2 * control[1] + end[1]) / 4
            assert rise > 0.1 * length and start[1] <= level and end[1] <= level
            assert level - rise > 70  # below the title, the caption and the statement
            heights.add((arrow.get("data-kind"), round(rise, 1)))
    assert len(heights) == 10


def test_arrows_between_lines_of_points_lead_from_one_line_to_the_other():
    drawn = polyml.plot(polyml.kernel(differences).schedule("source", *["f64[:]"] * 3), "dependences", {"n": 9})
    rows = {each.get("data-instance")[:2]: float(each.get("cy")) for each in elements(drawn, "point")}
    assert rows["S1"] - rows["S0"] > 60


def test_tiles_of_three_loops_are_drawn_in_layers_whose_outlines_do_not_cross():
    source = polyml.kernel(matrix_product).schedule("source", *["f64[:, :]"] * 3)
    drawn = polyml.plot(source.tile(i=2, j=3, k=2), "tiles", {"n": 4, "m": 6, "p": 4})
    places = {(each.get("cx"), each.get("cy")) for each in elements(drawn, "point")}
    assert len(places) == 4 * 6 * 4 and len(elements(drawn, "tile")) == 8
    rows = {each.get("data-instance").split(",")[0]: set() for each in elements(drawn, "point")}
    for each in elements(drawn, "point"):
        rows[each.get("data-instance").split(",")[0]].add((float(each.get("cx")), float(each.get("cy"))))
    boxes = [
        (min(x for x, _ in own), max(x for x, _ in own), min(y for _, y in own), max(y for _, y in own)) for own in rows.values()
    ]
    for number, (left, right, top, bottom) in enumerate(boxes):
        for other in boxes[number + 1 :]:
            assert right < other[0] or other[1] < left or bottom < other[2] or other[3] < top
    assert "S0, i = 3" in drawn and "C[i, j] = C[i, j] + A[i, k]*B[k, j]" in drawn


def matrix_product(C, A, B):
    n, m, p = C.shape[0], C.shape[1], A.shape[1]
    for i in range(n):
        for j in range(m):
            for k in range(p):
                C[i, j] += A[i, k] * B[k, j]


def test_pictures_are_legible_in_a_window_of_400_pixels():
    """No picture of orders and tiles is so wide that its letters of 10 pixels shrink to fewer than 9."""
    source = polyml.kernel(seidel).schedule("source", "f64[:]", "int")
    for subject in ("domain", "schedule", "tiles", "dependences"):
        root = ElementTree.fromstring(polyml.plot(source, subject, {"A_0": 40, "T": 12}))
        assert float(root.get("width")) <= 440, subject


def moved_back(A, B):
    for i in range(B.shape[0]):
        A[i - 1] = A[i - 1] + A[-1] + B[i]


def test_sizes_that_only_subscripts_depend_on_are_given_too():
    """A[-1] is A[A_0 - 1], and no loop depends on A_0."""
    schedule = polyml.kernel(moved_back, cache=False).schedule("source", "f64[:]", "f64[:]")
    sizes = {"B_0": 4, "A_0": 6}
    assert {*parameters(schedule.problem.scop)} == {*sizes}
    svg = polyml.plot(schedule, "dependences", sizes)
    arrows = {(each.get("data-kind"), each.get("data-source"), each.get("data-sink")) for each in elements(svg, "arrow")}
    assert arrows == direct(schedule.problem.scop, sizes)
    assert arrows == {("flow", "S0[0]", f"S0[{i}]") for i in (1, 2, 3)}


def test_arrows_are_the_same_where_isl_takes_too_long_for_all_sizes(monkeypatch):
    def drawn():
        schedule = polyml.kernel(seidel).schedule("source", "f64[:]", "int")
        return {each.get("d") for each in elements(polyml.plot(schedule, "dependences", {"A_0": 7, "T": 3}), "arrow")}

    for_all = drawn()
    monkeypatch.setattr("polyml.pictures.nests._ISL_OPERATIONS", 10)
    assert drawn() == for_all and for_all


def test_a_statement_of_four_loops_that_never_runs_is_drawn():
    def deep(A):
        for i in range(A.shape[0]):
            for j in range(i):
                for k in range(j):
                    for l in range(k):
                        A[i] += A[l]

    schedule = polyml.kernel(deep).schedule("source", "f64[:]")
    svg = polyml.plot(schedule, "domain", {"A_0": 3})
    assert elements(svg, "point") == [] and "is drawn for" not in svg
    assert elements(polyml.plot(schedule, "domain", {"A_0": 5}), "point")
