"""All single steps from a schedule that a page has verdicts of.

for i: for j: S   ->   tiles of i and j, their interchange, skews by -2 to 2, reversals, threads; fusions and shifts of neighbours
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise, product

from polyml.explorer.steps import Step
from polyml.schedule.script.transforms import addresses
from polyml.schedule.tree.loop_tree import Block, Loop, Node, Path, at, children, loops, statements

FACTORS = (-2, -1, 1, 2)  # of skews
MOST_COMBINED = 2  # loops of which all combinations of tile sizes are tried; of more, equal sizes


def single_steps(tree: Node, tiles: Sequence[int]) -> list[Step]:
    """Returns the steps, each once. Some of them do not fit the loops, and are refused with a reason.

    tiles: sizes of tiles.
    """
    names = {path: name for (path, _), name in zip(loops(tree), addresses(tree))}
    found = [
        *_interchanges(names),
        *_tiles(tree, names, tiles),
        *_skews(tree, names),
        *_fusions(tree, names),
        *_of_blocks(tree, names),
        *(Step("reverse", (name,)) for name in names.values()),
        *(Step("parallel", (name,)) for name in names.values()),
    ]
    return list({step.text: step for step in found}.values())


def _inside(names: dict[Path, str]) -> Iterator[tuple[Path, Path]]:
    """Yields the pairs of loops of which the second is inside the first."""
    for outer, inner in product(names, names):
        if len(outer) < len(inner) and inner[: len(outer)] == outer:
            yield outer, inner


def _interchanges(names: dict[Path, str]) -> Iterator[Step]:
    for outer, inner in _inside(names):
        yield Step("interchange", (names[outer], names[inner]))


def _tiles(tree: Node, names: dict[Path, str], sizes: Sequence[int]) -> Iterator[Step]:
    """Yields the tiles of loops directly inside one another."""
    for chain in _chains(tree, names):
        for first, last in combinations(range(len(chain) + 1), 2):
            own = chain[first:last]
            several = product(sizes, repeat=len(own)) if len(own) <= MOST_COMBINED else ((size,) * len(own) for size in sizes)
            for each in several:
                yield Step("tile", (dict(zip((names[path] for path in own), each)),))


def _chains(tree: Node, names: dict[Path, str]) -> list[list[Path]]:
    """Returns the longest runs of loops each of which is the whole body of the one before; loops over tiles are not cut again."""
    found: list[list[Path]] = []
    for path in names:
        loop = at(tree, path)
        assert isinstance(loop, Loop)
        if loop.directives.tile:
            continue
        if found and found[-1] and path == (*found[-1][-1], 0):
            found[-1].append(path)
        else:
            found.append([path])
    return found


def _skews(tree: Node, names: dict[Path, str]) -> Iterator[Step]:
    for outer, inner in _inside(names):
        for loop, by in ((inner, outer), (outer, inner)):
            if {*statements(at(tree, loop))} <= {*statements(at(tree, by))}:
                for factor in FACTORS:
                    yield Step("skew", (names[loop], names[by], factor))


def _fusions(tree: Node, names: dict[Path, str]) -> Iterator[Step]:
    """Yields the fusions of two loops next to each other, and of all loops of a block."""
    for path, block in _blocks(tree):
        own = [names[_child(path, k)] for k, part in enumerate(block.parts) if isinstance(part.body, Loop)]
        for k, (one, other) in enumerate(pairwise(block.parts)):
            if isinstance(one.body, Loop) and isinstance(other.body, Loop):
                yield Step("fuse", (names[_child(path, k)], names[_child(path, k + 1)]))
        if len(own) > 2 and len(own) == len(block.parts):
            yield Step("fuse", tuple(own))


def _child(path: Path, k: int) -> Path:
    return (*path, k)


def _of_blocks(tree: Node, names: dict[Path, str]) -> Iterator[Step]:
    """Yields distributions of loops of several parts, and shifts of their statements."""
    for path, loop in loops(tree):
        if not isinstance(loop.body, Block):
            continue
        yield Step("distribute", (names[path],))
        for part in loop.body.parts:
            for name in statements(part.body):
                for by in (-1, 1):
                    yield Step("shift", (names[path],), ((name, by),))


def _blocks(node: Node, path: Path = ()) -> Iterator[tuple[Path, Block]]:
    if isinstance(node, Block):
        yield path, node
    for step, child in enumerate(children(node)):
        yield from _blocks(child, (*path, step))
