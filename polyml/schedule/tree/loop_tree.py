"""A schedule tree as loops with names, by which schedule scripts address them.

    Node = Loop(name, member, body: Node) | Block(parts: BlockPart(instances, body: Node) ...) | Leaf(statements)

isl's tree has a band of one member for each loop, and the loop's name and directives in the mark above the band.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Union

import islpy as isl

from polyml import polyhedra
from polyml.errors import ScheduleError
from polyml.model.core.scop import Statement
from polyml.schedule.tree.bands import NODE, POINT, TILE, band_of, partial_results, together
from polyml.schedule.tree.directives import NO_DIRECTIVES, Directives, mark_text, parse_mark
from polyml.schedule.tree.text import Tree

_CUTS = (isl.ast_loop_type.separate, isl.ast_loop_type.atomic)
Path = tuple[int, ...]  # which child to take from the top on


@dataclass(frozen=True)
class Loop:
    """A loop runs its body once for each value of its member, in ascending order.

    name: by which schedule scripts address it.
    member: { S[i] -> [(e)] } of all statements in the body.
    cut: how isl divides the loop's code, an `isl.ast_loop_type`.
    """

    name: str
    member: isl.UnionPwAff
    body: Node
    directives: Directives = NO_DIRECTIVES
    cut: object = isl.ast_loop_type.default


@dataclass(frozen=True)
class BlockPart:
    """A part of a block is a tree and the instances { S[i] } that run in it."""

    instances: isl.UnionSet
    body: Node


@dataclass(frozen=True)
class Block:
    """A block holds parts that run one after the other."""

    parts: tuple[BlockPart, ...]


@dataclass(frozen=True)
class Leaf:
    """A leaf holds the names of statements that run inside no further loop."""

    statements: tuple[str, ...]


Node = Union[Loop, Block, Leaf]


def block(parts: list[BlockPart]) -> Node:
    """Returns the parts as a block, or as the body of the only part. A part that is a block itself is replaced by its own parts."""
    flat = [
        BlockPart(part.instances.intersect(inner.instances), inner.body)
        for part in parts
        for inner in (part.body.parts if isinstance(part.body, Block) else (BlockPart(part.instances, part.body),))
    ]
    return Block(tuple(flat)) if len(flat) > 1 else flat[0].body


def children(node: Node) -> tuple[Node, ...]:
    """Returns a loop's body, a block's parts, or nothing for a leaf."""
    if isinstance(node, Loop):
        return (node.body,)
    return tuple(part.body for part in node.parts) if isinstance(node, Block) else ()


def at(node: Node, path: Path) -> Node:
    """Returns the node that a path leads to: from `node` on, each number of it is the position of a child to go down to."""
    for step in path:
        node = children(node)[step]
    return node


def replaced(node: Node, path: Path, new: Node) -> Node:
    """Returns the tree with the node `new` in place of the one that `path` leads to: positions of children, from the top on."""
    if not path or isinstance(node, Leaf):
        return new
    step, *rest = path
    if isinstance(node, Loop):
        return replace(node, body=replaced(node.body, tuple(rest), new))
    parts = [replace(p, body=replaced(p.body, tuple(rest), new)) if k == step else p for k, p in enumerate(node.parts)]
    return block(parts)


def statements(node: Node) -> tuple[str, ...]:
    """Returns the names of the statements that run below the node, each once, in their order."""
    if isinstance(node, Leaf):
        return node.statements
    return tuple(dict.fromkeys(name for child in children(node) for name in statements(child)))


def loops(node: Node, path: Path = ()) -> Iterator[tuple[Path, Loop]]:
    """Yields (path, loop) for every loop in the tree, outer loops first; a path has the positions of the children on the way.

    path: the path of `node` itself, with which the others begin.
    """
    if isinstance(node, Loop):
        yield path, node
    for step, child in enumerate(children(node)):
        yield from loops(child, (*path, step))


def on(member: isl.UnionPwAff, names: tuple[str, ...]) -> isl.UnionPwAff:
    """Returns the member { S[i] -> [(e)] } restricted to the statements of these names."""
    mine = (p.domain() for p in pieces(member) if p.domain().get_tuple_name() in names)
    universe = reduce(isl.UnionSet.union, (isl.UnionSet.from_set(isl.Set.universe(d.get_space())) for d in mine))
    return member.intersect_domain(universe)


def restricted(node: Node, names: set[str]) -> Node:
    """Returns the tree with the statements of these names alone."""
    if isinstance(node, Leaf):
        return Leaf(tuple(name for name in node.statements if name in names))
    if isinstance(node, Loop):
        body = restricted(node.body, names)
        return replace(node, member=on(node.member, statements(body)), body=body)
    inside = [replace(part, body=restricted(part.body, names)) for part in node.parts if names & {*statements(part.body)}]
    return block(inside)


def pieces(member: isl.UnionPwAff) -> list[isl.PwAff]:
    """Returns the member's expression { S[i] -> [(e)] } of each statement."""
    found = member.get_pw_aff_list()
    return [found.get_at(k) for k in range(found.n_pw_aff())]


