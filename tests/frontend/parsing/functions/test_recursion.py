"""Functions that call themselves as loops with a stack: the blocks, and the text that is made of them."""

from __future__ import annotations

import ast
import itertools

import pytest

from polyml.frontend.parsing.functions.recursion import iterative
from polyml.frontend.parsing.functions.recursion_graph import Again, Branch, End, Goto, Names, blocks_of, calls_itself


def names():
    numbers = itertools.count(1)
    return Names(
        is_call=lambda call: isinstance(call.func, ast.Name) and call.func.id == "f",
        is_range=lambda call: isinstance(call.func, ast.Name) and call.func.id == "range",
        index="int",
        bound=lambda call: tuple(call.args),
        fresh=lambda stem: f"{stem}{next(numbers)}",
        refused=lambda node, what: SyntaxError(what),
    )


def definition(text):
    [tree] = ast.parse(text).body
    return tree


FIB = "def f(n):\n    if n < 2:\n        return n\n    return f(n - 1) + f(n - 2)\n"


def test_a_function_is_cut_at_its_calls_and_returns():
    blocks = [each for each in blocks_of(definition(FIB), names()) if each.end is not None]
    assert [type(each.end) for each in blocks] == [Branch, End, Goto, Again, Again, End]
    assert [len(each.results) for each in blocks] == [0, 0, 0, 0, 1, 1]


def test_whether_a_function_calls_itself():
    assert calls_itself(definition(FIB), names().is_call)
    assert not calls_itself(definition("def f(n):\n    return g(n)\n"), names().is_call)


TEXTS = {
    FIB: [(n,) for n in range(12)],
    "def f(n):\n    total = 1\n    for i in range(n - 1, -1, -1):\n        if i % 3 == 2:\n            continue\n"
    "        total += f(i)\n        if total > 50:\n            break\n    return total\n": [(n,) for n in range(9)],
    "def f(a, i):\n    if i < 0 or a[i] > 3 and f(a, i - 1) == 1:\n        a[0] += 1\n        return 1\n    return 2 if not f(a, i - 1) == 1 else a[0]\n": [
        ([1, 5, 2, 4], i) for i in range(-1, 4)
    ],
    "def f(a, lo, hi):\n    while True:\n        if lo >= hi:\n            return\n        a[lo], a[hi] = a[hi], a[lo]\n        f(a, lo + 1, hi - 1)\n"
    "        lo = lo + 2\n": [([1, 2, 3, 4, 5, 6, 7], 0, n) for n in range(7)],
    "def f(n, m=3):\n    a, b = (n, m) if n <= 0 else f(n - 1, m + 1)\n    return b, a + m\n": [(n, 5) for n in range(4)],
    "def f(a, n):\n    return 0 if n == 0 else a[0] + f(a, n - 1) * g(a, f(a, n - 2) if n > 1 else 1)\n": [
        ([2], n) for n in range(6)
    ],
}


def g(a, x):
    a[0] += 1
    return x + a[0]


def run(tree, given, **known):
    scope = {"g": g, **known}
    exec(compile(ast.Module([tree], []), "<text>", "exec"), scope)
    given = [list(each) if isinstance(each, list) else each for each in given]
    return scope["f"](*given), given


@pytest.mark.parametrize("text", TEXTS)
def test_the_loop_does_what_the_function_does(text):
    own = frozenset(n.id for n in ast.walk(definition(text)) if isinstance(n, ast.Name)) | {
        a.arg for a in definition(text).args.args
    }
    made = iterative(definition(text), own - {"g", "f", "range"}, names(), 60)
    assert not calls_itself(made.tree, names().is_call)
    for given in TEXTS[text]:
        assert run(made.tree, given, **{made.error: RecursionError}) == run(definition(text), given)


def test_the_depth_is_limited():
    made = iterative(definition("def f(n):\n    return 0 if n == 0 else 1 + f(n - 1)\n"), frozenset({"n"}), names(), 5)
    assert run(made.tree, (4,), **{made.error: RecursionError})[0] == 4
    with pytest.raises(RecursionError, match="maximum recursion depth exceeded"):
        run(made.tree, (5,), **{made.error: RecursionError})


REFUSED = {
    "def f(n):\n    return (lambda k: f(k))(n)\n": "in a function or comprehension",
    "def f(n):\n    if n:\n        return 1 + f(n - 1)\n": "may end without a return",
    "def f(n):\n    return 1 if 0 < f(n - 1) < 5 else 2\n": "in this expression",
    "def f(n):\n    x = {f(n - 1): 1}\n    return 1\n": "in this expression",
    "def f(n):\n    with n:\n        f(n - 1)\n": "in this statement",
    "def f(n, a):\n    a[f(n - 1, a)] = 1\n    return 1\n": "in this statement",
    "def f(n):\n    if n > 0:\n        return 1, 2\n    return f(n)[0]\n": "in this expression|as many values",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_refused(text):
    with pytest.raises(SyntaxError, match=REFUSED[text]):
        iterative(definition(text), frozenset({"n", "x", "a"}), names(), 60)
