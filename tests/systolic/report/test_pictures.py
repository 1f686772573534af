"""Pictures of systolic arrays, with the labels of loops enumerated in plain Python; the page in a real browser."""

import re
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser

import pytest

import polyml
from polyml.drawing.style import DARK, LIGHT, PHASES, ROOT, style
from polyml.errors import ConfigError
from polyml.systolic.mapping.dataflows import kung_design
from polyml.systolic.report.pictures.collection import array_svg
from polyml.systolic.report.pictures.spacetime import spacetime_svg
from polyml.systolic.simulate.snapshots import frames
from tests.browser import dom_after
from tests.cli.running import run
from tests.systolic.designs import CALLS, cross, fir, history, matmul, matvec, seidel, strided, subsequence, triangular, zeros
from tests.systolic.joint import JOINT, fdtd, jacobi_2d, lu, trsv

SVG = "{http://www.w3.org/2000/svg}"
ROWS, COLUMNS, DEPTH = 3, 4, 5
ARGUMENTS = {**CALLS, lu: JOINT[lu], trsv: JOINT[trsv], fdtd: JOINT[fdtd], jacobi_2d: JOINT[jacobi_2d]}


def reported(function, args, **options):
    return polyml.kernel(function, cache=False).report(*args, target="systolic", **options)


@pytest.fixture(scope="module")
def report():
    args = zeros(ROWS, DEPTH), zeros(DEPTH, COLUMNS), zeros(ROWS, COLUMNS)
    return reported(matmul, args, array=(ROWS, COLUMNS), dataflow="os")


def product(t):
    """(i, j, k) by unit in a cycle: i at row i, j at column j, k = t - i - j."""
    return {f"{i},{j}": (i, j, t - i - j) for i in range(ROWS) for j in range(COLUMNS) if 0 <= t - i - j < DEPTH}


def classes(node):
    return node.get("class", "").split()


def of_class(root, name):
    return [node for node in root.iter() if name in classes(node)]


def words(node):
    return "".join(node.itertext())


def cells(root):
    """By unit: (classes, first line, the other lines that are not empty, without the arrows of what enters or leaves)."""
    found = {}
    for cell in of_class(root, "cell"):
        (head,) = of_class(cell, "head")
        lines = [words(slot).strip("→") for slot in of_class(cell, "slot") if words(slot)]
        found[cell.get("data-unit")] = classes(cell), words(head), lines
    return found


def expected(t):
    return {unit: (f"{i},{j},{k}", {f"A[{i},{k}]", f"B[{k},{j}]", f"C[{i},{j}]"}) for unit, (i, j, k) in product(t).items()}


def active(found):
    return {unit: (head, set(lines)) for unit, (kinds, head, lines) in found.items() if "active" in kinds}


def test_every_cycle_s_cells_are_those_of_the_loops(report):
    plan = report.nests[0].best
    assert plan.recurrence.text(plan.mapping) == "t = i + j + k, x = i, y = j"
    shown = frames(plan)
    cycles = ROWS + COLUMNS + DEPTH - 2
    for t in range(cycles):
        found = cells(ElementTree.fromstring(array_svg(shown, t)))
        assert len(found) == ROWS * COLUMNS
        assert active(found) == expected(t)
    assert len(shown.frames) == cycles + ROWS  # which the results take to leave


def test_operands_wait_beside_the_array(report):
    root = ElementTree.fromstring(array_svg(frames(report.nests[0].best), 0))
    waiting = sorted(map(words, of_class(root, "token")))
    rows = [f"A[{i},{k}]" for i in range(ROWS) for k in range(DEPTH) if 0 < i + k <= 6]
    columns = [f"B[{k},{j}]" for k in range(DEPTH) for j in range(COLUMNS) if 0 < j + k <= 6]
    assert waiting == sorted(rows + columns)


def test_wires_are_in_use_where_an_element_goes_on(report):
    """In cycle t an instance hands A on along its row, B down its column, where there is a unit to take it."""
    shown = frames(report.nests[0].best)
    for t in range(ROWS + COLUMNS + DEPTH - 2):
        on = len([n for n in of_class(ElementTree.fromstring(array_svg(shown, t)), "wire") if "on" in classes(n)])
        inner = sum((j + 1 < COLUMNS) + (i + 1 < ROWS) for i, j, _ in product(t).values())
        entering = sum((j == 0) + (i == 0) for i, j, _ in product(t).values())
        assert on == inner + entering


