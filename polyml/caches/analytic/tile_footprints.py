"""The elements and lines of each array that one tile of some loops uses, as formulas in which tile sizes may be names."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import islpy as isl

from polyml import polyhedra
from polyml.caches.analytic import line_runs
from polyml.caches.analytic.footprint_measure import Footprint, Measure, accessed_elements, unused_name
from polyml.codegen.ir.array_layout import placed_whole
from polyml.errors import ScheduleError
from polyml.model.core.scop import Scop
from polyml.schedule.tree import loop_tree as loops
from polyml.schedule.tree.loop_tree import Node


@dataclass(frozen=True)
class Tile:
    """A Tile holds the elements and cache lines that one tile of some loops uses of each array, as formulas.

    sizes: {loop: how many of its iterations the tile has, a number or a name}.
    statements: those that run in the tile.
    interior: footprints of a full tile. The formulas may contain sizes, the names in `sizes`, and the names of loops, each of which
        stands for the first iteration in the tile; `i_8` stands for that of loop i divided by 8, the number of elements in a line.
    seconds: how long it took to find them.
    """

    sizes: Mapping[str, int | str]
    statements: tuple[str, ...]
    interior: tuple[Footprint, ...]
    line_bytes: int
    seconds: float = field(compare=False)

    def lines(self, values: Mapping[str, int]) -> int | None:
        """Returns the number of lines of all arrays in a full tile; None where some are not counted.

        values: of all names in the formulas: sizes, tile sizes and first iterations.
        """
        counts = [f.lines.count for f in self.interior if f.lines.count is not None]
        return None if len(counts) < len(self.interior) else sum(each.evaluate(values) for each in counts)


def tile(
    scop: Scop,
    sizes: Mapping[str, int | str],
    schedule: isl.Schedule | None = None,
    *,
    statements: Sequence[str] = (),
    line_bytes: int = 64,
    seconds: float = 0.5,
) -> Tile:
    """Returns the elements and lines of each array that one tile of some loops uses, as formulas.

    The tile is taken to begin, in each loop, at a multiple of the number of elements in a cache line.

    sizes: {loop: how many of its iterations the tile has}; of a loop that is left out, the tile has all iterations.
    schedule: by default the source's order.
    statements: those in the tile; by default all that are inside one of the loops in `sizes`.
    seconds: about how long one formula may take.

    Raises ScheduleError for a loop that does not exist.
    """
    start = time.perf_counter()
    around = _around(loops.read(scop.schedule if schedule is None else schedule, scop.statements))
    unknown = sizes.keys() - {name for each in around.values() for name in each}
    if unknown:
        raise ScheduleError(f"there is no loop `{min(unknown)}` to tile")
    chosen = {s: each for s, each in around.items() if (s in statements if statements else each.keys() & sizes.keys())}
    measure = Measure(line_bytes, None, None, (), seconds)
    elements, context = _interior(scop, chosen, sizes, 1)
    found = []
    for name, used in elements.items():
        array = scop.arrays[name]
        per_line = max(1, line_bytes // array.element.size_bytes)
        in_lines, there = _interior(scop, chosen, sizes, per_line)
        lines = measure.lines(array, in_lines[name], there)
        found.append(
            replace(measure.footprint(array, used, context), lines=replace(lines, assumes=f"{lines.assumes}, and so do tiles"))
        )
    return Tile(dict(sizes), tuple(chosen), tuple(found), line_bytes, time.perf_counter() - start)


def tile_at(
    scop: Scop, sizes: Mapping[str, int], first: Mapping[str, int], parameters: Mapping[str, int], *, line_bytes: int = 64
) -> dict[str, tuple[int, int]]:
    """Returns {array: (elements, lines)}, the exact numbers that one tile of the loops in the source's order uses.

    sizes: by loop, how many of its iterations the tile has.
    first: by loop, where the tile begins; the ends of loops may cut it off.
    parameters: the sizes of the kernel.

    Raises CannotCount where the elements have too many rows.
    """
    around = _around(loops.read(scop.schedule, scop.statements))
    chosen = [s for s, each in around.items() if each.keys() & sizes.keys()]
    bounds = {name: f"{{ [v] : {first[name]} <= v < {first[name] + size} }}" for name, size in sizes.items()}
    instances = {
        s: polyhedra.within_bounds(
            polyhedra.fix(scop.statements[s].domain, parameters),
            [member for name, member in around[s].items() if name in bounds],
            [bounds[name] for name in around[s] if name in bounds],
        )
        for s in chosen
    }
    where = placed_whole(scop, parameters)
    found = {}
    for array, elements in accessed_elements(scop, instances).items():
        here = polyhedra.at_sizes(elements, parameters)
        found[array] = here.count_val().to_python(), line_runs.lines([(here, where[array])], line_bytes)
    return found


def _around(tree: Node) -> dict[str, dict[str, isl.PwAff]]:
    """Returns {statement: {name of a loop around it: the loop's iterator}}; an iterator is { S[i] -> [e] }, an expression e of
    those of the statement.
    """
    found: dict[str, dict[str, isl.PwAff]] = {name: {} for name in loops.statements(tree)}
    for _, loop in loops.loops(tree):
        for piece in loops.pieces(loop.member):
            found[piece.domain().get_tuple_name()][loop.name] = piece
    return found


def _interior(
    scop: Scop, around: Mapping[str, Mapping[str, isl.PwAff]], sizes: Mapping[str, int | str], step: int
) -> tuple[dict[str, isl.Set], isl.Set]:
    """Returns (elements, context): the set of elements of each array that a full tile uses, and { : constraints on parameters }
    under which the tile is full.

    around: {statement: {name of a loop around it: the loop's iterator}}; an iterator is { S[i] -> [e] }, an expression e of those
        of the statement.
    sizes: {loop: how many of its iterations the tile has}.
    step: in each loop the tile begins at `step` times a parameter of the set; it is named after the loop, such as `i` for a step of
        1, or `i_8` for a step of 8.
    """
    taken = {*polyhedra.parameter_names(scop.checked), *(size for size in sizes.values() if isinstance(size, str))}
    firsts = {name: unused_name(name if step == 1 else f"{name}_{step}", taken) for name in sizes}
    names = [*firsts.values(), *dict.fromkeys(size for size in sizes.values() if isinstance(size, str))]
    header = f"[{', '.join(names)}] -> "

    def bounds(loop: str, value: str) -> str:
        return f"{step} {firsts[loop]} <= {value} < {step} {firsts[loop]} + {sizes[loop]}"

    positive = " and ".join(f"{size} >= 1" for size in sizes.values() if isinstance(size, str))
    context = scop.checked.intersect(isl.Set(f"{header}{{ : {positive or 'true'} }}"))
    instances = {}
    for statement, members in around.items():
        mine = [name for name in members if name in sizes]
        values = [members[name] for name in mine]
        everywhere, inside = polyhedra.separate_bounds(scop.statements[statement].domain, values)
        instances[statement] = polyhedra.within_bounds(
            everywhere, values, [f"{header}{{ [v] : {bounds(name, 'v')} }}" for name in mine]
        )
        dims = [f"v{k}" for k in range(len(mine))]
        box = " and ".join(bounds(name, dim) for name, dim in zip(mine, dims))
        whole = isl.Set(f"{header}{{ [{', '.join(dims)}] : {box or 'true'} }}")
        context = context.subtract(whole.subtract(inside).params())
    return accessed_elements(scop, instances), context
