"""Lowering of a nest to a SCoP: domains, accesses, checks and the source order."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import islpy as isl

from polyml import polyhedra
from polyml.dtypes import I64, PYINT
from polyml.errors import NotAffineError
from polyml.frontend import syntax, traversal
from polyml.model.core.call_interface import Parameter
from polyml.model.core.evaluation import operations
from polyml.model.core.iteration_context import IterationContext, ParameterContext, outermost
from polyml.model.core.nest import (
    ArrayInfo,
    Assign,
    Guard,
    Integer,
    Nest,
    Node,
    Read,
    Truth,
    Value,
    map_leaves,
    relations_required,
    subvalues,
)
from polyml.model.core.scop import Access, Array, Check, Gather, Index, Load, Region, RegionAccess, Scop, Statement
from polyml.model.core.source_order import SourceBlock, SourceLoop, SourcePart, schedule_tree
from polyml.model.index_arrays.origins import Traced, between
from polyml.model.lowering.bounds_checks import checks, limit_checks, size_pw_aff
from polyml.model.lowering.parameters import facts, integer_arguments
from polyml.model.lowering.regions.region_elements import with_known_elements
from polyml.model.lowering.size_limits import limits, names_in_extents
from polyml.model.nest_passes.split_selects import explicit, split
from polyml.quasi_affine import affine as af
from polyml.quasi_affine.affine import Affine
from polyml.quasi_affine.to_isl import to_set
from polyml.source import Loc
from polyml.values import cached_property

_LEGAL_CASES_LIMIT = 4


def to_scop(nest: Nest, written: Nest, kernel: syntax.Kernel, top: IterationContext) -> Scop:
    """Returns the polyhedral model of a nest: its domains, accesses, checks and the order of the source.

    written: the nest before passes changed it, whose accesses are checked at entry
    kernel: the typed kernel that it was made of
    top: the context around all loops, with the parameters of `parameter_context(nest, written)`

    Raises NotAffineError, with the culprit's location, for a bound, subscript or allocation that is not affine.
    """
    context = top.parameters
    structural = context.sizes.union(context.names, names_in_extents(written))
    least = limits((written, nest), (p.name for p in written.parameters if not p.extreme), structural)
    found = checks(written, top)
    if nest.has_regions:  # Python decides: what runs before may be written, and may end the call
        found = tuple(replace(check, may=True) for check in found)
    builder = _StatementBuilder(nest, context, found)
    order = builder.block(nest.body, outermost(replace(context, numbered=True)))
    mentioned = set(context.names).union(*(polyhedra.used_parameters(c.violated) for c in found))
    spared = [name for name, array in written.arrays.items() if array.loc and array.shape and name not in nest.arrays]
    for array in (*nest.arrays.values(), *(written.arrays[name] for name in spared)):
        mentioned = mentioned.union(*(extent.names for extent in array.shape))
    parameters = tuple(p for p in written.parameters if p.name in mentioned)
    found = limit_checks(integer_arguments(parameters, kernel), least) + found
    return Scop(
        name=kernel.name,
        params=tuple(p.name for p in kernel.params),
        types=kernel.types,
        parameters=parameters,
        arrays={name: builder.array(name, array) for name, array in nest.arrays.items()},
        spared=tuple(builder.array(name, written.arrays[name]) for name in spared),
        statements=builder.statements,
        context=facts(parameters, context.sizes, kernel),
        schedule=schedule_tree(order, builder.statements, context.facts),
        checks=found,
        results=nest.results,
        result_is_tuple=nest.result_is_tuple,
        result_form=nest.result_form,
        limits=least,
        usual=_usual(nest, parameters),
        related=nest.related,
        facts=nest.facts,
    )


def _usual(nest: Nest, parameters: tuple[Parameter, ...]) -> isl.Set | None:
    """Returns the parameter set in which the relations hold that a nest takes for granted; None where there are none."""
    if not nest.related:
        return None
    frame = polyhedra.Frame(tuple(p.name for p in parameters), ())
    return to_set(af.conjunction(*(r.condition for r in relations_required(nest))), frame).params()


@dataclass(frozen=True)
class _Reference:
    """A _Reference is an element of an array as a nest names it; its fields are those of nest.Read."""

    array: str
    subscripts: tuple[Affine, ...]
    inside: bool


class _StatementBuilder:
    """A _StatementBuilder makes statements of a nest's assignments, and numbers them in source order."""

    def __init__(self, nest: Nest, parameters: ParameterContext, found: tuple[Check, ...]) -> None:
        self.nest = nest
        self.parameters = parameters
        self.checks = found
        self.statements: dict[str, Statement] = {}
        self._accesses: dict[tuple[int, _Reference], tuple[isl.Map, tuple[isl.PwAff, ...]]] = {}

    def array(self, name: str, info: ArrayInfo) -> Array:
        """Returns an array of the nest as an array of the SCoP."""
        shape = tuple(size_pw_aff(extent) for extent in info.shape)
        return Array(
            name=name, element=info.element, shape=shape, role=info.role, source_name=info.source_name,
            pairs=info.pairs, address=info.address, is_list=info.is_list, loc=info.loc,
        )  # fmt: skip

    def block(self, body: tuple[Node, ...], context: IterationContext) -> SourceBlock:
        """Returns the source order of a block's statements and loops, and adds the statements to `statements`.

        Guards become part of the statements' domains.

        context: the loops and guards around the block
        """
        parts: list[SourcePart] = []
        for node in body:
            if isinstance(node, Assign):
                parts.extend(self.assign(node, context))
            elif isinstance(node, Guard):
                parts.extend(self.block(node.body, context.within(node.condition)).parts)
            else:
                inner = self.block(node.body, context.loop(node))
                if inner.parts:
                    parts.append(SourceLoop(inner, len(context.iterators), -1 if node.step < 0 else 1))
        return SourceBlock(tuple(parts))

    def assign(self, assign: Assign, context: IterationContext) -> list[str]:
        """Returns the names of the statements that one assignment becomes, and adds the statements to `statements`.

        context: the loops and guards around the assignment
        """
        names = []
        for formula, value in split(assign.value):
            here = context if formula == af.TRUE else context.within(formula)
            if here.is_empty or _is_self_copy(assign, value):
                continue
            name = f"S{len(self.statements)}"
            self.statements[name] = self.statement(name, assign, value, here)
            names.append(name)
        return names

    def statement(self, name: str, assign: Assign, value: Value, context: IterationContext) -> Statement:
        """Returns the statement of an assignment, with a read for each distinct element of its value.

        value: takes the place of the assignment's own value
        context: the loops and guards around it
        """
        if isinstance(value, Region):
            return self.region(name, value, context, assign.loc)
        value = map_leaves(value, _explicit_truth)
        accesses: list[Access] = []
        positions: dict[tuple[str, tuple[Affine, ...]], int] = {}
        for part, may in operations(value):
            if not isinstance(part, Read):
                continue
            key = (part.array, part.subscripts)
            if key not in positions:
                positions[key] = len(accesses)
                reference = _Reference(part.array, part.subscripts, part.inside)
                accesses.append(self.access(name, reference, context, may=may, loc=part.loc))
            elif accesses[positions[key]].may and not may:
                accesses[positions[key]] = replace(accesses[positions[key]], may=False)

        if any(isinstance(v, Gather) for v in subvalues(value)):
            _check_indices(value, context)

        def leaf(v: Value) -> Value:
            if isinstance(v, Read):
                return Load(positions[v.array, v.subscripts], dtype=v.dtype)
            return _index(v, name, context) if isinstance(v, Integer) else v

        written = _Reference(assign.array, assign.subscripts, assign.inside)
        return Statement(
            name=name,
            iterators=context.iterators,
            domain=context.domain.set_tuple_name(name),
            writes=(self.access(name, written, context, may=assign.may, loc=assign.target_loc or assign.loc),),
            reads=tuple(accesses),
            value=map_leaves(value, leaf),
            loc=assign.loc,
            loops=context.places,
        )

    def region(self, name: str, region: Region, context: IterationContext, loc: Loc | None) -> Statement:
        """Returns the statement of a region, with a read and a write of all that it may access.

        context: the loops and guards around it
        """
        region = with_known_elements(region, self.nest, context)
        found: dict[bool, list[Access]] = {False: [], True: []}
        for access in region.accesses:
            known = tuple(e if e is not None and context.is_never_negative(e) else None for e in access.subscripts)
            relation = polyhedra.relation(
                context.frame.space, access.array, [context.pw_aff(Affine(0) if e is None else e) for e in known]
            )
            if None in known:
                anywhere = [dim for dim, e in enumerate(known) if e is None]
                relation = polyhedra.with_any_index(relation, anywhere).intersect_range(self._elements(access.array, anywhere))
                relation = self._within_spans(relation, access, context)
            relation = polyhedra.rename_domain(relation, name)
            traced = tuple(self._traced(name, access, context))
            found[access.writes].append(
                Access(array=access.array, relation=relation, subscripts=(), may=True, loc=access.loc, traced=traced)
            )
        return Statement(
            name=name, iterators=context.iterators, domain=context.domain.set_tuple_name(name), writes=tuple(found[True]),
            reads=tuple(found[False]), value=_numbered(region, context.values), loc=loc, loops=context.places,
        )  # fmt: skip

    def _within_spans(self, relation: isl.Map, access: RegionAccess, context: IterationContext) -> isl.Map:
        """Returns a relation { [i] -> A[j] } with those indices alone that an access may have where loops of its region decide them."""
        for dim, span in enumerate(access.spans):
            if span is not None and access.subscripts[dim] is None and context.is_never_negative(span[0]):
                inside = between(*map(context.pw_aff, span))
                relation = polyhedra.with_index_in(relation, dim, inside)
        return relation

    def _traced(self, statement: str, access: RegionAccess, context: IterationContext) -> Iterator[Traced]:
        """Yields where the indices of an access come from, as far as that are places in index arrays that no negative number names."""
        for dim, origin in enumerate(access.origins):
            if origin is None or not all(context.is_never_negative(low) for low, _ in origin.places):
                continue
            places = [between(context.pw_aff(low), context.pw_aff(high)) for low, high in origin.places]
            every = functools.reduce(isl.Map.flat_range_product, places)
            yield Traced(dim, origin.steps, polyhedra.rename_domain(every, statement))

    def _elements(self, array: str, dims: Sequence[int]) -> isl.Set:
        """Returns { array[d0, d1] : 0 <= d1 < M }, for some dimensions of an array."""
        shape = self.nest.arrays[array].shape
        names = tuple(f"d{dim}" for dim in range(len(shape)))
        ends = [(af.non_negative(af.variable(names[d])), af.compare("<", af.variable(names[d]), shape[d])) for d in dims]
        inside = af.conjunction(*(condition for both in ends for condition in both))
        parameters = tuple(sorted(set(self.parameters.names).union(*(shape[d].names for d in dims))))
        return to_set(inside, polyhedra.Frame(parameters, names)).set_tuple_name(array)

    def access(self, statement: str, reference: _Reference, context: IterationContext, *, may: bool, loc: Loc | None) -> Access:
        """Returns the access of a statement to an element; to a subscript that is negative the array's size is added, as in Python.

        may: whether the access stands under a data-dependent condition
        """
        key = (id(context), reference)
        if key not in self._accesses:
            self._accesses[key] = self._relation(reference, context)
        relation, wrapped = self._accesses[key]
        return Access(
            array=reference.array,
            relation=polyhedra.rename_domain(relation, statement),
            subscripts=tuple(polyhedra.rename_domain(s, statement) for s in wrapped),
            may=may,
            loc=loc,
        )

    def _relation(self, reference: _Reference, context: IterationContext) -> tuple[isl.Map, tuple[isl.PwAff, ...]]:
        """Returns the relation { [i] -> A[e] } of a reference, and { [i] -> [(e)] } for each of its subscripts."""
        if reference.inside:
            wrapped = tuple(map(context.pw_aff, reference.subscripts))
        else:
            shape = self.nest.arrays[reference.array].shape
            wrapped = tuple(self.wrap(subscript, size, context) for subscript, size in zip(reference.subscripts, shape))
        return polyhedra.relation(context.frame.space, reference.array, wrapped), wrapped

    def wrap(self, subscript: Affine, size: Affine, context: IterationContext) -> isl.PwAff:
        """Returns { [i] -> [(subscript)] } where it is not negative, and subscript + size where it is, as Python counts.

        Only cases that can happen in a call that passed its checks are kept.
        """
        if context.is_never_negative(subscript):
            return context.pw_aff(subscript)
        simple = wrap(subscript, size, context, context.assumed)
        if simple.n_piece() == 1:
            return simple
        return wrap(subscript, size, context, context.assumed.intersect_params(self.legal))

    @cached_property
    def legal(self) -> isl.Set:
        """Returns the sizes { : N > 0 } that pass the checks; a check that would give this set too many pieces is left out."""
        result = self.parameters.facts
        for check in self.checks:
            if check.violated.n_basic_set() > 1:
                continue
            smaller = result.subtract(check.violated).coalesce()
            if smaller.n_basic_set() <= _LEGAL_CASES_LIMIT:
                result = smaller
        return result


