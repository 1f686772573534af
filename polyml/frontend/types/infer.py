"""Type inference: the types of the arguments give each expression a type, and each conversion is written as a Cast.

    total[j] + A[i, j], A: f32, total: f64    ->    total[j] + Cast(A[i, j], f64), of type f64

The rules are NumPy 2's promotion (NEP 50), asked of NumPy itself (`promotion`); Python's numbers are weak. What
follows from them:

* A typed expression has a fixed type or PYINT. Both operands of Binary, Compare and Call have one type, except that a
  condition (of If, IfExp, Logical and `not`) is BOOL. Subscripts, bounds and shapes are PYINT. Python floats are F64,
  Python bools BOOL.
* A Cast from PYINT to an integer type must be checked: NumPy raises OverflowError for a Python int that does not fit.
  So must a Cast from a float or U64 to PYINT. A Cast between fixed types wraps.
* Python raises where a plain float is divided by zero and where math.sqrt gets a negative number or math.exp
  overflows; the language takes IEEE's result, as NumPy does. A Python int divided by zero by // or % gives 0, as
  NumPy's ints do. A Python int that meets a Python float, in / and in comparisons too, is converted to it first.
* A Python complex that meets a float64 is a complex128, as in an array; Python takes the float64 for its own. Complex
  numbers are ordered as in arrays; NumPy's scalars order some that have a NaN otherwise.
* The right operand of ** on integers is unsigned or a constant that is not negative.
* A number that is a Python number on one path and a NumPy scalar on another (`m = 0.0`, then `if A[i] > m: m = A[i]`)
  is held in a type that contains both, and counts as NumPy's when it is returned. A number that is a float on one path and a
  Python int on another is held in float64, which rounds the int as NumPy and Python do where it meets a float; what would show
  the difference is refused, such as a result, or its sum with an int (`type_sets.held_in`). Arithmetic whose result would
  depend on the path is refused, unless the Python number is a constant for which NumPy's type gives the same
  (`type_sets`, `operation_results`). For this, every loop is taken to run: after `s = 0.0` and `for ...: s += A[i]`, `s` is of
  A's type. Where the loop's bounds are known at entry a `Require` says so, and a call in which it does not run is one
  for plain Python; a loop whose bounds depend on others (`range(i)`) is not looked at, and `s` is of A's type anyway.
  Only where a number of that type may stand for what `s` was before, though: not where it was a NumPy scalar that the
  type cannot hold.
* A whole call is refused, never a part: PolymlTypeError for an operation NumPy does not have or whose type the
  language lacks (float128), PolymlOverflowError for a constant that does not fit.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from polyml.dtypes import BOOL, F64, I64, PYINT, DType
from polyml.errors import NotAffineError, PolymlOverflowError, PolymlTypeError
from polyml.frontend import live_ranges, syntax, traversal
from polyml.frontend.arrays import lower
from polyml.frontend.arrays.tested_indices import possible
from polyml.frontend.name_resolution import statements
from polyml.frontend.syntax import ArgType, ArrayType, Stmt
from polyml.frontend.types import list_elements, rules
from polyml.frontend.types.conversions import UNKNOWN, TypedValue, converted, widened
from polyml.frontend.types.expression_types import ExpressionInference
from polyml.frontend.types.local_numbers import ReachingState, source_name
from polyml.frontend.types.type_sets import (
    held_in,
    integer_range,
    of_type,
    representation,
)
from polyml.pass_manager import apply
from polyml.reading import result_forms
from polyml.source import Loc


def infer(
    kernel: syntax.Kernel,
    types: Sequence[ArgType],
    *,
    aliased: bool = False,
    tested: frozenset[Loc] | None = None,
    late: bool = False,
) -> syntax.Kernel:
    """Returns the kernel for arguments of these types, typed throughout, its array expressions as loops over elements.

        A[i] = A[i] + 1   ->   A[i] = A[i] + Cast(1, f32), for A of f32

    types: one per parameter
    aliased: whether arguments may share memory
    tested: where indices are tested as the program runs, see `lower.lowered`
    late: whether data may decide sizes of arrays that have no bound at entry
    Raises PolymlTypeError or PolymlOverflowError, with the place and what would be accepted.
    """
    if len(types) != len(kernel.params):
        names = ", ".join(p.name for p in kernel.params)
        raise PolymlTypeError(
            f"{kernel.name} takes {len(kernel.params)} arguments, not {len(types)}",
            notes=[f"accepted: {kernel.name}({names})"],
        )
    elementwise = apply(lower.lowered, kernel, types, aliased=aliased, tested=tested, late=late)
    return _KernelInference(apply(live_ranges.split, elementwise), tuple(types)).kernel()


_TRUE = syntax.Const(True, dtype=BOOL)


class _KernelInference(ExpressionInference):
    """A _KernelInference types the statements of a kernel, in passes over them until one finds no new type of a local number."""

    def kernel(self) -> syntax.Kernel:
        """Runs the passes, and returns the typed kernel."""
        growing = True
        while growing:
            before = self.numbers.snapshot(), self.lists.snapshot()
            self._body(self.untyped.body, self.numbers.start)
            growing = before != (self.numbers.snapshot(), self.lists.snapshot())
        self.final = True
        body = self._body(self.untyped.body, self.numbers.start)
        body = (*self._body(tuple(self.numbers.required.values()), self.numbers.start), *body)
        _check_constants(body)
        held = ((name, held_in(self.numbers.types_of(name))) for name in self.numbers.names)
        scalars = tuple((name, dtype) for name, dtype in held if dtype is not None)
        return dataclasses.replace(self.untyped, body=body, types=self.types, scalars=scalars)

    # Statements

    def _body(self, stmts: Sequence[Stmt], state: ReachingState) -> tuple[Stmt, ...]:
        result = []
        for stmt in stmts:
            self.state = state
            made = self._stmt(stmt, state)
            if not (isinstance(made, syntax.Require) and made.condition == _TRUE):
                result.append(made)
            state = self.numbers.after(stmt, state)
        return tuple(result)

    def _stmt(self, stmt: Stmt, state: ReachingState) -> Stmt:
        match stmt:
            case syntax.For():
                start, stop = (self.integer(bound, "a bound of range") for bound in (stmt.start, stmt.stop))
                inside = self.numbers.inside(stmt, state)
                self.around += (stmt,)
                body = self._body(stmt.body, inside)
                self.around = self.around[:-1]
                return dataclasses.replace(stmt, start=start, stop=stop, body=body)
            case syntax.If():
                condition = self.condition(stmt.condition)
                then, orelse = self._body(stmt.then, state), self._body(stmt.orelse, state)
                return dataclasses.replace(stmt, condition=condition, then=then, orelse=orelse)
            case syntax.While():
                self.state = inside = self.numbers.inside(stmt, state)
                condition = self.condition(stmt.condition)
                return dataclasses.replace(stmt, condition=condition, body=self._body(stmt.body, inside))
            case syntax.Block():
                return dataclasses.replace(stmt, body=self._body(stmt.body, state))
            case syntax.Leave() | syntax.Raise():
                return stmt
            case syntax.Assign(target=syntax.Name() as name):
                return self._assign_name(stmt, name)
            case syntax.Assign(target=syntax.Subscript(array=array)) if array in self.lists:
                return self._assign_item(stmt, array)
            case syntax.Assign():
                value, target = self.value(stmt.value), self.value(stmt.target)
                if not value.known or not target.known:
                    return stmt
                target = _place(target)
                if stmt.same_type and value.types.keys() != target.types.keys():
                    raise NotAffineError("a name is bound to arrays of several types in a loop", loc=stmt.loc, code="PML-F023")
                if stmt.in_place:
                    rules.check_kind(stmt, value, target.dtype)
                store = rules.filled if stmt.whole and not value.is_weak else rules.stored
                typed = store(value, target.dtype)
                place = traversal.as_target(target.expr)
                return dataclasses.replace(stmt, target=place, value=typed, in_place=False, whole=False, same_type=False)
            case syntax.Alloc():
                return self._alloc(stmt)
            case syntax.Require(condition=syntax.Call(function="element_type") as typed):
                return dataclasses.replace(stmt, condition=self._with_element_type(typed))
            case syntax.Require(condition=syntax.Logical(operands=(syntax.Call(function="gives_float64", args=(sample,)), some))):
                value = self.value(sample)
                is_float = value.known and rules.element_type(syntax.TypeOf(sample, "array"), value) == F64
                return dataclasses.replace(stmt, condition=_TRUE if is_float else self.condition(some))
            case syntax.Require():
                return possible(dataclasses.replace(stmt, condition=self.condition(stmt.condition)))
            case syntax.Return():
                return self._return(stmt)
        raise TypeError(f"not a statement: {stmt!r}")

    def _assign_name(self, stmt: syntax.Assign, target: syntax.Name) -> syntax.Assign:
        is_unset = stmt.value == syntax.Call("unset", ())
        name, value = target.name, UNKNOWN if is_unset else self.value(stmt.value)
        self.numbers.assign(stmt, name, value.types)
        self.lists.assign(name, stmt.value, value.types)
        if not self.final:
            return stmt
        dtype = held_in(self.numbers.types_of(name))
        if dtype is None:
            raise self.numbers.no_common_type(name, stmt.loc)
        typed = converted(TypedValue(syntax.Const(0, dtype=PYINT), of_type(PYINT)), dtype) if is_unset else widened(value, dtype)
        return dataclasses.replace(stmt, target=dataclasses.replace(target, dtype=dtype), value=typed)

    def _with_element_type(self, expr: syntax.Call) -> syntax.Expr:
        """Gives an array, of which several paths make the elements, the type that one of them makes.

        Raises NotAffineError where another one makes elements of another type.
        """
        array, sample = expr.args
        value = self.value(sample)
        if value.known and isinstance(array, syntax.Subscript):
            element = rules.element_type(syntax.TypeOf(sample, loc=expr.loc), value)
            known = self.arrays.setdefault(array.array, ArrayType(element, len(array.indices)))
            if known.element != element:
                raise NotAffineError(
                    f"`{source_name(array.array)}` is an array of {known.element.numpy_name} or of {element.numpy_name}",
                    loc=expr.loc,
                    notes=["polyml compiles: a name for each array, or the same type on each path"],
                    code="PML-F023",
                )
        return syntax.Const(True, dtype=BOOL)

    def _assign_item(self, stmt: syntax.Assign, array: str) -> syntax.Assign:
        """Returns the assignment to an element of a list, which keeps the type of the value."""
        value = self.value(stmt.value)
        self.lists.store(array, value.types)
        target = self.value(stmt.target)
        if not self.final or not value.known or not target.known:
            return stmt
        return dataclasses.replace(
            stmt, target=list_elements.place(target.expr), value=self.lists.stored(array, value), in_place=False, whole=False
        )

    def _alloc(self, stmt: syntax.Alloc) -> syntax.Alloc:
        shape = self._shape(stmt)
        fill = None if stmt.fill is None else self.value(stmt.fill)
        if stmt.name in self.lists:
            if fill is not None:
                self.lists.fill(stmt.name, fill.types)
            element = self.lists.element(stmt.name, self.final, stmt.loc)
            if element is None or fill is not None and not fill.known:
                return stmt
            self.arrays[stmt.name] = ArrayType(element, 1 if stmt.late else len(shape))
            typed = self.lists.filled(stmt.name, fill) if self.final else None
            return dataclasses.replace(stmt, shape=shape, element=element, fill=typed, listed=True) if self.final else stmt
        element = self._element(stmt, fill)
        if element is None or fill is not None and not fill.known:
            return stmt
        self.arrays[stmt.name] = ArrayType(element, len(shape))
        return dataclasses.replace(stmt, shape=shape, element=element, fill=None if fill is None else rules.filled(fill, element))

    def _shape(self, stmt: syntax.Alloc) -> tuple[syntax.Expr, ...]:
        if isinstance(stmt.shape, tuple):
            return tuple(self.integer(s, "a size") for s in stmt.shape)
        like, array = stmt.shape, self.array(stmt.shape.array, stmt.shape.loc)
        ndim = array.ndim if array else 0
        return tuple(syntax.Shape(like.array, dim, dtype=PYINT, loc=like.loc) for dim in range(ndim))

    def _element(self, stmt: syntax.Alloc, fill: TypedValue | None) -> DType | None:
        if isinstance(stmt.element, syntax.Like):
            array = self.array(stmt.element.array, stmt.element.loc)
            return array.element if array else None
        if isinstance(stmt.element, syntax.TypeOf):
            value = self.value(stmt.element.of)
            return rules.element_type(stmt.element, value) if value.known else None
        if stmt.element is not None:
            return stmt.element
        elements = {I64 if kind == PYINT else representation(kind) for kind in fill.types} if fill else set()
        if len(elements) > 1:
            raise PolymlTypeError(
                f"the element type of `{source_name(stmt.name)}` is not known: the fill value is {fill}",
                loc=stmt.loc,
                notes=["accepted: np.full with dtype="],
            )
        return next(iter(elements), None)

    def _return(self, stmt: syntax.Return) -> syntax.Return:
        values: list[syntax.Expr] = []
        python: list[bool] = []
        for value in stmt.values:
            if isinstance(value, syntax.ArrayName) or isinstance(value, syntax.Name) and value.name in self.arrays:
                sizes = tuple(self.integer(size, "a size") for size in traversal.operands(value))
                values.append(syntax.ArrayName(value.name, sizes, loc=value.loc))
                python.append(False)
                continue
            typed = self.value(value)
            rules.check_one_type(value, typed.types)
            if self.lists.is_blend(value, typed.types):
                raise rules.depends_on_path(value, typed.types)
            values.append(typed.expr)
            python.append(typed.known and typed.is_weak)
        form = stmt.form
        if form and self.final:
            parts = zip(result_forms.leaves(form), values)
            form = result_forms.replaced(form, [self._letter(letter, value) for letter, value in parts])
        return dataclasses.replace(stmt, values=tuple(values), python=tuple(python), form=form)

    def _letter(self, letter: str, value: syntax.Expr) -> str:
        """Returns the letter of a result in its form: that of a list says whether its elements are Python's numbers."""
        if letter != result_forms.LIST or not isinstance(value, syntax.ArrayName):
            return letter
        return result_forms.PYTHON_LIST if self.lists.is_python(value.name, value.loc) else letter


def _place(target: TypedValue) -> TypedValue:
    """Returns the element that is assigned, or the real or imaginary part of one, as a Subscript.

    Raises PolymlTypeError for the imaginary part of a real number.
    """
    match target.expr:
        case syntax.Subscript():
            return target
        case syntax.Call(function="real" | "imag" as part, args=(syntax.Subscript() as element,)):
            return TypedValue(dataclasses.replace(element, part=part, dtype=target.dtype), target.types)
    raise PolymlTypeError(
        "the imaginary part of a real number is assigned", loc=target.expr.loc, notes=["accepted: one of a complex number"]
    )


def _check_constants(body: Sequence[Stmt]) -> None:
    """Raises PolymlOverflowError for a constant that stays a Python int and does not fit 64 bits."""
    for stmt in statements(body):
        for expr in traversal.accessed(stmt):
            for node in traversal.nodes(expr):
                if isinstance(node, syntax.Const) and node.dtype == PYINT and node.value not in integer_range(PYINT):
                    raise PolymlOverflowError(
                        "this Python int does not fit 64 bits", loc=node.loc, notes=["accepted: -2**63 to 2**63 - 1"]
                    )
