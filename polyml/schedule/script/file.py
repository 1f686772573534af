"""A schedule as the text of a file, which people read and compare, and which replays without a search.

    polyml schedule, format 1
    kernel: gemm
    arguments: float; float; f64[:, :] C; f64[:, :] C; f64[:, :] C
    sizes: C_0 = 1000, C_1 = 1100, A_1 = 1200
    code for sizes: yes
    code for sizes alike: none
    statement S0: [C_0, C_1] -> { S0[i, j] : 0 <= i < C_0 and 0 <= j < C_1 }
      write: [C_0, C_1] -> { S0[i, j] -> C[i, j] }
      read: [C_0, C_1] -> { S0[i, j] -> C[i, j] }
    tree:
      domain: "..."
      child: ...
    end

The statements say what the schedule is for: a kernel of which any domain or access differs is another one. The tree is
isl's, with the names and directives of loops in its marks. It may be edited: what is loaded is proved.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from os import PathLike

import islpy as isl

from polyml.errors import NoFileError, ScheduleError
from polyml.frontend.syntax import ArrayType
from polyml.model.core.printer import schedule_text
from polyml.model.core.scop import Scop
from polyml.polyhedra import BudgetExceeded, budget
from polyml.reading.files import read_regular
from polyml.reading.input_limits import excess, whole_number
from polyml.reading.userfiles import called, unreadable
from polyml.schedule.script.problem import Problem
from polyml.schedule.tree import loop_tree
from polyml.schedule.tree.text import DamagedLine, parse_block
from polyml.source import Loc, Source

FORMAT = 1
MOST_BYTES = 16 << 20  # of a file
_LONGEST, _DEEPEST = 50_000, 50  # characters of a line, and brackets in one another: what isl's reader can take
_LARGEST = 2**63 - 1  # of a size
_OPERATIONS = 3_000_000  # of isl, to read the texts
_HEAD = "polyml schedule, format "
_TREE, _END = "tree:", "end"


@dataclass(frozen=True)
class SavedStatement:
    """A statement in a saved schedule: isl's texts of its domain { S[i] : ... } and of its accesses { S[i] -> A[j] }."""

    name: str
    domain: str
    write: str
    reads: tuple[str, ...]


@dataclass(frozen=True)
class Saved:
    """A saved schedule as texts and numbers, without objects of isl.

    kernel: the function's name.
    arguments: the type of each argument, with its layout where it is an array.
    sizes: values of parameters for which code is generated; (): for any.
    sized: whether code depends on these values for more than the sizes of expanded arrays.
    related: relations between sizes that code takes for granted.
    tree: isl's text of the schedule tree, in block style.
    """

    kernel: str
    arguments: tuple[str, ...]
    sizes: tuple[tuple[str, int], ...]
    sized: bool
    related: tuple[str, ...]
    statements: tuple[SavedStatement, ...]
    tree: str

    @property
    def order(self) -> tuple[object, ...]:
        """Returns the name, the fields on sizes and the tree: what is equal in saved schedules that order one kernel alike."""
        return self.kernel, self.sizes, self.sized, self.related, self.tree

    def text(self) -> str:
        """Returns the text of the file, which `parse` reads."""
        lines = [f"{_HEAD}{FORMAT}", f"kernel: {self.kernel}", f"arguments: {'; '.join(self.arguments)}"]
        lines.append(f"sizes: {', '.join(f'{name} = {value}' for name, value in self.sizes) or 'any'}")
        lines.append(f"code for sizes: {'yes' if self.sized else 'no'}")
        lines.append(f"code for sizes alike: {'; '.join(self.related) or 'none'}")
        for s in self.statements:
            lines += [f"statement {s.name}: {s.domain}", f"  write: {s.write}", *(f"  read: {read}" for read in s.reads)]
        lines += [_TREE, *(f"  {line}" for line in self.tree.splitlines()), _END]
        return "\n".join(lines) + "\n"


def saved(problem: Problem, tree: isl.Schedule) -> Saved:
    """Returns the schedule tree of a problem as texts, ready to be written to a file."""
    scop, remaining = problem.scop, iter(problem.layouts)
    arguments = tuple(f"{t} {next(remaining)}" if isinstance(t, ArrayType) else str(t) for t in problem.types)
    statements = tuple(
        SavedStatement(s.name, _text(s.domain), _text(s.write.relation), tuple(_text(r.relation) for r in s.reads))
        for s in scop.statements.values()
    )
    sizes = tuple(sorted((problem.sizes or {}).items()))
    return Saved(scop.name, arguments, sizes, problem.sized, problem.related, statements, _sorted(schedule_text(tree)))


def _text(value: isl.Set | isl.Map) -> str:
    """Returns isl's text of the value without constraints that others imply.

    isl drops such constraints in place only once it has computed something, so its text could change otherwise.
    """
    return str(value.remove_redundancies())


