"""A schedule as steps from the source's order, whose product is the schedule exactly.

split        statements of which some instances have other loops than the rest
distribute   loops that the schedule does not share
interchange, reverse, scale, skew, shift
             the affine loops of each piece, by elimination over the integers
embed, collapse
             loops that run a piece at one iteration
fuse, reorder
             the loops that pieces share, and their order
tile         loops over tiles
parallel     and other directives

Chlore (Bagnères, Zinenko, Huot and Bastoul, 2016) does the same with matrices and Clay's transformations. An order between may be illegal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import islpy as isl

from polyml.model.core.scop import Scop
from polyml.schedule.replay.loops_of_pieces import affine_changes, directives, skeleton_of, tile_changes
from polyml.schedule.replay.nests import Key, Order, order_of
from polyml.schedule.replay.positions import distributed, placed
from polyml.schedule.replay.steps import Change, Step
from polyml.schedule.tree import loop_tree


@dataclass(frozen=True)
class Replay:
    """A replay leads from the source's order of a kernel to a schedule. orders: before the first step, and after each one."""

    steps: tuple[Step, ...]
    orders: tuple[Order, ...]


def steps_to(tree: isl.Schedule, scop: Scop) -> Replay:
    """Returns the steps from the source's order of a kernel to a schedule of it.

    That the last order equals the schedule is tested where the steps are made: else the result is an AssertionError, a defect of polyml.
    """
    source = order_of(loop_tree.read(scop.schedule, scop.statements), scop)
    wanted = order_of(loop_tree.read(tree, scop.statements), scop)
    skeleton = skeleton_of(wanted)
    replay = _Recorder(source)
    replay.record(split(source, wanted))
    replay.record(distributed(replay.order, skeleton.order))
    pieces = replay.order.pieces
    replay.record(*merged({key: affine_changes(pieces[key], piece) for key, piece in skeleton.order.pieces.items()}))
    replay.record(placed(replay.order, skeleton.order))
    replay.record(*merged({key: tile_changes(piece, skeleton.kept[key]) for key, piece in wanted.pieces.items()}))
    replay.record(placed(replay.order, wanted))
    pieces = replay.order.pieces
    replay.record(*merged({key: directives(pieces[key], piece) for key, piece in wanted.pieces.items()}))
    assert replay.order.equals(wanted), "the product of the steps is not the schedule"
    return Replay(tuple(replay.steps), tuple(replay.orders))


class _Recorder:
    """A recorder applies steps one after the other, and keeps them with the orders that they make."""

    def __init__(self, start: Order):
        self.steps: list[Step] = []
        self.orders = [start]

    @property
    def order(self) -> Order:
        """The order after the last step."""
        return self.orders[-1]

    def record(self, *steps: Step | None) -> None:
        """Applies steps; None is none."""
        for step in steps:
            if step is not None:
                self.steps.append(step)
                self.orders.append(step.applied(self.order))


def split(source: Order, wanted: Order) -> Step | None:
    """Returns the step that divides statements into the pieces that they have in the order `wanted`; None where all are whole."""
    parts: dict[str, list[isl.Set]] = {}
    for (name, _), piece in wanted.pieces.items():
        parts.setdefault(name, []).append(piece.instances)
    divided = {name: tuple(own) for name, own in parts.items() if len(own) > 1}
    if not divided:
        return None
    words = ", ".join(f"{name} in {len(own)}" for name, own in divided.items())
    return Step("split", words, tuple(divided), parts=divided)


def merged(changes: Mapping[Key, Sequence[Change]]) -> Iterator[Step]:
    """Yields steps that make, for each piece, its changes one after the other; equal changes of several pieces are one step."""
    rest = {key: list(own) for key, own in changes.items()}
    while any(rest.values()):
        first = next(own[0] for own in rest.values() if own)
        same = [key for key, own in rest.items() if own and (own[0].kind, own[0].words) == (first.kind, first.words)]
        names = tuple(dict.fromkeys(name for name, _ in same))
        made: dict[Key, tuple[Change, ...]] = {}
        for key in same:
            count = next(
                (k for k, each in enumerate(rest[key]) if (each.kind, each.words) != (first.kind, first.words)), len(rest[key])
            )
            made[key] = tuple(rest[key][:count])
            del rest[key][:count]
        yield Step(first.kind, first.words, names, changes=made)
