"""The host's loops around launches, generated like any others from the set of launches.

{ lu_0[k] : 0 <= k < n }, { lu_1[k] : 0 <= k < n }   ->   for k: lu_0[k]; lu_1[k]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import groupby

import islpy as isl

from polyml.codegen.astgen.build import nodes_of
from polyml.codegen.ir.program import Node
from polyml.model.core.scop import Scop
from polyml.polyhedra import dimensions
from polyml.schedule.gpu.loop_roles import SurroundingLoop
from polyml.schedule.gpu.mapping import Mapped
from polyml.schedule.tree import loop_tree


def host_loops(scop: Scop, named: Mapping[str, Mapped]) -> tuple[Node, ...]:
    """Returns the host's loops around the launches, in order. named: { name of a launch -> its nest }."""
    return ordered([(name, each.nest.instances, each.nest.host) for name, each in named.items()], scop.checked)


def ordered(runs: Sequence[tuple[str, isl.UnionSet, tuple[SurroundingLoop, ...]]], context: isl.Set) -> tuple[Node, ...]:
    """Returns the loops around launches, or around the phases of one launch, in order.

    runs: the name k of each in order, its instances { S[i] }, and the loops around it, outermost first.
    context: what is known of the parameters.
    """
    hosts = [(_launched(name, instances, around), around) for name, instances, around in runs]
    domain = reduce(isl.UnionSet.union, (isl.UnionSet.from_set(set_) for set_, _ in hosts))
    return tuple(nodes_of(loop_tree.write(domain, _host_tree(hosts, 0)), context))


def _launched(name: str, instances: isl.UnionSet, around: Sequence[SurroundingLoop]) -> isl.Set:
    """Returns { k[h0, h1] }, the values of the loops around it for which the launch or phase k has instances."""
    if not around:
        return isl.Set.from_params(instances.params()).set_tuple_name(name)
    values = reduce(isl.UnionMap.flat_range_product, (as_map(loop, instances) for loop in around))
    return isl.Set.from_union_set(values.range()).set_tuple_name(name)


def _host_tree(hosts: Sequence[tuple[isl.Set, tuple[SurroundingLoop, ...]]], depth: int) -> loop_tree.Node:
    """Returns the tree of the host's loops from this depth on, around launches.

    hosts: for each launch k in order, the set { k[h0, h1] } of the values of the host's loops for which it runs, and these loops.
    """
    parts = []
    for shared, some in groupby(hosts, key=lambda host: id(host[1][depth].values) if len(host[1]) > depth else None):
        inside = list(some)
        if shared is None:
            parts += [_part([set_], loop_tree.Leaf((set_.get_tuple_name(),))) for set_, _ in inside]
            continue
        sets = [set_ for set_, _ in inside]
        member = reduce(isl.UnionPwAff.union_add, (isl.UnionPwAff(_dimension(set_, depth)) for set_ in sets))
        parts.append(_part(sets, loop_tree.Loop(inside[0][1][depth].name, member, _host_tree(inside, depth + 1))))
    return loop_tree.block(parts)


def _part(sets: Sequence[isl.Set], body: loop_tree.Node) -> loop_tree.BlockPart:
    """Returns a part of a block (a sequence) in the tree of the host's loops: the launches of `sets`, each { k[h0, h1] } for a
    launch k and the values of the host's loops, with the tree `body` below.
    """
    return loop_tree.BlockPart(reduce(isl.UnionSet.union, map(isl.UnionSet.from_set, sets)), body)


def _dimension(launched: isl.Set, depth: int) -> str:
    """Returns the value of the host's loop at the depth as isl's text: { k[h0, h1] -> [(h1)] } for depth 1."""
    names = ", ".join(f"h{k}" for k in range(dimensions(launched)))
    return f"{{ {launched.get_tuple_name()}[{names}] -> [(h{depth})] }}"


def as_map(around: SurroundingLoop, instances: isl.UnionSet) -> isl.UnionMap:
    """Returns the values of the loop in the instances as a relation { S[i] -> [e] }."""
    return isl.UnionMap.from_union_pw_aff(around.values).intersect_domain(instances)