def wrap(subscript: Affine, size: Affine, context: IterationContext, possible: isl.Set) -> isl.PwAff:
    """Returns { [i] -> [(subscript)] } where it is not negative, and subscript + size where it is, as Python counts.

    possible: the iterations and sizes for which the result is needed; cases that do not occur among them are left out
    """
    plain = context.pw_aff(subscript)
    negative = context.set(af.non_negative(-subscript - 1))
    inside = possible.intersect(context.set(af.non_negative(subscript + size)))
    if inside.intersect(negative).is_empty():
        return plain
    from_end = context.pw_aff(subscript + size)
    if inside.intersect(context.set(af.non_negative(subscript))).is_empty():
        return from_end
    return from_end.intersect_domain(negative).union_add(plain.intersect_domain(negative.complement()))


def _mapped(region: Region, changed: Callable[[syntax.Expr], syntax.Expr]) -> Region:
    """Returns a region with `changed` applied to each expression of its statements."""

    def block(body: tuple[syntax.Stmt, ...]) -> tuple[syntax.Stmt, ...]:
        return tuple(traversal.with_bodies(traversal.map_reads(stmt, changed), block) for stmt in body)

    return replace(region, body=block(region.body))


def _numbered(region: Region, values: Mapping[str, Affine]) -> Region:
    """Returns a region over the numbers of iterations in the place of the variables of some loops around it.

    values: these variables as functions of the numbers
    """
    if not values:
        return region

    def changed(expr: syntax.Expr) -> syntax.Expr:
        if isinstance(expr, Integer):
            return replace(expr, affine=expr.affine.substitute(values))
        return traversal.with_operands(expr, tuple(map(changed, traversal.operands(expr))))

    return _mapped(region, changed)


