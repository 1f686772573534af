"""The nests that systolic arrays run: statements in one index space, and what their instances use and write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import islpy as isl

from polyml import polyhedra
from polyml.model.core.scop import Scop, Statement
from polyml.systolic.recurrences.embedding import Embedding
from polyml.systolic.recurrences.reversed_sums import ReductionOrder
from polyml.systolic.recurrences.spacetime import Vector
from polyml.systolic.recurrences.value_sources import ValueSource
from polyml.values import cached_property


@dataclass(frozen=True)
class ArrayUse:
    """An ArrayUse is an access of a nest's statement, with where its values come from.

    kind: "operand" (elements that the nest does not make), "result" (a sum or other reduction, which the nest goes on with), or
        "value" (made by other instances of the nest).
    array, text: the array and the access, as the user writes them.
    rows: for each subscript, the coefficients of the statement's iterators.
    statement: the statement's name.
    read: the number of the read; RESULT for the write.
    sources: the instances that can hand on the value, since they made it or read the same element before, each by its step in the
        index space.
    flow: { p -> q : q uses what p made }, for values.
    """

    kind: str
    array: str
    text: str
    rows: tuple[Vector, ...]
    statement: str
    read: int
    sources: tuple[ValueSource, ...] = ()
    flow: isl.Map | None = field(default=None, repr=False, compare=False)

    def depends_on(self, loop: int) -> bool:
        """Returns whether the accessed element depends on the statement's loop at this position."""
        return any(row[loop] for row in self.rows)

    @property
    def distance(self) -> Vector:
        """Returns the step from which all instances get their values if the use has a single source; () where it has several
        sources or none.
        """
        return self.sources[0].vector if len(self.sources) == 1 else ()


@dataclass(frozen=True)
class SystolicNest:
    """A SystolicNest is the instances of one statement, or of several that need each other's values, in one index space.

    statement: the deepest statement, whose loops are the axes of the index space.
    embeddings: the embedding of each statement into the index space.
    uses: the reads, statement by statement.
    results: the writes, one for each statement.
    live_out: { p }, the points whose values are in their arrays at the end, or are used by statements outside the nest.
    order: the order in which the terms of sums are added: the source's, or one with sums reversed.
    starts_from_arrays: whether sums start from elements of arrays, rather than from numbers.
    scop: the SCoP of the statements: the kernel's, or one in which some are split into phases, parts of an iteration.
    origins: where statements are split, the name of the statement that each piece comes from, by the piece's name.
    boundary: the names of statements outside the nest that hand no values on among their own instances, and that make what the nest
        reads or use what it makes.
    """

    statement: Statement = field(repr=False)
    embeddings: tuple[Embedding, ...] = field(repr=False)
    uses: tuple[ArrayUse, ...]
    results: tuple[ArrayUse, ...]
    live_out: isl.Set = field(repr=False, compare=False)
    order: ReductionOrder = field(repr=False, compare=False)
    starts_from_arrays: bool
    scop: Scop = field(repr=False, compare=False)
    origins: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    boundary: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Returns the names of the nest's statements as text: `S0, S1`."""
        return ", ".join(embedding.statement.name for embedding in self.embeddings)

    @property
    def written(self) -> ArrayUse:
        """Returns the write of the deepest statement."""
        return next(use for use in self.results if use.statement == self.statement.name)

    @property
    def is_wired(self) -> bool:
        """Returns whether some values go along wires."""
        return any(source.line for use in self.uses for source in use.sources)

    @property
    def parts(self) -> dict[str, str]:
        """Returns the domain of each piece of a split statement as text, by the piece's name: `S0[k, i, j] : i <= k and j <= k`."""
        domains = {embedding.statement.name: embedding.statement.domain for embedding in self.embeddings}
        found = {}
        for part, name in self.origins.items():
            same = [domains[other].set_tuple_name(name) for other, origin in self.origins.items() if origin == name]
            if len(same) > 1:
                whole = polyhedra.union(same).coalesce()
                found[part] = polyhedra.text(domains[part].set_tuple_name(name).gist(whole))
        return found

    @property
    def heading(self) -> str:
        """Returns the statements with their iterators as text: `S0[i, j], S1[i]`."""
        return ", ".join(f"{embedding.statement.name}[{', '.join(embedding.statement.iterators)}]" for embedding in self.embeddings)

    @property
    def loops(self) -> tuple[str, ...]:
        """Returns the names of the deepest statement's loops."""
        return self.statement.iterators

    @cached_property
    def domain(self) -> isl.Set:
        """Returns the points of the index space at which an instance of some statement lies."""
        return polyhedra.union([embedding.map.range() for embedding in self.embeddings]).coalesce()

    def embedding(self, name: str) -> Embedding:
        """Returns the embedding of the statement of this name."""
        return next(embedding for embedding in self.embeddings if embedding.statement.name == name)
