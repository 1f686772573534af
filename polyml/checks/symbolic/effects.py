"""The effect of a statement's instance on memory whose elements are terms, values as the operations that made them."""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterator, Mapping
from dataclasses import dataclass
from types import CodeType
from typing import NamedTuple, Protocol, Union

from polyml.checks.symbolic.finding import element_text
from polyml.checks.symbolic.memory import Cell, Index, Instance, Memory, Place
from polyml.checks.symbolic.terms import Term, Terms
from polyml.codegen.interpreter.order import Env, evaluate, integer_code, tuple_code
from polyml.codegen.ir.accesses import AccessTable
from polyml.frontend import syntax
from polyml.model.core.nest import children, subvalues
from polyml.model.core.reductions import Reduction, identity
from polyml.model.core.scop import Access, Gather, Load, ScalarArg, Scop, Statement, Value
from polyml.model.core.scop import Index as IndexValue


class Touch(NamedTuple):
    """A Touch is one read of an instance: the element that is read, and the content of its memory location."""

    array: str
    element: Index
    cell: Cell


class InstanceEvent(NamedTuple):
    """An InstanceEvent tells what one instance that ran read and wrote.

    values: the value that it wrote; for an update by a reduction, the values that it added to the element instead, without the
        element's value before.
    reads: its reads in the statement's order; None in the place of an update's read of the element that it updates.
    """

    instance: Instance
    values: tuple[Term, ...]
    reads: tuple[Touch | None, ...]


class AccessWatcher(Protocol):
    """The protocol of an object, such as a `Conflicts`, that is told of every access to memory so as to find conflicts between
    iterations.
    """

    def touched(self, place: Place, instance: Instance, *, writes: bool, update: str) -> None:
        """Records one access of an instance to a memory location.

        update: the operator of the reduction of which the access is a part; "" where it is part of none.
        """


@dataclass(frozen=True)
class _Loaded:
    """A _Loaded is a step in the computation of an expression: it takes the value that the statement's read number `read` found."""

    read: int


@dataclass(frozen=True)
class _AffineInteger:
    """An _AffineInteger is a step in the computation of an expression: an integer that is an affine expression of iterators and
    parameters.

    code: computes the integer.
    dtype: the type that it has.
    """

    code: CodeType
    dtype: str


@dataclass(frozen=True)
class _Operation:
    """An _Operation is a step in the computation of an expression: it applies an operation to the values of earlier steps.

    key: what tells the operation from others.
    operands: the positions of the steps that compute its operands.
    """

    key: tuple[Hashable, ...]
    operands: tuple[int, ...]


_Step = Union[_Loaded, _AffineInteger, _Operation, Term]  # a term is itself


@dataclass(frozen=True)
class _ElementRead:
    """An _ElementRead is a read of a statement, with its subscripts compiled.

    is_accumulator: whether it reads the element that a reduction updates.
    """

    array: str
    subscripts: CodeType
    is_accumulator: bool


