"""Iterations that run together, as loops: what the trace of a vectorised program makes its accesses in."""

from __future__ import annotations

from dataclasses import replace

from polyml.codegen.ir.linexpr import extremum, operands
from polyml.codegen.ir.program import Guard, Instance, Jam, Loop, Node

Around = tuple[Jam | Guard, ...]


def in_turn(nodes: tuple[Node, ...], around: Around = ()) -> tuple[Node, ...]:
    """The nodes without jams: around each instance in a jam a loop over its iterations, since an instance runs for all of them
    before the next one does.
    """
    return tuple(turned for node in nodes for turned in _in_turn(node, around))


def _in_turn(node: Node, around: Around) -> tuple[Node, ...]:
    if isinstance(node, Instance):
        return _inside(around, (node,))
    if isinstance(node, Jam) and node.scans:  # the whole body for each iteration
        return _inside((*around, node), in_turn(node.body))
    if isinstance(node, Jam) or isinstance(node, Guard) and _moves(node, around):
        return in_turn(node.body, (*around, node))
    return (replace(node, body=in_turn(node.body, around)),)


def _moves(guard: Guard, around: Around) -> bool:
    """Whether some of the iterations that run together pass it and others do not."""
    return any(isinstance(other, Jam) and other.var in guard.condition.names for other in around)


def _inside(around: Around, body: tuple[Node, ...]) -> tuple[Node, ...]:
    for node in reversed(around):
        body = (replace(node, body=body) if isinstance(node, Guard) else _loop(node, body),)
    return body


def _loop(jam: Jam, body: tuple[Node, ...]) -> Loop:
    last = jam.base + (jam.count * jam.lanes - 1)
    upper = (last,) if jam.limit is None else operands("min", extremum("min", [last, jam.limit]))
    return Loop(jam.var, (jam.base,), upper, 1, body)
