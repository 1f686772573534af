"""Python's expressions -> those of `syntax`, and what the names in them stand for."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FunctionType, ModuleType

import numpy as np

from polyml.dtypes import ACCEPTED, OF_PYTHON
from polyml.errors import LanguageError, NotAffineError
from polyml.frontend import elementwise_functions, syntax
from polyml.frontend.captures import MISSING, Scope, is_library_module, python_function
from polyml.frontend.constant_folding import constant
from polyml.frontend.parsing import array_signatures
from polyml.frontend.parsing.source_text import Text, Written

BINARY = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip
_UNARY = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not"}
_COMPARE = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}

_FUNCTIONS = (
    "elementwise functions of numpy and math, functions of arrays such as np.sum, min, max, abs, pow, len, and casts "
    "such as np.float32"
)
_OF_UFUNCS = "out where dtype casting order subok signature initial mean weights correction".split()  # which Python knows
_NOT_COMPILED = ("out", "weights", "returned")
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


@dataclass(frozen=True)
class Inlined:
    """What a call of a Python function gives: no values for None."""

    values: tuple[syntax.Expr, ...]
    is_tuple: bool


class Expressions:
    """Reads the expressions of one function.

    renamed: what the text calls a local -> what the kernel calls it, where the two differ.
    known: parameters of an inlined function that always have the same value, whatever Python object it is.
    taken: the names that the kernel uses.
    before: statements that must run before the one that is read. inline: reads a call of a Python function; allocate:
    one of a function such as np.zeros.
    """

    def __init__(
        self,
        function: FunctionType,
        text: Text,
        taken: set[str],
        inline: Callable[[ast.Call], Inlined],
        allocate: Callable[[ast.Call], syntax.Name],
    ):
        self.text, self.scope = text, Scope(function)
        code = function.__code__
        self.locals = frozenset((*code.co_varnames, *code.co_cellvars))
        self.renamed: dict[str, str] = {}
        self.known: dict[str, object] = {}
        self.taken = taken
        self.before: list[syntax.Stmt] = []
        self._inline, self._allocate = inline, allocate
        self._lazy = 0  # how many `and` and `or` are around, of which the operand may not be evaluated

    def expr(self, node: ast.expr) -> syntax.Expr:
        """A number. LanguageError if it is something else."""
        loc = self.text.loc(node)
        match node:
            case ast.Constant(value=value):
                return self.number(node, value)
            case ast.Name():
                return self._name(node)
            case ast.Attribute():
                return self._attribute(node)
            case ast.Subscript():
                return self._subscript(node)
            case ast.UnaryOp(op=op, operand=operand):
                return _negated(syntax.Unary(_UNARY[type(op)], self.expr(operand), loc=loc))
            case ast.BinOp(op=ast.MatMult(), left=left, right=right):
                return syntax.Function("matmul", (self.expr(left), self.expr(right)), loc=loc)
            case ast.BinOp(op=op, left=left, right=right):
                return syntax.Binary(BINARY[type(op)], self.expr(left), self.expr(right), loc=loc)
            case ast.BoolOp(op=op, values=values):
                first = self.expr(values[0])
                self._lazy += 1
                try:
                    rest = tuple(map(self.expr, values[1:]))
                finally:
                    self._lazy -= 1
                return syntax.Logical("and" if isinstance(op, ast.And) else "or", (first, *rest), loc=loc)
            case ast.Compare():
                return self._compare(node)
            case ast.IfExp():
                return self._choice(node)
            case ast.Call():
                return self._call(node)
        accepted = "numbers, arrays, their elements, arithmetic, comparisons and functions of them"
        raise self.error(node, f"{spelled(node)} is neither a number nor an array", accepted)

    def number(self, node: ast.expr, value: object) -> syntax.Const:
        """The constant that `value`, written as `node`, is."""
        if not is_number(value):
            raise self.error(
                node,
                f"{_described(value)} is not a number of the language",
                f"Python's int, float, complex and bool, and NumPy's {ACCEPTED}",
            )
        return syntax.Const(value, loc=self.text.loc(node))

    def array(self, node: ast.expr) -> str:
        """The name of the array that `node` is."""
        if not isinstance(node, ast.Name):
            raise self.error(node, "only an array that has a name can be used here", "a parameter, or a local array")
        if self.is_local(node):
            return self.renamed.get(node.id, node.id)
        value = self.value(node)
        self._refuse_array(node, value)
        what = "is not defined" if value is MISSING else f"is {_described(value)}, not an array"
        raise self.error(node, f"`{node.id}` {what}", "a parameter, or a local array")

    def value(self, node: ast.expr) -> object:
        """What a name from outside the kernel, or an attribute of a module, is; MISSING for everything else."""
        if isinstance(node, ast.Name):
            return self.known.get(node.id, MISSING) if node.id in self.locals else self.scope.lookup(node.id)
        if not isinstance(node, ast.Attribute):
            return MISSING
        owner = self.value(node.value)
        if isinstance(owner, np.ufunc) and node.attr == "accumulate":
            return owner.accumulate
        if not isinstance(owner, ModuleType):
            return MISSING
        return getattr(owner, node.attr, MISSING) if is_library_module(owner) else vars(owner).get(node.attr, MISSING)

    def constant(self, node: ast.expr) -> object:
        """The Python object that `node` always is, None and text too; MISSING for what the kernel computes."""
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                values = tuple(map(self.constant, parts))
                return MISSING if any(value is MISSING for value in values) else values
            case ast.Name() | ast.Attribute() if not self.is_computed(node):
                return self.value(node)
        return MISSING

    def python_function(self, node: ast.expr) -> FunctionType | None:
        """The function that a call inlines, if `node` is such a call."""
        return python_function(self.value(node.func)) if isinstance(node, ast.Call) else None

    def call(self, node: ast.Call) -> Inlined:
        """What a call of a Python function gives. It is the only place where None or several values may be."""
        return self._inline(node)

    def is_local(self, node: ast.expr) -> bool:
        """True of a parameter or a local, and of their attributes, elements and methods."""
        while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
            node = node.func if isinstance(node, ast.Call) else node.value
        return isinstance(node, ast.Name) and node.id in self.locals and node.id not in self.known

    def is_computed(self, node: ast.expr) -> bool:
        """True of what the kernel computes, against a module or something in it."""
        return self.is_local(node) or not isinstance(node, (ast.Name, ast.Attribute))

    def fresh(self, stem: str) -> str:
        """stem1, stem2, ...: a name that the function does not use."""
        number = next(n for n in range(1, len(self.taken) + 2) if f"{stem}{n}" not in self.taken)
        self.taken.add(f"{stem}{number}")
        return f"{stem}{number}"

    def no_keywords(self, node: ast.Call, name: str) -> None:
        """Refuse keywords and unpacked arguments."""
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                raise self.error(argument, "unpacking with * is not part of the language", "each operand written out")
        for keyword in node.keywords:
            refuse = self.not_affine if keyword.arg in _OF_UFUNCS and isinstance(self.value(node.func), np.ufunc) else self.error
            raise refuse(keyword, f"`{name}` takes no keywords in a kernel", f"`{name}` of numbers alone")

    def error(self, node: Written, message: str, accepted: str, code: str | None = None) -> LanguageError:
        return LanguageError(message, loc=self.text.loc(node), notes=[f"accepted: {accepted}"], code=code or _CODES.get(type(node)))

    def not_affine(self, node: Written, message: str, accepted: str, code: str | None = None) -> NotAffineError:
        code = code or _CODES.get(type(node))
        return NotAffineError(message, loc=self.text.loc(node), notes=[f"polyml compiles: {accepted}"], code=code)

    # Names, attributes, subscripts

    def _name(self, node: ast.Name) -> syntax.Expr:
        if self.is_local(node):
            return syntax.Name(self.renamed.get(node.id, node.id), loc=self.text.loc(node))
        value = self.value(node)
        if value is MISSING:
            raise self.error(
                node,
                f"`{node.id}` is not defined",
                "a parameter, a local, or a global or closure value that exists when the kernel is compiled",
            )
        self._refuse_array(node, value)
        return self.number(node, value)

    def _refuse_array(self, node: ast.Name, value: object) -> None:
        if isinstance(value, np.ndarray):
            raise self.error(node, f"`{node.id}` is an array from outside the kernel", "arrays that are passed as arguments")

    def _attribute(self, node: ast.Attribute) -> syntax.Expr:
        if self.is_computed(node.value):
            if node.attr not in array_signatures.ATTRIBUTES:
                known = ", ".join(f"`A.{name}`" for name in array_signatures.ATTRIBUTES)
                raise self.error(node, f"`.{node.attr}` is not part of the language", f"`A.shape[0]`, `n, m = A.shape`, {known}")
            name = array_signatures.ATTRIBUTES[node.attr]
            return syntax.Function(name, (self.expr(node.value),), loc=self.text.loc(node))
        value = self.value(node)
        if value is MISSING:
            raise self.error(
                node,
                f"`{ast.unparse(node)}` is not part of the language",
                "numbers that are attributes of a module, and `A.shape[0]`",
            )
        return self.number(node, value)

    def _subscript(self, node: ast.Subscript) -> syntax.Expr:
        base: ast.expr = node
        groups: list[Sequence[ast.expr]] = []
        while isinstance(base, ast.Subscript):
            groups.append(base.slice.elts if isinstance(base.slice, ast.Tuple) else (base.slice,))
            base = base.value
        if isinstance(base, ast.Attribute) and base.attr == "shape" and len(groups) == 1:
            return self._shape(node, base)
        indices = [i for group in reversed(groups) for i in group]
        if isinstance(base, ast.Name) and not any(map(self._is_part, indices)):
            loc, chained = self.text.loc(node), len(groups) > 1
            return syntax.Subscript(self.array(base), tuple(map(self.expr, indices)), chained=chained, loc=loc)
        inner = self.array_expr(node.value)
        return syntax.Part(inner, tuple(map(self._index, groups[0])), loc=self.text.loc(node))

    def array_expr(self, node: ast.expr) -> syntax.Expr:
        """What is subscripted: a name must be an array's."""
        return syntax.Name(self.array(node), loc=self.text.loc(node)) if isinstance(node, ast.Name) else self.expr(node)

    def _index(self, node: ast.expr) -> syntax.Expr | syntax.Slice | syntax.NewAxis | syntax.Dots:
        if isinstance(node, ast.Slice):
            start, stop = (None if bound is None else self.expr(bound) for bound in (node.lower, node.upper))
            step = 1 if node.step is None else constant(self.expr(node.step))
            if type(step) is not int or step == 0:
                raise self.error(node.step or node, "the step of a slice must be a constant that is not zero", "an int")
            return syntax.Slice(start, stop, step, loc=self.text.loc(node))
        if self.constant(node) is None:
            return syntax.NewAxis()
        if self.constant(node) is ...:
            return syntax.Dots()
        return self.expr(node)

    def _is_part(self, node: ast.expr) -> bool:
        """Whether the index takes more than one element of a dimension, or makes one: a slice, None or ..."""
        return isinstance(node, ast.Slice) or self.constant(node) is None or self.constant(node) is ...

    def _shape(self, node: ast.Subscript, shape: ast.Attribute) -> syntax.Shape:
        array = self.array(shape.value)
        dim = MISSING if isinstance(node.slice, ast.Slice) else constant(self.expr(node.slice))
        if type(dim) is not int:
            raise self.error(node.slice, "the subscript of a shape must be a constant integer", "`A.shape[0]`")
        return syntax.Shape(array, dim, loc=self.text.loc(node))

    # Operators

    def _compare(self, node: ast.Compare) -> syntax.Expr:
        known = self._known_comparison(node)
        if known is not None:
            return syntax.Const(known, loc=self.text.loc(node))
        if any(type(op) not in _COMPARE for op in node.ops):
            raise self.error(node, "`is` and `in` are not part of the language", "< <= > >= == !=, `x is None`")
        sides = (node.left, *node.comparators)
        values = [self.expr(side) for side in sides]
        pairs = []
        for position, op in enumerate(node.ops):
            loc = self.text.loc(sides[position], sides[position + 1])
            pairs.append(syntax.Compare(_COMPARE[type(op)], values[position], values[position + 1], loc=loc))
        return pairs[0] if len(pairs) == 1 else syntax.Logical("and", tuple(pairs), loc=self.text.loc(node))

    def _known_comparison(self, node: ast.Compare) -> bool | None:
        """The truth of a comparison with None, or of one between objects that are not numbers."""
        if len(node.ops) != 1:
            return None
        left, right = self.constant(node.left), self.constant(node.comparators[0])
        match node.ops[0]:
            case ast.Is() if right is None:
                return left is None
            case ast.IsNot() if right is None:
                return left is not None
            case ast.Eq() | ast.NotEq() if isinstance(left, str) and isinstance(right, str):
                return (left == right) is isinstance(node.ops[0], ast.Eq)
        return None

    def _choice(self, node: ast.IfExp) -> syntax.Expr:
        condition, loc = self.expr(node.test), self.text.loc(node)
        known = constant(condition)
        if known is not MISSING:
            return self.expr(node.body if known else node.orelse)
        before, chosen, blocks = self.before, [], []
        for part in (node.body, node.orelse):
            self.before = []
            chosen.append(self.expr(part))
            blocks.append(self.before)
        self.before = before
        if not any(blocks):
            return syntax.IfExp(condition, *chosen, loc=loc)
        result = syntax.Name(self.fresh("_chosen"), loc=loc)
        then, orelse = ((*block, syntax.Assign(result, value, loc=loc)) for block, value in zip(blocks, chosen))
        self.before.append(syntax.If(condition, then, orelse, loc=loc))
        return result

    # Calls

    def _call(self, node: ast.Call) -> syntax.Expr:
        if isinstance(node.func, ast.Attribute) and self.is_computed(node.func.value):
            return self._method(node, node.func)
        function, name = self.value(node.func), ast.unparse(node.func)
        signature = lookup(array_signatures.FUNCTIONS, function)
        if signature is not None:
            return self._array_function(node, name, signature, ())
        if function is np.einsum:
            return self._einsum(node, name)
        if lookup(elementwise_functions.ALLOCATIONS, function) is not None:
            if self._lazy:
                raise self.not_affine(node, "an array that is made only where `and` or `or` needs it", "arrays made before")
            return self._allocate(node)
        special = self._special(function)
        known = lookup(elementwise_functions.FUNCTIONS, function)
        if special is None and known is None:
            if python_function(function) is not None:
                return self._only_value(node, self.call(node))
            raise self._unknown(node, name, function)
        self.no_keywords(node, name)
        return special(node) if special else self._elementwise(node, name, known)

    def _only_value(self, node: ast.Call, result: Inlined) -> syntax.Expr:
        if len(result.values) == 1 and not result.is_tuple:
            return result.values[0]
        what = f"a tuple of {len(result.values)}" if result.is_tuple else "None"
        raise self.error(node, f"`{ast.unparse(node.func)}` gives {what} where a value is needed", "one number or array")

    def _method(self, node: ast.Call, method: ast.Attribute) -> syntax.Expr:
        signature = array_signatures.METHODS.get(method.attr)
        if signature is None:
            refuse = self.not_affine if hasattr(np.ndarray, method.attr) else self.error
            known = ", ".join(f"`.{name}()`" for name in sorted(array_signatures.METHODS))
            raise refuse(node, f"the method `.{method.attr}()` is not part of the language", known)
        return self._array_function(node, f".{method.attr}", signature, (self.array_expr(method.value),))

    def _array_function(
        self, node: ast.Call, name: str, signature: array_signatures.Signature, first: tuple[syntax.Expr, ...]
    ) -> syntax.Expr:
        """The call of a function of whole arrays; first: the operands that stand before its arguments."""
        operands, options = signature.operands[len(first) :], signature.options
        shown = [f"{option}=" for option in options if option not in _NOT_COMPILED]
        accepted = f"`{name}({', '.join((*operands, *signature.optional, *shown))})`"
        slots = (*operands, *signature.optional, *options)
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
                refuse = self.not_affine if keyword.arg in _OF_UFUNCS else self.error
                raise refuse(keyword, f"`{name}` does not take this in a kernel", accepted)
            given[keyword.arg] = keyword.value
        for operand in operands:
            if operand not in given:
                selects = signature.name == "where" and len(given) == 1
                refuse = self.not_affine if selects else self.error  # np.where(m) gives the places that are true
                raise refuse(node, f"`{name}` needs {operand}", accepted)
        if signature.many:
            parts = given[operands[0]]
            if not isinstance(parts, (ast.Tuple, ast.List)):
                raise self.not_affine(parts, f"`{name}` of what is not written out", f"`{name}((A, B))`")
            args: tuple[syntax.Expr, ...] = tuple(map(self.expr, parts.elts))
        else:
            present = (*operands, *(operand for operand in signature.optional if operand in given))
            args = (*first, *(self.expr(given[operand]) for operand in present))
        if signature.shape is not None:
            if signature.shape not in given:
                raise self.error(node, f"`{name}` needs {signature.shape}", accepted)
            sizes = given.pop(signature.shape)
            args += tuple(map(self.expr, sizes.elts if isinstance(sizes, (ast.Tuple, ast.List)) else (sizes,)))
        for option in _NOT_COMPILED:
            if option in given and self.constant(given.pop(option)) not in (None, False):
                raise self.not_affine(node, f"`{name}` with {option}=", accepted)
        read = {option: self._option(given[option], option) for option in options if option in given}
        if isinstance(read.get("dtype"), syntax.TypeOf) and signature.name != "astype":
            raise self.not_affine(node, f"`{name}` with the type of an array", accepted)
        return syntax.Function(signature.name, args, tuple(read.items()), loc=self.text.loc(node))

    def _einsum(self, node: ast.Call, name: str) -> syntax.Function:
        accepted = f'`{name}("ij,jk->ik", A, B)`'
        subscripts = self.constant(node.args[0]) if node.args else MISSING
        if not isinstance(subscripts, str):
            raise self.error(node, f"`{name}` needs its subscripts as text", accepted)
        for keyword in node.keywords:
            if keyword.arg != "optimize":  # which changes the order of the products, not what they are
                raise self.error(keyword, f"`{name}` does not take this in a kernel", accepted)
        args = tuple(map(self.expr, node.args[1:]))
        return syntax.Function("einsum", args, (("subscripts", subscripts),), loc=self.text.loc(node))

    def _option(self, node: ast.expr, option: str) -> object:
        """The Python constant that is given for an option."""
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
            return tuple(self._option(part, option) for part in node.elts)
        value = constant(self.expr(node))
        if value is MISSING:
            raise self.error(node, f"`{option}` must be a constant", "an int, a bool, or a tuple of ints")
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
        return self.error(node, f"`{name}` is not a function of the language", _FUNCTIONS)

    def is_numpy(self, node: ast.expr) -> bool:
        """Whether it is something that NumPy has, such as np.sort or np.add.reduce."""
        names: list[str] = []
        while isinstance(node, ast.Attribute):
            names.insert(0, node.attr)
            node = node.value
        found: object = np
        for name in names:
            found = getattr(found, name, MISSING)
        return self.value(node) is np and found is not MISSING

    def _length(self, node: ast.Call) -> syntax.Expr:
        if len(node.args) != 1:
            raise self.error(node, f"len takes one array, not {len(node.args)}", "`len(A)`")
        return syntax.Shape(self.array(node.args[0]), 0, loc=self.text.loc(node))

    def _extremum(self, node: ast.Call) -> syntax.Expr:
        name = "min" if self.value(node.func) is min else "max"
        if len(node.args) < 2:
            raise self.error(node, f"{name} takes two or more numbers in a kernel", f"`{name}(a, b)`")
        result, *rest = map(self.expr, node.args)
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


