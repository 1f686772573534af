"""Signals wait for moments at which an exception leaves nothing half done."""

import gc
import os
import signal
import threading
import time

import numpy as np
import pytest

import polyml
from polyml import interrupts, pass_manager, polyhedra
from polyml.api.compiling import compile_lock


def ctrl_c():
    signal.raise_signal(signal.SIGINT)


def is_as_before():
    return signal.getsignal(signal.SIGINT) is signal.default_int_handler and interrupts._current is None


def test_ctrl_c_waits_for_the_end_of_the_outermost_block():
    done = []
    with pytest.raises(KeyboardInterrupt):
        with interrupts.deferred():
            with interrupts.deferred():
                ctrl_c()
                done.append("inner")
            done.append("outer")
    assert done == ["inner", "outer"] and is_as_before()


def test_ctrl_c_is_answered_at_a_checkpoint():
    done = []
    with pytest.raises(KeyboardInterrupt):
        with interrupts.deferred():
            interrupts.checkpoint()
            ctrl_c()
            done.append("came")
            interrupts.checkpoint()
            done.append("not reached")
    assert done == ["came"] and is_as_before()


def test_a_checkpoint_outside_changes_nothing():
    interrupts.checkpoint()
    with pytest.raises(KeyboardInterrupt):
        ctrl_c()


def test_ctrl_c_is_answered_at_once_where_that_is_allowed():
    done = []
    with pytest.raises(KeyboardInterrupt):
        with interrupts.deferred():
            with interrupts.deferred():
                with interrupts.answered():
                    ctrl_c()
                    done.append("not reached")
    assert done == [] and is_as_before()
    with pytest.raises(KeyboardInterrupt):
        with interrupts.deferred():
            with interrupts.answered():
                pass
            ctrl_c()
            done.append("deferred again")
    assert done == ["deferred again"] and is_as_before()


def test_handlers_of_the_user_s_are_called_once_each_and_stay():
    came = []
    numbers = (signal.SIGINT, signal.SIGALRM)
    before = [signal.signal(number, lambda number, frame: came.append(number)) for number in numbers]
    own = [signal.getsignal(number) for number in numbers]
    try:
        with interrupts.deferred():
            for number in (*numbers, signal.SIGINT):
                signal.raise_signal(number)
            assert came == []
            interrupts.checkpoint()
            assert came == [*numbers]
            signal.raise_signal(signal.SIGINT)
        assert came == [*numbers, signal.SIGINT]
        assert [signal.getsignal(number) for number in numbers] == own
    finally:
        for number, handler in zip(numbers, before):
            signal.signal(number, handler)


def test_a_handler_that_puts_another_one_in_its_place_is_not_put_back():
    def first(number, frame):
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    signal.signal(signal.SIGINT, first)
    try:
        with interrupts.deferred():
            ctrl_c()
            interrupts.checkpoint()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def test_of_two_handlers_that_raise_both_are_called():
    class TimeIsUp(Exception):
        pass

    def raising(number, frame):
        raise TimeIsUp

    before = signal.signal(signal.SIGALRM, raising)
    try:
        with pytest.raises((KeyboardInterrupt, TimeIsUp)) as caught:
            with interrupts.deferred():
                ctrl_c()
                signal.raise_signal(signal.SIGALRM)
        assert {type(caught.value), type(caught.value.__context__)} == {KeyboardInterrupt, TimeIsUp}
    finally:
        signal.signal(signal.SIGALRM, before)


def test_an_ignored_signal_stays_ignored():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupts.deferred():
            ctrl_c()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def test_in_other_threads_handlers_stay_as_they_are():
    seen = []

    def run():
        with interrupts.deferred():
            seen.append(signal.getsignal(signal.SIGINT))
            interrupts.checkpoint()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]


def test_a_budget_of_operations_is_a_checkpoint_and_stays_as_it_was():
    with pytest.raises(KeyboardInterrupt):
        with interrupts.deferred(), polyhedra.budget(1000):
            ctrl_c()
            with polyhedra.budget(10):
                pytest.fail("not reached")
    assert polyhedra.CONTEXT.get_max_operations() == 0


def scaled(A, factor):
    for i in range(A.shape[0]):
        A[i] *= factor


def test_a_compilation_that_is_interrupted_leaves_nothing(monkeypatch):
    stages = []
    original = pass_manager.run

    def interrupting(step, *given, **named):
        stages.append(step.name)
        if step.name == interrupted_stage:
            ctrl_c()
        return original(step, *given, **named)

    monkeypatch.setattr(pass_manager, "run", interrupting)
    interrupted_stage = ""
    polyml.kernel(scaled, cache=False)(np.ones(5), 2.0)
    for interrupted_stage in dict.fromkeys(stages):
        kernel, given = polyml.kernel(scaled, cache=False), np.ones(5)
        with pytest.raises(KeyboardInterrupt):
            kernel(given, 2.0)
        assert is_as_before() and gc.isenabled() and not given[given != 1.0].size
        assert compile_lock._locks[0].acquire(blocking=False)
        compile_lock._locks[0].release()
        assert threading.enumerate() == [threading.main_thread()]
        interrupted_stage = ""
        kernel(given, 3.0)
        assert given.tolist() == [3.0] * 5 and kernel.compiled


def test_who_waits_for_another_thread_s_compilation_answers_ctrl_c():
    held, over = threading.Event(), threading.Event()

    def hold():
        with compile_lock.alone():
            held.set()
            over.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    timer = threading.Timer(0.1, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            with compile_lock.alone():
                pytest.fail("not reached")
        assert is_as_before()
    finally:
        over.set()
        thread.join()
        timer.join()


def test_a_fork_waits_for_a_compilation_and_answers_ctrl_c_behind_it():
    held = threading.Event()

    def hold():
        with compile_lock.alone():
            held.set()
            time.sleep(0.3)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    timer = threading.Timer(0.1, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        child = os.fork()
        if child == 0:
            is_free = compile_lock._locks[0].acquire(blocking=False)
            os._exit(0 if is_free and not thread.is_alive() and is_as_before() else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        time.sleep(5)
    assert is_as_before()
    thread.join()
    timer.join()


def test_a_fork_in_the_midst_of_a_compilation_of_its_own_thread_does_not_wait():
    with compile_lock.alone():
        child = os.fork()
        if child == 0:
            with compile_lock.alone():
                os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert is_as_before()


def test_the_child_of_a_fork_by_another_thread_has_the_handlers_of_before():
    status = []

    def fork():
        child = os.fork()
        if child == 0:
            os._exit(0 if is_as_before() else 1)
        status.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

    with interrupts.deferred():
        thread = threading.Thread(target=fork)
        thread.start()
        thread.join()
    assert status == [0] and is_as_before()


def test_a_deep_expression_is_left_to_the_outermost_compilation():
    """Another thread, with a larger stack, would wait for the lock that this one holds."""

    def too_deep():
        raise RecursionError

    kernel = polyml.kernel(scaled, cache=False)
    with compile_lock.alone():
        assert compile_lock.is_alone()
        with pytest.raises(RecursionError):
            kernel._compiling(too_deep)
    assert not compile_lock.is_alone()
    with pytest.raises(polyml.NotAffineError, match="nested too deeply"):
        kernel._compiling(too_deep)
