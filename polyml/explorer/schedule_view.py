"""What a page shows of one schedule, as data for JSON: its loops, its tree, its instances for some sizes, its code, its text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from polyml.codegen.ir.program import Program
from polyml.codegen.llvm import builder
from polyml.errors import ScheduleError
from polyml.explorer import code_lines, placing, source_marks
from polyml.explorer.placing import Point
from polyml.model.core.printer import statement_text
from polyml.model.core.scop import Scop
from polyml.schedule.script import printer
from polyml.schedule.script.schedule import Schedule
from polyml.schedule.script.transforms import addresses
from polyml.schedule.tree import loop_tree

Data = dict[str, object]


@dataclass(frozen=True)
class Sized:
    """A Sized has the points of each statement for some sizes, which pictures are drawn for."""

    sizes: Mapping[str, int]
    points: Mapping[str, list[Point]]


def view(schedule: Schedule, sized: Sequence[Sized], with_code: bool) -> Data:
    """Returns what a page shows of a schedule, as data for JSON.

    sized: the points to place, for each choice of sizes.
    with_code: whether code is generated; it is not for a schedule that is not legal.
    """
    tree, problem = schedule.loops, schedule.problem
    with problem.alone():
        scop = problem.scop
        found: Data = {
            "loops": [*_loops(scop, tree)],
            "tree": _tree(scop, tree, dict(zip((path for path, _ in loop_tree.loops(tree)), addresses(tree)))),
            "placed": [_placed(schedule, tree, each) for each in sized],
            "script": schedule.text,
        }
        return {**found, **_code(schedule, tree)} if with_code else found


def _loops(scop: Scop, tree: loop_tree.Node) -> Iterator[Data]:
    """Yields the loops of a schedule: names in scripts, names of their own, what they count, directives, statements, lines of the source."""
    source = source_marks.source_of(scop)
    found = [*loop_tree.loops(tree)]
    lines = source_marks.lines_of_loops(scop, source, tree) if source is not None else [()] * len(found)
    for (_, loop), address, made_of in zip(found, addresses(tree), lines):
        yield {
            "address": address,
            "name": loop.name,
            "text": f"{loop.name}{printer.counts(scop, loop)}",
            "tile": loop.directives.tile,
            "directives": loop.directives.words(),
            "statements": loop_tree.statements(loop),
            "lines": made_of,
        }


def _tree(scop: Scop, node: loop_tree.Node, names: Mapping[loop_tree.Path, str], path: loop_tree.Path = ()) -> Data:
    """Returns a schedule tree as nested dictionaries. names: of the loops, by their paths."""
    if isinstance(node, loop_tree.Leaf):
        texts = {name: statement_text(scop.statements[name]) for name in node.statements}
        heads = {name: f"{name}[{', '.join(scop.statements[name].iterators)}]" for name in node.statements}
        return {"node": "leaf", "statements": [{"name": n, "head": heads[n], "text": texts[n]} for n in node.statements]}
    inside = [_tree(scop, child, names, (*path, k)) for k, child in enumerate(loop_tree.children(node))]
    if isinstance(node, loop_tree.Loop):
        return {"node": "loop", "address": names[path], "children": inside}
    return {"node": "sequence", "conditions": printer.conditions(scop, node), "children": inside}


def _placed(schedule: Schedule, tree: loop_tree.Node, sized: Sized) -> list[Data]:
    """Returns for each leaf its points, as their positions among those of the statement, the values of the loops around them, one
    point after the other, and their places in the order.
    """
    found: list[Data] = []
    for each in placing.placed(schedule.problem.scop, schedule.tree, tree, sized.sizes):
        numbers = {point: number for number, point in enumerate(sized.points[each.statement])}
        found.append(
            {
                "statement": each.statement,
                "loops": each.loops,
                "points": [numbers[point] for point in each.points],
                "values": [value for point in each.values for value in point],
                "times": each.times,
            }
        )
    return found


def _code(schedule: Schedule, tree: loop_tree.Node) -> Data:
    """Returns the loops and the LLVM text that are generated for a schedule; or why there are none."""
    try:
        made = schedule.problem.generate(schedule.tree)
    except ScheduleError as refused:
        return {"code": {"none": refused.message}}
    program, units = getattr(made, "program", None), getattr(made, "units", ())
    assert isinstance(program, Program), "code for a processor has a program"
    pieces = code_lines.llvm_pieces(units, builder.text(units), tree)
    return {"code": {"ast": [*map(_piece, code_lines.program_lines(program, tree))], "llvm": [*map(_piece, pieces)]}}


def _piece(piece: code_lines.CodeLines) -> list[object]:
    return [piece.text, piece.statements, piece.loops]
