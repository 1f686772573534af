"""Checks of the frontend's passes: what they made computes what the function does, on small arguments.

Kernels run on the interpreter that defines the language (`frontend.interpreter`), functions run as plain Python. Arguments hold
small whole numbers, so that NumPy's own order of sums changes nothing; divisions and roots are compared bit by bit between two
kernels, and within rounding with a function of whole arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from polyml.checks.arguments import Arguments, copied, difference
from polyml.checks.symbolic.finding import Finding
from polyml.codegen.astgen.build import build
from polyml.codegen.interpreter.call import UncertainBounds
from polyml.codegen.interpreter.run import run
from polyml.errors import PolymlError
from polyml.frontend import syntax
from polyml.frontend.arrays.lower import lowered
from polyml.frontend.interpreter import Unspecialised, interpret
from polyml.model.core.scop import Scop

Runs = Callable[[Arguments], object]
_ROUNDING = 1e-3  # of float32 and halves, which NumPy computes in other types; an element that is wrong differs by whole numbers


def check(before: syntax.Kernel, after: syntax.Kernel, arguments: Arguments) -> Finding | None:
    """Returns what a pass from kernel to kernel did wrong; None where both compute the same bits from the arguments.

    Both are run by the interpreter of the language.
    """
    return _compared(_interpreted(before), _interpreted(after), arguments)


def check_algebra(
    before: syntax.Kernel, after: syntax.Kernel, types: Sequence[syntax.ArgType], arguments: Arguments
) -> Finding | None:
    """Returns what a pass that rewrites array expressions did wrong; None where both kernels compute the same but for rounding.

    types: those of the parameters, for which both have their arrays made loops before they are run by the interpreter.
    """
    try:
        first, second = (_interpreted(lowered(kernel, types)) for kernel in (before, after))
    except PolymlError:
        return None  # what the language does not have is refused later
    return _compared(first, second, arguments, rounding=_ROUNDING)


def check_function(function: Callable[..., object], kernel: syntax.Kernel, arguments: Arguments) -> Finding | None:
    """Returns what the steps from a Python function to a kernel (parsing, inlining, lowering of arrays, finding types) did wrong;
    None where both give the same results but for rounding.

    The function is run as Python, the kernel by the interpreter of the language.
    """
    return _compared(lambda given: function(*given.values()), _interpreted(kernel), arguments, rounding=_ROUNDING)


def check_lowering(kernel: syntax.Kernel, scop: Scop, arguments: Arguments) -> Finding | None:
    """Returns what went wrong between a kernel and its SCoP, which includes finding types and all passes on the nest; None where
    both compute the same bits from the arguments.

    kernel: the function after arrays were lowered to single elements and before it has types; it is run by the interpreter of the
        language, which finds types as NumPy does.
    """
    program = build(scop, scop.schedule)
    return _compared(_interpreted(kernel), lambda given: run(program, given), arguments)


def check_sums(before: Scop, after: Scop, arguments: Arguments) -> Finding | None:
    """Returns what a pass did wrong that computes sums in another way; None where both SCoPs compute the same but for rounding.

    Both run in their source order on numbers.
    """
    first, second = (partial(run, build(scop, scop.schedule)) for scop in (before, after))
    return _compared(first, second, arguments, rounding=_ROUNDING)


def _interpreted(kernel: syntax.Kernel) -> Runs:
    return lambda given: interpret(kernel, list(given.values()))


def _compared(before: Runs, after: Runs, arguments: Arguments, rounding: float = 0.0) -> Finding | None:
    """Returns the first difference between what two programs make of the arguments; None where there is none.

    None also where `before` raises an error, so that there is nothing to compare with, or where the types or bounds of `after`
    cannot be found for these arguments.

    rounding: a tolerance for floating-point elements; 0.0 for the same bits.
    """
    given, made = copied(arguments), copied(arguments)
    try:
        with np.errstate(all="ignore"):
            wanted = before(given)
    except (ArithmeticError, LookupError, ValueError, TypeError, PolymlError, Unspecialised):
        return None
    try:
        with np.errstate(all="ignore"):
            got = after(made)
    except (Unspecialised, UncertainBounds):
        return None
    except (ArithmeticError, LookupError, ValueError, TypeError, PolymlError) as problem:
        return Finding(f"it raises {type(problem).__name__}: {problem}")
    pairs = [("the result", got, wanted), *((name, made[name], given[name]) for name in arguments)]
    for name, mine, right in pairs:
        found = difference(mine, right, name)
        if found and not (rounding and _is_near(mine, right, rounding)):
            return Finding(found, element=found.partition(" is ")[0])
    return None


def _is_near(got: object, wanted: object, rounding: float) -> bool:
    mine, right = np.asarray(got), np.asarray(wanted)
    if mine.shape != right.shape or mine.dtype != right.dtype or mine.dtype.kind not in "fc":
        return False
    return bool(np.allclose(mine, right, rtol=rounding, atol=rounding, equal_nan=True))
