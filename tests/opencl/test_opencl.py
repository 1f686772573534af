"""Kernels on an OpenCL device, where there is one."""

import warnings

import numpy as np
import pytest

import polyml
from polyml.errors import BoundsError, ConfigError, PolymlOverflowError, PolymlPerformanceWarning
from polyml.polyhedra import BudgetExceeded
from polyml.runtime.gpu.opencl import OpenCl
from tests.fuzz.check import check
from tests.fuzz.generate import program
from tests.opencl import footprints
from tests.opencl.programs import array_programs, polybench, shared_footprints

POLYBENCH = ("gemm", "syrk", "trisolv", "lu", "jacobi_2d", "fdtd_2d", "floyd_warshall", "seidel_2d")
ARRAYS = ("softmax", "batchnorm", "average_pool", "black_scholes", "ell_spmv")


def _devices():
    try:
        import pyopencl
    except ImportError:
        return 0
    try:
        return sum(len(platform.get_devices()) for platform in pyopencl.get_platforms())
    except pyopencl.Error:
        return 0


pytestmark = pytest.mark.skipif(not _devices(), reason="there is no OpenCL device")


@pytest.fixture(autouse=True)
def launches_are_for_gpus(monkeypatch):
    monkeypatch.setattr(OpenCl, "in_turn", False)


def on_device(function, **settings):
    return polyml.kernel(function, target="opencl", fallback="error", **settings)


@pytest.mark.parametrize("name", POLYBENCH)
def test_kernels_of_polybench_compute_what_their_references_do(name):
    (outcome,) = polybench((name,))
    assert outcome.problem == outcome.refused == ""


@pytest.mark.parametrize("name", footprints.NAMES)
def test_threads_find_what_they_share(name, monkeypatch):
    monkeypatch.setattr("polyml.schedule.gpu.launch_plan.TILE", ((4, 4), (2, 2)))
    monkeypatch.setattr("polyml.schedule.gpu.launch_plan.TILE_OF_HALVES", ((4, 4), (2, 2)))
    (outcome,) = shared_footprints((name,))
    assert outcome.problem == outcome.refused == ""


@pytest.mark.parametrize("name", ["jacobi_2d", "fdtd_2d", "heat_3d", "correlation"])
def test_launches_of_threads_that_run_in_turn(name, monkeypatch):
    monkeypatch.setattr(OpenCl, "in_turn", True)
    (outcome,) = polybench((name,))
    assert outcome.problem == outcome.refused == ""


@pytest.mark.parametrize("name", ARRAYS)
def test_array_programs_compute_what_their_references_do(name):
    (outcome,) = array_programs((name,))
    assert outcome.problem == outcome.refused == ""


@pytest.mark.parametrize("seed", range(1, 9))
def test_random_programs_are_right_or_refused(seed):
    outcome = check(program(seed), ["opencl", "opencl-in-turn", "opencl-arrays"])
    assert outcome.kind in ("ok", "refused"), outcome.detail


# values


def integer_operations(x, y, z):
    for i in range(x.shape[0]):
        z[0, i] = x[i] + y[i]
        z[1, i] = x[i] - y[i]
        z[2, i] = x[i] * y[i]
        z[3, i] = x[i] // y[i]
        z[4, i] = x[i] % y[i]
        z[5, i] = x[i] << y[i]
        z[6, i] = x[i] >> y[i]
        z[7, i] = x[i] & y[i]
        z[8, i] = ~x[i] | y[i]
        z[9, i] = x[i] ^ y[i]
        z[10, i] = np.minimum(x[i], y[i])
        z[11, i] = max(x[i], y[i])
        z[12, i] = abs(x[i])
        z[13, i] = np.sign(x[i])
        z[14, i] = x[i] ** 3
        z[15, i] = x[i] if x[i] < y[i] else -y[i]


