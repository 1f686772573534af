"""The instructions that add up products of small numbers, one line of semantics each.

    result[lane] += left[lane, 0]*right[lane, 0] + ... + left[lane, length - 1]*right[lane, length - 1]

`left` and `right` have words of `length` numbers for each lane of the result. The products and sums of integers are those of the
result's type, which wrap around: none of the instructions here saturates. (`vpdpbusds` and `vpmaddubsw` do, so they are not here.)

Sources: Intel, Architecture Instruction Set Extensions Programming Reference (319433); Arm, Architecture Reference Manual (DDI 0487).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from polyml.dtypes import BF16, F32, I8, I16, I32, U8, DType
from polyml.machines.cpu import CpuMachine


@dataclass(frozen=True)
class DotInstruction:
    """A DotInstruction is an instruction that adds products to each lane of a vector.

    name: its mnemonic.
    result, left, right: the types of the sums and of the factors.
    length: how many products each lane gets.
    isa: "x86-64" or "aarch64".
    features: LLVM's names of the features any one of which has it.
    intrinsics: { lanes of the result -> LLVM's name of the instruction }.
    adds: whether it adds to a vector; else it gives the sum of the products alone, which another instruction adds.
    is_exact: whether it computes what the operations one by one do; else floats are rounded in another order, and numbers too small
        to be normal may count as zero.
    """

    name: str
    result: DType
    left: DType
    right: DType
    length: int
    isa: str
    features: tuple[str, ...]
    intrinsics: dict[int, str]
    adds: bool = True
    is_exact: bool = True


def _x86(stem: str, *lanes: int) -> dict[int, str]:
    """Returns LLVM's names of an x86 instruction by the lanes of 32 bits that it has."""
    return {n: f"llvm.x86.{stem}.{32 * n}" for n in lanes}


_VNNI = ("avx512vnni", "avxvnni")
_MADD = {16: "llvm.x86.avx512.pmaddw.d.512", 8: "llvm.x86.avx2.pmadd.wd", 4: "llvm.x86.sse2.pmadd.wd"}
_NEON = "llvm.aarch64.neon"

TABLE = (  # name, result += left * right, products in a lane, architecture, features, LLVM's names; better ones first
    DotInstruction("vpdpbssd", I32, I8, I8, 4, "x86-64", ("avxvnniint8",), _x86("avx2.vpdpbssd", 8, 4)),
    DotInstruction("vpdpbuud", I32, U8, U8, 4, "x86-64", ("avxvnniint8",), _x86("avx2.vpdpbuud", 8, 4)),
    DotInstruction("vpdpbusd", I32, U8, I8, 4, "x86-64", _VNNI, _x86("avx512.vpdpbusd", 16, 8, 4)),
    DotInstruction("vpdpwssd", I32, I16, I16, 2, "x86-64", _VNNI, _x86("avx512.vpdpwssd", 16, 8, 4)),
    DotInstruction("vpmaddwd", I32, I16, I16, 2, "x86-64", ("avx512bw",), _MADD, adds=False),
    DotInstruction("vpmaddwd", I32, I16, I16, 2, "x86-64", ("avx2",), {8: _MADD[8], 4: _MADD[4]}, adds=False),
    DotInstruction(
        "vdpbf16ps", F32, BF16, BF16, 2, "x86-64", ("avx512bf16",), _x86("avx512bf16.dpbf16ps", 16, 8, 4), is_exact=False
    ),
    DotInstruction("sdot", I32, I8, I8, 4, "aarch64", ("dotprod",), {4: f"{_NEON}.sdot.v4i32.v16i8"}),
    DotInstruction("udot", I32, U8, U8, 4, "aarch64", ("dotprod",), {4: f"{_NEON}.udot.v4i32.v16i8"}),
    DotInstruction("usdot", I32, U8, I8, 4, "aarch64", ("i8mm",), {4: f"{_NEON}.usdot.v4i32.v16i8"}),
    DotInstruction("bfdot", F32, BF16, BF16, 2, "aarch64", ("bf16",), {4: f"{_NEON}.bfdot.v4f32.v8bf16"}, is_exact=False),
)
NAMES = tuple(dict.fromkeys(line.name for line in TABLE))


@dataclass(frozen=True)
class DotUse:
    """A DotUse is a way to compute sums of products of two types by an instruction.

    The factors of one operand come as vectors, those of the other one as a word that all lanes share.

    instruction: the instruction.
    shared_is_left: whether the shared word is its left operand.
    is_biased: whether the shared numbers have the other sign than the operand: then their highest bits are inverted, which moves all
        of them by the same number, and its products with the other factors are taken off the sums:
        x*y = (x + b)*y - b*y, with b = 128 for signed bytes as unsigned ones, -128 for the reverse.
    """

    instruction: DotInstruction
    shared_is_left: bool
    is_biased: bool


def use(machine: CpuMachine, result: DType, vector: DType, shared: DType) -> DotUse | None:
    """Returns how the machine adds up products of two small types; None if it has no instruction for them.

    result: the type of the sums. vector, shared: the types of the factors, of which the second ones are the same in all lanes.

    >>> from polyml.machines.catalogue import processor
    >>> found = use(processor("zen4"), I32, I8, I8)
    >>> found.instruction.name, found.is_biased
    ('vpdpbusd', True)
    """
    features = {word[1:] for word in machine.features.split(",") if word.startswith("+")}
    lanes = machine.vector_bytes // 4
    has = (i for i in TABLE if i.isa == machine.isa and features & {*i.features} and lanes in i.intrinsics)
    return min((way for i in has for way in _ways(i, result, vector, shared)), key=lambda way: way.is_biased, default=None)


def named(name: str, lanes: int, result: DType, vector: DType, shared: DType) -> DotUse | None:
    """Returns the use of the instruction of this name for vectors of so many sums; None if it has none for these types."""
    has = (i for i in TABLE if i.name == name and lanes in i.intrinsics)
    return next((way for i in has for way in _ways(i, result, vector, shared)), None)


def _ways(instruction: DotInstruction, result: DType, vector: DType, shared: DType) -> Iterator[DotUse]:
    """Yields the uses of one instruction for the types, the best one first."""
    sums = instruction.result
    if result != sums and not (result.is_integer and sums.is_integer and result.bits == sums.bits and not result.weak):
        return
    for by_kind in (True, False):  # the shared numbers have the operand's type, or the one of the other sign
        for vectors, shares, is_left in ((instruction.right, instruction.left, True), (instruction.left, instruction.right, False)):
            other = shares.is_integer and shared.is_integer and shares.bits == shared.bits == 8 and shares != shared
            if vectors == vector and (shares == shared if by_kind else other):
                yield DotUse(instruction, is_left, not by_kind)
