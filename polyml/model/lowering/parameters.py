"""The numbers of a call that the sets and relations of a kernel depend on, and what is always true of them."""

from __future__ import annotations

from dataclasses import replace

import islpy as isl

from polyml import polyhedra
from polyml.frontend import syntax
from polyml.model.core.call_interface import Parameter
from polyml.model.core.iteration_context import ParameterContext
from polyml.model.core.nest import (
    Assign,
    Guard,
    Integer,
    Loop,
    Nest,
    Node,
    Read,
    Truth,
    Value,
    assigns,
    map_leaves,
    region_names,
    relations_required,
    subvalues,
)
from polyml.model.core.scop import ScalarArg
from polyml.model.lowering.if_conversion import flag
from polyml.quasi_affine import affine as af
from polyml.quasi_affine.affine import Affine
from polyml.quasi_affine.to_isl import to_set


def without_value_arguments(nest: Nest, written: Nest) -> Nest:
    """Returns the nest in which number arguments that no domain or access depends on are values (ScalarArg), not parameters.

            parameter k; for i: A[i] = A[i]*k        ->        for i: A[i] = A[i]*k, where k is a value like alpha

    written: the nest before passes changed it; what its loops and accesses depend on stays a parameter as well
    """
    structural = _structural_names(nest) | _structural_names(written)
    plain = {p.name: p.argument for p in nest.parameters if p.is_number and p.name not in structural}
    if not plain:
        return nest

    def leaf(v: Value) -> Value:
        if isinstance(v, (Integer, Truth)):
            names = v.affine.names if isinstance(v, Integer) else v.formula.names
            if len(names) == 1 and (name := next(iter(names))) in plain:
                return ScalarArg(plain[name], dtype=v.dtype)
        return v

    def visit(node: Node) -> Node:
        if isinstance(node, Assign):
            return replace(node, value=map_leaves(node.value, leaf))
        return replace(node, body=tuple(map(visit, node.body)))

    kept = tuple(p for p in nest.parameters if p.name not in plain)
    return replace(nest, body=tuple(map(visit, nest.body)), parameters=kept)


def parameter_context(nest: Nest, written: Nest) -> ParameterContext:
    """Returns the parameters on which domains, accesses and affine values depend, and says which of them are sizes.

    written: the nest before passes changed it, whose loops and accesses count, too
    """
    structural = _structural_names(nest) | _structural_names(written)
    for assign in assigns(nest.body):
        for part in subvalues(assign.value):
            if isinstance(part, Integer):
                structural |= part.affine.names
    known = {p.name: p for p in nest.parameters}
    sizes = frozenset(p.name for p in nest.parameters if p.is_size)
    return ParameterContext(tuple(name for name in known if name in structural), sizes)


def integer_arguments(parameters: tuple[Parameter, ...], kernel: syntax.Kernel) -> tuple[str, ...]:
    """Returns the names of the parameters that are integer arguments of the call."""
    return tuple(p.name for p in parameters if p.is_number and not _is_truth_argument(p, kernel))


def facts(parameters: tuple[Parameter, ...], sizes: frozenset[str], kernel: syntax.Kernel) -> isl.Set:
    """Returns the parameter set { : ... } in which sizes are not negative and truth values are 0 or 1.

    sizes: the names of the parameters that are sizes
    """
    names = tuple(p.name for p in parameters)
    result = ParameterContext(names, sizes).facts
    frame = polyhedra.Frame(names, ())
    for p in parameters:
        if _is_truth_argument(p, kernel):
            value = af.variable(p.name)
            between = af.conjunction(af.non_negative(value), af.compare("<=", value, Affine(1)))
            result = result.intersect(to_set(between, frame).params())
    return result


def _structural_names(nest: Nest) -> frozenset[str]:
    """Returns the names of the parameters and iterators in the bounds, conditions, subscripts and requirements of a nest."""
    found: set[str] = set()
    _collect_structure(nest.body, found, nest.truths)
    for requirement in (*nest.requirements, *relations_required(nest)):
        _collect_structure(requirement.around, found, nest.truths)
        found |= requirement.condition.names
    return frozenset(found)


def _collect_structure(body: tuple[Node, ...], found: set[str], truths: frozenset[str]) -> None:
    """Adds the names in bounds, conditions and subscripts of a body to `found`. truths: the parameters that are truth values."""
    for node in body:
        if isinstance(node, Loop):
            found |= node.start.names | node.stop.names
            _collect_structure(node.body, found, truths)
        elif isinstance(node, Guard):
            found |= node.condition.names
            _collect_structure(node.body, found, truths)
        elif node.region:
            found |= region_names(node.region)
        else:
            for subscript in node.subscripts:
                found |= subscript.names
            _collect_value(node.value, found, truths)


def _collect_value(value: Value, found: set[str], truths: frozenset[str]) -> None:
    """Adds to `found` the names in subscripts, affine integers and affine conditions of a value.

    A variable that is an operand by itself is left out, and so is a truth argument by itself, unless a select, `and` or `or` tests
    it.
    """
    tests: set[int] = set()
    for part in subvalues(value):
        if isinstance(part, syntax.IfExp):
            tests.add(id(part.condition))
        elif isinstance(part, syntax.Logical):
            tests.update(map(id, part.operands))
        elif isinstance(part, Read):
            for subscript in part.subscripts:
                found |= subscript.names
        elif isinstance(part, Integer) and not _is_variable(part.affine):
            found |= part.affine.names
        elif isinstance(part, Truth) and (id(part) in tests or not _is_flag(part, truths)):
            found |= part.formula.names


def _is_variable(value: Affine) -> bool:
    if value.constant or len(value.terms) != 1:
        return False
    atom, coefficient = value.terms[0]
    return coefficient == 1 and isinstance(atom, str)


def _is_flag(value: Truth, truths: frozenset[str]) -> bool:
    """Returns whether a truth value is a truth argument by itself; of a number argument g, `g > 0` is the same formula."""
    names = value.formula.names
    return len(names) == 1 and names <= truths and value.formula == flag(next(iter(names)))


def _is_truth_argument(parameter: Parameter, kernel: syntax.Kernel) -> bool:
    if not parameter.is_number:
        return False
    given = next(t for p, t in zip(kernel.params, kernel.types) if p.name == parameter.argument)
    return isinstance(given, syntax.ScalarType) and given.dtype.kind == "b"
