"""The thread pool: who runs what, when others use it, after a fork, at the end."""

import ctypes
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import polyml
from polyml.runtime.loading import assemble, load, thread_pool

# count: adds 1 to env[1 + share] and writes the number of shares to env[0] once per share.
# nested: every share runs `count` on its own 16 words. loop: `regions` regions one after the other.
# slow: like count, after a wait that lets the other threads fall asleep.
TEXT = """
declare void @polyml_parallel(ptr, ptr, i64, i64)
define void @count(ptr %env, i64 %share, i64 %shares) {
  store i64 %shares, ptr %env
  %index = add i64 %share, 1
  %place = getelementptr i64, ptr %env, i64 %index
  %old = load i64, ptr %place
  %new = add i64 %old, 1
  store i64 %new, ptr %place
  ret void
}
define void @nested(ptr %env, i64 %share, i64 %shares) {
  %start = mul i64 %share, 16
  %own = getelementptr i64, ptr %env, i64 %start
  call void @polyml_parallel(ptr @count, ptr %own, i64 4, i64 4)
  ret void
}
define void @slow(ptr %env, i64 %share, i64 %shares) {
entry:
  %first = icmp eq i64 %share, 0
  br i1 %first, label %end, label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %old = load volatile i64, ptr %env
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, 20000000
  br i1 %more, label %loop, label %end
end:
  call void @count(ptr %env, i64 %share, i64 %shares)
  ret void
}
define void @loop(ptr %fn, ptr %env, i64 %regions, i64 %shares, i64 %threads) {
entry:
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %after, %next ]
  call void @polyml_parallel(ptr %fn, ptr %env, i64 %shares, i64 %threads)
  %after = add i64 %i, 1
  %more = icmp ult i64 %after, %regions
  br i1 %more, label %next, label %end
end:
  ret void
}
"""


@pytest.fixture(scope="module")
def code():
    return load.load([assemble.assemble(TEXT)], "count", "nested", "slow", "loop")


@pytest.fixture(scope="module")
def loop(code):
    """loop(name, env, regions, threads, shares), without the GIL; as many shares as threads unless given."""
    native = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2, *[ctypes.c_int64] * 3)(code.address("loop"))

    def run(name, env, regions, count, shares=None):
        native(code.address(name), env.ctypes.data, regions, count if shares is None else shares, count)

    run.code = code
    return run


@pytest.mark.parametrize("count", [1, 2, 3, 8])
def test_every_share_runs_once_in_every_region(loop, count):
    env = np.zeros(20, np.int64)
    loop("count", env, 50, count)
    assert env.tolist() == [count] + [50] * count + [0] * (19 - count)


@pytest.mark.parametrize("count", [2, 3, 8])
@pytest.mark.parametrize("shares", [1, 2, 17])
def test_threads_take_shares_one_after_the_other(loop, count, shares):
    """Also fewer shares than threads, of which some then come too late and are not waited for."""
    env = np.zeros(20, np.int64)
    loop("count", env, 5000, count, shares)
    assert env.tolist() == [shares] + [5000] * shares + [0] * (19 - shares)


def test_workers_that_do_not_come_are_not_waited_for(loop):
    """More threads than cores: the system runs the last of them only after the caller has done all."""
    env = np.zeros(100, np.int64)
    for round in range(1, 4):
        time.sleep(0.01)  # they sleep
        loop("count", env, 20, 64, 90)
        assert env.tolist() == [90] + [20 * round] * 90 + [0] * 9


def test_a_region_on_no_threads_runs_on_the_caller(loop):
    env = np.zeros(4, np.int64)
    for count in (0, -1):
        loop("count", env, 1, count)
    assert env.tolist() == [1, 2, 0, 0]


def test_there_are_at_most_256_threads_and_they_stay(loop):
    env = np.zeros(400, np.int64)
    loop("count", env, 2, 300)
    assert env[0] == 300 and env[1:301].tolist() == [2] * 300 and not env[301:].any()
    assert thread_pool.pool().started == 255
    loop("count", env, 1, 2)
    assert thread_pool.pool().started == 255


def test_threads_that_have_fallen_asleep_wake_up(loop):
    env = np.zeros(4, np.int64)
    for round in range(1, 4):
        time.sleep(0.01)
        loop("count", env, 1, 2)
        assert env.tolist() == [2, round, round, 0]


def test_the_caller_sleeps_until_slow_threads_are_done(loop):
    env = np.zeros(4, np.int64)
    loop("slow", env, 3, 2)
    assert env.tolist() == [2, 3, 3, 0]


def test_a_region_inside_a_region_runs_on_its_caller(loop):
    env = np.zeros(64, np.int64)
    loop("nested", env, 10, 4)
    assert env.reshape(4, 16)[:, :3].tolist() == [[1, 10, 0]] * 4


def test_python_threads_share_the_pool_without_mixing_their_work(loop):
    envs = [np.zeros(8, np.int64) for _ in range(4)]
    workers = [threading.Thread(target=loop, args=("count", env, 2000, 2)) for env in envs]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for env in envs:
        assert env[1] == 2000  # share 0 runs in every region, share 1 in those for which the pool was free
        assert 0 <= env[2] <= 2000 and not env[3:].any()