# From isl's trees, and to them


def read(schedule: isl.Schedule, known: Mapping[str, Statement]) -> Node:
    """Returns the loops of isl's schedule tree, with names.

    Loops have the names in marks of `mark_text`; without such marks they are named by the iterators that they follow. Raises
    ScheduleError for a tree with other nodes than bands, marks, sequences and sets.

    known: the statements by name.
    """
    return unique(_LoopReader(known).node(schedule.get_root().child(0), _MarksAbove()))


def from_text(tree: Tree, names: tuple[str, ...]) -> Node:
    """Returns the loops of a tree that `write` made and `parse_block` read from text.

    names: of the statements that run in it. Raises ScheduleError for another tree, isl.Error for damaged texts.
    """
    if not tree:
        return Leaf(names)
    if "sequence" in tree:
        _only(tree, {"sequence"})
        parts = []
        for item in tree["sequence"]:
            _only(item, {"filter", "child"})
            instances = isl.UnionSet(item["filter"])
            mine = tuple(name for name in names if name in polyhedra.set_names(instances))
            if mine:
                parts.append(BlockPart(instances, from_text(item.get("child", {}), mine)))
        if not parts:
            raise ScheduleError(f"no part of a sequence runs {', '.join(names)}")
        return block(parts)
    _only(tree, {"mark", "child"})
    band = tree.get("child", {})
    _only(band, {"schedule", "options", "child"})
    named = _parsed_mark(tree.get("mark", ""))
    if named is None or "schedule" not in band:
        raise ScheduleError("a loop is a band `schedule` under a mark `loop NAME`")
    members = isl.MultiUnionPwAff(band["schedule"])
    member = members.get_at(0) if len(members) == 1 else None
    if member is None or not {*names} <= {p.domain().get_tuple_name() for p in pieces(member)}:
        raise ScheduleError(f"loop `{named[0]}` is one value for each of {', '.join(names)}")
    cut = _CUT_TEXTS.get(band.get("options", ""))
    if cut is None:
        raise ScheduleError(f"loop `{named[0]}` has options that are none of {', '.join(filter(None, _CUT_TEXTS))}")
    body = from_text(band.get("child", {}), names)
    return Loop(named[0], on(member, names), body, named[1], cut)


_CUT_TEXTS = {
    "": isl.ast_loop_type.default,
    "{ separate[0] }": isl.ast_loop_type.separate,
    "{ atomic[0] }": isl.ast_loop_type.atomic,
}


def _only(tree: Tree, keys: set[str]) -> None:
    """Raises ScheduleError where the node has a key other than `keys`."""
    if unknown := {*tree} - keys:
        raise ScheduleError(f"a schedule tree of loops has no `{min(unknown)}` there")


def _parsed_mark(text: str) -> tuple[str, Directives] | None:
    """Returns a loop's name and directives from its mark, None for another mark. Raises ScheduleError for a wrong directive."""
    try:
        return parse_mark(text)
    except ValueError as problem:
        raise ScheduleError(f"the mark `{text}` is damaged: {problem}") from None


@dataclass(frozen=True)
class _MarksAbove:
    """The name ("" for none) and the directives that the marks above a node give to the next loop below."""

    name: str = ""
    directives: Directives = NO_DIRECTIVES


