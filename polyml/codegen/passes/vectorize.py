"""Register tiles and vectors: loops whose iterations are independent run together.

For every nest the loops themselves are asked, exactly, which of them are independent (`nest`); every legal shape is
priced (`cost`); the cheapest is applied (`reshape`). Nothing is recognised by form: a contraction gets its register
tile, a stencil its vectors along the rows, a dot product its lanes of partial sums from the same few rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from math import prod

from polyml.codegen.analysis.access_conflicts import Around, ConflictTest
from polyml.codegen.analysis.cost_model import FAR, CostModel, Shape
from polyml.codegen.analysis.loop_nest import Nest, chain_of, guard_names, has_guard
from polyml.codegen.analysis.scans import may_scan
from polyml.codegen.ir.abi import SlotMap
from polyml.codegen.ir.accesses import AccessTable
from polyml.codegen.ir.program import Guard, Instance, Loop, Node, Program, instances, loops, with_body
from polyml.codegen.passes.register_tile import CannotReshape, reshape
from polyml.errors import ScheduleError
from polyml.machines.cpu import CpuMachine

JAM_COUNTS = (2, 3, 4, 5, 6, 7, 8)
PAIR_COUNTS = (2, 3, 4, 6, 8)  # the same of two loops
VECTOR_COUNTS = (1, 2, 3, 4)
COPIES_LIMIT = 32  # vectors that run together
TOLERANCE = 1.06  # shapes that cost up to this much more than the cheapest are taken if their code is smaller
TOLERANCE_AROUND = 1.01  # the same around loops, whose code is small beside what they run
DISTRIBUTION_GAIN = 0.8  # statements that share a loop use each other's data while it is near
LINE_GAIN = 0.95  # what vectors that begin on cache lines are worth their code for
RARE_COPIES_LIMIT = 8  # the same for partial tiles
MOST_COPIES = 128  # of a nest that a schedule may ask for
SLOWER = 1.5  # times as long as without it, past which what a schedule asks for is remarked on
TOUCHES_LIMIT = 128  # accesses that run together: what bounds the size of the code
LOOPS_LIMIT = (
    12  # the innermost of a chain, of which iterations may run together: shapes grow with the fourth power of their number
)


def vectorize(program: Program, machine: CpuMachine, layouts: tuple[str, ...], sizes: Mapping[str, int] | None = None) -> Program:
    """The program with Jam and Unroll nodes where they pay. sizes: values of parameters to judge by."""
    vectorizer = _Vectorizer(program, machine, layouts, sizes)
    body, before = (vectorizer.nodes(nodes, ()) for nodes in (program.body, program.before))
    phases = vectorizer.phases_in((*before, *body))
    return replace(program, body=body, before=before, phases=phases, notes=(*program.notes, *dict.fromkeys(vectorizer.notes)))


class _Vectorizer:
    def __init__(self, program: Program, machine: CpuMachine, layouts: tuple[str, ...], sizes: Mapping[str, int] | None = None):
        self._program, self._machine, self._sizes = program, machine, sizes or {}
        self.notes: list[str] = []
        self._rare = False  # inside a guard that seldom holds: small code
        self._models: dict[int, CostModel] = {}  # by nest, which they keep
        self._known: dict[tuple, tuple[Nest, tuple[Shape, float] | None]] = {}
        self._table = AccessTable(program.scop.context)
        self._tests = ConflictTest(program.scop, self._table)
        slots = SlotMap.of(program, layouts)
        self._unit_dims = {name: slots.unit_dim(array) for name, array in program.scop.arrays.items()}
        given = [a for a in program.scop.arrays.values() if slots.has_word(a.name) and not slots.unaligned(a.name) and not a.pairs]
        taken = {p.name for p in program.scop.parameters}
        self._phases = {a.name: _free_name(f"{a.name}_phase", taken) for a in given}

    def phases_in(self, nodes: tuple[Node, ...]) -> dict[str, str]:
        """The phases that loops' bounds know, each with its array."""
        used = frozenset().union(*(e.names for loop in loops(nodes) for e in (*loop.lower, *loop.upper)))
        return {name: array for array, name in self._phases.items() if name in used}

    def nodes(self, nodes: tuple[Node, ...], shared: tuple[Around, ...]) -> tuple[Node, ...]:
        out: list[Node] = []
        for node in nodes:
            if isinstance(node, Instance):
                out.append(node)
            elif not isinstance(node, Loop):
                rare, self._rare = self._rare, self._rare or node.rare
                out.append(with_body(node, self.nodes(node.body, (*shared, node))))
                self._rare = rare
            elif node.role == "tile" or node.parallel:
                if node.asked.together:
                    raise refused(node, "it goes over tiles or to threads")
                out.append(with_body(node, self.nodes(node.body, (*shared, node))))
            else:
                out.extend(self._nest(node, shared))
        return tuple(out)

    def _nest(self, loop: Loop, shared: tuple[Around, ...]) -> tuple[Node, ...]:
        if any(inner.role == "tile" for inner in loops(loop.body)):  # what is copied for them knows this loop's iteration
            if loop.asked.together:
                raise refused(loop, "there are loops over tiles inside it")
            return (with_body(loop, self.nodes(loop.body, (*shared, loop))),)
        chain, body = chain_of(loop)
        nest = Nest(self._program, self._tests, shared, chain, body)
        if any(each.asked.together for each in loops((loop,))):
            return self._as_asked(nest)
        imperfect = any(not isinstance(n, Instance) for n in body)
        best = self._best(nest)
        together = best[1] if best is not None else float("inf")
        apart = self._apart(nest) if imperfect else float("inf")
        if imperfect and self._distributed(nest) < DISTRIBUTION_GAIN * min(apart, together):
            return tuple(made for node in body for made in self._nest(with_body(loop, (node,)), shared))
        if best is not None and together <= apart:
            made = reshape(nest, best[0])
            self._note(nest, best[0], made)
            return made
        inside = self.nodes(body, (*shared, *chain)) if imperfect else body
        for outer in reversed(chain):
            inside = (with_body(outer, inside),)
        return inside

    def _as_asked(self, nest: Nest) -> tuple[Node, ...]:
        """The nest with iterations together where its schedule asks for it, and nowhere else. ScheduleError where that cannot
        be.
        """
        asked = [v for v, loop in enumerate(nest.chain) if loop.asked.together]
        if not asked:
            inside = self.nodes(nest.body, (*nest.shared, *nest.chain))
        else:
            shape = self._asked_shape(nest, asked)
            self._say_if_slower(nest, shape)
            try:
                return reshape(nest, shape)
            except CannotReshape as reason:
                raise refused(nest.chain[asked[-1]], str(reason)) from None
        for outer in reversed(nest.chain):
            inside = (with_body(outer, inside),)
        return inside

    def _say_if_slower(self, nest: Nest, shape: Shape) -> None:
        """A note where what is asked is thought to take longer than what would be done without it."""
        model, best = self._model(nest), self._best(nest)
        free, asked = self._plain(nest, model) if best is None else best[1], model.per_iteration(shape)
        if asked is not None and asked > SLOWER * free:
            names = ", ".join(dict.fromkeys(loop.name or loop.var for loop in nest.chain if loop.asked.together))
            self.notes.append(
                f"what is asked of {names} is thought to take {asked / free:.2g} times as long as without it: {model.terms(shape)}"
            )

    def _asked_shape(self, nest: Nest, asked: list[int]) -> Shape:
        """The shape that these loops of the chain ask for, in their order."""
        others = [inner for inner in loops(nest.body) if inner.asked.together]
        if others:
            outer = nest.chain[asked[0]].name
            raise refused(others[0], f"iterations of `{outer}`, which is around it and other parts, run together")
        vectors = [v for v in asked if nest.chain[v].asked.vectorize]
        if len(vectors) > 1:
            raise refused(nest.chain[vectors[1]], f"the lanes are those of `{nest.chain[vectors[0]].name}`")
        vector = vectors[0] if vectors else None
        innermost = len(nest.chain) - 1 if all(isinstance(n, Instance) for n in nest.body) else None
        for v in asked:
            self._may_run_together(nest, v, sums=v == innermost and vector in (None, v))
        lanes = 1 if vector is None else self._lanes(nest)
        if vector is not None and not self._lane_ready(nest, self._model(nest), vector):
            raise refused(nest.chain[vector], "a subscript is not linear in it, or an operation is for numbers one by one")
        if vector is not None and lanes == 1:
            raise refused(nest.chain[vector], "a register holds one element")
        counts = {v: max(1, nest.chain[v].asked.unroll_jam) for v in asked}
        jams = tuple((v, counts[v]) for v in asked if v != vector)
        shape = Shape(asked[0], innermost, vector, counts.get(vector, 1), lanes, jams, keeps_order=True)
        copies = shape.copies // lanes
        if copies > MOST_COPIES:
            why = f"{copies} copies of the loops inside would run together, at most {MOST_COPIES} may"
            raise refused(nest.chain[asked[0]], why)
        return shape

    def _may_run_together(self, nest: Nest, v: int, sums: bool) -> None:
        """Raise ScheduleError where iterations of chain[v] may not run together, those of loops around being equal. sums: it may
        share the updates of reductions.
        """
        loop, around = nest.chain[v], tuple(range(v))
        if loop.step != 1:
            raise refused(loop, f"its steps are {loop.step}")
        if loop.var in guard_names(nest.body):
            raise refused(loop, "a condition inside depends on it")
        if nest.free(v, around):
            return
        if sums and not has_guard(nest.body) and nest.free(v, around, reorder=True):
            updated = [r for r in self._model(nest).reaches if r.touch.accumulates and r.touch.writes]
            if all(r.moves[v] == 0 and nest.alone(r.touch.access.array, around) for r in updated):
                return
        raise refused(loop, "iterations touch the same element, apart from the sums of an innermost loop")

    def _note(self, nest: Nest, shape: Shape, made: Sequence[Node]) -> None:
        """What was chosen and what it is thought to cost, where sizes decide about it; of loops that a schedule names, their order too,
        where it became another.
        """
        names = dict.fromkeys(statement.name for statement, _, _ in nest.statements())
        if not self._sizes or self._rare or any(name.startswith("fill_") for name in names):
            return
        called = [loop.name or loop.var for loop in nest.chain]
        loops = [f"{called[v]} by {count}" for v, count in shape.jams]
        if shape.vector is not None:
            begins = "" if shape.line is None else " on cache lines"
            loops.append(f"{called[shape.vector]} by {shape.vectors} x {shape.lanes} lanes{begins}")
        if all(loop.name for loop in nest.chain) and (order := [called[v] for v in _order(nest.chain, made)]) != called:
            loops.append(f"loops from the outermost {', '.join(order)}, not {', '.join(called)}, as none of them is asked anything")
        self.notes.append(f"{', '.join(names)}: {', '.join(loops)}: {self._model(nest).terms(shape)}")

    def _distributed(self, nest: Nest) -> float:
        """Cycles per iteration of the chain when each node of the body gets a loop of its own; infinite where it may not."""
        if len(nest.chain) != 1 or _shares_rows(nest) or not nest.free(0, ()):
            return float("inf")
        if any(isinstance(node, Guard) for node in nest.body):
            return float("inf")
        loop = nest.chain[0]
        return sum(self._alone(with_body(loop, (node,)), nest.shared, 1) for node in nest.body)

    def _alone(self, loop: Loop, shared: tuple[Around, ...], first: int) -> float:
        """Cycles of the loop's nest on its own, per iteration of the loops of its chain before number `first`."""
        chain, body = chain_of(loop)
        nest = Nest(self._program, self._tests, shared, chain, body)
        best, model = self._best(nest), self._model(nest)
        return (best[1] if best is not None else self._plain(nest, model)) * prod(model.trips[first:])

    def _apart(self, nest: Nest) -> float:
        """Cycles per iteration of the chain when each loop in its body is run on its own."""
        total = 0.0
        for node in nest.body:
            if isinstance(node, Instance) or isinstance(node, Guard) and node.rare:  # of which the test is what runs
                total += 2.0
                continue
            if not isinstance(node, Loop):
                return float("inf")
            total += 10.0 + self._alone(node, (*nest.shared, *nest.chain), 0)
        return total

    def _model(self, nest: Nest) -> CostModel:
        if id(nest) not in self._models:
            bytes_, registers = self._machine.vector_bytes, self._machine.vector_registers
            self._models[id(nest)] = CostModel(nest, self._unit_dims, bytes_, registers, self._sizes, self._phases)
        return self._models[id(nest)]

    def _best(self, nest: Nest) -> tuple[Shape, float] | None:
        """The cheapest shape and its cycles per iteration of the chain, found once for loops that are priced and then made."""
        bounds = tuple((loop.var, loop.lower, loop.upper, loop.step) for loop in nest.chain)
        key = (bounds, *(tuple(map(id, nodes)) for nodes in (nest.body, nest.shared)), self._rare)
        if key not in self._known:
            self._known[key] = (nest, self._cheapest(nest))  # which keeps the nodes, so that no other ones get their numbers
        return self._known[key][1]

    def _cheapest(self, nest: Nest) -> tuple[Shape, float] | None:
        model = self._model(nest)
        lanes = self._lanes(nest)
        plain = self._plain(nest, model)
        touches = len(model.reaches)
        priced: list[tuple[float, int, Shape]] = []
        for shape in self._shapes(nest, model, lanes):
            if shape.copies // shape.lanes * touches > TOUCHES_LIMIT and shape.copies // shape.lanes > 4:
                continue
            cycles = model.per_iteration(shape)
            if cycles is not None and cycles < plain:
                priced.append((cycles, shape.copies, shape))
        tolerance = TOLERANCE_AROUND if any(isinstance(n, Loop) for n in nest.body) else TOLERANCE
        while priced:
            least = min(cycles for cycles, _, _ in priced)
            chosen = min((p for p in priced if p[0] <= least * tolerance), key=lambda p: (p[1], p[0]))
            cycles, _, shape = chosen
            if _fits(nest, shape):
                return self._on_lines(model, self._with_rests(model, shape)), cycles
            priced.remove(chosen)
        return None

    def _with_rests(self, model: CostModel, shape: Shape) -> Shape:
        """The shape in which several iterations that are left over run together as well, where sizes say how many."""
        if not self._sizes or self._rare or shape.lanes == 1 or shape.unrolled:
            return shape
        rests = ((loop, model.left_over(loop, count)) for loop, count in shape.jams)
        return replace(shape, rests=tuple((loop, rest) for loop, rest in rests if rest > 1))

    def _on_lines(self, model: CostModel, shape: Shape) -> Shape:
        """The shape with vectors that begin on cache lines, where they are as long and that pays: innermost ones where all rows
        begin as the first one does.
        """
        if self._rare or self._machine.vector_bytes < self._machine.line_bytes:
            return shape
        if shape.vector == shape.innermost and not self._rows_are_lines(model):
            return shape
        better = [replace(shape, line=line) for line in model.lines(shape)]
        least = min(better, key=model.per_iteration, default=shape)
        return least if model.per_iteration(least) < LINE_GAIN * model.per_iteration(shape) else shape

    def _rows_are_lines(self, model: CostModel) -> bool:
        """Whether the rows of all arrays that have rows are whole cache lines apart in the call that code is made for."""
        arrays = {r.touch.access.array for r in model.reaches}
        return all(self._row_bytes(name) % self._machine.line_bytes == 0 for name in arrays)

    def _row_bytes(self, name: str) -> int:
        """From one row of an array to the next, 0 if it has no rows; 1 where that is not known."""
        array = self._program.scop.arrays[name]
        if len(array.shape) < 2:
            return 0
        if self._unit_dims[name] != len(array.shape) - 1:
            return 1
        try:
            return array.element.size_bytes * self._table.affine(array.shape[-1]).evaluate(self._sizes)
        except KeyError:
            return 1

    def _plain(self, nest: Nest, model: CostModel) -> float:
        """Cycles per iteration of the chain as it stands, one iteration at a time."""
        has_loops = any(not isinstance(n, Instance) for n in nest.body)
        shape = Shape(0, None if has_loops else len(nest.chain) - 1, None, 1, 1)
        return model.per_iteration(shape) or 2.0 * model.instances()

    def _lanes(self, nest: Nest) -> int:
        """Elements per register: the widest type that the nest computes with decides."""
        widest = 1
        for statement, _, _ in nest.statements():
            arrays = [self._program.scop.arrays[a.array] for a in (*statement.reads, statement.write)]
            widest = max([widest, *(a.element.size_bytes for a in arrays)])
        return self._machine.vector_bytes // widest

    def _shapes(self, nest: Nest, model: CostModel, lanes: int) -> Iterator[Shape]:
        """Every legal way of running the nest together, small to large."""
        guards = guard_names(nest.body)
        has_loops = any(isinstance(n, Loop) for n in nest.body)
        for start in range(max(0, len(nest.chain) - LOOPS_LIMIT), len(nest.chain)):
            fixed = tuple(range(start))
            loops = range(start, len(nest.chain))
            free = {v for v in loops if nest.free(v, fixed) and nest.chain[v].var not in guards}
            if lanes > 1 and has_loops:
                yield from self._around(nest, model, lanes, start, free)
            elif lanes > 1:
                yield from self._leaf(nest, model, lanes, start, free)
            yield from self._numbers(nest, start, free, has_loops)

    def _numbers(self, nest: Nest, start: int, free: set[int], has_loops: bool) -> Iterator[Shape]:
        """Plain numbers, several iterations of an independent loop side by side: what hides a recurrence's latency."""
        innermost = None if has_loops else len(nest.chain) - 1
        for loop in sorted(free - {innermost}):
            if nest.chain[loop].step == 1:
                for count in (2, 4, 8):
                    yield Shape(start, innermost, None, 1, 1, ((loop, count),))

    def _around(self, nest: Nest, model: CostModel, lanes: int, start: int, free: set[int]) -> Iterator[Shape]:
        """The chain's loops run together around the loops of the body."""
        for vector in sorted(free):
            if self._lane_ready(nest, model, vector):
                yield from self._counts(model, Shape(start, None, vector, 1, lanes), sorted(free - {vector}))

    def _leaf(self, nest: Nest, model: CostModel, lanes: int, start: int, free: set[int]) -> Iterator[Shape]:
        count = len(nest.chain)
        for innermost in range(start, count):
            passed = set(range(innermost + 1, count))
            if innermost not in free and not passed <= free:
                continue
            jammed = sorted(free - {innermost})
            for vector in jammed:
                if self._lane_ready(nest, model, vector):
                    rest = [j for j in jammed if j != vector]
                    yield from self._counts(model, Shape(start, innermost, vector, 1, lanes), rest)
            if not self._lane_ready(nest, model, innermost):
                continue
            base = Shape(start, innermost, innermost, 1, lanes)
            fixed = tuple(v for v in range(count) if v != innermost)
            if innermost in free:
                yield from self._counts(model, base, jammed)
                yield from self._unrolled(nest, model, base, free)
            elif not has_guard(nest.body) and nest.free(innermost, tuple(range(start)), reorder=True):
                updated = [r for r in model.reaches if r.touch.accumulates and r.touch.writes]
                carried = [r for r in updated if r.moves[innermost] == 0]
                others = {r.touch.access.array for r in updated} - {r.touch.access.array for r in carried}
                in_lanes = all(nest.separate(array, innermost, fixed) for array in others)
                if in_lanes and all(nest.alone(r.touch.access.array, fixed) for r in carried):
                    base = replace(base, plain_rest=_has_plain_rest(model, innermost, {r.touch.access.array for r in carried}))
                    yield from self._counts(model, base, sorted(self._loose(nest, start) - {innermost}))
            elif innermost == count - 1 and nest.free(innermost, fixed):
                yield base
            elif may_scan(nest, innermost):
                yield from self._counts(model, replace(base, scans=True), [])

    def _loose(self, nest: Nest, start: int) -> set[int]:
        """The loops of which iterations may run together as long as it is one after the other, by the updates of reductions."""
        guards, fixed = guard_names(nest.body), tuple(range(start))
        return {v for v in range(start, len(nest.chain)) if nest.free(v, fixed, reorder=True) and nest.chain[v].var not in guards}

    def _unrolled(self, nest: Nest, model: CostModel, base: Shape, free: set[int]) -> Iterator[Shape]:
        """A loop that keeps its order, several of its iterations inside the independent innermost one."""
        others = [v for v in range(base.start, len(nest.chain)) if v != base.innermost]
        for loop in others:
            inside = {v for v in others if v > loop}
            if loop in free or not inside <= free or nest.chain[loop].step != 1:
                continue
            for count in (2, 4, 8):
                if model.trips[loop] >= count:
                    yield replace(base, jams=((loop, count),), unrolled=frozenset({loop}))

    def _lane_ready(self, nest: Nest, model: CostModel, var: int) -> bool:
        """Whether the loop's iterations can be lanes: unit step, every subscript linear in it. An element that all of them write
        is none of these, unless it adds them up: such iterations are free only where no code ever comes by.
        """
        linear = nest.chain[var].step == 1 and all(r.moves[var] is not None for r in model.reaches)
        one_for_all = any(r.moves[var] == 0 and r.touch.writes and not r.touch.accumulates for r in model.reaches)
        return linear and not one_for_all and model.may_be_lanes(var)

    def _counts(self, model: CostModel, base: Shape, jammed: list[int]) -> Iterator[Shape]:
        """The shape with every number of vectors, and every jam of at most two other loops."""
        jammed = [j for j in jammed if model.nest.chain[j].step == 1 and model.shares(j)]
        limit = RARE_COPIES_LIMIT if self._rare else COPIES_LIMIT
        for vectors in model.interleaved or VECTOR_COUNTS:
            if vectors > 1 and vectors * base.lanes > model.trips[base.vector]:
                break
            wide = replace(base, vectors=vectors, interleaved=vectors > 1 and bool(model.interleaved))
            yield wide
            for loop in jammed:
                for count in JAM_COUNTS:
                    if count <= model.trips[loop] and vectors * count <= limit:
                        yield replace(wide, jams=((loop, count),))
            for a, b in combinations(jammed, 2):
                for count in PAIR_COUNTS:
                    for other in PAIR_COUNTS:
                        if vectors * count * other <= limit:
                            yield replace(wide, jams=((a, count), (b, other)))


