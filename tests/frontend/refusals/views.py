"""Refusals of subscripts, views and assignments of arrays."""

from __future__ import annotations

from polyml.errors import LanguageError, NotAffineError, PolymlTypeError
from tests.frontend.refusals.case import Case, array

CASES = [
    Case(
        "index array of an element",
        """
def f(A, J):
    return A[0][J]
""",
        NotAffineError,
        """
kernel.py:2:12: error: a part of an array has a subscript that is an array
          return A[0][J]
                 ^^^^^^^
  note: polyml compiles: `A[i, k]`, or a name for `A[i]`
""",
        [array("f8", 2), array("i8", 1)],
    ),
    Case(
        "part of an array stored at an index array",
        """
def f(A, J):
    A[1:][J] = 1
""",
        NotAffineError,
        """
kernel.py:2:5: error: elements of a part of an array are assigned at an index array
          A[1:][J] = 1
          ^^^^^^^^
  note: polyml compiles: index arrays along whole dimensions of arrays, such as `A[i, k] = x`
""",
        [array("f8", 1), array("i8", 1)],
    ),
    Case(
        "too many subscripts of a view",
        """
def f(A):
    return A[1:, 0, 2]
""",
        PolymlTypeError,
        """
kernel.py:2:12: error: an array of 2 dimensions has 3 subscripts
          return A[1:, 0, 2]
                 ^^^^^^^^^^^
  note: accepted: at most one subscript per dimension
""",
        [array("f8", 2)],
    ),
    Case(
        "axis that is not there",
        """
def f(A):
    return A.sum(axis=2)
""",
        PolymlTypeError,
        """
kernel.py:2:12: error: axis 2 of an array of 2 dimensions
          return A.sum(axis=2)
                 ^^^^^^^^^^^^^
  note: accepted: -2 to 1
""",
        [array("f8", 2)],
    ),
    Case(
        "axis given twice",
        """
def f(A):
    return A.sum(axis=(0, -2))
""",
        PolymlTypeError,
        """
kernel.py:2:12: error: an axis is given twice
          return A.sum(axis=(0, -2))
                 ^^^^^^^^^^^^^^^^^^^
  note: accepted: each axis once
""",
        [array("f8", 2)],
    ),
    Case(
        "more dimensions than the target",
        """
def f(A, B):
    A[:] = B
""",
        PolymlTypeError,
        """
kernel.py:2:5: error: an array of 2 dimensions cannot be assigned to one of 1
          A[:] = B
          ^^^^^^^^
  note: accepted: a shape that broadcasts to that of the target
""",
        [array("f8", 1), array("f8", 2)],
    ),
    Case(
        "view of an argument returned",
        """
def f(A):
    return A.real
""",
        NotAffineError,
        """
kernel.py:2:12: error: a view of an argument is returned
          return A.real
                 ^^^^^^
  note: polyml compiles: views by slices, indices, transpositions and a reshape, or a copy, as `x.real.copy()`
""",
        [array("f8", 1)],
    ),
    Case(
        "name bound to arrays in a loop",
        """
def f(A):
    B = A
    for i in range(3):
        A[i] = B[i]
        B = A[1:]
""",
        NotAffineError,
        """
kernel.py:4:16: error: `B` is bound to another array in each iteration of a loop
              A[i] = B[i]
                     ^^^^
  note: polyml compiles: a name for each array
""",
        [array("f8", 1)],
    ),
    Case(
        "name bound to arrays under a condition",
        """
def f(A, n):
    B = A
    if n > 0:
        B = A[1:]
    return B.sum()
""",
        NotAffineError,
        """
kernel.py:5:12: error: `B` is bound to arrays of other shapes under a condition
          return B.sum()
                 ^
  note: polyml compiles: a name for each array
""",
        [array("f8", 1), 3],
    ),
    Case(
        "assignment to a result",
        """
def f(A):
    (A + 1)[0:2] = 3
""",
        LanguageError,
        """
kernel.py:2:5: error: this cannot be assigned
          (A + 1)[0:2] = 3
          ^^^^^^^^^^^^
  note: accepted: an array, or a part of one
""",
        [array("f8", 1)],
    ),
]
