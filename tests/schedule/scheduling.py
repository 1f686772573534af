"""Kernels with their schedules, and what a schedule tree says of each statement."""

from dataclasses import dataclass
from functools import cache

from polyml.frontend.argument_types import arg_type
from polyml.frontend.parsing.parse import parse
from polyml.frontend.types.infer import infer
from polyml.machines import catalogue
from polyml.model.core.dependence import dependences
from polyml.model.scop_passes.scalar_expansion import expand
from polyml.pipeline.stages import extract
from polyml.polyhedra import set_names
from polyml.schedule.compute import ScheduleRequest, compute
from polyml.schedule.tree.bands import NODE, band_of
from tests.model import polybench


@dataclass(frozen=True)
class Modelled:
    scop: object
    dependences: object


@cache
def modelled(name):
    """A kernel of `kernels` as the compiler models it."""
    case = polybench.case(name)
    scop = expand(extract(infer(parse(case.function), tuple(arg_type(v) for v in case.args))))
    return Modelled(scop, dependences(scop))


@cache
def scheduled(name, *, tile=True, parallel=True, cut=True):
    found = modelled(name)
    return compute(
        found.scop, found.dependences, ScheduleRequest(catalogue.processor("avx2"), tile=tile, parallel=parallel, cut=cut)
    )


@dataclass(frozen=True)
class Step:
    """A band on the way to a statement. mark: the last one above it, with no band in between ("" without)."""

    mark: str
    members: tuple[str, ...]
    coincident: tuple[bool, ...]


def path_to(tree, statement):
    """The bands around one statement, outermost first, members as isl text of the statement's own iterators."""
    steps, mark, node = [], "", tree.get_root()
    while node.get_type() != NODE.leaf:
        if node.get_type() == NODE.mark:
            mark = node.mark_get_id().get_name()
        elif node.get_type() == NODE.band:
            band = band_of(node)
            steps.append(Step(mark, tuple(_member(m, statement) for m in band.members), band.coincident))
            mark = ""
        children = [node.child(i) for i in range(node.n_children())]
        node = next(c for c in children if len(children) == 1 or statement in set_names(c.filter_get_filter()))
    return steps


def _member(member, statement):
    """S[i, j] -> [(e)] as "e"."""
    pieces = member.get_pw_aff_list()
    for k in range(pieces.n_pw_aff()):
        piece = pieces.get_at(k)
        if piece.domain().get_tuple_name() == statement:
            text = str(piece)
            return text[text.index("-> [(", text.index("{")) + 5 : text.rindex(")]")]
    raise ValueError(f"{statement} has no time in {member}")


def marks(tree, statement):
    return [step.mark for step in path_to(tree, statement)]
