"""Every refusal of the frontend, in its full text: place, line, caret, and what would be accepted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from polyml.errors import BoundsError, LanguageError, NotAffineError, PolymlOverflowError, PolymlTypeError, PolymlValueError
from polyml.frontend.argument_types import arg_type
from polyml.frontend.parsing.parse import parse
from polyml.frontend.types.infer import infer
from tests.frontend.define import define, message


def array(dtype, ndim):
    return np.zeros((2,) * ndim, dtype)


@dataclass(frozen=True)
class Case:
    """args: None where parsing alone refuses the text."""

    name: str
    text: str
    error: type
    message: str
    args: list | None = None


CASES = [
    Case(
        "while",
        """
def f(A):
    i = 0
    while i < 3:
        A[i] = 0
""",
        NotAffineError,
        """
kernel.py:3:5: error: a while loop is not static control
          while i < 3:
          ^^^^^^^^^^^^
  note: polyml compiles: `for i in range(...)`
""",
    ),
    Case(
        "break",
        """
def f(A):
    for i in range(3):
        if A[i] > 0:
            break
""",
        NotAffineError,
        """
kernel.py:4:13: error: break is not static control
                  break
                  ^^^^^
  note: polyml compiles: loops that run all of their range, with `if` inside
""",
    ),
    Case(
        "continue",
        """
def f(A):
    for i in range(3):
        if A[i] > 0:
            continue
        A[i] = 1
""",
        NotAffineError,
        """
kernel.py:4:13: error: continue is not static control
                  continue
                  ^^^^^^^^
  note: polyml compiles: loops that run all of their range, with `if` inside
""",
    ),
    Case(
        "early return",
        """
def f(A):
    for i in range(3):
        if A[i] > 0:
            return 1
    return 2
""",
        NotAffineError,
        """
kernel.py:4:13: error: an early return is not static control
                  return 1
                  ^^^^^^^^
  note: polyml compiles: return at the end, or at the end of a branch of an `if` outside loops
