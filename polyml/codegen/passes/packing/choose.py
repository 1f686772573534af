"""The choice of copies: which reads they serve, in which loop's body each is filled, and whether that pays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import prod

from polyml.codegen.analysis.access_boxes import box, moving_names, tile_of
from polyml.codegen.analysis.access_conflicts import Enclosing
from polyml.codegen.costs.trip_estimates import middle_values, trips
from polyml.codegen.ir.program import Instance, Loop, Node, loops, with_paths
from polyml.codegen.passes.packing import storage
from polyml.codegen.passes.packing.copies import PackingContext, TileCopy, TileRead
from polyml.codegen.passes.packing.operands import as_single_read, scaled_operand
from polyml.codegen.passes.packing.words import in_words, wants_words
from polyml.errors import ScheduleError
from polyml.machines.cpu import CpuMachine
from polyml.model.core.nest import subvalues
from polyml.model.core.scop import Gather, Load
from polyml.quasi_affine.affine import Affine, Compare, variable

# how often each element of a copy has to be read for the copy to pay
LEAST_USES = 48  # if sizes are not known
LEAST_USES_SIZED = 256  # if sizes are known and no case below applies
LEAST_ALIASED_USES = 48  # for arrays whose rows compete for the same sets of the first cache
LEAST_LARGE_ARRAY_USES = 8  # for arrays larger than half of the last cache, which would be read from memory row by row
LEAST_PRODUCT_USES = 16  # for copies that hold a product of the element
LEAST_WORD_USES = 32  # for copies in words, which an instruction takes several elements of at a time
LEAST_TRANSPOSED_USES = 4  # if the loops of a register tile do not run along the array's rows
NEVER = 2**62
PAGE_BYTES = 4096  # rows whose lengths are multiples of it compete for the same sets of the first cache
MAX_UNREAD = 2  # the most elements of a copy per element that is read, as in a box around a diagonal
LONG_ROW = 8  # rows of this many cache lines or more are padded to an odd number of lines


@dataclass
class _SharedCopy:
    """A copy of a box of an array's elements, and the reads found so far that are to be served from it."""

    copy: TileCopy
    reads: list[TileRead] = field(default_factory=list)

    def whole(self) -> TileCopy:
        """Returns the copy with all reads found so far in its field `reads`."""
        return replace(self.copy, reads=tuple(self.reads))


def copies(context: PackingContext, chain: tuple[Loop, ...], around: tuple[Enclosing, ...]) -> list[TileCopy]:
    """Returns the copies to make in a chain of loops over tiles: those that the schedule asks for, or else those that pay.

    chain: loops over tiles, outermost first, each the only node in the one before.
    around: the loops and guards around the chain.
    """
    if any(loop.directives.pack for loop in loops((chain[0],))):
        return _directed(context, chain, around)
    is_strip = len(chain) == 1  # each element is read once, or rows are read as they are stored
    if is_strip and (context.sizes is None or any(map(has_tiles, chain[0].body))):
        return []
    found: dict[tuple, _SharedCopy] = {}
    for reads in reads_below(context, chain, around):
        chosen = _best(context, reads, chain, found)
        if chosen is not None:
            read, copy = chosen
            found.setdefault(copy.elements, _SharedCopy(copy)).reads.append(read)
    made = [group.whole() for group in found.values()]
    made = [copy for copy in made if not is_strip or storage.is_transposed(context, copy)]
    made = [copy for copy in made if all(stays_in_window(context, read, copy) for read in copy.reads)]
    level = min((copy.level for copy in made), default=0)
    made = in_words(context, made)
    return [copy for copy in made if not any(test.expr.is_constant for test in pays(context, copy, level))]


def pays(context: PackingContext, copy: TileCopy, level: int) -> list[Compare]:
    """Returns the tests, to be made at run time in the body of loop number `level` of the copy's chain, under which the copy pays:
    the outermost loop that reads the same elements in each iteration must have many iterations. There are none if sizes are known,
    or if the schedule asks for the copy.
    """
    if context.sizes is not None or copy.is_requested:
        return []
    read = copy.reads[0]
    reusing = read.reuse_loop(copy.chain, copy.level)
    if reusing is None:
        return []
    unknown = read.inner_names(copy.chain, level)
    lengths = [high - low + 1 for low in reusing.lower for high in reusing.upper]
    tests = [Compare(">=", n - LEAST_USES) for n in lengths if not n.names & unknown]
    return [test for test in tests if not (test.expr.is_constant and test.expr.constant >= 0)]


# -- copies that the schedule asks for ------------------------------------------------------------------------------------


