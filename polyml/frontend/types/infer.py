"""Type inference: the types of the arguments -> the type of every expression, with each conversion written as a Cast.

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
  is held in a type that contains both, and counts as NumPy's when it is returned. Arithmetic whose result would
  depend on the path is refused, unless the Python number is a constant for which NumPy's type gives the same
  (`kinds`, `operations`). For this, every loop is taken to run: after `s = 0.0` and `for ...: s += A[i]`, `s` is of
  A's type. Where the loop's bounds are known at entry a `Require` says so, and a call in which it does not run is one
  for plain Python; a loop whose bounds depend on others (`range(i)`) is not looked at, and `s` is of A's type anyway.
  Only where a number of that type may stand for what `s` was before, though: not where it was a NumPy scalar that the
  type cannot hold.
* A whole call is refused, never a part: PolymlTypeError for an operation NumPy does not have or whose type the
  language lacks (float128), PolymlOverflowError for a constant that does not fit.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from polyml.dtypes import BOOL, F32, HALVES, I64, PYBOOL, PYINT, DType
from polyml.errors import CompileError, NotAffineError, PolymlError, PolymlOverflowError, PolymlTypeError
from polyml.frontend import live_ranges, reaching_definitions, syntax, traversal
from polyml.frontend.arrays import lower
from polyml.frontend.arrays.shapes import checked_dim, dimensions
from polyml.frontend.name_resolution import statements
from polyml.frontend.syntax import ArgType, ArrayType, ScalarType, Stmt
from polyml.frontend.types import function_rules, rules
from polyml.frontend.types.conversions import UNKNOWN, Value, converted, held, narrowed, truth
from polyml.frontend.types.type_sets import (
    Kinds,
    held_as,
    integer_range,
    of_type,
    representation,
    spelled,
    stands_for,
    storage,
    union,
)
from polyml.pass_manager import apply
from polyml.source import Loc


def infer(kernel: syntax.Kernel, types: Sequence[ArgType], *, aliased: bool = False) -> syntax.Kernel:
    """The kernel for arguments of these types, typed throughout, its array expressions as loops over elements.

    aliased: arguments may share memory. Raises PolymlTypeError or PolymlOverflowError, with the place and what would be
    accepted.
    """
    if len(types) != len(kernel.params):
        names = ", ".join(p.name for p in kernel.params)
        raise PolymlTypeError(
            f"{kernel.name} takes {len(kernel.params)} arguments, not {len(types)}",
            notes=[f"accepted: {kernel.name}({names})"],
        )
    elementwise = apply(lower.lowered, kernel, types, aliased=aliased)
    return _Inference(apply(live_ranges.split, elementwise), tuple(types)).kernel()


class _State(NamedTuple):
    """The reaching definitions at one place. usual: where every loop runs; any: whether loops run or not."""

    usual: reaching_definitions.Reaching
    any: reaching_definitions.Reaching


class _Inference:
    def __init__(self, kernel: syntax.Kernel, types: tuple[ArgType, ...]):
        self._untyped, self._types = kernel, types
        self._params = {p.name: t for p, t in zip(kernel.params, types, strict=True)}
        self._arrays = {name: t for name, t in self._params.items() if isinstance(t, ArrayType)}
        self._flow = reaching_definitions.ReachingDefinitions(kernel.params, loops_run=True)
        self._any_flow = reaching_definitions.ReachingDefinitions(kernel.params, twin=self._flow)
        self._assigned: dict[reaching_definitions.Definition, Kinds] = {}  # grows from pass to pass
        self._assignments: dict[str, list[reaching_definitions.Assigned]] = {}  # local number -> its assignments
        self._around: tuple[syntax.For, ...] = ()  # the loops around what is typed now
        self._inside = dict(_loops_around(kernel.body, ()))
        self._run: dict[syntax.Expr, syntax.Require] = {}  # that a loop runs, on which types depend
        self._final = False

    def kernel(self) -> syntax.Kernel:
        growing = True
        while growing:
            before = dict(self._assigned)
            self._body(self._untyped.body, self._start)
            growing = before != self._assigned
        self._final = True
        body = self._body(self._untyped.body, self._start)
        body = (*self._body(tuple(self._run.values()), self._start), *body)
        _check_constants(body)
        scalars = tuple((name, held_as(self._kinds(name))) for name in self._assignments)
        return dataclasses.replace(self._untyped, body=body, types=self._types, scalars=scalars)

    def _kinds(self, name: str) -> Kinds:
        """Of a local number, over all its assignments."""
        return union(self._assigned[a] for a in self._assignments[name])

    # Statements

    @property
    def _start(self) -> _State:
        return _State(self._flow.start, self._any_flow.start)

    def _body(self, stmts: Sequence[Stmt], state: _State) -> tuple[Stmt, ...]:
        result = []
        for stmt in stmts:
            self._state = state
            result.append(self._stmt(stmt, state))
            state = _State(self._flow.after(stmt, state.usual), self._any_flow.after(stmt, state.any))
        return tuple(result)

    def _stmt(self, stmt: Stmt, state: _State) -> Stmt:
        match stmt:
            case syntax.For():
                start, stop = (self._integer(bound, "a bound of range") for bound in (stmt.start, stmt.stop))
                inside = _State(self._flow.inside(stmt, state.usual), self._any_flow.inside(stmt, state.any))
                self._around += (stmt,)
                body = self._body(stmt.body, inside)
                self._around = self._around[:-1]
                return dataclasses.replace(stmt, start=start, stop=stop, body=body)
            case syntax.If():
                condition = self._condition(stmt.condition)
                then, orelse = self._body(stmt.then, state), self._body(stmt.orelse, state)
                return dataclasses.replace(stmt, condition=condition, then=then, orelse=orelse)
            case syntax.Assign(target=syntax.Name() as name):
                return self._assign_name(stmt, name)
            case syntax.Assign():
                value, target = self._value(stmt.value), self._value(stmt.target)
                if not value.known or not target.known:
                    return stmt
                target = _place(target)
                if stmt.same_type and value.kinds.keys() != target.kinds.keys():
                    raise NotAffineError("a name is bound to arrays of several types in a loop", loc=stmt.loc, code="PML-F023")
                if stmt.in_place:
                    rules.check_kind(stmt, value, target.dtype)
                store = rules.filled if stmt.whole and not value.is_weak else rules.stored
                typed = store(value, target.dtype)
                place = traversal.as_target(target.expr)
                return dataclasses.replace(stmt, target=place, value=typed, in_place=False, whole=False, same_type=False)
            case syntax.Alloc():
                return self._alloc(stmt)
            case syntax.Require():
                return dataclasses.replace(stmt, condition=self._condition(stmt.condition))
            case syntax.Return():
                return self._return(stmt)
        raise TypeError(f"not a statement: {stmt!r}")

    def _assign_name(self, stmt: syntax.Assign, target: syntax.Name) -> syntax.Assign:
        name, value = target.name, self._value(stmt.value)
        assigned, assignments = self._flow.assigned(stmt), self._assignments.setdefault(name, [])
        if assigned not in assignments:
            assignments.append(assigned)
        self._assigned[assigned] = union((self._assigned.get(assigned, {}), value.kinds))
        if not self._final:
            return stmt
        dtype = storage(self._kinds(name))
        if dtype is None:
            raise self._no_common_type(name, stmt.loc)
        return dataclasses.replace(stmt, target=dataclasses.replace(target, dtype=dtype), value=held(value, dtype))

    def _no_common_type(self, name: str, loc: Loc | None) -> PolymlError:
        called = f"`{_source_name(name)}`"
        assignments = [a for a in self._assignments[name] if a.stmt.loc is not None]
        places = [f"{called} is {spelled(self._assigned[a])} by {a.stmt.loc}" for a in assignments]
        return PolymlTypeError(
            f"{called} has no one type that holds {spelled(self._kinds(name))}",
            loc=loc,
            notes=[*places, "accepted: a name for each type, or a conversion such as np.float64(x)"],
        )

    def _alloc(self, stmt: syntax.Alloc) -> syntax.Alloc:
        shape = self._shape(stmt)
        fill = None if stmt.fill is None else self._value(stmt.fill)
        element = self._element(stmt, fill)
        if element is None or fill is not None and not fill.known:
            return stmt
        self._arrays[stmt.name] = ArrayType(element, len(shape))
        return dataclasses.replace(stmt, shape=shape, element=element, fill=None if fill is None else rules.filled(fill, element))

    def _shape(self, stmt: syntax.Alloc) -> tuple[syntax.Expr, ...]:
        if isinstance(stmt.shape, tuple):
            return tuple(self._integer(s, "a size") for s in stmt.shape)
        like, array = stmt.shape, self._array(stmt.shape.array, stmt.shape.loc)
        ndim = array.ndim if array else 0
        return tuple(syntax.Shape(like.array, dim, dtype=PYINT, loc=like.loc) for dim in range(ndim))

    def _element(self, stmt: syntax.Alloc, fill: Value | None) -> DType | None:
        if isinstance(stmt.element, syntax.Like):
            array = self._array(stmt.element.array, stmt.element.loc)
            return array.element if array else None
        if isinstance(stmt.element, syntax.TypeOf):
            value = self._value(stmt.element.of)
            return rules.element_type(stmt.element, value) if value.known else None
        if stmt.element is not None:
            return stmt.element
        elements = {I64 if kind == PYINT else representation(kind) for kind in fill.kinds} if fill else set()
        if len(elements) > 1:
            raise PolymlTypeError(
                f"the element type of `{_source_name(stmt.name)}` is not known: the fill value is {fill}",
                loc=stmt.loc,
                notes=["accepted: np.full with dtype="],
            )
        return next(iter(elements), None)

    def _return(self, stmt: syntax.Return) -> syntax.Return:
        values: list[syntax.Expr] = []
        python: list[bool] = []
        for value in stmt.values:
            if isinstance(value, syntax.ArrayName) or isinstance(value, syntax.Name) and value.name in self._arrays:
                values.append(syntax.ArrayName(value.name, loc=value.loc))
                python.append(False)
                continue
            typed = self._value(value)
            rules.check_one_type(value, typed.kinds)
            values.append(typed.expr)
            python.append(typed.known and typed.is_weak)
        return dataclasses.replace(stmt, values=tuple(values), python=tuple(python))

    # Expressions

    def _value(self, expr: syntax.Expr) -> Value:
        match expr:
            case syntax.Const():
                return rules.literal(expr)
            case syntax.Name():
                return self._name(expr)
            case syntax.Shape():
                return self._shape_of(expr)
            case syntax.Subscript():
                return self._subscript(expr)
            case syntax.Unary(op="not"):
                return Value(syntax.Unary("not", self._condition(expr.operand), dtype=BOOL, loc=expr.loc), of_type(PYBOOL))
            case syntax.Unary():
                return rules.unary(expr, self._value(expr.operand))
            case syntax.Binary(op="min" | "max"):
                return self._extremum(expr)
            case syntax.Binary():
                return rules.binary(expr, self._value(expr.left), self._value(expr.right))
            case syntax.Compare():
                return rules.compare(expr, self._value(expr.left), self._value(expr.right))
            case syntax.Logical():
                return self._logical(expr)
            case syntax.IfExp():
                return self._choice(expr, self._condition(expr.condition), self._value(expr.then), self._value(expr.orelse))
            case syntax.Call(function="where"):
                return self._where(expr)
            case syntax.Call(function="clip"):
                return self._clip(expr)
            case syntax.Call(function="wide"):
                return self._wide(self._value(expr.args[0]))
            case syntax.Call():
                return function_rules.call(expr, tuple(map(self._value, expr.args)))
            case syntax.Cast():
                return rules.cast(expr, self._value(expr.operand))
        raise TypeError(f"not an expression: {expr!r}")

    def _name(self, expr: syntax.Name) -> Value:
        if expr.name in self._arrays:
            raise PolymlTypeError(
                f"`{_source_name(expr.name)}` is an array ({self._arrays[expr.name]}), not a number",
                loc=expr.loc,
                notes=["accepted: an element"],
            )
        given = self._params.get(expr.name)
        if isinstance(given, ScalarType):
            return Value(dataclasses.replace(expr, dtype=representation(given.dtype)), of_type(given.dtype))
        definitions = reaching_definitions.reaching(self._state.usual, expr.name)
        if any(isinstance(d, reaching_definitions.LoopVariable) for d in definitions):
            return Value(dataclasses.replace(expr, dtype=PYINT), of_type(PYINT))
        kinds = union(self._assigned.get(d, {}) for d in definitions)
        others = reaching_definitions.reaching(self._state.any, expr.name) - definitions
        kinds = self._without_loops(kinds, others)
        if self._final and not union(self._assigned.get(d, {}) for d in others).keys() <= kinds.keys():
            self._need_loops(definitions)
        held_in = storage(self._kinds(expr.name)) if kinds and storage(kinds) is not None else None
        if held_in is None:
            if self._final:
                raise self._no_common_type(expr.name, expr.loc)
            return UNKNOWN
        typed: syntax.Expr = dataclasses.replace(expr, dtype=held_in)
        if typed.dtype == I64 and any(self._assigned.get(d, {}).get(PYINT, ()) is None for d in others):
            typed = syntax.Cast(typed, PYINT, True, dtype=PYINT, loc=expr.loc)  # it may not fit: then it raises
        return narrowed(typed, kinds)

    def _without_loops(self, kinds: Kinds, others: frozenset[reaching_definitions.Definition]) -> Kinds:
        """The kinds with those of `others`, which reach the read only where a loop does not run, unless a number of the
        type of `kinds` may stand for theirs.
        """
        dtype = storage(kinds) if kinds else None
        for definition in others:
            more = self._assigned.get(definition, {})
            lost = {k: known for k, known in more.items() if dtype is None or not stands_for(dtype, k, known)}
            kinds = union((kinds, lost)) if lost else kinds
        return kinds

    def _need_loops(self, definitions: frozenset[reaching_definitions.Definition]) -> None:
        """Calls in which a loop before this read does not run, so that the number has another type, run as Python.

        Only where the bounds are known at entry: a loop that another one cuts short is taken to run.
        """
        for definition in definitions:
            for loop in self._inside.get(id(definition.stmt), ()) if isinstance(definition, reaching_definitions.Assigned) else ():
                known = all(self._at_entry(n) for bound in (loop.start, loop.stop) for n in traversal.nodes(bound))
                if known and loop not in self._around:
                    runs = syntax.Compare("<" if loop.step > 0 else ">", loop.start, loop.stop, loc=loop.loc)
                    what = "a loop that does not run and so leaves a number of another type"
                    self._run.setdefault(runs, syntax.Require(runs, what, loc=loop.loc))

    def _at_entry(self, node: syntax.Expr) -> bool:
        if isinstance(node, syntax.Shape):
            return node.array in self._params
        number = isinstance(node, syntax.Name) and node.name in self._params
        return number or isinstance(node, (syntax.Const, syntax.Binary, syntax.Unary))

    def _array(self, name: str, loc: Loc | None) -> ArrayType | None:
        """The type of an array, None while it is not known."""
        given = self._params.get(name)
        if isinstance(given, ScalarType):
            raise PolymlTypeError(
                f"`{name}` is a number ({spelled([given.dtype])}), not an array",
                loc=loc,
                notes=["accepted: a NumPy array"],
            )
        if self._final and name not in self._arrays:
            raise CompileError(f"type inference: `{name}` has no type", loc=loc)
        return self._arrays.get(name)

    def _shape_of(self, expr: syntax.Shape) -> Value:
        array = self._array(expr.array, expr.loc)
        if array is None:
            return UNKNOWN
        dim = checked_dim(expr, array.ndim, _source_name(expr.array))
        typed = dataclasses.replace(expr, dim=dim, ndim=None, dtype=PYINT)
        return Value(typed, of_type(PYINT))

    def _subscript(self, expr: syntax.Subscript) -> Value:
        indices = tuple(self._integer(i, "a subscript") for i in expr.indices)
        array = self._array(expr.array, expr.loc)
        if array is None:
            return UNKNOWN
        if len(indices) != array.ndim:
            given = f"{len(indices)} subscript{'s are' if len(indices) != 1 else ' is'}"
            raise PolymlTypeError(
                f"`{_source_name(expr.array)}` has {dimensions(array.ndim)}, and {given} given",
                loc=expr.loc,
                notes=["accepted: one subscript per dimension"],
            )
        whole = Value(dataclasses.replace(expr, indices=indices, part="", dtype=array.element), of_type(array.element))
        return function_rules.call(syntax.Call(expr.part, (expr,), loc=expr.loc), (whole,)) if expr.part else whole

    def _integer(self, expr: syntax.Expr, what: str) -> syntax.Expr:
        """As PYINT: what Python's __index__ takes."""
        value = self._value(expr)
        if not value.known:
            return expr
        if not all(k.is_integer for k in value.kinds):
            raise PolymlTypeError(f"{what} must be an integer, not {value}", loc=expr.loc, notes=["accepted: an int, or int(x)"])
        return converted(value, PYINT)

    def _condition(self, expr: syntax.Expr) -> syntax.Expr:
        """As BOOL: what `if` makes of it. Only truth counts here, so `and` and `or` need no common type."""
        match expr:
            case syntax.Logical():
                return dataclasses.replace(expr, operands=tuple(map(self._condition, expr.operands)), dtype=BOOL)
            case syntax.Unary(op="not"):
                return dataclasses.replace(expr, operand=self._condition(expr.operand), dtype=BOOL)
        value = self._value(expr)
        return truth(value.expr) if value.known else expr

    def _logical(self, expr: syntax.Logical) -> Value:
        """`a and b` is b if a else a: one of the operands, not a truth value."""
        values = tuple(map(self._value, expr.operands))
        if not all(v.known for v in values):
            return UNKNOWN
        if all(v.dtype == BOOL for v in values):
            typed = dataclasses.replace(expr, operands=tuple(v.expr for v in values), dtype=BOOL)
            return Value(typed, union(v.kinds for v in values))
        *before, result = values
        for value in reversed(before):
            then, orelse = (result, value) if expr.op == "and" else (value, result)
            result = self._choice(expr, truth(value.expr), then, orelse)
            if not result.known:
                return UNKNOWN
        return result

    def _choice(self, expr: syntax.Expr, condition: syntax.Expr, then: Value, orelse: Value) -> Value:
        parts = self._common(expr, (then, orelse))
        if parts is None:
            return UNKNOWN
        typed, kinds = parts
        return Value(syntax.IfExp(condition, *typed, dtype=typed[0].dtype, loc=expr.loc), kinds)

    def _where(self, expr: syntax.Call) -> Value:
        """np.where: a choice in the type that NumPy promotes both values to."""
        condition, then, orelse = self._condition(expr.args[0]), self._value(expr.args[1]), self._value(expr.args[2])
        if not then.known or not orelse.known:
            return UNKNOWN
        common = function_rules.call(syntax.Call("where", expr.args[1:], loc=expr.loc), (then, orelse))
        typed = tuple(converted(v, common.dtype) for v in (then, orelse))
        return Value(syntax.IfExp(condition, *typed, dtype=common.dtype, loc=expr.loc), common.kinds)

    def _clip(self, expr: syntax.Call) -> Value:
        """np.clip, in the type that NumPy promotes all three operands to."""
        common = function_rules.call(expr, tuple(map(self._value, expr.args)))
        if not common.known or not isinstance(common.expr, syntax.Call):
            return UNKNOWN
        number, low, high = (Value(part, common.kinds) for part in common.expr.args)
        least = function_rules.call(syntax.Call("maximum", expr.args[:2], loc=expr.loc), (number, low))
        return function_rules.call(syntax.Call("minimum", expr.args[1:], loc=expr.loc), (least, high))

    def _wide(self, value: Value) -> Value:
        """A factor of a sum of products: float16 and bfloat16 as float32."""
        is_half = len(value.kinds) == 1 and value.dtype in HALVES
        return Value(converted(value, F32), of_type(F32)) if is_half else value

    def _extremum(self, expr: syntax.Binary) -> Value:
        left, right = self._value(expr.left), self._value(expr.right)
        parts = self._common(expr, (left, right))
        return UNKNOWN if parts is None else rules.extremum(expr, left, right, *parts)

    def _common(self, expr: syntax.Expr, values: tuple[Value, Value]) -> tuple[tuple[syntax.Expr, syntax.Expr], Kinds] | None:
        """The values in one type that holds each exactly, and its kinds; None while that is not known."""
        if not all(v.known for v in values):
            return None
        kinds = union(v.kinds for v in values)
        dtype = storage(kinds)
        if dtype is None:
            if not self._final:
                return None
            raise PolymlTypeError(
                f"the result is {' or '.join(map(str, values))}: no type holds both",
                loc=expr.loc,
                notes=["accepted: operands of one type; convert one, for instance np.float64(x)"],
            )
        left, right = values
        return (held(left, dtype), held(right, dtype)), kinds


