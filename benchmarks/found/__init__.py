"""Functions that other projects wrote for numba, which nobody adapted to polyml:  python -m benchmarks.found [NAMES] [--list]

The packages are no dependencies of polyml: `pip install numba umap-learn quantecon stumpy resampy trackpy`, in an environment
of their own, whose Python runs the benchmark. A function is read where it is installed, as the Python function of its
dispatcher, and nothing in it is changed.

**The rule of choice.** Of a package whole modules are taken, and of a module all functions that numba compiles, in the order of
the file, whether polyml compiles them or not. Left out are those that take functions, objects, strings, lists or dicts where
their arguments are needed, those of `umap.layouts` that hand on more than twenty arguments, and those whose result has elements
that nothing was stored to (`umap.distances.diagonal_gaussian_energy_grad`).
"""

from __future__ import annotations

from importlib import import_module

from benchmarks.found.entry import Found

SUBJECTS = ("umap_functions", "quantecon_functions", "signal_functions")
"""The modules of this folder that list functions."""


def functions() -> dict[str, Found]:
    """Returns all functions by their titles."""
    found = (each for subject in SUBJECTS for each in import_module(f"{__name__}.{subject}").FUNCTIONS)
    return {each.title: each for each in found}
