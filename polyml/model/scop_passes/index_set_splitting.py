"""Index-set splitting: the domain of a statement cut into pieces, each a statement of its own in the same loops.

    for k, i, j:                                       for k, i, j:
        A[i, j] = f(A[i, j], A[i, k], A[k, j])   ->        j < k: S_0[k, i, j];   j = k: S_1[k, i, j];   j > k: S_2[k, i, j]

Griebl, Feautrier and Lengauer, "Index set splitting", IJPP 28(6), 2000. Where to cut comes from the dependences: what others
wait for within one iteration of outer loops is often a thin set of instances (a row and a column above), or those that wait
are others than those that are waited for. Where no piece then has a dependence within itself, its inner loops are free.
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
    """The scop with a statement for each piece of some domains; every instance stays where it is in the order.

    pieces: by statement, disjoint sets { S[i] } that are its domain together.
    """
    if not pieces:
        return scop
    statements: dict[str, Statement] = {}
    origins: list[isl.PwMultiAff] = []
    for s in scop.statements.values():
        own = pieces.get(s.name)
        parts = [s] if own is None else [on(s, piece, name) for piece, name in zip(own, piece_names(s.name, own))]
        statements |= {part.name: part for part in parts}
        origins += [polyhedra.renamed(part.domain, s.name) for part in parts]
    schedule = scop.schedule.pullback_union_pw_multi_aff(polyhedra.union_of_functions(origins))
    made = replace(scop, statements=statements)
    return replace(made, schedule=schedule.intersect_domain(made.domain))


def piece_names(name: str, pieces: Sequence[isl.Set]) -> tuple[str, ...]:
    """What `split` calls the pieces of a statement."""
    return tuple(f"{name}_{k}" for k in range(len(pieces)))


def on(statement: Statement, piece: isl.Set, name: str) -> Statement:
    """The statement for some of its instances, with its subscripts as they are there. piece: { S[i] }."""
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
        write=access(statement.write),
        reads=tuple(map(access, statement.reads)),
        value=map_leaves(statement.value, leaf),
    )


@dataclass(frozen=True)
class Cut:
    """pieces: disjoint parts { S[i] } of a domain, none with a dependence within one iteration of the `depth` outer loops."""

    pieces: tuple[isl.Set, ...]
    depth: int


def freeing(scop: Scop, found: Dependences) -> dict[str, Cut]:
    """The statements that have dependences among their own instances, within iterations of outer loops, which a cut leaves
    to be between pieces alone.
    """
    cuts = ((s.name, _freed(s, found)) for s in scop.statements.values())
    return {name: cut for name, cut in cuts if cut is not None}


def _freed(statement: Statement, found: Dependences) -> Cut | None:
    """The cut whose pieces are free inside as few outer loops as possible; None where there is no reason for one."""
    domain = statement.domain
    own = [polyhedra.extract_map(relation, domain, domain).coalesce() for relation in (found.flow, found.anti)]
    every = polyhedra.extract_map(found.validity, domain, domain)
    for depth in range(len(statement.iterators)):
        inside = [m.intersect(polyhedra.equal_first(m, depth)) for m in own]
        waiting = [basic for m in inside for basic in m.get_basic_maps()]
        if not waiting:
            return None
        if not all(map(_is_apart, waiting)):
            continue
        moved = [d for d in range(depth, len(statement.iterators)) if any(polyhedra.differ(m, d) for m in inside)]
        if all(_is_short(domain, dim) for dim in moved):
            return None
        order = every.intersect(polyhedra.equal_first(every, depth))
        for only_hyperplanes in (True, False):
            parts = _cut(domain, [c for basic in waiting for c in _cuts(basic, domain, depth, only_hyperplanes)])
            if 1 < len(parts) <= MOST_PIECES and all(order.intersect_domain(p).intersect_range(p).is_empty() for p in parts):
                return Cut(parts, depth)
    return None


def _is_short(domain: isl.Set, dim: int) -> bool:
    return polyhedra.is_within(polyhedra.along(domain, dim), SHORT)


def _is_apart(waiting: isl.BasicMap) -> bool:
    """Whether those that are waited for are others than those that wait, but for a thin set."""
    both = waiting.domain().intersect(waiting.range())
    return both.is_empty() or not polyhedra.is_full(isl.Set.from_basic_set(both))


def _cuts(waiting: isl.BasicMap, domain: isl.Set, depth: int, only_hyperplanes: bool) -> Iterator[tuple[isl.Set, ...]]:
    """Partitions of the domain's space by what tells instances apart that are waited for, and those that wait."""
    for side in (waiting.domain(), waiting.range()):
        yield from polyhedra.hyperplane_sides(isl.Set.from_basic_set(side).gist(domain), depth, only_hyperplanes)


def _cut(domain: isl.Set, cuts: Sequence[tuple[isl.Set, ...]]) -> tuple[isl.Set, ...]:
    """The domain in pieces that are on one side of every cut."""
    parts = [domain]
    for sides in cuts:
        if len(parts) <= MOST_PIECES:
            parts = [p for part in parts for side in sides if not (p := part.intersect(side)).is_empty()]
    return tuple(part.remove_redundancies() for part in parts)