def test_a_report_s_pictures_are_well_formed_and_named(report):
    found = report.pictures()
    assert list(found) == ["array", "wavefronts", "utilisation"]
    for text in found.values():
        root = ElementTree.fromstring(text)
        assert root.tag == f"{SVG}svg" and root.get("role") == "img" and root.get("aria-label").startswith("t = i + j + k")


@pytest.mark.parametrize("shape", [(3, 2), (4, 4), (5,)], ids=str)
@pytest.mark.parametrize("function", ARGUMENTS, ids=lambda f: f.__name__)
@pytest.mark.sweep(keep=10, long=("fdtd",))
def test_every_kernel_s_pictures_fit_their_frame(function, shape):
    check_fits(reported(function, ARGUMENTS[function], array=shape))


@pytest.mark.parametrize("shape", [(3, 2), (4, 4), (5,)], ids=str)
@pytest.mark.parametrize("function", [fir, matmul, matvec, strided, triangular], ids=lambda f: f.__name__)
@pytest.mark.sweep(keep=5, long=("triangular-(3, 2)",))
def test_pictures_with_wires_fit_their_frame(function, shape):
    found = reported(function, CALLS[function], array=shape, links="broadcast", dataflow="all")
    check_fits(found)
    for plan in found.nests[0].plans[1:4]:
        check_drawing(array_svg(frames(plan), 0))


def at_once(t):
    """`expected`, with wires: k = t everywhere."""
    units = ((i, j) for i in range(ROWS) for j in range(COLUMNS))
    return {f"{i},{j}": (f"{i},{j},{t}", {f"A[{i},{t}]", f"B[{t},{j}]", f"C[{i},{j}]"}) for i, j in units}


def test_what_a_wire_carries_is_drawn_in_its_cycle():
    """t = k: A[i, t] comes to its row at once and B[t, j] to its column, from links on to all units."""
    args = zeros(ROWS, DEPTH), zeros(DEPTH, COLUMNS), zeros(ROWS, COLUMNS)
    plan = reported(matmul, args, array=(ROWS, COLUMNS), links="broadcast", dataflow="os").nests[0].best
    assert plan.recurrence.text(plan.mapping) == "t = k, x = i, y = j"
    shown = frames(plan)
    for t in range(DEPTH):
        root = ElementTree.fromstring(array_svg(shown, t))
        assert active(cells(root)) == at_once(t)
        on = [n for n in of_class(root, "wire") if "on" in classes(n)]
        assert len(on) == ROWS * (COLUMNS - 1) + COLUMNS * (ROWS - 1) + ROWS + COLUMNS  # and what comes in, once for a line
        rows = [f"A[{i},{k}]" for i in range(ROWS) for k in range(t + 1, DEPTH)]
        columns = [f"B[{k},{j}]" for k in range(t + 1, DEPTH) for j in range(COLUMNS)]
        assert sorted(map(words, of_class(root, "token"))) == sorted(rows + columns)


def test_a_wire_is_level_where_time_goes_down():
    """Kung's B1, F: as many level ways as units take an element or a sum in the cycle in which another one has it."""
    found = reported(fir, CALLS[fir], array=(4,), links="broadcast", dataflow="all").nests[0].plans
    for plan in found:
        if kung_design(plan.recurrence, plan.mapping) not in ("B1", "B2", "F"):
            continue
        shown = frames(plan)
        wires = sum(not m.cycles for f in shown.frames if f.fold == 0 and f.phase == "compute" for m in f.moves)
        ways = re.findall(r'd="M[\d.]+,([\d.]+) L[\d.]+,([\d.]+)"', spacetime_svg(shown))
        assert wires == sum(y == to_y for y, to_y in ways) > 0


def check_fits(report):
    found = report.pictures()
    assert {"wavefronts", "array", "utilisation"} <= {name.partition("-")[0] for name in found}
    for text in found.values():
        check_drawing(text)


