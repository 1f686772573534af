"""Footprints: the elements and lines of each array that parts of a kernel use, as formulas of sizes and as numbers.

A part is the whole kernel, or one iteration of some loops of its schedule (`footprints`), or one tile of loops in the source's
order, for tile sizes that may be names (`tile`). What several references to an array use is united.

Lines are counted by formulas where rows of arrays begin on lines, and by addresses for given sizes where they do not.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from math import lcm

import islpy as isl

from polyml import polyhedra
from polyml.caches.analytic import line_runs
from polyml.codegen.ir.array_layout import Placed, in_memory, placed_whole
from polyml.errors import ScheduleError
from polyml.machines.cpu import CacheLevel
from polyml.model.core.scop import Array, Scop
from polyml.model.counting.cardinality import CannotCount, Count, count
from polyml.model.counting.quasi_polynomial import Poly
from polyml.polyhedra import BudgetExceeded
from polyml.schedule.tree import loop_tree as loops
from polyml.schedule.tree.loop_tree import Block, Loop, Node

EXACT = "exact"
MOST = "exact, of the iteration with most elements"
MIDDLE = "exact, of a middle iteration"
BOX = "upper bound: a box"
UNKNOWN = "not counted"
OPERATIONS_PER_SECOND, STEPS_PER_SECOND = 2_000_000, 5_000  # of isl and of `count`, so that times do not decide
BOX_OPERATIONS, BOX_STEPS = 2_000_000, 5_000
MOST_ITERATIONS = 4096  # of a loop, that are looked at one by one for the greatest value
MOST_SLICES = 64  # values of one loop for each of which those of another are looked at


@dataclass(frozen=True)
class Amount:
    """count: the formula, of sizes, tile sizes and the loops around; None where only the value is known. context: { : facts under
    which it is shown }. assumes: under which it holds, such as "rows begin on lines". value: for the given sizes, of the
    iteration `at`, one that has most; None without sizes. accuracy: of both.
    """

    count: Count | None
    context: isl.Set = field(repr=False, compare=False)
    assumes: str
    value: int | None
    accuracy: str
    at: Mapping[str, int] | None = field(default=None, compare=False)

    @cached_property
    def shown(self) -> Count | None:
        """The formula in cases that are apart, within the context; None where there is none."""
        if self.count is None:
            return None
        try:
            return self.count.within(self.context)
        except CannotCount:
            return self.count

    def text(self, sizes: Mapping[str, int] | None = None) -> str:
        """The formula. sizes: only the case that holds for them and the iteration that has most, if there is one."""
        if self.shown is None:
            return "?" if self.value is None else str(self.value)
        here = "0" if sizes is None else self.shown.text({**sizes, **(self.at or {})})
        return self.shown.text() if here == "0" else here

    def scaled(self, factor: int) -> Amount:
        counted = self.count and Count(tuple((region, value.scaled(factor)) for region, value in self.count.pieces))
        value = None if self.value is None else self.value * factor
        return replace(self, count=counted, value=value)


@dataclass(frozen=True)
class Footprint:
    """Of one array."""

    array: str
    element_bytes: int
    elements: Amount
    lines: Amount

    @property
    def bytes(self) -> Amount:
        return self.elements.scaled(self.element_bytes)

    def share(self, cache: CacheLevel) -> float | None:
        """Of a cache that its lines are."""
        return None if self.lines.value is None else self.lines.value * cache.line_bytes / cache.size_bytes


@dataclass(frozen=True)
class Level:
    """One iteration of each of `loops`, outermost first; of none: the whole kernel. seconds: what it took."""

    loops: tuple[str, ...]
    statements: tuple[str, ...]
    footprints: tuple[Footprint, ...]
    line_bytes: int
    seconds: float = field(compare=False)

    @property
    def depth(self) -> int:
        return len(self.loops)

    @property
    def lines(self) -> int | None:
        """Of all arrays, for the given sizes."""
        values = [f.lines.value for f in self.footprints if f.lines.value is not None]
        return sum(values) if len(values) == len(self.footprints) else None

    def share(self, cache: CacheLevel) -> float | None:
        """Of a cache that all lines are."""
        return None if self.lines is None else self.lines * self.line_bytes / cache.size_bytes


def footprints(
    scop: Scop,
    schedule: isl.Schedule | None = None,
    sizes: Mapping[str, int] | None = None,
    *,
    line_bytes: int = 64,
    places: Mapping[str, Placed] | None = None,
    seconds: float = 0.05,
) -> tuple[Level, ...]:
    """The whole kernel, then one iteration of each loop, outer loops first; local arrays as if they were whole. schedule: else the source's order. places: where the
    arrays lie; else one behind the other on lines of their own. seconds: about, for one formula; where it takes longer, there are
    numbers of a middle iteration, or without sizes the formula of a box.

    Raises ScheduleError for a schedule that is no tree of loops.
    """
    tree = loops.read(scop.schedule if schedule is None else schedule, scop.statements)
    where = None if sizes is None else places or placed_whole(scop, sizes)
    return tuple(_level(scop, part, _Measure(line_bytes, sizes, where, part.names, seconds)) for part in _parts(tree, scop.domain))


@dataclass(frozen=True)
class Compulsory:
    """Lines that the whole kernel uses, each of which misses once. lines: by array. total: for the given sizes; a line that two
    arrays share counts once.
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
    where = None if sizes is None else places or placed_whole(scop, sizes)
    level = _level(scop, _Part((), (), scop.domain), _Measure(line_bytes, sizes, where, (), seconds))
    lines = {each.array: each.lines for each in level.footprints}
    if sizes is None or where is None or all(where[array].address % line_bytes == 0 for array in lines):
        return Compulsory(lines, level.lines)
    used = touched(scop, {name: statement.domain for name, statement in scop.statements.items()})
    numbers = {array: polyhedra.at_sizes(elements, sizes) for array, elements in used.items()}
    return Compulsory(lines, line_runs.lines([(elements, where[array]) for array, elements in numbers.items()], line_bytes))


