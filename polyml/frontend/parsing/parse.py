"""The parser of functions: a Python function becomes a Kernel.

Python's `ast` is known in this folder and in `frontend.lifting` alone. Decisions that the grammar does not tell:

* A global or closure value is taken when the kernel is parsed: a number becomes a constant, and a condition made of
  constants keeps its live branch only (the other one is not even looked at), as `if VERBOSE: ...` suggests.
* `a = b = v` and `a, b = x, y` evaluate the right side once and first, through temporaries where it matters.
* An annotation means nothing.
* The call of a Python function is replaced by its statements, its locals renamed. A parameter whose argument is a
  constant of any kind (None, text, a function) is that constant, so that `if bias is None` is decided here.
* A function inside of the kernel is a known value of its name. It is inlined too, and the names of the kernel that it reads mean what
  they mean where it is called.
* `break`, `continue` and a `return` in a loop leave Blocks (`jumps`); `assert` is a `raise` under a condition.
* A loop over something that is neither a range nor an array, and NumPy functions that are not known are legal Python that is not
  affine: NotAffineError. What is outside the language altogether is a LanguageError.
"""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import FunctionType, MappingProxyType
from typing import cast

from polyml.errors import LanguageError
from polyml.frontend import name_resolution, syntax
from polyml.frontend.attributes import AttributeReplacer, liftable_attributes
from polyml.frontend.captures import MISSING, Captured
from polyml.frontend.constant_folding import constant
from polyml.frontend.library.requirements import required
from polyml.frontend.parsing import floats
from polyml.frontend.parsing.assignments import AssignmentParser, alloc
from polyml.frontend.parsing.builtin_reductions import COMPENSATES, reduction
from polyml.frontend.parsing.calls import Inlined
from polyml.frontend.parsing.expression_parser import ExpressionParser
from polyml.frontend.parsing.for_loops import ForLoopParser
from polyml.frontend.parsing.functions import arguments, assumptions, conversions, inlining, library_texts, self_calls
from polyml.frontend.parsing.functions.definitions import DefinitionParser
from polyml.frontend.parsing.functions.inner_functions import InnerFunction, parameters
from polyml.frontend.parsing.jumps import Jumps, asserted, raised, single_exit
from polyml.frontend.parsing.lists.methods import ListMethods
from polyml.frontend.parsing.lists.uses import is_evaluated_first
from polyml.frontend.parsing.names import spelled
from polyml.frontend.parsing.refusals import Refusals, Refused
from polyml.frontend.parsing.sequences import grid_subscripts, results
from polyml.frontend.parsing.sequences.lists import ListParser
from polyml.frontend.parsing.sequences.values import LISTS, SEQUENCES, Value, leaves, lists_in, rebuilt, same_form
from polyml.frontend.parsing.source_text import last_line, text_of
from polyml.reading.function_source import names_outside
from polyml.reading.numba_signatures import signature_of
from polyml.source import Loc

_STATEMENTS = "for, while, if, assignments, pass, break, continue and return"


def parse(function: FunctionType, constants: Mapping[str, object] = MappingProxyType({})) -> syntax.Kernel:
    """Returns the untyped kernel that a Python function becomes.

    constants: parameters that always have a value, by name; the kernel has none for them

    Raises LanguageError, with the place and what would be accepted, for what the language does not have;
    NotAffineError, a subclass of it, where plain Python can run it.
    """
    return parse_with_captured(function, constants)[0]


def captured(function: FunctionType) -> tuple[Captured, ...]:
    """Parses a function, and returns the globals, builtins and closure values that its meaning depends on."""
    return parse_with_captured(function)[1]


def parse_with_captured(
    function: FunctionType, constants: Mapping[str, object] = MappingProxyType({})
) -> tuple[syntax.Kernel, tuple[Captured, ...]]:
    """Returns the untyped kernel that a Python function becomes, and the values from outside that it depends on.

    constants: as for `parse`
    """
    parser = _FunctionParser(function)
    parser.expressions.known |= constants
    return parser.kernel(), parser.expressions.scope.captured


