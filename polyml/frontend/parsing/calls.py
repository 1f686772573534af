"""Calls inside expressions: functions of numbers and of arrays, casts, and functions of Python's that are inlined."""

from __future__ import annotations

import ast
from abc import ABC
from collections.abc import Callable
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType

import numpy as np

from polyml.dtypes import ACCEPTED, OF_PYTHON
from polyml.errors import LanguageError
from polyml.frontend import elementwise_functions, syntax
from polyml.frontend.captures import MISSING
from polyml.frontend.constant_folding import constant
from polyml.frontend.library import numbers
from polyml.frontend.parsing import array_signatures
from polyml.frontend.parsing.builtin_reductions import is_reduction
from polyml.frontend.parsing.names import inlined_function
from polyml.frontend.parsing.sequences.values import LISTS, SEQUENCES, AnyList, ShapeOf, Value, leaves, length_of
from polyml.frontend.parsing.sequences.written_arrays import WrittenArrayParser
from polyml.frontend.parsing.source_text import FunctionText
from polyml.reading.numba_signatures import converts

_FUNCTIONS = (
    "elementwise functions of numpy and math, functions of arrays such as np.sum, min, max, abs, pow, len, and casts "
    "such as np.float32"
)
_UFUNC_OPTIONS = (
    "out where dtype casting order subok signature initial mean weights correction".split()
)  # arguments of ufuncs that polyml does not compile, but Python runs
_NOT_COMPILED = ("out",)


@dataclass(frozen=True)
class Inlined:
    """An Inlined is what the call of an inlined Python function returns.

    values: the results; empty where the function returns None
    is_tuple: whether the function returns a tuple of them
    """

    values: tuple[Value, ...]
    is_tuple: bool


