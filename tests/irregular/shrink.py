"""What is smaller than a failing program: less of its text, fewer calls."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import replace
from types import FrameType
from typing import TYPE_CHECKING

from polyml.defects.shrink import shrink as shrunk
from polyml.defects.shrink import smaller_sources
from tests.irregular.check import check
from tests.irregular.generate import Program
from tests.irregular.run import RAISED, arguments_of, function_of, run

if TYPE_CHECKING:
    from _typeshed import TraceFunction

MOST_LINES = 50_000  # that a smaller program may run before it counts as one that does not end


def shrink(case: Program, budget: int = 300) -> Program:
    """Returns a smaller program whose difference from Python begins in the same way."""
    kind = _kind(case)
    return shrunk(case, _variants, lambda smaller: _ends(smaller) and _kind(smaller) == kind, budget)


def _kind(case: Program) -> str:
    """Returns the first words of the difference behind the settings; of a check that ends in an exception its type."""
    try:
        return " ".join(check(case).difference.partition("threads")[2].split()[1:3])
    except Exception as problem:
        return type(problem).__name__


def _variants(case: Program) -> Iterator[Program]:
    if len(case.calls) > 1:
        yield from (replace(case, calls=(call,)) for call in case.calls)
    yield from (replace(case, source=source) for source in smaller_sources(case.source))
    used = {node.id for node in ast.walk(ast.parse(case.source)) if isinstance(node, ast.Name)}
    for position, name in enumerate(case.names):
        if name not in used and not any(text.startswith(name) for call in case.calls for text in call):
            yield _without(case, position)


def _without(case: Program, position: int) -> Program:
    """Returns the program without the parameter at this position."""
    tree = ast.parse(case.source)
    next(node for node in tree.body if isinstance(node, ast.FunctionDef)).args.args.pop(position)
    names, *calls = (values[:position] + values[position + 1 :] for values in (case.names, *case.calls))
    return replace(case, source=ast.unparse(tree) + "\n", names=names, calls=tuple(calls))


def _ends(case: Program) -> bool:
    """Returns whether all calls end as plain Python, and with a result or an exception that is compared."""
    left = MOST_LINES

    def count(frame: FrameType, event: str, argument: object) -> TraceFunction:
        nonlocal left
        left -= 1
        if left < 0:
            raise TimeoutError
        return count

    sys.settrace(count)
    try:
        errors = [run(function_of(case, "short"), arguments_of(case, number)).error for number in range(len(case.calls))]
    except SyntaxError:
        return False
    finally:
        sys.settrace(None)
    return all(error is None or type(error) in RAISED for error in errors)
