"""The loops in C: one file with the suite's arrays as globals, so that a compiler knows their lengths, and that none overlaps another."""

from __future__ import annotations

import ctypes
import subprocess
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.tsvc.entry import ARRAYS, INDICES, LINE, VECTORS, Size, Tsvc

_RESULTS = 4
_HELPERS = """
static void shifted_sum(int m)
{
    for (int i = 0; i < LEN - 1; i++)
        a[i] = a[i + m] + b[i];
}

static void add_product(int i) { a[i] += b[i] * c[i]; }

static float sum_of_four(const float *from)
{
    float sum = 0.0f;
    for (int i = 0; i < 4; i++)
        sum += from[i];
    return sum;
}

static int nothing(void) { return 0; }

static float product(float left, float right) { return left * right; }
"""


@dataclass(frozen=True)
class Library:
    """A Library is the loops as compiled for one size. arrays: its globals, by name, `result` among them."""

    loaded: ctypes.CDLL
    arrays: dict[str, np.ndarray]

    def bound(self, loop: Tsvc, scalars: Iterable[object]) -> Callable[[], None]:
        """Returns a loop with its scalars, as a function that works on the library's arrays."""
        found = getattr(self.loaded, loop.name)
        found.restype = None
        return partial(found, *map(_c_value, scalars))


def source(loops: Iterable[Tsvc], size: Size) -> str:
    """Returns the file in C of these loops."""
    defined = [f"#include <math.h>\n#define LEN {size.length}\n#define SIDE {size.side}\n"]
    defined += [f"__attribute__((aligned({LINE}))) {_element(name)} {name}{_lengths(name)};" for name in ARRAYS]
    defined += [f"double result[{_RESULTS}];", _HELPERS]
    return "\n".join([*defined, *map(_function, loops)])


def compiled(command: Sequence[str], loops: Iterable[Tsvc], size: Size, folder: Path) -> Library:
    """Returns the loops compiled by a command, which has the options of optimization.

    It links apart, without -ffast-math, with which some compilers let the whole process flush subnormal numbers to zero.
    """
    (folder / "tsvc.c").write_text(source(loops, size))
    subprocess.run([*command, "-std=gnu99", "-fPIC", "-c", "tsvc.c", "-o", "tsvc.o"], check=True, cwd=folder)
    linker = [each for each in command if not each.startswith("-f")]
    subprocess.run([*linker, "-shared", "tsvc.o", "-o", "tsvc.so", "-lm"], check=True, cwd=folder)
    loaded = ctypes.CDLL(str(folder / "tsvc.so"))
    arrays = {name: _global(loaded, name, size.shape(name)) for name in ARRAYS}
    return Library(loaded, arrays | {"result": np.ctypeslib.as_array((ctypes.c_double * _RESULTS).in_dll(loaded, "result"))})


def _function(loop: Tsvc) -> str:
    scalars = [name for name in loop.parameters if name not in ARRAYS]
    kinds = {name: "float" if isinstance(loop.arguments[name], float) else "int" for name in scalars}
    parameters = ", ".join(f"{kinds[name]} {name}" for name in scalars) or "void"
    return f"void {loop.name}({parameters})\n{{\n{textwrap.indent(loop.c, '    ')}\n}}\n"


def _element(name: str) -> str:
    return "int" if name in INDICES else "float"


def _lengths(name: str) -> str:
    if name == "flat":
        return "[SIDE * SIDE + 64]"
    return "[LEN]" if name in (*VECTORS, *INDICES) else "[SIDE][SIDE]"


def _global(loaded: ctypes.CDLL, name: str, shape: tuple[int, ...]) -> np.ndarray:
    kind = ctypes.c_int if name in INDICES else ctypes.c_float
    return np.ctypeslib.as_array((kind * int(np.prod(shape))).in_dll(loaded, name)).reshape(shape)


def _c_value(value: object) -> object:
    return ctypes.c_float(float(value)) if isinstance(value, np.float32) else value
