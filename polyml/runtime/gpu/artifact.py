"""A kernel for a GPU as data: the text of its launches, and everything that a call and its messages need besides.

Expressions of sizes and of the variables of the host's loops are texts, as `runtime.calling.result_extents` reads them.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from polyml.dtypes import FIXED, PYINT, DType
from polyml.frontend.syntax import ArgType
from polyml.model.core.call_interface import ArrayResult, Parameter, ScalarResult
from polyml.runtime.gpu.host.nodes import HostNode, launches, products
from polyml.runtime.gpu.host.nodes_json import node_from_json, node_to_json
from polyml.runtime.storage.checksum import Damaged
from polyml.runtime.storage.records import (
    CheckRecord,
    check_from_json,
    check_to_json,
    count_of,
    flag_of,
    form_of,
    only,
    parameter_from_json,
    parse_type,
    result_from_json,
    result_to_json,
    text_of,
    tuple_of,
)

VERSION = 5
ROLES = ("argument", "local", "result")
_TYPES = {d.name: d for d in (*FIXED, PYINT)}


@dataclass(frozen=True)
class GpuKernel:
    """A GPU kernel is one function of the text, with its parameters in this order: arrays, integers of 64 bits, numbers, a status.

    name: its name in the text.
    threads: how many threads a block has along x, y and z.
    arrays: names of arrays, and whether the kernel writes each.
    integers: how many of its parameters are integers of 64 bits.
    numbers: names and types of arguments that are numbers.
    status: whether the last parameter points to an int, in which the kernel reports that the call fails.
    parts: names and types of partial results that it stores for another kernel, or reads; pointers behind those of the arrays.
    shared_bytes: how many bytes of shared memory its launch asks for, besides what it has without.
    """

    name: str
    threads: tuple[int, int, int]
    arrays: tuple[tuple[str, bool], ...]
    integers: int
    numbers: tuple[tuple[str, DType], ...]
    status: bool
    parts: tuple[tuple[str, DType], ...] = ()
    shared_bytes: int = 0


@dataclass(frozen=True)
class DeviceArrayRecord:
    """A device array record is an array that launches use, stored row by row.

    element: the type of its elements; for complex numbers that of their parts.
    role: "argument", "local" or "result", which says who allocates it.
    argument: the name of the argument that it is; "" for any other.
    shape: an expression for each dimension.
    pairs: whether it has complex numbers, as a first dimension of 2 with their parts.
    needed: the condition under which launches need the elements that an argument has before the call.
    """

    name: str
    element: DType
    role: str
    argument: str
    shape: tuple[str, ...]
    pairs: bool
    needed: str = "True"


@dataclass(frozen=True, kw_only=True)
class GpuArtifact:
    """A GPU artifact is a kernel that is compiled for a language of GPUs, as data.

    name: the function's name.
    params, types: the names and types of the function's parameters, in the order of the call.
    dialect: the language of `text`, "opencl" or "cuda".
    text: the text of the launches.
    kernels: what is in the text.
    host: the host's loops around launches.
    arrays: what launches use.
    checks: the tests at entry.
    violated: for each of them, the condition under which it fails.
    parameters: the sizes and other integers of a call on which launches and tests depend.
    results, result_is_tuple, result_form: what the call returns.
    notes: lines for explain().
    sized: whether other sizes need other code.
    """

    name: str
    params: tuple[str, ...]
    types: tuple[ArgType, ...]
    dialect: str
    text: str
    kernels: tuple[GpuKernel, ...]
    host: tuple[HostNode, ...]
    arrays: tuple[DeviceArrayRecord, ...]
    checks: tuple[CheckRecord, ...] = ()
    violated: tuple[str, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    results: tuple[ScalarResult | ArrayResult, ...] = ()
    result_is_tuple: bool = False
    result_form: str = ""
    notes: tuple[str, ...] = ()
    sized: bool = False

    def __post_init__(self):
        if len(self.checks) != len(self.violated) or len(self.params) != len(self.types):
            raise ValueError("each check has a condition, and each parameter a type")
        kernels, arrays = {each.name for each in self.kernels}, {each.name for each in self.arrays}
        used = {name for each in self.kernels for name, _ in each.arrays} | {each.array for each in self.results}
        used |= {walk.array for each in products(self.host).values() for walk in (each.result, each.left, each.right)}
        missing = {each.kernel for each in launches(self.host)} - kernels | used - arrays
        if missing:
            raise ValueError(f"there is no {', '.join(sorted(missing))}")
        if any(each.role == "argument" and each.argument not in self.params for each in self.arrays):
            raise ValueError("an array is no argument")

    @property
    def written(self) -> tuple[str, ...]:
        """Returns the names of the arguments that launches write, in the order of the call."""
        names = {name for each in self.kernels for name, is_written in each.arrays if is_written}
        written = {each.argument for each in self.arrays if each.name in names and each.role == "argument"}
        return tuple(name for name in self.params if name in written)

    def is_for(self, name: str, params: tuple[str, ...], types: tuple[ArgType, ...], dialect: str) -> bool:
        """Returns whether the artifact is code of a kernel of this name and parameters, for arguments of these types."""
        return (self.name, self.params, self.types, self.dialect) == (name, params, types, dialect)

    def to_bytes(self) -> bytes:
        """Returns the artifact as bytes, which `from_bytes` reads."""
        return json.dumps(_to_json(self), separators=(",", ":")).encode()

    @staticmethod
    def from_bytes(content: bytes) -> GpuArtifact:
        """Returns the artifact that `to_bytes` wrote. Raises Damaged for any other bytes."""
        try:
            return _from_json(json.loads(content))
        except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as problem:
            raise Damaged(f"not a kernel for a GPU: {problem}") from None


def _to_json(artifact: GpuArtifact) -> dict:
    return {
        "version": VERSION,
        "name": artifact.name,
        "params": artifact.params,
        "types": [str(t) for t in artifact.types],
        "dialect": artifact.dialect,
        "text": artifact.text,
        "kernels": [_kernel_to_json(k) for k in artifact.kernels],
        "host": [node_to_json(node) for node in artifact.host],
        "arrays": [{**vars(a), "element": a.element.name} for a in artifact.arrays],
        "checks": [check_to_json(c) for c in artifact.checks],
        "violated": artifact.violated,
        "parameters": [asdict(p) for p in artifact.parameters],
        "results": [result_to_json(r) for r in artifact.results],
        "result_is_tuple": artifact.result_is_tuple,
        "result_form": artifact.result_form,
        "notes": artifact.notes,
        "sized": artifact.sized,
    }


def _from_json(data: object) -> GpuArtifact:
    """Returns the artifact that has this data. Raises an error where a value is not of its type."""
    head = only(data, {*GpuArtifact.__dataclass_fields__, "version"})
    if head["version"] != VERSION:
        raise ValueError(f"version {head['version']!r:.40} of the format, not {VERSION}")
    return GpuArtifact(
        name=text_of(head["name"]),
        params=tuple_of(text_of, head["params"]),
        types=tuple(map(parse_type, tuple_of(text_of, head["types"]))),
        dialect=text_of(head["dialect"]),
        text=text_of(head["text"]),
        kernels=tuple_of(_kernel_from_json, head["kernels"]),
        host=tuple_of(node_from_json, head["host"]),
        arrays=tuple_of(_array_from_json, head["arrays"]),
        checks=tuple_of(check_from_json, head["checks"]),
        violated=tuple_of(text_of, head["violated"]),
        parameters=tuple_of(parameter_from_json, head["parameters"]),
        results=tuple_of(result_from_json, head["results"]),
        result_is_tuple=flag_of(head["result_is_tuple"]),
        result_form=form_of(head["result_form"]),
        notes=tuple_of(text_of, head["notes"]),
        sized=flag_of(head["sized"]),
    )


def _kernel_to_json(kernel: GpuKernel) -> dict:
    named = {key: [(name, kind.name) for name, kind in getattr(kernel, key)] for key in ("numbers", "parts")}
    return {**vars(kernel), **named}


def _kernel_from_json(given: object) -> GpuKernel:
    data = only(given, GpuKernel.__dataclass_fields__.keys())
    x, y, z = tuple_of(count_of, data["threads"])
    numbers, parts = (
        tuple((text_of(n), _TYPES[text_of(k)]) for n, k in tuple_of(_pair, data[key])) for key in ("numbers", "parts")
    )
    arrays = tuple((text_of(name), flag_of(is_written)) for name, is_written in tuple_of(_pair, data["arrays"]))
    integers, shared_bytes = count_of(data["integers"]), count_of(data["shared_bytes"])
    return GpuKernel(text_of(data["name"]), (x, y, z), arrays, integers, numbers, flag_of(data["status"]), parts, shared_bytes)


def _pair(given: object) -> tuple[object, object]:
    one, other = tuple_of(lambda value: value, given)
    return one, other


def _array_from_json(given: object) -> DeviceArrayRecord:
    data = only(given, DeviceArrayRecord.__dataclass_fields__.keys())
    role = text_of(data["role"])
    if role not in ROLES:
        raise ValueError(f"{role:.40} is no role of an array")
    element, shape = _TYPES[text_of(data["element"])], tuple_of(text_of, data["shape"])
    name, argument, needed = (text_of(data[each]) for each in ("name", "argument", "needed"))
    return DeviceArrayRecord(name, element, role, argument, shape, flag_of(data["pairs"]), needed)
