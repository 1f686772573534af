"""What a library says of itself: JSON in its symbol `polyml_description`, by which Python checks the arguments of its function."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from polyml.ahead_of_time.call_signature import CallSignature, LibraryArgument, SizeExtent
from polyml.ahead_of_time.status_codes import StatusCode
from polyml.dtypes import BY_NUMPY_NAME, DType
from polyml.frontend.syntax import ArrayType
from polyml.runtime.storage.checksum import Damaged
from polyml.runtime.storage.records import count_of, flag_of, integer_of, optional_of, parse_type, text_of, tuple_of

VERSION = 1


@dataclass(frozen=True)
class OutDescription:
    """An OutDescription is an out parameter: an array with its extents, texts over parameters and sizes, or a number (None)."""

    dtype: DType
    extents: tuple[str, ...] | None


@dataclass(frozen=True)
class LibraryDescription:
    """A LibraryDescription is all that a call of a library's function needs.

    symbol: the function's name; kernel: the Python function's.
    signature: the parameters, with types and extents.
    written: the array parameters that are written.
    outs: the out parameters.
    results: for each value that is returned, the parameter that it is, or the position in `outs`; is_tuple: whether they are a tuple.
    codes: the numbers that the function returns.
    isa, vector_bytes, needs_fma: what the processor needs to have.
    cpu: its name.
    threads: "pool", "openmp" or "none".
    """

    symbol: str
    kernel: str
    signature: CallSignature
    written: frozenset[str]
    outs: tuple[OutDescription, ...]
    results: tuple[str | int, ...]
    is_tuple: bool
    codes: tuple[StatusCode, ...]
    isa: str
    vector_bytes: int
    needs_fma: bool
    cpu: str
    threads: str

    def to_text(self) -> str:
        """Returns the description as JSON, which `from_text` reads."""
        plain = {name: getattr(self, name) for name in _PLAIN}
        data = {
            "version": VERSION,
            **plain,
            "arguments": [
                {"name": a.name, "type": str(a.type), "extents": [[e.name, e.offset] for e in a.extents]}
                for a in self.signature.arguments
            ],
            "sizes": self.signature.sizes,
            "written": sorted(self.written),
            "outs": [{"element": out.dtype.numpy_name, "weak": out.dtype.weak, "extents": out.extents} for out in self.outs],
            "results": self.results,
            "codes": [asdict(code) for code in self.codes],
        }
        return json.dumps(data, separators=(",", ":"))

    @staticmethod
    def from_text(text: str) -> LibraryDescription:
        """Returns the description that `to_text` wrote. Raises Damaged for any other text."""
        try:
            data = json.loads(text)
            if data["version"] != VERSION:
                raise Damaged(f"version {data['version']!r} of the format, not {VERSION}")
            return _read(data)
        except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as problem:
            raise Damaged(f"no description: {problem}") from None


_PLAIN = ("symbol", "kernel", "is_tuple", "isa", "vector_bytes", "needs_fma", "cpu", "threads")


def _read(data: dict) -> LibraryDescription:
    arguments = tuple_of(_argument, data["arguments"])
    return LibraryDescription(
        symbol=text_of(data["symbol"]),
        kernel=text_of(data["kernel"]),
        signature=CallSignature(arguments, tuple_of(text_of, data["sizes"])),
        written=frozenset(tuple_of(text_of, data["written"])),
        outs=tuple_of(_out, data["outs"]),
        results=tuple_of(lambda each: count_of(each) if isinstance(each, int) else text_of(each), data["results"]),
        is_tuple=flag_of(data["is_tuple"]),
        codes=tuple_of(_code, data["codes"]),
        isa=text_of(data["isa"]),
        vector_bytes=count_of(data["vector_bytes"]),
        needs_fma=flag_of(data["needs_fma"]),
        cpu=text_of(data["cpu"]),
        threads=text_of(data["threads"]),
    )


def _argument(data) -> LibraryArgument:
    kind = parse_type(text_of(data["type"]))
    extents = tuple_of(_extent, data["extents"])
    if len(extents) != (kind.ndim if isinstance(kind, ArrayType) else 0):
        raise ValueError(f"{len(extents)} extents of {kind}")
    return LibraryArgument(text_of(data["name"]), kind, extents)


def _extent(data) -> SizeExtent:
    name, offset = data
    return SizeExtent(text_of(name), integer_of(offset))


def _out(data) -> OutDescription:
    dtype = BY_NUMPY_NAME[text_of(data["element"])]
    if flag_of(data["weak"]):
        from polyml.dtypes import PYBOOL, PYCOMPLEX, PYFLOAT, PYINT

        dtype = {"b": PYBOOL, "c": PYCOMPLEX, "f": PYFLOAT, "i": PYINT}[dtype.kind]
    return OutDescription(dtype, optional_of(lambda each: tuple_of(text_of, each), data["extents"]))


def _code(data) -> StatusCode:
    return StatusCode(integer_of(data["number"]), text_of(data["name"]), text_of(data["kind"]), text_of(data["text"]))
