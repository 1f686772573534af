"""Tuples in expressions: written out, by name, from inlined functions and from outside of the kernel; their parts and slices."""

from __future__ import annotations

import ast
from abc import abstractmethod
from dataclasses import replace

from polyml.frontend import syntax
from polyml.frontend.captures import MISSING
from polyml.frontend.constant_folding import constant
from polyml.frontend.parsing.calls import CallParser
from polyml.frontend.parsing.sequences import array_tuples, selected_arrays
from polyml.frontend.parsing.sequences.values import (
    LISTS,
    SEQUENCES,
    AnyList,
    InnerList,
    ListOf,
    ShapeOf,
    Value,
    element_of,
    leaves,
)

_COMPILED = "`t[0]` and `t[1:]` of a tuple `t`, with constants"


class TupleParser(CallParser):
    """A TupleParser finds the values of one function's expressions that are tuples."""

    def value_of_call(self, node: ast.Call) -> syntax.Expr:
        """Returns the expression of `syntax` for a call, also for one of lists of arrays."""
        return selected_arrays.select(self, node) or super().value_of_call(node)

    def evaluated(self, node: ast.expr) -> Value:
        """Returns the value of an expression: a number or an array, or the parts of a tuple.

        Raises LanguageError if it is something else.
        """
        if isinstance(node, ast.Call) and self.python_function(node):
            result = self.call(node)
            if len(result.values) == 1 and isinstance(result.values[0], SEQUENCES) and not result.is_tuple:
                return result.values[0]
            return result.values if result.is_tuple else self.only_value(node, result)
        listed: Value | None = self.make_list(node)
        if listed is None and isinstance(node, ast.Call):
            listed = self.popped(node)
        if listed is not None:
            return listed
        found = self.part_of_tuple(node) if isinstance(node, ast.Subscript) else self.parts(node)
        return self.expr(node) if found is None else found

    def parts(self, node: ast.expr) -> tuple[Value, ...] | ShapeOf | AnyList | None:
        """Returns the parts of a tuple, a shape or a list; None for an expression that is none, or the call of a function."""
        match node:
            case ast.Tuple(elts=elements):
                return tuple(part for each in elements for part in self._parts_in_tuple(each))
            case ast.Name(id=name) if name in self.tuples and self.is_local(node):
                found = self.tuples[name]
                return found if isinstance(found, SEQUENCES) else None
            case ast.Name() | ast.Attribute() if not self.is_computed(node) and isinstance(self.value(node), tuple):
                return self._constants(node, self.value(node))
            case ast.Attribute(value=ast.Name() as array, attr="shape") if self.is_local(array):
                return ShapeOf(self.array(array))
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._joined(left, right)
            case ast.Subscript() if not self._is_of_result(node):
                part = self.part_of_tuple(node)
                return part if isinstance(part, SEQUENCES) else None
        return None

    def _parts_in_tuple(self, node: ast.expr) -> tuple[Value, ...]:
        """Returns the parts of a tuple for one that is written: the part itself, or those of a tuple with a star."""
        if not isinstance(node, ast.Starred):
            return (self.evaluated(node),)
        found = self.evaluated(node.value)
        if not isinstance(found, tuple):
            raise self.not_affine(node, "unpacking with * of other than a tuple", "each part written out")
        return found

    def _joined(self, left: ast.expr, right: ast.expr) -> tuple[Value, ...] | None:
        """Returns the parts of the sum of two tuples; None where the operands are something else."""
        if not all(isinstance(side, (ast.Tuple, ast.Name, ast.Attribute, ast.Subscript, ast.BinOp)) for side in (left, right)):
            return None
        first = self.parts(left)
        second = self.parts(right) if isinstance(first, tuple) else None
        return first + second if isinstance(first, tuple) and isinstance(second, tuple) else None

    def _constants(self, node: ast.expr, value: object) -> tuple[Value, ...]:
        """Returns the parts of a tuple from outside of the kernel, which are numbers or tuples of such."""
        assert isinstance(value, tuple)
        return tuple(self._constants(node, each) if isinstance(each, tuple) else self.number(node, each) for each in value)

    @abstractmethod
    def part_of_array(self, base: syntax.Expr, node: ast.Subscript) -> syntax.Expr:
        """Returns the part of an array, or its element, that a subscript means."""

    def part_of_tuple(self, node: ast.Subscript) -> Value | None:
        """Returns a part of a tuple, or the parts of a slice of one; None for a subscript of something else, unless that is the
        result of a function.
        """
        base: Value | None
        if (place := array_tuples.place(self, node.value, node.slice)) is not None:
            return place
        if self._is_of_result(node.value):
            base = self.evaluated(node.value)
        else:
            base = self.part_of_tuple(node.value) if isinstance(node.value, ast.Subscript) else self.parts(node.value)
        is_shape = isinstance(node.value, ast.Attribute) and isinstance(base, ShapeOf)
        if base is None or is_shape and not isinstance(node.slice, ast.Slice):
            return None
        if isinstance(base, syntax.Expr):
            return self.part_of_array(base, node)
        if isinstance(base, LISTS):
            return self._part_of_list(base, node)
        if isinstance(base, tuple):
            base = tuple(map(self.held, base))
        if isinstance(node.slice, ast.Slice):
            return self._slice(node, node.slice, base)
        index = constant(self.expr(node.slice))
        if type(index) not in (int, bool) or not isinstance(index, int):
            raise self.not_affine(node, "a part of a tuple whose number is not a constant", _COMPILED, "PML-F006")
        if isinstance(base, ShapeOf):
            return syntax.Shape(base.array, int(index), loc=self.text.loc(node))
        if not -len(base) <= index < len(base):
            raise self.not_affine(node, f"a tuple of {len(base)} has no part {index}", _COMPILED, "PML-F006")
        return base[index]

    def _part_of_list(self, base: AnyList, node: ast.Subscript) -> Value:
        """Returns an element of a list."""
        if isinstance(node.slice, ast.Slice) and (made := self.make_list(node)) is not None:
            return made
        if isinstance(node.slice, (ast.Slice, ast.Tuple)):
            raise self.not_affine(node, "a slice of a list", "`w[i]`, `np.array(w)`", "PML-F006")
        return element_of(base, self.expr(node.slice), self.text.loc(node))

    def _is_of_result(self, node: ast.expr) -> bool:
        """Returns whether a node is the result of a function that is inlined, or a part of one."""
        while isinstance(node, ast.Subscript):
            node = node.value
        return isinstance(node, ast.Call) and self.python_function(node) is not None

    def held(self, value: Value) -> Value:
        """Returns a value that is computed before the statement that is parsed."""
        if isinstance(value, tuple):
            return tuple(map(self.held, value))
        if isinstance(value, ListOf):
            return replace(value, indices=tuple(each for index in value.indices for each in leaves(self.held(index))))
        if isinstance(value, InnerList):
            [number] = leaves(self.held(value.number))
            return replace(value, number=number)
        if isinstance(value, (ShapeOf, *LISTS, syntax.Const, syntax.Name)):
            return value
        name = syntax.Name(self.fresh("_part"), loc=value.loc)
        self.before.append(syntax.Assign(name, value, loc=value.loc))
        return name

    def _slice(self, node: ast.Subscript, part: ast.Slice, base: tuple[Value, ...] | ShapeOf) -> tuple[Value, ...]:
        """Returns the parts of a slice of a tuple. Of a shape, it must be known how many sizes are taken."""
        bounds = [None if bound is None else constant(self.expr(bound)) for bound in (part.lower, part.upper, part.step)]
        if any(bound is MISSING or bound is not None and type(bound) is not int for bound in bounds) or bounds[2] == 0:
            raise self.not_affine(node, "a slice of a tuple that is not constant", _COMPILED, "PML-F006")
        first, last, step = (bound if isinstance(bound, int) else None for bound in bounds)
        if isinstance(base, tuple):
            return base[first:last:step]
        start = 0 if first is None else first
        stop = 0 if last is None and start < 0 else last
        if stop is None or step not in (None, 1) or (start < 0) is not (stop < 0 or start < 0 and last is None):
            raise self.not_affine(
                node, "a slice of a shape of which the number of sizes is not known", "`A.shape[:2]`, `A.shape[-2:]`", "PML-F006"
            )
        sizes = [syntax.Shape(base.array, dim, loc=self.text.loc(node)) for dim in range(start, stop)]
        return tuple(sizes)
