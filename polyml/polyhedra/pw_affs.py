"""Piecewise quasi-affine expressions { S[i] -> [(e)] }."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import reduce

import islpy as isl

from polyml.polyhedra.isl_context import CONTEXT
from polyml.polyhedra.parameters import sizes_set
from polyml.polyhedra.spaces import dimension, rename_domain

_D = isl.dim_type


def used_iterators(value: isl.PwAff) -> tuple[int, ...]:
    """Returns the positions of the iterators that an expression depends on: (0,) for { S[i, j] -> [(i // 2 + N)] }."""
    return tuple(k for k in range(value.dim(_D.in_)) if value.involves_dims(_D.in_, k, 1))


def iterator_coefficients(value: isl.PwAff) -> list[tuple[int | Fraction, ...]]:
    """Returns the coefficients of the iterators, one tuple per piece: [(2, 1/2)] for { S[i, j] -> [(2i + j/2 + N)] }."""
    dims = range(value.dim(_D.in_))
    return [tuple(_number(aff.get_coefficient_val(_D.in_, k)) for k in dims) for _, aff in value.get_pieces()]


def _number(value: isl.Val) -> int | Fraction:
    return value.to_python() if value.is_int() else Fraction(str(value))


def member_iterators(band: isl.MultiUnionPwAff) -> list[dict[str, str | None]]:
    """Returns, for each member of a band, by statement the name of the iterator that the member equals up to a shift and a sign.

    The name is None where the member is no such function of one iterator: { S[i, j] -> [j + 1, i + j] } gives "j", then None.
    """
    found = []
    for k in range(band.dim(_D.set)):
        parts = band.get_at(k).get_pw_aff_list()
        member: dict[str, str | None] = {}
        for piece in (parts.get_at(n) for n in range(parts.n_pw_aff())):
            space, steps = piece.domain().get_space(), iterator_coefficients(piece)
            is_one = len(steps) == 1 and sum(c if c > 0 else -c for c in steps[0]) == 1
            position = next(d for d, c in enumerate(steps[0]) if c) if is_one else None
            member[space.get_tuple_name(_D.set)] = None if position is None else space.get_dim_name(_D.set, position)
        found.append(member)
    return found


def single(value: isl.PwAff) -> isl.PwAff | None:
    """Returns the affine expression of a PwAff that has one piece; None if it has several."""
    value = value.coalesce()
    return value.get_pieces()[0][1].to_pw_aff() if value.n_piece() == 1 else None


def _constant(value: int) -> isl.PwAff:
    """Returns a number as an expression { [(value)] } without parameters."""
    return isl.PwAff.val_on_domain(isl.Set.universe(isl.Space.params_alloc(CONTEXT, 0)), isl.Val(value))


def is_affine(value: isl.PwAff) -> bool:
    """Returns whether an expression { S[i] -> [(e)] } has one piece and no rounded quotient."""
    return value.n_piece() == 1 and not any(aff.dim(_D.div) for _, aff in value.get_pieces())


def divisions(value: isl.Aff) -> list[isl.Aff]:
    """Returns the rounded quotients floor(f/d) that an expression { S[i] -> [(e)] } uses, as expressions."""
    return [value.get_div(k).floor() for k in range(value.dim(_D.div))]


def divisors_of(value: isl.PwAff) -> tuple[int, ...]:
    """Returns the divisors of the rounded quotients that an expression uses, each once, in ascending order.

    >>> divisors_of(isl.PwAff("{ S[i, j] -> [(i - (i) mod 30)] : i >= 0; S[i, j] -> [(floor(j/4))] : i < 0 }"))
    (4, 30)
    """
    inside = value.gist(value.domain())
    quotients = (aff.get_div(k) for _, aff in inside.get_pieces() for k in range(aff.dim(_D.div)))
    return tuple(sorted({quotient.get_denominator_val().to_python() for quotient in quotients}))


def has_division(value: isl.UnionPwAff) -> bool:
    """Returns whether the expression { S[i] -> [(e)] } of some statement has a rounded quotient."""
    listed = value.get_pw_aff_list()
    expressions = (aff for k in range(listed.n_pw_aff()) for _, aff in listed.get_at(k).get_pieces())
    return any(aff.dim(_D.div) > 0 for aff in expressions)


def before_rounding(value: isl.UnionPwAff) -> tuple[isl.UnionPwAff, ...]:
    """Returns the expressions e, f, ... of a sum of quotients { S[i] -> [(c + t*floor(e/d) + t*floor(f/d))] }.

    Where none of e, f, ... decreases from one instance to another, neither does the sum. The result is () unless t is positive, c
    has no iterators, and c, d and t are the same for all instances.

    >>> before_rounding(isl.UnionPwAff("{ S[i] -> [(4*floor((i + 1)/4))] }"))
    (UnionPwAff("{ S[i] -> [(1 + i)] }"),)
    """
    listed = value.get_pw_aff_list()
    found, around = [], set()
    for pieces in (listed.get_at(k).get_pieces() for k in range(listed.n_pw_aff())):
        for where, aff in pieces:
            if any(not aff.get_coefficient_val(_D.in_, k).is_zero() for k in range(aff.dim(_D.in_))):
                return ()
            rounded = [(_number(aff.get_coefficient_val(_D.div, k)), aff.get_div(k)) for k in range(aff.dim(_D.div))]
            rest = [aff.get_constant_val(), *(aff.get_coefficient_val(_D.param, k) for k in range(aff.dim(_D.param)))]
            around |= {(*map(_number, rest), _number(e.get_denominator_val())) for times, e in rounded if times}
            found.append((None if len(pieces) == 1 else where, [(times, e) for times, e in rounded if times]))
    least = min((times for _, rounded in found for times, _ in rounded), default=0)
    if len(around) != 1 or least <= 0 or any(times % least for _, rounded in found for times, _ in rounded):
        return ()
    divisor = isl.Val(int(around.pop()[-1]))
    terms = [[_whole(where, e, divisor) for times, e in rounded for _ in range(times // least)] for where, rounded in found]
    if len({*map(len, terms)}) > 1:
        return ()
    return tuple(reduce(isl.UnionPwAff.union_add, each) for each in zip(*terms))


def _whole(where: isl.Set | None, quotient: isl.Aff, divisor: isl.Val) -> isl.UnionPwAff:
    """Returns { S[i] -> [(divisor * quotient)] } for the instances in `where`, or for all instances where that is None."""
    value = quotient.scale_val(divisor)
    return isl.UnionPwAff.from_pw_aff(value.to_pw_aff() if where is None else isl.PwAff.alloc(where, value))


def on_piece(value: isl.PwAff, piece: isl.Set) -> isl.PwAff:
    """Returns { S[i] -> [(e)] } simplified to an expression that has the same values for the instances { S[i] } of `piece`."""
    return value.gist(piece).coalesce() if value.n_piece() > 1 else value


def on_domain(value: isl.PwAff, domain: isl.Set) -> isl.PwAff:
    """Returns { [] -> [(e)] }, an expression in parameters, as { S[i] -> [(e)] } on the space of a statement's domain."""
    return value.insert_domain(domain.get_space().align_params(value.get_space()))


def values_onto(relation: isl.Map, dims: Sequence[int], name: str) -> tuple[isl.PwAff, ...]:
    """Returns the expressions { name[i, k] -> [(e)] } and { name[i, k] -> [(f)] } for { S[i, j, k] -> A[e, f] } and dims 0 and 2.

    e and f must not depend on the other dimensions, here j.
    """
    found = isl.PwMultiAff.from_map(relation)
    return tuple(value_onto(found.get_at(k), dims, name) for k in range(relation.dim(_D.out)))


def value_onto(value: isl.PwAff, dims: Sequence[int], name: str) -> isl.PwAff:
    """Returns { S[i, j, k] -> [(e)] } as { name[i, k] -> [(e)] } for dims 0 and 2.

    e must not depend on the other dimensions, here j.
    """
    for dim in reversed([d for d in range(value.dim(_D.in_)) if d not in dims]):
        value = value.drop_dims(_D.in_, dim, 1)
    return rename_domain(value, name)


def weighted_sum(relation: isl.Map, weights: Sequence[int], constant: int) -> isl.PwAff:
    """Returns { T[i] -> [(constant + v*e + w*f)] } for { T[i] -> A[e, f] } and weights (v, w), as an address is computed.

    >>> weighted_sum(isl.Map("{ T[i, j] -> A[j, i + 1] }"), (80, 8), 256)
    PwAff("{ T[i, j] -> [(264 + 8i + 80j)] }")
    """
    values = isl.PwMultiAff.from_map(relation)
    domain = relation.domain()
    total = isl.PwAff.val_on_domain(domain, isl.Val(constant))
    for dim, weight in enumerate(weights):
        total = total.add(values.get_at(dim).scale_val(isl.Val(weight)))
    return total.gist(domain).coalesce()


def subscripts_of(relation: isl.Map) -> list[isl.PwAff]:
    """Returns the subscripts of an access { T[i] -> A[e, f] } as expressions { T[i] -> [(e)] } and { T[i] -> [(f)] }."""
    values, domain = isl.PwMultiAff.from_map(relation), relation.domain()
    return [values.get_at(k).gist(domain).coalesce() for k in range(relation.dim(_D.out))]


def expression_of(values: isl.UnionPwAff, name: str) -> isl.PwAff | None:
    """Returns { name[i] -> [(e)] }, the expression of one statement in a union.

    It is None where the union has no expression of that statement, or one of several pieces.
    """
    listed = values.get_pw_aff_list()
    own = [v for v in (listed.get_at(k) for k in range(listed.n_pw_aff())) if v.domain().get_tuple_name() == name]
    return own[0].get_pieces()[0][1].to_pw_aff() if len(own) == 1 and own[0].n_piece() == 1 else None


def expressions(value: isl.UnionPwAff) -> dict[str, isl.PwAff]:
    """Returns the expressions of { S[i] -> [(e)]; T[i] -> [(f)] } by the statement's name."""
    listed = value.get_pw_aff_list()
    found = (listed.get_at(k) for k in range(listed.n_pw_aff()))
    return {one.get_tuple_id(_D.in_).get_name(): one for one in found}


def extreme_value(values: isl.Map, domain: isl.Set, last: bool) -> isl.PwAff | None:
    """Returns the first or the last value of { S[i] -> [(e)] } for each instance; None where an instance of the domain has none, or
    the value is no single expression.

    >>> values = isl.Map("{ S[i] -> [b] : 4b <= i < 4b + 4 }")
    >>> extreme_value(values, isl.Set("{ S[i] : 0 <= i < 9 }"), last=True)
    PwAff("{ S[i] -> [(floor((i)/4))] }")
    """
    if not domain.is_subset(values.domain()):
        return None
    values = values.intersect_domain(domain)
    found = values.lexmax_pw_multi_aff() if last else values.lexmin_pw_multi_aff()
    return single(found.get_at(0).gist(domain))


def union_of_functions(functions: Sequence[isl.PwMultiAff]) -> isl.UnionPwMultiAff:
    """Returns the union { S[i] -> S[f(i)]; T[i] -> T[g(i)] } of functions with disjoint domains."""
    return reduce(isl.UnionPwMultiAff.union_add, map(isl.UnionPwMultiAff.from_pw_multi_aff, functions))


def inverse_of_shifts(domain: isl.Set, shifted: Mapping[int, isl.PwAff]) -> isl.PwMultiAff:
    """Returns the function from the new coordinates of instances to the old ones, { S[i, j'] -> S[i, j] : j' = e(i, j) }.

    shifted: {position of a dimension: its new value e}, such as i + j for j; in e the dimension itself has the coefficient 1, and
        the dimensions after it do not occur
    """
    forth = isl.Map.universe(domain.get_space().map_from_set())
    for dim in range(domain.dim(_D.set)):
        value = shifted.get(dim, dimension(domain, dim).to_pw_aff())
        one = isl.Map.from_pw_aff(value)
        one = one.insert_dims(_D.out, 0, dim).add_dims(_D.out, domain.dim(_D.set) - dim - 1)
        forth = forth.intersect(one.set_tuple_id(_D.out, domain.get_tuple_id()))
    back = forth.reverse()
    for dim in range(domain.dim(_D.set)):
        name = domain.get_dim_name(_D.set, dim)
        if name is not None:
            back = back.set_dim_name(_D.in_, dim, name)
    return isl.PwMultiAff.from_map(back)


def plus(value: isl.UnionPwAff, number: int) -> isl.UnionPwAff:
    """Returns the expression of each statement in a union plus a number, { S[i] -> [(e + number)] }."""
    listed = value.get_pw_aff_list()
    pieces = [listed.get_at(k).add_constant_val(isl.Val(number)) for k in range(listed.n_pw_aff())]
    return reduce(isl.UnionPwAff.union_add, map(isl.UnionPwAff.from_pw_aff, pieces))


def distance_to_ends(value: isl.PwAff, first: isl.PwAff, last: isl.PwAff) -> isl.PwAff:
    """Returns { S[i] -> [min(e - first, last - e)] }: how far a value e is from the nearer end of its range.

    first, last: the ends, as expressions in parameters
    """
    space = value.domain().get_space()
    from_first = value.sub(first.insert_domain(space.align_params(first.get_space())))
    from_last = last.insert_domain(space.align_params(last.get_space())).sub(value)
    return from_first.min(from_last)


def extent(first: isl.PwAff, last: isl.PwAff, context: isl.Set) -> isl.PwAff:
    """Returns the number of integers from `first` to `last`, { [] -> [(max(last - first + 1, 0))] }; 0 where `last` is undefined.

    context: what is known of the parameters; the `max` is left out where it follows from that
    """
    count = last.sub(first).add_constant_val(isl.Val(1))
    whole = single(count)
    if whole is not None:
        count = whole if context.is_subset(whole.nonneg_set()) else whole.max(_constant(0))
    else:
        count = count.union_max(_constant(0)).coalesce()
    count = count.drop_unused_params()
    return count.insert_domain(isl.Space.set_alloc(CONTEXT, 0, 0).align_params(count.get_space()))


def offset_dimension(domain: isl.Set, dim: int, start: isl.PwAff) -> isl.PwAff:
    """Returns { S[i] -> [(i - start)] }, a dimension less an expression in the parameters."""
    here = dimension(domain, dim).to_pw_aff()
    if start.plain_is_equal(_constant(0).align_params(start.get_space())):
        return here
    return here.sub(start.insert_domain(domain.get_space().align_params(start.get_space())))


def value_at(value: isl.PwAff, sizes: Mapping[str, int]) -> int:
    """Returns the value of { [] -> [(e)] } for these values of the parameters; 0 where it is not defined."""
    found = value.intersect_params(sizes_set(tuple(sizes.items()))).max_val()
    return found.to_python() if found.is_int() else 0


def only_value(value: isl.PwAff, sizes: Mapping[str, int]) -> int | None:
    """Returns the value of { [] -> [(e)] } for these values of parameters; None where other parameters change it."""
    known = value.intersect_params(sizes_set(tuple(sizes.items())))
    first, last = known.min_val(), known.max_val()
    return first.to_python() if first.is_int() and first.eq(last) else None


def greatest(value: isl.PwAff) -> int | None:
    """Returns the largest value of an expression { S[i] -> [(e)] }, for any instances and parameters; None where there is none.

    >>> greatest(isl.PwAff("{ S[i] -> [(i mod 8)] }")), greatest(isl.PwAff("{ S[i] -> [(i)] }"))
    (7, None)
    """
    most = value.max_val()
    return most.to_python() if most.is_int() else None
