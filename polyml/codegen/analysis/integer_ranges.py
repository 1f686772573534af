"""What the integers of a Program may come to: none may leave 64 bits, since nothing tests it while they are computed.

Sums of addresses may: they wrap around and back. Sizes and arguments are small by the first checks at entry.
"""

from __future__ import annotations

from collections.abc import Sequence

from polyml.codegen.ir.linexpr import Choice, Extremum, FloorDiv, Lin
from polyml.codegen.ir.program import CannotRunTogether, Loop, Program

PARAMETER_LIMIT = 2**40  # of a symbolic integer of which the Scop says nothing
INTEGER_LIMIT, END_LIMIT = 2**62, 2**61  # of any integer; of a loop's ends, so that how far they are apart fits too
MOST_THREADS = 2**16
LINE_BYTES = 64

Range = tuple[int, int]  # the least and the greatest value
_ANY = (-PARAMETER_LIMIT, PARAMETER_LIMIT)


class LeavesRange(CannotRunTogether):
    """An integer of these loops may leave 64 bits."""


class Ranges:
    """The least and the greatest value of names: symbolic integers, and loops' variables as far as `enter` was called."""

    def __init__(self, program: Program):
        scop, self._names = program.scop, {}
        self._known: dict[Lin, Range] = {}  # since the last loop was entered
        for p in scop.parameters:
            most = scop.limits.get(p.name, PARAMETER_LIMIT)
            self._names[p.name] = (0 if p.is_size else -most, most)
        self._names |= dict.fromkeys(program.phases, (0, LINE_BYTES))
        self._names |= dict.fromkeys((program.thread, program.threads), (0, MOST_THREADS))

    def enter(self, loop: Loop) -> None:
        """What a loop says of its variable, and of its `last`."""
        lower, upper = (list(map(self.of, ends)) for ends in (loop.lower, loop.upper))
        low, high = max(least for least, _ in lower), min(most for _, most in upper)
        self._known.clear()
        self._names[loop.var] = (low, max(low, high))
        if loop.last:
            self._names[loop.last] = (min(least for least, _ in upper), high)
        if max(-low, high + loop.step) > END_LIMIT:
            raise LeavesRange(f"the loop over {loop.var} may leave 64 bits")

    def check(self, e: Lin) -> None:
        """LeavesRange where the value may be too great, or a number in it is."""
        low, high = self.of(e)
        if max(-low, high, abs(e.const), *(abs(c) for _, c in e.terms)) > INTEGER_LIMIT:
            raise LeavesRange(f"{e} may leave 64 bits")

    def of(self, e: Lin) -> Range:
        found = self._known.get(e)
        if found is None:
            found = self._known[e] = self._sum(e)
        return found

    def _sum(self, e: Lin) -> Range:
        low = high = e.const
        for atom, c in e.terms:
            least, most = self._names.get(atom, _ANY) if isinstance(atom, str) else self._of_atom(atom)
            low += c * (least if c > 0 else most)
            high += c * (most if c > 0 else least)
        return low, high

    def _of_atom(self, atom: FloorDiv | Extremum | Choice) -> Range:
        if isinstance(atom, FloorDiv):
            low, high = self.of(atom.operand)
            return low // atom.divisor, high // atom.divisor
        if isinstance(atom, Extremum):
            pick = min if atom.op == "min" else max
            ranges = list(map(self.of, atom.operands))
            return pick(low for low, _ in ranges), pick(high for _, high in ranges)
        return _either([self.of(atom.then), self.of(atom.orelse)])


def _either(ranges: Sequence[Range]) -> Range:
    return min(low for low, _ in ranges), max(high for _, high in ranges)
