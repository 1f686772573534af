"""What callers may pass, and what they are told of anything else."""

import array
import ctypes

import numpy as np
import pytest

from polyml.errors import PolymlOverflowError, PolymlTypeError
from polyml.runtime.calling.arguments import _share, argument, distinct, not_writable, overlap

TAKES = "polyml takes numbers, NumPy arrays, and objects with __array_interface__, the buffer protocol or DLPack"


class WithInterface:
    def __init__(self, values):
        self.values = np.asarray(values)

    @property
    def __array_interface__(self):
        return self.values.__array_interface__


class WithDLPack:
    def __init__(self, values):
        self.values = np.asarray(values)

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


class WithArray:
    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values)


MEMORY = np.arange(4.0)
SHARED = [
    MEMORY,
    MEMORY.view(type("Sub", (np.ndarray,), {})),
    WithInterface(MEMORY),
    WithDLPack(MEMORY),
    memoryview(MEMORY),
    array.array("d", [0, 1, 2, 3]),
    (ctypes.c_double * 4)(0, 1, 2, 3),
]


@pytest.mark.parametrize("given", SHARED, ids=lambda v: type(v).__name__)
def test_an_array_like_becomes_an_array_of_the_same_memory(given):
    found = argument("A", given)
    assert type(found.value) is np.ndarray and not found.copied
    assert (str(found.type), found.layout, found.value.tolist()) == ("f64[:]", "C", [0, 1, 2, 3])
    if found.value.flags.writeable:
        found.value[0] = 9
        assert argument("A", given).value[0] == 9
        found.value[0] = 0


@pytest.mark.parametrize("given", [[0.0, 1.0], (0.0, 1.0), WithArray([0.0, 1.0])], ids=lambda v: type(v).__name__)
def test_a_sequence_is_copied_and_so_cannot_be_written(given):
    found = argument("A", given)
    assert found.copied and found.value.tolist() == [0, 1]
    assert str(not_writable(found)) == (
        f"error: argument `A` is written, but a {type(given).__name__} would have to be copied\n"
        "  note: pass a NumPy array, or an object with __array_interface__, the buffer protocol or DLPack"
    )


def test_a_read_only_array_cannot_be_written():
    fixed = np.zeros(3)
    assert not_writable(argument("A", fixed)) is None
    fixed.flags.writeable = False
    assert str(not_writable(argument("A", fixed))) == "error: argument `A` is written, but the array is read-only"
    assert not_writable(argument("A", b"abc")) is not None


@pytest.mark.parametrize("name, kind", [("longlong", "i64[:]"), ("ulonglong", "u64[:]"), ("long", "i64[:]"), ("intc", "i32[:]")])
def test_other_names_of_the_same_numbers_are_the_same_type(name, kind):
    original = np.arange(3, dtype=name)
    found = argument("A", original)
    assert str(found.type) == kind
    assert found.value.dtype is np.dtype(found.value.dtype.name)
    assert np.shares_memory(found.value, original)
    scalar = argument("n", original[2])
    assert str(scalar.type) == kind[:3] and type(scalar.value) is np.dtype(scalar.value.dtype.name).type


@pytest.mark.parametrize(
    "given, kind, exact",
    [
        (True, "pybool", bool), (3, "int", int), (2.5, "float", float), (np.float32(2), "f32", np.float32),
        (np.float64(2), "f64", np.float64), (np.True_, "bool", np.bool_), (np.uint8(3), "u8", np.uint8),
        (type("Whole", (int,), {})(3), "int", int), (type("Real", (float,), {})(3), "float", float),
    ],
    ids=repr,
)  # fmt: skip
def test_a_number_keeps_its_type(given, kind, exact):
    found = argument("x", given)
    assert (str(found.type), found.layout, found.value) == (kind, "", given)
    assert type(found.value) is exact


def test_layouts_are_told():
    c = np.zeros((3, 4))
    for given, layout in [(c, "C"), (c.T, "F"), (c[:, ::2], "A"), (c[::-1], "C"), (c[:, ::-1], "A"), (c[:0], "C")]:
        assert argument("A", given).layout == layout
    shifted = np.frombuffer(bytearray(33), np.uint8)[1:].view(np.float64)
    assert argument("A", shifted).layout == "A"


REFUSED = [
    ("text", "argument `A` is a str, neither a number nor an array", TAKES),
    (None, "argument `A` is a NoneType, neither a number nor an array", TAKES),
    ({1: 2}, "argument `A` is a dict, neither a number nor an array", TAKES),
    (range, "argument `A` is a type, neither a number nor an array", TAKES),
    (
        [[1], [2, 3]],
        "argument `A`, a list, cannot be read as an array: setting an array element with a sequence.",
        TAKES,
    ),
    (
        np.ma.masked_array([1.0, 2.0], [True, False]),
        "argument `A` is a masked array, whose mask a kernel would ignore",
        "pass x.data, or x.filled(value)",
    ),
    (np.zeros(2, "G"), f"`A` is an array of {np.dtype('G').name}", "accepted: complex128"),
    (np.zeros(2, ">f8"), "`A` is an array of float64 in foreign byte order", "accepted: complex128"),
    (np.zeros(2, "O"), "`A` is an array of object", "accepted: complex128"),
    (np.zeros(2, "f8,i4"), "`A` is an array of void96", "accepted: complex128"),
    (np.clongdouble(2), f"`A` is a {np.dtype('G').name} number", "accepted: complex128"),
    (["a"], "`A` is an array of str", "accepted: complex128"),
]