class StatementEffect:
    """A StatementEffect is one statement compiled to run its instances on symbolic values.

    Sub-expressions that occur several times are computed once per instance. Both branches of a conditional expression are computed,
    whatever its condition is; an element that a branch reads outside its array gets a value of its own.
    """

    def __init__(
        self, scop: Scop, statement: Statement, table: AccessTable, terms: Terms, reduction: Reduction | None, shares: bool
    ) -> None:
        self._statement, self._table, self._terms, self._reduction = statement, table, terms, reduction
        self._update = reduction.operator if reduction is not None and shares else ""
        self._steps: list[_Step] = []
        self._positions: dict[int, int] = {}
        accumulator = None if reduction is None else reduction.access
        self._reads = [self._read(access, k == accumulator) for k, access in enumerate(statement.reads)]
        self._write = statement.write.array, tuple_code(table.subscripts(statement.write))
        self._identity = self._hole = -1
        if reduction is None:
            self._results = [("+", self._position(statement.value))]
        else:
            element = scop.arrays[statement.write.array].element
            number = syntax.Const(identity(reduction.operator, element), dtype=element)
            self._identity, self._hole = _constant(terms, number), terms.leaf("the element itself", "hole", reduction.operator)
            self._results = [(sign, self._position(v)) for sign, v in brought(statement.value, reduction)]

    def run(self, point: Index, env: Env, sizes: Env, memory: Memory, watcher: AccessWatcher) -> InstanceEvent:
        """Runs one instance: reads and writes the memory, tells the watcher, and returns what happened.

        point: the values of the statement's iterators.
        env: the loop variables around it.
        sizes: the values of the parameters.
        """
        instance = (self._statement.name, point)
        named = {**sizes, **dict(zip(self._statement.iterators, point))}
        touches = [self._loaded(read, named, env, instance, memory, watcher) for read in self._reads]
        values = self._values(named, touches)
        array, code = self._write
        index = evaluate(code, named)
        place = memory.place(array, index, env, instance)
        watcher.touched(place, instance, writes=True, update=self._update)
        if not self._reduction:
            ((_, position),) = self._results
            memory.write(place, index, values[position], instance)
            return InstanceEvent(instance, (values[position],), tuple(touches))
        before = touches[self._reduction.access]
        found = tuple(self._signed(sign, values[position]) for sign, position in self._results)
        joined = self._terms.joined(self._reduction.operator, self._identity, before.cell.value, *found)
        memory.write(place, index, joined, instance)
        reads = tuple(None if read.is_accumulator else touch for read, touch in zip(self._reads, touches))
        return InstanceEvent(instance, found, reads)

    def _loaded(
        self, read: _ElementRead, named: Env, env: Env, instance: Instance, memory: Memory, watcher: AccessWatcher
    ) -> Touch:
        index = evaluate(read.subscripts, named)
        if not memory.has(read.array, index):  # of a branch that is not taken, or of a call that the entry refuses
            return Touch(read.array, index, Cell(self._outside(read.array, index), index, None))
        place = memory.place(read.array, index, env, instance)
        watcher.touched(place, instance, writes=False, update=self._update if read.is_accumulator else "")
        return Touch(read.array, index, memory.read(place, index, instance))

    def _outside(self, array: str, index: Index) -> Term:
        return self._terms.leaf(f"{element_text(array, index)}, outside its array", "outside", array, index)

    def _values(self, named: Env, touches: list[Touch]) -> list[Term]:
        """Returns the values of all steps of the statement's expression, in order; a step computes one of its sub-expressions.

        named: the values of parameters and iterators.
        touches: the instance's reads, with what they found.
        """
        found: list[Term] = []
        for step in self._steps:
            if isinstance(step, _Operation):
                found.append(self._terms.applied(step.key, [found[o] for o in step.operands]))
            elif isinstance(step, _Loaded):
                found.append(touches[step.read].cell.value)
            elif isinstance(step, _AffineInteger):
                number = repr(evaluate(step.code, named))
                found.append(self._terms.leaf(number, "const", number, step.dtype))
            else:
                found.append(step)
        return found

    def _signed(self, sign: str, value: Term) -> Term:
        return value if sign == "+" else self._terms.of("-", value)

    def _read(self, access: Access, is_accumulator: bool) -> _ElementRead:
        return _ElementRead(access.array, tuple_code(self._table.subscripts(access)), is_accumulator)

    def _position(self, value: Value) -> int:
        """Returns the position, among the statement's steps, of the step that computes a value; where there is none yet, it is
        added behind the steps of its operands.
        """
        known = self._positions.get(id(value))
        if known is None:
            operands = tuple(map(self._position, children(value)))
            self._steps.append(_Operation(operation(value), operands) if operands else self._leaf(value))
            known = self._positions[id(value)] = len(self._steps) - 1
        return known

    def _leaf(self, value: Value) -> _Step:
        if isinstance(value, Load):
            is_accumulator = self._reduction is not None and value.access == self._reduction.access
            return self._hole if is_accumulator else _Loaded(value.access)
        if isinstance(value, IndexValue):
            return _AffineInteger(integer_code(self._table.affine(value.value)), value.dtype.name)
        if isinstance(value, ScalarArg):
            return self._terms.leaf(value.name, "scalar", value.name, value.dtype.name)
        if isinstance(value, syntax.Const):
            return _constant(self._terms, value)
        return _Operation(operation(value), ())  # a function without arguments


