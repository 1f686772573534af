"""The ways to run a kernel that must agree with plain Python."""

from __future__ import annotations

import contextlib
import random
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FunctionType

from tests.fuzz.program import Program, make_arguments


@dataclass(frozen=True)
class Engine:
    """prepare(function, program) -> callable, once per program; raises PolymlError to refuse.

    reorders: floats may differ within the reduction bound. rounds: the bound is that of operations with 11 bits, where there is float32.
    checks_first: nothing is written when a bound is violated.
    """

    name: str
    prepare: Callable[[FunctionType, Program], Callable]
    reorders: bool = False
    checks_first: bool = True
    rounds: bool = False


def _interpreter(function: FunctionType, program: Program) -> Callable:
    """The definition of the language."""
    from polyml.frontend.interpreter import interpret
    from polyml.frontend.parsing.parse import parse

    kernel = parse(function)
    return lambda *arguments: interpret(kernel, arguments)


def _scop(function: FunctionType, program: Program):
    from polyml.frontend.argument_types import arg_type
    from polyml.frontend.parsing.parse import parse
    from polyml.frontend.types.infer import infer
    from polyml.pipeline.stages import extract

    types = tuple(arg_type(a) for a in make_arguments(program, 0))
    return extract(infer(parse(function), types), aliased=_shares(program))


def _shares(program: Program) -> bool:
    """Whether two arguments are the same array."""
    return any(a.layout.startswith("=") for a in program.arguments)


def _tree(function: FunctionType, scop, loops, order: str) -> Callable:
    """The loops run one instance at a time on NumPy arrays."""
    from polyml.codegen.interpreter.call import UncertainBounds
    from polyml.codegen.interpreter.run import run

    def runner(*arguments):
        try:
            return run(loops, dict(zip(scop.params, arguments)), order=order)
        except UncertainBounds:  # the compiler runs such a call as Python
            return function(*arguments)

    return runner


def _source_order(function: FunctionType, program: Program) -> Callable:
    """isl's loops for the source's order."""
    from polyml.codegen.astgen.build import build

    scop = _scop(function, program)
    return _tree(function, scop, build(scop, scop.schedule), "source")


def _random_order(function: FunctionType, program: Program) -> Callable:
    """A random legal schedule, iterations of parallel loops in random order."""
    from polyml.codegen.astgen.build import build
    from polyml.model.core.dependence import dependences
    from tests.schedule.random_schedules import random_legal_schedule

    scop = _scop(function, program)
    if _shares(program):  # dependences do not know of it: the compiler keeps the source's order
        return _tree(function, scop, build(scop, scop.schedule), "source")
    schedule = random_legal_schedule(scop, dependences(scop), random.Random(program.seed))
    return _tree(function, scop, build(scop, schedule), "shuffled")


def _compiled(**options: object) -> Callable[[FunctionType, Program], Callable]:
    def prepare(function: FunctionType, program: Program) -> Callable:
        import polyml

        return polyml.kernel(fallback="error", cache=False, **options)(function)

    return prepare


def _in_small_caches(function: FunctionType, program: Program) -> Callable:
    """Compiled for strips of a few rows and blocks of a few iterations, as large arrays have them."""
    from unittest.mock import patch

    import polyml
    from polyml.model.running_maximum import running_maximum, statement_writer
    from polyml.runtime.storage import size_classes
    from polyml.schedule.strips import row_strips
    from polyml.schedule.tiling import blocking

    kernel = polyml.kernel(fallback="error", cache=False, threads=1 + program.seed % 2)(function)
    changes = (
        (statement_writer, "BLOCK", 3), (running_maximum, "ROWS", 2**40),
        (row_strips, "LEAST_SHARE", 0), (row_strips, "LARGEST", 4), (row_strips, "FEW", 4),
        (size_classes, "_LITTLE", {}), (size_classes, "_LITTLE_OF_MANY", 0), (blocking, "FIRST_SHARE", 0), (blocking, "FLAT_SHARE", 0), (blocking, "LEAST_DEPTH", 4), (blocking, "STRETCH", 1.0),
    )  # fmt: skip

    def runner(*arguments):
        with contextlib.ExitStack() as stack:
            for module, name, value in changes:
                stack.enter_context(patch.object(module, name, value))
            return kernel(*arguments)

    return runner


