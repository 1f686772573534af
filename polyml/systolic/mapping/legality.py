"""The legality of space-time mappings { S[i,j,k] -> [t, x, y] }. A mapping is legal where three sets are empty:

    injective   { p -> q : p != q and M(p) = M(q) }                           a PE runs one instance per cycle
    causal      { p -> q in dependences : t(q) <= t(p) }                      a value is used after it was made
    near        { p -> q in dependences : |M(q) - M(p)| > t(q) - t(p) }       the value has arrived by then

Arrays with broadcast wires have one along each row and column besides. By it an operand reaches all PEs there in one cycle, or what
they have is added up within the cycle (fan-in). Dependences through operands and sums may then take no time, along a row or column:

    causal      { p -> q : t(q) < t(p) }            wired       { p -> q : t(q) = t(p), and they are in no row or column }

Values of the nest go along wires, too, from wherever in a row or column they are made: in a later cycle the PE that made one
drives its line, and all PEs there take it at once. Instead of near

    in line     { p -> q in dependences : p and q are in other rows (columns) }             a wire goes from one to the other
    alone       { p -> q not in dependences : p drives the row of q when q runs }         a wire has one value, which all take

Source: Karp, Miller and Winograd, "The organization of computations for uniform recurrence equations", JACM 1967; Quinton,
    "Automatic synthesis of systolic arrays from uniform recurrent equations", ISCA 1984; Kung, "Why systolic architectures?",
    1982.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import islpy as isl

from polyml import polyhedra
from polyml.errors import IllegalSchedule
from polyml.systolic.recurrences.spacetime import smallest_pair


def check(order: isl.UnionMap, dependences: isl.UnionMap, links: str = "manhattan", *, what: str = "", outer: int = 0) -> None:
    """Checks that a mapping is legal: it puts one instance onto a PE per cycle, and each value has time to go to where it is used.

    order: the mapping, { S[p] -> [o, t, x, y] }.
    dependences: { S[p] -> T[q] : T[q] uses a value that S[p] has }.
    links: "manhattan", "diagonal" or "broadcast".
    what: the access that the dependences are about, for the message.
    outer: how many coordinates o stand before t; only pairs that agree in these are compared.
    Raises: IllegalSchedule with a smallest pair of instances.
    """
    check_injective(order)
    check_flow(order, dependences, links, what=what, outer=outer)


def check_injective(order: isl.UnionMap) -> None:
    """Checks that no two instances run on one PE in one cycle.

    order: the mapping, { S[p] -> [o, t, x, y] }.
    Raises: IllegalSchedule with a pair of instances that do.
    """
    twice = order.apply_range(order.reverse()).subtract(order.domain().identity())
    if not twice.is_empty():
        raise _illegal(twice, "{0} and {1} would run on one unit in one cycle", _shown(order))


def check_flow(order: isl.UnionMap, dependences: isl.UnionMap, links: str, *, what: str = "", outer: int = 0) -> None:
    """Checks that every value is used after it was made, and that links bring it there in time. The arguments are those of `check`.

    Raises: IllegalSchedule with a smallest pair of instances.
    """
    dims = _dimensions(order, outer)
    through = f"dependence through {what}" if what else "dependence"
    broken = _violations(order, dependences, _relation(dims, outer, ["u < t" if links == "broadcast" else "u <= t"]))
    if not broken.is_empty():
        when = "must not run before" if links == "broadcast" else "must run after"
        raise _illegal(broken, f"{{1}} {when} {{0}}", through, _shown(order))
    if links == "broadcast" and dims > 1:
        broken = _violations(order, dependences, _relation(dims, outer, ["u = t and v0 != w0 and v1 != w1"]))
        if not broken.is_empty():
            message = "no wire goes from {0} to {1}, which run in one cycle in no row or column"
            raise _illegal(broken, message, f"{through}, {links} links", _shown(order))
    broken = _violations(order, dependences, _relation(dims, outer, _beyond_reach(dims, links)))
    if not broken.is_empty():
        raise _illegal(broken, "a value cannot come from {0} to {1} in time", f"{through}, {links} links", _shown(order))


def check_wires(
    order: isl.UnionMap, along: int, drivers: isl.UnionMap, users: isl.UnionSet, *, what: str = "", outer: int = 0
) -> None:
    """Checks that values which go along wires of the rows or columns are used after they were made, on the same wire, and are the
    only ones on it.

    order: the mapping, { S[p] -> [o, t, x, y] }.
    along: the coordinate along which the wires go.
    drivers: { S[p] -> T[q] : T[q] gets from a wire what S[p] made }.
    users: { T[q] }, the instances that take what is on these wires when they run.
    Raises: IllegalSchedule with a smallest pair of instances.
    """
    dims, through = _dimensions(order, outer), f"dependence through {what}"
    broken = _violations(order, drivers, _relation(dims, outer, ["u <= t"]))
    if not broken.is_empty():
        raise _illegal(broken, "{1} must run after {0}", through, _shown(order))
    others = [f"v{k} != w{k}" for k in range(dims) if k != along]
    broken = _violations(order, drivers, _relation(dims, outer, others)) if others else isl.UnionMap("{ }")
    if not broken.is_empty():
        lines = ("columns", "rows")[along]
        raise _illegal(broken, f"no wire goes from {{0}} to {{1}}, which run in different {lines}", through, _shown(order))
    coordinates = [*(f"o{k}" for k in range(outer)), "t", *(f"v{k}" for k in range(dims))]
    line = isl.UnionMap(f"{{ [{', '.join(coordinates)}] -> [{', '.join(p for p in coordinates if p != f'v{along}')}] }}")
    wires = order.apply_range(line)  # { S[p] -> [o, t, x] }
    taken = drivers.apply_range(wires).apply_range(wires.intersect_domain(users).reverse())
    broken = taken.subtract(drivers)
    if not broken.is_empty():
        raise _illegal(broken, "{1} would have the value of {0} on its wire, and needs another one", through, _shown(order))


def _dimensions(order: isl.UnionMap, outer: int) -> int:
    """Returns how many coordinates of the array a mapping { S[p] -> [o, t, x, y] } has, which stand behind the outer loops o and
    time.
    """
    return polyhedra.dimensions(polyhedra.pieces(order.range())[0]) - 1 - outer


def _violations(order: isl.UnionMap, dependences: isl.UnionMap, coordinates: isl.UnionMap) -> isl.UnionMap:
    """Returns the dependences { S[p] -> T[q] } whose source and sink are mapped to a forbidden pair of cycles and PEs.

    order: the mapping, { S[p] -> [o, t, x, y] }: outer loops, cycle, PE.
    coordinates: { [o, t, x, y] -> [o', t', x', y'] }, the forbidden pairs.
    """
    if dependences.apply_domain(order).apply_range(order).is_disjoint(coordinates):
        return isl.UnionMap("{ }")
    return order.apply_range(coordinates).apply_range(order.reverse()).intersect(dependences)


def _beyond_reach(dims: int, links: str) -> list[str]:
    """Returns conditions as isl text. At least one of them holds where the PE w in cycle u is more links away from the PE v in
    cycle t than there are cycles between the two.

    dims: the dimensions of the array.
    """
    distances = [f"(w{k} - v{k})" for k in range(dims)]
    if links == "diagonal":
        return [f"{sign}{each} > u - t" for each in distances for sign in ("", "-")]
    later = "u > t and " if links == "broadcast" else ""
    return [f"{later}{' + '.join(map(''.join, zip(signs, distances)))} > u - t" for signs in product(("", "-"), repeat=dims)]


def _relation(dims: int, outer: int, alternatives: Sequence[str]) -> isl.UnionMap:
    """Returns { [o, t, v0, v1] -> [o, u, w0, w1] : one of the conditions holds }, from cycle t and PE v to cycle u and PE w.

    Both are in the same iteration o of the outer loops.

    dims, outer: how many coordinates a PE has, and how many outer loops there are.
    alternatives: the conditions, as isl text.
    """
    kept = [f"o{k}" for k in range(outer)]
    here, there = ([*kept, name, *(f"{other}{k}" for k in range(dims))] for name, other in (("t", "v"), ("u", "w")))
    return isl.UnionMap(f"{{ [{', '.join(here)}] -> [{', '.join(there)}] : {' or '.join(alternatives)} }}")


def _illegal(pairs: isl.UnionMap, message: str, *notes: str) -> IllegalSchedule:
    """Returns the error that names a smallest of the pairs; {0} and {1} in the message stand for its two instances."""
    found = smallest_pair(pairs)
    sizes = " and ".join(f"{name} = {value}" for name, value in found.sizes)
    said = message.format(*map(polyhedra.instance_text, found.instances))
    return IllegalSchedule(f"{said}, with {sizes}" if sizes else said, notes=notes)


def _shown(order: isl.UnionMap) -> str:
    """Returns the text of the note of an error that shows the mapping `order`."""
    return f"mapping {polyhedra.text(order)}"
