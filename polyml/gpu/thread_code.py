"""The loads and stores in what a thread of a launch runs, each with the loops and conditions around it.

if (whole):                                  A[i, k]   at (block x, block y, thread x, thread y, k) where whole and 0 <= k < n
    for k: C_held += A[i, k]*B[k, j]    ->   B[k, j]   at the same
    C[i, j] = C_held                         C[i, j]   at (block x, block y, thread x, thread y) where whole

Loops count from 0, whatever their first value is: the threads of a warp are in their n-th iterations together. What registers hold is
not loaded, what comes from shared memory is loaded from there, and the copies that fill shared memory are loads and stores as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import count, product
from math import prod
from types import MappingProxyType

from polyml.codegen.gpu.block_loops.matrix_fragments import SLOTS
from polyml.codegen.gpu.block_loops.merged_sums import MergedSum
from polyml.codegen.gpu.block_loops.pipelined_tiles import Pipelined, PipelinedTile
from polyml.codegen.gpu.block_loops.swizzles import copied_width
from polyml.codegen.gpu.block_loops.vector_stores import vector_axis, vector_width
from polyml.codegen.gpu.cut_blocks import is_there
from polyml.codegen.gpu.program import Launch, Version
from polyml.codegen.gpu.registers import Registers
from polyml.codegen.gpu.shared_tiles import BlockAxis, SharedTile, Staged, TileDimension
from polyml.codegen.ir.accesses import AccessTable, reads_and_write
from polyml.codegen.ir.program import Guard, Instance, Loop, Node, instances
from polyml.gpu.matrix_code import matrix_touches
from polyml.gpu.merged_code import MergedWalk
from polyml.gpu.places import Place, Touch, in_version, looped, place_of, runs, thread_dim
from polyml.model.core.nest import subvalues
from polyml.model.core.printer import access_text
from polyml.model.core.scop import Access, Gather, Scop
from polyml.polyhedra import value_at
from polyml.quasi_affine.affine import Affine, Compare, extremum, floor_div, modulo, variable
from polyml.values import cached_property


def touches(launch: Launch, scop: Scop, sizes: Mapping[str, int]) -> Iterator[tuple[int, Touch]]:
    """Yields the loads and stores of a thread in the order of the text, each behind the number of its version.

    sizes: the values of the SCoP's parameters.
    """
    start = place_of(launch, scop, sizes)
    for number, version in enumerate(launch.versions):
        walk = VersionWalk(launch, version, scop, sizes)
        yield from ((number, each) for each in walk.version(in_version(start, version)))


def runs_of(launch: Launch, scop: Scop, sizes: Mapping[str, int]) -> Iterator[tuple[str, str, Place]]:
    """Yields each instance in the text of a thread, as `places.runs` does, also of sums for positions of merged loops."""
    merged = [version for version in launch.versions if version.merged]
    for version in merged:
        assert version.merged is not None
        yield from VersionWalk(launch, version, scop, sizes).merged(version.merged).runs(place_of(launch, scop, sizes))
    if not merged:
        yield from runs(launch, scop, sizes)


class VersionWalk:
    """A walk over the text of one version of what a thread runs.

    updates: { statement -> the array that it updates in a register }.
    kept: arrays that are in registers all the time.
    """

    def __init__(
        self,
        launch: Launch,
        version: Version,
        scop: Scop,
        sizes: Mapping[str, int],
        updates: Mapping[str, str] = MappingProxyType({}),
        kept: Set[str] = frozenset(),
    ):
        self._kept = kept
        self._launch, self._version, self._scop, self._sizes, self._updates = launch, version, scop, sizes, updates
        self._table = AccessTable(scop.context)
        is_whole = version in launch.versions[:1]  # of a block without tests, whose loops over items are unrolled
        self._counts = {axis.item: axis.items for axis in launch.blocks if is_whole and axis.items > 1}
        self._held: tuple[Registers, ...] = ()  # of the loops around
        self._tiles: tuple[SharedTile | PipelinedTile, ...] = ()  # that the loops around have filled
        self._body = 0  # the number of the body of the innermost loop that is not unrolled
        self._bodies = count(1)
        self._loaded: set[object] = set()  # what was loaded before, in which body
        self._written = {scop.statements[name].write.array for name in launch.statements}

    @cached_property
    def _threads(self) -> tuple[Affine, int]:
        """Returns the number of a thread in its block, and how many threads the block has."""
        linear, threads = Affine(), 1
        for number, axis in enumerate(self._launch.axes[:3]):
            if axis.threads > 1:
                linear = linear + variable(thread_dim(number)) * threads
            threads *= axis.threads
        return linear, threads

    def version(self, place: Place) -> Iterator[Touch]:
        """Yields the loads and stores of the whole version, in order."""
        for tile in self._version.filled:
            yield from self._copy(tile, place, ())
        self._tiles = self._version.filled
        if self._version.merged is not None:
            self._updates = dict.fromkeys(self._launch.statements, self._version.merged.array)
            yield from self.merged(self._version.merged).touches(place)
            return
        yield from self.nodes(self._version.body, place)

    def merged(self, found: MergedSum) -> MergedWalk:
        """Returns the walk over a sum for positions of merged loops."""
        return MergedWalk(found, self._scop, self._threads[0], self._loads, self._instance)

    def nodes(self, nodes: Sequence[Node], place: Place) -> Iterator[Touch]:
        """Yields the loads and stores of nodes, in order."""
        for node in nodes:
            if any(node is each for held in self._version.registers for each in held.start):
                continue  # first values of elements in registers, which need nothing else
            if isinstance(node, Instance):
                yield from self._instance(node, place)
            elif isinstance(node, Guard):
                yield from self.nodes(node.body, place.where(node.condition))
            elif isinstance(node, Loop):
                yield from self._loop(node, place)
            else:
                raise TypeError(f"not a node of a thread: {node!r}")

    def _loop(self, loop: Loop, place: Place) -> Iterator[Touch]:
        together = next((each for each in self._version.fragments if each.loop is loop), None)
        if together is not None:
            text, _ = self._text_of(together.sums)
            yield from matrix_touches(together, text, place, self._threads[0], self._scop, self._version.ends)
            return
        held = next((each for each in self._version.registers if each.loop is loop and each not in self._held), None)
        if held is None:
            yield from self._unheld(loop, place)
            return
        inside = place.where(held.runs)
        if held.is_loaded(self._scop):
            yield from self._filled(held, place if held.start else inside, is_write=False)
        before, self._held = self._held, (*self._held, held)
        yield from self._unheld(loop, inside)
        self._held = before
        yield from self._filled(held, place if held.start else inside, is_write=True)

    def _unheld(self, loop: Loop, place: Place) -> Iterator[Touch]:
        """Yields the loads and stores inside a loop for which registers are filled, if they are."""
        chunked: tuple[Staged | Pipelined, ...] = (*self._version.staged, *self._version.pipelined)
        staged = next((each for each in chunked if each.loop is loop), None)
        yield from self._plain(loop, place) if staged is None else self._chunks(staged, place)

    def _plain(self, loop: Loop, place: Place) -> Iterator[Touch]:
        """Yields the loads and stores inside a loop whose iterations follow one another."""
        items = self._counts.get(loop.name)
        if items is None:
            yield from self._inside(loop, looped(loop, place))
            return
        inner = place.inside((loop.var, loop.name), Affine(), 1, items)
        yield from self.nodes(loop.body, replace(inner, renamed={**inner.renamed, loop.var: variable(loop.name)}))

    def _inside(self, loop: Loop, place: Place) -> Iterator[Touch]:
        """Yields the loads and stores of a loop's body. place: inside the loop."""
        before, self._body = self._body, next(self._bodies)
        yield from self.nodes(loop.body, place)
        self._body = before

    def _filled(self, held: Registers, place: Place, is_write: bool) -> Iterator[Touch]:
        """Yields the loads that fill registers before a loop, or the stores of what they have after it."""
        element, blocks = self._scop.arrays[held.array].element, self._launch.blocks
        axis = vector_axis(held, blocks, element) if is_write and self._version.has_vectors else None
        if axis is not None and not self._has_whole_vectors(held, axis, vector_width(element), place):
            axis = None
        width = vector_width(element) if axis is not None else 1
        for name, items in held.items:
            in_vectors = axis is not None and name == axis.item
            place = place.inside((name,), Affine(), width if in_vectors else 1, items // width if in_vectors else items)
        if self._version.ends:
            place = place.where(is_there(self._version.ends))
        text, loop = self._text_of(held)
        subscripts = tuple(place.index(each) for each in held.subscripts)
        yield Touch(text, held.array, is_write, None, place, subscripts, held=(loop,), width=width)

    def _has_whole_vectors(self, held: Registers, axis: BlockAxis, width: int, place: Place) -> bool:
        """Returns whether all vectors of elements along the axis are at multiples of 16 bytes and within the launch."""
        *_, last = held.subscripts
        numbers = [place.index(last.substitute({axis.item: Affine()}))]
        numbers += [place.index(end.counted) for end in self._version.ends if end.axis is axis]
        pitches = (
            [value_at(each, self._sizes) for each in self._scop.arrays[held.array].shape[-1:]] if len(held.subscripts) > 1 else []
        )
        known = [number for each in numbers for number in (each.constant, *(factor for _, factor in each.terms))]
        return all(number % width == 0 for number in (*known, *pitches))

    def _text_of(self, held: Registers) -> tuple[str, str]:
        """Returns the access to the elements in registers, and the name of the loop, for people."""
        statement, access = next(
            (node.statement, access)
            for node in instances(held.loop.body)
            for access in reads_and_write(self._scop.statements[node.statement])
            if access.array == held.array
        )
        return f"{access_text(access)} of {statement}", held.loop.name or held.loop.var

    def _chunks(self, staged: Staged | Pipelined, place: Place) -> Iterator[Touch]:
        """Yields the loads and stores of a loop in chunks: of the copies to shared memory, and of the iterations.

        The whole chunks come apart from the last one, if it is known how many there are: then whole chunks have constant bounds.
        """
        loop, chunk = staged.loop, staged.chunk
        first, last = (place.index(extremum(op, ends)) for op, ends in (("max", loop.lower), ("min", loop.upper)))
        outer = place.inside((chunk,), extremum("max", loop.lower), staged.length)
        number = variable(outer.dims[-1])
        if first.is_constant and last.is_constant:
            whole, rest = divmod(max(0, last.constant - first.constant + 1), staged.length)
            if whole:
                yield from self._chunk(
                    staged, replace(outer, conditions=(*outer.conditions, Compare(">=", Affine(whole - 1) - number))), ()
                )
            if not rest:
                return
            outer = replace(outer, conditions=(*outer.conditions, Compare("==", number - whole)))
        yield from self._chunk(staged, outer.where(*(Compare(">=", end - variable(chunk)) for end in loop.upper)), loop.upper)

    def _chunk(self, staged: Staged | Pipelined, place: Place, ends: Sequence[Affine]) -> Iterator[Touch]:
        """Yields the loads and stores of chunks. ends: last values of the loop that a chunk may exceed."""
        loop = staged.loop
        left = [end - variable(staged.chunk) for end in ends]
        for tile in staged.tiles:
            yield from self._copy_ahead(tile, place, left) if isinstance(tile, PipelinedTile) else self._copy(tile, place, left)
        before, self._tiles = self._tiles, (*staged.tiles, *self._tiles)
        inner = place.inside((loop.var,), variable(staged.chunk), 1, label=loop.name or loop.var)
        limits = (*ends, variable(staged.chunk) + (staged.length - 1))
        yield from self._inside(loop, inner.until(*(end - variable(loop.var) for end in limits)))
        self._tiles = before

    def _copy(self, tile: SharedTile, place: Place, ends: Sequence[Affine]) -> Iterator[Touch]:
        """Yields the load and the store by which the threads of a block copy a tile, whose elements they take in turn.

        ends: last values of the loop in chunks that a chunk may exceed, counted from its first one; elements behind them are not copied.
        """
        linear, threads = self._threads
        element = place.inside((), Affine(), 1)
        at = linear + variable(element.dims[-1]) * threads
        element = replace(element, conditions=(*element.conditions, Compare(">=", Affine(tile.elements - 1) - at)))
        inner, positions = 1, {}
        moving = [each for each in tile.dimensions if each.extent > 1]
        for each in reversed(moving):
            quotient = floor_div(at, inner)
            positions[id(each)] = quotient if each is moving[0] else modulo(quotient, each.extent)
            inner *= each.extent
        inside = self._limited(element, [(each, positions[id(each)]) for each in moving], ends)
        subscripts = tuple(place.index(each.first) + positions.get(id(each), Affine()) for each in tile.dimensions)
        text = f"{tile.array} to shared memory"
        yield Touch(text, tile.array, False, None, inside, subscripts, is_copy=True)
        stored = tuple(positions[id(each)] for each in tile.stored)
        yield Touch(text, tile.array, True, tile, element if tile.is_cut else inside, stored, is_copy=True)

    def _limited(self, place: Place, along: Sequence[tuple[TileDimension, Affine]], ends: Sequence[Affine]) -> Place:
        """Returns the place where the elements of a tile are of iterations that there are.

        along: dimensions of the tile, with the number of the element along each.
        ends: as in `_copy`.
        """
        lefts = [place.index(end) for end in ends]
        limits = [place.index(limit) for each, number in along for limit in each.limits(number, lefts)]
        return replace(place, conditions=(*place.conditions, *(Compare(">=", each) for each in limits)))

    def _copy_ahead(self, found: PipelinedTile, place: Place, ends: Sequence[Affine]) -> Iterator[Touch]:
        """Yields the load and the store by which the threads of a block copy a tile ahead: in vectors where rows of the array begin
        at multiples of one, else element by element. A vector behind the last iteration of the loop is stored too, as zeros.

        ends: as in `_copy`.
        """
        tile, (linear, threads) = found.tile, self._threads
        width = self._width(found)
        copy = place.inside((), Affine(), 1)
        at = linear + variable(copy.dims[-1]) * threads
        copy = replace(copy, conditions=(*copy.conditions, Compare(">=", Affine(tile.elements // found.width - 1) - at)))
        positions, stored = found.copied(at)
        if width < found.width:
            copy = copy.inside((), Affine(), 1, found.width // width)
            one = variable(copy.dims[-1]) * width
            positions, stored = (*positions[:-1], positions[-1] + one), (*stored[:-1], stored[-1] + one)
        moving = [each for each in tile.dimensions if each.extent > 1]
        where = dict(zip(map(id, moving), positions))
        inside = self._limited(copy, [(each, where[id(each)]) for each in moving], ends)
        subscripts = tuple(place.index(each.first) + where.get(id(each), Affine()) for each in tile.dimensions)
        text = f"{tile.array} to shared memory"
        yield Touch(text, tile.array, False, None, inside, subscripts, is_copy=True, width=width)
        yield Touch(
            text,
            tile.array,
            True,
            found,
            copy if tile.is_cut or found.order is not None else inside,
            stored,
            is_copy=True,
            width=width,
        )

    def _width(self, found: PipelinedTile) -> int:
        """Returns how many elements are copied at once: a vector, or two halves, where rows of the array, and the parts that are copied of
        them, begin at multiples of so many.
        """
        outer = next(k for k, each in enumerate(found.tile.dimensions) if each.extent > 1)
        shape = [value_at(each, self._sizes) for each in self._scop.arrays[found.array].shape]
        firsts = found.tile.dimensions[-1].first.substitute({name: Affine(value) for name, value in self._sizes.items()})
        fitting = copied_width(found.width, found.element_bytes, (prod(shape[outer + 1 :]), firsts.constant))
        return fitting if found.order is not None else 1

    def _instance(self, node: Instance, place: Place) -> Iterator[Touch]:
        """Yields the loads and the store of an instance; an element that the statement reads twice is loaded once."""
        statement = self._scop.statements[node.statement]
        point = dict(zip(statement.iterators, node.point))
        seen: set[tuple[str, tuple[Affine, ...]]] = set()
        for access in reads_and_write(statement):
            is_write = access is statement.write
            subscripts = tuple(each.substitute(point) for each in self._table.subscripts(access))
            if self._updates.get(statement.name) == access.array or access.array in self._kept:
                continue
            if any(held.array == access.array for held in self._held) or not is_write and (access.array, subscripts) in seen:
                continue
            seen.add((access.array, subscripts))
            yield from self._access(statement.name, access, subscripts, place, is_write)

    def _access(
        self, statement: str, access: Access, subscripts: tuple[Affine, ...], place: Place, is_write: bool
    ) -> Iterator[Touch]:
        """Yields the loads or the store that an access of a statement becomes. subscripts: in names of the program."""
        text = f"{access_text(access)} of {statement}"
        for tile in self._tiles:
            indices = _indices(tile, subscripts, place) if tile.array == access.array else None
            if indices is not None:
                yield from self._loads(
                    Touch(text, access.array, is_write, tile, place, tuple(map(place.index, indices)), may=access.may)
                )
                return
        found = Touch(text, access.array, is_write, None, place, tuple(map(place.index, subscripts)), may=access.may)
        if access.may or access.array in self._written:
            yield found
        else:
            yield from self._loads(found)

    def _loads(self, touch: Touch) -> Iterator[Touch]:
        """Yields a load of what the launch does not write as the compiler makes it: once for all unrolled iterations and statements of a
        loop's body that load the element, and outside of the innermost loops in which the element is the same.
        """
        place = touch.place
        dims = [dim for dim in place.unrolled if dim in place.dims]
        if any(dim in each.names and len(each.names) > 1 for dim in dims for each in place.conditions):
            yield touch
            return
        used = frozenset().union(*(each.names for each in touch.subscripts))
        moving = [dim for dim in dims if dim in used]
        bare = place.without({*dims})
        new: dict[object, tuple[Affine, ...]] = {}
        for at in product(*(range(place.unrolled[dim]) for dim in moving)):
            items = {dim: Affine(number) for dim, number in zip(moving, at)}
            subscripts = tuple(each.substitute(items) for each in touch.subscripts)
            key = self._body, touch.array, touch.tile, bare.conditions, subscripts
            if key not in self._loaded:
                new[key] = subscripts
        self._loaded |= new.keys()
        if len(new) == prod(place.unrolled[dim] for dim in moving):
            yield _hoisted(replace(touch, place=place.without({*dims} - {*moving})))
        else:
            yield from (_hoisted(replace(touch, place=bare, subscripts=each)) for each in new.values())


def _hoisted(touch: Touch) -> Touch:
    """Returns the load outside of the innermost loops in which its element is the same."""
    place, held = touch.place.hoisted(frozenset().union(*(each.names for each in touch.subscripts)))
    return replace(touch, place=place, held=(*held, *touch.held))


def _indices(tile: SharedTile | PipelinedTile, subscripts: tuple[Affine, ...], place: Place) -> tuple[Affine, ...] | None:
    """Returns the subscripts in a tile of the array's element at the given ones; None if a read there is not served from it."""
    if isinstance(tile, PipelinedTile):
        return tile.indices if _indices(tile.tile, subscripts, place) is not None else None
    here, first = ([each.substitute(place.renamed) for each in some] for some in (subscripts, tile.subscripts))
    for offset in tile.offsets or ((0,) * len(first),):
        if here == [each + more for each, more in zip(first, offset)]:
            return tile.indices(offset)
    return None


def shared_bytes(version: Version, scop: Scop) -> int:
    """Returns the bytes of shared memory of a version, in which each tile has a place of its own, and those of matrices several."""
    tiles = (*version.filled, *(tile for staged in version.staged for tile in staged.tiles))
    matrices = [operand.tile for each in version.fragments for operand in (each.left, each.right)]
    size = sum(prod(tile.lengths) * scop.arrays[tile.array].element.size_bytes for tile in tiles)
    size += sum(each.size_bytes(scop) for each in version.pipelined)
    size += sum(each.size_bytes for each in version.merged.operands) if version.merged else 0
    return size + SLOTS * sum(tile.elements * scop.arrays[tile.array].element.size_bytes for tile in matrices)


def gathers(launch: Launch, scop: Scop) -> tuple[str, ...]:
    """Returns the arrays that a thread reads at indices that data decide; these loads are not among `touches`."""
    names = dict.fromkeys(launch.statements)
    values = (value for name in names for value in subvalues(scop.statements[name].value))
    return tuple(dict.fromkeys(value.array for value in values if isinstance(value, Gather)))
