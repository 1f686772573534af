"""Counts of the elements, and of the cache lines, of a set of array elements: as formulas of sizes, numbers, or upper bounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace

import islpy as isl

from polyml import polyhedra
from polyml.caches.analytic import line_runs
from polyml.caches.analytic.count_maximum import argmax
from polyml.codegen.ir.array_layout import Placed, in_memory
from polyml.machines.cpu import CacheLevel
from polyml.model.core.scop import Array, Scop
from polyml.model.counting.cardinality import CannotCount, Count, count
from polyml.polyhedra import BudgetExceeded
from polyml.values import cached_property

EXACT = "exact"
MOST = "exact, of the iteration with most elements"
MIDDLE = "exact, of a middle iteration"
BOX = "upper bound: a box"
UNKNOWN = "not counted"
OPERATIONS_PER_SECOND, STEPS_PER_SECOND = 2_000_000, 5_000  # of isl and of `count`: a count of work gives the same on any machine
BOX_OPERATIONS, BOX_STEPS = 2_000_000, 5_000


@dataclass(frozen=True)
class Amount:
    """An Amount is a number of elements or cache lines, as a formula, as a value, or as both.

    Where the number is that of one iteration of some loops, the value is that of the iteration with the largest number, if it is
    found.

    count: the formula, of sizes, tile sizes and the iterators of these loops; None where only the value is known.
    context: { : constraints on parameters } under which the formula is shown.
    assumes: what the formula takes for granted, such as "rows begin on lines".
    value: the number for the given sizes; None without sizes.
    accuracy: how exact formula and value are, in words, such as "exact" or "exact, of a middle iteration".
    at: the iteration that the value is for, {iterator: value}; None where there is none.
    """

    count: Count | None
    context: isl.Set = field(repr=False, compare=False)
    assumes: str
    value: int | None
    accuracy: str
    at: Mapping[str, int] | None = field(default=None, compare=False)

    @cached_property
    def shown(self) -> Count | None:
        """Returns the formula as cases of which only one holds at a time, simplified where `context` holds; None where there is no
        formula.
        """
        if self.count is None:
            return None
        try:
            return self.count.within(self.context)
        except CannotCount:
            return self.count

    def text(self, sizes: Mapping[str, int] | None = None) -> str:
        """Returns the formula as text; where there is no formula, the value, or "?" if that is not known either.

        sizes: if they are given, only the case of the formula is shown that holds for them, in the iteration that the value is for.
        """
        if self.shown is None:
            return "?" if self.value is None else str(self.value)
        here = "0" if sizes is None else self.shown.text({**sizes, **(self.at or {})})
        return self.shown.text() if here == "0" else here

    def scaled(self, factor: int) -> Amount:
        """Returns the amount times a factor, both the formula and the value."""
        counted = self.count and Count(tuple((region, value.scaled(factor)) for region, value in self.count.pieces))
        value = None if self.value is None else self.value * factor
        return replace(self, count=counted, value=value)


@dataclass(frozen=True)
class Footprint:
    """A Footprint is the elements and cache lines of one array that a part of a kernel uses."""

    array: str
    element_bytes: int
    elements: Amount
    lines: Amount

    @property
    def bytes(self) -> Amount:
        """Returns the bytes of the elements, as a formula or a value."""
        return self.elements.scaled(self.element_bytes)

    def share(self, cache: CacheLevel) -> float | None:
        """Returns the fraction of a cache that the footprint's lines fill; None where their number is not known."""
        return None if self.lines.value is None else self.lines.value * cache.line_bytes / cache.size_bytes


def accessed_elements(scop: Scop, instances: Mapping[str, isl.Set]) -> dict[str, isl.Set]:
    """Returns, by array in memory, the set { A[j] } of the elements that instances read or write.

    instances: the set { S[i] } of those of each statement, by its name.
    """
    found: dict[str, isl.Set] = {}
    for name, domain in instances.items():
        known: list[isl.Map] = []
        for access in (*scop.statements[name].reads, scop.statements[name].write):
            if not in_memory(scop.arrays[access.array]) or any(access.relation.plain_is_equal(other) for other in known):
                continue
            known.append(access.relation)
            elements = access.relation.intersect_domain(domain).range()
            found[access.array] = found[access.array].union(elements) if access.array in found else elements
    return {array: polyhedra.joined(elements) for array, elements in found.items()}


