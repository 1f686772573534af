"""Copies in words: where an instruction adds up products of several small numbers, the factors of each lane lie side by side.

for k: for j: C[i, j] += int32(A[i, k])*int32(B[k, j])   ->   B_0[k, j] at [k - r, 4*j + r], r = k mod 4: a word for each j

The factors that all lanes share are words too: neighbours in a copy's rows, or, where the array's rows lie across the sum (`A.T @ B`),
in a copy in words like the other one, which is filled row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from polyml.codegen.analysis.access_boxes import all_multiples
from polyml.codegen.dot_products.instructions import use
from polyml.codegen.dot_products.products import Product, product
from polyml.codegen.ir.program import Loop
from polyml.codegen.passes.packing import storage
from polyml.codegen.passes.packing.copies import PackingContext, TileCopy, TileRead
from polyml.model.core.scop import Load
from polyml.quasi_affine.affine import variable


@dataclass(frozen=True)
class _Word:
    """A _Word is a word of a copy.

    dim: the dimension of the array along which its elements are.
    length: their number.
    loop: the variable of the loop that goes through them.
    """

    dim: int
    length: int
    loop: str


def in_words(context: PackingContext, copies: Sequence[TileCopy]) -> list[TileCopy]:
    """Returns the copies; those that hold the factors of an instruction's lanes are stored in words, and those that hold the factors
    which all lanes share along the same loop.
    """
    made = [*copies]
    for number, copy in enumerate(copies):
        word = _word(context, copy, made)
        if word is None:
            continue
        others = tuple(d for d in copy.order[:-1] if d != word.dim)
        made[number] = replace(copy, order=(*others, word.dim, copy.order[-1]), word=word.length)
        for place, other in enumerate(made):
            if other is not made[number]:
                made[place] = _shared(context, copy, other, word)
    return made


def wants_words(context: PackingContext, copy: TileCopy, read: TileRead) -> bool:
    """Returns whether an instruction wants the copy in words for the read, without a copy of the other factors."""
    return isinstance(copy.value, Load) and _word_of(context, copy, read, ()) is not None


def _word(context: PackingContext, copy: TileCopy, copies: Sequence[TileCopy]) -> _Word | None:
    """Returns the words of the copy that an instruction of the machine wants; None if there is none, or it is not proved that all
    reads of the copy are of whole words in lanes.

    copies: all copies that are made for the nest.
    """
    if not isinstance(copy.value, Load) or not copy.reads:
        return None
    found = {_word_of(context, copy, read, copies) for read in copy.reads}
    return found.pop() if len(found) == 1 else None


def _word_of(context: PackingContext, copy: TileCopy, read: TileRead, copies: Sequence[TileCopy]) -> _Word | None:
    """Returns the word that an instruction wants for one read of the copy, or None."""
    term = _product(context, read)
    other = None if term is None else term.other(read.number)
    if term is None or other is None or not storage.is_along_row(context, copy, read):
        return None
    way = use(context.machine, term.result, term.type_of(read.number), term.type_of(other))
    subscripts, shared = context.subscripts(read), context.tests.subscripts((read.statement.reads[other], read.instance))
    column = copy.order[-1]
    lane = next((loop.var for loop in read.loops if subscripts[column] == variable(loop.var)), None)
    if way is None or lane is None or any(lane in e.names for e in shared):
        return None
    written = {name for e in context.written(read) for name in e.names}
    length = way.instruction.length
    for dim, e in enumerate(subscripts):
        loop = next((loop for loop in read.loops if e == variable(loop.var)), None)
        if (
            dim == column
            or loop is None
            or loop.var in written
            or any(loop.var in o.names for d, o in enumerate(subscripts) if d != dim)
        ):
            continue
        if _begins_words(copy, read, loop, dim, length) and _lies_along(context, read, other, loop.var, copies):
            return _Word(dim, length, loop.var)
    return None


def _product(context: PackingContext, read: TileRead) -> Product | None:
    """Returns the product that the read's statement adds to a sum, or None."""
    program = context.program
    return product(read.statement, program.reductions.get(read.statement.name), program.scop.arrays)


def _begins_words(copy: TileCopy, read: TileRead, loop: Loop, dim: int, length: int) -> bool:
    """Returns whether it is proved that the loop, which goes along the dimension, begins with a word of the copy."""
    return (
        loop.step == 1
        and not loop.last
        and all(all_multiples(low - copy.window.low[dim], length, read.around) for low in loop.lower)
    )


def _lies_along(context: PackingContext, read: TileRead, other: int, loop: str, copies: Sequence[TileCopy]) -> bool:
    """Returns whether the shared factors of successive iterations of the loop are neighbours in memory, or in their copy once its
    dimensions are reordered.

    other: the position of the shared factor among the statement's reads.
    """
    shared = context.tests.subscripts((read.statement.reads[other], read.instance))
    moving = [d for d, e in enumerate(shared) if loop in e.names]
    if len(moving) != 1 or shared[moving[0]].coefficient(loop) != 1:
        return False
    copy = next((c for c in copies for r in c.reads if (r.position, r.number) == (read.position, other)), None)
    if copy is None:
        return context.unit_dim(read.statement.reads[other].array) == moving[0]
    return copy.order[-2] == moving[0] if copy.word > 1 else copy.order[-1] == moving[0] or len(copy.reads) == 1


def _shared(context: PackingContext, copy: TileCopy, other: TileCopy, word: _Word) -> TileCopy:
    """Returns another copy than the one in words, so stored that the factors which lanes share go along the words' loop: in words
    where the array's rows lie across that loop, else in rows. It is as it was if it has no such factors.
    """
    for read in copy.reads:
        term = _product(context, read)
        number = None if term is None else term.other(read.number)
        for theirs in other.reads:
            if (theirs.position, theirs.number) != (read.position, number) or other.word > 1:
                continue
            dim = next(d for d, e in enumerate(context.subscripts(theirs)) if word.loop in e.names)
            unit = context.unit_dim(other.window.array)
            if unit not in (None, dim) and all(_has_words(context, other, each, dim, word) for each in other.reads):
                others = tuple(d for d in other.order if d not in (dim, unit))
                return replace(other, order=(*others, dim, unit), panel=None, word=word.length)
            return (
                other if dim == other.order[-1] else replace(other, order=(*(d for d in other.order if d != dim), dim), panel=None)
            )
    return other


def _has_words(context: PackingContext, copy: TileCopy, read: TileRead, dim: int, word: _Word) -> bool:
    """Returns whether it is proved that a loop along the dimension reads whole words of the copy."""
    e = context.subscripts(read)[dim]
    loop = next((loop for loop in read.loops if e == variable(loop.var)), None)
    return isinstance(copy.value, Load) and loop is not None and _begins_words(copy, read, loop, dim, word.length)
