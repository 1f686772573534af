"""Complex numbers become two real ones in the typed syntax of a kernel: the real and the imaginary part.

    z = a * b        ->        z.real = a.real * b.real - a.imag * b.imag
                               z.imag = a.real * b.imag + a.imag * b.real

An array of complex numbers becomes an array of their parts with a first dimension of size 2, so that rows stay rows: those of an
argument are strided in memory, those of a local array are not. So everything behind this pass knows real numbers alone, and the
dependences of the parts are exact. (Scalar replacement of aggregates, LLVM's SROA.) A vector whose size data decide becomes one that is twice
as long, in which both parts of a number are side by side, as the caller gets them.

What stays complex: the element types of arguments and allocations, whose memory is made elsewhere, and what is returned, a Call
of "complex".
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from polyml.dtypes import BOOL, PYINT, DType
from polyml.frontend import syntax, traversal
from polyml.frontend.name_resolution import statements, unused
from polyml.frontend.syntax import ArrayType, Expr, Stmt
from polyml.model.lowering.arithmetic import complex_arithmetic as arithmetic
from polyml.model.lowering.arithmetic.complex_arithmetic import Pair

Place = syntax.Name | syntax.Subscript  # where a number is stored

_OF_PARTS = "real imag abs norm isnan isinf isfinite".split()
_LEAVES = (syntax.Const, syntax.Name, syntax.Subscript)


def in_parts(kernel: syntax.Kernel, *, aliased: bool = False) -> syntax.Kernel:
    """Returns the kernel with each complex number as two real ones, its parts; the same object where it has no complex numbers.

    aliased: whether arguments may share memory, so that storing one part may change any element
    """
    given = (t.element if isinstance(t, ArrayType) else t.dtype for t in kernel.types)
    if not any(dtype.is_complex for dtype in (*given, *_dtypes(kernel.body))):
        return kernel
    return _ComplexSplitter(kernel, aliased).kernel()


def parts_of(name: str) -> tuple[str, str]:
    """Returns the names of the real and the imaginary part of the complex number `name`."""
    return f"{name}.real", f"{name}.imag"


def _dtypes(body: Sequence[Stmt]) -> Iterator[DType]:
    """Yields the types of all allocations and expressions in a body."""
    for stmt in statements(body):
        if isinstance(stmt, syntax.Alloc):
            yield stmt.dtype
        for expr in traversal.expressions(stmt):
            yield from (node.dtype for node in traversal.nodes(expr) if not isinstance(node, syntax.ArrayName))


def _as_place(expr: Expr) -> Place:
    """Returns the expression unchanged if it can be assigned to. Raises TypeError for any other."""
    if not isinstance(expr, (syntax.Name, syntax.Subscript)):
        raise TypeError(f"nothing can be stored in {expr!r}")
    return expr


def _doubled(number: Expr) -> Expr:
    return syntax.Binary("*", number, syntax.Const(2, dtype=PYINT), dtype=PYINT, loc=number.loc)


class _ComplexSplitter:
    """A _ComplexSplitter rewrites a kernel statement by statement so that complex numbers become their parts.

    Where a part is used several times, an assignment to a new scalar goes in front of the statement.
    """

    def __init__(self, kernel: syntax.Kernel, aliased: bool):
        self._kernel, self._aliased = kernel, aliased
        self._scalars = dict(kernel.scalars)
        self._taken = {p.name for p in kernel.params} | self._scalars.keys()
        self._late: set[str] = set()  # vectors whose size data decide
        for stmt in statements(kernel.body):
            if isinstance(stmt, syntax.Alloc) and stmt.late and stmt.dtype.is_complex:
                self._late.add(stmt.name)
            if isinstance(stmt, (syntax.For, syntax.Alloc)):
                self._taken.add(stmt.var if isinstance(stmt, syntax.For) else stmt.name)
        self._made: dict[str, DType] = {}  # scalars that are new
        self._out: list[Stmt] = []
        self._is_certain = True  # whether what is read now is evaluated whatever the data are

    def kernel(self) -> syntax.Kernel:
        """Returns the kernel without complex numbers."""
        body = self._block(self._kernel.body)
        scalars: list[tuple[str, DType]] = []
        for name, dtype in (*self._scalars.items(), *self._made.items()):
            scalars += [(part, dtype.part) for part in parts_of(name)] if dtype.is_complex else [(name, dtype)]
        return dataclasses.replace(self._kernel, body=body, scalars=tuple(scalars))

    # Statements

    def _block(self, body: Sequence[Stmt]) -> tuple[Stmt, ...]:
        outer, self._out = self._out, []
        for stmt in body:
            self._stmt(stmt)
        made, self._out = tuple(self._out), outer
        return made

    def _stmt(self, stmt: Stmt) -> None:
        """Appends to the current block the statements that take the place of `stmt`, without complex numbers."""
        match stmt:
            case syntax.For():
                start, stop = self._real(stmt.start), self._real(stmt.stop)
                self._out.append(dataclasses.replace(stmt, start=start, stop=stop, body=self._block(stmt.body)))
            case syntax.While():
                self._while(stmt)
            case syntax.Block():
                self._out.append(dataclasses.replace(stmt, body=self._block(stmt.body)))
            case syntax.Leave() | syntax.Raise():
                self._out.append(stmt)
            case syntax.If():
                condition = self._real(stmt.condition)
                then, orelse = self._block(stmt.then), self._block(stmt.orelse)
                self._out.append(dataclasses.replace(stmt, condition=condition, then=then, orelse=orelse))
            case syntax.Assign() if stmt.target.dtype.is_complex:
                self._assign(stmt)
            case syntax.Assign():
                self._out.append(dataclasses.replace(stmt, target=self._target(stmt.target), value=self._real(stmt.value)))
            case syntax.Alloc():
                self._alloc(stmt)
            case syntax.Require():
                self._out.append(dataclasses.replace(stmt, condition=self._real(stmt.condition)))
            case syntax.Return():
                self._out.append(dataclasses.replace(stmt, values=tuple(map(self._returned, stmt.values))))

    def _while(self, stmt: syntax.While) -> None:
        """Appends a loop whose condition may need new scalars, which it then computes in each iteration."""
        outer, self._out = self._out, []
        condition, before, self._out = self._real(stmt.condition), tuple(self._out), outer
        body = self._block(stmt.body)
        if not before:
            self._out.append(dataclasses.replace(stmt, condition=condition, body=body))
            return
        label = unused("_done", self._taken)
        go, end = syntax.Const(True, dtype=BOOL), syntax.Leave(label, loc=stmt.loc)
        test = syntax.If(condition, body, (end,), loc=stmt.loc)
        self._out.append(syntax.Block(label, (syntax.While(go, (*before, test), loc=stmt.loc),), loc=stmt.loc))

    def _assign(self, stmt: syntax.Assign) -> None:
        """Appends the assignments to both parts of a complex number.

        Where the imaginary part needs the old real part, the new real part is kept in a new scalar and stored last.
        """
        value, places = self._parts(stmt.value), self._places(stmt.target)
        first, second = (dataclasses.replace(stmt, target=t, value=v) for t, v in zip(places, value))
        if not any(self._may_be(places[0], node) for node in traversal.nodes(value.imag)):
            self._out += [first, second]
            return
        held = self._new("_part", value.dtype)
        self._out += [syntax.Assign(held, value.real, loc=stmt.loc), second, dataclasses.replace(first, value=held)]

    def _target(self, target: Expr) -> Place:
        """Returns the target of an assignment of a real number, with complex parts of its subscripts rewritten."""
        return target if isinstance(target, syntax.Name) else _as_place(self._real(target))

    def _places(self, target: Expr) -> tuple[Place, Place]:
        """Returns the two targets in which the parts of a complex number are stored."""
        real, imag = self._parts(target)
        return _as_place(real), _as_place(imag)

    def _may_be(self, place: Place, read: Expr) -> bool:
        """Returns whether storing to `place` may store to the scalar or array element `read`; False for any other expression.

        That it may change what the subscripts of `read` are is not considered.
        """
        if isinstance(place, syntax.Name):
            return isinstance(read, syntax.Name) and read.name == place.name
        if not isinstance(read, syntax.Subscript):
            return False
        return self._aliased or read.array == place.array and self._which(read) == self._which(place)

    def _which(self, part: syntax.Subscript) -> Expr:
        """Returns which part of a complex number an element is: 0 or 1."""
        return traversal.operands(part.indices[0])[1] if part.array in self._late else part.indices[0]

    def _alloc(self, stmt: syntax.Alloc) -> None:
        """Appends an allocation, and the loops that fill it where the parts of the fill value are different."""
        shape = tuple(map(self._real, stmt.extents))
        if stmt.name in self._late:
            self._out.append(dataclasses.replace(stmt, shape=tuple(map(_doubled, shape))))
            return
        if not stmt.dtype.is_complex or stmt.fill is None:
            same = None if stmt.fill is None else self._real(stmt.fill)
            self._out.append(dataclasses.replace(stmt, shape=shape, fill=same))
            return
        fill = self._parts(stmt.fill)
        if repr(fill.real) == repr(fill.imag):  # 0.0 is not -0.0
            self._out.append(dataclasses.replace(stmt, shape=shape, fill=fill.real))
            return
        self._out.append(dataclasses.replace(stmt, shape=shape, fill=None))
        counters = [syntax.Name(unused("_c", self._taken), dtype=PYINT) for _ in shape]
        target = syntax.Subscript(stmt.name, tuple(counters), inside=True, dtype=stmt.dtype, loc=stmt.loc)
        body: tuple[Stmt, ...] = tuple(
            syntax.Assign(place, value, loc=stmt.loc) for place, value in zip(self._places(target), self._held(fill))
        )
        for counter, size in zip(reversed(counters), reversed(shape)):
            body = (syntax.For(counter.name, syntax.Const(0, dtype=PYINT), size, 1, body, loc=stmt.loc),)
        self._out.extend(body)

    def _returned(self, value: Expr | syntax.ArrayName) -> Expr | syntax.ArrayName:
        if isinstance(value, syntax.ArrayName):
            return dataclasses.replace(value, sizes=tuple(map(self._real, value.sizes)))
        if not value.dtype.is_complex:
            return self._real(value)
        return syntax.Call("complex", tuple(self._parts(value)), dtype=value.dtype, loc=value.loc)

    def _new(self, stem: str, dtype: DType) -> syntax.Name:
        name = unused(stem, self._taken)
        self._made[name] = dtype
        return syntax.Name(name, dtype=dtype)

    # Expressions

    def _real(self, expr: Expr) -> Expr:
        """Returns an expression that is not complex, rewritten so that it has no complex operands."""
        match expr:
            case syntax.Subscript(part=part) if part:
                whole = dataclasses.replace(expr, part="")
                return self._parts(whole)[("real", "imag").index(part)]
            case syntax.Compare() if expr.left.dtype.is_complex:
                return arithmetic.compared(expr.op, self._operand(expr.left), self._operand(expr.right))
            case syntax.Call(function=function) if function in _OF_PARTS and expr.args[0].dtype.is_complex:
                return arithmetic.of_parts(function, self._operand(expr.args[0]))
            case syntax.Logical():
                return dataclasses.replace(expr, operands=self._lazily(expr.operands))
            case syntax.IfExp():
                condition, then, orelse = self._lazily((expr.condition, expr.then, expr.orelse))
                return dataclasses.replace(expr, condition=condition, then=then, orelse=orelse)
        return traversal.with_operands(expr, tuple(map(self._real, traversal.operands(expr))))

    def _parts(self, expr: Expr) -> Pair:
        """Returns the real and the imaginary part of a complex expression."""
        match expr:
            case syntax.Const():
                return arithmetic.constant(complex(expr.value), expr.dtype.part)
            case syntax.Name():
                return Pair(*(dataclasses.replace(expr, name=n, dtype=expr.dtype.part) for n in parts_of(expr.name)))
            case syntax.Subscript():
                indices = tuple(map(self._real, expr.indices))
                if expr.array in self._late:
                    [index] = indices
                    beside = (syntax.Binary("+", _doubled(index), syntax.Const(k, dtype=PYINT), dtype=PYINT) for k in (0, 1))
                    return Pair(*(dataclasses.replace(expr, indices=(i,), dtype=expr.dtype.part) for i in beside))
                places = ((syntax.Const(which, dtype=PYINT), *indices) for which in (0, 1))
                return Pair(*(dataclasses.replace(expr, indices=i, dtype=expr.dtype.part) for i in places))
            case syntax.Unary(op="-"):
                return arithmetic.negated(self._parts(expr.operand))
            case syntax.Binary(op="+" | "-"):
                return arithmetic.binary(expr.op, self._parts(expr.left), self._parts(expr.right))
            case syntax.Binary():
                return arithmetic.binary(expr.op, self._operand(expr.left), self._operand(expr.right))
            case syntax.IfExp():
                condition = self._real(expr.condition)
                with self._perhaps():
                    then, orelse = self._parts(expr.then), self._parts(expr.orelse)
                return arithmetic.selected(condition, then, orelse)
            case syntax.Cast() if expr.operand.dtype.is_complex:
                return arithmetic.converted(self._parts(expr.operand), expr.dtype.part)
            case syntax.Cast():
                real = syntax.Cast(self._real(expr.operand), expr.dtype.part, expr.implicit, dtype=expr.dtype.part, loc=expr.loc)
                return Pair(real, syntax.Const(0.0, dtype=expr.dtype.part))
            case syntax.Call(function="complex"):
                return Pair(*map(self._real, expr.args))
            case syntax.Call(function="bound", args=(flag, number)):
                tested = (dataclasses.replace(expr, args=(flag, part), dtype=part.dtype) for part in self._parts(number))
                return Pair(*tested)
            case syntax.Call():
                return arithmetic.called(expr.function, list(map(self._operand, expr.args)))
        raise TypeError(f"not a complex expression: {expr!r}")

    def _lazily(self, operands: Sequence[Expr]) -> tuple[Expr, ...]:
        """Returns the rewritten operands of an `and`, `or` or select, of which Python always evaluates only the first one."""
        first = self._real(operands[0])
        with self._perhaps():
            return first, *map(self._real, operands[1:])

    @contextmanager
    def _perhaps(self) -> Iterator[None]:
        """Makes `_operand` treat the expressions that are rewritten inside a `with` block as ones that may not be evaluated."""
        outer, self._is_certain = self._is_certain, False
        yield
        self._is_certain = outer

    def _operand(self, expr: Expr) -> Pair:
        """Returns the parts of a complex operand that is used several times.

        They are kept in new scalars, unless the operand is a leaf or perhaps not evaluated.
        """
        pair = self._parts(expr)
        return pair if isinstance(expr, _LEAVES) or not self._is_certain else self._held(pair)

    def _held(self, number: Pair) -> Pair:
        """Returns a complex number with new scalars for its parts, unless these are constant; the current block assigns them."""
        result = []
        for part in number:
            if not isinstance(part, syntax.Const):
                name = self._new("_part", part.dtype)
                self._out.append(syntax.Assign(name, part))
                part = name
            result.append(part)
        return Pair(*result)
