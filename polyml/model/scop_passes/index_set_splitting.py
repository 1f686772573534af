"""Index-set splitting: the domain of a statement is divided into pieces, each a statement of its own in the same loops.

    for k, i, j:                                       for k, i, j:
        A[i, j] = f(A[i, j], A[i, k], A[k, j])   ->        j < k: S_0[k, i, j];   j = k: S_1[k, i, j];   j > k: S_2[k, i, j]

Griebl, Feautrier and Lengauer, "Index set splitting", IJPP 28(6), 2000. Where to divide follows from the dependences: within one
iteration of outer loops, the sources of dependences are often a thin set of instances (a row and a column above), or sources and
sinks are different instances. Where no piece then has a dependence within itself, its inner loops are parallel.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import islpy as isl

from polyml import polyhedra
from polyml.model.core.dependence import Dependences
from polyml.model.core.nest import map_leaves
from polyml.model.core.scop import Access, Index, Scop, Statement, Value

MOST_PIECES = 27  # of a statement: three along each of three loops
SHORT = 16  # iterations of a loop that gains nothing by being free


def split(scop: Scop, pieces: Mapping[str, Sequence[isl.Set]]) -> Scop:
    """Returns the SCoP with some statements divided into one for each piece of their domains; all instances run in the same order.

    pieces: by statement, disjoint sets { S[i] } whose union is its domain
    """
    if not pieces:
        return scop
    statements: dict[str, Statement] = {}
    origins: list[isl.PwMultiAff] = []
    for s in scop.statements.values():
        own = pieces.get(s.name)
        parts = [s] if own is None else [restricted(s, piece, name) for piece, name in zip(own, piece_names(s.name, own))]
        statements |= {part.name: part for part in parts}
        origins += [polyhedra.renamed(part.domain, s.name) for part in parts]
    schedule = scop.schedule.pullback_union_pw_multi_aff(polyhedra.union_of_functions(origins))
    made = replace(scop, statements=statements)
    return replace(made, schedule=schedule.intersect_domain(made.domain))


def piece_names(name: str, pieces: Sequence[isl.Set]) -> tuple[str, ...]:
    """Returns the names that `split` gives to the pieces of a statement."""
    return tuple(f"{name}_{k}" for k in range(len(pieces)))


def restricted(statement: Statement, piece: isl.Set, name: str) -> Statement:
    """Returns a statement called `name` that has some of the instances of another one, with its subscripts simplified for them.

    piece: the instances, { S[i] }
    """
    domain = polyhedra.with_iterators(piece.set_tuple_name(name), statement.iterators)

    def there(value: isl.PwAff) -> isl.PwAff:
        return polyhedra.rename_domain(polyhedra.on_piece(value, piece), name)

    def access(a: Access) -> Access:
        return replace(a, relation=polyhedra.rename_domain(a.relation, name), subscripts=tuple(map(there, a.subscripts)))

    def leaf(value: Value) -> Value:
        return replace(value, value=there(value.value)) if isinstance(value, Index) else value

    return replace(
        statement,
        name=name,
        domain=domain,
        writes=(access(statement.write),),
        reads=tuple(map(access, statement.reads)),
        value=map_leaves(statement.value, leaf),
    )


@dataclass(frozen=True)
class Partition:
    """A Partition divides a statement's domain into pieces, so that no two instances of the same piece depend on each other.

    This holds within each iteration of the `depth` outer loops, not from one to another.

    pieces: disjoint sets { S[i] } whose union is the domain
    """

    pieces: tuple[isl.Set, ...]
    depth: int


def freeing_partitions(scop: Scop, found: Dependences) -> dict[str, Partition]:
    """Returns, by statement, a partition of its domain after which dependences lead only from one piece to another.

    It is for statements whose instances depend on each other; those that cannot be divided so, or gain nothing, are left out.

    found: the dependences of the SCoP
    """
    partitions = ((s.name, _freeing_partition(s, found)) for s in scop.statements.values())
    return {name: partition for name, partition in partitions if partition is not None}


def _freeing_partition(statement: Statement, found: Dependences) -> Partition | None:
    """Returns the partition of a statement's domain into independent pieces whose `depth` is the least possible.

    The result is None where the statement cannot be divided so, or gains nothing.
    """
    domain = statement.domain
    own = [polyhedra.extract_map(relation, domain, domain).coalesce() for relation in (found.flow, found.anti)]
    every = polyhedra.extract_map(found.validity, domain, domain)
    for depth in range(len(statement.iterators)):
        inside = [m.intersect(polyhedra.equal_first(m, depth)) for m in own]
        waiting = [basic for m in inside for basic in m.get_basic_maps()]
        if not waiting:
            return None
        if not all(map(_are_separate, waiting)):
            continue
        moved = [d for d in range(depth, len(statement.iterators)) if any(polyhedra.differ(m, d) for m in inside)]
        if all(_is_short(domain, dim) for dim in moved):
            return None
        order = every.intersect(polyhedra.equal_first(every, depth))
        for only_hyperplanes in (True, False):
            parts = _pieces(domain, [c for basic in waiting for c in _sides(basic, domain, depth, only_hyperplanes)])
            if 1 < len(parts) <= MOST_PIECES and all(order.intersect_domain(p).intersect_range(p).is_empty() for p in parts):
                return Partition(parts, depth)
    return None


def _is_short(domain: isl.Set, dim: int) -> bool:
    return polyhedra.is_within(polyhedra.along(domain, dim), SHORT)


def _are_separate(waiting: isl.BasicMap) -> bool:
    """Returns whether no instance is both a source and a sink of a dependence, except for a set of lower dimension.

    waiting: { S[i] -> S[j] : S[j] has to wait for S[i] }
    """
    both = waiting.domain().intersect(waiting.range())
    return both.is_empty() or not polyhedra.is_full(isl.Set.from_basic_set(both))


def _sides(waiting: isl.BasicMap, domain: isl.Set, depth: int, only_hyperplanes: bool) -> Iterator[tuple[isl.Set, ...]]:
    """Yields ways to cut the space of a statement's iterators in parts, one for each constraint on the sources or the sinks.

    waiting: { S[i] -> S[j] : S[j] has to wait for S[i] }
    domain: the statement's domain; constraints that it implies do not count
    depth: only constraints on dimensions from this one on count
    only_hyperplanes: whether only equalities count
    """
    for side in (waiting.domain(), waiting.range()):
        yield from polyhedra.hyperplane_sides(isl.Set.from_basic_set(side).gist(domain), depth, only_hyperplanes)


def _pieces(domain: isl.Set, partitions: Sequence[tuple[isl.Set, ...]]) -> tuple[isl.Set, ...]:
    """Returns the domain divided into pieces, each of which lies in one part of every partition of the space."""
    parts = [domain]
    for sides in partitions:
        if len(parts) <= MOST_PIECES:
            parts = [p for part in parts for side in sides if not (p := part.intersect(side)).is_empty()]
    return tuple(part.remove_redundancies() for part in parts)
