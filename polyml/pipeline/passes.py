"""The whole compiler on one screen: every pass in the order in which passes run, and why each stands where it stands.

    function --parse--> Kernel --KERNEL--> Kernel --resolve--> Nest --NEST--> Nest --extract--> Scop --SCOP--> Scop
             Scop --schedule--> Schedule --SCHEDULE--> Schedule --build--> Program --PROGRAM--> Program --llvm--> LLVM text --object--> code

A pass is found by its name: POLYML_DEBUG=NAME, `polyml show --after NAME`, `polyml trace`, tests/.../test_NAME.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import islpy as isl

from polyml import pass_manager
from polyml.codegen.astgen.build import build
from polyml.codegen.llvm.emit import emit
from polyml.codegen.passes.balance import balance
from polyml.codegen.passes.fold_storage import fold_storage
from polyml.codegen.passes.full_tiles import separate_full_tiles
from polyml.codegen.passes.index_bounds import index_bounds
from polyml.codegen.passes.mark_scans import mark_scans
from polyml.codegen.passes.packing.pack import pack
from polyml.codegen.passes.prefetch import prefetch
from polyml.codegen.passes.privatize import privatize
from polyml.codegen.passes.privatize_reductions import privatize_reductions
from polyml.codegen.passes.region_lanes import region_lanes
from polyml.codegen.passes.share_memory import share_memory
from polyml.codegen.passes.split_loops import split_loops
from polyml.codegen.passes.vectorize import vectorize
from polyml.frontend.algebra.rewrite import rewritten, unchanged
from polyml.frontend.arrays.lower import lowered
from polyml.frontend.live_ranges import split
from polyml.frontend.types.infer import infer
from polyml.model.core.dependence import dependences
from polyml.model.core.reductions import reductions
from polyml.model.core.scop import Scop
from polyml.model.lowering.arithmetic.complex_parts import in_parts
from polyml.model.lowering.arithmetic.conditional_extrema import with_extrema
from polyml.model.lowering.arithmetic.conditional_flags import with_disjunctions
from polyml.model.lowering.extract import to_scop
from polyml.model.lowering.parameters import without_value_arguments
from polyml.model.lowering.resolve import resolve
from polyml.model.nest_passes import alike_sizes, equal_sizes
from polyml.model.nest_passes.block_argmax import in_blocks
from polyml.model.nest_passes.copy_coalescing import coalesce
from polyml.model.nest_passes.elements.array_contraction import contracted
from polyml.model.nest_passes.elements.in_place_sums import added_in_place
from polyml.model.nest_passes.elements.symmetric_results import halved
from polyml.model.nest_passes.elements.update_chains import joined
from polyml.model.nest_passes.forward_substitution import forward
from polyml.model.nest_passes.inline_arrays import contract
from polyml.model.nest_passes.narrow_counters import counters_in_64_bits, with_steps_added
from polyml.model.nest_passes.reshaped_copies import in_source_order
from polyml.model.nest_passes.scalar_placement import place
from polyml.model.nest_passes.unroll_sums import unrolled
from polyml.model.running_maximum.running_maximum import in_blocks as in_column_blocks
from polyml.model.scop_passes.align_slices import rebase
from polyml.model.scop_passes.array_expansion import expand_arrays
from polyml.model.scop_passes.masked_updates import without_masked_updates
from polyml.model.scop_passes.scalar_expansion import expand
from polyml.model.scop_passes.term_by_term import term_by_term
from polyml.pass_manager import Pass
from polyml.runtime.loading.assemble import Assembler
from polyml.runtime.storage.disk_cache import Cache
from polyml.runtime.storage.schedule_cache import remembered
from polyml.schedule.affine.distribution import divide, with_versions
from polyml.schedule.affine.fusion import fuse
from polyml.schedule.affine.shift import shift
from polyml.schedule.affine.traffic_fusion import join_passes
from polyml.schedule.compute import Scheduled, compute
from polyml.schedule.strips.row_strips import Stripped, in_strips
from polyml.schedule.tiling.blocked_factorization import in_slabs
from polyml.schedule.tiling.contraction import map_contractions
from polyml.schedule.tiling.cpu_mapping import map_bands
from polyml.schedule.tiling.row_chunks import Chunked, in_chunks
from polyml.schedule.tiling.time_tiling import tile_time


def _scop(made: object) -> object:
    """Returns the SCoP of what a pass takes or returns, which may be a SCoP, a tuple that begins with one, or a result with a
    `scop`.
    """
    return made[0] if isinstance(made, tuple) else getattr(made, "scop", made)


@wraps(compute)
def _scheduled(scop: Scop, *given: Any, cache: Cache | None, **named: Any) -> Scheduled:
    """Returns a schedule of the SCoP: the one that the cache of schedules has, else one that is searched for and cached."""
    return remembered(cache, scop, *given, **named)


def _with_nothing_said(value: object, *given: object, **named: object) -> tuple[object, ...]:
    """Returns the value unchanged and no notes, in place of a pass that is left out."""
    return value, ()


def _only_others(value: isl.Schedule, *given: Any, **named: object) -> tuple[object, ...]:
    """Maps all loops to threads by the general method, in place of the pass `contraction`, which has one for sums of products.

    Returns (schedule, notes, False); False says that the schedule is not proved legal yet.

    given: its last item is the general method, a function that takes the schedule and returns (schedule, notes).
    """
    *_, others = given
    return (*others(value), False)


def _not_cut(*given: object, **named: object) -> tuple[None, tuple[str, ...]]:
    """Returns no schedule and no notes, in place of a pass that divides a strongly connected component, so that it stays whole."""
    return None, ()


def _no_strips(*given: object) -> Stripped:
    return Stripped(None)


def _no_chunks(*given: object) -> Chunked:
    return Chunked(None, (), False)


_KEEPS: dict[str, Any] = {  # fields of a Pass
    "value": _scop,
    "left_out": lambda scop, found, *given: (scop, found),
}
_MAY_BE_NONE: dict[str, Any] = {"value": _scop, "left_out": lambda *given: None}
_NEXT = "what follows takes another kind of value"

# Kernel -> Kernel
ALGEBRA = Pass(
    "algebra",
    rewritten,
    "first: on whole array expressions, which are still there",
    stage="types",
    value=lambda made: getattr(made, "kernel", made),
    left_out=unchanged,
)
INFERENCE = (  # run by `infer`
    Pass("lower", lowered, "first: types are of elements, so array expressions become loops", required="types are of elements"),
    Pass("live_ranges", split, "before types, of which each name has one", required="a name has one type"),
)
INFER = Pass("infer", infer, "once the types of arguments are known", stage="types", required="all that follows reads types")
KERNEL_PASSES = (
    Pass("conditional_extrema", with_extrema, "first: on numbers as they are written"),
    Pass("conditional_flags", with_disjunctions, "beside conditional_extrema: on numbers as they are written too"),
    Pass(
        "complex_parts", in_parts, "last: no nest has complex numbers", takes=("aliased",), required="no nest has complex numbers"
    ),
)

# Kernel -> Nest
RESOLVE = Pass(
    "resolve",
    resolve,
    "names become affine expressions of sizes and loop variables",
    takes=("aliased", "regions", "around"),
    required=_NEXT,
)

# Nest -> Nest
WRITTEN = (  # the nest as it is written, whose accesses are tested at entry
    Pass("equal_sizes", equal_sizes.unified, "first: fewer parameters for all that follows, the tests at entry among them"),
    Pass("alike_sizes", alike_sizes.unified, "after equal_sizes: of sizes that may differ", takes=("extents",), only="disjoint"),
)
VALUE_ARGUMENTS = Pass(
    "value_arguments", without_value_arguments, "last before parameters are known: it tells which are none", takes=("written",)
)
FORWARD_SUBSTITUTION = Pass(
    "forward_substitution", forward, "once loops are unrolled, so that most scalars are only names", takes=("aliased",)
)
NEST_PASSES = (  # disjoint: arrays do not overlap
    Pass(
        "unroll_sums", unrolled, "before forward_substitution, which makes one expression of what is written out", only="disjoint"
    ),
    Pass(
        "narrow_counters",
        counters_in_64_bits,
        "before forward_substitution: numbers that are checked stay where they are",
        only="disjoint",
    ),
    FORWARD_SUBSTITUTION,
    Pass("counter_steps", with_steps_added, "after forward_substitution: a counter's change is one expression", only="disjoint"),
    Pass("block_argmax", in_blocks, "after forward_substitution: a search is one test", takes=("floats",), only="disjoint"),
    Pass("inline_arrays", contract, "after what changes values, which are copied from here on", only="disjoint"),
    Pass("copy_coalescing", coalesce, "after inline_arrays: what is still copied is an array of its own", only="disjoint"),
    Pass("reshaped_copies", in_source_order, "after copy_coalescing: arrays in other shapes are still copied", only="disjoint"),
    VALUE_ARGUMENTS,
)
PLACED = (  # once the parameters are known
    Pass("array_contraction", contracted, "before what is done for scalars, which arrays become", takes=("top",), only="disjoint"),
    Pass(
        "in_place_sums",
        added_in_place,
        "before update_chains, behind which sums are parts of values",
        takes=("top", "floats"),
        only="disjoint",
    ),
    Pass("update_chains", joined, "once loops over the same elements are one", takes=("top", "floats"), only="disjoint"),
    Pass("scalar_placement", place, "by sets it knows which elements are others", takes=("top",), only="disjoint"),
    Pass("symmetric_results", halved, "last: what elements are made of is together", takes=("top", "floats"), only="disjoint"),
)

# Nest -> Scop
EXTRACT = Pass("extract", to_scop, "what is affine becomes sets and relations", stage="domain", required=_NEXT)

# Scop -> Scop
SCOP_PASSES = (
    Pass("align_slices", rebase, "first: one iteration is one row in all statements from here on"),
    Pass("scalar_expansion", expand, "before dependences, many of which it frees", only="transform", stage="scalars"),
)
MASKED_UPDATES = Pass(
    "masked_updates", without_masked_updates, "before dependences, of which there are fewer then", stage="scalars"
)
DEPENDENCES = Pass("deps", dependences, "of the arrays as they are from here on", stage="deps", required=_NEXT)
REDUCTIONS = Pass("reductions", reductions, "before schedules, which may change their order", stage="reductions", required=_NEXT)
ARRAY_EXPANSION = Pass(
    "array_expansion", expand_arrays, "after reductions: sums alone are worth the memory", stage="scalars", **_KEEPS
)
RUNNING_MAXIMUM = Pass(
    "running_maximum",
    in_column_blocks,
    "after array_expansion, behind which rows are independent",
    stage="scalars",
    value=_scop,
    left_out=_with_nothing_said,
)
TERM_BY_TERM = Pass("term_by_term", term_by_term, "once it is known which updates are sums", stage="reductions")
SPLITTING = Pass("index_set_splitting", divide, "last: its pieces are many more statements", stage="pieces", **_MAY_BE_NONE)
VERSIONS = Pass("node_splitting", with_versions, "on pieces: in slabs alone is the memory little", stage="pieces", **_MAY_BE_NONE)

# Scop -> Schedule
SCHEDULE = Pass("schedule", _scheduled, "from the cache, or by isl and the passes below", stage="schedule", required=_NEXT)

# Schedule -> Schedule
SCHEDULE_PASSES = (  # run by `schedule.compute`, for the whole or for each component
    Pass(
        "traffic_fusion",
        join_passes,
        "on isl's loops, while nests are whole: by what memory has to move",
        left_out=_with_nothing_said,
    ),
    Pass("fusion", fuse, "after traffic_fusion: neighbours that stay parallel"),
    Pass("shift", shift, "after fusion: neighbours that fuse when one runs ahead"),
    Pass("time_tiling", tile_time, "before the other tiles: of a sweep over time they would be of one step", left_out=_not_cut),
    Pass(
        "blocked_factorization",
        in_slabs,
        "before contraction, which runs on each part of a slab: parts are like kernels of their own",
        left_out=_not_cut,
    ),
    Pass("row_strips", in_strips, "before contraction, which lays out what is in no strip", left_out=_no_strips),
    Pass("contraction", map_contractions, "before tiles: contractions have blocks of their own", left_out=_only_others),
    Pass("cpu_mapping", map_bands, "for all other nests: tiles, and the loop for threads", left_out=_with_nothing_said),
    Pass("row_chunks", in_chunks, "last: chunks go around loops that are tiled already", left_out=_no_chunks),
)

# Schedule -> Program
BUILD = Pass("build", build, "the loops of the schedule", stage="ast", required=_NEXT)

# Program -> Program
PROGRAM_PASSES = (
    Pass("index_bounds", index_bounds, "first: what it adds runs before all else", required="the entry tests what it finds"),
    Pass(
        "privatize_reductions", privatize_reductions, "before loops change: the schedule says which share", required="threads share"
    ),
    Pass("prefetch", prefetch, "while loops over tiles are as the schedule has them"),
)
TILE_PASSES = (  # they run where iterations may run together
    Pass("mark_scans", mark_scans, "before all that asks which loops may have lanes", takes=("scop", "fp"), stage="reductions"),
    Pass("balance", balance, "before pack: copies are of tiles as threads share them"),
    Pass("pack", pack, "before full_tiles, which doubles what is read", takes=("machine", "layouts", "sizes"), stage="pack"),
    Pass("full_tiles", separate_full_tiles, "after pack: loops that fill copies have full tiles too"),
    Pass("privatize", privatize, "once tiles are final, while iterations are whole"),
    Pass("split_loops", split_loops, "just before vectors, for whose sake it cuts"),
)
REGION_LANES = Pass("region_lanes", region_lanes, "in place of tiles and other vectors, where there are regions", stage="vectorize")
VECTORIZE = Pass(
    "vectorize", vectorize, "on final loops, which it prices", takes=("machine", "layouts", "sizes"), stage="vectorize"
)
VECTOR_PASSES = (  # they run where the program is not too large for them
    VECTORIZE,
    Pass("fold_storage", fold_storage, "nothing moves any more, so it is known what is in use at once", takes=("arrays",)),
    Pass("share_memory", share_memory, "last: it is known how much memory every array has"),
)

# Program -> LLVM text -> machine code
EMIT = Pass("llvm", emit, "function by function", stage="llvm", required=_NEXT)
OBJECT = Pass("object", Assembler.objects, "threads have begun with each function", stage="object", required=_NEXT)

PASSES = (
    ALGEBRA, *INFERENCE, INFER, *KERNEL_PASSES, RESOLVE, *WRITTEN, *NEST_PASSES, *PLACED, EXTRACT, *SCOP_PASSES, MASKED_UPDATES, DEPENDENCES, REDUCTIONS,
    ARRAY_EXPANSION, RUNNING_MAXIMUM, TERM_BY_TERM, SPLITTING, VERSIONS, SCHEDULE, *SCHEDULE_PASSES, BUILD, *PROGRAM_PASSES, *TILE_PASSES, REGION_LANES, *VECTOR_PASSES, EMIT, OBJECT,
)  # fmt: skip
NAMES = {step.name: step for step in PASSES}


def require(name: str) -> Pass:
    """Returns the pass of this name. Raises ValueError, which lists the passes' names, where there is none."""
    if name not in NAMES:
        raise ValueError(f"there is no pass {name!r}; passes: {', '.join(NAMES)}")
    return NAMES[name]


@contextmanager
def without(*names: str) -> Iterator[None]:
    """Leaves the passes of these names out of all compilations inside a `with` block. Tests use it.

    Raises ValueError for a pass that the compiler cannot do without, with the reason.
    """
    for step in map(require, names):
        if step.required:
            raise ValueError(f"the pass {step.name!r} cannot be left out: {step.required}")
    with pass_manager.replaced({name: NAMES[name].left_out for name in names}):
        yield
