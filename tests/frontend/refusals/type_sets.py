"""Refusals of constants that do not fit, and numbers whose type depends on the path."""

from __future__ import annotations

import numpy as np

from polyml.errors import PolymlOverflowError, PolymlTypeError
from tests.frontend.refusals.case import Case, array

CASES = [
    Case(
        "constant does not fit",
        """
def f(A):
    A[0] = A[1] + 300
""",
        PolymlOverflowError,
        """
kernel.py:2:19: error: 300 does not fit int8
          A[0] = A[1] + 300
                        ^^^
  note: accepted: an integer from -128 to 127, the range of int8
""",
        args=[array("i1", 1)],
    ),
    Case(
        "stored constant does not fit",
        """
def f(A):
    A[0] = -1
""",
        PolymlOverflowError,
        """
kernel.py:2:12: error: -1 does not fit uint8
          A[0] = -1
                 ^^
  note: accepted: an integer from 0 to 255, the range of uint8
""",
        args=[array("u1", 1)],
    ),
    Case(
        "nan stored",
        """
def f(A):
    A[0] = np.nan
""",
        PolymlOverflowError,
        """
kernel.py:2:12: error: nan does not fit int32
          A[0] = np.nan
                 ^^^^^^
  note: accepted: an integer from -2147483648 to 2147483647, the range of int32
""",
        args=[array("i4", 1)],
    ),
    Case(
        "huge float",
        """
def f(A):
    A[0] = A[1] + 10 ** 400
    A[0] = A[1] + 99999999999999999999
""",
        PolymlOverflowError,
        """
kernel.py:3:19: error: 99999999999999999999 does not fit int32
          A[0] = A[1] + 99999999999999999999
                        ^^^^^^^^^^^^^^^^^^^^
  note: accepted: an integer from -2147483648 to 2147483647, the range of int32
""",
        args=[array("i4", 1)],
    ),
    Case(
        "64 bits",
        """
def f(n):
    return n + 99999999999999999999
""",
        PolymlOverflowError,
        """
kernel.py:2:16: error: this Python int does not fit 64 bits
          return n + 99999999999999999999
                     ^^^^^^^^^^^^^^^^^^^^
  note: accepted: -2**63 to 2**63 - 1
""",
        args=[2],
    ),
    Case(
        "no type for both",
        """
def f(A, n):
    x = A[0]
    if n > 0:
        x = x / 2
    return x
""",
        PolymlTypeError,
        """
kernel.py:2:5: error: `x` has no one type that holds float64 or int64
          x = A[0]
          ^^^^^^^^
  note: `x` is int64 by kernel.py:2:5
  note: `x` is float64 by kernel.py:4:9
  note: accepted: a name for each type, or a conversion such as np.float64(x)
""",
        args=[np.ones(3, int), 3],
    ),
    Case(
        "weak on one path",
        """
def f(A, alpha):
    m = 1.0
    if A[0] > m:
        m = A[0]
    return m * alpha
""",
        PolymlTypeError,
        """
kernel.py:5:12: error: the type of this depends on the path the program takes: a Python float or float32
          return m * alpha
                 ^^^^^^^^^
  note: accepted: one type on all paths, by a conversion such as np.float32(0.5) where they differ
""",
        args=[array("f4", 1), 0.1],
    ),
    Case(
        "compared on one path",
        """
def f(A, alpha):
    m = A[0] if A[0] > 0 else 1.0
    return m > alpha
""",
        PolymlTypeError,
        """
kernel.py:3:12: error: the type of this depends on the path the program takes: a Python float or float32
          return m > alpha
                 ^^^^^^^^^
  note: accepted: one type on all paths, by a conversion such as np.float32(0.5) where they differ
""",
        args=[array("f4", 1), 0.1],
    ),
    Case(
        "returned on two paths",
        """
def f(A, B):
    x = A[0] if A[0] > 0 else B[0]
    return x
""",
        PolymlTypeError,
        """
kernel.py:3:12: error: the type of this depends on the path the program takes: float32 or float64
          return x
                 ^
  note: accepted: one type on all paths, by a conversion such as np.float32(0.5) where they differ
""",
        args=[array("f4", 1), array("f8", 1)],
    ),
    Case(
        "Python number of one kind or another",
        """
def f(A):
    return 1 / 3 if A[0] > 0 else 3
""",
        PolymlTypeError,
        """
kernel.py:2:12: error: the type of this depends on the path the program takes: a Python float or a Python int
          return 1 / 3 if A[0] > 0 else 3
                 ^^^^^^^^^^^^^^^^^^^^^^^^
  note: accepted: one type on all paths, by a conversion such as np.float32(0.5) where they differ
""",
        args=[array("f4", 1)],
    ),
    Case(
        "int on one path",
        """
def f(A, n):
    k = A[0] if A[0] > 0 else 2
    A[1] = k * n
""",
        PolymlTypeError,
        """
kernel.py:3:12: error: the type of this depends on the path the program takes: a Python int or int32
          A[1] = k * n
                 ^^^^^
  note: accepted: one type on all paths, by a conversion such as np.float32(0.5) where they differ
""",
        args=[array("i4", 1), 3],
    ),
    Case(
        "int or float on two paths",
        """
def f(A, B):
    x = 0
    if A[0] > 0:
        x = B[0]
    return x < A[0]
""",
        PolymlTypeError,
        """
kernel.py:5:12: error: the type of this depends on the path the program takes: float64 or int64
          return x < A[0]
                 ^^^^^^^^
  note: accepted: one type on all paths, by a conversion such as np.float32(0.5) where they differ
""",
        args=[array("i8", 1), array("f8", 1)],
    ),
    Case(
        "no common type",
        """
def f(A, n):
    x = A[0]
    if n > 1:
        x = np.int64(1)
    return x
""",
        PolymlTypeError,
        """
kernel.py:2:5: error: `x` has no one type that holds float64 or int64
          x = A[0]
          ^^^^^^^^
  note: `x` is float64 by kernel.py:2:5
  note: `x` is int64 by kernel.py:4:9
  note: accepted: a name for each type, or a conversion such as np.float64(x)
""",
        args=[array("f8", 1), 3],
    ),
    Case(
        "max no common",
        """
def f(A, n):
    A[0] = max(A[1], n)
""",
        PolymlTypeError,
        """
kernel.py:2:12: error: the result is float64 or int64: no type holds both
          A[0] = max(A[1], n)
                 ^^^^^^^^^^^^
  note: accepted: operands of one type; convert one, for instance np.float64(x)
""",
        args=[array("f8", 1), np.int64(3)],
    ),
    Case(
        "depends on path",
        """
def f(A, B):
    x = A[0] if A[0] > 0 else B[0]
    return x * A[1]
""",
        PolymlTypeError,
        """
kernel.py:3:12: error: the type of this depends on the path the program takes: float32 or float64
          return x * A[1]
                 ^^^^^^^^
  note: accepted: one type on all paths, by a conversion such as np.float32(0.5) where they differ
""",
        args=[array("f4", 1), array("f8", 1)],
    ),
    Case(
        "bool depends on path",
        """
def f(A, i):
    return (i > 0 and A[0] > 0) + (i > 1 and A[1] > 0)
""",
        PolymlTypeError,
        """
kernel.py:2:12: error: the type of this depends on the path the program takes: a Python int or bool
          return (i > 0 and A[0] > 0) + (i > 1 and A[1] > 0)
                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  note: accepted: one type on all paths, by a conversion such as np.float32(0.5) where they differ
""",
        args=[array("f4", 1), 2],
    ),
    Case(
        "full of unknown type",
        """
def f(A):
    s = 0.0
    if A[0] > 1:
        s = A[0]
    T = np.full(3, s)
    return T
""",
        PolymlTypeError,
        """
kernel.py:5:5: error: the element type of `T` is not known: the fill value is a Python float or float32
          T = np.full(3, s)
          ^^^^^^^^^^^^^^^^^
  note: accepted: np.full with dtype=
""",
        args=[array("f4", 1)],
    ),
    Case(
        "trunc",
        """
def f(A):
    return math.trunc(A[0])
""",
        PolymlTypeError,
        """
kernel.py:2:12: error: math.trunc has no rule for float32
          return math.trunc(A[0])
                 ^^^^^^^^^^^^^^^^
  note: accepted: int(x)
""",
        args=[array("f4", 1)],
    ),
    Case(
        "reciprocal",
        """
def f(A):
    return np.reciprocal(A[0])
""",
        PolymlTypeError,
        """
kernel.py:2:12: error: np.reciprocal of integers is not part of the language
          return np.reciprocal(A[0])
                 ^^^^^^^^^^^^^^^^^^^
  note: accepted: floats, or // and %
""",
        args=[array("i4", 1)],
    ),
    Case(
        "bool compared",
        """
def f(A):
    return A[0] < 99999999999999999999
""",
        PolymlOverflowError,
        """
kernel.py:2:12: error: NumPy's bool is compared with an int beyond 64 bits
          return A[0] < 99999999999999999999
                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^
  note: accepted: -2**63 to 2**63 - 1
""",
        args=[array("?", 1)],
    ),
]
