"""Updates of reductions among the dependences of a SCoP: which loops may carry them, and what threads then have for themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import islpy as isl

from polyml import polyhedra
from polyml.dtypes import PYINT
from polyml.frontend import syntax
from polyml.model.core.dependence import NONE, Dependences
from polyml.model.core.reductions import Reduction, relaxed
from polyml.model.core.scop import Load, Scop
from polyml.model.index_arrays.updates import SMALL_STEP
from polyml.schedule.legality.check import only_updated
from polyml.schedule.tree.bands import together
from polyml.values import cached_property


@dataclass(frozen=True)
class FreeUpdates:
    """The dependences of a SCoP, of which those among the updates of reductions are free in order.

    reductions: by statement, the updates whose order is free.
    """

    scop: Scop
    dependences: Dependences
    reductions: Mapping[str, Reduction]

    @property
    def every(self) -> isl.UnionMap:
        """Returns { S[i] -> T[j] }, all dependences that keep an order."""
        return self.dependences.validity

    @cached_property
    def kept(self) -> isl.UnionMap:
        """Returns { S[i] -> T[j] }, the dependences without those among free updates."""
        return self.every.subtract(self.free)

    @cached_property
    def free(self) -> isl.UnionMap:
        """Returns { S[i] -> T[j] }, the dependences among updates that may come in any order, so that threads may share them.

        A sum of Python's integers is not among them, since in another order it may leave 64 bits, unless it counts.
        """
        found = {n: r for n, r in self.reductions.items() if self.scop.arrays[r.array].element != PYINT or self._counts(n, r)}
        return relaxed(self.scop, found) if found else NONE

    def _counts(self, name: str, reduction: Reduction) -> bool:
        """Returns whether an update adds a small constant to a number, or nothing: so many additions that it leaves 64 bits take years."""
        value = self.scop.statements[name].value
        if isinstance(value, syntax.IfExp):
            value = value.orelse if isinstance(value.then, Load) else value.then
        match value:
            case syntax.Binary(op="+" | "-", left=Load(access=access), right=syntax.Const(value=int(step))):
                return reduction.operator == "+" and access == reduction.access and abs(step) <= SMALL_STEP
        return False

    def updates(self, names: Sequence[str]) -> bool:
        """Returns whether one of the statements is an update whose order is free."""
        return any(name in self.reductions for name in names)

    def carried(self, names: Sequence[str], loop: isl.UnionPwAff) -> tuple[str, ...]:
        """Returns the arrays whose free updates by the statements `names` the loop carries: each thread needs partial results.

        loop: { S[i] -> [(e)] }, for all of the statements.
        """
        arrays = sorted({self.reductions[name].array for name in names if name in self.reductions})
        if not arrays:
            return ()
        inside = self.free.intersect_domain(loop.domain()).intersect_range(loop.domain())
        times = together([loop])
        moved = inside.lex_lt_at_multi_union_pw_aff(times)
        found = {self.scop.statements[name].write.array for name in polyhedra.set_names(moved.domain())}
        return tuple(array for array in arrays if array in found)

    def only_in(self, names: Sequence[str], arrays: Sequence[str]) -> bool:
        """Returns whether the statements `names` touch each of the arrays by updates of one operator alone."""
        return only_updated(self.scop, names, arrays, self.reductions)
