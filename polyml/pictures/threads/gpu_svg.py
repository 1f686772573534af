"""The SVG picture of a GPU's blocks: iterations in the plane of axes x and y, by block, warp and thread, and boxes of shared memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from textwrap import wrap

from polyml.drawing.style import heading, heading_width, picture
from polyml.drawing.svg import Font, Svg, path, rect, text
from polyml.pictures.sizes_text import sizes_text
from polyml.pictures.threads.gpu_blocks import GpuBlocks, LaunchBlocks, Position, SharedBox, ThreadPlace
from polyml.polyhedra.points import Instance, instance_text

MOST = 2_000  # cells of a picture
ACROSS, DOWN = 64, 64  # iterations that are drawn along x and along y at most
LEFT, LINE = 52.0, 17.0
LARGEST, SMALLEST, LONGEST = 24.0, 5.0, 336.0  # pixels: of a cell, and of a row of cells, which is legible in a window of 400
NUMBERED = 20.0  # pixels of a cell in which the thread's number has room
SHADES = (0.16, 0.42, 0.68, 0.94)  # of warps, again from the first where there are more
_CHARACTER = 6.4
_BOX = (90.0, 60.0)  # pixels of the largest box of shared memory
_LETTERS = 60  # of a line of words
_NAMED = 3  # instances of a cell that its hint names


@dataclass(frozen=True)
class _Plane:
    """The cells of a launch that are drawn: those with one value along all axes but x and y.

    fixed: the values along the other axes.
    cells: {(x, y): the place, and the instances}.
    """

    fixed: Position
    cells: Mapping[tuple[int, int], tuple[ThreadPlace, list[Instance]]]
    left_out: int


def gpu_svg(shown: GpuBlocks, most: int = MOST) -> Svg:
    """Returns the SVG picture of the blocks of launches. most: how many cells it has."""
    title = f"Blocks and threads of {shown.kernel}"
    caption = f"which thread of each launch runs which iteration{sizes_text(shown.sizes)}"
    parts, y, width = [heading(title, "")[0]], 41.0, heading_width(title, "")
    for line in wrap(caption, _LETTERS):
        parts.append(text(14, y, line, "caption faint"))
        y += LINE
    y += 4
    words: list[str] = []
    share = max(most // max(len(shown.launches), 1), 64)
    for launch in shown.launches:
        lines = [part for line in _lines(launch) for part in wrap(line, _LETTERS)]
        for line in lines:
            parts.append(text(14, y, line, "mono" if line is lines[0] else "faint", font=Font(12)))
            width = max(width, 30 + (7.3 if line is lines[0] else _CHARACTER) * len(line))
            y += LINE
        plane = _plane(launch, share)
        drawn, reach, y, told = _grid(launch, plane, y + 10)
        parts += drawn
        for line in told:
            parts.append(text(14, y, line, "faint"))
            y += LINE
        boxes, right, y = _boxes(launch.shared, y)
        parts += boxes
        width = max(width, reach, right, *(30 + _CHARACTER * len(line) for line in told or [""]))
        words += [*lines, *told]
        y += 22
    numbers = "numbers: a thread's along x and y; " if any('class="number' in part for part in parts) else ""
    legend = f"thick lines: blocks; {numbers}shades: warps 0, 1, 2, 3 of a block, and so on again"
    for line in wrap(legend, _LETTERS):
        parts.append(text(14, y, line, "faint"))
        width = max(width, 30 + _CHARACTER * len(line))
        y += LINE
    y -= LINE
    for number, shade in enumerate(SHADES):
        parts.append(
            f'<rect class="cell heat" x="{14 + 22 * number}" y="{y + 8:.1f}" width="20" height="12" style="fill-opacity:{shade}"/>'
        )
    y += 22
    return picture(parts, width, y + 14, f"{title}. {caption}. {'; '.join([*words, legend])}.", "gpu")


def _lines(launch: LaunchBlocks) -> Iterator[str]:
    """Yields the name of a launch, and what its blocks are."""
    host = ", ".join(f"{name} = {value}" for name, value in launch.host.items())
    yield launch.name + (f"  for {host}, one of {launch.launches:,} launches" if host else "")
    if launch.serial:
        yield f"one thread: {launch.serial.splitlines()[0]}"
    for letter, (loop, threads, items) in zip("xyzw", launch.axes):
        each = f", {items} iterations each" if items > 1 else ""
        yield f"{letter}: {loop}, {threads} thread{'s' if threads > 1 else ''} of a block{each}"
    if launch.note:
        yield launch.note


def _plane(launch: LaunchBlocks, most: int) -> _Plane:
    """Returns the cells of a launch in the plane of x and y, in the middle along other axes."""
    found: dict[Position, dict[tuple[int, int], tuple[ThreadPlace, list[Instance]]]] = {}
    for instance, place in launch.places.items():
        x, y, *others = (*place.position, 0, 0)[: max(2, len(place.position))]
        found.setdefault(tuple(others), {}).setdefault((x, y), (place, []))[1].append(instance)
    fixed = sorted(found)[len(found) // 2]
    cells = found[fixed]
    left, top = min(x for x, _ in cells), min(y for _, y in cells)
    rows = max(min(DOWN, most // min(ACROSS, 1 + max(x for x, _ in cells) - left)), 1)
    kept = {(x, y): each for (x, y), each in cells.items() if x < left + ACROSS and y < top + rows}
    return _Plane(fixed, kept, len(cells) - len(kept))


def _grid(launch: LaunchBlocks, plane: _Plane, top: float) -> tuple[list[str], float, float, list[str]]:
    """Returns the cells of a launch, how far right and down they reach, and lines that say what is left out."""
    cells = plane.cells
    low_x, high_x = min(x for x, _ in cells), max(x for x, _ in cells)
    low_y, high_y = min(y for _, y in cells), max(y for _, y in cells)
    side = max(min(LARGEST, LONGEST / (high_x - low_x + 1)), SMALLEST)

    def at(x: int, y: int) -> tuple[float, float]:
        return LEFT + (x - low_x) * side, top + 14 + (y - low_y) * side

    parts = []
    every = max(1, -(-(high_x - low_x + 1) // 12))
    for x in range(low_x, high_x + 1, every):
        parts.append(text(at(x, low_y)[0] + side / 2, top + 9, str(x), "faint", anchor="middle", font=Font(10)))
    every = max(1, -(-(high_y - low_y + 1) // 12))
    for y in range(low_y, high_y + 1, every) if len(launch.axes) > 1 else ():
        parts.append(text(LEFT - 6, at(low_x, y)[1] + side / 2 + 3.5, str(y), "faint", anchor="end", font=Font(10)))
    for (x, y), (place, instances) in sorted(cells.items()):
        parts += _cell(place, sorted(instances), at(x, y), side)
    blocks = dict.fromkeys(place.block for place, _ in cells.values())
    for block in blocks:
        own = {point for point, (place, _) in cells.items() if place.block == block}
        parts.append(_outline(block, own, at, side))
    bottom = at(low_x, high_y + 1)[1]
    names = [name for name, _, _ in launch.axes]
    axes = f"{names[0]} (x) →" if names else "one thread"
    axes += f", {names[1]} (y) ↓" if len(names) > 1 else ""
    parts.append(text(LEFT, bottom + 15, axes, "faint", font=Font(11)))
    told = [f"{len(blocks):,} blocks are drawn"] if len(blocks) > 1 else ["one block is drawn"]
    if len(names) > 2:
        told.append("drawn for " + ", ".join(f"{name} = {value}" for name, value in zip(names[2:], plane.fixed)) + " alone")
    if plane.left_out:
        told.append(f"the first {len(cells):,} of {len(cells) + plane.left_out:,} iterations are drawn")
    return parts, LEFT + (high_x - low_x + 1) * side + 20, bottom + 36, told


def _cell(place: ThreadPlace, instances: list[Instance], at: tuple[float, float], side: float) -> Iterator[str]:
    """Yields the cell of an iteration of the axes, with the thread's number where it has room."""
    x, y = at
    shade = SHADES[place.warp % len(SHADES)]
    few = ", ".join(map(instance_text, instances[:_NAMED])) + (", ..." if len(instances) > _NAMED else "")
    hint = f"block {_tuple(place.block)}, thread {_tuple(place.thread)}, warp {place.warp}: {len(instances):,} instances, {few}"
    told = f'data-position="{_numbers(place.position)}" data-block="{_numbers(place.block)}" data-thread="{_numbers(place.thread)}"'
    told += f' data-warp="{place.warp}" data-instances="{len(instances)}"'
    yield (
        f'<rect class="cell heat" x="{x + 0.5:.1f}" y="{y + 0.5:.1f}" width="{side - 1:.1f}" height="{side - 1:.1f}" {told} '
        f'style="fill-opacity:{shade}"><title>{escape(hint)}</title></rect>'
    )
    if side >= NUMBERED:
        number = ",".join(map(str, place.thread[:2]))
        yield text(
            x + side / 2, y + side / 2 + 3, number, "number" if shade < 0.5 else "number inverse", anchor="middle", font=Font(8)
        )


