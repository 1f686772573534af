"""Loops over the same array that are as long in the call that code is for are as long in all calls that run this code.

        A[i, 1:-1] += B[i, 1:-1]                                         size A_1 of A is the size A_0
        for j in range(1, A_0 - 1): A[i, j] += A[i, j - 1]       ->      in both nests, where A is square in the call

Which sizes are equal is tested at entry; other calls run other code, which takes nothing for granted. Where loops are as long, the
statements in them can be one, share tiles, and are fewer cases for isl. (Multi-versioning: Byler et al., "Multiple version loops",
ICPP 1987.)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations, product

from polyml.model.core.call_interface import NEAR, SizeRelation, size_relations
from polyml.model.core.nest import Assign, Loop, Nest, Node, substituted_in
from polyml.quasi_affine import affine as af
from polyml.quasi_affine.affine import Affine

Extents = Mapping[tuple[str, int], int]  # by array and dimension

_MOST_LOOPS = 40  # in one block, all pairs of which are compared


def unified(nest: Nest, extents: Extents | None) -> Nest:
    """Returns the nest for calls in which sizes are related as in the one call that is known, where loops over a dimension of one
    array are then as long as each other; these relations are in its `related`.

    extents: the extents in that call; None: they are not known.
    """
    known = {} if extents is None else _related(nest, extents)
    wanted = set(_wanted(nest.body, known)) if known else set()
    if not wanted:
        return nest
    names = {name: known[name].value for name in wanted}
    arrays = {name: replace(info, shape=tuple(e.substitute(names) for e in info.shape)) for name, info in nest.arrays.items()}
    body = tuple(substituted_in(node, names) for node in nest.body)
    related = tuple(each.relation for name, each in known.items() if name in wanted)
    return replace(nest, body=body, arrays=arrays, related=related)


@dataclass(frozen=True)
class _Related:
    """A _Related is what a size is in calls in which a relation holds.

    value: an affine expression of the other size
    """

    relation: SizeRelation
    value: Affine


def _related(nest: Nest, extents: Extents) -> dict[str, _Related]:
    """Returns by parameter the relations that hold for the extents between sizes on which loops depend."""
    used = set().union(*_bounds(nest.body))
    names = {(p.array, p.dim): p.name for p in nest.parameters if p.array is not None and p.is_size and p.name in used}
    found = size_relations(((*place, extents[place]) for place in names if place in extents), of_any_dim=True)
    return {names[r.name, r.dim]: _Related(r, af.variable(names[r.other, r.other_dim]) + r.difference) for r in found}


def _bounds(body: tuple[Node, ...]) -> Iterator[frozenset[str]]:
    """Yields the names in the bounds of each loop of a body."""
    for node in body:
        if isinstance(node, Loop):
            yield node.start.names | node.stop.names
        if not isinstance(node, Assign):
            yield from _bounds(node.body)


@dataclass(frozen=True)
class _Uses:
    """A _Uses says how a nest uses arrays.

    lengths: by array and dimension, how far the iterators run that a subscript there is, plus what stays the same in the nest
    written: the arrays that it writes
    """

    lengths: Mapping[tuple[str, int], set[Affine]]
    written: frozenset[str]


def _wanted(body: tuple[Node, ...], known: Mapping[str, _Related]) -> Iterator[str]:
    """Yields the sizes that have to be what they are in the call so that two nests of one block, of which one writes what the other
    uses, have loops of the same length over a dimension of that array, but for at most NEAR iterations.
    """
    values = {name: each.value for name, each in known.items()}
    for one, other in combinations(map(_uses, [node for node in body if isinstance(node, Loop)][:_MOST_LOOPS]), 2):
        for place in one.lengths.keys() & other.lengths.keys():
            if place[0] in one.written | other.written:
                for mine, its in product(one.lengths[place], other.lengths[place]):
                    difference = (mine - its).substitute(values)
                    if difference.is_constant and abs(difference.constant) <= NEAR:
                        yield from (mine - its).names & known.keys()
    for node in body:
        if not isinstance(node, Assign):
            yield from _wanted(node.body, known)


def _uses(nest: Loop) -> _Uses:
    """Returns how a nest uses arrays."""
    lengths: defaultdict[tuple[str, int], set[Affine]] = defaultdict(set)
    written: set[str] = set()

    def visit(node: Node, loops: Mapping[str, Affine]) -> None:
        if isinstance(node, Loop):
            length = node.stop - node.start if node.step > 0 else node.start - node.stop
            loops = {**loops, node.iterator: length}
        if not isinstance(node, Assign):
            for inner in node.body:
                visit(inner, loops)
            return
        written.add(node.array)
        accesses = [(node.array, node.subscripts), *((r.array, r.subscripts) for r in node.reads)]
        for array, subscripts in accesses:
            for dim, subscript in enumerate(subscripts):
                moving = subscript.names & loops.keys()
                if len(moving) == 1 and subscript.coefficient(name := min(moving)) in (1, -1):
                    lengths[array, dim].add(loops[name])

    visit(nest, {})
    return _Uses(lengths, frozenset(written))
