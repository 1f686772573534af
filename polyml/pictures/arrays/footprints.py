"""Which elements of each array a kernel reads and writes, and those that one tile, instance or statement touches, as values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import islpy as isl

from polyml import polyhedra
from polyml.errors import ConfigError
from polyml.model.core.dependence import NONE, Dependences
from polyml.model.core.nest import subvalues
from polyml.model.core.scop import Array, Gather, Scop, Statement
from polyml.pictures.arrays.grids import Index
from polyml.pictures.nests import TILES, Tile, nest_picture
from polyml.polyhedra import value_at
from polyml.polyhedra.points import instance_text, points
from polyml.reading.input_limits import shown

EVERY = 1_000_000  # instances of which tiles are made
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

    sizes: {parameter: value}.
    chosen: what is outlined, such as "S0[1, 2]" or "the tile (0, 1) of S0, with 6 instances".
    by_data: the arrays of which data decide which elements are read; these reads are not among the elements.
    """

    kernel: str
    sizes: dict[str, int]
    arrays: tuple[ArrayFootprint, ...]
    chosen: str
    by_data: tuple[str, ...] = ()


def footprints(scop: Scop, dependences: Dependences, tree: isl.Schedule, sizes: Mapping[str, int], at: str = "") -> Footprints:
    """Returns the footprints of a kernel.

    tree: the schedule whose tiles may be chosen.
    at: what is outlined, an instance, tile or statement; "": the tile in the middle, or the instance there where there are no tiles.
    Raises ConfigError for what the kernel does not have.
    """
    tiles = nest_picture(scop, dependences, tree, TILES, sizes, EVERY).tiles
    words, instances = _chosen(scop, tiles, sizes, at)
    found = []
    for array in scop.arrays.values():
        read, written = (_touched(scop, array, sizes, is_write, None) for is_write in (False, True))
        inside = _touched(scop, array, sizes, False, instances) | _touched(scop, array, sizes, True, instances)
        found.append(ArrayFootprint(array.name, shape_of(array, sizes), read, written, inside))
    by_data = {value.array for s in scop.statements.values() for value in subvalues(s.value) if isinstance(value, Gather)}
    return Footprints(scop.name, dict(sizes), tuple(found), words, tuple(sorted(by_data)))


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


def _chosen(scop: Scop, tiles: Sequence[Tile], sizes: Mapping[str, int], at: str) -> tuple[str, dict[str, isl.Set]]:
    """Returns what is outlined in words, and its instances { S[i] } by statement."""
    match = _AT.fullmatch(at.strip()) if at else None
    if at and match is None:
        raise ConfigError(f"at= does not take {shown(at)}", notes=[_FORMS])
    wants_tile, name, given = match.groups() if match else (None, "", None)
    if match and name not in scop.statements:
        raise ConfigError(f"there is no statement {name}", notes=[f"statements: {', '.join(scop.statements)}"])
    if match and not wants_tile and "[" not in at:
        return f"all instances of {name}", {name: scop.statements[name].domain}
    if not match:
        if tiles:
            tile = max(tiles, key=lambda each: (len(each.points), -abs(tiles.index(each) - len(tiles) // 2)))
            return _of_tile(scop.statements[tile.statement], tile)
        statement = [*scop.statements.values()][-1]
        every = sorted(point for _, point in points(statement.domain, **sizes))
        if not every:
            return "nothing: there are no instances", {}
        middle = [(min(values) + max(values)) / 2 for values in zip(*every)]
        return _of_instance(statement, min(every, key=lambda point: [abs(a - b) for a, b in zip(point, middle)]))
    statement = scop.statements[name]
    point = tuple(map(int, given.split(","))) if given else ()
    if (name, point) not in points(statement.domain, **sizes):
        told = ", ".join(f"{size} = {value}" for size, value in sizes.items())
        raise ConfigError(f"there is no instance {instance_text((name, point))} for {told or 'this kernel'}", notes=[_FORMS])
    if not wants_tile:
        return _of_instance(statement, point)
    tile_of = next((each for each in tiles if each.statement == name and point in each.points), None)
    if tile_of is None:
        raise ConfigError(f"the schedule has no tiles around {name}", notes=["schedule.tile(i=4, j=4) makes tiles", _FORMS])
    return _of_tile(statement, tile_of)


def _of_instance(statement: Statement, point: Index) -> tuple[str, dict[str, isl.Set]]:
    return instance_text((statement.name, point)), {statement.name: _set_of(statement, [point])}


def _of_tile(statement: Statement, tile: Tile) -> tuple[str, dict[str, isl.Set]]:
    words = f"the tile {', '.join(map(str, tile.numbers))} of {statement.name}, with {len(tile.points):,} instances"
    return words, {statement.name: _set_of(statement, tile.points)}


def _set_of(statement: Statement, chosen: Sequence[Index]) -> isl.Set:
    """Returns a set of some instances { S[i] }."""
    texts = (instance_text((statement.name, point)) for point in chosen)
    return isl.Set(f"{{ {'; '.join(texts)} }}")
