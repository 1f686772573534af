"""Local arrays that are never in use at the same time have one memory: the plan, the bytes, and results whatever was there before."""

import ctypes
import itertools
import random

import numpy as np
import pytest

import polyml
from polyml.checks.symbolic.runs import Executable
from polyml.checks.symbolic.terms import Terms
from polyml.codegen.ir.local_memory import local_memory
from polyml.config import Options
from polyml.frontend.argument_types import arg_type
from polyml.frontend.parsing.parse import parse
from polyml.model.core.scop import Role
from polyml.pipeline.compile import CompileRequest, compile
from polyml.runtime.loading import load, scratch_memory
from tests.frontend.define import define

SIZE = 11


def chain(A, B):
    n = A.shape[0]
    T = np.empty(n)
    U = np.empty(n)
    V = np.empty(n)
    for i in range(n):
        T[i] = A[i] + 1.0
    for i in range(n):
        U[i] = T[n - 1 - i] * 2.0 + T[0]
    for i in range(n):
        V[i] = U[n - 1 - i] - 3.0 + U[n - 1]
    for i in range(n):
        B[i] = V[n - 1 - i] + V[0]


def held_to_the_end(A, B):
    n = A.shape[0]
    T = np.empty(n)
    U = np.empty(n)
    V = np.empty(n)
    for i in range(n):
        T[i] = A[i] + 1.0
    for i in range(n):
        U[i] = T[n - 1 - i] * 2.0 + T[0]
    for i in range(n):
        V[i] = U[n - 1 - i] - 3.0 + U[n - 1]
    for i in range(n):
        B[i] = V[n - 1 - i] + V[0] + T[n - 1 - i] + U[n - 1 - i]


def other_sizes(A, B):
    n = A.shape[0]
    T = np.empty((n, n))
    U = np.empty(n)
    V = np.empty((2 * n, n), dtype=np.float32)
    for i in range(n):
        for j in range(n):
            T[i, j] = A[j] + 1.0 * i
    for i in range(n):
        U[i] = T[n - 1 - i, i] * 2.0 + T[0, n - 1]
    for i in range(2 * n):
        for j in range(n):
            V[i, j] = U[n - 1 - j] - 3.0 + U[n - 1]
    for i in range(n):
        B[i] = V[2 * n - 1 - i, 0] + V[0, n - 1]


def around_a_loop(A, B):
    n = A.shape[0]
    T = np.zeros(n)
    U = np.zeros(n)
    for _ in range(3):
        for i in range(n):
            T[i] = A[i] + U[n - 1 - i]
        for i in range(n):
            U[i] = T[n - 1 - i] * 0.5 + T[0]
    for i in range(n):
        B[i] = U[n - 1 - i] + U[0]


def program(function, **options):
    types = tuple(arg_type(np.ones(3)) for _ in range(function.__code__.co_argcount))
    return compile(parse(function), CompileRequest(types, ("C",) * len(types), Options(**options))).program


def sizes_of(made, n=SIZE):
    return dict.fromkeys((p.name for p in made.scop.parameters), n)


