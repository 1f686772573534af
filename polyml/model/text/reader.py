"""The reader of a SCoP's text: it makes an equal SCoP. The grammar is in `writer`."""

from __future__ import annotations

import islpy as isl

from polyml import polyhedra
from polyml.frontend.syntax import ArgType, Expr, ScalarType
from polyml.frontend.text import constants
from polyml.frontend.text.expression_text import ExpressionReader
from polyml.model.core.call_interface import ArrayResult, Parameter, ScalarResult, SizeRelation
from polyml.model.core.scop import Access, Array, Check, Gather, Index, Load, Role, ScalarArg, Scop, Statement
from polyml.model.text.isl_texts import IslTexts
from polyml.model.text.places import PlaceReader
from polyml.model.text.writer import FORMAT, KIND, RESERVED, LeafTypes, subscripts
from polyml.polyhedra import BudgetExceeded, budget
from polyml.reading.result_forms import read_form
from polyml.reading.text_scanner import INDENT, Line, Lines, Token, opened
from polyml.schedule.tree.text import parse_block, schedule_of
from polyml.source import Loc

OPERATIONS = 20_000_000  # of isl, to read a text
_STEP = len(INDENT)
_CHECKS = ("bounds", "range", "shape", "limit", "usual", "raise")


def parse(text: str, file: str = "<text>") -> Scop:
    """Returns the SCoP of a text that `writer.text` wrote. Raises TextError for any other text.

    file: the file's name in messages
    """
    lines = opened(text, file, KIND, FORMAT)
    places = PlaceReader(lines)
    with budget(OPERATIONS):
        scop = read(lines, places)
    if not lines.is_done:
        raise lines.next("the end of the text").wrong("`source` or the end of the text")
    return scop


def read(lines: Lines, places: PlaceReader) -> Scop:
    """Returns the SCoP whose lines are next, and takes these lines.

    places: reads the source locations in them
    """
    return _ScopReader(lines, places).scop()


