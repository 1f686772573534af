"""CUDA C++ as PTX and SASS."""

import numpy as np
import pytest
from click.testing import CliRunner

import polyml
from polyml.cli import main
from polyml.errors import CompileError, ConfigError
from polyml.runtime.gpu.toolkit import nvidia

needs_nvcc = pytest.mark.skipif(nvidia.tool("nvcc") is None, reason="there is no nvcc")
needs_nvdisasm = pytest.mark.skipif(nvidia.tool("nvdisasm") is None or nvidia.tool("nvcc") is None, reason="there is no nvdisasm")


def scale(A, factor):
    for i in range(A.shape[0]):
        A[i] *= factor


@needs_nvcc
def test_ptx_is_for_the_architecture_that_is_asked_for():
    kernel = polyml.kernel(scale)
    assert ".target sm_80" in kernel.inspect_ptx("f32[:]", "f32", arch="sm_80")
    text = kernel.inspect_ptx(np.ones(3), 2.0)
    assert ".target sm_90" in text and "mul" in text and ".f64" in text and ".entry scale_0" in text


@needs_nvdisasm
def test_sass_has_the_kernel_s_instructions():
    text = polyml.kernel(scale).inspect_sass("f32[:]", "f32", arch="sm_80")
    assert "FMUL" in text and "scale_0" in text and "EXIT" in text


@needs_nvcc
def test_an_architecture_that_nvcc_does_not_know_and_one_that_is_none_are_refused():
    with pytest.raises(CompileError, match="nvcc refuses the kernels"):
        nvidia.ptx("", "sm_99")
    with pytest.raises(ConfigError, match="'turing' is no architecture of a GPU"):
        nvidia.ptx("", "turing")


def test_what_is_missing_is_told_with_what_to_install(monkeypatch):
    monkeypatch.setattr(nvidia, "tool", lambda name: None)
    with pytest.raises(ConfigError, match="ptx and sass cannot be shown without nvcc") as refused:
        nvidia.ptx("")
    assert refused.value.notes == ("pip install polyml[gpu-test], or put nvcc of the CUDA toolkit on the PATH",)
    with pytest.raises(ConfigError, match="sass cannot be shown without nvdisasm"):
        nvidia.sass("")


def test_a_program_that_does_not_run_is_told(tmp_path, monkeypatch):
    broken = tmp_path / "nvcc"
    broken.write_text("not a program")
    broken.chmod(0o755)
    monkeypatch.setattr(nvidia, "tool", lambda name: str(broken))
    with pytest.raises(CompileError, match="nvcc did not run to its end"):
        nvidia.cubin("")


@needs_nvcc
def test_the_command_line_shows_ptx(tmp_path):
    file = tmp_path / "scale.py"
    file.write_text("def scale(A, factor):\n    for i in range(A.shape[0]):\n        A[i] *= factor\n")
    given = ["show", f"{file}:scale", "--arg", "A=f32[N]", "--arg", "factor=f32"]
    shown = CliRunner().invoke(main, [*given, "--stage", "ptx", "--arch", "sm_80"])
    assert shown.exit_code == 0 and ".target sm_80" in shown.output
    refused = CliRunner().invoke(main, [*given, "--stage", "cuda", "--arch", "sm_80"])
    assert refused.exit_code == 2 and "'--arch' goes with '--stage ptx' and '--stage sass' alone." in refused.output
