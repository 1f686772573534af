"""Random array programs against NumPy:  python -m tests.arrays.differential --programs 10000 --seed 1"""

from __future__ import annotations

import argparse
import ast
import linecache
import sys
import traceback
import warnings
from collections import Counter
from functools import partial
from pathlib import Path

import ml_dtypes
import numpy as np

import polyml
from polyml.errors import CompileError, PolymlError
from tests.arrays.generate import ArrayProgram, generate
from tests.seed_batches import in_batches
from tests.texts import reading_back
from tests.transformations import Tally, hides, recording

_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
_LEAST = {"bfloat16": 0.16, "f2": 2e-2, "c8": 1e-4}  # by type of an argument, whatever the result's; c8: of products
_BOUNDS = {"float16": 2e-2, "bfloat16": 0.16, "float32": 1e-4, "complex64": 1e-4}  # by type
_INEXACT = (
    "square exp exp2 expm1 log log2 log10 log1p sin cos tan tanh sinh cosh power sum mean var std prod dot matmul einsum".split()
)
_SUMS = ("sum", "mean", "std", "var", "prod")


class _Nudged:
    """NumPy whose inexact functions are off by a few units in the last place; by 0: whose sums of bfloat16 are taken in
    float32, as a kernel's are, and not rounded after each element.
    """

    def __init__(self, units: int):
        self._units = units

    def __getattr__(self, name: str):
        real = getattr(np, name)
        if name not in _INEXACT:
            return real

        def nudged(*args, **options):
            if not self._units and name in _SUMS and getattr(args[0], "dtype", None) == _BFLOAT16:
                return np.asarray(real(args[0].astype(np.float32), *args[1:], **options)).astype(_BFLOAT16)[()]
            result = real(*args, **options)
            kind = getattr(result, "dtype", np.dtype(bool))
            if name == "square":
                return _square_in_parts(args[0], self._units * np.finfo(kind).eps) if kind.kind == "c" else result
            if kind.kind not in "fc" and kind != _BFLOAT16:
                return result
            return result * kind.type(1 + self._units * ml_dtypes.finfo(kind).eps)

        return nudged


def _square_in_parts(numbers, error: float):
    """Of complex numbers, whose real part is a difference of products: NumPy fuses it with one of them, a kernel rounds both."""
    parts = np.real(numbers), np.imag(numbers)
    square = parts[0] * parts[0] * (1 + error) - parts[1] * parts[1] + 2j * parts[0] * parts[1]
    return np.asarray(square).astype(np.result_type(numbers))[()]


class _ProductsByName(ast.NodeTransformer):
    """`a @ b` becomes `np.matmul(a, b)`, which can be nudged: a product in float32 is inexact also where its result is widened."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.op, ast.MatMult):
            return node
        return ast.copy_location(ast.Call(ast.parse("np.matmul", mode="eval").body, [node.left, node.right], []), node)


def defined(seed: int, source: str, units: int | None = None):
    """The function, its text where tracebacks and the parser look for it. units: by how much functions are off."""
    name = f"<arrays {seed}>" if units is None else f"<arrays {seed}, off by {units}>"
    text = "import numpy as np\n" + source
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    namespace: dict = {"_copy": _copy}
    tree = ast.parse(text, name)
    if units is not None:
        tree = ast.fix_missing_locations(_ProductsByName().visit(tree))
    exec(compile(tree, name, "exec"), namespace)
    if units is not None:
        namespace["np"] = _Nudged(units)
    return namespace["f"]


def _copy(value):
    return value.copy() if isinstance(value, np.ndarray) else value


def check(program: ArrayProgram, **options: object) -> tuple[str, str]:
    """("ok" | "python" | "refused" | "failed", what): "python" where a run fell back to plain Python.

    In strict mode, where only sums are in another order than NumPy's and functions differ by a unit in the last place;
    what rounding that a comparison or a conversion to an integer makes large is no difference.
    """
    meaning = defined(program.seed, program.meaning)
    kernel = polyml.kernel(cache=False, fp="strict", **options)(defined(program.seed, program.source))
    outcome, reason = "ok", ""
    for run in range(len(program.sizes)):
        wanted_arguments, got_arguments = program.arguments(run), program.arguments(run)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            wanted = _result(meaning, wanted_arguments)
            got = _result(kernel, got_arguments)
        if isinstance(got, CompileError):  # whatever NumPy does, this is a defect
            return "failed", f"run {run}: {got.message}"
        if isinstance(got, PolymlError) and not isinstance(wanted, Exception):
            return "refused", type(got).__name__ + ": " + got.message
        if kernel.compiled is False:
            wanted_arguments = program.arguments(run)
            wanted = _result(defined(program.seed, program.source), wanted_arguments)
        least = max((_LEAST.get(dtype, 0.0) for dtype in program.dtypes.values()), default=0.0)
        problem = _difference(wanted, got, least) or _difference(
            tuple(wanted_arguments.values()), tuple(got_arguments.values()), least
        )
        if problem and not _same_error(wanted, got) and not _is_unstable(program, run, wanted, wanted_arguments):
            return "failed", f"run {run} {program.sizes[run]}: {problem}"
        if kernel.compiled is False and not isinstance(wanted, Exception):
            outcome, reason = (
                "python",
                reason or kernel.explain().splitlines()[1 if kernel._python_reason == "" else -1].strip()[:150],
            )
    return outcome, reason


def _is_unstable(program: ArrayProgram, run: int, wanted, wanted_arguments) -> bool:
    """Whether NumPy's own result changes when functions round another way: a comparison that is decided by it."""
    for units in (-4, 4, 0):
        arguments = {name: _nudged(program, array, units) for name, array in program.arguments(run).items()}
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            other = _result(defined(program.seed, program.meaning, units), arguments)
        if _difference((wanted, *wanted_arguments.values()), (other, *arguments.values())):
            return True
    return False


