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
from polyml.frontend.library import lists
from polyml.frontend.parsing.assignments import AssignmentParser
from polyml.frontend.parsing.builtin_reductions import own_names
from polyml.frontend.parsing.functions.inner_functions import InnerFunction
from polyml.frontend.parsing.functions.library_texts import call_of, slice_elements
from polyml.frontend.parsing.lists.memory import ListMemory, NewLists, columns_of, is_empty_list
from polyml.frontend.parsing.lists.replacements import replaces_elements
from polyml.frontend.parsing.lists.uses import (
    ElementForm,
    form_of,
    growing_names,
    grows_in_call,
    has_different_lengths,
    has_other_names,
    is_given_up,
    with_aliases,
)
from polyml.frontend.parsing.sequences.iterables import IterableParser
from polyml.frontend.parsing.sequences.values import (
    LISTS,
    SEQUENCES,
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
    lists_in,
)
from polyml.source import Loc

COMPILED = "`out.append(x)`, `out.extend(v)`, `out.pop()`, `out.clear()` of a list that begins as `out = []`"


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
        self.new = NewLists(assignments.expressions)
        self._memory, self._iterables = ListMemory(assignments.expressions), IterableParser(assignments.expressions, assignments)

    def grows(self, name: str, node: ast.expr) -> bool:
        """Returns whether the list that an expression makes grows. name: to which it is bound, "" for none"""
        match node:
            case ast.List(elts=[]) | ast.Call(args=[]):
                return True
            case ast.ListComp(generators=parts) if len(parts) > 1 or parts[0].ifs or self._is_growing(parts[0].iter):
                return True
            case ast.Call(args=[operand]) if self._is_growing(operand):
                return True
        if has_different_lengths(node) or isinstance(node, ast.ListComp) and isinstance(node.elt, ast.Tuple):
            return True
        if (
            isinstance(node, ast.Subscript)
            or isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Add)
            or self.new.is_sorted(node)
        ):
            return True
        if not name or name in growing_names(self._function):
            return bool(name)
        return grows_in_call(self._function, name, self._expressions.python_function)

    def listed(self, node: ast.expr) -> AnyList | None:
        """Returns the list that grows for which a name or an element stands; None for any other expression."""
        found = self._expressions.parts(node) if isinstance(node, (ast.Name, ast.Subscript)) else None
        return found if isinstance(found, LISTS) and grows(found) else None

    def _is_growing(self, node: ast.expr) -> bool:
        return self.listed(node) is not None

    def bound(self, target: ast.Name, node: ast.expr) -> None:
        """Adds the statements that make a list before the one that is parsed, after binding a name to it."""
        current = self.listed(target)
        form = form_of(self._function, target.id, node, self._expressions.python_function)
        if current is None or not self._is_inside:
            made = self.made(node, name_resolution.unused(target.id, self._expressions.taken), form)
            self._assignments.sequence_bound(target, made)
            return
        if (
            has_other_names(self._function, target.id)
            or len(self._names_of(current)) > 1
            or isinstance(current, (ListsOf, InnerList))
        ):
            raise self._refused(target, f"`{target.id}`, a list that has two names, is bound anew in a loop or branch")
        loc = self._expressions.text.loc(node)
        is_empty = isinstance(node, ast.List) and not node.elts
        copy = None if is_empty else self.made(node, self._expressions.fresh("_list"), form)
        self._memory.emptied(current, loc)
        if copy is not None:
            self.copied(current, copy, node)

    @property
    def _is_inside(self) -> bool:
        """Returns whether the statement that is parsed stands in a loop or branch."""
        return bool(self._assignments.loops or self._assignments.branches)

    def copied(self, to: AnyList, made: AnyList, node: ast.expr) -> None:
        """Adds the loop that appends the elements of one list to another one. node: the expression of these, for messages"""
        loc = self._expressions.text.loc(node)
        index = syntax.Name(self._expressions.fresh("_item"), loc=loc)
        outer, self._expressions.before = self._expressions.before, []
        self._memory.stored(to, self._numbers(to, element_of(made, index, loc, inside=True), node), loc)
        body, self._expressions.before = tuple(self._expressions.before), outer
        length = self._expressions.held(length_of(made, loc))
        assert isinstance(length, syntax.Expr)
        self._expressions.before.append(syntax.For(index.name, syntax.Const(0, loc=loc), length, 1, body, loc=loc))

    def made(self, node: ast.expr, name: str, form: ElementForm | None = None) -> AnyList:
        """Returns the list that an expression makes in an array of this name, whose statements are added before the one that is parsed.

        form: what its elements are; None where the expression alone tells
        """
        expressions, loc = self._expressions, self._expressions.text.loc(node)
        form = form_of(self._function, "", node, expressions.python_function) if form is None else form
        node = self.new.as_call(node)
        form = self.new.with_source(form, node)
        if form.lists and not form.grows and not self._is_inside and isinstance(node, ast.ListComp) and is_empty_list(node.elt):
            [part] = node.generators
            return self._memory.begun(name, form, self._iterables.elements(part.iter, set()).length, loc)
        elements = node.elts if isinstance(node, ast.List) and not form.lists else []
        values = [expressions.held(expressions.evaluated(each)) for each in elements]
        listed = self._memory.begun(name, form, None, loc)
        for value, each in zip(values, elements):
            self._memory.stored(listed, self._numbers(listed, value, each), loc)
        match node:
            case ast.List(elts=elements) if form.lists:
                for each in elements:
                    self._append(listed, each, loc)
            case ast.List() | ast.Call(args=[]):
                return listed
            case ast.ListComp():
                self._collect(listed, node)
            case ast.Call(args=[operand]):
                item = expressions.fresh("_item")
                part = ast.comprehension(ast.Name(item, ast.Store()), operand, [], 0)
                self._collect(listed, ast.copy_location(ast.ListComp(ast.Name(item, ast.Load()), [part]), node))
                if self.new.is_sorted(node):
                    self._sort(listed, node)
            case ast.Subscript():
                self._collect(listed, self._elements_of_slice(node))
            case ast.BinOp(op=ast.Add(), left=left, right=right):
                self.extended(listed, left)
                self.extended(listed, right)
            case ast.BinOp(left=left, right=right):
                written, count = (left, right) if isinstance(left, ast.List) else (right, left)
                assert isinstance(written, ast.List)
                if form.lists:
                    raise self._refused(node, "a list that has one list many times")
                values = [expressions.held(expressions.evaluated(element)) for element in written.elts]
                times = expressions.expr(count)
                outer, expressions.before = expressions.before, []
                for value, element in zip(values, written.elts):
                    self._memory.stored(listed, self._numbers(listed, value, element), loc)
                body, expressions.before = tuple(expressions.before), outer
                begin = syntax.Const(0, loc=loc)
                expressions.before.append(syntax.For(expressions.fresh("_item"), begin, times, 1, body, loc=loc))
        return listed

    def _sort(self, listed: AnyList, node: ast.Call) -> None:
        name = self._expressions.fresh("_listed")
        self._expressions.tuples[name] = listed
        self._expressions.locals |= {name}
        functions = [lists.sort, lists.reverse] if node.keywords and ast.literal_eval(node.keywords[0].value) else [lists.sort]
        calls = [call_of(self._expressions, each, ast.copy_location(ast.Name(name, ast.Load()), node)) for each in functions]
        self._expressions.before += self._body([ast.copy_location(ast.Expr(call), node) for call in calls])

    def _elements_of_slice(self, node: ast.Subscript) -> ast.ListComp:
        """Returns the comprehension of what a slice of a list has. Raises NotAffineError for one with a step other than 1 and -1."""
        made = slice_elements(self._expressions, node)
        if made is None:
            raise self._refused(node, "a slice of a list with a step", "`w[a:b]`, `w[::-1]`")
        return made

    def _numbers(self, listed: AnyList, value: Value, node: ast.expr) -> tuple[syntax.Expr, ...]:
        """Returns the numbers of an element that is stored in a list. Raises NotAffineError where it is none of this list's kind.

        node: the expression of the element, or of the list that it is from
        """
        columns = listed.lists.blocks if isinstance(listed, InnerList) else columns_of(listed)
        is_tuple = listed.lists.is_of_tuples if isinstance(listed, InnerList) else isinstance(listed, RecordsOf)
        if (
            isinstance(value, tuple)
            and is_tuple
            and len(value) == len(columns)
            and not any(isinstance(part, SEQUENCES) for part in value)
        ):
            return tuple(leaves(value))
        if not isinstance(value, SEQUENCES) and not is_tuple:
            return (value,)
        what = "a tuple" if isinstance(value, tuple) else "a list or shape" if isinstance(value, SEQUENCES) else "a number"
        kind = f"of tuples of {len(columns)} numbers" if is_tuple else "of numbers"
        raise self._refused(node, f"{what} in a list {kind}")

    def _names_of(self, listed: AnyList) -> set[str]:
        """Returns the names in the function's text that stand for a list, or of lists in lists for any of these."""
        written = {node.id for node in ast.walk(self._function) if isinstance(node, ast.Name)}
        tuples, arrays = self._expressions.tuples, {each.array for each in lists_in((listed,))}
        return {name for name in written & tuples.keys() for each in lists_in((tuples[name],)) if each.array in arrays}

    def is_array_of(self, array: str) -> bool:
        """Returns whether an array holds the elements of a list that grows."""
        return any(each.count and each.array == array for each in lists_in(self._expressions.tuples.values()))

    def changes(self, listed: AnyList, body: Sequence[ast.stmt]) -> bool:
        """Returns whether statements may change how many elements a list has: by a method, an assignment, or a function that gets it."""
        names = self._names_of(listed)
        if isinstance(listed, InnerList):
            names = with_aliases(names, body)

        def is_own(node: ast.AST) -> bool:
            while isinstance(node, ast.Subscript) and isinstance(listed, InnerList):
                node = node.value
            return isinstance(node, ast.Name) and node.id in names

        for node in (node for stmt in body for node in ast.walk(stmt)):
            match node:
                case ast.Call(func=ast.Attribute(value=value)) if is_own(value):
                    return True
                case ast.Call(args=args) if (called := self._expressions.python_function(node)) is not None:
                    if isinstance(called, InnerFunction) or any(is_own(part) for each in args for part in ast.walk(each)):
                        return True
                case ast.Name(ctx=ast.Store()) if is_own(node) and not isinstance(listed, InnerList):
                    return True
                case ast.AugAssign(target=target) if is_own(target):
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
            if not isinstance(listed, LISTS):
                continue
            own = {each.id} if isinstance(each, ast.Name) else set()
            if stored & (own if isinstance(listed, InnerList) else self._names_of(listed)):
                return "a list whose name the loop over it binds anew"
            if isinstance(listed, InnerList) and replaces_elements(nodes, self._names_of(listed)):
                return "a list of a list of lists of which the loop replaces elements"
            if grows(listed) and each is not node and self.changes(listed, body):
                return "a list that the loop changes, inside of what it goes over"
        return ""

    def _collect(self, listed: AnyList, node: ast.ListComp | ast.GeneratorExp) -> None:
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

    def _append(self, listed: AnyList, node: ast.expr, loc: Loc) -> None:
        expressions = self._expressions
        if isinstance(listed, ListsOf):
            self._append_list(listed, node, loc)
            return
        listed = self._held(listed)
        value = expressions.evaluated(node)
        if not isinstance(listed, ListOf):
            value = expressions.held(value)
        self._memory.stored(listed, self._numbers(listed, value, node), loc)

    def _held(self, listed: AnyList) -> AnyList:
        """Returns a list, of which the number that it has in a list of lists has a name."""
        if not isinstance(listed, InnerList):
            return listed
        [number] = leaves(self._expressions.held(listed.number))
        return InnerList(listed.lists, number)

    def _append_list(self, listed: ListsOf, node: ast.expr, loc: Loc) -> None:
        """Adds the statements that store a new list behind the last one of a list of lists."""
        expressions, names = self._expressions, self._names_of(listed)
        node = self.new.as_call(node)
        given, current = expressions.parts(node) if isinstance(node, ast.Name) else None, self._current()
        if not isinstance(given, (ListOf, RecordsOf)) or current is None:
            given = None
        if given is not None and isinstance(node, ast.Name) and current and is_given_up(self._function, current, node.id):
            self.copied(self._memory.new_inner(listed, loc), given, node)
            return
        if not self.new.is_new(node):
            what = "a list that the text may go on with under its name, in a list of lists"
            raise self._refused(node, what, "`out.append([])`, `out.append(list(row))`")
        reads = any(isinstance(each, ast.Name) and each.id in names for each in ast.walk(node))
        if isinstance(node, (ast.BinOp, ast.Subscript)) or reads and not isinstance(node, ast.List) or self.new.is_sorted(node):
            made = self.made(node, expressions.fresh("_list"), ElementForm(len(listed.blocks) if listed.is_of_tuples else 0))
            self.copied(self._memory.new_inner(listed, loc), made, node)
            return
        written = node.elts if isinstance(node, ast.List) else []
        values = [expressions.held(expressions.evaluated(each)) for each in written]
        inner = self._memory.new_inner(listed, loc)
        for value, each in zip(values, written):
            self._memory.stored(inner, self._numbers(inner, value, each), loc)
        if isinstance(node, ast.ListComp):
            self._collect(inner, node)
        elif isinstance(node, ast.Call) and node.args:
            self.extended(inner, node.args[0])

    def extended(self, listed: AnyList, values: ast.expr) -> None:
        """Adds the loop that appends each of several values to a list."""
        if (
            isinstance(values, ast.ListComp)
            and self._names_of(listed) & {n.id for n in ast.walk(values) if isinstance(n, ast.Name)}
            or isinstance(values, ast.BinOp)
            and self.new.is_new(values)
        ):
            self.copied(listed, self.made(values, self._expressions.fresh("_list")), values)
        elif isinstance(values, (ast.ListComp, ast.GeneratorExp)):
            self._collect(listed, values)
        elif isinstance(values, (ast.List, ast.Tuple)):
            loc = self._expressions.text.loc(values)
            if isinstance(listed, ListsOf):
                for each in values.elts:
                    self._append(listed, each, loc)
                return
            listed = self._held(listed)
            held = [self._expressions.held(self._expressions.evaluated(each)) for each in values.elts]
            for value, each in zip(held, values.elts):
                self._memory.stored(listed, self._numbers(listed, value, each), loc)
        else:
            other = self.listed(values)
            if other is not None and not isinstance(other, ListsOf) and {*lists_in((other,))} & {*lists_in((listed,))}:
                self.copied(self._held(listed), self._held(other), values)
                return
            item = self._expressions.fresh("_item")
            part = ast.comprehension(ast.Name(item, ast.Store()), values, [], 0)
            self._collect(listed, ast.copy_location(ast.ListComp(ast.Name(item, ast.Load()), [part]), values))

    def _refused(self, node: ast.expr, what: str, accepted: str = COMPILED) -> Exception:
        return self._expressions.not_affine(node, what, accepted, "PML-F006")


def _gone_over(node: ast.expr) -> Iterator[ast.expr]:
    """Yields what a loop over a node goes over, where that is what `enumerate`, `zip` and `reversed` make of it too."""
    match node:
        case ast.Call(func=ast.Name(id="enumerate" | "zip" | "reversed"), args=args):
            for each in args:
                yield from _gone_over(each)
        case _:
            yield node