class _ScopReader:
    """A _ScopReader reads the lines of one SCoP."""

    def __init__(self, lines: Lines, places: PlaceReader) -> None:
        self.lines, self.at, self.isl = lines, places.at, IslTexts(())
        self.arguments: tuple[str, ...] = ()  # numbers among the kernel's parameters
        self._arrays: dict[str, Array] = {}
        self.types = LeafTypes((), self._arrays)

    def scop(self) -> Scop:
        """Returns the SCoP, whose lines it takes in the order of `writer`'s grammar. Raises TextError where they differ from it."""
        line = self.next("kernel")
        name = line.name("the kernel's name")
        line.expect("(")
        given = line.listed(lambda: _param(line), ")")
        line.finish()
        parameters = self._parameters()
        self.isl = IslTexts([p.name for p in parameters])
        context = self.set(self.next("context"))
        usual = self.set(self.next("usual")) if self.lines.is_at("usual") else None
        limits: dict[str, int] = {}
        if self.lines.is_at("limits"):
            line = self.next("limits")
            limits = dict(line.listed(lambda: _limit(line), ""))
        related: tuple[SizeRelation, ...] = ()
        if self.lines.is_at("related"):
            line = self.next("related")
            related = line.listed(lambda: _relation(line, parameters), "")
        self._arrays = {a.name: a for a in iter(lambda: self._array("array"), None)}
        spared = tuple(iter(lambda: self._array("spared"), None))
        self.types = LeafTypes(given, self._arrays)
        self.arguments = tuple(param for param, kind in given if isinstance(kind, ScalarType))
        statements: dict[str, Statement] = {}
        while self.lines.is_at("statement"):
            statement = _StatementReader(self).read()
            statements[statement.name] = statement
        checks = []
        while self.lines.is_at("check"):
            checks.append(self._check())
        is_tuple, form, results = self._returns()
        schedule = self._order(statements)
        return Scop(
            name=name, params=tuple(param for param, _ in given), types=tuple(kind for _, kind in given), parameters=parameters,
            arrays=self._arrays, statements=statements, context=context, schedule=schedule, checks=tuple(checks), results=results,
            result_is_tuple=is_tuple, result_form=form, usual=usual, limits=limits, spared=spared, related=related,
        )  # fmt: skip

    def next(self, *words: str) -> Line:
        """Returns the next line, of which the first words, `words`, are read. Raises TextError where it has other ones."""
        line = self.lines.next(f"`{words[0]}`", 0)
        for word in words:
            line.expect(word)
        return line

    def ended(self, line: Line) -> Loc | None:
        """Returns the source location at the end of a line, None without one. Raises TextError where more follows."""
        loc = self.at(line)
        line.finish()
        return loc

    def set(self, line: Line) -> isl.Set:
        """Returns the set that is the rest of a line."""
        found = self.isl.read(isl.Set, line, "a set")
        line.finish()
        return found

    def set_after(self, word: str) -> isl.Set:
        """Returns the set on the next line, which is indented and begins with `word`; the set is part of a statement."""
        line = self.below(word)
        found = self.isl.read_after(isl.Set, line, "a set")
        line.finish()
        return found

    def _parameters(self) -> tuple[Parameter, ...]:
        line = self.next("parameters")
        line.expect("[")
        token = line.token
        names = line.listed(lambda: line.name("the name of a parameter"), "]")
        line.finish()
        found = tuple(_parameter(each) for each in self.lines.below(_STEP))
        if names != tuple(p.name for p in found):
            raise line.refused("these are not the parameters below", (f"expected [{', '.join(p.name for p in found)}]",), token)
        return found

    def _array(self, word: str) -> Array | None:
        if not self.lines.is_at(word):
            return None
        line = self.next(*dict.fromkeys((word, "array")))
        name = line.name("the array's name")
        line.expect(":")
        element = constants.dtype(line)
        shape = line.listed(lambda: self._extent(line), "]") if line.accepts("[") else ()
        line.expect("(")
        role = Role(line.expect(*(each.value for each in Role)))
        source_name, pairs = name, False
        while line.accepts(","):
            if line.expect("of", "pairs") == "of":
                source_name = line.string()
            else:
                pairs = True
        line.expect(")")
        return Array(name=name, element=element, shape=shape, role=role, source_name=source_name, pairs=pairs, loc=self.ended(line))

    def _extent(self, line: Line) -> isl.PwAff:
        if line.token.kind not in ("name", "number"):
            return self.isl.read_expression(line, "", ())
        return self.isl.simple(line, line.take())

    def _check(self) -> Check:
        line = self.next("check")
        kind = line.expect(*_CHECKS)
        line.expect("[")
        iterators = line.listed(lambda: line.name("an iterator"), "]")
        what = line.string()
        dim = line.integer() if line.accepts("dim") else 0
        may = bool(line.accepts("perhaps"))
        loc = self.ended(line)
        violated = self.set(self.below("violated"))
        instances = self.set_after("instances")
        subscript, size = (self._function(word) for word in ("subscript", "size"))
        return Check(
            kind=kind, violated=violated, instances=instances, iterators=iterators, what=what, may=may, dim=dim, subscript=subscript,
            size=size, loc=loc,
        )  # fmt: skip

    def below(self, word: str) -> Line:
        """Returns the next line, with its first word taken. Raises TextError unless it is indented and this word is `word`."""
        line = self.lines.next(f"`{word}`", _STEP)
        line.expect(word)
        return line

    def _function(self, word: str) -> isl.PwAff | None:
        if not self.lines.is_at(word):
            return None
        line = self.below(word)
        found = self.isl.read(isl.PwAff, line, "a function")
        line.finish()
        return found

    def _returns(self) -> tuple[bool, str, tuple[ScalarResult | ArrayResult, ...]]:
        if not self.lines.is_at("returns"):
            return False, "", ()
        line = self.next("returns")
        is_tuple, form = bool(line.accepts("(")), ""
        if is_tuple:
            results = line.listed(lambda: _result(line), ")")
            if line.accepts("as"):
                form = read_form(line)
                is_tuple = form.startswith("(")
        else:
            results = (_result(line),)
            if isinstance(results[0], ScalarResult) and results[0].whole is not None:  # the real part of a complex number
                line.expect(",")
                results += (_result(line),)
        line.finish()
        return is_tuple, form, results

    def _order(self, statements: dict[str, Statement]) -> isl.Schedule:
        """Returns the schedule tree below the line `order`. Raises TextError where it has other instances than the statements."""
        line = self.next("order")
        line.finish()
        try:
            order = schedule_of(parse_block(self.lines.block(_STEP)))
        except (isl.Error, ValueError):
            notes = ("expected `domain:` and `child:`, as isl prints them",)
            raise line.refused("there is no schedule tree below", notes) from None
        except BudgetExceeded:
            raise line.refused("isl takes too long to read the schedule tree below") from None
        for part in polyhedra.pieces(order.get_domain()):
            name = part.get_tuple_name()
            if name not in statements or not part.is_equal(statements[name].domain):
                raise line.refused(f"the tree below has other instances of `{name}`", ("expected the statement's domain",))
        return order


