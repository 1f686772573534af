"""A stage run alone from a text gives what the whole compilation gives."""

import numpy as np
import pytest

import polyml
from polyml import config, kernels
from polyml.errors import ConfigError, TextError
from polyml.pipeline.from_text.resume import resumed, stage_of

NAMES = ("gemm", "jacobi_2d", "atax", "nussinov", "lu")
STARTS = {"kernel": "schedule", "domain": "schedule", "ast": "ast"}  # stage whose text is read -> the first stage compared


def compiled(function, *types):
    with config.scope(cache=False):
        return polyml.kernel(function).lower(*types)


def types_of(name):
    benchmark = kernels.load(name)
    values = benchmark.inputs(benchmark.sizes["MINI"], np.random.default_rng(1), benchmark.dtype).values()
    return [str(arg) if arg in ("int", "float") else arg for arg in map(type_text, values)]


def type_text(value):
    if isinstance(value, np.ndarray):
        short = {"float64": "f64", "int32": "i32", "int8": "i8", "float32": "f32"}[value.dtype.name]
        return f"{short}[{', '.join(':' * value.ndim)}]"
    return type(value).__name__


@pytest.mark.parametrize("name", NAMES)
def test_each_stage_goes_on_to_the_same_code(name):
    whole = compiled(kernels.load(name).kernel.py_func, *types_of(name))
    for start, first in STARTS.items():
        with config.scope(cache=False):
            texts = resumed(whole.full[start](), f"{name}.{start}")
            later = list(texts)[list(texts).index(first) :]
            assert later[-3:] == ["ast", "llvm", "asm"]
            for stage in set(later) - {"asm"}:
                assert stage_of(texts, stage) == whole.stages[stage](), (start, stage)


def scaled(a, A):
    for i in range(A.shape[0]):
        A[i] = a * A[i]


def test_a_text_is_written_again_as_it_was_read():
    whole = compiled(scaled, "float", "f64[:]")
    for stage, text in whole.full.items():
        assert stage_of(resumed(text(), "t", full=True), stage) == text()


def test_settings_hold_for_what_follows():
    """Vectors are made or not by the settings of now, not by those with which the SCoP was written."""
    text = compiled(scaled, "float", "f64[:]").full["domain"]()
    assert "together" in stage_of(resumed(text, "t"), "ast")
    with config.scope(vectorize=False):
        assert "together" not in stage_of(resumed(text, "t"), "ast")


def test_an_edited_program_becomes_other_code():
    text = compiled(scaled, "float", "f64[:]").full["ast"]()
    assert text.count("value a*A\n") >= 1
    changed = text.replace("value a*A\n", "value a + A\n")
    assert "fadd" in stage_of(resumed(changed, "t"), "llvm") and "fadd" not in stage_of(resumed(text, "t"), "llvm")


def test_stages_before_the_text_are_refused():
    texts = resumed(compiled(scaled, "float", "f64[:]").full["domain"](), "t")
    with pytest.raises(ConfigError) as problem:
        stage_of(texts, "kernel")
    assert str(problem.value) == (
        "error: the stage `kernel` comes before what the file has\n"
        "  note: stages from there on: domain, deps, schedule, ast, llvm, asm"
    )


def test_what_is_no_text_of_a_stage_is_refused():
    with pytest.raises(TextError) as problem:
        resumed("def f(A):\n    pass\n", "f.py")
    assert str(problem.value) == (
        "f.py:1:1: error: this is no text of a stage\n      def f(A):\n      ^^^^^^^^^\n"
        "  note: the first line of one is `polyml kernel`, `polyml scop` or `polyml program`, and the format\n"
        "  note: `polyml show --full` writes them"
    )


def test_a_kernel_without_types_is_refused():
    with pytest.raises(TextError) as problem:
        resumed("polyml kernel, format 1\nuntyped def f(A, n):\n    pass\n", "f.kernel")
    assert str(problem.value) == (
        "f.kernel:2:15: error: the arguments of the kernel have no types\n      untyped def f(A, n):\n                    ^\n"
        "  note: expected `def f(A: f64[:], n: int)`, as `polyml show --stage kernel` has it for a call"
    )


def test_an_order_that_lacks_a_statement_is_refused():
    text = compiled(scaled, "float", "f64[:]").full["domain"]()
    start = text.index("statement S0")
    statement = text[start : text.index("\norder")].replace("S0", "S1")
    wrong = text[: text.index("\norder")] + "\n" + statement + text[text.index("\norder") :]
    wrong = "\n".join(line for line in wrong.splitlines() if not line.startswith("check")) + "\n" if "check" in wrong else wrong
    with pytest.raises(TextError, match="the order has no place for S1"):
        resumed(wrong, "t")


def test_an_error_of_a_later_stage_shows_the_text_of_the_kernel():
    """What cannot be compiled is shown where it stands in the file."""
    text = "polyml kernel, format 1\ndef f(A: f64[:], n: int):\n    for i in range(0, n):\n        A[i*i] = 1.0\n"
    with pytest.raises(polyml.NotAffineError) as problem:
        stage_of(resumed(text, "f.kernel"), "domain")
    assert str(problem.value).startswith("f.kernel:4:11: error: ")
    assert "\n              A[i*i] = 1.0\n                ^" in str(problem.value)
