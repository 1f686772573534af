"""The operations of an expression, with what each one costs and which values it depends on."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass

from polyml import polyhedra
from polyml.codegen.costs.instruction_costs import (
    CONVERSION,
    EASY_POWER,
    EASY_POWERS,
    FUNCTIONS,
    OPERATORS,
    SIMPLE,
    SQUARE,
    Price,
    price_of_function,
)
from polyml.codegen.ir.program import Instance
from polyml.dtypes import PYINT
from polyml.frontend import syntax
from polyml.model.core.nest import children
from polyml.model.core.scop import Gather, Index, Load, Region, ScalarArg, Value

GATHERED = Price(cycles=4.0)  # the gather of one register


@dataclass(frozen=True)
class PricedOperation:
    """One operation of an expression with its cost and the values that it depends on.

    quick: the number of simple instructions that it takes.
    slow: the cycles that it occupies a unit which runs one operation after the other.
    is_division: whether that unit is the divider, beside which all others go on.
    loads: the positions, in the statement's reads, of the elements that it depends on.
    indices: the affine integers that it depends on.
    in_lanes: there are instructions that run it on all lanes of a vector.
    """

    quick: float
    slow: float
    is_division: bool
    loads: frozenset[int]
    indices: tuple[Index, ...]
    in_lanes: bool


def operations(value: Value) -> list[PricedOperation]:
    """Returns the operations of an expression with their costs; common subexpressions count once.

    A product that is added at once costs nothing, since a multiply-add does both. The comparison of a minimum or maximum costs
    nothing either, nor does what is computed once for a whole call (`once_per_call`).
    """
    return _Collector().collected(value)


def once_per_call(value: Value) -> frozenset[int]:
    """Returns the identities of those operations in a value that have the same value in all instances, raise nothing, and cost enough to be
    computed before all loops: functions, powers and divisions of numbers that are arguments, sizes or constants.
    """
    same: dict[int, bool] = {}  # whether it is the same in all instances
    dear: dict[int, bool] = {}  # whether one of its operations takes several instructions
    for each in _operands_first(value):
        operands = children(each)
        same[id(each)] = _is_same_of_same(each) and all(same[id(part)] for part in operands)
        dear[id(each)] = _is_dear(each) or any(dear[id(part)] for part in operands)
    return frozenset(each for each, is_same in same.items() if is_same and dear[each])


def is_same_in_call(value: Value) -> bool:
    """Returns whether a float has the same value in all instances, since it is made of arguments, sizes and constants."""
    return all(map(_is_same_of_same, _operands_first(value)))


def _operands_first(value: Value) -> Iterator[Value]:
    """Yields every distinct sub-tree of a value once, itself included, operations after all of their operands."""
    done: set[int] = set()
    stack = [(value, False)]
    while stack:
        each, is_ready = stack.pop()
        if id(each) in done:
            continue
        operands = () if is_ready else children(each)
        if operands:
            stack.append((each, True))
            stack.extend((part, False) for part in reversed(operands))
        else:
            done.add(id(each))
            yield each


def _is_same_of_same(value: Value) -> bool:
    """Returns whether a value whose operands are the same in all instances is so too, and is of floats, whose operations raise nothing."""
    if isinstance(value, Index):
        return not polyhedra.used_iterators(value.value)
    if isinstance(value, (ScalarArg, syntax.Const)):
        return True
    return not isinstance(value, (Load, Gather, Region)) and value.dtype is not None and value.dtype.is_float


def _is_dear(value: Value) -> bool:
    """Returns whether a value is an operation that takes several instructions."""
    if isinstance(value, (Index, ScalarArg, syntax.Const, Load, Gather, Region)):
        return False
    price = _price(value)
    return price.cycles > 0 or price.instructions > SIMPLE.instructions


def index_names(index: Index, instance: Instance) -> frozenset[str]:
    """Returns the loop variables and parameters that an affine integer changes with, in the instance of a statement."""
    used = polyhedra.used_iterators(index.value)
    return frozenset().union(*(instance.point[k].names for k in used))


@dataclass(frozen=True)
class _Subvalue:
    """A subexpression of a value.

    number: the same for equal subexpressions, and another one for different ones.
    loads: the positions, in the statement's reads, of the elements that it depends on.
    indices: the affine integers that it depends on.
    """

    number: int
    loads: frozenset[int] = frozenset()
    indices: tuple[Index, ...] = ()


class _Collector:
    """A collector of one expression's operations, which counts equal ones once (local value numbering). Two loads are equal if they
    are the same read of the statement; other leaves are equal if they are the same object.
    """

    def __init__(self) -> None:
        self._found: list[PricedOperation] = []
        self._known: dict[Hashable, _Subvalue] = {}
        self._once: frozenset[int] = frozenset()

    def collected(self, value: Value) -> list[PricedOperation]:
        """Returns the operations of the value, operands first."""
        self._once = once_per_call(value)
        self._part(value)
        return self._found

    def _part(self, value: Value) -> _Subvalue:
        """Returns a subexpression with its number, after numbering all of its operands."""
        if isinstance(value, Load):
            return self._leaf(("load", value.access), frozenset({value.access}))
        if isinstance(value, Index):
            return self._leaf(("index", id(value)), indices=(value,))
        if isinstance(value, (ScalarArg, syntax.Const)):
            return self._leaf(("value", id(value)))
        if isinstance(value, syntax.IfExp) and _is_extreme(value):
            return self._operation(value, [self._part(value.then), self._part(value.orelse)])
        return self._operation(value, [self._part(v) for v in children(value)])

    def _leaf(self, key: Hashable, loads: frozenset[int] = frozenset(), indices: tuple[Index, ...] = ()) -> _Subvalue:
        """Returns the leaf that has a key, with a new number if no leaf had this key before."""
        return self._known.setdefault(key, _Subvalue(len(self._known), loads, indices))

    def _operation(self, value: Value, below: list[_Subvalue]) -> _Subvalue:
        """Returns an operation with its number, and records its cost unless an equal operation was found before; gathers are
        recorded each time.

        below: its operands.
        """
        kind = (getattr(value, name, None) for name in ("op", "function", "to", "dtype"))
        key = (type(value), *kind, *(part.number for part in below))
        if isinstance(value, Gather) or key not in self._known:
            loads = frozenset().union(*(part.loads for part in below))
            indices = tuple(index for part in below for index in part.indices)
            self._known[key] = _Subvalue(len(self._known), loads, indices)
            price = Price() if id(value) in self._once else _price(value)
            quick = 0.0 if _is_fused(value) else price.instructions
            self._found.append(PricedOperation(quick, price.cycles, price.is_division, loads, indices, _lanes_may(value)))
        return self._known[key]


def _is_fused(value: Value) -> bool:
    """Returns whether the value is a sum or difference that one multiply-add computes along with a product that is its operand."""
    if not isinstance(value, syntax.Binary) or value.op not in "+-" or not value.dtype.is_float:
        return False
    return any(isinstance(v, syntax.Binary) and v.op == "*" for v in (value.left, value.right))


def _is_extreme(value: syntax.IfExp) -> bool:
    """Returns whether a select returns the smaller or the larger one of the two values that its condition compares."""
    test = value.condition
    if not isinstance(test, syntax.Compare) or test.op in ("==", "!="):
        return False
    return (test.left, test.right) in ((value.then, value.orelse), (value.orelse, value.then))


def _price(value: Value) -> Price:
    """Returns the price of a value's outermost operation."""
    if isinstance(value, syntax.Cast):
        return CONVERSION
    if isinstance(value, Gather):
        return GATHERED
    if isinstance(value, syntax.Call):
        return price_of_function(value.function)
    if isinstance(value, syntax.Binary) and value.op == "**":
        return _price_of_power(value)
    if isinstance(value, syntax.Binary):
        return OPERATORS.get(value.op, SIMPLE)
    return SIMPLE


def _price_of_power(value: syntax.Binary) -> Price:
    """Returns the price of `**`, which is low for a few constant exponents."""
    exponent = value.right
    if isinstance(exponent, syntax.Const) and exponent.value in EASY_POWERS:
        return SQUARE if exponent.value == 2 else EASY_POWER
    return FUNCTIONS["pow"] if value.dtype.is_float else OPERATORS["**"]


def _lanes_may(value: Value) -> bool:
    """Returns whether vector instructions exist for the operation. Arithmetic on Python's ints has none, since each result is
    checked for overflow.
    """
    if isinstance(value, syntax.Cast):
        narrows = value.operand.dtype == PYINT and value.to.is_integer
        return value.to != PYINT and not (narrows and not isinstance(value.operand, (Index, syntax.Const)))
    return not (isinstance(value, (syntax.Unary, syntax.Binary)) and value.dtype == PYINT)
