"""Blocked factorization: a nest that must run in the order of one loop, in slabs of it, each cut into parts.

    for k: S(k); T(k)          ->          for slab by 32:
                                               what others in the slab depend on: S, and some of T
                                               the rest of T: loops that carry no dependence

So LU and Cholesky become the factors of a few columns and a product that updates the rest (the right-looking blocked form:
Toledo, "Locality of reference in LU decomposition with partial pivoting", SIAM J. Matrix Anal. Appl. 18(4), 1997), and
Gram-Schmidt's columns are made orthogonal to a block of others while they are in the cache. Nothing here knows these
by name: the parts are computed from the dependences, each is scheduled like a nest of its own, in which the slab is a
parameter, and the whole is proved like every schedule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import islpy as isl

from polyml import polyhedra
from polyml.model.core.dependence import NONE, Dependences, dependences
from polyml.model.core.reductions import Reduction, relaxed_validity
from polyml.model.core.scop import Scop
from polyml.schedule.analysis.loop_roles import LoopRole, loop_role
from polyml.schedule.analysis.strides import is_same_element, iterators_of
from polyml.schedule.tree import nodes
from polyml.schedule.tree.bands import NODE, POINT, TILE, Band, band_of
from polyml.schedule.tree.text import Tree

PartPlan = Callable[[isl.UnionSet], tuple[isl.Schedule, tuple[str, ...]]]
SLAB = "slab"  # the parameter of a part: where its slab begins
MOST_PIECES = 100  # of the instances of a statement that others depend on; sets of more pieces are given up
ROUNDS = 6  # of adding what must come first; dependences through memory are nearly transitive, so two or three suffice
WIDTH = 32  # iterations of the loop that is cut in a slab
FEW_WIDTH = 16  # the same of a loop of fewer than FEW, and where the rest is no product, which needs no depth
FEW = 128
SOLVE_WIDTH = 64  # the same where the sums are of one column: long enough for threads to share its rows
NOTHING = isl.UnionSet("{ }")


@dataclass(frozen=True)
class Slabs:
    """A division of one loop into slabs: blocks of consecutive iterations, each of which runs as several parts, one after another.

    member: { S[i] -> [t] }, the loop.
    width: iterations in a slab.
    parts: the parts in their order, each as the instances { S[i] } of the slab that begins at the parameter SLAB.
    """

    member: isl.UnionPwAff
    width: int
    parts: tuple[isl.UnionSet, ...]


def cut(component: isl.Schedule, scop: Scop, sizes: Mapping[str, int] | None, simple: bool = True) -> Slabs | None:
    """Returns slabs along one of a component's outermost loops, and their parts; None where no loop can be cut so.

    The last part must be as deep a nest as the component, such as the product that updates the rest of a matrix.

    scop: of the component's statements alone.
    sizes: values of parameters to choose the width by.
    simple: whether the instances of each statement in each part must be given by one system of inequalities, so that the part can
        be scheduled anew; otherwise only those in the last part must be.
    """
    top = component.get_root().child(0)
    if top.get_type() != NODE.band:
        return None
    band, depth = band_of(top), _depth(scop.domain, scop)
    if depth < 3 or all(band.coincident):
        return None
    endless = _endless(scop)
    order = dependences(endless).validity
    for member in _sums(band, scop):
        width = _width(member, scop, sizes)
        others = [m for m in band.members if m is not member]
        parts = [
            piece.intersect(scop.domain).coalesce()
            for part in _parts(member, width, endless, order)
            for piece in _peeled(part, others, scop, order)
        ]
        parts = [part for part in parts if not part.is_empty()]
        parts = parts if simple else _straightened(parts, member, width, order)
        if len(parts) > 1 and _depth(parts[-1], scop) == depth and all(map(_is_simple, parts if simple else parts[-1:])):
            return Slabs(member, width, tuple(parts))
    return None


def _sums(band: Band, scop: Scop) -> Sequence[isl.UnionPwAff]:
    """Returns the band's members along which the most deeply nested statements add up (`LoopRole.DEPTH`).

    The member of a band of one loop is returned whatever its role.
    """
    names = list(scop.statements)
    return [m for m in band.members if len(band.members) == 1 or loop_role(m, scop, names) is LoopRole.DEPTH]


def _width(member: isl.UnionPwAff, scop: Scop, sizes: Mapping[str, int] | None) -> int:
    """Returns how many iterations of the loop `member` a slab has; fewer where the loop is short or no sum goes along it."""
    if loop_role(member, scop, list(scop.statements)) is not LoopRole.DEPTH:
        return FEW_WIDTH
    if sizes is None:
        return WIDTH
    return WIDTH if _count(member, scop, sizes) >= FEW else FEW_WIDTH


def _count(member: isl.UnionPwAff, scop: Scop, sizes: Mapping[str, int]) -> int:
    """Returns how many iterations the loop `member` has at the given sizes."""
    times = isl.UnionMap.from_union_pw_aff(member).intersect_domain(polyhedra.fix(scop.domain, sizes)).range()
    counts = [polyhedra.length(polyhedra.fix(piece, sizes), 0) for piece in polyhedra.pieces(times)]
    return max((n or 0 for n in counts), default=0)


def middle(found: Slabs, scop: Scop, sizes: Mapping[str, int]) -> int:
    """Returns at which iteration of the loop that is cut, counted from its first one, the slab in the middle begins."""
    return _count(found.member, scop, sizes) // (2 * found.width) * found.width


def _endless(scop: Scop) -> Scop:
    """Returns the SCoP with domains that no parameter bounds, since the parts of a slab do not depend on where loops end."""
    statements = {s.name: replace(s, domain=polyhedra.without_parameters(s.domain)) for s in scop.statements.values()}
    return replace(scop, statements=statements)


def _parts(member: isl.UnionPwAff, width: int, scop: Scop, validity: isl.UnionMap) -> Iterator[isl.UnionSet]:
    """Yields the instances { S[i] } of each part of a slab, in the order in which the parts run; there are two or three.

    1. All instances of statements that are in fewer loops than the deepest ones, and whose results the slab reads as operands (such
       as quotients by a pivot).
    2. Of the other instances, those whose results some of these others read as operands.
    3. The rest, such as the product that updates the rest of a matrix. Where one iterator of a statement there is determined by its
       other iterators and the parameters, the rest is too small for a part of its own and belongs to the second one.

    Each part also has the instances that it depends on and that no earlier part has. Nothing is yielded where isl would take too
    long.

    member: the loop that is cut.
    width: iterations of a slab.
    validity: { S[i] -> T[j] }, the dependences.
    """
    times = isl.UnionMap.from_union_pw_aff(member).intersect_domain(scop.domain)
    least = "0 <= " if times.range().is_subset(isl.UnionSet("{ [t] : t >= 0 }")) else ""
    slab = isl.UnionSet(f"[{SLAB}] -> {{ [t] : {least}{SLAB} <= t < {SLAB} + {width} }}")
    inside = times.intersect_range(slab).domain()
    order = validity.intersect_domain(inside).intersect_range(inside).coalesce()
    read = _operands_written(scop).intersect(order)
    depth = _depth(scop.domain, scop)
    writers = polyhedra.set_names(read.domain())
    shallow = [n for n in writers if len(scop.statements[n].iterators) < depth]
    first = _closed(_union(isl.UnionSet.from_set(p) for p in polyhedra.pieces(inside) if p.get_tuple_name() in shallow), order)
    if first is None:
        return
    others = inside.subtract(first)
    order = order.intersect_domain(others)
    second = _closed(read.intersect_domain(others).intersect_range(others).domain(), order)
    if second is None:
        return
    rest = others.subtract(second)
    yield first
    if _is_thick(rest):
        yield from (second, rest)
    else:
        yield others


def _peeled(part: isl.UnionSet, members: Sequence[isl.UnionPwAff], scop: Scop, validity: isl.UnionMap) -> list[isl.UnionSet]:
    """Returns [first, rest], the part cut in two so that one of `members` carries no dependence in `rest`; [part] if none can.

    part: instances { S[i] } of a slab.
    members: the outermost loops other than the one that is cut into slabs.
    validity: { S[i] -> T[j] }, the dependences.
    """
    order = validity.intersect_domain(part).intersect_range(part)
    for member in members:
        along = isl.MultiUnionPwAff.from_union_pw_aff(member)
        first = _closed(order.subtract(order.eq_at_multi_union_pw_aff(along)).domain(), order)
        if first is None or first.is_empty():
            continue
        rest = part.subtract(first)
        if _depth(rest, scop) == _depth(part, scop) and _is_thick(rest):
            return [first, rest]
    return [part]


def solve(component: isl.Schedule, scop: Scop, given: Dependences, reductions: Mapping[str, Reduction]) -> Slabs | None:
    """Returns slabs of two nested loops whose later sums use the results of earlier ones, as in a triangular solve for one vector.

    The first part of a slab has the updates that depend on nothing in the slab; the second part is the rest. None where the
    component has not two loops, or where no such first part is found.
    """
    top = component.get_root().child(0)
    if top.get_type() != NODE.band or _depth(scop.domain, scop) != 2:
        return None
    band = band_of(top)
    if len(band.members) != 1 or band.coincident[0]:
        return None
    inside = _in_slab(band.members[0], SOLVE_WIDTH)
    own = {name: r for name, r in reductions.items() if name in scop.statements}
    order = relaxed_validity(given, scop, own)
    waiting = order.intersect_domain(inside).intersect_range(inside).range()
    sums = _union(isl.UnionSet.from_set(s.domain) for s in scop.statements.values() if len(s.iterators) == 2)
    first = sums.intersect(inside).subtract(waiting).coalesce()
    rest = scop.domain.intersect(inside).subtract(first).coalesce()
    if first.is_empty() or rest.is_empty() or not _is_thick(first):
        return None
    return Slabs(band.members[0], SOLVE_WIDTH, (first, rest))


def _straightened(parts: list[isl.UnionSet], member: isl.UnionPwAff, width: int, order: isl.UnionMap) -> list[isl.UnionSet]:
    """Returns a slab's parts with instances moved from the last to the one before, so that no loop of the last depends on `member`.

    An instance is moved if, in some other iteration of the slab, the last part lacks the instance whose other iterators are the
    same. Nothing is moved where dependences do not allow it.

    member: the loop that is cut into slabs.
    width: iterations of a slab.
    order: { S[i] -> T[j] }, the dependences.
    """
    if len(parts) < 2:
        return parts
    *others, before, rest = parts
    inside = _in_slab(member, width)
    ragged = []
    for piece in polyhedra.pieces(rest):
        times = polyhedra.extract_set(inside, piece)
        ragged.append(isl.UnionSet.from_set(polyhedra.ragged(piece, times, iterators_of(member, piece.get_tuple_name()))))
    moved = _union(ragged)
    whole = rest.subtract(moved).coalesce()
    if not order.intersect_domain(whole).intersect_range(moved).is_empty():
        return parts
    return [*others, before.union(moved).coalesce(), whole]


def _in_slab(member: isl.UnionPwAff, width: int) -> isl.UnionSet:
    """Returns the instances { S[i] } in the slab that begins at the parameter SLAB.

    member: { S[i] -> [t] }, the loop that is cut into slabs.
    width: iterations of a slab.
    """
    slab = isl.UnionSet(f"[{SLAB}] -> {{ [t] : {SLAB} <= t < {SLAB} + {width} }}")
    return isl.UnionMap.from_union_pw_aff(member).intersect_range(slab).domain()


def _depth(instances: isl.UnionSet, scop: Scop) -> int:
    """Returns how many loops are around the most deeply nested statement among the instances."""
    return max((len(scop.statements[name].iterators) for name in polyhedra.set_names(instances)), default=0)


def _is_simple(instances: isl.UnionSet) -> bool:
    """Returns whether each statement's instances are those of one system of inequalities."""
    return all(piece.n_basic_set() == 1 for piece in polyhedra.pieces(instances))


