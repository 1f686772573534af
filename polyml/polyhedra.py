"""Everything that addresses isl dimensions by position: named spaces, points, witnesses, and the operation budget.

All isl objects of the project live in one context, `CONTEXT`, since objects of two contexts cannot meet.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, reduce

import islpy as isl

CONTEXT = isl.DEFAULT_CONTEXT
_D = isl.dim_type


class BudgetExceeded(Exception):
    """isl used up the operations it was given."""


@contextmanager
def budget(operations: int, context: isl.Context = CONTEXT) -> Iterator[None]:
    """Let isl use at most `operations` (an internal count, some millions per second) inside the block.

    Raises BudgetExceeded when they are used up; isl works normally again afterwards. Of nested budgets the inner one
    counts from zero and the outer one starts again after it.
    """
    outer = context.get_max_operations()
    context.reset_operations()
    context.set_max_operations(operations)
    try:
        yield
    except (isl.Error, TypeError, ValueError):  # a number that isl has no memory to write has no text either
        if not _is_exhausted(context):
            raise
        raise BudgetExceeded(f"isl exceeded {operations} operations") from None
    finally:
        context.reset_operations()
        context.set_max_operations(outer)


def _is_exhausted(context: isl.Context) -> bool:
    """Whether the operations are used up. The error itself may tell something else: a reader that gets no memory for
    what it reads reports a syntax error. Every allocation counts as an operation, so that the next one fails too.
    """
    try:
        isl.Space.params_alloc(context, 0)
    except isl.Error:
        return True
    return False


@dataclass(frozen=True)
class Frame:
    """The space [parameters] -> { [iterators] } in which the affine expressions of one place of the program live."""

    parameters: tuple[str, ...]
    iterators: tuple[str, ...]

    def __post_init__(self):
        space = isl.Space.set_alloc(CONTEXT, len(self.parameters), len(self.iterators))
        for position, name in enumerate(self.parameters):
            space = space.set_dim_name(_D.param, position, name)
        for position, name in enumerate(self.iterators):
            space = space.set_dim_name(_D.set, position, name)
        places = {name: (_D.param, position) for position, name in enumerate(self.parameters)}
        places |= {name: (_D.in_, position) for position, name in enumerate(self.iterators)}
        object.__setattr__(self, "space", space)
        object.__setattr__(self, "_places", places)
        object.__setattr__(self, "_zero", isl.Aff.zero_on_domain(isl.LocalSpace.from_space(space)))

    def universe(self) -> isl.Set:
        return isl.Set.universe(self.space)

    def aff(self, constant: int, terms: Iterable[tuple[str, int]] = ()) -> isl.Aff:
        """{ [iterators] -> [(constant + sum of coefficient * name)] }"""
        result = self._zero.set_constant_val(constant)
        for name, coefficient in terms:
            result = result.set_coefficient_val(*self._places[name], coefficient)
        return result


def extend(domain: isl.Set, iterator: str) -> isl.Set:
    """{ [i] } -> { [i, iterator] }: one more, unconstrained, dimension inside the others."""
    position = domain.dim(_D.set)
    return domain.add_dims(_D.set, 1).set_dim_name(_D.set, position, iterator)


def relation(domain: isl.Space, name: str, subscripts: Sequence[isl.PwAff]) -> isl.Map:
    """{ S[i] -> name[subscripts] } over the domain space { S[i] }."""
    affs = isl.PwAffList.alloc(CONTEXT, len(subscripts))
    for subscript in subscripts:
        affs = affs.add(subscript)
    space = isl.Space.from_domain(domain).add_dims(_D.out, len(subscripts))
    for subscript in subscripts:
        space = space.align_params(subscript.get_space())
    result = isl.MultiPwAff.from_pw_aff_list(space, affs).set_tuple_name(_D.out, name)
    return isl.Map.from_multi_pw_aff(result)


def rename_domain(value, name: str):
    """{ [i] -> [..] } -> { name[i] -> [..] } of an Aff, PwAff or map."""
    return value.set_tuple_id(_D.in_, _identifier(name))


def rows(value: isl.Set) -> list[tuple[bool, dict[str, int], int]] | None:
    """(whether it is 0, else at least 0; its coefficients; its constant) of each constraint of a set over parameters alone.
    None where there are alternatives, or numbers that have to exist.
    """
    basics = value.coalesce().get_basic_sets()
    if len(basics) != 1 or basics[0].dim(_D.div) or value.dim(_D.set):
        return None
    names = parameter_names(value)
    found = []
    for constraint in basics[0].get_constraints():
        terms = {name: constraint.get_coefficient_val(_D.param, i).to_python() for i, name in enumerate(names)}
        constant = constraint.get_constant_val().to_python()
        found.append((constraint.is_equality(), {name: c for name, c in terms.items() if c}, constant))
    return found


@lru_cache(maxsize=1024)
def _identifier(name: str) -> isl.Id:
    """The identifier that isl's own texts use; `isl.Id(name)` carries a Python object and differs from it."""
    return isl.Set.universe(isl.Space.set_alloc(CONTEXT, 0, 0)).set_tuple_name(name).get_tuple_id()


def parameter_names(value) -> tuple[str, ...]:
    """The parameters of an isl object's space."""
    space = value.get_space()
    return tuple(space.get_dim_name(_D.param, i) for i in range(space.dim(_D.param)))


def used_parameters(value) -> tuple[str, ...]:
    """The parameters that constraints or coefficients of an isl Set, Map or PwAff mention."""
    names = parameter_names(value)
    return tuple(name for i, name in enumerate(names) if value.involves_dims(_D.param, i, 1))


def fix(value, sizes: Mapping[str, int]):
    """Give parameters their values; a name that the set or relation does not have is passed over.

    value: Set, Map, UnionSet or UnionMap.
    """
    if isinstance(value, (isl.UnionSet, isl.UnionMap)):
        return value.intersect_params(_sizes_set(tuple(sizes.items())))
    names = parameter_names(value)
    for name, size in sizes.items():
        if name in names:
            value = value.fix_val(_D.param, names.index(name), size)
    return value


@lru_cache(maxsize=64)
def _sizes_set(sizes: tuple[tuple[str, int], ...]) -> isl.Set:
    known = dict(sizes)
    return fix(Frame(tuple(known), ()).universe().params(), known)


Instance = tuple[str, tuple[int, ...]]


def points(value, **sizes: int) -> set:
    """Every element for the given sizes: {("S", (1, 2)), ...}, and for a relation {(("S", (1, 2)), ("A", (3,))), ...}.

    value: Set, Map, UnionSet or UnionMap, finite once the sizes are given. A parameter that gets no size must not
    matter: it is projected out.
    """
    if isinstance(value, (isl.Map, isl.UnionMap)):
        pairs = value.wrap()
        return {found for piece in _sets(pairs) for found in _piece_points(piece, sizes)}
    return {found for piece in _sets(value) for found in _piece_points(piece, sizes)}


def _sets(value) -> list[isl.Set]:
    """The sets of a union, in the order of their names."""
    if isinstance(value, isl.UnionSet):
        listed = value.get_set_list()
        found = [listed.get_at(k) for k in range(listed.n_set())]
        return sorted(found, key=lambda piece: _tuple_names(piece.get_space()))
    return [value]


def _tuple_names(space: isl.Space) -> tuple[str, ...]:
    if space.is_wrapping():
        inner = space.unwrap()
        return (inner.get_tuple_name(_D.in_) or "", inner.get_tuple_name(_D.out) or "")
    return (space.get_tuple_name(_D.set) or "",)


def _piece_points(piece: isl.Set, sizes: Mapping[str, int]) -> Iterator:
    fixed = fix(piece, sizes)
    fixed = fixed.project_out(_D.param, 0, fixed.dim(_D.param))
    if not fixed.is_bounded():
        raise ValueError(f"not finite for the sizes {dict(sizes)}: {piece}")
    found: list[tuple[int, ...]] = []
    dims = fixed.dim(_D.set)
    fixed.foreach_point(lambda p: found.append(_coordinates(p, dims)))
    label = _labeller(piece.get_space())
    return (label(coordinates) for coordinates in found)


