"""The checks of a call that runs on something else than the processor: those that a compiled kernel makes at entry."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from polyml import polyhedra
from polyml.dtypes import PYINT, U64
from polyml.errors import PolymlError, PolymlTypeError, PolymlValueError, SizesNeeded
from polyml.frontend import syntax
from polyml.frontend.argument_types import with_ones, with_sizes
from polyml.frontend.syntax import ArgType
from polyml.model.core.call_interface import value
from polyml.model.core.nest import always_fits, subvalues
from polyml.model.core.scop import Index, Role, Scop, Value
from polyml.performance.variants import KernelCall, source_schedule
from polyml.runtime.calling import arguments, bounds_errors
from polyml.runtime.calling.arguments import CallArgument
from polyml.runtime.storage.records import record
from polyml.schedule.script.problem import Problem

_LEAVING = ("-", "+", "*", "//", "<<", "**")  # operators whose results may have more bits than their operands


def checked(call: KernelCall, given: Sequence[CallArgument]) -> tuple[KernelCall, Problem]:
    """Returns (the call, the kernel's model), after the checks that a compiled kernel makes at entry. Where the model cannot be
    made for all lengths of arrays, or could not run for some, the types in the returned call have those lengths as constants.

    Raises: what the compiled kernel would raise; PolymlTypeError for integers that compiled code tests for overflow when it runs,
        since PEs do not test them; and PolymlValueError for arguments that overlap, since PEs do not see what others write to
        memory.
    """
    problem: PolymlError | None = None
    for types in _types(given):
        try:
            found = replace(call, types=types)
            model = source_schedule(found).problem
        except SizesNeeded as needed:
            problem = needed
            continue
        may_fit, problem = _refused(model.scop, given)
        if problem is None:
            return found, model
        if not may_fit:
            raise problem
    assert problem is not None  # each of the types has been refused for a reason
    raise problem


def _types(given: Sequence[CallArgument]) -> Iterator[tuple[ArgType, ...]]:
    """Yields the types of the arguments three times: first as given, then with arrays' lengths that are 1 as constants, then with
    all lengths of arrays as constants.
    """
    yield tuple(a.type for a in given)
    yield tuple(with_ones(a.type, a.value) for a in given)
    yield tuple(with_sizes(a.type, a.value) for a in given)


def _untested(value: Value) -> str:
    """Returns in words what compiled code checks of a value at run time and PEs do not; "" where it checks nothing."""
    if isinstance(value, syntax.Cast):
        given = value.operand
        fits = isinstance(given, (Index, syntax.Const)) or given.dtype == PYINT and always_fits(given, value.to)
        into = given.dtype == PYINT and value.to.is_integer and value.to != PYINT and not fits
        may_not_fit = into or value.to == PYINT and (given.dtype.is_float or given.dtype == U64)
        return "converts numbers to integers that they may not fit" if may_not_fit else ""
    may_leave = isinstance(value, (syntax.Unary, syntax.Binary)) and value.dtype == PYINT and value.op in _LEAVING
    return "computes with Python integers, which may leave 64 bits" if may_leave else ""


def _refused(scop: Scop, given: Sequence[CallArgument]) -> tuple[bool, PolymlError | None]:
    """Returns (flag, error). The error says why the call cannot run on an array; it is None where the call can. The flag is True
    where the error may only be due to lengths of arrays that the types leave open, so that the call might run with types that have
    them as constants.
    """
    values = {a.name: a.value for a in given}
    sizes = {p.name: value(p, values) for p in scop.parameters}
    for check in scop.checks:
        if not polyhedra.fix(check.violated, sizes).is_empty():
            return check.may, bounds_errors.violation(record(check), sizes)
    for statement in scop.statements.values():
        found = next(filter(None, map(_untested, subvalues(statement.value))), "")
        if found:
            expected = "expected NumPy's numbers, of types that fit each other: np.int64(0), C.astype(np.int64)"
            notes = ["units do not test that", expected]
            return False, PolymlTypeError(f"{statement.name} {found}", loc=statement.loc, notes=notes)
    called = {a.name: a.source_name for a in scop.arrays.values() if a.role is Role.ARGUMENT}
    written = tuple(dict.fromkeys(called[s.write.array] for s in scop.statements.values() if s.write.array in called))
    for argument in given:
        problem = arguments.not_writable(argument) if argument.name in written else None
        if problem is not None:
            return False, problem
    pair = arguments.overlap({name: v for name, v in values.items() if isinstance(v, np.ndarray)}, written)
    if pair is not None:
        what = f"`{pair[0]}` has elements" if pair[0] == pair[1] else f"`{pair[0]}` and `{pair[1]}` have elements"
        notes = ["the units of an array do not see what others write", "pass copies"]
        return False, PolymlValueError(f"{what} that share memory, of which some are written", notes=notes)
    return False, None
