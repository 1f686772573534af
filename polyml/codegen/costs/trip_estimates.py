"""Estimates of how often loops run and of what values their variables have: exact where constants tell, otherwise an
assumption.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from polyml.codegen.ir.program import Loop

DEFAULT_TRIPS = 500  # assumed for a loop whose length is known only at run time


def trips(loop: Loop, known: Mapping[str, int]) -> int:
    """Returns an estimate of the loop's number of iterations: the least number by any two bounds whose difference is known, but at
    most 2000 (4 * DEFAULT_TRIPS). If no two bounds have a known difference, it is 500 (DEFAULT_TRIPS). Bounds that leave a gap, as
    those of a triangle where the typical values lie outside of it, tell nothing, unless all do.

    known: by name of a parameter or variable, its value.
    """
    best, gap = None, False
    for low in loop.lower:
        for high in loop.upper:
            difference = high - low
            if difference.names <= known.keys():
                count = difference.evaluate(known) // loop.step + 1
                gap |= count < 0
                best = best if count < 0 else count if best is None else min(best, count)
    if best is None:
        return 0 if gap else DEFAULT_TRIPS
    return min(best, 4 * DEFAULT_TRIPS)


def middle_values(loops: Iterable[Loop], sizes: Mapping[str, int]) -> dict[str, int]:
    """Returns the sizes together with a typical value of each loop's variable, in the middle of its range, and of each loop's
    `Loop.last`, the last iteration of a thread's chunk. Without sizes the result is empty.

    loops: nested loops, outermost first.
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
