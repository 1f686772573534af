"""Schedule tree -> Program, by isl's AST generator, whose loops are taken where they are proved to run the schedule.

Grosser, Verdoolaege, Cohen: "Polyhedral AST generation is more than scanning polyhedra", ACM TOPLAS 37(4), 2015.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import islpy as isl

from polyml.codegen.astgen.marks import LoopMarks
from polyml.codegen.astgen.scan import scan
from polyml.codegen.astgen.tile_loops import tile_loops
from polyml.codegen.astgen.translation_validation import is_proved
from polyml.codegen.ir.block_quotients import straight
from polyml.codegen.ir.program import Guard, Instance, Loop, Node, Program, substitute, with_body
from polyml.model.core.reductions import Reduction
from polyml.model.core.scop import Scop
from polyml.polyhedra import CONTEXT, BudgetExceeded, budget, set_names
from polyml.quasi_affine.affine import negate, operands
from polyml.quasi_affine.from_isl import condition_of_ast, integer_of_ast
from polyml.schedule.affine.scheduler import components

_OP = isl.ast_expr_op_type
_IF, _FOR = (getattr(isl.ast_node_type, name) for name in ("if_", "for_"))  # which islpy's types leave out
MOST_LOOPS = 24  # around each other inside a tile
OPERATIONS = 300_000  # of isl for the loops of one component, and OPERATIONS_PER_STATEMENT: twice what PolyBench needs
OPERATIONS_PER_STATEMENT = 60_000
LAST_OPERATIONS = 1_500_000  # where a scan takes no such tree either
UNPROVED = "the loops that isl makes are not proved to run the schedule"


def build(scop: Scop, schedule: isl.Schedule, reductions: dict[str, Reduction] | None = None) -> Program:
    """Returns the Program that runs a schedule, for parameters in the SCoP's context. Raises BudgetExceeded where no loops are
    found.

    reductions: by statement, the updates whose order is free.
    """
    nodes = tuple(n for part in components(schedule) for n in nodes_of(part, scop.checked))
    return Program(scop, straight(nodes), reductions or {})


def nodes_of(schedule: isl.Schedule, context: isl.Set) -> Sequence[Node]:
    """Returns the loops that run a schedule, which may be one component of a larger one (a child of its outermost sequence). Raises
    BudgetExceeded where none are found.

    context: constraints on the parameters.
    """
    simple = scan(schedule, context)
    if simple is not None:
        return simple
    return _loops_of_isl(_ScheduledPart(str(schedule), str(context), schedule, context))


@dataclass(frozen=True)
class _ScheduledPart:
    """A schedule, mostly a component of a larger one (a child of its outermost sequence). It compares and hashes by its text and
    that of its context, to be the key of a cache.

    context: constraints on the parameters.
    """

    schedule_text: str
    context_text: str
    schedule: isl.Schedule = field(compare=False)
    context: isl.Set = field(compare=False)


def _loops_of_isl(part: _ScheduledPart) -> tuple[Node, ...]:
    """Returns the loops for a component: isl's if they are proved to be right, else those that polyml makes itself (`scan`). Raises
    BudgetExceeded where neither finds loops.

    isl's loops have fewer tests where domains are not plain conjunctions; but for tiles of tiles, and skewed tiles, it may take
    seconds to hours to make them, and those of strided domains in such tiles may be wrong.
    """
    made = _once(part)
    if isinstance(made, str):
        raise BudgetExceeded(made)
    return made


@lru_cache(maxsize=64)  # a script's next step leaves most parts as they are
def _once(part: _ScheduledPart) -> tuple[Node, ...] | str:
    """Returns the loops of a component, which isl's generator or else polyml's own (`scan`) makes; where neither finds loops,
    returns the reason as a text. Results are cached.
    """
    first = _proved(part, OPERATIONS + OPERATIONS_PER_STATEMENT * len(set_names(part.schedule.get_domain())))
    if not isinstance(first, str):
        return first
    scanned = scan(part.schedule, part.context, every=True)
    if scanned is not None:
        return tuple(scanned)
    return first if first == UNPROVED else _proved(part, LAST_OPERATIONS)


def _proved(part: _ScheduledPart, operations: int) -> tuple[Node, ...] | str:
    """Returns isl's loops for a component, or, where they are not proved to be right, the reason as a text.

    operations: how many operations isl may spend on making the loops, and again on proving them.
    """
    try:
        with budget(operations):
            made = tuple(of_isl(part.schedule, part.context))
        with budget(operations):
            return made if is_proved(part.schedule, part.context, made) else UNPROVED
    except BudgetExceeded as exceeded:
        return str(exceeded)


def of_isl(schedule: isl.Schedule, context: isl.Set) -> list[Node]:
    """Returns the loops that isl's generator makes for a schedule, which are not checked: they may be wrong.

    context: constraints on the parameters.
    """
    found = tile_loops(schedule, context)
    if found is None:
        return _nodes(isl.AstBuild.from_context(context).node_from_schedule(schedule), LoopMarks())
    outer = _nodes(isl.AstBuild.from_context(context).node_from_schedule(found.outer), LoopMarks())
    tile = isl.AstBuild.from_context(context.intersect(found.tiles)).set_iterators(_iterators(len(found.names)))
    inner = _nodes(tile.node_from_schedule(found.inner), LoopMarks())
    return [n for node in outer for n in _with_tile(node, found.names, inner)]


def _iterators(first: int) -> isl.IdList:
    """Returns names for the variables of nested loops inside of `first` other loops: c and the number of loops around, as in c2.
    There are names for MOST_LOOPS (24) loops.
    """
    found = isl.IdList.alloc(CONTEXT, MOST_LOOPS)
    for k in range(first, first + MOST_LOOPS):
        found = found.add(isl.Id(f"c{k}"))
    return found


def _with_tile(node: Node, names: tuple[str, ...], inner: list[Node]) -> list[Node]:
    """Returns a node of the loops over tiles, with each instance TILE[...] in it, which stands for a whole tile, replaced by the
    loops inside that tile.

    names: the parameters in `inner` that stand for the tile's position.
    inner: the loops inside a tile.
    """
    if isinstance(node, Instance):
        return [substitute(n, dict(zip(names, node.point))) for n in inner]
    return [with_body(node, tuple(n for child in node.body for n in _with_tile(child, names, inner)))]


def _nodes(node: isl.AstNode, marks: LoopMarks) -> list[Node]:
    """Returns a node of isl's AST as nodes of a Program.

    marks: the marks of the schedule tree above the node.
    """
    kind = node.get_type()
    if kind == isl.ast_node_type.block:
        children = node.block_get_children()
        return [n for i in range(children.n_ast_node()) for n in _nodes(children.get_at(i), marks)]
    if kind == isl.ast_node_type.mark:
        return _nodes(node.mark_get_node(), marks.under(node.mark_get_id().get_name()))
    if kind == _IF:
        condition = condition_of_ast(node.if_get_cond())
        then = Guard(condition, tuple(_nodes(node.if_get_then_node(), marks)))
        if not node.if_has_else_node():
            return [then]
        return [then, Guard(negate(condition), tuple(_nodes(node.if_get_else_node(), marks)))]
    if kind == _FOR:
        return _loop(node, marks)
    expr = node.user_get_expr()
    name = expr.get_op_arg(0).get_id().get_name()
    return [Instance(name, tuple(integer_of_ast(expr.get_op_arg(i)) for i in range(1, expr.get_op_n_arg())))]


def _loop(node: isl.AstNode, marks: LoopMarks) -> list[Node]:
    """Returns a `for` node of isl's AST as a loop of a Program, or as its body where it has one iteration.

    marks: the marks of the schedule tree above the node.
    """
    name = node.for_get_iterator().get_id().get_name()
    start = integer_of_ast(node.for_get_init())
    body = tuple(_nodes(node.for_get_body(), marks.inside()))
    if node.for_is_degenerate():
        return [substitute(n, {name: start}) for n in body]
    bound = node.for_get_cond()
    limit = integer_of_ast(bound.get_op_arg(1))
    if bound.get_op_type() == _OP.lt:
        limit = limit - 1
    step = node.for_get_inc().get_val().to_python()
    lower, upper = operands("max", start), operands("min", limit)
    return [marks.marked(Loop(name, lower, upper, step, body))]