def _place(target: Value) -> Value:
    """The element, or the part of one, that is assigned."""
    match target.expr:
        case syntax.Subscript():
            return target
        case syntax.Call(function="real" | "imag" as part, args=(syntax.Subscript() as element,)):
            return Value(dataclasses.replace(element, part=part, dtype=target.dtype), target.kinds)
    raise PolymlTypeError(
        "the imaginary part of a real number is assigned", loc=target.expr.loc, notes=["accepted: one of a complex number"]
    )


def _loops_around(body: Sequence[Stmt], around: tuple[syntax.For, ...]) -> Iterator[tuple[int, tuple[syntax.For, ...]]]:
    """(the identity of a statement, the loops around it), of all statements."""
    for stmt in body:
        yield id(stmt), around
        match stmt:
            case syntax.For():
                yield from _loops_around(stmt.body, (*around, stmt))
            case syntax.If():
                yield from _loops_around((*stmt.then, *stmt.orelse), around)


def _source_name(name: str) -> str:
    return name.partition(".")[0]


def _check_constants(body: Sequence[Stmt]) -> None:
    """A Python int that stays one is held in 64 bits."""
    for stmt in statements(body):
        targets = (stmt.target,) if isinstance(stmt, syntax.Assign) else ()
        for expr in (*traversal.expressions(stmt), *targets):
            for node in traversal.nodes(expr):
                if isinstance(node, syntax.Const) and node.dtype == PYINT and node.value not in integer_range(PYINT):
                    raise PolymlOverflowError(
                        "this Python int does not fit 64 bits", loc=node.loc, notes=["accepted: -2**63 to 2**63 - 1"]
                    )
