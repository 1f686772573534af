"""`for` loops: over a range, over arrays, and over what `enumerate`, `zip` and `reversed` make of these.

    for i, (a, b) in enumerate(zip(A, B)):          for i in range(min(len(A), len(B))):
        ...                                             a = A[i]
                                                        b = B[i]
                                                        ...

A loop over a tuple or list that is written out becomes its body, once for each part.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Union

import numpy as np

from polyml.frontend import syntax
from polyml.frontend.captures import MISSING
from polyml.frontend.constant_folding import constant
from polyml.frontend.parsing.assignments import AssignmentParser
from polyml.frontend.parsing.expression_parser import ExpressionParser
from polyml.frontend.parsing.functions.inner_functions import is_read_inside
from polyml.frontend.parsing.jumps import Jumps
from polyml.frontend.traversal import nodes
from polyml.source import Loc

_OF_ELEMENTS = (range, enumerate, zip, reversed)
MOST_PARTS = 32  # of a tuple that is written out, for each of which a loop's body is there once
_ITERABLES = "loops over ranges and arrays, `enumerate`, `zip` and `reversed` of these, and tuples that are written out"

Value = Union[syntax.Expr, tuple["Value", ...]]  # what a loop's target gets


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


class ForLoopParser:
    """A ForLoopParser turns the loops of one function into statements of `syntax`.

    body: returns the statements that a block becomes
    function: the function's syntax tree
    jumps: where `break` and `continue` lead
    """

    def __init__(
        self,
        expressions: ExpressionParser,
        assignments: AssignmentParser,
        body: Callable[[Sequence[ast.stmt]], tuple[syntax.Stmt, ...]],
        function: ast.FunctionDef,
        jumps: Jumps,
    ):
        self._expressions, self._assignments, self._body, self._function = expressions, assignments, body, function
        self._jumps = jumps
        self._around: list[ast.For] = []

    def loop(self, stmt: ast.For) -> tuple[syntax.Stmt, ...]:
        """Returns the statements that a loop becomes."""
        self._around.append(stmt)
        try:
            with self._jumps.loop() as loop:
                made = self._made(stmt)
        finally:
            self._around.pop()
        return loop.with_else(made, self._body(stmt.orelse), self._expressions.text.loc(stmt, stmt.iter))

    def _made(self, stmt: ast.For) -> Sequence[syntax.Stmt]:
        if isinstance(stmt.iter, (ast.Tuple, ast.List)):
            return self._over_parts(stmt, stmt.iter)
        if isinstance(stmt.target, ast.Name) and self._called(stmt.iter) is range:
            return (self._over_range(stmt, stmt.target, self._range(stmt.iter)),)
        if isinstance(stmt.target, ast.Name) and (numbers := self._backwards(stmt.iter)) is not None:
            return (self._over_range(stmt, stmt.target, numbers),)
        return (self._over_elements(stmt, self._elements(stmt.iter, self._bound(stmt))),)

    def _called(self, node: ast.expr) -> object:
        """Returns the function that a node calls; MISSING where it is no call of one that is known."""
        return self._expressions.value(node.func) if isinstance(node, ast.Call) else MISSING

    def _over_range(self, stmt: ast.For, target: ast.Name, numbers: tuple[syntax.Expr, syntax.Expr, int]) -> syntax.For:
        """Returns the loop over the numbers of a range, given its start, stop and step."""
        start, stop, step = numbers
        var, outer = target.id, self._expressions.renamed
        if var in self._expressions.known:
            self._assignments.local(target)
        if var not in self._assignments.loops and (self._is_changed(stmt, var) or self._is_read_behind(stmt, var)):
            return self._over_numbers(stmt, target, numbers)
        if var in self._assignments.loops:
            if not self._is_only_inside(var):
                raise self._expressions.error(
                    target, f"`{var}` is the variable of a loop around this one", "a variable of its own for each nested loop"
                )
            self._expressions.renamed = {**outer, var: self._expressions.fresh("_" if var == "_" else f"{var}_")}
        self._assignments.loops.append(var)
        body = self._jumps.iteration(lambda: self._body(stmt.body))
        self._assignments.loops.pop()
        name, self._expressions.renamed = self._expressions.renamed.get(var, var), outer
        return syntax.For(name, start, stop, step, body, loc=self._expressions.text.loc(stmt, stmt.iter))

    def _over_numbers(self, stmt: ast.For, target: ast.Name, numbers: tuple[syntax.Expr, syntax.Expr, int]) -> syntax.For:
        """Returns the loop over a range whose variable is an ordinary local number, since the body assigns it or others read it behind
        the loop. A call in which the loop does not run, so that there is no such number, runs as plain Python.
        """
        start, stop, step = numbers
        number = syntax.Name(self._expressions.fresh("_number"), loc=start.loc)
        local, loc = self._assignments.local(target), self._expressions.text.loc(stmt, stmt.iter)
        if self._is_read_behind(stmt, target.id) and len(self._around) == 1 and not self._assignments.branches:
            if all(map(_is_known_at_entry, (*nodes(start), *nodes(stop)))):
                runs = syntax.Compare("<" if step > 0 else ">", start, stop, loc=loc)
                what = f"a loop that does not run, behind which `{target.id}` has no value"
                self._expressions.before += [syntax.Require(runs, what, loc=loc), syntax.Assign(local, start, loc=loc)]
        self._assignments.loops.append(number.name)
        body = (syntax.Assign(local, number, loc=loc), *self._jumps.iteration(lambda: self._body(stmt.body)))
        self._assignments.loops.pop()
        return syntax.For(number.name, start, stop, step, body, loc=loc)

    def _is_changed(self, stmt: ast.For, var: str) -> bool:
        """Returns whether the body of a loop assigns its variable, other than as that of a loop inside."""
        inside = [node for each in stmt.body for node in ast.walk(each)]
        others = {id(n) for loop in inside if isinstance(loop, ast.For) for n in ast.walk(loop.target)}
        return any(isinstance(n, ast.Name) and n.id == var and isinstance(n.ctx, ast.Store) and id(n) not in others for n in inside)

    def _is_read_behind(self, stmt: ast.For, var: str) -> bool:
        """Returns whether the variable of a loop may be read where the loop is over, as far as the places of the text tell: behind it,
        or before it in a loop around, but in no other loop that has the variable too.
        """
        first = self._around[0] if len(self._around) > 1 else stmt
        if first is stmt and self._is_bound_next(stmt, var):
            return False
        others = [loop for loop in ast.walk(self._function) if isinstance(loop, ast.For) and loop is not stmt]
        inside = {id(node) for loop in others if _binds(loop, var) and loop not in self._around for node in ast.walk(loop)}
        inside |= {id(node) for node in ast.walk(stmt)}
        reads = (n for n in ast.walk(self._function) if isinstance(n, ast.Name) and n.id == var and isinstance(n.ctx, ast.Load))
        return any(id(n) not in inside and _begin(n) > _begin(first) for n in reads)

    def _is_bound_next(self, stmt: ast.For, var: str) -> bool:
        """Returns whether the first statement behind a loop that mentions its variable assigns it anew, without reading it."""
        blocks = (getattr(node, name, None) for node in ast.walk(self._function) for name in ("body", "orelse"))
        found = (block for block in blocks if isinstance(block, list) and any(each is stmt for each in block))
        block = next(found, [stmt])  # a loop that is made of a call stands nowhere
        behind = block[next(k for k, each in enumerate(block) if each is stmt) + 1 :]
        mentions = (each for each in behind if any(isinstance(n, ast.Name) and n.id == var for n in ast.walk(each)))
        match next(mentions, None):
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name == var:
                return not any(isinstance(n, ast.Name) and n.id == var for n in ast.walk(value))
        return False

    def _backwards(self, node: ast.expr) -> tuple[syntax.Expr, syntax.Expr, int] | None:
        """Returns the range that has the numbers of another one from the last to the first, for `reversed(range(...))`; None for any
        other node.
        """
        if self._called(node) is not reversed or not isinstance(node, ast.Call) or len(node.args) != 1 or node.keywords:
            return None
        if self._called(node.args[0]) is not range:
            return None
        start, stop, step = self._range(node.args[0])
        loc, sign = start.loc, 1 if step > 0 else -1
        last: syntax.Expr = syntax.Binary("-", stop, syntax.Const(sign, loc=loc), loc=loc)
        if abs(step) != 1:  # the last number that is a whole number of steps behind the first
            steps = syntax.Binary("//", syntax.Binary("-", last, start, loc=loc), syntax.Const(step, loc=loc), loc=loc)
            last = syntax.Binary("+", start, syntax.Binary("*", steps, syntax.Const(step, loc=loc), loc=loc), loc=loc)
        return last, syntax.Binary("-", start, syntax.Const(sign, loc=loc), loc=loc), -step

    def _is_only_inside(self, var: str) -> bool:
        """Returns whether nothing that runs after the innermost loop reads its variable, which is that of a loop around it as well:
        it would have the inner loop's last value there. All that stands in a loop between these two may run after the inner one.
        """
        if is_read_inside(self._function, var):  # which a call may read anywhere
            return False
        *around, inner = self._around
        own = [place for place, loop in enumerate(around) if isinstance(loop.target, ast.Name) and loop.target.id == var]
        outer, between = self._around[own[-1] : own[-1] + 2]
        begin = inner if between is inner else inner.body[0]  # a loop between them computes the inner one's limits again
        reads = [n for n in ast.walk(self._function) if isinstance(n, ast.Name) and n.id == var and isinstance(n.ctx, ast.Load)]
        return all(
            _begin(outer) <= _begin(node) < _begin(between)
            or _begin(begin) <= _begin(node) <= (inner.end_lineno, inner.end_col_offset)
            for node in reads
        )

    def _over_elements(self, stmt: ast.For, elements: Elements) -> syntax.For:
        """Returns the loop over all elements, which begins with the assignments to the loop's target."""
        loc = self._expressions.text.loc(stmt, stmt.iter)
        target, name = stmt.target, self._number_of(stmt, elements)
        index = syntax.Name(self._expressions.renamed.get(name, name) if name else self._expressions.fresh("_row"), loc=loc)
        value = elements.value(index)
        if name and isinstance(target, ast.Tuple) and isinstance(value, tuple):
            target, value = ast.Tuple(target.elts[1:], ast.Store()), value[1:]
        self._assignments.loops.append(name or index.name)
        body = (*self._bind(target, value, loc), *self._jumps.iteration(lambda: self._body(stmt.body)))
        self._assignments.loops.pop()
        return syntax.For(index.name, syntax.Const(0, loc=loc), elements.length, 1, body, loc=loc)

    def _number_of(self, stmt: ast.For, elements: Elements) -> str:
        """Returns the first name of a loop's target where it is the number of the element and the body leaves it so, which may be
        the loop's variable; "" where it is something else.
        """
        number = syntax.Name("", loc=None)
        value = elements.value(number)
        first = stmt.target.elts[0] if isinstance(stmt.target, ast.Tuple) and stmt.target.elts else None
        if not isinstance(value, tuple) or value[0] is not number or not isinstance(first, ast.Name):
            return ""
        stores = sum(isinstance(n, ast.Name) and n.id == first.id and isinstance(n.ctx, ast.Store) for n in ast.walk(stmt))
        return first.id if stores == 1 and first.id not in self._assignments.loops else ""

    def _bind(self, target: ast.expr, value: Value, loc: Loc) -> list[syntax.Stmt]:
        """Returns the assignments of an element to a loop's target, which may be a tuple of targets."""
        if not isinstance(value, tuple):
            if isinstance(target, (ast.Tuple, ast.List)):
                raise self._expressions.not_affine(target, "an element of an array that is unpacked", _ITERABLES, "PML-F008")
            return [syntax.Assign(self._assignments.local(target), value, loc=loc)]
        if not isinstance(target, (ast.Tuple, ast.List)):
            raise self._expressions.not_affine(target, "a loop whose variable is a tuple", _ITERABLES, "PML-F008")
        if len(target.elts) != len(value):
            raise self._expressions.error(
                target, f"{len(value)} values for {len(target.elts)} targets", "as many values as targets"
            )
        return [made for each, part in zip(target.elts, value) for made in self._bind(each, part, loc)]

    def _over_parts(self, stmt: ast.For, parts: ast.Tuple | ast.List) -> list[syntax.Stmt]:
        """Returns the loop's body for each part of a tuple that is written out."""
        if len(parts.elts) > MOST_PARTS:
            raise self._expressions.not_affine(parts, f"a loop over {len(parts.elts)} values", f"at most {MOST_PARTS}", "PML-F008")
        bound = self._bound(stmt)
        values = [self._part(part, bound) for part in parts.elts]
        loc, made = self._expressions.text.loc(stmt, stmt.iter), []
        for value in values:
            made += [*self._bind(stmt.target, value, loc), *self._jumps.iteration(lambda: self._body(stmt.body))]
        return made

    def _part(self, node: ast.expr, bound: set[str]) -> Value:
        if isinstance(node, (ast.Tuple, ast.List)):
            return tuple(self._part(part, bound) for part in node.elts)
        return self._held(self._expressions.expr(node), bound)

    def _elements(self, node: ast.expr, bound: set[str]) -> Elements:
        """Returns what a loop over a node goes over.

        bound: the names that the loop binds, which may stand for something else before it
        """
        called = self._called(node)
        if isinstance(node, ast.Call) and any(called is each for each in _OF_ELEMENTS):
            if any(isinstance(argument, ast.Starred) for argument in node.args) or node.keywords and called is not enumerate:
                raise self._refused(node)
            if called is range:
                return self._numbers(node, bound)
            if called is enumerate:
                return self._numbered(node, bound)
            if called is reversed and len(node.args) == 1:
                return self._reversed(self._elements(node.args[0], bound), node)
            if called is zip and node.args:
                return self._together([self._elements(argument, bound) for argument in node.args])
        is_part = isinstance(node, (ast.Name, ast.Subscript)) or isinstance(node, ast.Attribute) and node.attr == "T"
        is_computed = isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare))
        is_computed |= isinstance(node, ast.Call) and self._expressions.is_numpy(node.func)
        if not (is_computed or (is_part or isinstance(node, ast.Call)) and self._expressions.is_local(node)):
            raise self._refused(node)
        return self._rows(node, bound)

    def _refused(self, node: ast.expr) -> Exception:
        what = "a loop over something that is neither a range nor an array is not static control"
        return self._expressions.not_affine(node, what, _ITERABLES, "PML-F008")

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
        start, stop, step = self._range(node)
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
        elements = self._elements(given[0], bound)
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

    def _bound(self, stmt: ast.For) -> set[str]:
        """Returns the names in the kernel of what a loop binds."""
        names = {n.id for n in ast.walk(stmt) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        return {self._expressions.renamed.get(name, name) for name in names}

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

    def _range(self, call: ast.expr) -> tuple[syntax.Expr, syntax.Expr, int]:
        """Returns the start, the stop and the step of a range."""
        assert isinstance(call, ast.Call)
        self._expressions.no_keywords(call, "range")
        if not 1 <= len(call.args) <= 3:
            raise self._expressions.error(
                call,
                f"range takes 1 to 3 numbers, not {len(call.args)}",
                "range(stop), range(start, stop), range(start, stop, step)",
            )
        values = [self._expressions.expr(a) for a in call.args]
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


def _binds(loop: ast.For, var: str) -> bool:
    return any(isinstance(node, ast.Name) and node.id == var for node in ast.walk(loop.target))


def _is_known_at_entry(node: syntax.Expr) -> bool:
    is_sum = isinstance(node, syntax.Binary) and node.op in ("+", "-", "*", "//") or isinstance(node, syntax.Unary)
    return is_sum or isinstance(node, (syntax.Const, syntax.Shape, syntax.Name))


def _begin(node: ast.expr | ast.stmt) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _is(value: syntax.Expr, number: int) -> bool:
    return isinstance(value, syntax.Const) and type(value.value) is int and value.value == number
