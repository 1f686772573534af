"""How much work one compilation may take: isl's operations and the size of what is generated, in place of a clock.

The same budget gives the same code on every machine, and about `seconds` of compilation on one core of a recent one.

    model       domains, dependences, reductions           past it: the source's order, no dependences
    search      schedules, pieces, code of every way       past it: the source's order
    last        code of the source's order                 past it: plain Python
    nodes       of a program in which vectors are sought   past it: fewer tiles and copies, at last no vectors
    copies      of statements that LLVM is given           the same
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from polyml.codegen.ir.program import CannotRunTogether, Jam, Node, Program, Unroll, every, with_paths

OPERATIONS_PER_SECOND = 800_000  # isl's operations, a careful figure; half is for the model, half for the search
LAST_PER_SECOND = 100_000
NODES_PER_SECOND = 60
COPIES_PER_SECOND = 1_500


class TooMuchCode(CannotRunTogether):
    """Raised where a program is larger than the compile budget allows; without tiles, copies or vectors it may be small enough."""


@dataclass(frozen=True)
class CompileBudget:
    """A compile budget says how much work each part of a compilation may take, so that the whole takes about `seconds`."""

    seconds: int

    @property
    def model(self) -> int:
        """Returns how many operations isl may use for domains, dependences and reductions."""
        return self.seconds * OPERATIONS_PER_SECOND // 2

    @property
    def search(self) -> int:
        """Returns how many operations isl may use for all candidates together: their schedules, and their loops."""
        return self.seconds * OPERATIONS_PER_SECOND // 2

    @property
    def last(self) -> int:
        """Returns how many operations isl may use for the code of the source's order, after all candidates were given up."""
        return self.seconds * LAST_PER_SECOND

    def check_nodes(self, program: Program) -> None:
        """Raises TooMuchCode where a program has too many loops and statements for the search for vectors."""
        _check(sum(1 for _ in every((*program.before, *program.body))), self.seconds * NODES_PER_SECOND, "loops and statements")

    def check_copies(self, program: Program) -> None:
        """Raises TooMuchCode where unrolling makes more copies of statements than LLVM may be given."""
        nodes = (*program.before, *program.body)
        _check(sum(_copies(path) for _, path in with_paths(nodes)), self.seconds * COPIES_PER_SECOND, "copies of statements")


def _copies(path: tuple[Node, ...]) -> int:
    """Returns how many copies of a statement unroll-and-jam and unrolling make in the code.

    path: the nodes from the outermost loop to the statement.
    """
    return prod(node.count for node in path if isinstance(node, (Jam, Unroll)))


def _check(found: int, most: int, what: str) -> None:
    if found > most:
        raise TooMuchCode(f"{found:,} {what}, for which the compile budget does not suffice")
