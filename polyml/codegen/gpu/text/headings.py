"""Comments of the text of kernels for GPUs: which lines of the source a kernel runs, and which loops its blocks and threads stand for.

// smooth.py:8: B[i, j] = 0.25 * (A[i - 1, j] + A[i + 1, j])
// blocks of 32 x 8 threads: along x for j, along y for i
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from math import prod
from textwrap import wrap

import islpy as isl

from polyml.codegen.gpu.program import Launch
from polyml.codegen.gpu.teams import TeamCode
from polyml.codegen.ir.program import Instance
from polyml.model.core.scop import Scop
from polyml.source import Loc, short_name

_MOST_LINES = 6  # of the source that a heading shows
_MOST_CHARACTERS = 120  # of a line of the source, and of a comment
_AXES = "xyz"


def heading(launch: Launch, scop: Scop) -> Iterator[str]:
    """Yields the lines of C comments that stand before a launch's kernel: the lines of the source that it runs, when the host starts it,
    and what its blocks and threads are.
    """
    places = source_lines(launch, scop)
    for place in places[:_MOST_LINES]:
        line = place.source.line(place.line).strip()
        text = line if len(line) <= _MOST_CHARACTERS else f"{line[:_MOST_CHARACTERS]}..."
        shown = f"// {short_name(place.source.file)}:{place.line}: {text}"
        yield shown.rstrip("\\ ")  # a backslash would make the next line a part of the comment
    if len(places) > _MOST_LINES:
        yield f"// and {len(places) - _MOST_LINES} lines more, to line {places[-1].line}"
    if launch.host:
        yield f"// one launch for each iteration of {', '.join(launch.host)}"
    if launch.team is not None:
        yield from (f"// {line}" for line in _team(launch, launch.team))
    elif not launch.axes:
        reason = f"one thread{f': {launch.serial}' if launch.serial else ''}"
        yield from wrap(reason, _MOST_CHARACTERS, initial_indent="// ", subsequent_indent="//     ")
    else:
        yield f"// {_blocks(launch)}"


def source_lines(launch: Launch, scop: Scop) -> list[Loc]:
    """Returns a place in each line of the source that the launch runs, in the order of the lines."""
    found: dict[tuple[str, int], Loc] = {}
    for name in launch.statements:
        place = scop.statements[name].loc
        if place is not None:
            found.setdefault((place.source.file, place.line), place)
    return [found[key] for key in sorted(found)]


def line_of(instance: Instance, scop: Scop) -> str:
    """Returns "line 8", the line of the source that an instance of a statement comes from; "" where there is none."""
    place = scop.statements[instance.statement].loc
    return "" if place is None else f"line {place.line}"


def _team(launch: Launch, team: TeamCode) -> Iterator[str]:
    """Yields what the threads of a block do together, such as `the 256 threads of a block run all iterations of i, with partial results`."""
    grid = [axis for axis in launch.axes if axis.loop]
    threads, side = team.size, prod(axis.threads for axis in grid)
    one = f"one iteration of {' and '.join(axis.loop for axis in grid)}" if grid else "all there is to do"
    several = f"{side} times {threads}" if side > 1 else f"the {threads}"
    yield f"{several} threads of a block run {one} together: each has partial results, which are combined in a tree"
    if team.stage == "partial":
        yield f"{team.parts} blocks share each of these, and store their results, which another launch combines"
    elif team.stage == "join":
        yield f"what they combine are the results that {team.parts} blocks of another launch have stored"


def _blocks(launch: Launch) -> str:
    """Returns what blocks and threads of a launch are, as in `blocks of 32 x 8 threads: along x for j, along y for i`."""
    threads = [axis.threads for axis in launch.axes if axis.threads > 1] or [1]
    items = [axis.items for axis in launch.axes]
    shape = " x ".join(map(str, threads))
    total = f" = {prod(threads)}" if len(threads) > 1 else ""
    iterations = f", each with {' x '.join(map(str, items))} iterations" if max(items) > 1 else ""
    along: dict[str, list[str]] = {}
    for number, axis in enumerate(launch.axes):
        if axis.loop:
            along.setdefault(_AXES[min(number, 2)], []).append(axis.loop)
    told = ", ".join(f"along {axis} for {' and '.join(loops)}" for axis, loops in along.items())
    return f"blocks of {shape}{total} thread{'s' if prod(threads) > 1 else ''}{iterations}: {told}"


def running(launch: Launch, scop: Scop) -> isl.Set:
    """Returns { : ... }, a condition on the sizes that holds wherever the launch runs an instance."""
    where = [scop.statements[name].domain.params() for name in launch.statements]
    return reduce(isl.Set.union, where, isl.Set.empty(scop.checked.get_space())).intersect(scop.checked)
