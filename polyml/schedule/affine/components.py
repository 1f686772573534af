"""Strongly connected components of the dependence graph, which are scheduled one by one where isl takes too long for all."""

from __future__ import annotations

import islpy as isl

from polyml import polyhedra
from polyml.model.core.dependence import Dependences
from polyml.model.core.scop import Scop


def strongly_connected_components(scop: Scop, dependences: Dependences) -> list[isl.UnionSet]:
    """Returns the instances { S[i] } of each strongly connected component, in an order that keeps the dependences.

    Where the dependences leave a choice, components are in the order of the source.
    """
    names = list(scop.statements)
    after: dict[str, set[str]] = {name: set() for name in names}
    for piece in polyhedra.pieces(dependences.validity):
        after[polyhedra.range_name(piece)].add(polyhedra.domain_name(piece))
    reached = {name: _reached(name, after) for name in names}
    groups = list(dict.fromkeys(tuple(n for n in names if n == m or n in reached[m] and m in reached[n]) for m in names))
    ordered: list[tuple[str, ...]] = []
    while groups:
        done = {n for group in ordered for n in group}
        ready = next(g for g in groups if all(reached[n] <= done | set(g) for n in g))
        groups.remove(ready)
        ordered.append(ready)
    return [polyhedra.union([isl.UnionSet.from_set(scop.statements[n].domain) for n in group]) for group in ordered]


def _reached(start: str, edges: dict[str, set[str]]) -> set[str]:
    """Returns the nodes of a graph that a path of one or more edges leads to from the node `start`.

    edges: node -> the nodes to which an edge leads from it.
    """
    found: set[str] = set()
    waiting = [start]
    while waiting:
        new = edges[waiting.pop()] - found
        found |= new
        waiting += new
    return found
