"""The statements of a Region become blocks and branches, in the source's order.

Numbers of a region have memory on the stack, which LLVM's passes make registers of. A loop without others inside has two
forms: where all its indices are known to be those of elements before it begins, none is tested in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polyml.codegen.analysis.region_integers import changed_in
from polyml.codegen.ir.program import Instance
from polyml.codegen.llvm.builder import BasicBlock
from polyml.codegen.llvm.element_access import ElementAccess
from polyml.codegen.llvm.ssa_value import SsaValue
from polyml.codegen.llvm.statements.locations import AccessLocations
from polyml.codegen.llvm.statements.region_values import Dimension, RegionValues
from polyml.dtypes import PYINT
from polyml.frontend import syntax, traversal
from polyml.frontend.name_resolution import statements
from polyml.model.core.nest import Integer
from polyml.model.core.scop import ScalarArg, Statement

_FAR = 2**56  # beyond the bounds of loops whose indices are tested before they begin


class RegionEmitter:
    """A RegionEmitter emits one instance of a region."""

    def __init__(self, body: ElementAccess, locations: AccessLocations, statement: Statement, node: Instance):
        region = statement.region
        if region is None:
            raise TypeError(f"{statement.name} is no region")
        self._body, self._fn, self._region = body, body.fn, region
        self._values = RegionValues(body, locations, statement, region, node)
        self._ends: dict[str, BasicBlock] = {}

    def emit(self) -> None:
        """Emits the region's statements."""
        self._body.flush()
        with self._body.math.one_by_one():
            self._block(self._region.body)
        self._body.math.forget()

    def _block(self, body: Sequence[syntax.Stmt]) -> None:
        for stmt in body:
            self._stmt(stmt)

    def _stmt(self, stmt: syntax.Stmt) -> None:
        match stmt:
            case syntax.Assign():
                self._values.assign(stmt.target, self._assigned(stmt))
            case syntax.If():
                self._if(stmt)
            case syntax.For():
                self._for(stmt)
            case syntax.While():
                self._while(stmt)
            case syntax.Block():
                end = self._fn.block("end")
                outer, self._ends = self._ends, {**self._ends, stmt.label: end}
                self._block(stmt.body)
                self._ends = outer
                self._go(end)
            case syntax.Leave():
                self._fn.jump(self._ends[stmt.label])
                self._begin(self._fn.block("never"))
            case _:
                raise TypeError(f"not a statement of a region: {stmt!r}")

    def _assigned(self, stmt: syntax.Assign) -> SsaValue:
        """Emits an assigned value, and returns it. What is added to the number itself may be added up in another order."""
        value, math, mode = stmt.value, self._body.math, self._body.module.floats.mode
        match stmt.target, value:
            case syntax.Name(name=name), syntax.Binary(op="+" | "*" as op, left=syntax.Name(name=own)) if own == name:
                if value.dtype.is_float and value.dtype.bits >= 32 and mode != "strict":
                    with math.in_sums(mode):
                        left, right = self._values.of(value.left), self._values.of(value.right)
                        return math.reassociated(op, left, right)
        return self._values.of(value)

    def _begin(self, block: BasicBlock) -> None:
        self._fn.current = block
        self._body.math.forget()

    def _go(self, block: BasicBlock) -> None:
        """Emits a jump to a block, with which code goes on."""
        self._fn.jump(block)
        self._begin(block)

    def _if(self, stmt: syntax.If) -> None:
        test = self._body.math.truth(self._values.of(stmt.condition))
        then, orelse, after = self._fn.block("then"), self._fn.block("else"), self._fn.block("after")
        self._fn.branch(test.ssa, then, orelse)
        for block, body in ((then, stmt.then), (orelse, stmt.orelse)):
            self._begin(block)
            self._block(body)
            self._fn.jump(after)
        self._begin(after)

    def _while(self, stmt: syntax.While) -> None:
        test, body, after = self._fn.block("test"), self._fn.block("body"), self._fn.block("after")
        self._go(test)
        condition = self._body.math.truth(self._values.of(stmt.condition))
        self._fn.branch(condition.ssa, body, after)
        self._begin(body)
        self._block(stmt.body)
        self._fn.jump(test)
        self._begin(after)

    def _for(self, stmt: syntax.For) -> None:
        start, stop = self._values.of(stmt.start).ssa, self._values.of(stmt.stop).ssa
        count = self._count(start, stop, stmt.step)
        dimensions = [*_tested(stmt, self._values.safe)] if _is_innermost(stmt) else []
        if not dimensions:
            self._loop(stmt, start, count)
            return
        inside = self._all_inside(stmt, start, count, dimensions)
        fast, slow, after = self._fn.block("fast"), self._fn.block("slow"), self._fn.block("after")
        self._fn.branch(inside, fast, slow)
        known = self._values.safe
        for block, safe in ((fast, known | {(id(e), dim) for e, dim in dimensions}), (slow, known)):
            self._begin(block)
            self._values.safe = safe
            self._loop(stmt, start, count)
            self._fn.jump(after)
        self._values.safe = known
        self._begin(after)

    def _count(self, start: str, stop: str, step: int) -> str:
        """Emits the number of iterations of a loop, and returns it."""
        fn = self._fn
        low, high = (start, stop) if step > 0 else (stop, start)
        some = fn.emit(f"icmp slt i64 {low}, {high}")
        length = fn.emit(f"sub i64 {high}, {low}")
        if abs(step) > 1:  # rounded up, without a sum that may leave 64 bits
            last = fn.emit(f"udiv i64 {fn.emit(f'sub i64 {length}, 1')}, {abs(step)}")
            length = fn.emit(f"add i64 {last}, 1")
        return fn.emit(f"select i1 {some}, i64 {length}, i64 0")

    def _loop(self, stmt: syntax.For, start: str, count: str) -> None:
        fn = self._fn
        before, head, body, after = fn.current, fn.block("loop"), fn.block("body"), fn.block("after")
        fn.jump(head)
        self._begin(head)
        number = fn.name()
        fn.branch(fn.emit(f"icmp ult i64 {number}, {count}"), body, after)
        self._begin(body)
        moved = number if stmt.step == 1 else fn.emit(f"mul i64 {number}, {stmt.step}")
        value = fn.emit(f"add i64 {start}, {moved}")
        self._values.assign(syntax.Name(stmt.var, dtype=PYINT), SsaValue(value, PYINT))
        self._block(stmt.body)
        following = fn.emit(f"add nuw i64 {number}, 1")
        fn.jump(head)
        head.phis.append(f"{number} = phi i64 [ 0, %{before.label} ], [ {following}, %{fn.current.label} ]")
        self._begin(after)

    # -- indices that are known to be inside before a loop begins ----------------------------------------------------

    def _all_inside(self, stmt: syntax.For, start: str, count: str, dimensions: Sequence[tuple[syntax.Subscript, int]]) -> str:
        """Emits whether the indices are those of elements in all iterations of a loop, and returns the SSA name of an i1."""
        fn = self._fn
        before = fn.emit(f"sub i64 {count}, 1")
        last = fn.emit(f"add i64 {start}, {fn.emit(f'mul i64 {before}, {stmt.step}')}")
        total = fn.emit(f"icmp ne i64 {count}, 0")
        for end in (start, last):
            total = fn.emit(f"and i1 {total}, {self._is_near(end)}")
        seen: set[tuple] = set()
        for e, dim in dimensions:
            key = (e.array, dim, e.indices[dim])
            if key in seen:
                continue
            seen.add(key)
            extent = self._body.integer(self._body.module.table.affine(self._body.scop.arrays[e.array].shape[dim]))
            for leaf in _others(e.indices[dim], stmt.var):
                total = fn.emit(f"and i1 {total}, {self._is_near(self._values.of(leaf).ssa)}")
            for end in (start, last):
                index = self._at(e.indices[dim], stmt.var, end)
                total = fn.emit(f"and i1 {total}, {fn.emit(f'icmp ult i64 {index}, {extent}')}")
        return total

    def _is_near(self, value: str) -> str:
        """Emits whether a number is so small that indices made of it stay within 64 bits, and returns the SSA name of an i1."""
        return self._fn.emit(f"icmp ult i64 {self._fn.emit(f'add i64 {value}, {_FAR}')}, {2 * _FAR}")

    def _at(self, index: syntax.Expr, var: str, value: str) -> str:
        """Emits an index for a value of a loop's variable, and returns it."""
        match index:
            case syntax.Name(name=name) if name == var:
                return value
            case syntax.Binary(op=op, left=left, right=right):
                name = {"+": "add", "-": "sub", "*": "mul"}[op]
                return self._fn.emit(f"{name} i64 {self._at(left, var, value)}, {self._at(right, var, value)}")
        return self._values.of(index).ssa


