"""The text of a Program, which has all of its fields, so that `reader.parse` reads back an equal one.

    text     = "polyml program, format 1" scop {fact} ["before" nodes] "body" nodes {"note" STRING} {source}
    fact     = ("reduction" | "scan") STATEMENT STRING ARRAY "read" INTEGER          its operator, and which read is the accumulator
             | "window" ARRAY "[" {lin ","} "]" "of" "[" {INTEGER | "all" ","} "]" ["ring" INTEGER] ["word" INTEGER]
             | "phase" NAME "of" ARRAY | "fetch" STATEMENT "[" {"read" INTEGER "at" ITERATOR "+" INTEGER ","} "]"
             | "thread" NAME "of" NAME
    nodes    = "pass" | node {node}             four spaces further right than the line before them
    node     = instance | loop | guard | jam | unroll
    instance = STATEMENT "[" {lin ","} "]"
    loop     = "for" NAME "=" bound ".." bound ["step" INTEGER] {"," mark} ":" nodes       bound = lin | ("max" | "min") "[" {lin ","} "]"
    mark     = "parallel" | "tile" | "private" names | "partial" names | "ends" "at" NAME | "resumes" NAME
             | "as" NAME | "asks" STRING        names = "(" {NAME ","} ")"
    guard    = "if" cond ["," "rarely"] ":" nodes
    jam      = "together" NAME "=" lin ".." lin "(" INTEGER (iterations | vectors "of" INTEGER) ")" ["," "scans"]
               ["," NAME "<=" lin] ":" nodes
    unroll   = "unrolled" NAME "=" lin ".." lin "(" INTEGER iterations ")" ["," "by" NAME] ":" nodes
    iterations = "iterations" | "iteration"     vectors = "vectors" | "vector"

The scop and sources are those of `model.text.writer`, expressions and conditions those of `integers`. `a .. b` has both ends in it. A
loop's lower bound is the greatest of several, its upper one the least. Its directives are spelled as in marks of schedule trees.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from polyml.codegen.ir.printer import InstancePrinter
from polyml.codegen.ir.program import Guard, Instance, Jam, Loop, Node, Program, Unroll, Window
from polyml.codegen.text import integers
from polyml.model.core.reductions import Reduction
from polyml.model.text import writer as scop_writer
from polyml.model.text.places import PlaceWriter
from polyml.model.text.writer import quoted
from polyml.quasi_affine.affine import Affine
from polyml.reading.text_scanner import INDENT, head, string

KIND, FORMAT = "program", 1
ROLES = ("point", "tile")
_LONGEST = 200  # characters of an instance's comment


def text(program: Program) -> str:
    """Returns the text of a Program, which `reader.parse` reads back."""
    places = PlaceWriter()
    found = [head(KIND, FORMAT), *scop_writer.lines(program.scop, places), *_facts(program)]
    printer = InstancePrinter(program.scop)
    for name, nodes in (("before", program.before), ("body", program.body)):
        if nodes or name == "body":
            found += [name, *(INDENT + line for line in _nodes(nodes, printer))]
    found += [f"note {string(note)}" for note in program.notes]
    return "\n".join((*found, *places.lines())) + "\n"


def _facts(program: Program) -> Iterator[str]:
    """Yields the lines between the SCoP and the loops: reductions, scans, windows, shared memory, phases, prefetches and threads."""
    yield from _reductions("reduction", program.reductions)
    yield from _reductions("scan", program.scans)
    for name, window in program.windows.items():
        yield f"window {quoted(name)} {_window(window)}"
    for name, owner in program.shared.items():
        yield f"shared {quoted(name)} with {quoted(owner)}"
    for name, array in program.phases.items():
        yield f"phase {quoted(name)} of {quoted(array)}"
    for statement, reads in program.prefetches.items():
        yield f"fetch {statement} [{', '.join(f'read {n} at {name} + {much}' for n, (name, much) in reads.items())}]"
    if program.thread or program.threads:
        yield f"thread {quoted(program.thread)} of {quoted(program.threads)}"


def _reductions(word: str, found: Mapping[str, Reduction]) -> Iterator[str]:
    for each in found.values():
        yield f"{word} {each.statement} {string(each.operator)} {quoted(each.array)} read {each.access}"


def _window(window: Window) -> str:
    lengths = ", ".join("all" if length is None else str(length) for length in window.lengths)
    ring = "" if window.folded is None else f" ring {window.folded}"
    return f"{_listed(window.low)} of [{lengths}]{ring}{f' word {window.word}' if window.word > 1 else ''}"


def _listed(values: tuple[Affine, ...]) -> str:
    return f"[{', '.join(map(integers.text, values))}]"


def _nodes(nodes: tuple[Node, ...], printer: InstancePrinter) -> Iterator[str]:
    """Yields the lines of a block of nodes. An instance has a comment: the assignment that it runs."""
    if not nodes:
        yield "pass"
    for node in nodes:
        if isinstance(node, Instance):
            comment = printer.instance(node)
            short = comment if len(comment) <= _LONGEST else f"{comment[:_LONGEST]}..."
            yield f"{node.statement}{_listed(node.point)}  # {short}"
        else:
            yield f"{_head(node)}:"
            yield from (INDENT + line for line in _nodes(node.body, printer))


def _head(node: Loop | Guard | Jam | Unroll) -> str:
    """Returns the first line of the text of a node that has a body, without the colon at its end."""
    if isinstance(node, Guard):
        return f"if {integers.condition_text(node.condition)}{', rarely' if node.rare else ''}"
    if isinstance(node, Loop):
        step = "" if node.step == 1 else f" step {node.step}"
        return f"for {quoted(node.var)} = {_bound('max', node.lower)} .. {_bound('min', node.upper)}{step}{_marks(node)}"
    size = node.count * node.lanes if isinstance(node, Jam) else node.count
    run = f"{quoted(node.var)} = {integers.text(node.base)} .. {integers.text(node.base + (size - 1))}"
    if isinstance(node, Unroll):
        return f"unrolled {run} ({_counted(node.count, 'iteration')}){f', by {node.word}' if node.word else ''}"
    count = f"{_counted(node.count, 'vector')} of {node.lanes}" if node.lanes != 1 else _counted(node.count, "iteration")
    limit = "" if node.limit is None else f", {quoted(node.var)} <= {integers.text(node.limit)}"
    return f"together {run} ({count}){', scans' if node.scans else ''}{', in order' if node.in_order else ''}{limit}"


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def _bound(op: str, values: tuple[Affine, ...]) -> str:
    """Returns the text of a loop's bound.

    op: "max" for a lower bound, "min" for an upper one.
    """
    return integers.text(values[0]) if len(values) == 1 else f"{op}{_listed(values)}"


def _marks(node: Loop) -> str:
    """Returns the text that follows the bounds in a loop's line: its other fields that are not their defaults."""
    words = ", ".join(node.directives.words())
    marks = [
        "parallel" if node.parallel else "",
        node.role if node.role != ROLES[0] else "",
        _names("private", node.private),
        _names("partial", node.partial),
        f"ends at {quoted(node.last)}" if node.last else "",
        f"resumes {quoted(node.resumes)}" if node.resumes else "",
        f"as {quoted(node.name)}" if node.name else "",
        f"asks {string(words)}" if words else "",
    ]
    return "".join(f", {mark}" for mark in marks if mark)


def _names(word: str, names: tuple[str, ...]) -> str:
    return f"{word}({', '.join(map(quoted, names))})" if names else ""