def test_a_forked_child_has_a_pool_of_its_own(loop):
    env = np.zeros(8, np.int64)
    loop("count", env, 1, 3)
    child = os.fork()
    if child == 0:
        before = thread_pool.pool().started
        loop("count", env, 5, 3)
        os._exit(0 if before == 0 and env.tolist() == [3, 6, 6, 6, 0, 0, 0, 0] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    loop("count", env, 1, 3)
    assert env.tolist() == [3, 2, 2, 2, 0, 0, 0, 0]


def test_a_fork_while_a_region_runs_leaves_the_child_a_free_pool(loop):
    env, other = np.zeros(8, np.int64), np.zeros(8, np.int64)
    worker = threading.Thread(target=loop, args=("slow", env, 20, 2))
    worker.start()
    child = os.fork()
    if child == 0:
        loop("count", other, 3, 2)
        os._exit(0 if other.tolist() == [2, 3, 3, 0, 0, 0, 0, 0] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    worker.join()
    assert env[1] == 20


def test_the_pool_runs_a_function_given_by_address(code):
    env = np.zeros(4, np.int64)
    thread_pool.pool().run(code.address("count"), env.ctypes.data, 2, 2)
    assert env.tolist() == [2, 1, 1, 0]


def test_the_setting_0_means_every_core_this_process_may_use(monkeypatch):
    monkeypatch.setattr(thread_pool, "usable_cores", lambda: 5)
    assert (thread_pool.count(0), thread_pool.count(3)) == (5, 3)


EXIT = """
import sys, threading
sys.path.insert(0, {root!r})
import ctypes
import numpy as np
from polyml.runtime.calling import entry
from polyml.runtime.loading import assemble, load, thread_pool as threads
from tests.runtime.handmade import artifact, returning
from tests.runtime.loading.test_thread_pool import TEXT

code = load.load([assemble.assemble(TEXT)], "slow", "loop")
loop = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2, *[ctypes.c_int64] * 3)(code.address("loop"))
env = np.zeros(8, np.int64)
loop(code.address("slow"), env.ctypes.data, 1, 3, 3)
call = entry.bind(artifact("f64[:]"), returning(0), threads=1)

def calls():
    while True:
        call(env)

def regions():
    loop(code.address("slow"), env.ctypes.data, 1000000, 3, 3)

for work in (calls, regions):
    threading.Thread(target=work, daemon=True).start()
print("end")
"""


@pytest.mark.skipif(sys.platform != "linux" or thread_pool.usable_cores() < 2, reason="needs Linux and two cores")
def test_a_worker_is_kept_off_its_caller_s_core(tmp_path):
    """A worker that waits for its caller's core costs a whole region; the system moves it only after many."""
    script = tmp_path / "placed.py"
    script.write_text("""
import os, time, numpy as np, polyml

@polyml.kernel(threads=2, cache=False)
def scale(A):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] *= 2.0

A = np.ones((2000, 1000))
before = set(os.listdir("/proc/self/task"))
scale(A)
while len(new := set(os.listdir("/proc/self/task")) - before) > 1:  # threads that compiled are ending
    time.sleep(0.01)
(worker,) = new
every = os.sched_getaffinity(0)
assert len(every - os.sched_getaffinity(int(worker))) == 1
for core in sorted(every)[:2]:
    os.sched_setaffinity(0, {core})
    os.sched_setaffinity(0, every)
    scale(A)
    assert len(every - os.sched_getaffinity(int(worker))) == 1
(core, *_) = every
os.sched_setaffinity(0, {core})
scale(A)
assert os.sched_getaffinity(int(worker))
assert (A == 16).all()
""")
    subprocess.run([sys.executable, script], check=True, timeout=60)


def test_the_interpreter_ends_while_kernels_run():
    root = str(Path(__file__).parents[3])
    script = EXIT.format(root=root)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


def repeated(A, B, T):
    for t in range(T):
        for i in range(A.shape[0]):
            B[i] = A[i] * 2.0
        A[0] = B[0] + B[A.shape[0] - 1]
        for i in range(A.shape[0]):
            A[i] = B[i] - A[0]


def test_short_loops_inside_a_loop_run_on_the_caller_where_iterations_are_few():
    kernel = polyml.kernel(repeated, threads=2, cache=False, fallback="error")
    text = kernel.lower("f64[:]", "f64[:]", "int").llvm
    assert "many" in text and "polyml_parallel" in text
    for n in (1, 9, 3000, 250_000):
        given, wanted = ([np.arange(n, dtype=float) % 7, np.zeros(n)] for _ in range(2))
        kernel(*given, 3)
        for _ in range(3):
            wanted[1][:] = wanted[0] * 2.0
            wanted[0][0] = wanted[1][0] + wanted[1][-1]
            first = wanted[1][0] - wanted[0][0]
            wanted[0][1:] = wanted[1][1:] - first
            wanted[0][0] = first
        for a, b in zip(given, wanted):
            np.testing.assert_array_equal(a, b)
