"""Memories around a systolic array: bytes, stalls and energies of products, against sums over their folds one by one."""

import json
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest

import polyml
from polyml.machines.descriptions import Energies
from polyml.measure import lookup
from tests.model.modelling import events
from tests.systolic.designs import CALLS, fir, history, seidel, subsequence, triangular, zeros
from tests.systolic.joint import JOINT, cholesky, fdtd, lu, trsm

TPU = lookup.find("tpu-v1")
ROWS, COLUMNS = TPU.rows, TPU.columns


def product(A, B, C):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[i, j] = 0
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def memories_of(function, *args, machine=TPU, **options):
    report = polyml.kernel(function, cache=False).report(*args, target="systolic", machine=machine, **options)
    (nest,) = report.nests
    return report, report.memories(nest, nest.best)


def of_product(m, k, n, types="i1 i1 i4", **options):
    a, b, c = types.split()
    _, found = memories_of(product, np.zeros((m, k), a), np.zeros((k, n), b), np.zeros((m, n), c), **options)
    return found


def blocks(length, size):
    return [min(size, length - start) for start in range(0, length, size)]


@pytest.mark.parametrize("m, k, n", [(200, 600, 600), (7, 300, 20), (2000, 256, 512), (5000, 512, 300)])
def test_bytes_of_stationary_weights(m, k, n):
    """Each fold reads its rows' operands, adds to sums of its columns; a tile of the whole array comes for it."""
    found = of_product(m, k, n, dataflow="ws")
    depths, across = blocks(k, ROWS), blocks(n, COLUMNS)
    assert found.buffer_reads == sum(m * depth for depth in depths for _ in across)
    assert found.buffer_writes == 4 * m * n and found.memory_bytes == len(depths) * len(across) * 65536 + m * k + 4 * m * n
    assert found.accumulator_bytes == 2 * 4 * sum(m * columns for _ in depths for columns in across)
    assert found.read_back == 4 * (len(depths) - 1) * m * n
    assert found.sums.waiting == (m * across[0] if len(depths) > 1 else 0)
    assert found.on_chip == (found.sums.waiting <= 4096 * 256)
    assert found.buffer_bytes == found.buffer_reads + 4 * m * n + (0 if found.on_chip else 2 * found.read_back)


def test_sums_that_wait_in_the_accumulators_save_the_buffer():
    """4096 rows of 256 sums fit, and one row more does not; then each fold but the first of its column reads them again, 4 bytes
    beside each operand: five times as slow, in a half of the folds.
    """
    fits, spills = (of_product(m, 512, 256, dataflow="ws") for m in (4096, 4097))
    assert fits.on_chip and not spills.on_chip
    assert fits.stalled() == fits.stalled(on_chip=True) and spills.stalled() == spills.stalled(on_chip=False)
    rate = TPU.read("buffer").value / TPU.frequency_hz.all.value
    pace = (2 * 256 * 4097 + 256 * 4097 * 4) / rate / (2 * 4097)
    assert spills.stalled().active_cycles == pytest.approx(2 * 4097 * pace)
    assert spills.stalled(on_chip=True).active_cycles == pytest.approx(2 * 4097, rel=1e-3)
    assert spills.stalled().cycles > 2.5 * fits.stalled().cycles
    energy = spills.energy_j["buffer"] / fits.energy_j["buffer"]
    assert energy == pytest.approx((2 * 256 + 4 * 256 + 2 * 4 * 256) / (2 * 256 + 4 * 256), rel=1e-3)


def test_energies_are_bytes_and_operations_of_the_table():
    found = of_product(200, 600, 600, dataflow="ws")
    assert found.energy_j["multiply"] == pytest.approx(200 * 600 * 600 * 0.2e-12)
    assert found.energy_j["add"] == pytest.approx(200 * 600 * 600 * 0.1e-12)
    assert found.energy_j["memory"] == pytest.approx((9 * 65536 + (1 + 4) * 200 * 600) / 8 * 1.3e-9)
    assert found.energy_j["buffer"] == pytest.approx((200 * 600 * 3 + 4 * 200 * 600) / 8 * 100e-12)
    assert found.energy_j["accumulators"] == pytest.approx(2 * 200 * 600 * 3 * 4 / 8 * 100e-12)


def test_gemmini_has_energies_of_its_sizes():
    """As Hong et al. fit them, by the scratchpad's and the accumulators' KiB and the array's columns."""
    gemmini = lookup.find("gemmini")
    found = of_product(20, 30, 40, machine=gemmini, dataflow="ws")
    scratchpad = 0.49 + 0.02513 * gemmini.buffer_bytes / 1024
    accumulators = (1.94 + 0.1005 * gemmini.accumulator_bytes / 1024 / gemmini.columns) / gemmini.accumulator_word_bytes
    expected = {
        "multiply_add": 20 * 30 * 40 * 0.5608,
        "buffer": found.buffer_bytes * scratchpad,
        "accumulators": found.accumulator_bytes * accumulators,
        "memory": found.memory_bytes * 100,
    }
    assert found.energy_j == pytest.approx({name: value * 1e-12 for name, value in expected.items()}, rel=1e-3)


def test_results_that_stay_take_all_operands_from_the_buffer():
    """512 bytes a cycle, of which it delivers 256: half as fast."""
    found = of_product(512, 4000, 512, dataflow="os")
    assert found.stalled().tile_cycles == 0 and found.stalled().stall_cycles == 0
    assert found.stalled().active_cycles == pytest.approx(2 * 4 * 4000, rel=1e-3)
    assert found.memory_bytes == 2 * 512 * 4000 + 4 * 512 * 512


