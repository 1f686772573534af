"""The prices of operators and functions.

Every elementwise function has a price here. One without a price is an error when its loops are chosen, and
`tests/codegen/costs/test_instruction_costs.py` fails before that.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Price:
    """The cost of one operation on one number.

    instructions: simple instructions, several of which run in a cycle.
    cycles: cycles of a unit that runs one operation after the other, as for divisions.
    is_division: whether that unit is the divider, beside which all others go on.
    """

    instructions: float = 0.0
    cycles: float = 0.0
    is_division: bool = False


SIMPLE = Price(instructions=1.0)
CONVERSION = Price(instructions=0.5)
LIBRARY_CALL = Price(cycles=40.0)  # a function of the C library, which takes one number at a time

OPERATORS = {
    "/": Price(cycles=8.0, is_division=True),
    "//": Price(cycles=20.0),
    "%": Price(cycles=20.0),
    "**": Price(cycles=20.0),
}  # all others are SIMPLE

FUNCTIONS = {  # the functions that syntax.Call has after type inference; a division inside of one counts as eight instructions
    **{name: Price(instructions=count) for name, count in {
        "exp": 34.0, "exp2": 34.0, "expm1": 44.0, "sinh": 54.0, "cosh": 51.0, "tanh": 46.0,
        "log": 38.0, "log2": 40.0, "log10": 41.0, "log1p": 58.0, "arcsinh": 82.0, "arccosh": 88.0, "arctanh": 54.0,
        "sin": 52.0, "cos": 52.0, "tan": 72.0, "arcsin": 48.0, "arccos": 52.0, "arctan": 58.0, "arctan2": 80.0,
        "pow": 106.0, "hypot": 40.0, "cbrt": 35.0,
        "minimum": 1.0, "maximum": 1.0, "fmin": 1.0, "fmax": 1.0, "square": 1.0, "sign": 1.0,
        "isnan": 1.0, "isinf": 1.0, "isfinite": 1.0, "copysign": 1.0,
    }.items()},
    "sqrt": Price(cycles=10.0, is_division=True),
    "reciprocal": OPERATORS["/"],
    **{name: Price(cycles=1.0) for name in ("floor", "ceil", "trunc", "rint", "abs", "fabs")},
    **dict.fromkeys(("erf", "erfc", "tgamma", "lgamma", "fmod"), LIBRARY_CALL),
}  # fmt: skip

EASY_POWERS = (2, 3, -1, 0.5)
EASY_POWER = Price(instructions=6.0)
SQUARE = SIMPLE

LONGEST_SHORT_STRIDE = 4  # elements between neighbouring lanes up to which a row of memory is loaded whole and shuffled


def price_of_function(name: str) -> Price:
    """Returns the price of a function, by its NumPy name, or of a part of a function of complex numbers, as in "sin.real".

    Raises LookupError for a function without a price.
    """
    if "." in name:
        return LIBRARY_CALL
    if name not in FUNCTIONS:
        raise LookupError(f"the function {name} has no price in FUNCTIONS of {__name__}")
    return FUNCTIONS[name]
