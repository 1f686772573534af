"""Local arrays of which only what lies near an outer loop's variable is in use have memory for that part: a ring of rows.

        for c by 64: for i in c ... c + 63: T[i, :] = ...                T: 66 rows, row i at i % 66, not all N
                     for i in c - 1 ... c + 62: B[i, :] = T[i - 1, :] + T[i + 1, :]

Of every access the index stays in c + low ... c + high, proved on the finished loops. So an element i is touched in the iterations
i - high <= c <= i - low alone, and elements that lie high - low + 1 or more apart never in the same one: all that touches the one
comes before all that touches the other, whatever is written and read there, and they may share memory. (Lefebvre and Feautrier,
"Automatic storage management for parallel programs", Parallel Computing 24, 1998: the modulus of a dimension.)

The last dimension stays whole, as vectors run along it, and so does what lanes run along. The order inside an iteration of the
loop does not matter, so threads may share it. Where iterations run on several threads or together, nothing is contracted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from polyml.codegen.accesses import AccessTable
from polyml.codegen.ast import Guard, Jam, Loop, Node, Program, Window, every, with_paths
from polyml.codegen.conflicts import ConflictTest, Touch
from polyml.codegen.integers import const, var
from polyml.model.scop import Array, Role

_Use = tuple[Touch, tuple[Node, ...]]  # what is touched, and the nodes around it


def with_rings(program: Program) -> Program:
    """The program with windows of such arrays. For finished loops: what changes their order afterwards is not proved."""
    candidates = {a.name: a for a in program.scop.arrays.values() if _may_be_ring(program, a)}
    if not candidates:
        return program
    tests = ConflictTest(program.scop, AccessTable(program.scop.context))
    found: dict[str, Window] = {}
    notes: list[str] = []
    for name, uses in _uses(program, candidates).items():
        loop = _around_all(uses)
        is_one = loop is not None and sum(node is loop for node in every(program.body)) == 1
        window = _ring(tests, candidates[name], loop, uses) if is_one else None
        if window is not None:
            found[name] = window
            (kept,) = (n for n in window.lengths if n is not None)
            notes.append(f"{candidates[name].source_name or name}: memory for {kept} rows, which take turns")
    if not found:
        return program
    return replace(program, windows={**program.windows, **found}, notes=(*program.notes, *notes))


def _may_be_ring(program: Program, array: Array) -> bool:
    is_result = any(r.array == array.name for r in program.scop.results)
    return array.role is Role.LOCAL and len(array.shape) > 1 and array.name not in program.windows and not is_result


def _uses(program: Program, names: dict[str, Array]) -> dict[str, list[_Use]]:
    found: dict[str, list[_Use]] = {}
    for instance, path in with_paths(program.body):
        statement = program.scop.statements[instance.statement]
        for access in (*statement.reads, statement.write):
            if access.array in names:
                found.setdefault(access.array, []).append(((access, instance), path))
    return found


def _around_all(uses: Sequence[_Use]) -> Loop | None:
    """The outermost loop, around which there are guards alone, if it is around all uses and runs in order."""
    first = [next((node for node in path if not isinstance(node, Guard)), None) for _, path in uses]
    loop = first[0]
    return loop if isinstance(loop, Loop) and not loop.parallel and all(node is loop for node in first) else None


def _ring(tests: ConflictTest, array: Array, loop: Loop, uses: Sequence[_Use]) -> Window | None:
    """The window of the first dimension that keeps near the loop's variable."""
    for dim in range(len(array.shape) - 1):
        length = _reach(tests, loop, uses, dim)
        if length is not None and not any(_lanes_along(tests, use, dim) for use in uses):
            lengths = [None] * len(array.shape)
            lengths[dim] = length
            return Window((const(0),) * len(array.shape), tuple(lengths), ring=dim)
    return None


def _reach(tests: ConflictTest, loop: Loop, uses: Sequence[_Use], dim: int) -> int | None:
    """How many neighbouring indices all uses in one iteration of the loop stay in; None where no number is known."""
    low = high = None
    for touch, path in uses:
        limits = tests.limits(tests.subscripts(touch)[dim] - var(loop.var), path)
        if limits is None:
            return None
        low, high = (limits[0] if low is None else min(low, limits[0])), (limits[1] if high is None else max(high, limits[1]))
    return high - low + 1


def _lanes_along(tests: ConflictTest, use: _Use, dim: int) -> bool:
    touch, path = use
    moving = tests.subscripts(touch)[dim].names
    return any(isinstance(node, Jam) and node.lanes > 1 and node.var in moving for node in path)
