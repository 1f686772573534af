"""A search for the greatest element and its place runs block by block: each block's greatest element, then the first place that
has it.

        for i in range(a, b):                        for each 1024 of a ... b - 1:
            if x(i) > best:                              most = the greatest x(i) of them
                best = x(i)               ->             place = the first of them with x(i) == most
                at = i                                   if most > best:
                                                             best = most
                                                             at = place

Both loops of a block are reductions, which lanes share, and the second reads what the first left in the nearest cache. The same
holds for the least element, and for >= and <=, which take the last place. A NaN does what it did: one in x is never better, and
nothing is better than one in `best`; a block of NaNs alone has -inf for its greatest element, and no place. (Of equal zeros
`best` may be the other one.) A loop may have several such searches, each with places of its own.

The pass applies where the search goes on through all loops around it: one that begins anew in each iteration of a loop may be
short, and several of them run side by side.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from polyml.dtypes import BOOL, I64, PYINT, DType
from polyml.frontend import syntax
from polyml.model.core.identifiers import Names
from polyml.model.core.nest import (
    ArrayInfo,
    Assign,
    Guard,
    Integer,
    Loop,
    Nest,
    Node,
    Read,
    Value,
    assigns,
    children,
    iterators,
    substituted,
    subvalues,
    uses,
)
from polyml.model.core.reductions import identity
from polyml.model.core.scop import Role, ScalarArg
from polyml.quasi_affine import affine as af
from polyml.quasi_affine.affine import Affine

BLOCK = 1024  # elements that are in the nearest cache when they are read again
_MIRRORED = {">": "<", ">=": "<=", "<": ">", "<=": ">="}
_EXACT = ("abs", "fabs")
_ROUNDED = ("+", "-", "*")


@dataclass(frozen=True)
class _ArgmaxSearch:
    """An _ArgmaxSearch is a search for an extreme element and its place, `if part op best: best = part; at = i` in a loop.

    part: the value that is compared
    op: the comparison, such as ">"
    best: the assignment to `best`
    places: the assignments under the same condition, such as `at = i`
    """

    part: Value
    op: str
    best: Assign
    places: tuple[Assign, ...]


def in_blocks(nest: Nest, *, floats: bool) -> Nest:
    """Returns the nest in which searches for an extreme element and its place run block by block.

    It must not be used where arguments may share memory.

    floats: whether searches among floats may change too, since reductions of floats may be reordered
    """
    blocker = _ArgmaxBlocker(nest, floats)
    body = blocker.block(nest.body, ())
    if not blocker.made:
        return nest
    used = uses(body)
    arrays = {n: a for n, a in {**nest.arrays, **blocker.made}.items() if n in used or a.role is not Role.LOCAL or a.shape}
    return replace(nest, body=body, arrays=arrays)


class _ArgmaxBlocker:
    """An _ArgmaxBlocker rewrites loops that search an extreme element and its place, so that they run block by block.

    made: the scalars that it has declared for them
    """

    def __init__(self, nest: Nest, floats: bool) -> None:
        self._nest, self._floats = nest, floats
        self._names = Names()
        for name in (*nest.arrays, *(p.name for p in nest.parameters), *iterators(nest.body)):
            self._names.fresh(name)
        self.made: dict[str, ArrayInfo] = {}

    def block(self, body: tuple[Node, ...], around: tuple[Loop, ...]) -> tuple[Node, ...]:
        """Returns a block of nodes with the searches in it rewritten.

        around: the loops around the block, outermost first
        """
        return tuple(made for node in body for made in self._node(node, around))

    def _node(self, node: Node, around: tuple[Loop, ...]) -> Iterator[Node]:
        if isinstance(node, Assign):
            yield node
            return
        if isinstance(node, Guard):
            yield replace(node, body=self.block(node.body, around))
            return
        loops = (*around, node)
        searches = self._searches(node, loops)
        if not searches:
            yield replace(node, body=self.block(node.body, loops))
        else:
            yield self._in_blocks(node, searches)

    def _searches(self, loop: Loop, loops: tuple[Loop, ...]) -> list[_ArgmaxSearch]:
        """Returns the searches that a loop's body consists of; [] where it has anything else, or two of them assign one scalar.

        loops: the loops around the body, outermost first
        """
        body = tuple(node for node in loop.body if isinstance(node, Assign))
        if loop.step != 1 or len(body) < len(loop.body):
            return []
        groups = _groups(body)
        found = [search for group in groups if (search := self._search(group, loop, loops)) is not None]
        targets = [a.array for search in found for a in (search.best, *search.places)]
        return [] if len(found) < len(groups) or len(set(targets)) < len(targets) else found

    def _search(self, body: tuple[Assign, ...], loop: Loop, loops: tuple[Loop, ...]) -> _ArgmaxSearch | None:
        """Returns the search that some assignments of a loop's body are; None where they are none, or it must not run in blocks.

        loops: the loops around the body, outermost first
        """
        found = _as_search(body, self._nest)
        if found is None or not _is_repeatable(found.part, loop.iterator):
            return None
        element = found.part.dtype
        if element.is_float and not (self._floats and element.bits >= 32) or not (element.is_float or element.is_integer):
            return None
        if element == PYINT or self._nest.arrays[found.best.array].element != element:
            return None
        written = {a.array for a in loop.body if isinstance(a, Assign)}
        if any(isinstance(v, Read) and v.array in written for v in subvalues(found.part)):
            return None
        around = {each.iterator for each in loops}
        for assign in (found.best, *found.places):
            if any(s.names & around for s in assign.subscripts):
                return None
        if not all(_is_place(_select(a).then, loop.iterator) for a in found.places):
            return None
        mine = {id(a) for a in loop.body}
        others = (a for a in assigns(loops[0].body) if id(a) not in mine)
        targets = {a.array for a in (found.best, *found.places)}
        return None if any(a.array in targets for a in others) else found

    def _in_blocks(self, loop: Loop, searches: Sequence[_ArgmaxSearch]) -> Node:
        """Returns a loop over blocks of a loop's iterations, whose body has all searches for one block."""
        index, block = loop.iterator, self._names.fresh(loop.iterator)
        start = loop.start + af.variable(block) * BLOCK
        blocks = af.floor_div(loop.stop - loop.start + (BLOCK - 1), BLOCK)
        steps = tuple(step for search in searches for step in self._of_block(loop, search, start, index))
        return replace(loop, iterator=block, start=Affine(0), stop=blocks, body=steps)

    def _of_block(self, loop: Loop, found: _ArgmaxSearch, start: Affine, index: str) -> list[Node]:
        """Returns the nodes that find an extreme element and its place in one block, and then compare it with the best so far.

        start: the first iteration of the block
        index: the iterator of the loops inside the block
        """
        element, greatest = found.part.dtype, found.op in (">", ">=")
        first, operator = found.op in (">", "<"), "max" if greatest else "min"
        most, place = self._scalar("most", element), self._scalar("place", I64)
        better = self._scalar("better", BOOL)
        here = start + af.variable(index)
        part = substituted(found.part, {index: here})
        none = syntax.Const(identity("min" if first else "max", I64), dtype=I64)
        is_most = syntax.Compare("==", part, most, dtype=BOOL)
        nearest = syntax.IfExp(is_most, Integer(here, dtype=I64), none, dtype=I64)
        nearer = syntax.Call("minimum" if first else "maximum", (place, nearest), dtype=I64)
        more = syntax.Binary(operator, most, part, dtype=element)
        best = Read(found.best.array, found.best.subscripts, dtype=element, inside=found.best.inside)
        test = syntax.Logical(
            "and",
            (syntax.Compare(found.op, most, best, dtype=BOOL), syntax.Compare("!=", place, none, dtype=BOOL)),
            dtype=BOOL,
        )
        steps: list[Node] = [
            _assign(most, syntax.Const(identity(operator, element), dtype=element), found.best),
            self._over(loop, start, _assign(most, more, found.best)),
            _assign(place, none, found.best),
            self._over(loop, start, _assign(place, nearer, found.best)),
            _assign(better, test, found.best),
        ]
        for assign in found.places:
            value = _select(assign)
            moved = replace(value, condition=better, then=_at(value.then, index, place))
            steps.append(replace(assign, value=moved))
        steps.append(replace(found.best, value=replace(_select(found.best), condition=better, then=most)))
        return steps

    def _over(self, loop: Loop, start: Affine, assign: Assign) -> Loop:
        """Returns a loop over the iterations of the block that begins at `start`, whose body is an assignment."""
        return replace(
            loop, start=Affine(0), stop=af.extremum("min", (Affine(BLOCK), loop.stop - start), as_written=True), body=(assign,)
        )

    def _scalar(self, wanted: str, element: DType) -> Read:
        name = self._names.fresh(wanted)
        self.made[name] = ArrayInfo(element, (), Role.LOCAL, wanted)
        return Read(name, (), dtype=element, inside=True)


