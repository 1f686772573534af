"""A compiled kernel as data: its machine code, and everything that its caller and its error messages need."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence, Set
from dataclasses import asdict, dataclass, field
from itertools import accumulate, pairwise
from typing import TypeVar

from polyml.dtypes import BY_NUMPY_NAME, FIXED, PYBOOL, PYCOMPLEX, PYFLOAT, PYINT
from polyml.frontend.syntax import ArgType, ArrayType, ScalarType
from polyml.model.core.call_interface import ArrayResult, Parameter, ScalarResult
from polyml.runtime.storage.checksum import Damaged
from polyml.runtime.storage.size_classes import SizeRelation
from polyml.source import Loc, Source

VERSION = 4
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class CheckRecord:
    """A CheckRecord is a test at a kernel's entry, a `model.core.scop.Check`, with its isl objects as text.

    A kernel that returns the status k > 0 failed at checks[k - 1] of its artifact.

    kind: "bounds" (of an index), "shape" (a negative extent), "range" (an int that does not fit its element type), "limit" (an
        integer argument too large to compute with), or "usual" (the code is not for such calls, but other code is).
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


@dataclass(frozen=True)
class ResultArray:
    """A ResultArray is an array that a kernel returns and its caller allocates, C-contiguous.

    element: NumPy's name of its type.
    shape: an expression for each dimension over the names of `Artifact.parameters`, as `runtime.calling.result_extents` reads it;
        a negative extent makes an empty array, which a "shape" check then refuses.
    """

    name: str
    element: str
    shape: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Artifact:
    """An Artifact is a compiled kernel as data: its machine code, and what its caller and its messages need.

    name: the function's name.
    params, types: the names and types of the function's parameters, in the order of the call.
    layouts: of each array argument, "C", "F" or "A".
    entry: the symbol of `i64 entry(ptr slots)` in the object code.
    object_code: relocatable objects, which are linked with one another.
    checks: the tests at entry.
    parameters: the sizes and other integers of a call that the code and tests depend on, each with the argument that has it.
    results: what the call returns, in order.
    result_is_tuple: whether it returns a tuple.
    result_arrays: the arrays that the caller allocates, in the order of their slots.
    written: the array arguments that are written.
    aliased: whether it is made for arguments that overlap.
    notes: lines for explain().
    sized: whether other sizes need other code.
    relations: relations between sizes, such as N = M + 1, that have to hold.
    """

    name: str
    params: tuple[str, ...]
    types: tuple[ArgType, ...]
    layouts: tuple[str, ...]
    entry: str
    object_code: tuple[bytes, ...] = field(repr=False)
    checks: tuple[CheckRecord, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    results: tuple[ScalarResult | ArrayResult, ...] = ()
    result_is_tuple: bool = False
    result_arrays: tuple[ResultArray, ...] = ()
    written: tuple[str, ...] = ()
    aliased: bool = False
    notes: tuple[str, ...] = ()
    sized: bool = False
    relations: tuple[SizeRelation, ...] = ()

    def __post_init__(self):
        arrays = {n: t.ndim for n, t in zip(self.params, self.types, strict=True) if isinstance(t, ArrayType)}
        if len(arrays) != len(self.layouts):
            raise ValueError(f"{len(arrays)} array arguments, but layouts {self.layouts}")
        known = {*arrays, *(r.name for r in self.result_arrays)}
        returned = {r.array for r in self.results if isinstance(r, ArrayResult)}
        unknown = (returned - known) | {*self.written, *(name for a in self.relations for name in (a.name, a.other))} - {*arrays}
        if unknown:
            raise ValueError(f"there is no array {', '.join(sorted(unknown))}")
        numbers = {*self.params} - {*arrays}
        for p in self.parameters:
            is_there = (p.argument or p.name) in numbers if p.array is None else p.extreme or 0 <= p.dim < arrays.get(p.array, 0)
            if not is_there:
                raise ValueError(f"no argument has the parameter {p.name}")
        if any(not 0 <= a.dim < min(arrays[a.name], arrays[a.other]) for a in self.relations):
            raise ValueError("sizes are related that no array has")

    def is_for(
        self, name: str, params: tuple[str, ...], types: tuple[ArgType, ...], layouts: tuple[str, ...], aliased: bool
    ) -> bool:
        """Returns whether the artifact is code of a kernel of this name and parameters, for arguments of these types and layouts.

        aliased: whether the arguments overlap
        """
        mine = (self.name, self.params, self.types, self.layouts, self.aliased)
        return mine == (name, params, types, layouts, aliased)

    def to_bytes(self) -> bytes:
        """Returns the artifact as bytes, which `from_bytes` reads; the version of their format is among them."""
        head = json.dumps(_to_json(self), separators=(",", ":")).encode()
        return len(head).to_bytes(4, "little") + head + b"".join(self.object_code)

    @staticmethod
    def from_bytes(content: bytes) -> Artifact:
        """Returns the artifact that `to_bytes` wrote.

        Raises Damaged for any other bytes: each value in them is tested before it is used.
        """
        end = 4 + int.from_bytes(content[:4], "little")
        try:
            head = json.loads(content[4:end])
            if head["version"] != VERSION:
                raise Damaged(f"version {head['version']!r} of the format, not {VERSION}")
            return _from_json(head, _pieces(content[end:], head["object_bytes"]))
        except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as problem:
            raise Damaged(f"not an artifact: {problem}") from None


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
    name, bracket, dims = text.replace(" ", "").partition("[")
    name, equals, value = name.partition("=")
    if name not in _BY_NAME or equals and not value.lstrip("-").isdigit():
        raise ValueError(f"{text!r} is not a type; element types: {', '.join(_BY_NAME)}")
    element = _BY_NAME[name]
    if not bracket:
        return ScalarType(element, int(value) if equals else None)
    extents = dims[:-1].split(",") if dims[:-1] else []
    if not dims.endswith("]") or element.weak or equals or not all(e == ":" or e.isdigit() for e in extents):
        raise ValueError(f"{text!r} is not an array type; one is written f64[:, :]")
    sizes = ((dim, int(extent)) for dim, extent in enumerate(extents) if extent != ":")
    return ArrayType(element, len(extents), frozenset(sizes))


def _pieces(content: bytes, lengths: Sequence[int]) -> tuple[bytes, ...]:
    """Returns the byte strings of these lengths of which `content` is made, one after another.

    Raises ValueError where the lengths do not add up to the length of `content`.
    """
    ends = [0, *accumulate(_tuple(_count, lengths))]
    if ends[-1] != len(content):
        raise ValueError(f"{len(content)} bytes of code, not {ends[-1]}")
    return tuple(content[start:end] for start, end in pairwise(ends))


def _to_json(artifact: Artifact) -> dict:
    return {
        "version": VERSION,
        "name": artifact.name,
        "params": artifact.params,
        "types": [str(t) for t in artifact.types],
        "layouts": artifact.layouts,
        "entry": artifact.entry,
        "object_bytes": [len(each) for each in artifact.object_code],
        "checks": [{**asdict(c), "loc": _loc_to_json(c.loc)} for c in artifact.checks],
        "parameters": [asdict(p) for p in artifact.parameters],
        "results": [_result_to_json(r) for r in artifact.results],
        "result_is_tuple": artifact.result_is_tuple,
        "result_arrays": [asdict(r) for r in artifact.result_arrays],
        "written": artifact.written,
        "aliased": artifact.aliased,
        "notes": artifact.notes,
        "sized": artifact.sized,
        "relations": [asdict(a) for a in artifact.relations],
    }


def _from_json(head: dict, object_code: tuple[bytes, ...]) -> Artifact:
    """Returns the artifact that has this data, as JSON has it, and this object code.

    Raises an error where a value is not of its type: the data may come from a damaged file.
    """
    return Artifact(
        name=_text(head["name"]),
        params=_tuple(_text, head["params"]),
        types=tuple(map(parse_type, _tuple(_text, head["types"]))),
        layouts=_tuple(_layout, head["layouts"]),
        entry=_text(head["entry"]),
        object_code=object_code,
        checks=_tuple(_check_from_json, head["checks"]),
        parameters=_tuple(_parameter_from_json, head["parameters"]),
        results=_tuple(_result_from_json, head["results"]),
        result_is_tuple=_flag(head["result_is_tuple"]),
        result_arrays=_tuple(_result_array_from_json, head["result_arrays"]),
        written=_tuple(_text, head["written"]),
        aliased=_flag(head["aliased"]),
        notes=_tuple(_text, head["notes"]),
        sized=_flag(head["sized"]),
        relations=_tuple(_relation_from_json, head["relations"]),
    )


def _text(value: object) -> str:
    if type(value) is not str:
        raise ValueError(f"a text is expected, not {value!r:.40}")
    return value


def _flag(value: object) -> bool:
    if type(value) is not bool:
        raise ValueError(f"true or false is expected, not {value!r:.40}")
    return value


def _integer(value: object) -> int:
    if not isinstance(value, int) or type(value) is not int or not -(2**63) <= value < 2**63:
        raise ValueError(f"a number is expected, not {value!r:.40}")
    return value


def _count(value: object) -> int:
    count = _integer(value)
    if count < 0:
        raise ValueError(f"a number from 0 is expected, not {count}")
    return count


def _tuple(one: Callable[[object], T], value: object) -> tuple[T, ...]:
    if not isinstance(value, (list, tuple)) or type(value) not in (list, tuple):
        raise ValueError(f"a list is expected, not {value!r:.40}")
    return tuple(map(one, value))


def _optional(one: Callable[[object], T], value: object) -> T | None:
    return None if value is None else one(value)


def _layout(value: object) -> str:
    text = _text(value)
    if text not in ("C", "F", "A"):
        raise ValueError(f"C, F or A is expected, not {text!r:.40}")
    return text


def _only(data: object, names: Set[str]) -> dict:
    """Returns `data` if it is a JSON object that has these names and no others. Raises ValueError for anything else."""
    if type(data) is not dict or data.keys() != names:
        raise ValueError(f"{', '.join(sorted(names))} are expected, not {data!r:.40}")
    return data


_CHECK, _PARAMETER, _RELATION, _RESULT_ARRAY = (
    frozenset(each.__dataclass_fields__) for each in (CheckRecord, Parameter, SizeRelation, ResultArray)
)
_LOC = frozenset({"file", "line", "column", "width", "text"})


def _check_from_json(given: object) -> CheckRecord:
    data = _only(given, _CHECK)
    return CheckRecord(
        kind=_text(data["kind"]), what=_text(data["what"]), violated=_text(data["violated"]), instances=_text(data["instances"]),
        iterators=_tuple(_text, data["iterators"]), may=_flag(data["may"]), dim=_count(data["dim"]),
        subscript=_optional(_text, data["subscript"]), size=_optional(_text, data["size"]), loc=_optional(_loc_from_json, data["loc"]),
    )  # fmt: skip


def _parameter_from_json(given: object) -> Parameter:
    data = _only(given, _PARAMETER)
    extreme = _text(data["extreme"])
    if extreme not in ("", "min", "max"):
        raise ValueError(f"min or max is expected, not {extreme:.40}")
    return Parameter(_text(data["name"]), _optional(_text, data["array"]), _count(data["dim"]), _text(data["argument"]), extreme)


def _result_array_from_json(given: object) -> ResultArray:
    data = _only(given, _RESULT_ARRAY)
    element = _text(data["element"])
    if element not in BY_NUMPY_NAME:
        raise ValueError(f"{element:.40} is not an element type")
    return ResultArray(_text(data["name"]), element, _tuple(_text, data["shape"]))


def _relation_from_json(given: object) -> SizeRelation:
    data = _only(given, _RELATION)
    return SizeRelation(_text(data["name"]), _text(data["other"]), _count(data["dim"]), _integer(data["difference"]))


def _result_to_json(result: ScalarResult | ArrayResult) -> dict:
    if isinstance(result, ArrayResult):
        return {"array": result.array}
    whole = {} if result.whole is None else {"whole": result.whole.name}
    return {"array": result.array, "dtype": result.dtype.name, **whole}


def _result_from_json(given: object) -> ScalarResult | ArrayResult:
    optional = {"dtype", "whole"}.intersection(given) if isinstance(given, dict) else set()
    data = _only(given, {"array"} | optional)
    array = _text(data["array"])
    if "dtype" not in data:
        return ArrayResult(array)
    return ScalarResult(array, _BY_NAME[_text(data["dtype"])], _BY_NAME[_text(data["whole"])] if "whole" in data else None)


def _loc_to_json(loc: Loc | None) -> dict | None:
    if loc is None:
        return None
    return {
        "file": loc.source.file, "line": loc.line, "column": loc.column, "width": loc.width,
        "text": loc.source.line(loc.line),
    }  # fmt: skip


def _loc_from_json(given: object) -> Loc:
    data = _only(given, _LOC)
    line = _count(data["line"])
    source = Source(_text(data["file"]), line, (_text(data["text"]),))
    return Loc(source, line, _count(data["column"]), _count(data["width"]))
