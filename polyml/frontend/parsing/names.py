"""Names: what each one in a function's text stands for, and the refusal of what the language does not have."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from enum import EnumMeta
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import cast

import numpy as np

from polyml.dtypes import ACCEPTED
from polyml.errors import LanguageError, NotAffineError, ValueNeeded
from polyml.frontend import elementwise_functions, syntax
from polyml.frontend.captures import MISSING, OuterScope, in_python, is_library, is_library_module, python_function
from polyml.frontend.library import numbers
from polyml.frontend.library.index_arrays import IN_LOOPS
from polyml.frontend.library.whole_arrays import marks, texts
from polyml.frontend.parsing.functions.inner_functions import InnerFunction, definition_of_lambda, parameters, refused_part
from polyml.frontend.parsing.sequences.values import LISTS, Value
from polyml.frontend.parsing.source_text import FunctionText, Written

_SPELLED = {
    ast.With: "a with statement", ast.Try: "try", ast.Raise: "raise", ast.Assert: "assert", ast.Delete: "del",
    ast.Import: "import", ast.ImportFrom: "import", ast.Global: "global", ast.Nonlocal: "nonlocal",
    ast.FunctionDef: "a function inside a kernel", ast.AsyncFunctionDef: "a function inside a kernel",
    ast.ClassDef: "a class inside a kernel", ast.Match: "match", ast.Lambda: "a lambda",
    ast.ListComp: "a comprehension", ast.SetComp: "a comprehension", ast.DictComp: "a comprehension",
    ast.GeneratorExp: "a generator", ast.NamedExpr: "an assignment expression", ast.JoinedStr: "a string",
    ast.List: "a list", ast.Tuple: "a tuple", ast.Dict: "a dict", ast.Set: "a set", ast.Starred: "unpacking with *",
    ast.Yield: "yield", ast.YieldFrom: "yield", ast.Slice: "a slice",
}  # fmt: skip

_CODES = {
    ast.While: "PML-F001", ast.Break: "PML-F002", ast.Continue: "PML-F002",
    **dict.fromkeys((ast.Try, ast.Raise, ast.Assert, ast.With), "PML-F003"),
    **dict.fromkeys((ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.GeneratorExp, ast.Yield, ast.YieldFrom), "PML-F004"),
    **dict.fromkeys((ast.ListComp, ast.SetComp, ast.DictComp), "PML-F005"),
    **dict.fromkeys((ast.List, ast.Tuple, ast.Dict, ast.Set, ast.JoinedStr, ast.Starred, ast.Constant), "PML-F006"),
    **dict.fromkeys((ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.Delete, ast.Match, ast.NamedExpr), "PML-F007"),
    ast.Call: "PML-F010", ast.Attribute: "PML-F011", ast.Name: "PML-F012", ast.Expr: "PML-F013",
}  # fmt: skip
_GRIDS = (type(np.mgrid), type(np.ogrid))


class NameLookup:
    """A NameLookup knows what the names in one function's text stand for.

    text: the function's text, by which messages show places
    scope: the names that the function sees outside itself
    locals: the names of parameters and local variables
    renamed: name of a local in the text -> its name in the kernel, where the two differ
    known: parameters of an inlined function that always have the same value, with that value, which may be any Python object; and
        functions inside of the kernel
    tuples: names of locals that stand for tuples where the text is parsed, with the tuples
    bound: the names of parameters and of locals that were bound to something else before
    taken: the names that the kernel uses
    """

    def __init__(self, function: FunctionType, text: FunctionText, taken: set[str]):
        self.text, self.scope = text, OuterScope(function)
        code = function.__code__
        self.locals = frozenset((*code.co_varnames, *code.co_cellvars))
        self.renamed: dict[str, str] = {}
        self.known: dict[str, object] = {}
        self.tuples: dict[str, Value] = {}
        self.bound: set[str] = {each.arg for each in parameters(text.tree.args)}
        self.taken = taken

    def inside(self, function: InnerFunction) -> frozenset[str]:
        """Makes these the names that a function inside a kernel sees: its own, which are returned, and what those around stand for now."""
        own, around = function.own_names, function.around
        self.scope, self.locals = around.scope, own | around.locals
        self.renamed = {name: other for name, other in around.renamed.items() if name not in own}
        self.known = {name: value for name, value in around.known.items() if name not in own}
        self.tuples = {name: value for name, value in around.tuples.items() if name not in own}
        return own

    def value(self, node: ast.expr) -> object:
        """Returns the object that a name from outside the kernel, or an attribute of a module, stands for; for a lambda the function.

        The marker MISSING is returned for everything else, since None may be such an object.
        """
        if isinstance(node, ast.Lambda) and not node.args.defaults and not any(node.args.kw_defaults):
            return self.checked(InnerFunction(definition_of_lambda(node, "<lambda>"), self))
        if isinstance(node, ast.Name):
            return self.known.get(node.id, MISSING) if node.id in self.locals else in_python(self.scope.lookup(node.id))
        if not isinstance(node, ast.Attribute):
            return MISSING
        owner = self._limits(node.value) if isinstance(node.value, ast.Call) else self.value(node.value)
        if isinstance(owner, (np.iinfo, np.finfo)):
            return getattr(owner, node.attr, MISSING)
        if isinstance(owner, np.ufunc) and node.attr in ("accumulate", "outer", "at", "reduce"):
            return getattr(owner, node.attr)
        if isinstance(owner, EnumMeta):
            return owner.__members__.get(node.attr, MISSING)
        if not isinstance(owner, ModuleType):
            return MISSING
        return getattr(owner, node.attr, MISSING) if is_library_module(owner) else in_python(vars(owner).get(node.attr, MISSING))

    def _limits(self, call: ast.Call) -> object:
        """Returns what `np.iinfo(t)` or `np.finfo(t)` gives for a type t from outside the kernel; MISSING for all other calls."""
        function = self.value(call.func)
        if not any(function is each for each in (np.iinfo, np.finfo)) or len(call.args) != 1 or call.keywords:
            return MISSING
        try:
            return cast(Callable[[object], object], function)(self.constant(call.args[0]))
        except (TypeError, ValueError):  # Python raises it, too
            return MISSING

    def constant(self, node: ast.expr) -> object:
        """Returns the Python object that `node` always is: a number, None, a text, or another object from outside the kernel.

        The marker MISSING is returned for what the kernel computes, since None may be such an object.
        """
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                values = tuple(map(self.constant, parts))
                return MISSING if any(value is MISSING for value in values) else values
            case ast.Name() | ast.Attribute() if not self.is_computed(node):
                return self.value(node)
            case ast.Lambda():
                return self.value(node)
            case ast.Subscript(value=ast.Name() as base, slice=index) if not self.is_computed(base):
                return _part(self.value(base), self.constant(index))
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
                return -value
        return MISSING

    def imported(self, stmt: ast.Import | ast.ImportFrom) -> None:
        """Makes the names that an import binds known from here on. Raises LanguageError for modules other than math and NumPy."""
        for alias in stmt.names:
            name, path = alias.asname or alias.name.partition(".")[0], alias.name
            if isinstance(stmt, ast.ImportFrom):
                owner = sys.modules.get(stmt.module or "") if not stmt.level else None
                value = MISSING if owner is None else getattr(owner, path, MISSING)
            else:
                owner = sys.modules.get(path)
                value = MISSING if owner is None else owner if alias.asname else sys.modules.get(name, MISSING)
            if owner is None or not is_library_module(owner) or value is MISSING or name not in self.locals:
                raise self.error(stmt, f"`{ast.unparse(stmt)}` is not part of the language", "math and NumPy, and what they have")
            self.known[name] = value

    def checked(self, function: InnerFunction) -> InnerFunction:
        """Returns a function inside a kernel. Raises NotAffineError where a part of it is not compiled."""
        refused = refused_part(function.tree)
        if refused is not None:
            raise self.not_affine(
                refused[0], refused[1], "functions inside of kernels that are inlined where they are called", "PML-F004"
            )
        return function

    def is_local(self, node: ast.expr) -> bool:
        """Returns whether the node is a parameter or local without a known value, or an attribute, an element or a call's result of
        one.
        """
        while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
            node = node.func if isinstance(node, ast.Call) else node.value
        return isinstance(node, ast.Name) and node.id in self.locals and node.id not in self.known

    def is_computed(self, node: ast.expr) -> bool:
        """Returns whether the kernel computes the node when it runs; False for names and attributes whose value is known before."""
        return self.is_local(node) or not isinstance(node, (ast.Name, ast.Attribute))

    def is_numpy(self, node: ast.expr) -> bool:
        """Returns whether the node names something in NumPy, such as np.sort or np.add.reduce."""
        names: list[str] = []
        while isinstance(node, ast.Attribute):
            names.insert(0, node.attr)
            node = node.value
        found: object = np
        for name in names:
            found = getattr(found, name, MISSING)
        return self.value(node) is np and found is not MISSING

    def python_function(self, node: ast.expr) -> FunctionType | InnerFunction | None:
        """Returns the Python function that `node` calls, which is inlined; None if `node` is no call of one."""
        return inlined_function(self.value(node.func)) if isinstance(node, ast.Call) else None

    def array(self, node: ast.expr) -> str:
        """Returns the kernel's name of the array that `node` stands for.

        Raises LanguageError where `node` is no name, or the name of something from outside the kernel.
        """
        if not isinstance(node, ast.Name):
            raise self.error(node, "only an array that has a name can be used here", "a parameter, or a local array")
        if self.is_local(node):
            self.refuse_tuple(node)
            return self.renamed.get(node.id, node.id)
        value = self.value(node)
        self.refuse_array(node, value)
        what = "is not defined" if value is MISSING else f"is {_described(value)}, not an array"
        raise self.error(node, f"`{node.id}` {what}", "a parameter, or a local array")

    def number(self, node: ast.expr, value: object) -> syntax.Const:
        """Returns the constant of `syntax` for `value`, which is written as `node`.

        Raises LanguageError if it is not a number of the language.
        """
        if not is_number(value):
            raise self.error(
                node,
                f"{_described(value)} is not a number of the language",
                f"Python's int, float, complex and bool, and NumPy's {ACCEPTED}",
            )
        return syntax.Const(value, loc=self.text.loc(node))

    def refuse_tuple(self, node: ast.Name) -> None:
        """Raises LanguageError if a local name stands for a tuple."""
        if node.id in self.tuples:
            if isinstance(self.tuples[node.id], LISTS):
                accepted = f"its elements, such as `{node.id}[0]`, `len({node.id})`, loops over it, `np.array({node.id})`"
                raise self.not_affine(node, f"`{node.id}` is a list, which is neither a number nor an array", accepted, "PML-F006")
            accepted = f"its parts, such as `{node.id}[0]`, `len({node.id})`, and loops over it"
            raise self.error(node, f"`{node.id}` is a tuple, which is neither a number nor an array", accepted)

    def refuse_array(self, node: ast.Name, value: object) -> None:
        """Raises LanguageError if the value of a name from outside the kernel is an array."""
        if isinstance(value, np.ndarray):
            raise self.error(node, f"`{node.id}` is an array from outside the kernel", "arrays that are passed as arguments")

    def fresh(self, stem: str) -> str:
        """Returns the first of stem1, stem2, ... that the kernel does not use, and marks it as used."""
        number = next(n for n in range(1, len(self.taken) + 2) if f"{stem}{n}" not in self.taken)
        self.taken.add(f"{stem}{number}")
        return f"{stem}{number}"

    def error(self, node: Written, message: str, accepted: str, code: str | None = None) -> LanguageError:
        """Returns a LanguageError for a node that is not in the language, with its place and what would be accepted."""
        return LanguageError(message, loc=self.text.loc(node), notes=[f"accepted: {accepted}"], code=code or _CODES.get(type(node)))

    def value_needed(self, node: Written, message: str, accepted: str) -> ValueNeeded:
        """Returns a ValueNeeded for a node that would have to be a constant, with its place and what would be accepted."""
        return ValueNeeded(message, loc=self.text.loc(node), notes=[f"accepted: {accepted}"], code=_CODES.get(type(node)))

    def not_affine(self, node: Written, message: str, accepted: str, code: str | None = None) -> NotAffineError:
        """Returns a NotAffineError for a node that plain Python can run, with its place and what polyml compiles."""
        code = code or _CODES.get(type(node))
        return NotAffineError(message, loc=self.text.loc(node), notes=[f"polyml compiles: {accepted}"], code=code)


def inlined_function(value: object) -> FunctionType | InnerFunction | None:
    """Returns the function that is inlined where `value` is called: a Python function, or one inside a kernel; None for all else.

    That of some functions of Python, math, NumPy and polyml is a text of the library.
    """
    if isinstance(value, InnerFunction):
        return value
    if isinstance(value, FunctionType) and value in marks.FUNCTIONS.values():
        return None
    text = numbers.TEXTS.get(value) if isinstance(value, BuiltinFunctionType) else None
    text = texts.TEXTS.get(value) if text is None and (is_library(value) or isinstance(value, _GRIDS)) else text
    found = python_function(value) if text is None else text
    return cast(FunctionType, IN_LOOPS[found]) if isinstance(found, FunctionType) and found in IN_LOOPS else found


def is_number(value: object) -> bool:
    """Returns whether `value` is a number of the language: an int, float, bool or complex, or NumPy scalar of an accepted type."""
    if type(value) in (int, float, bool, complex):
        return True
    return isinstance(value, np.generic) and elementwise_functions.dtype_of(type(value)) is not None


def _part(values: object, index: object) -> object:
    """Returns a part of a tuple; MISSING where there is none."""
    if not isinstance(values, tuple) or type(index) is not int or not -len(values) <= index < len(values):
        return MISSING
    return values[index]


def spelled(node: ast.AST) -> str:
    """Returns the text by which a message names a piece of Python, such as "a with statement" or the code itself."""
    return _SPELLED.get(type(node), f"`{ast.unparse(node)}`")


def _described(value: object) -> str:
    name = getattr(value, "__name__", None)
    if isinstance(value, ModuleType):
        return f"the module `{name}`"
    if isinstance(value, type):
        return f"the type `{name}`"
    if (callable(value) or isinstance(value, InnerFunction)) and isinstance(name, str):
        return f"the function `{name}`"
    return repr(value) if isinstance(value, (str, type(None))) else f"a {type(value).__name__}"
