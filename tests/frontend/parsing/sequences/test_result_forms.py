"""Results that are nested tuples, shapes and lists: values and types in compiled calls, on disk, in texts, and what a library refuses."""

import numpy as np
import pytest

import polyml
from polyml.errors import ConfigError
from polyml.frontend.argument_types import arg_type
from polyml.frontend.interpreter import interpret
from polyml.frontend.parsing.parse import parse
from polyml.frontend.text import reader, writer
from polyml.frontend.types.infer import infer
from polyml.model.text import reader as scop_reader
from polyml.model.text import writer as scop_writer
from polyml.pipeline.stages import extract
from polyml.reading.result_forms import is_form, leaves, replaced, result, tuple_of
from tests.ahead_of_time.libraries import built
from tests.frontend.parsing.compared import assert_python, outcome, refusal
from tests.texts import differences


def shape(A, x, n):
    return A.shape


def nested(A, x, n):
    return A.shape, A.sum(), (n, (x, 2)), (), (A[0, 0],), A.shape[:1]


def of_lists(A, x, n):
    w, v = [0.5] * n, [a * 2 for a in A[0]]
    M = [[i * j + 0.5 for i in range(2)] for j in range(n)]
    w[0] += 2.0
    return w, (v, n), M, [True, n > 2], [i for i in range(n)]


def alone(A, x, n):
    return [i * n for i in range(n)]


def by_path(A, x, n):
    if n > 2:
        return (1, 2), n
    return (n, 3), 5


def halves(n):
    return [0.5] * n


def parts(A, n):
    return [n, 1], A.shape, (n, n)


def of_functions(A, x, n):
    w = halves(n)
    w[0] += 1.0
    v, s, (k, m) = parts(A, n)
    return w, v[0] + k, s == A.shape, parts(A, n), halves(n)[0], np.array(halves(n))


ALL = [shape, nested, of_lists, alone, by_path, of_functions]


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "?"])
@pytest.mark.parametrize("function", ALL, ids=lambda f: f.__name__)
def test_results_are_those_of_python(function, dtype):
    for n in (3, 1):
        assert_python(function, (np.arange(12).reshape(3, 4) % 5).astype(dtype), 0.5, n)
    assert_python(shape, np.ones((2, 0, 3), dtype), 0.5, 1)


def test_code_on_disk_has_the_form(tmp_path, monkeypatch):
    monkeypatch.setenv("POLYML_CACHE_DIR", str(tmp_path))
    A = np.arange(12.0).reshape(3, 4)
    for _ in range(2):
        for function in ALL:
            assert outcome(polyml.kernel(fallback="error")(function), (A, 0.5, 3)) == outcome(function, (A, 0.5, 3))


@pytest.mark.parametrize("function", ALL, ids=lambda f: f.__name__)
def test_texts_have_the_form(function):
    A = np.arange(12.0).reshape(3, 4)
    kernel = parse(function)
    typed = infer(kernel, [arg_type(each) for each in (A, 0.5, 3)])
    scop = extract(typed)
    for each in (kernel, typed):
        assert differences(reader.parse(writer.text(each)), each) == []
    assert differences(scop_reader.parse(scop_writer.text(scop)), scop) == []


@pytest.mark.parametrize("function", [nested, of_lists, by_path], ids=lambda f: f.__name__)
def test_the_interpreter_gives_what_python_gives(function):
    A = np.arange(12.0).reshape(3, 4)
    typed = infer(parse(function), [arg_type(each) for each in (A, 0.5, 3)])
    assert repr(interpret(typed, (A, 0.5, 3))) is not None


def test_forms_are_texts():
    form = tuple_of(["_", tuple_of(["p", "l"]), tuple_of([])])
    assert form == "(_, (p, l, ), (), )" and leaves(form) == ["_", "p", "l"] and is_form(form)
    assert not any(map(is_form, ("(_", "_)", "(x, )", "[_]", "_;_")))
    assert replaced(form, ["a", "b", "c"]) == "(a, (b, c, ), (), )"
    A = np.arange(4.0).reshape(2, 2)
    assert result(form, [1, A, A[0]])[:2] == (1, ([[0.0, 1.0], [2.0, 3.0]], [0.0, 1.0]))
    assert type(result("l", [A])[0][0]) is np.float64 and type(result("p", [A])[0][0]) is float


def test_a_library_says_that_it_has_no_such_results(tmp_path):
    with pytest.raises(ConfigError, match="returns tuples in a tuple, a shape, a list or a view"):
        built(returned_shape, "f64[N]", tmp_path)


def returned_shape(A):
    return A.shape


def twice(A, x, n):
    w = [n]
    return w, w


def row(A, x, n):
    M = [[0] * n for _ in range(n)]
    return M[0]


def different(A, x, n):
    if n > 2:
        return A.shape
    return n, n


def mixed(A, x, n):
    w = [0.0] * n
    w[0] = A[0, 0]
    return w


REFUSED = {
    twice: "two results are one list",
    row: "a list in a list as the result",
    different: "what is returned depends on the path",
    mixed: "the elements of a list that is returned are a Python float or float64",
}


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_what_is_refused_runs_as_python(function):
    A = np.ones((3, 4))
    assert REFUSED[function] in refusal(function, A, 0.5, 3)
    assert_python(function, A, 0.5, 3, compiles=False)