def _is_innermost(stmt: syntax.For) -> bool:
    return not any(isinstance(inner, (syntax.For, syntax.While)) for inner in statements(stmt.body))


def _tested(stmt: syntax.For, safe: frozenset[Dimension]) -> Iterator[tuple[syntax.Subscript, int]]:
    """Yields (an element in a loop, a dimension) for each index that is affine in the loop's variable, and whose other numbers the
    loop does not change.
    """
    changed = changed_in(stmt.body)
    for inner in statements(stmt.body):
        target = (inner.target,) if isinstance(inner, syntax.Assign) else ()
        for expr in (*traversal.expressions(inner), *target):
            for node in traversal.nodes(expr):
                if isinstance(node, syntax.Subscript) and not node.inside:
                    for dim, index in enumerate(node.indices):
                        if (id(node), dim) not in safe and _moves(index, stmt.var, changed):
                            yield node, dim


def _moves(index: syntax.Expr, var: str, changed: set[str]) -> bool:
    """Returns whether an index is a sum of the loop's variable, times a small constant, and of numbers that stay the same."""
    match index:
        case syntax.Name(name=name):
            return name not in changed
        case syntax.Const(value=int(value)):
            return abs(value) < 2**40
        case Integer() | ScalarArg():
            return True
        case syntax.Binary(op="+" | "-", left=left, right=right):
            return _moves(left, var, changed) and _moves(right, var, changed)
        case syntax.Binary(op="*", left=syntax.Const(value=int(value)), right=right):
            return abs(value) <= 2 and _moves(right, var, changed)
        case syntax.Binary(op="*", left=left, right=syntax.Const(value=int(value))):
            return abs(value) <= 2 and _moves(left, var, changed)
    return False


def _others(index: syntax.Expr, var: str) -> Iterator[syntax.Expr]:
    """Yields the numbers other than the loop's variable that an index is made of."""
    for node in traversal.nodes(index):
        if isinstance(node, (Integer, ScalarArg)) or isinstance(node, syntax.Name) and node.name != var:
            yield node
