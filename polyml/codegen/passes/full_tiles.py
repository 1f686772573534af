"""Full tiles apart from partial ones, by one test per tile.

    for i in max(it, lo) ... min(it + 47, hi):      ->      if it >= lo and it + 47 <= hi:
        ...                                                     for i in it ... it + 47: ...
                                                            else:
                                                                as before

In a full tile every loop has a constant length, so it needs no remainders, but for the innermost one, which also ends where
its array does; and what the test says lets the loops of a
triangular nest be independent where the partial tiles on the diagonal are not.
(Full and partial tiles: Kim, Renganarayanan, Rostron,
Rajopadhye and Strout, "Multi-level tiling: M for the price of one", SC 2007. isl's option isolate, Halide's loop partitioning.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from polyml.codegen.analysis.loop_nest import chain_of
from polyml.codegen.ir.linexpr import Compare, Condition, Lin, conjunction, negate
from polyml.codegen.ir.program import Guard, Instance, Loop, Node, Program, loops, with_body
from polyml.errors import ScheduleError

LEAST_DEPTH = 3  # loops of a nest for which two copies of the code pay


def separate_full_tiles(program: Program) -> Program:
    """The program with every deep nest inside tile loops in two versions, and those that the schedule asks for. ScheduleError
    where no loop inside one that it asks for runs over its tile.
    """
    return replace(program, body=_nodes(program.body, False))


def _nodes(nodes: tuple[Node, ...], tiled: bool) -> tuple[Node, ...]:
    out: list[Node] = []
    for node in nodes:
        if isinstance(node, Instance) or isinstance(node, Guard) and node.rare:
            out.append(node)
        elif isinstance(node, Loop) and node.directives.isolate:
            out.append(with_body(node, _isolated(node.body)))
            if not any(_box(inner, {inner.var}) for inner in loops(node.body) if inner.role != "tile"):
                raise ScheduleError(f"full tiles of loop `{node.name}` cannot be isolated: no loop inside runs over its tile")
        elif isinstance(node, Loop) and node.role != "tile" and tiled:
            out.extend(_versions(node))
        else:
            out.append(with_body(node, _nodes(node.body, tiled or (isinstance(node, Loop) and node.role == "tile"))))
    return tuple(out)


def _versions(loop: Loop) -> tuple[Node, ...]:
    chain, body = chain_of(loop)
    if len(chain) < LEAST_DEPTH or any(not isinstance(n, Instance) for n in body):
        return (loop,)
    if not _leans(chain):
        return (loop,)
    found = _full(chain)
    if found is None:
        return (loop,)
    condition, boxes = found
    inside = body
    for each, box in zip(reversed(chain), reversed(boxes)):
        inside = (replace(each, lower=box.lower, upper=box.upper, body=inside),)
    return Guard(condition, inside), Guard(negate(condition), (loop,), rare=True)


def _isolated(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """What a loop over tiles runs, each nest inside its tiles in two versions."""
    out: list[Node] = []
    for node in nodes:
        if isinstance(node, Loop) and node.role != "tile":
            tests: list[Compare] = []
            whole = _whole(node, {}, {node.var}, tests)
            tests = [*dict.fromkeys(t for t in tests if not (t.expr.is_const and t.expr.const >= 0))]
            both = (Guard(conjunction(tests), (whole,)), Guard(negate(conjunction(tests)), (node,), rare=True))
            out.extend(both if tests else (node,))
        else:
            out.append(node if isinstance(node, Instance) else with_body(node, _isolated(node.body)))
    return tuple(out)


def _whole(node: Node, boxes: dict[str, _Box], inside: set[str], tests: list[Compare]) -> Node:
    """The node as it runs in full tiles, where the tests hold: loops that have a box of constant length run over all of it.
    Other loops, and bounds that follow them, stay.
    """
    if isinstance(node, Instance):
        return node
    if not isinstance(node, Loop):
        return with_body(node, tuple(_whole(n, boxes, inside, tests) for n in node.body))
    inside = inside | {node.var, node.last}
    box = _box(node, inside) if node.step == 1 else None
    lower, upper = node.lower, node.upper
    if box is not None:
        lower = (box.low, *_left(node.lower, box.low, boxes, inside, tests, largest=True))
        upper = (box.high, *_left(node.upper, box.high, boxes, inside, tests, largest=False))
        boxes = {**boxes, node.var: box} if len(lower) == len(upper) == 1 else boxes
    return replace(node, lower=lower, upper=upper, body=tuple(_whole(n, boxes, inside, tests) for n in node.body))


def _left(
    bounds: tuple[Lin, ...], end: Lin, boxes: dict[str, _Box], inside: set[str], tests: list[Compare], largest: bool
) -> list[Lin]:
    """The bounds beside a box's end that stay. The others get a test that they never cut the box."""
    left = []
    for bound in bounds:
        if bound != end:
            extreme = _extreme(bound, boxes, largest)
            if extreme is None or extreme.names & inside:
                left.append(bound)
            else:
                tests.append(Compare(">=", (end - extreme) * (1 if largest else -1)))
    return left


