"""Integers and addresses in one LLVM function, each computed in the outermost loop that knows its parts (loop-invariant motion)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce
from math import prod
from typing import Protocol

from polyml.codegen.analysis.access_conflicts import ConflictTest
from polyml.codegen.analysis.counters import counters
from polyml.codegen.analysis.integer_ranges import INTEGER_LIMIT, LeavesRange, Ranges
from polyml.codegen.costs.expression_costs import once_per_call
from polyml.codegen.ir.abi import SlotMap, SlotStride, Stride
from polyml.codegen.ir.accesses import AccessTable
from polyml.codegen.ir.jams import JamStack
from polyml.codegen.ir.local_memory import ARRAY_GAP
from polyml.codegen.ir.program import Guard, Loop, Program, loops
from polyml.codegen.llvm.arithmetic import Arithmetic, FloatArithmetic
from polyml.codegen.llvm.builder import BasicBlock, FunctionBuilder, Unit
from polyml.codegen.llvm.regions.array_scopes import ArrayScopes
from polyml.model.core.call_interface import ENDLESS, FIRST_FAILURE, Failure, Status
from polyml.model.core.scop import Array, Role
from polyml.quasi_affine.affine import (
    Affine,
    Atom,
    Choice,
    Compare,
    Condition,
    Extremum,
    FloorDiv,
    Logic,
    extremum,
    modulo,
    of_atom,
)

MOST_BYTES = 2**47  # more than any memory, for what is asked for while a program runs
LINE_BYTES = 64  # of a cache line, on which vectors should begin


@dataclass(frozen=True)
class ArrayArguments:
    """An ArrayArguments holds what the code may assume of the kernel's array arguments.

    layouts: per array "C", "F" or "A": the last, the first or no dimension is known to have a stride of one element.
    aliased: whether arrays may overlap; then accesses keep their order and no element stays in a register across statements.
    """

    layouts: tuple[str, ...]
    aliased: bool


class ArrayStrides(Protocol):
    """An ArrayStrides gives the strides of arrays: as a call says them (`SlotMap`), or as constants."""

    def strides(self, array: str) -> tuple[Stride, ...]:
        """Returns the array's strides in bytes, by dimension."""

    def unaligned(self, array: str) -> bool:
        """Returns whether the array's elements may begin at any byte, not only at multiples of their size."""


@dataclass
class Module:
    """A Module holds what the LLVM functions of one kernel share while they are emitted.

    program: the program that the kernel runs.
    arguments, floats: what may be assumed of array arguments, and how floats are computed.
    threads: whether parallel loops may run on several threads.
    finished: a callback that is called with each function as soon as its text is complete.
    units: the functions whose text is complete.
    """

    program: Program
    arguments: ArrayArguments
    floats: FloatArithmetic
    threads: bool
    finished: Callable[[Unit], None]
    units: list[Unit] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.scop = self.program.scop
        self.table = AccessTable(self.scop.context)
        self.slots = SlotMap.of(self.program, self.arguments.layouts)
        self.layout: ArrayStrides = self.slots
        self.ranges = Ranges(self.program)
        self.conflicts = ConflictTest(self.scop, self.table)
        # local arrays of one element are on the kernel's stack, the others in one block of memory
        self.owned = [a for a in self.scop.arrays.values() if a.role is Role.LOCAL]
        self.symbols = frozenset(p.name for p in self.scop.parameters)
        self.ends = frozenset(p.name for p in self.scop.parameters if p.found)
        self.private = {a for loop in loops(self.program.body) for a in loop.private}
        self.has_regions = self.scop.has_regions
        self.scopes = ArrayScopes.of([*self.scop.arrays.values()], self.arguments.aliased)
        self.counters = counters(self.scop)
        self.once = frozenset[int]().union(*(once_per_call(statement.value) for statement in self.scop.statements.values()))

    def failure(self, place: Failure) -> int:
        """Returns the lowest 16 bits of the status with which a kernel ends at a place of a region."""
        return FIRST_FAILURE + self.scop.failures.index(place)


