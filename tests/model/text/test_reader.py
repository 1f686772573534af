"""What is written of a SCoP is read as an equal SCoP; what is no such text is refused with its place."""

import dataclasses

import islpy as isl
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyml.dtypes import BOOL, C128, F64, I64
from polyml.errors import NotAffineError, TextError
from polyml.frontend import syntax
from polyml.frontend.argument_types import arg_type
from polyml.frontend.parsing.parse import parse as parse_function
from polyml.frontend.types.infer import infer
from polyml.model.core.call_interface import ArrayResult, Parameter, ScalarResult, SizeRelation
from polyml.model.core.scop import Index, Load, ScalarArg
from polyml.model.scop_passes.scalar_expansion import expand
from polyml.model.text.reader import parse
from polyml.model.text.writer import text
from polyml.pipeline.stages import extract
from tests.subjects import array_programs, random_programs, written_kernels
from tests.texts import differences


def scop_of(subject):
    """None where there is none."""
    typed = subject.typed()
    try:
        return None if typed is None else extract(typed)
    except NotAffineError:
        return None


def places(scop):
    """Where each statement, access and array was written."""
    accesses = [access for s in scop.statements.values() for access in (s.write, *s.reads)]
    return [each.loc for each in (*scop.statements.values(), *accesses, *scop.arrays.values(), *scop.spared, *scop.checks)]


def assert_reads_back(scop):
    again = parse(text(scop))
    assert differences(again, scop) == []
    assert places(again) == places(scop)


@pytest.mark.parametrize(
    "subject", [*written_kernels(), *random_programs(range(1, 31)), *array_programs()[::4]], ids=lambda s: s.name
)
def test_scops_read_back(subject):
    scop = scop_of(subject)
    if scop is not None:
        assert_reads_back(scop)
        assert_reads_back(expand(scop))


