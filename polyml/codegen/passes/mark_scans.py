"""Updates that pass a value from one iteration to the next are marked as scans, so that lanes may share them.

    for i: X[i] = X[i - 1] + A[i]        ->        the same, with `scans` = { S: X[i - 1] is what S adds to }

A scan is a prefix sum, or that of another associative operator (Blelloch, "Scans as primitive parallel operations", IEEE Transactions on
Computers 38(11), 1989). Loops stay as they are: `codegen.analysis.scans` asks the marks whether a loop may have lanes.
"""

from __future__ import annotations

from dataclasses import replace

from polyml.codegen.ir.program import Program
from polyml.model.core.reductions import scans
from polyml.model.core.scop import Scop


def mark_scans(program: Program, scop: Scop, fp: str) -> Program:
    """Returns the program with the SCoP's scans (prefix sums) in `Program.scans`.

    scop: the SCoP before passes gave the program more statements.
    fp: as in `Options`; scans of floats need permission to reorder sums.
    """
    return replace(program, scans=scans(scop, fp))
