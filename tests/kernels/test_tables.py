"""The size sets, the operation counts and the names of the kernels."""

import numpy as np
import pytest

from polyml import kernels
from polyml.errors import ConfigError

# PolyBench/C 4.2.1: kernel, parameters, then MINI, SMALL, MEDIUM, LARGE, EXTRALARGE.
POLYBENCH = """
correlation | M N | 28 32 | 80 100 | 240 260 | 1200 1400 | 2600 3000
covariance | M N | 28 32 | 80 100 | 240 260 | 1200 1400 | 2600 3000
2mm | NI NJ NK NL | 16 18 22 24 | 40 50 70 80 | 180 190 210 220 | 800 900 1100 1200 | 1600 1800 2200 2400
3mm | NI NJ NK NL NM | 16 18 20 22 24 | 40 50 60 70 80 | 180 190 200 210 220 | 800 900 1000 1100 1200 | \
    1600 1800 2000 2200 2400
atax | M N | 38 42 | 116 124 | 390 410 | 1900 2100 | 1800 2200
bicg | M N | 38 42 | 116 124 | 390 410 | 1900 2100 | 1800 2200
doitgen | NQ NR NP | 8 10 12 | 20 25 30 | 40 50 60 | 140 150 160 | 220 250 270
mvt | N | 40 | 120 | 400 | 2000 | 4000
gemm | NI NJ NK | 20 25 30 | 60 70 80 | 200 220 240 | 1000 1100 1200 | 2000 2300 2600
gemver | N | 40 | 120 | 400 | 2000 | 4000
gesummv | N | 30 | 90 | 250 | 1300 | 2800
symm | M N | 20 30 | 60 80 | 200 240 | 1000 1200 | 2000 2600
syr2k | M N | 20 30 | 60 80 | 200 240 | 1000 1200 | 2000 2600
syrk | M N | 20 30 | 60 80 | 200 240 | 1000 1200 | 2000 2600
trmm | M N | 20 30 | 60 80 | 200 240 | 1000 1200 | 2000 2600
cholesky | N | 40 | 120 | 400 | 2000 | 4000
durbin | N | 40 | 120 | 400 | 2000 | 4000
gramschmidt | M N | 20 30 | 60 80 | 200 240 | 1000 1200 | 2000 2600
lu | N | 40 | 120 | 400 | 2000 | 4000
ludcmp | N | 40 | 120 | 400 | 2000 | 4000
trisolv | N | 40 | 120 | 400 | 2000 | 4000
deriche | W H | 64 64 | 192 128 | 720 480 | 4096 2160 | 7680 4320
floyd-warshall | N | 60 | 180 | 500 | 2800 | 5600
nussinov | N | 60 | 180 | 500 | 2500 | 5500
adi | TSTEPS N | 20 20 | 40 60 | 100 200 | 500 1000 | 1000 2000
fdtd-2d | TMAX NX NY | 20 20 30 | 40 60 80 | 100 200 240 | 500 1000 1200 | 1000 2000 2600
heat-3d | TSTEPS N | 20 10 | 40 20 | 100 40 | 500 120 | 1000 200
jacobi-1d | TSTEPS N | 20 30 | 40 120 | 100 400 | 500 2000 | 1000 4000
jacobi-2d | TSTEPS N | 20 30 | 40 90 | 100 250 | 500 1300 | 1000 2800
seidel-2d | TSTEPS N | 20 40 | 40 120 | 100 400 | 500 2000 | 1000 4000
"""


def polybench_sizes():
    for line in POLYBENCH.strip().splitlines():
        title, names, *sets = (part.strip() for part in line.split("|"))
        rows = (dict(zip(names.split(), map(int, s.split()), strict=True)) for s in sets)
        yield title, dict(zip(("MINI", "SMALL", "MEDIUM", "LARGE", "EXTRALARGE"), rows, strict=True))


def test_the_thirty_kernels_have_polybench_s_sizes():
    ours = {b.title: b.sizes for b in map(kernels.load, kernels.NAMES)}
    assert ours == dict(polybench_sizes())
    assert len(ours) == 30


@pytest.mark.parametrize("spelling, name", [("2mm", "k2mm"), ("3MM", "k3mm"), ("jacobi-2d", "jacobi_2d"), ("lu", "lu")])
def test_polybench_s_spelling_finds_the_kernel(spelling, name):
    assert kernels.load(spelling).name == name
    assert kernels.load(spelling).kernel.py_func.__name__ == name


def test_an_unknown_kernel_is_refused_with_the_nearest_names():
    with pytest.raises(ConfigError) as info:
        kernels.load("jacoby_2d")
    assert str(info.value) == ("error: there is no kernel named 'jacoby_2d'\n  note: did you mean jacobi_2d or jacobi_1d?")
    with pytest.raises(ConfigError, match="note: the kernels are correlation, covariance, gemm, "):
        kernels.load("fft")


