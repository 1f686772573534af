"""Parameters of sets and relations: they are fixed, projected out, and counted in units."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TypeVar

import islpy as isl

from polyml.polyhedra.isl_context import CONTEXT
from polyml.polyhedra.spaces import Frame, parameter_names

_D = isl.dim_type

_Relation = TypeVar("_Relation", isl.Set, isl.Map, isl.UnionSet, isl.UnionMap)
_SetOrMap = TypeVar("_SetOrMap", isl.Set, isl.Map)


def fix(value: _Relation, sizes: Mapping[str, int]) -> _Relation:
    """Returns the set or relation with parameters fixed to these values. Names that are not among its parameters are ignored."""
    if isinstance(value, (isl.UnionSet, isl.UnionMap)):
        return value.intersect_params(sizes_set(tuple(sizes.items())))
    names = parameter_names(value)
    for name, size in sizes.items():
        if name in names:
            value = value.fix_val(_D.param, names.index(name), size)
    return value


@lru_cache(maxsize=64)
def sizes_set(sizes: tuple[tuple[str, int], ...]) -> isl.Set:
    """Returns the parameter set { : name = value and ... }."""
    known = dict(sizes)
    return fix(Frame(tuple(known), ()).universe().params(), known)


def at_sizes(value: _Relation, sizes: Mapping[str, int]) -> _Relation:
    """Returns the set or relation for these sizes, without parameters."""
    return fix(value, sizes).project_out_all_params()


def without_sizes(value: _Relation) -> _Relation:
    """Returns the union of a set or relation over all values of its parameters."""
    return value.project_out_all_params()


def without_parameter(value: _SetOrMap, name: str) -> _SetOrMap:
    """Returns the union of a set or relation over all values of one parameter."""
    names = parameter_names(value)
    return value.project_out(_D.param, names.index(name), 1) if name in names else value


def without_parameters(domain: isl.Set) -> isl.Set:
    """Returns the set without its constraints that involve parameters."""
    return domain.drop_constraints_involving_dims(_D.param, 0, domain.dim(_D.param))


def on_parameters(context: isl.Set, names: Sequence[str]) -> isl.Set:
    """Returns the projection of { : ... } onto some of its parameters."""
    for position, name in reversed(list(enumerate(parameter_names(context)))):
        if name not in names:
            context = context.project_out(_D.param, position, 1)
    return context


def forget(region: isl.Set, names: Iterable[str]) -> isl.Set:
    """Returns { : ... } with these parameters projected out."""
    return on_parameters(region, [name for name in parameter_names(region) if name not in names])


def with_parameter(region: isl.Set, name: str) -> isl.Set:
    """Returns { : ... } with one more parameter, which may have any value."""
    return region.align_params(isl.Space.params_alloc(CONTEXT, 1).set_dim_name(_D.param, 0, name))


def in_units(value: _SetOrMap, units: Mapping[str, int]) -> _SetOrMap:
    """Returns a set or relation with parameters counted in units: [N] -> { [i] : i < N } for N = 8 N' is { [i] : i < 8 N' }.

    units: by parameter, a number that it is a multiple of
    """
    return _rescaled(value, units, lambda name, other, unit: f"{name} = {unit} {other}")


def from_units(value: _SetOrMap, units: Mapping[str, int]) -> _SetOrMap:
    """Returns what `in_units` made in the original parameters."""
    return _rescaled(value, units, lambda name, other, unit: f"{other} = {unit} {name}")


def _rescaled(value: _SetOrMap, units: Mapping[str, int], relation: Callable[[str, str, int], str]) -> _SetOrMap:
    """Returns the value with each parameter replaced by another one in the given relation, and of the old name."""
    for name in [n for n in parameter_names(value) if units.get(n, 1) > 1]:
        other = f"{name}_"
        while other in parameter_names(value):
            other += "_"
        value = value.intersect_params(isl.Set(f"[{name}, {other}] -> {{ : {relation(name, other, units[name])} }}"))
        value = without_parameter(value, name)
        value = value.set_dim_name(_D.param, parameter_names(value).index(other), name)
    return value
