"""Program -> LLVM text that makes all accesses of its instances, to simulated caches instead of memory.

Loops, guards and subscripts are those of the compiled kernel; sizes and addresses are numbers. An instance accesses what its
statement reads, in the source's order, then what it writes. An access that a condition on data decides counts as made, and so does
one that the kernel spares because a register holds the element.

Of several threads each one runs the whole program, but makes only its own accesses: those of its chunks of parallel loops that are
long enough to be shared, and, if it is the first thread, all those outside of them. Chunks are the compiled kernel's. Where the
kernel's threads take chunk after chunk, or iteration after iteration, as they finish, the simulation deals them out in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import groupby

from polyml.caches.simulator import level_functions, lru_stack, shared_requests, state_header
from polyml.caches.simulator.lane_order import in_lane_order
from polyml.caches.simulator.state_layout import StateLayout, counter
from polyml.codegen.ir.accesses import reads_and_write
from polyml.codegen.ir.array_layout import Placed, in_memory
from polyml.codegen.ir.program import Instance, Jam, Loop, Node, Program, instances, loops
from polyml.codegen.llvm import emit
from polyml.codegen.llvm.addresses import LoopScope
from polyml.codegen.llvm.builder import Unit
from polyml.codegen.llvm.constant_sizes import CallConstants, ConstantBody
from polyml.codegen.llvm.loops.counted_loop import CountedLoop
from polyml.codegen.llvm.loops.loop_bounds import bounds, trips
from polyml.codegen.llvm.loops.partial_results import HandOver
from polyml.codegen.llvm.outline import balanced_chunk, equal_chunk, is_uneven
from polyml.errors import PolymlValueError
from polyml.model.core.nest import subvalues
from polyml.model.core.scop import Gather
from polyml.quasi_affine.affine import Affine

ENTRY = "polyml_trace"
_STAY = 8  # iterations after which a use that never moves is seen again


@dataclass(frozen=True)
class ArrayReference:
    """An ArrayReference is one read or write of an array in the text of a statement; instances of the statement make the accesses.

    position: for a read, its number among the statement's reads; for the write, how many reads there are.
    """

    statement: str
    position: int
    array: str
    is_write: bool


def references(program: Program) -> tuple[ArrayReference, ...]:
    """Returns the references to arrays in memory, in the order of the statements in the program.

    Raises PolymlValueError where data decide which elements are accessed.
    """
    found = []
    for name in dict.fromkeys(node.statement for node in instances(program.body)):
        statement = program.scop.statements[name]
        by_data = next((value for value in subvalues(statement.value) if isinstance(value, Gather)), None)
        if by_data is not None:
            raise PolymlValueError(
                f"data decide which elements of {by_data.array} are used; they are not simulated", loc=by_data.loc
            )
        for position, access in enumerate(reads_and_write(statement)):
            if in_memory(program.scop.arrays[access.array]):
                found.append(ArrayReference(name, position, access.array, position == len(statement.reads)))
    return tuple(found)


def trace(
    program: Program, sizes: Mapping[str, int], places: Mapping[str, Placed], layout: StateLayout, threads: int = 1
) -> tuple[Unit, ...]:
    """Returns the LLVM function that makes all accesses of one of `threads` threads to the simulated caches, and what it calls.

    Its signature is `i64 @polyml_trace(ptr state, ptr counters, i64 thread)`.
    """
    tracer = _Tracer(program, sizes, places, layout, threads)
    return tuple(tracer.define(program.body if threads > 1 else in_lane_order(program.body)))


def caches(layout: StateLayout) -> tuple[Unit, ...]:
    """Returns the LLVM functions that a trace calls: those of the cache levels, and of the stack of lines where there is one."""
    return (*level_functions.units(layout), *([lru_stack.unit(layout)] if layout.capacities else []))


@dataclass(frozen=True)
class _InnermostLoop:
    """An _InnermostLoop describes a loop with only statement instances in its body, while code for the loop is emitted.

    lower, upper: names of the values of its bounds.
    before: the name of the value of how many accesses the thread made before the loop; "" where that is not needed.
    uses: how many accesses one iteration makes.
    """

    loop: Loop
    lower: str
    upper: str
    before: str
    uses: int


class _Tracer(ConstantBody):
    """A _Tracer emits a program's loops, in which each statement instance is replaced by its accesses to the simulated caches;
    values are not computed.
    """

    thread = "%thread"

    def __init__(self, program: Program, sizes: Mapping[str, int], places: Mapping[str, Placed], layout: StateLayout, threads: int):
        constants = CallConstants(sizes, places, threads)
        super().__init__(program, constants, ENTRY, "i64 @{}(ptr %state, ptr %counters, i64 %thread)")
        self.layout = layout
        self.innermost: _InnermostLoop | None = None  # the loop around, which has counted what is used
        self._are_all_here = threads > 1  # whether every thread runs what comes next
        self.uses = self.statements = _AccessEmitter(self)

    def leave(self) -> None:
        """Emits the request that says that the thread has finished, where threads share caches."""
        if self.layout.sends:
            shared_requests.mark(self.fn, shared_requests.DONE)

    # -- several threads -------------------------------------------------------------------------------------------

    def nodes(self, nodes: tuple[Node, ...]) -> None:
        """Emits nodes of the program. Where several threads run the program, nodes without a parallel loop are run by the first
        thread only.
        """
        if not self._are_all_here:
            super().nodes(nodes)
            return
        for is_shared, group in groupby(nodes, _is_shared):
            if is_shared:
                super().nodes(tuple(group))
            else:
                self._alone(tuple(group))

    def _alone(self, nodes: tuple[Node, ...]) -> None:
        """Emits nodes of the program that only the first thread runs, inside a test of the thread's number."""
        fn = self.fn
        self.flush()
        first, after = fn.block("first"), fn.block("after")
        fn.branch(fn.emit(f"icmp eq i64 {self.thread}, 0"), first, after)
        fn.current = first
        self._are_all_here = False
        super().nodes(in_lane_order(nodes))
        self._are_all_here = True
        self.flush()
        fn.jump(after)
        fn.current = after

    def fork(self, node: Loop) -> bool:
        """Emits those iterations of a parallel loop that the current thread runs, as they are divided in the compiled kernel,
        between two barriers. Returns True.

        Where the code around the loop is run by one thread only, emits nothing and returns False.
        """
        if not self._are_all_here:
            return False
        fn, scalar = self.fn, replace(node, body=in_lane_order(node.body))
        self._barrier()
        enough = fn.emit(f"icmp sge i64 {emit.work(self, node)}, {emit.PARALLEL_WORK}")
        threads = fn.emit(f"select i1 {enough}, i64 {self.threads}, i64 1")
        lower, upper = bounds(self, node)
        begin, after = fn.block("begin"), fn.block("after")
        fn.branch(fn.emit(f"icmp slt i64 {self.thread}, {threads}"), begin, after)
        fn.current = begin
        self._are_all_here = False
        if not node.last and is_uneven(node, self.module.program.thread):
            count = trips(self, node, lower, upper)
            self._deal(count, threads, lambda number: self._iteration(scalar, lower, number))
        else:
            each = emit.CHUNKS_PER_THREAD if emit.is_short(self.module.program, node) else 1
            shares = fn.emit(f"select i1 {enough}, i64 {self.threads * each}, i64 1")
            self._deal(
                shares, threads, lambda number: self._chunk(scalar, self._chunk_bounds(node, lower, upper, (number, shares)))
            )
        self._are_all_here = True
        fn.jump(after)
        fn.current = after
        self._barrier()
        return True

    def _deal(self, count: str, threads: str, run: Callable[[str], None]) -> None:
        """Emits a loop over the numbers among 0 ... count - 1 that the current thread gets; run(number) emits its body. Thread t
        gets the numbers t, t + threads, t + 2 * threads, ...

        threads: how many threads take part.
        """
        fn = self.fn
        before, own, done = fn.current, fn.block("own"), fn.block("done")
        fn.branch(fn.emit(f"icmp slt i64 {self.thread}, {count}"), own, done)
        fn.current = own
        number = fn.name()
        self.scopes.append(LoopScope(own))
        self.math.forget()
        run(number)
        self.flush()
        following = fn.emit(f"add i64 {number}, {threads}")
        own.phis.append(f"{number} = phi i64 [ {self.thread}, %{before.label} ], [ {following}, %{fn.current.label} ]")
        fn.branch(fn.emit(f"icmp slt i64 {following}, {count}"), own, done)
        self.scopes.pop()
        self.math.forget()
        fn.current = done

    def _iteration(self, node: Loop, lower: str, number: str) -> None:
        """Emits one iteration of a loop. lower: the loop's lower bound. number: which iteration, counted from 0."""
        start = self.fn.emit(f"add i64 {lower}, {self.fn.emit(f'mul i64 {number}, {node.step}')}")
        self.counted(CountedLoop(node, start, start))

    def _chunk_bounds(self, node: Loop, lower: str, upper: str, share: tuple[str, str]) -> tuple[str, str]:
        """Emits code for the bounds of one chunk of a loop; returns (first iterator, last iterator). share: (the chunk's number,
        how many chunks there are).
        """
        if node.last:
            return balanced_chunk(self, node, lower, upper, share)
        return equal_chunk(self, node, lower, trips(self, node, lower, upper), share)

    def _chunk(self, node: Loop, part: tuple[str, str]) -> None:
        """Emits the iterations of a loop in one chunk. part: the chunk's first and last iterator."""
        if node.last:
            self.names[node.last] = (part[1], len(self.scopes) - 1)
        self.counted(CountedLoop(node, *part))
        self.names.pop(node.last, None)

    def _barrier(self) -> None:
        """Emits the request that says that the thread is at a barrier, where threads share caches."""
        if self.layout.sends:
            shared_requests.mark(self.fn, shared_requests.BARRIER)

    # -- uses ------------------------------------------------------------------------------------------------------

    def counted(self, loop: CountedLoop) -> HandOver:
        """Emits a loop, and returns what the loop right after it goes on with, such as where it begins. In front of an innermost
        loop, code adds the number of accesses of all its iterations to the counters at once.
        """
        inside = [node for node in loop.node.body if isinstance(node, Instance)]
        if len(inside) < len(loop.node.body):
            return super().counted(loop)
        many = self.iterations(loop.node, loop.lower, loop.upper)
        uses = sum(self.uses.count(node, many) for node in inside)
        before = self.advance(self.fn.emit(f"mul i64 {many}, {uses}")) if self.layout.sends else ""
        self.innermost = _InnermostLoop(loop.node, loop.lower, loop.upper, before, uses)
        left = super().counted(loop)
        self.innermost = None
        return left

    def advance(self, uses: str) -> str:
        """Emits code that adds `uses` to the number of accesses that the thread made. Returns the name of the value of this number
        before.
        """
        before = state_header.get(self.fn, state_header.USES)
        state_header.put(self.fn, state_header.USES, self.fn.emit(f"add i64 {before}, {uses}"))
        return before


