"""Remarks on all kernels of PolyBench: compared with brute force over all instances, and with the text of the loops."""

import re

import islpy as isl
import numpy as np
import pytest

import polyml
from polyml import kernels
from polyml.api.calls.specialisation import Request
from polyml.api.compiling.compile_lock import alone
from polyml.api.explaining.compiled_facts import facts_of
from polyml.codegen.ir import printer
from polyml.polyhedra.points import instance_text, points
from polyml.remarks.collect import remarks
from polyml.remarks.source_loops import place_of, source_loops
from polyml.remarks.values import ANALYSIS, MISSED, PASSED, QUESTIONS
from polyml.runtime.storage.size_classes import sizes_of
from tests.remarks.brute_force import Instances, carried, in_lanes, in_one_loop

SIZE = 4
SMALL = {"heat_3d": 3, "adi": 3}


@pytest.fixture(scope="module", params=kernels.NAMES)
def explained(request):
    """(name, facts, remarks) of a kernel, compiled for small sizes of PolyBench."""
    found = kernels.load(request.param)
    arguments = found.inputs(found.sizes["SMALL"], np.random.default_rng(0), found.dtype)
    kernel = polyml.kernel(found.kernel.py_func, cache=False)
    types, layouts, _ = kernel._signature(tuple(arguments.values()))
    arrays = {name: value.shape for name, value in arguments.items() if isinstance(value, np.ndarray)}
    wanted = Request(types, layouts, polyml.config.resolve({"cache": False}), sizes=sizes_of(arrays))
    with alone():
        facts = facts_of(lambda: kernel._compile(wanted)[0], wanted)
        return request.param, facts, remarks(facts, "", "")


def sizes_for(facts, size):
    return {each.name: size for each in facts.scop.parameters}


def test_carried_dependences_are_those_of_all_pairs_of_instances(explained):
    name, facts, _ = explained
    sizes = sizes_for(facts, SMALL.get(name, SIZE))
    pairs = Instances(facts.scop, sizes).dependences()
    for loop in facts.loops:
        with alone():
            found = points(loop.carried(facts.dependences.validity), **sizes)
        assert found == carried(pairs, loop, facts.loops), loop.name


def test_each_pair_that_is_shown_exists_and_stands_against_what_is_asked(explained):
    name, facts, found = explained
    seen = 0
    for loop, shown in zip(facts.loops, found.loops, strict=True):
        for remark in shown.remarks:
            if remark.conflict is None or len(remark.conflict.sizes) and max(remark.conflict.sizes.values()) > 6:
                continue
            conflict = remark.conflict
            sizes = {**sizes_for(facts, SMALL.get(name, SIZE)), **conflict.sizes}
            instances = Instances(facts.scop, sizes)
            pair = {(instance_text(a), instance_text(b)) for a, b in instances.dependences()}
            assert (conflict.source.instance, conflict.sink.instance) in pair, (shown.name, remark)
            element = (facts.scop.arrays, conflict.element)
            assert touches(instances, conflict.source, element) and touches(instances, conflict.sink, element)
            assert conflict.kind == {(1, 0): "flow", (0, 1): "anti", (1, 1): "output"}[conflict.source.writes, conflict.sink.writes]
            if remark.question == "parallel" and "the schedule's loop" not in remark.text.partition(":")[0]:
                own = carried(instances.dependences(), loop, facts.loops)
                texts = {(instance_text(a), instance_text(b)) for a, b in own}
                assert (conflict.source.instance, conflict.sink.instance) in texts
            seen += 1
    assert seen or all(r.conflict is None for each in found.loops for r in each.remarks)


def touches(instances, end, element) -> bool:
    arrays, text = element
    for (array, subscripts), users in instances.touched.items():
        called = arrays[array].source_name or array
        shown = f"{called}[{', '.join(map(str, subscripts))}]" if subscripts else called
        if shown == text and any(instance_text(i) == end.instance and writes is end.writes for i, writes in users):
            return True
    return False


def test_loops_whose_iterations_go_to_threads_carry_no_dependence(explained):
    name, facts, found = explained
    sizes = sizes_for(facts, SMALL.get(name, SIZE))
    with alone():
        sums = points(facts.dependences.validity, **sizes) - points(facts.relaxed, **sizes)
    pairs = Instances(facts.scop, sizes).dependences() - sums
    text = printer.text(facts.program)
    for loop, shown in zip(facts.loops, found.loops, strict=True):
        remark = shown.of("parallel")
        if remark.kind == PASSED:
            assert ", parallel" in text
            for told, names in groups(remark.text, loop):
                if "within an iteration" not in told and "counts it together" not in told:
                    mine = {pair for pair in carried(pairs, loop, facts.loops) if {end[0] for end in pair} <= names}
                    assert not mine, (loop.name, remark.text)
        elif remark.kind == MISSED and remark.text.startswith("its iterations depend"):
            assert remark.conflict is not None and remark.advice


def groups(text, loop):
    """(what is said, of which statements) of a remark such as "its iterations go to threads (S0, S1); ...; not those of S2"."""
    said, _, left = re.sub(r" \(line \d+\)", "", text).partition("; not those of ")
    for part in said.split("; "):
        found = re.search(r" \((S\w+(?:, S\w+)*)\)$", part)
        yield part, {*found[1].split(", ")} if found else {*loop.statements} - {*left.split(", ")}


