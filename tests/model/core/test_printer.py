"""A SCoP and its dependences as text: what is printed reads back as what it was."""

import json
import operator

import islpy as isl
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyml.dtypes import BOOL, F32, F64, PYINT
from polyml.frontend import syntax
from polyml.frontend.argument_types import arg_type
from polyml.frontend.parsing.parse import parse
from polyml.frontend.types.infer import infer
from polyml.model.core import printer as model_text
from polyml.model.core.dependence import dependences
from polyml.model.core.nest import children
from polyml.model.core.printer import (
    dependences_data,
    dependences_text,
    integer_text,
    schedule_text,
    scop_data,
    scop_text,
    statement_text,
    value_text,
)
from polyml.model.core.scop import ScalarArg
from polyml.pipeline.stages import extract
from polyml.polyhedra import points


def blur(n, A, B):
    out = np.zeros(A.shape[0] // 2)
    s = 0.0
    for i in range(1, n):
        B[i] = (A[i] - (A[i - 1] - 1.0)) * 0.5
        if A[i] > 2.0:
            s += B[-i]
    out[0] = s
    return out, s


@pytest.fixture(scope="module")
def scop():
    arguments = {"n": 4, "A": np.zeros(5), "B": np.zeros(5)}
    return extract(infer(parse(blur), tuple(arg_type(v, n) for n, v in arguments.items())))


def lines_after(text, start):
    """The lines below the line that starts with `start`, up to the next empty or less indented one."""
    lines = text.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith(start)) + 1
    last = next((i for i in range(first, len(lines)) if not lines[i].startswith("    ")), len(lines))
    return [line.strip() for line in lines[first:last]]


# values


VARIABLES = {"a": 5, "b": -3, "c": 0, "d": 12}
LEAVES = st.sampled_from(sorted(VARIABLES)).map(lambda n: ScalarArg(n, dtype=PYINT)) | st.integers(-4, 9).map(
    lambda v: syntax.Const(v, dtype=PYINT)
)
ARITHMETIC = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
    "&": operator.and_, "|": operator.or_, "^": operator.xor, "/": operator.truediv,
    "min": lambda a, b: b if b < a else a, "max": lambda a, b: b if b > a else a,
    "<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
COMPARISONS = ("<", "<=", "==", "!=")


OPERATORS = sorted(ARITHMETIC.keys() - set(COMPARISONS))


def compound(inner):
    several = st.lists(inner, min_size=2, max_size=3).map(tuple)
    pair = (inner, inner)
    return st.one_of(
        st.builds(lambda op, a, b: syntax.Binary(op, a, b, dtype=PYINT), st.sampled_from(OPERATORS), *pair),
        st.builds(lambda op, a, b: syntax.Compare(op, a, b, dtype=BOOL), st.sampled_from(COMPARISONS), *pair),
        st.builds(lambda op, a: syntax.Unary(op, a, dtype=PYINT), st.sampled_from(("-", "+", "~", "not")), inner),
        st.builds(lambda op, parts: syntax.Logical(op, parts, dtype=BOOL), st.sampled_from(("and", "or")), several),
        st.builds(lambda c, a, b: syntax.IfExp(c, a, b, dtype=PYINT), inner, *pair),
        st.builds(lambda a: syntax.Call("abs", (a,), "builtins", dtype=PYINT), inner),
    )


def meaning(value):
    """The value computed from its tree, which needs no parentheses."""
    if isinstance(value, ScalarArg):
        return VARIABLES[value.name]
    if isinstance(value, syntax.Const):
        return value.value
    if isinstance(value, syntax.IfExp):
        return meaning(value.then) if meaning(value.condition) else meaning(value.orelse)
    if isinstance(value, syntax.Logical):
        result = meaning(value.operands[0])
        for operand in value.operands[1:]:
            if bool(result) == (value.op == "or"):
                return result
            result = meaning(operand)
        return result
    operands = [meaning(child) for child in children(value)]
    if isinstance(value, syntax.Unary):
        return {"-": operator.neg, "+": operator.pos, "~": operator.invert, "not": operator.not_}[value.op](*operands)
    return abs(*operands) if isinstance(value, syntax.Call) else ARITHMETIC[value.op](*operands)


def outcome(compute):
    try:
        return compute()
    except (ArithmeticError, TypeError) as error:
        return type(error)


def leaf(value):
    text = value.name if isinstance(value, ScalarArg) else str(value.value)
    return text, 20 if text.isalnum() else 11


@given(st.recursive(LEAVES, compound, max_leaves=12))
def test_a_printed_value_is_python_for_it(value):
    text = value_text(value, leaf)
    printed = outcome(lambda: eval(text, {"min": min, "max": max, "abs": abs}, dict(VARIABLES)))
    assert printed == outcome(lambda: meaning(value))


def test_parentheses_stand_only_where_they_are_needed():
    a, b, c = (ScalarArg(n, dtype=F64) for n in "abc")

    def op(name, left, right):
        return syntax.Binary(name, left, right, dtype=F64)

    assert value_text(op("+", op("*", a, b), c), leaf) == "a*b + c"
    assert value_text(op("-", a, op("-", b, c)), leaf) == "a - (b - c)"
    assert value_text(op("-", op("-", a, b), c), leaf) == "a - b - c"
    assert value_text(op("**", op("**", a, b), op("**", b, c)), leaf) == "(a**b)**b**c"


