"""The native entry and the one in Python take the same arguments and hand the kernel the same words."""

import gc
import random
import struct
import sys
import threading

import numpy as np
import pytest

from polyml.dtypes import FIXED
from polyml.numpy_dtypes import numpy_dtype
from polyml.runtime.calling import arguments, binding, entry, native_entry
from polyml.runtime.calling.binding import ABSENT, MISS, CaptureGuard, Outcome
from polyml.runtime.calling.python_entry import python_entry
from tests.runtime.handmade import artifact, code, returning, spy

ENTRIES = {"native": native_entry.native_entry, "python": python_entry}


@pytest.fixture(params=ENTRIES)
def make(request):
    def bind(made, loaded, *, threads=1, guards=(), check_overlap=True):
        return ENTRIES[request.param](made, loaded, threads, guards, check_overlap)

    return bind


def test_this_interpreter_has_the_native_entry():
    assert native_entry.works()


def slots_of(make, made, *values, threads=1) -> list[int]:
    """The words the kernel gets for these arguments; a last int parameter of `made` is the spy's own."""
    count = binding.slot_count(made)
    words = np.full(count, 77, dtype=np.int64)
    assert make(made, spy(count), threads=threads)(*values, words.ctypes.data) is None
    return words.tolist()[:-1]


@pytest.mark.parametrize("dtype", FIXED, ids=str)
@pytest.mark.parametrize("ndim", [0, 1, 3])
def test_an_array_arrives_as_pointer_shape_and_strides_in_bytes(make, dtype, ndim):
    array = np.zeros((2, 3, 5)[:ndim], dtype=numpy_dtype(dtype))
    made = artifact(f"{dtype}[{','.join(':' * ndim)}]", "int")
    assert slots_of(make, made, array, threads=3) == [3, array.ctypes.data, *array.shape, *array.strides]


NUMBERS = [
    ("float", -1.5, struct.unpack("<q", struct.pack("<d", -1.5))[0]),
    ("f64", np.float64(-0.0), -(2**63)),
    ("f32", np.float32(1.5), struct.unpack("<I", struct.pack("<f", 1.5))[0]),
    ("int", 2**63 - 1, 2**63 - 1),
    ("int", -(2**63), -(2**63)),
    ("int", -1, -1),
    ("pybool", True, 1),
    ("pybool", False, 0),
    ("bool", np.True_, 1),
    ("bool", np.False_, 0),
    *((f"i{b}", np.dtype(f"int{b}").type(-(2 ** (b - 1))), -(2 ** (b - 1))) for b in (8, 16, 32, 64)),
    *((f"u{b}", np.dtype(f"uint{b}").type(2**b - 1), 2**b - 1) for b in (8, 16, 32)),
    ("u64", np.uint64(2**64 - 1), -1),
]


@pytest.mark.parametrize("name, value, word", NUMBERS)
def test_a_number_arrives_in_one_word(make, name, value, word):
    assert slots_of(make, artifact(name, "int"), value) == [1, word]


@pytest.mark.parametrize("name, value, _", NUMBERS)
def test_a_number_of_any_other_type_is_a_miss(make, name, value, _):
    call = make(artifact(name), returning(0))
    assert call(value) is None
    for other in (
        1.0,
        np.float64(1),
        np.float32(1),
        1,
        np.int32(1),
        np.uint8(1),
        True,
        np.True_,
        "1",
        None,
        np.zeros(()),
    ):
        if type(other) is not type(value):
            assert call(other) is MISS


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 10**40])
def test_a_python_int_of_more_than_64_bits_is_a_miss(make, value):
    assert make(artifact("int"), returning(0))(value) is MISS


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros(3, np.float32),
        np.zeros(3, np.int64),
        np.zeros(3, ">f8"),
        np.zeros((3, 1)),
        np.zeros(()),
        np.zeros(3).tolist(),
        np.float64(3),
        memoryview(np.zeros(3)),
        np.zeros(3).view(type("Sub", (np.ndarray,), {})),
    ],
    ids=lambda value: f"{type(value).__name__}-{getattr(value, 'dtype', '')}-{getattr(value, 'ndim', '')}",
)
def test_an_array_of_another_type_is_a_miss(make, wrong):
    call = make(artifact("f64[:]"), returning(0))
    assert call(np.zeros(3)) is None
    assert call(wrong) is MISS


@pytest.mark.parametrize("count", [0, 1, 3, 7])
def test_another_number_of_arguments_is_a_miss(make, count):
    assert make(artifact("float", "float"), returning(0))(*[1.0] * count) is MISS


def test_a_kernel_without_arguments_runs(make):
    assert make(artifact(), returning(0))() is None


