"""A kernel's own source with `prange` at the loops that may run in parallel, for numba."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from benchmarks.loops import function_tree, loops_named, with_single_constants


def numba_source(function: Callable, parallel: Sequence[str], dtype: str) -> str:
    """Returns the Python text of the function for numba.

    In float32, constants become np.float32, as numba would compute in float64 with Python's own.

    parallel: loops as `parallel_loops` names them. Raises ValueError where the source has no such loop.
    """
    tree = function_tree(function)
    for loop in loops_named(tree, parallel):
        loop.iter.func = ast.Name("prange", ast.Load())
    if dtype == "float32":
        tree = with_single_constants(tree)
    return ast.unparse(ast.fix_missing_locations(tree))
