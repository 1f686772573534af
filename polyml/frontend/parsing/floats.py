"""Statements that say what NumPy does where operations of floats have no ordinary result: it warns, or not, which compiled code never does."""

from __future__ import annotations

import ast

import numpy as np

from polyml.frontend.parsing.names import NameLookup

_SILENT = ("ignore", "warn")


def ignores_errors(names: NameLookup, stmt: ast.With) -> bool:
    """Returns whether a `with` statement is one of np.errstate under which nothing is raised or called, so that its body is all it does."""
    if len(stmt.items) != 1 or stmt.items[0].optional_vars is not None:
        return False
    call = stmt.items[0].context_expr
    if not isinstance(call, ast.Call) or names.value(call.func) is not np.errstate or call.args:
        return False
    return all(each.arg is not None and names.constant(each.value) in _SILENT for each in call.keywords)
