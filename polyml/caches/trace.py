"""Program -> LLVM text that makes every access of its instances, to simulated caches instead of memory.

Loops, guards and subscripts are those of the compiled kernel, sizes and addresses are numbers. An instance uses what its
statement reads, in the source's order, then what it writes; an access that a condition on data decides counts as made. So does
one that the kernel spares because a register holds the element.

Of several threads each runs the whole program, but makes only its own accesses: those of its shares of parallel loops that are
long enough to be shared, and, if it is the first one, all outside of them. Shares are the compiled kernel's. Where its threads
take share after share, or iteration after iteration, as they are done with the one before, they are dealt in turn here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import groupby

from polyml.caches import header, levels, requests, stack
from polyml.caches.layout import Layout, counter
from polyml.caches.numbers import Numbered
from polyml.caches.placement import Placed, in_memory
from polyml.caches.turns import in_turn
from polyml.codegen import llvm
from polyml.codegen.accesses import reads_and_write
from polyml.codegen.ast import Instance, Loop, Node, Program, instances, loops
from polyml.codegen.body import Scope
from polyml.codegen.ir import Unit
from polyml.codegen.share import equal_part, even_part, is_uneven, trips
from polyml.errors import PolymlValueError
from polyml.model.nest import subvalues
from polyml.model.scop import Gather

ENTRY = "polyml_trace"


@dataclass(frozen=True)
class Reference:
    """One access of a statement: number `position` of its reads, and behind them its write."""

    statement: str
    position: int
    array: str
    is_write: bool


def references(program: Program) -> tuple[Reference, ...]:
    """Those to memory, by the statements' order in the text. Raises PolymlValueError where data decide which elements are used."""
    found = []
    for name in dict.fromkeys(node.statement for node in instances(program.body)):
        statement = program.scop.statements[name]
        by_data = next((value for value in subvalues(statement.value) if isinstance(value, Gather)), None)
        if by_data is not None:
            raise PolymlValueError(f"data decide which elements of {by_data.array} are used; they are not simulated", loc=by_data.loc)
        for position, access in enumerate(reads_and_write(statement)):
            if in_memory(program.scop.arrays[access.array]):
                found.append(Reference(name, position, access.array, position == len(statement.reads)))
    return tuple(found)


def trace(
    program: Program, sizes: Mapping[str, int], places: Mapping[str, Placed], layout: Layout, threads: int = 1
) -> tuple[Unit, ...]:
    """`i64 @polyml_trace(ptr state, ptr counters, i64 thread)`, of one of so many threads, and the functions of its caches."""
    tracer = _Tracer(program, sizes, places, layout, threads)
    functions = [*tracer.define(program.body if threads > 1 else in_turn(program.body)), *levels.units(layout)]
    return (*functions, stack.unit(layout)) if layout.capacities else tuple(functions)


@dataclass(frozen=True)
class _Clock:
    """Of an innermost loop: how many uses came before it, where it begins, how many uses an iteration makes."""

    before: str
    lower: str
    loop: Loop
    uses: int