def _leans(chain: tuple[Loop, ...]) -> bool:
    """Whether some bound depends on a loop of the chain: else only the ends of loops differ between tiles."""
    inside = {loop.var for loop in chain}
    return any(e.names & inside for loop in chain for e in (*loop.lower, *loop.upper))


@dataclass(frozen=True)
class _Box:
    """The bounds of one loop that come from its tile: high - low is a constant; and those beside that are the same for all
    iterations of the loops around.
    """

    low: Lin
    high: Lin
    others: tuple[tuple[Lin, ...], tuple[Lin, ...]] = ((), ())

    @property
    def lower(self) -> tuple[Lin, ...]:
        return self.low, *self.others[0]

    @property
    def upper(self) -> tuple[Lin, ...]:
        return self.high, *self.others[1]


def _full(chain: tuple[Loop, ...]) -> tuple[Condition, list[_Box]] | None:
    """When every loop of the chain runs over its whole tile; None where that is always so, or cannot be told."""
    inside = {name for loop in chain for name in (loop.var, loop.last)}
    boxes: dict[str, _Box] = {}
    tests: list[Compare] = []
    for loop in chain:
        box = _box(loop, inside)
        if box is None or loop.step != 1:
            return None
        if loop is chain[-1]:
            box = replace(box, others=(_beside(loop.lower, box.low, inside), _beside(loop.upper, box.high, inside)))
        for bound in loop.lower:
            if bound not in box.lower:
                highest = _extreme(bound, boxes, largest=True)
                if highest is None:
                    return None
                tests.append(Compare(">=", box.low - highest))
        for bound in loop.upper:
            if bound not in box.upper:
                lowest = _extreme(bound, boxes, largest=False)
                if lowest is None:
                    return None
                tests.append(Compare(">=", lowest - box.high))
        boxes[loop.var] = box
    tests = [t for t in tests if not (t.expr.is_const and t.expr.const >= 0)]
    return (conjunction(tests), [boxes[loop.var] for loop in chain]) if tests else None


def _box(loop: Loop, inside: set[str]) -> _Box | None:
    """The shortest one: it may lie within the others, which never lie within it."""
    boxes = [(high - low, low, high) for low in loop.lower if not low.names & inside for high in loop.upper]
    constant = [(length.const, low, high) for length, low, high in boxes if length.is_const]
    return _Box(*min(constant, key=lambda box: box[0])[1:]) if constant else None


def _beside(bounds: tuple[Lin, ...], end: Lin, inside: set[str]) -> tuple[Lin, ...]:
    """The other bounds that no loop of the chain moves."""
    return tuple(bound for bound in bounds if bound != end and bound.names.isdisjoint(inside))


def _extreme(bound: Lin, boxes: dict[str, _Box], largest: bool) -> Lin | None:
    """The largest or smallest value of a bound over the tiles of the loops around."""
    for name, box in boxes.items():
        c = bound.coefficient(name)
        if c is None:
            return None
        bound = bound.substitute({name: box.high if (c > 0) == largest else box.low})
    return bound
