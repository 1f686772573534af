"""The threads of a block run in step, a NumPy array for each integer with one number for each thread: what their requests move.

An oracle for the model of `polyml.gpu`: it has loops, tests and copies from the program as the printer has them, no sets and no formulas.
Compilers keep what they have loaded of an array that is not written: in the body of a loop an element is loaded once, unrolled loops inside
being a part of it, and not again in the next iterations of the innermost loops whose variables its subscripts do not have.
"""

from collections import Counter
from math import prod

import numpy as np

from polyml.codegen.gpu.block_loops.vector_stores import vector_axis
from polyml.codegen.gpu.cut_blocks import has_iteration
from polyml.codegen.interpreter.order import walk
from polyml.codegen.ir.accesses import AccessTable
from polyml.codegen.ir.program import Guard, Instance, Program
from polyml.codegen.ir.program import instances as instances_of
from polyml.polyhedra import value_at
from polyml.quasi_affine.affine import Choice, Compare, Extremum, FloorDiv, variable
from tests.gpu.brute import wavefronts

WARP, SECTOR = 32, 32


def value(e, env):
    total = e.constant
    for atom, c in e.terms:
        if isinstance(atom, str):
            found = env[atom]
        elif isinstance(atom, FloorDiv):
            found = value(atom.operand, env) // atom.divisor
        elif isinstance(atom, Extremum):
            found = {"min": np.minimum, "max": np.maximum}[atom.op].reduce(
                np.broadcast_arrays(*(value(o, env) for o in atom.operands))
            )
        else:
            assert isinstance(atom, Choice)
            found = np.where(holds(atom.condition, env), value(atom.then, env), value(atom.orelse, env))
        total = total + c * found
    return total


def holds(condition, env):
    if isinstance(condition, Compare):
        found = value(condition.expr, env)
        return found == 0 if condition.op == "==" else found >= 0
    parts = (
        np.broadcast_arrays(*(holds(part, env) for part in condition.parts))
        if condition.parts
        else [np.array(condition.op == "and")]
    )
    return np.logical_and.reduce(parts) if condition.op == "and" else np.logical_or.reduce(parts)