def _outline(block: Position, own: set[tuple[int, int]], at, side: float) -> str:
    """Returns the outline of a block: the sides of its cells towards other ones."""
    sides = []
    for x, y in sorted(own):
        left, top = at(x, y)
        sides += [f"M{left:.1f},{top:.1f}h{side:.1f}"] if (x, y - 1) not in own else []
        sides += [f"M{left:.1f},{top + side:.1f}h{side:.1f}"] if (x, y + 1) not in own else []
        sides += [f"M{left:.1f},{top:.1f}v{side:.1f}"] if (x - 1, y) not in own else []
        sides += [f"M{left + side:.1f},{top:.1f}v{side:.1f}"] if (x + 1, y) not in own else []
    return path("".join(sides), "outline", hint=f"block {_tuple(block)}")


def _boxes(shared: tuple[SharedBox, ...], top: float) -> tuple[list[str], float, float]:
    """Returns the boxes of shared memory, each as wide and high as its rows and columns in proportion, and how far they reach."""
    if not shared:
        return [text(14, top, "nothing is copied to shared memory", "faint")], 0.0, top + LINE
    total = sum(each.size_bytes for each in shared)
    parts = [text(14, top, f"shared memory of a block: {total:,} bytes", font=Font(12, bold=True))]
    longest = max(max(each.lengths, default=1) for each in shared)
    y, right = top + 10, 0.0
    for each in shared:
        down, across = ((1, 1, *each.lengths)[-2:]) if each.lengths else (1, 1)
        width, height = max(_BOX[0] * across / longest, 6), max(min(_BOX[0] * down / longest, _BOX[1]), 6)
        words = " x ".join(map(str, each.lengths)) or "1"
        told = f' data-array="{each.array}" data-lengths="{_numbers(each.lengths)}" data-bytes="{each.size_bytes}"'
        parts.append(f'<g class="shared-box"{told}>{rect(LEFT, y, width, height, round=2)}</g>')
        first = f"{each.array}: {words} elements, {each.size_bytes:,} bytes" + (
            f" in {each.slots} copies" if each.slots > 1 else ""
        )
        second = f"read by {each.chunk} iterations of a thread's loop" if each.loop else "copied once, before the threads begin"
        parts += [text(LEFT + width + 10, y + 11, first), text(LEFT + width + 10, y + 26, second, "faint")]
        right = max(right, LEFT + width + 20 + _CHARACTER * max(len(first), len(second)))
        y += max(height, 30) + 8
    return parts, right, y + 12


def _numbers(values: Position) -> str:
    return ",".join(map(str, values))


def _tuple(values: Position) -> str:
    return f"({', '.join(map(str, values))})"
