"""Refusals of calls of Python functions, which are inlined."""

from __future__ import annotations

from polyml.errors import LanguageError, NotAffineError
from tests.frontend.refusals.case import Case

CASES = [
    Case(
        "inside a function that is called",
        """
def g(x):
    y = x
    return filter(y)
def f(A):
    A[0] = g(A[1])
""",
        LanguageError,
        """
kernel.py:3:12: error: `filter` is not a function of the language
          return filter(y)
                 ^^^^^^^^^
  note: accepted: elementwise functions of numpy and math, functions of arrays such as np.sum, min, max, abs, pow, len, and casts such as np.float32
  note: `g` is called at kernel.py:5:12""",
    ),
    Case(
        "a function that calls itself",
        """
def g(x):
    return 1.0 if x < 0 else sum([g(x - 1) for i in range(2)])
def f(A):
    A[0] = g(A[1])
""",
        NotAffineError,
        """
kernel.py:2:34: error: a call of the function itself in a function or comprehension inside of it is not compiled
          return 1.0 if x < 0 else sum([g(x - 1) for i in range(2)])
                                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  note: polyml compiles: calls of itself with numbers, and arrays and lists that all of them hand on as they are
  note: `g` is called at kernel.py:4:12""",
    ),
    Case(
        "two functions inside of a kernel that call each other",
        """
def f(A):
    def g(x):
        return h(x)
    def h(x):
        return g(x - 1)
    A[0] = g(A[1])
""",
        NotAffineError,
        """
kernel.py:5:16: error: `g` calls itself
              return g(x - 1)
                     ^^^^^^^^
  note: polyml compiles: loops
  note: `h` is called at kernel.py:3:16
  note: `g` is called at kernel.py:6:12""",
    ),
    Case(
        "a function of any arguments",
        """
def g(*x):
    return 1
def f(A):
    A[0] = g(A[1])
""",
        NotAffineError,
        """
kernel.py:4:12: error: `g` takes any arguments
          A[0] = g(A[1])
                 ^^^^^^^
  note: polyml compiles: functions whose parameters have names""",
    ),
    Case(
        "an argument too many",
        """
def g(x, y=1):
    return x
def f(A):
    A[0] = g(A[1], 2, 3)
""",
        LanguageError,
        """
kernel.py:4:23: error: `g` takes 2 arguments
          A[0] = g(A[1], 2, 3)
                            ^
  note: accepted: `g(x, y=1)`""",
    ),
    Case(
        "an argument too few",
        """
def g(x, y):
    return x
def f(A):
    A[0] = g(A[1])
""",
        LanguageError,
        """
kernel.py:4:12: error: `g` needs y
          A[0] = g(A[1])
                 ^^^^^^^
  note: accepted: `g(x, y)`""",
    ),
    Case(
        "an unknown argument",
        """
def g(x, y=1):
    return x
def f(A):
    A[0] = g(A[1], z=2)
""",
        LanguageError,
        """
kernel.py:4:20: error: `g` does not take this
          A[0] = g(A[1], z=2)
                         ^^^
  note: accepted: `g(x, y=1)`""",
    ),
    Case(
        "a function that gives nothing",
        """
def g(x):
    y = x
def f(A):
    A[0] = g(A) + 1
""",
        LanguageError,
        """
kernel.py:4:12: error: `g` gives None where a value is needed
          A[0] = g(A) + 1
                 ^^^^
  note: accepted: one number or array""",
    ),
    Case(
        "a change inside an expression",
        """
def g(x):
    x[0] = 1
    return 2
def f(A):
    A[0] = A[1] + g(A)
""",
        NotAffineError,
        """
kernel.py:5:19: error: `g`, which changes its arguments, is called inside an expression
          A[0] = A[1] + g(A)
                        ^^^^
  note: polyml compiles: `f(A)` and `x = f(A)` as statements of their own""",
    ),
    Case(
        "None on one path",
        """
def g(x, y=None):
    if x[0] > 0:
        y = 1.0
    return x
def f(A):
    return g(A)
""",
        NotAffineError,
        """
kernel.py:3:9: error: `y` is None on one path and something else on another
              y = 1.0
              ^
  note: polyml compiles: a name for each
  note: `g` is called at kernel.py:6:12""",
    ),
]
