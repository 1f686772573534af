"""What the statements of a kernel hand to one another where they run one nest after another.

Values are known by the instance that made them, so that it does not matter when an element is overwritten; arrays get the last ones.
Sums whose terms come in any order are in their arrays instead, from fold to fold; whatever else writes such an array does so in turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

import islpy as isl

from polyml import polyhedra
from polyml.errors import IllegalSchedule
from polyml.model.core.dependence import Dependences, flow_into
from polyml.model.core.dependence import dependences as dependences_of
from polyml.model.core.scop import Scop
from polyml.systolic.recurrences.nests import Nest

Read = tuple[str, int]  # a statement, and the number of its read


class Between:
    """makers: by read, { S[p] -> T[q] : S[p] made what T[q] reads } by S. sums: statements that are sums; live: their arrays.
    overwritten: arrays that change while others than sums of them may want elements as the call found them. last: by statement,
    instances whose elements nothing writes after them. scop: with the parts of statements that the nests have.
    """

    def __init__(self, scop: Scop, dependences: Dependences, nests: Sequence[Nest], sizes: Mapping[str, int]):
        parted = next((nest.scop for nest in nests), scop)
        if parted.statements.keys() != scop.statements.keys():
            scop, dependences = parted, dependences_of(parted)
        self.scop, self.sizes, self._dependences = scop, sizes, dependences
        self.group = {name: name for name in scop.statements}
        self.group |= {place.statement.name: nest.name for nest in nests for place in nest.places}
        sums = {(use.statement, use.read) for nest in nests for use in nest.uses if use.kind == "result"}
        self.sums = {name for name, _ in sums}
        self.live = {scop.statements[name].write.array for name in self.sums}
        others = {a.array for name, s in scop.statements.items() for read, a in enumerate(s.reads) if (name, read) not in sums}
        self.overwritten = others & {statement.write.array for statement in scop.statements.values()}
        known = {place.statement.name: nest.order.flows[place.statement.name] for nest in nests for place in nest.places}
        turned = {name: pairs for nest in nests for name, pairs in nest.order.turned.items()}
        self.makers: dict[Read, dict[str, isl.Map]] = {}
        for name, statement in scop.statements.items():
            for read, access in enumerate(statement.reads):
                flows = known[name][read] if name in known else flow_into(scop, statement, access)
                self.makers[name, read] = {
                    maker: polyhedra.at_sizes(
                        pairs.apply_domain(turned[maker]) if maker in turned and self.group[maker] != self.group[name] else pairs,
                        sizes,
                    )
                    for maker, pairs in flows.items()
                }
        self.last = {}
        for name, statement in scop.statements.items():
            later = [m.domain() for m in polyhedra.pieces(dependences.output) if polyhedra.domain_name(m) == name]
            last = polyhedra.subtracted(statement.domain, later)
            self.last[name] = polyhedra.at_sizes(last.apply(turned[name]) if name in turned else last, sizes)
        self._boxes = {name: self._box(name) for name in scop.statements}

    def domain(self, name: str) -> isl.Set:
        return polyhedra.at_sizes(self.scop.statements[name].domain, self.sizes)

    def _box(self, name: str) -> list[tuple[int, int]]:
        """Around a statement's instances; of none, of one that is not."""
        domain = self.domain(name)
        return [(0, 0)] * polyhedra.dimensions(domain) if domain.is_empty() else polyhedra.ranges(domain)

    def is_live(self, name: str) -> bool:
        """Whether a statement writes an array that is right at any time."""
        return self.scop.statements[name].write.array in self.live

    def used_elsewhere(self, name: str) -> Iterator[isl.Set]:
        """Instances of a statement that is no sum whose values other nests, or statements of none, use."""
        for (user, _), makers in self.makers.items():
            if name in makers and name not in self.sums and self.group[user] != self.group[name]:
                yield makers[name].domain()

    def instance(self, name: str) -> tuple[tuple[int, ...], int]:
        """An instance's number in a box around all of its statement's, as a sum of its loops and a constant."""
        lengths = [last - first + 1 for first, last in self._boxes[name]]
        strides = tuple(prod(lengths[k + 1 :]) for k in range(len(lengths)))
        return strides, -sum(stride * first for stride, (first, _) in zip(strides, self._boxes[name]))

    def instances(self, name: str) -> int:
        """Of that box."""
        return prod(last - first + 1 for first, last in self._boxes[name])

    def in_order(self) -> Iterator[str]:
        """Names of nests, and of statements of none, that have instances, each after those that it takes from. Raises
        IllegalSchedule for those that have to take turns.
        """
        groups = {name: self.group[name] for name in self.scop.statements if not self.domain(name).is_empty()}
        before: dict[str, set[str]] = {group: set() for group in groups.values()}
        for (user, _), makers in self.makers.items():
            if user in groups:
                before[groups[user]] |= {groups[maker] for maker in makers if maker in groups}
        for source, sink in self._in_turn():
            if source in groups and sink in groups:
                before[groups[sink]].add(groups[source])
        waiting = list(before)
        while waiting:
            ready = next((group for group in waiting if before[group] <= {group}), None)
            if ready is None:
                raise IllegalSchedule(
                    f"{', '.join(waiting)} use {', '.join(sorted(self.live))} in turns, so that none can run as a whole"
                )
            yield ready
            waiting.remove(ready)
            for others in before.values():
                others.discard(ready)

    def _in_turn(self) -> Iterator[tuple[str, str]]:
        """Statements that write a live array after others have used it."""
        for kind in (self._dependences.anti, self._dependences.output):
            for pairs in polyhedra.pieces(kind):
                source, sink = polyhedra.domain_name(pairs), polyhedra.range_name(pairs)
                statement = self.scop.statements[source]
                used = {statement.write.array, *(access.array for access in statement.reads)}
                if self.scop.statements[sink].write.array in used & self.live:
                    yield source, sink
