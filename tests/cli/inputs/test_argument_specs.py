"""Argument types and values from the command line."""

import numpy as np
import pytest

from polyml.cli.inputs import argument_specs
from polyml.dtypes import F32, F64, PYFLOAT, PYINT
from polyml.errors import ConfigError
from polyml.frontend.parsing.parse import parse
from polyml.frontend.syntax import ArrayType, ScalarType


def stencil(A, B, C, n, alpha, steps):
    T = np.zeros(n)
    for t in range(steps):
        for i in range(1, A.shape[1] - 1):
            T[i] = alpha * B[i + C.shape[0]]
            A[0, i] = T[i]


def message(function, *args):
    with pytest.raises(ConfigError) as caught:
        function(*args)
    return str(caught.value)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("A=f64[N,M]", ("A", ArrayType(F64, 2), ("N", "M"), None)),
        ("A=f32[ :, 2*N+1 ]", ("A", ArrayType(F32, 2), (":", "2*N+1"), None)),
        ("A=f64[]", ("A", ArrayType(F64, 0), (), None)),
        ("n=int", ("n", ScalarType(PYINT), (), None)),
        ("n=7", ("n", ScalarType(PYINT), (), 7)),
        ("x=f32", ("x", ScalarType(F32), (), None)),
        ("alpha=-1.5", ("alpha", ScalarType(PYFLOAT), (), -1.5)),
    ],
)
def test_specs_are_read(text, expected):
    found = argument_specs.spec_from(text)
    assert (found.name, found.type, found.extents, found.value) == expected


@pytest.mark.parametrize("text", ["A", "A=", "1=f64", "A=f65[N]", "A=int[N]", "A='x'", "A=None"])
def test_what_is_no_spec_is_refused_with_the_form(text):
    assert message(argument_specs.spec_from, text) == (
        f"error: {text!r} describes no argument\n"
        "  note: expected NAME=TYPE[N,M] for an array, NAME=TYPE or NAME=VALUE for a number\n"
        "  note: types: c128, c64, f64, f32, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, bool, int, float, complex"
    )


def test_sizes_are_read_and_what_is_no_size_is_refused():
    assert argument_specs.sizes_from(["N=10", "M=1_000"]) == {"N": 10, "M": 1000}
    for text in ("N", "N=1.5", "=3", "N=x"):
        assert message(argument_specs.sizes_from, [text]) == (
            f"error: -D does not take {text!r}\n  note: expected NAME=INTEGER, as in -D N=1000"
        )


def test_types_are_guessed_from_the_use_of_a_name_and_say_so():
    found = argument_specs.guess(parse(stencil), {})
    assert [(s.name, str(s.type), s.guessed) for s in found] == [
        ("A", "f64[:, :]", "subscripted with 2 indices"),
        ("B", "f64[:]", "subscripted with 1 index"),
        ("C", "f64[:]", "its shape is used"),
        ("n", "int", "used in a bound or a subscript"),
        ("alpha", "float", "used as a number"),
        ("steps", "int", "used in a bound or a subscript"),
    ]


def test_a_given_spec_wins_over_a_guess_and_an_unknown_name_is_refused():
    given = {"B": argument_specs.spec_from("B=f32[N]")}
    assert [s.guessed == "" for s in argument_specs.guess(parse(stencil), given)] == [False, True, False, False, False, False]
    assert message(argument_specs.guess, parse(stencil), {"Z": argument_specs.spec_from("Z=f32[N]")}) == (
        "error: stencil has no parameter 'Z'\n  note: it has A, B, C, n, alpha, steps"
    )


def test_arguments_are_made_with_the_sizes_of_the_command_line():
    found = [argument_specs.spec_from(t) for t in ("A=f32[N,2*N+1]", "B=i8[:]", "M=bool[3]", "N=int", "x=f32", "a=2.5")]
    made = argument_specs.make(found, {"N": 4}, np.random.default_rng(0))
    assert [(v.dtype.name, v.shape) for v in (made["A"], made["B"], made["M"])] == [
        ("float32", (4, 9)),
        ("int8", (100,)),
        ("bool", (3,)),
    ]
    assert made["N"] == 4 and type(made["N"]) is int and made["a"] == 2.5
    assert type(made["x"]) is np.float32


def test_an_extent_without_a_value_names_the_option_that_gives_it():
    rng = np.random.default_rng(0)
    assert message(argument_specs.make, [argument_specs.spec_from("A=f64[K]")], {}, rng) == (
        "error: the extent 'K' of A has no value\n  note: -D K=100 gives it a value"
    )
    assert message(argument_specs.make, [argument_specs.spec_from("A=f64[2**3]")], {}, rng) == (
        "error: the extent '2**3' of A has no value\n  note: expected N, 100, 2*N+1 or :"
    )


def test_a_size_on_guessed_types_says_how_an_argument_gets_it():
    found = argument_specs.guess(parse(stencil), {"A": argument_specs.spec_from("A=f32[M,2*M]")})
    said = message(argument_specs.check_used, found, {"N": 5})
    assert "no argument has a size called 'N'" in said and "--arg 'B=f64[N]' gives it to B, whose type is a guess" in said
    assert "--arg 'A" not in said


def sobel(img):
    gx = img[2:, 1:-1] - img[:-2, 1:-1]
    gy = img[1:-1, 2:] - img[1:-1, :-2]
    return np.hypot(gx, gy)


def unsharp(img, out, amount):
    blur = np.zeros_like(img)
    blur[1:-1, 1:-1] = (img[:-2, 1:-1] + img[2:, 1:-1]) / 2
    sharp = img + amount * (img - blur)
    out[:] = np.clip(sharp, 0, 255)


def softmax(X):
    e = np.exp(X - X.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def contract(A, B, C):
    return np.einsum("ijk,kl,jm->ilm", A, B, C)


def normalized(A, weights):
    B = A - A.mean(axis=0)
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            B[i, j] *= weights[j]
    return B @ B.T


def layer(X, W, b, scale):
    return np.maximum(X @ W + b, 0.0) * scale


def total(x):
    return np.sum(x)


@pytest.mark.parametrize(
    "function, types",
    [
        (sobel, {"img": 2}),
        (unsharp, {"img": 2, "out": 2, "amount": 0}),
        (softmax, {"X": 2}),
        (contract, {"A": 3, "B": 2, "C": 2}),
        (normalized, {"A": 2, "weights": 1}),
        (layer, {"X": 2, "W": 2, "b": 0, "scale": 0}),
        (total, {"x": 1}),
    ],
)
def test_types_are_guessed_from_array_expressions(function, types):
    """Plain Python runs with the types that are guessed, which the kernels of loops above cannot show."""
    found = argument_specs.guess(parse(function), {})
    assert {s.name: getattr(s.type, "ndim", 0) for s in found} == types
    function(*argument_specs.make(found, {}, np.random.default_rng(0)).values())


@pytest.mark.parametrize("dimensions, extent", [(1, 100), (2, 100), (3, 30), (4, 16), (5, 16)])
def test_arrays_without_sizes_are_smaller_the_more_dimensions_they_have(dimensions, extent):
    specs = [argument_specs.spec_from(f"A=f64[{','.join(':' * dimensions)}]"), argument_specs.spec_from("x=f64[:]")]
    made = argument_specs.make(specs, {}, np.random.default_rng(0))
    assert made["A"].shape == (extent,) * dimensions and made["x"].shape == (extent,)
