"""Bundles as values and files."""

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest

import polyml
from polyml import pass_manager
from polyml.bundles import folder
from polyml.bundles.bundle import Bundle, BundledArgument, first_line, read
from polyml.bundles.captured import as_module
from polyml.errors import ConfigError, PolymlDefectWarning
from polyml.runtime.storage.disk_cache import Cache

SCALE, LIMIT, NAME, SINGLE, NOTHING = 2.5, math.inf, "text", np.float32(0.1), None


def helper(x: "no such name", by=SCALE):
    return x * by


def kernel_of_all(A: "no such name", n=SCALE):
    for i in range(A.shape[0]):
        A[i] = math.sqrt(helper(A[i])) + SCALE + SINGLE + np.sin(A[i])


def product(A, B, C):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


BUNDLE = Bundle(
    function="f",
    source="def f(A, x):\n    A[0] = x\n",
    values=(BundledArgument("A", "float64", (3, 4), "F"), BundledArgument("x", "int", None, number=5)),
    settings={"fp": "strict"},
    error="CompileError",
    message='stage """x""" failed: \\ and \u20ac',
    versions=("polyml 1",),
    stages=(("domain", "S0"),),
)


def written(path, text):
    path.write_text(text)
    return path


def test_a_file_reads_back_to_an_equal_bundle(tmp_path):
    assert read(written(tmp_path / "f.py", BUNDLE.text())) == replace(BUNDLE, stages=())
    assert "#     S0" in BUNDLE.text()
    assert first_line(tmp_path / "f.py") == "CompileError: stage '''x''' failed: \\\\ and \u20ac"


def test_its_source_may_be_edited(tmp_path):
    text = BUNDLE.text().replace("A[0] = x", "A[1] = x")
    assert "A[1] = x" in read(written(tmp_path / "f.py", text)).source


@pytest.mark.parametrize(
    "old, new",
    [
        ("# bundle: ", "# bundles: "), ("# bundle: {", "# bundle: ["), ("def f(", "def g("), ('"fp"', '"cache_dir"'), ('"float64"', '"object"'),
        ("[3, 4]", "[-3, 4]"), ("[3, 4]", "[3.5, 4]"), ("[3, 4]", "[300000, 400000]"), ('"F"', '"Q"'), ('"number": 5', '"number": "5"'),
        ('"function": "f"', '"function": 7'), ("    A[0] = x", "A[0] = = x"), ('"values"', '"value"'),
    ],
)  # fmt: skip
def test_what_is_no_bundle_is_refused(tmp_path, old, new):
    assert old in BUNDLE.text()
    with pytest.raises(ConfigError, match="f.py is no bundle"):
        read(written(tmp_path / "f.py", BUNDLE.text().replace(old, new)))


def test_arguments_are_the_same_each_time():
    for element in ("float64", "float32", "float16", "bfloat16", "int8", "uint64", "bool", "complex64"):
        for layout in ("C", "F", "A"):
            bundle = replace(
                BUNDLE,
                values=(
                    BundledArgument("A", element, (3, 4), layout),
                    BundledArgument("B", element, (3, 4)),
                    BundledArgument("c", element, None),
                ),
            )
            A, B, c = bundle.arguments()
            again, _, _ = bundle.arguments()
            assert A.shape == (3, 4) and A.dtype == B.dtype == c.dtype and A is not again and A.tobytes() == again.tobytes()
            assert (A.flags.c_contiguous, A.flags.f_contiguous) == (layout == "C", layout == "F")
    A, B, _ = replace(bundle, shared=True, values=(bundle.values[1], bundle.values[1], bundle.values[2])).arguments()
    assert A is B
    for element, kind in (("int", int), ("float", float), ("complex", complex), ("pybool", bool)):
        (number,) = replace(BUNDLE, values=(BundledArgument("x", element, None),)).arguments()
        assert type(number) is kind


def test_what_a_function_captures_is_text():
    scope = {}
    exec(as_module(kernel_of_all), scope)
    A, B = np.arange(1.0, 4), np.arange(1.0, 4)
    kernel_of_all(A)
    scope["kernel_of_all"](B, 1)
    np.testing.assert_array_equal(A, B)


def test_values_that_text_says_are_bound_again():
    def uses():
        return LIMIT, NAME, SINGLE, NOTHING, math.pi

    scope = {}
    exec(as_module(uses), scope)
    found = scope["uses"]()
    assert found == uses() and [type(each) for each in found] == [type(each) for each in uses()]


@pytest.fixture
def failing(monkeypatch):
    def stopped(*given, **named):
        raise KeyError("injected")

    monkeypatch.setitem(pass_manager.instead, "vectorize", stopped)


def bundle_of(tmp_path, *arguments, function=product, **settings):
    """Of a call in which the compiler fails."""
    cache = Cache(str(tmp_path), 10**9)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        polyml.kernel(on_defect="simpler", cache_dir=str(tmp_path), **settings)(function)(*arguments)
    (file,) = folder.kept(cache)
    said = [str(w.message) for w in caught if issubclass(w.category, PolymlDefectWarning)]
    assert said[0].endswith(f"`python {file}` repeats it")
    return read(file)


def test_a_failure_leaves_one(tmp_path, failing):
    A, B, C = np.ones((200, 300), "f4"), np.ones((300, 250), "f4", order="F"), np.ones((200, 500), "f4")[:, ::2]
    found = bundle_of(tmp_path, A, B, C, fp="strict")
    assert found.values == (
        BundledArgument("A", "float32", (200, 300)), BundledArgument("B", "float32", (300, 250), "F"), BundledArgument("C", "float32", (200, 250), "A"),
    )  # fmt: skip
    assert found.settings == {"fp": "strict"} and found.message == "stage vectorize failed: KeyError: 'injected'"
    text = next(iter((tmp_path / "defects").iterdir())).read_text()
    assert "# What stage domain made" in text and "# What stage schedule made" in text and "# What stage vectorize" not in text


def test_small_arrays_and_numbers(tmp_path, failing):
    def scaled(A, n, x, flag):
        for i in range(n):
            A[i] *= x if flag else 2

    found = bundle_of(tmp_path, np.ones(10), 10, np.float32(2), True, function=scaled)
    assert [value.element for value in found.values] == ["float64", "int", "float32", "pybool"]


def test_one_bundle_of_a_failure_and_twenty_of_many(tmp_path):
    cache = Cache(str(tmp_path), 10**9)
    for number in (*range(25), 24, 24):
        folder.keep(cache, replace(BUNDLE, function=f"f{number}", source=f"def f{number}(A, x):\n    pass\n"))
    names = {read(file).function for file in folder.kept(cache)}
    assert len(names) == folder.KEPT and "f24" in names


def test_nothing_is_kept_without_a_folder(tmp_path, failing):
    with pytest.warns(PolymlDefectWarning, match="injected'$"):
        polyml.kernel(on_defect="simpler", cache=False)(product)(*np.ones((3, 5, 5)))
    assert folder.kept(Cache(str(tmp_path / "none"), 1)) == []


def test_a_failure_is_kept_where_the_code_would_not_be(tmp_path, failing):
    unknown = object()  # of which no text tells it from another

    def uses(A):
        for i in range(A.shape[0]):
            A[i] += A[i] * 2
        unknown

    with pytest.warns(PolymlDefectWarning, match="repeats it"):
        polyml.kernel(on_defect="simpler", cache_dir=str(tmp_path))(uses)(np.ones(9))
    assert "injected" in first_line(*folder.kept(Cache(str(tmp_path), 1)))
