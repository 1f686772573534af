"""Regions: statements whose control or subscripts data decide become one statement, with all that it may access.

        for k in range(ptr[i], ptr[i + 1]):                R[i]: reads ptr[i], ptr[i + 1], val[any], x[any], col[any]
            s += val[k]*x[col[k]]                  ->            writes y[i]
        y[i] = s

(Benabderrahmane et al., "The polyhedral model is more widely applicable than you think", CC 2010.)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from types import MappingProxyType
from typing import Protocol

from polyml import polyhedra
from polyml.dtypes import I64, PYINT, DType
from polyml.errors import NotAffineError
from polyml.frontend import syntax, traversal
from polyml.frontend.name_resolution import left, statements
from polyml.frontend.syntax import Expr, Stmt
from polyml.model.core.nest import Integer
from polyml.model.core.scop import Region, RegionAccess, ScalarArg, Scop, Statement
from polyml.model.index_arrays.kernel_names import mentions
from polyml.model.index_arrays.tracing import Tracing
from polyml.model.lowering.arithmetic.half_arithmetic import widened
from polyml.model.lowering.declarations import Declarations
from polyml.quasi_affine.affine import Affine, extremum
from polyml.source import Loc


class Allocator(Protocol):
    """An Allocator declares the array that a statement allocates, and returns its name in the nest and its sizes."""

    def __call__(self, stmt: syntax.Alloc) -> tuple[str, tuple[Affine, ...]]: ...


class DataRequirement(NotAffineError):
    """The error that conditions for calls cannot be tested at entry, since data decide them.

    places: where the text asks for them
    """

    def __init__(self, refused: Sequence[syntax.Require]):
        super().__init__(f"whether there is {refused[0].what} depends on data", loc=refused[0].loc, code="PML-F030")
        self.places = frozenset(stmt.loc for stmt in refused if stmt.loc is not None)

    def noted(self, *notes: str) -> NotAffineError:
        """Returns the error with notes behind those that it has, as one that names no places."""
        return NotAffineError(self.message, loc=self.loc, notes=[*self.notes, *notes], code=self.code)


_OF_SIZES = (syntax.Shape, syntax.Const, syntax.Compare, syntax.Logical, syntax.Binary, syntax.Unary)


@dataclasses.dataclass(frozen=True)
class Outside:
    """An Outside is what a region sees of the kernel around it.

    values: loop variables around it, and local numbers that are known to be affine in iterators and sizes
    mentions: how often the whole kernel mentions each name
    allocate: declares arrays
    require: adds a condition on sizes to what is tested at entry
    is_once: whether there are no loops around it
    """

    values: Mapping[str, Affine]
    mentions: Mapping[str, int]
    allocate: Allocator
    require: Callable[[syntax.Require], None] | None = None
    is_once: bool = False


@dataclasses.dataclass(frozen=True)
class LoopsAround:
    """A LoopsAround says what becomes of loops that have regions inside, by their places. Others are loops of the model, and all that
    stands in the innermost one is one region.

    sequential: those that become a part of the regions in them
    divided: those that are loops of the model and of which each statement is by itself, so that affine loops in them are loops of
        the model too
    """

    sequential: frozenset[Loc] = frozenset()
    divided: frozenset[Loc] = frozenset()


PLAIN_LOOPS = LoopsAround()


def region(body: Sequence[Stmt], declared: Declarations, outside: Outside) -> Region:
    """Returns the region that statements become. Raises NotAffineError for statements that no region has.

    declared: the arrays and names of the nest, to which those that the region needs are added
    """
    return _RegionBuilder(declared, outside, mentions(body)).region(body)


def address_of(array: str) -> str:
    """Returns the name of a region's own number with the address of an array whose size data decide."""
    return f"{array}.address"


def halves(body: tuple[Stmt, ...]) -> tuple[tuple[Stmt, ...], tuple[Stmt, ...]]:
    """Returns the first statements of a block, which run whatever follows leaves, and the rest of it."""
    count = next((k for k, stmt in enumerate(body) if left((stmt,))), len(body))
    return body[:count], body[count:]


def _assigned(stmt: Stmt) -> set[str]:
    return {stmt.target.name} if isinstance(stmt, syntax.Assign) and isinstance(stmt.target, syntax.Name) else set()


def has_loops(statement: Statement) -> bool:
    """Returns whether a region with loops around it has loops among its statements."""
    region = statement.region
    return region is not None and bool(statement.iterators) and any(isinstance(stmt, syntax.For) for stmt in region.body)


