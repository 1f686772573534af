"""The order of a vectorised program's accesses as scalar loops: each jam, which runs iterations together, becomes loops."""

from __future__ import annotations

from dataclasses import replace

from polyml.codegen.ir.program import Guard, Instance, Jam, Loop, Node
from polyml.quasi_affine.affine import extremum, operands

Around = tuple[Jam | Guard, ...]


def in_lane_order(nodes: tuple[Node, ...], around: Around = ()) -> tuple[Node, ...]:
    """Turns jams (loops whose iterations run together, as lanes of vectors) into ordinary loops, and returns the nodes so made.
    They make the accesses in the order in which the vectorised program makes them.

    Each statement runs for all iterations of a jam before the next one does, so each gets a loop of its own. Only a jam with a scan
    (it passes on a running result) becomes one loop around its whole body.

        together i = 0 .. 3: S[i]; T[i]   ->   for i in 0 .. 3: S[i]   for i in 0 .. 3: T[i]

    around: the jams and guards around the nodes; each statement is put inside a copy of them.
    """
    return tuple(ordered for node in nodes for ordered in _node_in_lane_order(node, around))


def _node_in_lane_order(node: Node, around: Around) -> tuple[Node, ...]:
    """Turns the jams in a node (loops whose iterations run together) into ordinary loops, and returns the nodes so made. They make
    the accesses in the order in which the vectorised program makes them.

    around: the jams and guards around the node; each statement is put inside a copy of them.
    """
    if isinstance(node, Instance):
        return _inside(around, (node,))
    if isinstance(node, Jam) and node.scans:  # the whole body for each iteration
        return _inside((*around, node), in_lane_order(node.body))
    if isinstance(node, Jam) or isinstance(node, Guard) and _moves(node, around):
        return in_lane_order(node.body, (*around, node))
    return (replace(node, body=in_lane_order(node.body, around)),)


def _moves(guard: Guard, around: Around) -> bool:
    """Returns whether a guard may hold for some iterations that run together and not for others: its condition has a jam's
    variable.

    around: the jams (loops whose iterations run together) and the guards that the guard is in.
    """
    return any(isinstance(other, Jam) and other.var in guard.condition.names for other in around)


def _inside(around: Around, body: tuple[Node, ...]) -> tuple[Node, ...]:
    """Returns nodes inside a copy of the given guards and jams (iterations that run together), which are listed outermost first;
    each jam becomes a loop.
    """
    for node in reversed(around):
        body = (replace(node, body=body) if isinstance(node, Guard) else _loop(node, body),)
    return body


def _loop(jam: Jam, body: tuple[Node, ...]) -> Loop:
    """Returns a loop that runs the iterations of a jam, which run together, one after the other, with the given body."""
    last = jam.base + (jam.count * jam.lanes - 1)
    upper = (last,) if jam.limit is None else operands("min", extremum("min", [last, jam.limit]))
    return Loop(jam.var, (jam.base,), upper, 1, body)
