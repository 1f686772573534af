"""Constraints as rows of numbers, in which rounded quotients are names that say what they round."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import islpy as isl

from polyml.polyhedra.isl_context import CONTEXT
from polyml.polyhedra.spaces import parameter_names
from polyml.polyhedra.unions import alternatives

_D = isl.dim_type


@dataclass(frozen=True)
class Quotient:
    """A Quotient is the integer floor((sum of coefficient * name + constant) / divisor).

    In the rows of this module, linear expressions as (coefficients by name, constant), it may stand in the place of a name.

    terms: pairs (name, coefficient); the name of an iterator is its position
    """

    terms: frozenset
    constant: int
    divisor: int


LinearRow = tuple[dict["str | int | Quotient", int], int]  # coefficients by name, and a constant
NamedRow = tuple[dict[str, int], int]  # the same where each name is a word


def integer_rows(domain: isl.Set) -> tuple[list[LinearRow], list[LinearRow]] | None:
    """Returns the constraints that describe exactly the set: the equalities (row = 0) and the inequalities (row >= 0).

    A row is (coefficients by name, constant); the name of an iterator is its position. The result is None where the set is not one
    conjunction of constraints.

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
    return _conjunction_rows(basics[0])


def _conjunction_rows(basic: isl.BasicSet) -> tuple[list[LinearRow], list[LinearRow]]:
    """Returns the rows (coefficients by name, constant) of the equalities of a conjunction, and those of its inequalities.

    Each existential variable of the conjunction has to be one that isl knows as a rounded quotient.
    """
    names: list[str | int | Quotient] = [*parameter_names(basic), *range(basic.dim(_D.set))]
    for k in range(basic.dim(_D.div)):
        names.append(_quotient(basic.get_div(k), names))
    columns = _D.cst, _D.param, _D.set, _D.div
    return _matrix_rows(basic.equalities_matrix(*columns), names), _matrix_rows(basic.inequalities_matrix(*columns), names)


def set_of_rows(
    parameters: Sequence[str], dims: Sequence[str], exist: Sequence[str], zero: Sequence[NamedRow], least: Sequence[NamedRow]
) -> isl.Set:
    """Returns [parameters] -> { [dims] : exists `exist`: each row of `zero` is 0 and each row of `least` is at least 0 }.

    Without dims it is a parameter set { : ... }. The set is made from matrices, since isl takes much longer to parse a text.

    zero, least: rows (coefficients by name, constant) of linear expressions
    """
    space = _space(tuple(parameters), len(dims))
    columns = {name: position + 1 for position, name in enumerate([*parameters, *dims, *exist])}
    order = _D.cst, _D.param, _D.set, _D.div
    basic = isl.BasicSet.from_constraint_matrices(space, _matrix(zero, columns), _matrix(least, columns), *order)
    found = isl.Set.from_basic_set(basic)
    return found if dims else found.params()


@lru_cache(maxsize=1024)
def _space(parameters: tuple[str, ...], dims: int) -> isl.Space:
    """Returns the space [parameters] -> { [..] } of a set with `dims` unnamed dimensions."""
    space = isl.Space.set_alloc(CONTEXT, len(parameters), dims)
    for position, name in enumerate(parameters):
        space = space.set_dim_name(_D.param, position, name)
    return space


def _matrix(rows: Sequence[NamedRow], columns: Mapping[str, int]) -> isl.Mat:
    """Returns linear rows (coefficients by name, constant) as an isl matrix, with the constants in its first column.

    columns: by name the number of its column, from 1
    """
    matrix = isl.Mat.alloc(CONTEXT, 0, len(columns) + 1).add_zero_rows(len(rows))
    for number, (terms, constant) in enumerate(rows):
        for column, value in [(0, constant), *((columns[name], c) for name, c in terms.items())]:
            if value:
                matrix = matrix.set_element_val(number, column, isl.Val(value))
    return matrix


def has_integers(equal: Iterable[tuple[dict[Hashable, int], int]], least: Iterable[tuple[dict[Hashable, int], int]]) -> bool:
    """Returns whether there are integers for which each row of `equal` is 0 and each row of `least` is at least 0.

    equal, least: rows (coefficients by name, constant), where a name is any hashable value
    """
    names: dict[Hashable, str] = {}
    parts = []
    for rows_, op in ((equal, "="), (least, ">=")):
        for terms, constant in rows_:
            products = (f"{c} {names.setdefault(name, f'x{len(names)}')}" for name, c in terms.items())
            parts.append(f"{' + '.join([*products, str(constant)])} {op} 0")
    return not isl.Set(f"{{ [{', '.join(names.values())}] : {' and '.join(parts)} }}").is_empty()


def is_in(name: str | int | Quotient, dim: int) -> bool:
    """Returns whether a name in a linear row depends on a dimension: it is the dimension, or a quotient that contains it."""
    return name == dim or isinstance(name, Quotient) and any(is_in(inner, dim) for inner, _ in name.terms)


