"""Parallel loops become functions of their own, which the threads of the pool call (outlining)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from polyml import polyhedra
from polyml.codegen.ir.program import Guard, Instance, Loop, Node, instances, loops
from polyml.codegen.llvm.addresses import LoopScope, Module
from polyml.codegen.llvm.function import Body
from polyml.codegen.llvm.loops import loop_bounds
from polyml.codegen.llvm.loops.counted_loop import CountedLoop
from polyml.codegen.llvm.ssa_value import memory_type
from polyml.frontend import syntax, traversal
from polyml.frontend.name_resolution import statements
from polyml.quasi_affine.affine import variable

STATUS_WORD = 2  # of the words that tell of the first error in a region: a lock, its iteration, its status
_FAIL = """define internal void @polyml_fail(ptr %words, i64 %iteration, i64 %status) nounwind cold noinline {
entry:
  br label %take
take:
  %old = atomicrmw xchg ptr %words, i64 1 acquire
  %taken = icmp ne i64 %old, 0
  br i1 %taken, label %take, label %compare
compare:
  %first = getelementptr i64, ptr %words, i64 1
  %answer = getelementptr i64, ptr %words, i64 2
  %before = load i64, ptr %first
  %known = load i64, ptr %answer
  %none = icmp eq i64 %known, 0
  %earlier = icmp slt i64 %iteration, %before
  %counts = or i1 %none, %earlier
  br i1 %counts, label %keep, label %give
keep:
  store i64 %iteration, ptr %first
  store i64 %status, ptr %answer
  br label %give
give:
  store atomic i64 0, ptr %words release, align 8
  ret void
}"""


@dataclass(frozen=True)
class LoopEnvironment:
    """A LoopEnvironment holds what an outlined loop takes from the function around it.

    path: the loops and guards around it, outermost first.
    arrays: local arrays whose addresses it gets.
    names: loop variables and other integers whose values it gets.
    own: local numbers of which each thread has its own.
    """

    path: Sequence[Loop | Guard]
    arrays: Sequence[str]
    names: Sequence[str]
    own: Sequence[str] = ()


class OutlinedLoop(Body):
    """An OutlinedLoop emits the function that runs chunk number `share` of the `shares` chunks of a parallel loop: `void f(ptr
    environment, i64 share, i64 shares)`.

    The 64-bit words at `environment` are the address of the kernel's arguments (see `SlotMap`), the next iteration to take, the
    address of the overflow flag, addresses of local arrays, and values of outer loop variables.
    """

    thread = "%share"

    def __init__(self, module: Module, name: str, node: Loop, environment: LoopEnvironment):
        super().__init__(module, name, "hidden void @{}(ptr noalias %environment, i64 %share, i64 %shares)")
        self._node = node
        self.path = list(environment.path)
        self.slots_pointer = self._word(0, "ptr")
        self.overflow = self._word(2, "ptr")
        self._local = {a: self._word(3 + i, "ptr") for i, a in enumerate(environment.arrays)}
        for array in environment.own:
            self._local[array] = self.fn.emit(f"alloca {memory_type(self.scop.arrays[array].element)}")
        for i, name in enumerate(environment.names):
            self.names[name] = (self._word(3 + len(environment.arrays) + i, "i64"), 0)
        if may_fail(module, node):
            self.failure = self._word(3 + len(environment.arrays) + len(environment.names), "ptr")
        for array in node.private:
            offset = self.fn.emit(f"mul i64 %share, {self.thread_bytes(array)}")
            self._local[array] = self.fn.emit(f"getelementptr i8, ptr {self._local[array]}, i64 {offset}")

    def _word(self, index: int, kind: str) -> str:
        """Emits the load of word number `index` of the environment, and returns its SSA name. kind: its LLVM type."""
        address = self.fn.emit(f"getelementptr i64, ptr %environment, i64 {index}")
        return self.fn.emit(f"load {kind}, ptr {address}")

    def base(self, array: str) -> str:
        """Returns the address of the array's first element."""
        return self._local[array] if array in self._local else super().base(array)

    def define(self) -> None:
        """Emits the whole function, which runs one chunk of the loop."""
        fn, node = self.fn, self._node
        if self.module.has_regions:
            self.failed = fn.block("failed")
            self.failed.terminator = "ret void"
        start = fn.block("start")
        fn.jump(start)
        fn.current = start
        if self.rough:
            self._assume_checked()
        self.begin_loops()
        self.module.ranges.enter(node)
        lower, upper = loop_bounds.ends(self, node)
        if node.last:
            self._even(lower, upper)
        elif is_uneven(node, self.module.program.thread):
            self._dynamic(lower, loop_bounds.trips(self, node, lower, upper))
        else:
            first, last = equal_chunk(self, node, lower, loop_bounds.trips(self, node, lower, upper), ("%share", "%shares"))
            if self.rough:
                self._assume(f"icmp sge i64 {first}, {lower}", f"icmp sle i64 {last}, {upper}")
            self.counted(CountedLoop(node, first, last))
        fn.current.terminator = "ret void"

    def _assume_checked(self) -> None:
        """Emits what the checks at entry have found of sizes, which LLVM does not know in this function: tests of a region that follow from it
        are left out then, and loops of known length unrolled.
        """
        for name in (p.name for p in self.scop.parameters if p.is_size):
            self._assume(f"icmp ule i64 {self.integer(variable(name))}, {self.module.ranges.of(variable(name))[1]}")
        symbols = {p.name for p in self.scop.parameters if not p.extreme and not p.found}
        for check in self.scop.checks:
            if symbols.issuperset(polyhedra.used_parameters(check.violated)):
                violated = self.condition(self.module.table.condition(check.violated), self.fn.current)
                self._assume(f"xor i1 {violated}, true")

    def _assume(self, *tests: str) -> None:
        """Emits that tests hold, as LLVM instructions that compute an i1."""
        self.declared.setdefault("llvm.assume", "declare void @llvm.assume(i1)")
        for test in tests:
            self.fn.do(f"call void @llvm.assume(i1 {self.fn.emit(test)})")

    def fail(self, status: str) -> None:
        """Ends the current block with a jump to the end of the chunk, after it has told of the error, with its iteration of the loop."""
        self.declared["polyml_fail"] = _FAIL
        iteration = self.names[self._node.var][0]
        self.fn.do(f"call void @polyml_fail(ptr {self.failure}, i64 {iteration}, i64 {self.told(status)})")
        self.fn.jump(self.failed)

    def _even(self, lower: str, upper: str) -> None:
        """Emits one chunk of a loop whose chunks are equal. The chunk's last iteration gets the name `Loop.last`, which is among
        the bounds of the loops in the body, so that these end there.

        lower, upper: the first and last iteration of the whole loop.
        """
        fn, node = self.fn, self._node
        first, last = balanced_chunk(self, node, lower, upper, ("%share", "%shares"))
        share = fn.block("share")
        fn.jump(share)
        fn.current = share
        self.scopes.append(LoopScope(share))
        self.names[node.last] = (last, len(self.scopes) - 1)
        self.counted(CountedLoop(node, first, last))

    def _dynamic(self, lower: str, trips: str) -> None:
        """Emits a loop that takes iteration after iteration from a counter that threads share, since iterations differ in length.
        OpenMP calls this schedule(dynamic).

        lower: the loop's first iteration.
        trips: the number of its iterations.
        """
        fn, node = self.fn, self._node
        take, run, done = fn.block("take"), fn.block("run"), fn.block("done")
        fn.jump(take)
        fn.current = take
        counter = fn.emit("getelementptr i64, ptr %environment, i64 1")
        index = fn.emit(f"atomicrmw add ptr {counter}, i64 1 monotonic")
        fn.branch(fn.emit(f"icmp slt i64 {index}, {trips}"), run, done)
        fn.current = run
        start = fn.emit(f"add i64 {lower}, {fn.emit(f'mul i64 {index}, {node.step}')}")
        self.counted(CountedLoop(node, start, start))
        fn.jump(take)
        fn.current = done


