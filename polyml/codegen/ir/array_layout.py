"""The addresses and strides that arrays have in the memory of a simulation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod

from polyml.codegen.ir.program import Program, Window, loops
from polyml.errors import ConfigError
from polyml.frontend.syntax import ArrayType
from polyml.model.core.scop import Array, Role, Scop
from polyml.polyhedra import value_at

_COPY_GAP, _COPY_ALIGNMENT = 127, 64  # bytes, as the compiled kernel has them


@dataclass(frozen=True)
class Placed:
    """An array's place in the memory of a simulation.

    address: of the first element.
    strides: bytes between neighbours, by dimension.
    size_bytes: from the first element to behind the last one.
    copies: how many copies of the array there are: one for each thread if it is private to threads.
    apart_bytes: from the start of one copy to the next.
    """

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    size_bytes: int
    copies: int = 1
    apart_bytes: int = 0

    @property
    def element_bytes(self) -> int:
        """The size of an element in bytes."""
        return min(self.strides, default=self.size_bytes)

    @property
    def end(self) -> int:
        """The address behind the last byte of the last copy."""
        return self.address + self.size_bytes + (self.copies - 1) * self.apart_bytes


def placed(
    program: Program, sizes: Mapping[str, int], alignment: int = 64, addresses: Mapping[str, int] | None = None, threads: int = 1
) -> dict[str, Placed]:
    """Returns, by name, the place of every array in memory, row by row: the arguments in their order, then results and local
    arrays.

    sizes: the values of the program's parameters. An argument's memory is that of an array made for these sizes.
    alignment: each array begins behind the one before, at a multiple of so many bytes.
    addresses: of arrays that begin elsewhere.
    threads: how many threads there are, each of which has private arrays of its own.
    """
    known = {**sizes, program.threads: threads} if program.threads else sizes
    own = {array for loop in loops(program.body) for array in loop.private}
    shared = {name: owner for name, owner in program.shared.items() if not {name, owner} & {*(addresses or {})}}
    return _placed(program.scop, program.windows, known, alignment, addresses or {}, dict.fromkeys(own, threads), shared)


def check_addresses(addresses: Mapping[str, int], places: Mapping[str, Placed], program: Program) -> None:
    """Raises ConfigError for the address of an array that does not exist, one that is no multiple of an element's size, or arrays
    that overlap.

    addresses: by name of an array, where it is to begin.
    places: the places of all arrays with these addresses.
    """
    scop, shared = program.scop, program.shared
    known = [array.name for array in _in_order(scop)]
    for name, address in addresses.items():
        if name not in places:
            raise ConfigError(f"there is no array {name} to begin at {address:,}", notes=[f"expected one of {', '.join(known)}"])
        if address % scop.arrays[name].element.size_bytes:
            size = scop.arrays[name].element.size_bytes
            raise ConfigError(
                f"{name} cannot begin at {address:,}", notes=[f"expected a multiple of {size}, the bytes of an element"]
            )
    order = sorted((name for name in places if places[name].size_bytes), key=lambda name: places[name].address)
    for one, other in pairwise(order):
        is_wanted = shared.get(one, one) == shared.get(other, other) and addresses.keys().isdisjoint((one, other))
        if places[one].end > places[other].address and not is_wanted:
            notes = [
                f"{one} has the bytes from {places[one].address:,} to {places[one].end - 1:,}, {other} begins at {places[other].address:,}"
            ]
            raise ConfigError(f"{one} and {other} would lie in one another", notes=notes)


def placed_whole(scop: Scop, sizes: Mapping[str, int], alignment: int = 64) -> dict[str, Placed]:
    """Returns, by name, the place of every array in memory as `placed` does, but with memory for all elements of local arrays."""
    return _placed(scop, {}, sizes, alignment, {}, {}, {})


def _placed(
    scop: Scop, windows: Mapping[str, Window], sizes: Mapping[str, int], alignment: int, addresses: Mapping[str, int],
    copies: Mapping[str, int], shared: Mapping[str, str],
) -> dict[str, Placed]:  # fmt: skip
    """Returns, by name, the place of every array in memory.

    windows: by local array, the part that has memory.
    copies: by array that each thread has a copy of, the number of copies.
    shared: { array -> the one in whose place it lies }; copies of such arrays for threads are equally far apart.
    """
    found: dict[str, Placed] = {}
    alone = {array.name: _alone(array, windows.get(array.name), sizes, copies.get(array.name, 1)) for array in _in_order(scop)}
    places: dict[str, list[str]] = {}
    for name in alone:
        places.setdefault(shared.get(name, name), []).append(name)
    end = 0
    for owner, names in places.items():
        apart_bytes = max((alone[name].apart_bytes for name in names if name in copies), default=0)
        address = addresses.get(owner, -(-end // alignment) * alignment)
        for name in names:
            own = apart_bytes if name in copies else alone[name].apart_bytes
            found[name] = replace(alone[name], address=address, apart_bytes=own)
            end = max(end, found[name].end)
    return {name: found[name] for name in alone}


def _alone(array: Array, window: Window | None, sizes: Mapping[str, int], copies: int) -> Placed:
    """Returns the place of an array as if it began at 0. copies: how many there are, one for each thread"""
    shape = _shape(window, array, sizes)
    strides = [array.element.size_bytes * prod(shape[dim + 1 :]) for dim in range(len(shape))]
    if array.pairs:  # both parts of a number are neighbours
        part, *others = shape
        rows = [array.element.size_bytes * part * prod(others[dim + 1 :]) for dim in range(len(others))]
        strides = [array.element.size_bytes, *rows]
    size_bytes = array.element.size_bytes * prod(shape)
    return Placed(0, shape, tuple(strides), size_bytes, copies, size_bytes + _COPY_GAP & -_COPY_ALIGNMENT)


def in_memory(array: Array) -> bool:
    """Returns whether an array's elements are in memory; the kernel's own scalars are in registers."""
    return array.role is not Role.LOCAL or bool(array.shape)


def _in_order(scop: Scop) -> list[Array]:
    """Returns the arrays that are in memory, the arguments in the order of the kernel's parameters first."""
    arrays = {a.source_name or a.name: a for a in scop.arrays.values() if a.role is Role.ARGUMENT}
    given = [arrays[p] for p, kind in zip(scop.params, scop.types) if isinstance(kind, ArrayType) and p in arrays]
    others = [a for a in scop.arrays.values() if a.role is not Role.ARGUMENT and in_memory(a)]
    return [*given, *others]


def _shape(window: Window | None, array: Array, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """Returns the number of elements that an array has memory for, by dimension: those of its window, the part that is stored, if
    it has one, else all.
    """
    shape = [value_at(extent, sizes) for extent in array.shape]
    if window is not None:
        shape = [extent if length is None else length for extent, length in zip(shape, window.lengths)]
    return tuple(shape)