@dataclass(frozen=True)
class _Part:
    """instances: over the loops around as parameters, which `names` names; `loops` is what the tree calls them."""

    loops: tuple[str, ...]
    names: tuple[str, ...]
    instances: isl.UnionSet


def _parts(tree: Node, domain: isl.UnionSet) -> Iterator[_Part]:
    taken = {name for piece in polyhedra.pieces(domain) for name in polyhedra.parameter_names(piece)}

    def inside(node: Node, part: _Part) -> Iterator[_Part]:
        if isinstance(node, Block):
            for each in node.parts:
                yield from inside(each.body, _Part(part.loops, part.names, part.instances.intersect(each.instances)))
        elif isinstance(node, Loop):
            name = free(node.name, {*taken, *part.names})
            here = polyhedra.where_equal(part.instances, [loops.on(node.member, loops.statements(node.body))], [name])
            own = _Part((*part.loops, node.name), (*part.names, name), here)
            yield own
            yield from inside(node.body, own)

    whole = _Part((), (), domain)
    yield whole
    yield from inside(tree, whole)


def free(name: str, taken: set[str]) -> str:
    """The name, with underscores behind it as long as it is taken."""
    while name in taken:
        name += "_"
    return name


def _level(scop: Scop, part: _Part, measure: _Measure) -> Level:
    start = time.perf_counter()
    instances = {s.get_tuple_name(): s for s in polyhedra.pieces(part.instances) if not s.is_empty()}
    context = reduce(isl.Set.intersect, (s.params() for s in instances.values()), scop.checked)
    found = tuple(measure.footprint(scop.arrays[array], elements, context) for array, elements in touched(scop, instances).items())
    return Level(part.loops, tuple(instances), found, measure.line_bytes, time.perf_counter() - start)


