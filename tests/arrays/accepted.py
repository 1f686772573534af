"""What kernels accept, found by trying:  python -m tests.arrays.accepted > docs/accepted.md

`python -m tests.arrays.accepted NAME` prints the rows with that word alone, which takes seconds.

Every construct and every function with its keywords is put into a kernel of its own and compiled for arrays of every type.
"yes": compiled, and the result is NumPy's. "Python": it runs as plain Python, with a warning. "refused": an error that says
where and what would be accepted; NumPy raises there too where the entry says "as NumPy".
"""

from __future__ import annotations

import ast
import cmath
import linecache
import math
import re
import sys
import warnings
from dataclasses import dataclass

import ml_dtypes  # noqa: F401  NumPy then knows bfloat16
import numpy as np

import polyml
from polyml.errors import PolymlError, SizesNeeded
from polyml.frontend import elementwise_functions
from polyml.frontend.argument_types import arg_type, with_sizes
from polyml.frontend.library.whole_arrays import marks
from polyml.frontend.parsing import array_signatures
from polyml.frontend.parsing.parse import parse
from polyml.frontend.types.infer import infer

TYPES = ("complex128 complex64 float64 float32 float16 bfloat16 int64 int32 int16 int8 uint64 uint32 uint16 uint8 bool").split()


@dataclass(frozen=True)
class Probe:
    """One row. text: what the kernel returns, or statements, of A and B (4 x 4), x (4), n, s and J (int64)."""

    section: str
    text: str

    @property
    def source(self) -> str:
        try:
            ast.parse(self.text, mode="eval")
            body = f"    return {self.text}"
        except SyntaxError:
            body = "\n".join(f"    {line}" for line in self.text.split("; "))
        return f"def f(A, B, x, n, s, J):\n{body}\n"


