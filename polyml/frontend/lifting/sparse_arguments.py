"""Functions of sparse matrices become functions of their arrays, which are compiled in their place.

    def residual(A, x, b):                     def residual(A_data, A_indices, A_indptr, A_rows, A_columns, x, b):
        return b - A @ x               ->          return b - csr_vector(A_data, A_indices, A_indptr, A_rows, A_columns, x)

Nodes of the syntax tree stay where they are in the file, so that messages show what the user wrote.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import CellType, CodeType, FunctionType

from polyml.errors import LanguageError, NotAffineError
from polyml.frontend.captures import OuterScope, python_function
from polyml.frontend.lifting.loop_lifting import function_code
from polyml.frontend.parsing.source_text import REWRITTEN, FunctionText, text_of
from polyml.frontend.sparse import matrices as sparse
from polyml.frontend.sparse import operations
from polyml.frontend.sparse.matrices import SparseMatrix
from polyml.frontend.sparse.operations import Operation
from polyml.frontend.sparse.ranks import rank, ranks

_ACCEPTED = "`A.data` and the other arrays of its format, `A.shape`, `A.nnz`, `A.dtype`, `A.format`, `A @ x`, `x @ A`, `A.T @ x`, `A.diagonal()`"

_HALVES = frozenset({"float16", "half", "bfloat16"})  # SciPy makes float32 of them, NumPy does not beside elements of one byte


@dataclass(frozen=True)
class SparseFunction:
    """A SparseFunction is a function that takes the parts of sparse matrices in the place of these.

    function: the function
    values: where each argument comes from: (position of an argument of the function it was made of, the part of the matrix that is
        there, or None for the argument itself)
    """

    function: FunctionType
    values: tuple[tuple[int, str | None], ...]

    def given(self, arguments: Sequence[object]) -> tuple[object, ...]:
        """Returns the arguments of `function`, made of those of the function that it was made of."""
        return tuple(arguments[k] if name is None else sparse.part(arguments[k], name) for k, name in self.values)


def of_arrays(
    function: FunctionType,
    matrices: Mapping[str, SparseMatrix],
    dimensions: Mapping[str, int],
    callers: tuple[FunctionType, ...] = (),
) -> SparseFunction:
    """Returns a function that takes the arrays of sparse matrices in the place of these.

    matrices: the parameters that are sparse matrices
    dimensions: how many dimensions the arguments have that are arrays or numbers; of a parameter that is in neither, attributes are taken
    callers: the functions that call this one
    Raises LanguageError for what the language does not have, with its place.
    """
    text = text_of(function)
    tree = copy.deepcopy(text.tree)
    rewriter = _Rewriter(function, text, matrices, ranks(tree, dimensions, matrices), callers)
    rewriter.generic_visit(tree)
    tree.decorator_list, tree.returns = [], None
    names = function.__code__.co_varnames[: function.__code__.co_argcount + function.__code__.co_kwonlyargcount]
    values: list[tuple[int, str | None]] = []
    parameters: list[ast.arg] = []
    written = {arg.arg: arg for arg in (*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs)}
    for position, name in enumerate(names):
        is_whole = name not in matrices and name not in rewriter.objects
        own = [None] if is_whole else [part for base, part in rewriter.names if base == name]
        values += [(position, part) for part in own]
        parameters += [
            ast.copy_location(ast.arg(name if part is None else rewriter.names[name, part]), written[name]) for part in own
        ]
    tree.args = ast.arguments(posonlyargs=[], args=parameters, kwonlyargs=[], kw_defaults=[], defaults=[])
    ast.fix_missing_locations(tree)
    return SparseFunction(_made(function, tree, rewriter.cells), tuple(values))


def _made(function: FunctionType, tree: ast.FunctionDef, cells: Mapping[str, object]) -> FunctionType:
    """Returns the function of a definition.

    function: the one whose globals and closure it has
    cells: the values of further free names
    """
    held = dict(zip(function.__code__.co_freevars, function.__closure__ or ())) | {name: CellType(v) for name, v in cells.items()}
    code: CodeType = function_code(tree, function, function.__code__.co_filename, list(held))
    code = code.replace(co_firstlineno=function.__code__.co_firstlineno)
    made = FunctionType(code, function.__globals__, function.__name__, None, tuple(held[name] for name in code.co_freevars))
    made.__module__, made.__qualname__, made.__doc__ = function.__module__, function.__qualname__, function.__doc__
    made.__dict__[REWRITTEN] = tree
    return made


class _Rewriter(ast.NodeTransformer):
    """A _Rewriter puts parts of sparse matrices, and loops over these, in the place of the matrices.

    objects: the parameters that are other objects, of which attributes alone are taken
    names: (parameter, part of the matrix) -> the name of a parameter of its own, in the order of their first uses
    cells: name -> function that is called in the place of an operation
    """

    def __init__(
        self, function: FunctionType, text: FunctionText, matrices: Mapping[str, SparseMatrix], known: Mapping[str, int],
        callers: tuple[FunctionType, ...],
    ):  # fmt: skip
        self._function, self._text, self._matrices, self._ranks = function, text, matrices, known
        self._scope, self._callers = OuterScope(function), (*callers, function)
        code = function.__code__
        parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        self.objects = frozenset() if callers else {*parameters} - {*matrices, *known}
        self._taken = {*code.co_varnames, *code.co_cellvars, *code.co_names, *code.co_freevars}
        self.names: dict[tuple[str, str], str] = {}
        self.cells: dict[str, FunctionType] = {}

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in self._matrices:
            raise self._refused(node)
        return node

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        test = self.visit(copy.deepcopy(node.test))
        known = _truth(test)
        if known is None:
            return self.generic_visit(node)
        kept = [self.visit(stmt) for stmt in (node.body if known else node.orelse)]
        return [each for made in kept for each in (made if isinstance(made, list) else [made])] or [
            ast.copy_location(ast.Pass(), node)
        ]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._scope_of(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return self._scope_of(node)

    def _scope_of(self, node: ast.FunctionDef | ast.Lambda) -> ast.AST:
        """Returns a function inside rewritten, where it has no parameter with the name of a matrix."""
        if any(isinstance(inner, ast.arg) and inner.arg in self._matrices for inner in ast.walk(node)):
            raise self._refused(node)
        return self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attr, ctx=ast.Load()) if name in self._matrices:
                made = self._attribute(name, attr, node)
                if made is None:
                    raise self._refused(node)
                return self._at(made, node)
            case ast.Attribute(value=ast.Name(id=name), attr=attr, ctx=ast.Load()) if name in self.objects:
                return self._at(self._part(name, f".{attr}"), node)
        return self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        match node:
            case ast.Subscript(value=ast.Attribute(value=ast.Name(id=name), attr="shape"), slice=index) if name in self._matrices:
                known = _constant(index)
                if known in (0, 1, -1, -2):
                    return self._at(self._part(name, sparse.NUMBERS[known % 2]), node)
        return self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        left, right = self._matrix(node.left), self._matrix(node.right)
        one = left or right
        if one is None or left and right:
            return self.generic_visit(node)
        star = isinstance(node.op, ast.Mult) and self._matrices[one[0]].operators == "matrix"
        if not star and not isinstance(node.op, ast.MatMult):
            return self.generic_visit(node)
        if left:
            return self._at(self._product(*left, node.right, node), node)
        name, transposed = one
        dimensions = rank(node.left, self._ranks, self._matrices)
        if dimensions != 2:
            return self._at(self._product(name, not transposed, node.left, node), node)
        flipped = self._at(ast.Call(ast.Attribute(ast.Attribute(node.left, "T", ast.Load()), "copy", ast.Load()), [], []), node)
        return self._at(ast.Attribute(self._product(name, not transposed, flipped, node), "T", ast.Load()), node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        match node:
            case ast.Call(func=ast.Attribute(value=base, attr="dot"), args=[argument], keywords=[]) if found := self._matrix(base):
                return self._at(self._product(*found, argument, node), node)
            case ast.Call(func=ast.Attribute(value=base, attr="diagonal"), args=[], keywords=[]) if found := self._matrix(base):
                operation = operations.diagonal(self._matrices[found[0]].format)
                if operation is not None and self._matrices[found[0]].operators:
                    return self._at(self._call(operation, found[0], []), node)
        if any(isinstance(part, ast.Name) and part.id in self._matrices for part in node.args):
            return self._at(self._call_of_python(node), node)
        return self.generic_visit(node)

    # Parts

    def _attribute(self, name: str, attr: str, node: ast.Attribute) -> ast.expr | None:
        """Returns what stands in the place of an attribute of a matrix; None where it has no such attribute."""
        matrix = self._matrices[name]
        if attr in sparse.ARRAYS[matrix.format]:
            return self._part(name, attr)
        match attr:
            case "shape":
                return ast.Tuple([self._at(self._part(name, size), node) for size in ("rows", "columns")], ast.Load())
            case "format":
                return ast.Constant(matrix.format)
            case "ndim":
                return ast.Constant(2)
            case "dtype":
                return ast.Attribute(self._at(self._part(name, "data"), node), "dtype", ast.Load())
            case "nnz" if not self._is_stored(name, "indptr"):
                return self._part(name, "nnz")
        return None

    def _is_stored(self, name: str, attr: str) -> bool:
        """Returns whether the function may store to elements of an array of a matrix: to those of the attribute, or of a name for it."""
        nodes = list(ast.walk(self._text.tree))
        own = f"{name}.{attr}"
        names = {
            t.id
            for n in nodes
            if isinstance(n, ast.Assign) and own in ast.unparse(n.value)
            for t in n.targets
            if isinstance(t, ast.Name)
        }
        stored = (ast.unparse(n.value) for n in nodes if isinstance(n, ast.Subscript) and not isinstance(n.ctx, ast.Load))
        return any(base == own or base in names for base in stored)

    def _part(self, name: str, part: str) -> ast.expr:
        """Returns the name of a part of a matrix."""
        if (name, part) not in self.names:
            self.names[name, part] = self._fresh(f"{name}_{part.removeprefix('.')}")
        return ast.Name(self.names[name, part], ast.Load())

    def _fresh(self, wanted: str) -> str:
        while wanted in self._taken:
            wanted += "_"
        self._taken.add(wanted)
        return wanted

    def _at(self, made: ast.expr, node: ast.expr) -> ast.expr:
        return ast.copy_location(made, node)

    # Operations

    def _matrix(self, node: ast.expr) -> tuple[str, bool] | None:
        """Returns (parameter, whether it is transposed) of a matrix `A`, `A.T` or `A.transpose()`, else None."""
        match node:
            case ast.Call(func=ast.Attribute(attr="transpose") as inner, args=[], keywords=[]):
                found = self._matrix(inner.value)
                return None if found is None else (found[0], not found[1])
            case ast.Attribute(value=value, attr="T"):
                found = self._matrix(value)
                return None if found is None else (found[0], not found[1])
            case ast.Name(id=name) if name in self._matrices:
                return name, False
        return None

    def _product(self, name: str, transposed: bool, argument: ast.expr, node: ast.expr) -> ast.expr:
        matrix = self._matrices[name]
        if not matrix.operators or matrix.small and _HALVES & self._taken:
            raise self._refused(node)
        dimensions = rank(argument, self._ranks, self._matrices)
        operation = operations.product(matrix.format, transposed, 2 if dimensions == 2 else 1)
        return self._call(operation, name, [self.visit(argument)], node)

    def _call(self, operation: Operation, name: str, arguments: list[ast.expr], node: ast.expr | None = None) -> ast.expr:
        called = self._function_name(operation.function)
        parts = [self._part(name, part) for part in operation.parts]
        return ast.Call(ast.Name(called, ast.Load()), [*parts, *arguments], [])

    def _function_name(self, function: FunctionType) -> str:
        known = next((name for name, each in self.cells.items() if each is function), None)
        if known is None:
            known = self._fresh(function.__name__)
            self.cells[known] = function
        return known

    def _call_of_python(self, node: ast.Call) -> ast.expr:
        """Returns a call of a Python function that takes the parts of matrices in the place of these."""
        value = (
            self._scope.lookup(node.func.id) if isinstance(node.func, ast.Name) and node.func.id not in self._taken_locals else None
        )
        called = python_function(value)
        code = None if called is None else called.__code__
        if called is None or code is None or called in self._callers or node.keywords or len(node.args) != code.co_argcount:
            raise self._refused(node)
        parameters = code.co_varnames[: code.co_argcount]
        own = {p: self._matrices[a.id] for p, a in zip(parameters, node.args) if isinstance(a, ast.Name) and a.id in self._matrices}
        known = {p: r for p, a in zip(parameters, node.args) if (r := rank(a, self._ranks, self._matrices)) is not None}
        made = of_arrays(called, own, known, self._callers)
        arguments: list[ast.expr] = []
        for position, part in made.values:
            argument = node.args[position]
            if part is not None and isinstance(argument, ast.Name):
                arguments.append(self._part(argument.id, part))
            else:
                arguments.append(self.visit(argument))
        name = self._fresh(called.__name__)
        self.cells[name] = made.function
        return ast.Call(ast.Name(name, ast.Load()), arguments, [])

    @property
    def _taken_locals(self) -> set[str]:
        return {*self._function.__code__.co_varnames, *self._function.__code__.co_cellvars}

    def _refused(self, node: ast.expr | ast.stmt) -> LanguageError:
        shown = f"`{ast.unparse(node)}`" if isinstance(node, ast.expr) else "this function"
        base = next((n for n in ast.walk(node) if isinstance(n, ast.Name) and n.id in self._matrices), None)
        if base is None:
            what = "of an object of another class numbers and arrays are taken, which are its attributes"
        else:
            what = f"`{base.id}` is a sparse matrix ({self._matrices[base.id].format})"
        return NotAffineError(
            f"{shown} is not compiled: {what}", loc=self._text.loc(node), notes=[f"polyml compiles: {_ACCEPTED}"], code="PML-F011"
        )


def _constant(node: ast.expr) -> int | None:
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
            return -value
    return None


def _truth(test: ast.expr) -> bool | None:
    """Returns whether a condition on formats holds; None where it is none."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            known = _truth(operand)
            return None if known is None else not known
        case ast.BoolOp(op=op, values=values):
            every = [_truth(value) for value in values]
            if any(known is None for known in every):
                return None
            return all(every) if isinstance(op, ast.And) else any(every)
        case ast.Compare(left=ast.Constant(value=str(left)), ops=[op], comparators=[right]):
            texts = (
                [right]
                if isinstance(right, ast.Constant)
                else right.elts
                if isinstance(right, (ast.Tuple, ast.List, ast.Set))
                else []
            )
            known_texts = [each.value for each in texts if isinstance(each, ast.Constant)]
            if not texts or len(known_texts) < len(texts) or isinstance(op, (ast.Eq, ast.NotEq)) != isinstance(right, ast.Constant):
                return None
            if isinstance(op, (ast.Eq, ast.In)):
                return left in known_texts
            return left not in known_texts if isinstance(op, (ast.NotEq, ast.NotIn)) else None
    return None
