"""Threads share the iterations of a parallel loop over tiles evenly, whatever the tile's size is.

    parallel it by 288: for i in max(it, lo) ... min(it + 287, hi)
        ->  parallel it by 288 in lo ... hi: for i in it ... min(it + 287, last0)

Tiles then begin where a thread's share does, and the last one of a share ends with it. This is done where nothing but the
loops over single iterations, all over the same range, knows where tiles begin.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count

from polyml.codegen.ast import Guard, Instance, Loop, Node, Program, every, with_body
from polyml.codegen.integers import Lin, var


def with_even_shares(program: Program) -> Program:
    taken = {p.name for p in program.scop.parameters}
    names = (name for n in count() if (name := f"last{n}") not in taken)
    return replace(program, body=tuple(_shared(node, names) for node in program.body))


def _shared(node: Node, names: Iterator[str]) -> Node:
    if isinstance(node, Instance):
        return node
    if not (isinstance(node, Loop) and node.parallel):
        return with_body(node, tuple(_shared(n, names) for n in node.body))
    whole = _range(node) if node.role == "tile" and node.step > 1 else None
    if whole is None:
        return node
    last = next(names)
    lower, upper = whole
    return replace(node, lower=lower, upper=upper, last=last, body=tuple(_ending(n, node, last) for n in node.body))


def _range(tile: Loop) -> tuple[tuple[Lin, ...], tuple[Lin, ...]] | None:
    """The range that all tiles together cover, None where more than its loops over single iterations knows the tile."""
    ranges = set()
    inside: set[str] = set()
    for node in every(tile.body):
        if isinstance(node, Instance):
            if any(tile.var in e.names for e in node.point):
                return None
        elif isinstance(node, Guard):
            if tile.var in node.condition.names:
                return None
        elif isinstance(node, Loop):
            inside.add(node.var)
            if not any(tile.var in e.names for e in (*node.lower, *node.upper)):
                continue
            low, high = var(tile.var), var(tile.var) + (tile.step - 1)
            lower, upper = _without(node.lower, low), _without(node.upper, high)
            if node.step != 1 or low not in node.lower or high not in node.upper or not {*tile.upper} <= {*upper}:
                return None
            ranges.add((tuple(dict.fromkeys((*tile.lower, *lower))), upper))
        else:
            return None
    if len(ranges) != 1:
        return None
    (whole,) = ranges
    names = frozenset().union(*(e.names for side in whole for e in side))
    return None if names & (inside | {tile.var}) else whole


def _without(bounds: tuple[Lin, ...], bound: Lin) -> tuple[Lin, ...]:
    return tuple(e for e in bounds if e != bound)


def _ending(node: Node, tile: Loop, last: str) -> Node:
    """The node with the loops over the tile's iterations ending with the share."""
    if isinstance(node, Instance):
        return node
    body = tuple(_ending(n, tile, last) for n in node.body)
    if isinstance(node, Loop) and var(tile.var) in node.lower:
        start = var(tile.var)
        return replace(node, lower=(start,), upper=(start + (tile.step - 1), var(last)), body=body)
    return with_body(node, body)
