"""Statements become blocks of one function, and branches between them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from polyml.codegen.llvm.builder import BasicBlock
from polyml.codegen.llvm.element_access import ElementAccess
from polyml.frontend import syntax


class StatementBlocks(ABC):
    """A StatementBlocks emits statements as blocks of one function, and branches between them."""

    def __init__(self, body: ElementAccess):
        self._body, self._fn = body, body.fn

    @abstractmethod
    def _block(self, body: Sequence[syntax.Stmt]) -> None:
        """Emits statements one behind the other."""

    def _begin(self, block: BasicBlock) -> None:
        self._fn.current = block
        self._body.math.forget()

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
