"""Launches that follow one another as one, in which a team of threads runs each row from the first of them to the last.

    launch of i:    m[i] = max of x[i, j] over j          launch of i, for which the threads of a team share
    launch of i, j: y[i, j] = exp(x[i, j] - m[i])             j: m[i] = max of x[i, j]
    launch of i:    s[i] = sum of y[i, j] over j    ->        j: y[i, j] = exp(x[i, j] - m[i])
    launch of i, j: y[i, j] /= s[i]                           j: s[i] = sum of y[i, j]
                                                              j: y[i, j] /= s[i]

Legal where each dependence between two of the launches, within one iteration of the host's loops, has distance zero along the loops in
common: source and sink are in one row, whose team runs the launches' parts in their order, and waits between two of them where a dependence
crosses its threads. There is one loop at most inside the common ones, so that equal values of it are one thread's in all parts. The
launches themselves stay, for rows that are too short or too few (see `team_choice`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations, permutations, product

import islpy as isl

from polyml.model.core.dependence import Dependences
from polyml.model.core.reductions import Reduction
from polyml.model.core.scop import Scop
from polyml.polyhedra import BudgetExceeded, budget, hull_dimension, pieces
from polyml.schedule.analysis.contraction_roles import may_be_contraction
from polyml.schedule.analysis.strides import accesses
from polyml.schedule.gpu.held_arrays import drain_waits, gathered, held_arrays, words
from polyml.schedule.gpu.loop_roles import Phase, RowTeam, SurroundingLoop
from polyml.schedule.gpu.mapping import LaunchNest, Mapped, dependences_in_launch
from polyml.schedule.gpu.teams import followers, phases_of, waits_of
from polyml.schedule.tree import loop_tree
from polyml.schedule.tree.bands import together
from polyml.schedule.tree.loop_tree import BlockPart, Loop, Node

_OPERATIONS = 5_000_000  # of isl, for one tree


def with_rows(
    launches: Sequence[Mapped], scop: Scop, dependences: Dependences, reductions: Mapping[str, Reduction]
) -> tuple[Mapped, ...]:
    """Returns the launches; the first of those that a team may run together has `rows`."""
    found = list(launches)
    if not reductions or not any(reductions.keys() & {*each.nest.statements} for each in launches):
        return tuple(found)
    try:
        with budget(_OPERATIONS):
            first = 0
            while first < len(found):
                rows = _Finder(scop, dependences, reductions).of([each.nest for each in found[first:]])
                found[first] = replace(found[first], rows=rows)
                first += 1 if rows is None else rows.count
    except (BudgetExceeded, isl.Error):
        pass
    return tuple(found)


def row_note(team: RowTeam) -> str:
    """Returns what a team does that runs rows of several launches, such as `with the 3 launches behind it one launch of teams, of which each
    runs a row (i); x is loaded once, y in registers`.
    """
    more = f"with the {team.count - 1} launches behind it one launch" if team.count > 2 else "with the launch behind it one launch"
    rows = ", ".join(loop.name for loop in team.grid)
    held = ", ".join(each.array for each in team.held)
    kept = f"; {held} in registers" if held else ""
    return f"where rows are long, {more if team.count > 1 else 'a launch'} of teams, each of which runs a row ({rows}) to its end{kept}"


@dataclass(frozen=True)
class _Finder:
    """The search for launches that a team may run together."""

    scop: Scop
    dependences: Dependences
    reductions: Mapping[str, Reduction]

    def of(self, nests: Sequence[LaunchNest]) -> RowTeam | None:
        """Returns the first of these launches, with as many as may be of those behind it, as one of teams; None where that does not pay."""
        first = nests[0]
        if any(may_be_contraction(self.scop.statements[name]) for name in first.statements):
            return None  # which runs in tiles
        for count in range(len(first.grid), 0, -1):
            for common in combinations(first.grid, count):
                start = _in_rows(first, common)
                if start is not None and (made := self._team(self._longest(start, nests))) is not None:
                    return made
        return None

    def _longest(self, start: LaunchNest, nests: Sequence[LaunchNest]) -> list[LaunchNest]:
        """Returns a launch, and those behind it that have the same loops in common, with the loops of the first one."""
        group = [start]
        for nest in nests[1:]:
            more = self._along(group, nest) if nest.host == start.host else None  # loops equal themselves alone
            if more is None:
                break
            group.append(more)
        return group

    def _along(self, group: Sequence[LaunchNest], nest: LaunchNest) -> LaunchNest | None:
        """Returns the launch with those of its loops in common that run with the group's: those along which dependences have distance zero,
        or without dependences the use of common elements, or equal rows without loops. Returns None where there are no such loops.
        """
        before, grid = [name for each in group for name in each.statements], group[0].grid
        if {*before} & {*nest.statements} or any(may_be_contraction(self.scop.statements[name]) for name in nest.statements):
            return None
        instances = reduce(isl.UnionSet.union, (each.instances for each in group), nest.instances)
        pairs = dependences_in_launch(self.dependences.among(before, nest.statements), nest.host, instances)
        is_free, pairs = pairs.is_empty(), pairs if not pairs.is_empty() else self._shared(before, nest)
        for order in permutations(nest.grid, len(grid)):
            members = [
                reduce(isl.UnionPwAff.union_add, (each.grid[k].values for each in group), loop.values)
                for k, loop in enumerate(order)
            ]
            same = pairs.eq_at_multi_union_pw_aff(together(members))
            found = _in_rows(nest, order)
            if found is not None and is_free and not _depth(found.body) and _rows(found).is_equal(_rows(group[0])):
                return found  # some work for each row
            if any(map(self._are_most, pieces(same.domain()))) if is_free else pairs.subtract(same).is_empty():
                return found
        return None

    def _shared(self, before: Sequence[str], nest: LaunchNest) -> isl.UnionMap:
        """Returns the pairs of instances { S[i] -> T[j] } that use an element of an array of several dimensions."""
        found = isl.UnionMap("{ }")
        for one, other in product(before, nest.statements):
            for mine, theirs in product(*(accesses(self.scop.statements[name]) for name in (one, other))):
                if mine.array == theirs.array and len(mine.subscripts) > 1:
                    both = mine.relation.intersect_domain(self.scop.statements[one].domain)
                    found = found.union(isl.UnionMap.from_map(both.apply_range(theirs.relation.reverse())))
        return found

    def _are_most(self, instances: isl.Set) -> bool:
        """Returns whether the instances have the dimension of their statement's whole domain, unlike a border or a diagonal."""
        every = self.scop.statements[instances.get_tuple_name()].domain
        return hull_dimension(instances) == hull_dimension(every)

    def _team(self, group: Sequence[LaunchNest]) -> RowTeam | None:
        """Returns the launches as one of teams; None where threads would not share several loops, one of them with partial results."""
        joined = _joined(group)
        phases, strict = phases_of(joined, self.scop, self.dependences, self.reductions)
        shared = [phase for phase in phases if phase.shared]
        if len(shared) < 2 or not any(phase.partial for phase in phases):
            return None
        if gathered(phases, self.scop) & {self.scop.statements[name].write.array for name in joined.statements}:
            return None
        rows = [_rows(each) for each in group]
        together_rows = reduce(isl.Set.union, rows)
        leader = next((k for k, some in enumerate(rows) if together_rows.is_subset(some)), None)
        if leader is None:
            return None
        held, copied = held_arrays(phases, (*joined.host, *joined.grid), bool(joined.host), self.scop)
        if not all(self._fits(phase, joined.grid, {each.array for each in held if not each.is_row}) for phase in phases):
            return None
        every, single = ({each.array for each in held if not each.is_row or rows} for rows in (True, False))
        waits, long_waits = (frozenset(waits_of(phases, strict, self.scop, some, copied)) for some in (every, single))
        waits |= {*drain_waits(held, phases, self.scop)}
        long_waits |= {*drain_waits([each for each in held if not each.is_row], phases, self.scop)}
        phases = tuple(replace(phase, is_copied=phase.name in copied) for phase in phases)
        most = words(held, phases, self.scop)
        return RowTeam(
            len(group), leader, joined.host, joined.grid, joined.body, joined.instances, phases, waits, long_waits, held, most
        )

    def _fits(self, phase: Phase, grid: Sequence[SurroundingLoop], single: Set[str]) -> bool:
        """Returns whether neighbouring threads, in the phase's shared loop, use neighbouring elements more than neighbouring rows do.

        single: arrays of which a row uses one element, in registers.
        """
        if phase.around or not phase.shared:
            return not phase.around
        along = followers(phase, phase.shared[0], self.scop, single)
        return len(phase.shared) == 1 and all(followers(phase, loop, self.scop, single) < along for loop in grid)


