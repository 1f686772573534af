"""The kernel that a schedule is for, with its dependences, and the proofs of an order of its instances."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

import islpy as isl

from polyml.errors import ScheduleError
from polyml.frontend.syntax import ArgType
from polyml.model.core.dependence import Dependences
from polyml.model.core.reductions import Reduction, relaxed_validity
from polyml.model.core.scop import Scop
from polyml.polyhedra import BudgetExceeded, budget
from polyml.schedule.gpu.launch_plan import planned_as_given
from polyml.schedule.legality.check import check_legal, check_parallel, check_together
from polyml.schedule.tree import loop_tree as loops
from polyml.values import cached_property

OPERATIONS = 3_000_000  # isl operations for one step and its proof
_ON_GPU = "the kernel runs on a GPU: `grid` gives loops to its threads"
_ON_PROCESSOR = 'polyml.kernel(target="opencl") or target="cuda" makes a kernel that runs on a GPU'


@dataclass(frozen=True)
class Problem:
    """The kernel, compiled for some types of arguments, for which a schedule is written, and what its code is generated with.

    scop, dependences, reductions: the statements, the order to be kept, and the updates whose order is free.
    types: of the arguments.
    layouts: of the arguments that are arrays.
    sizes: values of parameters for which code is generated; None: for any.
    sized: whether code depends on these values for more than the sizes of expanded arrays.
    related: relations between sizes that code takes for granted.
    generate: from a tree to the code that is generated for it, which has the program; it raises ScheduleError for directives that
        cannot be followed.
    alone: a context in which no other thread uses isl, whose state is the process's.
    on_gpu: whether the kernel runs on a GPU, so that marks put loops in grids of blocks and threads.
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
    alone: Callable[[], AbstractContextManager[object]]
    on_gpu: bool = False

    def check(self, tree: isl.Schedule) -> None:
        """Raises an error for a tree that is not legal (as `prove` does), or has directives that the code generator cannot follow.

        The latter is a ScheduleError; to find out, code is generated where a directive needs it.
        """
        self.prove(tree)
        if any(loop.directives.of_code or loop.directives.of_gpu for _, loop in loops.loops(self._loops(tree))):
            self.generate(tree)

    def prove(self, tree: isl.Schedule) -> None:
        """Raises IllegalSchedule, with a witness, unless the tree keeps every dependence, also in loops with directives.

        Raises ScheduleError for a tree that cannot be read as loops with names, and where the proof takes too long.
        """
        read = self._loops(tree)
        self._check_directives(read)
        with _proof():
            check_legal(tree, self.scop, self.dependences, self.reductions)
            if self.on_gpu:
                planned_as_given(read, self.scop, self.dependences, self.reductions)
            else:
                check_parallel(tree, self.scop, self.dependences, self.reductions)
        if not self.on_gpu:
            self.prove_together(tree)

    def _loops(self, tree: isl.Schedule) -> loops.Node:
        return loops.read(tree, self.scop.statements)

    def _check_directives(self, tree: loops.Node) -> None:
        """Raises ScheduleError where a loop has a directive for GPUs and the kernel runs on a processor, or the other way round."""
        for _, loop in loops.loops(tree):
            other = loop.directives.of_processor if self.on_gpu else loop.directives.of_gpu
            if other:
                words, notes = " and ".join(loop.directives.words()), [_ON_PROCESSOR, f"plain({loop.name}) takes it back"]
                if self.on_gpu:
                    notes[0] = _ON_GPU
                where = "processors" if self.on_gpu else "GPUs"
                raise ScheduleError(f"loop `{loop.name}` has the directive {words}, which is for {where}", notes=notes)

    def prove_together(self, tree: isl.Schedule) -> None:
        """Raises IllegalSchedule where a loop that is vectorized or unrolled and jammed carries a dependence.

        The order of the tree must be legal already.
        """
        with _proof():
            check_together(tree, self.scop, self.dependences, lambda: self._relaxed)

    @cached_property
    def _relaxed(self) -> isl.UnionMap:
        """Returns { S[i] -> T[j] }, the dependences without those among updates of reductions."""
        return relaxed_validity(self.dependences, self.scop, self.reductions)


@contextmanager
def _proof() -> Iterator[None]:
    """Runs a `with` block with a limited number of isl's operations; raises ScheduleError where the proof needs more of them."""
    try:
        with budget(OPERATIONS):
            yield
    except BudgetExceeded as problem:
        raise ScheduleError(f"the proof takes too long ({problem})", notes=["a simpler order may be proved"]) from None
