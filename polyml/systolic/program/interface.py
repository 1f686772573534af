"""What the statements of a kernel hand to one another where their nests run one after another.

Values are known by the instance that made them, so that it does not matter when an element is overwritten; arrays get the last
ones. A sum whose terms may come in any order is kept in its array between folds instead; other statements that read or write such
an array therefore do so in the source's order.
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
from polyml.systolic.recurrences.systolic_nest import SystolicNest
from polyml.systolic.recurrences.value_sources import ReadKey


class NestInterface:
    """A NestInterface knows the values that groups of statements hand to one another. A group is a nest, or one statement that is
    in no nest.

    scop: the SCoP; it has the pieces of statements that nests have split, in place of these.
    sizes: the parameters' values.
    group: by statement, the name of its group: the nest's, or its own.
    sums: the statements that update a running sum, or another reduction, in place.
    accumulated_arrays: the arrays that these statements write.
    overwritten: arrays that are both written, and read other than to update a sum, so that their elements from before the call may
        be wanted later.
    producers: by (statement T, number of its read), and by statement S, { S[p] -> T[q] : S[p] made what T[q] reads }.
    last_writers: by statement, the instances whose elements nothing writes after them.
    """

    def __init__(self, scop: Scop, dependences: Dependences, nests: Sequence[SystolicNest], sizes: Mapping[str, int]):
        split = next((nest.scop for nest in nests), scop)
        if split.statements.keys() != scop.statements.keys():
            scop, dependences = split, dependences_of(split)
        self.scop, self.sizes, self._dependences = scop, sizes, dependences
        self.group = {name: name for name in scop.statements}
        self.group |= {embedding.statement.name: nest.name for nest in nests for embedding in nest.embeddings}
        sums = {(use.statement, use.read) for nest in nests for use in nest.uses if use.kind == "result"}
        self.sums = {name for name, _ in sums}
        self.accumulated_arrays = {scop.statements[name].write.array for name in self.sums}
        others = {a.array for name, s in scop.statements.items() for read, a in enumerate(s.reads) if (name, read) not in sums}
        self.overwritten = others & {statement.write.array for statement in scop.statements.values()}
        known = {
            embedding.statement.name: nest.order.flows[embedding.statement.name] for nest in nests for embedding in nest.embeddings
        }
        reversed_sums = {name: pairs for nest in nests for name, pairs in nest.order.reversed_sums.items()}
        self.producers: dict[ReadKey, dict[str, isl.Map]] = {}
        for name, statement in scop.statements.items():
            for read, access in enumerate(statement.reads):
                flows = known[name][read] if name in known else flow_into(scop, statement, access)
                self.producers[name, read] = {
                    producer: polyhedra.at_sizes(self._seen_by(name, producer, pairs, reversed_sums), sizes)
                    for producer, pairs in flows.items()
                }
        self.last_writers = {}
        for name, statement in scop.statements.items():
            later = [m.domain() for m in polyhedra.pieces(dependences.output) if polyhedra.domain_name(m) == name]
            last = polyhedra.subtracted(statement.domain, later)
            self.last_writers[name] = polyhedra.at_sizes(last.apply(reversed_sums[name]) if name in reversed_sums else last, sizes)
        self._boxes = {name: self._box(name) for name in scop.statements}

    def _seen_by(self, name: str, producer: str, pairs: isl.Map, reversed_sums: Mapping[str, isl.Map]) -> isl.Map:
        """Returns the dependences by which the statement T takes values of S, as they are once the nests run on the PEs. They
        differ from `pairs` only where another nest than T's adds up S's sums from the last term to the first: a result then comes
        from the instance of the first term.

        name, producer: the names of T and S.
        pairs: { S[p] -> T[q] : S[p] made what T[q] reads } in the source's order.
        reversed_sums: for each statement whose sums are reversed in this way, { S[i] -> S[j] } from the instance of a sum's last
            term to that of its first.
        """
        is_reversed = producer in reversed_sums and self.group[producer] != self.group[name]
        return pairs.apply_domain(reversed_sums[producer]) if is_reversed else pairs

    def domain(self, name: str) -> isl.Set:
        """Returns the domain of the statement of this name, for the sizes of the call."""
        return polyhedra.at_sizes(self.scop.statements[name].domain, self.sizes)

    def _box(self, name: str) -> list[tuple[int, int]]:
        """Returns the least and the greatest value of each iterator of a statement, which are a box around its instances; zeros
        where it has none.
        """
        domain = self.domain(name)
        return [(0, 0)] * polyhedra.dimensions(domain) if domain.is_empty() else polyhedra.ranges(domain)

    def is_accumulated(self, name: str) -> bool:
        """Returns whether the named statement writes an array that some statement's sums update in place."""
        return self.scop.statements[name].write.array in self.accumulated_arrays

    def used_elsewhere(self, name: str) -> Iterator[isl.Set]:
        """Yields, for each read in another nest or by a statement in no nest that takes values of the named statement, the
        instances that make these values. Yields nothing for a sum, since others read its result from the array.
        """
        for (user, _), producers in self.producers.items():
            if name in producers and name not in self.sums and self.group[user] != self.group[name]:
                yield producers[name].domain()

    def instance(self, name: str) -> tuple[tuple[int, ...], int]:
        """Returns (coefficients of the iterators, constant), the affine function that numbers a statement's instances: row by row
        in the box around them.
        """
        lengths = [last - first + 1 for first, last in self._boxes[name]]
        strides = tuple(prod(lengths[k + 1 :]) for k in range(len(lengths)))
        return strides, -sum(stride * first for stride, (first, _) in zip(strides, self._boxes[name]))

    def instances(self, name: str) -> int:
        """Returns how many points the box around the instances of the statement of this name has."""
        return prod(last - first + 1 for first, last in self._boxes[name])

    def in_order(self) -> Iterator[str]:
        """Yields the names of the nests, and of the statements in no nest, that have instances, each after those whose values it
        uses.

        Raises: IllegalSchedule for nests or statements that would have to alternate.
        """
        groups = {name: self.group[name] for name in self.scop.statements if not self.domain(name).is_empty()}
        before: dict[str, set[str]] = {group: set() for group in groups.values()}
        for (user, _), producers in self.producers.items():
            if user in groups:
                before[groups[user]] |= {groups[producer] for producer in producers if producer in groups}
        for source, sink in self._in_turn():
            if source in groups and sink in groups:
                before[groups[sink]].add(groups[source])
        waiting = list(before)
        while waiting:
            ready = next((group for group in waiting if before[group] <= {group}), None)
            if ready is None:
                raise IllegalSchedule(
                    f"{', '.join(waiting)} use {', '.join(sorted(self.accumulated_arrays))} in turns, so that none can run as a whole"
                )
            yield ready
            waiting.remove(ready)
            for others in before.values():
                others.discard(ready)

    def _in_turn(self) -> Iterator[tuple[str, str]]:
        """Yields the names (source, sink) of two statements of which the sink has to run after the source: an anti or output
        dependence goes from the source to the sink, through an array in which sums are updated in place.
        """
        for kind in (self._dependences.anti, self._dependences.output):
            for pairs in polyhedra.pieces(kind):
                source, sink = polyhedra.domain_name(pairs), polyhedra.range_name(pairs)
                statement = self.scop.statements[source]
                used = {statement.write.array, *(access.array for access in statement.reads)}
                if self.scop.statements[sink].write.array in used & self.accumulated_arrays:
                    yield source, sink
