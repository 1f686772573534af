"""Functions that call themselves become loops with a stack: lists of the numbers that a call needs behind the calls that it makes.

    while True:                        n = stack_n[depth] where a block needs it
        if state == 0: ...             a call: the state behind it and what is read there go to the stack, then depth += 1
        elif state == 1: ...           a return: the result goes to a list of one element, then depth -= 1

This is Knuth's "Structured programming with go to statements" (1974), section on the removal of recursion. What all calls hand on as it
is, as an array that they work on, is in no stack.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from polyml.frontend.parsing.functions.inner_functions import parameters
from polyml.frontend.parsing.functions.recursion_graph import (
    Again,
    BasicBlock,
    Branch,
    End,
    Goto,
    Names,
    at,
    blocks_of_all,
    targets,
)

DEEPEST = 100_000  # calls inside of each other for which there is code
MESSAGE = "maximum recursion depth exceeded"


class Unset(ast.Constant):
    """An Unset is the element of a list whose elements have no value yet."""


@dataclass(frozen=True)
class Iterative:
    """An Iterative is a function that does without calls of itself.

    tree: its definition
    names: the names of its own that it has besides those of the function that it was made of
    error: one of these, which stands for RecursionError
    """

    tree: ast.FunctionDef
    names: frozenset[str]
    error: str


@dataclass(frozen=True)
class _Functions:
    """The _Functions are a function and those that it calls and that call it.

    blocks: of all of them
    entries: where each one begins
    arguments: the parameters of each
    """

    trees: tuple[ast.FunctionDef, ...]
    blocks: list[BasicBlock]
    entries: list[int]
    arguments: tuple[tuple[str, ...], ...]

    @property
    def handed_on(self) -> frozenset[str]:
        """Returns the parameters of the first function that no statement assigns and that all calls hand on as they are."""
        nodes = (n for tree in self.trees for n in ast.walk(tree))
        found = {*self.arguments[0]} - {n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
        for block in self.blocks:
            if isinstance(block.end, Again):
                given = dict(zip(self.arguments[block.end.callee], block.end.arguments))
                found = {name for name in found if isinstance(arg := given.get(name, _load(name)), ast.Name) and arg.id == name}
        return frozenset(found)

    @property
    def reached(self) -> frozenset[int]:
        """Returns the numbers of the blocks that may run."""
        found, pending = {0}, [0]
        while pending:
            block = self.blocks[pending.pop()]
            called = (self.entries[block.end.callee],) if isinstance(block.end, Again) else ()
            new = {*targets(block), *called} - found
            found |= new
            pending += new
        return frozenset(found)


def iterative(
    tree: ast.FunctionDef, own: frozenset[str], names: Names, limit: int, others: Sequence[ast.FunctionDef] = ()
) -> Iterative:
    """Returns a function that does what one does that calls itself.

    own: the names of its parameters and local variables
    names: what its names mean
    limit: how many calls may be inside of each other
    others: functions that it calls and that call it, in the order of `names.callee`; `own` has their names too
    Raises LanguageError for what cannot be done without calls.
    """
    if limit > DEEPEST:
        raise names.refused(tree, f"a function that calls itself, with a recursion limit of more than {DEEPEST}")
    made: list[str] = []
    unused = names.fresh

    def fresh(stem: str) -> str:
        made.append(unused(stem))
        return made[-1]

    names = replace(names, fresh=fresh)
    trees = (tree, *others)
    blocks, entries = blocks_of_all(trees, names)
    functions = _Functions(trees, blocks, entries, tuple(tuple(p.arg for p in parameters(each.args)) for each in trees))
    same = functions.handed_on
    body = _Frames(functions, names, same, _live(blocks, (own | {*made}) - same), limit)
    error = fresh("_error")
    stmts = body.function(error)
    result = ast.FunctionDef(tree.name, tree.args, stmts, [], None)
    return Iterative(ast.fix_missing_locations(at(result, tree)), frozenset(made), error)


# What is read behind a place


@dataclass
class _Use:
    """A _Use is what a block does with names: `read` before it assigns them for sure, `sure`, and `may` be assigned."""

    read: set[str] = field(default_factory=set)
    sure: set[str] = field(default_factory=set)
    may: set[str] = field(default_factory=set)

    def evaluated(self, *nodes: ast.AST) -> None:
        for node in nodes:
            self.read |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)} - self.sure

    def stored(self, node: ast.AST) -> None:
        self.evaluated(node)
        names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
        self.sure |= names
        self.may |= names

    def runs(self, stmts: Sequence[ast.stmt]) -> None:
        for stmt in stmts:
            match stmt:
                case ast.Assign(targets=targets_, value=value):
                    self.evaluated(value)
                    for target in targets_:
                        self.stored(target)
                case ast.AugAssign(target=target, value=value):
                    names = [n for n in ast.walk(target) if isinstance(n, ast.Name)]
                    self.read |= {n.id for n in names} - self.sure
                    self.evaluated(value)
                    self.stored(target)
                case ast.If(test=test, body=body, orelse=orelse):
                    self.evaluated(test)
                    self.either(body, orelse)
                case ast.For(target=target, iter=iterable, body=body, orelse=orelse):
                    self.evaluated(iterable)
                    inner = _Use(self.read, {*self.sure}, self.may)
                    inner.stored(target)
                    inner.runs(body)
                    self.either(orelse, [])
                case ast.While(test=test, body=body, orelse=orelse):
                    self.evaluated(test)
                    _Use(self.read, {*self.sure}, self.may).runs(body)
                    self.either(orelse, [])
                case _:
                    self.evaluated(stmt)
                    self.may |= {n.id for n in ast.walk(stmt) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}

    def either(self, one: Sequence[ast.stmt], other: Sequence[ast.stmt]) -> None:
        ends = []
        for stmts in (one, other):
            branch = _Use(self.read, {*self.sure}, self.may)
            branch.runs(stmts)
            ends.append(branch.sure)
        self.sure |= ends[0] & ends[1]


def _used(block: BasicBlock) -> _Use:
    use = _Use(sure={*block.results}, may={*block.results})
    use.runs(block.body)
    match block.end:
        case Branch(test=test):
            use.evaluated(test)
        case Again(arguments=values) | End(values=values):
            use.evaluated(*values)
    return use


def _live(blocks: Sequence[BasicBlock], local: frozenset[str]) -> list[set[str]]:
    """Returns the local names of each block that it or what follows reads before it assigns them."""
    uses = [_used(block) for block in blocks]
    live: list[set[str]] = [set() for _ in blocks]
    changed = True
    while changed:
        changed = False
        for number in reversed(range(len(blocks))):
            after = set().union(*(live[target] for target in targets(blocks[number])))
            found = (uses[number].read | after - uses[number].sure) & local
            changed |= found != live[number]
            live[number] = found
    return live


class _Frames:
    """A _Frames writes the loop.

    same: the parameters that are in no stack
    live: of each block, the names that it or what follows reads before it assigns them
    """

    def __init__(self, functions: _Functions, names: Names, same: frozenset[str], live: list[set[str]], limit: int):
        self._functions, self._blocks, self._names, self._live, self._limit = functions, functions.blocks, names, live, limit
        self._parameters = tuple(name for name in functions.arguments[0] if name not in same)
        for tree, entry, arguments in zip(functions.trees, functions.entries, functions.arguments):
            unset = live[entry] - {*arguments}
            if unset:
                raise names.refused(tree, f"a function that calls itself, in which some path does not assign `{min(unset)}`,")
        reached = functions.reached
        counts = [target for n in reached for target in targets(self._blocks[n])]
        behind = {block.end.target for block in self._blocks if isinstance(block.end, Again)} & reached
        entries = {*functions.entries} & reached
        self._units = [n for n in sorted(entries | {*counts}) if n in entries or n in behind or counts.count(n) > 1]
        held = {*self._parameters}.union(*(live[n] for n in self._units))
        called = {tree.name for tree in functions.trees}
        for name, place in (found for tree in functions.trees for found in _sequences(tree, called)):
            if name in held:
                raise names.refused(place, f"`{name}`, a list or tuple of each call of a function that calls itself,")
        self._stack = {name: names.fresh("_stack") for name in sorted(held)}
        self._states, self._depth, self._state = names.fresh("_stack"), names.fresh("_depth"), names.fresh("_state")
        self._count = max((len(block.end.values) for block in self._blocks if isinstance(block.end, End)), default=0)
        self._results = [names.fresh("_result") for _ in range(self._count)]

    def function(self, error: str) -> list[ast.stmt]:
        """Returns the statements of the function. error: the name of RecursionError"""
        self._error = error
        size = max(self._limit, 1)
        lists = [(name, size) for name in (*self._stack.values(), self._states)] + [(name, 1) for name in self._results]
        made: list[ast.stmt] = [
            _set(name, ast.BinOp(ast.List([Unset(0)], ast.Load()), ast.Mult(), ast.Constant(n))) for name, n in lists
        ]
        made += [_set(self._depth, ast.Constant(0)), _set(self._state, ast.Constant(0))]
        places = {each.arg: each for each in parameters(self._functions.trees[0].args)}
        own = [name for name in self._parameters if name in self._stack]
        made += [at(self._stored(name, _load(name)), places[name]) for name in own]
        chain: list[ast.stmt] = []
        for place, number in reversed([*enumerate(self._units)]):
            body = [*self._loaded(number), *self._block(number, set())]
            test = ast.Compare(_load(self._state), [ast.Eq()], [ast.Constant(place)])
            chain = [ast.If(test, body, chain)] if chain else body
        made.append(ast.While(ast.Constant(True), chain, []))
        values = [_element(name, ast.Constant(0), ast.Load()) for name in self._results]
        if values:
            made.append(ast.Return(values[0] if len(values) == 1 else ast.Tuple([*values], ast.Load())))
        return made

    def _loaded(self, number: int) -> list[ast.stmt]:
        """Returns the assignments of what is read in a part of the function or behind it."""
        block = self._blocks[number]
        made: list[ast.stmt] = [
            _set(name, _element(held, ast.Constant(0), ast.Load())) for name, held in zip(block.results, self._results)
        ]
        names = sorted(self._live[number] - {*block.results})
        return made + [_set(name, _element(self._stack[name], _load(self._depth), ast.Load())) for name in names]

    def _stored(self, name: str, value: ast.expr) -> ast.stmt:
        return ast.Assign([_element(self._stack[name], _load(self._depth), ast.Store())], value)

    def _block(self, number: int, before: set[str]) -> list[ast.stmt]:
        """Returns the statements of a block, and of those behind it that nothing else leads to.

        before: the names that may be other than they are in the stack
        """
        block = self._blocks[number]
        before = before | _used(block).may
        made: list[ast.stmt] = list(block.body)
        match block.end:
            case Goto(target=target):
                made += self._going(target, before)
            case Branch(test=test, then=then, orelse=orelse):
                made.append(at(ast.If(test, self._going(then, before), self._going(orelse, before)), test))
            case Again():
                made += self._calling(block.end, before)
            case End(values=values):
                made += [
                    ast.Assign([_element(name, ast.Constant(0), ast.Store())], value) for name, value in zip(self._results, values)
                ]
                top = ast.Compare(_load(self._depth), [ast.Eq()], [ast.Constant(0)])
                made.append(ast.If(top, [ast.Break()], []))
                made.append(_set(self._depth, ast.BinOp(_load(self._depth), ast.Sub(), ast.Constant(1))))
                made.append(_set(self._state, _element(self._states, _load(self._depth), ast.Load())))
        return made

    def _going(self, target: int, before: set[str]) -> list[ast.stmt]:
        if target not in self._units:
            return self._block(target, before)
        stored = [self._stored(name, _load(name)) for name in sorted(self._live[target] & before)]
        return [*stored, _set(self._state, ast.Constant(self._units.index(target)))]

    def _calling(self, call: Again, before: set[str]) -> list[ast.stmt]:
        live = self._live[call.target] - {*self._blocks[call.target].results}
        made: list[ast.stmt] = [self._stored(name, _load(name)) for name in sorted(live & before)]
        arguments = zip(self._functions.arguments[call.callee], call.arguments)
        held = [(name, self._names.fresh("_given"), value) for name, value in arguments if name in self._stack]
        made += [at(_set(own, value), value) for _, own, value in held]
        behind, entry = (self._units.index(n) for n in (call.target, self._functions.entries[call.callee]))
        made.append(ast.Assign([_element(self._states, _load(self._depth), ast.Store())], ast.Constant(behind)))
        made.append(_set(self._depth, ast.BinOp(_load(self._depth), ast.Add(), ast.Constant(1))))
        deep = ast.Compare(_load(self._depth), [ast.GtE()], [ast.Constant(self._limit)])
        made.append(ast.If(deep, [ast.Raise(ast.Call(_load(self._error), [ast.Constant(MESSAGE)], []), None)], []))
        made += [self._stored(name, _load(own)) for name, own, _ in held]
        return [*made, _set(self._state, ast.Constant(entry))]


def _sequences(tree: ast.FunctionDef, functions: set[str]) -> Iterator[tuple[str, ast.AST]]:
    """Yields the names that a function binds to lists and tuples, or hands on as such, and the places."""
    names = [each.arg for each in parameters(tree.args)]
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) | ast.AnnAssign(target=ast.Name(id=name), value=value):
                if value is not None and _is_sequence(value):
                    yield name, node
            case ast.Call(func=ast.Name(id=called), args=args) if called in functions:
                yield from ((name, value) for name, value in zip(names, args) if _is_sequence(value))


def _is_sequence(node: ast.expr) -> bool:
    match node:
        case ast.List() | ast.Tuple() | ast.ListComp() | ast.Call(func=ast.Name(id="list" | "tuple" | "sorted")):
            return True
        case ast.BinOp(left=left, op=ast.Add() | ast.Mult(), right=right):
            return _is_sequence(left) or _is_sequence(right)
    return False


def _load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _set(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _element(name: str, index: ast.expr, context: ast.expr_context) -> ast.Subscript:
    return ast.Subscript(_load(name), index, context)
