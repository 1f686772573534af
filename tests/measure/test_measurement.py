"""Measuring the host: that what is timed computes what it should, and what is kept. No test looks at how fast anything is."""

import ctypes
import dataclasses
import re
import threading
import time

import numpy as np
import pytest

from polyml import config
from polyml.machines import catalogue, cpu
from polyml.machines.cpu import CacheLevel
from polyml.machines.descriptions import Bandwidth, Cpu, Figure, Peak, Rate, Runs
from polyml.measure import host, lookup, measurement, stream_kernels
from polyml.measure.measurement import Measured
from polyml.runtime.loading import assemble, load, thread_pool
from polyml.runtime.storage.disk_cache import open_cache

HOST = cpu.host()


NAMES = ("read", "update", "clock", "peak_f64", "peak_f32")
KINDS = [HOST, *(catalogue.processor(name) for name in ("sse2", "avx2") if HOST.isa == "x86-64" and HOST.vector_bytes >= 32)]


@pytest.fixture(scope="module", params=KINDS, ids=lambda made: made.name)
def made(request):
    """The host, and narrower processors whose code it runs."""
    return request.param


@pytest.fixture(scope="module")
def code(made):
    return load.load([assemble.assemble(stream_kernels.text(made), cpu=made.cpu_name, features=made.features)], *NAMES)


def ran(code, name, data, size_bytes, passes, shares):
    """The room after a region of `shares` threads."""
    room = measurement._on_pages(stream_kernels.ROOM_BYTES * shares)
    room[:] = 0
    work = (ctypes.c_int64 * 4)(data.ctypes.data, size_bytes, passes, room.ctypes.data)
    thread_pool.pool().run(code.address(name), ctypes.addressof(work), shares, shares)
    return room.reshape(shares, -1)


def words(count):
    made = measurement._on_pages(8 * count)
    made[:] = np.random.default_rng(0).integers(-(2**62), 2**62, count)
    return made


@pytest.mark.parametrize("shares", [1, 2])
def test_a_read_stream_reads_every_word_in_every_pass(made, code, shares):
    block = stream_kernels.block_bytes(made) // 8
    data = words(3 * block * shares)
    room = ran(code, "read", data, 24 * block, 5, shares)
    lanes = made.vector_bytes // 8
    for share, part in enumerate(data.reshape(shares, -1)):
        with np.errstate(over="ignore"):
            expected = 5 * part.reshape(-1, lanes).sum(axis=0)
        assert room[share, :lanes].tolist() == expected.tolist()


@pytest.mark.parametrize("shares", [1, 2])
def test_an_update_stream_writes_every_word_in_every_pass(made, code, shares):
    block = stream_kernels.block_bytes(made) // 8
    data = words(3 * block * shares)
    before = data.copy()
    ran(code, "update", data, 24 * block, 7, shares)
    assert (data == before + 7).all()


@pytest.mark.parametrize("number, size", [("f64", 8), ("f32", 4)])
def test_a_peak_multiplies_and_adds_in_every_lane_of_every_accumulator(made, code, number, size):
    lanes, count = made.lanes(size), stream_kernels.operations(made, size) // 2 // made.lanes(size)
    values = np.random.default_rng(1).random((count + 2, lanes)).astype(f"f{size}")
    data = measurement._on_pages(4096)
    data.view(f"f{size}")[: values.size] = values.ravel()
    room = ran(code, f"peak_{number}", data, 4096, 20, 1)
    a, b, x = values[0].astype("f8"), values[1].astype("f8"), values[2:].astype("f8")
    for _ in range(20):
        x = x * a + b
    got = room[0].view(f"f{size}")[:lanes]
    assert count >= 8
    assert np.allclose(got, x.sum(axis=0), rtol=1e-12 if size == 8 else 1e-4)