def _nudged(program: ArrayProgram, array: np.ndarray, units: int) -> np.ndarray:
    """A complex argument off by a little, where integers may be made of products: NumPy's are fused, a kernel's are not."""
    to_integers = any(np.dtype(dtype).kind in "iub" for dtype in program.dtypes.values())
    return array * (1 + units * 2.0**-52) if array.dtype == np.complex128 and to_integers else array


def _same_error(wanted, got) -> bool:
    """Both refuse the arguments; which of several mistakes is told may differ, and what was written before."""
    if not isinstance(wanted, Exception) or not isinstance(got, Exception):
        return False
    expected = (TypeError, ValueError, IndexError, OverflowError, AttributeError)
    return isinstance(wanted, expected) and isinstance(got, expected)


def _result(function, arguments: dict[str, np.ndarray]):
    try:
        return function(*arguments.values())
    except Exception as problem:  # what is raised is compared too
        return problem


def _difference(wanted, got, least: float = 0.0) -> str:
    """What differs by more than rounding. least: the error that is allowed whatever the type."""
    if isinstance(wanted, Exception) or isinstance(got, Exception):
        return f"{wanted!r} against {got!r}"
    if isinstance(wanted, tuple):
        if not isinstance(got, tuple) or len(wanted) != len(got):
            return "results"
        found = (_difference(a, b, least) for a, b in zip(wanted, got))
        return next((f"{position}: {problem}" for position, problem in enumerate(found) if problem), "")
    if type(wanted) is complex and type(got) is np.complex128:
        wanted = np.complex128(wanted)  # of `1j * A[i]`: docs/language.md
    if type(wanted) is not type(got):
        return f"{type(wanted).__name__} against {type(got).__name__}"
    if wanted is None:
        return ""
    wanted_array, got_array = np.asarray(wanted), np.asarray(got)
    if (wanted_array.dtype, wanted_array.shape) != (got_array.dtype, got_array.shape):
        return f"{wanted_array.dtype}{wanted_array.shape} against {got_array.dtype}{got_array.shape}"
    bound = max(least, _BOUNDS.get(wanted_array.dtype.name, 1e-9))
    if wanted_array.dtype == _BFLOAT16:
        wanted_array, got_array = wanted_array.astype("f4"), got_array.astype("f4")
    if wanted_array.dtype.kind not in "fc":
        return "" if np.array_equal(wanted_array, got_array) else f"{wanted_array} against {got_array}"
    # the order of a sum is NumPy's own: values that cancel differ by an ulp of the largest, and where one order leaves
    # the range another need not
    finite = np.isfinite(wanted_array) & np.isfinite(got_array)
    scale = float(np.max(np.abs(wanted_array), initial=1.0, where=finite))
    close = np.isclose(got_array, wanted_array, rtol=bound, atol=bound * scale) | ~finite
    return "" if close.all() else f"{wanted_array} against {got_array}"


def checked(seed: int, target: str | None = None) -> tuple[str, str, list[list[str]], bool]:
    """Outcome and reason for the program of this number, what fired in its compilations, and whether NaN or infinity hide it.

    target: what it runs on instead of the processor, such as "opencl".
    """
    program = generate(seed)
    with recording() as seen, reading_back(seed % 3 == 0) as lost:
        try:
            outcome, what = check(program, threads=1 + seed % 2, target=target)
        except Exception:
            outcome, what = "failed", traceback.format_exc()[-2000:]
    if lost and outcome != "failed":
        outcome, what = "failed", lost[0]
    return outcome, what, [sorted(each) for each in set(seen)], outcome == "ok" and _is_hidden(program)


def _is_hidden(program: ArrayProgram) -> bool:
    function = defined(program.seed, program.meaning)
    hidden = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for run in range(len(program.sizes)):
            arguments = program.arguments(run)
            result = _result(function, arguments)
            hidden.append(hides((*(result if isinstance(result, tuple) else (result,)), *arguments.values())))
    return all(hidden)


def main() -> int:
    """Whether a program failed decides the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.arrays.differential", description=__doc__)
    parser.add_argument("--programs", type=int, default=200, help="how many programs")
    parser.add_argument("--seed", type=int, default=1, help="the number of the first one")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes")
    parser.add_argument("--show", action="store_true", help="print the program --seed and stop")
    parser.add_argument("--tally", type=Path, help="write what fired to this file, as JSON")
    parser.add_argument("--target", choices=("opencl",), help="run them on a device instead of the processor")
    options = parser.parse_args()
    if options.show:
        print(generate(options.seed).source, generate(options.seed), sep="\n")
        return 0
    outcomes, reasons, tally = Counter(), Counter(), Tally()
    seeds = range(options.seed, options.seed + options.programs)
    for seed, (outcome, what, fired, hidden) in in_batches(partial(checked, target=options.target), seeds, options.jobs):
        outcomes[outcome] += 1
        tally.add(fired, is_wrong=outcome == "failed", is_hidden=hidden)
        if outcome == "failed":
            print(f"seed {seed} failed: {what}\n{generate(seed).source}", flush=True)
        elif outcome != "ok":
            reasons[f"{outcome}: {what}"] += 1
    print(dict(outcomes))
    for what, count in reasons.most_common(20):
        print(f"{count:6d} {what}")
    print(tally.text())
    if options.tally:
        options.tally.write_text(tally.to_json())
    return 1 if outcomes["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
