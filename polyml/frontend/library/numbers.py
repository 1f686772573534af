"""Functions of math and Python on numbers that take more than an instruction: the texts that are inlined where a kernel calls them.

They raise what Python raises, with its messages.
"""

import cmath
import math
from collections.abc import Callable
from operator import index
from types import FunctionType

import numpy as np


def gcd(a, b):
    """Returns the greatest common divisor of two integers, by Euclid's algorithm."""
    divisor = abs(index(a))
    rest = abs(index(b))
    while rest != 0:
        divisor, rest = rest, divisor % rest
    return divisor


def lcm(a, b):
    """Returns the least common multiple of two integers."""
    one = abs(index(a))
    other = abs(index(b))
    if one == 0 or other == 0:
        return 0
    return one // gcd(one, other) * other


def isqrt(n):
    """Returns the integer below or at the square root of an integer: a root in floats, made exact by steps of one."""
    number = index(n)
    if number < 0:
        raise ValueError("isqrt() argument must be nonnegative")
    root = int(math.sqrt(number))
    while root > 0 and root > number // root:
        root -= 1
    while root + 1 <= number // (root + 1):
        root += 1
    return root


def factorial(n):
    """Returns the product of the integers from 1 to n."""
    last = index(n)
    if last < 0:
        raise ValueError("factorial() not defined for negative values")
    product = 1
    for factor in range(2, last + 1):
        product *= factor
    return product


def comb(n, k):
    """Returns how many sets of k things there are of n. No product on the way is greater than the result."""
    things = index(n)
    chosen = index(k)
    if things < 0:
        raise ValueError("n must be a non-negative integer")
    if chosen < 0:
        raise ValueError("k must be a non-negative integer")
    if chosen > things:
        return 0
    count = 1
    for j in range(1, min(chosen, things - chosen) + 1):
        common = gcd(count, j)
        count = count // common * ((things - j + 1) // (j // common))
    return count


def perm(n, k):
    """Returns how many sequences of k different things there are of n."""
    things = index(n)
    chosen = index(k)
    if things < 0:
        raise ValueError("n must be a non-negative integer")
    if chosen < 0:
        raise ValueError("k must be a non-negative integer")
    if chosen > things:
        return 0
    count = 1
    for j in range(chosen):
        count *= things - j
    return count


def isclose(a, b, *, rel_tol=1e-09, abs_tol=0.0):
    """Returns whether two numbers differ by at most a part of the greater one, or by at most `abs_tol`."""
    one = float(a)
    other = float(b)
    if float(rel_tol) < 0.0 or float(abs_tol) < 0.0:
        raise ValueError("tolerances must be non-negative")
    difference = abs(other - one)
    near = difference <= abs(float(rel_tol) * other) or difference <= abs(float(rel_tol) * one) or difference <= float(abs_tol)
    return one == other or near and abs(one) != math.inf and abs(other) != math.inf


def modf(x):
    """Returns the fractional part of a number, and its whole part."""
    number = float(x)
    whole = float(np.trunc(number))
    rest = 0.0 if abs(number) == math.inf else number - whole
    return math.copysign(rest, number), whole


def remainder(x, y):
    """Returns x less the multiple of y that is nearest to it, of two equally near ones the even multiple; the difference is exact."""
    number = float(x)
    divisor = abs(float(y))
    rest = math.fmod(abs(number), divisor)
    other = divisor - rest
    tied = rest - 2.0 * math.fmod(0.5 * (abs(number) - rest), divisor)
    nearest = rest if rest < other else -other if rest > other else tied
    exact = number if divisor == math.inf and abs(number) != math.inf else math.copysign(1.0, number) * nearest
    return math.nan if divisor == 0.0 or number != number or divisor != divisor or abs(number) == math.inf else exact


def degrees(x):
    """Returns an angle in degrees."""
    return float(x) * (180.0 / math.pi)


def radians(x):
    """Returns an angle in radians."""
    return float(x) * (math.pi / 180.0)


def phase(z):
    """Returns the angle of a complex number."""
    number = complex(z)
    return math.atan2(number.imag, number.real)


def polar(z):
    """Returns the absolute value and the angle of a complex number."""
    number = complex(z)
    return abs(number), math.atan2(number.imag, number.real)


def rect(r, phi):
    """Returns the complex number with an absolute value and an angle."""
    length = float(r)
    angle = float(phi)
    return complex(length * math.cos(angle), length * math.sin(angle))


def quotient_and_rest(a, b):
    """Returns the quotient, rounded down, and the remainder: divmod(a, b)."""
    return a // b, a % b


_OF_MATH = (gcd, lcm, isqrt, factorial, comb, perm, isclose, modf, remainder, degrees, radians)
_TEXTS: dict[object, Callable] = {
    **{getattr(math, text.__name__): text for text in _OF_MATH},
    **{getattr(cmath, text.__name__): text for text in (phase, polar, rect)},
    divmod: quotient_and_rest,
}
TEXTS = {function: text for function, text in _TEXTS.items() if isinstance(text, FunctionType)}
"""The text for each function, by the function."""

FOLDED = {math.gcd: 0, math.lcm: 1, math.hypot: 0.0}
"""Functions of any number of operands that are computed of two at a time, with the operand that changes nothing."""
