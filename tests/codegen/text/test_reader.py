"""What is written of a program is read as an equal program; what is no such text is refused with its place."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polyml
from polyml import config, pass_manager
from polyml.codegen.ir.program import Guard, Instance, Jam, Loop, Program, Unroll, Window
from polyml.codegen.text.reader import parse
from polyml.codegen.text.writer import text
from polyml.errors import LanguageError, PolymlTypeError, TextError
from polyml.model.core.reductions import Reduction
from polyml.quasi_affine.affine import Affine, Compare, Logic, variable
from polyml.schedule.tree.directives import Directives
from tests.codegen.samples import arguments_for, matmul, scop_of
from tests.subjects import array_programs, random_programs, written_kernels
from tests.texts import differences

I, J, N = variable("i"), variable("j"), variable("C_0")


def programs_of(subject):
    """What passes make of a program when the subject is compiled for its arguments, every third of them, and the last."""
    seen = []
    given_ = [value.copy() if isinstance(value, np.ndarray) else value for value in subject.arguments]
    with pass_manager.watched(lambda step, before, after, seconds: seen.append(after)), config.scope(cache=False):
        try:
            polyml.kernel(subject.function).lower(*given_)
        except (LanguageError, PolymlTypeError):
            return []
    found = [made for made in seen if isinstance(made, Program)]
    return [*found[:-1:3], found[-1]]


@pytest.mark.sweep(keep=24)
@pytest.mark.parametrize(
    "subject", [*written_kernels(), *random_programs(range(1, 21)), *array_programs()[::12]], ids=lambda s: s.name
)
def test_programs_read_back(subject):
    for program in programs_of(subject):
        assert differences(parse(text(program)), program) == []


@pytest.fixture(scope="module")
def program():
    """C *= beta by tiles of 32 rows, with everything that a program may have."""
    scop = scop_of(matmul, arguments_for(matmul, 4))
    instance = Instance("S0", (I, J))
    vectors = Jam("j", Affine(0), 2, 8, variable("C_1") - 1, (instance,), scans=True)
    unrolled = Unroll("k", Affine(0), 3, (Instance("S1", (I, variable("k"), Affine(0))),))
    rows = Jam("i", variable("t"), 4, 1, None, (vectors, unrolled))
    guard = Guard(
        Logic("or", (Compare(">=", N - variable("t") - 4), Logic("and", ()), Logic("and", (Compare("==", variable("e")),)))),
        (rows,),
        rare=True,
    )
    asked = Directives(tile=True, parallel=True, unroll_jam=4, pack=("A", "B"))
    tile = Loop(
        "t", (Affine(0), N), (N - 1, N + 7), 32, (guard,), parallel=True, role="tile", private=("A",), last="e", name="i_t", directives=asked,
        partial=("C", "B"), resumes="s",
    )  # fmt: skip
    rest = Loop("u", (Affine(0, (("p", 0), ("n", 2))),), (Affine(3),), 1, ())
    first = Loop("v", (), (Affine(-3),), 1, (Instance("S1", (variable("v"), Affine(1), Affine(2))),))
    return Program(
        scop, (tile, rest), {"S1": Reduction("S1", "C", "+", 0)}, {"S0": Reduction("S0", "C", "fmin", 0)},
        {"B": Window((Affine(0), variable("q") * 3), (None, 7), 1), "A": Window((), ())}, {"p": "A"},
        {"S1": {1: ("k", 64), 2: ("j", -8)}, "S0": {}}, "n", "m", (first,), ('said "so"', "é\n"),
    )  # fmt: skip


def test_everything_that_a_program_may_have_reads_back(program):
    assert differences(parse(text(program)), program) == []


@pytest.mark.parametrize("var", ["order", "o"])
def test_vectors_that_keep_their_order_read_back(program, var):
    ordered = Jam(var, Affine(0), 2, 8, Affine(8), (Instance("S0", (variable(var), Affine(0))),), in_order=True)
    bodies = (ordered, dataclasses.replace(ordered, limit=None), dataclasses.replace(ordered, in_order=False))
    changed = dataclasses.replace(program, body=bodies)
    assert ", in order" in text(changed)
    assert differences(parse(text(changed)), changed) == []


def test_the_loops_as_they_are_written(program):
    lines = text(program).splitlines()
    start = lines.index("body")
    assert [line.partition("  #")[0] for line in lines[start : start + 9]] == [
        "body",
        "    for t = max[0, C_0] .. min[C_0 - 1, C_0 + 7] step 32, parallel, tile, private(A), partial(C, B), ends at e, resumes s, as i_t, "
        'asks "tile, parallel, unroll_jam(4), pack(A, B)":',
        "        if C_0 >= t + 4 or True or all(e == 0), rarely:",
        "            together i = t .. t + 3 (4 iterations):",
        "                together j = 0 .. 15 (2 vectors of 8), scans, j <= C_1 - 1:",
        "                    S0[i, j]",
        "                unrolled k = 0 .. 2 (3 iterations):",
        "                    S1[i, k, 0]",
        "    for u = 0*p + 2*n .. 3:",
    ]
    assert "C[i, j] = C[i, j]*beta" in lines[start + 5]


WRONG = [
    ("polyml program", "polyml scop", "this is no program of polyml", "the first line of one is `polyml program, format 1`"),
    ("reduction S1", "reduction S9", "there is no statement `S9`", "statements: S0, S1"),
    ('"+" C read 0', '"+" C read 7', "`7` cannot stand here", "expected one of the 3 reads of S1, from 0 on"),
    ("window B", "shared B with D\nwindow B", "there is no array `D`", "arrays: C, A, B"),
    ("window B", "window D", "there is no array `D`", "arrays: C, A, B"),
    ("S0[i, j]  ", "S0[i]  ", "`S0` has 2 iterators, not 1", None),
    ("S0[i, j]  ", "S0[i, z]  ", "there is no `z` here", "names that there are: A_0, A_1, B_0, B_1, C_0, C_1, e, i, j, m, n, p, t"),
    ("step 32", "step 0", "`0` cannot stand here", "expected a step, 1 or more"),
    (", parallel, tile", ", paralel, tile", "`paralel` cannot stand here",
     "expected `parallel` or `point` or `tile` or `private` or `partial` or `ends` or `resumes` or `as` or `asks`"),
    ("t + 3 (4", "t + 4 (4", "4 iterations from `t` on do not end at `t + 4`", "they end at `t + 3`"),
    ("unroll_jam(4)", "unroll_jam(x)", "`unroll_jam(x)` is no directive of a loop", None),
    ("rarely", "seldom", "`seldom` cannot stand here", "expected `rarely`"),
    ("            together i", "          together i", "the line is indented by 10 spaces",
     "expected an instance, for, if, together, unrolled or pass, indented by 12"),
    ("\nbody\n", "\nbodies\n", "`bodies` cannot stand here", "expected `body`"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message", "note"), WRONG, ids=[message for _, _, message, _ in WRONG])
def test_what_is_no_program_is_refused_with_its_place(program, old, new, message, note):
    before = text(program)
    assert old in before
    wrong = before.replace(old, new, 1)
    with pytest.raises(TextError) as problem:
        parse(wrong, "t.program")
    assert (problem.value.message, problem.value.notes) == (message, () if note is None else (note,))
    place = problem.value.loc
    assert str(problem.value).startswith(
        f"t.program:{place.line}:{place.column}: error: {message}\n      {wrong.splitlines()[place.line - 1][:60]}"
    )


def test_loops_in_one_another_without_end_are_refused(program):
    before = text(dataclasses.replace(program, body=()))
    deep = "".join(f"{'    ' * depth}if True:\n" for depth in range(1, 300))
    with pytest.raises(TextError, match="more than 100 loops"):
        parse(before.replace("\nbody\n    pass\n", f"\nbody\n{deep}"))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_damaged_text_is_read_or_refused(program, data):
    """Any change of the loops gives another program or polyml's own error."""
    written = text(program)
    start = data.draw(st.integers(written.index("\nreduction"), len(written) - 1))
    cut = data.draw(st.integers(0, 5))
    put = data.draw(st.text(alphabet='()[]{}.,:+-*"`% \n09aSt>=', max_size=3))
    try:
        parse(written[:start] + put + written[start + cut :])
    except TextError as problem:
        assert problem.loc is not None
