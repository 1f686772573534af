"""Calls that run as plain Python, around the parts of the function that are compiled."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import FunctionType
from typing import TYPE_CHECKING

from polyml import config
from polyml.api.calls.lifted_parts import PartCall
from polyml.api.calls.plain_calls import Plain, Tally, may_be_refused, reasons, refusals
from polyml.api.calls.sparse_calls import ArraysKernel, NotCompiled, SparseCall
from polyml.api.calls.specialisation import NO_ENTRY, Hot
from polyml.api.explaining import words
from polyml.api.function import KernelFunction, outside
from polyml.api.target import AnyTarget
from polyml.config import active
from polyml.errors import PolymlError, PolymlPerformanceWarning
from polyml.runtime.calling.binding import CaptureGuard
from polyml.runtime.calling.guards import captures, of_itself
from polyml.runtime.calling.signature import parameters
from polyml.source import Loc

if TYPE_CHECKING:
    from polyml.frontend.lifting.lifted_function import LiftedPart
    from polyml.frontend.parsing.refusals import Refusals
    from polyml.schedule.script.file import Saved


class LeftToPython(KernelFunction):
    """The part of `Kernel` that runs a function as plain Python where it is not compiled, with one warning for each reason.

    compiled: None before the first call, then whether the last call ran as native code; False: it ran as plain Python. Calls like
        the one before leave it unchanged.
    """

    _call_of_part: Callable[[LiftedPart], PartCall]  # makes a part's kernel; `Kernel` defines it

    def __init__(
        self, function: FunctionType, settings: Mapping[str, object], given: Saved | None = None, target: AnyTarget | None = None
    ):
        super().__init__(function, settings, given, target)
        self.compiled: bool | None = None
        self._whole: LeftToPython | None = None  # of which this one is for some constants
        self._hot = NO_ENTRY
        self._of_arrays: ArraysKernel | None = None  # ran the last call, where sparse matrices are arguments
        self._python_reason = ""
        self._reasons: dict[str, PolymlError] = {}  # why calls ran as plain Python: by their texts, in order
        self._as_python = Tally()
        self._always: Plain | None = None  # runs whatever the arguments are
        # the function in parts, and the lines of parts that do not pay, by the places of what is refused
        self._parts: dict[tuple[Loc, ...], tuple[FunctionType | None, list[PartCall]]] = {}
        self._parts_left: dict[tuple[Loc, ...], set[tuple[int, int]]] = {}
        self._reads: dict[frozenset[str], tuple[Loc, ...]] = {}  # the places at which parameters are read
        self._told: Mapping[str, PolymlError] | None = None  # of a part of a function: why that function runs as plain Python

    def compiled_parts(self) -> Iterator[tuple[int, int]]:
        """Yields (first line, last line) of each part of the function that ran as native code in its last call, in order.

        There are such parts where the function as a whole is not compiled.

        >>> import numpy as np, polyml
        >>> @polyml.kernel(fallback="silent")
        ... def report(A):
        ...     for i in range(A.shape[0]):
        ...         A[i] *= 2.0
        ...     print(A.sum())
        >>> report(np.ones(4))
        8.0
        >>> list(report.compiled_parts())
        [(3, 4)]
        """
        for _, calls in self._parts.values():
            for call in calls:
                yield from call.compiled_lines()

    def _has_constant_forms(self) -> bool:
        """Returns whether there is code of this function for some constants."""
        return False

    def _passed(self, values: Sequence[object]) -> tuple[tuple[object, ...], dict[str, object]]:
        """Returns (positional arguments, keyword arguments) with which to call the function, from one value for each parameter."""
        names, positional = parameters(self.py_func), self.py_func.__code__.co_argcount
        given = {**self._constants, **dict(zip(self._names, values))}
        every = [given[name] for name in names]
        return tuple(every[:positional]), dict(zip(names[positional:], every[positional:]))

    def _run_as_python(
        self, args: Sequence[object], kwargs: Mapping[str, object], problem: PolymlError, kinds: Sequence[object] | None = None, decided: bool = True,
        about: frozenset[str] | None = None,
    ):  # fmt: skip
        """Runs the function as Python, except for loops in it that can be compiled, and returns its result. Warns once for each
        reason.

        problem: why the call is not compiled as a whole.
        kinds: one value for each parameter: the call is counted, and from the third with arguments of the same classes and element
            types on, such calls run as plain Python at once; None: it is not counted.
        decided: whether the source and the types are the reason, not this call's data; if so, `fallback="error"` raises the
            problem.
        about: the parameters whose arguments are the reason; None: no argument is.
        """
        if self._whole is not None:
            self.compiled = False
            others = frozenset(name for name, value in self._constants.items() if type(value) is not bool)
            self._whole._kinds.by_values |= self._kinds.by_values
            every = None if kinds is None or self._whole._has_constant_forms() else (*args, *kwargs.values())
            return self._whole._run_as_python(args, kwargs, problem, every, decided, (about or frozenset()) | others or about)
        options = config.resolve(self.settings)
        refuses = decided and (options.fallback == "error" or self._given is not None)
        if refuses and about is None:
            raise problem.noted()
        self._hot = NO_ENTRY
        refused, guards = self._refusals(decided)
        places = tuple(r.place for r in refused.statements) or self._own_place(problem)
        if about:
            places = (*places, *self._where_read(about))
        found = reasons(refused, problem)
        lifted = self._with_parts_lifted(places, regions=not refused.statements) if places or about is not None else None
        is_whole = not refused.statements and lifted is not None and about and about <= refused.objects
        if refuses and not is_whole:
            raise problem.noted()
        self.compiled, self._python_reason = False, "\n".join(map(words.reason, found))
        new = {str(each): each for each in found if str(each) not in self._reasons}
        self._reasons |= new
        if new and options.fallback != "silent" and not is_whole and not self._is_told(new.values()):
            partly = lifted is not None and bool(self._parts[places][1])
            text = words.refused(self._where, found, partly, self._told is not None and self._whole is None)
            warnings.warn(text, PolymlPerformanceWarning, stacklevel=outside())
        run = lifted or self.py_func
        if refused.statements and not about or refused.whole:
            self._always = Plain(active(), guards, run, self._as_python)
            self._hot = Hot(active(), self._always, None)
        elif kinds is not None:
            self._kinds.add(kinds, Plain(active(), of_itself(self.py_func), run, self._as_python))
        return self._as_python.run(run, args, kwargs)

    def _is_told(self, problems: Iterable[PolymlError]) -> bool:
        """Returns whether the function is a part of another one, whose own warning says all that a warning of these would."""
        if self._told is None:
            return False
        told = {(each.message, each.loc.line) for each in self._told.values() if each.loc}
        return all(each.loc is None or (each.message, each.loc.line) in told for each in problems)

    def _on_arrays(self, call: SparseCall, values: tuple[object, ...]):
        """Calls the function of the arrays of sparse matrices, and returns the result; where it is not compiled, Python runs the
        function itself.
        """
        try:
            result = call.run(values)
        except NotCompiled as refused:
            left = refused
        else:
            self._hot, self._of_arrays = Hot(active(), call.entry, None), call.kernel
            self.compiled, self._python_reason = True, ""
            return result
        self._of_arrays = None
        about = frozenset(name for name, value in zip(self._names, values) if may_be_refused(value))
        problem = self._in_call(left.problem)
        return self._run_as_python(*self._passed(values), problem, values if left.decided else None, left.decided, about)

    def _refusals(self, decided: bool) -> tuple[Refusals, tuple[CaptureGuard, ...]]:
        """Returns the statements that cannot be compiled whatever the arguments are, and guards of the outside names on which that
        depends.

        decided: whether the source and the types are why the call is not compiled; if not, there are no such statements and no
            guards.
        """
        if not decided:
            from polyml.frontend.parsing.refusals import NO_REFUSALS

            return NO_REFUSALS, ()
        found = refusals(self.py_func)
        names = {c.name for c in found.captured}
        return found, tuple(g for g in captures(self.py_func).guards if g.key in names)

    def _own_place(self, problem: PolymlError) -> tuple[Loc, ...]:
        """Returns the location of a problem in a tuple; an empty tuple where it has none or lies in another file than the
        function.
        """
        is_own = problem.loc is not None and problem.loc.source.file == self.py_func.__code__.co_filename
        return (problem.loc,) if problem.loc is not None and is_own else ()

    def _with_parts_lifted(self, places: tuple[Loc, ...], regions: bool) -> FunctionType | None:
        """Returns a Python function that runs the statements at these locations as Python, and calls compiled code for those of the
        other loops that can be compiled; None where there are none.

        regions: whether these statements may be compiled by themselves.
        """
        known = self._parts.get(places)
        idle = set() if known is None else {call.part.lines for call in known[1] if call.does_not_pay}
        if known is None or idle:
            from polyml.frontend.lifting import loop_lifting

            without = self._parts_left.setdefault(places, set())
            without |= idle
            own = next((g.key for g in captures(self.py_func).guards if g.expected is self), None)
            try:
                found = loop_lifting.lift_parts(self.py_func, places, without, own, regions=regions)
            except RecursionError:  # an expression may have thousands of terms
                found = None
            calls = [] if found is None else [self._call_of_part(part) for part in found.parts.values()]
            known = self._parts[places] = None if found is None else found.calling(calls), calls
        return known[0]

    def _where_read(self, names: frozenset[str]) -> tuple[Loc, ...]:
        """Returns the locations of the statements that read any of these parameters."""
        if names not in self._reads:
            from polyml.frontend.lifting import loop_lifting

            self._reads[names] = loop_lifting.where_read(self.py_func, names)
        return self._reads[names]

    def _without_a_part(self) -> None:
        """Makes the next call choose anew which loops run compiled, leaving out those for which plain Python turned out to be as
        fast.
        """
        self._always, self._hot = None, NO_ENTRY
        self._kinds.forget()
