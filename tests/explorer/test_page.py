"""Pages in a browser, driven as by a reader: clicks, drags, keys; against the isl objects and the schedules that the same steps give."""

import json
import re

import pytest

from polyml.api.exploring.explored import explored
from polyml.explorer.page import MOST_BYTES, packed_data, page
from tests.explorer.browser import browser
from tests.explorer.pages import kernel, types

MILLISECONDS = 100  # of an answer to a click
TIMED = """(() => {
  const chosen = document.querySelector(%s), start = performance.now();
  chosen.click();
  const marked = document.querySelectorAll(".marked").length;
  document.body.getBoundingClientRect();
  return [performance.now() - start, marked];
})()"""
COUNTED = """[...document.querySelectorAll("#dependences .row")].map((row, n) => {
  row.click();
  const group = document.querySelectorAll("g.arrows")[n], count = group.children.length;
  if (getComputedStyle(group).display === "none") throw new Error("the arrows of a selected dependence are hidden");
  row.click();
  return count;
})"""


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    with browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """{kernel: (the kernel, its schedule, the file of its page)}, made once."""
    folder, found = tmp_path_factory.mktemp("pages"), {}

    def of(name):
        if name not in found:
            known = kernel(name)
            made = known.explore(*types(name))
            made.save(folder / f"{name}.html")
            found[name] = known, made.schedule, folder / f"{name}.html"
        return found[name]

    return of


def opened(chromium, saved, name, **window):
    shown = chromium.page(**window)
    shown.open(saved(name)[2].as_uri())
    return shown


def status(shown, *words):
    shown.until(" && ".join(f"document.querySelector('#status').textContent.includes({json.dumps(word)})" for word in words))
    return shown.text("#status")


@pytest.mark.parametrize("name", ["gemm", "jacobi_2d", "seidel_2d"])
def test_a_page_is_one_short_file_without_a_network(saved, name):
    text = saved(name)[2].read_text(encoding="utf-8")
    assert len(text.encode()) < MOST_BYTES and not re.search(
        r"(src|href)\s*=|https?://(?!www\.w3\.org/2000/svg)|@import|url\(", text.partition('id="data"')[0]
    )
    assert {*re.findall(r"https?://[^\s\"'`<]+", text)} == {"http://www.w3.org/2000/svg"}


@pytest.mark.parametrize("name", ["gemm", "jacobi_2d"])
def test_a_click_is_answered_at_once_and_marks_all_panes(chromium, saved, name):
    shown = opened(chromium, saved, name)
    times = []
    for mark in ("s:S1", "d:1", "l:S1.j", "a:A", "s:S0"):
        spent, marked = shown.run(TIMED % json.dumps(f'[data-pick="{mark}"]'))
        times.append(spent)
        assert marked > 3, mark
    assert max(times) < MILLISECONDS, times
    shown.click('#loops [data-pick="s:S1"]')
    for pane in ("source", "loops", "tree", "ast", "llvm", "dependences", "picture"):
        assert shown.run(f"document.querySelectorAll('#{pane} .marked').length") > 0, pane
    assert all("# S1" in line for line in shown.texts("#ast .marked"))
    assert shown.text("#details").startswith("statement S1:")
    shown.click('#loops [data-pick="s:S1"]')
    assert shown.run("document.querySelectorAll('.marked').length") == 0


def test_a_click_before_all_panes_are_filled_marks_them_once_they_are(chromium, saved):
    """The first frame waits for neither code nor steps; what is selected and dragged until then holds."""
    shown = chromium.page()
    shown.ask("Page.enable")
    early = """(() => { const mark = performance.mark.bind(performance); performance.mark = (name) => { mark(name);
      document.querySelector('#loops [data-pick="s:S1"]').click();
      window.before = [document.querySelectorAll("#llvm .line").length, document.querySelectorAll("#picture .marked").length];
      window.explorer.attempt('tile({"k": 2})'); }; })()"""
    shown.ask("Page.addScriptToEvaluateOnNewDocument", source=early)
    shown.open(saved("gemm")[2].as_uri())
    lines, marked = shown.run("window.before")
    assert lines == 0 and marked > 0
    status(shown, 'tile({"k": 2}) is legal')
    for pane in ("picture", "ast", "llvm", "tree"):
        assert shown.run(f"document.querySelectorAll('#{pane} .marked').length") > 0, pane
    assert shown.run("document.querySelector('#text').value") == saved("gemm")[1].tile({"k": 2}).text


