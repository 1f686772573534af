"""Remarks as values: what a compilation did to a loop (passed), what it did not (missed), and facts on it (analysis).

The three kinds are those of LLVM's optimization remarks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from polyml.model.nest_passes.changes import ALIKE, JOINED, STORAGE, SYMMETRIC
from polyml.source import reader_name

PASSED, MISSED, ANALYSIS = "passed", "missed", "analysis"
PARALLEL, VECTORIZED, TILED, FUSED, INTERCHANGED = "parallel", "vectorized", "tiled", "fused", "interchanged"
QUESTIONS = (PARALLEL, VECTORIZED, TILED, FUSED, INTERCHANGED)
OF_ARRAYS = (  # what is done with arrays
    STORAGE, JOINED, SYMMETRIC, ALIKE, "packed", "partial results", "folded", "expanded", "shared", "memory",
)  # fmt: skip


@dataclass(frozen=True)
class Place:
    """A place is where something stands in the source. line, column: counted from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{reader_name(self.file)}:{self.line}:{self.column}"


@dataclass(frozen=True)
class End:
    """An end is one of the two instances of a dependence.

    instance: such as "S0[2, 1]".
    values: {iterator: value} of the instance.
    text: the reference as the source has it, such as "A[i - 1]".
    writes: whether it writes the element.
    """

    instance: str
    values: Mapping[str, int]
    text: str
    writes: bool
    place: Place | None


@dataclass(frozen=True)
class Conflict:
    """A conflict is a pair of instances that a transformation would break, a smallest one, with the element that both touch.

    kind: "flow", "anti" or "output".
    element: such as "A[3]".
    source, sink: the two instances; the source runs first.
    distance: by loop that is around both, the sink's iteration minus the source's.
    sizes: the parameters' values for which the pair exists.
    """

    kind: str
    element: str
    source: End
    sink: End
    distance: Mapping[str, int]
    sizes: Mapping[str, int]

    def __str__(self) -> str:
        ends = " -> ".join(f"{end.text} at {_point(end)}{_line(end.place)}" for end in (self.source, self.sink))
        apart = ", ".join(f"{name} {value:+d}" for name, value in self.distance.items() if value)
        found = f"{self.kind} dependence through {self.element}: {ends}"
        return found + (f"; distance {apart}" if apart else "")


def _point(end: End) -> str:
    return ", ".join(f"{name} = {value}" for name, value in end.values.items()) or "no iteration"


def _line(place: Place | None) -> str:
    return "" if place is None else f" (line {place.line})"


@dataclass(frozen=True)
class Remark:
    """A remark says one thing on a loop or an array.

    kind: PASSED, MISSED or ANALYSIS.
    question: one of QUESTIONS or of OF_ARRAYS.
    text: what was done, or why it was not.
    conflict: the dependence that forbids it; None where none does.
    cost: the terms of the cost model that decided, by name; empty where a model did not decide.
    advice: what the user could change; "" for nothing.
    """

    kind: str
    question: str
    text: str
    conflict: Conflict | None = None
    cost: Mapping[str, float] = None  # type: ignore[assignment]
    advice: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "cost", dict(self.cost or {}))


@dataclass(frozen=True)
class LoopRemarks:
    """The remarks on one loop of the source.

    name: by which `why` and schedule scripts call it: "i", or "S0.i" where several loops are named i.
    iterator: its variable; one that the compiler made, such as _i0, for a loop that an array expression stands for.
    depth: how many loops are around it.
    statements: the names of the statements in it.
    written: the line of the source, without its indentation.
    """

    name: str
    iterator: str
    place: Place | None
    depth: int
    statements: tuple[str, ...]
    written: str
    remarks: tuple[Remark, ...]

    def of(self, question: str) -> Remark:
        """Returns the remark that answers a question. Raises KeyError where there is none."""
        for remark in self.remarks:
            if remark.question == question:
                return remark
        raise KeyError(question)


@dataclass(frozen=True)
class StatementRemarks:
    """A statement, where it stands, and what runs it: the lanes and iterations that run together.

    text: with the names of arrays that the compiler uses.
    written: the line of the source, without its indentation.
    """

    name: str
    text: str
    place: Place | None
    written: str
    remarks: tuple[Remark, ...]


@dataclass(frozen=True)
class PlainPython:
    """A statement, or a whole function, that runs as plain Python.

    code: the number of the reason, one of `polyml.reasons`.
    place: None where the reason is the arguments of a call.
    """

    code: str
    text: str
    place: Place | None
    advice: str


@dataclass(frozen=True)
class Remarks:
    """All remarks on one compiled form of a kernel.

    where: the kernel's name, file and line.
    signature: the types of its arguments.
    arrays: remarks on arrays: copies, partial results.
    notes: what the passes noted, in their words.
    python: what of the function runs as plain Python.
    """

    kernel: str
    where: str
    signature: str
    loops: tuple[LoopRemarks, ...]
    statements: tuple[StatementRemarks, ...]
    arrays: tuple[Remark, ...]
    notes: tuple[str, ...]
    python: tuple[PlainPython, ...] = ()

    def all(self) -> Iterator[tuple[LoopRemarks | StatementRemarks | None, Remark]]:
        """Yields each remark with what it is on: a loop, a statement, or None for the whole kernel."""
        for loop in self.loops:
            yield from ((loop, remark) for remark in loop.remarks)
        for statement in self.statements:
            yield from ((statement, remark) for remark in statement.remarks)
        yield from ((None, remark) for remark in self.arrays)
