"""Live variables on Python's own syntax tree: which local names are still read behind each statement of a function.

The analysis is the textbook's (Aho, Lam, Sethi, Ullman, "Compilers", 9.2.5), structured: backwards through blocks, loops until
nothing changes. Statements that may leave a block anywhere (try, with, match) kill nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

Names = frozenset[str]
_NONE: Names = frozenset()


def live_after(body: Sequence[ast.stmt]) -> Mapping[int, Names]:
    """Returns the live variables behind each statement of a function's body, by the statement's id.

    A name is live if it may be read before it is bound again.
    """
    walker = _Liveness()
    walker.block(body, _NONE, _Jumps())
    return walker.after


def loaded(node: ast.AST) -> Names:
    """Returns the names that are read anywhere inside the node, nested functions included."""
    return frozenset(_loaded(node))


def stored(target: ast.AST) -> Names:
    """Returns the names that are bound anywhere inside the node by assignments, loops and other stores.

    Names that only imports, functions and exception handlers bind are left out.
    """
    return frozenset(n.id for n in ast.walk(target) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))


def _loaded(node: ast.AST) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Store):
            yield part.id
        if isinstance(part, ast.AugAssign) and isinstance(part.target, ast.Name):
            yield part.target.id


@dataclass(frozen=True)
class _Jumps:
    """A _Jumps says which names are live where the jumps out of a block lead.

    broken: the names that are live where `break` leads
    continued: the names that are live where `continue` leads
    """

    broken: Names = _NONE
    continued: Names = _NONE

    @property
    def any(self) -> Names:
        """Returns the names that are live where `break` or `continue` leads."""
        return self.broken | self.continued


@dataclass(frozen=True)
class _LoopStatement:
    """A _LoopStatement is a for or a while statement.

    body, orelse: its blocks
    read: the names that are read before each iteration, by the condition of a while, or by the target of a for such as `A[k]`
    bound: the names that the target of a for binds before each iteration
    """

    body: Sequence[ast.stmt]
    orelse: Sequence[ast.stmt]
    read: Names
    bound: Names = _NONE


@dataclass
class _Liveness:
    """A _Liveness computes the live variables of one function, backwards through its statements.

    after: the live variables behind each statement, by its id; they grow until nothing changes
    """

    after: dict[int, Names] = field(default_factory=dict)

    def block(self, body: Sequence[ast.stmt], after: Names, jumps: _Jumps) -> Names:
        """Returns the names that are live before a block, and adds those behind each of its statements to `after`.

        after: the names that are live behind the block
        jumps: those that are live where `break` and `continue` lead
        """
        for stmt in reversed(body):
            self.after[id(stmt)] = self.after.get(id(stmt), _NONE) | after
            after = self._before(stmt, after, jumps)
        return after

    def _before(self, stmt: ast.stmt, after: Names, jumps: _Jumps) -> Names:
        match stmt:
            case ast.Assign(targets=targets, value=value):
                bound = frozenset(n.id for t in targets for n in _plain(t))
                return after - bound | loaded(value) | frozenset().union(*map(loaded, targets))
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                return after - {name} | loaded(value)
            case ast.Return() | ast.Raise():
                return loaded(stmt)
            case ast.Break():
                return jumps.broken
            case ast.Continue():
                return jumps.continued
            case ast.If(test=test, body=body, orelse=orelse):
                branches = self.block(body, after, jumps) | self.block(orelse, after, jumps)
                return branches | loaded(test)
            case ast.For(target=target, iter=values, body=body, orelse=orelse):
                return self._loop(_LoopStatement(body, orelse, loaded(target), stored(target)), after, jumps) | loaded(values)
            case ast.While(test=test, body=body, orelse=orelse):
                return self._loop(_LoopStatement(body, orelse, loaded(test)), after, jumps)
        for inner in _blocks(stmt):  # control may leave this block anywhere
            everything = after | loaded(stmt) | jumps.any
            self.block(inner, everything, _Jumps(everything, everything))
        leaves = any(isinstance(n, (ast.Break, ast.Continue)) for n in ast.walk(stmt))
        return after | loaded(stmt) | (jumps.any if leaves else _NONE)

    def _loop(self, loop: _LoopStatement, after: Names, jumps: _Jumps) -> Names:
        """Returns the names that are live before each iteration of a loop.

        after: the names that are live behind the loop
        jumps: the names that are live where a `break` or a `continue` in the loop's `else` leads: it belongs to an outer loop
        """
        head = loop.read | self.block(loop.orelse, after, jumps)
        while True:
            known = head | (self.block(loop.body, head, _Jumps(after, head)) - loop.bound)
            if known == head:
                return head
            head = known


def _plain(target: ast.expr) -> Iterator[ast.Name]:
    """Yields the nodes of the names that an assignment to the target certainly binds."""
    if isinstance(target, ast.Name):
        yield target
    elif isinstance(target, (ast.Tuple, ast.List)):
        for part in target.elts:
            yield from _plain(part)
    elif isinstance(target, ast.Starred):
        yield from _plain(target.value)


def _blocks(stmt: ast.stmt) -> Iterator[Sequence[ast.stmt]]:
    if isinstance(stmt, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return
    for node in (stmt, *getattr(stmt, "handlers", ()), *getattr(stmt, "cases", ())):
        for name in ("body", "orelse", "finalbody"):
            if isinstance(found := getattr(node, name, None), list):
                yield found
