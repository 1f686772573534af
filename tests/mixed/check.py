"""Runs a mixed program as plain Python and as a kernel, and says where the two differ."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

import polyml
from tests.mixed.generate import Mixed, mixed
from tests.mixed.run import Ran, bound, callables, run
from tests.texts import reading_back
from tests.transformations import hides, recording


@dataclass(frozen=True)
class Outcome:
    """difference: "" where there is none. parts: how many lines of the program ran as compiled code. raised: Python raises.
    fired: the transformations of each compilation. has_boundary: a part of the function is compiled, not the whole.
    """

    difference: str
    parts: int = 0
    raised: bool = False
    is_inexact: bool = False
    fired: tuple[frozenset[str], ...] = ()
    has_boundary: bool = False


def check(program: Mixed) -> Outcome:
    """Whether all calls of the program do what plain Python does."""
    with recording() as seen, reading_back(program.seed % 2 == 0) as lost:
        outcome = _check(program)
    if lost and not outcome.difference:
        outcome = replace(outcome, difference=lost[0])
    return replace(outcome, fired=tuple(set(seen)))


def _check(program: Mixed) -> Outcome:
    plain, ours = callables(program)
    kernel = polyml.kernel(cache=False, threads=program.threads, on_defect="raise")(ours)
    call = bound(kernel)
    worst, raised = True, False
    for number in range(program.calls):
        wanted, got = run(bound(plain), program, number), run(call, program, number)
        raised |= wanted.error is not None
        difference = _difference(wanted, got)
        if difference:
            return Outcome(f"call {number}: {difference}", raised=raised)
        worst &= hides(_values(wanted))
    parts = len(set(kernel.compiled_parts()))
    return Outcome("", parts + bool(kernel.compiled), raised, worst, has_boundary=parts > 0)


def checked(seed: int) -> Outcome:
    """The same for the program of this number; what goes wrong in the check itself is a difference too."""
    try:
        return check(mixed(seed))
    except Exception as problem:
        return Outcome(f"the check itself ended in {problem!r}")


def _difference(wanted: Ran, got: Ran) -> str:
    if wanted.error is not None or got.error is not None:
        same = type(wanted.error) is type(got.error) or isinstance(got.error, type(wanted.error or 0))
        if wanted.error is None or not same:
            return f"raised {got.error!r}, Python {wanted.error!r}"
        return ""
    pairs = _Pairs()
    for name, one, other in [("result", wanted.result, got.result), ("arguments", wanted.arguments, got.arguments)]:
        if found := pairs.difference(name, one, other):
            return found
    if not _prints_alike(wanted.printed, got.printed):
        return f"printed {got.printed!r}, Python {wanted.printed!r}"
    return pairs.identities()


def _prints_alike(one: str, other: str) -> bool:
    """Whether two outputs differ by no more than sums in another order do: of float32, whose terms may cancel, by 1e-4."""
    words = one.split(), other.split()
    if one.count("\n") != other.count("\n") or len(words[0]) != len(words[1]):
        return False
    return all(a == b or _is_close_text(a, b) for a, b in zip(*words))


def _is_close_text(one: str, other: str) -> bool:
    """Of `1.5` and of `np.float32(1.5)`; integers, and numbers of two types, are not close but equal."""
    (kind, number), (other_kind, other_number) = ((w[: w.find("(") + 1], w[w.find("(") + 1 :].rstrip(")")) for w in (one, other))
    if kind != other_kind or not (_is_number(number) and _is_number(other_number)) or not {*number} & {*".en"}:
        return False
    return bool(np.isclose(float(number), float(other_number), rtol=1e-4, atol=1e-9, equal_nan=True))


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


@dataclass
class _Pairs:
    """seen: (path, what Python has there, what the kernel has there), of all that has an identity."""

    seen: list[tuple[str, object, object]] = field(default_factory=list)

    def difference(self, path: str, one: object, other: object) -> str:
        if type(one) is not type(other):
            return f"{path} is a {type(other).__name__} ({other!r:.60}), Python's a {type(one).__name__} ({one!r:.60})"
        if isinstance(one, np.ndarray):
            self.seen.append((path, one, other))
            if one.dtype != other.dtype or one.shape != other.shape:
                return f"{path} is {other.dtype}{other.shape}, Python's {one.dtype}{one.shape}"
            return "" if _close(one, other) else f"{path} is {other!r:.200}, Python's {one!r:.200}"
        if isinstance(one, (list, tuple)):
            self.seen.append((path, one, other))
            if len(one) != len(other):
                return f"{path} has {len(other)} elements, Python's {len(one)}"
            return next(filter(None, (self.difference(f"{path}[{k}]", a, b) for k, (a, b) in enumerate(zip(one, other)))), "")
        if isinstance(one, dict):
            self.seen.append((path, one, other))
            if list(one) != list(other):
                return f"{path} has the keys {list(other)}, Python's {list(one)}"
            return next(filter(None, (self.difference(f"{path}[{k!r}]", one[k], other[k]) for k in one)), "")
        if isinstance(one, (float, np.floating, int, np.integer, complex, np.bool_)):
            return "" if _close(one, other) else f"{path} is {other!r}, Python's {one!r}"
        return "" if one == other or one is None or callable(one) else f"{path} is {other!r}, Python's {one!r}"

    def identities(self) -> str:
        """Which two are one object, or share memory, on one side alone."""
        for position, (path, one, other) in enumerate(self.seen):
            for path_b, one_b, other_b in self.seen[:position]:
                if (one is one_b) != (other is other_b):
                    return f"{path} {'is' if other is other_b else 'is not'} {path_b}"
                if isinstance(one, np.ndarray) and isinstance(one_b, np.ndarray):
                    if np.shares_memory(one, one_b) != np.shares_memory(other, other_b):
                        return f"{path} and {path_b} share memory on one side alone"
                    if (one.base is one_b) != (other.base is other_b):
                        return f"{path} {'has' if other.base is other_b else 'has not'} the base {path_b}"
        return ""


def _close(one: object, other: object) -> bool:
    if isinstance(one, int):
        return one == other
    scale = np.max(np.abs(one), initial=0.0, where=np.isfinite(one)) if np.size(one) else 0.0
    bound = 1e-3 if np.result_type(one) == np.float32 else 1e-6 if isinstance(one, np.ndarray) else 1e-5
    return bool(np.allclose(one, other, rtol=bound, atol=bound * (1.0 + scale), equal_nan=True))


def _values(ran: Ran) -> list[object]:
    pairs = _Pairs()
    pairs.difference("", ran.result, ran.result)
    pairs.difference("", ran.arguments, ran.arguments)
    return [value for _, value, _ in pairs.seen]
