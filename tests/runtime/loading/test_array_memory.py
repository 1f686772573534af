"""Memory of results: NumPy's arrays in memory that dead arrays gave back."""

import ctypes
import gc
import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import polyml
from polyml.errors import PolymlMemoryError
from polyml.runtime.calling import results
from polyml.runtime.loading import array_memory, scratch_memory

MB = 1 << 20
F64 = np.dtype(np.float64)


class Memory:
    """Functions of a memory of its own, with a limit of 64 MB."""

    def __init__(self, code):
        word, pointer = ctypes.c_int64, ctypes.c_void_p

        def of(symbol, result, *arguments):
            return ctypes.CFUNCTYPE(result, *arguments)(code.address(symbol))

        self._code = code
        self.malloc = of("polyml_array_malloc", pointer, pointer, word)
        self.calloc = of("polyml_array_calloc", pointer, pointer, word, word)
        self.realloc = of("polyml_array_realloc", pointer, pointer, pointer, word)
        self.free = of("polyml_array_free", None, pointer, pointer, word)
        self.kept = of("polyml_arrays_kept", word)
        self.keep_at_most = of("polyml_arrays_keep_at_most", None, word)
        self.give_back = of("polyml_give_back", word)
        self.forked = of("polyml_arrays_forked", None)
        self.keep_at_most(64 * MB)


@pytest.fixture
def memory():
    made = Memory(scratch_memory.code.__wrapped__())
    yield made
    made.give_back()


@pytest.fixture
def empty():
    made = array_memory.empty()
    assert made is not None, "this NumPy has no handlers of memory, which CI's has"
    polyml.release_memory()
    yield made
    gc.collect()
    polyml.release_memory()


def test_an_array_owns_aligned_data_and_is_resized_pickled_and_viewed_like_any(empty):
    for elements in (0, 1, 500, 10_000, 1_000_000):
        made = empty((elements,), F64)
        assert made.flags.owndata and made.base is None and made.ctypes.data % 64 == 0
        made[:] = np.arange(elements)
        assert np.array_equal(pickle.loads(pickle.dumps(made)), made)
    made.resize(3_000_000, refcheck=False)
    assert np.array_equal(made[:1_000_000], np.arange(1_000_000.0)) and not made[1_000_000:].any()
    view = made[5:7]
    del made
    assert np.array_equal(view, [5.0, 6.0])


def test_numpys_own_arrays_keep_numpys_own_memory(empty):
    empty((100_000,), F64)
    with pytest.raises(MemoryError):
        empty((1 << 44, 1 << 10), F64)
    with pytest.raises(ValueError, match="negative"):
        empty((-1,), F64)
    assert np._core.multiarray.get_handler_name(np.empty(100)) == "default_allocator"


def test_a_dead_array_serves_the_next_of_about_its_size(empty):
    first = empty((1_000_000,), F64)
    at = first.ctypes.data
    view = first[10:]
    del first
    assert empty((1_000_000,), F64).ctypes.data != at, "the view still needs it"
    del view
    polyml.release_memory()
    first = empty((1_000_000,), F64)
    at = first.ctypes.data
    del first
    assert array_memory.kept_bytes() >= 8_000_000
    half = empty((400_000,), F64)
    assert half.ctypes.data != at, "more than a fifth of the block would be unused"
    same = empty((990_000,), F64)
    assert same.ctypes.data == at


def test_what_is_kept_is_at_most_the_limit_and_goes_back_when_asked(memory):
    blocks = [memory.malloc(None, 10 * MB) for _ in range(9)]
    for block in blocks:
        memory.free(None, block, 10 * MB)
        assert memory.kept() <= 64 * MB
    assert memory.kept() >= 50 * MB
    kept = memory.kept()
    assert memory.give_back() == kept and memory.kept() == 0
    large = memory.malloc(None, 65 * MB)
    memory.free(None, large, 65 * MB)
    assert memory.kept() == 0, "a block above the limit is the system's"
    block = memory.malloc(None, 10 * MB)
    memory.free(None, block, 10 * MB)
    memory.keep_at_most(MB)
    assert memory.kept() == 0


