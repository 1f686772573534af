"""Every elementwise function that a kernel may call has a price, whatever the types of its operands."""

import math

import numpy as np
import pytest

from polyml.codegen.costs.expression_costs import operations
from polyml.codegen.costs.instruction_costs import FUNCTIONS, LIBRARY_CALL, price_of_function
from polyml.errors import PolymlTypeError
from polyml.frontend import elementwise_functions
from polyml.frontend.syntax import Call
from polyml.model.core.nest import subvalues
from tests.codegen.samples import scop_of

TYPES = ("float64", "float32", "float16", "complex128", "int32", "uint8", "bool")
KNOWN = {(name, module): (function, count) for function, (name, module, count) in elementwise_functions.FUNCTIONS.items()}


def kernel(function, operands: int):
    def one(A, B, R):
        for i in range(A.shape[0]):
            R[i] = function(A[i])

    def two(A, B, R):
        for i in range(A.shape[0]):
            R[i] = function(A[i], B[i])

    return one if operands == 1 else two


def values(function, operands: int) -> list:
    """The statements' values for each type that the function takes."""
    found = []
    for name in TYPES:
        arguments = {"A": np.ones(3, name), "B": np.ones(3, name), "R": np.zeros(3, complex if name == "complex128" else float)}
        try:
            found += [each.value for each in scop_of(kernel(function, operands), arguments).statements.values()]
        except PolymlTypeError:
            continue
    return found


@pytest.mark.parametrize("name, module", sorted(KNOWN))
def test_every_function_of_the_language_has_a_price(name, module):
    made = values(*KNOWN[name, module])
    assert made
    for value in made:
        operations(value)


def test_calls_are_priced_one_by_one():
    (value,) = [
        each.value for each in scop_of(kernel(np.tanh, 1), {"A": np.ones(3), "B": np.ones(3), "R": np.ones(3)}).statements.values()
    ]
    assert [call.function for call in subvalues(value) if isinstance(call, Call)] == ["tanh"]
    assert [(each.quick, each.slow) for each in operations(value)] == [(FUNCTIONS["tanh"].instructions, 0.0)]


def test_a_function_without_a_price_is_an_error():
    with pytest.raises(LookupError, match="the function sinc has no price in FUNCTIONS of polyml.codegen.costs.instruction_costs"):
        price_of_function("sinc")


def test_parts_of_functions_of_complex_numbers_are_calls_of_the_library():
    assert price_of_function("sin.real") == price_of_function("pow.imag") == price_of_function("erf") == LIBRARY_CALL
    assert math.erf in elementwise_functions.FUNCTIONS
