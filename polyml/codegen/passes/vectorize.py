"""Register tiling and vectorization: iterations of independent loops run together.

    for i: for j: for k: C[i, j] += A[i, k]*B[k, j]   ->   for i by 6: for j by 16: for k: together i ... i + 5, j ... j + 15:
    ...

For every nest, exact dependence tests say which loops are independent (`analysis/loop_nest`), every legal tiling gets a price
(`analysis/cost_model`), and the cheapest is applied (`register_tile`). No form of nest is recognised: a contraction gets its
register tile, a stencil its vectors along the rows, and a dot product its lanes of partial sums from the same few rules.

Unroll-and-jam and scalar replacement: Callahan, Carr and Kennedy, "Improving register allocation for subscripted variables",
PLDI 1990.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

from polyml.codegen.analysis.access_conflicts import Enclosing
from polyml.codegen.analysis.loop_nest import LoopNest, guard_names, has_guard
from polyml.codegen.analysis.register_tiling import RegisterTiling
from polyml.codegen.costs.cost_model import CostModel
from polyml.codegen.ir.program import Guard, Instance, Loop, Node, Program, SameNodes, instances, loops, with_body
from polyml.codegen.register_tiles.distance_versions import versions
from polyml.codegen.register_tiles.legal_tilings import LegalTilings
from polyml.codegen.register_tiles.nest_prices import NestPrices
from polyml.codegen.register_tiles.register_tile import CannotTile, register_tile
from polyml.errors import ScheduleError
from polyml.frontend import syntax
from polyml.machines.cpu import CpuMachine
from polyml.model.core.scop import Load

TOLERANCE = 1.06  # a tiling may cost this much more than the cheapest one if its code is smaller
TOLERANCE_AROUND = 1.01  # the same for tilings around loops of the body
DISTRIBUTION_GAIN = 0.8  # distribution has to be this much cheaper, since statements that share a loop share data in near caches
LINE_GAIN = 0.95  # vectors on cache lines have to be this much cheaper, since their code is larger
MAX_COPIES = 128  # the most copies of a nest's body that a schedule may ask for
FAR_VECTORS = 3  # apart iterations have lanes, where the distance is an argument: nearer ones wait for pieces of stores
SLOWER = 1.5  # a note is made if what a schedule asks for takes this many times as long as what would be done without it
ACCESSES_LIMIT = 128  # the most accesses that run together, which bounds the size of the code


def vectorize(program: Program, machine: CpuMachine, layouts: tuple[str, ...], sizes: Mapping[str, int] | None = None) -> Program:
    """Returns the program with Jam and Unroll nodes, which run iterations together, where they pay or its schedule asks for it.

    layouts: the memory layout of each array argument, as the calling convention has it.
    sizes: values of parameters to judge by.

    Raises ScheduleError if a loop cannot run as its schedule says.
    """
    vectorizer = _Vectorizer(program, machine, layouts, sizes)
    body, before = (vectorizer.nodes(nodes, ()) for nodes in (program.body, program.before))
    phases = vectorizer.phases_in((*before, *body))
    return replace(program, body=body, before=before, phases=phases, notes=(*program.notes, *dict.fromkeys(vectorizer.notes)))


class _Vectorizer:
    """A rewriter of one program's nests into register tiles. It keeps their cost models and the tilings found for them."""

    def __init__(self, program: Program, machine: CpuMachine, layouts: tuple[str, ...], sizes: Mapping[str, int] | None = None):
        self._program, self._machine, self._sizes = program, machine, sizes or {}
        self.notes: list[str] = []
        self._rare = False  # whether the current nodes are inside a guard that seldom holds, so that code is kept small
        self._prices = NestPrices(program, machine, layouts, sizes)
        self._known: dict[tuple, tuple[RegisterTiling, float] | None] = {}

    def phases_in(self, nodes: tuple[Node, ...]) -> dict[str, str]:
        """Returns { name -> array } for `Program.phases`: the names in bounds of loops below the nodes that stand for how many
        elements behind the start of a cache line an array begins.
        """
        used = frozenset().union(*(e.names for loop in loops(nodes) for e in (*loop.lower, *loop.upper)))
        return {name: array for array, name in self._prices.phases.items() if name in used}

    def nodes(self, nodes: tuple[Node, ...], shared: tuple[Enclosing, ...]) -> tuple[Node, ...]:
        """Returns the nodes with the nests in them in register tiles. shared: the loops and guards around the nodes."""
        out: list[Node] = []
        for node in nodes:
            if isinstance(node, Guard):
                rare, self._rare = self._rare, self._rare or node.rare
                out.append(with_body(node, self.nodes(node.body, (*shared, node))))
                self._rare = rare
            elif not isinstance(node, Loop) or self._is_left(node):
                out.append(node)
            elif node.role == "tile" or node.parallel or self._has_regions(node):
                if node.directives.together:
                    raise refused(node, "it goes over tiles or to threads")
                out.append(with_body(node, self.nodes(node.body, (*shared, node))))
            else:
                out.extend(self._nest(node, shared))
        return tuple(out)

    def _is_left(self, node: Loop) -> bool:
        """Returns whether a loop stays as it is: one over threads, which are few, as where partial results are joined, and one that copies or
        fills arrays beside regions, which LLVM's passes make a call of the C library.
        """
        scop = self._program.scop
        values = (scop.statements[each.statement].value for each in instances((node,)))
        is_copy = scop.has_regions and all(isinstance(value, (Load, syntax.Const)) for value in values)
        return is_copy or any(self._program.threads in e.names for e in node.upper)

    def _has_regions(self, node: Loop) -> bool:
        """Returns whether a loop runs regions, of which iterations never run together here."""
        scop = self._program.scop
        return scop.has_regions and any(scop.statements[each.statement].region is not None for each in instances((node,)))

    def _nest(self, loop: Loop, shared: tuple[Enclosing, ...]) -> tuple[Node, ...]:
        """Returns the nodes that replace the nest beginning with a loop: what its directives ask for; else the cheapest of three:
        one register tiling of the nest, a nest for each node of its body (distribution), or tilings of the loops in its body alone.
        """
        if any(inner.role == "tile" for inner in loops(loop.body)):  # copies for them depend on this loop's iteration
            if loop.directives.together:
                raise refused(loop, "there are loops over tiles inside it")
            return (with_body(loop, self.nodes(loop.body, (*shared, loop))),)
        nest = self._prices.nest(loop, shared)
        chain, body = nest.chain, nest.body
        if any(each.directives.together for each in loops((loop,))):
            return self._as_directed(nest)
        imperfect = any(not isinstance(n, Instance) for n in body)
        best = self._best(nest)
        tiled = best[1] if best is not None else float("inf")
        separate = self._cycles_of_body_loops(nest) if imperfect else float("inf")
        if imperfect and self._cycles_distributed(nest) < DISTRIBUTION_GAIN * min(separate, tiled):
            return tuple(made for node in body for made in self._nest(with_body(loop, (node,)), shared))
        if best is not None and tiled <= separate:
            made = register_tile(nest, best[0])
            self._note(nest, best[0], made)
            return made
        if best is None and not imperfect and (made := self._by_distance(loop, nest)):
            return made
        inside = self.nodes(body, (*shared, *chain)) if imperfect else body
        for outer in reversed(chain):
            inside = (with_body(outer, inside),)
        return inside

    def _by_distance(self, loop: Loop, nest: LoopNest) -> tuple[Node, ...]:
        """Returns the nest that begins with a loop in versions for ranges of a distance that is known in a call only, where some of
        them have lanes; () where none has.
        """
        lanes = self._prices.lanes(nest)
        conditions = versions(nest, FAR_VECTORS * lanes) if lanes > 1 and not self._rare else ()
        made: list[Node] = []
        found = 0
        for condition in conditions:
            inside = self._prices.nest(loop, (*nest.shared, Guard(condition, (loop,))))
            best = self._best(inside) if condition is not conditions[-1] else None
            made.append(Guard(condition, (loop,) if best is None else register_tile(inside, best[0])))
            if best is not None:
                found += 1
                self._note(inside, best[0], made[-1:])
        return tuple(made) if found else ()

    def _as_directed(self, nest: LoopNest) -> tuple[Node, ...]:
        """Returns the nest in which exactly the loops with directives for it run iterations together, or raises ScheduleError."""
        directed = [v for v, loop in enumerate(nest.chain) if loop.directives.together]
        if not directed:
            inside = self.nodes(nest.body, (*nest.shared, *nest.chain))
        else:
            tiling = self._directed_tiling(nest, directed)
            self._note_if_slower(nest, tiling)
            try:
                return register_tile(nest, tiling)
            except CannotTile as reason:
                raise refused(nest.chain[directed[-1]], str(reason)) from None
        for outer in reversed(nest.chain):
            inside = (with_body(outer, inside),)
        return inside

    def _note_if_slower(self, nest: LoopNest, tiling: RegisterTiling) -> None:
        """Adds a note if the tiling that the schedule asks for is thought to be slower than the cheapest one."""
        model, best = self._prices.model(nest), self._best(nest)
        free, chosen = self._prices.scalar_cycles(nest) if best is None else best[1], model.per_iteration(tiling)
        if chosen is not None and chosen > SLOWER * free:
            names = ", ".join(dict.fromkeys(loop.name or loop.var for loop in nest.chain if loop.directives.together))
            self.notes.append(
                f"what is asked of {names} is thought to take {chosen / free:.2g} times as long as without it: {model.terms(tiling)}"
            )

    def _directed_tiling(self, nest: LoopNest, directed: list[int]) -> RegisterTiling:
        """Returns the register tiling that the schedule's directives describe, with the nest's loops in their order. Raises
        ScheduleError if it is not possible.

        directed: the positions in the nest of the loops whose directives let iterations run together.
        """
        others = [inner for inner in loops(nest.body) if inner.directives.together]
        if others:
            outer = nest.chain[directed[0]].name
            raise refused(others[0], f"iterations of `{outer}`, which is around it and other parts, run together")
        vectors = [v for v in directed if nest.chain[v].directives.vectorize]
        if len(vectors) > 1:
            raise refused(nest.chain[vectors[1]], f"the lanes are those of `{nest.chain[vectors[0]].name}`")
        vector = vectors[0] if vectors else None
        innermost = len(nest.chain) - 1 if all(isinstance(n, Instance) for n in nest.body) else None
        for v in directed:
            self._may_run_together(nest, v, sums=v == innermost and vector in (None, v))
        lanes = 1 if vector is None else self._prices.lanes(nest)
        if vector is not None and not self._prices.model(nest).is_vectorizable(vector):
            raise refused(nest.chain[vector], "a subscript is not linear in it, or an operation is for numbers one by one")
        if vector is not None and lanes == 1:
            raise refused(nest.chain[vector], "a register holds one element")
        counts = {v: max(1, nest.chain[v].directives.unroll_jam) for v in directed}
        jams = tuple((v, counts[v]) for v in directed if v != vector)
        tiling = RegisterTiling(
            directed[0], innermost, vector, 1 if vector is None else counts[vector], lanes, jams, keeps_order=True
        )
        copies = tiling.copies // lanes
        if copies > MAX_COPIES:
            why = f"{copies} copies of the loops inside would run together, at most {MAX_COPIES} may"
            raise refused(nest.chain[directed[0]], why)
        return tiling

    def _may_run_together(self, nest: LoopNest, v: int, sums: bool) -> None:
        """Raises ScheduleError if iterations of loop number `v` of the nest cannot run together: they depend on each other within
        one iteration of the loops around, the loop's step is not 1, or a guard's condition depends on its variable.

        sums: whether iterations may depend on each other by the updates of reductions.
        """
        loop, around = nest.chain[v], tuple(range(v))
        if loop.step != 1:
            raise refused(loop, f"its steps are {loop.step}")
        if loop.var in guard_names(nest.body):
            raise refused(loop, "a condition inside depends on it")
        if nest.is_independent(v, around):
            return
        if sums and not has_guard(nest.body) and nest.is_independent(v, around, reorder=True):
            updated = [r for r in self._prices.model(nest).accesses if r.access.accumulates and r.access.writes]
            if all(r.strides[v].is_invariant and nest.only_reductions_meet(r.array, around) for r in updated):
                return
        raise refused(loop, "iterations touch the same element, apart from the sums of an innermost loop")

    def _note(self, nest: LoopNest, tiling: RegisterTiling, made: Sequence[Node]) -> None:
        """Adds a note on the tiling that was chosen and its estimated cost, if sizes are known. The note gives the new order of the
        loops too, if a schedule names them and they were reordered.
        """
        names = dict.fromkeys(statement.name for statement, _, _ in nest.statements())
        if not self._sizes or self._rare or any(name.startswith("fill_") for name in names):
            return
        called = [loop.name or loop.var for loop in nest.chain]
        loops = [f"{called[v]} by {count}" for v, count in tiling.jams]
        if tiling.vector is not None:
            begins = "" if tiling.line is None else " on cache lines"
            loops.append(f"{called[tiling.vector]} by {tiling.vectors} x {tiling.lanes} lanes{begins}")
        if tiling.word is not None and tiling.word.use is not None:
            loops.append(f"{called[tiling.word.loop]} by words of {tiling.word.length} with {tiling.word.name}")
        if all(loop.name for loop in nest.chain) and (order := [called[v] for v in _order(nest.chain, made)]) != called:
            loops.append(f"loops from the outermost {', '.join(order)}, not {', '.join(called)}, as none of them is asked anything")
        self.notes.append(f"{', '.join(names)}: {', '.join(loops)}: {self._prices.model(nest).terms(tiling)}")

    def _cycles_distributed(self, nest: LoopNest) -> float:
        """Returns the cycles per run of the nest's body if each node of the body gets a loop of its own; infinity if that is not
        legal or not considered.
        """
        if len(nest.chain) != 1 or _shares_rows(nest) or not nest.is_independent(0, ()):
            return float("inf")
        if any(isinstance(node, Guard) for node in nest.body):
            return float("inf")
        loop = nest.chain[0]
        return sum(self._cycles_alone(with_body(loop, (node,)), nest.shared, 1) for node in nest.body)

    def _cycles_alone(self, loop: Loop, shared: tuple[Enclosing, ...], first: int) -> float:
        """Returns the estimated cycles of the nest that begins with `loop`, for one iteration of its `first` outermost loops.
        shared: the loops and guards around the nest.
        """
        nest = self._prices.nest(loop, shared)
        best, model = self._best(nest), self._prices.model(nest)
        return (best[1] if best is not None else self._prices.scalar_cycles(nest)) * prod(model.trips[first:])

    def _cycles_of_body_loops(self, nest: LoopNest) -> float:
        """Returns the cycles per run of the nest's body if each loop in the body is tiled by itself."""
        total = 0.0
        for node in nest.body:
            if isinstance(node, Instance) or isinstance(node, Guard) and node.rare:  # mostly only its test runs
                total += 2.0
                continue
            if not isinstance(node, Loop):
                return float("inf")
            total += 10.0 + self._cycles_alone(node, (*nest.shared, *nest.chain), 0)
        return total

    def _best(self, nest: LoopNest) -> tuple[RegisterTiling, float] | None:
        """Returns the cheapest tiling and its cycles per run of the nest's body; None if scalar code is cheaper."""
        bounds = tuple((loop.var, loop.lower, loop.upper, loop.step) for loop in nest.chain)
        key = (bounds, SameNodes(nest.body), SameNodes(nest.shared), self._rare)
        if key not in self._known:
            self._known[key] = self._cheapest(nest)
        return self._known[key]

    def _cheapest(self, nest: LoopNest) -> tuple[RegisterTiling, float] | None:
        """Returns the cheapest tiling and its cycles, or None if no tiling beats scalar code. Of those that cost nearly the same,
        the one with the smallest code is taken, and of several the one with the fewest stores, which keeps sums in registers.
        """
        model = self._prices.model(nest)
        lanes = self._prices.lanes(nest)
        plain = self._prices.scalar_cycles(nest)
        touches = len(model.accesses)
        priced: list[tuple[float, int, RegisterTiling]] = []
        for tiling in LegalTilings(nest, model, lanes, self._rare, self._prices.words(nest)).all():
            if tiling.copies // tiling.lanes * touches > ACCESSES_LIMIT and tiling.copies // tiling.lanes > 4:
                continue
            cycles = model.per_iteration(tiling)
            if cycles is not None and cycles < plain:
                priced.append((cycles, tiling.copies, tiling))
        tolerance = TOLERANCE_AROUND if any(isinstance(n, Loop) for n in nest.body) else TOLERANCE
        while priced:
            least = min(cycles for cycles, _, _ in priced)
            near = [p for p in priced if p[0] <= least * tolerance]
            smallest = min(copies for _, copies, _ in near)
            chosen = min((p for p in near if p[1] == smallest), key=lambda p: (_stores(model, p[2]), p[0]))
            cycles, _, tiling = chosen
            refined = self._on_lines(model, self._with_remainders(model, tiling), lanes)
            fitting = next((each for each in (refined, tiling) if _fits(nest, each)), None)
            if fitting is not None:
                return fitting, cycles
            priced.remove(chosen)
        return None

    def _with_remainders(self, model: CostModel, tiling: RegisterTiling) -> RegisterTiling:
        """Returns the tiling in which iterations left over at a loop's end run together too if sizes say how many, else the given
        one.
        """
        if not self._sizes or self._rare or tiling.lanes == 1 or tiling.unrolled:
            return tiling
        remainders = ((loop, model.remainder(loop, count)) for loop, count in tiling.jams)
        return replace(tiling, remainders=tuple((loop, rest) for loop, rest in remainders if rest > 1))

    def _on_lines(self, model: CostModel, tiling: RegisterTiling, full: int) -> RegisterTiling:
        """Returns the tiling with vectors that begin on cache lines, if they are as long as lines and that is cheaper; else the
        tiling as given, also if the vector loop is innermost and rows begin at different distances from a line.

        full: the elements of a vector register.
        """
        if self._rare or self._machine.vector_bytes < self._machine.line_bytes or tiling.strip or tiling.lanes != full:
            return tiling
        if tiling.vector == tiling.innermost and not self._rows_are_lines(model):
            return tiling
        better = [replace(tiling, line=line) for line in model.lines(tiling)]
        least = min(better, key=lambda each: _cycles(model, each), default=tiling)
        return least if _cycles(model, least) < LINE_GAIN * _cycles(model, tiling) else tiling

    def _rows_are_lines(self, model: CostModel) -> bool:
        """Returns whether the rows of each accessed array are, at the sizes expected, a multiple of a cache line apart."""
        arrays = {r.array for r in model.accesses}
        return all(self._row_bytes(name) % self._machine.line_bytes == 0 for name in arrays)

    def _row_bytes(self, name: str) -> int:
        """Returns the bytes from one row of the array to the next; 0 for fewer than two dimensions, 1 if they are unknown."""
        array = self._program.scop.arrays[name]
        if len(array.shape) < 2:
            return 0
        if self._prices.unit_dims[name] != len(array.shape) - 1:
            return 1
        try:
            return array.element.size_bytes * self._prices.table.affine(array.shape[-1]).evaluate(self._sizes)
        except KeyError:
            return 1


