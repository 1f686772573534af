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
from polyml.pipeline import texts
from polyml.polyhedra import BudgetExceeded


class PassRunner:
    """A runner runs passes and adds up their seconds by stage.

    timings: stage -> seconds.
    made: stage -> what was made last in it, the latest one at the end.
    What goes wrong inside a pass is a CompileError that names the pass, and has the texts of what those before it made.
    """

    def __init__(self, timings: dict[str, float] | None = None):
        self.timings = {} if timings is None else timings
        self.made: dict[str, object] = {}  # stage -> what it made, the latest at the end

    def run(self, step: Pass, value: Any, *given: Any, stage: str = "", **named: Any) -> Any:
        """Runs a pass on a value, and returns what it makes.

        stage: the stage whose time it counts to, where the pass itself names none.
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
            message = f"stage {step.name} failed: {type(problem).__name__}: {problem}"
            failed = CompileError(message, notes=["this is a defect of polyml; the function itself may be fine"])
            failed.stages = tuple((each, text) for each, made in self.made.items() if (text := texts.text_of_any(made)))
            raise failed from problem
        finally:
            self.timings[stage] = self.timings.get(stage, 0.0) + time.perf_counter() - start

    def through(self, passes: Iterable[Pass], value: Any, known: Mapping[str, object], *, stage: str) -> Any:
        """Runs the passes of a list one after another, and returns what the last one makes.

        known: what passes take besides the value, and the facts without which some do not run, by name.
        """
        for step in passes:
            if not step.only or known[step.only]:
                value = self.run(step, value, stage=stage, **{name: known[name] for name in step.takes})
        return value
