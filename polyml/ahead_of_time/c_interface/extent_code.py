"""Extents of result arrays, which artifacts have as texts, as LLVM instructions and with other names.

A text is an expression of parameters as `runtime.calling.result_extents` reads it: N + 1, (N + 3) // 4, min(N, M), ...
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from polyml.codegen.llvm.builder import FunctionBuilder

_SUMS = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul"}
_TESTS = {ast.GtE: "sge", ast.Eq: "eq", ast.LtE: "sle", ast.Gt: "sgt", ast.Lt: "slt"}


def emitted(extent: str, names: Mapping[str, str], fn: FunctionBuilder) -> str:
    """Emits the value of an extent, an i64, and returns its SSA name or constant.

    names: {parameter: its SSA name}.
    Raises ValueError for a text that is no extent.
    """
    return _Extent(names, fn).value(ast.parse(extent, mode="eval").body)


class _Extent:
    """An _Extent emits the parts of one extent."""

    def __init__(self, names: Mapping[str, str], fn: FunctionBuilder):
        self._names, self._fn = names, fn

    def value(self, node: ast.expr) -> str:
        emit = self._fn.emit
        match node:
            case ast.Constant(value=int(value)):
                return str(value)
            case ast.Name(id=name):
                return self._names[name]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return emit(f"sub i64 0, {self.value(operand)}")
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _SUMS:
                return emit(f"{_SUMS[type(op)]} i64 {self.value(left)}, {self.value(right)}")
            case ast.BinOp(left=left, op=ast.FloorDiv() | ast.Mod() as op, right=ast.Constant(value=int(by))) if by > 0:
                return self._divided(self.value(left), by, isinstance(op, ast.Mod))
            case ast.Call(func=ast.Name(id="min" | "max" as which), args=[first, *others]):
                found = self.value(first)
                for other in others:
                    found = self._extreme(which, found, self.value(other))
                return found
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return emit(f"select i1 {self.holds(test)}, i64 {self.value(body)}, i64 {self.value(orelse)}")
        raise ValueError(f"`{ast.unparse(node)}` is not an extent")

    def holds(self, node: ast.expr) -> str:
        """Emits a condition, an i1."""
        match node:
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return self._fn.emit(f"icmp {_TESTS[type(op)]} i64 {self.value(left)}, {self.value(right)}")
            case ast.BoolOp(op=op, values=[first, *others]):
                found = self.holds(first)
                for other in others:
                    found = self._fn.emit(f"{'and' if isinstance(op, ast.And) else 'or'} i1 {found}, {self.holds(other)}")
                return found
        raise ValueError(f"`{ast.unparse(node)}` is not a condition")

    def _divided(self, dividend: str, by: int, is_rest: bool) -> str:
        """Emits a division rounded down, or what it leaves, by a positive constant."""
        emit = self._fn.emit
        rest = emit(f"srem i64 {dividend}, {by}")
        below = emit(f"icmp slt i64 {rest}, 0")
        if is_rest:
            return emit(f"select i1 {below}, i64 {emit(f'add i64 {rest}, {by}')}, i64 {rest}")
        quotient = emit(f"sdiv i64 {dividend}, {by}")
        return emit(f"sub i64 {quotient}, {emit(f'zext i1 {below} to i64')}")

    def _extreme(self, which: str, a: str, b: str) -> str:
        test = self._fn.emit(f"icmp {'slt' if which == 'min' else 'sgt'} i64 {a}, {b}")
        return self._fn.emit(f"select i1 {test}, i64 {a}, i64 {b}")


def renamed(extent: str, names: Mapping[str, str]) -> str:
    """Returns the text of an extent with other texts for the parameters.

    >>> renamed("2*A_0 + 1", {"A_0": "(N + 1)"})
    '2 * (N + 1) + 1'
    """

    class Renaming(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return ast.parse(names[node.id], mode="eval").body if node.id in names else node

    return ast.unparse(Renaming().visit(ast.parse(extent, mode="eval").body))
