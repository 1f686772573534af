"""What the caller is told when a kernel refuses its arguments: the access, an instance, its index and the size."""

from __future__ import annotations

from collections.abc import Mapping

from polyml import tracebacks
from polyml.errors import (
    WITHOUT_NUMBERS,
    BoundsError,
    CompileError,
    PolymlError,
    PolymlMemoryError,
    PolymlOverflowError,
    PolymlValueError,
    PolymlZeroDivisionError,
    python_exception,
)
from polyml.model.core import call_interface
from polyml.model.core.call_interface import Failure, Status
from polyml.runtime.storage.artifact import Artifact
from polyml.runtime.storage.records import CheckRecord

_WRITTEN = "what ran before it has been written; on several threads, perhaps also what other iterations of a loop write"
_PARTLY_WRITTEN = "its arrays may be partly written"
_ISL_OPERATIONS = 2_000_000


def is_left_to_python(artifact: Artifact, status: int) -> bool:
    """Returns whether plain Python runs a call anew that ended with this status, since its error says more: of a `raise` before anything is
    written, and of one whose text would have sizes where the kernel writes no argument.
    """
    if 0 < status <= len(artifact.checks):
        return artifact.checks[status - 1].kind == "raise"
    if status == Status.RESTARTED:
        return True
    in_region = call_interface.failure(status)
    if artifact.written or in_region is None or in_region[0] >= len(artifact.failures):
        return False
    place = artifact.failures[in_region[0]]
    return place.kind == "raise" and len(place.args) == 1 and place.args[0] in WITHOUT_NUMBERS


def failure(artifact: Artifact, status: int, arguments: Mapping[str, object]) -> Exception:
    """Returns the error that tells the user of a status other than 0, which a kernel returned: one of polyml, or the one of a `raise`.

    arguments: those of the call, by parameter name.
    """
    if 0 < status <= len(artifact.checks):
        return violation(artifact.checks[status - 1], sizes(artifact, arguments))
    in_region = call_interface.failure(status)
    if in_region is not None and in_region[0] < len(artifact.failures):
        place = artifact.failures[in_region[0]]
        raised = python_exception(place.what) if place.kind == "raise" else None
        if raised is not None:
            return tracebacks.raised_at(raised(*place.args), place.loc, artifact.name)
        return _of_region(place, in_region[1], arguments)
    name = f"`{artifact.name}`"
    if status == Status.OUT_OF_MEMORY:
        return PolymlMemoryError(f"{name} found no memory for its temporaries")
    if status == Status.TOO_LARGE_AN_ARRAY:
        return PolymlValueError(f"an array of {name} is too large: it would have 2**63 bytes or more")
    if status == Status.TOO_GREAT_A_SIZE:
        return PolymlOverflowError("the size of an argument is too great for loops in 64 bits")
    if status == Status.TOO_LARGE_TO_SPARE:
        return PolymlMemoryError(f"an array that {name} does without would have more than 512 GiB")
    if status == Status.RESTARTED:
        return PolymlValueError(f"{name} met an error that plain Python raises", notes=["nothing is written"])
    return of_number(status, artifact.name, _PARTLY_WRITTEN)


def _of_region(place: Failure, index: int, arguments: Mapping[str, object]) -> PolymlError:
    """Returns the error that a region met as it ran."""
    if place.kind == "zero":
        return PolymlZeroDivisionError(f"`{place.what}` divides by zero", loc=place.loc, notes=[_WRITTEN])
    shape = getattr(arguments.get(place.array), "shape", ())
    size = f" of size {shape[place.dim]}" if place.dim < len(shape) else ""
    told = "an index" if abs(index) == call_interface.TOLD else f"index {index}"
    text = f"`{place.what}` is out of bounds: {told} in dimension {place.dim}{size}"
    return BoundsError(text, loc=place.loc, notes=[_WRITTEN])


def of_number(status: int, kernel: str, state: str) -> PolymlError:
    """Returns the error that tells the user of a number that does not fit its type, which a kernel met as it ran.

    status: what the kernel returned; any other than those of numbers is a CompileError.
    state: what the user is told of the arrays.
    """
    name = f"`{kernel}`"
    if status == Status.LEFT_64_BITS:
        wrap = "NumPy integers (np.int64(...)) wrap instead"
        return PolymlOverflowError(f"a Python integer left 64 bits in {name}", notes=[state, wrap])
    if status == Status.NOT_A_NUMBER:
        return PolymlValueError(f"NaN cannot be converted to an integer in {name}", notes=[state])
    if status == Status.TOO_LARGE_A_FLOAT:
        text = f"a float that 64 bits cannot hold as an integer, perhaps infinity, was converted to one in {name}"
        return PolymlOverflowError(text, notes=[state])
    if status == Status.DOES_NOT_FIT:
        text = f"a Python integer does not fit the integer type of the element that {name} stores it in"
        return PolymlOverflowError(text, notes=[state])
    return CompileError(f"{name} returned the unknown status {status}")


