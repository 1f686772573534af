"""The arguments of compiled code: a sequence of words of 64 bits, one or more for each thing that a kernel needs.

word 0                the number of threads
array argument        data pointer, shape[0..n-1], strides in bytes [0..n-1]
number argument       one word; two of a complex number
array to return       as an array argument
number to return      one word, written by the kernel; two of a complex number
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from polyml.codegen.ir.program import Program
from polyml.frontend.syntax import ArrayType
from polyml.model.core.scop import Array, Role
from polyml.model.lowering.arithmetic.complex_parts import parts_of
from polyml.quasi_affine.affine import Affine
from polyml.quasi_affine.from_isl import expression_of_iterators


@dataclass(frozen=True)
class SlotStride:
    """A stride in bytes that the caller's array decides. The kernel finds it in the argument word number `word` (see `SlotMap`)."""

    word: int


@dataclass(frozen=True)
class ProductStride:
    """A stride in bytes of an array that is stored row by row: size_bytes times the product of the extents of the inner
    dimensions.
    """

    size_bytes: int
    extents: tuple[Affine, ...]


Stride = int | SlotStride | ProductStride


def _row_strides(size_bytes: int, extents: tuple[Affine, ...]) -> tuple[Stride, ...]:
    """Returns the strides in bytes, by dimension, of an array stored row by row.

    size_bytes: of an element.
    extents: the number of elements in each dimension.
    """
    return tuple(_row_stride(size_bytes, extents[d + 1 :]) for d in range(len(extents)))


def _row_stride(size_bytes: int, extents: tuple[Affine, ...]) -> Stride:
    """Returns the stride in bytes of a dimension of an array stored row by row.

    size_bytes: of an element.
    extents: of the dimensions inside this one.
    """
    if all(e.is_constant for e in extents):
        return size_bytes * prod(e.constant for e in extents)
    return ProductStride(size_bytes, extents)


@dataclass(frozen=True)
class SlotMap:
    """A slot map says which of the argument words (of 64 bits) of a compiled kernel hold each array, parameter and number, and
    which strides arrays have.

    first_result: the number of the first of the words into which the kernel writes those of its results that are numbers.
    """

    first_result: int
    _data: dict[str, int]
    _strides: dict[str, tuple[Stride, ...]]
    _parameters: dict[str, int]
    _numbers: dict[str, int]
    _unaligned: frozenset[str]

    @staticmethod
    def of(program: Program, layouts: tuple[str, ...]) -> SlotMap:
        """Returns the slot map of a Program.

        layouts: by array argument, in order: "C" if the last dimension's stride is one element, "F" if the first one's is, else
            "A".
        """
        scop = program.scop
        data, strides, numbers, shapes, unaligned = {}, {}, {}, {}, set()
        word, layout = 1, iter(layouts)
        own = {a.source_name or a.name: a.name for a in scop.arrays.values() if a.role is Role.ARGUMENT}
        for param, kind in zip(scop.params, scop.types):
            if not isinstance(kind, ArrayType):
                for number in parts_of(param) if kind.dtype.is_complex else (param,):
                    numbers[number] = word
                    word += 1
                continue
            name = own.get(param, param)
            data[name], shapes[param] = word, word + 1
            order = next(layout)
            steps: list[Stride] = [SlotStride(word + 1 + kind.ndim + d) for d in range(kind.ndim)]
            if kind.ndim and order != "A":
                steps[-1 if order == "C" else 0] = kind.element.size_bytes
            if order == "A":
                unaligned.add(name)
            strides[name] = (kind.element.part.size_bytes, *steps) if kind.element.is_complex else tuple(steps)
            word += 1 + 2 * kind.ndim
        for array in scop.arrays.values():
            if array.role is Role.ARGUMENT:
                continue
            extents = tuple(expression_of_iterators(e) for e in array.shape)
            if array.name in program.windows:
                lengths = program.windows[array.name].lengths
                extents = tuple(e if n is None else Affine(n) for e, n in zip(extents, lengths))
            if array.role is Role.RESULT and array.pairs:
                size = array.element.size_bytes
                strides[array.name] = (size, *_row_strides(2 * size, extents[1:]))
            else:
                strides[array.name] = _row_strides(array.element.size_bytes, extents)
            if array.role is Role.RESULT:
                data[array.name] = word
                word += 1 + 2 * (len(extents) - array.pairs)
        parameters = {}
        for p in scop.parameters:
            if p.extreme or p.found:
                continue
            parameters[p.name] = numbers[p.argument or p.name] if p.array is None else shapes[p.array] + p.dim
        return SlotMap(word, data, strides, parameters, numbers, frozenset(unaligned))

    def parameter(self, name: str) -> int:
        """Returns the number of the word that holds the value of a SCoP's parameter."""
        return self._parameters[name]

    def number(self, name: str) -> int:
        """Returns the number of the first word that holds a number argument."""
        return self._numbers[name]

    def data(self, array: str) -> int:
        """Returns the number of the word that holds an array's address."""
        return self._data[array]

    def strides(self, array: str) -> tuple[Stride, ...]:
        """Returns the strides of an array in bytes, by dimension; a stride is an int where it is known."""
        return self._strides[array]

    def unit_dim(self, array: Array) -> int | None:
        """Returns the dimension along which elements (or complex numbers) are neighbours in memory, or None if there is none."""
        size = array.element.size_bytes
        wanted = (size, 2 * size) if array.pairs else (size,)
        steps = self._strides[array.name]
        return next((d for d in reversed(range(int(array.pairs), len(steps))) if steps[d] in wanted), None)

    def has_word(self, array: str) -> bool:
        """Returns whether the caller gives the array's memory, so that a word holds its address."""
        return array in self._data

    def unaligned(self, array: str) -> bool:
        """Returns whether the array's elements may lie at addresses that are no multiples of their size."""
        return array in self._unaligned
