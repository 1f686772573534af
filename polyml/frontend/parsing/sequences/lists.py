"""Lists of a fixed length, which are local arrays whose elements keep Python's types.

    w = [x * x for x in A]    ->    alloc w.1[A.shape[0]]
                                    for k in range(0, A.shape[0]):
                                        w.1[k] = A[k] * A[k]

A name stands for a `ListOf`, so that all that a list can do is known where it is parsed. What the elements are, Python's numbers or
NumPy's, type inference finds by what is stored in them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from polyml.frontend import name_resolution, syntax
from polyml.frontend.parsing.assignments import AssignmentParser
from polyml.frontend.parsing.builtin_reductions import own_names
from polyml.frontend.parsing.for_loops import ForLoopParser
from polyml.frontend.parsing.functions.recursion import Unset
from polyml.frontend.parsing.lists.growing import GrowingLists
from polyml.frontend.parsing.sequences.iterables import Elements
from polyml.frontend.parsing.sequences.values import LISTS, AnyList, ListOf, element_of, length_of
from polyml.source import Loc

_COMPILED = "`[0.0] * n`, `[a, b, c]`, `[[0.0] * m for i in range(n)]`, `[f(x) for x in A]`"


def _text_of_empty(function: Callable[[list], object]) -> str:
    """Returns what Python says of the extremum of an empty list."""
    try:
        function([])
    except ValueError as error:
        return str(error)
    raise TypeError(f"{function} takes an empty list")


_EMPTY = {True: _text_of_empty(min), False: _text_of_empty(max)}


@dataclass(frozen=True)
class _Level:
    """A _Level is one of the lists in each other that an expression makes.

    length: how many elements it has
    target: what a comprehension binds; None for `[x] * n`
    elements: what a comprehension goes over
    """

    length: syntax.Expr
    target: ast.expr | None = None
    elements: Elements | None = None


class ListParser:
    """A ListParser turns assignments of lists to names into local arrays.

    loops: what the loops of comprehensions are parsed with
    growing: what lists that grow are parsed with
    """

    def __init__(self, loops: ForLoopParser, assignments: AssignmentParser, growing: GrowingLists):
        self._loops, self._assignments, self._expressions, self._growing = loops, assignments, assignments.expressions, growing
        self._own: set[str] = set()  # the arrays of lists that this function makes

    def is_list(self, node: ast.expr) -> bool:
        """Returns whether an expression makes a list."""
        return self._growing.new.is_new(node)

    def apart(self, stmt: ast.Assign) -> list[ast.stmt] | None:
        """Returns `a, b = [], x` as assignments of their own, where one value makes a list and no value reads what the statement assigns;
        None for other statements.
        """
        match stmt:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if len(targets) == len(values):
                names = {target.id for target in targets if isinstance(target, ast.Name)}
                read = {node.id for value in values for node in ast.walk(value) if isinstance(node, ast.Name)}
                if len(names) == len(targets) and not names & read and any(map(self.is_list, values)):
                    return [ast.copy_location(ast.Assign([t], v), stmt) for t, v in zip(targets, values)]
        return None

    def bound(self, target: ast.Name, node: ast.expr) -> list[syntax.Stmt]:
        """Returns the statements that make a list, after binding a name to it."""
        if self._growing.grows(target.id, node):
            self._growing.bound(target, node)
            return []
        name = self._name(target)
        made = self._new(node, name)
        self._own.add(name)
        if self._expressions.tuples.get(target.id) != made:
            self._assignments.sequence_bound(target, made)
        return []

    def made(self, node: ast.expr) -> AnyList | None:
        """Returns a list without a name, whose statements are added before the one that is parsed; None where an expression makes none."""
        if not self.is_list(node):
            return None
        make = self._growing.made if self._growing.grows("", node) else self._new
        return make(node, self._expressions.fresh("_list"))

    def _new(self, node: ast.expr, name: str) -> ListOf:
        """Returns the list that an expression makes in an array of this name, whose statements are added before the one that is parsed."""
        loc = self._expressions.text.loc(node)
        levels, leaf = self._levels(node)
        made = self._written(node, name, loc) if leaf is None else self._computed(levels, leaf, name, loc)
        self._expressions.before += made
        [alloc] = [stmt for stmt in made if isinstance(stmt, syntax.Alloc) and stmt.name == name]
        assert isinstance(alloc.shape, tuple)
        return ListOf(name, len(alloc.shape))

    def extremum(self, listed: AnyList, call: ast.Call, is_min: bool) -> syntax.Name:
        """Returns the name of the least or greatest element of a list, whose statements are added before the one that is parsed.

        Raises NotAffineError for a list of lists or tuples.
        """
        loc, held = self._expressions.text.loc(call), self._expressions.held(listed)
        assert isinstance(held, LISTS)
        length = length_of(held, loc)
        result, index = (syntax.Name(self._expressions.fresh(stem), loc=loc) for stem in ("_found", "_item"))
        none = syntax.Compare("==", length, syntax.Const(0, loc=loc), loc=loc)
        first, each = (
            element_of(held, number, loc, inside=not isinstance(held, ListOf)) for number in (syntax.Const(0, loc=loc), index)
        )
        if not isinstance(first, syntax.Expr) or not isinstance(each, syntax.Expr):
            raise self._refused(call, "the extremum of a list of lists or tuples")
        better = syntax.Binary("min" if is_min else "max", result, each, loc=loc)
        self._expressions.before += [
            syntax.If(none, (syntax.Raise("ValueError", (_EMPTY[is_min],), loc=loc),), loc=loc),
            syntax.Assign(result, first, loc=loc),
            syntax.For(index.name, syntax.Const(1, loc=loc), length, 1, (syntax.Assign(result, better, loc=loc),), loc=loc),
        ]
        return result

    def _name(self, target: ast.Name) -> str:
        """Returns the name of a list's array: in loops and branches that of the list which the name stands for already, where no other
        name does; what may be read then is decided as for arrays.
        """
        tuples = self._expressions.tuples
        current = tuples.get(target.id)
        if isinstance(current, ListOf) and not current.indices and current.array in self._own:
            others = [value for name, value in tuples.items() if name != target.id]
            if not any(isinstance(value, (ListOf, tuple)) and current.array in repr(value) for value in others):
                if self._assignments.loops or self._assignments.branches:
                    return current.array
        return name_resolution.unused(target.id, self._expressions.taken)

    def _levels(self, node: ast.expr) -> tuple[list[_Level], ast.expr | None]:
        """Returns the lists in each other that an expression makes, the outermost first, and the expression of an element; None in place of
        that for a list that is written out.
        """
        levels: list[_Level] = []
        bound: set[str] = set()
        while True:
            match node:
                case ast.Call(args=[operand]) if self.is_list(node):
                    item = self._expressions.fresh("_item")
                    part = ast.comprehension(ast.Name(item, ast.Store()), operand, [], 0)
                    node = ast.copy_location(ast.ListComp(ast.Name(item, ast.Load()), [part]), node)
                    for each in ast.walk(node):
                        if isinstance(each, ast.Name) and each.id == item:
                            ast.copy_location(each, operand)
                case ast.ListComp(generators=[ast.comprehension(ifs=[], is_async=0)]):
                    if any(isinstance(n, ast.Name) and n.id in bound for n in ast.walk(node.generators[0].iter)):
                        raise self._refused(node, "a list of lists of different lengths")
                    node, [part] = own_names(node, self._expressions.fresh)
                    names = {n.id for n in ast.walk(part.target) if isinstance(n, ast.Name)}
                    self._expressions.locals |= names
                    bound |= names
                    elements = self._loops.elements(part.iter)
                    levels.append(_Level(elements.length, part.target, elements))
                case ast.BinOp(left=left, op=ast.Mult(), right=right) if self.is_list(node):
                    written, count = (left, right) if isinstance(left, ast.List) else (right, left)
                    assert isinstance(written, ast.List)
                    if len(written.elts) != 1 or self.is_list(written.elts[0]):
                        raise self._refused(node, "a list that is repeated, of more than one number")
                    if any(isinstance(n, ast.Name) and n.id in bound for n in ast.walk(count)):
                        raise self._refused(node, "a list of lists of different lengths")
                    levels.append(_Level(self._expressions.expr(count)))
                    node = written.elts[0]
                    return levels, node
                case ast.List():
                    if levels:
                        raise self._refused(node, "a list that is written out in a comprehension")
                    return [], None
                case _:
                    return levels, node

    def _refused(self, node: ast.expr, what: str) -> Exception:
        return self._expressions.not_affine(node, what, _COMPILED, "PML-F006")

    def _written(self, node: ast.expr, name: str, loc: Loc) -> list[syntax.Stmt]:
        """Returns the statements for a list that is written out."""
        array = self._expressions.array_operand(node)
        assert isinstance(array, syntax.Function)
        shape = dict(array.options).get("shape")
        if not isinstance(shape, tuple):
            raise self._refused(node, "a list of this")
        sizes = tuple(syntax.Const(size, loc=loc) for size in shape)
        made: list[syntax.Stmt] = [_alloc(name, sizes, None, loc)]
        for number, value in enumerate(array.args):
            indices: list[syntax.Expr] = []
            for size in reversed(shape):
                indices.insert(0, syntax.Const(number % size, loc=loc))
                number //= size
            made.append(syntax.Assign(syntax.Subscript(name, tuple(indices), loc=loc), value, loc=loc))
        return made

    def _computed(self, levels: Sequence[_Level], leaf: ast.expr, name: str, loc: Loc) -> list[syntax.Stmt]:
        """Returns the statements for a list whose elements are one expression."""
        sizes = tuple(_not_negative(level.length, loc) for level in levels)
        if levels[-1].target is None:
            value = self._expressions.held(self._expressions.expr(leaf)) if len(levels) == 1 else None
            if isinstance(leaf, Unset):
                return [_alloc(name, sizes, None, loc)]
            if isinstance(value, syntax.Const):
                return [_alloc(name, sizes, value, loc)]
            known = self._expressions.constant(leaf)
            if type(known) in (bool, int, float, complex):
                return [_alloc(name, sizes, self._expressions.number(leaf, known), loc)]
        return [_alloc(name, sizes, None, loc), *self._filled(levels, leaf, syntax.Subscript(name, (), loc=loc), loc)]

    def _filled(self, levels: Sequence[_Level], leaf: ast.expr, place: syntax.Subscript, loc: Loc) -> tuple[syntax.Stmt, ...]:
        """Returns the loops that store all elements. place: an element of the array, with the numbers of the loops around as indices"""
        expressions = self._expressions
        if not levels:
            outer, expressions.before = expressions.before, []
            value = expressions.expr(leaf)
            made, expressions.before = expressions.before, outer
            return (*made, syntax.Assign(place, value, loc=loc))
        level, *rest = levels
        index = syntax.Name(expressions.fresh("_item"), loc=loc)
        target, first = level.target, []
        self._assignments.loops.append(index.name)
        if target is not None and level.elements is not None:
            value_of = level.elements.value(index)
            if isinstance(target, ast.Name) and value_of is index:
                expressions.renamed[target.id] = index.name
                self._assignments.loops[-1] = target.id
            else:
                first = self._loops.bind(target, value_of, loc)
        inside = self._filled(rest, leaf, syntax.Subscript(place.array, (*place.indices, index), loc=loc), loc)
        self._assignments.loops.pop()
        return (syntax.For(index.name, syntax.Const(0, loc=loc), level.length, 1, (*first, *inside), loc=loc),)


def _alloc(name: str, sizes: tuple[syntax.Expr, ...], fill: syntax.Expr | None, loc: Loc) -> syntax.Alloc:
    return syntax.Alloc(name, sizes, syntax.TypeOf(syntax.Const(0, loc=loc), "listed", loc=loc), fill, loc=loc)


def _not_negative(length: syntax.Expr, loc: Loc) -> syntax.Expr:
    """Returns the length of a list that is made of so many elements: none where that is negative."""
    if isinstance(length, syntax.Const) and type(length.value) is int:
        return syntax.Const(max(length.value, 0), loc=loc)
    return length if isinstance(length, syntax.Shape) else syntax.Binary("max", length, syntax.Const(0, loc=loc), loc=loc)
