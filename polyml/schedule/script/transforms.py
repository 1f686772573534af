"""The transformations of a script, as functions from loops to loops. None asks whether the new order is legal.

Each refuses, by ScheduleError, what does not fit the tree, and says what would be accepted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce

import islpy as isl

from polyml import polyhedra
from polyml.errors import ScheduleError
from polyml.model.core.printer import integer_text
from polyml.reading.input_limits import shown
from polyml.schedule.tree.bands import Band, scaled_floor
from polyml.schedule.tree.directives import Directives
from polyml.schedule.tree.loop_tree import (
    Block,
    Leaf,
    Loop,
    Node,
    Part,
    Path,
    at,
    block,
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
    """How each loop is called: by its name, or as `S0.i` where several have that name."""
    return [_address(tree, path) for path, _ in loops(tree)]


def _address(tree: Node, path: Path) -> str:
    loop = at(tree, path)
    if sum(other.name == loop.name for _, other in loops(tree)) == 1:
        return loop.name
    return f"{statements(loop)[0]}.{loop.name}"


def find(tree: Node, address: str) -> Path:
    """Where the loop `i`, or `S0.i` around the statement S0, stands."""
    if not isinstance(address, str):
        raise ScheduleError(f"a loop is called by its name, a text, not by {shown(address)}", notes=[_loops_note(tree)])
    statement, _, name = address.rpartition(".")
    if statement and statement not in statements(tree):
        known = ", ".join(sorted(statements(tree)))
        raise ScheduleError(f"there is no statement `{statement}`", notes=[f"statements: {known}"])
    found = [path for path, loop in loops(tree) if loop.name == name and (not statement or statement in statements(loop))]
    if not found:
        raise ScheduleError(f"there is no loop `{address}`", notes=[_loops_note(tree)])
    if len(found) > 1:
        full = " or ".join(f"`{_address(tree, path)}`" for path in found)
        raise ScheduleError(f"there are {len(found)} loops `{address}`", notes=[f"say {full}"])
    return found[0]


def _loops_note(tree: Node) -> str:
    return f"loops: {', '.join(addresses(tree)) or 'none'}"


def tile(tree: Node, sizes: Mapping[str, int]) -> Node:
    """for i, j: S  ->  for i_t, j_t: for i in its tile, j in its tile: S"""
    if not sizes:
        raise ScheduleError("tile takes at least one loop and a size", notes=["as in tile(i=32, j=32)", _loops_note(tree)])
    for name, size in sizes.items():
        _positive("tile", name, size)
    paths = _nested(tree, "tile", list(sizes))
    by_path = {find(tree, name): size for name, size in sizes.items()}
    chain = [at(tree, path) for path in paths]
    outer: list[Loop] = []
    for path, loop in zip(paths, chain):
        (member,) = scaled_floor(Band((loop.member,), (False,), False), [by_path[path]]).members
        name = fresh(tree, f"{loop.name}_t", statements(loop), [made.name for made in outer])
        outer.append(Loop(name, member, loop, Directives(tile=True, parallel=loop.directives.parallel)))
    points = [replace(loop, directives=replace(loop.directives, parallel=False)) for loop in chain]
    return replaced(tree, paths[0], _around([*outer, *points], chain[-1].body))


def interchange(tree: Node, first: str, second: str) -> Node:
    """for i: for j: S  ->  for j: for i: S"""
    one, other = sorted((find(tree, first), find(tree, second)), key=len)
    if one == other:
        raise ScheduleError(f"interchange takes two loops, not `{first}` twice", notes=[_loops_note(tree)])
    chain = _chain(tree, "interchange", one, other)
    chain[0], chain[-1] = chain[-1], chain[0]
    return replaced(tree, one, _around(chain, at(tree, other).body))


def fuse(tree: Node, names: Sequence[str]) -> Node:
    """for i: S   for i: T  ->  for i: S; T"""
    if len(names) < 2:
        raise ScheduleError("fuse takes two or more loops next to each other", notes=[_fusible_note(tree)])
    paths = [find(tree, name) for name in names]
    if len(set(paths)) < len(paths):
        raise ScheduleError("fuse takes each loop once", notes=[_fusible_note(tree)])
    order = sorted(range(len(paths)), key=lambda k: paths[k])
    above, first = paths[order[0]][:-1], paths[order[0]][-1:]
    wanted = [(*above, first[0] + k) for k in range(len(names))] if first else []
    if [paths[k] for k in order] != wanted or not isinstance(at(tree, above), Block):
        raise ScheduleError(f"{_listed(names)} do not stand next to each other", notes=[_fusible_note(tree)])
    joined = [at(tree, path) for path in wanted]
    if len({loop.directives for loop in joined}) > 1:
        asked = [f"`{name}`: {', '.join(at(tree, find(tree, name)).directives.words()) or 'nothing'}" for name in names]
        notes = [*asked, "plain(loop) takes back what was asked"]
        raise ScheduleError("fuse takes loops of which the same is asked", notes=notes)
    parts = at(tree, above).parts
    mine = parts[first[0] : first[0] + len(names)]
    member = reduce(isl.UnionPwAff.union_add, (p.body.member.intersect_domain(p.instances) for p in mine))
    whole = replace(joined[0], member=member, body=block([Part(p.instances, p.body.body) for p in mine]))
    instances = reduce(isl.UnionSet.union, (p.instances for p in mine))
    rest = [*parts[: first[0]], Part(instances, whole), *parts[first[0] + len(names) :]]
    return unique(replaced(tree, above, block(rest)))


def distribute(tree: Node, name: str, after: str | None) -> Node:
    """for i: S; T  ->  for i: S   for i: T"""
    path = find(tree, name)
    loop = at(tree, path)
    if not isinstance(loop.body, Block):
        raise ScheduleError(f"loop `{name}` has one part and cannot be distributed", notes=[_blocks_note(tree)])
    parts = list(loop.body.parts)
    groups = [[p] for p in parts]
    if after is not None:
        cut = [k for k, p in enumerate(parts) if after in statements(p.body)]
        if not cut or cut[-1] == len(parts) - 1:
            ends = dict.fromkeys(name for p in parts[:-1] for name in statements(p.body))
            raise ScheduleError(f"loop `{name}` cannot be cut behind `{after}`", notes=[f"it can behind {', '.join(ends)}"])
        groups = [parts[: cut[-1] + 1], parts[cut[-1] + 1 :]]
    made = []
    for group in groups:
        body, instances = block(group), reduce(isl.UnionSet.union, (p.instances for p in group))
        made.append(Part(instances, replace(loop, member=on(loop.member, statements(body)), body=body)))
    return unique(replaced(tree, path, block(made)))


def skew(tree: Node, name: str, by: str, factor: int) -> Node:
    """for i: for j: S  ->  for i: for j + factor*i: S"""
    if not _is_int(factor) or factor == 0 or abs(factor) > _LARGEST:
        notes = [f"at most {_LARGEST:,}"] if _is_int(factor) and factor else []
        raise ScheduleError(f"skew takes a factor other than 0, an integer, not {shown(factor)}", notes=notes)
    path, other = find(tree, name), find(tree, by)
    if path == other:
        raise ScheduleError(f"skew takes two loops, not `{name}` twice", notes=[_loops_note(tree)])
    loop, along = at(tree, path), at(tree, other)
    if not {*statements(loop)} <= {*statements(along)}:
        missing = ", ".join(s for s in statements(loop) if s not in statements(along))
        raise ScheduleError(f"loop `{by}` is not around {missing}, which `{name}` is around", notes=[_loops_note(tree)])
    member = loop.member.add(on(along.member, statements(loop)).scale_val(isl.Val(factor)))
    return replaced(tree, path, replace(loop, member=member))


def shift(tree: Node, name: str, by: Mapping[str, isl.PwAff]) -> Node:
    """for i: S; T  ->  for i: S of iteration i; T of iteration i - by. by: statement -> { [] -> [(e)] }"""
    path = find(tree, name)
    loop = at(tree, path)
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
    """for i upwards: S  ->  for i downwards: S"""
    path = find(tree, name)
    loop = at(tree, path)
    return replaced(tree, path, replace(loop, member=loop.member.scale_val(isl.Val(-1))))


def split(tree: Node, name: str, place: isl.PwAff, domains: Mapping[str, isl.Set]) -> Node:
    """for i: S  ->  for i < at: S   for i >= at: S. domains: statement -> { S[i] : ... }"""
    path = find(tree, name)
    loop = at(tree, path)
    sides: tuple[dict[str, isl.UnionSet], dict[str, isl.UnionSet]] = {}, {}
    for piece in pieces(loop.member):
        statement = piece.domain().get_tuple_name()
        ahead = piece.sub(polyhedra.on_domain(place, piece.domain()))  # of the place to split at
        behind = ahead.neg().add_constant_val(isl.Val(-1))
        for side, instances in zip(sides, (behind.nonneg_set(), ahead.nonneg_set())):
            if not instances.intersect(domains[statement]).is_empty():
                side[statement] = isl.UnionSet.from_set(instances)
    if not all(sides):
        message = f"loop `{name}` has no iterations on both sides of {integer_text(place)}"
        raise ScheduleError(message, notes=["whatever the sizes"])
    parts = [Part(reduce(isl.UnionSet.union, side.values()), restricted(loop, {*side})) for side in sides]
    return unique(replaced(tree, path, block(parts)))


def with_directives(tree: Node, name: str, **asked: object) -> Node:
    """The loop asked for something more."""
    path = find(tree, name)
    loop = at(tree, path)
    return replaced(tree, path, replace(loop, directives=replace(loop.directives, **asked)))


def plain(tree: Node, name: str) -> Node:
    """The loop without what it was asked, but for going over tiles."""
    path = find(tree, name)
    loop = at(tree, path)
    return replaced(tree, path, replace(loop, directives=Directives(tile=loop.directives.tile)))


# what fits


def _positive(step: str, name: str, size: object) -> None:
    if not _is_int(size) or not 1 <= size <= _LARGEST:
        notes = [f"at most {_LARGEST:,}"] if _is_int(size) and size > 1 else []
        raise ScheduleError(f"{step} takes a size of at least 1 for {_called(name)}, not {shown(size)}", notes=notes)


def _called(name: object) -> str:
    return f"`{name}`" if type(name) is str else shown(name)


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _nested(tree: Node, step: str, names: Sequence[str]) -> list[Path]:
    """The paths of loops that are directly inside one another, from the outermost one on."""
    paths = sorted((find(tree, name) for name in names), key=len)
    if len(set(paths)) < len(paths):
        raise ScheduleError(f"{step} takes each loop once", notes=[_loops_note(tree)])
    chain = _chain(tree, step, paths[0], paths[-1])
    if len(chain) != len(paths):
        named = [at(tree, path).name for path in paths]
        between = ", ".join(f"`{loop.name}`" for loop in chain if loop.name not in named)
        raise ScheduleError(
            f"{step} takes loops directly inside one another: between {_listed(names)} is {between}",
            notes=[f"{step} it too, or interchange it first"],
        )
    return paths


def _chain(tree: Node, step: str, first: Path, last: Path) -> list[Loop]:
    """The loops from one to another, each the only node in the one before."""
    chain = [at(tree, last[:k]) for k in range(len(first), len(last) + 1)]
    if last[: len(first)] != first:
        names = f"`{_address(tree, first)}` and `{_address(tree, last)}`"
        raise ScheduleError(f"{step} takes loops inside one another, which {names} are not", notes=[_loops_note(tree)])
    for loop in chain:
        if not isinstance(loop, Loop):
            parts = "; ".join(", ".join(statements(p.body)) for p in loop.parts)
            raise ScheduleError(
                f"{step} takes loops directly inside one another: inside `{chain[0].name}` the parts {parts} follow each other",
                notes=[f"distribute(`{chain[0].name}`) gives each part a loop of its own, where that is legal"],
            )
    return chain


def _around(chain: Sequence[Loop], body: Node) -> Node:
    for loop in reversed(chain):
        body = replace(loop, body=body)
    return body


def _listed(names: Sequence[str]) -> str:
    quoted = [f"`{name}`" for name in names]
    return f"{', '.join(quoted[:-1])} and {quoted[-1]}" if len(quoted) > 1 else quoted[0]


def _fusible_note(tree: Node) -> str:
    """The loops that stand next to each other."""
    found = []

    def look(node: Node, path: Path) -> None:
        if isinstance(node, Leaf):
            return
        inside = (node.body,) if isinstance(node, Loop) else tuple(p.body for p in node.parts)
        if isinstance(node, Block):
            pairs = zip(range(len(inside)), inside, inside[1:])
            found.extend(
                f"{_address(tree, (*path, k))} and {_address(tree, (*path, k + 1))}"
                for k, a, b in pairs
                if isinstance(a, Loop) and isinstance(b, Loop)
            )
        for k, child in enumerate(inside):
            look(child, (*path, k))

    look(tree, ())
    return f"next to each other: {'; '.join(found) or 'none'}"


def _blocks_note(tree: Node) -> str:
    names = [_address(tree, path) for path, loop in loops(tree) if isinstance(loop.body, Block)]
    return f"loops of several parts: {', '.join(names) or 'none'}"
