"""The decorator: calls, specialisations, refusals, and what it tells."""

import contextlib
import copy
import inspect
import os
import pickle
import threading
import types
import warnings

import numpy as np
import pytest

import polyml
import polyml.pipeline
from polyml import (
    BoundsError,
    CompileError,
    ConfigError,
    Kernel,
    LanguageError,
    NotAffineError,
    PolymlMemoryError,
    PolymlOverflowError,
    PolymlPerformanceWarning,
    PolymlTypeError,
    PolymlValueError,
    config,
)
from polyml.api import decorator, specialised
from polyml.api.calls import specialisation
from polyml.api.compiling import compile_lock
from polyml.pipeline import stages
from polyml.runtime.loading import assemble, load
from polyml.runtime.storage.records import CheckRecord
from tests.runtime.handmade import RETURN, artifact

FILE = __file__
SCALE = 2.0


def shift(A, B):
    for i in range(A.shape[0]):
        B[i + 1] = A[i]


def scaled(A):
    for i in range(A.shape[0]):
        A[i] *= SCALE


def add(A, x, *, y=0.5):
    """Adds x and y to A."""
    for i in range(A.shape[0]):
        A[i] += x + y


def summed(A, n):
    s = 0.0
    T = np.zeros(n)
    for i in range(n):
        s += A[i]
        T[i] = s
    return s, T, A


def conditional(A, B, n):
    for i in range(A.shape[0]):
        if A[i] > 0.0:
            B[i + n] = A[i]


def search(A):
    n = 0
    while A[n] != 0.0:
        n += 1
    return n


def from_the_first_zero(A):
    rest = A
    while rest[0] != 0.0:
        rest = rest[1:]
    return rest


def line_of(function) -> int:
    return function.__code__.co_firstlineno


@polyml.kernel
def at_module_level(A):
    for i in range(A.shape[0]):
        A[i] += 1.0


@pytest.fixture
def compiler(monkeypatch):
    """A compiler that returns what its attributes say instead of compiling, and remembers what it was asked."""

    class Compiler:
        made, error, asked = None, None, []
        CompileRequest = stages.CompileRequest

        def compile(self, kernel, wanted, schedules=None, given=None):
            self.asked.append((wanted.types, wanted.layouts, wanted.options, wanted.aliased))
            if self.error is not None:
                raise self.error
            return types_namespace(artifact=self.made, timings={"stage": 0.25}, stages={"llvm": lambda: "the text"})

    def types_namespace(**fields):
        return types.SimpleNamespace(**fields)

    fake = Compiler()
    fake.asked = []
    monkeypatch.setattr(polyml.pipeline, "compile", fake, raising=False)
    monkeypatch.setitem(__import__("sys").modules, "polyml.pipeline.compile", fake)
    monkeypatch.setenv("POLYML_CACHE", "0")
    return fake


def handmade(*kinds, status=0, **fields):
    text = RETURN.format(status=status)
    return artifact(*kinds, object_code=(assemble.assemble(text),), **fields)


# Calls


def test_a_call_computes_and_tells_that_it_was_compiled():
    k = polyml.kernel(shift)
    assert (k.compiled, k.from_cache, k.timings, k.signatures) == (None, None, {}, ())
    A, B = np.arange(5.0), np.zeros(6)
    assert k(A, B) is None
    assert B.tolist() == [0, 0, 1, 2, 3, 4]
    assert k.compiled is True
    assert [form.signature for form in k.signatures] == ["(f64[:], f64[:])"]
    assert k.timings["load"] > 0 and k.timings["cache"] > 0


def test_results_come_back_and_an_argument_as_the_object_it_was():
    k, A = polyml.kernel(summed), np.arange(5.0)
    for values in ((A, 4), (A, np.int32(4)), (memoryview(A), 4)):
        s, T, same = k(*values)
        assert (type(s), s, T.tolist()) == (np.float64, 6.0, [0, 1, 3, 6])
        assert same is values[0]


