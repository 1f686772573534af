"""Reads the text of a Program back to an equal Program. The grammar is that of `writer`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from polyml.codegen.dot_products import instructions
from polyml.codegen.ir.program import COPY, Guard, Instance, Jam, Loop, Node, Program, Unroll, Window
from polyml.codegen.text.integers import IntegerReader
from polyml.codegen.text.writer import FORMAT, KIND, ROLES
from polyml.model.core.reductions import Reduction
from polyml.model.core.scop import Scop
from polyml.model.text import reader as scop_reader
from polyml.model.text.places import PlaceReader
from polyml.polyhedra import budget
from polyml.quasi_affine.affine import Affine
from polyml.reading.text_scanner import INDENT, Line, Lines, opened
from polyml.schedule.tree.directives import NO_DIRECTIVES, Directives, parse_mark

_STEP = len(INDENT)
_NODE = "an instance, for, if, together, unrolled or pass"
_ITERATIONS, _VECTORS = ("iterations", "iteration"), ("vectors", "vector")
_DEEPEST = 100  # loops in one another


def parse(text: str, file: str = "<text>") -> Program:
    """Returns the Program of a text that `writer.text` wrote. Raises TextError for any other text.

    file: the text's name in messages.
    """
    lines = opened(text, file, KIND, FORMAT)
    places = PlaceReader(lines)
    with budget(scop_reader.OPERATIONS):
        scop = scop_reader.read(lines, places)
    program = _Reader(lines, scop).program()
    if not lines.is_done:
        raise lines.next("the end of the text").wrong("`note`, `source` or the end of the text")
    return program


@dataclass
class _Facts:
    """What the lines between the SCoP and the loops say, as fields that a Program has under the same names."""

    reductions: dict[str, Reduction] = field(default_factory=dict)
    scans: dict[str, Reduction] = field(default_factory=dict)
    windows: dict[str, Window] = field(default_factory=dict)
    shared: dict[str, str] = field(default_factory=dict)
    phases: dict[str, str] = field(default_factory=dict)
    prefetches: dict[str, dict[int, tuple[str, int]]] = field(default_factory=dict)
    thread: str = ""
    threads: str = ""


class _Reader:
    """A reader of a Program's lines that follow those of the SCoP. Its methods raise TextError for lines that do not follow the
    grammar.
    """

    def __init__(self, lines: Lines, scop: Scop):
        self._lines, self._scop, self._facts = lines, scop, _Facts()

    def program(self) -> Program:
        """Reads the lines behind the SCoP and returns the whole Program."""
        while self._lines.is_at("reduction", "scan", "window", "shared", "phase", "fetch", "thread"):
            line = self._lines.next("a fact", 0)
            getattr(self, f"_{line.take().text}")(line)
            line.finish()
        facts = self._facts
        names = {p.name for p in self._scop.parameters}.union(facts.phases, filter(None, (facts.thread, facts.threads)))
        before = self._section("before", frozenset(names)) if self._lines.is_at("before") else ()
        body = self._section("body", frozenset(names))
        notes = []
        while self._lines.is_at("note"):
            line = self._lines.next("`note`", 0)
            line.expect("note")
            notes.append(line.string())
            line.finish()
        return Program(
            self._scop, body, facts.reductions, facts.scans, facts.windows, facts.phases, facts.prefetches, facts.thread, facts.threads,
            before, tuple(notes), facts.shared,
        )  # fmt: skip

    def _reduction(self, line: Line) -> None:
        found = self._update(line)
        self._facts.reductions[found.statement] = found

    def _scan(self, line: Line) -> None:
        found = self._update(line)
        self._facts.scans[found.statement] = found

    def _update(self, line: Line) -> Reduction:
        """Reads the rest of a `reduction` or `scan` line and returns the update that it describes."""
        statement = self._statement(line)
        operator = line.string("an operator in double quotes")
        array = self._array(line)
        line.expect("read")
        token, read = line.token, line.integer("the number of a read")
        reads = len(self._scop.statements[statement].reads)
        if not 0 <= read < reads:
            raise line.wrong(f"one of the {reads} reads of {statement}, from 0 on", token)
        return Reduction(statement, array, operator, read)

    def _statement(self, line: Line) -> str:
        """Reads the name of a statement and returns it. Raises TextError for a name that no statement of the SCoP has."""
        token, name = line.token, line.name("a statement")
        if name not in self._scop.statements:
            raise line.refused(
                f"there is no statement `{name}`", (f"statements: {', '.join(self._scop.statements) or 'none'}",), token
            )
        return name

    def _array(self, line: Line) -> str:
        """Reads the name of an array and returns it. Raises TextError for a name that no array of the SCoP has."""
        token, name = line.token, line.name("an array")
        if name not in self._scop.arrays:
            raise line.refused(f"there is no array `{name}`", (f"arrays: {', '.join(self._scop.arrays) or 'none'}",), token)
        return name

    def _window(self, line: Line) -> None:
        array = self._array(line)
        low = _listed(line, IntegerReader(line))
        line.expect("of")
        line.expect("[")
        lengths = line.listed(lambda: None if line.accepts("all") else line.integer("a number of elements or `all`"), "]")
        folded = line.integer() if line.accepts("ring") else None
        word = _positive(line, "a number of elements") if line.accepts("word") else 1
        self._facts.windows[array] = Window(low, lengths, folded, word)

    def _shared(self, line: Line) -> None:
        name = self._array(line)
        line.expect("with")
        self._facts.shared[name] = self._array(line)

    def _phase(self, line: Line) -> None:
        name = line.name()
        line.expect("of")
        self._facts.phases[name] = self._array(line)

    def _fetch(self, line: Line) -> None:
        statement = self._statement(line)
        line.expect("[")
        self._facts.prefetches[statement] = dict(line.listed(lambda: _fetched(line), "]"))

    def _thread(self, line: Line) -> None:
        self._facts.thread = line.name()
        line.expect("of")
        self._facts.threads = line.name()

    def _section(self, word: str, names: frozenset[str]) -> tuple[Node, ...]:
        """Reads a heading, `word`, and the nodes below it, and returns the nodes.

        names: the variables and parameters that expressions may contain.
        """
        line = self._lines.next(f"`{word}`", 0)
        line.expect(word)
        line.finish()
        return self._nodes(_STEP, names)

    def _nodes(self, indent: int, names: frozenset[str]) -> tuple[Node, ...]:
        """Reads the nodes of a block and returns them.

        indent: the block's, in characters.
        names: the variables and parameters that expressions may contain.
        """
        line = self._lines.next(_NODE, indent)
        if indent > _DEEPEST * _STEP:
            raise line.refused(f"more than {_DEEPEST} loops are in one another")
        if line.accepts("pass"):
            line.finish()
            return ()
        found = [self._node(line, indent, names)]
        found += [self._node(line, indent, names) for line in self._lines.below(indent)]
        return tuple(found)

    def _node(self, line: Line, indent: int, names: frozenset[str]) -> Node:
        reader = IntegerReader(line, names)
        if line.token.kind == "name" and line.peek(1).is_one_of("["):
            return self._instance(line, reader)
        if line.accepts("for"):
            return self._loop(line, reader, indent, names)
        if line.accepts("if"):
            condition = reader.condition()
            is_rare = bool(line.accepts(",")) and bool(line.expect("rarely"))
            return Guard(condition, self._below(line, indent, names), is_rare)
        if line.accepts("together"):
            return self._jam(line, reader, indent, names)
        if line.accepts("unrolled"):
            var, base, end = _run(line, reader)
            line.expect("(")
            count = _positive(line, "a number of iterations")
            line.expect(*_ITERATIONS)
            line.expect(")")
            self._check_end(line, base, end, count)
            word = line.expect("by") and line.expect(COPY, *instructions.NAMES) if line.accepts(",") else ""
            return Unroll(var, base, count, self._below(line, indent, names | {var}), word)
        raise line.wrong(_NODE)

    def _instance(self, line: Line, reader: IntegerReader) -> Instance:
        name = self._statement(line)
        token, point = line.token, _listed(line, reader)
        line.finish()
        iterators = self._scop.statements[name].iterators
        if len(point) != len(iterators):
            raise line.refused(f"`{name}` has {len(iterators)} iterators, not {len(point)}", token=token)
        return Instance(name, point)

    def _below(self, line: Line, indent: int, names: frozenset[str]) -> tuple[Node, ...]:
        """Reads the colon at a line's end and the body below the line, and returns the body's nodes."""
        line.expect(":")
        line.finish()
        return self._nodes(indent + _STEP, names)

    def _loop(self, line: Line, reader: IntegerReader, indent: int, names: frozenset[str]) -> Loop:
        var = line.name("the loop's variable")
        line.expect("=")
        lower = _bound(line, reader, "max")
        line.expect("..")
        upper = _bound(line, reader, "min")
        step = _positive(line, "a step") if line.accepts("step") else 1
        loop = Loop(var, lower, upper, step, ())
        while line.accepts(","):
            loop = self._marked(line, loop)
        return replace(loop, body=self._below(line, indent, names | {var} | ({loop.last} if loop.last else set())))

    def _marked(self, line: Line, loop: Loop) -> Loop:
        """Reads one of the properties that follow a loop's bounds, such as `parallel` or `ends at NAME`, and returns the loop with
        it.
        """
        word = line.expect("parallel", *ROLES, "private", "partial", "ends", "resumes", "as", "asks")
        if word == "parallel":
            return replace(loop, parallel=True)
        if word in ROLES:
            return replace(loop, role=word)
        if word == "private":
            return replace(loop, private=self._arrays(line))
        if word == "partial":
            return replace(loop, partial=self._arrays(line))
        if word == "ends":
            line.expect("at")
            return replace(loop, last=line.name())
        if word == "resumes":
            return replace(loop, resumes=line.name())
        return replace(loop, name=line.name()) if word == "as" else replace(loop, directives=_directives(line))

    def _arrays(self, line: Line) -> tuple[str, ...]:
        line.expect("(")
        return line.listed(lambda: self._array(line), ")")

    def _jam(self, line: Line, reader: IntegerReader, indent: int, names: frozenset[str]) -> Jam:
        var, base, end = _run(line, reader)
        line.expect("(")
        count, lanes = _positive(line, "a number of iterations or vectors"), 1
        if line.expect(*_ITERATIONS, *_VECTORS) in _VECTORS:
            line.expect("of")
            lanes = _positive(line, "a number of lanes")
        line.expect(")")
        self._check_end(line, base, end, count * lanes)
        scans, in_order, limit = False, False, None
        while line.accepts(","):
            if line.is_at("scans") and not line.peek(1).is_one_of("<="):
                line.take()
                scans = True
            elif line.is_at("in") and line.peek(1).is_one_of("order"):
                line.take(), line.take()
                in_order = True
            else:
                line.expect(var)
                line.expect("<=")
                limit = reader.lin()
        return Jam(var, base, count, lanes, limit, self._below(line, indent, names | {var}), scans, in_order)

    def _check_end(self, line: Line, base: Affine, end: Affine, count: int) -> None:
        """Raises TextError if the last of `count` consecutive iterations that begin with `base` is not `end`, as the line says."""
        if end != base + (count - 1):
            raise line.refused(
                f"{count} iterations from `{base}` on do not end at `{end}`", (f"they end at `{base + (count - 1)}`",)
            )


def _run(line: Line, reader: IntegerReader) -> tuple[str, Affine, Affine]:
    """Reads a text such as `k = 0 .. 7`, and returns the variable, the first and the last value."""
    var = line.name("the variable of the iterations")
    line.expect("=")
    base = reader.lin()
    line.expect("..")
    return var, base, reader.lin()


def _bound(line: Line, reader: IntegerReader, op: str) -> tuple[Affine, ...]:
    """Reads a loop's bound and returns the expressions in it: one, or a list of several after the word `op` ("min" or "max")."""
    if line.is_at(op) and line.peek(1).is_one_of("["):
        line.take()
        return _listed(line, reader)
    return (reader.lin(),)


def _listed(line: Line, reader: IntegerReader) -> tuple[Affine, ...]:
    line.expect("[")
    return line.listed(reader.lin, "]")


def _positive(line: Line, what: str) -> int:
    """Reads a positive integer and returns it. Raises TextError for any other text.

    what: the integer's name in messages.
    """
    token, number = line.token, line.integer(what)
    if number < 1:
        raise line.wrong(f"{what}, 1 or more", token)
    return number


def _fetched(line: Line) -> tuple[int, tuple[str, int]]:
    """Reads a text such as `read 1 at k + 8`, and returns (1, ("k", 8)): the number of the read, the iterator, and the distance
    along it.
    """
    line.expect("read")
    number = line.integer("the number of a read")
    line.expect("at")
    name = line.name("an iterator")
    line.expect("+")
    return number, (name, line.integer())


def _directives(line: Line) -> Directives:
    """Reads a string that spells directives as marks of schedule trees do, and returns the directives. Raises TextError for
    others.
    """
    token, words = line.token, line.string()
    try:
        found = parse_mark(f"loop x: {words}")
    except ValueError as problem:
        raise line.refused(str(problem), token=token) from None
    return NO_DIRECTIVES if found is None else found[1]
