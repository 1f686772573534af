"""A Python function -> Kernel. Python's `ast` is known here (statements), in `expressions` and in `allocations` alone.

Decisions that the grammar does not tell:

* A global or closure value is taken when the kernel is parsed: a number becomes a constant, and a condition made of
  constants keeps its live branch only (the other one is not even looked at), as `if VERBOSE: ...` suggests.
* `a = b = v` and `a, b = x, y` evaluate the right side once and first, through temporaries where it matters.
* An annotation means nothing. The `else` of a loop always runs, as there is no break.
* A `while`, `break`, `continue`, early `return`, a loop over something that is not a range, and NumPy functions that
  are not elementwise are legal Python that is not affine: NotAffineError. What is outside the language altogether is
  a LanguageError.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from types import FunctionType

import numpy as np

from polyml.frontend import names, syntax
from polyml.frontend.allocations import alloc, allocation
from polyml.frontend.captures import MISSING, Captured
from polyml.frontend.constant import constant
from polyml.frontend.expressions import BINARY, Expressions, is_number, spelled
from polyml.frontend.text import text_of
from polyml.frontend.walk import name_of, nodes, operands
from polyml.source import Loc

_STATEMENTS = "for, if, assignments, pass, and return at the end"
_RANGES = "`for i in range(...)`"
_STORES = "an element `A[i, j]`, a part of an array `A[1:]`, or a local name"
_OUTSIDE = {
    ast.While: ("a while loop is not static control", _RANGES),
    ast.Break: ("break is not static control", "loops that run all of their range, with `if` inside"),
    ast.Continue: ("continue is not static control", "loops that run all of their range, with `if` inside"),
    ast.Return: ("an early return is not static control", "return as the last statement of the kernel"),
}


def parse(function: FunctionType) -> syntax.Kernel:
    """The untyped kernel that a Python function is.

    Raises LanguageError, with the place and what would be accepted, for what the language does not have;
    NotAffineError, which is one, where plain Python can run it.
    """
    return parse_with_captured(function)[0]


def captured(function: FunctionType) -> tuple[Captured, ...]:
    """The globals, builtins and closure values that the meaning of `function` depends on."""
    return parse_with_captured(function)[1]


def parse_with_captured(function: FunctionType) -> tuple[syntax.Kernel, tuple[Captured, ...]]:
    """Both at once."""
    parser = _Parser(function)
    return parser.kernel(), parser.read.scope.captured


class _Parser:
    def __init__(self, function: FunctionType):
        self._function = function
        self.read = Expressions(function, text_of(function))
        self._text = self.read.text
        self._loops: list[str] = []  # the variables of the loops around

    def kernel(self) -> syntax.Kernel:
        params = self._params(self._text.tree.args)
        body = names.resolved(params, self._top_level(self._text.tree.body))
        return syntax.Kernel(self._function.__name__, params, body, self._text.source)

    def _params(self, args: ast.arguments) -> tuple[syntax.Param, ...]:
        for star, what in ((args.vararg, "*"), (args.kwarg, "**")):
            if star is not None:
                raise self.read.error(star, f"a kernel cannot take {what}{star.arg}", "parameters with names")
        values = (*(self._function.__defaults__ or ()), *(self._function.__kwdefaults__ or {}).values())
        written = (*args.defaults, *(d for d in args.kw_defaults if d is not None))
        for value, node in zip(values, written):
            if not is_number(value):
                raise self.read.error(
                    node, "the default of a parameter must be a number", "an int, float, bool or NumPy scalar"
                )
        everything = (*args.posonlyargs, *args.args, *args.kwonlyargs)
        return tuple(syntax.Param(a.arg, loc=self._name_loc(a)) for a in everything)

    def _name_loc(self, arg: ast.arg) -> Loc:
        loc = self._text.loc(arg)  # with its annotation
        return Loc(loc.source, loc.line, loc.column, len(arg.arg))

    def _top_level(self, stmts: Sequence[ast.stmt]) -> list[syntax.Stmt]:
        body: list[syntax.Stmt] = []
        for position, stmt in enumerate(stmts):
            if not isinstance(stmt, ast.Return):
                body += self._stmt(stmt)
                continue
            if position + 1 < len(stmts):
                raise self.read.error(stmts[position + 1], "this never runs: it stands after return", _STATEMENTS)
            body.append(self._return(stmt))
        return body

    def _body(self, stmts: Sequence[ast.stmt]) -> tuple[syntax.Stmt, ...]:
        return tuple(made for stmt in stmts for made in self._stmt(stmt))

    def _stmt(self, stmt: ast.stmt) -> Sequence[syntax.Stmt]:
        match stmt:
            case ast.For():
                return self._for(stmt)
            case ast.If():
                return self._if(stmt)
            case ast.Assign(targets=targets, value=value):
                return self._assign(stmt, targets, value)
            case ast.AnnAssign(target=target, value=value):
                return () if value is None else self._assign(stmt, [target], value)
            case ast.AugAssign():
                return (self._augmented(stmt),)
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                return ()
        if type(stmt) in _OUTSIDE:
            raise self.read.not_affine(stmt, *_OUTSIDE[type(stmt)])
        if isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call) and self.read.is_local(stmt.value):
            raise self.read.not_affine(stmt, "a call that is a statement is not an affine one", _STATEMENTS)
        if isinstance(stmt, ast.Expr):
            raise self.read.error(stmt, "this expression has no effect on the result", _STATEMENTS)
        raise self.read.error(stmt, f"{spelled(stmt)} is not part of the language", _STATEMENTS)

    # Control

    def _for(self, stmt: ast.For) -> Sequence[syntax.Stmt]:
        if not isinstance(stmt.target, ast.Name):
            raise self.read.not_affine(stmt.target, "a loop with this target is not static control", _RANGES)
        if not isinstance(stmt.iter, ast.Call) or self.read.value(stmt.iter.func) is not range:
            raise self.read.not_affine(
                stmt.iter, "a loop over something that is not a range is not static control", _RANGES
            )
        start, stop, step = self._range(stmt.iter)
        var, outer = stmt.target.id, self.read.renamed
        if var in self._loops:
            if var != "_":
                raise self.read.error(
                    stmt.target,
                    f"`{var}` is the variable of a loop around this one",
                    "a variable of its own for each nested loop",
                )
            self.read.renamed = {**outer, var: self.read.fresh("_")}
        self._loops.append(var)
        body = self._body(stmt.body)
        self._loops.pop()
        name, self.read.renamed = self.read.renamed.get(var, var), outer
        loop = syntax.For(name, start, stop, step, body, loc=self._text.loc(stmt, stmt.iter))
        return (loop, *self._body(stmt.orelse))

    def _range(self, call: ast.Call) -> tuple[syntax.Expr, syntax.Expr, int]:
        self.read.no_keywords(call, "range")
        if not 1 <= len(call.args) <= 3:
            raise self.read.error(
                call,
                f"range takes 1 to 3 numbers, not {len(call.args)}",
                "range(stop), range(start, stop), range(start, stop, step)",
            )
        values = [self.read.expr(a) for a in call.args]
        if len(values) == 1:
            return syntax.Const(0, loc=self._text.loc(call)), values[0], 1
        return values[0], values[1], self._step(call.args[2], values[2]) if len(values) == 3 else 1

    def _step(self, node: ast.expr, value: syntax.Expr) -> int:
        step = constant(value)
        if isinstance(value, syntax.Const) and isinstance(value.value, np.integer):
            step = int(value.value)
        if type(step) is not int or step == 0:
            raise self.read.error(
                node,
                "the step of a range must be a constant that is not zero",
                "a literal, or a global or closure value that is an int",
            )
        return step

    def _if(self, stmt: ast.If) -> Sequence[syntax.Stmt]:
        condition = self.read.expr(stmt.test)
        known = constant(condition)
        if known is not MISSING:
            return self._body(stmt.body if known else stmt.orelse)
        return (syntax.If(condition, self._body(stmt.body), self._body(stmt.orelse), loc=condition.loc),)

    def _return(self, stmt: ast.Return) -> syntax.Return:
        value, loc = stmt.value, self._text.loc(stmt)
        if value is None or isinstance(value, ast.Constant) and value.value is None:
            return syntax.Return((), False, loc=loc)
        if isinstance(value, ast.Tuple):
            return syntax.Return(tuple(map(self.read.expr, value.elts)), True, loc=loc)
        return syntax.Return((self.read.expr(value),), False, loc=loc)

    # Assignments

    def _assign(self, stmt: ast.stmt, targets: Sequence[ast.expr], value: ast.expr) -> Sequence[syntax.Stmt]:
        loc = self._text.loc(stmt)
        if allocation(self.read, value) is not None and len(targets) == 1 and isinstance(targets[0], ast.Name):
            return (alloc(self.read, self._local(targets[0]).name, value, loc),)
        if len(targets) == 1 and isinstance(targets[0], (ast.Tuple, ast.List)):
            return self._unpack(targets[0], value, loc)
        result = self.read.expr(value)
        if len(targets) == 1 or isinstance(result, syntax.Const):
            return [syntax.Assign(self._target(t), result, loc=loc) for t in targets]
        return self._through_temporaries([result], [(t, 0) for t in targets], loc)

    def _unpack(self, target: ast.Tuple | ast.List, value: ast.expr, loc: Loc) -> Sequence[syntax.Stmt]:
        if isinstance(value, ast.Attribute) and value.attr == "shape":
            array, ndim = self.read.array(value.value), len(target.elts)
            shapes = [syntax.Shape(array, dim, ndim, loc=self._text.loc(value)) for dim in range(ndim)]
            return [syntax.Assign(self._local(t), shape, loc=loc) for t, shape in zip(target.elts, shapes)]
        if not isinstance(value, (ast.Tuple, ast.List)):
            raise self.read.error(value, "this cannot be unpacked", "`a, b = x, y` and `n, m = A.shape`")
        if len(value.elts) != len(target.elts):
            raise self.read.error(
                value, f"{len(value.elts)} values for {len(target.elts)} targets", "as many values as targets"
            )
        values = [self.read.expr(v) for v in value.elts]
        targets = [self._target(t) for t in target.elts]
        if _independent(targets, values):
            return [syntax.Assign(t, v, loc=loc) for t, v in zip(targets, values)]
        return self._through_temporaries(values, [(t, k) for k, t in enumerate(target.elts)], loc)

    def _through_temporaries(
        self, values: list[syntax.Expr], targets: list[tuple[ast.expr, int]], loc: Loc
    ) -> list[syntax.Stmt]:
        """values: evaluated first, in order. targets: (target, position of its value), assigned from left to right."""
        held = [syntax.Name(self.read.fresh("_value"), loc=v.loc) for v in values]
        first = [syntax.Assign(name, value, loc=loc) for name, value in zip(held, values)]
        return [*first, *(syntax.Assign(self._target(t), held[k], loc=loc) for t, k in targets)]

    def _augmented(self, stmt: ast.AugAssign) -> syntax.Stmt:
        loc = self._text.loc(stmt)
        target, before, value = self._target(stmt.target), self.read.expr(stmt.target), self.read.expr(stmt.value)
        if isinstance(stmt.op, ast.MatMult):
            result: syntax.Expr = syntax.Function("matmul", (before, value), loc=loc)
        else:
            result = syntax.Binary(BINARY[type(stmt.op)], before, value, loc=loc)
        return syntax.Assign(target, result, in_place=True, loc=loc)

    def _target(self, node: ast.expr) -> syntax.Name | syntax.Subscript | syntax.Part:
        if not isinstance(node, ast.Subscript):
            return self._local(node)
        target = self.read.expr(node)
        if not isinstance(target, (syntax.Subscript, syntax.Part)):
            raise self.read.error(node, "a shape cannot be assigned", _STORES)
        return target

    def _local(self, node: ast.expr) -> syntax.Name:
        if not isinstance(node, ast.Name):
            raise self.read.error(node, f"cannot assign to {spelled(node)} in a kernel", _STORES)
        if node.id in self._loops:
            raise self.read.error(node, f"the loop variable `{node.id}` is assigned inside its loop", "another name")
        return syntax.Name(node.id, loc=self._text.loc(node))


def _independent(targets: Sequence[syntax.Name | syntax.Subscript | syntax.Part], values: Sequence[syntax.Expr]) -> bool:
    """True if `a, b = x, y` may run as `a = x; b = y`: nothing that is assigned is read afterwards."""
    for position, target in enumerate(targets):
        subscripts = (i for t in targets[position + 1 :] for i in operands(t))
        later = [node for expr in (*values[position + 1 :], *subscripts) for node in nodes(expr)]
        if isinstance(target, syntax.Name):
            conflicts = (name_of(node) == target.name for node in later)
        else:  # two arrays may be one
            conflicts = (isinstance(node, (syntax.Subscript, syntax.Part, syntax.Function)) for node in later)
        if any(conflicts):
            return False
    return True
