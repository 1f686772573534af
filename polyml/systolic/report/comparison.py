"""Calls of a kernel on a simulated systolic array, and how their values agree with the processor's."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from polyml import polyhedra
from polyml.errors import ConfigError
from polyml.model.core.call_interface import value
from polyml.model.core.scop import Scop
from polyml.performance.variants import KernelCall
from polyml.runtime.calling.arguments import CallArgument
from polyml.schedule.script.problem import Problem
from polyml.systolic.mapping.dataflows import Plan
from polyml.systolic.program import text as systolic_text
from polyml.systolic.program.interface import NestInterface
from polyml.systolic.program.program import NestProgram
from polyml.systolic.recurrences.nests import nests
from polyml.systolic.report import rounding_bound as rounding
from polyml.systolic.report.comparison_values import Agreement, SimulationReportValues, Trial
from polyml.systolic.report.entry_checks import checked
from polyml.systolic.report.report import SystolicReport, report
from polyml.systolic.report.request import MappingRequest
from polyml.systolic.report.rounding_bound import NoBound
from polyml.systolic.simulate import ENGINES, ArraySimulation, simulate

MOST_UNITS, MOST_CYCLES = 2**24, 2**28


@dataclass(frozen=True)
class SimulationReport(SimulationReportValues):
    """A SimulationReport is a report on simulated calls and how their results agree with the processor's, as text, as a page or as
    data for JSON.
    """

    def __str__(self) -> str:
        """Returns the report as text, with its tables."""
        return self.text()

    def text(self, width: int | None = None) -> str:
        """Returns the report as text, as `print` shows it. width: the most characters of a line; None: any."""
        from polyml.systolic.report.comparison_text import text

        return text(self, width)

    def _repr_html_(self) -> str:
        """Returns the report as HTML, which notebooks show."""
        from polyml.systolic.report.comparison_text import html

        return html(self)

    def data(self) -> dict[str, object]:
        """Returns the report as plain data for JSON, with the version of its format under `version`."""
        from polyml.systolic.report.comparison_data import data

        return data(self)


@dataclass(frozen=True)
class ComparisonSettings:
    """A ComparisonSettings says how a simulated call is run, compared with the processor's results, and shown.

    engine: "compiled" or "numpy".
    processor: a function that runs the kernel on the processor.
    trace: whether the report shows how many PEs work over time.
    listing: True to list the programs of all PEs, or the coordinates of the PEs whose programs are listed; False for none.
    errors: returns bounds on the rounding errors of the array arguments' elements, by name; None to derive bounds from the kernel.
    """

    engine: str
    processor: Callable[..., object]
    trace: bool = False
    listing: bool | Sequence[tuple[int, ...]] = False
    errors: Callable[[], Mapping[str, object]] | None = None


def simulated(
    call: KernelCall,
    given: Sequence[CallArgument],
    where: str,
    request: MappingRequest,
    engine: str,
    plans: Sequence[Plan] = (),
) -> ArraySimulation:
    """Simulates the call of a kernel on an array, and returns its result and what each nest did. It changes the call's arguments as
    the kernel does.

    where: where the kernel is defined, as text.
    request: which mappings are wanted, and on which array.
    engine: "compiled" or "numpy".
    plans: the plan that each nest runs; () to run the best plan that is found for each.
    Raises: what the compiled kernel would raise, and what `report` does.
    """
    _check_engine(engine)
    (call, problem), arguments = checked(call, given), {a.name: a.value for a in given}
    if plans:
        _check_plans(problem, arguments, request.links, plans)
    else:
        plans = [nest.best for nest in report(call, arguments, where, request).nests]
    _check_size(plans)
    return simulate(problem, arguments, plans, engine)


def _check_plans(problem: Problem, arguments: Mapping[str, object], links: str, plans: Sequence[Plan]) -> None:
    """Raises ConfigError unless there is one plan for each nest that has instances in the call, in the order of the nests, and each
    plan is for the call's sizes.
    """
    sizes = {p.name: value(p, arguments) for p in problem.scop.parameters}
    every = nests(problem.scop, problem.dependences, problem.reductions, links)
    names = [nest.name for nest in every if not polyhedra.fix(nest.domain, sizes).is_empty()]
    given = [plan.recurrence.nest.name for plan in plans]
    if given != names or any(dict(plan.recurrence.sizes) != sizes for plan in plans):
        expected = f"expected one of each nest for these arguments, in the order {', '.join(names)}"
        raise ConfigError(f"there are plans of {', '.join(given)}", notes=[f"{expected}, as `report` has them"])


def _check_size(plans: Sequence[Plan]) -> None:
    """Raises ConfigError where the array has too many PEs, or the plans too many cycles, to be simulated."""
    units, cycles = max((plan.folds.units for plan in plans), default=0), sum(plan.folds.cycles for plan in plans)
    if units > MOST_UNITS:
        raise ConfigError(f"an array of {units:,} units is too large to simulate", notes=[f"at most {MOST_UNITS:,}"])
    if cycles > MOST_CYCLES:
        notes = [f"at most {MOST_CYCLES:,}", "a report counts them without: `polyml report --target systolic`"]
        raise ConfigError(f"{cycles:,} cycles are too many to simulate", notes=notes)


def _check_engine(engine: str) -> None:
    """Raises ConfigError where there is no engine of this name."""
    if engine not in ENGINES:
        raise ConfigError(f"there is no engine {engine!r}", notes=[f"expected {' or '.join(ENGINES)}"])


def compared(
    call: KernelCall, given: Sequence[CallArgument], where: str, request: MappingRequest, settings: ComparisonSettings
) -> SimulationReport:
    """Simulates the call with each mapping that is wanted, and runs it on the processor, and returns a report on how the results
    agree.

    The arguments stay as they are. Raises what `simulated` does.
    """
    _check_engine(settings.engine)
    (call, problem), arguments = checked(call, given), {a.name: a.value for a in given}
    found = report(call, arguments, where, request)
    after = copy.deepcopy(arguments)
    wanted = values(after, settings.processor(*after.values()))
    scop, trials = problem.scop, []
    for plans in choices(found):
        _check_size(plans)
        after = copy.deepcopy(arguments)
        simulation = simulate(problem, after, plans, settings.engine)
        bound = partial(_known, settings.errors) if settings.errors else partial(rounding_bound, call, scop, arguments, plans)
        agrees = agreement(values(after, simulation.result), wanted, bound)
        trials.append(Trial(simulation, agrees, _listings(problem, arguments, plans, settings.listing) if settings.listing else ()))
    return SimulationReport(found, settings.engine, tuple(trials), settings.trace)


def _listings(
    problem: Problem, arguments: Mapping[str, object], plans: Sequence[Plan], wanted: bool | Sequence[tuple[int, ...]]
) -> tuple[str, ...]:
    """Returns the program of each plan's first fold as text.

    wanted: True for all PEs, or the coordinates of those that are listed.
    """
    sizes = {p.name: value(p, arguments) for p in problem.scop.parameters}
    interface = NestInterface(problem.scop, problem.dependences, [plan.recurrence.nest for plan in plans], sizes)
    return tuple(_listing(interface, plan, wanted) for plan in plans)


def _listing(interface: NestInterface, plan: Plan, wanted: bool | Sequence[tuple[int, ...]]) -> str:
    """Returns the program of a plan's first fold as text. Raises ConfigError for a PE that the array does not have.

    wanted: True for all PEs, or the coordinates of those that are listed.
    """
    shape = plan.folds.shape
    units: Sequence[tuple[int, ...]] = () if isinstance(wanted, bool) else wanted
    for unit in units:
        if len(unit) != len(shape) or not all(0 <= place < length for place, length in zip(unit, shape)):
            what = "a row and a column" if len(shape) == 2 else "a place"
            notes = [f"expected {what} of {' x '.join(map(str, shape))}, counted from 0"]
            raise ConfigError(f"there is no unit {', '.join(map(str, unit))}", notes=notes)
    program = NestProgram(interface, plan.folds)
    return systolic_text.listing(program, next(iter(program)), units)


def choices(found: SystolicReport) -> Iterator[tuple[Plan, ...]]:
    """Yields the combinations of plans that are simulated, each with one plan for each nest. For the dataflow "all" there are as
    many as it takes to have every plan in one of them; for any other there is one, with the best plan of each nest.
    """
    number_of_plans = [len(nest.plans) for nest in found.nests] if found.dataflow == "all" else []
    for number in range(max(number_of_plans, default=1)):
        yield tuple(nest.plans[number] if number < len(nest.plans) else nest.best for nest in found.nests)


@dataclass(frozen=True)
class CallResults:
    """A CallResults holds what a call leaves behind.

    arrays: its array arguments, by name.
    returned: what it returned.
    """

    arrays: Mapping[str, object]
    returned: object = field(default=None)

    def parts(self) -> dict[str, object]:
        """Returns the arrays and the returned values by name; the latter are named `what it returns` or `result 1`, `result 2`."""
        every = self.returned if isinstance(self.returned, tuple) else (self.returned,)
        names = ["what it returns"] if len(every) == 1 else [f"result {n + 1}" for n in range(len(every))]
        return {**self.arrays, **{name: value for name, value in zip(names, every) if value is not None}}


def values(arguments: Mapping[str, object], returned: object) -> CallResults:
    """Returns what a call leaves behind, from its arguments after the call and what it returned."""
    return CallResults({name: v for name, v in arguments.items() if isinstance(v, np.ndarray)}, returned)


def agreement(got: CallResults, wanted: CallResults, bound: Callable[[], tuple[float, CallResults]]) -> Agreement:
    """Returns how the results of a simulated call agree with the processor's: integers have to be equal, floats within a bound.

    bound: returns (factor, scales): each of the two results may differ from the exact one by factor * scale. Raises NoBound where
        no bound is known.
    """
    have, want = got.parts(), wanted.parts()
    if have.keys() != want.keys():
        return Agreement(np.inf, np.inf, "what it returns", types=f"{len(have)} results in place of {len(want)}")
    unequal = [name for name in want if not _equal(have[name], want[name])]
    for name in unequal:
        if not _same_kind(have[name], want[name]):
            kinds = f"{_kind(have[name])} in place of {_kind(want[name])}"
            return Agreement(np.inf, np.inf, name, types=kinds)
    floats = [name for name in unequal if np.asarray(want[name]).dtype.kind not in "biu"]
    exact = [_difference(name, have[name], want[name], 0.0) for name in unequal if name not in floats]
    reason = ""
    if floats:
        try:
            factor, scales = bound()
            known = scales.parts()
            if missing := [name for name in floats if name not in known]:
                raise NoBound(missing[0])
            found = [_difference(name, have[name], want[name], 2.0 * factor * np.asarray(known[name])) for name in floats]
        except NoBound as problem:
            reason = f"no rounding bound is known of {problem}"
            found = [_difference(name, have[name], want[name], 0.0) for name in floats]
        exact += found
    worst = max(exact, key=lambda each: each.ratio, default=Agreement(0.0, 0.0))
    return Agreement(max((each.error for each in exact), default=0.0), worst.ratio, worst.output, reason)


def _kind(value: object) -> str:
    """Returns the type of a result as text, with the shape of an array."""
    return f"{value.dtype}{list(value.shape)}" if isinstance(value, np.ndarray) else type(value).__name__


def _same_kind(a: object, b: object) -> bool:
    """Returns whether two results have the same type, and if they are arrays the same shape."""
    return type(a) is type(b) and _kind(a) == _kind(b)


def _equal(a: object, b: object) -> bool:
    """Returns whether two results have the same type, shape and values, where NaN equals NaN."""
    return _same_kind(a, b) and bool(np.all(_same(np.asarray(a), np.asarray(b))))


def _same(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Returns, by element, whether two arrays are equal, where NaN equals NaN."""
    return (a == b) | ((a != a) & (b != b))


