"""A contraction with its companions, the statements that access each element of its result once.

C[i, j] = 0;   for k: C[i, j] += A[i, k]*B[k, j];   C[i, j] += bias[j]        the first and the last are companions
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from polyml.model.core.scop import Statement
from polyml.schedule.analysis.loop_roles import LoopRole
from polyml.schedule.tiling.blocking import Blocks, ContractionAxis
from polyml.schedule.tiling.contraction_tree import ends_of, origin_of


@dataclass(frozen=True)
class Companion:
    """A companion is a statement that accesses each element of a contraction's result once, such as an initialisation or a bias.

    statement: the companion itself.
    along: the contraction's iterators that subscript its result -> the iterators of this statement in the same subscripts.
    """

    statement: Statement
    along: Mapping[str, str]


@dataclass(frozen=True)
class Contraction:
    """A contraction is a statement that multiplies and adds, with its companions: statements that access each result element once.

    main: the statement that multiplies and adds.
    axes: its loops with their roles.
    before, after: the companions that run before and after it, in their order.
    """

    main: Statement
    axes: tuple[ContractionAxis, ...]
    before: tuple[Companion, ...] = ()
    after: tuple[Companion, ...] = ()

    @property
    def statements(self) -> tuple[Statement, ...]:
        return (*(c.statement for c in self.before), self.main, *(c.statement for c in self.after))

    def names(self, statement: Statement) -> Mapping[str, str]:
        """Returns, for the main statement or a companion: iterator of the contraction -> iterator of that statement."""
        companion = next((c for c in (*self.before, *self.after) if c.statement is statement), None)
        return {a.name: a.name for a in self.axes} if companion is None else companion.along


def companion(statement: Statement, main: Statement, axes: Sequence[ContractionAxis]) -> Companion | None:
    """Returns the statement as a companion of `main`; None where it does not access each element of the result of `main` once.

    axes: the loops of `main` with their roles.
    """
    free = [a.name for a in axes if a.role is not LoopRole.DEPTH]
    for access in (statement.write, *statement.reads):
        if access.array != main.write.array or len(access.subscripts) != len(main.write.subscripts):
            continue
        along = {}
        for own, other in zip(main.write.coefficients, access.coefficients):
            mine, its = _single(main, own), _single(statement, other)
            if mine in free and its is not None:
                along[mine] = its
        if set(along) == set(free) and len(set(along.values())) == len(free):
            return Companion(statement, along)
    return None


def _single(statement: Statement, found: Sequence[tuple[int | Fraction, ...]]) -> str | None:
    """Returns the name of the iterator where a subscript is one iterator or its negative, plus a constant; None for any other.

    found: for each case of a subscript defined by cases, the coefficients of the statement's iterators, in their order.
    """
    moving = [k for k, c in enumerate(found[0]) if c] if len(found) == 1 else []
    return statement.iterators[moving[0]] if len(moving) == 1 and found[0][moving[0]] in (1, -1) else None


def in_one_block(found: Contraction, made: Blocks) -> bool:
    """Returns whether the contraction's whole depth is in one block: no loop over tiles goes along it."""
    return not _blocked_depth(found, made)


def _blocked_depth(found: Contraction, made: Blocks) -> list[str]:
    """Returns the iterators of the depth along which a loop over tiles goes."""
    depth = {a.name for a in found.axes if a.role is LoopRole.DEPTH}
    tiles = (*made.outer, *(() if made.shared is None else (made.shared,)), *made.inner)
    return [name for name, _ in tiles if name in depth]


def begins_and_ends(found: Contraction, made: Blocks) -> bool:
    """Returns whether the first and the last block of the depth are known, in which companions run."""
    return all(origin_of(found.main, name) == "0" and ends_of(found.main, name) for name in _blocked_depth(found, made))


def ends_of_depth(found: Contraction, made: Blocks) -> dict[str, tuple[str, str]]:
    """Returns, for each loop over blocks of the depth, its first and last iteration, as isl texts; {} where there are no companions."""
    if len(found.statements) == 1:
        return {}
    return {name: ends for name in _blocked_depth(found, made) if (ends := ends_of(found.main, name))}
