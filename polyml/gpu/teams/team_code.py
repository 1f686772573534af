"""The loads and stores of launches whose threads run loops in teams, and combine their partial results.

for k by threads: partial += A[i, k]     ->   A[i, k]     at (blocks, threads, the thread's share of k)
combine; y[i] += partial of the team          y_shared    by all threads of a block, in each step of the tree
                                              y[i]        at the first thread of a team
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from polyml.codegen.gpu.program import Launch, Version
from polyml.codegen.gpu.teams import Barrier, Partial, TeamCode, TeamPhase
from polyml.codegen.gpu.text.teams import WARP, parts_name
from polyml.codegen.ir.program import Guard, Instance, Loop, Node
from polyml.gpu.places import Place, Touch, instances_in, looped, place_of, thread_dim
from polyml.gpu.thread_code import VersionWalk
from polyml.model.core.scop import Scop
from polyml.quasi_affine.affine import TRUE, Affine, Compare, Condition, variable, zero


@dataclass(frozen=True)
class TeamWalk:
    """A walk over what the threads of a block run together.

    code: that of the launch.
    has_shuffles: whether threads of a warp read registers of one another.
    """

    launch: Launch
    code: TeamCode
    scop: Scop
    sizes: Mapping[str, int]
    has_shuffles: bool

    def touches(self) -> Iterator[Touch]:
        """Yields the loads and stores of a thread."""
        for phase, condition, place in self._phases(self.code.order, self._start):
            yield from self._of_phase(phase, condition, place)

    def runs(self) -> Iterator[tuple[str, str, Place]]:
        """Yields each instance in the text of a thread, as `thread_code.runs` does."""
        for phase, condition, place in self._phases(self.code.order, self._start):
            here = place.where(condition)
            yield from instances_in(phase.body, here.where(zero(self.code.lane)) if phase.alone else here, {})

    @property
    def _start(self) -> Place:
        return place_of(self.launch, self.scop, self.sizes)

    def shared_bytes(self) -> int:
        """Returns the bytes of shared memory of a block."""
        counts = (
            (each, len({*(address for request in self._written(each) for address in request)} - {-1})) for each in self.code.partial
        )
        return sum(count * self._size(each) for each, count in {each.name: (each, count) for each, count in counts}.values())

    def _phases(self, nodes: Sequence[Node | Barrier], place: Place) -> Iterator[tuple[TeamPhase, Condition, Place]]:
        """Yields each phase in the nodes, the condition on it alone, and where it stands."""
        for node in nodes:
            if isinstance(node, Barrier):
                continue
            if isinstance(node, Loop):
                yield from self._phases(node.body, looped(node, place))
            elif isinstance(node, Guard) and isinstance(node.body[0], Loop):
                yield from self._phases(node.body, place.where(node.condition))
            else:
                run = node.body[0] if isinstance(node, Guard) else node
                assert isinstance(run, Instance)
                phase = self.code.phases[run.statement]
                values = {**place.values, **{name: place.index(each) for name, each in zip(phase.around, run.point)}}
                yield phase, node.condition if isinstance(node, Guard) else TRUE, replace(place, values=values)

    def _of_phase(self, phase: TeamPhase, condition: Condition, place: Place) -> Iterator[Touch]:
        here = place.where(condition)
        first = here.where(zero(self.code.lane))
        updates = {name: each.array for each in phase.partial for name in each.statements}
        walk = VersionWalk(self.launch, Version(TRUE, phase.body), self.scop, self.sizes, updates)
        if phase.stored:
            yield from (self._stored(each, here) for each in phase.partial)
        else:
            yield from walk.nodes(phase.body, first if phase.alone else here)
        for partial in phase.partial:
            yield from self._combined(partial, place)
        for partial in phase.partial:
            yield from self._final(partial, first)

    # partial results

    @property
    def _is_shuffled(self) -> bool:
        return self.has_shuffles and self.code.beside and self.code.size % WARP == 0

    @property
    def _threads(self) -> list[dict[str, int]]:
        """Returns for each thread of a block its numbers in the team, by name."""
        sizes, found = [axis.threads for axis in self.launch.axes[:3]], []
        for number in range(prod(sizes)):
            at = [number // prod(sizes[:k]) % sizes[k] for k in range(len(sizes))]
            found.append({axis.start: each for axis, each in zip(self.launch.axes, at) if axis.is_lane})
        return found

    def _size(self, partial: Partial) -> int:
        return self.scop.arrays[partial.array].element.size_bytes

    def _requests(self, places: Sequence[int]) -> list[tuple[int, ...]]:
        """Returns the requests of the warps of a block. places: for each thread, which element it accesses; -1: none."""
        warps = [tuple(places[k : k + WARP]) for k in range(0, len(places), WARP)]
        return [(*warp, *[-1] * (WARP - len(warp))) for warp in warps if max(warp) >= 0]

    def _written(self, partial: Partial) -> list[tuple[int, ...]]:
        """Returns the requests by which partial results are put into shared memory at first."""
        count = len(self._threads)
        if not self._is_shuffled:
            return self._requests(range(count))
        warps = self.code.size // WARP
        return [] if warps == 1 else self._requests([k // WARP if k % WARP == 0 else -1 for k in range(count)])

    def _combined(self, partial: Partial, place: Place) -> Iterator[Touch]:
        """Yields the loads and stores of shared memory by which a team combines the partial results of its threads."""
        loads: list[tuple[int, ...]] = []
        stores = self._written(partial)
        if self._is_shuffled:
            loads = []
        else:
            lanes = [self.code.lane.evaluate(each) for each in self._threads]
            step = prod(axis.threads for axis in self.launch.axes[: [axis.is_lane for axis in self.launch.axes].index(True)])
            apart = self.code.size // 2
            while apart:
                own = [k if lane < apart else -1 for k, lane in enumerate(lanes)]
                loads += self._requests(own) + self._requests([k + apart * step if k >= 0 else -1 for k in own])
                stores = stores + self._requests(own)
                apart //= 2
        loads += self._after(len(self._threads))
        own_dims = {thread_dim(axis) for axis in range(len(self.launch.axes))}
        conditions = tuple(each for each in place.conditions if not each.names & own_dims)
        block = replace(place, dims=tuple(each for each in place.dims if each not in own_dims), conditions=conditions)
        for requests, is_write in ((stores, True), (loads, False)):
            if requests:
                size = self._size(partial)
                pattern = tuple(tuple(each * size if each >= 0 else -1 for each in request) for request in requests)
                yield Touch(
                    f"partial results of {partial.array}",
                    partial.array,
                    is_write,
                    None,
                    block,
                    (),
                    pattern=pattern,
                    shared=_shared(partial),
                )

    def _after(self, count: int) -> list[tuple[int, ...]]:
        """Returns the requests by which the first warp reads the results of all warps. count: the threads of a block."""
        warps = self.code.size // WARP if self._is_shuffled else 1
        return [] if warps == 1 else self._requests([k if k < warps else -1 for k in range(count)])

    def _final(self, partial: Partial, first: Place) -> Iterator[Touch]:
        """Yields the loads and the store by which the first thread of a team combines the result with the element."""
        text = f"partial results of {partial.array}"
        if not self._is_shuffled:
            number, inner = Affine(), 1
            for axis, each in enumerate(self.launch.axes[:3]):
                number, inner = number + (variable(thread_dim(axis)) * inner if each.threads > 1 else 0), inner * each.threads
            yield Touch(text, partial.array, False, None, first, (number,), shared=_shared(partial))
        if self.code.part:
            yield self._of_parts(partial, variable(self.code.part), first, is_write=True)
            return
        subscripts = tuple(first.index(each) for each in partial.subscripts)
        for is_write in (False, True):
            yield Touch(
                f"{partial.array}[{', '.join(map(str, partial.subscripts))}]", partial.array, is_write, None, first, subscripts
            )

    def _stored(self, partial: Partial, here: Place) -> Touch:
        """Returns the load by which a thread fetches its partial results that another launch has stored."""
        place = here.inside(("part'",), self.code.lane, self.code.size)
        place = place.where(Compare(">=", variable(self.code.parts) - 1 - variable("part'")))
        return self._of_parts(partial, variable("part'"), place, is_write=False)

    def _of_parts(self, partial: Partial, part: Affine, place: Place, is_write: bool) -> Touch:
        """Returns the access to a partial result that blocks of one launch store for another."""
        number, teams = Affine(), 1
        for start, first, count in self.code.numbering:
            length = place.index(count).constant
            number, teams = number * length + place.index(variable(start) - first), teams * length
        at = place.index(part) * teams + number
        return Touch(f"partial results of {partial.array}", partial.array, is_write, None, place, (at,), parts=parts_name(partial))


def _shared(partial: Partial) -> str:
    return f"{partial.name}_shared"
