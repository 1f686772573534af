"""A kernel as text that reads like the Python it came from, and that `reader.parse` reads back to an equal kernel.

    text   = "polyml kernel, format 1" kernel
    kernel = ["untyped"] "def" NAME "(" {NAME [":" type] ","} ")" ":" ["scalars" {NAME ":" TYPE ","}] body
    body   = "pass" | stmt {stmt}               four spaces further right than the line before it
    stmt   = {let} (for | if | assign | alloc | require | return)
    for    = "for" NAME "in" "range" "(" expr "," expr ["," INTEGER] ")" ":" body
    if     = "if" expr ":" body ["else" ":" body]
    assign = {"in_place" | "whole" | "same_type"} target "=" expr                    target = NAME | element | part
    alloc  = ("alloc" | "alloc_late") NAME ("[" {expr ","} "]" | like) [":" (TYPE | like | typeof)] ["=" expr]
    require = "require" expr "," STRING
    return = "return" ["plain"] ["(" {value ","} ")" | value]                        value = ["python" | "numpy"] expr
    leaf   = NAME | NAME ".shape[" INTEGER ["of" INTEGER] "]" | element | part | function | "array" NAME ["of" "(" {expr ","} ")"] | like
    element = NAME ["!"] ("[" {expr ","} "]" | "[" expr "]" {"[" expr "]"}) [".real" | ".imag"]
    part   = postfix "[" {expr | [expr] ":" [expr] [":" (INTEGER | "(" expr ")")] | "None" | "..." ","} "]"
    function = "np" "." NAME "(" {expr | NAME "=" option ","} ")"
    option = constant | "None" | STRING | TYPE | typeof | "(" {option ","} ")"
    like   = "like" NAME                        typeof = "typeof" "(" expr ["," STRING] ")"

Expressions, let, constants and types are those of `expression_text` and `constants`. `A![i]` is known to be inside its array, `A[i][j]`
was written so. In a kernel that is typed a name has the type that the first line, `scalars` or an alloc gives it, a loop's
variable and a shape are Python ints, and an element is of its array's type; `(A)[i]` is a part, `A[i]` an element.
"""

from __future__ import annotations

from collections.abc import Iterator

from polyml.dtypes import PYINT, DType
from polyml.frontend import syntax
from polyml.frontend.syntax import ArrayType, Expr, Kernel, Stmt
from polyml.frontend.text import constants
from polyml.frontend.text import expression_text as ex
from polyml.frontend.text.expression_text import BINDING, ExpressionWriter, Printed, enclosed
from polyml.frontend.traversal import bodies, expressions, operands
from polyml.reading.text_scanner import INDENT, head, string
from polyml.reading.text_scanner import quoted as quoted_name

KIND, FORMAT = "kernel", 1
FLAGS = ("in_place", "whole", "same_type")
RESERVED = ex.RESERVED | {
    *FLAGS, "while", "block", "leave", "alloc", "alloc_late", "require", "return", "plain", "python", "numpy", "array", "like", "typeof", "pass", "range", "None", "scalars",
}  # fmt: skip


