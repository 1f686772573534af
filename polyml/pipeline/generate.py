"""A schedule becomes code: loops, the passes of a program, LLVM text, and threads that make machine code of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import islpy as isl

from polyml.codegen.ir.program import CannotRunTogether, Program
from polyml.codegen.llvm import builder
from polyml.codegen.llvm.addresses import ArrayArguments
from polyml.codegen.llvm.arithmetic import FloatArithmetic
from polyml.machines import cpu
from polyml.model.core.call_interface import SizeRelation
from polyml.model.core.scop import Array, Role, Scop
from polyml.pipeline import passes
from polyml.pipeline.compile_budget import CompileBudget
from polyml.pipeline.pass_runner import PassRunner
from polyml.pipeline.size_guards import guarded
from polyml.pipeline.stages import CompileRequest, Model
from polyml.polyhedra import budget
from polyml.runtime.loading.assemble import Assembler
from polyml.schedule.compute import Scheduled
from polyml.schedule.script.schedule import NOTHING, OBJECTS
from polyml.source import Loc

CODE_OPERATIONS = 3_000_000  # isl operations from schedule to code


class TooFarExpanded(CannotRunTogether):
    """Raised where the values of a scalar take more memory than a schedule is worth.

    places: the outermost loops around it
    """

    def __init__(self, message: str, places: frozenset[Loc]):
        super().__init__(message)
        self.places = places


@dataclass(frozen=True)
class CodeCandidate:
    """A code candidate is one of the ways to make code of a model, which are tried one after another.

    name: what the candidate is, for notes.
    model: the statements and their dependences.
    transform: whether a schedule is looked for; if not, the source's order is kept.
    together: whether iterations may run at once, as vectors and register tiles.
    cut: whether strongly connected components (statements that depend on each other) may be divided into blocks of columns, or into
        tiles that also span the loop over time steps.
    is_small: whether the candidate has no tiles, for models whose code is too large with them.
    """

    name: str
    model: Model
    transform: bool
    together: bool
    cut: bool = False
    is_small: bool = False


@dataclass(frozen=True)
class CallFacts:
    """The call facts say, besides the model, what code is made for.

    wanted: the types, layouts, sizes and settings.
    typical: values of parameters by which tiles and vectors are chosen; None: not known.
    related: relations between sizes, such as N = M + 1, that hold in the call.
    """

    wanted: CompileRequest
    typical: Mapping[str, int] | None
    related: tuple[SizeRelation, ...]


@dataclass(frozen=True)
class Generated:
    """Generated code holds the program and the LLVM text that were made of a candidate.

    model, tree, program: the model, its schedule and its loops, from which the text was made.
    units: the LLVM text, one unit for each function.
    assembler: makes machine code of the text, on other threads.
    notes: what was decided, for `explain`.
    sized: whether the code depends on the sizes of the call.
    related: the relations between sizes that the code takes for granted.
    sizes: values of parameters by which lanes and copies were chosen; None: they were not known.
    """

    model: Model
    tree: isl.Schedule
    program: Program
    units: tuple[builder.Unit, ...]
    assembler: Assembler
    notes: tuple[str, ...]
    sized: bool
    related: tuple[SizeRelation, ...]
    sizes: Mapping[str, int] | None = None


def generate(candidate: CodeCandidate, scheduled: Scheduled, call: CallFacts, runner: PassRunner, emits: str) -> Generated:
    """Generates code for a schedule, up to LLVM text, and returns it.

    scheduled: the schedule.
    call: what the code is made for.
    emits: a constant of `schedule.script.schedule`: NOTHING makes the program alone, TEXT its LLVM text too, and with OBJECTS other
        threads also begin to make machine code of the text.
    Raises BudgetExceeded where isl takes too long, or CannotRunTogether where the loops cannot be vectors or there is too much
    code.
    """
    wanted, options = call.wanted, call.wanted.options
    machine = wanted.machine
    scop = candidate.model.scop
    sized = scheduled.sized or candidate.model.expands or candidate.model.chosen_by_sizes or bool(scop.related)
    related = call.related if scheduled.related else ()
    scop = guarded(scop, scheduled, sized, wanted.sizes, related)
    related = scop.related + related
    sizes = call.typical if scheduled.sized or scop.has_regions and candidate.model.chosen_by_sizes else None
    known = {
        "machine": machine, "layouts": wanted.layouts, "sizes": sizes,
        "scop": scop, "fp": options.fp, "arrays": candidate.model.scop.arrays.values(),
    }  # fmt: skip
    limit = CompileBudget(options.compile_budget_s)
    with budget(CODE_OPERATIONS):
        program = runner.run(passes.BUILD, scop, scheduled.tree, candidate.model.reductions)
        program = runner.through(passes.PROGRAM_PASSES, program, known, stage="ast")
        if candidate.together and scop.has_regions:
            program = runner.run(passes.REGION_LANES, program, machine)
            program = runner.run(passes.VECTORIZE, program, machine, wanted.layouts, sizes)
        elif candidate.together:
            program = runner.through(passes.TILE_PASSES, program, known, stage="ast")
            limit.check_nodes(program)
            program = runner.through(passes.VECTOR_PASSES, program, known, stage="ast")
        if candidate.transform:
            _check_expansion(program, candidate.model.scop)
        if candidate.transform or candidate.together:
            limit.check_copies(program)
        with Assembler(cpu.usable_cores() - 1, cpu=machine.cpu_name, features=machine.features) as assembler:
            groups = builder.Groups(assembler.add) if emits == OBJECTS else None
            units = () if emits == NOTHING else _emitted(program, groups, call, runner)
    notes = (
        *scheduled.notes,
        *([f"for calls with {', '.join(r.fact for r in related)}; other code runs others"] if related else []),
    )
    return Generated(candidate.model, scheduled.tree, program, units, assembler, notes, sized, related, sizes)


def _check_expansion(program: Program, scop: Scop) -> None:
    """Raises TooFarExpanded where a scalar that was expanded takes memory of more dimensions than any array that the source has, as
    where loops are apart that hand each other the condition of every iteration.
    """
    arrays = scop.arrays.values()
    most = max((len(array.shape) for array in arrays if not _is_expanded(array)), default=0)
    for array in filter(_is_expanded, arrays):
        window = program.windows.get(array.name)
        dims = len(array.shape) if window is None else sum(length is None for length in window.lengths)
        if dims > max(most, 1):
            users = (s for s in scop.statements.values() if array.name in (s.write.array, *(read.array for read in s.reads)))
            places = frozenset(user.loops[0] for user in users if user.loops and user.loops[0] is not None)
            raise TooFarExpanded(f"{array.source_name or array.name} has a value for each iteration of {dims} loops", places)


def _is_expanded(array: Array) -> bool:
    """Returns whether an array is a scalar of the source, with an element for each iteration of loops."""
    return array.role is Role.LOCAL and array.loc is None


def _emitted(program: Program, groups: builder.Groups | None, call: CallFacts, runner: PassRunner) -> tuple[builder.Unit, ...]:
    """Returns the LLVM text of a program, one unit for each function.

    groups: takes each function as soon as its text is made, so that other threads make machine code of it meanwhile; None: no
        machine code is made yet.
    """
    wanted, options = call.wanted, call.wanted.options
    finished: dict[str, Any] = {} if groups is None else {"finished": groups.add}
    floats = FloatArithmetic(options.fp, wanted.machine.fma, wanted.machine.computes_halves)
    units = runner.run(
        passes.EMIT, program, ArrayArguments(wanted.layouts, wanted.aliased), floats,
        threads=not options.runs_alone, **finished,
    )  # fmt: skip
    if groups is not None:
        groups.close()
    return units
