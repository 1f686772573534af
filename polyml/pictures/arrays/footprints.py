"""Which elements of each array a kernel reads and writes, and those that one tile, instance or statement touches, as values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

import islpy as isl

from polyml import polyhedra
from polyml.errors import ConfigError
from polyml.model.core.dependence import NONE
from polyml.model.core.nest import subvalues
from polyml.model.core.scop import Array, Gather, Scop, Statement
from polyml.pictures.arrays.grids import Index
from polyml.pictures.sizes_text import source_sizes
from polyml.polyhedra import value_at
from polyml.polyhedra.points import instance_text, points
from polyml.reading.input_limits import shown
from polyml.schedule.tree import loop_tree

_NEAR = 5  # tiles in the middle of which the one with most instances is outlined
_AT = re.compile(r"(tile +)?(\w+)(?:\[ *(-?\d+(?: *, *-?\d+)*)? *\])?")
_FORMS = "expected an instance such as S0[1, 2], the tile that it is in, such as tile S0[1, 2], or a statement such as S0"


@dataclass(frozen=True)
class ArrayFootprint:
    """The elements of an array that are read, that are written, and that what is chosen touches."""

    array: str
    shape: Index
    read: frozenset[Index]
    written: frozenset[Index]
    chosen: frozenset[Index]


@dataclass(frozen=True)
class Footprints:
    """The footprints of a kernel for some sizes.

    sizes: by what they are in the source, such as "A.shape[0]".
    chosen: whose elements are outlined, such as "S0[1, 2]" or "the 6 instances of S0 with loops over tiles at (0, 1)".
    by_data: the arrays of which data decide which elements are read; these reads are not among the elements.
    """

    kernel: str
    sizes: dict[str, int]
    arrays: tuple[ArrayFootprint, ...]
    chosen: str
    by_data: tuple[str, ...] = ()


def footprints(scop: Scop, tree: isl.Schedule, sizes: Mapping[str, int], at: str = "") -> Footprints:
    """Returns the footprints of a kernel.

    tree: the schedule whose tiles may be chosen.
    at: what is outlined, an instance, tile or statement; "": the tile in the middle, or the instance there where there are no tiles.
    Raises ConfigError for what the kernel does not have.
    """
    words, instances = _chosen(scop, _tile_numbers(tree, scop), sizes, at)
    found = []
    for array in scop.arrays.values():
        read, written = (_touched(scop, array, sizes, is_write, None) for is_write in (False, True))
        inside = _touched(scop, array, sizes, False, instances) | _touched(scop, array, sizes, True, instances)
        found.append(ArrayFootprint(array.name, shape_of(array, sizes), read, written, inside))
    by_data = {value.array for s in scop.statements.values() for value in subvalues(s.value) if isinstance(value, Gather)}
    return Footprints(scop.name, source_sizes(scop, sizes), tuple(found), words, tuple(sorted(by_data)))


def shape_of(array: Array, sizes: Mapping[str, int]) -> Index:
    """Returns the shape of an array; both parts of a complex number are one element."""
    return tuple(value_at(extent, sizes) for extent in array.shape[array.pairs :])


def _touched(
    scop: Scop, array: Array, sizes: Mapping[str, int], is_write: bool, instances: Mapping[str, isl.Set] | None
) -> frozenset[Index]:
    """Returns the elements of an array that instances read, or write. instances: those of each statement; None: all."""
    ranges = []
    for statement in scop.statements.values():
        domain = statement.domain if instances is None else instances.get(statement.name)
        for access in (statement.write,) if is_write else statement.reads:
            if access.array == array.name and domain is not None:
                ranges.append(isl.UnionSet.from_set(access.relation.intersect_domain(domain).range()))
    found = points(polyhedra.union(ranges, NONE.range()), **sizes)
    return frozenset(index[array.pairs :] for _, index in found)


def _tile_numbers(tree: isl.Schedule, scop: Scop) -> dict[str, isl.UnionMap]:
    """Returns, by statement with loops over tiles around it, the values of these loops { S[i] -> [t] }."""
    around: dict[str, list[isl.UnionMap]] = {}
    for _, loop in loop_tree.loops(loop_tree.read(tree, scop.statements)):
        if loop.directives.tile:
            for name in loop_tree.statements(loop):
                own = isl.UnionSet.from_set(scop.statements[name].domain)
                around.setdefault(name, []).append(isl.UnionMap.from_union_pw_aff(loop.member).intersect_domain(own))
    return {name: reduce(isl.UnionMap.flat_range_product, maps) for name, maps in around.items()}


def _chosen(scop: Scop, tiles: Mapping[str, isl.UnionMap], sizes: Mapping[str, int], at: str) -> tuple[str, dict[str, isl.Set]]:
    """Returns what is outlined in words, and its instances { S[i] } by statement."""
    if not at:
        return _in_the_middle(scop, tiles, sizes)
    match = _AT.fullmatch(at.strip())
    if match is None:
        raise ConfigError(f"at= does not take {shown(at)}", notes=[_FORMS])
    wants_tile, name, given = match.groups()
    if name not in scop.statements:
        raise ConfigError(f"there is no statement {name}", notes=[f"statements: {', '.join(scop.statements)}"])
    statement = scop.statements[name]
    if not wants_tile and "[" not in at:
        return f"all instances of {name}", {name: statement.domain}
    point = tuple(map(int, given.split(","))) if given else ()
    own = _set_of(statement, point) if len(point) == len(statement.iterators) else None
    if own is None or polyhedra.fix(statement.domain.intersect(own), sizes).is_empty():
        told = ", ".join(f"{size} = {value}" for size, value in sizes.items())
        raise ConfigError(f"there is no instance {instance_text((name, point))} for {told or 'this kernel'}", notes=[_FORMS])
    if not wants_tile:
        return _of_instance(statement, point)
    if name not in tiles:
        raise ConfigError(f"the schedule has no tiles around {name}", notes=["schedule.tile(i=4, j=4) makes tiles", _FORMS])
    ((_, numbers),) = points(tiles[name].intersect_domain(isl.UnionSet.from_set(own)).range(), **sizes)
    words, inside, _ = _tile(name, tiles[name], numbers, sizes)
    return words, {name: inside}


def _in_the_middle(scop: Scop, tiles: Mapping[str, isl.UnionMap], sizes: Mapping[str, int]) -> tuple[str, dict[str, isl.Set]]:
    """Returns the tile or instance that is outlined where none is asked for: of tiles near the middle, the one with most instances."""
    for name, relation in tiles.items():
        every = sorted(numbers for _, numbers in points(relation.range(), **sizes))
        if every:
            near = sorted(range(len(every)), key=lambda k: abs(k - len(every) // 2))[:_NEAR]
            found = [_tile(name, relation, every[k], sizes) for k in near]
            words, inside, _ = max(found, key=lambda each: each[2])
            return words, {name: inside}
    statement = [*scop.statements.values()][-1]
    instances = sorted(point for _, point in points(statement.domain, **sizes))
    if not instances:
        return "nothing: there are no instances", {}
    middle = [(min(values) + max(values)) / 2 for values in zip(*instances)]
    return _of_instance(statement, min(instances, key=lambda point: [abs(a - b) for a, b in zip(point, middle)]))


def _tile(name: str, relation: isl.UnionMap, numbers: Index, sizes: Mapping[str, int]) -> tuple[str, isl.Set, int]:
    """Returns a tile in words, its instances, and how many there are. relation: { S[i] -> [t] }, of which a tile has the same [t]."""
    chosen = isl.UnionSet(f"{{ [{', '.join(map(str, numbers))}] }}")
    inside = isl.Set.from_union_set(relation.intersect_range(chosen).domain())
    number = len(points(inside, **sizes))
    at = ", ".join(map(str, numbers))
    return f"the {number:,} instances of {name} with loops over tiles at ({at})", inside, number


def _of_instance(statement: Statement, point: Index) -> tuple[str, dict[str, isl.Set]]:
    return instance_text((statement.name, point)), {statement.name: _set_of(statement, point)}


def _set_of(statement: Statement, point: Index) -> isl.Set:
    """Returns the set of one instance { S[i] }."""
    return isl.Set(f"{{ {instance_text((statement.name, point))} }}")
