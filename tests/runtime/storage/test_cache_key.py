"""The content key changes with everything the code depends on, and with nothing else."""

import importlib
import linecache
import math
import subprocess
import sys

import numpy as np
import pytest

import polyml
from polyml.config import Options
from polyml.runtime.calling.binding import ABSENT
from polyml.runtime.calling.guards import captures
from polyml.runtime.storage import cache_key
from polyml.runtime.storage.records import parse_type

TEXT = """def f(A):
    for i in range(N):
        A[i] = helper(A[i]) + np.sqrt(C) * math.pi


def helper(x):
    return x * D
"""
GLOBALS = {"N": 10, "np": np, "math": math, "C": np.float32(2), "D": 3.0}


def function(text=TEXT, file="/virtual/f.py", **changes):
    """The function f of a file with this text, and these globals."""
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    place = {**GLOBALS, **changes, "__name__": "virtual"}
    exec(compile(text, file, "exec"), place)
    return place["f"]


def content_key(made=None, types=("f64[:]",), layouts=("C",), options=Options(), aliased=False):
    made = made or function()
    found = captures(made)
    assert found.portable
    inputs = cache_key.CodeInputs(found.content, tuple(map(parse_type, types)), layouts, options, aliased)
    return cache_key.content_key(made, inputs)


def test_the_same_function_has_the_same_key():
    assert content_key() == content_key()
    assert content_key(options=Options(threads=2, cache_dir="x", fallback="error")) == content_key()
    assert content_key(function(unrelated=5)) == content_key()


@pytest.mark.parametrize(
    "change",
    [
        {"N": 11},
        {"N": 10.0},
        {"N": True},
        {"N": np.int64(10)},
        {"C": np.float64(2)},
        {"C": np.float32(3)},
        {"D": 4.0},
        {"D": -0.0},
        {"np": math},
        {"range": list},
        {"text": TEXT.replace("A[i] =", "A[i]  =")},
        {"text": TEXT.replace("x * D", "x + D")},
        {"text": TEXT.replace("x * D", "x * D  # the same")},
        {"text": "\n" + TEXT},
        {"file": "/virtual/g.py"},
    ],
    ids=str,
)
def test_a_change_of_text_or_of_captured_values_changes_the_key(change):
    assert content_key(function(**change)) != content_key()


@pytest.mark.parametrize("old, new", [("np.sqrt(C)", "np.cbrt(C)"), ("x * D", "x + D"), ("D\n", "2.5\n")])
def test_what_was_imported_counts_not_only_what_is_in_the_file_now(old, new):
    imported = function(TEXT.replace(old, new))
    function()  # the file is as ever again
    assert content_key(imported) != content_key()


def test_compiled_code_has_one_text_in_every_process():
    script = (
        "from polyml.reading.function_source import code_text\n"
        "def f(x):\n    return x in {'a', 'b', 'c', 'd'} or x in (1, -0.0, None, ('e', 2j))\n"
        "print(code_text(f.__code__))"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(texts) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"types": ("f32[:]",)},
        {"types": ("f64[:, :]",)},
        {"layouts": ("A",)},
        {"aliased": True},
        {"options": Options(fp="strict")},
        {"options": Options(schedule="source")},
        {"options": Options(tile=False)},
    ],
    ids=str,
)
def test_a_change_of_arguments_or_options_changes_the_key(change):
    assert content_key(**change) != content_key()


@pytest.mark.parametrize("part", ["_sources_digest", "_version"])
def test_a_change_of_the_compiler_changes_the_key(monkeypatch, part):
    before = content_key()
    cache_key.toolchain.cache_clear()
    monkeypatch.setattr(cache_key, part, lambda *names: "another")
    assert content_key() != before
    cache_key.toolchain.cache_clear()


def test_the_toolchain_names_versions_and_cpu():
    lines = cache_key.toolchain().splitlines()
    assert [line.split()[0] for line in lines[:5]] == ["polyml", "islpy", "llvmlite", "numpy", "ml_dtypes"]
    assert "CpuMachine(" in lines[7]