class TypeEnvironment:
    """A TypeEnvironment knows the types of the arguments, local numbers and arrays that a kernel's text has named so far.

    Writer and reader each keep one, so that types that follow from these need not be written.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, DType] = {}
        self._elements: dict[str, DType] = {}

    def argument(self, name: str, kind: syntax.ArgType) -> None:
        """Adds a parameter, with its type."""
        if isinstance(kind, ArrayType):
            self._elements[name] = kind.element
        else:
            self._numbers[name] = kind.dtype

    def scalar(self, name: str, kind: DType) -> None:
        """Adds a local number, with its type."""
        self._numbers[name] = kind

    def array(self, name: str, kind: object) -> None:
        """Adds a local array with the type of its elements; nothing is added where that is no DType, and so not known yet."""
        if isinstance(kind, DType):
            self._elements[name] = kind

    def implied_type(self, leaf: Expr) -> DType | None:
        """Returns the type that a leaf, such as a name, has in the text where none is written behind it; None where one must be."""
        match leaf:
            case syntax.Name():
                return ex.arithmetic_type(self._numbers.get(leaf.name, PYINT))
            case syntax.Shape():
                return PYINT
            case syntax.Subscript():
                element = self._elements.get(leaf.array)
                return element.part if element and leaf.part else element
        return None


def text(kernel: Kernel) -> str:
    """Returns the text of a kernel, typed or not, which `reader.parse` reads back."""
    return "\n".join((head(KIND, FORMAT), *_Writer(kernel).lines())) + "\n"


def quoted(name: str) -> str:
    """Returns a name as it stands in a text: in quotes where the grammar uses the word itself or it is no identifier."""
    return quoted_name(name, RESERVED)


def _is_typed(body: tuple[Stmt, ...]) -> bool:
    """Returns whether any expression in the statements has a type."""
    for stmt in body:
        if any(each.dtype is not None for each in expressions(stmt)):
            return True
        if any(map(_is_typed, bodies(stmt))):
            return True
    return False


class _Writer:
    def __init__(self, kernel: Kernel):
        self._kernel, self._types = kernel, TypeEnvironment()
        self._is_typed = bool(kernel.types or kernel.scalars) or _is_typed(kernel.body)
        self._write = ExpressionWriter(operands, self._leaf, self._types.implied_type, self._is_typed)

    def lines(self) -> Iterator[str]:
        kernel = self._kernel
        names = [quoted(p.name) for p in kernel.params]
        for param, kind in zip(kernel.params, kernel.types):
            self._types.argument(param.name, kind)
        typed = [f"{name}: {kind}" for name, kind in zip(names, kernel.types, strict=True)] if kernel.types else names
        yield f"{'' if self._is_typed else 'untyped '}def {quoted(kernel.name)}({', '.join(typed)}):"
        if kernel.scalars:
            yield f"{INDENT}scalars {', '.join(f'{quoted(name)}: {kind}' for name, kind in kernel.scalars)}"
        for name, dtype in kernel.scalars:
            self._types.scalar(name, dtype)
        yield from self._body(kernel.body)

    def _body(self, body: tuple[Stmt, ...]) -> Iterator[str]:
        if not body:
            yield f"{INDENT}pass"
        for stmt in body:
            self._write.fresh()
            line = self._line(stmt)
            yield from (INDENT + each for each in (*self._write.lets, line))
            if isinstance(stmt, (syntax.For, syntax.While, syntax.Block)):
                yield from (INDENT + each for each in self._body(stmt.body))
            if isinstance(stmt, syntax.If):
                yield from (INDENT + each for each in self._body(stmt.then))
                if stmt.orelse:
                    yield f"{INDENT}else:"
                    yield from (INDENT + each for each in self._body(stmt.orelse))

    def _line(self, stmt: Stmt) -> str:
        """Returns the line of a statement, without the lines of the statements inside it."""
        written = self._write.written
        match stmt:
            case syntax.For():
                step = "" if stmt.step == 1 else f", {stmt.step}"
                return f"for {quoted(stmt.var)} in range({written(stmt.start)}, {written(stmt.stop)}{step}):"
            case syntax.If():
                return f"if {written(stmt.condition)}:"
            case syntax.While():
                return f"while {written(stmt.condition)}:"
            case syntax.Block():
                return f"block {quoted(stmt.label)}:"
            case syntax.Leave():
                return f"leave {quoted(stmt.label)}"
            case syntax.Raise():
                return " ".join(("raise", ", ".join((quoted(stmt.exception), *map(string, stmt.args)))))
            case syntax.Assign():
                flags = "".join(f"{flag} " for flag in FLAGS if getattr(stmt, flag))
                return f"{flags}{written(stmt.target)} = {written(stmt.value)}"
            case syntax.Require():
                return f"require {written(stmt.condition)}, {string(stmt.what)}"
            case syntax.Return():
                return self._return(stmt)
        return self._alloc(stmt)

    def _alloc(self, stmt: syntax.Alloc) -> str:
        shape = f"[{self._listed(stmt.shape)}]" if isinstance(stmt.shape, tuple) else f" {self._write.written(stmt.shape)}"
        element = "" if stmt.element is None else f": {self._option(stmt.element)}"
        fill = "" if stmt.fill is None else f" = {self._write.written(stmt.fill)}"
        self._types.array(stmt.name, stmt.element)
        return f"alloc{'_late' if stmt.late else ''} {quoted(stmt.name)}{shape}{element}{fill}"

    def _return(self, stmt: syntax.Return) -> str:
        """Returns the line of a Return.

        In a typed kernel, `return plain` says that the Return's `python` is empty: it is not known which values are Python numbers.
        """
        values, python = [self._write.written(value) for value in stmt.values], stmt.python
        if python:
            usual = "" if self._is_typed else "numpy "
            values = [f"{'python ' if own else usual}{value}" for own, value in zip(python, values, strict=True)]
        plain = " plain" if self._is_typed and values and not python else ""
        if stmt.form:
            comma = "," if len(values) == 1 else ""
            return f"return{plain} ({', '.join(values)}{comma}) as {string(stmt.form)}"
        if stmt.is_tuple:
            return f"return{plain} ({', '.join(values)}{',' if len(values) == 1 else ''})"
        return f"return{plain} {values[0]}" if values else "return"

    def _listed(self, values: tuple[Expr, ...]) -> str:
        return ", ".join(map(self._write.written, values))

    def _leaf(self, value: Expr, inside: list[Printed]) -> Printed:
        match value:
            case syntax.Name():
                return Printed(quoted(value.name))
            case syntax.ArrayName():
                sizes = f" of ({', '.join(each.text for each in inside)},)" if inside else ""
                return Printed(f"array {quoted(value.name)}{sizes}")
            case syntax.Like():
                return Printed(f"like {quoted(value.array)}")
            case syntax.Shape():
                ndim = "" if value.ndim is None else f" of {value.ndim}"
                return Printed(f"{quoted(value.array)}.shape[{value.dim}{ndim}]")
            case syntax.Subscript():
                return Printed(_element(value, [each.text for each in inside]))
            case syntax.Part():
                return self._part(value, inside)
            case syntax.Function():
                options = [f"{name}={self._option(option)}" for name, option in value.options]
                return Printed(f"np.{value.function}({', '.join([*(each.text for each in inside), *options])})")
        raise TypeError(f"not an expression: {value!r}")

    def _part(self, value: syntax.Part, inside: list[Printed]) -> Printed:
        base, bounds = inside[0], iter(inside[1:])
        indices = [_index(index, bounds) for index in value.indices]
        is_name = isinstance(value.base, syntax.Name) and base.text == quoted(value.base.name)
        is_plain = is_name and any(isinstance(i, (syntax.Slice, syntax.NewAxis, syntax.Dots)) for i in value.indices)
        return Printed(f"{base.text if is_plain else f'({base.text})'}[{', '.join(indices)}]")

    def _option(self, value: object) -> str:
        if isinstance(value, tuple):
            return f"({', '.join(map(self._option, value))}{',' if len(value) == 1 else ''})"
        if isinstance(value, syntax.TypeOf):
            function = f", {string(value.function)}" if value.function else ""
            return f"typeof({self._write.written(value.of)}{function})"
        if isinstance(value, Expr):
            return self._write.written(value)
        if isinstance(value, str):
            return string(value)
        return str(value) if value is None or isinstance(value, DType) else constants.text(value)


def _element(value: syntax.Subscript, indices: list[str]) -> str:
    separator = "][" if value.chained else ", "
    empty_brackets = "[]" if value.chained and len(indices) < 2 else ""
    part = f".{value.part}" if value.part else ""
    return f"{quoted(value.array)}{'!' if value.inside else ''}[{separator.join(indices)}]{empty_brackets}{part}"


def _index(index: object, bounds: Iterator[Printed]) -> str:
    match index:
        case syntax.NewAxis():
            return "None"
        case syntax.Dots():
            return "..."
        case syntax.Slice():
            ends = (index.start, index.stop, index.by)
            start, stop, by = ("" if bound is None else enclosed(next(bounds), BINDING["or"]) for bound in ends)
            return f"{start}:{stop}{f':({by})' if by else '' if index.step == 1 else f':{index.step}'}"
    return next(bounds).text