_CONSTRUCTS = [
    "A[1:3]", "A.T", "A[n:, ::-2], x[1:]", "def g(k): return 1 if k < 1 else 2 * g(k - 1); return x * g(n)", "A[:, ::2]", "A[::-1] * 1", "A[-1] * 1", "A[..., 0] + 0", "A[:, None, :] + x", "A[1:, 1:] = B[:-1, :-1]",
    "A[n] = x", "A[:] = B.T", "A += B", "A[1:] = A[:-1]", "A @ x", "y = A[1]; y[0] = 1; return A.sum()",
    "for i in range(4): A[i, i:] = x[i:]", "for i in range(2): A[J[i]] = x", "for i in range(2): A[i, J[i]:] = x[0]", "for i in range(4): A[i] = x[i]", "if n > 1: A[0] = x", "if n > 1: y = A + B; else: y = B.copy(); return y", "if n > 1: t = x[0]; return t", "A > B", "A == B",
    "(A > 0) & (B > 0)", "~(A > 0)", "A // 3", "A % 3", "A ** 2", "A << 1", "A & B", "-A", "A + 1", "A * 2.5", "A / B",
    "A * 1j", "A.real * 1", "A.imag * 1", "A.real = B.real", "A.imag = B.real", "abs(A)", "complex(n, s) * A",
    "A.shape[0]", "len(A)", "A[A > 2] = 0", "A[A > 2] += 1", "A[A > 2] = B[A > 2]",
    "m = A > 2; A[m] = A[m] * 2 + B[m]", "x[x > 2]", "x[x > 2].sum()", "(x[x > 2] * 2).mean()", "A[A > 2].any()", "A[A > 0].max()", "A[:, np.newaxis] + 0", "A.fill(2)", "np.copyto(A, B)",
    "np.add(A, B, out=A)", "np.multiply(A, B, A)", "x[x.astype(np.int64) % 4]", "A[:, J]", "x[J % 2]", "x[J] = 1", "x[J] += A[0, J]", "np.add.at(x, J, 1); return x",
    "for row in A: x += row", "for i, v in enumerate(x): A[0, i] = v", "for u, v in zip(x, A[1]): A[0] += u * v",
    "for v in reversed(x): A[0] += v", "for v in (x, A[1]): A[0] += v",
    "while n > 1: n = n // 2; return n", "for i in range(J[0], 4): x[i] = A[i, 0]", "for i in range(4): A[J[i % 2], 0] += x[i]",
    'if n < 1: raise ValueError("n"); return n', 'for i in range(4): assert x[i] == x[i], "x"; A[0, i] = x[i]',
    "t = A[0], n; u, k = t; return u * k + t[0]", "s = A.shape; y = np.zeros(s); return y + s[1]", "for i, j in ((0, 1), (1, 0)): A[i, j] += n",
    "assert A.shape == B.shape; return A + 0", "A.shape != (4, n + 2)", "if x.ndim == 1: return x[0]; return x[0, 0]", "n in (1, 2, 3)",
    "w = [0.0] * 4; w[n] = 2.5; return x * w[n]", "w = [v * v for v in x]; return w[0] + w[-1]",
    "out = [n]; out.append(2); out.extend([3, 4]); u = out.pop(); return out, u * x",
    "out = [[] for _ in range(9)]; out[n].append((n, 0.5)); v, w = out[n][0]; return out, w * x",
    "out = [3, 1, n]; out.insert(1, 7); out.sort(); del out[0]; return out[::-1] + [n], n in out, x",
    "[v for v in x if v > 2]", "sum([i * n for i in range(4) if i % 2]) * x",
    "x[::abs(J[0]) % 3 + 1] = 1", "k = J[0] % 2; x[k:k + 2] = A[0, 1 - k:3 - k]", "np.bincount(J % 4) * 2 / np.bincount(J % 4)",
    "A.shape, (n, [s, s])", "A[0] = [n, 1, 0, 1]", "[v * 2 for v in x]",
    "A[0, 0].item() * x", "u, v = A[n, :2]; return u * v", "for u, v in A[:, :2]: x[0] = u * v",
    "for i in range(0, 4, abs(J[0]) + 1): x[i] = A[i, 0]",
    "f = lambda v: v * 2 + n; return f(A)",
    "polyml.assume(n > 1); return A[n] + 0", "polyml.assume(polyml.within(J, -1, n)); A[J[1], 0] += 1",
    "max(x)", "any(x > 2)", "all(v > 0 for v in x)", "A[0, 0] + np.iinfo(np.int8).max",
    "i, j = np.nonzero(A > 2); return A[i, j] + i", "i = np.where(x > 2)[0]; x[i] = 1; return i", "A[x > 2]", "y = x[x > 2]; return y[1:] * 1, len(y)",
    "[v for v in x]", "A[0], A[1] = A[1] * 1, A[0] * 1",
]  # fmt: skip
_CALLS = {
    "where": ["np.where(A > 0, A, B)", "np.where(A > 0, A, 0)", "np.where(n > 1, 1.0, 2.0)"],
    "clip": ["np.clip(A, 0, 1)", "A.clip(0, 1)"],
    "einsum": ['np.einsum("ij,jk->ik", A, B)', 'np.einsum("ii", A)', 'np.einsum("...j,j", A, x)'],
    "reshape": ["np.reshape(A, (2, 8)) * 1", "A.reshape(2, -1) * 1"],
    "transpose": ["np.transpose(A) * 1", "A.transpose(1, 0) * 1", "A.T * 1"],
    "swapaxes": ["np.swapaxes(A, 0, 1) * 1"],
    "expand_dims": ["np.expand_dims(A, 1) * 1"],
    "squeeze": ["np.squeeze(A[:, :1], axis=1) * 1"],
    "flip": ["np.flip(A) * 1", "np.flip(A, axis=0) * 1"],
    "astype": ["A.astype(np.float32)", "A.astype(np.int16)", "A.astype(J.dtype)"],
    "outer": ["np.outer(x, x)"],
    "inner": ["np.inner(A, B)"],
    "real": ["np.real(A) * 1"],
    "imag": ["np.imag(A) * 1"],
    "angle": ["np.angle(A)", "np.angle(x, deg=True)"],
    "conj": ["A.conj() * 1", "A.conjugate() * 1"],
    "dot": ["np.dot(A, x)", "A.dot(B)"],
    "vdot": ["np.vdot(x, x)"],
    "matmul": ["A @ B", "np.matmul(A, x)"],
    "cumsum": ["np.cumsum(x)", "A.cumsum(axis=1)", "np.cumsum(x, dtype=np.float64)"],
    "ravel": ["A.ravel() * 1"],
    "flatten": ["A.flatten()"],
    "copy": ["A.copy()", "np.copy(A)"],
    "arange": [
        "np.arange(n) + x[:2]",
        "np.arange(1, 5, 2) + 0",
        "np.arange(n, dtype=np.float32) + 0",
        "np.arange(0, 1, 0.25) + x",
        "np.arange(s) * x[0]",
        "np.arange(n, s * 9, s) * x[0]",
    ],
    "linspace": ["np.linspace(0, 1, n + 2) * x[0]", "np.linspace(1, 2.5, 4, endpoint=False) + x"],
    "tensordot": ["np.tensordot(A, B)", "np.tensordot(A, B, axes=1)", "np.tensordot(A, B, axes=([0], [1]))"],
    "diff": ["np.diff(x)", "np.diff(A, axis=0)", "np.diff(x, n=2)"],
    "round": [
        "np.round(A / 2)",
        "A.round()",
        "np.round(A, 1)",
        "np.round(A, -1)",
        "round(x[0], 2)",
        "round(n, 2)",
        "round(s, 1) * x",
    ],
    "vector_norm": ["np.linalg.norm(x)", "np.linalg.norm(A)", "np.linalg.norm(A, axis=1)"],
    "trace": ["np.trace(A)", "A.trace()"],
    "diagonal": ["np.diagonal(A)", "np.diagonal(A) + 0", "A.diagonal() + 0"],
    "array": [
        "np.array([x[0], x[1]])",
        "np.array([n, s, 1])",
        "np.array([[n, 2], [3, x[1]]], dtype=np.int64)",
        "np.array([x, A[1]])",
        "np.array(A)",
    ],
    "asarray": ["np.asarray(A) + 0", "np.asarray([s, n]) * x[0]"],
    "ascontiguousarray": ["np.ascontiguousarray(A.T) + 0"],
    "fliplr": ["np.fliplr(A) * 1"],
    "flipud": ["np.flipud(A) * 1"],
    "moveaxis": ["np.moveaxis(A, 0, 1) * 1"],
    "cumprod": ["np.cumprod(x)", "A.cumprod(axis=1)", "np.cumprod(x, dtype=np.float64)"],
    "add_accumulate": ["np.add.accumulate(x)", "np.add.accumulate(A, axis=1)", "np.add.accumulate(x, dtype=np.float64)"],
    "multiply_accumulate": ["np.multiply.accumulate(x)"],
    "maximum_accumulate": ["np.maximum.accumulate(x)", "np.maximum.accumulate(A, axis=1)"],
    "minimum_accumulate": ["np.minimum.accumulate(A)"],
    "fmax_accumulate": ["np.fmax.accumulate(x)"],
    "fmin_accumulate": ["np.fmin.accumulate(x)"],
    "add_outer": ["np.add.outer(x, x)", "np.add.outer(A, x)"],
    **{f"{name}_outer": [f"np.{name}.outer(x, x)"] for name in elementwise_functions.OUTER if name != "add"},
    "isclose": ["np.isclose(A, B)", "np.isclose(A, B, rtol=0.1, atol=s)"],
    "allclose": ["np.allclose(A, A)"],
    "array_equal": ["np.array_equal(A, B)"],
    "count_nonzero": ["np.count_nonzero(A)", "np.count_nonzero(A, axis=1)"],
    **{name: [f"np.{name}(A)", f"np.{name}(A, axis=1)"] for name in ("nansum", "nanmean", "nanvar", "nanstd", "nanmax", "nanmin")},
    "flatnonzero": ["np.flatnonzero(A)"],
    "argwhere": ["np.argwhere(A > 1)"],
    "searchsorted": ["np.searchsorted(x, A)", 'x.searchsorted(s, side="right")'],
    "interp": ["np.interp(A, x, x)", "np.interp(s, x, x, left=0)"],
    "sort": ["np.sort(A)", 'np.sort(x, kind="stable")', "A.sort(axis=0); return A"],
    "argsort": ['np.argsort(x, kind="stable")', 'A.argsort(axis=0, kind="stable")'],
    "median": ["np.median(A, axis=1)"],
    "tri": ["np.tri(4)", "np.tri(n, 3, k=1, dtype=np.int32)"],
    "eye": ["np.eye(4) @ A", "np.eye(n, 3) * 2"],
    "tril": ["np.tril(A) + 0", "np.tril(A, k=1) + 0"],
    "triu": ["np.triu(A, k=-1) + 0"],
    "diag": ["np.diag(A) + 0", "np.diag(x) + 0"],
    "take": ["np.take(A, J, axis=0)", "x.take(J)"],
    "roll": ["np.roll(x, 1) + 0", "np.roll(A, -1, axis=1) + 0"],
    "tile": ["np.tile(x, 2) + 0", "np.tile(A, (2, 3)) + 0", "np.tile(x, (2, 1)) + 0"],
    "pad": [
        "np.pad(x, 1)",
        "np.pad(A, ((1, 0), (2, 3)))",
        "np.pad(A, 1, constant_values=1)",
        'np.pad(A, 2, mode="edge")',
        'np.pad(A, (2, 1), mode="reflect")',
        'np.pad(A, 2, mode="symmetric")',
        'np.pad(A, (1, 3), "wrap")',
        'np.pad(A, 1, mode="mean")',
    ],
    "bincount": ["np.bincount(J % 4)", "np.bincount(J % 4, weights=x[:3])", "np.bincount(J % 4, minlength=9)"],
    "repeat": ["np.repeat(J, J % 4)", "x.repeat(n)", "np.repeat(x, 2) + 0", "np.repeat(A, 2, axis=0) + 0"],
    "concatenate": ["np.concatenate((A, B))", "np.concatenate((A, B), axis=1)"],
    "stack": ["np.stack((x, x))", "np.stack((x, x), axis=1)"],
    "hstack": ["np.hstack((A, B))", "np.hstack((x[0], x))"],
    "append": ["np.append(x, x[0])", "np.append(A, B, axis=0)"],
    "vstack": ["np.vstack((A, x))"],
    **{name: [] for name in marks.FUNCTIONS},  # which users do not call
    "unique": ["np.unique(J)", "np.unique(x)", "v, i, j, n = np.unique(J, True, True, True); return v, i, j, n"],
    "isin": ["np.isin(A, np.array([n, 3]))", "np.isin(J, J[:1], invert=True)"],
    "union1d": ["np.union1d(J, J[:2] * 2)", "np.union1d(x, x)"],
    "intersect1d": ["np.intersect1d(J, J[:2])"],
    "setdiff1d": ["np.setdiff1d(J, J[:2])"],
    "setxor1d": ["np.setxor1d(J, J[:2])"],
    "gradient": ["np.gradient(x)", "np.gradient(A, s, axis=1)"],
    "trapezoid": ["np.trapezoid(A)", "np.trapezoid(x, dx=s)", "np.trapezoid(A, x)"],
    "ediff1d": ["np.ediff1d(x)"],
    "convolve": ["np.convolve(x, x[:2])", 'np.convolve(x, x[:2], mode="same")'],
    "correlate": ["np.correlate(x, x[:2])"],
    "cross": ["np.cross(x[1:], A[0, :3])"],
    "meshgrid": ["u, v = np.meshgrid(x, J); return u, v"],
    "indices": ["i, j = np.indices(A.shape); return i * A + j"],
    "mgrid": ["u, v = np.mgrid[0:4, -1:1:4j]; return u * A + v", "np.mgrid[0:n, 0:s:0.5]"],
    "ogrid": ["u, v = np.ogrid[0:4, 0:4]; return u * A + v"],
    "select": ["np.select([A > 3, A > 1], [A, B], 0)", "np.select([x > 2], [s], x)"],
    "average": ["np.average(A, axis=1)", "np.average(x, weights=x)", "np.average(A, axis=0, weights=x)"],
    "cov": ["np.cov(A)", "np.cov(x)", "np.cov(x, A[1])", "np.cov(A, rowvar=False, ddof=0)"],
    "corrcoef": ["np.corrcoef(x, A[1])"],
    "vander": ["np.vander(x, 3)", "np.vander(x, increasing=True)"],
    "polyval": ["np.polyval(x, A)", "np.polyval([s, 2.0], x)"],
    "kron": ["np.kron(A, x[:2] * A[:, :2])"],
    "rot90": ["np.rot90(A) * 1"],
    "identity": ["np.identity(4) @ A"],
    "extract": ["np.extract(x > 2, x)"],
    "take_along_axis": ["np.take_along_axis(A, np.argsort(A, axis=1, kind='stable'), 1)"],
    "sinc": ["np.sinc(A)", "np.heaviside(A, s)", "np.nan_to_num(A)"],
    "column_stack": ["np.column_stack((x, A))"],
    **{f"{name}_reduce": [f"np.{name}.reduce(A)", f"np.{name}.reduce(A, axis=1)"] for name in array_signatures.REDUCED},
    "triu_indices": ["i, j = np.triu_indices(4, k=1); return A[i, j]"],
    "tril_indices": ["i, j = np.tril_indices(n); return i, j"],
    "fill_diagonal": ["np.fill_diagonal(A, n); return A"],
    "histogram": [
        "h, e = np.histogram(J, 5, (0, 4)); return h, e",
        "np.histogram(x, n, (0, 9))[0]",
        "np.histogram(x, n)[0]",
        "np.histogram(A, x[:3] * np.arange(3))[0]",
    ],
    "histogram2d": ["np.histogram2d(x, x, 3)[0]", "np.histogram2d(J, x[:3], (n, 2), ((0, 4), (0, 9)))[0]"],
    "unravel_index": ["np.unravel_index(n, A.shape)", "i, j = np.unravel_index(J % 4, A.shape); return i, j"],
    "ravel_multi_index": ["np.ravel_multi_index((J % 4, n), A.shape)"],
    "putmask": ["np.putmask(A, A > 1, s); return A"],
    "place": ["np.place(x, x > 1, x[:2]); return x"],
    "copyto": ["np.copyto(A, B); return A", "np.copyto(A, B, where=A > B); return A"],
    "percentile": ["np.percentile(A, 30, axis=1)", "np.percentile(A, 2.5, axis=0)"],
    "quantile": ["np.quantile(A, 0.25, axis=1)"],
    "digitize": ["np.digitize(A, x[:2])", "np.digitize(s, x, right=True)"],
}
_OF_NUMBERS = [
    "math.erf(s) + x", "math.erfc(s) + x", "math.gamma(s) + x", "math.lgamma(s) + x", "math.gcd(n, J[0]) + x", "math.lcm(n, 3, 4) + 0",
    "math.comb(5, n) + x", "math.perm(5, n) + 0", "math.factorial(n) + x", "math.isqrt(n) + x", "math.isclose(x[0], s)",
    "u, v = math.modf(s); return u * x[0] + v", "math.remainder(s, n) + x", "math.hypot(s, n, s) + x", "math.degrees(s) + x",
    "math.prod(x)", "q, r = divmod(n, 3); return x * q + r", "round(s) + x", "np.fix(A)",
    "cmath.sqrt(-s) + x", "r, phi = cmath.polar(complex(n, s)); return r * x + phi", "complex(n, s).conjugate() * x",
]  # fmt: skip
_ALLOCATIONS = [
    "y = np.zeros(4); y += x; return y", "y = np.ones((4, n)); return y", "y = np.full(4, s); return y",
    "y = np.empty_like(A); y[:] = A; return y", "y = np.zeros_like(A); return y", "y = np.full_like(x, n); return y",
    "np.ones(3, dtype=np.result_type(A, s))",
    "y = np.zeros(A.shape, A.dtype); return y",
]  # fmt: skip
_NOT_YET = [
    "np.sort(x)", "np.argsort(x)", "np.linalg.inv(A)", "np.fft.fft(x)", "np.linspace(0, 1, 4) + x",
    "np.median(x)", "np.where(A > 0)", "np.bincount(n)",
    "np.nonexistent(x)", "A.nonexistent()", "A.sum(nonexistent=1)",
]  # fmt: skip


