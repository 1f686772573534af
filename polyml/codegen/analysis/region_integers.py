"""In which intervals the integers of a Region are, so that code need not test them for leaving 64 bits or an array.

What is known of a number anywhere is the hull of all its values. Who goes through the statements in their order tells what has been
assigned and which conditions hold, and gets smaller intervals:

    s = (s*a + c) & 0x7FFFFFFF      s was any argument
    y = s >> 11                     y is below 2**20 here

An integer that only grows or shrinks by small constants would take years to leave 2**53: such a counter counts as being within.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from polyml.codegen.analysis.integer_ranges import PARAMETER_LIMIT, Interval
from polyml.dtypes import PYINT, DType
from polyml.frontend import syntax, traversal
from polyml.frontend.name_resolution import statements
from polyml.frontend.syntax import Expr
from polyml.model.core.nest import Integer
from polyml.model.core.scop import Region
from polyml.quasi_affine.affine import Affine

FULL: Interval = (-(2**63), 2**63 - 1)
MOST_STEPS = 2**53  # that a counter may move from where it begins
SMALL_STEP = 16
_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "!=": "=="}
MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "=="}


class RegionIntegers:
    """The intervals of the integers of one region.

    sizes: the parameters that are never negative
    around: gives the interval of an expression of the iterators of the loops around the region, and of parameters
    """

    def __init__(self, region: Region, sizes: frozenset[str], around: Callable[[Affine], Interval] = lambda e: FULL):
        self._sizes, self._around = sizes, around
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
        self._here: dict[str, Interval] = {}  # what is known at a place of the code, beside what is known anywhere

    def of(self, expr: Expr) -> Interval:
        """Returns an interval that contains all values of an integer expression."""
        match expr:
            case syntax.Const(value=bool() | int() as value):
                return int(value), int(value)
            case Integer():
                return self._affine(expr.affine)
            case syntax.Name():
                return self._here[expr.name] if expr.name in self._here else self._number(expr.name)
            case syntax.Cast():
                return self._cast(expr)
            case syntax.Unary(op="-", operand=operand) if expr.dtype == PYINT:
                low, high = self.of(operand)
                return _within((-high, -low))
            case syntax.IfExp():
                return _hull([self.of(expr.then), self.of(expr.orelse)])
            case syntax.Call(function="bound", args=(_, value)):
                return self.of(value)
            case syntax.Call(function="position", args=(_, size, _)):
                return 0, max(self.of(size)[1] - 1, 0)
            case syntax.Call(function="abs", args=(operand,)) if expr.dtype == PYINT:
                low, high = self.of(operand)
                return _within((0, max(abs(low), abs(high))))
            case syntax.Binary():
                return self._binary(expr)
        return _of_type(expr.dtype)

    def is_below(self, expr: Expr, size: Affine, assumed: frozenset[str] = frozenset()) -> bool:
        """Returns whether an integer is below a size wherever it has a value: a number that is -1 until it remembers the variable of a loop
        over as many elements, say.

        size: of a dimension, never negative
        assumed: numbers of which that is assumed, since they are looked at now
        """
        match expr:
            case syntax.Const(value=int(value)):
                return value < 0
            case Integer():
                return self._affine(size - expr.affine)[0] > 0
            case syntax.IfExp():
                return self.is_below(expr.then, size, assumed) and self.is_below(expr.orelse, size, assumed)
            case syntax.Binary(op="min"):
                return self.is_below(expr.left, size, assumed) or self.is_below(expr.right, size, assumed)
            case syntax.Name(name=name) if name not in assumed:
                loops, values, assumed = self._loops.get(name, ()), self._values.get(name, ()), assumed | {name}
                is_counted = all(self._ends_below(loop, size, assumed) for loop in loops)
                return bool(loops or values) and is_counted and all(self.is_below(value, size, assumed) for value in values)
        return isinstance(expr, syntax.Name)

    def _ends_below(self, loop: syntax.For, size: Affine, assumed: frozenset[str]) -> bool:
        """Returns whether the variable of a loop is below a size in all iterations."""
        if loop.step < 0:
            return self.is_below(loop.start, size, assumed)
        return isinstance(loop.stop, Integer) and self._affine(size - loop.stop.affine)[0] >= 0

    def assigned(self, name: str, interval: Interval) -> None:
        """Tells that a number has a value in this interval from here on."""
        low, high = self._number(name)
        self._here[name] = max(low, interval[0]), min(high, interval[1])

    def forget(self, names: set[str]) -> None:
        """Tells that numbers may have other values from here on."""
        self._here = {name: interval for name, interval in self._here.items() if name not in names}

    def holds(self, condition: Expr, is_true: bool = True) -> None:
        """Tells that a condition is true from here on, or false."""
        match condition:
            case syntax.Logical(op=op, operands=operands) if op == ("and" if is_true else "or"):
                for operand in operands:
                    self.holds(operand, is_true)
            case syntax.Unary(op="not", operand=operand):
                self.holds(operand, not is_true)
            case syntax.Compare(op=op, left=left, right=right) if left.dtype.kind == right.dtype.kind == "i":
                op = op if is_true else _OPPOSITE.get(op, "")
                self._compared(op, left, self.of(right))
                self._compared(MIRRORED.get(op, ""), right, self.of(left))

    def _compared(self, op: str, expr: Expr, other: Interval) -> None:
        """Tells that an expression compares so with something in an interval."""
        if not isinstance(expr, syntax.Name):
            return
        (low, high), (least, most) = self.of(expr), other
        found = {
            "<": (low, min(high, most - 1)), "<=": (low, min(high, most)), ">": (max(low, least + 1), high),
            ">=": (max(low, least), high), "==": (max(low, least), min(high, most)),
        }.get(op)  # fmt: skip
        if found is not None and found[0] <= found[1]:
            self._here[expr.name] = found

    @contextmanager
    def branch(self, ends: list[Mapping[str, Interval]] | None = None) -> Iterator[None]:
        """Goes through code that begins here, after which other code begins here too. ends: gets what is known where it ends"""
        before = dict(self._here)
        yield
        if ends is not None:
            ends.append(self._here)
        self._here = before

    def joined(self, ends: Sequence[Mapping[str, Interval]]) -> None:
        """Tells that the code goes on where one of several branches has ended. ends: what is known there"""
        first, *others = ends or ({},)
        same = {name for name in first if all(name in other for other in others)}
        self._here = {name: _hull([end[name] for end in ends]) for name in same}

    def _affine(self, e: Affine) -> Interval:
        low = high = e.constant
        for atom, c in e.terms:
            least = 0 if isinstance(atom, str) and atom in self._sizes else -PARAMETER_LIMIT
            low, high = low + min(c * least, c * PARAMETER_LIMIT), high + max(c * least, c * PARAMETER_LIMIT)
        (low, high), (least, most) = _within((low, high)), self._around(e)
        return max(low, least), min(high, most)

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
            case "|" | "^" if a >= 0 and c >= 0:
                return 0, (1 << max(b, d).bit_length()) - 1
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
        here, self._here = self._here, {}
        found = [self._loop(loop) for loop in self._loops.get(name, ())]
        steps = [step(name, value) for value in self._values.get(name, ())]
        found += [self.of(value) for value, step in zip(self._values.get(name, ()), steps) if step is None]
        low, high = _hull(found) if found else FULL
        if any(step is not None and step < 0 for step in steps):
            low -= MOST_STEPS
        if any(step is not None and step > 0 for step in steps):
            high += MOST_STEPS
        self._open.discard(name)
        self._here = here
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
            return step if abs(step) <= SMALL_STEP and value.dtype == PYINT else None
        case syntax.Binary(op="-", left=syntax.Name(name=own), right=syntax.Const(value=int(step))) if own == name:
            return -step if abs(step) <= SMALL_STEP and value.dtype == PYINT else None
    return None


def linear(expr: Expr) -> tuple[syntax.Name, Interval] | None:
    """Returns the number of which several sums and products with constants make a Python int, and the interval of that number for which
    none of them leaves 64 bits; None for other expressions.
    """
    found = _Linear.of(expr)
    return (found.number, found.fits) if found is not None and found.operations > 1 and found.fits[0] <= found.fits[1] else None


@dataclass(frozen=True)
class _Linear:
    """A _Linear is factor*number + constant. fits: for which numbers it is within 64 bits, with all that it is made of"""

    number: syntax.Name
    factor: int = 1
    constant: int = 0
    fits: Interval = FULL
    operations: int = 0

    @classmethod
    def of(cls, expr: Expr) -> _Linear | None:
        """Returns an expression as a _Linear; None where it is none."""
        match expr:
            case syntax.Name(dtype=dtype) if dtype == PYINT:
                return cls(expr)
            case syntax.Binary(op="+" | "*" as op, left=syntax.Const(value=int(value)), right=other):
                return cls._of(other, *((1, value) if op == "+" else (value, 0)))
            case syntax.Binary(op="+" | "-" | "*" as op, left=other, right=syntax.Const(value=int(value))):
                return cls._of(other, *((value, 0) if op == "*" else (1, value if op == "+" else -value)))
        return None

    @classmethod
    def _of(cls, expr: Expr, factor: int, constant: int) -> _Linear | None:
        inside = cls.of(expr) if factor > 0 else None
        if inside is None:
            return None
        factor, constant = inside.factor * factor, inside.constant * factor + constant
        low, high = -((constant - FULL[0]) // factor), (FULL[1] - constant) // factor
        fits = max(inside.fits[0], low), min(inside.fits[1], high)
        return cls(inside.number, factor, constant, fits, inside.operations + 1)


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
