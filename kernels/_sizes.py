"""PolyBench's five size sets as a table."""

from __future__ import annotations

from polyml.kernels import PRESETS


def size_table(parameters: str, *sets: tuple[int, ...]) -> dict[str, dict[str, int]]:
    """Returns {preset: {parameter: int}} from the parameters' names and one tuple for each preset, MINI to EXTRALARGE.

    >>> size_table("M N", (1, 2), (3, 4), (5, 6), (7, 8), (9, 10))["LARGE"]
    {'M': 7, 'N': 8}
    """
    names = parameters.split()
    return {preset: dict(zip(names, numbers, strict=True)) for preset, numbers in zip(PRESETS, sets, strict=True)}
