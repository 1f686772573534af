"""Random sweeps over time as Python text: stencils of one to three dimensions, in place or not, of one to three statements."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

ITERATORS = "ijk"


@dataclass(frozen=True)
class Sweep:
    """text: of the function `sweep(steps, A, B, ...)`; arrays: their names; shape: of each; steps: of time."""

    text: str
    arrays: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    steps: int

    def inputs(self, seed: int) -> dict[str, object]:
        rng = np.random.default_rng(seed)
        return {"steps": self.steps} | {name: rng.integers(-9, 9, shape) for name, shape in zip(self.arrays, self.shapes)}


def sweep(seed: int) -> Sweep:
    """The random sweep of that number."""
    rng = random.Random(seed)
    rank = rng.choice((1, 1, 2, 2, 2, 3))
    arrays = "ABC"[: rng.randint(1, 3)]
    reach = rng.choice((1, 1, 2))
    periodic = rank == 1 and rng.random() < 0.2
    extents = tuple(rng.randint(2 * reach + 1, (60, 24, 11)[rank - 1]) for _ in range(rank))
    wider = [tuple(e + rng.choice((0, 0, 0, 1)) for e in extents) for _ in arrays]
    body = []
    for _ in range(rng.randint(1, 3)):
        body += _nest(rng, arrays, rank, reach, periodic)
    if rng.random() < 0.3:
        body.append(f"        {rng.choice(arrays)}[{', '.join('0' * rank)}] = t")
    sizes = [f"    n{d} = {arrays[0]}.shape[{d}]\n" for d in range(rank)]
    first = rng.choice((0, 1))
    text = f"def sweep(steps, {', '.join(arrays)}):\n{''.join(sizes)}    for t in range({first}, steps + {first}):\n"
    return Sweep(text + "\n".join(body) + "\n", tuple(arrays), (extents, *wider[1:]), rng.randint(0, 17))


def _nest(rng: random.Random, arrays: str, rank: int, reach: int, periodic: bool) -> list[str]:
    iterators = ITERATORS[:rank]
    downward = rng.random() < 0.15
    lines, indent = [], "        "
    for d, name in enumerate(iterators):
        low, high = (0, f"n{d}") if periodic else (reach, f"n{d} - {reach}")
        bounds = f"{high} - 1, {low} - 1, -1" if downward and d == 0 else f"{low}, {high}"
        lines.append(f"{indent}for {name} in range({bounds}):")
        indent += "    "
    for _ in range(rng.choice((1, 1, 2))):
        target = rng.choice(arrays)
        terms = [_element(rng, rng.choice(arrays), iterators, reach, periodic) for _ in range(rng.randint(1, 4))]
        value = " + ".join(f"{rng.randint(-2, 3)}*{term}" for term in terms)
        lines.append(f"{indent}{target}[{', '.join(iterators)}] = {value} + {rng.randint(-3, 3)}")
    return lines


def _element(rng: random.Random, array: str, iterators: str, reach: int, periodic: bool) -> str:
    moved = []
    for d, name in enumerate(iterators):
        step = rng.choice((0, 0, rng.randint(-reach, reach)))
        place = name if step == 0 else f"{name} {'+' if step > 0 else '-'} {abs(step)}"
        moved.append(f"({place}) % n{d}" if periodic and step else place)
    return f"{array}[{', '.join(moved)}]"