class Block:
    """The threads of one block, in step."""

    def __init__(self, scop, launch, sizes, env, counts):
        self.scop, self.launch, self.sizes, self.counts = scop, launch, sizes, counts
        self.table = AccessTable(scop.context)
        self.written = {scop.statements[n.statement].write.array for v in launch.versions for n in instances_of(v.body)}
        threads = [axis.threads for axis in launch.axes[:3]]
        self.count = prod(threads)
        self.number = np.arange(self.count)
        self.env = {name: np.full(self.count, each) for name, each in env.items()}
        named = {axis.start: axis for axis in launch.blocks}
        below = 1
        for k, axis in enumerate(launch.axes):
            own = self.number // below % axis.threads
            below *= axis.threads if k < 3 else 1
            first = self.env[axis.start]
            self.env[axis.start] = first + own * axis.thread_step
            if axis.start in named:
                self.env |= {named[axis.start].block: first, named[axis.start].thread: own}

    def run(self):
        rest = np.ones(self.count, bool)
        for self.version, version in enumerate(self.launch.versions):
            mask = np.broadcast_to(holds(version.condition, self.env), self.count)
            self.launched, self.env = version, {**self.env, **{end.count: value(end.counted, self.env) for end in version.ends}}
            assert not (mask & ~rest).any(), "two versions of one thread"
            rest = rest & ~mask
            self.registers, self.staged = version.registers, (*version.staged, *version.pipelined)
            self.filled, self.tiles, self.loaded = [], list(version.filled), set()
            self.around = []  # (variable, number of the iteration) of the loops that are not unrolled, or None for a test
            self.unrolled = {axis.item for axis in self.launch.blocks if version is self.launch.versions[0] and axis.items > 1}
            for tile in version.filled if mask.any() else ():
                assert mask.all(), "all threads of the block copy"
                self.copy(tile, dict(self.env), None)
            self.nodes(version.body, dict(self.env), mask, {})

    def nodes(self, nodes, env, mask, items):
        if not mask.any():
            return
        for node in nodes:
            if any(node is each for held in self.registers for each in held.start):
                continue
            if isinstance(node, Instance):
                self.instance(node, env, mask, items)
            elif isinstance(node, Guard):
                self.around.append((node.condition.names, None, ()))
                self.nodes(node.body, env, mask & holds(node.condition, env), items)
                self.around.pop()
            else:
                self.loop(node, env, mask, items)

    def loop(self, loop, env, mask, items):
        held = next((h for h in self.registers if h.loop is loop and h not in self.filled), None)
        first, last = self.ends(loop, env)
        if held is None:
            self.iterations(loop, first, last, env, mask, items)
            return
        around, mask = mask, mask & (first <= last)
        self.filled.append(held)
        if held.is_loaded(self.scop):
            self.fill(held, env, around if held.start else mask, False)
        staged = next((s for s in self.staged if s.loop is loop), None)
        if staged is None:
            self.iterations(loop, first, last, env, mask, items)
        elif mask.any():
            assert mask.all() and len({*first}) == len({*last}) == 1, "all threads of the block are in step"
            for chunk in range(first[0], last[0] + 1, staged.length):
                here = {**env, staged.chunk: np.full(self.count, chunk)}
                for tile in staged.tiles:
                    (self.copy_ahead if hasattr(tile, "order") else self.copy)(tile, here, last[0] - chunk)
                self.tiles = [*staged.tiles, *self.tiles]
                self.iterations(loop, np.full(self.count, chunk), np.minimum(last, chunk + staged.length - 1), here, mask, items)
                self.tiles = self.tiles[len(staged.tiles) :]
        self.filled.remove(held)
        self.fill(held, env, around if held.start else mask, True)

    def ends(self, loop, env):
        low = np.maximum.reduce([np.broadcast_to(value(e, env), self.count) for e in loop.lower])
        return low, np.minimum.reduce([np.broadcast_to(value(e, env), self.count) for e in loop.upper])

    def iterations(self, loop, first, last, env, mask, items):
        is_item = loop.name in self.unrolled
        at, number = np.array(first), 0
        while (mask & (at <= last)).any():
            here = {**env, loop.var: at, **({loop.name: at} if is_item else {})}
            if is_item:
                self.nodes(loop.body, here, mask & (at <= last), {**items, loop.var: loop.name})
            else:
                before, self.loaded = self.loaded, set()
                ends = frozenset().union(*(e.names for e in (*loop.lower, *loop.upper)))
                self.around.append(({loop.var}, number, ends))
                self.nodes(loop.body, here, mask & (at <= last), items)
                self.around.pop()
                self.loaded = before
            at, number = at + loop.step, number + 1

    def fill(self, held, env, mask, is_write):
        names = [name for name, _ in held.items]
        axis, width = self.vectors(held, env) if is_write and self.launched.has_vectors else (None, 1)
        for at in np.ndindex(*(count for _, count in held.items)):
            if axis is not None and at[names.index(axis.item)] % width:
                continue
            here = {**env, **{name: np.full(self.count, each) for name, each in zip(names, at)}}
            there = mask & holds(has_iteration(self.launched.ends), here) if self.launched.ends else mask
            self.request(held.array, held.subscripts, here, there, is_write, width)

    def vectors(self, held, env):
        """The axis along which all elements are stored in whole vectors of 16 bytes, and how many are in one."""
        array = self.scop.arrays[held.array]
        axis = vector_axis(held, self.launch.blocks, array.element)
        if axis is None:
            return None, 1
        width = 16 // array.element.size_bytes
        first = value(held.subscripts[-1], {**env, **{name: 0 for name, _ in held.items}})
        numbers = [value_at(array.shape[-1], self.sizes) * (len(held.subscripts) > 1), *np.ravel(first)]
        numbers += [int(np.ravel(value(end.last + 1, env))[0]) for end in self.launched.ends if end.axis is axis]
        return (axis, width) if all(number % width == 0 for number in numbers) else (None, 1)

    def copy(self, tile, env, most):
        shape = [each.extent for each in tile.dimensions]
        for begin in range(0, prod(shape), self.count):
            element = begin + self.number
            mask = element < prod(shape)
            at = np.unravel_index(np.minimum(element, prod(shape) - 1), shape)
            stored = mask
            for k, each in enumerate(tile.dimensions):
                mask = mask & self.there(each, at[k], most, env)
            array = self.scop.arrays[tile.array]
            self.count_of(
                tile.array, self.offset(array, [value(each.first, env) + k for each, k in zip(tile.dimensions, at)]), mask, False
            )
            order = [next(k for k, each in enumerate(tile.dimensions) if each is stored) for stored in tile.stored]
            self.shared(tile, [at[k] for k in order], stored if tile.is_cut else mask, True)

    def there(self, dimension, number, most, env):
        found = np.ones(self.count, bool)
        for limit in dimension.limits(variable("number"), [variable("most")] if dimension.moves else []):
            found = found & (value(limit, {**env, "number": number, "most": np.full(self.count, most or 0)}) >= 0)
        return found

    def copy_ahead(self, found, env, most):
        """Copies a tile that is copied ahead: vectors of rows in order, or elements by blocks of four rows and eight columns."""
        tile, array = found.tile, self.scop.arrays[found.tile.array]
        moving = [k for k, each in enumerate(tile.dimensions) if each.extent > 1]
        extents = [tile.dimensions[k].extent for k in moving]
        width = 1 if found.order is None else found.order.width
        if width == 1 and len(extents) == 2 and tile.dimensions[moving[1]].moves and extents[0] % 4 == 0:
            order = [
                (i + row, k + column)
                for i in range(0, extents[0], 4)
                for k in range(0, extents[1], 8)
                for row in range(4)
                for column in range(8)
            ]
        else:
            order = [(*at[:-1], at[-1] * width) for at in np.ndindex(*extents[:-1], extents[-1] // width)]
        pitch = prod(value_at(extent, self.sizes) for extent in array.shape[moving[0] + 1 :])
        parts = 1 if pitch % width == 0 else width  # rows that begin between vectors are copied element by element
        for begin in range(0, len(order), self.count):
            for part in range(parts):
                inside = begin + self.number < len(order)
                at = [np.zeros(self.count, int) for _ in tile.dimensions]
                for k, values in zip(moving, zip(*(order[min(n, len(order) - 1)] for n in begin + self.number))):
                    at[k] = np.array(values)
                at[moving[-1]] = at[moving[-1]] + part
                loaded = inside
                for k, each in enumerate(tile.dimensions):
                    loaded = loaded & self.there(each, at[k], most, env)
                firsts = [value(each.first, env) + k for each, k in zip(tile.dimensions, at)]
                self.count_of(tile.array, self.offset(array, firsts), loaded, False, width // parts * array.element.size_bytes)
                places = [at[next(k for k, e in enumerate(tile.dimensions) if e is stored)] for stored in tile.stored]
                if found.order is not None:
                    places[-1] = np.array([found.order.column(int(each)) for each in places[-1]])
                self.shared(found, places, loaded if found.order is None and not tile.is_cut else inside, True, width // parts)

    def instance(self, node, env, mask, items):
        statement = self.scop.statements[node.statement]
        point = dict(zip(statement.iterators, node.point))
        seen = set()
        for access in (*statement.reads, statement.write):
            is_write = access is statement.write
            subscripts = tuple(e.substitute(point) for e in self.table.subscripts(access))
            if any(held.array == access.array for held in self.filled) or not is_write and (access.array, subscripts) in seen:
                continue
            seen.add((access.array, subscripts))
            where = mask
            if not is_write and access.array not in self.written and not access.may:
                names = frozenset().union(*(e.names for e in subscripts))
                where = self.again(names, [value(e, env) for e in subscripts], access.array, mask)
            tile, index = next(
                ((t, index) for t in self.tiles if (index := self.index(t, access.array, subscripts, items))), (None, ())
            )
            if tile is None or is_write:
                self.request(access.array, subscripts, env, where, is_write)
            else:
                self.shared(tile, [value(each, env) for each in index], where, False)

    def again(self, names, at, array, mask):
        """The lanes that have to load an element, since no register has it."""
        tests = set()
        for variables, number, ends in reversed(self.around):
            if number is None:
                tests |= variables
            elif variables & names or variables & tests:
                break
            elif number:
                return np.zeros_like(mask)
            tests |= {*ends}
        key = array, mask.tobytes(), tuple(np.broadcast_to(each, self.count).tobytes() for each in at)
        if key in self.loaded:
            return np.zeros_like(mask)
        self.loaded.add(key)
        return mask

    @staticmethod
    def index(tile, array, subscripts, items):
        names = {var: variable(name) for var, name in items.items()}
        if hasattr(tile, "order"):
            return list(tile.indices) if Block.index(tile.tile, array, subscripts, items) else None
        for offset in tile.offsets or [(0,) * len(subscripts)]:
            if array == tile.array and all(
                str(one.substitute(names)) == str((other + more).substitute(names))
                for one, other, more in zip(subscripts, tile.subscripts, offset)
            ):
                moved = {id(each): more for each, more in zip(tile.dimensions, offset)}
                return [each.index + moved[id(each)] for each in tile.stored]
        return None

    def request(self, array, subscripts, env, mask, is_write, width=1):
        size = self.scop.arrays[array].element.size_bytes * width
        at = self.offset(self.scop.arrays[array], [value(e, env) for e in subscripts])
        self.count_of(array, at, mask, is_write, size if width > 1 else 1)

    def offset(self, array, at):
        found = np.zeros(self.count, int)
        for index, extent in zip(at, array.shape):
            found = found * value_at(extent, self.sizes) + index
        return found * array.element.size_bytes

    def count_of(self, array, addresses, mask, is_write, size=1):
        for at in range(0, self.count, WARP):
            lanes = addresses[at : at + WARP][mask[at : at + WARP]]
            if len(lanes):
                counted = 1, len(lanes), len({*(lanes // SECTOR), *((lanes + size - 1) // SECTOR)})
                self.counts[self.version, array, is_write, "global"] += np.array(counted)

    def shared(self, tile, at, mask, is_write, width=1):
        size = self.scop.arrays[tile.array].element.size_bytes
        offset = np.zeros(self.count, int)
        for index, length in zip(at, tile.lengths):
            assert (np.broadcast_to(index, self.count)[mask] >= 0).all() and (
                np.broadcast_to(index, self.count)[mask] < length
            ).all()
            offset = offset * length + index
        for first in range(0, self.count, WARP):
            here = mask[first : first + WARP]
            if here.any():
                passes = wavefronts(
                    [int(a) if m else None for a, m in zip(offset[first : first + WARP] * size, here)], size * width
                )
                self.counts[self.version, tile.array, is_write, "shared"] += np.array((1, here.sum(), passes))


def counted(program, launch, sizes):
    """{(version, array, whether it is written, "global" or "shared"): (requests, lanes, sectors or wavefronts)} of all launches of a kernel."""
    found = Counter()
    scop, points, ordered = program.scop, [], launch.name.removesuffix("_small")
    walk(Program(scop, program.order), sizes, lambda name, point: points.append(point) if name == ordered else None)
    for point in points:
        env = {**sizes, **dict(zip(launch.host, point))}
        grid = [range(axis.first.evaluate(env), axis.first.evaluate(env) + axis.blocks.evaluate(env)) for axis in launch.axes]
        for at in np.ndindex(*map(len, grid)):
            starts = {axis.start: numbers[k] * axis.threads * axis.items for axis, numbers, k in zip(launch.axes, grid, at)}
            Block(scop, launch, sizes, {**env, **starts}, found).run()
    assert all(instances_of(version.body) for version in launch.versions)
    return {key: tuple(map(int, each)) for key, each in found.items()}
