"""Random functions that call themselves or each other do the same as loops with a stack, in plain Python."""

from __future__ import annotations

import ast
import itertools
import random

import pytest

from polyml.frontend.parsing.functions.recursion import iterative
from polyml.frontend.parsing.functions.recursion_graph import Names

NAMES = ("u", "v", "w")


class Text:
    """A Text is a random function `f(a, n, m)` with a list a, which calls itself with a smaller n, or one of several functions.

    names: of the function, and of all that it calls
    """

    def __init__(self, seed: int, *names: str):
        self.rng, self.names = random.Random(seed), names
        self.loops = 0
        lines = [
            f"def {self.names[0]}(a, n, m):",
            "    if n <= 0:",
            f"        return {self.rng.choice(('m', 'a[0] + m', 'n'))}",
            "    u = v = w = 0",
        ]
        self.text = "\n".join([*lines, *self.block(1, 3), f"    return {self.value(2)}"]) + "\n"

    def call(self, depth: int) -> str:
        return f"{self.rng.choice(self.names)}(a, n - {self.rng.randint(1, 2)}, {self.value(depth - 1)})"

    def value(self, depth: int) -> str:
        if depth <= 0 or self.rng.random() < 0.25:
            return self.rng.choice(("m", "n", "u", "v", "w", "1", "3", f"a[{self.rng.choice(('0', 'n', 'u % 4', 'm % 4'))}]"))
        a, b = (self.value(depth - 1) for _ in range(2))
        return self.rng.choice(
            (
                f"({a} + {b})", f"({a} - {b})", f"({a} * 2 % 7)", self.call(depth), self.call(depth), f"({a} if {self.test(depth - 1)} else {b})",
                f"max({a}, {b})", f"({a} and {b})", f"({a} or {b})", f"(-{a})",
            )
        )  # fmt: skip

    def test(self, depth: int) -> str:
        if depth > 0 and self.rng.random() < 0.4:
            one, other = self.test(depth - 1), self.test(depth - 1)
            return self.rng.choice((f"({one} and {other})", f"({one} or {other})", f"(not {one})"))
        return f"{self.value(depth - 1)} {self.rng.choice(('<', '==', '>='))} {self.value(depth)}"

    def block(self, indent: int, most: int) -> list[str]:
        return [line for _ in range(self.rng.randint(1, most)) for line in self.stmt(indent)]

    def stmt(self, indent: int) -> list[str]:
        pad, form, name = "    " * indent, self.rng.randrange(12), self.rng.choice(NAMES)
        if form < 3 or indent > 3:
            return [f"{pad}{name} {self.rng.choice(('=', '+=', '-='))} {self.value(2)}"]
        if form < 5:
            return [f"{pad}a[{self.rng.choice(('0', 'n', 'u % 4'))}] {self.rng.choice(('=', '='))} {self.value(2)} % 50"]
        if form == 5:
            return [f"{pad}{name}, {self.rng.choice(NAMES)} = {self.value(2)}, {self.value(1)}"]
        if form < 8:
            lines = [f"{pad}if {self.test(2)}:", *self.block(indent + 1, 2)]
            return [*lines, f"{pad}else:", *self.block(indent + 1, 2)] if self.rng.random() < 0.5 else lines
        if form < 11:
            counter = f"k{self.loops}"
            self.loops += 1
            head = self.rng.choice(("2", "n", "0, 3, 2", "2, -1, -1", "u % 3"))
            end = [
                f"{pad}    if {self.test(1)}:",
                f"{pad}        {self.rng.choice(('break', 'continue', f'return {self.value(1)}'))}",
            ]
            if self.rng.random() < 0.6:
                over = "a" if self.rng.random() < 0.3 else f"range({head})"
                return [f"{pad}for {counter} in {over}:", *end, *self.block(indent + 1, 2)]
            return [
                f"{pad}{counter} = 0",
                f"{pad}while {counter} < 2 and {self.test(1)}:",
                f"{pad}    {counter} += 1",
                *end,
                *self.block(indent + 1, 2),
            ]
        return [f"{pad}{self.call(2)}"]


def ran(trees, given, budget):
    """Returns what a function does, in at most so many calls of a function that it calls; None where it takes more."""
    left = itertools.count(budget, -1)

    def most(*values):
        if next(left) < 0:
            raise TimeoutError
        return max(*values)

    scope = {"max": most, "len": len, "RecursionError_": RecursionError, "index": int}
    exec(compile(ast.Module([*trees], []), "<text>", "exec"), scope)
    a = list(given[0])
    try:
        return scope["f"](a, *given[1:]), a
    except (RecursionError, TimeoutError) as problem:
        return type(problem).__name__


def names():
    numbers = itertools.count(1)
    return Names(
        is_call=lambda call: isinstance(call.func, ast.Name) and call.func.id in ("f", "g"),
        is_range=lambda call: isinstance(call.func, ast.Name) and call.func.id == "range",
        index="index",
        bound=lambda call: tuple(call.args),
        fresh=lambda stem: f"{stem}{next(numbers)}",
        refused=lambda node, what: SyntaxError(what),
        callee=lambda call: "fg".index(call.func.id),
    )


def apart(text: str) -> ast.FunctionDef:
    """Returns the definition of g with names of its own, except that of the list, which all calls hand on."""
    [tree] = ast.parse(text).body
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id not in ("a", "f", "g", "range", "max", "len"):
            node.id += "_of_g"
        elif isinstance(node, ast.arg) and node.arg != "a":
            node.arg += "_of_g"
    return tree


def compared(seed: int, functions: int) -> str:
    """Returns the texts of functions for which the two differ, or nothing."""
    called = "fg"[:functions]
    texts = [Text(seed, "f", *called).text, *(Text(-1 - seed, "g", *called).text for _ in called[1:])]
    [tree] = ast.parse(texts[0]).body
    others = list(map(apart, texts[1:]))
    nodes = [n for each in (tree, *others) for n in ast.walk(each)]
    own = frozenset(n.id for n in nodes if isinstance(n, ast.Name)) | {n.arg for n in nodes if isinstance(n, ast.arg)}
    try:
        made = iterative(tree, own - {"f", "g", "range", "max", "len"}, names(), 20, others)
    except SyntaxError as problem:
        return "" if "some path does not assign" in str(problem) else f"{problem}\n{texts}"
    made.tree.body.insert(0, ast.fix_missing_locations(ast.parse(f"{made.error} = RecursionError_").body[0]))
    for given in (([1, 2, 3, 4], 1, 1), ([0, 0, 5, 1], 2, 3), ([2, 1, 0, 7], 3, -1)):
        wanted, got = ran([ast.parse(text).body[0] for text in texts], given, 5000), ran([made.tree], given, 5000)
        if wanted != got:
            return f"{given}: {got}, Python {wanted}\n{texts}\n{ast.unparse(made.tree)}"
    return ""


@pytest.mark.parametrize("functions", [1, 2])
@pytest.mark.parametrize("first", range(0, 400, 100))
def test_random_functions_do_the_same_as_loops(first, functions):
    assert not "\n".join(filter(None, (compared(seed, functions) for seed in range(first, first + 100))))