def touched(scop: Scop, instances: Mapping[str, isl.Set]) -> dict[str, isl.Set]:
    """{ A[j] } by array: the elements in memory that instances { S[i] }, by statement, read or write."""
    found: dict[str, isl.Set] = {}
    for name, domain in instances.items():
        known: list[isl.Map] = []
        for access in (*scop.statements[name].reads, scop.statements[name].write):
            if not in_memory(scop.arrays[access.array]) or any(access.relation.plain_is_equal(other) for other in known):
                continue
            known.append(access.relation)
            elements = access.relation.intersect_domain(domain).range()
            found[access.array] = found[access.array].union(elements) if access.array in found else elements
    return {array: polyhedra.joined(elements) for array, elements in found.items()}


@dataclass(frozen=True)
class _Measure:
    """How parts are measured. sizes, places: None for formulas alone. around: parameters that are loops."""

    line_bytes: int
    sizes: Mapping[str, int] | None
    places: Mapping[str, Placed] | None
    around: tuple[str, ...]
    seconds: float

    def footprint(self, array: Array, elements: isl.Set, context: isl.Set) -> Footprint:
        amount = self._amount(elements, None, "", context, self._number_of)
        return Footprint(array.name, array.element.size_bytes, amount, self.lines(array, elements, context, amount))

    def lines(self, array: Array, elements: isl.Set, context: isl.Set, amount: Amount | None = None) -> Amount:
        """amount: of the elements."""
        assumes = "rows begin on lines" if len(array.shape) - array.pairs > 1 else "arrays begin on lines"
        rows = row_lines(array, self.line_bytes)
        if self.places is None:
            return self._amount(elements, rows, assumes, context, self._number_of)
        place = self.places[array.name]

        def number(here: isl.Set) -> int:
            return line_runs.lines([(here, place)], self.line_bytes)

        if rows_begin_on_lines(array, place, self.line_bytes):
            return self._amount(elements, rows, assumes, context, number)
        formula = self._formula(elements, rows)
        if amount is None or amount.at is None:
            return Amount(formula, context, assumes, 0, EXACT)
        how = amount.accuracy if amount.count is None or not amount.at else MOST
        return Amount(formula, context, assumes, *self._numbered(number, elements, amount.at, how))

    def _formula(self, elements: isl.Set, mapped: isl.Map | None) -> Count | None:
        try:
            with self._limited():
                return _counted(elements, mapped, self._steps)
        except (CannotCount, BudgetExceeded):
            return None

    def _amount(
        self, elements: isl.Set, mapped: isl.Map | None, assumes: str, context: isl.Set, number: Callable[[isl.Set], int]
    ) -> Amount:
        """Of the elements, or of what they are mapped to. number: of these for given sizes and one iteration, where there is no
        formula in time.
        """
        try:
            with self._limited():
                counted = _counted(elements, mapped, self._steps)
                return Amount(counted, context, assumes, *self._greatest(counted, elements))
        except (CannotCount, BudgetExceeded):
            if self.sizes is None:
                return self._box(elements, mapped, assumes, context)
        at = polyhedra.central_point(self._iterations(elements))
        return Amount(None, context, assumes, *self._numbered(number, elements, at, MIDDLE if self.around else EXACT))

    def _numbered(
        self, number: Callable[[isl.Set], int], elements: isl.Set, at: Mapping[str, int], accuracy: str
    ) -> tuple[int | None, str, Mapping[str, int]]:
        here = polyhedra.at_sizes(elements, {**self.sizes, **at})
        try:
            return number(here), accuracy, at
        except CannotCount:
            return None, UNKNOWN, at

    def _box(self, elements: isl.Set, mapped: isl.Map | None, assumes: str, context: isl.Set) -> Amount:
        try:
            with polyhedra.budget(BOX_OPERATIONS):
                counted = _counted(polyhedra.box_around(elements), mapped, BOX_STEPS)
                return Amount(counted, context, assumes, None, BOX)
        except (CannotCount, BudgetExceeded):
            return Amount(None, context, assumes, None, UNKNOWN)

    @property
    def _steps(self) -> int:
        return int(self.seconds * STEPS_PER_SECOND)

    def _limited(self) -> AbstractContextManager:
        return polyhedra.budget(max(1, int(self.seconds * OPERATIONS_PER_SECOND)))

    def _iterations(self, elements: isl.Set) -> isl.Set:
        """{ : ... } of the loops around, in which some are used."""
        return polyhedra.on_parameters(polyhedra.fix(elements.params(), self.sizes), self.around)

    @staticmethod
    def _number_of(here: isl.Set) -> int:
        return here.count_val().to_python()

    def _greatest(self, counted: Count, elements: isl.Set) -> tuple[int | None, str, Mapping[str, int] | None]:
        """The value of the iteration that has most, how accurate it is, and which iteration that is."""
        if self.sizes is None:
            return None, EXACT, None
        iterations = self._iterations(elements)
        if iterations.is_empty():
            return 0, EXACT, None
        value, at = greatest(counted.substitute(self.sizes), iterations)
        return value, EXACT, at


