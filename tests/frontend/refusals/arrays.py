"""Refusals of expressions and functions of arrays."""

from __future__ import annotations

from polyml.errors import NotAffineError, PolymlTypeError, ValueNeeded
from tests.frontend.refusals.case import Case, array

CASES = [
    Case(
        "axis that is not constant",
        """
def f(A, k):
    return A.sum(axis=k)
""",
        ValueNeeded,
        """
kernel.py:2:23: error: `axis` must be a constant
          return A.sum(axis=k)
                            ^
  note: accepted: an int, a bool, or a tuple of ints
""",
    ),
    Case(
        "step of a slice",
        """
def f(A, k):
    A[::k] = 0
""",
        ValueNeeded,
        """
kernel.py:2:9: error: the step of a slice must be a constant that is not zero
          A[::k] = 0
              ^
  note: accepted: an int
""",
    ),
    Case(
        "linear algebra",
        """
def f(A):
    return np.linalg.inv(A)
""",
        NotAffineError,
        """
kernel.py:2:12: error: `np.linalg.inv` is not a function that polyml compiles
          return np.linalg.inv(A)
                 ^^^^^^^^^^^^^^^^
  note: polyml compiles: elementwise functions of numpy and math, functions of arrays such as np.sum, min, max, abs, pow, len, and casts such as np.float32
""",
    ),
    Case(
        "array as a bound",
        """
def f(A):
    for i in range(A):
        A[i] = 0
""",
        PolymlTypeError,
        """
kernel.py:2:20: error: an array of 1 dimension stands where a number is needed
          for i in range(A):
                         ^
  note: accepted: a number, an element of an array, a reduction such as A.sum() or A.any()
""",
        [array("f8", 1)],
    ),
    Case(
        "truth of an array",
        """
def f(A):
    if A > 0:
        A[0] = 1
""",
        PolymlTypeError,
        """
kernel.py:2:8: error: an array of 1 dimension stands where a number is needed
          if A > 0:
             ^^^^^
  note: accepted: a number, an element of an array, a reduction such as A.sum() or A.any()
""",
        [array("f8", 1)],
    ),
    Case(
        "and of arrays",
        """
def f(A, B):
    return A > 0 and B > 0
""",
        PolymlTypeError,
        """
kernel.py:2:12: error: an array of 1 dimension stands where a number is needed
          return A > 0 and B > 0
                 ^^^^^
  note: accepted: a number, an element of an array, a reduction such as A.sum() or A.any()
""",
        [array("f8", 1), array("f8", 1)],
    ),
    Case(
        "array stored in an element",
        """
def f(A, n):
    A[0] = n + 1
""",
        PolymlTypeError,
        """
kernel.py:2:5: error: an array is assigned to one element
          A[0] = n + 1
          ^^^^^^^^^^^^
  note: accepted: a number
""",
        [array("f8", 1), array("f8", 1)],
    ),
    Case(
        "local array stored in an element",
        """
def f(A):
    T = np.zeros(3)
    A[0] = T
""",
        PolymlTypeError,
        """
kernel.py:3:5: error: an array is assigned to one element
          A[0] = T
          ^^^^^^^^
  note: accepted: a number
""",
        [array("f8", 1)],
    ),
    Case(
        "number that is subscripted",
        """
def f(A):
    x = 1
    A[0] = x[0]
""",
        PolymlTypeError,
        """
kernel.py:3:12: error: `x` is a number, not an array
          A[0] = x[0]
                 ^^^^
  note: accepted: a NumPy array
""",
        [array("f8", 1)],
    ),
    Case(
        "number that is sliced",
        """
def f(A, n):
    A[0] = n[1:]
""",
        PolymlTypeError,
        """
kernel.py:2:12: error: a number has no parts
          A[0] = n[1:]
                 ^^^^^
  note: accepted: an array
""",
        [array("f8", 1), 3],
    ),
    Case(
        "mask that selects",
        """
def f(A, J):
    return A.take(J > 1)
""",
        NotAffineError,
        """
kernel.py:2:12: error: a mask that selects gives an array whose size data decide
          return A.take(J > 1)
                 ^^^^^^^^^^^^^
  note: polyml compiles: numbers, slices and arrays of integers, and `A[mask] = x`
""",
        [array("f8", 1), array("i8", 1)],
    ),
    Case(
        "math of an array",
        """
def f(A):
    A[:] = math.sqrt(A)
""",
        PolymlTypeError,
        """
kernel.py:2:12: error: an array cannot be given to math.sqrt
          A[:] = math.sqrt(A)
                 ^^^^^^^^^^^^
  note: accepted: NumPy's elementwise functions
""",
        [array("f8", 1)],
    ),
    Case(
        "max of arrays",
        """
def f(A, B):
    A[:] = max(A, B)
""",
        PolymlTypeError,
        """
kernel.py:2:12: error: an array cannot be given to max, which compares two numbers
          A[:] = max(A, B)
                 ^^^^^^^^^
  note: accepted: NumPy's elementwise functions
""",
        [array("f8", 1), array("f8", 1)],
    ),
    Case(
        "int of an array",
        """
def f(A):
    A[:] = int(A)
""",
        PolymlTypeError,
        """
kernel.py:2:12: error: an array cannot be given to int(...)
          A[:] = int(A)
                 ^^^^^^
  note: accepted: NumPy's elementwise functions
""",
        [array("f8", 1)],
    ),
    Case(
        "float result in place in integers",
        """
def f(A):
    A += 0.5
""",
        PolymlTypeError,
        """
kernel.py:2:5: error: the result is float64, which an array of i64 does not take in place
          A += 0.5
          ^^^^^^^^
  note: accepted: an assignment with =, which converts
""",
        [array("i8", 1)],
    ),
    Case(
        "@ of a number",
        """
def f(A, x):
    return A @ x
""",
        PolymlTypeError,
        """
kernel.py:2:12: error: @ takes arrays, not numbers
          return A @ x
                 ^^^^^
  note: accepted: *
""",
        [array("f8", 1), 2.0],
    ),
]
