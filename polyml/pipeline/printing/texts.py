"""The readable text of what passes make, by the kind of value. Nothing is printed until somebody asks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import islpy as isl

from polyml.codegen.ir import printer as program_text
from polyml.codegen.ir.program import Program
from polyml.codegen.llvm import builder
from polyml.frontend import syntax
from polyml.frontend.text import writer as kernel_text
from polyml.model.core import nest_text
from polyml.model.core import printer as model_text
from polyml.model.core.dependence import Dependences
from polyml.model.core.nest import Nest
from polyml.model.core.scop import Scop
from polyml.schedule.compute import Scheduled

_TEXTS: dict[type, Callable[[Any], str]] = {
    syntax.Kernel: kernel_text.text,
    Nest: nest_text.text,
    Scop: model_text.scop_text,
    Dependences: model_text.dependences_text,
    isl.Schedule: model_text.schedule_text,
    Scheduled: lambda found: model_text.schedule_text(found.tree),
    Program: program_text.text,
}


def text(made: object) -> str:
    """Returns the text of a kernel, nest, SCoP, schedule, program or dependences; "" for any other value."""
    return _TEXTS.get(type(made), lambda _: "")(made)


def shown(made: object) -> str:
    """Returns the text of what a pass made, for people to read: for most values what `text` returns.

    A dictionary becomes lines "name: value" and LLVM code its own text; after a program come lines on its scans and arrays.
    """
    if isinstance(made, dict):
        return "\n".join(f"{name}: {fact}" for name, fact in made.items())
    if isinstance(made, tuple) and made and isinstance(made[0], builder.Unit):
        return builder.text(made)
    if isinstance(made, Program):
        return "\n".join([text(made), *_beside_the_loops(made)])
    return text(made)


def _beside_the_loops(program: Program) -> Iterator[str]:
    """Yields lines on what a program has besides its loops: scans, the parts of arrays that have memory, and prefetches."""
    yield from (f"scan {name}: {scan.operator} over {scan.array}" for name, scan in program.scans.items())
    for name, window in program.windows.items():
        sizes = ("all" if length is None else f"{length} from {low}" for low, length in zip(window.low, window.lengths))
        ring = "" if window.folded is None else f", a ring in dimension {window.folded}"
        yield f"memory of {name}: {', '.join(sizes)}{ring}"
    yield from (f"memory of {name}: that of {owner}" for name, owner in program.shared.items())
    for name, reads in program.prefetches.items():
        arrays = [read.array for read in program.scop.statements[name].reads]
        yield from (f"fetch for {name}: {arrays[read]} at {e} + {step}" for read, (e, step) in reads.items())


def text_of_any(made: object) -> str:
    """Returns what `text` returns; where `text` fails, a line in parentheses with the exception instead of an error."""
    try:
        return text(made)
    except Exception as problem:
        return f"(it cannot be printed: {problem!r})"