def probes() -> list[Probe]:
    """All rows."""
    found = [Probe("Constructs", text) for text in _CONSTRUCTS]
    covered = {name for name in _CALLS}
    for name, signature in sorted((s.name, s) for s in {*array_signatures.FUNCTIONS.values()}):
        if name in covered:
            continue
        options = [o for o in signature.options if o in ("axis", "keepdims", "dtype", "ddof")]
        found.append(Probe("Functions of arrays", f"np.{name}(A)"))
        found += [Probe("Functions of arrays", f"np.{name}(A, {_given(o)})") for o in options]
        if name in array_signatures.METHODS:
            found.append(Probe("Functions of arrays", f"A.{name}({_given('axis')})"))
    found += [Probe("Functions of arrays", text) for texts in _CALLS.values() for text in texts]
    found += [Probe("Functions of elements", f"np.{name}(A)") for name in elementwise_functions.UNARY]
    found += [Probe("Functions of elements", f"np.{name}(A, B)") for name in elementwise_functions.BINARY]
    found += [Probe("Functions of numbers", text) for text in _OF_NUMBERS]
    found += [Probe("New arrays", text) for text in _ALLOCATIONS]
    return found + [Probe("Not compiled", text) for text in _NOT_YET]


def _given(option: str) -> str:
    return {"axis": "axis=1", "keepdims": "keepdims=True", "dtype": "dtype=np.float64", "ddof": "ddof=1"}[option]


