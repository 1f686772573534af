"""Which of the source's loops may run in the lanes of vectors, how references move along each loop, and what lanes would gain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import islpy as isl

from polyml.caches.simulator.trace import ArrayReference
from polyml.codegen.ir.accesses import reads_and_write
from polyml.codegen.ir.array_layout import Placed
from polyml.errors import IllegalSchedule, ScheduleError
from polyml.model.core.scop import Access, Scop
from polyml.model.counting.operation_counts import of_value
from polyml.polyhedra import iterator_coefficients
from polyml.schedule.script import transforms
from polyml.schedule.script.schedule import Schedule
from polyml.schedule.tree import loop_tree
from polyml.schedule.tree.loop_tree import Loop

SAME, CONTIGUOUS, REVERSED, STRIDED, UNEVEN = "same", "contiguous", "reversed", "strided", "uneven"


@dataclass(frozen=True)
class LoopStride:
    """A LoopStride says how a reference moves from one iteration of a loop to the next.

    kind: "same" element, "contiguous", "reversed", "strided", or "uneven" where the distance differs.
    bytes: the distance; None where it differs.
    """

    reference: ArrayReference
    kind: str
    bytes: int | None


@dataclass(frozen=True)
class Lanes:
    """A Lanes describes a loop of the source as lanes of vectors.

    loop: its name.
    reason: why it may not run in lanes, "" where it may.
    moves: how each reference in the loop moves along it.
    efficiency: the estimated gain, as a fraction of the lanes: a strided or uneven access takes an instruction for each lane,
        another one a single instruction for all, and one to the same element none.
    """

    loop: str
    reason: str
    moves: tuple[LoopStride, ...]
    efficiency: float

    @property
    def is_legal(self) -> bool:
        """Returns whether the loop may run in lanes."""
        return not self.reason


def lanes(source: Schedule, places: Mapping[str, Placed], vector_bytes: int) -> tuple[Lanes, ...]:
    """Returns, for each loop of the source's order, outer loops first, whether and how well it would run in the lanes of vectors.

    places: the addresses of the arrays in memory.
    """
    tree, scop = source.loops, source.problem.scop
    found = []
    for address in transforms.addresses(tree):
        _, loop = transforms.find(tree, address)
        moves = tuple(_moves(scop, loop, places))
        found.append(Lanes(address, _refusal(source, address), moves, _efficiency(scop, loop, moves, vector_bytes)))
    return tuple(found)


def _refusal(source: Schedule, address: str) -> str:
    """Returns why the loop's iterations may not run together as lanes of a vector; "" where they may.

    address: the loop, as schedule scripts name it, such as "i" or "S0.i"
    """
    problem = source.problem
    try:
        lanes = transforms.direct(source.loops, address, lambda directives: replace(directives, vectorize=True))
        problem.prove_together(loop_tree.write(problem.scop.domain, lanes))
    except (IllegalSchedule, ScheduleError) as refused:
        return refused.message
    return ""


def _moves(scop: Scop, loop: Loop, places: Mapping[str, Placed]) -> Iterator[LoopStride]:
    """Yields, for each reference to an array in memory inside a loop, how it moves from one iteration of the loop to the next."""
    for piece in loop_tree.pieces(loop.member):
        statement = scop.statements[piece.domain().get_tuple_name()]
        counted = counted_by(piece)
        for position, access in enumerate(reads_and_write(statement)):
            if access.array in places:
                reference = ArrayReference(statement.name, position, access.array, position == len(statement.reads))
                yield _move(reference, access, places[access.array], counted, scop.arrays[access.array].element.size_bytes)


def counted_by(member: isl.PwAff) -> tuple[int, int] | None:
    """Returns (position of an iterator, 1 or -1) if a loop is that iterator plus a constant, or counts it backwards; else None.

    member: the loop as a function of the iterators, such as { S[i, j] -> [(j + 1)] }, which gives (1, 1)
    """
    rows = set(iterator_coefficients(member))
    if len(rows) != 1:
        return None
    moving = [(k, c) for k, c in enumerate(rows.pop()) if c]
    return (moving[0][0], int(moving[0][1])) if len(moving) == 1 and abs(moving[0][1]) == 1 else None


def _move(
    reference: ArrayReference, access: Access, place: Placed, counted: tuple[int, int] | None, element_bytes: int
) -> LoopStride:
    """Returns how one reference moves from one iteration of a loop to the next.

    counted: (position of the iterator that the loop runs through, 1 or -1 for its direction); None where it is no single iterator.
    """
    steps = set() if counted is None else {
        counted[1] * sum(row[counted[0]] * stride for row, stride in zip(rows, place.strides)) for rows in _rows(access)
    }  # fmt: skip
    if len(steps) != 1:
        return LoopStride(reference, UNEVEN, None)
    (step,) = steps
    kinds = {0: SAME, element_bytes: CONTIGUOUS, -element_bytes: REVERSED}
    return LoopStride(reference, kinds.get(step, STRIDED), step)


def _rows(access: Access) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Yields, for each combination of one affine piece per subscript, a tuple for each subscript: the iterators' coefficients in
    the piece.
    """

    def extend(done: tuple[tuple[int, ...], ...], left) -> Iterator[tuple[tuple[int, ...], ...]]:
        if not left:
            yield done
            return
        for row in left[0]:
            yield from extend((*done, row), left[1:])

    yield from extend((), access.coefficients)


def _efficiency(scop: Scop, loop: Loop, moves: tuple[LoopStride, ...], vector_bytes: int) -> float:
    """Returns the instructions of one iteration divided by those of a vector of iterations, at most 1: 1.0 where vectors cost
    nothing more.

    An access that is strided or uneven takes an instruction for each lane of the vector.
    """
    names = {piece.domain().get_tuple_name() for piece in loop_tree.pieces(loop.member)}
    widest = max((scop.arrays[scop.statements[name].write.array].element.size_bytes for name in names), default=8)
    count = max(1, vector_bytes // widest)
    work = sum(sum(of_value(scop.statements[name].value).values()) for name in names)
    single = work + len(moves)
    together = work + sum(count if move.kind in (STRIDED, UNEVEN) else move.kind != SAME for move in moves)
    return min(1.0, single / together) if together else 1.0
