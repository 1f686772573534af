"""The values of a statement for all PEs as LLVM code: loops over vectors of elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import islpy as isl

from polyml.codegen.ir.array_layout import Placed
from polyml.codegen.ir.program import Instance, Jam, Loop, Program, Unroll
from polyml.codegen.llvm.builder import Unit
from polyml.codegen.llvm.constant_sizes import CallConstants, ConstantBody
from polyml.dtypes import DType
from polyml.frontend import syntax
from polyml.model.core import call_interface
from polyml.model.core.nest import children, with_children
from polyml.model.core.scop import Access, Array, Role, ScalarArg, Scop, Statement, Value
from polyml.quasi_affine.affine import Affine, extremum, floor_div, operands, variable
from polyml.systolic.program.fold_program import Datapath

TOGETHER = 4  # vectors that one iteration computes
ROWS = 4  # of sums that stay in vector registers
_RESULT = "out"
_UNBOUNDED = 1 << 40  # elements, more than any vector has


class _ElementwiseLoops(ConstantBody):
    """An _ElementwiseLoops writes an LLVM function of loops over vectors, whose arrays are the pointers that the caller passes."""

    def base(self, array: str) -> str:
        """Returns the LLVM pointer of an array, which is an argument of the function."""
        return f"%{array}"

    def parameter(self, name: str) -> str:
        """Returns the LLVM value of a parameter, which is an argument of the function."""
        return f"%{name}"


def values(
    name: str, datapath: Datapath, arguments: Mapping[str, object], lanes: int, length: int, together: int = TOGETHER
) -> list[Unit]:
    """Returns the LLVM function `i64 @NAME(ptr %r0, ptr %r1, ..., ptr %out)`, which computes a statement's values for all PEs from
    vectors of their registers.

    arguments: the values of scalar arguments, by name.
    lanes: the elements of a vector register.
    length: the elements of the vectors, a multiple of lanes * together.
    together: how many vector registers of results one iteration computes.
    """
    registers = [f"r{k}" for k in range(len(datapath.types))]
    statement = Statement(
        name="S", iterators=("u",), domain=isl.Set(f"{{ S[u] : 0 <= u < {length} }}"), writes=(_access(_RESULT, length),),
        reads=tuple(_access(register, length) for register in registers), value=_with_numbers(datapath.value, arguments),
    )  # fmt: skip
    arrays = {each: _array(each, kind, length) for each, kind in zip((*registers, _RESULT), (*datapath.types, datapath.result))}
    jam = Jam("v", variable("u"), together, lanes, None, (Instance("S", (variable("v"),)),))
    loop = Loop("u", (Affine(),), (Affine(length - 1),), together * lanes, (jam,))
    signature = f"i64 @{{}}({', '.join(f'ptr %{each}' for each in arrays)})"
    return _function(name, statement, arrays, (loop,), signature, aliased=True)


@dataclass(frozen=True)
class ChainShape:
    """A ChainShape describes how sums move over the array for several cycles, and where the values lie that are added to them.

    sums: the number of the register that has the sums. A sum that is at row p and column c before the first cycle is in the PE (p +
        step * t, c) in cycle t = 1 ... cycles.
    step: the rows that a sum moves in a cycle.
    strides: for each register, (how many elements lie from one row's value to the next row's, how many from the value that a PE
        with a sum has in one cycle to the value that the sum's next PE has in the next cycle).
    vectors: (the elements of a vector register, how many vector registers of sums are computed together).
    """

    sums: int
    step: int
    strides: tuple[tuple[int, int], ...]
    vectors: tuple[int, int]


def chains(name: str, datapath: Datapath, arguments: Mapping[str, object], shape: ChainShape) -> list[Unit]:
    """Returns the LLVM function `i64 @NAME(ptr %r0, ptr %r1, ..., i64 %cycles, i64 %rows, i64 %first, i64 %last)`, which adds the
    terms of some cycles to the sums of all PEs; each sum's terms come in their order.

    %r0, %r1 and so on point to the registers' vectors; %cycles and %rows count cycles and rows. Columns are computed in groups, of
    which the first one begins at column %first and the last one at or before %last.
    """
    sums, strides = shape.sums, shape.strides
    registers = [f"r{k}" for k in range(len(datapath.types))]
    reads = tuple(_chain_access(register, *each) for register, each in zip(registers, strides))
    domain = isl.Set("{ S[p, c, t] }")
    statement = Statement(
        name="S", iterators=("p", "c", "t"), domain=domain, writes=(reads[sums],), reads=reads,
        value=_with_numbers(datapath.value, arguments),
    )  # fmt: skip
    strip = _strip(shape.step, _skew(strides, sums), shape.vectors)
    arrays = {each: _array(each, kind, _UNBOUNDED) for each, kind in zip(registers, datapath.types)}
    signature = f"internal i64 @{{}}({', '.join(f'ptr %{each}' for each in arrays)}, i64 %cycles, i64 %rows, i64 %first, i64 %last)"
    return _function(name, statement, arrays, (strip,), signature, aliased=False)


def _skew(strides: Sequence[tuple[int, int]], sums: int) -> int:
    """Returns k, which is 1 or -1, where a sum uses the same elements of some register as the sum in the row before it does, but k
    cycles later. Returns 0 where there is no such register.

    strides: as in `ChainShape`.
    sums: the number of the register that has the sums.
    """
    return next((k for k in (1, -1) if any(row + k * moved == 0 for n, (row, moved) in enumerate(strides) if n != sums)), 0)


def _strip(step: int, skew: int, vectors: tuple[int, int]) -> Loop:
    """Returns the loops that add the terms of some cycles to all sums: over strips (columns that are computed together), over rows,
    and over cycles.

    Sums of `ROWS` successive rows run in one loop, each `skew` cycles behind the one before, so that they use the same elements at
    the same time. The cycles at both ends in which only some of these rows run are separate loops, a row each; so are the rows that
    are left at the end.
    step: the rows that a sum moves in a cycle.
    skew: what `_skew` returns.
    vectors: (the elements of a vector register, how many of these are computed together).
    """
    lanes, together = vectors
    p, cycles, last = variable("p"), variable("cycles"), variable("rows") - 1
    low, high = {0: (Affine(), last), 1: (cycles * -1, last - 1), -1: (Affine(1), last + cycles)}[step]

    def bounds(p: Affine) -> tuple[tuple[Affine, ...], tuple[Affine, ...]]:
        """Returns the lower and the upper bounds of the cycles t in which the sum that is in row p before the first cycle is
        inside the array; in cycle t it is in row p + step * t.
        """
        meets = {0: ((), ()), 1: ((p * -1,), (last - p,)), -1: ((p - last,), (p,))}[step]
        return (Affine(1), *meets[0]), (cycles, *meets[1])

    def values(node: Instance | Unroll) -> Jam:
        """Returns the loop that runs an instance, or several unrolled ones, for all columns of a strip, in vector registers."""
        return Jam("v", variable("c"), together, lanes, None, (node,))

    def alone(p: Affine, low: tuple[Affine, ...], high: tuple[Affine, ...]) -> Loop:
        """Returns the loop over the cycles in which one row's sums get their terms, without the sums of other rows.

        p: the row; low, high: bounds of the cycles.
        """
        return Loop("t", low, high, 1, (values(Instance("S", (p, variable("v"), variable("t")))),))

    def rest(first: Affine) -> Loop:
        """Returns the loop over the rows from `first` to the last, with a loop over cycles for each row alone."""
        return Loop("p", (first,), (high,), 1, (alone(p, *bounds(p)),))

    def strip(*body: Loop) -> Loop:
        """Returns the loop over strips of columns around the loops in `body`."""
        return Loop("c", (variable("first"),), (variable("last"),), together * lanes, body)

    if not skew:
        return strip(rest(low))
    each = [(p + k, *bounds(p + k), skew * k) for k in range(ROWS)]
    begin = extremum("max", [bound - behind for _, lows, _, behind in each for bound in lows])
    end = extremum("min", [bound - behind for _, _, highs, behind in each for bound in highs])
    together_ = values(
        Unroll("q", Affine(), ROWS, (Instance("S", (p + variable("q"), variable("v"), variable("t") + variable("q") * skew)),))
    )
    before = [alone(q, lows, (*highs, begin + behind - 1)) for q, lows, highs, behind in each]
    after = [alone(q, (*lows, begin + behind, end + behind + 1), highs) for q, lows, highs, behind in each]
    common = Loop("t", operands("max", begin), operands("min", end), 1, (together_,))
    blocks = Loop("p", (low,), (high - (ROWS - 1),), ROWS, (*before, common, *after))
    return strip(blocks, rest(floor_div(high - low + 1, ROWS) * ROWS + low))


def _chain_access(array: str, row: int, moved: int) -> Access:
    """Returns the access { S[p, c, t] -> array[row * p + c + moved * t] }, by which the sum of row p and column c uses a register's
    vector in cycle t.

    row, moved: the two strides of the register (see `ChainShape`).
    """
    element = f"{row}p + c + {moved}t"
    relation, subscript = isl.Map(f"{{ S[p, c, t] -> {array}[{element}] }}"), isl.PwAff(f"{{ S[p, c, t] -> [({element})] }}")
    return Access(array=array, relation=relation, subscripts=(subscript,))


def _function(
    name: str, statement: Statement, arrays: dict[str, Array], loops: tuple[Loop, ...], signature: str, aliased: bool
) -> list[Unit]:
    """Returns the LLVM function that runs loops of one statement on vectors in memory, together with the functions that it calls.

    statement: the statement, whose arrays are the vectors.
    arrays: the vectors, by name.
    loops: the loops around the statement.
    signature: the LLVM signature, with `{}` for the name.
    aliased: whether vectors may share memory, so that the function makes all loads and stores in the order in which the loops have
        them.
    """
    scop = Scop(
        name=name, params=(), types=(), parameters=(), arrays=arrays, statements={"S": statement}, context=isl.Set("{ : }"),
        schedule=isl.Schedule.from_domain(isl.UnionSet.from_set(statement.domain)), checks=(), results=(), result_is_tuple=False,
    )  # fmt: skip
    layouts = {each: _placed(array.element.size_bytes) for each, array in arrays.items()}
    return _ElementwiseLoops(Program(scop, loops), CallConstants({}, layouts), name, signature, aliased).define(loops)


def _placed(size_bytes: int) -> Placed:
    """Returns the layout of a vector with elements of this size; its length does not matter to the code."""
    return Placed(address=0, shape=(_UNBOUNDED,), strides=(size_bytes,), size_bytes=_UNBOUNDED * size_bytes)


def _access(array: str, length: int) -> Access:
    """Returns the access { S[u] -> array[u] }."""
    relation = isl.Map(f"{{ S[u] -> {array}[u] : 0 <= u < {length} }}")
    return Access(array=array, relation=relation, subscripts=(isl.PwAff("{ S[u] -> [(u)] }"),))


def _array(name: str, element: DType, length: int) -> Array:
    """Returns a vector of `length` elements as an array of a SCoP."""
    return Array(name=name, element=element, shape=(isl.PwAff(f"{{ [] -> [({length})] }}"),), role=Role.ARGUMENT)


def _with_numbers(value: Value, arguments: Mapping[str, object]) -> Value:
    """Returns a value with constants in place of its scalar arguments: the numbers that the call has for them."""
    if isinstance(value, ScalarArg):
        return syntax.Const(call_interface.number(value.name, arguments), dtype=value.dtype)
    return with_children(value, tuple(_with_numbers(child, arguments) for child in children(value)))
