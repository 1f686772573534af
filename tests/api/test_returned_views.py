"""Results that are views of arguments: they have the memory, base, strides and flags that they have in plain Python."""

from __future__ import annotations

import linecache

import numpy as np
import pytest

import polyml

COMPILED = (
    "x[1:]", "x[::2]", "x[::-1]", "x[::-2]", "x[1:][::2]", "x[::2][1:]", "x[5:]", "x[-2:]", "x[3:1]", "x[1:1]", "x[:]", "x[...]", "x.T", "x.transpose()",
    "np.flip(x)", "x[n:]", "x[:n]", "x[n:n + 2]", "x[len(x) // 2:]", "x[0]", "x[:, 0]", "x[n, 1:]", "x[1:, :-1].T[::-1]", "x.T[1:].T",
    "x.swapaxes(0, 1)", "np.diagonal(x)", "x.diagonal()", "x", "np.asarray(x)", "(x, x[1:])", "(x[1:], x[:-1])", "(x[1:], x.sum(), (y[:2], n))",
    "(x[1:], [1.0, 2.0], x.shape)", "x[k[0]:]", "x[k[0]:k[1]]", "x[k[0]:, n]", "x.copy()[1:]", "x.reshape(-1)", "x.reshape(3, 3)", "(x, x.reshape(-1), x.sum())",
)  # fmt: skip
OTHERS = (
    "x.ravel()", "x.reshape(-1)[1:]", "x.T.reshape(-1)", "x.reshape(1, -1).reshape(3, 3)", "x[1:].reshape(-1)", "x.reshape(-1).T", "x.reshape(4)", "x.conj()", "np.ascontiguousarray(x)", "x.real", "x.imag", "x[None, 1:]", "x.squeeze()", "x[k]", "x[x > 0]",
    "np.expand_dims(x, 0)", "x[1:, 1:].diagonal()", "np.diag(x)", "np.broadcast_to(x, x.shape)", "x.view()",
)  # fmt: skip
ARRAYS = {
    "vector": lambda: np.arange(4.0),
    "of one": lambda: np.arange(1.0),
    "empty": lambda: np.zeros(0),
    "strided": lambda: np.arange(8)[::2],
    "complex": lambda: np.arange(4) + 1j,
    "read-only": lambda: polyml.freeze(np.arange(4, dtype=np.float32)),
    "matrix": lambda: np.arange(9.0).reshape(3, 3) * 1,
    "Fortran": lambda: np.asfortranarray(np.arange(9.0).reshape(3, 3)),
    "part": lambda: np.arange(40.0).reshape(5, 8)[1:4, ::-2],
}


def function(text):
    source = f"def f(x, y, k, n):\n    return {text}\n"
    linecache.cache[f"<view {text}>"] = (len(source), None, source.splitlines(keepends=True), f"<view {text}>")
    scope = {"np": np}
    exec(compile(source, f"<view {text}>", "exec"), scope)
    return scope["f"]


def owner(array):
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def described(result, x, y):
    if isinstance(result, (tuple, list)):
        return type(result), [described(part, x, y) for part in result]
    if not isinstance(result, np.ndarray):
        return type(result), result
    flags, has_memory = result.flags, result.size > 0
    shared = [has_memory and np.shares_memory(result, each) for each in (x, y)]
    same = [result is each for each in (x, y)]
    base = [any(shared) and (result.base is owner(each) or result.base is each.base) for each in (x, y)]
    layout = (result.strides, flags.writeable, flags.c_contiguous, flags.f_contiguous) if any(shared) else ()
    return shared, same, base, layout, result.shape, result.dtype, result.tolist()


@pytest.mark.parametrize("kind", ARRAYS)
@pytest.mark.parametrize("text", (*COMPILED, *OTHERS))
@pytest.mark.sweep("text", keep=3)
def test_a_view_is_that_of_plain_python(text, kind):
    plain = function(text)
    x, y, k = ARRAYS[kind](), np.arange(3.0), np.array([1, 2])
    try:
        wanted = described(plain(x, y, k, 1), x, y)
    except (IndexError, ValueError):
        return
    kernel = polyml.kernel(plain, fallback="silent")
    for _ in range(2):
        assert described(kernel(x, y, k, 1), x, y) == wanted


@pytest.mark.parametrize("text", COMPILED)
def test_views_are_compiled(text):
    x = ARRAYS["matrix"]()
    kernel = polyml.kernel(function(text), fallback="error")
    kernel(x, np.arange(3.0), np.array([1, 2]), 1)
    assert kernel.compiled


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("fp", ["strict", "reassociate"])
@pytest.mark.parametrize("element", ["f4", "f8", "i4", "c16", "f2"])
def test_what_is_written_before_and_behind_the_call_is_seen(threads, fp, element):
    @polyml.kernel(threads=threads, fp=fp, fallback="error")
    def changed(x, n):
        part = x[n:]
        part[0] = 5
        x[1] += 1
        return part, part[::-1][1:], x.sum()

    x = np.arange(6).astype(element)
    part, back, total = changed(x, 2)
    assert x.tolist() == [0, 2, 5, 3, 4, 5] and part.tolist() == [5, 3, 4, 5] and total == 19
    part[1] = 7
    assert x[3] == 7 and back.tolist() == [4, 7, 5] and np.shares_memory(back, x)


def later(x, z):
    d = np.diagonal(x)
    x[0, 0] = 5.0
    return d, d[0]


def part_later(x, z):
    d = np.diag(x)[1:]
    x[1, 1] = 5.0
    return d[0] + 1


def assigned(x, z):
    d = np.diagonal(x)
    d[0] = 1.0


def part_assigned(x, z):
    d = np.diagonal(x)[::-1]
    d[0] = 1.0


def of_a_local(x, z):
    made = x * 2
    return np.diagonal(made), made.sum()


def reshaped(x, z):
    y = x.reshape(-1)
    z[0, 0] = 7.0
    return y


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("is_same", [False, True])
@pytest.mark.parametrize("function", [later, part_later, assigned, part_assigned, of_a_local, reshaped])
def test_what_changes_behind_a_view_is_seen_as_in_python(function, is_same, order):
    def ran(called):
        x = np.array(np.arange(4.0).reshape(2, 2), order=order)
        try:
            return repr(called(x, x if is_same else x.copy())), x.tolist()
        except ValueError as problem:
            return str(problem), x.tolist()

    assert ran(polyml.kernel(function, fallback="silent")) == ran(function)


def test_a_diagonal_is_not_assigned():
    with pytest.raises(polyml.NotAffineError, match="a diagonal is assigned, which is read-only in NumPy"):
        polyml.kernel(assigned, fallback="error")(np.zeros((2, 2)), np.zeros((2, 2)))


def test_the_text_of_a_view_is_one_of_a_result():
    from polyml.reading import result_forms

    form = result_forms.tuple_of([result_forms.view_of("ik0", 4), result_forms.VALUE])
    assert result_forms.is_form(form) and not result_forms.is_form("Vx(_, )") and not result_forms.is_form("__import__(_, )")
    x = np.arange(6).reshape(2, 3)
    view, number = result_forms.result(form, [x, 1, 2, -1, 3, "n"])
    assert view.tolist() == [5, 4, 3] and np.shares_memory(view, x) and number == "n"