@pytest.mark.parametrize("name", ["gemm", "jacobi_2d"])
def test_points_and_arrows_are_those_of_the_page_s_data(chromium, saved, name):
    """The data are compared with all accesses in test_dependences and test_placing."""
    shown = opened(chromium, saved, name)
    data = packed_data(saved(name)[2].read_text(encoding="utf-8"))
    for choice, picture in enumerate(data["pictures"]):
        shown.run(
            f"(() => {{ const s = document.querySelector('#size'); s.value = {choice}; s.dispatchEvent(new Event('input')); }})()"
        )
        drawn = shown.run("[...document.querySelectorAll('circle.point')].map((e) => [e.dataset.instance, Number(e.dataset.time)])")
        expected = []
        for leaf in data["view"]["placed"][choice]:
            points = [picture["points"][leaf["statement"]][n] for n in leaf["points"]]
            expected += [[f"{leaf['statement']}[{', '.join(map(str, p))}]", t] for p, t in zip(points, leaf["times"])]
        assert sorted(drawn) == sorted(expected)
        total = sum(map(len, picture["arrows"]))
        at_once = [len(each) if total <= 400 else 0 for each in picture["arrows"]]  # more are drawn where they are selected
        assert shown.run("[...document.querySelectorAll('g.arrows')].map((e) => e.children.length)") == at_once
        assert shown.run(COUNTED) == [*map(len, picture["arrows"])]


