"""The transformations of a schedule script, as functions from loops to loops. None asks whether the new order is legal.

Each raises ScheduleError for what does not fit the tree, and says what would be accepted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import pairwise
from typing import TypeGuard

import islpy as isl

from polyml import polyhedra
from polyml.errors import ScheduleError
from polyml.model.core.printer import integer_text
from polyml.reading.input_limits import shown
from polyml.schedule.tree.bands import Band, scaled_floor
from polyml.schedule.tree.directives import Directives
from polyml.schedule.tree.loop_tree import (
    Block,
    BlockPart,
    Loop,
    Node,
    Path,
    at,
    block,
    children,
    fresh,
    loops,
    on,
    pieces,
    replaced,
    restricted,
    statements,
    unique,
)

_LARGEST = 2**31  # size of a tile, factor of a skew


def addresses(tree: Node) -> list[str]:
    """Returns the names by which scripts call the loops: `i`, or `S0.i` where several loops are named `i`."""
    return [_address(tree, loop) for _, loop in loops(tree)]


def _address(tree: Node, loop: Loop) -> str:
    """Returns the name by which scripts call a loop of the tree: `i`, or `S0.i` where several loops are named `i`."""
    if sum(other.name == loop.name for _, other in loops(tree)) == 1:
        return loop.name
    return f"{statements(loop)[0]}.{loop.name}"


def find(tree: Node, address: str) -> tuple[Path, Loop]:
    """Returns the path of a loop in the tree, and the loop itself, from its name in scripts.

    Raises ScheduleError where no loop or several loops have the name.

    address: `i`, or `S0.i` for the loop `i` around the statement S0.
    """
    if not isinstance(address, str):
        raise ScheduleError(f"a loop is called by its name, a text, not by {shown(address)}", notes=[loops_note(tree)])
    statement, _, name = address.rpartition(".")
    if statement and statement not in statements(tree):
        known = ", ".join(sorted(statements(tree)))
        raise ScheduleError(f"there is no statement `{statement}`", notes=[f"statements: {known}"])
    found = [(path, loop) for path, loop in loops(tree) if loop.name == name and (not statement or statement in statements(loop))]
    if not found:
        raise ScheduleError(f"there is no loop `{address}`", notes=[loops_note(tree)])
    if len(found) > 1:
        full = " or ".join(f"`{_address(tree, loop)}`" for _, loop in found)
        raise ScheduleError(f"there are {len(found)} loops `{address}`", notes=[f"say {full}"])
    return found[0]


def loops_note(tree: Node) -> str:
    """Returns a note that lists the names of the loops."""
    return f"loops: {', '.join(addresses(tree)) or 'none'}"


def tile(tree: Node, sizes: Mapping[str, int]) -> Node:
    """Returns the tree with loops directly inside one another cut into tiles of these sizes:

    for i, j: S  ->  for i_t, j_t: for i in its tile, j in its tile: S
    """
    if not sizes:
        raise ScheduleError("tile takes at least one loop and a size", notes=["as in tile(i=32, j=32)", loops_note(tree)])
    for name, size in sizes.items():
        _positive("tile", name, size)
    nest = nested(tree, "tile", list(sizes))
    by_path = {find(tree, name)[0]: size for name, size in sizes.items()}
    chain = [loop for _, loop in nest]
    outer: list[Loop] = []
    for path, loop in nest:
        (member,) = scaled_floor(Band((loop.member,), (False,), False), [by_path[path]]).members
        name = fresh(tree, f"{loop.name}_t", statements(loop), [made.name for made in outer])
        known = loop.directives
        outer.append(Loop(name, member, loop, Directives(tile=True, parallel=known.parallel, grid=known.grid, host=known.host)))
    points = [replace(loop, directives=replace(loop.directives, parallel=False, grid=None, host=False)) for loop in chain]
    return replaced(tree, nest[0][0], _around([*outer, *points], chain[-1].body))


def interchange(tree: Node, first: str, second: str) -> Node:
    """Returns the tree with two nested loops exchanged:

    for i: for j: S  ->  for j: for i: S
    """
    (one, _), (other, inner) = sorted((find(tree, first), find(tree, second)), key=_depth)
    if one == other:
        raise ScheduleError(f"interchange takes two loops, not `{first}` twice", notes=[loops_note(tree)])
    chain = _chain(tree, "interchange", one, other)
    chain[0], chain[-1] = chain[-1], chain[0]
    return replaced(tree, one, _around(chain, inner.body))


def fuse(tree: Node, names: Sequence[str]) -> Node:
    """Returns the tree with loops next to each other as one loop:

    for i: S   for i: T  ->  for i: S; T
    """
    if len(names) < 2:
        raise ScheduleError("fuse takes two or more loops next to each other", notes=[_fusible_note(tree)])
    found = [find(tree, name) for name in names]
    by_path = dict(found)
    if len(by_path) < len(found):
        raise ScheduleError("fuse takes each loop once", notes=[_fusible_note(tree)])
    paths = sorted(by_path)
    above, first = paths[0][:-1], paths[0][-1:]
    wanted = [(*above, first[0] + k) for k in range(len(names))] if first else []
    around = at(tree, above)
    if paths != wanted or not isinstance(around, Block):
        raise ScheduleError(f"{_listed(names)} do not stand next to each other", notes=[_fusible_note(tree)])
    joined = [by_path[path] for path in paths]
    if len({loop.directives for loop in joined}) > 1:
        told = [f"`{name}`: {', '.join(loop.directives.words()) or 'none'}" for name, (_, loop) in zip(names, found)]
        notes = [*told, "plain(loop) takes back a loop's directives"]
        raise ScheduleError("fuse takes loops with the same directives", notes=notes)
    end = first[0] + len(names)
    mine = around.parts[first[0] : end]
    member = reduce(isl.UnionPwAff.union_add, (loop.member.intersect_domain(p.instances) for p, loop in zip(mine, joined)))
    body = block([BlockPart(p.instances, loop.body) for p, loop in zip(mine, joined)])
    instances = reduce(isl.UnionSet.union, (p.instances for p in mine))
    whole = BlockPart(instances, replace(joined[0], member=member, body=body))
    return unique(replaced(tree, above, block([*around.parts[: first[0]], whole, *around.parts[end:]])))


def distribute(tree: Node, name: str, after: str | None) -> Node:
    """Returns the tree with a loop of its own for each part of a loop's body:

    for i: S; T  ->  for i: S   for i: T

    after: the statement behind which the body is cut in two; None: it is cut behind each part.
    """
    path, loop = find(tree, name)
    if not isinstance(loop.body, Block):
        raise ScheduleError(f"loop `{name}` has one part and cannot be distributed", notes=[_blocks_note(tree)])
    parts = list(loop.body.parts)
    groups = [[p] for p in parts]
    if after is not None:
        cut = [k for k, p in enumerate(parts) if isinstance(after, str) and after in statements(p.body)]
        if not cut or cut[-1] == len(parts) - 1:
            ends = dict.fromkeys(name for p in parts[:-1] for name in statements(p.body))
            raise ScheduleError(f"loop `{name}` cannot be cut behind {_called(after)}", notes=[f"it can behind {', '.join(ends)}"])
        groups = [parts[: cut[-1] + 1], parts[cut[-1] + 1 :]]
    made = []
    for group in groups:
        body, instances = block(group), reduce(isl.UnionSet.union, (p.instances for p in group))
        made.append(BlockPart(instances, replace(loop, member=on(loop.member, statements(body)), body=body)))
    return unique(replaced(tree, path, block(made)))


def skew(tree: Node, name: str, by: str, factor: int) -> Node:
    """Returns the tree with a multiple of the loop `by` added to a loop:

    for i: for j: S  ->  for i: for j + factor*i: S
    """
    if not _is_int(factor) or factor == 0 or abs(factor) > _LARGEST:
        notes = [f"at most {_LARGEST:,}"] if _is_int(factor) and factor else []
        raise ScheduleError(f"skew takes a factor other than 0, an integer, not {shown(factor)}", notes=notes)
    (path, loop), (other, along) = find(tree, name), find(tree, by)
    if path == other:
        raise ScheduleError(f"skew takes two loops, not `{name}` twice", notes=[loops_note(tree)])
    if not {*statements(loop)} <= {*statements(along)}:
        missing = ", ".join(s for s in statements(loop) if s not in statements(along))
        raise ScheduleError(f"loop `{by}` is not around {missing}, which `{name}` is around", notes=[loops_note(tree)])
    member = loop.member.add(on(along.member, statements(loop)).scale_val(isl.Val(factor)))
    return replaced(tree, path, replace(loop, member=member))


def shift(tree: Node, name: str, by: Mapping[str, isl.PwAff]) -> Node:
    """Returns the tree with statements some iterations later in a loop:

    for i: S; T  ->  for i: S of iteration i; T of iteration i - by

    by: statement -> { [] -> [(e)] }, the distance.
    """
    path, loop = find(tree, name)
    for statement in by:
        if statement not in statements(loop):
            notes = [f"it is around {', '.join(statements(loop))}"]
            raise ScheduleError(f"loop `{name}` is not around a statement `{statement}`", notes=notes)
    moved = []
    for piece in pieces(loop.member):
        distance = by.get(piece.domain().get_tuple_name())
        moved.append(piece if distance is None else piece.add(polyhedra.on_domain(distance, piece.domain())))
    member = reduce(isl.UnionPwAff.union_add, map(isl.UnionPwAff.from_pw_aff, moved))
    return replaced(tree, path, replace(loop, member=member))


def reverse(tree: Node, name: str) -> Node:
    """Returns the tree with a loop that runs backwards:

    for i upwards: S  ->  for i downwards: S
    """
    path, loop = find(tree, name)
    return replaced(tree, path, replace(loop, member=loop.member.scale_val(isl.Val(-1))))


def split(tree: Node, name: str, bound: isl.PwAff, domains: Mapping[str, isl.Set]) -> Node:
    """Returns the tree with a loop's iterations divided between two loops:

    for i: S  ->  for i < bound: S   for i >= bound: S

    bound: { [] -> [(e)] }, the value of the loop's member at which the second loop begins, in terms of the sizes.
    domains: statement -> { S[i] : ... }, its domain.
    """
    path, loop = find(tree, name)
    sides: tuple[dict[str, isl.UnionSet], dict[str, isl.UnionSet]] = {}, {}
    for piece in pieces(loop.member):
        statement = piece.domain().get_tuple_name()
        past_bound = piece.sub(polyhedra.on_domain(bound, piece.domain()))
        before_bound = past_bound.neg().add_constant_val(isl.Val(-1))
        for side, instances in zip(sides, (before_bound.nonneg_set(), past_bound.nonneg_set())):
            if not instances.intersect(domains[statement]).is_empty():
                side[statement] = isl.UnionSet.from_set(instances)
    if not all(sides):
        message = f"loop `{name}` has no iterations on both sides of {integer_text(bound)}"
        raise ScheduleError(message, notes=["whatever the sizes"])
    parts = [BlockPart(reduce(isl.UnionSet.union, side.values()), restricted(loop, {*side})) for side in sides]
    return unique(replaced(tree, path, block(parts)))


def direct(tree: Node, name: str, change: Callable[[Directives], Directives]) -> Node:
    """Returns the tree with the directives of a loop changed by `change`."""
    path, loop = find(tree, name)
    return replaced(tree, path, replace(loop, directives=change(loop.directives)))


def plain(tree: Node, name: str) -> Node:
    """Returns the tree without the directives of a loop; a loop over tiles remains one."""
    return direct(tree, name, lambda directives: Directives(tile=directives.tile))


# What the transformations accept


def _positive(step: str, name: str, size: object) -> None:
    """Raises ScheduleError for a tile size that is no positive integer, or too large.

    step, name: the method and the loop, for the message.
    """
    if not _is_int(size) or not 1 <= size <= _LARGEST:
        notes = [f"at most {_LARGEST:,}"] if _is_int(size) and size > 1 else []
        raise ScheduleError(f"{step} takes a size of at least 1 for {_called(name)}, not {shown(size)}", notes=notes)


def _called(name: object) -> str:
    return f"`{name}`" if type(name) is str else shown(name)


def _is_int(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _depth(found: tuple[Path, Loop]) -> int:
    return len(found[0])


def nested(tree: Node, step: str, names: Sequence[str]) -> list[tuple[Path, Loop]]:
    """Returns the named loops with their paths, outermost first. Raises ScheduleError unless they are directly inside one another.

    step: the method that takes them, for messages.
    """
    found = sorted((find(tree, name) for name in names), key=_depth)
    if len(dict(found)) < len(found):
        raise ScheduleError(f"{step} takes each loop once", notes=[loops_note(tree)])
    chain = _chain(tree, step, found[0][0], found[-1][0])
    if len(chain) != len(found):
        named = [loop.name for _, loop in found]
        skipped = ", ".join(f"`{loop.name}`" for loop in chain if loop.name not in named)
        raise ScheduleError(
            f"{step} takes loops directly inside one another: between {_listed(names)} is {skipped}",
            notes=[f"{step} it too, or interchange it first"],
        )
    return found


def _chain(tree: Node, step: str, first: Path, last: Path) -> list[Loop]:
    """Returns the loops from path `first` down to path `last`, each of which is the whole body of the one before.

    Raises ScheduleError where `last` is not inside `first`, or other nodes are between them.

    step: the method that takes these loops, for messages.
    """
    if last[: len(first)] != first:
        by_path = dict(loops(tree))
        names = f"`{_address(tree, by_path[first])}` and `{_address(tree, by_path[last])}`"
        raise ScheduleError(f"{step} takes loops inside one another, which {names} are not", notes=[loops_note(tree)])
    chain: list[Loop] = []
    for node in (at(tree, last[:k]) for k in range(len(first), len(last) + 1)):
        if not isinstance(node, Loop):
            parts = "; ".join(", ".join(statements(child)) for child in children(node))
            raise ScheduleError(
                f"{step} takes loops directly inside one another: inside `{chain[0].name}` the parts {parts} follow each other",
                notes=[f"distribute(`{chain[0].name}`) gives each part a loop of its own, where that is legal"],
            )
        chain.append(node)
    return chain


def _around(chain: Sequence[Loop], body: Node) -> Node:
    """Returns the body inside copies of the loops, of which the first is outermost."""
    for loop in reversed(chain):
        body = replace(loop, body=body)
    return body


def _listed(names: Sequence[str]) -> str:
    quoted = [f"`{name}`" for name in names]
    return f"{', '.join(quoted[:-1])} and {quoted[-1]}" if len(quoted) > 1 else quoted[0]


def _fusible_note(tree: Node) -> str:
    """Returns a note that lists the pairs of loops that stand next to each other."""
    found = [f"{_address(tree, first)} and {_address(tree, second)}" for first, second in _neighbours(tree)]
    return f"next to each other: {'; '.join(found) or 'none'}"


def _neighbours(node: Node) -> Iterator[tuple[Loop, Loop]]:
    """Yields the pairs of loops that follow each other directly in a block, in the whole tree."""
    inside = children(node)
    if isinstance(node, Block):
        for first, second in pairwise(inside):
            if isinstance(first, Loop) and isinstance(second, Loop):
                yield first, second
    for child in inside:
        yield from _neighbours(child)


def _blocks_note(tree: Node) -> str:
    names = [_address(tree, loop) for _, loop in loops(tree) if isinstance(loop.body, Block)]
    return f"loops of several parts: {', '.join(names) or 'none'}"
