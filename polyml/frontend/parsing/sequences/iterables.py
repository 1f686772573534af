"""What `for` loops go over: ranges, the elements of arrays, and what `enumerate`, `zip` and `reversed` make of these and of tuples."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from polyml.frontend import syntax
from polyml.frontend.captures import MISSING
from polyml.frontend.constant_folding import constant
from polyml.frontend.parsing import array_signatures
from polyml.frontend.parsing.assignments import AssignmentParser
from polyml.frontend.parsing.expression_parser import ExpressionParser
from polyml.frontend.parsing.sequences.values import LISTS, AnyList, ListOf, ShapeOf, Value, element_of, grows, leaves, length_of

_OF_ELEMENTS = (range, enumerate, zip, reversed)
ITERABLES = "loops over ranges and arrays, `enumerate`, `zip` and `reversed` of these, and tuples that are written out"


@dataclass(frozen=True)
class Elements:
    """Elements are what a loop goes over.

    length: how many they are; none where it is negative
    value: returns an element, given its number
    in_both_directions: whether `reversed` takes it
    """

    length: syntax.Expr
    value: Callable[[syntax.Expr], Value]
    in_both_directions: bool = True


class IterableParser:
    """An IterableParser finds what the loops of one function go over."""

    def __init__(self, expressions: ExpressionParser, assignments: AssignmentParser):
        self._expressions, self._assignments = expressions, assignments

    def called(self, node: ast.expr) -> object:
        """Returns the function that a node calls; MISSING where it is no call of one that is known."""
        return self._expressions.value(node.func) if isinstance(node, ast.Call) else MISSING

    def backwards(self, node: ast.expr) -> tuple[syntax.Expr, syntax.Expr, int] | None:
        """Returns the range that has the numbers of another one from the last to the first, for `reversed(range(...))`; None for any
        other node.
        """
        if self.called(node) is not reversed or not isinstance(node, ast.Call) or len(node.args) != 1 or node.keywords:
            return None
        if self.called(node.args[0]) is not range:
            return None
        start, stop, step = self.range(node.args[0])
        loc, sign = start.loc, 1 if step > 0 else -1
        last: syntax.Expr = syntax.Binary("-", stop, syntax.Const(sign, loc=loc), loc=loc)
        if abs(step) != 1:  # the last number that is a whole number of steps behind the first
            steps = syntax.Binary("//", syntax.Binary("-", last, start, loc=loc), syntax.Const(step, loc=loc), loc=loc)
            last = syntax.Binary("+", start, syntax.Binary("*", steps, syntax.Const(step, loc=loc), loc=loc), loc=loc)
        return last, syntax.Binary("-", start, syntax.Const(sign, loc=loc), loc=loc), -step

    def written(self, node: ast.expr, bound: set[str]) -> tuple[Value, ...] | None:
        """Returns the parts that a loop goes over where it does over a tuple or list that is written out, a tuple that has a name, or what
        `enumerate`, `zip` and `reversed` make of these; None for all else.
        """
        if isinstance(node, ast.Call):
            called = self.called(node)
            if not any(called is each for each in (enumerate, zip, reversed)) or node.keywords or not node.args:
                return None
            if not all(isinstance(each, (ast.Tuple, ast.List, ast.Name, ast.Attribute, ast.Subscript)) for each in node.args):
                return None
            if not all(self._is_tuple(each) for each in node.args):
                return None
            each = [self.written(argument, bound) or () for argument in node.args]
            if called is zip:
                return tuple(zip(*each))
            if len(each) != 1:
                return None
            numbered = ((syntax.Const(k, loc=self._expressions.text.loc(node)), part) for k, part in enumerate(each[0]))
            return tuple(numbered) if called is enumerate else each[0][::-1]
        if isinstance(node, ast.List):
            node = ast.copy_location(ast.Tuple(node.elts, ast.Load()), node)
        parts = self._expressions.parts(node)
        return tuple(self._held_part(part, bound) for part in parts) if isinstance(parts, tuple) else None

    def _is_tuple(self, node: ast.expr) -> bool:
        """Returns whether an expression, which is not evaluated, is a tuple or a list that is written out."""
        return isinstance(node, (ast.Tuple, ast.List)) or isinstance(self._expressions.parts(node), tuple)

    def _held_part(self, value: Value, bound: set[str]) -> Value:
        if isinstance(value, tuple):
            return tuple(self._held_part(part, bound) for part in value)
        return value if isinstance(value, (ShapeOf, *LISTS)) else self._held(value, bound)

    def elements(self, node: ast.expr, bound: set[str]) -> Elements:
        """Returns what a loop over a node goes over.

        bound: the names that the loop binds, which may stand for something else before it
        """
        called = self.called(node)
        if isinstance(node, ast.Call) and any(called is each for each in _OF_ELEMENTS):
            if any(isinstance(argument, ast.Starred) for argument in node.args) or node.keywords and called is not enumerate:
                raise self._refused(node)
            if called is range:
                return self._numbers(node, bound)
            if called is enumerate:
                return self._numbered(node, bound)
            if called is reversed and len(node.args) == 1:
                return self._reversed(self.elements(node.args[0], bound), node)
            if called is zip and node.args:
                return self._together([self.elements(argument, bound) for argument in node.args])
        listed = self._expressions.parts(node) if isinstance(node, (ast.Name, ast.Subscript)) else None
        if isinstance(listed, LISTS):
            return self._items(listed, node)
        is_part = isinstance(node, (ast.Name, ast.Subscript)) or isinstance(node, ast.Attribute) and node.attr == "T"
        is_computed = isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare))
        is_computed |= isinstance(node, ast.Call) and (self._expressions.is_numpy(node.func) or self._is_method(node))
        if not (is_computed or (is_part or isinstance(node, ast.Call)) and self._expressions.is_local(node)):
            raise self._refused(node)
        return self._rows(node, bound)

    def _items(self, listed: AnyList, node: ast.expr) -> Elements:
        """Returns the elements of a list."""
        held, loc = self._expressions.held(listed), self._expressions.text.loc(node)
        assert isinstance(held, LISTS)

        def value(number: syntax.Expr) -> Value:
            return element_of(held, number, loc, inside=not isinstance(held, ListOf))

        length = length_of(held, loc)
        if grows(held):  # the loop may change it
            name = syntax.Name(self._expressions.fresh("_held"), loc=loc)
            self._expressions.before.append(syntax.Assign(name, length, loc=loc))
            length = name
        return Elements(length, value)

    def _is_method(self, node: ast.Call) -> bool:
        """Returns whether a call is one of a method of an array, such as A.flatten()."""
        method = node.func
        if not isinstance(method, ast.Attribute) or method.attr not in array_signatures.METHODS:
            return False
        return self._expressions.is_computed(method.value)

    def _refused(self, node: ast.expr) -> Exception:
        what = "a loop over something that is neither a range nor an array is not static control"
        return self._expressions.not_affine(node, what, ITERABLES, "PML-F008")

    def _rows(self, node: ast.expr, bound: set[str]) -> Elements:
        """Returns the elements of an array, or its rows where it has several dimensions."""
        array, loc = self._expressions.array_expr(node), self._expressions.text.loc(node)
        if not isinstance(array, syntax.Name) or array.name in bound:
            name = syntax.Name(self._expressions.fresh("_rows"), loc=loc)
            self._expressions.before.append(syntax.Assign(name, array, loc=loc))
            array = name
        length = syntax.Shape(array.name, 0, loc=loc)
        return Elements(length, lambda number: syntax.Part(array, (number,), loc=loc))

    def _numbers(self, node: ast.Call, bound: set[str]) -> Elements:
        """Returns the numbers of a range. Those of Python's begin with a number of any integer type, and are ints."""
        start, stop, step = self.range(node)
        if not self._is_python_int(start):
            raise self._refused(node)
        is_known = self._is_python_int(stop)
        start, stop, loc = self._held(start, bound), self._held(stop, bound), start.loc
        length = stop if _is(start, 0) else syntax.Binary("-", stop, start, loc=loc)
        if step != 1:
            far = length if step > 0 else syntax.Unary("-", length, loc=loc)
            rounded = syntax.Binary("+", far, syntax.Const(abs(step) - 1, loc=loc), loc=loc)
            length = syntax.Binary("//", rounded, syntax.Const(abs(step), loc=loc), loc=loc)

        def value(number: syntax.Expr) -> syntax.Expr:
            moved = number if step == 1 else syntax.Binary("*", number, syntax.Const(step, loc=loc), loc=loc)
            return moved if _is(start, 0) else syntax.Binary("+", start, moved, loc=loc)

        return Elements(length, value, in_both_directions=is_known)

    def _is_python_int(self, value: syntax.Expr) -> bool:
        """Returns whether a value is one of Python's ints, whatever the arguments are."""
        match value:
            case syntax.Const(value=number):
                return type(number) is int
            case syntax.Shape():
                return True
            case syntax.Name(name=name):
                return name in {self._expressions.renamed.get(var, var) for var in self._assignments.loops}
            case syntax.Unary(op="-", operand=operand):
                return self._is_python_int(operand)
            case syntax.Binary(op="+" | "-" | "*" | "//" | "%" | "min" | "max", left=left, right=right):
                return self._is_python_int(left) and self._is_python_int(right)
        return False

    def _numbered(self, call: ast.Call, bound: set[str]) -> Elements:
        """Returns what `enumerate` makes of elements."""
        given = [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg == "start")]
        if len(call.args) not in (1, 2) or len(given) != len(call.args) + len(call.keywords) or len(given) > 2:
            raise self._refused(call)
        elements = self.elements(given[0], bound)
        first: syntax.Expr = syntax.Const(0, loc=elements.length.loc)
        if len(given) == 2:
            first = self._expressions.expr(given[1])
            if not self._is_python_int(first):
                raise self._refused(call)
            first = self._held(first, bound)

        def value(number: syntax.Expr) -> Value:
            return (number if _is(first, 0) else syntax.Binary("+", first, number, loc=first.loc), elements.value(number))

        return Elements(elements.length, value, in_both_directions=False)

    def _reversed(self, elements: Elements, call: ast.Call) -> Elements:
        if not elements.in_both_directions:
            raise self._refused(call)
        loc = elements.length.loc
        last = syntax.Binary("-", elements.length, syntax.Const(1, loc=loc), loc=loc)
        return Elements(
            elements.length, lambda number: elements.value(syntax.Binary("-", last, number, loc=loc)), in_both_directions=False
        )

    def _together(self, each: Sequence[Elements]) -> Elements:
        """Returns what `zip` makes of several elements: as many as the shortest of them has."""
        length = each[0].length
        for elements in each[1:]:
            length = syntax.Binary("min", length, elements.length, loc=length.loc)
        return Elements(length, lambda number: tuple(elements.value(number) for elements in each), in_both_directions=False)

    def bound_names(self, stmt: ast.For) -> set[str]:
        """Returns the names in the kernel of what a loop binds."""
        names = {n.id for n in ast.walk(stmt) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        parts = {
            part.name for name in names for part in leaves(self._expressions.tuples.get(name, ())) if isinstance(part, syntax.Name)
        }
        return {self._expressions.renamed.get(name, name) for name in names} | parts

    def _held(self, value: syntax.Expr, bound: set[str]) -> syntax.Expr:
        """Returns a value that is computed before the loop: as it is, where the loop cannot change it, else a name for it."""
        if isinstance(value, syntax.Const):
            return value
        if (
            isinstance(value, syntax.Name)
            and value.name not in bound
            or isinstance(value, syntax.Shape)
            and value.array not in bound
        ):
            return value
        name = syntax.Name(self._expressions.fresh("_held"), loc=value.loc)
        self._expressions.before.append(syntax.Assign(name, value, loc=value.loc))
        return name

    def range(self, call: ast.expr) -> tuple[syntax.Expr, syntax.Expr, int]:
        """Returns the start, the stop and the constant step of a range."""
        return self.limits(call, self.range_values(call))

    def range_values(self, call: ast.expr) -> list[syntax.Expr]:
        """Returns the arguments of a range."""
        assert isinstance(call, ast.Call)
        self._expressions.no_keywords(call, "range")
        if not 1 <= len(call.args) <= 3:
            raise self._expressions.error(
                call,
                f"range takes 1 to 3 numbers, not {len(call.args)}",
                "range(stop), range(start, stop), range(start, stop, step)",
            )
        return [self._expressions.expr(a) for a in call.args]

    def limits(self, call: ast.expr, values: Sequence[syntax.Expr]) -> tuple[syntax.Expr, syntax.Expr, int]:
        """Returns the start, the stop and the constant step of a range, given its arguments."""
        assert isinstance(call, ast.Call)
        if len(values) == 1:
            return syntax.Const(0, loc=self._expressions.text.loc(call)), values[0], 1
        return values[0], values[1], self._step(call.args[2], values[2]) if len(values) == 3 else 1

    def _step(self, node: ast.expr, value: syntax.Expr) -> int:
        step = constant(value)
        if isinstance(value, syntax.Const) and isinstance(value.value, np.integer):
            step = int(value.value)
        if type(step) is not int or step == 0:
            raise self._expressions.error(
                node,
                "the step of a range must be a constant that is not zero",
                "a literal, or a global or closure value that is an int",
            )
        return step


def _is(value: syntax.Expr, number: int) -> bool:
    return isinstance(value, syntax.Const) and type(value.value) is int and value.value == number
