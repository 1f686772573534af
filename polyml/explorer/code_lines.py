"""Generated code line by line, with what each line stands for: statements, and loops by the names that they have in the schedule."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from polyml.codegen.ir.printer import marked_lines
from polyml.codegen.ir.program import Instance, Loop, Program, instances
from polyml.codegen.llvm.builder import Run, Unit
from polyml.schedule.script.transforms import addresses
from polyml.schedule.tree import loop_tree

Address = Callable[[str, Iterable[str]], str]


@dataclass(frozen=True)
class CodeLines:
    """A CodeLines is a piece of code of one or more lines, with what it stands for.

    statements: names of statements of the source that run in it.
    loops: loops of the schedule that it belongs to, by the names that scripts have for them.
    """

    text: str
    statements: tuple[str, ...] = ()
    loops: tuple[str, ...] = ()


def program_lines(program: Program, tree: loop_tree.Node) -> list[CodeLines]:
    """Returns the lines of a program. tree: the schedule that it was made of."""
    known, address = loop_tree.statements(tree), addressing(tree)
    found = []
    for text, path in marked_lines(program):
        node = path[-1] if path else None
        run = [i.statement for i in instances((node,))] if node is not None else []
        names = tuple(dict.fromkeys(_origins(run, known)))
        around = [n.name for n in path if isinstance(n, Loop) and n.name]
        loops = tuple(dict.fromkeys(filter(None, (address(each, names) for each in around))))
        found.append(CodeLines(text, names if isinstance(node, Instance) else (), loops))
    return found


def llvm_pieces(units: Sequence[Unit], head: str, tree: loop_tree.Node) -> list[CodeLines]:
    """Returns the LLVM text of a kernel, cut at its basic blocks.

    head: the whole text, of which the declarations are taken.
    tree: the schedule that it was made of.
    """
    known, address = loop_tree.statements(tree), addressing(tree)
    bodies = "\n".join(unit.definition for unit in units)
    found = [CodeLines(head[: head.index(bodies)].rstrip("\n"))]
    for unit in units:
        for label, text in _blocks(unit.definition):
            runs: list[Run] = sorted(unit.runs.get(label, ()))
            statements = tuple(dict.fromkeys(_origins((name for name, _ in runs), known)))
            loops = dict.fromkeys(address(each, _origins([name], known)) for name, around in runs for each in around if each)
            found.append(CodeLines(text, statements, tuple(filter(None, loops))))
    return [piece for piece in found if piece.text]


def addressing(tree: loop_tree.Node) -> Address:
    """Returns a function from a loop's own name and the statements in it to the name that scripts have for it; "" for no such loop."""
    found = [(loop.name, {*loop_tree.statements(loop)}, name) for (_, loop), name in zip(loop_tree.loops(tree), addresses(tree))]

    def address(name: str, statements: Iterable[str]) -> str:
        inside = {*statements}
        return next((full for own, around, full in found if own == name and inside <= around and inside), "")

    return address


def _origins(names: Iterable[str], known: Sequence[str]) -> Iterator[str]:
    """Yields the statements of the schedule that statements of the code were made of: `S1_from_A_tile0` of S1, `fill_A_tile0` of none."""
    for name in names:
        origin = next((each for each in known if name == each or name.startswith(f"{each}_from_")), None)
        if origin is not None:
            yield origin


def _blocks(definition: str) -> Iterator[tuple[str, str]]:
    """Yields the basic blocks of a function's text, each with its label; the first one has the function's head too."""
    label, lines = "", list[str]()
    for line in definition.split("\n"):
        if line.endswith(":") and not line.startswith(" ") and label:
            yield label, "\n".join(lines)
            lines = []
        if line.endswith(":") and not line.startswith(" "):
            label = line[:-1]
        lines.append(line)
    yield label, "\n".join(lines)
