"""Loops whose iterations go through the words of an array (`Window.word`), so that an instruction may compute several at once."""

from __future__ import annotations

from collections.abc import Iterator

from polyml.codegen.analysis.access_boxes import all_multiples
from polyml.codegen.analysis.loop_nest import LoopNest
from polyml.codegen.dot_products.instructions import use
from polyml.codegen.dot_products.products import product
from polyml.codegen.dot_products.word_loop import WordLoop
from polyml.codegen.ir.program import Instance
from polyml.machines.cpu import CpuMachine
from polyml.model.core.scop import Load, Statement
from polyml.quasi_affine.affine import Affine


def word_loops(nest: LoopNest, machine: CpuMachine) -> tuple[WordLoop, ...]:
    """Returns the loops of a nest whose iterations may run a word at a time: at most one, for a nest around one instance."""
    if len(nest.body) != 1 or not isinstance(nest.body[0], Instance) or machine.vector_bytes < 16:
        return ()
    statement = nest.program.scop.statements[nest.body[0].statement]
    found = [*_of_sums(nest, statement, machine), *_of_copies(nest, statement, machine)]
    return tuple(found)


def _of_sums(nest: LoopNest, statement: Statement, machine: CpuMachine) -> Iterator[WordLoop]:
    """Yields the loop along the words of the factors of a product that the statement adds to a sum."""
    program = nest.program
    term = product(statement, program.reductions.get(statement.name), program.scop.arrays)
    for read in () if term is None else term.reads:
        other = None if term is None else term.other(read)
        place = _place(nest, statement.reads[read].array, _subscripts(nest, read))
        if term is None or other is None or place is None:
            continue
        loop, vector, length = place
        way = use(machine, term.result, term.type_of(read), term.type_of(other))
        shared, written = _subscripts(nest, other), _subscripts(nest, len(statement.reads))
        fixed = all(nest.chain[loop].var not in e.names for e in written) and nest.chain[vector].var in written[-1].names
        if way is None or way.instruction.length != length or not fixed or not _is_shared(nest, shared, loop, vector):
            continue
        if _in_same_words(nest, statement.reads[other].array, shared, loop, length):
            yield WordLoop(loop, vector, length, machine.vector_bytes // term.result.size_bytes, way)


def _is_shared(nest: LoopNest, subscripts: tuple[Affine, ...], loop: int, vector: int) -> bool:
    """Returns whether a factor is the same for all lanes, and moves by one element with each iteration of the loop of words."""
    moves = [e.coefficient(nest.chain[loop].var) for e in subscripts]
    return not any(nest.chain[vector].var in e.names for e in subscripts) and sorted(map(str, moves)) == sorted(
        ["1", *["0"] * (len(moves) - 1)]
    )


def _in_same_words(nest: LoopNest, array: str, subscripts: tuple[Affine, ...], loop: int, length: int) -> bool:
    """Returns whether an array of shared factors has no words, or whole ones of this length along the loop."""
    window = nest.program.windows.get(array)
    if window is None or window.word == 1:
        return True
    place = _place(nest, array, subscripts)
    return place is not None and (place[0], place[2]) == (loop, length)


def _of_copies(nest: LoopNest, statement: Statement, machine: CpuMachine) -> Iterator[WordLoop]:
    """Yields the loop along the words of the array that the statement fills with elements of another one."""
    array = statement.write.array
    place = _place(nest, array, _subscripts(nest, len(statement.reads)))
    if place is None or not isinstance(statement.value, Load) or array in {read.array for read in statement.reads}:
        return
    loop, vector, length = place
    word_bytes = length * nest.program.scop.arrays[array].element.size_bytes
    yield WordLoop(loop, vector, length, machine.vector_bytes // word_bytes, None)


def _subscripts(nest: LoopNest, number: int) -> tuple[Affine, ...]:
    """Returns the subscripts of an access of the nest's only instance, whose write comes behind the reads."""
    return nest.accesses()[number].subscripts


def _place(nest: LoopNest, array: str, subscripts: tuple[Affine, ...]) -> tuple[int, int, int] | None:
    """Returns (the position of the loop along the words of the array, that of the loop along its last dimension, the length of a
    word); None for arrays without words, and where words are not proved to begin where the loop does.
    """
    window = nest.program.windows.get(array)
    if window is None or window.word == 1:
        return None
    around = (*nest.shared, *nest.chain)
    *others, row, column = subscripts
    found = []
    for e, rest in ((row, (*others, column)), (column, (*others, row))):
        along = [v for v, each in enumerate(nest.chain) if each.step == 1 and e.coefficient(each.var) == 1]
        along = [v for v in along if not any(nest.chain[v].var in r.names for r in rest)]
        if len(along) != 1:
            return None
        found.append(along[0])
    loop = nest.chain[found[0]]
    before = (low + (row.substitute({loop.var: Affine(0)}) - window.low[-2]) for low in loop.lower)
    return (found[0], found[1], window.word) if all(all_multiples(e, window.word, around) for e in before) else None
