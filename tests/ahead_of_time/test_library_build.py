"""What libraries check and return, as C sees it, against plain Python; and what a request for one must be."""

import copy
import ctypes
import os
import random
import re
import subprocess

import numpy as np
import pytest

import polyml
from polyml import ConfigError
from polyml.ahead_of_time.library_build import LibraryRequest, build
from polyml.ahead_of_time.status_codes import OVERLAP, POINTER, SIZES
from tests.ahead_of_time import functions
from tests.ahead_of_time.libraries import built, in_c, loaded

F64 = ctypes.POINTER(ctypes.c_double)


def pointer(array, kind=ctypes.c_double):
    return array.ctypes.data_as(ctypes.POINTER(kind))


def test_bounds_fail_exactly_where_plain_python_fails(tmp_path):
    function, words = in_c(built(functions.shifted, "f64[:], f64[:]", tmp_path))
    seen = set()
    for n in range(6):
        for m in range(6):
            A, B = np.zeros(n + 8)[:n], np.arange(m + 8.0)[:m]
            before = A.copy()
            status = function(pointer(A), pointer(B), ctypes.c_int64(n), ctypes.c_int64(m))
            try:
                functions.shifted(A.copy(), B)
                assert status == 0, (n, m)
            except IndexError:
                assert status > 0 and (A == before).all(), (n, m)
                assert words(status).startswith("`B[i + 1]` is out of bounds in dimension 0 (functions.py:")
            seen.add(status)
    assert len(seen) == 2


def test_bounds_that_index_arrays_decide(tmp_path):
    function, words = in_c(built(functions.gathered, "f64[N], i32[M], f64[M]", tmp_path))
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n, m = rng.integers(1, 7, 2)
        A, index, out = rng.random(n), rng.integers(0, 8, m).astype(np.int32), np.zeros(m)
        status = function(pointer(A), pointer(index, ctypes.c_int32), pointer(out), ctypes.c_int64(n), ctypes.c_int64(m))
        assert (status > 0) == (index.max() >= n) and status >= 0
        assert status > 0 or (out == A[index]).all()
        assert status == 0 or ((out == 0).all() and "an element of `index` that is no index of `A`" in words(status))


def test_a_signature_leaves_out_checks_that_cannot_fail(tmp_path):
    free = built(functions.gemm, "float, f64[:,:], f64[:,:], f64[:,:]", tmp_path / "free").header.read_text()
    named = built(functions.gemm, "float, f64[N,K], f64[K,M], f64[N,M]", tmp_path / "named").header.read_text()
    assert len(re.findall(r"GEMM_OUT_OF_BOUNDS_\d = \d, /\* `[ABC]\[", free)) >= 3
    assert "OUT_OF_BOUNDS" not in named and "UNUSUAL" not in free + named
    assert "int gemm(double alpha, const double *A, const double *B, double *C, int64_t N, int64_t K, int64_t M);" in named
    assert "A_0, int64_t A_1, int64_t B_0" in free


@pytest.mark.parametrize("overlap", ["error", "run"])
def test_overlapping_arguments_are_refused_or_run_in_source_order(tmp_path, overlap):
    function, words = in_c(built(functions.prefix, "f64[N], f64[M]", tmp_path, overlap=overlap))
    rng, seen = random.Random(5), set()
    for _ in range(150):
        n, m, a, b = rng.randint(0, 9), rng.randint(0, 9), rng.randint(0, 12), rng.randint(0, 12)
        memory = np.random.default_rng(n).random(24)
        expected = memory.copy()
        share = n and m and a < b + m and b < a + n
        status = function(pointer(memory[a:]), pointer(memory[b:]), ctypes.c_int64(n), ctypes.c_int64(m))
        seen.add((bool(share), status))
        try:
            functions.prefix(expected[a : a + n], expected[b : b + m])
        except IndexError:
            assert status > 0 or (share and overlap == "error" and status == OVERLAP)
            assert overlap == "error" or "out of bounds" in words(status)
            continue
        if share and overlap == "error":
            assert status == OVERLAP and "shares memory" in words(status)
        else:
            assert status == 0
            np.testing.assert_allclose(memory, expected, rtol=1e-14)
    assert {share for share, _ in seen} == {True, False} and (False, 0) in seen and any(s > 0 for _, s in seen)