def is_number(value: object) -> bool:
    """True of a number of the language: Python's, exactly, or a NumPy scalar of one of its types."""
    if type(value) in (int, float, bool, complex):
        return True
    return isinstance(value, np.generic) and elementwise_functions.dtype_of(type(value)) is not None


def lookup(table: dict, key: object):
    """table.get(key), also of what is not hashable."""
    try:
        return table.get(key)
    except TypeError:
        return None


def spelled(node: ast.AST) -> str:
    """What a message calls a piece of Python."""
    return _SPELLED.get(type(node), f"`{ast.unparse(node)}`")


def _negated(unary: syntax.Unary) -> syntax.Expr:
    """-1 as a constant of its own, so that it is one to type inference and -2**63 fits."""
    operand = unary.operand
    if unary.op == "-" and isinstance(operand, syntax.Const) and type(operand.value) in (int, float, complex):
        return syntax.Const(-operand.value, loc=unary.loc)
    return unary


def _float(text: str) -> object:
    try:
        return float(text)
    except ValueError:
        return text


def _described(value: object) -> str:
    name = getattr(value, "__name__", None)
    if isinstance(value, ModuleType):
        return f"the module `{name}`"
    if isinstance(value, type):
        return f"the type `{name}`"
    if callable(value) and isinstance(name, str):
        return f"the function `{name}`"
    return repr(value) if isinstance(value, (str, type(None))) else f"a {type(value).__name__}"
