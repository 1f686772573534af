"""Python's syntax tree -> the grammar of `syntax`. The one place that knows Python's `ast`.

Decisions that the grammar alone does not tell:

* A global or closure value is taken when the kernel is parsed: a number becomes a constant, and a condition made of constants
  keeps its live branch only (the other one is not even looked at), as `if VERBOSE: ...` suggests.
* `a = b = v` and `a, b = x, y` evaluate the right side once and first, through temporaries unless constants make them needless.
* A `while`, `break`, `continue`, early `return` or a loop over something that is not a range is legal Python that is not affine:
  NotAffineError. What is outside the language altogether is a LanguageError.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from types import FunctionType, ModuleType

import numpy as np

from polyml.dtypes import BOOL, F64, I64, PYBOOL, PYFLOAT, PYINT, DType
from polyml.errors import LanguageError, NotAffineError
from polyml.frontend import functions, names, syntax
from polyml.frontend.captures import MISSING, Captured, Scope
from polyml.frontend.constant import constant
from polyml.frontend.text import Text, text_of
from polyml.frontend.walk import nodes
from polyml.source import Loc

_BINARY = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip
_UNARY = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not"}
_COMPARE = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
_CASTS = {float: PYFLOAT, int: PYINT, bool: PYBOOL}
_ELEMENTS = {float: F64, int: I64, bool: BOOL}

_STATEMENTS = "the language has for, if, assignments, pass and a final return"
_ARRAYS_LATER = "NumPy array expressions are not part of the language yet: write the loops over the elements"
_OUTSIDE = {
    ast.While: "a while loop",
    ast.Break: "break",
    ast.Continue: "continue",
}
_SPELLED = {
    ast.With: "a with statement", ast.Try: "try", ast.Raise: "raise", ast.Assert: "assert", ast.Delete: "del",
    ast.Import: "import", ast.ImportFrom: "import", ast.Global: "global", ast.Nonlocal: "nonlocal",
    ast.FunctionDef: "a function inside a kernel", ast.ClassDef: "a class inside a kernel", ast.Lambda: "a lambda",
    ast.ListComp: "a comprehension", ast.SetComp: "a comprehension", ast.DictComp: "a comprehension",
    ast.GeneratorExp: "a generator", ast.NamedExpr: "an assignment expression", ast.JoinedStr: "a string",
    ast.List: "a list", ast.Tuple: "a tuple", ast.Dict: "a dict", ast.Set: "a set", ast.Starred: "unpacking with *",
    ast.Yield: "yield", ast.YieldFrom: "yield", ast.Await: "await", ast.AsyncFor: "async for", ast.AsyncWith: "async with",
    ast.AsyncFunctionDef: "a function inside a kernel", ast.Slice: "a slice",
}  # fmt: skip


def parse(function: FunctionType) -> syntax.Kernel:
    """The untyped kernel that a Python function is.

    Raises LanguageError, with the place and what would be accepted, for what the language does not have; NotAffineError where plain Python
    can run it.
    """
    return parse_with_captured(function)[0]


def captured(function: FunctionType) -> tuple[Captured, ...]:
    """The globals, builtins and closure values that the meaning of `function` depends on."""
    return parse_with_captured(function)[1]


def parse_with_captured(function: FunctionType) -> tuple[syntax.Kernel, tuple[Captured, ...]]:
    """Both at once."""
    parser = _Parser(function, text_of(function))
    return parser.kernel(), parser.scope.captured


class _Parser:
    def __init__(self, function: FunctionType, text: Text):
        self.function, self.text, self.scope = function, text, Scope(function)
        code = function.__code__
        self.locals = frozenset((*code.co_varnames, *code.co_cellvars))
        self._taken = {*self.locals, *code.co_names, *code.co_freevars}
        self._loops: list[str] = []
        self._renamed: dict[str, str] = {}  # an inner `for _` inside a `for _`

    def kernel(self) -> syntax.Kernel:
        params = self._params(self.text.tree.args)
        body = tuple(self._top_level(self.text.tree.body))
        body = names.resolved(params, body)
        return syntax.Kernel(self.function.__name__, params, body, self.text.source)

    def _top_level(self, stmts: Sequence[ast.stmt]) -> list[syntax.Stmt]:
        body: list[syntax.Stmt] = []
        for position, stmt in enumerate(stmts):
            if not isinstance(stmt, ast.Return):
                body += self._stmt(stmt)
                continue
            if position + 1 < len(stmts):
                raise self._error(stmts[position + 1], "this never runs: it stands after return", _STATEMENTS)
            body.append(self._return(stmt))
        return body

    def _params(self, args: ast.arguments) -> tuple[syntax.Param, ...]:
        for star, what in ((args.vararg, "*"), (args.kwarg, "**")):
            if star is not None:
                raise self._error(star, f"a kernel cannot take {what}{star.arg}", "name every parameter")
        defaults = [*(self.function.__defaults__ or ()), *(self.function.__kwdefaults__ or {}).values()]
        written = [*args.defaults, *(d for d in args.kw_defaults if d is not None)]
        for value, node in zip(defaults, written):
            if _number(value) is None:
                raise self._error(
                    node, "the default of a kernel's parameter must be a number", "an int, float, bool or NumPy scalar"
                )
        everything = (*args.posonlyargs, *args.args, *args.kwonlyargs)
        return tuple(syntax.Param(a.arg, loc=self._name_loc(a)) for a in everything)

    def _name_loc(self, arg: ast.arg) -> Loc:
        loc = self.text.loc(arg)  # with its annotation
        return Loc(loc.source, loc.line, loc.column, len(arg.arg))

    # Statements

    def _body(self, stmts: Sequence[ast.stmt]) -> tuple[syntax.Stmt, ...]:
        return tuple(made for stmt in stmts for made in self._stmt(stmt))

    def _stmt(self, stmt: ast.stmt) -> Sequence[syntax.Stmt]:
        match stmt:
            case ast.For():
                return self._for(stmt)
            case ast.If():
                return self._if(stmt)
            case ast.Assign(targets=targets, value=value):
                return self._assign(stmt, targets, value)
            case ast.AnnAssign(target=target, value=value):
                return () if value is None else self._assign(stmt, [target], value)
            case ast.AugAssign():
                return (self._augmented(stmt),)
            case ast.Pass():
                return ()
            case ast.Expr(value=ast.Constant()):
                return ()
            case ast.Return():
                raise self._not_affine(stmt, "an early return", "return only as the last statement of the kernel")
        if type(stmt) in _OUTSIDE:
            raise self._not_affine(
                stmt, _OUTSIDE[type(stmt)], "write the iterations as `for ... in range(...)` and the choice as `if`"
            )
        if isinstance(stmt, ast.Expr):
            raise self._error(stmt, "this expression has no effect on the result", _STATEMENTS)
        raise self._error(stmt, f"{_what(stmt)} is not part of the language", _STATEMENTS)

    def _for(self, stmt: ast.For) -> Sequence[syntax.Stmt]:
        if not isinstance(stmt.target, ast.Name):
            raise self._not_affine(stmt.target, "a loop with several variables", "`for i in range(...)`")
        if not isinstance(stmt.iter, ast.Call) or self._value(stmt.iter.func) is not range:
            raise self._not_affine(stmt.iter, "a loop over something that is not a range", "`for i in range(...)`")
        start, stop, step = self._range(stmt.iter)
        var, outer = stmt.target.id, dict(self._renamed)
        if var in self._loops:
            if var != "_":
                raise self._error(
                    stmt.target,
                    f"`{var}` is the variable of a loop around this one",
                    "give each of the nested loops a variable of its own",
                )
            self._renamed[var] = self._fresh("_")
        self._loops.append(var)
        body = self._body(stmt.body)
        self._loops.pop()
        name, self._renamed = self._renamed.get(var, var), outer
        loop = syntax.For(name, start, stop, step, body, loc=self.text.loc(stmt, stmt.iter))
        return (loop, *self._body(stmt.orelse))

    def _range(self, call: ast.Call) -> tuple[syntax.Expr, syntax.Expr, int]:
        self._no_keywords(call, "range")
        if not 1 <= len(call.args) <= 3:
            raise self._error(
                call,
                f"range takes 1 to 3 numbers, not {len(call.args)}",
                "range(stop), range(start, stop) or range(start, stop, step)",
            )
        values = [self._expr(a) for a in call.args]
        if len(values) == 1:
            return syntax.Const(0, loc=self.text.loc(call)), values[0], 1
        if len(values) == 2:
            return values[0], values[1], 1
        step = constant(values[2])
        if isinstance(values[2], syntax.Const) and isinstance(values[2].value, np.integer):
            step = int(values[2].value)
        if type(step) is not int or step == 0:
            raise self._error(
                call.args[2],
                "the step of a range must be a constant that is not zero",
                "a literal, or a global or closure value that is an int",
            )
        return values[0], values[1], step

    def _if(self, stmt: ast.If) -> Sequence[syntax.Stmt]:
        condition = self._expr(stmt.test)
        known = constant(condition)
        if known is not MISSING:
            return self._body(stmt.body if known else stmt.orelse)
        return (syntax.If(condition, self._body(stmt.body), self._body(stmt.orelse), loc=condition.loc),)

    def _assign(self, stmt: ast.stmt, targets: Sequence[ast.expr], value: ast.expr) -> Sequence[syntax.Stmt]:
        loc = self.text.loc(stmt)
        allocation = self._allocation(value)
        if allocation is not None:
            return (self._alloc(value, targets, allocation, loc),)
        if len(targets) == 1 and isinstance(targets[0], (ast.Tuple, ast.List)):
            return self._unpack(targets[0], value, loc)
        for target in targets:
            if isinstance(target, (ast.Tuple, ast.List)):
                raise self._error(
                    target, "a chained assignment to several names is not part of the language", "one assignment each"
                )
        if isinstance(value, (ast.Tuple, ast.List)):
            raise self._error(
                value, f"{_what(value)} is not a number", "assign numbers, or as many targets as values: `a, b = x, y`"
            )
        result = self._expr(value)
        if len(targets) == 1:
            return (syntax.Assign(self._target(targets[0]), result, loc=loc),)
        if isinstance(result, syntax.Const):
            return [syntax.Assign(self._target(t), result, loc=loc) for t in targets]
        return self._through_temporaries([result], [(t, 0) for t in targets], loc)

    def _unpack(self, target: ast.Tuple | ast.List, value: ast.expr, loc: Loc) -> Sequence[syntax.Stmt]:
        if isinstance(value, ast.Attribute) and value.attr == "shape":
            array = self._array(value.value)
            return [
                syntax.Assign(
                    self._scalar_target(t),
                    syntax.Shape(array, dim, len(target.elts), loc=self.text.loc(value)),
                    loc=loc,
                )
                for dim, t in enumerate(target.elts)
            ]
        if not isinstance(value, (ast.Tuple, ast.List)):
            raise self._error(value, "this cannot be unpacked", "`a, b = x, y` or `n, m = A.shape`")
        if len(value.elts) != len(target.elts):
            raise self._error(
                value, f"{len(value.elts)} values for {len(target.elts)} targets", "as many values as targets"
            )
        values = [self._expr(v) for v in value.elts]
        targets = [self._target(t) for t in target.elts]
        if _independent(targets, values):
            return [syntax.Assign(t, v, loc=loc) for t, v in zip(targets, values)]
        return self._through_temporaries(values, [(t, k) for k, t in enumerate(target.elts)], loc)

    def _through_temporaries(self, values, targets, loc: Loc) -> list[syntax.Stmt]:
        """values: evaluated first, in order. targets: (target, index of its value), assigned from left to right."""
        held = [syntax.Name(self._fresh("_value"), loc=v.loc) for v in values]
        stores = [
            syntax.Assign(self._target(t), syntax.Name(held[k].name, loc=values[k].loc), loc=loc) for t, k in targets
        ]
        return [*(syntax.Assign(h, v, loc=loc) for h, v in zip(held, values)), *stores]

    def _augmented(self, stmt: ast.AugAssign) -> syntax.Stmt:
        op = _BINARY.get(type(stmt.op))
        loc = self.text.loc(stmt)
        if op is None:
            raise self._error(stmt, "@= is not part of the language", _ARRAYS_LATER)
        target = self._target(stmt.target)
        read = self._expr(stmt.target)
        return syntax.Assign(target, syntax.Binary(op, read, self._expr(stmt.value), loc=loc), loc=loc)

    def _target(self, node: ast.expr) -> syntax.Name | syntax.Subscript:
        if isinstance(node, ast.Subscript):
            target = self._expr(node)
            if isinstance(target, syntax.Subscript):
                return target
            raise self._error(node, "a shape cannot be assigned", "an element `A[i, j]` or a local number")
        return self._scalar_target(node)

    def _scalar_target(self, node: ast.expr) -> syntax.Name:
        if not isinstance(node, ast.Name):
            what = f"`.{node.attr}`" if isinstance(node, ast.Attribute) else _what(node)
            raise self._error(node, f"cannot assign to {what}", "an element `A[i, j]` or a local number")
        if node.id in self._loops:
            raise self._error(node, f"the loop variable `{node.id}` is assigned inside its loop", "use another name")
        if node.id not in self.locals:
            raise self._error(node, f"`{node.id}` is global: a kernel cannot assign it", "return the value instead")
        return syntax.Name(node.id, loc=self.text.loc(node))

    def _return(self, stmt: ast.Return) -> syntax.Return:
        value, loc = stmt.value, self.text.loc(stmt)
        if value is None or isinstance(value, ast.Constant) and value.value is None:
            return syntax.Return((), False, loc=loc)
        if self._allocation(value) is not None:
            raise self._error(
                value,
                "an array must have a name before it is returned",
                "`result = np.zeros(...)`, then `return result`",
            )
        if isinstance(value, ast.Tuple):
            return syntax.Return(tuple(map(self._expr, value.elts)), True, loc=loc)
        return syntax.Return((self._expr(value),), False, loc=loc)

    # Allocations

    def _allocation(self, node: ast.expr) -> str | None:
        """The NumPy name if `node` calls one of the functions that make an array."""
        if not isinstance(node, ast.Call):
            return None
        return _lookup(functions.ALLOCATIONS, self._value(node.func))

    def _alloc(self, call: ast.Call, targets: Sequence[ast.expr], function: str, loc: Loc) -> syntax.Alloc:
        if len(targets) != 1 or not isinstance(targets[0], ast.Name):
            raise self._error(call, f"np.{function} must be assigned to one name", f"`T = np.{function}(...)`")
        name = self._scalar_target(targets[0]).name
        first = "a" if function.endswith("_like") else "shape"
        slots = [first, "fill_value", "dtype"] if function.startswith("full") else [first, "dtype"]
        given = self._bound(call, f"np.{function}", slots)
        like = function.endswith("_like")
        shape = (
            syntax.Like(self._array(given[first]), loc=self.text.loc(given[first]))
            if like
            else self._shape(given[first])
        )
        fill = self._fill(function, given, call)
        element = self._element(given.get("dtype"), shape if like else None if function == "full" else F64)
        return syntax.Alloc(name, shape, element, fill, loc=loc)

    def _bound(self, call: ast.Call, function: str, slots: Sequence[str]) -> dict[str, ast.expr]:
        accepted = f"{function}({', '.join(slots)})"
        if len(call.args) > len(slots):
            raise self._error(
                call.args[len(slots)], f"{function} takes no more than {len(slots)} operands here", accepted
            )
        given = dict(zip(slots, call.args))
        for keyword in call.keywords:
            if keyword.arg not in slots or keyword.arg in given:
                raise self._error(keyword, f"{function} does not take {keyword.arg or '**'!s} here", accepted)
            given[keyword.arg] = keyword.value
        for slot in slots:
            if slot != "dtype" and slot not in given:
                raise self._error(call, f"{function} needs {slot}", accepted)
        return given

    def _shape(self, node: ast.expr) -> tuple[syntax.Expr, ...] | syntax.Like:
        if isinstance(node, ast.Attribute) and node.attr == "shape":
            return syntax.Like(self._array(node.value), loc=self.text.loc(node))
        if isinstance(node, (ast.Tuple, ast.List)):
            return tuple(map(self._expr, node.elts))
        return (self._expr(node),)

    def _fill(self, function: str, given: dict[str, ast.expr], call: ast.Call) -> syntax.Expr | None:
        if function.startswith("full"):
            return self._expr(given["fill_value"])
        constants = {"zeros": 0, "ones": 1}
        stem = function.removesuffix("_like")
        return syntax.Const(constants[stem], loc=self.text.loc(call)) if stem in constants else None

    def _element(self, node: ast.expr | None, default):
        if node is None or isinstance(node, ast.Constant) and node.value is None:
            return default
        if isinstance(node, ast.Attribute) and node.attr == "dtype" and self._is_local(node.value):
            return syntax.Like(self._array(node.value), loc=self.text.loc(node))
        value = node.value if isinstance(node, ast.Constant) else self._value(node)
        dtype = None if value is MISSING or value is None else functions.dtype_of(value)
        if dtype is None:
            raise self._error(
                node,
                "this is not an element type of the language",
                "float64, float32, int8 to int64, uint8 to uint64 or bool, or A.dtype",
            )
        return dtype

    # Expressions

    def _expr(self, node: ast.expr) -> syntax.Expr:
        loc = self.text.loc(node)
        match node:
            case ast.Constant(value=value):
                return self._constant(node, value)
            case ast.Name():
                return self._name(node)
            case ast.Attribute():
                return self._attribute(node)
            case ast.Subscript():
                return self._subscript(node)
            case ast.UnaryOp(op=op, operand=operand):
                return _negated(syntax.Unary(_UNARY[type(op)], self._expr(operand), loc=loc))
            case ast.BinOp(op=ast.MatMult()):
                raise self._error(node, "@ is not part of the language", _ARRAYS_LATER)
            case ast.BinOp(op=op, left=left, right=right):
                return syntax.Binary(_BINARY[type(op)], self._expr(left), self._expr(right), loc=loc)
            case ast.BoolOp(op=op, values=values):
                name = "and" if isinstance(op, ast.And) else "or"
                return syntax.Logical(name, tuple(map(self._expr, values)), loc=loc)
            case ast.Compare():
                return self._compare(node)
            case ast.IfExp():
                return self._choice(node)
            case ast.Call():
                return self._call(node)
        note = (
            _ARRAYS_LATER
            if isinstance(node, ast.Slice)
            else "numbers, elements of arrays, arithmetic, comparisons and functions of numbers"
        )
        raise self._error(node, f"{_what(node)} is not a number", note)

    def _constant(self, node: ast.expr, value: object) -> syntax.Const:
        number = _number(value)
        if number is None:
            raise self._error(
                node,
                f"{_described(value)} is not a number of the language",
                "int, float, bool, or a NumPy scalar of a type of the language",
            )
        return syntax.Const(number, loc=self.text.loc(node))

    def _name(self, node: ast.Name) -> syntax.Expr:
        name, loc = node.id, self.text.loc(node)
        if name in self.locals:
            return syntax.Name(self._renamed.get(name, name), loc=loc)
        value = self.scope.lookup(name)
        if value is MISSING:
            raise self._error(
                node,
                f"`{name}` is not defined",
                "a parameter, a local, or a global or closure value that exists when the kernel is compiled",
            )
        if isinstance(value, np.ndarray):
            raise self._error(node, f"`{name}` is an array from outside the kernel", "pass it as an argument")
        return self._constant(node, value)

    def _attribute(self, node: ast.Attribute) -> syntax.Expr:
        if self._is_local(node.value):
            notes = {"shape": "`A.shape[0]`, or `n, m = A.shape`", "T": _ARRAYS_LATER}
            raise self._error(
                node, f"`.{node.attr}` is not a number", notes.get(node.attr, "`A.shape[0]` and `len(A)`")
            )
        value = self._value(node)
        if value is MISSING:
            raise self._error(
                node, "this attribute is not part of the language", "attributes of numpy and math, and `A.shape[0]`"
            )
        return self._constant(node, value)

    def _subscript(self, node: ast.Subscript) -> syntax.Expr:
        base, groups = node, []
        while isinstance(base, ast.Subscript):
            groups.append(base.slice)
            base = base.value
        if isinstance(base, ast.Attribute) and base.attr == "shape" and len(groups) == 1:
            return self._shape_of(node, base)
        array = self._array(base)
        indices = [i for group in reversed(groups) for i in (group.elts if isinstance(group, ast.Tuple) else (group,))]
        return syntax.Subscript(array, tuple(map(self._index, indices)), loc=self.text.loc(node))

    def _index(self, node: ast.expr) -> syntax.Expr:
        if isinstance(node, ast.Slice):
            raise self._error(node, "a slice is not part of the language", _ARRAYS_LATER)
        if isinstance(node, ast.Constant) and (node.value is None or node.value is ...):
            raise self._error(
                node,
                f"`{node.value if node.value is None else '...'}` is not a subscript of the language",
                _ARRAYS_LATER,
            )
        return self._expr(node)

    def _shape_of(self, node: ast.Subscript, shape: ast.Attribute) -> syntax.Shape:
        array = self._array(shape.value)
        if isinstance(node.slice, ast.Slice):
            raise self._error(node.slice, "a slice of a shape is not part of the language", "`A.shape[0]`")
        dim = constant(self._expr(node.slice))
        if type(dim) is not int:
            raise self._error(node.slice, "the subscript of a shape must be a constant", "`A.shape[0]`")
        return syntax.Shape(array, dim, loc=self.text.loc(node))

    def _compare(self, node: ast.Compare) -> syntax.Expr:
        values = [self._expr(v) for v in (node.left, *node.comparators)]
        pairs = []
        sides = (node.left, *node.comparators)
        for position, op in enumerate(node.ops):
            if type(op) not in _COMPARE:
                raise self._error(node, "`is` and `in` are not part of the language", "< <= > >= == !=")
            loc = self.text.loc(sides[position], sides[position + 1])
            pairs.append(syntax.Compare(_COMPARE[type(op)], values[position], values[position + 1], loc=loc))
        return pairs[0] if len(pairs) == 1 else syntax.Logical("and", tuple(pairs), loc=self.text.loc(node))

    def _choice(self, node: ast.IfExp) -> syntax.Expr:
        condition = self._expr(node.test)
        known = constant(condition)
        if known is not MISSING:
            return self._expr(node.body if known else node.orelse)
        return syntax.IfExp(condition, self._expr(node.body), self._expr(node.orelse), loc=self.text.loc(node))

    # Calls

    def _call(self, node: ast.Call) -> syntax.Expr:
        if isinstance(node.func, ast.Attribute) and self._is_local(node.func.value):
            raise self._error(node, f"the method `.{node.func.attr}()` is not part of the language", _ARRAYS_LATER)
        function, name = self._value(node.func), ast.unparse(node.func)
        if isinstance(node.func, ast.Name) and function is MISSING:
            raise self._error(
                node.func,
                f"`{name}` is not a function here",
                "the elementwise functions of numpy and math, min, max, abs, len, float, int, bool",
            )
        special = self._special(function)
        if special is not None:
            self._no_keywords(node, name)
            return special(node)
        known = _lookup(functions.FUNCTIONS, function)
        if known is not None:
            self._no_keywords(node, name)
            return self._elementwise(node, name, known)
        raise self._unknown(node, name, function)

    def _special(self, function: object) -> Callable[[ast.Call], syntax.Expr] | None:
        if function is len:
            return self._length
        if function is min or function is max:
            return self._extremum
        if _lookup(_CASTS, function) is not None or functions.is_numpy_type(function):
            return self._cast
        return None

    def _unknown(self, node: ast.Call, name: str, function: object) -> LanguageError:
        elementwise = "the elementwise functions of numpy and math, min, max, abs, len, float, int, bool"
        if function is range:
            return self._error(node, "a range is not a number", "`for i in range(...)`")
        if _lookup(functions.ALLOCATIONS, function) is not None:
            return self._error(
                node, "an array is made where a number is needed", f"`T = {name}(...)` as a statement of its own"
            )
        if isinstance(function, FunctionType) and not (function.__module__ or "").startswith("numpy"):
            return self._error(
                node, f"the call of `{name}` is not part of the language", "write its formula in place: " + elementwise
            )
        if self._is_numpy(node.func):
            return self._not_affine(node, f"`{name}`", elementwise)
        return self._error(node, f"`{name}` is not a function of the language", elementwise)

    def _length(self, node: ast.Call) -> syntax.Expr:
        if len(node.args) != 1:
            raise self._error(node, f"len takes one array, not {len(node.args)}", "`len(A)`")
        return syntax.Shape(self._array(node.args[0]), 0, loc=self.text.loc(node))

    def _extremum(self, node: ast.Call) -> syntax.Expr:
        name = self._value(node.func).__name__
        if len(node.args) < 2:
            raise self._error(node, f"{name} takes two or more numbers here", f"`{name}(a, b)`")
        first, *rest = map(self._expr, node.args)
        for operand in rest:
            first = syntax.Binary(name, first, operand, loc=self.text.loc(node))
        return first

    def _cast(self, node: ast.Call) -> syntax.Expr:
        function, name = self._value(node.func), ast.unparse(node.func)
        dtype = _lookup(_CASTS, function) or functions.dtype_of(function)
        if dtype is None:
            raise self._error(
                node.func,
                f"`{name}` is not a type of the language",
                "float64, float32, int8 to int64, uint8 to uint64 or bool",
            )
        if len(node.args) != 1:
            raise self._error(node, f"`{name}` takes one number, not {len(node.args)}", f"`{name}(x)`")
        argument = node.args[0]
        if function is float and isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            return self._constant(node, _float(argument.value))
        return syntax.Cast(self._expr(argument), dtype, loc=self.text.loc(node))

    def _elementwise(self, node: ast.Call, name: str, known: tuple[str, str, int]) -> syntax.Expr:
        function, module, operands = known
        if len(node.args) != operands:
            numbers = "one number" if operands == 1 else f"{operands} numbers"
            raise self._error(
                node, f"`{name}` takes {numbers} here, not {len(node.args)}", f"`{name}({', '.join('xy'[:operands])})`"
            )
        values = tuple(map(self._expr, node.args))
        if (function, module) == ("pow", "builtins"):
            return syntax.Binary("**", *values, loc=self.text.loc(node))
        return syntax.Call(function, values, module, loc=self.text.loc(node))

    def _no_keywords(self, node: ast.Call, name: str) -> None:
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                raise self._error(argument, "unpacking with * is not part of the language", "write the operands")
        for keyword in node.keywords:
            raise self._error(keyword, f"`{name}` takes no keywords here", f"`{name}(...)` of numbers alone")

    # Names

    def _is_local(self, node: ast.expr) -> bool:
        """True if an attribute of `node` is one of a parameter's or a local's."""
        while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
            node = node.func if isinstance(node, ast.Call) else node.value
        return isinstance(node, ast.Name) and node.id in self.locals

    def _is_numpy(self, node: ast.expr) -> bool:
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and node.id not in self.locals and self.scope.lookup(node.id) is np

    def _array(self, node: ast.expr) -> str:
        """The name of the array that `node` is."""
        if not isinstance(node, ast.Name):
            raise self._error(node, "only an array that has a name can be used here", "a parameter, or a local array")
        if node.id in self.locals:
            return self._renamed.get(node.id, node.id)
        value = self.scope.lookup(node.id)
        if isinstance(value, np.ndarray):
            raise self._error(node, f"`{node.id}` is an array from outside the kernel", "pass it as an argument")
        what = "is not defined" if value is MISSING else f"is {_described(value)}, not an array"
        raise self._error(node, f"`{node.id}` {what}", "an array that is a parameter or a local")

    def _value(self, node: ast.expr) -> object:
        """What a global name, or an attribute of numpy or math, is; MISSING for everything else."""
        if isinstance(node, ast.Name):
            return MISSING if node.id in self.locals else self.scope.lookup(node.id)
        if not isinstance(node, ast.Attribute):
            return MISSING
        owner = self._value(node.value)
        known = isinstance(owner, ModuleType) and owner.__name__.partition(".")[0] in ("numpy", "math")
        return getattr(owner, node.attr, MISSING) if known else MISSING

    def _fresh(self, stem: str) -> str:
        number = next(n for n in range(1, len(self._taken) + 2) if f"{stem}{n}" not in self._taken)
        self._taken.add(f"{stem}{number}")
        return f"{stem}{number}"

    def _error(self, node: ast.AST, message: str, accepted: str) -> LanguageError:
        return LanguageError(message, loc=self.text.loc(node), notes=[f"accepted: {accepted}"])

    def _not_affine(self, node: ast.AST, what: str, accepted: str) -> NotAffineError:
        return NotAffineError(
            f"{what} is not affine control", loc=self.text.loc(node), notes=[f"polyml compiles: {accepted}"]
        )


def _independent(targets: Sequence[syntax.Name | syntax.Subscript], values: Sequence[syntax.Expr]) -> bool:
    """True if `a, b = x, y` may run as `a = x; b = y`: nothing that is assigned is read afterwards."""
    for position, target in enumerate(targets):
        written = target.name if isinstance(target, syntax.Name) else target.array
        later = [
            *values[position + 1 :],
            *(i for t in targets[position + 1 :] if isinstance(t, syntax.Subscript) for i in t.indices),
        ]
        arrays_alias = isinstance(target, syntax.Subscript)
        for node in (n for expr in later for n in nodes(expr)):
            if isinstance(node, syntax.Name) and node.name == written:
                return False
            if isinstance(node, syntax.Subscript) and (arrays_alias or node.array == written):
                return False
    return True


def _negated(unary: syntax.Unary) -> syntax.Expr:
    """-1 as a constant of its own, so that it is one to type inference and -2**63 fits."""
    operand = unary.operand
    if unary.op == "-" and isinstance(operand, syntax.Const) and type(operand.value) in (int, float):
        return syntax.Const(-operand.value, loc=unary.loc)
    return unary


def _number(value: object) -> object | None:
    """`value` if it is a number of the language, else None."""
    if type(value) in (int, float, bool):
        return value
    if isinstance(value, np.generic) and functions.dtype_of(type(value)) is not None:
        return value
    return None


def _float(text: str) -> object:
    try:
        return float(text)
    except ValueError:
        return text


def _lookup(table: dict, key: object):
    try:
        return table.get(key)
    except TypeError:  # not hashable
        return None


def _what(node: ast.AST) -> str:
    if type(node) in _SPELLED:
        return _SPELLED[type(node)]
    return f"{type(node).__name__}"


def _described(value: object) -> str:
    name = getattr(value, "__name__", None)
    if isinstance(value, ModuleType):
        return f"the module `{name}`"
    if isinstance(value, type):
        return f"the type `{name}`"
    if callable(value) and isinstance(name, str):
        return f"the function `{name}`"
    return f"{value!r}" if isinstance(value, (str, complex, type(None))) else f"a {type(value).__name__}"
