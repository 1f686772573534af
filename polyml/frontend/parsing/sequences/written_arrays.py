"""Calls of `np.array` and `np.asarray`: of lists and tuples that are written out, in each other, of arrays and of numbers."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace

from polyml.frontend import syntax
from polyml.frontend.parsing.array_signatures import Signature
from polyml.frontend.parsing.names import NameLookup
from polyml.frontend.parsing.sequences.values import LISTS, AnyList, ListOf, ShapeOf, Value, has_shape, leaves

MOST_ELEMENTS = 256  # each of which is a statement
_DEFAULTS: dict[str, tuple[object, ...]] = {"copy": (True, None), "order": (None, "K", "C"), "ndmin": (0,), "subok": (False,)}


class WrittenArrayParser(NameLookup, ABC):
    """A WrittenArrayParser turns sequences that are written out into arrays.

    make_list: is called with an expression; returns the list that a comprehension makes, after adding its statements before the one that
        is parsed, and None for any other expression
    """

    make_list: Callable[[ast.expr], AnyList | None]

    @abstractmethod
    def evaluated(self, node: ast.expr) -> Value:
        """Returns the value of an expression: a number or an array, or the parts of a tuple."""

    @abstractmethod
    def expr(self, node: ast.expr) -> syntax.Expr:
        """Returns the expression of `syntax`, a number or an array, for an expression of Python.

        Raises LanguageError if it is something else.
        """

    @abstractmethod
    def held(self, value: Value) -> Value:
        """Returns a value that is computed before the statement that is parsed."""

    @abstractmethod
    def parts(self, node: ast.expr) -> tuple[Value, ...] | ShapeOf | AnyList | None:
        """Returns the parts of a tuple, a shape or a list; None for an expression that is none, or the call of a function."""

    @abstractmethod
    def arguments(
        self, node: ast.Call, name: str, signature: Signature, operands: tuple[str, ...], accepted: str
    ) -> dict[str, ast.expr]:
        """Returns the arguments of a call as parameter -> argument."""

    @abstractmethod
    def option(self, node: ast.expr, option: str) -> object:
        """Returns the Python constant that is given for an option of a function, such as axis=0."""

    def written_array(self, call: ast.Call, name: str, signature: Signature) -> syntax.Function:
        """Returns the Function for a call of np.array or np.asarray.

        name: what messages call the function
        Raises NotAffineError for options that change more than the type, and for lists in which others are of different lengths.
        """
        [of] = signature.operands
        accepted = f"`{name}([a, b])`, `{name}(A)`, with dtype="
        given = self.arguments(call, name, signature, signature.operands, accepted)
        for option, defaults in _DEFAULTS.items():
            known = self.constant(given[option]) if option in given else defaults[0]
            if not any(type(known) is type(each) and known == each for each in defaults):
                raise self.not_affine(call, f"`{name}` with {option}=", accepted)
        value = self._listed(given[of])
        if isinstance(value, syntax.Expr):
            made = syntax.Function(signature.name, (value,), loc=self.text.loc(call))
        else:
            made = self._array_of(given[of], value)
        dtype = self.option(given["dtype"], "dtype") if "dtype" in given else None
        if dtype is None:
            return made
        if not isinstance(dtype, syntax.TypeOf):
            return replace(made, options=(*made.options, ("dtype", dtype)))
        if made.function == "asarray":
            raise self.not_affine(call, f"`{name}` of an array with the type of another", "`A.astype(B.dtype)`")
        return replace(made, args=(*made.args, dtype.of), options=(*made.options, ("like", True)))

    def array_operand(self, node: ast.expr) -> syntax.Expr:
        """Returns the operand of a function of arrays, which takes a tuple, and a list that is written out, as an array."""
        is_named = isinstance(node, (ast.Name, ast.Attribute)) and self.parts(node) is not None
        if not is_named and not isinstance(node, (ast.List, ast.Tuple, ast.ListComp)):
            return self.expr(node)
        value = self._listed(node)
        return value if isinstance(value, syntax.Expr) else self._array_of(node, value)

    def _array_of(self, node: ast.expr, value: tuple[Value, ...] | ShapeOf | AnyList) -> syntax.Function:
        """Returns the Function for the array that NumPy makes of a sequence."""
        loc = self.text.loc(node)
        if isinstance(value, ShapeOf):
            return syntax.Function("array", (syntax.Name(value.array, loc=loc),), (("sizes", True),), loc=loc)
        if isinstance(value, ListOf):
            part: syntax.Expr = syntax.Name(value.array, loc=loc)
            if value.indices:
                part = syntax.Subscript(value.array, value.indices, loc=loc)
            options = (("listed", True), ("grows", True)) if value.count else (("listed", True),)
            return syntax.Function("array", (part,), options, loc=loc)
        if isinstance(value, LISTS):
            raise self.not_affine(node, "an array of a list of lists or tuples that grows", "lists of numbers", "PML-F006")
        shape, args = _shape(value), tuple(leaves(value))
        if shape is None or has_shape(value):
            what = "an array of lists of different lengths, or of shapes"
            raise self.not_affine(node, what, "lists of one length", "PML-F006")
        if len(args) > MOST_ELEMENTS:
            what = f"an array of {len(args)} elements that are written out"
            raise self.not_affine(node, what, f"at most {MOST_ELEMENTS}", "PML-F006")
        return syntax.Function("array", args, (("shape", shape),), loc=loc)

    def _listed(self, node: ast.expr) -> Value:
        """Returns the value of an expression in which lists that are written out count as tuples."""
        if isinstance(node, (ast.List, ast.Tuple)):
            for each in node.elts:
                if isinstance(each, ast.Starred):
                    raise self.not_affine(each, "unpacking with * in a list", "each part written out")
            return tuple(self._listed(each) for each in node.elts)
        made = self.make_list(node)
        if made is not None:
            return made
        known = self.constant(node)
        if isinstance(known, tuple):
            return self._constants(node, known)
        return self.evaluated(node)

    def _constants(self, node: ast.expr, values: tuple) -> tuple[Value, ...]:
        return tuple(self._constants(node, each) if isinstance(each, tuple) else self.number(node, each) for each in values)


def _shape(value: Value) -> tuple[int, ...] | None:
    """Returns how many parts a tuple has, and how many each of these has, and so on; None where they differ."""
    if not isinstance(value, tuple):
        return ()
    shapes = {_shape(part) for part in value}
    inner = shapes.pop() if len(shapes) == 1 else () if not value else None
    return None if inner is None else (len(value), *inner)
