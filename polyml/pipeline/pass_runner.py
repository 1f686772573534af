"""How the pipeline runs a pass: its time is added up, what goes wrong in it is named, and Ctrl-C is answered before it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

import islpy as isl

from polyml import interrupts, pass_manager
from polyml.codegen.ir.program import CannotRunTogether
from polyml.errors import CompileError, PolymlError
from polyml.pass_manager import Pass
from polyml.pipeline.printing import texts
from polyml.polyhedra import BudgetExceeded, is_exhausted


class PassRunner:
    """A pass runner runs passes, adds up their seconds by stage, and remembers what each stage made.

    An unexpected exception inside a pass is raised as a CompileError, which names the pass and has the texts of what the stages
    before it made.

    timings: {stage: seconds}.
    passes: {(stage, name of a pass): seconds}.
    made: {stage: what it made last}, the latest stage last.
    """

    def __init__(self, timings: dict[str, float] | None = None):
        self.timings = {} if timings is None else timings
        self.passes: dict[tuple[str, str], float] = {}
        self.made: dict[str, object] = {}  # stage -> what it made, the latest at the end

    def run(self, step: Pass, value: Any, *given: Any, stage: str = "", **named: Any) -> Any:
        """Runs a pass on a value and returns what it makes. A Ctrl-C that was put off until now is raised before the pass runs.

        given, named: further arguments of the pass.
        stage: the stage to which the time is counted, where the pass itself names none.
        """
        interrupts.checkpoint()
        stage = step.stage or stage
        start = time.perf_counter()
        try:
            made = pass_manager.run(step, value, *given, **named)
            self.made.pop(stage, None)
            self.made[stage] = made
            return made
        except (PolymlError, BudgetExceeded, CannotRunTogether, isl.Error, RecursionError):
            raise
        except Exception as problem:
            if is_exhausted():  # isl had no answer: the budget around tells so
                raise
            message = f"stage {step.name} failed: {type(problem).__name__}: {problem}"
            failed = CompileError(message, notes=["this is a defect of polyml; the function itself may be fine"])
            failed.stages = tuple((each, text) for each, made in self.made.items() if (text := texts.text_of_any(made)))
            raise failed from problem
        finally:
            seconds = time.perf_counter() - start
            self.timings[stage] = self.timings.get(stage, 0.0) + seconds
            self.passes[stage, step.name] = self.passes.get((stage, step.name), 0.0) + seconds

    def through(self, passes: Iterable[Pass], value: Any, known: Mapping[str, object], *, stage: str) -> Any:
        """Runs a list of passes one after another, each on what the one before made, and returns what the last one makes.

        known: by name, the further arguments that passes take, and the conditions, true or false, under which alone some of them
            run.
        stage: the stage to which the time is counted, where a pass names none.
        """
        for step in passes:
            if not step.only or known[step.only]:
                value = self.run(step, value, stage=stage, **{name: known[name] for name in step.takes})
        return value
