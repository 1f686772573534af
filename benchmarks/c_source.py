"""C for the loop language of the kernels, as a C programmer would write PolyBench: sizes known at compile time,
arrays that do not overlap."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

import numpy as np

from benchmarks.loops import function_tree, loops_of

_TYPES = {"float64": "double", "float32": "float", "int32": "int", "int64": "long long", "int8": "signed char"}
_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
_COMPARISONS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}


class NotInC(ValueError):
    """This is raised where the kernel uses something that this printer does not know."""


def c_source(function: Callable, arguments: Mapping[str, object], dtype: str, scop: bool = False) -> str:
    """Returns a C function of the same name. Integer arguments and shapes are constants; other scalars have type `dtype`.

    Its parameters are the arguments that are not integers, in order: pointers to contiguous arrays, and scalars.

    scop: whether its statements stand between the pragmas that Pluto looks for.

    Raises NotInC.
    """
    return _Printer(function_tree(function), arguments, dtype).text(scop)


class _Printer:
    def __init__(self, tree: ast.FunctionDef, arguments: Mapping[str, object], dtype: str):
        self.tree, self.real, self.single = tree, _TYPES[dtype], dtype == "float32"
        self.arrays = {name: value for name, value in arguments.items() if isinstance(value, np.ndarray)}
        self.constants = {name: value for name, value in arguments.items() if isinstance(value, int)}
        self.scalars = [n for n in arguments if n not in self.arrays and n not in self.constants]
        self.local: dict[str, tuple[int, ...]] = {}

    def text(self, scop: bool) -> str:
        body = [line for statement in self.tree.body for line in self.statement(statement, 1)]
        if scop:
            body = ["#pragma scop", *body, "#pragma endscop"]
        variables = sorted({loop.target.id for loop in loops_of(self.tree)})
        locals_ = sorted(self.assigned() - set(variables) - set(self.local))
        head = [f"    int {', '.join(variables)};"] if variables else []
        head += [f"    {self.real} {', '.join(locals_)};"] if locals_ else []
        head += [f"    static {self.real} {name}{_brackets(shape)};" for name, shape in self.local.items()]
        names = [a.arg for a in self.tree.args.args]
        parameters = ", ".join(self.parameter(name) for name in names if name not in self.constants)
        return "\n".join(["#include <math.h>", "", f"void {self.tree.name}({parameters})", "{", *head, *body, "}", ""])

    def assigned(self) -> set[str]:
        stored = (n for n in ast.walk(self.tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
        return {n.id for n in stored}

    def parameter(self, name: str) -> str:
        if name in self.scalars:
            return f"{self.real} {name}"
        array = self.arrays[name]
        kind = _TYPES[array.dtype.name]
        inner = _brackets(array.shape[1:])
        return f"{kind} (*restrict {name}){inner}" if inner else f"{kind} *restrict {name}"

    def shape(self, name: str) -> tuple[int, ...]:
        return self.local[name] if name in self.local else self.arrays[name].shape

    def statement(self, node: ast.stmt, depth: int) -> list[str]:
        pad = "    " * depth
        if isinstance(node, ast.For):
            return [f"{pad}{self.loop_head(node)} {{", *self.block(node.body, depth + 1), f"{pad}}}"]
        if isinstance(node, ast.If):
            lines = [f"{pad}if ({self.expr(node.test)}) {{", *self.block(node.body, depth + 1)]
            if node.orelse:
                lines += [f"{pad}}} else {{", *self.block(node.orelse, depth + 1)]
            return [*lines, f"{pad}}}"]
        if isinstance(node, ast.AugAssign):
            return [f"{pad}{self.expr(node.target)} {self.operator(node.op)}= {self.expr(node.value)};"]
        if isinstance(node, ast.Assign):
            if self.is_allocation(node.value):
                self.local[node.targets[0].id] = self.shape(node.value.args[0].id)
                return []
            targets = " = ".join(self.expr(t) for t in node.targets)
            return [f"{pad}{targets} = {self.expr(node.value)};"]
        raise NotInC(ast.unparse(node))

    def block(self, body: list[ast.stmt], depth: int) -> list[str]:
        return [line for statement in body for line in self.statement(statement, depth)]

    def loop_head(self, node: ast.For) -> str:
        args = node.iter.args
        start = self.expr(args[0]) if len(args) > 1 else "0"
        stop = self.expr(args[1] if len(args) > 1 else args[0])
        step = ast.literal_eval(args[2]) if len(args) > 2 else 1
        var, compare = node.target.id, "<" if step > 0 else ">"
        return f"for ({var} = {start}; {var} {compare} {stop}; {var} += {step})"

    def is_allocation(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Call) and ast.unparse(node.func) == "np.empty_like"

    def operator(self, node: ast.operator) -> str:
        if type(node) not in _OPERATORS:
            raise NotInC(type(node).__name__)
        return _OPERATORS[type(node)]

    def expr(self, node: ast.expr) -> str:
        match node:
            case ast.Name(id=name):
                return str(self.constants.get(name, name))
            case ast.Constant(value=float() as value):
                return f"{value!r}f" if self.single else repr(value)
            case ast.Constant(value=int() as value):
                return str(value)
            case ast.Subscript(value=ast.Attribute(value=ast.Name(id=array), attr="shape"), slice=dim):
                return str(self.shape(array)[ast.literal_eval(dim)])
            case ast.Subscript(value=ast.Name(id=array), slice=index):
                indices = index.elts if isinstance(index, ast.Tuple) else [index]
                return array + "".join(f"[{self.expr(i)}]" for i in indices)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return f"(-{self.expr(operand)})"
            case ast.BinOp(left=base, op=ast.Pow(), right=exponent):
                return f"{self.function('pow')}({self.expr(base)}, {self.expr(exponent)})"
            case ast.BinOp(left=left, op=op, right=right):
                return f"({self.expr(left)} {self.operator(op)} {self.expr(right)})"
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARISONS:
                return f"({self.expr(left)} {_COMPARISONS[type(op)]} {self.expr(right)})"
            case ast.BoolOp(op=op, values=values):
                return "(" + (" && " if isinstance(op, ast.And) else " || ").join(map(self.expr, values)) + ")"
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return f"({self.expr(test)} ? {self.expr(body)} : {self.expr(orelse)})"
            case ast.Call(func=ast.Name(id="max"), args=[left, right]):
                left, right = self.expr(left), self.expr(right)
                return f"({left} >= {right} ? {left} : {right})"
            case ast.Call(func=ast.Attribute(value=ast.Name(id="np" | "math"), attr="sqrt" | "exp" as name), args=[x]):
                return f"{self.function(name)}({self.expr(x)})"
        raise NotInC(ast.unparse(node))

    def function(self, name: str) -> str:
        return name + "f" if self.single else name


def _brackets(shape: tuple[int, ...]) -> str:
    return "".join(f"[{n}]" for n in shape)