class _StatementReader:
    """A _StatementReader reads the lines of one statement."""

    def __init__(self, scop: _ScopReader):
        self._scop, self._isl = scop, scop.isl
        self._name = ""
        self._iterators: tuple[str, ...] = ()
        self._labels: dict[str, int] = {}
        self._reads: tuple[Access, ...] = ()

    def read(self) -> Statement:
        """Returns the statement whose lines are next."""
        line = self._scop.next("statement")
        self._name = line.name("the statement's name")
        line.expect("[")
        self._iterators = line.listed(lambda: line.name("an iterator"), "]")
        loc = self._scop.ended(line)
        domain = self._scop.set_after("domain")
        write = self._access(self._scop.below("write"))
        while self._scop.lines.is_at("read"):
            self._read()
        return Statement(
            name=self._name, iterators=self._iterators, domain=domain, writes=(write,), reads=self._reads,
            value=self._value(), loc=loc,
        )  # fmt: skip

    def _read(self) -> None:
        line = self._scop.below("read")
        token = line.token
        label = line.name("the name of a read")
        if label in self._labels:
            raise line.refused(f"there are two reads `{label}`", ("expected names that differ, such as `A.0` and `A.1`",), token)
        self._labels[label] = len(self._reads)
        self._reads += (self._access(line),)

    def _access(self, line: Line) -> Access:
        token = line.token
        relation = self._isl.read_after(isl.Map, line, "a relation")
        if line.accepts("by"):
            found: tuple[isl.PwAff, ...] | None = (self._isl.read_after(isl.PwAff, line, "a function"),)
            while line.accepts(","):
                found = (*(found or ()), self._isl.read_after(isl.PwAff, line, "a function"))
        else:
            found = subscripts(relation)
        if found is None:
            notes = ("expected one element for each instance, or `by` with the subscripts",)
            raise line.refused("the relation is no function", notes, token)
        may = bool(line.accepts("perhaps"))
        array = polyhedra.range_name(relation)
        return Access(array=array, relation=relation, subscripts=found, may=may, loc=self._scop.ended(line))

    def _value(self) -> Expr:
        lets: dict[str, Expr] = {}
        self._scop.types.reads = self._reads
        while True:
            line = self._scop.lines.next("`let` or `value`", _STEP)
            reader = ExpressionReader(line, self._leaf, self._scop.types.natural, lets=lets)
            if line.expect("let", "value") == "value":
                value = reader.expr()
                line.finish()
                return value
            reader.let()
            line.finish()

    def _leaf(self, reader: ExpressionReader) -> Expr | None:
        """Returns the leaf of a statement's value that is next on the line; None where something else is next."""
        line, token = reader.line, reader.line.token
        if line.is_at("{", "["):
            return reader.made(Index(self._isl.read_expression(line, self._name, self._iterators)), token)
        is_argument = bool(line.accepts("arg"))
        if line.token.kind != "name" or line.is_at(*RESERVED):
            return None
        name = line.take().text
        if line.is_at("[", "!") and not is_argument:
            return self._gather(reader, name, token)
        if name in self._labels and not is_argument:
            return reader.made(Load(self._labels[name]), token)
        if name.partition(".")[0] not in self._scop.arguments:
            known = ", ".join((*self._labels, *self._scop.arguments))
            raise line.refused(
                f"there is no `{name}`", (f"expected a read or an argument that is a number: {known or 'none'}",), token
            )
        return reader.made(ScalarArg(name), token)

    def _gather(self, reader: ExpressionReader, name: str, token: Token) -> Expr:
        line = reader.line
        is_inside = bool(line.accepts("!"))
        line.expect("[")
        return reader.made(Gather(name, line.listed(reader.expr, "]"), inside=is_inside), token)


def _param(line: Line) -> tuple[str, ArgType]:
    name = line.name("the name of an argument")
    line.expect(":")
    return name, constants.arg_type(line)


def _limit(line: Line) -> tuple[str, int]:
    name = line.name("the name of a parameter")
    line.expect("<=")
    return name, line.integer()


def _relation(line: Line, parameters: tuple[Parameter, ...]) -> SizeRelation:
    """Returns the relation on a line, between sizes that are parameters."""
    before, sizes = line.token, {(p.array, p.dim) for p in parameters if p.is_size}
    try:
        relation = SizeRelation.parse(line.string())
    except ValueError:
        raise line.refused("the text relates no sizes, as `B.shape[0] == A.shape[1] + 0` does", token=before) from None
    if not {(relation.name, relation.dim), (relation.other, relation.other_dim)} <= sizes:
        raise line.refused("a size is related that is no parameter", token=before)
    return relation


def _parameter(line: Line) -> Parameter:
    """Returns the parameter on a line: `N = A.shape[0]`, `m = A.min()`, `n = x` for the number argument x, `z` for one called z."""
    name = line.name("the name of a parameter")
    if not line.accepts("="):
        line.finish()
        return Parameter(name)
    array = line.name("the name of an argument")
    if not line.accepts("."):
        line.finish()
        return Parameter(name, argument=array)
    extreme = line.expect("shape", "min", "max")
    dim = 0
    if extreme != "shape":
        line.expect("(")
        line.expect(")")
    if extreme == "shape" or line.is_at("["):
        line.expect("[")
        dim = line.integer("the number of a dimension")
        line.expect("]")
    argument = line.name() if line.accepts("for") else array
    line.finish()
    return Parameter(name, array, dim, argument, "" if extreme == "shape" else extreme)


def _result(line: Line) -> ScalarResult | ArrayResult:
    array = line.name("the name of an array")
    if not line.accepts(":"):
        return ArrayResult(array)
    kind = constants.dtype(line)
    return ScalarResult(array, kind, constants.dtype(line) if line.accepts("of") else None)
