"""What is written of a kernel is read as an equal kernel; what is no such text is refused with its place."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyml.dtypes import BOOL, C128, F32, F64, I64, PYBOOL, PYCOMPLEX, PYFLOAT, PYINT
from polyml.errors import TextError
from polyml.frontend.syntax import (
    Alloc,
    ArrayName,
    ArrayType,
    Assign,
    Binary,
    Block,
    Call,
    Cast,
    Compare,
    Const,
    Dots,
    For,
    Function,
    If,
    IfExp,
    Kernel,
    Leave,
    Like,
    Logical,
    Name,
    NewAxis,
    Param,
    Part,
    Require,
    Return,
    ScalarType,
    Shape,
    Slice,
    Subscript,
    TypeOf,
    Unary,
    While,
)  # fmt: skip
from polyml.frontend.text.reader import parse
from polyml.frontend.text.writer import text
from polyml.source import Source
from tests.subjects import array_programs, random_programs, written_kernels
from tests.texts import differences

I, J, X = Name("i"), Name("j"), Name("x")
HEAD = "polyml kernel, format 1\n"


def kernel_of(*body, params=("A", "x"), **rest):
    return Kernel("f", tuple(map(Param, params)), body, Source("f.py", 1, ()), **rest)


def assert_reads_back(kernel):
    written = text(kernel)
    again = parse(written)
    assert differences(again, kernel) == []
    assert text(again) == written


# programs


@pytest.mark.parametrize("subject", [*written_kernels(), *random_programs(range(1, 41))], ids=lambda s: s.name)
def test_loop_nests_read_back(subject):
    assert_reads_back(subject.kernel())
    typed = subject.typed()
    if typed is not None:
        assert_reads_back(typed)


@pytest.mark.parametrize("subject", array_programs(), ids=lambda s: s.name)
def test_array_programs_read_back(subject):
    assert_reads_back(subject.kernel())
    typed = subject.typed()
    if typed is not None:
        assert_reads_back(typed)


def test_nearly_all_programs_are_typed():
    subjects = [*array_programs(), *random_programs(range(1, 41))]
    assert sum(subject.typed() is None for subject in subjects) < len(subjects) // 10


# every node


EXPRESSIONS = {
    "-1": Const(-1),
    "-(1)": Unary("-", Const(1)),
    "-0.0": Const(-0.0),
    "-np.inf": Const(-math.inf),
    "np.nan": Const(math.nan),
    'complex "(1-0j)"': Const(complex(1, -0.0)),
    "np.float32(0.5)": Const(np.float32(0.5)),
    "np.bool(True)": Const(np.bool_(True)),
    "np.int64(-3)": Const(np.int64(-3)),
    "(-1)**2": Binary("**", Const(-1), Const(2)),
    "-1**2": Unary("-", Binary("**", Const(1), Const(2))),
    "-1**(-2)": Unary("-", Binary("**", Const(1), Const(-2))),
    "x**(-x)": Binary("**", X, Unary("-", X)),
    "(x**x)**x": Binary("**", Binary("**", X, X), X),
    "x - (x - x)": Binary("-", X, Binary("-", X, X)),
    "x - x - x": Binary("-", Binary("-", X, X), X),
    "x & x == x": Compare("==", Binary("&", X, X), X),
    "(x < x) == x": Compare("==", Compare("<", X, X), X),
    "not (x and x)": Unary("not", Logical("and", (X, X))),
    "(x or x) or x": Logical("or", (Logical("or", (X, X)), X)),
    "x or x or x": Logical("or", (X, X, X)),
    "and(x)": Logical("and", (X,)),
    "or()": Logical("or", ()),
    "min(x, max(x, 1))": Binary("min", X, Binary("max", X, Const(1))),
    "(x if x else 1) if 2 else 3": IfExp(Const(2), IfExp(X, X, Const(1)), Const(3)),
    "x if 2 else 1 if x else 3": IfExp(Const(2), X, IfExp(X, Const(1), Const(3))),
    "math.sqrt(x)": Call("sqrt", (X,), "math"),
    "method.conj(x)": Call("conj", (X,), "method"),
    "complex(x, 1)": Call("complex", (X, Const(1))),
    "complex(x)": Cast(X, PYCOMPLEX),
    "f32(x)": Cast(X, F32),
    "to_f32(x)": Cast(X, F32, True),
    "A[]": Subscript("A", ()),
    "A![i, j].imag": Subscript("A", (I, J), inside=True, part="imag"),
    "A.shape[0 of 2]": Shape("A", 0, 2),
    "A[i:, None, ..., :j:-1]": Part(Name("A"), (Slice(I, None), NewAxis(), Dots(), Slice(None, J, -1))),
    "(A)[i]": Part(Name("A"), (I,)),
    "(A[i])[j]": Part(Subscript("A", (I,)), (J,)),
    "(np.transpose(A))[:]": Part(Function("transpose", (Name("A"),)), (Slice(None, None),)),
    'np.einsum(A, subscripts="i->", axis=(0, -1), out=None, dtype=f32)': Function(
        "einsum", (Name("A"),), (("subscripts", "i->"), ("axis", (0, -1)), ("out", None), ("dtype", F32))
    ),
    'np.zeros(dtype=typeof(x, "sum"))': Function("zeros", (), (("dtype", TypeOf(X, "sum")),)),
    "x.1": Name("x.1"),
    "`for`": Name("for"),
    "`z.imag`": Name("z.imag"),
    "`np`": Name("np"),
}


@pytest.mark.parametrize(("written", "value"), EXPRESSIONS.items(), ids=EXPRESSIONS)
def test_expressions_as_they_are_written(written, value):
    kernel = kernel_of(Assign(X, value))
    assert text(kernel).splitlines()[2] == f"    x = {written}"
    assert_reads_back(kernel)


STATEMENTS = {
    "for i in range(0, x, -2):": For("i", Const(0), X, -2, ()),
    "while x < i:": While(Compare("<", X, I), ()),
    "block b.1:": Block("b.1", ()),
    "block `while`:": Block("while", ()),
    "in_place whole same_type A[...] = x": Assign(Part(Name("A"), (Dots(),)), X, True, True, True),
    "alloc B[i, j]: f32 = 0": Alloc("B", (I, J), F32, Const(0)),
    "alloc B[] = 0": Alloc("B", (), None, Const(0)),
    'alloc B like A: typeof(x, "mean")': Alloc("B", Like("A"), TypeOf(X, "mean"), None),
    "alloc B[i]: like A": Alloc("B", (I,), Like("A"), None),
    'require x, "a \\"thing\\""': Require(X, 'a "thing"'),
    "return": Return((), False),
    "return x": Return((X,), False),
    "return (x,)": Return((X,), True),
    "return (array A, (x + i)*j)": Return((ArrayName("A"), Binary("*", Binary("+", X, I), J)), True),
    "return (x + i)*(i + j)": Return((Binary("*", Binary("+", X, I), Binary("+", I, J)),), False),
    "return (python x, numpy i)": Return((X, I), True, python=(True, False)),
}  # fmt: skip


@pytest.mark.parametrize(("written", "stmt"), STATEMENTS.items(), ids=STATEMENTS)
def test_statements_as_they_are_written(written, stmt):
    kernel = kernel_of(stmt)
    assert text(kernel).splitlines()[2] == f"    {written}"
    assert_reads_back(kernel)


def test_what_is_written_apart_stays_apart():
    kernel = kernel_of(Assign(X, Subscript("A", (I, J), chained=True)), Assign(X, Subscript("A", (I,), chained=True)))
    assert [line.strip() for line in text(kernel).splitlines()[2:]] == ["x = A[i][j]", "x = A[i][]"]
    assert [stmt.value.chained for stmt in parse(text(kernel)).body] == [True, True]


def test_the_head_has_types_and_scalars():
    types = (ArrayType(F64, 2, frozenset({(0, 1)})), ScalarType(PYINT, 5))
    kernel = kernel_of(Assign(X, Const(1, dtype=PYINT)), types=types, scalars=(("x", PYINT), ("x.1", F32)))
    assert text(kernel).splitlines()[1:3] == ["def f(A: f64[1, :], x: int=5):", "    scalars x: int, x.1: f32"]
    assert_reads_back(kernel)


def test_blocks_that_are_left_are_written_and_read():
    inner = Block("b", (While(Const(True), (If(X, (Leave("a"),), (Leave("b"),)),)),))
    kernel = kernel_of(Block("a", (inner, Assign(X, Const(1)))), Block("b", (Leave("b"),)))
    assert text(kernel).splitlines()[2:] == [
        "    block a:", "        block b:", "            while True:", "                if x:", "                    leave a",
        "                else:", "                    leave b", "        x = 1", "    block b:", "        leave b",
    ]  # fmt: skip
    assert_reads_back(kernel)


def test_branches_without_statements_pass():
    kernel = kernel_of(If(X, (), (Assign(X, I),)), If(X, (If(I, (), (Return((), False),)),), ()))
    assert_reads_back(kernel)
    assert text(kernel).splitlines()[2:6] == ["    if x:", "        pass", "    else:", "        x = i"]


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (Const(0.5, dtype=F64), "0.5"),
        (Const(0.5, dtype=F32), "0.5.f32"),
        (Const(0.5, dtype=PYFLOAT), "0.5.float"),
        (Const(-1, dtype=I64), "-1.i64"),
        (Binary("+", Name("x", dtype=F64), Const(1, dtype=PYINT), dtype=F64), "x + 1"),
        (Binary("+", Name("x", dtype=F32), Const(1, dtype=PYINT), dtype=F64), "(x.f32 + 1).f64"),
        (Compare("<", Name("x", dtype=F64), Name("x", dtype=F64), dtype=PYBOOL), "(x < x).pybool"),
        (Name("x"), "x.untyped"),
    ],
)
def test_types_are_written_where_they_are_not_the_natural_ones(value, written):
    types = (ArrayType(F64, 1), ScalarType(F64))
    kernel = kernel_of(Assign(Name("x", dtype=F64), value), types=types)
    assert text(kernel).splitlines()[2] == f"    x = {written}"
    assert_reads_back(kernel)


def test_parts_that_are_shared_are_written_and_read_once():
    value = Binary("+", X, Const(1), dtype=None)
    for _ in range(100):
        value = Binary("*", value, value)
    written = text(kernel_of(Assign(X, value)))
    assert len(written) < 6_000 and "let %49 = %48*%48*(%48*%48)" in written
    again = parse(written)
    assert again.body[0].value.left is again.body[0].value.right
    assert text(again) == written and differences(again, kernel_of(Assign(X, value))) == []


def test_long_and_deep_expressions_are_cut_into_parts():
    chain, tower = X, X
    for number in range(500):
        chain = Binary("+", chain, Name(f"name_{number}"))
        tower = Unary("-", tower)
    kernel = kernel_of(Assign(X, chain), Assign(X, tower))
    assert max(map(len, text(kernel).splitlines())) < 700
    again = parse(text(kernel))
    assert differences(again, kernel) == []
    assert text(again) == text(kernel)


NAMES = st.sampled_from(["x", "y", "x.1", "np", "ä"])
TYPES = st.sampled_from([None, F64, F32, PYINT, PYFLOAT, BOOL, C128])
CONSTANTS = (
    st.integers(-(2**70), 2**70) | st.floats() | st.booleans() | st.complex_numbers() | st.floats(width=32).map(np.float32)
    | st.integers(-5, 5).map(np.int8)
)  # fmt: skip
LEAVES = st.builds(lambda v, t: Const(v, dtype=t), CONSTANTS, TYPES) | st.builds(lambda n, t: Name(n, dtype=t), NAMES, TYPES)


def compound(inner):
    several = st.lists(inner, max_size=3).map(tuple)
    return st.one_of(
        st.builds(lambda op, a, b, t: Binary(op, a, b, dtype=t), st.sampled_from(["+", "-", "*", "//", "**", "<<", "|", "min"]), inner, inner, TYPES),
        st.builds(lambda op, a, b, t: Compare(op, a, b, dtype=t), st.sampled_from(["<", "!="]), inner, inner, TYPES),
        st.builds(lambda op, a, t: Unary(op, a, dtype=t), st.sampled_from(["-", "+", "~", "not"]), inner, TYPES),
        st.builds(lambda op, parts, t: Logical(op, parts, dtype=t), st.sampled_from(["and", "or"]), several, TYPES),
        st.builds(lambda c, a, b, t: IfExp(c, a, b, dtype=t), inner, inner, inner, TYPES),
        st.builds(lambda parts, t: Subscript("A", parts, dtype=t), several, TYPES),
        st.builds(lambda base, parts, t: Part(base, parts, dtype=t), inner, several, TYPES),
        st.builds(lambda base, a, b: Part(base, (Slice(a, b, 2), b)), inner, inner, inner),
        st.builds(lambda a, to, t: Cast(a, to, dtype=t), inner, st.sampled_from([F32, PYINT]), TYPES),
        st.builds(lambda parts, t: Call("hypot", parts, "math", dtype=t), several, TYPES),
        st.builds(lambda parts: Function("sum", parts, (("axis", 0),)), several),
    )  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.recursive(LEAVES, compound, max_leaves=8))
def test_whatever_is_written_is_read(value):
    kernel = kernel_of(Assign(X, value), types=(ArrayType(F64, 1), ScalarType(F64)))
    assert differences(parse(text(kernel)), kernel) == []


# places and errors


def test_what_is_read_has_its_place_in_the_text():
    kernel = parse(f"{HEAD}untyped def f(A, n):\n    for i in range(0, n):\n        A[i*i] = 1\n", "mine.kernel")
    (inner,) = kernel.body[0].body
    assert str(inner.loc) == "mine.kernel:4:9"
    assert inner.target.indices[0].loc.excerpt().splitlines()[0].strip() == "A[i*i] = 1"


BODY = HEAD + "def f(A: f64[:], n: int):\n"
WRONG = {
    "": "t.kernel:1:1: error: this is no kernel of polyml\n      \n      ^\n  note: the first line of one is `polyml kernel, format 1`",
    "polyml kernel, format 2\n": (
        "t.kernel:1:1: error: this version of polyml reads format 1 only\n      polyml kernel, format 2\n      ^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  note: the first line of one is `polyml kernel, format 1`"
    ),
    HEAD: (
        "t.kernel:1:24: error: the text ends too early\n      polyml kernel, format 1\n                             ^\n"
        "  note: expected `def`\n  note: was it written to its end?"
    ),
    BODY + "    leave b\n": (
        "t.kernel:3:11: error: `b` cannot stand here\n          leave b\n                ^\n"
        "  note: expected the label of a block around"
    ),
    BODY + "    block b:\n        block b:\n            leave b\n": (
        "t.kernel:4:15: error: `b` cannot stand here\n              block b:\n                    ^\n"
        "  note: expected a label that no block around has"
    ),
    BODY + "    A[0] = n +\n": (
        "t.kernel:3:15: error: the line ends too early\n          A[0] = n +\n                    ^\n  note: expected an expression"
    ),
    BODY + "    A[0] = n n\n": (
        "t.kernel:3:14: error: `n` cannot stand here\n          A[0] = n n\n                   ^\n  note: expected the end of the line"
    ),
    BODY + "    A[0 = n\n": (
        "t.kernel:3:9: error: `=` cannot stand here\n          A[0 = n\n              ^\n  note: expected `,` or `]`"
    ),
    BODY + "   A[0] = n\n": (
        "t.kernel:3:4: error: the line is indented by 3 spaces\n         A[0] = n\n         ^\n"
        "  note: expected a statement: for, while, if, block, leave, raise, alloc, require, return, pass or an assignment, indented by 4"
    ),
    BODY + "    A[0] = %0\n": (
        "t.kernel:3:13: error: there is no part %0\n          A[0] = %0\n                  ^\n  note: parts above: none"
    ),
    BODY + "    A[0] = f32(1, 2)\n": (
        "t.kernel:3:12: error: `f32` takes 1 operand, not 2\n          A[0] = f32(1, 2)\n                 ^^^"
    ),
    BODY + "    A[0] = np.int8(300)\n": (
        "t.kernel:3:20: error: `300` cannot stand here\n          A[0] = np.int8(300)\n                         ^^^\n  note: expected a number of int8"
    ),
    BODY + "    for i in range(0, n, 0):\n": (
        "t.kernel:3:26: error: `0` cannot stand here\n          for i in range(0, n, 0):\n                               ^\n"
        "  note: expected a step that is not zero"
    ),
    BODY + "    n + 1 = 2\n": (
        "t.kernel:3:7: error: `+` cannot stand here\n          n + 1 = 2\n            ^\n  note: expected `=`"
    ),
    HEAD + "def f(A: g64[:]):\n": (
        "t.kernel:2:10: error: `g64` cannot stand here\n      def f(A: g64[:]):\n               ^^^\n"
        "  note: expected a type: c128, c64, f64, f32, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, bool, int, float, complex, pybool"
    ),
    HEAD + "def f(A: f64[:], n):\n": (
        "t.kernel:2:21: error: some arguments have no type\n      def f(A: f64[:], n):\n                          ^\n"
        "  note: expected a type for each argument, or for none"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("wrong", "message"), WRONG.items(), ids=range(len(WRONG)))
def test_what_is_no_kernel_is_refused_with_its_place(wrong, message):
    with pytest.raises(TextError) as problem:
        parse(wrong, "t.kernel")
    assert str(problem.value) == message


@pytest.mark.parametrize("middle", ["-" * 5_000, "(" * 5_000, "not " * 3_000, "1 if 1 else " * 3_000, "9" * 5_000, "x**" * 3_000])
def test_what_no_one_writes_is_refused(middle):
    with pytest.raises(TextError):
        parse(f"{BODY}    A[0] = {middle}\n")


def test_statements_in_one_another_without_end_are_refused():
    deep = "".join(f"{'    ' * depth}if n:\n" for depth in range(1, 400))
    with pytest.raises(TextError, match="more than 50 statements"):
        parse(BODY + deep)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_a_damaged_text_is_read_or_refused(data):
    """Any change of the text of a kernel gives another kernel or polyml's own error."""
    written = text(random_programs([7])[0].typed())
    start = data.draw(st.integers(0, len(written) - 1))
    cut = data.draw(st.integers(0, 5))
    put = data.draw(st.text(alphabet='()[]{}.,:+-*"`% \n09ax=', max_size=3))
    try:
        parse(written[:start] + put + written[start + cut :])
    except TextError as problem:
        assert problem.loc is not None
