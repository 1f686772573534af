"""Lists that grow: what makes them, and the methods that change how many elements they have.

    out = []                         alloc out[n.count]; n.count = 0
    for x in A:              ->      for k in range(0, A.shape[0]):
        out.append(x)                    out[behind(n.count)] = A[k]; n.count = n.count + 1

A list is one that grows where it begins without elements, or where its name has such a method. The memory is the lowering's
(`arrays.sequences.growing_lists`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from polyml.frontend import name_resolution, syntax
from polyml.frontend.parsing.assignments import AssignmentParser
from polyml.frontend.parsing.builtin_reductions import own_names
from polyml.frontend.parsing.functions.inner_functions import InnerFunction
from polyml.frontend.parsing.sequences.list_uses import (
    growing_names,
    grows_in_call,
    has_other_names,
    is_evaluated_first,
    is_moved_once,
)
from polyml.frontend.parsing.sequences.values import SEQUENCES, ListOf, lists_in
from polyml.source import Loc

_COMPILED = "`out.append(x)`, `out.extend(v)`, `out.pop()`, `out.clear()` of a list that begins as `out = []`"


class GrowingLists:
    """A GrowingLists turns the lists of one function that grow, and their methods, into statements of `syntax`.

    body: returns the statements that a block becomes
    current: returns the statement that is parsed
    function: the function's syntax tree
    """

    def __init__(
        self,
        assignments: AssignmentParser,
        body: Callable[[Sequence[ast.stmt]], tuple[syntax.Stmt, ...]],
        current: Callable[[], ast.stmt | None],
        function: ast.FunctionDef,
    ):
        self._assignments, self._expressions = assignments, assignments.expressions
        self._body, self._current, self._function = body, current, function

    def grows(self, name: str, node: ast.expr) -> bool:
        """Returns whether the list that an expression makes grows. name: to which it is bound, "" for none"""
        match node:
            case ast.List(elts=[]) | ast.Call(args=[]):
                return True
            case ast.ListComp(generators=parts) if len(parts) > 1 or parts[0].ifs or self._is_growing(parts[0].iter):
                return True
            case ast.Call(args=[operand]) if self._is_growing(operand):
                return True
        if not name or name in growing_names(self._function):
            return bool(name)
        return grows_in_call(self._function, name, self._expressions.python_function)

    def listed(self, node: ast.expr) -> ListOf | None:
        """Returns the list that grows for which a name stands; None for any other expression."""
        found = self._expressions.parts(node) if isinstance(node, ast.Name) else None
        return found if isinstance(found, ListOf) and found.count else None

    def _is_growing(self, node: ast.expr) -> bool:
        return self.listed(node) is not None

    def bound(self, target: ast.Name, node: ast.expr) -> None:
        """Adds the statements that make a list before the one that is parsed, after binding a name to it."""
        current = self.listed(target)
        if current is None or not self._is_inside:
            made = self.made(node, name_resolution.unused(target.id, self._expressions.taken))
            self._assignments.sequence_bound(target, made)
            return
        if has_other_names(self._function, target.id) or len(self._names_of(current)) > 1:
            raise self._refused(target, f"`{target.id}`, a list that has two names, is bound anew in a loop or branch")
        loc = self._expressions.text.loc(node)
        is_empty = isinstance(node, ast.List) and not node.elts
        copy = None if is_empty else self.made(node, self._expressions.fresh("_list"))
        self._expressions.before.append(_counted(current, syntax.Const(0, loc=loc), loc))
        if copy is not None:
            self.copied(current, copy, loc)

    @property
    def _is_inside(self) -> bool:
        """Returns whether the statement that is parsed stands in a loop or branch."""
        return bool(self._assignments.loops or self._assignments.branches)

    def moved(self, stmt: ast.Assign) -> bool:
        """Returns whether a statement in a loop gives a list the elements of another one, which nothing mentions again before it is a new
        list. Statements that copy them are then added before the one that is parsed.
        """
        match stmt.targets, stmt.value:
            case [ast.Name() as target], ast.Name() as value:
                is_moved, then = is_moved_once(self._function, stmt, target.id, value.id), None
            case [ast.Tuple(elts=[ast.Name() as target, ast.Name() as other])], ast.Tuple(
                elts=[ast.Name() as value, ast.List(elts=[])]
            ):
                alone = not any(has_other_names(self._function, name, stmt) for name in (target.id, other.id))
                is_moved, then = alone and other.id == value.id, self.listed(value)
            case _:
                return False
        to, of, loc = self.listed(target), self.listed(value), self._expressions.text.loc(stmt)
        if to is None or of is None or to.array == of.array or not self._is_inside or not is_moved:
            return False
        self._expressions.before.append(_counted(to, syntax.Const(0, loc=loc), loc))
        self.copied(to, of, loc)
        if then is not None:
            self._expressions.before.append(_counted(then, syntax.Const(0, loc=loc), loc))
        return True

    def copied(self, to: ListOf, made: ListOf, loc: Loc) -> None:
        """Adds the loop that appends the elements of one list to another one."""
        index = syntax.Name(self._expressions.fresh("_item"), loc=loc)
        element = syntax.Subscript(made.array, (index,), inside=True, loc=loc)
        start = syntax.Const(0, loc=loc)
        self._expressions.before.append(syntax.For(index.name, start, _length(made, loc), 1, _appended(to, element, loc), loc=loc))

    def made(self, node: ast.expr, name: str) -> ListOf:
        """Returns the list that an expression makes in an array of this name, whose statements are added before the one that is parsed."""
        expressions, loc = self._expressions, self._expressions.text.loc(node)
        listed = ListOf(name, count=f"{name}.count")
        values = [expressions.held(expressions.expr(each)) for each in node.elts] if isinstance(node, ast.List) else []
        kind = syntax.TypeOf(syntax.Const(0, loc=loc), "listed", loc=loc)
        expressions.before += [
            _counted(listed, syntax.Const(0, loc=loc), loc),
            syntax.Alloc(name, (syntax.Name(listed.count, loc=loc),), kind, None, late=True, loc=loc),
        ]
        for value in values:
            assert isinstance(value, syntax.Expr)
            expressions.before += _appended(listed, value, loc)
        match node:
            case ast.List() | ast.Call(args=[]):
                return listed
            case ast.ListComp():
                self._collect(listed, node)
            case ast.Call(args=[operand]):
                item = expressions.fresh("_item")
                part = ast.comprehension(ast.Name(item, ast.Store()), operand, [], 0)
                self._collect(listed, ast.copy_location(ast.ListComp(ast.Name(item, ast.Load()), [part]), node))
            case ast.BinOp(left=left, right=right):
                written, count = (left, right) if isinstance(left, ast.List) else (right, left)
                assert isinstance(written, ast.List)
                each = [expressions.held(expressions.expr(element)) for element in written.elts]
                times = expressions.expr(count)
                body = tuple(stmt for value in each if isinstance(value, syntax.Expr) for stmt in _appended(listed, value, loc))
                begin = syntax.Const(0, loc=loc)
                expressions.before.append(syntax.For(expressions.fresh("_item"), begin, times, 1, body, loc=loc))
        return listed

    def _names_of(self, listed: ListOf) -> set[str]:
        """Returns the names in the function's text that stand for a list."""
        written = {node.id for node in ast.walk(self._function) if isinstance(node, ast.Name)}
        tuples = self._expressions.tuples
        return {
            name
            for name in written & tuples.keys()
            for value in (tuples[name],)
            if isinstance(value, ListOf) and value.array == listed.array
        }

    def is_array_of(self, array: str) -> bool:
        """Returns whether an array holds the elements of a list that grows."""
        return any(each.count and each.array == array for each in lists_in(self._expressions.tuples.values()))

    def changes(self, listed: ListOf, body: Sequence[ast.stmt]) -> bool:
        """Returns whether statements may change how many elements a list has: by a method, an assignment, or a function that gets it."""
        names = self._names_of(listed)

        def is_own(node: ast.AST) -> bool:
            return isinstance(node, ast.Name) and node.id in names

        for node in (node for stmt in body for node in ast.walk(stmt)):
            match node:
                case ast.Call(func=ast.Attribute(value=value)) if is_own(value):
                    return True
                case ast.Call(args=args) if (called := self._expressions.python_function(node)) is not None:
                    if isinstance(called, InnerFunction) or any(is_own(part) for each in args for part in ast.walk(each)):
                        return True
                case ast.Name(ctx=ast.Store()) if is_own(node):
                    return True
        return False

    def refusal(self, node: ast.expr, body: Sequence[ast.stmt]) -> str:
        """Returns what is not compiled of the lists that a loop goes over, "" where all is: their names are bound anew in the loop's body, or the
        body changes how many elements a list has, as in a loop over `enumerate(out)` or `zip(out, A)`.
        """
        nodes = [each for stmt in body for each in ast.walk(stmt)]
        stored = {each.id for each in nodes if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
        for each in _gone_over(node):
            listed = self._expressions.parts(each) if isinstance(each, (ast.Name, ast.Subscript)) else None
            if isinstance(listed, ListOf) and stored & self._names_of(listed):
                return "a list whose name the loop over it binds anew"
            if isinstance(listed, ListOf) and listed.count and each is not node and self.changes(listed, body):
                return "a list that the loop changes, inside of what it goes over"
        return ""

    def _collect(self, listed: ListOf, node: ast.ListComp | ast.GeneratorExp) -> None:
        """Adds the loops that append what a comprehension makes."""
        element, parts = own_names(node, self._expressions.fresh)
        name = self._expressions.fresh("_listed")
        self._expressions.tuples[name] = listed
        append = ast.Call(ast.Attribute(ast.Name(name, ast.Load()), "append", ast.Load()), [element], [])
        body: ast.stmt = ast.Expr(append)
        for part in reversed(parts):
            for condition in reversed(part.ifs):
                body = ast.If(condition, [body], [])
            body = ast.For(part.target, part.iter, [body], [])
        for each in ast.walk(body):
            if isinstance(each, (ast.expr, ast.stmt)) and not hasattr(each, "lineno"):
                ast.copy_location(each, node)
        names = {n.id for n in ast.walk(body) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        self._expressions.locals |= names | {name}
        self._expressions.before += self._body([body])

    # Methods

    def changed(self, call: ast.Call) -> bool:
        """Returns whether a call that is a statement is a method that changes a list, whose statements it then adds before the one that is parsed."""
        method = call.func
        found = (
            self._expressions.parts(method.value)
            if isinstance(method, ast.Attribute) and isinstance(method.value, ast.Name)
            else None
        )
        if not isinstance(method, ast.Attribute) or not isinstance(found, ListOf):
            return False
        loc = self._expressions.text.loc(call)
        match method.attr, call.args, call.keywords:
            case _ if not found.count:
                raise self._refused(call, f"`.{method.attr}()` of a list of fixed length")
            case "append", [value], []:
                self._append(found, value, loc)
            case "pop", _, []:
                self.popped(call, found)
            case "clear", [], []:
                self._expressions.before.append(_counted(found, syntax.Const(0, loc=loc), loc))
            case "extend", [values], []:
                self.extended(found, values)
            case _:
                raise self._refused(call, f"`.{method.attr}()` of a list")
        return True

    def joined(self, stmt: ast.AugAssign) -> bool:
        """Returns whether a statement is `out += v` of a list and what is a list too, whose statements it then adds before itself."""
        listed = self.listed(stmt.target)
        if listed is None or not isinstance(stmt.op, ast.Add):
            return False
        if not isinstance(stmt.value, (ast.List, ast.ListComp)) and self.listed(stmt.value) is None:
            raise self._refused(stmt.value, "what is not a list, added to one")
        self.extended(listed, stmt.value)
        return True

    def _append(self, listed: ListOf, node: ast.expr, loc: Loc) -> None:
        value = self._expressions.evaluated(node)
        if isinstance(value, SEQUENCES):
            what = "a list in a list" if isinstance(value, ListOf) else "a tuple in a list"
            raise self._refused(node, f"{what} that grows")
        self._expressions.before += _appended(listed, value, loc)

    def extended(self, listed: ListOf, values: ast.expr) -> None:
        """Adds the loop that appends each of several values to a list."""
        if isinstance(values, ast.ListComp) and self._names_of(listed) & {
            n.id for n in ast.walk(values) if isinstance(n, ast.Name)
        }:
            self.copied(listed, self.made(values, self._expressions.fresh("_list")), self._expressions.text.loc(values))
        elif isinstance(values, (ast.ListComp, ast.GeneratorExp)):
            self._collect(listed, values)
        elif isinstance(values, (ast.List, ast.Tuple)):
            held = [self._expressions.held(self._expressions.expr(each)) for each in values.elts]
            loc = self._expressions.text.loc(values)
            for each in held:
                assert isinstance(each, syntax.Expr)
                self._expressions.before += _appended(listed, each, loc)
        else:
            other = self.listed(values)
            if other is not None and other.array == listed.array:
                raise self._refused(values, "a list that is extended by itself")
            item = self._expressions.fresh("_item")
            part = ast.comprehension(ast.Name(item, ast.Store()), values, [], 0)
            self._collect(listed, ast.copy_location(ast.ListComp(ast.Name(item, ast.Load()), [part]), values))

    def popped(self, call: ast.Call, listed: ListOf) -> syntax.Name:
        """Returns the name of the element that `out.pop()` takes from a list, by statements that are added before the one that is parsed."""
        expressions, loc = self._expressions, self._expressions.text.loc(call)
        method, current = call.func, self._current()
        if not listed.count or not isinstance(method, ast.Attribute) or method.attr != "pop" or call.keywords or len(call.args) > 1:
            raise self._refused(call, f"`{ast.unparse(call)}`")
        if current is None or not is_evaluated_first(current, call):
            raise self._refused(call, "`.pop()` behind what may raise an error or read the list", "`x = out.pop()`")
        one, count = syntax.Const(1, loc=loc), syntax.Name(listed.count, loc=loc)
        index = expressions.held(expressions.expr(call.args[0])) if call.args else None
        none = syntax.Compare("==", count, syntax.Const(0, loc=loc), loc=loc)
        result = syntax.Name(expressions.fresh("_popped"), loc=loc)
        last = syntax.Binary("-", count, one, loc=loc)
        expressions.before.append(syntax.If(none, (syntax.Raise("IndexError", ("pop from empty list",), loc=loc),), loc=loc))
        if isinstance(index, syntax.Expr) and index != syntax.Const(-1):
            self._take(listed, index, result, loc)
            expressions.before.append(_counted(listed, last, loc))
            return result
        taken = syntax.Subscript(listed.array, (count,), inside=True, loc=loc)
        expressions.before += [_counted(listed, last, loc), syntax.Assign(result, taken, loc=loc)]
        return result

    def _take(self, listed: ListOf, index: syntax.Expr, result: syntax.Name, loc: Loc) -> None:
        """Adds the statements that take an element out of a list and move all behind it."""
        expressions, zero, one = self._expressions, syntax.Const(0, loc=loc), syntax.Const(1, loc=loc)
        count, place = syntax.Name(listed.count, loc=loc), syntax.Name(expressions.fresh("_place"), loc=loc)
        number = syntax.Call("index", (index,), "builtins", loc=loc)
        from_end = syntax.If(
            syntax.Compare("<", place, zero, loc=loc), (syntax.Assign(place, syntax.Binary("+", place, count), loc=loc),), loc=loc
        )
        outside = syntax.Logical("or", (syntax.Compare("<", place, zero), syntax.Compare(">=", place, count)), loc=loc)
        wrong = syntax.Raise("IndexError", ("pop index out of range",), loc=loc)
        k = syntax.Name(expressions.fresh("_item"), loc=loc)
        here, behind = (syntax.Subscript(listed.array, (at,), inside=True, loc=loc) for at in (k, syntax.Binary("+", k, one)))
        moved = syntax.For(k.name, place, syntax.Binary("-", count, one), 1, (syntax.Assign(here, behind, loc=loc),), loc=loc)
        expressions.before += [
            syntax.Assign(place, number, loc=loc),
            from_end,
            syntax.If(outside, (wrong,), loc=loc),
            syntax.Assign(result, syntax.Subscript(listed.array, (place,), inside=True, loc=loc), loc=loc),
            moved,
        ]

    def _refused(self, node: ast.expr, what: str, accepted: str = _COMPILED) -> Exception:
        return self._expressions.not_affine(node, what, accepted, "PML-F006")


def _gone_over(node: ast.expr) -> Iterator[ast.expr]:
    """Yields what a loop over a node goes over, where that is what `enumerate`, `zip` and `reversed` make of it too."""
    match node:
        case ast.Call(func=ast.Name(id="enumerate" | "zip" | "reversed"), args=args):
            for each in args:
                yield from _gone_over(each)
        case _:
            yield node


def _length(listed: ListOf, loc: Loc) -> syntax.Expr:
    return syntax.Shape(listed.array, 0, loc=loc)


def _counted(listed: ListOf, count: syntax.Expr, loc: Loc) -> syntax.Assign:
    """Returns the assignment of the number of a list's elements."""
    return syntax.Assign(syntax.Name(listed.count, loc=loc), count, loc=loc)


def _appended(listed: ListOf, value: syntax.Expr, loc: Loc) -> tuple[syntax.Stmt, ...]:
    """Returns the statements that store a value behind the last element of a list."""
    count = syntax.Name(listed.count, loc=loc)
    place = syntax.Subscript(listed.array, (syntax.Call("behind", (count,), loc=loc),), loc=loc)
    more = syntax.Binary("+", count, syntax.Const(1, loc=loc), loc=loc)
    return syntax.Assign(place, value, loc=loc), _counted(listed, more, loc)
