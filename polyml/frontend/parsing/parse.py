"""A Python function -> Kernel. Python's `ast` is known here (statements), in `expressions` and in `allocations` alone.

Decisions that the grammar does not tell:

* A global or closure value is taken when the kernel is parsed: a number becomes a constant, and a condition made of
  constants keeps its live branch only (the other one is not even looked at), as `if VERBOSE: ...` suggests.
* `a = b = v` and `a, b = x, y` evaluate the right side once and first, through temporaries where it matters.
* An annotation means nothing. The `else` of a loop always runs, as there is no break.
* The call of a Python function is replaced by its statements, its locals renamed. A parameter whose argument is a
  constant of any kind (None, text, a function) is that constant, so that `if bias is None` is decided here.
* A `while`, `break`, `continue`, a `return` in a loop, a loop over something that is not a range, and NumPy functions
  that are not known are legal Python that is not affine: NotAffineError. What is outside the language altogether is a
  LanguageError.
"""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import FunctionType

import numpy as np

from polyml.errors import LanguageError
from polyml.frontend import elementwise_functions, name_resolution, syntax
from polyml.frontend.attributes import AttributeReplacer, liftable_attributes
from polyml.frontend.captures import MISSING, Captured
from polyml.frontend.constant_folding import constant
from polyml.frontend.parsing import array_signatures, inlining, single_exit
from polyml.frontend.parsing.allocations import alloc, allocation
from polyml.frontend.parsing.expressions import BINARY, Expressions, Inlined, is_number, lookup, spelled
from polyml.frontend.parsing.source_text import last_line, text_of
from polyml.frontend.traversal import name_of, nodes, operands
from polyml.source import Loc

_STATEMENTS = "for, if, assignments, pass, and return at the end"
_RANGES = "`for i in range(...)`"
_STORES = "an element `A[i, j]`, a part of an array `A[1:]`, or a local name"
_OUTSIDE = {
    ast.While: ("a while loop is not static control", _RANGES),
    ast.Break: ("break is not static control", "loops that run all of their range, with `if` inside"),
    ast.Continue: ("continue is not static control", "loops that run all of their range, with `if` inside"),
}


def parse(function: FunctionType) -> syntax.Kernel:
    """The untyped kernel that a Python function is.

    Raises LanguageError, with the place and what would be accepted, for what the language does not have;
    NotAffineError, which is one, where plain Python can run it.
    """
    return parse_with_captured(function)[0]


def captured(function: FunctionType) -> tuple[Captured, ...]:
    """The globals, builtins and closure values that the meaning of `function` depends on."""
    return parse_with_captured(function)[1]


def parse_with_captured(function: FunctionType) -> tuple[syntax.Kernel, tuple[Captured, ...]]:
    """Both at once."""
    parser = _Parser(function)
    return parser.kernel(), parser.read.scope.captured


@dataclass(frozen=True)
class Refused:
    """place: the statement of the function that is refused. problem: why, perhaps at a place in a function that it calls."""

    place: Loc
    problem: LanguageError


@dataclass(frozen=True)
class Refusals:
    """statements: all that the language does not have, in order. captured: what that depends on. objects: the parameters of which at
    most attributes are read, so that they may be any object. whole: the function is refused whatever its statements are.
    """

    statements: tuple[Refused, ...]
    captured: tuple[Captured, ...]
    objects: frozenset[str]
    whole: bool = False


NOTHING = Refusals((), (), frozenset())


def refused(function: FunctionType) -> Refusals:
    """What of a function the language does not have.

    Raises LanguageError for a function that has no text, or parameters that the language does not have.
    """
    parser = _Parser(function, collects=True)
    try:
        parser.kernel()
    except LanguageError as problem:
        if not parser.problems:
            if problem.loc is None or not parser.has(problem.loc):
                raise
            parser.problems.append(Refused(problem.loc, problem))
    return Refusals(tuple(parser.problems), parser.read.scope.captured, parser.objects)


