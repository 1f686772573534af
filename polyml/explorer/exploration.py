"""Everything that a page knows, as data for JSON: the kernel, a schedule, and the verdict, code and picture of each single step from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import islpy as isl

from polyml.explorer import source_marks
from polyml.explorer.placing import instances
from polyml.explorer.schedule_view import Data, Sized, view
from polyml.explorer.single_steps import single_steps
from polyml.explorer.steps import Step
from polyml.explorer.verdicts import LEGAL, REFUSED, Verdict, broken_pair, verdict
from polyml.model.core.printer import access_text, parameter_text, statement_text
from polyml.model.core.scop import Scop
from polyml.model.references import text as reference_text
from polyml.model.references.direct import ReferenceDependence
from polyml.pictures.nests import parameters
from polyml.polyhedra.parameters import at_sizes
from polyml.polyhedra.points import points
from polyml.schedule.script.schedule import Schedule
from polyml.source import reader_name
from polyml.values import cached_property

FORMAT = 1
MOST_POINTS = 800  # of a picture for sizes that nobody asked for
MOST_DRAWN = 2_000  # of any picture
MOST_STEPS = 400
_TRIED = (2, 3, 4, 5, 6, 8, 10)  # sizes
_CHOICES = 3  # of sizes, that a page has


@dataclass(frozen=True)
class Exploration:
    """An exploration is a kernel with the schedule from which a page steers it.

    schedule: from which steps are taken.
    sizes: the choices of sizes for which pictures are drawn, {parameter: value} each.
    tiles: sizes of tiles among the single steps.
    """

    schedule: Schedule
    sizes: tuple[Mapping[str, int], ...]
    tiles: tuple[int, ...]

    @property
    def scop(self) -> Scop:
        return self.schedule.problem.scop

    @cached_property
    def sized(self) -> tuple[Sized, ...]:
        """Returns the points of each statement for each choice of sizes."""
        return tuple(sized(self.scop, each) for each in self.sizes)

    @cached_property
    def _found(self) -> reference_text.Found:
        return reference_text.found(self.scop, access_text)

    @property
    def dependences(self) -> list[ReferenceDependence]:
        """The direct dependences that isl finds in time, one for each pair of references."""
        return [each for known in self._found.values() for each in known or ()]

    @property
    def unknown(self) -> list[str]:
        """The kinds of dependences that isl does not find in time."""
        return [kind for kind, known in self._found.items() if known is None]

    def data(self) -> Data:
        """Returns all that a page needs, as data for JSON."""
        problem = self.schedule.problem
        steps = single_steps(self.schedule.loops, self.tiles)
        with problem.alone():
            kernel = self._kernel()
            pictures = [self._picture(each) for each in self.sized]
        answers = [self.answer(self.schedule, step, self.sized) for step in steps[:MOST_STEPS]]
        return {
            "format": FORMAT,
            **kernel,
            "pictures": pictures,
            "tiles": self.tiles,
            "view": view(self.schedule, self.sized, with_code=True),
            "steps": answers,
            "left_out": max(len(steps) - MOST_STEPS, 0),
        }

    def answer(self, schedule: Schedule, step: Step, sized: Sequence[Sized]) -> Data:
        """Returns the verdict on a step with what there is to show of it, as data for JSON."""
        return self.told(verdict(schedule, step), sized)

    def told(self, found: Verdict, sized: Sequence[Sized]) -> Data:
        """Returns a verdict as data for JSON, with the schedule after the step, and the broken pair for each choice of sizes."""
        answer: Data = {"step": found.step.text, "method": found.step.method, "verdict": found.kind}
        if found.kind == REFUSED or found.schedule is None:
            return {**answer, "why": found.why, "notes": found.notes}
        answer["view"] = view(found.schedule, sized, with_code=found.kind == LEGAL)
        if found.kind == LEGAL:
            return answer
        with self.schedule.problem.alone():
            broken = [broken_pair(found, each.sizes) for each in sized]
        pairs = [None if pair is None else {"source": pair.source, "sink": pair.sink, "count": pair.count} for pair in broken]
        return {**answer, "why": found.why, "notes": found.notes, "broken": pairs}

    def picture(self, sizes: Mapping[str, int]) -> Data:
        """Returns the points and the dependences for some sizes, as data for JSON."""
        with self.schedule.problem.alone():
            return self._picture(sized(self.scop, sizes))

    def _kernel(self) -> Data:
        scop, source = self.scop, source_marks.source_of(self.scop)
        used = parameters(scop)
        return {
            "kernel": scop.name,
            "source": None if source is None else _source(scop, source),
            "parameters": [{"name": p.name, "text": parameter_text(p)} for p in scop.parameters if p.name in used],
            "arrays": [{"name": name, "text": array.source_name or name} for name, array in scop.arrays.items()],
            "statements": [
                {
                    "name": s.name,
                    "iterators": s.iterators,
                    "text": statement_text(s),
                    "accesses": [[a.array, access_text(a)] for a in (s.write, *s.reads)],
                }
                for s in scop.statements.values()
            ],
            "dependences": [*map(dependence_data, self.dependences)],
            "unknown": self.unknown,
        }

    def _picture(self, each: Sized) -> Data:
        numbers = {(name, point): k for name, own in each.points.items() for k, point in enumerate(own)}
        arrows = []
        for dependence in self.dependences:
            pairs = sorted(points(at_sizes(isl.UnionMap.from_map(dependence.relation), each.sizes)))
            arrows.append([[numbers[source], numbers[sink]] for source, sink in pairs])
        return {"sizes": each.sizes, "points": each.points, "arrows": arrows}


def sized(scop: Scop, sizes: Mapping[str, int]) -> Sized:
    """Returns the points of each statement for some sizes."""
    return Sized(sizes, instances(scop, sizes))


def usual_sizes(scop: Scop) -> tuple[dict[str, int], ...]:
    """Returns the choices of sizes for which pictures are drawn where nobody asks for others: all sizes equal, and few points."""
    found: list[dict[str, int]] = []
    for size in _TRIED:
        sizes = dict.fromkeys(parameters(scop), size)
        count = sum(map(len, instances(scop, sizes).values()))
        if count > MOST_POINTS and found:
            break
        if count:
            found.append(sizes)
        if not sizes:
            break
    chosen = found[-_CHOICES:]
    return tuple(chosen) or (dict.fromkeys(parameters(scop), _TRIED[-1]),)


def _source(scop: Scop, source: source_marks.Source) -> Data:
    found = source_marks.spans(scop, source)
    return {
        "file": reader_name(source.file),
        "first": source.first_line,
        "lines": [line.rstrip("\n") for line in source.lines],
        "spans": [[span.line, span.begin, span.end, span.mark] for span in found],
    }


def dependence_data(dependence: ReferenceDependence) -> Data:
    """Returns a line of the list of dependences, as data for JSON. Its distance has a text for each loop that both statements are in:
    a number, "+", "-", or "*" where both signs are possible, as in Allen and Kennedy's direction vectors."""
    source, sink = dependence.source, dependence.sink
    return {
        "kind": dependence.kind,
        "source": source.statement,
        "sink": sink.statement,
        "array": dependence.array,
        "text": f"{source.statement} {source.text} → {sink.statement} {sink.text}",
        "distance": [*map(_distance, dependence.distance, dependence.direction)],
        "loops": dependence.loops,
        "lines": [end.loc and end.loc.line for end in (source, sink)],
    }


def _distance(distance: int | None, direction: str) -> str:
    return {"<": "+", ">": "-"}.get(direction, "*") if distance is None else str(distance)
