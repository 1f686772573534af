"""The compiler's list of stages: what each leaves behind, how long it took, and what happens where one gives up."""

import gc
import json
import os
import subprocess
import sys

import islpy as isl
import numpy as np
import pytest

import polyml
from polyml import kernels, pass_manager
from polyml.codegen.interpreter.run import run
from polyml.codegen.ir.program import CannotRunTogether, Jam, loops
from polyml.codegen.llvm.emit import ENTRY
from polyml.codegen.passes.vectorize import vectorize
from polyml.config import STAGES, Options, scope
from polyml.errors import CompileError, NotAffineError, PolymlTypeError
from polyml.frontend.argument_types import arg_type
from polyml.frontend.parsing.parse import parse
from polyml.model.core.call_interface import ScalarResult
from polyml.pipeline import compile as pipeline
from polyml.pipeline import generate
from polyml.polyhedra import CONTEXT, budget, set_names
from polyml.runtime.loading import load
from tests.codegen.native import Native
from tests.frontend.define import define


def smooth(A, B, steps):
    for t in range(steps):
        for i in range(1, A.shape[0] - 1):
            B[i] = A[i - 1] + A[i + 1]
        for i in range(1, A.shape[0] - 1):
            A[i] = B[i] - A[i]


factors = kernels.load("lu").kernel.py_func


def product(C, A, B):
    total = 0
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]
    D = np.zeros((C.shape[1], 2), C.dtype)
    for j in range(C.shape[1]):
        D[j, 1] = C[0, j]
    for i in range(C.shape[0]):
        total += C[i, 0]
    return total, D


def arguments(function):
    rng = np.random.default_rng(1)
    if function is smooth:
        return {"A": rng.integers(-9, 9, 41), "B": np.zeros(41, int), "steps": 3}
    if function is factors:
        return {"A": rng.standard_normal((13, 13)) + 9.0 * np.eye(13)}
    shapes = {"C": (13, 19), "A": (13, 8), "B": (8, 19)}
    return {name: rng.integers(-9, 9, shape) for name, shape in shapes.items()}


def compiled(function, *, aliased=False, layouts=None, **options):
    values = arguments(function).values()
    types = tuple(arg_type(v) for v in values)
    count = sum(isinstance(v, np.ndarray) for v in values)
    return pipeline.compile(parse(function), pipeline.CompileRequest(types, layouts or ("C",) * count, Options(**options), aliased))


def outcome(made, function):
    """What a call of the machine code leaves behind and returns."""
    args = arguments(function)
    code = load.load(made.artifact.object_code, made.artifact.entry)
    status, results = Native(made.scop, made.llvm, code)(args)
    assert status == 0
    return [np.asarray(v).tolist() for v in (*args.values(), *results)]


def wanted(function):
    args = arguments(function)
    result = function(*args.values())
    return [np.asarray(v).tolist() for v in (*args.values(), *(result or ()))]


OPTIONS = (
    {}, {"fp": "strict"}, {"fp": "fast"}, {"schedule": "source"}, {"vectorize": False}, {"parallel": False},
    {"tile": False}, {"vectorize": False, "parallel": False, "tile": False, "schedule": "source"}, {"aliased": True},
)  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("function", [smooth, product], ids=lambda f: f.__name__)
def test_every_option_computes_the_same(function, options):
    assert outcome(compiled(function, **options), function) == wanted(function)


def test_every_stage_of_the_settings_has_a_readable_text():
    made = compiled(product)
    texts = {name: text() for name, text in made.stages.items()}
    assert tuple(texts) == STAGES and all(text.strip() for text in texts.values())
    assert texts["kernel"].count("def product(") == 1 and "S1[i, j, k]" in texts["domain"] and "S0[" in texts["deps"]
    assert texts["ast"].startswith("def product(C, A, B):") and texts["llvm"] == made.llvm
    assert f"@{ENTRY}(" in texts["llvm"] and ENTRY in texts["asm"]


def test_stages_that_are_data_go_through_json():
    made = compiled(product)
    data = {name: json.loads(json.dumps(value())) for name, value in made.data.items()}
    assert set(data) == {"domain", "deps", "schedule", "ast"}
    assert str(isl.Schedule(data["schedule"]["schedule"])) == str(made.schedule)
    assert tuple(data["schedule"]["notes"]) == made.artifact.notes
    assert len(data["ast"]["body"]) == len(made.program.body)