def _sorted(text: str) -> str:
    """Returns the text with the pieces of each union in alphabetic order, as isl prints them in the order of its hash tables."""
    return re.sub(r"\{([^{}]*)\}", lambda m: "{ " + "; ".join(sorted(p.strip() for p in m.group(1).split(";"))) + " }", text)


def read(path: str | PathLike[str]) -> Saved:
    """Returns the schedule in a file. Raises NoFileError where there is no file, ScheduleError for one that cannot be read."""
    try:
        content = read_regular(path, MOST_BYTES)
    except FileNotFoundError:
        raise NoFileError(f"the schedule {called(path)} does not exist", notes=["`save` of a schedule writes one"]) from None
    except (OSError, ValueError) as problem:
        raise ScheduleError(unreadable(path, problem)) from None
    return parse(content.decode("utf-8", "replace"), called(path))


def parse(text: str, where: str) -> Saved:
    """Returns the schedule that `Saved.text` wrote. Raises ScheduleError for other texts.

    where: the file's name, for messages.
    """
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        if problem := excess(line, _LONGEST, _DEEPEST):
            raise ScheduleError(f"{where} is damaged: line {number} {problem}", loc=_line(where, lines, number))
        if any(whole_number(digits, 0, _LARGEST) is None for digits in re.findall(r"[0-9]{19,}", line)):
            message = f"{where} is damaged: line {number} has a number of more than 64 bits"
            raise ScheduleError(message, loc=_line(where, lines, number))
    if not lines or not lines[0].startswith(_HEAD):
        notes = [f"the first line of one is `{_HEAD}{FORMAT}`"]
        raise ScheduleError(f"{where} is no schedule of polyml", loc=_line(where, lines, 1), notes=notes)
    if lines[0] != f"{_HEAD}{FORMAT}":
        notes = [f"this version reads format {FORMAT}"]
        raise ScheduleError(f"{where} has format `{lines[0].removeprefix(_HEAD)}`", loc=_line(where, lines, 1), notes=notes)
    if lines[-1] != _END or _TREE not in lines:
        notes = ["was it written to its end?"]
        message = f"{where} is damaged: it does not end with a tree and `{_END}`"
        raise ScheduleError(message, loc=_line(where, lines, len(lines)), notes=notes)
    tree_line = lines.index(_TREE)
    reader = _KeyedLines(lines, tree_line, where)
    kernel, arguments = reader.value("kernel"), reader.value("arguments")
    sizes, sized = _sizes(reader.value("sizes"), reader), reader.value("code for sizes")
    if sized not in ("yes", "no"):
        raise reader.wrong(f"code for sizes: {sized}")
    relations = reader.value("code for sizes alike")
    related = () if relations == "none" else tuple(relations.split("; "))
    statements = []
    while reader.has_more:
        name, domain = reader.statement()
        statements.append(SavedStatement(name, domain, reader.value("  write"), tuple(reader.values("  read"))))
    tree = "\n".join(line.removeprefix("  ") for line in lines[tree_line + 1 : -1])
    try:
        parse_block(tree)
    except DamagedLine as problem:
        raise ScheduleError(f"the tree is damaged: {problem}", loc=_line(where, lines, tree_line + 1 + problem.number)) from None
    except ValueError as problem:
        raise ScheduleError(f"the tree is damaged: {problem}", loc=_line(where, lines, tree_line + 1)) from None
    given = tuple(arguments.split("; ")) if arguments else ()
    return Saved(kernel, given, sizes, sized == "yes", related, tuple(statements), tree)


def _line(where: str, lines: list[str], number: int) -> Loc:
    """Returns the place of a line, from 1, of a file with these lines."""
    text = lines[number - 1] if number <= len(lines) else ""
    indent = len(text) - len(text.lstrip())
    return Loc(Source(where, 1, tuple(lines)), max(1, number), indent + 1, max(1, len(text) - indent))


class _KeyedLines:
    """A reader of lines `key: value`, one after the other, from the second line of a file; it remembers the next line.

    lines: all lines of the file.
    end: how many of them come before the tree.
    where: the file's name, for messages.
    """

    def __init__(self, lines: list[str], end: int, where: str):
        self._lines, self._end, self._where, self._next = lines, end, where, 1

    @property
    def has_more(self) -> bool:
        return self._next < self._end

    def value(self, key: str) -> str:
        """Returns the value of the next line. Raises ScheduleError where the line has a key other than `key`."""
        if not self.has_more or not self._lines[self._next].startswith(f"{key}:"):
            raise self.damaged(f"no `{key.strip()}`")
        self._next += 1
        return self._lines[self._next - 1].removeprefix(f"{key}:").strip()

    def values(self, key: str) -> list[str]:
        """Returns the values of the next lines, up to the first one with a key other than `key`."""
        found = []
        while self.has_more and self._lines[self._next].startswith(f"{key}:"):
            found.append(self.value(key))
        return found

    def statement(self) -> tuple[str, str]:
        """Returns the name and the domain on the next line, `statement NAME: DOMAIN`. Raises ScheduleError for another line."""
        matched = re.fullmatch(r"statement (\w+): (.+)", self._lines[self._next])
        if matched is None:
            raise self.damaged("no `statement`")
        self._next += 1
        return matched.group(1), matched.group(2)

    def damaged(self, what: str) -> ScheduleError:
        """Returns the error that says what is wrong with the next line."""
        return ScheduleError(f"{self._where} is damaged: {what} on line {self._next + 1}", loc=self._at(self._next + 1))

    def wrong(self, line: str) -> ScheduleError:
        """Returns the error that says that the line that was read last is wrong. line: its text."""
        return ScheduleError(f"{self._where} is damaged: `{line}` on line {self._next}", loc=self._at(self._next))

    def _at(self, number: int) -> Loc:
        return _line(self._where, self._lines, number)


