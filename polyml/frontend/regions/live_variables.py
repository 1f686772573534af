"""Which local names are still read behind each statement of a function: live variables, on Python's own syntax tree.

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
    """id of each statement of a function's body -> the names that may be read behind it before they are bound again."""
    walker = _Liveness()
    walker.block(body, _NONE, _NONE, _NONE)
    return walker.after


def loaded(node: ast.AST) -> Names:
    """The names that are read anywhere inside the node, nested functions included."""
    return frozenset(_loaded(node))


def stored(target: ast.AST) -> Names:
    """The names that are bound anywhere inside the node, but for those that only imports, functions and handlers bind."""
    return frozenset(n.id for n in ast.walk(target) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))


def _loaded(node: ast.AST) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Store):
            yield part.id
        if isinstance(part, ast.AugAssign) and isinstance(part.target, ast.Name):
            yield part.target.id


@dataclass
class _Liveness:
    """after: grows until nothing changes."""

    after: dict[int, Names] = field(default_factory=dict)

    def block(self, body: Sequence[ast.stmt], after: Names, broken: Names, continued: Names) -> Names:
        """What is live before the statements. broken, continued: what is live where `break` and `continue` lead."""
        for stmt in reversed(body):
            self.after[id(stmt)] = self.after.get(id(stmt), _NONE) | after
            after = self._before(stmt, after, broken, continued)
        return after

    def _before(self, stmt: ast.stmt, after: Names, broken: Names, continued: Names) -> Names:
        match stmt:
            case ast.Assign(targets=targets, value=value):
                bound = frozenset(n.id for t in targets for n in _plain(t))
                return after - bound | loaded(value) | frozenset().union(*map(loaded, targets))
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                return after - {name} | loaded(value)
            case ast.Return() | ast.Raise():
                return loaded(stmt)
            case ast.Break():
                return broken
            case ast.Continue():
                return continued
            case ast.If(test=test, body=body, orelse=orelse):
                branches = self.block(body, after, broken, continued) | self.block(orelse, after, broken, continued)
                return branches | loaded(test)
            case ast.For(target=target, iter=values, body=body, orelse=orelse):
                return self._loop(body, orelse, after, loaded(target), stored(target), broken, continued) | loaded(values)
            case ast.While(test=test, body=body, orelse=orelse):
                return self._loop(body, orelse, after, loaded(test), _NONE, broken, continued)
        for inner in _blocks(stmt):  # control may leave it anywhere
            everything = after | loaded(stmt) | broken | continued
            self.block(inner, everything, everything, everything)
        leaves = any(isinstance(n, (ast.Break, ast.Continue)) for n in ast.walk(stmt))
        return after | loaded(stmt) | (broken | continued if leaves else _NONE)

    def _loop(
        self,
        body: Sequence[ast.stmt],
        orelse: Sequence[ast.stmt],
        after: Names,
        read: Names,
        bound: Names,
        broken: Names,
        continued: Names,
    ) -> Names:
        """What is live before each iteration. read, bound: by its head."""
        head = read | self.block(orelse, after, broken, continued)
        while True:
            known = head | read | (self.block(body, head, after, head) - bound)
            if known == head:
                return head
            head = known


def _plain(target: ast.expr) -> Iterator[ast.Name]:
    """The names that an assignment to the target binds whatever happens."""
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
