"""Application of one RegisterTiling to a nest: loops are strip-mined, the innermost one is moved inside, remainders are split
off.

    for i, j, k: S      ->      for i by 6: for j by 16: for k: together i, j: S
                                remainder columns (masked), remainder rows

This is unroll-and-jam (Callahan, Cocke and Kennedy, JPDC 1988) on loops that were proved independent. Where the bounds of an
inner loop depend on a variable whose iterations run together (as in a triangle), the part of the inner loop that all these
iterations share runs together, and what is left before and after it runs iteration by iteration.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from polyml.codegen.analysis.loop_nest import LoopNest
from polyml.codegen.analysis.register_tiling import RegisterTiling
from polyml.codegen.ir.program import Guard, Instance, Jam, Loop, Node, Unroll, with_body
from polyml.quasi_affine.affine import Affine, extremum, floor_div, modulo, variable


class CannotTile(Exception):
    """Raised where a tiling does not fit the loops, as when a bound is not linear in a variable whose iterations run together."""


@dataclass(frozen=True)
class JammedLoop:
    """A loop of which several iterations run together: var = base ... base + count * lanes - 1, but not above limit.

    count: how many vectors, or single iterations if lanes is 1, run together.
    lanes: how many consecutive iterations share a vector register.
    limit: iterations above it do not happen; None: all happen.
    ordered: whether the iterations keep their order, so that the loop is unrolled.
    scans: whether the lanes share prefix sums.
    in_order: whether vectors run in order, since iterations depend on each other.
    word: what the code may make of them, as in `Unroll`.
    """

    var: str
    base: Affine
    count: int
    lanes: int
    limit: Affine | None
    ordered: bool
    scans: bool = False
    in_order: bool = False
    word: str = ""

    @property
    def last(self) -> Affine:
        """The last of the iterations if no limit cuts them."""
        return self.base + (self.count * self.lanes - 1)

    def ends(self) -> tuple[Affine, Affine]:
        """Returns the smallest and the largest value of the variable, the limit included."""
        return self.base, self.last if self.limit is None else extremum("min", [self.last, self.limit])


_Bounds = tuple[Affine, ...]
_MakeLoops = Callable[[_Bounds, _Bounds, tuple[JammedLoop, ...], Affine | None], tuple[Node, ...]]


@dataclass(frozen=True)
class _TiledNest:
    """A nest's loops in the order that a tiling gives them. Each sequence but `body` has one item per loop.

    loops: the loops before tiling.
    counts: how many iterations, or vectors of iterations, run together.
    lanes: elements of a vector; 1 for all loops but one.
    ordered: whether the iterations keep their order.
    words: what the code may make of the iterations that run together, as in `Unroll`.
    reduces: whether the loop of the lanes is innermost and carries a reduction: it stays a loop even for one block of iterations,
        since only a loop keeps partial results.
    interleaved: whether vectors side by side are treated as one long vector.
    remainders: how many of the iterations left over behind the blocks run together; 1 for none.
    line, scalar_remainder, scans, in_order, strip: as in RegisterTiling.
    body: what the innermost loop runs.
    """

    loops: tuple[Loop, ...]
    counts: tuple[int, ...]
    lanes: tuple[int, ...]
    ordered: tuple[bool, ...]
    words: tuple[str, ...]
    reduces: bool
    interleaved: bool
    remainders: tuple[int, ...]
    line: Affine | None
    scalar_remainder: bool
    scans: bool
    in_order: bool
    strip: int
    body: tuple[Node, ...]


def register_tile(nest: LoopNest, tiling: RegisterTiling) -> tuple[Node, ...]:
    """Returns the nodes that run a nest as the tiling says. Raises CannotTile where the tiling does not fit the loops."""
    order = _order(nest, tiling)
    counts = dict(tiling.jams)
    if tiling.vector is not None:
        counts[tiling.vector] = tiling.vectors
    word = tiling.word
    if word is not None:
        counts[word.loop] = word.length
    fixed = [v for v in range(len(nest.chain)) if v != tiling.vector]
    vector = tiling.vector if tiling.vector == tiling.innermost else None
    reduces = (
        vector is not None
        and not tiling.in_order
        and not (nest.is_independent(vector, range(tiling.start)) or nest.is_independent(vector, fixed))
    )
    plan = _TiledNest(
        tuple(nest.chain[v] for v in order),
        tuple(counts.get(v, 1) for v in order),
        tuple(tiling.lanes if v == tiling.vector else 1 for v in order),
        tuple(v in tiling.unrolled or word is not None and v == word.loop for v in order),
        tuple(word.name if word is not None and v == word.loop else "" for v in order),
        reduces,
        tiling.interleaved,
        tuple(dict(tiling.remainders).get(v, 1) for v in order),
        tiling.line,
        tiling.scalar_remainder,
        tiling.scans,
        tiling.in_order,
        tiling.strip,
        nest.body,
    )
    inside = _loop(plan, 0, ())
    for outer in reversed(nest.chain[: tiling.start]):
        inside = (with_body(outer, inside),)
    return inside


def _order(nest: LoopNest, tiling: RegisterTiling) -> list[int]:
    """Returns the positions in the nest of its loops in their new order. The loop that the tiling makes innermost is moved inside
    all others; CannotTile is raised if bounds do not allow that. The loop of the lanes is moved outside of the other loops whose
    iterations run together, if bounds allow.

    With the lanes' loop outside, what a block of vectors reads stays in the first cache while the loops inside run over it.
    """
    order = list(range(tiling.start, len(nest.chain)))
    if tiling.innermost is None or tiling.keeps_order:
        return order
    order.remove(tiling.innermost)
    order.append(tiling.innermost)
    if tiling.vector is not None and tiling.vector != tiling.innermost:
        jammed = [order.index(v) for v, _ in tiling.jams]
        if jammed and min(jammed) < order.index(tiling.vector):
            moved = [v for v in order if v != tiling.vector]
            moved.insert(min(jammed), tiling.vector)
            if _bounds_known(nest, moved):
                return moved
    if not _bounds_known(nest, order):
        raise CannotTile("the bounds of a loop need one inside it")
    return order


def _bounds_known(nest: LoopNest, order: list[int]) -> bool:
    """Returns whether, in this order, the bounds of every loop name only loops around it.

    order: positions in the nest.
    """
    inside = {nest.chain[v].var for v in order}
    for v in order:
        inside_bounds = (e.names & inside for e in (*nest.chain[v].lower, *nest.chain[v].upper))
        if any(inside_bounds):
            return False
        inside.discard(nest.chain[v].var)
    return True


def _loop(plan: _TiledNest, level: int, active: tuple[JammedLoop, ...]) -> tuple[Node, ...]:
    """Returns the nodes that run the nest's loops from position `level` inwards.

    active: the loops around whose iterations run together.
    """
    if level == len(plan.loops):
        return _body(plan.body, active)
    loop = plan.loops[level]
    lanes = 1 if plan.reduces else plan.lanes[level]
    return _split(loop, active, lambda low, high, now, limit: _ranged(plan, level, low, high, now, limit), lanes)


def _split(loop: Loop, active: tuple[JammedLoop, ...], make: _MakeLoops, lanes: int) -> tuple[Node, ...]:
    """Returns the nodes that run a loop whose bounds depend on variables of loops around, of which several iterations run together.
    The part of the loop's range that all of them have runs for all of them together; what comes before and after this part runs for
    each of them alone. Raises CannotTile where bounds, the loop's step or the order of iterations prevent that.

    active: the loops around whose iterations run together.
    make: makes the loop over one range, given (lower, upper, active, limit). If limit is an expression, the last vector of the
        range goes on up to it, under a mask, since it may differ between the iterations around; if None, the range ends at upper
        for all.
    lanes: elements of the loop's vectors.
    """
    lower, upper = loop.lower, loop.upper
    involved = [t for t in active if any(t.var in e.names for e in (*lower, *upper))]
    if not involved:
        return make(lower, upper, active, None)
    if any(t.limit is not None and any(other.var in t.limit.names for other in active) for t in involved):
        raise CannotTile("a bound depends on a vector whose mask depends on what runs together")
    if loop.step != 1:
        raise CannotTile("the steps of a strided loop start elsewhere in iterations that run together")
    if any(t.ordered for t in involved):
        raise CannotTile("iterations that keep their order have different bounds")
    common_low = tuple(_extreme(e, involved, "max") for e in lower)
    common_high = tuple(_extreme(e, involved, "min") for e in upper)
    others = tuple(t for t in active if t not in involved)
    start, stop = extremum("max", common_low), extremum("min", common_high)
    before = _one_by_one(involved, make(lower, (*upper, start - 1), others, None))
    same_low = all(e.names.isdisjoint({t.var for t in involved}) for e in lower)
    same_high = all(e.names.isdisjoint({t.var for t in involved}) for e in upper)
    limit, after_start = None, extremum("max", [stop + 1, start])
    if lanes > 1 and same_low and not same_high:
        length = extremum("max", [Affine(0), stop - start + 1])
        limit, after_start = extremum("min", upper), start + floor_div(length + (lanes - 1), lanes) * lanes
    middle = make(common_low, common_high, active, limit)
    after = _one_by_one(involved, make((*lower, after_start), upper, others, None))
    return (*(() if same_low else before), *middle, *(() if same_high else after))


def _extreme(e: Affine, involved: list[JammedLoop], op: str) -> Affine:
    """Returns the largest ("max") or smallest ("min") value of the bound e over all iterations that run together. Raises CannotTile
    if e is not linear in their variables.

    involved: the loops whose iterations run together.
    """
    for t in involved:
        c = e.coefficient(t.var)
        if c is None:
            raise CannotTile(f"a bound is not linear in {t.var}")
        low, high = t.ends()
        e = e.substitute({t.var: high if (c > 0) == (op == "max") else low})
    return e


def _one_by_one(involved: list[JammedLoop], inside: tuple[Node, ...]) -> tuple[Node, ...]:
    """Returns plain loops over the iterations of the loops `involved`, which do not run together then, around the nodes inside."""
    for t in reversed(involved):
        upper = (t.last,) if t.limit is None else (t.last, t.limit)
        inside = (Loop(t.var, (t.base,), upper, 1, inside),)
    return inside


def _ranged(
    plan: _TiledNest, level: int, lower: _Bounds, upper: _Bounds, active: tuple[JammedLoop, ...], limit: Affine | None
) -> tuple[Node, ...]:
    """Returns the nodes that run one loop of the nest over a range that is the same for all iterations running together around it:
    a loop over whole blocks of plan.counts[level] vectors or iterations each, then the iterations left over.

    level: the loop's position in the plan.
    lower, upper: the range's bounds.
    active: the loops around whose iterations run together.
    limit: the last iteration of the last vector, if it differs between the iterations around; else None.
    """
    loop, count, lanes = plan.loops[level], plan.counts[level], plan.lanes[level]
    block = count * lanes
    if block == 1:
        return (replace(loop, lower=lower, upper=upper, body=_loop(plan, level + 1, active)),)
    nodes: list[Node] = []
    first = extremum("max", lower)
    end = extremum("min", upper)
    if plan.line is not None and lanes > 1 and limit is None and not plan.reduces:
        short = modulo(Affine(0) - first - plan.line, lanes)  # iterations before the first cache line
        nodes.append(_before_line(plan, level, (first, *lower), (first + short - 1, *upper), active))
        first = first + short
    strip = plan.strip if lanes > 1 else 0
    one_by_one = plan.reduces and plan.scalar_remainder or strip > 0
    sizes = [count, 1] if one_by_one and count > 1 and not strip and lanes > 1 else [count]
    if lanes == 1 and plan.remainders[level] > 1:
        sizes.append(plan.remainders[level])
    resumes = ""
    for size in sizes:
        width = strip or size * lanes
        stepped = f"{loop.var}_{level}{size}"
        scans = plan.scans and lanes > 1
        word = plan.words[level] if size == count else ""
        in_order, begin = plan.in_order and lanes > 1, variable(stepped)
        masked = begin + (strip - 1) if strip else None
        jammed = JammedLoop(loop.var, begin, size, lanes, masked, plan.ordered[level], scans, in_order, word)
        if plan.interleaved and lanes > 1:
            jammed = replace(jammed, count=1, lanes=width)
        length = end - first + 1
        if (
            not plan.reduces and length.is_constant and width <= length.constant < 2 * width
        ):  # it runs once; partial sums need a loop
            masked = first + (strip - 1) if strip else None
            nodes.extend(_loop(plan, level + 1, (*active, replace(jammed, base=first, limit=masked))))
        elif not length.is_constant or length.constant >= width:
            body = _loop(plan, level + 1, (*active, jammed))
            nodes.append(
                Loop(stepped, (first, *lower), tuple(e - (width - 1) for e in upper), width, body, name=loop.name, resumes=resumes)
            )
            resumes = stepped
        whole = extremum("max", [Affine(0), floor_div(length, width)])
        first = first + whole * width
    left = end - first + 1
    if left.is_constant and left.constant <= 0:
        return tuple(nodes)
    if lanes > 1 and not one_by_one:
        once = f"{loop.var}_{level}m"
        last = end if limit is None else limit
        jammed = JammedLoop(loop.var, first, 1, lanes, last, plan.ordered[level], plan.scans, plan.in_order)
        if left.is_constant and limit is None and (left.constant <= lanes or not plan.reduces):  # one vector, as narrow as possible
            narrow = 1 << (left.constant - 1).bit_length()
            jammed = replace(jammed, lanes=narrow, limit=end if narrow > left.constant else None)
            if not plan.reduces:
                return (*nodes, *_loop(plan, level + 1, (*active, jammed)))
            body = _loop(plan, level + 1, (*active, replace(jammed, base=variable(once))))
            return (*nodes, Loop(once, (first, *lower), upper, narrow, body, name=loop.name, resumes=resumes))
        jammed = replace(jammed, base=variable(once))
        body = _loop(plan, level + 1, (*active, jammed))
        nodes.append(Loop(once, (first, *lower), upper, lanes, body, name=loop.name, resumes=resumes))
    else:
        nodes.append(replace(loop, lower=(first, *lower), upper=upper, body=_loop(plan, level + 1, active), resumes=resumes))
    return tuple(nodes)


def _before_line(plan: _TiledNest, level: int, lower: _Bounds, upper: _Bounds, active: tuple[JammedLoop, ...]) -> Loop:
    """Returns the loop over the iterations before the first one that begins a cache line; it runs at most once, as a vector under a
    mask.

    level: the position of the vectors' loop in the plan.
    lower, upper: the bounds of these iterations.
    active: the loops around whose iterations run together.
    """
    loop, lanes = plan.loops[level], plan.lanes[level]
    once = f"{loop.var}_{level}s"
    jammed = JammedLoop(loop.var, variable(once), 1, lanes, extremum("min", upper), plan.ordered[level], in_order=plan.in_order)
    return Loop(once, lower, upper, lanes, _loop(plan, level + 1, (*active, jammed)), name=loop.name)


def _body(nodes: tuple[Node, ...], active: tuple[JammedLoop, ...]) -> tuple[Node, ...]:
    """Returns the body in a form that runs iterations together: instances that follow one another are put into Jam and Unroll
    nodes, inside of the body's guards and loops. Raises CannotTile if a guard depends on a variable whose iterations run together,
    or if iterations have to keep their order and the body has guards or loops.

    active: the loops around whose iterations run together.
    """
    if any(t.ordered for t in active) and not all(isinstance(node, Instance) for node in nodes):
        raise CannotTile("iterations that keep their order run the whole body, of which a guard or a loop is a part")
    out: list[Node] = []
    run: list[Instance] = []
    for node in nodes:
        if isinstance(node, Instance):
            run.append(node)
            continue
        if run:
            out.extend(_jammed(tuple(run), active))
            run = []
        if isinstance(node, Guard):
            if any(t.var in node.condition.names for t in active):
                raise CannotTile("a guard depends on a variable that runs together")
            out.append(with_body(node, _body(node.body, active)))
        elif isinstance(node, Loop):
            out.extend(_inner_loop(node, active))
        else:
            raise CannotTile("iterations run together already")
    if run:
        out.extend(_jammed(tuple(run), active))
    return tuple(out)


def _inner_loop(node: Loop, active: tuple[JammedLoop, ...]) -> tuple[Node, ...]:
    """Returns the nodes that run a loop of the body, around which iterations run together: together for the range that they share,
    and for each of them alone for what is before and after it.

    active: the loops around whose iterations run together.
    """

    def make(lower: _Bounds, upper: _Bounds, now: tuple[JammedLoop, ...], limit: Affine | None) -> tuple[Node, ...]:
        return (replace(node, lower=lower, upper=upper, body=_body(node.body, now)),)

    return _split(node, active, make, 1)


def _jammed(run: tuple[Instance, ...], active: tuple[JammedLoop, ...]) -> tuple[Node, ...]:
    """Returns the instances inside of one Jam node for each loop whose iterations run together; inside of these are Unroll nodes
    for loops whose iterations keep their order.

    The Jam with the most copies is outermost: what its copies read for themselves then needs fewer registers than what they share.

    run: the instances, one after the other.
    active: the loops whose iterations run together.
    """
    inside: tuple[Node, ...] = run
    for t in active:
        if t.ordered:
            inside = (Unroll(t.var, t.base, t.count, inside, t.word),)
    for t in sorted((t for t in reversed(active) if not t.ordered), key=lambda t: t.count):
        inside = (Jam(t.var, t.base, t.count, t.lanes, t.limit, inside, t.scans, t.in_order),)
    return inside
