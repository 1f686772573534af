"""Loops that data end are loops of the model: what runs in them, in which iterations, and what they compute."""

import numpy as np
import pytest

import polyml
from polyml import polyhedra
from polyml.dtypes import F64, I64
from polyml.frontend import syntax
from polyml.frontend.name_resolution import left, statements
from polyml.frontend.parsing.parse import parse
from polyml.frontend.types.infer import infer
from polyml.model.core.call_interface import ENDLESS, value
from polyml.model.lowering.regions.ended_loops import ended_loop, ended_places, with_exits_behind
from polyml.model.lowering.regions.region_building import LoopsAround
from polyml.pipeline.regions import shared_loops
from tests.model.modelling import INT, VECTOR, model

NUMBER = syntax.ScalarType(F64)


def halved(x, tolerance):
    steps = 0
    while np.float64(x[0]) > tolerance:
        for i in range(x.shape[0]):
            x[i] *= 0.5
        steps += 1
    return steps


def left_in_the_middle(x, y, n, most):
    total = 0.0
    for it in range(n):
        for i in range(x.shape[0]):
            y[i] = x[i] + it
        if y[0] > most:
            break
        for i in range(x.shape[0]):
            x[i] = 0.5 * y[i]
        total = y[0]
    return total, it


def left_twice(x, y, most):
    it = 0
    while True:
        it += 1
        for i in range(x.shape[0]):
            y[i] += x[i]
        if y[0] > most:
            break
        for i in range(x.shape[0]):
            x[i] += 1.0
        if it > 3:
            break
        for i in range(x.shape[0]):
            y[i] += 0.25
    return it


def in_rows(A, most, counts):
    for r in range(A.shape[0]):
        while A[r, 0] < most:
            for i in range(A.shape[1]):
                A[r, i] += 1.0
            counts[r] += 1


def with_else(x, n, most):
    found = 0
    for it in range(n):
        for i in range(x.shape[0]):
            x[i] += 1.0
        if x[0] > most:
            found = 1
            break
    else:
        found = 2
    return found


def continued(x, n, most):
    for it in range(n):
        if it % 2:
            continue
        for i in range(x.shape[0]):
            x[i] += 1.0
        if x[0] > most:
            break


def returned(x, n, most):
    for it in range(n):
        for i in range(x.shape[0]):
            x[i] += 1.0
        if x[0] > most:
            return it
    return -1


def returned_from_two_loops(A, n, most):
    for r in range(A.shape[0]):
        for it in range(n):
            for i in range(A.shape[1]):
                A[r, i] += 1.0
            if A[r, 0] > most:
                break
            if A[r, 1] > most:
                return r, it
    return -1, n


def returned_twice(x, n, most):
    total = 0.0
    while True:
        for i in range(x.shape[0]):
            x[i] += 1.0
        if x[0] > most:
            return total
        for i in range(x.shape[0]):
            total = max(total, x[i])
        n -= 1
        if n <= 0:
            return -total


def same_as_before(x, before, n):
    for it in range(n):
        same = it > 0
        for i in range(1, x.shape[0] - 1):
            new = np.floor(0.5 * (x[i - 1] + x[i + 1]))
            if new != before[i]:
                same = False
            before[i] = new
        for i in range(1, x.shape[0] - 1):
            x[i] = before[i]
        if same:
            return it
    return n


def out_of_range(x, k, y):
    it = 0
    while x[0] < 5.0:
        for i in range(x.shape[0]):
            x[i] += 1.0
        y[k[it]] = x[0]
        it += 1


def nested(x, n, most):
    rounds = 0
    for a in range(n):
        while x[0] < most + a:
            for i in range(x.shape[0]):
                x[i] += 1.0
            rounds += 1
    return rounds


def raises(x, most):
    while True:
        for i in range(x.shape[0]):
            x[i] += 1.0
        if x[0] > most:
            raise ValueError("too much")


X = np.linspace(0.0, 2.0, 50)
CALLS = [
    (halved, lambda: (X[::-1].copy(), 0.1)), (halved, lambda: (X.copy(), 0.1)),
    *[(left_in_the_middle, lambda n=n, most=most: (X + 1, X * 0, n, most)) for n in (1, 2, 9) for most in (-1.0, 2.5, 100.0)],
    *[(left_twice, lambda most=most: (X + 1, X * 0, most)) for most in (-1.0, 3.0, 100.0)],
    (in_rows, lambda: (np.arange(12.0).reshape(3, 4), 6.0, np.zeros(3, int))),
    *[(with_else, lambda n=n: (X.copy(), n, 3.0)) for n in (0, 2, 9)],
    *[(continued, lambda n=n: (X.copy(), n, 3.0)) for n in (0, 2, 9)],
    *[(returned, lambda n=n: (X.copy(), n, 3.0)) for n in (0, 2, 9)],
    *[(returned_from_two_loops, lambda n=n, m=m: (np.arange(12.0).reshape(3, 4), n, m)) for n in (0, 2, 9) for m in (1.0, 4.0, 9.5)],
    *[(returned_twice, lambda n=n, most=most: (X.copy(), n, most)) for n in (1, 3) for most in (0.5, 2.0, 9.0)],
    *[(same_as_before, lambda n=n: (np.round(X * 9)[::-1].copy(), X * 0, n)) for n in (0, 1, 4, 200)],
    (out_of_range, lambda: (X.copy(), np.array([0, 2, 1, 3, 0, 1]), np.zeros(4))),
    (out_of_range, lambda: (X.copy(), np.array([0, 2, 7, 3, 0, 1]), np.zeros(4))),
    (out_of_range, lambda: (X.copy(), np.array([0, 2]), np.zeros(4))),
    *[(nested, lambda n=n: (X.copy(), n, 2.0)) for n in (0, 1, 5)],
    (raises, lambda: (X.copy(), 3.0)),
]  # fmt: skip


