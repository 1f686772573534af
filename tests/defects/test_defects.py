"""Bundles repeated, reduced and bisected, with faults put into passes."""

import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from polyml import pass_manager
from polyml.bundles.bundle import Bundle, BundledArgument
from polyml.codegen.ir.program import Loop
from polyml.defects import reduce as reducing
from polyml.defects.bisect import bisect
from polyml.defects.repeat import repeat
from polyml.errors import CompileError, ConfigError
from polyml.pipeline import compile as pipeline
from polyml.pipeline import passes
from tests.cli.running import run

SOURCE = """
import numpy as np

def f(A, B, C, alpha):
    T = np.zeros((C.shape[0], C.shape[1]))
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                T[i, j] += alpha * A[i, k] * B[k, j]
    for i in range(C.shape[0]):
        for j in range(1, C.shape[1]):
            C[i, j] = C[i, j - 1] * 0.5 + T[i, j]
"""
VALUES = (
    BundledArgument("A", "float64", (40, 50)),
    BundledArgument("B", "float64", (50, 45)),
    BundledArgument("C", "float64", (40, 45)),
    BundledArgument("alpha", "float", None),
)
BUNDLE = Bundle("f", SOURCE.strip() + "\n", VALUES, {}, "CompileError", "stage vectorize failed: KeyError: 'injected'")
PASSES = tuple(step.name for step in (passes.BUILD, *passes.PROGRAM_PASSES, *passes.TILE_PASSES, *passes.VECTOR_PASSES))


def stopped(*given, **named):
    raise KeyError("injected")


@pytest.mark.parametrize("name", PASSES)
def test_a_bundle_repeats_the_failure_of_a_pass(monkeypatch, name):
    assert name == PASSES[0] or repeat(BUNDLE) is None
    monkeypatch.setitem(pass_manager.instead, name, stopped)
    assert repeat(BUNDLE).message == f"stage {name} failed: KeyError: 'injected'"


