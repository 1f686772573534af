"""Apply one RegisterTiling to a nest: strip-mine the loops that run together, put the innermost one inside, split off remainders.

    for i, j, k: S      ->      for i by 6: for j by 16: for k: together i, j: S
                                remainder columns (masked), remainder rows

Unroll-and-jam (Callahan, Cocke, Kennedy, JPDC 1988) on loops that `nest` proved independent. Where the bounds of an inner
loop depend on a variable that runs together (a triangle), the part that all iterations share runs together, and what is
left before and after it runs iteration by iteration.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from polyml.codegen.analysis.loop_nest import LoopNest
from polyml.codegen.analysis.register_tiling import RegisterTiling
from polyml.codegen.ir.linexpr import Lin, const, extremum, floor_div, modulo, var
from polyml.codegen.ir.program import Guard, Instance, Jam, Loop, Node, Unroll, with_body


class CannotReshape(Exception):
    """The shape does not fit the loops: a bound that is not linear in a variable that runs together."""


@dataclass(frozen=True)
class Together:
    """A loop of which several iterations run together: var = base ... base + count * lanes - 1, at most limit."""

    var: str
    base: Lin
    count: int
    lanes: int
    limit: Lin | None
    ordered: bool
    scans: bool = False

    @property
    def last(self) -> Lin:
        return self.base + (self.count * self.lanes - 1)

    def ends(self) -> tuple[Lin, Lin]:
        """The smallest and the largest value of var."""
        return self.base, self.last if self.limit is None else extremum("min", [self.last, self.limit])


@dataclass(frozen=True)
class _Order:
    """The loops of the nest in the order they will run, each with how many iterations run together (1: plain)."""

    loops: tuple[Loop, ...]
    counts: tuple[int, ...]
    lanes: tuple[int, ...]
    ordered: tuple[bool, ...]
    reduces: bool  # the lane loop is innermost and carries a reduction, whose partial results want a loop
    interleaved: bool  # vectors side by side are one of as many lanes
    remainders: tuple[int, ...]  # how many of the iterations left over run together, 1: none
    line: Lin | None  # as in RegisterTiling
    scalar_remainder: bool
    scans: bool
    body: tuple[Node, ...]


def reshape(nest: LoopNest, shape: RegisterTiling) -> tuple[Node, ...]:
    """The nest in that shape. Raises CannotReshape."""
    order = _order(nest, shape)
    counts = dict(shape.jams)
    if shape.vector is not None:
        counts[shape.vector] = shape.vectors
    fixed = [v for v in range(len(nest.chain)) if v != shape.vector]
    vector = shape.vector if shape.vector == shape.innermost else None
    reduces = vector is not None and not (nest.is_independent(vector, range(shape.start)) or nest.is_independent(vector, fixed))
    plan = _Order(
        tuple(nest.chain[v] for v in order),
        tuple(counts.get(v, 1) for v in order),
        tuple(shape.lanes if v == shape.vector else 1 for v in order),
        tuple(v in shape.unrolled for v in order),
        reduces,
        shape.interleaved,
        tuple(dict(shape.remainders).get(v, 1) for v in order),
        shape.line,
        shape.scalar_remainder,
        shape.scans,
        nest.body,
    )
    inside = _loop(plan, 0, ())
    for outer in reversed(nest.chain[: shape.start]):
        inside = (with_body(outer, inside),)
    return inside


def _order(nest: LoopNest, shape: RegisterTiling) -> list[int]:
    """The chain's loops as they will run: the lanes' loop outermost of those that run together, where bounds allow.

    Then what a vector block reads stays in the first cache while the jammed loop inside runs over it.
    """
    order = list(range(shape.start, len(nest.chain)))
    if shape.innermost is None or shape.keeps_order:
        return order
    order.remove(shape.innermost)
    order.append(shape.innermost)
    if shape.vector is not None and shape.vector != shape.innermost:
        jammed = [order.index(v) for v, _ in shape.jams]
        if jammed and min(jammed) < order.index(shape.vector):
            moved = [v for v in order if v != shape.vector]
            moved.insert(min(jammed), shape.vector)
            if _bounds_known(nest, moved):
                return moved
    if not _bounds_known(nest, order):
        raise CannotReshape("the bounds of a loop need one inside it")
    return order


def _bounds_known(nest: LoopNest, order: list[int]) -> bool:
    """Whether every loop's bounds need only loops around it."""
    inside = {nest.chain[v].var for v in order}
    for v in order:
        inside_bounds = (e.names & inside for e in (*nest.chain[v].lower, *nest.chain[v].upper))
        if any(inside_bounds):
            return False
        inside.discard(nest.chain[v].var)
    return True


