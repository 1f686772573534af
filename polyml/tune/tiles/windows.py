"""Programs of some of the tiles, which are simulated in place of the whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import islpy as isl

from polyml import polyhedra
from polyml.codegen.ir.program import Instance, Loop, Node, Program, with_body
from polyml.quasi_affine.affine import Affine
from polyml.schedule.script import transforms
from polyml.schedule.script.schedule import Schedule
from polyml.schedule.tree import loop_tree

Ends = tuple[int, int]  # the first and the last value of a loop


def ends(source: Schedule, name: str, sizes: Mapping[str, int], domain: isl.UnionSet | None = None) -> Ends:
    """Returns (first, last), the least and the greatest value that a loop of the source has over all iterations of the loops around
    it; (0, -1) where no instance is in it.

    name: the loop's, such as "S0.i".
    sizes: values of parameters.
    domain: { S[i] }, the instances that count; None: all.
    """
    _, loop = transforms.find(source.loops, name)
    times = isl.UnionMap.from_union_pw_aff(loop.member).intersect_domain(source.problem.scop.domain if domain is None else domain)
    values = [polyhedra.fix(each, sizes) for each in polyhedra.pieces(times.range())]
    values = [each for each in values if not each.is_empty()]
    if not values:
        return 0, -1
    firsts, lasts = zip(*(polyhedra.range_of_dimension(each, 0) for each in values))
    return min(firsts), max(lasts)


@dataclass(frozen=True)
class Tiled:
    """A Tiled is the source's nests in tiles of one size.

    nests: the names of the loops that are tiled, such as "S0.i", for each nest.
    sizes: of the tiles.
    tree: the schedule in tiles.
    names: the names of the loops over tiles, for each nest.
    """

    source: Schedule
    nests: tuple[tuple[str, ...], ...]
    sizes: tuple[int, ...]
    tree: isl.Schedule
    names: tuple[tuple[str, ...], ...]

    def window(self, values: Mapping[str, int], instances: int, most: int) -> dict[str, Ends]:
        """Returns {name of a loop over tiles: its first and last value} for a window: a part of about `most` instances in the
        middle of the program. Loops that run completely in the window are left out.

        values: of parameters.
        instances: how many the program has.
        """
        domain = self.source.problem.scop.domain
        found: dict[str, Ends] = {}
        for k, size in enumerate(self.sizes):
            if instances <= most:
                break
            each = [ends(self.source, names[k], values, domain) for names in self.nests]
            extent = max(high - low + 1 for low, high in each)
            kept = max(size, extent * most // instances // size * size)
            parts = [_middle(low, high, kept, size) for low, high in each]
            domain = self._within(domain, k, parts)
            instances = instances * min(kept, extent) // extent
            for names, (first, last) in zip(self.names, parts):
                before = found.get(names[k], (first, last))
                found[names[k]] = min(first, before[0]), max(last, before[1])
        return found

    def _within(self, domain: isl.UnionSet, k: int, parts: Sequence[Ends]) -> isl.UnionSet:
        """Returns the instances of `domain` for which the k-th loop of their nest has a value in the range that `parts` gives for
        the nest, and those outside all nests.

        k: the loop's position in each nest, 0 for the outermost.
        parts: (first value, last value) for each nest.
        """
        parts_: list[isl.UnionSet] = []
        for names, (first, last) in zip(self.nests, parts):
            for member in loop_tree.pieces(transforms.find(self.source.loops, names[k])[1].member):
                inside = member.ge_set(_constant(member, first)).intersect(member.le_set(_constant(member, last)))
                parts_.append(isl.UnionSet.from_set(member.domain().intersect(inside)))
        found = reduce(isl.UnionSet.union, parts_)
        others = self.source.problem.scop.domain.subtract(isl.UnionSet.universe(found))
        return domain.intersect(found.union(others))


def tiled(source: Schedule, nests: Sequence[Sequence[str]], sizes: Sequence[int]) -> Tiled:
    """Returns the source with each of the nests in tiles of the same sizes.

    Raises ScheduleError for loops that are not directly inside one another.

    nests: the names of the loops of each nest, such as "S0.i".
    """
    tree = source.loops
    found: list[tuple[str, ...]] = []
    for names in nests:
        path, _ = transforms.find(tree, names[0])
        tree = transforms.tile(tree, dict(zip(names, sizes)))
        node = loop_tree.at(tree, path)
        own: list[str] = []
        while isinstance(node, loop_tree.Loop) and len(own) < len(names):
            own.append(node.name)
            node = node.body
        found.append(tuple(own))
    written = loop_tree.write(source.problem.scop.domain, tree)
    return Tiled(source, tuple(map(tuple, nests)), tuple(sizes), written, tuple(found))


def within(program: Program, window: Mapping[str, Ends]) -> Program:
    """Returns a smaller program: the loops over tiles that are in `window` run only from the first to the last value that it has
    for them.

    window: {name of a loop over tiles: (first value, last value)}.
    """
    return replace(program, body=tuple(_within(node, window) for node in program.body))


def _within(node: Node, window: Mapping[str, Ends]) -> Node:
    """Returns the node with its loops over tiles limited to their values in `window`, as `within` does for a whole program."""
    if isinstance(node, Instance):
        return node
    found = with_body(node, tuple(_within(inside, window) for inside in node.body))
    if isinstance(found, Loop) and found.directives.tile and found.name in window:
        first, last = window[found.name]
        return replace(found, lower=(*found.lower, Affine(first)), upper=(*found.upper, Affine(last)))
    return found


def _middle(low: int, high: int, count: int, size: int) -> Ends:
    """Returns (first, last) of `count` successive values in the middle of the range low ... high. The first is a multiple of the
    tile size `size`: both are moved down where needed.
    """
    first = low + max(0, high - low + 1 - count) // 2
    first -= first % size
    return first, first + count - 1


def _constant(like: isl.PwAff, value: int) -> isl.PwAff:
    """Returns the expression { S[i] -> [(value)] } with the same domain space as the expression `like`."""
    space = like.get_domain_space()
    return isl.PwAff.from_aff(isl.Aff.val_on_domain(isl.LocalSpace.from_space(space), isl.Val(value)))