def outcome(function, arguments):
    try:
        return function(*arguments), arguments
    except (IndexError, UnboundLocalError, ValueError) as problem:
        return next(kind for kind in (IndexError, UnboundLocalError, ValueError) if isinstance(problem, kind)), arguments


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("fp", ["strict", "reassociate"])
@pytest.mark.parametrize("function, make", CALLS)
@pytest.mark.sweep("function", keep=4)
def test_they_compute_what_python_computes(monkeypatch, function, make, fp, threads):
    monkeypatch.setattr(shared_loops, "LEAST_WORK", 0)
    kernel = polyml.kernel(function, cache=False, fp=fp, threads=threads, fallback="error")
    (wanted, after), (got, changed) = outcome(function, make()), outcome(kernel, make())
    assert got == wanted
    for one, other in zip(after, changed):
        np.testing.assert_array_equal(one, other)


def kernel_of(function, *types):
    return infer(parse(function), types)


def places(function, *types):
    first = function.__code__.co_firstlineno
    return [place.line - first for place in ended_places(kernel_of(function, *types).body)]


def test_a_while_and_a_loop_that_break_leaves_are_ended_by_data():
    assert places(halved, VECTOR, NUMBER) == [2]
    assert places(left_in_the_middle, VECTOR, VECTOR, INT, NUMBER) == [2]
    assert places(nested, VECTOR, INT, NUMBER) == [3]
    assert places(returned, VECTOR, INT, NUMBER) == [1]  # it leaves the function too


def test_a_loop_that_leaves_more_than_itself_tells_so_in_a_number():
    kernel = kernel_of(returned, VECTOR, INT, NUMBER)
    made = with_exits_behind(kernel, frozenset(ended_places(kernel.body)))
    (block,) = [stmt for stmt in made.body if isinstance(stmt, syntax.Block)]
    [loop] = [found for stmt in block.body if (found := ended_loop(stmt)) is not None]
    assert not left((loop.loop,)) - {loop.label}
    assert any(isinstance(stmt, syntax.If) and left((stmt,)) == {block.label} for stmt in block.body)
    assert with_exits_behind(made, frozenset(ended_places(made.body))) is made
    assert [name for name, _ in made.scalars][-1:] == ["leaves_0"]


def test_loops_inside_have_vectors_also_on_one_thread():
    kernel = polyml.kernel(same_as_before, cache=False, threads=1, fallback="error")
    x = np.round(np.random.default_rng(3).uniform(0, 9, 40_000))
    own, other = (x.copy(), x * 0, 5), (x.copy(), x * 0, 5)
    assert kernel(*own) == same_as_before(*other)
    assert np.array_equal(own[0], other[0])
    assert "together" in kernel.inspect_ast(x.copy(), x * 0, 5)


def test_each_exit_ends_a_part_of_the_body():
    [loop] = [found for stmt in kernel_of(left_twice, VECTOR, VECTOR, NUMBER).body if (found := ended_loop(stmt)) is not None]
    assert [len(part) for part in loop.parts] == [3, 2, 1]
    assert all(any(isinstance(s, syntax.Leave) and s.label == loop.label for s in statements((each,))) for each in loop.exits)


def test_what_stands_behind_an_exit_has_an_end_of_its_own():
    place = next(ended_places(kernel_of(left_in_the_middle, VECTOR, VECTOR, INT, NUMBER).body))
    scop = model(left_in_the_middle, VECTOR, VECTOR, INT, NUMBER, regions=True, around=LoopsAround(divided=frozenset({place})))
    ends = [p for p in scop.parameters if p.found]
    assert [value(p, {}) for p in ends] == [ENDLESS, ENDLESS]
    [exit_] = [s for s in scop.statements.values() if s.region is not None and s.region.leaves]
    behind = [s for s in scop.statements.values() if ends[1].name in polyhedra.used_parameters(s.domain)]
    assert exit_.name not in {s.name for s in behind} and len(behind) == 2
    assert {a.array for a in exit_.writes} & {a.array for a in exit_.reads}  # so that iterations stay in order


def test_a_short_loop_inside_stays_a_part_of_the_region():
    kernel = polyml.kernel(halved, cache=False, threads=2, fallback="error")
    assert kernel(np.ones(50), 0.1) == 4
    assert "go to threads" not in kernel.explain()
    assert kernel(np.ones(50_000), 0.1) == 4
    assert "go to threads" in kernel.explain()
    assert "data end it" in kernel.explain()


def test_index_arrays_are_no_ends():
    assert places(out_of_range, VECTOR, syntax.ArrayType(I64, 1), VECTOR) == [2]
