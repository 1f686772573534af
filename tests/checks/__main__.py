"""Compiles kernels with every pass checked:  python -m tests.checks [NAME ...]  (all of PolyBench where none is named)."""

import importlib
import sys
import time

import numpy as np

import polyml
from polyml.errors import PassError

KERNELS = (
    "adi", "atax", "bicg", "cholesky", "correlation", "covariance", "deriche", "doitgen", "durbin", "fdtd_2d", "floyd_warshall", "gemm",
    "gemver", "gesummv", "gramschmidt", "heat_3d", "jacobi_1d", "jacobi_2d", "k2mm", "k3mm", "lu", "ludcmp", "mvt", "nussinov", "seidel_2d",
    "symm", "syr2k", "syrk", "trisolv", "trmm",
)  # fmt: skip


def main(names) -> int:
    """The number of kernels in which a pass is wrong."""
    wrong = 0
    for name in names or KERNELS:
        module = importlib.import_module(f"polyml.kernels.{name}")
        arguments = module.inputs(module.SIZES["SMALL"], np.random.default_rng(0))
        start = time.perf_counter()
        try:
            with polyml.config.scope(check=True):
                getattr(module, name)(**arguments)
            said = "no finding"
        except PassError as problem:
            wrong, said = wrong + 1, str(problem)
        print(f"{name:<16}{time.perf_counter() - start:7.1f} s  {said}", flush=True)
    return wrong


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
