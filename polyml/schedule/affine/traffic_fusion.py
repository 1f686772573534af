"""Loop fusion of neighbouring nests that read the same large array, where the traffic saved is worth what it costs.

    for i, j: x[i] += A[i, j]*y[j]             parallel it: for i in the tile, j: x[i] += A[i, j]*y[j]
    for i, j: z[i] += A[j, i]*w[j]     ->                                         z[j] += A[i, j]*w[i]

Any loop of a nest that may be outermost can become the shared one, so that both nests go over the array in the same order: in the
picture the loops of the second one are exchanged. Arrays that iterations of the shared loop update by reductions alone (z) get
partial results for each thread, added up behind the loop, so that traffic saved costs no parallelism. Where a nest reads what
the other one has computed of a whole row, they share tiles of a few rows, which remain in a cache from one to the other.

The choice is by a model (as in McKinley, Carr and Tseng, "Improving data locality with loop transformations", TOPLAS 1996): each
nest moves every element that it accesses once, at memory's bandwidth, of which one thread reaches a share.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import islpy as isl

from polyml import polyhedra
from polyml.dtypes import PYINT
from polyml.machines.cpu import CpuMachine
from polyml.model.core.dependence import Dependences
from polyml.model.core.reductions import Reduction, relaxed
from polyml.model.core.scop import Scop
from polyml.schedule.analysis.contraction_roles import may_be_contraction
from polyml.schedule.analysis.strides import accesses, iterators_of, moves
from polyml.schedule.analysis.traffic import Traffic
from polyml.schedule.legality.check import only_updated
from polyml.schedule.tree.bands import POINT, TILE, members_of, parallel_mark, together
from polyml.schedule.tree.text import Tree, parse_tree, print_tree

OPERATIONS = 200_000  # isl operations for the choice
DEEPEST = 2  # loops of the nests that are fused: deeper nests use the data that they load many times
ONE_THREAD = 0.55  # of memory's bandwidth
GAIN = 0.95  # time of fused nests over that of separate ones, from which on they are not fused
GAIN_SERIAL = 0.8  # the same where fused nests have no threads, which compute as well
ROWS = 8  # of a tile that nests share one after the other: as many as a register tile has
STRIP = 32  # iterations of the shared loop that a thread takes at a time
JOINING = 3  # times that each thread's partial results move: set to zero, updated, added up


@dataclass(frozen=True)
class FusionSetting:
    """The machine and the limits by which nests are fused.

    machine: its cores.
    reductions: by statement, the updates whose order is free.
    parallel, tile: whether there may be threads and tiles.
    """

    machine: CpuMachine
    reductions: Mapping[str, Reduction]
    parallel: bool
    tile: bool


def join_passes(
    schedule: isl.Schedule, scop: Scop, dependences: Dependences, setting: FusionSetting, sizes: Mapping[str, int] | None
) -> tuple[isl.Schedule, tuple[str, ...]]:
    """Returns the schedule with nests fused that read the same large array, where that saves time, and notes on them.

    The result is legal if the schedule is and the updates of reductions may be reordered.

    sizes: values of parameters to choose by.
    """
    tree = parse_tree(str(schedule))
    fusion = _TrafficFusion(scop, dependences, setting, sizes)
    try:
        with polyhedra.budget(OPERATIONS):
            changed = fusion.node(tree, ())
    except polyhedra.BudgetExceeded as problem:
        return schedule, (f"one pass over an array for several nests: given up ({problem})",)
    return (schedule if changed is tree else isl.Schedule(print_tree(changed))), tuple(fusion.notes)


@dataclass(frozen=True)
class _FlatNest:
    """A nest of few loops, with all that is inside them.

    domain: { S[i] }, its instances.
    members: { S[i] -> [(e)] } of each loop, outermost first.
    child: the tree inside the loops; None where the statements stand directly inside them.
    """

    domain: isl.UnionSet
    members: tuple[isl.UnionPwAff, ...]
    child: Tree | None

    @property
    def names(self) -> list[str]:
        return polyhedra.set_names(self.domain)

    def body(self) -> Tree:
        """Returns the inside of the nest's loops as a child of a sequence."""
        return {"filter": str(self.domain), **({} if self.child is None else {"child": self.child})}