def has_nest_in_loop(statement: Statement) -> bool:
    """Returns whether a region without loops around it runs nested affine loops again and again, as a `while` around sweeps over a
    grid does. By themselves such loops have tiles, vectors and threads, which a region has not. Nests whose bounds change from one
    run to the next, as in a factorization, shrink, so that calls of their own would cost more.
    """
    if statement.region is None or statement.iterators:
        return False
    loops = (s for s in statements(statement.region.body) if isinstance(s, (syntax.For, syntax.While)))
    return any(_is_affine_nest(inner) and _stays(inner, loop) for loop in loops for inner in statements(loop.body))


def pays_tiles(scop: Scop) -> bool:
    """Returns whether an assignment beside regions has loops around it that pay tiles: three, unless an array is read just once in them, or
    more than its element has subscripts where the innermost loop jumps from row to row. Those that it shares with a region do not count,
    and a constant that fills an array needs none.
    """
    regions = [s for s in scop.statements.values() if s.region is not None]
    for statement in scop.statements.values():
        if statement.region is not None or not statement.reads:
            continue
        depth = len(statement.iterators) - max((_shared_loops(statement, other) for other in regions), default=0)
        repeats = depth > max(1, len(statement.write.subscripts))
        if depth > 2 and not _reads_once(statement) or (depth > 2 or repeats) and jumps(statement):
            return True
    return False


def _reads_once(statement: Statement) -> bool:
    """Returns whether an assignment reads no element of some array in two of its instances."""
    return any(access.relation.intersect_domain(statement.domain).is_injective() for access in statement.reads)


def jumps(statement: Statement) -> bool:
    """Returns whether the innermost loop around an assignment moves another subscript of an access than the last one."""
    innermost = len(statement.iterators) - 1
    moved = (value for access in (*statement.reads, statement.write) for value in access.subscripts[:-1])
    return any(innermost in polyhedra.used_iterators(value) for value in moved)


def _shared_loops(one: Statement, other: Statement) -> int:
    """Returns how many loops are around both statements."""
    pairs = zip(one.loops, other.loops)
    return len([*takewhile(lambda pair: pair[0] is not None and pair[0] == pair[1], pairs)])


def _is_affine_nest(stmt: Stmt) -> bool:
    """Returns whether a statement is nested loops, and seems to be affine, as far as the text tells."""
    if not isinstance(stmt, syntax.For) or not any(isinstance(inner, syntax.For) for inner in statements(stmt.body)):
        return False
    for inner in statements((stmt,)):
        if isinstance(inner, (syntax.While, syntax.Block, syntax.Leave)):
            return False
        bounds = traversal.expressions(inner) if isinstance(inner, syntax.For) else ()
        indices = (
            i for e in traversal.accessed(inner) for n in traversal.nodes(e) if isinstance(n, syntax.Subscript) for i in n.indices
        )
        if any(isinstance(node, syntax.Subscript) for each in (*bounds, *indices) for node in traversal.nodes(each)):
            return False
    return True


def _stays(nest: Stmt, loop: syntax.For | syntax.While) -> bool:
    """Returns whether the bounds of a nest are the same whenever a loop around it runs it."""
    own = {s.var: tuple(traversal.expressions(s)) for s in statements((nest,)) if isinstance(s, syntax.For)}
    bounds = {n.name for each in own.values() for e in each for n in traversal.nodes(e) if isinstance(n, syntax.Name)}
    around = {s.var for s in statements((loop,)) if isinstance(s, syntax.For)} - own.keys()
    return bounds.isdisjoint(around.union(*map(_assigned, statements(loop.body))))


