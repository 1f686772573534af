"""Libraries in Python: the tests of arguments, and that nothing of the compiler is imported."""

import json
import subprocess
import sys

import numpy as np
import pytest

import polyml
from polyml import ConfigError
from polyml.ahead_of_time.description import LibraryDescription
from polyml.runtime.storage.checksum import Damaged
from tests.ahead_of_time import functions
from tests.ahead_of_time.libraries import built, loaded


@pytest.fixture(scope="module")
def gemm(tmp_path_factory):
    return loaded(functions.gemm, "float, f64[N,K], f64[K,M], f64[N,M]", tmp_path_factory.mktemp("gemm"))


def arrays(n=4, k=5, m=3):
    rng = np.random.default_rng(0)
    return rng.random((n, k)), rng.random((k, m)), np.zeros((n, m))


def test_a_library_runs_without_the_compiler(tmp_path):
    shared = built(functions.scaled, "f64[N,M], float", tmp_path).shared
    code = f"""
import json, sys, numpy as np, polyml
B, total, same = polyml.load({str(shared)!r})(np.ones((3, 4)), 2)
print(json.dumps([float(B.sum()), float(total), sorted(m.split(".")[0] for m in sys.modules)]))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PATH": ""} | python_path()
    )
    total, same, modules = json.loads(done.stdout)
    assert total == same == 24.0
    assert not {"islpy", "llvmlite", "sympy", "ml_dtypes", "click"} & {*modules}


def python_path():
    from pathlib import Path

    return {"PYTHONPATH": str(Path(polyml.__file__).parent.parent)}


def test_arguments_may_be_named_and_lists_are_read(gemm):
    A, B, C = arrays()
    gemm(2.0, C=C, B=B.tolist(), A=A)
    np.testing.assert_allclose(C, 2 * A @ B)
    gemm(np.float32(1), A, B, C)
    np.testing.assert_allclose(C, 3 * A @ B)


@pytest.mark.parametrize(
    "change, kind, words",
    [
        (lambda a, b, c: (1, a, b), polyml.PolymlTypeError, "is missing `C`"),
        (lambda a, b, c: (1, a, b, c, 1), polyml.PolymlTypeError, "takes 4 arguments, 5 given"),
        (lambda a, b, c: ("1", a, b, c), polyml.PolymlTypeError, "argument `alpha` is a str, but the library takes float"),
        (lambda a, b, c: (1j, a, b, c), polyml.PolymlTypeError, "argument `alpha` is a complex"),
        (lambda a, b, c: (1, 2.0, b, c), polyml.PolymlTypeError, "argument `A` is a float"),
        (
            lambda a, b, c: (1, a.astype("f4"), b, c),
            polyml.PolymlTypeError,
            r"`A` is f32\[4, 5\], but the library takes f64\[N, K\]",
        ),
        (lambda a, b, c: (1, a[0], b, c), polyml.PolymlTypeError, r"`A` is f64\[5\]"),
        (lambda a, b, c: (1, np.asfortranarray(a), b, c), polyml.PolymlValueError, "not stored row by row"),
        (lambda a, b, c: (1, a, b[::2], c), polyml.PolymlValueError, "not stored row by row"),
        (lambda a, b, c: (1, a, b[1:], c), polyml.PolymlValueError, "dimension 0 of `B` is 4, but K has to be 5"),
        (lambda a, b, c: (1, a, b, c.tolist()), polyml.PolymlTypeError, "`C` is written, but a list would have to be copied"),
        (lambda a, b, c: (1, a, b, np.broadcast_to(c, c.shape)), polyml.PolymlValueError, "read-only"),
        (lambda a, b, c: (1, np.ones((3, 3)), *[np.ones((3, 3))] * 2), polyml.PolymlValueError, "shares memory"),
        (lambda a, b, c: (1, None, b, c), polyml.PolymlTypeError, "NoneType"),
    ],
)
def test_arguments_that_do_not_fit(gemm, change, kind, words):
    A, B, C = arrays()
    with pytest.raises(kind, match=words):
        gemm(*change(A, B, C))
    assert not C.any()


def test_names_that_do_not_fit(gemm):
    with pytest.raises(polyml.PolymlTypeError, match="has no parameter `D`"):
        gemm(1, *arrays(), D=3)
    with pytest.raises(polyml.PolymlTypeError, match="got `alpha` twice"):
        gemm(1, *arrays(), alpha=3)


def test_bounds_and_integers_raise_what_a_kernel_raises(tmp_path):
    shifted = loaded(functions.shifted, "f64[:], f64[:]", tmp_path)
    with pytest.raises(polyml.BoundsError, match=r"`B\[i \+ 1\]` is out of bounds in dimension 0"):
        shifted(np.zeros(4), np.zeros(4))
    mixed = loaded(functions.mixed, "bool, i8, u16, i32, u64, f32, f16, pybool, int, f64[8]", tmp_path)
    with pytest.raises(polyml.PolymlOverflowError, match="argument `i1` is 200, which does not fit i8"):
        mixed(True, 200, 0, 0, 0, 0.0, 0.0, False, 0, np.zeros(8))
    with pytest.raises(polyml.PolymlTypeError, match="argument `b` is a int"):
        mixed(1, 2, 0, 0, 0, 0.0, 0.0, False, 0, np.zeros(8))
    with pytest.raises(polyml.PolymlValueError, match="dimension 0 of `A` is 7, but 8 has to be 8"):
        mixed(True, 2, 0, 0, 0, 0.0, 0.0, False, 0, np.zeros(7))


def test_threads_are_set(gemm, tmp_path):
    A, B, C = arrays(100, 110, 120)
    for count in (1, 3, 0):
        C[:] = 0
        gemm.set_threads(count)
        gemm(1, A, B, C)
        np.testing.assert_allclose(C, A @ B)
    for wrong in (-1, 257, True, 1.0, "2"):
        with pytest.raises(ConfigError, match="does not run on"):
            gemm.set_threads(wrong)
    with pytest.raises(ConfigError, match="has no threads"):
        loaded(functions.prefix, "f64[N], f64[M]", tmp_path, threads="none").set_threads(2)


def test_what_is_no_library_is_refused(tmp_path):
    import ctypes.util

    text, system = tmp_path / "text.so", ctypes.util.find_library("m")
    text.write_text("no library")
    with pytest.raises(ConfigError, match="there is no file"):
        polyml.load(tmp_path / "absent.so")
    with pytest.raises(ConfigError, match="cannot be loaded"):
        polyml.load(text)
    found = [line.split()[0] for line in open("/proc/self/maps") if f"/{system}" in line] if system else []
    if found:
        path = next(line.split()[-1] for line in open("/proc/self/maps") if f"/{system}" in line)
        with pytest.raises(ConfigError, match="is no library that `polyml build` made"):
            polyml.load(path)


def test_a_library_for_another_processor_is_refused(tmp_path, monkeypatch):
    from dataclasses import replace

    from polyml.machines import cpu

    shared = built(functions.prefix, "f64[N], f64[M]", tmp_path, cpu="x86-64-v3").shared
    small = replace(cpu.host(), vector_bytes=16, fma=False)
    monkeypatch.setattr(cpu, "host", lambda: small)
    with pytest.raises(ConfigError, match="is for x86-64-v3, which this processor is not: it lacks vectors of 32 bytes"):
        polyml.load(shared)


def test_a_library_says_what_it_is(gemm):
    text = "<library function gemm(alpha: float, A: f64[N, K], B: f64[K, M], C: f64[N, M]) for native>"
    assert repr(gemm) == text and gemm.signature == "float, f64[N, K], f64[K, M], f64[N, M]" and gemm.__name__ == "gemm"


def test_descriptions_are_read_as_they_were_written_and_nothing_else(gemm):
    described = gemm._described
    text = described.to_text()
    assert LibraryDescription.from_text(text) == described
    data = json.loads(text)
    wrongs = [
        {**data, "version": 99},
        {**data, "codes": 3},
        {**data, "arguments": [{"name": "A", "type": "f64[:]", "extents": []}]},
    ]
    wrongs += [{k: v for k, v in data.items() if k != dropped} for dropped in data]
    for wrong in wrongs:
        with pytest.raises(Damaged):
            LibraryDescription.from_text(json.dumps(wrong))


def histogram(x, counts):
    for i in range(x.shape[0]):
        counts[x[i]] += 1


def test_an_index_that_data_decide_ends_the_call_of_a_library(tmp_path):
    counted, counts = loaded(histogram, "i64[N], i64[M]", tmp_path), np.zeros(3, np.int64)
    counted(np.array([2, 0, 2, -1]), counts)
    assert counts.tolist() == [1, 0, 3]
    with pytest.raises(polyml.BoundsError, match="an index is out of bounds, an integer is divided by zero, or the source raises"):
        counted(np.array([1, 7, 1]), counts)
    assert counts.tolist() == [1, 1, 3]
