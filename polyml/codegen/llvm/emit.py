"""A Program becomes LLVM text.

The kernel is `i64 @polyml_kernel(ptr slots)`. The words at `slots` are the number of threads and what each argument needs (see
`SlotMap`); the result is a `Status`.
"""

from __future__ import annotations

from collections.abc import Callable, Set

from polyml import polyhedra
from polyml.codegen.analysis.integer_ranges import INTEGER_LIMIT, MOST_THREADS
from polyml.codegen.ir.local_memory import ARRAY_GAP
from polyml.codegen.ir.program import Loop, Program, instances
from polyml.codegen.llvm.addresses import ArrayArguments, Module
from polyml.codegen.llvm.arithmetic import FloatArithmetic
from polyml.codegen.llvm.builder import Unit
from polyml.codegen.llvm.function import UNOPTIMIZED, Body
from polyml.codegen.llvm.loops.parallel_work import is_short, region_work, work, work_at
from polyml.codegen.llvm.outline import (
    STATUS_WORD,
    LoopEnvironment,
    OutlinedLoop,
    has_loops_by_data,
    is_of_chunks,
    may_fail,
)
from polyml.codegen.llvm.registers import Location
from polyml.codegen.llvm.ssa_value import memory_type
from polyml.model.core.call_interface import Status
from polyml.model.core.scop import Array, ScalarResult
from polyml.quasi_affine.affine import variable
from polyml.schedule.analysis.private_numbers import local_numbers

ENTRY = "polyml_kernel"  # the symbol of the compiled function
SPARED_LIMIT = 2**39  # the most bytes of an array that plain Python would allocate and the kernel does without
CHUNKS_PER_THREAD = 4  # chunks of a short loop for each thread
UNEVEN_CHUNKS = (
    16  # of a loop whose iterations have loops of which data decide the length: threads that are done early take more of them
)
PARALLEL_WORK = 100_000  # with fewer instances, starting the threads costs more than it gains


def emit(
    program: Program,
    arguments: ArrayArguments,
    floats: FloatArithmetic,
    *,
    threads: bool = True,
    finished: Callable[[Unit], None] = lambda unit: None,
) -> tuple[Unit, ...]:
    """Returns the LLVM functions of a kernel that runs the program, the kernel itself first.

    arguments: what may be assumed of the array arguments.
    floats: how floats are computed.
    threads: whether parallel loops may run on several threads.
    finished: a callback that is called with each function as soon as it is complete, the kernel last.

    Raises CannotRunTogether if statements cannot run in lanes as the program says.
    """
    module = Module(program, arguments, floats, threads, finished)
    kernel = KernelEmitter(module)
    kernel.define()
    kernel.finish()
    *outlined, last = module.units
    return last, *outlined