@dataclass(frozen=True)
class _LoopReader:
    """A reader makes loops with names from isl's schedule tree; loops without marks are named by the statements' iterators.

    known: the statements by name.
    """

    known: Mapping[str, Statement]

    def node(self, node: isl.ScheduleNode, above: _MarksAbove) -> Node:
        """Returns the loops of the subtree. Raises ScheduleError for nodes other than bands, marks, sequences, sets and leaves.

        above: the name and directives for the next loop, from the marks above it.
        """
        kind = node.get_type()
        if kind == NODE.leaf:
            return Leaf(tuple(sorted(polyhedra.set_names(node.get_universe_domain()))))
        if kind == NODE.mark:
            return self.node(node.child(0), self._under(node.mark_get_id().get_name(), above))
        if kind == NODE.band:
            return self._band(node, above)
        if kind in (NODE.sequence, NODE.set):
            filters, later = (node.child(k) for k in range(node.n_children())), _MarksAbove(directives=_inherited(above.directives))
            parts = [BlockPart(f.filter_get_filter(), self.node(f.child(0), later)) for f in filters]
            return block([part for part in parts if statements(part.body)] or parts[:1])
        raise ScheduleError(f"a schedule tree of loops has no node of the kind `{kind}`")

    def _under(self, text: str, above: _MarksAbove) -> _MarksAbove:
        """Returns the name and directives that a mark with this text gives to the next loop below it.

        above: the name and directives from marks further up, which remain where the mark says nothing.
        """
        named = _parsed_mark(text)
        if named is not None:
            return _MarksAbove(*named)
        partial = partial_results(text)
        if partial is not None:
            return _MarksAbove(directives=Directives(tile=True, parallel=True, partial=partial))
        return _MarksAbove(directives=Directives(tile=text == TILE)) if text in (TILE, POINT) else above

    def _band(self, node: isl.ScheduleNode, above: _MarksAbove) -> Node:
        """Returns a band's members as loops inside one another, around what is below the band.

        Raises ScheduleError where a mark gives a name to a band of several loops.
        """
        if above.name and node.band_n_member() != 1:
            raise ScheduleError(f"the mark of loop `{above.name}` stands above a band of {node.band_n_member()} loops")
        later = _inherited(above.directives)
        body = self.node(node.child(0), _MarksAbove(directives=later))
        for k, member in reversed(list(enumerate(band_of(node).members))):
            directives = later if k else above.directives
            cut = node.band_member_get_ast_loop_type(k)
            name = above.name or self._name(member, statements(body), directives.tile)
            body = Loop(name, member, body, directives, cut if cut in _CUTS else isl.ast_loop_type.default)
        return body

    def _name(self, member: isl.UnionPwAff, names: tuple[str, ...], is_tile: bool) -> str:
        """Returns a name for a member's loop: the iterators that the member depends on, joined by "_"; "once" without any.

        names: the statements in the loop; the first one that has such iterators gives them.
        """
        values = {piece.domain().get_tuple_name(): piece for piece in pieces(member)}
        for name in names:
            along = polyhedra.used_iterators(values[name]) if name in values else ()
            if along:
                return "_".join(self.known[name].iterators[k] for k in along) + ("_t" if is_tile else "")
        return "once"


def _inherited(directives: Directives) -> Directives:
    """Returns which of the directives in a mark above a band also hold for the loops inside the band's first loop.

    It is `tile` where the mark has no other directive than `tile` and `parallel`; else there are none.
    """
    return (
        Directives(tile=directives.tile)
        if directives in (Directives(tile=True), Directives(tile=True, parallel=True))
        else NO_DIRECTIVES
    )


def unique(node: Node) -> Node:
    """Returns the tree with loops renamed so that no statement is inside two loops of one name."""
    taken: dict[str, set[str]] = {}

    def renamed(node: Node) -> Node:
        if isinstance(node, Block):
            return Block(tuple(replace(part, body=renamed(part.body)) for part in node.parts))
        if isinstance(node, Leaf):
            return node
        mine = [taken.setdefault(name, set()) for name in statements(node)]
        name = _free(node.name, set().union(*mine))
        for names in mine:
            names.add(name)
        return replace(node, name=name, body=renamed(node.body))

    return renamed(node)


def fresh(tree: Node, name: str, mine: tuple[str, ...], others: Sequence[str]) -> str:
    """Returns a name for a new loop: the given one, with a number where another loop has it.

    mine: the statements inside the new loop; the name differs from those of other loops around any of them.
    others: further names that are taken.
    """
    return _free(name, {*others, *(loop.name for _, loop in loops(tree) if {*statements(loop)} & {*mine})})


def _free(name: str, taken: set[str]) -> str:
    """Returns the name itself where it is not taken, else the name with the smallest number from 2 on that makes it free."""
    stem, number, found = name if name.endswith("_t") else f"{name}_", 2, name
    while found in taken:
        found, number = f"{stem}{number}", number + 1
    return found


def write(domain: isl.UnionSet, tree: Node) -> isl.Schedule:
    """Returns isl's schedule tree of the loops: each is a band of one member below a mark with its name and directives.

    domain: { S[i] }, all instances that the tree runs.
    """
    return _written(isl.Schedule.from_domain(domain).get_root().child(0), tree).get_schedule()


def _written(leaf: isl.ScheduleNode, tree: Node) -> isl.ScheduleNode:
    """Returns isl's node for `tree`, which has been inserted into isl's schedule in place of the leaf."""
    if isinstance(tree, Leaf):
        return leaf
    if isinstance(tree, Block):
        filters = reduce(isl.UnionSetList.concat, (isl.UnionSetList.from_union_set(p.instances) for p in tree.parts))
        node = leaf.insert_sequence(filters)
        for k, part in enumerate(tree.parts):
            node = _written(node.child(k).child(0), part.body).parent().parent()
        return node
    node = leaf.insert_partial_schedule(together([tree.member]))
    if tree.cut in _CUTS:
        node = node.band_member_set_ast_loop_type(0, tree.cut)
    node = node.insert_mark(isl.Id(mark_text(tree.name, tree.directives)))
    return _written(node.child(0).child(0), tree.body).parent().parent()
