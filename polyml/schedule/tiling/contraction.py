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

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import islpy as isl

from polyml import polyhedra
from polyml.model.core.dependence import Dependences
from polyml.model.core.scop import Statement
from polyml.schedule.analysis.loop_roles import LoopRole
from polyml.schedule.analysis.strides import accesses, is_same_element
from polyml.schedule.legality.check import is_legal, is_parallel, refusal
from polyml.schedule.tiling.blocking import Axis, Blocks, blocks
from polyml.schedule.tiling.companions import Contraction, companion
from polyml.schedule.tiling.contraction_axes import ContractionShape, LayoutSetting, contraction_shape
from polyml.schedule.tiling.contraction_tree import band_node, filter_text, members_of_band, origin_of
from polyml.schedule.tree.bands import PARALLEL, POINT, TILE, names_in
from polyml.schedule.tree.text import Tree, parse_tree, print_tree

_NestKey = tuple[str, tuple[str, ...], frozenset[str]]  # a statement, its free loops, those of them that carry no dependence
DIAGONALS = ("first", "last", "within")  # what a diagonal cuts of a register tile's depth, to the rest of it


def map_contractions(
    schedule: isl.Schedule,
    dependences: Dependences,
    setting: LayoutSetting,
    others: Callable[[isl.Schedule], tuple[isl.Schedule, tuple[str, ...]]],
) -> tuple[isl.Schedule, tuple[str, ...], bool]:
    """Returns the schedule with its contractions laid out under marks, what was decided, and whether the result has been proved.

    Where a layout would be illegal, the schedule stays as it is.

    others: what is made of the other nests, to be proved together with the contractions.
    """
    scop, reductions = setting.scop, setting.reductions
    tree = parse_tree(str(schedule))
    known: dict[_NestKey, ContractionShape] = {}

    def laid_out(joins: str, only: frozenset[str]) -> _Tried:
        for diagonal in DIAGONALS:
            layout = _Layout(setting, _Attempt(joins, only, diagonal), known)
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
class _Attempt:
    """One way of laying out a tree's contractions.

    joins: on which sides neighbours in a sequence may become companions, "both", "before" or "none".
    only: the statements that may be contractions.
    diagonal: one of DIAGONALS.
    """

    joins: str
    only: frozenset[str]
    diagonal: str