def _coordinates(point: isl.Point, dims: int) -> tuple[int, ...]:
    return tuple(point.get_coordinate_val(_D.set, k).to_python() for k in range(dims))


def _labeller(space: isl.Space):
    names = _tuple_names(space)
    if len(names) == 1:
        return lambda c: (names[0], c)
    split = space.unwrap().dim(_D.in_)
    return lambda c: ((names[0], c[:split]), (names[1], c[split:]))


@dataclass(frozen=True)
class Witness:
    """One concrete element. instances: one for a set, source and sink for a relation. sizes: the parameters' values."""

    instances: tuple[Instance, ...]
    sizes: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        text = " -> ".join(instance_text(i) for i in self.instances)
        return text if not self.sizes else f"{text} with {', '.join(f'{n} = {v}' for n, v in self.sizes)}"


def is_full(value: isl.Set) -> bool:
    """Whether no equality between its iterators thins the set: { S[i, j] : j = i } is not full."""
    names = [f"i{k}" for k in range(value.dim(_D.set))]
    hull = value.affine_hull().project_out(_D.param, 0, value.dim(_D.param))
    return hull.is_equal(isl.BasicSet(f"{{ {value.get_tuple_name() or ''}[{', '.join(names)}] }}"))


def is_thick(value: isl.Set) -> bool:
    """Whether no equality fixes an iterator by others and by parameters: { S[i, j] : j = N } is not thick."""
    constraints = [c for basic in value.get_basic_sets() for c in basic.affine_hull().get_constraints()]
    return not any(c.is_equality() and c.involves_dims(_D.set, 0, value.dim(_D.set)) for c in constraints)


def used_iterators(value: isl.PwAff) -> tuple[int, ...]:
    """The positions of the iterators that { S[i, j] -> [(i // 2 + N)] } depends on: (0,)."""
    return tuple(k for k in range(value.dim(_D.in_)) if value.involves_dims(_D.in_, k, 1))


def hull_dimension(value: isl.Set) -> int:
    """Of the smallest affine space that holds the set, whatever the sizes: 1 for { S[i, j] : j = i }."""
    hull = value.affine_hull().project_out(_D.param, 0, value.dim(_D.param))
    return value.dim(_D.set) - sum(constraint.is_equality() for constraint in hull.get_constraints())


def iterator_coefficients(value: isl.PwAff) -> list[tuple[int | Fraction, ...]]:
    """Of each piece { S[i, j] -> [(2i + j/2 + N)] } the coefficients of the iterators: (2, 1/2)."""
    found: list[tuple[int | Fraction, ...]] = []
    count = value.dim(_D.in_)

    def piece(_: isl.Set, aff: isl.Aff) -> None:
        found.append(tuple(_number(aff.get_coefficient_val(_D.in_, k)) for k in range(count)))

    value.foreach_piece(piece)
    return found


def _number(value: isl.Val) -> int | Fraction:
    return value.to_python() if value.is_int() else Fraction(str(value))


def instance_text(instance: Instance) -> str:
    """("S", (1, 2)) -> "S[1, 2]"."""
    name, coordinates = instance
    return f"{name}[{', '.join(map(str, coordinates))}]"


def witness(value) -> Witness | None:
    """A smallest element, with smallest sizes first: of all sizes the lexicographically least, then of the elements.

    value: Set, Map, UnionSet or UnionMap. None when it is empty. Where no least one exists (unbounded below), some
    element is given.
    """
    if isinstance(value, (isl.Map, isl.UnionMap)):
        value = value.wrap()
    best = None
    for piece in _sets(value):
        if piece.is_empty():
            continue
        found = _piece_witness(piece)
        if best is None or _size_order(found) < _size_order(best):
            best = found
    return best


def _size_order(found: Witness) -> tuple:
    return (sum(abs(v) for _, v in found.sizes), found.instances)


def _piece_witness(piece: isl.Set) -> Witness:
    names = parameter_names(piece)
    flat = piece.move_dims(_D.set, 0, _D.param, 0, len(names)) if not piece.get_space().is_wrapping() else None
    if flat is None:
        flat = piece.flatten().move_dims(_D.set, 0, _D.param, 0, len(names))
    values = _coordinates(_least(flat), flat.dim(_D.set))
    sizes = tuple((n, v) for n, v in zip(names, values) if piece.involves_dims(_D.param, names.index(n), 1))
    found = _labeller(piece.get_space())(values[len(names) :])
    return Witness(found if isinstance(found[0], tuple) else (found,), sizes)


def _least(flat: isl.Set) -> isl.Point:
    """The lexicographically least point of a set that has some, or some point where there is no least one. Alternatives have
    one each: isl would compare them as sets.
    """
    dims = flat.dim(_D.set)
    try:
        least = [isl.Set.from_basic_set(basic).lexmin().sample_point() for basic in flat.get_basic_sets() if not basic.is_empty()]
        found = min(least, key=lambda point: () if point.is_void() else _coordinates(point, dims))
    except isl.Error as error:
        if "unbounded" not in str(error):
            raise
        return flat.sample_point()
    return flat.sample_point() if found.is_void() else found  # isl may lose it where several divisions meet


def pieces(value) -> list:
    """The sets of a UnionSet or the maps of a UnionMap, in the order of their names; [value] for anything else."""
    if isinstance(value, isl.UnionMap):
        listed = value.get_map_list()
        maps = [listed.get_at(k) for k in range(listed.n_map())]
        return sorted(maps, key=lambda m: (m.get_tuple_name(_D.in_) or "", m.get_tuple_name(_D.out) or ""))
    return _sets(value)


def domain_name(value: isl.Map) -> str:
    """S of { S[i] -> T[j] }."""
    return value.get_tuple_name(_D.in_)


def range_name(value: isl.Map) -> str:
    """T of { S[i] -> T[j] }."""
    return value.get_tuple_name(_D.out)


def text(value) -> str:
    """A set or relation for people: one line per pair of names, the common parameters left out.

        S0[i] -> S1[j] : 0 <= i < N and j = i
    """
    lines = []
    for piece in pieces(value):
        full = str(piece.coalesce())
        lines.append(full[full.index("{") + 1 : full.rindex("}")].strip())
    return "\n".join(lines) if lines else "(empty)"


def dimension(domain: isl.Set, position: int) -> isl.Aff:
    """{ S[i, j] -> [(i)] } for position 0."""
    return isl.Aff.var_on_domain(isl.LocalSpace.from_space(domain.get_space()), _D.set, position)


def union(values: Sequence, empty):
    """The union of UnionSets or UnionMaps, halves first, since each union copies what it joins."""
    if not values:
        return empty
    if len(values) == 1:
        return values[0]
    middle = len(values) // 2
    return union(values[:middle], empty).union(union(values[middle:], empty))


def outer(domain: isl.Set, depth: int) -> isl.Set:
    """{ S[i, j, k] } -> { [i, j] } for depth 2: which outer iterations occur."""
    dims = domain.dim(_D.set)
    return domain.project_out(_D.set, depth, dims - depth).reset_tuple_id()


def outer_of(relation: isl.Map, depth: int) -> isl.Map:
    """{ T[i, j, k] -> A[e] } -> { T[i, j] -> A[e] } for depth 2: what outer iterations lead to."""
    dims = relation.dim(_D.in_)
    return relation.project_out(_D.in_, depth, dims - depth).set_tuple_name(_D.in_, relation.get_tuple_name(_D.in_))


def value_range(domain: isl.Set, dim: int) -> tuple[isl.PwAff | None, isl.PwAff]:
    """The least and greatest value of a dimension over the parameters, the greatest where the domain is not empty.

    The least is None where it is not one affine expression.
    """
    return single(domain.dim_min(dim)), domain.dim_max(dim)