def effects(
    scop: Scop, table: AccessTable, terms: Terms, reductions: Mapping[str, Reduction], shared: Container[str] = ()
) -> dict[str, StatementEffect]:
    """Returns {statement: the statement compiled to run its instances on symbolic values}.

    reductions: by statement, the reductions whose updates may come in any order.
    shared: names of statements that are reductions, and may update one element in several iterations that run at the same time.
    """
    return {
        name: StatementEffect(scop, s, table, terms, reductions.get(name), name in shared) for name, s in scop.statements.items()
    }


def brought(value: Value, reduction: Reduction) -> list[tuple[str, Value]]:
    """Returns what an update combines with the element that it updates, as (sign, value) pairs: for s = (s + a*b) - c they are
    ("+", a*b) and ("-", c).

    Where the element's old value is inside something else, such as a conditional expression, the whole value is one such pair, in
    which a placeholder stands for the old value.
    """
    if isinstance(value, Load) and value.access == reduction.access:
        return []
    operands, sign = _sides(value, reduction.operator)
    for update, other in (operands, operands[::-1]) if operands else ():
        if _mentions(update, reduction) and not _mentions(other, reduction):
            if sign == "-" and update is not operands[0]:
                break
            terms = list(_summands(other, sign)) if reduction.operator == "+" else [(sign, other)]
            return [*brought(update, reduction), *terms]
    return [("+", value)]


def _sides(value: Value, operator: str) -> tuple[tuple[Value, ...], str]:
    """Returns (operands, sign) of a value that applies the operator to two operands; the sign is "-" where the right one is
    subtracted, else "+". Returns ((), "+") for any other value.
    """
    if isinstance(value, syntax.Binary) and value.op in (operator, "-" if operator == "+" else operator):
        return (value.left, value.right), "-" if value.op == "-" else "+"
    if isinstance(value, syntax.Call) and value.function == operator and len(value.args) == 2:
        return value.args, "+"
    if isinstance(value, syntax.Logical) and {"or": "|", "and": "&"}[value.op] == operator and len(value.operands) == 2:
        return value.operands, "+"
    return (), "+"


def _summands(value: Value, sign: str) -> Iterator[tuple[str, Value]]:
    """Yields (sign, value) pairs that add up to the value, which has the sign `sign` itself: a - b is ("+", a) and ("-", b)."""
    if not (isinstance(value, syntax.Binary) and value.op in ("+", "-")):
        yield sign, value
        return
    yield from _summands(value.left, sign)
    yield from _summands(value.right, sign if value.op == "+" else {"+": "-", "-": "+"}[sign])


def _mentions(value: Value, reduction: Reduction) -> bool:
    return any(isinstance(v, Load) and v.access == reduction.access for v in subvalues(value))


def _constant(terms: Terms, value: syntax.Const) -> Term:
    return terms.leaf(repr(value.value), "const", repr(value.value), value.dtype.name if value.dtype else "")


def operation(value: Value) -> tuple[Hashable, ...]:
    """Returns a tuple that identifies the operation at the top of a value, without its operands. Raises TypeError for a leaf."""
    if isinstance(value, (syntax.Unary, syntax.Binary, syntax.Compare, syntax.Logical)):
        return value.op, _type(value)
    if isinstance(value, syntax.Cast):
        return "cast", value.to.name
    if isinstance(value, syntax.IfExp):
        return "if", _type(value)
    if isinstance(value, Gather):
        return "gather", value.array
    if isinstance(value, syntax.Call):
        return value.function, value.module, _type(value)
    raise TypeError(f"not an operation: {value!r}")


def _type(value: syntax.Unary | syntax.Binary | syntax.Compare | syntax.Logical | syntax.IfExp | syntax.Call) -> str:
    return value.dtype.name if value.dtype else ""
