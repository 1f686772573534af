"""What was done to a kernel, loop by loop, and why the rest was not: `explain`, `why`."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from polyml import config
from polyml.api.calls.specialisation import Request, Specialisation
from polyml.api.compiling.compile_lock import alone
from polyml.api.explaining import words
from polyml.api.explaining.refused import plain_python
from polyml.api.explaining.texts import Answer, ExplainText
from polyml.api.gpu_calls import OnGpu
from polyml.api.schedules import Schedulable
from polyml.api.specialised import Specialised
from polyml.errors import ConfigError, PolymlError, PolymlTypeError, ScheduleError
from polyml.reading.input_limits import shown

if TYPE_CHECKING:
    from polyml.frontend.syntax import ArgType
    from polyml.remarks.values import LoopRemarks, Remarks
    from polyml.systolic.simulate import ArraySimulation


class Explained(Schedulable, Specialised, OnGpu):
    """The part of `Kernel` that says what was compiled and why: `explain`, and `why` for a single question."""

    _simulation: ArraySimulation | None  # the last call, where the target is a systolic array
    _simulated_types: tuple[ArgType, ...]  # of its arguments

    def explain(self) -> ExplainText:
        """Returns a text: what code was made for the types of the last call, why, the time of each stage, and what runs as Python;
        then for each loop of the source what was done to it, and the reason for what was not.

        The text is a `str` that has the remarks on loops as values too, and as JSON. To find them, the kernel is compiled again
        where `explain` is called for the first time after a compilation.

        >>> import numpy as np, polyml
        >>> @polyml.kernel
        ... def double(A):
        ...     for i in range(A.shape[0]):
        ...         A[i] *= 2.0
        >>> double(np.ones(4))
        >>> print(double.explain())
        double (<doctest ...>:1): compiled...
          A: f64[:], written
          options: fp reassociate, schedule auto, fusion model, threads all cores
        ...
        """
        if self._with_last is not None and not self._python_reason:
            return self._with_last.explain()
        if self.gpu is not None and self._gpu_form is not None:
            if self._gpu_form.artifact is None or self._python_reason:
                return self._explained_as_python(None)
            return self._with_remarks([self._explained_on_gpu(self.gpu)])
        if self._simulation is not None:
            plans = [(run.plan.recurrence, run.plan.mapping, run.cycles) for run in self._simulation.runs]
            runs = [(recurrence.nest.name, recurrence.text(mapping), cycles) for recurrence, mapping, cycles in plans]
            return self._with_remarks([words.simulated(str(self.target), runs, self._where)])
        if isinstance(self._of_arrays, Explained):
            return self._of_arrays.explain()
        last = self._last
        if last is None and not self._python_reason:
            return ExplainText(f"{self._where}: not called yet")
        if last is None or last.artifact is None:
            return self._explained_as_python(last)
        called = words.signature(last.request.types, last.request.layouts)
        lines = [words.compiled(last.artifact, last.request.options, last.timings, last.from_cache, self._where)]
        if (entry := self._entries.get(last)) is not None and len(self._ledger) > 1:
            lines.append(
                f"  one of {len(self._ledger)} forms (`signatures` lists them), for sizes: {entry.sizes}; made for: {entry.why}"
            )
        lines += [f"  also compiled for {other}" for other in self._signature_texts() if other != called]
        if self._python_reason:
            lines.append(f"  the last call ran as plain Python: {self._python_reason}")
        return self._with_remarks(lines)

    def _with_remarks(self, lines: list[str]) -> ExplainText:
        """Returns lines as a text, with the remarks on the loops of the last call."""
        try:
            found = self.remarks()
        except PolymlError as problem:
            return ExplainText("\n".join([*lines, f"  the loops are not explained: {problem.message}"]))
        return ExplainText("\n".join(lines), found)

    def why(self, loop: str, question: str, *args_or_types) -> Answer:
        """Returns the answer to a question on a loop of the source: that it is so, or what stands against it.

        loop: its variable, such as "j", for all loops of that variable; "j:12" for the one in line 12, or "S1.j" for the one around
            statement S1, as schedule scripts call it.
        question: "parallel", "vectorized", "tiled", "fused" (with the loop behind it) or "interchanged" (with the one around it).
        args_or_types: arguments or types as for `lower`; none: those of the last call.

        The answer prints as text. Its `conflict` is the pair of instances that would be broken, with the element that both touch and
        where in the source they do; its `remark` has the terms of the cost model where that decided.

        Raises ScheduleError for a loop that does not exist, ConfigError for another question.

        >>> import polyml
        >>> @polyml.kernel
        ... def prefix_sums(A):
        ...     for i in range(1, A.shape[0]):
        ...         A[i] += A[i - 1]
        >>> found = prefix_sums.why("i", "parallel", "f64[:]").conflict
        >>> found.kind, found.element, found.source.instance, found.sink.instance, found.distance
        ('flow', 'A[1]', 'S0[1]', 'S0[2]', {'i': 1})
        """
        from polyml.remarks.values import QUESTIONS

        if not isinstance(question, str) or question not in QUESTIONS:
            near = difflib.get_close_matches(question, QUESTIONS, n=1, cutoff=0.5) if isinstance(question, str) else []
            hint = [f"did you mean {near[0]!r}?"] if near else []
            raise ConfigError(f"`why` does not answer {shown(question)}", notes=[*hint, f"questions: {', '.join(QUESTIONS)}"])
        if not isinstance(loop, str):
            raise PolymlTypeError(
                f"a loop is called by its name, a text, not by {shown(loop)}", notes=['as in k.why("j", "parallel")']
            )
        every = _named([each for found in self.remarks(*args_or_types) for each in found.loops], loop)
        answered = [remark.question for remark in every[0].remarks]
        if question not in answered:
            notes = [f"questions that have an answer there: {', '.join(answered)}"]
            raise ConfigError(f"on {self.gpu or self.target} no loop is {question} or not", notes=notes)
        return Answer(question, tuple(every))

    def remarks(self, *args_or_types) -> tuple[Remarks, ...]:
        """Returns what was done to each loop of the source and what was not, as values: a `polyml.remarks.values.Remarks` for the
        kernel, or one for each part of it that is compiled.

        args_or_types: arguments or types as for `lower`; none: those of the last call.
        A kernel for a GPU has answers to "parallel" and "fused", one for a systolic array, of its last call, to "parallel".

        Raises the error that says why nothing is compiled.

        >>> import polyml
        >>> @polyml.kernel
        ... def double(A):
        ...     for i in range(A.shape[0]):
        ...         A[i] *= 2.0
        >>> [found] = double.remarks("f64[:]")
        >>> [(loop.name, loop.of("vectorized").kind) for loop in found.loops]
        [('i', 'passed')]
        """
        if self._with_last is not None and not self._python_reason and not args_or_types:
            return self._with_last.remarks()
        if self.gpu is not None:
            return (self._remarks_on_gpu(args_or_types),)
        if self.target is not None:
            return (self._remarks_on_array(args_or_types),)
        if isinstance(self._of_arrays, Explained) and not args_or_types:
            return self._of_arrays.remarks()
        if args_or_types or self._last is None and not self._python_reason:
            options = config.resolve(self.settings)

            def made(types, layouts, sizes) -> tuple[Remarks, ...]:
                return self._remarks_on(Specialisation(Request(types, layouts, options, sizes=sizes), None, None, {}))

            return cast("tuple[Remarks, ...]", self._of_these(args_or_types, made))
        if self._last is not None and self._last.artifact is not None:
            return self._remarks_on(self._last)
        found = self._remarks_on_parts()
        if not found and self._last is not None:
            raise self._last.refusal
        if not found:
            raise PolymlTypeError(f"{self.__name__} runs as plain Python: {self._python_reason}")
        return found

    def _remarks_on(self, form: Specialisation) -> tuple[Remarks, ...]:
        """Returns the remarks on a compiled form, for which it is compiled once more; they are kept with it."""
        if form.is_simpler:
            raise PolymlTypeError("the compiler failed, a defect of polyml, and the code was made with fewer transformations")
        if form.remarks is None:
            form.remarks = self._compiling(lambda: self._found(form.request))
        return (form.remarks,)

    def _found(self, wanted: Request) -> Remarks:
        from polyml.api.explaining.compiled_facts import facts_of
        from polyml.remarks import collect

        facts = facts_of(lambda: self._compile(replace(wanted, options=wanted.options))[0], wanted)
        with alone():
            return collect.remarks(facts, self._where, words.signature(wanted.types, wanted.layouts))

    def _remarks_on_gpu(self, args_or_types: tuple) -> Remarks:
        """Returns the remarks on a kernel for a GPU, whose schedule is found once more."""
        from polyml.api.explaining.compiled_facts import nest_changes
        from polyml.api.explaining.device_facts import gpu_facts
        from polyml.remarks.devices import gpu

        form = self._gpu_form
        if not args_or_types and form is not None and form.problem is not None:
            raise form.problem
        with nest_changes() as changes:
            schedule = self.schedule(*args_or_types)
        notes = form.artifact.notes if form is not None and form.artifact is not None and not args_or_types else ()
        with alone():
            problem = schedule.problem
            signature = words.signature(problem.types, problem.layouts)
            return gpu.remarks(gpu_facts(schedule, tuple(changes)), self._where, signature, notes)

    def _remarks_on_array(self, args_or_types: tuple) -> Remarks:
        """Returns the remarks on the last call, which was simulated on a systolic array."""
        from polyml.api.explaining.compiled_facts import nest_changes
        from polyml.api.explaining.device_facts import array_facts
        from polyml.remarks.devices import systolic

        simulation = self._simulation
        if simulation is None or args_or_types:
            never = ", and there was none" if simulation is None else ""
            why = f"remarks on loops are on its last call{never}"
            raise ConfigError(f"{self.__name__} is for {self.target}: {why}", notes=["call it, and leave types out here"])
        with nest_changes() as changes:
            source = self.schedule("source", *self._simulated_types)
        with alone():
            problem = source.problem
            facts = array_facts(source, simulation, tuple(changes))
            return systolic.remarks(facts, self._where, words.signature(problem.types, problem.layouts))

    def _explained_as_python(self, last: Specialisation | None) -> ExplainText:
        """Returns the text on a call that ran as plain Python, with the remarks on the parts that were compiled."""
        from polyml.remarks.values import Remarks

        called = "" if last is None else words.signature(last.request.types, last.request.layouts)
        reason = self._python_reason or ("" if last is None else words.reason(last.refusal))
        lines = [words.python(called, reason, self._where), *(f"  compiled: lines {a} to {b}" for a, b in self.compiled_parts())]
        own = Remarks(self.__name__, self._where, called, (), (), (), (), plain_python(self._reasons.values()))
        return ExplainText("\n".join(lines), (own, *self._remarks_on_parts()))

    def _remarks_on_parts(self) -> tuple[Remarks, ...]:
        """Returns the remarks on the parts of the function that are compiled, where it is not compiled as a whole."""
        kernels = (call.kernel for _, calls in self._parts.values() for call in calls if any(call.compiled_lines()))
        found: list[Remarks] = []
        for kernel in kernels:
            if isinstance(kernel, Explained):
                found += kernel.explain().remarks
        return tuple(found)


def _named(loops: Sequence[LoopRemarks], name: str) -> list[LoopRemarks]:
    """Returns the loops that a name means. Raises ScheduleError where it means none."""
    variable, _, line = name.partition(":")
    found = [
        loop
        for loop in loops
        if name in (loop.name, loop.iterator)
        or variable == loop.iterator
        and loop.place is not None
        and line == str(loop.place.line)
    ]
    if not found:
        listed = (f"{loop.name}{f' (line {loop.place.line})' if loop.place else ''}" for loop in loops)
        raise ScheduleError(f"there is no loop {shown(name)}", notes=[f"loops: {', '.join(listed) or 'none'}"])
    return found
