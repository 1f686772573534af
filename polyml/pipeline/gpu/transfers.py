"""Which arguments a device has to have the elements of before its launches run.

B[i] = 2 * A[i] for i < A_0   ->   A: always, B: where B_0 > A_0, since then some of its elements are not written
"""

from __future__ import annotations

from functools import reduce

import islpy as isl

from polyml import polyhedra
from polyml.codegen.ir.accesses import AccessTable
from polyml.model.core.nest import subvalues
from polyml.model.core.scop import Gather, Role, Scop
from polyml.quasi_affine.from_isl import condition_expression

ALWAYS, NEVER = "True", "False"
_OPERATIONS = 500_000


def needed(scop: Scop, table: AccessTable) -> dict[str, str]:
    """Returns for each argument that is an array the condition on the parameters under which the device needs its elements.

    It does not where nothing reads the array and all of its elements are written: what comes back is then all from the device.
    """
    arguments = [name for name, array in scop.arrays.items() if array.role is Role.ARGUMENT]
    read = {access.array for statement in scop.statements.values() for access in statement.reads}
    read |= {each.array for s in scop.statements.values() for each in subvalues(s.value) if isinstance(each, Gather)}
    return {name: ALWAYS if name in read else _unwritten(scop, name, table) for name in arguments}


def _unwritten(scop: Scop, name: str, table: AccessTable) -> str:
    """Returns the condition under which some element of an array is not written; "True" where isl does not find it in time."""
    extents = [str(table.affine(extent)) for extent in scop.arrays[name].shape]
    writes = [each for each in scop.statements.values() if each.write.array == name]
    if not writes or any(each.write.may for each in writes) or not all(each.isidentifier() or each.isdigit() for each in extents):
        return ALWAYS
    index = [f"_i{number}" for number in range(len(extents))]
    inside = " and ".join(f"0 <= {i} < {extent}" for i, extent in zip(index, extents)) or "true"
    parameters = ", ".join(sorted({each for each in extents if each.isidentifier()}))
    whole = isl.Set(f"[{parameters}] -> {{ {name}[{', '.join(index)}] : {inside} }}")
    try:
        with polyhedra.budget(_OPERATIONS):
            written = reduce(isl.Set.union, (each.write.relation.intersect_domain(each.domain).range() for each in writes))
            missing = whole.subtract(written).params().intersect(scop.checked)
            if missing.is_empty():
                return NEVER
            return str(condition_expression(missing.gist(scop.checked), scop.checked))
    except polyhedra.BudgetExceeded:
        return ALWAYS
