"""Runs one program through every engine and compares with plain Python."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace

from polyml.errors import (
    CompileError,
    IllegalSchedule,
    LanguageError,
    PassError,
    PolymlError,
    PolymlOverflowError,
    PolymlTypeError,
    ScheduleError,
)  # fmt: skip
from polyml.frontend.argument_types import arg_type
from polyml.frontend.parsing.parse import parse
from polyml.frontend.types.infer import infer
from polyml.polyhedra.isl_context import BudgetExceeded
from tests.fuzz import engines as engine_table
from tests.fuzz.oracle import Bounds, Run, bounds, call, difference, expected, is_defined, is_inexact, skips_a_loop
from tests.fuzz.program import Program, function, make_arguments
from tests.texts import reading_back
from tests.transformations import hides, recording


@dataclass(frozen=True)
class Outcome:
    """kind: "ok", "refused" (an engine said why it does not take the program) or "failed".

    engine and reason: of a refusal or failure. run: which sizes. detail: the message. unbounded: runs whose floats
    could not be compared within a bound. raised: runs for which Python itself raised. fired: the transformations of each
    compilation. hidden: whether most floats to compare are NaN or infinite.
    """

    kind: str
    engine: str = ""
    reason: str = ""
    run: int = -1
    detail: str = ""
    unbounded: int = 0
    raised: int = 0
    fired: tuple[tuple[str, ...], ...] = ()
    hidden: bool = False

    def to_dict(self) -> dict:
        return asdict(self)


def check(
    program: Program,
    engines: Sequence[str] = engine_table.NAMES,
    note: Callable[[str], None] = lambda engine: None,
) -> Outcome:
    """The first failure of any engine; else the first refusal; else ok. note: told of each engine before it runs."""
    with recording() as seen, reading_back() as lost:
        outcome = _check(program, engines, note)
    if lost and outcome.kind != "failed":
        outcome = Outcome("failed", "texts", lost[0].partition(":")[0], detail=lost[0])
    return replace(outcome, fired=tuple(tuple(sorted(each)) for each in set(seen)))


def _check(program: Program, engines: Sequence[str], note: Callable[[str], None]) -> Outcome:
    if not is_defined(program):
        return Outcome("refused", "python", "reads what np.empty left there")
    wanted = [expected(program, run) for run in range(len(program.sizes))]
    raised = sum(w.error is not None for w in wanted)
    inexact = is_inexact(program.source)
    limits: dict[tuple[int, bool], Bounds] = {}
    refusal = None

    def limit(run: int, rounds: bool) -> Bounds:
        if (run, rounds) not in limits:
            limits[run, rounds] = bounds(program, run, rounds)
        return limits[run, rounds]

    for name in engines:
        engine = engine_table.ENGINES[name]
        note(name)
        try:
            runner = engine.prepare(function(program), program)
        except BudgetExceeded as error:  # of loops for an order that the engine made up: a search takes another one
            refusal = refusal or Outcome("refused", name, str(error), -1, str(error))
            continue
        except _REFUSALS as error:
            refusal = refusal or Outcome("refused", name, reason(error), -1, str(error))
            if name == "interpret":
                break
            continue
        except Exception as error:  # a foreign exception out of the compiler is what the fuzzer looks for
            return Outcome("failed", name, type(error).__name__, -1, engine_table.trace(error), raised=raised)
        for run, want in enumerate(wanted):
            arguments = make_arguments(program, run)
            got = call(runner, arguments)
            loose = want.error is None and (engine.reorders or (inexact and name != "interpret"))
            if name == "interpret" and departs(want, got):
                wanted[run] = got
                continue
            found = _judge(program, engine, run, want, got, limit(run, engine.rounds) if loose else None)
            if found is not None and found.kind == "refused":
                refusal = refusal or found
                break
            if found is not None:
                return found
    if refusal:
        return refusal
    hidden = all(hides((*w.arrays, *w.values)) for w in wanted)
    return Outcome("ok", hidden=hidden, unbounded=sum(bool(b.unstable) for b in limits.values()), raised=raised)


def departs(python: Run, interpreter: Run) -> bool:
    """Whether the language differs from Python here by design: then its interpreter says what is right.

    Python's own numbers divided by zero, and functions of math outside their domain, give IEEE's result; a Python int
    that leaves 64 bits is refused.
    """
    if isinstance(interpreter.error, PolymlOverflowError):
        return python.error is None or isinstance(python.error, OverflowError)
    domain = isinstance(python.error, ValueError) and "math domain" in str(python.error)
    return domain or isinstance(python.error, ZeroDivisionError)


def _judge(program: Program, engine, run: int, want: Run, got: Run, within: Bounds | None) -> Outcome | None:
    """What is wrong with one run, or None."""

    def failed(why: str, detail: str) -> Outcome:
        return Outcome("failed", engine.name, why, run, detail)

    refused = isinstance(got.error, _REFUSALS) and not isinstance(got.error, OverflowError) or _has_no_code(got.error)
    if refused or isinstance(got.error, PolymlOverflowError) and want.error is None and _has_no_type(program):
        return Outcome("refused", engine.name, reason(got.error), run, str(got.error))
    if isinstance(got.error, _DEFECTS):
        return failed(f"raised {type(got.error).__name__}", str(got.error))
    if got.error is not None and want.error is None:
        return failed(f"raised {type(got.error).__name__}", engine_table.trace(got.error))
    if want.error is not None:
        return _judge_error(program, engine, run, want.error, got, failed)
    names = [a.name for a in program.arguments]
    found = difference(want, got, within, names)
    if found.startswith("returned value") and skips_a_loop(program, run):
        found = difference(want, got, within, names, other_types=True)
    return failed("value", found) if found else None


def _has_no_code(error: Exception | None) -> bool:
    """Whether an order was given that the code generator gives up: what nothing was asked of is only generated when it is called."""
    return isinstance(error, ScheduleError) and error.message.startswith("there is no code for the schedule")


def _has_no_type(program: Program) -> bool:
    """Whether type inference refuses the program, be its overflowing statement run or not."""
    try:
        infer(parse(function(program)), tuple(arg_type(a) for a in make_arguments(program, 0)))
    except PolymlOverflowError:
        return True
    return False


# What an engine may say to a program it does not take, and what it must never say.
_REFUSALS = (LanguageError, PolymlTypeError, PolymlOverflowError)
_DEFECTS = (CompileError, IllegalSchedule, PassError)

# Which error comes first may differ: polyml tests all bounds before anything runs.
_ENTRY_ERRORS = (IndexError, OverflowError, ValueError)


def _judge_error(program: Program, engine, run: int, wanted: Exception, got: Run, failed: Callable) -> Outcome | None:
    if got.error is None:
        return failed("did not raise", f"Python raises {wanted!r}")
    same = isinstance(got.error, type(wanted)) or type(wanted) in (UnboundLocalError,)
    both = isinstance(wanted, _ENTRY_ERRORS) and isinstance(got.error, _ENTRY_ERRORS)
    if not same and not both:
        return failed(f"raised {type(got.error).__name__}", engine_table.trace(got.error))
    if engine.checks_first and isinstance(got.error, IndexError) and isinstance(got.error, PolymlError):
        untouched = Run(tuple(make_arguments(program, run)), (), False)
        if found := difference(untouched, Run(got.arrays, (), False), None, [a.name for a in program.arguments]):
            return failed("wrote before it raised", found)
    return None


def reason(error: PolymlError) -> str:
    """A refusal without what is particular to one program: names in quotes and numbers."""
    first_line = error.message.partition("\n")[0]
    message = re.sub(r"`[^`]*`|'[^']*'", "`..`", first_line)
    return f"{type(error).__name__}: {re.sub(r'[0-9]+', '#', message)}"