def _counted(elements: isl.Set, mapped: isl.Map | None, steps: int) -> Count:
    return count(elements if mapped is None else elements.apply(mapped), steps=steps)


def row_lines(array: Array, line_bytes: int) -> isl.Map:
    """{ A[i, j] -> [i, line in the row] }, where rows begin on lines."""
    names = [f"s{d}" for d in range(len(array.shape))]
    size = array.element.size_bytes
    *rows, inside = names[1:] if array.pairs else names or [""]
    offset = f"{2 * size} {inside} + {size} {names[0]}" if array.pairs else f"{size} {inside}" if inside else "0"
    return isl.Map(f"{{ {array.name}[{', '.join(names)}] -> [{', '.join([*rows, f'floor(({offset})/{line_bytes})'])}] }}")


def rows_begin_on_lines(array: Array, place: Placed, line_bytes: int) -> bool:
    rows = place.strides[1:-1] if array.pairs else place.strides[:-1]
    return place.address % line_bytes == 0 and all(stride % line_bytes == 0 for stride in rows)


def greatest(counted: Count, iterations: isl.Set) -> tuple[int, dict[str, int]]:
    """The greatest value that the count has for parameters in { : ... }, which has some, and for which parameters. Raises
    CannotCount where too many would have to be tried.
    """
    found = [_greatest_of(region, value) for region, value in counted.apart(iterations)]
    return max(found, key=lambda each: each[0])


def _greatest_of(region: isl.Set, value: Poly) -> tuple[int, dict[str, int]]:
    value = value.substitute({name: Poly.number(n) for name, n in polyhedra.fixed_parameters(region).items()})
    if value.is_number:
        return int(value.constant), polyhedra.some_parameters(region)
    factor = lcm(*(c.denominator for _, c in value.terms))
    linear = value.scaled(factor).as_linear()
    if linear is not None:
        text = " + ".join([*(f"{c}*{atom}" for atom, c in linear[0].items()), str(linear[1])])
        most, where = polyhedra.argmax(region, text)
        return most // factor, where
    ranges = {name: polyhedra.parameter_range(region, name) for name in value.names}
    name = min(sorted(ranges), key=lambda n: ranges[n][1] - ranges[n][0])
    low, high = ranges[name]
    if high - low >= MOST_ITERATIONS:
        raise CannotCount("the greatest value is not at an end")
    tried = range(low, high + 1)
    if len(ranges) == 1:
        evaluate = Count(((polyhedra.on_parameters(region, [name]), value),)).compiled
        number = max(tried, key=lambda n: evaluate({name: n}))
        return evaluate({name: number}), polyhedra.some_parameters(polyhedra.with_condition(region, f"{name} = {number}"))
    if len(tried) > MOST_SLICES:
        raise CannotCount("the greatest value is not at an end")
    slices = (polyhedra.with_condition(region, f"{name} = {number}") for number in tried)
    return max((_greatest_of(each, value) for each in slices if not each.is_empty()), key=lambda each: each[0])