def some_array(rng: random.Random) -> np.ndarray:
    """A view of up to three dimensions with any order, sign, step and offset, perhaps empty or not aligned."""
    ndim = rng.randrange(4)
    base = np.zeros([rng.choice((0, 1, 1, 2, 3, 4)) for _ in range(ndim)])
    if rng.random() < 0.2:
        base = np.frombuffer(bytearray(8 * base.size + 8), np.uint8)[1 : 1 + 8 * base.size].view(np.float64).reshape(base.shape)
    array = base.transpose(rng.sample(range(ndim), ndim))
    steps = tuple(slice(None, None, rng.choice((1, 1, 1, -1, 2, -2))) for _ in range(ndim))
    array = array[(*steps, ...)]
    if rng.random() < 0.1 and array.ndim:
        array = np.lib.stride_tricks.as_strided(array, strides=tuple(rng.choice((0, 8, 16)) for _ in array.shape))
    return array


def test_both_entries_agree_on_every_layout():
    rng, seen = random.Random(1), set()
    for _ in range(600):
        array = some_array(rng)
        kind = f"f64[{','.join(':' * array.ndim)}]"
        for layout in "CFA":
            calls = [make(artifact(kind, layouts=layout), returning(0), 1, (), True) for make in ENTRIES.values()]
            taken = [call(array) is None for call in calls]
            assert taken == [layout in arguments.layouts(array)] * 2, (layout, array.shape, array.strides)
        seen.add(arguments.layouts(array))
    assert seen >= {"C", "F", "A", "CFA"}


def test_the_layout_of_an_array_has_the_strides_it_promises():
    rng = random.Random(2)
    for _ in range(600):
        array = some_array(rng)
        best = arguments.layouts(array)[0]
        steps = [s for n, s in zip(array.shape, array.strides) if n > 1]
        aligned = all(v % 8 == 0 for v in (array.ctypes.data, *steps))
        if best == "A":
            assert not aligned or (array.strides[-1] != 8 and array.strides[0] != 8)
            continue
        edge = -1 if best == "C" else 0
        assert aligned
        assert array.ndim == 0 or array.size == 0 or array.shape[edge] == 1 or array.strides[edge] == 8


def test_strides_of_single_elements_are_normal(make):
    array = np.lib.stride_tricks.as_strided(np.zeros(4), shape=(1, 3), strides=(13, 8))
    assert slots_of(make, artifact("f64[:,:]", "int"), array) == [1, array.ctypes.data, 1, 3, 8, 8]


def test_a_written_array_must_be_writable(make):
    fixed = np.zeros(3)
    fixed.flags.writeable = False
    assert make(artifact("f64[:]"), returning(0))(fixed) is None
    assert make(artifact("f64[:]", written=("a",)), returning(0))(fixed) is MISS


def test_arrays_in_each_others_memory_are_a_miss_if_one_is_written(make):
    rng, memory, hits = random.Random(3), np.zeros(64), 0
    for _ in range(200):
        starts, steps = (rng.randrange(24), rng.randrange(24)), (rng.choice((1, -1, 2)), rng.choice((1, 2, -2)))
        pair = [memory[s : s + rng.randrange(12)][::step] for s, step in zip(starts, steps)]
        layouts = "".join(arguments.layouts(array)[0] for array in pair)
        overlap = np.may_share_memory(*pair)
        hits += overlap
        for written in ("", "a", "b", "ab"):
            made = artifact("f64[:]", "f64[:]", layouts=layouts, written=tuple(written))
            missed = make(made, returning(0))(*pair) is MISS
            assert missed or written == "" or not np.shares_memory(*pair)
            assert not missed or (overlap and written != "")
            assert make(made, returning(0), check_overlap=False)(*pair) is None
    assert 20 < hits < 180


def test_two_arrays_of_no_elements_never_overlap(make):
    memory = np.zeros(8)
    call = make(artifact("f64[:]", "f64[:]", written=("a",)), returning(0))
    assert call(memory[3:3], memory) is None
    assert call(memory, memory[3:3]) is None
    assert call(memory, memory) is MISS


def addresses_are_distinct(array: np.ndarray) -> bool:
    taken = [sum(i * s for i, s in zip(index, array.strides)) + byte for index in np.ndindex(array.shape) for byte in range(8)]
    return len(set(taken)) == len(taken)


def test_a_written_array_that_overlaps_itself_is_a_miss():
    rng, found = random.Random(4), set()
    for _ in range(300):
        shape = tuple(rng.choice((0, 1, 2, 3)) for _ in range(rng.randrange(1, 4)))
        strides = tuple(rng.choice((0, 8, 16, 24, 48, 72, -8, -24)) for _ in shape)
        array = np.lib.stride_tricks.as_strided(np.zeros(400)[200:], shape, strides, writeable=True)
        kind = f"f64[{','.join(':' * array.ndim)}]"
        layout = arguments.layouts(array)[0]
        taken = []
        for make in ENTRIES.values():
            taken.append(make(artifact(kind, layouts=layout, written=("a",)), returning(0), 1, (), True)(array) is None)
            assert make(artifact(kind, layouts=layout), returning(0), 1, (), True)(array) is None
            assert make(artifact(kind, layouts=layout, written=("a",)), returning(0), 1, (), False)(array) is None
        assert taken[0] == taken[1], (shape, strides)
        if taken[0]:
            assert addresses_are_distinct(array), (shape, strides)
        elif array.ndim == 1 or shape.count(1) >= array.ndim - 1:
            assert not addresses_are_distinct(array), (shape, strides)
        found.add((taken[0], addresses_are_distinct(array)))
    assert {(True, True), (False, False)} <= found


