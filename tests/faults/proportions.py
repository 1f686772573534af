"""Programs out of proportion: one thing in them is tens to thousands of times as many as anybody writes by hand."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

from tests.faults.campaign import Fault, Tally
from tests.faults.children import environment, run

Program = tuple[str, str]  # the text of f, and of its arguments

_LOOP = "def f(A, B):\n    for i in range(1, A.shape[0]):\n"
_VECTORS = "rng.random(40), np.full(200, 0.01)"


def _sum(rng: random.Random) -> Program:
    terms = " + ".join(f"A[i] * {k}.0" for k in range(rng.randint(200, 2000)))
    return f"{_LOOP}        B[i] = {terms}\n", _VECTORS


def _signs(rng: random.Random) -> Program:
    return f"{_LOOP}        B[i] = {'-' * rng.randint(100, 2500)}A[i]\n", _VECTORS


def _parentheses(rng: random.Random) -> Program:
    depth = rng.randint(20, 190)
    return f"{_LOOP}        B[i] = {'(' * depth}A[i]{' * 0.5 + A[i])' * depth}\n", _VECTORS


def _statements(rng: random.Random) -> Program:
    statement = rng.choice(["A[i] = A[i] * B[0] + A[i - 1]", "A[i] = A[i] * B[i]", "B[i] = A[i] + B[i - 1]"])
    return _LOOP + f"        {statement}\n" * rng.randint(50, 500), _VECTORS


def _nests(rng: random.Random) -> Program:
    nest = "    for i in range(A.shape[0]):\n        A[i] = A[i] + B[i]\n"
    return "def f(A, B):\n" + nest * rng.randint(50, 300), _VECTORS


def _cases(rng: random.Random) -> Program:
    term = rng.choice(["(i % {})", "(i // {})", "min(i, {})", "abs(i - {})", "(1 if i > {} else 0)"])
    total = " + ".join(term.format(k) for k in range(2, rng.randint(4, 40)))
    return f"{_LOOP}        B[({total}) % 97] = A[i]\n", _VECTORS


def _branches(rng: random.Random) -> Program:
    test, count = rng.choice(["i % {} == 1", "i == {}", "i > {}"]), rng.randint(5, 60)
    branches = [f"        {'el' if k > 2 else ''}if {test.format(k)}:\n            B[i] = {k}.0\n" for k in range(2, count)]
    return _LOOP + "".join(branches), _VECTORS


def _dimensions(rng: random.Random) -> Program:
    dims = rng.randint(10, 64)
    axis = rng.randrange(dims)
    shape = ", ".join("3" if d in (0, axis) else "1" for d in range(dims))
    return "def f(A):\n    for i in range(A.shape[0]):\n        A[i] = A[i] + 1\n", f"rng.random(({shape}))"


def _arguments(rng: random.Random) -> Program:
    names = [f"A{k}" for k in range(rng.randint(20, 200))]
    total = " + ".join(f"{name}[i]" for name in names)
    text = f"def f({', '.join(names)}):\n    for i in range(A0.shape[0]):\n        A0[i] = {total}\n"
    return text, ", ".join(["rng.random(9)"] * len(names))


KINDS: tuple[Callable[[random.Random], Program], ...] = (
    _sum, _signs, _parentheses, _statements, _nests, _cases, _branches, _dimensions, _arguments,
)  # fmt: skip

_CHILD = """
import sys, warnings
import numpy as np, polyml
import {module} as given
warnings.simplefilter("ignore")
rng = np.random.default_rng(1)
arguments = [{arguments}]
python = [each.copy() for each in arguments]
kernel = polyml.kernel(given.f)
kernel(*arguments)
given.f(*python)
for own, theirs in zip(arguments, python):
    np.testing.assert_allclose(own, theirs, rtol=1e-9)
print("compiled" if kernel.compiled else "as Python")
"""


def programs_out_of_proportion(count: int, seed: int, folder: Path) -> Tally:
    """A kernel of each kind in turn, in a process of its own; its results are plain Python's."""
    tally, rng = Tally(), random.Random(seed)
    for number in range(count):
        make = KINDS[number % len(KINDS)]
        text, arguments = make(rng)
        module = f"given{number}"
        (folder / f"{module}.py").write_text(text)
        end = run(["-c", _CHILD.format(module=module, arguments=arguments)], environment(folder / "cache"), folder=folder)
        if end.status == 0:
            tally.add(end.out.strip())
        else:
            tally.fail(
                f"seed {seed}, trial {number} ({make.__name__[1:]}, {len(text)} characters): {end.problem or end.error[-300:]}"
            )
    return tally


FAULTS = (Fault("programs out of proportion", 180, 5, programs_out_of_proportion),)
