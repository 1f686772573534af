"""The chunks of a parallel loop over tiles are made equal, whatever the tile's size is.

    parallel it by 288: for i in max(it, lo) ... min(it + 287, hi)
        ->  parallel it by 288 in lo ... hi: for i in it ... min(it + 287, last0)

Each thread takes one chunk of the iterations. Tiles then begin where a thread's chunk begins, and the last tile of a chunk ends
with it. This is possible only if nothing but the loops over single iterations depends on where tiles begin; if these loops have
different ranges, each keeps its own.

OpenMP's schedule(static) divides iterations in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count

from polyml.codegen.ir.program import Guard, Instance, Loop, Node, Program, every, with_body
from polyml.quasi_affine.affine import Affine, extremum, floor_div, variable


def balance(program: Program) -> Program:
    """Returns the program in which the outermost parallel loops over tiles are divided into chunks of equally many iterations,
    where the loops inside allow it. Each divided loop gets a name (`Loop.last`) that stands, in its body, for the last iteration
    of the chunk that runs.
    """
    taken = {p.name for p in program.scop.parameters}
    names = (name for n in count() if (name := f"last{n}") not in taken)
    return replace(program, body=tuple(_shared(node, names) for node in program.body))


def _shared(node: Node, names: Iterator[str]) -> Node:
    """Returns the node with the outermost parallel loops over tiles in it divided into equal chunks.

    names: unused names for the last iterations of chunks.
    """
    if isinstance(node, Instance):
        return node
    if not (isinstance(node, Loop) and node.parallel):
        return with_body(node, tuple(_shared(n, names) for n in node.body))
    ranges = _ranges(node) if node.role == "tile" and node.step > 1 else []
    if not ranges:
        return node
    last = next(names)
    lower, upper = ranges[0] if len(ranges) == 1 else _around(node, ranges)
    body = tuple(_ending(n, node, last, keep=len(ranges) > 1) for n in node.body)
    return replace(node, lower=lower, upper=upper, last=last, body=body)


Bounds = tuple[Affine, ...]


def _ranges(tile: Loop) -> list[tuple[Bounds, Bounds]]:
    """Returns the ranges, as (lower, upper) bounds, that the loops over a tile's iterations run through when all tiles are taken
    together, each range once. Returns an empty list if anything else inside depends on where tiles begin.

    tile: the loop over tiles.
    """
    ranges: dict[tuple[Bounds, Bounds], None] = {}
    inside: set[str] = {tile.var}
    for node in every(tile.body):
        if isinstance(node, Instance):
            if any(tile.var in e.names for e in node.point):
                return []
        elif isinstance(node, Guard):
            if tile.var in node.condition.names:
                return []
        elif isinstance(node, Loop):
            inside.add(node.var)
            if not any(tile.var in e.names for e in (*node.lower, *node.upper)):
                continue
            low, high = _ends(tile)
            lower, upper = _without(node.lower, low), _without(node.upper, high)
            if node.step != 1 or low not in node.lower or high not in node.upper:
                return []
            ends = upper if {*tile.upper} <= {*upper} else (_reached(tile), *upper)
            ranges[tuple(dict.fromkeys((*tile.lower, *lower))), ends] = None
        else:
            return []
    names = frozenset().union(*(e.names for whole in ranges for side in whole for e in side))
    return [] if names & inside else list(ranges)


def _ends(tile: Loop) -> tuple[Affine, Affine]:
    """Returns the first and the last iteration of one tile, as expressions of the variable of the loop over tiles."""
    return variable(tile.var), variable(tile.var) + (tile.step - 1)


def _reached(tile: Loop) -> Affine:
    """Returns the last iteration that the last tile would have if it were full, as an expression of the bounds of the loop over
    tiles.
    """
    first = extremum("max", tile.lower)
    return first + floor_div(extremum("min", tile.upper) - first, tile.step) * tile.step + (tile.step - 1)


def _around(tile: Loop, ranges: list[tuple[Bounds, Bounds]]) -> tuple[Bounds, Bounds]:
    """Returns the (lower, upper) bounds of one range that contains all the ranges: from the first iteration of the first tile to
    the last iteration of any of them.
    """
    return tile.lower, (extremum("max", [extremum("min", upper) for _, upper in ranges]),)


def _without(bounds: Bounds, bound: Affine) -> Bounds:
    """Returns the bounds except those that equal `bound`."""
    return tuple(e for e in bounds if e != bound)


def _ending(node: Node, tile: Loop, last: str, keep: bool) -> Node:
    """Returns the node with the loops over a tile's iterations in it ending where the chunk does.

    tile: the loop over tiles.
    last: the name of the chunk's last iteration.
    keep: whether these loops also keep their bounds besides the tile's; if not, those bounds are dropped, since the loop over tiles
        has them.
    """
    if isinstance(node, Instance):
        return node
    body = tuple(_ending(n, tile, last, keep) for n in node.body)
    if isinstance(node, Loop) and variable(tile.var) in node.lower:
        low, high = _ends(tile)
        lower, upper = (_without(node.lower, low), _without(node.upper, high)) if keep else ((), ())
        return replace(node, lower=(low, *lower), upper=(high, variable(last), *upper), body=body)
    return with_body(node, body)
