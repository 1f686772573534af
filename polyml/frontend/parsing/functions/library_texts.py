"""Functions of the library that are inlined like those of users: their statements are at the place of the call."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from polyml.errors import LanguageError, PolymlError
from polyml.frontend import syntax, traversal
from polyml.frontend.library.index_arrays import IN_LOOPS
from polyml.frontend.library.whole_arrays.texts import TEXTS
from polyml.frontend.parsing.jumps import Exit
from polyml.frontend.syntax import Expr, Stmt
from polyml.source import Loc


def at_call(function: object, end: Exit, loc: Loc) -> Exit:
    """Returns the body of a function that is inlined, that of a function of the library with the place of its call.

    The indices in the body of a condition on index arrays are known to be inside.
    """
    inside = _is_one_of(function, IN_LOOPS)
    if not inside and not _is_one_of(function, TEXTS):
        return end

    def expression(expr: Expr) -> Expr:
        made = traversal.with_operands(expr, tuple(map(expression, traversal.operands(expr))))
        if inside and isinstance(made, syntax.Subscript):
            return dataclasses.replace(made, loc=loc, inside=True)
        return dataclasses.replace(made, loc=loc)

    def block(stmts: Sequence[Stmt]) -> tuple[Stmt, ...]:
        moved = (dataclasses.replace(traversal.map_reads(stmt, expression), loc=loc) for stmt in stmts)
        return tuple(traversal.with_bodies(stmt, block) for stmt in moved)

    return dataclasses.replace(end, body=block(end.body), values=tuple(map(expression, end.values)))


def at_call_of(function: object, problem: LanguageError, loc: Loc, name: str) -> PolymlError:
    """Returns what is raised for an error in the text of a function that is inlined.

    loc, name: the place of the call, and what the function is called
    """
    if _is_one_of(function, TEXTS):
        return type(problem)(problem.message, loc=loc, notes=problem.notes, code=problem.code)
    return problem.noted(f"`{name}` is called at {loc}")


def _is_one_of(function: object, table: dict) -> bool:
    return any(function is each for each in table.values())
