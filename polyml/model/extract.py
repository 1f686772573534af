"""Typed syntax -> Scop: domains, accesses, checks and the source order."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import islpy as isl

from polyml import polyhedra
from polyml.dtypes import I64, PYINT
from polyml.frontend import syntax
from polyml.model import affine as af
from polyml.model.affine import Affine
from polyml.model.checks import argument_checks, checks, size_pw_aff
from polyml.model.context import Context, Setting, outermost
from polyml.model.forward import forward
from polyml.model.interface import Parameter
from polyml.model.nest import Assign, Guard, Integer, Loop, Nest, Node, Read, Truth, Value, assigns, map_leaves, subvalues
from polyml.model.order import Order, Sequence, band, schedule_tree
from polyml.model.place import place
from polyml.model.resolve import flag, resolve
from polyml.model.scop import Access, Array, Check, Index, Load, ScalarArg, Scop, Statement
from polyml.model.select import explicit, split
from polyml.model.values import operations


_LEGAL_CASES_LIMIT = 8


def extract(kernel: syntax.Kernel, *, aliased: bool = False) -> Scop:
    """The polyhedral model of a typed kernel.

    aliased: arguments may share memory; values are then read exactly where the source reads them. Only the source
    order is right for such a Scop, since its dependences do not tell which elements are the same.
    Raises NotAffineError, with the culprit's location, for a bound, subscript or allocation that is not affine.
    """
    written = resolve(kernel)
    nest = _without_value_arguments(forward(written, aliased=aliased), written)
    setting = _setting(nest, written)
    top = outermost(setting)
    if not aliased:
        nest = place(nest, top)
    found = checks(written, top)
    builder = _Builder(nest, setting, found)
    order = builder.block(nest.body, top)
    mentioned = set(setting.parameters).union(*(polyhedra.used_parameters(c.violated) for c in found))
    for array in nest.arrays.values():
        mentioned = mentioned.union(*(af.names(extent) for extent in array.shape))
    parameters = tuple(p for p in written.parameters if p.name in mentioned)
    found = argument_checks(_integer_arguments(parameters, kernel), setting.parameters) + found
    return Scop(
        name=kernel.name,
        params=tuple(p.name for p in kernel.params),
        types=kernel.types,
        parameters=parameters,
        arrays={name: builder.array(name) for name in nest.arrays},
        statements=builder.statements,
        context=_facts(parameters, setting, kernel),
        schedule=schedule_tree(order, builder.statements, setting.facts),
        checks=found,
        results=nest.results,
        result_is_tuple=nest.result_is_tuple,
    )


class _Builder:
    """Turns assignments into statements, numbered in source order."""

    def __init__(self, nest: Nest, setting: Setting, found: tuple[Check, ...]):
        self.nest = nest
        self.setting = setting
        self.checks = found
        self.statements: dict[str, Statement] = {}
        self._accesses: dict[tuple, tuple[isl.Map, tuple[isl.PwAff, ...]]] = {}

    def array(self, name: str) -> Array:
        info = self.nest.arrays[name]
        shape = tuple(size_pw_aff(extent) for extent in info.shape)
        return Array(
            name=name, element=info.element, shape=shape, role=info.role, source_name=info.source_name, loc=info.loc
        )

    def block(self, body: tuple[Node, ...], context: Context) -> Sequence:
        """The order of a block: its statements and loops, guards dissolved into domains."""
        parts: list[Order] = []
        for node in body:
            if isinstance(node, Assign):
                parts.extend(self.assign(node, context))
            elif isinstance(node, Guard):
                parts.extend(self.block(node.body, context.within(node.condition)).parts)
            else:
                inner = self.block(node.body, context.loop(node))
                if inner.parts:
                    parts.append(band(inner, len(context.iterators), -1 if node.step < 0 else 1))
        return Sequence(tuple(parts))

    def assign(self, assign: Assign, context: Context) -> list[str]:
        """The names of the statements that one assignment becomes."""
        names = []
        for formula, value in split(assign.value):
            here = context if formula == af.TRUE else context.within(formula)
            if here.is_empty or _is_self_copy(assign, value):
                continue
            name = f"S{len(self.statements)}"
            self.statements[name] = self.statement(name, assign, value, here)
            names.append(name)
        return names

    def statement(self, name: str, assign: Assign, value: Value, context: Context) -> Statement:
        value = map_leaves(value, _explicit_truth)
        accesses: list[Access] = []
        places: dict[tuple, int] = {}
        for part, may in operations(value):
            if not isinstance(part, Read):
                continue
            key = (part.array, part.subscripts)
            if key not in places:
                places[key] = len(accesses)
                accesses.append(self.access(name, *key, may, part.loc, context))
            elif accesses[places[key]].may and not may:
                accesses[places[key]] = replace(accesses[places[key]], may=False)

        def leaf(v: Value) -> Value:
            if isinstance(v, Read):
                return Load(places[v.array, v.subscripts], v.dtype)
            return _index(v, name, context) if isinstance(v, Integer) else v

        return Statement(
            name=name,
            iterators=context.iterators,
            domain=context.domain.set_tuple_name(name),
            write=self.access(name, assign.array, assign.subscripts, assign.may, assign.target_loc or assign.loc, context),
            reads=tuple(accesses),
            value=map_leaves(value, leaf),
            loc=assign.loc,
        )

    def access(self, statement: str, array: str, subscripts, may: bool, loc, context: Context) -> Access:
        key = (id(context), array, subscripts)
        if key not in self._accesses:
            self._accesses[key] = self._relation(array, subscripts, context)
        relation, wrapped = self._accesses[key]
        return Access(
            array=array,
            relation=polyhedra.rename_domain(relation, statement),
            subscripts=tuple(polyhedra.rename_domain(s, statement) for s in wrapped),
            may=may,
            loc=loc,
        )

    def _relation(self, array: str, subscripts, context: Context) -> tuple[isl.Map, tuple[isl.PwAff, ...]]:
        shape = self.nest.arrays[array].shape
        wrapped = tuple(self.wrap(subscript, size, context) for subscript, size in zip(subscripts, shape))
        return polyhedra.relation(context.frame.space, array, wrapped), wrapped

    def wrap(self, subscript: Affine, size: Affine, context: Context) -> isl.PwAff:
        """{ [i] -> [(subscript)] } where it is not negative, and subscript + size where it is, as Python counts.

        Only what can happen for a call that passed its checks: a case that the domain excludes is left out.
        """
        if context.is_never_negative(subscript):
            return context.pw_aff(subscript)
        simple = wrap(subscript, size, context, context.assumed)
        if simple.n_piece() == 1:
            return simple
        return wrap(subscript, size, context, context.assumed.intersect_params(self.legal))

    @cached_property
    def legal(self) -> isl.Set:
        """Sizes that pass the checks, or more where that has too many cases: { : N > 0 }."""
        result = self.setting.facts
        for check in self.checks:
            smaller = result.subtract(check.violated).coalesce()
            if smaller.n_basic_set() <= _LEGAL_CASES_LIMIT:
                result = smaller
        return result


def wrap(subscript: Affine, size: Affine, context: Context, possible: isl.Set) -> isl.PwAff:
    """The same for the iterations and sizes that are `possible`."""
    plain = context.pw_aff(subscript)
    negative = context.set(af.non_negative(-subscript - 1))
    inside = possible.intersect(context.set(af.non_negative(subscript + size)))
    if inside.intersect(negative).is_empty():
        return plain
    from_end = context.pw_aff(subscript + size)
    if inside.intersect(context.set(af.non_negative(subscript))).is_empty():
        return from_end
    return from_end.intersect_domain(negative).union_add(plain.intersect_domain(negative.complement()))


def _explicit_truth(value: Value) -> Value:
    return explicit(value.formula, value.dtype) if isinstance(value, Truth) else value


def _index(value: Integer, statement: str, context: Context) -> Value:
    if value.affine.is_constant:
        return syntax.Const(value.affine.constant, dtype=value.dtype)
    dtype = I64 if value.dtype == I64 else PYINT
    return Index(polyhedra.rename_domain(context.pw_aff(value.affine), statement), dtype)


def _is_self_copy(assign: Assign, value: Value) -> bool:
    return isinstance(value, Read) and value.array == assign.array and value.subscripts == assign.subscripts


def _structural_names(nest: Nest) -> frozenset[str]:
    """Names on which domains and accesses depend."""
    found: set[str] = set()
    _collect_structure(nest.body, found)
    return frozenset(found)


def _collect_structure(body: tuple[Node, ...], found: set[str]) -> None:
    for node in body:
        if isinstance(node, Loop):
            found |= af.names(node.start) | af.names(node.stop)
            _collect_structure(node.body, found)
        elif isinstance(node, Guard):
            found |= af.names(node.condition)
            _collect_structure(node.body, found)
        else:
            for subscript in node.subscripts:
                found |= af.names(subscript)
            _collect_value(node.value, found)


def _collect_value(value: Value, found: set[str]) -> None:
    tests: set[int] = set()
    for part in subvalues(value):
        if isinstance(part, syntax.IfExp):
            tests.add(id(part.condition))
        elif isinstance(part, syntax.Logical):
            tests.update(map(id, part.operands))
        elif isinstance(part, Read):
            for subscript in part.subscripts:
                found |= af.names(subscript)
        elif isinstance(part, Integer) and not _is_variable(part.affine):
            found |= af.names(part.affine)
        elif isinstance(part, Truth) and (id(part) in tests or not _is_flag(part)):
            found |= af.names(part.formula)


def _is_variable(value: Affine) -> bool:
    return value.constant == 0 and len(value.terms) == 1 and value.terms[0][1] == 1 and isinstance(value.terms[0][0], str)


def _is_flag(value: Truth) -> bool:
    names = af.names(value.formula)
    return len(names) == 1 and value.formula == flag(next(iter(names)))


def _without_value_arguments(nest: Nest, written: Nest) -> Nest:
    """Number arguments that no domain or access depends on stay numbers: Integer and Truth leaves become ScalarArg."""
    structural = _structural_names(nest) | _structural_names(written)
    plain = {p.name: p.argument for p in nest.parameters if p.array is None and p.name not in structural}
    if not plain:
        return nest

    def leaf(v: Value) -> Value:
        if isinstance(v, (Integer, Truth)):
            names = af.names(v.affine if isinstance(v, Integer) else v.formula)
            if len(names) == 1 and (name := next(iter(names))) in plain:
                return ScalarArg(plain[name], v.dtype)
        return v

    def visit(node: Node) -> Node:
        if isinstance(node, Assign):
            return replace(node, value=map_leaves(node.value, leaf))
        return replace(node, body=tuple(map(visit, node.body)))

    kept = tuple(p for p in nest.parameters if p.name not in plain)
    return replace(nest, body=tuple(map(visit, nest.body)), parameters=kept)


def _setting(nest: Nest, written: Nest) -> Setting:
    structural = _structural_names(nest) | _structural_names(written)
    for assign in assigns(nest.body):
        for part in subvalues(assign.value):
            if isinstance(part, Integer):
                structural |= af.names(part.affine)
    known = {p.name: p for p in nest.parameters}
    sizes = frozenset(p.name for p in nest.parameters if p.array is not None)
    return Setting(tuple(name for name in known if name in structural), sizes)


def _is_truth_argument(parameter: Parameter, kernel: syntax.Kernel) -> bool:
    types = {p.name: t for p, t in zip(kernel.params, kernel.types)}
    return parameter.array is None and types[parameter.argument].dtype.kind == "b"


def _integer_arguments(parameters: tuple[Parameter, ...], kernel: syntax.Kernel) -> tuple[str, ...]:
    return tuple(p.name for p in parameters if p.array is None and not _is_truth_argument(p, kernel))


def _facts(parameters: tuple[Parameter, ...], setting: Setting, kernel: syntax.Kernel) -> isl.Set:
    """Sizes are not negative and truth values are 0 or 1."""
    names = tuple(p.name for p in parameters)
    result = Setting(names, setting.sizes).facts
    frame = polyhedra.Frame(names, ())
    for p in parameters:
        if _is_truth_argument(p, kernel):
            value = af.variable(p.name)
            between = af.conjunction(af.non_negative(value), af.compare("<=", value, Affine(1)))
            result = result.intersect(af.to_set(between, frame).params())
    return result
