"""The text of a program for GPUs: one kernel for each launch, and the functions that they call.

GpuProgram   ->   __kernel void copy_0(__global double *restrict B, ...) { const long i = ...; if (i < n) B[i] = A[i]; }
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from math import prod
from typing import cast

from polyml.codegen.gpu.block_loops.matrix_fragments import Fragments
from polyml.codegen.gpu.block_loops.merged_sums import MergedSum
from polyml.codegen.gpu.block_loops.pipelined_tiles import Pipelined, PipelinedTile
from polyml.codegen.gpu.program import GpuProgram, Launch, Version
from polyml.codegen.gpu.registers import Registers
from polyml.codegen.gpu.shared_tiles import SharedTile, Staged
from polyml.codegen.gpu.signatures import LaunchSignature, LaunchSource
from polyml.codegen.gpu.teams import SharedLoop
from polyml.codegen.gpu.text.block_loops import fragment_loops, merged_loops, pipelined_loops
from polyml.codegen.gpu.text.block_loops.held_sums import HeldSums
from polyml.codegen.gpu.text.block_loops.row_teams import bounds_of, loop_type, team_lines, unrolling
from polyml.codegen.gpu.text.block_loops.tile_copies import Surroundings, barrier_lines, copy_lines, shared_array
from polyml.codegen.gpu.text.dialect import Dialect
from polyml.codegen.gpu.text.functions import definitions
from polyml.codegen.gpu.text.headings import heading, line_of, running, source_lines
from polyml.codegen.gpu.text.integers import Renamed, condition, extreme, factor, row_major
from polyml.codegen.gpu.text.names import loop_names, named, outer_names
from polyml.codegen.gpu.text.parameters import Referred, firsts, parameters, signature_of
from polyml.codegen.gpu.text.shared_memory import SharedArray, declarations, indices_at
from polyml.codegen.gpu.text.teams import written
from polyml.codegen.gpu.text.thread_starts import block_counts, thread_starts
from polyml.codegen.gpu.text.values import Needs, Values
from polyml.codegen.ir.accesses import AccessTable
from polyml.codegen.ir.private_elements import private_elements
from polyml.codegen.ir.program import Guard, Instance, Loop, Node, loops
from polyml.codegen.text.wrapping import wrapped
from polyml.model.core.scop import Scop
from polyml.quasi_affine.affine import TRUE, Affine, variable

_STEP = "    "


def source(program: GpuProgram, dialect: Dialect, strict: bool = True) -> LaunchSource:
    """Returns the text of the program's launches in the dialect's language, and the signatures of its kernels.

    strict: whether a*b + c has to be rounded twice, after the product and after the sum; if not, once is allowed too.
    """
    needs: dict[str, None] = {}
    kernels, signatures = [], {}
    private = private_elements([body for launch in program.launches.values() for body in launch.bodies], program.scop)
    for launch in program.launches.values():
        kernel = _KernelText(program.scop, launch, dialect, private)
        kernels.append(kernel.text())
        signatures[launch.name] = kernel.signature
        needs |= kernel.needs.functions
    functions = definitions(needs, dialect)
    preamble = (dialect.strict_preamble if strict else "") + dialect.preamble.replace("{contract}", "OFF" if strict else "ON")
    preamble += dialect.half_header if any("f16" in name and "bf16" not in name for name in needs) else ""
    text = "\n\n".join(filter(None, (functions, *kernels))) + "\n"
    preamble += dialect.infinity_header if "INFINITY" in text or "NAN" in text else ""
    return LaunchSource("\n\n".join(filter(None, (preamble.rstrip(), text))), signatures)


class _KernelText:
    """A _KernelText writes the text of one kernel, and collects what the text refers to.

    needs: device functions, arguments that are numbers, and whether the kernel may find that the call fails.
    """

    def __init__(self, scop: Scop, launch: Launch, dialect: Dialect, private: Set[str]):
        self._scop, self._launch, self._dialect = scop, launch, dialect
        self._private = sorted({*written(launch, scop)} & private)  # arrays that a variable stands for
        self.needs = Needs()
        self._table = AccessTable(scop.context)
        self._arrays: dict[str, bool] = {}
        self._integers: dict[str, None] = {}
        self._outer = outer_names(launch, scop)
        self._fixed: Mapping[str, Affine] = {}  # values that names stand for
        self._known = running(launch, scop)
        self._begin(launch.versions[0] if launch.versions else Version(TRUE, ()))
        self._tells_lines = len(source_lines(launch, scop)) > 1
        self._reads: dict[str, str] = {}  # name of a tile of merged loops -> the element that a thread reads
        self._tiles: list[tuple[SharedTile, str]] = []  # those that the lines that follow read, with their names
        self._ahead_of: dict[str, PipelinedTile] = {}  # by the names of tiles that are copied ahead
        self._shared: dict[str, SharedArray] = {}
        self._held = {name: named(name) for name in self._private}  # array -> the register that stands for its element
        self._moves: Mapping[str, Callable[[Sequence[Affine]], str]] = {}  # name of an instance -> its line
        self._updates: Mapping[str, tuple[str, str]] = {}  # statement -> (array, the register that it updates in its place)
        self._values = Values(scop, dialect, self.needs, self._element, self._renamed)

    @property
    def signature(self) -> LaunchSignature:
        """The parameters of the kernel; complete when its text has been written."""
        referred = Referred(self._arrays, self._integers, self._shared, self.needs)
        return signature_of(self._launch, self._scop, self._dialect, referred)

    def text(self) -> str:
        """Returns the text of the whole kernel."""
        self._arrays |= dict.fromkeys((name for name in written(self._launch, self._scop) if name not in self._private), True)
        body = [_STEP + line for line in self._run()]
        numbers = thread_starts(self._launch, self._dialect, firsts(self._launch, self._dialect), bool(self._shared))
        private = (f"{self._dialect.memory_type(self._scop.arrays[name].element)} {named(name)};" for name in self._private)
        starts = [_STEP + line for line in (*declarations(self._shared.values(), self._dialect), *numbers, *private)]
        shared = sum(each.size_bytes(self._dialect) for each in self._shared.values())
        bounds = bounds_of(self._launch, self._scop, shared, self._dialect)
        head = f"{self._launch.name}({', '.join(parameters(self.signature, self._launch, self._scop, self._dialect))})"
        lines = [*heading(self._launch, self._scop), f"{self._dialect.kernel} {bounds}", head, "{", *starts, *body, "}"]
        return "\n".join(each for line in lines for each in wrapped(line))

    def _run(self) -> Iterator[str]:
        """Yields the C lines of what a thread runs; of two versions, the second one is in the `else` of the first one's condition."""
        if self._launch.team:
            yield from team_lines(self._launch, self._scop, self._dialect, self._values, self)
            return
        first, *others = self._launch.versions
        if first.merged:
            yield from self._merged(first.merged)
            return
        if not others:
            yield from (*block_counts(first.ends, self._around), *self._after_copies(first))
            return
        yield f"if ({condition(self._renamed(first.condition), self._use)}) {{"
        yield from (_STEP + line for line in self._after_copies(first))
        yield "}"
        for version in others:
            self._begin(version)
            yield from self._block("else", version.body)

    def _after_copies(self, version: Version) -> Iterator[str]:
        """Yields the C lines of a version: of the copies to shared memory that it begins with, and of its body."""
        tiled = [(tile, self._tile_name(tile)) for tile in version.filled]
        for tile, name in tiled:
            yield from copy_lines(tile, name, (), self._around)
        if tiled:
            yield from barrier_lines(version.filled, self._renaming, self._around)
        self._tiles = tiled
        for node in version.body:
            yield from self._lines(node)
        self._tiles = []

    def _begin(self, version: Version) -> None:
        """Prepares the text of a version: from now on, elements in its registers are read and written there."""
        self._version, self._registers, self._staged = version, version.registers, version.staged
        is_whole = version is next(iter(self._launch.versions), None)
        self._unrolled = {axis.item for axis in self._launch.blocks if is_whole and axis.items > 1}
        self._filled: list[Registers] = []  # whose loops are being written
        self._loop_names: Mapping[int, str] = loop_names(version, self._launch, self._call(self._outer), self._scop)

    def _call(self, names: Mapping[str, str]) -> Mapping[str, str]:
        """Returns the names, after making expressions have these C names in place of the program's from now on."""
        self._names = names
        self._renaming = {**{name: variable(new) for name, new in names.items() if new != name}, **self._fixed}
        return names

    def _lines(self, node: Node) -> Iterator[str]:
        """Yields the C lines of a node, without indentation around them."""
        if any(node is each for held in self._registers if held not in self._filled for each in held.start):
            return  # with the loop, whose registers it sets
        if isinstance(node, Instance):
            yield from self._instance(node)
        elif isinstance(node, Guard):
            yield from self._block(f"if ({condition(self._renamed(node.condition), self._use)})", node.body)
        elif isinstance(node, Loop):
            self._call({**self._names, node.var: self._loop_names.get(id(node), self._names.get(node.var, ""))})
            together = next((each for each in self._version.fragments if each.loop is node), None)
            if together is not None:
                yield from self._fragments(together)
                return
            held = next((each for each in self._registers if each.loop is node), None)
            if held is not None and held not in self._filled:
                yield from self._with_registers(held)
                return
            tiles = next((each for each in self._staged if each.loop is node), None)
            if tiles is not None:
                yield from self._chunks(tiles)
                return
            ahead = next((each for each in self._version.pipelined if each.loop is node), None)
            if ahead is not None:
                yield from self._ahead(ahead)
                return
            yield from unrolling(node, self._unrolled, self._launch.team)
            yield from self._block(self.loop_head(node), node.body)
        else:
            raise TypeError(f"not a node of a thread: {node!r}")

    def loop_head(self, node: Loop) -> str:
        """Returns what stands before the body of a loop."""
        name = self._names[node.var]
        lower = extreme("max", [self._renamed(e) for e in node.lower], self._use)
        last = extreme("min", [self._renamed(e + 1) for e in node.upper], self._use)
        stride = node.stride if isinstance(node, SharedLoop) else Affine(node.step)
        step = f"{name}++" if stride == Affine(1) else f"{name} += {self._values.index(stride)}"
        return f"for ({loop_type(node, self._launch.team, self._dialect)} {name} = {lower}; {name} < {last}; {step})"

    def begin_names(self, names: Mapping[str, str], loops: Mapping[int, str], values: Mapping[str, Affine]) -> None:
        """From now on, variables of loops around have these names, loops by identity these, and other names these values."""
        self._fixed, self._loop_names = values, loops
        self._call({**self._outer, **names})

    def lines_of(self, body: Sequence[Node], updates: Mapping[str, tuple[str, str]]) -> Iterator[str]:
        """Yields the C lines of nodes. updates: { statement -> (array, the register that it updates in place of an element) }."""
        self._updates = updates
        yield from (line for node in body for line in self._lines(node))

    def hold(self, elements: Mapping[str, str], moves: Mapping[str, Callable[[Sequence[Affine]], str]]) -> None:
        """From now on, elements of these arrays have these names, and instances of these names are lines, made of their points."""
        self._held, self._moves = {**{name: named(name) for name in self._private}, **elements}, moves

    def declare(self, name: str, kind: str, length: int) -> None:
        """Declares an array in shared memory."""
        self._shared[name] = SharedArray(kind, name, (length,))

    def _with_registers(self, held: Registers) -> Iterator[str]:
        """Yields the C lines of a loop, between lines that give elements in registers their first values and lines that store them; all of
        them behind a test of whether the loop runs, unless the elements are set in any case.
        """
        self._filled.append(held)
        text = HeldSums(held, self._launch.blocks, self._version.ends, self._version.has_vectors, self._around)
        runs, lines = f"if ({condition(self._renamed(held.runs), self._use)}) {{", [text.declared()]
        lines += text.loaded() if held.is_loaded(self._scop) else ()
        before, self._held[held.array] = self._held.get(held.array), text.register
        lines += (line for node in held.start for line in self._lines(node))
        if not held.items and len(lines) > 1 and lines[1].startswith(f"{text.register} = "):
            lines[:2] = [lines[0].replace(f"{text.register};", lines[1])]
        inside = list(self._lines(held.loop))
        self._held |= {held.array: before} if before else {}
        self._held.pop("" if before else held.array, None)
        lines += [runs, *(_STEP + line for line in inside), "}"] if held.start else inside
        lines += text.stored()
        yield from lines if held.start else (runs, *(_STEP + line for line in lines), "}")

    def _chunks(self, tiles: Staged) -> Iterator[str]:
        """Yields the C lines of a loop in chunks: for each chunk, the block of threads copies the chunk's tiles to shared memory,
        between barriers, and the thread runs the chunk's iterations.
        """
        loop, chunk, index = tiles.loop, variable(tiles.chunk), self._dialect.index
        lower = extreme("max", [self._renamed(e) for e in loop.lower], self._use)
        end = extreme("min", [self._renamed(e + 1) for e in loop.upper], self._use)
        tiled = [(tile, self._tile_name(tile)) for tile in tiles.tiles]
        names = " and ".join(name for _, name in tiled)
        yield f"for ({index} {tiles.chunk} = {lower}; {tiles.chunk} < {end}; {tiles.chunk} += {tiles.length}) {{"
        for tile, name in tiled:
            ends = [last - chunk for last in loop.upper]
            yield from (_STEP + line for line in copy_lines(tile, name, ends, self._around))
        yield from (_STEP + line for line in barrier_lines(tiles.tiles, self._renaming, self._around))
        outer, self._tiles = self._tiles, [*tiled, *self._tiles]
        inner = replace(loop, lower=(chunk,), upper=(*loop.upper, chunk + (tiles.length - 1)))
        yield from (_STEP + line for line in self._lines(inner))
        self._tiles = outer
        yield f"{_STEP}{self._dialect.barrier}  // {names}: read by all threads, written by the next copy"
        yield "}"

    def _fragments(self, found: Fragments) -> Iterator[str]:
        """Yields the C lines of a loop whose sums the threads of a block compute together."""
        left, right = (self._tile_name(each.tile) for each in (found.left, found.right))
        for operand, name in ((found.left, left), (found.right, right)):
            self._shared[name] = fragment_loops.shared_array(operand, name, self._around)

        def first_values(register: str) -> list[str]:
            self._held[found.sums.array] = register
            items = {item: Affine() for item, _ in found.sums.items}
            lines = [line for each in found.sums.outset_at(items) for line in self._instance(each)]
            del self._held[found.sums.array]
            return lines

        fenced = len(self._version.body) > 1 + len(found.sums.start)
        self._filled.append(found.sums)
        yield from fragment_loops.fragment_loop(found, (left, right), fenced, self._around, self._version.ends, first_values)

    def _ahead(self, found: Pipelined) -> Iterator[str]:
        """Yields the C lines of a loop whose tiles are copied ahead."""
        names = [self._tile_name(each.tile) for each in found.tiles]
        for each, name in zip(found.tiles, names):
            self._shared[name] = pipelined_loops.shared_array(each, name, found.slots, self._around)
            self._ahead_of[name] = each
        outer, self._tiles = self._tiles, [*((each.tile, name) for each, name in zip(found.tiles, names)), *self._tiles]
        yield from pipelined_loops.pipelined_loop(found, names, self._around, self._in_chunk)
        self._tiles = outer

    def _in_chunk(self, loop: Loop, chunk: str, count: str) -> Iterator[str]:
        """Yields the C lines of the first iterations of a chunk, which are counted from 0 on. count: the C text of how many there are."""
        name, fixed = self._names[loop.var], self._fixed
        self._fixed = {**fixed, loop.var: variable(chunk) + variable(name)}
        self._call(self._names)  # with these values
        yield from self._block(f"for (int {name} = 0; {name} < {count}; {name}++)", loop.body)
        self._fixed = fixed

    def _merged(self, found: MergedSum) -> Iterator[str]:
        """Yields the C lines of a sum for the positions of a block."""
        self._call({**self._names, **{loop.var: self._loop_names[id(loop)] for loop in loops((found.loop,))}})
        self._tiles = merged_loops.declared(found, self._new_tile, self._shared, self._reads, self._around)

        def memory(subscripts: Sequence[Affine]) -> str:
            register = self._held.pop(found.array, None)
            text = self._element(found.array, [self._values.index(each) for each in subscripts])
            self._held |= {found.array: register} if register else {}
            return text

        self._held[found.array] = merged_loops.register(found)
        yield from merged_loops.merged_loop(found, [name for _, name in self._tiles], memory, self._around, self._instance)
        self._tiles = []

    def _tile_name(self, tile: SharedTile) -> str:
        """Declares a tile in the kernel's shared memory, under a new name, and returns the name."""
        name = self._new_tile(tile.array)
        self._shared[name] = shared_array(tile, name, self._around)
        return name

    def _new_tile(self, array: str) -> str:
        """Returns a new name for a part of an array in shared memory."""
        name, number = f"{named(array)}_tile", 2
        while name in self._shared:
            name, number = f"{named(array)}_tile_{number}", number + 1
        return name

    @property
    def _around(self) -> Surroundings:
        """What parts of the text that have modules of their own need of the kernel."""
        threads = prod(axis.threads for axis in self._launch.axes[:3])
        return Surroundings(self._scop, self._dialect, self._values, self._renamed, self._use, threads)

    def _block(self, head: str, body: Sequence[Node]) -> Iterator[str]:
        """Yields the line `head` and the lines of the nodes, in braces unless they are one line."""
        inside = [line for node in body for line in self._lines(node)]
        if len(inside) == 1:
            yield head
            yield _STEP + inside[0]
            return
        yield f"{head} {{"
        yield from (_STEP + line for line in inside)
        yield "}"

    def _instance(self, node: Instance) -> Iterator[str]:
        """Yields the C lines of an instance, in braces unless they are one line."""
        if node.statement in self._moves:
            yield self._moves[node.statement](node.point)
            return
        update = self._updates.get(node.statement)
        before = self._held
        self._held = before | dict([update] if update else [])
        lines = self._values.assignment(self._scop.statements[node.statement], node.point)
        self._held = before
        if self._tells_lines and (line := line_of(node, self._scop)):
            lines[-1] += f"  // {line}"
        if len(lines) == 1:
            yield lines[0]
            return
        yield "{"
        yield from (_STEP + line for line in lines)
        yield "}"

    def _element(self, array: str, texts: Sequence[str], subscripts: tuple[Affine, ...] = ()) -> str:
        """Returns the C text of an array's element: the register or the element of shared memory that holds it, else the element in
        global memory, where arrays are stored row by row. In the last case, notes that the kernel refers to the array.

        texts: the C texts of its subscripts, by dimension.
        subscripts: the same as expressions, to find the element in shared memory; () to not look there, as when data decide the
            subscripts.
        """
        if array in self._held:
            return self._held[array]
        for tile, name in self._tiles:
            if tile.array == array and (found := indices_at(tile, subscripts, self._renaming)) is not None:
                if name in self._ahead_of:
                    return pipelined_loops.read(self._ahead_of[name], name, self._around)
                return self._reads.get(name) or name + "".join(f"[{self._values.index(index)}]" for index in found)
        self._arrays.setdefault(array, False)
        extents = [self._table.affine(extent.gist_params(self._known)) for extent in self._scop.arrays[array].shape[1:]]
        sizes = [factor(self._renamed(each), self._use) for each in extents]
        return f"{named(array)}[{row_major(texts, sizes)}]"

    def _renamed(self, value: Renamed) -> Renamed:
        """Returns an expression or a condition with the names of the C text in place of the program's, and notes that the kernel
        refers to them.
        """
        for name in value.names:
            self._integers[name] = None
        return cast(Renamed, value.substitute(self._renaming))

    def _use(self, function: str) -> str:
        """Returns the name of a device function, and notes that the kernel calls it."""
        return self.needs.function(function)
