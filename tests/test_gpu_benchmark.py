"""The benchmark of GPUs, as far as it runs without one."""

import os
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from statistics import median

import numpy as np
import pytest

from benchmarks.gpu import devices, table
from benchmarks.gpu.__main__ import NO_DEVICE, main
from benchmarks.gpu.cases import SMALL, WHOLE, Case, cases
from tests.opencl.test_opencl import pytestmark as on_devices

ROOT = Path(__file__).parent.parent
NAMES = (
    "GEMM f32 250",
    "GEMM tf32 250",
    "GEMM bf16 250",
    "GEMM f32, libraries=True 250",
    "GEMM bf16, libraries=True 250",
    "softmax 61 x 67",
    "layernorm 61 x 67",
    "jacobi-2d sweep 131",
    "ResNet-50 conv2_1a",
)


class Processor:
    """A device whose arrays are NumPy's."""

    name, torch, cache_bytes = "the processor", None, 1 << 16
    target = "opencl"

    def array(self, values):
        return values.copy()

    def host(self, array):
        return array

    def tensor(self, array):
        return array

    def seconds(self, run, repeats):
        spent = []
        for number in range(repeats):
            start = time.perf_counter()
            run(number)
            spent.append(time.perf_counter() - start)
        return median(spent)

    calls = seconds

    def reference(self, case, given):
        return case.reference(*given)


def test_a_machine_without_a_gpu_is_told_so(monkeypatch, capsys):
    def none():
        raise devices.NoDevice("PyTorch finds no NVIDIA GPU")

    monkeypatch.setattr(devices, "TorchDevice", none)
    assert main([]) == NO_DEVICE == 3
    assert capsys.readouterr().err == "nothing was measured: PyTorch finds no NVIDIA GPU\n"


def test_an_opencl_device_that_there_is_not_is_told():
    assert main(["--target", "opencl", "--device", "no such device"]) == NO_DEVICE


@pytest.mark.parametrize("name", NAMES)
@on_devices
def test_kernels_compute_what_numpy_does(name):
    (case,) = [each for each in cases(SMALL) if each.name.startswith(name)]
    (row,) = table.rows([case], Processor(), 1)
    assert row.problem == "" and row.rate("polyml") > 0
    assert row.cells()[0] == case.name and len(row.cells()) == len(table.header()[0].split("|")) - 2


@on_devices
def test_a_wrong_result_and_a_kernel_that_is_not_run_are_told():
    def wrong(y, x):
        for i in range(x.shape[0]):
            y[i] = 2 * x[i]

    def refused(y, x):
        y[:] = np.sort(x)

    def case(kernel):
        return Case("case", kernel, lambda rng: (rng.random(9),), ((9,), float), 1.0, "GB/s", lambda torch, x: x, lambda x: 3 * x)

    found = list(table.rows([case(wrong), case(refused)], Processor(), 1))
    assert "polyml is 3.3e-01 from the result in float64" in found[0].problem and "not run" in found[1].problem
    assert found[1].cells()[2:] == [""] * 7


def test_sizes_are_multiples_of_tiles_and_others_too():
    names = [each.name for each in cases(WHOLE)]
    assert len(names) == len(set(names)) and {"GEMM f32 4096", "GEMM f32 8192", "GEMM tf32 8192", "GEMM bf16 4000"} <= set(names)
    assert sum(name.startswith("ResNet-50") for name in names) == 25


def test_arguments_in_turn_are_more_than_the_cache():
    assert len(devices.rotated(list, 10, 100)) == 8 and len(devices.rotated(list, 60, 100)) == 4
    assert len(devices.rotated(list, 1000, 100)) == 1


@pytest.mark.skipif(find_spec("torch") is None, reason="there is no PyTorch")
@pytest.mark.parametrize("name", NAMES)
def test_pytorch_computes_the_same(name):
    import torch

    (case,) = [each for each in cases(SMALL) if each.name.startswith(name)]
    given = case.arguments(np.random.default_rng(1))
    found = case.library(torch, *(devices._tensor(torch, each) for each in given)).float().numpy()
    wanted = case.reference(*given)
    assert np.max(np.abs(found - wanted)) <= 1e-2 * np.max(np.abs(wanted))


@pytest.mark.skipif(find_spec("triton") is None, reason="there is no Triton")
@pytest.mark.parametrize("kind", ["float", "half"])  # its interpreter does not know bfloat16
def test_triton_s_product_is_one(kind):
    text = f"""
import torch
from benchmarks.gpu.triton_product import product
A, B = torch.rand(150, 70).{kind}(), torch.rand(70, 200).{kind}()
assert (product(A, B) - A.float() @ B.float()).abs().max() < 1e-4
"""
    ran = subprocess.run(
        [sys.executable, "-c", text], env={**os.environ, "TRITON_INTERPRET": "1"}, cwd=ROOT, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
