"""Calls on an OpenCL device: arrays that are there, queues, and code that is kept on disk."""

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import polyml
from polyml import config
from polyml.codegen.gpu.text.dialect import DIALECTS, OPENCL
from polyml.errors import (
    BoundsError,
    CompileError,
    ConfigError,
    NotAffineError,
    PolymlOverflowError,
    PolymlTypeError,
    PolymlValueError,
)
from polyml.runtime.gpu.opencl import OpenCl, in_context
from tests.opencl.test_opencl import pytestmark  # noqa: F401  where there is a device


@pytest.fixture(autouse=True)
def nothing_is_kept_on_disk():
    with config.scope(cache=False):
        yield


@pytest.fixture(scope="module")
def cl():
    import pyopencl

    return pyopencl


@pytest.fixture(scope="module")
def queue(cl):
    device = next(device for platform in cl.get_platforms() for device in platform.get_devices())
    return cl.CommandQueue(cl.Context([device]))


def on_device(function):
    return polyml.kernel(function, target="opencl", fallback="error")


@on_device
def scaled(A, B):
    for i in range(A.shape[0]):
        B[i] = A[i] * 2.0


@on_device
def twice(A, B):
    return A * 2 + B


@on_device
def total(A, n):
    s = 0.0
    for i in range(n):
        s += A[i]
    return s


def take(A, at, B):
    for i in range(at.shape[0]):
        B[i] = A[at[i]]


@on_device
def counted(A, by):
    for i in range(A.shape[0]):
        A[i] = A[i] + by * by


def put(queue, array):
    import pyopencl.array

    return pyopencl.array.to_device(queue, array)


A = np.arange(1000.0)


def test_arrays_on_the_device_are_used_where_they_are(queue):
    a, b = put(queue, A), put(queue, np.zeros_like(A))
    assert scaled(a, b) is None and np.array_equal(b.get(), A * 2) and scaled.compiled


def test_numpy_arrays_may_be_mixed_with_them(queue):
    a, B = put(queue, A), np.zeros_like(A)
    scaled(a, B)
    assert np.array_equal(B, A * 2)
    b = put(queue, np.zeros_like(A))
    scaled(A, b)
    assert np.array_equal(b.get(), A * 2)


def test_results_are_on_the_device_where_all_arrays_are(queue):
    import pyopencl.array

    a, b = put(queue, A), put(queue, A)
    found = twice(a, b)
    assert isinstance(found, pyopencl.array.Array) and found.queue == queue and np.array_equal(found.get(), A * 3)
    assert type(twice(a, A)) is np.ndarray and type(twice(A, A)) is np.ndarray
    assert total(a, 10) == 45.0


def test_a_view_may_begin_anywhere(queue):
    for first in (0, 1, 16, 128, 3):
        a, b = put(queue, A), put(queue, np.zeros_like(A))
        scaled(a[first : first + 100], b[5 + first : 105 + first])
        wanted = np.zeros_like(A)
        wanted[5 + first : 105 + first] = A[first : first + 100] * 2
        assert np.array_equal(b.get(), wanted)


def test_a_buffer_of_a_part_of_another_is_told_apart_from_it(cl, queue):
    import pyopencl.array

    whole = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 16384)
    one, other = whole.get_sub_region(0, 8192), whole.get_sub_region(4096, 8192)
    a, b = (pyopencl.array.Array(queue, (100,), np.float64, data=each) for each in (one, other))
    a.set(A[:100])
    scaled(a, b)
    assert np.array_equal(b.get(), A[:100] * 2)
    c = pyopencl.array.Array(queue, (600,), np.float64, data=one)
    with pytest.raises(NotAffineError, match="`B` and `A` overlap"):
        scaled(b, c)


def test_empty_arrays_are_taken(queue):
    import pyopencl.array

    a = pyopencl.array.empty(queue, (0,), np.float64)
    assert scaled(a, a) is None and twice(a, a).shape == (0,)


def test_what_is_not_stored_row_by_row_overlaps_or_is_elsewhere_is_refused(cl, queue):
    a, b = put(queue, A), put(queue, np.zeros_like(A))
    other = put(cl.CommandQueue(cl.Context([queue.device])), A)
    for call, kind, why in [
        (lambda: scaled(a[::2], b), PolymlTypeError, "stored row by row"),
        (lambda: scaled(a, a), NotAffineError, "`B` and `A` overlap"),
        (lambda: scaled(a[:10], a[5:15]), NotAffineError, "`B` and `A` overlap"),
        (lambda: scaled(put(queue, A.astype(complex)), b), PolymlTypeError, "complex numbers"),
        (lambda: scaled(a, other), PolymlTypeError, "several contexts"),
    ]:
        with pytest.raises(kind, match=why) as refused:
            call()
        assert str(refused.value).count("in a call of scaled") == 1
    assert np.array_equal(b.get(), np.zeros_like(A))