def may_fail(module: Module, node: Loop) -> bool:
    """Returns whether a loop has regions, in which a call may end with an error."""
    return module.has_regions and any(module.scop.statements[each.statement].region for each in instances(node.body))


def is_of_chunks(module: Module, node: Loop) -> bool:
    """Returns whether a loop runs chunks of another one, which was worth it by the sizes that code is made for."""
    regions = (module.scop.statements[each.statement].region for each in instances(node.body))
    return any(region is not None and region.restarts for region in regions)


def has_loops_by_data(module: Module, node: Loop) -> bool:
    """Returns whether an iteration of a loop has loops inside of which data decide how long they are."""
    regions = [region for each in instances(node.body) if (region := module.scop.statements[each.statement].region)]
    inside = [stmt for region in regions for stmt in statements(region.body)]
    bounds = [bound for stmt in inside if isinstance(stmt, syntax.For) for bound in (stmt.start, stmt.stop)]
    own = (isinstance(part, (syntax.Subscript, syntax.Name)) for bound in bounds for part in traversal.nodes(bound))
    return any(own) or any(isinstance(stmt, syntax.While) for stmt in inside)


def balanced_chunk(body: Body, node: Loop, lower: str, upper: str, share: tuple[str, str]) -> tuple[str, str]:
    """Emits the first and the last iteration of one chunk of a loop over tiles, and returns their SSA names. A chunk may end inside
    a tile: the loops in the body then end at the chunk's last iteration, `Loop.last`. Chunks differ in length by at most the step
    of the loop over a tile's iterations.

    lower, upper: the first and last iteration of the whole loop.
    share: the chunk's number, and how many chunks there are.
    """
    fn, (number, shares) = body.fn, share
    multiple = max((inner.step for inner in loops(node.body) if variable(node.var) in inner.lower), default=1)
    total = fn.emit(f"sub i64 {upper}, {lower}")
    units = fn.emit(f"sdiv i64 {fn.emit(f'add i64 {total}, {multiple}')}, {multiple}")
    ends = []
    for each in (number, fn.emit(f"add i64 {number}, 1")):
        unit = fn.emit(f"sdiv i64 {fn.emit(f'mul i64 {each}, {units}')}, {shares}")
        ends.append(fn.emit(f"add i64 {lower}, {fn.emit(f'mul i64 {unit}, {multiple}')}"))
    body.declared.setdefault("llvm.smin.i64", "declare i64 @llvm.smin.i64(i64, i64)")
    return ends[0], fn.emit(f"call i64 @llvm.smin.i64(i64 {fn.emit(f'sub i64 {ends[1]}, 1')}, i64 {upper})")


