"""A chain of loops around one body: what it touches, and which of its loops may be moved or run together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from polyml.codegen.analysis.access_conflicts import Around, ConflictTest, Differences, Range, Touch, loop_range
from polyml.codegen.ir.linexpr import Lin
from polyml.codegen.ir.program import Guard, Instance, Loop, Node, Program, with_paths
from polyml.model.core.scop import Access, Statement


@dataclass(frozen=True)
class TouchIn:
    """One access of one instance in a nest. inner: the loops between the chain and the instance."""

    access: Access
    instance: Instance
    writes: bool
    accumulates: bool
    inner: tuple[Loop, ...]
    subscripts: tuple[Lin, ...]


@dataclass(eq=False)
class Nest:
    """chain: loops, outermost first, each the only node in the one before. body: what the innermost one runs.

    shared: the loops and guards around the chain.
    """

    program: Program
    tests: ConflictTest
    shared: tuple[Around, ...]
    chain: tuple[Loop, ...]
    body: tuple[Node, ...]
    _deltas: list[Delta] | None = field(default=None, repr=False)
    _free: dict[tuple, bool] = field(default_factory=dict, repr=False)

    def statements(self) -> Iterator[tuple[Statement, Instance, tuple[Loop, ...]]]:
        for instance, inner in instances_in(self.body):
            yield self.program.scop.statements[instance.statement], instance, inner

    def touches(self) -> list[TouchIn]:
        found = []
        for statement, instance, inner in self.statements():
            reduction = self.program.reductions.get(statement.name)
            for i, access in enumerate(statement.reads):
                mine = reduction is not None and i == reduction.access
                subscripts = self.tests.subscripts((access, instance))
                found.append(TouchIn(access, instance, False, mine, inner, subscripts))
            write = self.tests.subscripts((statement.write, instance))
            found.append(TouchIn(statement.write, instance, True, reduction is not None, inner, write))
        return found

    def free(self, var: int, fixed: Iterable[int], reorder: bool = False) -> bool:
        """Whether no two iterations of chain[var] touch the same element when those of `fixed` are equal.

        reorder: apart from updates of a reduction, whose order does not matter.
        """
        key = (var, tuple(sorted(fixed)), reorder)
        if key not in self._free:
            self._free[key] = not any(d.may_be(key[1], var) for d in self.deltas() if not (reorder and d.reduces))
        return self._free[key]

    def separate(self, array: str, var: int, fixed: Iterable[int]) -> bool:
        """Whether no two iterations of chain[var] touch the same element of `array` when those of `fixed` are equal."""
        return not any(d.may_be(fixed, var) for d in self.deltas() if d.array == array)

    def alone(self, array: str, fixed: Iterable[int]) -> bool:
        """Whether only the accumulators of reductions touch what they do of `array`, iterations of `fixed` being equal."""
        return not any(d.may_be(fixed) for d in self.deltas() if d.array == array and not d.reduces)

    def deltas(self) -> list[Delta]:
        """How far apart in the chain two touches of one element can be, over all pairs of which one writes."""
        if self._deltas is None:
            self._deltas = self.deltas_but(lambda a, b: False)
        return self._deltas

    def deltas_but(self, skips: Callable[[TouchIn, TouchIn], bool]) -> list[Delta]:
        """The same without the pairs of touches that `skips` holds for."""
        touches = self.touches()
        chain = [loop_range(loop) for loop in self.chain]
        seen: set = set()
        found: dict[tuple[str, bool], list[Differences]] = {}
        for i, a in enumerate(touches):
            for b in touches[i:]:
                if not (a.writes or b.writes) or a.access.array != b.access.array:
                    continue
                if a is b and not a.writes or skips(a, b):
                    continue
                reduces = a.accumulates and b.accumulates and a.instance is b.instance
                key = (a.access.array, a.subscripts, b.subscripts, a.inner, b.inner, reduces)
                if key in seen:
                    continue
                seen.add(key)
                first: Touch = (a.access, a.instance)
                apart = self.tests.deltas(first, (b.access, b.instance), self.shared, chain, _ranges(a.inner), _ranges(b.inner))
                found.setdefault((a.access.array, reduces), []).append(apart)
        return [Delta(array, reduces, tuple(dict.fromkeys(apart))) for (array, reduces), apart in found.items()]


@dataclass(frozen=True)
class Delta:
    """apart: { [d...] }, by how much the chain's variables may differ where two touches meet, in one of several ways.

    reduces: both touches are the accumulator of one reduction.
    """

    array: str
    reduces: bool
    apart: tuple[Differences, ...]

    def may_be(self, zero: Iterable[int], moved: int | None = None) -> bool:
        """Whether all differences of these numbers may be 0, and the one with number `moved` may not be."""
        return any(each.may_be(zero, moved) for each in self.apart)


def _ranges(inner: tuple[Loop, ...]) -> tuple[Range, ...]:
    return tuple(loop_range(loop) for loop in inner)


def instances_in(nodes: tuple[Node, ...]) -> Iterator[tuple[Instance, tuple[Loop, ...]]]:
    """Every instance with the loops around it."""
    for instance, path in with_paths(nodes):
        yield instance, tuple(node for node in path if isinstance(node, Loop))


def chain_of(loop: Loop) -> tuple[tuple[Loop, ...], tuple[Node, ...]]:
    """The loops from `loop` inwards, each the only node of the one before, and the body of the last."""
    chain = [loop]
    while len(chain[-1].body) == 1 and isinstance(chain[-1].body[0], Loop) and not chain[-1].body[0].parallel:
        chain.append(chain[-1].body[0])
    return tuple(chain), chain[-1].body


def has_guard(nodes: tuple[Node, ...]) -> bool:
    return any(isinstance(n, Guard) or (not isinstance(n, Instance) and has_guard(n.body)) for n in nodes)


def guard_names(nodes: tuple[Node, ...]) -> frozenset[str]:
    """Every name a guard below tests."""
    found: frozenset[str] = frozenset()
    for node in nodes:
        if isinstance(node, Guard):
            found |= node.condition.names
        if not isinstance(node, Instance):
            found |= guard_names(node.body)
    return found
