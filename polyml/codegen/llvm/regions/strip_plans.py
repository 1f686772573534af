"""Which values of a loop's iterations are computed for a whole strip of them before the first of these runs.

    for i in range(n):                            for strips of 64 iterations:
        if x[i] >= low:                               for each: in_range[l] = x[i] >= low;  k[l] = int((x[i] - low) / width)
            k = int((x[i] - low) / width)     ->      all k[l] where in_range[l] are those of elements, else one by one from here
            counts[k] += 1                            for each: if in_range[l]: counts[k[l]] += 1

The first loop has no branches and stores to nothing but its own memory, so that LLVM makes vectors of it: of the divisions, the
conversions to integers and all tests. What remains is what depends on the iterations before. This is the distribution of a loop (Allen
and Kennedy, "Optimizing Compilers for Modern Architectures", section 2.3), with scalar expansion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from polyml.codegen.analysis.region_blocks import BlockIndex, Dimension, known_before
from polyml.codegen.analysis.region_integers import changed_in
from polyml.dtypes import PYINT
from polyml.frontend import syntax, traversal
from polyml.model.core.nest import Integer

LENGTH = 64  # iterations of a strip: the best of 32 to 256 on Zen 5
_LEAST_COST = 3  # of an expression that has memory of its own, in operations
_MOST_VALUES = 8  # for each of which a strip has memory
_SLOW = 4  # operations that a division, a root or a conversion to an integer counts as
IsPlain = Callable[[syntax.Expr, Set[Dimension]], bool]
Conditions = tuple[tuple[syntax.Expr, bool], ...]  # expressions and what they are where the code runs


@dataclass(frozen=True)
class StripValue:
    """A StripValue is what an expression is in an iteration, made of what is known before it.

    where: the conditions under which it is evaluated
    """

    value: syntax.Expr
    where: Conditions


@dataclass(frozen=True)
class StripPlan:
    """A StripPlan is what is computed and tested for a strip of iterations before they run.

    values: by identity of the expression
    indices: those that are tested, with the conditions under which they are used
    """

    values: Mapping[int, StripValue]
    indices: Mapping[Dimension, tuple[BlockIndex, Conditions]]


class _Refused(Exception):
    """This is raised where a loop has a statement or an expression that strips are not made of."""


def strip_plan(loop: syntax.For, safe: frozenset[Dimension], is_plain: IsPlain) -> StripPlan | None:
    """Returns what is computed ahead in strips of a loop's iterations; None where that does not pay: where no float becomes an index.

    safe: the indices that are known to be those of elements
    is_plain: whether an expression is cheap and raises nothing that a test of the strip does not find, where some indices are safe
    """
    walk = _Walk(loop, safe, is_plain)
    try:
        walk.block(loop.body, dict.fromkeys(changed_in(loop.body) - {loop.var}), ())
    except _Refused:
        return None
    if not any(map(is_conversion, (node for each in walk.values.values() for node in traversal.nodes(each.value)))):
        return None
    return StripPlan(walk.values, walk.indices) if len({*walk.values.values()}) <= _MOST_VALUES else None


def is_conversion(node: syntax.Expr) -> bool:
    """Returns whether an expression is the conversion of a float to a Python int, which not all floats have."""
    return isinstance(node, syntax.Cast) and node.to == PYINT and node.operand.dtype.is_float


class _Walk:
    """A _Walk goes through the statements of an iteration. values, indices: as in a StripPlan"""

    def __init__(self, loop: syntax.For, safe: frozenset[Dimension], is_plain: IsPlain):
        self._safe, self._is_plain = {*safe}, is_plain
        self._stored = changed_in(loop.body)
        self._surely: set[tuple[str, tuple[syntax.Expr, ...]]] = set()  # the elements that each iteration reads so far
        self.values: dict[int, StripValue] = {}
        self.indices: dict[Dimension, tuple[BlockIndex, Conditions]] = {}

    def block(self, body: Sequence[syntax.Stmt], values: dict[str, syntax.Expr | None], where: Conditions | None) -> None:
        """Goes through statements.

        values: those of numbers that the loop changes, as far as they are known
        where: the conditions under which the statements run; None where one is not known before the iteration
        """
        for stmt in body:
            match stmt:
                case syntax.Assign(target=syntax.Name(name=name), value=value):
                    self._read(value, values, where)
                    values[name] = self._known(value, values)
                case syntax.Assign(target=syntax.Subscript() as target, value=value):
                    self._read(value, values, where)
                    self._read(target, values, where)
                case syntax.If():
                    self._read(stmt.condition, values, where)
                    condition = self._known(stmt.condition, values)
                    for side, holds in ((stmt.then, True), (stmt.orelse, False)):
                        inside = None if condition is None or where is None else (*where, (condition, holds))
                        self.block(side, {**values}, inside)
                    values.update(dict.fromkeys(changed_in((stmt,))))
                case _:
                    raise _Refused

    def _read(self, expr: syntax.Expr, values: Mapping[str, syntax.Expr | None], where: Conditions | None) -> None:
        """Goes through an expression that is evaluated."""
        self._add_elements(expr, where == ())
        value = self._known(expr, values) if _cost(expr) >= _LEAST_COST else None
        converts = value is not None and any(map(is_conversion, traversal.nodes(value)))
        if value is not None and not (converts and (where is None or _chooses(expr))):
            self._put(self.values, id(expr), StripValue(value, (where or ()) if converts else ()))
            return
        self._test(expr, values, where)
        is_partial = isinstance(expr, (syntax.Logical, syntax.IfExp))
        for position, operand in enumerate(traversal.operands(expr)):
            self._read(operand, values, None if is_partial and position else where)

    def _test(self, expr: syntax.Expr, values: Mapping[str, syntax.Expr | None], where: Conditions | None) -> None:
        """Adds the indices of an element to those that are tested, as far as they are known."""
        if not isinstance(expr, syntax.Subscript) or expr.inside or where is None:
            return
        for dim, index in enumerate(expr.indices):
            value = self._known(index, values) if (id(expr), dim) not in self._safe else None
            if value is not None:
                self._put(self.indices, (id(expr), dim), (BlockIndex(expr, dim, value), where))

    def _known(self, expr: syntax.Expr, values: Mapping[str, syntax.Expr | None]) -> syntax.Expr | None:
        value = known_before(expr, values, self._stored, self._safe)
        return value if value is not None and self._is_plain(value, self._safe) else None

    def _add_elements(self, expr: syntax.Expr, is_sure: bool) -> None:
        """Adds indices that are known to be inside, of elements that each iteration reads, to those that may be read ahead.

        is_sure: whether each iteration evaluates the expression
        """
        self._surely |= (
            {(node.array, node.indices) for node in _surely(expr) if isinstance(node, syntax.Subscript)} if is_sure else set()
        )
        for node in traversal.nodes(expr):
            if isinstance(node, syntax.Subscript) and node.inside and (node.array, node.indices) in self._surely:
                self._safe |= {(id(node), dim) for dim in range(len(node.indices))}

    def _put(self, found: dict, key: object, value: object) -> None:
        if found.setdefault(key, value) != value:  # one object of the syntax stands at two places
            raise _Refused


def _surely(expr: syntax.Expr) -> Iterator[syntax.Expr]:
    """Yields what is evaluated in any case where an expression is."""
    yield expr
    operands = traversal.operands(expr)
    for operand in operands[:1] if isinstance(expr, (syntax.Logical, syntax.IfExp)) else operands:
        yield from _surely(operand)


def _chooses(expr: syntax.Expr) -> bool:
    """Returns whether some of an expression may not be evaluated."""
    return any(isinstance(node, (syntax.Logical, syntax.IfExp)) for node in traversal.nodes(expr))


def _cost(expr: syntax.Expr) -> int:
    """Returns about how many operations an expression takes. Numbers are in registers."""
    return sum(_operations(node) for node in traversal.nodes(expr))


def _operations(node: syntax.Expr) -> int:
    match node:
        case syntax.Name() | syntax.Const() | Integer():
            return 0
        case syntax.Cast():
            return _SLOW if is_conversion(node) else 2 if node.to.is_float != node.operand.dtype.is_float else 0
        case syntax.Call():
            return _SLOW
        case syntax.Binary(op="/" | "**"):
            return _SLOW
    return 1
