"""Pythran as a peer: a kernel's own source with OpenMP's directives, compiled ahead of time for its arguments' types."""

from __future__ import annotations

import ast
import importlib.util
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import metadata
from pathlib import Path

import numpy as np

from benchmarks.loops import function_tree, loops_named, with_single_constants
from benchmarks.parallel_loops import PARALLEL_LOOPS
from benchmarks.peer import Call, PeerUnavailable, built
from polyml.kernels import Benchmark

FLAGS = ("-O3", "-march=native", "-fopenmp", "-ffast-math", "-w")


def pythran(benchmark: Benchmark, arguments: Mapping[str, object], threads: int) -> dict[str, Call]:
    def form(loops: tuple[str, ...]) -> Call:
        return compiled(pythran_source(benchmark.kernel.py_func, arguments, loops, benchmark.dtype), benchmark.name)

    loops = PARALLEL_LOOPS[benchmark.name]
    forms = {"openmp": form(loops)} if loops and threads > 1 else {}
    forms["serial"] = form(())
    if benchmark.dtype != "float32":
        return forms
    return {label: _in_single(call) for label, call in forms.items()}


def _in_single(call: Call) -> Call:
    """Returns the source with numbers as float32, so that Pythran, which computes in its arguments' types, does not use float64."""
    return lambda *values: call(*(np.float32(v) if isinstance(v, float) else v for v in values))


def pythran_source(function: Callable, arguments: Mapping[str, object], parallel: Sequence[str], dtype: str) -> str:
    """Returns the Python text of a module.

    parallel: loops as `parallel_loops` names them. Raises ValueError where there is no such loop.
    """
    tree = function_tree(function)
    for loop in loops_named(tree, parallel):
        _put_before(tree, loop, ast.Expr(ast.Constant(directive(loop))))
    if dtype == "float32":
        tree = with_single_constants(tree)
    kinds = ", ".join(type_name(a, dtype) for a in arguments.values())
    text = ast.unparse(ast.fix_missing_locations(tree))
    return f"import math\nimport numpy as np\n# pythran export {tree.name}({kinds})\n{text}\n"


def directive(loop: ast.For) -> str:
    """Returns OpenMP's directive for a loop that carries only sums into scalars: these are reductions, other scalars private."""
    stored: dict[str, bool] = {}  # name -> whether all that is stored are sums
    for node in ast.walk(loop):
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            summed = isinstance(node.op, (ast.Add, ast.Sub))
            stored[node.target.id] = stored.get(node.target.id, True) and summed
        elif isinstance(node, ast.Assign):
            stored |= {target.id: False for target in node.targets if isinstance(target, ast.Name)}
    clauses = {
        "private": [name for name, summed in stored.items() if not summed],
        "reduction": [name for name, summed in stored.items() if summed],
    }
    words = [f"{name}({'+:' * (name == 'reduction')}{', '.join(names)})" for name, names in clauses.items() if names]
    return " ".join(["omp parallel for", *words])


def _put_before(tree: ast.AST, loop: ast.For, statement: ast.stmt) -> None:
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and loop in body:
            body.insert(body.index(loop), statement)
            return


def type_name(argument: object, dtype: str | None = None) -> str:
    """Returns a type as a signature has it. dtype: that of numbers that are not integers, instead of Python's."""
    if isinstance(argument, np.ndarray):
        return f"{argument.dtype.name}[{','.join(':' * argument.ndim)}]"
    return dtype if isinstance(argument, float) and dtype else type(argument).__name__


@cache
def _has_blas() -> bool:
    """Returns whether the compiler finds cblas.h, which Pythran's products include."""
    command = ["gcc", "-E", "-x", "c", "-", "-o", os.devnull]
    return (
        bool(shutil.which("gcc"))
        and subprocess.run(command, input=b"#include <cblas.h>", capture_output=True, check=False).returncode == 0
    )


def compiled(text: str, name: str) -> Callable:
    """Returns the function `name` of a module's text, kept in `peer.built`. Raises PeerUnavailable without Pythran."""
    try:
        import pythran
    except ImportError:
        raise PeerUnavailable("Pythran is not installed (pip install 'polyml[bench]')") from None
    module = f"pythran_{name}"

    def make(folder: Path) -> None:
        source = folder / f"{module}.py"
        source.write_text(text)
        try:
            pythran.compile_pythranfile(
                str(source),
                output_file=str(folder / f"{module}.so"),
                extra_compile_args=list(FLAGS),
                extra_link_args=["-fopenmp"],  # without -ffast-math: see c_peers
            )
        except Exception as problem:
            if not _has_blas():
                raise PeerUnavailable("Pythran's products need a BLAS with headers (Debian: libopenblas-dev)") from problem
            raise

    folder = built(make, text, repr(FLAGS), metadata.version("pythran"))
    found = importlib.util.spec_from_file_location(module, folder / f"{module}.so")
    loaded = importlib.util.module_from_spec(found)
    found.loader.exec_module(loaded)
    return getattr(loaded, name)