class _Tracer(Numbered):
    """The loops; what they compute are addresses alone."""

    thread = "%thread"

    def __init__(
        self, program: Program, sizes: Mapping[str, int], places: Mapping[str, Placed], layout: Layout, threads: int
    ):
        super().__init__(program, sizes, places, ENTRY, "i64 @{}(ptr %state, ptr %counters, i64 %thread)", threads)
        self.layout = layout
        self.is_counted = False  # whether a loop around has counted what is used
        self.clock: _Clock | None = None  # of that loop
        self._are_all_here = threads > 1  # whether every thread runs what comes next
        self.values = _Uses(self)

    def leave(self) -> None:
        if self.layout.sends:
            requests.mark(self.fn, requests.DONE)

    # -- several threads -------------------------------------------------------------------------------------------

    def nodes(self, nodes: tuple[Node, ...]) -> None:
        if not self._are_all_here:
            super().nodes(nodes)
            return
        for is_shared, group in groupby(nodes, _is_shared):
            if is_shared:
                super().nodes(tuple(group))
            else:
                self._alone(tuple(group))

    @property
    def can_fork(self) -> bool:
        return self._are_all_here

    def _alone(self, nodes: tuple[Node, ...]) -> None:
        """What the first thread runs."""
        fn = self.fn
        self.flush()
        first, after = fn.block("first"), fn.block("after")
        fn.branch(fn.emit(f"icmp eq i64 {self.thread}, 0"), first, after)
        fn.current = first
        self._are_all_here = False
        super().nodes(in_turn(nodes))
        self._are_all_here = True
        self.flush()
        fn.jump(after)
        fn.current = after

    def fork(self, node: Loop) -> None:
        """Its own shares of a parallel loop, between two barriers. Which these are the loop says as it is compiled."""
        fn, turned = self.fn, replace(node, body=in_turn(node.body))
        self._barrier()
        enough = fn.emit(f"icmp sge i64 {llvm.work(self, node)}, {llvm.PARALLEL_WORK}")
        threads = fn.emit(f"select i1 {enough}, i64 {self.threads}, i64 1")
        lower, upper = self.bounds(node)
        begin, after = fn.block("begin"), fn.block("after")
        fn.branch(fn.emit(f"icmp slt i64 {self.thread}, {threads}"), begin, after)
        fn.current = begin
        self._are_all_here = False
        if not node.last and is_uneven(node):
            count = trips(self, node, lower, upper)
            self._deal(count, threads, lambda number: self._one(turned, lower, number))
        else:
            each = llvm.SHARES if llvm.is_short(self.module.program, node) else 1
            shares = fn.emit(f"select i1 {enough}, i64 {self.threads * each}, i64 1")
            self._deal(shares, threads, lambda number: self._share(turned, self._part(node, lower, upper, (number, shares))))
        self._are_all_here = True
        fn.jump(after)
        fn.current = after
        self._barrier()

    def _deal(self, count: str, threads: str, run: Callable[[str], None]) -> None:
        """Run what the thread gets where each in turn is given one of 0 ... count - 1."""
        fn = self.fn
        before, own, done = fn.current, fn.block("own"), fn.block("done")
        fn.branch(fn.emit(f"icmp slt i64 {self.thread}, {count}"), own, done)
        fn.current = own
        number = fn.name()
        self.scopes.append(Scope(own))
        self.math.forget()
        run(number)
        self.flush()
        following = fn.emit(f"add i64 {number}, {threads}")
        own.phis.append(f"{number} = phi i64 [ {self.thread}, %{before.label} ], [ {following}, %{fn.current.label} ]")
        fn.branch(fn.emit(f"icmp slt i64 {following}, {count}"), own, done)
        self.scopes.pop()
        self.math.forget()
        fn.current = done

    def _one(self, node: Loop, lower: str, number: str) -> None:
        start = self.fn.emit(f"add i64 {lower}, {self.fn.emit(f'mul i64 {number}, {node.step}')}")
        self.counted(node, start, start)

    def _part(self, node: Loop, lower: str, upper: str, share: tuple[str, str]) -> tuple[str, str]:
        if node.last:
            return even_part(self, node, lower, upper, share)
        return equal_part(self, node, lower, trips(self, node, lower, upper), share)

    def _share(self, node: Loop, part: tuple[str, str]) -> None:
        if node.last:
            self.names[node.last] = (part[1], len(self.scopes) - 1)
        self.counted(node, *part)
        self.names.pop(node.last, None)

    def _barrier(self) -> None:
        if self.layout.sends:
            requests.mark(self.fn, requests.BARRIER)

    # -- uses ------------------------------------------------------------------------------------------------------

    def counted(self, node: Loop, lower: str, upper: str, then: Loop | None = None) -> str | None:
        """What an innermost loop uses is counted before it."""
        if self.is_counted or not all(isinstance(inside, Instance) for inside in node.body):
            return super().counted(node, lower, upper, then)
        self._count_iterations(node, lower, upper)
        self.is_counted = True
        end = super().counted(node, lower, upper, then)
        self.is_counted, self.clock = False, None
        return end

    def _count_iterations(self, node: Loop, lower: str, upper: str) -> None:
        many = self.iterations(node, lower, upper)
        uses = sum(self.values.count(inside, many) for inside in node.body)
        if self.layout.sends:
            self.clock = _Clock(self.advance(self.fn.emit(f"mul i64 {many}, {uses}")), lower, node, uses)

    def advance(self, uses: str) -> str:
        """The thread makes so many uses; gives how many it made before."""
        before = header.get(self.fn, header.USES)
        header.put(self.fn, header.USES, self.fn.emit(f"add i64 {before}, {uses}"))
        return before