def function(probe: Probe):
    """The kernel of a row as Python has it."""
    name = f"/virtual/accepted/{abs(hash(probe.source))}.py"
    linecache.cache[name] = (len(probe.source), None, probe.source.splitlines(True), name)
    namespace = {"np": np, "polyml": polyml, "math": math, "cmath": cmath}
    exec(compile(probe.source, name, "exec"), namespace)
    return namespace["f"]


def arguments(dtype: str) -> tuple:
    """Small positive numbers, so that functions are defined and integers do not wrap."""
    matrix = (np.arange(16).reshape(4, 4) % 5 + 1).astype(dtype)
    return matrix, matrix[::-1].copy(), matrix[0].copy(), 2, 1.5, np.array([1, -1, 0])


def is_typed(probe: Probe, dtype: str, late: bool = False) -> bool:
    """Whether type inference alone takes it. late: whether memory may be allocated as the program runs"""
    given = arguments(dtype)
    try:
        kernel = parse(function(probe))
        types = [arg_type(a) for a in given]
        try:
            infer(kernel, types, late=late)
        except SizesNeeded:
            infer(kernel, [with_sizes(t, a) for t, a in zip(types, given)], late=late)
    except PolymlError:
        return False
    return True


def outcome(probe: Probe, dtype: str) -> str:
    """What happens: "yes", "Python", "as NumPy" (both raise), or "WRONG"."""
    own, other = arguments(dtype), arguments(dtype)
    call = function(probe)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            wanted: object = call(*own)
        except Exception as error:
            wanted = error
        kernel = polyml.kernel(cache=False)(call)
        try:
            got: object = kernel(*other)
        except Exception as error:
            got = error
    if isinstance(wanted, Exception) and isinstance(got, (type(wanted), PolymlError)):
        return "as NumPy"
    if isinstance(wanted, Exception) or isinstance(got, Exception):
        same = False
    else:
        same = _same(wanted, got) and all(map(_same, own, other))
    return "WRONG" if not same else "yes" if kernel.compiled else "Python"