def _is_thick(instances: isl.UnionSet) -> bool:
    """Returns whether no iterator of any statement's instances is determined by the other iterators and the parameters."""
    return all(polyhedra.is_thick(piece) for piece in polyhedra.pieces(instances))


def _closed(seeds: isl.UnionSet, order: isl.UnionMap) -> isl.UnionSet | None:
    """Returns the seeds and all instances that must run before them; None where they are not found in a few rounds.

    seeds: instances { S[i] }.
    order: { S[i] -> T[j] }, the dependences.
    """
    found = seeds
    for _ in range(ROUNDS):
        more = found.union(order.intersect_range(found).domain())
        if any(
            piece.n_basic_set() > MOST_PIECES for piece in polyhedra.pieces(more)
        ):  # isl's coalesce may end the process for such
            return None
        more = more.coalesce()
        if more.is_subset(found):
            return found
        found = more
    return None


def _operands_written(scop: Scop) -> isl.UnionMap:
    """Returns { S[i] -> T[j] : S[i] writes what T[j] reads as an operand, not as the element that T updates }."""
    written, read = [], []
    for s in scop.statements.values():
        written.append(isl.UnionMap.from_map(s.write.relation.intersect_domain(s.domain)))
        operands = (a.relation for a in s.reads if not is_same_element(a, s.write))
        read += [isl.UnionMap.from_map(r.intersect_domain(s.domain)) for r in operands]
    return polyhedra.union(written, NONE).apply_range(polyhedra.union(read, NONE).reverse())


