"""Assignments to names, elements and parts, of one target or several, calls that change an array, and allocations such as np.zeros."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import numpy as np

from polyml.dtypes import ACCEPTED, F64, DType
from polyml.frontend import elementwise_functions, syntax
from polyml.frontend.captures import MISSING
from polyml.frontend.parsing import array_signatures
from polyml.frontend.parsing.calls import lookup
from polyml.frontend.parsing.expression_parser import BINARY, ExpressionParser
from polyml.frontend.parsing.names import spelled
from polyml.frontend.traversal import name_of, nodes, operands
from polyml.source import Loc

_CONSTANTS = {"zeros": 0, "ones": 1}  # what allocations fill arrays with
_AT = {getattr(np, name).at: elementwise_functions.OPERATORS.get(name, name) for name in elementwise_functions.UPDATES}
_STORES = "an element `A[i, j]`, a part of an array `A[1:]`, or a local name"


class AssignmentParser:
    """An AssignmentParser turns the assignments of one Python function into those of `syntax`.

    loops: the variables of the loops around the statement that is parsed, outermost first
    branches: how many branches of `if` statements are around that statement
    """

    def __init__(self, expressions: ExpressionParser):
        self.expressions = expressions
        self.loops: list[str] = []
        self.branches = 0

    def assign(self, stmt: ast.stmt, targets: Sequence[ast.expr], value: ast.expr) -> Sequence[syntax.Stmt]:
        """Returns the statements for `target = value`, `a = b = value` or `a, b = value`.

        targets: nodes of Python's syntax tree, from left to right: two for `a = b = value`, one for the tuple in `a, b = value`
        """
        loc = self.expressions.text.loc(stmt)
        if (
            isinstance(value, ast.Call)
            and allocation(self.expressions, value) is not None
            and len(targets) == 1
            and isinstance(targets[0], ast.Name)
        ):
            return (alloc(self.expressions, self.local(targets[0]).name, value, loc),)
        if len(targets) == 1 and isinstance(targets[0], (ast.Tuple, ast.List)):
            return self._unpack(targets[0], value, loc)
        result = self.expressions.expr(value)
        if len(targets) == 1 or isinstance(result, syntax.Const):
            return [syntax.Assign(self._target(t), result, loc=loc) for t in targets]
        return self._through_temporaries([result], [(t, 0) for t in targets], loc)

    def _unpack(self, target: ast.Tuple | ast.List, value: ast.expr, loc: Loc) -> Sequence[syntax.Stmt]:
        """Returns the statements that assign the parts of a tuple to several targets, as `a, b = value` does."""
        if isinstance(value, ast.Attribute) and value.attr == "shape":
            array, ndim = self.expressions.array(value.value), len(target.elts)
            shapes = [syntax.Shape(array, dim, ndim, loc=self.expressions.text.loc(value)) for dim in range(ndim)]
            return [syntax.Assign(self.local(t), shape, loc=loc) for t, shape in zip(target.elts, shapes)]
        values = self._values(value)
        if len(values) != len(target.elts):
            raise self.expressions.error(value, f"{len(values)} values for {len(target.elts)} targets", "as many values as targets")
        targets = [self._target(t) for t in target.elts]
        if _independent(targets, values):
            return [syntax.Assign(t, v, loc=loc) for t, v in zip(targets, values)]
        return self._through_temporaries(values, [(t, k) for k, t in enumerate(target.elts)], loc)

    def _values(self, value: ast.expr) -> list[syntax.Expr]:
        """Returns the parts of a tuple that is written out, or that an inlined function returns.

        Raises LanguageError for any other value.
        """
        if isinstance(value, (ast.Tuple, ast.List)):
            return [self.expressions.expr(v) for v in value.elts]
        if isinstance(known := self.expressions.constant(value), tuple):
            return [self.expressions.number(value, part) for part in known]
        called = value if isinstance(value, ast.Call) and self.expressions.python_function(value) else None
        result = None if called is None else self.expressions.call(called)
        if result is None or not result.is_tuple:
            accepted = "`a, b = x, y`, `n, m = A.shape`, and a function that returns a tuple"
            raise self.expressions.error(value, "this cannot be unpacked", accepted)
        return list(result.values)

    def _through_temporaries(self, values: list[syntax.Expr], targets: list[tuple[ast.expr, int]], loc: Loc) -> list[syntax.Stmt]:
        """Returns assignments that evaluate all values before they assign any of them.

        values: evaluated in order
        targets: (target, position of its value), assigned from left to right
        """
        held = [syntax.Name(self.expressions.fresh("_value"), loc=v.loc) for v in values]
        first = [syntax.Assign(name, value, loc=loc) for name, value in zip(held, values)]
        return [*first, *(syntax.Assign(self._target(t), held[k], loc=loc) for t, k in targets)]

    def array_update(self, call: ast.Call) -> syntax.Assign | None:
        """Returns the assignment for a call that changes an array: A.fill(x), np.copyto(A, x) or np.add(x, y, out=A).

        None is returned for any other call.
        """
        loc, function = self.expressions.text.loc(call), self.expressions.value(call.func)
        match call:
            case ast.Call(func=ast.Attribute(value=array, attr="fill"), args=[value], keywords=[]) if self.expressions.is_local(
                array
            ):
                number = syntax.Function("number", (self.expressions.expr(value),), loc=loc)
                return syntax.Assign(self._all_of(array), number, loc=loc)
            case ast.Call(args=[array, value], keywords=[]) if function is np.copyto:
                copied = self.expressions.expr(value)
                return syntax.Assign(self._all_of(array), copied, in_place=not isinstance(copied, syntax.Const), loc=loc)
            case ast.Call(args=[array, index, value], keywords=[]) if (op := lookup(_AT, function)) is not None:
                place = ast.copy_location(ast.Subscript(array, index, ast.Store()), call)
                target, added = self._target(place), self.expressions.expr(value)
                made = syntax.Function("at", (target, added), (("op", op),), loc=loc)
                return syntax.Assign(target, made, loc=loc)
        out = [
            keyword.value
            for keyword in call.keywords
            if keyword.arg == "out" and self.expressions.constant(keyword.value) is MISSING
        ]
        known = lookup(elementwise_functions.FUNCTIONS, function)
        args = call.args
        if known is not None and len(args) == known[2] + 1 and not out:
            *args, last = args
            out = [last]
        if not out or known is None and lookup(array_signatures.FUNCTIONS, function) is None:
            return None
        target = self._all_of(out[0])
        rest = ast.Call(call.func, list(args), [keyword for keyword in call.keywords if keyword.arg != "out"])
        return syntax.Assign(target, self.expressions.expr(ast.copy_location(rest, call)), in_place=True, loc=loc)

    def _all_of(self, array: ast.expr) -> syntax.Part:
        """Returns `A[...]` for an array A, as the target of an assignment to all its elements."""
        return syntax.Part(self.expressions.array_expr(array), (syntax.Dots(),), loc=self.expressions.text.loc(array))

    def augmented(self, stmt: ast.AugAssign) -> syntax.Stmt:
        """Returns the assignment for `target op= value`."""
        loc = self.expressions.text.loc(stmt)
        target, value = self._target(stmt.target), self.expressions.expr(stmt.value)
        if isinstance(stmt.op, ast.MatMult):
            result: syntax.Expr = syntax.Function("matmul", (target, value), loc=loc)
        else:
            result = syntax.Binary(BINARY[type(stmt.op)], target, value, loc=loc)
        return syntax.Assign(target, result, in_place=True, loc=loc)

    def _target(self, node: ast.expr) -> syntax.Name | syntax.Subscript | syntax.Part:
        if isinstance(node, ast.Attribute) and node.attr in ("real", "imag"):
            return syntax.Part(self.expressions.expr(node), (syntax.Dots(),), loc=self.expressions.text.loc(node))
        if not isinstance(node, ast.Subscript):
            return self.local(node)
        target = self.expressions.expr(node)
        if not isinstance(target, (syntax.Subscript, syntax.Part)):
            raise self.expressions.error(node, "a shape cannot be assigned", _STORES)
        return target

    def local(self, node: ast.expr) -> syntax.Name:
        """Returns the local name to which a target assigns.

        If the name is a parameter of an inlined function that has one known value so far, it is an ordinary local from here on;
        NotAffineError is raised where that would be so on some paths alone. LanguageError is raised where the target is no name.
        """
        if not isinstance(node, ast.Name):
            raise self.expressions.error(node, f"cannot assign to {spelled(node)} in a kernel", _STORES)
        if node.id in self.expressions.known:
            if self.loops or self.branches:
                kept = f"`{node.id}` is {self.expressions.known[node.id]!r} on one path and something else on another"
                raise self.expressions.not_affine(node, kept, "a name for each", "PML-F023")
            del self.expressions.known[node.id]
        return syntax.Name(self.expressions.renamed.get(node.id, node.id), loc=self.expressions.text.loc(node))


def _independent(targets: Sequence[syntax.Name | syntax.Subscript | syntax.Part], values: Sequence[syntax.Expr]) -> bool:
    """Returns whether `a, b = x, y` may run as `a = x; b = y`: nothing that is assigned is read afterwards."""
    for position, target in enumerate(targets):
        subscripts = (i for t in targets[position + 1 :] for i in operands(t))
        later = [node for expr in (*values[position + 1 :], *subscripts) for node in nodes(expr)]
        if isinstance(target, syntax.Name):
            conflicts = (name_of(node) == target.name for node in later)
        else:  # two arrays may share memory
            conflicts = (isinstance(node, (syntax.Subscript, syntax.Part, syntax.Function)) for node in later)
        if any(conflicts):
            return False
    return True


def allocation(parser: ExpressionParser, node: ast.expr) -> str | None:
    """Returns NumPy's name of the function that `node` calls, such as "zeros_like", if that allocates an array, else None."""
    return lookup(elementwise_functions.ALLOCATIONS, parser.value(node.func)) if isinstance(node, ast.Call) else None