def _in_rows(nest: LaunchNest, common: Sequence[SurroundingLoop]) -> LaunchNest | None:
    """Returns the launch with the common loops as its grid, and its other loops for threads inside; None where more than one loop is then
    inside, or where marks ask for blocks and threads of another kind.
    """
    rest = [loop for loop in nest.grid if not any(loop is each for each in common)]
    if not common or nest.serial or _depth(nest.body) + len(rest) > 1:
        return None
    body: Node = nest.body
    for loop in reversed(rest):
        body = Loop(loop.name, loop.values, body)
    return replace(nest, grid=tuple(common), body=body)


def _depth(node: Node) -> int:
    """Returns how many loops are inside one another at most."""
    return isinstance(node, Loop) + max(map(_depth, loop_tree.children(node)), default=0)


def _joined(group: Sequence[LaunchNest]) -> LaunchNest:
    """Returns the launches as one, with their common loops as its grid."""
    first = group[0]
    members = [reduce(isl.UnionPwAff.union_add, (each.grid[k].values for each in group)) for k in range(len(first.grid))]
    grid = tuple(SurroundingLoop(loop.name, member) for loop, member in zip(first.grid, members))
    instances = reduce(isl.UnionSet.union, (each.instances for each in group))
    body = loop_tree.block([BlockPart(each.instances, each.body) for each in group])
    return LaunchNest(first.host, grid, body, instances)


def _rows(nest: LaunchNest) -> isl.Set:
    """Returns { [h, g] }, the rows in which a launch has instances."""
    values = reduce(
        isl.UnionMap.flat_range_product, (isl.UnionMap.from_union_pw_aff(loop.values) for loop in (*nest.host, *nest.grid))
    )
    return isl.Set.from_union_set(values.intersect_domain(nest.instances).range())