def check_drawing(text):
    """No text and no unit is outside of the picture; one text is not upon another."""
    root = ElementTree.fromstring(text)
    _, _, width, height = map(float, root.get("viewBox").split())
    boxes, parents = [], {child: parent for parent in root.iter() for child in parent}
    for node in root.iter(f"{SVG}text"):
        x, y, size = float(node.get("x")), float(node.get("y")), float(node.get("font-size", 12))
        length = len(words(node)) * size * 0.61
        left = x - {"middle": length / 2, "end": length}.get(anchor(parents, node), 0)
        assert size >= 11
        if words(node):
            assert -1 <= left and left + 0.9 * length <= width + 1 and 8 <= y <= height, words(node)
            boxes.append((left, y - size * 0.7, left + length * 0.85, y, words(node)))
    for rect in root.iter(f"{SVG}rect"):
        assert 0 <= float(rect.get("x", 0)) and float(rect.get("x", 0)) + float(rect.get("width")) <= width + 0.1
        assert float(rect.get("y", 0)) + float(rect.get("height")) <= height + 0.1
    boxes.sort()
    for number, (left, top, right, bottom, words_) in enumerate(boxes):
        for other_left, other_top, _, other_bottom, other in boxes[number + 1 :]:
            if other_left >= right:
                break
            assert other_top >= bottom or top >= other_bottom, (words_, other)


@pytest.mark.parametrize("function", [seidel, cross, subsequence], ids=lambda f: f.__name__)
def test_wires_end_at_units(function):
    """Those down and up, within the sides of a unit."""
    root = ElementTree.fromstring(reported(function, CALLS[function], array=(4,)).pictures()["array"])
    sides = [
        (float(r.get("x")), float(r.get("x")) + float(r.get("width"))) for c in of_class(root, "cell") for r in c.iter(f"{SVG}rect")
    ]
    down = [float(x) for n in of_class(root, "wire") for x in re.findall(r"^M([\d.]+),[\d.]+ v", n.get("d"))]
    assert down and all(any(left < x < right for left, right in sides) for x in down)


def anchor(parents, node):
    while node is not None:
        if node.get("text-anchor"):
            return node.get("text-anchor")
        node = parents.get(node)
    return "start"


def test_wavefronts_are_the_times_of_the_points(report):
    root = ElementTree.fromstring(report.pictures()["wavefronts"])
    expected = {(i, j): i + j for i in range(ROWS) for j in range(COLUMNS)}
    found = {}
    for point in of_class(root, "point"):
        hint = words(point.find(f"{SVG}title"))
        i, j, t = map(int, re.fullmatch(r"i = (\d+), j = (\d+), k = 0: t = (\d+), x = \1, y = \2", hint).groups())
        found[i, j] = t
        assert words(point.find(f"{SVG}text")) == str(t)
    assert found == expected
    assert len(of_class(root, "axis")) == len(set(expected.values()))


def test_no_rule_for_pictures_of_nests_colours_the_numbers_of_wavefronts(report):
    groups = set(re.findall(r'<g class="(\w+)"', report.pictures()["wavefronts"]))
    assert groups and not any(re.search(rf"\.{ROOT} \.{name}[{{,]", style()) for name in groups)


def test_wavefronts_are_of_a_slice_with_points():
    """Of j = 0 LU has one row alone."""
    root = ElementTree.fromstring(reported(lu, (zeros(4, 4),), array=(4, 4)).pictures()["wavefronts"])
    hints = {words(point.find(f"{SVG}title")).partition(": ")[0] for point in of_class(root, "point")}
    assert hints == {f"k = {k}, i = {i}, j = 3" for k in range(3) for i in range(k + 1, 4)}


def test_utilisation_has_a_step_for_every_change(report):
    """The bars' area in pixels is the instances' share of all."""
    root = ElementTree.fromstring(report.pictures()["utilisation"])
    bar, _ = of_class(root, "bar")  # and its sample in the legend
    assert float(root.get("width")) <= 440 and {"runs an instance", "shifted out"} <= {
        words(each) for each in root.iter(f"{SVG}text")
    }
    assert "shifted in" not in {words(each) for each in root.iter(f"{SVG}text")}
    steps = [(k, float(v)) for k, v in re.findall(r"([MVH])([\d.]+)", bar.get("d"))]
    bottom = float(re.match(r"M[\d.]+,([\d.]+)", bar.get("d"))[1])
    x, y, area = steps[0][1], bottom, 0.0
    for kind, value in steps[1:]:
        if kind == "V":
            y = value
        else:
            area, x = area + (value - x) * (bottom - y), value
    cycles = ROWS + COLUMNS + DEPTH - 2 + ROWS
    (grid,) = [n for n in of_class(root, "line")][-1:]
    top = float(re.match(r"M[\d.]+,([\d.]+)", grid.get("d"))[1])
    assert area / ((x - steps[0][1]) * (bottom - top)) == pytest.approx(DEPTH / cycles, rel=0.01)


