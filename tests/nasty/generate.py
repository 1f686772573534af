"""One nasty nest for each seed, and its arguments.

tiled        6 to 9 loops over tiles of several sizes, with min, max and floor divisions in their bounds
statements   40 statements over a few arrays, in nests of 1 to 3 loops
deep         6 loops, triangular and shifted, around several statements
unions       loops under disjunctions of affine conditions
strides      loops with steps and subscripts with factors, on flattened arrays too
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

SIZE = 13  # extents that are not multiples of tiles


@dataclass(frozen=True)
class Nest:
    """source: of a function `nest`. dims: of each array argument; n, the last argument, is SIZE."""

    seed: int
    kind: str
    source: str
    dims: tuple[int, ...]

    def arguments(self) -> list[object]:
        rng = np.random.default_rng(self.seed)
        return [
            *(rng.integers(-4, 5, (2 * SIZE,) * dims if dims > 1 else (4 * SIZE * SIZE,)).astype(float) for dims in self.dims),
            SIZE,
        ]


def nest(seed: int) -> Nest:
    rng = random.Random(seed)
    kind = list(KINDS)[seed % len(KINDS)]
    dims = tuple(rng.choice((1, 2, 2)) for _ in range(rng.randint(2, 4)))
    lines = KINDS[kind](rng, dims)
    names = [*(f"A{number}" for number in range(len(dims))), "n"]
    source = f"def nest({', '.join(names)}):\n" + "".join(f"    {line}\n" for line in lines)
    return Nest(seed, kind, source, dims)


def _access(rng: random.Random, dims: tuple[int, ...], variables: list[str], factors: bool = False) -> str:
    """An element within bounds, where every variable is in 0 ... n - 1."""
    number = rng.randrange(len(dims))

    def index() -> str:
        name, other = rng.choice(variables), rng.choice(variables)
        choices = [name, f"{name} + {rng.randint(1, 3)}", f"n - 1 - {name}", f"{name} + {other}" if name != other else name]
        return rng.choice([*choices, f"2*{name}", f"2*{name} + 1"] if factors else choices)

    if dims[number] == 1:
        return f"A{number}[{rng.choice((SIZE, 'n'))}*({rng.choice(variables)}) + {rng.choice(variables)} + {rng.randint(0, 3)}]"
    return f"A{number}[{index()}, {index()}]"


def _statement(rng: random.Random, dims: tuple[int, ...], variables: list[str], factors: bool = False) -> str:
    target, *read = (_access(rng, dims, variables, factors) for _ in range(rng.randint(2, 4)))
    value = " + ".join(f"{rng.choice(('0.5*', '', '-'))}{each}" for each in read)
    return f"{target} = {value}" if rng.random() < 0.7 else f"{target} += 0.25*({value})"


def _tiled(rng: random.Random, dims: tuple[int, ...]) -> Iterator[str]:
    """Two or three loops in tiles, in one or two levels, over a skewed or triangular domain."""
    depth, levels, pad = rng.randint(2, 3), rng.choice((1, 1, 2)), ""
    sizes = [[rng.choice((4, 5, 8, 32)) for _ in range(levels)] for _ in range(depth)]
    for level in range(levels):
        for loop in range(depth):
            size, name = sizes[loop][level], f"t{level}{loop}"
            if level == 0:
                low = f"t00*{sizes[0][0]}//{size}" if loop and rng.random() < 0.5 else "0"
                yield f"{pad}for {name} in range({low}, (n - 1)//{size} + 1):"
            else:
                outer = sizes[loop][0]
                yield f"{pad}for {name} in range({outer}*t0{loop}//{size}, min(n - 1, {outer}*t0{loop} + {outer - 1})//{size} + 1):"
            pad += "    "
    points: list[str] = []
    for loop in range(depth):
        low, high = ["0"], ["n"]
        for level in range(levels):
            size, tile = sizes[loop][level], f"t{level}{loop}"
            low.append(f"{size}*{tile}")
            high.append(f"{size}*{tile} + {size}")
        if points and rng.random() < 0.6:
            low.append(f"{points[-1]} + {rng.randint(0, 1)}")
        if points and rng.random() < 0.3:
            high.append(f"n - {points[0]}")
        yield f"{pad}for p{loop} in range(max({', '.join(low)}), min({', '.join(high)})):"
        pad, points = pad + "    ", [*points, f"p{loop}"]
        if rng.random() < 0.5:
            yield pad + _statement(rng, dims, points)
    for _ in range(rng.randint(1, 6)):
        yield pad + _statement(rng, dims, points)


def _statements(rng: random.Random, dims: tuple[int, ...]) -> Iterator[str]:
    left = 40
    while left > 0:
        names: list[str] = []
        for number in range(rng.randint(1, 3)):
            low = names[-1] if names and rng.random() < 0.3 else "0"
            yield f"{'    ' * number}for i{number} in range({low}, n):"
            names.append(f"i{number}")
            if rng.random() < 0.3:
                yield "    " * len(names) + _statement(rng, dims, names)
                left -= 1
        for _ in range(max(1, min(left, rng.randint(1, 12)))):
            yield "    " * len(names) + _statement(rng, dims, names)
            left -= 1


def _deep(rng: random.Random, dims: tuple[int, ...]) -> Iterator[str]:
    names: list[str] = []
    for number in range(6):
        low, high = "0", rng.choice(("3", "4", "n - 9"))
        if names and rng.random() < 0.5:
            low = f"max(0, {names[-1]} - {rng.randint(0, 2)})"
        if len(names) > 1 and rng.random() < 0.4:
            high = f"min({high}, {names[-2]} + {rng.randint(1, 3)})"
        yield f"{'    ' * number}for i{number} in range({low}, {high}):"
        names.append(f"i{number}")
        if rng.random() < 0.3:
            yield "    " * len(names) + _statement(rng, dims, names)
    for _ in range(rng.randint(1, 4)):
        yield "    " * len(names) + _statement(rng, dims, names)


def _unions(rng: random.Random, dims: tuple[int, ...]) -> Iterator[str]:
    for _ in range(rng.randint(1, 3)):
        names: list[str] = []
        for number in range(rng.randint(2, 3)):
            yield f"{'    ' * number}for i{number} in range(n):"
            names.append(f"i{number}")
        for _ in range(rng.randint(2, 8)):
            yield f"{'    ' * len(names)}if {' or '.join(_conjunction(rng, names) for _ in range(rng.randint(2, 4)))}:"
            yield "    " * (len(names) + 1) + _statement(rng, dims, names)


def _conjunction(rng: random.Random, names: list[str]) -> str:
    def condition() -> str:
        first, second = rng.choice(names), rng.choice([*names, "n - 1"])
        return rng.choice(
            (f"{first} < {second} - {rng.randint(0, 4)}", f"{first} % {rng.randint(2, 4)} == {rng.randint(0, 1)}",
             f"{first} + {second} >= {rng.randint(3, 15)}", f"{first}//{rng.randint(2, 4)} == {second}//{rng.randint(2, 4)}")
        )  # fmt: skip

    return f"({' and '.join(condition() for _ in range(rng.randint(1, 2)))})"


def _strides(rng: random.Random, dims: tuple[int, ...]) -> Iterator[str]:
    for _ in range(rng.randint(2, 5)):
        names: list[str] = []
        for number in range(rng.randint(1, 3)):
            low = rng.choice(("0", "1", names[-1] if names else "2"))
            yield f"{'    ' * number}for i{number} in range({low}, n, {rng.randint(1, 5)}):"
            names.append(f"i{number}")
        for _ in range(rng.randint(1, 4)):
            yield "    " * len(names) + _statement(rng, dims, names, factors=True)


KINDS: dict[str, Callable[[random.Random, tuple[int, ...]], Iterator[str]]] = {
    "tiled": _tiled, "statements": _statements, "deep": _deep, "unions": _unions, "strides": _strides,
}  # fmt: skip
