"""Direct dependences as text for people, one line for each pair of references, and as data for JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from polyml import polyhedra
from polyml.model.core import printer
from polyml.model.core.scop import Access, Scop
from polyml.model.references.direct import KINDS, DirectDependences, Reference, ReferenceDependence
from polyml.source import Loc, short_name

Found = Mapping[str, tuple[ReferenceDependence, ...] | None]  # by kind; None: isl would need too many operations


def found(scop: Scop, text: Callable[[Access], str] | None = None) -> Found:
    """Returns the direct dependences by kind; None for a kind that isl needs more than `printer.OPERATIONS` operations for.

    text: makes the text of a reference; None: `reference_text`.
    """
    direct = DirectDependences(scop, text or reference_text)
    result: dict[str, tuple[ReferenceDependence, ...] | None] = {}
    for kind in KINDS:
        try:
            with polyhedra.budget(printer.OPERATIONS):
                result[kind] = direct.of(kind)
        except polyhedra.BudgetExceeded:
            result[kind] = None
    return result


def reference_text(access: Access) -> str:
    """Returns a reference as the source has it, on one line, or with the statement's iterators where the source has none."""
    written = " ".join(access.loc.text.split()) if access.loc else ""
    return written or printer.access_text(access)


def text(dependences: Found) -> str:
    """Returns the dependences as text: one line for each pair of references, and below it the pairs of instances.

    kind    source -> sink, in f.py; distance and direction in the loops of both
    flow    S0 A[i] line 4 -> S0 A[i - 1] line 4  (1)  (<)
            S0[i] -> S0[i' = 1 + i] : 0 < i <= -2 + A_0
    """
    file = file_of(each for known in dependences.values() for each in known or ())
    return "\n".join([_heading(file), *(line for kind, known in dependences.items() for line in _lines(kind, known, file))])


def _heading(file: str) -> str:
    place = f", in {short_name(file)}" if file else ""
    return f"kind    source -> sink{place}; distance and direction in the loops of both"


def file_of(dependences: Iterable[ReferenceDependence]) -> str:
    """Returns the file of the first reference that has a place; "" where none has."""
    return next((end.loc.source.file for each in dependences for end in _ends(each) if end.loc), "")


def _ends(dependence: ReferenceDependence) -> tuple[Reference, Reference]:
    return dependence.source, dependence.sink


def _lines(kind: str, known: tuple[ReferenceDependence, ...] | None, file: str) -> Iterator[str]:
    if known is None:
        yield f"{kind:<8}not found within {printer.OPERATIONS:,} operations of isl"
    elif not known:
        yield f"{kind:<8}none"
    for each in known or ():
        ends = " -> ".join(f"{end.statement} {end.text}{_line(end.loc, file)}" for end in _ends(each))
        yield f"{kind:<8}{ends}  {vectors(each)}"
        yield from (f"        {line}" for line in polyhedra.text(each.relation).splitlines())


def vectors(dependence: ReferenceDependence) -> str:
    """Returns the vectors of distance and direction as text, "(0, *)  (=, <)"; "no loop" where no loop holds both statements."""
    if not dependence.loops:
        return "no loop"
    distances = ("*" if d is None else str(d) for d in dependence.distance)
    return f"({', '.join(distances)})  ({', '.join(dependence.direction)})"


def _line(loc: Loc | None, file: str) -> str:
    """Returns a place as " line 4", with the file where it is another one; "" where there is no place."""
    if loc is None:
        return ""
    return f" line {loc.line}" if loc.source.file == file else f" {short_name(loc.source.file)}:{loc.line}"


HEADINGS = ("kind", "array", "source", "sink", "distance", "direction", "pairs of instances")


def row(dependence: ReferenceDependence, file: str) -> tuple[str, ...]:
    """Returns what a table has on a dependence, below `HEADINGS`. file: the file in which places are named by their lines alone."""
    ends = (f"{end.statement} {end.text}{_line(end.loc, file)}" for end in _ends(dependence))
    distance, _, direction = vectors(dependence).partition("  ")
    return dependence.kind, dependence.array, *ends, distance, direction, polyhedra.text(dependence.relation)


def data(dependences: Found) -> dict[str, list[dict] | None]:
    """Returns by kind a list of dependences for JSON, with relations in full isl syntax; None for a kind that was not found."""
    return {kind: None if known is None else list(map(_data, known)) for kind, known in dependences.items()}


def _data(dependence: ReferenceDependence) -> dict:
    return {
        "array": dependence.array,
        "source": _reference_data(dependence.source),
        "sink": _reference_data(dependence.sink),
        "relation": str(dependence.relation),
        "loops": list(dependence.loops),
        "distance": list(dependence.distance),
        "direction": list(dependence.direction),
    }


def _reference_data(reference: Reference) -> dict:
    loc = reference.loc
    return {
        "statement": reference.statement,
        "text": reference.text,
        "is_write": reference.is_write,
        "at": None if loc is None else {"file": loc.source.file, "line": loc.line, "column": loc.column},
    }
