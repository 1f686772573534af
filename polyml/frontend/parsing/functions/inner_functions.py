"""Functions inside of a kernel: `def` and `lambda`. Each is a value that is known when the kernel is parsed, and inlined where it is called.

A function inside reads the names of the function around it when it is called, as Python's cells do. So these names mean what they
mean at the place of the call.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from polyml.frontend import syntax
from polyml.frontend.captures import OuterScope
from polyml.frontend.parsing.sequences.values import Value
from polyml.frontend.parsing.source_text import FunctionText

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_GENERATORS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Names(Protocol):
    """The protocol of what knows the names in one function's text, as `parsing.names.NameLookup` does, which says what its fields are."""

    text: FunctionText
    scope: OuterScope
    locals: frozenset[str]
    renamed: dict[str, str]
    known: dict[str, object]
    tuples: dict[str, Value]


@dataclass(frozen=True)
class Default:
    """A Default is the value that a parameter has where no argument is given."""

    value: object


@dataclass(frozen=True)
class Held:
    """A Held is an expression that was computed where a function inside a kernel was defined, as the default of a parameter."""

    expr: syntax.Expr


@dataclass(frozen=True, eq=False)
class InnerFunction:
    """An InnerFunction is a function that the text of a kernel defines inside of the kernel.

    tree: its definition; that of a lambda is a function that returns the lambda's expression
    around: what the names of the function around it stand for
    defaults: what parameters have for which no argument is given
    """

    tree: ast.FunctionDef
    around: Names
    defaults: Mapping[str, Default | Held] = field(default_factory=dict)

    @property
    def __name__(self) -> str:  # as that of Python's functions
        return self.tree.name

    @property
    def own_names(self) -> frozenset[str]:
        """Returns the names of the function's parameters and local variables."""
        return frozenset((*(each.arg for each in parameters(self.tree.args)), *_bound(self.tree.body)))

    @property
    def names_around(self) -> frozenset[str]:
        """Returns the names in the kernel of the local variables of the function around it that the function sees."""
        around = self.around
        seen = around.locals - self.own_names - around.known.keys()
        return frozenset(around.renamed.get(name, name) for name in seen)


def parameters(args: ast.arguments) -> tuple[ast.arg, ...]:
    """Returns the parameters of a function that have names of their own, in order."""
    return (*args.posonlyargs, *args.args, *args.kwonlyargs)


def written_defaults(args: ast.arguments) -> dict[str, ast.expr]:
    """Returns the defaults of parameters as they are written, by parameter."""
    positional = [each.arg for each in (*args.posonlyargs, *args.args)]
    found = dict(zip(reversed(positional), reversed(args.defaults)))
    return found | {each.arg: value for each, value in zip(args.kwonlyargs, args.kw_defaults) if value is not None}


def definition_of_lambda(node: ast.Lambda, name: str) -> ast.FunctionDef:
    """Returns the definition of a function that does what a lambda does."""
    result = ast.copy_location(ast.Return(node.body), node.body)
    return ast.copy_location(ast.FunctionDef(name, node.args, [result], []), node)


def refused_part(tree: ast.FunctionDef) -> tuple[ast.expr | ast.stmt | ast.arg, str] | None:
    """Returns the part of the definition of a function inside a kernel that is not compiled, and what it is; None where there is none."""
    if tree.decorator_list:
        return tree.decorator_list[0], "a decorator of a function inside a kernel"
    for star in (tree.args.vararg, tree.args.kwarg):
        if star is not None:
            return star, "a function inside a kernel that takes any arguments"
    for node in _inside(tree.body):
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            return node, f"`{type(node).__name__.lower()}` in a function inside a kernel"
        if isinstance(node, (ast.Yield, ast.YieldFrom, ast.Await)):
            return node, "a generator inside a kernel"
    return None


def stores(tree: ast.FunctionDef, name: str) -> int:
    """Returns at how many places of a function's text a local name is bound, the parameter among them."""
    return [*(each.arg for each in parameters(tree.args)), *_bound(tree.body)].count(name)


def is_read_inside(tree: ast.FunctionDef, name: str) -> bool:
    """Returns whether a function inside of a function mentions a name."""
    inner = (node for stmt in tree.body for node in ast.walk(stmt) if isinstance(node, _SCOPES))
    return any(isinstance(node, ast.Name) and node.id == name for scope in inner for node in ast.walk(scope))


def _bound(body: list[ast.stmt]) -> Iterator[str]:
    """Yields each name that statements bind, as often as they do, without what functions and generators inside of them bind."""
    for node in _inside(body):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, (*_NAMED, ast.ExceptHandler)) and node.name is not None:
            yield node.name
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from ((alias.asname or alias.name).partition(".")[0] for alias in node.names)


def _inside(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """Yields the nodes of statements, without those inside of functions and generators that these define; their defaults count."""
    pending: list[ast.AST] = list(body)
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            pending += [*node.args.defaults, *(value for value in node.args.kw_defaults if value is not None)]
        elif isinstance(node, _GENERATORS):
            pending.append(node.generators[0].iter)
        elif not isinstance(node, ast.ClassDef):
            pending += ast.iter_child_nodes(node)