class _Parser:
    """Reads one function. caller: the parser of the function that it is inlined into.

    collects: statements that are refused are noted as `problems` and left out.
    """

    def __init__(self, function: FunctionType, caller: _Parser | None = None, *, collects: bool = False):
        self._function, self._caller, self._collects = function, caller, collects
        self.problems: list[Refused] = []
        self._text = text_of(function)
        code = function.__code__
        taken = {*code.co_varnames, *code.co_cellvars, *code.co_names, *code.co_freevars}
        values = liftable_attributes(self._text.tree, taken) if collects else {}
        if values:  # which parts of the function take as they take arguments
            self._text = replace(self._text, tree=AttributeReplacer(values).visit(copy.deepcopy(self._text.tree)))
        self.read: Expressions = Expressions(
            function, self._text, caller.read.taken if caller else taken, self._inlined, self._allocated
        )
        self._attributes = values.keys()
        self.read.locals |= self._attributes
        self._loops: list[str] = []  # the variables of the loops around
        self._branches = 0  # how many conditions are around
        self._first: ast.expr | None = None  # the call that a statement evaluates before anything else

    def kernel(self) -> syntax.Kernel:
        params = (*self._params(self._text.tree.args), *(syntax.Param(name, loc=None) for name in self._attributes))
        body = self._body(self._text.tree.body)
        end = single_exit.single(body, self.read.fresh)
        if end is not None:
            body = (*end.body, syntax.Return(end.values, end.is_tuple, loc=end.loc))
        return syntax.Kernel(self._function.__name__, params, name_resolution.resolved(params, body), self._text.source)

    def has(self, loc: Loc) -> bool:
        """Whether the place is in the function's own statements."""
        tree, shift = self._text.tree, self._text.shift
        return loc.source.file == self._text.source.file and tree.body[0].lineno <= loc.line - shift <= last_line(tree)

    @property
    def objects(self) -> frozenset[str]:
        """The parameters that stand nowhere for themselves."""
        tree = self._text.tree
        used = {n.id for stmt in tree.body for n in ast.walk(stmt) if isinstance(n, ast.Name)}
        return frozenset(a.arg for a in (*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs)) - used

    # Calls of Python functions

    def _inlined(self, call: ast.Call) -> Inlined:
        function, loc = self.read.python_function(call), self._text.loc(call)
        if function is None:
            raise TypeError(f"not a call of a Python function: {ast.unparse(call)}")
        if any(parser._function is function for parser in self._chain):
            raise self.read.not_affine(call, f"`{function.__name__}` calls itself", "functions that do not", "PML-F009")
        callee = _Parser(function, self)
        first = callee._bound(self, inlining.given(self.read, call, function, callee._text.tree.args))
        try:
            body = callee._body(callee._text.tree.body)
            end = single_exit.single(body, self.read.fresh)
        except LanguageError as problem:
            called = f"`{function.__name__}` is called at {loc}"
            raise problem.noted(called) from None
        if call is not self._first and inlining.changes(body, callee._parameters):
            raise self.read.not_affine(
                call,
                f"`{function.__name__}`, which changes its arguments, is called inside an expression",
                "`f(A)` and `x = f(A)` as statements of their own",
            )
        self.read.before += [*first, *(body if end is None else end.body)]
        return Inlined((), False) if end is None else Inlined(end.values, end.is_tuple)

    @property
    def _chain(self) -> Iterator[_Parser]:
        parser: _Parser | None = self
        while parser is not None:
            yield parser
            parser = parser._caller

    def _bound(self, caller: _Parser, given: Mapping[str, ast.expr | inlining.Default]) -> list[syntax.Stmt]:
        """The assignments to the parameters, by the caller; the names of the locals are chosen here.

        A parameter that is never assigned needs no name of its own where the argument has one or is constant.
        """
        assigned, read = inlining.assigned(self._text.tree), self.read
        first: list[syntax.Stmt] = []
        for name, argument in given.items():
            expr: syntax.Expr | None = None
            value = argument.value if isinstance(argument, inlining.Default) else caller.read.constant(argument)
            if value is MISSING and not isinstance(argument, inlining.Default):
                expr = caller.read.expr(argument)
                value = expr.value if isinstance(expr, syntax.Const) else MISSING
            if value is not MISSING and not (name in assigned and is_number(value)):
                read.known[name] = value
                continue
            if isinstance(expr, syntax.Name) and name not in assigned:
                read.renamed[name] = expr.name
                continue
            read.renamed[name] = name_resolution.unused(name, read.taken)
            held = syntax.Const(value) if expr is None else expr
            first.append(syntax.Assign(syntax.Name(read.renamed[name], loc=held.loc), held, loc=held.loc))
        self._parameters = set(read.renamed.values())
        for name in sorted(read.locals - read.renamed.keys()):
            read.renamed[name] = name_resolution.unused(name, read.taken)
        return first

    def _params(self, args: ast.arguments) -> tuple[syntax.Param, ...]:
        for star, what in ((args.vararg, "*"), (args.kwarg, "**")):
            if star is not None:
                raise self.read.error(star, f"a kernel cannot take {what}{star.arg}", "parameters with names", "PML-F014")
        values = (*(self._function.__defaults__ or ()), *(self._function.__kwdefaults__ or {}).values())
        written = (*args.defaults, *(d for d in args.kw_defaults if d is not None))
        for value, node in zip(values, written):
            if not is_number(value):
                raise self.read.error(node, "the default of a parameter must be a number", "an int, float, bool or NumPy scalar")
        everything = (*args.posonlyargs, *args.args, *args.kwonlyargs)
        return tuple(syntax.Param(a.arg, loc=self._name_loc(a)) for a in everything)

    def _name_loc(self, arg: ast.arg) -> Loc:
        loc = self._text.loc(arg)  # with its annotation
        return Loc(loc.source, loc.line, loc.column, len(arg.arg))

    def _body(self, stmts: Sequence[ast.stmt]) -> tuple[syntax.Stmt, ...]:
        for stmt, after in itertools.pairwise(stmts):
            if isinstance(stmt, ast.Return):
                raise self.read.error(after, "this never runs: it stands after return", _STATEMENTS)
        return tuple(made for stmt in stmts for made in self._stmt(stmt))

    def _stmt(self, stmt: ast.stmt) -> Sequence[syntax.Stmt]:
        outer, self.read.before = self.read.before, []
        reads_first = isinstance(stmt, ast.AugAssign) and not isinstance(stmt.target, ast.Name)
        self._first = None if reads_first else getattr(stmt, "value", None)
        made = self._noted(stmt) if self._collects else self._made(stmt)
        made, self.read.before = (*self.read.before, *made), outer
        return made

    def _noted(self, stmt: ast.stmt) -> Sequence[syntax.Stmt]:
        """What the statement becomes; nothing where it is refused, after a look at what is inside it."""
        loops, known, renamed = list(self._loops), dict(self.read.known), self.read.renamed
        try:
            return self._made(stmt)
        except LanguageError as problem:
            self.problems.append(Refused(self._text.loc(stmt), problem))
        self._loops, self.read.known, self.read.renamed, self.read.before = loops, known, renamed, []
        if isinstance(stmt, (ast.For, ast.While, ast.If)):
            for part in (*stmt.body, *stmt.orelse):
                self._stmt(part)
        return ()

    def _made(self, stmt: ast.stmt) -> Sequence[syntax.Stmt]:
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
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                return ()
            case ast.Return():
                return (self._return(stmt),)
            case ast.Expr(value=ast.Call() as call) if self.read.python_function(call):
                self.read.call(call)
                return ()
            case ast.Expr(value=ast.Call() as call) if (stored := self._stored(call)) is not None:
                return (stored,)
        if type(stmt) in _OUTSIDE:
            raise self.read.not_affine(stmt, *_OUTSIDE[type(stmt)])
        called = stmt.value if isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call) else None
        if called is not None and (self.read.is_local(called) or self.read.is_numpy(called.func)):
            raise self.read.not_affine(stmt, "a call that is a statement is not an affine one", _STATEMENTS, "PML-F010")
        if isinstance(stmt, ast.Expr):
            raise self.read.error(stmt, "this expression has no effect on the result", _STATEMENTS, "PML-F010" if called else None)
        raise self.read.error(stmt, f"{spelled(stmt)} is not part of the language", _STATEMENTS)

    # Control

    def _for(self, stmt: ast.For) -> Sequence[syntax.Stmt]:
        if isinstance(stmt.target, ast.Name) and isinstance(stmt.iter, ast.Name) and self.read.is_local(stmt.iter):
            return self._for_rows(stmt)
        if not isinstance(stmt.target, ast.Name):
            raise self.read.not_affine(stmt.target, "a loop with this target is not static control", _RANGES, "PML-F008")
        if not isinstance(stmt.iter, ast.Call) or self.read.value(stmt.iter.func) is not range:
            raise self.read.not_affine(
                stmt.iter, "a loop over something that is not a range is not static control", _RANGES, "PML-F008"
            )
        start, stop, step = self._range(stmt.iter)
        var, outer = stmt.target.id, self.read.renamed
        if var in self._loops:
            if var != "_":
                raise self.read.error(
                    stmt.target,
                    f"`{var}` is the variable of a loop around this one",
                    "a variable of its own for each nested loop",
                )
            self.read.renamed = {**outer, var: self.read.fresh("_")}
        self._loops.append(var)
        body = self._body(stmt.body)
        self._loops.pop()
        name, self.read.renamed = self.read.renamed.get(var, var), outer
        loop = syntax.For(name, start, stop, step, body, loc=self._text.loc(stmt, stmt.iter))
        return (loop, *self._body(stmt.orelse))

    def _for_rows(self, stmt: ast.For) -> Sequence[syntax.Stmt]:
        """for row in A: a loop over the first dimension, each row bound first."""
        array, loc = self.read.array(stmt.iter), self._text.loc(stmt, stmt.iter)
        bound = {n.id for part in stmt.body for n in ast.walk(part) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        if isinstance(stmt.iter, ast.Name) and stmt.iter.id in bound:  # the rows are those of the array that it was
            rows = syntax.Name(self.read.fresh("_rows"), loc=loc)
            self.read.before.append(syntax.Assign(rows, syntax.Name(array, loc=loc), loc=loc))
            array = rows.name
        index = syntax.Name(self.read.fresh("_row"), loc=loc)
        row = syntax.Part(syntax.Name(array, loc=loc), (index,), loc=loc)
        self._loops.append(index.name)
        first = syntax.Assign(self._local(stmt.target), row, loc=loc)
        body = (first, *self._body(stmt.body))
        self._loops.pop()
        size = syntax.Shape(array, 0, loc=loc)
        loop = syntax.For(index.name, syntax.Const(0, loc=loc), size, 1, body, loc=loc)
        return (loop, *self._body(stmt.orelse))

    def _range(self, call: ast.Call) -> tuple[syntax.Expr, syntax.Expr, int]:
        self.read.no_keywords(call, "range")
        if not 1 <= len(call.args) <= 3:
            raise self.read.error(
                call,
                f"range takes 1 to 3 numbers, not {len(call.args)}",
                "range(stop), range(start, stop), range(start, stop, step)",
            )
        values = [self.read.expr(a) for a in call.args]
        if len(values) == 1:
            return syntax.Const(0, loc=self._text.loc(call)), values[0], 1
        return values[0], values[1], self._step(call.args[2], values[2]) if len(values) == 3 else 1

    def _step(self, node: ast.expr, value: syntax.Expr) -> int:
        step = constant(value)
        if isinstance(value, syntax.Const) and isinstance(value.value, np.integer):
            step = int(value.value)
        if type(step) is not int or step == 0:
            raise self.read.error(
                node,
                "the step of a range must be a constant that is not zero",
                "a literal, or a global or closure value that is an int",
            )
        return step

    def _if(self, stmt: ast.If) -> Sequence[syntax.Stmt]:
        condition = self.read.expr(stmt.test)
        known = constant(condition)
        if known is not MISSING:
            return self._body(stmt.body if known else stmt.orelse)
        self._branches += 1
        then, orelse = self._body(stmt.body), self._body(stmt.orelse)
        self._branches -= 1
        return (syntax.If(condition, then, orelse, loc=condition.loc),)

    def _return(self, stmt: ast.Return) -> syntax.Return:
        value, loc = stmt.value, self._text.loc(stmt)
        if value is None or isinstance(value, ast.Constant) and value.value is None:
            return syntax.Return((), False, loc=loc)
        if isinstance(value, ast.Tuple):
            return syntax.Return(tuple(map(self.read.expr, value.elts)), True, loc=loc)
        if isinstance(value, ast.Call) and self.read.python_function(value):
            result = self.read.call(value)
            return syntax.Return(result.values, result.is_tuple, loc=loc)
        return syntax.Return((self.read.expr(value),), False, loc=loc)

    # Assignments

    def _assign(self, stmt: ast.stmt, targets: Sequence[ast.expr], value: ast.expr) -> Sequence[syntax.Stmt]:
        loc = self._text.loc(stmt)
        if (
            isinstance(value, ast.Call)
            and allocation(self.read, value) is not None
            and len(targets) == 1
            and isinstance(targets[0], ast.Name)
        ):
            return (alloc(self.read, self._local(targets[0]).name, value, loc),)
        if len(targets) == 1 and isinstance(targets[0], (ast.Tuple, ast.List)):
            return self._unpack(targets[0], value, loc)
        result = self.read.expr(value)
        if len(targets) == 1 or isinstance(result, syntax.Const):
            return [syntax.Assign(self._target(t), result, loc=loc) for t in targets]
        return self._through_temporaries([result], [(t, 0) for t in targets], loc)

    def _allocated(self, call: ast.Call) -> syntax.Name:
        """An array made inside an expression."""
        loc = self._text.loc(call)
        made = alloc(self.read, self.read.fresh("_new"), call, loc)
        self.read.before.append(made)
        return syntax.Name(made.name, loc=loc)

    def _unpack(self, target: ast.Tuple | ast.List, value: ast.expr, loc: Loc) -> Sequence[syntax.Stmt]:
        if isinstance(value, ast.Attribute) and value.attr == "shape":
            array, ndim = self.read.array(value.value), len(target.elts)
            shapes = [syntax.Shape(array, dim, ndim, loc=self._text.loc(value)) for dim in range(ndim)]
            return [syntax.Assign(self._local(t), shape, loc=loc) for t, shape in zip(target.elts, shapes)]
        values = self._values(value)
        if len(values) != len(target.elts):
            raise self.read.error(value, f"{len(values)} values for {len(target.elts)} targets", "as many values as targets")
        targets = [self._target(t) for t in target.elts]
        if _independent(targets, values):
            return [syntax.Assign(t, v, loc=loc) for t, v in zip(targets, values)]
        return self._through_temporaries(values, [(t, k) for k, t in enumerate(target.elts)], loc)

    def _values(self, value: ast.expr) -> list[syntax.Expr]:
        """The parts of a tuple."""
        if isinstance(value, (ast.Tuple, ast.List)):
            return [self.read.expr(v) for v in value.elts]
        called = value if isinstance(value, ast.Call) and self.read.python_function(value) else None
        result = None if called is None else self.read.call(called)
        if result is None or not result.is_tuple:
            accepted = "`a, b = x, y`, `n, m = A.shape`, and a function that returns a tuple"
            raise self.read.error(value, "this cannot be unpacked", accepted)
        return list(result.values)

    def _through_temporaries(self, values: list[syntax.Expr], targets: list[tuple[ast.expr, int]], loc: Loc) -> list[syntax.Stmt]:
        """values: evaluated first, in order. targets: (target, position of its value), assigned from left to right."""
        held = [syntax.Name(self.read.fresh("_value"), loc=v.loc) for v in values]
        first = [syntax.Assign(name, value, loc=loc) for name, value in zip(held, values)]
        return [*first, *(syntax.Assign(self._target(t), held[k], loc=loc) for t, k in targets)]

    def _stored(self, call: ast.Call) -> syntax.Assign | None:
        """A call that changes an array: A.fill(x), np.copyto(A, x), np.add(x, y, out=A); None for any other."""
        loc, function = self._text.loc(call), self.read.value(call.func)
        match call:
            case ast.Call(func=ast.Attribute(value=array, attr="fill"), args=[value], keywords=[]) if self.read.is_local(array):
                number = syntax.Function("number", (self.read.expr(value),), loc=loc)
                return syntax.Assign(self._all_of(array), number, loc=loc)
            case ast.Call(args=[array, value], keywords=[]) if function is np.copyto:
                copied = self.read.expr(value)
                return syntax.Assign(self._all_of(array), copied, in_place=not isinstance(copied, syntax.Const), loc=loc)
        out = [keyword.value for keyword in call.keywords if keyword.arg == "out" and self.read.constant(keyword.value) is MISSING]
        known = lookup(elementwise_functions.FUNCTIONS, function)
        args = call.args
        if known is not None and len(args) == known[2] + 1 and not out:
            *args, last = args
            out = [last]
        if not out or known is None and lookup(array_signatures.FUNCTIONS, function) is None:
            return None
        target = self._all_of(out[0])
        rest = ast.Call(call.func, list(args), [keyword for keyword in call.keywords if keyword.arg != "out"])
        return syntax.Assign(target, self.read.expr(ast.copy_location(rest, call)), in_place=True, loc=loc)

    def _all_of(self, array: ast.expr) -> syntax.Part:
        return syntax.Part(self.read.array_expr(array), (syntax.Dots(),), loc=self._text.loc(array))

    def _augmented(self, stmt: ast.AugAssign) -> syntax.Stmt:
        loc = self._text.loc(stmt)
        target, value = self._target(stmt.target), self.read.expr(stmt.value)
        if isinstance(stmt.op, ast.MatMult):
            result: syntax.Expr = syntax.Function("matmul", (target, value), loc=loc)
        else:
            result = syntax.Binary(BINARY[type(stmt.op)], target, value, loc=loc)
        return syntax.Assign(target, result, in_place=True, loc=loc)

    def _target(self, node: ast.expr) -> syntax.Name | syntax.Subscript | syntax.Part:
        if isinstance(node, ast.Attribute) and node.attr in ("real", "imag"):
            return syntax.Part(self.read.expr(node), (syntax.Dots(),), loc=self._text.loc(node))
        if not isinstance(node, ast.Subscript):
            return self._local(node)
        target = self.read.expr(node)
        if not isinstance(target, (syntax.Subscript, syntax.Part)):
            raise self.read.error(node, "a shape cannot be assigned", _STORES)
        return target

    def _local(self, node: ast.expr) -> syntax.Name:
        if not isinstance(node, ast.Name):
            raise self.read.error(node, f"cannot assign to {spelled(node)} in a kernel", _STORES)
        if node.id in self._loops:
            raise self.read.error(node, f"the loop variable `{node.id}` is assigned inside its loop", "another name")
        if node.id in self.read.known:
            if self._loops or self._branches:
                kept = f"`{node.id}` is {self.read.known[node.id]!r} on one path and something else on another"
                raise self.read.not_affine(node, kept, "a name for each", "PML-F023")
            del self.read.known[node.id]
        return syntax.Name(self.read.renamed.get(node.id, node.id), loc=self._text.loc(node))


def _independent(targets: Sequence[syntax.Name | syntax.Subscript | syntax.Part], values: Sequence[syntax.Expr]) -> bool:
    """True if `a, b = x, y` may run as `a = x; b = y`: nothing that is assigned is read afterwards."""
    for position, target in enumerate(targets):
        subscripts = (i for t in targets[position + 1 :] for i in operands(t))
        later = [node for expr in (*values[position + 1 :], *subscripts) for node in nodes(expr)]
        if isinstance(target, syntax.Name):
            conflicts = (name_of(node) == target.name for node in later)
        else:  # two arrays may be one
            conflicts = (isinstance(node, (syntax.Subscript, syntax.Part, syntax.Function)) for node in later)
        if any(conflicts):
            return False
    return True