def test_lanes_are_those_of_the_text_of_the_program(explained):
    _, facts, found = explained
    with alone():
        text = printer.text(facts.program)
    shown = {
        (name, lanes, vectors) for name, lanes, vectors, _ in in_lanes(text) if any(run.own_name == name for run in facts.runs)
    }
    assert {(run.own_name, *each) for run in facts.runs for each in run.lanes.values()} == shown
    vectorized = {name.partition("_from_")[0].partition("_of_")[0] for name, _, _ in shown}
    for loop, remarks_ in zip(facts.loops, found.loops, strict=True):
        remark = remarks_.of("vectorized")
        if remark.kind == PASSED or "iterations are lanes" in remark.text:
            count, vectors = re.search(r"(\d+) vectors? of (\d+)", remark.text).groups()
            assert {*loop.statements} & vectorized
            assert any((each[1], each[2]) == (int(vectors), int(count)) for each in shown)
        elif remark.text.startswith("the lanes are those of"):
            assert {*loop.statements} & vectorized


def test_tiles_have_the_steps_of_the_text_of_the_program(explained):
    _, facts, found = explained
    with alone():
        text = printer.text(facts.program)
    steps = {int(step) for step in re.findall(r"for \w+ in range\(.*, (\d+)\):  # tile", text)}
    for each in found.loops:
        remark = each.of("tiled")
        if remark.kind == PASSED and "sums" not in remark.text:
            sizes = {int(size) for size in re.findall(r"\d+(?= >| iterations)", remark.text)}
            assert sizes and sizes <= steps, (each.name, remark.text, steps)


def test_fused_loops_are_one_loop_of_the_text_of_the_program(explained):
    _, facts, found = explained
    with alone():
        text = printer.text(facts.program)
    bodies = list(in_one_loop(text))
    by_name = {loop.name: {*loop.statements} for loop in facts.loops}
    for loop, shown in zip(facts.loops, found.loops, strict=True):
        remark = shown.of("fused")
        if remark.kind == PASSED and "of its own again" not in remark.text:
            over_tiles = remark.text.startswith("one loop over tiles")
            for partner in re.findall(r"`([\w.]+)`", remark.text):
                both = [is_tile for names, is_tile in bodies if names & {*loop.statements} and names & by_name[partner]]
                assert both and (over_tiles or False in both), (loop.name, remark.text)


def test_copies_are_those_of_the_program(explained):
    _, facts, found = explained
    with alone():
        text = printer.text(facts.program)
    filled = len(set(re.findall(r"# fill_(\w+)$", text, re.M)))
    assert sum(remark.question == "packed" and remark.kind == PASSED for remark in found.arrays) == filled
    begun = len(set(re.findall(r"# begin_(\w+)$", text, re.M)))
    assert sum(remark.question == "partial results" for remark in found.arrays) == begun


def test_arrays_without_copies_are_those_that_tiles_read_and_no_copy_serves(explained):
    _, facts, found = explained
    packed = [remark for remark in found.arrays if remark.question == "packed"]
    copied = {re.match(r"tiles of (\S+) are", each.text)[1] for each in packed if each.kind == PASSED}
    refused = {}
    for each in packed:
        if each.kind == ANALYSIS:
            names, reason = re.match(r"(.+?) (?:is|are) not copied: (.*)", each.text).groups()
            refused.update(dict.fromkeys(names.split(", "), reason))
    with alone():
        text = printer.text(facts.unpacked)
    read = arrays_in_tiles(facts, text)
    assert refused.keys() | copied >= read and not refused.keys() & copied
    assert refused.keys() <= read
    written = {facts.scop.arrays[each.write.array].source_name or each.write.array for each in facts.scop.statements.values()}
    assert {name for name, reason in refused.items() if "may be written" in reason} <= written


def arrays_in_tiles(facts, text):
    """The arrays, scalars apart, that statements inside loops over tiles read, by the text of the program."""
    found, tiles = set(), []
    for line in text.splitlines():
        depth = len(line) - len(line.lstrip())
        tiles = [each for each in tiles if each < depth]
        if "# tile" in line:
            tiles.append(depth)
        elif tiles and (named := re.search(r"# (\w+)$", line)) and named[1] in facts.scop.statements:
            reads = facts.scop.statements[named[1]].reads
            found |= {facts.scop.arrays[each.array].source_name or each.array for each in reads if each.subscripts}
    return found


def test_each_loop_has_its_line_and_an_answer_to_each_question(explained):
    name, facts, found = explained
    for loop, shown in zip(facts.loops, found.loops, strict=True):
        assert [remark.question for remark in shown.remarks] == list(QUESTIONS)
        assert {remark.kind for remark in shown.remarks} <= {PASSED, MISSED, ANALYSIS}
        assert shown.place == place_of(loop.loc)
        if shown.place is None:  # final values of an expanded array are copied back
            assert name == "doitgen" and not shown.written
            continue
        assert shown.place.file.endswith(f"{name}.py")
        assert re.match(rf"for {re.escape(shown.iterator)} in range\(", shown.written), shown
        line = open(shown.place.file).read().splitlines()[shown.place.line - 1]
        assert line.strip() == shown.written


def test_a_dependence_that_is_left_out_is_found():
    """The oracle sees a verdict that comes from one dependence too few."""
    found = kernels.load("seidel_2d")
    arguments = found.inputs(found.sizes["MINI"], np.random.default_rng(0), found.dtype)
    schedule = polyml.kernel(found.kernel.py_func, cache=False).schedule("source", *arguments.values())
    scop, sizes = schedule.problem.scop, {each.name: SIZE for each in schedule.problem.scop.parameters}
    pairs = Instances(scop, sizes).dependences()
    loops = source_loops(scop)
    with alone():
        planted = schedule.problem.dependences.validity.subtract(isl.UnionMap("{ S0[t, i, j] -> S0[t, i, j + 1] }"))
        innermost = [points(loop.carried(planted), **sizes) for loop in loops][-1]
        right = points(loops[-1].carried(schedule.problem.dependences.validity), **sizes)
    assert innermost != carried(pairs, loops[-1], loops) == right
