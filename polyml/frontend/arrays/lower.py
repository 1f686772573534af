"""Lowering: array expressions become loops over elements, once the ranks of the arguments are known.

        B[1:-1] = (A[:-2] + A[2:]) / 2     ->     for _i1 in range(N - 2):
                                                      B[_i1 + 1] = (A[_i1] + A[_i1 + 2]) / 2

An expression is a function from a point to the element there (`views`), so that whatever NumPy would compute step by
step in arrays of its own is one expression per element. Memory is used only for what has a name or is read many times:
an array that is assigned to a name, operands and results of reductions and products.
(Scalarization of array assignments: Allen and Kennedy, "Optimizing Compilers for Modern Architectures", ch. 13.)

* NumPy computes the right side before it stores anything. Where the right side reads the array that it is stored into
  elsewhere than at the element itself, or, with aliased arguments, may read it through another one, it goes through a temporary.
* `x = A[1:]` is a view, `x = A[1:] + 1` a new array, `x += 1` changes the array that x is.
* What holds in the usual call and would cost code otherwise (sizes that broadcast are equal, slices of a constant
  length fit) is a Require: calls for which it does not hold run as plain Python, which decides what happens.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence

from polyml.errors import LanguageError, NotAffineError, PolymlTypeError
from polyml.frontend import syntax, traversal
from polyml.frontend.arrays import bindings, buffer_swaps, indexed_assignment, masked_assignment, rebinding, tested_indices
from polyml.frontend.arrays.bindings import Uncertain, is_size
from polyml.frontend.arrays.functions import function_table
from polyml.frontend.arrays.functions.elementwise import as_power
from polyml.frontend.arrays.loop_builder import LoopBuilder, Value
from polyml.frontend.arrays.selecting import fitting, places
from polyml.frontend.arrays.sequences import growing_lists, returned_views
from polyml.frontend.arrays.shapes import Extent, checked_dim, dimensions
from polyml.frontend.arrays.temporaries import copied_reads, overwritten_reads
from polyml.frontend.arrays.tested_indices import is_position, may_fail
from polyml.frontend.arrays.views import (
    Elements,
    Point,
    element,
    elementwise,
    inside,
    stored,
    without_leading,
)
from polyml.frontend.captures import MISSING
from polyml.frontend.constant_folding import constant
from polyml.frontend.name_resolution import bound_names, not_static
from polyml.frontend.syntax import ArgType, Expr, Stmt
from polyml.reading import result_forms
from polyml.source import Loc


def lowered(
    kernel: syntax.Kernel,
    types: Sequence[ArgType],
    *,
    aliased: bool = False,
    tested: frozenset[Loc] | None = None,
    late: bool = False,
) -> syntax.Kernel:
    """Returns the kernel with loops over elements in the place of array expressions; the kernel itself where it has none.

    types: one per parameter
    aliased: whether arguments may share memory
    tested: where indices and slices are tested as the program runs, since data decide them; None where there are no regions
    late: whether data may decide sizes of arrays that have no bound at entry
    Raises LanguageError, PolymlTypeError or, where plain Python can run it, NotAffineError.
    """
    lowering = Lowering(kernel, types, aliased, tested, late)
    body = lowering.body(kernel.body)
    return kernel if body == kernel.body else dataclasses.replace(kernel, body=body)


@dataclasses.dataclass(frozen=True)
class _Place:
    """A _Place is base[indices], a part of an array, with its indices lowered."""

    base: Elements
    indices: tuple


class Lowering(LoopBuilder):
    """A Lowering turns the statements of one kernel into statements without array expressions.

    Functions of arrays, as in `functions.array_reductions`, use the public methods of `LoopBuilder`.
    """

    def body(self, body: Sequence[Stmt]) -> tuple[Stmt, ...]:
        """Returns the kernel's statements lowered, behind a Require for each array size and argument whose value they rely on."""
        return (*self._known_sizes, *self.block(body))

    # Statements

    def block(self, body: Sequence[Stmt]) -> tuple[Stmt, ...]:
        """Returns the statements of a block lowered."""
        outer, needed, selections = self.out, set(self._required), self.selections
        self.selections = dict(selections)
        made: list[Stmt] = []
        self.out = made
        variable = self._loop_variables[-1] if self._loop_variables else ""
        try:
            with self.require.block(variable):
                for stmt in body:
                    self._stmt(stmt)
                    if made and _always_ends(made[-1]):
                        break
        finally:
            kept = {key: extent for key, extent in selections.items() if self.selections.get(key) is extent}
            self.out, self._required, self.selections = (
                outer,
                needed,
                kept,
            )  # the block may not run, so its conditions are not required behind it
        return tuple(made)

    def _stmt(self, stmt: Stmt) -> None:
        match stmt:
            case syntax.For():
                self._for(stmt)
            case syntax.If():
                self._if(stmt)
            case syntax.While():
                self._while(stmt)
            case syntax.Block():
                self._labelled(stmt)
            case syntax.Assign(target=syntax.Name() as name):
                self._assign_name(stmt, name)
            case syntax.Assign() if growing_lists.is_append(stmt):
                growing_lists.appended(self, stmt)
            case syntax.Assign():
                self._assign_part(stmt)
            case syntax.Alloc(late=True):
                growing_lists.begun(self, stmt)
            case syntax.Alloc():
                self._alloc(stmt)
            case syntax.Return():
                self._return(stmt)
            case syntax.Require():
                self.out.append(tested_indices.possible(dataclasses.replace(stmt, condition=self.number(stmt.condition))))
            case syntax.Leave() | syntax.Raise():
                if isinstance(stmt, syntax.Leave):
                    self.ways.setdefault(stmt.label, []).append(dict(self.arrays))
                self.ended = True
                self.out.append(stmt)
            case _:
                self.out.append(stmt)

    def _for(self, stmt: syntax.For) -> None:
        start, stop = self.number(stmt.start), self.number(stmt.stop)
        cycle = buffer_swaps.swap_cycle(self, stmt)
        if cycle is not None:
            buffer_swaps.unroll_cycle(self, stmt, start, stop, cycle)
            return
        kept = rebinding.iteration(self, stmt, start, stop)
        if kept is None:
            before = dict(self.arrays)
            self._forget_rebound(stmt.body, "in each iteration of a loop")
        body, before = (self.iteration(stmt), before) if kept is None else kept
        self.out.append(dataclasses.replace(stmt, start=start, stop=stop, body=body))
        self._merge(before, "in a loop")
        self.ended = False

    def _while(self, stmt: syntax.While) -> None:
        before = dict(self.arrays)
        self._forget_rebound(stmt.body, "in each iteration of a loop")
        self._whiles += 1
        self.selections = {}
        try:
            made = dataclasses.replace(stmt, condition=self._tested(stmt.condition), body=self.block(stmt.body))
        except NotAffineError as problem:
            raise _inside(stmt, problem) from None
        finally:
            self._whiles -= 1
        self.out.append(made)
        self._merge(before, "in a loop")
        self.ended = made.condition == syntax.Const(True)

    def _tested(self, condition: Expr) -> Expr:
        """Returns the condition of a While lowered. Raises NotAffineError where that needs statements before it: the condition is
        tested before each iteration.
        """
        count, self.in_test = len(self.out), True
        try:
            made = self.number(condition)
        finally:
            self.in_test = False
        if len(self.out) > count:
            why = "the condition of a while loop is made of arrays"
            raise NotAffineError(
                why, loc=condition.loc, notes=["compute it in a number, before the loop and in it"], code="PML-F001"
            )
        return made

    def _labelled(self, stmt: syntax.Block) -> None:
        self.ways[stmt.label] = []
        try:
            made = dataclasses.replace(stmt, body=self.block(stmt.body))
        except NotAffineError as problem:
            raise _inside(stmt, problem) from None
        paths = self.ways.pop(stmt.label) + ([] if self.ended else [self.arrays])
        self._join(paths, made, "on one of several ways through the function")

    def _join(self, paths: Sequence[dict[str, Elements | Uncertain]], made: Stmt, where: str) -> None:
        """Adds a statement that several paths go through, and joins what the names stand for at their ends."""
        self.ended = not paths
        if paths:
            self.arrays = dict(paths[0])
            made = rebinding.join(self, paths, made, where)
        self.out.append(made)

    def _forget_rebound(self, body: Sequence[Stmt], when: str) -> None:
        """Marks the arrays' names that a block binds as uncertain. when: how a message says when they are bound."""
        for name in bound_names(body) - self.kept:
            if name in self.arrays:
                self.arrays[name] = Uncertain(f"`{name}` is bound to another array {when}")

    def iteration(self, stmt: syntax.For) -> tuple[Stmt, ...]:
        self._loop_variables.append(stmt.var)
        self.selections = {}  # arrays may change in the iteration before
        try:
            return self.block(stmt.body)
        finally:
            self._loop_variables.pop()

    def _if(self, stmt: syntax.If) -> None:
        condition = self.number(stmt.condition)
        known = constant(condition)
        if known is not MISSING:
            self._chosen(stmt, condition, stmt.then if known else stmt.orelse, bool(known))
            return
        before, paths, bodies = self.arrays, [], []
        for body in (stmt.then, stmt.orelse):
            self.arrays, self.ended = dict(before), False
            bodies.append(self.block(body))
            paths += [] if self.ended else [self.arrays]
        made = dataclasses.replace(stmt, condition=condition, then=bodies[0], orelse=bodies[1])
        self.arrays = before
        self._join(paths, made, "under a condition")

    def _chosen(self, stmt: syntax.If, condition: Expr, body: Sequence[Stmt], then: bool) -> None:
        """Adds the branch of an If that the ranks and known sizes of arrays choose; the other one, which never runs, is not looked at.

        then: whether it is the branch for the condition
        """
        if not body or not isinstance(body[-1], (syntax.Raise, syntax.Leave)):
            for each in body:
                self._stmt(each)
            return
        made = self.block(body)
        kept = dataclasses.replace(stmt, condition=condition, then=made if then else (), orelse=() if then else made)
        self.out.append(kept)

    def _merge(self, other: dict[str, Elements | Uncertain], where: str) -> None:
        """Joins two ways through the program: marks as uncertain the names that stand for another array in `other` than in
        `arrays`.

        other: what each name stands for at the end of the other way
        where: how a message names the place, such as "in a loop"
        """
        for name in {*self.arrays, *other}:
            if self.arrays.get(name) is not other.get(name):
                self.arrays[name] = Uncertain(f"`{name}` is bound to an array {where}")

    def _assign_name(self, stmt: syntax.Assign, target: syntax.Name) -> None:
        name, value = target.name, self.value(stmt.value)
        known = self.arrays.get(name)
        if stmt.in_place and known is not None:
            self._store(self.known(name, known, stmt.target.loc), value, stmt)
            return
        if name in self.kept:
            own = self.known(name, self.arrays[name], target.loc)
            self._store(own, rebinding.checked(self, own, value, stmt.loc), dataclasses.replace(stmt, same_type=True))
            return
        if not isinstance(value, Elements):
            self.arrays.pop(name, None)
            if name in self._bound_once and all(is_size(node) for node in traversal.nodes(value)):
                self.numbers[name] = value
            elif name in self._bound_once and self.is_integer(value):
                self._ints.add(name)
            self.out.append(dataclasses.replace(stmt, value=value, in_place=False))
            return
        is_diagonal = returned_views.is_diagonal(value)  # a view that cannot be assigned
        bound = self.arrays[name] = value if value.storage or is_diagonal else self.memory(value, name, stmt.loc)
        if value.may_be_view_of and not is_diagonal:
            self._possibly_viewed |= {value.may_be_view_of, bound.memory}

    def _assign_part(self, stmt: syntax.Assign) -> None:
        if masked_assignment.assign(self, stmt):
            return
        place = stmt.target
        is_update = isinstance(stmt.value, syntax.Function) and stmt.value.function == "at"
        first = self.value(stmt.value) if self.require.places and not is_update else None  # its errors come first
        target = self._place(place) if isinstance(place, syntax.Subscript) else self._part_place(traversal.as_part(place), True)
        if isinstance(target, _Place) and returned_views.is_diagonal(target.base):
            raise NotAffineError("a diagonal is assigned, which is read-only in NumPy", loc=place.loc, code="PML-F022")
        if isinstance(target, _Place) and any(isinstance(index, Elements) for index in target.indices):
            indexed_assignment.assign(self, stmt, target.base, target.indices)
            return
        taken = self.taken_part(target.base, target.indices, place.loc) if isinstance(target, _Place) else target
        self._assign_to(taken, self.value(stmt.value) if first is None else first, stmt)

    def _assign_to(self, target: Value, value: Value, stmt: syntax.Assign) -> None:
        if isinstance(target, syntax.Subscript):
            self.check_changes(target.array, stmt.loc)
            if isinstance(value, Elements):
                if target.array in self.lists:
                    notes = ["polyml compiles: lists of numbers; a function that calls itself hands arrays on as they are"]
                    raise NotAffineError("a list that has arrays in it", loc=stmt.loc, notes=notes, code="PML-F006")
                is_list = isinstance(stmt.value, syntax.Function) and dict(stmt.value.options).get("like", False)
                if is_list or any(not extent.is_one for extent in value.shape):
                    why = "an array is assigned to one element"
                    raise PolymlTypeError(why, loc=stmt.loc, notes=["accepted: a number"], code="PML-F042")
                value = value.sample
            place = growing_lists.assigned(target) if target.array in self.lists else target
            self.out.append(dataclasses.replace(stmt, target=place, value=value, in_place=False))
            return
        if not isinstance(target, Elements) or target.storage is None:
            raise LanguageError("this cannot be assigned", loc=stmt.target.loc, notes=["accepted: an array, or a part of one"])
        self._store(target, value, stmt)

    def _store(self, target: Elements, value: Value, stmt: syntax.Assign) -> None:
        """Adds the statements of `target[...] = value`.

        If a loop that stores the value would read elements that it has overwritten already, it stores to a temporary array, and a
        second loop copies that to the target.
        """
        loc = stmt.loc
        self.check_changes(target.memory, loc)
        if isinstance(value, Elements):
            extra = value.rank - target.rank
            if extra > 0 and not all(extent.is_one for extent in value.shape[:extra]):
                raise PolymlTypeError(
                    f"an array of {value.rank} dimensions cannot be assigned to one of {target.rank}",
                    loc=loc,
                    notes=["accepted: a shape that broadcasts to that of the target"],
                )
            value = without_leading(value, max(extra, 0))
            value = fitting.fitted(self, target.shape, value, loc)
        else:
            value = inside(value, self.require)
        held: list[str] = []

        def direct(point: Point) -> list[Stmt]:
            lvalue, here = target.lvalue(point), element(value, point)
            overwritten = overwritten_reads(here, lvalue, point, target.shape, self._aliased, self.require)
            copied = copied_reads(self, here, overwritten, point, target.shape) if overwritten else here
            if copied is None:
                full = self._storage[target.memory].shape  # the whole array's size, which does not change with the loops around
                kind = syntax.TypeOf(value.sample if isinstance(value, Elements) else value)
                held.append(self._fresh_array("_value", full, kind, None, loc))
                lvalue = syntax.Subscript(held[0], lvalue.indices, inside=True)
                return [syntax.Assign(lvalue, here, loc=loc)]
            return [store(lvalue, copied)]

        def back(point: Point) -> list[Stmt]:
            lvalue = target.lvalue(point)
            return [store(lvalue, syntax.Subscript(held[0], lvalue.indices, inside=True))]

        def store(lvalue: syntax.Subscript, here: Expr) -> Stmt:
            return dataclasses.replace(stmt, target=dataclasses.replace(lvalue, loc=stmt.target.loc), value=here, whole=True)

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
        elif isinstance(like, syntax.TypeOf) and isinstance(like.of, syntax.Function):
            samples = [v.sample if isinstance(v, Elements) else v for v in map(self.value, like.of.args)]
            like = syntax.TypeOf(self.promoted(samples, like.loc), loc=like.loc)
        fill = None if stmt.fill is None else self.number(stmt.fill)
        extents = tuple(map(self.new_extent, shape))
        self.truths |= {stmt.name} if bindings.holds_truths(fill if like is None else like, self.truths) else set()
        if not any(map(self.is_counted, extents)):
            self.out.append(dataclasses.replace(stmt, shape=shape, element=like, fill=fill))
            self.arrays[stmt.name] = self._storage[stmt.name] = stored(stmt.name, extents)
            if isinstance(stmt.element, syntax.TypeOf) and stmt.element.function == "listed":
                self.lists.add(stmt.name)
            return
        kind = syntax.TypeOf(fill) if like is None and fill is not None else like
        if isinstance(kind, syntax.Like) or kind is None:
            raise TypeError("the type of a new array's elements is not known")
        if isinstance(kind, syntax.TypeOf) and kind.function == "listed":
            self.lists.add(stmt.name)
        made = self.arrays[stmt.name] = self._storage[self._new_array(stmt.name, extents, kind, None, stmt.loc)]
        if fill is not None:
            self.loops(extents, lambda point: [syntax.Assign(made.lvalue(point), fill, whole=True, loc=stmt.loc)], stmt.loc)

    def _return(self, stmt: syntax.Return) -> None:
        values = [syntax.Name(v.name, loc=v.loc) if isinstance(v, syntax.ArrayName) else v for v in stmt.values]
        made = [self._tested_result(self.value(value), value.loc) for value in values]
        if stmt.form:
            stmt, values, made = self._with_sizes(stmt, values, made)
        given = {name: array for name, array in self._storage.items() if name in self._params}
        stmt, values, made = returned_views.with_numbers(stmt, values, made, given, self._possibly_viewed, self._aliased)
        shared = Counter(m.storage for m in made if isinstance(m, Elements) and m.storage)
        for value, array in zip(values, made):
            if not isinstance(array, Elements) or not array.storage or shared[array.storage] < 2:
                continue
            if array.storage not in self._params and (not array.whole or array.storage in self.late_arrays):
                raise NotAffineError(
                    "two results share their memory",
                    code="PML-F022",
                    loc=value.loc,
                    notes=["polyml compiles: `return T, T[1:].copy()`"],
                )
        self.out.append(dataclasses.replace(stmt, values=tuple(map(self._returned, values, made))))

    def _with_sizes(
        self, stmt: syntax.Return, values: Sequence[Expr], made: Sequence[Value]
    ) -> tuple[syntax.Return, list[Expr], list[Value]]:
        """Returns a Return, its values and their lowered values with the sizes of arrays in place of shapes."""
        parts: list[tuple[str, list[Expr], list[Value]]] = []
        for letter, value, own in zip(result_forms.leaves(stmt.form), values, made):
            if letter != result_forms.SHAPE or not isinstance(own, Elements):
                parts.append((letter, [value], [own]))
                continue
            sizes = [extent.expr for extent in own.shape]
            parts.append((result_forms.tuple_of([result_forms.VALUE] * own.rank), [value] * own.rank, [*sizes]))
        form = result_forms.replaced(stmt.form, [text for text, _, _ in parts])
        listed = [own.storage for letter, _, [own, *_] in parts if letter == result_forms.LIST and isinstance(own, Elements)]
        if len(set(listed)) < len(listed):
            raise NotAffineError(
                "two results are one list", loc=stmt.loc, notes=["polyml compiles: lists that differ"], code="PML-F022"
            )
        values = [value for _, each, _ in parts for value in each]
        return (
            dataclasses.replace(stmt, form=form, is_tuple=form.startswith("(")),
            values,
            [own for _, _, each in parts for own in each],
        )

    def _tested_result(self, value: Value, loc: Loc | None) -> Value:
        """Returns the value of a result; a number whose indices are tested, since data decide a size, gets a name."""
        if isinstance(value, Elements) or not any(is_position(node) for node in traversal.nodes(value)):
            return value
        return self.held_number(value, loc)

    def _returned(self, value: Expr, made: Value) -> Expr | syntax.ArrayName:
        if not isinstance(made, Elements):
            return made
        whole = made if made.whole else self.memory(made, "result", value.loc)
        if not self.is_tested(whole) and any(self._allocated_extent(extent) is not extent for extent in whole.shape):
            raise NotAffineError("an array is returned whose size changes with a loop", loc=value.loc, code="PML-F022")
        sizes = tuple(extent.expr for extent in whole.shape) if self.is_tested(whole) else ()
        return syntax.ArrayName(whole.memory, sizes, loc=value.loc)

    # Expressions

    def number(self, expr: Expr) -> Expr:
        """Returns the lowered value of an expression that must be a number.

        Raises PolymlTypeError for an array.
        """
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
                return expr if known is None else self.settled(self.known(expr.name, known, expr.loc))
            case syntax.Shape():
                return self._shape(expr)
            case syntax.Subscript():
                return self._subscript(expr)
            case syntax.Part():
                return self._part(expr)
            case syntax.Function():
                return function_table.called(self, expr)
            case syntax.Logical() | syntax.IfExp() if self.require.places is not None:
                return self._as_needed(expr)
            case syntax.Logical() | syntax.IfExp() | syntax.Unary(op="not"):
                return traversal.with_operands(expr, tuple(map(self.number, traversal.operands(expr))))
        expr, operands = as_power(expr, tuple(map(self.value, traversal.operands(expr))))
        numbers = tuple(operand for operand in operands if isinstance(operand, Expr))
        if len(numbers) == len(operands):
            made = traversal.with_operands(expr, numbers)
            number = constant(made) if isinstance(made, syntax.Binary) else MISSING
            return syntax.Const(number, loc=expr.loc) if type(number) is int else made
        if isinstance(expr, syntax.Call) and expr.function == "bound":
            raise NotAffineError(f"`{expr.args[1]}` is bound to an array under a condition", loc=expr.loc, code="PML-F023")
        _check_elementwise(expr)
        return elementwise(operands, lambda *parts: traversal.with_operands(expr, parts), self.require, expr.loc)

    def _as_needed(self, expr: syntax.Logical | syntax.IfExp) -> Expr:
        """Returns a conditional expression, `and` or `or`, where statements that an operand needs run only if that is evaluated."""
        first, *rest = traversal.operands(expr)
        head = self.number(first)
        parts = [self._apart(operand) for operand in rest]
        if not any(map(may_fail, (stmt for made, _ in parts for stmt in made))):
            for made, _ in parts:
                self.out.extend(made)
            return traversal.with_operands(expr, (head, *(value for _, value in parts)))
        name = syntax.Name(self.fresh("_chosen"), loc=expr.loc)
        blocks = [(*made, syntax.Assign(name, value, loc=expr.loc)) for made, value in parts]
        if isinstance(expr, syntax.IfExp):
            self.out.append(syntax.If(head, *blocks, loc=expr.loc))
            return name
        self.out.append(syntax.Assign(name, head, loc=expr.loc))
        test = name if expr.op == "and" else syntax.Unary("not", name, loc=expr.loc)
        self.out += [syntax.If(test, block, loc=expr.loc) for block in blocks]
        return name

    def _apart(self, expr: Expr) -> tuple[tuple[Stmt, ...], Expr]:
        """Returns the lowered value of a number, and apart from it the statements that come before."""
        outer, needed, selections = self.out, set(self._required), dict(self.selections)
        made: list[Stmt] = []
        self.out = made
        try:
            with self.require.block():
                value = self.number(expr)
        finally:
            self.out, self._required, self.selections = outer, needed, selections
        return tuple(made), value

    def joined(self, sizes: Sequence[Extent], loc: Loc | None) -> Extent | None:
        return fitting.joined(self, sizes, loc)

    def _shape(self, expr: syntax.Shape) -> Expr:
        known = self.arrays.get(expr.array)
        if known is None:
            return expr  # type inference says what is wrong with it
        array = self.known(expr.array, known, expr.loc)
        shape = (array if self.in_test else self.settled(array)).shape
        return shape[checked_dim(expr, len(shape), expr.array)].expr

    def _subscript(self, expr: syntax.Subscript) -> Value:
        given, known = tuple(map(self.value, expr.indices)), self.arrays.get(expr.array)
        selected = places.selected(self, known, given, expr.loc) if isinstance(known, Elements) else None
        if selected is not None:
            return selected
        made = self._place(expr, given)
        return self.taken_part(made.base, made.indices, expr.loc) if isinstance(made, _Place) else made

    def _place(self, expr: syntax.Subscript, given: tuple[Value, ...] | None = None) -> Expr | _Place:
        """Returns the element that a Subscript is, or the array and indices by which it is a part of an array."""
        known = self.arrays.get(expr.array)
        indices = tuple(self.value(index) for index in expr.indices) if given is None else given
        if isinstance(known, Elements):
            indices = places.without_masks(self, known, indices, expr.loc)
        if known is None and expr.array not in self._params:
            self.array(expr.array, expr.loc)
        numbers = tuple(i.sample if isinstance(i, Elements) else i for i in indices)
        by_array = any(isinstance(i, Elements) for i in indices)
        if by_array and expr.array in self.lists:
            raise PolymlTypeError("a list has a subscript that is an array", loc=expr.loc, notes=["accepted: an int"])
        if known is None:
            return dataclasses.replace(expr, indices=numbers)  # type inference says that it is a number
        base = self.known(expr.array, known, expr.loc)
        if expr.inside and len(indices) == base.rank and not by_array:
            return base.at(numbers)
        if expr.chained and by_array:
            why, known_form = (
                "a part of an array has a subscript that is an array",
                "polyml compiles: `A[i, k]`, or a name for `A[i]`",
            )
            raise NotAffineError(why, code="PML-F021", loc=expr.loc, notes=[known_form])
        if len(indices) >= base.rank and base.whole and not by_array:
            found = dataclasses.replace(expr, array=base.memory, indices=numbers)
            return self._counted_element(found, base) if self.is_tested(base) else found
        return _Place(base, tuple(i if isinstance(i, Elements) else self._fixed(i) for i in indices))

    def _counted_element(self, element: syntax.Subscript, base: Elements) -> syntax.Subscript:
        """Returns an element of an array whose size data decide, with tests of its indices."""
        indices = tuple(self.position(index, base, dim, element.loc) for dim, index in enumerate(element.indices))
        if base.memory in self.late_arrays:
            return dataclasses.replace(base.lvalue(indices), loc=element.loc)
        return dataclasses.replace(element, indices=indices, inside=all(map(self.is_counted, base.shape)))

    def _part(self, expr: syntax.Part) -> Value:
        made = self._part_place(expr)
        return self.taken_part(made.base, made.indices, expr.loc) if isinstance(made, _Place) else made

    def _part_place(self, expr: syntax.Part, for_store: bool = False) -> _Place | Elements:
        base = self.value(expr.base)
        if not isinstance(base, Elements):
            raise PolymlTypeError("a number has no parts", loc=expr.loc, notes=["accepted: an array"])
        indices: list[Value | syntax.Slice | syntax.NewAxis | syntax.Dots] = []
        for index in expr.indices:
            if isinstance(index, syntax.Slice):
                bounds = (None if b is None else self.number(b) for b in (index.start, index.stop))
                start, stop = (None if b is None else self._fixed(b) for b in bounds)
                by = None if index.by is None else self.step(self.number(index.by), index.loc)
                indices.append(dataclasses.replace(index, start=start, stop=stop, by=by))
            elif isinstance(index, (syntax.NewAxis, syntax.Dots)):
                indices.append(index)
            else:
                chosen = self.value(index)
                indices.append(chosen if isinstance(chosen, Elements) else self._fixed(chosen))
        selected = None if for_store else places.selected(self, base, indices, expr.loc)
        if selected is not None:
            return selected
        return _Place(base, places.without_masks(self, base, indices, expr.loc))

    def _fixed(self, expr: Expr) -> Expr:
        """Returns a subscript that keeps its present value: an expression that may change later is copied to a name of its own."""
        if all(map(self._stays, traversal.nodes(expr))):
            return expr
        number = syntax.Call("position", (expr,), loc=expr.loc)  # Python's int, whatever integer it is
        return self.held_number(number, expr.loc) if self.require.places is None else self.require.held(number, expr.loc)

    def _stays(self, node: Expr) -> bool:
        if isinstance(node, syntax.Name):
            return self.is_fixed(node.name)
        return isinstance(node, (syntax.Const, syntax.Shape, syntax.Binary, syntax.Unary))