@dataclass(frozen=True)
class Measure:
    """A Measure counts the elements and lines that a part of a kernel uses, such as one iteration of some loops.

    sizes, places: the values of parameters, and the addresses of arrays; None where formulas alone are wanted.
    around: the parameters that stand for the iterators of these loops; () for the whole kernel.
    seconds: about how long one formula may take. It stands for a number of operations, after which the attempt ends, so that
        results do not depend on the machine's speed.
    """

    line_bytes: int
    sizes: Mapping[str, int] | None
    places: Mapping[str, Placed] | None
    around: tuple[str, ...]
    seconds: float

    def footprint(self, array: Array, elements: isl.Set, context: isl.Set) -> Footprint:
        """Returns the numbers of elements and of cache lines of a set of an array's elements.

        context: { : constraints on parameters } under which formulas are shown as text.
        """
        amount = self._amount(elements, None, "", context, self._number_of)
        return Footprint(array.name, array.element.size_bytes, amount, self.lines(array, elements, context, amount))

    def lines(self, array: Array, elements: isl.Set, context: isl.Set, amount: Amount | None = None) -> Amount:
        """Returns the number of cache lines in which a set of an array's elements lies.

        context: { : constraints on parameters } under which formulas are shown as text.
        amount: the number of the elements, where it is known.
        """
        assumes = "rows begin on lines" if len(array.shape) - array.pairs > 1 else "arrays begin on lines"
        rows = row_lines(array, self.line_bytes)
        if self.places is None:
            return self._amount(elements, rows, assumes, context, self._number_of)
        place = self.places[array.name]

        def number(here: isl.Set) -> int:
            return line_runs.lines([(here, place)], self.line_bytes)

        if rows_begin_on_lines(array, place, self.line_bytes):
            return self._amount(elements, rows, assumes, context, number)
        formula = self._formula(elements, rows)
        if amount is None or amount.at is None:
            return Amount(formula, context, assumes, 0, EXACT)
        how = amount.accuracy if amount.count is None or not amount.at else MOST
        return Amount(formula, context, assumes, *self._numbered(number, elements, amount.at, how))

    def _formula(self, elements: isl.Set, mapped: isl.Map | None) -> Count | None:
        """Returns the number of points of a set, or, where a relation `mapped` is given, of the points that it relates them to, as
        a formula; None where finding it takes too long.
        """
        try:
            with self._limited():
                return _counted(elements, mapped, self._steps)
        except (CannotCount, BudgetExceeded):
            return None

    def _amount(
        self, elements: isl.Set, mapped: isl.Map | None, assumes: str, context: isl.Set, number: Callable[[isl.Set], int]
    ) -> Amount:
        """Returns the number of points of a set of elements, or of the points that `mapped` relates them to, as a formula and its
        largest value. Where no formula is found in time, the result has the value for one iteration in the middle, or, without
        sizes, an upper bound.

        mapped: { A[i] -> [...] }; None: the elements themselves are counted.
        assumes, context: what the result's fields of these names are set to.
        number: takes the set of the elements that one iteration uses at given sizes; returns the value for it.
        """
        try:
            with self._limited():
                counted = _counted(elements, mapped, self._steps)
                return Amount(counted, context, assumes, *self._largest(counted, elements))
        except (CannotCount, BudgetExceeded):
            if self.sizes is None:
                return self._box(elements, mapped, assumes, context)
        at = polyhedra.central_point(self._iterations(elements))
        return Amount(None, context, assumes, *self._numbered(number, elements, at, MIDDLE if self.around else EXACT))

    def _numbered(
        self, number: Callable[[isl.Set], int], elements: isl.Set, at: Mapping[str, int], accuracy: str
    ) -> tuple[int | None, str, Mapping[str, int]]:
        """Returns (value, accuracy, at) for the elements that one iteration uses at the given sizes: `value` is what `number`
        returns for their set, the others are the arguments. Where `number` raises CannotCount, value is None and accuracy "not
        counted".

        at: the iteration, {iterator: value}.
        accuracy: words for how exact the value is.
        """
        here = polyhedra.at_sizes(elements, {**(self.sizes or {}), **at})
        try:
            return number(here), accuracy, at
        except CannotCount:
            return None, UNKNOWN, at

    def _box(self, elements: isl.Set, mapped: isl.Map | None, assumes: str, context: isl.Set) -> Amount:
        """Returns an upper bound on the number of points of a set of elements, or of the points that `mapped` relates them to: it
        counts all points in the smallest box around the elements.
        """
        try:
            with polyhedra.budget(BOX_OPERATIONS):
                counted = _counted(polyhedra.box_around(elements), mapped, BOX_STEPS)
                return Amount(counted, context, assumes, None, BOX)
        except (CannotCount, BudgetExceeded):
            return Amount(None, context, assumes, None, UNKNOWN)

    @property
    def _steps(self) -> int:
        """Returns how many sums over one dimension may be made for one formula: as many as fit into `seconds` at a fixed rate."""
        return int(self.seconds * STEPS_PER_SECOND)

    def _limited(self) -> AbstractContextManager[None]:
        """Returns a context in which isl raises BudgetExceeded after a number of operations, in proportion to `seconds`."""
        return polyhedra.budget(max(1, int(self.seconds * OPERATIONS_PER_SECOND)))

    def _iterations(self, elements: isl.Set) -> isl.Set:
        """Returns the iterations, as a set { : constraints on iterators }, that use any of the elements, at the given sizes. The
        iterators are the parameters `around`.
        """
        return polyhedra.on_parameters(polyhedra.fix(elements.params(), self.sizes or {}), self.around)

    @staticmethod
    def _number_of(here: isl.Set) -> int:
        """Returns the number of points of a set without parameters."""
        return here.count_val().to_python()

    def _largest(self, counted: Count, elements: isl.Set) -> tuple[int | None, str, Mapping[str, int] | None]:
        """Returns (value, accuracy, iteration): the largest value that a count has at the given sizes, the word "exact", and an
        iteration in which it has this value. Without sizes, value and iteration are None.
        """
        if self.sizes is None:
            return None, EXACT, None
        iterations = self._iterations(elements)
        if iterations.is_empty():
            return 0, EXACT, None
        value, at = argmax(counted.substitute(self.sizes), iterations)
        return value, EXACT, at


