"""What a caller knows of a kernel besides its arguments: symbolic sizes and results. Free of isl, so that a kernel from
the disk cache runs without it."""

from __future__ import annotations

from dataclasses import dataclass

from polyml.dtypes import DType


@dataclass(frozen=True)
class Parameter:
    """A symbolic integer. array and dim: `array.shape[dim]`; array None: the integer argument `name`."""

    name: str
    array: str | None = None
    dim: int = 0


@dataclass(frozen=True)
class ScalarResult:
    """A returned number: the element of the scalar array `array`. is_python: a Python number, not a NumPy scalar."""

    array: str
    dtype: DType


@dataclass(frozen=True)
class ArrayResult:
    """A returned array: an argument (the same object comes back) or a RESULT array."""

    array: str
