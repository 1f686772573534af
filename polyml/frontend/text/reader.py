"""The reader of kernels: a text that `writer.text` wrote becomes the kernel again. The grammar is that of `writer`.

What is read has its place in the text, so that later errors show its lines.
"""

from __future__ import annotations

from dataclasses import replace

from polyml.dtypes import DType
from polyml.errors import python_exception
from polyml.frontend import syntax
from polyml.frontend.syntax import Expr, Kernel, Stmt
from polyml.frontend.text import constants
from polyml.frontend.text.expression_text import ExpressionReader
from polyml.frontend.text.writer import FLAGS, FORMAT, KIND, RESERVED, TypeEnvironment
from polyml.frontend.traversal import bodies
from polyml.reading.result_forms import read_form
from polyml.reading.text_scanner import INDENT, Line, Lines, Token, opened

_STEP = len(INDENT)
_PARTS = ("real", "imag")
_STATEMENT = "a statement: for, while, if, block, leave, raise, alloc, require, return, pass or an assignment"
_DEEPEST = 50  # how deep statements may be nested


def parse(text: str, file: str = "<text>") -> Kernel:
    """Returns the kernel of a text that `writer.text` wrote.

    file: the text's name in messages
    Raises TextError for any other text.
    """
    lines = opened(text, file, KIND, FORMAT)
    kernel = _Reader(lines).kernel()
    if not lines.is_done:
        line = lines.next("the end of the text")
        raise line.wrong("the end of the text")
    return kernel


