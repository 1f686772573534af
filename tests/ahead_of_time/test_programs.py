"""Programs of C and C++ that are linked with libraries: they know nothing of Python, and print what NumPy computes."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.ahead_of_time import functions
from tests.ahead_of_time.libraries import CC, CXX, built, ran

PROGRAMS = Path(__file__).parent / "programs"
GEMM = "float, f64[N,K], f64[K,M], f64[N,M]"
FOR_OTHERS = {"neoverse-n1": ("aarch64-linux-gnu-gcc", "qemu-aarch64")}
needs_c = pytest.mark.skipif(CC is None, reason="there is no C compiler")


def expected_product():
    N, M, K = 90, 70, 110
    A = np.arange(N * K).reshape(N, K) % 17 - 8.0
    B = np.arange(K * M).reshape(K, M) % 13 - 6.0
    return 0.5 * (A @ B)


def numbers(text):
    return np.array(text.split(), dtype=float)


@needs_c
@pytest.mark.parametrize("cpu", ["native", "x86-64", "x86-64-v3"])
@pytest.mark.parametrize("threads", ["pool", "openmp", "none"])
def test_a_program_of_c_gets_the_products_of_numpy(tmp_path, threads, cpu):
    files = built(functions.gemm, GEMM, tmp_path, threads=threads, cpu=cpu)
    options = ["-fopenmp"] if threads == "openmp" else []
    for made in (files.object, files.shared):
        out = ran(PROGRAMS / "gemm.c", [made], options=options)
        np.testing.assert_allclose(numbers(out).reshape(90, 70), expected_product(), rtol=0, atol=1e-10)


@needs_c
@pytest.mark.parametrize("threads", ["pool", "openmp"])
def test_calls_may_come_from_several_threads_and_after_a_fork(tmp_path, threads):
    files = built(functions.gemm, GEMM, tmp_path, threads=threads, typical={"N": 160})
    if threads == "openmp":  # a child of a fork has none of OpenMP's threads: GCC's libgomp starts none there
        source = (PROGRAMS / "threads.c").read_text().replace("pid_t child = fork();", "pid_t child = fork(); gemm_set_threads(1);")
        (tmp_path / "threads.c").write_text(source)
    program = tmp_path / "threads.c" if threads == "openmp" else PROGRAMS / "threads.c"
    assert ran(program, [files.object], options=["-fopenmp"] if threads == "openmp" else []) == "well\n"


@pytest.mark.skipif(CXX is None, reason="there is no C++ compiler")
def test_a_program_of_cpp_has_two_libraries_with_results_and_complex_numbers(tmp_path):
    made = [
        built(functions.scaled, "f64[N,M], float", tmp_path).object,
        built(functions.rotated, "c128, c128[N], c128", tmp_path).object,
    ]
    out = numbers(ran(PROGRAMS / "results.cpp", made, compiler=CXX))
    A = 0.5 * np.arange(35)
    np.testing.assert_allclose(out[:35], 3 * A)
    assert out[35] == pytest.approx(3 * A.sum())
    Z = np.array([1 + 2j, 3 - 1j, 0.5j])
    last = functions.rotated(1j, Z, 0.25 - 0.5j)
    np.testing.assert_allclose(out[36:].view(complex), [*Z, last])


@pytest.mark.parametrize("cpu", FOR_OTHERS)
@pytest.mark.parametrize("threads", ["pool", "none"])
def test_a_library_for_another_architecture_runs_there(tmp_path, cpu, threads):
    compiler, emulator = map(shutil.which, FOR_OTHERS[cpu])
    files = built(functions.gemm, GEMM, tmp_path, cpu=cpu, threads=threads)
    head = files.object.read_bytes()[:20]
    assert head[:4] == b"\x7fELF" and int.from_bytes(head[18:20], "little") == 183  # EM_AARCH64
    if compiler is None or emulator is None:
        assert compiler is not None or (files.shared is None and "aarch64-linux-gnu-gcc" in files.note)
        pytest.skip("there is no compiler for aarch64, or no emulator")
    out = ran(PROGRAMS / "gemm.c", [files.object], compiler=compiler, options=["-static"], before=[emulator, "-cpu", cpu])
    np.testing.assert_allclose(numbers(out).reshape(90, 70), expected_product(), rtol=0, atol=1e-10)


@pytest.mark.parametrize("cpu, instruction", [("neoverse-v1", "sdot"), ("native", None)])
def test_a_library_adds_up_products_of_bytes_as_its_processor_does(tmp_path, cpu, instruction):
    compiler, emulator = map(shutil.which, FOR_OTHERS["neoverse-n1"]) if instruction else (CC, None)
    files = built(functions.product_of_bytes, "i8[N,K], i8[K,M], i32[N,M]", tmp_path, cpu=cpu, name="bytes")
    if compiler is None or instruction and emulator is None:
        pytest.skip("there is no compiler, or no emulator")
    before, options = ([emulator, "-cpu", "max"], ["-static"]) if instruction else ([], [])
    out = ran(PROGRAMS / "bytes.c", [files.object], compiler=compiler, options=options, before=before)
    A = (np.arange(90 * 110) * 37 % 256 - 128).reshape(90, 110)
    B = (np.arange(110 * 70) * 91 % 256 - 128).reshape(110, 70)
    np.testing.assert_array_equal(numbers(out).reshape(90, 70), A @ B)
    if instruction and (dump := shutil.which("aarch64-linux-gnu-objdump")):
        text = subprocess.run([dump, "-d", files.object], capture_output=True, text=True, check=True).stdout
        assert f"\t{instruction}\t" in text
