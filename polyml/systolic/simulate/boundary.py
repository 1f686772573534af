"""Statements at the boundary of an array make one value from another as it comes or goes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from polyml import polyhedra
from polyml.model.counting.lattice_points import affine, inside, lattice, row_value
from polyml.systolic.program.fold_program import datapath, element
from polyml.systolic.program.interface import NestInterface
from polyml.systolic.simulate.buffers import Memories
from polyml.systolic.simulate.numpy_values import evaluator


def run(interface: NestInterface, name: str, memories: Memories, arguments: Mapping[str, object]) -> None:
    """Runs all instances of the named statement, and stores their values in `memories`. No instance of this statement may use a
    value that another one of its instances makes.
    """
    scop, sizes = interface.scop, interface.sizes
    statement, points = scop.statements[name], lattice(interface.domain(name))
    each = datapath(scop, statement)
    registers = [_read(interface, name, read, points, memories) for read in range(len(statement.reads))]
    for index in each.indices:
        numbers = np.zeros(len(points), np.int64)
        for where, row, divisor in polyhedra.rows_by_piece(index.value):
            here = inside(polyhedra.at_sizes(where, sizes), points)
            numbers[here] = row_value(row, points[here], sizes) // divisor
        registers.append(numbers)
    made = np.zeros(len(points), memories["array", statement.write.array].dtype)
    with np.errstate(all="ignore"):
        evaluator(each, arguments, len(points))(registers, made)
    if any(not used.is_empty() for used in interface.used_elsewhere(name)):
        memories["produced", name][affine(*interface.instance(name), points)] = made
    kept = slice(None) if interface.is_accumulated(name) else inside(interface.last_writers[name], points)
    memories["array", statement.write.array][affine(*element(scop, statement.write, sizes), points[kept])] = made[kept]


def _read(interface: NestInterface, name: str, read: int, points: np.ndarray, memories: Memories) -> np.ndarray:
    """Returns the values that the instances of a statement get by one of its reads.

    points: the values of the iterators, a row for each instance.
    """
    access = interface.scop.statements[name].reads[read]
    elements = affine(*element(interface.scop, access, interface.sizes), points)
    values = memories["initial", access.array][elements]
    numbers = {tuple(point): number for number, point in enumerate(points.tolist())} if interface.producers[name, read] else {}
    for producer, pairs in interface.producers[name, read].items():
        made, used = np.split(lattice(polyhedra.flat(pairs)), [len(interface.scop.statements[producer].iterators)], axis=1)
        here = [numbers[tuple(point)] for point in used.tolist()]
        if producer in interface.sums:
            values[here] = memories["array", access.array][elements[here]]
        else:
            values[here] = memories["produced", producer][affine(*interface.instance(producer), made)]
    return values
