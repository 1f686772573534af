"""Footprints: the elements and cache lines of each array that a kernel uses, or one iteration of some of its loops.

They are formulas of sizes, and numbers for given sizes. What several references to an array use is united. Lines are counted by
formulas where rows of arrays begin on lines, and by addresses for given sizes where they do not.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce

import islpy as isl

from polyml import polyhedra
from polyml.caches.analytic import line_runs
from polyml.caches.analytic.footprint_measure import Amount, Footprint, Measure, accessed_elements, unused_name
from polyml.codegen.ir.array_layout import Placed, placed_whole
from polyml.machines.cpu import CacheLevel
from polyml.model.core.scop import Scop
from polyml.schedule.tree import loop_tree as loops
from polyml.schedule.tree.loop_tree import Block, Loop, Node


@dataclass(frozen=True)
class IterationFootprints:
    """IterationFootprints are what one iteration of each of some loops, or the whole kernel, uses of each array.

    loops: their names, the outermost first; () for the whole kernel.
    statements: those that run in the iteration.
    footprints: one for each array that it uses.
    seconds: how long it took to find them.
    """

    loops: tuple[str, ...]
    statements: tuple[str, ...]
    footprints: tuple[Footprint, ...]
    line_bytes: int
    seconds: float = field(compare=False)

    @property
    def depth(self) -> int:
        """Returns the number of loops around the iteration; 0 for the whole kernel."""
        return len(self.loops)

    @property
    def lines(self) -> int | None:
        """Returns the number of cache lines of all arrays, for the given sizes; None where some are not known."""
        values = [f.lines.value for f in self.footprints if f.lines.value is not None]
        return sum(values) if len(values) == len(self.footprints) else None

    def share(self, cache: CacheLevel) -> float | None:
        """Returns the fraction of a cache that the lines of all arrays fill; None where their number is not known."""
        return None if self.lines is None else self.lines * self.line_bytes / cache.size_bytes


def footprints(
    scop: Scop,
    schedule: isl.Schedule | None = None,
    sizes: Mapping[str, int] | None = None,
    *,
    line_bytes: int = 64,
    places: Mapping[str, Placed] | None = None,
    seconds: float = 0.05,
) -> tuple[IterationFootprints, ...]:
    """Returns the elements and cache lines that the whole kernel uses of each array, then those that one iteration of each loop
    uses, outer loops first.

    Arrays that are local to the kernel are counted as if all of their elements were in memory.

    schedule: { S[i] -> [time] } as a tree of loops; by default the source's order.
    sizes: values of the parameters, where numbers are wanted besides formulas.
    places: the addresses of the arrays; by default one array follows the other, each beginning on a new line.
    seconds: about how long one formula may take. Where it takes longer, there is no formula, but the number for one iteration, with
        iterators near the middle of their ranges; without sizes there is an upper bound as a formula.

    Raises ScheduleError for a schedule that is no tree of loops.
    """
    tree = loops.read(scop.schedule if schedule is None else schedule, scop.statements)
    where = None if sizes is None else places or placed_whole(scop, sizes)
    return tuple(
        _measured(scop, part, Measure(line_bytes, sizes, where, part.names, seconds)) for part in _parts(tree, scop.domain)
    )


@dataclass(frozen=True)
class Compulsory:
    """A Compulsory holds the numbers of cache lines that a whole kernel uses, each of which misses once.

    lines: by array.
    total: for the given sizes; a line that two arrays share counts once. None where it is not known.
    """

    lines: dict[str, Amount]
    total: int | None


def compulsory(
    scop: Scop,
    sizes: Mapping[str, int] | None = None,
    *,
    line_bytes: int = 64,
    places: Mapping[str, Placed] | None = None,
    seconds: float = 0.05,
) -> Compulsory:
    """Returns how many cache lines the whole kernel uses: its compulsory misses. The arguments are those of `footprints`."""
    where = None if sizes is None else places or placed_whole(scop, sizes)
    level = _measured(scop, _KernelPart((), (), scop.domain), Measure(line_bytes, sizes, where, (), seconds))
    lines = {each.array: each.lines for each in level.footprints}
    if sizes is None or where is None or all(where[array].address % line_bytes == 0 for array in lines):
        return Compulsory(lines, level.lines)
    used = accessed_elements(scop, {name: statement.domain for name, statement in scop.statements.items()})
    numbers = {array: polyhedra.at_sizes(elements, sizes) for array, elements in used.items()}
    return Compulsory(lines, line_runs.lines([(elements, where[array]) for array, elements in numbers.items()], line_bytes))


@dataclass(frozen=True)
class _KernelPart:
    """A _KernelPart is one iteration of some loops around each other, or the whole kernel, whose footprints are counted.

    loops: the names of the loops, the outermost first; () for the whole kernel.
    names: for each of them, the parameter that stands for its iterator.
    instances: [names] -> { S[i] }, those that run in the iteration.
    """

    loops: tuple[str, ...]
    names: tuple[str, ...]
    instances: isl.UnionSet


def _parts(tree: Node, domain: isl.UnionSet) -> Iterator[_KernelPart]:
    """Yields the whole kernel, then one iteration of each loop, outer loops first."""
    taken = {name for piece in polyhedra.pieces(domain) for name in polyhedra.parameter_names(piece)}

    def inside(node: Node, part: _KernelPart) -> Iterator[_KernelPart]:
        if isinstance(node, Block):
            for each in node.parts:
                yield from inside(each.body, _KernelPart(part.loops, part.names, part.instances.intersect(each.instances)))
        elif isinstance(node, Loop):
            name = unused_name(node.name, {*taken, *part.names})
            here = polyhedra.where_equal(part.instances, [loops.on(node.member, loops.statements(node.body))], [name])
            own = _KernelPart((*part.loops, node.name), (*part.names, name), here)
            yield own
            yield from inside(node.body, own)

    whole = _KernelPart((), (), domain)
    yield whole
    yield from inside(tree, whole)


def _measured(scop: Scop, part: _KernelPart, measure: Measure) -> IterationFootprints:
    """Returns the footprints of a part of the kernel, and how long it took to find them."""
    start = time.perf_counter()
    instances = {s.get_tuple_name(): s for s in polyhedra.pieces(part.instances) if not s.is_empty()}
    context = reduce(isl.Set.intersect, (s.params() for s in instances.values()), scop.checked)
    found = tuple(
        measure.footprint(scop.arrays[array], elements, context) for array, elements in accessed_elements(scop, instances).items()
    )
    return IterationFootprints(part.loops, tuple(instances), found, measure.line_bytes, time.perf_counter() - start)