def alloc(parser: ExpressionParser, name: str, call: ast.Call, loc: Loc) -> syntax.Alloc:
    """Returns the Alloc for `name = call`, where the call is one of NumPy's allocations."""
    function = allocation(parser, call)
    if function is None:
        raise TypeError(f"not an allocation: {ast.unparse(call)}")
    stem, like = function.removesuffix("_like"), function.endswith("_like")
    source = "a" if like else "shape"
    given = _bound(parser, call, function, (source, "fill_value", "dtype") if stem == "full" else (source, "dtype"))
    shape = syntax.Like(parser.array(given[source]), loc=parser.text.loc(given[source])) if like else _shape(parser, given[source])
    fill = _fill(parser, stem, given, call)
    default = shape if like else None if stem == "full" else F64
    return syntax.Alloc(name, shape, _element(parser, given.get("dtype"), default), fill, loc=loc)


def _bound(parser: ExpressionParser, call: ast.Call, function: str, slots: Sequence[str]) -> dict[str, ast.expr]:
    """Returns the arguments of a call by parameter; dtype may be missing.

    slots: the parameters in order. Raises LanguageError for arguments that the function does not take, and for missing ones.
    """
    accepted = f"np.{function}({', '.join(slots)})"
    for argument in (*call.args[len(slots) :], *(a for a in call.args if isinstance(a, ast.Starred))):
        raise parser.error(argument, f"np.{function} does not take this in a kernel", accepted)
    given = dict(zip(slots, call.args))
    for keyword in call.keywords:
        if keyword.arg is None or keyword.arg not in slots or keyword.arg in given:
            raise parser.error(keyword, f"np.{function} does not take this in a kernel", accepted)
        given[keyword.arg] = keyword.value
    for slot in slots:
        if slot != "dtype" and slot not in given:
            raise parser.error(call, f"np.{function} needs {slot}", accepted)
    return given


