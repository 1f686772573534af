"""Quotients that are the same in a whole tile take the tile's variable, so that bounds inside of the tile are straight.

    for t in range(0, N, 8):                                for t in range(0, N, 8):
        for i in range(t, min(t + 8, N)):                       for i in range(t, min(t + 8, N)):
            for j in range(0, 64*(i // 64) + 64):     ->            for j in range(0, 64*(t // 64) + 64):

t is a multiple of 8 and i = t + r with 0 <= r < 8, so that i // 64 = t // 64. A register tile of several i needs such bounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import gcd

from polyml.codegen.ir.program import Instance, Loop, Node, with_body
from polyml.quasi_affine.affine import Affine, Atom, Extremum, FloorDiv, extremum, floor_div, linear, of_atom, variable

_Tiles = Mapping[str, tuple[str, int]]  # { variable inside a tile -> (the tile's variable, the tile's length) }


def straight(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """Returns loops whose bounds have quotients of the variables of tiles in place of those of the loops inside, where these are
    equal.
    """
    return tuple(_node(node, {}, {}) for node in nodes)


def _node(node: Node, multiples: Mapping[str, int], tiles: _Tiles) -> Node:
    """Returns a node with straight bounds. multiples: { loop variable -> a number that always divides it }."""
    if isinstance(node, Instance):
        return node
    if not isinstance(node, Loop):
        return with_body(node, tuple(_node(n, multiples, tiles) for n in node.body))
    lower, upper = (tuple(_straight(e, tiles) for e in bounds) for bounds in (node.lower, node.upper))
    multiples = {**multiples, node.var: divisor_of(replace(node, lower=lower), multiples)}
    tile = _tile(lower, upper, multiples) if node.step == 1 else None
    if tile is not None:
        tiles = {**tiles, node.var: tile}
    body = tuple(_node(n, multiples, tiles) for n in node.body)
    return replace(node, lower=lower, upper=upper, body=body)


def divisor_of(loop: Loop, multiples: Mapping[str, int]) -> int:
    """Returns a number that divides all values of a loop's variable. multiples: { variable -> a number that divides it }."""
    if loop.last or len({*loop.lower}) > 1:
        return 1
    return gcd(loop.step, _divisor(loop.lower[0], multiples), loop.lower[0].constant)


def _divisor(e: Affine, multiples: Mapping[str, int]) -> int:
    """Returns a number that divides all terms of an expression but its constant."""
    return gcd(*(factor * multiples.get(atom, 1) if isinstance(atom, str) else factor for atom, factor in e.terms))


def rounded(e: Affine, multiples: Mapping[str, int]) -> Affine:
    """Returns the expression with each quotient's constant rounded down to what tells it from others: floor((t + 3) / 512) is
    floor(t / 512) where t is a multiple of 8.

    multiples: { variable -> a number that divides it }.
    """
    if not any(isinstance(atom, FloorDiv) for atom, _ in e.terms):
        return e
    total = linear((), e.constant)
    for atom, factor in e.terms:
        total += (_rounded(atom, multiples) if isinstance(atom, FloorDiv) else of_atom(atom)) * factor
    return total


def _rounded(quotient: FloorDiv, multiples: Mapping[str, int]) -> Affine:
    operand = rounded(quotient.operand, multiples)
    step = gcd(quotient.divisor, _divisor(operand, multiples))
    return floor_div(operand - operand.constant % step, quotient.divisor)


def _tile(lower: Sequence[Affine], upper: Sequence[Affine], multiples: Mapping[str, int]) -> tuple[str, int] | None:
    """Returns the variable of the tile that a loop is inside of, and the tile's length, which divides that variable; None where
    there is none.
    """
    for start in (e for bound in lower for e in _operands("max", bound)):
        for end in (e for bound in upper for e in _operands("min", bound)):
            length = end - start + 1
            [*names] = start.terms
            if length.is_constant and start.constant == 0 and len(names) == 1 and names[0][1] == 1:
                name = names[0][0]
                if isinstance(name, str) and length.constant > 1 and multiples.get(name, 1) % length.constant == 0:
                    return name, length.constant
    return None


def _operands(op: str, e: Affine) -> Sequence[Affine]:
    """Returns the operands of an extremum of this kind, or the expression itself."""
    if e.constant == 0 and len(e.terms) == 1 and e.terms[0][1] == 1:
        atom = e.terms[0][0]
        if isinstance(atom, Extremum) and atom.op == op:
            return atom.operands
    return (e,)


def _straight(e: Affine, tiles: _Tiles) -> Affine:
    """Returns the expression with quotients of tiles' variables."""
    if e.names.isdisjoint(tiles):
        return e
    total = linear((), e.constant)
    for atom, factor in e.terms:
        total += _atom(atom, tiles) * factor
    return total


def _atom(atom: Atom, tiles: _Tiles) -> Affine:
    if isinstance(atom, FloorDiv):
        return floor_div(_straight(_of_tile(atom, tiles), tiles), atom.divisor)
    if isinstance(atom, Extremum):
        return extremum(atom.op, [_straight(e, tiles) for e in atom.operands], atom.as_written)
    return of_atom(atom)


def _of_tile(quotient: FloorDiv, tiles: _Tiles) -> Affine:
    """Returns the operand of a quotient with the tile's variable, where the quotient is the same in the whole tile."""
    operand = quotient.operand
    if len(operand.terms) == 1 and operand.terms[0][1] == 1:
        name = operand.terms[0][0]
        if isinstance(name, str) and name in tiles:
            tile, length = tiles[name]
            if quotient.divisor % length == 0 and operand.constant % length == 0:
                return operand.substitute({name: variable(tile)})
    return operand
