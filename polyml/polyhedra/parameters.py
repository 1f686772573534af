"""Parameters of sets and relations: given values, put aside, counted in units."""

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
    """Give parameters their values; a name that the set or relation does not have is passed over.

    value: Set, Map, UnionSet or UnionMap.
    """
    if isinstance(value, (isl.UnionSet, isl.UnionMap)):
        return value.intersect_params(sizes_set(tuple(sizes.items())))
    names = parameter_names(value)
    for name, size in sizes.items():
        if name in names:
            value = value.fix_val(_D.param, names.index(name), size)
    return value


@lru_cache(maxsize=64)
def sizes_set(sizes: tuple[tuple[str, int], ...]) -> isl.Set:
    known = dict(sizes)
    return fix(Frame(tuple(known), ()).universe().params(), known)


def at_sizes(value: _Relation, sizes: Mapping[str, int]) -> _Relation:
    """The set or map of these sizes, without parameters."""
    return fix(value, sizes).project_out_all_params()


def without_sizes(value: _Relation) -> _Relation:
    """What the set or map has for some values of its parameters."""
    return value.project_out_all_params()


def without_parameter(value: _SetOrMap, name: str) -> _SetOrMap:
    """The set or map for some value of the parameter."""
    names = parameter_names(value)
    return value.project_out(_D.param, names.index(name), 1) if name in names else value


def without_parameters(domain: isl.Set) -> isl.Set:
    """The set without what it says of dimensions together with parameters, or of these alone."""
    return domain.drop_constraints_involving_dims(_D.param, 0, domain.dim(_D.param))


def on_parameters(context: isl.Set, names: Sequence[str]) -> isl.Set:
    """What a set { : facts } says about some of its parameters."""
    for position, name in reversed(list(enumerate(parameter_names(context)))):
        if name not in names:
            context = context.project_out(_D.param, position, 1)
    return context


def forget(region: isl.Set, names: Iterable[str]) -> isl.Set:
    """The set without these of its parameters, for any value of theirs."""
    return on_parameters(region, [name for name in parameter_names(region) if name not in names])


def with_parameter(region: isl.Set, name: str) -> isl.Set:
    """{ : ... } with one more parameter, of any value."""
    return region.align_params(isl.Space.params_alloc(CONTEXT, 1).set_dim_name(_D.param, 0, name))


def in_units(value: _SetOrMap, units: Mapping[str, int]) -> _SetOrMap:
    """A set or map with parameters that are multiples of numbers counted in these: [N] -> { [i] : i < 8 N } for i < N and 8."""
    return _rescaled(value, units, lambda name, other, unit: f"{name} = {unit} {other}")


def from_units(value: _SetOrMap, units: Mapping[str, int]) -> _SetOrMap:
    """What `in_units` made, as it was."""
    return _rescaled(value, units, lambda name, other, unit: f"{other} = {unit} {name}")


def _rescaled(value: _SetOrMap, units: Mapping[str, int], relation: Callable[[str, str, int], str]) -> _SetOrMap:
    for name in [n for n in parameter_names(value) if units.get(n, 1) > 1]:
        other = f"{name}_"
        while other in parameter_names(value):
            other += "_"
        value = value.intersect_params(isl.Set(f"[{name}, {other}] -> {{ : {relation(name, other, units[name])} }}"))
        value = without_parameter(value, name)
        value = value.set_dim_name(_D.param, parameter_names(value).index(other), name)
    return value
