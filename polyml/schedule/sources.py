"""From where each instance of a nest has what it reads: from a register that another one had, or from a value that one made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import islpy as isl

from polyml import polyhedra
from polyml.errors import IllegalSchedule
from polyml.schedule.recurrence import Recurrence, Stream, shifted
from polyml.schedule.spacetime import SpaceTime, Vector

RESULT = -1  # in place of the number of a read

Register = tuple[str, int]  # a statement, and the number of its read, or RESULT


@dataclass(frozen=True)
class Source:
    """`register` of the instances `vector` before, along the axes. pairs: { S[p] -> T[q] : T[q] has it from S[p] }."""

    register: Register
    vector: Vector
    pairs: isl.Map = field(repr=False)


def sources(recurrence: Recurrence, mapping: SpaceTime) -> dict[Register, tuple[Source, ...]]:
    """Of each read, in the order in which they count. Reads of what every unit has are not there. Raises IllegalSchedule where a value
    takes no time.
    """
    nest = recurrence.nest
    streams = iter(recurrence.streams)
    found = {}
    for read, use in enumerate(nest.uses):
        if use.rows or use.kind != "operand":
            found[nest.name, read] = tuple(_sources(recurrence, mapping, read, next(streams)))
    return found


def _sources(recurrence: Recurrence, mapping: SpaceTime, read: int, stream: Stream) -> Iterator[Source]:
    name = recurrence.nest.name
    if stream.use.kind == "operand":
        register = name, _before(recurrence, read) if stream.use.distance else read
    else:
        register = name, RESULT
    for direction in stream.directions:
        vector = direction.vector
        if direction.free:
            pairs = shifted(recurrence.points, vector, len(recurrence.outer))
        else:
            pairs = recurrence.made(stream)
        if direction.free and mapping.steps(vector)[0] < 0:
            vector, pairs = tuple(-v for v in vector), pairs.reverse()
        if mapping.steps(vector)[0] == 0:
            message = f"{stream.use.text} goes along a wire to several units in one cycle: an array with wires is not simulated"
            notes = ["expected a mapping onto manhattan or diagonal links", f"mapping {recurrence.text(mapping)}"]
            raise IllegalSchedule(message, loc=recurrence.nest.statement.loc, notes=notes)
        back = recurrence.embedding.reverse()
        yield Source(register, vector, pairs.apply_domain(back).apply_range(back))


def _before(recurrence: Recurrence, read: int) -> int:
    """The read by which the instance `distance` before has the element."""
    nest = recurrence.nest
    use, accesses = nest.uses[read], nest.statement.reads
    loops = [f"c{k}" for k in range(len(nest.loops))]
    back = [f"{loop} - {step}" for loop, step in zip(loops, use.distance)]
    before = isl.Map(f"{{ {nest.name}[{', '.join(loops)}] -> {nest.name}[{', '.join(back)}] }}")
    same = polyhedra.unbounded(accesses[read].relation)
    others = (k for k, other in enumerate(nest.uses) if other.kind == "operand" and other.array == use.array)
    return next(k for k in others if before.apply_range(polyhedra.unbounded(accesses[k].relation)).is_equal(same))
