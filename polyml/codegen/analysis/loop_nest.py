"""A nest of loops as the passes see it: a chain of loops around one body, the elements that it accesses, and which loops are
independent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from polyml.codegen.analysis.access_conflicts import ConflictTest, Differences, Enclosing, RangedAccess, loop_range
from polyml.codegen.ir.program import Guard, Instance, Loop, Node, Program, with_paths
from polyml.codegen.presburger.omega_test import System, at_least, equal
from polyml.model.core.scop import Access, Statement
from polyml.quasi_affine.affine import Affine
from polyml.values import cached_property

FARTHEST = 512  # distances of dependences, in iterations, are looked for up to here: no block of vectors is longer


@dataclass(frozen=True)
class LaneReach:
    """How many consecutive iterations of a nest's innermost loop may run together, instance by instance, if each vector reads for
    all of its lanes before it writes for any, and vectors run in order.

    A dependence of an instance on itself, from a write to a later iteration, is kept if both are in different vectors. A dependence
    on an instance that comes later in the body is kept if both are in different blocks of vectors, and so is every one on an instance
    in a loop of the body, whose iterations each run for a whole block. All others, such as those from a read to a later write of the
    same instance, are kept by the order of instances.

    vector: the shortest distance of a dependence of an instance on itself; FARTHEST if there is none below that.
    block: the shortest distance of a dependence of an instance on a later one, or on one in a loop of the body; FARTHEST if there is
        none below that.
    flows: the shortest distance of each pair of accesses of which the first writes what the second reads in a later iteration,
        against the order of instances or in one instance; without those of FARTHEST or more.
    """

    vector: int
    block: int
    flows: tuple[int, ...]

    def allows(self, lanes: int, vectors: int) -> bool:
        """Returns whether blocks of so many vectors keep all dependences."""
        return lanes <= self.vector and lanes * vectors <= self.block


@dataclass(frozen=True)
class NestAccess:
    """One access of one instance in a nest.

    writes: whether it is the instance's write.
    accumulates: whether it reads or writes the accumulator of a reduction.
    inner: the loops of the body around the instance, outermost first; those of the perfect nest are not among them.
    subscripts: those of the element, in terms of loop variables.
    """

    access: Access
    instance: Instance
    writes: bool
    accumulates: bool
    inner: tuple[Loop, ...]
    subscripts: tuple[Affine, ...]

    @property
    def array(self) -> str:
        return self.access.array

    def ranged(self) -> RangedAccess:
        """Returns the access with the ranges of the loops of the body that are around the instance."""
        return RangedAccess((self.access, self.instance), tuple(map(loop_range, self.inner)))


@dataclass(eq=False)
class LoopNest:
    """A perfect nest of loops, called its chain, around a body that may have loops of its own.

    program: the program that the nest is a part of.
    tests: the tests of which iterations access the same element.
    shared: the loops and guards around the chain.
    chain: the loops, outermost first, each of which is the only node in the one before.
    body: what the innermost loop of the chain runs.
    """

    program: Program
    tests: ConflictTest
    shared: tuple[Enclosing, ...]
    chain: tuple[Loop, ...]
    body: tuple[Node, ...]
    _deltas: list[Delta] | None = field(default=None, repr=False)
    _free: dict[tuple, bool] = field(default_factory=dict, repr=False)

    def statements(self) -> Iterator[tuple[Statement, Instance, tuple[Loop, ...]]]:
        """Yields, for each instance of the body, its statement, the instance, and the loops of the body around it."""
        for instance, inner in instances_in(self.body):
            yield self.program.scop.statements[instance.statement], instance, inner

    def accesses(self) -> list[NestAccess]:
        """Returns the accesses of all instances in textual order, the reads of each before its write."""
        found = []
        for statement, instance, inner in self.statements():
            reduction = self.program.reductions.get(statement.name)
            for i, access in enumerate(statement.reads):
                mine = reduction is not None and i == reduction.access
                subscripts = self.tests.subscripts((access, instance))
                found.append(NestAccess(access, instance, False, mine, inner, subscripts))
            write = self.tests.subscripts((statement.write, instance))
            found.append(NestAccess(statement.write, instance, True, reduction is not None, inner, write))
        return found

    def is_independent(self, var: int, fixed: Iterable[int], reorder: bool = False) -> bool:
        """Returns whether it is proved that no dependence is between different iterations of loop `var` of the perfect nest with
        the same values of the loops `fixed`.

        var, fixed: positions in the perfect nest, from 0 for the outermost loop.
        reorder: whether dependences among the updates of a reduction do not count, since these may run in any order.
        """
        key = (var, tuple(sorted(fixed)), reorder)
        if key not in self._free:
            self._free[key] = not any(d.may_be(key[1], var) for d in self.deltas() if not (reorder and d.reduces))
        return self._free[key]

    @cached_property
    def lane_reach(self) -> LaneReach:
        """How many iterations of the innermost loop of the chain may run together although they depend on each other. Updates of
        one reduction, which may run in any order, do not count.
        """
        accesses, chain = self.accesses(), [loop_range(loop) for loop in self.chain]
        position = {id(instance): number for number, (instance, _) in enumerate(instances_in(self.body))}
        vector = block = FARTHEST
        flows: list[int] = []
        for i, a in enumerate(accesses):
            for b in accesses[i:]:
                if a.array != b.array or not (a.writes or b.writes) or a is b and not a.writes:
                    continue
                if a.accumulates and b.accumulates and a.instance is b.instance:
                    continue
                differences = self.tests.deltas(a.ranged(), b.ranged(), self.shared, chain)
                repeated = bool(a.inner or b.inner)
                distance = _shortest(differences, len(chain), either=repeated)
                if position[id(a.instance)] == position[id(b.instance)]:
                    vector = min(vector, distance)
                if repeated or position[id(a.instance)] != position[id(b.instance)]:
                    block = min(block, distance)
                if b.writes and not a.writes and distance < FARTHEST:
                    flows.append(distance)
        return LaneReach(vector, block, tuple(sorted(flows)))

    def is_distinct(self, array: str, var: int, fixed: Iterable[int]) -> bool:
        """Returns whether different iterations of loop `var` access different elements of the array when the loops `fixed` have
        equal values.

        var, fixed: positions in the perfect nest, from 0 for the outermost loop.
        """
        return not any(d.may_be(fixed, var) for d in self.deltas() if d.array == array)

    def only_reductions_meet(self, array: str, fixed: Iterable[int]) -> bool:
        """Returns whether two accesses to one element of the array, of which one writes, are always updates of one reduction if
        they are in iterations with equal values of the loops `fixed` (positions in the perfect nest).
        """
        return not any(d.may_be(fixed) for d in self.deltas() if d.array == array and not d.reduces)

    def deltas(self) -> list[Delta]:
        """Returns the distances between iterations of the perfect nest that access the same element, for all pairs of accesses of
        which at least one writes.
        """
        if self._deltas is None:
            self._deltas = self.deltas_but(lambda a, b: False)
        return self._deltas

    def deltas_but(self, skips: Callable[[NestAccess, NestAccess], bool]) -> list[Delta]:
        """Returns the distances between iterations of the perfect nest that access the same element, for all pairs of accesses of
        which at least one writes, without the pairs for which `skips` holds.
        """
        accesses = self.accesses()
        chain = [loop_range(loop) for loop in self.chain]
        seen: set = set()
        found: dict[tuple[str, bool], list[Differences]] = {}
        for i, a in enumerate(accesses):
            for b in accesses[i:]:
                if not (a.writes or b.writes) or a.array != b.array:
                    continue
                if a is b and not a.writes or skips(a, b):
                    continue
                reduces = a.accumulates and b.accumulates and a.instance is b.instance
                key = (a.array, a.subscripts, b.subscripts, a.inner, b.inner, reduces)
                if key in seen:
                    continue
                seen.add(key)
                differences = self.tests.deltas(a.ranged(), b.ranged(), self.shared, chain)
                found.setdefault((a.array, reduces), []).append(differences)
        return [Delta(array, reduces, tuple(dict.fromkeys(ways))) for (array, reduces), ways in found.items()]


@dataclass(frozen=True)
class Delta:
    """The distances between iterations of a perfect nest that access the same element of one array.

    differences: sets { [d0, d1, ...] }, one for each pair of accesses; their union is meant.
    reduces: both accesses of each pair are to the accumulator of one reduction.
    """

    array: str
    reduces: bool
    differences: tuple[Differences, ...]

    def may_be(self, zero: Iterable[int], moved: int | None = None) -> bool:
        """Returns whether some distance may be 0 in each dimension of `zero`, and not 0 in dimension `moved`."""
        return any(each.may_be(zero, moved) for each in self.differences)


def _shortest(differences: Differences, count: int, *, either: bool) -> int:
    """Returns the smallest d such that a nest's second access of a pair may refer to the element of the first one d iterations of
    the innermost loop earlier, in the same iteration of all other loops; FARTHEST if there is none below that.

    count: the number of the nest's loops.
    either: whether it may also refer to the element d iterations later.
    """
    here, last = System(), count - 1
    for k in range(last):
        here &= equal({k: 1}, 0)

    def none_below(distance: int) -> bool:  # neither -(distance - 1) <= d <= -1 nor, for `either`, 1 <= d <= distance - 1
        ways = (-1, 1) if either else (-1,)
        near = (here & at_least({last: way}, -1) & at_least({last: -way}, distance - 1) for way in ways)
        return not any(map(differences.allows, near))

    known, above = 1, FARTHEST + 1  # none is below `known`; one is below `above`, or that is too far
    while above - known > 1:
        middle = (known + above) // 2
        known, above = (middle, above) if none_below(middle) else (known, middle)
    return known


def instances_in(nodes: tuple[Node, ...]) -> Iterator[tuple[Instance, tuple[Loop, ...]]]:
    """Yields every instance below the nodes with the loops around it in there, outermost first."""
    for instance, path in with_paths(nodes):
        yield instance, tuple(node for node in path if isinstance(node, Loop))


def chain_of(loop: Loop) -> tuple[tuple[Loop, ...], tuple[Node, ...]]:
    """Returns the loops of the perfect nest that begins with `loop`, outermost first, and the body of the innermost one. The nest
    ends before a further parallel loop.
    """
    chain = [loop]
    while len(chain[-1].body) == 1 and isinstance(chain[-1].body[0], Loop) and not chain[-1].body[0].parallel:
        chain.append(chain[-1].body[0])
    return tuple(chain), chain[-1].body


def has_guard(nodes: tuple[Node, ...]) -> bool:
    """Returns whether a guard is among the nodes or below them."""
    return any(isinstance(n, Guard) or (not isinstance(n, Instance) and has_guard(n.body)) for n in nodes)


def guard_names(nodes: tuple[Node, ...]) -> frozenset[str]:
    """Returns every name in the condition of a guard that is among the nodes or below them."""
    found: frozenset[str] = frozenset()
    for node in nodes:
        if isinstance(node, Guard):
            found |= node.condition.names
        if not isinstance(node, Instance):
            found |= guard_names(node.body)
    return found
