"""Shapes of sets: boxes, products, projections and hulls."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import islpy as isl

from polyml.polyhedra.spaces import dimension, dimensions
from polyml.polyhedra.unions import pieces

_D = isl.dim_type


def outer(domain: isl.Set, depth: int) -> isl.Set:
    """Returns the iterations of the `depth` outermost loops that a domain has: { S[i, j, k] } -> { [i, j] } for depth 2."""
    dims = domain.dim(_D.set)
    return domain.project_out(_D.set, depth, dims - depth).reset_tuple_id()


def inner(domain: isl.Set, depth: int) -> isl.Set:
    """Returns the values that the dimensions behind the first `depth` take: { S[i, j, k] } -> { [k] } for depth 2."""
    return domain.project_out(_D.set, 0, depth).reset_tuple_id()


def onto(domain: isl.Set, dims: Sequence[int], name: str) -> isl.Set:
    """Returns the projection of a set onto some of its dimensions: { S[i, j, k] } -> { name[i, k] } for dims 0 and 2."""
    for dim in reversed([d for d in range(domain.dim(_D.set)) if d not in dims]):
        domain = domain.project_out(_D.set, dim, 1)
    return domain.set_tuple_name(name)


def along(domain: isl.Set, position: int) -> isl.Set:
    """Returns the values that one dimension of a set takes: { S[i, j] } -> { [j] } for position 1."""
    return domain.project_out(_D.set, position + 1, dimensions(domain) - position - 1).project_out(_D.set, 0, position)


def translated(domain: isl.Set, steps: Sequence[int]) -> isl.Set:
    """Returns the set moved by a vector: { [i + step] : S[i] is in the set }.

    steps: the vector, one number per dimension
    """
    names = [f"i{k}" for k in range(len(steps))]
    there = ", ".join(f"{name} + {step}" for name, step in zip(names, steps))
    return domain.reset_tuple_id().apply(isl.Map(f"{{ [{', '.join(names)}] -> [{there}] }}"))


def is_full(value: isl.Set) -> bool:
    """Returns whether the affine hull of a set, over all parameters, is the whole space: it is not for { S[i, j] : j = i }."""
    names = [f"i{k}" for k in range(value.dim(_D.set))]
    hull = value.affine_hull().project_out(_D.param, 0, value.dim(_D.param))
    return hull.is_equal(isl.BasicSet(f"{{ {value.get_tuple_name() or ''}[{', '.join(names)}] }}"))


def is_thick(value: isl.Set) -> bool:
    """Returns whether no equality determines an iterator by other ones and by parameters, as j = N does in { S[i, j] : j = N }."""
    constraints = [c for basic in value.get_basic_sets() for c in basic.affine_hull().get_constraints()]
    return not any(c.is_equality() and c.involves_dims(_D.set, 0, value.dim(_D.set)) for c in constraints)


def hull_dimension(value: isl.Set) -> int:
    """Returns the dimension of a set's affine hull over all parameters: 1 for { S[i, j] : j = i }."""
    hull = value.affine_hull().project_out(_D.param, 0, value.dim(_D.param))
    return value.dim(_D.set) - sum(constraint.is_equality() for constraint in hull.get_constraints())


def identifying_dimensions(domain: isl.Set) -> list[int]:
    """Returns positions of dimensions that identify an element of a set: its other dimensions are functions of them.

    An example of such a function is the first index of the tile that an element is in.
    """
    kept = list(range(domain.dim(_D.set)))
    for dim in range(domain.dim(_D.set)):
        position = kept.index(dim)
        forgets = domain.identity().project_out(_D.out, position, 1)
        if forgets.is_injective():
            kept.remove(dim)
            domain = domain.project_out(_D.set, position, 1)
    return kept


def is_box(domain: isl.Set) -> bool:
    """Returns whether each dimension of a set has the same values whatever the values of the other dimensions are."""
    return all(is_product(domain, [d]) for d in range(domain.dim(_D.set)))


def is_whole_box(domain: isl.Set) -> bool:
    """Returns whether a set without parameters is bounded, not empty, and has all points of the box around it."""
    return not domain.is_empty() and domain.is_box() and bool(domain.is_bounded())


