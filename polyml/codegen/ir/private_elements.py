"""Local arrays of which each iteration uses one element, which it writes first: a variable takes their place (scalar replacement).

    for i: for j:                                 for i: for j:
        T[i, j] = 0.0                                 T = 0.0
        for k: T[i, j] += A[i, k]        ->           for k: T += A[i, k]
        B[i, j] = T[i, j] + T[i, j]**2                B[i, j] = T + T**2

Exact: in a list of nodes that run one after the other, the first one that uses the array is an instance that writes it and does not read
it, and all instances in the list and below it use the element at the same subscripts. So no value of the array goes from one run of the
list to another, and nobody sees the array afterwards, as it is local.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from polyml.codegen.ir.accesses import AccessTable
from polyml.codegen.ir.program import Instance, Node, instances
from polyml.model.core.nest import subvalues
from polyml.model.core.scop import Access, Gather, Role, Scop
from polyml.quasi_affine.affine import Affine


def private_elements(bodies: Sequence[tuple[Node, ...]], scop: Scop) -> frozenset[str]:
    """Returns the local arrays that a variable may take the place of wherever they are used.

    bodies: all that runs in the program, in parts, between which no variable keeps its value.
    """
    found = _Search(scop, AccessTable(scop.context))
    used = {use.array for nodes in bodies for node in instances(nodes) for use in found.uses(node)}
    local = {name for name in used if scop.arrays[name].role is Role.LOCAL and scop.arrays[name].shape}
    return frozenset(name for name in local if all(found.is_private(nodes, name) for nodes in bodies))


@dataclass(frozen=True)
class _Use:
    """A _Use is what an instance reads or writes: the array, and the subscripts; None where data decide these."""

    array: str
    subscripts: tuple[Affine, ...] | None


@dataclass(frozen=True)
class _Search:
    """The search for private elements in one program."""

    scop: Scop
    table: AccessTable

    def is_private(self, nodes: tuple[Node, ...], name: str) -> bool:
        """Returns whether a variable may take the array's place in a list of nodes."""
        using = [node for node in nodes if any(self._of(name, node))]
        if not any(isinstance(node, Instance) for node in using):
            return all(self.is_private(node.body, name) for node in using if not isinstance(node, Instance))
        first, seen = using[0], {use.subscripts for node in using for use in self._of(name, node)}
        if not isinstance(first, Instance) or len(seen) > 1 or None in seen:
            return False
        return self.scop.statements[first.statement].write.array == name and len(list(self._of(name, first))) == 1

    def _of(self, name: str, node: Node) -> Iterator[_Use]:
        """Yields the uses of an array in a node and below it."""
        return (use for each in instances((node,)) for use in self.uses(each) if use.array == name)

    def uses(self, node: Instance) -> Iterator[_Use]:
        """Yields what an instance reads, and then what it writes."""
        statement = self.scop.statements[node.statement]
        point = dict(zip(statement.iterators, node.point, strict=True))

        def of(access: Access) -> _Use:
            found = tuple(each.substitute(point) for each in self.table.subscripts(access))
            return _Use(access.array, None if access.may else found)

        yield from (_Use(value.array, None) for value in subvalues(statement.value) if isinstance(value, Gather))
        yield from map(of, (*statement.reads, statement.write))