def test_arrays_of_one_dimension_have_space_and_time():
    found = reported(fir, (zeros(7), zeros(3), zeros(5)), array=(5,))
    plan = found.nests[0].best
    root = ElementTree.fromstring(found.pictures()["spacetime"])
    instances = sorted(words(n) for n in of_class(root, "head"))
    assert instances == sorted(f"{i},{k}" for i in range(5) for k in range(3)) and plan.folds.number == 1


def test_a_value_that_stays_is_a_way_down():
    """A[t - 1, i] is used in the unit that made it, a cycle later."""
    found = reported(history, CALLS[history], array=(9,))
    plan = found.nests[0].best
    assert plan.recurrence.text(plan.mapping) == "t = t, x = i" and plan.folds.number == 1
    root = ElementTree.fromstring(found.pictures()["spacetime"])
    ways = [n for n in of_class(root, "wire") if re.match(r"M([\d.]+),[\d.]+ L\1,", n.get("d"))]
    (steps, width), *_ = [array.shape for array in CALLS[history]]
    assert sorted(words(n) for n in ways) == sorted(f"A[{t},{i}]" for t in range(1, steps - 1) for i in range(1, width - 1))


def test_what_is_large_says_so_in_its_picture():
    found = reported(matmul, (zeros(300, 200), zeros(200, 100), zeros(300, 100)), array=(64, 64)).pictures()
    assert "too large to draw with what moves between units" in words(ElementTree.fromstring(found["array"]))
    assert "of 4,096 units" in words(ElementTree.fromstring(found["utilisation"]))
    assert len(of_class(ElementTree.fromstring(found["wavefronts"]), "point")) == 16 * 16


def test_of_many_folds_the_first_are_shown():
    found = reported(matmul, (zeros(64, 64), zeros(64, 64), zeros(64, 64)), array=(8, 8), dataflow="os")
    assert found.nests[0].best.folds.number == 64
    assert "81.9% of 64 units in 5,000 cycles, 64 folds" in words(ElementTree.fromstring(found.pictures()["utilisation"]))
    assert '<p class="faint">the first of 64 folds</p>' in found.page()
    few = reported(matmul, (zeros(64, 8), zeros(8, 64), zeros(64, 64)), array=(8, 8), dataflow="os")
    assert '<p class="faint">the first 5 of 64 folds</p>' in few.page()


def two(A, B, D):
    return A @ B @ D


def test_several_nests_have_pictures_each():
    found = reported(two, (zeros(4, 3), zeros(3, 4), zeros(4, 2)), array=(3, 3))
    names = [nest.nest.name for nest in found.nests]
    assert set(found.pictures()) == {f"{kind}-{name}" for name in names for kind in ("array", "wavefronts", "utilisation")}


def test_a_cycle_that_there_is_not_is_refused(report):
    with pytest.raises(ConfigError, match="there is no cycle 99"):
        array_svg(frames(report.nests[0].best), 99)


