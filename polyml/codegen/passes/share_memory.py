"""Arrays that are never in use at the same time share memory.

        for i: T[i] = A[i] + 1                                     T: N elements
        for i: U[i] = T[N - 1 - i]*2                               U: N elements
        for i: V[i] = U[N - 1 - i] - 3                          -> V lies where T lay
        for i: B[i] = V[N - 1 - i]

Proof. Loops of one block (the kernel, or the body of a loop) run one after the other, in the order of the text. A local array is in
use from the first of them that accesses it to the last. Of two arrays whose ranges have no loop in common, one is dead when the
other gets its first value, since nothing accesses it any more, and local arrays have no values at first. In the body of a loop, both
must hand no value from one of its iterations to another one (`codegen.lifetimes`): they are dead again as each iteration begins.
Threads run iterations of a parallel loop at the same time; there both arrays must be each thread's own, and the threads' parts of the
memory are apart. Arrays that code of the block outside of its loops accesses are left alone: there, elements stay in registers and
are stored later.

An array takes the place of those that ended: of one with the same extents if there is one, else of the one that ended last, which
may still be in caches. Each place is as large as the largest of its arrays at the sizes of the call (the left-edge algorithm).

Hashimoto and Stevens, "Wire routing by optimizing channel assignment within large apertures", DAC 1971: left edge.
Fabri, "Automatic storage optimization", SIGPLAN Notices 14, 1979: arrays in the places of dead ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import prod

from polyml.codegen.ir.program import Loop, Program, instances
from polyml.codegen.lifetimes.array_uses import ArrayUse, common_nodes, uses
from polyml.codegen.lifetimes.within_iterations import hands_nothing_on
from polyml.model.core.scop import Array, Role
from polyml.polyhedra import left

LEAST_BYTES = 4096  # of an array, for which it is proved that it hands nothing on
MOST_OPERATIONS = 600_000  # of isl for all these proofs; the compilation's others are left for what cannot do without


def share_memory(program: Program) -> Program:
    """Returns the program with memory that several local arrays have in turn: `Program.shared`.

    The loops must be final, and so must the windows of arrays.
    """
    found = uses(program, [name for name in program.scop.arrays if _may_share(program, name)])
    lifetimes = _Lifetimes(program, {name: own for name, own in found.items() if own})
    shared: dict[str, str] = {}
    places: list[list[str]] = []
    for name in sorted(lifetimes.uses, key=lambda name: (lifetimes.first(name), lifetimes.last(name), name)):
        ended = [place for place in places if all(lifetimes.ends_before(other, name) for other in place)]
        if not ended:
            places.append([name])
            continue
        chosen = max(ended, key=lambda place: (_is_as_large(program, name, place), lifetimes.last(place[-1])))
        shared[name] = chosen[0]
        chosen.append(name)
    return replace(program, shared=shared) if shared else program


@dataclass(frozen=True)
class _Lifetimes:
    """uses: the accesses to each array, in the order of the text. began: the operations that isl had left before the first proof."""

    program: Program
    uses: dict[str, list[ArrayUse]]
    began: int | None = field(default_factory=left)
    _known: dict[tuple[str, int], bool] = field(default_factory=dict)

    def first(self, name: str) -> int:
        return self.uses[name][0].number

    def last(self, name: str) -> int:
        return self.uses[name][-1].number

    def ends_before(self, name: str, other: str) -> bool:
        """Returns whether an array is dead whenever the other one, which begins behind it, is in use."""
        if self.last(name) >= self.first(other):
            return False
        around = common_nodes((*self.uses[name], *self.uses[other]))
        own, its = ({id(use.nodes[len(around)]): use.nodes[len(around)] for use in self.uses[n]} for n in (name, other))
        if own.keys() & its.keys() or not all(isinstance(node, Loop) for node in (*around, *own.values(), *its.values())):
            return False
        if around and any(map(self._is_small, (name, other))):
            return False
        if any(not {name, other} <= {*node.private} for node in around if isinstance(node, Loop) and node.parallel):
            return False
        return all(self._is_within(each, node) for node in around[-1:] if isinstance(node, Loop) for each in (name, other))

    def _is_small(self, name: str) -> bool:
        """Returns whether an array is known to have so little memory that it is not worth a proof."""
        window = self.program.windows.get(name)
        lengths = [] if window is None else [n for n in window.lengths if n is not None]
        size_bytes = self.program.scop.arrays[name].element.size_bytes
        return window is not None and len(lengths) == len(window.lengths) and prod(lengths) * size_bytes < LEAST_BYTES

    def _is_within(self, name: str, loop: Loop) -> bool:
        """Returns whether the array hands no value from one iteration of a loop to another, as none that is private to threads does."""
        if name in loop.private:
            return True
        key, now = (name, id(loop)), left()
        if key not in self._known:
            spent = 0 if self.began is None or now is None else self.began - now
            self._known[key] = hands_nothing_on(self.uses[name], loop, self.program.scop.checked, MOST_OPERATIONS - spent)
        return self._known[key]


def _is_as_large(program: Program, name: str, place: list[str]) -> bool:
    """Returns whether a place has an array with exactly as much memory."""
    return _extents(program, program.scop.arrays[name]) in [_extents(program, program.scop.arrays[other]) for other in place]


def _extents(program: Program, array: Array) -> object:
    """Returns a value that is equal for arrays with equally much memory."""
    window = program.windows.get(array.name)
    return array.element, tuple(map(str, array.shape)), None if window is None else window.lengths


def _may_share(program: Program, name: str) -> bool:
    array = program.scop.arrays[name]
    is_own = array.role is Role.LOCAL and bool(array.shape) and all(r.array != name for r in program.scop.results)
    before = [program.scop.statements[each.statement] for each in instances(program.before)]
    return is_own and not any(access.array == name for s in before for access in (*s.reads, s.write))
