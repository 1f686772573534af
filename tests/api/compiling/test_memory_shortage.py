"""Systems that give no thread or little memory: the work is done without, or refused before it begins."""

import errno
import os
import resource
import subprocess
import sys
import threading

import numpy as np
import pytest

import polyml
from polyml import pass_manager
from polyml.api.compiling import memory_shortage
from polyml.caches.simulator import threads
from polyml.machines import cache_spec
from polyml.runtime.calling import entry
from polyml.runtime.loading import assemble, thread_pool
from tests.runtime.loading.test_load import EVEN, ODD, TEXT


def scaled(A, factor):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] *= factor
    for i in range(A.shape[0]):
        A[i, 0] += 1.0


@pytest.fixture
def no_threads(monkeypatch):
    def start(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)


def test_a_kernel_is_compiled_where_no_thread_can_be_started(no_threads, monkeypatch):
    monkeypatch.setattr(entry, "_preparing", [])
    kernel, given = polyml.kernel(scaled, cache=False, threads=2), np.ones((50, 60))
    kernel(given, 2.0)
    assert kernel.compiled and given.sum() == 2.0 * 3000 + 50 and entry._preparing == []


def test_objects_are_assembled_by_whoever_asks_where_no_thread_can_be_started(no_threads):
    with assemble.Assembler(3) as assembler:
        for text in (EVEN, ODD, TEXT):
            assembler.add(text)
        assert assembler.objects() == tuple(assemble.assemble(text, level=1) for text in (EVEN, ODD, TEXT))


def test_an_error_waits_for_threads_that_assemble():
    with pytest.raises(ValueError, match="given up"), assemble.Assembler(3) as assembler:
        for text in (EVEN, ODD, TEXT) * 3:
            assembler.add(text)
        raise ValueError("given up")
    assert not any(thread.is_alive() for thread in assembler._threads)


def test_what_could_not_be_prepared_is_made_by_who_needs_it(monkeypatch, capfd):
    def fail():
        raise MemoryError

    monkeypatch.setattr(entry, "_preparing", [])
    with monkeypatch.context() as patch:
        patch.setattr(thread_pool, "pool", fail)
        entry.finish_preparation()
    kernel, given = polyml.kernel(scaled, cache=False, threads=2), np.ones((5, 6))
    kernel(given, 2.0)
    assert kernel.compiled and given.sum() == 65.0 and capfd.readouterr().err == ""


def test_traces_are_run_one_after_the_other_where_no_thread_can_be_started(no_threads):
    done = []
    threads.run_independently(done.append, 4)
    assert sorted(done) == [0, 1, 2, 3]


def test_caches_that_threads_share_are_not_simulated_where_there_are_no_threads(no_threads):
    kernel, given = polyml.kernel(scaled, cache=False), np.ones((50, 60))
    with pytest.raises(polyml.PolymlMemoryError, match="the system gives no 2 threads more, one for each that is simulated"):
        kernel.report(given, 2.0, threads=2, caches=cache_spec.parse("4K:4:64,64K:8:64:shared"))


LIMITED = """
import resource, sys, numpy as np, polyml
from tests.api.compiling.test_memory_shortage import scaled
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (100 << 20), resource.RLIM_INFINITY))
kernel, given = polyml.kernel(scaled), np.ones((5, 6))
try:
    kernel(given, 2.0)
    print("compiled")
except polyml.PolymlMemoryError as problem:
    print(problem)
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
kernel(given, 2.0)
print(given.sum(), kernel.from_cache)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for what is in use")
def test_a_compilation_without_room_is_refused_and_may_be_tried_again(tmp_path):
    root = os.path.dirname(os.path.dirname(polyml.__file__))
    variables = {**os.environ, "PYTHONPATH": root, "POLYML_CACHE_DIR": str(tmp_path), "OPENBLAS_NUM_THREADS": "1"}

    def said():
        done = subprocess.run([sys.executable, "-c", LIMITED], env=variables, capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.splitlines()

    first, note, last = said()
    assert first.startswith("error: there is no room to compile `scaled`: that takes up to 328 MiB, and of ")
    assert note.startswith("  note: expected a higher limit (ulimit -v), or the kernel in the cache")
    assert last == "65.0 False"
    assert said() == ["compiled", "135.0 True"]  # 100 MiB suffice for a kernel in the cache


def test_limits_are_looked_at_before_a_compilation(monkeypatch):
    limits = {resource.RLIMIT_AS: resource.RLIM_INFINITY, resource.RLIMIT_DATA: 1 << 20}
    monkeypatch.setattr(resource, "getrlimit", lambda number: (limits[number], limits[number]))
    with pytest.raises(polyml.PolymlMemoryError, match="of 1 MiB of data"):
        polyml.kernel(scaled, cache=False)(np.ones((2, 2)), 2.0)
    limits[resource.RLIMIT_DATA] = resource.RLIM_INFINITY
    memory_shortage.require_room("scaled")


@pytest.mark.parametrize(
    "problem",
    [
        MemoryError(),
        OSError(errno.ENOMEM, "no"),
        OSError("libllvmlite.so: failed to map segment from shared object"),
        RuntimeError("isl_ctx.c:1: allocation failure"),
    ],
)
def test_want_of_memory_in_a_compilation_is_told_as_such(problem, monkeypatch):
    def fail(*_, **__):
        raise problem

    monkeypatch.setitem(pass_manager.instead, "extract", fail)
    with pytest.raises(polyml.PolymlMemoryError, match="^error: there is not enough memory to compile `scaled`: ") as caught:
        polyml.kernel(scaled, cache=False)(np.ones((2, 2)), 2.0)
    assert "defect" not in str(caught.value)
    monkeypatch.setitem(pass_manager.instead, "extract", lambda *_, **__: 1 / 0)
    with pytest.raises(polyml.CompileError, match="this is a defect of polyml"):
        polyml.kernel(scaled, cache=False)(np.ones((2, 2)), 2.0)
