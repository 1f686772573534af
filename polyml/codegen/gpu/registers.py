"""Elements that a thread uses in every iteration of a loop, kept in registers while the loop runs (scalar replacement).

    for k: for l:                                acc[a][b] = C[i + 16*a, j + 16*b] for all items a, b
        for a < 4: for b < 4:             ->     for k: for l: for a < 4: for b < 4: acc[a][b] += ...
            C[i + 16*a, j + 16*b] += ...         C[i + 16*a, j + 16*b] = acc[a][b] for all items a, b

Where a statement just before the loop sets the elements, as in `C[i, j] = 0`, it sets the registers, and nothing is loaded.

Callahan, Carr, Kennedy: "Improving register allocation for subscripted variables", PLDI 1990. No other thread uses the elements
in the same launch, since the loops of its grid carry no dependence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import takewhile

from polyml.codegen.ir.accesses import AccessTable, reads_and_write
from polyml.codegen.ir.program import Instance, Loop, Node, instances, loops
from polyml.dtypes import PYINT
from polyml.frontend import syntax
from polyml.model.core.nest import subvalues
from polyml.model.core.scop import Access, Gather, Scop, Value
from polyml.quasi_affine.affine import Affine, Compare, Condition, conjunction, variable

_OPERATORS = frozenset(("+", "-", "*", "min", "max", "&", "|", "^"))  # which no operands make fail, of numbers of a machine


@dataclass(frozen=True)
class Registers:
    """A Registers is a loop in a thread, with the elements of one array that are in registers while the loop runs.

    array: the array; inside the loop, it is accessed only in the registers.
    subscripts: those of the elements, expressions of the names around the loop and of the variables in `items`.
    items: pairs of a variable, which numbers the thread's items (iterations) along an axis, and how many items there are; there is
        a register for each combination of items.
    loop: the loop; where nothing is in `start`, the registers are filled only where it runs at least once.
    start: the nodes just before the loop that give the elements their first values, in the registers.
    """

    array: str
    subscripts: tuple[Affine, ...]
    items: tuple[tuple[str, int], ...]
    loop: Loop
    start: tuple[Node, ...] = ()

    @property
    def chain(self) -> tuple[Loop, ...]:
        """The loop and those inside it, outermost first, as long as each has just one loop inside, and this is not over items."""
        found, items = [self.loop], dict(self.items)
        while len(found[-1].body) == 1 and isinstance(inner := found[-1].body[0], Loop) and inner.name not in items:
            found.append(inner)
        return tuple(found)

    @property
    def runs(self) -> Condition:
        """The condition that all loops of the chain run, and so the elements are accessed."""
        return conjunction(*(Compare(">=", last - first) for loop in self.chain for first in loop.lower for last in loop.upper))

    def is_loaded(self, scop: Scop) -> bool:
        """Returns whether the registers are filled from memory: the first instance, be it in `start` or the loop, needs the elements."""
        first = next(instances((*self.start, self.loop)))
        return any(each.array == self.array for each in scop.statements[first.statement].reads)

    def outset_at(self, items: Mapping[str, Affine]) -> tuple[Instance, ...]:
        """Returns the instances in `start`, of one item along each axis. items: { variable in `items` -> the number of the item }."""
        runs = (run for run in _runs(self.start, {}, dict(self.items)) if run is not None)
        return tuple(
            replace(node, point=tuple(each.substitute(names).substitute(items) for each in node.point)) for node, names in runs
        )

    @property
    def innermost(self) -> Loop:
        """The last loop of the chain, which has a thread's items inside it."""
        return self.chain[-1]


def registers(nodes: tuple[Node, ...], scop: Scop, items: Mapping[str, int]) -> Iterator[Registers]:
    """Yields the loops below the nodes that may keep elements of an array in registers, with these elements. Loops inside such a
    loop are not considered.

    items: { name of the loop over a thread's items (its iterations along an axis) -> how many there are }.
    """
    table = AccessTable(scop.context)
    for number, node in enumerate(nodes):
        if isinstance(node, Instance):
            continue
        found = _of_loop(node, scop, table, items) if isinstance(node, Loop) else None
        if found is not None:
            starts = takewhile(lambda each: _is_start(each, found, scop, table), reversed(nodes[:number]))
            yield replace(found, start=tuple(starts)[::-1])
        else:
            yield from registers(node.body, scop, items)


def _is_start(node: Node, held: Registers, scop: Scop, table: AccessTable) -> bool:
    """Returns whether the node gives values to all elements in registers and does nothing else: it reads no other element, and nothing can
    fail, whatever the elements are. It has no loops but those over items: another one may have no iterations, and has registers itself.
    """
    runs = list(_runs((node,), {}, dict(held.items)))
    is_in_items = all(each.name in dict(held.items) for each in loops((node,)))
    return (
        is_in_items
        and None not in runs
        and all(
            never_fails(scop.statements[run[0].statement].value)
            and scop.statements[run[0].statement].write.array == held.array
            and all((each.array, subscripts) == (held.array, held.subscripts) for each, subscripts in _accesses(*run, scop, table))
            for run in runs
            if run is not None
        )
    )


def never_fails(value: Value) -> bool:
    """Returns whether a value can be computed from any numbers."""
    return all(_is_safe(each) for each in subvalues(value))


