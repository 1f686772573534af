"""The loads and stores in what a thread of a launch runs, each with the loops and conditions around it.

if (whole):                                  A[i, k]   at (block x, block y, thread x, thread y, k) where whole and 0 <= k < n
    for k: C_held += A[i, k]*B[k, j]    ->   B[k, j]   at the same
    C[i, j] = C_held                         C[i, j]   at (block x, block y, thread x, thread y) where whole

Loops count from 0, whatever their first value is: the threads of a warp are in their n-th iterations together. What registers hold is
not loaded, what comes from shared memory is loaded from there, and the copies that fill shared memory are loads and stores as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count, product
from math import prod

from polyml.codegen.gpu.program import Launch, Version
from polyml.codegen.gpu.registers import Registers
from polyml.codegen.gpu.shared_tiles import SharedTile, Staged
from polyml.codegen.ir.accesses import AccessTable, reads_and_write
from polyml.codegen.ir.program import Guard, Instance, Loop, Node, instances
from polyml.model.core.nest import subvalues
from polyml.model.core.printer import access_text
from polyml.model.core.scop import Access, Gather, Scop
from polyml.quasi_affine.affine import Affine, Compare, Condition, extremum, floor_div, modulo, variable


@dataclass(frozen=True)
class Place:
    """A Place is where in a thread something runs: inside which loops, and under which conditions.

    dims: names of integers: the host's loops, for each axis the number of the block and that of the thread, and for each loop of the
        thread how many iterations of it were before.
    conditions: what holds of them.
    values: { name in the program -> its value, an expression of `dims` }.
    unrolled: { name in `dims` of an unrolled loop -> how many iterations it has }.
    bounds: { name in `dims` of a loop of the source, innermost last -> those of the conditions that bound it }.
    loops: the names of the thread's own loops, outermost first.
    renamed: { variable of a loop over a thread's items -> the name that the items along that axis have }.
    """

    dims: tuple[str, ...]
    conditions: tuple[Condition, ...]
    values: Mapping[str, Affine]
    unrolled: Mapping[str, int] = field(default_factory=dict)
    bounds: Mapping[str, tuple[Condition, ...]] = field(default_factory=dict)
    loops: tuple[str, ...] = ()
    renamed: Mapping[str, Affine] = field(default_factory=dict)

    def where(self, *conditions: Condition) -> Place:
        """Returns the place inside a test of conditions, given in names of the program."""
        return replace(self, conditions=(*self.conditions, *(each.substitute(self.values) for each in conditions)))

    def until(self, *ends: Affine) -> Place:
        """Returns the place inside the innermost loop where that ends before any of the expressions of names of the program is negative."""
        dim, more = self.dims[-1], tuple(Compare(">=", end.substitute(self.values)) for end in ends)
        return replace(self, conditions=(*self.conditions, *more), bounds={**self.bounds, dim: (*self.bounds[dim], *more)})

    def without(self, dims: Set[str]) -> Place:
        """Returns the place outside of loops that surely run, whose variables no condition relates to others."""
        conditions = tuple(each for each in self.conditions if not dims & each.names)
        return replace(self, dims=tuple(each for each in self.dims if each not in dims), conditions=conditions)

    def hoisted(self, names: Set[str]) -> tuple[Place, tuple[str, ...]]:
        """Returns the place outside of those innermost loops of which the subscripts, with these names, are independent, and the names of the
        loops for people. It is where the loop begins: it has to run once.
        """
        place, held = self, []
        for dim, bounds in reversed([*self.bounds.items()]):
            others = [each for each in place.conditions if each not in bounds and dim in each.names]
            if dim in names or others or place.dims[-1] != dim:
                break
            first = (each.substitute({dim: Affine()}) for each in bounds)
            kept = tuple(each for each in place.conditions if each not in bounds)
            known = {name: each for name, each in place.bounds.items() if name != dim}
            held.append(place.loops[-1])
            place = replace(place, dims=place.dims[:-1], conditions=(*kept, *first), bounds=known, loops=place.loops[:-1])
        return place, tuple(reversed(held))

    def inside(self, names: Sequence[str], first: Affine, step: int, count: int | None = None, label: str = "") -> Place:
        """Returns the place inside a loop without an end.

        names: of the loop's variable.
        first, step: the variable's first value, in names of the program, and what every iteration adds to it.
        count: how many iterations there are, if the loop is unrolled.
        label: the loop's name for people; "" for a loop that they do not see.
        """
        dim = f"n{len(self.dims)}'"
        value = first.substitute(self.values) + variable(dim) * step
        ends = (Compare(">=", variable(dim)), *([] if count is None else [Compare(">=", Affine(count - 1) - variable(dim))]))
        return Place(
            (*self.dims, dim),
            (*self.conditions, *ends),
            {**self.values, **dict.fromkeys(names, value)},
            self.unrolled if count is None else {**self.unrolled, dim: count},
            {**self.bounds, dim: ends} if label else self.bounds,
            (*self.loops, label) if label else self.loops,
            self.renamed,
        )

    def index(self, value: Affine) -> Affine:
        """Returns an expression of the program's names as one of `dims`."""
        return value.substitute(self.values)


@dataclass(frozen=True)
class Touch:
    """A Touch is a load or store in the text of a thread.

    text: the access, for people.
    array: the array.
    tile: the tile in shared memory that is accessed; None for global memory.
    subscripts: of the element, in the array or in the tile, expressions of the place's `dims`.
    held: the names of the loops over which registers hold the element.
    is_copy: whether it is part of a copy to shared memory.
    may: whether data decide whether it happens.
    """

    text: str
    array: str
    is_write: bool
    tile: SharedTile | None
    place: Place
    subscripts: tuple[Affine, ...]
    held: tuple[str, ...] = ()
    is_copy: bool = False
    may: bool = False

    @property
    def is_direct(self) -> bool:
        """Returns whether it accesses global memory for a statement, not for a copy to shared memory."""
        return self.tile is None and not self.is_copy


def block_dim(axis: int) -> str:
    """Returns the name in `Place.dims` of a block's number along an axis. No name of a program has a prime."""
    return f"b{axis}'"


def thread_dim(axis: int) -> str:
    """Returns the name in `Place.dims` of a thread's number in its block, along an axis; a block of one thread has none."""
    return f"t{axis}'"


def place_of(launch: Launch, scop: Scop, sizes: Mapping[str, int]) -> Place:
    """Returns the place of a thread's first line: any of the threads of any of the launches of one kernel.

    sizes: the values of the SCoP's parameters.
    """
    dims, conditions = list(launch.host), []
    values = {name: Affine(value) for name, value in sizes.items()} | {name: variable(name) for name in launch.host}
    named = {axis.start: axis for axis in launch.blocks}
    for number, axis in enumerate(launch.axes):
        block, extent = variable(block_dim(number)), axis.threads * axis.items
        dims.append(block_dim(number))
        first, count = axis.first.substitute(values), axis.blocks.substitute(values)
        conditions += [Compare(">=", block - first), Compare(">=", first + count - 1 - block)]
        thread = Affine()
        if axis.threads > 1:
            dims.append(thread_dim(number))
            thread = variable(thread_dim(number))
            conditions += [Compare(">=", thread), Compare(">=", Affine(axis.threads - 1) - thread)]
        found = {axis.start: block * extent + thread * axis.thread_step}
        if axis.start in named:
            found |= {named[axis.start].block: block * extent, named[axis.start].thread: thread}
        values |= found
    return Place(tuple(dims), tuple(conditions), values)


def touches(launch: Launch, scop: Scop, sizes: Mapping[str, int]) -> Iterator[tuple[int, Touch]]:
    """Yields the loads and stores of a thread in the order of the text, each behind the number of its version.

    sizes: the values of the SCoP's parameters.
    """
    start = place_of(launch, scop, sizes)
    for number, version in enumerate(launch.versions):
        walk = _VersionWalk(launch, version, scop)
        yield from ((number, each) for each in walk.version(start.where(version.condition)))


def runs(launch: Launch, scop: Scop, sizes: Mapping[str, int]) -> Iterator[tuple[str, Place]]:
    """Yields each instance in the text of a thread: the statement's name, and where it runs.

    sizes: the values of the SCoP's parameters.
    """
    start = place_of(launch, scop, sizes)
    for version in launch.versions:
        yield from _instances(version.body, start.where(version.condition))


def _instances(nodes: Sequence[Node], place: Place) -> Iterator[tuple[str, Place]]:
    for node in nodes:
        if isinstance(node, Instance):
            yield node.statement, place
        elif isinstance(node, Guard):
            yield from _instances(node.body, place.where(node.condition))
        elif isinstance(node, Loop):
            yield from _instances(node.body, looped(node, place))
        else:
            raise TypeError(f"not a node of a thread: {node!r}")


def looped(loop: Loop, place: Place) -> Place:
    """Returns the place inside a loop."""
    inner = place.inside((loop.var,), extremum("max", loop.lower), loop.step, label=loop.name or loop.var)
    return inner.until(*(upper - variable(loop.var) for upper in loop.upper))


class _VersionWalk:
    """A walk over the text of one version of what a thread runs."""

    def __init__(self, launch: Launch, version: Version, scop: Scop):
        self._launch, self._version, self._scop = launch, version, scop
        self._table = AccessTable(scop.context)
        is_whole = version is launch.versions[0]  # of a block without tests, whose loops over items are unrolled
        self._counts = {axis.item: axis.items for axis in launch.blocks if is_whole and axis.items > 1}
        self._held: tuple[Registers, ...] = ()  # of the loops around
        self._tiles: tuple[SharedTile, ...] = ()  # that the loops around have filled
        self._body = 0  # the number of the body of the innermost loop that is not unrolled
        self._bodies = count(1)
        self._loaded: set[object] = set()  # what was loaded before, in which body
        self._written = {scop.statements[node.statement].write.array for each in launch.versions for node in instances(each.body)}

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
        yield from self.nodes(self._version.body, place)

    def nodes(self, nodes: Sequence[Node], place: Place) -> Iterator[Touch]:
        """Yields the loads and stores of nodes, in order."""
        for node in nodes:
            if isinstance(node, Instance):
                yield from self._instance(node, place)
            elif isinstance(node, Guard):
                yield from self.nodes(node.body, place.where(node.condition))
            elif isinstance(node, Loop):
                yield from self._loop(node, place)
            else:
                raise TypeError(f"not a node of a thread: {node!r}")

    def _loop(self, loop: Loop, place: Place) -> Iterator[Touch]:
        held = next((each for each in self._version.registers if each.loop is loop and each not in self._held), None)
        if held is None:
            yield from self._unheld(loop, place)
            return
        place = place.where(held.runs)
        yield from self._filled(held, place, is_write=False)
        before, self._held = self._held, (*self._held, held)
        yield from self._unheld(loop, place)
        self._held = before
        yield from self._filled(held, place, is_write=True)

    def _unheld(self, loop: Loop, place: Place) -> Iterator[Touch]:
        """Yields the loads and stores inside a loop for which registers are filled, if they are."""
        staged = next((each for each in self._version.staged if each.loop is loop), None)
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
        for name, items in held.items:
            place = place.inside((name,), Affine(), 1, items)
        statement, access = next(
            (node.statement, access)
            for node in instances(held.loop.body)
            for access in (*reads_and_write(self._scop.statements[node.statement]),)
            if access.array == held.array
        )
        text, loop = f"{access_text(access)} of {statement}", held.loop.name or held.loop.var
        subscripts = tuple(place.index(each) for each in held.subscripts)
        yield Touch(text, held.array, is_write, None, place, subscripts, held=(loop,))

    def _chunks(self, staged: Staged, place: Place) -> Iterator[Touch]:
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

    def _chunk(self, staged: Staged, place: Place, ends: Sequence[Affine]) -> Iterator[Touch]:
        """Yields the loads and stores of chunks. ends: last values of the loop that a chunk may exceed."""
        loop = staged.loop
        for tile in staged.tiles:
            yield from self._copy(tile, place, [end - variable(staged.chunk) for end in ends])
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
        limits = [
            Compare(">=", each.inside(positions[id(each)], place.index(end))) for each in moving if each.moves for end in ends
        ]
        element = replace(element, conditions=(*element.conditions, *limits))
        subscripts = tuple(place.index(each.first) + positions.get(id(each), Affine()) for each in tile.dimensions)
        text = f"{tile.array} to shared memory"
        yield Touch(text, tile.array, False, None, element, subscripts, is_copy=True)
        yield Touch(text, tile.array, True, tile, element, tuple(positions[id(each)] for each in tile.stored), is_copy=True)

    def _instance(self, node: Instance, place: Place) -> Iterator[Touch]:
        """Yields the loads and the store of an instance; an element that the statement reads twice is loaded once."""
        statement = self._scop.statements[node.statement]
        point = dict(zip(statement.iterators, node.point))
        seen: set[tuple[str, tuple[Affine, ...]]] = set()
        for access in reads_and_write(statement):
            is_write = access is statement.write
            subscripts = tuple(each.substitute(point) for each in self._table.subscripts(access))
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


def _indices(tile: SharedTile, subscripts: tuple[Affine, ...], place: Place) -> tuple[Affine, ...] | None:
    """Returns the subscripts in a tile of the array's element at the given ones; None if a read there is not served from it."""
    here, first = ([each.substitute(place.renamed) for each in some] for some in (subscripts, tile.subscripts))
    for offset in tile.offsets or ((0,) * len(first),):
        if here == [each + more for each, more in zip(first, offset)]:
            return tile.indices(offset)
    return None


def tiles_of(version: Version) -> tuple[SharedTile, ...]:
    """Returns the tiles of a version, each of which has a place of its own in shared memory."""
    return (*version.filled, *(tile for staged in version.staged for tile in staged.tiles))


def gathers(launch: Launch, scop: Scop) -> tuple[str, ...]:
    """Returns the arrays that a thread reads at indices that data decide; these loads are not among `touches`."""
    names = dict.fromkeys(node.statement for version in launch.versions for node in instances(version.body))
    values = (value for name in names for value in subvalues(scop.statements[name].value))
    return tuple(dict.fromkeys(value.array for value in values if isinstance(value, Gather)))