def _error(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Returns the absolute difference of each element of two arrays, in float64; 0 where both are NaN."""
    with np.errstate(invalid="ignore"):
        return np.where(_same(a, b), 0.0, np.abs(a.astype(np.float64) - b.astype(np.float64)))


def _difference(name: str, got: object, wanted: object, bound: float | np.ndarray) -> Agreement:
    """Returns an `Agreement` with the largest absolute difference of a result from the wanted one, and the largest ratio of a
    difference to the bound.

    name: the name of the result.
    bound: how far each element may differ.
    """
    a, b = np.asarray(got), np.asarray(wanted)
    error = np.maximum(*(_error(x, y) for x, y in ((a.real, b.real), (a.imag, b.imag)))) if a.dtype.kind == "c" else _error(a, b)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where(error == 0.0, 0.0, error / bound)
    error, ratio = (np.where(np.isnan(each), np.inf, each) for each in (error, ratio))
    return Agreement(float(error.max()), float(ratio.max()), name)


def _known(errors: Callable[[], Mapping[str, object]]) -> tuple[float, CallResults]:
    """Returns (1.0, scales), where the scales are the bounds on rounding errors that `errors` returns: a bound for `agreement`."""
    return 1.0, CallResults(errors())


def rounding_bound(
    call: KernelCall, scop: Scop, arguments: Mapping[str, object], plans: Sequence[Plan]
) -> tuple[float, CallResults]:
    """Returns (factor, scales), whose product bounds how far each result is from the exact one, in whatever order sums are added.

    The factor is the distance from 1.0 to the next float times the number of roundings. The scales are the results of the kernel
    when it adds up absolute values; it is compiled and run for that. Raises NoBound where there is no bound.
    """
    after, returned = rounding.magnitudes(call, arguments)
    return rounding.eps(scop) * rounding.roundings(scop, plans), values(after, returned)
