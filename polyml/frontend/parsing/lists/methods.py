"""The methods of lists that grow, `+=`, `del` and `in`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace

from polyml.frontend import syntax
from polyml.frontend.library import lists
from polyml.frontend.parsing.assignments import AssignmentParser
from polyml.frontend.parsing.functions.library_texts import call_of
from polyml.frontend.parsing.lists.growing import GrowingLists
from polyml.frontend.parsing.lists.replacements import has_element_names
from polyml.frontend.parsing.lists.uses import (
    ElementForm,
    has_other_names,
    is_evaluated_first,
    is_given_up,
    is_moved_once,
)
from polyml.frontend.parsing.sequences.values import (
    LISTS,
    AnyList,
    InnerList,
    ListOf,
    ListsOf,
    RecordsOf,
    Value,
    element_of,
    grows,
    leaves,
    length_of,
)
from polyml.source import Loc


class ListMethods(GrowingLists):
    """A ListMethods turns calls of methods of one function's lists into statements of `syntax`, and asks lists for what `in` asks."""

    def __init__(
        self,
        assignments: AssignmentParser,
        body: Callable[[Sequence[ast.stmt]], tuple[syntax.Stmt, ...]],
        current: Callable[[], ast.stmt | None],
        function: ast.FunctionDef,
    ):
        super().__init__(assignments, body, current, function)
        assignments.expressions.is_in_list = self.contains

    def changed(self, call: ast.Call) -> bool:
        """Returns whether a call that is a statement is a method that changes a list, whose statements it then adds before the one that is parsed."""
        method = call.func
        is_part = isinstance(method, ast.Attribute) and isinstance(method.value, (ast.Name, ast.Subscript))
        found = self._expressions.parts(method.value) if isinstance(method, ast.Attribute) and is_part else None
        if not isinstance(method, ast.Attribute) or not isinstance(found, LISTS):
            return False
        loc = self._expressions.text.loc(call)
        match method.attr, call.args, call.keywords:
            case _ if not grows(found) or isinstance(found, ListsOf) and method.attr in lists.METHODS:
                raise self._refused(call, f"`.{method.attr}()` of a list of fixed length")
            case "append", [value], []:
                self._append(found, value, loc)
            case "pop", _, []:
                self.popped(call, found)
            case "clear", [], [] if not isinstance(found, ListsOf):
                self._memory.emptied(found, loc)
            case "extend", [values], []:
                self.extended(found, values)
            case "sort", [], [ast.keyword(arg="reverse", value=ast.Constant(value=bool(is_down)))]:
                self._runs(lists.sort, method.value)
                if is_down:
                    self._runs(lists.reverse, method.value)
            case ("insert", [_, _], []) | ("remove", [_], []) | ("reverse" | "sort", [], []):
                self._runs(lists.METHODS[method.attr], method.value, *call.args)
            case "count", [_], []:
                self.popped(call, found)
            case _:
                raise self._refused(call, f"`.{method.attr}()` of a list")
        return True

    def _deleted(self, stmt: ast.Delete) -> bool:
        """Returns whether a statement takes an element out of a list, by statements that it then adds before itself."""
        match stmt.targets:
            case [ast.Subscript(value=base, slice=place)] if not isinstance(place, ast.Slice):
                listed = self.listed(base)
                if listed is None or isinstance(listed, ListsOf):
                    return False
                self._runs(lists.delete, base, place)
                return True
        return False

    def contains(self, node: ast.expr, value: ast.expr) -> syntax.Expr:
        """Returns whether a value is in a list. node: the expression of the list"""
        return self._asked(lists.contains, node, value)

    def _runs(self, function: Callable, *args: ast.expr) -> None:
        """Adds the statements of a function of the library that changes a list."""
        self._expressions.before += self._body([ast.copy_location(ast.Expr(call_of(self._expressions, function, *args)), args[0])])

    def _asked(self, function: Callable, *args: ast.expr) -> syntax.Expr:
        """Returns the number that a function of the library gives for a list. Raises NotAffineError for a list of lists or tuples."""
        if not isinstance(self._expressions.parts(args[0]), ListOf | InnerList):
            raise self._refused(args[0], f"`{function.__name__}` of a list of lists or tuples")
        return self._expressions.expr(call_of(self._expressions, function, *args))

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
        if to is None or of is None or to == of or not self._is_inside or not is_moved:
            return False
        if any(isinstance(each, (ListsOf, InnerList)) for each in (to, of)):
            return False
        self._memory.emptied(to, loc)
        self.copied(to, of, stmt.value)
        if then is not None:
            self._memory.emptied(then, loc)
        return True

    def replaced(self, stmt: ast.Assign) -> bool:
        """Returns whether a statement stores a new list in the place of one in a list of lists, which it then does before the one that is
        parsed: the old one is emptied and gets the elements. Raises NotAffineError where a name may stand for the old one.
        """
        match stmt.targets:
            case [ast.Subscript(value=ast.Name() as base, slice=place) as target] if not isinstance(place, ast.Slice):
                outer, node, current = self._expressions.parts(base), self.new.as_call(stmt.value), self._current()
            case _:
                return False
        if not isinstance(outer, ListsOf):
            return False
        given = (
            self.listed(node) if isinstance(node, ast.Name) and current and is_given_up(self._function, current, node.id) else None
        )
        names, stored = self._names_of(outer), {n.id for n in ast.walk(self._function) if isinstance(n, ast.Name) and _is_stored(n)}
        if (
            len(names) > 1
            or base.id not in stored
            or has_other_names(self._function, base.id)
            or has_element_names(self._function, names)
        ):
            raise self._refused(
                target, "a list in a list of lists that is replaced where a name may stand for it", "`w[i].clear()`"
            )
        if isinstance(given, (ListsOf, InnerList)) or given is None and not self.new.is_new(node):
            what = "a list that the text may go on with under its name, in a list of lists"
            raise self._refused(node, what, "`w[i] = []`, `w[i] = list(row)`")
        form = ElementForm(len(outer.blocks) if outer.is_of_tuples else 0)
        is_empty = isinstance(node, ast.List) and not node.elts
        made = given if given is not None or is_empty else self.made(node, self._expressions.fresh("_list"), form)
        inner, loc = self._expressions.parts(target), self._expressions.text.loc(target)
        assert isinstance(inner, InnerList) and isinstance(inner.number, syntax.Call)
        held = self._held(replace(inner, number=replace(inner.number, module="list assignment")))
        self._memory.emptied(held, loc)
        if made is not None:
            self.copied(held, made, node)
        return True

    def joined(self, stmt: ast.AugAssign | ast.Delete) -> bool:
        """Returns whether a statement is `del out[k]`, or `out += v` of a list and what is a list too, whose statements it then adds before itself."""
        if isinstance(stmt, ast.Delete):
            return self._deleted(stmt)
        listed = self.listed(stmt.target)
        if listed is None or not isinstance(stmt.op, ast.Add):
            return False
        if not isinstance(stmt.value, (ast.List, ast.ListComp)) and self.listed(stmt.value) is None:
            raise self._refused(stmt.value, "what is not a list, added to one")
        self.extended(listed, stmt.value)
        return True

    def popped(self, call: ast.Call, listed: AnyList) -> Value:
        """Returns the name of the element that `out.pop()` takes from a list, by statements that are added before the one that is parsed."""
        expressions, loc = self._expressions, self._expressions.text.loc(call)
        method, current = call.func, self._current()
        match method, call.args, call.keywords:
            case ast.Attribute(value=node, attr="count"), [value], []:
                return self._asked(lists.count, node, value)
        if (
            not grows(listed)
            or isinstance(listed, ListsOf)
            or not isinstance(method, ast.Attribute)
            or method.attr != "pop"
            or call.keywords
            or len(call.args) > 1
        ):
            raise self._refused(call, f"`{ast.unparse(call)}`")
        if current is None or not is_evaluated_first(current, call):
            raise self._refused(call, "`.pop()` behind what may raise an error or read the list", "`x = out.pop()`")
        listed = self._held(listed)
        assert isinstance(listed, (ListOf, RecordsOf, InnerList))
        index = expressions.held(expressions.expr(call.args[0])) if call.args else None
        none = syntax.Compare("==", length_of(listed, loc), syntax.Const(0, loc=loc), loc=loc)
        expressions.before.append(syntax.If(none, (syntax.Raise("IndexError", ("pop from empty list",), loc=loc),), loc=loc))
        if isinstance(index, syntax.Expr) and index != syntax.Const(-1):
            result = self._take(listed, index, loc)
            self._memory.shortened(listed, loc)
            return result
        self._memory.shortened(listed, loc)
        return self._popped_value(element_of(listed, length_of(listed, loc), loc, inside=True), loc)

    def _popped_value(self, value: Value, loc: Loc) -> Value:
        """Returns names for the numbers of an element, which a list then need not have any more."""
        names = []
        for each in leaves(value):
            names.append(syntax.Name(self._expressions.fresh("_popped"), loc=loc))
            self._expressions.before.append(syntax.Assign(names[-1], each, loc=loc))
        return tuple(names) if isinstance(value, tuple) else names[0]

    def _take(self, listed: ListOf | RecordsOf | InnerList, index: syntax.Expr, loc: Loc) -> Value:
        """Adds the statements that take an element out of a list and move all behind it, and returns it."""
        expressions, zero, one = self._expressions, syntax.Const(0, loc=loc), syntax.Const(1, loc=loc)
        count, place = length_of(listed, loc), syntax.Name(expressions.fresh("_place"), loc=loc)
        number = syntax.Call("index", (index,), "builtins", loc=loc)
        from_end = syntax.If(
            syntax.Compare("<", place, zero, loc=loc), (syntax.Assign(place, syntax.Binary("+", place, count), loc=loc),), loc=loc
        )
        outside = syntax.Logical("or", (syntax.Compare("<", place, zero), syntax.Compare(">=", place, count)), loc=loc)
        wrong = syntax.Raise("IndexError", ("pop index out of range",), loc=loc)
        k = syntax.Name(expressions.fresh("_item"), loc=loc)
        here, behind = (leaves(element_of(listed, at, loc, inside=True)) for at in (k, syntax.Binary("+", k, one)))
        body = tuple(syntax.Assign(to, of, loc=loc) for to, of in zip(here, behind) if isinstance(to, syntax.Subscript))
        expressions.before += [syntax.Assign(place, number, loc=loc), from_end, syntax.If(outside, (wrong,), loc=loc)]
        result = self._popped_value(element_of(listed, place, loc, inside=True), loc)
        expressions.before.append(syntax.For(k.name, place, syntax.Binary("-", count, one), 1, body, loc=loc))
        return result


def _is_stored(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)
