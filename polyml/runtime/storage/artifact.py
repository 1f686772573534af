"""A compiled kernel as data: its machine code, and everything that its caller and its error messages need."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import accumulate, pairwise

from polyml.dtypes import BY_NUMPY_NAME
from polyml.frontend.syntax import ArgType, ArrayType
from polyml.model.core.call_interface import ArrayResult, Failure, Parameter, ScalarResult, SizeRelation
from polyml.runtime.storage.checksum import Damaged
from polyml.runtime.storage.records import (
    CheckRecord,
    check_from_json,
    check_to_json,
    count_of,
    failure_from_json,
    failure_to_json,
    flag_of,
    form_of,
    integer_of,
    layout_of,
    only,
    parameter_from_json,
    parse_type,
    result_from_json,
    result_to_json,
    text_of,
    tuple_of,
)

VERSION = 8


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
    result_form: how nested tuples and lists are made of the results, a text of `reading.result_forms`; "" where there are none.
    result_arrays: the arrays that the caller allocates, in the order of their slots.
    written: the array arguments that are written.
    aliased: whether it is made for arguments that overlap.
    notes: lines for explain().
    sized: whether other sizes need other code.
    relations: relations between sizes, such as N = M + 1, that have to hold.
    failures: the places in regions at which a call may end with an error.
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
    result_form: str = ""
    result_arrays: tuple[ResultArray, ...] = ()
    written: tuple[str, ...] = ()
    aliased: bool = False
    notes: tuple[str, ...] = ()
    sized: bool = False
    relations: tuple[SizeRelation, ...] = ()
    failures: tuple[Failure, ...] = ()

    def __post_init__(self):
        arrays = {n: t.ndim for n, t in zip(self.params, self.types, strict=True) if isinstance(t, ArrayType)}
        if len(arrays) != len(self.layouts):
            raise ValueError(f"{len(arrays)} array arguments, but layouts {self.layouts}")
        known = {*arrays, *(r.name for r in self.result_arrays)}
        returned = {r.array for r in self.results if isinstance(r, ArrayResult) and r.late is None}
        unknown = (returned - known) | {*self.written, *(name for a in self.relations for name in (a.name, a.other))} - {*arrays}
        if unknown:
            raise ValueError(f"there is no array {', '.join(sorted(unknown))}")
        numbers = {*self.params} - {*arrays}
        for p in self.parameters:
            is_there = (p.argument or p.name) in numbers if p.array is None else p.extreme or 0 <= p.dim < arrays.get(p.array, 0)
            if not (is_there or p.found):
                raise ValueError(f"no argument has the parameter {p.name}")
        if any(not (0 <= a.dim < arrays[a.name] and 0 <= a.other_dim < arrays[a.other]) for a in self.relations):
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


def _pieces(content: bytes, lengths: Sequence[int]) -> tuple[bytes, ...]:
    """Returns the byte strings of these lengths of which `content` is made, one after another.

    Raises ValueError where the lengths do not add up to the length of `content`.
    """
    ends = [0, *accumulate(tuple_of(count_of, lengths))]
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
        "checks": [check_to_json(c) for c in artifact.checks],
        "parameters": [asdict(p) for p in artifact.parameters],
        "results": [result_to_json(r) for r in artifact.results],
        "result_is_tuple": artifact.result_is_tuple,
        "result_form": artifact.result_form,
        "result_arrays": [asdict(r) for r in artifact.result_arrays],
        "written": artifact.written,
        "aliased": artifact.aliased,
        "notes": artifact.notes,
        "sized": artifact.sized,
        "relations": [asdict(a) for a in artifact.relations],
        "failures": [failure_to_json(f) for f in artifact.failures],
    }


def _from_json(head: dict, object_code: tuple[bytes, ...]) -> Artifact:
    """Returns the artifact that has this data, as JSON has it, and this object code.

    Raises an error where a value is not of its type: the data may come from a damaged file.
    """
    return Artifact(
        name=text_of(head["name"]),
        params=tuple_of(text_of, head["params"]),
        types=tuple(map(parse_type, tuple_of(text_of, head["types"]))),
        layouts=tuple_of(layout_of, head["layouts"]),
        entry=text_of(head["entry"]),
        object_code=object_code,
        checks=tuple_of(check_from_json, head["checks"]),
        parameters=tuple_of(parameter_from_json, head["parameters"]),
        results=tuple_of(result_from_json, head["results"]),
        result_is_tuple=flag_of(head["result_is_tuple"]),
        result_form=form_of(head["result_form"]),
        result_arrays=tuple_of(_result_array_from_json, head["result_arrays"]),
        written=tuple_of(text_of, head["written"]),
        aliased=flag_of(head["aliased"]),
        notes=tuple_of(text_of, head["notes"]),
        sized=flag_of(head["sized"]),
        relations=tuple_of(_relation_from_json, head["relations"]),
        failures=tuple_of(failure_from_json, head["failures"]),
    )


_RELATION, _RESULT_ARRAY = (frozenset(each.__dataclass_fields__) for each in (SizeRelation, ResultArray))


def _result_array_from_json(given: object) -> ResultArray:
    data = only(given, _RESULT_ARRAY)
    element = text_of(data["element"])
    if element not in BY_NUMPY_NAME:
        raise ValueError(f"{element:.40} is not an element type")
    return ResultArray(text_of(data["name"]), element, tuple_of(text_of, data["shape"]))


def _relation_from_json(given: object) -> SizeRelation:
    data = only(given, _RELATION)
    first, second = (text_of(data["name"]), count_of(data["dim"])), (text_of(data["other"]), count_of(data["other_dim"]))
    return SizeRelation(*first, *second, integer_of(data["difference"]))
