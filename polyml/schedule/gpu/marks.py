"""The mapping of loops to a GPU as marks of the schedule tree, and the mapping that marks ask for.

    for i:                                  for i:  # grid(y, threads=16, items=8, adjacent)
        for j:              <->                 for j:  # grid(x, threads=16, items=8, adjacent)
            for k: S                                for k: S  # shared(A, B), or partial(C) where threads share the loop

What polyml chooses by itself and what a script asks for are the same marks, so that either can be saved, edited and loaded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

import islpy as isl

from polyml.errors import ConfigError, ScheduleError
from polyml.schedule.gpu.mapping import AXES, BlockCopies, GridAxis, LaunchNest, Mapped, SurroundingLoop, check_block
from polyml.schedule.gpu.merged_axes import is_box
from polyml.schedule.tree import loop_tree
from polyml.schedule.tree.directives import NO_DIRECTIVES, GridPlace, axis_name
from polyml.schedule.tree.loop_tree import Block, BlockPart, Leaf, Loop, Node

MOST_THREADS = 1024  # of a block, on every GPU since sm_20
MOST_ITEMS = 64  # iterations of a thread that run together


def marked(tree: Node, launches: Sequence[Mapped]) -> Node:
    """Returns the tree with marks for the host's loops, the axes of grids and the copies to shared memory of the launches that run
    it; other marks are taken away.
    """
    places = {
        id(loop.values): GridPlace(number, axis.size, axis.items, axis.adjacent, axis.rolled)
        for each in launches
        for number, axis in enumerate(each.axes)
        for loop in axis.loops
    }
    hosts = {id(loop.values) for each in launches for loop in each.nest.host}
    copies = [(set(each.nest.statements), each.copies or ()) for each in launches]
    phases = [phase for each in launches if each.team for phase in each.team.phases if phase.partial]
    partial = {
        id(loop.values): tuple(dict.fromkeys(each.array for each in phase.partial)) for phase in phases for loop in phase.shared
    }
    return _marked(tree, _Marks(places, hosts, copies, partial))


@dataclass(frozen=True)
class _Marks:
    """The marks of a tree.

    places: the axis of a loop, by the identity of its member.
    hosts: the identities of the members of the host's loops.
    copies: for each launch, the names of its statements, and its copies to shared memory.
    partial: the arrays of which threads that share a loop have partial results, by the identity of its member.
    """

    places: Mapping[int, GridPlace]
    hosts: set[int]
    copies: Sequence[tuple[set[str], Sequence[BlockCopies]]]
    partial: Mapping[int, tuple[str, ...]]


def _marked(node: Node, marks: _Marks) -> Node:
    """Returns the subtree with marks."""
    if isinstance(node, Leaf):
        return node
    if isinstance(node, Block):
        return Block(tuple(BlockPart(part.instances, _marked(part.body, marks)) for part in node.parts))
    own, key = set(loop_tree.statements(node)), id(node.member)
    place = marks.places.get(key)
    loop = "" if place is not None and place.axis == 0 else node.name
    shared = [name for names, asked in marks.copies if own <= names for each in asked if each.loop == loop for name in each.arrays]
    known = replace(
        NO_DIRECTIVES,
        tile=node.directives.tile,
        grid=place,
        host=key in marks.hosts,
        shared=tuple(dict.fromkeys(shared)),
        partial=marks.partial.get(key, ()),
    )
    return replace(node, directives=known, body=_marked(node.body, marks))


def may_have_teams(nest: LaunchNest) -> bool:
    """Returns whether threads may share loops of the launch: marks say so, or do not say how its loops are divided."""
    return not is_asked(nest) or any(loop.directives.partial for _, loop in loop_tree.loops(nest.body))


def is_asked(nest: LaunchNest) -> bool:
    """Returns whether marks say how the launch's loops are divided among blocks and threads."""
    return any(loop.place is not None and loop.place.threads for loop in nest.grid)


