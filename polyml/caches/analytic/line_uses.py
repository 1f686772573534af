"""The elements and cache lines that references use at each time of a schedule, as isl relations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest

import islpy as isl

from polyml import polyhedra
from polyml.caches.analytic.scheduled_accesses import ScheduledAccesses, SizeFacts
from polyml.caches.simulator.trace import ArrayReference
from polyml.codegen.ir.accesses import reads_and_write
from polyml.codegen.ir.array_layout import Placed
from polyml.model.core.scop import Array, Statement
from polyml.schedule.tree.bands import NODE
from polyml.schedule.tree.loop_tree import loops, read


@dataclass(frozen=True)
class LineUses:
    """LineUses are the elements and cache lines that one reference uses at each time.

    A time is the schedule's time of an instance, then the position of the reference among the accesses of its statement.

    elements: { [time, position] -> array[subscripts] }.
    lines: { [time, position] -> array[line] }.
    """

    reference: ArrayReference
    elements: isl.Map
    lines: isl.Map

    @property
    def times(self) -> isl.Set:
        """Returns the set { [time, position] } of the times at which the reference uses a line."""
        return self.lines.domain()

    def within(self, times: isl.Set) -> LineUses:
        """Returns only the uses whose times are in a given set { [time, position] }."""
        return LineUses(self.reference, self.elements.intersect_domain(times), self.lines.intersect_domain(times))


def line_uses(accesses: ScheduledAccesses, reference: ArrayReference, line_bytes: int, facts: SizeFacts) -> LineUses:
    """Returns the elements and cache lines that a reference uses, by time.

    facts: what is known of symbolic sizes. Where a size is known to be a multiple of a unit, its name stands for size / unit in the
        result.
    """
    scop, sizes = accesses.scop, accesses.sizes
    statement = scop.statements[reference.statement]
    access = reads_and_write(statement)[reference.position]
    order = accesses.schedule.get_map().intersect_domain(isl.UnionSet.from_set(statement.domain))
    times = polyhedra.fix(polyhedra.with_last(isl.Map.from_union_map(order), reference.position), sizes)
    elements = polyhedra.fix(access.relation.intersect_domain(statement.domain), sizes)
    if facts.context is not None:
        elements = elements.intersect_params(polyhedra.fix(facts.context, sizes))
    array = scop.arrays[reference.array]
    if accesses.places is None:
        to_lines = _rows(array, sizes, line_bytes)
    else:
        to_lines = _placed(reference.array, accesses.places[reference.array], line_bytes)
    elements = times.reverse().apply_range(elements).coalesce()
    for name in sizes:
        elements = polyhedra.without_parameter(elements, name)
    elements = polyhedra.in_units(elements.drop_unused_params(), facts.units)
    return LineUses(reference, elements, elements.apply_range(to_lines))


def _placed(array: str, place: Placed, line_bytes: int) -> isl.Map:
    """Returns the relation { array[subscripts] -> array[line] } of an array at an address.

    `line` is a tuple. Where the array begins on a cache line, it has each subscript whose stride is a multiple of a line; its last
    number is that of the line along the other subscripts.
    """
    return _lines(array, place.strides, place.address, line_bytes)


def _rows(array: Array, sizes: Mapping[str, int], line_bytes: int) -> isl.Map:
    """Returns the relation { array[subscripts] -> array[line] } of an array without an address.

    The array is taken to begin on a line, and so is each part of it, such as a row, whose stride depends on a symbolic size.
    """
    return _lines(array.name, _known_strides(array, sizes), 0, line_bytes)


def _known_strides(array: Array, sizes: Mapping[str, int]) -> list[int | None]:
    """Returns, by dimension, the distance in bytes of elements whose subscripts differ by one in this dimension; None where the
    distance depends on a size that is not known.

    sizes: the values of the parameters that are known.
    """
    strides: list[int | None] = []
    step: int | None = array.element.size_bytes
    shape = [*array.shape[1:], array.shape[0]] if array.pairs else [*array.shape]
    for extent in reversed(shape):
        strides.append(step)
        known = step is not None and polyhedra.only_value(extent, sizes)
        step = step * known if step is not None and known is not None else None
    return [strides[0], *reversed(strides[1:])] if array.pairs else strides[::-1]


def begin_on_lines(array: Array, place: Placed, line_bytes: int) -> bool:
    """Returns whether an array begins on a cache line, and so does each part of it, such as a row, whose stride depends on a size.

    If so, the array has as many lines as it would have without a known address, which `_rows` takes to begin on a line.
    """
    steps = zip(_known_strides(array, {}), place.strides)
    return place.address % line_bytes == 0 and all(known is not None or step % line_bytes == 0 for known, step in steps)


def _lines(array: str, strides: Sequence[int | None], address: int, line_bytes: int) -> isl.Map:
    """Returns the relation { array[subscripts] -> array[line] } of an array with given strides and address.

    strides: in bytes; None for an unknown multiple of a line.
    """
    names = [f"s{d}" for d in range(len(strides))]
    if not names:
        return isl.Map(f"{{ {array}[] -> {array}[{address // line_bytes}] }}")
    rows = []
    if address % line_bytes == 0:
        address = 0
        rows = [name for name, step in zip(names, strides) if step is None or step % line_bytes == 0]
    inside = " + ".join([str(address), *(f"{step} {name}" for name, step in zip(names, strides) if name not in rows)])
    return isl.Map(f"{{ {array}[{', '.join(names)}] -> {array}[{', '.join([*rows, f'floor(({inside})/{line_bytes})'])}] }}")


def coordinates(schedule: isl.Schedule, known: Mapping[str, Statement]) -> dict[str, tuple[str, ...]]:
    """Returns {statement: the name of the loop behind each coordinate of its time in `Schedule.get_map`}.

    The name is "" for a coordinate that is no loop's iterator but the number of a child of a sequence.

    known: all statements, by name.

    Raises ScheduleError for a tree with other nodes than loops and sequences.
    """
    names = (loop.name for _, loop in loops(read(schedule, known)))
    return _coordinates(schedule.get_root(), names)


def _coordinates(node: isl.ScheduleNode, names: Iterator[str]) -> dict[str, tuple[str, ...]]:
    """Returns {statement: the name of the loop behind each coordinate of its time}, for the part of a schedule tree that begins at
    a node.

    The name is "" for a coordinate that is no loop's iterator but the number of a child of a sequence.

    names: the names of the loops of this part, in their order in the tree; each is taken from the iterator when its loop is met.
    """
    kind = node.get_type()
    if kind == NODE.leaf:
        return dict.fromkeys(polyhedra.set_names(node.get_universe_domain()), ())
    if kind == NODE.band:
        mine = tuple(islice(names, node.band_n_member()))
        return {name: (*mine, *rest) for name, rest in _coordinates(node.child(0), names).items()}
    if kind not in (NODE.sequence, NODE.set):
        return _coordinates(node.child(0), names)
    found: dict[str, tuple[str, ...]] = {}
    for child in (node.child(k) for k in range(node.n_children())):
        if polyhedra.set_names(child.filter_get_filter()):
            for name, rest in _coordinates(child, names).items():
                found[name] = _both(found[name], ("", *rest)) if name in found else ("", *rest)
    return found


def _both(some: tuple[str, ...], others: tuple[str, ...]) -> tuple[str, ...]:
    """Returns, for each coordinate of a statement's time, the name of the loop behind it, for a statement that occurs in two
    children of a sequence; "i or j" where the loops in the two differ.

    some, others: the names, by coordinate, in each child.
    """
    pairs = zip_longest(some, others, fillvalue="")
    return tuple(" or ".join(dict.fromkeys(filter(None, pair))) for pair in pairs)
