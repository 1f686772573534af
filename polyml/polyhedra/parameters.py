"""Parameters of sets and relations: how to fix them, project them out, and count them in units."""

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
    """Returns the set or relation with its parameters fixed to the values in `sizes`, whose other names are ignored."""
    if isinstance(value, (isl.UnionSet, isl.UnionMap)):
        return value.intersect_params(sizes_set(tuple(sizes.items())))
    known = tuple((name, sizes[name]) for name in parameter_names(value) if name in sizes)
    return value.intersect_params(sizes_set(known)) if known else value


@lru_cache(maxsize=256)
def sizes_set(sizes: tuple[tuple[str, int], ...]) -> isl.Set:
    """Returns the parameter set { : name = value and ... }."""
    found = Frame(tuple(name for name, _ in sizes), ()).universe().params()
    for position, (_, size) in enumerate(sizes):
        found = found.fix_val(_D.param, position, size)
    return found


def at_sizes(value: _Relation, sizes: Mapping[str, int]) -> _Relation:
    """Returns the set or relation for these values of its parameters, without parameters.

    It is the union over all values of those parameters that are not in `sizes`.
    """
    return fix(value, sizes).project_out_all_params()


def without_sizes(value: _Relation) -> _Relation:
    """Returns a set or relation without parameters: the union over all their values."""
    return value.project_out_all_params()


def without_parameter(value: _SetOrMap, name: str) -> _SetOrMap:
    """Returns a set or relation without one of its parameters: the union over all values of that parameter."""
    names = parameter_names(value)
    return value.project_out(_D.param, names.index(name), 1) if name in names else value


def without_parameters(domain: isl.Set) -> isl.Set:
    """Returns the set without its constraints that involve parameters."""
    return domain.drop_constraints_involving_dims(_D.param, 0, domain.dim(_D.param))


def on_parameters(context: isl.Set, names: Sequence[str]) -> isl.Set:
    """Returns the projection of a parameter set { : ... } onto the parameters `names`."""
    for position, name in reversed(list(enumerate(parameter_names(context)))):
        if name not in names:
            context = context.project_out(_D.param, position, 1)
    return context


def forget(region: isl.Set, names: Iterable[str]) -> isl.Set:
    """Returns the parameter set { : ... } with the parameters `names` projected out."""
    return on_parameters(region, [name for name in parameter_names(region) if name not in names])


def with_parameter(region: isl.Set, name: str) -> isl.Set:
    """Returns the parameter set { : ... } with one more parameter, which may have any value."""
    return region.align_params(isl.Space.params_alloc(CONTEXT, 1).set_dim_name(_D.param, 0, name))


def in_units(value: _SetOrMap, units: Mapping[str, int]) -> _SetOrMap:
    """Returns a set or relation whose parameters count units: { [i] : i < N } becomes { [i] : i < 8 N } for units of 8.

    units: by parameter the unit, a number that its value is a multiple of
    """
    return _rescaled(value, units, lambda name, other, unit: f"{name} = {unit} {other}")


def from_units(value: _SetOrMap, units: Mapping[str, int]) -> _SetOrMap:
    """Returns the set or relation of which `in_units` made `value`: its parameters have their own values again, not counts of
    units.

    units: as for `in_units`
    """
    return _rescaled(value, units, lambda name, other, unit: f"{other} = {unit} {name}")


def _rescaled(value: _SetOrMap, units: Mapping[str, int], relation: Callable[[str, str, int], str]) -> _SetOrMap:
    """Returns the value with each parameter that has a unit replaced by a parameter of the same name and another scale.

    relation: makes the equation between the two, as text, from (old name, temporary name of the new one, unit)
    """
    for name in [n for n in parameter_names(value) if units.get(n, 1) > 1]:
        other = f"{name}_"
        while other in parameter_names(value):
            other += "_"
        value = value.intersect_params(isl.Set(f"[{name}, {other}] -> {{ : {relation(name, other, units[name])} }}"))
        value = without_parameter(value, name)
        value = value.set_dim_name(_D.param, parameter_names(value).index(other), name)
    return value
