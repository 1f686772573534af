"""Live variables behind the statements of a function, on texts whose answer is found by hand."""

import ast

import pytest

from polyml.frontend.lifting.live_variables import live_after


def live_behind(text: str, line: int) -> set[str]:
    """Returns the names that are live behind the statement on a line, counted from 1."""
    body = ast.parse(text).body
    after = live_after(body)
    return set(next(after[id(n)] for n in ast.walk(ast.Module(body, [])) if isinstance(n, ast.stmt) and n.lineno == line))


STRAIGHT = "x = a\ny = x + b\nx = 1\nreturn_value = x + y\n"
BRANCH = "x = a\nif c:\n    x = b\n    y = x\nz = x\n"
LOOP = "s = 0\nfor i in A:\n    s = s + i\n    t = s\nr = s\n"
BREAK = "for i in A:\n    x = i\n    if x:\n        break\n    x = 0\n    y = x\nr = x\n"
CONTINUE = "while c:\n    x = f\n    if x:\n        continue\n    c = x\n"
ELSE = "for i in A:\n    x = i\n    y = 1\nelse:\n    r = y\nz = 0\n"
TRY = "try:\n    x = a\n    y = b\nexcept E:\n    z = x\n"


@pytest.mark.parametrize(
    "text, line, names",
    [
        (STRAIGHT, 1, {"x", "b"}),
        (STRAIGHT, 2, {"y"}),
        (STRAIGHT, 4, set()),
        (BRANCH, 1, {"c", "b", "x"}),
        (BRANCH, 4, {"x"}),
        (LOOP, 1, {"A", "s"}),
        (LOOP, 3, {"s"}),
        (LOOP, 5, set()),
        (BREAK, 2, {"x"}),  # by the condition, and where `break` leads
        (BREAK, 5, {"x"}),
        (BREAK, 6, {"x"}),  # the loop may be over
        (CONTINUE, 2, {"x", "c", "f"}),  # `continue` leads to the condition, which reads c
        (CONTINUE, 5, {"c", "f"}),
        (ELSE, 3, {"y"}),
        (TRY, 2, {"b", "x", "E", "a"}),  # control may leave the block anywhere
    ],
)
def test_names_are_live_until_they_are_bound_again(text, line, names):
    assert live_behind(text, line) == names
