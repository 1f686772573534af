"""Expressions of a text, over leaves that a kernel and a SCoP have each of their own.

    expr    = or ["if" or "else" expr]
    or      = and {"or" and}                    and = not {"and" not}                 not = "not" not | compare
    compare = bits [("<" | "<=" | ">" | ">=" | "==" | "!=") bits]
    bits    = the operators | ^ & << >> + - * / // % as Python binds them             sign = ("-" | "+" | "~") sign | power
    power   = postfix ["**" sign]               postfix = primary {"." TYPE | "." "untyped"}
    primary = constant | leaf | "(" expr ")" | "%" INTEGER
            | ("min" | "max") "(" expr "," expr ")"
            | [("math" | "builtins" | "method") "."] FUNCTION "(" {expr ","} ")"
            | TYPE "(" expr ")"                 a conversion that the source has
            | "to_" TYPE "(" expr ")"           a conversion that type inference made
            | ("and" | "or") "(" {expr ","} ")"                                       of less than two operands
    let     = "let" "%" INTEGER "=" expr        a part that is used more than once, or would be too long

The type of an expression goes without saying where it is what `implied_type` says: that of a constant's own type, of the first operand,
bool of comparisons. Python's floats are f64 then, its bools bool. Any other type is written behind the expression: `beta.f32`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np

from polyml.dtypes import BOOL, BY_NUMPY_NAME, C128, F64, OF_PYTHON, PYBOOL, PYCOMPLEX, PYFLOAT, DType
from polyml.frontend import syntax
from polyml.frontend.elementwise_functions import TESTS
from polyml.frontend.syntax import Expr
from polyml.frontend.text import constants
from polyml.reading.text_scanner import Line, Token, quoted

LONGEST, DEEPEST = 600, 24  # characters, and nested operations, of an expression before a part of it gets a line of its own
_LONGEST_SHARED = 12  # characters of a shared part that is still written out at each use
_MOST_NESTED = 200  # how deep expressions may be nested in a text that is read
UNTYPED = "untyped"
BINDING = {
    "if": 0, "or": 1, "and": 2, "not": 3, "compare": 4, "|": 5, "^": 6, "&": 7, "<<": 8, ">>": 8, "+": 9, "-": 9,
    "*": 10, "/": 10, "//": 10, "%": 10, "sign": 11, "**": 12, "primary": 20,
}  # fmt: skip
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
_MODULES = ("math", "builtins", "method")
_TIGHT = ("*", "/", "**")
_INFIX = ("or", "and", "|", "^", "&", "<<", ">>", "+", "-", "*", "/", "//", "%", "**")
RESERVED = frozenset(
    {"True", "False", "and", "or", "not", "if", "else", "for", "in", "let", "np", "complex", "min", "max", *_MODULES}
    | {f"{word}{name}" for name in constants.TYPES for word in ("", "to_")}
)


def arithmetic_type(kind: DType) -> DType:
    """Returns the type in which numbers of a type are computed: F64 for Python's float, C128 for complex, BOOL for bool, else
    itself.
    """
    return {PYFLOAT: F64, PYCOMPLEX: C128, PYBOOL: BOOL}.get(kind, kind)


def implied_type(value: Expr, leaf: Callable[[Expr], DType | None]) -> DType | None:
    """Returns the type that an expression in a kernel's text has where none is written behind it; None where one must be written.

    leaf: gives this type, or None, for a leaf: a name, an element of an array or the like
    """
    match value:
        case syntax.Const():
            kind = value.value
            return BY_NUMPY_NAME.get(kind.dtype.name) if isinstance(kind, np.generic) else arithmetic_type(OF_PYTHON[type(kind)])
        case syntax.Unary():
            return BOOL if value.op == "not" else value.operand.dtype
        case syntax.Binary():
            return value.left.dtype
        case syntax.Compare() | syntax.Logical():
            return BOOL
        case syntax.IfExp():
            return value.then.dtype
        case syntax.Call():
            return BOOL if value.function in TESTS or not value.args else value.args[0].dtype
        case syntax.Cast():
            return value.to
    return leaf(value)


@dataclass(frozen=True)
class Printed:
    """A Printed is the text of an expression with what decides about parentheses around it.

    binding: how tightly its outermost operation binds: its number in `BINDING`, which is larger for operators that bind more
        tightly
    depth: how many operations are nested in it
    """

    text: str
    binding: int = BINDING["primary"]
    depth: int = 0


@dataclass
class ExpressionWriter:
    """An ExpressionWriter writes expressions of a kernel or a SCoP as text; functions that it is given write leaves, such as names.

    operands: gives the expressions directly inside an expression
    leaf: writes a leaf, or an operation that this module does not know, from the texts of its operands
    implied_type: gives the type that a leaf has where none is written behind it
    typed: whether expressions have types, which are written where they are not implied
    lets: the `let` lines that have to stand before the statement
    """

    operands: Callable[[Expr], tuple[Expr, ...]]
    leaf: Callable[[Expr, list[Printed]], Printed]
    implied_type: Callable[[Expr], DType | None]
    typed: bool = True
    lets: list[str] = field(default_factory=list)
    _count: int = 0

    def fresh(self) -> None:
        """Prepares for the next statement: empties `lets`, whose lines name parts of expressions %0, %1 and so on, and counts from
        %0 again.
        """
        self.lets, self._count = [], 0

    def written(self, value: Expr) -> str:
        """Returns the text of an expression, and adds `let` lines for parts of it to `lets`."""
        return self.printed(value).text

    def printed(self, value: Expr) -> Printed:
        """Returns the text of an expression, with how tightly it binds, and adds `let` lines for parts of it to `lets`.

        A part that is used more than once, or would be too long or too deep, gets a `let` line.
        """
        uses: dict[int, int] = {}
        order = list(self._inner_first(value, uses))
        done: dict[int, Printed] = {}
        for part in order:
            operands = [done[id(each)] for each in self.operands(part)]
            spelled = self._typed(part, self._spelled(part, operands))
            depth = 1 + max((each.depth for each in operands), default=-1)
            spelled = replace(spelled, depth=depth)
            shared = uses[id(part)] > 1 and operands and len(spelled.text) > _LONGEST_SHARED
            if part is not value and (shared or depth > DEEPEST or len(spelled.text) > LONGEST):
                spelled = self._named(spelled.text)
            done[id(part)] = spelled
        return done[id(value)]

    def _inner_first(self, value: Expr, uses: dict[int, int]) -> Iterator[Expr]:
        """Yields each distinct part of an expression once, operands before the operations on them.

        uses: a dict that gets how often each part is an operand, by its id
        """
        waiting: list[tuple[Expr, bool]] = [(value, False)]
        while waiting:
            part, is_ready = waiting.pop()
            if is_ready:
                yield part
                continue
            uses[id(part)] = uses.get(id(part), 0) + 1
            if uses[id(part)] == 1:
                waiting.append((part, True))
                waiting.extend((each, False) for each in reversed(self.operands(part)))

    def _named(self, text: str) -> Printed:
        name = f"%{self._count}"
        self._count += 1
        self.lets.append(f"let {name} = {text}")
        return Printed(name)

    def _typed(self, value: Expr, spelled: Printed) -> Printed:
        wanted = implied_type(value, self.implied_type) if self.typed else None
        if value.dtype == wanted:
            return spelled
        is_whole = spelled.binding == BINDING["primary"] or isinstance(value, syntax.Const)
        text = spelled.text if is_whole else f"({spelled.text})"
        binding = spelled.binding if is_whole else BINDING["primary"]
        return Printed(f"{text}.{UNTYPED if value.dtype is None else value.dtype}", binding)

    def _spelled(self, value: Expr, operands: list[Printed]) -> Printed:
        texts = ", ".join(each.text for each in operands)
        match value:
            case syntax.Const():
                text = constants.text(value.value)
                return Printed(text, BINDING["sign" if text.startswith("-") else "primary"])
            case syntax.Cast():
                return Printed(f"{'to_' if value.implicit else ''}{value.to}({texts})")
            case syntax.Call():
                return Printed(f"{'' if value.module == 'numpy' else value.module + '.'}{quoted(value.function)}({texts})")
            case syntax.IfExp():
                condition, then, orelse = (enclosed(each, int(n < 2)) for n, each in enumerate(operands))
                return Printed(f"{then} if {condition} else {orelse}", BINDING["if"])
            case syntax.Logical():
                if len(operands) < 2:
                    return Printed(f"{value.op}({texts})")
                own = BINDING[value.op]
                return Printed(f" {value.op} ".join(enclosed(each, own + 1) for each in operands), own)
            case syntax.Compare():
                own = BINDING["compare"] + 1
                return Printed(f"{enclosed(operands[0], own)} {value.op} {enclosed(operands[1], own)}", own - 1)
            case syntax.Unary():
                return _sign(value, operands[0])
            case syntax.Binary():
                return _binary(value.op, operands)
        return self.leaf(value, operands)


def enclosed(spelled: Printed, binding: int) -> str:
    """Returns the text of an expression, in parentheses where its outermost operation binds less tightly than `binding`.

    binding: a number of `BINDING`, which is larger for operators that bind more tightly
    """
    return spelled.text if spelled.binding >= binding else f"({spelled.text})"


def _sign(value: syntax.Unary, operand: Printed) -> Printed:
    if value.op == "not":
        return Printed(f"not {enclosed(operand, BINDING['not'])}", BINDING["not"])
    is_constant = isinstance(value.operand, syntax.Const)  # without parentheses -1 would be read as a constant
    return Printed(f"{value.op}{f'({operand.text})' if is_constant else enclosed(operand, BINDING['sign'])}", BINDING["sign"])


def _binary(op: str, operands: list[Printed]) -> Printed:
    left, right = operands
    if op in ("min", "max"):
        return Printed(f"{op}({left.text}, {right.text})")
    own = BINDING[op]
    joiner = op if op in _TIGHT else f" {op} "
    is_power = op == "**"
    return Printed(f"{enclosed(left, own + is_power)}{joiner}{enclosed(right, own + (not is_power))}", own)


@dataclass
class ExpressionReader:
    """An ExpressionReader reads the expressions of a line; it is the counterpart of `ExpressionWriter`.

    leaf: reads a leaf; returns None where none is next
    implied_type: gives the type of a leaf behind which none is written
    with_suffix: reads what stands behind a leaf, such as brackets, and returns what the leaf becomes with it; its arguments are the
        reader, the leaf, and whether the leaf stands in parentheses
    typed: whether expressions have types
    located: whether expressions that are read get their place in the text
    lets: the expressions that `let` lines have named, by number
    """

    line: Line
    leaf: Callable[[ExpressionReader], Expr | None]
    implied_type: Callable[[Expr], DType | None]
    with_suffix: Callable[[ExpressionReader, Expr, bool], Expr] = lambda reader, value, is_enclosed: value
    typed: bool = True
    located: bool = False
    lets: dict[str, Expr] = field(default_factory=dict)
    _nested: int = 0

    def made(self, value: Expr, token: Token) -> Expr:
        """Returns an expression with the type that its text implies and, if the reader is `located`, its place.

        token: the first token of its text
        """
        wanted = implied_type(value, self.implied_type) if self.typed else None
        loc = self.line.loc(token) if self.located else None
        return replace(value, dtype=cast(DType, wanted), loc=loc)

    def let(self) -> None:
        """Reads the rest of a line `let %0 = expr`, behind the word "let", and adds the expression to `lets`."""
        self.line.expect("%")
        name = str(self.line.integer("the number of a part"))
        self.line.expect("=")
        self.lets[name] = self.expr()

    def expr(self) -> Expr:
        """Reads an expression from the line and returns it."""
        token = self.line.token
        self._nested += 1
        value = self._operation(BINDING["or"])
        if self.line.accepts("if"):
            condition = self._operation(BINDING["or"])
            self.line.expect("else")
            value = self.made(syntax.IfExp(condition, value, self.expr()), token)
        self._nested -= 1
        return value

    def _operation(self, least: int) -> Expr:
        """Reads an operand and the operators behind it that bind at least as tightly as `least`, and returns the expression.

        This is precedence climbing.

        least: a number of `BINDING`, which is larger for operators that bind more tightly
        """
        self._nested += 1
        if self._nested > _MOST_NESTED:
            notes = ("`let %0 = ...` gives a part a name",)
            raise self.line.refused(f"more than {_MOST_NESTED} expressions are in one another", notes)
        token = self.line.token
        value = self._prefix()
        while own := self._binding(least):
            op = self.line.take().text
            if op in ("and", "or"):
                parts = [value, self._operation(own + 1)]
                while self.line.accepts(op):
                    parts.append(self._operation(own + 1))
                value = self.made(syntax.Logical(op, tuple(parts)), token)
            elif op in _COMPARISONS:
                value = self.made(syntax.Compare(op, value, self._operation(own + 1)), token)
                if self.line.is_at(*_COMPARISONS):
                    raise self.line.wrong("one comparison, or `and` between two")
            else:
                value = self.made(syntax.Binary(op, value, self._operation(BINDING["sign"] if op == "**" else own + 1)), token)
        self._nested -= 1
        return value

    def _binding(self, least: int) -> int:
        """Returns how tightly the next operator binds; 0 where none is next, or one that binds less tightly than `least`."""
        token = self.line.token
        if token.kind not in ("name", "sign"):
            return 0
        own = (
            BINDING["compare"] if self.line.is_at(*_COMPARISONS) else BINDING.get(token.text, 0) if self.line.is_at(*_INFIX) else 0
        )
        return own if own >= least else 0

    def _prefix(self) -> Expr:
        token = self.line.token
        if self.line.accepts("not"):
            return self.made(syntax.Unary("not", self._operation(BINDING["not"])), token)
        is_constant = constants.is_next(self.line)
        if is_constant and not self.line.is_at("-") or not (op := self.line.accepts("-", "+", "~")):
            return self.postfix()
        operand = self._operation(BINDING["sign"])
        if is_constant and isinstance(operand, syntax.Const):  # -1, but not -1**2, which is -(1**2)
            return replace(self.made(syntax.Const(-operand.value), token), dtype=operand.dtype)
        return self.made(syntax.Unary(op, operand), token)

    def postfix(self) -> Expr:
        """Reads an operand with the brackets or type behind it, and returns it."""
        is_enclosed = self.line.is_at("(")
        value = self._primary()
        if is_enclosed or not isinstance(value, syntax.Const):
            value = self.with_suffix(self, value, is_enclosed)
        while self.line.is_at(".") and self.line.peek(1).text in (*constants.TYPES, UNTYPED):
            self.line.take()
            word = self.line.take().text
            value = replace(value, dtype=cast(DType, constants.TYPES.get(word)))
            value = self.with_suffix(self, value, True)
        return value

    def _primary(self) -> Expr:
        line, token = self.line, self.line.token
        if constants.is_next(line):
            return self.made(syntax.Const(constants.read(line)), token)
        if line.accepts("("):
            value = self.expr()
            line.expect(")")
            return value
        if line.accepts("%"):
            return self._shared()
        if line.is_at("and", "or") and line.peek(1).text == "(":
            op = line.take().text
            line.take()
            return self.made(syntax.Logical(op, line.listed(self.expr, ")")), token)
        if line.token.kind == "name" and line.peek(1).text == "(":
            return self._called("numpy", token)
        if line.is_at(*_MODULES) and line.peek(1).text == "." and line.peek(3).text == "(":
            module = line.take().text
            line.take()
            return self._called(module, token)
        leaf = self.leaf(self)
        if leaf is None:
            raise line.wrong("an expression")
        return leaf

    def _shared(self) -> Expr:
        token = self.line.token
        number = str(self.line.integer("the number of a part"))
        if number not in self.lets:
            known = ", ".join(f"%{name}" for name in self.lets) or "none"
            raise self.line.refused(f"there is no part %{number}", (f"parts above: {known}",), token)
        return self.lets[number]

    def _called(self, module: str, token: Token) -> Expr:
        name = self.line.take()
        self.line.expect("(")
        args = self.line.listed(self.expr, ")")
        kind = name.text.removeprefix("to_")
        if module != "numpy" or kind not in constants.TYPES and name.text not in ("min", "max"):
            return self.made(syntax.Call(name.text, args, module), token)
        if name.text == "complex" and len(args) == 2:
            return self.made(syntax.Call(name.text, args), token)
        wanted = 1 if kind in constants.TYPES else 2
        if len(args) != wanted:
            raise self.line.refused(f"`{name.text}` takes {wanted} operand{'s' * (wanted > 1)}, not {len(args)}", token=name)
        if wanted == 2:
            return self.made(syntax.Binary(name.text, *args), token)
        return self.made(syntax.Cast(args[0], constants.TYPES[kind], kind != name.text), token)
