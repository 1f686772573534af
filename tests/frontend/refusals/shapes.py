"""Refusals of shapes, unpacking and allocations."""

from __future__ import annotations

from polyml.errors import LanguageError, NotAffineError
from tests.frontend.refusals.case import Case, array

CASES = [
    Case(
        "shape subscript",
        """
def f(A, n):
    return A.shape[n]
""",
        LanguageError,
        """
kernel.py:2:20: error: the subscript of a shape must be a constant integer
          return A.shape[n]
                         ^
  note: accepted: `A.shape[0]`
""",
    ),
    Case(
        "shape slice",
        """
def f(A):
    return A.shape[1:]
""",
        NotAffineError,
        """
kernel.py:2:12: error: a slice of a shape of which the number of sizes is not known
          return A.shape[1:]
                 ^^^^^^^^^^^
  note: polyml compiles: `A.shape[:2]`, `A.shape[-2:]`
""",
    ),
    Case(
        "shape assigned",
        """
def f(A):
    A.shape[0] = 2
""",
        LanguageError,
        """
kernel.py:2:5: error: a shape cannot be assigned
          A.shape[0] = 2
          ^^^^^^^^^^
  note: accepted: an element `A[i, j]`, a part of an array `A[1:]`, or a local name
""",
    ),
    Case(
        "attribute assigned",
        """
def f(A):
    A.flag = 2
""",
        LanguageError,
        """
kernel.py:2:5: error: cannot assign to `A.flag` in a kernel
          A.flag = 2
          ^^^^^^
  note: accepted: an element `A[i, j]`, a part of an array `A[1:]`, or a local name
""",
    ),
    Case(
        "unpack",
        """
def f(A, B):
    a, b = 5
""",
        LanguageError,
        """
kernel.py:2:12: error: this cannot be unpacked
          a, b = 5
                 ^
  note: accepted: `a, b = x, y`, `n, m = A.shape`, an array, and a function that returns a tuple
""",
    ),
    Case(
        "unpack count",
        """
def f(A):
    a, b = 1, 2, 3
""",
        LanguageError,
        """
kernel.py:2:12: error: 3 values for 2 targets
          a, b = 1, 2, 3
                 ^^^^^^^
  note: accepted: as many values as targets
""",
    ),
    Case(
        "starred target",
        """
def f(A):
    a, *b = 1, 2
""",
        LanguageError,
        """
kernel.py:2:8: error: cannot assign to unpacking with * in a kernel
          a, *b = 1, 2
             ^^
  note: accepted: an element `A[i, j]`, a part of an array `A[1:]`, or a local name
""",
    ),
    Case(
        "tuple value",
        """
def f(A):
    a = 1, 2
    A[0] = a + 1
""",
        LanguageError,
        """
kernel.py:3:12: error: `a` is a tuple, which is neither a number nor an array
          A[0] = a + 1
                 ^
  note: accepted: its parts, such as `a[0]`, `len(a)`, and loops over it
""",
    ),
    Case(
        "zeros keyword",
        """
def f(A):
    T = np.zeros(3, order="F")
""",
        LanguageError,
        """
kernel.py:2:21: error: np.zeros does not take this in a kernel
          T = np.zeros(3, order="F")
                          ^^^^^^^^^
  note: accepted: np.zeros(shape, dtype)
""",
    ),
    Case(
        "zeros operands",
        """
def f(A):
    T = np.zeros(3, float, "F")
""",
        LanguageError,
        """
kernel.py:2:28: error: np.zeros does not take this in a kernel
          T = np.zeros(3, float, "F")
                                 ^^^
  note: accepted: np.zeros(shape, dtype)
""",
    ),
    Case(
        "zeros nothing",
        """
def f(A):
    T = np.zeros()
""",
        LanguageError,
        """
kernel.py:2:9: error: np.zeros needs shape
          T = np.zeros()
              ^^^^^^^^^^
  note: accepted: np.zeros(shape, dtype)
""",
    ),
    Case(
        "zeros dtype",
        """
def f(A):
    T = np.zeros(3, dtype="G")
""",
        LanguageError,
        """
kernel.py:2:27: error: this is not an element type of the language
          T = np.zeros(3, dtype="G")
                                ^^^
  note: accepted: complex128, complex64, float64, float32, float16, bfloat16, int8 to int64, uint8 to uint64 or bool, A.dtype, or np.result_type(A, B)
""",
    ),
    Case(
        "zeros dtype variable",
        """
def f(A, d):
    T = np.zeros(3, dtype=d)
""",
        LanguageError,
        """
kernel.py:2:27: error: this is not an element type of the language
          T = np.zeros(3, dtype=d)
                                ^
  note: accepted: complex128, complex64, float64, float32, float16, bfloat16, int8 to int64, uint8 to uint64 or bool, A.dtype, or np.result_type(A, B)
""",
    ),
    Case(
        "one of two arrays",
        """
def f(A, n):
    T = np.zeros(3)
    if n > 0:
        T = np.ones(3)
    A[0] = T[0]
""",
        NotAffineError,
        """
kernel.py:5:12: error: `T` is bound to an array under a condition
          A[0] = T[0]
                 ^^^^
  note: polyml compiles: a name for each array
""",
        [array("f8", 1), 3],
    ),
]
