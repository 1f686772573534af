"""The rate of independent multiply-adds in the widest vectors: what a core can do at most, measured."""

from __future__ import annotations

import ctypes
from functools import cache

from benchmarks.contractions.problem import Form
from benchmarks.threads import machine_code, seconds_together
from polyml.machines import cpu

_SERIES = 15
_SERIES_S = 0.02
_CALL_S = 0.01


def peak_rate(dtype: str, threads: int) -> float:
    """Returns the GFLOP/s of that many threads at once, the best of several series, each over all threads' time."""
    call, flops = _loop(_computed(dtype))
    turns = _SERIES_S / _seconds(call, 100_000, 1) * 100_000
    best = min(_seconds(call, round(turns), threads) for _ in range(_SERIES))
    return threads * flops * round(turns) / best / 1e9


def form(dtype: str, threads: int) -> Form:
    """Returns multiply-adds on that many threads as one more peer's form; a call takes about 10 ms."""
    call, flops = _loop(_computed(dtype))
    turns = round(_CALL_S / _seconds(call, 100_000, 1) * 100_000)
    return Form(lambda: _seconds(call, turns, threads), lambda: 0.0, flops=threads * flops * turns)


def _seconds(call, turns: int, threads: int) -> float:
    return seconds_together([lambda: call(turns)] * threads)


@cache
def _loop(dtype: str):
    """Returns (a function of the number of turns, flops of a turn)."""
    host = cpu.host()
    function = machine_code(loop_text(dtype, host), "multiply_adds", ctypes.c_int64, ctypes.c_void_p)
    lanes = host.lanes(_BYTES[dtype])
    room = ctypes.create_string_buffer(_accumulators(host) * host.vector_bytes)

    def call(turns: int) -> None:
        function(turns, ctypes.addressof(room))

    return call, 2 * lanes * _accumulators(host)


_BYTES = {"float32": 4, "float64": 8}


def _computed(dtype: str) -> str:
    """Returns the type of the multiply-adds; those of float32 stand for smaller types, whose shares of them may be above 100 %."""
    return dtype if dtype in _BYTES else "float32"


def _accumulators(host: cpu.CpuMachine) -> int:
    """Returns as many as the registers hold with two operands, at most 24: two to four units of four cycles' latency."""
    return min(24, host.vector_registers - 4)


def loop_text(dtype: str, host: cpu.CpuMachine) -> str:
    """Returns the IR of a loop in which every accumulator, stored at the end, becomes itself * 0.5 + 1 in each turn.

    Without fused multiply-adds each is a product and a sum.
    """
    lanes, count = host.lanes(_BYTES[dtype]), _accumulators(host)
    scalar = {"float32": "float", "float64": "double"}[dtype]
    vector = f"<{lanes} x {scalar}>"
    half, one = (f"<{', '.join(f'{scalar} {number}' for _ in range(lanes))}>" for number in ("0.5", "1.0"))
    name = f"llvm.fma.v{lanes}f{8 * _BYTES[dtype]}"
    lines = [f"declare {vector} @{name}({vector}, {vector}, {vector})", "define void @multiply_adds(i64 %n, ptr %room) {"]
    lines += ["entry:", "  br label %turn", "turn:", "  %i = phi i64 [ 0, %entry ], [ %more, %turn ]"]
    lines += [f"  %a{j} = phi {vector} [ zeroinitializer, %entry ], [ %b{j}, %turn ]" for j in range(count)]
    for j in range(count):
        if host.fma:
            lines.append(f"  %b{j} = call {vector} @{name}({vector} %a{j}, {vector} {half}, {vector} {one})")
        else:
            lines += [f"  %p{j} = fmul {vector} %a{j}, {half}", f"  %b{j} = fadd {vector} %p{j}, {one}"]
    lines += ["  %more = add i64 %i, 1", "  %again = icmp slt i64 %more, %n"]
    lines += ["  br i1 %again, label %turn, label %end", "end:"]
    for j in range(count):
        lines.append(f"  %at{j} = getelementptr {vector}, ptr %room, i64 {j}")
        lines.append(f"  store {vector} %b{j}, ptr %at{j}, align {_BYTES[dtype]}")
    return "\n".join([*lines, "  ret void", "}", ""])