def _always_ends(stmt: Stmt) -> bool:
    """Returns whether nothing runs behind a statement: a `raise`, or a jump, under a condition that ranks decide."""
    if not isinstance(stmt, syntax.If) or constant(stmt.condition) is MISSING:
        return False
    chosen = stmt.then if constant(stmt.condition) else stmt.orelse
    return bool(chosen) and isinstance(chosen[-1], (syntax.Raise, syntax.Leave))


def _check_elementwise(expr: Expr) -> None:
    """Raises PolymlTypeError for min, max, float(), int() and the like, and functions of math, which do not take arrays."""
    name = None
    if isinstance(expr, syntax.Binary) and expr.op in ("min", "max"):
        name = f"{expr.op}, which compares two numbers"
    elif isinstance(expr, syntax.Call) and expr.module in ("math", "cmath"):
        name = f"{expr.module}.{expr.function}"
    elif isinstance(expr, syntax.Cast) and expr.to.weak:
        name = f"{expr.to}(...)"
    if name is not None:
        raise PolymlTypeError(
            f"an array cannot be given to {name}", loc=expr.loc, notes=["accepted: NumPy's elementwise functions"]
        )


def _inside(stmt: syntax.While | syntax.Block, problem: NotAffineError) -> NotAffineError:
    """Returns the error for a loop that data end where something inside it is refused, which plain Python runs with the loop.

    A part of the loop that is lifted from it can be compiled nevertheless.
    """
    error = not_static(stmt)
    place = "" if problem.loc is None else f" (line {problem.loc.line})"
    notes = [*error.notes, f"it would be compiled but for this: {problem.message}{place}"]
    return NotAffineError(error.message, loc=error.loc, notes=notes, code=error.code)