""",
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
  note: accepted: for, if, assignments, pass, and return at the end
""",
    ),
    Case(
        "for over two arrays",
        """
def f(A):
    for a in zip(A, A):
        pass
""",
        NotAffineError,
        """
kernel.py:2:14: error: a loop over something that is not a range is not static control
          for a in zip(A, A):
                   ^^^^^^^^^
  note: polyml compiles: `for i in range(...)`
""",
    ),
    Case(
        "enumerate",
        """
def f(A):
    for i, a in enumerate(A):
        pass
""",
        NotAffineError,
        """
kernel.py:2:9: error: a loop with this target is not static control
          for i, a in enumerate(A):
              ^^^^
  note: polyml compiles: `for i in range(...)`
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
        "variable step",
        """
def f(A, n):
    for i in range(0, 3, n):
        pass
""",
        LanguageError,
        """
kernel.py:2:26: error: the step of a range must be a constant that is not zero
          for i in range(0, 3, n):
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
        "loop variable assigned",
        """
def f(A):
    for i in range(3):
        i = 4
""",
        LanguageError,
        """
kernel.py:3:9: error: the loop variable `i` is assigned inside its loop
              i = 4
              ^
  note: accepted: another name
""",
    ),
    Case(
        "loop variable read after",
        """
def f(A):
    for i in range(3):
        A[i] = 0
    return i
""",
        LanguageError,
        """
kernel.py:4:12: error: the loop variable `i` is read after its loop
          return i
                 ^
  note: accepted: a local that is assigned before the loop and in it
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
    for i in range(n):
        x = A[i]
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
        x = A[0]
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
        "undefined",
        """
def f(A):
    A[0] = nowhere
""",
        LanguageError,
        """
kernel.py:2:12: error: `nowhere` is not defined
          A[0] = nowhere
                 ^^^^^^^
  note: accepted: a parameter, a local, or a global or closure value that exists when the kernel is compiled
""",
    ),
    Case(
        "undefined array",
        """
def f(A):
    A[0] = nowhere[0]
""",
        LanguageError,
        """
kernel.py:2:12: error: `nowhere` is not defined
          A[0] = nowhere[0]
                 ^^^^^^^
  note: accepted: a parameter, or a local array
""",
    ),
    Case(
        "global array",
        """
W = np.ones(3)
def f(A):
    A[0] = W[0]
""",
        LanguageError,
        """
kernel.py:3:12: error: `W` is an array from outside the kernel
          A[0] = W[0]
                 ^
  note: accepted: arrays that are passed as arguments
""",
    ),
    Case(
        "global array as number",
        """
W = np.ones(3)
def f(A):
    A[0] = W
""",
        LanguageError,
        """
kernel.py:3:12: error: `W` is an array from outside the kernel
          A[0] = W
                 ^
  note: accepted: arrays that are passed as arguments
""",
    ),
    Case(
        "global function as number",
        """
def f(A):
    A[0] = math.sqrt
""",
        LanguageError,
        """
kernel.py:2:12: error: the function `sqrt` is not a number of the language
          A[0] = math.sqrt
                 ^^^^^^^^^
  note: accepted: Python's int, float, complex and bool, and NumPy's complex128, complex64, float64, float32, float16, bfloat16, int8 to int64, uint8 to uint64 or bool
""",
    ),
    Case(
        "module as number",
        """
def f(A):
    A[0] = np
""",
        LanguageError,
        """
kernel.py:2:12: error: the module `numpy` is not a number of the language
          A[0] = np
                 ^^
  note: accepted: Python's int, float, complex and bool, and NumPy's complex128, complex64, float64, float32, float16, bfloat16, int8 to int64, uint8 to uint64 or bool
""",
    ),
    Case(
        "module subscripted",
        """
def f(A):
    A[0] = math[0]
""",
        LanguageError,
        """
kernel.py:2:12: error: `math` is the module `math`, not an array
          A[0] = math[0]
                 ^^^^
  note: accepted: a parameter, or a local array
""",
    ),
    Case(
        "global list",
        """
T = [1, 2]
def f(A):
    A[0] = T[0]
""",
        LanguageError,
        """
kernel.py:3:12: error: `T` is a list, not an array
          A[0] = T[0]
                 ^
  note: accepted: a parameter, or a local array
""",
    ),
    Case(
        "string",
        """
def f(A):
    A[0] = "x"
""",
        LanguageError,
        """
kernel.py:2:12: error: 'x' is not a number of the language
          A[0] = "x"
                 ^^^
  note: accepted: Python's int, float, complex and bool, and NumPy's complex128, complex64, float64, float32, float16, bfloat16, int8 to int64, uint8 to uint64 or bool
""",
    ),
    Case(
        "complex",
        """
def f(A):
    A[0] = 2j
""",
        PolymlTypeError,
        """
kernel.py:2:12: error: a complex number stands where float64 is needed
          A[0] = 2j
                 ^^
  note: accepted: z.real, z.imag or abs(z)
""",
        (np.zeros(2),),
    ),
    Case(
        "imaginary part of a float",
        """
def f(A):
    A.imag[0] = 2
""",
        PolymlTypeError,
        """
kernel.py:2:5: error: the imaginary part of a real number is assigned
          A.imag[0] = 2
          ^^^^^^^^^
  note: accepted: one of a complex number
""",
        (np.zeros(2),),
    ),
    Case(
        "order of Python's complex numbers",
        """
def f(z):
    return z < 1
""",
        PolymlTypeError,
        """
kernel.py:2:12: error: Python has no < of a complex
          return z < 1
                 ^^^^^
  note: accepted: operands of types that have one; convert them, for instance with int(x) or np.float64(x)
""",
        (1j,),
    ),
    Case(
        "None",
        """
def f(A):
    A[0] = None
""",
        LanguageError,
        """
kernel.py:2:12: error: None is not a number of the language
          A[0] = None
                 ^^^^
  note: accepted: Python's int, float, complex and bool, and NumPy's complex128, complex64, float64, float32, float16, bfloat16, int8 to int64, uint8 to uint64 or bool
""",
    ),
    Case(
        "clongdouble global",
        """
H = np.clongdouble(1)
def f(A):
    A[0] = H
""",
        LanguageError,
        """
kernel.py:3:12: error: a clongdouble is not a number of the language
          A[0] = H
                 ^
  note: accepted: Python's int, float, complex and bool, and NumPy's complex128, complex64, float64, float32, float16, bfloat16, int8 to int64, uint8 to uint64 or bool
""",
    ),
    Case(
        "unknown module attribute",
        """
def f(A):
    A[0] = math.sqroot
""",
        LanguageError,
        """
kernel.py:2:12: error: `math.sqroot` is not part of the language
          A[0] = math.sqroot
                 ^^^^^^^^^^^
  note: accepted: numbers that are attributes of a module, and `A.shape[0]`
""",
    ),
    Case(
        "attribute of an object",
        """
import sys
def f(A):
    A[0] = sys.version_info.major
""",
        LanguageError,
        """
kernel.py:3:12: error: `sys.version_info.major` is not part of the language
          A[0] = sys.version_info.major
                 ^^^^^^^^^^^^^^^^^^^^^^
  note: accepted: numbers that are attributes of a module, and `A.shape[0]`
""",
    ),
    Case(
        "unknown function",
        """
def f(A):
    A[0] = sorted(A)
""",
        LanguageError,
        """
kernel.py:2:12: error: `sorted` is not a function of the language
          A[0] = sorted(A)
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
  note: accepted: for, if, assignments, pass, and return at the end
""",
    ),
    Case(
        "inside a function that is called",
        """
def g(x):
    y = x
    return sorted(y)
def f(A):
    A[0] = g(A[1])
""",
        LanguageError,
        """
kernel.py:3:12: error: `sorted` is not a function of the language
          return sorted(y)
                 ^^^^^^^^^
  note: accepted: elementwise functions of numpy and math, functions of arrays such as np.sum, min, max, abs, pow, len, and casts such as np.float32
  note: `g` is called at kernel.py:5:12""",
    ),
    Case(
        "a function that calls itself",
        """
def g(x):
    return g(x - 1)
def f(A):
    A[0] = g(A[1])
""",
        NotAffineError,
        """
kernel.py:2:12: error: `g` calls itself
          return g(x - 1)
                 ^^^^^^^^
  note: polyml compiles: functions that do not
  note: `g` is called at kernel.py:4:12""",
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
    A[0] = min(A)
""",
        LanguageError,
        """
kernel.py:2:12: error: min takes two or more numbers in a kernel
          A[0] = min(A)
                 ^^^^^^
  note: accepted: `min(a, b)`
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
        "log with base",
        """
def f(A):
    A[0] = math.log(A[1], 2)
""",
        LanguageError,
        """
kernel.py:2:12: error: `math.log` takes one number in a kernel, not 2
          A[0] = math.log(A[1], 2)
                 ^^^^^^^^^^^^^^^^^
  note: accepted: `math.log(x)`
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
        "comprehension",
        """
def f(A):
    A[0] = [x for x in A]
""",
        LanguageError,
        """
kernel.py:2:12: error: a comprehension is neither a number nor an array
          A[0] = [x for x in A]
                 ^^^^^^^^^^^^^^
  note: accepted: numbers, arrays, their elements, arithmetic, comparisons and functions of them
""",
    ),
    Case(
        "lambda inside",
        """
def f(A):
    g = lambda x: x
""",
        LanguageError,
        """
kernel.py:2:9: error: a lambda is neither a number nor an array
          g = lambda x: x
              ^^^^^^^^^^^
  note: accepted: numbers, arrays, their elements, arithmetic, comparisons and functions of them
""",
    ),
    Case(
        "function inside",
        """
def f(A):
    def g():
        pass
""",
        LanguageError,
        """
kernel.py:2:5: error: a function inside a kernel is not part of the language
          def g():
          ^^^^^^^^
  note: accepted: for, if, assignments, pass, and return at the end
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
kernel.py:2:5: error: import is not part of the language
          import os
          ^^^^^^^^^
  note: accepted: for, if, assignments, pass, and return at the end
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
  note: accepted: for, if, assignments, pass, and return at the end
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
  note: accepted: for, if, assignments, pass, and return at the end
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
  note: accepted: for, if, assignments, pass, and return at the end
""",
    ),
    Case(
        "assert",
        """
def f(A):
    assert A[0] > 0
""",
        LanguageError,
        """
kernel.py:2:5: error: assert is not part of the language
          assert A[0] > 0
          ^^^^^^^^^^^^^^^
  note: accepted: for, if, assignments, pass, and return at the end
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
  note: accepted: for, if, assignments, pass, and return at the end
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
  note: accepted: for, if, assignments, pass, and return at the end
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
kernel.py:2:8: error: `is` and `in` are not part of the language
          if n is True:
             ^^^^^^^^^
  note: accepted: < <= > >= == !=, `x is None`
""",
    ),
    Case(
        "in",
        """
def f(A, n):
    A[0] = 1 if n in (1, 2) else 0
""",
        LanguageError,
        """
kernel.py:2:17: error: `is` and `in` are not part of the language
          A[0] = 1 if n in (1, 2) else 0
                      ^^^^^^^^^^^
  note: accepted: < <= > >= == !=, `x is None`
""",
    ),
    Case(
        "shape alone",
        """
def f(A):
    return A.shape
""",
        LanguageError,
        """
kernel.py:2:12: error: `.shape` is not part of the language
          return A.shape
                 ^^^^^^^
  note: accepted: `A.shape[0]`, `n, m = A.shape`, `A.T`, `A.size`, `A.ndim`, `A.real`, `A.imag`
""",
    ),
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
        LanguageError,
        """
kernel.py:2:20: error: the subscript of a shape must be a constant integer
          return A.shape[1:]
                         ^^
  note: accepted: `A.shape[0]`
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
    a, b = B
""",
        LanguageError,
        """
kernel.py:2:12: error: this cannot be unpacked
          a, b = B
                 ^
  note: accepted: `a, b = x, y`, `n, m = A.shape`, and a function that returns a tuple
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
        "nested target",
        """
