"""Texts of stages and passes, written by name where the setting `debug` says so, also where a later stage fails."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import islpy as isl

from polyml import config, debug, pass_manager, polyhedra
from polyml.codegen.ir.program import Program
from polyml.config import Options
from polyml.frontend import syntax
from polyml.model.core.dependence import Dependences
from polyml.model.core.printer import OPERATIONS
from polyml.model.core.scop import Scop
from polyml.pass_manager import Pass
from polyml.pipeline.printing import texts
from polyml.schedule.compute import Scheduled

_KINDS = {
    "kernel": (syntax.Kernel,), "domain": (Scop,), "deps": (Dependences,), "schedule": (Scheduled, isl.Schedule), "ast": (Program,),
}  # fmt: skip


def dumps(options: Options, name: str, made: Mapping[str, object]) -> AbstractContextManager[None]:
    """Returns a context that dumps what a pass makes as soon as it has run, if the setting `debug` names the pass.

    Where a `with` block of this context raises an exception, the last results of the stages that `debug` names are dumped too.

    name: the name of the kernel.
    made: {stage: what it made last}, which the caller fills meanwhile, the latest stage last.
    """
    return _dumps(options, name, made) if options.debug else nullcontext()


@contextmanager
def _dumps(options: Options, name: str, made: Mapping[str, object]) -> Iterator[None]:
    def dump(step: Pass, before: Any, after: Any, seconds: float) -> None:
        if step.name in named:
            with polyhedra.uncharged(), polyhedra.budget(OPERATIONS):  # the compilation does not pay for what is printed
                debug.dump(step.name, texts.shown(after), name=name)

    named = set(options.debug).intersection(config.PASSES)
    with pass_manager.watched(dump) if named else nullcontext():
        try:
            yield
        except Exception:
            for stage in options.debug:
                if (value := _last(stage, made)) is not None:
                    debug.dump(stage, texts.shown(value), name=name)
            raise


def _last(stage: str, made: Mapping[str, object]) -> Any:
    """Returns the last value of the kind that a stage makes; None where there is none.

    made: {stage: what it made last}, the latest stage last.
    """
    if stage == "llvm":
        return made.get("llvm")
    return next((value for value in reversed(list(made.values())) if isinstance(value, _KINDS.get(stage, ()))), None)
