"""Integers and addresses in the code of one LLVM function, each computed where the loop runs that it depends on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from polyml.codegen.analysis.access_conflicts import ConflictTest
from polyml.codegen.analysis.integer_ranges import Ranges
from polyml.codegen.ir.abi import SlotMap, SlotStride, Stride
from polyml.codegen.ir.accesses import AccessTable
from polyml.codegen.ir.jams import JamStack
from polyml.codegen.ir.program import Guard, Loop, Program, loops
from polyml.codegen.llvm.arithmetic import Arithmetic
from polyml.codegen.llvm.builder import BasicBlock, FunctionBuilder, Unit
from polyml.model.core.scop import Array, Role
from polyml.quasi_affine.affine import Affine, Atom, Choice, Compare, Condition, Extremum, FloorDiv, modulo, of_atom

FLAGS = {"strict": "", "reassociate": "contract ", "fast": "fast "}
LINE_BYTES = 64  # of a cache line, for where vectors best begin


@dataclass(frozen=True)
class ArrayArguments:
    """x"""

    layouts: tuple[str, ...]
    aliased: bool


@dataclass(frozen=True)
class FloatArithmetic:
    """x"""

    mode: str
    fused: bool


@dataclass
class Module:
    program: Program
    arguments: ArrayArguments
    floats: FloatArithmetic
    threads: bool
    finished: Callable[[Unit], None]  # gets each function as soon as it is whole
    units: list[Unit] = field(default_factory=list)

    def __post_init__(self):
        self.scop = self.program.scop
        self.table = AccessTable(self.scop.context)
        self.slots = SlotMap.of(self.program, self.arguments.layouts)
        self.ranges = Ranges(self.program)
        self.conflicts = ConflictTest(self.scop, self.table)
        # arrays of one element that the kernel owns live on its stack, the others share a block of memory
        self.owned = [a for a in self.scop.arrays.values() if a.role is Role.LOCAL]
        self.symbols = frozenset(p.name for p in self.scop.parameters)
        self.private = {a for loop in loops(self.program.body) for a in loop.private}


@dataclass
class LoopScope:
    """The code run once per iteration of one loop: where values that depend on its variable are computed. innermost: that
    no loop is in it.
    """

    entry: BasicBlock
    innermost: bool = False
    known: dict[object, str] = field(default_factory=dict)
    # by operator and operands without their least constant: the name, and that constant
    extrema: dict[tuple[str, frozenset], tuple[str, int]] = field(default_factory=dict)


_Term = tuple[
    Atom | None, Stride | None, int
]  # bytes: a factor times an integer, if there is one, times a stride, if it is no constant


def _in_order(terms: list[_Term]) -> list[_Term]:
    """The same for the same terms, wherever they came from."""
    return terms if len(terms) == 1 else sorted(terms, key=str)


def _is_subtracted(term: tuple[object, int]) -> bool:
    return term[1] == -1


class Addresses:
    """What the code of one LLVM function knows of integers and addresses."""

    thread = "0"  # the number of the thread that runs this function
    slots_pointer: str  # to the words of the call, see `SlotMap`
    overflow: str  # pointer to the flag that says which Python integer did not fit

    def __init__(self, module: Module, name: str, signature: str):
        """signature: a format that puts the name in. declared: what is referred to, by name."""
        self.module, self.scop = module, module.scop
        self.name = name
        self.declared: dict[str, str] = {}
        self.fn = FunctionBuilder(signature.format(name))
        self.math = Arithmetic(self.fn, FLAGS[module.floats.mode], self.declared, module.floats.fused)
        self.scopes = [LoopScope(self.fn.current)]
        self.names: dict[str, tuple[str, int]] = {}  # integer name -> (ssa, depth of its scope)
        self.jams = JamStack()
        self.path: list[Loop | Guard] = []  # the loops and guards around, outermost first

    def depth(self, name: str) -> int:
        if name not in self.names:
            self.names[name] = (self.parameter(name), 0)
        return self.names[name][1]

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
        offset = self.fn.emit(f"and i64 {address}, {LINE_BYTES - 1}", entry)
        return self.fn.emit(f"sdiv i64 {offset}, {size_bytes}", entry)

    def word(self, index: int, kind: str = "i64") -> str:
        """The slot's word, read once where the function starts."""
        scope = self.scopes[0]
        key = ("slot", index, kind)
        if key not in scope.known:
            pointer = self.fn.emit(f"getelementptr i64, ptr {self.slots_pointer}, i64 {index}", scope.entry)
            scope.known[key] = self.fn.emit(f"load {kind}, ptr {pointer}", scope.entry)
        return scope.known[key]

    def integer(self, e: Affine) -> str:
        """The value of e, computed in the outermost loop that knows all its names. LeavesRange where 64 bits may not hold it."""
        if e.is_constant:
            self.module.ranges.check(e)
            return str(e.constant)
        depth = self.deepest(e.names)
        scope = self.scopes[depth]
        if e in scope.known:
            return scope.known[e]
        self.module.ranges.check(e)
        outer = [(a, c) for a, c in e.terms if self._atom_depth(a) < depth]
        here = [(a, c) for a, c in e.terms if self._atom_depth(a) == depth]
        total = self.integer(Affine(e.constant, tuple(outer))) if outer or e.constant else None
        for atom, c in sorted(here, key=_is_subtracted):
            value = self._atom(atom, scope)
            if total is not None and c == -1:
                total = self.fn.emit(f"sub i64 {total}, {value}", scope.entry)
                continue
            value = self._times(value, c, scope)
            total = value if total is None else self.fn.emit(f"add i64 {total}, {value}", scope.entry)
        if total is None:
            raise ValueError(f"no term of {e} is known in the scope of its names")
        scope.known[e] = total
        return total

    def _times(self, value: str, factor: int | str, scope: LoopScope) -> str:
        """A product of what the scope knows, computed once in it."""
        if factor == 1:
            return value
        key = ("times", value, factor)
        if key not in scope.known:
            scope.known[key] = self.fn.emit(f"mul i64 {value}, {factor}", scope.entry)
        return scope.known[key]

    def _atom_depth(self, atom: Atom) -> int:
        return self.depth(atom) if isinstance(atom, str) else self.deepest(atom.names)

    def deepest(self, names: frozenset[str]) -> int:
        """The depth of the innermost of the names; those not met before are read in the same order in every process."""
        return max(map(self.depth, sorted(names)), default=0)

    def _atom(self, atom: Atom, scope: LoopScope) -> str:
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

    def _extremum(self, atom: Extremum, scope: LoopScope) -> str:
        """Those of the same operands, all so much greater, differ by that constant."""
        least = min(operand.constant for operand in atom.operands)
        key = (atom.op, frozenset((operand.terms, operand.constant - least) for operand in atom.operands))
        if key in scope.extrema:
            value, its_least = scope.extrema[key]
            return value if least == its_least else self.fn.emit(f"add i64 {value}, {least - its_least}", scope.entry)
        name = "llvm.smin.i64" if atom.op == "min" else "llvm.smax.i64"
        self.declared.setdefault(name, f"declare i64 @{name}(i64, i64)")
        total = self.integer(atom.operands[0])
        for operand in atom.operands[1:]:
            total = self.fn.emit(f"call i64 @{name}(i64 {total}, i64 {self.integer(operand)})", scope.entry)
        scope.extrema[key] = (total, least)
        return total

    def _floor_div(self, value: str, divisor: int, at: BasicBlock) -> str:
        if divisor & (divisor - 1) == 0:
            return self.fn.emit(f"ashr i64 {value}, {divisor.bit_length() - 1}", at)
        quotient = self.fn.emit(f"sdiv i64 {value}, {divisor}", at)
        back = self.fn.emit(f"mul i64 {quotient}, {divisor}", at)
        below = self.fn.emit(f"icmp slt i64 {value}, {back}", at)
        adjust = self.fn.emit(f"sext i1 {below} to i64", at)
        return self.fn.emit(f"add i64 {quotient}, {adjust}", at)

    def condition(self, c: Condition, at: BasicBlock | None = None) -> str:
        """The truth of c, computed in block `at` (default: here)."""
        if isinstance(c, Compare):
            return self._compared(c, at)
        if not c.parts:
            return "true" if c.op == "and" else "false"
        total = self.condition(c.parts[0], at)
        for part in c.parts[1:]:
            total = self.fn.emit(f"{c.op} i1 {total}, {self.condition(part, at)}", at)
        return total

    def _compared(self, c: Compare, at: BasicBlock | None) -> str:
        """A value alone is compared with a constant, without a sum."""
        value, bound, test = c.expr, 0, "sge" if c.op == ">=" else "eq"
        if len(c.expr.terms) == 1 and abs(c.expr.terms[0][1]) == 1:
            self.module.ranges.check(c.expr)
            ((atom, sign),) = c.expr.terms
            value, bound = of_atom(atom), -sign * c.expr.constant
            test = "sle" if test == "sge" and sign < 0 else test
        return self.fn.emit(f"icmp {test} i64 {self.integer(value)}, {bound}", at)

    def pointer(self, array: str, subscripts: tuple[Affine, ...]) -> str:
        """The address of one element, each term added in the outermost loop that knows it. How far it is from where the
        subscripts' constants are 0 comes last, so that neighbours share all else; in an innermost loop, before its own terms.
        """
        steps, subscripts = self.module.slots.strides(array), self.within_window(array, subscripts)
        fixed = 0
        by_depth: dict[int, list[_Term]] = {}
        apart: list[_Term] = []
        for e, stride in zip(subscripts, steps):
            for atom, c in e.terms:
                term = (atom, None, c * stride) if isinstance(stride, int) else (atom, stride, c)
                by_depth.setdefault(self._atom_depth(atom), []).append(term)
            if isinstance(stride, int):
                fixed += e.constant * stride
            elif e.constant:
                apart.append((None, stride, e.constant))
        groups = [(depth, _in_order(by_depth[depth])) for depth in sorted(by_depth)]
        if apart:
            behind = len(groups) - bool(groups and self.scopes[groups[-1][0]].innermost)
            groups.insert(behind, (groups[behind - 1][0] if behind else 0, apart))
        pointer = self.base(array)
        done: tuple[_Term, ...] = ()
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

    def within_window(self, array: str, subscripts: tuple[Affine, ...]) -> tuple[Affine, ...]:
        """Where the element is in what has memory of the array."""
        window = self.module.program.windows.get(array)
        if window is None:
            return subscripts
        subscripts = tuple(e - low for e, low in zip(subscripts, window.low))
        length = None if window.ring is None else window.lengths[window.ring]
        if window.ring is None or length is None:
            return subscripts
        here = modulo(subscripts[window.ring], length)
        return (*subscripts[: window.ring], here, *subscripts[window.ring + 1 :])

    def _advance(self, pointer: str, array: str, key: tuple[_Term, ...], terms: list[_Term], scope: LoopScope) -> str:
        """The pointer moved on by the terms; key: all that it is moved by from the array's first element on."""
        known = scope.known.get((array, key))
        if known is not None:
            return known
        offset = None
        for atom, stride, factor in terms:
            if atom is None:
                value = str(factor) if stride is None else self._times(self.stride(stride), factor, self.scopes[0])
            else:
                value = self.integer(of_atom(atom))
                value = value if stride is None else self._times(value, self.stride(stride), scope)
                value = self._times(value, factor, scope)
            offset = value if offset is None else self.fn.emit(f"add i64 {offset}, {value}", scope.entry)
        result = self.fn.emit(f"getelementptr i8, ptr {pointer}, i64 {offset}", scope.entry)
        scope.known[(array, key)] = result
        return result

    def stride(self, stride: Stride) -> str:
        """Bytes between neighbours in one dimension: a constant, a slot's word, or a product of sizes."""
        if isinstance(stride, int):
            return str(stride)
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

    def thread_bytes(self, array: str) -> str:
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

    def lanes_up_to(self, last: Affine, lanes: int) -> str:
        """Which lanes are those up to index `last`, computed in the outermost loop that knows it."""
        scope = self.scopes[self.deepest(last.names)]
        key = ("lanes", last, lanes)
        if key not in scope.known:
            limit, kind = self.integer(last), f"<{lanes} x i64>"
            first = self.fn.emit(f"insertelement {kind} poison, i64 {limit}, i32 0", scope.entry)
            every = self.fn.emit(f"shufflevector {kind} {first}, {kind} poison, <{lanes} x i32> zeroinitializer", scope.entry)
            index = f"<{', '.join(f'i64 {i}' for i in range(lanes))}>"
            scope.known[key] = self.fn.emit(f"icmp sle {kind} {index}, {every}", scope.entry)
        return scope.known[key]
