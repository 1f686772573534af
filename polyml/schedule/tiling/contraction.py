"""Contractions: nests that multiply and add, found from their accesses, and laid out for caches and registers.

    for i, j: C[i, j] = 0                     for jt: for kt: parallel it: for jp:
    for i, j, k:                      ->          for i, j, k in the tile: C[i, j] += A[i, k]*B[k, j]
        C[i, j] += A[i, k]*B[k, j]

A statement is a contraction when the element written is the same along some of its loops (depth), one loop runs along the rows
of memory (panel), and along others an operand is the same that moves along the panel (rows). Statements that access each element
of the result once (initialisation, scaling, bias, activation: its companions), or of what is made of it, run in its tiles: those
before it in the first block of the depth, those behind it in the last one. The result is proved like every other schedule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import islpy as isl

from polyml import polyhedra
from polyml.model.core.dependence import Dependences
from polyml.model.core.scop import Statement
from polyml.schedule.analysis.loop_roles import LoopRole
from polyml.schedule.analysis.strides import accesses, is_same_element
from polyml.schedule.legality.check import is_legal, is_parallel, refusal
from polyml.schedule.tiling.blocking import BlockingSetting, Blocks, ContractionAxis, Loops, blocks
from polyml.schedule.tiling.companions import Contraction, begins_and_ends, companion, ends_of_depth, in_one_block
from polyml.schedule.tiling.contraction_axes import ContractionShape, LayoutSetting, contraction_shape
from polyml.schedule.tiling.contraction_tree import band_node, filter_text, members_of_band, origin_of
from polyml.schedule.tree import nodes
from polyml.schedule.tree.bands import PARALLEL, POINT, TILE, names_in
from polyml.schedule.tree.text import Tree

_NestKey = tuple[str, tuple[str, ...], frozenset[str]]  # a statement, its free loops, those of them that carry no dependence
_Members = tuple[dict[str, "str | None"], ...]  # of bands: statement -> the iterator that the member follows
DIAGONALS = ("first", "last", "within")  # when a tile runs the depth that a diagonal cuts out of it, against its whole depth


def map_contractions(
    schedule: isl.Schedule,
    dependences: Dependences,
    setting: LayoutSetting,
    others: Callable[[isl.Schedule], tuple[isl.Schedule, tuple[str, ...]]],
) -> tuple[isl.Schedule, tuple[str, ...], bool]:
    """Returns the schedule with its contractions in blocked loops, notes on them, and whether the result is proved legal.

    A contraction whose blocked loops would be illegal keeps the loops of the given schedule.

    others: the pass on all other nests, whose result is proved together with the contractions; it returns a schedule and notes.
    """
    scop, reductions = setting.scop, setting.reductions
    tree = nodes.tree_of(schedule)
    known: dict[_NestKey, ContractionShape] = {}

    def laid_out(joins: str, only: frozenset[str]) -> _LaidOut | None:
        result = None
        for diagonal in DIAGONALS:
            layout = _ContractionLayout(setting, _LayoutVariant(joins, only, diagonal), known)
            made = layout.tree(tree, tuple(scop.statements), setting.around)
            if made is tree:
                return None
            order, more = others(nodes.schedule(made))
            proved = is_legal(order, scop, dependences, reductions) and is_parallel(order, scop, dependences, reductions)
            result = _LaidOut(order, proved, tuple(layout.notes), more, layout.found)
            if proved or not layout.has_diagonal:
                break
        return result

    def refused(made: _LaidOut) -> str:
        why = refusal(made.order, scop, dependences, reductions)
        return f"contraction of {', '.join(sorted(made.found))} not laid out: {why}"

    def as_it_was(*notes: str) -> tuple[isl.Schedule, tuple[str, ...], bool]:
        order, more = others(schedule)
        return order, (*notes, *more), False

    everything = frozenset(scop.statements)
    for joins in ("both", "before", "none"):
        made = laid_out(joins, everything)
        if made is None:
            return as_it_was()
        if made.proved:
            return made.order, made.notes + made.others, True
        last = made
    if len(last.found) == 1:
        return as_it_was(refused(last))
    singly = {name: laid_out("none", frozenset({name})) for name in sorted(last.found)}
    notes = tuple(refused(alone) for alone in singly.values() if alone is not None and not alone.proved)
    good = frozenset(name for name, alone in singly.items() if alone is not None and alone.proved)
    legal = laid_out("none", good) if good else None
    if legal is None or not legal.proved:
        return as_it_was(*notes)
    return legal.order, legal.notes + notes + legal.others, True


@dataclass(frozen=True)
class _LaidOut:
    """A schedule whose contractions are in blocked loops, and what was decided for it.

    order: the schedule.
    proved: whether it is proved legal.
    notes, others: notes on the contractions, and on all other nests.
    found: the statements that multiply and add, of the contractions that are blocked.
    """

    order: isl.Schedule
    proved: bool
    notes: tuple[str, ...]
    others: tuple[str, ...]
    found: frozenset[str]


@dataclass(frozen=True)
class _NestedStatement:
    """A statement of a schedule tree that is alone in a nest of loops, each of which follows one of its iterators.

    iterators: the iterators that the loops follow, outermost first.
    coincident: those of the iterators whose loops carry no dependence.
    permutable: whether all the loops may be exchanged.
    """

    statement: Statement
    iterators: tuple[str, ...]
    coincident: frozenset[str]
    permutable: bool


@dataclass(frozen=True)
class _LayoutVariant:
    """A variant is one way of laying out a tree's contractions; several are tried until one is legal.

    joins: which neighbours in a sequence may run in a contraction's tiles: those before and after it ("both"), "before" or "none".
    only: the statements that may be contractions.
    diagonal: where a triangle's diagonal cuts a register tile, only some of its elements have certain iterations of the depth (the
        loops that add up); these run "first", "last", or in their order ("within").
    """

    joins: str
    only: frozenset[str]
    diagonal: str


class _ContractionLayout:
    """The layout of a tree's contractions in blocked loops, in one variant; the method `tree` makes it and sets the attributes.

    notes: what was decided.
    found: the statements that multiply and add, of the contractions that were laid out.
    has_diagonal: whether a contraction's instances were divided where a triangle's diagonal cuts its register tiles.

    It takes `known`, the contraction that each nest is, by statement and loops: all variants share it and add to it.
    """

    def __init__(self, setting: LayoutSetting, variant: _LayoutVariant, known: dict[_NestKey, ContractionShape]):
        self._setting, self._variant, self._known = setting, variant, known
        self.has_diagonal = False
        self.notes: list[str] = []
        self._across: dict[str, str] = {}  # of statements whose panel does not run along the result's rows, why
        self.found: frozenset[str] = frozenset()

    def tree(self, node: Tree, names: Sequence[str], fixed: frozenset[str]) -> Tree:
        """Returns the tree with the contractions in it in blocked loops; the node itself where there are none.

        names: the statements that reach the node.
        fixed: the loops around the node; "S.i" is the loop over iterator i of statement S.
        """
        if "filter" in node:
            names = names_in(node["filter"])
        if "sequence" in node or "set" in node:
            key = "sequence" if "sequence" in node else "set"
            parts = self._joined(node[key], fixed) if key == "sequence" and self._variant.joins != "none" else node[key]
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
        """Returns a sequence's children; a contraction becomes one child with the neighbours that can run in its tiles.

        These neighbours access each element of the contraction's result once (companions).

        fixed: the loops around the sequence; "S.i" is the loop over iterator i of statement S.
        """
        parts = list(parts)
        position = 0
        while position < len(parts):
            first, stop = position, position + 1
            found = self._contraction(parts[first:stop], (), fixed)
            while found is not None and first > 0 and (more := self._contraction(parts[first - 1 : stop], (), fixed)):
                first, found = first - 1, more
            last = len(parts) if self._variant.joins == "both" else stop
            while found is not None and stop < last and (more := self._contraction(parts[first : stop + 1], (), fixed)):
                stop, found = stop + 1, more
            if found is not None and stop - first > 1 and begins_and_ends(found, self._blocks(found)):
                parts[first:stop] = [{"filter": filter_text(found.statements), "child": self._laid_out(found)}]
                position = first
            position += 1
        return parts

    def _contraction(self, parts: Sequence[Tree], names: Sequence[str], fixed: frozenset[str]) -> Contraction | None:
        """Returns the contraction that some children of a sequence are together; None where they are not one contraction.

        One statement multiplies and adds, and all others access each element of its result once, before or after it.

        names: the statements that reach the children, where these have no filters.
        fixed: the loops around them; "S.i" is the loop over iterator i of statement S.
        """
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
        whole = Contraction(main, axes)
        for leaf in (*reversed(leaves[:position]), *leaves[position + 1 :]):
            is_free = leaf.permutable and len(leaf.coincident) == len(leaf.iterators)
            other = companion(leaf.statement, whole) if is_free else None
            if other is None:
                return None
            is_before = any(leaf is early for early in leaves[:position])
            whole = replace(whole, before=(other, *whole.before)) if is_before else replace(whole, after=(*whole.after, other))
        return whole

    def _leaves(
        self, node: Tree, names: Sequence[str], iterators: _Members, coincident: frozenset[int], permutable: bool
    ) -> Iterator[_NestedStatement | None]:
        """Yields each statement below the node, in order, as a nest in which it is alone; None in place of one that is not.

        It is alone where each loop around it follows another one of its iterators, and no other statement is directly beside it.

        names: the statements that reach the node.
        iterators: for each loop around the node, by statement, the iterator that it follows.
        coincident: the positions of those loops that carry no dependence.
        permutable: whether those loops may all be exchanged.
        """
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
            own = tuple(it for member in iterators if (it := member.get(name)) is not None)
            if len(own) < len(iterators) or len(set(own)) < len(own):
                yield None
            else:
                yield _NestedStatement(self._setting.scop.statements[name], own, frozenset(own[k] for k in coincident), permutable)

    def _axes(self, leaf: _NestedStatement, fixed: frozenset[str]) -> tuple[ContractionAxis, ...] | None:
        """Returns a statement's loops inside the fixed ones with their roles in a contraction; None where they make no contraction.

        fixed: the loops around the contraction; "S.i" is the loop over iterator i of statement S.
        """
        statement = leaf.statement
        free = [it for it in statement.iterators if f"{statement.name}.{it}" not in fixed]
        if statement.name not in self._variant.only or len(free) < 3 or set(free) != set(leaf.iterators) or not leaf.permutable:
            return None
        key = statement.name, tuple(free), leaf.coincident
        if key not in self._known:
            self._known[key] = contraction_shape(statement, free, leaf.coincident, self._setting)
        found = self._known[key]
        if found.across:
            self._across[statement.name] = found.across
        return found.axes

    def _blocks(self, found: Contraction) -> Blocks:
        """Returns the loops and block sizes of a contraction."""
        setting = self._setting
        moving = [a for a in found.main.reads if a.subscripts and not is_same_element(a, found.main.write)]
        sizes = {a: setting.scop.arrays[a.array].element.size_bytes for a in accesses(found.main) if a.subscripts}
        wanted = BlockingSetting(max(sizes.values()), setting.machine, setting.parallel, max(1, len(moving) // 2), setting.grain)
        return blocks(found.axes, replace(wanted, operand_bytes=max((sizes[a] for a in moving), default=0)))

    def _laid_out(self, found: Contraction) -> Tree:
        """Returns the blocked loops of a contraction and its companions as a tree; adds to the notes and the statements found."""
        made = self._blocks(found)
        roles = ", ".join(f"{a.name} {a.role.name.lower()} of {'?' if a.extent is None else a.extent}" for a in found.axes)
        self.found |= {found.main.name}
        why = [self._across[found.main.name]] if found.main.name in self._across else []
        self.notes += [f"contraction {found.main.name}: {roles}", f"  {made}", *(f"  {note}" for note in (*why, *made.notes))]
        if begins_and_ends(found, made) and (self._variant.joins != "none" or in_one_block(found, made)):
            sides = ((found.before, "before it"), (found.after, "behind it"))
            joined = [f"{', '.join(c.statement.name for c in companions)} {side}" for companions, side in sides if companions]
            self.notes += [f"  in its tiles: {', '.join(joined)}"] if joined else []
            return self._tree(found, made)
        alone = Contraction(found.main, found.axes)
        parts = [(s, self._tree(alone, made) if s is found.main else self._own_nest(found, s)) for s in found.statements]
        if len(parts) == 1:
            return parts[0][1]
        return {"sequence": [{"filter": filter_text([s]), "child": tree} for s, tree in parts]}

    def _own_nest(self, found: Contraction, statement: Statement) -> Tree:
        """Returns a companion's loops, one for each dimension of the contraction's result, where it does not run in the tiles.

        statement: the companion, which accesses each element of the result once.
        """
        along = found.names(statement)
        inner = [it for it in statement.iterators if it in along.values()]
        return band_node([{statement: it} for it in inner], [1] * len(inner), [1] * len(inner), ["0"] * len(inner))

    def _tree(self, found: Contraction, made: Blocks) -> Tree:
        """Returns the blocked loops of a contraction as a tree; all its statements run in the same tiles, in their order.

        A tile holds the statement that multiplies and adds, and its companions, which access each element of the result once.

        made: the loops over tiles and their block sizes.
        """
        free = {a.name for a in found.axes if a.parallel}
        origins = {a.name: origin_of(found.main, a.name) for a in found.axes}

        ends = ends_of_depth(found, made)
        side = {s: int(k > found.statements.index(found.main)) for k, s in enumerate(found.statements)}

        def place(statement: Statement, name: str) -> str:
            along = found.names(statement)
            return along[name] if name in along else ends[name][side[statement]]

        def band(loops: Loops, statements: Sequence[Statement]) -> Tree:
            members = [{s: place(s, name) for s in statements} for name, _ in loops]
            starts = [origins[name] for name, _ in loops]
            made = band_node(members, [step for _, step in loops], [int(name in free) for name, _ in loops], starts)
            atomic = [f"atomic[{k}]" for k, (name, _) in enumerate(loops) if name in ends]
            return {**made, "options": f"{{ {'; '.join(atomic)} }}"} if atomic else made

        def points(statement: Statement) -> Tree:
            loops = tuple((name, 1) for name in made.points if name in found.names(statement))
            return {"mark": POINT, "child": band(loops, [statement])}

        parts = [
            {"filter": where, "child": points(s)}
            for s in found.statements
            for where in (self._parts(found, made) if s is found.main else (filter_text([s]),))
        ]
        inside: Tree = {"sequence": parts} if len(parts) > 1 else points(found.main)
        shared = () if made.shared is None else (made.shared,)
        for mark, loops in ((TILE, made.inner), (PARALLEL if self._setting.parallel else TILE, shared), (TILE, made.outer)):
            if loops:
                inside = {"mark": mark, "child": {**band(loops, found.statements), "child": inside}}
        return inside

    def _parts(self, found: Contraction, made: Blocks) -> tuple[str, ...]:
        """Returns one or two filters, as texts, that divide the main statement's instances, in the order in which a tile runs them.

        There are two where a triangle's diagonal cuts register tiles. One has those iterations of the depth (the loops that add up)
        that all elements of a register tile have, the other has the rest. The variant says which one runs first.
        """
        main, steps = found.main, dict((*made.outer, *made.inner))
        if self._variant.diagonal == "within" or not any(a.leans for a in found.axes if a.role is LoopRole.DEPTH):
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
        of_diagonal, in_whole = nodes.text_of(isl.UnionSet.from_set(rest)), nodes.text_of(isl.UnionSet.from_set(common))
        return (of_diagonal, in_whole) if self._variant.diagonal == "first" else (in_whole, of_diagonal)