def _directed(context: PackingContext, chain: tuple[Loop, ...], around: tuple[Enclosing, ...]) -> list[TileCopy]:
    """Returns the copies that the schedule asks for in the chain's loops.

    chain: loops over tiles, outermost first.
    around: the loops and guards around the chain.

    Raises ScheduleError if a copy cannot be made.
    """
    found: dict[tuple, _SharedCopy] = {}
    packed: dict[tuple[int, int], Loop] = {}  # { (position of the instance, position of the read) -> loop }
    for level, loop in enumerate(chain):
        for name in loop.directives.pack:
            for read in _reads_of(context, name, chain, level, around):
                copy = candidate(context, read, chain, level)
                copy = replace(copy, panel=storage.panel(context, read, copy), is_requested=True)
                group = found.setdefault((level, *copy.elements), _SharedCopy(copy))
                other = packed.setdefault((read.position, read.number), loop)
                if other is not loop:
                    raise _refused(loop, name, f"it is at loop `{other.name}`, which is around that one")
                if is_written(context, read, chain, level):
                    raise _refused(loop, name, "the element that is read may be written in the same iteration")
                if not stays_in_window(context, read, group.copy):
                    raise _refused(loop, name, "which elements are read cannot be told")
                group.reads.append(read)
    deeper = [loop for loop in loops(chain[-1].body) if loop.directives.pack]
    if found and deeper:
        why = f"`{chain[0].name}`, with other loops in between, has copies already"
        raise _refused(deeper[0], deeper[0].directives.pack[0], why)
    return in_words(context, [group.whole() for group in found.values()])


def _reads_of(
    context: PackingContext, array: str, chain: tuple[Loop, ...], level: int, around: tuple[Enclosing, ...]
) -> list[TileRead]:
    """Returns the reads of the array in the body of chain[level], each with the box of elements that it reads there. Raises
    ScheduleError if data decide which elements are read, or no box contains them.

    around: the loops and guards around the chain.
    """
    found = []
    for position, (instance, path) in enumerate(with_paths(chain[-1].body)):
        statement = context.program.scop.statements[instance.statement]
        if any(isinstance(v, Gather) and v.array == array for v in subvalues(statement.value)):
            raise _refused(chain[level], array, "data decide which elements are read")
        inner = [node for node in path if isinstance(node, Loop)]
        for number, access in enumerate(statement.reads):
            if access.array == array and access.subscripts:
                subscripts = context.tests.subscripts((access, instance))
                window = box(array, subscripts, [*chain[level + 1 :], *inner], True)
                if window is None:
                    raise _refused(chain[level], array, "which elements are read cannot be told")
                moving = moving_names(subscripts, (*chain, *inner))
                found.append(TileRead(statement, number, instance, position, (*around, *chain, *_around(path)), window, moving))
    return found


def _refused(loop: Loop, array: str, why: str) -> ScheduleError:
    """Returns the error which says that the array cannot be packed at the loop, and why."""
    return ScheduleError(f"`{array}` cannot be packed at loop `{loop.name}`: {why}")


# -- copies that pay -----------------------------------------------------------------------------------------------------


def reads_below(
    context: PackingContext, chain: tuple[Loop, ...], around: tuple[Enclosing, ...]
) -> Iterator[Iterator[tuple[int, TileRead]]]:
    """Yields for each read below the chain an iterator over pairs (level, the read with its box) with the places where a copy for it
    may be filled. A level is among them if the elements that the read accesses in one run of the body of chain[level] form a box which
    differs from iteration to iteration of chain[level]; level -1 is before all loops. Levels go from the outermost inwards.

    around: the loops and guards around the chain.
    """
    for position, (instance, path) in enumerate(with_paths(chain[-1].body)):
        statement = context.program.scop.statements[instance.statement]
        inner = [node for node in path if isinstance(node, Loop)]
        enclosing = (*around, *chain, *_around(path))
        for number, access in enumerate(statement.reads):
            subscripts = context.tests.subscripts((access, instance))
            moving = moving_names(subscripts, (*chain, *inner))
            read = partial(TileRead, statement, number, instance, position, enclosing, moving=moving)
            yield _levels(context, chain, inner, (access.array, subscripts), read)


def _levels(
    context: PackingContext,
    chain: tuple[Loop, ...],
    inner: Sequence[Loop],
    element: tuple[str, tuple[Affine, ...]],
    read: Callable[..., TileRead],
) -> Iterator[tuple[int, TileRead]]:
    """Yields the levels of one read, as `reads_below` says.

    inner: the loops around it that are inside the chain.
    element: the array that it reads, and the subscripts.
    read: makes it of its box, `window`.
    """
    array, subscripts = element
    for level in range(-1 if context.sizes else 0, len(chain)):
        window = box(array, subscripts, [*chain[level + 1 :], *inner], context.sizes is not None)
        if window is not None and (level < 0 or chain[level].var in window.names):
            yield level, read(window=window)


