"""Least and greatest values, of dimensions and of expressions."""

from __future__ import annotations

from collections.abc import Mapping

import islpy as isl

from polyml.polyhedra.affs import single
from polyml.polyhedra.parts import pieces

_D = isl.dim_type


def value_range(domain: isl.Set, dim: int) -> tuple[isl.PwAff | None, isl.PwAff]:
    """The least and greatest value of a dimension over the parameters, the greatest where the domain is not empty.

    The least is None where it is not one affine expression.
    """
    return single(domain.dim_min(dim)), domain.dim_max(dim)


def length(domain: isl.Set, dim: int) -> int | None:
    """How far apart the least and the greatest value of a dimension of a set without parameters are, both counted; None
    where there is none.
    """
    if domain.is_empty():
        return None
    first, last = domain.dim_min_val(dim), domain.dim_max_val(dim)
    return last.sub(first).to_python() + 1 if first.is_int() and last.is_int() else None


class NoNumber(Exception):
    """A least or greatest value is no number."""


def least_values(domain: isl.Set) -> list[int]:
    """Of each dimension, whatever the parameters. Raises NoNumber for what has none."""
    found = [domain.dim_min(dim).min_val() for dim in range(domain.dim(_D.set))]
    if not all(value.is_int() for value in found):
        raise NoNumber(str(domain))
    return [value.to_python() for value in found]


def ranges(domain: isl.Set) -> list[tuple[int, int]]:
    """(least, greatest) value of each dimension of a bounded set without parameters that has points."""
    dims = range(domain.dim(_D.set))  # isl's dim_min_val is faster, and misses the least value of some sets
    return [(domain.dim_min(dim).min_val().to_python(), domain.dim_max(dim).max_val().to_python()) for dim in dims]


def extremes(values: isl.Set) -> tuple[int, int] | None:
    """The least and the greatest value of { [t] } without parameters, (0, 0) of none; None where it has no end.

    >>> extremes(isl.Set("{ [t] : 1 <= t <= 4 }")), extremes(isl.Set("{ [t] : t >= 1 }"))
    ((1, 4), None)
    """
    if values.is_empty():
        return 0, 0
    values = values.coalesce()  # of alternatives that turn out to be empty isl takes 0
    first, last = values.dim_min_val(0), values.dim_max_val(0)
    return (first.to_python(), last.to_python()) if first.is_int() and last.is_int() else None


def least(value: isl.Set, weights: Mapping[int, int]) -> int | None:
    """The least sum of weight * dimension over a set without parameters that is not empty; None where there is none.

    >>> least(isl.Set("{ [t, x] : t >= 1 and -1 <= x <= 1 }"), {0: 2, 1: 1}), least(isl.Set("{ [t] : t <= 0 }"), {0: 1})
    (1, None)
    """
    sum_ = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(value.get_space()))
    for dim, weight in weights.items():
        sum_ = sum_.set_coefficient_val(_D.in_, dim, weight)
    found = value.min_val(sum_)
    return found.to_python() if found.is_int() else None


def ends(values: isl.UnionSet) -> tuple[isl.PwAff, isl.PwAff] | None:
    """The least and the greatest of { [x] }, over the parameters; None where they are not one affine expression each."""
    (whole,) = pieces(values)
    least_, greatest = single(whole.dim_min(0)), single(whole.dim_max(0))
    return None if least_ is None or greatest is None else (least_, greatest)


def bounded(domain: isl.Set, dim: int, first: int, last: int) -> isl.Set:
    """The elements of which a dimension is from first to last."""
    return domain.lower_bound_val(_D.set, dim, isl.Val(first)).upper_bound_val(_D.set, dim, isl.Val(last))


def is_within(values: isl.Set, length: int) -> bool:
    """Whether { [t] } never has values of so many, or more, apart, whatever the parameters."""
    try:
        apart = values.dim_max(0).sub(values.dim_min(0)).max_val()
    except isl.Error:  # ends that are quotients: isl has no maximum of these
        distances = isl.Map.from_domain_and_range(values, values).deltas()
        apart = distances.project_out_all_params().dim_max_val(0)
    return apart.is_int() and apart.to_python() < length
