"""The types of a result, from its type for each choice of the types of the operands."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence

import numpy as np

from polyml.dtypes import BOOL, F64, I64, PYBOOL, PYCOMPLEX, PYFLOAT, PYINT, DType
from polyml.errors import PolymlTypeError
from polyml.frontend import syntax
from polyml.frontend.types.conversions import TypedValue, depends_on_path
from polyml.frontend.types.promotion import NoRule
from polyml.frontend.types.type_sets import TypeSet, exact, representation, storage, union
from polyml.numpy_dtypes import numpy_dtype

Results = dict[tuple[DType, ...], DType]  # the type of a result by the types of its operands


def rule_of(expr: syntax.Expr, rule: Callable, *operands) -> tuple[DType | None, DType]:
    """Returns what a rule of `promotion` says for an operation: (type to compute in, type of the result).

    expr: the operation, at whose place an error is reported
    rule: a function of `promotion`, such as promotion.binary
    operands: the arguments that the rule takes
    Raises PolymlTypeError for an operation that does not exist.
    """
    try:
        return rule(*operands)
    except NoRule as problem:
        accepted = "operands of types that have one; convert them, for instance with int(x) or np.float64(x)"
        raise PolymlTypeError(str(problem), loc=expr.loc, notes=[f"accepted: {accepted}"]) from problem


def result_types(
    expr: syntax.Expr,
    operands: Sequence[TypedValue],
    results: Results,
    evaluated: Callable | None,
) -> TypeSet:
    """Returns the set of types that the result of an operation may have.

    results: types of the operands -> type of the result, for each combination of types that the operands may have
    evaluated: computes the operation on numbers, to try whether constants give the same result in each type; None where that is not
        possible
    Raises PolymlTypeError where NumPy's type of the result depends on the path that the program takes.
    """
    distinct = dict.fromkeys(results.values())
    if len(distinct) == 1:
        return distinct
    if len([d for d in distinct if not d.weak]) > 1:
        raise depends_on_path(expr, distinct)
    if {k for operand_types in results for k in operand_types} <= {BOOL, PYBOOL} and set(distinct) <= {BOOL, PYBOOL}:
        return distinct  # & | ^ of truth values, be they Python's or NumPy's
    main = main_type(distinct)
    types: TypeSet = {main: None}
    for operand_types, dtype in results.items():
        if dtype == main:
            continue
        known = [operand.types[kind] for operand, kind in zip(operands, operand_types, strict=True)]
        same = _same_arithmetic(evaluated, dtype, main)
        values = None if same else _proved(evaluated, known, dtype, main)
        if values is None and not same:
            raise depends_on_path(expr, distinct)
        types = union((types, {dtype: values}))
    if storage(types) != representation(main):  # there were too many constants to keep them all
        raise depends_on_path(expr, distinct)
    return types


def main_type(types: TypeSet) -> DType:
    """Returns the type in which a number that may have several types is computed: the NumPy type among them, else the widest."""
    return next((k for k in types if not k.weak), None) or next(k for k in (PYCOMPLEX, PYFLOAT, PYINT, PYBOOL) if k in types)


def _same_arithmetic(evaluated: Callable | None, dtype: DType, main: DType) -> bool:
    """Returns whether computing in type `main` gives the results that computing in type `dtype` gives, whatever the numbers are.

    True only for Python's floats computed in float64, and for Python's ints computed in int64. For ints it is False if `evaluated`
    is None, as it is for shifts.
    """
    return (dtype, main) == (PYFLOAT, F64) or (dtype, main) == (PYINT, I64) and evaluated is not None


def _proved(evaluated: Callable | None, known: Sequence[tuple | None], dtype: DType, main: DType) -> tuple | None:
    """Returns the results of an operation for all combinations of the values that its operands may have.

    None is returned where computing in type `main` gives another result for one of them. It is returned too where the values of an
    operand are not known, except in a product with a known zero.

    evaluated: computes the operation; None where that is not possible
    known: for each operand the Python numbers that it may be, None where they are not known
    dtype: the type that the result has by Python's rules
    main: the type in which the program computes
    """
    if (
        evaluated is operator.mul
        and dtype.is_float == main.is_float
        and not main.is_complex
        and any(k and not any(k) for k in known)
    ):
        return next(k for k in known if k and not any(k))  # zero times anything, where that is in the range of `main`
    sets = [k for k in known if k is not None]
    if evaluated is None or len(sets) < len(known):
        return None
    results = [_result_in_both(evaluated, numbers, representation(main)) for numbers in itertools.product(*sets)]
    return None if any(r is None for r in results) else tuple(results)


def _result_in_both(evaluated: Callable, numbers: Sequence[object], main: DType) -> object | None:
    """Returns the result of an operation on Python numbers; None where NumPy numbers of type `main` give another one.

    None is returned too where `main` does not hold the result exactly.

    evaluated: computes the operation
    numbers: the operands
    """
    as_main = numpy_dtype(main).type
    try:
        with np.errstate(all="ignore"):
            result, same = evaluated(*numbers), evaluated(*map(as_main, numbers))
    except (ArithmeticError, TypeError, ValueError):
        return None
    if not isinstance(result, bool) and exact(result, main) is None:
        return None
    as_python = type(same.item())
    return result if repr(same.item()) == repr(as_python(result)) else None
