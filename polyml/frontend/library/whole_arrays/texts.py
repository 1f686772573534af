"""The text for each of NumPy's functions that is inlined, by the function."""

from __future__ import annotations

from types import FunctionType
from typing import cast

import numpy as np

from polyml.frontend.library.whole_arrays import (
    differences,
    grids,
    histograms,
    index_grids,
    moments,
    parts,
    placing,
    polynomials,
    quantiles,
    sets,
)

_MODULES = (differences, grids, histograms, index_grids, moments, parts, placing, polynomials, quantiles, sets)
_BY_NAME = {text.__name__: cast(FunctionType, text) for module in _MODULES for text in module.TEXTS}
TEXTS: dict[object, FunctionType] = {getattr(np, name): text for name, text in _BY_NAME.items() if hasattr(np, name)}