@dataclass(frozen=True)
class _FusedNests:
    """Nests that share their first loop, or a single nest that is not fused yet.

    parts: the nests, in order.
    given: the tree of a nest that is not fused yet; None for fused ones.
    permutable: whether the loops of a nest that is not fused yet may be exchanged.
    parallel: whether the shared loop goes to threads.
    partial: the arrays of which each thread then has partial results, added up behind the loop.
    free: whether the shared loop carries no dependence.
    """

    parts: tuple[_FlatNest, ...]
    given: Tree | None = None
    permutable: bool = False
    parallel: bool = False
    partial: tuple[str, ...] = ()
    free: bool = False

    @cached_property
    def domain(self) -> isl.UnionSet:
        return polyhedra.union([part.domain for part in self.parts], isl.UnionSet("{ }"))

    @cached_property
    def shared(self) -> isl.UnionPwAff:
        """Returns { S[i] -> [(e)] } of the loop that is around all nests."""
        return reduce(isl.UnionPwAff.union_add, (part.members[0] for part in self.parts))

    @property
    def names(self) -> list[str]:
        return polyhedra.set_names(self.domain)

    def interchanged(self) -> Iterator[_FusedNests]:
        """Yields these nests; for a single nest whose loops may be exchanged, also with each of its other loops outermost."""
        yield self
        if self.given is None or not self.permutable:
            return
        (part,) = self.parts
        for first in range(1, len(part.members)):
            order = [first, *(k for k in range(len(part.members)) if k != first)]
            yield _FusedNests((_FlatNest(part.domain, tuple(part.members[k] for k in order), part.child),), self.given, True)