class KernelEmitter(Body):
    """A KernelEmitter emits the kernel's own function: checks, memory of local arrays, the loops, and results."""

    def __init__(self, module: Module):
        super().__init__(module, ENTRY, "i64 @{}(ptr noalias %slots)")
        self.slots_pointer = "%slots"
        self._local: dict[str, str] = {}

    def base(self, array: str) -> str:
        """Returns the address of the array's first element."""
        return self._local[array] if array in self._local else super().base(array)

    def define(self) -> None:
        """Emits the kernel's whole function."""
        fn, module = self.fn, self.module
        self.overflow = fn.emit("alloca i8")
        fn.do(f"store i8 0, ptr {self.overflow}")
        if self.module.has_regions:
            self.failure = fn.emit("alloca [3 x i64]")  # a lock, the iteration of the first error, its status
            fn.do(f"store i64 0, ptr {self.failure}")
        start = fn.block("checked")
        fn.jump(start)
        fn.current = start
        self.scopes[0].entry = fn.blocks[0]
        extremes = {p.name for p in self.scop.parameters if p.extreme}
        self._check_sizes()
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
        if self.module.has_regions:
            self.failed = fn.block("failed")
        self.begin_loops()
        self.nodes(module.program.body)
        self.flush()
        if self.module.has_regions:
            self._end_failed(block)
        if block is not None:
            fn.do(f"call void @polyml_release(ptr {block})")
        self._release_late({result.array for result in self.scop.results if isinstance(result, ScalarResult)})
        self._results()
        flag = fn.emit(f"load i8, ptr {self.overflow}")
        fn.current.terminator = f"ret i64 {fn.emit(f'sext i8 {flag} to i64')}"
        if not self.repeats and not module.has_regions:
            fn.attributes = UNOPTIMIZED

    def fail(self, status: str) -> None:
        """Ends the current block with a jump to the end of the kernel, which then returns the status."""
        self.fn.do(f"store i64 {self.told(status)}, ptr {self._status()}")
        self.fn.jump(self.failed)

    def _release_late(self, kept: Set[str]) -> None:
        """Emits that the memory of arrays whose sizes data decided is given back. kept: the numbers with the addresses of others"""
        for array in self.scop.arrays.values():
            if array.address and array.address not in kept:
                self.release(self.fn.emit(f"load i64, ptr {self._local[array.address]}"))

    def _status(self) -> str:
        return self.fn.emit(f"getelementptr i64, ptr {self.failure}, i64 {STATUS_WORD}")

    def _end_failed(self, memory: str | None) -> None:
        """Emits the end of the kernel after an error in a region: its status, or that of a number which did not fit its type before it.

        memory: the address of that of local arrays; None where it has none
        """
        after, self.fn.current = self.fn.current, self.failed
        if memory is not None:
            self.fn.do(f"call void @polyml_release(ptr {memory})")
        self._release_late(frozenset())
        status, flag = (self.fn.emit(f"load {what}") for what in (f"i64, ptr {self._status()}", f"i8, ptr {self.overflow}"))
        is_error = self.fn.emit(f"icmp ne i64 {status}, {int(Status.RESTARTED)}")
        is_number = self.fn.emit(f"and i1 {is_error}, {self.fn.emit(f'icmp ne i8 {flag}, 0')}")
        number = self.fn.emit(f"sext i8 {flag} to i64")
        self.fn.current.terminator = f"ret i64 {self.fn.emit(f'select i1 {is_number}, i64 {number}, i64 {status}')}"
        self.fn.current = after

    def _check_sizes(self) -> None:
        """Emits a check that every size is below a limit, so that what is computed from sizes stays within 64 bits; if one is not,
        the kernel returns the status TOO_GREAT_A_SIZE. Only arrays without elements, or with strides of 0, can fail it: others
        would not fit into memory.
        """
        sizes = [p.name for p in self.scop.parameters if p.is_size]
        combined = "0"
        for name in sizes:
            combined = self.fn.emit(f"or i64 {combined}, {self.integer(variable(name))}")
        if sizes:
            limit = min(self.module.ranges.of(variable(name))[1] for name in sizes)  # a power of 2
            self._stop_if(self.fn.emit(f"icmp uge i64 {combined}, {limit}"), Status.TOO_GREAT_A_SIZE)

    def _check(self, late: list[bool], now: bool) -> None:
        """Emits checks at entry; the kernel returns the number of one that fails.

        late: for each check, whether it depends on elements of index arrays.
        now: whether to emit the checks that depend on such elements, else the others.
        """
        for number, (check, is_late) in enumerate(zip(self.scop.checks, late)):
            if is_late == now:
                violated = self.module.table.condition(check.violated)
                self._stop_if(self.condition(violated, self.fn.current), number + 1)
                self.module.ranges.exclude(violated)

    def _find(self, extremes: set[str]) -> None:
        """Emits the loops that find the least and greatest elements of index arrays (`Program.before`). Code after them finds these
        elements' SSA names in `names`.

        extremes: the names of the parameters that stand for these elements.
        """
        self.nodes(self.module.program.before)
        self.flush()
        found = self.fn.block("found")
        self.fn.jump(found)
        self.fn.current = self.scopes[0].entry = found
        for name in sorted(extremes):
            self.names[name] = (self.memory.load(Location(name, ())).ssa, 0)

    def _stop_if(self, test: str, status: int) -> None:
        """Emits a return from the kernel with this status if the test, an i1, holds."""
        fn = self.fn
        stop, go = fn.block("stop"), fn.block("go")
        fn.branch(test, stop, go)
        stop.terminator = f"ret i64 {int(status)}"
        fn.current = go

    def _allocate_scalars(self) -> None:
        """Emits memory on the stack for local arrays of one element."""
        for array in self.module.owned:
            if not array.shape:
                self._local[array.name] = self.fn.emit(f"alloca {memory_type(array.element)}", self.fn.blocks[0])
        for array in self.scop.arrays.values():
            if array.address:
                self.fn.do(f"store i64 0, ptr {self._local[array.address]}")

    def _allocate(self) -> str | None:
        """Emits the allocation of one block of memory for all local arrays of more than one element, of which those that `Program.shared`
        names begin where others do. Returns the SSA name of the block, which has to be released; None if there are no such arrays.
        """
        fn, total = self.fn, "0"
        for array in (*self.scop.spared, *(a for a in self.module.owned if a.loc and a.name in self.module.program.windows)):
            if self.most_bytes(array, whole=True) > SPARED_LIMIT:
                size = self.size_bytes(array, whole=True)
                self._stop_if(fn.emit(f"icmp ugt i64 {size}, {SPARED_LIMIT}"), Status.TOO_LARGE_TO_SPARE)
        shared = self.module.program.shared
        places: dict[str, str] = {}  # by the array that is the first to have it
        for array in self.module.owned:
            if array.shape:
                owner, needed = shared.get(array.name, array.name), self.whole_lines(self._needed_bytes(array), ARRAY_GAP)
                places[owner] = self.greater(places[owner], needed) if owner in places else needed
        if not places:
            return None
        starts: dict[str, str] = {}
        for owner, needed in places.items():
            starts[owner] = total
            total = self.total(total, needed)
        starts |= {name: starts[owner] for name, owner in shared.items()}
        self.declared["polyml_acquire"] = "declare ptr @polyml_acquire(i64)"
        self.declared["polyml_release"] = "declare void @polyml_release(ptr)"
        block = fn.emit(f"call ptr @polyml_acquire(i64 {total})")
        self._stop_if(fn.emit(f"icmp eq ptr {block}, null"), Status.OUT_OF_MEMORY)
        for name, start in starts.items():
            self._local[name] = fn.emit(f"getelementptr i8, ptr {block}, i64 {start}")
        return block

    def _needed_bytes(self, array: Array) -> str:
        """Emits the size in bytes of a local array, for all threads if each has its own, and returns the SSA name. If the source
        creates the array, and it is larger than NumPy allows, the kernel returns the status TOO_LARGE_AN_ARRAY.
        """
        if array.loc is not None and array.name not in self.module.program.windows:
            whole = self.size_bytes(array, whole=True)
            if self.most_bytes(array, whole=True) > INTEGER_LIMIT:
                self._stop_if(self.fn.emit(f"icmp slt i64 {whole}, 0"), Status.TOO_LARGE_AN_ARRAY)
            return whole
        if array.name in self.module.private:
            size, threads = self.thread_bytes(array.name), self.word(0)
            is_small = self.most_bytes(array) * MOST_THREADS <= INTEGER_LIMIT
            return self.fn.emit(f"mul i64 {size}, {threads}") if is_small else self.product(size, threads)
        return self.size_bytes(array)

    def _results(self) -> None:
        """Emits the stores of results that are numbers into the 64-bit words that kernel and caller share (`SlotMap`)."""
        slot = self.module.slots.first_result
        for result in self.scop.results:
            if not isinstance(result, ScalarResult):
                continue
            element = self.scop.arrays[result.array].element
            value = self.memory.load(Location(result.array, ()))
            kind = value.type
            address = self.fn.emit(f"getelementptr i64, ptr %slots, i64 {slot}")
            ssa = value.ssa
            if element.kind == "b" or (element.is_integer and element.bits < 64):
                ssa = self.fn.emit(f"{'sext' if element.kind == 'i' else 'zext'} {kind} {ssa} to i64")
                kind = "i64"
            self.fn.do(f"store {kind} {ssa}, ptr {address}")
            slot += 1

    def fork(self, node: Loop) -> bool:
        """Emits a parallel loop as a function that the pool's threads call, and returns True; returns False without code if the
        module has no threads. A loop with little work is called by one thread alone.

        If the loop stands in another one and `is_short` holds for it, it has a second version in this function, which runs in place
        of the call where there is little work.
        """
        if not self.module.threads:
            return False
        fn, enough = self.fn, self._is_enough(node)
        is_inside = any(isinstance(n, Loop) for n in self.path)
        if enough == "true" or not is_inside or not is_short(self.module.program, node):
            self._outline(node, enough)
            self.math.forget()
            return True
        many, few, after = fn.block("many"), fn.block("few"), fn.block("after")
        fn.branch(enough, many, few)
        for block, run in ((many, lambda: self._outline(node, None)), (few, lambda: self.loop(node))):
            fn.current = block
            run()
            self.flush()
            fn.jump(after)
            self.math.forget()
        fn.current = after
        return True

    def _is_enough(self, node: Loop) -> str:
        """Emits whether a parallel loop has enough work for threads, and returns its SSA name; a constant if it has at the least
        sizes that the code is for, or has not at the greatest.
        """
        if is_of_chunks(self.module, node):
            return "true"
        if may_fail(self.module, node):
            total = self.fn.emit(f"mul i64 {work(self, node)}, {region_work(self, node)}")
            return self.fn.emit(f"icmp sge i64 {total}, {PARALLEL_WORK}")
        least, most = work_at(node, *self.module.ranges.corners(self.module.symbols))
        if least is not None and least >= PARALLEL_WORK:
            return "true"
        if most is not None and most < PARALLEL_WORK:
            return "false"
        return self.fn.emit(f"icmp sge i64 {work(self, node)}, {PARALLEL_WORK}")

    def _used(self, node: Loop) -> set[str]:
        """Returns the arrays and numbers that a loop uses. The others have no address in its function, so that they may be registers."""
        statements = [self.scop.statements[instance.statement] for instance in instances(node.body)]
        used = {access.array for s in statements for access in (*s.reads, *s.writes)}
        return used | {self.scop.arrays[name].address for name in used}

    def _own(self, node: Loop) -> list[str]:
        """Returns the local numbers that the statements of a loop alone use: no iteration hands them on, as the schedule has proved."""
        inside = {instance.statement for instance in instances(node.body)}
        return local_numbers(self.scop, inside, {each.statement for each in instances(self.module.program.body)} - inside)

    def _outline(self, node: Loop, enough: str | None) -> None:
        """Emits the loop as a function of its own, and a call of the pool, whose threads call that function.

        enough: the SSA name of whether several threads pay; None if that has been tested.
        """
        fn, module = self.fn, self.module
        ends = {loop.last for loop in self.path if isinstance(loop, Loop)}  # they may be known outside of all loops
        outer = [n for n, (_, depth) in self.names.items() if depth > 0 or n in ends]
        own = self._own(node) if module.has_regions else []
        arrays = sorted(self._local.keys() & self._used(node) - {*own} if module.has_regions else self._local)
        words = [("ptr", "%slots"), ("i64", "0"), ("ptr", self.overflow)]
        words += [("ptr", self._local[a]) for a in arrays]
        words += [("i64", self.names[n][0]) for n in outer]
        fails = may_fail(module, node)
        if fails:
            words.append(("ptr", self.failure))
            fn.do(f"store i64 0, ptr {self._status()}")
        entry = fn.blocks[0]
        environment = fn.emit(f"alloca [{len(words)} x i64], align 64", entry)
        for index, (kind, ssa) in enumerate(words):
            address = fn.emit(f"getelementptr i64, ptr {environment}, i64 {index}")
            fn.do(f"store {kind} {ssa}, ptr {address}")
        name = f"{ENTRY}.parallel{len(module.units) + 1}"
        outlined = OutlinedLoop(module, name, node, LoopEnvironment(self.path, arrays, outer, own))
        outlined.define()
        outlined.finish()
        threads = self.word(0)
        if enough is not None and enough != "true":
            threads = "1" if enough == "false" else fn.emit(f"select i1 {enough}, i64 {threads}, i64 1")
        is_divided = fails or is_short(self.module.program, node)
        chunks = UNEVEN_CHUNKS if fails and has_loops_by_data(module, node) else CHUNKS_PER_THREAD
        shares = fn.emit(f"mul i64 {threads}, {chunks}") if is_divided else threads
        self.declared[name] = f"declare hidden void @{name}(ptr, i64, i64)"
        self.declared["polyml_parallel"] = "declare void @polyml_parallel(ptr, ptr, i64, i64)"
        fn.do(f"call void @polyml_parallel(ptr @{name}, ptr {environment}, i64 {shares}, i64 {threads})")
        if fails:
            status = fn.emit(f"load i64, ptr {self._status()}")
            go = fn.block("go")
            fn.branch(fn.emit(f"icmp eq i64 {status}, 0"), go, self.failed)
            fn.current = go
