"""Refusals of loops, branches and returns, and reads of names without a value."""

from __future__ import annotations

from polyml.errors import LanguageError, NotAffineError
from tests.frontend.refusals.case import Case, array

CASES = [
    Case(
        "while",
        """
def f(A, B, n):
    while n > 0:
        A[0] = B[0] / 2
        A, B = B, A
        n -= 1
""",
        NotAffineError,
        """
kernel.py:2:5: error: a while loop is not static control
          while n > 0:
          ^^^^^^^^^^^
  note: polyml compiles: `for i in range(...)`
  note: it would be compiled but for this: `A` is bound to another array in each iteration of a loop (line 3)
""",
        [array("float64", 1), array("float64", 1), 1],
    ),
    Case(
        "while on arrays",
        """
def f(A):
    while (A * A).sum() > 1:
        A[0] = A[0] / 2
""",
        NotAffineError,
        """
kernel.py:2:5: error: a while loop is not static control
          while (A * A).sum() > 1:
          ^^^^^^^^^^^^^^^^^^^^^^^
  note: polyml compiles: `for i in range(...)`
  note: it would be compiled but for this: the condition of a while loop is made of arrays (line 2)
""",
        [array("float64", 1)],
    ),
    Case(
        "break",
        """
def f(A, B):
    for i in range(3):
        if A[i] > 0:
            break
        A[0] = B[0] / 2
        A, B = B, A
""",
        NotAffineError,
        """
kernel.py:4:13: error: break is not static control
                  break
                  ^^^^^
  note: polyml compiles: loops that run all of their range, with `if` inside
  note: it would be compiled but for this: `A` is bound to another array in each iteration of a loop (line 3)
""",
        [array("float64", 1), array("float64", 1)],
    ),
    Case(
        "continue",
        """
def f(A, B):
    for i in range(3):
        if A[i] > 0:
            continue
        A[0] = B[0] / 2
        A, B = B, A
""",
        NotAffineError,
        """
kernel.py:4:13: error: continue is not static control
                  continue
                  ^^^^^^^^
  note: polyml compiles: loops that run all of their range, with `if` inside
  note: it would be compiled but for this: `A` is bound to another array in each iteration of a loop (line 3)
""",
        [array("float64", 1), array("float64", 1)],
    ),
    Case(
        "early return",
        """
def f(A, B):
    for i in range(3):
        if A[i] > 0:
            return 1
        A[0] = B[0] / 2
        A, B = B, A
    return 2
""",
        NotAffineError,
        """
kernel.py:4:13: error: an early return is not static control
                  return 1
                  ^^^^^^^^
  note: polyml compiles: return at the end, or at the end of a branch of an `if` outside loops
  note: it would be compiled but for this: `A` is bound to another array in each iteration of a loop (line 3)
""",
        [array("float64", 1), array("float64", 1)],
    ),
    Case(
        "return on one path",
        """
def f(A):
    if A[0] > 0:
        return 1
    A[0] = 1
""",
        NotAffineError,
        """
kernel.py:3:9: error: what is returned depends on the path
              return 1
              ^^^^^^^^
  note: polyml compiles: as many values on each path, or none on any
""",
    ),
    Case(
        "after return",
        """
def f(A):
    return A
    A[0] = 1
""",
        LanguageError,
        """
kernel.py:3:5: error: this never runs: it stands after return
          A[0] = 1
          ^^^^^^^^
  note: accepted: for, while, if, assignments, pass, break, continue and return
""",
    ),
    Case(
        "after break",
        """
def f(A):
    for i in range(3):
        break
        A[0] = 1
""",
        LanguageError,
        """
kernel.py:4:9: error: this never runs: it stands after break
              A[0] = 1
              ^^^^^^^^
  note: accepted: for, while, if, assignments, pass, break, continue and return
""",
    ),
    Case(
        "assigned behind a break",
        """
def f(A):
    while True:
        if A[0] > 0:
            break
        x = np.ones(3)
        A[0] += 1
    return x
""",
        LanguageError,
        """
kernel.py:7:12: error: `x` may be read before it is assigned
          return x
                 ^
  note: it is assigned only in a branch, or in a loop that may not run (line 5)
  note: accepted: a value assigned before that
""",
    ),
    Case(
        "return in a loop on one path",
        """
def f(A):
    for i in range(3):
        if A[i] > 0:
            return 1
""",
        NotAffineError,
        """
kernel.py:4:13: error: what is returned depends on the path
                  return 1
                  ^^^^^^^^
  note: polyml compiles: as many values on each path, or none on any
""",
    ),
    Case(
        "for over what a function makes of arrays",
        """
def f(A):
    for a in map(abs, A):
        pass
""",
        NotAffineError,
        """
kernel.py:2:14: error: a loop over something that is neither a range nor an array is not static control
          for a in map(abs, A):
                   ^^^^^^^^^^^
  note: polyml compiles: loops over ranges and arrays, `enumerate`, `zip` and `reversed` of these, and tuples that are written out
""",
    ),
    Case(
        "range arguments",
        """
def f(A):
    for i in range():
        pass
""",
        LanguageError,
        """
kernel.py:2:14: error: range takes 1 to 3 numbers, not 0
          for i in range():
                   ^^^^^^^
  note: accepted: range(stop), range(start, stop), range(start, stop, step)
""",
    ),
    Case(
        "range keyword",
        """
def f(A):
    for i in range(stop=3):
        pass
""",
        LanguageError,
        """
kernel.py:2:20: error: `range` takes no keywords in a kernel
          for i in range(stop=3):
                         ^^^^^^
  note: accepted: `range` of numbers alone
""",
    ),
    Case(
        "zero step",
        """
def f(A):
    for i in range(0, 3, 0):
        pass
""",
        LanguageError,
        """
kernel.py:2:26: error: the step of a range must be a constant that is not zero
          for i in range(0, 3, 0):
                               ^
  note: accepted: a literal, or a global or closure value that is an int
""",
    ),
    Case(
        "nested same variable",
        """
def f(A):
    for i in range(3):
        for i in range(4):
            A[i] = 0
        A[i] = 1
""",
        LanguageError,
        """
kernel.py:3:13: error: `i` is the variable of a loop around this one
              for i in range(4):
                  ^
  note: accepted: a variable of its own for each nested loop
""",
    ),
    Case(
        "loop variable is parameter",
        """
def f(A, n):
    for n in range(3):
        A[n] = 0
""",
        LanguageError,
        """
kernel.py:2:5: error: the loop variable `n` is also a parameter
          for n in range(3):
          ^^^^^^^^^^^^^^^^^
  note: accepted: another name
""",
    ),
    Case(
        "unassigned",
        """
def f(A):
    A[0] = x
    x = 1
""",
        LanguageError,
        """
kernel.py:2:12: error: `x` is read before it is assigned
          A[0] = x
                 ^
  note: accepted: a parameter, or a local assigned before
""",
    ),
    Case(
        "maybe unassigned",
        """
def f(A, n):
    while A[0] > n:
        x = np.ones(3)
    return x
""",
        LanguageError,
        """
kernel.py:4:12: error: `x` may be read before it is assigned
          return x
                 ^
  note: it is assigned only in a branch, or in a loop that may not run (line 3)
  note: accepted: a value assigned before that
""",
    ),
    Case(
        "maybe unassigned in branch",
        """
def f(A, n):
    if n > 0:
        x = np.ones(3)
    return x
""",
        LanguageError,
        """
kernel.py:4:12: error: `x` may be read before it is assigned
          return x
                 ^
  note: it is assigned only in a branch, or in a loop that may not run (line 3)
  note: accepted: a value assigned before that
""",
    ),
]