@pytest.mark.parametrize("types, pace", [("i1 i1 i4", 1), ("i2 i1 i4", 2), ("i1 i2 i4", 2), ("i2 i2 i4", 4), ("f8 f8 f8", 1)])
def test_wide_operands_take_more_cycles(types, pace):
    found = of_product(64, 1472, 1472, types, dataflow="ws")
    assert found.pace == pace
    slowest = max(pace, int(types[1]))  # cycles in which the buffer delivers what the units take in one
    assert found.stalled().active_share == pytest.approx(64 * slowest / found.stalled().tile_cycles, rel=0.06)


@pytest.mark.parametrize("dataflow", ["ws", "os", "is"])
def test_bytes_are_those_of_the_arrays_types(dataflow):
    """Twice and eight times as wide, twice and eight times as many; of mixed ones each array has its own."""
    of = {types: of_product(300, 500, 400, types, dataflow=dataflow) for types in ("i1 i1 i1", "i2 i2 i2", "f8 f8 f8", "i1 i1 i4")}
    one = of["i1 i1 i1"]
    for types, factor in (("i2 i2 i2", 2), ("f8 f8 f8", 8)):
        assert of[types].memory_bytes == factor * one.memory_bytes and of[types].buffer_reads == factor * one.buffer_reads
    assert of["i1 i1 i4"].memory_bytes == one.memory_bytes + 3 * 300 * 400 and of["i1 i1 i4"].buffer_reads == one.buffer_reads
    assert of["i1 i1 i4"].buffer_writes == 4 * one.buffer_writes


def test_a_product_of_an_array_with_itself_has_two_operands():
    def squares(A, C):
        for i in range(C.shape[0]):
            for j in range(C.shape[1]):
                for k in range(A.shape[1]):
                    C[i, j] += A[i, k] * A[j, k]

    _, found = memories_of(squares, np.zeros((20, 30), "i2"), np.zeros((20, 20), "i4"))
    assert found.pace == 4 and found.operands == {"A": ("i16", 20 * 30)}


@pytest.mark.parametrize("function", [seidel, history, subsequence, triangular, fir], ids=lambda f: f.__name__)
def test_elements_come_from_memory_that_no_instance_made_before(function):
    """As many as a trace reads of each array before it writes them, but for what sums start from."""
    args = CALLS[function]
    report, found = memories_of(function, *args, array=(4, 4))
    nest = report.nests[0].nest
    line, names = nest.statement.loc.line, [use.array if use.kind != "result" else None for use in nest.uses]
    written, read = set(), defaultdict(set)
    for (at, _), reads, write in events(function, args):
        if at == line:
            for name, cell in zip(names, reads):
                if name is not None and cell not in written:
                    read[name].add(cell)
            written.add(write)
    assert {name: number for name, (_, number) in found.operands.items()} == {name: len(cells) for name, cells in read.items()}


@pytest.mark.parametrize("function", [lu, trsm, fdtd, cholesky], ids=lambda f: f.__name__)
@pytest.mark.sweep(keep=2)
def test_each_element_that_a_nest_writes_goes_to_memory_once(function):
    """Whichever of its statements writes it, as a trace tells."""
    args = JOINT[function]
    report = polyml.kernel(function, cache=False).report(*args, target="systolic", machine=TPU, array=(4, 4))
    for nest in report.nests:
        lines = {place.statement.loc.line for place in nest.nest.embeddings}
        written = {write for (at, _), _, write in events(function, args) if at in lines}
        found = report.memories(nest, nest.best)
        assert found.memory_bytes - replace(found, written={}).memory_bytes == len(written) * 8
    assert any(len(nest.nest.embeddings) > 1 for nest in report.nests)


def test_a_machine_without_energies_has_none():
    found = of_product(20, 30, 40, machine=replace(TPU, energies=Energies()))
    assert found.energy_j == {}
    one = replace(TPU.energies, buffer=None, memory=None, accumulators=None)
    assert set(of_product(20, 30, 40, machine=replace(TPU, energies=one)).energy_j) == {"multiply", "add"}


def test_the_report_says_it():
    report, found = memories_of(
        product, np.zeros((200, 600), "i1"), np.zeros((600, 600), "i1"), np.zeros((200, 600), "i4"), dataflow="ws"
    )
    text = " ".join(str(report).split())
    assert f"memory {9 * 65536 + 5 * 200 * 600:,} 193 uJ" in text and "Horowitz" in text
    along = ("rows", "columns")[found.plan.mapping.space.index((0, 0, 1))]  # where k is
    assert f"51,200 wait between folds, blocks of {along} first: they stay in the accumulators" in text
    data = json.loads(json.dumps(report.data()))["nests"][0]["mappings"][0]
    assert data["memories"]["energy_j"]["all"] == pytest.approx(sum(found.energy_j.values()))
    assert data["memories"]["sums"]["on_chip"] is True and data["memories"]["sums"]["capacity"] == 4096 * 256
    assert data["stalled"]["cycles"] == found.stalled().cycles < data["memories"]["sums"]["read_back"]["cycles"]


@pytest.mark.parametrize(
    "function, args",
    [(triangular, (zeros(30, 30), zeros(30, 20), zeros(30, 20))), (subsequence, (zeros(9, 9), zeros(9), zeros(9)))],
)
def test_what_is_no_box_or_no_sum_is_reported(function, args):
    report, found = memories_of(function, *args, array=(8, 8))
    assert found.buffer_bytes > 0 and json.dumps(report.data()) and "of the best" in str(report)
    uses_values = function is subsequence
    assert (found.sums is None) == uses_values and (found.stalled() is None) == uses_values
