"""The emulated libcuda.so.1: called by name, and by cuda.bindings and pycuda where they are installed."""

import ctypes
import importlib.util
import subprocess
import sys

import numpy as np
import pytest

from tests.cuda.emulator import compiler
from tests.cuda.emulator.image import environment, image

pytestmark = pytest.mark.skipif(compiler.compiler() is None, reason="there is no g++")
SCALED = """
extern "C" __global__ void __launch_bounds__(64) scaled(float *A, const int by, const long long n)
{
    __shared__ float tile[64];
    const long long i = blockIdx.x * 64 + threadIdx.x;
    tile[threadIdx.x] = by;
    __syncthreads();
    if (i < n)
        A[i] = A[i] * tile[63 - threadIdx.x];
}
"""
NOT_READY, ILLEGAL_ADDRESS, OUT_OF_RESOURCES, OUT_OF_MEMORY, NOT_FOUND, INVALID_IMAGE = 600, 700, 701, 2, 500, 200


class Driver:
    """Functions of the library, by their names without `cu`; each returns the number of its result."""

    def __init__(self):
        self.library = ctypes.CDLL(str(compiler.runtime().parent / "libcuda.so.1"))

    def __getattr__(self, name):
        function = getattr(self.library, f"cu{name}")
        return lambda *given: function(*(ctypes.c_uint64(each) if isinstance(each, int) else each for each in given))

    def made(self, name, *given):
        """What a function writes to its first parameter."""
        value = ctypes.c_uint64()
        assert getattr(self, name)(ctypes.byref(value), *given) == 0
        return value.value


@pytest.fixture
def driver():
    found = Driver()
    assert found.Init(0) == 0 and found.CtxSetCurrent(found.made("DevicePrimaryCtxRetain", 0)) == 0
    yield found
    found.DevicePrimaryCtxReset_v2(0)


def address(array):
    return array.ctypes.data


def launch(driver, A, n, by=3, stream=0, blocks=2, threads=64):
    """The result of a launch of the kernel that scales A."""
    function = driver.made("ModuleGetFunction", driver.made("ModuleLoadData", image(SCALED)), b"scaled")
    arguments = ctypes.c_uint64(A), ctypes.c_int(by), ctypes.c_longlong(n)
    pointers = (ctypes.c_void_p * 3)(*(ctypes.addressof(each) for each in arguments))
    return driver.LaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, pointers, None)


def test_a_kernel_changes_memory_of_the_device(driver):
    A = np.arange(100, dtype=np.float32)
    memory, found = driver.made("MemAlloc_v2", A.nbytes), np.zeros_like(A)
    assert driver.MemcpyHtoD_v2(memory, address(A), A.nbytes) == 0 and launch(driver, memory, 100) == 0
    assert driver.MemcpyDtoH_v2(address(found), memory, A.nbytes) == 0 and driver.MemFree_v2(memory) == 0
    assert (found == 3 * A).all()


def test_work_of_a_stream_is_done_when_something_waits_for_it(driver):
    A, stream, event = np.ones(100, np.float32), driver.made("StreamCreate", 1), driver.made("EventCreate", 0)
    memory, pinned = driver.made("MemAlloc_v2", A.nbytes), driver.made("MemHostAlloc", A.nbytes, 0)
    found = np.frombuffer((ctypes.c_float * 100).from_address(pinned), np.float32)
    found[:] = 0
    assert driver.MemcpyHtoDAsync_v2(memory, address(A), A.nbytes, stream) == 0
    A[:] = 7  # what is not pinned has been read
    assert launch(driver, memory, 100, stream=stream) == 0
    assert driver.MemcpyDtoHAsync_v2(pinned, memory, A.nbytes, stream) == 0 and driver.EventRecord(event, stream) == 0
    assert not found.any() and driver.StreamQuery(stream) == NOT_READY and driver.EventQuery(event) == NOT_READY
    assert driver.EventSynchronize(event) == 0 and (found == 3).all()
    assert driver.StreamQuery(stream) == 0 and driver.StreamDestroy_v2(stream) == 0


def test_a_stream_waits_for_an_event_of_another(driver):
    A, one, other = np.ones(64, np.float32), driver.made("StreamCreate", 1), driver.made("StreamCreate", 1)
    memory, event, found = driver.made("MemAlloc_v2", A.nbytes), driver.made("EventCreate", 0), np.zeros_like(A)
    assert driver.MemcpyHtoDAsync_v2(memory, address(A), A.nbytes, one) == 0 and driver.EventRecord(event, one) == 0
    assert driver.StreamWaitEvent(other, event, 0) == 0 and launch(driver, memory, 64, stream=other, blocks=1) == 0
    assert driver.MemcpyDtoHAsync_v2(address(found), memory, A.nbytes, other) == 0 and (found == 3).all()