def f(A):
    a = b, c = 1, 2
""",
        LanguageError,
        """
kernel.py:2:16: error: a tuple is neither a number nor an array
          a = b, c = 1, 2
                     ^^^^
  note: accepted: numbers, arrays, their elements, arithmetic, comparisons and functions of them
""",
    ),
    Case(
        "tuple value",
        """
def f(A):
    a = 1, 2
""",
        LanguageError,
        """
kernel.py:2:9: error: a tuple is neither a number nor an array
          a = 1, 2
              ^^^^
  note: accepted: numbers, arrays, their elements, arithmetic, comparisons and functions of them
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
  note: accepted: complex128, complex64, float64, float32, float16, bfloat16, int8 to int64, uint8 to uint64 or bool, or A.dtype
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
  note: accepted: complex128, complex64, float64, float32, float16, bfloat16, int8 to int64, uint8 to uint64 or bool, or A.dtype
""",
    ),
    Case(
        "zeros_like expression",
        """
def f(A):
    T = np.zeros_like(A[0])
""",
        LanguageError,
        """
kernel.py:2:23: error: only an array that has a name can be used here
          T = np.zeros_like(A[0])
                            ^^^^
  note: accepted: a parameter, or a local array
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
kernel.py:5:12: error: `T` may be one of 2 arrays here
          A[0] = T[0]
                 ^^^^
  note: polyml compiles: a name for each array
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
        "default",
        """
def f(A, n=None):
    pass
""",
        LanguageError,
        """
kernel.py:1:12: error: the default of a parameter must be a number
      def f(A, n=None):
                 ^^^^
  note: accepted: an int, float, bool or NumPy scalar
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
    A[0] = sorted(
        A)
""",
        LanguageError,
        """
kernel.py:2:12: error: `sorted` is not a function of the language
          A[0] = sorted(
                 ^^^^^^^
  note: accepted: elementwise functions of numpy and math, functions of arrays such as np.sum, min, max, abs, pow, len, and casts such as np.float32
""",
    ),
    Case(
        "effect",
        """
def f(A):
    A[0] + 1
""",
        LanguageError,
        """
kernel.py:2:5: error: this expression has no effect on the result
          A[0] + 1
          ^^^^^^^^
  note: accepted: for, if, assignments, pass, and return at the end
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
  note: accepted: for, if, assignments, pass, and return at the end
""",
    ),
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
def f(n):
    x = n
    x = x + 1
    for i in range(2):
        x = x / 2
    return x
