"""Where a kernel's text comes from, and that places in it are those of the file."""

from __future__ import annotations

import functools
import linecache

import numpy as np
import pytest

from polyml.errors import LanguageError
from polyml.frontend.parsing.parse import parse
from polyml.frontend.parsing.source_text import text_of
from polyml.frontend.syntax import For
from polyml.frontend.traversal import nodes
from tests.frontend.define import define


def decorated(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)

    wrapper.original = function
    return wrapper


@decorated
@decorated
def with_decorators(A):
    A[0] = 1


def this_line() -> int:
    import inspect

    return inspect.currentframe().f_back.f_lineno


def test_decorators_are_not_part_of_the_kernel():
    kernel = parse(with_decorators.original.original)
    assert kernel.name == "with_decorators" and len(kernel.body) == 1
    assert kernel.body[0].loc.text == "A[0] = 1"


def test_places_of_an_indented_function_are_those_of_the_file():
    line = this_line() + 2

    def inner(A):
        for i in range(3):
            A[i] = """text
less indented""" == A[i]  # fmt: skip

    with pytest.raises(LanguageError) as caught:
        parse(inner)
    loc = caught.value.loc
    assert (loc.line, loc.column, loc.source.file) == (line + 2, 20, __file__)
    assert loc.text == '"""text'


def test_columns_count_characters_after_letters_of_several_bytes():
    function = define("def f(ä, A):\n    ä = 'éé'; A[ä] = nowhere\n".replace("'éé'", "A[0]"))
    with pytest.raises(LanguageError) as caught:
        parse(function)
    assert caught.value.loc.column == 22 and caught.value.loc.text == "nowhere"


def test_a_statement_on_several_lines_is_marked_on_its_first():
    function = define("def f(A):\n    A[0] = (\n        A[1] +  # why\n        A[2])\n")
    (stmt,) = parse(function).body
    assert stmt.loc.text == "A[0] = ("
    assert [n.loc.text for n in nodes(stmt.value)] == ["A[1] +  # why", "A[1]", "1", "A[2]", "2"]


def test_a_loop_is_marked_up_to_its_colon():
    function = define("def f(A):\n    for i in range(3): A[i] = 0\n")
    (loop,) = parse(function).body
    assert isinstance(loop, For) and loop.loc.text == "for i in range(3)"


def test_a_parameter_is_marked_without_its_annotation():
    (param,) = parse(define("def f(A: list = 3):\n    pass\n")).params
    assert param.loc.text == "A"


def test_text_registered_in_linecache_is_found():
    assert parse(define("def f(A):\n    A[0] = 1\n")).source.lines == ("def f(A):", "    A[0] = 1")


def refusal(function) -> str:
    with pytest.raises(LanguageError) as caught:
        parse(function)
    return str(caught.value)


def test_without_text_there_is_no_kernel():
    namespace = {}
    exec("def f(A):\n    A[0] = 1\n", namespace)
    assert refusal(namespace["f"]) == (
        "error: the source of `f` cannot be read: could not get source code\n"
        "  note: define it in a file or a notebook cell; text given to exec() must be registered in linecache"
    )


def test_a_lambda_is_no_kernel():
    assert refusal(lambda A: A) == "error: a lambda cannot be a kernel\n  note: accepted: a function written with `def`"


@pytest.mark.parametrize(
    ("value", "described"), [(np.sin, "`sin`"), (len, "`len`"), (3, "a int"), (functools.partial(len), "a partial")]
)
def test_what_is_not_a_function_is_no_kernel(value, described):
    assert refusal(value) == (f"error: {described} is not a Python function\n  note: accepted: a function written with `def`")


def test_an_async_function_is_no_kernel():
    function = define("async def f(A):\n    pass\n")
    assert refusal(function) == ("error: an async function cannot be a kernel\n  note: accepted: a function written with `def`")


def test_the_text_of_each_kind_of_function_is_recognised():
    a, b = 1, 2.5

    def closure(A):
        A[0] = a + b

    def recursive(A):
        recursive(A)

    class Holder:
        @staticmethod
        def method(A, x=1, *, y: float = 2.0):
            "docstring"
            A[0] = [x for x in A][0] + (lambda: y)()

    for function in (closure, recursive, Holder.method, define("def f(A):\n    return f(A) + 1\n")):
        assert text_of(function).tree.name == function.__name__


@pytest.mark.parametrize(
    "new",
    ["def g(A):\n    pass\n", "def f(B):\n    A[0] = 1\n", "def f(A):\n    A[0] = 1.0\n", "x = 1\n", "def f(:\n", ""],
)
def test_a_file_that_changed_since_it_was_imported_is_noticed(new):
    function = define("def f(A):\n    A[0] = 1\n")
    linecache.cache[function.file] = (len(new), None, new.splitlines(keepends=True), function.file)
    text = refusal(function).replace(function.file, "kernel.py")
    if new:
        line = new.splitlines()[0]
        assert text == (
            "kernel.py:1:1: error: the text at kernel.py:1 is not the function `f`\n"
            f"      {line}\n      {'^' * len(line)}\n"
            "  note: the file has changed since it was imported: import it again"
        )
    else:
        assert text.startswith("error: the source of `f` cannot be read: ")
