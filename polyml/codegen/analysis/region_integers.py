"""In which intervals the integers of a Region are, so that code need not test them for leaving 64 bits or an array.

An integer that only grows or shrinks by small constants would take years to leave 2**53: such a counter counts as being within.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from polyml.codegen.analysis.integer_ranges import PARAMETER_LIMIT, Interval
from polyml.dtypes import PYINT, DType
from polyml.frontend import syntax, traversal
from polyml.frontend.name_resolution import statements
from polyml.frontend.syntax import Expr
from polyml.model.core.nest import Integer
from polyml.model.core.scop import Region
from polyml.quasi_affine.affine import Affine

FULL: Interval = (-(2**63), 2**63 - 1)
_COUNTED = 2**53  # that a counter may move from where it begins
_SMALL_STEP = 16


class RegionIntegers:
    """The intervals of the integers of one region.

    sizes: the parameters that are never negative
    """

    def __init__(self, region: Region, sizes: frozenset[str]):
        self._sizes = sizes
        self._types: Mapping[str, DType] = dict(region.numbers)
        self._loops: dict[str, list[syntax.For]] = {}
        self._values: dict[str, list[Expr]] = {}
        for stmt in statements(region.body):
            if isinstance(stmt, syntax.For):
                self._loops.setdefault(stmt.var, []).append(stmt)
            if isinstance(stmt, syntax.Assign) and isinstance(stmt.target, syntax.Name):
                self._values.setdefault(stmt.target.name, []).append(stmt.value)
        self._known: dict[str, Interval] = {}
        self._open: set[str] = set()

    def of(self, expr: Expr) -> Interval:
        """Returns an interval that contains all values of an integer expression."""
        match expr:
            case syntax.Const(value=bool() | int() as value):
                return int(value), int(value)
            case Integer():
                return self._affine(expr.affine)
            case syntax.Name():
                return self._number(expr.name)
            case syntax.Cast():
                return self._cast(expr)
            case syntax.Unary(op="-", operand=operand) if expr.dtype == PYINT:
                low, high = self.of(operand)
                return _within((-high, -low))
            case syntax.IfExp():
                return _hull([self.of(expr.then), self.of(expr.orelse)])
            case syntax.Call(function="abs", args=(operand,)) if expr.dtype == PYINT:
                low, high = self.of(operand)
                return _within((0, max(abs(low), abs(high))))
            case syntax.Binary():
                return self._binary(expr)
        return _of_type(expr.dtype)

    def _affine(self, e: Affine) -> Interval:
        low = high = e.constant
        for atom, c in e.terms:
            least = 0 if isinstance(atom, str) and atom in self._sizes else -PARAMETER_LIMIT
            low, high = low + min(c * least, c * PARAMETER_LIMIT), high + max(c * least, c * PARAMETER_LIMIT)
        return _within((low, high))

    def _cast(self, expr: syntax.Cast) -> Interval:
        inside, own = self.of(expr.operand) if expr.operand.dtype.kind in "iub" else FULL, _of_type(expr.to)
        return inside if own[0] <= inside[0] and inside[1] <= own[1] else own

    def _binary(self, expr: syntax.Binary) -> Interval:
        if expr.dtype.kind not in "iu" or expr.dtype.bits < 64:
            return _of_type(expr.dtype)
        (a, b), (c, d) = self.of(expr.left), self.of(expr.right)
        match expr.op:
            case "+":
                return _within((a + c, b + d))
            case "-":
                return _within((a - d, b - c))
            case "*":
                products = (a * c, a * d, b * c, b * d)
                return _within((min(products), max(products)))
            case "//" if c > 0:
                quotients = (a // c, a // d, b // c, b // d)
                return min(quotients), max(quotients)
            case "%" if c > 0:
                return (0, min(b, d - 1)) if a >= 0 else (0, d - 1)
            case "&" if a >= 0 or c >= 0:
                return 0, min(high for low, high in ((a, b), (c, d)) if low >= 0)
            case ">>" if c >= 0:
                return min(a, 0), max(b, 0)
            case "min":
                return min(a, c), min(b, d)
            case "max":
                return max(a, c), max(b, d)
        return _of_type(expr.dtype)

    def _number(self, name: str) -> Interval:
        if name in self._known:
            return self._known[name]
        if name in self._open:
            return _of_type(self._types[name])
        self._open.add(name)
        found = [self._loop(loop) for loop in self._loops.get(name, ())]
        steps = [step(name, value) for value in self._values.get(name, ())]
        found += [self.of(value) for value, step in zip(self._values.get(name, ()), steps) if step is None]
        low, high = _hull(found) if found else FULL
        if any(step is not None and step < 0 for step in steps):
            low -= _COUNTED
        if any(step is not None and step > 0 for step in steps):
            high += _COUNTED
        self._open.discard(name)
        own = _of_type(self._types[name])
        made = _within((low, high)) if own == FULL else own
        if not self._open:  # else it may rest on the whole range of a number that is looked at now
            self._known[name] = made
        return made

    def _loop(self, loop: syntax.For) -> Interval:
        start, stop = self.of(loop.start), self.of(loop.stop)
        if loop.step > 0:
            return start[0], max(start[0], stop[1] - 1)
        return min(start[1], stop[0] + 1), start[1]


def step(name: str, value: Expr) -> int | None:
    """Returns the small constant by which an assigned value differs from the number `name`; None for any other value."""
    match value:
        case syntax.Binary(op="+", left=syntax.Name(name=own), right=syntax.Const(value=int(step))) if own == name:
            return step if abs(step) <= _SMALL_STEP and value.dtype == PYINT else None
        case syntax.Binary(op="-", left=syntax.Name(name=own), right=syntax.Const(value=int(step))) if own == name:
            return -step if abs(step) <= _SMALL_STEP and value.dtype == PYINT else None
    return None


def _of_type(dtype: DType) -> Interval:
    if dtype.kind == "b":
        return 0, 1
    if dtype.kind not in "iu" or dtype.bits == 64:
        return (0, 2**64 - 1) if dtype.kind == "u" else FULL
    return (0, 2**dtype.bits - 1) if dtype.kind == "u" else (-(2 ** (dtype.bits - 1)), 2 ** (dtype.bits - 1) - 1)


def _hull(intervals: Sequence[Interval]) -> Interval:
    return min(low for low, _ in intervals), max(high for _, high in intervals)


def _within(interval: Interval) -> Interval:
    """Returns the interval, or that of all integers of 64 bits where it is not within it."""
    return interval if FULL[0] <= interval[0] and interval[1] <= FULL[1] else FULL


def changed_in(body: Sequence[syntax.Stmt]) -> set[str]:
    """Returns the numbers, arrays and loop variables that statements change."""
    found: set[str] = set()
    for stmt in statements(body):
        if isinstance(stmt, syntax.For):
            found.add(stmt.var)
        if isinstance(stmt, syntax.Assign):
            found.add(traversal.named(stmt.target))
    return found
