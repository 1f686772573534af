"""Remarks on simulated calls: compared with where the mapping puts each instance, and with brute force over all pairs."""

import numpy as np
import pytest

import polyml
from polyml.remarks.values import ANALYSIS, MISSED, PARALLEL, PASSED


def product(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def convolution(y, x, w):
    for n in range(y.shape[0]):
        for k in range(w.shape[0]):
            y[n] += w[k] * x[n + k]


def prefix(A):
    for i in range(1, A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] = A[i, j] + A[i - 1, j]


CALLS = {
    "os": (product, "os", [(5, 6), (5, 4), (4, 6)]),
    "ws": (product, "ws", [(5, 6), (5, 4), (4, 6)]),
    "is": (product, "is", [(5, 6), (5, 4), (4, 6)]),
    "convolution": (convolution, "auto", [(9,), (12,), (4,)]),
    "prefix": (prefix, "auto", [(7, 5)]),
}


@pytest.fixture(params=CALLS)
def called(request):
    """(the kernel after a simulated call, remarks, the simulation's only run)."""
    function, dataflow, shapes = CALLS[request.param]
    kernel = polyml.kernel(function, target=polyml.Target.systolic(rows=3, cols=3, dataflow=dataflow), cache=False)
    kernel(*(np.ones(shape, np.float32) for shape in shapes))
    [run] = kernel._simulation.runs
    [found] = kernel.remarks()
    return kernel, found, run


def units(run):
    """{instance: unit} of the nest's only statement, from the coefficients of the mapping."""
    recurrence, mapping = run.plan.recurrence, run.plan.mapping
    [embedding] = recurrence.nest.embeddings
    axes = recurrence.coordinates(embedding.statement.name)

    def unit(instance):
        values = [sum(c * v for c, v in zip(row, instance)) + constant for row, constant in axes]
        return tuple(sum(c * v for c, v in zip(row, values)) for row in mapping.space)

    return unit


def test_a_loop_is_along_the_array_where_its_next_iteration_is_on_another_unit(called):
    _, found, run = called
    unit = units(run)
    for position, loop in enumerate(found.loops):
        here, step = [1] * len(found.loops), [1] * len(found.loops)
        step[position] += 1
        moved = tuple(a != b for a, b in zip(unit(here), unit(step)))
        remark = loop.of(PARALLEL)
        assert ("share its iterations" in remark.text) == any(moved), (loop.name, remark.text)
        for letter, differs in zip("xy", moved):
            assert (f"along {letter}" in remark.text or f" and {letter} share" in remark.text) == differs


def test_loops_that_no_units_share_have_the_dependence_as_reason(called):
    _, found, _ = called
    for loop in found.loops:
        remark = loop.of(PARALLEL)
        if remark.kind == MISSED:
            assert remark.conflict.distance[loop.iterator] != 0 and "depend on each other" in remark.text
        elif remark.kind == ANALYSIS and "updates a sum" in remark.text:
            assert remark.conflict.kind == "output" and remark.conflict.distance[loop.iterator] != 0
        else:
            assert remark.conflict is None


def test_explain_has_the_remarks_and_other_questions_have_no_answer(called):
    kernel, found, _ = called
    assert kernel.explain().remarks == (found,) and found.loops[0].of(PARALLEL).text in kernel.explain()
    with pytest.raises(polyml.ConfigError, match="no loop is tiled or not"):
        kernel.why(found.loops[0].name, "tiled")


def test_an_accumulation_that_stays_or_travels_is_told_apart():
    texts = {}
    for dataflow in ("os", "ws"):
        kernel = polyml.kernel(product, target=polyml.Target.systolic(rows=3, cols=3, dataflow=dataflow), cache=False)
        kernel(*(np.ones(shape, np.float32) for shape in [(5, 6), (5, 4), (4, 6)]))
        texts[dataflow] = kernel.why("k", "parallel").remark
    assert texts["os"].kind == ANALYSIS and "it updates a sum, and a unit runs them one after another" in texts["os"].text
    assert texts["ws"].kind == PASSED and "starts when the units have handed on what it needs" in texts["ws"].text


def test_remarks_are_on_the_last_call():
    kernel = polyml.kernel(product, target=polyml.Target.systolic(rows=3, cols=3), cache=False)
    for types in ((), ("f32[:, :]",) * 3):
        with pytest.raises(polyml.ConfigError, match="remarks on loops are on its last call"):
            kernel.remarks(*types)
