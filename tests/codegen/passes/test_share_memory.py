"""Local arrays that are never in use at the same time have one memory: the plan, the bytes, and results whatever was there before."""

import ctypes
import random
from dataclasses import replace

import numpy as np
import pytest

import polyml
from polyml.checks.symbolic.runs import Executable
from polyml.checks.symbolic.terms import Terms
from polyml.codegen.ir.accesses import AccessTable
from polyml.codegen.ir.array_layout import placed
from polyml.codegen.ir.local_memory import local_memory
from polyml.codegen.ir.program import loops
from polyml.config import Options
from polyml.frontend.argument_types import arg_type
from polyml.frontend.parsing.parse import parse
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


def in_a_loop(A, B):
    n = A.shape[0]
    T = np.empty(n)
    U = np.empty(n)
    V = np.empty(n)
    for t in range(3):
        for i in range(n):
            T[i] = A[i] + 1.0 * t
        for i in range(n):
            U[i] = T[n - 1 - i] * 2.0 + T[0]
        for i in range(n):
            V[i] = U[n - 1 - i] - 3.0 + U[n - 1]
        for i in range(n):
            A[i] = V[n - 1 - i] * 0.125 + V[0] * 0.25
    for i in range(n):
        B[i] = A[i]


def goes_on(A, B):
    n = A.shape[0]
    T = np.empty(n)
    U = np.empty(n)
    V = np.empty(n)
    for t in range(3):
        for i in range(n):
            if t == 0:
                T[i] = A[i] + 1.0
        for i in range(n):
            U[i] = T[n - 1 - i] * 2.0 + T[0]
        for i in range(n):
            V[i] = U[n - 1 - i] - 3.0 + U[n - 1]
        for i in range(n):
            A[i] = V[n - 1 - i] * 0.125 + V[0] * 0.25
    for i in range(n):
        B[i] = A[i]


def program(function, **options):
    types = tuple(arg_type(np.ones(3)) for _ in range(function.__code__.co_argcount))
    return compile(parse(function), CompileRequest(types, ("C",) * len(types), Options(**options))).program


def sizes_of(made, n=SIZE):
    return dict.fromkeys((p.name for p in made.scop.parameters), n)


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (chain, [{"T", "V"}]),
        (held_to_the_end, []),
        (other_sizes, [{"T", "V"}]),
        (around_a_loop, []),
        (in_a_loop, [{"T", "V"}]),
        (goes_on, []),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_arrays_share_where_one_is_dead_before_the_other_begins(function, wanted):
    made = program(function, fusion="no")
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


def lost_values(made, sizes):
    """Returns the arrays of which an element is read although another array of the same memory was written since the element was."""
    lost, holder, valid = set(), {}, {}
    run = Executable(replace(made, shared={}), Terms()).run(sizes, 100_000)
    assert run.finding is None
    shared = {*made.shared, *made.shared.values()}
    table = AccessTable(made.scop.context)
    for event in run.events:
        name, point = event.instance
        statement = made.scop.statements[name]
        known = {**sizes, **dict(zip(statement.iterators, point))}
        for access in (*statement.reads, statement.write):
            if access.array not in shared:
                continue
            place = made.shared.get(access.array, access.array)
            element = tuple(e.evaluate(known) for e in table.subscripts(access))
            if access is not statement.write:
                if holder.get(place) != access.array or element not in valid[place]:
                    lost.add(access.array)
            elif holder.get(place) != access.array:
                holder[place], valid[place] = access.array, {element}
            else:
                valid[place].add(element)
    return lost


FUNCTIONS = [chain, held_to_the_end, other_sizes, around_a_loop, in_a_loop, goes_on]
RANDOM = [generated(random.Random(seed)) for seed in range(12)]


@pytest.mark.parametrize("function", [*FUNCTIONS, *RANDOM])
@pytest.mark.parametrize("schedule", ["auto", "source"])
def test_a_trace_of_the_program_reads_no_value_that_another_array_of_its_memory_overwrote(function, schedule):
    made = program(function, schedule=schedule, fusion="no")
    assert not lost_values(made, sizes_of(made))
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
        function(A.copy(), wanted)
        memory.asked.clear()
        kernel(A.copy(), found)
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


def three_layers(A, B, C, D, E):
    return np.maximum(np.maximum(np.maximum(A @ B, 0) @ C, 0) @ D, 0) @ E


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_have_their_own_parts_of_what_arrays_of_strips_share(threads):
    rng = np.random.default_rng(0)
    given = [rng.standard_normal(shape).astype(np.float32) for shape in ((2031, 24), (24, 640), (640, 520), (520, 300), (300, 8))]
    kernel, wanted = polyml.kernel(three_layers, cache=False, threads=threads), three_layers(*given)
    for _ in range(3):
        np.testing.assert_allclose(kernel(*given), wanted, rtol=1e-3, atol=1e-3 * np.abs(wanted).max())
    made = kernel.lower(*given).program
    private = {name for loop in loops(made.body) for name in loop.private}
    groups = [{n for n in (*made.shared, *made.shared.values()) if made.shared.get(n, n) == o} for o in set(made.shared.values())]
    assert any(len(group & private) > 1 for group in groups)
    places = placed(made, {p.name: given["ABCDE".index(p.array)].shape[p.dim] for p in made.scop.parameters}, threads=3)
    for group in groups:  # no thread's copy of one array lies where another thread has its copy of another
        parts = [
            (t, places[n].address + t * places[n].apart_bytes, places[n].size_bytes) for n in group & private for t in range(3)
        ]
        for one, start, size_bytes in parts:
            assert size_bytes > 0
            assert all(one == other or begin >= start + size_bytes or begin < start for other, begin, _ in parts)


def test_the_simulated_memory_is_the_machine_codes():
    made = program(in_a_loop, fusion="no")
    places = placed(made, sizes_of(made, 100))
    assert places["V"].address == places["T"].address != places["U"].address
    assert local_memory(made, sizes_of(made, 100)).peak_bytes == 2 * 960