def light(colour):
    """Relative luminance (WCAG 2.1)."""
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(colour, ground):
    bright, dark = sorted((light(colour), light(ground)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_texts_can_be_read_in_light_and_dark(palette):
    paper, ink, faint, idle = (palette.colours[name] for name in ("paper", "ink", "faint", "idle"))
    for ground in (paper, *(palette.colours[phase] for phase in PHASES)):
        assert contrast(ink, ground) > 7
        assert all(contrast(colour, ground) > 4.5 for colour in palette.lanes)
    assert contrast(faint, paper) > 4.5
    for colour in palette.lanes:  # what is kept, with an opacity of 0.75
        mixed = "#" + "".join(
            f"{round(0.75 * int(colour[k : k + 2], 16) + 0.25 * int(idle[k : k + 2], 16)):02x}" for k in (1, 3, 5)
        )
        assert contrast(mixed, idle) > 3


# The page


def test_the_page_needs_no_other_file(report):
    text = report.page()
    assert not re.search(r"""(src|href)\s*=|url\(|@import|https?://(?!www\.w3\.org/2000/svg)""", text)
    assert text.count("<svg") == text.count("</svg>") and text.startswith("<!doctype html>")


def test_a_page_of_what_is_large_is_refused():
    found = reported(matmul, (zeros(300, 200), zeros(200, 100), zeros(300, 100)), array=(64, 64))
    with pytest.raises(ConfigError, match="too large to draw"):
        found.page()


class Cells(HTMLParser):
    """The units of each player as a browser has them, and what is shown beside them."""

    def __init__(self, text):
        super().__init__()
        self.players, self.cell, self.into = [], None, None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        kinds = (given.get("class") or "").split()
        if "player" in kinds:
            self.players.append({"cells": {}, "tokens": [], "text": {}, "hidden": "hidden" in given, "wires": 0})
        if not self.players:
            return
        player, self.into = self.players[-1], None
        if "cell" in kinds:
            self.cell = {"phase": kinds[1], "name": given["aria-label"], "head": "", "lines": []}
            player["cells"][given["data-unit"]] = self.cell
        elif "head" in kinds:
            self.into = lambda data, cell=self.cell: cell.update(head=data)
        elif "slot" in kinds:
            self.into = self.cell["lines"].append
        elif "token" in kinds:
            self.into = player["tokens"].append
        elif "wire" in kinds:
            player["wires"] += "on" in kinds
        elif tag in ("output", "strong", "dd", "dt") or kinds[:1] in (["title"], ["caption"], ["play"]):
            self.into = player["text"].setdefault(tag if tag in ("output", "strong", "dd", "dt") else kinds[0], []).append

    def handle_endtag(self, tag):
        self.into = None

    def handle_data(self, data):
        if self.into:
            self.into(data)


def after(tmp_path, report, script):
    """The page's players once the script has run in a browser."""
    return Cells(dom_after(tmp_path, report.page(), script)).players


def shown_in(player):
    found = {unit: cell for unit, cell in player["cells"].items() if cell["phase"] == "active"}
    return {unit: (cell["head"], {line.strip("→") for line in cell["lines"]}) for unit, cell in found.items()}


MOVED = 'const s= document.querySelector("input[type=range]"); s.value = "{0}"; s.dispatchEvent(new Event("input"));'
PRESSED = 'document.dispatchEvent(new KeyboardEvent("keydown", {{key: "{0}", bubbles: true}}));'


def test_the_slider_shows_its_cycle_in_a_browser(report, tmp_path):
    (player,) = after(tmp_path, report, MOVED.format(4))
    assert player["text"]["output"] == ["cycle 4"] and player["text"]["caption"][0] == "t = 4"
    last = ROWS + COLUMNS + DEPTH - 3 + ROWS
    assert player["text"]["title"][0] == f"Cycle 4 of 0 to {last} with the drain: {len(product(4))} of 12 units run an instance"
    assert len(player["cells"]) == ROWS * COLUMNS and shown_in(player) == expected(4)
    assert player["cells"]["1,2"]["name"] == "unit x = 1, y = 2 runs S0[1,2,1], with C[1,2], A[1,1], B[1,2]"
    waiting = {f"A[{i},{k}]" for i in range(ROWS) for k in range(DEPTH) if i + k > 4}
    assert waiting <= set(player["tokens"])
    inner = sum((j + 1 < COLUMNS) + (i + 1 < ROWS) + (j == 0) + (i == 0) for i, j, _ in product(4).values())
    assert player["wires"] == inner


def test_wires_are_in_use_in_a_browser(tmp_path):
    args = zeros(ROWS, DEPTH), zeros(DEPTH, COLUMNS), zeros(ROWS, COLUMNS)
    found = reported(matmul, args, array=(ROWS, COLUMNS), links="broadcast", dataflow="os")
    player, *_ = after(tmp_path, found, MOVED.format(2))
    assert player["text"]["output"] == ["cycle 2"] and shown_in(player) == at_once(2)
    assert player["wires"] == ROWS * (COLUMNS - 1) + COLUMNS * (ROWS - 1) + ROWS + COLUMNS


def test_keys_step_through_the_cycles_in_a_browser(report, tmp_path):
    keys = ["ArrowRight"] * 5 + ["ArrowLeft"] * 2
    (player,) = after(tmp_path, report, "".join(PRESSED.format(key) for key in keys))
    assert player["text"]["output"] == ["cycle 3"] and shown_in(player) == expected(3)
    (player,) = after(tmp_path, report, PRESSED.format("End") + PRESSED.format("ArrowRight") + PRESSED.format("ArrowLeft"))
    assert player["text"]["output"] == [f"cycle {ROWS + COLUMNS + DEPTH - 4 + ROWS}"]


def test_play_goes_to_the_end_and_stops_in_a_browser(report, tmp_path):
    script = 'document.querySelector(".speed").value = "250"; document.querySelector(".play").click();'
    (player,) = after(tmp_path, report, script)
    assert player["text"]["output"] == [f"cycle {ROWS + COLUMNS + DEPTH - 3 + ROWS}"] and player["text"]["play"] == ["▶ Play"]


def test_play_can_be_paused_in_a_browser(report, tmp_path):
    """A cycle takes 700 ms."""
    script = 'const p = document.querySelector(".play"); p.click(); setTimeout(() => p.click(), 1750);'
    (player,) = after(tmp_path, report, script)
    assert player["text"]["output"] == ["cycle 2"] and shown_in(player) == expected(2)


def test_a_unit_tells_what_it_has_in_a_browser(report, tmp_path):
    script = MOVED.format(4) + """document.querySelector("[data-unit='1,2']").dispatchEvent(new Event("focus"));"""
    (player,) = after(tmp_path, report, script)
    assert player["text"]["strong"] == ["unit x = 1, y = 2 in cycle 4: S0[1,2,1]"]
    told = dict(zip(player["text"]["dt"], player["text"]["dd"]))
    assert told == {"C[i, j] (stays)": "C[1,2]", "A[i, k] (moves right (+y))": "A[1,1]", "B[k, j] (moves down (+x))": "B[1,2]"}


def test_another_mapping_can_be_chosen_in_a_browser(tmp_path):
    found = reported(matmul, (zeros(3, 3), zeros(3, 3), zeros(3, 3)), array=(3, 3))
    script = 'const c = document.querySelector("select.plan"); c.value = "1"; c.dispatchEvent(new Event("change"));'
    players = after(tmp_path, found, script + PRESSED.format("ArrowRight"))
    assert {plan.dataflow for plan in found.nests[0].plans} == {"os", "ws", "is"}
    assert [p["hidden"] for p in players] == [True, False, True]
    assert [p["text"]["output"] for p in players] == [["cycle 0"], ["cycle 1"], ["cycle 0"]]


def test_each_nest_has_its_slider_in_a_browser(tmp_path):
    found = reported(two, (zeros(2, 2), zeros(2, 2), zeros(2, 2)), array=(2, 2), dataflow="os")
    script = 'document.querySelectorAll(".forth")[1].click();'  # keys go to the one that was used last
    first, second = after(tmp_path, found, script + PRESSED.format("ArrowRight"))
    assert first["text"]["output"] == ["cycle 0"] and second["text"]["output"] == ["cycle 2"]


# The command


SOURCE = """\
def product(A, B, C):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]
"""
WORDS = ["-D", "N=4", "--arg", "A=f64[N,N]", "--arg", "B=f64[N,N]", "--arg", "C=f64[N,N]", "--target", "systolic"]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "drawn_kernels.py"
    path.write_text(SOURCE)
    return path


def test_the_command_writes_pictures_and_a_page(file, tmp_path):
    written = ["--svg", str(tmp_path / "svg"), "--html", str(tmp_path / "page.html")]
    run("report", f"{file}:product", *WORDS, "--array", "4x4", *written)
    assert {p.name for p in (tmp_path / "svg").iterdir()} == {"array.svg", "wavefronts.svg", "utilisation.svg"}
    for path in (tmp_path / "svg").iterdir():
        ElementTree.fromstring(path.read_text(encoding="utf-8"))
    assert "<title>product on 4 x 4 units</title>" in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("options", [["--no-simulation", "--machine", "zen4"], ["--target", "cuda"]], ids=["cpu", "cuda"])
def test_other_reports_are_pages_too(file, tmp_path, options):
    run("report", f"{file}:product", *WORDS[:-2], *options, "--html", str(tmp_path / "page.html"))
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>") and "<title>product</title>" in text and text.endswith("</html>\n")


@pytest.mark.parametrize("options, message", [(["--array", "4x4", "--html", "."], "--html cannot write to .")])
def test_a_page_that_cannot_be_written_is_one_line(file, options, message):
    _, err = run("report", f"{file}:product", *WORDS, *options, code=2)
    (line,) = err.strip().splitlines()
    assert message in line


def test_a_picture_that_cannot_be_drawn_loses_no_text(file, monkeypatch):
    def too_large(self):
        raise ConfigError("too large to draw")

    monkeypatch.setattr("polyml.systolic.report.report.SystolicReport.page", too_large)
    out, err = run("report", f"{file}:product", *WORDS, "--array", "4x4", "--html", "page.html", code=2)
    assert "cycles" in out and "too large to draw" in err
