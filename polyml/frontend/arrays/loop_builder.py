"""The builder of loops over the elements of arrays: what the functions of arrays need from the lowering."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TypeVar

from polyml.dtypes import BOOL, PYINT, DType
from polyml.errors import NotAffineError, PolymlTypeError, SizesNeeded
from polyml.frontend import syntax, traversal
from polyml.frontend.arrays.bindings import Uncertain, arrays_in, bound, bound_once, holds_truths, is_size, unchanged
from polyml.frontend.arrays.half_precision import may_have_halves
from polyml.frontend.arrays.selecting import rooms
from polyml.frontend.arrays.shapes import Extent, Linear
from polyml.frontend.arrays.tested_indices import Requirements
from polyml.frontend.arrays.views import (
    Elements,
    Point,
    any_point,
    given_dimensions,
    indexed_by_arrays,
    is_truth,
    stored,
    subscripted,
)
from polyml.frontend.name_resolution import reads_of, unused
from polyml.frontend.syntax import ArgType, ArrayType, Expr, ScalarType, Stmt
from polyml.source import Loc

Value = Expr | Elements
Lowered = TypeVar("Lowered")


class LoopBuilder(ABC):
    """A LoopBuilder knows the arrays of one kernel while it is lowered, and collects the statements made so far.

    arrays: name -> the array that it stands for, or an Uncertain where that may be one of several
    numbers: name -> its value, for names that never change and whose value is a constant or computed from sizes of arrays
    kept: names that an enclosing loop binds to a new array in each iteration, which is stored in the memory of the old one
    truths: the names of the arrays of bool
    lists: the names of the local arrays that hold the elements of lists
    complex: for each array among the arguments whether its elements are complex
    halves: whether the kernel may compute in float16 or bfloat16
    lengths: loop variable -> the number that it stays below
    taken: the names that are in use
    out: the statements of the block that is lowered now
    require: gets the conditions under which what is lowered is right
    ways: by label of a Block around, what names stand for where control leaves it
    ended: whether control never comes to where the block that is lowered now goes on
    """

    def __init__(
        self, kernel: syntax.Kernel, types: Sequence[ArgType], aliased: bool, tested: frozenset[Loc] | None, late: bool = False
    ):
        self._params = {p.name for p in kernel.params}
        self._aliased = self._params if aliased else set()
        self._storage: dict[str, Elements] = {}  # every array in memory
        self.arrays: dict[str, Elements | Uncertain] = {}  # what the names stand for
        self.taken = {*self._params, *bound(kernel.body)}
        self._known_sizes: list[syntax.Require] = []
        self.numbers: dict[str, Expr] = {}  # names that always have one value: a constant, or made of sizes
        self._bound_once = bound_once(kernel)
        self._ints = {p.name for p, t in zip(kernel.params, types) if t == ScalarType(PYINT) and p.name in self._bound_once}
        types_of = zip(kernel.params, types)
        self.halves = may_have_halves(kernel, types)
        self.complex = {p.name: t.element.is_complex for p, t in zip(kernel.params, types) if isinstance(t, ArrayType)}
        self.truths = {p.name for p, t in types_of if isinstance(t, ArrayType) and t.element == BOOL}  # arrays of bool
        self.kept: set[str] = set()  # names that loops around bind to new arrays, which are stored where the old ones were
        self.lists: set[str] = set()
        self._reads = reads_of(kernel.body)
        self._unchanged = unchanged(kernel, bool(self._aliased))
        self._possibly_viewed: set[str] = set()  # arrays of which there is something that may be a view or a copy
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
        self._required: set[Expr] = set()  # conditions that are required already
        self._loop_variables: list[str] = []  # those of the loops around, outermost first
        self._counter = 0
        self.found_places: tuple[Elements, list[Elements]] | None = None  # an array, and the parts of its np.nonzero
        self.selections: dict[tuple, Extent] = {}  # what selects elements -> how many there are, until an array changes
        self._positions: set[Expr] = set()  # names of indices that are tested already
        self.counts: dict[
            str, Linear | None
        ] = {}  # numbers that sizes of arrays are, and that data decide -> what they never exceed
        self.late_arrays: set[str] = set()  # of which not even that is known at entry
        self.late = late
        self.growing: set[str] = set()  # lists that grow, and the numbers of their elements
        self.in_test = False  # whether the condition of a While is lowered, which is tested again and again
        self._whiles = 0  # how many loops that data end are around
        self.ways: dict[str, list[dict[str, Elements | Uncertain]]] = {}
        self.ended = False
        self.require = Requirements(self._require, self.held_number, self._never_changes, self.joined, tested)

    @property
    def in_loop(self) -> bool:
        """Returns whether the statement that is lowered stands in a loop."""
        return bool(self._loop_variables) or self._whiles > 0

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

    def adopt(self, body: Sequence[Stmt]) -> None:
        """Takes in statements that are not those of the kernel's text, before they are lowered."""
        self.taken |= set(bound(body))
        self._reads += reads_of(body)

    def attempted(self, lower: Callable[[], Lowered]) -> Lowered | None:
        """Returns what `lower()` returns; where it raises NotAffineError, undoes what it did to this builder and returns None."""
        arrays, kept, needed, length = dict(self.arrays), set(self.kept), set(self._required), len(self.out)
        ways = {label: len(found) for label, found in self.ways.items()}
        try:
            with self.require.block():
                return lower()
        except NotAffineError:
            self.arrays, self._required, self.ended, self.selections = arrays, needed, False, {}
            self.ways = {label: self.ways[label][:count] for label, count in ways.items()}
            del self.out[length:]
            return None
        finally:
            self.kept = kept

    def is_own(self, array: Elements) -> bool:
        """Returns whether `array` is all of an array that the kernel allocates.

        It is False too where a reshape or a conjugate of that array may be a view or a copy.
        """
        return array.whole and array.storage not in self._params | self._possibly_viewed

    def is_read(self, name: str, known: Elements | Uncertain) -> bool:
        """Returns whether the kernel uses a name of an array. known: what it stands for

        The statement `T = T.new`, by which T becomes a name of the array that was allocated as T.new, does not count as a use of
        T.new.
        """
        return self._reads[name] > (1 if isinstance(known, Elements) and known.storage == name else 0)

    def may_be_one(self, array: str, other: str) -> bool:
        """Returns whether two arrays in memory, given by name, are the same array or arguments that may share memory."""
        return array == other or {array, other} <= self._aliased

    def check_changes(self, array: str, loc: Loc | None) -> None:
        """Raises NotAffineError if a change of the array might or might not be seen in another array.

        That is so where one of the two is a reshape or a conjugate of the other, and it is not known whether NumPy makes a view or
        a copy.

        array: the name of the array in memory
        """
        changed = {key for key in self.selections if any(self.may_be_one(a, array) for a in arrays_in(key[0]))}
        self.selections = {key: extent for key, extent in self.selections.items() if key not in changed}
        if array in self._possibly_viewed:
            raise NotAffineError(
                "an array is changed of which a reshape or a conjugate may be a view or a copy",
                loc=loc,
                notes=["polyml compiles: those of arrays that do not change, and `A.reshape(...).copy()`"],
            )

    def taken_part(self, base: Elements, indices: tuple, loc: Loc | None) -> Value:
        """Returns base[indices], which is an element or an array.

        What is chosen by arrays is copied at once, except where neither they nor `base` ever change.
        """
        result = self.chosen_part(base, indices, loc)
        by_arrays = [index.storage for index in indices if isinstance(index, Elements)]
        if by_arrays and not {base.storage, *by_arrays} <= self._unchanged:
            result = self.memory(result, "_chosen", loc)
        if result.rank:
            return result
        made = result.at(())
        return dataclasses.replace(made, loc=loc) if isinstance(made, syntax.Subscript) else made

    def chosen_part(self, base: Elements, indices: tuple, loc: Loc | None) -> Elements:
        """Returns base[indices] as an array, without copying what arrays among the indices choose.

        Indices that are elements of arrays count from the start or the end of a whole dimension in memory, in which they are tested
        where they are used; where they are those of another view, it is copied before.
        """
        if not self.counts_from_start(base, indices, loc):
            base = self.memory(base, "_value", loc)
        part = subscripted(base, self.tested(base, indices, loc), self.require, loc)
        return rooms.inside(part) if base.storage in self.late_arrays else part

    def tested(self, base: Elements, indices: Sequence, loc: Loc | None) -> tuple:
        """Returns the indices of base[indices] with a test of those along dimensions whose sizes data decide."""
        if not self.is_tested(base):
            return tuple(indices)
        dims = given_dimensions(base, indices, loc)
        return tuple(i if dim is None else self._tested_index(i, base, dim, loc) for i, dim in zip(indices, dims))

    def is_tested(self, base: Elements) -> bool:
        """Returns whether indices of an array are tested before they are used, since data decide a size of it."""
        return base.storage in self.late_arrays or any(map(self.is_counted, base.shape))

    def is_fixed(self, name: str) -> bool:
        """Returns whether a number keeps its value within an iteration of the loops around."""
        return name in self._loop_variables or name in self._bound_once or name in self.counts and name not in self.growing

    def grows(self, name: str, count: str, elements: Elements) -> None:
        """Notes that a name stands for a list that grows. count: the name of the number of its elements"""
        self.arrays[name] = self._storage[name] = elements
        self.counts[count] = None
        self.lists.add(name)
        self.late_arrays.add(name)
        self.growing |= {name, count}

    def settled(self, array: Elements) -> Elements:
        """Returns an array as it is now: of a list that grows, the elements that it has here."""
        if array.storage not in self.growing:
            return array
        length = self.held_number(array.shape[0].expr, None)
        self.counts[length.name] = None
        return dataclasses.replace(array, shape=(Extent(Linear.of(length)),))

    def is_counted(self, extent: Extent) -> bool:
        """Returns whether data decide the size of a dimension."""
        parts = (node for atom, _ in extent.length.terms for node in traversal.nodes(atom))
        return rooms.is_counted(extent.length, self.counts) or any(map(self.require.is_held, parts))

    def position(self, index: Expr, base: Elements, dim: int, loc: Loc | None) -> Expr:
        """Returns an index of a dimension counted from 0, with a test where data decide how many elements that has.

        dim: the number of the dimension
        """
        if base.storage not in self.late_arrays and not self.is_counted(base.shape[dim]):
            return index
        module = "list" if base.storage in self.lists else "numpy"
        return syntax.Call("position", (index, base.shape[dim].expr, syntax.Const(dim)), module, loc=loc)

    def _tested_index(self, index: Value | syntax.Slice, base: Elements, dim: int, loc: Loc | None) -> Value | syntax.Slice:
        if isinstance(index, syntax.Slice) or base.storage not in self.late_arrays and not self.is_counted(base.shape[dim]):
            return index
        if isinstance(index, Elements):
            return Elements(index.shape, lambda point: self.position(index.at(point), base, dim, loc))
        held = self.held_number(self.position(index, base, dim, loc), loc)
        self._positions.add(held)
        return held

    def counts_from_start(self, base: Elements, indices: tuple, loc: Loc | None) -> bool:
        """Returns whether arrays among the indices of base[indices] count along whole dimensions of an array in memory."""
        gathered = indexed_by_arrays(base, indices, loc)
        return not gathered or base.storage is not None and all(self._is_all_along(base, dim) for dim in gathered)

    def _is_all_along(self, base: Elements, dim: int) -> bool:
        """Returns whether dimension `dim` of the view `base` is a whole dimension of the array in memory, and not reversed."""
        point = any_point(base.rank)
        lvalue, full = base.lvalue(point), self._storage[base.memory].shape
        return any(i == point[dim] and base.shape[dim].length == own.length for i, own in zip(lvalue.indices, full))

    def index(self, value: Value, loc: Loc | None) -> Value:
        """Returns the value if it may be a subscript: a number, or an array of integers.

        Raises NotAffineError for an array of bool, which selects.
        """
        if isinstance(value, Elements) and is_truth(value.sample, self.truths):
            raise NotAffineError(
                "a mask that selects gives an array whose size data decide",
                code="PML-F021",
                loc=loc,
                notes=["polyml compiles: numbers, slices and arrays of integers, and `A[mask] = x`"],
            )
        return value

    def known(self, name: str, known: Elements | Uncertain, loc: Loc | None) -> Elements:
        """Returns `known`, what a name stands for, if that is an array.

        Where it is an Uncertain, SizesNeeded is raised if the values of the call's numbers would tell which array the name means,
        and NotAffineError if they would not.
        """
        if isinstance(known, Uncertain):
            kind = SizesNeeded if known.by_number else NotAffineError
            raise kind(known.why, loc=loc, notes=["polyml compiles: a name for each array"], code="PML-F023")
        return known

    def array(self, name: str, loc: Loc | None) -> Elements:
        """Returns the array that a name stands for.

        Raises PolymlTypeError for the name of a number, and NotAffineError where it may be one of several arrays.
        """
        known = self.arrays.get(name)
        if known is None:
            raise PolymlTypeError(f"`{name}` is a number, not an array", loc=loc, notes=["accepted: a NumPy array"])
        return self.known(name, known, loc)

    def _never_changes(self, node: Expr) -> bool:
        """Returns whether a part of a number has one value while the loops around are in the same iteration."""
        if isinstance(node, syntax.Subscript):
            return node.array in self._unchanged
        if isinstance(node, syntax.Name):
            return node.name in self._loop_variables or node.name in self._bound_once
        return isinstance(
            node, (syntax.Const, syntax.Shape, syntax.Binary, syntax.Unary, syntax.Call, syntax.IfExp, syntax.Compare)
        )

    def _require(self, condition: Expr, what: str, loc: Loc | None) -> None:
        """Adds a Require, so that only calls in which the condition holds run the compiled code; it is tested once, at entry.

        what: a description of the calls in which it does not hold, for messages
        """
        if isinstance(condition, syntax.Compare) and condition.left in self._positions:
            return
        changes = any(isinstance(node, syntax.Name) for node in traversal.nodes(condition))
        if changes or condition not in self._required:
            self._required.add(condition)
            self.out.append(syntax.Require(condition, what, loc=loc))

    def memory(self, value: Elements, stem: str, loc: Loc | None) -> Elements:
        """Adds loops that store the elements in a new array, and returns that array.

        stem: the new array's name, or the beginning of it
        """
        name = self._fresh_array(stem, value.shape, syntax.TypeOf(value.sample), None, loc)

        def body(point: Point) -> list[Stmt]:
            return [syntax.Assign(self._storage[name].lvalue(point), value.at(point), whole=True, loc=loc)]

        self.loops(value.shape, body, loc)
        return self._storage[name]

    def in_memory(self, value: Elements, loc: Loc | None) -> Elements:
        """Returns the array itself if it is in memory, else a copy in memory, so that its elements can be read many times."""
        return value if value.storage is not None else self.memory(value, "_value", loc)

    def held(self, value: Value, loc: Loc | None) -> Value:
        """Returns a new array or name that the value is copied to, so that it stays when what the value reads changes."""
        if isinstance(value, Elements):
            return self.memory(value, "_value", loc)
        return self.held_number(value, loc)

    def held_number(self, value: Expr, loc: Loc | None) -> syntax.Name:
        """Returns a new name that the number is assigned to, so that it stays when what the number reads changes."""
        name = syntax.Name(self.fresh("_held"), loc=loc)
        self.out.append(syntax.Assign(name, value, loc=loc))
        return name

    def is_integer(self, number: Expr) -> bool:
        """Returns whether a number is certainly one of Python's ints; False for an array."""
        if isinstance(number, Elements):
            return False
        for node in traversal.nodes(number):
            if isinstance(node, syntax.Name):
                if node.name not in self._loop_variables and node.name not in self._ints:
                    return False
            elif not is_size(node):
                return False
        return True

    def step(self, value: Expr, loc: Loc | None) -> Expr:
        """Returns a name for the step of a slice, with a test that it is not zero. Raises NotAffineError where nothing may be tested."""
        if self.require.places is None:
            raise NotAffineError(
                "a slice whose step is computed", loc=loc, notes=["polyml compiles: a constant step"], code="PML-F021"
            )
        name = self.require.held(syntax.Call("position", (value,), loc=loc), loc)
        wrong = syntax.Raise("ValueError", ("slice step cannot be zero",), loc=loc)
        self.out.append(syntax.If(syntax.Compare("==", name, syntax.Const(0)), (wrong,), loc=loc))
        return name

    def or_zero(self, condition: Expr, value: Expr, loc: Loc | None) -> Expr:
        """Returns an expression for the value where the condition holds, and for zero of the value's type elsewhere."""
        if is_truth(value, self.truths):
            return syntax.Binary("&", value, condition, loc=loc)
        return syntax.Call("where", (condition, value, syntax.Const(0)), loc=loc)

    def promoted(self, samples: Sequence[Expr], loc: Loc | None) -> Expr:
        """Returns an expression of the type to which NumPy promotes the types of the samples; its value has no meaning."""
        total, *rest = samples
        for sample in rest:
            always = syntax.Compare("==", syntax.Const(0), syntax.Const(0))
            total = syntax.Call("where", (always, total, sample), loc=loc)
        return total

    def view_or_copy(self, base: Elements, made: Elements) -> Elements:
        """Returns `made`, which NumPy makes a view of `base` if the strides of `base` allow it, and a copy if they do not.

        Where `base` is an argument or a part of an array, its strides are not known, and so not whether `made` is a view or a copy:
        from then on `check_changes` refuses statements that change either of them.
        """
        if base.storage is None:
            return made
        if not base.whole or base.storage in self._params:
            self._possibly_viewed.add(base.storage)
        return dataclasses.replace(made, storage=base.storage)

    def allocated(
        self, stem: str, shape: tuple[Extent, ...], element: syntax.TypeOf | DType, fill: Expr | None, loc: Loc | None
    ) -> Elements:
        """Adds the allocation of a new array, and returns that array.

        stem: its name, or the beginning of it
        fill: the number that all elements get; None: they get none
        """
        if fill is None or all(self._allocated_extent(extent) is extent and not self.is_counted(extent) for extent in shape):
            return self._storage[self._fresh_array(stem, shape, element, fill, loc)]
        made = self._storage[self._fresh_array(stem, shape, element, None, loc)]  # only a part of it is in use
        self.loops(shape, lambda point: [syntax.Assign(made.lvalue(point), fill, whole=True, loc=loc)], loc)
        return made

    def loops(self, shape: tuple[Extent, ...], body, loc: Loc | None) -> None:
        """Adds loops over all points of the shape to the statements.

        body: a function that returns the statements at a point
        """
        point, counters = [], []
        for extent in shape:
            index = Linear((), 0)
            for length in extent.parts or (extent,):
                part = Extent.constant(length) if isinstance(length, int) else length
                index = index * (part.number if extent.parts else 1)
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
        """Returns a name that is not in use, made of the stem and a number, and marks it as used."""
        self._counter += 1
        while f"{stem}{self._counter}" in self.taken:
            self._counter += 1
        self.taken.add(f"{stem}{self._counter}")
        return f"{stem}{self._counter}"

    def _allocated_extent(self, extent: Extent) -> Extent:
        """Returns the size to allocate for a dimension of a new array.

        An array is allocated once for all iterations of the loops around, so where the dimension is a slice whose size changes with
        a loop, that is the size of the dimension that the slice was taken of.
        """
        while extent.sliced_from is not None and any(
            isinstance(node, syntax.Name)
            and (bool(self._loop_variables) and node.name not in self._params or self.require.is_held(node))
            for atom, _ in extent.length.terms
            for node in traversal.nodes(atom)
        ):
            extent = extent.sliced_from
        return rooms.room(extent, self.counts) or extent

    def new_extent(self, size: Expr) -> Extent:
        """Returns the extent of a dimension of a new array, which is as large as a number says; of one that data decide, a count."""
        length = Linear.of(size)
        if not self.late or rooms.is_counted(length, self.counts) or all(map(self._is_at_entry, traversal.nodes(size))):
            return Extent(length, True)
        count = syntax.Name(self.fresh("_count"), loc=size.loc)
        self.out.append(syntax.Assign(count, syntax.Call("index", (size,), loc=size.loc), loc=size.loc))
        negative = syntax.Compare("<", count, syntax.Const(0))
        self.out.append(syntax.If(negative, (syntax.Raise("ValueError", ("negative dimensions are not allowed",), loc=size.loc),)))
        self.counts[count.name] = None
        return Extent(Linear.of(count), True)

    def _is_at_entry(self, node: Expr) -> bool:
        """Returns whether a part of a number is known when a call begins: all but names that the kernel binds, and elements."""
        if isinstance(node, syntax.Name):
            return node.name in self._params and node.name in self._bound_once
        return is_size(node) or isinstance(node, syntax.Unary) or isinstance(node, syntax.Binary) and node.op in ("min", "max")

    def _fresh_array(self, stem: str, shape: tuple[Extent, ...], element: syntax.TypeOf | DType, fill: Expr | None, loc) -> str:
        return self._new_array(unused(stem, self.taken), shape, element, fill, loc)

    def _new_array(self, name: str, shape: tuple[Extent, ...], element: syntax.TypeOf | DType, fill: Expr | None, loc) -> str:
        if any(rooms.room(extent, self.counts) is None for extent in shape):
            self.late_arrays.add(name)
            self._storage[name] = rooms.in_rows(name, shape)
            total = rooms.product(extent.expr for extent in shape)
            self.out.append(syntax.Alloc(name, (total,), element, None, late=True, loc=loc))
        else:
            sizes = tuple(self._allocated_extent(extent).expr for extent in shape)
            self.out.append(syntax.Alloc(name, sizes, element, fill, loc=loc))
            self._storage[name] = stored(name, shape)
        if holds_truths(element, self.truths):
            self.truths.add(name)
        return name

    @abstractmethod
    def joined(self, sizes: Sequence[Extent], loc: Loc | None) -> Extent | None:
        """Returns the size of operands that have several sizes, with tests that they fit; None where what is known at entry decides."""

    @abstractmethod
    def block(self, body: Sequence[Stmt]) -> tuple[Stmt, ...]:
        """Returns the statements of a block lowered."""

    @abstractmethod
    def value(self, expr: Expr) -> Value:
        """Returns the lowered value of an expression: an expression without arrays for a number, Elements for an array."""

    @abstractmethod
    def iteration(self, stmt: syntax.For) -> tuple[Stmt, ...]:
        """Returns the lowered statements of the loop's body, without the loop."""