def test_conversions_that_the_source_does_not_show_are_left_out():
    a = ScalarArg("a", dtype=F64)
    assert value_text(syntax.Cast(a, F32, True, dtype=F32), leaf) == "a"
    assert value_text(syntax.Cast(a, F32, dtype=F32), leaf) == "float32(a)"
    assert value_text(syntax.Cast(a, PYINT, dtype=PYINT), leaf) == "int(a)"


def test_a_value_that_shares_its_parts_prints_in_a_few_words():
    value = ScalarArg("a", dtype=F64)
    for _ in range(100):
        value = syntax.Binary("+", value, value, dtype=F64)
    assert len(value_text(value, leaf)) < 1000


# integers


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("{ S[i] -> [(i + 1)] }", lambda i, N: i + 1),
        ("[N] -> { S[i, j] -> [(2i + N)] : i > j }", lambda i, N: 2 * i + N),
        ("[N] -> { [(N)] }", lambda i, N: N),
        ("[N] -> { S[i] -> [(i)] : i >= 0; S[i] -> [(N + i)] : i < 0 }", lambda i, N: i if i >= 0 else N + i),
    ],
)
def test_affine_integers_print_as_expressions(text, wanted):
    printed = integer_text(isl.PwAff(text))
    for i in (-2, 0, 3):
        assert eval(printed, {"i": i, "N": 7}) == wanted(i, 7)


# a whole SCoP


def test_the_sets_of_the_text_read_back(scop):
    text = scop_text(scop)
    head = next(line for line in text.splitlines() if line.startswith("parameters")).removeprefix("parameters ")
    context = next(line for line in text.splitlines() if line.startswith("context")).removeprefix("context ")
    assert isl.Set(f"{head} -> {context}").is_equal(scop.context)
    for statement in scop.statements.values():
        printed = lines_after(text, f"{statement.name}  ")
        by_kind = [(kind, rest.split("  #")[0].strip()) for kind, rest in (line.split(" ", 1) for line in printed)]
        assert [kind for kind, _ in by_kind] == ["domain", "write"] + ["read"] * len(statement.reads)
        assert isl.Set(f"{head} -> {by_kind[0][1]}").is_equal(statement.domain)
        for (_, relation), access in zip(by_kind[1:], (statement.write, *statement.reads)):
            assert isl.Map(f"{head} -> {relation}").is_equal(access.relation)


def test_the_schedule_of_the_text_reads_back(scop):
    assert isl.Schedule(schedule_text(scop.schedule)).plain_is_equal(scop.schedule)
    assert all(line in scop_text(scop) for line in schedule_text(scop.schedule).splitlines())


def test_a_statement_shows_its_source_line_and_its_value(scop):
    blurred = next(s for s in scop.statements.values() if s.write.array == "B")
    assert statement_text(blurred) == "B[i] = (A[i] - (A[-1 + i] - 1.0))*0.5"
    (line,) = [line for line in scop_text(scop).splitlines() if line.startswith(f"{blurred.name}  ")]
    where, source = line.split("  # ")[1].split(": ", 1)
    assert where == str(blurred.loc) and source == "B[i] = (A[i] - (A[i - 1] - 1.0)) * 0.5"


def test_the_data_of_a_scop_is_json_with_full_isl_syntax(scop):
    data = json.loads(json.dumps(scop_data(scop)))
    assert isl.Set(data["context"]).is_equal(scop.context)
    assert isl.Schedule(data["schedule"]).plain_is_equal(scop.schedule)
    for made, statement in zip(data["statements"], scop.statements.values(), strict=True):
        assert isl.Set(made["domain"]).is_equal(statement.domain)
        assert isl.Map(made["write"]["relation"]).is_equal(statement.write.relation)
        if statement.loc is not None:
            assert (made["at"]["line"], made["at"]["column"]) == (statement.loc.line, statement.loc.column)
    assert [made["at"] is None for made in data["statements"]] == [s.loc is None for s in scop.statements.values()]
    assert [a["name"] for a in data["arrays"]] == list(scop.arrays)
    assert data["result_is_tuple"] is True and len(data["results"]) == 2


def test_dependences_that_isl_does_not_find_in_time_are_said_to_be_missing(scop, monkeypatch):
    """A dump, and the record of a failure, come to their end; the other kinds are there."""
    monkeypatch.setattr(model_text, "OPERATIONS", 2_000)
    deps = dependences(scop)
    assert lines_after(dependences_text(deps), "value_flow") == ["not found within 2,000 operations of isl"]
    assert dependences_data(deps)["value_flow"] is None
    monkeypatch.undo()
    assert json.loads(json.dumps(dependences_data(deps)))["value_flow"]


def test_dependences_print_by_kind_and_read_back_from_their_data(scop):
    deps = dependences(scop)
    data = json.loads(json.dumps(dependences_data(deps)))
    for kind in ("flow", "anti", "output", "value_flow"):
        printed = lines_after(dependences_text(deps), kind)
        whole = getattr(deps, kind)
        if whole.is_empty():
            assert printed == ["(empty)"] and data[kind] == []
            continue
        read = isl.UnionMap.empty(whole.get_space())
        for text in data[kind]:
            read = read.union(isl.UnionMap(text))
        assert read.is_equal(whole)
        sizes = {"n": 4, "A_0": 5, "B_0": 5}
        again = isl.UnionMap(f"[n, A_0, B_0] -> {{ {'; '.join(printed)} }}")
        assert points(again, **sizes) == points(whole, **sizes)
