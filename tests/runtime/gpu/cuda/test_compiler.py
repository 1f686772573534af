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


def test_no_compiler_is_said_so(monkeypatch):
    import builtins

    real = builtins.__import__

    def importing(name, *given, **more):
        if name.startswith("cuda.bindings"):
            raise ImportError(name)
        return real(name, *given, **more)

    monkeypatch.setattr(compiler, "tool", lambda name: None)
    monkeypatch.setattr(builtins, "__import__", importing)
    with pytest.raises(ConfigError, match="(?s)target cuda needs a compiler.*NVRTC"):
        compiler.machine_code(TEXT, "sm_90")