class _RegionBuilder:
    """A _RegionBuilder rewrites the statements of one region over the names of the nest, and collects their accesses."""

    def __init__(self, declared: Declarations, outside: Outside, own: Mapping[str, int]):
        self._declared, self._outside = declared, outside
        self._bound: set[str] = set()  # loop variables of the region
        self._counted: dict[str, list[Expr]] = {}  # those of them that are never negative, with where their loops stop
        self._own = {name for name, count in own.items() if outside.mentions[name] == count and name not in declared.argument_names}
        self._numbers: dict[str, DType] = {}
        self._accesses: dict[RegionAccess, None] = {}
        self._refused: list[syntax.Require] = []
        self._tracing = Tracing((), affine)
        self._late: dict[syntax.Name, syntax.Subscript] = {}  # of arrays whose sizes data decide: own numbers with their addresses

    def region(self, body: Sequence[Stmt]) -> Region:
        """Returns the region."""
        self._bound = {stmt.var for stmt in statements(body) if isinstance(stmt, syntax.For)}
        loops = [stmt for stmt in statements(body) if isinstance(stmt, syntax.For)]
        others = {loop.var for loop in loops if loop.step < 0 or loop.start != syntax.Const(0, dtype=PYINT)}
        others |= {name for stmt in statements(body) for name in _assigned(stmt)}
        self._counted = {name: [loop.stop for loop in loops if loop.var == name] for name in self._bound - others}
        begun = self._begun(body) if self._outside.is_once else {}
        self._own |= begun.keys()
        self._tracing = Tracing(body, affine)
        made = self._block(tuple(body))
        made = (*(syntax.Assign(own, outer) for own, outer in self._late.items()), *made)
        for name in begun.values():  # others read them behind the region
            made += (syntax.Assign(self._scalar(name, writes=True), name, loc=name.loc),)
        if self._refused:
            raise DataRequirement(self._refused)
        return Region(made, tuple(self._numbers.items()), tuple(self._accesses), dtype=PYINT)

    def _begun(self, body: Sequence[Stmt]) -> dict[str, syntax.Name]:
        """Returns the numbers that also others mention, but that have a value of the region itself before anything reads them there."""
        found: dict[str, syntax.Name] = {}
        for stmt in body:
            if not (isinstance(stmt, syntax.Assign) and isinstance(stmt.target, syntax.Name)):
                break
            read = {n.name for n in traversal.nodes(stmt.value) if isinstance(n, syntax.Name)}
            if stmt.target.name not in self._own | read:
                found[stmt.target.name] = stmt.target
        return found

    def _block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(made for stmt in body for made in self._stmt(stmt))

    def _stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        match stmt:
            case syntax.Assign():
                target, value = self._target(stmt), self._value(stmt.value)
                if isinstance(target, syntax.Name):
                    self._tracing.assigned(target.name, value)
                return (dataclasses.replace(stmt, target=target, value=value),)
            case syntax.Alloc():
                return self._alloc(stmt)
            case syntax.Require() if self._holds(stmt.condition):
                return ()
            case syntax.Require():
                if self._outside.require is None or not all(map(self._is_of_sizes, traversal.nodes(stmt.condition))):
                    self._refused.append(stmt)
                else:
                    self._outside.require(stmt)
                return ()
        made = traversal.map_reads(stmt, self._value)
        if not isinstance(made, syntax.For):
            return (traversal.with_bodies(made, self._block),)
        self._numbers[made.var] = PYINT
        with self._tracing.inside(made):
            return (traversal.with_bodies(made, self._block),)

    def _is_of_sizes(self, node: Expr) -> bool:
        """Returns whether a part of a condition is known when a call begins."""
        if isinstance(node, syntax.Name):
            return node.name in self._declared.argument_names and node.name not in self._declared.scalar_names
        return isinstance(node, _OF_SIZES)

    def _holds(self, condition: Expr) -> bool:
        """Returns whether a condition always holds, or says no more than the bounds of a loop over a range from 0 on say of its variable."""
        match condition:
            case syntax.Const(value=value):
                return bool(value)
            case syntax.Compare(op=">=", left=syntax.Name(name=name), right=syntax.Const(value=0)):
                return name in self._counted
            case syntax.Compare(op="<", left=syntax.Name(name=name), right=stop):
                return name in self._counted and self._counted[name] == [stop]
        return False

    def _target(self, stmt: syntax.Assign) -> syntax.Target:
        target = stmt.target
        if isinstance(target, syntax.Subscript):
            return self._element(target, writes=True)
        if not isinstance(target, syntax.Name):
            raise TypeError(f"an array that is stored as a whole became loops before: {target!r}")
        if target.name in self._own:
            self._numbers[target.name] = self._declared.scalar_types.get(target.name, target.dtype)
            return target
        return self._scalar(target, writes=True)

    def _scalar(self, name: syntax.Name, *, writes: bool) -> syntax.Subscript:
        """Returns the number outside the region that a name stands for."""
        array = self._declared.scalar(name.name, self._declared.scalar_types.get(name.name, name.dtype))
        self._accesses[RegionAccess(array, (), writes, name.loc)] = None
        return syntax.Subscript(array, (), dtype=name.dtype, loc=name.loc, inside=True)

    def _value(self, expr: Expr) -> Expr:
        match expr:
            case syntax.Name():
                return self._name(expr)
            case syntax.Shape():
                return Integer(self._declared.size(expr.array, expr.dim), dtype=expr.dtype, loc=expr.loc)
            case syntax.Subscript():
                return self._element(expr, writes=False)
            case syntax.ArrayName():
                return expr
        return widened(traversal.with_operands(expr, tuple(map(self._value, traversal.operands(expr)))))

    def _name(self, expr: syntax.Name) -> Expr:
        name = expr.name
        if name in self._own or name in self._bound:
            return expr
        if name in self._outside.values:
            return Integer(self._outside.values[name], dtype=expr.dtype, loc=expr.loc)
        if name in self._declared.argument_names and name not in self._declared.scalar_names:
            return ScalarArg(name, dtype=expr.dtype, loc=expr.loc)
        return self._scalar(expr, writes=False)

    def _element(self, expr: syntax.Subscript, *, writes: bool) -> syntax.Subscript:
        indices = tuple(map(self._value, expr.indices))
        array = self._declared.array_names[expr.array]
        self._address(array)
        origins = tuple(map(self._tracing.of, indices))
        spans = tuple(map(self._tracing.span, indices))
        self._accesses[RegionAccess(array, tuple(map(affine, indices)), writes, expr.loc, origins, spans)] = None
        return dataclasses.replace(expr, array=array, indices=indices)

    def _address(self, array: str, *, writes: bool = False) -> syntax.Name | None:
        """Returns the region's own number with the address of an array whose size data decide; None for any other array."""
        address = self._declared.arrays[array].address
        if not address:
            return None
        own = syntax.Name(address_of(array), dtype=I64)
        self._numbers[own.name] = I64
        self._late[own] = syntax.Subscript(address, (), dtype=I64, inside=True)
        self._accesses[RegionAccess(address, (), writes)] = None
        return own

    def _alloc(self, stmt: syntax.Alloc) -> tuple[Stmt, ...]:
        """Returns the loops that fill an array which the region allocates, if it is filled."""
        array, shape = self._outside.allocate(stmt)
        own = self._address(array, writes=True)
        if own is not None:
            size_bytes = syntax.Const(self._declared.arrays[array].element.size_bytes, dtype=PYINT)
            total, *kept = (syntax.Binary("*", self._value(size), size_bytes, dtype=PYINT) for size in stmt.extents)
            outer = self._late[own]
            if kept:
                larger = syntax.Call("reallocate", (own, *kept, total), dtype=I64)
                return tuple(syntax.Assign(to, value, loc=stmt.loc) for to, value in ((own, larger), (outer, own)))
            released, memory = syntax.Call("release", (own,), dtype=I64), syntax.Call("allocate", (total,), dtype=I64)
            return tuple(syntax.Assign(to, value, loc=stmt.loc) for to, value in ((outer, released), (own, memory), (outer, own)))
        if stmt.fill is None:
            return ()
        names = [f"{array}.{dim}" for dim in range(len(shape))]
        self._numbers |= dict.fromkeys(names, PYINT)
        indices = tuple(syntax.Name(name, dtype=PYINT) for name in names)
        self._accesses[RegionAccess(array, tuple(None for _ in shape), True, stmt.loc)] = None
        element = self._declared.arrays[array].element
        target = syntax.Subscript(array, indices, dtype=element, inside=True, loc=stmt.loc)
        fill = self._value(stmt.fill)
        if fill.dtype != element:
            fill = syntax.Cast(fill, element, True, dtype=element, loc=stmt.loc)
        made: Stmt = syntax.Assign(target, fill, loc=stmt.loc)
        zero = syntax.Const(0, dtype=PYINT)
        for name, extent in zip(reversed(names), reversed(shape)):
            made = syntax.For(name, zero, Integer(extent, dtype=PYINT), 1, (made,), loc=stmt.loc)
        return (made,)


def affine(expr: Expr, values: Mapping[str, Affine] = MappingProxyType({})) -> Affine | None:
    """Returns an integer expression of a region as an affine one of iterators and sizes; None where it is none.

    values: numbers of the region that are known
    """
    match expr:
        case Integer():
            return expr.affine
        case syntax.Name(name=name):
            return values.get(name)
        case syntax.Const(value=int(value)):
            return Affine(value)
        case syntax.Unary(op="-", operand=operand):
            inside = affine(operand, values)
            return None if inside is None else -inside
        case syntax.Binary(op="+" | "-" | "*" as op, left=one, right=other):
            a, b = affine(one, values), affine(other, values)
            if a is None or b is None:
                return None
            if op != "*":
                return a + b if op == "+" else a - b
            return a * b.constant if b.is_constant else b * a.constant if a.is_constant else None
        case syntax.Binary(op="min" | "max" as op, left=one, right=other):
            a, b = affine(one, values), affine(other, values)
            return None if a is None or b is None else extremum(op, [a, b])
    return None