def _sizes(text: str, reader: _KeyedLines) -> tuple[tuple[str, int], ...]:
    """Returns the names and values in a text such as `N = 100, M = 200`. Raises ScheduleError for another text."""
    if text == "any":
        return ()
    found: list[tuple[str, int]] = []
    for name, _, digits in (part.partition(" = ") for part in text.split(", ")):
        value = whole_number(digits, 0, _LARGEST)
        if not name.isidentifier() or value is None:
            raise reader.wrong(f"sizes: {text}")
        found.append((name, value))
    return tuple(found)


def check_name(saved: Saved, kernel: str) -> None:
    """Raises ScheduleError where the schedule was saved for a kernel of another name."""
    if saved.kernel != kernel:
        raise ScheduleError(f"the schedule is for the kernel `{saved.kernel}`, not for `{kernel}`")


def tree_of(saved: Saved, scop: Scop) -> isl.Schedule:
    """Returns the saved schedule tree for the SCoP.

    Raises ScheduleError for a tree that is damaged, was saved for another SCoP, or takes too long to read.
    """
    check_name(saved, scop.name)
    try:
        with budget(_OPERATIONS):
            return _tree_of(saved, scop)
    except BudgetExceeded as problem:
        raise ScheduleError(f"the schedule takes too long to read ({problem})") from None


def _tree_of(saved: Saved, scop: Scop) -> isl.Schedule:
    """Returns the saved schedule tree for the SCoP, as `tree_of` does, but without a limit of isl's operations."""
    mine, theirs = [*scop.statements], [s.name for s in saved.statements]
    if sorted(mine) != sorted(theirs):
        raise ScheduleError(f"the schedule is for {', '.join(theirs)}; `{scop.name}` has {', '.join(mine)}", notes=[_OTHER])
    for each in saved.statements:
        statement = scop.statements[each.name]
        _same(each.domain, statement.domain, f"domain of {each.name}", isl.Set)
        _same(each.write, statement.write.relation, f"write of {each.name}", isl.Map)
        if len(each.reads) != len(statement.reads):
            count = len(statement.reads)
            raise ScheduleError(
                f"the schedule is for another number of reads of {each.name}: {len(each.reads)}, not {count}", notes=[_OTHER]
            )
        for text, read in zip(each.reads, statement.reads):
            _same(text, read.relation, f"read of {each.name}", isl.Map)
    return tree_from(saved.tree, scop)


def tree_from(text: str, scop: Scop) -> isl.Schedule:
    """Returns the schedule tree in a saved text, `Saved.tree`. Raises ScheduleError where the text is damaged."""
    try:
        tree = parse_block(text)
        domain = isl.UnionSet(tree.get("domain", "{ }"))
        if {*tree} - {"domain", "child"} or not domain.is_equal(scop.domain):
            raise ScheduleError("the tree is damaged: its domain is not that of the statements")
        return loop_tree.write(
            scop.domain, loop_tree.unique(loop_tree.from_text(tree.get("child", {}), tuple(sorted(scop.statements))))
        )
    except (isl.Error, ValueError) as problem:
        if isinstance(problem, ScheduleError):
            raise
        raise ScheduleError(f"the tree is damaged: {_first(problem)}") from None


def _first(problem: Exception) -> str:
    """Returns the text of an error for use in a message; for every error of isl, just that isl cannot read what it was given."""
    return "isl cannot read it" if isinstance(problem, isl.Error) else str(problem)


_OTHER = "the function, the types of its arguments or the compiler have changed"


def _same(text: str, value: isl.Set | isl.Map, what: str, kind: type) -> None:
    """Raises ScheduleError unless the text, read by isl, is equal to the value.

    what: the value's name in messages.
    kind: isl's class of the value.
    """
    try:
        is_same = kind(text).is_equal(value)
    except isl.Error as problem:
        raise ScheduleError(f"the {what} is damaged: {_first(problem)}") from None
    if not is_same:
        raise ScheduleError(f"the schedule is for another {what}", notes=[f"it has {text}", f"the kernel has {value}", _OTHER])
