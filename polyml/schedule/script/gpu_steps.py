"""The steps of a schedule script for GPUs, as functions from loops to loops: which loops go to a grid of blocks and threads, and what
blocks copy to shared memory. None asks whether that is legal.

Each raises ScheduleError for what does not fit the tree, and says what would be accepted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from polyml.errors import ScheduleError
from polyml.reading.input_limits import shown
from polyml.schedule.gpu.marks import check_places, grids
from polyml.schedule.script import transforms
from polyml.schedule.tree.directives import Directives, GridPlace, axis_name
from polyml.schedule.tree.loop_tree import Loop, Node, loops, replaced, statements


def grid(tree: Node, names: Sequence[str]) -> Node:
    """Returns the tree with loops directly inside one another as the axes of a launch, the last one named along x:

    for i: for j: S  ->  for i: for j: S  # i along y, j along x
    """
    if not names:
        raise ScheduleError("grid takes at least one loop", notes=["as in grid('i', 'j')", transforms.loops_note(tree)])
    chain = transforms.nested(tree, "grid", names)
    paths = [transforms.find(tree, name)[0] for name in names]
    axes = {path: len(paths) - 1 - k for k, path in enumerate(paths)}
    for path, loop in chain:
        place = GridPlace(axes[path]) if path in axes else None
        tree = _directed(tree, path, replace(loop.directives, grid=place, host=loop.directives.host and place is None))
    return tree


def block(tree: Node, launch: str, sizes: Sequence[int], named: Mapping[str, int]) -> Node:
    """Returns the tree with sizes of a launch's blocks: threads along x, y and z.

    launch: a statement of the launch that sizes without names are for; "": the only launch with a grid.
    sizes: along x, y and z.
    named: by the names of the loops.
    """
    places = _given("block", tree, launch, sizes, named)
    first = next(iter(places), None)
    whole = _grid_around(tree, first) if first is not None else ()
    wanted = {path: replace(_place(loop), threads=places.get(path, _place(loop).threads or 1)) for path, loop in whole}
    check_places(wanted.values())
    return _placed(tree, wanted)


def items(tree: Node, launch: str, counts: Sequence[int], named: Mapping[str, int], adjacent: bool) -> Node:
    """Returns the tree in which a thread runs several iterations of a launch's loops together: along x, y and z.

    launch: a statement of the launch that counts without names are for; "": the only launch with a grid.
    counts: along x, y and z.
    named: by the names of the loops.
    adjacent: whether a thread's iterations follow one another, in place of those of neighbouring threads.
    """
    if adjacent is not True and adjacent is not False:
        raise ScheduleError(f"items takes adjacent=True or adjacent=False, not {shown(adjacent)}")
    places = _given("items", tree, launch, counts, named)
    first = next(iter(places), None)
    whole = _grid_around(tree, first) if first is not None else ()
    wanted = {path: replace(_place(loop), items=places.get(path, _place(loop).items)) for path, loop in whole}
    wanted = {path: replace(place, adjacent=adjacent and place.items > 1) for path, place in wanted.items()}
    check_places(wanted.values())
    return _placed(tree, wanted)


def host(tree: Node, name: str) -> Node:
    """Returns the tree with a loop of which each iteration launches again what is inside it."""
    return transforms.direct(tree, name, lambda directives: replace(directives, host=True, grid=None))


def shared(tree: Node, array: str, at: str) -> Node:
    """Returns the tree in which blocks copy to shared memory what their threads read of an array in a loop."""

    def change(directives: Directives) -> Directives:
        if directives.host:
            notes = ["shared takes a loop of the grid, or one inside it, which each thread runs"]
            raise ScheduleError(f"loop `{at}` is the host's, so nothing is copied in it", notes=notes)
        return replace(directives, shared=tuple(dict.fromkeys((*directives.shared, array))))

    return transforms.direct(tree, at, change)


def _given(step: str, tree: Node, launch: str, sizes: Sequence[int], named: Mapping[str, int]) -> dict[tuple[int, ...], int]:
    """Returns the numbers that a step gives for loops of one grid, by the paths of the loops.

    step: the method, for messages.
    launch: a statement of the launch that numbers without names are for; "": the only launch with a grid.
    sizes: numbers along x, y and z.
    named: numbers by the names of the loops.
    """
    for size in (*sizes, *named.values()):
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            raise ScheduleError(
                f"{step} takes numbers of at least 1, not {shown(size)}", notes=[f"as in {step}(32, 8), along x and y"]
            )
    if not sizes and not named or sizes and named:
        raise ScheduleError(f"{step} takes numbers along x, y and z, as in {step}(32, 8), or by loop, as in {step}(j=32, i=8)")
    if named:
        found = {transforms.find(tree, name): size for name, size in named.items()}
        for name, (_, loop) in zip(named, found):
            if loop.directives.grid is None:
                raise ScheduleError(f"loop `{name}` is not in a grid", notes=[_grids_note(tree)])
        first = _grid_around(tree, next(iter(found))[0])
        if any(path not in dict(first) for path, _ in found):
            raise ScheduleError(f"{step} takes the loops of one grid", notes=[_grids_note(tree)])
        return {path: size for (path, _), size in found.items()}
    around = [each for each in grids(tree) if not launch or launch in statements(each[0])]
    if len(around) != 1:
        why = "there are several grids" if around else "there is no grid"
        raise ScheduleError(
            why, notes=[_grids_note(tree), f"say {step}(j=32, i=8) by the loops of one" if around else "grid('i', 'j') makes one"]
        )
    (loops_,) = around
    if len(sizes) > len(loops_):
        raise ScheduleError(f"{step} takes one number for each axis of the grid: {_axes(loops_)}")
    by_axis = {_place(loop).axis: path for path, loop in loops(tree) if any(loop is each for each in loops_)}
    return {by_axis[axis]: size for axis, size in enumerate(sizes)}


def _grid_around(tree: Node, path: tuple[int, ...]) -> tuple[tuple[tuple[int, ...], Loop], ...]:
    """Returns the loops of the grid that has the loop at `path`, with their paths."""
    by_path = dict(loops(tree))
    mine = next(each for each in grids(tree) if any(loop is by_path[path] for loop in each))
    return tuple((place, loop) for place, loop in by_path.items() if any(loop is each for each in mine))


def _place(loop: Loop) -> GridPlace:
    assert loop.directives.grid is not None, "the loop is in a grid"
    return loop.directives.grid


def _placed(tree: Node, places: Mapping[tuple[int, ...], GridPlace]) -> Node:
    by_path = dict(loops(tree))
    for path, place in places.items():
        tree = _directed(tree, path, replace(by_path[path].directives, grid=place))
    return tree


def _directed(tree: Node, path: tuple[int, ...], directives: Directives) -> Node:
    """Returns the tree with the directives of the loop at `path` replaced."""
    return replaced(tree, path, replace(dict(loops(tree))[path], directives=directives))


def _axes(chain: Sequence[Loop]) -> str:
    """Returns the loops of a grid by axis, such as "x: j, y: i"."""
    return ", ".join(f"{axis_name(_place(loop).axis)}: {loop.name}" for loop in sorted(chain, key=lambda loop: _place(loop).axis))


def _grids_note(tree: Node) -> str:
    return f"grids: {'; '.join(map(_axes, grids(tree))) or 'none'}"