def _around(path: Sequence[Node]) -> tuple[Enclosing, ...]:
    """Returns the loops and guards among the nodes of a path."""
    return tuple(node for node in path if isinstance(node, Enclosing))


def candidate(context: PackingContext, read: TileRead, chain: tuple[Loop, ...], level: int) -> TileCopy:
    """Returns a copy, filled in the body of chain[level], of the box of elements that a read accesses in one run of this body.
    Whether the copy pays is not decided here.

    read: the read, with its box at this level.
    chain: loops over tiles, outermost first.
    level: an index in the chain; -1: the copy is filled before all of its loops.
    """
    value = as_single_read(scaled_operand(read.statement, read.number))
    is_shared = any(loop.parallel for loop in chain[level + 1 :])
    return TileCopy(read.window, value, storage.order(context, read, chain), level, chain, is_shared=is_shared)


def _best(
    context: PackingContext, reads: Iterable[tuple[int, TileRead]], chain: tuple[Loop, ...], found: Mapping[tuple, _SharedCopy]
) -> tuple[TileRead, TileCopy] | None:
    """Returns (a read with its box, the copy that is best for it), or None if no copy pays.

    The best one is the outermost copy that pays; but if threads share that copy, or the second cache does not hold it, a smaller
    one further inside is preferred.

    reads: the levels of the chain at which the read may have a copy, outermost first, each with the read and its box there.
    chain: loops over tiles, outermost first.
    found: { `TileCopy.elements` -> a copy that other reads have already, which this read may share }.
    """
    best: tuple[TileRead, TileCopy] | None = None
    for level, read in reads:
        if best is not None and not _may_be_better_in_parts(context, *best, level):
            break
        if not read.window.lengths or read.reuse_loop(chain, level) is None:
            continue
        copy = candidate(context, read, chain, level)
        known = found.get(copy.elements)
        if known is None:
            copy = replace(copy, panel=storage.panel(context, read, copy))
            if not fits(context, copy, read):
                continue
            if context.sizes is not None and context.reuse_count(read, copy) < least_uses(context, copy, read):
                break
        elif known.copy.level != level:
            continue
        else:
            copy = known.copy
        if (best is None or _is_part(context, copy, best[1])) and not is_written(context, read, chain, level):
            best = read, copy
    return best


def _may_be_better_in_parts(context: PackingContext, read: TileRead, copy: TileCopy, level: int) -> bool:
    """Returns whether smaller copies, filled in the body of loop number `level` of the chain, may be better than the copy. This is
    so if sizes are known and each of their elements is read as often as in the copy, and either threads share the copy, or the
    second cache does not hold it.
    """
    if context.sizes is None or any(loop.var not in read.moving for loop in copy.chain[copy.level + 1 : level + 1]):
        return False
    return copy.is_shared or context.size_bytes(copy) > context.machine.cache(2).size_bytes


def _is_part(context: PackingContext, part: TileCopy, whole: TileCopy) -> bool:
    """Returns whether a smaller copy may replace the whole one: both have panels or neither has; and it copies as many neighbouring
    elements of the array at a time as the whole one does, or at least several cache lines of them.
    """
    unit = context.unit_dim(part.window.array)
    if unit is None or (part.panel is None) != (whole.panel is None):
        return False
    long = LONG_ROW * context.machine.line_bytes // context.array(part).element.size_bytes
    length = part.window.lengths[unit]
    return length is None or length == whole.window.lengths[unit] or length >= long


def is_written(context: PackingContext, read: TileRead, chain: tuple[Loop, ...], level: int) -> bool:
    """Returns whether an element may be both written and read, by the read, in one run of the body of chain[level]."""
    own = (read.statement.write, read.instance)
    if own[0].array == read.window.array and context.tests.subscripts(own) == context.subscripts(read):
        return True  # the instance updates what it reads
    for instance, path in with_paths(chain[-1].body):
        write = context.program.scop.statements[instance.statement].write
        if write.array == read.window.array:
            inside = [node for node in (*chain[level + 1 :], *path) if isinstance(node, Loop)]
            touches = (read.access, read.instance), (write, instance)
            if context.tests.may_conflict_in(*touches, read.outside(chain, level), read.below(chain, level), inside):
                return True
    return False


