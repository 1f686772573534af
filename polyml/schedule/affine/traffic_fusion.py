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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import islpy as isl

from polyml import polyhedra
from polyml.dtypes import PYINT
from polyml.machines.cpu import CpuMachine
from polyml.model.core.dependence import Dependences
from polyml.model.core.reductions import Reduction, relaxed
from polyml.model.core.scop import Scop, Statement
from polyml.schedule.affine.fused_nests import (
    DEEPEST,
    FlatNest,
    FusedNests,
    deep,
    domain_of,
    free_band,
    is_flat,
    is_forward,
    nest_tree,
)
from polyml.schedule.analysis.contraction_roles import may_be_contraction
from polyml.schedule.analysis.strides import accesses, iterators_of, moves
from polyml.schedule.analysis.traffic import Traffic
from polyml.schedule.legality.check import only_updated
from polyml.schedule.tree import nodes
from polyml.schedule.tree.bands import POINT, TILE, members_of, parallel_mark, together
from polyml.schedule.tree.text import Tree

OPERATIONS = 200_000  # isl operations for the choice
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
    tree = nodes.tree_of(schedule)
    fusion = _TrafficFusion(scop, dependences, setting, sizes)
    try:
        with polyhedra.budget(OPERATIONS):
            changed = fusion.node(tree, ())
    except polyhedra.BudgetExceeded as problem:
        return schedule, (f"one pass over an array for several nests: given up ({problem})",)
    return (schedule if changed is tree else nodes.schedule(changed)), tuple(fusion.notes)


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

    def _group(self, child: Tree) -> FusedNests | Tree:
        """Returns a child of a sequence as a nest that may be fused; the child itself where it is too deep or a contraction."""
        band, domain = child.get("child", {}), nodes.instances(child["filter"])
        if "schedule" not in band or "options" in band:
            return child
        members, names = members_of(band), polyhedra.set_names(domain)
        if len(members) > DEEPEST or any(len(self._scop.statements[n].iterators) > DEEPEST for n in names):
            return child
        if any(may_be_contraction(self._scop.statements[n]) for n in names):
            return child
        part = FlatNest(domain, tuple(m.intersect_domain(domain) for m in members), band.get("child"))
        return FusedNests((part,), child, bool(band.get("permutable")))

    def _joined(self, groups: list[FusedNests | Tree], prefix: tuple[isl.UnionPwAff, ...]) -> list[FusedNests | Tree]:
        """Returns the children of a sequence, each nest fused with an earlier one where that pays.

        A nest may be moved past children between the two that do not depend on it. prefix: the loops around the sequence.
        """
        made: list[FusedNests | Tree] = []
        for group in groups:
            for k in reversed(range(len(made))):
                joined = self._joined_at(made, k, group, prefix)
                if joined is not None:
                    made = joined
                    break
            else:
                made.append(group)
        return made

    def _joined_at(
        self, made: Sequence[FusedNests | Tree], k: int, group: FusedNests | Tree, prefix: tuple[isl.UnionPwAff, ...]
    ) -> list[FusedNests | Tree] | None:
        """Returns the children `made` with `group` behind them, fused with number `k`; None where that does not pay or is illegal."""
        earlier, passed = made[k], made[k + 1 :]
        if isinstance(group, dict) or isinstance(earlier, dict) or not self._large(earlier, group):
            return None
        if all(self._dependences_of(group.domain, domain_of(g), prefix).is_empty() for g in passed):
            both = self._best(earlier, group, prefix)
            return None if both is None else [*made[:k], both, *passed]
        if all(self._dependences_of(earlier.domain, domain_of(g), prefix).is_empty() for g in passed):
            both = self._best(earlier, group, prefix)
            return None if both is None else [*made[:k], *passed, both]
        return self._through(made, k, group, prefix)

    def _through(
        self, made: Sequence[FusedNests | Tree], k: int, group: FusedNests, prefix: tuple[isl.UnionPwAff, ...]
    ) -> list[FusedNests | Tree] | None:
        """Returns the children with `group` fused with number `k` and with what leads from the one to the other, nest by nest:

            r = A @ w;  s = 0;  r -= y;  s += A.T @ r      ->      s = 0;  tiles of rows of the other three

        What depends on nothing of these runs before, what `group` does not need behind. None where that does not pay or is illegal,
        or where nothing leads from the one to the other: what else stands between them, such as a product, may want either.
        """
        chain: list[FusedNests] = [made[k]]  # type: ignore[list-item]
        before: list[FusedNests | Tree] = []
        behind: list[FusedNests | Tree] = []

        def tied(one: FusedNests | Tree, others: Sequence[FusedNests | Tree]) -> bool:
            return any(not self._dependences_of(domain_of(one), domain_of(other), prefix).is_empty() for other in others)

        for other in made[k + 1 :]:
            if not tied(other, [*chain, *behind]):
                before.append(other)
            elif not tied(other, [group]):
                behind.append(other)
            elif isinstance(other, dict) or len(other.parts) > 1 or other.given is None or tied(other, behind):
                return None
            else:
                chain.append(other)
        for first in chain[0].interchanged() if len(chain) > 1 else ():
            linked = self._linked(first, chain[1:], prefix)
            both = None if linked is None else self._best(linked, group, prefix)
            if both is not None:
                return [*made[:k], *before, both, *behind]
        return None

    def _linked(self, first: FusedNests, others: Sequence[FusedNests], prefix: tuple[isl.UnionPwAff, ...]) -> FusedNests | None:
        """Returns nests that one after the other use what those before have made of a row, in one loop over rows that carries no
        dependence; None where they have none.
        """
        for other in others:
            ways = (self._together(first, way, first.shared.union_add(way.shared), prefix) for way in other.interchanged())
            found = next((way for way in ways if way is not None and way.free), None)
            if found is None:
                return None
            first = found
        return first

    def _best(self, first: FusedNests, second: FusedNests, prefix: tuple[isl.UnionPwAff, ...]) -> FusedNests | None:
        """Returns both nests fused so as to save most time; None where no way saves enough, or `fusion.fuse` fuses them anyway."""
        found: list[tuple[float, FusedNests, int]] = []
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

    def _note(self, group: FusedNests, separate: int, saved: int) -> None:
        """Adds a note on fused nests: how, and that they move `separate - saved` bytes instead of the `separate` bytes before."""
        results = "" if group.parallel else ", on one thread"
        if group.partial:
            results = f", partial results of {', '.join(group.partial)}"
        how = "one pass" if len(group.parts) == 1 else f"tiles of {ROWS} rows"
        moved = f"{separate - saved:,} bytes instead of {separate:,}{self._traffic.note}"
        self.notes.append(f"{', '.join(sorted(group.names))}: {how} instead of several: {moved}{results}")

    def _time(self, moved: float, group: FusedNests | None) -> float:
        """Returns the time to move bytes in nests (fused: `group`; not fused: None), in units of a byte's time on all threads."""
        cores = self._setting.machine.cores if self._setting.parallel else 1
        if group is not None and group.parallel:
            return moved + JOINING * cores * sum(map(self._traffic.array_bytes, group.partial))
        return moved if group is None else moved * min(cores, 1 / ONE_THREAD)

    def _large(self, first: FusedNests, second: FusedNests) -> bool:
        """Returns whether both nests access some array of two or more dimensions; only such arrays are taken to be large."""
        mine, theirs = ({a.array for n in g.names for a in accesses(self._scop.statements[n])} for g in (first, second))
        return any(len(self._scop.arrays[name].shape) >= DEEPEST for name in mine & theirs)

    # traffic

    def _saved(self, first: FusedNests, second: FusedNests, shared: isl.UnionPwAff) -> int:
        """Returns the bytes of elements that both nests access in one iteration of the shared loop: those that fusion saves."""
        times = isl.UnionMap.from_union_pw_aff(shared)
        total = 0
        mine, theirs = (dict.fromkeys(a.array for s in self._statements(g) for a in accesses(s)) for g in (first, second))
        written = set.intersection(*({s.write.array for s in self._statements(g)} for g in (first, second)))
        for array in (array for array in mine if array in theirs):
            if len(self._scop.arrays[array].shape) < DEEPEST or self._along_rows(first, second, array, shared):
                continue
            for writes in (False, True) if array in written else (False,):
                touched = (self._traffic.accessed(g.names, array, writes).apply_domain(times) for g in (first, second))
                total += self._traffic.bytes(isl.UnionMap.intersect(*touched).range(), array)
        return total

    def _statements(self, group: FusedNests) -> list[Statement]:
        return [self._scop.statements[name] for name in group.names]

    def _along_rows(self, first: FusedNests, second: FusedNests, array: str, shared: isl.UnionPwAff) -> bool:
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
        self, first: FusedNests, second: FusedNests, shared: isl.UnionPwAff, prefix: tuple[isl.UnionPwAff, ...]
    ) -> FusedNests | None:
        """Returns both nests in one loop; None where that, or tiles that each run `first` before `second`, would be illegal."""
        pairs = self._dependences_of(first.domain, second.domain, prefix)
        if not is_forward(pairs, shared):
            return None
        (new,) = second.parts
        last = first.parts[-1]
        parts = (*first.parts, new)
        same = pairs.eq_at_multi_union_pw_aff(together([shared]))
        if len(new.members) == len(last.members) == DEEPEST and is_flat(new.child) and is_flat(last.child):
            inner = last.members[1].union_add(new.members[1])
            if is_forward(same.intersect_domain(last.domain), inner) and is_forward(pairs.intersect_domain(last.domain), inner):
                parts = (*first.parts[:-1], deep(last, new, inner))
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
        return FusedNests(parts, parallel=is_parallel, partial=(partial or ()) if is_parallel else (), free=carried.is_empty())

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

    def _tree(self, group: FusedNests) -> Tree:
        """Returns the fused nests, or the nest that was not fused, as a child of a sequence."""
        if group.given is not None:
            return group.given
        where = {"filter": str(group.domain)}
        whole = len(group.parts) == 1
        if whole:
            (part,) = group.parts
            inside = {**free_band(part.members), "child": part.child}
        elif self._setting.tile:
            inside = {"sequence": [nest_tree(part, part.members) for part in group.parts]}
        else:
            inside = {
                **free_band((group.shared,)),
                "child": {"sequence": [nest_tree(part, part.members[1:]) for part in group.parts]},
            }
        if not group.parallel and (whole or not self._setting.tile):
            return {**where, "child": inside}
        size = isl.Val(STRIP if whole else ROWS)
        strips = group.shared.scale_down_val(size).floor().scale_val(size)
        inside = inside if not whole and self._setting.tile else {"mark": POINT, "child": inside}
        mark = parallel_mark(group.partial) if group.parallel else TILE
        tiles = {**free_band((strips,)), "coincident": [int(group.parallel)], "child": inside}
        return {**where, "child": {"mark": mark, "child": tiles}}
