"""What the text of a function says of its lists: which grow, which have several names, and what is evaluated before `out.pop()`.

A list gets the elements of another one where a loop binds its name to that, as a search does with its frontier:

    while frontier:                         while len(frontier) != 0:
        found = []                              found = []
        ...                          ->         ...
        frontier = found                        frontier.clear(); frontier.extend(found)

That means the same where nothing mentions the other list again before it is a new one.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from types import FunctionType

from polyml.frontend.parsing.functions.inner_functions import InnerFunction, parameters
from polyml.frontend.parsing.source_text import text_of

METHODS = ("append", "pop", "extend", "clear", "insert", "remove", "reverse", "sort")  # which change a list
_Loop = ast.For | ast.While
_Called = Callable[[ast.Call], FunctionType | InnerFunction | None]


@dataclass(frozen=True)
class ElementForm:
    """An ElementForm says what the elements of a list are, as far as the text tells: numbers, tuples of numbers, or lists of these.

    width: of how many numbers the tuples are; 0 for numbers that are in none
    lists: whether the elements are lists
    grows: whether there may be more or less of them than in the beginning
    """

    width: int = 0
    lists: bool = False
    grows: bool = False

    def __or__(self, other: ElementForm) -> ElementForm:
        return ElementForm(self.width or other.width, self.lists or other.lists, self.grows or other.grows)


def form_of(function: ast.FunctionDef, name: str, node: ast.expr, called: _Called) -> ElementForm:
    """Returns what the elements of the list are that an expression makes.

    name: the name to which it is bound, "" for none
    called: returns the Python function that a node calls, and None for other calls
    """
    form = _made(node)
    for tree, own in _places(function, name, called, set()) if name else ():
        forms = _forms_of_names(tree)
        for each in ast.walk(tree):
            form |= _in_statement(each, own, forms)
    return form


def _forms_of_names(tree: ast.FunctionDef) -> dict[str, ElementForm]:
    """Returns what the elements of lists are that a function makes and gives a name, by these."""
    found: dict[str, ElementForm] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.List() | ast.ListComp() | ast.BinOp() as value):
                if _element(value).lists:
                    found[name] = found.get(name, ElementForm()) | _made(value)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[value]) if name in found:
                found[name] |= _element(value)
    return found


def _places(tree: ast.FunctionDef, name: str, called: _Called, seen: set[tuple[int, str]]) -> Iterator[tuple[ast.FunctionDef, str]]:
    """Yields the functions that may change a list, and the names that it has in them. seen: the functions before, and the names"""
    yield tree, name
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and any(isinstance(each, ast.Name) and each.id == name for each in node.args):
            other = called(node)
            if other is None:
                continue
            inner = other.tree if isinstance(other, InnerFunction) else text_of(other).tree
            for parameter, given in zip(parameters(inner.args), node.args):
                if isinstance(given, ast.Name) and given.id == name and (id(other), parameter.arg) not in seen:
                    seen.add((id(other), parameter.arg))
                    yield from _places(inner, parameter.arg, called, seen)


def _in_statement(node: ast.AST, name: str, forms: Mapping[str, ElementForm]) -> ElementForm:
    """Returns what a part of a function says of the elements of a list. forms: those of lists with names"""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=own), attr="append"), args=[ast.Name(id=value)]) if own == name:
            given = forms.get(value)
            return ElementForm(grows=True) if given is None else ElementForm(given.width, lists=True, grows=True)
        case ast.Call(func=ast.Attribute(value=ast.Name(id=own), attr="append"), args=[value]) if own == name:
            return ElementForm(grows=True) | _element(value)
        case ast.Call(func=ast.Attribute(value=ast.Name(id=own), attr=attr), args=args) if own == name and attr in METHODS:
            made = (_element(each) if attr == "insert" else _made(each) for each in args)
            return reduce(or_, made, ElementForm(grows=True))
        case ast.AugAssign(target=ast.Name(id=own), value=value) if own == name:
            return ElementForm(grows=True) | _made(value)
        case ast.Assign(targets=[ast.Name(id=own)], value=value) if own == name:
            return _made(value)
        case ast.Call(func=ast.Attribute(value=ast.Subscript(value=ast.Name(id=own)), attr=attr), args=args) if own == name:
            if attr in METHODS:
                values = map(_element if attr == "append" else _made, args)
                return ElementForm(lists=True) | ElementForm(max((each.width for each in values), default=0))
        case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=own))], value=ast.List() | ast.ListComp() as value) if own == name:
            return ElementForm(_made(value).width, lists=True)
        case ast.AugAssign(target=ast.Subscript(value=ast.Name(id=own)), value=ast.List() | ast.ListComp() as value) if own == name:
            return ElementForm(_made(value).width, lists=True)
    return ElementForm()


def _made(node: ast.expr) -> ElementForm:
    """Returns what the elements of the list are that an expression makes."""
    match node:
        case ast.List(elts=elements):
            return reduce(or_, map(_element, elements), ElementForm())
        case ast.ListComp(elt=element) | ast.GeneratorExp(elt=element):
            return _element(element)
        case ast.BinOp(left=left, op=ast.Mult() | ast.Add(), right=right):
            return _made(left) | _made(right)
    return ElementForm()


def _element(node: ast.expr) -> ElementForm:
    match node:
        case ast.Tuple(elts=elements):
            return ElementForm(len(elements))
        case ast.List() | ast.ListComp() | ast.Call(func=ast.Name(id="list" | "sorted")) | ast.Subscript(slice=ast.Slice()):
            return ElementForm(_made(node).width, lists=True)
        case ast.BinOp(left=left, op=ast.Mult(), right=right) if isinstance(left, ast.List) or isinstance(right, ast.List):
            return ElementForm(_made(node).width, lists=True)
    return ElementForm()


def has_different_lengths(node: ast.expr) -> bool:
    """Returns whether an expression makes a list of lists that may have different lengths, or are written out in a comprehension."""
    match node:
        case ast.List(elts=elements) if elements and all(isinstance(each, ast.List) for each in elements):
            lengths = {len(each.elts) for each in elements if isinstance(each, ast.List)}
            return len(lengths) > 1 or 0 in lengths
        case ast.ListComp(elt=ast.List(), generators=[ast.comprehension(ifs=[])]):
            return True
        case ast.ListComp(elt=ast.ListComp() | ast.BinOp() as inner, generators=[ast.comprehension(target=target, ifs=[])]):
            names = {each.id for each in ast.walk(target) if isinstance(each, ast.Name)}
            of = [inner.generators[0].iter] if isinstance(inner, ast.ListComp) else [inner.left, inner.right]
            counts = [each for each in of if not isinstance(each, ast.List)]
            is_list = isinstance(inner, ast.ListComp) or len(counts) < 2
            grown = isinstance(inner, ast.ListComp) and (len(inner.generators) > 1 or bool(inner.generators[0].ifs))
            read = {each.id for part in counts for each in ast.walk(part) if isinstance(each, ast.Name)}
            return is_list and (grown or bool(read & names))
    return False


def growing_names(function: ast.FunctionDef) -> set[str]:
    """Returns the names of a function that may stand for a list that grows: those with such a method, or bound to a list without elements,
    and those that are bound to what another one of them stands for.
    """
    found: set[str] = set()
    pairs: list[tuple[str, str]] = []
    for node in ast.walk(function):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name) | ast.Subscript(value=ast.Name(id=name)), attr=attr)) if (
                attr in METHODS
            ):
                found.add(name)
            case ast.AugAssign(target=ast.Name(id=name), value=ast.List() | ast.ListComp()):
                found.add(name)
            case ast.Delete(targets=targets):
                found |= {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.List(elts=[])):
                found.add(name)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.ListComp() as value):
                found |= {name} & {each.id for each in ast.walk(value) if isinstance(each, ast.Name)}
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name(id=other)):
                pairs.append((name, other))
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                pairs += [(t.id, v.id) for t, v in zip(targets, values) if isinstance(t, ast.Name) and isinstance(v, ast.Name)]
    while more := {name for pair in pairs for name in pair if not found.isdisjoint(pair)} - found:
        found |= more
    return found


def grows_in_call(function: ast.FunctionDef, name: str, called: Callable[[ast.Call], FunctionType | InnerFunction | None]) -> bool:
    """Returns whether a function hands a list on to another one, in which the parameter's name may stand for a list that grows.

    called: returns the Python function that a node calls, and None for other calls
    """
    for node in ast.walk(function):
        if not isinstance(node, ast.Call) or not any(isinstance(each, ast.Name) and each.id == name for each in node.args):
            continue
        other = called(node)
        if other is None:
            continue
        tree = other.tree if isinstance(other, InnerFunction) else text_of(other).tree
        pairs = zip(parameters(tree.args), node.args)
        if {p.arg for p, given in pairs if isinstance(given, ast.Name) and given.id == name} & growing_names(tree):
            return True
    return False


def is_moved_once(function: ast.FunctionDef, stmt: ast.Assign, target: str, value: str) -> bool:
    """Returns whether `target = value`, in a loop, is the last mention of the list `value` before its name is bound to a new list, and
    neither list has another name.
    """
    return not has_other_names(function, target, stmt) and is_given_up(function, stmt, value)


def is_given_up(function: ast.FunctionDef, stmt: ast.stmt, value: str) -> bool:
    """Returns whether a statement in a loop is the last mention of a list before its name is bound to a new one, and it has no other name."""
    loop = _innermost_loop(function, stmt)
    if loop is None or has_other_names(function, value, stmt):
        return False
    names = [node for node in ast.walk(function) if isinstance(node, ast.Name) and node.id == value]
    body = {id(node) for each in loop.body for node in ast.walk(each)}
    again = [each for each in ast.walk(function) if isinstance(each, ast.For) and _binds(each, value) and not _has(each, stmt)]
    inside = {id(node) for each in again for node in ast.walk(each)}  # loops that bind the name to something else
    names = [node for node in names if id(node) not in inside]
    behind = [node for node in names if _begin(node) > _end(stmt) and (id(node) in body or _begin(node) > _end(loop))]
    head = loop.test if isinstance(loop, ast.While) else loop.iter
    if behind or any(node in names for part in (head, *loop.orelse) for node in ast.walk(part)):
        return False
    first = next(each for each in loop.body if any(node in names for node in ast.walk(each)))
    return _makes_list(first, value)


def _makes_list(stmt: ast.stmt, name: str) -> bool:
    match stmt:
        case ast.Assign(targets=[ast.Name(id=target)], value=value) if target == name and _element(value).lists:
            return not any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(value))
    return False


def _binds(loop: ast.For, name: str) -> bool:
    return any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(loop.target))


def _has(node: ast.AST, part: ast.AST) -> bool:
    return any(each is part for each in ast.walk(node))


def _innermost_loop(function: ast.FunctionDef, stmt: ast.stmt) -> _Loop | None:
    """Returns the innermost loop in whose body a statement stands; None where it stands in none, or in the `else` of one."""
    loops = (node for node in ast.walk(function) if isinstance(node, (ast.For, ast.While)))  # outer ones before inner ones
    around = [loop for loop in loops if any(node is stmt for node in ast.walk(loop))]
    if not around or not any(node is stmt for each in around[-1].body for node in ast.walk(each)):
        return None
    return around[-1]


def has_other_names(function: ast.FunctionDef, name: str, besides: ast.stmt | None = None) -> bool:
    """Returns whether a function may give another name to what a name stands for. besides: a statement that does not count"""
    stored = (ast.Assign, ast.AnnAssign, ast.NamedExpr)
    values = (node.value for node in ast.walk(function) if isinstance(node, stored) and node is not besides)
    return any(isinstance(each, ast.Name) and each.id == name for value in values if value is not None for each in _given(value))


def with_aliases(names: set[str], body: Sequence[ast.stmt]) -> set[str]:
    """Returns names that stand for lists, with those that statements may give to these or to lists in them."""
    pairs: list[tuple[ast.expr, ast.expr]] = []
    for node in (node for stmt in body for node in ast.walk(stmt)):
        match node:
            case ast.Assign(targets=targets, value=value):
                pairs += [(target, value) for target in targets]
            case ast.For(target=target, iter=value):
                pairs.append((target, value))
    found = set(names)
    while True:
        more = {
            n.id for target, value in pairs if _reads(value, found) for n in ast.walk(target) if isinstance(n, ast.Name)
        } - found
        if not more:
            return found
        found |= more


def _reads(node: ast.expr, names: set[str]) -> bool:
    return any(isinstance(each, ast.Name) and each.id in names for each in ast.walk(node))


def _given(value: ast.expr) -> Iterator[ast.expr]:
    """Yields the expressions that give an assignment its values."""
    match value:
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for part in parts:
                yield from _given(part)
        case ast.IfExp(body=one, orelse=other):
            yield from _given(one)
            yield from _given(other)
        case _:
            yield value


def is_evaluated_first(stmt: ast.stmt, call: ast.Call) -> bool:
    """Returns whether a statement evaluates nothing before a call in it but names, constants, sums and products, and what other calls of
    `pop` give.
    """
    for each in (part for node in _evaluated(stmt) for part in _in_order(node, call)):
        if each is call:
            return True
        is_pop = isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and each.func.attr == "pop"
        is_sum = isinstance(each, ast.BinOp) and isinstance(each.op, (ast.Add, ast.Sub, ast.Mult))
        if not (is_pop or is_sum or isinstance(each, (ast.Name, ast.Constant, ast.Attribute, ast.UnaryOp, ast.Tuple))):
            return False
    return False


def _evaluated(stmt: ast.stmt) -> Sequence[ast.expr]:
    """Returns the expressions of a statement itself in the order in which Python evaluates them."""
    match stmt:
        case ast.Assign(targets=targets, value=value):
            return (value, *targets)
        case ast.AugAssign(target=ast.Name(), value=value) | ast.Expr(value=value):
            return (value,)
        case ast.AugAssign(target=target, value=value):
            return (target, value)
        case ast.AnnAssign(value=ast.expr() as value) | ast.Return(value=ast.expr() as value):
            return (value,)
        case ast.If(test=test) | ast.While(test=test) | ast.Assert(test=test):
            return (test,)
    return ()


def _in_order(node: ast.expr, call: ast.expr) -> Iterator[ast.expr]:
    """Yields an expression and those in it in the order in which Python evaluates them; of a part that runs under a condition, which has
    statements of its own, that part alone where it has the call in it.
    """
    parts: Sequence[ast.expr] = ()
    match node:
        case ast.Call() if node is call:
            pass  # its statements are its own
        case ast.BinOp(left=left, right=right):
            parts = (left, right)
        case ast.Compare(left=left, comparators=others):
            parts = (left, *others)
        case ast.BoolOp(values=[_, *others]) if (chosen := _part_with(others, call)) is not None:
            parts = (chosen,)
        case ast.IfExp(body=body, orelse=orelse) if (chosen := _part_with((body, orelse), call)) is not None:
            parts = (chosen,)
        case ast.BoolOp(values=parts) | ast.Tuple(elts=parts) | ast.List(elts=parts):
            pass
        case ast.UnaryOp(operand=operand):
            parts = (operand,)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            parts = (test, body, orelse)
        case ast.Call(func=function, args=args):
            parts = (function, *args)
        case ast.Subscript(value=base, slice=index):
            parts = (base, index)
        case ast.Attribute(value=base):
            parts = (base,)
    for part in parts:
        yield from _in_order(part, call)
    yield node


def _part_with(parts: Sequence[ast.expr], call: ast.expr) -> ast.expr | None:
    """Returns the one of several expressions that has a call in it; None where none has."""
    return next((part for part in parts if any(node is call for node in ast.walk(part))), None)


def _begin(node: ast.expr | ast.stmt) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _end(node: ast.expr | ast.stmt) -> tuple[int, int]:
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
