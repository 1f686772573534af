"""The table of NumPy's functions of whole arrays, by their names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from polyml.frontend import syntax
from polyml.frontend.arrays.functions import (
    array_reductions,
    creation,
    elementwise,
    extrema,
    linear_algebra,
    manipulation,
    searching,
    selections,
    sorting,
)
from polyml.frontend.arrays.loop_builder import LoopBuilder, Value
from polyml.frontend.arrays.selecting import counts, places, ranges
from polyml.frontend.arrays.sequences import tuples, written
from polyml.frontend.arrays.statistics import comparisons, nans
from polyml.frontend.parsing.array_signatures import REDUCED

_FUNCTIONS: dict[str, Callable[..., Value]] = {
    **creation.FUNCTIONS,
    **elementwise.FUNCTIONS,
    **extrema.FUNCTIONS,
    **linear_algebra.FUNCTIONS,
    **manipulation.FUNCTIONS,
    **array_reductions.FUNCTIONS,
    **comparisons.FUNCTIONS,
    **counts.FUNCTIONS,
    **nans.FUNCTIONS,
    **places.FUNCTIONS,
    **ranges.FUNCTIONS,
    **searching.FUNCTIONS,
    **sorting.FUNCTIONS,
    **tuples.FUNCTIONS,
    **written.FUNCTIONS,
}


def called(builder: LoopBuilder, call: syntax.Function) -> Value:
    """Returns the value of a call of one of NumPy's functions of arrays, after adding the loops that compute it to
    `builder.out`.
    """
    name, options = call.function, dict(call.options)
    if name.endswith("_reduce"):
        call = replace(call, function=REDUCED[name.removesuffix("_reduce")], options=tuple({"axis": 0, **options}.items()))
    selected = selections.reduced(builder, call)
    if selected is not None:
        return selected
    args = [builder.value(arg) for arg in call.args]
    return _FUNCTIONS[call.function](builder, args, dict(call.options), call.loc)
