"""CUDA's driver through cuda.bindings and pycuda, which find the emulated one."""

import importlib.util
import subprocess
import sys

import pytest

import polyml
from polyml.errors import ConfigError
from polyml.runtime.gpu.cuda import driver
from tests.cuda.emulator import compiler
from tests.cuda.emulator.image import environment

MODULES = {"cuda-python": "cuda.bindings", "pycuda": "pycuda"}
emulated = pytest.mark.skipif(compiler.compiler() is None, reason="there is no g++")


def missing(library: str) -> bool:
    return importlib.util.find_spec(MODULES[library].partition(".")[0]) is None


@emulated
@pytest.mark.parametrize("name", ["programs", "arrays", "repeated", "streams", "memory", "gone"])
@pytest.mark.parametrize("library", list(MODULES))
def test_calls(library, name, tmp_path):
    if missing(library):
        pytest.skip(f"{MODULES[library]} is not installed")
    command = [sys.executable, "-m", "tests.runtime.gpu.cuda.calls", library, name]
    ran = subprocess.run(command, env=environment(tmp_path), capture_output=True, text=True)
    assert ran.stdout.startswith("right"), ran.stdout + ran.stderr


PROGRAM = """
import sys, numpy as np, polyml

@polyml.kernel(target="cuda", fallback="error")
def scaled(A, B, by):
    for i in range(A.shape[0]):
        B[i] = A[i] * by

A, B = np.arange(5.0), np.zeros(5)
scaled(A, B, 3.0)
assert B.tolist() == [0, 3, 6, 9, 12], B
print("from the disk cache" in scaled.explain())
"""


@emulated
def test_a_second_process_compiles_nothing(tmp_path):
    if all(map(missing, MODULES)):
        pytest.skip("neither cuda.bindings nor pycuda is installed")
    settings = {**environment(tmp_path), "POLYML_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(polyml.__path__[0])[:-7]}
    (tmp_path / "program.py").write_text(PROGRAM)
    for expected in ("False\n", "True\n"):
        ran = subprocess.run([sys.executable, tmp_path / "program.py"], env=settings, capture_output=True, text=True)
        assert ran.stdout == expected, ran.stderr
        assert len(list((tmp_path / "cache").rglob("binary-*.bin"))) == 1


def test_a_library_that_is_not_installed_is_said_so(monkeypatch):
    def absent(wanted):
        raise ModuleNotFoundError("no module")

    monkeypatch.setattr(driver, "LIBRARIES", {"cuda-python": absent, "pycuda": absent})
    with pytest.raises(ConfigError) as refused:
        driver.open_device.__wrapped__("")
    assert str(refused.value) == (
        "error: target cuda needs cuda.bindings or pycuda\n  note: pip install polyml[cuda-python], or polyml[cuda]"
    )


@pytest.mark.parametrize("library", list(MODULES))
def test_a_machine_without_a_device_is_said_so(library):
    if missing(library):
        pytest.skip(f"{MODULES[library]} is not installed")
    with pytest.raises(ConfigError, match="there is no CUDA device"):
        driver.LIBRARIES[library]("no such device")


@pytest.mark.parametrize(
    "stream, handle", [(7, 7), (type("Torch", (), {"cuda_stream": 8})(), 8), (type("CuPy", (), {"ptr": 9})(), 9)]
)
def test_streams_of_libraries_have_a_handle(stream, handle):
    assert driver._handle(stream) == handle


def test_a_stream_by_the_protocol_of_cuda_core_has_a_handle():
    assert driver._handle(type("Core", (), {"__cuda_stream__": lambda self: (0, 11)})()) == 11
