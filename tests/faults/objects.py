"""Objects that say they are arrays, and lie: as Python code, by what they lie about.

Each is an expression over `np`, `real`, an array of 8 doubles in memory that is there, and the classes of CLASSES, the text of a module.
"""

from __future__ import annotations

CLASSES = '''
"""What the expressions are over."""

import ctypes
import warnings

import numpy as np
import polyml

warnings.simplefilter("ignore")
real = np.arange(8.0)
ADDRESS = real.__array_interface__["data"][0]


class Says:
    """An object with what is given of __array_interface__."""

    def __init__(self, **interface):
        self.__array_interface__ = {"version": 3, "shape": (8,), "typestr": "<f8", "data": (ADDRESS, False), **interface}


class Without(Says):
    def __init__(self, key):
        super().__init__()
        del self.__array_interface__[key]


class Is:
    """An object whose __array_interface__ is that."""

    def __init__(self, value):
        self.__array_interface__ = value


def raising(error, name="__array_interface__"):
    def get(self):
        raise error

    return type("Raising", (), {name: property(get)})()


def calling(name, function, **more):
    return type("Calling", (), {name: function, **more})()


class Recursive:
    def __array__(self, *args, **kwargs):
        return np.asarray(self)


class Lying:
    __class__ = property(lambda self: 1 // 0)


class Number(int):
    def __int__(self):
        raise RuntimeError("no number")

    __index__ = __int__


class Real(float):
    def __float__(self):
        raise RuntimeError("no number")


def nested(depth):
    found = []
    for _ in range(depth):
        found = [found]
    return found


circle = []
circle.append(circle)


def right(given, got):
    """That what was accepted is what NumPy makes of it: bytes as numbers, and what only has DLPack's protocol, here `real`."""
    read = np.asarray(memoryview(given)) if isinstance(given, bytes) else np.asarray(given)
    np.testing.assert_array_equal(2.0 * (read if read.ndim else real)[: len(got)], got)


@polyml.kernel(fallback="error")
def k(A, B):
    for i in range(B.shape[0]):
        B[i] = 2.0 * A[i]
'''

_SIZES = (
    "10**12",
    "2**31",
    "2**40",
    "2**59",
    "2**60",
    "2**62",
    "2**63 - 1",
    "2**63",
    "2**64",
    "10**30",
    "-1",
    "-2**62",
    "0",
    "1",
    "8",
    "9",
    "4096",
    "True",
)
_TYPES = (
    "<f8", ">f8", "=f8", "|f8", "f8", "<f4", "<f2", "<f16", "<f0", "<f-8", "<i8", "|b1", "<c16", "|O8", "|V8", "|S8", "<U2", "<M8[ns]", "<m8", "",
    "<", "x", "<f9999999999999999999", "<z8", "\\x00", "<f8" * 50,
)  # fmt: skip
_ADDRESSES = ("0", "1", "7", "None", "-1", "-8", "2**63", "2**64", "2**64 - 8", "2**70", "2**47", "0xffffffffff600000", "'0x10'", "'zz'", "()", "1.5", "ADDRESS + 1",
              "ADDRESS - 2**30", "ADDRESS + 2**40")  # fmt: skip
_SHAPES = (
    "()", "None", "8", "'8'", "(8,)", "[8]", "(8, 1)", "(2, 4)", "(None,)", "(8.0,)", "('8',)", "(1,) * 64", "(1,) * 65", "(1,) * 10**5", "(2**32, 2**32)",
    "(2**21, 2**21, 2**21)", "(0, 10**12)", "(-1, -8)", "{8}", "{}", "(8, 8, 8)", "np.array([8])", "((8,),)", "range(8)", "(Number(8),)",
)  # fmt: skip
_STRIDES = (
    "None", "()", "(8,)", "(0,)", "(-8,)", "(1,)", "(7,)", "(2**40,)", "(-2**40,)", "(2**62,)", "(2**63,)", "(10**30,)", "(8, 8)", "8", "'8'", "(None,)",
    "(8.0,)", "(16,)", "(4096,)", "(2**31,)",
)  # fmt: skip
_ERRORS = ("RuntimeError('no')", "AttributeError('no')", "MemoryError()", "RecursionError()", "KeyError(1)", "OSError(5, 'no')", "ZeroDivisionError()",
           "StopIteration()", "BufferError()", "OverflowError()", "UnicodeError()", "ValueError('x' * 10**6)", "type('E', (Exception,), {'__str__': lambda s: 1 // 0})()")  # fmt: skip
