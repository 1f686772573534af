"""What makes lists that grow, of numbers, of tuples and of lists, and their memory, as lists of numbers.

    adj = [[] for _ in range(n)]    ->    alloc heads[n, 3] = 0; blocks = []
    adj[u].append(v)                ->    if length == room:      of list u, in heads[u]
                                              begin, room = len(blocks), 2*length + 4
                                              the elements are copied to the new block, behind all others
                                          blocks[begin + length] = v; length += 1

A list of tuples is a list for each number of a tuple. The blocks of lists in a list are parts of one list that grows, so that they are
freed with it; a block that became too small stays behind unused, which at most doubles what is in use.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from polyml.frontend import name_resolution, syntax
from polyml.frontend.parsing.expression_parser import ExpressionParser
from polyml.frontend.parsing.functions.library_texts import call_of
from polyml.frontend.parsing.lists.uses import ElementForm
from polyml.frontend.parsing.sequences.values import (
    BEGIN,
    LENGTH,
    LISTS,
    ROOM,
    AnyList,
    InnerList,
    ListOf,
    ListsOf,
    RecordsOf,
    head,
    length_of,
)
from polyml.source import Loc

_LEAST_ROOM = 4  # of how many elements a block is made at least


class ListMemory:
    """A ListMemory adds the statements that make lists and store elements in them before the one that is parsed."""

    def __init__(self, expressions: ExpressionParser):
        self._expressions = expressions

    def begun(self, name: str, form: ElementForm, length: syntax.Expr | None, loc: Loc) -> AnyList:
        """Returns a new list without elements, or of so many lists without elements. length: None for none"""
        if not form.lists:
            columns = self._columns(name, form.width, loc)
            return RecordsOf(columns) if form.width else columns[0]
        own = self._unused(f"{name}_heads")
        if length is None:
            heads = self._numbers(own, loc)
        else:
            heads = ListOf(own, 2)
            kind = syntax.TypeOf(syntax.Const(0, loc=loc), "listed", loc=loc)
            sizes = (syntax.Binary("max", length, syntax.Const(0, loc=loc), loc=loc), syntax.Const(3, loc=loc))
            self._add(syntax.Alloc(own, sizes, kind, syntax.Const(0, loc=loc), loc=loc))
        return ListsOf(heads, self._columns(name, form.width, loc), bool(form.width))

    def emptied(self, listed: AnyList, loc: Loc) -> None:
        """Adds the statements that leave a list without elements."""
        zero = syntax.Const(0, loc=loc)
        if isinstance(listed, InnerList):
            self._add(syntax.Assign(head(listed, LENGTH), zero, loc=loc))
            return
        assert isinstance(listed, (ListOf, RecordsOf))
        for each in columns_of(listed):
            self._add(counted(each, zero, loc))

    def shortened(self, listed: AnyList, loc: Loc) -> None:
        """Adds the statements that take the last element from a list, which has one."""
        one, length = syntax.Const(1, loc=loc), length_of(listed, loc)
        less = syntax.Binary("-", length, one, loc=loc)
        if isinstance(listed, InnerList):
            self._add(syntax.Assign(head(listed, LENGTH), less, loc=loc))
            return
        for each in columns_of(listed):
            self._add(counted(each, syntax.Binary("-", syntax.Name(each.count, loc=loc), one, loc=loc), loc))

    def stored(self, listed: AnyList, values: Sequence[syntax.Expr], loc: Loc) -> None:
        """Adds the statements that store an element behind the last one of a list. values: a number, or those of a tuple, held by names"""
        if isinstance(listed, InnerList):
            self._stored_in_block(listed, values, loc)
            return
        for each, value in zip(columns_of(listed), values, strict=True):
            self._expressions.before += appended(each, value, loc)

    def new_inner(self, lists: ListsOf, loc: Loc) -> InnerList:
        """Adds the statements that store a list without elements behind the last one of a list of lists, and returns it."""
        number = syntax.Name(self._expressions.fresh("_number"), loc=loc)
        self._add(syntax.Assign(number, length_of(lists, loc), loc=loc))
        for _ in (BEGIN, LENGTH, ROOM):
            self._expressions.before += appended(lists.heads, syntax.Const(0, loc=loc), loc)
        return InnerList(lists, number)

    def _stored_in_block(self, inner: InnerList, values: Sequence[syntax.Expr], loc: Loc) -> None:
        blocks = inner.lists.blocks
        length, room, k = (syntax.Name(self._expressions.fresh(stem), loc=loc) for stem in ("_length", "_room", "_item"))
        larger = syntax.Binary("+", syntax.Binary("*", length, syntax.Const(2)), syntax.Const(_LEAST_ROOM), loc=loc)
        moved: list[syntax.Stmt] = [syntax.Assign(room, larger, loc=loc)]
        for block, value in zip(blocks, values, strict=True):
            count = syntax.Name(block.count, loc=loc)
            first = syntax.Subscript(block.array, (syntax.Call("behind", (count, room), loc=loc),), loc=loc)
            to, of = (
                syntax.Subscript(block.array, (syntax.Binary("+", begin, k),), inside=True) for begin in (count, head(inner, BEGIN))
            )
            moved.append(syntax.Assign(first, value, loc=loc))  # in a place that the first element gets then
            copied = syntax.Assign(to, of, loc=loc)
            moved.append(syntax.For(k.name, syntax.Const(0, loc=loc), length, 1, (copied,), loc=loc))
        begin = syntax.Name(blocks[0].count, loc=loc)
        moved += [syntax.Assign(head(inner, BEGIN), begin, loc=loc), syntax.Assign(head(inner, ROOM), room, loc=loc)]
        moved += [counted(each, syntax.Binary("+", syntax.Name(each.count, loc=loc), room), loc) for each in blocks]
        self._add(syntax.Assign(length, head(inner, LENGTH), loc=loc))
        is_full = syntax.Compare("==", length, head(inner, ROOM), loc=loc)
        self._add(syntax.If(is_full, tuple(moved), loc=loc))
        place = syntax.Binary("+", head(inner, BEGIN), length)
        for block, value in zip(blocks, values, strict=True):
            self._add(syntax.Assign(syntax.Subscript(block.array, (place,), inside=True, loc=loc), value, loc=loc))
        self._add(syntax.Assign(head(inner, LENGTH), syntax.Binary("+", length, syntax.Const(1)), loc=loc))

    def _columns(self, name: str, width: int, loc: Loc) -> tuple[ListOf, ...]:
        names = [name, *(self._unused(f"{name}_{k}") for k in range(1, width))]
        return tuple(self._numbers(each, loc) for each in names)

    def _numbers(self, name: str, loc: Loc) -> ListOf:
        """Returns a new list of numbers without elements, in an array of this name."""
        listed = ListOf(name, count=f"{name}.count")
        kind = syntax.TypeOf(syntax.Const(0, loc=loc), "listed", loc=loc)
        self._add(counted(listed, syntax.Const(0, loc=loc), loc))
        self._add(syntax.Alloc(name, (syntax.Name(listed.count, loc=loc),), kind, None, late=True, loc=loc))
        return listed

    def _unused(self, name: str) -> str:
        return name_resolution.unused(name, self._expressions.taken)

    def _add(self, stmt: syntax.Stmt) -> None:
        self._expressions.before.append(stmt)


def columns_of(listed: AnyList) -> tuple[ListOf, ...]:
    """Returns the lists of numbers that hold the elements of a list of numbers or tuples."""
    assert isinstance(listed, (ListOf, RecordsOf))
    return listed.columns if isinstance(listed, RecordsOf) else (listed,)


def counted(listed: ListOf, count: syntax.Expr, loc: Loc) -> syntax.Assign:
    """Returns the assignment of the number of a list's elements."""
    return syntax.Assign(syntax.Name(listed.count, loc=loc), count, loc=loc)


