"""What each text that is refused is compared with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


def array(dtype: str, ndim: int) -> np.ndarray:
    return np.zeros((2,) * ndim, dtype)


@dataclass(frozen=True)
class Case:
    """A Case is a text that is refused.

    text: defines the function f
    error: the type of the exception
    message: its text, as a command prints it
    args: the arguments of the call that types are inferred for; None where parsing alone refuses the text
    """

    name: str
    text: str
    error: type
    message: str
    args: list | None = None
