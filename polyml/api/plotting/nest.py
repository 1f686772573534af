"""Pictures of nests: what polyml.plot draws of instances, dependences, orders and tiles, for sizes that are checked."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from polyml import polyhedra
from polyml.api.decorator import Kernel
from polyml.drawing.svg import Svg
from polyml.errors import ConfigError, PolymlTypeError
from polyml.model.core.reductions import relaxed_validity
from polyml.model.core.scop import Scop
from polyml.pictures.nest_svg import nest_svg
from polyml.pictures.nest_values import DEPENDENCES, DOMAIN
from polyml.pictures.nests import Nest, nest_picture, parameters
from polyml.polyhedra.parameters import fix
from polyml.reading.input_limits import shown
from polyml.schedule.replay.nests import Order, order_of
from polyml.schedule.script.schedule import Schedule
from polyml.schedule.tree import loop_tree

_OF_SOURCE = (DOMAIN, DEPENDENCES)  # for which a kernel is drawn in the source's order, in place of its schedule
USUAL = 6  # of a size for which none is given
MOST_INSTANCES = 100_000  # that are looked at
_MOST_SIZE = 1_000_000


def drawn(of: object, what: str, sizes: Mapping[str, int]) -> Svg:
    """Returns the picture of a kernel or a schedule. what: one of `nest_values.SUBJECTS`. Raises what `polyml.plot` raises."""
    schedule = as_schedule(of, is_source=what in _OF_SOURCE)
    with schedule.problem.alone():
        return nest_svg(nest_picture(nest_of(schedule, sizes), order(schedule), what))


def nest_of(schedule: Schedule, sizes: Mapping[str, int]) -> Nest:
    """Returns the nest of a schedule for some sizes, which are checked."""
    problem = schedule.problem
    values = checked_sizes(problem.scop, sizes)
    validity = relaxed_validity(problem.dependences, problem.scop, problem.reductions)
    return Nest(problem.scop, validity, values)


def order(schedule: Schedule) -> Order:
    """Returns the order that a schedule gives to the instances of its kernel."""
    scop = schedule.problem.scop
    return order_of(loop_tree.read(schedule.tree, scop.statements), scop)


def as_schedule(of: object, is_source: bool) -> Schedule:
    """Returns the schedule that is drawn: of a kernel the one of its last call, or the source's order. Raises PolymlTypeError for other objects.

    is_source: whether a kernel is drawn in the source's order.
    """
    if isinstance(of, Kernel):
        return of.schedule("source") if is_source else of.schedule()
    if not isinstance(of, Schedule):
        notes = ["expected a kernel, or what its method `schedule` returns"]
        raise PolymlTypeError(f"polyml.plot draws no {type(of).__name__}", notes=notes)
    return of


def checked_sizes(scop: Scop, given: Mapping[str, int], usual: int = USUAL, most: int = MOST_INSTANCES) -> dict[str, int]:
    """Returns a value for each size. Raises ConfigError for others, and for values with which a statement has too many instances.

    usual: the value of a size for which none is given.
    most: how many instances a statement may have.
    """
    known = parameters(scop)
    for name, value in given.items():
        if name not in known:
            raise ConfigError(f"there is no size {shown(name)}", notes=[f"sizes: {', '.join(known) or 'none'}"])
        if type(value) is not int or not 0 <= value <= _MOST_SIZE:
            raise ConfigError(f"{name} is an integer from 0 to {_MOST_SIZE:,}, not {shown(value)}")
    values = {name: given.get(name, usual) for name in known}
    for statement in scop.statements.values():
        domain = fix(statement.domain, values).project_out_all_params()
        sides = [] if domain.is_empty() else polyhedra.ranges(domain)
        if prod(high - low + 1 for low, high in sides) > most:
            told = ", ".join(f"{name} = {value}" for name, value in values.items())
            raise ConfigError(f"{statement.name} has too many instances for {told}", notes=["sizes of 4 to 40 can be seen"])
    return values