@pytest.mark.parametrize("status", [1, 7, -1, -2, 2**40])
def test_a_status_other_than_zero_comes_back_as_it_is(make, status):
    outcome = make(artifact(), returning(status))()
    assert type(outcome) is Outcome and outcome is not MISS
    assert outcome.status == status


def closure(value):
    def inner():
        return value

    def change(new):
        nonlocal value
        value = new

    return inner.__closure__[0], change


def test_a_changed_global_is_a_miss(make):
    place = {"N": 1000, "other": 1}
    call = make(artifact(), returning(0), guards=(CaptureGuard(place, "N", place["N"]), CaptureGuard(place, "range", ABSENT)))
    assert call() is None
    place["N"] = 2
    assert call() is MISS
    place["N"] = 1000.0
    assert call() is MISS
    del place["N"]
    assert call() is MISS


def test_a_builtin_that_a_global_now_hides_is_a_miss(make):
    place = {}
    call = make(artifact(), returning(0), guards=(CaptureGuard(place, "range", ABSENT),))
    assert call() is None
    place["range"] = list
    assert call() is MISS


def test_a_changed_closure_variable_is_a_miss(make):
    value = object()
    cell, change = closure(value)
    call = make(artifact(), returning(0), guards=(CaptureGuard(cell, "value", value),))
    assert call() is None
    change(object())
    assert call() is MISS
    change(value)
    assert call() is None


def test_an_empty_cell_is_compared_too(make):
    def outer(fill):
        def inner():
            return late

        if fill:
            late = 1
        return inner.__closure__[0]

    for cell, expected in ((outer(False), True), (outer(True), False)):
        call = make(artifact(), returning(0), guards=(CaptureGuard(cell, "late", ABSENT),))
        assert (call() is None) is expected


def test_calls_keep_the_reference_counts():
    value, other = object(), {}
    cell, _ = closure(value)
    place = {"N": value}
    guards = (CaptureGuard(place, "N", value), CaptureGuard(cell, "value", value), CaptureGuard(place, "range", ABSENT))
    call = native_entry.native_entry(artifact("f64[:]", "int"), returning(3), 1, guards, True)
    array, number = np.zeros(3), 2**40
    gc.collect()
    subjects = (value, array, number, MISS, place, cell, other)
    before = [sys.getrefcount(s) for s in subjects]
    for _ in range(200):
        call(array, number)
        call(array, other)
        call(other, number)
        call(array, 2**80)
    changes = [sys.getrefcount(s) - b for s, b in zip(subjects, before)]
    assert max(map(abs, changes)) < 100  # a lost reference would count 200 at least


def test_what_the_entry_needs_lives_as_long_as_it():
    call = native_entry.native_entry(
        artifact("f64[:]", "int"), spy(5), 1, (CaptureGuard({"N": 1}, "N", 1), CaptureGuard(closure("x" * 3)[0], "v", "xxx")), True
    )
    call = native_entry.native_entry(artifact("float"), returning(0), 1, (CaptureGuard({"key" * 2: 5}, "keykey", 5),), True)
    assert call(1.0) is None


WAIT = """
define i64 @kernel(ptr %slots) {
entry:
  %flag.p = getelementptr i64, ptr %slots, i64 1
  %flag = load ptr, ptr %flag.p
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %again ]
  %set = load atomic i64, ptr %flag seq_cst, align 8
  %done = icmp ne i64 %set, 0
  br i1 %done, label %yes, label %again
again:
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, 20000000000
  br i1 %more, label %loop, label %no
yes:
  ret i64 0
no:
  ret i64 1
}
"""


def test_other_python_threads_run_while_the_kernel_does(make):
    flag = np.zeros(1, np.int64)
    timer = threading.Timer(0.02, lambda: flag.__setitem__(0, 1))
    timer.start()
    assert make(artifact("i64[:]"), code(WAIT))(flag) is None  # it waits for the timer's thread
    timer.join()


def test_an_interpreter_laid_out_otherwise_gets_the_entry_in_python(monkeypatch):
    monkeypatch.setattr(native_entry, "works", lambda: False)
    call = entry.bind(artifact("f64[:]"), returning(0), threads=1)
    assert call.__module__ == "polyml.runtime.calling.python_entry"
    assert call(np.zeros(3)) is None
    assert call(np.zeros((3, 3))) is MISS
