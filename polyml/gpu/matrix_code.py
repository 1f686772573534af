"""The loads and stores of a product by matrix instructions: of vectors copied to shared memory, of small matrices, and of the sums.

for k_chunk by 32:                               16 bytes of A        at (blocks, threads, chunk, vector)
    A_tile = A[...] by vectors of 16 bytes  ->   16 bytes of A_tile   where the swizzle has them, by all threads of a block
    for k in the chunk by 16: ...                16 bytes of A_tile   of each lane of a load of four parts of 8 x 8

What goes to and from shared memory is the same in every block and chunk, so that its addresses are listed for one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod

from polyml.codegen.gpu.block_loops.fragment_layouts import LANES
from polyml.codegen.gpu.block_loops.matrix_fragments import WORD_BYTES, Fragments, Operand
from polyml.codegen.gpu.block_loops.swizzles import VECTOR_BYTES, copied_width
from polyml.codegen.gpu.cut_blocks import End, has_first
from polyml.codegen.ir.accesses import AccessTable
from polyml.gpu.places import Place, Touch
from polyml.model.core.scop import Scop
from polyml.quasi_affine.affine import Affine, Compare, extremum, floor_div, modulo, variable


def matrix_touches(
    found: Fragments, text: str, place: Place, thread: Affine, scop: Scop, ends: Sequence[End] = ()
) -> Iterator[Touch]:
    """Yields the loads and stores of a product.

    text: the access to the sums, for people.
    place: around the loop.
    thread: the number of a thread in its block, in `place.dims`.
    ends: of the axes along which the block may have fewer iterations.
    """
    loop, outside = found.loop, place
    place = place.where(*(Compare(">=", last - first) for first in loop.lower for last in loop.upper))
    if found.sums.is_loaded(scop):
        yield from _sums(found, text, outside if found.sums.start else place, thread, ends)
    chunk = place.inside((found.chunk,), extremum("max", loop.lower), found.length)
    chunk = chunk.where(*(Compare(">=", last - variable(found.chunk)) for last in loop.upper))
    block = replace(chunk, dims=tuple(dim for dim in chunk.dims if dim not in thread.names))
    block = replace(block, conditions=tuple(each for each in block.conditions if not each.names & thread.names))
    for operand in (found.left, found.right):
        yield from _copy(found, operand, (chunk, block), thread, _width(found, operand, place, scop))
    for operand, is_left in ((found.left, True), (found.right, False)):
        loads = _loads_of_words if found.has_words(operand) else _loads_of_matrices
        yield loads(found, operand, is_left, block)
    width = 2 if _has_whole_pairs(found, place, ends, scop) else 1
    yield from _sums(found, text, outside if found.sums.start else place, thread, ends, width)


def _threads(found: Fragments) -> int:
    return found.warps[0] * found.warps[1] * LANES


def _has_whole_pairs(found: Fragments, place: Place, ends: Sequence[End], scop: Scop) -> bool:
    """Returns whether all pairs of neighbouring columns are at multiples of their size and within the launch."""
    if not found.has_pairs:
        return False
    items = {item: Affine() for item, _ in found.sums.items}
    first = {each.start: variable(each.block) for each in (found.rows, found.columns)}
    numbers = [place.index(found.sums.subscripts[-1].substitute(items).substitute(first))]
    numbers += [place.index(end.counted) for end in ends if end.axis is found.columns]
    table = AccessTable(scop.context)
    if len(found.sums.subscripts) > 1:
        numbers.append(place.index(table.affine(scop.arrays[found.sums.array].shape[-1])))
    return all(number % 2 == 0 for each in numbers for number in (each.constant, *(factor for _, factor in each.terms)))


def _sums(found: Fragments, text: str, place: Place, thread: Affine, ends: Sequence[End], width: int = 0) -> Iterator[Touch]:
    """Yields the loads or the stores of a lane's sums, of each small matrix of its warp.

    width: how many neighbouring columns are stored at once; 0: the sums are loaded.
    """
    (rows, columns), across, layout = found.extents, found.warps[1], found.instruction.sums
    place = place.inside((), Affine(), 1, found.parts[0])
    row_part = variable(place.dims[-1])
    place = place.inside((), Affine(), 1, found.parts[1])
    column_part = variable(place.dims[-1])
    lane = modulo(thread, LANES)
    row = floor_div(thread, LANES * across) * rows + row_part * found.instruction.rows + floor_div(lane, 4)
    column = (
        modulo(floor_div(thread, LANES), across) * columns + column_part * found.instruction.columns + modulo(lane, 4) * layout.step
    )
    loop = found.loop.name or found.loop.var
    for down, right in list(zip(layout.rows, layout.columns))[:: max(width, 1)]:
        values = {
            **place.values,
            **{item: Affine() for item, _ in found.sums.items},
            found.rows.start: place.index(variable(found.rows.block)) + row + down,
            found.columns.start: place.index(variable(found.columns.block)) + column + right,
        }
        subscripts = tuple(each.substitute(values) for each in found.sums.subscripts)
        inside = replace(place, values=values).where(has_first(ends)) if ends else place
        yield Touch(text, found.sums.array, width > 0, None, inside, subscripts, held=(loop,), width=max(width, 1))


def _width(found: Fragments, operand: Operand, place: Place, scop: Scop) -> int:
    """Returns how many elements of an operand are copied at once: a vector where all are at multiples of 16 bytes in its array, or two."""
    tile, width, table = operand.tile, operand.order.width, AccessTable(scop.context)
    if len(found.loop.lower) != 1:
        return 1
    first = [place.index(each.first.substitute({found.chunk: found.loop.lower[0]})) for each in tile.dimensions]
    extents = [place.index(table.affine(each)).constant for each in scop.arrays[tile.array].shape]
    offset = Affine()
    for position, each in enumerate(first):
        offset = offset + each * prod(extents[position + 1 :])
    outer = next(k for k, each in enumerate(tile.dimensions) if each.extent > 1)
    numbers = (offset.constant, prod(extents[outer + 1 :]), *(c for _, c in offset.terms))
    return copied_width(width, scop.arrays[tile.array].element.size_bytes, numbers)


def _copy(found: Fragments, operand: Operand, places: tuple[Place, Place], thread: Affine, wide: int) -> Iterator[Touch]:
    """Yields the loads and the stores by which the threads of a block copy an operand's tile, in vectors of 16 bytes, or fewer elements
    at once where these are not aligned.

    places: where a thread begins a chunk, and the same of a block.
    wide: how many elements are copied at once.
    """
    tile, width, threads = operand.tile, operand.order.width, _threads(found)
    moving = [each for each in tile.dimensions if each.extent > 1]
    (height, length), across = (each.extent for each in moving), moving[1].extent // operand.order.width
    place = places[0].inside((), Affine(), 1)
    vector = variable(place.dims[-1]) * threads + thread
    row, column = floor_div(vector, across), modulo(vector, across) * width
    text = f"{tile.array} to shared memory"
    numbers = [[*range(first, min(first + LANES, height * across))] for first in range(0, height * across, LANES)]
    for element in range(0, width, wide):
        at = dict(zip(map(id, moving), (row, column + element)))
        lefts = [place.index(last - variable(found.chunk)) for last in found.loop.upper]
        limits = [Compare(">=", place.index(limit)) for each in moving for limit in each.limits(at[id(each)], lefts)]
        inside = replace(place, conditions=(*place.conditions, Compare(">=", Affine(height * across - 1) - vector), *limits))
        subscripts = tuple(place.index(each.first) + at.get(id(each), Affine()) for each in tile.dimensions)
        yield Touch(text, tile.array, False, None, inside, subscripts, is_copy=True, width=wide)
        pattern = tuple(
            tuple(
                (n // across * length + operand.order.column(n // across, n % across * width) + element) * VECTOR_BYTES // width
                for n in each
            )
            for each in numbers
        )
        yield Touch(text, tile.array, True, tile, places[1], (), is_copy=True, width=wide, pattern=pattern)


def _loads_of_matrices(found: Fragments, operand: Operand, is_left: bool, block: Place) -> Touch:
    """Returns the loads of four parts of 8 rows of 16 bytes that all warps of a block make of an operand in a chunk."""
    width, length = operand.order.width, operand.tile.dimensions[-1].extent
    requests = []
    for first, depth, origins in _parts(found, is_left):
        lanes = []
        for lane in range(LANES):
            down, right = origins[lane // 8]
            along, across = first + down, depth + right
            row, column = (across + lane % 8, along) if operand.across else (along + lane % 8, across)
            lanes.append((row * length + operand.order.column(row, column)) * VECTOR_BYTES // width)
        requests.append(tuple(lanes))
    text = f"matrices of {operand.tile.array}"
    return Touch(text, operand.tile.array, False, operand.tile, block, (), width=width, pattern=tuple(requests))


def _loads_of_words(found: Fragments, operand: Operand, is_left: bool, block: Place) -> Touch:
    """Returns the loads of words that all warps of a block make of an operand in a chunk, each of a part of 4 rows of 8 words."""
    length, requests = operand.tile.dimensions[-1].extent, []
    for first, depth, origins in _parts(found, is_left):
        for down, right in origins:
            places = ((depth + right + lane % 4, first + down + lane // 4) for lane in range(LANES))
            requests.append(tuple((row * length + operand.order.column(row, column)) * WORD_BYTES for row, column in places))
    text = f"numbers of {operand.tile.array}"
    return Touch(text, operand.tile.array, False, operand.tile, block, (), pattern=tuple(requests))


def _parts(found: Fragments, is_left: bool) -> Iterator[tuple[int, int, Sequence[tuple[int, int]]]]:
    """Yields for each four parts of an operand that a warp loads, of all warps, their first row, their first iteration of the loop, and
    where each part is from there on.
    """
    instruction = found.instruction
    if is_left:
        origins, extent, count = instruction.left.origins, instruction.rows, found.parts[0]
    else:
        other = instruction.right.origins
        origins = (*other, *((row + instruction.columns, column) for row, column in other))
        extent, count = 2 * instruction.columns, found.parts[1] // 2
    for warp in range(_threads(found) // LANES):
        first = warp // found.warps[1] * found.extents[0] if is_left else warp % found.warps[1] * found.extents[1]
        for depth in range(0, found.length, instruction.depth):
            yield from ((first + part * extent, depth, origins) for part in range(count))
