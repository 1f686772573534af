"""The locations of a statement's accesses, in each of the iterations that run together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from polyml.codegen.analysis.integer_ranges import Ranges
from polyml.codegen.ir.accesses import AccessTable
from polyml.codegen.ir.jams import Copy
from polyml.codegen.ir.program import CannotRunTogether, Instance, Jam, Unroll
from polyml.codegen.llvm.registers import Location
from polyml.model.core.scop import Access, Statement
from polyml.quasi_affine.affine import Affine, FloorDiv


@dataclass(frozen=True, eq=False)
class InstanceCopy:
    """An InstanceCopy is one copy of an instance: for one of the iterations that run together, or for a vector of them.

    statement: the statement.
    iterators: { iterator of the statement -> its value in terms of the variables of loops and Jam nodes }.
    copy: which of the iterations that run together this is.
    node: the instance in the program.
    around: the Jam nodes and unrolled loops around it, outermost first.
    """

    statement: Statement
    iterators: Mapping[str, Affine]
    copy: Copy
    node: Instance
    around: tuple[Jam | Unroll, ...]

    @property
    def write(self) -> int:
        """The number of the statement's write among its accesses, of which the reads come first."""
        return len(self.statement.reads)

    def access(self, number: int) -> Access:
        """Returns the access with this number: the reads in order, then the write."""
        return self.statement.write if number == self.write else self.statement.reads[number]


class AccessLocations:
    """An AccessLocations finds where in arrays accesses are, and remembers it.

    ranges: of the variables of the loops around what is emitted.
    """

    def __init__(self, table: AccessTable, ranges: Ranges):
        self._table, self._ranges = table, ranges
        self._subscripts: dict[tuple, tuple[Affine, ...]] = {}
        self._locations: dict[tuple, tuple[Location, bool]] = {}  # and whether its subscripts have quotients

    def of(self, instance: InstanceCopy, number: int, operator: str | None = None, copy: Copy | None = None) -> Location:
        """Returns the location of an access.

        number: the access's number, see `InstanceCopy.access`.
        operator: if each lane has a partial result of a reduction, and the access is to the element that it updates, the
            reduction's operator; else None.
        copy: for which of the iterations that run together, or which vector of them; None for those of `instance`.

        Raises CannotRunTogether if a vector's subscripts are not linear in the variable of its lanes.
        """
        copy = instance.copy if copy is None else copy
        key = instance.statement.name, number, copy, operator, *instance.iterators.values()
        known = self._locations.get(key)
        if known is None:
            made = self._found(instance, number, operator, copy)
            known = self._locations[key] = made, any(isinstance(atom, FloorDiv) for e in made.subscripts for atom, _ in e.terms)
        found, has_quotients = known
        return replace(found, subscripts=tuple(map(self._ranges.rounded, found.subscripts))) if has_quotients else found

    def _found(self, instance: InstanceCopy, number: int, operator: str | None, copy: Copy) -> Location:
        """Returns the location of an access, which has not been found before. Arguments and errors are those of `of`."""
        array, subscripts = instance.access(number).array, self.subscripts(instance, number)
        first = tuple(e.substitute(copy.values) for e in subscripts)
        if copy.lane_var is None:
            return Location(array, first)
        strides: list[int] = []
        for e in subscripts:
            stride = e.coefficient(copy.lane_var)
            if stride is None:
                raise CannotRunTogether(f"{array}: a vector needs subscripts linear in {copy.lane_var}")
            strides.append(stride)
        if any(strides):
            return Location(array, first, copy.lanes, tuple(strides), None, copy.last)
        if operator is not None:
            return Location(array, first, copy.lanes, tuple(strides), copy.part)
        return Location(array, first)

    def subscripts(self, instance: InstanceCopy, number: int) -> tuple[Affine, ...]:
        """Returns the access's subscripts in terms of the variables of loops and Jam nodes; they are the same for all copies of an
        instance.
        """
        key = instance.statement.name, number, *instance.iterators.values()
        known = self._subscripts.get(key)
        if known is None:
            made = self._table.subscripts(instance.access(number))
            known = self._subscripts[key] = tuple(e.substitute(instance.iterators) for e in made)
        return known

    def varies_over_lanes(self, instance: InstanceCopy) -> bool:
        """Returns whether each lane of the instance writes to an element of its own."""
        lane_var = instance.copy.lane_var
        return any(lane_var in e.names for e in self.subscripts(instance, instance.write))
