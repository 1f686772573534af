"""Statements at the edge of an array: they make one value from another as it comes or goes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from polyml import polyhedra
from polyml.model.counting.lattice_points import affine, inside, lattice, row_value
from polyml.systolic.program.fold_program import cell, element
from polyml.systolic.program.interface import Between
from polyml.systolic.simulate.buffers import Memories
from polyml.systolic.simulate.numpy_values import evaluator


def run(between: Between, name: str, memories: Memories, arguments: Mapping[str, object]) -> None:
    """All instances, none of which uses what another one makes."""
    scop, sizes = between.scop, between.sizes
    statement, points = scop.statements[name], lattice(between.domain(name))
    each = cell(scop, statement)
    registers = [_read(between, name, read, points, memories) for read in range(len(statement.reads))]
    for index in each.indices:
        numbers = np.zeros(len(points), np.int64)
        for where, row, divisor in polyhedra.rows_by_piece(index.value):
            here = inside(polyhedra.at_sizes(where, sizes), points)
            numbers[here] = row_value(row, points[here], sizes) // divisor
        registers.append(numbers)
    made = np.zeros(len(points), memories["array", statement.write.array].dtype)
    with np.errstate(all="ignore"):
        evaluator(each, arguments, len(points))(registers, made)
    if any(not used.is_empty() for used in between.used_elsewhere(name)):
        memories["made", name][affine(*between.instance(name), points)] = made
    kept = slice(None) if between.is_live(name) else inside(between.last[name], points)
    memories["array", statement.write.array][affine(*element(scop, statement.write, sizes), points[kept])] = made[kept]


def _read(between: Between, name: str, read: int, points: np.ndarray, memories: Memories) -> np.ndarray:
    access = between.scop.statements[name].reads[read]
    elements = affine(*element(between.scop, access, between.sizes), points)
    values = memories["initial", access.array][elements]
    numbers = {tuple(point): number for number, point in enumerate(points.tolist())} if between.makers[name, read] else {}
    for maker, pairs in between.makers[name, read].items():
        made, used = np.split(lattice(polyhedra.flat(pairs)), [len(between.scop.statements[maker].iterators)], axis=1)
        here = [numbers[tuple(point)] for point in used.tolist()]
        if maker in between.sums:
            values[here] = memories["array", access.array][elements[here]]
        else:
            values[here] = memories["made", maker][affine(*between.instance(maker), made)]
    return values