class CallParser(WrittenArrayParser, ABC):
    """A CallParser turns the calls in one function's expressions into expressions of `syntax`.

    before: a list of statements that must run before the one that is parsed, such as those of an inlined function
    inline: is called with the call of a Python function; adds the function's statements to `before`, and returns its results
    allocate: is called with a call such as np.zeros(n) inside an expression; returns the name of the allocated array
    reduce: is called with a call such as sum(A); returns the name of its result, or None where it is something else
    """

    def __init__(
        self,
        function: FunctionType,
        text: FunctionText,
        taken: set[str],
        inline: Callable[[ast.Call], Inlined],
        allocate: Callable[[ast.Call], syntax.Name],
        reduce: Callable[[ast.Call], syntax.Name | None],
    ):
        super().__init__(function, text, taken)
        self.before: list[syntax.Stmt] = []
        self.make_list = lambda node: None
        self.pop_list: Callable[[ast.Call, AnyList], Value] | None = None
        self.is_in_list: Callable[[ast.expr, ast.expr], syntax.Expr] = lambda node, value: syntax.Const(False)
        self._inline, self._allocate, self._reduce = inline, allocate, reduce
        self._lazy = 0  # how many `and` and `or` are around whose operand may not be evaluated

    def flat(self, node: ast.expr) -> tuple[syntax.Expr, ...] | None:
        """Returns the parts of a tuple or list of numbers and arrays; None for an expression that is neither."""
        found = tuple(map(self.expr, node.elts)) if isinstance(node, ast.List) else self.parts(node)
        if not isinstance(found, tuple):
            return None
        if any(isinstance(part, SEQUENCES) for part in found):
            raise self.error(node, "a tuple inside of a tuple is neither a number nor an array", "a tuple of numbers or arrays")
        return tuple(leaves(found))

    def array_expr(self, node: ast.expr) -> syntax.Expr:
        """Returns the expression of `syntax` for what a subscript or a method is applied to; a name must be that of an array."""
        return syntax.Name(self.array(node), loc=self.text.loc(node)) if isinstance(node, ast.Name) else self.expr(node)

    def array_name(self, node: ast.expr) -> str:
        """Returns the name of an array; what is computed gets one before the statement that is parsed."""
        if isinstance(node, ast.Name) or not self.is_computed(node):
            return self.array(node)
        return self._named(self.expr(node), "_array").name

    def _named(self, value: syntax.Expr, stem: str) -> syntax.Name:
        """Returns a name for a value, which is assigned to it before the statement that is parsed, unless it is a name already."""
        if isinstance(value, syntax.Name):
            return value
        name = syntax.Name(self.fresh(stem), loc=value.loc)
        self.before.append(syntax.Assign(name, value, loc=name.loc))
        return name

    def call(self, node: ast.Call) -> Inlined:
        """Returns the results of a call of a Python function, which is inlined; they may be None or several values."""
        return self._inline(_of_two_operands(node, self.value(node.func)))

    def value_of_call(self, node: ast.Call) -> syntax.Expr:
        """Returns the expression of `syntax` for a call, whose result must be one number or array.

        Raises LanguageError for functions that are not part of the language.
        """
        if isinstance(node.func, ast.Attribute) and self.is_computed(node.func.value):
            return self._method(node, node.func)
        function, name = self.value(node.func), ast.unparse(node.func)
        signature = lookup(array_signatures.FUNCTIONS, function)
        if signature is not None:
            return self.array_function(node, name, signature)
        lists = lookup(array_signatures.OF_LISTS, function)
        if lists is not None:
            return self.written_array(node, name, lists)
        if function is np.einsum:
            return self._einsum(node, name)
        if lookup(elementwise_functions.ALLOCATIONS, function) is not None:
            if self._lazy:
                raise self.not_affine(node, "an array that is made only where `and` or `or` needs it", "arrays made before")
            return self._allocate(node)
        if is_reduction(function) and len(node.args) == 1:
            if self._lazy:
                raise self.not_affine(
                    node, f"`{name}` of a sequence where `and` or `or` needs it alone", "results that are computed before"
                )
            named = isinstance(node.args[0], (ast.Name, ast.Attribute, ast.Subscript)) and function in (min, max)
            result = None if named and isinstance(self.parts(node.args[0]), tuple) else self._reduce(node)
            if result is not None:
                return result
        special = self._special(function)
        known = lookup(elementwise_functions.FUNCTIONS, function) or elementwise_functions.special_function(function)
        if special is not None or known is not None:
            self.no_keywords(node, name)
        if special is not None:
            return special(node)
        if known is not None:
            return self._elementwise(node, name, known)
        if inlined_function(function) is not None:
            return self.only_value(node, self.call(node))
        raise self._unknown(node, name, function)

    def only_value(self, node: ast.Call, result: Inlined) -> syntax.Expr:
        """Returns the one number or array that a function returns; LanguageError is raised where it returns something else."""
        if len(result.values) == 1 and not result.is_tuple and not isinstance(result.values[0], SEQUENCES):
            [value] = leaves(result.values)
            return value
        what = f"a tuple of {len(result.values)}" if result.is_tuple else "a list or shape" if result.values else "None"
        raise self.error(node, f"`{ast.unparse(node.func)}` gives {what} where a value is needed", "one number or array")

    def _method(self, node: ast.Call, method: ast.Attribute) -> syntax.Expr:
        signature = array_signatures.METHODS.get(method.attr)
        popped = self.popped(node)
        if popped is not None:
            if isinstance(popped, syntax.Expr):
                return popped
            raise self.error(node, "a tuple is neither a number nor an array", "`a, b = out.pop()`")
        if method.attr == "item" and not node.args and not node.keywords:
            loc = self.text.loc(node)
            return syntax.Call("item", (syntax.Function("number", (self.array_expr(method.value),), loc=loc),), loc=loc)
        if signature is None:
            refuse = self.not_affine if hasattr(np.ndarray, method.attr) else self.error
            known = ", ".join(f"`.{name}()`" for name in sorted(array_signatures.METHODS))
            raise refuse(node, f"the method `.{method.attr}()` is not part of the language", known)
        return self.array_function(node, f".{method.attr}", signature, (self.array_expr(method.value),))

    def popped(self, node: ast.Call) -> Value | None:
        """Returns the element that a call of a method takes from a list; None for any other call."""
        method = node.func
        if (
            not isinstance(method, ast.Attribute)
            or not isinstance(method.value, (ast.Name, ast.Subscript))
            or self.pop_list is None
        ):
            return None
        listed = self.parts(method.value)
        return self.pop_list(node, listed) if isinstance(listed, LISTS) else None

    def array_function(
        self, node: ast.Call, name: str, signature: array_signatures.Signature, first: tuple[syntax.Expr, ...] = ()
    ) -> syntax.Expr:
        """Returns the Function for a call of a function of whole arrays.

        name: what messages call it
        first: the operands that stand before the call's arguments: the array of a method, or none
        """
        operands, options = signature.operands[len(first) :], signature.options
        shown = [f"{option}=" for option in options if option not in _NOT_COMPILED]
        accepted = f"`{name}({', '.join((*operands, *signature.optional, *shown))})`"
        given = self.arguments(node, name, signature, operands, accepted)
        if signature.many:
            many = given[operands[0]]
            parts = tuple(map(self.array_operand, many.elts)) if isinstance(many, (ast.List, ast.Tuple)) else self.flat(many)
            if parts is None:
                raise self.not_affine(given[operands[0]], f"`{name}` of what is not written out", f"`{name}((A, B))`")
            args: tuple[syntax.Expr, ...] = parts
        else:
            present = (*operands, *(each for each in signature.optional if each in given))
            args = (*first, *(self.array_operand(given[each]) for each in present))
        if signature.shape is not None:
            if signature.shape not in given:
                raise self.error(node, f"`{name}` needs {signature.shape}", accepted)
            sizes = given.pop(signature.shape)
            parts = self.flat(sizes)
            args += (self.expr(sizes),) if parts is None else parts
        for option in _NOT_COMPILED:
            if option in given and option in signature.options and self.constant(given.pop(option)) not in (None, False):
                raise self.not_affine(node, f"`{name}` with {option}=", accepted)
        values = {option: self.option(given[option], option) for option in options if option in given}
        if isinstance(values.get("dtype"), syntax.TypeOf) and signature.name != "astype":
            raise self.not_affine(node, f"`{name}` with the type of an array", accepted)
        return syntax.Function(signature.name, args, tuple(values.items()), loc=self.text.loc(node))

    def arguments(
        self, node: ast.Call, name: str, signature: array_signatures.Signature, operands: tuple[str, ...], accepted: str
    ) -> dict[str, ast.expr]:
        """Returns the arguments of a call as parameter -> argument.

        name: what messages call the function
        operands: the parameters that the call must give
        accepted: what a message says would be accepted
        Raises LanguageError or NotAffineError where an operand is missing, and for an argument that the function does not take.
        """
        slots = (*operands, *signature.optional, *signature.options)
        given: dict[str, ast.expr] = {}
        written = list(node.args)
        if signature.variadic and len(written) > 1:
            written = [ast.copy_location(ast.Tuple(written, ast.Load()), node)]
        for position, argument in enumerate(written):
            if isinstance(argument, ast.Starred) or position >= len(slots):
                raise self.error(argument, f"`{name}` does not take this in a kernel", accepted)
            given[slots[position]] = argument
        for keyword in node.keywords:
            if keyword.arg is None or keyword.arg not in slots or keyword.arg in given:
                refuse = self.not_affine if keyword.arg in _UFUNC_OPTIONS else self.error
                raise refuse(keyword, f"`{name}` does not take this in a kernel", accepted)
            given[keyword.arg] = keyword.value
        for operand in operands:
            if operand not in given:
                selects = signature.name == "where" and len(given) == 1
                refuse = self.not_affine if selects else self.error  # np.where(m) gives the indices that are true
                raise refuse(node, f"`{name}` needs {operand}", accepted)
        return given

    def _einsum(self, node: ast.Call, name: str) -> syntax.Function:
        accepted = f'`{name}("ij,jk->ik", A, B)`'
        subscripts = self.constant(node.args[0]) if node.args else MISSING
        if not isinstance(subscripts, str):
            raise self.error(node, f"`{name}` needs its subscripts as text", accepted)
        for keyword in node.keywords:
            if keyword.arg != "optimize":  # it changes the order of the products, not their value
                raise self.error(keyword, f"`{name}` does not take this in a kernel", accepted)
        args = tuple(map(self.expr, node.args[1:]))
        return syntax.Function("einsum", args, (("subscripts", subscripts),), loc=self.text.loc(node))

    def option(self, node: ast.expr, option: str) -> object:
        """Returns the Python constant that is given for an option of a function, such as axis=0.

        For dtype= it is a DType, or a TypeOf where the text has A.dtype.
        """
        if option == "dtype":
            value = self.constant(node)
            dtype = None if value is MISSING or value is None else elementwise_functions.dtype_of(value)
            if dtype is not None or value is None:
                return dtype
            if isinstance(node, ast.Attribute) and node.attr == "dtype" and self.is_computed(node.value):
                return syntax.TypeOf(self.expr(node.value), loc=self.text.loc(node))
            raise self.error(node, "this is not an element type of the language", ACCEPTED)
        if self.constant(node) is None or isinstance(self.constant(node), str):
            return self.constant(node)
        if isinstance(self.constant(node), tuple):
            return self.constant(node)
        if isinstance(node, (ast.Tuple, ast.List)):
            return tuple(self.option(part, option) for part in node.elts)
        value = constant(self.expr(node))
        if value is MISSING:
            raise self.value_needed(node, f"`{option}` must be a constant", "an int, a bool, or a tuple of ints")
        return value

    def _special(self, function: object) -> Callable[[ast.Call], syntax.Expr] | None:
        if function is len:
            return self._length
        if function is min or function is max:
            return self._extremum
        if lookup(OF_PYTHON, function) is not None or elementwise_functions.is_numpy_type(function):
            return self._cast
        return None

    def _unknown(self, node: ast.Call, name: str, function: object) -> LanguageError:
        if function is range:
            return self.error(node, "a range is not a number", "`for i in range(...)`")
        if self.is_numpy(node.func):
            return self.not_affine(node, f"`{name}` is not a function that polyml compiles", _FUNCTIONS)
        if converts(function):
            accepted = (
                "a function compiled without types of locals, for any types or for one signature of signed ints, floats and arrays"
            )
            return self.not_affine(node, f"`{name}` rounds to types that are not in its text", accepted)
        return self.error(node, f"`{name}` is not a function of the language", _FUNCTIONS)

    def no_keywords(self, node: ast.Call, name: str) -> None:
        """Raises LanguageError or NotAffineError if a call has keywords or unpacked arguments.

        name: what messages call the function
        """
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                raise self.error(argument, "unpacking with * is not part of the language", "each operand written out")
        for keyword in node.keywords:
            refuse = (
                self.not_affine if keyword.arg in _UFUNC_OPTIONS and isinstance(self.value(node.func), np.ufunc) else self.error
            )
            raise refuse(keyword, f"`{name}` takes no keywords in a kernel", f"`{name}` of numbers alone")

    def _length(self, node: ast.Call) -> syntax.Expr:
        if len(node.args) != 1:
            raise self.error(node, f"len takes one array, not {len(node.args)}", "`len(A)`")
        parts, loc = self.parts(node.args[0]), self.text.loc(node)
        if isinstance(parts, ShapeOf):
            return syntax.Function("ndim", (syntax.Name(parts.array, loc=loc),), loc=loc)
        if isinstance(parts, LISTS):
            return length_of(parts, loc)
        return syntax.Shape(self.array_name(node.args[0]), 0, loc=loc) if parts is None else syntax.Const(len(parts), loc=loc)

    def _extremum(self, node: ast.Call) -> syntax.Expr:
        name = "min" if self.value(node.func) is min else "max"
        parts = self.flat(node.args[0]) if len(node.args) == 1 else tuple(map(self.expr, node.args))
        if parts is None or len(parts) < 2:
            raise self.error(node, f"{name} takes an array, or two or more numbers, in a kernel", f"`{name}(A)`, `{name}(a, b)`")
        result, *rest = parts
        for operand in rest:
            result = syntax.Binary(name, result, operand, loc=self.text.loc(node))
        return result

    def _cast(self, node: ast.Call) -> syntax.Expr:
        function, name = self.value(node.func), ast.unparse(node.func)
        dtype = lookup(OF_PYTHON, function) or elementwise_functions.dtype_of(function)
        if dtype is None:
            raise self.error(node.func, f"`{name}` is not a type of the language", ACCEPTED)
        if dtype.is_complex and len(node.args) == 2:
            return syntax.Cast(
                syntax.Call("complex", tuple(map(self.expr, node.args)), loc=self.text.loc(node)), dtype, loc=self.text.loc(node)
            )
        if len(node.args) != 1:
            raise self.error(node, f"`{name}` takes one number, not {len(node.args)}", f"`{name}(x)`")
        argument = node.args[0]
        if function is float and isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            return self.number(node, _float(argument.value))
        return syntax.Cast(self.expr(argument), dtype, loc=self.text.loc(node))

    def _elementwise(self, node: ast.Call, name: str, known: tuple[str, str, int]) -> syntax.Expr:
        function, module, operands = known
        node, loc = _of_two_operands(node, self.value(node.func)), self.text.loc(node)
        if function == "log" and module in ("math", "cmath") and len(node.args) == 2:  # of a base
            logarithms = [syntax.Call("log", (self.expr(argument),), module, loc=loc) for argument in node.args]
            return syntax.Binary("/", *logarithms, loc=loc)
        if self.value(node.func) is round and len(node.args) == 2:
            decimals = syntax.Const(self.option(node.args[1], "ndigits"))
            return syntax.Call("round", (self._named(self.expr(node.args[0]), "_rounded"), decimals), "builtins", loc=loc)
        if len(node.args) != operands:
            numbers = "one number" if operands == 1 else "two numbers"
            raise self.error(
                node,
                f"`{name}` takes {numbers} in a kernel, not {len(node.args)}",
                f"`{name}({', '.join('xy'[:operands])})`",
            )
        values = tuple(map(self.expr, node.args))
        if (function, module) == ("pow", "builtins"):
            return syntax.Binary("**", *values, loc=self.text.loc(node))
        return syntax.Call(function, values, module, loc=self.text.loc(node))


def _of_two_operands(call: ast.Call, function: object) -> ast.Call:
    """Returns the call of a function of any number of operands as calls of two: gcd(a, b, c) as gcd(gcd(a, b), c).

    function: what is called; calls of all others are returned as they are
    """
    neutral = numbers.FOLDED.get(function) if isinstance(function, BuiltinFunctionType) else None
    if neutral is None or not call.args or len(call.args) == 2 or call.keywords:
        return call
    *before, last = call.args if len(call.args) > 1 else (*call.args, ast.copy_location(ast.Constant(neutral), call))
    first = before[0] if len(before) == 1 else _of_two_operands(ast.copy_location(ast.Call(call.func, before, []), call), function)
    return ast.copy_location(ast.Call(call.func, [first, last], []), call)


def lookup(table: dict, key: object):
    """Returns table.get(key), and None for a key that is not hashable."""
    try:
        return table.get(key)
    except TypeError:
        return None


def _float(text: str) -> object:
    try:
        return float(text)
    except ValueError:
        return text
