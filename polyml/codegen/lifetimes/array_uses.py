"""The accesses to local arrays, in the order of the text, each with the nodes around it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from polyml.codegen.ir.accesses import AccessTable
from polyml.codegen.ir.program import Guard, Instance, Node, Program, with_paths
from polyml.quasi_affine.affine import Affine


@dataclass(frozen=True)
class ArrayUse:
    """An access to an array.

    number: its instance's place in the text.
    path: the nodes around it, outermost first, and its instance.
    subscripts: of the element, in terms of the variables of these nodes.
    """

    number: int
    path: tuple[Node, ...]
    subscripts: tuple[Affine, ...]
    is_write: bool

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The path without guards."""
        return tuple(node for node in self.path if not isinstance(node, Guard))


def uses(program: Program, names: Iterable[str]) -> dict[str, list[ArrayUse]]:
    """Returns, for each of the arrays, the accesses to it in the loops; an instance reads before it writes."""
    table = AccessTable(program.scop.context)
    found: dict[str, list[ArrayUse]] = {name: [] for name in names}
    for number, (instance, path) in enumerate(with_paths(program.body)):
        statement = program.scop.statements[instance.statement]
        values = dict(zip(statement.iterators, instance.point))
        for access in (*statement.reads, statement.write):
            if access.array in found:
                subscripts = tuple(e.substitute(values) for e in table.subscripts(access))
                found[access.array].append(ArrayUse(number, (*path, instance), subscripts, access is statement.write))
    return found


def common_nodes(found: Iterable[ArrayUse]) -> tuple[Node, ...]:
    """Returns the nodes around all the accesses, without guards, outermost first."""
    common: list[Node] = []
    for nodes in zip(*(use.nodes for use in found)):
        if any(node is not nodes[0] for node in nodes) or isinstance(nodes[0], Instance):
            break
        common.append(nodes[0])
    return tuple(common)
