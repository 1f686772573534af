"""Direct dependences by reference are what a run of all instances, one access after another, says."""

import ast
import inspect
import textwrap

import numpy as np
import pytest

import polyml
from polyml import kernels
from polyml.model.references.direct import KINDS
from polyml.model.references.text import data, found, text
from polyml.pictures.nests import parameters
from polyml.polyhedra.points import points

SIZE = 4
SLOW = {"heat_3d": 3, "adi": 3}


def scop_of(name: str):
    found_ = kernels.load(name)
    arguments = found_.inputs(found_.sizes["MINI"], np.random.default_rng(0), found_.dtype)
    return found_.kernel.py_func, polyml.kernel(found_.kernel.py_func, cache=False).schedule(
        "source", *arguments.values()
    ).problem.scop


def traced(scop, sizes) -> dict[tuple, set]:
    """{(kind, source, sink): pairs of instances}, where a reference is (statement, its number), 0 the write."""
    times = {instance: time for instance, (_, time) in points(scop.schedule.get_map().intersect_domain(scop.domain), **sizes)}
    touched = {}
    for statement in scop.statements.values():
        for number, access in enumerate((statement.write, *statement.reads)):
            for instance, element in points(access.relation.intersect_domain(statement.domain), **sizes):
                touched.setdefault(instance, {}).setdefault(number, set()).add(element)
    pairs, writer, readers = {}, {}, {}
    for instance in sorted(times, key=times.get):
        own, name = touched.get(instance, {}), instance[0]
        for number in sorted(own.keys() - {0}):
            for element in own[number]:
                if element in writer:
                    pairs.setdefault(("flow", (writer[element][0], 0), (name, number)), set()).add((writer[element], instance))
                readers.setdefault(element, set()).add((number, instance))
        for element in own.get(0, ()):
            if element in writer:
                pairs.setdefault(("output", (writer[element][0], 0), (name, 0)), set()).add((writer[element], instance))
            for number, reader in readers.pop(element, ()):
                if reader != instance:
                    pairs.setdefault(("anti", (reader[0], number), (name, 0)), set()).add((reader, instance))
            writer[element] = instance
    return pairs


def numbered(reference, scop) -> tuple[str, int]:
    """The reference as (statement, its number). Of equal references on one statement it is the one whose relation and place are the
    same."""
    statement = scop.statements[reference.statement]
    if reference.is_write:
        return statement.name, 0
    same = [
        k for k, access in enumerate(statement.reads, 1)
        if access.loc == reference.loc and str(access.loc) == str(reference.loc)
        and access.relation.intersect_domain(statement.domain).is_equal(reference.relation)
    ]  # fmt: skip
    assert len(same) == 1, reference
    return statement.name, same[0]


def loops_by_line(function) -> dict[int, list[tuple[int, int]]]:
    """{line: the loops around it, outermost first}, a loop as (its line, -1 if it counts downwards, else 1)."""
    lines, first = inspect.getsourcelines(function)
    found_ = {}

    def walk(node, around):
        for child in ast.iter_child_nodes(node):
            inside = around
            if isinstance(child, ast.For):
                step = child.iter.args[2] if len(child.iter.args) == 3 else None
                inside = [*around, (child.lineno + first - 1, -1 if isinstance(step, ast.UnaryOp) else 1)]
            if isinstance(child, ast.stmt) and not isinstance(child, ast.For):
                for line in range(child.lineno, child.end_lineno + 1):
                    found_.setdefault(line + first - 1, around)
            walk(child, inside)

    [definition] = ast.parse(textwrap.dedent("".join(lines))).body
    walk(definition, [])
    return found_


@pytest.mark.parametrize("name", kernels.NAMES)
def test_pairs_and_vectors_are_those_of_a_run(name):
    function, scop = scop_of(name)
    sizes = dict.fromkeys(parameters(scop), SLOW.get(name, SIZE))
    expected, known, around = traced(scop, sizes), found(scop), loops_by_line(function)
    seen, compared = set(), 0
    for each in (each for kind in KINDS for each in known[kind]):
        key = (each.kind, numbered(each.source, scop), numbered(each.sink, scop))
        assert key not in seen, "one line for each pair of references"
        seen.add(key)
        pairs = points(each.relation, **sizes)
        assert pairs == expected.pop(key, set()), key
        first, last = (scop.statements[end.statement] for end in (each.source, each.sink))
        outer, other = (around[statement.loc.line] for statement in (first, last))
        if len(outer) != len(first.iterators) or len(other) != len(last.iterators):
            continue
        shared = [loop for loop, same in zip(outer, other) if loop == same]
        assert len(each.distance) == len(each.direction) == len(shared)
        for dim, (_, sign) in enumerate(shared):
            differences = {sign * (sink[1][dim] - source[1][dim]) for source, sink in pairs}
            compared += len(pairs)
            if each.distance[dim] is not None:
                assert differences <= {each.distance[dim]}
            if each.direction[dim] != "*":
                assert {(d > 0) - (d < 0) for d in differences} <= {"<": {1}, "=": {0}, ">": {-1}}[each.direction[dim]]
            if len(differences) > 1:
                assert each.distance[dim] is None
            if len({(d > 0) - (d < 0) for d in differences}) > 1:
                assert each.direction[dim] == "*"
    assert expected == {} and compared, "every pair of references that the run has is listed"


def stencil(A, T):
    for t in range(T):
        for i in range(A.shape[0] - 2, 0, -1):
            A[i] = A[i - 1] + A[i + 1]


def test_vectors_of_a_descending_loop_count_in_its_order():
    deps = polyml.kernel(stencil).inspect_deps("f64[:]", "int").dependences
    vectors = {(each.kind, each.source.text, each.sink.text): (each.distance, each.direction) for each in deps}
    assert vectors == {
        ("flow", "A[i]", "A[i - 1]"): ((1, -1), ("<", ">")),
        ("flow", "A[i]", "A[i + 1]"): ((0, 1), ("=", "<")),
        ("anti", "A[i - 1]", "A[i]"): ((0, 1), ("=", "<")),
        ("anti", "A[i + 1]", "A[i]"): ((1, -1), ("<", ">")),
        ("output", "A[i]", "A[i]"): ((1, 0), ("<", "=")),
    }


def test_distances_that_differ_are_stars():
    @polyml.kernel
    def add_up(A, B):
        for i in range(B.shape[0]):
            for j in range(B.shape[1]):
                A[0] += B[i, j]

    [flow, _] = add_up.inspect_deps("f64[:]", "f64[:,:]").dependences
    assert flow.loops == ("i", "j") and flow.distance == (None, None) and flow.direction == ("*", "*")


def test_the_text_has_a_line_for_each_pair_and_the_data_have_their_places():
    _, scop = scop_of("lu")
    known = found(scop)
    lines = [line for line in text(known).splitlines()[1:] if not line.startswith(" ")]
    assert len(lines) == sum(len(each) or 1 for each in known.values())
    assert lines[0] == "flow    S0 A[i, j] line 18 -> S0 A[i, j] line 18  (0, 0, 1)  (=, =, <)" and max(map(len, lines)) <= 80
    first = data(known)["flow"][0]
    assert first["source"]["at"]["file"].endswith("lu.py") and (first["source"]["at"]["line"], first["distance"]) == (18, [0, 0, 1])


def test_a_kind_that_takes_isl_too_long_is_named(monkeypatch):
    from polyml.model.core import printer

    monkeypatch.setattr(printer, "OPERATIONS", 500)
    _, scop = scop_of("adi")
    known = found(scop)
    assert None in known.values() and "not found within 500 operations of isl" in text(known)
