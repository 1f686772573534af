"""Unions of sets and relations: how to take them apart and how to make them."""

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
    """Returns the sets of a UnionSet or the maps of a UnionMap, sorted by the names of their tuples; [value] for a Set or Map."""
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
    """Returns the tuple names of the sets in a union."""
    listed = value.get_set_list()
    return [listed.get_at(k).get_tuple_name() for k in range(listed.n_set())]


def extract_set(sets: isl.UnionSet, like: isl.Set) -> isl.Set:
    """Returns the set in a union that has the same space as another set; it is empty where the union has none."""
    return sets.extract_set(like.get_space().align_params(sets.get_space()))


def union(values: Sequence[_Value], empty: _Value | None = None) -> _Value:
    """Returns the union of sets or relations of one type; `empty` where there are none, or ValueError if `empty` is None.

    The two halves of the sequence are united first, and so on: isl copies both operands, so one after another would take longer.
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
    """Returns a set or relation without the elements of any of the `parts`."""
    for part in parts:
        value = value.subtract(part)
    return value


def alternatives(region: isl.Set) -> list[isl.Set]:
    """Returns the set as conjunctions of constraints, whose union it is; they may share points."""
    return [isl.Set.from_basic_set(part) for part in region.coalesce().compute_divs().get_basic_sets()]


def disjoint(domain: isl.Set) -> list[isl.Set]:
    """Returns the set as conjunctions of constraints, whose union it is and which share no points."""
    return [isl.Set.from_basic_set(part) for part in domain.compute_divs().make_disjoint().get_basic_sets()]


def conjunctions(pairs: isl.Map) -> list[isl.Map]:
    """Returns the relation as conjunctions of constraints, whose union it is and which share no pairs."""
    return [isl.Map.from_basic_map(piece) for piece in pairs.coalesce().compute_divs().make_disjoint().get_basic_maps()]


def by_first_difference(pairs: isl.Map) -> Iterator[tuple[int, isl.Map]]:
    """Yields (d, part) for the pairs { x -> y } by the first coordinate d in which x and y differ.

    The last part has the pairs with x = y, if there are any; its d is the number of coordinates.
    """
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
    """Yields, for each constraint of a set on dimensions from `depth` on, the parts into which it cuts the space.

    An equality gives three parts: below, on and above its hyperplane. An inequality gives two, outside and inside its half space;
    it is left out if `only_hyperplanes`.
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
    """Returns the set with conjunctions joined where isl can (coalesced), unless that makes new constraints on several dimensions.

    Then the set is returned unchanged; an example is a cross of two boxes.
    """
    whole = value.coalesce()
    return value if _slanted(whole) > _slanted(value) else whole


def _slanted(value: isl.Set) -> int:
    """Returns the largest number of constraints on several dimensions that one of the conjunctions of a set has."""
    dims = range(value.dim(_D.set))

    def of(piece: isl.BasicSet) -> int:
        return sum(sum(row.involves_dims(_D.set, d, 1) for d in dims) > 1 for row in piece.get_constraints())

    return max(map(of, value.get_basic_sets()), default=0)
