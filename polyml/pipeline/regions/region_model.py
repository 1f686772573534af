"""The model of a kernel in which what is not affine are regions: which loops stay loops of the model, and where indices are tested."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from math import prod

from polyml.errors import NotAffineError, PolymlError, SizesNeeded
from polyml.frontend import syntax
from polyml.machines import cpu
from polyml.model.core.dependence import Dependences
from polyml.model.index_arrays.expected import with_expected
from polyml.model.index_arrays.origins import MONOTONIC
from polyml.model.index_arrays.partial_scatters import Scattering, Scatters, in_chunks
from polyml.model.index_arrays.strips import in_strips
from polyml.model.lowering.regions.region_building import DataRequirement, LoopsAround, has_nest_in_loop, pays_tiles
from polyml.pipeline.pass_runner import PassRunner
from polyml.pipeline.regions.shared_loops import LEAST_WORK, Around, Remodelling, divided, summed, with_ended
from polyml.pipeline.stages import Model, ModelRequest, modelled
from polyml.polyhedra import BudgetExceeded
from polyml.runtime.storage.size_classes import Sizes
from polyml.schedule.affine.source_threads import (
    in_order,
    is_every_region_threaded,
    sequential_loops,
    short_iterations,
)
from polyml.source import Loc

_MOST_CHUNKS = 16  # of sums at indices from data, each with memory of its own
REPEATED_ELEMENTS = 2**16  # of the largest array: loops over more, again and again, are lifted out of regions


def with_regions(kernel: syntax.Kernel, types: tuple[syntax.ArgType, ...], wanted: ModelRequest, runner: PassRunner) -> Model:
    """Returns the model of a kernel for these argument types, in which what is not affine are regions.

    Raises NotAffineError for what no region has, and where plain Python, which runs affine loops compiled, is expected to be faster;
    SizesNeeded where the kernel is affine for known sizes and integer arguments, unless one for all of them is wanted.
    """
    request = wanted
    try:
        return modelled(kernel, types, wanted, runner)
    except NotAffineError as problem:
        if isinstance(problem, SizesNeeded) and not wanted.general:
            raise
        model, wanted = _with_tests(kernel, types, wanted, runner, problem)
        with_loops = cache(partial(_with_loops, kernel, types, wanted, runner))  # divided loops may be tried, and then taken
        make = Remodelling(wanted, with_loops, runner)
        around = divided(model, make)
        if pays_tiles(around.model.scop):
            raise
        repeats, ended = _repeats(around), with_ended(around, make)
        if repeats and _most_elements(wanted.sizes) >= REPEATED_ELEMENTS and (_repeats(ended) or pays_tiles(ended.model.scop)):
            raise
        around = ended
    chunks = _scatters(around, make)
    if chunks.divided and (chunked := _with_chunks(around, chunks, make)) is not None:
        return chunked
    around = summed(replace(around, by_sizes=around.by_sizes or bool(chunks.divided or chunks.whole)), make)
    model = _with_strips(around, make) or around.model
    ordered = around.ordered(make.known(model) is not None)
    by_sizes = repeats or around.by_sizes or model.chosen_by_sizes
    made = replace(model, notes=(*model.notes, *map(str, ordered)), ordered=ordered, chosen_by_sizes=by_sizes)
    return _as_expected(
        made, make, partial(with_regions, types=types, wanted=replace(request, expects=False), runner=runner), kernel
    )


def _as_expected(made: Model, make: Remodelling, anew: Callable[[syntax.Kernel], Model], kernel: syntax.Kernel) -> Model:
    """Returns the model of a kernel that expects index arrays to be monotonic, where loops that run in order go to threads then and have the work
    for that; else the one that it has.

    anew: makes the model of a kernel, which expects nothing else
    """
    loops = [loop for loop in made.ordered if loop.helpful and all(fact.kind == MONOTONIC for fact in loop.helpful)]
    if not loops or not make.wanted.expects or not make.is_shared(made):
        return made
    arrays = dict.fromkeys(loop.names[fact.array] for loop in loops for fact in loop.helpful)
    try:
        tried = anew(with_expected(kernel, [*arrays]))
    except (BudgetExceeded, NotAffineError):
        return made
    work = make.work(tried)
    if max((work.get(loop.place, 0) for loop in loops), default=0) < LEAST_WORK:
        return replace(made, chosen_by_sizes=True)
    note = f"tested at entry: no number is less than the one before it in {' and '.join(arrays)}; other code runs other calls"
    return replace(tried, notes=(note, *tried.notes), chosen_by_sizes=True)


def in_region(
    kernel: syntax.Kernel, types: tuple[syntax.ArgType, ...], wanted: ModelRequest, runner: PassRunner, places: frozenset[Loc]
) -> Model | None:
    """Returns the model of a kernel with the loops at these places in regions; None where no region has them."""
    try:
        around = LoopsAround(sequential=places)
        return _with_tests(kernel, types, replace(wanted, around=around), runner, NotAffineError("no region has it"))[0]
    except NotAffineError:
        return None


def _with_tests(
    kernel: syntax.Kernel, types: tuple[syntax.ArgType, ...], wanted: ModelRequest, runner: PassRunner, problem: NotAffineError
) -> tuple[Model, ModelRequest]:
    """Returns the model of a kernel with regions, and the request for it, in which indices and slices are tested as the program runs
    where nothing is known of them before. Raises `problem` where there is no such model.
    """
    tested = frozenset[Loc]()
    while True:
        wanted = replace(wanted, regions=True, tested=tested)
        try:
            return modelled(kernel, types, wanted, runner), wanted
        except SizesNeeded:
            raise
        except DataRequirement as found:
            if found.places <= tested and wanted.late:
                raise _explained(problem, found) from None
            wanted = replace(wanted, late=found.places <= tested or wanted.late)
            tested |= found.places
        except NotAffineError as within:
            if wanted.late:
                raise _explained(problem, within) from None
            wanted = replace(wanted, late=True)


def _explained(problem: NotAffineError, within: NotAffineError) -> PolymlError:
    """Returns the error of a kernel that is not affine, with a note on what no region has, which is why it is refused.

    within: the error of the kernel with regions
    """
    if (problem.message, problem.loc) == (within.message, within.loc):
        return problem
    line = "" if within.loc is None else f"line {within.loc.line}: "
    return problem.noted(f"and no region has it, since {line}{within.message}")


def _with_loops(
    kernel: syntax.Kernel, types: tuple[syntax.ArgType, ...], wanted: ModelRequest, runner: PassRunner, around: LoopsAround
) -> Model:
    """Returns the model of a kernel with regions. around: what becomes of loops that have regions inside"""
    return modelled(kernel, types, replace(wanted, around=around), runner)


def _scatters(around: Around, make: Remodelling) -> Scatters:
    """Returns the kernel of a model with sums at indices from data in chunks that go to threads, where that pays."""
    model, wanted = around.apart, make.wanted
    if not around.loops.sequential or not wanted.restarts or not make.is_shared(model):
        return Scatters(model.typed)
    extents = wanted.sizes.extents if isinstance(wanted.sizes, Sizes) else None
    reorders = wanted.options.fp != "strict"
    return in_chunks(model.typed, Scattering(around.loops.sequential, _chunk_count(), reorders, dict(extents or ())))


def _with_chunks(around: Around, chunks: Scatters, make: Remodelling) -> Model | None:
    """Returns the model of a kernel with sums in chunks; None where they do not go to threads."""
    model, done = around.apart, chunks.divided
    loops = replace(around.loops, sequential=around.loops.sequential - done)
    tried = make.tried(chunks.kernel, loops, lambda made: sequential_loops(made.scop, made.dependences) <= loops.sequential)
    if tried is None or not tried[1]:
        return None
    ordered = in_order(model.scop, loops.sequential)
    lines = (
        f"the loop in line {place.line} runs in {_chunk_count()} chunks on threads, each of which updates memory of its own"
        for place in done
    )
    notes = (*model.notes, *lines, *map(str, ordered))
    return replace(tried[0], typed=model.typed, notes=notes, ordered=ordered, chosen_by_sizes=True)


def _chunk_count() -> int:
    """Returns how many chunks loops are divided into."""
    return min(max(cpu.usable_cores(), 2), _MOST_CHUNKS)


def _with_strips(around: Around, make: Remodelling) -> Model | None:
    """Returns the model with short iterations of regions in strips, which regions run as loops of their own, where iterations are
    independent by what is known of index arrays; None where there are none.
    """
    model, order = around.model, around.loops.sequential
    bare = replace(model.scop, facts=())
    if not model.scop.facts or make.known(model) is None:
        return None
    places = short_iterations(bare, sequential_loops(bare, Dependences(bare)) - sequential_loops(model.scop, model.dependences))
    typed = in_strips(model.typed, places)
    if typed is model.typed:
        return None
    loops = replace(around.loops, sequential=order | places)
    tried = make.tried(typed, loops, lambda made: is_every_region_threaded(made.scop, made.dependences, order))
    return replace(tried[0], typed=model.typed, notes=model.notes) if tried is not None and tried[1] else None


def _repeats(around: Around) -> bool:
    """Returns whether a region of a model runs nests again and again."""
    return any(map(has_nest_in_loop, around.model.scop.statements.values()))


def _most_elements(sizes: Sizes | Mapping[str, int] | None) -> int:
    """Returns how many elements the largest array of the call has; 0 where that is not known, or all arrays are small."""
    extents = sizes.extents if isinstance(sizes, Sizes) else None
    return max((prod(shape) for _, shape in extents or ()), default=0)
