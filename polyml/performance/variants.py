"""The forms of a kernel that a report compares, orders of its instances: the source's, a tiled one, the compiler's or a given."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

import islpy as isl

from polyml.codegen.astgen.build import build
from polyml.codegen.ir.program import Jam, Program, with_paths
from polyml.config import Options
from polyml.errors import ConfigError
from polyml.frontend.syntax import ArgType, Kernel
from polyml.model.core.scop import Scop
from polyml.pipeline import compile as pipeline
from polyml.runtime.storage.size_classes import Sizes
from polyml.schedule.script.file import Saved
from polyml.schedule.script.schedule import Schedule
from polyml.schedule.tree.loop_tree import Block, Leaf, Loop, Node


@dataclass(frozen=True)
class Form:
    """A Form is a kernel in one order of its instances.

    name: "source" for the source's order, "tiled 32, 32" for this in tiles, "polyml" for the compiler's order, "given" for a
        user's.
    tree: the schedule, { S[i] -> [time] }.
    program: the loops that run.
    lanes: by statement, how many of its instances share a vector at most; 1 where it is not vectorised.
    notes: what the compiler says of it.
    """

    name: str
    scop: Scop = field(repr=False)
    tree: isl.Schedule = field(repr=False)
    program: Program = field(repr=False)
    lanes: Mapping[str, int]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class KernelCall:
    """A KernelCall is what the compiler is asked for: a kernel, with the types and layouts of its arguments.

    sizes: the sizes of the call, by which tiles and vectors are chosen.
    alone: returns a context in which no other thread compiles.
    given: a schedule, where none is to be looked for.
    """

    kernel: Kernel
    types: tuple[ArgType, ...]
    layouts: tuple[str, ...]
    sizes: Sizes
    options: Options
    alone: Callable[[], AbstractContextManager]
    given: Saved | None = None


def forms(call: KernelCall, tile: Sequence[int] = ()) -> Iterator[Form]:
    """Yields the forms of a kernel: in the source's order, in this order with tiles where sizes are given, and as polyml compiles
    it.

    tile: sizes of tiles of the source's loops, the outermost first; (): no tiles.

    Raises ConfigError where there are more sizes than loops around each other, IllegalSchedule where tiles break a dependence.
    """
    source = pipeline.source_order(call.kernel, call.types, call.options)
    yield Form("source", source.scop, source.scop.schedule, source, _lanes(source))
    if tile:
        yield _tiled(call, tuple(tile))
    compiled = pipeline.compile(call.kernel, _request(call), given=call.given)
    yield form_of("polyml" if call.given is None else "given", compiled)


def form_of(name: str, compiled: pipeline.Compiled) -> Form:
    """Returns what the compiler made of a kernel as a Form with the given name."""
    program = compiled.program
    return Form(name, compiled.scop, compiled.schedule, program, _lanes(program), compiled.artifact.notes)


def source_schedule(call: KernelCall) -> Schedule:
    """Returns the source's order of the kernel as a schedule script, to which steps can be added."""
    return pipeline.schedule_of(call.kernel, _request(call), "source", call.alone)


def _request(call: KernelCall) -> pipeline.CompileRequest:
    """Returns the compilation that the pipeline is asked for: types, layouts, options and sizes of the call."""
    return pipeline.CompileRequest(call.types, call.layouts, call.options, sizes=call.sizes)


def _tiled(call: KernelCall, tile: tuple[int, ...]) -> Form:
    """Returns the kernel in the source's order with its loops tiled. tile: sizes of tiles, the outermost loop's first.

    Raises ConfigError where there are more sizes than loops around each other, IllegalSchedule where tiles break a dependence.
    """
    schedule = tiled_schedule(call, tile)
    scop = schedule.problem.scop
    program = build(scop, schedule.tree, dict(schedule.problem.reductions))
    return Form(tiled_name(tile), scop, schedule.tree, program, _lanes(program))


def tiled_name(tile: Sequence[int]) -> str:
    """Returns the name of the form with tiles of these sizes."""
    return f"tiled {', '.join(map(str, tile))}"


def tiled_schedule(call: KernelCall, tile: Sequence[int]) -> Schedule:
    """Returns the source's order of the kernel with its loops tiled. tile: sizes of tiles, the outermost loop's first.

    Raises ConfigError where there are more sizes than loops around each other, IllegalSchedule where tiles break a dependence.
    """
    schedule = source_schedule(call)
    chain = _chain(schedule.loops)
    if len(chain) < len(tile):
        found = f"its loops around each other are {', '.join(chain)}" if chain else "it has no loops"
        raise ConfigError(f"there are {len(tile)} tile sizes and {len(chain)} loops of {call.kernel.name} to tile", notes=[found])
    return schedule.tile(dict(zip(chain, tile)))


def _chain(node: Node) -> list[str]:
    """Returns the names of the loops of a nest, outermost first: each has the next one as its whole body.

    Of several such nests side by side, the one with most loops is taken.
    """
    if isinstance(node, Leaf):
        return []
    if isinstance(node, Block):
        return max((_chain(part.body) for part in node.parts), key=len, default=[])
    return [node.name, *(_chain(node.body) if isinstance(node.body, Loop) else [])]


def _lanes(program: Program) -> dict[str, int]:
    """Returns, by statement, how many of its instances share a vector at most; 1 where it is not vectorised."""
    found: dict[str, int] = {}
    for instance, path in with_paths(program.body):
        lanes = max((jam.lanes for jam in path if isinstance(jam, Jam)), default=1)
        found[instance.statement] = max(found.get(instance.statement, 1), lanes)
    return found
