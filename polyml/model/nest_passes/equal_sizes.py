"""Sizes that are equal in every compiled call become one parameter.

        require X.shape[0] == S.shape[0]; for i < S.shape[0]: X[i]      ->      the same, with X.shape[0] only in the test

The requirement is tested at entry like a bound, so everything behind it may rely on it: arrays of one shape have one domain, and
isl has fewer parameters. (Global value numbering, for sizes alone: Alpern, Wegman and Zadeck, "Detecting equality of variables in
programs", POPL 1988.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from polyml.model.core.nest import Nest, Requirement, substituted_in
from polyml.quasi_affine import affine as af
from polyml.quasi_affine.affine import Affine


def unified(nest: Nest) -> Nest:
    """Returns the nest with each size that a requirement says to equal an expression replaced by that expression.

    The requirements stay in the nest, since each call has to be tested for them.
    """
    names: dict[str, Affine] = {}
    order = {p.name: position for position, p in enumerate(nest.parameters) if p.is_size}
    for requirement in nest.requirements:
        found = _solved(requirement, names, order)
        if found is not None:
            name, value = found
            names = {n: v.substitute({name: value}) for n, v in names.items()} | {name: value}
    if not names:
        return nest
    arrays = {
        name: replace(info, shape=tuple(extent.substitute(names) for extent in info.shape)) for name, info in nest.arrays.items()
    }
    return replace(nest, body=tuple(substituted_in(n, names) for n in nest.body), arrays=arrays)


def _solved(requirement: Requirement, names: Mapping[str, Affine], order: Mapping[str, int]) -> tuple[str, Affine] | None:
    """Returns (size, expression that it equals) from a requirement that is an equality, solved for the last of its sizes.

    The result is None where it is no equality, stands in a loop or condition, or no size has the coefficient 1 or -1.

    names: size -> the expression by which it is replaced in the requirement before that is solved
    order: the position of each size among the parameters
    """
    condition = requirement.condition
    if requirement.around or not isinstance(condition, af.Compare) or condition.op != "==":
        return None
    difference = condition.expr.substitute(names)
    sizes = [(order[a], a, c) for a, c in difference.terms if isinstance(a, str) and a in order and abs(c) == 1]
    if not sizes:
        return None
    _, name, coefficient = max(sizes)
    value = (af.variable(name) * coefficient - difference) * coefficient
    return None if name in value.names else (name, value)