def _loop(plan: _Order, level: int, active: tuple[Together, ...]) -> tuple[Node, ...]:
    """The loops from `level` inwards, with what already runs together around them."""
    if level == len(plan.loops):
        return _body(plan.body, active)
    loop = plan.loops[level]
    lanes = 1 if plan.reduces else plan.lanes[level]
    return _split(loop, active, lambda low, high, now, limit: _ranged(plan, level, low, high, now, limit), lanes)


def _split(loop: Loop, active: tuple[Together, ...], make, lanes: int) -> tuple[Node, ...]:
    """A loop whose bounds may depend on what runs together: the range all share, and before and after it one by one.

    make(lower, upper, active, limit) gives the loop over one range. limit: the last vector of it goes as far as what runs
    together does, each with a mask of its own; None: all of it ends at upper.
    """
    lower, upper = loop.lower, loop.upper
    involved = [t for t in active if any(t.var in e.names for e in (*lower, *upper))]
    if not involved:
        return make(lower, upper, active, None)
    if any(t.limit is not None and any(other.var in t.limit.names for other in active) for t in involved):
        raise CannotReshape("a bound depends on a vector whose mask depends on what runs together")
    if loop.step != 1:
        raise CannotReshape("the steps of a strided loop start elsewhere in iterations that run together")
    if any(t.ordered for t in involved):
        raise CannotReshape("iterations that keep their order have different bounds")
    common_low = tuple(_extreme(e, involved, "max") for e in lower)
    common_high = tuple(_extreme(e, involved, "min") for e in upper)
    others = tuple(t for t in active if t not in involved)
    start, stop = extremum("max", common_low), extremum("min", common_high)
    before = _one_by_one(involved, make(lower, (*upper, start - 1), others, None))
    same_low = all(e.names.isdisjoint({t.var for t in involved}) for e in lower)
    same_high = all(e.names.isdisjoint({t.var for t in involved}) for e in upper)
    limit, after_start = None, extremum("max", [stop + 1, start])
    if lanes > 1 and same_low and not same_high:
        length = extremum("max", [const(0), stop - start + 1])
        limit, after_start = extremum("min", upper), start + floor_div(length + (lanes - 1), lanes) * lanes
    middle = make(common_low, common_high, active, limit)
    after = _one_by_one(involved, make((*lower, after_start), upper, others, None))
    return (*(() if same_low else before), *middle, *(() if same_high else after))


def _extreme(e: Lin, involved: list[Together], op: str) -> Lin:
    """The largest ("max") or smallest value of e over everything that runs together."""
    for t in involved:
        c = e.coefficient(t.var)
        if c is None:
            raise CannotReshape(f"a bound is not linear in {t.var}")
        low, high = t.ends()
        e = e.substitute({t.var: high if (c > 0) == (op == "max") else low})
    return e


def _one_by_one(involved: list[Together], inside: tuple[Node, ...]) -> tuple[Node, ...]:
    for t in reversed(involved):
        upper = (t.last,) if t.limit is None else (t.last, t.limit)
        inside = (Loop(t.var, (t.base,), upper, 1, inside),)
    return inside