def is_product(domain: isl.Set, dims: Sequence[int]) -> bool:
    """Returns whether the set is the product of its projection onto `dims` and its projection onto the other dimensions.

    >>> [is_product(isl.Set(s), [0]) for s in ("{ S[i, j] : 0 <= i, j < 9 }", "{ S[i, j] : 0 <= j <= i < 9 }")]
    [True, False]
    """
    others = [d for d in range(domain.dim(_D.set)) if d not in dims]
    return eliminated(domain, others).intersect(eliminated(domain, dims)).is_subset(domain)


def eliminated(domain: isl.Set, dims: Sequence[int]) -> isl.Set:
    """Returns the set without what it says of the dimensions `dims`, which may then have any values."""
    for d in dims:
        domain = domain.eliminate(_D.set, d, 1)
    return domain


def ragged(domain: isl.Set, every: isl.Set, dims: Sequence[int]) -> isl.Set:
    """Returns the points of `domain` that differ only in `dims` from some point of `every` that is not in `domain`.

    >>> ragged(isl.Set("{ S[k, i] : 4 <= k < 8 and 0 <= i < k }"), isl.Set("{ S[k, i] : 4 <= k < 8 }"), [0])
    Set("{ S[k, i] : 4 <= k <= 7 and 4 <= i <= 6 and i < k }")
    """
    missing = eliminated(domain, dims).intersect(every).subtract(domain)
    return domain.intersect(eliminated(missing, dims)).coalesce()


def box_around(domain: isl.Set) -> isl.Set:
    """Returns the smallest box that contains a set: { A[x, y] : x and y each between its minimum and its maximum }."""
    found = isl.Set.universe(domain.get_space()).intersect_params(domain.params())
    for dim in range(domain.dim(_D.set)):
        here = dimension(domain, dim).to_pw_aff()
        low, high = (end.insert_domain(domain.get_space()) for end in (domain.dim_min(dim), domain.dim_max(dim)))
        found = found.intersect(here.ge_set(low)).intersect(here.le_set(high))
    return found.coalesce()


def box_of(like: isl.Set, shape: Sequence[int]) -> isl.Set:
    """Returns the box of a shape from 0 on, in the space of a set: { A[x, y] : 0 <= x < 4 and 0 <= y < 5 } for shape (4, 5)."""
    found = isl.Set.universe(like.get_space())
    for dim, extent in enumerate(shape):
        found = found.lower_bound_val(_D.set, dim, isl.Val(0)).upper_bound_val(_D.set, dim, isl.Val(extent - 1))
    return found


def first_dimensions(domain: isl.Set, count: int) -> isl.Set:
    """Returns a polyhedron without rounded quotients that contains the projection of a set onto its first `count` dimensions."""
    dims = domain.dim(_D.set)
    hull = domain.project_out(_D.set, count, dims - count).remove_divs().simple_hull()
    return isl.Set.from_basic_set(hull)


def rational_image(values: isl.MultiUnionPwAff, context: isl.Set) -> isl.Set:
    """Returns a union of polyhedra that contains all values { [values...] } of { S[i] -> [values...] }.

    It may have more points, since it is computed as if iterators were rational numbers and without the rounding of quotients.

    context: the parameter set to which the result is restricted
    """
    images = []
    for piece in pieces(isl.UnionMap.from_multi_union_pw_aff(values)):
        depth = piece.dim(_D.in_)
        for basic in piece.get_basic_maps():
            flat = basic.wrap().flatten().remove_divs()
            images.append(isl.Set.from_basic_set(flat.eliminate(_D.set, 0, depth).project_out(_D.set, 0, depth)))
    return reduce(isl.Set.union, images).intersect_params(context).coalesce()


def modulo_line(steps: isl.Set, line: Sequence[int]) -> isl.Set:
    """Returns the vectors { [d] } of a set, each less the multiple of the vector `line` that makes one of its coordinates 0.

    line: a vector with a coordinate that is 1 or -1; the first such coordinate becomes 0

    >>> modulo_line(isl.Set("{ [d, e, f] : d = 1 and e = f }"), (0, 1, 1))
    Set("{ [1, 0, 0] }")
    """
    one = next(k for k, v in enumerate(line) if abs(v) == 1)
    names = [f"d{k}" for k in range(len(line))]
    there = ", ".join(f"{name} - {v * line[one]}*{names[one]}" for name, v in zip(names, line))
    return steps.apply(isl.Map(f"{{ [{', '.join(names)}] -> [{there}] }}"))