def test_a_changed_file_of_polyml_changes_its_digest(tmp_path, monkeypatch):
    package = tmp_path / "polyml"
    (package / "runtime").mkdir(parents=True)
    (package / "runtime" / "key.py").write_text("a = 1")
    (package / "runtime" / "entry.ll").write_text("; one")
    monkeypatch.setattr(cache_key, "__file__", str(package / "runtime" / "storage" / "cache_key.py"))
    digests = {cache_key._sources_digest()}
    (package / "runtime" / "entry.ll").write_text("; two")
    digests.add(cache_key._sources_digest())
    (package / "more.py").write_text("")
    digests.add(cache_key._sources_digest())
    assert len(digests) == 3


KEY_OF_A_PROCESS = """
import sys
sys.path.insert(0, {root!r})
from tests.runtime.storage.test_cache_key import content_key
print(content_key())
"""


def test_another_process_finds_the_same_key(pytestconfig):
    script = KEY_OF_A_PROCESS.format(root=str(pytestconfig.rootpath))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": "7"})
    assert done.stdout.strip() == content_key()


def test_a_function_without_text_has_no_key():
    made = function()
    linecache.cache.pop("/virtual/f.py")
    assert cache_key.content_key(made, cache_key.CodeInputs("", (), (), Options(), False)) is None


# What is captured


def guards_of(made) -> dict[str, object]:
    return {guard.key: guard.expected for guard in captures(made).guards}


def test_globals_helpers_and_builtins_are_guarded():
    made = function()
    found = guards_of(made)
    assert found == {
        "range": ABSENT, "N": 10, "helper": made.__globals__["helper"], "np": np, "math": math,
        "C": np.float32(2), "D": 3.0,
    }  # fmt: skip


def test_closure_variables_are_guarded_by_their_cell():
    def outer():
        size, late = 5, None

        def inner(A):
            return A[size] + late

        del late
        return inner

    made = outer()
    found = captures(made)
    assert {g.key: (g.place, g.expected) for g in found.guards} == {
        "late": (made.__closure__[0], ABSENT),
        "size": (made.__closure__[1], 5),
    }
    assert found.portable


def test_a_helper_that_calls_itself_is_followed_once():
    text = "def f(A):\n    return f(A) + g(A)\n\ndef g(x):\n    return f(x) + g(x)\n"
    assert [guard.key for guard in captures(function(text)).guards] == ["f", "g", "f", "g"]


def test_what_words_do_not_tell_apart_is_not_portable():
    class Number(int):
        pass

    for value in (np.zeros(3), object(), Number(3), [1, 2]):
        found = captures(function(N=value))
        assert not found.portable
        assert str(id(value)) in found.content
    assert captures(function(N="text")).portable


def test_a_function_of_numpy_is_what_its_name_says():
    text = "from numpy import sqrt, zeros, zeros_like\ndef f(A):\n    return sqrt(A), zeros(3), zeros_like(A)\n"
    found = captures(function(text))
    assert found.portable and "numpy.sqrt" in found.content and "numpy.zeros" in found.content


def test_attributes_of_a_module_and_what_its_functions_read_are_guarded(tmp_path, monkeypatch):
    (tmp_path / "neighbour.py").write_text("K = 2\nL = 3\ndef g(x):\n    return x * L\n")
    monkeypatch.syspath_prepend(tmp_path)
    neighbour = importlib.import_module("neighbour")
    text = "import neighbour\ndef f(A):\n    return neighbour.g(A[0]) + neighbour.K\n"
    made = function(text)
    first = captures(made)
    assert {(g.key, g.expected) for g in first.guards} == {
        ("neighbour", neighbour), ("g", neighbour.g), ("K", 2), ("L", 3),
    }  # fmt: skip
    assert first.portable
    neighbour.L = 4
    assert captures(made).content != first.content


def test_a_compiled_function_is_known_by_the_function_it_was_made_from():
    text = "def f(A):\n    return g(A[0])\n"
    made = []
    for number, source in enumerate((HELPER, HELPER, OTHER)):
        helper = function(source, file=f"/virtual/{source is OTHER}.py")
        made.append(captures(function(text, file=f"/virtual/f{number}.py", g=polyml.kernel(helper))))
    assert all(m.portable for m in made)
    assert made[0].content == made[1].content != made[2].content


HELPER = "def f(x, n=2):\n    return x * n\n"
OTHER = "def f(x, n=3):\n    return x * n\n"
