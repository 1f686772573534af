"""The loops of a contraction with their roles and extents, and whether its panel runs along the result's rows or across them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, prod

import islpy as isl

from polyml import polyhedra
from polyml.machines.cpu import CpuMachine
from polyml.model.core.reductions import Reduction
from polyml.model.core.scop import Access, Scop, Statement
from polyml.schedule.analysis.contraction_roles import contraction_roles
from polyml.schedule.analysis.loop_roles import LoopRole
from polyml.schedule.analysis.strides import goes_to_neighbours, moves
from polyml.schedule.tiling.blocking import ContractionAxis, is_worth_blocks

ACROSS_CYCLES = 2.0  # of an element that lanes load and store across the rows it lies in
TURN_CYCLES = 2.5  # of an element that is transposed as it is copied
SHIFT_CYCLES = 0.3  # what an operation of a vector costs more where operands are read as they lie, elsewhere in each step
ACROSS_GAIN = 0.95  # cycles across the result's rows, against those along them, for which they are left


@dataclass(frozen=True)
class RowStrips:
    """The loop over strips of rows that nests share, and what is around it.

    rows: how many rows a strip has at most, a power of two.
    iterators: by statement, the iterator that counts rows.
    around: the loops around the one over strips, and that over blocks of columns; "S.i" is the loop over iterator i of statement S.
    block: { S[i] -> [(b)] }, the block of columns of each instance, where a strip runs in blocks of them.
    columns: by statement, the iterator that counts columns, and how many columns a block has.
    """

    rows: int
    iterators: Mapping[str, str]
    around: frozenset[str]
    block: isl.UnionPwAff | None = None
    columns: Mapping[str, tuple[str, int]] = field(default_factory=dict)

    def most(self, name: str, iterator: str) -> int | None:
        """Returns how many iterations a loop of a statement has at most inside a strip; None where strips do not tell."""
        if self.iterators.get(name) == iterator:
            return self.rows
        columns, width = self.columns.get(name, ("", 0))
        return width if columns == iterator else None


@dataclass(frozen=True)
class LayoutSetting:
    """The machine, sizes and limits by which contractions are laid out.

    scop: the SCoP whose statements the tree runs.
    machine: the CPU whose lanes, registers and caches count.
    sizes: values of parameters to choose block sizes by, or None; the layout is right for all other values too.
    reductions: by statement, the updates whose order is free.
    parallel: whether tiles may go to threads.
    grain: a power of two that tile sizes divide or are multiples of (see `BlockingSetting`).
    strips: the strips of rows that the contractions are in; None: they are in none.
    """

    scop: Scop
    machine: CpuMachine
    sizes: Mapping[str, int] | None
    reductions: Mapping[str, Reduction]
    parallel: bool
    grain: int = 1
    strips: RowStrips | None = None

    @property
    def around(self) -> frozenset[str]:
        """Returns the loops around all contractions; "S.i" is the loop over iterator i of statement S."""
        return frozenset() if self.strips is None else self.strips.around

    def extent(self, statement: Statement, iterator: str) -> int | None:
        """Returns about how many iterations a loop has, of a strip where it counts its rows; None where there are no sizes."""
        found = _extent(statement, statement.iterators.index(iterator), self.sizes)
        most = None if self.strips is None else self.strips.most(statement.name, iterator)
        return found if found is None or most is None else min(found, most)


@dataclass(frozen=True)
class ContractionShape:
    """The roles that a statement's loops have as a contraction.

    axes: the loops with their roles; None where the nest is no contraction.
    across: the reason why the panel (the loop of the vectors) does not run along the result's rows; "" where it does.
    """

    axes: tuple[ContractionAxis, ...] | None
    across: str = ""


def contraction_shape(
    statement: Statement, free: Sequence[str], coincident: frozenset[str], setting: LayoutSetting
) -> ContractionShape:
    """Returns the roles of a statement's loops as a contraction, or a shape without axes where it is none that is worth blocks.

    free: the iterators of the loops that belong to the contraction.
    coincident: those of the loops that carry no dependence.
    """
    along = contraction_roles(statement, free)
    if along is None:
        return ContractionShape(None)
    extents = {it: setting.extent(statement, it) for it in free}
    roles, across = _roles(statement, along, extents, setting)
    if not any(it in coincident for it, role in roles.items() if role is not LoopRole.DEPTH):
        return ContractionShape(None, across)
    positions = [statement.iterators.index(it) for it in free]
    axes = tuple(
        ContractionAxis(
            it,
            roles[it],
            extents[it],
            stride=_place(statement.write, p),
            unit=_is_unit(statement, p),
            parallel=it in coincident,
            leans=not polyhedra.is_product(statement.domain, [p]),
            ordered=roles[it] is LoopRole.DEPTH and statement.name not in setting.reductions,
        )
        for it, p in zip(free, positions)
    )
    return ContractionShape(axes if is_worth_blocks(axes) else None, across)


def _roles(
    statement: Statement, along: dict[str, LoopRole], extents: Mapping[str, int | None], setting: LayoutSetting
) -> tuple[dict[str, LoopRole], str]:
    """Returns the role of each loop, and why the panel runs across the result's rows ("" where it runs along them).

    The panel is the loop of the vectors. It runs across the rows where these are short and a model of cycles says that it pays.

    along: the roles with the panel along the result's rows.
    extents: iterations of the loops, None where no sizes are known.
    """
    count = {it: extent for it, extent in extents.items() if extent}
    if len(count) < len(extents):
        return along, ""
    free = [*count]
    lanes = setting.machine.lanes(setting.scop.arrays[statement.write.array].element.size_bytes)
    used = {it: n / (ceil(n / lanes) * lanes) for it, n in count.items()}
    depth = prod(count[it] for it in free if along[it] is LoopRole.DEPTH)
    panel = next(it for it in free if along[it] is LoopRole.PANEL)
    other = max((it for it in free if along[it] is LoopRole.ROWS), key=lambda it: (used[it], count[it]))
    across = contraction_roles(statement, free, other) if used[panel] < used[other] else None
    if across is None:
        return along, ""
    uses = prod(count[it] for it in free if across[it] is LoopRole.ROWS)
    shifts = SHIFT_CYCLES if _shifts(statement, panel, [it for it in free if along[it] is LoopRole.DEPTH]) else 0.0
    cost = 0.5 / used[other] + lanes * (ACROSS_CYCLES / depth + TURN_CYCLES / uses)
    other_cost = 0.5 / used[panel] + shifts
    if cost >= ACROSS_GAIN * other_cost:
        return along, ""
    return across, f"panel across the result's rows of {count[panel]}: {cost:.2f} against {other_cost:.2f} cycles per vector"


def _extent(statement: Statement, position: int, sizes: Mapping[str, int] | None) -> int | None:
    """Returns about how many iterations a statement's loop has at the given sizes; None where there are no sizes.

    position: the loop's iterator in the statement's domain.
    """
    if sizes is None:
        return None
    domain = polyhedra.fix(statement.domain, sizes)
    return polyhedra.length(domain, position)


def _shifts(statement: Statement, panel: str, depth: Sequence[str]) -> bool:
    """Returns whether a subscript of an operand, such as i + k of an image under a filter, has both `panel` and a loop of `depth`.

    The operand's vectors then begin at other elements in each step, so it is read from its array, not from a packed copy.

    panel: the loop of the vectors. depth: the loops that are added up.
    """
    position, others = statement.iterators.index(panel), [statement.iterators.index(it) for it in depth]
    pieces = (piece for access in statement.reads for found in access.coefficients for piece in found)
    return any(piece[position] and any(piece[d] for d in others) for piece in pieces)


def _place(write: Access, position: int) -> int:
    """Returns which dimension of the result has an iterator in its subscript, counted from the last one (0); -1 where none has.

    position: that of the iterator in the statement's domain.
    """
    for k, pieces in enumerate(reversed(write.coefficients)):
        if any(piece[position] for piece in pieces):
            return k
    return -1


def _is_unit(statement: Statement, position: int) -> bool:
    """Returns whether neighbouring iterations of a loop read neighbouring elements of a row of some operand.

    position: that of the loop's iterator in the statement's domain.
    """
    return any(goes_to_neighbours(a, [position]) and not moves(a, [position], slice(0, -1)) for a in statement.reads)