def edges(dtype):
    limits = np.iinfo(dtype)
    some = np.array([limits.min, limits.min + 1, 0, 1, 2, 3, 7, limits.max - 1, limits.max], dtype)
    some = np.concatenate([some, np.array([-1, -2, -7], dtype)]) if limits.min else some
    return (grid.ravel().copy() for grid in np.meshgrid(some, some))


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_integers_are_numpys(dtype):
    x, y = edges(dtype)
    wanted, found = np.zeros((16, len(x)), dtype), np.zeros((16, len(x)), dtype)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        integer_operations(x, y, wanted)
    on_device(integer_operations)(x, y, found)
    assert np.array_equal(found, wanted)


def float_operations(x, y, z):
    for i in range(x.shape[0]):
        z[0, i] = x[i] + y[i]
        z[1, i] = x[i] * y[i] - x[i]
        z[2, i] = x[i] / y[i]
        z[3, i] = x[i] // y[i]
        z[4, i] = x[i] % y[i]
        z[5, i] = np.minimum(x[i], y[i])
        z[6, i] = np.maximum(x[i], y[i])
        z[7, i] = np.fmin(x[i], y[i])
        z[8, i] = np.fmax(x[i], y[i])
        z[9, i] = min(x[i], y[i])
        z[10, i] = max(x[i], y[i])
        z[11, i] = np.sign(x[i])
        z[12, i] = np.copysign(x[i], y[i])
        z[13, i] = np.rint(x[i]) + np.floor(y[i]) - np.trunc(x[i])
        z[14, i] = np.fmod(x[i], y[i])
        z[15, i] = np.sqrt(abs(x[i])) if np.isfinite(x[i]) else 1.0


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_floats_are_numpys(dtype):
    import ml_dtypes

    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    some = np.array([0.0, -0.0, 1.0, -1.5, 2.5, 3.0, -7.25, 100.0, np.inf, -np.inf, np.nan])
    x, y = (grid.ravel().astype(kind) for grid in np.meshgrid(some, some))
    wanted, found = np.zeros((16, len(x)), kind), np.zeros((16, len(x)), kind)
    polyml.kernel(float_operations, fp="strict", fallback="error")(x, y, wanted)
    on_device(float_operations, fp="strict")(x, y, found)
    assert np.array_equal(found.astype(float), wanted.astype(float), equal_nan=True)
    assert np.array_equal(np.signbit(found.astype(float))[found == 0], np.signbit(wanted.astype(float))[found == 0])


def conversions(x, a, b, c, d, e, f, g, h):
    for i in range(x.shape[0]):
        a[i] = x[i]
        b[i] = x[i]
        c[i] = x[i]
        d[i] = x[i]
        e[i] = x[i]
        f[i] = x[i]
        g[i] = x[i]
        h[i] = x[i] != 0


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32", "uint64", "uint8", "bool"])
def test_conversions_are_numpys(dtype):
    x = (
        np.array([0, 1, 2, 77, 100, 0, 1, 3]).astype(dtype)
        if dtype == "bool"
        else np.array([0, 1, 2, 77.9, 100.5, 65.0, 0.4, 3]).astype(dtype)
    )
    types = ["float64", "float32", "float16", "int8", "uint16", "int64", "uint64", "bool"]
    wanted = [x.astype(kind) for kind in types[:-1]] + [x != 0]
    found = [np.zeros(len(x), kind) for kind in types]
    on_device(conversions)(x, *found)
    assert all(np.array_equal(a, b) for a, b in zip(found, wanted))


def test_complex_numbers():
    def products(a, b, c):
        for i in range(a.shape[0]):
            c[i] = a[i] * b[i] + abs(a[i]) - np.conj(b[i]) / (1 + 2j)

    rng = np.random.default_rng(1)
    a, b = (rng.random(20) + 1j * rng.random(20) for _ in range(2))
    wanted, found = np.zeros(20, complex), np.zeros(20, complex)
    products(a, b, wanted)
    on_device(products)(a, b, found)
    assert np.allclose(found, wanted, rtol=1e-14)


# calls


def scaled(A, factor):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] = A[i, j] * factor


