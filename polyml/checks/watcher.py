"""The setting `check`: every pass of a compilation is checked as soon as it has run."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import islpy as isl
import numpy as np

from polyml import polyhedra
from polyml.checks import kernels, nests, schedules, scops, sizes
from polyml.checks.arguments import Arguments, arguments_at
from polyml.checks.programs import Checker, in_source_order
from polyml.checks.symbolic.finding import Finding
from polyml.codegen.ir.program import Program
from polyml.errors import PassError
from polyml.frontend import syntax
from polyml.model.core.dependence import Dependences
from polyml.model.core.nest import Nest
from polyml.model.core.reductions import Reduction
from polyml.model.core.scop import Scop
from polyml.model.running_maximum import statement_writer
from polyml.pass_manager import Pass
from polyml.schedule.compute import Scheduled

_CALLS = 5  # that kernels and nests are run with
_MOST = 600  # instances of one of them
_CALLS_IN_BLOCKS = 4  # that sums in blocks of columns are run with
_MOST_IN_BLOCKS = 30_000  # instances of one of them
_OPERATIONS = 3_000_000  # of isl for one check, after which it is given up


class Watcher:
    """A Watcher is called after each pass of a compilation, with what the pass took and what it made, and checks the pass.

    Passes on kernels and nests are kept until there is a SCoP, which says what arguments they can be run on, and are checked then.
    A proof that takes isl too long is given up, so a pass without an error is not proved correct. What has regions is not checked:
    data decide what they do, and there are no such data among terms.
    """

    def __init__(self) -> None:
        self._untyped: syntax.Kernel | None = None
        self._waiting: list[tuple[str, Any, Any]] = []
        self._free: dict[str, Reduction] = {}
        self._found: Dependences | None = None
        self._scop: Scop | None = None
        self._checker = Checker()

    def __call__(self, step: Pass, before: object, after: object, seconds: float) -> None:
        """Checks a pass, or keeps what it took and made for a later check. Raises PassError if this pass, or one that was kept, is
        wrong.

        step: the pass.
        seconds: how long it took, which is not used.
        """
        if _has_regions(before) or _has_regions(after):
            self._waiting, self._untyped = [], None
            return
        with polyhedra.uncharged():
            try:
                with polyhedra.budget(_OPERATIONS):
                    self.passed(step.name, before, after)
            except polyhedra.BudgetExceeded:
                return

    def passed(self, name: str, before: object, after: object) -> None:
        """Checks the pass with this name, or keeps what it took and made for a later check.

        Raises PassError if this pass, or one that was kept, is wrong.
        """
        if isinstance(before, syntax.Kernel) and isinstance(after, syntax.Kernel):
            if not after.types:  # what a typed kernel means its interpreter does not tell: it takes constants for Python's
                self._untyped = after
                self._waiting.append((name, before, after))
        elif isinstance(before, Nest) and isinstance(after, Nest):
            self._waiting.append((name, before, after))
        elif isinstance(before, Nest) and isinstance(after, Scop):
            self._check_waiting(name, after)
        elif isinstance(after, Dependences):
            self._scop, self._found = (before if isinstance(before, Scop) else None), after
        elif name == "reductions" and isinstance(after, dict):
            self._free = after
        elif name == "running_maximum" and isinstance(before, Scop) and isinstance(after, Scop):
            _check_blocks(name, before, after)
        else:
            found = self._difference(before, after)
            if found is not None:
                raise error(name, found)

    def _difference(self, before: object, after: object) -> Finding | None:
        """Returns what a pass that made a SCoP, a schedule or a program did wrong; None where no difference is found."""
        if isinstance(before, Program) and isinstance(after, Program):
            return self._checker.passes(before, after)
        if isinstance(before, Scop) and isinstance(after, Program):
            return self._checker.builds(before, after)
        if isinstance(before, Scop) and isinstance(after, Scop):
            return scops.check(before, after, {name: r for name, r in self._free.items() if name in before.statements})
        tree = after.tree if isinstance(after, Scheduled) else after
        if isinstance(tree, isl.Schedule) and self._scop is not None and self._found is not None:
            if isinstance(before, isl.Schedule) and schedules.check_part(self._scop, self._found, before, self._free) is not None:
                return None  # loops of which a later step makes a legal order: the whole is proved where it is done
            return schedules.check_part(self._scop, self._found, tree, self._free)
        return None

    def _check_waiting(self, name: str, scop: Scop) -> None:
        """Checks the passes on kernels and nests that led to a SCoP, in their order, and then all of them together.

        name: the pass that made the SCoP. Raises PassError where one is wrong.
        """
        calls = list(_calls(scop))
        for each, before, after in self._waiting:
            _raise_first(each, ((at, _check(each, before, after, scop, given)) for at, given in calls))
        kernel, self._waiting, self._untyped = self._untyped, [], None
        if kernel is not None:
            _raise_first(name, ((at, kernels.check_lowering(kernel, scop, given)) for at, given in calls))


def _has_regions(value: object) -> bool:
    """Returns whether what a pass takes or makes has regions."""
    scop = value.scop if isinstance(value, Program) else value
    return isinstance(scop, (Nest, Scop)) and scop.has_regions


def _check(name: str, before: Any, after: Any, scop: Scop, given: Arguments) -> Finding | None:
    """Returns what a pass on kernels or nests did wrong in a call; None where no difference is found.

    name: the pass.
    scop: what became of the kernel, which has the types of the arguments.
    """
    if isinstance(before, Nest):
        return nests.check(before, after, given)
    if name == "algebra":
        return kernels.check_algebra(before, after, scop.types, given)
    return kernels.check(before, after, given)


def _check_blocks(name: str, before: Scop, after: Scop) -> None:
    """Checks a pass that computes sums block by block, in calls with several blocks, whose arrays grow from block to block. Raises
    PassError where it is wrong.
    """
    found = (at for at in sizes.sizes(before, (statement_writer.BLOCK,)) if max(at.values(), default=0) > statement_writer.BLOCK)
    small = islice((at for at in found if in_source_order(before, at, _MOST_IN_BLOCKS) is not None), _CALLS_IN_BLOCKS)
    calls = ((at, _growing(arguments_at(before, at, seed))) for seed, at in enumerate(small))
    _raise_first(name, ((at, kernels.check_sums(before, after, given)) for at, given in calls))


def _growing(given: Arguments) -> Arguments:
    """Returns arguments in which arrays of floats have positive numbers, each larger than the one before it."""

    def grown(value: object) -> object:
        if not (isinstance(value, np.ndarray) and value.dtype.kind == "f"):
            return value
        return np.linspace(0.5, 30, value.size).reshape(value.shape).astype(value.dtype)

    return {name: grown(value) for name, value in given.items()}


def _calls(scop: Scop) -> Iterator[tuple[sizes.Sizes, Arguments]]:
    """Yields (sizes, arguments) for a few small calls of a SCoP's kernel: values of the SCoP's parameters, and arguments that have
    these sizes.
    """
    small = (at for at in sizes.sizes(scop, (7, 4)) if in_source_order(scop, at, _MOST) is not None)
    for seed, at in enumerate(islice(small, _CALLS)):
        yield at, arguments_at(scop, at, seed)


def _raise_first(name: str, found: Iterator[tuple[sizes.Sizes, Finding | None]]) -> None:
    for at, finding in found:
        if finding is not None:
            raise error(name, finding.at(at))


def error(name: str, finding: Finding) -> PassError:
    """Returns the error for a pass with this name that did something wrong."""
    notes = [f"the instance: {finding.instance}"] * bool(finding.instance) + [f"the element: {finding.element}"] * bool(
        finding.element
    )
    return PassError(f"pass {name} is wrong: {finding}", notes=[*notes, "this is a defect of polyml; the function itself is fine"])
