"""Spaces, and the names of parameters, iterators, sets and relations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol, TypeVar

import islpy as isl

from polyml.polyhedra.isl_context import CONTEXT

_D = isl.dim_type

_Function = TypeVar("_Function", isl.Aff, isl.PwAff, isl.Map)


class _InSpace(Protocol):
    """An _InSpace is any isl object with a space, which tells its parameters, tuples and dimensions."""

    def get_space(self) -> isl.Space: ...


@dataclass(frozen=True)
class Frame:
    """A Frame is the space [parameters] -> { [iterators] } of the affine expressions inside certain loops, whose iterators it
    has.
    """

    parameters: tuple[str, ...]
    iterators: tuple[str, ...]
    space: isl.Space = field(init=False, repr=False, compare=False)
    _positions: dict[str, tuple[isl.dim_type, int]] = field(init=False, repr=False, compare=False)
    _zero: isl.Aff = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        space = isl.Space.set_alloc(CONTEXT, len(self.parameters), len(self.iterators))
        for position, name in enumerate(self.parameters):
            space = space.set_dim_name(_D.param, position, name)
        for position, name in enumerate(self.iterators):
            space = space.set_dim_name(_D.set, position, name)
        positions = {name: (_D.param, position) for position, name in enumerate(self.parameters)}
        positions |= {name: (_D.in_, position) for position, name in enumerate(self.iterators)}
        object.__setattr__(self, "space", space)
        object.__setattr__(self, "_positions", positions)
        object.__setattr__(self, "_zero", isl.Aff.zero_on_domain(isl.LocalSpace.from_space(space)))

    def universe(self) -> isl.Set:
        """Returns the set { [iterators] } of all integer points."""
        return isl.Set.universe(self.space)

    def aff(self, constant: int, terms: Iterable[tuple[str, int]] = ()) -> isl.Aff:
        """Returns the expression { [iterators] -> [(constant + sum of coefficient * name)] }.

        terms: pairs (name of a parameter or an iterator, coefficient)
        """
        result = self._zero.set_constant_val(constant)
        for name, coefficient in terms:
            result = result.set_coefficient_val(*self._positions[name], coefficient)
        return result


def extend(domain: isl.Set, iterator: str) -> isl.Set:
    """Returns { [i] } as { [i, iterator] }, with one more innermost dimension, which may have any value."""
    position = domain.dim(_D.set)
    return domain.add_dims(_D.set, 1).set_dim_name(_D.set, position, iterator)


def with_iterators(domain: isl.Set, names: Sequence[str]) -> isl.Set:
    """Returns the set with its dimensions named `names`."""
    for dim, name in enumerate(names):
        domain = domain.set_dim_name(_D.set, dim, name)
    return domain


def relation(domain: isl.Space, name: str, subscripts: Sequence[isl.PwAff]) -> isl.Map:
    """Returns the relation { S[i] -> name[subscripts] }.

    domain: the space of { S[i] }
    subscripts: one expression { S[i] -> [(e)] } per dimension
    """
    affs = isl.PwAffList.alloc(CONTEXT, len(subscripts))
    for subscript in subscripts:
        affs = affs.add(subscript)
    space = isl.Space.from_domain(domain).add_dims(_D.out, len(subscripts))
    for subscript in subscripts:
        space = space.align_params(subscript.get_space())
    result = isl.MultiPwAff.from_pw_aff_list(space, affs).set_tuple_name(_D.out, name)
    return isl.Map.from_multi_pw_aff(result)


def with_any_index(relation: isl.Map, positions: Sequence[int]) -> isl.Map:
    """Returns a relation { S[i] -> A[e] } in which the indices at some positions may be any integers."""
    name = relation.get_tuple_name(_D.out)
    for position in positions:
        relation = relation.project_out(_D.out, position, 1).insert_dims(_D.out, position, 1)
    return relation.set_tuple_name(_D.out, name)


def with_index_in(relation: isl.Map, position: int, allowed: isl.Map) -> isl.Map:
    """Returns a relation { S[i] -> A[e] } with those pairs alone in which the index at a position is one of `allowed`, { [i] -> [x] }."""
    name, dims = relation.get_tuple_name(_D.out), relation.dim(_D.out)
    inside = allowed.insert_dims(_D.out, 0, position).insert_dims(_D.out, position + 1, dims - position - 1)
    return relation.intersect(inside.set_tuple_name(_D.out, name)) if name else relation.intersect(inside)


def identity(domain: isl.Set) -> isl.PwMultiAff:
    """Returns the function { S[i] -> S[i] } on the whole space of a set."""
    return isl.PwMultiAff.from_multi_aff(isl.MultiAff.identity(domain.get_space().map_from_set()))


def renamed(domain: isl.Set, name: str) -> isl.PwMultiAff:
    """Returns the function { S[i] -> name[i] } on the whole space of a set { S[i] }."""
    return identity(domain).set_tuple_id(_D.out, _identifier(name))


def rename_domain(value: _Function, name: str) -> _Function:
    """Returns { [i] -> [..] } as { name[i] -> [..] }."""
    return value.set_tuple_id(_D.in_, _identifier(name))


@lru_cache(maxsize=1024)
def _identifier(name: str) -> isl.Id:
    """Returns the identifier that isl gives a name in a text; `isl.Id(name)` carries a Python object and differs from it."""
    return isl.Set.universe(isl.Space.set_alloc(CONTEXT, 0, 0)).set_tuple_name(name).get_tuple_id()


def rename_range(value: isl.Map, name: str) -> isl.Map:
    """Returns { S[i] -> A[e] } as { S[i] -> name[e] }."""
    return value.set_tuple_name(_D.out, name)


def parameter_names(value: _InSpace) -> tuple[str, ...]:
    """Returns the names of the parameters in an isl object's space."""
    space = value.get_space()
    return tuple(str(space.get_dim_name(_D.param, i)) for i in range(space.dim(_D.param)))  # parameters all have names


def used_parameters(value: isl.Set | isl.Map | isl.PwAff) -> tuple[str, ...]:
    """Returns the names of the parameters that the constraints or coefficients of an isl object mention."""
    names = parameter_names(value)
    return tuple(name for i, name in enumerate(names) if value.involves_dims(_D.param, i, 1))


def tuple_names(space: isl.Space) -> tuple[str, ...]:
    """Returns the name of a set's tuple, or those of both tuples of a wrapped relation; a tuple without a name has ""."""
    if space.is_wrapping():
        inner = space.unwrap()
        return (inner.get_tuple_name(_D.in_) or "", inner.get_tuple_name(_D.out) or "")
    return (space.get_tuple_name(_D.set) or "",)


def domain_name(value: isl.Map) -> str:
    """Returns the name S of { S[i] -> T[j] }."""
    return value.get_tuple_name(_D.in_)


def range_name(value: isl.Map) -> str:
    """Returns the name T of { S[i] -> T[j] }."""
    return value.get_tuple_name(_D.out)


def dimensions(value: isl.Set) -> int:
    """Returns the number of dimensions of a set."""
    return value.dim(_D.set)


def dimension(domain: isl.Set, position: int) -> isl.Aff:
    """Returns one dimension of a set as an expression: { S[i, j] -> [(i)] } for position 0."""
    return isl.Aff.var_on_domain(isl.LocalSpace.from_space(domain.get_space()), _D.set, position)


def involves(domain: isl.Set, dim: int) -> bool:
    """Returns whether a constraint of a set is on the dimension at `dim`."""
    return domain.involves_dims(_D.set, dim, 1)
