"""Tests before a loop of a region that the indices in it are those of elements, so that none is tested inside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from polyml.codegen.analysis.region_indices import (
    LoopIndex,
    Moves,
    WhileIndex,
    constant_factor,
    factors_in,
    has_constant_factor,
    in_64_bits,
    narrow_in,
    others_in,
)
from polyml.codegen.llvm.element_access import ElementAccess
from polyml.codegen.llvm.regions.region_values import RegionValues
from polyml.frontend import syntax

_FACTOR = 2**27  # beyond numbers that are multiplied with each other
_FAR = 2**56  # beyond the bounds of loops whose indices are tested before they begin


@dataclass(frozen=True)
class Run:
    """A Run is what a loop's first value and its end say, as SSA names.

    some: whether there are iterations
    length: how many there are, if there are some
    count: how many there are
    """

    start: str
    stop: str
    some: str
    length: str
    count: str


class LoopTests:
    """A LoopTests emits such tests."""

    def __init__(self, body: ElementAccess, values: RegionValues):
        self._body, self._fn, self._values = body, body.fn, values

    def extent(self, element: syntax.Subscript, dim: int) -> str:
        """Emits the size of a dimension of an element's array, and returns its SSA name."""
        return self._body.integer(self._body.module.table.affine(self._body.scop.arrays[element.array].shape[dim]))

    def all_inside(self, stmt: syntax.For, run: Run, indices: Sequence[LoopIndex], counters: Moves) -> str:
        """Emits whether a loop has iterations and the indices are those of elements in all of them, and returns the SSA name of an i1.

        counters: by counter, the least and the most that one iteration adds
        """
        fn = self._fn
        before = fn.emit(f"sub i64 {run.length}, 1")
        last = fn.emit(f"add i64 {run.start}, {fn.emit(f'mul i64 {before}, {stmt.step}')}")
        ends: dict[str, tuple[str, str]] = {stmt.var: (run.start, last) if stmt.step > 0 else (last, run.start)}
        near = [run.start, run.stop]
        for name in sorted({name for each in indices for name, _ in each.moves}):
            begin = self._values.number(name).ssa
            moved = (fn.emit(f"mul i64 {before}, {most}") for most in (min(counters[name][0], 0), max(counters[name][1], 0)))
            least, most = (fn.emit(f"add i64 {begin}, {each}") for each in moved)
            ends[name] = least, most
            near += [least, most]
        extents: dict[tuple, dict[str, None]] = {}  # by index, of all arrays that have it
        for each in indices:
            extents.setdefault((each.index, each.moves), {})[self.extent(each.element, each.dim)] = None
        total = run.some
        for value in near:
            total = fn.emit(f"and i1 {total}, {self._is_near(value)}")
        for (index, moves), of_extent in extents.items():
            for leaf in others_in(index, {*ends}):
                total = fn.emit(f"and i1 {total}, {self._is_near(self._number(leaf))}")
            for factor in factors_in(index):
                for bound in dict.fromkeys(self._range(factor, ends, {})):
                    total = fn.emit(f"and i1 {total}, {self._is_near(bound, _FACTOR)}")
            for node in narrow_in(index):
                for test in self._fits(node, self._range(node, ends, dict(moves))):
                    total = fn.emit(f"and i1 {total}, {test}")
            low, high = self._range(index, ends, dict(moves))
            total = fn.emit(f"and i1 {total}, {fn.emit(f'icmp sge i64 {low}, 0')}")
            total = fn.emit(f"and i1 {total}, {fn.emit(f'icmp slt i64 {high}, {self._least([*of_extent])}')}")
        return total

    def all_inside_while(self, indices: Sequence[WhileIndex]) -> str:
        """Emits whether the indices are those of elements in all iterations of a loop, and returns the SSA name of an i1."""
        fn = self._fn
        tests: dict[str, None] = {}
        extents: dict[tuple, dict[str, None]] = {}  # by index, of all arrays that have it
        for each in indices:
            extents.setdefault((each.index, each.moves, each.ends), {})[self.extent(each.element, each.dim)] = None
        for (index, moves, ends), of_extent in extents.items():
            names = {name: (self._end(name, each.least, tests), self._end(name, each.most, tests)) for name, each in ends}
            for leaf in others_in(index, {*names}):
                tests[self._is_near(self._number(leaf))] = None
            for factor in factors_in(index):
                tests[self._is_near(self._number(factor), _FACTOR)] = None
            for node in narrow_in(index):
                tests |= dict.fromkeys(self._fits(node, self._range(node, names, dict(moves))))
            low, high = self._range(index, names, dict(moves))
            tests[fn.emit(f"icmp sge i64 {low}, 0")] = None
            tests[fn.emit(f"icmp slt i64 {high}, {self._least([*of_extent])}")] = None
        total, *others = tests
        for test in others:
            total = fn.emit(f"and i1 {total}, {test}")
        return total

    def _end(self, name: str, end: tuple[syntax.Expr, int] | None, tests: dict[str, None]) -> str:
        """Emits a bound of a counter, and adds tests that must hold for it to be one. Returns its SSA name."""
        if end is None:
            value = self._values.number(name).ssa
            tests[self._is_near(value)] = None
            return value
        expr, more = end
        for leaf in others_in(expr, set()):
            tests[self._is_near(self._values.of(leaf).ssa)] = None
        return self._fn.emit(f"add i64 {self._range(expr, {}, {})[0]}, {more}")

    def _least(self, values: Sequence[str], operation: str = "smin") -> str:
        """Emits the least of several numbers, with "smax" the greatest one, and returns its SSA name."""
        least, *others = values
        for value in others:
            self._body.declared.setdefault(f"llvm.{operation}.i64", f"declare i64 @llvm.{operation}.i64(i64, i64)")
            least = self._fn.emit(f"call i64 @llvm.{operation}.i64(i64 {least}, i64 {value})")
        return least

    def _is_near(self, value: str, limit: int = _FAR) -> str:
        """Emits whether a number is so small that indices made of it stay within 64 bits, and returns the SSA name of an i1."""
        return self._fn.emit(f"icmp ult i64 {self._fn.emit(f'add i64 {value}, {limit}')}, {2 * limit}")

    def _range(self, index: syntax.Expr, ends: Mapping[str, tuple[str, str]], moves: Moves) -> tuple[str, str]:
        """Emits bounds of an index, and returns them.

        ends: the least and the greatest value of the numbers that a loop changes, where an iteration begins
        moves: what counters have moved since then
        """
        match index:
            case syntax.Name(name=name) if name in ends:
                (least, most), (down, up) = ends[name], moves.get(name, (0, 0))
                return self._fn.emit(f"add i64 {least}, {down}"), self._fn.emit(f"add i64 {most}, {up}")
            case syntax.Cast(operand=operand):
                return self._range(operand, ends, moves)
            case syntax.Binary(op="*", left=left, right=right) if not has_constant_factor(index):
                pairs = product(self._range(left, ends, moves), self._range(right, ends, moves))
                products = [*dict.fromkeys(self._fn.emit(f"mul i64 {one}, {other}") for one, other in dict.fromkeys(pairs))]
                return self._least(products), self._least(products, "smax")
            case syntax.Binary(op="*"):
                factor, other = constant_factor(index)
                bounds = [self._fn.emit(f"mul i64 {bound}, {factor}") for bound in self._range(other, ends, moves)]
                return (bounds[0], bounds[1]) if factor >= 0 else (bounds[1], bounds[0])
            case syntax.Binary(op=op, left=left, right=right):
                (a, b), (c, d) = self._range(left, ends, moves), self._range(right, ends, moves)
                name, low, high = ("add", c, d) if op == "+" else ("sub", d, c)
                return self._fn.emit(f"{name} i64 {a}, {low}"), self._fn.emit(f"{name} i64 {b}, {high}")
        value = self._number(index)
        return value, value

    def _number(self, leaf: syntax.Expr) -> str:
        """Emits a number in 64 bits, and returns its SSA name."""
        return self._values.of(in_64_bits(leaf)).ssa

    def _fits(self, node: syntax.Expr, ends: tuple[str, str]) -> tuple[str, str]:
        """Emits whether the type of a sum holds it. ends: the least and the greatest that it may be"""
        (low, high), (least, most) = ends, node.dtype.limits
        return self._fn.emit(f"icmp sge i64 {low}, {least}"), self._fn.emit(f"icmp sle i64 {high}, {most}")
