"""Checks that a pass from a Program to a Program, or the generation of loops, changes nothing but the order that dependences
leave free.

Both programs run on terms (`runs`), values as the operations that made them, and are compared instance by instance
(`compare`): the same instances run; each reads the same values, whether from the array, a packed copy, a private array, or
folded storage; iterations that run at the same time do not conflict; the caller sees the same. The sizes are few (`sizes`), so
this finds errors and proves nothing; a proof for all sizes is made for isl's loops alone
(`codegen.astgen.translation_validation`).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from polyml import polyhedra
from polyml.checks import sizes
from polyml.checks.symbolic import compare
from polyml.checks.symbolic.finding import Finding
from polyml.checks.symbolic.runs import Executable, InOrder, Run, TooManyInstances, rows_of_threads
from polyml.checks.symbolic.terms import Terms
from polyml.codegen.ir.program import Program, instances
from polyml.model.core.call_interface import Parameter
from polyml.model.core.reductions import Reduction
from polyml.model.core.scop import Scop

MOST_INSTANCES = 3_000  # of one run, also those that a pass adds to fill copies
MOST_TOGETHER = 5_000  # of all runs of one program
_KEPT = 2  # programs whose runs are kept: what a pass is given, and what it makes


@dataclass(frozen=True)
class _Made:
    """A _Made is a program compiled to run on symbolic values, together with its runs so far.

    runs: {sizes: the run}; None for sizes with which it has too many instances.
    program: kept because programs are looked up by `id`, which another one could get.
    """

    program: Program
    code: Executable
    runs: dict[tuple[tuple[str, int], ...], Run | None] = field(default_factory=dict)


class Checker:
    """A Checker checks the passes on programs one after the other, each by runs of the program before and after it.

    Since what one pass makes is what the next is given, the latest runs are kept, and each serves two checks.
    """

    def __init__(self) -> None:
        self._terms = Terms()
        self._made: OrderedDict[int, _Made] = OrderedDict()
        self._known: tuple[Program | None, Mapping[str, Reduction]] = None, {}

    def passes(self, before: Program, after: Program) -> Finding | None:
        """Returns what a pass that made `after` from `before` did wrong; None where no difference is found.

        It runs both programs on symbolic values at a few small sizes and compares them.
        """
        if before is after:
            return None
        free = self._known[1] if self._known[0] is before else before.reductions
        still_free = _still_free(before, after, free)
        self._known = after, still_free
        wrong = wrong_extremes(before, after) or wrong_fetches(after)
        if wrong is not None or _means_the_same(before, after):
            return wrong
        total = 0
        for at in sizes.sizes(before.scop, sizes.factors_of(before, after)):
            given, made = self._run(before, at, free), self._run(after, at, still_free)
            if given is None or made is None:
                continue
            total += len(given.events)
            if total > MOST_TOGETHER or given.finding is not None:  # for which an earlier pass is at fault
                return None
            rows = rows_of_threads(before) | rows_of_threads(after)
            threads = compare.ThreadNames({before.thread, after.thread} - {""}, rows)
            found = compare.compared(given, made, (before.scop, after.scop), self._terms, threads=threads)
            if found is not None:
                return found.at(at)
        return None

    def builds(self, scop: Scop, program: Program) -> Finding | None:
        """Returns what the loops that were made from a SCoP's schedule do wrong, compared with the source's order; None where no
        difference is found.

        It runs both on symbolic values at a few small sizes and compares them.
        """
        self._known = program, program.reductions
        source, total = InOrder(scop, self._terms, program.reductions), 0
        for at in sizes.sizes(scop, sizes.factors_of(program)):
            order, made = in_source_order(scop, at, MOST_INSTANCES), self._run(program, at, program.reductions)
            if order is None or made is None:
                continue
            total += len(order)
            if total > MOST_TOGETHER:
                return None
            given = source.run(order, at)
            found = compare.compared(given, made, (scop, program.scop), self._terms)
            if found is not None:
                return found.at(at)
        return None

    def _run(self, program: Program, at: Mapping[str, int], free: Mapping[str, Reduction]) -> Run | None:
        """Returns the run of a program at given sizes, which is made only once; None where it would have too many instances.

        free: by statement, the reductions whose updates of an element may come in any order.
        """
        if id(program) not in self._made:
            self._made[id(program)] = _Made(program, Executable(program, self._terms, free))
            if len(self._made) > _KEPT:
                self._made.popitem(last=False)
        made = self._made[id(program)]
        key = tuple(at.items())
        if key not in made.runs:
            try:
                made.runs[key] = made.code.run(at, MOST_INSTANCES)
            except TooManyInstances:
                made.runs[key] = None
        return made.runs[key]


def _still_free(before: Program, after: Program, free: Mapping[str, Reduction]) -> dict[str, Reduction]:
    """Returns, by statement of `after`, the reductions whose updates of an element may come in any order when the two programs are
    compared.

    These are the reductions of `after`. A statement that was made from one in `free` counts as a reduction too, even if `after` no
    longer says so, since a pass may give up the freedom to reorder.

    free: by statement of `before`, the reductions whose updates may come in any order.
    """
    named = compare.origins(before.scop, after.scop)
    return {name: replace(free[origin], statement=name) for name, origin in named.items() if origin in free} | after.reductions


def _means_the_same(before: Program, after: Program) -> bool:
    """Returns whether two programs are equal in everything that can change a run's result, so that they need not be run."""
    same = all(a is b for a, b in zip((before.scop, before.reductions), (after.scop, after.reductions)))
    return same and all(getattr(before, name) == getattr(after, name) for name in ("body", "windows", "shared", "thread"))


