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

from polyml.frontend import syntax
from polyml.frontend.captures import MISSING
from polyml.frontend.constant_folding import constant
from polyml.frontend.parsing.assignments import AssignmentParser
from polyml.frontend.parsing.functions.inner_functions import is_read_inside
from polyml.frontend.parsing.jumps import Jumps
from polyml.frontend.parsing.lists.growing import GrowingLists
from polyml.frontend.parsing.sequences import array_tuples
from polyml.frontend.parsing.sequences.iterables import ITERABLES, Elements, IterableParser
from polyml.frontend.parsing.sequences.values import LISTS, AnyList, ListOf, ShapeOf, Value, element_of, length_of
from polyml.frontend.traversal import nodes
from polyml.source import Loc

MOST_PARTS = 32  # of a tuple that is written out, for each of which a loop's body is there once


class ForLoopParser:
    """A ForLoopParser turns the loops of one function into statements of `syntax`.

    body: returns the statements that a block becomes
    function: the function's syntax tree
    jumps: where `break` and `continue` lead
    growing: the lists that grow
    """

    def __init__(
        self,
        assignments: AssignmentParser,
        body: Callable[[Sequence[ast.stmt]], tuple[syntax.Stmt, ...]],
        function: ast.FunctionDef,
        jumps: Jumps,
        growing: GrowingLists,
    ):
        self._expressions, self._assignments, self._body, self._function = assignments.expressions, assignments, body, function
        self._jumps, self._iterables, self._growing = jumps, IterableParser(assignments.expressions, assignments), growing
        self._around: list[ast.For] = []

    def loop(self, stmt: ast.For) -> tuple[syntax.Stmt, ...]:
        """Returns the statements that a loop becomes."""
        self._around.append(stmt)
        try:
            with self._jumps.loop() as loop:
                made = self._made(stmt)
        finally:
            self._around.pop()
        self._assignments.branches += 1  # a `break` leaves it out
        orelse = self._body(stmt.orelse)
        self._assignments.branches -= 1
        return loop.with_else(made, orelse, self._expressions.text.loc(stmt, stmt.iter))

    def elements(self, node: ast.expr) -> Elements:
        """Returns what a comprehension goes over."""
        return self._iterables.elements(node, set())

    def _made(self, stmt: ast.For) -> Sequence[syntax.Stmt]:
        bound = self._iterables.bound_names(stmt)
        if refusal := self._growing.refusal(stmt.iter, stmt.body):
            raise self._expressions.not_affine(
                stmt.iter, refusal, "a name for each list, and numbers such as `range(len(out))`", "PML-F008"
            )
        parts = self._iterables.written(stmt.iter, bound)
        if parts is not None:
            return self._over_parts(stmt, parts)
        if isinstance(stmt.target, ast.Name) and self._iterables.called(stmt.iter) is range:
            values = self._iterables.range_values(stmt.iter)
            if len(values) == 3 and constant(values[2]) is MISSING and not isinstance(values[2], syntax.Const):
                return (self._over_steps(stmt, stmt.target, values),)
            return (self._over_range(stmt, stmt.target, self._iterables.limits(stmt.iter, values)),)
        if isinstance(stmt.target, ast.Name) and (numbers := self._iterables.backwards(stmt.iter)) is not None:
            return (self._over_range(stmt, stmt.target, numbers),)
        listed = self._growing.listed(stmt.iter)
        if listed is not None and self._growing.changes(listed, stmt.body):
            return self._over_changed(stmt, listed)
        return (self._over_elements(stmt, self._iterables.elements(stmt.iter, bound)),)

    def _over_range(self, stmt: ast.For, target: ast.Name, numbers: tuple[syntax.Expr, syntax.Expr, int]) -> syntax.For:
        """Returns the loop over the numbers of a range, given its start, stop and step."""
        start, stop, step = numbers
        var, outer = target.id, self._expressions.renamed
        self._assignments.bind(target)
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
            if all(map(self._is_known_at_entry, (*nodes(start), *nodes(stop)))):
                runs = syntax.Compare("<" if step > 0 else ">", start, stop, loc=loc)
                what = f"a loop that does not run, behind which `{target.id}` has no value"
                self._expressions.before += [syntax.Require(runs, what, loc=loc), syntax.Assign(local, start, loc=loc)]
        self._assignments.loops.append(number.name)
        body = (syntax.Assign(local, number, loc=loc), *self._jumps.iteration(lambda: self._body(stmt.body)))
        self._assignments.loops.pop()
        return syntax.For(number.name, start, stop, step, body, loc=loc)

    def _over_steps(self, stmt: ast.For, target: ast.Name, values: Sequence[syntax.Expr]) -> syntax.For:
        """Returns the loop over a range whose step is computed: over the numbers of its iterations, of which the variable is made.

            for q in range(a, b, s):    ->    for k in range(0, (b - a + s - sign)//s):
                                                  q = a + k*s

        values: the start, the stop and the step
        """
        var, loc = target.id, self._expressions.text.loc(stmt, stmt.iter)
        if var in self._assignments.loops:
            told = f"`{var}` is the variable of a loop around this one"
            raise self._expressions.error(target, told, "a variable of its own for each nested loop")
        start, stop, step = (syntax.Name(self._expressions.fresh(stem), loc=loc) for stem in ("_start", "_stop", "_step"))
        for name, value in zip((start, stop, step), values):
            self._expressions.before.append(syntax.Assign(name, syntax.Call("index", (value,), loc=value.loc), loc=loc))
        none = syntax.Compare("==", step, syntax.Const(0, loc=loc), loc=loc)
        refused = syntax.Raise("ValueError", ("range() arg 3 must not be zero",), loc=loc)
        self._expressions.before.append(syntax.If(none, (refused,), loc=loc))
        up = syntax.Compare(">", step, syntax.Const(0, loc=loc), loc=loc)
        sign = syntax.IfExp(up, syntax.Const(1, loc=loc), syntax.Const(-1, loc=loc), loc=loc)
        length: syntax.Expr = syntax.Binary("-", stop, start, loc=loc)
        length = syntax.Binary("+", length, syntax.Binary("-", step, sign, loc=loc), loc=loc)
        number = syntax.Name(self._expressions.fresh("_number"), loc=loc)
        moved = syntax.Binary("+", start, syntax.Binary("*", number, step, loc=loc), loc=loc)
        first = syntax.Assign(self._assignments.local(target), moved, loc=loc)
        self._assignments.loops.append(number.name)
        body = (first, *self._jumps.iteration(lambda: self._body(stmt.body)))
        self._assignments.loops.pop()
        return syntax.For(number.name, syntax.Const(0, loc=loc), syntax.Binary("//", length, step, loc=loc), 1, body, loc=loc)

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

    def _is_known_at_entry(self, node: syntax.Expr) -> bool:
        is_sum = isinstance(node, syntax.Binary) and node.op in ("+", "-", "*", "//") or isinstance(node, syntax.Unary)
        if isinstance(node, syntax.Shape) and self._growing.is_array_of(node.array):
            return False
        return is_sum or isinstance(node, (syntax.Const, syntax.Shape, syntax.Name))

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
        body = (*self.bind(target, value, loc), *self._jumps.iteration(lambda: self._body(stmt.body)))
        self._assignments.loops.pop()
        return syntax.For(index.name, syntax.Const(0, loc=loc), elements.length, 1, body, loc=loc)

    def _over_changed(self, stmt: ast.For, listed: AnyList) -> list[syntax.Stmt]:
        """Returns the loop over a list that its body changes: as long as there is an element behind the last one.

        for u in out: ...    ->    k = 0
                                   while k < len(out):
                                       u = out[k]; k = k + 1; ...
        """
        loc, held = self._expressions.text.loc(stmt, stmt.iter), self._expressions.held(listed)
        assert isinstance(held, LISTS)
        listed, number = held, syntax.Name(self._expressions.fresh("_number"), loc=loc)
        element = element_of(listed, number, loc, inside=True)
        more = syntax.Binary("+", number, syntax.Const(1, loc=loc), loc=loc)
        self._assignments.loops.append(number.name)
        first = [*self.bind(stmt.target, element, loc), syntax.Assign(number, more, loc=loc)]
        body = (*first, *self._jumps.iteration(lambda: self._body(stmt.body)))
        self._assignments.loops.pop()
        some = syntax.Compare("<", number, length_of(listed, loc), loc=loc)
        return [syntax.Assign(number, syntax.Const(0, loc=loc), loc=loc), syntax.While(some, body, loc=loc)]

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

    def bind(self, target: ast.expr, value: Value, loc: Loc) -> list[syntax.Stmt]:
        """Returns the assignments of an element to a loop's target, which may be a tuple of targets."""
        if isinstance(value, ShapeOf):
            raise self._expressions.not_affine(target, "a loop over shapes", ITERABLES, "PML-F008")
        if isinstance(value, ListOf) and isinstance(target, (ast.Tuple, ast.List)):
            value = array_tuples.parts_of_list(self._expressions, target, value, len(target.elts))
        if isinstance(value, syntax.Expr) and isinstance(target, (ast.Tuple, ast.List)):
            before, parts = array_tuples.rows(self._expressions, target, value, len(target.elts))
            return [*before, *self.bind(target, parts, loc)]
        if isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, tuple) and len(target.elts) == len(value):
            return [made for each, part in zip(target.elts, value) for made in self.bind(each, part, loc)]
        if not isinstance(value, (tuple, *LISTS)):
            return [syntax.Assign(self._assignments.local(target), value, loc=loc)]
        return [syntax.Assign(name, part, loc=loc) for name, part in self._assignments.matched(target, value, target)]

    def _over_parts(self, stmt: ast.For, parts: tuple[Value, ...]) -> list[syntax.Stmt]:
        """Returns the loop's body for each part of a tuple that is written out."""
        if len(parts) > MOST_PARTS:
            raise self._expressions.not_affine(stmt.iter, f"a loop over {len(parts)} values", f"at most {MOST_PARTS}", "PML-F008")
        loc, made = self._expressions.text.loc(stmt, stmt.iter), []
        jumps = any(isinstance(node, (ast.Break, ast.Continue)) for each in stmt.body for node in ast.walk(each))
        self._assignments.branches += jumps
        for value in parts:
            made += [*self.bind(stmt.target, value, loc), *self._jumps.iteration(lambda: self._body(stmt.body))]
        self._assignments.branches -= jumps
        return made


def _binds(loop: ast.For, var: str) -> bool:
    return any(isinstance(node, ast.Name) and node.id == var for node in ast.walk(loop.target))


def _begin(node: ast.expr | ast.stmt) -> tuple[int, int]:
    return node.lineno, node.col_offset
