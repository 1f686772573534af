"""Arrays that are never in use at the same time share memory.

        for i: T[i] = A[i] + 1                                     T: N elements
        for i: U[i] = T[N - 1 - i]*2                               U: N elements
        for i: V[i] = U[N - 1 - i] - 3                          -> V lies where T lay
        for i: B[i] = V[N - 1 - i]

Proof. Loops that no other loop contains run one after the other, in the order of the text. A local array is in use from the first of
them that accesses it to the last. Of two arrays whose ranges have no loop in common, one is dead when the other gets its first
value, since nothing accesses it any more, and local arrays have no values at first. Arrays that code outside of loops accesses
are left alone: there, elements stay in registers and are stored later.

A range takes the place of one that ended: of an array with the same extents if there is one, else the one that ended last,
which may still be in caches. As many places are made as ranges overlap at most (the left-edge algorithm), each as large as the
largest of its arrays at the sizes of the call.

Hashimoto and Stevens, "Wire routing by optimizing channel assignment within large apertures", DAC 1971: left edge.
Fabri, "Automatic storage optimization", SIGPLAN Notices 14, 1979: arrays in the places of dead ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from polyml.codegen.ir.program import Guard, Loop, Node, Program, instances
from polyml.model.core.scop import Array, Role


def share_memory(program: Program) -> Program:
    """Returns the program with memory that several local arrays have in turn: `Program.shared`.

    The loops must be final, and so must the windows of arrays.
    """
    shared: dict[str, str] = {}
    places: list[_Place] = []
    for name, (first, last) in sorted(_ranges(program).items(), key=lambda item: (item[1], item[0])):
        ended = [place for place in places if place.last < first]
        array = program.scop.arrays[name]
        if not ended:
            places.append(_Place(name, last, {_extents(program, array)}))
            continue
        chosen = max(ended, key=lambda place: (_extents(program, array) in place.extents, place.last))
        shared[name] = chosen.owner
        chosen.last = last
        chosen.extents.add(_extents(program, array))
    return replace(program, shared=shared) if shared else program


@dataclass
class _Place:
    """A _Place is memory that arrays have in turn.

    owner: the first of them. last: the number of the loop after which the latest of them is dead. extents: of each.
    """

    owner: str
    last: int
    extents: set[object]


def _extents(program: Program, array: Array) -> object:
    """Returns a value that is equal for arrays with equally much memory."""
    window = program.windows.get(array.name)
    return array.element, tuple(map(str, array.shape)), None if window is None else window.lengths


def _ranges(program: Program) -> dict[str, tuple[int, int]]:
    """Returns { local array -> the numbers of the first and of the last outermost loop that accesses it }."""
    found: dict[str, tuple[int, int]] = {}
    kept: set[str] = set()
    for number, node in enumerate(_outermost(program.body)):
        names = {name for name in _accessed(program, (node,)) if _may_share(program, name)}
        if not isinstance(node, Loop):
            kept |= names
        for name in names:
            found[name] = found.get(name, (number, number))[0], number
    kept.update(_accessed(program, program.before))
    return {name: span for name, span in found.items() if name not in kept}


def _may_share(program: Program, name: str) -> bool:
    array = program.scop.arrays[name]
    return array.role is Role.LOCAL and bool(array.shape) and all(r.array != name for r in program.scop.results)


def _outermost(nodes: Iterable[Node]) -> Iterator[Node]:
    """Yields the loops that no loop contains, and what else is outside of loops, in the order in which they run."""
    for node in nodes:
        if isinstance(node, Guard):
            yield from _outermost(node.body)
        else:
            yield node


def _accessed(program: Program, nodes: tuple[Node, ...]) -> set[str]:
    """Returns the names of the arrays that instances in the nodes access."""
    statements = [program.scop.statements[name] for name in {each.statement for each in instances(nodes)}]
    return {access.array for statement in statements for access in (*statement.reads, statement.write)}