@dataclass(frozen=True)
class Tile:
    """Of loops in the order of the schedule. sizes: by loop, a number or a name. interior: of a tile that the iterations fill,
    over sizes, names of tile sizes, and the first iterations of the tile in loops where that matters; for lines these count in
    lines, such as `i_8` for i/8.
    """

    sizes: Mapping[str, int | str]
    statements: tuple[str, ...]
    interior: tuple[Footprint, ...]
    line_bytes: int
    seconds: float = field(compare=False)

    def lines(self, values: Mapping[str, int]) -> int | None:
        """Of all arrays, for values of all names; None where they are not counted."""
        counts = [f.lines.count for f in self.interior]
        return None if None in counts else sum(each.evaluate(values) for each in counts)


def tile(
    scop: Scop,
    sizes: Mapping[str, int | str],
    schedule: isl.Schedule | None = None,
    *,
    statements: Sequence[str] = (),
    line_bytes: int = 64,
    seconds: float = 0.5,
) -> Tile:
    """One tile of the statements, or of all that have one of the loops. sizes: by the loop's name, how many of its iterations; a
    loop without one is whole. Lines are those of a tile whose first iterations are multiples of a line's elements.

    Raises ScheduleError for a loop that is not there.
    """
    start = time.perf_counter()
    around = _around(loops.read(scop.schedule if schedule is None else schedule, scop.statements))
    unknown = sizes.keys() - {name for each in around.values() for name in each}
    if unknown:
        raise ScheduleError(f"there is no loop `{min(unknown)}` to tile")
    chosen = {s: each for s, each in around.items() if (s in statements if statements else each.keys() & sizes.keys())}
    measure = _Measure(line_bytes, None, None, (), seconds)
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
    scop: Scop,
    sizes: Mapping[str, int],
    first: Mapping[str, int],
    parameters: Mapping[str, int],
    schedule: isl.Schedule | None = None,
    *,
    statements: Sequence[str] = (),
    line_bytes: int = 64,
    places: Mapping[str, Placed] | None = None,
) -> dict[str, tuple[int, int]]:
    """(elements, lines) by array of the tile that begins at `first`, which may be cut off by the ends of loops. sizes: by loop.
    parameters: of the kernel. Exact. Raises CannotCount for too many rows of arrays.
    """
    around = _around(loops.read(scop.schedule if schedule is None else schedule, scop.statements))
    chosen = [s for s, each in around.items() if (s in statements if statements else each.keys() & sizes.keys())]
    bounds = {name: f"{{ [v] : {first[name]} <= v < {first[name] + size} }}" for name, size in sizes.items()}
    instances = {
        s: polyhedra.within_bounds(
            polyhedra.fix(scop.statements[s].domain, parameters),
            [member for name, member in around[s].items() if name in bounds],
            [bounds[name] for name in around[s] if name in bounds],
        )
        for s in chosen
    }
    where = places or placed_whole(scop, parameters)
    found = {}
    for array, elements in touched(scop, instances).items():
        here = polyhedra.at_sizes(elements, parameters)
        found[array] = here.count_val().to_python(), line_runs.lines([(here, where[array])], line_bytes)
    return found


def _around(tree: Node) -> dict[str, dict[str, isl.PwAff]]:
    """By statement, by the name of each loop around it: { S[i] -> [(e)] }."""
    found: dict[str, dict[str, isl.PwAff]] = {name: {} for name in loops.statements(tree)}
    for _, loop in loops.loops(tree):
        for piece in loops.pieces(loop.member):
            found[piece.domain().get_tuple_name()][loop.name] = piece
    return found


def _interior(
    scop: Scop, around: Mapping[str, Mapping[str, isl.PwAff]], sizes: Mapping[str, int | str], step: int
) -> tuple[dict[str, isl.Set], isl.Set]:
    """What a tile uses of each array that begins at `step` times parameters, called after loops, as if there were iterations all
    over it; and where there are.
    """
    taken = {*polyhedra.parameter_names(scop.checked), *(size for size in sizes.values() if isinstance(size, str))}
    firsts = {name: free(name if step == 1 else f"{name}_{step}", taken) for name in sizes}
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
    return touched(scop, instances), context
