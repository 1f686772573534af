"""Every reason for plain Python has a number and a remedy, all are named at once, and `polyml.status()` counts what they cost."""

import inspect
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import polyml
from polyml.errors import PolymlPerformanceWarning
from polyml.reasons import REASONS, remedy

SOURCES = Path(polyml.__file__).parent


def while_(A):
    B = A[1:]
    while A[0] > 0:
        A, B = B, A
        A[0] -= 1


def break_(A):
    B = A[1:]
    for i in range(3):
        A, B = B, A
        if A[i] > 0:
            break


def tried(A):
    try:
        A[0] = 1
    finally:
        pass


def checked(A):
    if A[0] > 7:
        raise ValueError(f"{A[0]}")


def inner(A):
    def f(*rest):
        return 1

    A[0] = f()


def comprehended(A):
    A[0] = [v for v in A][0]


def held(A):
    x = {"a": 1}
    A[0] = x["a"]


def imported(A):
    import bisect as m

    A[0] = m.bisect(A, 2)


def zipped(A):
    for a, b in map(sorted, zip(A, A)):
        A[0] = a + b


def calls_itself(A):
    if A[0] < 0:
        A[0] = sum([calls_itself(A) for _ in range(2)])


def sorted_(A):
    A[:] = np.partition(A, 1)


def attribute(A):
    A[0] = A.nowhere if A[0] > 1 else 2


def printed(A):
    print(A[0])


def starred(*A):
    A[0][0] = 1


def selected(A):
    return A[A > 1].size


def viewed(A):
    return A.real


def steps(A):
    for i in range(int(A[0]), 3):
        A[i] = 1


def mixed_types(A):
    return A << 1.5


def misfit(A):
    return A + A[:-1]


def one_element(A):
    A[0] = A


EXPECTED = {
    while_: "PML-F001", break_: "PML-F002", tried: "PML-F003", checked: "PML-F003", inner: "PML-F004", comprehended: "PML-F005",
    held: "PML-F006", imported: "PML-F007", zipped: "PML-F008", calls_itself: "PML-F009", sorted_: "PML-F010", attribute: "PML-F011",
    printed: "PML-F010", starred: "PML-F014", viewed: "PML-F022", mixed_types: "PML-F040",
    misfit: "PML-F032", one_element: "PML-F042",
}  # fmt: skip


def warned(function, *arguments, **settings):
    kernel = polyml.kernel(cache=False, **settings)(function)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            kernel(*arguments)
        except (TypeError, AttributeError, ValueError):
            pass  # Python's own, of what the sample does
    return kernel, [str(w.message) for w in caught if w.category is PolymlPerformanceWarning]


@pytest.mark.parametrize("function", EXPECTED, ids=lambda f: f.__name__)
def test_the_first_line_names_the_number_and_the_text_the_remedy(function):
    _, texts = warned(function, np.zeros(5))
    assert EXPECTED[function] in texts[0].splitlines()[0]
    assert f"{EXPECTED[function]}: {remedy(EXPECTED[function])}" in texts[0]


def remainder(n):
    return n % 1000


def filled(A, n):
    for i in range(A.shape[0]):
        A[i] = n


@pytest.mark.parametrize("function, arguments", [(remainder, (2**70,)), (filled, (np.zeros(3), -(2**64)))], ids=["number", "loop"])
def test_a_call_with_an_integer_beyond_64_bits_warns_once(function, arguments):
    kernel, texts = warned(function, *arguments)
    assert ["plain Python (PML-F041)" in text.splitlines()[0] for text in texts] == [True]
    kernel(*arguments)
    assert not kernel.compiled


def test_numbers_of_the_code_are_those_of_the_table():
    used = {
        code for path in SOURCES.rglob("*.py") if path.name != "reasons.py" for code in re.findall(r"PML-F\d+", path.read_text())
    }
    assert used == set(REASONS)
    assert all(title and instead for title, instead in REASONS.values())


def several(A, B, n):
    for i in range(n):
        A[i] = A[i] + 1.0
    try:
        n = 0
    finally:
        pass
    print(n)
    for i in range(B.shape[0]):
        B[i] = A[i]
    t = {1: 2}
    return A, t


def test_all_reasons_are_named_at_once(capsys):
    kernel, texts = warned(several, np.zeros(400), np.zeros(400), 400)
    (text,) = texts
    assert "runs partly as plain Python (PML-F003, PML-F010, PML-F006):" in text.splitlines()[0]
    assert all(found in text for found in ("try:", "print(n)", "t = {1: 2}"))
    assert all(line in kernel.explain() for line in ("    PML-F003: " + remedy("PML-F003"), "    PML-F006: " + remedy("PML-F006")))


def test_a_filter_makes_an_error_of_a_number():
    kernel = polyml.kernel(cache=False)(while_)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", message=".*PML-F001")
        with pytest.raises(PolymlPerformanceWarning):
            kernel(np.ones(3))
        polyml.kernel(cache=False)(tried)(np.ones(3))


def test_the_status_counts_calls_and_seconds():
    kernel, _ = warned(several, np.zeros(400), np.zeros(400), 400)
    for _ in range(4):
        kernel(np.zeros(400), np.zeros(400), 400)
    (found,) = [k for k in polyml.status() if k.name == "several" and k.where == kernel.status().where and k.calls == 5]
    assert found.form == "in parts" and found.seconds > 0
    assert [code for code, _ in found.reasons] == ["PML-F003", "PML-F010", "PML-F006"]
    first = inspect.getsourcelines(several)[1]
    assert (first + 1, first + 2) in found.parts
    assert "in parts, 5 calls" in str(polyml.status())

    compiled = polyml.kernel(cache=False)(viewed_not)
    assert compiled.status().form == "not called"
    compiled(np.zeros(4))
    assert (compiled.status().form, compiled.status().calls) == ("compiled", 0)


def viewed_not(A):
    return A[1:] * 2.0


def test_notebooks_show_a_kernel_with_its_status_and_forms():
    @polyml.kernel(cache=False)
    def doubled(A):
        for i in range(A.shape[0]):
            A[i] *= 2.0

    assert doubled._repr_html_().endswith(": not called</pre>")
    doubled(np.ones(3))
    shown = doubled._repr_html_()
    assert "compiled for (f64[:])" in shown and shown.count("<tr>") == 1 + len(doubled.signatures) == 2
    assert "doubled" in polyml.status()._repr_html_()
