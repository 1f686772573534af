"""The value of a statement for all units, as LLVM code: one more loop over vectors of elements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import islpy as isl

from polyml.caches.numbers import Numbered
from polyml.codegen.ast import Instance, Jam, Loop, Program
from polyml.codegen.integers import Lin, var
from polyml.codegen.ir import Unit
from polyml.codegen.systolic import Cell
from polyml.dtypes import DType
from polyml.frontend import syntax
from polyml.model import interface
from polyml.model.nest import children, with_children
from polyml.model.scop import Access, Array, Role, ScalarArg, Scop, Statement, Value

TOGETHER = 4  # vectors of one iteration
_RESULT = "out"


@dataclass(frozen=True)
class _Place:
    """strides: of elements one after another."""

    strides: tuple[int, ...]
    copies: int = 1


class _Values(Numbered):
    """`void @NAME(ptr %r0, ..., ptr %out)`: arrays are what the caller says."""

    def base(self, array: str) -> str:
        return f"%{array}"


def values(name: str, cell: Cell, arguments: Mapping[str, object], lanes: int, length: int, together: int = TOGETHER) -> list[Unit]:
    """`i64 @NAME(ptr %r0, ptr %r1, ..., ptr %out)` on vectors of `length` elements, a multiple of lanes * together.
    arguments: numbers by name.
    """
    registers = [f"r{k}" for k in range(len(cell.types))]
    statement = Statement(
        name="S", iterators=("u",), domain=isl.Set(f"{{ S[u] : 0 <= u < {length} }}"), write=_access(_RESULT, length),
        reads=tuple(_access(register, length) for register in registers), value=_with_numbers(cell.value, arguments),
    )  # fmt: skip
    arrays = {each: _array(each, kind, length) for each, kind in zip((*registers, _RESULT), (*cell.types, cell.result))}
    scop = Scop(
        name=name, params=(), types=(), parameters=(), arrays=arrays, statements={"S": statement}, context=isl.Set("{ : }"),
        schedule=isl.Schedule.from_domain(isl.UnionSet.from_set(statement.domain)), checks=(), results=(), result_is_tuple=False,
    )  # fmt: skip
    jam = Jam("v", var("u"), together, lanes, None, (Instance("S", (var("v"),)),))
    loop = Loop("u", (Lin(),), (Lin((), length - 1),), together * lanes, (jam,))
    places = {each: _Place((array.element.size_bytes,)) for each, array in arrays.items()}
    signature = f"i64 @{{}}({', '.join(f'ptr %{each}' for each in arrays)})"
    return _Values(Program(scop, (loop,)), {}, places, name, signature).define((loop,))


def _access(array: str, length: int) -> Access:
    relation = isl.Map(f"{{ S[u] -> {array}[u] : 0 <= u < {length} }}")
    return Access(array=array, relation=relation, subscripts=(isl.PwAff("{ S[u] -> [(u)] }"),))


def _array(name: str, element: DType, length: int) -> Array:
    return Array(name=name, element=element, shape=(isl.PwAff(f"{{ [] -> [({length})] }}"),), role=Role.ARGUMENT)


def _with_numbers(value: Value, arguments: Mapping[str, object]) -> Value:
    """With what the call gives for its number arguments."""
    if isinstance(value, ScalarArg):
        return syntax.Const(interface.number(value.name, arguments), dtype=value.dtype)
    return with_children(value, tuple(_with_numbers(child, arguments) for child in children(value)))