def test_codes_of_bad_pointers_and_sizes(tmp_path):
    function, words = in_c(built(functions.gemm, "f32, f32[N,K], f32[K+1,M], f32[N,M]", tmp_path))
    A, B, C = np.ones((4, 5), np.float32), np.ones((6, 3), np.float32), np.zeros((4, 3), np.float32)
    F32 = ctypes.c_float

    def status(a, b, c, n=4, k=5, m=3):
        return function(F32(1), a, b, c, *map(ctypes.c_int64, (n, k, m)))

    a, b, c = (pointer(x, F32) for x in (A, B, C))
    odd = ctypes.cast(ctypes.addressof(a.contents) + 2, ctypes.POINTER(F32))
    assert status(a, b, c) == 0 and (C == 5).all()
    assert status(None, b, c) == status(a, None, c) == status(a, b, None) == status(odd, b, c) == POINTER
    assert status(None, b, None, n=0) == 0, "nothing is read of an array without elements"
    assert status(a, b, c, n=-1) == status(a, b, c, k=-1) == status(a, b, c, n=2**61) == SIZES
    assert status(a, b, c, n=2**31, m=2**31, k=2**31) == SIZES
    assert status(a, b, c, n=2**45, k=0, m=0) == -7 and "too great" in words(-7)
    assert words(0) == "ok" and words(99) == "no number that this function returns"


def test_numbers_of_every_type_arrive(tmp_path):
    library = loaded(functions.mixed, "bool, i8, u16, i32, u64, f32, f16, pybool, int, f64[8]", tmp_path)
    for seed in range(8):
        rng = np.random.default_rng(seed)
        values = [
            bool(seed & 1), *(int(rng.integers(np.iinfo(t).min, np.iinfo(t).max, dtype=t)) for t in (np.int8, np.uint16, np.int32, np.uint64)),
            float(np.float32(rng.random())), float(np.float16(rng.random())), bool(seed & 2), int(rng.integers(-(2**62), 2**62)),
        ]  # fmt: skip
        A, B = np.zeros(8), np.zeros(8)
        library(*values, A)
        functions.mixed(*values, B)
        assert (A == B).all(), values


@pytest.mark.parametrize("kind", ["f16", "bf16", "i8", "i16", "u8", "u32", "i64", "f32", "c64", "c128"])
def test_arrays_of_every_type_are_written(tmp_path, kind):
    from polyml.numpy_dtypes import numpy_dtype
    from polyml.runtime.storage.records import parse_type

    dtype = numpy_dtype(parse_type(kind).dtype)
    library = loaded(functions.doubled_halves, f"{kind}[N], f32[N]", tmp_path)
    A, B = np.arange(37).astype(dtype), np.arange(37).astype(np.float32)
    C, D = copy.deepcopy((A, B))
    library(A, B)
    assert (A == (C * dtype.type(2)).astype(dtype)).all() and (B == D * 2).all()


def test_a_python_integer_that_leaves_64_bits_is_a_code(tmp_path):
    files = built(functions.powers, "int, i64[N]", tmp_path)
    function, words = in_c(files)
    A, s = np.zeros(70, np.int64), ctypes.c_int64()
    assert function(ctypes.c_int64(3), pointer(A, ctypes.c_int64), ctypes.byref(s), ctypes.c_int64(39)) == 0 and s.value == 3**39
    status = function(ctypes.c_int64(3), pointer(A, ctypes.c_int64), ctypes.byref(s), ctypes.c_int64(70))
    assert status < 0 and "64 bits" in words(status)
    library = polyml.load(files.shared)
    assert library(2, A[:5]) == 32 and A[:5].tolist() == [2, 4, 8, 16, 32]
    with pytest.raises(polyml.PolymlOverflowError, match="64 bits"):
        library(3, A)


def test_results_are_what_python_returns(tmp_path):
    rng = np.random.default_rng(1)
    A = rng.random((6, 7))
    B, total, same = loaded(functions.scaled, "f64[N,M], float", tmp_path)(A, 2.5)
    assert same is A and type(total) is np.float64
    np.testing.assert_allclose(B, A * 2.5)
    assert total == pytest.approx((A * 2.5).sum())
    flags = np.zeros(5, bool)
    any_above = loaded(functions.both, "f64[N], bool[N], float", tmp_path)
    found = any_above(np.arange(5.0), flags, 3.5)
    assert found is True and flags.tolist() == [False] * 4 + [True]
    assert any_above(np.arange(5.0), flags, 9.0) is False and not flags.any()


@pytest.mark.parametrize("n", [0, 1, 2, 9])
def test_extents_of_results_depend_on_arguments(tmp_path, n):
    library = loaded(functions.grid, "int, float", tmp_path)
    found = library(n, 0.5)
    assert found.shape == (n + 1, 2 * n) and (found == functions.grid(n, 0.5)).all()
    with pytest.raises(polyml.PolymlValueError, match="negative"):
        library(-3, 0.5)


