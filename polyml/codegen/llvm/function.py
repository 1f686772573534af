"""The code of one LLVM function: integers, places in registers, loops.

Values are computed where the loop runs that they depend on; elements that a loop updates in place stay in registers around it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import NamedTuple

from polyml.codegen.analysis.access_conflicts import ConflictTest
from polyml.codegen.analysis.integer_ranges import Ranges
from polyml.codegen.analysis.loop_nest import has_guard
from polyml.codegen.ir.abi import SlotMap, SlotStride, Stride
from polyml.codegen.ir.accesses import AccessTable
from polyml.codegen.ir.linexpr import Choice, Compare, Condition, Extremum, FloorDiv, Lin, Logic, conjunction, extremum, linear, modulo, var
from polyml.codegen.ir.program import CannotRunTogether, Guard, Instance, Jam, Loop, Node, Program, loops, substitute
from polyml.codegen.llvm.arithmetic import Arithmetic, Val
from polyml.codegen.llvm.builder import Block, Function, Unit
from polyml.codegen.llvm.memory import Memory
from polyml.codegen.llvm.registers import Cells, Place
from polyml.codegen.llvm.statements import Evaluator, Row
from polyml.model.core.reductions import identity
from polyml.model.core.scop import Array, Role

UNHURRIED = "nounwind noinline optnone"
UNHURRIED_EFFORT = 0.4  # of what such code takes to be made, in that of optimised code
FLAGS = {"strict": "", "reassociate": "contract ", "fast": "fast "}
LINE_BYTES = 64  # of a cache line, for where vectors best begin


@dataclass
class Module:
    program: Program
    fp: str
    aliased: bool
    layouts: tuple[str, ...]
    fused: bool
    threads: bool
    finished: Callable[[Unit], None]  # gets each function as soon as it is whole
    units: list[Unit] = field(default_factory=list)

    def __post_init__(self):
        self.scop = self.program.scop
        self.table = AccessTable(self.scop.context)
        self.slots = SlotMap.of(self.program, self.layouts)
        self.ranges = Ranges(self.program)
        self.conflicts = ConflictTest(self.scop, self.table)
        # arrays of one element that the kernel owns live on its stack, the others share a block of memory
        self.owned = [a for a in self.scop.arrays.values() if a.role is Role.LOCAL]
        self.symbols = frozenset(p.name for p in self.scop.parameters)
        self.private = {a for loop in loops(self.program.body) for a in loop.private}


@dataclass
class Scope:
    """The code run once per iteration of one loop: where values that depend on its variable are computed. innermost: that
    no loop is in it.
    """

    entry: Block
    innermost: bool = False
    known: dict[object, str] = field(default_factory=dict)


class Body:
    """The code of one LLVM function: the kernel itself, or the iterations of a parallel loop."""

    def __init__(self, module: Module, name: str, signature: str):
        """signature: a format that puts the name in. declared: what is referred to, by name."""
        self.module, self.scop = module, module.scop
        self.name, self.declared = name, {}
        self.fn = Function(signature.format(name))
        self.math = Arithmetic(self.fn, FLAGS[module.fp], self.declared, module.fused)
        self.memory = Memory(self)
        self.scopes = [Scope(self.fn.current)]
        self.names: dict[str, tuple[str, int]] = {}  # integer name -> (ssa, depth of its scope)
        self.jams: list[Jam] = []
        self.path: list[Loop | Guard] = []  # the loops and guards around, outermost first
        self.cells = Cells()
        self._partials: dict[_Group, _Partial] = {}  # that the next loop goes on with
        self._held_ahead: dict[int, dict[Place, str | None]] = {}  # by loop, of the one that runs next
        self.values = Evaluator(self)
        self.repeats = False  # whether instances run in loops of this function

    def finish(self) -> None:
        """The function is whole."""
        text = self.fn.text()
        effort = len(text) * (UNHURRIED_EFFORT if self.fn.attributes == UNHURRIED else 1.0)
        self.module.units.append(Unit(self.name, text, self.declared, effort))
        self.module.finished(self.module.units[-1])

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
        """The value of e, computed in the outermost loop that knows all its names. LeavesRange where 64 bits may not hold it."""
        if e.is_const:
            self.module.ranges.check(e)
            return str(e.const)
        depth = self._deepest(e.names)
        scope = self.scopes[depth]
        if e in scope.known:
            return scope.known[e]
        self.module.ranges.check(e)
        outer = [(a, c) for a, c in e.terms if self._atom_depth(a) < depth]
        here = [(a, c) for a, c in e.terms if self._atom_depth(a) == depth]
        total = self.integer(Lin(tuple(outer), e.const)) if outer or e.const else None
        for atom, c in sorted(here, key=_is_subtracted):
            value = self._atom(atom, scope)
            if total is not None and c == -1:
                total = self.fn.emit(f"sub i64 {total}, {value}", scope.entry)
                continue
            value = self._times(value, c, scope)
            total = value if total is None else self.fn.emit(f"add i64 {total}, {value}", scope.entry)
        scope.known[e] = total
        return total

    def _times(self, value: str, factor: int | str, scope: Scope) -> str:
        """A product of what the scope knows, computed once in it."""
        if factor == 1:
            return value
        key = ("times", value, factor)
        if key not in scope.known:
            scope.known[key] = self.fn.emit(f"mul i64 {value}, {factor}", scope.entry)
        return scope.known[key]

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
            return self._extremum(atom, scope)
        if isinstance(atom, Choice):
            test = self.condition(atom.condition, scope.entry)
            then, orelse = self.integer(atom.then), self.integer(atom.orelse)
            return self.fn.emit(f"select i1 {test}, i64 {then}, i64 {orelse}", scope.entry)
        raise TypeError(f"not an integer atom: {atom}")

    def _extremum(self, atom: Extremum, scope: Scope) -> str:
        """Those of the same operands, all so much greater, differ by that constant."""
        least = min(operand.const for operand in atom.operands)
        key = (atom.op, frozenset((operand.terms, operand.const - least) for operand in atom.operands))
        if key in scope.known:
            value, its_least = scope.known[key]
            return value if least == its_least else self.fn.emit(f"add i64 {value}, {least - its_least}", scope.entry)
        name = "llvm.smin.i64" if atom.op == "min" else "llvm.smax.i64"
        self.declared.setdefault(name, f"declare i64 @{name}(i64, i64)")
        total = self.integer(atom.operands[0])
        for operand in atom.operands[1:]:
            total = self.fn.emit(f"call i64 @{name}(i64 {total}, i64 {self.integer(operand)})", scope.entry)
        scope.known[key] = (total, least)
        return total

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
            return self._compared(c, at)
        if not c.parts:
            return "true" if c.op == "and" else "false"
        total = self.condition(c.parts[0], at)
        for part in c.parts[1:]:
            total = self.fn.emit(f"{c.op} i1 {total}, {self.condition(part, at)}", at)
        return total

    def _compared(self, c: Compare, at: Block | None) -> str:
        """A value alone is compared with a constant, without a sum."""
        value, bound, test = c.expr, 0, "sge" if c.op == ">=" else "eq"
        if len(c.expr.terms) == 1 and abs(c.expr.terms[0][1]) == 1:
            self.module.ranges.check(c.expr)
            ((atom, sign),) = c.expr.terms
            value, bound = Lin(((atom, 1),)), -sign * c.expr.const
            test = "sle" if test == "sge" and sign < 0 else test
        return self.fn.emit(f"icmp {test} i64 {self.integer(value)}, {bound}", at)

    # -- addresses -----------------------------------------------------------------------------------------------

    def pointer(self, array: str, subscripts: tuple[Lin, ...]) -> str:
        """The address of one element, each term added in the outermost loop that knows it. How far it is from where the
        subscripts' constants are 0 comes last, so that neighbours share all else; in an innermost loop, before its own terms.
        """
        steps, subscripts = self.module.slots.strides(array), self.within_window(array, subscripts)
        fixed = 0
        terms: list[tuple[object, object, int]] = []  # (atom, stride name or None, factor)
        apart: list[tuple[object, object, int]] = []  # (None, stride name, factor)
        for e, stride in zip(subscripts, steps):
            known = isinstance(stride, int)
            for atom, c in e.terms:
                terms.append((atom, None if known else stride, c * (stride if known else 1)))
            if known:
                fixed += e.const * stride
            elif e.const:
                apart.append((None, stride, e.const))
        by_depth: dict[int, list] = {}
        for term in terms:
            by_depth.setdefault(self._atom_depth(term[0]), []).append(term)
        groups = [(depth, _in_order(by_depth[depth])) for depth in sorted(by_depth)]
        if apart:
            behind = len(groups) - bool(groups and self.scopes[groups[-1][0]].innermost)
            groups.insert(behind, (groups[behind - 1][0] if behind else 0, apart))
        pointer, done = self.base(array), ()
        for depth, group in groups:
            before, done, scope = done, (*done, *group), self.scopes[depth]
            if group is apart and len(apart) == 1:
                ((_, stride, rows),) = apart
                one = 1 if rows > 0 else -1
                neighbour = scope.known.get((array, (*before, (None, stride, rows - one))))
                if neighbour is not None:  # one row further needs no register for how far it is
                    pointer, group = neighbour, [(None, stride, one)]
            pointer = self._advance(pointer, array, done, group, scope)
        if fixed:
            pointer = self.math.once(f"getelementptr i8, ptr {pointer}, i64 {fixed}")
        return pointer

    def within_window(self, array: str, subscripts: tuple[Lin, ...]) -> tuple[Lin, ...]:
        """Where the element is in what has memory of the array."""
        window = self.module.program.windows.get(array)
        if window is None:
            return subscripts
        subscripts = tuple(e - low for e, low in zip(subscripts, window.low))
        if window.ring is None:
            return subscripts
        here = modulo(subscripts[window.ring], window.lengths[window.ring])
        return (*subscripts[: window.ring], here, *subscripts[window.ring + 1 :])

    def _advance(self, pointer: str, array: str, key: tuple, terms: list, scope: Scope) -> str:
        known = scope.known.get((array, key))
        if known is not None:
            return known
        offset = None
        for atom, stride, factor in terms:
            value = None if atom is None else self._atom_value(atom, scope)
            if value is None:
                value = self._times(self.stride(stride), factor, self.scopes[0])
            else:
                value = value if stride is None else self._times(value, self.stride(stride), scope)
                value = self._times(value, factor, scope)
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
        """What one thread needs of a private array, in whole cache lines; at least 2**63 where that is no size."""
        return self.whole_lines(self.size_bytes(self.scop.arrays[array]), 64)

    def size_bytes(self, array: Array, whole: bool = False) -> str:
        """Of the memory of one local array: its window where it has one, if not the whole is asked for. At least 2**63 where NumPy has
        no array of this shape, though there are no elements.
        """
        window = None if whole else self.module.program.windows.get(array.name)
        lengths = [None] * len(array.shape) if window is None else window.lengths
        counts = [self.integer(self.module.table.affine(e)) if n is None else str(n) for e, n in zip(array.shape, lengths)]
        size, empty = str(array.element.size_bytes), "false"
        for count in counts:
            some = self.fn.emit(f"icmp sgt i64 {count}, 0")
            empty = self.fn.emit(f"select i1 {some}, i1 {empty}, i1 true")
            size = self.product(size, self.fn.emit(f"select i1 {some}, i64 {count}, i64 1"))
        nothing = self.fn.emit(f"and i1 {empty}, {self.fn.emit(f'icmp sge i64 {size}, 0')}")
        return self.fn.emit(f"select i1 {nothing}, i64 0, i64 {size}")

    def whole_lines(self, size: str, more: int) -> str:
        """`size` bytes and so many more, rounded up; at least 2**63 where that is no size."""
        return self.fn.emit(f"and i64 {self.total(size, str(63 + more))}, -64")

    def product(self, a: str, b: str) -> str:
        """a * b of numbers without a sign, at most 2**64 - 1."""
        self.declared.setdefault("llvm.umul.with.overflow.i64", "declare {i64, i1} @llvm.umul.with.overflow.i64(i64, i64)")
        pair = self.fn.emit(f"call {{i64, i1}} @llvm.umul.with.overflow.i64(i64 {a}, i64 {b})")
        value, over = (self.fn.emit(f"extractvalue {{i64, i1}} {pair}, {part}") for part in (0, 1))
        return self.fn.emit(f"select i1 {over}, i64 -1, i64 {value}")

    def total(self, a: str, b: str) -> str:
        """a + b of numbers without a sign, at most 2**64 - 1."""
        self.declared.setdefault("llvm.uadd.sat.i64", "declare i64 @llvm.uadd.sat.i64(i64, i64)")
        return self.fn.emit(f"call i64 @llvm.uadd.sat.i64(i64 {a}, i64 {b})")

    def lanes_up_to(self, last: Lin, lanes: int) -> str:
        """Which lanes are those up to index `last`, computed in the outermost loop that knows it."""
        scope = self.scopes[self._deepest(last.names)]
        key = ("lanes", last, lanes)
        if key not in scope.known:
            limit, kind = self.integer(last), f"<{lanes} x i64>"
            first = self.fn.emit(f"insertelement {kind} poison, i64 {limit}, i32 0", scope.entry)
            every = self.fn.emit(f"shufflevector {kind} {first}, {kind} poison, <{lanes} x i32> zeroinitializer", scope.entry)
            index = f"<{', '.join(f'i64 {i}' for i in range(lanes))}>"
            scope.known[key] = self.fn.emit(f"icmp sle {kind} {index}, {every}", scope.entry)
        return scope.known[key]

    # -- memory --------------------------------------------------------------------------------------------------

    def load(self, place: Place) -> Val:
        """The elements of a place, from registers where they are there."""
        self._not_partial(place)
        if not self.module.aliased:
            held = self.cells.value(place)
            if held is not None:
                return held
            self._write_back(self.cells.overlapping(place), drop=False)
        if not self.module.aliased and self.memory.is_pair(place):
            return self._load_pair(place)
        value = self.memory.load(place)
        if not self.module.aliased:
            self.cells.put(place, value, dirty=False)
        return value

    def fetch(self, place: Place) -> None:
        """Bring the first element of a place, which need not exist, to the second cache."""
        self.declared.setdefault("llvm.prefetch.p0", "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        self.fn.do(f"call void @llvm.prefetch.p0(ptr {self.pointer(place.array, place.subscripts)}, i32 0, i32 2, i32 1)")

    def _load_pair(self, place: Place) -> Val:
        """The same of complex numbers, of which both parts are loaded together."""
        other = self.memory.other_part(place)
        self._write_back(self.cells.overlapping(other), drop=False)
        parts = self.memory.loaded_pairs(place)
        for one in (place, other):
            if self.cells.value(one) is None:
                self.cells.put(one, parts[one], dirty=False)
        return parts[place]

    def store(self, place: Place, value: Val) -> None:
        """Give the place a new value, in a register until the region ends or something may share its elements."""
        self._not_partial(place)
        value = self.math.splat(value, place.lanes)
        if self.module.aliased:
            self.memory.store(place, value)
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
        other = self.memory.other_part(place) if self.memory.is_pair(place) else None
        if other is None or self.cells.value(other) is None or not self.cells.is_dirty(other) or other in self.cells.pinned:
            self.memory.store(place, value)
            return
        held = self.cells.value(other)
        self.memory.store_pairs({place: value, other: held})
        self.cells.put(other, held, dirty=False)

    def flush(self) -> None:
        """Write everything back that is only in registers, and start a new region."""
        self._write_back(self.cells.dirty(), drop=False)
        pinned = {p: self.cells.value(p) for p in self.cells.pinned}
        self.cells = Cells()
        for place, value in pinned.items():
            self.cells.put(place, value, dirty=True)
        self.cells.pinned = dict.fromkeys(pinned)
        self.math.forget()

    # -- nodes ---------------------------------------------------------------------------------------------------

    def nodes(self, nodes: tuple[Node, ...]) -> None:
        begin = None  # where the next loop begins, if it begins where one has ended
        for node, following in zip_longest(nodes, nodes[1:]):
            if isinstance(node, Instance):
                self.values.instance(node)
                self.repeats |= any(isinstance(n, Loop) for n in self.path)
            elif isinstance(node, Loop):
                self.flush()
                if node.parallel and self.can_fork and not node.partial:
                    self.fork(node)
                else:
                    then = following if isinstance(following, Loop) and not following.parallel else None
                    begin = self.loop(node, then, begin)
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

    def ends(self, node: Loop) -> tuple[str, str]:
        """The bounds of a loop, none of whose iterations are there where none of the loops inside has any: to go through the rows of
        an array without columns would take as long as there are rows.
        """
        lower, upper = self.bounds(node)
        outermost = all(_is_fixed(n) for n in self.path if isinstance(n, Loop)) and not _is_fixed(node) and not node.resumes
        tests = self._something_inside(node.body) if outermost else None
        if tests is None:
            return lower, upper
        at = self.scopes[max(self._deepest(e.names) for e in (*node.lower, *node.upper))].entry  # where the ends are known
        none = self.fn.emit(f"sub i64 {lower}, 1", at)
        return lower, self.fn.emit(f"select i1 {self.condition(tests, at)}, i64 {upper}, i64 {none}", at)

    def _something_inside(self, nodes: tuple[Node, ...]) -> Condition | None:
        """Whether loops whose ends sizes and numbers of the call tell have iterations; None where they do not decide it."""
        found: list[Condition] = []
        for node in nodes:
            if isinstance(node, Instance):
                return None
            inside = self._something_inside(node.body)
            if isinstance(node, Loop) and all(e.names <= self.module.symbols for e in (*node.lower, *node.upper)):
                reach = extremum("min", node.upper) - extremum("max", node.lower)
                own = () if reach.is_const and reach.const >= 0 else (Compare(">=", reach),)
            else:
                own = ()
            if not own and inside is None:
                return None
            found.append(conjunction((*own, *(() if inside is None else (inside,)))))
        return Logic("or", tuple(dict.fromkeys(found)))

    def loop(self, node: Loop, following: Loop | None = None, begin: str | None = None) -> str | None:
        """following: the loop that runs next, which may go on with this one's partial results, and begin where this one ends:
        then that is given. begin: where this one begins, if not as its bounds say.
        """
        lower, upper = self.ends(node)
        lower = begin or lower
        if node.last:
            self.names[node.last] = (upper, max(self._deepest(e.names) for e in (*node.lower, *node.upper)))
        end = self.counted(node, lower, upper, following)
        self.names.pop(node.last, None)
        return end

    def counted(self, node: Loop, lower: str, upper: str, then: Loop | None = None) -> str | None:
        """for var = lower; var <= upper; var += step, with what it updates in place held in registers. Where it ended, if the
        next loop begins there.
        """
        before_it, self._partials = self._partials, {}
        self.module.ranges.enter(node)
        fn = self.fn
        before, body, after = fn.block("before"), fn.block("body"), fn.block("after")
        inside = _only_loops(node)
        runs = fn.emit(f"icmp sle i64 {lower}, {upper}")
        carried = {place: self.cells.value(place) for place in self.cells.pinned}  # of the loop around
        outer_cells, self.cells = self.cells, Cells()
        known = self._held_ahead.pop(id(node), None)
        held = self._held(node, inside) if known is None else known
        held = {place: op for place, op in held.items() if place not in carried}
        is_nest = self._is_nest(node)
        chains, rows = ([], []) if is_nest else (self.values.carried(node), self.values.rows(node))
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
        earlier = {place: self.memory.load(_substituted(place, first)) for _, *later in chains for place in later}
        scanned = [] if is_nest else self.values.carries(node)
        earlier |= {place: self.memory.load(_substituted(place, first)) for place in scanned}
        begun = [self._begun(row, first) for row in rows]
        fn.jump(body)
        fn.current = body
        counter, following = fn.name(), fn.name()
        self.names[node.var] = (counter, len(self.scopes))
        self.scopes.append(Scope(body, not is_nest))
        self.math.forget()
        phis = {}
        for place, value in entry_values.items():
            phi = Val(fn.name(), value.dtype, value.lanes)
            phis[place] = phi
            self.cells.put(place, phi, dirty=False)
        self.cells.pinned = dict.fromkeys(entry_values)
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
        if then is None or then.resumes != node.var:
            return None
        end = fn.name()
        after.phis.append(f"{end} = phi i64 [ {lower}, %{skipped.label} ], [ {following}, %{left.label} ]")
        return end

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
        if place.lanes == 1 or place.last is not None or array.pairs or array.element.kind == "b":
            return None
        if self.memory.contiguous(place) != 1:
            return None
        return next(d for d, stride in enumerate(place.strides) if stride)

    def _begun(self, row: Row, first: Mapping[str, Lin]) -> Val:
        """What stands for the vector before a row's first one: its last lanes are what the first vectors begin with."""
        value, reach = self.memory.load(_substituted(row.places[0][0], first)), row.offsets[-1] - row.offsets[0]
        lanes = value.lanes
        return self._picked(value, value, [*range(lanes - reach), *range(reach)])

    def _row(self, row: Row, behind: Val) -> Val:
        """Load each vector of a row once, the one furthest ahead, and shift the others out of it and the vector before."""
        for number, place in enumerate(row.places[-1]):
            value = self.memory.load(place)
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
        return self.math.splat(self.memory.load(place), place.lanes)

    def _leave(self, held: dict[Place, str | None], final: dict[Place, Val], phis: dict[Place, Val]) -> None:
        """Store the elements that the loop has changed."""
        stored: set[Place] = set()  # with their other parts
        for place, op in held.items():
            if op is None:
                if final[place] == phis[place] or place in stored:
                    continue
                other = self.memory.other_part(place) if self.memory.is_pair(place) else None
                if other is None or other not in held or final[other] == phis[other]:
                    self.memory.store(place, final[place])
                else:
                    self.memory.store_pairs({place: final[place], other: final[other]})
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
        self.memory.store(target, self.values.combine(key.op, self.memory.load(target), number))

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


def _is_fixed(loop: Loop) -> bool:
    """Whether the loop has the same iterations in every call, and not many."""
    ends = (*loop.lower, *loop.upper)
    return all(e.is_const for e in ends) and max(abs(e.const) for e in ends) < 2**20


def _in_order(terms: list[tuple]) -> list[tuple]:
    """The same for the same terms, wherever they came from."""
    return terms if len(terms) == 1 else sorted(terms, key=str)


def _is_subtracted(term: tuple[object, int]) -> bool:
    return term[1] == -1


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
