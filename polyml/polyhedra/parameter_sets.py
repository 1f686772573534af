"""Parameter sets { : ... }: what is known of the parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import islpy as isl

from polyml.polyhedra.bounds import range_of_dimension
from polyml.polyhedra.spaces import parameter_names

_D = isl.dim_type


def rows(value: isl.Set) -> list[tuple[bool, dict[str, int], int]] | None:
    """Returns (is equality, coefficients, constant) of each constraint of a parameter set.

    The sum of coefficient * parameter, plus the constant, is 0 where it is an equality, else at least 0. The result is None where
    the set is a union of several conjunctions or has existential variables.
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


def equalities(region: isl.Set) -> list[tuple[dict[str, int], int]]:
    """Returns the equalities that hold in all of { : ... }, each as (coefficients by parameter, constant) of a sum that is 0."""
    found = rows(isl.Set.from_basic_set(region.affine_hull().remove_divs()))
    return [(terms, constant) for is_equality, terms, constant in found or () if is_equality]


def fixed_parameters(region: isl.Set) -> dict[str, int]:
    """Returns the parameters of a set that can only have one value, with that value."""
    values = {n: region.plain_get_val_if_fixed(_D.param, k) for k, n in enumerate(parameter_names(region))}
    return {name: value.to_python() for name, value in values.items() if value.is_int()}


def fixed_dimensions(region: isl.Set) -> int:
    """Returns the number of independent equalities that hold in all of a parameter set { : ... }: 1 for { : N = M + 1 }."""
    return sum(constraint.is_equality() for constraint in region.affine_hull().get_constraints())


def first_if_fixed(region: isl.Set) -> int | None:
    """Returns the first coordinate of the points of { [t, ...] } where it is the same number for all of them, else None."""
    value = region.plain_get_val_if_fixed(_D.set, 0) if region.dim(_D.set) else isl.Val.nan(region.get_ctx())
    return value.to_python() if value.is_int() else None


def multiples(region: isl.Set) -> dict[str, tuple[int, int]]:
    """Returns (step, remainder) by name for parameters of { : ... } whose values are all step * n + remainder with step > 1."""
    values, found = parameters_as_set(region), {}
    for dim, name in enumerate(parameter_names(region)):
        info = values.get_stride_info(dim)
        step, start = info.get_stride(), info.get_offset()
        if step.is_int() and step.to_python() > 1 and start.is_cst():
            found[name] = step.to_python(), start.get_constant_val().to_python() % step.to_python()
    return found


def parameters_as_set(region: isl.Set, names: Sequence[str] | None = None) -> isl.Set:
    """Returns { : ... } as { [names] : ... }, with parameters turned into dimensions.

    names: these parameters, in this order; None for all
    """
    found = isl.Set.from_params(region)
    if names is None:
        return found.move_dims(_D.set, 0, _D.param, 0, found.dim(_D.param))
    for name in names:
        there = parameter_names(found)
        if name in there:
            found = found.move_dims(_D.set, found.dim(_D.set), _D.param, there.index(name), 1)
    return found


def with_parameters_in_front(values: isl.Set, names: Sequence[str]) -> isl.Set:
    """Returns [n] -> { A[x] } as { [n, x] }, with the parameters `names`, which it must have, as its first dimensions."""
    found = values.flatten()
    for dim, name in enumerate(names):
        found = found.move_dims(_D.set, dim, _D.param, parameter_names(found).index(name), 1)
    return found


def as_parameters(times: isl.Set, names: Sequence[str]) -> isl.Set:
    """Returns { [x, y] : ... } as a parameter set { : ... }, with its dimensions turned into parameters called `names`."""
    return range_by_domain(isl.Map.from_domain(times), names).params()


