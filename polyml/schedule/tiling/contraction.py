"""Contractions: nests that multiply and add, found by what their accesses move with, and laid out for caches and registers.

    for i, j: C[i, j] = 0                     for jt: for kt: parallel it: for jp:
    for i, j, k:                      ->          for i, j, k in the tile: C[i, j] += A[i, k]*B[k, j]
        C[i, j] += A[i, k]*B[k, j]

A statement is a contraction when some of its loops leave the element written where it is (depth), one runs along the rows
of memory (panel), and some leave an operand where it is that moves along the panel (rows). Statements that touch each
element of the result once (initialisation, scaling, bias, activation: its companions) run in its tiles where the whole
depth fits in one block, and in nests of their own else. What comes out is proved like every other schedule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, prod

import islpy as isl

from polyml import polyhedra
from polyml.machines.cpu import CpuMachine
from polyml.model.core.dependence import Dependences
from polyml.model.core.reductions import Reduction
from polyml.model.core.scop import Access, Scop, Statement
from polyml.schedule.analysis.contraction_roles import contraction_roles
from polyml.schedule.analysis.loop_roles import LoopRole
from polyml.schedule.analysis.strides import accesses, goes_to_neighbours, is_same_element, moves
from polyml.schedule.legality.check import is_legal, is_parallel, refusal
from polyml.schedule.tiling.blocked_factorization import SLAB
from polyml.schedule.tiling.blocking import Axis, Blocks, blocks, is_worth_blocks
from polyml.schedule.tree.bands import PARALLEL, POINT, TILE, names_in
from polyml.schedule.tree.text import Tree, parse_tree, print_tree, tuple_text

ACROSS_CYCLES = 2.0  # of an element that lanes load and store across the rows it lies in
TURN_CYCLES = 2.5  # of an element whose copy lies the other way around
SHIFT_CYCLES = 0.3  # what an operation of a vector costs more where operands are read as they lie, elsewhere in each step
ACROSS_GAIN = 0.95  # cycles across the result's rows, against those along them, for which they are left
DIAGONALS = ("first", "last", "within")  # what a diagonal cuts of a register tile's depth, to the rest of it


def map_contractions(
    schedule: isl.Schedule,
    scop: Scop,
    dependences: Dependences,
    machine: CpuMachine,
    sizes: Mapping[str, int] | None,
    reductions: Mapping[str, Reduction],
    others: Callable[[isl.Schedule], tuple[isl.Schedule, tuple[str, ...]]],
    *,
    parallel: bool,
    grain: int = 1,
) -> tuple[isl.Schedule, tuple[str, ...], bool]:
    """The schedule with its contractions laid out, under marks that say so, as they are where that would be illegal; what was
    decided; and whether it has been proved.

    sizes: values of parameters to choose by; what comes out is right for all others too. reductions: the updates whose
    order is free. others: what is made of the other nests, to be proved with them. grain: see `blocks`.
    """
    tree = parse_tree(str(schedule))
    known: dict[tuple, _Shape] = {}

    def laid_out(joins: str, only: frozenset[str]) -> _Tried:
        for diagonal in DIAGONALS:
            layout = _Layout(scop, machine, sizes, reductions, parallel, grain, joins, only, diagonal, known)
            made = layout.tree(tree, tuple(scop.statements), frozenset())
            if made is tree:
                return _Tried()
            order, more = others(isl.Schedule(print_tree(made)))
            proved = is_legal(order, scop, dependences, reductions) and is_parallel(order, scop, dependences, reductions)
            if proved or not layout.has_diagonal:
                break
        return _Tried(order, proved, tuple(layout.notes), more, layout.found)

    def refused(tried: _Tried) -> str:
        why = refusal(tried.order, scop, dependences, reductions)
        return f"contraction of {', '.join(sorted(tried.found))} not laid out: {why}"

    def as_it_was(*notes: str) -> tuple[isl.Schedule, tuple[str, ...], bool]:
        order, more = others(schedule)
        return order, (*notes, *more), False

    everything = frozenset(scop.statements)
    for joins in ("both", "before", "none"):
        tried = laid_out(joins, everything)
        if tried.order is None:
            return as_it_was()
        if tried.proved:
            return tried.order, tried.notes + tried.others, True
    if len(tried.found) == 1:
        return as_it_was(refused(tried))
    apart = {name: laid_out("none", frozenset({name})) for name in sorted(tried.found)}  # those that are legal alone
    notes = tuple(refused(alone) for alone in apart.values() if alone.order is not None and not alone.proved)
    good = frozenset(name for name, alone in apart.items() if alone.proved)
    tried = laid_out("none", good) if good else _Tried()
    return (tried.order, tried.notes + notes + tried.others, True) if tried.proved else as_it_was(*notes)


@dataclass(frozen=True)
class _Tried:
    """A schedule with contractions laid out, None where there are none. proved: whether it is legal; notes: what was decided, and
    of other nests; found: the statements that were laid out.
    """

    order: isl.Schedule | None = None
    proved: bool = False
    notes: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    found: frozenset[str] = frozenset()


@dataclass(frozen=True)
class _Leaf:
    """A statement of a schedule tree with the iterators that its bands' members follow, outermost first."""

    statement: Statement
    iterators: tuple[str, ...]
    coincident: frozenset[str]
    permutable: bool