def _is_shared(node: Node) -> bool:
    """Whether threads share a loop in there, or the node."""
    return any(loop.parallel and not loop.partial for loop in loops((node,)))


class _Uses:
    """In place of what evaluates statements: an instance uses lines."""

    def __init__(self, tracer: _Tracer):
        self._tracer = tracer
        self._numbers = {(r.statement, r.position): n for n, r in enumerate(references(tracer.module.program))}
        self._made = 0  # uses of the iteration, or of the instance, until now

    def count(self, node: Instance, times: str) -> int:
        """So many uses of each of the statement's references, whose number it gives."""
        layout, statement = self._tracer.layout, self._tracer.scop.statements[node.statement]
        numbers = [self._numbers.get((statement.name, position)) for position, _ in enumerate(reads_and_write(statement))]
        found = [number for number in numbers if number is not None]
        for number in found:
            counter(self._tracer.fn, "%counters", number * layout.counters + layout.accesses, times)
        return len(found)

    def instance(self, node: Instance) -> None:
        body, statement = self._tracer, self._tracer.scop.statements[node.statement]
        clock = body.clock
        if clock is None or node is clock.loop.body[0]:
            self._made = 0
        before = ""
        if not body.is_counted:
            uses = self.count(node, "1")
            before = body.advance(str(uses)) if body.layout.sends else ""
        iterators = dict(zip(statement.iterators, node.point))
        for position, access in enumerate(reads_and_write(statement)):
            number = self._numbers.get((statement.name, position))
            if number is not None:
                subscripts = tuple(e.substitute(iterators) for e in body.module.table.subscripts(access))
                self._use(body.pointer(access.array, subscripts), number, position == len(statement.reads), before)
                self._made += 1

    def _use(self, address: str, number: int, write: bool, before: str) -> None:
        fn, layout = self._tracer.fn, self._tracer.layout
        shift = layout.line_bytes.bit_length() - 1
        line = fn.emit(f"lshr i64 {fn.emit(f'ptrtoint ptr {address} to i64')}, {shift}")
        count = fn.emit(f"getelementptr i64, ptr %counters, i64 {number * layout.counters}")
        levels.touch(fn, line, count, write, layout, lambda: self._tell_time(before))
        if layout.capacities:
            stack.touch(fn, line, count, layout)

    def _tell_time(self, before: str) -> None:
        """How many uses the thread made before this one."""
        body, clock = self._tracer, self._tracer.clock
        if not body.layout.sends:
            return
        fn = body.fn
        if clock is not None:
            distance = fn.emit(f"sub i64 {body.names[clock.loop.var][0]}, {clock.lower}")
            iteration = distance if clock.loop.step == 1 else fn.emit(f"sdiv i64 {distance}, {clock.loop.step}")
            before = fn.emit(f"add i64 {clock.before}, {fn.emit(f'mul i64 {iteration}, {clock.uses}')}")
        header.put(fn, header.TIME, fn.emit(f"add i64 {before}, {self._made}"))
