"""What a picture of a nest shows, as values: instances, dependences between them, the order in which they run, tiles, and groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from polyml.polyhedra.points import Instance

DOMAIN, DEPENDENCES, SCHEDULE, TILES = "domain", "dependences", "schedule", "tiles"
THREADS, WAVEFRONTS, STEP = "threads", "wavefronts", "step"
SUBJECTS = (DOMAIN, DEPENDENCES, SCHEDULE, TILES, THREADS, WAVEFRONTS, STEP)


@dataclass(frozen=True)
class StatementPoints:
    """The instances of a statement as points.

    text: the statement with its subscripts.
    points: the values of the iterators, in lexicographic order.
    stride: of each loop every `stride`-th iteration has a point.
    """

    name: str
    iterators: tuple[str, ...]
    text: str
    points: tuple[tuple[int, ...], ...]
    stride: int = 1


class Arrow(NamedTuple):
    """An arrow is a dependence between two instances.

    kind: "flow", "anti" or "output".
    is_broken: whether the order that is drawn runs the sink before the source.
    """

    kind: str
    source: Instance
    sink: Instance
    is_broken: bool = False


@dataclass(frozen=True)
class Tile:
    """A tile has the instances of a statement for which all loops over tiles have the same values.

    numbers: these values, outermost first.
    points: those of its instances that are drawn.
    count: how many instances it has.
    is_full: whether the domain has each iteration of the tiled loops that belongs to the tile.
    """

    statement: str
    numbers: tuple[int, ...]
    points: tuple[tuple[int, ...], ...]
    count: int
    is_full: bool


@dataclass(frozen=True)
class NestPicture:
    """A NestPicture is what a picture of a kernel's instances shows, for some sizes.

    subject: one of SUBJECTS.
    sizes: {parameter: value}.
    arrows: where the subject is dependences; where it is a step, those that the order breaks.
    times: the place of each instance in the order, from 0 on, where the subject is an order.
    tiles: where they are the subject, or where it is a step.
    groups: for threads the iteration of the parallel loop, for wavefronts the phase, from 0 in the order in which they run; an instance outside of
        all parallel loops has no thread.
    left_out: how many instances are not shown.
    caption: what is said besides, such as the step.
    shared: where arrows are the subject, how many loops of the source two statements share.
    parallel: the names of the outermost parallel loops, where threads are the subject.
    meanings: what the sizes of arrays stand for, such as "A_0 = A.shape[0]".
    """

    kernel: str
    subject: str
    sizes: dict[str, int]
    statements: tuple[StatementPoints, ...]
    arrows: tuple[Arrow, ...] = ()
    times: Mapping[Instance, int] | None = None
    tiles: tuple[Tile, ...] = ()
    groups: Mapping[Instance, int] | None = None
    left_out: int = 0
    caption: str = ""
    shared: Mapping[tuple[str, str], int] = field(default_factory=dict)
    parallel: tuple[str, ...] = ()
    meanings: tuple[str, ...] = ()