@dataclass(frozen=True)
class _Shape:
    """axes: of a contraction, None for what is none. across: why its panel does not run along the result's rows, or ""."""

    axes: tuple[Axis, ...] | None
    across: str = ""


@dataclass(frozen=True)
class _Companion:
    """A statement that touches each element of a contraction's result once. along: the contraction's iterator -> its own."""

    statement: Statement
    along: Mapping[str, str]


@dataclass(frozen=True)
class Contraction:
    """before, after: companions in their order."""

    main: Statement
    axes: tuple[Axis, ...]
    before: tuple[_Companion, ...] = ()
    after: tuple[_Companion, ...] = ()

    @property
    def statements(self) -> tuple[Statement, ...]:
        return (*(c.statement for c in self.before), self.main, *(c.statement for c in self.after))

    def names(self, statement: Statement) -> Mapping[str, str]:
        """The contraction's iterator -> the statement's own."""
        companion = next((c for c in (*self.before, *self.after) if c.statement is statement), None)
        return {a.name: a.name for a in self.axes} if companion is None else companion.along


class _Layout:
    def __init__(
        self,
        scop: Scop,
        machine: CpuMachine,
        sizes: Mapping[str, int] | None,
        reductions: Mapping[str, Reduction],
        parallel: bool,
        grain: int,
        joins: str,
        only: frozenset[str],
        diagonal: str,
        known: dict[tuple, _Shape],
    ):
        self._scop, self._machine, self._sizes, self._parallel, self._grain = scop, machine, sizes, parallel, grain
        self._reductions, self._joins = reductions, joins  # on which sides neighbours in a sequence may become companions
        self._only = only  # statements that may be contractions
        self._diagonal = diagonal  # one of DIAGONALS
        self._known = known  # by statement and loops, for all ways of laying out
        self.has_diagonal = False
        self.notes: list[str] = []
        self._across: dict[str, str] = {}  # of statements whose panel does not run along the result's rows, why
        self.found: frozenset[str] = frozenset()

    def tree(self, node: Tree, names: Sequence[str], fixed: frozenset[str]) -> Tree:
        """The node with contractions below laid out. names: its statements; fixed: "S.i" of the loops around it."""
        if "filter" in node:
            names = names_in(node["filter"])
        if "sequence" in node or "set" in node:
            key = "sequence" if "sequence" in node else "set"
            parts = self._joined(node[key], fixed) if key == "sequence" and self._joins != "none" else node[key]
            parts = [self.tree(part, names, fixed) for part in parts]
            if len(parts) == 1:
                return parts[0]["child"]
            same = len(parts) == len(node[key]) and all(a is b for a, b in zip(parts, node[key]))
            return node if same else {**node, key: parts}
        if "schedule" in node:
            found = self._contraction([node], names, fixed)
            if found is not None:
                return self._laid_out(found)
            members = _members(node)
            if any(its is None for member in members for its in member.values()):
                return node
            if any(node.get("coincident", [])):
                return node  # threads share a loop around
            fixed |= {f"{name}.{it}" for member in members for name, it in member.items()}
        if "child" not in node or "mark" in node:
            return node
        inside = self.tree(node["child"], names, fixed)
        return node if inside is node["child"] else {**node, "child": inside}

    def _joined(self, parts: list[Tree], fixed: frozenset[str]) -> list[Tree]:
        """A sequence's parts, with those that belong to one contraction made one part where its tiles hold them."""
        parts = list(parts)
        position = 0
        while position < len(parts):
            first, stop = position, position + 1
            found = self._contraction(parts[first:stop], (), fixed)
            while found is not None and first > 0 and (more := self._contraction(parts[first - 1 : stop], (), fixed)):
                first, found = first - 1, more
            behind = len(parts) if self._joins == "both" else stop
            while found is not None and stop < behind and (more := self._contraction(parts[first : stop + 1], (), fixed)):
                stop, found = stop + 1, more
            if stop - first > 1 and _in_one_block(found, self._blocks(found)):
                parts[first:stop] = [{"filter": _filter(found.statements), "child": self._laid_out(found)}]
                position = first
            position += 1
        return parts

    def _contraction(self, parts: Sequence[Tree], names: Sequence[str], fixed: frozenset[str]) -> Contraction | None:
        """What the parts are together, one contraction and its companions; None if they are not."""
        leaves = []
        for part in parts:
            for leaf in self._leaves(part, names, (), frozenset(), True):
                if leaf is None:
                    return None
                leaves.append(leaf)
        found = [(k, axes) for k, leaf in enumerate(leaves) if (axes := self._axes(leaf, fixed))]
        if len(found) != 1:
            return None
        position, axes = found[0]
        main = leaves[position].statement
        if len(leaves) > 1 and self._sizes is None:
            return None
        companions = [
            companion(leaf.statement, main, axes) if leaf.permutable and len(leaf.coincident) == len(leaf.iterators) else None
            for k, leaf in enumerate(leaves)
            if k != position
        ]
        if None in companions:
            return None
        return Contraction(main, axes, tuple(companions[:position]), tuple(companions[position:]))

    def _leaves(
        self, node: Tree, names: Sequence[str], iterators: tuple, coincident: frozenset, permutable: bool
    ) -> Iterator[_Leaf | None]:
        """The statements below, in order; None for what is not a plain loop nest."""
        if "filter" in node:
            names = names_in(node["filter"])
        if "mark" in node or "set" in node:
            yield None
            return
        if "schedule" in node:
            flags, members = node.get("coincident", []), _members(node)
            for k, member in enumerate(members):
                iterators = (*iterators, member)
                if k < len(flags) and flags[k]:
                    coincident |= {len(iterators) - 1}
            permutable = permutable and (bool(node.get("permutable")) or len(members) == 1)
        if "sequence" in node:
            for part in node["sequence"]:
                yield from self._leaves(part, names, iterators, coincident, permutable)
        elif "child" in node:
            yield from self._leaves(node["child"], names, iterators, coincident, permutable)
        elif len(names) != 1:
            yield None
        else:
            name = names[0]
            own = tuple(member.get(name) for member in iterators)
            if None in own or len(set(own)) < len(own):
                yield None
            else:
                yield _Leaf(self._scop.statements[name], own, frozenset(own[k] for k in coincident), permutable)

    def _axes(self, leaf: _Leaf, fixed: frozenset[str]) -> tuple[Axis, ...] | None:
        """The statement's loops inside those that are fixed, if it is a contraction of them."""
        statement = leaf.statement
        free = [it for it in statement.iterators if f"{statement.name}.{it}" not in fixed]
        if statement.name not in self._only or len(free) < 3 or set(free) != set(leaf.iterators) or not leaf.permutable:
            return None
        key = statement.name, tuple(free), leaf.coincident
        if key not in self._known:
            self._known[key] = self._shape(leaf, free)
        found = self._known[key]
        if found.across:
            self._across[statement.name] = found.across
        return found.axes

    def _shape(self, leaf: _Leaf, free: Sequence[str]) -> _Shape:
        statement = leaf.statement
        along = contraction_roles(statement, free)
        if along is None:
            return _Shape(None)
        extents = {it: self._extent(statement, statement.iterators.index(it)) for it in free}
        roles, across = self._roles(statement, along, extents)
        if not any(it in leaf.coincident for it, role in roles.items() if role is not LoopRole.DEPTH):
            return _Shape(None, across)
        positions = [statement.iterators.index(it) for it in free]
        axes = tuple(
            Axis(
                it,
                roles[it],
                extents[it],
                stride=_place(statement.write, p),
                unit=_is_unit(statement, p),
                parallel=it in leaf.coincident,
                leans=not polyhedra.is_product(statement.domain, [p]),
                ordered=roles[it] is LoopRole.DEPTH and statement.name not in self._reductions,
            )
            for it, p in zip(free, positions)
        )
        return _Shape(axes if is_worth_blocks(axes) else None, across)

    def _roles(
        self, statement: Statement, along: dict[str, LoopRole], count: Mapping[str, int | None]
    ) -> tuple[dict[str, LoopRole], str]:
        """What each of the loops of so many iterations is: as `along` says, where the panel runs along the result's rows, or across
        them where these are short and that pays; then why.
        """
        if not all(count.values()):
            return along, ""
        free = [*count]
        lanes = self._machine.lanes(self._scop.arrays[statement.write.array].element.size_bytes)
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

    def _extent(self, statement: Statement, position: int) -> int | None:
        """About how many iterations a loop has at the sizes expected."""
        if self._sizes is None:
            return None
        domain = polyhedra.fix(statement.domain, self._sizes)
        return polyhedra.length(domain, position)

    def _origin(self, statement: Statement, iterator: str) -> str:
        """Where the first tile along a loop begins: with the slab if it is in one."""
        if SLAB not in polyhedra.parameter_names(statement.domain):
            return "0"
        first = polyhedra.value_range(statement.domain, statement.iterators.index(iterator))[0]
        if first is None or SLAB not in polyhedra.used_parameters(first):
            return "0"
        text = str(first)
        return text[text.index("[(") + 2 : text.index(")]")]

    def _blocks(self, found: Contraction) -> Blocks:
        arrays = [self._scop.arrays[a.array] for a in accesses(found.main) if a.subscripts]
        size_bytes = max(a.element.size_bytes for a in arrays)
        moving = [a for a in found.main.reads if a.subscripts and not is_same_element(a, found.main.write)]
        products = max(1, len(moving) // 2)
        return blocks(found.axes, size_bytes, self._machine, parallel=self._parallel, products=products, grain=self._grain)

    def _laid_out(self, found: Contraction) -> Tree:
        made = self._blocks(found)
        roles = ", ".join(f"{a.name} {a.role.name.lower()} of {'?' if a.extent is None else a.extent}" for a in found.axes)
        self.found |= {found.main.name}
        why = [self._across[found.main.name]] if found.main.name in self._across else []
        self.notes += [f"contraction {found.main.name}: {roles}", f"  {made}", *(f"  {note}" for note in (*why, *made.notes))]
        if _in_one_block(found, made):
            return self._tree(found, made)
        alone = Contraction(found.main, found.axes)
        parts = [(s, self._tree(alone, made) if s is found.main else self._apart(found, s)) for s in found.statements]
        if len(parts) == 1:
            return parts[0][1]
        return {"sequence": [{"filter": _filter([s]), "child": tree} for s, tree in parts]}

    def _apart(self, found: Contraction, statement: Statement) -> Tree:
        along = found.names(statement)
        inner = [it for it in statement.iterators if it in along.values()]
        return _band([{statement: it} for it in inner], [1] * len(inner), [1] * len(inner), ["0"] * len(inner))

    def _tree(self, found: Contraction, made: Blocks) -> Tree:
        free = {a.name for a in found.axes if a.parallel}
        origins = {a.name: self._origin(found.main, a.name) for a in found.axes}

        def band(loops, statements) -> Tree:
            members = [{s: found.names(s)[name] for s in statements} for name, _ in loops]
            starts = [origins[name] for name, _ in loops]
            return _band(members, [step for _, step in loops], [int(name in free) for name, _ in loops], starts)

        def points(statement: Statement) -> Tree:
            loops = [(name, 1) for name in made.points if name in found.names(statement)]
            return {"mark": POINT, "child": band(loops, [statement])}

        parts = [
            {"filter": where, "child": points(s)}
            for s in found.statements
            for where in (self._parts(found, made) if s is found.main else (_filter([s]),))
        ]
        inside = parts[0]["child"] if len(parts) == 1 else {"sequence": parts}
        shared = () if made.shared is None else (made.shared,)
        for mark, loops in ((TILE, made.inner), (PARALLEL if self._parallel else TILE, shared), (TILE, made.outer)):
            if loops:
                inside = {"mark": mark, "child": {**band(loops, found.statements), "child": inside}}
        return inside

    def _parts(self, found: Contraction, made: Blocks) -> tuple[str, ...]:
        """Filters of the contraction's instances, in their order: those that all rows and columns of their register tile
        have, and what a diagonal leaves besides.
        """
        main, steps = found.main, dict((*made.outer, *made.inner))
        if self._diagonal == "within" or not any(a.leans for a in found.axes if a.role is LoopRole.DEPTH):
            return (_filter([main]),)
        common = main.domain
        for name in made.points[:2]:
            if name in steps:
                origin = self._origin(main, name)
                common = polyhedra.in_whole_tiles(common, main.iterators.index(name), steps[name], origin)
        rest = main.domain.subtract(common).coalesce()
        if rest.is_empty() or common.is_empty():
            return (_filter([main]),)
        self.has_diagonal = True
        rest, common = (str(isl.UnionSet.from_set(part)) for part in (rest, common))
        return (rest, common) if self._diagonal == "first" else (common, rest)


def _in_one_block(found: Contraction, made: Blocks) -> bool:
    """Whether no loop over tiles goes along the depth."""
    depth = {a.name for a in found.axes if a.role is LoopRole.DEPTH}
    return not any(name in depth for name, _ in (*made.outer, *made.inner))


def _shifts(statement: Statement, panel: str, depth: Sequence[str]) -> bool:
    """Whether rows that an operand has along the panel begin elsewhere in each step of the depth, as an image's do under a
    filter: they are read where they lie, not copied.
    """
    position, others = statement.iterators.index(panel), [statement.iterators.index(it) for it in depth]
    pieces = (piece for access in statement.reads for found in access.coefficients for piece in found)
    return any(piece[position] and any(piece[d] for d in others) for piece in pieces)


def companion(statement: Statement, main: Statement, axes: Sequence[Axis]) -> _Companion | None:
    """The statement as one that touches what `main` writes, an element of it in each of its instances."""
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
            return _Companion(statement, along)
    return None


def _single(statement: Statement, found: Sequence[tuple[int | Fraction, ...]]) -> str | None:
    """The iterator that a subscript of these coefficients is, perhaps shifted."""
    if len(found) != 1 or sorted(abs(c) for c in found[0])[-1:] != [1] or sum(map(abs, found[0])) != 1:
        return None
    return statement.iterators[next(k for k, c in enumerate(found[0]) if c)]


def _place(write: Access, position: int) -> int:
    """Which dimension of the result the iterator moves, counted from the last; -1: none."""
    for k, pieces in enumerate(reversed(write.coefficients)):
        if any(piece[position] for piece in pieces):
            return k
    return -1


def _is_unit(statement: Statement, position: int) -> bool:
    return any(goes_to_neighbours(a, [position]) and not moves(a, [position], slice(0, -1)) for a in statement.reads)


def _members(node: Tree) -> list[dict[str, str | None]]:
    """Of each member of a band: statement -> the iterator that it follows, None where it is not one alone."""
    return _members_of(node["schedule"])


@lru_cache(maxsize=256)
def _members_of(text: str) -> list[dict[str, str | None]]:
    return polyhedra.members(isl.MultiUnionPwAff(text))


def _filter(statements: Sequence[Statement]) -> str:
    return f"{{ {'; '.join(tuple_text(s) for s in statements)} }}"


def _band(
    members: Sequence[Mapping[Statement, str]], steps: Sequence[int], coincident: Sequence[int], origins: Sequence[str]
) -> Tree:
    """A permutable band: per member the iterator of each statement, or where its tile begins."""
    texts = []
    for member, step, origin in zip(members, steps, origins):
        values = (f"{tuple_text(s)} -> [({_tile(it, step, origin)})]" for s, it in member.items())
        texts.append(f"{{ {'; '.join(values)} }}")
    parameters = f"[{SLAB}] -> " if any(SLAB in origin for origin in origins) else ""
    return {"schedule": f"{parameters}[{', '.join(texts)}]", "permutable": 1, "coincident": list(coincident)}


def _tile(it: str, step: int, origin: str) -> str:
    """Where the tile of an iteration begins, of those that begin at the origin."""
    if step == 1:
        return it
    return f"{step}*floor(({it})/{step})" if origin == "0" else f"{origin} + {step}*floor(({it} - ({origin}))/{step})"
