"""What is timed to measure a machine, as LLVM text: functions that run in the thread pool, each call as one share of the work.

    void NAME(ptr work, i64 share, i64 shares)      work: {ptr data, i64 bytes of a share, i64 passes, ptr room}

At the end each share stores what it computed in its own lines of `room`, so that no work can be left out; behind that it stores
where the thread's stack is, which tells whether shares had threads of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from polyml.codegen.llvm.builder import FunctionBuilder
from polyml.machines.cpu import CpuMachine

ROOM_BYTES = 256  # size of a share's room
STACK = 128  # bytes in front of the address of the stack
_AT_ONCE = 8  # vectors in a turn of a stream
_CHAIN = 32  # steps in a turn of the clock

_Body = Callable[[str, list[str]], list[str]]


def block_bytes(machine: CpuMachine) -> int:
    """Returns the bytes that one iteration of the loop in `read` or `update` takes; each thread's data are a multiple of them."""
    return _AT_ONCE * machine.vector_bytes


def text(machine: CpuMachine) -> str:
    """Returns the LLVM module with the functions that are timed: read, update, peak_f64, peak_f32, clock."""
    functions = [_stream(machine, "read", _reads), _stream(machine, "update", _updates), _clock()]
    functions += [_peak(machine, f"peak_f{8 * size}", size) for size in (8, 4)]
    declared = [f"declare {v} @llvm.fma.{_short(machine, e)}({v}, {v}, {v})" for e in (8, 4) for v in [_vector(machine, e)]]
    return "\n".join([*declared, *functions]) + "\n"


def operations(machine: CpuMachine, element_bytes: int) -> int:
    """Returns how many operations one iteration of the loop in `peak_f64` or `peak_f32` has; a multiply-add counts as two."""
    return 2 * _accumulators(machine) * machine.lanes(element_bytes)


def cycles() -> int:
    """Returns how many cycles one iteration of the loop in `clock` takes: its operations run one after another, a cycle each."""
    return _CHAIN


def _vector(machine: CpuMachine, element_bytes: int) -> str:
    return f"<{machine.lanes(element_bytes)} x {'double' if element_bytes == 8 else 'float'}>"


def _short(machine: CpuMachine, element_bytes: int) -> str:
    return f"v{machine.lanes(element_bytes)}f{8 * element_bytes}"


def _accumulators(machine: CpuMachine) -> int:
    """Returns how many sums the loop in `peak_f64` or `peak_f32` has, independent of each other so that they overlap.

    They are 24, which keep the units of any core busy, or fewer where there are not enough vector registers.
    """
    return min(24, machine.vector_registers - 4)


def _function(name: str) -> FunctionBuilder:
    return FunctionBuilder(f"void @{name}(ptr %work, i64 %share, i64 %shares)")


def _field(fn: FunctionBuilder, number: int, kind: str = "i64") -> str:
    return fn.emit(f"load {kind}, ptr {fn.emit(f'getelementptr i64, ptr %work, i64 {number}')}")


def _room(fn: FunctionBuilder) -> str:
    """Emits code for the address of the memory where this share of the work leaves its results; returns the name of the address.

    The code also stores there the address of the running thread's stack, which tells the threads of the shares apart.
    """
    room = fn.emit(f"getelementptr i8, ptr {_field(fn, 3, 'ptr')}, i64 {fn.emit(f'mul i64 %share, {ROOM_BYTES}')}")
    stack = fn.emit(f"ptrtoint ptr {fn.emit('alloca i64')} to i64")
    fn.do(f"store i64 {stack}, ptr {fn.emit(f'getelementptr i8, ptr {room}, i64 {STACK}')}")
    return room


def _loop(fn: FunctionBuilder, end: str, step: int, kind: str, first: Sequence[str], body: _Body) -> list[str]:
    """Emits a loop over 0, step, ... below `end`, that runs at least once.

    It returns the names of the carried values, which go from one iteration to the next, after the last iteration.

    kind: the LLVM type of the carried values.
    first: the carried values before the loop.
    body: emits one iteration from its index and the carried values, and returns the new ones.
    """
    before, head = fn.current, fn.block("turn")
    fn.jump(head)
    fn.current = head
    index, values = fn.name(), [fn.name() for _ in first]
    results = body(index, values)
    following = fn.emit(f"add i64 {index}, {step}")
    more, last, after = fn.emit(f"icmp slt i64 {following}, {end}"), fn.current, fn.block("after")
    fn.branch(more, head, after)
    head.phis.append(f"{index} = phi i64 [ 0, %{before.label} ], [ {following}, %{last.label} ]")
    for value, start, result in zip(values, first, results):
        head.phis.append(f"{value} = phi {kind} [ {start}, %{before.label} ], [ {result}, %{last.label} ]")
    fn.current = after
    return results


