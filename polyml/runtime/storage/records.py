"""What compiled kernels have in common as data: checks at entry, parameters, results and types, as JSON and back.

What is read may come from a damaged file: each value is tested before it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import asdict, dataclass, field
from typing import TypeVar

from polyml.dtypes import FIXED, PYBOOL, PYCOMPLEX, PYFLOAT, PYINT
from polyml.errors import python_exception
from polyml.frontend.syntax import ArgType, ArrayType, ScalarType
from polyml.model.core.call_interface import ArrayResult, Failure, Parameter, ScalarResult
from polyml.reading import result_forms
from polyml.reading.input_limits import shown
from polyml.source import Loc, Source

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class CheckRecord:
    """A CheckRecord is a test at a kernel's entry, a `model.core.scop.Check`, with its isl objects as text.

    A kernel that returns the status k > 0 failed at checks[k - 1] of its artifact.

    kind: "bounds" (of an index), "shape" (a negative extent), "range" (an int that does not fit its element type), "limit" (an
        integer argument too large to compute with), "usual" (the code is not for such calls, but other code is), or "raise" (plain Python, in which such calls raise, runs them).
    what: the access or the size that is tested, as messages have it.
    violated: { : N > M }, the parameters for which the test fails.
    instances: [N, M] -> { S[i] : ... }, the instances at fault.
    iterators: the names of the loops around them.
    may: whether a call for which the test fails runs as plain Python, which may find no error; else it raises one.
    dim: the position of the index among the array's indices, for a check of bounds.
    subscript: { S[i] -> [(i + 1)] }, the index; None where the check is not of bounds.
    size: { S[i] -> [(N)] } or { [(N)] }, the size that the index has to be below.
    loc: the place in the source; its Source holds just the line that the message shows.
    """

    kind: str
    what: str
    violated: str
    instances: str
    iterators: tuple[str, ...] = ()
    may: bool = False
    dim: int = 0
    subscript: str | None = None
    size: str | None = None
    loc: Loc | None = field(default=None, compare=False)


def record(check) -> CheckRecord:
    """Returns a `model.core.scop.Check` as data, with its isl objects as text."""
    return CheckRecord(
        kind=check.kind,
        what=check.what,
        violated=str(check.violated),
        instances=str(check.instances),
        iterators=tuple(check.iterators),
        may=check.may,
        dim=check.dim,
        subscript=None if check.subscript is None else str(check.subscript),
        size=None if check.size is None else str(check.size),
        loc=check.loc,
    )


_BY_NAME = {str(d): d for d in (*FIXED, PYINT, PYFLOAT, PYCOMPLEX, PYBOOL)}


def parse_type(text: str) -> ArgType:
    """Returns the type that prints as `text`: "f64[:, :]", "i32[]", "f64[1, :]", "f64", "int", "int=3".

    Raises ValueError where no type prints so.

    >>> str(parse_type("f64[:,:]"))
    'f64[:, :]'
    """
    name, bracket, dims = str.replace(text, " ", "").partition("[")
    name, equals, value = name.partition("=")
    if name not in _BY_NAME or equals and not value.lstrip("-").isdigit():
        raise ValueError(f"{shown(text)} is not a type; element types: {', '.join(_BY_NAME)}")
    element = _BY_NAME[name]
    if not bracket:
        return ScalarType(element, int(value) if equals else None)
    extents = dims[:-1].split(",") if dims[:-1] else []
    if not dims.endswith("]") or element.weak or equals or not all(e == ":" or e.isdigit() for e in extents):
        raise ValueError(f"{shown(text)} is not an array type; one is written f64[:, :]")
    sizes = ((dim, int(extent)) for dim, extent in enumerate(extents) if extent != ":")
    return ArrayType(element, len(extents), frozenset(sizes))


def text_of(value: object) -> str:
    """Returns a text that was read. Raises ValueError for a value of another type."""
    if type(value) is not str:
        raise ValueError(f"a text is expected, not {value!r:.40}")
    return value


def form_of(value: object) -> str:
    """Returns the form of a result that was read. Raises ValueError for any other text."""
    text = text_of(value)
    if not result_forms.is_form(text):
        raise ValueError(f"the form of a result is expected, not {text!r:.40}")
    return text


def flag_of(value: object) -> bool:
    """Returns a truth value that was read. Raises ValueError for a value of another type."""
    if type(value) is not bool:
        raise ValueError(f"true or false is expected, not {value!r:.40}")
    return value


def integer_of(value: object) -> int:
    """Returns an integer of 64 bits that was read. Raises ValueError for any other value."""
    if not isinstance(value, int) or type(value) is not int or not -(2**63) <= value < 2**63:
        raise ValueError(f"a number is expected, not {value!r:.40}")
    return value


def count_of(value: object) -> int:
    """Returns a number from 0 on that was read. Raises ValueError for any other value."""
    count = integer_of(value)
    if count < 0:
        raise ValueError(f"a number from 0 is expected, not {count}")
    return count


def tuple_of(one: Callable[[object], T], value: object) -> tuple[T, ...]:
    """Returns a list that was read as a tuple, each element read by `one`. Raises ValueError for a value that is no list."""
    if not isinstance(value, (list, tuple)) or type(value) not in (list, tuple):
        raise ValueError(f"a list is expected, not {value!r:.40}")
    return tuple(map(one, value))


def optional_of(one: Callable[[object], T], value: object) -> T | None:
    """Returns None for None, else the value read by `one`."""
    return None if value is None else one(value)


def layout_of(value: object) -> str:
    """Returns the letter of a layout that was read. Raises ValueError for any other value."""
    text = text_of(value)
    if text not in ("C", "F", "A"):
        raise ValueError(f"C, F or A is expected, not {text!r:.40}")
    return text


def only(data: object, names: Set[str]) -> dict:
    """Returns `data` if it is a JSON object that has these names and no others. Raises ValueError for anything else."""
    if type(data) is not dict or data.keys() != names:
        raise ValueError(f"{', '.join(sorted(names))} are expected, not {data!r:.40}")
    return data


_CHECK, _PARAMETER, _FAILURE = (frozenset(each.__dataclass_fields__) for each in (CheckRecord, Parameter, Failure))
_LOC = frozenset({"file", "line", "column", "width", "text"})


def check_from_json(given: object) -> CheckRecord:
    """Returns the check that `check_to_json` wrote. Raises ValueError for any other data."""
    data = only(given, _CHECK)
    return CheckRecord(
        kind=text_of(data["kind"]), what=text_of(data["what"]), violated=text_of(data["violated"]), instances=text_of(data["instances"]),
        iterators=tuple_of(text_of, data["iterators"]), may=flag_of(data["may"]), dim=count_of(data["dim"]),
        subscript=optional_of(text_of, data["subscript"]), size=optional_of(text_of, data["size"]), loc=optional_of(_loc_from_json, data["loc"]),
    )  # fmt: skip


def check_to_json(check: CheckRecord) -> dict:
    """Returns a check as data for JSON, which `check_from_json` reads."""
    return {**asdict(check), "loc": _loc_to_json(check.loc)}


def failure_from_json(given: object) -> Failure:
    """Returns the failure that `failure_to_json` wrote. Raises ValueError for any other data."""
    data = only(given, _FAILURE)
    kind, what, array = (text_of(data[name]) for name in ("kind", "what", "array"))
    if kind == "raise" and not python_exception(what):
        raise ValueError(f"the name of one of Python's exceptions is expected, not {what:.40}")
    args, loc = tuple_of(text_of, data["args"]), optional_of(_loc_from_json, data["loc"])
    return Failure(kind, what, array, count_of(data["dim"]), args, loc)


def failure_to_json(failure: Failure) -> dict:
    """Returns a failure as data for JSON, which `failure_from_json` reads."""
    return {**asdict(failure), "loc": _loc_to_json(failure.loc)}


def parameter_from_json(given: object) -> Parameter:
    """Returns the parameter whose fields these are. Raises ValueError for any other data."""
    data = only(given, _PARAMETER)
    extreme = text_of(data["extreme"])
    if extreme not in ("", "min", "max"):
        raise ValueError(f"min or max is expected, not {extreme:.40}")
    return Parameter(
        text_of(data["name"]), optional_of(text_of, data["array"]), count_of(data["dim"]), text_of(data["argument"]), extreme,
        flag_of(data["found"]),
    )  # fmt: skip


def result_to_json(result: ScalarResult | ArrayResult) -> dict:
    """Returns a result as data for JSON, which `result_from_json` reads."""
    if isinstance(result, ArrayResult):
        late = {} if result.late is None else {"late": result.late.name}
        return {"array": result.array, **({"sizes": result.sizes} if result.sizes else {}), **late}
    whole = {} if result.whole is None else {"whole": result.whole.name}
    return {"array": result.array, "dtype": result.dtype.name, **whole}


def result_from_json(given: object) -> ScalarResult | ArrayResult:
    """Returns the result that `result_to_json` wrote. Raises ValueError for any other data."""
    optional = {"dtype", "whole", "sizes", "late"}.intersection(given) if isinstance(given, dict) else set()
    data = only(given, {"array"} | optional)
    array = text_of(data["array"])
    if "dtype" not in data:
        late = _BY_NAME[text_of(data["late"])] if "late" in data else None
        return ArrayResult(array, count_of(data["sizes"]) if "sizes" in data else 0, late)
    return ScalarResult(array, _BY_NAME[text_of(data["dtype"])], _BY_NAME[text_of(data["whole"])] if "whole" in data else None)


def _loc_to_json(loc: Loc | None) -> dict | None:
    if loc is None:
        return None
    return {
        "file": loc.source.file, "line": loc.line, "column": loc.column, "width": loc.width,
        "text": loc.source.line(loc.line),
    }  # fmt: skip


def _loc_from_json(given: object) -> Loc:
    data = only(given, _LOC)
    line = count_of(data["line"])
    source = Source(text_of(data["file"]), line, (text_of(data["text"]),))
    return Loc(source, line, count_of(data["column"]), count_of(data["width"]))