class _TrafficFusion:
    """The fusion of nests that read the same large array, in one schedule; `notes` tell what was decided."""

    def __init__(self, scop: Scop, dependences: Dependences, setting: FusionSetting, sizes: Mapping[str, int] | None):
        self._scop, self._setting = scop, setting
        self._dependences = dependences
        self._traffic = Traffic(scop, sizes)
        self._free: isl.UnionMap | None = None
        self.notes: list[str] = []

    def node(self, node: Tree, prefix: tuple[isl.UnionPwAff, ...]) -> Tree:
        """Returns the tree with nests fused; the node itself where none are. prefix: the loops around the node.

        Nothing inside a parallel loop is fused, since threads have their work already.
        """
        if "mark" in node or any(node.get("coincident", ())):
            return node
        if "schedule" in node:
            prefix = (*prefix, *members_of(node))
        if "child" in node:
            child = self.node(node["child"], prefix)
            node = node if child is node["child"] else {**node, "child": child}
        if "sequence" not in node:
            return node
        children = [self.node(child, prefix) for child in node["sequence"]]
        groups = [self._group(child) for child in children]
        joined = self._joined(groups, prefix)
        if len(joined) == len(groups):
            return node if all(a is b for a, b in zip(children, node["sequence"])) else {**node, "sequence": children}
        made = [group if isinstance(group, dict) else self._tree(group) for group in joined]
        return made[0]["child"] if len(made) == 1 else {**node, "sequence": made}

    def _group(self, child: Tree) -> _FusedNests | Tree:
        """Returns a child of a sequence as a nest that may be fused; the child itself where it is too deep or a contraction."""
        band, domain = child.get("child", {}), isl.UnionSet(child["filter"])
        if "schedule" not in band or "options" in band:
            return child
        members, names = members_of(band), polyhedra.set_names(domain)
        if len(members) > DEEPEST or any(len(self._scop.statements[n].iterators) > DEEPEST for n in names):
            return child
        if any(may_be_contraction(self._scop.statements[n]) for n in names):
            return child
        part = _FlatNest(domain, tuple(m.intersect_domain(domain) for m in members), band.get("child"))
        return _FusedNests((part,), child, bool(band.get("permutable")))

    def _joined(self, groups: list[_FusedNests | Tree], prefix: tuple[isl.UnionPwAff, ...]) -> list[_FusedNests | Tree]:
        """Returns the children of a sequence, each nest fused with an earlier one where that pays.

        A nest may be moved past children between the two that do not depend on it. prefix: the loops around the sequence.
        """
        made: list[_FusedNests | Tree] = []
        for group in groups:
            for k in reversed(range(len(made))):
                earlier = made[k]
                if isinstance(group, dict) or isinstance(earlier, dict) or not self._large(earlier, group):
                    continue
                passed = [_domain(g) for g in made[k + 1 :]]
                rises = all(self._dependences_of(group.domain, d, prefix).is_empty() for d in passed)
                if not rises and not all(self._dependences_of(earlier.domain, d, prefix).is_empty() for d in passed):
                    continue
                both = self._best(earlier, group, prefix)
                if both is not None:
                    made = [*made[:k], both, *made[k + 1 :]] if rises else [*made[:k], *made[k + 1 :], both]
                    break
            else:
                made.append(group)
        return made

    def _best(self, first: _FusedNests, second: _FusedNests, prefix: tuple[isl.UnionPwAff, ...]) -> _FusedNests | None:
        """Returns both nests fused so as to save most time; None where no way saves enough, or `fusion.fuse` fuses them anyway."""
        found: list[tuple[float, _FusedNests, int]] = []
        separate = 0
        for one in first.interchanged():
            for other in second.interchanged():
                shared = one.shared.union_add(other.shared)
                saved = self._saved(one, other, shared)
                if not saved:
                    continue
                separate = self._traffic.of(first.names) + self._traffic.of(second.names)
                if saved < (1 - GAIN) * separate:
                    continue
                both = self._together(one, other, shared, prefix)
                if both is None:
                    continue
                if both.free and one is first and other is second:
                    return None  # one loop around both costs nothing, so `fusion` fuses them
                ratio = self._time(separate - saved, both) / self._time(separate, None)
                if ratio < (GAIN if both.parallel or not self._setting.parallel else GAIN_SERIAL):
                    found.append((ratio + 0.01 * len(both.parts), both, saved))
        if not found:
            return None
        _, best, saved = min(found, key=lambda f: f[0])
        self._note(best, separate, saved)
        return best

    def _note(self, group: _FusedNests, separate: int, saved: int) -> None:
        """Adds a note on fused nests: how, and that they move `separate - saved` bytes instead of the `separate` bytes before."""
        results = "" if group.parallel else ", on one thread"
        if group.partial:
            results = f", partial results of {', '.join(group.partial)}"
        how = "one pass" if len(group.parts) == 1 else f"tiles of {ROWS} rows"
        moved = f"{separate - saved:,} bytes instead of {separate:,}{self._traffic.note}"
        self.notes.append(f"{', '.join(sorted(group.names))}: {how} instead of several: {moved}{results}")

    def _time(self, moved: float, group: _FusedNests | None) -> float:
        """Returns the time to move bytes in nests (fused: `group`; not fused: None), in units of a byte's time on all threads."""
        cores = self._setting.machine.cores if self._setting.parallel else 1
        if group is not None and group.parallel:
            return moved + JOINING * cores * sum(map(self._traffic.array_bytes, group.partial))
        return moved if group is None else moved * min(cores, 1 / ONE_THREAD)

    def _large(self, first: _FusedNests, second: _FusedNests) -> bool:
        """Returns whether both nests access some array of two or more dimensions; only such arrays are taken to be large."""
        mine, theirs = ({a.array for n in g.names for a in accesses(self._scop.statements[n])} for g in (first, second))
        return any(len(self._scop.arrays[name].shape) >= DEEPEST for name in mine & theirs)

    # traffic

    def _saved(self, first: _FusedNests, second: _FusedNests, shared: isl.UnionPwAff) -> int:
        """Returns the bytes of elements that both nests access in one iteration of the shared loop: those that fusion saves."""
        times = isl.UnionMap.from_union_pw_aff(shared)
        total = 0
        for array in dict.fromkeys(a.array for name in first.names for a in accesses(self._scop.statements[name])):
            if len(self._scop.arrays[array].shape) < DEEPEST or self._along_rows(first, second, array, shared):
                continue
            for writes in (False, True):
                mine, theirs = (self._traffic.accessed(g.names, array, writes) for g in (first, second))
                both = mine.apply_domain(times).intersect(theirs.apply_domain(times))
                total += self._traffic.bytes(both.range(), array)
        return total

    def _along_rows(self, first: _FusedNests, second: _FusedNests, array: str, shared: isl.UnionPwAff) -> bool:
        """Returns whether an access of the nests to the array goes along rows: its last subscript changes with the shared loop."""
        return any(
            moves(access, iterators_of(shared, name), slice(-1, None))
            for name in (*first.names, *second.names)
            for access in accesses(self._scop.statements[name])
            if access.array == array
        )

    # legality

    def _dependences_of(self, domain: isl.UnionSet, other: isl.UnionSet, prefix: tuple[isl.UnionPwAff, ...]) -> isl.UnionMap:
        """Returns the dependences between two sets of instances, in both directions, inside the loops `prefix` around."""
        pairs = self._dependences.among(polyhedra.set_names(domain), polyhedra.set_names(other))
        if pairs.is_empty():
            return pairs
        found = pairs.intersect_domain(domain).intersect_range(other).union(pairs.intersect_domain(other).intersect_range(domain))
        return found if not prefix else found.eq_at_multi_union_pw_aff(together(prefix))

    def _together(
        self, first: _FusedNests, second: _FusedNests, shared: isl.UnionPwAff, prefix: tuple[isl.UnionPwAff, ...]
    ) -> _FusedNests | None:
        """Returns both nests in one loop; None where that, or tiles that each run `first` before `second`, would be illegal."""
        pairs = self._dependences_of(first.domain, second.domain, prefix)
        if not _forward(pairs, shared):
            return None
        (new,) = second.parts
        last = first.parts[-1]
        parts = (*first.parts, new)
        same = pairs.eq_at_multi_union_pw_aff(together([shared]))
        if len(new.members) == len(last.members) == DEEPEST and _is_flat(new.child) and _is_flat(last.child):
            inner = last.members[1].union_add(new.members[1])
            if _forward(same.intersect_domain(last.domain), inner) and _forward(pairs.intersect_domain(last.domain), inner):
                parts = (*first.parts[:-1], _deep(last, new, inner))
        domain = first.domain.union(second.domain)
        inside = self._dependences.validity.intersect_domain(domain).intersect_range(domain)
        if prefix:
            inside = inside.eq_at_multi_union_pw_aff(together(prefix))
        carried = inside.subtract(inside.eq_at_multi_union_pw_aff(together([shared])))
        partial = self._partial(carried, domain)
        if partial is None and len(parts) > 1 and self._setting.tile:
            backward = carried.intersect_domain(new.domain).intersect_range(first.domain)
            if not backward.is_empty():
                return None
        is_parallel = partial is not None and self._setting.parallel
        return _FusedNests(parts, parallel=is_parallel, partial=(partial or ()) if is_parallel else (), free=carried.is_empty())

    def _partial(self, carried: isl.UnionMap, domain: isl.UnionSet) -> tuple[str, ...] | None:
        """Returns the arrays of which threads need partial results for the shared loop to be parallel; None where it cannot be.

        carried: { S[i] -> T[j] }, the dependences that the shared loop carries. domain: { S[i] }, the instances inside it.
        """
        if carried.is_empty():
            return ()
        if not carried.subtract(self._relaxed()).is_empty():
            return None
        names = polyhedra.set_names(domain)
        arrays = sorted({self._scop.statements[polyhedra.domain_name(m)].write.array for m in polyhedra.pieces(carried)})
        if any(self._scop.arrays[a].element == PYINT for a in arrays):  # sums in another order may leave 64 bits
            return None
        return tuple(arrays) if only_updated(self._scop, names, arrays, self._setting.reductions) else None

    def _relaxed(self) -> isl.UnionMap:
        """Returns the dependences among updates of reductions, whose order is free."""
        if self._free is None:
            self._free = relaxed(self._scop, self._setting.reductions) if self._setting.reductions else isl.UnionMap("{ }")
        return self._free

    def _tree(self, group: _FusedNests) -> Tree:
        """Returns the fused nests, or the nest that was not fused, as a child of a sequence."""
        if group.given is not None:
            return group.given
        where = {"filter": str(group.domain)}
        whole = len(group.parts) == 1
        if whole:
            (part,) = group.parts
            inside = {**_band(part.members), "child": part.child}
        elif self._setting.tile:
            inside = {"sequence": [_nest(part, part.members) for part in group.parts]}
        else:
            inside = {**_band((group.shared,)), "child": {"sequence": [_nest(part, part.members[1:]) for part in group.parts]}}
        if not group.parallel and (whole or not self._setting.tile):
            return {**where, "child": inside}
        size = isl.Val(STRIP if whole else ROWS)
        strips = group.shared.scale_down_val(size).floor().scale_val(size)
        inside = inside if not whole and self._setting.tile else {"mark": POINT, "child": inside}
        mark = parallel_mark(group.partial) if group.parallel else TILE
        tiles = {**_band((strips,)), "coincident": [int(group.parallel)], "child": inside}
        return {**where, "child": {"mark": mark, "child": tiles}}