@pytest.mark.parametrize(
    ("options", "stages"),
    [
        ({}, "types domain scalars deps reductions pieces schedule ast pack vectorize llvm object"),
        ({"schedule": "source"}, "types domain deps reductions ast pack vectorize llvm object"),
        ({"schedule": "source", "vectorize": False}, "types domain deps reductions ast llvm object"),
        ({"aliased": True}, "types domain deps ast llvm object"),
    ],
)
def test_every_stage_that_ran_has_its_time_in_order(options, stages):
    timings = compiled(smooth, **options).timings
    assert list(timings) == stages.split() and all(0 < seconds < 60 for seconds in timings.values())


def test_the_artifact_says_what_a_caller_needs():
    artifact = compiled(product, layouts=("C", "F", "A")).artifact
    assert (artifact.name, artifact.params, artifact.layouts) == ("product", ("C", "A", "B"), ("C", "F", "A"))
    assert (artifact.entry, artifact.written, artifact.aliased) == (ENTRY, ("C",), False)
    assert artifact.result_is_tuple and isinstance(artifact.results[0], ScalarResult)
    (returned,) = artifact.result_arrays
    assert (returned.element, returned.shape) == ("int64", ("C_1", "2"))
    assert {check.kind for check in artifact.checks} <= {"bounds", "range", "shape", "usual"} and artifact.checks
    assert all(each[:4] in (b"\x7fELF", b"\xcf\xfa\xed\xfe") for each in artifact.object_code)
    smoothed = compiled(smooth).artifact
    assert (smoothed.written, smoothed.results, smoothed.result_arrays) == (("A", "B"), (), ())


def test_the_program_and_the_schedule_are_those_of_the_code():
    made = compiled(smooth)
    args = arguments(smooth)
    run(made.program, args)
    assert [np.asarray(v).tolist() for v in args.values()] == wanted(smooth)
    assert made.kernel.types == tuple(arg_type(v) for v in args.values())
    assert set(set_names(made.schedule.get_domain())) == set(made.scop.statements)


def runs_together(made):
    def found(nodes):
        return any(isinstance(n, Jam) or found(getattr(n, "body", ())) for n in nodes)

    return found(made.program.body)


def test_options_switch_off_what_they_name():
    everything = compiled(product)
    assert runs_together(everything) and "polyml_parallel" in everything.llvm
    assert any(loop.role == "tile" for loop in loops(everything.program.body))
    assert not runs_together(compiled(product, vectorize=False))
    assert "polyml_parallel" not in compiled(product, parallel=False).llvm
    plain = compiled(product, parallel=False, tile=False)
    assert not any(loop.role == "tile" for loop in loops(plain.program.body))
    assert " contract " not in compiled(product, fp="strict").llvm


@pytest.mark.parametrize(
    ("options", "note"),
    [({"schedule": "source"}, "source order: as asked"), ({"aliased": True}, "source order: arguments overlap")],
)
def test_source_order_is_kept_where_asked_or_where_arguments_overlap(options, note):
    made = compiled(smooth, **options)
    assert str(made.schedule) == str(made.scop.schedule) and made.artifact.notes == (note,)
    assert made.artifact.aliased == ("aliased" in options)
    assert not any(loop.parallel for loop in loops(made.program.body))


def test_the_same_kernel_gives_the_same_code_twice():
    first, second = compiled(product), compiled(product)
    assert first.llvm == second.llvm and first.artifact == second.artifact
    assert first.artifact.object_code == second.artifact.object_code


def test_types_that_the_language_does_not_have_are_refused_before_anything_else():
    with pytest.raises(PolymlTypeError):
        pipeline.compile(parse(smooth), pipeline.CompileRequest((arg_type(1.5),) * 3, (), Options()))


# giving up

CUT = "the schedule in slabs or tiles over time"


def test_where_the_budget_ends_simpler_forms_follow(monkeypatch):
    real, calls = vectorize, []

    def costly(*args, **named):
        calls.append(args)
        if len(calls) <= 2:
            with budget(1):
                isl.Set("{ [i, j] : 0 <= i < j }").lexmin()
        return real(*args, **named)

    monkeypatch.setitem(pass_manager.instead, "vectorize", costly)
    before = CONTEXT.get_max_operations()
    made = compiled(smooth)
    ways = (CUT, "the schedule")
    assert made.artifact.notes == (*(f"{way} given up: isl exceeded 1 operations" for way in ways), "source order")
    assert str(made.schedule) == str(made.scop.schedule) and runs_together(made)
    assert outcome(made, smooth) == wanted(smooth)
    assert CONTEXT.get_max_operations() == before


