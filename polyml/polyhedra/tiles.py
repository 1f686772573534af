"""Tiles of sets, and values that dimensions take at a stride."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import islpy as isl

from polyml.polyhedra.bounds import extremes, range_of_dimension
from polyml.polyhedra.hulls import along, eliminated, is_product, onto
from polyml.polyhedra.parameters import fix
from polyml.polyhedra.spaces import parameter_names

_D = isl.dim_type


def count_tiles(domain: isl.Set, sizes: Mapping[int, int]) -> int:
    """Returns the number of tiles in which a set without parameters has points.

    sizes: the tile size of each dimension, by position; a dimension that is not in it has tiles of size 1

    >>> count_tiles(isl.Set("{ [i, j, k] : 0 <= i < 9 and 0 <= j <= k < 8 }"), {0: 4, 1: 4, 2: 4})
    9
    """
    count, others = 1, []
    for dim in range(domain.dim(_D.set)):
        ends = extremes(along(domain, dim)) if is_product(domain, [dim]) else None
        if ends is None or not along(domain, dim).is_equal(isl.Set(f"{{ [i] : {ends[0]} <= i <= {ends[1]} }}")):
            others.append(dim)
        else:
            count *= ends[1] // sizes.get(dim, 1) - ends[0] // sizes.get(dim, 1) + 1
    if domain.is_empty() or not others:
        return 0 if domain.is_empty() else count
    names = [f"i{dim}" for dim in others]
    tiles = ", ".join(f"floor({name}/{sizes.get(dim, 1)})" for name, dim in zip(names, others))
    found = onto(domain, others, "").reset_tuple_id().apply(isl.Map(f"{{ [{', '.join(names)}] -> [{tiles}] }}"))
    return count * found.coalesce().count_val().to_python()


def in_whole_tiles(domain: isl.Set, dim: int, step: int, origin: str = "0") -> isl.Set:
    """Returns the points whose whole tile along dimension `dim` satisfies the constraints that relate `dim` to other dimensions.

    The tile of a point has all points, whether or not they are in the set, that differ from it at most in that dimension and are in
    the same block of `step` values. Constraints on that dimension alone are ignored: the set may end inside of a tile.

    step, origin: the blocks begin at `origin` plus multiples of `step`

    >>> in_whole_tiles(isl.Set("{ S[i, k] : 0 <= k < i < 9 }"), 0, 4)
    Set("{ S[i, k] : i <= 8 and 0 <= k < i and 4*floor((i)/4) > k }")
    """
    others = [d for d in range(domain.dim(_D.set)) if d != dim]
    product = eliminated(domain, others).intersect(eliminated(domain, [dim]))
    outside = domain.gist(product).complement()
    return domain.subtract(outside.apply(_same_tile(domain, dim, step, origin))).coalesce()


def _same_tile(domain: isl.Set, dim: int, step: int, origin: str) -> isl.Map:
    """Returns the pairs of points that differ at most in dimension `dim`, in which they are in the same tile."""
    names = [f"i{d}" for d in range(domain.dim(_D.set))]
    moved = [*names[:dim], "o", *names[dim + 1 :]]
    name = domain.get_tuple_name()
    same = f"floor((i{dim} - ({origin}))/{step}) = floor((o - ({origin}))/{step})"
    parameters = f"[{', '.join(parameter_names(domain))}] -> " if origin != "0" else ""
    return isl.Map(f"{parameters}{{ {name}[{', '.join(names)}] -> {name}[{', '.join(moved)}] : {same} }}").align_params(
        domain.get_space()
    )


def central_window(times: isl.Set, sizes: Mapping[str, int], width: int) -> isl.Set:
    """Returns the part of { [time] } in which each coordinate has about `width` consecutive values, in the middle of its range.

    times: a set that is bounded for these sizes

    >>> central_window(isl.Set("[N] -> { [i, j] : 0 <= i < N and 0 <= j <= i }"), {"N": 40}, 4)
    Set("[N] -> { [i, j] : 16 <= i <= 19 and i < N and 8 <= j <= 11 and j <= i }")
    """
    here = fix(times, sizes)
    if here.is_empty():
        return times
    for dim in range(times.dim(_D.set)):
        low, high = range_of_dimension(here, dim)
        if low == high:
            continue
        half = isl.Val((low + high) // 2 // width * width)
        first = range_of_dimension(here.lower_bound_val(_D.set, dim, half), dim)[0] // width * width
        ends = isl.Val(first), isl.Val(first + width - 1)
        here, times = (s.lower_bound_val(_D.set, dim, ends[0]).upper_bound_val(_D.set, dim, ends[1]) for s in (here, times))
    return times


def last_progression(values: isl.Set) -> tuple[int, int]:
    """Returns (step, count): the step between values of a set's last dimension, and how many it has at most for fixed other
    dimensions.

    >>> last_progression(isl.Set("{ [i, j] : 0 <= i < 9 and 0 <= j <= i and j mod 4 = 0 }"))
    (4, 3)
    """
    last = values.dim(_D.set) - 1
    step = values.get_stride_info(last).get_stride().to_python()
    pairs = isl.Map.from_domain_and_range(values, values)
    for dim in range(last):
        pairs = pairs.equate(_D.in_, dim, _D.out, dim)
    return step, range_of_dimension(pairs.deltas(), last)[1] // step + 1


def strides(times: isl.Set) -> list[tuple[int, int]]:
    """Returns for each coordinate a pair (s, r), so that all its values are s * t + r for integers t.

    The pair is (1, 0) where there is no stride, or where r depends on parameters.
    """
    found = []
    for dim in range(times.dim(_D.set)):
        info = times.get_stride_info(dim)
        step, start = info.get_stride().to_python(), info.get_offset()
        found.append((step, start.get_constant_val().to_python() % step) if step > 1 and start.is_cst() else (1, 0))
    return found


def unstrided(steps: Sequence[tuple[int, int]]) -> isl.Map:
    """Returns { [t0, ...] -> [s * t0 + r, ...] }, which maps counts of steps to values.

    steps: the (s, r) of each dimension, as `strides` returns them
    """
    names = [f"t{dim}" for dim in range(len(steps))]
    values = [f"{step}*{name} + {start}" for name, (step, start) in zip(names, steps)]
    return isl.Map(f"{{ [{', '.join(names)}] -> [{', '.join(values)}] }}")
