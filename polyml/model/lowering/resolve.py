"""Typed syntax -> Nest: integers that are affine become `Affine`, conditions become guards or selects.

Local integers with an affine value are followed forward (`m = n - i - 1; A[m]` reads A[n - i - 1]); every scalar is
also written to memory, and `model.nest_passes.forward_substitution` removes the writes that nobody reads.
"""

from __future__ import annotations

from enum import Enum
from typing import Union

from polyml.dtypes import BOOL, F64, I64, PYBOOL, PYFLOAT, PYINT, DType
from polyml.errors import NotAffineError, SizesNeeded
from polyml.frontend import syntax, traversal
from polyml.frontend.name_resolution import statements
from polyml.model.core import affine as af
from polyml.model.core.affine import Affine, Formula
from polyml.model.core.call_interface import ArrayResult, Parameter, ScalarResult
from polyml.model.core.identifiers import Names
from polyml.model.core.nest import (
    QUOTIENTS_AROUND,
    ArrayInfo,
    Assign,
    Guard,
    Integer,
    Loop,
    Nest,
    Node,
    Read,
    Requirement,
    Truth,
    Value,
    children,
    with_children,
)
from polyml.model.core.scop import Gather, Role, ScalarArg
from polyml.model.lowering.affine_folding import CHOICES, CONDITIONS, QUOTIENTS, folded, formula_choice, is_exact, is_small, known
from polyml.model.lowering.complex_parts import parts_of
from polyml.model.lowering.half_arithmetic import widened
from polyml.model.lowering.if_conversion import flag, joined, leading_truths, select
from polyml.model.nest_passes.split_selects import explicit
from polyml.source import Loc

_PYTHON = {F64: PYFLOAT, BOOL: PYBOOL}
_CHOICE_DEPTH = 3
_FORMULAS = (af.Compare, af.And, af.Or)
_COPIED_STATEMENTS = 8  # a branch up to this size may be copied to tell an affine condition from one on data


class Stale(Enum):
    """What is known of a loop variable after its loop: its value depends on whether the loop ran."""

    STALE = "stale"


Known = Union[Affine, Formula, Read, Stale]  # of a local number; a Read: of an index array that does not change

_SUBSCRIPT_NOTE = "polyml needs subscripts of the form c0 + c1*i + c2*j with integer c"
_BOUND_NOTE = "polyml needs bounds of the form c0 + c1*i + c2*N with integer c, and min, max, // and % of such"
_SIMPLE_NOTE = f"one expression may have {QUOTIENTS} different // and %, and {CHOICES} different min, max, abs and conditions"
_GATHER_NOTE = "or subscripts that are elements of integer arguments, of an argument; the kernel changes neither"


def resolve(kernel: syntax.Kernel, *, aliased: bool = False) -> Nest:
    """aliased: arguments may share memory. Raises NotAffineError for a bound, subscript or shape that is not affine."""
    return _Resolver(kernel, aliased).run()