def members(band: isl.MultiUnionPwAff) -> list[dict[str, str | None]]:
    """Of each value of a tuple: statement -> the one iterator that it is, perhaps shifted or negated; None if it is not."""
    found = []
    for k in range(band.dim(_D.set)):
        parts = band.get_at(k).get_pw_aff_list()
        member: dict[str, str | None] = {}
        for piece in (parts.get_at(n) for n in range(parts.n_pw_aff())):
            space, steps = piece.domain().get_space(), iterator_coefficients(piece)
            single = len(steps) == 1 and sum(map(abs, steps[0])) == 1
            position = next(d for d, c in enumerate(steps[0]) if c) if single else None
            member[space.get_tuple_name(_D.set)] = None if position is None else space.get_dim_name(_D.set, position)
        found.append(member)
    return found


def identity(domain: isl.Set) -> isl.PwMultiAff:
    """{ S[i] -> S[i] } for all i."""
    return isl.PwMultiAff.from_multi_aff(isl.MultiAff.identity(domain.get_space().map_from_set()))


def renamed(domain: isl.Set, name: str) -> isl.PwMultiAff:
    """{ S[i] -> name[i] } for all i."""
    return identity(domain).set_tuple_id(_D.out, _identifier(name))


def on_piece(value: isl.PwAff, piece: isl.Set) -> isl.PwAff:
    """{ S[i] -> [(e)] } as it is for some { S[i] }, without cases that none of them has."""
    return value.gist(piece).coalesce() if value.n_piece() > 1 else value


def onto(domain: isl.Set, dims: Sequence[int], name: str) -> isl.Set:
    """{ S[i, j, k] } -> { name[i, k] } for dims 0 and 2."""
    for dim in reversed([d for d in range(domain.dim(_D.set)) if d not in dims]):
        domain = domain.project_out(_D.set, dim, 1)
    return domain.set_tuple_name(name)


def values_onto(relation: isl.Map, dims: Sequence[int], name: str) -> tuple[isl.PwAff, ...]:
    """{ S[i, j, k] -> A[e, f] } as { name[i, k] -> [(e)] }, { name[i, k] -> [(f)] }, which do not depend on j."""
    found = isl.PwMultiAff.from_map(relation)
    return tuple(value_onto(found.get_at(k), dims, name) for k in range(relation.dim(_D.out)))


def weighted(relation: isl.Map, weights: Sequence[int], constant: int) -> isl.PwAff:
    """{ T[i] -> [(constant + weight*e + weight'*f)] } of { T[i] -> A[e, f] }.

    >>> weighted(isl.Map("{ T[i, j] -> A[j, i + 1] }"), (80, 8), 256)
    PwAff("{ T[i, j] -> [(264 + 8i + 80j)] }")
    """
    values = isl.PwMultiAff.from_map(relation)
    domain = relation.domain()
    total = isl.PwAff.val_on_domain(domain, isl.Val(constant))
    for dim, weight in enumerate(weights):
        total = total.add(values.get_at(dim).scale_val(isl.Val(weight)))
    return total.gist(domain).coalesce()


def subscripts_of(relation: isl.Map) -> list[isl.PwAff]:
    """{ T[i] -> [(e)] }, { T[i] -> [(f)] } of { T[i] -> A[e, f] }."""
    values, domain = isl.PwMultiAff.from_map(relation), relation.domain()
    return [values.get_at(k).gist(domain).coalesce() for k in range(relation.dim(_D.out))]


def value_onto(value: isl.PwAff, dims: Sequence[int], name: str) -> isl.PwAff:
    """{ S[i, j, k] -> [(e)] } as { name[i, k] -> [(e)] }, which does not depend on j."""
    for dim in reversed([d for d in range(value.dim(_D.in_)) if d not in dims]):
        value = value.drop_dims(_D.in_, dim, 1)
    return rename_domain(value, name)


def expression_of(values: isl.UnionPwAff, name: str) -> isl.PwAff | None:
    """{ name[i] -> [(e)] }, the one expression for all of a statement's instances; None where there are several."""
    listed = values.get_pw_aff_list()
    own = [v for v in (listed.get_at(k) for k in range(listed.n_pw_aff())) if v.domain().get_tuple_name() == name]
    return own[0].get_pieces()[0][1].to_pw_aff() if len(own) == 1 and own[0].n_piece() == 1 else None


def sides(value: isl.Set, depth: int, only_hyperplanes: bool) -> Iterator[tuple[isl.Set, ...]]:
    """The space in two or three parts for each constraint of a set on dimensions from `depth` on: below, on and above a
    hyperplane, and unless only these are wanted, inside and outside a half space.
    """
    for basic in value.get_basic_sets():
        for constraint in basic.get_constraints():
            if not constraint.involves_dims(_D.set, depth, value.dim(_D.set) - depth):
                continue
            expression = isl.PwAff.from_aff(constraint.get_aff())
            if constraint.is_equality():
                yield expression.neg().pos_set(), expression.zero_set(), expression.pos_set()
            elif not only_hyperplanes:
                yield expression.neg().pos_set(), expression.nonneg_set()


def inverse_of_shifts(domain: isl.Set, shifted: Mapping[int, isl.PwAff]) -> isl.PwMultiAff:
    """{ S[i, j'] -> S[i, j] : j' = e(i, j) } for expressions in which the dimension's own coefficient is 1, and which use no
    later ones.
    """
    forth = isl.Map.universe(domain.get_space().map_from_set())
    for dim in range(domain.dim(_D.set)):
        value = shifted.get(dim, dimension(domain, dim).to_pw_aff())
        one = isl.Map.from_pw_aff(value)
        one = one.insert_dims(_D.out, 0, dim).add_dims(_D.out, domain.dim(_D.set) - dim - 1)
        forth = forth.intersect(one.set_tuple_id(_D.out, domain.get_tuple_id()))
    back = forth.reverse()
    for dim in range(domain.dim(_D.set)):
        back = back.set_dim_name(_D.in_, dim, domain.get_dim_name(_D.set, dim))
    return isl.PwMultiAff.from_map(back)


def union_of_functions(functions: Sequence[isl.PwMultiAff]) -> isl.UnionPwMultiAff:
    """{ S[i] -> S[f(i)]; T[i] -> T[g(i)] }."""
    return reduce(isl.UnionPwMultiAff.union_add, map(isl.UnionPwMultiAff.from_pw_multi_aff, functions))


def has_division(value: isl.UnionPwAff) -> bool:
    """Whether { S[i] -> [(e)] } rounds a quotient anywhere."""
    listed = value.get_pw_aff_list()
    expressions = (aff for k in range(listed.n_pw_aff()) for _, aff in listed.get_at(k).get_pieces())
    return any(aff.dim(_D.div) > 0 for aff in expressions)


