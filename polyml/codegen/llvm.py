"""Program -> LLVM text.

The kernel is `i64 @polyml_kernel(ptr slots)`; slots holds the thread count, then for each argument its words (see `SlotMap`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import NamedTuple

from polyml import polyhedra
from polyml.codegen.accesses import AccessTable
from polyml.codegen.ast import Guard, Instance, Jam, Loop, Node, Program, Unroll, instances, loops, substitute
from polyml.codegen.cells import MOST_APART, Cells, Place
from polyml.codegen.conflicts import ConflictTest
from polyml.codegen.integers import Choice, Compare, Condition, Extremum, FloorDiv, Lin, const, extremum, floor_div, linear, modulo, var
from polyml.codegen.ir import Block, Function, Unit
from polyml.codegen.nest import has_guard
from polyml.codegen.slots import SlotMap, SlotStride, Stride
from polyml.codegen.statements import CannotRunTogether, Copy, Evaluator, Row
from polyml.codegen.values import Arithmetic, Val, memory_type, name_suffix, vector_type
from polyml.dtypes import I64, DType
from polyml.model.reduction import identity
from polyml.model.scop import Array, Gather, Role, ScalarResult

ENTRY = "polyml_kernel"  # the symbol of the compiled function
UNHURRIED = "nounwind noinline optnone"
UNHURRIED_EFFORT = 0.4  # of what such code takes to be made, in that of optimised code
FLAGS = {"strict": "", "reassociate": "contract ", "fast": "fast "}
ARRAY_GAP = 128  # bytes that vectors may read past the end of a local array, and a line apart from the next one
SHARES = 4  # of a short loop, for each thread
SHORT_DEPTH = 2  # of the loops inside one
PARALLEL_WORK = 100_000  # instances below which starting the threads costs more than it gains
LINE_BYTES = 64  # of a cache line, for where vectors best begin


def emit(
    program: Program, *, fp: str, aliased: bool, layouts: tuple[str, ...], fused: bool, threads: bool = True
) -> tuple[Unit, ...]:
    """The functions of one kernel, the kernel itself first.

    aliased: arguments may overlap, so nothing is kept in registers across statements.
    layouts: per array argument "C", "F" or "A": which stride is known to be one element.
    fused: whether the processor multiplies and adds in one rounding. threads: whether parallel loops run on several.
    """
    module = Module(program, fp, aliased, layouts, fused, threads)
    Kernel(module).define()
    return tuple(body.unit() for body in module.bodies)


@dataclass
class Module:
    program: Program
    fp: str
    aliased: bool
    layouts: tuple[str, ...]
    fused: bool
    threads: bool
    bodies: list[Body] = field(default_factory=list)

    def __post_init__(self):
        self.scop = self.program.scop
        self.table = AccessTable(self.scop.context)
        self.slots = SlotMap.of(self.program, self.layouts)
        self.conflicts = ConflictTest(self.scop, self.table)
        # arrays of one element that the kernel owns live on its stack, the others share a block of memory
        self.owned = [a for a in self.scop.arrays.values() if a.role is Role.LOCAL]
        self.private = {a for loop in loops(self.program.body) for a in loop.private}


@dataclass
class Scope:
    """The code run once per iteration of one loop: where values that depend on its variable are computed."""

    entry: Block
    known: dict[object, str] = field(default_factory=dict)


class Body:
    """The code of one LLVM function: the kernel itself, or the iterations of a parallel loop."""

    def __init__(self, module: Module, name: str, signature: str):
        """signature: a format that puts the name in. declared: what is referred to, by name."""
        self.module, self.scop = module, module.scop
        self.name, self.declared = name, {}
        self.fn = Function(signature.format(name))
        module.bodies.append(self)
        self.math = Arithmetic(self.fn, FLAGS[module.fp], self.declared, module.fused)
        self.scopes = [Scope(self.fn.current)]
        self.names: dict[str, tuple[str, int]] = {}  # integer name -> (ssa, depth of its scope)
        self.jams: list[Jam] = []
        self.path: list[Loop | Guard] = []  # the loops and guards around, outermost first
        self.cells = Cells()
        self._partials: dict[_Group, _Partial] = {}  # that the next loop goes on with
        self._held_ahead: dict[int, dict[Place, str | None]] = {}  # by loop, of the one that runs next
        self.values = Evaluator(self)
        self.repeats = False  # whether instances run in loops of this function

    def unit(self) -> Unit:
        """The function, when it is finished."""
        text = self.fn.text()
        return Unit(self.name, text, self.declared, len(text) * (UNHURRIED_EFFORT if self.fn.attributes == UNHURRIED else 1.0))

    # -- integers ------------------------------------------------------------------------------------------------

    def depth(self, name: str) -> int:
        if name not in self.names:
            self.names[name] = (self.parameter(name), 0)
        return self.names[name][1]

    thread = "0"  # the number of the thread that runs this function

    def parameter(self, name: str) -> str:
        """A symbolic integer, read from its slot where the function starts."""
        program = self.module.program
        if name in program.phases:
            return self._phase(program.phases[name])
        if name == program.threads:
            return self.word(0)
        if name == program.thread:
            return self.thread
        return self.word(self.module.slots.parameter(name))

    def _phase(self, array: str) -> str:
        """How many elements behind the start of a cache line the array begins."""
        entry, size_bytes = self.scopes[0].entry, self.scop.arrays[array].element.size_bytes
        address = self.fn.emit(f"ptrtoint ptr {self.base(array)} to i64", entry)
        place = self.fn.emit(f"and i64 {address}, {LINE_BYTES - 1}", entry)
        return self.fn.emit(f"sdiv i64 {place}, {size_bytes}", entry)

    def word(self, index: int, kind: str = "i64") -> str:
        """The slot's word, read once where the function starts."""
        scope = self.scopes[0]
        key = ("slot", index, kind)
        if key not in scope.known:
            pointer = self.fn.emit(f"getelementptr i64, ptr {self.slots_pointer}, i64 {index}", scope.entry)
            scope.known[key] = self.fn.emit(f"load {kind}, ptr {pointer}", scope.entry)
        return scope.known[key]

    def integer(self, e: Lin) -> str:
        """The value of e, computed in the outermost loop that knows all its names."""
        if e.is_const:
            return str(e.const)
        depth = self._deepest(e.names)
        scope = self.scopes[depth]
        if e in scope.known:
            return scope.known[e]
        outer = [(a, c) for a, c in e.terms if self._atom_depth(a) < depth]
        here = [(a, c) for a, c in e.terms if self._atom_depth(a) == depth]
        total = self.integer(Lin(tuple(outer), e.const)) if outer or e.const else None
        for atom, c in here:
            value = self._atom(atom, scope)
            if c != 1:
                value = self.fn.emit(f"mul i64 {value}, {c}", scope.entry)
            total = value if total is None else self.fn.emit(f"add i64 {total}, {value}", scope.entry)
        scope.known[e] = total
        return total

    def _atom_depth(self, atom) -> int:
        return self.depth(atom) if isinstance(atom, str) else self._deepest(atom.names)

    def _deepest(self, names: frozenset[str]) -> int:
        """The depth of the innermost of the names; those not met before are read in the same order in every process."""
        return max(map(self.depth, sorted(names)), default=0)

    def _atom(self, atom, scope: Scope) -> str:
        if isinstance(atom, str):
            return self.names[atom][0]
        if isinstance(atom, FloorDiv):
            return self._floor_div(self.integer(atom.operand), atom.divisor, scope.entry)
        if isinstance(atom, Extremum):
            name = "llvm.smin.i64" if atom.op == "min" else "llvm.smax.i64"
            self.declared.setdefault(name, f"declare i64 @{name}(i64, i64)")
            total = self.integer(atom.operands[0])
            for operand in atom.operands[1:]:
                total = self.fn.emit(f"call i64 @{name}(i64 {total}, i64 {self.integer(operand)})", scope.entry)
            return total
        if isinstance(atom, Choice):
            test = self.condition(atom.condition, scope.entry)
            then, orelse = self.integer(atom.then), self.integer(atom.orelse)
            return self.fn.emit(f"select i1 {test}, i64 {then}, i64 {orelse}", scope.entry)
        raise TypeError(f"not an integer atom: {atom}")

    def _floor_div(self, value: str, divisor: int, at: Block) -> str:
        if divisor & (divisor - 1) == 0:
            return self.fn.emit(f"ashr i64 {value}, {divisor.bit_length() - 1}", at)
        quotient = self.fn.emit(f"sdiv i64 {value}, {divisor}", at)
        back = self.fn.emit(f"mul i64 {quotient}, {divisor}", at)
        below = self.fn.emit(f"icmp slt i64 {value}, {back}", at)
        adjust = self.fn.emit(f"sext i1 {below} to i64", at)
        return self.fn.emit(f"add i64 {quotient}, {adjust}", at)

    def condition(self, c: Condition, at: Block | None = None) -> str:
        """The truth of c, computed in block `at` (default: here)."""
        if isinstance(c, Compare):
            return self.fn.emit(f"icmp {'sge' if c.op == '>=' else 'eq'} i64 {self.integer(c.expr)}, 0", at)
        if not c.parts:
            return "true" if c.op == "and" else "false"
        total = self.condition(c.parts[0], at)
        for part in c.parts[1:]:
            total = self.fn.emit(f"{c.op} i1 {total}, {self.condition(part, at)}", at)
        return total

    # -- addresses -----------------------------------------------------------------------------------------------

    def pointer(self, array: str, subscripts: tuple[Lin, ...]) -> str:
        """The address of one element, each term added in the outermost loop that knows it."""
        steps = self.module.slots.strides(array)
        window = self.module.program.windows.get(array)
        if window is not None:
            subscripts = tuple(e - low for e, low in zip(subscripts, window.low))
            if window.ring is not None:
                here = modulo(subscripts[window.ring], window.lengths[window.ring])
                subscripts = (*subscripts[: window.ring], here, *subscripts[window.ring + 1 :])
        fixed = 0
        terms: list[tuple[object, object, int]] = []  # (atom or None, stride name or None, factor)
        for e, stride in zip(subscripts, steps):
            known = isinstance(stride, int)
            for atom, c in e.terms:
                terms.append((atom, None if known else stride, c * (stride if known else 1)))
            if known:
                fixed += e.const * stride
            elif e.const:
                terms.append((None, stride, e.const))
        by_depth: dict[int, list] = {}
        for term in terms:
            by_depth.setdefault(0 if term[0] is None else self._atom_depth(term[0]), []).append(term)
        pointer, done = self.base(array), []
        for depth in sorted(by_depth):
            done += sorted(by_depth[depth], key=str)
            pointer = self._advance(pointer, array, tuple(done), by_depth[depth], self.scopes[depth])
        if fixed:
            pointer = self.math.once(f"getelementptr i8, ptr {pointer}, i64 {fixed}")
        return pointer

    def _advance(self, pointer: str, array: str, key: tuple, terms: list, scope: Scope) -> str:
        known = scope.known.get((array, key))
        if known is not None:
            return known
        offset = None
        for atom, stride, factor in terms:
            value = None if atom is None else self._atom_value(atom, scope)
            if stride is not None:
                step = self.stride(stride)
                value = step if value is None else self.fn.emit(f"mul i64 {value}, {step}", scope.entry)
            if value is None:
                value = str(factor)
            elif factor != 1:
                value = self.fn.emit(f"mul i64 {value}, {factor}", scope.entry)
            offset = value if offset is None else self.fn.emit(f"add i64 {offset}, {value}", scope.entry)
        result = self.fn.emit(f"getelementptr i8, ptr {pointer}, i64 {offset}", scope.entry)
        scope.known[(array, key)] = result
        return result

    def _atom_value(self, atom, scope: Scope) -> str:
        return self.integer(linear([(atom, 1)], 0))

    def stride(self, stride: Stride) -> str:
        """Bytes between neighbours in one dimension: a slot's word, or a product of sizes."""
        if isinstance(stride, SlotStride):
            return self.word(stride.word)
        scope = self.scopes[0]
        if stride not in scope.known:
            total = str(stride.size_bytes)
            for extent in stride.extents:
                total = self.fn.emit(f"mul i64 {total}, {self.integer(extent)}", scope.entry)
            scope.known[stride] = total
        return scope.known[stride]

    def base(self, array: str) -> str:
        return self.word(self.module.slots.data(array), "ptr")

    def share_bytes(self, array: str) -> str:
        """What one thread needs of a private array, in whole cache lines."""
        size = self.fn.emit(f"add i64 {self.size_bytes(self.scop.arrays[array])}, 127")
        return self.fn.emit(f"and i64 {size}, -64")

    def size_bytes(self, array: Array) -> str:
        """Of the memory of one local array: its window where it has one."""
        window = self.module.program.windows.get(array.name)
        size = str(array.element.size_bytes)
        for d, extent in enumerate(array.shape):
            length = None if window is None else window.lengths[d]
            count = self.integer(self.module.table.affine(extent)) if length is None else str(length)
            size = self.fn.emit(f"mul i64 {size}, {count}")
        return size

    # -- memory --------------------------------------------------------------------------------------------------

    def _align(self, array: str) -> int:
        return 1 if self.module.slots.unaligned(array) else self.scop.arrays[array].element.size_bytes

    def load(self, place: Place) -> Val:
        """The elements of a place, from registers where they are there."""
        self._not_partial(place)
        if not self.module.aliased:
            held = self.cells.value(place)
            if held is not None:
                return held
            self._write_back(self.cells.overlapping(place), drop=False)
        if not self.module.aliased and self._is_pair(place):
            return self._load_pair(place)
        value = self._load(place)
        if not self.module.aliased:
            self.cells.put(place, value, dirty=False)
        return value

    def fetch(self, place: Place) -> None:
        """Bring the first element of a place, which need not exist, to the second cache."""
        self.declared.setdefault("llvm.prefetch.p0", "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        self.fn.do(f"call void @llvm.prefetch.p0(ptr {self.pointer(place.array, place.subscripts)}, i32 0, i32 2, i32 1)")

    def _load_pair(self, place: Place) -> Val:
        """The same of complex numbers, of which both parts are loaded together."""
        other = self._other_part(place)
        self._write_back(self.cells.overlapping(other), drop=False)
        parts = self._loaded_pairs(place)
        for one in (place, other):
            if self.cells.value(one) is None:
                self.cells.put(one, parts[one], dirty=False)
        return parts[place]

    def store(self, place: Place, value: Val) -> None:
        """Give the place a new value, in a register until the region ends or something may share its elements."""
        self._not_partial(place)
        value = self.math.splat(value, place.lanes)
        if self.module.aliased:
            self._store(place, value)
            return
        self._write_back(self.cells.overlapping(place), drop=True)
        self.cells.put(place, value, dirty=True)

    def remember(self, place: Place, value: Val) -> None:
        """Memory, or a register that is to be stored, has this value at the place."""
        self.cells.put(place, value, dirty=False)

    def _not_partial(self, place: Place) -> None:
        """A partial result is in a register of the loop around or nowhere: memory has the element alone."""
        if place.part is not None and place not in self.cells.pinned:
            raise CannotRunTogether(f"a partial result of {place.array} has no register")

    def _write_back(self, places: list[Place], drop: bool) -> None:
        for place in places:
            if self.cells.is_dirty(place):
                value = self.cells.value(place)
                self._store_held(place, value)
                self.cells.put(place, value, dirty=False)
            if drop:
                self.cells.drop(place)

    def _store_held(self, place: Place, value: Val) -> None:
        """Store what a register holds, with the other part of complex numbers if that is to be stored as well."""
        other = self._other_part(place) if self._is_pair(place) else None
        if other is None or self.cells.value(other) is None or not self.cells.is_dirty(other) or other in self.cells.pinned:
            self._store(place, value)
            return
        held = self.cells.value(other)
        self._store_pairs({place: value, other: held})
        self.cells.put(other, held, dirty=False)

    def flush(self) -> None:
        """Write everything back that is only in registers, and start a new region."""
        self._write_back(self.cells.dirty(), drop=False)
        pinned = {p: self.cells.value(p) for p in self.cells.pinned}
        self.cells = Cells()
        for place, value in pinned.items():
            self.cells.put(place, value, dirty=True)
        self.cells.pinned = set(pinned)
        self.math.forget()

    def _contiguous(self, place: Place) -> int:
        """1 or -1 when neighbouring lanes are neighbours in memory (forwards, backwards), else 0."""
        steps = self.module.slots.strides(place.array)
        moving = [(s, t) for s, t in zip(place.strides, steps) if s]
        if len(moving) != 1:
            return 0
        lane_step, stride = moving[0]
        return lane_step if stride == self.scop.arrays[place.array].element.size_bytes and abs(lane_step) == 1 else 0

    def _apart(self, place: Place) -> int:
        """How many elements neighbouring lanes are apart in a row of memory, where it is a few; else 0."""
        size_bytes = self.scop.arrays[place.array].element.size_bytes
        moving = [(s, t) for s, t in zip(place.strides, self.module.slots.strides(place.array)) if s]
        (step, stride), *others = moving
        return step if not others and stride == size_bytes and 2 <= step <= MOST_APART else 0

    def _loaded_apart(self, place: Place, apart: int) -> str:
        """Lanes a few elements apart: what lies from the first to the last is loaded, and a shuffle takes every so many-th."""
        kind, total = memory_type(self.scop.arrays[place.array].element), apart * place.lanes
        last = const(apart * (place.lanes - 1)) if place.last is None else place.last * apart
        bits, address = Mask(self, total, last).bits, self.pointer(place.array, place.subscripts)
        row = self._masked_load(address, kind, total, self._align(place.array), bits)
        order = ", ".join(f"i32 {apart * lane}" for lane in range(place.lanes))
        wide = vector_type(kind, total)
        return self.fn.emit(f"shufflevector {wide} {row}, {wide} poison, <{place.lanes} x i32> <{order}>")

    def _is_pair(self, place: Place) -> bool:
        """Whether the lanes are the same part of complex numbers that are neighbours in memory."""
        array = self.scop.arrays[place.array]
        if not array.pairs or place.lanes == 1 or not place.subscripts[0].is_const or place.part is not None:
            return False
        moving = [(s, t) for s, t in zip(place.strides, self.module.slots.strides(place.array)) if s]
        return moving == [(1, 2 * array.element.size_bytes)]

    def _other_part(self, place: Place) -> Place:
        first, *rest = place.subscripts
        return replace(place, subscripts=(const(1 - first.const), *rest))

    def _loaded_pairs(self, place: Place) -> dict[Place, Val]:
        """Both parts of complex numbers side by side, by one load and two shuffles."""
        first, second = self._in_order(place)
        element, lanes = self.scop.arrays[place.array].element, place.lanes
        kind, align, mask = memory_type(element), self._align(place.array), self.mask(place)
        address, wide = self.pointer(place.array, first.subscripts), vector_type(kind, 2 * lanes)
        if mask is None:
            both = self.fn.emit(f"load {wide}, ptr {address}, align {align}")
        else:
            both = self._masked_load(address, kind, 2 * lanes, align, mask.doubled())
        parts = {}
        for one, start in ((first, 0), (second, 1)):
            order = ", ".join(f"i32 {start + 2 * lane}" for lane in range(lanes))
            ssa = self.fn.emit(f"shufflevector {wide} {both}, {wide} poison, <{lanes} x i32> <{order}>")
            parts[one] = Val(ssa, element, lanes)
        return parts

    def _in_order(self, place: Place) -> tuple[Place, Place]:
        other = self._other_part(place)
        return (place, other) if place.subscripts[0].const == 0 else (other, place)

    def _store_pairs(self, parts: dict[Place, Val]) -> None:
        """Both parts of complex numbers side by side, by one shuffle and one store."""
        first, second = self._in_order(next(iter(parts)))
        element, lanes = self.scop.arrays[first.array].element, first.lanes
        kind, align, mask = memory_type(element), self._align(first.array), self.mask(first)
        address = self.pointer(first.array, first.subscripts)
        narrow, wide = vector_type(kind, lanes), vector_type(kind, 2 * lanes)
        order = ", ".join(f"i32 {lane}, i32 {lanes + lane}" for lane in range(lanes))
        values = ", ".join(f"{narrow} {self.math.splat(parts[one], lanes).ssa}" for one in (first, second))
        both = self.fn.emit(f"shufflevector {values}, <{2 * lanes} x i32> <{order}>")
        if mask is None:
            self.fn.do(f"store {wide} {both}, ptr {address}, align {align}")
        else:
            self._masked_store(both, address, kind, 2 * lanes, align, mask.doubled())

    def mask(self, place: Place) -> "Mask | None":
        return None if place.last is None else Mask(self, place.lanes, place.last)

    def lanes_up_to(self, last: Lin, lanes: int) -> str:
        """The bits of the lanes up to index `last`."""
        return Mask(self, lanes, last).bits

    def _load(self, place: Place) -> Val:
        mask = self.mask(place)
        element = self.scop.arrays[place.array].element
        kind, align = memory_type(element), self._align(place.array)
        if place.lanes == 1:
            address = self.pointer(place.array, place.subscripts)
            return self._from_memory(self.fn.emit(f"load {kind}, ptr {address}, align {align}"), element, 1)
        if self._is_pair(place):
            return self._loaded_pairs(place)[place]
        direction = self._contiguous(place)
        wide = vector_type(kind, place.lanes)
        if direction == 1:
            address = self.pointer(place.array, place.subscripts)
            if mask is None:
                loaded = self.fn.emit(f"load {wide}, ptr {address}, align {align}")
            else:
                loaded = self._masked_load(address, kind, place.lanes, align, mask.bits)
            return self._from_memory(loaded, element, place.lanes)
        if apart := self._apart(place):
            return self._from_memory(self._loaded_apart(place, apart), element, place.lanes)
        if direction == -1:
            address = self.pointer(place.array, self._lane(place, place.lanes - 1))
            if mask is None:
                loaded = self.fn.emit(f"load {wide}, ptr {address}, align {align}")
            else:
                loaded = self._masked_load(address, kind, place.lanes, align, mask.turned())
            order = ", ".join(f"i32 {i}" for i in reversed(range(place.lanes)))
            turned = self.fn.emit(
                f"shufflevector {wide} {loaded}, {wide} poison, <{place.lanes} x i32> <{order}>"
            )
            return self._from_memory(turned, element, place.lanes)
        numbers = []
        for lane in range(place.lanes):
            address = self.lane_pointer(place, lane, mask)
            loaded = self.fn.emit(f"load {kind}, ptr {address}, align {align}")
            numbers.append(self._from_memory(loaded, element, 1))
        return self.math.vector(numbers)

    def gather(self, e: Gather, indices: list[Val], copy: Copy) -> Val:
        """The elements at indices that were computed: one number, or one per lane."""
        array = self.scop.arrays[e.array]
        kind, align = memory_type(array.element), self._align(e.array)
        offset = self.values.constant(0, I64)
        for index, extent, stride in zip(indices, array.shape, self.module.slots.strides(e.array)):
            step = str(stride) if isinstance(stride, int) else self.stride(stride)
            inside = self._no_further(index, Val(self.integer(self.module.table.affine(extent) - 1), I64))
            moved = self.math.plain("*", *self.math.together(inside, Val(step, I64)))
            offset = self.math.plain("+", *self.math.together(offset, moved))
        base, lanes = self.base(e.array), offset.lanes
        addresses = self.fn.emit(f"getelementptr i8, ptr {base}, {offset.type} {offset.ssa}")
        if lanes == 1:
            return self._from_memory(self.fn.emit(f"load {kind}, ptr {addresses}, align {align}"), array.element, 1)
        wide = vector_type(kind, lanes)
        mask = "splat (i1 true)" if copy.last is None else Mask(self, lanes, copy.last).bits
        name = f"llvm.masked.gather.v{lanes}{name_suffix(kind)}.v{lanes}p0"
        self.declared.setdefault(name, f"declare {wide} @{name}(<{lanes} x ptr>, <{lanes} x i1>, {wide})")
        loaded = self.fn.emit(
            f"call {wide} @{name}(<{lanes} x ptr> align {align} {addresses}, <{lanes} x i1> {mask}, {wide} zeroinitializer)"
        )
        return self._from_memory(loaded, array.element, lanes)

    def _no_further(self, index: Val, last: Val) -> Val:
        """The index, or the last one: index arrays that another thread changes meanwhile do harm to nobody's memory."""
        index, last = self.math.together(index, last)
        name = "llvm.umin.i64" if index.lanes == 1 else f"llvm.umin.v{index.lanes}i64"
        self.declared.setdefault(name, f"declare {index.type} @{name}({index.type}, {index.type})")
        return Val(self.math.once(f"call {index.type} @{name}({index.type} {index.ssa}, {index.type} {last.ssa})"), I64, index.lanes)

    def lane_pointer(self, place: Place, lane: int, mask: "Mask | None") -> str:
        """The address of one lane; lanes beyond the mask read its last valid one."""
        if mask is None:
            return self.pointer(place.array, self._lane(place, lane))
        first = self.pointer(place.array, place.subscripts)
        index = mask.clamped(lane)
        offset = None
        for lane_step, stride in zip(place.strides, self.module.slots.strides(place.array)):
            if not lane_step:
                continue
            step = str(stride) if isinstance(stride, int) else self.stride(stride)
            moved = self.math.once(f"mul i64 {index}, {step}")
            if lane_step != 1:
                moved = self.math.once(f"mul i64 {moved}, {lane_step}")
            offset = moved if offset is None else self.math.once(f"add i64 {offset}, {moved}")
        return self.math.once(f"getelementptr i8, ptr {first}, i64 {offset}")

    def _lane(self, place: Place, lane: int) -> tuple[Lin, ...]:
        return tuple(e + s * lane for e, s in zip(place.subscripts, place.strides))

    def _masked_load(self, address: str, kind: str, lanes: int, align: int, bits: str) -> str:
        wide = vector_type(kind, lanes)
        name = f"llvm.masked.load.v{lanes}{name_suffix(kind)}.p0"
        self.declared.setdefault(name, f"declare {wide} @{name}(ptr, <{lanes} x i1>, {wide})")
        return self.fn.emit(
            f"call {wide} @{name}(ptr align {align} {address}, <{lanes} x i1> {bits}, {wide} zeroinitializer)"
        )

    def _masked_store(self, ssa: str, address: str, kind: str, lanes: int, align: int, bits: str) -> None:
        wide = vector_type(kind, lanes)
        name = f"llvm.masked.store.v{lanes}{name_suffix(kind)}.p0"
        self.declared.setdefault(name, f"declare void @{name}({wide}, ptr, <{lanes} x i1>)")
        self.fn.do(f"call void @{name}({wide} {ssa}, ptr align {align} {address}, <{lanes} x i1> {bits})")

    def _from_memory(self, ssa: str, element: DType, lanes: int) -> Val:
        if element.kind == "b":
            ssa = self.fn.emit(f"icmp ne {vector_type('i8', lanes)} {ssa}, {'0' if lanes == 1 else 'zeroinitializer'}")
        return Val(ssa, element, lanes)

    def _store(self, place: Place, value: Val) -> None:
        mask = self.mask(place)
        element = self.scop.arrays[place.array].element
        kind, align = memory_type(element), self._align(place.array)
        value = self.math.splat(value, place.lanes)
        ssa = value.ssa
        if element.kind == "b":
            ssa = self.fn.emit(f"zext {value.type} {ssa} to {vector_type('i8', place.lanes)}")
        if place.lanes == 1:
            self.fn.do(f"store {kind} {ssa}, ptr {self.pointer(place.array, place.subscripts)}, align {align}")
            return
        wide, direction = vector_type(kind, place.lanes), self._contiguous(place)
        if direction == -1:
            order = ", ".join(f"i32 {i}" for i in reversed(range(place.lanes)))
            ssa = self.fn.emit(f"shufflevector {wide} {ssa}, {wide} poison, <{place.lanes} x i32> <{order}>")
            address = self.pointer(place.array, self._lane(place, place.lanes - 1))
            if mask is None:
                self.fn.do(f"store {wide} {ssa}, ptr {address}, align {align}")
            else:
                self._masked_store(ssa, address, kind, place.lanes, align, mask.turned())
        elif direction == 1 and mask is None:
            self.fn.do(f"store {wide} {ssa}, ptr {self.pointer(place.array, place.subscripts)}, align {align}")
        elif direction == 1:
            self._masked_store(ssa, self.pointer(place.array, place.subscripts), kind, place.lanes, align, mask.bits)
        elif mask is None:
            for lane in range(place.lanes):
                number = self.fn.emit(f"extractelement {wide} {ssa}, i32 {lane}")
                address = self.pointer(place.array, self._lane(place, lane))
                self.fn.do(f"store {kind} {number}, ptr {address}, align {align}")
        else:
            self._scatter(place, wide, kind, ssa, align, mask)

    def _scatter(self, place: Place, wide: str, kind: str, ssa: str, align: int, mask: "Mask") -> None:
        lanes = place.lanes
        addresses = "poison"
        for lane in range(lanes):
            pointer = self.lane_pointer(place, lane, mask)
            addresses = self.fn.emit(f"insertelement <{lanes} x ptr> {addresses}, ptr {pointer}, i32 {lane}")
        name = f"llvm.masked.scatter.v{lanes}{name_suffix(kind)}.v{lanes}p0"
        self.declared.setdefault(name, f"declare void @{name}({wide}, <{lanes} x ptr>, <{lanes} x i1>)")
        self.fn.do(
            f"call void @{name}({wide} {ssa}, <{lanes} x ptr> align {align} {addresses}, <{lanes} x i1> {mask.bits})"
        )

    # -- nodes ---------------------------------------------------------------------------------------------------

    def nodes(self, nodes: tuple[Node, ...]) -> None:
        for node, following in zip_longest(nodes, nodes[1:]):
            if isinstance(node, Instance):
                self.values.instance(node)
                self.repeats |= any(isinstance(n, Loop) for n in self.path)
            elif isinstance(node, Loop):
                self.flush()
                if node.parallel and self.can_fork and not node.partial:
                    self.fork(node)
                else:
                    self.loop(node, following if isinstance(following, Loop) and not following.parallel else None)
            elif isinstance(node, Guard):
                self.guard(node)
            elif isinstance(node, Jam):
                self.jams.append(node)
                if node.scans:
                    self.values.begin_scans(node.body)
                self.nodes(node.body)
                self.jams.pop()
            else:
                for i in range(node.count):
                    self.nodes(tuple(substitute(n, {node.var: node.base + i}) for n in node.body))

    def guard(self, node: Guard) -> None:
        self.flush()
        test = self.condition(node.condition)
        then, after = self.fn.block("then"), self.fn.block("after")
        self.fn.branch(test, then, after)
        self.fn.current = then
        self.path.append(node)
        self.nodes(node.body)
        self.path.pop()
        self.flush()
        self.fn.jump(after)
        self.fn.current = after

    def bounds(self, node: Loop) -> tuple[str, str]:
        lower = extremum("max", node.lower)
        upper = extremum("min", node.upper)
        return self.integer(lower), self.integer(upper)

    def loop(self, node: Loop, following: Loop | None = None) -> None:
        """following: the loop that runs next, which may go on with this one's partial results."""
        lower, upper = self.bounds(node)
        if node.last:
            self.names[node.last] = (upper, max(self._deepest(e.names) for e in node.upper))
        self.counted(node, lower, upper, following)
        self.names.pop(node.last, None)

    def counted(self, node: Loop, lower: str, upper: str, then: Loop | None = None) -> None:
        """for var = lower; var <= upper; var += step, with what it updates in place held in registers."""
        before_it, self._partials = self._partials, {}
        fn = self.fn
        before, body, after = fn.block("before"), fn.block("body"), fn.block("after")
        inside = _only_loops(node)
        runs = fn.emit(f"icmp sle i64 {lower}, {upper}")
        carried = {place: self.cells.value(place) for place in self.cells.pinned}  # of the loop around
        outer_cells, self.cells = self.cells, Cells()
        known = self._held_ahead.pop(id(node), None)
        held = self._held(node, inside) if known is None else known
        held = {place: op for place, op in held.items() if place not in carried}
        chains, rows = ([], []) if self._is_nest(node) else (self.values.carried(node), self.values.rows(node))
        if held and inside:  # elements of a nest that does not run may not exist
            for inner in inside:
                low, high = self.bounds(inner)
                runs = fn.emit(f"and i1 {runs}, {fn.emit(f'icmp sle i64 {low}, {high}')}")
        skipped = fn.current
        fn.branch(runs, before, after)
        fn.current = before
        begin = {parts[0]: before_it[key].value for key, parts in _groups(held).items() if key in before_it}
        entry_values = {**carried, **{place: begin.get(place) or self._enter(place, op) for place, op in held.items()}}
        first = {node.var: extremum("max", node.lower)}
        earlier = {place: self._load(_substituted(place, first)) for _, *later in chains for place in later}
        scanned = [] if self._is_nest(node) else self.values.carries(node)
        earlier |= {place: self._load(_substituted(place, first)) for place in scanned}
        begun = [self._begun(row, first) for row in rows]
        fn.jump(body)
        fn.current = body
        counter, following = fn.name(), fn.name()
        self.names[node.var] = (counter, len(self.scopes))
        self.scopes.append(Scope(body))
        self.math.forget()
        phis = {}
        for place, value in entry_values.items():
            phi = Val(fn.name(), value.dtype, value.lanes)
            phis[place] = phi
            self.cells.put(place, phi, dirty=False)
        self.cells.pinned = set(entry_values)
        for place, value in earlier.items():
            phis[place] = Val(fn.name(), value.dtype, value.lanes)
            self.cells.put(place, phis[place], dirty=False)
        behind = [replace(value, ssa=fn.name()) for value in begun]
        ahead = [self._row(row, value) for row, value in zip(rows, behind)]
        self.path.append(node)
        self.nodes(node.body)
        self.path.pop()
        final = {}
        for written, *later in chains:
            made = self.math.splat(self.cells.value(written), written.lanes)
            final |= dict(zip(later, (made, *(phis[place] for place in later))))
        final |= {place: self._carried_on(place, node) for place in scanned}
        self.flush()
        # an empty assembly keeps LLVM from rewriting the induction variables, which takes a third of its time for no gain
        fn.do(f'{following} = call i64 asm "", "=r,0"(i64 {fn.emit(f"add i64 {counter}, {node.step}")})')
        again = fn.emit(f"icmp sle i64 {following}, {upper}")
        latch, leave = fn.current, fn.block("leave")
        body.phis.append(f"{counter} = phi i64 [ {lower}, %{before.label} ], [ {following}, %{latch.label} ]")
        final |= {place: self.math.splat(self.cells.value(place), place.lanes) for place in entry_values}
        for place, phi in phis.items():
            start = (entry_values.get(place) or earlier[place]).ssa
            body.phis.append(
                f"{phi.ssa} = phi {phi.type} [ {start}, %{before.label} ], [ {final[place].ssa}, %{latch.label} ]"
            )
        for phi, start, following_ in zip(behind, begun, ahead):
            body.phis.append(
                f"{phi.ssa} = phi {phi.type} [ {start.ssa}, %{before.label} ], [ {following_.ssa}, %{latch.label} ]"
            )
        fn.branch(again, body, leave)
        fn.current = leave
        self.scopes.pop()
        del self.names[node.var]
        self.cells = Cells()
        self.math.forget()
        self._leave(held, final, phis)
        totals = {key: self._total(key, parts, final) for key, parts in _groups(held).items()}
        kept = _groups(self._held_next(then)).keys() & totals.keys() if totals and then is not None else set()
        for key in (k for k in totals if k not in kept and k not in before_it):
            self._join(key, totals[key])
        left = fn.current
        fn.jump(after)
        fn.current = after
        self.cells = outer_cells
        self.math.forget()
        for key in (k for k in totals if k in kept or k in before_it):
            self._pass_on(key, totals[key], before_it.get(key), _Ends(runs, skipped, left, after), key in kept)
        for place, start in carried.items():
            value = Val(fn.name(), start.dtype, start.lanes)
            incoming = f"[ {start.ssa}, %{skipped.label} ], [ {final[place].ssa}, %{left.label} ]"
            after.phis.append(f"{value.ssa} = phi {value.type} {incoming}")
            self.cells.put(place, value, dirty=True)

    def _carried_on(self, place: Place, node: Loop) -> Val:
        """The value with which a scan goes on in the next iteration."""
        value = self.cells.value(_substituted(place, {node.var: var(node.var) + node.step}))
        if value is None:
            raise CannotRunTogether(f"what a scan of {place.array} carries on has no register")
        return value

    # -- what a loop holds in registers --------------------------------------------------------------------------

    def _held(self, node: Loop, inside: list[Loop]) -> dict[Place, str | None]:
        """The places that a loop, around nothing but the loops inside, keeps in registers, each with the operator of the
        reduction it is a part of.
        """
        innermost = inside[-1] if inside else node
        if self._is_nest(innermost):
            return {}
        if not inside:
            return self.values.held(node)
        around = {loop.var for loop in (node, *inside[:-1])}
        if any(e.names & around for loop in inside for e in (*loop.lower, *loop.upper)):
            return {}
        return dict.fromkeys(self.values.updated(innermost, around))

    def _is_nest(self, node: Loop) -> bool:
        """Whether more than a stretch of straight code is in the loop, or every access must happen as it stands."""
        return self.module.aliased or any(True for _ in loops(node.body)) or has_guard(node.body)

    def row_of(self, place: Place) -> int | None:
        """The dimension along which all lanes lie side by side in memory; None where there is none, or not all lanes happen."""
        array = self.scop.arrays[place.array]
        if place.lanes == 1 or place.last is not None or array.pairs or array.element.kind == "b" or self._contiguous(place) != 1:
            return None
        return next(d for d, stride in enumerate(place.strides) if stride)

    def _begun(self, row: Row, first: Mapping[str, Lin]) -> Val:
        """What stands for the vector before a row's first one: its last lanes are what the first vectors begin with."""
        value, reach = self._load(_substituted(row.places[0][0], first)), row.offsets[-1] - row.offsets[0]
        lanes = value.lanes
        return self._picked(value, value, [*range(lanes - reach), *range(reach)])

    def _row(self, row: Row, behind: Val) -> Val:
        """Load each vector of a row once, the one furthest ahead, and shift the others out of it and the vector before."""
        for number, place in enumerate(row.places[-1]):
            value = self._load(place)
            self.cells.put(place, value, dirty=False)
            for offset, others in zip(row.offsets[:-1], row.places):
                start = value.lanes - (row.offsets[-1] - offset)
                shifted = self._picked(behind, value, range(start, start + value.lanes))
                self.cells.put(others[number], shifted, dirty=False)
            behind = value
        return behind

    def _picked(self, a: Val, b: Val, order: Iterable[int]) -> Val:
        """Lanes of two vectors one behind the other."""
        mask = ", ".join(f"i32 {lane}" for lane in order)
        return replace(a, ssa=self.fn.emit(f"shufflevector {a.type} {a.ssa}, {b.type} {b.ssa}, <{a.lanes} x i32> <{mask}>"))

    def _enter(self, place: Place, op: str | None) -> Val:
        if op is not None:
            element = self.scop.arrays[place.array].element
            return self.math.splat(self.values.constant(identity(op, element), element), place.lanes)
        return self.math.splat(self._load(place), place.lanes)

    def _leave(self, held: dict[Place, str | None], final: dict[Place, Val], phis: dict[Place, Val]) -> None:
        """Store the elements that the loop has changed."""
        stored: set[Place] = set()  # with their other parts
        for place, op in held.items():
            if op is None:
                if final[place] == phis[place] or place in stored:
                    continue
                other = self._other_part(place) if self._is_pair(place) else None
                if other is None or other not in held or final[other] == phis[other]:
                    self._store(place, final[place])
                else:
                    self._store_pairs({place: final[place], other: final[other]})
                    stored.add(other)

    def _total(self, key: _Group, parts: list[Place], final: dict[Place, Val]) -> Val:
        """The partial results of all vectors as one vector."""
        total = final[parts[0]]
        for part in parts[1:]:
            total = self.values.combine(key.op, total, final[part])
        return total

    def _join(self, key: _Group, total: Val) -> None:
        """Bring the partial results of all lanes to the element that they are for."""
        target, number = Place(key.array, key.subscripts), self.values.across_lanes(key.op, total)
        self._store(target, self.values.combine(key.op, self._load(target), number))

    def _held_next(self, then: Loop) -> dict[Place, str | None]:
        """What the loop that runs next will hold."""
        found = self._held_ahead[id(then)] = self._held(then, _only_loops(then))
        return found

    def _pass_on(self, key: _Group, total: Val, before: _Partial | None, ends: _Ends, goes_on: bool) -> None:
        """Behind a loop: what it and the loops before have summed up is kept for the next one, or joined if one of them ran."""
        fn, (runs, skipped, left, after) = self.fn, ends
        start = self._enter(Place(key.array, key.subscripts, key.lanes), key.op) if before is None else before.value
        value = replace(total, ssa=fn.name())
        incoming = f"[ {start.ssa}, %{skipped.label} ], [ {total.ssa}, %{left.label} ]"
        after.phis.append(f"{value.ssa} = phi {value.type} {incoming}")
        ran = runs if before is None else fn.emit(f"or i1 {before.ran}, {runs}")
        if goes_on:
            self._partials[key] = _Partial(value, ran)
            return
        join, done = fn.block("join"), fn.block("done")
        fn.branch(ran, join, done)
        fn.current = join
        self._join(key, value)
        fn.jump(done)
        fn.current = done
        self.math.forget()

    @property
    def can_fork(self) -> bool:
        return False

    def fork(self, node: Loop) -> None:
        raise NotImplementedError


class _Group(NamedTuple):
    """Partial results in lanes of one element."""

    array: str
    subscripts: tuple[Lin, ...]
    op: str
    lanes: int


@dataclass(frozen=True)
class _Partial:
    """What loops that follow one another have summed up, and whether one of them ran."""

    value: Val
    ran: str


class _Ends(NamedTuple):
    """Whether a loop runs; the blocks from which it is skipped and left, and the one behind it."""

    runs: str
    skipped: Block
    left: Block
    after: Block


def _groups(held: Mapping[Place, str | None]) -> dict[_Group, list[Place]]:
    """The places of partial results, by what they are parts of."""
    found: dict[_Group, list[Place]] = {}
    for place, op in held.items():
        if op is not None:
            found.setdefault(_Group(place.array, place.subscripts, op, place.lanes), []).append(place)
    return found


def _substituted(place: Place, values: Mapping[str, Lin]) -> Place:
    last = None if place.last is None else place.last.substitute(values)
    return replace(place, subscripts=tuple(e.substitute(values) for e in place.subscripts), last=last)


def _only_loops(node: Loop) -> list[Loop]:
    """The loops inside, as far as each is all that the one around it runs."""
    found: list[Loop] = []
    while len(node.body) == 1 and isinstance(node.body[0], Loop) and not node.body[0].parallel:
        node = node.body[0]
        found.append(node)
    return found


class Mask:
    """Which lanes of a remainder happen: those up to index `last`."""

    def __init__(self, body: Body, lanes: int, last: Lin):
        self._body, self.lanes = body, lanes
        self.last = body.integer(last)
        limit = body.math.splat(Val(self.last, I64), lanes)
        index = f"<{', '.join(f'i64 {i}' for i in range(lanes))}>"
        self.bits = body.math.once(f"icmp sle <{lanes} x i64> {index}, {limit.ssa}")

    def doubled(self) -> str:
        """The same of lanes that have two elements each."""
        order = ", ".join(f"i32 {lane}, i32 {lane}" for lane in range(self.lanes))
        kind = f"<{self.lanes} x i1>"
        return self._body.math.once(f"shufflevector {kind} {self.bits}, {kind} poison, <{2 * self.lanes} x i32> <{order}>")

    def turned(self) -> str:
        """The same of lanes that lie the other way around: the last ones happen."""
        math = self._body.math
        first = math.once(f"sub i64 {self.lanes - 1}, {self.last}")
        limit = math.splat(Val(first, I64), self.lanes)
        index = f"<{', '.join(f'i64 {i}' for i in range(self.lanes))}>"
        return math.once(f"icmp sge <{self.lanes} x i64> {index}, {limit.ssa}")

    def clamped(self, lane: int) -> str:
        """min(lane, the last lane that happens)."""
        name = "llvm.smin.i64"
        self._body.declared.setdefault(name, f"declare i64 @{name}(i64, i64)")
        return self._body.math.once(f"call i64 @{name}(i64 {lane}, i64 {self.last})")


class Kernel(Body):
    """The kernel's own function: checks, memory of local arrays, the loops, results."""

    def __init__(self, module: Module):
        super().__init__(module, ENTRY, "i64 @{}(ptr noalias %slots)")
        self.slots_pointer = "%slots"
        self._local: dict[str, str] = {}

    @property
    def can_fork(self) -> bool:
        return self.module.threads

    def base(self, array: str) -> str:
        return self._local[array] if array in self._local else super().base(array)

    def define(self) -> None:
        fn, module = self.fn, self.module
        self.overflow = fn.emit("alloca i8")
        fn.do(f"store i8 0, ptr {self.overflow}")
        self.environment_block = fn.current
        start = fn.block("checked")
        fn.jump(start)
        fn.current = start
        self.scopes[0].entry = fn.blocks[0]
        extremes = {p.name for p in self.scop.parameters if p.extreme}
        late = [not extremes.isdisjoint(polyhedra.used_parameters(check.violated)) for check in self.scop.checks]
        self._check(late, False)
        self._allocate_scalars()
        if extremes:
            self._find(extremes)
            self._check(late, True)
        block = self._allocate()
        ready = fn.block("ready")
        fn.jump(ready)
        fn.current = ready
        self.scopes[0].entry = ready  # addresses of local arrays are known from here on
        self.nodes(module.program.body)
        self.flush()
        if block is not None:
            fn.do(f"call void @polyml_release(ptr {block})")
        self._results()
        flag = fn.emit(f"load i8, ptr {self.overflow}")
        left = fn.emit(f"icmp ne i8 {flag}, 0")
        fn.current.terminator = f"ret i64 {fn.emit(f'select i1 {left}, i64 -2, i64 0')}"
        if not self.repeats:
            fn.attributes = UNHURRIED

    def _check(self, late: list[bool], now: bool) -> None:
        """The checks at entry, those first that ask for sizes alone."""
        for number, (check, is_late) in enumerate(zip(self.scop.checks, late)):
            if is_late == now:
                self._stop_if(self.condition(self.module.table.condition(check.violated), self.fn.current), number + 1)

    def _find(self, extremes: set[str]) -> None:
        """Run what comes before the checks, which then know these names."""
        self.nodes(self.module.program.before)
        self.flush()
        found = self.fn.block("found")
        self.fn.jump(found)
        self.fn.current = self.scopes[0].entry = found
        for name in sorted(extremes):
            self.names[name] = (self._load(Place(name, ())).ssa, 0)

    def _stop_if(self, test: str, status: int) -> None:
        fn = self.fn
        stop, go = fn.block("stop"), fn.block("go")
        fn.branch(test, stop, go)
        stop.terminator = f"ret i64 {status}"
        fn.current = go

    def _allocate_scalars(self) -> None:
        for array in self.module.owned:
            if not array.shape:
                self._local[array.name] = self.fn.emit(f"alloca {memory_type(array.element)}", self.fn.blocks[0])

    def _allocate(self) -> str | None:
        """One block of memory for the arrays the kernel owns; gives what has to be released."""
        fn, total = self.fn, "0"
        starts: dict[str, str] = {}
        for array in self.module.owned:
            if not array.shape:
                continue
            starts[array.name] = total
            size = fn.emit(f"add i64 {self._needed_bytes(array)}, {63 + ARRAY_GAP}")
            total = fn.emit(f"add i64 {total}, {fn.emit(f'and i64 {size}, -64')}")
        if not starts:
            return None
        self.declared["polyml_acquire"] = "declare ptr @polyml_acquire(i64)"
        self.declared["polyml_release"] = "declare void @polyml_release(ptr)"
        block = fn.emit(f"call ptr @polyml_acquire(i64 {total})")
        self._stop_if(fn.emit(f"icmp eq ptr {block}, null"), -1)
        for name, start in starts.items():
            self._local[name] = fn.emit(f"getelementptr i8, ptr {block}, i64 {start}")
        return block

    def _needed_bytes(self, array: Array) -> str:
        """For all threads where each has its own."""
        if array.name in self.module.private:
            return self.fn.emit(f"mul i64 {self.share_bytes(array.name)}, {self.word(0)}")
        return self.size_bytes(array)

    def _results(self) -> None:
        slot = self.module.slots.first_result
        for result in self.scop.results:
            if not isinstance(result, ScalarResult):
                continue
            element = self.scop.arrays[result.array].element
            value = self._load(Place(result.array, ()))
            kind = value.type
            address = self.fn.emit(f"getelementptr i64, ptr %slots, i64 {slot}")
            ssa = value.ssa
            if element.kind == "b" or (element.is_integer and element.bits < 64):
                ssa = self.fn.emit(f"{'sext' if element.kind == 'i' else 'zext'} {kind} {ssa} to i64")
                kind = "i64"
            self.fn.do(f"store {kind} {ssa}, ptr {address}")
            slot += 1

    def fork(self, node: Loop) -> None:
        """Run the iterations on the pool if they are many. A short loop inside another one is there a second time for when they
        are few, since it would be called often.
        """
        fn, work = self.fn, self._work(node)
        enough = None if work is None else fn.emit(f"icmp sge i64 {work}, {PARALLEL_WORK}")
        if enough is None or not self._is_short(node) or not any(isinstance(n, Loop) for n in self.path):
            self._share_out(node, enough)
            self.math.forget()
            return
        many, few, after = fn.block("many"), fn.block("few"), fn.block("after")
        fn.branch(enough, many, few)
        for block, run in ((many, lambda: self._share_out(node, None)), (few, lambda: self.loop(node))):
            fn.current = block
            run()
            self.flush()
            fn.jump(after)
            self.math.forget()
        fn.current = after

    def _share_out(self, node: Loop, enough: str | None) -> None:
        """The body becomes a function of its own, which the pool calls; enough: whether on more threads than one."""
        fn, module = self.fn, self.module
        ends = {loop.last for loop in self.path if isinstance(loop, Loop)}  # which may be known outside all loops
        outer = [n for n, (_, depth) in self.names.items() if depth > 0 or n in ends]
        arrays = sorted(self._local)
        words = [("ptr", "%slots"), ("i64", "0"), ("ptr", self.overflow)]
        words += [("ptr", self._local[a]) for a in arrays]
        words += [("i64", self.names[n][0]) for n in outer]
        entry = fn.blocks[0]
        environment = fn.emit(f"alloca [{len(words)} x i64], align 64", entry)
        for index, (kind, ssa) in enumerate(words):
            address = fn.emit(f"getelementptr i64, ptr {environment}, i64 {index}")
            fn.do(f"store {kind} {ssa}, ptr {address}")
        name = f"{ENTRY}.parallel{len(module.bodies)}"
        Share(module, name, node, self.path, arrays, outer).define()
        threads = self.word(0)
        if enough is not None:
            threads = fn.emit(f"select i1 {enough}, i64 {threads}, i64 1")
        shares = fn.emit(f"mul i64 {threads}, {SHARES}") if self._is_short(node) else threads
        self.declared[name] = f"declare hidden void @{name}(ptr, i64, i64)"
        self.declared["polyml_parallel"] = "declare void @polyml_parallel(ptr, ptr, i64, i64)"
        fn.do(f"call void @polyml_parallel(ptr @{name}, ptr {environment}, i64 {shares}, i64 {threads})")

    def _is_short(self, node: Loop) -> bool:
        """Whether more shares than threads cost little: loops of a level or two, and nothing of a share's own."""
        if not node.last or node.private or sum(isinstance(n, Loop) for n in _longest_path(node.body)) > SHORT_DEPTH:
            return False
        own = self.module.program.thread
        return not any(own in e.names for instance in instances(node.body) for e in instance.point)

    def _work(self, node: Loop) -> str | None:
        """About how many instances the loop runs: the product of the trip counts on its longest path."""
        lower, upper = self.bounds(node)
        fn = self.fn
        total = fn.emit(f"add i64 {fn.emit(f'sub i64 {upper}, {lower}')}, {node.step}")
        if node.step > 1:
            total = fn.emit(f"sdiv i64 {total}, {node.step}")
        middle = {node.var: _middle(node.lower, node.upper), node.last: node.upper[0]}
        for inner in _longest_path(node.body):
            if not isinstance(inner, Loop):
                total = fn.emit(f"mul i64 {total}, {inner.count * getattr(inner, 'lanes', 1)}")
                continue
            low = [e.substitute(middle) for e in inner.lower]
            high = [e.substitute(middle) for e in inner.upper]
            trip = extremum("min", high) - extremum("max", low) + inner.step
            middle[inner.var] = _middle(low, high)
            count = self.integer(extremum("max", [Lin((), inner.step), trip]))
            if inner.step > 1:
                count = fn.emit(f"sdiv i64 {count}, {inner.step}")
            total = fn.emit(f"mul i64 {total}, {count}")
        return total


def _middle(lower: Sequence[Lin], upper: Sequence[Lin]) -> Lin:
    return floor_div(extremum("max", lower) + extremum("min", upper), 2)


def _longest_path(nodes: tuple[Node, ...]) -> list[Loop | Jam | Unroll]:
    """The deepest chain of loops below, and of what runs together: of those as deep as each other, one without masks."""
    best: list[Loop | Jam | Unroll] = []
    for node in nodes:
        if isinstance(node, Instance):
            continue
        below = _longest_path(node.body)
        path = below if isinstance(node, Guard) else [node, *below]
        best = max(best, path, key=_depth)  # the first of equal ones
    return best


def _depth(path: list[Loop | Jam | Unroll]) -> tuple[int, bool]:
    return len(path), not any(isinstance(n, Jam) and n.limit is not None for n in path)


class Share(Body):
    """One share of a parallel loop: `void f(ptr environment, i64 share, i64 shares)`, of which a thread runs one or several.

    environment: slots, the next iteration to take, the overflow flag, local arrays, outer loop variables.
    """

    thread = "%share"

    def __init__(self, module: Module, name: str, node: Loop, path: list[Loop | Guard], arrays: list[str], outer: list[str]):
        super().__init__(module, name, "hidden void @{}(ptr noalias %environment, i64 %share, i64 %shares)")
        self._node = node
        self.path = list(path)
        self.slots_pointer = self._word(0, "ptr")
        self.overflow = self._word(2, "ptr")
        self._local = {a: self._word(3 + i, "ptr") for i, a in enumerate(arrays)}
        for i, name in enumerate(outer):
            self.names[name] = (self._word(3 + len(arrays) + i, "i64"), 0)
        for array in node.private:
            offset = self.fn.emit(f"mul i64 %share, {self.share_bytes(array)}")
            self._local[array] = self.fn.emit(f"getelementptr i8, ptr {self._local[array]}, i64 {offset}")

    def _word(self, index: int, kind: str) -> str:
        address = self.fn.emit(f"getelementptr i64, ptr %environment, i64 {index}")
        return self.fn.emit(f"load {kind}, ptr {address}")

    def base(self, array: str) -> str:
        return self._local[array] if array in self._local else super().base(array)

    def define(self) -> None:
        fn, node = self.fn, self._node
        start = fn.block("start")
        fn.jump(start)
        fn.current = start
        lower, upper = self.bounds(node)
        trips = fn.emit(f"add i64 {fn.emit(f'sub i64 {upper}, {lower}')}, {node.step}")
        if node.step > 1:
            trips = fn.emit(f"sdiv i64 {trips}, {node.step}")
        if node.last:
            self._even(lower, upper)
        elif _uneven(node):
            self._dynamic(lower, trips)
        else:
            self._static(lower, trips)
        fn.current.terminator = "ret void"

    def _even(self, lower: str, upper: str) -> None:
        """A share of as many iterations as the others', in multiples of those that run together."""
        fn, node = self.fn, self._node
        multiple = max((inner.step for inner in loops(node.body) if var(node.var) in inner.lower), default=1)
        total = fn.emit(f"sub i64 {upper}, {lower}")
        units = fn.emit(f"sdiv i64 {fn.emit(f'add i64 {total}, {multiple}')}, {multiple}")
        ends = []
        for number in ("%share", fn.emit("add i64 %share, 1")):
            unit = fn.emit(f"sdiv i64 {fn.emit(f'mul i64 {number}, {units}')}, %shares")
            ends.append(fn.emit(f"add i64 {lower}, {fn.emit(f'mul i64 {unit}, {multiple}')}"))
        self.declared.setdefault("llvm.smin.i64", "declare i64 @llvm.smin.i64(i64, i64)")
        last = fn.emit(f"call i64 @llvm.smin.i64(i64 {fn.emit(f'sub i64 {ends[1]}, 1')}, i64 {upper})")
        share = fn.block("share")
        fn.jump(share)
        fn.current = share
        self.scopes.append(Scope(share))
        self.names[node.last] = (last, len(self.scopes) - 1)
        self.counted(node, ends[0], last)

    def _static(self, lower: str, trips: str) -> None:
        fn, node = self.fn, self._node
        first = fn.emit(f"sdiv i64 {fn.emit(f'mul i64 %share, {trips}')}, %shares")
        next_share = fn.emit("add i64 %share, 1")
        past = fn.emit(f"sdiv i64 {fn.emit(f'mul i64 {next_share}, {trips}')}, %shares")
        start = fn.emit(f"add i64 {lower}, {fn.emit(f'mul i64 {first}, {node.step}')}")
        last = fn.emit(f"sub i64 {past}, 1")
        stop = fn.emit(f"add i64 {lower}, {fn.emit(f'mul i64 {last}, {node.step}')}")
        self.counted(node, start, stop)

    def _dynamic(self, lower: str, trips: str) -> None:
        """Take the next iteration from a shared counter: iterations differ in length."""
        fn, node = self.fn, self._node
        take, run, done = fn.block("take"), fn.block("run"), fn.block("done")
        fn.jump(take)
        fn.current = take
        counter = fn.emit("getelementptr i64, ptr %environment, i64 1")
        index = fn.emit(f"atomicrmw add ptr {counter}, i64 1 monotonic")
        fn.branch(fn.emit(f"icmp slt i64 {index}, {trips}"), run, done)
        fn.current = run
        start = fn.emit(f"add i64 {lower}, {fn.emit(f'mul i64 {index}, {node.step}')}")
        self.counted(node, start, start)
        fn.jump(take)
        fn.current = done


def _uneven(node: Loop) -> bool:
    """Whether iterations differ in length: more than the loop's own point loop depends on its variable."""
    count = 0
    for inner in loops(node.body):
        if any(node.var in e.names for e in (*inner.lower, *inner.upper)):
            count += 1
    return count > 1 or _guarded_by(node.body, node.var)


def _guarded_by(nodes: tuple[Node, ...], name: str) -> bool:
    for n in nodes:
        if isinstance(n, Guard) and name in n.condition.names:
            return True
        if not isinstance(n, Instance) and _guarded_by(n.body, name):
            return True
    return False