def test_bounds_are_tested_before_anything_is_written(queue):
    a, b = put(queue, A), put(queue, np.zeros(10))
    with pytest.raises(BoundsError) as on_gpu:
        scaled(a, b)
    with pytest.raises(BoundsError) as on_cpu:
        polyml.kernel(scaled.py_func)(A, np.zeros(10))
    said = str(on_gpu.value)
    assert said.startswith(str(on_cpu.value)) and "index 10 in dimension 0 of size 10" in said and "at i = 10" in said
    assert not b.get().any()


@pytest.mark.parametrize("where", ["device", "host"])
def test_an_index_array_decides_whether_bounds_are_kept(queue, where):
    B, at = np.zeros(3), np.array([2, 0, 999])
    taken = polyml.kernel(take, target="opencl", fallback="silent")
    given = (lambda each: put(queue, each)) if where == "device" else (lambda each: each)
    taken(A, given(at), B)
    assert B.tolist() == [2.0, 0.0, 999.0]
    with pytest.raises(IndexError if where == "host" else polyml.PolymlError, match="out of bounds|plain Python decides"):
        taken(A, given(at + 1), B)
    assert where == "host" or B.tolist() == [2.0, 0.0, 999.0]


def test_a_number_that_does_not_fit_says_what_became_of_arrays(queue):
    B = np.zeros(3, np.int64)
    with pytest.raises(PolymlOverflowError, match="its arrays are as they were"):
        counted(B, 2**40)
    assert not B.any()
    with pytest.raises(PolymlOverflowError, match="its arrays on the device may be partly written"):
        counted(put(queue, B), 2**40)


def test_a_call_runs_in_the_queue_that_is_asked_for(cl, queue):
    other = cl.CommandQueue(queue.context)
    a, b = put(queue, A), put(queue, np.zeros_like(A))
    for _ in range(20):
        scaled.on(other)(a, b)
        scaled(b, a)
    assert np.array_equal(b.get(), A * 2 * 4.0**19)
    assert twice.on(other)(a, b).queue == other
    B = np.zeros_like(A)
    scaled.on(other)(A, B)
    assert np.array_equal(B, A * 2)


def test_queues_that_are_none_of_the_device_s_are_refused(cl, queue):
    disorder = cl.CommandQueue(queue.context, properties=cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)
    with pytest.raises(ConfigError, match="a queue of OpenCL is expected, not a int"):
        scaled.on(7)(A, A.copy())
    if disorder.properties & cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE:
        with pytest.raises(ConfigError, match="work in order, and this one does not"):
            scaled.on(disorder)(A, A.copy())
    with pytest.raises(PolymlTypeError, match="several contexts"):
        scaled.on(cl.CommandQueue(cl.Context([queue.device])))(put(queue, A), put(queue, A))
    with pytest.raises(ConfigError, match="runs on the processor"):
        polyml.kernel(scaled.py_func).on(queue)


def test_arrays_on_another_device_than_the_kernel_s_are_refused(queue):
    kernel = polyml.kernel(scaled.py_func, target=polyml.Target.opencl("no such device"))
    with pytest.raises(ConfigError, match="the arrays are on .*, and the kernel runs on 'no such device'"):
        kernel(put(queue, A), put(queue, A))
    with pytest.raises(PolymlTypeError, match="is on a device of OpenCL, and the kernel runs on CUDA"):
        polyml.kernel(scaled.py_func, target="cuda")(put(queue, A), put(queue, A))


def test_read_only_arrays_that_are_written_are_refused(cl, queue):
    import pyopencl.array

    fixed = cl.Buffer(queue.context, cl.mem_flags.READ_ONLY, A.nbytes)
    with pytest.raises(PolymlValueError, match="`B` is written, but the array is read-only"):
        scaled(put(queue, A), pyopencl.array.Array(queue, A.shape, A.dtype, data=fixed))


def test_memory_of_local_arrays_is_used_again(queue):
    @on_device
    def through(A, B):
        T = np.zeros(A.shape[0])
        for i in range(A.shape[0]):
            T[i] = A[i] + 1.0
        for i in range(A.shape[0]):
            B[i] = T[A.shape[0] - 1 - i]

    driver = in_context(queue.context, queue.device)
    a, b = put(queue, A), put(queue, np.zeros_like(A))
    driver.pool.clear()
    through(a, b)
    assert driver.pool.kept_bytes == A.nbytes
    through(a, b)
    assert driver.pool.kept_bytes == A.nbytes and np.array_equal(b.get(), A[::-1] + 1)