def linear_row(value: isl.PwAff) -> LinearRow | None:
    """Returns { S[i] -> [(e)] } as a row (coefficients by name, constant); None where it is piecewise or has fractions.

    >>> linear_row(isl.PwAff("[N] -> { S[i] -> [(i - i mod 8 + N)] }"))
    ({'N': 1, Quotient(terms=frozenset({(0, 1)}), constant=0, divisor=8): 8}, 0)
    """
    found = rows_by_piece(value)
    return found[0][1] if len(found) == 1 and found[0][2] == 1 else None


def rows_by_piece(value: isl.PwAff) -> list[tuple[isl.Set, LinearRow, int]]:
    """Returns (domain, row, divisor) for each piece of { S[i] -> [(e)] }: on this domain e is row / divisor.

    A row is (coefficients by name, constant).
    """
    return [(where, *_aff_row(aff)) for where, aff in value.get_pieces()]


def expression_text(value: isl.PwAff) -> str:
    """Returns the text of { [] -> [(e)] }, an expression in parameters alone, in a form that isl can parse.

    Of a piecewise expression it is the text of the first piece.

    >>> expression_text(isl.PwAff("[N] -> { [(8*floor(N/8) - 1)] }"))
    '8*floor((1*N + 0)/8) + -1'
    """
    _, row, divisor = rows_by_piece(value)[0]
    text = _row_text(row, ())
    return text if divisor == 1 else f"({text})/{divisor}"


def _aff_row(aff: isl.Aff) -> tuple[LinearRow, int]:
    """Returns the (row, divisor) of an expression { S[i] -> [(e)] }, whose value is row / divisor."""
    names: list[str | int | Quotient] = [*parameter_names(aff), *range(aff.dim(_D.in_))]
    for k in range(aff.dim(_D.div)):
        names.append(_quotient(aff.get_div(k), names))
    terms, constant, divisor = _numerator(aff, names)
    return (terms, constant), divisor


def _matrix_rows(matrix: isl.Mat, names: Sequence[str | int | Quotient]) -> list[LinearRow]:
    """Returns the rows of a matrix of isl's as (coefficients by name, constant).

    names: the names of the columns behind the first one, which has the constants
    """
    found = []
    for row in range(matrix.rows()):
        constant, *numbers = (matrix.get_element_val(row, column).to_python() for column in range(len(names) + 1))
        terms: dict[str | int | Quotient, int] = {}
        for name, c in zip(names, numbers):
            if c:  # isl may have a quotient several times
                terms[name] = terms.get(name, 0) + c
        found.append(({name: c for name, c in terms.items() if c}, constant))
    return found


def _quotient(div: isl.Aff, names: Sequence[str | int | Quotient]) -> Quotient:
    """Returns one of isl's rounded quotients as a Quotient.

    names: those of the parameters, the dimensions and the quotients before this one, which it may use
    """
    terms, constant, divisor = _numerator(div, names)
    return Quotient(frozenset(terms.items()), constant, divisor)


def _numerator(aff: isl.Aff, names: Sequence[str | int | Quotient]) -> tuple[dict[str | int | Quotient, int], int, int]:
    """Returns the (coefficients, constant, divisor) of an expression { [i] -> [(sum of coefficient * name + constant) / divisor] }.

    names: those of the parameters, dimensions and rounded quotients, in isl's order
    """
    divisor = aff.get_denominator_val().to_python()
    terms: dict[str | int | Quotient, int] = {}
    position = 0
    for kind in (_D.param, _D.in_, _D.div):
        for k in range(aff.dim(kind)):
            if position < len(names):
                value = aff.get_coefficient_val(kind, k)
                if not value.is_zero():
                    terms[names[position]] = terms.get(names[position], 0) + value.mul(divisor).to_python()
            position += 1
    return terms, aff.get_constant_val().mul(divisor).to_python(), divisor


def bounding(domain: isl.Set, directions: Sequence[Sequence[int]]) -> isl.Set:
    """Returns a set { [i] } with only those of its constraints whose expression changes along at least one of the directions.

    Constraints with rounded quotients are kept, too. A direction is a vector, with one number per dimension.

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
        (basic,) = part.get_basic_sets()
        zero, least_ = _conjunction_rows(basic)
        rows_ = [(row, op) for group, op in ((zero, "="), (least_, ">=")) for row in group if says(row)]
        conditions = " and ".join(f"{_row_text(row, names)} {op} 0" for row, op in rows_)
        found = found.union(isl.Set(f"[{parameters}] -> {{ [{', '.join(names)}] : {conditions or 'true'} }}"))
    return found


def _row_text(row: LinearRow, names: Sequence[str]) -> str:
    """Returns a row as a text that isl can parse, such as "2*i + -1*N + 3".

    names: of the iterators, by position
    """

    def name(each: str | int | Quotient) -> str:
        if not isinstance(each, Quotient):
            return names[each] if isinstance(each, int) else each
        return f"floor(({_row_text((dict(each.terms), each.constant), names)})/{each.divisor})"

    return " + ".join([*(f"{c}*{name(k)}" for k, c in row[0].items()), str(row[1])])
