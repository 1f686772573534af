"""A contraction with its companions, the statements that access each element of its result once.

C[i, j] = 0;   for k: C[i, j] += A[i, k]*B[k, j];   D[i, j] = C[i, j] + bias[j];   E[i, j] = max(D[i, j], 0)      all but one are companions
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from polyml.model.core.scop import Access, Statement
from polyml.schedule.analysis.loop_roles import LoopRole
from polyml.schedule.tiling.blocking import Blocks, ContractionAxis
from polyml.schedule.tiling.contraction_tree import ends_of, origin_of


@dataclass(frozen=True)
class Companion:
    """A companion is a statement that accesses each element of a contraction's result once, such as an initialisation or a bias, or
    of an array that another companion makes of it.

    statement: the companion itself.
    along: the contraction's iterators that subscript its result -> the iterators of this statement that count the same elements.
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


def companion(statement: Statement, found: Contraction) -> Companion | None:
    """Returns the statement as one more companion of a contraction; None where it is none.

    It is one where it accesses each element of the result once, or of an array that a companion makes of the result, or from
    which one makes it.

    found: the contraction with the companions that stand between it and the statement.
    """
    free = [a.name for a in found.axes if a.role is not LoopRole.DEPTH]
    for known in found.statements:
        names = {its: mine for mine, its in found.names(known).items()}
        for given in (known.write, *known.reads) if known is not found.main else (known.write,):
            for access in (statement.write, *statement.reads):
                along = _aligned(known, given, statement, access)
                mine = {names[own]: its for own, its in along.items() if names.get(own) in free}
                if set(mine) == set(free) and len(set(mine.values())) == len(free):
                    return Companion(statement, mine)
    return None


def _aligned(statement: Statement, access: Access, other: Statement, its: Access) -> dict[str, str]:
    """Returns, where both access one array: iterator of the one statement -> iterator of the other in the same subscript."""
    if access.array != its.array or len(access.subscripts) != len(its.subscripts):
        return {}
    pairs = ((_single(statement, a), _single(other, b)) for a, b in zip(access.coefficients, its.coefficients))
    return {a: b for a, b in pairs if a is not None and b is not None}


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
