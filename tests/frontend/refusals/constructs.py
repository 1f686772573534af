"""Refusals of constructs of Python that the language does not have, and parameters."""

from __future__ import annotations

from polyml.errors import LanguageError, NotAffineError
from tests.frontend.refusals.case import Case

CASES = [
    Case(
        "comprehension",
        """
def f(A):
    A[0] = {x for x in A}
""",
        LanguageError,
        """
kernel.py:2:12: error: a comprehension is neither a number nor an array
          A[0] = {x for x in A}
                 ^^^^^^^^^^^^^^
  note: accepted: numbers, arrays, their elements, arithmetic, comparisons and functions of them
""",
    ),
    Case(
        "lambda inside",
        """
def f(A):
    A[0] = lambda x: x
""",
        LanguageError,
        """
kernel.py:2:12: error: a lambda is neither a number nor an array
          A[0] = lambda x: x
                 ^^^^^^^^^^^
  note: accepted: numbers, arrays, their elements, arithmetic, comparisons and functions of them
""",
    ),
    Case(
        "function inside",
        """
def f(A):
    def g(*x):
        pass
""",
        NotAffineError,
        """
kernel.py:2:12: error: a function inside a kernel that takes any arguments
          def g(*x):
                 ^
  note: polyml compiles: functions inside of kernels that are inlined where they are called
""",
    ),
    Case(
        "walrus",
        """
def f(A):
    A[0] = (x := 2)
""",
        LanguageError,
        """
kernel.py:2:13: error: an assignment expression is neither a number nor an array
          A[0] = (x := 2)
                  ^^^^^^
  note: accepted: numbers, arrays, their elements, arithmetic, comparisons and functions of them
""",
    ),
    Case(
        "import inside",
        """
def f(A):
    import os
""",
        LanguageError,
        """
kernel.py:2:5: error: `import os` is not part of the language
          import os
          ^^^^^^^^^
  note: accepted: math and NumPy, and what they have
""",
    ),
    Case(
        "global statement",
        """
def f(A):
    global G
    G = 1
""",
        LanguageError,
        """
kernel.py:2:5: error: global is not part of the language
          global G
          ^^^^^^^^
  note: accepted: for, while, if, assignments, pass, break, continue and return
""",
    ),
    Case(
        "with",
        """
def f(A):
    with A:
        pass
""",
        LanguageError,
        """
kernel.py:2:5: error: a with statement is not part of the language
          with A:
          ^^^^^^^
  note: accepted: for, while, if, assignments, pass, break, continue and return
""",
    ),
    Case(
        "try",
        """
def f(A):
    try:
        pass
    except ValueError:
        pass
""",
        LanguageError,
        """
kernel.py:2:5: error: try is not part of the language
          try:
          ^^^^
  note: accepted: for, while, if, assignments, pass, break, continue and return
""",
    ),
    Case(
        "assert",
        """
def f(A):
    assert A[0] > 0, A[0]
""",
        NotAffineError,
        """
kernel.py:2:5: error: the text of `assert A[0] > 0, A[0]` is not a constant
          assert A[0] > 0, A[0]
          ^^^^^^^^^^^^^^^^^^^^^
  note: polyml compiles: `assert n > 0, "..."`
""",
    ),
    Case(
        "del",
        """
def f(A):
    del A
""",
        LanguageError,
        """
kernel.py:2:5: error: del is not part of the language
          del A
          ^^^^^
  note: accepted: for, while, if, assignments, pass, break, continue and return
""",
    ),
    Case(
        "match",
        """
def f(n):
    match n:
        case 1:
            pass
""",
        LanguageError,
        """
kernel.py:2:5: error: match is not part of the language
          match n:
          ^^^^^^^^
  note: accepted: for, while, if, assignments, pass, break, continue and return
""",
    ),
    Case(
        "is",
        """
def f(A, n):
    if n is True:
        A[0] = 1
""",
        LanguageError,
        """
kernel.py:2:8: error: `is` of what is computed is not part of the language
          if n is True:
             ^^^^^^^^^
  note: accepted: < <= > >= == !=, `x is None`
""",
    ),
    Case(
        "in",
        """
def f(A, n):
    A[0] = 1 if n in (n, 2) else 0
""",
        LanguageError,
        """
kernel.py:2:17: error: `in` of what is computed is not part of the language
          A[0] = 1 if n in (n, 2) else 0
                      ^^^^^^^^^^^
  note: accepted: `x in (1, 2)`, of numbers that are known
""",
    ),
    Case(
        "varargs",
        """
def f(A, *rest):
    pass
""",
        LanguageError,
        """
kernel.py:1:11: error: a kernel cannot take *rest
      def f(A, *rest):
                ^^^^
  note: accepted: parameters with names
""",
    ),
    Case(
        "kwargs",
        """
def f(A, **rest):
    pass
""",
        LanguageError,
        """
kernel.py:1:12: error: a kernel cannot take **rest
      def f(A, **rest):
                 ^^^^
  note: accepted: parameters with names
""",
    ),
    Case(
        "unicode columns",
        """
def f(A, ä):
    A[0] = "é" + ä; A[1] = ä[1:]
""",
        LanguageError,
        """
kernel.py:2:12: error: 'é' is not a number of the language
          A[0] = "é" + ä; A[1] = ä[1:]
                 ^^^
  note: accepted: Python's int, float, complex and bool, and NumPy's complex128, complex64, float64, float32, float16, bfloat16, int8 to int64, uint8 to uint64 or bool
""",
    ),
    Case(
        "tabs",
        "def f(A):\n\tA[0] = B\n",
        LanguageError,
        """kernel.py:2:9: error: `B` is not defined
      \tA[0] = B
      \t       ^
  note: accepted: a parameter, a local, or a global or closure value that exists when the kernel is compiled""",
    ),
    Case(
        "two lines",
        """
def f(A):
    A[0] = filter(
        A)
""",
        LanguageError,
        """
kernel.py:2:12: error: `filter` is not a function of the language
          A[0] = filter(
                 ^^^^^^^
  note: accepted: elementwise functions of numpy and math, functions of arrays such as np.sum, min, max, abs, pow, len, and casts such as np.float32
""",
    ),
    Case(
        "effect",
        """
def f(A):
    {1: 2}
""",
        LanguageError,
        """
kernel.py:2:5: error: this expression has no effect on the result
          {1: 2}
          ^^^^^^
  note: accepted: for, while, if, assignments, pass, break, continue and return
""",
    ),
    Case(
        "yield",
        """
def f(A):
    yield A[0]
""",
        LanguageError,
        """
kernel.py:2:5: error: this expression has no effect on the result
          yield A[0]
          ^^^^^^^^^^
  note: accepted: for, while, if, assignments, pass, break, continue and return
""",
    ),
]
