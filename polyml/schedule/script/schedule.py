"""A schedule that its user writes step by step: `k.schedule().tile(i=32, j=32).parallel("i_t")`.

Each step gives a new schedule, which is proved legal at once like one of the compiler's own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike

import islpy as isl

from polyml import polyhedra
from polyml.errors import IllegalSchedule, ScheduleError
from polyml.polyhedra import BudgetExceeded, budget
from polyml.reading import userfiles
from polyml.reading.input_limits import excess, plain, shown
from polyml.schedule.script import file, printer, transforms
from polyml.schedule.script.call_site import call_site
from polyml.schedule.script.gpu_schedule import GpuSteps
from polyml.schedule.script.problem import OPERATIONS, Problem
from polyml.schedule.script.tree_svg import tree_svg
from polyml.schedule.tree import loop_tree as loops
from polyml.schedule.tree.directives import Directives
from polyml.schedule.tree.loop_tree import Node
from polyml.tracebacks import guard_methods
from polyml.values import cached_property

NOTHING, TEXT, OBJECTS = "nothing", "text", "objects"  # that are made of a program
_LONGEST, _DEEPEST = 1_000, 50  # of a text over sizes
MOST_TOGETHER = 64  # iterations of one loop that run together


def _word(value: object) -> str:
    """Returns the text of an argument of a step, such as a loop or a size, as messages show it."""
    return value if isinstance(value, str) and len(value) < 60 else shown(value)


def _words(*values: object) -> str:
    return ", ".join(map(_word, values))


def schedule(problem: Problem, tree: isl.Schedule) -> Schedule:
    """Returns the schedule with which a script begins.

    Its tree is read again from the text that `save` would write, as isl reads some expressions in a simpler form than it wrote; so
    it makes the same code as one that is loaded from that file.
    """
    saved = file.saved(problem, tree)
    return Schedule(problem, file.tree_from(saved.tree, problem.scop), saved)


@partial(guard_methods, taken=plain)
@dataclass(frozen=True, eq=False, repr=False)
class Schedule(GpuSteps):
    """A schedule is the order in which a kernel's statements run, as loops with names. It is immutable: a step returns a new one.

    A loop is called by its name, `i`; where several have that name, together with a statement inside it: `S0.i`. A tile
    loop of `i` is `i_t`, or `i_t2` if there is one already; `print(schedule)` shows all.

    Every step is proved against the exact dependences. It raises IllegalSchedule where it breaks one; the message names the
    dependence's kind, the array, and a smallest pair of instances. It raises ScheduleError where it does not fit the loops, or
    the code generator cannot do it. Both name the step by its number in the script and its text, and its line where the script
    is in a file.

    problem: the kernel that the schedule is for.
    tree: isl's schedule tree.
    saved: the schedule as texts, for which isl is not needed.
    steps: how many steps lead from the script's first schedule to this one.
    launch: a statement of the launch of the last `grid`, to which `block` and `items` belong; "" before any.
    is_proved: whether steps are proved; `with_schedule` and `load_schedule` prove in any case.
    """

    problem: Problem
    tree: isl.Schedule
    saved: file.Saved
    steps: int = 0
    launch: str = ""
    is_proved: bool = True

    @cached_property
    def loops(self) -> Node:
        """Returns the schedule tree as loops with names."""
        with self.problem.alone():
            return loops.read(self.tree, self.problem.scop.statements)

    def __str__(self) -> str:
        with self.problem.alone():
            return printer.text(self.problem.scop, self.loops)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Returns the drawn tree of the schedule, which notebooks show."""
        with self.problem.alone():
            return str(tree_svg(self.problem.scop, self.loops))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schedule) and self.saved.order == other.saved.order

    def __hash__(self) -> int:
        return hash(self.saved.order)

    # loops

    def tile(self, sizes: Mapping[str, int] | None = None, /, **named: int) -> Schedule:
        """Returns the schedule with loops cut into tiles (strip-mine and interchange; Halide and TVM: split, reorder).

            for i:                      for i_t by 32:
                for j:                      for j_t by 8:
                    S             ->            for i in i_t ... i_t + 31:
                                                    for j in j_t ... j_t + 7:
                                                        S

        Write tile(i=32, j=8), or tile({"S0.i": 32}). The loops must be directly inside one another; the order in which they are
        named does not matter. If `i` was parallel, `i_t` is parallel in its place.
        """
        if sizes is not None and not isinstance(sizes, Mapping):
            raise self._refused(
                "tile(...)", f"tile takes sizes by loop, as in tile(i=32) or tile({{'S0.i': 32}}), not {shown(sizes)}"
            )
        given = {**(sizes or {}), **named}
        words = ", ".join(f"{_word(name)}={shown(size)}" for name, size in given.items())
        return self._changed(f"tile({words})", lambda tree: transforms.tile(tree, given))

    def fuse(self, first: str, *others: str) -> Schedule:
        """Returns the schedule with loops next to each other as one loop (loop fusion; Halide: compute_with).

            for i: S                    for i:
            for j: T              ->        S
                                            T

        The new loop has the name of the first one. It runs iterations of equal value together; `shift` changes which ones meet.
        """
        return self._changed(f"fuse({_words(first, *others)})", lambda tree: transforms.fuse(tree, (first, *others)))

    def distribute(self, loop: str, after: str | None = None) -> Schedule:
        """Returns the schedule with a loop of its own for each part of a loop's body (loop distribution, fission).

            for i:                      for i: S
                S                 ->    for i: T
                T

        after: a statement behind which the body is cut in two; None: every part gets a loop.
        """
        return self._changed(f"distribute({_word(loop)})", lambda tree: transforms.distribute(tree, loop, after))

    def interchange(self, first: str, second: str) -> Schedule:
        """Returns the schedule with two loops exchanged; those between them stay (loop interchange; Halide: reorder).

        for i:                      for j:
            for j: S          ->        for i: S
        """
        return self._changed(f"interchange({_words(first, second)})", lambda tree: transforms.interchange(tree, first, second))

    def skew(self, loop: str, by: str, factor: int = 1) -> Schedule:
        """Returns the schedule with a multiple of an outer loop added to a loop, so that wavefronts become loops (Wolfe, 1986).

            for t:                      for t:
                for i: S          ->        for i' = i + factor*t: S

        by: a loop around all statements of `loop`.
        """
        return self._changed(f"skew({_words(loop, by, factor)})", lambda tree: transforms.skew(tree, loop, by, factor))

    def shift(self, loop: str, by: int | str | None = None, /, **statements: int | str) -> Schedule:
        """Returns the schedule with statements some iterations later in a loop (loop shifting, retiming).

            for i:                      for i:
                S[i]              ->        S[i]
                T[i]                        T[i - 1]

        Write shift("i", T=1) to move one statement, shift("i", 1) to move all. by: an integer, or a text over sizes such as
        "A_0 - 1".
        """
        if (by is None) == (not statements):
            example = "as in shift('i', 1) or shift('i', S0=1)"
            raise self._refused(f"shift({_word(loop)}, ...)", f"shift takes a distance for all statements or for some, {example}")

        def change(tree: Node) -> Node:
            _, around = transforms.find(tree, loop)
            given = statements or dict.fromkeys(loops.statements(around), by)
            return transforms.shift(tree, loop, {name: self._affine(e, "shift") for name, e in given.items()})

        words = _word(by) if by is not None else ", ".join(f"{name}={_word(e)}" for name, e in statements.items())
        return self._changed(f"shift({_word(loop)}, {words})", change)

    def reverse(self, loop: str) -> Schedule:
        """Returns the schedule with a loop that runs from its last iteration to its first (loop reversal).

        for i upwards: S      ->    for i downwards: S
        """
        return self._changed(f"reverse({_word(loop)})", lambda tree: transforms.reverse(tree, loop))

    def split(self, loop: str, at: int | str) -> Schedule:
        """Returns the schedule with a loop's iterations divided between two loops, one after the other (index-set splitting).

            for i: S              ->    for i < at: S
                                        for i_2 >= at: S

        at: a value of the loop's expression: an integer, or a text over sizes such as "A_0 - 1".
        """
        domains = {name: s.domain for name, s in self.problem.scop.statements.items()}

        def change(tree: Node) -> Node:
            return transforms.split(tree, loop, self._affine(at, "split"), domains)

        return self._changed(f"split({_word(loop)}, at={_word(at)})", change)

    # directives

    def unroll_jam(self, loop: str, count: int) -> Schedule:
        """Returns the schedule in which several iterations of a loop run together inside its inner loops (register tile).

            for i:                      for i by 2:
                for k: S[i, k]    ->        for k: S[i, k]; S[i + 1, k]
                                        (and iterations that are left over)

        The loop must carry no dependence.

        count: how many iterations run together; where the loop is `vectorize`d, how many vectors.
        """
        step = f"unroll_jam({_words(loop, count)})"
        if not isinstance(count, int) or isinstance(count, bool) or not 2 <= count <= MOST_TOGETHER:
            raise self._refused(step, f"unroll_jam takes a count from 2 to {MOST_TOGETHER}, not {shown(count)}")
        return self._changed(step, lambda tree: self._run_together(tree, loop, lambda d: replace(d, unroll_jam=count)))

    def vectorize(self, loop: str) -> Schedule:
        """Returns the schedule in which a loop's iterations are lanes of vectors, with a mask for those left over.

            for j:                      for j by lanes:
                S[j]              ->        S[j ... j + lanes - 1]

        The loop must carry no dependence, other than among updates of a reduction, whose order is free. The loops keep their
        order: where the loop is not the innermost one, whole vectors go through the loops inside.
        """

        def change(tree: Node) -> Node:
            return self._run_together(tree, loop, lambda directives: replace(directives, vectorize=True))

        return self._changed(f"vectorize({_word(loop)})", change)

    def parallel(self, loop: str) -> Schedule:
        """Returns the schedule in which a loop's iterations go to threads.

            for i: S              ->    parallel for i: S

        The loop must carry no dependence, also none of a reduction. Threads share the loop evenly; of loops inside one another
        the outer one goes to threads. Call `tile` first where one iteration is little work.
        """

        def change(tree: Node) -> Node:
            known = transforms.find(tree, loop)[1].directives
            if known.together:
                words = " and ".join(known.words())
                raise ScheduleError(f"loop `{loop}` has the directive {words}, so it cannot go to threads", notes=["tile it first"])
            return transforms.direct(tree, loop, lambda directives: replace(directives, parallel=True))

        return self._changed(f"parallel({_word(loop)})", change)

    def pack(self, array: str, at: str) -> Schedule:
        """Returns the schedule in which each iteration of a loop copies what it reads of an array first.

        This is data packing (Halide: compute_at). No statement may write the copied elements in that iteration.

            for k_t:                    for k_t:
                for i, k: S(A[i, k])  ->    A_tile[...] = what is read below of A
                                            for i, k: S(A_tile[i, k - k_t])

        at: the loop.
        """

        def change(tree: Node) -> Node:
            _, around = transforms.find(tree, at)
            self._check_read(array, loops.statements(around), at)
            packed = tuple(dict.fromkeys((*around.directives.pack, array)))
            return transforms.direct(tree, at, lambda directives: replace(directives, pack=packed))

        return self._changed(f"pack({_word(array)}, at={_word(at)})", change)

    def isolate(self, loop: str) -> Schedule:
        """Returns the schedule in which full tiles get code of their own, without tests for where loops end.

            for i_t:                    for i_t:
                for i in the tile         if the tile is full: for i in i_t ... i_t + 31: S
                    and the domain: S ->  else: for i in the tile and the domain: S

        loop: one over tiles.
        """

        def change(tree: Node) -> Node:
            if not transforms.find(tree, loop)[1].directives.tile:
                names = zip(transforms.addresses(tree), loops.loops(tree))
                notes = [f"loops over tiles: {', '.join(name for name, (_, each) in names if each.directives.tile) or 'none'}"]
                raise ScheduleError(f"isolate takes a loop over tiles, which `{loop}` is not", notes=notes)
            return transforms.direct(tree, loop, lambda directives: replace(directives, isolate=True))

        return self._changed(f"isolate({_word(loop)})", change)

    def plain(self, loop: str) -> Schedule:
        """Returns the schedule without a loop's directives, such as `parallel`, `vectorize`, `pack`, `grid` and `shared`."""
        return self._changed(f"plain({_word(loop)})", lambda tree: transforms.plain(tree, loop))

    # text

    @property
    def text(self) -> str:
        """Returns the text that `save` writes."""
        return self.saved.text()

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the schedule to a file as text, which `k.load_schedule(path)` reads, proves, and replays without a search.

        Raises ScheduleError where it cannot be written; a file of that name then remains as it is.
        """
        try:
            userfiles.write_text(path, self.text)
        except Exception as problem:  # the path's class may raise anything
            why = userfiles.reason(problem)
            raise ScheduleError(f"the schedule cannot be written to {userfiles.called(path)}: {why}") from problem

    # steps

    def _run_together(self, tree: Node, loop: str, change: Callable[[Directives], Directives]) -> Node:
        """Returns the tree with a loop's directives changed by `change`, which makes several of its iterations run together.

        Raises ScheduleError for a loop over tiles or for threads, whose iterations cannot run together.
        """
        known = transforms.find(tree, loop)[1].directives
        if known.tile or known.parallel:
            why = "goes over tiles" if known.tile else "goes to threads"
            notes = ["take the loop inside its tiles, or tile it"]
            raise ScheduleError(f"loop `{loop}` {why}, so its iterations do not run together", notes=notes)
        return transforms.direct(tree, loop, change)

    def _changed(self, step: str, change: Callable[[Node], Node]) -> Schedule:
        """Returns the schedule after a step, proved legal where `is_proved`; raises ScheduleError or IllegalSchedule with the step in its message.

        step: the text of the step, for messages.
        change: from the loops to the changed loops.
        """
        problem, before = self.problem, self.loops
        with problem.alone():
            try:
                with budget(OPERATIONS):
                    tree = loops.write(problem.scop.domain, change(before))
                changed = replace(schedule(problem, tree), steps=self.steps + 1, launch=self.launch, is_proved=self.is_proved)
                if self.is_proved:
                    problem.check(changed.tree)
                return changed
            except ScheduleError as refused:
                raise self._refused(step, refused.message, refused.notes) from None
            except IllegalSchedule as refused:
                raise self._illegal(step, refused) from None
            except BudgetExceeded as exceeded:
                raise self._refused(step, f"the step takes too long ({exceeded})") from None

    def _in_launch(self, loop: str) -> Schedule:
        return replace(self, launch=loops.statements(transforms.find(self.loops, loop)[1])[0])

    def _refused(self, step: str, why: str, notes: Sequence[str] = ()) -> ScheduleError:
        """Returns the error of a step that does not fit, with the line of the user's file in which the step is written.

        step: its text.
        """
        return ScheduleError(f"step {self.steps + 1}, {step}: {why}", loc=call_site(step.partition("(")[0]), notes=notes)

    def _illegal(self, step: str, broken: IllegalSchedule) -> IllegalSchedule:
        """Returns the error of a step that breaks a dependence, with the line of the user's file in which the step is written.

        step: its text.
        broken: the error of the proof.
        """
        loc, notes = broken.loc or call_site(step.partition("(")[0]), broken.notes[:1]
        return IllegalSchedule(f"step {self.steps + 1}, {step} is not legal: {broken.message}", loc=loc, notes=notes)

    def _affine(self, value: object, step: str) -> isl.PwAff:
        """Returns an integer or a text over sizes as an expression { [] -> [(e)] }. Raises ScheduleError for any other value.

        step: the method that takes the value, for messages.
        """
        names = polyhedra.parameter_names(self.problem.scop.domain)
        whole = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63
        text = str(value) if whole or isinstance(value, str) and not excess(value, _LONGEST, _DEEPEST) else ""
        known = {*re.findall(r"[A-Za-z_]\w*", text)} <= {*names} and re.fullmatch(r"[\w\s+*()-]+", text)
        try:
            if whole or isinstance(value, str) and known:
                return isl.PwAff(f"[{', '.join(names)}] -> {{ [({text})] }}")
        except isl.Error:
            pass
        notes = [f"sizes: {', '.join(names) or 'none'}"]
        raise ScheduleError(f"{step} takes an integer or a text that is affine in sizes, not {shown(value)}", notes=notes)

    def _check_read(self, array: str, names: tuple[str, ...], at: str) -> None:
        """Raises ScheduleError unless one of the statements `names` reads elements of the array.

        at: the loop around them, for messages.
        """
        arrays = self.problem.scop.arrays
        read = {a.array for name in names for a in self.problem.scop.statements[name].reads if a.subscripts}
        if not isinstance(array, str) or array not in read:
            is_array = isinstance(array, str) and array in arrays
            why = f"`{array}` is not read in loop `{at}`" if is_array else f"there is no array `{_word(array)}`"
            raise ScheduleError(why, notes=[f"in loop `{at}` are read: {', '.join(sorted(read)) or 'no array'}"])