def test_keywords_and_defaults_work_as_in_python():
    k = polyml.kernel(add)
    for arguments, keywords, expected in [
        ((1.0,), {}, 1.5), ((), {"x": 1.0, "y": 2.0}, 3.0), ((1.0,), {"y": -1.0}, 0.0)
    ]:  # fmt: skip
        A = np.zeros(3)
        k(A, *arguments, **keywords)
        assert A.tolist() == [expected] * 3
        A = np.zeros(3)
        k(**dict(zip("x", arguments)), A=A, **keywords)
        assert A.tolist() == [expected] * 3


def by_position(A, n, /, x, *, y):
    for i in range(n):
        A[i] = x + y


BAD_CALLS = [
    (add, (1, 2, 3), {}, "takes 2 positional arguments, 3 given"),
    (add, (1,), {}, "is missing `x`"),
    (add, (), {}, "is missing `A`, `x`"),
    (add, (1, 2), {"z": 3}, "has no parameter `z`"),
    (add, (1, 2), {"x": 3}, "got `x` twice"),
    (by_position, (1, 2), {"n": 3, "x": 1, "y": 1}, "takes `n` by position only"),
    (by_position, (1, 2, 3), {}, "is missing `y`"),
]


@pytest.mark.parametrize("function, arguments, keywords, problem", BAD_CALLS)
def test_arguments_that_fit_no_parameter_are_refused(function, arguments, keywords, problem):
    with pytest.raises(PolymlTypeError) as caught:
        polyml.kernel(function)(*arguments, **keywords)
    name = function.__name__
    signature = {"add": "add(A, x, y)", "by_position": "by_position(A, n, x, y)"}[name]
    assert str(caught.value) == f"error: {name}() {problem}\n  note: it is {signature}"
    with pytest.raises(TypeError):
        function(*arguments, **keywords)


def test_a_star_is_refused_where_it_stands():
    def starred(A, *rest):
        A[0] = 1.0

    with pytest.raises(LanguageError, match="a kernel cannot take \\*rest"):
        polyml.kernel(starred, fallback="error")(np.zeros(3), 1, 2)
    A = np.zeros(3)
    with pytest.warns(PolymlPerformanceWarning, match="a kernel cannot take \\*rest"):
        polyml.kernel(starred)(A, 1, 2)
    assert A.tolist() == [1.0, 0.0, 0.0]


def test_a_bad_argument_is_told_which_call_it_was_in():
    k = polyml.kernel(shift, fallback="error")
    with pytest.raises(PolymlTypeError) as caught:
        k(np.zeros(3), {})
    assert str(caught.value) == (
        "error: argument `B` is a dict, neither a number nor an array\n"
        "  note: polyml takes numbers, NumPy arrays, and objects with __array_interface__, the buffer protocol "
        "or DLPack\n"
        f"  note: in a call of shift ({FILE}:{line_of(shift)})"
    )


def test_a_written_array_must_be_writable_and_no_copy():
    k, fixed = polyml.kernel(shift, fallback="error"), np.zeros(3)
    fixed.flags.writeable = False
    k(fixed, np.zeros(4))
    for wrong, kind, problem in [
        (fixed, PolymlValueError, "argument `B` is written, but the array is read-only"),
        ([0.0] * 4, PolymlTypeError, "argument `B` is a list, whose operators are not those of an array"),
    ]:
        with pytest.raises(kind) as caught:
            k(np.zeros(2), wrong)
        assert caught.value.message == problem
        assert caught.value.notes[-1].startswith("in a call of shift (")


def test_arguments_in_the_same_memory_give_what_python_gives():
    k = polyml.kernel(shift)
    ours, plain = np.arange(9.0), np.arange(9.0)
    k(ours[:8], ours)
    shift(plain[:8], plain)
    assert ours.tolist() == plain.tolist() == [0.0] * 9
    interleaved = np.arange(10.0)
    k(interleaved[1::2][:4], interleaved[::2])
    assert interleaved[::2].tolist() == [0, 1, 3, 5, 7]


def test_layouts_and_types_have_specialisations_of_their_own_and_are_found_again(compiler):
    compiler.made = handmade("f64[:]", "f64[:]")
    k = polyml.kernel(shift)
    k(np.zeros(3), np.zeros(4))
    compiler.made = handmade("f32[:]", "f64[:]", layouts="CA")
    k(np.zeros(3, "f4"), np.zeros(8)[::2])
    for _ in range(3):
        k(np.zeros(3), np.zeros(4))
        k(np.zeros(3, "f4"), np.zeros(8)[::2])
    assert [form.signature for form in k.signatures] == ["(f64[:], f64[:])", "(f32[:], f64[:] A)"]
    assert len(compiler.asked) == 2


