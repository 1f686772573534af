"""Refusals of operations that have no type, or none that fits."""

from __future__ import annotations

from polyml.errors import PolymlOverflowError, PolymlTypeError
from tests.frontend.refusals.case import Case, array

CASES = [
    Case(
        "count",
        """
def f(A, n):
    pass
""",
        PolymlTypeError,
        """
error: f takes 2 arguments, not 1
  note: accepted: f(A, n)
""",
        args=[1],
    ),
    Case(
        "number as array in types",
        """
def f(A, n):
    A[0] = n[0]
""",
        PolymlTypeError,
        """
kernel.py:2:12: error: `n` is a number (a Python int), not an array
          A[0] = n[0]
                 ^^^^
  note: accepted: a NumPy array
""",
        args=[array("f8", 1), 3],
    ),
    Case(
        "too many subscripts",
        """
def f(A):
    return A[0, 1]
""",
        PolymlTypeError,
        """
kernel.py:2:12: error: `A` has 1 dimension, and 2 subscripts are given
          return A[0, 1]
                 ^^^^^^^
  note: accepted: one subscript per dimension
""",
        args=[array("f8", 1)],
    ),
    Case(
        "unpacked shape",
        """
def f(A):
    n, m = A.shape
""",
        PolymlTypeError,
        """
kernel.py:2:12: error: `A` has 3 dimensions, and its shape is unpacked into 2
          n, m = A.shape
                 ^^^^^^^
  note: accepted: 3 targets
""",
        args=[array("f8", 3)],
    ),
    Case(
        "dimension",
        """
def f(A):
    return A.shape[2]
""",
        PolymlTypeError,
        """
kernel.py:2:12: error: `A` has 2 dimensions, so no dimension 2
          return A.shape[2]
                 ^^^^^^^^^^
  note: accepted: -2 to 1
""",
        args=[array("f8", 2)],
    ),
    Case(
        "len of nothing",
        """
def f(A):
    return len(A)
""",
        PolymlTypeError,
        """
kernel.py:2:12: error: `A` has 0 dimensions, so no dimension 0
          return len(A)
                 ^^^^^^
  note: accepted: an array with dimensions
""",
        args=[array("f8", 0)],
    ),
    Case(
        "float subscript",
        """
def f(A, x):
    A[2 * x] = 1
""",
        PolymlTypeError,
        """
kernel.py:2:7: error: a subscript must be an integer, not a Python float
          A[2 * x] = 1
            ^^^^^
  note: accepted: an int, or int(x)
""",
        args=[array("f8", 1), 1.5],
    ),
    Case(
        "bool subscript",
        """
def f(A, x):
    A[x > 1] = 1
""",
        PolymlTypeError,
        """
kernel.py:2:7: error: a subscript must be an integer, not a Python bool
          A[x > 1] = 1
            ^^^^^
  note: accepted: an int, or int(x)
""",
        args=[array("f8", 1), 2],
    ),
    Case(
        "float bound",
        """
def f(A, x):
    for i in range(x / 2):
        A[i] = 0
""",
        PolymlTypeError,
        """
kernel.py:2:20: error: a bound of range must be an integer, not a Python float
          for i in range(x / 2):
                         ^^^^^
  note: accepted: an int, or int(x)
""",
        args=[array("f8", 1), 4],
    ),
    Case(
        "float size",
        """
def f(x):
    T = np.zeros((3, x))
""",
        PolymlTypeError,
        """
kernel.py:2:22: error: a size must be an integer, not a Python float
          T = np.zeros((3, x))
                           ^
  note: accepted: an int, or int(x)
""",
        args=[1.5],
    ),
    Case(
        "no operation",
        """
def f(A):
    A[0] = A[1] << 2
""",
        PolymlTypeError,
        """
kernel.py:2:12: error: NumPy has no left_shift of float64 and a Python int
          A[0] = A[1] << 2
                 ^^^^^^^^^
  note: accepted: operands of types that have one; convert them, for instance with int(x) or np.float64(x)
""",
        args=[array("f8", 1)],
    ),
    Case(
        "bool minus",
        """
def f(A):
    A[0] = -A[1]
""",
        PolymlTypeError,
        """
kernel.py:2:12: error: NumPy has no negative of bool
          A[0] = -A[1]
                 ^^^^^
  note: accepted: operands of types that have one; convert them, for instance with int(x) or np.float64(x)
""",
        args=[array("?", 1)],
    ),
    Case(
        "python float bits",
        """
def f(x, y):
    return x & y
""",
        PolymlTypeError,
        """
kernel.py:2:12: error: Python has no & of a float
          return x & y
                 ^^^^^
  note: accepted: operands of types that have one; convert them, for instance with int(x) or np.float64(x)
""",
        args=[1.5, 2],
    ),
    Case(
        "power sign",
        """
def f(A, n):
    A[0] = A[1] ** n
""",
        PolymlTypeError,
        """
kernel.py:2:12: error: the exponent of an integer power may be negative
          A[0] = A[1] ** n
                 ^^^^^^^^^
  note: accepted: a constant, an unsigned exponent, or a float base, for instance float(x) ** n
""",
        args=[array("i4", 1), 2],
    ),
    Case(
        "negative power",
        """
def f(A):
    A[0] = A[1] ** np.int32(-1)
""",
        PolymlTypeError,
        """
kernel.py:2:12: error: an integer to a negative power
          A[0] = A[1] ** np.int32(-1)
                 ^^^^^^^^^^^^^^^^^^^^
  note: accepted: a float base, for instance float(x) ** -1
""",
        args=[array("i4", 1)],
    ),
    Case(
        "negative power constant",
        """
K = np.int64(-1)
def f(A):
    A[0] = A[1] ** K
""",
        PolymlTypeError,
        """
kernel.py:3:12: error: an integer to a negative power
          A[0] = A[1] ** K
                 ^^^^^^^^^
  note: accepted: a float base, for instance float(x) ** -1
""",
        args=[array("i4", 1)],
    ),
    Case(
        "negative shift",
        """
def f(n):
    return n << -1
""",
        PolymlOverflowError,
        """
kernel.py:2:12: error: a Python int is shifted by a negative count
          return n << -1
                 ^^^^^^^
  note: accepted: a count from 0
""",
        args=[2],
    ),
]