def test_slabs_whose_code_is_too_costly_are_given_up_alone(monkeypatch):
    real, calls = vectorize, []

    def refuse_once(*args, **named):
        calls.append(args)
        if len(calls) == 1:
            raise CannotRunTogether("no register")
        return real(*args, **named)

    monkeypatch.setitem(pass_manager.instead, "vectorize", refuse_once)
    made = compiled(factors)
    assert made.artifact.notes[0] == f"{CUT} given up: no register"
    assert any("wavefronts" in note for note in made.artifact.notes[1:]) and runs_together(made)


def test_what_cannot_run_together_runs_as_it_stands(monkeypatch):
    def refuse(*args, **named):
        raise CannotRunTogether("no register")

    monkeypatch.setitem(pass_manager.instead, "vectorize", refuse)
    made = compiled(smooth)
    reasons = (f"{way} given up: no register" for way in (CUT, "the schedule", "source order with vectors"))
    assert made.artifact.notes == (*reasons, "source order") and not runs_together(made)
    assert outcome(made, smooth) == wanted(smooth)


def test_a_kernel_of_which_no_form_can_be_made_runs_as_python_and_says_why(monkeypatch):
    monkeypatch.setattr(generate, "CODE_OPERATIONS", 1)
    with pytest.raises(NotAffineError) as caught:
        compiled(smooth)
    assert caught.value.message == "no form of the kernel could be generated"
    ways = (CUT, "the schedule", "source order with vectors", "source order")
    assert caught.value.notes == tuple(f"{way} given up: isl exceeded 1 operations" for way in ways)


def test_a_defect_of_a_stage_names_the_stage(monkeypatch):
    def broken(*args, **options):
        raise KeyError("S7")

    monkeypatch.setitem(pass_manager.instead, "llvm", broken)
    with pytest.raises(CompileError) as caught:
        compiled(smooth)
    assert str(caught.value) == (
        "error: stage llvm failed: KeyError: 'S7'\n  note: this is a defect of polyml; the function itself may be fine"
    )


def test_stages_that_the_settings_name_are_dumped(tmp_path):
    with scope(debug="ast,llvm", debug_dir=tmp_path):
        made = compiled(smooth, debug=("ast", "llvm"))
    texts = [path.read_text() for path in sorted(tmp_path.iterdir())]
    assert len(texts) == 2
    assert made.stages["ast"]().strip() in texts[0] and made.llvm.strip() in texts[1]


@pytest.mark.parametrize("name", ["S0", "mod", "floor", "rat", "α"])
def test_arguments_may_have_names_that_isl_has_a_meaning_for(name):
    array = define(f"def kernel({name}, B):\n    {name}[1:] += B[1:]*{name}.shape[0]\n    return {name}, B\n", "kernel")
    number = define(f"def kernel({name}, B):\n    for i in range({name}):\n        B[i] += {name}\n    return {name}\n", "kernel")
    for element in (float, complex):
        A, B = np.arange(4).astype(element), np.ones(4, element)
        same, other = polyml.kernel(cache=False)(array)(A, B)
        assert same is A and other is B and A.tolist() == [0, 5, 6, 7]
        assert polyml.kernel(cache=False)(number)(3, B) == 3 and B.tolist() == [4, 4, 4, 1]


@pytest.mark.parametrize("enabled", [True, False])
def test_a_compilation_leaves_pythons_collector_as_it_was(enabled):
    def fails(A):
        for i in range(A.shape[0]):
            A[i] = A.tolist()[i]

    was_enabled = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        polyml.kernel(cache=False)(smooth).lower(np.ones(5), np.ones(5), 1)
        assert gc.isenabled() == enabled
        with pytest.raises(polyml.PolymlError):
            polyml.kernel(cache=False, fallback="error")(fails).lower(np.ones(5))
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if was_enabled else gc.disable)()


def test_the_llvm_text_is_the_same_in_every_process():
    """Whatever order sets of names have there."""
    script = (
        "import numpy, kernels, polyml; b = kernels.load('symm')\n"
        "values = b.inputs(b.sizes['LARGE'], numpy.random.default_rng(0)).values()\n"
        "print(polyml.kernel(cache=False)(b.kernel.py_func).inspect_llvm(*values))"
    )
    texts = set()
    for seed in ("1", "2", "3"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        texts.add(
            subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True).stdout
        )
    assert len(texts) == 1 and "define" in texts.pop()


def test_code_for_one_thread_is_code_of_its_own(monkeypatch):
    """Without calls of the pool; two threads or more have the same."""
    kernel = polyml.kernel(product, cache=False)
    given = list(arguments(product).values())
    for threads in (1, 2, 3):
        with polyml.config.scope(threads=threads):
            kernel(*[np.copy(a) for a in given])
            assert ("polyml_parallel" in kernel.lower(*given).llvm) == (threads > 1)
    assert len(kernel._specialisations) == 2