def appended(listed: ListOf, value: syntax.Expr, loc: Loc) -> tuple[syntax.Stmt, ...]:
    """Returns the statements that store a value behind the last element of a list of numbers."""
    count = syntax.Name(listed.count, loc=loc)
    place = syntax.Subscript(listed.array, (syntax.Call("behind", (count,), loc=loc),), loc=loc)
    more = syntax.Binary("+", count, syntax.Const(1, loc=loc), loc=loc)
    return syntax.Assign(place, value, loc=loc), counted(listed, more, loc)


class NewLists:
    """A NewLists tells which expressions of one function make lists."""

    def __init__(self, expressions: ExpressionParser):
        self._expressions = expressions

    def is_new(self, node: ast.expr) -> bool:
        """Returns whether an expression makes a new list, whatever its operands are."""
        match node:
            case ast.List():
                return True
            case ast.ListComp():
                return not any(part.is_async for part in node.generators)
            case ast.Subscript(value=ast.Name() | ast.Subscript() as base, slice=ast.Slice()):
                return isinstance(self._expressions.parts(base), LISTS)
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return any(isinstance(side, ast.List) for side in (left, right))
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return all(
                    self.is_new(side) or isinstance(side, ast.Name | ast.Subscript) and self._is_list(side)
                    for side in (left, right)
                )
            case ast.Call(func=function, args=[] | [_], keywords=[]) if self._expressions.value(function) is list:
                return True
            case ast.Call():
                return self.is_sorted(node) or self.as_call(node) is not node
        return False

    def _is_list(self, node: ast.expr) -> bool:
        return isinstance(self._expressions.parts(node), LISTS)

    def as_call(self, node: ast.expr) -> ast.expr:
        """Returns `out.copy()` of a list as `list(out)`, and all else as it is."""
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name() | ast.Subscript() as base, attr="copy"), args=[], keywords=[]):
                return call_of(self._expressions, list, base) if self._is_list(base) else node
        return node

    def with_source(self, form: ElementForm, node: ast.expr) -> ElementForm:
        """Returns what the elements of a list are, with what is known of a list from which they are."""
        match node:
            case ast.Subscript(value=source) | ast.Call(args=[source]) | ast.BinOp(left=source, op=ast.Add()):
                found = self._expressions.parts(source) if isinstance(source, (ast.Name, ast.Subscript)) else None
                if isinstance(found, RecordsOf):
                    return form | ElementForm(len(found.columns))
                if isinstance(found, InnerList) and found.lists.is_of_tuples:
                    return form | ElementForm(len(found.lists.blocks))
        return form

    def is_sorted(self, node: ast.expr) -> bool:
        """Returns whether an expression makes a sorted list."""
        match node:
            case ast.Call(func=function, args=[_], keywords=[] | [ast.keyword(arg="reverse", value=ast.Constant(value=bool()))]):
                return self._expressions.value(function) is sorted
        return False


def is_empty_list(node: ast.expr) -> bool:
    """Returns whether an expression makes a list without elements."""
    match node:
        case ast.List(elts=[]) | ast.Call(func=ast.Name(id="list"), args=[], keywords=[]):
            return True
    return False
