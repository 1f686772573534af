"""Values for all sizes of a call, of which a user gives some: those of arrays too, on which no loop depends."""

from __future__ import annotations

from collections.abc import Mapping

import islpy as isl

from polyml import polyhedra
from polyml.api.plotting.nest import MOST_INSTANCES, USUAL, checked_sizes
from polyml.errors import ConfigError
from polyml.model.core.scop import Scop
from polyml.pictures.nests import parameters
from polyml.polyhedra.parameters import fix
from polyml.reading.input_limits import shown


def call_sizes(scop: Scop, given: Mapping[str, int], usual: int = USUAL, most: int = MOST_INSTANCES) -> dict[str, int]:
    """Returns a value for each size of a call: of those that loops depend on, the given or usual ones, of others the least that calls may have.

    usual: the value of a size for which none is given; where there would be too many instances, a half of it, a quarter and so on.
    most: how many instances a statement may have.
    Raises ConfigError for sizes that there are not, for too many instances, and for sizes that no call may have.
    """
    names = [each.name for each in scop.parameters]
    other = next((name for name in given if name not in names), None)
    if other is not None:
        raise ConfigError(f"there is no size {shown(other)}", notes=[f"sizes: {', '.join(names) or 'none'}"])
    of_loops = parameters(scop)
    values = _of_loops(scop, {name: value for name, value in given.items() if name in of_loops}, usual, most)
    values |= {name: value for name, value in given.items() if name not in of_loops}
    valid = scop.checked
    for check in scop.checks:
        valid = valid.subtract(check.violated)
    possible = fix(valid, values)
    if possible.is_empty():
        broken = next((each.what for each in scop.checks if not fix(each.violated, values).is_empty()), "a check at entry")
        told = ", ".join(f"{name} = {value}" for name, value in values.items())
        raise ConfigError(f"no call may have {told}", notes=[f"it would be refused: {broken}"])
    least = polyhedra.witness(isl.Set.from_params(possible))
    found = dict(least.sizes) if least is not None else {}
    return {name: values.get(name, found.get(name, 0)) for name in names}


def _of_loops(scop: Scop, given: Mapping[str, int], usual: int, most: int) -> dict[str, int]:
    """Returns a value for each size that loops depend on, as `call_sizes` says."""
    try:
        return checked_sizes(scop, given, usual, most)
    except ConfigError:
        if usual <= USUAL or len(given) == len(parameters(scop)):
            raise
        return _of_loops(scop, given, usual // 2, most)
