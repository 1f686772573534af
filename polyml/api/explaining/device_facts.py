"""What remarks on kernels for GPUs and systolic arrays are found from."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polyml.model.nest_passes.changes import NestChange
    from polyml.remarks.devices.systolic import ArrayFacts, ArrayPlace
    from polyml.remarks.facts import OrderFacts
    from polyml.schedule.script.schedule import Schedule
    from polyml.systolic.mapping.dataflows import Plan
    from polyml.systolic.simulate import ArraySimulation


def gpu_facts(schedule: Schedule, changes: tuple[NestChange, ...] = ()) -> OrderFacts:
    """Returns what is known of a kernel for a GPU, from its schedule with the mapping in marks.

    changes: what was done with arrays before there were dependences.
    """
    from polyml.remarks.facts import OrderFacts

    problem = schedule.problem
    return OrderFacts(problem.scop, problem.dependences, schedule.tree, problem.reductions, changes=changes)


def array_facts(source: Schedule, simulation: ArraySimulation, changes: tuple[NestChange, ...]) -> ArrayFacts:
    """Returns what is known of a simulated call.

    source: the schedule of the source's order.
    changes: what was done with arrays before there were dependences.
    """
    from polyml.remarks.devices.systolic import ArrayFacts

    problem = source.problem
    places = tuple(place for run in simulation.runs for place in _places(run.plan))
    return ArrayFacts(problem.scop, problem.dependences, source.tree, problem.reductions, places, changes=changes)


def _places(plan: Plan) -> list[ArrayPlace]:
    """Returns where and when a plan runs the statements of its nest."""
    from polyml.remarks.devices.systolic import ArrayPlace

    recurrence, found = plan.recurrence, []
    nest = recurrence.nest
    for embedding in nest.embeddings:
        name = embedding.statement.name
        axes = [coefficients for coefficients, _ in recurrence.coordinates(name)]
        time, *space = (
            _used([sum(c * axis[k] for c, axis in zip(row, axes)) for k in range(len(axes[0]))]) for row in plan.mapping.rows
        )
        outer = {position for loop in recurrence.outer for position in _used(embedding.rows[loop])}
        found.append(ArrayPlace(nest.origins.get(name, name), tuple(sorted(outer)), time, tuple(space), plan.folds.number))
    return found


def _used(coefficients: list[int] | tuple[int, ...]) -> tuple[int, ...]:
    return tuple(position for position, each in enumerate(coefficients) if each)
