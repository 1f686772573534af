"""Lines of boxes of iterations against sets of addresses; what tiles fetch against caches."""

from itertools import product

import numpy as np
import pytest

from polyml.codegen.ir.array_layout import Placed
from polyml.tune.tiles.box_lines import boxes, lines, united

LINE = 64


def array(shape, address=0, element=8):
    strides = tuple(element * int(np.prod(shape[d + 1 :], dtype=int)) for d in range(len(shape)))
    return Placed(address, tuple(shape), strides, element * int(np.prod(shape, dtype=int)))


def counted(place, moves, offsets, counts, first):
    """The lines that iterations from `first` on use."""
    found = set()
    for point in product(*(range(f, f + n) for f, n in zip(first, counts))):
        index = [sum(c * v for c, v in zip(column, point)) for column in zip(*moves)]
        for offset in offsets:
            found.add((place.address + sum((i + o) * s for i, o, s in zip(index, offset, place.strides))) // LINE)
    return len(found)


def moved(place, moves, offsets):
    return united("A", place, tuple(moves), offsets)


ROWS = array((96, 96))
CASES = {
    "rows": (ROWS, [(1, 0), (0, 1)], [(0, 0)], [(8, 16), (3, 96), (96, 8), (1, 1), (5, 4)]),
    "a column": (ROWS, [(0, 0), (1, 0)], [(0, 0)], [(8, 16), (1, 7)]),
    "one row": (ROWS, [(0, 0), (0, 1)], [(0, 0)], [(8, 16), (4, 24)]),
    "neighbours": (array((66, 66)), [(1, 0), (0, 1)], [(0, 0), (0, 1), (0, 2), (1, 1), (2, 1)], [(8, 16), (16, 32)]),
    "rows off lines": (array((66, 66)), [(1, 0), (0, 1)], [(0, 0)], [(8, 16), (16, 8), (4, 66), (1, 8)]),
    "small rows": (array((16, 3, 3)), [(1, 0, 0), (0, 1, 0), (0, 0, 1)], [(0, 0, 0)], [(16, 3, 3), (6, 3, 3), (1, 3, 3)]),
    "windows": (array((40, 66)), [(1, 0), (0, 1), (1, 0), (0, 1)], [(0, 0)], [(8, 8, 3, 3), (4, 16, 3, 3), (1, 8, 3, 1)]),
    "every second": (array((64, 128)), [(1, 0), (0, 2)], [(0, 0)], [(8, 16), (4, 32)]),
    "a diagonal": (ROWS, [(1, 1)], [(0, 0)], [(16,), (40,)]),
}


@pytest.mark.parametrize("case", CASES)
def test_lines_of_boxes_are_those_of_their_addresses(case):
    """In the mean over where boxes begin, at multiples of their sizes."""
    place, moves, offsets, shapes = CASES[case]
    for counts in shapes:
        reach = [sum(max(0, move[d]) for move in moves) for d in range(len(place.shape))]
        firsts = [[k * n for k in range(6) if (k + 1) * n <= min(24, *place.shape) or k == 0] for n in counts]
        wanted = np.mean([counted(place, moves, offsets, counts, first) for first in product(*firsts)])
        found = float(lines([moved(place, moves, offsets)], counts, LINE)["A"])
        assert wanted * 0.9 <= found <= wanted * 1.1 + 0.5, (counts, found, wanted, reach)


def test_sizes_on_axes_give_what_each_gives():
    place, moves, offsets, _ = CASES["neighbours"]
    each = moved(place, moves, offsets)
    sizes = np.meshgrid([4, 8, 64], [8, 24, 64], indexing="ij", sparse=True)
    together = boxes([each], sizes, (64, 64), LINE)
    fetched = np.broadcast_to(together.fetched(100), (3, 3))
    for a, b in product(range(3), range(3)):
        one = boxes([each], (int(sizes[0][a, 0]), int(sizes[1][0, b])), (64, 64), LINE)
        assert float(one.fetched(100)) == fetched[a, b] == float(together.at((a, b)).fetched(100))


def test_a_product_fetches_what_its_tiles_do():
    """By hand: tiles of 16 of three matrices of 96 in a cache of all their lines, and of one tile's."""
    moves = {"A": ((1, 0), (0, 0), (0, 1)), "B": ((0, 0), (0, 1), (1, 0)), "C": ((1, 0), (0, 1), (0, 0))}
    each = [united(name, array((96, 96), k * 96 * 96 * 8), own, [(0, 0)]) for k, (name, own) in enumerate(moves.items())]
    found = boxes(each, (16, 16, 16), (96, 96, 96), LINE)
    whole, tile = 96 * 12, 16 * 2
    assert float(found.total(0)) == 3 * whole and float(found.total(3)) == 3 * tile
    assert float(found.fetched(3 * whole)) == 3 * whole
    assert float(found.fetched(3 * tile)) == 6**3 * 2 * tile + 6**2 * tile  # C stays along the innermost loop over tiles


def test_what_overlaps_stays_where_a_loop_inside_goes_through_all_of_it():
    """Windows of 10 x 10 along rows that are off lines, again for each of 16 filters of 38 lines: of two neighbours the lines that
    both use are fetched once, though all filters are used between.
    """
    window = [(float(a), float(b)) for a in range(10) for b in range(3)]
    each = [
        united("image", array((10, 66)), ((0.0, 0.0), (0.0, 1.0)), window),
        united("filters", array((16, 304), 1 << 20), ((1.0, 0.0), (0.0, 0.0)), [(0.0, float(k)) for k in range(304)]),
    ]
    found = boxes(each, (16, 8), (16, 56), LINE)  # filters and columns
    one, every = float(found.lines["image"][2]) + 38, float(found.total(2))
    whole = float(found.lines["image"][0])
    assert 38 + 10 < one < 38 + 30 < whole + 38 < every
    stays, lost = float(found.fetched(one + 10)), float(found.fetched(30))
    assert 7 * 16 * 38 + whole <= stays < 7 * 16 * 38 + 2 * whole < lost
