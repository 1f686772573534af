"""Whole functions whose loops, conditions or subscripts are decided by data, as users of Python compilers write them.

functions()["csr_matvec"].function(*functions()["csr_matvec"].arguments("LARGE"))
"""

from __future__ import annotations

from importlib import import_module

from polyml.kernels.irregular._irregular import FUNCTIONS, Irregular

SUBJECTS = (
    "sparse_products", "solvers", "graphs", "counting", "dynamic_programs", "sparse_tensors",
    "sorting", "numerics", "particles", "images", "monte_carlo",
)  # fmt: skip
"""The modules of this folder, each of which registers its functions."""


def functions() -> dict[str, Irregular]:
    """Returns all of them by name."""
    for subject in SUBJECTS:
        import_module(f"{__name__}.{subject}")
    return dict(FUNCTIONS)