def test_time_steps_and_temporaries(tmp_path):
    library = loaded(functions.heat, "f64[N,N], int", tmp_path, typical={"N": 100})
    for n, steps in ((3, 1), (50, 7), (130, 20)):
        T = np.random.default_rng(n).random((n, n))
        expected = T.copy()
        for _ in range(steps):
            S = expected.copy()
            expected[1:-1, 1:-1] = 0.25 * (S[:-2, 1:-1] + S[2:, 1:-1] + S[1:-1, :-2] + S[1:-1, 2:])
        library(T, steps)
        np.testing.assert_allclose(T, expected, rtol=1e-12)


def test_an_object_exports_its_function_alone(tmp_path):
    if subprocess.run(["nm", "--version"], capture_output=True).returncode:
        pytest.skip("there is no nm")
    files = built(functions.gemm, "float, f64[N,K], f64[K,M], f64[N,M]", tmp_path)
    listed = subprocess.run(["nm", "-g", "--defined-only", files.object], capture_output=True, text=True, check=True).stdout
    assert {line.split()[-1] for line in listed.splitlines()} == {"gemm", "gemm_error", "gemm_set_threads", "polyml_description"}


def test_names_that_c_does_not_take(tmp_path):
    def double(int, while_, A):  # noqa: A002
        for i in range(A.shape[0]):
            A[i] = A[i] * int + while_

    with pytest.raises(ConfigError, match="cannot be the name of a function"):
        built(double, "float, float, f64[new]", tmp_path)
    text = built(double, "float, float, f64[new]", tmp_path, name="doubled").header.read_text()
    assert "int doubled(double int_, double while_, double *A, int64_t new_);" in text and "A[new_] is written" in text
    with pytest.raises(ConfigError, match="cannot have a function `free`"):
        built(double, "float, float, f64[new]", tmp_path, name="free")


@pytest.mark.parametrize(
    "options, words",
    [
        ({"cpu": "x86-64-v9"}, "there is no processor 'x86-64-v9'"),
        ({"cpu": "h100"}, "there is no processor 'h100'"),
        ({"threads": "many"}, "--threads does not take 'many'"),
        ({"overlap": "maybe"}, "--overlap does not take 'maybe'"),
        ({"typical": {"Q": 3}}, "-D names 'Q', which the signature does not have"),
        ({"typical": {"N": 0}}, "-D takes sizes from 1"),
        ({"name": "a b"}, "cannot be the name of a function"),
    ],
)
def test_requests_that_cannot_be_met(tmp_path, options, words):
    with pytest.raises(ConfigError, match=words) as caught:
        built(functions.prefix, "f64[N], f64[M]", tmp_path, **options)
    assert caught.value.notes or "-D takes" in str(caught.value)


def test_a_kernel_that_is_not_compiled_as_a_whole_is_refused(tmp_path):
    def squares(A):
        for i in range(A.shape[0]):
            A[i] = np.unique(A + 1j).size

    with pytest.raises(polyml.NotAffineError, match="np.unique of complex numbers"):
        built(squares, "f64[N]", tmp_path)


def test_without_a_linker_the_object_is_written_and_the_error_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match="there is no linker for a shared library") as caught:
        built(functions.prefix, "f64[N], f64[M]", tmp_path / "out")
    assert {p.name for p in (tmp_path / "out").iterdir()} == {"prefix.o", "prefix.h"} and "prefix.o" in str(caught.value)
    assert built(functions.prefix, "f64[N], f64[M]", tmp_path / "out", is_shared=False).shared is None
    other = built(functions.prefix, "f64[N], f64[M]", tmp_path / "out", cpu="neoverse-n1")
    assert other.shared is None and "aarch64-linux-gnu-gcc" in other.note


def test_the_linker_alone_makes_a_library_too(tmp_path, monkeypatch):
    from shutil import which

    if which("ld") is None:
        pytest.skip("there is no ld")
    (tmp_path / "bin").mkdir()
    os.symlink(which("ld"), tmp_path / "bin" / "ld")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    A, B = np.zeros(5), np.arange(5.0)
    loaded(functions.prefix, "f64[N], f64[M]", tmp_path)(A, B)
    assert A.tolist() == [0, 1, 3, 6, 10]


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be written to"):
        build(polyml.kernel(functions.prefix), LibraryRequest("f64[N], f64[M]"), tmp_path / "file" / "out")