def _union(sets: Iterable[isl.UnionSet]) -> isl.UnionSet:
    return polyhedra.union(list(sets), NOTHING)


def restricted(scop: Scop, given: Dependences, instances: isl.UnionSet) -> tuple[Scop, Dependences]:
    """Returns the SCoP with these instances alone, and the dependences among them."""
    if {*polyhedra.set_names(instances)} == {*scop.statements} and instances.is_equal(scop.domain):
        return scop, given
    statements = {}
    for piece in polyhedra.pieces(instances):
        statement = scop.statements[piece.get_tuple_name()]
        statements[statement.name] = replace(statement, domain=polyhedra.with_iterators(piece, statement.iterators))
    part = replace(scop, statements=statements, schedule=scop.schedule.intersect_domain(instances))
    return part, given.within(instances, part)


def in_slabs(component: isl.Schedule, found: Slabs, plan: PartPlan) -> tuple[isl.Schedule, tuple[str, ...]]:
    """Returns the component as a loop over slabs around a schedule of each part, and notes; that it is legal is left to be proved.

    found: the slabs and their parts.
    plan: from the instances of a part to its schedule, in which SLAB is a parameter, and notes on it.
    """
    notes: tuple[str, ...] = (f"slabs of {found.width} of {', '.join(sorted(polyhedra.set_names(component.get_domain())))}:",)
    schedules = []
    for instances in found.parts:
        schedule, decided = plan(instances)
        schedules.append(schedule)
        notes += (f"  {', '.join(sorted(polyhedra.set_names(instances)))}", *(f"    {note}" for note in decided))
    tree = {"domain": nodes.text_of(component.get_domain()), "child": _around_parts(found, schedules)}
    return nodes.schedule(tree), notes


