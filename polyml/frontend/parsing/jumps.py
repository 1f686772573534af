"""Where `break`, `continue` and `return` lead: out of Blocks around a loop, around its body, and around a function's body.

for i in range(n):              block break:
    if A[i] < 0:                    for i in range(n):
        continue        ->              block continue:
    if A[i] > x:                            if A[i] < 0:
        break                                   leave continue
    s += A[i]                               ...
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from polyml.frontend import syntax
from polyml.frontend.syntax import Stmt
from polyml.source import Loc


@dataclass
class LoopJumps:
    """The LoopJumps of a loop are the labels that its jumps lead to.

    outside, inside: the labels of the Blocks around the loop and around its body
    used: those of them that a jump leads to
    """

    outside: str
    inside: str
    used: set[str] = field(default_factory=set)

    def with_else(self, loop: Sequence[Stmt], orelse: Sequence[Stmt], loc: Loc) -> tuple[Stmt, ...]:
        """Returns a loop with the statements of its `else`, which a `break` skips."""
        if self.outside not in self.used:
            return (*loop, *orelse)
        return (syntax.Block(self.outside, (*loop, *orelse), loc=loc),)


class Jumps:
    """A Jumps knows the loops around the statement that is parsed.

    fresh: makes a name that is not in use, from a stem
    """

    def __init__(self, fresh: Callable[[str], str]):
        self._fresh = fresh
        self._loops: list[LoopJumps] = []

    @contextmanager
    def loop(self) -> Iterator[LoopJumps]:
        """Returns a context in which the statements of a loop are parsed, but not those of its `else`."""
        self._loops.append(LoopJumps(self._fresh("_break"), self._fresh("_continue")))
        try:
            yield self._loops[-1]
        finally:
            self._loops.pop()

    def iteration(self, body: Callable[[], tuple[Stmt, ...]]) -> tuple[Stmt, ...]:
        """Returns the statements of an iteration of the innermost loop, which its `continue` ends. body: makes them."""
        loop = self._loops[-1]
        loop.used.discard(loop.inside)
        made = body()
        return (syntax.Block(loop.inside, made, loc=made[0].loc),) if loop.inside in loop.used else made

    def leave(self, keyword: str, loc: Loc) -> syntax.Leave:
        """Returns what `break` or `continue` becomes."""
        loop = self._loops[-1]
        label = loop.outside if keyword == "break" else loop.inside
        loop.used.add(label)
        return syntax.Leave(label, loc=loc)