def _is_shared(node: Node) -> bool:
    """Returns whether a node is, or has in it, a parallel loop whose iterations are divided among the threads."""
    return any(loop.parallel and not loop.partial for loop in loops((node,)))


@dataclass(frozen=True)
class _ReferenceUse:
    """A _ReferenceUse is an access, by a reference in an instance, for which code is to be emitted.

    number: the reference's number in the order of `references`.
    subscripts: the subscripts of the element, as expressions in the variables of the loops around.
    """

    number: int
    array: str
    subscripts: tuple[Affine, ...]
    is_write: bool


class _AccessEmitter:
    """An _AccessEmitter emits the accesses that instances of statements make, in place of the code that computes their values."""

    def __init__(self, tracer: _Tracer):
        self._tracer = tracer
        self._numbers = {(r.statement, r.position): n for n, r in enumerate(references(tracer.module.program))}
        self._made = 0  # uses of the iteration, or of the instance, until now
        self._seen: dict[_ReferenceUse, str] = {}  # when the stack has to know of a use, where it need not always

    def count(self, node: Instance, times: str) -> int:
        """Emits code that adds `times` to the access counter of each of the statement's references. Returns how many references it
        has.
        """
        layout, uses = self._tracer.layout, self._uses(node)
        for use in uses:
            counter(self._tracer.fn, "%counters", use.number * layout.counters + layout.accesses, times)
        return len(uses)

    def instance(self, node: Instance) -> None:
        """Emits all accesses of one instance to memory."""
        body, before = self._tracer, ""
        innermost = body.innermost
        if innermost is None:
            self._made, self._seen = 0, {}
            uses = self.count(node, "1")
            before = body.advance(str(uses)) if body.layout.sends else ""
        elif node is innermost.loop.body[0]:
            self._made, self._seen = 0, self._seldom(innermost) if body.layout.capacities else {}
        for use in self._uses(node):
            self._use(use, before)
            self._made += 1

    def enter(self, jam: Jam) -> None:
        """Does nothing. It is called before a jam (a loop whose iterations run together), of which none is left here: `lane_order`
        has turned them into loops.
        """

    def _uses(self, node: Instance) -> list[_ReferenceUse]:
        """Returns the accesses of an instance to memory, reads first."""
        statement = self._tracer.scop.statements[node.statement]
        iterators, found = dict(zip(statement.iterators, node.point)), []
        for position, access in enumerate(reads_and_write(statement)):
            number = self._numbers.get((statement.name, position))
            if number is not None:
                subscripts = tuple(e.substitute(iterators) for e in self._tracer.module.table.subscripts(access))
                found.append(_ReferenceUse(number, access.array, subscripts, position == len(statement.reads)))
        return found

    def _use(self, use: _ReferenceUse, before: str) -> None:
        """Emits one access to the simulated caches. before: the value of how many accesses the thread made before the instance."""
        fn, layout = self._tracer.fn, self._tracer.layout
        line = fn.emit(f"lshr i64 {self._address(use)}, {layout.line_bytes.bit_length() - 1}")
        count = fn.emit(f"getelementptr i64, ptr %counters, i64 {use.number * layout.counters}")
        level_functions.touch(fn, line, count, use.is_write, layout, lambda: self._tell_time(before))
        if layout.capacities:
            lru_stack.touch(fn, line, count, layout, self._seen.get(use, ""))

    def _address(self, use: _ReferenceUse) -> str:
        """Emits code for the address in memory of an accessed element."""
        return self._tracer.fn.emit(f"ptrtoint ptr {self._tracer.pointer(use.array, use.subscripts)} to i64")

    def _seldom(self, innermost: _InnermostLoop) -> dict[_ReferenceUse, str]:
        """Returns {access: condition} for accesses that are left out of the stack (all lines in the order of their last use) in
        iterations in which the condition does not hold.

        Such an access stays in one line for several iterations, and only the first and the last of them are shown to the stack.
        Meanwhile the line may lie a few places too low; this changes no count, since even the smallest capacity holds all lines
        that are used in this time.
        """
        body, loop, line_bytes = self._tracer, innermost.loop, self._tracer.layout.line_bytes
        uses = [use for inside in loop.body if isinstance(inside, Instance) for use in self._uses(inside)]
        steps = {use: body.step_bytes(use.array, use.subscripts, loop) for use in uses}
        staying = {use: abs(step) for use, step in steps.items() if step is not None and 2 * abs(step) < line_bytes}
        moving = {use: step for use, step in staying.items() if step}
        iterations = max((-(-line_bytes // step) for step in moving.values()), default=_STAY) + 1
        if not staying or iterations * len(uses) > min(body.layout.capacities):
            return {}
        fn, counter_ = body.fn, body.names[loop.var][0]
        first = fn.emit(f"icmp eq i64 {counter_}, {innermost.lower}")
        last = fn.emit(f"icmp sgt i64 {fn.emit(f'add i64 {counter_}, {loop.step}')}, {innermost.upper}")
        ends = fn.emit(f"or i1 {first}, {last}")
        found, some = {}, ends
        for use, step in moving.items():  # from the line before, or to the next one
            inside = fn.emit(f"sub i64 {fn.emit(f'and i64 {self._address(use)}, {line_bytes - 1}')}, {step}")
            changes = fn.emit(f"icmp uge i64 {inside}, {line_bytes - 2 * step}")
            found[use], some = fn.emit(f"or i1 {ends}, {changes}"), fn.emit(f"or i1 {some}, {changes}")
        if not moving:
            distance = fn.emit(f"sub i64 {counter_}, {innermost.lower}")
            often = fn.emit(f"icmp eq i64 {fn.emit(f'urem i64 {distance}, {_STAY * loop.step}')}, 0")
            some = fn.emit(f"or i1 {ends}, {often}")
        return found | {use: some for use in staying if use not in moving}

    def _tell_time(self, before: str) -> None:
        """Emits code that stores the time of the next request: how many accesses the thread made before it.

        before: the name of the value of how many accesses the thread made before the current instance. In an innermost loop it is
            not used: there the number is computed from the loop's iterator.
        """
        body, innermost = self._tracer, self._tracer.innermost
        if not body.layout.sends:
            return
        fn = body.fn
        if innermost is not None:
            distance = fn.emit(f"sub i64 {body.names[innermost.loop.var][0]}, {innermost.lower}")
            iteration = distance if innermost.loop.step == 1 else fn.emit(f"sdiv i64 {distance}, {innermost.loop.step}")
            before = fn.emit(f"add i64 {innermost.before}, {fn.emit(f'mul i64 {iteration}, {innermost.uses}')}")
        state_header.put(fn, state_header.TIME, fn.emit(f"add i64 {before}, {self._made}"))
