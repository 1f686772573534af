"""The arrays of one convolution."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class ConvolutionArrays:
    """A ConvolutionArrays holds the arrays of one convolution, in the layout and the shapes of its `Geometry`, all of one type.

    x: the image, read.
    w: the filters, read.
    bias: (c_out,), contiguous, read.
    y: the result, written.
    """

    x: np.ndarray
    w: np.ndarray
    bias: np.ndarray
    y: np.ndarray