class Number:
    """A float that counts the arithmetic done with it.

    known: results of operations on the same two Numbers, which then count once; None to count every operation.
    """

    counted = 0
    known: dict | None = None

    def __init__(self, value):
        self.value = value

    def _operate(self, other, function, symbol):
        key = (symbol, id(self), id(other))
        shared = Number.known is not None and isinstance(other, Number)
        if shared and key in Number.known:
            return Number.known[key][0]
        Number.counted += 1
        result = Number(function(self.value, getattr(other, "value", other)))
        if shared:
            Number.known[key] = result, self, other  # holds the operands, so that their ids stay theirs
        return result

    def __add__(self, other):
        return self._operate(other, lambda a, b: a + b, "+")

    def __sub__(self, other):
        return self._operate(other, lambda a, b: a - b, "-")

    def __rsub__(self, other):
        return self._operate(other, lambda a, b: b - a, "r-")

    def __mul__(self, other):
        return self._operate(other, lambda a, b: a * b, "*")

    def __truediv__(self, other):
        return self._operate(other, lambda a, b: a / b if b else 0.0, "/")

    def __rtruediv__(self, other):
        return self._operate(other, lambda a, b: b / a if a else 0.0, "r/")

    __radd__, __rmul__ = __add__, __mul__

    def __rpow__(self, other):
        Number.counted += 1
        return Number(other**self.value)

    def __neg__(self):
        return Number(-self.value)

    def sqrt(self):
        Number.counted += 1
        return Number(abs(self.value) ** 0.5)

    def __float__(self):  # math.sqrt asks for it
        Number.counted += 1
        return float(self.value)

    def exp(self):
        Number.counted += 1
        return Number(float(np.exp(self.value)))

    def __lt__(self, other):
        Number.counted += 1
        return self.value < other.value

    def __gt__(self, other):
        Number.counted += 1
        return self.value > other.value

    def __le__(self, other):  # only correlation's floor, which is no arithmetic
        return self.value <= other

    def __eq__(self, other):  # nussinov's test of a pair, no arithmetic either
        return self.value == other

    __hash__ = None


class Numbers(np.ndarray):
    """An array of Numbers: constants stored in it become Numbers too."""

    def __setitem__(self, index, value):
        super().__setitem__(index, value if isinstance(value, Number) else Number(value))


def counted_operations(name, size, once=False):
    benchmark = kernels.load(name)
    values = benchmark.inputs(size, np.random.default_rng(0), np.dtype(benchmark.dtype))
    for key, value in values.items():
        if isinstance(value, np.ndarray):
            values[key] = np.array([Number(x) for x in value.flat], object).reshape(value.shape).view(Numbers)
        elif key in ("alpha", "beta"):
            values[key] = Number(value)
    Number.counted, Number.known = 0, {} if once else None
    benchmark.kernel.py_func(*values.values())
    return Number.counted


# Kernels with a factor that does not change in the innermost loop, which counts once.
INVARIANT = {"gemm", "k2mm", "symm", "syr2k", "syrk", "floyd_warshall"}


@pytest.mark.parametrize("name", sorted(set(kernels.NAMES) - {"deriche"}))
@pytest.mark.parametrize("numbers", [(3, 4, 5, 6, 7), (5, 7, 4, 3, 6), (2, 3, 3, 2, 2)], ids=str)
def test_the_operation_count_is_what_the_loops_do(name, numbers):
    benchmark = kernels.load(name)
    size = dict(zip(benchmark.sizes["MINI"], numbers, strict=False))
    assert counted_operations(name, size, once=name in INVARIANT) == benchmark.flops(size)


def test_deriche_does_32_operations_for_a_pixel():
    benchmark = kernels.load("deriche")
    coefficients = counted_operations("deriche", {"W": 0, "H": 0})
    for w, h in ((1, 1), (3, 4), (5, 2)):
        size = {"W": w, "H": h}
        assert counted_operations("deriche", size) - coefficients == benchmark.flops(size) == 32 * w * h


def test_rates_come_in_the_unit_that_binds():
    gemm, atax, nussinov = map(kernels.load, ("gemm", "atax", "nussinov"))
    assert (gemm.unit, atax.unit, nussinov.unit) == ("GFLOP/s", "GB/s", "Gop/s")
    size = {"NI": 1000, "NJ": 1000, "NK": 1000}
    assert gemm.rate(size, 0.5, 8) == pytest.approx(4.0, rel=2e-3)
    assert atax.rate({"M": 1000, "N": 1000}, 1e-3, 8) == pytest.approx(8.024)


@pytest.mark.parametrize("name", [n for n in kernels.NAMES if kernels.load(n).traffic_bytes is not None])
def test_traffic_is_every_element_read_once_and_every_written_one_written_once(name):
    """Counted on the interpreter's own accesses: first touches that read, and elements ever written."""

    class Recorder(np.ndarray):
        def __getitem__(self, index):
            if (id(self), index) not in written:
                read.add((id(self), index))
            return super().__getitem__(index)

        def __setitem__(self, index, value):
            written.add((id(self), index))
            super().__setitem__(index, value)

    benchmark = kernels.load(name)
    size = dict(zip(benchmark.sizes["MINI"], (6, 7), strict=False))
    read, written = set(), set()
    values = benchmark.inputs(size, np.random.default_rng(0), np.dtype(benchmark.dtype))
    values = {k: v.view(Recorder) if isinstance(v, np.ndarray) else v for k, v in values.items()}
    benchmark.kernel.py_func(*values.values())
    assert benchmark.traffic_bytes(size, 8) == 8 * (len(read) + len(written))