def test_a_changed_global_is_compiled_in(monkeypatch):
    k, A = polyml.kernel(scaled), np.ones(2)
    k(A)
    for value in (3.0, np.float32(5)):
        monkeypatch.setitem(globals(), "SCALE", value)
        k(A)
    assert A.tolist() == [30, 30]
    monkeypatch.setitem(globals(), "SCALE", 2.0)
    k(A)
    assert A.tolist() == [60, 60]
    assert len(k._specialisations) == 3


def test_the_number_of_specialisations_is_bounded(compiler, monkeypatch):
    monkeypatch.setattr(specialised, "SPECIALISATIONS", 3)
    compiler.made = handmade("f64[:]")
    k, A = polyml.kernel(scaled), np.ones(2)
    for value in range(6):
        monkeypatch.setitem(globals(), "SCALE", value)
        k(A)
    assert len(k._specialisations) == 3 and len(compiler.asked) == 6
    monkeypatch.setitem(globals(), "SCALE", 5)
    k(A)
    assert len(compiler.asked) == 6


# Settings


def test_settings_come_from_environment_scope_and_decorator(compiler, monkeypatch):
    compiler.made = handmade("f64[:]")
    k, A = polyml.kernel(scaled), np.ones(2)
    k(A)
    with config.scope(fp="strict"):
        k(A)
        with config.scope(threads=2):
            k(A)
        k(A)
    k(A)
    own = polyml.kernel(fp="fast", vectorize=False)(scaled)
    with config.scope(fp="strict"):
        own(A)
    monkeypatch.setenv("POLYML_TILE", "0")
    polyml.kernel(scaled)(A)
    asked = [(options.fp, options.vectorize, options.tile) for _, _, options, _ in compiler.asked]
    assert asked == [
        ("reassociate", True, True),
        ("strict", True, True),
        ("fast", False, True),
        ("reassociate", True, False),
    ]


def test_the_kernel_gets_the_number_of_threads(monkeypatch):
    made = handmade("int", status=0)
    spied = []
    bind = specialisation.bind
    monkeypatch.setattr(specialisation, "bind", lambda *args, **options: spied.append(options["threads"]) or bind(*args, **options))
    wanted = specialisation.Request(made.types, (), config.Options())
    chosen = specialisation.Specialisation(wanted, made, load.load(made.object_code, "kernel"), {})
    monkeypatch.setattr(specialisation.thread_pool, "usable_cores", lambda: 7)
    for count in (0, 3, 0):
        chosen.entry(count, (), True)
    assert spied == [7, 3]


def test_a_setting_that_does_not_exist_is_refused_when_decorating():
    for settings in ({"fp": "exact"}, {"thread": 1}):
        with pytest.raises(ConfigError):
            polyml.kernel(**settings)
        with pytest.raises(ConfigError):
            polyml.kernel(scaled, **settings)


@pytest.mark.parametrize("wrong, name", [(len, "builtin_function_or_method"), (Kernel, "type"), (3, "int")])
def test_only_functions_become_kernels(wrong, name):
    with pytest.raises(PolymlTypeError) as caught:
        polyml.kernel(wrong)
    assert str(caught.value) == f"error: polyml.kernel takes a function, not a {name}\n  note: write the kernel with `def`"


def test_a_kernel_decorated_again_takes_more_settings():
    first = polyml.kernel(add, fp="strict", threads=1)
    second = polyml.kernel(first, threads=2)
    assert (second.py_func, second.settings) == (add, {"fp": "strict", "threads": 2})


# Refusals of the kernel


