"""One compilation with all that the remarks on it are found from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from polyml import pass_manager
from polyml.machines import cpu

if TYPE_CHECKING:
    from polyml.api.calls.specialisation import Request
    from polyml.codegen.ir.program import Program
    from polyml.model.nest_passes.changes import NestChange
    from polyml.pipeline.compile import Compiled
    from polyml.remarks.facts import Facts


def facts_of(compile_: Callable[[], Compiled], wanted: Request) -> Facts:
    """Compiles, and returns all that remarks on the compilation are found from. No other thread may use isl meanwhile.

    compile_: compiles for the request.
    """
    from polyml.remarks.facts import Facts

    before: dict[str, Program] = {}

    def watch(step: pass_manager.Pass, given: Any, made: Any, seconds: float) -> None:
        if step.name == "build":  # of a candidate: what was found of one that was given up is not of this one
            before.clear()
        elif step.name in ("pack", "vectorize"):
            before[step.name] = given

    with pass_manager.watched(watch), nest_changes() as changes:
        compiled = compile_()
    return Facts(
        scop=compiled.scop,
        dependences=compiled.dependences,
        tree=compiled.schedule,
        reductions={name: each for name, each in compiled.program.reductions.items() if name in compiled.scop.statements},
        program=compiled.program,
        unpacked=before.get("pack"),
        scalar=before.get("vectorize"),
        changes=tuple(changes),
        notes=compiled.artifact.notes,
        options=wanted.options,
        machine=cpu.host(),
        layouts=wanted.layouts,
        sizes=compiled.sizes,
        aliased=wanted.aliased,
        ordered=compiled.ordered,
    )


@contextmanager
def nest_changes() -> Iterator[dict[NestChange, None]]:
    """Yields what passes on nests do with arrays inside of a `with` block, where a kernel is compiled once: keys that are there at
    the block's end, in order.
    """
    from polyml.model.core.nest import Nest
    from polyml.model.nest_passes.changes import changes

    found: dict[NestChange, None] = {}

    def watch(step: pass_manager.Pass, given: Any, made: Any, seconds: float) -> None:
        if step.name == "resolve":  # a nest is made anew
            found.clear()
        elif isinstance(given, Nest) and isinstance(made, Nest):
            found.update(dict.fromkeys(changes(given, made)))

    with pass_manager.watched(watch):
        yield found
