"""From a Python function to its model, and what a traced run of the same function says."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from polyml.dtypes import F64, PYINT
from polyml.frontend import syntax
from polyml.frontend.argument_types import arg_type
from polyml.frontend.interpreter import trace
from polyml.frontend.parsing.parse import parse
from polyml.frontend.syntax import ArrayType, ScalarType
from polyml.frontend.types.infer import infer
from polyml.model.core.scop import Scop
from polyml.pipeline.stages import extract
from polyml.polyhedra import points

MATRIX, VECTOR, INT = ArrayType(F64, 2), ArrayType(F64, 1), ScalarType(PYINT)


def model(function, *types: syntax.ArgType, **options) -> Scop:
    """The Scop of a function for arguments of the given types."""
    return extract(infer(parse(function), types), **options)


def model_for(function, args: Sequence[object]) -> Scop:
    """The Scop of a function for arguments like `args`."""
    return model(function, *map(arg_type, args))


def sizes_of(scop: Scop, args: Sequence[object]) -> dict[str, int]:
    """The values of a Scop's parameters for a call."""
    given = dict(zip(scop.params, args))
    return {p.name: int(given[p.argument]) if p.array is None else given[p.array].shape[p.dim] for p in scop.parameters}


def line_names(scop: Scop) -> dict[str, int]:
    """Statement -> the line it stands on."""
    return {s.name: s.loc.line for s in scop.statements.values()}


def instances(scop: Scop, sizes: dict[str, int]) -> list[tuple[int, tuple[int, ...]]]:
    """(line, values of the loop variables) of every instance, in no particular order."""
    lines = line_names(scop)
    return [(lines[name], point) for name, point in points(scop.domain, **sizes)]


def pairs(relation, scop: Scop, sizes: dict[str, int]) -> set:
    """A relation between instances, with lines in place of statement names."""
    lines = line_names(scop)
    return {((lines[s], i), (lines[t], j)) for (s, i), (t, j) in points(relation, **sizes)}


def events(function, args: Sequence[object]) -> list[tuple[tuple[int, tuple[int, ...]], tuple, tuple]]:
    """((line, loop variables), cells read, cell written) of every assignment that runs, in order."""
    kernel = parse(function)
    with np.errstate(all="ignore"):
        return [
            ((_at(kernel.body, e.path).loc.line, e.point), e.reads, e.write) for e in trace(kernel, args) if e.write is not None
        ]


def _at(body, path):
    stmt = body[path[0]]
    for position in path[1:]:
        inner = stmt.then + stmt.orelse if isinstance(stmt, syntax.If) else stmt.body
        stmt = inner[position]
    return stmt


def traced_dependences(function, args: Sequence[object]) -> dict[str, set]:
    """flow, anti, output, input (all pairs) and value_flow (last writers) of a run in source order, through arrays."""
    found = {kind: set() for kind in ("flow", "anti", "output", "input", "value_flow")}
    readers: dict = {}
    writers: dict = {}
    for instance, reads, write in events(function, args):
        if not write[1]:
            continue
        cells = {cell for cell in reads if cell[1]}
        for cell in cells:
            found["flow"] |= {(w, instance) for w in writers.get(cell, ())}
            found["input"] |= {(r, instance) for r in readers.get(cell, ())}
            if cell in writers:
                found["value_flow"].add((writers[cell][-1], instance))
        found["anti"] |= {(r, instance) for r in readers.get(write, ())}
        found["output"] |= {(w, instance) for w in writers.get(write, ())}
        for cell in cells:
            readers.setdefault(cell, []).append(instance)
        writers.setdefault(write, []).append(instance)
    return found