def asked_order(nest: LaunchNest) -> list[int]:
    """Returns the positions of the launch's loops in the order of the axes that marks give them, x first; [] where none do.

    Raises ScheduleError where two loops have the same axis, or an axis before the last one has none.
    """
    if not any(loop.place for loop in nest.grid):
        return []
    axes = [loop.place.axis for loop in nest.grid if loop.place is not None]
    if sorted(axes) != [*range(len(axes))]:
        told = ", ".join(f"`{loop.name}`: {loop.place}" for loop in nest.grid)
        raise ScheduleError(f"the axes of a launch are {', '.join(map(axis_name, range(len(axes))))}, each once", notes=[told])
    return [axes.index(axis) for axis in range(len(axes))]


def check_places(places: Iterable[GridPlace]) -> None:
    """Raises ScheduleError where blocks have more threads, or threads more items, than there may be.

    places: those of the loops of one grid.
    """
    along = [*{place.axis: place for place in sorted(places, key=lambda place: place.axis)}.values()]
    threads, items = [place.threads or 1 for place in along], [1 if place.rolled else place.items for place in along]
    if any(size > 1 for size in threads[AXES:]):
        raise ScheduleError(f"blocks have threads along {AXES} axes, and one along further axes")
    try:
        check_block(threads[:AXES], MOST_THREADS)
    except ConfigError as problem:
        raise ScheduleError(problem.message, notes=problem.notes) from None
    if prod(items) > MOST_ITEMS:
        told = " x ".join(map(str, items))
        raise ScheduleError(f"a thread of {told} items has {prod(items):,}", notes=[f"at most {MOST_ITEMS} run together"])


def as_asked(nest: LaunchNest) -> Mapped:
    """Returns the launch on the blocks and threads that marks ask for, with the copies to shared memory that they ask for.

    Loops with the same axis are merged. A loop over tiles whose iterations are those of the loop right inside the grid gives each thread one tile, as items; any other
    loop in steps counts its steps, so that no thread is between them.
    """
    body = nest.body
    check_places(loop.place for loop in nest.grid if loop.place)
    asked = sorted({loop.place.axis for loop in nest.grid if loop.place})
    merged = [[loop for loop in nest.grid if loop.place and loop.place.axis == axis] for axis in asked]
    if any(len(loops) > 1 for loops in merged) and asked == [*range(len(asked))]:
        return _merged(nest, merged)
    order, axes = asked_order(nest), []
    for position in order:
        axis, body = _axis(nest.grid[position], body, nest.instances)
        axes.append(axis)
    copies, body = _copies(body, nest.instances)
    whole = tuple(dict.fromkeys(name for loop in nest.grid for name in loop.shared))
    copies = (BlockCopies("", whole), *copies) if whole else copies
    clean = replace(nest, grid=tuple(axes[order.index(k)].loop for k in range(len(order))), body=body)
    return Mapped(clean, tuple(axes), copies)


def _merged(nest: LaunchNest, along: Sequence[Sequence[SurroundingLoop]]) -> Mapped:
    """Returns the launch with several loops as one axis. along: the loops of each axis, outermost first."""
    told = [f"{axis_name(k)}: {', '.join(f'`{loop.name}`' for loop in loops)}" for k, loops in enumerate(along)]
    if nest.host or not is_box(nest):
        raise ScheduleError("loops of one axis have bounds that are the same in all iterations of the others", notes=told)
    axes = []
    for loops in along:
        place = loops[-1].place
        assert place is not None, "the loops are asked for"
        if any(replace(each.place or place, threads=0) != replace(place, threads=0) for each in loops):
            raise ScheduleError(f"the loops of axis {axis_name(place.axis)} have as many threads and items as one another")
        size = max(each.place.threads for each in loops if each.place) or 1
        is_merged = size * place.items > 1
        axes.append(GridAxis(loops[-1], size, place.items, place.adjacent, merged=tuple(loops) if is_merged else ()))
    if sum(bool(axis.merged) for axis in axes) != 2:
        raise ScheduleError("where loops are merged into one axis, blocks have several iterations along two axes", notes=told)
    copies, body = _copies(nest.body, nest.instances)
    return Mapped(replace(nest, body=body), tuple(axes), copies)


