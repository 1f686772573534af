"""Several orders of one kernel: the steps of a replay, before and after, and the instances one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from polyml.api.plotting.nest import as_schedule, nest_of, order
from polyml.drawing.film import Frame, Pictures, film, order_film, side_by_side
from polyml.model.core.printer import integer_text
from polyml.pictures.nest_svg import nest_svg
from polyml.pictures.nest_values import SCHEDULE, STEP
from polyml.pictures.nests import Nest, nest_picture
from polyml.polyhedra.points import instance_text
from polyml.schedule.replay.decompose import Replay, steps_to
from polyml.schedule.replay.nests import order_of
from polyml.schedule.replay.steps import Insert, Step
from polyml.schedule.tree import loop_tree

_MOST_LABELS = 3  # loops that a step's label tells apart


def drawn(of: object, what: str, sizes: Mapping[str, int]) -> Pictures:
    """Returns pictures of a kernel's or a schedule's order. what: "order", "comparison" or "replay". Raises what `polyml.plot` raises."""
    schedule = as_schedule(of, is_source=False)
    with schedule.problem.alone():
        nest, scop = nest_of(schedule, sizes), schedule.problem.scop
        if what == "order":
            shown = nest_picture(nest, order(schedule), SCHEDULE)
            times = sorted((time, instance) for instance, time in (shown.times or {}).items())
            return order_film(f"Order of {scop.name}", nest_svg(shown), [f"{time}: {instance_text(each)}" for time, each in times])
        if what == "comparison":
            source = order_of(loop_tree.read(scop.schedule, scop.statements), scop)
            pairs = (("before", source), ("after", order(schedule)))
            return side_by_side([nest_svg(replace(nest_picture(nest, each, STEP), caption=name)) for name, each in pairs])
        return film(f"Steps to the schedule of {scop.name}", list(_frames(nest, steps_to(schedule.tree, scop))))


def _frames(nest: Nest, replay: Replay) -> Iterator[Frame]:
    """Yields a frame for the source's order, and one for each step of a replay."""
    count = len(replay.steps)
    labels = ["the source's order", *(f"step {n} of {count}: {_words(step)}" for n, step in enumerate(replay.steps, 1))]
    captions = ["source", *(str(step) for step in replay.steps)]
    for label, caption, each in zip(labels, captions, replay.orders):
        yield Frame(label, nest_svg(replace(nest_picture(nest, each, STEP), caption=caption)))


def _words(step: Step) -> str:
    """Returns a step with the statements whose loops it changes, and the values of loops that it puts around them."""
    values = dict.fromkeys(
        f"{change.level.name} = {integer_text(change.level.value)}"
        for changes in (step.changes or {}).values()
        for change in changes
        if isinstance(change, Insert) and step.kind == "tile"
    )
    told = "; ".join([*values][:_MOST_LABELS]) + ("; ..." if len(values) > _MOST_LABELS else "")
    return f"{step} of {', '.join(step.statements)}{f' ({told})' if told else ''}"
