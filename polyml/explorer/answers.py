"""Answers to the questions of a page: any sequence of steps from its schedule, for any sizes. Questions come from a network, so all is checked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from math import prod

from polyml import polyhedra
from polyml.errors import PolymlError, ScheduleError
from polyml.explorer import exploration
from polyml.explorer.exploration import MOST_DRAWN, Exploration
from polyml.explorer.schedule_view import Data, Sized, view
from polyml.explorer.steps import parse
from polyml.model.core.scop import Scop
from polyml.pictures.nests import parameters
from polyml.polyhedra.parameters import fix
from polyml.reading.input_limits import shown
from polyml.schedule.script.schedule import Schedule

MOST_BYTES = 64_000  # of a question
MOST_STEPS = 60  # of a question
MOST_KEPT = 500  # schedules
MOST_SIZE = 200  # of a parameter
TOO_LONG = f"a question has at most {MOST_BYTES:,} bytes, and says how many"
_KEYS = {"steps", "step", "sizes"}


class BadQuestion(Exception):
    """A question is not of the form that answers are given to. Its text says what is expected."""


@dataclass
class Answers:
    """Answers keeps the schedules after steps that were legal, so that a further step is proved alone.

    of: the exploration whose page asks.
    """

    of: Exploration
    _known: dict[tuple[str, ...], Schedule] = field(default_factory=dict)

    def reply(self, question: bytes) -> tuple[HTTPStatus, str]:
        """Returns the status and the JSON text with which a question is answered, a JSON text too, whatever brought it.

        The text of another status than OK is {"error": a sentence}.
        """
        try:
            if len(question) > MOST_BYTES:
                return _refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, TOO_LONG)
            answer = self.answer(json.loads(question))
        except BadQuestion as problem:
            return _refused(HTTPStatus.BAD_REQUEST, str(problem))
        except (ValueError, RecursionError):
            return _refused(HTTPStatus.BAD_REQUEST, "a question is a JSON text")
        except Exception as problem:  # a defect of polyml: the page says so, and goes on
            return _refused(HTTPStatus.INTERNAL_SERVER_ERROR, f"a defect of polyml: {type(problem).__name__}: {problem}")
        return HTTPStatus.OK, json.dumps(answer, separators=(",", ":"))

    def answer(self, question: object) -> Data:
        """Returns the answer to a question {"steps": [legal steps], "step": a further one or null, "sizes": {name: value} or null}.

        With a step: what `Exploration.told` returns. Without: {"picture": ..., "view": ...} of the schedule after the steps. A picture has
        the choices of sizes of the page, and behind them the sizes that the question asks for. Raises BadQuestion for another question.
        """
        if not isinstance(question, dict) or {*question} - _KEYS or not isinstance(question.get("steps"), list):
            raise BadQuestion('expected {"steps": [...], "step": "..." or null, "sizes": {...} or null}')
        steps, step, sizes = question["steps"], question.get("step"), question.get("sizes")
        if len(steps) > MOST_STEPS:
            raise BadQuestion(f"at most {MOST_STEPS} steps are taken")
        with self.of.schedule.problem.alone():
            return self._answer(tuple(steps), step, sizes)

    def _answer(self, steps: tuple[object, ...], step: object, sizes: object) -> Data:
        try:
            schedule = self._after(steps)
            own = self._sizes(sizes)
            sized = self.of.sized if own is None else (*self.of.sized, own)
            if step is not None:
                return self.of.answer(schedule, parse(step), sized)
            picture = None if own is None else self.of.picture(own.sizes)
            return {"picture": picture, "view": view(schedule, sized, with_code=True)}
        except PolymlError as problem:
            if step is not None and isinstance(problem, ScheduleError):
                return {"step": str(step), "method": "", "verdict": "refused", "why": problem.message, "notes": problem.notes}
            raise BadQuestion(problem.message) from None

    def _after(self, steps: tuple[object, ...]) -> Schedule:
        """Returns the schedule after steps, each of which is proved."""
        known: tuple[str, ...] = ()
        schedule = self.of.schedule
        if len(self._known) > MOST_KEPT:
            self._known.clear()
        for text in steps:
            step = parse(text)
            known = (*known, step.text)
            if known not in self._known:
                self._known[known] = step.applied(schedule)
            schedule = self._known[known]
        return schedule

    def _sizes(self, given: object) -> Sized | None:
        """Returns the points for the sizes of a question; None where it asks for none. Raises BadQuestion for sizes that are none."""
        if given is None:
            return None
        scop = self.of.scop
        names = parameters(scop)
        if not isinstance(given, Mapping) or {*given} != {*names}:
            raise BadQuestion(f"expected a size for each of {', '.join(names) or 'no parameter'}")
        for name, value in given.items():
            if type(value) is not int or not 0 <= value <= MOST_SIZE:
                raise BadQuestion(f"{name} is an integer from 0 to {MOST_SIZE}, not {shown(value)}")
        if count_bound(scop, given) > MOST_DRAWN:
            raise BadQuestion(f"more than {MOST_DRAWN:,} instances are not drawn; smaller sizes are")
        return exploration.sized(scop, dict(given))


def _refused(status: HTTPStatus, why: str) -> tuple[HTTPStatus, str]:
    return status, json.dumps({"error": why})


def count_bound(scop: Scop, sizes: Mapping[str, int]) -> int:
    """Returns how many instances there are at most for some sizes: those in the boxes around the domains."""
    total = 0
    for statement in scop.statements.values():
        domain = fix(statement.domain, sizes).project_out_all_params()
        total += 0 if domain.is_empty() else prod(high - low + 1 for low, high in polyhedra.ranges(domain))
    return total