def test_the_smallest_block_that_fits_is_taken(memory):
    sizes = [MB * k // 10 for k in (12, 10, 11)]
    blocks = {size: memory.malloc(None, size) for size in sizes}
    for size in sizes:
        memory.free(None, blocks[size], size)
    assert memory.malloc(None, MB * 10 // 10) == blocks[MB]
    assert memory.malloc(None, MB * 10 // 10) == blocks[MB * 11 // 10]


def test_small_arrays_are_not_kept(memory):
    for size in (1, 5_000, 65_535):
        memory.free(None, memory.malloc(None, size), size)
    assert memory.kept() == 0


def test_cleared_and_moved_blocks_have_the_values_that_they_should(memory):
    size = 100_000
    dirty = memory.malloc(None, size)
    ctypes.memset(dirty, 0xFF, size)
    memory.free(None, dirty, size)
    clear = memory.calloc(None, size // 8, 8)
    assert clear == dirty and ctypes.string_at(clear, size) == bytes(size)
    assert memory.calloc(None, 1 << 40, 1 << 40) is None
    ctypes.memset(clear, 0x5A, size)
    moved = memory.realloc(None, clear, 3 * size)
    assert ctypes.string_at(moved, size) == b"\x5a" * size
    shorter = memory.realloc(None, moved, 1_000)
    assert ctypes.string_at(shorter, 1_000) == b"\x5a" * 1_000
    memory.free(None, memory.realloc(None, None, 10), 10)
    memory.free(None, None, 0)


def test_blocks_in_use_never_overlap_whatever_threads_do(memory):
    wrong = []

    def work(seed):
        random = np.random.default_rng(seed)
        held = {}
        for _ in range(3_000):
            if held and random.random() < 0.5:
                block = list(held)[random.integers(len(held))]
                size, value = held.pop(block)
                ends = ctypes.string_at(block, 8), ctypes.string_at(block + size - 8, 8)
                if ends != (value, value):
                    wrong.append(block)
                memory.free(None, block, size)
            else:
                size = int(random.integers(65_536, 200_000))
                block, value = memory.malloc(None, size), random.bytes(8)
                ctypes.memmove(block, value, 8)
                ctypes.memmove(block + size - 8, value, 8)
                held[block] = size, value
        for block, (size, _) in held.items():
            memory.free(None, block, size)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    memory.keep_at_most(1 << 40)
    kept = memory.kept()
    memory.forked()
    assert memory.kept() == kept == memory.give_back(), "the count is that of the places"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_the_child_of_a_fork_has_memory_of_its_own(empty):
    made = empty((500_000,), F64)
    made[:] = 1.0
    del made
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        again = empty((500_000,), F64)
        again[:] = 2.0
        del again
        os.write(writing, b"y" if polyml.release_memory() >= 4_000_000 else b"n")
        os._exit(0)
    assert os.read(reading, 1) == b"y" and os.waitpid(child, 0)[1] == 0
    for end in (reading, writing):
        os.close(end)
    again = empty((500_000,), F64)
    assert (again == 1.0).all(), "the child's writes are the child's"


@polyml.kernel
def shifted(a, s):
    b = np.empty_like(a)
    for i in range(a.shape[0]):
        b[i] = a[i] + s
    return b


def test_results_do_not_depend_on_what_dead_arrays_left(empty):
    a = np.arange(300_000.0)
    for _ in range(3):
        poison = empty(a.shape, F64)
        poison[:] = np.nan
        del poison
        found = shifted(a, 1.0)
        assert np.array_equal(found, a + 1.0)
        found[:] = np.nan


def test_the_setting_says_how_much_is_kept():
    a = np.ones(1_000_000)
    with polyml.config.scope(kept_memory_mb=0):
        shifted(a, 1.0)  # compiled before
        none = polyml.kernel(shifted.py_func)
        none(a, 1.0)
        assert array_memory.kept_bytes() == 0
    some = polyml.kernel(shifted.py_func)
    some(a, 1.0)
    assert array_memory.kept_bytes() >= 8_000_000
    with pytest.raises(polyml.ConfigError, match="0 or more"):
        polyml.config.check({"kept_memory_mb": -1})


def test_a_numpy_without_handlers_gets_aligned_arrays_all_the_same(monkeypatch):
    monkeypatch.setattr(array_memory, "empty", lambda: None)
    made = results.aligned((1_000, 10), F64)
    assert made.shape == (1_000, 10) and made.ctypes.data % 64 == 0


def test_arrays_may_outlive_the_interpreter():
    text = "import numpy, polyml.runtime.loading.array_memory as m, sys; sys.kept = m.empty()((10**6,), numpy.dtype(float)); sys.kept[:] = 1"
    ended = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0 and not ended.stderr


def test_no_memory_for_a_result_is_an_error_of_polyml():
    assert isinstance(results.impossible(MemoryError("x")), PolymlMemoryError)