def _around_parts(found: Slabs, schedules: Sequence[isl.Schedule]) -> Tree:
    """Returns a loop over slabs around the schedules of the parts, as a tree.

    schedules: of each part of a slab, with the parameter SLAB for where the slab begins.
    """
    start = _starts(found)
    at = start.intersect_range(isl.UnionSet(f"[{SLAB}] -> {{ [{SLAB}] }}")).domain()
    parts = []
    for instances, schedule in zip(found.parts, schedules):
        child = nodes.tree_of(schedule).get("child")
        filter_ = {"filter": nodes.text_of(_at_slab(instances, at))}
        parts.append(filter_ if child is None else {**filter_, "child": {"mark": POINT, "child": _without_slab(child, at)}})
    band = isl.MultiUnionPwAff.from_union_map(start)
    slabs = {"schedule": nodes.text_of(band), "permutable": 1, "coincident": [0], "child": {"sequence": parts}}
    return {"mark": TILE, "child": slabs}


def _starts(found: Slabs) -> isl.UnionMap:
    """Returns { S[i] -> [t] : t is where the instance's slab begins }."""
    down = isl.UnionMap(f"{{ [t] -> [{found.width}*floor(t/{found.width})] }}")
    return isl.UnionMap.from_union_pw_aff(found.member).apply_range(down)


def _at_slab(instances: isl.UnionSet, at: isl.UnionSet) -> isl.UnionSet:
    """Returns the instances with the parameter SLAB replaced by where the slab of each instance begins.

    at: { S[i] : the slab of S[i] begins at SLAB }.
    """
    here = polyhedra.pieces(instances.intersect(at))
    return _union(isl.UnionSet.from_set(polyhedra.without_parameter(piece, SLAB)) for piece in here)


def _without_slab(node: Tree, at: isl.UnionSet) -> Tree:
    """Returns the tree with the parameter SLAB replaced by where the slab of each instance begins.

    at: { S[i] : the slab of S[i] begins at SLAB }.
    """
    made = {**node}
    if "filter" in node:
        made["filter"] = nodes.text_of(_at_slab(nodes.instances(node["filter"]), at))
    if "schedule" in node:
        made["schedule"] = _band_at_slab(node["schedule"], at)
    if "child" in node:
        made["child"] = _without_slab(node["child"], at)
    for key in ("sequence", "set"):
        if key in node:
            made[key] = [_without_slab(child, at) for child in node[key]]
    return made


def _band_at_slab(text: str, at: isl.UnionSet) -> str:
    """Returns the text of a band's members with the parameter SLAB replaced by where the slab of each instance begins.

    at: { S[i] : the slab of S[i] begins at SLAB }.
    """
    times = isl.UnionMap.from_multi_union_pw_aff(nodes.values(text))
    if any(SLAB in polyhedra.used_parameters(piece) for piece in polyhedra.pieces(times)):
        times = times.intersect_domain(at)
    found = [isl.UnionMap.from_map(polyhedra.without_parameter(piece, SLAB)) for piece in polyhedra.pieces(times)]
    return str(isl.MultiUnionPwAff.from_union_map(polyhedra.union(found, NONE)))
