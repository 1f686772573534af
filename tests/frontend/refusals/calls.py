"""Refusals of calls of functions and methods of NumPy, of math and of the builtins."""

from __future__ import annotations

from polyml.errors import LanguageError, NotAffineError
from tests.frontend.refusals.case import Case

CASES = [
    Case(
        "unknown function",
        """
def f(A):
    A[0] = filter(A)
""",
        LanguageError,
        """
kernel.py:2:12: error: `filter` is not a function of the language
          A[0] = filter(A)
                 ^^^^^^^^^
  note: accepted: elementwise functions of numpy and math, functions of arrays such as np.sum, min, max, abs, pow, len, and casts such as np.float32
""",
    ),
    Case(
        "print",
        """
def f(A):
    print(A)
""",
        LanguageError,
        """
kernel.py:2:5: error: this expression has no effect on the result
          print(A)
          ^^^^^^^^
  note: accepted: for, while, if, assignments, pass, break, continue and return
""",
    ),
    Case(
        "linalg",
        """
def f(A):
    A[0] = np.linalg.det(A)
""",
        NotAffineError,
        """
kernel.py:2:12: error: `np.linalg.det` is not a function that polyml compiles
          A[0] = np.linalg.det(A)
                 ^^^^^^^^^^^^^^^^
  note: polyml compiles: elementwise functions of numpy and math, functions of arrays such as np.sum, min, max, abs, pow, len, and casts such as np.float32
""",
    ),
    Case(
        "calling a parameter",
        """
def f(A, g):
    A[0] = g(1)
""",
        LanguageError,
        """
kernel.py:2:12: error: `g` is not a function of the language
          A[0] = g(1)
                 ^^^^
  note: accepted: elementwise functions of numpy and math, functions of arrays such as np.sum, min, max, abs, pow, len, and casts such as np.float32
""",
    ),
    Case(
        "range as number",
        """
def f(A):
    A[0] = range(3)
""",
        LanguageError,
        """
kernel.py:2:12: error: a range is not a number
          A[0] = range(3)
                 ^^^^^^^^
  note: accepted: `for i in range(...)`
""",
    ),
    Case(
        "keyword",
        """
def f(A):
    A[0] = np.sqrt(A[1], dtype=float)
""",
        NotAffineError,
        """
kernel.py:2:26: error: `np.sqrt` takes no keywords in a kernel
          A[0] = np.sqrt(A[1], dtype=float)
                               ^^^^^^^^^^^
  note: polyml compiles: `np.sqrt` of numbers alone
""",
    ),
    Case(
        "star",
        """
def f(A):
    A[0] = min(*A)
""",
        LanguageError,
        """
kernel.py:2:16: error: unpacking with * is not part of the language
          A[0] = min(*A)
                     ^^
  note: accepted: each operand written out
""",
    ),
    Case(
        "min of one",
        """
def f(A):
    A[0] = min((A[0],))
""",
        LanguageError,
        """
kernel.py:2:12: error: min takes an array, or two or more numbers, in a kernel
          A[0] = min((A[0],))
                 ^^^^^^^^^^^^
  note: accepted: `min(A)`, `min(a, b)`
""",
    ),
    Case(
        "operands",
        """
def f(A):
    A[0] = math.atan2(A[1])
""",
        LanguageError,
        """
kernel.py:2:12: error: `math.atan2` takes two numbers in a kernel, not 1
          A[0] = math.atan2(A[1])
                 ^^^^^^^^^^^^^^^^
  note: accepted: `math.atan2(x, y)`
""",
    ),
    Case(
        "sqrt of two",
        """
def f(A):
    A[0] = math.sqrt(A[1], 2)
""",
        LanguageError,
        """
kernel.py:2:12: error: `math.sqrt` takes one number in a kernel, not 2
          A[0] = math.sqrt(A[1], 2)
                 ^^^^^^^^^^^^^^^^^^
  note: accepted: `math.sqrt(x)`
""",
    ),
    Case(
        "len operands",
        """
def f(A):
    A[0] = len(A, A)
""",
        LanguageError,
        """
kernel.py:2:12: error: len takes one array, not 2
          A[0] = len(A, A)
                 ^^^^^^^^^
  note: accepted: `len(A)`
""",
    ),
    Case(
        "cast operands",
        """
def f(A):
    A[0] = float()
""",
        LanguageError,
        """
kernel.py:2:12: error: `float` takes one number, not 0
          A[0] = float()
                 ^^^^^^^
  note: accepted: `float(x)`
""",
    ),
    Case(
        "cast to clongdouble",
        """
def f(A):
    A[0] = np.clongdouble(2)
""",
        LanguageError,
        """
kernel.py:2:12: error: `np.clongdouble` is not a type of the language
          A[0] = np.clongdouble(2)
                 ^^^^^^^^^^^^^^
  note: accepted: complex128, complex64, float64, float32, float16, bfloat16, int8 to int64, uint8 to uint64 or bool
""",
    ),
    Case(
        "float of text",
        """
def f(A):
    A[0] = float("x")
""",
        LanguageError,
        """
kernel.py:2:12: error: 'x' is not a number of the language
          A[0] = float("x")
                 ^^^^^^^^^^
  note: accepted: Python's int, float, complex and bool, and NumPy's complex128, complex64, float64, float32, float16, bfloat16, int8 to int64, uint8 to uint64 or bool
""",
    ),
    Case(
        "unknown array attribute",
        """
def f(A):
    A[0] = A.flat
""",
        LanguageError,
        """
kernel.py:2:12: error: `.flat` is not part of the language
          A[0] = A.flat
                 ^^^^^^
  note: accepted: `A.shape[0]`, `n, m = A.shape`, `A.T`, `A.size`, `A.ndim`, `A.real`, `A.imag`
""",
    ),
    Case(
        "unknown method",
        """
def f(A):
    return A.nonzero()
""",
        NotAffineError,
        """
kernel.py:2:12: error: the method `.nonzero()` is not part of the language
          return A.nonzero()
                 ^^^^^^^^^^^
  note: polyml compiles: `.all()`, `.any()`, `.argmax()`, `.argmin()`, `.argsort()`, `.astype()`, `.clip()`, `.conj()`, `.conjugate()`, `.copy()`, `.cumprod()`, `.cumsum()`, `.diagonal()`, `.dot()`, `.flatten()`, `.max()`, `.mean()`, `.min()`, `.prod()`, `.ravel()`, `.repeat()`, `.reshape()`, `.round()`, `.searchsorted()`, `.squeeze()`, `.std()`, `.sum()`, `.swapaxes()`, `.take()`, `.trace()`, `.transpose()`, `.var()`
""",
    ),
    Case(
        "call as a statement",
        """
def f(A):
    A.partition(1)
""",
        NotAffineError,
        """
kernel.py:2:5: error: a call that is a statement is not an affine one
          A.partition(1)
          ^^^^^^^^^^^^^^
  note: polyml compiles: for, while, if, assignments, pass, break, continue and return
""",
    ),
    Case(
        "no method at all",
        """
def f(A):
    return A.total()
""",
        LanguageError,
        """
kernel.py:2:12: error: the method `.total()` is not part of the language
          return A.total()
                 ^^^^^^^^^
  note: accepted: `.all()`, `.any()`, `.argmax()`, `.argmin()`, `.argsort()`, `.astype()`, `.clip()`, `.conj()`, `.conjugate()`, `.copy()`, `.cumprod()`, `.cumsum()`, `.diagonal()`, `.dot()`, `.flatten()`, `.max()`, `.mean()`, `.min()`, `.prod()`, `.ravel()`, `.repeat()`, `.reshape()`, `.round()`, `.searchsorted()`, `.squeeze()`, `.std()`, `.sum()`, `.swapaxes()`, `.take()`, `.trace()`, `.transpose()`, `.var()`
""",
    ),
    Case(
        "unknown keyword of a reduction",
        """
def f(A):
    return np.sum(A, where=A > 0)
""",
        NotAffineError,
        """
kernel.py:2:22: error: `np.sum` does not take this in a kernel
          return np.sum(A, where=A > 0)
                           ^^^^^^^^^^^
  note: polyml compiles: `np.sum(a, axis=, dtype=, keepdims=)`
""",
    ),
    Case(
        "keyword that NumPy does not have",
        """
def f(A):
    return np.sum(A, nonexistent=1)
""",
        LanguageError,
        """
kernel.py:2:22: error: `np.sum` does not take this in a kernel
          return np.sum(A, nonexistent=1)
                           ^^^^^^^^^^^^^
  note: accepted: `np.sum(a, axis=, dtype=, keepdims=)`
""",
    ),
]
