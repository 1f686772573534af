"""The legal register tilings of a nest, from small ones to large ones; `vectorize` chooses among them by their cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from polyml.codegen.analysis.loop_nest import LoopNest, guard_names, has_guard
from polyml.codegen.analysis.register_tiling import RegisterTiling
from polyml.codegen.analysis.scans import is_multiplied, may_scan
from polyml.codegen.costs.access_strides import StrideKind
from polyml.codegen.costs.cost_model import CostModel
from polyml.codegen.dot_products.word_loop import WordLoop
from polyml.codegen.ir.program import Loop

JAM_COUNTS = (2, 3, 4, 5, 6, 7, 8)
WORD_JAM_COUNTS = (*JAM_COUNTS, 12)  # where a loop runs words: the sums of a bias are the same for all rows
PAIR_COUNTS = (2, 3, 4, 6, 8)  # the counts for each of two jammed loops
VECTOR_COUNTS = (1, 2, 3, 4)
MAX_STRIP_VECTORS = 16  # the longest block of iterations that is as long as a dependence's distance
COPIES_LIMIT = 32  # the most vectors that run together
RARE_COPIES_LIMIT = 8  # the same for partial tiles, whose code is kept small
LOOPS_LIMIT = 12  # only so many innermost loops of a chain take part: tilings grow with the fourth power of their number


class LegalTilings:
    """The legal register tilings of one nest of loops: unroll-and-jam, with the iterations of one loop as lanes.

    nest, model: the nest and its cost model.
    lanes: elements of a vector register.
    is_rare: whether the nest seldom runs, so that its code is kept small.
    words: its loops whose iterations may run a word at a time.
    """

    def __init__(self, nest: LoopNest, model: CostModel, lanes: int, is_rare: bool, words: Sequence[WordLoop] = ()):
        self._nest, self._model, self._lanes, self._is_rare, self._words = nest, model, lanes, is_rare, words

    def all(self) -> Iterator[RegisterTiling]:
        """Yields every legal register tiling of the nest that is considered, from small ones to large ones."""
        guards = guard_names(self._nest.body)
        has_loops = any(isinstance(n, Loop) for n in self._nest.body)
        for start in range(max(0, len(self._nest.chain) - LOOPS_LIMIT), len(self._nest.chain)):
            fixed = tuple(range(start))
            loops = range(start, len(self._nest.chain))
            free = {v for v in loops if self._nest.is_independent(v, fixed) and self._nest.chain[v].var not in guards}
            if self._lanes > 1 and has_loops:
                yield from self._around_body_loops(start, free)
            elif self._lanes > 1:
                yield from self._around_instances(start, free)
                yield from self._copies(start, free)
            yield from self._scalar(start, free, has_loops)

    def _scalar(self, start: int, free: set[int], has_loops: bool) -> Iterator[RegisterTiling]:
        """Yields tilings without vectors, in which several iterations of an independent loop run together, so that a chain of
        dependent operations in one hides behind the others'.

        start: the position of the first loop of the nest that takes part.
        free: the positions of the independent loops, those without dependences between iterations.
        has_loops: whether the nest's body has loops of its own.
        """
        innermost = None if has_loops else len(self._nest.chain) - 1
        for loop in sorted(free - {innermost}):
            if self._nest.chain[loop].step == 1:
                for count in (2, 4, 8):
                    yield RegisterTiling(start, innermost, None, 1, 1, ((loop, count),))

    def _around_body_loops(self, start: int, free: set[int]) -> Iterator[RegisterTiling]:
        """Yields tilings with lanes for a nest whose body has loops: iterations of the nest's loops run together around these.

        start: the position of the first loop of the nest that takes part.
        free: the positions of the independent loops, those without dependences between iterations.
        """
        for vector in sorted(free):
            if self._model.is_vectorizable(vector):
                yield from self._with_counts(RegisterTiling(start, None, vector, 1, self._lanes), sorted(free - {vector}))

    def _around_instances(self, start: int, free: set[int]) -> Iterator[RegisterTiling]:
        """Yields tilings with lanes for a nest whose body has instances alone: each loop that can be moved inside all others is
        tried as the innermost one.

        start: the position of the first loop of the nest that takes part.
        free: the positions of the independent loops, those without dependences between iterations.
        """
        count = len(self._nest.chain)
        for innermost in range(start, count):
            passed = set(range(innermost + 1, count))
            if innermost not in free and not passed <= free:
                continue
            jammed = sorted(free - {innermost})
            for vector in jammed:
                if self._model.is_vectorizable(vector):
                    rest = [j for j in jammed if j != vector]
                    base = RegisterTiling(start, innermost, vector, 1, self._lanes)
                    yield from self._with_counts(base, rest)
                    for word in self._words:
                        if word.use is not None and (word.loop, word.vector, word.lanes) == (innermost, vector, self._lanes):
                            yield from self._with_counts(replace(base, word=word), rest)
            if not self._model.is_vectorizable(innermost):
                continue
            base = RegisterTiling(start, innermost, innermost, 1, self._lanes)
            fixed = tuple(v for v in range(count) if v != innermost)
            if innermost in free:
                yield from self._with_counts(base, jammed)
                yield from self._unrolled(base, free)
            elif not has_guard(self._nest.body) and self._nest.is_independent(innermost, tuple(range(start)), reorder=True):
                updated = [r for r in self._model.accesses if r.access.accumulates and r.access.writes]
                carried = [r for r in updated if r.strides[innermost].is_invariant]
                others = {r.array for r in updated} - {r.array for r in carried}
                in_lanes = all(self._nest.is_distinct(array, innermost, fixed) for array in others)
                if in_lanes and all(self._nest.only_reductions_meet(r.array, fixed) for r in carried):
                    base = replace(base, scalar_remainder=_has_scalar_remainder(self._model, innermost, {r.array for r in carried}))
                    yield from self._with_counts(base, sorted(self._reorderable(start) - {innermost}))
            elif innermost == count - 1 and self._nest.is_independent(innermost, fixed):
                yield base
            elif may_scan(self._nest, innermost):
                multiplied = is_multiplied(self._nest)  # powers of the factor for longer vectors may be infinite
                scans = self._with_counts(replace(base, scans=True), [])
                yield from (tiling for tiling in scans if not (multiplied and tiling.interleaved))
            if start == innermost == count - 1 and not self._nest.is_independent(innermost, fixed, reorder=True):
                yield from self._in_order(replace(base, in_order=True))

    def _in_order(self, base: RegisterTiling) -> Iterator[RegisterTiling]:
        """Yields tilings of a nest whose innermost loop has dependences between its iterations, all of which are kept by the order
        of vectors and instances. In one of them a block is as long as the shortest distance of a dependence, so that the next block
        has what it computes in registers, lane by lane.
        """
        if base.vector is None or any(r.access.accumulates for r in self._model.accesses):
            return
        reach, trips = self._nest.lane_reach, self._model.trips[base.vector]
        distance = min(reach.vector, reach.block)
        if 2 <= distance <= min(MAX_STRIP_VECTORS * self._lanes, trips):
            lanes = min(1 << (distance - 1).bit_length(), self._lanes)
            vectors = -(-distance // lanes)
            yield replace(base, lanes=lanes, vectors=vectors, strip=distance if distance % lanes else 0)
        lanes = self._lanes
        while lanes >= 2:
            for vectors in VECTOR_COUNTS:
                if reach.allows(lanes, vectors) and (vectors == 1 or vectors * lanes <= trips):
                    yield replace(base, lanes=lanes, vectors=vectors)
            lanes //= 2

    def _copies(self, start: int, free: set[int]) -> Iterator[RegisterTiling]:
        """Yields tilings in which the elements of words are copied together.

        start: the position of the first loop of the nest that takes part.
        free: the positions of the independent loops, those without dependences between iterations.
        """
        for word in self._words:
            if word.use is None and {word.loop, word.vector} <= free and word.vector == len(self._nest.chain) - 1:
                jams, unrolled = ((word.loop, word.length),), frozenset({word.loop})
                yield RegisterTiling(start, word.vector, word.vector, 1, word.lanes, jams, unrolled, word=word)

    def _reorderable(self, start: int) -> set[int]:
        """Returns the positions of the loops, from `start` on, that carry no dependence except among the updates of reductions,
        and on whose variables no guard's condition in the nest's body depends. Iterations of
        such a loop may run together, if all updates of one element stay in one order.
        """
        guards, fixed = guard_names(self._nest.body), tuple(range(start))
        return {
            v
            for v in range(start, len(self._nest.chain))
            if self._nest.is_independent(v, fixed, reorder=True) and self._nest.chain[v].var not in guards
        }

    def _unrolled(self, base: RegisterTiling, free: set[int]) -> Iterator[RegisterTiling]:
        """Yields variants of a tiling whose innermost loop is independent. In each of them a few iterations of one sequential loop
        run, in their order, inside of the innermost loop.

        free: the positions of the independent loops, those without dependences between iterations.
        """
        others = [v for v in range(base.start, len(self._nest.chain)) if v != base.innermost]
        for loop in others:
            inside = {v for v in others if v > loop}
            if loop in free or not inside <= free or self._nest.chain[loop].step != 1:
                continue
            for count in (2, 4, 8):
                if self._model.trips[loop] >= count:
                    yield replace(base, jams=((loop, count),), unrolled=frozenset({loop}))

    def _with_counts(self, base: RegisterTiling, jammed: list[int]) -> Iterator[RegisterTiling]:
        """Yields variants of a tiling: with one or more vectors side by side, and with several iterations of none, one or two of
        the loops at the positions `jammed` running together.
        """
        if base.vector is None:
            return
        jammed = [j for j in jammed if self._nest.chain[j].step == 1 and self._model.shares(j)]
        limit = RARE_COPIES_LIMIT if self._is_rare else COPIES_LIMIT
        for vectors in self._model.interleaved or VECTOR_COUNTS:
            if vectors > 1 and vectors * base.lanes > self._model.trips[base.vector]:
                break
            wide = replace(base, vectors=vectors, interleaved=vectors > 1 and bool(self._model.interleaved))
            yield wide
            for loop in jammed:
                for count in JAM_COUNTS if base.word is None else WORD_JAM_COUNTS:
                    if count <= self._model.trips[loop] and vectors * count <= limit:
                        yield wide.jammed((loop, count))
            for a, b in combinations(jammed, 2):
                for count in PAIR_COUNTS:
                    for other in PAIR_COUNTS:
                        if vectors * count * other <= limit:
                            yield wide.jammed((a, count), (b, other))


def _has_scalar_remainder(model: CostModel, vector: int, sums: set[str]) -> bool:
    """Returns whether the iterations of a reduction that are left over behind whole vectors should run one by one, not under a
    mask.

    This is so if lanes lie far apart in memory, where a mask costs each of them; or if the array of the sums is read as well, since
    a vector of it would wait for elements that were just computed.

    vector: the position in the nest of the loop whose iterations are the lanes.
    sums: the arrays of the reductions.
    """
    reads = (r for r in model.accesses if not r.access.writes and not r.access.accumulates)
    return any(r.strides[vector].kind is StrideKind.LONG or r.array in sums for r in reads)
