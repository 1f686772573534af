"""Array expressions -> loops over elements, once the ranks of the arguments are known.

        B[1:-1] = (A[:-2] + A[2:]) / 2     ->     for _i1 in range(N - 2):
                                                      B[_i1 + 1] = (A[_i1] + A[_i1 + 2]) / 2

An expression is a function from a point to the element there (`elements`), so that whatever NumPy would compute step by
step in arrays of its own is one expression per element. Memory is used only for what has a name or is read many times:
an array that is assigned to a name, operands and results of reductions and products.

* NumPy computes the right side before it stores anything. Where the right side reads the array that it is stored into
  elsewhere than at the element itself, or (aliased) perhaps through another argument, it goes through a temporary.
* `x = A[1:]` is a view, `x = A[1:] + 1` a new array, `x += 1` changes the array that x is.
* What holds in the usual call and would cost code otherwise (sizes that broadcast are equal, slices of a constant
  length fit) is a Require: calls for which it does not hold run as plain Python, which decides what happens.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeVar

from polyml.dtypes import BOOL, PYINT, DType
from polyml.errors import LanguageError, NotAffineError, PolymlTypeError, SizesNeeded
from polyml.frontend import syntax, traversal
from polyml.frontend.arrays import buffer_swaps, masked_assignment, rebinding, reductions
from polyml.frontend.arrays.buffer_swaps import Uncertain, bound_names
from polyml.frontend.arrays.half_precision import may_have_halves
from polyml.frontend.arrays.shapes import Extent, Linear, checked_dim, dimensions
from polyml.frontend.arrays.temporaries import needs_temporary
from polyml.frontend.arrays.views import (
    Elements,
    Point,
    any_point,
    element,
    elementwise,
    indexed_by_arrays,
    need_equal,
    need_inside,
    stored,
    subscripted,
)
from polyml.frontend.captures import MISSING
from polyml.frontend.constant_folding import constant
from polyml.frontend.name_resolution import statements, unused
from polyml.frontend.syntax import ArgType, ArrayType, Expr, ScalarType, Stmt
from polyml.source import Loc

Value = Expr | Elements
Lowered = TypeVar("Lowered")


def lowered(kernel: syntax.Kernel, types: Sequence[ArgType], *, aliased: bool = False) -> syntax.Kernel:
    """The kernel without array expressions; the same kernel where there are none.

    aliased: arguments may share memory. Raises LanguageError, PolymlTypeError or, where plain Python can run it,
    NotAffineError.
    """
    lowering = Lowering(kernel, types, aliased)
    body = lowering.body(kernel.body)
    return kernel if body == kernel.body else dataclasses.replace(kernel, body=body)


class Lowering:
    """Lowers one kernel. The functions of `functions_of_arrays` use its public methods."""

    def __init__(self, kernel: syntax.Kernel, types: Sequence[ArgType], aliased: bool):
        self._params = {p.name for p in kernel.params}
        self._aliased = self._params if aliased else set()
        self._storage: dict[str, Elements] = {}  # every array in memory
        self.arrays: dict[str, Elements | Uncertain] = {}  # what the names stand for
        self.taken = set(self._params)
        for stmt in statements(kernel.body):
            match stmt:
                case syntax.For(var=name) | syntax.Alloc(name=name) | syntax.Assign(target=syntax.Name(name=name)):
                    self.taken.add(name)
        self._known_sizes: list[syntax.Require] = []
        self.numbers: dict[str, Expr] = {}  # names that always have one value: a constant, or made of sizes
        self._bound_once = _bound_once(kernel)
        self._ints = {p.name for p, t in zip(kernel.params, types) if t == ScalarType(PYINT) and p.name in self._bound_once}
        types_of = zip(kernel.params, types)
        self.halves = may_have_halves(kernel, types)
        self.complex = {p.name: t.element.is_complex for p, t in zip(kernel.params, types) if isinstance(t, ArrayType)}
        self.truths = {p.name for p, t in types_of if isinstance(t, ArrayType) and t.element == BOOL}  # arrays of bool
        self.kept: set[str] = set()  # names that loops around bind to new arrays, which are stored where the old ones were
        self._reads = rebinding.reads_of(kernel.body)
        self._perhaps_viewed: set[str] = set()  # arrays of which there is what may be a view or a copy
        self.lengths: dict[Expr, int] = {}  # loop variable -> what it stays below
        for param, kind in zip(kernel.params, types):
            if isinstance(kind, ScalarType) and kind.value is not None and param.name in self._bound_once:
                self.numbers[param.name] = syntax.Const(kind.value, loc=param.loc)
                self._know(syntax.Name(param.name, loc=param.loc), kind.value)
            if isinstance(kind, ArrayType):
                extents = tuple(self._argument_extent(param, kind, dim) for dim in range(kind.ndim))
                self._storage[param.name] = stored(param.name, extents)
        self.arrays.update(self._storage)
        self.out: list[Stmt] = []
        self._needed: set[Expr] = set()  # conditions that are required already
        self._loop_variables: list[str] = []  # of the loops around
        self._counter = 0

    def body(self, body: Sequence[Stmt]) -> tuple[Stmt, ...]:
        """All statements of the kernel."""
        return (*self._known_sizes, *self.block(body))

    def _argument_extent(self, param: syntax.Param, kind: ArrayType, dim: int) -> Extent:
        size = syntax.Shape(param.name, dim, loc=param.loc)
        known = dict(kind.sizes).get(dim)
        if known is None:
            return Extent(Linear(((size, 1),)), True)
        self._know(size, known)
        return Extent.constant(known)

    def _know(self, number: Expr, value: int) -> None:
        same = syntax.Compare("==", number, syntax.Const(value))
        self._known_sizes.append(syntax.Require(same, "a size or number that is not the one compiled for", loc=number.loc))

    # Statements

    def block(self, body: Sequence[Stmt]) -> tuple[Stmt, ...]:
        outer, needed = self.out, set(self._needed)
        self.out = made = []
        try:
            for stmt in body:
                self._stmt(stmt)
        finally:
            self.out, self._needed = outer, needed  # what a block needs, it may not reach
        return tuple(made)

    def _stmt(self, stmt: Stmt) -> None:
        match stmt:
            case syntax.For():
                self._for(stmt)
            case syntax.If():
                self._if(stmt)
            case syntax.Assign(target=syntax.Name()):
                self._assign_name(stmt)
            case syntax.Assign():
                self._assign_part(stmt)
            case syntax.Alloc():
                self._alloc(stmt)
            case syntax.Return():
                self._return(stmt)
            case _:
                self.out.append(stmt)

    def _for(self, stmt: syntax.For) -> None:
        start, stop = self.number(stmt.start), self.number(stmt.stop)
        turns = buffer_swaps.turns(self, stmt)
        if turns is not None:
            buffer_swaps.rotate(self, stmt, start, stop, turns)
            return
        kept = rebinding.iteration(self, stmt, start, stop)
        if kept is None:
            before = dict(self.arrays)
            for name in bound_names(stmt.body) - self.kept:
                if name in self.arrays:
                    self.arrays[name] = Uncertain(f"`{name}` is bound to another array in each iteration of a loop")
        body, before = (self.iteration(stmt), before) if kept is None else kept
        self.out.append(dataclasses.replace(stmt, start=start, stop=stop, body=body))
        self._merge(before, "in a loop")

    def iteration(self, stmt: syntax.For) -> tuple[Stmt, ...]:
        self._loop_variables.append(stmt.var)
        try:
            return self.block(stmt.body)
        finally:
            self._loop_variables.pop()

    def attempted(self, lower: Callable[[], Lowered]) -> Lowered | None:
        """What `lower` gives; None, and everything as it was, where it meets what is not affine."""
        arrays, kept, needed, length = dict(self.arrays), set(self.kept), set(self._needed), len(self.out)
        try:
            return lower()
        except NotAffineError:
            self.arrays, self._needed = arrays, needed
            del self.out[length:]
            return None
        finally:
            self.kept = kept

    def _if(self, stmt: syntax.If) -> None:
        condition = self.number(stmt.condition)
        before = dict(self.arrays)
        then = self.block(stmt.then)
        after, self.arrays = self.arrays, dict(before)
        orelse = self.block(stmt.orelse)
        self._merge(after, "under a condition")
        self.out.append(dataclasses.replace(stmt, condition=condition, then=then, orelse=orelse))

    def _merge(self, other: dict[str, Elements | Uncertain], where: str) -> None:
        """What the names stand for after two ways through the program."""
        for name in {*self.arrays, *other}:
            if self.arrays.get(name) is not other.get(name):
                self.arrays[name] = Uncertain(f"`{name}` is bound to an array {where}")

    def _assign_name(self, stmt: syntax.Assign) -> None:
        name, value = stmt.target.name, self.value(stmt.value)
        known = self.arrays.get(name)
        if stmt.in_place and known is not None:
            self._store(self.known(name, known, stmt.target.loc), value, stmt)
            return
        if name in self.kept:
            own = self.arrays[name]
            self._store(own, rebinding.checked(self, own, value, stmt.loc), dataclasses.replace(stmt, same_type=True))
            return
        if not isinstance(value, Elements):
            self.arrays.pop(name, None)
            if name in self._bound_once and all(_is_size(node) for node in traversal.nodes(value)):
                self.numbers[name] = value
            self.out.append(dataclasses.replace(stmt, value=value, in_place=False))
            return
        self.arrays[name] = value if value.storage else self.memory(value, name, stmt.loc)
        if value.perhaps:
            self._perhaps_viewed |= {value.perhaps, self.arrays[name].storage}

    def _assign_part(self, stmt: syntax.Assign) -> None:
        if masked_assignment.assign(self, stmt):
            return
        target = self.value(stmt.target)
        if isinstance(target, syntax.Subscript):
            self.check_changes(target.array, stmt.loc)
            value = self.value(stmt.value)
            if isinstance(value, Elements):
                if any(not extent.is_one for extent in value.shape):
                    raise PolymlTypeError(
                        "an array is assigned to one element", loc=stmt.loc, notes=["accepted: a number"]
                    )
                value = value.sample
            self.out.append(dataclasses.replace(stmt, target=target, value=value, in_place=False))
            return
        if isinstance(target, Elements) and _is_gathered(target.sample):
            raise NotAffineError(
                "what is assigned to elements at index arrays is not affine", code="PML-F021",
                loc=stmt.target.loc,
                notes=["polyml compiles: assignments to numbers and slices of arrays, and reads at index arrays"],
            )
        if not isinstance(target, Elements) or target.storage is None:
            raise LanguageError(
                "this cannot be assigned", loc=stmt.target.loc, notes=["accepted: an array, or a part of one"]
            )
        self._store(target, self.value(stmt.value), stmt)

    def is_own(self, array: Elements) -> bool:
        """Whether it is all of an array that the kernel has made, of which there is no doubtful view."""
        return array.whole and array.storage not in self._params | self._perhaps_viewed

    def is_read(self, name: str) -> bool:
        """Whether the kernel uses the name of an array; `T = T.new` alone does not."""
        known = self.arrays[name]
        return self._reads[name] > (1 if isinstance(known, Elements) and known.storage == name else 0)

    def may_be_one(self, array: str, other: str) -> bool:
        """Whether two arrays may share memory."""
        return array == other or {array, other} <= self._aliased

    def check_changes(self, array: str, loc: Loc | None) -> None:
        """Refuse to change an array where it is not known what else changes with it."""
        if array in self._perhaps_viewed:
            raise NotAffineError(
                "an array is changed of which a reshape or a conjugate may be a view or a copy",
                loc=loc,
                notes=["polyml compiles: those of arrays that do not change, and `A.reshape(...).copy()`"],
            )

    def _store(self, target: Elements, value: Value, stmt: syntax.Assign) -> None:
        """target[...] = value, all of the value first."""
        loc = stmt.loc
        self.check_changes(target.storage, loc)
        if isinstance(value, Elements):
            extra = value.rank - target.rank
            if extra > 0 and not all(extent.is_one for extent in value.shape[:extra]):
                raise PolymlTypeError(
                    f"an array of {value.rank} dimensions cannot be assigned to one of {target.rank}",
                    loc=loc,
                    notes=["accepted: a shape that broadcasts to that of the target"],
                )
            zeros = (syntax.Const(0),) * max(extra, 0)
            value = Elements(value.shape[max(extra, 0) :], lambda point, whole=value: whole.at((*zeros, *point)))
            for own, other in zip(reversed(target.shape), reversed(value.shape)):
                if not other.is_one:
                    need_equal(own, other, "an array that is assigned to a part of another size", self.need, loc)
        else:
            need_inside(value, self.need)
        held: list[str] = []

        def direct(point: Point) -> list[Stmt]:
            place, here = target.at(point), element(value, point)
            if needs_temporary(here, place, point, target.shape, self._aliased, self.need):
                full = self._storage[target.storage].shape  # which does not change with the loops around
                kind = syntax.TypeOf(value.sample if isinstance(value, Elements) else value)
                held.append(self._fresh_array("_value", full, kind, None, loc))
                place = syntax.Subscript(held[0], place.indices, inside=True)
                return [syntax.Assign(place, here, loc=loc)]
            return [store(place, here)]

        def back(point: Point) -> list[Stmt]:
            place = target.at(point)
            return [store(place, syntax.Subscript(held[0], place.indices, inside=True))]

        def store(place: syntax.Subscript, here: Expr) -> Stmt:
            return dataclasses.replace(stmt, target=dataclasses.replace(place, loc=stmt.target.loc), value=here, whole=True)

        self.loops(target.shape, direct, loc)
        if held:
            self.loops(target.shape, back, loc)

    def _alloc(self, stmt: syntax.Alloc) -> None:
        shape = stmt.shape
        if isinstance(shape, syntax.Like):
            shape = tuple(extent.expr for extent in self.array(shape.array, shape.loc).shape)
        else:
            shape = tuple(map(self.number, shape))
        like = stmt.element
        if isinstance(like, syntax.Like):
            like = syntax.TypeOf(self.array(like.array, like.loc).sample, loc=like.loc)
        fill = None if stmt.fill is None else self.number(stmt.fill)
        self.out.append(dataclasses.replace(stmt, shape=shape, element=like, fill=fill))
        extents = tuple(Extent(Linear.of(size), True) for size in shape)
        self.arrays[stmt.name] = self._storage[stmt.name] = stored(stmt.name, extents)

    def _return(self, stmt: syntax.Return) -> None:
        values = [syntax.Name(v.name, loc=v.loc) if isinstance(v, syntax.ArrayName) else v for v in stmt.values]
        made = list(map(self.value, values))
        shared = Counter(m.storage for m in made if isinstance(m, Elements) and m.storage)
        for value, array in zip(values, made):
            if isinstance(array, Elements) and not array.whole and shared[array.storage] > 1:
                raise NotAffineError(
                    "two results share their memory", code="PML-F022", loc=value.loc, notes=["polyml compiles: `return T, T[1:].copy()`"]
                )
        self.out.append(dataclasses.replace(stmt, values=tuple(map(self._returned, values, made))))

    def _returned(self, value: Expr, made: Value) -> Expr | syntax.ArrayName:
        if not isinstance(made, Elements):
            return made
        if made.storage in self._params and not made.whole:
            raise NotAffineError(
                "a view of an argument is returned", code="PML-F022", loc=value.loc, notes=["polyml compiles: `return A[1:].copy()`"]
            )
        whole = made if made.whole else self.memory(made, "result", value.loc)
        return syntax.ArrayName(whole.storage, loc=value.loc)

    # Expressions

    def number(self, expr: Expr) -> Expr:
        """The value of an expression that must be a number."""
        value = self.value(expr)
        if isinstance(value, Elements):
            raise PolymlTypeError(
                f"an array of {dimensions(value.rank)} stands where a number is needed",
                loc=expr.loc,
                notes=["accepted: a number, an element of an array, a reduction such as A.sum() or A.any()"],
            )
        return value

    def value(self, expr: Expr) -> Value:
        match expr:
            case syntax.Const():
                return expr
            case syntax.Name() if expr.name in self.numbers:
                return self.numbers[expr.name]
            case syntax.Name():
                known = self.arrays.get(expr.name)
                return expr if known is None else self.known(expr.name, known, expr.loc)
            case syntax.Shape():
                return self._shape(expr)
            case syntax.Subscript():
                return self._subscript(expr)
            case syntax.Part():
                return self._part(expr)
            case syntax.Function():
                return reductions.called(self, expr)
            case syntax.Logical() | syntax.IfExp() | syntax.Unary(op="not"):
                return traversal.with_operands(expr, tuple(map(self.number, traversal.operands(expr))))
        operands = tuple(map(self.value, traversal.operands(expr)))
        if not any(isinstance(operand, Elements) for operand in operands):
            made = traversal.with_operands(expr, operands)
            known = constant(made) if isinstance(made, syntax.Binary) else MISSING
            return syntax.Const(known, loc=expr.loc) if type(known) is int else made
        _check_elementwise(expr)
        if isinstance(expr, syntax.Binary) and expr.op == "**" and isinstance(operands[0], Elements) and _is_two(expr.right):
            expr, operands = syntax.Call("square", (expr.left,), loc=expr.loc), operands[:1]  # as NumPy's arrays do
        return elementwise(operands, lambda *parts: traversal.with_operands(expr, parts), self.need, expr.loc)

    def _shape(self, expr: syntax.Shape) -> Expr:
        known = self.arrays.get(expr.array)
        if known is None:
            return expr  # type inference says what is wrong with it
        shape = self.known(expr.array, known, expr.loc).shape
        return shape[checked_dim(expr, len(shape), expr.array)].expr

    def _subscript(self, expr: syntax.Subscript) -> Value:
        known = self.arrays.get(expr.array)
        indices = tuple(map(self._index, expr.indices))
        if known is None and expr.array not in self._params:
            self.array(expr.array, expr.loc)
        if known is None:
            return dataclasses.replace(expr, indices=indices)  # type inference says that it is a number
        base = self.known(expr.array, known, expr.loc)
        if expr.apart and any(isinstance(i, Elements) for i in indices):
            raise self._part_by_array(expr.loc)
        if len(indices) >= base.rank and base.whole and not any(isinstance(i, Elements) for i in indices):
            return dataclasses.replace(expr, array=base.storage, indices=indices)
        indices = tuple(i if isinstance(i, Elements) else self._fixed(i) for i in indices)
        return self.taken_part(base, indices, expr.loc)

    def _part(self, expr: syntax.Part) -> Value:
        base = self.value(expr.base)
        if not isinstance(base, Elements):
            raise PolymlTypeError("a number has no parts", loc=expr.loc, notes=["accepted: an array"])
        indices = []
        for index in expr.indices:
            if isinstance(index, syntax.Slice):
                bounds = (None if b is None else self.number(b) for b in (index.start, index.stop))
                start, stop = (None if b is None else self._fixed(b) for b in bounds)
                indices.append(dataclasses.replace(index, start=start, stop=stop))
            elif isinstance(index, (syntax.NewAxis, syntax.Dots)):
                indices.append(index)
            else:
                chosen = self._index(index)
                indices.append(chosen if isinstance(chosen, Elements) else self._fixed(chosen))
        return self.taken_part(base, tuple(indices), expr.loc)

    def taken_part(self, base: Elements, indices: tuple, loc: Loc | None) -> Value:
        gathered = indexed_by_arrays(base, indices, loc)
        if gathered and not (base.storage and all(self._is_all_along(base, dim) for dim in gathered)):
            raise self._part_by_array(loc)
        result = subscripted(base, indices, self.need, loc)
        if result.rank:
            return result
        made = result.at(())
        return dataclasses.replace(made, loc=loc) if isinstance(made, syntax.Subscript) else made

    def _part_by_array(self, loc: Loc | None) -> NotAffineError:
        return NotAffineError(
            "a part of an array has a subscript that is an array", code="PML-F021",
            loc=loc,
            notes=["polyml compiles: such subscripts along whole dimensions of arguments that do not change"],
        )

    def _is_all_along(self, base: Elements, dim: int) -> bool:
        """Whether a dimension of a view is one of the array's, all of it and in its order."""
        point = any_point(base.rank)
        place, full = base.at(point), self._storage[base.storage].shape
        return any(i == point[dim] and base.shape[dim].length == own.length for i, own in zip(place.indices, full))

    def _index(self, expr: Expr) -> Value:
        return self.index(self.value(expr), expr.loc)

    def index(self, value: Value, loc: Loc | None) -> Value:
        """What may be a subscript: a number, or an index array."""
        if isinstance(value, Elements) and (value.storage not in self._params or masked_assignment.is_truth(value.sample, self.truths)):
            raise NotAffineError(
                "a subscript that is an array is not affine", code="PML-F021",
                loc=loc,
                notes=["polyml compiles: numbers, slices, and arguments of integers that do not change"],
            )
        return value

    def _fixed(self, expr: Expr) -> Expr:
        """A bound as it is now: a number that may change later gets a name of its own."""
        return expr if all(map(self._stays, traversal.nodes(expr))) else self.held(expr, expr.loc)

    def _stays(self, node: Expr) -> bool:
        if isinstance(node, syntax.Name):
            return node.name in self._loop_variables or node.name in self._bound_once
        return isinstance(node, (syntax.Const, syntax.Shape, syntax.Binary, syntax.Unary))

    def known(self, name: str, known: Elements | Uncertain, loc: Loc | None) -> Elements:
        if isinstance(known, Uncertain):
            kind = SizesNeeded if known.by_number else NotAffineError
            raise kind(known.why, loc=loc, notes=["polyml compiles: a name for each array"])
        return known

    def array(self, name: str, loc: Loc | None) -> Elements:
        known = self.arrays.get(name)
        if known is None:
            raise PolymlTypeError(f"`{name}` is a number, not an array", loc=loc, notes=["accepted: a NumPy array"])
        return self.known(name, known, loc)

    # What the functions of arrays use too

    def need(self, condition: Expr, what: str, loc: Loc | None) -> None:
        """Compile for calls in which the condition holds; it is tested once, at entry."""
        changes = any(isinstance(node, syntax.Name) for node in traversal.nodes(condition))
        if changes or condition not in self._needed:
            self._needed.add(condition)
            self.out.append(syntax.Require(condition, what, loc=loc))

    def memory(self, value: Elements, stem: str, loc: Loc | None) -> Elements:
        """The array in memory of its own."""
        name = self._fresh_array(stem, value.shape, syntax.TypeOf(value.sample), None, loc)

        def body(point: Point) -> list[Stmt]:
            place = syntax.Subscript(name, point, inside=True)
            return [syntax.Assign(place, value.at(point), whole=True, loc=loc)]

        self.loops(value.shape, body, loc)
        return self._storage[name]

    def in_memory(self, value: Elements, loc: Loc | None) -> Elements:
        """The array where its elements can be read many times: as it is if they are stored."""
        return value if value.storage is not None else self.memory(value, "_value", loc)

    def held(self, value: Value, loc: Loc | None) -> Value:
        """The value as it is now."""
        if isinstance(value, Elements):
            return self.memory(value, "_value", loc)
        name = syntax.Name(self.fresh("_held"), loc=loc)
        self.out.append(syntax.Assign(name, value, loc=loc))
        return name

    def is_integer(self, number: Expr) -> bool:
        """Whether the number is certainly one of Python's ints."""
        if isinstance(number, Elements):
            return False
        for node in traversal.nodes(number):
            if isinstance(node, syntax.Name):
                if node.name not in self._loop_variables and node.name not in self._ints:
                    return False
            elif not _is_size(node):
                return False
        return True

    def or_zero(self, condition: Expr, value: Expr, loc: Loc | None) -> Expr:
        """The value where the condition holds, else zero of its type."""
        if masked_assignment.is_truth(value, self.truths):
            return syntax.Binary("&", value, condition, loc=loc)
        return syntax.Call("where", (condition, value, syntax.Const(0)), loc=loc)

    def together(self, samples: Sequence[Expr], loc: Loc | None) -> Expr:
        """A number of the type that holds all of them."""
        total, *rest = samples
        for sample in rest:
            always = syntax.Compare("==", syntax.Const(0), syntax.Const(0))
            total = syntax.Call("where", (always, total, sample), loc=loc)
        return total

    def view_or_copy(self, base: Elements, made: Elements) -> Elements:
        """What NumPy makes a view if the strides allow it. Of an argument or a part that is not known: neither may change."""
        if base.storage is None:
            return made
        if not base.whole or base.storage in self._params:
            self._perhaps_viewed.add(base.storage)
        return dataclasses.replace(made, storage=base.storage)

    def allocated(
        self, stem: str, shape: tuple[Extent, ...], element: syntax.TypeOf | DType, fill: Expr | None, loc: Loc | None
    ) -> Elements:
        """A new array."""
        return self._storage[self._fresh_array(stem, shape, element, fill, loc)]

    def loops(self, shape: tuple[Extent, ...], body, loc: Loc | None) -> None:
        """for every point of the shape: body(point), a list of statements."""
        point, counters = [], []
        for extent in shape:
            index = Linear((), 0)
            for length in extent.parts or (extent,):
                part = Extent.constant(length) if isinstance(length, int) else length
                index = index * (part.known if extent.parts else 1)
                if part.is_one:
                    continue
                name = syntax.Name(self.fresh("_i"))
                if part.known is not None:
                    self.lengths[name] = part.known
                counters.append((name, part))
                index += Linear.of(name)
            point.append(index.expr)
        made: tuple[Stmt, ...] = tuple(body(tuple(point)))
        for name, part in reversed(counters):
            made = (syntax.For(name.name, syntax.Const(0), part.length.expr, 1, made, loc=loc),)
        self.out.extend(made)

    def fresh(self, stem: str) -> str:
        self._counter += 1
        while f"{stem}{self._counter}" in self.taken:
            self._counter += 1
        self.taken.add(f"{stem}{self._counter}")
        return f"{stem}{self._counter}"

    def _room(self, extent: Extent) -> Extent:
        """The size to allocate: memory does not change with the loops around, so that a slice gets that of its array."""
        while extent.most is not None and self._loop_variables and any(
            isinstance(node, syntax.Name) and node.name not in self._params
            for atom, _ in extent.length.terms
            for node in traversal.nodes(atom)
        ):
            extent = extent.most
        return extent

    def _fresh_array(self, stem: str, shape: tuple[Extent, ...], element: syntax.TypeOf | DType, fill: Expr | None, loc) -> str:
        name = unused(stem, self.taken)
        sizes = tuple(self._room(extent).expr for extent in shape)
        self.out.append(syntax.Alloc(name, sizes, element, fill, loc=loc))
        self._storage[name] = stored(name, shape)
        if isinstance(element, syntax.TypeOf) and not element.function and masked_assignment.is_truth(element.of, self.truths):
            self.truths.add(name)
        return name


