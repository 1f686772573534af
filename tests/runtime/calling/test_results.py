"""Results: allocated before the call, read after it."""

import numpy as np
import pytest

from polyml.dtypes import FIXED, PYBOOL, PYCOMPLEX, PYFLOAT, PYINT
from polyml.model.core.call_interface import ArrayResult, Parameter, ScalarResult
from polyml.numpy_dtypes import numpy_dtype
from polyml.runtime.calling import entry
from polyml.runtime.calling.binding import MISS, Outcome
from polyml.runtime.calling.results import allocator, impossible
from polyml.runtime.storage.artifact import ResultArray
from tests.runtime.handmade import artifact, code, returning

# Writes the words of its slots from `first` on into the int64 result array; the last slot, a number, becomes 5.
FILL = """
define i64 @kernel(ptr %slots) {{
  %to.p = getelementptr i64, ptr %slots, i64 {array}
  %to = load ptr, ptr %to.p
  %last = getelementptr i64, ptr %slots, i64 {number}
  store i64 41, ptr %to
  store i64 {value}, ptr %last
  ret i64 {status}
}}
"""


def filling(array: int, number: int, value: int = 5, status: int = 0):
    return code(FILL.format(array=array, number=number, value=value, status=status))


MATRIX = artifact(
    "f64[:,:]", "int",
    parameters=(Parameter("N", "a", 0), Parameter("M", "a", 1), Parameter("b")),
    results=(ArrayResult("T"), ScalarResult("s", PYINT), ArrayResult("a")),
    result_arrays=(ResultArray("T", "int64", ("N + 1", "max(M, 2*b)")),),
    result_is_tuple=True,
)  # fmt: skip


def test_the_shape_follows_the_parameters_and_every_result_comes_back():
    a = np.zeros((2, 3))
    new, number, same = entry.bind(MATRIX, filling(array=7, number=12), threads=1)(a, 5)
    assert new.shape == (3, 10) and new.dtype == np.int64 and new.flags.c_contiguous
    assert new[0, 0] == 41 and number == 5 and type(number) is int
    assert same is a


def test_a_parameter_may_be_called_like_a_builtin():
    made = artifact(
        "int", "int",
        params=("max", "int"),
        parameters=(Parameter("max"), Parameter("int")),
        results=(ArrayResult("T"),),
        result_arrays=(ResultArray("T", "int8", ("max(max, int)", "min(max, int)")),),
    )  # fmt: skip
    assert entry.bind(made, returning(0), threads=1)(2, 3).shape == (3, 2)


def test_a_parameter_whose_name_is_no_c_identifier_has_an_extent():
    made = artifact(
        "int",
        params=("größe",),
        parameters=(Parameter("n0", argument="größe"),),
        results=(ArrayResult("T"),),
        result_arrays=(ResultArray("T", "int8", ("2*n0",)),),
    )
    assert entry.bind(made, returning(0), threads=1)(3).shape == (6,)


@pytest.mark.parametrize("shape", ["__import__('os').getpid()", "b.imag", "1), _max(2", "N\n    N"])
def test_a_shape_that_is_no_extent_is_not_run(shape):
    made = artifact(
        "int", parameters=(Parameter("a"),), results=(ArrayResult("T"),), result_arrays=(ResultArray("T", "int8", (shape,)),)
    )
    with pytest.raises(ValueError, match="is not an extent"):
        entry.bind(made, returning(0), threads=1)


def test_a_single_result_is_not_a_tuple():
    made = artifact("f64[:]", results=(ArrayResult("a"),))
    a = np.zeros(2)
    assert entry.bind(made, returning(0), threads=1)(a) is a
    made = artifact("f64[:]", results=(ArrayResult("a"),), result_is_tuple=True)
    assert entry.bind(made, returning(0), threads=1)(a) == (a,)


@pytest.mark.parametrize("dtype", [*(d for d in FIXED if not d.is_complex), PYINT, PYFLOAT, PYBOOL], ids=str)
def test_a_number_comes_back_with_its_type(dtype):
    expected = numpy_dtype(dtype).type(1)
    word = int.from_bytes(expected.tobytes(), "little") | (-1 << 8 * expected.itemsize) * (dtype.bits < 64)
    made = artifact("f64[:]", "int", results=(ScalarResult("s", dtype),))
    fill = code(FILL.format(array=1, number=5, value=word, status=0))
    result = entry.bind(made, fill, threads=1)(np.zeros(1), 3)
    assert result == expected
    assert type(result) is ({"int": int, "float": float, "pybool": bool}[dtype.name] if dtype.weak else type(expected))


@pytest.mark.parametrize("dtype", [PYCOMPLEX, *(d for d in FIXED if d.is_complex)], ids=str)
def test_a_complex_number_comes_back_from_its_parts(dtype):
    part = PYFLOAT if dtype.weak else dtype.part
    made = artifact("f64[:]", "int", results=tuple(ScalarResult(name, part, dtype) for name in ("re", "im")))
    word = int.from_bytes(np.dtype(dtype.part.numpy_name).type(1).tobytes(), "little")
    result = entry.bind(made, code(FILL.format(array=1, number=6, value=word, status=0)), threads=1)(np.zeros(1), 3)
    assert result == 1j
    assert type(result) is (complex if dtype.weak else np.dtype(dtype.numpy_name).type)


def test_a_negative_extent_is_an_empty_array_until_the_kernel_refuses_it():
    made = artifact(
        "int",
        parameters=(Parameter("a"),),
        results=(ArrayResult("T"),),
        result_arrays=(ResultArray("T", "bool", ("a", "3")),),
    )
    assert entry.bind(made, returning(0), threads=1)(-4).shape == (0, 3)
    assert entry.bind(made, returning(2), threads=1)(-4).status == 2


def test_a_status_comes_before_any_result():
    outcome = entry.bind(MATRIX, filling(array=7, number=12, status=-1), threads=1)(np.zeros((2, 3)), 5)
    assert type(outcome) is Outcome and outcome.status == -1


@pytest.mark.parametrize("arguments", [(), (1, 2), (np.zeros(3), 5), (np.zeros((2, 2)), "x"), (np.zeros((2, 2)), 5.0)])
def test_arguments_that_do_not_fit_are_a_miss(arguments):
    assert entry.bind(MATRIX, filling(array=7, number=12), threads=1)(*arguments) is MISS


@pytest.mark.parametrize("size, text", [(2**50, "Unable to allocate"), (2**61, "array is too big")])
def test_impossible_sizes_are_a_miss_that_can_be_explained(size, text):
    assert entry.bind(MATRIX, filling(array=7, number=12), threads=1)(np.zeros((2, 2)), size) is MISS
    with pytest.raises((MemoryError, ValueError)) as caught:
        allocator(MATRIX)(np.zeros((2, 2)), size)
    assert str(impossible(caught.value)).startswith(f"error: there is no room for the result: {text}")


def test_a_number_may_not_be_returned_as_an_array():
    with pytest.raises(ValueError, match="there is no array b"):
        artifact("f64[:]", "int", results=(ArrayResult("b"),))