def _shape(parser: ExpressionParser, node: ast.expr) -> tuple[syntax.Expr, ...] | syntax.Like:
    if isinstance(node, ast.Attribute) and node.attr == "shape":
        return syntax.Like(parser.array(node.value), loc=parser.text.loc(node))
    if isinstance(node, (ast.Tuple, ast.List)):
        return tuple(map(parser.expr, node.elts))
    if isinstance(known := parser.constant(node), tuple):
        return tuple(parser.number(node, part) for part in known)
    return (parser.expr(node),)


def _fill(parser: ExpressionParser, stem: str, given: dict[str, ast.expr], call: ast.Call) -> syntax.Expr | None:
    if stem == "full":
        return parser.expr(given["fill_value"])
    return syntax.Const(_CONSTANTS[stem], loc=parser.text.loc(call)) if stem in _CONSTANTS else None


def _element(parser: ExpressionParser, node: ast.expr | None, default) -> DType | syntax.Like | syntax.TypeOf | None:
    if isinstance(node, ast.Call) and parser.value(node.func) is np.result_type and node.args and not node.keywords:
        loc = parser.text.loc(node)
        return syntax.TypeOf(syntax.Function("result_type", tuple(map(parser.expr, node.args)), loc=loc), loc=loc)
    if node is None or parser.constant(node) is None:
        return default
    if isinstance(node, ast.Attribute) and node.attr == "dtype" and parser.is_local(node.value):
        return syntax.Like(parser.array(node.value), loc=parser.text.loc(node))
    value = node.value if isinstance(node, ast.Constant) else parser.value(node)
    dtype = None if value is MISSING or value is None else elementwise_functions.dtype_of(value)
    if dtype is None:
        raise parser.error(
            node,
            "this is not an element type of the language",
            f"{ACCEPTED}, A.dtype, or np.result_type(A, B)",
        )
    return dtype
