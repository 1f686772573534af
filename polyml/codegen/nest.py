"""A chain of loops around one body: what it touches, and which of its loops may be moved or run together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import islpy as isl

from polyml.codegen.ast import Guard, Instance, Loop, Node, Program
from polyml.codegen.conflicts import ConflictTest, Range, Touch, loop_range
from polyml.codegen.integers import Lin
from polyml.model.scop import Access, Statement


@dataclass(frozen=True)
class TouchIn:
    """One access of one instance in a nest. inner: the loops between the chain and the instance."""

    access: Access
    instance: Instance
    writes: bool
    accumulates: bool
    inner: tuple[Loop, ...]
    subscripts: tuple[Lin, ...]


@dataclass
class Nest:
    """chain: loops, outermost first, each the only node in the one before. body: what the innermost one runs.

    shared: the loops around the chain.
    """

    program: Program
    tests: ConflictTest
    shared: tuple[Loop, ...]
    chain: tuple[Loop, ...]
    body: tuple[Node, ...]
    _deltas: list[tuple[isl.Set | None, bool]] | None = field(default=None, repr=False)
    _free: dict[tuple, bool] = field(default_factory=dict, repr=False)

    def statements(self) -> Iterator[tuple[Statement, Instance, tuple[Loop, ...]]]:
        for instance, inner in instances_in(self.body, ()):
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
            self._free[key] = all(
                delta is not None and self._is_empty(delta, var, key[1])
                for delta, reduces in self.deltas()
                if not (reorder and reduces)
            )
        return self._free[key]

    def _is_empty(self, delta: isl.Set, var: int, fixed: Sequence[int]) -> bool:
        names = [f"d{i}" for i in range(len(self.chain))]
        where = " and ".join([f"d{i} = 0" for i in fixed] + [f"d{var} != 0"])
        return delta.intersect(isl.Set(f"{{ [{', '.join(names)}] : {where} }}")).is_empty()

    def deltas(self) -> list[tuple[isl.Set | None, bool]]:
        """How far apart in the chain two touches of one element can be, for every pair of which one writes."""
        if self._deltas is not None:
            return self._deltas
        touches = self.touches()
        chain = [loop_range(loop) for loop in self.chain]
        shared = [loop_range(loop) for loop in self.shared]
        seen, plain, reducing = set(), None, None
        unknown = False
        for i, a in enumerate(touches):
            for b in touches[i:]:
                if not (a.writes or b.writes) or a.access.array != b.access.array:
                    continue
                if a is b and not a.writes:
                    continue
                inner, other = _ranges(a.inner), _ranges(b.inner)
                key = (a.access.array, a.subscripts, b.subscripts, a.inner, b.inner)
                reduces = a.accumulates and b.accumulates and a.instance is b.instance
                if (key, reduces) in seen:
                    continue
                seen.add((key, reduces))
                first: Touch = (a.access, a.instance)
                delta = self.tests.deltas(first, (b.access, b.instance), shared, chain, inner, other)
                if delta is None:
                    unknown = True
                elif reduces:
                    reducing = delta if reducing is None else reducing.union(delta)
                else:
                    plain = delta if plain is None else plain.union(delta)
        result: list[tuple[isl.Set | None, bool]] = []
        if unknown:
            result.append((None, False))
        result += [(d, r) for d, r in ((plain, False), (reducing, True)) if d is not None]
        self._deltas = result
        return result


def _ranges(inner: tuple[Loop, ...]) -> tuple[Range, ...]:
    return tuple(loop_range(loop) for loop in inner)


def instances_in(nodes: tuple[Node, ...], inner: tuple[Loop, ...]) -> Iterator[tuple[Instance, tuple[Loop, ...]]]:
    """Every instance with the loops around it."""
    for node in nodes:
        if isinstance(node, Instance):
            yield node, inner
        else:
            yield from instances_in(node.body, (*inner, node) if isinstance(node, Loop) else inner)


def chain_of(loop: Loop) -> tuple[tuple[Loop, ...], tuple[Node, ...]]:
    """The loops from `loop` inwards, each the only node of the one before, and the body of the last."""
    chain = [loop]
    while len(chain[-1].body) == 1 and isinstance(chain[-1].body[0], Loop) and not chain[-1].body[0].parallel:
        chain.append(chain[-1].body[0])
    return tuple(chain), chain[-1].body


def guard_names(nodes: tuple[Node, ...]) -> frozenset[str]:
    """Every name a guard below tests."""
    found: frozenset[str] = frozenset()
    for node in nodes:
        if isinstance(node, Guard):
            found |= node.condition.names
        if not isinstance(node, Instance):
            found |= guard_names(node.body)
    return found
