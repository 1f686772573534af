"""Relations between instances: by their order in time, and by the elements that they share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

import islpy as isl

from polyml.polyhedra.isl_context import CONTEXT
from polyml.polyhedra.spaces import relation
from polyml.polyhedra.unions import pieces

_D = isl.dim_type


def outer_of(relation: isl.Map, depth: int) -> isl.Map:
    """Returns { T[i, j] -> A[e] } for { T[i, j, k] -> A[e] } and depth 2: the elements of all inner iterations together."""
    dims = relation.dim(_D.in_)
    return relation.project_out(_D.in_, depth, dims - depth).set_tuple_name(_D.in_, relation.get_tuple_name(_D.in_))


def tells_apart(relation: isl.Map, dim: int) -> bool:
    """Returns whether { S[i, j] -> A[e] } is to another element for all that differ in dimensions besides `dim`, and to the same one
    for those that differ in this one alone.

    >>> tells_apart(isl.Map("{ S[i, j] -> A[i] : 0 <= i, j < 9 }"), 1), tells_apart(isl.Map("{ S[i, j] -> A[i + j] : 0 <= i, j < 9 }"), 1)
    (True, False)
    """
    others = relation.project_out(_D.in_, dim, 1)
    return others.is_single_valued() and others.is_injective()


def extract_map(relation: isl.UnionMap, domain: isl.Set, other: isl.Set) -> isl.Map:
    """Returns the relation { S[i] -> T[j] } between two statements in a union; it is empty where the union has none.

    domain, other: sets of instances in the space of S and that of T
    """
    space = domain.get_space().align_params(other.get_space()).map_from_domain_and_range(other.get_space())
    return relation.extract_map(space.align_params(relation.get_space()))


def equal_first(pairs: isl.Map, depth: int) -> isl.Map:
    """Returns all pairs { S[i] -> T[j] } whose first `depth` dimensions are equal, whether or not they are in `pairs`.

    pairs: has the space of the result
    """
    found = isl.Map.universe(pairs.get_space())
    for dim in range(depth):
        found = found.equate(_D.in_, dim, _D.out, dim)
    return found


def differ(pairs: isl.Map, dim: int) -> bool:
    """Returns whether some pair S[i] -> T[j] has two different values in dimension `dim`."""
    return not pairs.is_subset(pairs.equate(_D.in_, dim, _D.out, dim))


def has_no_pair(pairs_: isl.UnionMap, order: Callable[[isl.Space], isl.Map]) -> bool:
    """Returns whether no pair t -> t' of the relations { [t] -> [t'] } is in a given order.

    order: from a space to the relation of all pairs in this order, such as isl.Map.lex_gt: t comes after t'
    """
    return all(piece.intersect(order(piece.get_space().domain())).is_empty() for piece in pieces(pairs_))


def flat(relation: isl.Map) -> isl.Set:
    """Returns { S[i] -> T[j] } as the set { [i, j] }."""
    return relation.wrap().flatten()


def last_of(writes: Sequence[tuple[isl.Map, int]], name: str, iterators: Sequence[str]) -> tuple[isl.Set, list[isl.PwAff]] | None:
    """Returns the elements that are written, as { name[iterators] }, and the outer loops' values in the last iteration that writes
    each.

    The values are expressions { name[iterators] -> [(e)] }, one for each outer loop; iterations are compared lexicographically. The
    result is None where an expression is piecewise.

    writes: pairs (relation { S[i] -> A[e] }, how many of its first iterators are the outer loops, which are the same in all of
        them)
    """
    outermost = [
        written.project_out(_D.in_, depth, written.dim(_D.in_) - depth).reset_tuple_id(_D.in_).reverse()
        for written, depth in writes
    ]
    last = reduce(isl.Map.union, outermost).set_tuple_name(_D.in_, name).lexmax().coalesce()
    for dim, iterator in enumerate(iterators):
        last = last.set_dim_name(_D.in_, dim, iterator)
    values = []
    for dim in range(last.dim(_D.out)):
        one = last.project_out(_D.out, dim + 1, last.dim(_D.out) - dim - 1).project_out(_D.out, 0, dim)
        values.append(one.dim_max(0).coalesce())
    if any(v.n_piece() != 1 for v in values):
        return None
    return last.domain(), [v.gist(last.domain()) for v in values]


def has_opposite_distances(there: isl.Map, back: isl.Map) -> bool:
    """Returns whether, in some dimension, i' - i is negative for one and positive for another S[i] -> T[j] -> S[i'].

    The first step is a pair of `there`, the second one of `back`. The negative and the positive i' - i may occur for different
    values of the parameters.

    >>> has_opposite_distances(isl.Map("{ S[i] -> T[i] }"), isl.Map("{ T[i] -> S[j] : -1 <= i - j <= 1 }"))
    True
    >>> has_opposite_distances(isl.Map("{ S[i] -> T[i + 1] }"), isl.Map("{ T[i] -> S[j] : -1 <= i - j <= 1 }"))
    False
    """
    ways = there.reverse().range_product(back).wrap().project_out_all_params().flatten()  # [j, i, i']: without eliminating j
    if ways.is_empty():
        return False
    start, dims = there.dim(_D.out), there.dim(_D.in_)
    zero = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(ways.get_space()))
    for dim in range(start, start + dims):
        distance = zero.set_coefficient_val(_D.in_, dim, -1).set_coefficient_val(_D.in_, dim + dims, 1)
        if ways.min_val(distance).is_neg() and ways.max_val(distance).is_pos():
            return True
    return False


def last_before(uses: isl.Map, others: isl.Map) -> isl.Map:
    """Returns { [time] -> [time'] }, with the last time' before `time` at which `others` has the value that `uses` has at `time`.

    Times are compared lexicographically.

    uses, others: { [time] -> A[value] }
    """
    return uses.apply_range(others.reverse()).intersect(isl.Map.lex_gt(uses.domain().get_space())).lexmax()


def preceded(uses: isl.Map, others: isl.Map, depth: int) -> isl.Set:
    """Returns the times of `uses` that come after a time at which `others` has the same value and the same first `depth`
    coordinates.

    uses, others: { [time] -> A[value] }; times are compared lexicographically
    """
    pairs = uses.apply_range(others.reverse())
    return pairs.intersect(equal_first(pairs, depth)).intersect(isl.Map.lex_gt(uses.domain().get_space())).domain().coalesce()


def strictly_between(pairs: isl.Map) -> isl.Map:
    """Returns { x -> z : y < z < x } for the pairs { x -> y }, compared lexicographically."""
    space = pairs.range().get_space()
    return pairs.apply_range(isl.Map.lex_lt(space)).intersect(isl.Map.lex_gt(space))


def with_last(order: isl.Map, number: int) -> isl.Map:
    """Returns { S[i] -> [time] } with one more coordinate of time at the end, which is the constant `number`."""
    position = order.dim(_D.out)
    return order.add_dims(_D.out, 1).fix_val(_D.out, position, isl.Val.int_from_si(CONTEXT, number))


def divisors(value: isl.Map) -> set[int]:
    """Returns the divisors of all rounded quotients in the constraints of a relation."""
    basics = value.wrap().flatten().compute_divs().get_basic_sets()
    return {basic.get_div(k).get_denominator_val().to_python() for basic in basics for k in range(basic.dim(_D.div))}


def values_of(members: Sequence[isl.PwAff], domain: isl.Set) -> isl.Set:
    """Returns the tuples { [e, f] } of values that the expressions { S[i] -> [(e)] } and { S[i] -> [(f)] } take over { S[i] }."""
    maps = [isl.Map.from_pw_aff(member).intersect_domain(domain) for member in members]
    return reduce(isl.Map.flat_range_product, maps).range()


def within_bounds(domain: isl.Set, values: Sequence[isl.PwAff], bounds: Sequence[str]) -> isl.Set:
    """Returns the part of { S[i] } in which each value { S[i] -> [(v)] } is in the set that is its bound.

    bounds: one text of a set per value, such as "[N] -> { [v] : 0 <= v < N }"
    """
    for value, bound in zip(values, bounds):
        inside = isl.Set(bound).preimage_pw_multi_aff(isl.PwMultiAff.from_pw_aff(value))
        domain = domain.intersect(inside)
    return domain


def separate_bounds(domain: isl.Set, values: Sequence[isl.PwAff]) -> tuple[isl.Set, isl.Set]:
    """Divides the constraints of { S[i] } between two sets, and returns these as (rest, bounds).

    `bounds` is { [v, ...] }, the values that the expressions { S[i] -> [(v)] }, ... take. `rest` is { S[i] } without the
    constraints that follow from them.
    """
    onto_values = relation(domain.get_space(), "v", values)
    inside = domain.apply(onto_values)
    return domain.gist(onto_values.intersect_range(inside).domain()), inside.reset_tuple_id()


def where_equal(domain: isl.UnionSet, members: Sequence[isl.UnionPwAff], names: Sequence[str]) -> isl.UnionSet:
    """Returns the instances of a union for which each expression { S[i] -> [(e)] } equals the parameter that goes with it.

    names: the parameters, one for each expression
    """
    pairs_ = [(m, n) for m, n in zip(members, names)]
    pairs_ += [(a.sub(b), f"{m} - {n}") for k, (a, m) in enumerate(pairs_) for b, n in pairs_[k + 1 :]]
    for member, value in pairs_:
        there = isl.UnionSet(f"[{', '.join(names)}] -> {{ [{value}] }}")
        domain = domain.intersect(isl.UnionMap.from_union_pw_aff(member).intersect_range(there).domain())
    return domain.coalesce()


def same_block(domain: isl.Set, dim: int, size: int) -> isl.Map:
    """Returns { S[i, j] -> S[i', j] : i' // size = i // size } for the iterator at `dim`."""
    local = isl.LocalSpace.from_space(domain.get_space())
    values = [isl.PwAff.from_aff(isl.Aff.var_on_domain(local, _D.set, k)) for k in range(domain.dim(_D.set))]
    values[dim] = values[dim].scale_down_val(isl.Val(size)).floor()
    return reduce(isl.Map.intersect, (value.eq_map(value) for value in values))