def _nest(part: _FlatNest, members: Sequence[isl.UnionPwAff]) -> Tree:
    """Returns the nest as a child of a sequence: its body inside the loops `members` alone, which are some of its loops."""
    if not members:
        return part.body()
    band = _band(members) if part.child is None else {**_band(members), "child": part.child}
    return {"filter": str(part.domain), "child": {"mark": POINT, "child": band}}


def _band(members: Sequence[isl.UnionPwAff]) -> Tree:
    return {"schedule": str(together(members)), "permutable": 1, "coincident": [0] * len(members)}


def _deep(first: _FlatNest, second: _FlatNest, inner: isl.UnionPwAff) -> _FlatNest:
    """Returns two nests of two loops as one nest, with the bodies one after the other. inner: the second loop, for both."""
    bodies = [body for part in (first, second) for body in ([part.body()] if part.child is None else part.child["sequence"])]
    members = (first.members[0].union_add(second.members[0]), inner)
    return _FlatNest(first.domain.union(second.domain), members, {"sequence": bodies})


def _is_flat(child: Tree | None) -> bool:
    """Returns whether a nest's body, a tree or None, has no further loops."""
    return child is None or "sequence" in child and all(set(c) == {"filter"} for c in child["sequence"])


def _domain(group: _FusedNests | Tree) -> isl.UnionSet:
    return isl.UnionSet(group["filter"]) if isinstance(group, dict) else group.domain


def _forward(relation: isl.UnionMap, member: isl.UnionPwAff) -> bool:
    """Returns whether no pair of the relation { S[i] -> T[j] } goes back along the member."""
    times = isl.UnionMap.from_union_pw_aff(member)
    return polyhedra.has_no_pair(relation.apply_domain(times).apply_range(times), isl.Map.lex_gt)