def test_the_clock_makes_every_step(code):
    first, mask = 12345, 2**64 - 1
    value = first
    for _ in range(3):
        for step in range(stream_kernels.cycles()):
            value = (value + first) & mask if step % 2 == 0 else value ^ first
    room = ran(code, "clock", words(8), first, 3, 1)
    assert int(room[0, 0]) & mask == value


def test_the_multiply_adds_are_in_the_machine_code():
    if not (HOST.fma and HOST.isa == "x86-64"):
        pytest.skip("looks for instructions of x86-64")
    text = assemble.assembly(stream_kernels.text(HOST), cpu=HOST.cpu_name, features=HOST.features, level=2)
    for number, letter in (("f64", "d"), ("f32", "s")):
        body = text[text.index(f"peak_{number}:") : text.index(f"size\tpeak_{number}")]
        loops = re.findall(r"\n(\.LBB\d+_\d+):(.*?)j\w+\s+\1\n", body, re.DOTALL)
        register = {16: "xmm", 32: "ymm", 64: "zmm"}[HOST.vector_bytes]
        found = [len(re.findall(rf"vfmadd\d+p{letter}\s[^\n]*%{register}\d+\n", inside)) for _, inside in loops]
        assert found == [stream_kernels.operations(HOST, 8) // 2 // HOST.lanes(8)]


def test_other_processors_have_such_streams_too():
    import llvmlite.binding as llvm

    for name in ("sse2", "avx2", "avx512", "neon"):
        module = llvm.parse_assembly(stream_kernels.text(catalogue.processor(name)))
        module.verify()
        assert {function.name for function in module.functions if not function.is_declaration} == set(NAMES)


def test_shares_of_one_thread_are_noticed(code):
    together = ran(code, "clock", words(8), 1, 1, 1)[:, stream_kernels.STACK // 8]
    assert together.all()  # where the stack was
    bench = measurement._Bench(dataclasses.replace(HOST, cores=2, caches=(CacheLevel(1, 32768, 8, 64, 1),)))
    job = measurement.Job("clock", 8, 1, 2)
    stacks = bench._room.reshape(2, -1)[:, stream_kernels.STACK // 8]
    stacks[:] = 5
    assert not bench._had_own_threads(job)
    stacks[1] = 6
    assert bench._had_own_threads(job)


def of_caches(cores, *caches):
    levels = tuple(CacheLevel(n, size, 8, 64, shared) for n, (size, shared) in enumerate(caches, 1))
    return dataclasses.replace(HOST, cores=cores, caches=levels, vector_bytes=64)


KIB, MIB = 2**10, 2**20


@pytest.mark.parametrize("made", [
    of_caches(2, (48 * KIB, 1), (MIB, 1), (32 * MIB, 2)),
    of_caches(8, (32 * KIB, 2), (MIB, 2), (32 * MIB, 16)),
    of_caches(56, (48 * KIB, 1), (2 * MIB, 1), (105 * MIB, 56)),  # a core's part of the outer one is smaller than the inner one
    of_caches(28, (32 * KIB, 1), (MIB, 1), (38 * MIB, 28)),
    of_caches(4, (64 * KIB, 1), (512 * KIB, 4)),
    of_caches(1, (32 * KIB, 1)),
    of_caches(192, (48 * KIB, 2), (MIB, 2), (32 * MIB, 16)),
])  # fmt: skip
def test_working_sets_overflow_the_level_before_and_fit_their_own(made):
    sets = measurement.working_sets(made)
    assert [w.place for w in sets] == [f"L{c.level}" for c in made.caches] + ["memory"]
    held = before = 0
    for cache, over in zip(made.caches, sets):
        part = cache.size_bytes // min(cache.shared_by, made.cores)
        assert before < over.bytes_of_each <= over.bytes_of_one
        assert over.bytes_of_each <= held + part and over.bytes_of_one <= held + cache.size_bytes
        held, before = held + part, part
    last = made.caches[-1]
    copies = -(-made.cores // last.shared_by)
    assert sets[-1].bytes_of_one >= 2 * last.size_bytes and sets[-1].bytes_of_each * made.cores >= 2 * copies * last.size_bytes
    assert all(size % stream_kernels.block_bytes(made) == 0 for w in sets for size in (w.bytes_of_one, w.bytes_of_each))


def rate(one, together):
    return Rate(Figure(one, "measured", "s"), Figure(together, "measured", "s"))


def of_rates(near, far):
    rates = (Bandwidth("L1", rate(near, 2 * near), rate(near, 2 * near)), Bandwidth("memory", rate(far, far), rate(far, far)))
    peaks = (Peak("f64", rate(near, near)),)
    return Cpu(name=HOST.name, machine=HOST, frequency_hz=rate(4e9, 3e9), peaks=peaks, bandwidths=rates)


def test_farther_levels_are_not_faster():
    assert measurement.plausible(of_rates(2e9, 1e9).bandwidths) and measurement.plausible(of_rates(1e9, 1.05e9).bandwidths)
    assert not measurement.plausible(of_rates(1e9, 2e9).bandwidths)


def test_the_better_of_two_measurements_has_the_greater_rates():
    found = measurement.better(of_rates(5e9, 1e9), of_rates(4e9, 3e9))
    assert found.read("L1", 1).value == 5e9 and found.read("memory").value == 3e9 and found.peak("f64").value == 5e9


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("POLYML_CACHE_DIR", str(tmp_path))
    return open_cache(config.resolve())


@pytest.fixture
def measurements(monkeypatch):
    """What measuring would give, one after the other."""
    waiting = []
    monkeypatch.setattr(measurement, "measured", lambda made: waiting.pop(0))
    host._once.cache_clear()
    yield waiting
    host._once.cache_clear()


def test_the_host_is_measured_once_and_again_when_asked(store, measurements):
    assert not lookup.find("host").has_rates
    measurements += [Measured(of_rates(2e9, 1e9), True), Measured(of_rates(1e9, 0.5e9), True)]
    first = lookup.find("host", measure=True)
    assert first.read("L1", 1).value == 2e9 and lookup.find("host", measure=True) == first == lookup.find("host")
    assert len(measurements) == 1
    assert host.measured(again=True).read("L1", 1).value == 1e9 and lookup.find("host").read("L1", 1).value == 1e9


def test_a_disturbed_measurement_is_repeated_and_only_improves(store, measurements):
    measurements += [Measured(of_rates(2e9, 1e9), False), Measured(of_rates(1.5e9, 1.2e9), False)]
    measurements += [Measured(of_rates(1.9e9, 1e9), True)]
    assert host.measured().read("memory").value == 1e9
    second = host.measured()
    assert (second.read("L1", 1).value, second.read("memory").value) == (2e9, 1.2e9)
    assert host.measured().read("L1", 1).value == 1.9e9 and not measurements
    measurements.append(Measured(of_rates(1e9, 1e9), False))
    assert host.measured(again=True).read("L1", 1).value == 1.9e9  # a quiet one is not spoiled
    assert host.measured().read("L1", 1).value == 1.9e9


RATE = (b'{"quiet": true, "frequency_hz": {"one": {"value": 3e9, "origin": "", "source": ""}, "all": {"value": 3e9, "origin": "", '
        b'"source": ""}}, "peaks": [], "bandwidths": []}')  # fmt: skip


@pytest.mark.parametrize("content", [
    b"", b"[]", b"{}", b"null", b'{"quiet": true, "frequency_hz": 3, "peaks": [], "bandwidths": []}',
    b'{"quiet": true, "frequency_hz": {"one": null, "all": null}, "peaks": [], "bandwidths": []}',
    b'{"quiet": true, "frequency_hz": {"one": {"value": -1, "origin": "", "source": ""}}, "peaks": [], "bandwidths": []}',
    RATE.replace(b"3e9", b"1e999"), RATE.replace(b"3e9", b"9" * 400), RATE.replace(b"3e9", b"NaN"), RATE.replace(b'"quiet"', b"[" * 9999),
])  # fmt: skip
def test_what_is_no_measurement_is_measured_again(store, measurements, content):
    store.put(host._key(), content)
    assert not host.known().has_rates
    measurements.append(Measured(of_rates(2e9, 1e9), True))
    assert host.measured().read("L1", 1).value == 2e9 == host.known().read("L1", 1).value


def test_a_damaged_file_is_measured_again(store, measurements):
    measurements += [Measured(of_rates(2e9, 1e9), True), Measured(of_rates(3e9, 1e9), True)]
    host.measured()
    with open(store._path(host._key()), "r+b") as file:
        file.seek(40)
        file.write(b"\0\0\0")
    assert not host.known().has_rates and host.measured().read("L1", 1).value == 3e9


def test_without_a_cache_a_process_measures_once(monkeypatch, measurements):
    monkeypatch.setenv("POLYML_CACHE", "0")
    measurements += [Measured(of_rates(2e9, 1e9), True), Measured(of_rates(3e9, 1e9), True)]
    assert not host.known().has_rates
    assert host.measured() == host.measured() and len(measurements) == 1
    assert host.measured(again=True).read("L1", 1).value == 3e9


def test_a_folder_that_cannot_be_written_costs_a_warning(tmp_path, monkeypatch, measurements):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("POLYML_CACHE_DIR", str(tmp_path / "file" / "below"))
    measurements.append(Measured(of_rates(2e9, 1e9), True))
    with pytest.warns(UserWarning, match="cannot be written"):
        assert host.measured().read("L1", 1).value == 2e9


def test_of_those_that_want_to_measure_one_does_and_the_others_wait(store, monkeypatch):
    started, runs = threading.Event(), []

    def slowly(made):
        runs.append(made)
        started.set()
        time.sleep(0.3)
        return Measured(of_rates(2e9, 1e9), True)

    monkeypatch.setattr(measurement, "measured", slowly)
    first = threading.Thread(target=host.measured)
    first.start()
    started.wait(10)
    assert host.measured().read("L1", 1).value == 2e9
    first.join()
    assert len(runs) == 1


def test_other_cores_are_another_measurement(store, measurements, monkeypatch):
    measurements.append(Measured(of_rates(2e9, 1e9), True))
    host.measured()
    other = dataclasses.replace(HOST, cores=HOST.cores + 1)
    monkeypatch.setattr(cpu, "host", lambda: other)
    assert not host.known().has_rates


def test_runs_are_kept_and_entries_without_them_are_read(store, measurements):
    runs = (Runs("f64", 1, "operations", 8, 1e9, 1.5e9, 2e9),)
    measurements.append(Measured(dataclasses.replace(of_rates(2e9, 1e9), runs=runs), True))
    assert host.measured().runs == runs == host.known().runs
    store.put(host._key(), RATE)
    assert host.known().runs == () and host.known().frequency_hz.one.value == 3e9


def test_the_spread_is_that_of_the_runs_themselves(monkeypatch):
    bench = measurement._Bench(HOST)
    for _ in range(3):
        monkeypatch.setattr(bench, "_run", lambda job, passes, speeds=iter([1.0, 0.25] * 99): next(speeds))
        bench._passes = {job: 1 for pair in bench._jobs() for job in pair}
        bench.round()
    found = {(runs.what, runs.threads): runs for runs in bench.found().cpu.runs}
    jobs = {job for pair in bench._jobs() for job in pair}
    assert len(found) == len(jobs) and all(runs.count == 6 for runs in found.values())
    read = found["L1 read", 1]
    size = measurement.working_sets(HOST)[0].bytes_of_one
    assert (read.least, read.median, read.greatest) == (size, 2.5 * size, 4 * size)
