"""The readable text of what passes make, by the kind of value. Nothing is printed until somebody asks for it."""

from __future__ import annotations

from collections.abc import Callable
from pprint import pformat
from typing import Any

import islpy as isl

from polyml.codegen.ir import printer as program_text
from polyml.codegen.ir.program import Program
from polyml.frontend import syntax
from polyml.frontend.text import writer as kernel_text
from polyml.model.core import printer as model_text
from polyml.model.core.dependence import Dependences
from polyml.model.core.nest import Nest
from polyml.model.core.scop import Scop
from polyml.schedule.compute import Scheduled

_WIDTH = 120

_TEXTS: dict[type, Callable[[Any], str]] = {
    syntax.Kernel: kernel_text.text,
    Nest: lambda nest: pformat(nest, width=_WIDTH),
    Scop: model_text.scop_text,
    Dependences: model_text.dependences_text,
    isl.Schedule: model_text.schedule_text,
    Scheduled: lambda found: model_text.schedule_text(found.tree),
    Program: program_text.text,
}


def text(made: object) -> str:
    """The text of a kernel, nest, SCoP, schedule or program, or of dependences; "" for what has none."""
    return _TEXTS.get(type(made), lambda _: "")(made)


def text_of_any(made: object) -> str:
    """The same of what a failure left, which may be no value that can be printed."""
    try:
        return text(made)
    except Exception as problem:
        return f"(it cannot be printed: {problem!r})"
