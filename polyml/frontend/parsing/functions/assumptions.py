"""Calls of `polyml.assume`: what they raise, and what they say of index arrays."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from types import FunctionType

from polyml.frontend import syntax
from polyml.frontend.library.index_arrays import IN_LOOPS, NOT_SO, assume, within
from polyml.frontend.parsing.names import NameLookup
from polyml.frontend.syntax import Expr, Fact


def is_assumption(names: NameLookup, call: ast.Call) -> bool:
    """Returns whether a call is one of `polyml.assume`."""
    return names.value(call.func) is assume


def conditions_of(names: NameLookup, call: ast.Call) -> tuple[Sequence[ast.expr], syntax.Raise]:
    """Returns the condition of an assumption, as several ones where it is made by `and`, and what is raised where it does not hold.

    names: what the names of the function stand for
    Raises LanguageError for other arguments than a condition and a text.
    """
    given = dict(zip(("condition", "message"), call.args)) | {each.arg or "": each.value for each in call.keywords}
    message = names.constant(given["message"]) if "message" in given else NOT_SO
    expected = len(given) == len(call.args) + len(call.keywords) and given.keys() <= {"condition", "message"}
    if not expected or "condition" not in given or not isinstance(message, str):
        accepted = '`polyml.assume(condition)` and `polyml.assume(condition, "a text")`'
        raise names.not_affine(call, "an assumption is a condition, with a constant text", accepted)
    condition = given["condition"]
    conditions = condition.values if isinstance(condition, ast.BoolOp) and isinstance(condition.op, ast.And) else [condition]
    return conditions, syntax.Raise("ValueError", (message,), loc=names.text.loc(call))


def tested(names: NameLookup, call: ast.Call) -> tuple[list[ast.expr], syntax.Raise]:
    """Returns what `conditions_of` does, without the conditions of which it is known that they hold."""
    conditions, end = conditions_of(names, call)
    return [each for each in conditions if names.known.get(_place(each)) is not True], end


def _place(condition: ast.expr) -> str:
    return f"{ast.unparse(condition)} at {condition.lineno}:{condition.col_offset}"


def leading_facts(names: NameLookup, tree: ast.FunctionDef) -> tuple[Fact, ...]:
    """Returns what a kernel assumes of index arrays before it does anything else but naming numbers of sizes.

    names: what the names of the kernel stand for, after it was parsed
    """
    parameters = {each.arg for each in (*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs)}
    stored = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    reader = _Reader(names, frozenset(parameters - {*stored}), {})
    found: list[Fact] = []
    for stmt in tree.body:
        match stmt:
            case ast.Expr(value=ast.Constant()) | ast.Pass() | ast.Import() | ast.ImportFrom():
                continue
            case ast.Expr(value=ast.Call() as call) if is_assumption(names, call):
                found += (fact for condition in conditions_of(names, call)[0] for fact in reader.facts(condition))
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if reader.bound(value) is not None:
                if stored.count(name) == 1:
                    reader = reader.knowing(name, value)
            case _:
                break
    return tuple(found)


@dataclasses.dataclass(frozen=True)
class _Reader:
    """A _Reader reads conditions at the beginning of a kernel.

    parameters: those that are not bound to anything else
    numbers: names of sizes and constants, with what they are
    """

    names: NameLookup
    parameters: frozenset[str]
    numbers: Mapping[str, Expr]

    def knowing(self, name: str, value: ast.expr) -> _Reader:
        """Returns a reader that knows what a name stands for, too."""
        found = self.bound(value)
        return self if found is None else dataclasses.replace(self, numbers={**self.numbers, name: found})

    def facts(self, condition: ast.expr) -> Iterator[Fact]:
        """Yields what a condition says of index arrays."""
        match condition:
            case ast.Call(func=func, args=[ast.Name(id=array), *bounds], keywords=[]) if array in self.parameters:
                function = self.names.value(func)
                if not isinstance(function, FunctionType) or function not in IN_LOOPS:
                    return
                if function is not within:
                    yield Fact(function.__name__, array, place=_place(condition))
                    return
                low, high = map(self.bound, bounds)
                if low is not None and high is not None:
                    yield Fact(function.__name__, array, low, high, _place(condition))

    def bound(self, node: ast.expr) -> Expr | None:
        """Returns a bound that is a constant, the size of an array, an argument, or a sum of such; None for another one."""
        match node:
            case ast.Name(id=name) if name in self.numbers:
                return self.numbers[name]
            case ast.Name(id=name) if name in self.parameters and name not in self.names.known:
                return syntax.Name(name)
            case ast.BinOp(op=ast.Add() | ast.Sub() as op, left=left, right=right):
                one, other = self.bound(left), self.bound(right)
                if one is None or other is None:
                    return None
                return syntax.Binary("+" if isinstance(op, ast.Add) else "-", one, other)
            case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=array)]) if array in self.parameters:
                return syntax.Shape(array, 0)
            case ast.Subscript(value=ast.Attribute(value=ast.Name(id=array), attr="shape"), slice=ast.Constant(value=int(dim))):
                return syntax.Shape(array, dim) if array in self.parameters and dim >= 0 else None
        value = self.names.constant(node)
        return syntax.Const(value) if type(value) is int else None
