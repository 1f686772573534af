"""What a refused call is told: full texts."""

import numpy as np
import pytest

import polyml
from polyml.errors import BoundsError, CompileError, PolymlMemoryError, PolymlOverflowError, PolymlValueError
from polyml.model.core.call_interface import Parameter, Status
from polyml.runtime.calling.bounds_errors import failure, violation
from polyml.runtime.storage.records import CheckRecord
from polyml.source import Loc, Source
from tests.runtime.handmade import artifact

LOC = Loc(Source("file.py", 7, ("        A[2 * i - 3, j] = 0.0\n",)), 7, 9, 15)
BOUNDS = CheckRecord(
    kind="bounds",
    what="A[2 * i - 3, j]",
    violated="[N, M] -> { : N > 0 }",
    instances="[N, M] -> { S[i, j] : 0 <= i < N and 0 <= j < M and (2i - 3 < 0 or 2i - 3 >= N) }",
    iterators=("i", "j"),
    dim=0,
    subscript="[N, M] -> { S[i, j] -> [(-3 + 2i)] }",
    size="[N] -> { [] -> [(N)] }",
    loc=LOC,
)


def replaced(**fields) -> CheckRecord:
    return CheckRecord(**{**BOUNDS.__dict__, **fields})


def test_a_subscript_out_of_bounds_names_access_point_index_and_size():
    error = violation(BOUNDS, {"N": 5, "M": 2})
    assert isinstance(error, BoundsError) and isinstance(error, IndexError)
    assert str(error) == (
        "file.py:7:9: error: `A[2 * i - 3, j]` is out of bounds: index -3 in dimension 0 of size 5\n"
        "              A[2 * i - 3, j] = 0.0\n"
        "              ^^^^^^^^^^^^^^^\n"
        "  note: at i = 0, j = 0\n"
        "  note: found before anything was written"
    )


@pytest.mark.parametrize("size", ["[N] -> { [] -> [(N)] }", "[N] -> { [(N)] }", "[N, M] -> { S[i, j] -> [(N)] }", "{ [(5)] }"])
def test_a_size_may_be_written_in_any_space(size):
    assert "of size 5\n" in str(violation(replaced(size=size), {"N": 5, "M": 2}))


def test_the_point_is_the_smallest_one():
    check = replaced(instances="[N, M] -> { S[i, j] : 0 <= i < N and 0 <= j < M and 2i - 3 >= N and (i + j) mod 3 = 1 }")
    assert violation(check, {"N": 8, "M": 9}).notes[0] == "at i = 6, j = 1"
    assert "index 9 in dimension 0 of size 8" in str(violation(check, {"N": 8, "M": 9}))


def test_an_access_outside_every_loop_needs_no_point():
    check = replaced(what="A[3]", iterators=(), instances="[N] -> { S[] : N <= 3 }", subscript="{ S[] -> [(3)] }", loc=None)
    assert str(violation(check, {"N": 2})) == (
        "error: `A[3]` is out of bounds: index 3 in dimension 0 of size 2\n"
        "  note: found before anything was written"
    )  # fmt: skip


@pytest.mark.parametrize("instances", ["[N] -> { S[i, j] : N < 0 }", "not isl"])
def test_a_message_without_a_point_is_still_a_message(instances):
    assert str(violation(replaced(instances=instances, loc=None), {"N": 5, "M": 2})) == (
        "error: `A[2 * i - 3, j]` is out of bounds: an index in dimension 0\n"
        "  note: found before anything was written"
    )  # fmt: skip


def test_a_number_that_does_not_fit_is_named():
    check = replaced(kind="range", what="100 * i as int8", subscript="{ S[i, j] -> [(100i)] }", size=None)
    error = violation(check, {"N": 5, "M": 1})
    assert isinstance(error, PolymlOverflowError) and isinstance(error, OverflowError)
    assert error.message == "the Python integer 0 does not fit: `100 * i as int8`"
    assert error.notes == ("at i = 0, j = 0",)


def test_a_negative_extent_is_named():
    check = replaced(kind="shape", what="T", iterators=(), instances="[n] -> { S[] : n < 0 }", subscript=None)
    check = CheckRecord(**{**check.__dict__, "size": "[n] -> { [(n)] }", "dim": 1})
    error = violation(check, {"n": -4})
    assert isinstance(error, PolymlValueError) and isinstance(error, ValueError)
    assert error.message == "dimension 1 of `T` is negative: -4"


def test_a_status_finds_its_check_and_the_sizes_of_the_call():
    made = artifact(
        "f64[:,:]", "int",
        checks=(replaced(what="first"), BOUNDS),
        parameters=(Parameter("N", "a", 0), Parameter("M", "a", 1), Parameter("b")),
    )  # fmt: skip
    error = failure(made, 2, {"a": np.zeros((5, 2)), "b": np.int32(3)})
    assert error.message == "`A[2 * i - 3, j]` is out of bounds: index -3 in dimension 0 of size 5"


def test_no_memory_and_overflow_have_errors_of_their_own():
    memory, overflow, unknown = (failure(artifact(), status, {}) for status in (-1, -2, -100))
    assert isinstance(memory, PolymlMemoryError) and isinstance(memory, MemoryError)
    assert str(memory) == "error: `f` found no memory for its temporaries"
    assert isinstance(overflow, PolymlOverflowError)
    assert str(overflow) == (
        "error: a Python integer left 64 bits in `f`\n"
        "  note: its arrays may be partly written\n"
        "  note: NumPy integers (np.int64(...)) wrap instead"
    )
    assert isinstance(unknown, CompileError)
    assert str(unknown) == "error: `f` returned the unknown status -100"


@pytest.mark.parametrize("status", Status)
def test_every_status_has_a_message_of_its_own(status):
    assert "unknown" not in str(failure(artifact(), status, {}))


NAN, INFINITY = float("nan"), float("inf")


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")
@pytest.mark.parametrize("kind", ["int8", "int32", "int64", "uint8"])
@pytest.mark.parametrize("value", [NAN, INFINITY, -INFINITY, 1e19, 1e10, 300.0, -2.5])
def test_a_float_that_is_no_integer_of_the_type_is_what_numpy_says(kind, value):
    def stored(A, X):
        for i in range(A.shape[0]):
            A[i] = X[i]

    def outcome(function):
        A = np.zeros(3, kind)
        try:
            function(A, np.array([1.0, value, NAN]))
        except (OverflowError, ValueError) as problem:
            return [kind for kind in (OverflowError, ValueError) if isinstance(problem, kind)]
        return A.tolist()

    assert outcome(polyml.kernel(cache=False)(stored)) == outcome(stored)
