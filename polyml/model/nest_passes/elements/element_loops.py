"""Loops over the elements of an array: which they are, and whether several of them may be one loop.

        for x: T[x] = 0;   for x: for k: T[x] += A[x, k];   for x: C[x] = T[x]            three loops over the elements of T

One loop does for each x what they do, one after the other. It keeps a dependence where nothing that a later one does for x' depends
on what an earlier one does for an x behind x'. (Loop fusion: Allen and Kennedy, "Optimizing Compilers for Modern Architectures",
ch. 6.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from polyml.model.core.iteration_context import IterationContext
from polyml.model.core.nest import Assign, Guard, Loop, Node, assigns, iterators, substituted_in
from polyml.quasi_affine import affine as af
from polyml.quasi_affine.affine import Affine


@dataclass(frozen=True)
class ElementLoops:
    """An ElementLoops is a nest each iteration of whose loops over elements uses one element of an array.

    point: the subscripts of that element
    elements: the loops over elements, by dimension, in the order in which they become the outer loops
    rest: the other loops of the nest down to the first block of several nodes
    body: what stands inside them
    interchanged: whether another loop stands outside one of the loops over elements
    """

    point: tuple[Affine, ...]
    elements: tuple[Loop, ...]
    rest: tuple[Loop, ...]
    body: tuple[Node, ...]
    interchanged: bool

    @property
    def names(self) -> tuple[str, ...]:
        """Returns the iterators of the loops over elements."""
        return tuple(loop.iterator for loop in self.elements)

    @property
    def inside(self) -> tuple[Node, ...]:
        """Returns what the loops over elements have as their body."""
        return around(self.rest, self.body)

    @property
    def only(self) -> Assign | None:
        """Returns the assignment that an iteration of the loops over elements is; None where it is anything else."""
        node = self.body[0]
        return node if not self.rest and len(self.body) == 1 and isinstance(node, Assign) else None


@dataclass(frozen=True)
class _Access:
    """An _Access is an element that an assignment reads or writes, with the loops and guards around that stand inside a block."""

    array: str
    subscripts: tuple[Affine, ...]
    writes: bool
    inside: bool
    around: tuple[Loop | Guard, ...]


def element_loops(node: Node, name: str, context: IterationContext | None = None) -> ElementLoops | None:
    """Returns a node as loops over the elements of the array `name`; None where it is something else.

    The subscripts of an element are iterators of loops, each plus what stays the same in the nest, or stay the same in the nest.

    context: the loops and guards around the node, where an iteration may read other elements of the array than the one that it
        writes, and where subscripts of the source, which are tested at entry, may stay; None where neither may be
    """
    chain: list[Loop] = []
    body: tuple[Node, ...] = (node,)
    while len(body) == 1 and isinstance(body[0], Loop):
        chain.append(body[0])
        body = body[0].body
    accesses = list(_accesses((node,), name))
    points = {access.subscripts for access in accesses if access.writes or context is None}
    own = {loop.iterator: loop for loop in chain}
    if (
        len(points) != 1
        or len(own) != len(chain)
        or not all(access.inside or context and _counts_from_start(access, (), context) for access in accesses)
    ):
        return None
    point = points.pop()
    moving = [_moving(subscript, own) for subscript in point]
    names = [iterator for iterator in moving if iterator]
    if None in moving or not names or len(set(names)) < len(names):
        return None
    elements = tuple(own[iterator] for iterator in names)
    if any(loop.step != 1 or (loop.start.names | loop.stop.names) & set(own) for loop in elements):
        return None
    rest = tuple(loop for loop in chain if loop.iterator not in names)
    return ElementLoops(point, elements, rest, body, [loop.iterator for loop in chain[: len(names)]] != names)


def _moving(subscript: Affine, loops: Mapping[str, Loop]) -> str | None:
    """Returns the one of the loops' iterators that a subscript is, plus what stays the same in these loops; "" where it has none of
    them, and None where it is another expression of them.
    """
    mine = subscript.names & set(loops)
    if not mine:
        return ""
    name = min(mine)
    return name if len(mine) == 1 and name not in (subscript - af.variable(name)).names else None


def together(nests: Sequence[ElementLoops | None], name: str, context: IterationContext) -> list[tuple[Node, ...]] | None:
    """Returns what stands inside the loops over elements of each nest, as it may stand one after the other in those of the last one.

    The result is None where the nests do not run over the same elements of the array `name`, or where one loop would not keep a
    dependence through another array.

    nests: loops over elements of `name`, in the order in which they run; None for what is no such nest
    context: the loops and guards around them
    """
    known = [nest for nest in nests if nest is not None]
    if len(known) < len(nests):
        return None
    inside: list[tuple[Node, ...]] = []
    for nest in known:
        part = _aligned(nest, known[-1])
        if part is None:
            return None
        inside.append(part)
    return inside if _keeps_order(known, inside, name, context) else None


def _aligned(nest: ElementLoops, other: ElementLoops) -> tuple[Node, ...] | None:
    """Returns what stands inside the loops over elements, with the iterators of another nest; None where these do not run over the
    same elements, or where the iterators have another meaning inside.
    """
    moves = [_move(nest, other, place) for place in range(len(nest.names))] if len(nest.names) == len(other.names) else [None]
    if None in moves:
        return None
    names = {loop.iterator: value for loop, value in zip(nest.elements, moves) if value is not None}
    if tuple(s.substitute(names) for s in nest.point) != other.point:
        return None
    inner = set(iterators(nest.inside))
    if any(value.names & inner for value in names.values()):
        return None
    changed = {iterator: value for iterator, value in names.items() if value != af.variable(iterator)}
    return tuple(substituted_in(node, changed) for node in nest.inside) if changed else nest.inside


def _move(nest: ElementLoops, other: ElementLoops, place: int) -> Affine | None:
    """Returns the value of an iterator of a loop over elements in the iteration of another nest's loop that uses the same element;
    None where the loops do not run over the same elements.

    place: of the loops among those over elements
    """
    mine, its = nest.elements[place], other.elements[place]
    behind = _offset(other, its.iterator) - _offset(nest, mine.iterator)
    if behind.names and behind.names & {*iterators((*around(nest.elements, nest.inside), *around(other.elements, other.inside)))}:
        return None
    if mine.start != its.start + behind:
        return None
    end = its.stop + behind
    same = _from_zero(mine.stop) == _from_zero(end) if mine.start == Affine(0) else mine.stop == end
    return af.variable(its.iterator) + behind if same else None


def _offset(nest: ElementLoops, iterator: str) -> Affine:
    """Returns what an element's subscript has besides the iterator of the loop over elements that is in it."""
    subscript = next(s for s in nest.point if iterator in s.names)
    return subscript - af.variable(iterator)


