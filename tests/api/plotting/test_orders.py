"""Replays, comparisons and films of orders: every frame is compared with the order that the steps make, in plain Python."""

import json
import re
from html import unescape
from xml.etree import ElementTree

import numpy as np
import pytest

import polyml
from polyml import kernels
from polyml.pictures.nests import parameters
from polyml.polyhedra.points import points
from tests.browser import dom_after
from tests.pictures.test_nests import SLOW, direct, elements, text


def seidel(A, T):
    for t in range(T):
        for i in range(1, A.shape[0] - 1):
            A[i] = A[i - 1] + A[i] + A[i + 1]


def svgs(pictures) -> list[str]:
    return re.findall(r"<svg .*?</svg>", pictures, re.DOTALL)


def labels(pictures) -> list[str]:
    return json.loads(unescape(re.search(r'data-labels="([^"]*)"', pictures)[1]))


def times(svg) -> dict[str, int]:
    return {each.get("data-instance"): int(each.get("data-time")) for each in elements(svg, "point")}


def automatic(name):
    found = kernels.load(name)
    arguments = found.inputs(found.sizes["MINI"], np.random.default_rng(0), found.dtype)
    return polyml.kernel(found.kernel.py_func, cache=False).schedule("auto", *arguments.values())


@pytest.mark.sweep(keep=8)
@pytest.mark.parametrize("name", kernels.NAMES)
def test_a_replay_begins_with_the_source_and_ends_with_the_schedule(name):
    schedule = automatic(name)
    scop = schedule.problem.scop
    sizes = dict.fromkeys(parameters(scop), SLOW.get(name, 4))
    film = polyml.plot(schedule, "replay", sizes)
    frames = svgs(film)
    assert len(frames) == len(labels(film)) and labels(film)[0] == "the source's order"
    for svg, relation in ((frames[0], scop.schedule.get_map()), (frames[-1], schedule.tree.get_map())):
        at = {text(instance): time for instance, (_, time) in points(relation.intersect_domain(scop.domain), **sizes)}
        drawn = times(svg)
        assert sorted(at[each] for each in drawn) == [at[each] for each in sorted(drawn, key=drawn.get)]
    assert not elements(frames[0], "wrong")


@pytest.mark.parametrize("name", ["gemm", "jacobi_1d", "seidel_2d", "trisolv", "durbin", "cholesky"])
def test_arrows_of_a_step_are_the_dependences_that_its_order_breaks(name):
    schedule = automatic(name)
    problem = schedule.problem
    assert not problem.reductions or name in ("gemm", "trisolv", "durbin", "cholesky")
    sizes = dict.fromkeys(parameters(problem.scop), 4)
    pairs = direct(problem.scop, sizes)
    free = {text(each) for each in points(problem.scop.domain, **sizes) if each[0] in problem.reductions}
    for svg in svgs(polyml.plot(schedule, "replay", sizes)):
        at = times(svg)
        broken = {(kind, a, b) for kind, a, b in pairs if at[a] > at[b]}
        drawn = {(each.get("data-kind"), each.get("data-source"), each.get("data-sink")) for each in elements(svg, "wrong")}
        assert {each for each in broken if not {*each[1:]} <= free} <= drawn <= broken


def test_before_and_after_stand_side_by_side():
    schedule = polyml.kernel(seidel).schedule("source", "f64[:]", "int").skew("i", "t").interchange("t", "i")
    before, after = svgs(polyml.plot(schedule, "comparison", {"A_0": 5, "T": 3}))
    instances = [(t, i) for t in range(3) for i in range(1, 4)]
    assert sorted(times(before), key=times(before).get) == [f"S0[{t}, {i}]" for t, i in instances]
    by_diagonal = sorted(instances, key=lambda each: (each[0] + each[1], each[0]))
    assert sorted(times(after), key=times(after).get) == [f"S0[{t}, {i}]" for t, i in by_diagonal]
    assert "before: order of the instances of seidel" in before and "after: order of the instances" in after


def test_the_slider_of_an_order_fades_what_runs_later(tmp_path):
    schedule = polyml.kernel(seidel).schedule("source", "f64[:]", "int")
    film = polyml.plot(schedule, "order", {"A_0": 5, "T": 3})
    assert labels(film)[4] == "4: S0[1, 2]"
    moved = 'const s = document.querySelector("input"); s.value = "4"; s.dispatchEvent(new Event("input"));'
    page = dom_after(tmp_path, film, moved)
    shown = re.search(r"<svg .*?</svg>", page, re.DOTALL)[0]
    later = {each.get("data-time") for each in ElementTree.fromstring(shown).iter() if "later" in each.get("class", "")}
    assert later == {"5", "6", "7", "8"} and "4: S0[1, 2]" in re.search(r"<output.*?</output>", page)[0]


def test_the_slider_of_a_replay_shows_one_step(tmp_path):
    film = polyml.plot(automatic("seidel_2d"), "replay")
    moved = 'const s = document.querySelector("input"); s.value = "2"; s.dispatchEvent(new Event("input"));'
    page = dom_after(tmp_path, film, moved)
    frames = re.findall(r'<div data-frame="(\d+)" [^>]*?(hidden="")?>', page)
    assert [number for number, hidden in frames if not hidden] == ["2"]
    assert "step 2 of 6: interchange(i, j) of S0" in re.search(r"<output.*?</output>", page)[0]


def test_the_drawn_tree_has_a_box_for_each_loop_and_statement():
    schedule = automatic("gemm")
    root = ElementTree.fromstring(polyml.plot(schedule, "tree"))
    nodes = [(int(e.get("data-depth")), e.get("data-node"), e.get("data-statements")) for e in root.iter() if e.get("data-node")]
    names = [" ".join(name for _, name, _ in [node]) for node in nodes]
    assert names == ["loop", "sequence", "loop", "loop", "statement", *["loop"] * 5, "statement"]
    assert [depth for depth, _, _ in nodes] == [0, 1, 2, 3, 4, 2, 3, 4, 5, 6, 7]
    assert {e.get("data-word") for e in root.iter() if e.get("data-word")} == {"tile", "parallel"}
    assert schedule._repr_html_() == polyml.plot(schedule, "tree")


def test_a_tree_takes_no_sizes():
    with pytest.raises(polyml.ConfigError, match="for all sizes"):
        polyml.plot(automatic("gemm"), "tree", {"C_0": 3})
