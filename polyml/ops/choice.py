"""The choice of a convolution's algorithm: the cost of each one that applies, term by term, and the one with the least sum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from polyml.errors import PolymlValueError
from polyml.ops import direct, fft, im2col, winograd
from polyml.ops.costs import Costs, CostTerm, thread_count
from polyml.ops.geometry import Geometry
from polyml.ops.operands import ConvolutionArrays


@dataclass(frozen=True)
class Algorithm:
    """An Algorithm is one way to compute a convolution.

    refusal: returns why the algorithm does not apply, or "" where it does.
    terms: returns the parts of its cost with their estimated seconds.
    run: computes the convolution on a number of threads and fills the result.
    keeps_sums: whether a result is the sum of just those products that the convolution's definition adds up, in any order.
    """

    refusal: Callable[[Geometry], str]
    terms: Callable[[Geometry, Costs], tuple[CostTerm, ...]]
    run: Callable[[Geometry, ConvolutionArrays, int], None]
    keeps_sums: bool


ALGORITHMS = {
    "direct": Algorithm(direct.refusal, direct.terms, direct.run, True),
    "im2col": Algorithm(im2col.refusal, im2col.terms, im2col.run, True),
    "winograd2": Algorithm(winograd.F2.refusal, winograd.F2.terms, winograd.F2.run, False),
    "winograd4": Algorithm(winograd.F4.refusal, winograd.F4.terms, winograd.F4.run, False),
    "fft": Algorithm(fft.refusal, fft.terms, fft.run, False),
}


@dataclass(frozen=True)
class ConvolutionPlan:
    """A ConvolutionPlan holds the algorithm chosen for a convolution and the estimated costs of each; its text shows every term.

    geometry: the sizes of the convolution.
    threads: how many run it.
    algorithm: the name of the chosen one.
    terms: the cost terms of each algorithm that applies, by its name.
    refused: why each other one does not apply, by its name.
    """

    geometry: Geometry
    threads: int
    algorithm: str
    terms: dict[str, tuple[CostTerm, ...]]
    refused: dict[str, str]

    def seconds(self, algorithm: str) -> float:
        """Returns the estimated seconds of an algorithm that applies, by its name."""
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


def plan(g: Geometry, algorithm: str, threads: int, strict: bool) -> ConvolutionPlan:
    """Returns the plan of a convolution with the given algorithm, or with the cheapest one where it is "auto".

    threads: how many run it; 0 for every core.
    strict: whether "auto" chooses only algorithms that keep the definition's sums.

    Raises PolymlValueError for a name that is no algorithm's, and for an algorithm that does not apply.
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
    return ConvolutionPlan(g, threads, cheapest if algorithm == "auto" else algorithm, terms, refused)