def refused(loop: Loop, why: str) -> ScheduleError:
    """Returns the error which says that a loop cannot run as its schedule asks, and why."""
    return ScheduleError(f"loop `{loop.name}` cannot be run as asked ({', '.join(loop.directives.words())}): {why}")


def _order(chain: Sequence[Loop], made: Sequence[Node]) -> list[int]:
    """Returns indices into `chain`, in the order, outermost first, in which the nodes `made` nest its loops: [1, 0] for two swapped ones."""
    found: list[int] = []
    nodes = tuple(made)
    while nodes:
        node = nodes[0]
        if isinstance(node, Loop):
            found += [v for v, loop in enumerate(chain) if node.var == loop.var or node.var.startswith(f"{loop.var}_")]
        nodes = () if isinstance(node, Instance) else node.body
    return [*dict.fromkeys(found), *(v for v in range(len(chain)) if v not in found)]


def _shares_rows(nest: LoopNest) -> bool:
    """Returns whether several nodes of the nest's body access one array, and subscripts of it depend both on a loop of the nest and
    on a loop in the body. Distribution would then move the accesses to one row of the array far apart in time.
    """
    chain = {loop.var for loop in nest.chain}
    users: dict[str, set[int]] = {}
    wide: set[str] = set()
    for touch in nest.accesses():
        users.setdefault(touch.access.array, set()).add(_position(nest, touch.instance))
        inner = {loop.var for loop in touch.inner}
        moving = frozenset().union(*(e.names for e in touch.subscripts))
        if moving & inner and moving & chain:
            wide.add(touch.access.array)
    return any(len(users[array]) > 1 for array in wide)


def _position(nest: LoopNest, instance: Instance) -> int:
    """Returns the position, in the nest's body, of the node that contains the instance."""
    return next(k for k, node in enumerate(nest.body) if any(inside is instance for inside in instances((node,))))


def _cycles(model: CostModel, tiling: RegisterTiling) -> float:
    """Returns the cycles per run of the nest's body, or infinity if the registers do not suffice."""
    found = model.per_iteration(tiling)
    return float("inf") if found is None else found


def _stores(model: CostModel, tiling: RegisterTiling) -> float:
    """Returns the cycles of stores per run of the nest's body; 0 if the registers do not suffice."""
    terms = model.terms(tiling)
    return 0.0 if terms is None else terms.stores / terms.instances


def _fits(nest: LoopNest, tiling: RegisterTiling) -> bool:
    """Returns whether the nest can be rewritten as the tiling says; loops' bounds may prevent that."""
    try:
        register_tile(nest, tiling)
    except CannotTile:
        return False
    return True
