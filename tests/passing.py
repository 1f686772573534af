"""One pass of a compilation, as its tests look at it."""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np

import polyml
from polyml.pipeline.printing import texts
from polyml.pipeline.trace import Ran, recorded


def ran(name: str, function: Callable, *arguments: object, **settings: object) -> Ran:
    """The last run of the pass in a call of the function, which must leave behind and return what plain Python does."""
    right, given = copy.deepcopy(arguments), copy.deepcopy(arguments)
    wanted = function(*right)
    with recorded() as found:
        got = polyml.kernel(function, cache=False, fallback="error", **settings)(*given)
    for mine, other in zip((got, *given), (wanted, *right)):
        if other is not None:
            np.testing.assert_allclose(mine, other, rtol=1e-9)
    return [each for each in found if each.step.name == name][-1]


def before_and_after(name: str, function: Callable, *arguments: object, **settings: object) -> tuple[list[str], list[str]]:
    """The lines that the pass takes away, and those that it adds."""
    found = ran(name, function, *arguments, **settings)
    old, new = texts.shown(found.before).splitlines(), found.text.splitlines()
    return [line.strip() for line in old if line not in new], [line.strip() for line in new if line not in old]