def test_a_call_out_of_bounds_writes_nothing_and_says_where():
    k, B = polyml.kernel(shift), np.full(4, 7.0)
    for _ in range(2):  # slow and fast
        with pytest.raises(BoundsError) as caught:
            k(np.zeros(6), B)
        assert str(caught.value) == (
            f"{FILE}:{line_of(shift) + 2}:9: error: `B[i + 1]` is out of bounds: index 4 in dimension 0 of size 4\n"
            "              B[i + 1] = A[i]\n"
            "              ^^^^^^^^\n"
            "  note: at i = 3\n"
            "  note: found before anything was written"
        )
        assert B.tolist() == [7.0] * 4
        k(np.zeros(2), np.zeros(3))
    with pytest.raises(IndexError):
        shift(np.zeros(6), B)


def widened(C, alpha):
    for i in range(C.shape[0]):
        C[i] = (alpha if C[i] <= 1 else i) + alpha


def test_an_integer_argument_may_be_used_in_two_types():
    wanted, got = np.arange(5, dtype=np.int16), np.arange(5, dtype=np.int16)
    widened(wanted, np.int16(3))
    polyml.kernel(widened)(got, np.int16(3))
    assert got.tolist() == wanted.tolist()


def wasted(A, scale, go):
    T = np.zeros(A.shape[0], np.int32)
    x = np.int32(0)
    for i in range(A.shape[0]):
        T[i] = A[i] * scale
        x = np.int32(i * scale)
        if A[i] > go:
            T[i] = x
    return A


@pytest.mark.parametrize("schedule", ["auto", "source"])
def test_an_overflow_in_a_value_that_nobody_needs_is_raised_as_python_raises_it(schedule):
    k, A = polyml.kernel(wasted, schedule=schedule), np.arange(4)
    assert k(A, 5, 9) is A
    for scale in (2**20, 2**31):
        values = A + 2**12 if scale == 2**20 else A
        with pytest.raises(OverflowError):
            wasted(values, scale, 9)
        with pytest.raises(OverflowError):
            k(values, scale, 9)


def test_a_negative_extent_and_one_beyond_memory_are_refused():
    k, A = polyml.kernel(summed, fallback="error"), np.zeros(3)
    with pytest.raises(PolymlValueError) as caught:
        k(A, -2)
    assert caught.value.message == "dimension 0 of `T` is negative: -2"
    with pytest.raises(PolymlMemoryError) as caught:
        k(A, 2**39)
    assert caught.value.message.startswith("there is no room for the result: Unable to allocate")
    with pytest.raises(PolymlOverflowError) as caught:
        k(A, 2**63)
    assert caught.value.message == f"argument `n` is {2**63}, which does not fit 64 bits"


