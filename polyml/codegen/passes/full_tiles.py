"""Full tiles are separated from partial ones, by one test per tile.

    for i in max(it, lo) ... min(it + 47, hi):      ->      if it >= lo and it + 47 <= hi:
        ...                                                     for i in it ... it + 47: ...
                                                            else:
                                                                as before

In a full tile every loop has a constant length, so it needs no remainder loops; only the innermost loop also ends where its
array does. And what the test says makes the loops of a triangular nest independent in full tiles, although they are not in the
partial tiles on the diagonal.

Kim, Renganarayanan, Rostron, Rajopadhye and Strout, "Multi-level tiling: M for the price of one", SC 2007. isl calls this the
option isolate, Halide loop partitioning.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from polyml.codegen.analysis.loop_nest import chain_of
from polyml.codegen.ir.program import Guard, Instance, Loop, Node, Program, loops, with_body
from polyml.errors import ScheduleError
from polyml.quasi_affine.affine import Affine, Compare, Condition, conjunction, negate

LEAST_DEPTH = 3  # loops that a nest needs for two copies of its code to pay


def separate_full_tiles(program: Program) -> Program:
    """Returns the program in which nests of loops inside of loops over tiles have two versions under guards, one for full and one
    for partial tiles: deep nests where that pays, and those for which the schedule asks for it.

    Raises ScheduleError if the schedule asks for it at a loop inside of which no loop runs over a tile.
    """
    return replace(program, body=_nodes(program.body, False))


def _nodes(nodes: tuple[Node, ...], tiled: bool) -> tuple[Node, ...]:
    """Returns the nodes with nests in two versions, for full and for partial tiles: deep nests where that pays, and those for which
    the schedule asks for it.

    tiled: whether the nodes stand inside of a loop over tiles.
    """
    out: list[Node] = []
    for node in nodes:
        if isinstance(node, Instance) or isinstance(node, Guard) and node.rare:
            out.append(node)
        elif isinstance(node, Loop) and node.directives.isolate:
            out.append(with_body(node, _isolated(node.body)))
            if not any(_tile(inner, {inner.var}) for inner in loops(node.body) if inner.role != "tile"):
                raise ScheduleError(f"full tiles of loop `{node.name}` cannot be isolated: no loop inside runs over its tile")
        elif isinstance(node, Loop) and node.role != "tile" and tiled:
            out.extend(_versions(node))
        else:
            out.append(with_body(node, _nodes(node.body, tiled or (isinstance(node, Loop) and node.role == "tile"))))
    return tuple(out)


def _versions(loop: Loop) -> tuple[Node, ...]:
    """Returns the nest that begins with a loop in two versions under guards, one for full and one for partial tiles; the nest alone
    if its bounds make two versions useless, or no condition tells the tiles apart.
    """
    chain, body = chain_of(loop)
    if len(chain) < LEAST_DEPTH or any(not isinstance(n, Instance) for n in body):
        return (loop,)
    if not _has_dependent_bounds(chain):
        return (loop,)
    found = _full(chain)
    if found is None:
        return (loop,)
    condition, tiles = found
    inside = body
    for each, tile in zip(reversed(chain), reversed(tiles)):
        inside = (replace(each, lower=tile.lower, upper=tile.upper, body=inside),)
    return Guard(condition, inside), Guard(negate(condition), (loop,), rare=True)


def _isolated(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """Returns the body of a loop over tiles for which the schedule asks to separate full tiles from partial ones: each nest inside
    is in two versions under guards, the first for full tiles.
    """
    out: list[Node] = []
    for node in nodes:
        if isinstance(node, Loop) and node.role != "tile":
            tests: list[Compare] = []
            whole = _full_version(node, {}, {node.var}, tests)
            tests = [*dict.fromkeys(t for t in tests if not (t.expr.is_constant and t.expr.constant >= 0))]
            both = (Guard(conjunction(*tests), (whole,)), Guard(negate(conjunction(*tests)), (node,), rare=True))
            out.extend(both if tests else (node,))
        else:
            out.append(node if isinstance(node, Instance) else with_body(node, _isolated(node.body)))
    return tuple(out)


def _full_version(node: Node, tiles: dict[str, _TileRange], inside: set[str], tests: list[Compare]) -> Node:
    """Returns the version of a node for full tiles: each loop whose tile has a constant length runs over all of the tile, other
    loops stay as they are.

    tiles: by variable, the ranges of the loops around that run over whole tiles.
    inside: variables of the loops around, which have no value where the tests are made.
    tests: the conditions under which the version is right; new ones are appended.
    """
    if isinstance(node, Instance):
        return node
    if not isinstance(node, Loop):
        return with_body(node, tuple(_full_version(n, tiles, inside, tests) for n in node.body))
    inside = inside | {node.var, node.last}
    tile = _tile(node, inside) if node.step == 1 else None
    lower, upper = node.lower, node.upper
    if tile is not None:
        lower = (tile.low, *_remaining_bounds(node.lower, tile.low, tiles, inside, tests, largest=True))
        upper = (tile.high, *_remaining_bounds(node.upper, tile.high, tiles, inside, tests, largest=False))
        tiles = {**tiles, node.var: tile} if len(lower) == len(upper) == 1 else tiles
    return replace(node, lower=lower, upper=upper, body=tuple(_full_version(n, tiles, inside, tests) for n in node.body))


def _remaining_bounds(
    bounds: tuple[Affine, ...], end: Affine, tiles: dict[str, _TileRange], inside: set[str], tests: list[Compare], largest: bool
) -> list[Affine]:
    """Returns those bounds of a loop that it must keep in full tiles besides the tile's end. For each bound that is dropped, the
    test that it never cuts the tile is appended to `tests`.

    bounds: the loop's lower bounds, or its upper bounds.
    end: the tile's first iteration for lower bounds, its last one for upper bounds.
    tiles: by variable, the ranges of the loops around that run over whole tiles.
    inside: variables of the loops around, which have no value where the tests are made.
    largest: True for lower bounds, of which the largest value counts; False for upper bounds, of which the smallest does.
    """
    left = []
    for bound in bounds:
        if bound != end:
            extreme = _extreme(bound, tiles, largest)
            if extreme is None or extreme.names & inside:
                left.append(bound)
            else:
                tests.append(Compare(">=", (end - extreme) * (1 if largest else -1)))
    return left


def _has_dependent_bounds(chain: tuple[Loop, ...]) -> bool:
    """Returns whether a bound of one of the nested loops depends on the variable of another one. If none does, versions for full
    and for partial tiles would differ only in where loops end.
    """
    inside = {loop.var for loop in chain}
    return any(e.names & inside for loop in chain for e in (*loop.lower, *loop.upper))


@dataclass(frozen=True)
class _TileRange:
    """The range of a loop over one tile's iterations.

    low, high: the first and the last iteration of a full tile; high - low is a constant.
    others: (lower, upper) bounds besides these, which do not depend on the loops of the nest and are kept in full tiles too.
    """

    low: Affine
    high: Affine
    others: tuple[tuple[Affine, ...], tuple[Affine, ...]] = ((), ())

    @property
    def lower(self) -> tuple[Affine, ...]:
        return self.low, *self.others[0]

    @property
    def upper(self) -> tuple[Affine, ...]:
        return self.high, *self.others[1]


def _full(chain: tuple[Loop, ...]) -> tuple[Condition, list[_TileRange]] | None:
    """Returns the condition under which every loop of a nest runs over its whole tile, and the range that each loop then has; None
    if the condition always holds or cannot be expressed. A loop that is not cut into tiles keeps its range, which no loop of the
    nest may change.

    chain: the nest's loops, outermost first.
    """
    inside = {name for loop in chain for name in (loop.var, loop.last)}
    tiles: dict[str, _TileRange] = {}
    tests: list[Compare] = []
    whole: list[_TileRange] = []
    for loop in chain:
        tile = _tile(loop, inside)
        if loop.step != 1 or tile is None and any(e.names & inside for e in (*loop.lower, *loop.upper)):
            return None
        if tile is None:
            whole.append(_TileRange(loop.lower[0], loop.upper[0], (loop.lower[1:], loop.upper[1:])))
            continue
        if loop is chain[-1]:
            tile = replace(tile, others=(_beside(loop.lower, tile.low, inside), _beside(loop.upper, tile.high, inside)))
        for bound in loop.lower:
            if bound not in tile.lower:
                highest = _extreme(bound, tiles, largest=True)
                if highest is None:
                    return None
                tests.append(Compare(">=", tile.low - highest))
        for bound in loop.upper:
            if bound not in tile.upper:
                lowest = _extreme(bound, tiles, largest=False)
                if lowest is None:
                    return None
                tests.append(Compare(">=", lowest - tile.high))
        tiles[loop.var] = tile
        whole.append(tile)
    tests = [t for t in tests if not (t.expr.is_constant and t.expr.constant >= 0)]
    return (conjunction(*tests), whole) if tests and not any(t.expr.names & inside for t in tests) else None


def _tile(loop: Loop, inside: set[str]) -> _TileRange | None:
    """Returns the range of the tile that a loop runs over: the lower and the upper bound of the loop that are the smallest
    constant apart; None if no two are a constant apart. The loop's other bounds may only make the range shorter.

    inside: names that the range's first value must not depend on.
    """
    tiles = [(high - low, low, high) for low in loop.lower if not low.names & inside for high in loop.upper]
    constant = [(length.constant, low, high) for length, low, high in tiles if length.is_constant]
    return _TileRange(*min(constant, key=lambda tile: tile[0])[1:]) if constant else None


def _beside(bounds: tuple[Affine, ...], end: Affine, inside: set[str]) -> tuple[Affine, ...]:
    """Returns those of the bounds, other than the tile's own, that do not depend on any loop of the nest.

    bounds: a loop's lower bounds, or its upper bounds.
    end: the bound among them that comes from the tile.
    inside: the variables of the nest's loops.
    """
    return tuple(bound for bound in bounds if bound != end and bound.names.isdisjoint(inside))


def _extreme(bound: Affine, tiles: dict[str, _TileRange], largest: bool) -> Affine | None:
    """Returns the largest or the smallest value of a bound over all iterations of the loops in `tiles`, or None if the bound is not
    linear in these loops' variables.

    tiles: by variable of a loop, the range that it runs over.
    largest: whether to return the largest value; if not, the smallest.
    """
    for name, tile in tiles.items():
        c = bound.coefficient(name)
        if c is None:
            return None
        bound = bound.substitute({name: tile.high if (c > 0) == largest else tile.low})
    return bound
