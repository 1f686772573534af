"""Refusals of names from outside the kernel, and constants."""

from __future__ import annotations

import numpy as np

from polyml.errors import LanguageError, PolymlTypeError
from tests.frontend.refusals.case import Case

CASES = [
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
]