def _same(one: object, other: object) -> bool:
    if isinstance(one, (tuple, list)):
        return type(one) is type(other) and len(one) == len(other) and all(map(_same, one, other))
    if type(one) is not type(other):
        return False
    if isinstance(one, (np.ndarray, np.generic)) and (one.dtype, one.shape) != (other.dtype, other.shape):
        return False
    bounds = {"complex64": 1e-6, "float32": 1e-6, "float16": 2e-3, "bfloat16": 2e-2}
    bound = bounds.get(str(getattr(one, "dtype", "")), 1e-12)
    return one is None or bool(np.allclose(one, other, rtol=bound, equal_nan=True))


def table() -> str:
    """The document."""
    lines = [
        "# What kernels accept", "",
        "Made by `python -m tests.arrays.accepted > docs/accepted.md`, which tries each entry in a kernel of its own on arrays of",
        "each type; a test keeps it true. A and B are matrices, x a vector, n an int, s a float, J indices.", "",
        "* **yes**: compiled, and the result, its type and the changed arguments are NumPy's.",
        "* **Python**: the call runs as plain Python with a `PolymlPerformanceWarning` that names the line and why.",
        "* **as NumPy**: NumPy has no such operation and raises; so does the kernel.", "",
        "Sums and means of bfloat16 are taken in float32 and rounded once; NumPy rounds them after each element.",
    ]  # fmt: skip
    section = ""
    for probe in probes():
        if probe.section != section:
            section = probe.section
            lines += ["", f"## {section}", "", f"| | {' | '.join(TYPES)} |", "|---" * (len(TYPES) + 1) + "|"]
        print(probe.text, file=sys.stderr, flush=True)
        lines.append(row(probe))
    return "\n".join(lines)


def row(probe: Probe) -> str:
    """A line of a table."""
    text = probe.text.replace("|", "\\|")
    return f"| `{text}` | {' | '.join(outcome(probe, dtype) for dtype in TYPES)} |"


def with_word(word: str) -> list[Probe]:
    """The rows with a word, such as the name of a function."""
    return [probe for probe in probes() if re.search(rf"\b{re.escape(word)}\b", probe.text)]


if __name__ == "__main__":
    words = sys.argv[1:]
    print("\n".join(row(probe) for word in words for probe in with_word(word)) or f"no row has {words}" if words else table())