@pytest.mark.parametrize("given, message, note", REFUSED, ids=lambda v: type(v).__name__)
def test_what_is_refused_is_told_what_is_accepted(given, message, note):
    with pytest.raises(PolymlTypeError) as caught:
        argument("A", given)
    assert caught.value.message.startswith(message)
    assert caught.value.notes[0].startswith(note)


@pytest.mark.parametrize("number, shown", [(2**63, str(2**63)), (-(2**64), str(-(2**64))), (10**50, "a number of 167 bits")])
def test_an_int_of_more_than_64_bits_is_refused(number, shown):
    with pytest.raises(PolymlOverflowError) as caught:
        argument("n", number)
    assert str(caught.value) == (
        f"error: argument `n` is {shown}, which does not fit 64 bits\n  note: Python integers are held in 64 bits inside a kernel"
    )


def test_overlap_is_found_element_by_element():
    memory = np.zeros(20)
    even, odd = memory[::2], memory[1::2]
    assert overlap({"a": even, "b": odd}, ("a",)) is None
    assert overlap({"a": even, "b": memory[4:6]}, ("a",)) == ("a", "b")
    assert overlap({"a": even, "b": memory[4:6]}, ()) is None
    assert overlap({"a": even, "b": memory[4:6]}, ("b",)) == ("b", "a")
    matrix = memory.reshape(4, 5)
    assert overlap({"a": matrix[:, :2], "b": matrix[:, 2:]}, ("a", "b")) is None
    assert overlap({"a": matrix[:, :3], "b": matrix[:, 2:]}, ("a", "b")) == ("a", "b")


def test_an_array_may_overlap_itself():
    wide = np.lib.stride_tricks.as_strided
    for strides, shape, expected in [
        ((0,), (3,), False),
        ((0,), (1,), True),
        ((8, 8), (2, 2), False),
        ((8, 0), (0, 5), True),
    ]:
        view = wide(np.zeros(9), shape, strides)
        assert distinct(view) is expected
        assert (overlap({"a": view}, ("a",)) is None) is expected


def test_overlap_that_is_too_hard_to_tell_counts():
    # The hard case of NumPy's documentation of shares_memory.
    memory, wide = np.zeros(192163377, np.int8), np.lib.stride_tricks.as_strided
    a = wide(memory, strides=(36674, 61119, 85569), shape=(1049, 1049, 1049))
    b = wide(memory[64023025:], strides=(12223, 12224, 1), shape=(1049, 1049, 1))
    with pytest.raises(np.exceptions.TooHardError):
        np.shares_memory(a, b, max_work=10_000)
    assert _share(a, b)


# Objects that lie


class Says:
    def __init__(self, **interface):
        self.kept = np.arange(8.0)
        address = self.kept.__array_interface__["data"][0]
        self.__array_interface__ = {"version": 3, "shape": (8,), "typestr": "<f8", "data": (address, False), **interface}


def lies(original) -> str:
    with pytest.raises(PolymlTypeError) as caught:
        argument("A", original)
    return caught.value.message


@pytest.mark.parametrize(
    "interface",
    [
        {"shape": (10**12,)},
        {"shape": (2**59,)},
        {"strides": (2**40,)},
        {"strides": (-(2**40),)},
        {"data": (8, False)},
        {"data": (2**64 - 8, False)},
    ],
)
def test_memory_that_is_not_there_is_not_read(interface):
    assert "where this process has no such memory" in (told := lies(Says(**interface))) or "no memory of a process" in told


def test_memory_that_is_there_is_taken():
    whole = Says()
    assert np.shares_memory(argument("A", whole).value, whole.kept) and argument("A", Says(shape=(0,))).value.size == 0
    assert list(argument("A", Says(shape=(4,), strides=(16,))).value) == [0, 2, 4, 6]


@pytest.mark.parametrize("error", [RuntimeError("no"), KeyError(1), OverflowError(), RecursionError(), ZeroDivisionError("no")])
@pytest.mark.parametrize("name", ["__array_interface__", "__array__", "__dlpack__", "__class__"])
def test_what_an_object_raises_says_why_it_is_no_array(name, error):
    def get(self):
        raise error

    assert f"{type(error).__name__}" in lies(type("Raising", (), {name: property(get)})())


def test_an_array_that_is_itself_ends():
    class Itself:
        def __array__(self, *args, **kwargs):
            return np.asarray(self)

    assert "RecursionError" in lies(Itself())


def test_numbers_are_taken_as_such_whatever_their_class_does():
    def refuse(self):
        raise RuntimeError("no number")

    given = (
        type("Number", (int,), {"__int__": refuse, "__index__": refuse, "__lt__": refuse})(3),
        type("Real", (float,), {"__float__": refuse})(2.5),
    )
    assert [(type(v), v) for v in (argument("n", each).value for each in given)] == [(int, 3), (float, 2.5)]


@pytest.mark.parametrize(
    "interface", [{"data": b"12345678"}, {"data": b""}, {"data": bytearray(64), "offset": 8}, {"data": bytearray(64), "offset": -8}]
)
def test_what_lies_outside_of_its_buffer_is_no_array(interface):
    with pytest.raises(PolymlTypeError, match="and its buffer has"):
        argument("A", Says(**interface))


def test_what_fills_its_buffer_is_an_array():
    assert argument("A", Says(data=bytearray(64))).value.tolist() == [0.0] * 8
    assert argument("A", memoryview(np.arange(16.0).reshape(4, 4)[:, ::2])).value.tolist() == [[0, 2], [4, 6], [8, 10], [12, 14]]
