"""Statements at the edge of an array: they make one value from another as it comes or goes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from polyml import polyhedra
from polyml.codegen.systolic import cell, element
from polyml.model.lattice import affine, inside, lattice, row_value
from polyml.model.scop import Scop, Statement
from polyml.simulate.values import evaluator


def run(
    scop: Scop, statement: Statement, sizes: Mapping[str, int], arrays: Mapping[str, np.ndarray], arguments: Mapping[str, object]
) -> None:
    """All instances, none of which uses what another one makes. arrays: by name, row by row."""
    each, registers = cell(scop, statement), []
    points = lattice(polyhedra.at_sizes(statement.domain, sizes))
    for access in statement.reads:
        registers.append(arrays[access.array][affine(*element(scop, access, sizes), points)])
    for index in each.indices:
        numbers = np.zeros(len(points), np.int64)
        for where, row, divisor in polyhedra.rows_by_piece(index.value):
            here = inside(polyhedra.at_sizes(where, sizes), points)
            numbers[here] = row_value(row, points[here], sizes) // divisor
        registers.append(numbers)
    made = np.zeros(len(points), arrays[statement.write.array].dtype)
    with np.errstate(all="ignore"):
        evaluator(each, arguments, len(points))(registers, made)
    arrays[statement.write.array][affine(*element(scop, statement.write, sizes), points)] = made
