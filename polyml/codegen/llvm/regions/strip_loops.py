"""Strips of a loop's iterations become two loops: one over what is computed ahead (`strip_plans`), and one over the iterations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from polyml.codegen.llvm.element_access import ElementAccess
from polyml.codegen.llvm.regions.loop_tests import LoopTests
from polyml.codegen.llvm.regions.region_values import RegionValues, StripChecks
from polyml.codegen.llvm.regions.statement_blocks import begin, in_groups
from polyml.codegen.llvm.regions.strip_plans import LENGTH, Conditions, StripPlan, StripValue
from polyml.codegen.llvm.ssa_value import SsaValue
from polyml.dtypes import BOOL
from polyml.frontend import syntax


@dataclass(frozen=True)
class Iterations:
    """The Iterations of a loop.

    loop: the loop
    count: the SSA name of how many there are
    begin: emits that the loop's variable has its value of an iteration, whose number has an SSA name
    run: emits the statements of an iteration
    """

    loop: syntax.For
    count: str
    begin: Callable[[str], None]
    run: Callable[[], None]


class StripLoops:
    """A StripLoops emits the strips of one loop."""

    def __init__(self, body: ElementAccess, values: RegionValues, tests: LoopTests, plan: StripPlan, iterations: Iterations):
        self._body, self._fn, self._values, self._tests = body, body.fn, values, tests
        self._plan, self._iterations = plan, iterations
        self._rooms: dict[StripValue, tuple[str, syntax.Expr]] = {}  # by value, its memory

    def emit(self) -> str:
        """Emits the strips, and returns the number of the first iteration that is left: behind them, or in a strip with an index or a
        number that has to be looked at one by one.
        """
        fn, values = self._fn, self._values

        def tested(number: str) -> str:
            return fn.emit(f"icmp eq i64 {self._loop(number, self._ahead)}, 0")

        def run(number: str) -> None:
            outer = values.safe
            values.safe = outer | self._plan.indices.keys()
            self._loop(number, self._iteration)
            values.safe, values.ahead = outer, {}

        return in_groups(self._body, self._iterations.count, LENGTH, LENGTH, tested, run)

    def _loop(self, first: str, made: Callable[[str], str | None]) -> str:
        """Emits a loop over the iterations of a strip, and returns the SSA name of what they give, combined by `or`.

        first: the SSA name of the number of the first one
        made: emits one, from its place in the strip, and returns an integer's SSA name, or None
        """
        fn = self._fn
        before, body, after = fn.current, fn.block("body"), fn.block("after")
        fn.jump(body)
        begin(self._body, body)
        place, total = fn.name(), fn.name()
        self._iterations.begin(fn.emit(f"add nuw nsw i64 {first}, {place}"))
        found = made(place)
        following, combined = fn.emit(f"add nuw nsw i64 {place}, 1"), fn.emit(f"or i64 {total}, {found or '0'}")
        fn.branch(fn.emit(f"icmp ult i64 {following}, {LENGTH}"), body, after)
        for name, start, end in ((place, "0", following), (total, "0", combined)):
            body.phis.append(f"{name} = phi i64 [ {start}, %{before.label} ], [ {end}, %{fn.current.label} ]")
        begin(self._body, after)
        return combined

    def _ahead(self, place: str) -> str:
        """Emits what is computed ahead for one iteration, and returns an integer that is not 0 where that iteration has to be looked at."""
        fn, values = self._fn, self._values
        with values.in_strip() as checks:
            for each in dict.fromkeys(self._plan.values.values()):
                value = self._under(checks, each.where, each.value)
                kind = "i8" if value.dtype.kind == "b" else value.type
                room = fn.emit(f"alloca [{LENGTH} x {kind}], align 64", fn.blocks[0])
                self._rooms[each] = room, each.value
                ssa = fn.emit(f"zext i1 {value.ssa} to i8") if value.dtype.kind == "b" else value.ssa
                fn.do(f"store {kind} {ssa}, ptr {fn.emit(f'getelementptr {kind}, ptr {room}, i64 {place}')}")
            for index, where in self._plan.indices.values():
                position = self._under(checks, where, index.value)
                outside = fn.emit(f"icmp uge i64 {position.ssa}, {self._tests.extent(index.element, index.dim)}")
                with checks.all_of(self._truths(where)):
                    checks.flag(SsaValue(outside, BOOL))
        return fn.emit(f"zext i1 {checks.total.ssa} to i64") if checks.total is not None else "0"

    def _under(self, checks: StripChecks, where: Conditions, value: syntax.Expr) -> SsaValue:
        with checks.all_of(self._truths(where)):
            return self._values.of(value)

    def _truths(self, where: Conditions) -> Sequence[SsaValue]:
        math = self._body.math
        truths = ((math.truth(self._values.of(condition)), holds) for condition, holds in where)
        return [truth if holds else math.invert(truth) for truth, holds in truths]

    def _iteration(self, place: str) -> None:
        """Emits one iteration, which reads what was computed ahead."""
        self._values.ahead = {key: (self._rooms[value][0], place) for key, value in self._plan.values.items()}
        self._iterations.run()
