"""Machine code of CUDA texts, by nvcc or by NVRTC, without a driver."""

import pytest

from polyml.errors import CompileError, ConfigError
from polyml.runtime.gpu.cuda import compiler
from tests.runtime.gpu.examples import made, scaled

TEXT = made(scaled, "f32[:]", "f16[:]", "f32", dialect="cuda").text


@pytest.fixture(params=["nvcc", "nvrtc"])
def present(request, monkeypatch):
    """One compiler alone."""
    if request.param == "nvcc" and compiler.tool("nvcc") is None:
        pytest.skip("there is no nvcc")
    if request.param == "nvrtc":
        nvrtc = pytest.importorskip("cuda.bindings.nvrtc")
        try:
            nvrtc.nvrtcVersion()
        except RuntimeError:
            pytest.skip("there is no NVRTC")
        monkeypatch.setattr(compiler, "tool", lambda name: None)
    return request.param


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
def test_a_text_is_machine_code(present, architecture):
    code = compiler.machine_code(TEXT, architecture)
    assert code[:4] == b"\x7fELF" and b"scaled_0" in code


def test_a_text_that_is_refused_is_an_error_with_messages(present):
    with pytest.raises(CompileError, match="no_such_function"):
        compiler.machine_code('extern "C" __global__ void k(int *A) { no_such_function(A); }', "sm_90")


def test_products_and_sums_are_rounded_one_by_one_where_the_text_says_so(present):
    body = 'extern "C" __global__ void k(float *A) { A[0] = A[1] * A[2] + A[3]; }\n'
    assert compiler.machine_code(body, "sm_90") != compiler.machine_code(f"{compiler.STRICT}: strict\n{body}", "sm_90")


@pytest.mark.parametrize("body, error, message", [
    ("raise ImportError('broken')", ConfigError, "(?s)target cuda needs a compiler.*NVRTC.*broken"),
    ("import os; os.abort()", CompileError, "NVRTC failed with exit status"),
])  # fmt: skip
def test_a_compiler_that_is_not_there_or_crashes_is_said_so(body, error, message, monkeypatch, tmp_path):
    (tmp_path / "cuda").mkdir()
    (tmp_path / "cuda" / "__init__.py").touch()
    (tmp_path / "cuda" / "bindings.py").write_text(body)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(compiler, "tool", lambda name: None)
    with pytest.raises(error, match=message):
        compiler.machine_code(TEXT, "sm_90")
