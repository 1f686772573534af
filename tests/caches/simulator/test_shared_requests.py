"""Requests of threads, served in their order, against caches in plain Python."""

import ctypes
from collections import Counter
from random import Random

import numpy as np
import pytest

from polyml.caches.simulator import level_functions, shared_requests, state_header
from polyml.caches.simulator.state_layout import StateLayout
from polyml.codegen.llvm import builder
from polyml.machines import cpu
from polyml.runtime.loading.assemble import assemble_together
from polyml.runtime.loading.load import load
from tests.caches import brute
from tests.caches.simulator.test_threads import HIERARCHIES, levels_of

LINES, THREADS = 50, 4


def random_requests(seed, part=1.0):
    """Of each thread: (time, line, whether written), in three regions, of that part of its uses."""
    rng = Random(seed)
    return [
        [[(time, rng.randrange(LINES), rng.random() < 0.3) for time in range(rng.randrange(400)) if rng.random() < part]
         for _ in range(3)]
        for _ in range(THREADS)
    ]  # fmt: skip


def served(layout, threads, chunk):
    """State and counters of one reference after all of it; requests come in parts of so many."""
    text = builder.text((*level_functions.units(layout), shared_requests.serve(layout)))
    host = cpu.host()
    code = load(assemble_together([text], cpu=host.cpu_name, features=host.features), shared_requests.ENTRY)
    serve = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(code.address(shared_requests.ENTRY))
    state, heads = np.zeros(layout.state_bytes // 8, np.int64), np.zeros((THREADS, 4), np.int64)
    counters, arrays = np.zeros((THREADS, layout.counters), np.int64), np.zeros(LINES, np.int16)
    state[state_header.ARRAYS] = arrays.ctypes.data
    heads[:, 2] = [own.ctypes.data for own in counters]
    kind = np.dtype([("time", np.int64), ("line", np.int32), ("what", np.int32)])
    streams = []
    for regions in threads:
        found = [each for region in regions for each in (*region, (shared_requests.BARRIER, 0, 0))] + [(shared_requests.DONE, 0, 0)]
        streams.append(np.array([(time, line, shared_requests.USE + write) for time, line, write in found], kind))
    ends = [0] * THREADS
    while (thread := serve(state.ctypes.data, heads.ctypes.data)) >= 0:
        begin = ends[thread]
        ends[thread] = min(begin + chunk, len(streams[thread]))
        assert begin < ends[thread]
        heads[thread, :2] = [streams[thread].ctypes.data + place * shared_requests.BYTES for place in (begin, ends[thread])]
    return state, counters


@pytest.mark.parametrize("coherent", [False, True])
@pytest.mark.parametrize("hierarchy", HIERARCHIES)
@pytest.mark.sweep(keep=13)
def test_requests_are_served_as_by_caches_in_python(hierarchy, coherent):
    """Every use is one."""
    rows = HIERARCHIES[hierarchy]
    coherent = coherent and any(level.sharing(THREADS) < THREADS for level in levels_of(rows))
    for seed in range(4):
        check(rows, 0, random_requests(seed), 7 * seed + 1, coherent)


@pytest.mark.parametrize("hierarchy", [name for name, rows in HIERARCHIES.items() if rows[1][4] != "exclusive"])
def test_requests_of_a_level_are_served_in_the_order_of_time(hierarchy):
    """As from nearest caches that keep some uses to themselves."""
    for seed in range(4):
        check(HIERARCHIES[hierarchy], 1, random_requests(seed, part=0.3), 7 * seed + 1, False)


def check(rows, first, threads, chunk, coherent):
    described, numbers = tuple(levels_of(rows)), range(first, len(rows))
    shared = tuple(k for k in numbers if described[k].sharing(THREADS) > 1)
    layout = StateLayout(described, numbers, 1, LINES, THREADS, shadowed=shared, coherent=coherent)
    state, counters = served(layout, threads, chunk)
    wanted = brute.Hierarchy(rows, 64, lambda line: "A", THREADS, coherent)
    for regions in zip(*threads):
        together = sorted((time, thread, line, write) for thread, own in enumerate(regions) for time, line, write in own)
        for _, thread, line, write in together:
            wanted.access("A", 64 * line, write, thread, first)
    for place, found in ((layout.misses, wanted.misses), (layout.cold, wanted.cold), (layout.invalidated, wanted.taken)):
        counts = {(t, k): int(counters[t, place(k)]) for t in range(THREADS) for k in numbers}
        assert +Counter(counts) == by_thread(found)
    far = {(t, k): int(counters[t, layout.fully_associative(k)]) for t in range(THREADS) for k in shared}
    assert +Counter(far) == Counter({key: n for key, n in by_thread(wanted.far).items() if key[1] in shared})
    start = layout.written // 8
    assert list(state[start : start + len(rows)]) == [wanted.written[k, "A"] for k in range(len(rows))]


def by_thread(found):
    total = Counter()
    for (thread, level, _, _), count in found.items():
        total[thread, level] += count
    return total