def test_too_large_a_grid_is_several_launches(queue, monkeypatch):
    @on_device
    def four(A):
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                for k in range(A.shape[2]):
                    for m in range(A.shape[3]):
                        A[i, j, k, m] = A[i, j, k, m] + i + 10 * j + 100 * k + 1000 * m

    monkeypatch.setitem(DIALECTS, "opencl", replace(OPENCL, splits=(True, True, True)))
    monkeypatch.setattr(OpenCl, "most_blocks", (2, 1, 3))
    monkeypatch.setattr(OpenCl, "in_turn", False)
    found = np.zeros((5, 7, 40, 70))
    i, j, k, m = np.ogrid[:5, :7, :40, :70]
    four(found)
    assert np.array_equal(found, i + 10 * j + 100 * k + 1000 * m)


def test_what_no_launch_reads_is_copied_to_the_device_only_where_some_of_it_is_not_written(monkeypatch):
    from polyml.runtime.gpu.opencl import OpenClQueue

    copied = []
    upload = OpenClQueue.upload
    monkeypatch.setattr(OpenClQueue, "upload", lambda self, *given: (copied.append(given[1].nbytes), upload(self, *given)))
    B, longer = np.zeros(100), np.full(101, 7.0)
    scaled(A[:100], B)
    assert copied == [800] and np.array_equal(B, A[:100] * 2)
    scaled(A[:100], longer)
    assert copied == [800, 808, 800] and np.array_equal(longer, [*A[:100] * 2, 7.0])


# the disk


PROGRAM = """
import sys, numpy as np, polyml

@polyml.kernel(target="opencl", fallback="error")
def scaled(A, B, by):
    for i in range(A.shape[0]):
        B[i] = A[i] * by

A, B = np.arange(5.0), np.zeros(5)
scaled(A, B, 3.0)
assert B.tolist() == [0, 3, 6, 9, 12], B
used = "islpy" in sys.modules
print("from the disk cache" in scaled.explain(), used)
"""


@pytest.fixture
def ran(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    settings = {"POLYML_CACHE_DIR": str(tmp_path / "cache")}

    def run():
        done = subprocess.run(
            [sys.executable, tmp_path / "program.py"], env={**os.environ, **settings}, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    return run


def test_a_second_process_compiles_nothing(ran, tmp_path):
    assert ran() == ["False", "True"]
    kept = sorted(each.name.partition("-")[0] for each in (tmp_path / "cache").rglob("*.bin"))
    assert kept == ["binary", "kernel"]
    assert ran() == ["True", "False"]


@pytest.mark.parametrize("kind", ["binary", "kernel"])
def test_damaged_files_are_written_again(ran, tmp_path, kind):
    ran()
    (file,) = (tmp_path / "cache").rglob(f"{kind}-*.bin")
    whole = file.read_bytes()
    for damaged in (b"", whole[:-1], whole[:100] + b"x" + whole[101:]):
        file.write_bytes(damaged)
        assert ran()[0] == str(kind == "binary")
        assert len(file.read_bytes()) > 100
    assert ran() == ["True", "False"]


def test_a_binary_that_the_driver_does_not_take_is_compiled_again(ran, tmp_path):
    from polyml.runtime.storage.disk_cache import Cache

    ran()
    (file,) = (tmp_path / "cache").rglob("binary-*.bin")
    cache = Cache(str(tmp_path / "cache"), 10**9)
    cache.put(file.name.removesuffix(".bin"), b"no code of any device")
    assert ran() == ["True", "False"]
    assert cache.get(file.name.removesuffix(".bin")) != b"no code of any device"


def test_a_text_that_the_compiler_refuses_is_an_error_with_its_messages(queue):
    with pytest.raises(CompileError, match="(?s)refuses a kernel.*no_such_function"):
        in_context(queue.context, queue.device).compile("__kernel void k(__global int *A) { no_such_function(A); }")


def test_too_many_threads_in_a_block_are_refused(queue):
    module = in_context(queue.context, queue.device).compile("__kernel void k(__global int *A) { A[0] = 1; }")
    with pytest.raises(ConfigError, match="threads of k in a block, which has 1099511627776"):
        module.kernel("k", (2**20, 2**20, 1))


def test_too_much_shared_memory_is_refused(queue):
    bytes_ = queue.device.local_mem_size + 4
    text = f"__kernel void k(__global int *A) {{ __local char t[{bytes_}]; t[A[1]] = 1; barrier(1); A[0] = t[A[2]]; }}"
    with pytest.raises((ConfigError, CompileError)):
        in_context(queue.context, queue.device).compile(text).kernel("k", (1, 1, 1))