def _stream(machine: CpuMachine, name: str, step: Callable) -> str:
    """Returns the LLVM text of a function that goes several times over its share of the data, some vectors in each iteration.

    step: emits what an iteration does with its vectors: `_reads` or `_updates`.
    """
    fn, lanes = _function(name), machine.vector_bytes // 8
    kind = f"<{lanes} x i64>"
    size, passes = _field(fn, 1), _field(fn, 2)
    start = fn.emit(f"getelementptr i8, ptr {_field(fn, 0, 'ptr')}, i64 {fn.emit(f'mul i64 %share, {size}')}")
    room = _room(fn)

    def turn(offset: str, sums: list[str]) -> list[str]:
        place = fn.emit(f"getelementptr i8, ptr {start}, i64 {offset}")
        at = [fn.emit(f"getelementptr {kind}, ptr {place}, i64 {k}") for k in range(_AT_ONCE)]
        return step(fn, kind, at, sums)

    def one_pass(number: str, sums: list[str]) -> list[str]:
        return _loop(fn, size, block_bytes(machine), kind, sums, turn)

    sums = _loop(fn, passes, 1, kind, ["zeroinitializer"] * _AT_ONCE, one_pass)
    total = sums[0]
    for more in sums[1:]:
        total = fn.emit(f"add {kind} {total}, {more}")
    fn.do(f"store {kind} {total}, ptr {room}, align 8")
    fn.current.terminator = "ret void"
    return fn.text()


def _reads(fn: FunctionBuilder, kind: str, at: Sequence[str], sums: list[str]) -> list[str]:
    """Emits loads of the vectors at the addresses `at`, and adds each one to its own element of `sums`; returns the new sums."""
    return [fn.emit(f"add {kind} {old}, {fn.emit(f'load {kind}, ptr {place}')}") for old, place in zip(sums, at)]


def _updates(fn: FunctionBuilder, kind: str, at: Sequence[str], sums: list[str]) -> list[str]:
    """Emits code that adds one to each of the vectors in memory at the addresses `at`; returns `sums` unchanged."""
    ones = f"<{', '.join(['i64 1'] * int(kind[1:].split()[0]))}>"
    for place in at:
        value = fn.emit(f"add {kind} {fn.emit(f'load {kind}, ptr {place}')}, {ones}")
        fn.do(f"store {kind} {value}, ptr {place}")
    return sums


def _peak(machine: CpuMachine, name: str, element_bytes: int) -> str:
    """Returns the LLVM text of a function that repeats x = x * a + b for many independent x, which are vectors.

    It loads a and b from memory, so that LLVM cannot compute with their values.
    """
    fn, kind = _function(name), _vector(machine, element_bytes)
    data, passes, room = _field(fn, 0, "ptr"), _field(fn, 2), _room(fn)
    a, b = fn.emit(f"load {kind}, ptr {data}"), fn.emit(f"load {kind}, ptr {fn.emit(f'getelementptr {kind}, ptr {data}, i64 1')}")

    def step(x: str) -> str:
        if machine.fma:
            return fn.emit(f"call {kind} @llvm.fma.{_short(machine, element_bytes)}({kind} {x}, {kind} {a}, {kind} {b})")
        return fn.emit(f"fadd {kind} {fn.emit(f'fmul {kind} {x}, {a}')}, {b}")

    first = [fn.emit(f"load {kind}, ptr {fn.emit(f'getelementptr {kind}, ptr {data}, i64 {2 + k}')}")
             for k in range(_accumulators(machine))]  # fmt: skip
    sums = _loop(fn, passes, 1, kind, first, lambda _, sums: [step(x) for x in sums])
    total = sums[0]
    for more in sums[1:]:
        total = fn.emit(f"fadd {kind} {total}, {more}")
    fn.do(f"store {kind} {total}, ptr {room}, align 8")
    fn.current.terminator = "ret void"
    return fn.text()


def _clock() -> str:
    """Returns the LLVM text of the function `clock`: a loop of additions and exclusive ors, each on the last result."""
    fn = _function("clock")
    first, passes, room = _field(fn, 1), _field(fn, 2), _room(fn)

    def turn(_: str, values: list[str]) -> list[str]:
        value = values[0]
        for k in range(_CHAIN):
            value = fn.emit(f"{('add', 'xor')[k % 2]} i64 {value}, {first}")
        return [value]

    (value,) = _loop(fn, passes, 1, "i64", [first], turn)
    fn.do(f"store i64 {value}, ptr {room}")
    fn.current.terminator = "ret void"
    return fn.text()
