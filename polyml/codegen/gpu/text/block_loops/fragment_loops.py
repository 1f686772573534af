"""The text of products by matrix instructions: which lane (thread of a warp) loads, multiplies and stores which elements.

Fragments   ->   load_matrices(left[e1], &A_tile[slot][...]); multiply_matrices_f16(C_held[e1][e2], left[e1], right[e2]);
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from polyml.codegen.gpu.block_loops.fragment_layouts import LANES
from polyml.codegen.gpu.block_loops.matrix_fragments import SLOTS, Fragments, Operand
from polyml.codegen.gpu.cut_blocks import End, has_first
from polyml.codegen.gpu.text.block_loops.tile_copies import Ring, Surroundings, VectorCopy, copied_ahead
from polyml.codegen.gpu.text.integers import condition, factor
from polyml.codegen.gpu.text.names import named
from polyml.codegen.gpu.text.shared_memory import SharedArray
from polyml.dtypes import F32, DType
from polyml.quasi_affine.affine import Affine, Compare, conjunction, variable

_STEP = "    "


def fragment_loop(
    found: Fragments,
    names: tuple[str, str],
    fenced: bool,
    around: Surroundings,
    ends: Sequence[End],
    first_values: Callable[[str], list[str]],
) -> Iterator[str]:
    """Yields the C lines of a product: the warps load the sums, add to them chunk by chunk, and store them.

    names: of the tiles of the left and the right operand.
    fenced: whether the thread runs something before or behind it, so that the threads have to wait for one another.
    ends: of the axes along which the block may have fewer iterations.
    first_values: returns the lines that set a register to the first value of the sum that belongs to a thread's first iterations.
    """
    loop, barrier = found.loop, around.dialect.barrier
    copies = [VectorCopy(each.tile, each.order, name) for each, name in zip((found.left, found.right), names)]
    ring = Ring(loop, found.chunk, found.length, SLOTS)
    lowers, uppers = ([around.renamed(each) for each in ends] for ends in (loop.lower, loop.upper))
    runs = conjunction(*(Compare(">=", last - first) for first in lowers for last in uppers))
    run = f"if ({condition(runs, around.use)}) {{"
    held, (m, n) = f"{named(found.sums.array)}_held", found.parts
    fence = [f"{barrier}  // {named(found.sums.array)}: written by all threads before any reads what another has written"] * fenced
    lines = [*_starts(found), f"float {held}[{m}][{n}][{len(found.instruction.sums.rows)}];", *fence]
    there = condition(around.renamed(has_first(ends)), around.use) if ends else ""
    if found.sums.is_loaded(around.scop):
        loaded = around.values.loaded(_sum(found, around), _element(found, around)).text
        lines += _for_sums(found, around, [f"{_register(held)} = {f'{there} ? {loaded} : 0' if there else loaded};"])
    if found.sums.start:
        lines += _for_sums(found, around, first_values(_register(held)))
    inside = list(copied_ahead(copies, ring, around, _chunk(found, copies, held, around)))
    lines += [run, *(_STEP + line for line in inside), "}"] if found.sums.start else inside
    lines += [*_stores(found, held, ends, around), *fence]
    yield "{" if found.sums.start else run
    yield from (_STEP + line for line in lines)
    yield "}"


def _register(held: str, more: int = 0) -> str:
    """Returns the C text of a sum in its register. more: added to its number in its small matrix."""
    return f"{held}[e0][e1][e2{f' + {more}' if more else ''}]"


def _element(found: Fragments, around: Surroundings) -> DType:
    return around.scop.arrays[found.sums.array].element


def _sum(found: Fragments, around: Surroundings, names: Mapping[str, Affine] = MappingProxyType({})) -> str:
    """Returns the C text of a sum in memory. names: { name of a first iteration -> what stands in its place }."""
    subscripts = [around.values.index(each.substitute(names)) for each in _at_first_item(found)]
    return around.values.element(found.sums.array, subscripts)


def _stores(found: Fragments, held: str, ends: Sequence[End], around: Surroundings) -> Iterator[str]:
    """Yields the C lines that store the sums, two at once where rows in memory allow it."""

    def tested(line: str, more: int = 0) -> list[str]:
        where = has_first(ends).substitute({found.columns.start: variable(found.columns.start) + more})
        return [f"if ({condition(around.renamed(where), around.use)})", _STEP + line] if ends else [line]

    again = _again(found, around)
    for block, name in again.items():
        yield f"const {around.dialect.index} {name} = {around.use('again')}({block});"
    single = _for_sums(found, around, tested(f"{_sum(found, around)} = {_register(held)};"), blocks=again)
    if not found.has_pairs:
        yield from single
        return
    first = _sum(found, around, {each.start: variable(each.block) for each in (found.rows, found.columns)})
    tests = [f"({around.dialect.unsigned(64)})&{first} % {2 * F32.size_bytes} == 0"]
    if len(found.sums.subscripts) > 1:
        pitch = around.values.affine(around.scop.arrays[found.sums.array].shape[-1])
        tests.append(f"{factor(around.renamed(pitch), around.use)} % 2 == 0")
    tests += [f"{end.count} % 2 == 0" for end in ends if end.axis is found.columns]
    yield f"if ({' && '.join(tests)}) {{"
    pair = f"{around.use('store_pair_f32')}(&{_sum(found, around)}, {_register(held)}, {_register(held, 1)});"
    yield from (_STEP + line for line in _for_sums(found, around, tested(pair, 1), 2, again))
    yield "}"
    yield "else {"
    yield from (_STEP + line for line in single)
    yield "}"


def _again(found: Fragments, around: Surroundings) -> dict[str, str]:
    """Returns { name of a block's first iteration -> the same, in a variable that compilers know nothing of } where sums are loaded, so that
    they do not keep the addresses and tests of these in registers for the stores while the loop runs.
    """
    return {each.block: f"{each.block}_again" for each in (found.rows, found.columns)} if found.sums.is_loaded(around.scop) else {}


def shared_array(operand: Operand, name: str, around: Surroundings) -> SharedArray:
    """Returns the array in shared memory that has an operand's tile in each slot."""
    element = around.dialect.memory_type(around.scop.arrays[operand.tile.array].element)
    rows, length = (each.extent for each in operand.tile.dimensions if each.extent > 1)
    return SharedArray(element, name, (SLOTS, rows, length), is_aligned=True)


def _starts(found: Fragments) -> Iterator[str]:
    """Yields the C declarations of a thread's number in its warp, and of the warp's first row and column in the block."""
    (rows, columns), across = found.extents, found.warps[1]
    yield f"const int lane = thread % {LANES};"
    yield f"const int {_warp_row(found)} = thread / {LANES * across} * {rows};"
    yield f"const int {_warp_column(found)} = thread / {LANES} % {across} * {columns};"


def _warp_row(found: Fragments) -> str:
    return f"{found.rows.start}_warp"


def _warp_column(found: Fragments) -> str:
    return f"{found.columns.start}_warp"


def _at_first_item(found: Fragments) -> list[Affine]:
    """Returns the subscripts of a sum as functions of the iterations that it belongs to, in place of a thread's first ones and items."""
    return [each.substitute({item: Affine() for item, _ in found.sums.items}) for each in found.sums.subscripts]


def _for_sums(
    found: Fragments, around: Surroundings, lines: Sequence[str], step: int = 1, blocks: Mapping[str, str] = MappingProxyType({})
) -> Iterator[str]:
    """Yields C lines that run lines for each sum that a lane has, with the sum's row and column under the names of the thread's first
    iterations.

    blocks: { name of a block's first iteration -> the variable that has it }.
    """
    layout, index = found.instruction.sums, around.dialect.index
    indent = ""
    for name, count in zip(("e0", "e1", "e2"), (*found.parts, len(layout.rows))):
        yield f"{indent}#pragma unroll"
        more = f"{name} += {step}" if step > 1 and name == "e2" else f"{name}++"
        yield f"{indent}for (int {name} = 0; {name} < {count}; {more})" + (" {" if name == "e2" else "")
        indent += _STEP
    row = f"{_warp_row(found)} + e0*{found.instruction.rows} + lane / 4{_by_bits('e2', layout.rows)}"
    column = f"{_warp_column(found)} + e1*{found.instruction.columns} + lane % 4 * {layout.step}{_by_bits('e2', layout.columns)}"
    for axis, place in ((found.rows, row), (found.columns, column)):
        yield f"{indent}const {index} {named(axis.start)} = {blocks.get(axis.block, axis.block)} + {place};"
    yield from (indent + line for line in lines)
    yield indent[len(_STEP) :] + "}"


def _by_bits(name: str, table: Sequence[int], divisor: int = 1) -> str:
    """Returns the C text of what a table has for a number, added to something: the sum of what it has for the number's bits.

    name: the C text of the number times `divisor`, or a little more.
    """
    text = ""
    for bit in range(len(table).bit_length() - 1):
        if table[1 << bit]:
            scale = divisor << bit
            digit = f"{name} % 2" if scale == 1 else f"{name} / {scale} % 2"
            text += f" + {digit}" + (f" * {table[1 << bit]}" if table[1 << bit] != 1 else "")
    return text


def _chunk(found: Fragments, copies: Sequence[VectorCopy], held: str, around: Surroundings) -> Iterator[str]:
    """Yields the C lines that add the products of a chunk to the sums, in steps of the instruction's depth.

    copies: the tiles of the left and the right operand.
    held: the name of the sums.
    """
    instruction, (m, n) = found.instruction, found.parts
    left, right = copies
    yield "#pragma unroll"
    yield f"for (int e0 = 0; e0 < {found.length}; e0 += {instruction.depth}) {{"
    yield f"{_STEP}unsigned int left[{m}][4], right[{n // 2}][4];"
    one, other = instruction.left.origins, instruction.right.origins
    both = (*other, *((row + instruction.columns, column) for row, column in other))  # of two neighbouring small matrices
    sides = (
        (found.left, left, "left", _warp_row(found), m, instruction.rows, one),
        (found.right, right, "right", _warp_column(found), n // 2, 2 * instruction.columns, both),
    )
    for operand, copy, name, start, count, extent, origins in sides:
        loads = _words if found.has_words(operand) else _loads
        yield f"{_STEP}#pragma unroll"
        yield f"{_STEP}for (int e1 = 0; e1 < {count}; e1++) {{"
        yield from (_STEP * 2 + line for line in loads(operand, copy, (name, start, extent), origins, around))
        if instruction.is_rounded:
            yield f"{_STEP * 2}{around.use(f'round_matrices_{instruction.number}')}({name}[e1]);"
        yield f"{_STEP}}}"
    yield f"{_STEP}#pragma unroll"
    yield f"{_STEP}for (int e1 = 0; e1 < {m}; e1++)"
    yield f"{_STEP * 2}#pragma unroll"
    yield f"{_STEP * 2}for (int e2 = 0; e2 < {n}; e2++)"
    multiply = around.use(f"multiply_matrices_{instruction.number}")
    yield f"{_STEP * 3}{multiply}({held}[e1][e2], left[e1], &right[e2 / 2][e2 % 2 * 2]);"
    yield "}"


def _loads(
    operand: Operand, copy: VectorCopy, side: tuple[str, str, int], origins: Sequence[tuple[int, int]], around: Surroundings
) -> Iterator[str]:
    """Yields the C lines by which a warp loads an operand's small matrices from shared memory, four parts of 8 rows of 16 bytes at once.
    Lane t tells where row t % 8 of part t // 8 is; a transposed load gives the lanes columns of numbers of 16 bits in place of rows.

    The order of elements in rows that follow one another repeats itself after eight, so that it is that of the lane's number, which is the
    same in all loads.

    side: the name of the registers, that of the warp's first row in the block, and the rows of each load.
    origins: row and column, in a small matrix, of each part.
    """
    name, start, extent = side
    rows, columns = (_by_bits("lane", table, 8) for table in zip(*origins))
    row, column = (f"e0 + lane % 8{columns}", f"{start} + e1*{extent}{rows}") if operand.across else (
        f"{start} + e1*{extent} + lane % 8{rows}",
        f"e0{columns}",
    )  # fmt: skip
    load = around.use("load_matrices_transposed" if operand.across else "load_matrices")
    yield f"{load}({name}[e1], &{copy.name}[slot][{row}][{operand.order.text('lane', column)}]);"


def _words(
    operand: Operand, copy: VectorCopy, side: tuple[str, str, int], origins: Sequence[tuple[int, int]], around: Surroundings
) -> Iterator[str]:
    """Yields the C lines by which lanes load the numbers of 32 bits of an operand whose rows in shared memory are iterations of the loop:
    lane t has row t // 4 and column t % 4 of each of four parts. The order repeats itself after four rows, as in `_loads`.
    """
    name, start, extent = side
    rows, columns = (_by_bits("e3", table) for table in zip(*origins))
    yield "#pragma unroll"
    yield "for (int e3 = 0; e3 < 4; e3++) {"
    column = operand.order.text("lane", f"{start} + e1*{extent} + lane / 4{rows}")
    yield f"{_STEP}{name}[e1][e3] = __float_as_uint({copy.name}[slot][e0 + lane % 4{columns}][{column}]);"
    yield "}"
