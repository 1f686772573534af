"""Schedules that were found before, by the text of the SCoP: a kernel of another name, with another docstring or with types of the
same sizes needs no search.

What is kept is only proposed: it is proved against the dependences like every schedule. What is not legal, is no schedule or takes
isl too long counts as absent, and what the search finds takes its place.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace

import islpy as isl

from polyml import polyhedra
from polyml.dtypes import PYINT
from polyml.errors import IllegalSchedule
from polyml.model.core.dependence import Dependences
from polyml.model.core.nest import children
from polyml.model.core.reductions import Reduction
from polyml.model.core.scop import Access, Array, Scop, Statement, Value
from polyml.polyhedra import BudgetExceeded
from polyml.runtime.storage.cache_key import toolchain
from polyml.runtime.storage.disk_cache import Cache
from polyml.schedule.compute import OPERATIONS, Scheduled, ScheduleRequest, compute
from polyml.schedule.legality.check import check_legal, check_parallel
from polyml.schedule.tree.text import read_schedule

_ROUNDING = 10_000  # operations; what a process has looked at before makes counts differ by some hundreds


def remembered(
    cache: Cache | None,
    scop: Scop,
    dependences: Dependences,
    request: ScheduleRequest,
    *,
    reductions: Mapping[str, Reduction],
    budget: int,
) -> Scheduled:
    """Returns a schedule of a SCoP: the one in the cache, once it is proved legal again, else one that is searched for and cached.

    A compilation may use a limited number of isl's operations. A schedule from the cache counts as if it had used as many as its
    search once did, so that later stages decide the same with and without the cache.

    cache: where schedules are kept; None: nowhere.
    budget: seconds for the whole compilation. A search that takes longer is given up, so a schedule is kept for this number alone.
    """
    if cache is None:
        return compute(scop, dependences, request, reductions)
    facts = _facts(request, reductions, budget)
    key = f"schedule-{_digest((scop_key(scop), facts, repr(request.machine), toolchain()))}"
    known = cache.get(key)
    if known is not None:
        with polyhedra.uncharged():
            found = _proved(known, scop, dependences, reductions)
        if found is not None:
            polyhedra.charge(found.operations)
            return found
    before = polyhedra.left()
    found = compute(scop, dependences, request, reductions)
    after = polyhedra.left()
    used = 0 if before is None or after is None else before - after
    found = replace(found, operations=-(-used // _ROUNDING) * _ROUNDING)
    cache.put(key, _content(found))
    return found


def _content(found: Scheduled) -> bytes:
    """Returns the fields of a schedule by name, as JSON in bytes, which `_read` reads."""
    return json.dumps({**vars(found), "tree": str(found.tree)}).encode()


def _proved(content: bytes, scop: Scop, dependences: Dependences, reductions: Mapping[str, Reduction]) -> Scheduled | None:
    """Returns the schedule that a cache's content holds; None where it is no legal schedule of this SCoP."""
    try:
        found = _read(json.loads(content))
        with polyhedra.budget(OPERATIONS):
            if not found.tree.get_domain().is_equal(scop.domain):
                return None
            check_legal(found.tree, scop, dependences, reductions)
            check_parallel(found.tree, scop, dependences, reductions)
    except (ValueError, TypeError, LookupError, RecursionError, isl.Error, IllegalSchedule, BudgetExceeded):
        return None
    return found


def _read(known: dict) -> Scheduled:
    """Returns a schedule from its fields by name. Raises ValueError, LookupError or isl.Error where they are not those of one."""
    notes, operations = known["notes"], known["operations"]
    flags = {name: value for name, value in known.items() if name not in ("tree", "notes", "operations")}
    if type(operations) is not int or operations < 0:
        raise ValueError("operations are counted")
    if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
        raise ValueError("notes are texts")
    if not all(isinstance(value, bool) for value in flags.values()):
        raise ValueError("sized, cut, related and blocked are true or false")
    return Scheduled(read_schedule(known["tree"]), tuple(notes), **flags, operations=operations)


def scop_key(scop: Scop) -> str:
    """Returns a text of everything in a SCoP on which its schedule depends; the cache finds the schedule by it.

    It leaves out the kernel's name, positions in the source, and of types all but their sizes. It has the names of arrays,
    parameters and iterators, since the notes that are kept with a schedule mention them.
    """
    lines = [", ".join(p.name for p in scop.parameters), str(scop.context), str(scop.schedule)]
    lines += map(_array_key, scop.arrays.values())
    lines += map(_statement_key, scop.statements.values())
    return "\n".join(lines)


def _array_key(array: Array) -> str:
    unbounded = array.element == PYINT  # their sums may not be taken in another order
    shape = "; ".join(map(str, array.shape))
    return f"{array.name} {array.role.value} {array.element.size_bytes} {unbounded} {array.pairs} {shape}"


def _statement_key(statement: Statement) -> str:
    accesses = "; ".join(map(_access_key, (*statement.reads, statement.write)))
    return f"{statement.name} {statement.iterators} {statement.domain} {accesses} = {_value_key(statement.value, {})}"


def _access_key(access: Access) -> str:
    return f"{access.relation} {access.may}"


def _value_key(value: Value, seen: dict[int, str]) -> str:
    """Returns a digest of an expression of a SCoP, without its types.

    seen: digests of its parts by identity, since a part may occur more than once; new ones are added.
    """
    known = seen.get(id(value))
    if known is None:
        operands = [_value_key(child, seen) for child in children(value)]
        own = [str(getattr(value, name)) for name in ("op", "function", "array", "access", "name") if hasattr(value, name)]
        if not operands and hasattr(value, "value"):  # a constant or an index
            own.append(str(value.value))
        known = seen[id(value)] = _digest((type(value).__name__, *own, *operands))
    return known


def _facts(request: ScheduleRequest, reductions: Mapping[str, Reduction], budget: int) -> str:
    """Returns a text of all that a schedule depends on besides the SCoP and the machine."""
    asked = {name: value for name, value in sorted(vars(request).items()) if name not in ("machine", "sizes", "pieces")}
    sizes = None if request.sizes is None else sorted(request.sizes.items())
    return f"{sizes} {sorted(request.pieces)} {sorted(map(repr, reductions.values()))} {asked} {budget}"


def _digest(parts: tuple[str, ...]) -> str:
    return hashlib.sha256("\0".join(("schedule", *parts)).encode()).hexdigest()