def _ranged(
    plan: _Order, level: int, lower: tuple[Lin, ...], upper: tuple[Lin, ...], active: tuple[Together, ...], limit: Lin | None
) -> tuple[Node, ...]:
    """One loop of the order over a range that nothing running together changes, but for how far its last vector goes."""
    loop, count, lanes = plan.loops[level], plan.counts[level], plan.lanes[level]
    block = count * lanes
    if block == 1:
        return (replace(loop, lower=lower, upper=upper, body=_loop(plan, level + 1, active)),)
    nodes: list[Node] = []
    first = extremum("max", lower)
    end = extremum("min", upper)
    if plan.line is not None and lanes > 1 and limit is None and not plan.reduces:
        short = modulo(const(0) - first - plan.line, lanes)  # before the first line
        once = f"{loop.var}_{level}s"
        together = Together(loop.var, var(once), 1, lanes, extremum("min", [first + short - 1, *upper]), plan.ordered[level])
        nodes.append(Loop(once, (first, *lower), (first + short - 1, *upper), lanes, _loop(plan, level + 1, (*active, together))))
        first = first + short
    one_by_one = plan.reduces and plan.scalar_remainder
    sizes = [count, 1] if one_by_one and count > 1 and lanes > 1 else [count]
    if lanes == 1 and plan.remainders[level] > 1:
        sizes.append(plan.remainders[level])
    resumes = ""
    for size in sizes:
        width = size * lanes
        stepped = f"{loop.var}_{level}{size}"
        scans = plan.scans and lanes > 1
        together = Together(loop.var, var(stepped), size, lanes, None, plan.ordered[level], scans)
        if plan.interleaved and lanes > 1:
            together = replace(together, count=1, lanes=width)
        length = end - first + 1
        if not plan.reduces and length.is_const and width <= length.const < 2 * width:  # once: partial sums want a loop
            nodes.extend(_loop(plan, level + 1, (*active, replace(together, base=first))))
        elif not length.is_const or length.const >= width:
            body = _loop(plan, level + 1, (*active, together))
            nodes.append(Loop(stepped, (first, *lower), tuple(e - (width - 1) for e in upper), width, body, resumes=resumes))
            resumes = stepped
        whole = extremum("max", [const(0), floor_div(length, width)])
        first = first + whole * width
    left = end - first + 1
    if left.is_const and left.const <= 0:
        return tuple(nodes)
    if lanes > 1 and not one_by_one:
        once = f"{loop.var}_{level}m"
        together = Together(loop.var, first, 1, lanes, end if limit is None else limit, plan.ordered[level], plan.scans)
        if left.is_const and limit is None and (left.const <= lanes or not plan.reduces):  # the narrowest vector that holds them
            narrow = 1 << (left.const - 1).bit_length()
            together = replace(together, lanes=narrow, limit=end if narrow > left.const else None)
            if not plan.reduces:
                return (*nodes, *_loop(plan, level + 1, (*active, together)))
            body = _loop(plan, level + 1, (*active, replace(together, base=var(once))))
            return (*nodes, Loop(once, (first, *lower), upper, narrow, body, resumes=resumes))
        together = replace(together, base=var(once))
        body = _loop(plan, level + 1, (*active, together))
        nodes.append(Loop(once, (first, *lower), upper, lanes, body, resumes=resumes))
    else:
        nodes.append(replace(loop, lower=(first, *lower), upper=upper, body=_loop(plan, level + 1, active), resumes=resumes))
    return tuple(nodes)


def _body(nodes: tuple[Node, ...], active: tuple[Together, ...]) -> tuple[Node, ...]:
    if any(t.ordered for t in active) and not all(isinstance(node, Instance) for node in nodes):
        raise CannotReshape("iterations that keep their order run the whole body, of which a guard or a loop is a part")
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
                raise CannotReshape("a guard depends on a variable that runs together")
            out.append(with_body(node, _body(node.body, active)))
        elif isinstance(node, Loop):
            out.extend(_inner_loop(node, active))
        else:
            raise CannotReshape("iterations run together already")
    if run:
        out.extend(_jammed(tuple(run), active))
    return tuple(out)


def _inner_loop(node: Loop, active: tuple[Together, ...]) -> tuple[Node, ...]:
    def make(lower, upper, now, limit):
        return (replace(node, lower=lower, upper=upper, body=_body(node.body, now)),)

    return _split(node, active, make, 1)


def _jammed(run: tuple[Instance, ...], active: tuple[Together, ...]) -> tuple[Node, ...]:
    """The instances inside one Jam per loop that runs together, those that keep their order innermost.

    The Jam with the most copies is outermost: what its copies read stays in fewer registers than what they share.
    """
    inside: tuple[Node, ...] = run
    for t in active:
        if t.ordered:
            inside = (Unroll(t.var, t.base, t.count, inside),)
    for t in sorted((t for t in reversed(active) if not t.ordered), key=lambda t: t.count):
        inside = (Jam(t.var, t.base, t.count, t.lanes, t.limit, inside, t.scans),)
    return inside
