"""Memory that kernels' local arrays get, and give back."""

import ctypes
import threading
import warnings

import numpy as np
import pytest

import polyml
from polyml.runtime.loading import scratch_memory

PLACES = 64


@pytest.fixture
def functions(monkeypatch):
    """Acquire and release of a store of their own."""
    monkeypatch.setattr(scratch_memory, "code", scratch_memory.code.__wrapped__)
    code = scratch_memory.code()
    acquire = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64)(code.address("polyml_acquire"))
    release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code.address("polyml_release"))
    yield acquire, release
    del code


def test_a_block_is_aligned_and_may_be_written_whole(functions):
    acquire, release = functions
    for size in (0, 1, 63, 64, 4096, 1_000_000):
        block = acquire(size)
        assert block % 64 == 0
        ctypes.memset(block, 0xA5, size)
        release(block)


def test_what_was_given_back_is_given_again_to_who_needs_no_more(functions):
    acquire, release = functions
    first = acquire(10_000)
    release(first)
    assert acquire(9_000) == first
    second = acquire(9_000)
    assert second != first
    release(first)
    assert acquire(20_000) not in (first, second)


def test_blocks_in_use_never_overlap(functions):
    acquire, release = functions
    held: dict[int, int] = {}
    random = np.random.default_rng(1)
    for _ in range(2_000):
        if held and random.random() < 0.5:
            block = list(held)[random.integers(len(held))]
            size = held.pop(block)
            assert ctypes.string_at(block, size) == bytes([block // 64 % 251]) * size
            release(block)
        else:
            size = int(random.integers(1, 5_000))
            block = acquire(size)
            ctypes.memset(block, block // 64 % 251, size)
            held[block] = size
    spans = sorted((block, block + size) for block, size in held.items())
    assert all(end <= start for (_, end), (start, _) in zip(spans, spans[1:]))


def test_more_blocks_than_are_kept_and_very_large_ones_go_back_to_the_system(functions):
    acquire, release = functions
    blocks = [acquire(100) for _ in range(3 * PLACES)]
    for block in blocks:
        release(block)
    assert len({acquire(100) for _ in range(PLACES)} & set(blocks)) == PLACES
    large = acquire(scratch_memory.KEPT_BYTES + 1)
    release(large)


def test_no_memory_is_null(functions):
    acquire, _ = functions
    assert acquire(1 << 60) is None
    for size in (-1, -64, -128, -129):  # which are 2**64 - 1 and less, to memory
        assert acquire(size) is None


def local(A, n, m):
    B = np.zeros((n, m))
    for t in range(2):
        for i in range(min(n, 400)):
            for j in range(min(m, 40)):
                B[i, j] = i + j + t
        for i in range(1, min(n, 400)):
            for j in range(min(m, 40)):
                A[i % 5] += B[i - 1, j] * t


WRAPPING = [(2**59 + 1, 4), (4, 2**59 + 1), (2**31, 2**31), (2**32, 2**31), (2**33, 2**33), (2**32 + 1, 2**32 - 1), (2**61, 1)]


@pytest.mark.parametrize("sizes", [*WRAPPING, (2**62, 0), (0, 2**61), (0, 3), (3, 0), (-1, 2**62), (2**40, 0), (9, 3)], ids=str)
def test_sizes_whose_product_wraps_are_refused_as_numpy_refuses_them(sizes):
    found, wanted = np.zeros(5), np.zeros(5)
    kernel = polyml.kernel(cache=False)(local)
    kernel(np.zeros(5), 3, 3)
    with warnings.catch_warnings(action="ignore"):
        try:
            local(wanted, *sizes)
        except ValueError:
            with pytest.raises(ValueError):
                kernel(found, *sizes)
        else:
            kernel(found, *sizes)
    assert np.array_equal(found, wanted)


def test_a_shape_of_the_source_is_too_large_without_elements_too():
    @polyml.kernel(cache=False)
    def none(A, n, m):
        B = np.empty((n, m))
        for t in range(2):
            for i in range(min(m, 3)):
                for j in range(3):
                    B[i, j] = A[j] + t
            for i in range(min(m, 3)):
                for j in range(3):
                    A[j] += B[i, 2 - j]

    none(np.zeros(3), 2**40, 0)
    with pytest.warns(polyml.PolymlPerformanceWarning, match="does without"), pytest.raises(ValueError, match="array is too big"):
        none(np.zeros(3), 2**60, 0)


def sum_of_an_array_that_is_not_made(n):
    B = np.zeros((n, n))
    C = B + 1.0
    return C.sum()


def sum_of_rows_that_are_not_kept(n):
    B = np.zeros((n, 2))
    B[n:] = 2.0
    return B.sum()


@pytest.mark.parametrize("function, size", [(sum_of_an_array_that_is_not_made, 2**20), (sum_of_rows_that_are_not_kept, 2**39 + 7)])
def test_an_array_that_the_kernel_does_without_and_no_memory_holds_is_python_s(function, size):
    kernel = polyml.kernel(function, cache=False)
    assert kernel(30) == function(30) and kernel.compiled
    with (
        pytest.warns(polyml.PolymlPerformanceWarning, match="does without would have more than 512 GiB"),
        pytest.raises(MemoryError),
    ):
        kernel(size)


def test_calls_on_several_threads_have_arrays_of_their_own():
    @polyml.kernel(cache=False, threads=1)
    def twice(A):
        t = np.zeros(A.shape[0])
        for k in range(50):
            for i in range(A.shape[0]):
                t[i] = t[i] + A[i]
            for i in range(1, A.shape[0]):
                t[i] = t[i] - t[i - 1] * 0.0
        return t + 0.0

    wanted = {value: np.full(3_000, 50.0 * value) for value in range(4)}
    wrong = []

    def calls(value):
        A = np.full(3_000, float(value))
        for _ in range(50):
            if not np.array_equal(twice(A), wanted[value]):
                wrong.append(value)

    threads = [threading.Thread(target=calls, args=(value,)) for value in wanted]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
