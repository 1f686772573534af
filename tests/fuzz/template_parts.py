"""What templates of random programs are made of: element types, arrays, nests."""

from __future__ import annotations

import random

from tests.fuzz.program import Argument

Made = tuple[str, tuple[Argument, ...]]


def any_element(rng: random.Random) -> str:
    return rng.choices(["f64", "f32", "i64", "i32", "u8"], [8, 3, 3, 2, 1])[0]


def arrays(element: str, **shapes: str) -> tuple[Argument, ...]:
    """A="N,M" gives an array of shape (N, M)."""
    return tuple(Argument(name, element, tuple(s for s in shape.split(",") if s)) for name, shape in shapes.items())


def nest(loops: list[tuple[str, str]], body: list[str]) -> list[str]:
    """The loops around the body, each line indented; loops: (variable, range)."""
    lines = ["    " * (d + 1) + f"for {v} in {r}:" for d, (v, r) in enumerate(loops)]
    return lines + ["    " * (len(loops) + 1) + line for line in body]


def half(element: str) -> str:
    return "0.5" if element[0] == "f" else "3"