@dataclass
class LoopScope:
    """A LoopScope is where values are emitted that depend on one loop's variable and on no loop further inside, so that they are
    computed once per iteration of that loop. The function's own scope has the values that depend on no loop.

    entry: the block that the instructions are appended to.
    innermost: whether the loop has no loop inside.
    known: { what a value is -> its SSA name }, of the values computed in the scope.
    extrema: the minima and maxima of the scope: { (min or max, its operands, less the least of their constant terms) -> (the SSA
        name of its value, that constant term) }.
    """

    entry: BasicBlock
    innermost: bool = False
    known: dict[object, str] = field(default_factory=dict)
    extrema: dict[tuple[str, frozenset], tuple[str, int]] = field(default_factory=dict)


# a term of an address in bytes: (integer, stride, factor), whose product is meant; None for an integer or a stride of 1
_Term = tuple[Atom | None, Stride | None, int]


def _in_order(terms: list[_Term]) -> list[_Term]:
    """Returns the terms sorted by their texts, so that their order does not depend on where they came from."""
    return terms if len(terms) == 1 else sorted(terms, key=str)


class Addresses:
    """An Addresses emits the integers and addresses of one LLVM function.

    names: { loop variable or other integer -> (its SSA name, the index in `scopes` of the scope in which it has its value) }.
    scopes: the function's own scope, then those of the loops around the code that is emitted now, outermost first.
    jams, path: the Jams (loops whose iterations run together) around that code; the loops and guards around it, outermost first.
    slots_pointer, overflow: the addresses of the call's words (`SlotMap`) and of a flag, set if a Python int leaves 64 bits.
    once: the block that the values are computed in that are the same in the whole call; None where the program has none.
    rough: whether LLVM's passes have to optimise the function: it has regions, or makes Python ints in loops.
    """

    thread = "0"  # the number of the thread that runs this function
    slots_pointer: str  # the address of the words of the call, see `SlotMap`
    overflow: str  # the address of the flag that is set when a Python integer leaves 64 bits

    def __init__(self, module: Module, name: str, signature: str):
        """Starts the function of this name. signature: its LLVM signature, with {} for the name."""
        self.module, self.scop = module, module.scop
        self.name = name
        self.declared: dict[str, str] = {}
        self.fn = FunctionBuilder(signature.format(name))
        self.math = Arithmetic(self.fn, module.floats, self.declared)
        self.scopes = [LoopScope(self.fn.current)]
        self.names: dict[str, tuple[str, int]] = {}
        self.jams = JamStack()
        self.path: list[Loop | Guard] = []
        self._loop_ends: dict[str, BasicBlock] = {}
        self.once: BasicBlock | None = None
        self.rough = module.has_regions
        self.restarts = False  # whether an error where the code is ends the call so that plain Python runs it again

    def acquired(self, size_bytes: str) -> str:
        """Emits the allocation of memory while the program runs, and returns its address, an i64; 0 where there is none."""
        self.declared["polyml_acquire"] = "declare ptr @polyml_acquire(i64)"
        room = self.fn.emit(f"add i64 {size_bytes}, {ARRAY_GAP}")
        fits = self.fn.emit(f"icmp ult i64 {room}, {MOST_BYTES}")
        block = self.fn.emit(f"call ptr @polyml_acquire(i64 {self.fn.emit(f'select i1 {fits}, i64 {room}, i64 {MOST_BYTES}')})")
        return self.fn.emit(f"ptrtoint ptr {block} to i64")

    def release(self, address: str) -> None:
        """Emits that memory is given back, if there is any. address: an i64, 0 where there is none"""
        fn, give, after = self.fn, self.fn.block("give"), self.fn.block("after")
        self.declared["polyml_release"] = "declare void @polyml_release(ptr)"
        fn.branch(fn.emit(f"icmp eq i64 {address}, 0"), after, give)
        fn.current = give
        fn.do(f"call void @polyml_release(ptr {fn.emit(f'inttoptr i64 {address} to ptr')})")
        fn.jump(after)
        fn.current = after

    def fail(self, status: str) -> None:
        """Ends the current block with a jump to where the function ends, because of an error in a region.

        status: that of the call, as the SSA name of an i64 or a constant. Functions that hold no regions have no such end.
        """
        raise TypeError(f"{type(self).__name__} holds no regions")

    def told(self, status: str) -> str:
        """Returns the status with which the function ends because of an error in a region, of which the own status is given."""
        return str(int(Status.RESTARTED)) if self.restarts else status

    def loop_end(self, var: str) -> BasicBlock:
        """Returns the block behind the last iteration of the loop of this variable around the code, which exits may jump to."""
        if var not in self._loop_ends:
            self._loop_ends[var] = self.fn.block("leave")
        return self._loop_ends[var]

    def ended_loop(self, var: str) -> BasicBlock:
        """Returns this block where the loop itself ends."""
        block = self.loop_end(var)
        del self._loop_ends[var]
        return block

    def begin_loops(self) -> None:
        """Starts the block in which the loops begin. One for what is computed once stands before it, if the program has such values."""
        if self.module.once:
            for hint in ("once", "loops"):
                block = self.fn.block(hint)
                self.fn.jump(block)
                self.fn.current = block
                self.once = self.once or block

    def depth(self, name: str) -> int:
        """Returns the index in `scopes` of the scope in which an integer has its value; 0 for parameters, read on first use."""
        if name not in self.names:
            self.names[name] = (self.parameter(name), 0)
        return self.names[name][1]

    def parameter(self, name: str) -> str:
        """Emits the read of a parameter in the function's entry, and returns its value: an SSA name or a constant."""
        program = self.module.program
        if name in program.phases:
            return self._phase(program.phases[name])
        if name == program.threads:
            return self.word(0)
        if name == program.thread:
            return self.thread
        if name in self.module.ends:
            return str(ENDLESS)
        return self.word(self.module.slots.parameter(name))

    def _phase(self, array: str) -> str:
        """Emits the number of elements from a cache line's start to the array's first one, and returns its SSA name."""
        entry, size_bytes = self.scopes[0].entry, self.scop.arrays[array].element.size_bytes
        address = self.fn.emit(f"ptrtoint ptr {self.base(array)} to i64", entry)
        offset = self.fn.emit(f"and i64 {address}, {LINE_BYTES - 1}", entry)
        return self.fn.emit(f"sdiv i64 {offset}, {size_bytes}", entry)

    def word(self, index: int, kind: str = "i64") -> str:
        """Emits the load of word number `index` of the call (see `SlotMap`), once in the function's entry. Returns its SSA name."""
        scope = self.scopes[0]
        key = ("slot", index, kind)
        if key not in scope.known:
            pointer = self.fn.emit(f"getelementptr i64, ptr {self.slots_pointer}, i64 {index}", scope.entry)
            scope.known[key] = self.fn.emit(f"load {kind}, ptr {pointer}", scope.entry)
        return scope.known[key]

    def integer(self, e: Affine) -> str:
        """Emits the expression in the scope of the outermost loop in which all its names have values. Returns an SSA name or a
        constant.

        Raises LeavesRange if the value may not fit 64 bits.
        """
        if e.is_constant:
            if not -(2**63) <= e.constant < 2**63:
                raise LeavesRange(f"{e} leaves 64 bits")
            return str(e.constant)
        depth = self.deepest(e.names)
        scope = self.scopes[depth]
        if e in scope.known:
            return scope.known[e]
        self.module.ranges.check(e)
        outer = [(a, c) for a, c in e.terms if self._atom_depth(a) < depth]
        here = [(a, c) for a, c in e.terms if self._atom_depth(a) == depth]
        total = self.integer(Affine(e.constant, tuple(outer))) if outer or e.constant else None
        for atom, c in sorted(here, key=lambda term: term[1] == -1):  # subtractions last
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
        """Emits value * factor, once in the scope, and returns the SSA name; `value` itself if the factor is 1."""
        if factor == 1:
            return value
        key = ("times", value, factor)
        if key not in scope.known:
            scope.known[key] = self.fn.emit(f"mul i64 {value}, {factor}", scope.entry)
        return scope.known[key]

    def _atom_depth(self, atom: Atom) -> int:
        """Returns the index in `scopes` of the outermost scope where all names of the atom have values, so it can be computed."""
        return self.depth(atom) if isinstance(atom, str) else self.deepest(atom.names)

    def deepest(self, names: frozenset[str]) -> int:
        """Returns the index in `scopes` of the outermost scope in which the values of all the names are known."""
        found = 0
        for name in names:
            known = self.names.get(name)
            if known is None:  # in a fixed order, so that the text is the same in every process
                return max(map(self.depth, sorted(names)))
            found = max(found, known[1])
        return found

    def _atom(self, atom: Atom, scope: LoopScope) -> str:
        """Emits an atom (a name, floor division, minimum or maximum, or conditional value) in the scope. Returns its SSA name."""
        if isinstance(atom, str):
            return self.names[atom][0]
        if isinstance(atom, FloorDiv):
            is_positive = self.module.ranges.of(atom.operand)[0] >= 0
            return self._floor_div(self.integer(atom.operand), atom.divisor, scope.entry, is_positive)
        if isinstance(atom, Extremum):
            return self._extremum(atom, scope)
        if isinstance(atom, Choice):
            test = self.condition(atom.condition, scope.entry)
            then, orelse = self.integer(atom.then), self.integer(atom.orelse)
            return self.fn.emit(f"select i1 {test}, i64 {then}, i64 {orelse}", scope.entry)
        raise TypeError(f"not an integer atom: {atom}")

    def _extremum(self, atom: Extremum, scope: LoopScope) -> str:
        """Emits a minimum or maximum, and returns its SSA name. If an earlier one has the same operands but for a constant that was
        added to all of them, the constant is added to its value instead.
        """
        decided = self._decided(atom)
        if decided is not None:
            return self.integer(decided)
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

    def _decided(self, atom: Extremum) -> Affine | None:
        """Returns the operand that is the minimum or maximum whatever the values of its names are; None where there is none."""
        ranges = [self.module.ranges.of(operand) for operand in atom.operands]
        for position, (operand, (low, high)) in enumerate(zip(atom.operands, ranges)):
            others = [*ranges[:position], *ranges[position + 1 :]]
            if all(high <= least if atom.op == "min" else low >= most for least, most in others):
                return operand
        return None

    def _floor_div(self, value: str, divisor: int, at: BasicBlock, is_positive: bool = False) -> str:
        """Emits floor(value / divisor), by a shift if the divisor is a power of two, and returns its SSA name.

        is_positive: whether the value is known not to be negative.
        """
        if divisor & (divisor - 1) == 0:
            return self.fn.emit(f"ashr i64 {value}, {divisor.bit_length() - 1}", at)
        if is_positive:
            return self.fn.emit(f"udiv i64 {value}, {divisor}", at)
        quotient = self.fn.emit(f"sdiv i64 {value}, {divisor}", at)
        back = self.fn.emit(f"mul i64 {quotient}, {divisor}", at)
        below = self.fn.emit(f"icmp slt i64 {value}, {back}", at)
        adjust = self.fn.emit(f"sext i1 {below} to i64", at)
        return self.fn.emit(f"add i64 {quotient}, {adjust}", at)

    def condition(self, c: Condition, at: BasicBlock | None = None) -> str:
        """Emits the condition in block `at`, by default the current one, and returns its truth value, an i1."""
        if isinstance(c, Compare):
            return self._compared(c, at)
        if not c.parts:
            return "true" if c.op == "and" else "false"
        apart = _difference(c)
        if apart is not None:
            positive, negative = (Affine(0, tuple([(a, abs(k)) for a, k in apart.terms if k * sign > 0])) for sign in (1, -1))
            return self.fn.emit(f"icmp ne i64 {self.integer(positive + apart.constant)}, {self.integer(negative)}", at)
        total = self.condition(c.parts[0], at)
        for part in c.parts[1:]:
            total = self.fn.emit(f"{c.op} i1 {total}, {self.condition(part, at)}", at)
        return total

    def _compared(self, c: Compare, at: BasicBlock | None) -> str:
        """Emits a comparison with 0, and returns its truth value, an i1. For x + c or c - x, x and a constant are compared."""
        value, bound, test = c.expr, 0, "sge" if c.op == ">=" else "eq"
        if len(c.expr.terms) == 1 and abs(c.expr.terms[0][1]) == 1:
            self.module.ranges.check(c.expr)
            ((atom, sign),) = c.expr.terms
            value, bound = of_atom(atom), -sign * c.expr.constant
            test = "sle" if test == "sge" and sign < 0 else test
        return self.fn.emit(f"icmp {test} i64 {self.integer(value)}, {bound}", at)

    def pointer(self, array: str, subscripts: tuple[Affine, ...], begins_word: bool = False) -> str:
        """Emits the address of one element, and returns its SSA name. begins_word: whether it is known to be the first one of a
        word (`Window.word`).

        Each term of the address is added in the outermost loop in which its value is known. Terms from constants in subscripts come
        last, so that neighbouring elements share all others; but in an innermost loop they come before the loop's own terms.
        """
        steps, subscripts = self.module.layout.strides(array), self.within_window(array, subscripts, begins_word)
        fixed = 0
        by_depth: dict[int, list[_Term]] = {}
        constant_terms: list[_Term] = []
        for e, stride in zip(subscripts, steps):
            for atom, c in e.terms:
                term = (atom, None, c * stride) if isinstance(stride, int) else (atom, stride, c)
                by_depth.setdefault(self._atom_depth(atom), []).append(term)
            if isinstance(stride, int):
                fixed += e.constant * stride
            elif e.constant:
                constant_terms.append((None, stride, e.constant))
        groups = [(depth, _in_order(by_depth[depth])) for depth in sorted(by_depth)]
        if constant_terms:
            behind = len(groups) - bool(groups and self.scopes[groups[-1][0]].innermost)
            groups.insert(behind, (groups[behind - 1][0] if behind else 0, constant_terms))
        pointer = self.base(array)
        done: tuple[_Term, ...] = ()
        for depth, group in groups:
            before, done, scope = done, (*done, *group), self.scopes[depth]
            if group is constant_terms and len(constant_terms) == 1:
                ((_, row_stride, rows),) = constant_terms
                one = 1 if rows > 0 else -1
                neighbour = scope.known.get((array, (*before, (None, row_stride, rows - one))))
                if neighbour is not None:  # the next row is reached without a register for the distance
                    pointer, group = neighbour, [(None, row_stride, one)]
            pointer = self._advance(pointer, array, done, group, scope)
        if fixed:
            pointer = self.math.once(f"getelementptr i8, ptr {pointer}, i64 {fixed}")
        return pointer

    def within_window(self, array: str, subscripts: tuple[Affine, ...], begins_word: bool = False) -> tuple[Affine, ...]:
        """Returns an element's subscripts counted from the start of the array's window, the part with memory (a `Window`). For a
        window with words they are those of the place in memory, were it without: [..., k, j] is at [..., k - r, word*j + r], where
        r is the element's place in its word.

        begins_word: whether the element is known to be the first one of a word.
        """
        window = self.module.program.windows.get(array)
        if window is None:
            return subscripts
        subscripts = tuple(e - low for e, low in zip(subscripts, window.low))
        if window.word > 1:
            *others, row, column = subscripts
            place = Affine(0) if begins_word else modulo(row, window.word)
            return (*others, row - place, column * window.word + place)
        length = None if window.folded is None else window.lengths[window.folded]
        if window.folded is None or length is None:
            return subscripts
        here = modulo(subscripts[window.folded], length)
        return (*subscripts[: window.folded], here, *subscripts[window.folded + 1 :])

    def _advance(self, pointer: str, array: str, key: tuple[_Term, ...], terms: list[_Term], scope: LoopScope) -> str:
        """Emits the pointer plus the terms, and returns its SSA name. key: all terms from the array's start to there, for reuse."""
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
        """Returns a stride in bytes: as a constant, or as the SSA name of a word of the call or of a product of sizes."""
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
        """Returns the address of the array's first element."""
        return self.word(self.module.slots.data(array), "ptr")

    def thread_bytes(self, array: str) -> str:
        """Emits the distance in bytes, in whole cache lines, of the threads' copies of a private array, and returns the SSA name: it is
        the same for all private arrays of one place, so that no thread's copy of one lies where another thread has its copy of another.
        """
        owners = self.module.program.shared
        place = [
            a for a in self.module.owned if a.name in self.module.private and owners.get(a.name, a.name) == owners.get(array, array)
        ]
        first, *others = (self.whole_lines(self.size_bytes(a), 64) for a in place)
        return reduce(self.greater, others, first)

    def greater(self, one: str, other: str) -> str:
        """Emits the greater of two numbers without a sign, and returns the SSA name."""
        self.declared["llvm.umax.i64"] = "declare i64 @llvm.umax.i64(i64, i64)"
        return self.fn.emit(f"call i64 @llvm.umax.i64(i64 {one}, i64 {other})")

    def size_bytes(self, array: Array, whole: bool = False) -> str:
        """Emits the size in bytes of a local array's memory: of all elements if `whole` or if it has no window, else of the window.
        Returns the SSA name. The size is 2**63 or more if NumPy has no array of this shape, even one without elements.
        """
        lengths = self._lengths(array, whole)
        if self.most_bytes(array, whole) <= INTEGER_LIMIT:
            total = str(array.element.size_bytes * prod(max(e.constant, 0) for e in lengths if e.is_constant))
            for e in lengths:
                if not e.is_constant:
                    count = e if self.module.ranges.of(e)[0] >= 0 else extremum("max", [Affine(), e])
                    total = self.fn.emit(f"mul i64 {total}, {self.integer(count)}")
            return total
        size, empty = str(array.element.size_bytes), "false"
        for length in map(self.integer, lengths):
            some = self.fn.emit(f"icmp sgt i64 {length}, 0")
            empty = self.fn.emit(f"select i1 {some}, i1 {empty}, i1 true")
            size = self.product(size, self.fn.emit(f"select i1 {some}, i64 {length}, i64 1"))
        nothing = self.fn.emit(f"and i1 {empty}, {self.fn.emit(f'icmp sge i64 {size}, 0')}")
        return self.fn.emit(f"select i1 {nothing}, i64 0, i64 {size}")

    def most_bytes(self, array: Array, whole: bool = False) -> int:
        """Returns a size in bytes that `size_bytes` of the array does not exceed, nor the product of those lengths that are not 0."""
        return array.element.size_bytes * prod(max(self.module.ranges.of(e)[1], 1) for e in self._lengths(array, whole))

    def _lengths(self, array: Array, whole: bool) -> list[Affine]:
        """Returns the lengths of a local array's dimensions: of all elements if `whole` or if it has no window, else of the window."""
        window = None if whole else self.module.program.windows.get(array.name)
        lengths = [None] * len(array.shape) if window is None else window.lengths
        return [self.module.table.affine(e) if n is None else Affine(n) for e, n in zip(array.shape, lengths)]

    def whole_lines(self, size: str, more: int) -> str:
        """Emits size + more, rounded up to whole cache lines, and returns the SSA name. It is 2**63 or more if the sum is."""
        return self.fn.emit(f"and i64 {self.total(size, str(63 + more))}, -64")

    def product(self, a: str, b: str) -> str:
        """Emits a * b of unsigned numbers, which stops at 2**64 - 1, and returns the SSA name."""
        self.declared.setdefault("llvm.umul.with.overflow.i64", "declare {i64, i1} @llvm.umul.with.overflow.i64(i64, i64)")
        pair = self.fn.emit(f"call {{i64, i1}} @llvm.umul.with.overflow.i64(i64 {a}, i64 {b})")
        value, over = (self.fn.emit(f"extractvalue {{i64, i1}} {pair}, {part}") for part in (0, 1))
        return self.fn.emit(f"select i1 {over}, i64 -1, i64 {value}")

    def total(self, a: str, b: str) -> str:
        """Emits a + b of unsigned numbers, which stops at 2**64 - 1, and returns the SSA name."""
        self.declared.setdefault("llvm.uadd.sat.i64", "declare i64 @llvm.uadd.sat.i64(i64, i64)")
        return self.fn.emit(f"call i64 @llvm.uadd.sat.i64(i64 {a}, i64 {b})")

    def lanes_up_to(self, last: Affine, lanes: int) -> str:
        """Emits the mask of lanes 0 ... last, <lanes x i1>, in the outermost loop where `last` is known. Returns its SSA name."""
        scope = self.scopes[self.deepest(last.names)]
        key = ("lanes", last, lanes)
        if key not in scope.known:
            limit, kind = self.integer(last), f"<{lanes} x i64>"
            first = self.fn.emit(f"insertelement {kind} poison, i64 {limit}, i32 0", scope.entry)
            every = self.fn.emit(f"shufflevector {kind} {first}, {kind} poison, <{lanes} x i32> zeroinitializer", scope.entry)
            index = f"<{', '.join(f'i64 {i}' for i in range(lanes))}>"
            scope.known[key] = self.fn.emit(f"icmp sle {kind} {index}, {every}", scope.entry)
        return scope.known[key]


def _difference(condition: Logic) -> Affine | None:
    """Returns x for the condition `x > 0 or x < 0`, as isl writes `x != 0`; None for any other condition."""
    if condition.op != "or" or len(condition.parts) != 2:
        return None
    first, second = condition.parts
    if not (isinstance(first, Compare) and isinstance(second, Compare) and first.op == second.op == ">="):
        return None
    return first.expr + 1 if first.expr + second.expr == Affine(-2) else None