def _assign(target: Read, value: Value, like: Assign) -> Assign:
    return Assign(target.array, (), value, loc=like.loc, target_loc=like.target_loc, inside=True)


def _groups(body: tuple[Assign, ...]) -> list[tuple[Assign, ...]]:
    """Returns the assignments in groups of neighbours under one condition, each with the unconditional assignment before it.

    That first assignment stores the condition that the others test.
    """
    groups: list[list[Assign]] = []
    for assign in body:
        last = groups[-1][-1] if groups else None
        if last is not None and assign.may and (not last.may or _condition(assign) == _condition(last)):
            groups[-1].append(assign)
        else:
            groups.append([assign])
    return [tuple(group) for group in groups]


def _condition(assign: Assign) -> Value | None:
    return assign.value.condition if isinstance(assign.value, syntax.IfExp) else None


def _as_search(body: tuple[Assign, ...], nest: Nest) -> _ArgmaxSearch | None:
    """Returns the search that assignments under one condition are; None where they are none."""
    flag: Assign | None = None
    if body and not body[0].may and isinstance(body[0].value, syntax.Compare) and not body[0].subscripts:
        flag, *rest = body
        if nest.arrays[flag.array].role is not Role.LOCAL or any(r.array == flag.array for r in nest.results):
            return None
        body = tuple(rest)
    if not body or not all(a.may and isinstance(a.value, syntax.IfExp) for a in body):
        return None
    if not all(_is_target(a, _select(a).orelse) for a in body) or len({a.array for a in body}) < len(body):
        return None
    for number, best in enumerate(body):
        condition = _select(best).condition if flag is None else flag.value
        op = _better(condition, best)
        if op is None:
            continue
        told = _select(best).condition
        if flag is not None and not (isinstance(told, Read) and told.array == flag.array):
            return None
        if flag is None and number != len(body) - 1:
            return None  # a later assignment would compare with the new value
        places = tuple(a for a in body if a is not best)
        if not all(_select(a).condition == told for a in places):
            return None
        return _ArgmaxSearch(_select(best).then, op, best, places)
    return None