def _is_safe(value: Value) -> bool:
    if isinstance(value, Gather) or value.dtype.kind == "c" or isinstance(value, syntax.Call) and not value.dtype.is_float:
        return False
    if isinstance(value, syntax.Cast):
        return not value.operand.dtype.is_float or value.to.is_float
    if isinstance(value, syntax.Binary):
        return value.dtype.is_float or value.op in _OPERATORS and value.dtype != PYINT
    return not isinstance(value, syntax.Unary) or value.dtype != PYINT


def instances_of(held: Registers) -> tuple[Instance, ...]:
    """Returns the instances in the loop, each of which is inside loops over all of a thread's items."""
    return tuple(run[0] for run in _runs(held.loop.body, {}, dict(held.items)) if run is not None)


def accesses_of(held: Registers, scop: Scop) -> Iterator[tuple[str, tuple[Affine, ...]]]:
    """Yields the array and the subscripts of each read inside the loop, except reads at indices that data decide. In the
    subscripts, the variables of `held.items` stand for those of the loops over a thread's items (its iterations along an axis).
    """
    table = AccessTable(scop.context)
    for run in _runs(held.loop.body, {}, dict(held.items)):
        if run is None:
            continue
        for access, subscripts in _accesses(*run, scop, table):
            if access is not scop.statements[run[0].statement].write and not access.may:
                yield access.array, subscripts


def subscripts_of(access: Access, instance: Instance, held: Registers, scop: Scop) -> tuple[Affine, ...]:
    """Returns the subscripts of an access of an instance in the loop, as `accesses_of` does."""
    for run in _runs(held.loop.body, {}, dict(held.items)):
        if run is not None and run[0] is instance:
            return next(found for each, found in _accesses(*run, scop, AccessTable(scop.context)) if each is access)
    raise ValueError(f"{instance} is not in the loop")


def _of_loop(loop: Loop, scop: Scop, table: AccessTable, items: Mapping[str, int]) -> Registers | None:
    """Returns the loop with the elements that may be in registers while it runs; None unless all instances in it write the same
    array, and access only one element of it for each item of the thread, the same in all iterations of the loop. Loops inside it must
    have bounds that are the same in all of its iterations, so that it is known whether the elements are accessed: no thread may load
    and store what only others access.

    items: { name of the loop over a thread's items along an axis -> how many there are }.
    """
    runs = list(_runs(loop.body, {}, items))
    arrays = {scop.statements[run[0].statement].write.array for run in runs if run is not None}
    if None in runs or len(arrays) != 1:
        return None
    (array,) = arrays
    seen = {subscripts for run in runs if run is not None for subscripts in _subscripts(*run, array, scop, table)}
    if len(seen) != 1:
        return None
    (subscripts,) = seen
    if subscripts is None:
        return None
    used = frozenset().union(*(each.names for each in subscripts))
    if not set(items) <= used:
        return None
    held = Registers(array, subscripts, tuple(items.items()), loop)
    inside = {each.var for each in loops((loop,)) if each.name not in items}
    bounds = frozenset().union(*(end.names for each in held.chain for end in (*each.lower, *each.upper)))
    return held if inside == {each.var for each in held.chain} and not inside & (used | bounds) else None


def _subscripts(
    instance: Instance, names: Mapping[str, Affine], array: str, scop: Scop, table: AccessTable
) -> Iterator[tuple[Affine, ...] | None]:
    """Yields the subscripts of each access of the instance to the array; None for an access at indices that data decide.

    names: { variable of a loop over items -> the item's variable in the subscripts }.
    """
    statement = scop.statements[instance.statement]
    if any(isinstance(value, Gather) and value.array == array for value in subvalues(statement.value)):
        yield None
    yield from (subscripts for access, subscripts in _accesses(instance, names, scop, table) if access.array == array)


def _accesses(
    instance: Instance, names: Mapping[str, Affine], scop: Scop, table: AccessTable
) -> Iterator[tuple[Access, tuple[Affine, ...]]]:
    """Yields each read and the write of the instance's statement, with its subscripts.

    names: { variable of a loop over items -> the item's variable in the subscripts }.
    """
    statement = scop.statements[instance.statement]
    point = {name: value.substitute(names) for name, value in zip(statement.iterators, instance.point)}
    for access in reads_and_write(statement):
        yield access, tuple(each.substitute(point) for each in table.subscripts(access))


def _runs(
    nodes: tuple[Node, ...], names: Mapping[str, Affine], items: Mapping[str, int]
) -> Iterator[tuple[Instance, Mapping[str, Affine]] | None]:
    """Yields the instances that are inside loops over all of a thread's items, which may be inside other loops, each with { variable of
    a loop over items -> the item's variable in subscripts }; None for each node that is anything else.

    names: the entries for the loops over items that are around the nodes.
    items: { name of the loop over a thread's items along an axis -> how many there are }.
    """
    for node in nodes:
        if isinstance(node, Instance) and len(names) == len(items):
            yield node, names
        elif isinstance(node, Loop) and node.name in items and _is_whole(node, items[node.name]):
            yield from _runs(node.body, {**names, node.var: variable(node.name)}, items)
        elif isinstance(node, Loop) and node.name not in items and not names:
            yield from _runs(node.body, names, items)
        else:
            yield None


def _is_whole(loop: Loop, count: int) -> bool:
    """Returns whether the loop runs from 0 to count - 1 in steps of 1, whatever the sizes are."""
    return (loop.lower, loop.upper, loop.step) == ((Affine(),), (Affine(count - 1),), 1)