def parse_with_known(function: FunctionType, known: Mapping[str, object]) -> syntax.Kernel:
    """Returns the untyped kernel that a Python function becomes where some of its parameters always have the same value.

    known: these parameters with their values, which may be any Python objects
    """
    parser = _FunctionParser(function)
    parser.expressions.known.update(known)
    return parser.kernel()


def refused(function: FunctionType) -> Refusals:
    """Returns the statements of a function that the language does not have, with the values from outside the function that this
    depends on.

    Raises LanguageError for a function that has no text, or parameters that the language does not have.
    """
    parser = _FunctionParser(function, collects=True)
    try:
        parser.kernel()
    except LanguageError as problem:
        if not parser.problems:
            if problem.loc is None or not parser.has(problem.loc):
                raise
            parser.problems.append(Refused(problem.loc, problem))
    return Refusals(tuple(parser.problems), parser.expressions.scope.captured, parser.objects)


class _FunctionParser:
    """A _FunctionParser turns one Python function, or one inside of a kernel, into statements of `syntax`.

    caller: the parser of the function that this one is inlined into; None for the kernel itself
    collects: whether statements that are refused are added to the list `problems` and left out; else the first one raises
    """

    def __init__(self, function: FunctionType | InnerFunction, caller: _FunctionParser | None = None, *, collects: bool = False):
        self._function, self._caller, self._collects = function, caller, collects
        self.problems: list[Refused] = []
        inner = function if isinstance(function, InnerFunction) else None
        python = inner.around.scope.function if inner else cast(FunctionType, function)
        self._text = replace(inner.around.text, tree=inner.tree) if inner else text_of(python)
        code = python.__code__
        taken = {*code.co_varnames, *code.co_cellvars, *names_outside(code), *code.co_freevars}
        self._locals = frozenset((*code.co_varnames, *code.co_cellvars))
        values = liftable_attributes(self._text.tree, taken) if collects else {}
        if values:  # lifted parts get these attributes as arguments
            self._text = replace(self._text, tree=AttributeReplacer(values).visit(copy.deepcopy(self._text.tree)))
        self.expressions: ExpressionParser = ExpressionParser(
            python, self._text, caller.expressions.taken if caller else taken, self._inlined, self._allocated, self._reduced
        )
        own = self.expressions.inside(inner) if inner else self.expressions.locals
        self.expressions.text = replace(self._text, tree=grid_subscripts.as_calls(self.expressions, self._text.tree))
        added, self._not_replaced = self_calls.replaced(self.expressions, function, own)
        self._text, self._own_names, self._locals = self.expressions.text, own | added, self._locals | added
        self._attributes = values.keys()
        self.expressions.locals |= self._attributes
        self._assignments = AssignmentParser(self.expressions)
        self._definitions = DefinitionParser(self._assignments, self._text.tree)
        self._jumps = Jumps(self.expressions.fresh)
        self._growing = ListMethods(self._assignments, self._within, lambda: self._current, self._text.tree)
        self._loops = ForLoopParser(self._assignments, self._body, self._text.tree, self._jumps, self._growing)
        self._lists = ListParser(self._loops, self._assignments, self._growing)
        self.expressions.make_list, self.expressions.pop_list = self._lists.made, self._growing.popped
        self._returned: list[Value] = []  # the tuples of the returns
        self._first: ast.expr | None = None  # the call that a statement evaluates before anything else
        self._current: ast.stmt | None = None  # the statement that is parsed

    def kernel(self) -> syntax.Kernel:
        """Parses the function, and returns it as a kernel whose only return is at the end."""
        given = (p for p in self._params(self._text.tree.args) if p.name not in self.expressions.known)
        params = (*given, *(syntax.Param(name, loc=None) for name in self._attributes))
        body = self._body(self._text.tree.body)
        end = single_exit(body, self.expressions.fresh)
        if end is not None:
            body = (*end.body, syntax.Return(end.values, end.is_tuple, form=end.form, loc=end.loc))
        facts = assumptions.leading_facts(self.expressions, self._text.tree)
        resolved = name_resolution.resolved(params, body, self._locals)
        return syntax.Kernel(self._function.__name__, params, resolved, self._text.source, facts=facts)

    def has(self, loc: Loc) -> bool:
        """Returns whether a place in a file is among this function's own statements, not among those of a function it calls."""
        tree, shift = self._text.tree, self._text.shift
        return loc.source.file == self._text.source.file and tree.body[0].lineno <= loc.line - shift <= last_line(tree)

    @property
    def objects(self) -> frozenset[str]:
        """Returns the names of the parameters of which the function reads at most attributes, and never the parameter itself."""
        tree = self._text.tree
        used = {n.id for stmt in tree.body for n in ast.walk(stmt) if isinstance(n, ast.Name)}
        return frozenset(a.arg for a in parameters(tree.args)) - used

    # Calls of Python functions

    def _inlined(self, call: ast.Call) -> Inlined:
        """Returns the results of a call of a Python function, whose statements are added before the one that is parsed.

        Raises NotAffineError where the function calls itself, and where it changes its arguments inside of a larger expression.
        """
        function, loc = self.expressions.python_function(call), self._text.loc(call)
        if function is None:
            raise TypeError(f"not a call of a Python function: {ast.unparse(call)}")
        if around := next((parser for parser in self._chain if parser._function is function), None):
            raise around._not_replaced or self.expressions.not_affine(
                call, f"`{function.__name__}` calls itself", "loops", "PML-F009"
            )
        callee = _FunctionParser(function, self)
        given = inlining.bound_arguments(self.expressions, call, function, callee._text.tree.args)
        signature = signature_of(self.expressions.value(call.func))
        first = arguments.assigned(callee._assignments, self.expressions, given, callee._own_names, signature)
        outside = {callee.expressions.renamed[name] for name in given if name in callee.expressions.renamed}
        outside |= function.names_around if isinstance(function, InnerFunction) else set()
        lists = [*lists_in(callee.expressions.tuples.values()), *lists_in(self.expressions.tuples.values())]
        outside |= {each.array for each in lists}
        try:
            body = callee._body(callee._text.tree.body)
            end = single_exit(body, self.expressions.fresh)
        except LanguageError as problem:
            raise library_texts.at_call_of(function, problem, loc, function.__name__) from None
        is_first = call is self._first or self._current is not None and is_evaluated_first(self._current, call)
        if not is_first and inlining.changes(body, outside, {each.count for each in lists}):
            raise self.expressions.not_affine(
                call,
                f"`{function.__name__}`, which changes its arguments, is called inside an expression",
                "`f(A)` and `x = f(A)` as statements of their own",
            )
        body, end = library_texts.at_call(function, body, end, loc)
        self.expressions.before += [*first, *body]
        values, is_tuple = ((), False) if end is None else (end.values, end.is_tuple)
        if signature is not None:
            return Inlined(conversions.returned(self.expressions, call, signature, values, is_tuple), False)
        if not is_tuple:
            return Inlined(values, False)
        found = callee._returned_value(values)
        return Inlined(found, True) if isinstance(found, tuple) else Inlined((found,), False)

    def _returned_value(self, values: Sequence[syntax.Expr]) -> Value:
        """Returns the tuple, shape or list that an inlined function returns, of the numbers and arrays in it."""
        first, *others = self._returned
        if not all(same_form(first, other) for other in others):
            accepted = "returns of tuples of one form"
            raise self.expressions.not_affine(self._text.tree, "what is returned depends on the path", accepted, "PML-F002")
        return rebuilt(first, iter(values))

    @property
    def _chain(self) -> Iterator[_FunctionParser]:
        """Yields this parser, then the parser of the function that it is inlined into, and so on to the kernel's."""
        parser: _FunctionParser | None = self
        while parser is not None:
            yield parser
            parser = parser._caller

    def _params(self, args: ast.arguments) -> tuple[syntax.Param, ...]:
        for star, what in ((args.vararg, "*"), (args.kwarg, "**")):
            if star is not None:
                raise self.expressions.error(star, f"a kernel cannot take {what}{star.arg}", "parameters with names", "PML-F014")
        return tuple(syntax.Param(a.arg, loc=self._name_loc(a)) for a in parameters(args))

    def _name_loc(self, arg: ast.arg) -> Loc:
        loc = self._text.loc(arg)  # it includes the annotation
        return Loc(loc.source, loc.line, loc.column, len(arg.arg))

    def _body(self, stmts: Sequence[ast.stmt]) -> tuple[syntax.Stmt, ...]:
        for stmt, after in itertools.pairwise(stmts):
            if isinstance(stmt, (ast.Return, ast.Raise, ast.Break, ast.Continue)):
                what = type(stmt).__name__.lower()
                raise self.expressions.error(after, f"this never runs: it stands after {what}", _STATEMENTS)
        with self._definitions.block():
            return tuple(made for stmt in stmts for made in self._stmt(stmt))

    def _stmt(self, stmt: ast.stmt) -> Sequence[syntax.Stmt]:
        outer, self.expressions.before = self.expressions.before, []
        reads_first = isinstance(stmt, ast.AugAssign) and not isinstance(stmt.target, ast.Name)
        self._first, self._current = None if reads_first else getattr(stmt, "value", None), stmt
        made = self._noted(stmt) if self._collects else self._made(stmt)
        made, self.expressions.before = (*self.expressions.before, *made), outer
        return made

    def _noted(self, stmt: ast.stmt) -> Sequence[syntax.Stmt]:
        """Returns the statements that a statement becomes; none where the language refuses it.

        A refused statement is added to `problems`, after which the statements inside it are parsed too, to find those that are
        refused.
        """
        loops, known, renamed = list(self._assignments.loops), dict(self.expressions.known), self.expressions.renamed
        tuples = dict(self.expressions.tuples)
        try:
            return self._made(stmt)
        except LanguageError as problem:
            self.problems.append(Refused(self._text.loc(stmt), problem))
        self._assignments.loops, self.expressions.known, self.expressions.renamed, self.expressions.before = (
            loops,
            known,
            renamed,
            [],
        )
        self.expressions.tuples = tuples
        if isinstance(stmt, (ast.For, ast.While, ast.If)):
            for part in (*stmt.body, *stmt.orelse):
                self._stmt(part)
        return ()

    def _made(self, stmt: ast.stmt) -> Sequence[syntax.Stmt]:
        if self._definitions.function_defined(stmt):
            return ()
        match stmt:
            case ast.For():
                return self._loops.loop(stmt)
            case ast.If():
                return self._if(stmt)
            case ast.Assign(targets=[ast.Name() as name], value=value) if self._lists.is_list(value):
                return self._lists.bound(name, value)
            case ast.AnnAssign(target=ast.Name() as name, value=ast.expr() as value) if self._lists.is_list(value):
                return self._lists.bound(name, value)
            case ast.Assign() if self._growing.moved(stmt) or self._growing.replaced(stmt):
                return ()
            case ast.Assign() if (parts := self._lists.apart(stmt)) is not None:
                return self._body(parts)
            case ast.Assign(targets=targets, value=value):
                return self._assignments.assign(stmt, targets, value)
            case ast.AnnAssign(target=target, value=value):
                return () if value is None else self._assignments.assign(stmt, [target], value)
            case ast.AugAssign() | ast.Delete() if self._growing.joined(stmt):
                return ()
            case ast.AugAssign():
                return (self._assignments.augmented(stmt),)
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                return ()
            case ast.Return():
                return (self._return(stmt),)
            case ast.While():
                return self._while(stmt)
            case ast.Import() | ast.ImportFrom() if not self._assignments.loops and not self._assignments.branches:
                self.expressions.imported(stmt)
                return ()
            case ast.Raise():
                return (raised(self.expressions, stmt),)
            case ast.Assert():
                return self._tested(stmt.test, asserted(self.expressions, stmt))
            case ast.Break() | ast.Continue():
                return (self._jumps.leave(type(stmt).__name__.lower(), self._text.loc(stmt)),)
            case ast.Expr(value=ast.Call(args=[test, ast.Constant(value=str(what))]) as call) if self._requires(call):
                return (syntax.Require(self.expressions.expr(test), what, loc=self._text.loc(stmt)),)
            case ast.Expr(value=ast.Call() as call) if assumptions.is_assumption(self.expressions, call):
                return self._each_tested(*assumptions.tested(self.expressions, call))
            case ast.Expr(value=ast.Call() as call) if self.expressions.python_function(call):
                self.expressions.call(call)
                return ()
            case ast.Expr(value=ast.Call() as call) if self._growing.changed(call):
                return ()
            case ast.Expr(value=ast.Call() as call) if (stored := self._assignments.array_update(call)) is not None:
                return (stored,)
            case ast.Expr(
                value=ast.Name()
                | ast.Attribute()
                | ast.Subscript()
                | ast.BinOp()
                | ast.UnaryOp()
                | ast.Compare()
                | ast.IfExp() as value
            ):
                return (self._evaluated(value),)
            case ast.With() if floats.ignores_errors(self.expressions, stmt):
                return self._body(stmt.body)
        called = stmt.value if isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call) else None
        if called is not None and (self.expressions.is_local(called) or self.expressions.is_numpy(called.func)):
            raise self.expressions.not_affine(stmt, "a call that is a statement is not an affine one", _STATEMENTS, "PML-F010")
        if isinstance(stmt, ast.Expr):
            raise self.expressions.error(
                stmt, "this expression has no effect on the result", _STATEMENTS, "PML-F010" if called else None
            )
        raise self.expressions.error(stmt, f"{spelled(stmt)} is not part of the language", _STATEMENTS)

    def _evaluated(self, node: ast.expr) -> syntax.Stmt:
        """Returns a statement that evaluates an expression, whose value nothing reads, for the errors that it may raise."""
        value = self.expressions.expr(node)
        return syntax.Assign(syntax.Name(self.expressions.fresh("_unread"), loc=value.loc), value, loc=value.loc)

    def _requires(self, call: ast.Call) -> bool:
        return self.expressions.value(call.func) is required

    # Control

    def _if(self, stmt: ast.If) -> Sequence[syntax.Stmt]:
        condition = self.expressions.condition(stmt.test)
        known = constant(condition)
        if known is not MISSING:
            return self._body(stmt.body if known else stmt.orelse)
        self._assignments.branches += 1
        then, orelse = self._body(stmt.body), self._body(stmt.orelse)
        self._assignments.branches -= 1
        return (syntax.If(condition, then, orelse, loc=condition.loc),)

    def _each_tested(self, tests: Sequence[ast.expr], end: syntax.Raise) -> Sequence[syntax.Stmt]:
        """Returns what raises an exception unless all conditions hold, of which the first one that does not is the last to be looked at."""
        made: list[syntax.Stmt] = []
        for test in tests:
            outer, self.expressions.before = self.expressions.before, []
            tested = self._tested(test, end)
            made += [*self.expressions.before, *tested]
            self.expressions.before = outer
        return made

    def _tested(self, test: ast.expr, end: syntax.Raise) -> Sequence[syntax.Stmt]:
        """Returns what raises an exception unless a condition holds."""
        condition = self.expressions.condition(test)
        known = constant(condition)
        if known is not MISSING:
            return () if known else (end,)
        return (syntax.If(syntax.Unary("not", condition, loc=condition.loc), (end,), loc=condition.loc),)

    def _while(self, stmt: ast.While) -> Sequence[syntax.Stmt]:
        loc, (condition, before) = self._text.loc(stmt, stmt.test), self._test(stmt.test)
        known = constant(condition)
        if known is not MISSING and not known:
            return self._body(stmt.orelse)
        self._assignments.branches += 1
        with self._jumps.loop() as loop:
            body = self._jumps.iteration(lambda: self._body(stmt.body))
        orelse = self._body(stmt.orelse)
        self._assignments.branches -= 1
        if known is not MISSING:
            return loop.with_else((syntax.While(syntax.Const(True, loc=loc), body, loc=loc),), (), loc)
        if not before:
            return loop.with_else((syntax.While(condition, body, loc=loc),), orelse, loc)
        loop.used.add(loop.outside)  # statements compute the condition before each iteration
        end = (*orelse, syntax.Leave(loop.outside, loc=loc))
        tested = (*before, syntax.If(condition, body, end, loc=loc))
        return loop.with_else((syntax.While(syntax.Const(True, loc=loc), tested, loc=loc),), (), loc)

    def _test(self, node: ast.expr) -> tuple[syntax.Expr, list[syntax.Stmt]]:
        """Returns the condition of a loop, and the statements that compute parts of it."""
        outer, self.expressions.before = self.expressions.before, []
        condition = self.expressions.condition(node)
        before, self.expressions.before = self.expressions.before, outer
        return condition, before

    def _return(self, stmt: ast.Return) -> syntax.Return:
        value, loc = stmt.value, self._text.loc(stmt)
        if value is None or isinstance(value, ast.Constant) and value.value is None:
            return syntax.Return((), False, loc=loc)
        if isinstance(value, ast.Call) and self.expressions.python_function(value):
            result = self.expressions.call(value)
            if not result.is_tuple and not result.values:
                return syntax.Return((), False, loc=loc)
            found: Value = result.values if result.is_tuple else result.values[0]
        else:
            found = self.expressions.evaluated(value)
        if self._caller is None:
            return results.returned(self.expressions, value, found, loc)
        if not isinstance(found, SEQUENCES):
            return syntax.Return((found,), False, loc=loc)
        self._returned.append(found)
        return syntax.Return(tuple(leaves(found)), True, loc=loc)

    # Parts of expressions that are statements

    def _allocated(self, call: ast.Call) -> syntax.Name:
        """Returns the name of an array that is allocated inside an expression; its Alloc is added before the statement."""
        loc = self._text.loc(call)
        made = alloc(self.expressions, self.expressions.fresh("_new"), call, loc)
        self.expressions.before.append(made)
        return syntax.Name(made.name, loc=loc)

    def _reduced(self, call: ast.Call) -> syntax.Name | None:
        """Returns the name of the result of a call such as sum(A), whose loops are added before the statement; None where it is no such
        call.
        """
        function, operand = self.expressions.value(call.func), call.args[0]
        listed = self.expressions.parts(operand) if isinstance(operand, (ast.Name, ast.Subscript)) else None
        if isinstance(listed, LISTS) and function in (min, max) and not call.keywords:
            return self._lists.extremum(listed, call, function is min)
        if isinstance(listed, LISTS) and function is sum and COMPENSATES:
            return None
        found = reduction(call, function, self.expressions.fresh)
        if found is None:
            return None
        made = [*found.before, *found.statements]
        self.expressions.locals |= {
            n.id for stmt in made for n in ast.walk(stmt) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        }
        loc = self._text.loc(call)
        self.expressions.before += self._within(found.before)
        if found.needed:
            least = syntax.Compare(">", syntax.Shape(found.needed, 0, loc=loc), syntax.Const(0, loc=loc), loc=loc)
            what = f"an array without elements in `{ast.unparse(call)}`"
            self.expressions.before.append(syntax.Require(least, what, loc=loc))
        self.expressions.before += self._within(found.statements)
        return syntax.Name(found.result, loc=loc)

    def _within(self, stmts: Sequence[ast.stmt]) -> tuple[syntax.Stmt, ...]:
        """Returns what statements become that stand for a part of the one which is parsed, for which they are refused."""
        first, current, collects, self._collects = self._first, self._current, self._collects, False
        try:
            return self._body(stmts)
        finally:
            self._first, self._current, self._collects = first, current, collects
