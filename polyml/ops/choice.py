"""Which algorithm a convolution takes: the terms of every one that applies, and the least sum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from polyml.errors import PolymlValueError
from polyml.ops import direct, fft, im2col, winograd
from polyml.ops.costs import Costs, Term, thread_count
from polyml.ops.geometry import Geometry


@dataclass(frozen=True)
class Algorithm:
    """refusal: why it does not apply, or "". terms: its parts and their seconds. run: fills y, of (geometry, x, w,
    bias, y, threads). keeps_sums: each result is the sum of the definition's products, in some order.
    """

    refusal: Callable[[Geometry], str]
    terms: Callable[[Geometry, Costs], tuple[Term, ...]]
    run: Callable[[Geometry, np.ndarray, np.ndarray, np.ndarray, np.ndarray, int | None], None]
    keeps_sums: bool


ALGORITHMS = {
    "direct": Algorithm(direct.refusal, direct.terms, direct.run, True),
    "im2col": Algorithm(im2col.refusal, im2col.terms, im2col.run, True),
    "winograd2": Algorithm(winograd.F2.refusal, winograd.F2.terms, winograd.F2.run, False),
    "winograd4": Algorithm(winograd.F4.refusal, winograd.F4.terms, winograd.F4.run, False),
    "fft": Algorithm(fft.refusal, fft.terms, fft.run, False),
}


@dataclass(frozen=True)
class Plan:
    """What was weighed for one convolution; its text shows every term.

    terms: of the algorithms that apply. refused: why the others do not.
    """

    geometry: Geometry
    threads: int
    algorithm: str
    terms: dict[str, tuple[Term, ...]]
    refused: dict[str, str]

    def seconds(self, algorithm: str) -> float:
        """The estimate for an algorithm that applies."""
        return sum(term.seconds for term in self.terms[algorithm])

    def __str__(self) -> str:
        lines = [f"{self.geometry}; {self.threads} thread{'s' * (self.threads > 1)}"]
        for name in ALGORITHMS:
            chosen = "  <- chosen" if name == self.algorithm else ""
            if name in self.refused:
                lines.append(f"{name}: does not apply: {self.refused[name]}")
                continue
            lines.append(f"{name}: {self.seconds(name) * 1e6:.0f} us{chosen}")
            lines += [f"  {term.seconds * 1e6:9.1f} us  {term.name}: {term.why}" for term in self.terms[name]]
        return "\n".join(lines)


def plan(g: Geometry, algorithm: str, threads: int, strict: bool) -> Plan:
    """The plan with the algorithm asked for, or with "auto" the cheapest one. strict: only those that keep sums may be
    chosen.

    PolymlValueError: for a name that is none, and an algorithm that does not apply.
    """
    if algorithm not in ("auto", *ALGORITHMS):
        raise PolymlValueError(
            f"`algorithm` is {algorithm!r}",
            notes=[", ".join(f'"{name}"' for name in ("auto", *ALGORITHMS)) + " are accepted"],
        )
    threads = thread_count(threads)
    refused = {name: why for name, each in ALGORITHMS.items() if (why := each.refusal(g))}
    if strict and algorithm == "auto":
        reordered = (n for n, each in ALGORITHMS.items() if not each.keeps_sums and n not in refused)
        refused |= dict.fromkeys(reordered, 'fp="strict" asks for the sums of the definition')
    if algorithm in refused:
        fitting = [f'"{name}"' for name in ALGORITHMS if name not in refused]
        raise PolymlValueError(
            f'algorithm="{algorithm}" does not apply: {refused[algorithm]}',
            notes=[f'this convolution takes {", ".join(fitting)} or "auto"', str(g)],
        )
    costs, weighed = Costs.of(g.element_bytes, threads), replace(g, images=max(1, g.images))
    terms = {name: each.terms(weighed, costs) for name, each in ALGORITHMS.items() if name not in refused}
    cheapest = min(terms, key=lambda name: sum(term.seconds for term in terms[name]))
    return Plan(g, threads, cheapest if algorithm == "auto" else algorithm, terms, refused)