_ATTRIBUTES = (
    "__array_interface__",
    "__array__",
    "__dlpack__",
    "__dlpack_device__",
    "__array_struct__",
    "__buffer__",
    "__len__",
    "__getitem__",
    "__cuda_array_interface__",
)
_RESULTS = (
    "None",
    "1",
    "'x'",
    "object()",
    "self",
    "[self]",
    "real",
    "real[::2]",
    "real.astype('>f8')",
    "np.ma.array(real)",
    "np.matrix([[1.0]])",
    "circle",
    "b'x'",
    "lambda: 0",
)
_OTHERS = (
    "Recursive()", "Lying()", "Number(3)", "Real(3.0)", "nested(100)", "nested(100_000)", "circle", "[1.0, circle]", "[[1.0], [1.0, 2.0]]", "{}", "set()", "None",
    "'x' * 10**6", "b'12345678'", "bytearray(64)", "memoryview(b'12345678')", "memoryview(bytearray(64)).cast('d')", "memoryview(bytearray(64))[::2]",
    "(ctypes.c_double * 8)()", "(ctypes.c_double * 0)()", "(ctypes.c_double * 8).from_address(8)",
    "(ctypes.c_double * 10**9).from_address(ADDRESS)", "ctypes.c_double(1.0)", "ctypes.cast(8, ctypes.POINTER(ctypes.c_double))", "ctypes.c_void_p(0)",
    "range(8)", "range(10**12)", "iter([1.0])", "(x for x in [1.0])", "np.float64", "float", "k", "polyml", "np", "Ellipsis", "NotImplemented", "slice(3)", "real.__array_interface__",
    "np.ma.array(real, mask=True)", "np.matrix([[1.0]])", "np.rec.array([(1.0,)], dtype=[('a', 'f8')])", "np.array([object()])", "np.array(['x'])", "np.datetime64(0, 'ns')",
    "np.lib.stride_tricks.as_strided(real, (10**6,), (0,))", "np.broadcast_to(1.0, (8,))", "np.broadcast_to(1.0, (2,) * 30)", "real[:0]", "np.zeros((0, 2**40))",
    "np.zeros((1,) * 64)", "np.zeros((8,) + (1,) * 40)", "real[::-1]", "real[::3]", "real.astype('>f8')", "real.astype(np.longdouble)", "np.frombuffer(bytes(65), np.uint8)[1:].view('f8')",
    "10**30", "-2**63 - 1", "10**5000", "float('nan')", "complex('inf')", "True", "1e400", "np.void(b'12345678')", "Is(None)", "Is(7)", "Is({})", "Is([])", "Is('x')",
    "Is(circle)", "Is({'version': 3})", "Says(version=2)", "Says(version=None)", "Says(version=10**30)", "Says(descr=[('', '<f8')])", "Says(descr=7)", "Says(mask=real)", "Says(offset=8)",
    "Says(data=real)", "Says(data=b'12345678')", "Says(data=b'')", "Says(data=7)", "Says(data=None)", "Says(data=[ADDRESS, False])", "Says(data=(ADDRESS,))", "Says(data=(ADDRESS, False, 1))",
    "Says(data=(ADDRESS, True))", "Says(data=(None, False))", "Says(data=real, offset=2**40)", "Says(data=bytearray(64), offset=-8)", "Says(strides=(8,), shape=(10**12,), data=(0, False))",
    "Without('version')", "Without('shape')", "Without('typestr')", "Without('data')", "Without('data') if 0 else Says(data=(ADDRESS, 'x'))",
    "calling('__dlpack__', lambda self, **kw: 7, __dlpack_device__=lambda self: (1, 0))", "calling('__dlpack__', lambda self, **kw: 7, __dlpack_device__=lambda self: (2, 0))",
    "calling('__dlpack__', lambda self, **kw: real.__dlpack__(), __dlpack_device__=lambda self: (1, 0))", "calling('__dlpack__', lambda self: real.__dlpack__(), __dlpack_device__=lambda self: 'x')",
    "calling('__dlpack__', None, __dlpack_device__=None)", "calling('__cuda_array_interface__', {'version': 3, 'shape': (8,), 'typestr': '<f8', 'data': (1 << 40, False)})",
    "calling('__array_struct__', 7)", "calling('__array_struct__', b'x')", "calling('__getattr__', lambda self, name: real)", "calling('__getattr__', lambda self, name: 1 // 0)",
    "calling('__getattr__', lambda self, name: getattr(self, name))", "calling('__getattribute__', lambda self, name: getattr(self, name))",
)  # fmt: skip
OBJECTS = (
    *(f"Says(shape=({size},))" for size in _SIZES),
    *(f"Says(shape=(2, {size}), strides=({size}, 8))" for size in _SIZES),
    *(f"Says(typestr={name!r})" for name in _TYPES),
    *(f"Says(data=({address}, False))" for address in _ADDRESSES),
    *(f"Says(data=({address}, False), shape=({size},))" for address in _ADDRESSES for size in _SIZES[:4]),
    *(f"Says(shape={shape})" for shape in _SHAPES),
    *(f"Says(strides={strides})" for strides in _STRIDES),
    *(f"raising({error}, {name!r})" for error in _ERRORS for name in _ATTRIBUTES),
    *(f"calling({name!r}, lambda self, *args, **kwargs: {result})" for name in _ATTRIBUTES for result in _RESULTS),
    *_OTHERS,
)
