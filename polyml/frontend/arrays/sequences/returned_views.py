"""Views of arguments as results: the numbers by which the caller makes the view of the array that it passed.

    return x[1:, 2], s    ->    the form (Vk0i(_, _, _, _, _, ), _, ) of x, 1, 1, x.shape[0] - 1, 2, s

In the text of a form, `i` stands for an index along a dimension of the array, `k` with the number of a dimension of the view for a slice,
whose first index, step and length are given. `d` stands for the diagonal of a matrix, `r` for a reshape. So the view has the memory, the base, the strides and the flags that it has in Python.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace
from typing import Union

from polyml.errors import NotAffineError
from polyml.frontend import syntax, traversal
from polyml.frontend.arrays.shapes import Linear
from polyml.frontend.arrays.views import Elements, any_point
from polyml.frontend.syntax import Expr
from polyml.reading import result_forms

Value = Union[Expr, Elements]


def with_numbers(
    stmt: syntax.Return,
    values: Sequence[Expr],
    made: Sequence[Value],
    arguments: dict[str, Elements],
    uncertain: Set[str],
    aliased: Set[str],
) -> tuple[syntax.Return, list[Expr], list[Value]]:
    """Returns a Return, its values and their lowered values, with the numbers of views in the places of these.

    arguments: the arrays that are arguments, by name
    uncertain: those of which there is something that may be a view or a copy
    aliased: those that may share memory with others
    Raises NotAffineError for a view that is not made by slices, indices and an order of dimensions.
    """
    is_view = [isinstance(own, Elements) and _is_view(own, arguments) for own in made]
    if not any(is_view):
        return stmt, [*values], [*made]
    form = stmt.form or (result_forms.tuple_of([result_forms.VALUE] * len(made)) if stmt.is_tuple else result_forms.VALUE)
    texts: list[str] = []
    expressions: list[Expr] = []
    found: list[Value] = []
    for letter, value, own, is_one in zip(result_forms.leaves(form), values, made, is_view):
        base = (own.storage or own.may_be_view_of) if is_one and isinstance(own, Elements) else None
        if base is None or not isinstance(own, Elements):
            texts.append(letter)
            expressions.append(value)
            found.append(own)
            continue
        if base in (aliased if own.rows_of == base else uncertain):  # what may be a copy has older elements where others change
            raise _refused(value)
        name, numbers = _described(own, value)
        texts.append(result_forms.view_of(name, len(numbers)))
        expressions += [value] * (1 + len(numbers))
        found += [arguments[base], *numbers]
    return replace(stmt, form=result_forms.replaced(form, texts)), expressions, found


def is_diagonal(value: Elements) -> bool:
    """Returns whether a value is the diagonal of an array in memory, which NumPy makes a view that cannot be assigned."""
    return value.storage is None and value.may_be_view_of is not None and isinstance(value.sample, syntax.Subscript)


def _is_view(value: Elements, arguments: dict[str, Elements]) -> bool:
    """Returns whether a value is a view of an argument: a part of it, or its diagonal, which cannot be assigned."""
    if value.storage is None:
        return value.may_be_view_of in arguments and is_diagonal(value)
    return value.storage in arguments and not value.whole


def _described(view: Elements, value: Expr) -> tuple[str, list[Expr]]:
    """Returns the text that says what a view takes of each dimension of an array, and its numbers. value: the view as it is written"""
    if view.rows_of:
        return result_forms.RESHAPED, [extent.expr for extent in view.shape]
    point = any_point(view.rank)
    element = view.at(point)
    places = {place.name: number for number, place in enumerate(point) if isinstance(place, syntax.Name)}
    if not isinstance(element, syntax.Subscript) or element.part:
        raise _refused(value)
    if len(element.indices) == 2 and view.rank == 1 and element.indices == (*point, *point):
        return result_forms.DIAGONAL, []
    text, numbers, used = "", [], []
    for index in element.indices:
        linear = Linear.of(index)
        own = [(places[atom.name], step) for atom, step in linear.terms if isinstance(atom, syntax.Name) and atom.name in places]
        rest = Linear(tuple(term for term in linear.terms if not _is_place(term[0], places)), linear.constant)
        if any(_mentions(atom, places) for atom, _ in rest.terms) or len(own) > 1:
            raise _refused(value)
        numbers.append(rest.expr)
        if not own:
            text += "i"
            continue
        [(dim, step)] = own
        used.append(dim)
        text += f"k{dim}"
        numbers += [syntax.Const(step), view.shape[dim].expr]
    if sorted(used) != [
        *range(view.rank)
    ]:  # a part's diagonal, or a new dimension, whose stride depends on which function of NumPy's made it
        raise _refused(value)
    return text, numbers


def _is_place(atom: Expr, places: dict[str, int]) -> bool:
    return isinstance(atom, syntax.Name) and atom.name in places


def _mentions(atom: Expr, places: dict[str, int]) -> bool:
    return any(_is_place(node, places) for node in traversal.nodes(atom))


def _refused(value: Expr) -> NotAffineError:
    notes = ["polyml compiles: views by slices, indices, transpositions and a reshape, or a copy, as `x.real.copy()`"]
    return NotAffineError("a view of an argument is returned", code="PML-F022", loc=value.loc, notes=notes)