def _counted(elements: isl.Set, mapped: isl.Map | None, steps: int) -> Count:
    """Returns the number of points of a set, or, where a relation `mapped` is given, of the points that it relates them to, as a
    formula.

    steps: how many sums over one dimension may be made. Raises CannotCount where more are needed.
    """
    return count(elements if mapped is None else elements.apply(mapped), steps=steps)


def row_lines(array: Array, line_bytes: int) -> isl.Map:
    """Returns the relation { A[i, j] -> [i, number of the cache line within row i] } for an array each of whose rows begins on a
    cache line.
    """
    names = [f"s{d}" for d in range(len(array.shape))]
    size = array.element.size_bytes
    *rows, inside = names[1:] if array.pairs else names or [""]
    offset = f"{2 * size} {inside} + {size} {names[0]}" if array.pairs else f"{size} {inside}" if inside else "0"
    return isl.Map(f"{{ {array.name}[{', '.join(names)}] -> [{', '.join([*rows, f'floor(({offset})/{line_bytes})'])}] }}")


def rows_begin_on_lines(array: Array, place: Placed, line_bytes: int) -> bool:
    """Returns whether all rows of an array begin on cache lines at this address."""
    rows = place.strides[1:-1] if array.pairs else place.strides[:-1]
    return place.address % line_bytes == 0 and all(stride % line_bytes == 0 for stride in rows)


def unused_name(name: str, taken: set[str]) -> str:
    """Returns the name if it is not in `taken`; otherwise the name with as many underscores appended as it takes not to be."""
    while name in taken:
        name += "_"
    return name
