"""The minima and maxima of dimensions and of expressions."""

from __future__ import annotations

from collections.abc import Mapping

import islpy as isl

from polyml.polyhedra.pw_affs import single
from polyml.polyhedra.unions import pieces

_D = isl.dim_type


def value_range(domain: isl.Set, dim: int) -> tuple[isl.PwAff | None, isl.PwAff]:
    """Returns the minimum and the maximum of a dimension, as expressions in the parameters.

    The minimum is None where it is not one affine expression. The maximum is defined where the domain is not empty.
    """
    return single(domain.dim_min(dim)), domain.dim_max(dim)


def length(domain: isl.Set, dim: int) -> int | None:
    """Returns maximum - minimum + 1 of a dimension of a set without parameters; None where the set is empty or unbounded there."""
    found = None if domain.is_empty() else _range(domain, dim)
    return None if found is None else found[1] - found[0] + 1


class NoNumber(Exception):
    """NoNumber is raised where a minimum or maximum is no number."""


def dimension_minima(domain: isl.Set) -> list[int]:
    """Returns the minimum of each dimension over all values of the parameters. Raises NoNumber where one has none."""
    found = [domain.dim_min(dim).min_val() for dim in range(domain.dim(_D.set))]
    if not all(value.is_int() for value in found):
        raise NoNumber(str(domain))
    return [value.to_python() for value in found]


def ranges(domain: isl.Set) -> list[tuple[int, int]]:
    """Returns the (minimum, maximum) of each dimension of a bounded set without parameters that is not empty."""
    return [range_of_dimension(domain, dim) for dim in range(domain.dim(_D.set))]


def range_of_dimension(domain: isl.Set, dim: int) -> tuple[int, int]:
    """Returns the (minimum, maximum) of one dimension of a set without parameters that is bounded there and not empty."""
    return domain.dim_min(dim).min_val().to_python(), domain.dim_max(dim).max_val().to_python()


def _range(domain: isl.Set, dim: int) -> tuple[int, int] | None:
    """Returns the (minimum, maximum) of a dimension; None where it is unbounded.

    isl's `dim_min_val` misses the minimum of some sets, so it only tells whether there is one; parametric programming, which
    `range_of_dimension` uses, finds it, but expects that there is one.
    """
    bounded_ = domain.dim_min_val(dim).is_int() and domain.dim_max_val(dim).is_int()
    return range_of_dimension(domain, dim) if bounded_ else None


def extremes(values: isl.Set) -> tuple[int, int] | None:
    """Returns the (minimum, maximum) of { [t] } without parameters, (0, 0) of an empty set; None where it is unbounded.

    >>> extremes(isl.Set("{ [t] : 1 <= t <= 4 }")), extremes(isl.Set("{ [t] : t >= 1 }"))
    ((1, 4), None)
    """
    if values.is_empty():
        return 0, 0
    return _range(values.coalesce(), 0)  # of alternatives that turn out to be empty isl takes 0


def minimum(value: isl.Set, weights: Mapping[int, int]) -> int | None:
    """Returns the minimum of the sum of weight * dimension over a nonempty set without parameters; None where it is unbounded
    below.

    value: { [t, x] }
    weights: by the dimension's position; the others have weight 0

    >>> minimum(isl.Set("{ [t, x] : t >= 1 and -1 <= x <= 1 }"), {0: 2, 1: 1}), minimum(isl.Set("{ [t] : t <= 0 }"), {0: 1})
    (1, None)
    """
    sum_ = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(value.get_space()))
    for dim, weight in weights.items():
        sum_ = sum_.set_coefficient_val(_D.in_, dim, weight)
    if not value.min_val(sum_).is_int():
        return None
    return value.apply(isl.Map.from_aff(sum_)).dim_min(0).min_val().to_python()


def parametric_extremes(values: isl.UnionSet) -> tuple[isl.PwAff, isl.PwAff] | None:
    """Returns the minimum and the maximum of { [x] } as expressions in the parameters; None where one of them is not one affine
    expression.
    """
    (whole,) = pieces(values)
    least_, greatest = single(whole.dim_min(0)), single(whole.dim_max(0))
    return None if least_ is None or greatest is None else (least_, greatest)


def bounded(domain: isl.Set, dim: int, first: int, last: int) -> isl.Set:
    """Returns the elements of which a dimension is from `first` to `last`."""
    return domain.lower_bound_val(_D.set, dim, isl.Val(first)).upper_bound_val(_D.set, dim, isl.Val(last))


def is_within(values: isl.Set, length: int) -> bool:
    """Says whether all values of { [t] } differ by less than `length`, whatever the parameters are."""
    try:
        spread = values.dim_max(0).sub(values.dim_min(0)).max_val()
    except isl.Error:  # ends that are quotients: isl has no maximum of these
        distances = isl.Map.from_domain_and_range(values, values).deltas()
        found = _range(distances.project_out_all_params(), 0)
        return found is not None and found[1] < length
    return spread.is_int() and spread.to_python() < length