def _explicit_truth(value: Value) -> Value:
    return explicit(value.formula, value.dtype) if isinstance(value, Truth) else value


def _index(value: Integer, statement: str, context: IterationContext) -> Value:
    """Returns an affine integer of a nest as a constant or as an Index of the statement."""
    if value.affine.is_constant:
        return syntax.Const(value.affine.constant, dtype=value.dtype)
    dtype = I64 if value.dtype == I64 else PYINT
    index = Index(polyhedra.rename_domain(context.pw_aff(value.affine), statement), dtype=dtype)
    return index if value.dtype in (I64, PYINT) else syntax.Cast(index, value.dtype, dtype=value.dtype)


def _check_indices(value: Value, context: IterationContext) -> None:
    """Raises NotAffineError where an affine index of a gather may be negative."""
    for part in subvalues(value):
        for index in part.indices if isinstance(part, Gather) and not part.inside else ():
            if isinstance(index, Integer) and not context.is_never_negative(index.affine):
                raise NotAffineError(
                    "a subscript beside an index array that may be negative",
                    loc=part.loc,
                    notes=["polyml compiles: subscripts that are not"],
                    code="PML-F030",
                )


def _is_self_copy(assign: Assign, value: Value) -> bool:
    """Returns whether the assignment of `value` stores an element to itself."""
    return isinstance(value, Read) and value.array == assign.array and value.subscripts == assign.subscripts
