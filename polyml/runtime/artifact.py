"""A compiled kernel as data: machine code and everything its caller and its error messages need."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import accumulate, pairwise

from polyml.dtypes import FIXED, PYBOOL, PYCOMPLEX, PYFLOAT, PYINT
from polyml.frontend.syntax import ArgType, ArrayType, ScalarType
from polyml.model.interface import ArrayResult, Parameter, ScalarResult
from polyml.runtime.seal import Damaged, seal, unseal
from polyml.runtime.sizes import Alike
from polyml.source import Loc, Source

VERSION = 2


@dataclass(frozen=True, kw_only=True)
class CheckRecord:
    """One `model.scop.Check`, its isl objects as text. Status k of a kernel names checks[k - 1].

    violated: { : N > M } over the parameters. instances: [N, M] -> { S[i] : ... }.
    subscript: { S[i] -> [(i + 1)] } and size: { S[i] -> [(N)] } or { [(N)] }, of a bounds check.
    loc: its Source holds the one line that the message shows.
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
    """An array the kernel returns and its caller allocates, C-contiguous.

    element: NumPy's name of its type. shape: one Python expression per dimension over the names of
    `Artifact.parameters` (+ - * // %, min, max, `a if c else b`); a negative extent makes an empty array, which a
    "shape" check then refuses.
    """

    name: str
    element: str
    shape: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Artifact:
    """params, types: the kernel's parameters in the order of the call. layouts: "C", "F" or "A" per array argument.

    entry: symbol of `i64 entry(ptr slots)` in object_code, objects that are linked with one
    another. results: what the call returns, in order.
    result_arrays: the arrays the caller allocates, in the order of their slots. written: the array arguments written.
    aliased: made for arguments that overlap. notes: lines for explain(). sized: whether other sizes ask for other code.
    alike: how sizes must be related.
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
    alike: tuple[Alike, ...] = ()

    def __post_init__(self):
        arrays = [n for n, t in zip(self.params, self.types, strict=True) if isinstance(t, ArrayType)]
        if len(arrays) != len(self.layouts):
            raise ValueError(f"{len(arrays)} array arguments, but layouts {self.layouts}")
        known = {*arrays, *(r.name for r in self.result_arrays)}
        returned = {r.array for r in self.results if isinstance(r, ArrayResult)}
        unknown = (returned - known) | (set(self.written) - set(arrays))
        if unknown:
            raise ValueError(f"there is no array {', '.join(sorted(unknown))}")

    def to_bytes(self) -> bytes:
        """What `from_bytes` reads: sealed, with the version of this format."""
        head = json.dumps(_to_json(self), separators=(",", ":")).encode()
        return seal(len(head).to_bytes(4, "little") + head + b"".join(self.object_code))

    @staticmethod
    def from_bytes(sealed: bytes) -> Artifact:
        """The artifact. `seal.Damaged` if the bytes are not an artifact of this version."""
        content = unseal(sealed)
        end = 4 + int.from_bytes(content[:4], "little")
        try:
            head = json.loads(content[4:end])
            if head["version"] != VERSION:
                raise Damaged(f"version {head['version']} of the format, not {VERSION}")
            return _from_json(head, _pieces(content[end:], head["object_bytes"]))
        except (KeyError, TypeError, ValueError) as problem:
            raise Damaged(f"not an artifact: {problem}") from None


def record(check) -> CheckRecord:
    """The record of a `model.scop.Check`."""
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
    """The type that prints as `text`: "f64[:, :]", "i32[]", "f64[1, :]", "f64", "int", "int=3". ValueError if none does.

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
    ends = [0, *accumulate(lengths)]
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
        "alike": [asdict(a) for a in artifact.alike],
    }


def _from_json(head: dict, object_code: tuple[bytes, ...]) -> Artifact:
    return Artifact(
        name=head["name"],
        params=tuple(head["params"]),
        types=tuple(parse_type(t) for t in head["types"]),
        layouts=tuple(head["layouts"]),
        entry=head["entry"],
        object_code=object_code,
        checks=tuple(_check_from_json(c) for c in head["checks"]),
        parameters=tuple(Parameter(**p) for p in head["parameters"]),
        results=tuple(_result_from_json(r) for r in head["results"]),
        result_is_tuple=head["result_is_tuple"],
        result_arrays=tuple(ResultArray(r["name"], r["element"], tuple(r["shape"])) for r in head["result_arrays"]),
        written=tuple(head["written"]),
        aliased=head["aliased"],
        notes=tuple(head["notes"]),
        sized=head["sized"],
        alike=tuple(Alike(**a) for a in head["alike"]),
    )


def _check_from_json(data: dict) -> CheckRecord:
    return CheckRecord(**{**data, "iterators": tuple(data["iterators"]), "loc": _loc_from_json(data["loc"])})


def _result_to_json(result: ScalarResult | ArrayResult) -> dict:
    if isinstance(result, ArrayResult):
        return {"array": result.array}
    whole = {} if result.whole is None else {"whole": result.whole.name}
    return {"array": result.array, "dtype": result.dtype.name, **whole}


def _result_from_json(data: dict) -> ScalarResult | ArrayResult:
    if "dtype" not in data:
        return ArrayResult(data["array"])
    return ScalarResult(data["array"], _BY_NAME[data["dtype"]], _BY_NAME.get(data.get("whole")))


def _loc_to_json(loc: Loc | None) -> dict | None:
    if loc is None:
        return None
    return {
        "file": loc.source.file, "line": loc.line, "column": loc.column, "width": loc.width,
        "text": loc.source.line(loc.line),
    }  # fmt: skip


def _loc_from_json(data: dict | None) -> Loc | None:
    if data is None:
        return None
    source = Source(data["file"], data["line"], (data["text"],))
    return Loc(source, data["line"], data["column"], data["width"])
