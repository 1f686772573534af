"""Machine code against the definition of the language, bit for bit, for every preset that this machine runs."""

import numpy as np
import pytest

from tests.codegen.elementwise import (  # fmt: skip
    FLOAT_ROWS,
    INTEGER_ROWS,
    casts,
    float_extremes,
    float_extremes_of_numbers,
    float_operations,
    float_tests,
    floats,
    indices,
    integer_operations,
    integers,
    pairs,
    truth_values,
)
from tests.codegen.loop_nests import KERNELS, arguments_for
from tests.codegen.native import WIDE, assert_as_defined, compiled, in_lanes, presets, program_of

SIZES = ((0, 0, 0), (1, 1, 1), (3, 0, 4), (0, 5, 2), (7, 17, 9), (19, 8, 5), (4, 67, 3))

pytestmark = pytest.mark.skipif(not presets(), reason="the presets that run are those of x86-64")


@pytest.mark.parametrize(("form", "preset"), [("source", WIDE[-1]), *(("auto", p) for p in WIDE)] if WIDE else [])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
@pytest.mark.sweep(keep=19)
def test_loops_on_integers_give_exactly_the_language_s_result(kernel, form, preset):
    code = compiled(kernel, arguments_for(kernel, (3, 3, 3)), preset, form=form)
    for sizes in SIZES:
        assert_as_defined(kernel, arguments_for(kernel, sizes), code)


# one operation after the other


@pytest.mark.parametrize("preset", WIDE[-1:])
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_integer_operations_wrap_floor_and_divide_by_zero_as_numpy_s(dtype, preset):
    first, second = pairs(integers(dtype))
    args = {"A": first, "B": second, "R": np.zeros((INTEGER_ROWS, len(first)), dtype)}
    code = compiled(integer_operations, args, preset)
    assert_as_defined(integer_operations, args, code)


@pytest.mark.parametrize("preset", WIDE)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_float_operations_keep_ieee_s_special_values(dtype, preset):
    first, second = pairs(floats(dtype))
    args = {"A": first, "B": second, "R": np.zeros((FLOAT_ROWS, len(first)), dtype)}
    assert_as_defined(float_operations, args, compiled(float_operations, args, preset))
    args = {"A": first, "B": second, "R": np.zeros((2, len(first)), dtype)}
    assert_as_defined(float_extremes, args, compiled(float_extremes, args, preset))
    some = first != 0
    args = {"A": first[some], "B": second[some], "R": np.zeros((2, some.sum()), dtype)}
    assert_as_defined(float_extremes_of_numbers, args, compiled(float_extremes_of_numbers, args, preset))


@pytest.mark.parametrize("preset", WIDE)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "uint8"])
def test_truth_values_are_bytes_in_memory_and_bits_in_lanes(dtype, preset):
    first, second = pairs(floats(dtype) if dtype.startswith("f") else integers(dtype))
    truth = np.arange(len(first)) % 3 == 0
    args = {"A": first, "B": second, "P": np.zeros((9, len(first)), bool), "Q": truth}
    assert_as_defined(truth_values, args, compiled(truth_values, args, preset))
    if dtype.startswith("f"):
        args = {"A": first, "P": np.zeros((3, len(first)), bool)}
        assert_as_defined(float_tests, args, compiled(float_tests, args, preset))


def test_every_operation_runs_in_lanes():
    first, second = pairs(integers("int32"))
    args = {"A": first, "B": second, "R": np.zeros((INTEGER_ROWS, len(first)), "int32")}
    program = program_of(integer_operations, args, "avx2", form="source")
    assert in_lanes(program) == dict.fromkeys(program.scop.statements, 8)


@pytest.mark.parametrize("preset", WIDE)
def test_conversions_between_types_are_numpy_s(preset):
    rng = np.random.default_rng(2)
    n = 37
    args = {
        "F": rng.uniform(0, 120, n), "G": rng.normal(size=n).astype("float32"), "I": rng.integers(-(2**62), 2**62, n),
        "U": rng.integers(0, 2**32, n).astype("uint32"), "S": rng.integers(-128, 128, n).astype("int8"),
        "T": rng.integers(0, 256, n).astype("uint8"), "P": rng.random(n) < 0.5, "R": np.zeros((5, n)),
    }  # fmt: skip
    args["F"][::5] = 0.0
    for form in ("source", "auto"):
        assert_as_defined(casts, args, compiled(casts, args, preset, form=form))


@pytest.mark.parametrize("preset", WIDE)
@pytest.mark.parametrize("n", [0, 1, 9, 40])
def test_loop_variables_are_values_in_every_lane(preset, n):
    for dtype in ("int64", "float32"):
        args = {"R": np.zeros((6, n), dtype), "k": 5}
        assert_as_defined(indices, args, compiled(indices, args, preset, form="source"))
