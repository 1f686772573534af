"""Whether a loop of the source is cut into tiles, and why not."""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from polyml.remarks.facts import Facts
from polyml.remarks.scheduled import ScheduledLoop
from polyml.remarks.source_loops import SourceLoop
from polyml.remarks.values import ANALYSIS, MISSED, PASSED, TILED, Conflict, Remark
from polyml.schedule.analysis.loop_roles import has_reuse
from polyml.schedule.tree import loop_tree

_DEEP = 3  # loops of a nest from which on tiles are looked for


def tiled(facts: Facts, loop: SourceLoop) -> Remark:
    """Returns the remark on a loop and tiles."""
    tiles = [each for each in facts.running(loop) if any(each.sizes[name] for name in each.runs(loop))]
    if tiles:
        strips = all(each.loop.directives.parallel for each in tiles)
        return Remark(
            PASSED, TILED, f"{'strips' if strips else 'tiles'} of {_sizes(facts, loop, tiles)}{' for threads' if strips else ''}"
        )
    if not facts.options.tile:
        return Remark(MISSED, TILED, "the setting tile=False keeps tiles out", advice="leave out tile=False")
    if facts.aliased:
        text = "this form is for arguments that share memory, so it keeps the source's order"
        return Remark(MISSED, TILED, text, advice="pass arrays that do not overlap")
    deep = _depth(facts, loop)
    if deep >= _DEEP and (others := _tiled_with(facts, loop)):
        return Remark(ANALYSIS, TILED, f"the nest's tiles are along {', '.join(others)}, and a tile has all of its iterations")
    if deep < 2:
        return Remark(ANALYSIS, TILED, "there is no other loop to tile it with")
    found = _not_permutable(facts, loop)
    if found is not None:
        text = f"it cannot be tiled with the loops in it: {found}"
        return Remark(MISSED, TILED, text, found, advice="skewing makes such loops permutable: k.schedule().skew(...)")
    names = [name for name in loop.statements if len(facts.scop.statements[name].iterators) == deep]
    members = _members(facts, loop, names[0])
    if not has_reuse(members, facts.scop, names):
        return Remark(
            ANALYSIS, TILED, "no element of its arrays is used again as one of its loops runs, so tiles would save nothing"
        )
    if deep < _DEEP:
        text = f"the nest has {deep} loops, and tiles are looked for from {_DEEP} on"
        return Remark(MISSED, TILED, text, advice="k.schedule().tile(...) cuts it nevertheless")
    return Remark(MISSED, TILED, "the schedule that was chosen has no tiles along it", advice="k.schedule().tile(...) cuts it")


def _tiled_with(facts: Facts, loop: SourceLoop) -> list[str]:
    """Returns the iterators of the loop's statements along which the schedule has tiles."""
    found: dict[str, None] = {}
    for each in facts.scheduled:
        for name in loop.statements:
            if each.sizes.get(name):
                iterators = facts.scop.statements[name].iterators
                found.update(dict.fromkeys(iterators[position] for position in each.iterators[name]))
    return list(found)


def _sizes(facts: Facts, loop: SourceLoop, tiles: Sequence[ScheduledLoop]) -> str:
    """Returns the sizes of a loop's tiles from the outermost on, for each group of statements that have the same."""
    chains: dict[str, list[str]] = {}
    for name, position in loop.positions.items():
        own = [each for each in tiles if position in each.iterators.get(name, ()) and each.sizes[name]]
        if own:
            sizes = " > ".join(" and ".join(map(str, each.sizes[name])) for each in own)
            skewed = any(each.iterators[name] != (position,) for each in own)
            chains.setdefault(f"{sizes} iterations{' of sums of it and other loops' if skewed else ''}", []).append(name)
    if len(chains) == 1 and len(next(iter(chains.values()))) == len(loop.positions):
        return next(iter(chains))
    return "; ".join(f"{chain} ({facts.told(names)})" for chain, names in chains.items())


def _depth(facts: Facts, loop: SourceLoop) -> int:
    return max((len(facts.scop.statements[name].iterators) for name in loop.statements), default=0)


def _members(facts: Facts, loop: SourceLoop, name: str) -> list[isl.UnionPwAff]:
    """Returns the loops of the source around a statement, outermost first, restricted to it."""
    return [loop_tree.on(each.member, (name,)) for each in facts.loops if name in each.positions]


def _not_permutable(facts: Facts, loop: SourceLoop) -> Conflict | None:
    """Returns a dependence that goes back along a loop inside this one, within one iteration of the loops around; None for none.

    Such loops cannot be exchanged with this one, and so they cannot be tiled together.
    """
    for inner in facts.loops:
        if inner.path == loop.path or inner.path[: len(loop.path)] != loop.path:
            continue
        back = backward(facts, loop, inner)
        if not back.is_empty():
            return facts.conflict(back)
    return None


def backward(facts: Facts, outer: SourceLoop, inner: SourceLoop) -> isl.UnionMap:
    """Returns the dependences { S[i] -> T[j] } that the outer loop carries forwards and that go back along the inner loop."""
    names = inner.statements
    member = isl.MultiUnionPwAff.from_union_pw_aff(inner.member)
    pairs = outer.carried(facts.relaxed)
    domain = _universe(facts, names)
    inside = pairs.intersect_domain(domain).intersect_range(domain)
    return inside.lex_gt_at_multi_union_pw_aff(member)


def _universe(facts: Facts, names: tuple[str, ...]) -> isl.UnionSet:
    found = isl.UnionSet("{ }")
    for name in names:
        found = found.union(isl.UnionSet.from_set(isl.Set.universe(facts.scop.statements[name].domain.get_space())))
    return found