def test_arrays_that_are_not_stored_row_by_row_come_back_as_they_went():
    whole = np.arange(48.0).reshape(6, 8)
    part, wanted = whole[::2, 1::3], whole.copy()
    wanted[::2, 1::3] *= 2
    on_device(scaled)(part, 2.0)
    assert np.array_equal(whole, wanted)
    turned = np.asfortranarray(np.arange(12.0).reshape(3, 4))
    on_device(scaled)(turned, 3.0)
    assert np.array_equal(turned, 3 * np.arange(12.0).reshape(3, 4))


def test_results_are_returned():
    def totals(A):
        sums = np.zeros(A.shape[0])
        whole = 0.0
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                sums[i] += A[i, j]
        for i in range(A.shape[0]):
            whole += sums[i]
        return sums, whole, A

    A = np.arange(12.0).reshape(3, 4)
    sums, whole, same = on_device(totals)(A)
    assert np.array_equal(sums, A.sum(1)) and whole == 66.0 and same is A


def test_names_that_the_text_gives_itself_may_be_a_kernel_s_too(monkeypatch):
    """Of arrays, numbers and loops: C_held is a register of C, A_tile a tile, i_block where a block begins, v0 a constant, exp a function."""

    def product(C, C_held, A_tile, half, exp):
        for i in range(C.shape[0]):
            for j in range(C.shape[1]):
                for i_block in range(C_held.shape[1]):
                    C[i, j] += C_held[i, i_block] * A_tile[i_block, j] * half + exp

    def powers(v0, e0, thread):
        for status in range(v0.shape[0]):
            e0[status] = (np.exp(v0[status]) + thread) * (np.exp(v0[status]) + thread)

    monkeypatch.setattr("polyml.schedule.gpu.launch_plan.TILE", ((4, 4), (2, 2)))
    monkeypatch.setattr("polyml.schedule.gpu.launch_plan.TILE_OF_HALVES", ((4, 4), (2, 2)))
    rng = np.random.default_rng(0)
    A, B = (rng.integers(-4, 4, shape).astype(float) for shape in ((9, 5), (5, 11)))
    C = np.zeros((9, 11))
    on_device(product)(C, A, B, 0.5, 1.0)
    assert np.array_equal(C, A @ B * 0.5 + 5)
    x, y = rng.random(6), np.zeros(6)
    on_device(powers)(x, y, 2.0)
    assert np.allclose(y, (np.exp(x) + 2) ** 2, rtol=1e-14)


def test_numbers_that_are_no_integers_raise_what_they_do_on_processors():
    def whole(x, y):
        total = 0
        for i in range(x.shape[0]):
            total += int(x[i])
            y[i] = 1.0
        return total

    for value, error in ((np.nan, ValueError), (np.inf, PolymlOverflowError)):
        y = np.zeros(3)
        for kernel in (polyml.kernel(whole, fallback="error"), on_device(whole)):
            with pytest.raises(error):
                kernel(np.array([1.0, value, 2.0]), y if kernel.gpu else np.zeros(3))
        assert np.array_equal(y, np.zeros(3))


def test_nothing_is_written_where_an_access_is_out_of_bounds():
    def shifted(x, y):
        for i in range(x.shape[0]):
            y[i] = x[i + 1]

    y = np.ones(4)
    with pytest.raises(BoundsError):
        on_device(shifted)(np.zeros(4), y)
    assert np.array_equal(y, np.ones(4))


def test_nothing_is_written_where_an_integer_leaves_64_bits():
    def powers(x, n):
        for i in range(x.shape[0]):
            x[i] = 1
        total = 1
        for i in range(n):
            total = total * 3
        return total

    x = np.zeros(3)
    kernel = on_device(powers)
    assert kernel(x, 20) == 3**20
    x[:] = 0
    with pytest.raises(PolymlOverflowError):
        kernel(x, 41)
    assert np.array_equal(x, np.zeros(3))