def before_rounding(value: isl.UnionPwAff) -> tuple[isl.UnionPwAff, ...]:
    """Each { S[i] -> [(e)] } of { S[i] -> [(c + t*floor(e/d) + t*floor(f/d))] } where c, which has parameters alone, t > 0 and d
    are the same for all instances: the value does not fall where none of them does. () for other expressions.

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
    divisor = isl.Val(around.pop()[-1])
    terms = [[_whole(where, e, divisor) for times, e in rounded for _ in range(times // least)] for where, rounded in found]
    if len({*map(len, terms)}) > 1:
        return ()
    return tuple(reduce(isl.UnionPwAff.union_add, each) for each in zip(*terms))


def _whole(where: isl.Set | None, quotient: isl.Aff, divisor: isl.Val) -> isl.UnionPwAff:
    """{ S[i] -> [(divisor * quotient)] : where }"""
    value = quotient.scale_val(divisor)
    return isl.UnionPwAff.from_pw_aff(value.to_pw_aff() if where is None else isl.PwAff.alloc(where, value))


def is_affine(value: isl.PwAff) -> bool:
    """Whether { S[i] -> [(e)] } is of one piece that rounds no quotient."""
    return value.n_piece() == 1 and not any(aff.dim(_D.div) for _, aff in value.get_pieces())


def divisions(value: isl.Aff) -> list[isl.Aff]:
    """The rounded quotients in { S[i] -> [(e)] }."""
    return [value.get_div(k).floor() for k in range(value.dim(_D.div))]


def along(domain: isl.Set, position: int) -> isl.Set:
    """{ [j] } of { S[i, j] } for position 1."""
    return domain.project_out(_D.set, position + 1, dimensions(domain) - position - 1).project_out(_D.set, 0, position)


def plus(value: isl.UnionPwAff, number: int) -> isl.UnionPwAff:
    """{ S[i] -> [(e + number)] }."""
    listed = value.get_pw_aff_list()
    pieces = [listed.get_at(k).add_constant_val(isl.Val(number)) for k in range(listed.n_pw_aff())]
    return reduce(isl.UnionPwAff.union_add, map(isl.UnionPwAff.from_pw_aff, pieces))


def between(relation: isl.UnionMap, domain: isl.Set, other: isl.Set) -> isl.Map:
    """{ S[i] -> T[j] }: the pairs of two statements."""
    space = domain.get_space().align_params(other.get_space()).map_from_domain_and_range(other.get_space())
    return relation.extract_map(space.align_params(relation.get_space()))


def equal_first(pairs: isl.Map, depth: int) -> isl.Map:
    """{ S[i] -> T[j] } of all pairs whose first dimensions agree, in the space of `pairs`."""
    found = isl.Map.universe(pairs.get_space())
    for dim in range(depth):
        found = found.equate(_D.in_, dim, _D.out, dim)
    return found


def differ(pairs: isl.Map, dim: int) -> bool:
    """Whether some pair S[i] -> T[j] has different values there."""
    return not pairs.is_subset(pairs.equate(_D.in_, dim, _D.out, dim))


def is_box(domain: isl.Set) -> bool:
    """Whether no dimension bounds another."""
    return all(is_product(domain, [d]) for d in range(domain.dim(_D.set)))


def is_whole_box(domain: isl.Set) -> bool:
    """Whether a set without parameters has all points between the ends of its dimensions."""
    return not domain.is_empty() and domain.is_box() and bool(domain.is_bounded())


def value_at(value: isl.PwAff, sizes: Mapping[str, int]) -> int:
    """{ [] -> [(e)] } at values of the parameters; 0 where it is not defined."""
    found = value.intersect_params(_sizes_set(tuple(sizes.items()))).max_val()
    return found.to_python() if found.is_int() else 0


def last_of(writes: Sequence[tuple[isl.Map, int]], name: str) -> tuple[isl.Set, list[isl.PwAff]] | None:
    """Of { S[i] -> A[e] }, each with a number of outer dimensions: the elements { name[e] } and, for each, the greatest of these
    dimensions over all that write it. None where that is not one expression.
    """
    found = None
    for written, depth in writes:
        outermost = written.project_out(_D.in_, depth, written.dim(_D.in_) - depth).reset_tuple_id(_D.in_).reverse()
        found = outermost if found is None else found.union(outermost)
    last = found.set_tuple_name(_D.in_, name).lexmax().coalesce()
    values = []
    for dim in range(last.dim(_D.out)):
        one = last.project_out(_D.out, dim + 1, last.dim(_D.out) - dim - 1).project_out(_D.out, 0, dim)
        values.append(one.dim_max(0).coalesce())
    if any(v.n_piece() != 1 for v in values):
        return None
    return last.domain(), [v.gist(last.domain()) for v in values]


def with_iterators(domain: isl.Set, names: Sequence[str]) -> isl.Set:
    """The set with its dimensions named."""
    for dim, name in enumerate(names):
        domain = domain.set_dim_name(_D.set, dim, name)
    return domain


def on_domain(value: isl.PwAff, domain: isl.Set) -> isl.PwAff:
    """{ [] -> [(e)] } over the parameters as { S[i] -> [(e)] }."""
    return value.insert_domain(domain.get_space().align_params(value.get_space()))


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
    dims = range(domain.dim(_D.set))
    return [(domain.dim_min_val(dim).to_python(), domain.dim_max_val(dim).to_python()) for dim in dims]


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


def leads_both_ways(there: isl.Map, back: isl.Map) -> bool:
    """Whether along some dimension the ways S[i] -> T[j] -> S[i'] lead forth as well as back, whatever the parameters.

    >>> leads_both_ways(isl.Map("{ S[i] -> T[i] }"), isl.Map("{ T[i] -> S[j] : -1 <= i - j <= 1 }"))
    True
    >>> leads_both_ways(isl.Map("{ S[i] -> T[i + 1] }"), isl.Map("{ T[i] -> S[j] : -1 <= i - j <= 1 }"))
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


def extent(first: isl.PwAff, last: isl.PwAff, context: isl.Set) -> isl.PwAff:
    """{ [] -> [(max(last - first + 1, 0))] }, and 0 where `last` is not defined."""
    count = last.sub(first).add_constant_val(isl.Val(1))
    whole = single(count)
    if whole is not None:
        count = whole if context.is_subset(whole.nonneg_set()) else whole.max(_constant(0))
    else:
        count = count.union_max(_constant(0)).coalesce()
    count = count.drop_unused_params()
    return count.insert_domain(isl.Space.set_alloc(CONTEXT, 0, 0).align_params(count.get_space()))


def offset_dimension(domain: isl.Set, dim: int, start: isl.PwAff) -> isl.PwAff:
    """{ S[i] -> [(i - start)] }, start over the parameters."""
    here = dimension(domain, dim).to_pw_aff()
    if start.plain_is_equal(_constant(0).align_params(start.get_space())):
        return here
    return here.sub(start.insert_domain(domain.get_space().align_params(start.get_space())))


def single(value: isl.PwAff) -> isl.PwAff | None:
    """The affine expression of a PwAff that has only one, for all parameters; None if it has several."""
    value = value.coalesce()
    return value.get_pieces()[0][1].to_pw_aff() if value.n_piece() == 1 else None


def _constant(value: int) -> isl.PwAff:
    """{ [(value)] } without parameters."""
    return isl.PwAff.val_on_domain(isl.Set.universe(isl.Space.params_alloc(CONTEXT, 0)), isl.Val(value))


def set_names(value: isl.UnionSet) -> list[str]:
    """The names of the sets in a union."""
    listed = value.get_set_list()
    return [listed.get_at(k).get_tuple_name() for k in range(listed.n_set())]


def dimensions(value: isl.Set) -> int:
    """The number of dimensions of a set's elements."""
    return value.dim(_D.set)


def on_parameters(context: isl.Set, names: Sequence[str]) -> isl.Set:
    """What a set { : facts } says about some of its parameters."""
    for position, name in reversed(list(enumerate(parameter_names(context)))):
        if name not in names:
            context = context.project_out(_D.param, position, 1)
    return context


def without_parameter(value, name: str):
    """The set or map for some value of the parameter."""
    names = parameter_names(value)
    return value.project_out(_D.param, names.index(name), 1) if name in names else value


def without_parameters(domain: isl.Set) -> isl.Set:
    """The set without what it says of dimensions together with parameters, or of these alone."""
    return domain.drop_constraints_involving_dims(_D.param, 0, domain.dim(_D.param))


def bounding(domain: isl.Set, directions: Sequence[Sequence[int]]) -> isl.Set:
    """The set without the constraints that say nothing along any of the directions.

    >>> bounding(isl.Set("{ [i, j, k] : 0 <= i < 4 and 0 <= j <= i and j <= k < 9 }"), [(0, 0, 1)])
    Set("{ [i0, i1, i2] : i1 <= i2 <= 8 }")
    """
    names = [f"i{dim}" for dim in range(domain.dim(_D.set))]

    def says(row: LinearRow) -> bool:
        if any(isinstance(k, Quotient) for k in row[0]):
            return True
        return any(sum(c * d[k] for k, c in row[0].items() if isinstance(k, int)) for d in directions)

    found, parameters = isl.Set.empty(domain.get_space()), ", ".join(parameter_names(domain))
    for part in alternatives(domain):
        zero, least_ = integer_rows(part)
        rows_ = [(row, op) for group, op in ((zero, "="), (least_, ">=")) for row in group if says(row)]
        conditions = " and ".join(f"{_row_text(row, names)} {op} 0" for row, op in rows_)
        found = found.union(isl.Set(f"[{parameters}] -> {{ [{', '.join(names)}] : {conditions or 'true'} }}"))
    return found


def _row_text(row: LinearRow, names: Sequence[str]) -> str:
    def name(each: str | int | Quotient) -> str:
        if not isinstance(each, Quotient):
            return names[each] if isinstance(each, int) else each
        return f"floor(({_row_text((dict(each.terms), each.constant), names)})/{each.divisor})"

    return " + ".join([*(f"{c}*{name(k)}" for k, c in row[0].items()), str(row[1])])


def is_product(domain: isl.Set, dims: Sequence[int]) -> bool:
    """Whether the set is all pairs of what it allows in these dimensions and what it allows in the others.

    >>> [is_product(isl.Set(s), [0]) for s in ("{ S[i, j] : 0 <= i, j < 9 }", "{ S[i, j] : 0 <= j <= i < 9 }")]
    [True, False]
    """
    others = [d for d in range(domain.dim(_D.set)) if d not in dims]
    return _without(domain, others).intersect(_without(domain, dims)).is_subset(domain)


def _without(domain: isl.Set, dims: Sequence[int]) -> isl.Set:
    """The set without what it says of some dimensions."""
    for d in dims:
        domain = domain.eliminate(_D.set, d, 1)
    return domain


def count_tiles(domain: isl.Set, sizes: Mapping[int, int]) -> int:
    """How many tiles a set without parameters has points in. sizes: of tiles by dimension, else 1.

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


def ragged(domain: isl.Set, every: isl.Set, dims: Sequence[int]) -> isl.Set:
    """The points that miss, with the other dimensions as they are, some of the values which `every` has in these.

    >>> ragged(isl.Set("{ S[k, i] : 4 <= k < 8 and 0 <= i < k }"), isl.Set("{ S[k, i] : 4 <= k < 8 }"), [0])
    Set("{ S[k, i] : 4 <= k <= 7 and 4 <= i <= 6 and i < k }")
    """
    missing = _without(domain, dims).intersect(every).subtract(domain)
    return domain.intersect(_without(missing, dims)).coalesce()


def of_name(sets: isl.UnionSet, like: isl.Set) -> isl.Set:
    """The set of a union in the space of another one."""
    return sets.extract_set(like.get_space().align_params(sets.get_space()))


def in_whole_tiles(domain: isl.Set, dim: int, step: int, origin: str = "0") -> isl.Set:
    """The points for which what bounds one dimension together with others holds in all of their tile along it. Tiles begin
    at multiples of the step.

    >>> in_whole_tiles(isl.Set("{ S[i, k] : 0 <= k < i < 9 }"), 0, 4)
    Set("{ S[i, k] : i <= 8 and 0 <= k < i and 4*floor((i)/4) > k }")
    """
    others = [d for d in range(domain.dim(_D.set)) if d != dim]
    product = _without(domain, others).intersect(_without(domain, [dim]))
    outside = domain.gist(product).complement()
    return domain.subtract(outside.apply(_same_tile(domain, dim, step, origin))).coalesce()


def _same_tile(domain: isl.Set, dim: int, step: int, origin: str) -> isl.Map:
    """Pairs of points that differ in one dimension only, by less than a tile."""
    names = [f"i{d}" for d in range(domain.dim(_D.set))]
    moved = [*names[:dim], "o", *names[dim + 1 :]]
    name = domain.get_tuple_name()
    same = f"floor((i{dim} - ({origin}))/{step}) = floor((o - ({origin}))/{step})"
    parameters = f"[{', '.join(parameter_names(domain))}] -> " if origin != "0" else ""
    return isl.Map(f"{parameters}{{ {name}[{', '.join(names)}] -> {name}[{', '.join(moved)}] : {same} }}").align_params(domain.get_space())


def at_sizes(value, sizes: Mapping[str, int]):
    """The set or map of these sizes, without parameters."""
    return fix(value, sizes).project_out_all_params()


def without(value, parts: Sequence):
    """The set or map without the parts."""
    for part in parts:
        value = value.subtract(part)
    return value


def flat(relation: isl.Map) -> isl.Set:
    """{ S[i] -> T[j] } as { [i, j] }"""
    return relation.wrap().flatten()


def translated(domain: isl.Set, steps: Sequence[int]) -> isl.Set:
    """{ S[i] } as { [i + step] }"""
    names = [f"i{k}" for k in range(len(steps))]
    there = ", ".join(f"{name} + {step}" for name, step in zip(names, steps))
    return domain.reset_tuple_id().apply(isl.Map(f"{{ [{', '.join(names)}] -> [{there}] }}"))


def without_sizes(value):
    """What the set or map has for some values of its parameters."""
    return value.project_out_all_params()


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


def fold(value: isl.PwAff, first: isl.PwAff, last: isl.PwAff) -> isl.PwAff:
    """{ S[i] -> [min(i - first, last - i)] }: how far a place is from the nearer end."""
    space = value.domain().get_space()
    from_first = value.sub(first.insert_domain(space.align_params(first.get_space())))
    from_last = last.insert_domain(space.align_params(last.get_space())).sub(value)
    return from_first.min(from_last)


def has_none(pairs_: isl.UnionMap, order: Callable[[isl.Space], isl.Map]) -> bool:
    """Whether no pair { [t] -> [t'] } is in that order, such as isl.Map.lex_gt."""
    return all(piece.intersect(order(piece.get_space().domain())).is_empty() for piece in pieces(pairs_))


def rational_image(values: isl.MultiUnionPwAff, context: isl.Set) -> isl.Set:
    """{ [values...] } of { S[i] -> [values...] }, as polyhedra that hold all of them and perhaps more."""
    found = None
    for piece in pieces(isl.UnionMap.from_multi_union_pw_aff(values)):
        depth = piece.dim(_D.in_)
        for basic in piece.get_basic_maps():
            flat = basic.wrap().flatten().remove_divs()
            image = isl.Set.from_basic_set(flat.eliminate(_D.set, 0, depth).project_out(_D.set, 0, depth))
            found = image if found is None else found.union(image)
    return found.intersect_params(context).coalesce()


def where(domain: isl.UnionSet, members: Sequence[isl.UnionPwAff], names: Sequence[str]) -> isl.UnionSet:
    """The instances for which expressions { S[i] -> [(e)] } have the values that parameters give them."""
    pairs_ = [(m, n) for m, n in zip(members, names)]
    pairs_ += [(a.sub(b), f"{m} - {n}") for k, (a, m) in enumerate(pairs_) for b, n in pairs_[k + 1 :]]
    for member, value in pairs_:
        there = isl.UnionSet(f"[{', '.join(names)}] -> {{ [{value}] }}")
        domain = domain.intersect(isl.UnionMap.from_union_pw_aff(member).intersect_range(there).domain())
    return domain.coalesce()


def as_facts(values: isl.Set, names: Sequence[str]) -> isl.Set:
    """{ : ... } of parameters for { T[values] }, as far as one polyhedron says it."""
    there = isl.Set(f"[{', '.join(names)}] -> {{ {values.get_tuple_name()}[{', '.join(names)}] }}")
    return isl.Set.from_basic_set(values.intersect(there).params().simple_hull())


@dataclass(frozen=True)
class Quotient:
    """floor((sum of coefficient * name + constant) / divisor): a name of rows. Iterators are named by their positions."""

    terms: frozenset
    constant: int
    divisor: int


LinearRow = tuple[dict["str | int | Quotient", int], int]  # coefficients by name, and a constant


def integer_rows(domain: isl.Set) -> tuple[list[LinearRow], list[LinearRow]] | None:
    """(what is 0, what is at least 0) for exactly the points of the set; None where it has alternatives.

    >>> integer_rows(isl.Set("[N] -> { S[i, j] : 0 <= i < N and j = 2i }"))
    ([({0: -2, 1: 1}, 0)], [({0: 1}, 0), ({'N': 1, 0: -1}, -1)])
    """
    basics = domain.get_basic_sets()
    if len(basics) != 1:
        basics = domain.coalesce().get_basic_sets()
    if len(basics) == 1 and basics[0].dim(_D.div):
        basics = basics[0].compute_divs().get_basic_sets()
    if len(basics) != 1:
        return None
    (basic,) = basics
    names: list[str | int | Quotient] = [*parameter_names(domain), *range(basic.dim(_D.set))]
    for k in range(basic.dim(_D.div)):
        names.append(_quotient(basic.get_div(k), names))
    columns = _D.cst, _D.param, _D.set, _D.div
    return _matrix_rows(basic.equalities_matrix(*columns), names), _matrix_rows(basic.inequalities_matrix(*columns), names)


def set_of_rows(
    parameters: Sequence[str], dims: Sequence[str], exist: Sequence[str], zero: Sequence[LinearRow], least: Sequence[LinearRow]
) -> isl.Set:
    """[parameters] -> { [dims] : exists `exist` with each of `zero` 0 and each of `least` at least 0 }, of no dims { : ... }.
    Much faster than by a text.
    """
    space = _space(tuple(parameters), len(dims))
    columns = {name: position + 1 for position, name in enumerate([*parameters, *dims, *exist])}
    matrices = (_matrix(rows, columns) for rows in (zero, least))
    order = _D.cst, _D.param, _D.set, _D.div
    found = isl.Set.from_basic_set(isl.BasicSet.from_constraint_matrices(space, *matrices, *order))
    return found if dims else found.params()


@lru_cache(maxsize=1024)
def _space(parameters: tuple[str, ...], dims: int) -> isl.Space:
    space = isl.Space.set_alloc(CONTEXT, len(parameters), dims)
    for position, name in enumerate(parameters):
        space = space.set_dim_name(_D.param, position, name)
    return space


def _matrix(rows: Sequence[LinearRow], columns: Mapping[str, int]) -> isl.Mat:
    """The constant first."""
    matrix = isl.Mat.alloc(CONTEXT, 0, len(columns) + 1).add_zero_rows(len(rows))
    for number, (terms, constant) in enumerate(rows):
        for column, value in [(0, constant), *((columns[name], c) for name, c in terms.items())]:
            if value:
                matrix = matrix.set_element_val(number, column, isl.Val(value))
    return matrix


def has_integers(equal: Iterable[LinearRow], least: Iterable[LinearRow]) -> bool:
    """Whether some integers make all of the first rows 0 and all of the others at least 0. Names may be anything."""
    names: dict[Hashable, str] = {}
    parts = []
    for rows_, op in ((equal, "="), (least, ">=")):
        for terms, constant in rows_:
            products = (f"{c} {names.setdefault(name, f'x{len(names)}')}" for name, c in terms.items())
            parts.append(f"{' + '.join([*products, str(constant)])} {op} 0")
    return not isl.Set(f"{{ [{', '.join(names.values())}] : {' and '.join(parts)} }}").is_empty()


def disjoint(domain: isl.Set) -> list[isl.Set]:
    """Parts of the set, no two with a point in common, none with alternatives."""
    return [isl.Set.from_basic_set(part) for part in domain.compute_divs().make_disjoint().get_basic_sets()]


def is_in(name: "str | int | Quotient", dim: int) -> bool:
    """Whether a name of rows is the dimension, or a quotient of it."""
    return name == dim or isinstance(name, Quotient) and any(is_in(inner, dim) for inner, _ in name.terms)


def _matrix_rows(matrix: isl.Mat, names: Sequence[str | int | Quotient]) -> list[LinearRow]:
    found = []
    for row in range(matrix.rows()):
        constant, *numbers = (matrix.get_element_val(row, column).to_python() for column in range(len(names) + 1))
        found.append(({name: c for name, c in zip(names, numbers) if c}, constant))
    return found


def _quotient(div: isl.Aff, names: Sequence[str | int | Quotient]) -> Quotient:
    """The number that has to exist, as a quotient of what is named."""
    terms, constant, divisor = _numerator(div, names)
    return Quotient(frozenset(terms.items()), constant, divisor)


def _numerator(aff: isl.Aff, names: Sequence[str | int | Quotient]) -> tuple[dict[str | int | Quotient, int], int, int]:
    """(coefficients, constant, divisor) of { [i] -> [(e)/divisor] }."""
    divisor = aff.get_denominator_val().to_python()
    terms, position = {}, 0
    for kind in (_D.param, _D.in_, _D.div):
        for k in range(aff.dim(kind)):
            if position < len(names):
                value = aff.get_coefficient_val(kind, k)
                if not value.is_zero():
                    terms[names[position]] = value.mul(divisor).to_python()
            position += 1
    return terms, aff.get_constant_val().mul(divisor).to_python(), divisor


def linear_row(value: isl.PwAff) -> LinearRow | None:
    """{ S[i] -> [(e)] } as a row; None where it has alternatives.

    >>> linear_row(isl.PwAff("[N] -> { S[i] -> [(i - i mod 8 + N)] }"))
    ({'N': 1, Quotient(terms=frozenset({(0, 1)}), constant=0, divisor=8): 8}, 0)
    """
    found = rows_by_piece(value)
    return found[0][1] if len(found) == 1 and found[0][2] == 1 else None


def rows_by_piece(value: isl.PwAff) -> list[tuple[isl.Set, LinearRow, int]]:
    """{ S[i] -> [(e)] : ...; S[i] -> [(f)] : ... } as sets, rows, and the numbers that the rows are divided by."""
    return [(where, *_aff_row(aff)) for where, aff in value.get_pieces()]


def _aff_row(aff: isl.Aff) -> tuple[LinearRow, int]:
    names: list[str | int | Quotient] = [*parameter_names(aff), *range(aff.dim(_D.in_))]
    for k in range(aff.dim(_D.div)):
        names.append(_quotient(aff.get_div(k), names))
    terms, constant, divisor = _numerator(aff, names)
    return (terms, constant), divisor


def expressions(value: isl.UnionPwAff) -> dict[str, isl.PwAff]:
    """By statement, what { S[i] -> [(e)]; T[i] -> [(f)] } is."""
    listed = value.get_pw_aff_list()
    found = (listed.get_at(k) for k in range(listed.n_pw_aff()))
    return {one.get_tuple_id(_D.in_).get_name(): one for one in found}


def last_before(uses: isl.Map, others: isl.Map) -> isl.Map:
    """{ [time] -> [the last time of the others before it with the same value] } of { [time] -> A[value] }, in lexicographic order."""
    return uses.apply_range(others.reverse()).intersect(isl.Map.lex_gt(uses.domain().get_space())).lexmax()


def half_way(times: isl.Set, sizes: Mapping[str, int], width: int) -> isl.Set:
    """Of { [time] }, which is bounded at these sizes: those of about `width` consecutive values of each coordinate, half way.

    >>> half_way(isl.Set("[N] -> { [i, j] : 0 <= i < N and 0 <= j <= i }"), {"N": 40}, 4)
    Set("[N] -> { [i, j] : 16 <= i <= 19 and i < N and 8 <= j <= 11 and j <= i }")
    """
    here = fix(times, sizes)
    if here.is_empty():
        return times
    for dim in range(times.dim(_D.set)):
        low, high = here.dim_min_val(dim).to_python(), here.dim_max_val(dim).to_python()
        if low == high:
            continue
        half = isl.Val((low + high) // 2 // width * width)
        first = here.lower_bound_val(_D.set, dim, half).dim_min_val(dim).to_python() // width * width
        ends = isl.Val(first), isl.Val(first + width - 1)
        here, times = (s.lower_bound_val(_D.set, dim, ends[0]).upper_bound_val(_D.set, dim, ends[1]) for s in (here, times))
    return times


def earlier(uses: isl.Map, others: isl.Map, depth: int) -> isl.Set:
    """{ [time] } of { [time] -> A[value] } for which some other { [time] -> A[value] } is before with the same value and the same
    first coordinates.
    """
    pairs = uses.apply_range(others.reverse())
    return pairs.intersect(equal_first(pairs, depth)).intersect(isl.Map.lex_gt(uses.domain().get_space())).domain().coalesce()


def strictly_between(pairs: isl.Map) -> isl.Map:
    """{ x -> every z with y < z < x } of { x -> y }, in lexicographic order."""
    space = pairs.range().get_space()
    return pairs.apply_range(isl.Map.lex_lt(space)).intersect(isl.Map.lex_gt(space))


def conjunctions(pairs: isl.Map) -> list[isl.Map]:
    """The relation in parts that share no pair."""
    return [isl.Map.from_basic_map(piece) for piece in pairs.coalesce().compute_divs().make_disjoint().get_basic_maps()]


def with_last(order: isl.Map, number: int) -> isl.Map:
    """{ S[i] -> [time] } with one coordinate behind the others, which is a number."""
    position = order.dim(_D.out)
    return order.add_dims(_D.out, 1).fix_val(_D.out, position, isl.Val.int_from_si(CONTEXT, number))


def only_value(value: isl.PwAff, sizes: Mapping[str, int]) -> int | None:
    """{ [] -> [(e)] } where it is the same for all parameters that have no size."""
    known = value.intersect_params(_sizes_set(tuple(sizes.items())))
    first, last = known.min_val(), known.max_val()
    return first.to_python() if first.is_int() and first.eq(last) else None


def by_first_difference(pairs: isl.Map) -> Iterator[tuple[int, isl.Map]]:
    """{ x -> y } in parts, by the first coordinate in which they differ; how many there are where none does."""
    dims = pairs.dim(_D.in_)
    for dim in range(dims):
        equal = pairs.equate(_D.in_, dim, _D.out, dim)
        if pairs.is_subset(equal):
            continue
        yield dim, pairs.subtract(equal)
        pairs = equal
        if pairs.is_empty():
            return
    yield dims, pairs


def divisors(value: isl.Map) -> set[int]:
    """Of the rounded quotients in a relation."""
    basics = value.wrap().flatten().compute_divs().get_basic_sets()
    return {basic.get_div(k).get_denominator_val().to_python() for basic in basics for k in range(basic.dim(_D.div))}


def values_of(members: Sequence[isl.PwAff], domain: isl.Set) -> isl.Set:
    """{ [values] } of { S[i] -> [(e)] } each, over { S[i] }."""
    maps = [isl.Map.from_pw_aff(member).intersect_domain(domain) for member in members]
    return reduce(isl.Map.flat_range_product, maps).range()


def last_walk(values: isl.Set) -> tuple[int, int]:
    """(step, count): of the values that the last dimension of a bounded set has at most, the others being the same.

    >>> last_walk(isl.Set("{ [i, j] : 0 <= i < 9 and 0 <= j <= i and j mod 4 = 0 }"))
    (4, 3)
    """
    last = values.dim(_D.set) - 1
    step = values.get_stride_info(last).get_stride().to_python()
    pairs = isl.Map.from_domain_and_range(values, values)
    for dim in range(last):
        pairs = pairs.equate(_D.in_, dim, _D.out, dim)
    return step, pairs.deltas().dim_max_val(last).to_python() // step + 1


def first_image(relation: isl.Map, domain: isl.Set) -> tuple[int, ...]:
    """The element of { S[i] -> A[e] } for the lexicographically first of { S[i] }."""
    image = domain.lexmin().apply(relation)
    return _coordinates(image.sample_point(), image.dim(_D.set))


def strides(times: isl.Set) -> list[tuple[int, int]]:
    """(s, r) of each coordinate, which only takes values s * t + r; (1, 0) where it takes others, or where r is no number."""
    found = []
    for dim in range(times.dim(_D.set)):
        info = times.get_stride_info(dim)
        step, start = info.get_stride().to_python(), info.get_offset()
        found.append((step, start.get_constant_val().to_python() % step) if step > 1 and start.is_cst() else (1, 0))
    return found


def unstrided(steps: Sequence[tuple[int, int]]) -> isl.Map:
    """{ [t0, ...] -> [s * t0 + r, ...] }"""
    names = [f"t{dim}" for dim in range(len(steps))]
    values = [f"{step}*{name} + {start}" for name, (step, start) in zip(names, steps)]
    return isl.Map(f"{{ [{', '.join(names)}] -> [{', '.join(values)}] }}")


def as_parameters(times: isl.Set, names: Sequence[str]) -> isl.Set:
    """{ [x, y] : ... } as { : ... } over parameters of these names."""
    return range_by_domain(isl.Map.from_domain(times), names).params()


def range_by_domain(values: isl.Map, names: Sequence[str]) -> isl.Set:
    """{ [x, y] -> A[z] } as [names] -> { A[z] }."""
    dims, count = values.dim(_D.in_), values.dim(_D.param)
    for dim, name in enumerate(names):
        values = values.set_dim_name(_D.in_, dim, name)
    return values.move_dims(_D.param, count, _D.in_, 0, dims).range()


def parameters_as_set(region: isl.Set, names: Sequence[str] | None = None) -> isl.Set:
    """{ : ... } over parameters as { [names] : ... }. names: of those that become dimensions; None: all."""
    found = isl.Set.from_params(region)
    if names is None:
        return found.move_dims(_D.set, 0, _D.param, 0, found.dim(_D.param))
    for name in names:
        there = parameter_names(found)
        if name in there:
            found = found.move_dims(_D.set, found.dim(_D.set), _D.param, there.index(name), 1)
    return found


def with_condition(region: isl.Set, condition: str) -> isl.Set:
    """{ : ... } over parameters, as far as the condition holds."""
    return region.intersect(isl.Set(f"[{', '.join(parameter_names(region))}] -> {{ : {condition} }}"))


def in_units(value, units: Mapping[str, int]):
    """A set or map with parameters that are multiples of numbers counted in these: [N] -> { [i] : i < 8 N } for i < N and 8."""
    return _rescaled(value, units, lambda name, other, unit: f"{name} = {unit} {other}")


def from_units(value, units: Mapping[str, int]):
    """What `in_units` made, as it was."""
    return _rescaled(value, units, lambda name, other, unit: f"{other} = {unit} {name}")


def _rescaled(value, units: Mapping[str, int], relation: Callable[[str, str, int], str]):
    for name in [n for n in parameter_names(value) if units.get(n, 1) > 1]:
        other = f"{name}_"
        while other in parameter_names(value):
            other += "_"
        value = value.intersect_params(isl.Set(f"[{name}, {other}] -> {{ : {relation(name, other, units[name])} }}"))
        value = without_parameter(value, name)
        value = value.set_dim_name(_D.param, parameter_names(value).index(other), name)
    return value


def at_least(bounds: Mapping[str, int]) -> isl.Set:
    """{ : name >= bound ... }"""
    return isl.Set(f"[{', '.join(bounds)}] -> {{ : {' and '.join(f'{n} >= {b}' for n, b in bounds.items()) or 'true'} }}")


def with_parameter(region: isl.Set, name: str) -> isl.Set:
    """{ : ... } with one more parameter, of any value."""
    return region.align_params(isl.Space.params_alloc(CONTEXT, 1).set_dim_name(_D.param, 0, name))


def equalities(region: isl.Set) -> list[tuple[dict[str, int], int]]:
    """(coefficients, constant) of sums of parameters that are 0 all over { : ... }."""
    found = rows(isl.Set.from_basic_set(region.affine_hull().remove_divs()))
    return [(terms, constant) for is_equality, terms, constant in found or () if is_equality]


def fixed_parameters(region: isl.Set) -> dict[str, int]:
    """Parameters with one value."""
    values = {n: region.plain_get_val_if_fixed(_D.param, k) for k, n in enumerate(parameter_names(region))}
    return {name: value.to_python() for name, value in values.items() if value.is_int()}


def parameter_range(region: isl.Set, name: str) -> tuple[int, int]:
    """The least and the greatest value of a parameter of { : ... }, which is not empty and has ends there."""
    values, position = parameters_as_set(region), parameter_names(region).index(name)
    return values.dim_min_val(position).to_python(), values.dim_max_val(position).to_python()


def alternatives(region: isl.Set) -> list[isl.Set]:
    """Conjunctions whose union the set is; they may share points."""
    return [isl.Set.from_basic_set(part) for part in region.coalesce().compute_divs().get_basic_sets()]


def condition_text(region: isl.Set) -> str:
    """What { : constraints } says: its constraints, or nothing where it holds for all parameters."""
    if region.plain_is_universe():
        return ""
    inside = str(region)
    return inside[inside.index(":") + 1 : inside.rindex("}")].strip()


def fixed_dimensions(region: isl.Set) -> int:
    """How many equalities the smallest affine space has that holds the set { : ... }."""
    return sum(constraint.is_equality() for constraint in region.affine_hull().get_constraints())


def first_dimensions(domain: isl.Set, count: int) -> isl.Set:
    """A polyhedron that holds what the first dimensions of the elements of a conjunction are, without divisions."""
    dims = domain.dim(_D.set)
    hull = domain.project_out(_D.set, count, dims - count).remove_divs().simple_hull()
    return isl.Set.from_basic_set(hull)


def box_around(domain: isl.Set) -> isl.Set:
    """{ A[x, y] : x and y each between its least and its greatest value }"""
    found = isl.Set.universe(domain.get_space()).intersect_params(domain.params())
    for dim in range(domain.dim(_D.set)):
        here = dimension(domain, dim).to_pw_aff()
        low, high = (end.insert_domain(domain.get_space()) for end in (domain.dim_min(dim), domain.dim_max(dim)))
        found = found.intersect(here.ge_set(low)).intersect(here.le_set(high))
    return found.coalesce()


def box_of(like: isl.Set, shape: Sequence[int]) -> isl.Set:
    """{ A[x, y] : 0 <= x < 4 and 0 <= y < 5 } for the shape (4, 5), in the space of a set."""
    found = isl.Set.universe(like.get_space())
    for dim, extent in enumerate(shape):
        found = found.lower_bound_val(_D.set, dim, isl.Val(0)).upper_bound_val(_D.set, dim, isl.Val(extent - 1))
    return found


def range_of(region: isl.Set, expression: str) -> tuple[int, int] | None:
    """The least and the greatest value of an expression of the parameters of { : ... }, which is not empty; None where it has no
    ends.
    """
    names = parameter_names(region)
    value = isl.PwAff(f"[{', '.join(names)}] -> {{ [({expression})] }}").intersect_params(region)
    low, high = value.min_val(), value.max_val()
    return (low.to_python(), high.to_python()) if low.is_int() and high.is_int() else None


def forget(region: isl.Set, names: Iterable[str]) -> isl.Set:
    """The set without these of its parameters, for any value of theirs."""
    return on_parameters(region, [name for name in parameter_names(region) if name not in names])


def greatest(region: isl.Set, expression: str) -> tuple[int, dict[str, int]]:
    """The greatest value of an affine expression of the parameters of { : ... }, which is bounded and has some, and where."""
    names = parameter_names(region)
    value = isl.PwAff(f"[{', '.join(names)}] -> {{ [({expression})] }}")
    most = value.intersect_params(region).max_val()
    return most.to_python(), some_parameters(with_condition(region, f"{expression} = {most}"))


def some_parameters(region: isl.Set) -> dict[str, int]:
    """Values of the parameters for which { : ... } holds."""
    point = parameters_as_set(region).sample_point()
    return {name: point.get_coordinate_val(_D.set, k).to_python() for k, name in enumerate(parameter_names(region))}


def middle(region: isl.Set) -> dict[str, int]:
    """Values of the parameters of { : ... }, which is bounded and has some: each about half way, for those before it."""
    found: dict[str, int] = {}
    for name in parameter_names(region):
        low, high = parameter_range(region, name)
        upper = with_condition(region, f"{name} >= {(low + high) // 2}")
        found[name] = parameter_range(upper, name)[0]
        region = region.intersect(with_condition(region, f"{name} = {found[name]}"))
    return found


def within_bounds(domain: isl.Set, values: Sequence[isl.PwAff], bounds: Sequence[str]) -> isl.Set:
    """The { S[i] } for which each of { S[i] -> [(v)] } is bounded as told, such as `[N] -> { [v] : 0 <= v < N }`."""
    for value, bound in zip(values, bounds):
        inside = isl.Set(bound).preimage_pw_multi_aff(isl.PwMultiAff.from_pw_aff(value))
        domain = domain.intersect(inside)
    return domain


def freed(domain: isl.Set, values: Sequence[isl.PwAff]) -> tuple[isl.Set, isl.Set]:
    """(The { S[i] } without what bounds some of { S[i] -> [(v)] }, the tuples { [v, ...] } that occur)"""
    onto_values = relation(domain.get_space(), "v", values)
    inside = domain.apply(onto_values)
    return domain.gist(onto_values.intersect_range(inside).domain()), inside.reset_tuple_id()


def joined(value: isl.Set) -> isl.Set:
    """The set with pieces joined, but not where that gives slanted sides to what had none, as for a cross of two boxes."""
    whole = value.coalesce()
    return value if _slanted(whole) > _slanted(value) else whole


def _slanted(value: isl.Set) -> int:
    """The most constraints on several dimensions that a piece has."""
    dims = range(value.dim(_D.set))

    def of(piece: isl.BasicSet) -> int:
        return sum(sum(row.involves_dims(_D.set, d, 1) for d in dims) > 1 for row in piece.get_constraints())

    return max(map(of, value.get_basic_sets()), default=0)


def multiples(region: isl.Set) -> dict[str, tuple[int, int]]:
    """Of { : ... }: parameters that only take every so many-th value, as (step, remainder)."""
    values, found = parameters_as_set(region), {}
    for dim, name in enumerate(parameter_names(region)):
        info = values.get_stride_info(dim)
        step, start = info.get_stride(), info.get_offset()
        if step.is_int() and step.to_python() > 1 and start.is_cst():
            found[name] = step.to_python(), start.get_constant_val().to_python() % step.to_python()
    return found


def constant_distance(pairs: isl.Map) -> tuple[int, ...] | None:
    """d where every pair is S[i] -> S[i - d], for all sizes; None where there are several or none."""
    deltas = without_sizes(pairs.reverse().deltas())
    if deltas.is_empty() or not deltas.is_singleton():
        return None
    return _coordinates(deltas.sample_point(), deltas.dim(_D.set))


def telling_dimensions(domain: isl.Set) -> list[int]:
    """Dimensions that an element is known by; the others, such as the first index of its tile, follow from them."""
    kept = list(range(domain.dim(_D.set)))
    for dim in range(domain.dim(_D.set)):
        position = kept.index(dim)
        forgets = domain.identity().project_out(_D.out, position, 1)
        if forgets.is_injective():
            kept.remove(dim)
            domain = domain.project_out(_D.set, position, 1)
    return kept