class _Reader:
    def __init__(self, lines: Lines):
        self._lines, self._types, self._is_typed = lines, TypeEnvironment(), True
        self._labels: list[str] = []  # of the blocks around, outermost first

    def kernel(self) -> Kernel:
        line = self._lines.next("`def`", 0)
        self._is_typed = not line.accepts("untyped")
        line.expect("def")
        name = line.name("the kernel's name")
        line.expect("(")
        given = line.listed(lambda: self._param(line), ")")
        line.expect(":")
        line.finish()
        types = tuple(kind for _, kind in given if kind is not None)
        if types and len(types) < len(given):
            raise line.refused("some arguments have no type", ("expected a type for each argument, or for none",))
        scalars: tuple[tuple[str, DType], ...] = ()
        if self._lines.is_at("scalars") and self._is_typed:
            line = self._lines.next("scalars", _STEP)
            line.expect("scalars")
            scalars = line.listed(lambda: self._scalar(line), "")
        body = self._body(_STEP)
        return Kernel(name, tuple(param for param, _ in given), body, self._lines.source, types, scalars)

    def _param(self, line: Line) -> tuple[syntax.Param, syntax.ArgType | None]:
        token = line.token
        name = line.name("the name of an argument")
        kind = constants.arg_type(line) if line.accepts(":") else None
        if kind is not None:
            self._types.argument(name, kind)
        return syntax.Param(name, loc=line.loc(token)), kind

    def _scalar(self, line: Line) -> tuple[str, DType]:
        name = line.name("the name of a scalar")
        line.expect(":")
        kind = constants.dtype(line)
        self._types.scalar(name, kind)
        return name, kind

    def _body(self, indent: int) -> tuple[Stmt, ...]:
        line = self._lines.next(_STATEMENT, indent)
        if indent > _DEEPEST * _STEP:
            raise line.refused(f"more than {_DEEPEST} statements are in one another")
        if line.is_at("pass") and line.peek(1).kind == "end":
            return ()
        found = [self._statement(line, indent)]
        for line in self._lines.below(indent):
            found.append(self._statement(line, indent))
        return tuple(found)

    def _statement(self, line: Line, indent: int) -> Stmt:
        lets: dict[str, Expr] = {}
        while line.accepts("let"):
            self._reader(line, lets).let()
            line.finish()
            line = self._lines.next(_STATEMENT, indent)
        reader, token = self._reader(line, lets), line.token
        if line.accepts("for"):
            stmt: Stmt = self._for(reader, indent)
        elif line.accepts("if"):
            stmt = self._if(reader, indent)
        elif line.accepts("while"):
            stmt = self._while(reader, indent)
        elif line.accepts("block"):
            stmt = self._block(line, indent)
        elif line.accepts("leave"):
            stmt = self._leave(line)
        elif line.accepts("raise"):
            stmt = _raise(line)
        elif kind := line.accepts("alloc", "alloc_late"):
            stmt = replace(self._alloc(reader), late=kind == "alloc_late")
        elif line.accepts("require"):
            condition = reader.expr()
            line.expect(",")
            stmt = syntax.Require(condition, line.string())
        elif line.accepts("return"):
            stmt = self._return(reader)
        else:
            stmt = self._assign(reader)
        if not bodies(stmt):
            line.finish()
        return replace(stmt, loc=line.loc(token))

    def _reader(self, line: Line, lets: dict[str, Expr]) -> ExpressionReader:
        return ExpressionReader(line, self._leaf, self._types.implied_type, self._with_brackets, self._is_typed, True, lets)

    def _for(self, reader: ExpressionReader, indent: int) -> syntax.For:
        line = reader.line
        var = line.name("the loop's variable")
        line.expect("in")
        line.expect("range")
        line.expect("(")
        start = reader.expr()
        line.expect(",")
        stop = reader.expr()
        step, token = 1, line.token
        if line.accepts(","):
            token = line.token
            step = line.integer("a whole number of steps")
        if step == 0:
            raise line.wrong("a step that is not zero", token)
        line.expect(")")
        line.expect(":")
        line.finish()
        return syntax.For(var, start, stop, step, self._body(indent + _STEP))

    def _if(self, reader: ExpressionReader, indent: int) -> syntax.If:
        condition = reader.expr()
        reader.line.expect(":")
        reader.line.finish()
        then = self._body(indent + _STEP)
        orelse: tuple[Stmt, ...] = ()
        if self._lines.is_at("else") and self._lines.indent == indent:
            line = self._lines.next("else", indent)
            line.expect("else")
            line.expect(":")
            line.finish()
            orelse = self._body(indent + _STEP)
        return syntax.If(condition, then, orelse)

    def _while(self, reader: ExpressionReader, indent: int) -> syntax.While:
        condition = reader.expr()
        reader.line.expect(":")
        reader.line.finish()
        return syntax.While(condition, self._body(indent + _STEP))

    def _block(self, line: Line, indent: int) -> syntax.Block:
        token = line.token
        label = line.name("the label of a block")
        if label in self._labels:
            raise line.wrong("a label that no block around has", token)
        line.expect(":")
        line.finish()
        self._labels.append(label)
        body = self._body(indent + _STEP)
        self._labels.pop()
        return syntax.Block(label, body)

    def _leave(self, line: Line) -> syntax.Leave:
        token = line.token
        label = line.name("the label of a block")
        if label not in self._labels:
            raise line.wrong("the label of a block around", token)
        return syntax.Leave(label)

    def _assign(self, reader: ExpressionReader) -> syntax.Assign:
        line, flags = reader.line, set()
        while line.is_at(*FLAGS):
            flags.add(line.take().text)
        token = line.token
        target = reader.postfix()
        if not isinstance(target, (syntax.Name, syntax.Subscript, syntax.Part)):
            raise line.wrong(_STATEMENT, token)
        line.expect("=")
        return syntax.Assign(target, reader.expr(), *(flag in flags for flag in FLAGS))

    def _alloc(self, reader: ExpressionReader) -> syntax.Alloc:
        line = reader.line
        name = line.name("the array's name")
        shape: tuple[Expr, ...] | syntax.Like
        shape = line.listed(reader.expr, "]") if line.accepts("[") else self._like(reader)
        element = None
        if line.accepts(":"):
            element = self._element_type(reader)
        self._types.array(name, element)
        return syntax.Alloc(name, shape, element, reader.expr() if line.accepts("=") else None)

    def _element_type(self, reader: ExpressionReader) -> DType | syntax.Like | syntax.TypeOf:
        if reader.line.is_at("typeof"):
            return self._typeof(reader)
        return self._like(reader) if reader.line.is_at("like") else constants.dtype(reader.line)

    def _like(self, reader: ExpressionReader) -> syntax.Like:
        token = reader.line.token
        value = reader.postfix()
        if not isinstance(value, syntax.Like):
            raise reader.line.wrong("`[` or `like` with the name of an array", token)
        return value

    def _typeof(self, reader: ExpressionReader) -> syntax.TypeOf:
        line, token = reader.line, reader.line.token
        line.expect("typeof")
        line.expect("(")
        value = reader.expr()
        function = line.string() if line.accepts(",") else ""
        line.expect(")")
        return syntax.TypeOf(value, function, loc=line.loc(token))

    def _return(self, reader: ExpressionReader) -> syntax.Return:
        line = reader.line
        is_plain = bool(line.accepts("plain"))
        is_tuple, form = line.is_at("(") and self._is_tuple(line), ""
        if is_tuple:
            line.expect("(")
            found = line.listed(lambda: self._returned(reader), ")")
            if line.accepts("as"):
                form = read_form(line)
                is_tuple = form.startswith("(")
        else:
            found = () if line.is_done else (self._returned(reader),)
        marks = [mark for mark, _ in found]
        has_marks = any(marks) if not self._is_typed else not is_plain
        python = tuple(mark == "python" for mark in marks) if has_marks else ()
        return syntax.Return(tuple(value for _, value in found), is_tuple, form=form, python=python)

    def _is_tuple(self, line: Line) -> bool:
        """Returns whether the parenthesis that is next holds a tuple.

        It does if it is closed at the end of the line, and has a comma or nothing in it.
        """
        depth, commas, place = 0, 0, 0
        while (token := line.peek(place)).kind != "end":
            if token.kind == "sign":
                depth += (token.text in "([") - (token.text in ")]")
                commas += token.text == "," and depth == 1
            place += 1
            if depth == 0:
                break
        is_last = line.peek(place).kind == "end" or line.peek(place).text == "as"
        return is_last and (commas > 0 or place == 2)

    def _returned(self, reader: ExpressionReader) -> tuple[str, Expr]:
        return reader.line.accepts("python", "numpy"), reader.expr()

    def _leaf(self, reader: ExpressionReader) -> Expr | None:
        line, token = reader.line, reader.line.token
        if line.accepts("array"):
            array, sizes = line.name("the name of an array"), tuple[Expr, ...]()
            if line.accepts("of"):
                line.expect("(")
                sizes = line.listed(reader.expr, ")")
            return reader.made(syntax.ArrayName(array, sizes), token)
        if line.accepts("like"):
            return reader.made(syntax.Like(line.name("the name of an array")), token)
        if line.is_at("np") and line.peek(1).text == "." and line.peek(3).text == "(":
            return self._function(reader, token)
        if token.kind != "name" or line.is_at(*RESERVED):
            return None
        name = line.take().text
        if line.is_at(".") and line.peek(1).text == "shape" and line.peek(2).text == "[":
            return self._shape(reader, name, token)
        return reader.made(syntax.Name(name), token)

    def _shape(self, reader: ExpressionReader, name: str, token: Token) -> Expr:
        line = reader.line
        for sign in (".", "shape", "["):
            line.expect(sign)
        dim = line.integer("the number of a dimension")
        ndim = line.integer("a number of dimensions") if line.accepts("of") else None
        line.expect("]")
        return reader.made(syntax.Shape(name, dim, ndim), token)

    def _function(self, reader: ExpressionReader, token: Token) -> Expr:
        line = reader.line
        line.take()
        line.expect(".")
        name = line.name("the name of a function")
        line.expect("(")
        found = line.listed(lambda: self._given(reader), ")")
        args = tuple(value for key, value in found if not key and isinstance(value, Expr))
        return reader.made(syntax.Function(name, args, tuple((key, value) for key, value in found if key)), token)

    def _given(self, reader: ExpressionReader) -> tuple[str, object]:
        """Reads an argument of a function of arrays, and returns (its name or "", its value)."""
        line = reader.line
        if line.token.kind != "name" or line.peek(1).text != "=":
            return "", reader.expr()
        key = line.name()
        line.expect("=")
        return key, self._option(reader)

    def _option(self, reader: ExpressionReader) -> object:
        line = reader.line
        if line.accepts("("):
            return line.listed(lambda: self._option(reader), ")")
        if line.token.kind == "string":
            return line.string()
        if line.accepts("None"):
            return None
        is_constant = constants.is_next(line)
        return constants.read(line) if is_constant else self._element_type(reader)

    def _with_brackets(self, reader: ExpressionReader, value: Expr, is_enclosed: bool) -> Expr:
        """Reads the brackets behind a leaf, if there are any, and returns the expression that the leaf becomes with them.

        is_enclosed: whether the leaf stands in parentheses
        """
        line, token = reader.line, reader.line.token
        if isinstance(value, syntax.Name) and not is_enclosed and line.is_at("[", "!"):
            value = self._element(reader, value, token)
            is_enclosed = isinstance(value, syntax.Part)
        while line.is_at("["):
            line.take()
            value = reader.made(syntax.Part(value, self._indices(reader)), token)
        return value

    def _element(self, reader: ExpressionReader, name: syntax.Name, token: Token) -> Expr:
        line = reader.line
        is_inside = bool(line.accepts("!"))
        line.expect("[")
        indices = self._indices(reader)
        elements = tuple(index for index in indices if isinstance(index, Expr))
        if len(elements) < len(indices):
            return reader.made(syntax.Part(name, indices), token)
        is_chained = False
        while line.accepts("["):
            is_chained = True
            elements += line.listed(reader.expr, "]")
        part = ""
        if line.is_at(".") and line.peek(1).text in _PARTS:
            line.take()
            part = line.take().text
        return reader.made(syntax.Subscript(name.name, elements, part=part, inside=is_inside, chained=is_chained), token)

    def _indices(self, reader: ExpressionReader) -> tuple[Expr | syntax.Slice | syntax.NewAxis | syntax.Dots, ...]:
        return reader.line.listed(lambda: self._index(reader), "]")

    def _index(self, reader: ExpressionReader) -> Expr | syntax.Slice | syntax.NewAxis | syntax.Dots:
        line, token = reader.line, reader.line.token
        if line.accepts("..."):
            return syntax.Dots()
        if line.accepts("None"):
            return syntax.NewAxis()
        start = None
        if not line.is_at(":"):
            start = reader.expr()
            if not line.is_at(":"):
                return start
        line.expect(":")
        stop = None if line.is_at(":", ",", "]") else reader.expr()
        if not line.accepts(":"):
            return syntax.Slice(start, stop, loc=line.loc(token))
        if line.is_at("("):
            return syntax.Slice(start, stop, by=reader.expr(), loc=line.loc(token))
        return syntax.Slice(start, stop, line.integer("a step"), loc=line.loc(token))


def _raise(line: Line) -> syntax.Raise:
    token, name, args = line.token, line.name("one of Python's exceptions"), []
    if not python_exception(name):
        raise line.wrong("one of Python's exceptions", token)
    while line.accepts(","):
        args.append(line.string())
    return syntax.Raise(name, tuple(args))