class _Resolver:
    def __init__(self, kernel: syntax.Kernel, aliased: bool):
        self.kernel = kernel
        self.unchanged = set() if aliased else {p.name for p in kernel.params} - assigned_arrays(kernel.body)
        self.types = {p.name: t for p, t in zip(kernel.params, kernel.types)}
        self.scalar_types = dict(kernel.scalars)
        self.names = Names()
        self.array_names: dict[str, str] = {}
        self.scalar_names: dict[str, str] = {}
        self.arrays: dict[str, ArrayInfo] = {}
        self.parameters: dict[str, Parameter] = {}
        self.shape_names: dict[tuple[str, int], str] = {}
        self.argument_names: dict[str, str] = {}
        self.env: dict[str, Known | None] = {}
        self.products: set[str] = set()  # local numbers that would be affine if the numbers of the call were known
        self.depth = 0
        self.conditions = 0  # that are as those on data, since their quotients are many
        self.around: list[Loop | Guard] = []  # without their bodies
        self.requirements: list[Requirement] = []
        self.contents: dict[tuple[str, Affine], Requirement] = {}  # by index array and size of what it indexes
        self.returned = _returned_arrays(kernel)
        self._declare_arguments()

    def run(self) -> Nest:
        body = self.block(self.kernel.body, (), None)
        results, is_tuple = (), False
        if self.kernel.body and isinstance(self.kernel.body[-1], syntax.Return):
            last = self.kernel.body[-1]
            extra, results = self._results(last)
            body, is_tuple = body + extra, last.is_tuple
        return Nest(
            body, self.arrays, tuple(self.parameters.values()), results, is_tuple,
            tuple(self.requirements), tuple(self.contents.values()),
        )  # fmt: skip

    # arguments and parameters

    def _declare_arguments(self) -> None:
        bound = _bound_shapes(self.kernel)
        for name, type_ in self.types.items():
            if isinstance(type_, syntax.ArrayType):
                continue
            for number in parts_of(name) if type_.dtype.is_complex else (name,):
                self.argument_names[number] = self.names.fresh(number)
        for name, type_ in self.types.items():
            if isinstance(type_, syntax.ArrayType):
                self.array_names[name] = self.names.fresh(name)
        for name, type_ in self.types.items():
            if not isinstance(type_, syntax.ArrayType):
                continue
            for dim in range(type_.ndim):
                wanted = bound.get((name, dim), f"{self.array_names[name]}_{dim}")
                own = self.names.fresh(wanted)
                self.shape_names[name, dim] = own
                self.parameters[own] = Parameter(own, name, dim, argument=name)
            shape = tuple(af.variable(self.shape_names[name, dim]) for dim in range(type_.ndim))
            self._declare(self.array_names[name], type_.element, shape, Role.ARGUMENT, name, loc=_param_loc(self.kernel, name))

    def _declare(self, name: str, element: DType, shape: tuple[Affine, ...], role: Role, source_name: str, **more) -> None:
        """An array; one of complex numbers is one of their parts."""
        shape = (Affine(2), *shape) if element.is_complex else shape
        self.arrays[name] = ArrayInfo(element.part, shape, role, source_name, pairs=element.is_complex, **more)

    def _argument(self, name: str, dtype: DType) -> Value:
        own = self.argument_names[name]
        if not (dtype.is_integer or dtype.kind == "b"):
            return ScalarArg(name, dtype=dtype)
        self.parameters.setdefault(own, Parameter(own, argument=name))
        if dtype.kind == "b":
            return Truth(flag(own), dtype=dtype)
        return Integer(af.variable(own), dtype=dtype)

    def scalar(self, name: str, dtype: DType) -> str:
        """The array of rank 0 that holds a local scalar."""
        if name not in self.scalar_names:
            own = self.names.fresh(name)
            self.scalar_names[name] = own
            self.arrays[own] = ArrayInfo(dtype, (), Role.LOCAL, name)
        return self.scalar_names[name]

    def temporary(self, wanted: str, dtype: DType) -> str:
        own = self.names.fresh(wanted)
        self.arrays[own] = ArrayInfo(dtype, (), Role.LOCAL, wanted)
        return own

    # statements

    def block(self, body: tuple[syntax.Stmt, ...], iterators: tuple[str, ...], predicate: Value | None):
        nodes: list[Node] = []
        for stmt in body:
            nodes.extend(self.statement(stmt, iterators, predicate))
        return tuple(nodes)

    def statement(self, stmt: syntax.Stmt, iterators: tuple[str, ...], predicate: Value | None) -> tuple[Node, ...]:
        if isinstance(stmt, syntax.Assign):
            return self._assign(stmt, predicate)
        if isinstance(stmt, syntax.For):
            return self._for(stmt, iterators, predicate)
        if isinstance(stmt, syntax.If):
            return self._if(stmt.condition, stmt.then, stmt.orelse, iterators, predicate)
        if isinstance(stmt, syntax.Alloc):
            return self._alloc(stmt, iterators, predicate)
        if isinstance(stmt, syntax.Require):
            self._require(stmt)
        return ()

    def _require(self, stmt: syntax.Require) -> None:
        condition = self.truth(stmt.condition)
        if not isinstance(condition, Truth):
            raise NotAffineError(f"whether there is {stmt.what} is not affine", loc=stmt.loc, notes=[_BOUND_NOTE], code="PML-F030")
        if condition.formula == af.TRUE:
            return
        around, used = tuple(self.around), af.names(condition.formula)
        if all(isinstance(node, Loop) and node.iterator not in used for node in around):
            around = ()  # asked once, also of a call in which the loops do not run
        self.requirements.append(Requirement(around, condition.formula, stmt.what, stmt.loc))

    def _assign(self, stmt: syntax.Assign, predicate: Value | None) -> tuple[Node, ...]:
        value = self.value(stmt.value)
        target = stmt.target
        if isinstance(target, syntax.Subscript):
            return (self._store(*self._element(target), value, predicate, stmt.loc, target.loc, target.inside),)
        if not isinstance(target, syntax.Name):
            raise TypeError(f"an array that is stored as a whole became loops before: {target!r}")
        dtype = self.scalar_types.get(target.name, value.dtype)
        found: Known | None = known(value)
        found = self._unchanged_index(value) if found is None else found
        self.env[target.name] = found if value.dtype == dtype else None
        if not isinstance(value, Integer) and value.dtype == PYINT and self._call_knows_a_factor(stmt.value):
            self.products.add(target.name)
        return (self._store(self.scalar(target.name, dtype), (), value, predicate, stmt.loc),)

    def _store(
        self, array: str, subscripts, value: Value, predicate: Value | None, loc, target_loc=None, inside: bool = False
    ) -> Assign:
        if predicate is None:
            return Assign(array, subscripts, value, False, loc, target_loc, inside)
        old = Read(array, subscripts, dtype=self.arrays[array].element, loc=target_loc, inside=inside)
        return Assign(array, subscripts, select(predicate, value, old), True, loc, target_loc, inside)

    def _for(self, stmt: syntax.For, iterators: tuple[str, ...], predicate: Value | None) -> tuple[Node, ...]:
        start, stop = self._bound(stmt.start), self._bound(stmt.stop)
        iterator = self.names.local(stmt.var, iterators)
        changed = assigned_names(stmt.body)
        for name in changed:
            self.env[name] = None
        self.env[stmt.var] = af.variable(iterator)
        first: tuple[Node, ...] = ()
        if stmt.var in changed:
            here = Integer(af.variable(iterator), dtype=PYINT)
            first = (self._store(self.scalar(stmt.var, PYINT), (), here, predicate, stmt.loc),)
        self.depth += 1
        self.around.append(Loop(iterator, start, stop, stmt.step, (), stmt.loc))
        body = first + self.block(stmt.body, (*iterators, iterator), predicate)
        self.around.pop()
        self.depth -= 1
        for name in changed:
            self.env[name] = None if self.env.get(name) is not Stale.STALE else Stale.STALE
        self.env[stmt.var] = Stale.STALE
        return (Loop(iterator, start, stop, stmt.step, body, stmt.loc),)

    def _if(self, condition, then, orelse, iterators, predicate) -> tuple[Node, ...]:
        test = self.truth(condition)
        if isinstance(test, Truth):
            if self._has_few_quotients(test.formula):
                return self._affine_if(test.formula, then, orelse, iterators, predicate)
            self._count_condition(condition)
            return self._data_if(explicit(test.formula, BOOL), then, orelse, iterators, predicate)
        first, rest, op = leading_truths(test)
        if first is None or not self._has_few_quotients(first) or _count(orelse if op == "and" else then) > _COPIED_STATEMENTS:
            return self._data_if(test, then, orelse, iterators, predicate)
        before = dict(self.env)
        inside = first if op == "and" else af.negate(first)
        data = Guard(inside, self._data_if(rest, then, orelse, iterators, predicate))
        after_data, self.env = self.env, before
        decided = Guard(af.negate(inside), self.block(orelse if op == "and" else then, iterators, predicate))
        self.env = _merged(None, after_data, self.env)
        return (data, decided) if decided.body else (data,)

    def _count_condition(self, condition: syntax.Expr) -> None:
        self.conditions += 1
        if self.conditions > CONDITIONS:
            raise NotAffineError(
                f"there are more than {CONDITIONS} conditions with // or % beside others",
                loc=condition.loc,
                notes=["write them as a table: an array of what each remainder selects"],
                code="PML-F030",
            )

    def _has_few_quotients(self, formula: Formula) -> bool:
        """Whether isl can tell the instances that meet it beside the conditions around, else it is as one on data."""
        around = (node.condition for node in self.around if isinstance(node, Guard))
        return af.quotients(formula, *around) <= QUOTIENTS_AROUND

    def _affine_if(self, formula: Formula, then, orelse, iterators, predicate) -> tuple[Node, ...]:
        before = dict(self.env)
        nodes = []
        self.depth += 1
        if formula != af.FALSE:
            nodes.append(self._guarded(formula, then, iterators, predicate))
        after_then, self.env = self.env, before
        if formula != af.TRUE:
            nodes.append(self._guarded(af.negate(formula), orelse, iterators, predicate))
        self.depth -= 1
        self.env = _merged(formula, after_then, self.env)
        return tuple(node for node in nodes if node.body)

    def _guarded(self, formula: Formula, body, iterators, predicate) -> Guard:
        self.around.append(Guard(formula, ()))
        guard = Guard(formula, self.block(body, iterators, predicate))
        self.around.pop()
        return guard

    def _data_if(self, test: Value, then, orelse, iterators, predicate) -> tuple[Node, ...]:
        """Both branches run, their assignments made into selects on a condition that is stored before them."""
        flag_name = self.temporary("cond", BOOL)
        whole = test if predicate is None else syntax.Logical("and", (predicate, test), dtype=BOOL)
        stored = Read(flag_name, (), dtype=BOOL)
        before = dict(self.env)
        then_nodes = self.block(then, iterators, stored)
        after_then, self.env = self.env, before
        otherwise: Value = syntax.Unary("not", stored, dtype=BOOL)
        if predicate is not None:
            otherwise = syntax.Logical("and", (predicate, otherwise), dtype=BOOL)
        else_nodes = self.block(orelse, iterators, otherwise)
        self.env = _merged(None, after_then, self.env)
        head = Assign(flag_name, (), whole, False, None)
        if all(isinstance(node, Assign) for node in then_nodes + else_nodes):
            return (head, *joined(stored, otherwise, then_nodes, else_nodes, self._rename))
        return (head, *then_nodes, *else_nodes)

    def _rename(self, name: str) -> str | None:
        """A new scalar like the local scalar `name`; None for an array or what the caller sees."""
        info = self.arrays[name]
        return None if info.shape or info.role is not Role.LOCAL else self.temporary(info.source_name, info.element)

    def _alloc(self, stmt: syntax.Alloc, iterators: tuple[str, ...], predicate: Value | None) -> tuple[Node, ...]:
        shape = tuple(self._size(extent, iterators) for extent in stmt.extents)
        if predicate is not None and stmt.name in self.returned:
            raise NotAffineError(
                f"the allocation of `{stmt.name}` depends on data",
                loc=stmt.loc,
                notes=["allocate before the `if`"],
                code="PML-F030",
            )
        role = Role.RESULT if stmt.name in self.returned else Role.LOCAL
        name = self.names.fresh(stmt.name)
        self.array_names[stmt.name] = name
        conditional = self.depth > 0 or predicate is not None
        self._declare(name, stmt.dtype, shape, role, stmt.name, conditional=conditional, loc=stmt.loc)
        if stmt.fill is None:
            return ()
        shape, element, value = self.arrays[name].shape, stmt.dtype.part, self.value(stmt.fill)
        if value.dtype != element:
            value = syntax.Cast(value, element, True, dtype=element, loc=stmt.loc)
        inner = list(iterators)
        for dim in range(len(shape)):
            inner.append(self.names.local(f"d{dim}", tuple(inner)))
        own = inner[len(iterators) :]
        node: Node = Assign(name, tuple(map(af.variable, own)), value, False, stmt.loc)
        for iterator, extent in zip(reversed(own), reversed(shape)):
            node = Loop(iterator, Affine(0), extent, 1, (node,), stmt.loc)
        return (node,)

    def _results(self, stmt: syntax.Return) -> tuple[tuple[Node, ...], tuple]:
        nodes: list[Node] = []
        results: list[ScalarResult | ArrayResult] = []
        for value, python in zip(stmt.values, stmt.python):
            if isinstance(value, syntax.ArrayName):
                results.append(ArrayResult(self.array_names[value.name]))
                continue
            numbers: tuple[syntax.Expr, ...] = (value,)
            whole = None
            if isinstance(value, syntax.Call) and value.dtype.is_complex:
                whole, numbers = value.dtype, value.args
            for number in numbers:
                array = self._result(number, nodes, stmt.loc)
                element = self.arrays[array].element
                results.append(ScalarResult(array, _PYTHON.get(element, element) if python else element, whole))
        return tuple(nodes), tuple(results)

    def _result(self, value: syntax.Expr, nodes: list[Node], loc: Loc | None) -> str:
        """The scalar array that holds a number that is returned."""
        if isinstance(value, syntax.Name) and value.name in self.scalar_names and self.env.get(value.name) is not Stale.STALE:
            return self.scalar_names[value.name]
        array = self.temporary("result", value.dtype)
        nodes.append(Assign(array, (), self.value(value), False, value.loc or loc))
        return array

    # expressions

    def value(self, expr: syntax.Expr) -> Value:
        """The same value with its affine parts made into Integer and Truth leaves."""
        if isinstance(expr, syntax.Const):
            return self._constant(expr)
        if isinstance(expr, syntax.Name):
            return self._name(expr)
        if isinstance(expr, syntax.Shape):
            return Integer(self._shape(expr.array, expr.dim), dtype=expr.dtype)
        if isinstance(expr, syntax.Subscript):
            return self._read(expr)
        operands = tuple(self.value(child) for child in children(expr))
        return folded(expr, operands) or widened(with_children(expr, operands))

    def truth(self, expr: syntax.Expr) -> Value:
        """The value as a condition: Truth, or a value of a truth type."""
        value = self.value(expr)
        if isinstance(value, Integer):
            return Truth(af.compare("!=", value.affine, Affine(0)), dtype=BOOL)
        if value.dtype.kind == "b":
            return value
        return syntax.Cast(value, BOOL, True, dtype=BOOL, loc=expr.loc)

    def _constant(self, expr: syntax.Const) -> Value:
        value = expr.value
        if is_exact(expr.dtype) and not isinstance(value, bool):
            return Integer(Affine(int(value)), dtype=expr.dtype)
        if expr.dtype.kind == "b":
            return Truth(af.TRUE if value else af.FALSE, dtype=expr.dtype)
        return expr

    def _name(self, expr: syntax.Name) -> Value:
        here = self.env.get(expr.name)
        if here is Stale.STALE:
            raise NotAffineError(
                f"`{expr.name}` is read after its loop, where its value depends on whether the loop ran",
                loc=expr.loc,
                notes=["assign it to another variable inside the loop"],
                code="PML-F030",
            )
        if isinstance(here, Affine):
            return Integer(here, dtype=expr.dtype)
        if isinstance(here, Read):
            return here
        if here is not None:
            return Truth(here, dtype=expr.dtype)
        if expr.name in self.argument_names and expr.name not in self.scalar_names:
            return self._argument(expr.name, expr.dtype)
        return Read(self.scalar(expr.name, self.scalar_types.get(expr.name, expr.dtype)), (), dtype=expr.dtype, loc=expr.loc)

    def _shape(self, array: str, dim: int) -> Affine:
        if array in self.types:
            return af.variable(self.shape_names[array, dim])
        info = self.arrays[self.array_names[array]]
        return info.shape[dim + info.pairs]

    def _read(self, expr: syntax.Subscript) -> Read | Gather:
        """An element at affine subscripts, or at some that are elements of index arrays."""
        indices = [self.value(index) for index in expr.indices]
        data = [None if isinstance(index, Integer) else self._unchanged_index(index) for index in indices]
        if not any(data) or expr.array not in self.unchanged:
            return Read(*self._element(expr), dtype=expr.dtype, loc=expr.loc, inside=expr.inside)
        array = self.array_names[expr.array]
        made: list[Value] = []
        for dim, (index, read) in enumerate(zip(indices, data)):
            size = self.arrays[array].shape[dim]
            made.append(index if read is None else self._index_in(read, size, expr))
            if read is None:
                self._subscript(expr.indices[dim])
        return Gather(array, tuple(made), dtype=expr.dtype, loc=expr.loc, inside=expr.inside)

    def _unchanged_index(self, value: Value) -> Read | None:
        read = _index_read(value)
        return read if read is not None and self.arrays[read.array].source_name in self.unchanged else None

    def _index_in(self, read: Read, size: Affine, expr: syntax.Subscript) -> Value:
        """The element of an index array, from the end where it is negative, and that it is inside."""
        name = self.arrays[read.array].source_name
        if (name, size) not in self.contents:
            least, greatest = (self._extreme(name, extreme) for extreme in ("min", "max"))
            inside = af.conjunction(af.compare("<", greatest, size), af.compare(">=", least, -size))
            what = f"an element of `{name}` that is no index of `{expr.array}`"
            self.contents[name, size] = Requirement((), inside, what, expr.loc)
        index: Value = read if read.dtype == I64 else syntax.Cast(read, I64, True, dtype=I64)
        from_end = syntax.Binary("+", index, Integer(size, dtype=I64), dtype=I64)
        return syntax.IfExp(syntax.Compare("<", index, Integer(Affine(0), dtype=I64), dtype=BOOL), from_end, index, dtype=I64)

    def _extreme(self, array: str, extreme: str) -> Affine:
        name = next((p.name for p in self.parameters.values() if (p.array, p.extreme) == (array, extreme)), None)
        if name is None:
            name = self.names.fresh(f"{array}_{extreme}")
            self.parameters[name] = Parameter(name, array, argument=array, extreme=extreme)
        return af.variable(name)

    def _element(self, expr: syntax.Subscript) -> tuple[str, tuple[Affine, ...]]:
        return self.array_names[expr.array], tuple(self._subscript(index) for index in expr.indices)

    def _subscript(self, expr: syntax.Expr) -> Affine:
        return self._affine(expr, "subscript", "the loop variables", _SUBSCRIPT_NOTE)

    def _bound(self, expr: syntax.Expr) -> Affine:
        return self._affine(expr, "loop bound", "the loop variables and sizes", _BOUND_NOTE)

    def _affine(self, expr: syntax.Expr, what: str, of: str, note: str) -> Affine:
        value = self.value(expr)
        if isinstance(value, Integer) and is_small(value.affine):
            return value.affine
        text = f" `{expr.loc.text}`" if expr.loc else ""
        reads = any(isinstance(node, syntax.Subscript) for node in traversal.nodes(expr))
        kind = SizesNeeded if self._call_knows_a_factor(expr) else NotAffineError
        notes = [
            note,
            *([_GATHER_NOTE] if reads and what == "subscript" else []),
            *([_SIMPLE_NOTE] if _has_many_cases(expr) else []),
        ]
        raise kind(f"{what}{text} is not affine in {of}", loc=expr.loc, notes=notes)

    def _call_knows_a_factor(self, expr: syntax.Expr) -> bool:
        """Whether a product in it has a size or a number of the call, as i*n + j has: with its value it is affine."""
        for node in traversal.nodes(expr):
            if isinstance(node, syntax.Name) and node.name in self.products:
                return True
            if not isinstance(node, syntax.Binary) or node.op not in ("*", "//", "%"):
                continue
            for value in map(self.value, (node.left, node.right) if node.op == "*" else (node.right,)):
                if isinstance(value, Integer) and not value.affine.is_constant and af.names(value.affine) <= self.parameters.keys():
                    return True
        return False

    def _size(self, expr: syntax.Expr, iterators: tuple[str, ...]) -> Affine:
        value = self._affine(expr, "array size", "the sizes", _BOUND_NOTE)
        if af.names(value).isdisjoint(iterators):
            return value
        raise NotAffineError(
            f"array size `{expr.loc.text if expr.loc else value}` changes with the loop",
            loc=expr.loc,
            notes=["polyml allocates arrays whose sizes stay the same; allocate the largest one before the loop"],
            code="PML-F030",
        )


