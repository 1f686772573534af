"""Random programs over mixed types: what type inference accepts, the typed kernel computes as the interpreter does."""

from __future__ import annotations

import copy
import random

import numpy as np
import pytest

from polyml.errors import PolymlOverflowError, PolymlTypeError
from polyml.frontend.argument_types import arg_type
from polyml.frontend.interpreter import interpret
from polyml.frontend.parsing.parse import parse
from polyml.frontend.types.infer import infer
from tests.frontend.define import define
from tests.frontend.evaluate import evaluate
from tests.frontend.test_samples import same

PARAMS = "F, D, I, U, B, n, x, h"
ELEMENTS = ["F[i]", "D[i]", "I[i]", "U[i]", "B[i]", "F[0]", "D[n - 1]", "I[-1]", "U[1]", "B[i % 2]"]
NAMES = ["n", "x", "h", "s", "t", "i"]
CONSTANTS = ["0", "1", "-2", "3", "0.0", "0.5", "-1.5", "True", "np.float32(0.1)", "np.int16(7)", "0.1", "300"]
BINARY = ["+", "-", "*", "/", "//", "%", "&", "|", "^", "<<", ">>"]
COMPARE = ["<", "<=", ">", ">=", "==", "!="]
FUNCTIONS = [
    "abs({})",
    "-{}",
    "+{}",
    "~{}",
    "not {}",
    "float({})",
    "int({})",
    "bool({})",
    "np.float32({})",
    "np.int64({})",
]
FUNCTIONS += ["np.sqrt({})", "math.floor({})", "np.uint8({})", "np.isnan({})", "{} ** 2", "np.sign({})", "np.floor({})"]


class Program:
    def __init__(self, seed):
        self.random = random.Random(seed)
        body = [
            "s = " + self.choose(CONSTANTS),
            "t = " + self.choose(["0", "0.0", "F[0]", "D[1]", "x", "n", "h", "I[0]"]),
        ]
        body += ["i = 0", *self.statements(3)]
        self.text = f"def f({PARAMS}):\n" + "".join(f"    {line}\n" for line in body) + "    return s, t\n"

    def choose(self, options):
        return self.random.choice(options)

    def statements(self, count, depth=0):
        return [line for _ in range(count) for line in self.statement(depth)]

    def statement(self, depth):
        kind = self.choose(["local", "local", "local", "store", "store", "loop", "branch"])
        if depth > 1 or kind == "local":
            return [f"{self.choose('st')} {self.choose(['', '', '+', '*', '-', '/'])}= {self.expression(2)}"]
        if kind == "store":
            return [f"{self.choose(['F[i]', 'D[i]', 'I[i]', 'B[i]'])} {self.choose(['', '', '+'])}= {self.expression(2)}"]
        inside = ["    " + line for line in self.statements(self.choose([1, 2]), depth + 1)]
        if kind == "branch":
            return [f"if {self.expression(2)}:", *inside]
        return [f"for {'jk'[depth]} in range(2):", *inside]

    def expression(self, depth):
        if depth == 0:
            return self.choose([*ELEMENTS, *NAMES, *CONSTANTS, *NAMES])
        kind = self.choose(["binary"] * 5 + ["compare", "function", "function", "choice", "extremum", "logic", "leaf", "leaf"])
        one, other = self.expression(depth - 1), self.expression(depth - 1)
        if kind == "leaf":
            return self.expression(0)
        if kind == "binary":
            return f"({one} {self.choose(BINARY[:6] if self.random.random() < 0.7 else BINARY)} {other})"
        if kind == "compare":
            return f"({one} {self.choose(COMPARE)} {other})"
        if kind == "function":
            return "(" + self.choose(FUNCTIONS).format(one) + ")"
        if kind == "choice":
            return f"({one} if {other} else {self.expression(0)})"
        if kind == "extremum":
            return f"{self.choose(['min', 'max', 'np.maximum', 'np.fmin'])}({one}, {other})"
        return f"({one} {self.choose(['and', 'or'])} {other})"


def arguments(seed):
    rng = np.random.default_rng(seed)
    arrays = [rng.normal(0, 2, 3).astype("f4"), rng.normal(0, 2, 3), rng.integers(-9, 9, 3).astype("i4")]
    arrays += [rng.integers(0, 255, 3).astype("u1"), rng.random(3) < 0.5]
    return [*arrays, 3, float(rng.normal()), np.float32(rng.normal())]


def ran(run, kernel, args):
    """What is returned and left in the arrays, or "refused"."""
    args = copy.deepcopy(args)
    try:
        return run(kernel, args), tuple(args)
    except (OverflowError, ValueError, ZeroDivisionError):
        return "refused"


def equal_in_value(one, other):
    """Where a number is Python's on the path taken and NumPy's on another (see `types`), only its type may differ."""
    if "refused" in (one, other):
        return False
    (results, arrays), (expected, untouched) = one, other
    mixed = [r for r, e in zip(results, expected, strict=True) if type(e) in (int, float, bool) and type(r) is not type(e)]
    values = zip(results, expected, strict=True)
    return bool(mixed) and same(arrays, untouched) and all(r == e or r != r and e != e for r, e in values)


@pytest.mark.parametrize("block", range(4))
def test_a_typed_program_computes_what_the_interpreter_does(block):
    accepted = 0
    for seed in range(block * 150, block * 150 + 150):
        text = Program(seed).text
        args = arguments(seed)
        kernel = parse(define(text))
        try:
            typed = infer(kernel, [arg_type(a) for a in args])
        except (PolymlTypeError, PolymlOverflowError):
            continue
        accepted += 1
        expected, result = ran(interpret, kernel, args), ran(evaluate, typed, args)
        assert same(result, expected) or equal_in_value(result, expected), text
    assert accepted > 15