def range_by_domain(values: isl.Map, names: Sequence[str]) -> isl.Set:
    """Returns { [x, y] -> A[z] } as [names] -> { A[z] }, with the domain's dimensions turned into parameters called `names`."""
    dims, count = values.dim(_D.in_), values.dim(_D.param)
    for dim, name in enumerate(names):
        values = values.set_dim_name(_D.in_, dim, name)
    return values.move_dims(_D.param, count, _D.in_, 0, dims).range()


def parameter_constraints(values: isl.Set, names: Sequence[str]) -> isl.Set:
    """Returns a parameter set { : ... } with at least the points of { T[values] }: one polyhedron, which may have more points.

    names: the parameters that take the place of the dimensions
    """
    there = isl.Set(f"[{', '.join(names)}] -> {{ {values.get_tuple_name()}[{', '.join(names)}] }}")
    return isl.Set.from_basic_set(values.intersect(there).params().simple_hull())


def parameters_at_least(bounds: Mapping[str, int]) -> isl.Set:
    """Returns the parameter set { : name >= bound and ... }."""
    return isl.Set(f"[{', '.join(bounds)}] -> {{ : {' and '.join(f'{n} >= {b}' for n, b in bounds.items()) or 'true'} }}")


def with_condition(region: isl.Set, condition: str) -> isl.Set:
    """Returns the part of { : ... } in which a condition on the parameters holds.

    condition: in isl's syntax, such as "N >= 4 and N mod 2 = 0"
    """
    return region.intersect(isl.Set(f"[{', '.join(parameter_names(region))}] -> {{ : {condition} }}"))


def condition_text(region: isl.Set) -> str:
    """Returns the constraints of a parameter set { : constraints } in isl's syntax; "" where every parameter value is in it."""
    if region.plain_is_universe():
        return ""
    inside = str(region)
    return inside[inside.index(":") + 1 : inside.rindex("}")].strip()


def parameter_range(region: isl.Set, name: str) -> tuple[int, int]:
    """Returns the (minimum, maximum) of a parameter of { : ... }, a nonempty set in which the parameter is bounded."""
    return range_of_dimension(parameters_as_set(region), parameter_names(region).index(name))


def range_of(region: isl.Set, expression: str) -> tuple[int, int] | None:
    """Returns the (minimum, maximum) of an expression in parameters over a nonempty { : ... }; None where it is unbounded.

    expression: in isl's syntax
    """
    names = parameter_names(region)
    value = isl.PwAff(f"[{', '.join(names)}] -> {{ [({expression})] }}").intersect_params(region)
    low, high = value.min_val(), value.max_val()
    return (low.to_python(), high.to_python()) if low.is_int() and high.is_int() else None


def argmax(region: isl.Set, expression: str) -> tuple[int, dict[str, int]]:
    """Returns the maximum of an affine expression over { : ... }, and values of the parameters that attain it.

    region: bounded and not empty
    expression: in isl's syntax
    """
    names = parameter_names(region)
    value = isl.PwAff(f"[{', '.join(names)}] -> {{ [({expression})] }}")
    most = value.intersect_params(region).max_val()
    return most.to_python(), some_parameters(with_condition(region, f"{expression} = {most}"))


def some_parameters(region: isl.Set) -> dict[str, int]:
    """Returns values of the parameters, by name, that are in the parameter set { : ... }."""
    point = parameters_as_set(region).sample_point()
    return {name: point.get_coordinate_val(_D.set, k).to_python() for k, name in enumerate(parameter_names(region))}


def central_point(region: isl.Set) -> dict[str, int]:
    """Returns values of the parameters, by name, that are in the bounded and nonempty set { : ... }.

    Each value is about half way between its minimum and its maximum, given the values of the parameters before it.
    """
    found: dict[str, int] = {}
    for name in parameter_names(region):
        low, high = parameter_range(region, name)
        upper = with_condition(region, f"{name} >= {(low + high) // 2}")
        found[name] = parameter_range(upper, name)[0]
        region = region.intersect(with_condition(region, f"{name} = {found[name]}"))
    return found