def _axis(loop: SurroundingLoop, body: Node, instances: isl.UnionSet) -> tuple[GridAxis, Node]:
    """Returns the loop as an axis of the grid, and what remains of the thread's loops."""
    place = loop.place
    assert place is not None, "the loop is asked for"
    size = place.threads or 1
    step = step_of(loop.values, instances)
    if step == 1:
        return GridAxis(loop, size, place.items, place.adjacent, place.rolled), body
    inner = _points(loop, step, body) if place.items == 1 else None
    if inner is not None:
        return GridAxis(SurroundingLoop(inner.name, inner.member, place), size, step, True), _dropped(body, inner)
    numbers = loop.values.scale_down_val(isl.Val(step)).floor()
    return GridAxis(SurroundingLoop(loop.name, numbers, place), size, place.items, place.adjacent, place.rolled), body


def step_of(member: isl.UnionPwAff, instances: isl.UnionSet) -> int:
    """Returns the largest step such that the values { S[i] -> [(e)] } of a loop in the instances are its multiples; 1 for none."""
    values = isl.UnionMap.from_union_pw_aff(member).intersect_domain(instances).range()
    if values.is_empty():
        return 1
    found = isl.Set.from_union_set(values)
    step = found.get_stride(0).to_python()
    return step if step > 1 and found.is_subset(isl.Set(f"{{ [e] : e mod {step} = 0 }}")) else 1


def _points(loop: SurroundingLoop, step: int, body: Node) -> Loop | None:
    """Returns the thread's loop over the iterations of one tile, if `loop` goes over tiles of `step` iterations of a loop that is among
    those at the top of the thread's, directly inside one another; None otherwise.
    """
    while isinstance(body, Loop):
        tiles = body.member.scale_down_val(isl.Val(step)).floor().scale_val(isl.Val(step))
        if _same(tiles, loop.values):
            return body
        body = body.body
    return None


def _same(one: isl.UnionPwAff, other: isl.UnionPwAff) -> bool:
    """Returns whether two expressions { S[i] -> [(e)] } have the same values for all instances."""
    return isl.UnionMap.from_union_pw_aff(one).is_equal(isl.UnionMap.from_union_pw_aff(other))


def _dropped(body: Node, loop: Loop) -> Node:
    """Returns the tree without a loop that is among those directly inside one another at its top."""
    if not isinstance(body, Loop):
        return body
    return body.body if body is loop else replace(body, body=_dropped(body.body, loop))


def _copies(body: Node, instances: isl.UnionSet) -> tuple[tuple[BlockCopies, ...], Node]:
    """Returns the copies to shared memory that marks in a thread's loops ask for, and the loops without marks. A loop over tiles with
    such a mark right around the loop over one tile becomes that loop, whose iterations are copied for a tile at a time.
    """
    found: list[BlockCopies] = []

    def clean(node: Node) -> Node:
        if isinstance(node, Leaf):
            return node
        if isinstance(node, Block):
            return Block(tuple(BlockPart(part.instances, clean(part.body)) for part in node.parts))
        inner, chunk = node, 0
        if node.directives.shared:
            step = step_of(node.member, instances.intersect(node.member.domain()))
            points = _points(SurroundingLoop(node.name, node.member), step, node.body) if step > 1 else None
            inner, chunk = (points, step) if points is not None and points is node.body else (node, 0)
            found.append(BlockCopies(inner.name, node.directives.shared, chunk))
        return replace(inner, directives=NO_DIRECTIVES, body=clean(inner.body))

    cleaned = clean(body)
    return tuple(found), cleaned


def grids(tree: Node) -> Iterator[tuple[Loop, ...]]:
    """Yields the loops of each grid that marks ask for, outermost first."""
    if isinstance(tree, Leaf):
        return
    if isinstance(tree, Loop):
        chain = [tree]
        while isinstance(chain[-1].body, Loop):
            chain.append(chain[-1].body)
        found = tuple(loop for loop in chain if loop.directives.grid)
        if found:
            yield found
            return
    for child in loop_tree.children(tree):
        yield from grids(child)
