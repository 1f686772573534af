"""Definitions of functions inside of a kernel, `def g(x): ...` and `g = lambda x: ...`: they bind a name to a known function."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from polyml.frontend import syntax
from polyml.frontend.captures import MISSING
from polyml.frontend.parsing.assignments import AssignmentParser
from polyml.frontend.parsing.functions.inner_functions import (
    Default,
    Held,
    InnerFunction,
    definition_of_lambda,
    parameters,
    stores,
    written_defaults,
)

_COMPILED = "functions inside of kernels that are inlined where they are called"


@dataclass(frozen=True)
class DefinitionParser:
    """A DefinitionParser binds names to the functions that one function defines.

    function: the syntax tree of the function around them
    """

    assignments: AssignmentParser
    function: ast.FunctionDef

    def function_defined(self, stmt: ast.stmt) -> bool:
        """Binds the name that a statement gives to a function or type; returns whether the statement is such a definition.

        Raises NotAffineError for a function of which a part is not compiled, and where the name may stand for something else as well.
        """
        match stmt:
            case ast.FunctionDef():
                tree = stmt
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda() as value):
                tree = definition_of_lambda(value, name)
            case _:
                return self._type_named(stmt)
        expressions, name = self.assignments.expressions, tree.name
        defined = expressions.checked(InnerFunction(tree, expressions, {}))
        self._check_annotations(tree)
        if (self.assignments.loops or self.assignments.branches) and stores(self.function, name) > 1:
            what = f"`{name}` is a function on one path and something else on another"
            raise expressions.not_affine(stmt, what, "a name for each", "PML-F023")
        defaults = {parameter: self._default(node) for parameter, node in written_defaults(tree.args).items()}
        expressions.known[name] = InnerFunction(tree, defined.around, defaults)
        return True

    def _type_named(self, stmt: ast.stmt) -> bool:
        """Binds a name that stands for one type in the whole function, `dtype = np.int64`; returns whether a statement says so."""
        match stmt:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name() | ast.Attribute() as node):
                value = self.assignments.expressions.constant(node)
            case _:
                return False
        if not isinstance(value, type) or self.assignments.loops or self.assignments.branches or stores(self.function, name) > 1:
            return False
        self.assignments.expressions.known[name] = value
        return True

    def _default(self, node: ast.expr) -> Default | Held:
        """Returns the default of a parameter, which is computed where the function is defined."""
        expressions = self.assignments.expressions
        value = expressions.constant(node)
        if value is not MISSING:
            return Default(value)
        computed = expressions.expr(node)
        if isinstance(computed, syntax.Const):
            return Default(computed.value)
        name = syntax.Name(expressions.fresh("_default"), loc=computed.loc)
        expressions.before.append(syntax.Assign(name, computed, loc=computed.loc))
        return Held(name)

    def _check_annotations(self, tree: ast.FunctionDef) -> None:
        """Raises NotAffineError for an annotation that is computed where the function is defined."""
        expressions = self.assignments.expressions
        for node in (*(each.annotation for each in parameters(tree.args)), tree.returns):
            if node is not None and expressions.constant(node) is MISSING:
                raise expressions.not_affine(node, "an annotation that is computed", _COMPILED, "PML-F004")

    @contextmanager
    def block(self) -> Iterator[None]:
        """Forgets, behind a block of statements in a loop or branch, the functions that it defines: it may not have run."""
        known = self.assignments.expressions.known
        before = set(known)
        yield
        if self.assignments.loops or self.assignments.branches:
            for name in [name for name, value in known.items() if isinstance(value, InnerFunction) and name not in before]:
                del known[name]
