"""Elements that a thread uses in every iteration of a loop, kept in registers while the loop runs (scalar replacement).

    for k:                                       acc[a][b] = C[i + 16*a, j + 16*b] for all items a, b
        for a < 4: for b < 4:             ->     for k: for a < 4: for b < 4: acc[a][b] += ...
            C[i + 16*a, j + 16*b] += ...         C[i + 16*a, j + 16*b] = acc[a][b] for all items a, b

Callahan, Carr, Kennedy: "Improving register allocation for subscripted variables", PLDI 1990. No other thread uses these elements in the
same launch: the loops of its grid carry no dependence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from polyml.codegen.ir.accesses import AccessTable, reads_and_write
from polyml.codegen.ir.program import Instance, Loop, Node
from polyml.model.core.nest import subvalues
from polyml.model.core.scop import Gather, Scop
from polyml.quasi_affine.affine import Affine, variable


@dataclass(frozen=True)
class Registers:
    """A loop, and elements of an array that are in registers while it runs.

    array: the array, which only its registers stand for inside the loop.
    subscripts: those of the elements, over the names around the loop and the items' variables.
    items: the variables of the items, each with how many there are; there is a register for each combination.
    loop: the loop, which runs at least once where the registers are filled.
    """

    array: str
    subscripts: tuple[Affine, ...]
    items: tuple[tuple[str, int], ...]
    loop: Loop


def registers(nodes: tuple[Node, ...], scop: Scop, items: Mapping[str, int]) -> Iterator[Registers]:
    """Yields what may be in registers, outer loops before inner ones.

    items: by the name of the loop over a thread's items along an axis, how many there are.
    """
    table = AccessTable(scop.context)
    for node in nodes:
        if isinstance(node, Instance):
            continue
        found = _of_loop(node, scop, table, items) if isinstance(node, Loop) else None
        if found is not None:
            yield found
        else:
            yield from registers(node.body, scop, items)


def _of_loop(loop: Loop, scop: Scop, table: AccessTable, items: Mapping[str, int]) -> Registers | None:
    """Returns the loop with the array that it writes in registers; None where that is not all that it does with the array."""
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
    if loop.var in used or not set(items) <= used:
        return None
    return Registers(array, subscripts, tuple(items.items()), loop)


def _subscripts(
    instance: Instance, names: Mapping[str, Affine], array: str, scop: Scop, table: AccessTable
) -> Iterator[tuple[Affine, ...] | None]:
    """Yields the subscripts of an instance's accesses to an array, over the names of items; None for one that data decide."""
    statement = scop.statements[instance.statement]
    if any(isinstance(value, Gather) and value.array == array for value in subvalues(statement.value)):
        yield None
    point = {name: value.substitute(names) for name, value in zip(statement.iterators, instance.point)}
    for access in reads_and_write(statement):
        if access.array == array:
            yield tuple(each.substitute(point) for each in table.subscripts(access))


def _runs(
    nodes: tuple[Node, ...], names: Mapping[str, Affine], items: Mapping[str, int]
) -> Iterator[tuple[Instance, Mapping[str, Affine]] | None]:
    """Yields the instances right inside loops over all items, with the items' variables by those of the loops; None for another node."""
    for node in nodes:
        if isinstance(node, Instance) and len(names) == len(items):
            yield node, names
        elif isinstance(node, Loop) and node.name in items and _is_whole(node, items[node.name]):
            yield from _runs(node.body, {**names, node.var: variable(node.name)}, items)
        else:
            yield None


def _is_whole(loop: Loop, count: int) -> bool:
    """Whether a loop runs all items, whatever the sizes are."""
    return (loop.lower, loop.upper, loop.step) == ((Affine(),), (Affine(count - 1),), 1)
