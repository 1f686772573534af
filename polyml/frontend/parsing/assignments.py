"""Assignments to names, elements and parts, of one target or several, calls that change an array, and allocations such as np.zeros."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from polyml.dtypes import ACCEPTED, F64, DType
from polyml.frontend import elementwise_functions, name_resolution, syntax
from polyml.frontend.captures import MISSING
from polyml.frontend.parsing import array_signatures
from polyml.frontend.parsing.calls import lookup
from polyml.frontend.parsing.expression_parser import BINARY, ExpressionParser
from polyml.frontend.parsing.functions.inner_functions import stores
from polyml.frontend.parsing.names import spelled
from polyml.frontend.parsing.sequences import array_tuples
from polyml.frontend.parsing.sequences.values import (
    SEQUENCES,
    AnyList,
    InnerList,
    ListOf,
    ListsOf,
    RecordsOf,
    ShapeOf,
    Value,
    has_shape,
    leaves,
    same_form,
)
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
        if len(targets) == 1 and isinstance(targets[0], ast.Subscript) and isinstance(value, (ast.List, ast.ListComp)):
            made = self.expressions.array_operand(value)
            place = self._target(targets[0])
            if isinstance(made, syntax.Function):  # elements are converted one by one to the type of the array
                made = replace(made, args=(*made.args, place), options=(*made.options, ("like", True)))
            return (syntax.Assign(place, made, loc=loc),)
        is_pattern = any(isinstance(target, (ast.Tuple, ast.List)) for target in targets)
        result = self._parts_or_value(value, targets) if is_pattern else self.expressions.evaluated(value)
        if isinstance(result, syntax.Const) and not is_pattern:
            return [syntax.Assign(self._target(t), result, loc=loc) for t in targets]
        if isinstance(result, ShapeOf):
            result = self._sizes(value, targets, result)
        stored = [pair for target in targets for pair in self.matched(target, result, value)]
        if len(targets) == 1 and _independent([t for t, _ in stored], [v for _, v in stored]):
            return [syntax.Assign(t, v, loc=loc) for t, v in stored]
        return self._through_temporaries(stored, loc)

    def _parts_or_value(self, value: ast.expr, targets: Sequence[ast.expr]) -> Value:
        """Returns what is unpacked: the parts of a tuple, or of a list that is written out, or an array."""
        counts = {len(target.elts) for target in targets if isinstance(target, (ast.Tuple, ast.List))}
        places = array_tuples.places(self.expressions, value, min(counts))
        if places is not None:
            return places
        known = MISSING if isinstance(value, (ast.Tuple, ast.List)) else self.expressions.constant(value)
        if isinstance(known, tuple):
            return tuple(self.expressions.number(value, part) for part in known)
        written = ast.copy_location(ast.Tuple(value.elts), value) if isinstance(value, ast.List) else value
        return self.expressions.evaluated(written)

    def _sizes(self, value: ast.expr, targets: Sequence[ast.expr], shape: ShapeOf) -> Value:
        """Returns what targets get of the shape of an array: all sizes, where the target has a name for each, else the shape."""
        loc = self.expressions.text.loc(value)
        patterns = {len(target.elts) for target in targets if isinstance(target, (ast.Tuple, ast.List))}
        if len(patterns) == 1 and all(isinstance(target, (ast.Tuple, ast.List)) for target in targets):
            [ndim] = patterns
            return tuple(syntax.Shape(shape.array, dim, ndim, loc=loc) for dim in range(ndim))
        if patterns or self.loops or self.branches:
            raise self.expressions.not_affine(value, "a shape in a loop or branch as a whole", "`A.shape[0]`", "PML-F006")
        match value:
            case ast.Attribute(value=ast.Name(id=name)) if stores(self.expressions.text.tree, name) == 1:
                return shape
        held = syntax.Name(self.expressions.fresh("_shaped"), loc=loc)
        self.expressions.before.append(syntax.Assign(held, syntax.Name(shape.array, loc=loc), loc=loc))
        return ShapeOf(held.name)

    def matched(self, target: ast.expr, value: Value, node: ast.expr) -> Sequence[tuple[syntax.Target, syntax.Expr]]:
        """Returns (target, value) of each number and array that an assignment stores.

        target: a name, element or part, or a tuple of targets
        value: the value that it gets
        node: the expression that has the value
        """
        if isinstance(target, (ast.Tuple, ast.List)):
            if isinstance(value, syntax.Expr):
                before, value = array_tuples.rows(self.expressions, node, value, len(target.elts))
                self.expressions.before += before
            if isinstance(value, ListOf):
                value = array_tuples.parts_of_list(self.expressions, node, value, len(target.elts))
            if not isinstance(value, tuple):
                raise self.expressions.error(node, "this cannot be unpacked", "a tuple for each tuple of targets")
            if len(value) != len(target.elts):
                raise self.expressions.error(
                    node, f"{len(value)} values for {len(target.elts)} targets", "as many values as targets"
                )
            return [pair for each, part in zip(target.elts, value) for pair in self.matched(each, part, node)]
        if not isinstance(value, SEQUENCES):
            return [(self._target(target), value)]
        if not isinstance(target, ast.Name):
            place = self.expressions.part_of_tuple(target) if isinstance(target, ast.Subscript) else None
            if (
                isinstance(place, tuple)
                and isinstance(value, tuple)
                and len(place) == len(value)
                and not any(map(has_shape, value))
            ):
                return [(to, of) for to, of in zip(leaves(place), leaves(value)) if isinstance(to, syntax.Subscript)]
            raise self.expressions.error(node, "a tuple is neither a number nor an array", _STORES)
        return self.sequence_bound(target, value)

    def sequence_bound(
        self, target: ast.Name, value: tuple[Value, ...] | ShapeOf | AnyList
    ) -> list[tuple[syntax.Name, syntax.Expr]]:
        """Binds a name to a tuple or list, and returns (name, value) for the names of its parts.

        NotAffineError is raised where the name may stand for something else on another path.
        """
        expressions, name, inside = self.expressions, target.id, bool(self.loops or self.branches)
        current = expressions.tuples.get(name)
        if (
            current is not None
            and same_form(current, value)
            and not any(isinstance(part, syntax.Const) for part in leaves(current))
        ):
            return list(zip(self._names_of(current), leaves(value)))
        if inside and (current is not None or name in expressions.bound or name in expressions.known):
            what = f"`{name}` is this tuple on one path and something else on another"
            raise expressions.not_affine(target, what, "a name for each", "PML-F023")
        expressions.known.pop(name, None)
        once = not inside and stores(expressions.text.tree, name) == 1
        made = self.named_parts(name, value, once)
        expressions.tuples[name] = made
        return [(part, held) for part, held in zip(leaves(made), leaves(value)) if isinstance(part, syntax.Name)]

    def named_parts(self, name: str, value: Value, once: bool) -> Value:
        """Returns a tuple with a name of its own for each number and array in it.

        once: whether the name is never bound anew, so that its constants stay what they are
        """
        if isinstance(value, (ShapeOf, RecordsOf, ListsOf)):
            return value
        if isinstance(value, InnerList):
            return replace(value, number=syntax.Name(name_resolution.unused(name, self.expressions.taken)))
        if isinstance(value, ListOf):
            return replace(
                value, indices=tuple(syntax.Name(name_resolution.unused(name, self.expressions.taken)) for _ in value.indices)
            )
        if isinstance(value, tuple):
            return tuple(self.named_parts(f"{name}_{k}", part, once) for k, part in enumerate(value))
        if once and isinstance(value, syntax.Const):
            return value
        return syntax.Name(name_resolution.unused(name, self.expressions.taken), loc=value.loc)

    def _names_of(self, current: Value) -> list[syntax.Name]:
        return [part for part in leaves(current) if isinstance(part, syntax.Name)]

    def _through_temporaries(self, stored: Sequence[tuple[syntax.Target, syntax.Expr]], loc: Loc) -> list[syntax.Stmt]:
        """Returns assignments that evaluate all values, each once, before they assign any of them.

        stored: (target, value), assigned from left to right
        """
        held: dict[int, syntax.Name] = {}
        first: list[syntax.Stmt] = []
        for _, value in stored:
            if id(value) not in held:
                held[id(value)] = syntax.Name(self.expressions.fresh("_value"), loc=value.loc)
                first.append(syntax.Assign(held[id(value)], value, loc=loc))
        return [*first, *(syntax.Assign(target, held[id(value)], loc=loc) for target, value in stored)]

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
            case ast.Call(func=ast.Attribute(value=array, attr="sort")) if self.expressions.is_local(array):
                rest = ast.Call(call.func, [array, *call.args], call.keywords)
                made = self.expressions.array_function(ast.copy_location(rest, call), ".sort", array_signatures.FUNCTIONS[np.sort])
                return syntax.Assign(self._all_of(array), made, loc=loc)
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
        if isinstance(stmt.target, ast.Name) and stmt.target.id in self.expressions.tuples:
            what = f"`{stmt.target.id}` is a tuple or list, which is changed as a whole"
            raise self.expressions.not_affine(stmt, what, "assignments to elements of lists", "PML-F006")
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
        self.bind(node)
        if node.id in self.expressions.known:
            if self.loops or self.branches:
                kept = f"`{node.id}` is {self.expressions.known[node.id]!r} on one path and something else on another"
                raise self.expressions.not_affine(node, kept, "a name for each", "PML-F023")
            del self.expressions.known[node.id]
        return syntax.Name(self.expressions.renamed.get(node.id, node.id), loc=self.expressions.text.loc(node))

    def bind(self, node: ast.Name) -> None:
        """Notes that a name is bound to something else than a tuple. NotAffineError is raised where it is a tuple on some paths alone."""
        if node.id in self.expressions.tuples:
            if self.loops or self.branches:
                what = f"`{node.id}` is a tuple on one path and something else on another"
                raise self.expressions.not_affine(node, what, "a name for each", "PML-F023")
            del self.expressions.tuples[node.id]
        self.expressions.bound.add(node.id)


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
    shape = (
        syntax.Like(parser.array_name(given[source]), loc=parser.text.loc(given[source])) if like else _shape(parser, given[source])
    )
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
        return syntax.Like(parser.array_name(node.value), loc=parser.text.loc(node))
    if not isinstance(node, (ast.Tuple, ast.List)) and isinstance(known := parser.constant(node), tuple):
        return tuple(parser.number(node, part) for part in known)
    found = None if isinstance(node, ast.List) else parser.parts(node)
    if isinstance(found, ShapeOf):
        return syntax.Like(found.array, loc=parser.text.loc(node))
    if found is not None and has_shape(found):
        raise parser.not_affine(node, "a list as a shape", "a tuple of sizes", "PML-F006")
    sizes = parser.flat(node) if found is None else found
    return (parser.expr(node),) if sizes is None else tuple(leaves(sizes))


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
        return syntax.Like(parser.array_name(node.value), loc=parser.text.loc(node))
    value = node.value if isinstance(node, ast.Constant) else parser.value(node)
    dtype = None if value is MISSING or value is None else elementwise_functions.dtype_of(value)
    if dtype is None:
        raise parser.error(
            node,
            "this is not an element type of the language",
            f"{ACCEPTED}, A.dtype, or np.result_type(A, B)",
        )
    return dtype
