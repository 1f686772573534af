"""Lower bounds on the elements that any order of a kernel's instances moves between a fast memory of S elements and a slow one.

Whatever is read of the kernel's arguments is loaded, and what it leaves in arguments and results is stored. Reuse costs more, by the
inequalities of `data_reuse` (Hong and Kung 1981; Olivry, Langou, Pouchet, Sadayappan and Rastello, "Automated derivation of
parametric data movement lower bounds for affine programs", PLDI 2020). For C += A @ B the bound is 2*M*N*K/sqrt(S) - 2*S, the
constant of Kwasniewski et al. 2019.

It holds if no instance runs twice, and if a sum is accumulated in one place, though in any order. S is all of the fast memory:
caches and the registers that hold scalars and operands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import islpy as isl

from polyml import polyhedra
from polyml.model.core.scop import Role, Scop
from polyml.model.counting.cardinality import CannotCount, Count, added, case_text, count
from polyml.model.counting.data_reuse import OPERATIONS, ReuseBound, loads, read_sources, reuse_bounds
from polyml.polyhedra import BudgetExceeded


@dataclass(frozen=True)
class LowerBound:
    """A LowerBound says how many elements any order of a kernel's instances loads and stores at least.

    inputs: how many elements of each argument are read before they are written
    outputs: how many elements of each argument and result are written
    reuse: bounds by the reuse of data, of which at most one of each statement counts
    registers: how many values registers hold; the fast memory is the caches and the registers
    context: { : sizes for which every statement runs }, for texts
    """

    inputs: dict[str, Count]
    outputs: dict[str, Count]
    reuse: tuple[ReuseBound, ...]
    registers: int
    context: isl.Set = field(repr=False, compare=False)

    def loads(self, sizes: Mapping[str, int], elements: int) -> int:
        """Returns the least number of elements that are loaded.

        elements: the capacity of the caches in elements, of the smallest type where arrays have several
        """
        groups = self._groups(sizes, elements)
        return max(self.compulsory(sizes), *(loads(group, sizes, elements + self.registers) for group in groups), 0)

    def stores(self, sizes: Mapping[str, int]) -> int:
        """Returns the least number of elements that are stored, at the end or before."""
        return sum(number.evaluate(sizes) for number in self.outputs.values())

    def total(self, sizes: Mapping[str, int], elements: int) -> int:
        """Returns the least number of elements that are loaded plus that of elements stored.

        elements: the capacity of the caches in elements, of the smallest type where arrays have several
        """
        return self.loads(sizes, elements) + self.stores(sizes)

    def compulsory(self, sizes: Mapping[str, int]) -> int:
        """Returns the number of elements that are loaded at least, whatever the size of the fast memory."""
        return sum(number.evaluate(sizes) for number in self.inputs.values())

    def _groups(self, sizes: Mapping[str, int], elements: int) -> Iterator[list[ReuseBound]]:
        """Yields groups of bounds whose loads may be added up: each bound alone, and then one group of several, where there is one.

        That group begins with the bound of the most loads; each next one joins it if its statement uses no value of those in it.
        """
        known = sorted(self.reuse, key=lambda r: -r.loads(sizes, elements + self.registers))
        together: list[ReuseBound] = []
        for each in known:
            yield [each]
            if all(each.values.is_disjoint(other.values) for other in together):
                together.append(each)
        if len(together) > 1:
            yield together

    def text(self, sizes: Mapping[str, int] | None = None) -> str:
        """Returns the bounds on loads and on stores as formulas, where S is the size of the fast memory, `registers` included.

        sizes: only what holds for these is in the text; None for everything
        """
        inputs, outputs = (case_text(added(each.values()), self.context, sizes) for each in (self.inputs, self.outputs))
        bounds = dict.fromkeys([inputs, *(r.text(self.context, sizes) for r in self.reuse)])
        loads = f"max({', '.join(bounds)})" if len(bounds) > 1 else inputs
        return f"loads >= {loads}\nstores >= {outputs}"

    def sympy(self) -> Any:  # of a library without types
        """Returns the bound on loads as a sympy expression of integer symbols, the sizes and S; a Max where there are several."""
        import sympy

        inputs = added(self.inputs.values()).within(self.context).sympy()
        memory = sympy.Symbol("S", integer=True, positive=True)
        return sympy.Max(inputs, *(r.symbolic(memory, self.context) for r in self.reuse))


def lower_bound(scop: Scop) -> LowerBound:
    """Returns lower bounds on the elements that a kernel moves, as formulas in the sizes and the fast memory's size.

    Arrays are assumed not to overlap in memory. What would take too long to derive is left out.
    """
    flows = {name: list(read_sources(scop, statement)) for name, statement in scop.statements.items()}
    started: dict[str, isl.Set] = {}
    for flow in (f for each in flows.values() for f in each):
        if scop.arrays[flow.access.array].role is Role.ARGUMENT and not flow.at_start.is_empty():
            _joined(started, flow.access.array, flow.at_start.range())
    written: dict[str, isl.Set] = {}
    for statement in scop.statements.values():
        if scop.arrays[statement.write.array].role is not Role.LOCAL:
            _joined(written, statement.write.array, statement.write.relation.intersect_domain(statement.domain).range())
    scalars = sum(array.role is Role.LOCAL and not array.shape for array in scop.arrays.values())
    operands = max((len(s.reads) + 1 for s in scop.statements.values()), default=0)
    reuse = tuple(each for name in scop.statements for each in reuse_bounds(scop, name, flows))
    context = reduce(isl.Set.intersect, (s.domain.params() for s in scop.statements.values()), scop.checked)
    return LowerBound(_counted(started), _counted(written), reuse, scalars + operands, context)


def _joined(sets: dict[str, isl.Set], array: str, elements: isl.Set) -> None:
    """Makes `elements` part of the set that `sets` has for an array; they become this set where there is none yet."""
    sets[array] = sets[array].union(elements) if array in sets else elements


def _counted(sets: Mapping[str, isl.Set]) -> dict[str, Count]:
    """Returns the number of elements of each array; an array whose elements take too long to count is left out."""
    found = {}
    for array, elements in sets.items():
        try:
            with polyhedra.budget(OPERATIONS):
                found[array] = count(polyhedra.joined(elements))
        except (CannotCount, BudgetExceeded):
            continue  # a bound without them
    return found