def _from_zero(stop: Affine) -> Affine:
    """Returns max(stop, 0): the stop of a loop that begins at 0."""
    return af.extremum("max", (stop, Affine(0)), as_written=True)


def _keeps_order(nests: Sequence[ElementLoops], inside: Sequence[tuple[Node, ...]], name: str, context: IterationContext) -> bool:
    """Returns whether one loop over elements keeps all dependences of the nests.

    name: the array to whose elements the loops belong; an iteration's own element is none that another one uses as its own
    inside: the bodies of their loops over elements, which have the iterators of the last nest
    context: the loops and guards around the nests
    """
    loops, own = nests[-1].elements, (name, nests[-1].point)
    found = [list(_accesses(part)) for part in inside]
    for later, mine in enumerate(found):
        for earlier, others in enumerate(found[: later + 1]):
            if earlier == later and not nests[later].interchanged:
                continue  # the loops over elements are outside in the same order as before
            pairs = ((a, b) for a in others for b in mine if a.array == b.array and (a.writes or b.writes))
            pairs = ((a, b) for a, b in pairs if not (a.array, a.subscripts) == (b.array, b.subscripts) == own)
            if not all(_stays_before(a, b, loops, context, both=earlier == later) for a, b in pairs):
                return False
    return True


def _stays_before(a: _Access, b: _Access, loops: Sequence[Loop], context: IterationContext, *, both: bool) -> bool:
    """Returns whether what `a` touches in one iteration of the loops over elements is never what `b` touches in an earlier one.

    both: whether they may touch the same element in the same iteration alone
    """
    if not a.subscripts or not all(_counts_from_start(access, loops, context) for access in (a, b)):
        return False
    moving = {loop.iterator for loop in loops}
    inner = {loop.iterator for own in (a, b) for loop in own.around if isinstance(loop, Loop)}
    same: set[str] = set()  # the loops that are in the same iteration where both touch one element
    for left, right in zip(a.subscripts, b.subscripts):
        mine = left.names & moving
        if left == right and len(mine) == 1 and not left.names & inner and all(isinstance(atom, str) for atom, _ in left.terms):
            same |= mine
    return same == moving or _never_meet(a, b, loops, context, both)


