"""Schedule tree -> Program, by isl's AST generator, whose loops are taken where they are proved to run the schedule.

Grosser, Verdoolaege, Cohen: "Polyhedral AST generation is more than scanning polyhedra", ACM TOPLAS 37(4), 2015.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import islpy as isl

from polyml.codegen.astgen.marks import Marked
from polyml.codegen.astgen.scan import scan
from polyml.codegen.astgen.tile_loops import apart
from polyml.codegen.astgen.translation_validation import is_proved
from polyml.codegen.ir.program import Guard, Instance, Loop, Node, Program, substitute, with_body
from polyml.model.core.reductions import Reduction
from polyml.model.core.scop import Scop
from polyml.polyhedra import CONTEXT, BudgetExceeded, budget, set_names
from polyml.quasi_affine.affine import negate, operands
from polyml.quasi_affine.from_isl import condition_of_ast, integer_of_ast
from polyml.schedule.affine.scheduler import components

_OP = isl.ast_expr_op_type
MOST_LOOPS = 24  # around each other inside a tile
OPERATIONS = 300_000  # of isl for the loops of one component, and OPERATIONS_PER_STATEMENT: twice what PolyBench needs
OPERATIONS_PER_STATEMENT = 60_000
LAST_OPERATIONS = 1_500_000  # where a scan takes no such tree either
UNPROVED = "the loops that isl makes are not proved to run the schedule"


def build(scop: Scop, schedule: isl.Schedule, reductions: dict[str, Reduction] | None = None) -> Program:
    """The loops that run `schedule`, under the scop's context."""
    nodes = tuple(n for part in components(schedule) for n in nodes_of(part, scop.checked))
    return Program(scop, nodes, reductions or {})


def nodes_of(schedule: isl.Schedule, context: isl.Set) -> Sequence[Node]:
    """The loops that run a component of a schedule. context: facts about parameters. Raises BudgetExceeded without any."""
    simple = scan(schedule, context)
    if simple is not None:
        return simple
    return _not_simple(_Component(str(schedule), str(context), schedule, context))


@dataclass(frozen=True)
class _Component:
    """A part of a schedule on its own, known by its text. context: facts about parameters."""

    schedule_text: str
    context_text: str
    schedule: isl.Schedule = field(compare=False)
    context: isl.Set = field(compare=False)


def _not_simple(part: _Component) -> tuple[Node, ...]:
    """isl's loops, which have fewer tests than those of a scan where domains are not plain conjunctions; but for tiles of tiles,
    and tiles that lean, it may take seconds to hours to make them, and those of strided domains in such tiles may be wrong.
    """
    made = _once(part)
    if isinstance(made, str):
        raise BudgetExceeded(made)
    return made


@lru_cache(maxsize=64)  # a script's next step leaves most parts as they are
def _once(part: _Component) -> tuple[Node, ...] | str:
    """The loops, or why there are none."""
    first = _proved(part, OPERATIONS + OPERATIONS_PER_STATEMENT * len(set_names(part.schedule.get_domain())))
    if not isinstance(first, str):
        return first
    scanned = scan(part.schedule, part.context, every=True)
    if scanned is not None:
        return tuple(scanned)
    return first if first == UNPROVED else _proved(part, LAST_OPERATIONS)


def _proved(part: _Component, operations: int) -> tuple[Node, ...] | str:
    """isl's loops where they are proved to be right, or why there are none."""
    try:
        with budget(operations):
            made = tuple(of_isl(part.schedule, part.context))
        with budget(operations):
            return made if is_proved(part.schedule, part.context, made) else UNPROVED
    except BudgetExceeded as exceeded:
        return str(exceeded)


def of_isl(schedule: isl.Schedule, context: isl.Set) -> list[Node]:
    """isl's loops, right or wrong."""
    found = apart(schedule, context)
    if found is None:
        return _nodes(isl.AstBuild.from_context(context).node_from_schedule(schedule), Marked())
    outer = _nodes(isl.AstBuild.from_context(context).node_from_schedule(found.outer), Marked())
    tile = isl.AstBuild.from_context(context.intersect(found.tiles)).set_iterators(_iterators(len(found.names)))
    inner = _nodes(tile.node_from_schedule(found.inner), Marked())
    return [n for node in outer for n in _with_tile(node, found.names, inner)]


def _iterators(first: int) -> isl.IdList:
    """Names of loops inside so many others."""
    found = isl.IdList.alloc(CONTEXT, MOST_LOOPS)
    for k in range(first, first + MOST_LOOPS):
        found = found.add(isl.Id(f"c{k}"))
    return found


def _with_tile(node: Node, names: tuple[str, ...], inner: list[Node]) -> list[Node]:
    """The loops over tiles around those inside one."""
    if isinstance(node, Instance):
        return [substitute(n, dict(zip(names, node.point))) for n in inner]
    return [with_body(node, tuple(n for child in node.body for n in _with_tile(child, names, inner)))]


def _nodes(node: isl.AstNode, role: Marked) -> list[Node]:
    kind = node.get_type()
    if kind == isl.ast_node_type.block:
        children = node.block_get_children()
        return [n for i in range(children.n_ast_node()) for n in _nodes(children.get_at(i), role)]
    if kind == isl.ast_node_type.mark:
        return _nodes(node.mark_get_node(), role.under(node.mark_get_id().get_name()))
    if kind == isl.ast_node_type.if_:
        condition = condition_of_ast(node.if_get_cond())
        then = Guard(condition, tuple(_nodes(node.if_get_then_node(), role)))
        if not node.if_has_else_node():
            return [then]
        return [then, Guard(negate(condition), tuple(_nodes(node.if_get_else_node(), role)))]
    if kind == isl.ast_node_type.for_:
        return _loop(node, role)
    expr = node.user_get_expr()
    name = expr.get_op_arg(0).get_id().get_name()
    return [Instance(name, tuple(integer_of_ast(expr.get_op_arg(i)) for i in range(1, expr.get_op_n_arg())))]


def _loop(node: isl.AstNode, role: Marked) -> list[Node]:
    name = node.for_get_iterator().get_id().get_name()
    start = integer_of_ast(node.for_get_init())
    body = tuple(_nodes(node.for_get_body(), role.inside()))
    if node.for_is_degenerate():
        return [substitute(n, {name: start}) for n in body]
    bound = node.for_get_cond()
    limit = integer_of_ast(bound.get_op_arg(1))
    if bound.get_op_type() == _OP.lt:
        limit = limit - 1
    step = node.for_get_inc().get_val().to_python()
    lower, upper = operands("max", start), operands("min", limit)
    return [
        Loop(
            name,
            lower,
            upper,
            step,
            body,
            role.parallel,
            role.role,
            partial=role.partial,
            name=role.name,
            directives=role.directives,
        )
    ]