def smooth(n, A, B):
    out = np.zeros(A.shape[0] // 2)
    s = 0.0
    for i in range(1, n):
        B[i] = (A[i] - A[i - 1]) * 0.5
        if A[i] > 2.0:
            s += B[-i]
    out[0] = s
    return out, s


@pytest.fixture(scope="module")
def scop():
    given = {"n": 4, "A": np.zeros(5), "B": np.zeros(5)}
    return extract(infer(parse_function(smooth), tuple(arg_type(v, n) for n, v in given.items())))


def test_the_text_of_a_small_scop(scop):
    """Sets are written as isl has them; reads have names in values; a read that may not happen says so."""
    lines = text(scop).splitlines()
    assert lines[:6] == [
        "polyml scop, format 1", "kernel smooth(n: int, A: f64[:], B: f64[:])", "parameters [A_0, B_0, n]",
        "    A_0 = A.shape[0]", "    B_0 = B.shape[0]", "    n = n",
    ]  # fmt: skip
    (start,) = [n for n, line in enumerate(lines) if "B[i] = (A[i] - A[-1 + i])*0.5" in line]
    assert [line.strip().split(" at ")[0] for line in lines[start : start + 6]] == [
        "statement S2[i]", "domain { S2[i] : 0 < i < n }", "write { S2[i] -> B[i] }", "read A.0 { S2[i] -> A[i] }",
        "read A.1 { S2[i] -> A[-1 + i] }", "value (A.0 - A.1)*0.5",
    ]  # fmt: skip
    assert any(line.strip().startswith("read") and " perhaps" in line for line in lines)
    assert any(line.startswith("array out: f64[{floor((A_0)/2)}] (result)") for line in lines)


def test_fields_that_few_scops_have(scop):
    statement = dataclasses.replace(
        scop.statements["S2"],
        value=syntax.Call(
            "sin.real",
            (
                syntax.Cast(Index(isl.PwAff("[n] -> { S2[i] -> [(i)] : i < n; S2[i] -> [(2i)] : i >= n }"), dtype=I64), F64, dtype=F64),
                ScalarArg("n", dtype=F64), ScalarArg("z.imag", dtype=F64), Load(1, dtype=BOOL), syntax.Const(np.float64(0.5), dtype=F64),
            ),
            dtype=C128,
        ),
    )  # fmt: skip
    other = dataclasses.replace(
        scop, statements={**scop.statements, "S2": statement}, usual=isl.Set("[n, A_0] -> { : n > 3 }"), result_is_tuple=False,
        params=("n", "z", "B"), types=(syntax.ScalarType(I64, 3), syntax.ScalarType(C128), syntax.ArrayType(F64, 1, frozenset({(0, 7)}))),
        parameters=(*scop.parameters, Parameter("least", "B", 0, "B", "min"), Parameter("k", argument="k.2")),
        results=(ScalarResult("s", F64, C128), ScalarResult("s", F64, C128), ArrayResult("out")), spared=tuple(scop.arrays.values())[:1],
    )  # fmt: skip
    other = dataclasses.replace(
        other, result_is_tuple=True, related=(SizeRelation("A", 0, "A", 0, -1), SizeRelation("A", 0, "A", 0, 2))
    )
    assert_reads_back(other)
    assert_reads_back(dataclasses.replace(other, results=other.results[:2], result_is_tuple=False))


def test_parts_that_a_value_shares_are_written_once(scop):
    statement, value = scop.statements["S2"], scop.statements["S2"].value
    for _ in range(60):
        value = syntax.Binary("*", value, value, dtype=F64)
    other = dataclasses.replace(scop, statements={**scop.statements, "S2": dataclasses.replace(statement, value=value)})
    assert len(text(other)) < 8_000
    assert_reads_back(other)


# errors


def changed(scop, old, new):
    """The text with something else in the place of `old`."""
    before = text(scop)
    assert before.count(old) >= 1
    return before.replace(old, new, 1)


WRONG = [
    ("polyml scop", "polyml scrap", "this is no scop of polyml", "the first line of one is `polyml scop, format 1`"),
    ("parameters [A_0, B_0", "parameters [B_0, A_0", "these are not the parameters below", "expected [A_0, B_0, n]"),
    ("\ncontext ", "\ncontext {{{ }} } #", "isl cannot read this as a set", ""),
    ("(local", "(lokal", "`lokal` cannot stand here", "expected `argument` or `local` or `result` or `late`"),
    ("-> A[i] }", "-> A[j : j > 2] }", "isl cannot read this as a relation", ""),
    ("-> A[i] }", "-> A[j] : j > 2 }", "the relation is no function", "expected one element for each instance, or `by` with the subscripts"),
    ("value (A.0", "value (A.7", "there is no `A.7`", "expected a read or an argument that is a number: A.0, A.1, n"),
    ("read A.1", "read A.0", "there are two reads `A.0`", "expected names that differ, such as `A.0` and `A.1`"),
    ("- A.1)*0.5", "- A.1)*", "the line ends too early", "expected an expression"),
    ("check bounds", "check bonds", "`bonds` cannot stand here", "expected `bounds` or `range` or `shape` or `limit` or `usual` or `raise`"),
    ("f64[{floor", "f64[B_7, {floor", "there is no parameter `B_7`", "parameters: A_0, B_0, n"),
    (" at ", " at 9/", "the text has no source 9", "expected `source` with its lines at the end of the text"),
    ("domain: ", "domian: ", "there is no schedule tree below", "expected `domain:` and `child:`, as isl prints them"),
    ("\norder\n", "\nordre\n", "`ordre` cannot stand here", "expected `order`"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message", "note"), WRONG, ids=[message for _, _, message, _ in WRONG])
def test_what_is_no_scop_is_refused_with_its_place(scop, old, new, message, note):
    wrong = changed(scop, old, new)
    with pytest.raises(TextError) as problem:
        parse(wrong, "t.scop")
    assert problem.value.message == message
    assert problem.value.notes == ((note,) if note else ())
    number = problem.value.loc.line
    assert str(problem.value).startswith(
        f"t.scop:{number}:{problem.value.loc.column}: error: {message}\n      {wrong.splitlines()[number - 1]}"
    )


def test_an_order_of_other_instances_is_refused(scop):
    head, order, tree = text(scop).partition("\norder\n")
    wrong = head + order + tree.replace("S2[i] : 0 < i < n", "S2[i] : 0 < i <= n", 1)
    with pytest.raises(TextError, match="the tree below has other instances of `S2`"):
        parse(wrong)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_damaged_text_is_read_or_refused(scop, data):
    """Any change of the text gives another SCoP or polyml's own error."""
    written = text(scop)
    start = data.draw(st.integers(0, len(written) - 1))
    cut = data.draw(st.integers(0, 5))
    put = data.draw(st.text(alphabet='()[]{}.,:+-*"`% \n09aS>=', max_size=3))
    try:
        parse(written[:start] + put + written[start + cut :])
    except TextError as problem:
        assert problem.loc is not None