def sizes(artifact: Artifact, arguments: Mapping[str, object]) -> dict[str, int]:
    """Returns {name: value} in a call for the artifact's parameters, such as the sizes of arrays.

    arguments: those of the call, by the name of the function's parameter.
    """
    return {p.name: call_interface.value(p, arguments) for p in artifact.parameters}


def left_to_python(found: PolymlError, check: CheckRecord | None) -> PolymlError:
    """Returns the reason why plain Python decides whether there is an error.

    found: what it would be.
    check: that failed at entry; None where the kernel met it as it ran.
    """
    code = "PML-F032" if check is not None and check.kind == "usual" else "PML-F031"
    return PolymlError(f"{found.message}; plain Python decides what happens", code=code)


def violation(check: CheckRecord, sizes: Mapping[str, int]) -> PolymlError:
    """Returns the error for a test of a kernel's arguments that failed, with a smallest instance where isl finds one.

    sizes: the values of the parameters
    """
    values = _values(check, sizes)
    notes = [f"at {values.point}"] if values.point else []
    if check.kind == "bounds":
        index = "an index" if values.index is None else f"index {values.index}"
        size = "" if values.size is None else f" of size {values.size}"
        text = f"`{check.what}` is out of bounds: {index} in dimension {check.dim}{size}"
        return BoundsError(text, loc=check.loc, notes=[*notes, "found before anything was written"])
    if check.kind == "range":
        value = "a Python integer" if values.index is None else f"the Python integer {values.index}"
        return PolymlOverflowError(f"{value} does not fit: `{check.what}`", loc=check.loc, notes=notes)
    if check.kind == "limit":
        return PolymlOverflowError(f"`{check.what}` is too great for loops in 64 bits")
    if check.kind in ("usual", "raise"):
        return PolymlValueError(f"there is {check.what}", loc=check.loc, notes=notes)
    size = "" if values.size is None else f": {values.size}"
    return PolymlValueError(f"dimension {check.dim} of `{check.what}` is negative{size}", loc=check.loc, notes=notes)


class _FailedAccess:
    """A _FailedAccess is an instance for which a test of a kernel's arguments fails.

    point: the values of its iterators, "i = 3, j = 0"; "" where isl found no instance.
    index, size: the values of subscript and size there; None where isl did not tell.
    """

    def __init__(self, point: str = "", index: int | None = None, size: int | None = None):
        self.point, self.index, self.size = point, index, size


def _values(check: CheckRecord, sizes: Mapping[str, int]) -> _FailedAccess:
    """Returns a smallest instance for which a test fails; an empty _FailedAccess where isl takes too long or finds none.

    sizes: the values of the parameters
    """
    import islpy as isl

    from polyml import polyhedra

    try:
        with polyhedra.budget(_ISL_OPERATIONS):
            found = polyhedra.witness(polyhedra.fix(isl.Set(check.instances), sizes))
            if found is None:
                return _FailedAccess()
            instance = found.instances[0]
            point = ", ".join(f"{name} = {value}" for name, value in zip(check.iterators, instance[1]))
            return _FailedAccess(point, _value(check.subscript, sizes, instance), _value(check.size, sizes, instance))
    except (isl.Error, polyhedra.BudgetExceeded, LookupError, TypeError, ValueError):  # the message does without the point
        return _FailedAccess()


def _value(text: str | None, sizes: Mapping[str, int], instance: tuple[str, tuple[int, ...]]) -> int | None:
    """Returns the value of a function at an instance; None where `text` is None or the function has no value there.

    text: the function in isl's notation: { S[i] -> [(i + 1)] }, { [] -> [(N)] } or { [(N)] }
    instance: (the statement's name, the values of its iterators)
    sizes: the values of the parameters
    """
    import islpy as isl

    from polyml import polyhedra

    if text is None:
        return None
    if "->" not in text.partition("{")[2]:
        values = polyhedra.fix(isl.Set(text), sizes)
    else:
        relation = polyhedra.fix(isl.Map(text), sizes)
        at = isl.Set(f"{{ {polyhedra.instance_text(instance)} }}")
        values = (relation.intersect_domain(at) if polyhedra.domain_name(relation) else relation).range()
    found = polyhedra.points(values)
    return min(found)[1][0] if found else None
