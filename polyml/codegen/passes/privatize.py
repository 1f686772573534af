"""Privatization: a local array whose elements live within one iteration of a parallel loop, or of loops over tiles, needs memory
for that iteration alone.

        parallel it: for i in the tile: T[i, :] = ...; B[i, :] = T[i, :]      T: all rows   ->   a tile's rows for each thread
        kt: for k in the tile: V[k, :] = A[k, :]; ... V[k, i] ...             V: all rows   ->   a tile's rows
        for h: parallel it: for i in the tile: T[h, i, :] = ...               T: all of it  ->   a tile's rows for each thread

Each of these loops moves another dimension of the array: in one of its iterations all accesses are within as many indices of that
dimension as the iteration has, so that no element is accessed in two of them. This keeps temporaries in the cache. (Array
contraction to a tile: Lewis, Affine and Snyder, "The implementation and evaluation of fusion and contraction in array languages",
PLDI 1998. OpenMP calls arrays of each thread `private`.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from polyml.codegen.analysis.access_conflicts import ConflictTest, Enclosing, InstanceAccess
from polyml.codegen.ir.accesses import AccessTable
from polyml.codegen.ir.program import Loop, Node, Program, Window, instances, with_body, with_paths
from polyml.model.core.scop import Role
from polyml.quasi_affine.affine import Affine, variable

LINE = 64  # bytes of a cache line, of which the part of a row has whole ones
_Touch = tuple[InstanceAccess, tuple[Enclosing, ...]]  # an access, and the loops and guards around it


def privatize(program: Program) -> Program:
    """Returns the program with less memory for local arrays whose elements live within one iteration of loops over tiles. Parallel
    loops list those of which each thread needs its own (`Loop.private`).
    """
    names = sorted(name for name in _arrays(program, program.body) if _may_be_private(program, name))
    touches = {name: list(_touches(program, name, program.body, ())) for name in names}
    tests = ConflictTest(program.scop, AccessTable(program.scop.context))
    windows = dict(program.windows)
    private: dict[int, list[str]] = {}
    for name in names:
        found = _part(program, tests, name, touches[name])
        if found is None:
            continue
        windows[name] = found.window
        for loop in found.loops:
            if loop.parallel:
                private.setdefault(id(loop), []).append(name)
    if len(windows) == len(program.windows):
        return program
    return replace(program, body=_owning(program.body, private), windows=windows)


@dataclass(frozen=True)
class _LivePart:
    """The part of an array that lives within one iteration of loops around all accesses to it.

    window: the part.
    loops: these loops, outermost first.
    """

    window: Window
    loops: tuple[Loop, ...]


def _part(program: Program, tests: ConflictTest, name: str, touches: Sequence[_Touch]) -> _LivePart | None:
    """Returns the part of an array that needs memory; None where it is all of it.

    Each of the part's loops moves a dimension that no loop further out moves. The walk inwards ends at the first loop that moves
    none, since what is behind it may live from one of its iterations to the next.
    """
    array = program.scop.arrays[name]
    rank = len(array.shape)
    low: list[Affine] = [Affine(0)] * rank
    lengths: list[int | None] = [None] * rank
    found: list[Loop] = []
    for loop in _common(touches):
        if not (loop.parallel or loop.role == "tile"):
            break
        free = (d for d in range(rank) if lengths[d] is None)
        moved = next(((d, *part) for d in free if (part := _first(tests, loop, d, touches)) is not None), None)
        if moved is None or rank > 1 and moved[0] == rank - 1 and moved[2] * array.element.size_bytes % LINE:
            break
        low[moved[0]], lengths[moved[0]] = moved[1], moved[2]
        found.append(loop)
    return _LivePart(_window(low, lengths), tuple(found)) if found else None


def _window(low: Sequence[Affine], lengths: Sequence[int | None]) -> Window:
    return Window(tuple(low), tuple(lengths))


def _common(touches: Sequence[_Touch]) -> Iterator[Loop]:
    """Yields the loops that are around all accesses, outermost first."""
    paths = [[node for node in around if isinstance(node, Loop)] for _, around in touches]
    for loops in zip(*paths):
        if any(loop is not loops[0] for loop in loops):
            return
        yield loops[0]


def _first(tests: ConflictTest, loop: Loop, dim: int, touches: Sequence[_Touch]) -> tuple[Affine, int] | None:
    """Returns an expression f and a length n such that an iteration of the loop is proved to access only elements whose index in a
    dimension is in f ... f + n - 1, and that iterations have different ones; None if none is found.

    f is the loop's variable, or that times its coefficient in a subscript, plus a constant.
    """
    subscripts = [tests.subscripts(touch)[dim] for touch, _ in touches]
    shifts = dict.fromkeys((0, *(e.constant for e in subscripts)))
    factors = dict.fromkeys((1, *(c for e in subscripts for name, c in e.terms if name == loop.var and c > 1)))

    def within(first: Affine, length: int) -> bool:
        low = (*[Affine(0)] * dim, first)
        return all(tests.is_within(touch, around, low, (*[None] * dim, length)) for touch, around in touches)

    places = ((variable(loop.var) * factor + shift, loop.step * factor) for factor in factors for shift in shifts)
    return next((place for place in places if within(*place)), None)


def _owning(nodes: tuple[Node, ...], private: Mapping[int, Sequence[str]]) -> tuple[Node, ...]:
    """Returns the nodes with more arrays for each thread. private: { identity of a parallel loop -> the arrays }."""
    made: list[Node] = []
    for node in nodes:
        if not isinstance(node, Enclosing):
            made.append(node)
            continue
        body = _owning(node.body, private)
        new = node if all(a is b for a, b in zip(body, node.body)) else with_body(node, body)
        if isinstance(new, Loop) and id(node) in private:
            new = replace(new, private=(*new.private, *private[id(node)]))
        made.append(new)
    return tuple(made)


def _arrays(program: Program, nodes: tuple[Node, ...]) -> set[str]:
    """Returns the names of the arrays that instances among and below the nodes access."""
    statements = (program.scop.statements[instance.statement] for instance in instances(nodes))
    return {access.array for s in statements for access in (*s.reads, s.write)}


def _may_be_private(program: Program, name: str) -> bool:
    """Returns whether the array is local, no result, has a dimension, and has memory for all of its elements so far."""
    array = program.scop.arrays[name]
    is_own = array.role is Role.LOCAL and not any(r.array == name for r in program.scop.results)
    return is_own and bool(array.shape) and name not in program.windows


def _touches(
    program: Program, name: str, nodes: tuple[Node, ...], around: tuple[Enclosing, ...]
) -> Iterator[tuple[InstanceAccess, tuple[Enclosing, ...]]]:
    """Yields the accesses to the array in the nodes, each with the loops and guards around it.

    around: the loops and guards around the nodes.
    """
    for instance, path in with_paths(nodes, around):
        statement = program.scop.statements[instance.statement]
        inside = tuple(node for node in path if isinstance(node, Enclosing))
        yield from (((a, instance), inside) for a in (*statement.reads, statement.write) if a.array == name)
