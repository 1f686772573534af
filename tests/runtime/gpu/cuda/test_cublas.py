"""cuBLAS through ctypes: the emulated one in calls, and NVIDIA's, of which the names and numbers are looked at."""

import ctypes
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from polyml import kernel
from polyml.config import Options
from polyml.frontend.parsing.parse import parse
from polyml.pipeline.gpu.compile import compile_for_gpu
from polyml.pipeline.gpu.device import Device
from polyml.runtime.gpu.cuda import cublas
from polyml.runtime.gpu.cuda.nvrtc import _headers
from polyml.runtime.storage.records import parse_type
from tests.cuda.emulator.image import environment
from tests.runtime.gpu.cuda.test_driver import MODULES, emulated, missing


@emulated
@pytest.mark.parametrize("name", ["forms", "batches", "halves", "refusals", "repeated", "missing"])
def test_products(name, tmp_path):
    check("cuda-python", name, tmp_path)


@emulated
def test_products_through_pycuda(tmp_path):
    check("pycuda", "repeated", tmp_path)


def check(library: str, name: str, folder: Path):
    if missing(library):
        pytest.skip(f"{MODULES[library]} is not installed")
    command = [sys.executable, "-m", "tests.runtime.gpu.cuda.products", library, name]
    ran = subprocess.run(command, env=environment(folder), capture_output=True, text=True)
    assert ran.stdout.startswith("right"), ran.stdout + ran.stderr


NUMBERS = {
    "CUDA_R_32F": 0, "CUDA_R_64F": 1, "CUDA_R_16F": 2, "CUDA_R_16BF": 14, "CUBLAS_COMPUTE_32F": 68, "CUBLAS_COMPUTE_64F": 70,
    "CUBLAS_COMPUTE_32F_FAST_TF32": 77, "CUBLAS_OP_N": 0, "CUBLAS_OP_T": 1, "CUBLAS_GEMM_DEFAULT": -1, "CUBLAS_STATUS_ALLOC_FAILED": 3,
}  # fmt: skip


def test_numbers_are_those_of_nvidias_headers():
    used = {*cublas.TYPES.values(), *cublas.COMPUTE.values(), cublas.NOT_TRANSPOSED, cublas.TRANSPOSED}
    assert used | {cublas.FAST_TF32, cublas.DEFAULT_ALGORITHM, cublas.NO_MEMORY} == {*NUMBERS.values()}
    found = {}
    for folder in _headers():
        for header in (Path(folder, name) for name in ("cublas_api.h", "library_types.h")):
            text = header.read_text() if header.exists() else ""
            found |= {name: int(value) for name, value in re.findall(r"\b(CU\w+)\s*=\s*(-?\d+)", text)}
    if "CUBLAS_OP_N" not in found or "CUDA_R_32F" not in found:
        pytest.skip("NVIDIA's headers are not installed")
    assert {name: found[name] for name in NUMBERS} == NUMBERS


def test_nvidias_library_has_the_functions():
    for place in cublas._places():
        try:
            library = ctypes.CDLL(place)
        except OSError:
            continue
        names = ("cublasCreate_v2", "cublasSetStream_v2", "cublasGemmEx", "cublasGemmStridedBatchedEx")
        assert all(hasattr(library, name) for name in names)
        return
    pytest.skip("NVIDIA's library is not installed")


def test_other_targets_have_no_use_for_it():
    double = kernel(doubled, libraries=True, cache=False)
    double(np.ones(3))
    assert "libraries, which the target has no use for: cuBLAS is for CUDA devices alone" in double.explain()
    assert compiled_notes("opencl")[-1] == "libraries changes nothing: cuBLAS is for CUDA devices alone"
    assert compiled_notes("cuda")[-1] == "libraries changes nothing: no launch has a product of two matrices"


def doubled(A):
    for i in range(A.shape[0]):
        A[i] *= 2.0


def compiled_notes(dialect: str) -> tuple[str, ...]:
    return compile_for_gpu(parse(doubled), (parse_type("f64[:]"),), Options(), Device(dialect, libraries=True)).notes
