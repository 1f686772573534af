"""The minima and maxima of dimensions and of expressions."""

from __future__ import annotations

from collections.abc import Mapping

import islpy as isl

from polyml.polyhedra.pw_affs import single
from polyml.polyhedra.unions import pieces

_D = isl.dim_type


def value_range(domain: isl.Set, dim: int) -> tuple[isl.PwAff | None, isl.PwAff]:
    """Returns the minimum and the maximum of a dimension of a set, as expressions in the parameters.

    The minimum is None where it is not one affine expression. The maximum may have several pieces, and has no value for parameters
    for which the set is empty.
    """
    return single(domain.dim_min(dim)), domain.dim_max(dim)


def length(domain: isl.Set, dim: int) -> int | None:
    """Returns maximum - minimum + 1 of a dimension of a set without parameters; None if the set is empty or unbounded in it."""
    found = None if domain.is_empty() else _range(domain, dim)
    return None if found is None else found[1] - found[0] + 1


def box_ends(domain: isl.Set) -> list[tuple[int, int]] | None:
    """Returns the (minimum, maximum) of each dimension of a set without parameters that has all points of the box around it.

    None where it has not, or isl does not see it at once, or the set is empty or unbounded.

    >>> box_ends(isl.Set("{ A[i, j] : 0 <= i < 4 and j = 2 }")), box_ends(isl.Set("{ A[i, j] : 0 <= i < 4 and j = i }"))
    ([(0, 3), (2, 2)], None)
    """
    if not domain.is_box() or domain.is_empty() or not domain.is_bounded():
        return None
    ends = ((domain.dim_min_val(dim), domain.dim_max_val(dim)) for dim in range(domain.dim(_D.set)))
    return [(first.to_python(), last.to_python()) for first, last in ends]


def box_lengths(domain: isl.Set) -> list[int] | None:
    """Returns maximum - minimum + 1 of each dimension of a set, as `box_ends` does; None where that does.

    >>> box_lengths(isl.Set("{ A[i, j] : 0 <= i < 4 and j = 2 }"))
    [4, 1]
    """
    ends = box_ends(domain)
    return None if ends is None else [last - first + 1 for first, last in ends]


class NoNumber(Exception):
    """NoNumber is raised where a dimension has no smallest integer: it is unbounded below, or the set is empty."""


def dimension_minima(domain: isl.Set) -> list[int]:
    """Returns the minimum of each dimension of a set over all values of the parameters.

    Raises NoNumber where a dimension has no minimum.
    """
    found = [domain.dim_min(dim).min_val() for dim in range(domain.dim(_D.set))]
    if not all(value.is_int() for value in found):
        raise NoNumber(str(domain))
    return [value.to_python() for value in found]


def ranges(domain: isl.Set) -> list[tuple[int, int]]:
    """Returns the (minimum, maximum) of each dimension of a bounded set without parameters that is not empty."""
    return [range_of_dimension(domain, dim) for dim in range(domain.dim(_D.set))]


def range_of_dimension(domain: isl.Set, dim: int) -> tuple[int, int]:
    """Returns the (minimum, maximum) of a dimension of a set without parameters that is bounded in it and not empty."""
    return domain.dim_min(dim).min_val().to_python(), domain.dim_max(dim).max_val().to_python()


def _range(domain: isl.Set, dim: int) -> tuple[int, int] | None:
    """Returns the (minimum, maximum) of a dimension of a set without parameters that is not empty; None where it is unbounded.

    isl's `dim_min_val` misses the minimum of some sets, so it only tells whether the dimension is bounded; parametric programming,
    which `range_of_dimension` uses, finds the minimum, but expects that there is one.
    """
    ends = domain.dim_min_val(dim), domain.dim_max_val(dim)
    if not all(end.is_int() for end in ends):
        return None
    return (ends[0].to_python(), ends[1].to_python()) if domain.is_box() else range_of_dimension(domain, dim)


def extremes(values: isl.Set) -> tuple[int, int] | None:
    """Returns the (minimum, maximum) of a set { [t] } without parameters; (0, 0) where it is empty, None where it is unbounded.

    >>> extremes(isl.Set("{ [t] : 1 <= t <= 4 }")), extremes(isl.Set("{ [t] : t >= 1 }"))
    ((1, 4), None)
    """
    if values.is_empty():
        return 0, 0
    return _range(values.coalesce(), 0)  # isl takes 0 of conjunctions that turn out to be empty


def minimum(value: isl.Set, weights: Mapping[int, int]) -> int | None:
    """Returns the minimum of a sum of weight * dimension over a nonempty set without parameters; None where it is unbounded below.

    value: { [t, x] }
    weights: the weight of a dimension by its position; a dimension that is not in it has weight 0

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
    """Returns the minimum and the maximum of x in { [x] }, the only set of a union, as expressions in the parameters.

    The result is None where one of the two is not one affine expression.
    """
    (whole,) = pieces(values)
    least_, greatest = single(whole.dim_min(0)), single(whole.dim_max(0))
    return None if least_ is None or greatest is None else (least_, greatest)


def bounded(domain: isl.Set, dim: int, first: int, last: int) -> isl.Set:
    """Returns the part of a set in which dimension `dim` is from `first` to `last`, both included."""
    return domain.lower_bound_val(_D.set, dim, isl.Val(first)).upper_bound_val(_D.set, dim, isl.Val(last))


def is_within(values: isl.Set, length: int) -> bool:
    """Returns whether the values of { [t] } differ from each other by less than `length` for all values of the parameters."""
    try:
        spread = values.dim_max(0).sub(values.dim_min(0)).max_val()
    except isl.Error:  # ends that are quotients: isl has no maximum of these
        distances = isl.Map.from_domain_and_range(values, values).deltas()
        found = _range(distances.project_out_all_params(), 0)
        return found is not None and found[1] < length
    return spread.is_int() and spread.to_python() < length


def difference_range(pairs: isl.Map, dim: int) -> tuple[int | None, int | None]:
    """Returns the (minimum, maximum) of j[dim] - i[dim] over all pairs { S[i] -> T[j] }; None where there is none.

    >>> difference_range(isl.Map("[N] -> { S[t, i] -> T[t2, i2] : t < t2 < N and i2 = i + 1 and 0 <= i < N }"), 0)
    (1, None)
    """
    known = pairs.project_out_all_params()
    for kind in (_D.in_, _D.out):
        for other in reversed([d for d in range(known.dim(kind)) if d != dim]):
            known = known.project_out(kind, other, 1)
    deltas = known.reset_tuple_id(_D.in_).reset_tuple_id(_D.out).deltas().coalesce()
    low = deltas.dim_min(0).min_val().to_python() if deltas.dim_min_val(0).is_int() else None
    return low, deltas.dim_max(0).max_val().to_python() if deltas.dim_max_val(0).is_int() else None