def _counts_from_start(access: _Access, loops: Sequence[Loop], context: IterationContext) -> bool:
    """Returns whether no subscript of an access is negative, which would count from the end, in a call that passes all checks.

    loops, context: the loops directly around the block of the access; the loops and guards around these
    """
    if access.inside:
        return True
    for node in (*loops, *access.around):
        context = context.inside(node)
    return all(context.is_never_negative(subscript) for subscript in access.subscripts)


def _never_meet(a: _Access, b: _Access, loops: Sequence[Loop], context: IterationContext, both: bool) -> bool:
    """Returns whether isl proves that `a` touches in no iteration of the loops what `b` touches in an earlier one (or, with `both`,
    in another one).
    """
    other = {loop.iterator: af.variable(f"{loop.iterator}__") for loop in (*loops, *(n for n in b.around if isinstance(n, Loop)))}
    here = context
    for node in (*loops, *a.around):
        here = here.inside(replace(node, body=()))
    for node in (*loops, *b.around):
        moved = substituted_in(replace(node, body=()), other)
        if not isinstance(moved, Assign):
            here = here.inside(replace(moved, iterator=f"{moved.iterator}__") if isinstance(moved, Loop) else moved)
    meet = here.assumed
    for left, right in zip(a.subscripts, b.subscripts):
        meet = meet.intersect(here.set(af.zero(left - right.substitute(other))))
    for position, loop in enumerate(loops):
        before = [af.zero(af.variable(o.iterator) - other[o.iterator]) for o in loops[:position]]
        for order in (">", "<") if both else (">",):
            turned = af.compare(order, af.variable(loop.iterator), other[loop.iterator])
            if not meet.intersect(here.set(af.conjunction(*before, turned))).is_empty():
                return False
    return True


def meeting_place(nodes: Sequence[Node], places: Sequence[int]) -> int | None:
    """Returns the place among `places` to which all others can move past what stands between; None where there is none.

    nodes: a block
    places: of some of its nodes, in order
    """
    between = [place for place in range(places[0], places[-1]) if place not in places]
    names = {place: ({a.array for a in assigns_of(nodes[place])}, nodes[place].uses.keys()) for place in (*places, *between)}

    def pass_each_other(a: int, b: int) -> bool:
        return names[a][0].isdisjoint(names[b][1]) and names[b][0].isdisjoint(names[a][1])

    for where in reversed(places):
        if all(pass_each_other(p, m) for p in places for m in between if min(p, where) < m < max(p, where)):
            return where
    return None


def around(loops: Sequence[Loop], body: tuple[Node, ...]) -> tuple[Node, ...]:
    """Returns the block that is a nest of the loops with a body; the body itself where there is no loop."""
    for loop in reversed(loops):
        body = (replace(loop, body=body),)
    return body


def in_one_place(nodes: Sequence[Node], places: Sequence[int], where: int, made: Sequence[Node]) -> list[Node]:
    """Returns the nodes without those at `places`, and with `made` at the place `where`, which is one of them."""
    kept = [[node] if place not in places else made if place == where else () for place, node in enumerate(nodes)]
    return [node for part in kept for node in part]


def assigns_of(node: Node) -> tuple[Assign, ...]:
    """Returns every assignment in a node, in source order."""
    return (node,) if isinstance(node, Assign) else tuple(assigns((node,)))


def _accesses(body: Sequence[Node], name: str = "", outside: tuple[Loop | Guard, ...] = ()) -> Iterator[_Access]:
    """Yields what the assignments of a body read and write.

    name: the only array whose elements are meant; "": all arrays
    outside: the loops and guards around the body that stand inside the block
    """
    for node in body:
        if name and name not in node.uses:
            continue
        if not isinstance(node, Assign):
            yield from _accesses(node.body, name, (*outside, node))
            continue
        if name in ("", node.array):
            yield _Access(node.array, node.subscripts, True, node.inside, outside)
        for read in node.reads:
            if name in ("", read.array):
                yield _Access(read.array, read.subscripts, False, read.inside, outside)