""",
        PolymlTypeError,
        """
kernel.py:3:5: error: `x` has no one type that holds a Python float or a Python int
          x = x + 1
          ^^^^^^^^^
  note: `x` is a Python int by kernel.py:3:5
  note: `x` is a Python float by kernel.py:5:9
  note: accepted: a name for each type, or a conversion such as np.float64(x)
""",
        args=[3],
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
    return A.argsort()
""",
        NotAffineError,
        """
kernel.py:2:12: error: the method `.argsort()` is not part of the language
          return A.argsort()
                 ^^^^^^^^^^^
  note: polyml compiles: `.all()`, `.any()`, `.argmax()`, `.argmin()`, `.astype()`, `.clip()`, `.conj()`, `.conjugate()`, `.copy()`, `.cumprod()`, `.cumsum()`, `.diagonal()`, `.dot()`, `.flatten()`, `.max()`, `.mean()`, `.min()`, `.prod()`, `.ravel()`, `.reshape()`, `.round()`, `.squeeze()`, `.std()`, `.sum()`, `.swapaxes()`, `.take()`, `.trace()`, `.transpose()`, `.var()`
""",
    ),
    Case(
        "call as a statement",
        """
def f(A):
    A.sort()
""",
        NotAffineError,
        """
kernel.py:2:5: error: a call that is a statement is not an affine one
          A.sort()
          ^^^^^^^^
  note: polyml compiles: for, if, assignments, pass, and return at the end
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
  note: accepted: `.all()`, `.any()`, `.argmax()`, `.argmin()`, `.astype()`, `.clip()`, `.conj()`, `.conjugate()`, `.copy()`, `.cumprod()`, `.cumsum()`, `.diagonal()`, `.dot()`, `.flatten()`, `.max()`, `.mean()`, `.min()`, `.prod()`, `.ravel()`, `.reshape()`, `.round()`, `.squeeze()`, `.std()`, `.sum()`, `.swapaxes()`, `.take()`, `.trace()`, `.transpose()`, `.var()`
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
    Case(
        "axis that is not constant",
        """
def f(A, k):
    return A.sum(axis=k)
""",
        LanguageError,
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
        LanguageError,
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
        "computed index array",
        """
def f(A, J):
    return A[J + 1]
""",
        NotAffineError,
        """
kernel.py:2:14: error: a subscript that is an array is not affine
          return A[J + 1]
                   ^^^^^
  note: polyml compiles: numbers, slices, and arguments of integers that do not change
""",
        [array("f8", 1), array("i8", 1)],
    ),
    Case(
        "index array of a part",
        """
def f(A, J):
    return A[1:][J]
""",
        NotAffineError,
        """
kernel.py:2:12: error: a part of an array has a subscript that is an array
          return A[1:][J]
                 ^^^^^^^^
  note: polyml compiles: such subscripts along whole dimensions of arguments that do not change
""",
        [array("f8", 1), array("i8", 1)],
    ),
    Case(
        "stored at an index array",
        """
def f(A, J):
    A[J] = 1
""",
        NotAffineError,
        """
kernel.py:2:5: error: what is assigned to elements at index arrays is not affine
          A[J] = 1
          ^^^^
  note: polyml compiles: assignments to numbers and slices of arrays, and reads at index arrays
""",
        [array("f8", 1), array("i8", 1)],
    ),
    Case(
        "too many subscripts of a view",
        """
def f(A):
    return A[1:, 0, 2]
""",
        BoundsError,
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
        PolymlValueError,
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
    Case(
        "view of an argument returned",
        """
def f(A):
    return A[1:]
""",
        NotAffineError,
        """
kernel.py:2:12: error: a view of an argument is returned
          return A[1:]
                 ^^^^^
  note: polyml compiles: `return A[1:].copy()`
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
kernel.py:5:12: error: `B` is bound to an array under a condition
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


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_refusal_says_where_and_what_would_be_accepted(case):
    function = define(case.text)
    with pytest.raises(case.error) as caught:
        infer(parse(function), [arg_type(a) for a in case.args or ()])
    assert type(caught.value) is case.error
    assert message(caught.value, function) == case.message.strip("\n")


@pytest.mark.parametrize("case", [c for c in CASES if c.args is not None], ids=lambda case: case.name)
def test_what_types_refuse_can_be_parsed(case):
    assert parse(define(case.text)).name == "f"
