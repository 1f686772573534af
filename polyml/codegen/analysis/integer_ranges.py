"""Interval analysis of a Program's integers: none may leave 64 bits, since the generated code does not test for overflow.

Sums inside of addresses may overflow, since they wrap around and back. The checks at entry bound sizes and arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from polyml.codegen.ir.block_quotients import divisor_of, rounded
from polyml.codegen.ir.program import CannotRunTogether, Loop, Program
from polyml.quasi_affine.affine import Affine, Choice, Condition, Extremum, FloorDiv, Logic

PARAMETER_LIMIT = 2**40  # the largest value of a parameter for which the SCoP gives no limit
INTEGER_LIMIT = 2**62  # the largest value of any integer
END_LIMIT = 2**61  # the largest value of a loop's bounds, so that their difference is an integer within its limit
MOST_THREADS = 2**16
LINE_BYTES = 64

Interval = tuple[int, int]  # the least and the greatest value
_ANY = (-PARAMETER_LIMIT, PARAMETER_LIMIT)


class LeavesRange(CannotRunTogether):
    """Raised when an integer of a program's loops may leave 64 bits."""


class Ranges:
    """The intervals in which a program's parameters, and the variables of the loops passed to `enter`, have their values."""

    def __init__(self, program: Program):
        scop, self._names = program.scop, {}
        self._multiples: dict[str, int] = {}
        self._known: dict[Affine, Interval] = {}  # since the last loop was entered
        for p in scop.parameters:
            most = scop.limits.get(p.name, PARAMETER_LIMIT)
            self._names[p.name] = (0 if p.is_size else -most, most)
        self._names |= dict.fromkeys(program.phases, (0, LINE_BYTES))
        self._names |= dict.fromkeys((program.thread, program.threads), (0, MOST_THREADS))

    def enter(self, loop: Loop) -> None:
        """Records, for the expressions inside of the loop, the interval of the loop's variable. If the body has a name for the last
        iteration of a thread's chunk (`Loop.last`), the interval of that is recorded too.

        Raises LeavesRange if the variable may exceed 2**61 (END_LIMIT), so that integers made of it might leave 64 bits.
        """
        lower, upper = (list(map(self.of, ends)) for ends in (loop.lower, loop.upper))
        low, high = max(least for least, _ in lower), min(most for _, most in upper)
        self._known.clear()
        self._names[loop.var] = (low, max(low, high))
        self._multiples[loop.var] = divisor_of(loop, self._multiples)
        if loop.last:
            self._names[loop.last] = (min(low - 1, *(least for least, _ in upper)), high)  # a chunk may be empty
        if max(-low, high + loop.step) > END_LIMIT:
            raise LeavesRange(f"the loop over {loop.var} may leave 64 bits")

    def rounded(self, e: Affine) -> Affine:
        """Returns the expression with quotients that are the same for all of a tile's iterations in the same terms."""
        return rounded(e, self._multiples)

    def exclude(self, condition: Condition) -> None:
        """Records that a condition on parameters does not hold from here on, as behind a test at entry. What it says of one
        parameter alone counts.
        """
        if isinstance(condition, Logic):
            for part in condition.parts if condition.op == "or" else ():
                self.exclude(part)
        elif condition.op == ">=" and len(condition.expr.terms) == 1:
            ((name, c),) = condition.expr.terms
            if isinstance(name, str) and name in self._names and abs(c) == 1:
                low, high = self._names[name]
                bound = condition.expr.constant + 1
                low, high = (low, min(high, -bound)) if c > 0 else (max(low, bound), high)
                if low <= high:
                    self._names[name] = (low, high)
        self._known.clear()

    def corners(self, names: Iterable[str]) -> tuple[dict[str, int], dict[str, int]]:
        """Returns the least value of each name, and the greatest one."""
        ends = {name: self._names[name] for name in names if name in self._names}
        return {name: low for name, (low, _) in ends.items()}, {name: high for name, (_, high) in ends.items()}

    def check(self, e: Affine) -> None:
        """Raises LeavesRange if the absolute value of the expression, of its constant or of a coefficient may be larger than 2**62
        (INTEGER_LIMIT).
        """
        low, high = self.of(e)
        if max(-low, high, abs(e.constant), *(abs(c) for _, c in e.terms)) > INTEGER_LIMIT:
            raise LeavesRange(f"{e} may leave 64 bits")

    def of(self, e: Affine) -> Interval:
        """Returns an interval that contains all values of the expression."""
        found = self._known.get(e)
        if found is None:
            found = self._known[e] = self._sum(e)
        return found

    def _sum(self, e: Affine) -> Interval:
        """Returns an interval that contains all values of the sum of the expression's terms."""
        low = high = e.constant
        for atom, c in e.terms:
            least, most = self._names.get(atom, _ANY) if isinstance(atom, str) else self._of_atom(atom)
            low += c * (least if c > 0 else most)
            high += c * (most if c > 0 else least)
        return low, high

    def _of_atom(self, atom: FloorDiv | Extremum | Choice) -> Interval:
        """Returns an interval that contains all values of a quotient, of a minimum or maximum, or of a Choice: one of two
        expressions, as a condition decides.
        """
        if isinstance(atom, FloorDiv):
            low, high = self.of(atom.operand)
            return low // atom.divisor, high // atom.divisor
        if isinstance(atom, Extremum):
            pick = min if atom.op == "min" else max
            ranges = list(map(self.of, atom.operands))
            return pick(low for low, _ in ranges), pick(high for _, high in ranges)
        return _either([self.of(atom.then), self.of(atom.orelse)])


def _either(ranges: Sequence[Interval]) -> Interval:
    """Returns the smallest interval that contains all of the intervals."""
    return min(low for low, _ in ranges), max(high for _, high in ranges)
