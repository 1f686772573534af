"""The blocks of a function that calls itself: statements that run one behind the other, and what comes behind them.

    def f(n):                          0: test n < 2, then 1, else 2
        if n < 2:                      1: return n
            return n             ->    2: call f(n - 1), then 3
        return f(n - 1) + f(n - 2)     3: a = its result; call f(n - 2), then 4
                                       4: b = its result; return a + b

Statements without calls of the function and without returns stay what they are, loops among them. What is evaluated before a call
and may be another value behind it gets a name before.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar, Union

from polyml.frontend.parsing.functions.recursion_checks import is_number, leaves, own_nodes, result_count

Node = TypeVar("Node", bound=ast.AST)


@dataclass(frozen=True)
class Goto:
    """A Goto goes on with another block."""

    target: int


@dataclass(frozen=True)
class Branch:
    """A Branch goes on with one of two blocks."""

    test: ast.expr
    then: int
    orelse: int


@dataclass(frozen=True)
class Again:
    """An Again calls a function with an argument for each parameter, and goes on with another block.

    callee: the number of the function, 0 for the one that is called first
    """

    arguments: tuple[ast.expr, ...]
    target: int
    callee: int = 0


@dataclass(frozen=True)
class End:
    """An End returns values."""

    values: tuple[ast.expr, ...]


@dataclass
class BasicBlock:
    """A BasicBlock has statements that run one behind the other. results: the names that get what the call before it returned"""

    body: list[ast.stmt] = field(default_factory=list)
    end: Union[Goto, Branch, Again, End, None] = None
    results: tuple[str, ...] = ()


@dataclass(frozen=True)
class Names:
    """The Names say what the names of a function mean.

    is_call: whether a call is one of the function itself, or of one that it calls and that calls it
    is_range: whether a call is one of Python's `range`
    index: the name of `operator.index`
    bound: returns the argument for each parameter
    fresh: returns a name that is not in use
    refused: returns the error for a part of the function, from the node and what it is
    length: the name of `len`
    callee: returns the number of the function that such a call is of
    """

    is_call: Callable[[ast.Call], bool]
    is_range: Callable[[ast.Call], bool]
    index: str
    bound: Callable[[ast.Call], tuple[ast.expr, ...]]
    fresh: Callable[[str], str]
    refused: Callable[[ast.AST, str], Exception]
    length: str = "len"
    callee: Callable[[ast.Call], int] = lambda call: 0


def calls_itself(tree: ast.FunctionDef, is_call: Callable[[ast.Call], bool]) -> bool:
    """Returns whether a function calls itself. is_call: whether a call is one of it"""
    return any(isinstance(node, ast.Call) and is_call(node) for stmt in tree.body for node in ast.walk(stmt))


def blocks_of(tree: ast.FunctionDef, names: Names) -> list[BasicBlock]:
    """Returns the blocks of a function; the first one is where it begins, and a block without an end is never reached.

    Raises LanguageError for calls of the function at places where they cannot be.
    """
    return blocks_of_all((tree,), names)[0]


def blocks_of_all(trees: Sequence[ast.FunctionDef], names: Names) -> tuple[list[BasicBlock], list[int]]:
    """Returns the blocks of functions that call each other, as `blocks_of` does, and where each function begins."""
    graph = _Graph(trees, names)
    return graph.blocks, graph.entries


class _Graph:
    """A _Graph makes the blocks of functions one by one."""

    def __init__(self, trees: Sequence[ast.FunctionDef], names: Names):
        self._names = names
        self._count = result_count(trees, names.is_call, names.refused)
        self.blocks: list[BasicBlock] = []
        self.entries: list[int] = []
        self._loops: list[tuple[int, int]] = []  # (where `continue` goes, where `break` goes)
        for tree in trees:
            self.entries.append(self._new())
            self._now = self.blocks[-1]
            self._reached = True
            self._stmts(tree.body)
            if self._reached:
                if self._count:
                    raise names.refused(tree, "a function that calls itself and may end without a return")
                self._now.end = End(())

    # Blocks

    def _new(self) -> int:
        self.blocks.append(BasicBlock())
        return len(self.blocks) - 1

    def _go(self, target: int) -> None:
        if self._reached:
            self._now.end = Goto(target)
        self._reached = False

    def _begin(self, number: int) -> None:
        self._now = self.blocks[number]
        self._reached = any(number in targets(block) for block in self.blocks)

    # Statements

    def _add(self, stmt: ast.stmt, place: ast.AST) -> None:
        self._now.body.append(at(stmt, place))

    def _stmts(self, stmts: Sequence[ast.stmt]) -> None:
        for stmt in stmts:
            if self._reached:
                self._stmt(stmt)

    def _stmt(self, stmt: ast.stmt) -> None:
        if not self._is_parted(stmt):
            self._now.body.append(stmt)
            return
        match stmt:
            case ast.Return():
                self._now.end = End(self._returned(stmt))
                self._reached = False
            case ast.Expr(value=ast.Call() as call) if self._names.is_call(call):
                self._call(call)
            case ast.Expr(value=value):
                self._add(ast.Expr(self._hoisted(value)), stmt)
            case ast.Assign(targets=targets, value=value) if not any(map(self._has_call, targets)):
                self._add(ast.Assign(targets, self._hoisted(value)), stmt)
            case ast.AnnAssign(target=ast.Name() as target, value=ast.expr() as value):
                self._add(ast.Assign([target], self._hoisted(value)), stmt)
            case ast.AugAssign(target=ast.Name() as target, op=op, value=value):
                self._add(ast.AugAssign(target, op, self._hoisted(value)), stmt)
            case ast.If():
                self._if(stmt)
            case ast.While(orelse=[]):
                self._while(stmt)
            case ast.For(target=ast.Name(), iter=ast.Call(keywords=[]) as call, orelse=[]) if self._names.is_range(call):
                self._for(stmt)
            case ast.For(iter=ast.Name() | ast.Subscript(value=ast.Name()), orelse=[]) if not self._has_call(stmt.iter):
                self._for_elements(stmt)
            case ast.Break():
                self._go(self._loops[-1][1])
            case ast.Continue():
                self._go(self._loops[-1][0])
            case _:
                raise self._names.refused(stmt, "a call of the function itself in this statement")

    def _is_parted(self, stmt: ast.stmt) -> bool:
        """Returns whether a statement is not taken as it is: it has a call of the function or a return in it, or leaves a loop that is
        not inside of it.
        """
        return self._has_call(stmt) or leaves(stmt) or any(isinstance(node, ast.Return) for node in own_nodes(stmt))

    def _has_call(self, node: ast.AST) -> bool:
        return any(isinstance(each, ast.Call) and self._names.is_call(each) for each in ast.walk(node))

    def _if(self, stmt: ast.If) -> None:
        then, orelse, behind = self._new(), self._new(), self._new()
        self._test(stmt.test, then, orelse)
        for number, body in ((then, stmt.body), (orelse, stmt.orelse)):
            self._begin(number)
            self._stmts(body)
            self._go(behind)
        self._begin(behind)

    def _test(self, test: ast.expr, then: int, orelse: int) -> None:
        """Ends a block by a condition, whose parts are evaluated as Python does."""
        if self._has_call(test):
            match test:
                case ast.BoolOp(op=op, values=[first, *rest]):
                    others = ast.copy_location(ast.BoolOp(op, rest), test) if len(rest) > 1 else rest[0]
                    between = self._new()
                    is_and = isinstance(op, ast.And)
                    self._test(first, between if is_and else then, orelse if is_and else between)
                    self._begin(between)
                    self._test(others, then, orelse)
                    return
                case ast.UnaryOp(op=ast.Not(), operand=operand):
                    self._test(operand, orelse, then)
                    return
        test = self._hoisted(test)
        known = test.value if isinstance(test, ast.Constant) else None
        self._now.end = Goto(then if known else orelse) if isinstance(known, (bool, int)) else Branch(test, then, orelse)
        self._reached = False

    def _while(self, stmt: ast.While) -> None:
        head, body, behind = self._new(), self._new(), self._new()
        self._go(head)
        self._begin(head)
        self._test(stmt.test, body, behind)
        self._begin(body)
        self._loops.append((head, behind))
        self._stmts(stmt.body)
        self._loops.pop()
        self._go(head)
        self._begin(behind)

    def _for(self, stmt: ast.For) -> None:
        """Takes a loop over a range as a `while`."""
        assert isinstance(stmt.iter, ast.Call)
        args = self._in_order(stmt.iter.args)
        start, stop = (ast.Constant(0), args[0]) if len(args) == 1 else (args[0], args[1])
        step = ast.literal_eval(args[2]) if len(args) == 3 and is_number(args[2]) else 1 if len(args) < 3 else None
        if type(step) is not int or step == 0:
            raise self._names.refused(stmt, "a loop whose steps are not constant, around a call of the function itself")
        next_, last = (self._names.fresh(stem) for stem in ("_next", "_stop"))
        for name, value in ((next_, start), (last, stop)):
            self._set(name, ast.Call(_load(self._names.index), [value], []), stmt)
        test = ast.Compare(_load(next_), [ast.Lt() if step > 0 else ast.Gt()], [_load(last)])
        self._counted(stmt, next_, test, _load(next_), step)

    def _for_elements(self, stmt: ast.For) -> None:
        """Takes a loop over a list or array, or over a list in a list, as a `while`."""
        over, next_ = stmt.iter, self._names.fresh("_next")
        base = over.value if isinstance(over, ast.Subscript) else over
        if self._stored_in(stmt, base):
            raise self._names.refused(stmt, "a loop that binds what it goes over anew, around a call of the function itself")
        if isinstance(over, ast.Subscript):
            over = at(ast.Subscript(base, self._held(over.slice), ast.Load()), stmt)
        self._set(next_, ast.Constant(0), stmt)
        test = ast.Compare(_load(next_), [ast.Lt()], [ast.Call(_load(self._names.length), [over], [])])
        self._counted(stmt, next_, test, ast.Subscript(over, _load(next_), ast.Load()), 1)

    def _stored_in(self, stmt: ast.For, base: ast.expr) -> bool:
        names = {n.id for n in ast.walk(stmt) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
        return isinstance(base, ast.Name) and base.id in names

    def _counted(self, stmt: ast.For, next_: str, test: ast.expr, value: ast.expr, step: int) -> None:
        """Takes a loop that counts by a number of its own as a `while`. test: whether there is an iteration; value: what its target gets"""
        head, body, behind = self._new(), self._new(), self._new()
        self._go(head)
        self._begin(head)
        self._now.end = Branch(at(test, stmt), body, behind)
        self._begin(body)
        self._add(ast.Assign([stmt.target], value), stmt)
        self._set(next_, ast.BinOp(_load(next_), ast.Add(), ast.Constant(step)), stmt)
        self._loops.append((head, behind))
        self._stmts(stmt.body)
        self._loops.pop()
        self._go(head)
        self._begin(behind)

    def _set(self, name: str, value: ast.expr, place: ast.AST) -> None:
        self._add(ast.Assign([ast.Name(name, ast.Store())], value), place)

    # Expressions

    def _returned(self, stmt: ast.Return) -> tuple[ast.expr, ...]:
        value = stmt.value
        if value is None or isinstance(value, ast.Constant) and value.value is None:
            return ()
        if isinstance(value, ast.Call) and self._names.is_call(value):
            return tuple(_load(name) for name in self._call(value))
        found = self._hoisted(value)
        return tuple(found.elts) if isinstance(found, ast.Tuple) else (found,)

    def _call(self, call: ast.Call) -> tuple[str, ...]:
        """Ends a block by a call, and returns the names that have its results in the next one."""
        arguments = tuple(self._in_order(self._names.bound(call)))
        target = self._new()
        self._now.end = Again(arguments, target, self._names.callee(call))
        self._begin(target)
        self._now.results = tuple(self._names.fresh("_value") for _ in range(self._count))
        return self._now.results

    def _hoisted(self, node: ast.expr) -> ast.expr:
        """Returns an expression with the results of calls of the function in their places."""
        if not self._has_call(node):
            return node
        made = copy.copy(node)
        match made:
            case ast.Call() if self._names.is_call(made):
                results = [at(_load(name), node) for name in self._call(made)]
                if not results:
                    raise self._names.refused(node, "a call of the function itself, which returns nothing, as a value")
                return results[0] if len(results) == 1 else at(ast.Tuple([*results], ast.Load()), node)
            case ast.BinOp(left=left, right=right):
                made.left, made.right = self._in_order((left, right))
            case ast.UnaryOp(operand=operand):
                made.operand = self._hoisted(operand)
            case ast.Compare(left=left, comparators=[right]):
                made.left, right = self._in_order((left, right))
                made.comparators = [right]
            case ast.Call(args=args, keywords=keywords) if not self._has_call(made.func):
                found = self._in_order([*args, *(each.value for each in keywords)])
                made.args = found[: len(args)]
                made.keywords = [ast.copy_location(ast.keyword(k.arg, v), k) for k, v in zip(keywords, found[len(args) :])]
            case ast.Tuple(elts=elts):
                made.elts = self._in_order(elts)
            case ast.IfExp() | ast.BoolOp():
                return self._chosen(made)
            case _:
                raise self._names.refused(node, "a call of the function itself in this expression")
        return made

    def _in_order(self, nodes: Sequence[ast.expr]) -> list[ast.expr]:
        """Returns expressions that are evaluated one behind the other; those before a call get a name where the call may change them."""
        made: list[ast.expr] = []
        for position, node in enumerate(nodes):
            if isinstance(node, ast.Starred):
                raise self._names.refused(node, "unpacking with *")
            value = self._hoisted(node)
            if any(map(self._has_call, nodes[position + 1 :])) and not isinstance(value, (ast.Constant, ast.Name)):
                value = self._held(value)
            made.append(value)
        return made

    def _held(self, value: ast.expr) -> ast.expr:
        name = self._names.fresh("_held")
        self._set(name, value, value)
        return at(_load(name), value)

    def _chosen(self, node: ast.IfExp | ast.BoolOp) -> ast.expr:
        """Returns the value of an expression of which parts are evaluated under conditions alone."""
        name = self._names.fresh("_chosen")
        if isinstance(node, ast.BoolOp):
            self._set(name, self._hoisted(node.values[0]), node)
            for value in node.values[1:]:
                more, behind = self._new(), self._new()
                is_and = isinstance(node.op, ast.And)
                self._now.end = Branch(at(_load(name), node), more if is_and else behind, behind if is_and else more)
                self._begin(more)
                self._set(name, self._hoisted(value), node)
                self._go(behind)
                self._begin(behind)
            return at(_load(name), node)
        then, orelse, behind = self._new(), self._new(), self._new()
        self._test(node.test, then, orelse)
        for number, value in ((then, node.body), (orelse, node.orelse)):
            self._begin(number)
            self._set(name, self._hoisted(value), node)
            self._go(behind)
        self._begin(behind)
        return at(_load(name), node)


def targets(block: BasicBlock) -> tuple[int, ...]:
    """Returns the blocks with which a block may go on."""
    match block.end:
        case Goto(target=target) | Again(target=target):
            return (target,)
        case Branch(then=then, orelse=orelse):
            return then, orelse
    return ()


def at(node: Node, place: ast.AST) -> Node:
    """Returns a node whose parts that have no place yet are at that of another one."""
    for each in ast.walk(node):
        if isinstance(each, (ast.expr, ast.stmt)) and not hasattr(each, "lineno"):
            ast.copy_location(each, place)
    return node


def _load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())