@pytest.mark.parametrize(
    ("function", "wanted"),
    [(chain, [{"T", "V"}]), (held_to_the_end, []), (other_sizes, [{"T", "V"}]), (around_a_loop, [])],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_arrays_share_where_one_is_dead_before_the_other_begins(function, wanted):
    made = program(function)
    groups = [{owner, *(n for n, o in made.shared.items() if o == owner)} for owner in dict.fromkeys(made.shared.values())]
    assert groups == wanted


def generated(random):
    """Returns a kernel of nests, each of which makes an array of those before it; the order of subscripts keeps them apart."""
    count = random.randint(4, 9)
    lines = ["def kernel(A, B):", "    n = A.shape[0]"]
    shapes = [random.choice(("n", "2*n", "n + 3")) for _ in range(count)]
    types = [random.choice(("np.float64", "np.float32")) for _ in range(count)]
    lines += [f"    T{k} = np.empty({shape}, dtype={kind})" for k, (shape, kind) in enumerate(zip(shapes, types))]
    for k in range(count):
        sources = random.sample(range(max(0, k - 3), k), min(k, random.randint(1, 2))) or ["A"]
        terms = " + ".join("A[n - 1 - i]" if s == "A" else f"T{s}[n - 1 - i]*0.5 + T{s}[0]" for s in sources)
        lines += ["    for i in range(n):", f"        T{k}[i] = {terms}"]
        if shapes[k] == "2*n":
            lines.append(f"        T{k}[n + i] = T{k}[i]*0.25")
    last = random.sample(range(max(0, count - 3), count), 2)
    lines += ["    for i in range(n):", f"        B[i] = {' + '.join(f'T{s}[n - 1 - i] + T{s}[n - 1]' for s in last)}"]
    return define("\n".join(lines) + "\n", "kernel")


def live(made, sizes):
    """Returns { local array -> (number of the first access, of the last) } of the instances that run, in their order."""
    found = {}
    run = Executable(made, Terms()).run(sizes, 100_000)
    assert run.finding is None
    for number, event in enumerate(run.events):
        statement = made.scop.statements[event.instance[0]]
        for access in (*statement.reads, statement.write):
            found[access.array] = found.get(access.array, (number, number))[0], number
    return {
        name: span for name, span in found.items() if made.scop.arrays[name].role is Role.LOCAL and made.scop.arrays[name].shape
    }


FUNCTIONS = [chain, held_to_the_end, other_sizes, around_a_loop]
RANDOM = [generated(random.Random(seed)) for seed in range(12)]


@pytest.mark.parametrize("function", [*FUNCTIONS, *RANDOM])
@pytest.mark.parametrize("schedule", ["auto", "source"])
def test_a_trace_of_the_program_never_uses_two_arrays_of_one_memory_in_turns(function, schedule):
    made = program(function, schedule=schedule, fusion="no")
    spans = live(made, sizes_of(made))
    groups = {}
    for name in spans:
        groups.setdefault(made.shared.get(name, name), []).append(name)
    for names in groups.values():
        for one, other in itertools.combinations(names, 2):
            assert spans[one][1] < spans[other][0] or spans[other][1] < spans[one][0], (one, other)
    memory = local_memory(made, sizes_of(made))
    assert memory.peak_bytes <= memory.apart_bytes and (memory.peak_bytes < memory.apart_bytes) == bool(made.shared)


def test_random_programs_do_share():
    assert sum(len(program(function, fusion="no").shared) for function in RANDOM) >= 12


class Poisoned:
    """Memory that has NaN everywhere when it is handed out, and counts the bytes that are asked for."""

    def __init__(self, monkeypatch):
        self.asked, self._blocks = [], {}
        word, pointer = ctypes.c_int64, ctypes.c_void_p
        self._own = {
            "polyml_acquire": ctypes.CFUNCTYPE(pointer, word)(self._acquire),
            "polyml_release": ctypes.CFUNCTYPE(None, pointer)(self._release),
        }
        monkeypatch.setattr(scratch_memory, "address", lambda symbol: ctypes.cast(self._own[symbol], pointer).value)
        assert load.resolve("polyml_acquire") == scratch_memory.address("polyml_acquire")

    def _acquire(self, size):
        self.asked.append(size)
        block = np.full(size // 4 + 32, np.nan, np.float32)
        start = block.ctypes.data + -block.ctypes.data % 64
        self._blocks[start] = block
        return start

    def _release(self, start):
        del self._blocks[start]


@pytest.mark.sweep("function")
@pytest.mark.parametrize("function", [*FUNCTIONS, *RANDOM])
@pytest.mark.parametrize("options", [{}, {"fusion": "no"}, {"schedule": "source"}, {"vectorize": False}], ids=str)
def test_results_do_not_depend_on_the_memory_and_the_bytes_are_those_that_are_known(function, options, monkeypatch):
    memory = Poisoned(monkeypatch)
    kernel = polyml.kernel(cache=False, threads=1, **options)(function)
    for n in (1, 5, 64, 301):
        A = np.random.default_rng(n).random(n)
        found, wanted = np.zeros(n), np.zeros(n)
        function(A, wanted)
        memory.asked.clear()
        kernel(A, found)
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
        if "schedule" not in options and n == 301:  # the first form may be for its sizes
            made = kernel.lower(A, found).program
            known = local_memory(made, sizes_of(made, n)).peak_bytes
            assert memory.asked == ([known] if known else [])
    assert not memory._blocks


def test_explain_and_the_report_name_the_bytes():
    kernel = polyml.kernel(cache=False, threads=1, fusion="no")(chain)
    A = np.ones(100)
    kernel(A, np.zeros(100))
    text = kernel.explain()
    assert "T, V have one memory" in text and "local arrays take" in text and "apart" in text
    report = kernel.report(A, np.zeros(100), threads=1)
    made = next(each for each in report.data()["forms"] if each["name"] == "polyml")
    assert made["local_memory"] == {"peak_bytes": 2 * 960, "apart_bytes": 3 * 960}  # 800 and 128 bytes, in whole lines
    assert "1,920 bytes at once; apart, they would take 2,880" in str(report)
