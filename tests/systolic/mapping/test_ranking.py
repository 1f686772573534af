"""Ports and registers, against instances one by one; the order of mappings by any figure."""

from collections import defaultdict

import pytest

from polyml.errors import ConfigError
from polyml.systolic.folding.fold_counts import is_stationary, preloaded
from polyml.systolic.mapping.dataflows import plans
from polyml.systolic.mapping.ranking import RANKS, ranked, registers, stream_ports
from tests.systolic.designs import (
    CALLS,
    NestRun,
    channels,
    fir,
    history,
    layer,
    matmul,
    matvec,
    nests_of,
    picture,
    strided,
    triangular,
    zeros,
)


def unit(run, fold, place):
    """Of the array."""
    blocks = fold[len(fold) - len(run.shape) :]
    return tuple(x - low - block * n for x, low, block, n in zip(place, run.starts, blocks, run.shape))


def ends(run, cell):
    """Of each fold and element: (fold, cell, units of its first and of its last instance)."""
    for fold in sorted(run.folds):
        walks = defaultdict(list)
        for t, place, number in sorted(run.folds[fold]):
            walks[cell(number)].append(place)
        for element, walk in walks.items():
            yield fold, element, unit(run, fold, walk[0]), unit(run, fold, walk[-1])


def columns(units):
    return {place[1:] for place in units}


@pytest.mark.parametrize("shape", [(3, 2), (4, 4), (5,)], ids=str)
@pytest.mark.parametrize("function", CALLS, ids=lambda f: f.__name__)
@pytest.mark.sweep(keep=8)
def test_ports_are_units_where_elements_come_and_go(function, shape):
    (nest,), sizes = nests_of(function)
    for plan in plans(nest, sizes, shape):
        recurrence, mapping = plan.recurrence, plan.mapping
        if any(len(axis.loops) > 1 for axis in recurrence.axes):
            continue
        run, found = NestRun(function, CALLS[function], plan), {w.stream: w for w in stream_ports(plan.folds)}
        for number, use in enumerate(nest.uses):
            stream = next((s for s in recurrence.streams if s.use == use), None)
            if use.kind != "operand" or stream is None or use.distance or len(stream.directions) > 1:
                continue
            first = {begin for _, _, begin, _ in ends(run, lambda n, number=number: run.trace[n][1][number])}
            through = is_stationary(mapping, stream) or stream in preloaded(recurrence, mapping)
            assert found[stream].into == len(columns(first) if through else first) and found[stream].out == 0
        chain = next((s for s in recurrence.streams if s.use.kind == "result"), None)
        if chain is not None:
            known, into, out = set(), set(), set()
            for _, element, begin, end in ends(run, lambda n: run.trace[n][2]):
                into |= {begin} if nest.starts_from_arrays or element in known else set()
                out.add(end)
                known.add(element)
            counts = [len(columns(units) if is_stationary(mapping, chain) else units) for units in (into, out)]
            assert [found[chain].into, found[chain].out] == counts


def in_flight(run, mapping, direction, places):
    """Most values of a unit that go on to an instance `direction` behind, in a cycle after theirs."""
    most = 0
    for instances in run.folds.values():
        later = {places[number]: t for t, _, number in instances}
        counts = defaultdict(int)
        for t, place, number in instances:
            sign = 1 if mapping.steps(direction.vector)[0] > 0 else -1
            there = later.get(tuple(p + sign * v for p, v in zip(places[number], direction.vector)))
            for cycle in range(t + 1, (there or t) + 1):
                counts[place, cycle] += 1
        most = max(most, *counts.values(), 0)
    return most


