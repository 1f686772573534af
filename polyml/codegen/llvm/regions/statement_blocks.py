"""Statements become blocks of one function, and branches between them; iterations become groups that are tested before they run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from polyml.codegen.llvm.builder import BasicBlock
from polyml.codegen.llvm.element_access import ElementAccess
from polyml.frontend import syntax


def begin(body: ElementAccess, block: BasicBlock) -> None:
    """Makes a block the one to which code is added."""
    body.fn.current = block
    body.math.forget()


def in_groups(
    body: ElementAccess, count: str, least: int, length: int, tested: Callable[[str], str], run: Callable[[str], None]
) -> str:
    """Emits the iterations of a loop in groups, and returns the number of the first one that is left: behind them, or in a group that fails a test.

    count: the SSA name of how many iterations there are
    least, length: from how many of them on there are groups, and how many a group has
    tested, run: emit the test of a group, and return the SSA name of whether it holds, and its iterations; they get the number of the first one
    """
    fn = body.fn
    before, head, test, inside, after = fn.current, *(fn.block(hint) for hint in ("groups", "test", "run", "rest"))
    number, last = fn.name(), fn.emit(f"sub i64 {count}, {length}")
    fn.branch(fn.emit(f"icmp ult i64 {count}, {least}"), after, head)
    begin(body, head)
    fn.branch(fn.emit(f"icmp sle i64 {number}, {last}"), test, after)
    begin(body, test)
    holds, end = tested(number), fn.current
    fn.branch(holds, inside, after)
    begin(body, inside)
    run(number)
    following = fn.emit(f"add nuw nsw i64 {number}, {length}")
    fn.jump(head)
    head.phis.append(f"{number} = phi i64 [ 0, %{before.label} ], [ {following}, %{fn.current.label} ]")
    begin(body, after)
    left = fn.name()
    others = f"[ {number}, %{head.label} ], [ {number}, %{end.label} ]"
    after.phis.append(f"{left} = phi i64 [ 0, %{before.label} ], {others}")
    return left


class StatementBlocks(ABC):
    """A StatementBlocks emits statements as blocks of one function, and branches between them."""

    def __init__(self, body: ElementAccess):
        self._body, self._fn = body, body.fn

    @abstractmethod
    def _block(self, body: Sequence[syntax.Stmt]) -> None:
        """Emits statements one behind the other."""

    def _begin(self, block: BasicBlock) -> None:
        begin(self._body, block)

    def _go(self, block: BasicBlock) -> None:
        """Emits a jump to a block, with which code goes on."""
        self._fn.jump(block)
        self._begin(block)

    def _branch(self, test: str, stmt: syntax.If) -> None:
        """Emits a branch of which one side is run. test: the SSA name of its condition."""
        then, orelse, after = self._fn.block("then"), self._fn.block("else"), self._fn.block("after")
        self._fn.branch(test, then, orelse)
        for block, is_then in ((then, True), (orelse, False)):
            self._begin(block)
            self._side(stmt, is_then)
            self._fn.jump(after)
        self._begin(after)

    def _side(self, stmt: syntax.If, is_then: bool) -> None:
        """Emits one side of a branch."""
        self._block(stmt.then if is_then else stmt.orelse)