def _small_blocks() -> contextlib.ExitStack:
    """A context in which blocks are small, so that some have all of their iterations, and copy all that they may to shared memory."""
    from unittest.mock import patch

    from polyml.codegen.gpu import block_tiles, shared_tiles
    from polyml.schedule.gpu import launch_plan

    stack = contextlib.ExitStack()
    for module, name, value in (
        (launch_plan, "BLOCKS", {1: (4,), 2: (4, 2), 3: (4, 2, 1)}),
        (launch_plan, "TILE", ((2, 2), (2, 2))),
        (launch_plan, "TILE_OF_HALVES", ((2, 2), (2, 2))),
        (launch_plan, "ROWS", 2),
        (launch_plan, "BLOCK_OF_ROWS", (4, 2)),
        (launch_plan, "shares_rows", lambda *given: True),
        (block_tiles, "lines", lambda *given: (2, 1)),
        (shared_tiles, "FEWEST_LOADS", 0),
    ):
        stack.enter_context(patch.object(module, name, value))
    return stack


def _on_device(in_turn: bool) -> Callable[[FunctionType, Program], Callable]:
    """An OpenCL device, with launches for one that runs the threads of a block one after another, or for a GPU. Every other program has
    small blocks, so that there are some which have all of their iterations.
    """

    def prepare(function: FunctionType, program: Program) -> Callable:
        from unittest.mock import patch

        from polyml.runtime.gpu.opencl import OpenCl

        kernel = _compiled(fp="strict", target="opencl")(function, program)

        def runner(*arguments):
            blocks = _small_blocks() if program.seed % 2 else contextlib.nullcontext()
            with patch.object(OpenCl, "in_turn", in_turn), blocks:
                return kernel(*arguments)

        return runner

    return prepare


def _on_tensor_cores(function: FunctionType, program: Program) -> Callable:
    """CUDA with products of float32 on tensor cores, in blocks of one warp, of which even small programs have some whole ones."""
    from unittest.mock import patch

    from polyml.schedule.gpu import launch_plan

    kernel = _compiled(target="cuda", tf32=True)(function, program)

    def runner(*arguments):
        with patch.object(launch_plan, "TILE_OF_HALVES", ((8, 4), (4, 4))):
            return kernel(*arguments)

    return runner


def _with_device_arrays(function: FunctionType, program: Program) -> Callable:
    """An OpenCL device on which the arrays of a call are already, but for those that kernels do not take there."""
    import numpy as np
    import pyopencl as cl
    import pyopencl.array

    from polyml.errors import PolymlError

    kernel = _compiled(fp="strict", target="opencl")(function, program)
    device = next(device for platform in cl.get_platforms() for device in platform.get_devices())
    queue = cl.CommandQueue(cl.Context([device]))

    def runner(*arguments):
        def placed(each: object) -> object:
            is_taken = type(each) is np.ndarray and each.flags.c_contiguous and each.flags.writeable and each.dtype.kind != "c"
            return pyopencl.array.to_device(queue, each) if is_taken else each

        given = [placed(each) for each in arguments]
        moved = [(on_device, own) for on_device, own in zip(given, arguments) if on_device is not own]
        try:
            result = kernel(*given)
        except PolymlError as problem:
            if any("arrays on a device are for kernels" in note for note in problem.notes):  # plain Python runs it, or says why not
                return kernel(*arguments)
            raise
        for on_device, own in moved:
            own[...] = on_device.get()
        return _on_host(result, dict((id(on_device), own) for on_device, own in moved))

    return runner


def _on_host(result: object, given: dict[int, object]) -> object:
    """A result with NumPy arrays in place of those on the device. given: arguments of a call, by the identity of their arrays there."""
    if isinstance(result, tuple):
        return tuple(_on_host(each, given) for each in result)
    return given.get(id(result), result.get() if hasattr(result, "get") else result)


