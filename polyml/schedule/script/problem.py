"""What a schedule is for: a kernel, its dependences, and what is proved of an order of its instances."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property

import islpy as isl

from polyml.errors import ScheduleError
from polyml.frontend.syntax import ArgType
from polyml.model.core.dependence import Dependences
from polyml.model.core.reductions import Reduction, relaxed_validity
from polyml.model.core.scop import Scop
from polyml.polyhedra import BudgetExceeded, budget
from polyml.schedule.legality.check import check_legal, check_parallel, check_together
from polyml.schedule.tree import loop_tree as loops

OPERATIONS = 3_000_000  # isl operations for one step and its proof


@dataclass(frozen=True)
class Problem:
    """What a schedule is for.

    types, layouts: of the arguments. sizes: values of parameters that the generator chooses by; sized: whether it does that
    for more than arrays that are expanded. related: sizes that it takes to follow from others. generate: the
    program that a tree becomes, whose code is made but not assembled, or not even made where NOTHING is emitted; ScheduleError for
    what it cannot do. alone: isl's state is the process's.
    """

    scop: Scop
    dependences: Dependences
    reductions: Mapping[str, Reduction]
    types: tuple[ArgType, ...]
    layouts: tuple[str, ...]
    sizes: Mapping[str, int] | None
    sized: bool
    related: tuple[str, ...]
    generate: Callable[..., object]
    alone: Callable[[], AbstractContextManager]

    def check(self, tree: isl.Schedule) -> None:
        """Raise what `prove` does, and ScheduleError for what is asked of loops and cannot be generated."""
        self.prove(tree)
        if any(loop.directives.of_code for _, loop in loops.loops(loops.read(tree, self.scop.statements))):
            self.generate(tree)

    def prove(self, tree: isl.Schedule) -> None:
        """Raise IllegalSchedule with a witness unless the tree keeps every dependence, ScheduleError if it is none of loops."""
        loops.read(tree, self.scop.statements)
        with _proof():
            check_legal(tree, self.scop, self.dependences, self.reductions)
            check_parallel(tree, self.scop, self.dependences, self.reductions)
        self.prove_together(tree)

    def prove_together(self, tree: isl.Schedule) -> None:
        """Raise what `prove` does for loops of a legal order that are asked to run iterations together."""
        with _proof():
            check_together(tree, self.scop, self.dependences, lambda: self._relaxed)

    @cached_property
    def _relaxed(self) -> isl.UnionMap:
        return relaxed_validity(self.dependences, self.scop, self.reductions)


@contextmanager
def _proof() -> Iterator[None]:
    try:
        with budget(OPERATIONS):
            yield
    except BudgetExceeded as problem:
        raise ScheduleError(f"the proof takes too long ({problem})", notes=["a simpler order may be proved"]) from None
