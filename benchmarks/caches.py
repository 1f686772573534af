"""How many accesses a second the simulation of caches runs: a product of matrices, in the order of its source.

python -m benchmarks.caches [N]
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import polyml
from benchmarks.nests import gemm
from polyml.caches.simulator.simulate import ThreadModel, simulate
from polyml.codegen.astgen.build import build
from polyml.codegen.ir.program import Program
from polyml.machines.cache_spec import parse

REPEAT = 5
LITTLE = 4  # a size with next to no accesses: what it takes is the simulator's code
# caches, threads, whether they are coherent
CASES = (
    ("32K:8:64", 1, False),
    ("32K:8:64:plru", 1, False),
    ("32K:full:64", 1, False),
    ("32K:8:64,1M:16:64", 1, False),
    ("32K:8:64,1M:16:64", 2, False),
    ("32K:8:64,1M:16:64:shared", 2, False),
    ("32K:8:64,1M:16:64:shared:inclusive", 2, False),
    ("32K:8:64,1M:16:64:shared", 2, True),
    ("32K:8:64,256K:8:64,4M:16:64:shared", 4, False),
)


def in_source_order() -> Program:
    """Returns the program in the source's order, with its outermost loop parallel."""
    matrices = np.zeros((3, LITTLE, LITTLE))
    schedule = polyml.kernel(gemm, cache=False).schedule("source", *matrices).parallel("i")
    return build(schedule.problem.scop, schedule.tree, schedule.problem.reductions)


def seconds(program: Program, n: int, caches: str, classify: bool, threads: int, coherent: bool) -> float:
    sizes = dict.fromkeys((p.name for p in program.scop.parameters), n)
    start = time.perf_counter()
    simulate(program, sizes, parse(caches), classify=classify, threads=ThreadModel(threads, coherent))
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("size", nargs="?", type=int, default=200)
    n = parser.parse_args().size
    program, accesses = in_source_order(), 4 * n**3
    print(f"gemm, N = {n}, {accesses / 1e6:.0f} million accesses; the best of {REPEAT}, without what making the code takes")
    print(f"{'caches':40} {'threads':>7} {'coherent':>8} {'three Cs':>8} {'accesses/s':>12} {'run':>8} {'code':>8}")
    for caches, threads, coherent in CASES:
        for classify in (False, True):
            given = caches, classify, threads, coherent
            code = min(seconds(program, LITTLE, *given) for _ in range(REPEAT))
            run = min(seconds(program, n, *given) for _ in range(REPEAT)) - code
            asked = " ".join(f"{'yes' if each else 'no':>8}" for each in (coherent, classify))
            print(f"{caches:40} {threads:7} {asked} {accesses / run / 1e6:10.0f} M {run * 1e3:5.0f} ms {code * 1e3:5.0f} ms")


if __name__ == "__main__":
    main()
