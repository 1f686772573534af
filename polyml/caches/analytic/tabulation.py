"""Reuse distances that are no linear functions of time, tabulated over the few coordinates that they depend on."""

from __future__ import annotations

from math import prod

import islpy as isl
import numpy as np

from polyml import polyhedra
from polyml.model.counting.batch_evaluation import holds, values
from polyml.model.counting.cardinality import CannotCount, count
from polyml.model.counting.quasi_polynomial import Poly

MOST_CELLS = 4_000_000


def tabulated(region: isl.Set, distance: Poly, deadline: float) -> tuple[np.ndarray, np.ndarray]:
    """Returns (distances, numbers): distances, some of them several times, and how many points of the region have each.

    region: a bounded, nonempty set of parameters.

    Raises CannotCount where the coordinates that the distance depends on have too many values.
    """
    names = sorted(distance.names)
    ranges = [polyhedra.parameter_range(region, name) for name in names]
    if prod(high - low + 1 for low, high in ranges) > MOST_CELLS:
        raise CannotCount("a distance is no linear function of time")
    axes = np.meshgrid(*(np.arange(low, high + 1) for low, high in ranges), indexing="ij", sparse=True)
    cells = dict(zip(names, axes))
    shape = [high - low + 1 for low, high in ranges]
    others = [name for name in polyhedra.parameter_names(region) if name not in names]
    numbers = np.zeros(shape, np.int64)
    for where, number in count(polyhedra.parameters_as_set(region, others), deadline).pieces:
        numbers += np.where(holds(polyhedra.on_parameters(where, names), cells), values(number, cells), 0)
    here = numbers > 0
    return np.broadcast_to(values(distance, cells), shape)[here], numbers[here]