def _has_many_cases(expr: syntax.Expr) -> bool:
    """Whether it has more operations that tell cases apart than an affine expression may have."""
    operations = ("//", "%", ">>", "min", "max")
    found = [
        node for node in traversal.nodes(expr)
        if isinstance(node, (syntax.IfExp, syntax.Call)) or isinstance(node, syntax.Binary) and node.op in operations
    ]  # fmt: skip
    return len(found) > min(QUOTIENTS, CHOICES)


def _index_read(index: Value) -> Read | None:
    """The element of an integer array that an index is, converted perhaps."""
    while isinstance(index, syntax.Cast) and index.implicit and index.to.is_integer:
        index = index.operand
    return index if isinstance(index, Read) and index.subscripts and index.dtype.is_integer else None


def assigned_arrays(body: tuple[syntax.Stmt, ...]) -> frozenset[str]:
    """The arrays that a block changes."""
    assigned = (stmt.target for stmt in statements(body) if isinstance(stmt, syntax.Assign))
    return frozenset(target.array for target in assigned if isinstance(target, syntax.Subscript))


def assigned_names(body: tuple[syntax.Stmt, ...]) -> frozenset[str]:
    """Local scalars and loop variables that a block changes."""
    found: set[str] = set()
    for stmt in body:
        if isinstance(stmt, syntax.Assign) and isinstance(stmt.target, syntax.Name):
            found.add(stmt.target.name)
        elif isinstance(stmt, syntax.For):
            found |= {stmt.var} | assigned_names(stmt.body)
        elif isinstance(stmt, syntax.If):
            found |= assigned_names(stmt.then) | assigned_names(stmt.orelse)
    return frozenset(found)