def test_arrays_that_overlap_run_as_plain_python():
    def moved(x, y):
        for i in range(x.shape[0]):
            y[i] = x[i] + 1

    memory = np.zeros(6)
    kernel = polyml.kernel(moved, target="opencl")
    with pytest.warns(PolymlPerformanceWarning, match="overlap"):
        kernel(memory[:-1], memory[1:])
    assert np.array_equal(memory, np.arange(6.0))


def test_a_reshape_is_compiled_for_each_size():
    def pooled(x):
        return x.reshape(x.shape[0] // 2, 2).max(axis=1)

    kernel = on_device(pooled)
    for n in (6, 10, 6):
        x = np.random.default_rng(n).random(n)
        assert np.array_equal(kernel(x), x.reshape(-1, 2).max(axis=1))


def test_explain_says_what_each_launch_runs_on():
    kernel = on_device(scaled)
    kernel(np.ones((2, 3)), 1.0)
    assert "scaled_0: threads for j in blocks of 32, i in blocks of 8" in kernel.explain()
    assert kernel.inspect_opencl().count("__kernel") == 1


def test_explain_says_what_blocks_copy_to_shared_memory_and_why():
    kernel = on_device(footprints.turned)
    kernel(*footprints.arguments("turned"))
    box = "A[i_block - 1..i_block + 32, j_block - 1..j_block + 32]"
    copied = f"turned_0: loads of {box} ask for 5120 lines of 128 bytes, 234 with a copy in shared memory: copied"
    assert copied in kernel.explain()


def test_a_kernel_whose_loops_are_not_found_parallel_in_time_runs_on_one_thread(monkeypatch):
    def never(*given):
        raise BudgetExceeded("no time")

    monkeypatch.setattr("polyml.schedule.gpu.launch_plan.every_nest", never)
    kernel, A = on_device(scaled), np.ones((2, 3))
    kernel(A, 2.0)
    assert np.array_equal(A, np.full((2, 3), 2.0)) and "one thread" in kernel.explain()


@pytest.mark.parametrize("tile", [((4, 4), (2, 2)), ((8, 2), (1, 3)), ((2, 2), (4, 1))])
@pytest.mark.parametrize("name", ["gemm", "syr2k", "symm", "k2mm", "covariance", "doitgen"])
def test_threads_with_several_iterations_compute_what_references_do(name, tile, monkeypatch):
    """At these sizes some threads have all of their iterations and some do not."""
    monkeypatch.setattr("polyml.schedule.gpu.launch_plan.TILE", tile)
    monkeypatch.setattr("polyml.schedule.gpu.launch_plan.TILE_OF_HALVES", tile)
    (outcome,) = polybench((name,))
    assert outcome.problem == outcome.refused == ""


def test_a_device_that_there_is_not_is_refused():
    kernel = polyml.kernel(scaled, target=polyml.Target.opencl("no such device"))
    with pytest.raises(ConfigError, match="no OpenCL device 'no such device'"):
        kernel(np.ones((2, 2)), 1.0)


def test_loops_of_a_function_that_is_not_compiled_as_a_whole_run_on_the_device(monkeypatch):
    def until_small(A, B):
        while A[1, 1] > 1.0:
            for i in range(A.shape[0]):
                for j in range(A.shape[1]):
                    B[i, j] = 0.5 * A[i, j]
            for i in range(A.shape[0]):
                for j in range(A.shape[1]):
                    A[i, j] = B[i, j]

    texts = []
    compile_whole = OpenCl.compile

    def compile_noted(device, text, *given):
        texts.append(text)
        return compile_whole(device, text, *given)

    monkeypatch.setattr(OpenCl, "compile", compile_noted)
    A, B = (np.full((200, 300), 6.0) for _ in range(2))
    kernel = polyml.kernel(until_small, target="opencl", fallback="silent", cache=False)
    kernel(A, B)
    assert np.array_equal(A, np.full((200, 300), 0.75)) and np.array_equal(A, B)
    assert list(kernel.compiled_parts()) and len(texts) == 1 and "B[i*B_1 + j] = 0.5 * A[" in texts[0]
