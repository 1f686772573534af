"""How often loops run, and what their variables are, where code is chosen: exact if bounds tell, else a guess."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from polyml.codegen.ir.program import Loop

DEFAULT_TRIPS = 500  # of a loop whose length is known only at run time


def trips(loop: Loop, known: Mapping[str, int]) -> int:
    """How often the loop runs: exact where two bounds differ by a constant, or by values that are known, else a guess."""
    best = None
    for low in loop.lower:
        for high in loop.upper:
            difference = high - low
            if difference.names <= known.keys():
                count = max(0, difference.evaluate(known) // loop.step + 1)
                best = count if best is None else min(best, count)
    return DEFAULT_TRIPS if best is None else min(best, 4 * DEFAULT_TRIPS)


def middle_values(loops: Iterable[Loop], sizes: Mapping[str, int]) -> dict[str, int]:
    """The sizes expected, values in the middle of what the variables of nested loops take, and where shares end; none without
    sizes.
    """
    known = dict(sizes)
    for loop in loops if sizes else ():
        lows, highs = ([e.evaluate(known) for e in side if e.names <= known.keys()] for side in (loop.lower, loop.upper))
        if lows:
            known[loop.var] = max(lows)
        if lows and highs:
            known[loop.var] += max(0, min(highs) - max(lows)) // 2 // loop.step * loop.step
        if highs and loop.last:
            known[loop.last] = min(highs)
    return known
