"""The report on one call of a kernel on a systolic array: its nests' mappings, cycles, utilisation and traffic."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from polyml import polyhedra
from polyml.drawing.svg import Svg
from polyml.errors import ConfigError
from polyml.machines.descriptions import DATAFLOWS, LINKS, LONGEST, Systolic
from polyml.model.core.call_interface import value
from polyml.model.counting.io_lower_bound import lower_bound
from polyml.performance.variants import KernelCall, source_schedule
from polyml.reading.input_limits import shown
from polyml.systolic.mapping import parse
from polyml.systolic.mapping.dataflows import Plan, plans
from polyml.systolic.mapping.ranking import ranked
from polyml.systolic.mapping.search import MappingSearch, mappings
from polyml.systolic.recurrences.nests import nests
from polyml.systolic.report.memory_traffic import MemoryCosts, element_bytes, operands, written
from polyml.systolic.report.request import MappingRequest
from polyml.systolic.report.values import NestReport, SystolicReportValues

CHOICES = ("auto", "all", *DATAFLOWS)


@dataclass(frozen=True)
class SystolicReport(SystolicReportValues):
    """A SystolicReport is a report on a kernel's mappings onto a systolic array, as text, as a page, as pictures or as data for
    JSON.
    """

    def __str__(self) -> str:
        """Returns the report as text, with its tables."""
        return self.text()

    def text(self, width: int | None = None) -> str:
        """Returns the report as text, as `print` shows it. width: the most characters of a line; None: any."""
        from polyml.systolic.report.text import text

        return text(self, width)

    def _repr_html_(self) -> str:
        """Returns the report as HTML with pictures, which notebooks show."""
        from polyml.systolic.report.text import html

        return html(self, self.pictures().values())

    def pictures(self) -> dict[str, str]:
        """Returns the pictures of the best mappings as SVG texts, by name."""
        from polyml.systolic.report.pictures.collection import pictures

        return pictures(self)

    def array(self, cycle: int | None = None, nest: int = 0) -> Svg:
        """Returns the SVG picture of the array in a cycle of a nest's best mapping: what each PE runs and has, and what moves.

        cycle: None for the first one in which most PEs run an instance.
        nest: the number of the nest, as in `nests`.
        Raises: ConfigError for a cycle or nest that there is not, and for what is too large to draw so.

        >>> import numpy as np, polyml
        >>> @polyml.kernel
        ... def product(C, A, B):
        ...     for i in range(C.shape[0]):
        ...         for j in range(C.shape[1]):
        ...             for k in range(A.shape[1]):
        ...                 C[i, j] += A[i, k] * B[k, j]
        >>> A, C = np.ones((2, 2)), np.zeros((2, 2))
        >>> report = product.report(C, A, A, target="systolic", array=(2, 2))
        >>> report.array(cycle=1).count('class="cell active"')
        3
        """
        from polyml.systolic.report.pictures.collection import array_svg
        from polyml.systolic.simulate.snapshots import frames

        return array_svg(frames(self._nest(nest).best), cycle)

    def mappings(self, links: str = "manhattan", nest: int = 0) -> tuple[str, ...]:
        """Returns the legal mappings with the fastest times as texts, one of each class that permutations and reflections of the array make of
        each other, whatever they cost.

        links: which PEs are connected, "manhattan", "diagonal" or "broadcast".
        nest: the number of the nest, as in `nests`.
        Raises: ConfigError for links or a nest that there are not.

        >>> import numpy as np, polyml
        >>> @polyml.kernel
        ... def product(C, A, B):
        ...     for i in range(C.shape[0]):
        ...         for j in range(C.shape[1]):
        ...             for k in range(A.shape[1]):
        ...                 C[i, j] += A[i, k] * B[k, j]
        >>> A, C = np.ones((2, 2)), np.zeros((2, 2))
        >>> product.report(C, A, A, target="systolic", array=(2, 2)).mappings()
        ('t = i + j + k, x = i, y = j', 't = i + j + k, x = i, y = k', 't = i + j + k, x = j, y = k')
        """
        if links not in LINKS:
            raise ConfigError(f"there are no links {links!r}", notes=[f"expected one of {', '.join(LINKS)}"])
        recurrence = self._nest(nest).best.recurrence
        dims = len(self._nest(nest).best.mapping.space)
        search = MappingSearch(len(recurrence.axes), recurrence.directions, dims, links, reversible_axes=recurrence.reversible_axes)
        return tuple(recurrence.text(each) for each in mappings(search))

    def _nest(self, number: int) -> NestReport:
        if type(number) is not int or not 0 <= number < len(self.nests):
            raise ConfigError(
                f"there is no nest {shown(number)}", notes=[f"nests: {', '.join(each.nest.name for each in self.nests) or 'none'}"]
            )
        return self.nests[number]

    def page(self) -> str:
        """Returns an HTML page that needs no other files: the array with a slider that steps through its cycles.

        Raises: ConfigError for what is too large to draw.
        """
        from polyml.systolic.report.pictures.page import page

        return page(self)

    def data(self) -> dict[str, object]:
        """Returns the report as plain data for JSON, with the version of its format under `version`."""
        from polyml.systolic.report.data import data

        return data(self)


def report(call: KernelCall, arguments: Mapping[str, object], where: str, request: MappingRequest) -> SystolicReport:
    """Returns the report on a call of a kernel on a systolic array: the legal mappings of its nests, and what they cost.

    arguments: those of the call, by name.
    where: where the kernel is defined, as text.
    request: which mappings are wanted, and on which array.
    Raises: IllegalSchedule, with the dependence, where a nest cannot be mapped; ConfigError for an array, dataflow, links, mapping
        or rank that there is not.
    """
    start = time.perf_counter()
    machine, dataflow, links = request.machine, request.dataflow, request.links
    shape = _shape(machine, request.array)
    if dataflow not in CHOICES:
        raise ConfigError(f"there is no dataflow {dataflow!r}", notes=[f"expected one of {', '.join(CHOICES)}"])
    if links not in LINKS:
        raise ConfigError(f"there are no links {links!r}", notes=[f"expected one of {', '.join(LINKS)}"])
    problem = source_schedule(call).problem
    sizes = {p.name: value(p, arguments) for p in problem.scop.parameters}
    every = nests(problem.scop, problem.dependences, problem.reductions, links)
    given, found = parse.by_nest(request.mapping, [nest.name for nest in every]), []
    if dataflow != "auto" and len(given) == len(every):
        raise ConfigError(f"every nest has its mapping: there is none of which dataflow {dataflow} is asked")
    for nest in every:
        if polyhedra.fix(nest.domain, sizes).is_empty():
            continue
        began = time.perf_counter()
        if nest.name in given:
            known = [parse.plan(nest, sizes, shape, links, given[nest.name])]
        else:
            known = plans(nest, sizes, shape, links, dataflow)
        moved = operands(problem.scop, nest, sizes), written(nest, sizes), element_bytes(problem.scop, nest)
        known = ranked(known, request.rank, partial(_energy_j, machine, moved))
        found.append(NestReport(nest, tuple(known), *moved, time.perf_counter() - began))
    bound = lower_bound(problem.scop)
    seconds = time.perf_counter() - start
    return SystolicReport(
        call.kernel.name, where, sizes, shape, links, dataflow, request.rank, machine, tuple(found), bound, seconds
    )


def _energy_j(machine: Systolic | None, moved: tuple, plan: Plan) -> float | None:
    """Returns the energy of a plan on a machine, in J; None where no part of it is known.

    moved: (operands, written, element_bytes) of `MemoryCosts`.
    """
    known = machine and MemoryCosts(machine, plan, *moved).energy_j
    return sum(known.values()) if known else None


def _shape(machine: Systolic | None, array: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the rows and columns of the array that is wanted: `array`, or where that is () the machine's. Raises ConfigError for
    an array that cannot be.
    """
    if not array and machine is None:
        expected = "expected an array such as 16x16, or a machine such as tpu-v1"
        raise ConfigError("a systolic array has rows and columns", notes=[expected])
    shape = array if array or machine is None else (machine.rows, machine.columns)
    if len(shape) > 2 or any(type(length) is not int or not 1 <= length <= LONGEST for length in shape):
        expected = f"expected one or two positive numbers, as in 16x16, at most {LONGEST:,}"
        raise ConfigError(f"there is no array of {' x '.join(map(shown, shape[:3]))}", notes=[expected])
    return shape