def equal_chunk(body: Body, node: Loop, lower: str, count: str, share: tuple[str, str]) -> tuple[str, str]:
    """Emits the first and the last iteration of a chunk of a loop whose iterations all take equally long, and returns their SSA
    names.

    lower: the first iteration of the loop.
    count: the number of its iterations.
    share: the chunk's number, and how many chunks there are.
    """
    fn, (number, shares) = body.fn, share
    first = fn.emit(f"sdiv i64 {fn.emit(f'mul i64 {number}, {count}')}, {shares}")
    next_share = fn.emit(f"add i64 {number}, 1")
    past = fn.emit(f"sdiv i64 {fn.emit(f'mul i64 {next_share}, {count}')}, {shares}")
    start = fn.emit(f"add i64 {lower}, {fn.emit(f'mul i64 {first}, {node.step}')}")
    last = fn.emit(f"sub i64 {past}, 1")
    return start, fn.emit(f"add i64 {lower}, {fn.emit(f'mul i64 {last}, {node.step}')}")


def is_uneven(node: Loop, thread: str) -> bool:
    """Returns whether the loop's iterations are taken to differ in length: the bounds of two or more loops inside, or a guard's
    condition, depend on its variable. A single loop inside that does so is taken to run over a tile of constant size.

    Where threads have partial results, each gets the same iterations in every run, so that results are the same too.

    thread: the name that the program has for the number of the thread; "" where it has none.
    """
    if thread and any(thread in each.names for instance in instances(node.body) for each in instance.point):
        return False
    count = 0
    for inner in loops(node.body):
        if any(node.var in e.names for e in (*inner.lower, *inner.upper)):
            count += 1
    return count > 1 or _guarded_by(node.body, node.var)


def _guarded_by(nodes: tuple[Node, ...], name: str) -> bool:
    """Returns whether a guard below the nodes tests the name."""
    for n in nodes:
        if isinstance(n, Guard) and name in n.condition.names:
            return True
        if not isinstance(n, Instance) and _guarded_by(n.body, name):
            return True
    return False