def test_the_file_alone_ends_with_the_error(tmp_path):
    file = tmp_path / BUNDLE.file
    file.write_text(BUNDLE.text())
    end = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=False)
    assert end.returncode == 0 and "compiles and runs" in end.stdout
    broken = f"from polyml import pass_manager\npass_manager.instead['pack'] = lambda *given, **named: {{}}['injected']\nexec(open({str(file)!r}).read(), {{'__name__': '__main__', '__file__': {str(file)!r}}})"
    end = subprocess.run([sys.executable, "-c", broken], capture_output=True, text=True, check=False)
    assert end.returncode == 1 and end.stderr.splitlines()[-2].endswith(
        "CompileError: error: stage pack failed: KeyError: 'injected'"
    )
    file.write_text("x = 1\n")
    end = subprocess.run(
        [sys.executable, "-c", f"from polyml.defects.repeat import main; main({str(file)!r})"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert end.returncode == 2 and "is no bundle" in end.stderr


# Reduced


def fails_on(text):
    """A stand-in for processes: bundles whose source has the text fail."""
    return lambda bundle: "CompileError: .." if text in bundle.source else ""


def test_a_reduced_bundle_has_only_what_fails(monkeypatch):
    monkeypatch.setattr(reducing, "failure", fails_on("C[i, j - 1]"))
    given = replace(BUNDLE, settings={"fp": "strict"})
    found = reducing.reduced(given)
    assert "C[i, j - 1]" in found.source and "A[i, k]" not in found.source and len(found.source) < len(given.source) / 2
    assert [value.name for value in found.values] == ["C"] and found.settings == {}
    assert max(found.values[0].shape) <= 2
    assert reducing.reduced(replace(given, source=given.source.replace("j - 1", "j"))) is None


def test_a_failure_is_told_by_its_process(monkeypatch):
    assert reducing.failure(BUNDLE) == ""
    child = reducing._CHILD.replace(
        "\nimport sys\n",
        "\nimport sys\nfrom polyml import pass_manager\npass_manager.instead['pack'] = lambda *given, **named: {}['k%d' % id(given)]\n",
    )
    monkeypatch.setattr(reducing, "_CHILD", child)
    assert reducing.failure(BUNDLE) == "CompileError stage pack failed: KeyError: .."
    monkeypatch.setattr(reducing, "_CHILD", "import os; os.abort()")
    assert reducing.failure(BUNDLE) == "signal 6"
    monkeypatch.setattr(reducing, "_CHILD", "while True: pass")
    monkeypatch.setattr(reducing, "SECONDS", 0.2)
    assert reducing.failure(BUNDLE) == "no end"


# Bisected


def changed(monkeypatch, name, change):
    true = passes.require(name).function
    monkeypatch.setitem(pass_manager.instead, name, lambda *given, **named: change(true(*given, **named)))


def without_the_last(program):
    return replace(program, body=program.body[:-1])


def in_any_order(program):
    """Every loop is said to be parallel, that along which C is summed up too."""

    def marked(node):
        body = tuple(map(marked, node.body)) if hasattr(node, "body") else ()
        return replace(node, body=body, **({"parallel": True} if isinstance(node, Loop) else {})) if body else node

    return replace(program, body=tuple(map(marked, program.body)))


def test_without_a_fault_there_is_no_culprit(monkeypatch):
    monkeypatch.setattr("polyml.defects.bisect.MOST_SECONDS", 0.5)
    found = bisect(BUNDLE)
    assert found.culprit == "" and found.passes == (*PASSES, "llvm")
    assert str(found).startswith("right after each of build, ")


@pytest.mark.parametrize("name", PASSES)
def test_the_first_pass_after_which_results_differ_is_named(monkeypatch, name):
    changed(monkeypatch, name, without_the_last)
    found = bisect(BUNDLE)
    assert found.culprit == name and found.passes == PASSES[: PASSES.index(name)]
    assert found.difference.startswith("C[0, 1] is ") and "C[i, j] = C[i, j - 1] * 0.5 + T[i, j]" in found.statements[0]


def test_wrong_claims_about_orders_are_found(monkeypatch):
    changed(monkeypatch, "build", in_any_order)
    found = bisect(BUNDLE)
    assert found.culprit == "build" and "in any order" in found.difference


def test_code_that_differs_from_a_right_program(monkeypatch):
    true = passes.EMIT.function

    def wrong(program, *given, finished, **named):
        def changed(unit):
            finished(replace(unit, definition=re.sub(r"\bfmul\b", "fadd", unit.definition)))

        return true(program, *given, finished=changed, **named)

    monkeypatch.setitem(pass_manager.instead, "llvm", wrong)
    found = bisect(BUNDLE)
    assert found.culprit == "llvm" and found.passes == PASSES and "C[i, j]" in found.statements[0]


def test_a_pass_that_fails_is_the_culprit(monkeypatch):
    monkeypatch.setitem(pass_manager.instead, "privatize", stopped)
    found = bisect(BUNDLE)
    assert found.culprit == "privatize" and found.passes == PASSES[: PASSES.index("privatize")]


def test_lengths_of_flattened_arrays_are_the_bundle_s():
    source = "def f(n, A, B):\n    for i in range(n):\n        for j in range(n):\n            A[i * n + j] = B[j * n + i]\n"
    values = (
        BundledArgument("n", "int", None, number=20),
        BundledArgument("A", "float64", (400,)),
        BundledArgument("B", "float64", (400,)),
    )
    assert bisect(replace(BUNDLE, source=source, values=values)).longest == 400


def test_python_that_raises_cannot_be_compared():
    source = "def f(A, B, C, alpha):\n    A[0, 1000] = 1.0\n"
    with pytest.raises(ConfigError, match="f raises IndexError as plain Python"):
        bisect(replace(BUNDLE, source=source))
    with pytest.raises(ConfigError, match="the source of the bundle raises NameError"):
        bisect(replace(BUNDLE, source="x = missing\n" + SOURCE))


# The commands


def test_commands(tmp_path, monkeypatch):
    monkeypatch.setattr("polyml.defects.bisect.MOST_SECONDS", 0)
    file = tmp_path / "defects" / BUNDLE.file
    file.parent.mkdir()
    file.write_text(BUNDLE.text())
    monkeypatch.setenv("POLYML_CACHE_DIR", str(tmp_path))
    assert f"{file}\n" in run("doctor")[0] and BUNDLE.message in run("doctor")[0]
    assert "right after each of build" in run("bisect", str(file))[0]
    assert "does not fail" in run("doctor", "--reduce", str(file), code=1)[1]
    for words in (["bisect"], ["doctor", "--reduce"]):
        assert "is no bundle" in run(*words, __file__, code=2)[1]
        assert "No such file" in run(*words, str(tmp_path / "none.py"), code=2)[1]
    with monkeypatch.context() as patch:
        patch.setattr(reducing, "failure", fails_on("T[i, j] +="))
        out, _ = run("doctor", "--reduce", str(file))
        assert out.splitlines()[-1].startswith(str(tmp_path / "defects" / "f-")) and len(list(file.parent.iterdir())) == 2
    monkeypatch.setitem(pass_manager.instead, "pack", stopped)
    out, _ = run("bisect", str(file), code=1)
    assert "wrong after   pack" in out and "KeyError: 'injected'" in out
    assert '"culprit": "pack"' in run("bisect", str(file), "--json", code=1)[0]


def test_errors_that_have_no_stage_name_the_compiler(monkeypatch):
    monkeypatch.setattr(pipeline, "compile", lambda *given, **named: (_ for _ in ()).throw(CompileError("loading failed")))
    assert bisect(BUNDLE).culprit == "the compiler"


def test_sizes_alone_decide(monkeypatch):
    true = passes.require("pack").function

    def only_large(program, *, sizes, **named):
        return stopped() if sizes and max(sizes.values()) >= 45 else true(program, sizes=sizes, **named)

    monkeypatch.setitem(pass_manager.instead, "pack", only_large)
    monkeypatch.setattr("polyml.defects.bisect.MOST_SECONDS", 0)
    found = bisect(BUNDLE)
    assert found.culprit == "pack" and found.longest == 50
    assert np.prod(found.longest) == 50
