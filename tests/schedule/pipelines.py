"""Random chains of loop nests that hand local arrays on, as Python text: stencils, borders, transposes, zeros in between."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Pipeline:
    """text: of the function `pipeline(A, B, x)`; shape: of A and B; x has an element for each column."""

    text: str
    shape: tuple[int, ...]

    def inputs(self, seed: int) -> tuple[np.ndarray, ...]:
        rng = np.random.default_rng(seed)
        return rng.integers(-9, 9, self.shape), rng.integers(-9, 9, self.shape), rng.integers(-9, 9, self.shape[-1])


def pipeline(seed: int) -> Pipeline:
    """The random chain of that number."""
    rng = random.Random(seed)
    rank = rng.choice((2, 2, 2, 3))
    shape = (rng.randint(50, 130), *((rng.randint(5, 60),) if rank == 2 else (rng.randint(5, 9), rng.randint(5, 9))))
    sizes = ", ".join(f"n{d}" for d in range(rank))
    lines = [f"    {sizes} = A.shape"]
    known = ["A", "B"]
    for number in range(rng.randint(1, 4)):
        name = f"T{number}"
        lines.append(f"    {name} = np.{rng.choice(('empty', 'zeros'))}(({sizes}), np.int64)")
        if "empty" in lines[-1] or rng.random() < 0.3:
            lines += _nest(rng, f"{name}[{_point(rank)}]", [], rank, 0, known)
        for _ in range(rng.choice((1, 1, 2))):
            lines += _nest(rng, f"{name}[{_point(rank)}]", [name], rank, rng.choice((0, 1, 1, 2)), known)
        if rng.random() < 0.3:
            row = rng.choice(("0", "n0 - 1", "n0 // 2"))
            inner = "ijk"[1:rank]
            lines += _loops(inner, ["0"] * (rank - 1), [f"n{d}" for d in range(1, rank)])
            target = f"{name}[{', '.join((row, *inner))}]"
            lines.append(f"{'    ' * rank}{target} = {rng.choice(known)}[{', '.join((row, *inner))}] + {target}")
        known.append(name)
    target = rng.choice(("B", "B", "result"))
    if target == "result":
        lines.append(f"    result = np.zeros(({sizes}), np.int64)")
    lines += _nest(rng, f"{target}[{_point(rank)}]", [], rank, rng.choice((0, 1, 2)), known[-2:])
    if rng.random() < 0.2:
        lines += _nest(rng, "x[{}]".format("ijk"[rank - 1]), ["x"], rank, 1, known[-1:])
    lines.append(f"    return {target if target == 'result' else known[-1] + '[1, 1]' if rng.random() < 0.15 else 'None'}")
    return Pipeline("def pipeline(A, B, x):\n" + "\n".join(lines) + "\n", shape)


def _point(rank: int) -> str:
    return ", ".join("ijk"[:rank])


def _loops(iterators: str, low: list[str], high: list[str]) -> list[str]:
    return [f"{'    ' * (d + 1)}for {name} in range({a}, {b}):" for d, (name, a, b) in enumerate(zip(iterators, low, high))]


def _nest(rng: random.Random, target: str, own: list[str], rank: int, reach: int, known: list[str]) -> list[str]:
    """target = a sum of elements of known arrays near the point, and of arrays of its own at the point."""
    low, high = [str(reach)] * rank, [f"n{d} - {reach}" for d in range(rank)]
    if own and rng.random() < 0.1:
        low[0] = rng.choice(("3", "n0 // 3"))
        low[0] = f"max({low[0]}, {reach})"
    terms = [f"{name}[{_near(rng, rank, reach)}]" for name in rng.choices(known, k=rng.randint(1, 3))]
    terms += [target for _ in own]
    if rng.random() < 0.1 and rank == 2:
        terms.append(f"{rng.choice(known)}[min(j, n0 - 1), min(i, n1 - 1)]")
    return [*_loops("ijk"[:rank], low, high), f"{'    ' * (rank + 1)}{target} = {' + '.join(terms)}"]


def _near(rng: random.Random, rank: int, reach: int) -> str:
    return ", ".join(f"{name} + {rng.randint(-reach, reach)}".replace("+ -", "- ") for name in "ijk"[:rank])