def stays_in_window(context: PackingContext, read: TileRead, copy: TileCopy) -> bool:
    """Returns whether the read is proved to access only elements in the copy's box, and, if the copy has panels (the elements of
    one tile each), only those of one panel in each tile.
    """
    touch, window = (read.access, read.instance), read.window
    if not context.tests.is_within(touch, read.around, window.low, window.lengths):
        return False
    if copy.panel is None:
        return True
    dim, tile = copy.order[-1], copy.panel
    lows = tuple(variable(tile.var) if d == dim else low for d, low in enumerate(window.low))
    lengths = tuple(tile.step if d == dim else n for d, n in enumerate(window.lengths))
    return context.tests.is_within(touch, read.around, lows, lengths)


def fits(context: PackingContext, copy: TileCopy, read: TileRead) -> bool:
    """Returns whether the copy is worth its memory: it has more than one element, of a known number; the second cache or a quarter
    of the third one holds it; and the read accesses at least about half of its elements.
    """
    whole = [d for d, n in enumerate(copy.window.lengths) if n is None]
    size = prod(n for n in copy.window.lengths if n is not None)
    inside = read.inner_names(copy.chain, copy.level)
    if size == 1 and not whole or size > MAX_UNREAD * _elements_read(context, read, inside, whole):
        return False
    extents = [context.table.affine(context.array(copy).shape[d]) for d in whole]
    if any(not e.names <= context.known_sizes.keys() for e in extents):
        return False
    return context.size_bytes(copy) <= most_bytes(context.machine)


def most_bytes(machine: CpuMachine) -> int:
    """Returns how many bytes a copy may have."""
    return max(machine.cache(2).size_bytes, machine.cache(3).size_bytes // 4)


def _elements_read(context: PackingContext, read: TileRead, inside: set[str], whole: Sequence[int]) -> int:
    """Returns an estimate of how many elements a read accesses in one run of the inner loops, for one fixed index in each of the
    dimensions `whole`: the product of the trip counts of those inner loops that change other subscripts of the read and none of
    `whole`. A loop over a tile's iterations counts as if the tile were full.

    inside: the variables of the inner loops.
    whole: the dimensions of which the copy has all indices.
    """
    subscripts = context.subscripts(read)
    of_whole = moving_names(tuple(subscripts[d] for d in whole), read.loops) if whole else frozenset()
    total, known = 1, middle_values(read.loops, context.known_sizes)
    for loop in read.loops:
        ends = tile_of(loop) if loop.var in inside - of_whole else None
        if ends is not None and loop.var in read.moving:
            total *= (ends[1] - ends[0]).constant // loop.step + 1
        elif loop.var in (inside - of_whole) & read.moving & known.keys():
            total *= max(1, trips(loop, known))
    return total


def least_uses(context: PackingContext, copy: TileCopy, read: TileRead) -> int:
    """Returns how often each element has to be read for the copy to pay."""
    array, unit = context.array(copy), context.unit_dim(copy.window.array)
    if not isinstance(copy.value, Load):
        return LEAST_PRODUCT_USES
    if storage.is_transposed(context, copy) or copy.panel is not None and not storage.is_along_row(context, copy, read):
        return LEAST_TRANSPOSED_USES
    if wants_words(context, copy, read):
        return LEAST_WORD_USES
    extents = [context.table.affine(e) for e in array.shape]
    if unit is not None and all(e.names <= context.known_sizes.keys() for e in extents):
        counts = [e.evaluate(context.known_sizes) for e in extents]
        is_aliased = counts[unit] * array.element.size_bytes % PAGE_BYTES == 0
        if len(counts) == 1 or copy.panel is None and _is_read_in_rows(context, read):
            return NEVER
        if 2 * prod(counts) * array.element.size_bytes > context.machine.cache(3).size_bytes:
            return LEAST_LARGE_ARRAY_USES
        if is_aliased and copy.panel is not None:
            return LEAST_ALIASED_USES
    return LEAST_USES_SIZED


def _is_read_in_rows(context: PackingContext, read: TileRead) -> bool:
    """Returns whether a register tile reads the array in rows as they are stored, so that a copy would not help. This is so if
    exactly one of the read's subscripts has no loop variable in common with the subscripts of the element that the instance writes
    (such as k of A[i, k] in a matrix product). The dimension along which elements are neighbours in memory must also be that one,
    have the variable of a loop over a tile's iterations in its subscript, or be unknown.
    """
    written = {name for e in context.written(read) for name in e.names}
    subscripts = context.subscripts(read)
    unit = context.unit_dim(read.window.array)
    along = unit is None or not subscripts[unit].names & written or bool(subscripts[unit].names & read.in_tile)
    return along and sum(not e.names & written for e in subscripts) == 1


def has_tiles(node: Node) -> bool:
    """Returns whether there is a loop over tiles at or below the node."""
    if isinstance(node, Instance):
        return False
    return isinstance(node, Loop) and node.role == "tile" or any(map(has_tiles, node.body))
