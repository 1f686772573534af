"""Functions compiled whole, and compared with what Python makes of them: results with their types, changed arguments, errors."""

from __future__ import annotations

import copy
import warnings

import numpy as np

import polyml


def outcome(called, given: tuple) -> tuple:
    """What a call gives or raises, and its arguments afterwards, as texts that show every type."""
    given = copy.deepcopy(given)
    try:
        with np.errstate(all="ignore"):
            result = _shown(called(*given))
    except (polyml.errors.LanguageError, polyml.errors.PolymlTypeError) as error:
        result = str(error)
    except Exception as error:
        result = next(base.__name__ for base in type(error).__mro__ if base.__module__ == "builtins")
    return result, _shown(given)


def _shown(value) -> object:
    if isinstance(value, (tuple, list)):
        return type(value).__name__, [_shown(part) for part in value]
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes().hex()
    return type(value).__name__, repr(value)


def assert_python(function, *given, compiles: bool = True) -> None:
    """Asserts that a function, compiled whole in several settings, does with these arguments what Python does.

    compiles: whether it is an error if it is not compiled
    """
    wanted = outcome(function, given)
    settings = {"fallback": "error"} if compiles else {}
    for fp, threads in (("strict", 1), ("strict", 2), ("fast", 1)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kernel = polyml.kernel(cache=False, fp=fp, threads=threads, **settings)(function)
            got = outcome(kernel, given)
        assert got == wanted, (fp, threads)


def refusal(function, *given) -> str:
    """The text of the error by which a function is not compiled whole for these arguments."""
    try:
        polyml.kernel(cache=False, fallback="error")(function)(*copy.deepcopy(given))
    except polyml.errors.PolymlError as error:
        return str(error)
    raise AssertionError("it is compiled")