class _Layout:
    """One attempt to lay out the contractions of a tree.

    known: by statement and loops what each nest is, for all attempts. Afterwards notes, found and has_diagonal say what was
    decided, which statements were laid out, and whether a diagonal was cut out of a register tile.
    """

    def __init__(self, setting: LayoutSetting, attempt: _Attempt, known: dict[_NestKey, ContractionShape]):
        self._setting, self._attempt, self._known = setting, attempt, known
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
            parts = self._joined(node[key], fixed) if key == "sequence" and self._attempt.joins != "none" else node[key]
            parts = [self.tree(part, names, fixed) for part in parts]
            if len(parts) == 1:
                return parts[0]["child"]
            same = len(parts) == len(node[key]) and all(a is b for a, b in zip(parts, node[key]))
            return node if same else {**node, key: parts}
        if "schedule" in node:
            found = self._contraction([node], names, fixed)
            if found is not None:
                return self._laid_out(found)
            members = members_of_band(node)
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
            behind = len(parts) if self._attempt.joins == "both" else stop
            while found is not None and stop < behind and (more := self._contraction(parts[first : stop + 1], (), fixed)):
                stop, found = stop + 1, more
            if stop - first > 1 and _in_one_block(found, self._blocks(found)):
                parts[first:stop] = [{"filter": filter_text(found.statements), "child": self._laid_out(found)}]
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
        if len(leaves) > 1 and self._setting.sizes is None:
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
            flags, members = node.get("coincident", []), members_of_band(node)
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
                yield _Leaf(self._setting.scop.statements[name], own, frozenset(own[k] for k in coincident), permutable)

    def _axes(self, leaf: _Leaf, fixed: frozenset[str]) -> tuple[Axis, ...] | None:
        """The statement's loops inside those that are fixed, if it is a contraction of them."""
        statement = leaf.statement
        free = [it for it in statement.iterators if f"{statement.name}.{it}" not in fixed]
        if statement.name not in self._attempt.only or len(free) < 3 or set(free) != set(leaf.iterators) or not leaf.permutable:
            return None
        key = statement.name, tuple(free), leaf.coincident
        if key not in self._known:
            self._known[key] = contraction_shape(statement, free, leaf.coincident, self._setting)
        found = self._known[key]
        if found.across:
            self._across[statement.name] = found.across
        return found.axes

    def _blocks(self, found: Contraction) -> Blocks:
        arrays = [self._setting.scop.arrays[a.array] for a in accesses(found.main) if a.subscripts]
        size_bytes = max(a.element.size_bytes for a in arrays)
        moving = [a for a in found.main.reads if a.subscripts and not is_same_element(a, found.main.write)]
        products = max(1, len(moving) // 2)
        return blocks(
            found.axes,
            size_bytes,
            self._setting.machine,
            parallel=self._setting.parallel,
            products=products,
            grain=self._setting.grain,
        )

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
        return {"sequence": [{"filter": filter_text([s]), "child": tree} for s, tree in parts]}

    def _apart(self, found: Contraction, statement: Statement) -> Tree:
        along = found.names(statement)
        inner = [it for it in statement.iterators if it in along.values()]
        return band_node([{statement: it} for it in inner], [1] * len(inner), [1] * len(inner), ["0"] * len(inner))

    def _tree(self, found: Contraction, made: Blocks) -> Tree:
        free = {a.name for a in found.axes if a.parallel}
        origins = {a.name: origin_of(found.main, a.name) for a in found.axes}

        def band(loops, statements) -> Tree:
            members = [{s: found.names(s)[name] for s in statements} for name, _ in loops]
            starts = [origins[name] for name, _ in loops]
            return band_node(members, [step for _, step in loops], [int(name in free) for name, _ in loops], starts)

        def points(statement: Statement) -> Tree:
            loops = [(name, 1) for name in made.points if name in found.names(statement)]
            return {"mark": POINT, "child": band(loops, [statement])}

        parts = [
            {"filter": where, "child": points(s)}
            for s in found.statements
            for where in (self._parts(found, made) if s is found.main else (filter_text([s]),))
        ]
        inside = parts[0]["child"] if len(parts) == 1 else {"sequence": parts}
        shared = () if made.shared is None else (made.shared,)
        for mark, loops in ((TILE, made.inner), (PARALLEL if self._setting.parallel else TILE, shared), (TILE, made.outer)):
            if loops:
                inside = {"mark": mark, "child": {**band(loops, found.statements), "child": inside}}
        return inside

    def _parts(self, found: Contraction, made: Blocks) -> tuple[str, ...]:
        """Filters of the contraction's instances, in their order: those that all rows and columns of their register tile
        have, and what a diagonal leaves besides.
        """
        main, steps = found.main, dict((*made.outer, *made.inner))
        if self._attempt.diagonal == "within" or not any(a.leans for a in found.axes if a.role is LoopRole.DEPTH):
            return (filter_text([main]),)
        common = main.domain
        for name in made.points[:2]:
            if name in steps:
                origin = origin_of(main, name)
                common = polyhedra.in_whole_tiles(common, main.iterators.index(name), steps[name], origin)
        rest = main.domain.subtract(common).coalesce()
        if rest.is_empty() or common.is_empty():
            return (filter_text([main]),)
        self.has_diagonal = True
        rest, common = (str(isl.UnionSet.from_set(part)) for part in (rest, common))
        return (rest, common) if self._attempt.diagonal == "first" else (common, rest)


def _in_one_block(found: Contraction, made: Blocks) -> bool:
    """Whether no loop over tiles goes along the depth."""
    depth = {a.name for a in found.axes if a.role is LoopRole.DEPTH}
    return not any(name in depth for name, _ in (*made.outer, *made.inner))