def test_dragging_the_borders_of_tiles_gives_the_schedule_of_those_tiles(chromium, saved, tmp_path):
    known, schedule, _ = saved("gemm")
    shown = opened(chromium, saved, "gemm")
    shown.drag('.handle.tile[data-loop="S1.j"]', by=(-70, 0))
    status(shown, 'tile({"S1.j": 4}) is legal')
    shown.drag('.handle.tile[data-loop="k"]', by=(0, -140))
    status(shown, 'tile({"k": 2, "S1.j": 4}) is legal')
    tiles = shown.run("[...document.querySelectorAll('path.outline')].map((e) => [e.dataset.tile, Number(e.dataset.count)])")
    expected = {}
    for i in range(6):
        for k in range(6):
            for j in range(6):
                expected.setdefault(f"{k - k % 2},{j - j % 4}", []).append((i, k, j))
    assert {key: count for key, count in tiles} == {key: len(each) for key, each in expected.items()}
    shown.ask("Page.bringToFront")
    shown.ask("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    shown.click("#copy")
    status(shown, "copied")
    text = shown.run("navigator.clipboard.readText()")
    file = tmp_path / "copied.txt"
    file.write_text(text, encoding="utf-8")
    assert known.load_schedule(file) == schedule.tile({"k": 2, "S1.j": 4}) != schedule
    shown.click("#undo")
    assert shown.texts("#script li") == ["no step yet"] and shown.run("document.querySelector('#text').value") == schedule.text


def test_dragging_an_axis_skews_the_other_loop(chromium, saved):
    _, schedule, _ = saved("jacobi_2d")
    shown = opened(chromium, saved, "jacobi_2d")
    shown.drag('.handle.skew[data-loop="S0.i"]', by=(110, 0))
    status(shown, 'skew("S0.j", "S0.i", 1) is legal')
    assert shown.run("document.querySelector('#text').value") == schedule.skew("S0.j", "S0.i", 1).text
    found = shown.run("document.querySelector('circle[data-instance=\"S0[0, 2, 3]\"]').dataset.values")
    assert found == "0,2,5"


def drawn_in_red(shown, told):
    """The pair of instances that is drawn in red: the one that the page names, in the order that is drawn."""
    source, sink = shown.run(
        "(() => { const e = document.querySelector('.broken-pair'); return [e.dataset.source, e.dataset.sink]; })()"
    )
    assert f"{sink} must run after {source}" in told
    order = {
        text: int(time)
        for text, time in shown.run(
            "[...document.querySelectorAll('circle.point')].map((e) => [e.dataset.instance, e.dataset.time])"
        )
    }
    assert order[source] > order[sink]
    colour = shown.run("getComputedStyle(document.querySelector('path.broken')).stroke")
    red, green, blue = map(int, re.findall(r"\d+", colour))
    assert red > 150 and green < 80 and blue < 80
    assert shown.texts("#script .bad") == ['interchange("t", "i")']
    assert shown.text("#llvm") == "There is no code for an order that is not legal."
    return source, sink


def test_an_illegal_interchange_is_drawn_in_red_with_the_pair_that_it_breaks(chromium, saved):
    _, schedule, _ = saved("seidel_2d")
    shown = opened(chromium, saved, "seidel_2d")
    shown.drag('.name[data-loop="t"]', onto='.name[data-loop="i"]')
    drawn_in_red(shown, status(shown, 'interchange("t", "i") is not legal'))
    assert shown.run("document.querySelector('#text').value") == schedule.text  # what is copied is legal
    shown.click("#undo")
    assert shown.run("document.querySelectorAll('.broken-pair').length") == 0


def test_an_interchange_of_a_loop_around_several_does_not_fit_and_says_what_is_in_the_way(chromium, saved):
    shown = opened(chromium, saved, "jacobi_2d")
    shown.drag('.name[data-loop="t"]', onto='.name[data-loop="S0.i"]')
    status(shown, 'interchange("t", "S0.i") does not fit', "the parts S0; S1 follow each other")


def test_once_the_loops_of_jacobi_2d_are_fused_an_illegal_interchange_is_drawn_in_red(chromium):
    """The second sweep is shifted by a row and a column, so that one nest has both; every step but the last is legal."""
    known = kernel("jacobi_2d")
    made = known.explore(*types("jacobi_2d"), sizes={"A_0": 5, "tsteps": 3}, tiles=(2,))
    try:
        shown = chromium.page()
        shown.open(made.serve())
        for step in ('shift("S1.i", S1=1)', 'fuse("S0.i", "S1.i")', 'shift("S1.j", S1=1)'):
            if step.startswith("fuse"):
                shown.drag('.title[data-pick="s:S0"]', onto='g.panel[data-statement="S1"] .frame')
            else:
                shown.run(f"document.querySelector('#step').value = {json.dumps(step)}")
                shown.click("#ask button")
            status(shown, step, "is legal")
        shown.drag('.title[data-pick="s:S0"]', onto='g.panel[data-statement="S1"] .frame')
        status(shown, 'fuse("S0.j", "S1.j") is legal')
        shown.drag('.name[data-loop="t"]', onto='.name[data-loop="i"]')
        told = status(shown, 'interchange("t", "i") is not legal')
        pairs = all_dependences(3, 5)
        source, sink = drawn_in_red(shown, told)
        assert (source, sink) in pairs
        at = {
            f"S{s}[{t}, {i}, {j}]": (i + s, t, j + s, s) for s in (0, 1) for t in range(3) for i in range(1, 4) for j in range(1, 4)
        }
        broken = {pair for pair in pairs if at[pair[0]] > at[pair[1]]}
        assert (source, sink) in broken and f"it breaks {len(broken)} pairs" in told
    finally:
        made.close()


def all_dependences(steps, size):
    """Those of jacobi_2d, by its accesses one after the other: all pairs of instances that touch one element, one of which writes it."""
    found, touched = set(), {}
    for t in range(steps):
        for s in (0, 1):
            for i in range(1, size - 1):
                for j in range(1, size - 1):
                    own = f"S{s}[{t}, {i}, {j}]"
                    read = {("AB"[s], i + a, j + b) for a, b in ((0, 0), (0, 1), (0, -1), (1, 0), (-1, 0))}
                    write = {("BA"[s], i, j)}
                    for element in read | write:
                        for other, writes in touched.get(element, ()):
                            if writes or element in write:
                                found.add((other, own))
                        touched.setdefault(element, []).append((own, element in write))
    return found


def test_statements_are_fused_by_dragging_one_onto_the_other(chromium, saved):
    shown = opened(chromium, saved, "jacobi_2d")
    shown.drag('.title[data-pick="s:S0"]', onto='g.panel[data-statement="S1"] .frame')
    status(shown, 'fuse("S0.i", "S1.i") is not legal', "S1[0, 1, 1] must run after S0[0, 2, 1]")


def test_loops_are_interchanged_in_the_list_of_loops(chromium, saved):
    _, schedule, _ = saved("gemm")
    shown = opened(chromium, saved, "gemm")
    shown.drag('#loops [data-loop="k"]', onto='#loops [data-loop="S1.j"]')
    status(shown, 'interchange("k", "S1.j") is legal')
    assert shown.run("document.querySelector('#text').value") == schedule.interchange("k", "S1.j").text
    shown.click("#undo")
    shown.drag('#loops [data-loop="i"]', onto='#loops [data-loop="k"]')
    status(shown, "does not fit", "the parts S0; S1 follow each other")


def test_the_keyboard_does_what_the_pointer_does(chromium, saved):
    shown = opened(chromium, saved, "gemm")
    shown.run("document.querySelector('.handle.tile[data-loop=\"S1.j\"]').focus()")
    shown.key("ArrowRight")
    status(shown, 'tile({"S1.j": 2}) is legal')
    shown.key("ArrowRight")
    status(shown, 'tile({"S1.j": 4}) is legal')
    shown.run("document.querySelector('#undo').focus()")
    shown.run("document.querySelector('#undo').click()")
    shown.run("document.querySelector('#loops [data-loop=\"k\"]').focus()")
    shown.key("ArrowDown", modifiers=1)
    status(shown, 'interchange("k", "S1.j") is legal')
    shown.run("document.querySelector('#loops [data-pick=\"s:S0\"]').focus()")
    shown.key("Enter")
    assert shown.text("#details").startswith("statement S0")


def test_each_single_step_is_a_button_with_its_verdict(chromium, saved):
    shown = opened(chromium, saved, "jacobi_2d")
    data = packed_data(saved("jacobi_2d")[2].read_text(encoding="utf-8"))
    marks = {"legal": "✓", "illegal": "✗", "refused": "–"}
    assert {*shown.texts("#steps button")} == {f"{marks[each['verdict']]} {each['step']}" for each in data["steps"]}
    shown.click('#steps [data-step="reverse(\\"t\\")"]')
    status(shown, 'reverse("t") is not legal')


@pytest.mark.parametrize("dark", [False, True])
def test_a_narrow_window_shows_all_without_scrolling_sideways(chromium, saved, dark):
    shown = opened(chromium, saved, "gemm", width=400, height=800, dark=dark)
    assert shown.run("document.documentElement.scrollWidth") <= 400
    paper, ink = shown.run("(() => { const s = getComputedStyle(document.body); return [s.backgroundColor, s.color]; })()")
    brightness = [sum(map(int, re.findall(r"\d+", each)[:3])) for each in (paper, ink)]
    assert (brightness[0] < brightness[1]) is dark and abs(brightness[0] - brightness[1]) > 400


def test_a_page_that_is_served_answers_any_sequence_of_steps(chromium):
    known = kernel("jacobi_2d")
    made = known.explore(*types("jacobi_2d"))
    try:
        shown = chromium.page()
        shown.open(made.serve())
        schedule = made.schedule
        for step, told in (
            ('shift("t", S1=0)', "is legal"),
            ('skew("S0.i", "t", 2)', "is legal"),
            ('tile({"S0.i": 5, "S0.j": 7})', "is legal"),
            ('parallel("i_t")', "is legal"),
        ):
            shown.run(f"document.querySelector('#step').value = {json.dumps(step)}")
            shown.click("#ask button")
            status(shown, step, told)
        schedule = schedule.shift("t", S1=0).skew("S0.i", "t", 2).tile({"S0.i": 5, "S0.j": 7}).parallel("i_t")
        assert shown.run("document.querySelector('#text').value") == schedule.text
        assert len(shown.texts("#script li")) == 4
        shown.run(
            "(() => { const s = document.querySelector('[data-parameter=\"A_0\"]'); s.value = 4; s.dispatchEvent(new Event('change')); })()"
        )
        shown.until("document.querySelector('#size-text').textContent.includes('A_0 = 4')")
        assert shown.run("document.querySelectorAll('g.panel[data-statement=\"S0\"] circle.point').length") == 4 * 6
        made.close()
        shown.run("document.querySelector('#step').value = 'reverse(\"t\")'")
        shown.click("#ask button")
        status(shown, "is gone")
    finally:
        made.close()


def test_a_page_that_would_be_too_long_says_what_is_left_out(monkeypatch, saved):
    from polyml.explorer import page as pages

    data = packed_data(saved("gemm")[2].read_text(encoding="utf-8"))
    whole = len(page(data))
    monkeypatch.setattr(pages, "MOST_BYTES", whole)
    short = page(data)
    assert len(short) < whole
    (step,) = (each for each in packed_data(short)["steps"] if each["step"] == 'tile({"i": 2})')
    assert "llvm" not in step["view"]["code"] and step["view"]["code"]["ast"] and "3 MB" in step["view"]["code"]["left_out"]
    assert packed_data(short)["view"] == data["view"]


def test_a_kernel_of_four_loops_is_drawn_one_iteration_at_a_time(chromium, tmp_path):
    made = explored(kernel("heat_3d").schedule("source", *types("heat_3d")), "source", {"A_0": 4, "tsteps": 2}, (2,))
    made.save(tmp_path / "heat.html")
    shown = chromium.page()
    shown.open((tmp_path / "heat.html").as_uri())
    assert "is drawn for" in shown.text("#picture")
    assert shown.run("document.querySelectorAll('g.panel[data-statement=\"S0\"] circle.point').length") == 8


def test_a_page_says_which_dependences_isl_does_not_find_in_time(chromium, tmp_path, monkeypatch):
    monkeypatch.setattr("polyml.model.core.printer.OPERATIONS", 1)
    kernel("trisolv").explore(*types("trisolv")).save(tmp_path / "page.html")
    shown = chromium.page()
    shown.open((tmp_path / "page.html").as_uri())
    assert shown.text("#dependences").startswith("isl does not find the flow, anti, output dependences in time")