def _with_teams(function: FunctionType, program: Program) -> Callable:
    """An OpenCL device on which threads share loops whatever their sizes are; in every other program, blocks do too, and in two of three,
    teams run rows.
    """
    from unittest.mock import patch

    from polyml.runtime.gpu.host import code as host_code
    from polyml.runtime.gpu.opencl import OpenCl

    kernel = _compiled(target="opencl")(function, program)

    def runner(*arguments):
        parts = 1 + 2 * (program.seed % 2)
        rows = (lambda *given: any_variant(program.seed, *given)) if program.seed % 3 else lambda *given: None
        with (
            patch.object(host_code, "parts", lambda *given: parts),
            patch.object(host_code, "row_variant", rows),
            patch.object(OpenCl, "in_turn", False),
        ):
            return kernel(*arguments)

    return runner


def _with_cuda_teams(function: FunctionType, program: Program) -> Callable:
    """A CUDA device, or its emulator, with any sums in any order: threads share loops whatever the sizes are, and teams of each kind that has
    room run rows. Every other program has small blocks.
    """
    from unittest.mock import patch

    from polyml.runtime.gpu.host import code as host_code

    kernel = _compiled(target="cuda")(function, program)

    def runner(*arguments):
        with (
            patch.object(host_code, "parts", lambda *given: 1 + 2 * (program.seed % 2)),
            patch.object(host_code, "row_variant", lambda *given: any_variant(program.seed, *given)),
            _small_blocks() if program.seed % 2 else contextlib.nullcontext(),
        ):
            return kernel(*arguments)

    return runner


def any_variant(number: int, trips: int, rows: int, variants: Sequence[tuple[int, int]]) -> int:
    """In place of `team_choice.row_variant`: one of the teams that have room for rows, by a number."""
    able = [position for position, (_, most) in enumerate(variants) if trips <= most or not most]
    return able[number % len(able)]


def _random_native(function: FunctionType, program: Program) -> Callable:
    """A random legal schedule in place of the compiler's own, compiled with vectors and threads."""
    from unittest.mock import patch

    import polyml
    from polyml.schedule.compute import Scheduled
    from tests.schedule.random_schedules import random_legal_schedule

    def any_legal(scop, deps, request, reductions):
        return Scheduled(random_legal_schedule(scop, deps, random.Random(program.seed)), ("random",))

    kernel = polyml.kernel(fallback="error", cache=False, fp="strict", threads=2)(function)

    def runner(*arguments):
        with patch("polyml.runtime.storage.schedule_cache.compute", any_legal):
            return kernel(*arguments)

    return runner


def _scripted(fp: str) -> Callable[[FunctionType, Program], Callable]:
    """A random script of schedule steps, saved and loaded again, compiled with threads."""

    def prepare(function: FunctionType, program: Program) -> Callable:
        import tempfile

        import polyml
        from polyml.errors import ScheduleError
        from tests.fuzz.scripts import random_script

        kernel = polyml.kernel(fallback="error", cache=False, fp=fp, threads=2)(function)
        rng = random.Random(program.seed)
        start = kernel.schedule(rng.choice(("auto", "source")), *make_arguments(program, 0))
        schedule = random_script(start, rng).schedule
        with tempfile.NamedTemporaryFile("r+", suffix=".txt") as file:
            schedule.save(file.name)
            scheduled = kernel.with_schedule(kernel.load_schedule(file.name))

        def runner(*arguments):
            try:
                return scheduled(*arguments)
            except ScheduleError as error:  # sizes that broadcast in another way: these are other statements
                if "the schedule is for" not in error.message:
                    raise
                return function(*arguments)

        return runner

    return prepare