def check(before: Program, after: Program) -> Finding | None:
    """Returns what a pass that made `after` from `before` did wrong; None where no difference is found.

    It runs both programs on symbolic values at a few small sizes and compares them.
    """
    return Checker().passes(before, after)


def check_build(scop: Scop, program: Program) -> Finding | None:
    """Returns what loops that were made from a schedule do wrong, compared with the source's order; None where no difference is
    found.

    program: the loops made from the SCoP's schedule, with the reductions whose updates may be reordered.
    """
    return Checker().builds(scop, program)


def in_source_order(scop: Scop, at: dict[str, int], most: int) -> list[tuple[str, tuple[int, ...]]] | None:
    """Returns all instances of a SCoP as (statement, point) in the order of the source; None where there are more than `most`.

    at: the values of the parameters.
    """
    found: list[tuple[tuple[int, ...], str, tuple[int, ...]]] = []
    for name, times in scop.times.items():
        relation = times.intersect_domain(scop.statements[name].domain)
        if polyhedra.at_sizes(relation.domain(), at).count_val().to_python() + len(found) > most:
            return None
        found += [(time, name, point) for (_, point), (_, time) in polyhedra.points(relation, **at)]
    return [(name, point) for _, name, point in sorted(found)]


def wrong_extremes(before: Program, after: Program) -> Finding | None:
    """Returns a finding if the loops that compute the minimum or maximum of an index array (an array whose elements are subscripts)
    do not look at each of its elements once; None if all do.

    These loops run in front of the checks at entry, which need their results, so they have to be right for all sizes.
    """
    if after.before == before.before:
        return None
    for parameter in (p for p in after.scop.parameters if p.extreme):
        found = _left_out(after, parameter)
        if found is not None:
            return found
    return None


def _left_out(program: Program, parameter: Parameter) -> Finding | None:
    """Returns, as a finding, an element of an index array (whose elements are subscripts) that the loops for its minimum or maximum
    do not look at exactly once; None if there is none.

    parameter: the SCoP's parameter that stands for this minimum or maximum.
    """
    scop = program.scop
    readers = {s.name for s in scop.statements.values() if s.write.array == parameter.name and s.reads}
    if not readers & {instance.statement for instance in instances(program.before)}:
        return Finding(f"nothing finds the {parameter.extreme} of {parameter.array}, which checks at entry ask for")
    names = [p.name for p in scop.parameters if not p.extreme]
    alone = Executable(Program(scop, program.before, program.reductions), Terms())
    for size in (0, 1, 3, 10):
        at = dict.fromkeys(names, size)
        run = alone.run(at, MOST_INSTANCES)
        seen = sorted(
            t.element for e in run.events if e.instance[0] in readers for t in e.reads if t and t.array == parameter.array
        )
        shape = [polyhedra.value_at(extent, at) for extent in scop.arrays[str(parameter.array)].shape]
        wanted = sorted(_indices(shape))
        if seen != wanted:
            at_fault = next(iter(sorted({*seen} ^ {*wanted})), ())
            element = f"{parameter.array}{list(at_fault)}"
            return Finding(f"{element} is not looked at once for the {parameter.extreme} of {parameter.array}", "", element).at(at)
    return None


def _indices(shape: list[int]) -> Iterator[tuple[int, ...]]:
    if not shape:
        yield ()
        return
    for first in range(shape[0]):
        for rest in _indices(shape[1:]):
            yield first, *rest


def wrong_fetches(program: Program) -> Finding | None:
    """Returns, as a finding, a prefetch that cannot be right: of a read that its statement does not have, along a loop that is not
    around the statement, or by less than one iteration ahead. None where there is none.

    The element that is fetched may lie outside the array: a prefetch does no harm.
    """
    for name, fetches in program.prefetches.items():
        statement = program.scop.statements.get(name)
        for read, (iterator, distance) in fetches.items():
            if statement is None or not 0 <= read < len(statement.reads):
                return Finding(f"read {read} of {name} is fetched ahead, which does not exist", name)
            if iterator not in statement.iterators or distance < 1:
                return Finding(f"{name} fetches {distance} iterations of `{iterator}` ahead, which is none of its loops", name)
    return None