def _merged(formula: Formula | None, then: dict[str, Known | None], orelse: dict[str, Known | None]) -> dict[str, Known | None]:
    """What is known after an `if`, from what is known after its branches. formula None: it depends on data."""
    result: dict[str, Known | None] = {}
    for name in {**then, **orelse}:
        a, b = then.get(name), orelse.get(name)
        if a == b:
            result[name] = a
        elif Stale.STALE in (a, b):
            result[name] = Stale.STALE
        elif formula is None:
            result[name] = None
        elif isinstance(a, Affine) and isinstance(b, Affine):
            value = af.choice(formula, a, b)
            result[name] = value if af.depth(value) <= _CHOICE_DEPTH else None
        elif isinstance(a, _FORMULAS) and isinstance(b, _FORMULAS):
            result[name] = formula_choice(formula, a, b)
        else:
            result[name] = None
    return result


def _count(body: tuple[syntax.Stmt, ...]) -> int:
    total = len(body)
    for stmt in body:
        if isinstance(stmt, syntax.For):
            total += _count(stmt.body)
        elif isinstance(stmt, syntax.If):
            total += _count(stmt.then) + _count(stmt.orelse)
    return total


def _bound_shapes(kernel: syntax.Kernel) -> dict[tuple[str, int], str]:
    """(array, dim) -> N for every `N = array.shape[dim]` at the top of the kernel that is N's only assignment."""
    counts: dict[str, int] = {}
    _count_assignments(kernel.body, counts)
    found: dict[tuple[str, int], str] = {}
    for stmt in kernel.body:
        if not (isinstance(stmt, syntax.Assign) and isinstance(stmt.target, syntax.Name)):
            continue
        if isinstance(stmt.value, syntax.Shape) and counts[stmt.target.name] == 1:
            found.setdefault((stmt.value.array, stmt.value.dim), stmt.target.name)
    return found


def _count_assignments(body: tuple[syntax.Stmt, ...], counts: dict[str, int]) -> None:
    for stmt in body:
        if isinstance(stmt, syntax.Assign) and isinstance(stmt.target, syntax.Name):
            counts[stmt.target.name] = counts.get(stmt.target.name, 0) + 1
        elif isinstance(stmt, syntax.For):
            counts[stmt.var] = counts.get(stmt.var, 0) + 1
            _count_assignments(stmt.body, counts)
        elif isinstance(stmt, syntax.If):
            _count_assignments(stmt.then, counts)
            _count_assignments(stmt.orelse, counts)


def _returned_arrays(kernel: syntax.Kernel) -> frozenset[str]:
    last = kernel.body[-1] if kernel.body else None
    if not isinstance(last, syntax.Return):
        return frozenset()
    return frozenset(v.name for v in last.values if isinstance(v, syntax.ArrayName))


def _param_loc(kernel: syntax.Kernel, name: str):
    return next(p.loc for p in kernel.params if p.name == name)