def _scripted_launches(function: FunctionType, program: Program) -> Callable:
    """A random script for GPUs, saved and loaded again, whose launches run thread by thread, in a random order."""
    import tempfile

    import polyml
    from polyml.codegen.interpreter import launches
    from polyml.codegen.interpreter.call import UncertainBounds
    from polyml.errors import ScheduleError
    from tests.fuzz.scripts import random_script

    kernel = polyml.kernel(fallback="error", cache=False, fp="strict", target="opencl")(function)
    rng = random.Random(program.seed)
    start = kernel.schedule(rng.choice(("auto", "source")), *make_arguments(program, 0))
    schedule = random_script(start, rng).schedule
    with tempfile.NamedTemporaryFile("r+", suffix=".txt") as file:
        schedule.save(file.name)
        loaded = kernel.load_schedule(file.name)
    problem = loaded.problem
    try:
        made = problem.generate(loaded.tree)
    except ScheduleError as error:
        if "there is no code for the schedule" not in error.message or _asks_for_gpus(loaded):
            raise
        return function  # an order without a mapping, for which isl's loops are not proved

    def runner(*arguments):
        if problem.sizes and _shapes(arguments) != _shapes(make_arguments(program, 0)):  # made for these sizes alone
            return function(*arguments)
        try:
            return launches.run(made, dict(zip(problem.scop.params, arguments)), order="shuffled", seed=program.seed)
        except UncertainBounds:  # the compiler runs such a call as Python
            return function(*arguments)

    return runner


def _asks_for_gpus(schedule) -> bool:
    """Whether a loop has a directive for GPUs."""
    from polyml.schedule.tree.loop_tree import loops

    return any(loop.directives.of_gpu for _, loop in loops(schedule.loops))


def _shapes(arguments: tuple) -> list[tuple[int, ...]]:
    return [getattr(argument, "shape", ()) for argument in arguments]


def _shown(function: FunctionType, program: Program) -> Callable:
    """What polyml shows of the program is compared with its instances; then it runs as compiled."""
    from tests.fuzz.shown import check

    check(function, program)
    return _compiled(threads=1, fp="strict")(function, program)


def _library(function: FunctionType, program: Program) -> Callable:
    """A library that is built for C, loaded again."""
    from tests.fuzz.libraries import loaded

    return loaded(function, program)


def trace(error: Exception) -> str:
    """The message, and the innermost frames of the traceback."""
    frames = traceback.format_exception(type(error), error, error.__traceback__)
    return "".join(frames)[-3000:]


_ALL = (
    Engine("interpret", _interpreter, checks_first=False),
    Engine("tree", _source_order),
    Engine("random", _random_order),
    Engine("random-native", _random_native),
    Engine("strict", _compiled(fp="strict", threads=1)),
    Engine("default", _compiled(threads=1), reorders=True),
    Engine("threads", _compiled(threads=2), reorders=True),
    Engine("small-caches", _in_small_caches, reorders=True),
    Engine("source", _compiled(fp="strict", schedule="source", threads=1)),
)
_SCRIPTS = (  # take as long as all others together
    Engine("script", _scripted("strict")),
    Engine("script-sums", _scripted("reassociate"), reorders=True),
    Engine("script-launches", _scripted_launches),
)
_SHOWN = (  # half a second for each program, and a second for each library
    Engine("shown", _shown),
    Engine("library", _library),
)
_DEVICES = (  # where OpenCL has a device, or CUDA one or its emulator
    Engine("opencl", _on_device(in_turn=False)),
    Engine("opencl-in-turn", _on_device(in_turn=True)),
    Engine("opencl-arrays", _with_device_arrays),
    Engine("opencl-teams", _with_teams, reorders=True),
    Engine("cuda", _compiled(fp="strict", target="cuda")),
    Engine("cuda-teams", _with_cuda_teams, reorders=True),
    Engine("cuda-tf32", _on_tensor_cores, reorders=True, rounds=True),
)
NAMES = tuple(engine.name for engine in _ALL)
SCRIPTS = tuple(engine.name for engine in _SCRIPTS)
ENGINES = {engine.name: engine for engine in (*_ALL, *_SCRIPTS, *_SHOWN, *_DEVICES)}