def _is_gathered(place: Expr) -> bool:
    """Whether an element is at indices that are elements."""
    indices = place.indices if isinstance(place, syntax.Subscript) else ()
    return any(isinstance(node, syntax.Subscript) for index in indices for node in traversal.nodes(index))


def _check_elementwise(expr: Expr) -> None:
    """Python's own functions of numbers do not take arrays."""
    name = None
    if isinstance(expr, syntax.Binary) and expr.op in ("min", "max"):
        name = f"{expr.op}, which compares two numbers"
    elif isinstance(expr, syntax.Call) and expr.module == "math":
        name = f"math.{expr.function}"
    elif isinstance(expr, syntax.Cast) and expr.to.weak:
        name = f"{expr.to}(...)"
    if name is not None:
        raise PolymlTypeError(
            f"an array cannot be given to {name}", loc=expr.loc, notes=["accepted: NumPy's elementwise functions"]
        )


def _is_two(expr: Expr) -> bool:
    return isinstance(expr, syntax.Const) and type(expr.value) is int and expr.value == 2


def _is_size(node: Expr) -> bool:
    """Whether the node is part of an integer that is made of sizes and constants."""
    if isinstance(node, syntax.Const):
        return type(node.value) is int
    return isinstance(node, syntax.Shape) or isinstance(node, syntax.Binary) and node.op in ("+", "-", "*", "//", "%")


def _bound_once(kernel: syntax.Kernel) -> set[str]:
    """The names with one value in all of the kernel: parameters, and locals assigned outside loops."""
    bound = [param.name for param in kernel.params]
    top = {s.target.name for s in kernel.body if isinstance(s, syntax.Assign) and isinstance(s.target, syntax.Name)}
    for stmt in statements(kernel.body):
        match stmt:
            case syntax.For(var=name) | syntax.Alloc(name=name) | syntax.Assign(target=syntax.Name(name=name)):
                bound.append(name)
    return {name for name in bound if bound.count(name) == 1 and (name in top or name in bound[: len(kernel.params)])}