def test_what_only_the_data_decides_runs_as_python_with_one_warning():
    k = polyml.kernel(conditional)
    A, B = np.array([1.0, -1.0, 2.0, -1.0]), np.zeros(5)
    k(A, B, 1)
    assert (k.compiled, B.tolist()) == (True, [0, 1, 0, 2, 0])
    with pytest.warns(PolymlPerformanceWarning) as caught:
        k(A, B, 2)
        k(A, B, 2)
    assert B.tolist() == [0, 1, 1, 2, 2]
    assert len(caught) == 1 and caught[0].filename == FILE
    text = str(caught[0].message)
    assert text.startswith(f"conditional ({FILE}:{line_of(conditional)}) runs as plain Python (PML-F031): `B[i + n]")
    assert "is out of bounds: index 5 in dimension 0 of size 5; plain Python decides what happens" in text
    assert k.compiled is False
    assert "the last call ran as plain Python: `B[i + n]" in k.explain()
    with pytest.raises(IndexError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        k(np.ones(4), B, 2)
    k(A, B, 0)
    assert k.compiled is True


def test_what_the_data_left_to_python_once_is_left_to_it_at_once(monkeypatch):
    k = polyml.kernel(conditional)
    A, B = np.array([1.0, -1.0, 2.0, -1.0]), np.zeros(5)
    with pytest.warns(PolymlPerformanceWarning):
        k(A, B, 2)
    monkeypatch.setattr(decorator.bounds_errors, "failure", None)  # it asks isl, which takes a millisecond
    for _ in range(2):
        B[:] = 0
        k(A, B, 2)
        assert B.tolist() == [0, 0, 1, 0, 2] and k.compiled is False
    k(A, B, 1)
    assert k.compiled is True


def test_a_loop_that_data_end_is_compiled_whole():
    k = polyml.kernel(search, fallback="error")
    assert k(np.array([1.0, 2.0, 0.0])) == 2 and k.compiled
    with pytest.raises(IndexError, match="index 3 in dimension 0 of size 3"):
        k(np.ones(3))


def test_a_loop_that_binds_arrays_runs_as_python_with_one_warning():
    k = polyml.kernel(from_the_first_zero)
    with pytest.warns(PolymlPerformanceWarning) as caught:
        assert k(np.array([1.0, 2.0, 0.0, 3.0])).tolist() == [0.0, 3.0]
        assert k(np.array([1.0, 0.0])).tolist() == [0.0]
    assert len(caught) == 1 and caught[0].filename == FILE
    lines = str(caught[0].message).splitlines()
    place = f"{FILE}:{line_of(from_the_first_zero) + 2}:5"
    assert lines[0].startswith(
        f"from_the_first_zero ({FILE}:{line_of(from_the_first_zero)}) runs as plain Python (PML-F001): {place}: error: a while loop"
    )
    assert lines[1].strip() == "while rest[0] != 0.0:"
    assert k.compiled is False
    assert k.explain().startswith(
        f"from_the_first_zero ({FILE}:{line_of(from_the_first_zero)}): runs as plain Python for (f64[:])\n  {place}: error: "
    )


def test_a_loop_that_binds_arrays_is_an_error_where_that_is_asked():
    k = polyml.kernel(from_the_first_zero, fallback="error")
    for _ in range(2):
        with pytest.raises(NotAffineError, match="a while loop"):
            k(np.zeros(3))
    k = polyml.kernel(from_the_first_zero)
    with pytest.warns(PolymlPerformanceWarning):
        k(np.zeros(3))
    with config.scope(fallback="error"), pytest.raises(NotAffineError, match="a while loop"):
        k(np.zeros(3))


@pytest.mark.parametrize(
    "status, kind, text",
    [
        (-1, PolymlMemoryError, "`f` found no memory for its temporaries"),
        (-2, PolymlOverflowError, "a Python integer left 64 bits in `f`"),
        (-10, CompileError, "`f` returned the unknown status -10"),
        (1, BoundsError, "`A[9]` is out of bounds: an index in dimension 0"),
    ],
)
def test_a_status_becomes_its_error_on_the_slow_and_on_the_fast_path(compiler, status, kind, text):
    check = CheckRecord(kind="bounds", what="A[9]", violated="{ }", instances="[N] -> { S[] : N < 0 }")
    compiler.made = handmade("f64[:]", status=status, params=("A",), checks=(check,))
    k = polyml.kernel(scaled)
    for arguments, keywords in [((np.zeros(3),), {}), ((np.zeros(3),), {}), ((), {"A": np.zeros(3)})]:
        with pytest.raises(kind) as caught:
            k(*arguments, **keywords)
        assert caught.value.message == text
    assert len(compiler.asked) == 1


def test_an_entry_that_refuses_its_own_arguments_is_a_defect(compiler):
    compiler.made = handmade("f32[:]", params=("A",))
    with pytest.raises(CompileError, match="the entry of `scaled` refuses the arguments it was made for"):
        polyml.kernel(scaled)(np.zeros(3))


def test_a_foreign_exception_in_the_compiler_is_a_compile_error(compiler):
    compiler.error = KeyError("what")
    with pytest.raises(CompileError) as caught:
        polyml.kernel(scaled)(np.zeros(3))
    assert str(caught.value) == (
        "error: the compiler failed on `scaled`: KeyError: 'what'\n"
        "  note: this is a defect of polyml\n"
        f"  note: in scaled ({FILE}:{line_of(scaled)})"
    )
    assert caught.value.__cause__ is compiler.error


# Threads and processes


def test_threads_that_call_at_once_compile_once(compiler):
    compiler.made = handmade("f64[:]")
    k, start = polyml.kernel(scaled), threading.Barrier(8)

    def call():
        start.wait()
        for _ in range(50):
            k(np.zeros(3))

    workers = [threading.Thread(target=call) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(compiler.asked) == 1 and k.compiled


def test_a_child_forked_while_another_thread_compiles_can_compile():
    k, held, done = polyml.kernel(scaled), threading.Event(), threading.Event()

    def compile_for_long():
        with k._lock, compile_lock.alone():
            held.set()
            done.wait(0.3)  # the fork waits for it

    worker = threading.Thread(target=compile_for_long)
    worker.start()
    held.wait()
    child = os.fork()
    if child == 0:
        A = np.ones(3)
        with contextlib.suppress(BaseException):
            k(A)
        os._exit(0 if A.tolist() == [SCALE] * 3 else 1)
    done.set()
    worker.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


# What a kernel tells of itself


def test_a_kernel_looks_like_its_function():
    k = polyml.kernel(add)
    assert (k.__name__, k.__qualname__, k.__module__, k.__doc__) == ("add", "add", __name__, "Adds x and y to A.")
    assert k.py_func is k.__wrapped__ is add
    assert inspect.signature(k) == inspect.signature(add)
    assert repr(k) == "<polyml.kernel add(A, x, y)>"


def test_a_kernel_is_pickled_and_copied_by_reference():
    assert pickle.loads(pickle.dumps(at_module_level)) is at_module_level
    assert copy.copy(at_module_level) is at_module_level
    assert copy.deepcopy(at_module_level) is at_module_level


def test_lowering_takes_values_and_types(compiler):
    compiler.made = handmade("f64[:]")
    k = polyml.kernel(summed)
    for arguments in [(np.zeros(3), 5), ("f64[:]", "int"), (np.zeros(3), "int")]:
        assert k.lower(*arguments).timings["stage"] == 0.25
        kinds, layouts, _, aliased = compiler.asked[-1]
        assert ([str(kind) for kind in kinds], layouts, aliased) == (["f64[:]", "int"], ("C",), False)
    k.lower(np.zeros(8)[::2], 5)
    assert compiler.asked[-1][1] == ("A",)
    assert k.inspect_llvm("f64[:]", "int") == "the text"


def test_a_type_that_is_none_is_refused_when_lowering(compiler):
    k = polyml.kernel(summed)
    with pytest.raises(PolymlTypeError) as caught:
        k.lower("c32[:]", "int")
    assert str(caught.value).startswith("error: `A`: 'c32[:]' is not a type; element types: c128, ")
    with pytest.raises(PolymlTypeError) as caught:
        k.inspect_llvm()
    assert str(caught.value) == (
        'error: summed has not been called, so its argument types are not known\n  note: pass arguments or types, as in "f64[:, :]"'
    )


@pytest.mark.parametrize("stage", ["domain", "deps", "schedule", "ast", "llvm", "asm"])
def test_every_stage_of_the_last_call_can_be_seen(stage):
    k = polyml.kernel(shift)
    k(np.zeros(3), np.zeros(4))
    expected = k.lower(np.zeros(3), np.zeros(4)).stages[stage]()
    assert getattr(k, f"inspect_{stage}")() == expected != ""


def test_explain_tells_arguments_options_checks_notes_and_times(compiler):
    check = CheckRecord(kind="bounds", what="A[9]", violated="{ }", instances="{ }")
    compiler.made = handmade(
        "f64[:]", "f64[:,:]", "int", layouts="CF", params=("A", "B", "n"), written=("B",),
        checks=(check, check), notes=("a note",),
    )  # fmt: skip
    k = polyml.kernel(conditional, threads=2, tile=False)
    where = f"conditional ({FILE}:{line_of(conditional)})"
    assert k.explain() == f"{where}: not called yet"
    k(np.zeros(3), np.zeros((2, 2), order="F"), 1)
    lines = k.explain().splitlines()
    assert lines[:9] == [
        f"{where}: compiled",
        "  A: f64[:]",
        "  B: f64[:, :], first dimension contiguous, written",
        "  n: int",
        "  options: fp reassociate, schedule auto, fusion model, threads 2, no tile",
        "  checks at entry: 2 of bounds",
        "  a note",
        "  time:",
        lines[8],
    ]
    assert [line.split()[0] for line in lines[8:-1]] == ["parse", "stage", "load", "total"]
    assert lines[-1].startswith("  the loops are not explained: ")  # they are handmade
    assert lines[9].split() == ["stage", "250.00", "ms"]
