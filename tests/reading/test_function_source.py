"""A function's text ends where Python's parser says, wherever its lines stand."""

import ast
import inspect
import textwrap
from pathlib import Path

import pytest

from polyml.reading import function_source
from polyml.reading.function_source import definition_of
from tests.frontend.define import define

TEXTS = {
    "plain": "def f(A):\n    A[0] = 1\n",
    "a comment to the left": "def f(A):\n    A[0] = 1\n# not the end\n    A[1] = 2\n",
    "a string to the left": 'def f(A):\n    x = """\nA line\n# and another\n"""\n    A[0] = 1\n',
    "its last line looks like a comment": 'def f(A):\n    A[0] = 1\n    """\n# text"""\n',
    "brackets to the left": "def f(\nA,\nB\n):\n    A[0] = (\n1 +\nB[0]\n)\n    A[1] = 2\n",
    "a line that goes on": "def f(A):\n    A[0] = 1 + \\\n2\n    A[1] = 2\n",
    "one line": "def f(A): A[0] = 1\n",
    "decorators": "def same(f): return f\n@same\n@(\nsame\n)\ndef f(A):\n    A[0] = 1\n",
    "branches and loops": "def f(A):\n    for i in range(3):\n        if i:\n            A[i] = 1\n        else:\n            A[i] = 2\n",
    "tabs": "def f(A):\n\tif A:\n\t\tA[0] = 1\n\n\tA[1] = 2\n",
}


@pytest.mark.parametrize(
    "after", ["", "\n\n", "x = 1\n", "# end\n\ndef g():\n    pass\n", "    # a comment of its own\n\n@property\ndef g(A): 2\n"]
)
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_the_text_is_the_whole_function_and_nothing_else(text, after):
    function = define(text + after)
    found = definition_of(function)
    first = ast.parse(text).body[-1]
    start = min([first.lineno, *(d.lineno for d in first.decorator_list)])
    assert found.first == start
    assert "".join(found.lines) == "".join(text.splitlines(keepends=True)[start - 1 : first.end_lineno])
    assert found.tree.name == "f" and found.tree.lineno + found.shift == first.lineno


def test_a_function_inside_others_ends_where_they_go_on():
    class Holder:
        def method(self, A):
            A[0] = 1

            def inner():
                return 2

            A[1] = inner()

        other = 3

    found = definition_of(Holder.method)
    assert "".join(found.lines) == inspect.getsource(Holder.method)
    assert textwrap.dedent("".join(found.lines)).startswith("def method") and found.lines[-1].strip() == "A[1] = inner()"


def test_every_function_of_the_kernels_has_the_text_that_the_standard_library_finds():
    from polyml import kernels

    names = [path.stem for path in Path(kernels.__file__).parent.glob("[a-z]*.py")]
    assert len(names) >= 30
    for name in names:
        function = inspect.unwrap(kernels.load(name).kernel)
        function = getattr(function, "py_func", function)
        assert "".join(definition_of(function).lines).rstrip() == inspect.getsource(function).rstrip()


def test_text_that_is_no_longer_python_is_given_up_soon(monkeypatch):
    tried = []
    monkeypatch.setattr(function_source.ast, "parse", lambda text: tried.append(text) or compile("(", "", "exec"))
    function = define("def f(A):\n    A[0] = 1\n" + "x = 1\n" * 2000)
    assert definition_of(function).tree is None
    assert len(tried) == function_source.MOST_ENDS