def _select(update: Assign) -> syntax.IfExp:
    """Returns the select that an assignment under a condition stores: a new value, or the element's old one."""
    if not isinstance(update.value, syntax.IfExp):
        raise TypeError(f"not a select: {update.value!r}")
    return update.value


def _better(condition: Value, best: Assign) -> str | None:
    """Returns the operator by which the condition of an assignment to `best` compares the new value with the old one.

    It is ">" for `part > best` and for `best < part`, and None for a condition that does not compare these two.
    """
    if not isinstance(condition, syntax.Compare) or condition.op not in _MIRRORED:
        return None
    part = _select(best).then
    if condition.left == part and _is_target(best, condition.right):
        return condition.op
    if condition.right == part and _is_target(best, condition.left):
        return _MIRRORED[condition.op]
    return None


def _is_target(assign: Assign, value: Value) -> bool:
    """Returns whether a value is a read of the same element that the assignment stores to."""
    return isinstance(value, Read) and (value.array, value.subscripts) == (assign.array, assign.subscripts)


def _is_repeatable(part: Value, iterator: str) -> bool:
    """Returns whether a value may be computed twice: it rounds at most once, so that both results are equal, and reads along rows.

    It reads along rows if the loop's iterator is in the last subscript of at least one element, and in no other subscript.
    """
    moving = [v for v in subvalues(part) if isinstance(v, Read)]
    rows = [v for v in moving if v.subscripts and _moves(v.subscripts[-1], iterator)]
    if not rows or any(_moves(s, iterator) for v in moving for s in v.subscripts[:-1]):
        return False
    return _roundings(part) <= 1


def _moves(subscript: Affine, iterator: str) -> bool:
    return iterator in subscript.names


def _roundings(value: Value) -> int:
    """Returns how many operations of a value round.

    One whose result may differ from one computation to the next, such as a function of numbers, counts as 2: too many for
    `_is_repeatable`.
    """
    below = sum(map(_roundings, children(value)))
    if isinstance(value, (Read, syntax.Const, Integer, ScalarArg)):
        return 0
    if isinstance(value, syntax.Unary) and value.op == "-" or isinstance(value, syntax.Call) and value.function in _EXACT:
        return below
    if isinstance(value, syntax.Binary) and value.op in _ROUNDED and value.dtype != PYINT:
        return below + value.dtype.is_float
    return 2 + below


def _is_place(value: Value, iterator: str) -> bool:
    """Returns whether a value can be the place that a search stores: an affine integer such as i + 3 or n, for the iterator i.

    The iterator has the coefficient 1 in it or does not occur in it.
    """
    if not isinstance(value, Integer) or not (value.dtype == PYINT or value.dtype == I64):
        return False
    rest = value.affine - af.variable(iterator)
    return iterator not in value.affine.names or iterator not in rest.names


def _at(value: Value, iterator: str, place: Read) -> Value:
    """Returns an affine value with the iterator replaced by `place`, a read of the scalar that holds the iterator's value."""
    if not isinstance(value, Integer) or iterator not in value.affine.names:
        return value
    rest = value.affine - af.variable(iterator)
    total: Value = place
    if rest != Affine(0):
        total = syntax.Binary("+", place, Integer(rest, dtype=I64), dtype=I64)
    return total if value.dtype == I64 else syntax.Cast(total, value.dtype, dtype=value.dtype)
