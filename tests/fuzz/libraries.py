"""A random program as a library for C, called through Python."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FunctionType

import numpy as np

import polyml
from polyml.ahead_of_time.library_build import LibraryRequest, build
from polyml.frontend.argument_types import arg_type
from tests.fuzz.program import Program, make_arguments


def loaded(function: FunctionType, program: Program) -> Callable:
    """The function of a library that is built for the program's types. Calls with arrays that are not stored row by row, or that are the
    same, go to the kernel itself: the interface of C has none.
    """
    given = make_arguments(program, 0)
    signature = ", ".join(_type(each) for each in given)
    kernel = polyml.kernel(fallback="error", cache=False, fp="strict")(function)
    with tempfile.TemporaryDirectory() as folder:  # what is loaded stays in memory
        built = build(kernel, LibraryRequest(signature, overlap="run"), Path(folder))
        called = polyml.load(built.shared)

    def runner(*arguments):
        arrays = [each for each in arguments if isinstance(each, np.ndarray)]
        plain = all(each.flags.c_contiguous and each.flags.aligned for each in arrays)
        return called(*arguments) if plain and len({*map(id, arrays)}) == len(arrays) else kernel(*arguments)

    return runner


def _type(argument: object) -> str:
    """The type of an argument as a signature has it: each size of its own."""
    kind = arg_type(argument)
    if not isinstance(argument, np.ndarray):
        return str(kind)
    return f"{kind.element}[{','.join(':' * argument.ndim)}]"
