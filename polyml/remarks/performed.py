"""What a Program does with the iterators of the source's statements: lanes, iterations that run together, their order, copies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from polyml.codegen.ir.program import Guard, Instance, Jam, Loop, Node, Program, Unroll, with_paths
from polyml.model.core.scop import Scop, Statement


@dataclass(frozen=True)
class Run:
    """A run is a place in a Program at which a statement of the source runs.

    statement: its name in the SCoP; the Program's own may be another one, since statements that read copies are others.
    lanes: {position of an iterator: (lanes, vectors)} of those whose iterations share vector registers.
    skewed: the positions of iterators that change together from one lane to the next, where the lanes are of a skewed loop.
    moved: the positions of the iterators that change with some loop; the others have one value here.
    in_order: whether the iterations in lanes depend on each other and keep their order; scans: whether each lane continues from
        the one before.
    jams: {position of an iterator: how many of its iterations run together}, lanes apart.
    order: the positions of the iterators in the order of the loops over single iterations, outermost first; a position is there where
        the loop's variable is the iterator itself.
    counters: (identity of the program's loop, position of the iterator that it counts) of these loops.
    versions: the conditions around it that arguments and sizes decide.
    """

    statement: str
    own_name: str
    lanes: dict[int, tuple[int, int]]
    skewed: frozenset[int]
    moved: frozenset[int]
    jams: dict[int, int]
    order: tuple[int, ...]
    counters: frozenset[tuple[int, int]]
    in_order: bool = False
    scans: bool = False
    versions: tuple[str, ...] = ()


def runs(program: Program, scop: Scop) -> tuple[Run, ...]:
    """Returns where a Program runs the statements of a SCoP, in the order of its text."""
    originals = {name: _original(program.scop.statements[name], scop) for name in program.scop.statements}
    found = []
    for instance, path in with_paths(program.body):
        name = originals[instance.statement]
        if name is not None:
            run = _run(name, instance, path, len(scop.statements[name].iterators))
            found.append(replace(run, versions=_versions(path, {p.name for p in program.scop.parameters})))
    return tuple(found)


def _versions(path: Sequence[Node], parameters: set[str]) -> tuple[str, ...]:
    """Returns the conditions of the guards among some nodes that have no names but those of parameters."""
    return tuple(str(node.condition) for node in path if isinstance(node, Guard) and node.condition.names <= parameters)


def _original(statement: Statement, scop: Scop) -> str | None:
    """Returns the statement of the SCoP that a Program's statement was made of; None for one that fills copies and the like.

    Passes name theirs after the statement whose place in the source and iterators they keep: S1_from_A_tile0, S5_of_s_partial.
    """
    if statement.name in scop.statements:
        return statement.name
    named = (name for name in scop.statements if statement.name.startswith((f"{name}_from_", f"{name}_of_")))
    return max(named, key=len, default=None)


def _run(name: str, instance: Instance, path: Sequence[Node], count: int) -> Run:
    lanes: dict[int, tuple[int, int]] = {}
    skewed: frozenset[int] = frozenset()
    jams: dict[int, int] = {}
    blocks: dict[str, int] = {}  # variables of loops over the first iterations of blocks that run together
    for node in path:
        if not isinstance(node, (Jam, Unroll)):
            continue
        moved = moving(instance, node.var, count)
        if len(moved) == 1:
            blocks.update(dict.fromkeys(node.base.names, moved[0]))
        if isinstance(node, Jam) and node.lanes > 1:
            lanes.update(dict.fromkeys(moved, (node.lanes, node.count)))
            skewed = frozenset(moved) if len(moved) > 1 else skewed
        elif len(moved) == 1:
            jams[moved[0]] = node.count
    counters = list(_counters(instance, path, count, blocks))
    order = [*(position for _, position in counters), *jams, *(p for p in lanes if p not in skewed)]
    variables = [node.var for node in path if isinstance(node, (Loop, Jam, Unroll))]
    any_moved = frozenset(position for var in variables for position in moving(instance, var, count))
    vectors = [node for node in path if isinstance(node, Jam) and node.lanes > 1]
    kept = any(node.in_order for node in vectors), any(node.scans for node in vectors)
    return Run(name, instance.statement, lanes, skewed, any_moved, jams, tuple(dict.fromkeys(order)), frozenset(counters), *kept)


def _counters(instance: Instance, path: Sequence[Node], count: int, blocks: Mapping[str, int]) -> Iterator[tuple[int, int]]:
    """Yields (identity of the loop, position of the iterator) of the loops over single iterations or blocks of them, outermost first."""
    for node in path:
        if isinstance(node, Loop) and node.role != "tile":
            position = blocks.get(node.var, counted(instance, node.var, count))
            if position is not None:
                yield id(node), position


def counted(instance: Instance, var: str, count: int) -> int | None:
    """Returns the position of the one iterator, of the first `count`, that changes with a variable; None where none or several do."""
    moved = moving(instance, var, count)
    return moved[0] if len(moved) == 1 else None


def moving(instance: Instance, var: str, count: int) -> tuple[int, ...]:
    """Returns the positions of the iterators, of the first `count`, that change with a variable."""
    return tuple(position for position, value in enumerate(instance.point[:count]) if var in value.names)


@dataclass(frozen=True)
class ArrayCopy:
    """A local array that the code generator made of another one: a packed tile, or partial results of threads.

    array: the array's name in the source.
    copy: the name of the copy.
    elements: how many elements the copy has in memory, by dimension; None where it has all of the array's.
    element_bytes: the size of one.
    """

    array: str
    copy: str
    elements: tuple[int | None, ...]
    element_bytes: int


def packed(program: Program) -> Iterator[ArrayCopy]:
    """Yields the copies of tiles that the Program fills before it reads them."""
    for name in program.scop.statements:
        if name.startswith("fill_"):
            yield _copy(program, name.removeprefix("fill_"), name)


def partial_results(program: Program) -> Iterator[ArrayCopy]:
    """Yields the arrays of which each thread has partial results."""
    for name, statement in program.scop.statements.items():
        if name.startswith("begin_") and name.removeprefix("begin_") == statement.write.array:
            joined = program.scop.statements.get(f"join_{statement.write.array}")
            if joined is not None:
                made = _copy(program, statement.write.array, name)
                array = program.scop.arrays[joined.write.array]
                yield ArrayCopy(array.source_name or array.name, made.copy, made.elements, made.element_bytes)


def _copy(program: Program, name: str, statement: str) -> ArrayCopy:
    made, window = program.scop.arrays[name], program.windows.get(name)
    source = made.source_name or next(iter(read.array for read in program.scop.statements[statement].reads), name)
    return ArrayCopy(source, name, () if window is None else window.lengths, made.element.size_bytes)
