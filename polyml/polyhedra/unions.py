"""Sets and relations in parts, and unions of parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar, overload

import islpy as isl

from polyml.polyhedra.spaces import tuple_names

_D = isl.dim_type

_Value = TypeVar("_Value", isl.Set, isl.Map, isl.UnionSet, isl.UnionMap)
_SetOrMap = TypeVar("_SetOrMap", isl.Set, isl.Map)
_Piece = TypeVar("_Piece", isl.Set, isl.Map)


@overload
def pieces(value: isl.UnionMap) -> Sequence[isl.Map]: ...


@overload
def pieces(value: isl.UnionSet) -> Sequence[isl.Set]: ...


@overload
def pieces(value: _Piece) -> Sequence[_Piece]: ...


def pieces(value: isl.UnionMap | isl.UnionSet | isl.Map | isl.Set) -> Sequence[isl.Map | isl.Set]:
    """Returns the sets of a UnionSet or the maps of a UnionMap, in the order of their names; [value] for anything else."""
    if isinstance(value, isl.UnionMap):
        map_list = value.get_map_list()
        maps = [map_list.get_at(k) for k in range(map_list.n_map())]
        return sorted(maps, key=lambda m: (m.get_tuple_name(_D.in_) or "", m.get_tuple_name(_D.out) or ""))
    if isinstance(value, isl.UnionSet):
        set_list = value.get_set_list()
        sets = [set_list.get_at(k) for k in range(set_list.n_set())]
        return sorted(sets, key=lambda piece: tuple_names(piece.get_space()))
    return [value]


def set_names(value: isl.UnionSet) -> list[str]:
    """Returns the names of the sets in a union."""
    listed = value.get_set_list()
    return [listed.get_at(k).get_tuple_name() for k in range(listed.n_set())]


def extract_set(sets: isl.UnionSet, like: isl.Set) -> isl.Set:
    """Returns the set in a union that has the space of another set."""
    return sets.extract_set(like.get_space().align_params(sets.get_space()))


def union(values: Sequence[_Value], empty: _Value | None = None) -> _Value:
    """Returns the union of sets or relations of one type; of none of them, `empty`, without which it raises ValueError.

    Halves are joined first, since each union copies what it joins.
    """
    if not values:
        if empty is None:
            raise ValueError("the union of no sets has no space")
        return empty
    if len(values) == 1:
        return values[0]
    middle = len(values) // 2
    return union(values[:middle]).union(union(values[middle:]))


def subtracted(value: _SetOrMap, parts: Sequence[_SetOrMap]) -> _SetOrMap:
    """Returns the set or relation without the parts."""
    for part in parts:
        value = value.subtract(part)
    return value


def alternatives(region: isl.Set) -> list[isl.Set]:
    """Returns conjunctions whose union is the set; they may share points."""
    return [isl.Set.from_basic_set(part) for part in region.coalesce().compute_divs().get_basic_sets()]


def disjoint(domain: isl.Set) -> list[isl.Set]:
    """Returns conjunctions whose union is the set and which share no points."""
    return [isl.Set.from_basic_set(part) for part in domain.compute_divs().make_disjoint().get_basic_sets()]


def conjunctions(pairs: isl.Map) -> list[isl.Map]:
    """Returns conjunctions whose union is the relation and which share no pairs."""
    return [isl.Map.from_basic_map(piece) for piece in pairs.coalesce().compute_divs().make_disjoint().get_basic_maps()]


def by_first_difference(pairs: isl.Map) -> Iterator[tuple[int, isl.Map]]:
    """Yields { x -> y } in parts, each with the first coordinate in which x and y differ; the number of coordinates where x = y."""
    dims = pairs.dim(_D.in_)
    for dim in range(dims):
        equal = pairs.equate(_D.in_, dim, _D.out, dim)
        if pairs.is_subset(equal):
            continue
        yield dim, pairs.subtract(equal)
        pairs = equal
        if pairs.is_empty():
            return
    yield dims, pairs


def hyperplane_sides(value: isl.Set, depth: int, only_hyperplanes: bool) -> Iterator[tuple[isl.Set, ...]]:
    """Yields the space cut along each constraint of a set on dimensions from `depth` on.

    An equality gives three parts: below, on and above its hyperplane. An inequality gives two, outside and inside its half space,
        unless `only_hyperplanes`.
    """
    for basic in value.get_basic_sets():
        for constraint in basic.get_constraints():
            if not constraint.involves_dims(_D.set, depth, value.dim(_D.set) - depth):
                continue
            expression = isl.PwAff.from_aff(constraint.get_aff())
            if constraint.is_equality():
                yield expression.neg().pos_set(), expression.zero_set(), expression.pos_set()
            elif not only_hyperplanes:
                yield expression.neg().pos_set(), expression.nonneg_set()


def joined(value: isl.Set) -> isl.Set:
    """Returns the set coalesced, except where that makes constraints on several dimensions of separate ones, as for a cross of
    two boxes.
    """
    whole = value.coalesce()
    return value if _slanted(whole) > _slanted(value) else whole


def _slanted(value: isl.Set) -> int:
    """Returns the largest number of constraints on several dimensions that a piece has."""
    dims = range(value.dim(_D.set))

    def of(piece: isl.BasicSet) -> int:
        return sum(sum(row.involves_dims(_D.set, d, 1) for d in dims) > 1 for row in piece.get_constraints())

    return max(map(of, value.get_basic_sets()), default=0)