def _has_plain_rest(model: CostModel, vector: int, sums: set[str]) -> bool:
    """Whether what is left over of sums should run one by one: where lanes lie apart, a mask costs each of them; and what is read
    of the array that the sums go to may just have been computed, one element after the other, which a vector would wait for.
    """
    reads = (r for r in model.reaches if not r.touch.writes and not r.touch.accumulates)
    return any(r.moves[vector] == FAR or r.touch.access.array in sums for r in reads)


def refused(loop: Loop, why: str) -> ScheduleError:
    """What the schedule asks of the loop cannot be."""
    return ScheduleError(f"loop `{loop.name}` cannot be run as asked ({', '.join(loop.asked.words())}): {why}")


def _order(chain: Sequence[Loop], made: Sequence[Node]) -> list[int]:
    """The loops of a chain, by number, as they stand in what the chain became: those of its first nest."""
    found: list[int] = []
    nodes = tuple(made)
    while nodes:
        node = nodes[0]
        if isinstance(node, Loop):
            found += [v for v, loop in enumerate(chain) if node.var == loop.var or node.var.startswith(f"{loop.var}_")]
        nodes = getattr(node, "body", ())
    return [*dict.fromkeys(found), *(v for v in range(len(chain)) if v not in found)]


def _shares_rows(nest: Nest) -> bool:
    """Whether two nodes of the body touch many elements of one array that only this iteration touches: they are near
    only there.
    """
    chain = {loop.var for loop in nest.chain}
    users: dict[str, set[int]] = {}
    wide: set[str] = set()
    owner = {id(instance): position for position, node in enumerate(nest.body) for instance in instances((node,))}
    for touch in nest.touches():
        users.setdefault(touch.access.array, set()).add(owner[id(touch.instance)])
        inner = {loop.var for loop in touch.inner}
        moving = frozenset().union(*(e.names for e in touch.subscripts))
        if moving & inner and moving & chain:
            wide.add(touch.access.array)
    return any(len(users[array]) > 1 for array in wide)


def _free_name(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _fits(nest: Nest, shape: Shape) -> bool:
    """Whether the loops' bounds let the nest run in that shape."""
    try:
        reshape(nest, shape)
    except CannotReshape:
        return False
    return True
