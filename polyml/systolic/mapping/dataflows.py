"""The mappings of a nest onto an array, the one of fewest cycles first, by the names that users know.

os, ws, is      results, weights or inputs stay in their PEs (output, weight, input stationary)
R1, R2, W1, W2  on arrays of one dimension: results or weights stay, and what moves does so in opposite directions (1) or in
                the same one at different speeds (2) (Kung, "Why systolic architectures?", Computer 15(1), 1982)
B1, B2, F       on those with wires (semi-systolic): inputs reach all PEs at once, and weights stay (B1) or results do (B2);
                results are added up at once, and weights stay (F)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from polyml.errors import ConfigError, IllegalSchedule
from polyml.model.counting.cardinality import Count
from polyml.systolic.folding.fold_counts import is_stationary, preloaded
from polyml.systolic.folding.folds import Folds, cycles, fold, obstacle
from polyml.systolic.mapping.proof import prove
from polyml.systolic.mapping.search import MappingSearch, mappings
from polyml.systolic.recurrences.layouts import layouts
from polyml.systolic.recurrences.recurrence import UniformRecurrence
from polyml.systolic.recurrences.spacetime import SpaceTime
from polyml.systolic.recurrences.systolic_nest import ArrayUse, SystolicNest
from polyml.values import cached_property

MOST_SLOWER = 4  # rounds of slower times that are searched


@dataclass(frozen=True)
class Plan:
    """A Plan is a legal space-time mapping of one nest, divided into folds on an array.

    dataflow: "os", "ws" or "is" (output, weight, input stationary), or "" where none of these stays.
    folds: the mapping's folds on the array.
    """

    dataflow: str
    folds: Folds

    @property
    def recurrence(self) -> UniformRecurrence:
        """Returns the uniform recurrence that is mapped."""
        return self.folds.recurrence

    @property
    def mapping(self) -> SpaceTime:
        """Returns the space-time mapping."""
        return self.folds.mapping

    @cached_property
    def padded(self) -> Folds:
        """Returns the folds with cycles counted as if every PE had instances: each takes as many as one that fills the array."""
        return fold(self.recurrence, self.mapping, self.folds.shape, units=self.folds.units, padded=True)

    @cached_property
    def formula(self) -> Count | None:
        """Returns the cycles of the folds, as if every PE had instances, as a formula of the sizes.

        None where the formula takes too long to find, or where an axis is several loops as one, for which lengths must be numbers.
        """
        own, dims = self.recurrence, len(self.mapping.space)
        found = (r for r in layouts(own.nest, None, dims) if (r.outer, r.axes) == (own.outer, own.axes))
        recurrence = next(found, None)
        return None if recurrence is None else cycles(recurrence, self.mapping, self.folds.shape)


def plans(
    nest: SystolicNest, sizes: Mapping[str, int], shape: Sequence[int], links: str = "manhattan", dataflow: str = "auto"
) -> list[Plan]:
    """Returns the plans of a nest on an array: its legal mappings, those of fewest cycles first, and of equally few cycles those of
    less traffic.

    sizes: the parameters' values.
    shape: the rows and columns of the array; mappings of one dimension take its longest row or column.
    links: "manhattan", "diagonal" or "broadcast".
    dataflow: the one that is wanted; "auto" and "all" for any.
    Raises: IllegalSchedule where there is no legal mapping, ConfigError where none has the dataflow.
    """
    found: list[Plan] = []
    refused: list[IllegalSchedule] = []
    for dims in range(len(shape), 0, -1):
        for recurrence in layouts(nest, sizes, dims):
            found += _plans(recurrence, tuple(shape), dims, links, refused)
    if not found:
        raise refused[0]
    wanted = [plan for plan in found if dataflow in ("auto", "all", plan.dataflow)]
    if not wanted:
        known = ", ".join(dict.fromkeys(plan.dataflow or "others" for plan in found))
        raise ConfigError(f"{nest.name} has no mapping {dataflow}", notes=[f"its mappings: {known}"])
    fewest = min(plan.folds.cycles for plan in wanted)
    return sorted(wanted, key=lambda p: (p.folds.cycles, p.folds.elements if p.folds.cycles == fewest else 0))


def _plans(
    recurrence: UniformRecurrence, shape: tuple[int, ...], dims: int, links: str, refused: list[IllegalSchedule]
) -> list[Plan]:
    """Returns the plans of one recurrence on an array of `dims` dimensions, and adds to the list `refused` why other mappings are
    illegal.

    A time is the function that gives each instance its cycle. Mappings with the fastest times are tried first, then, for a few
    rounds, those with the next slower ones, until there is a legal plan, and every operand or result that can stay in its PEs
    does so in some plan.
    """
    nest, directions = recurrence.nest, recurrence.directions
    problem = obstacle(recurrence, dims)
    if problem:
        refused.append(IllegalSchedule(problem, loc=nest.statement.loc))
        return []
    may_stay = {s for s in recurrence.streams if len(recurrence.axes) > dims and [d.free for d in s.directions] == [True]}
    found: list[Plan] = []
    for slower in range(MOST_SLOWER + 1):
        search = MappingSearch(
            len(recurrence.axes), directions, dims, links, reversible_axes=recurrence.reversible_axes, slower=slower
        )
        every = mappings(search)
        for mapping in (each.oriented(directions) for each in every):
            stationary = {s for s in may_stay if is_stationary(mapping, s)}
            if slower == 0 or not found or stationary:
                found += _orientations(recurrence, mapping, shape, links, refused)
        may_stay -= {s for s in may_stay if any(is_stationary(plan.mapping, s) for plan in found)}
        if not may_stay and (found or all(d.free for d in directions)):
            return found
    if found:
        return found
    if not refused:
        ways = ", ".join(f"{s.use.text} by {d.vector}" for s in recurrence.streams for d in s.directions)
        message = f"no mapping of {nest.name} onto {dims} dimensions hands all values on in time"
        refused.append(IllegalSchedule(message, loc=nest.statement.loc, notes=[f"values go on: {ways}"]))
    return []


def _orientations(
    recurrence: UniformRecurrence, mapping: SpaceTime, shape: tuple[int, ...], links: str, refused: list[IllegalSchedule]
) -> Iterator[Plan]:
    """Yields the plan of a mapping where it is legal, and of the mapping with rows and columns exchanged where that makes a
    difference.

    refused: a list to which the reasons against illegal ones are added.
    """
    used = shape if len(mapping.space) == len(shape) else (max(shape),)
    differ = len(used) == 2 and (used[0] != used[1] or preloaded(recurrence, mapping))
    for each in (mapping, mapping.transposed((1, 0))) if differ else (mapping,):
        try:
            prove(recurrence, each, links)
            yield Plan(dataflow_of(recurrence, each), fold(recurrence, each, used, units=prod(shape)))
        except IllegalSchedule as problem:
            refused.append(IllegalSchedule(problem.message, loc=recurrence.nest.statement.loc, notes=problem.notes))


def dataflow_of(recurrence: UniformRecurrence, mapping: SpaceTime) -> str:
    """Returns the dataflow of a mapping: "os", "ws" or "is" where, of the arrays that the deepest statement uses, the results, the
    weights or the inputs alone stay in their PEs; "" where none or several stay.
    """
    uses = [s for s in recurrence.streams if s.use.statement == recurrence.nest.statement.name]
    stationary = [s for s in uses if is_stationary(mapping, s) or s in preloaded(recurrence, mapping)]
    if len(stationary) != 1:
        return ""
    (stream,) = stationary
    if stream.use.kind == "operand":
        return "ws" if stream.use == weights(recurrence) else "is"
    return "os" if stream.use.kind == "result" else ""


def weights(recurrence: UniformRecurrence) -> ArrayUse | None:
    """Returns the operand that is called weights: the second of two, or the first one if the second alone slides. None where there
    are not two operands.

    An operand slides if one of its subscripts is a sum of several loops, such as x[i + k] in a convolution.
    """
    name = recurrence.nest.statement.name
    uses = [s.use for s in recurrence.streams if s.use.kind == "operand" and s.use.statement == name]
    if len(uses) != 2:
        return None
    sliding = [use for use in uses if any(sum(map(bool, row)) > 1 for row in use.rows)]
    return next(use for use in uses if use is not sliding[0]) if len(sliding) == 1 else uses[1]


def kung_design(recurrence: UniformRecurrence, mapping: SpaceTime) -> str:
    """Returns the name of a design in Kung's catalogue, such as "R1", "W2", "B1" or "F", for arrays of one dimension with two
    operands and sums; "" for any other.
    """
    kinds = sorted(s.use.kind for s in recurrence.streams)
    ways = {len(s.directions) for s in recurrence.streams}
    if len(mapping.space) != 1 or kinds != ["operand", "operand", "result"] or ways != {1}:
        return ""
    at_once = [s for s in recurrence.streams if mapping.displacement(s.directions[0])[0] == 0]
    if at_once:
        what = "F" if at_once[0].use.kind == "result" else "" if at_once[0].use == weights(recurrence) else "B"
        designs = {("B", "ws"): "B1", ("B", "os"): "B2", ("F", "ws"): "F"}
        return designs.get((what, dataflow_of(recurrence, mapping)), "") if len(at_once) == 1 else ""
    letter = {"os": "R", "ws": "W"}.get(dataflow_of(recurrence, mapping))
    moves = [mapping.displacement(s.directions[0]) for s in recurrence.streams if not is_stationary(mapping, s)]
    if letter is None or len(moves) != 2:
        return ""
    (cycles, step), (others, other) = moves
    if step * other < 0:
        return f"{letter}1"
    return f"{letter}2" if step * others != other * cycles else ""


def entry_cycles(recurrence: UniformRecurrence, mapping: SpaceTime) -> dict[str, str]:
    """Returns the cycle in which each element of an operand enters the array, as text such as `i + k` for A[i, k], by the operand's
    label in reports. Only operands that move along one axis are in it.

    Cycles count from the first of all instances.
    """
    found = {}
    for stream in recurrence.streams:
        if stream.use.kind != "operand" or len(stream.directions) != 1 or is_stationary(mapping, stream):
            continue
        vector = stream.directions[0].vector
        axes = [k for k, step in enumerate(vector) if step]
        if len(axes) == 1:
            row = [0 if k == axes[0] else c for k, c in enumerate(mapping.time)]
            found[recurrence.label(stream.use)] = recurrence.sum_text(row, stream.use.statement)
    return found
