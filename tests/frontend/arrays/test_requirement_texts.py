"""What a call must not have is written so that it follows "there is": one thing, with its article."""

import ast
from pathlib import Path

import numpy as np
import pytest

import polyml

_FOLDER = Path(polyml.__file__).parent / "frontend" / "arrays"


def texts():
    """The texts that the calls of `require_equal` and `Require` below the folder give, found in their syntax trees."""
    for path in sorted(_FOLDER.rglob("*.py")):
        for call in ast.walk(ast.parse(path.read_text())):
            if isinstance(call, ast.Call) and (getattr(call.func, "id", "") or getattr(call.func, "attr", "")) in (
                "require_equal",
                "Require",
            ):
                yield from (a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str))


@pytest.mark.parametrize("text", sorted(set(texts())))
def test_each_is_one_thing_with_an_article(text):
    assert text.split()[0] in ("a", "an", "the")


def test_there_are_such_texts_and_one_is_said_of_shapes():
    @polyml.kernel(cache=False, fallback="error")
    def added(A, B):
        A[:] = A + B

    assert len(set(texts())) >= 6
    with pytest.raises(ValueError), pytest.warns(match="there is a broadcast of shapes that do not fit together"):
        added(np.ones(3), np.ones(4))