@pytest.mark.parametrize("function, args", [
    (matmul, (zeros(6, 8), zeros(8, 7), zeros(6, 7))), (fir, (zeros(19), zeros(8), zeros(12))), (strided, (zeros(40), zeros(9), zeros(16))),
    (matvec, (zeros(9, 9), zeros(9), zeros(9))), (history, (zeros(9, 12),)), (triangular, (zeros(9, 9), zeros(9, 6), zeros(9, 6))),
], ids=lambda value: getattr(value, "__name__", ""))  # fmt: skip
def test_registers_hold_what_is_on_its_way(function, args):
    """Where units run long enough: as many as values are on their way from one unit in one cycle."""
    (nest,), sizes = nests_of(function, args)
    full = 0
    for plan in plans(nest, sizes, (16, 16)):
        recurrence, mapping = plan.recurrence, plan.mapping
        if any(len(axis.loops) > 1 for axis in recurrence.axes) or recurrence.outer:
            continue
        run = NestRun(function, args, plan)
        places = [
            tuple(sum(c * v for c, v in zip(axis.coefficients, point)) for axis in recurrence.axes)
            for (_, point), _, _ in run.trace
        ]
        for stream in recurrence.streams:
            if len(stream.directions) != 1:
                continue
            most = in_flight(run, mapping, stream.directions[0], places)
            twice = stream in preloaded(recurrence, mapping) or stream.use.kind == "result" and is_stationary(mapping, stream)
            found = registers(recurrence, mapping, stream)
            assert most <= found // (1 + twice)
            full += most * (1 + twice) == found
    assert full >= 3


def test_stationary_values_have_a_second_register():
    (nest,), sizes = nests_of(matmul)
    found = {
        p.dataflow: {w.stream.use.array: w.registers for w in stream_ports(p.folds)}
        for p in plans(nest, sizes, (3, 2))
        if len(p.folds.shape) == 2
    }
    assert (
        found["os"] == {"A": 1, "B": 1, "C": 2}
        and found["ws"] == {"A": 1, "B": 2, "C": 1}
        and found["is"] == {"A": 2, "B": 1, "C": 1}
    )


def test_values_that_move_at_two_speeds_have_delays():
    """Kung's W2: results move a unit in each cycle, and pictures in two, or the other way round."""
    (nest,), sizes = nests_of(fir, (zeros(19), zeros(8), zeros(12)))
    found = [
        (p.recurrence.text(p.mapping), [w.registers for w in stream_ports(p.folds)])
        for p in plans(nest, sizes, (8,))
        if p.dataflow == "ws"
    ]
    assert ("t = i + 2*k, x = k", [1, 2, 2]) in found


@pytest.mark.parametrize("function", [matmul, fir, picture, channels, layer], ids=lambda f: f.__name__)
@pytest.mark.parametrize("rank", RANKS)
@pytest.mark.sweep(keep=10)
def test_the_best_is_first(function, rank):
    (nest,), sizes = nests_of(function)
    known = plans(nest, sizes, (3, 2))
    figure = {
        "cycles": lambda p: p.folds.cycles,
        "utilisation": lambda p: -p.folds.utilisation,
        "ports": lambda p: sum(w.into + w.out for w in stream_ports(p.folds)),
        "registers": lambda p: sum(w.registers for w in stream_ports(p.folds)),
        "traffic": lambda p: p.folds.elements,
        "energy": lambda p: 7.0 * p.folds.reads,
    }[rank]
    found = ranked(known, rank, lambda p: 7.0 * p.folds.reads)
    assert sorted(map(id, found)) == sorted(map(id, known))
    assert [(figure(p), p.folds.cycles) for p in found] == sorted((figure(p), p.folds.cycles) for p in known)


def test_ranks_that_are_none_are_refused():
    (nest,), sizes = nests_of(fir)
    known = plans(nest, sizes, (5,))
    with pytest.raises(ConfigError) as refused:
        ranked(known, "beauty", lambda p: None)
    assert refused.value.message == "mappings have no rank by 'beauty'"
    assert refused.value.notes == ("expected one of cycles, utilisation, ports, registers, traffic, energy",)
    with pytest.raises(ConfigError) as refused:
        ranked(known, "energy", lambda p: None)
    assert refused.value.message == "energies are not known"