def test_without_the_event_the_other_stream_is_too_early(driver, capfd):
    A, one, other = np.ones(64, np.float32), driver.made("StreamCreate", 1), driver.made("StreamCreate", 1)
    memory = driver.made("MemAlloc_v2", A.nbytes)
    assert driver.MemcpyHtoDAsync_v2(memory, address(A), A.nbytes, one) == 0
    assert launch(driver, memory, 64, stream=other, blocks=1) == 0 and driver.StreamSynchronize(other) != 0
    assert "read of an element that was never written" in capfd.readouterr().err


def test_a_mistake_of_a_kernel_is_an_error_from_then_on(driver, capfd):
    memory = driver.made("MemAlloc_v2", 400)
    assert driver.MemsetD32_v2(memory, 0, 100) == 0 and launch(driver, memory, 101) == ILLEGAL_ADDRESS
    assert driver.CtxSynchronize() == ILLEGAL_ADDRESS and driver.MemFree_v2(memory) == ILLEGAL_ADDRESS
    assert (
        "scaled: access out of bounds, A at byte 400, in line 9 by thread (36, 0, 0) of block (1, 0, 0)" in capfd.readouterr().err
    )


def test_what_a_device_does_not_have_is_an_error(driver):
    value = ctypes.c_uint64()
    assert driver.MemAlloc_v2(ctypes.byref(value), 2**40) == OUT_OF_MEMORY
    assert driver.ModuleLoadData(ctypes.byref(value), b"\x7fELF") == INVALID_IMAGE
    assert driver.ModuleGetFunction(ctypes.byref(value), driver.made("ModuleLoadData", image(SCALED)), b"other") == NOT_FOUND
    memory = driver.made("MemAlloc_v2", 400)
    assert launch(driver, memory, 100, threads=128) == OUT_OF_RESOURCES and driver.CtxSynchronize() == 0


CUDA_BINDINGS = """
import ctypes, subprocess, sys
import numpy as np
from cuda.bindings import driver as d

def ok(result):
    assert int(result[0]) == 0, result
    return result[1] if len(result) == 2 else result[1:]

ok(d.cuInit(0))
ok(d.cuCtxSetCurrent(ok(d.cuDevicePrimaryCtxRetain(ok(d.cuDeviceGet(0))))))
function = ok(d.cuModuleGetFunction(ok(d.cuModuleLoadData(open(sys.argv[1], "rb").read())), b"scaled"))
A = np.arange(100, dtype=np.float32)
memory, stream = ok(d.cuMemAlloc(A.nbytes)), ok(d.cuStreamCreate(1))
ok(d.cuMemcpyHtoDAsync(memory, A.ctypes.data, A.nbytes, stream))
arguments = (int(memory), 3, 100), (ctypes.c_void_p, ctypes.c_int, ctypes.c_longlong)
ok(d.cuLaunchKernel(function, 2, 1, 1, 64, 1, 1, 0, stream, arguments, 0))
found = np.zeros_like(A)
ok(d.cuMemcpyDtoHAsync(found.ctypes.data, memory, A.nbytes, stream))
ok(d.cuStreamSynchronize(stream))
print((found == 3 * A).all())
"""
PYCUDA = """
import sys
import numpy as np
import pycuda.driver as d

d.init()
context = d.Device(0).make_context()
function = d.module_from_buffer(open(sys.argv[1], "rb").read()).get_function("scaled")
A = np.arange(100, dtype=np.float32)
memory, stream = d.mem_alloc(A.nbytes), d.Stream()
d.memcpy_htod_async(memory, A, stream)
function.prepare("Piq")
function.prepared_async_call((2, 1), (64, 1, 1), stream, memory, 3, 100)
found = np.zeros_like(A)
d.memcpy_dtoh_async(found, memory, stream)
stream.synchronize()
print((found == 3 * A).all())
context.pop()
"""


@pytest.mark.parametrize(("package", "program"), [("cuda.bindings", CUDA_BINDINGS), ("pycuda", PYCUDA)])
def test_python_packages_find_the_emulated_driver(package, program, tmp_path):
    if importlib.util.find_spec(package.partition(".")[0]) is None:
        pytest.skip(f"{package} is not installed")
    settings = environment(tmp_path)
    (tmp_path / "kernel.cu").write_text(SCALED)
    made = tmp_path / "kernel.cubin"
    subprocess.run(["nvcc", "-arch=sm_90", "-cubin", "-o", made, tmp_path / "kernel.cu"], env=settings, check=True)
    ran = subprocess.run([sys.executable, "-c", program, made], env=settings, capture_output=True, text=True)
    assert ran.stdout == "True\n", ran.stderr


def test_what_gcc_refuses_is_an_error_of_the_compiler(tmp_path):
    (tmp_path / "kernel.cu").write_text("no kernel")
    ran = subprocess.run(
        ["nvcc", "-arch=sm_90", "-cubin", "-o", tmp_path / "made", tmp_path / "kernel.cu"],
        env=environment(tmp_path), capture_output=True, text=True,
    )  # fmt: skip
    assert ran.returncode == 1 and "error" in ran.stderr and not (tmp_path / "made").exists()
