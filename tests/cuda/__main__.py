"""Compiles kernels for NVIDIA's GPUs:  python -m tests.cuda [--only TEXT] [--random N] [--arch sm_90,sm_100]

PolyBench's kernels in loops, the array programs and random programs, for arrays of float64 and of float32, by as many nvcc at a time as
there are processors. Prints each that nvcc refuses or whose registers do not suffice, and how many registers the others take. The exit status is 1
where there is one.

--emulate [--random N] [--order forward|backward|seeded] runs them in the emulator instead, and prints each that is wrong, that is not run
or that makes a mistake, such as a race. The exit status is 1 where one is wrong.

--mutate leaves out each barrier of 15 kernels in turn, moves each bound by one, and undoes each swizzle on one side, and prints which of these
mistakes nobody notices. The exit status is 1 where there is no known reason for that.

--predicted prints, for eleven kernels, the requests, sectors, wavefronts and bank conflicts that the report on a GPU predicts beside those that the
emulator counts, and registers and shared memory beside what ptxas says. The exit status is 1 where a number is wrong.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import chain

from polyml import config
from polyml.runtime.gpu.toolkit.nvidia import ARCHITECTURES
from polyml.schedule.gpu import launch_plan
from tests.cuda import predicted
from tests.cuda.compiler import Compiled, compiled, nvcc
from tests.cuda.emulator import campaign
from tests.cuda.emulator.launches import ORDERS, Run
from tests.cuda.emulator.subjects import SMALL_TILE, subjects, why_equivalent
from tests.cuda.emulator.survivors import report
from tests.cuda.programs import FLOATS, random_texts, texts

REGISTERS = 65536  # that the threads of a block have together
_GRANULE = 8  # registers are given to threads in such portions
_BOUNDS = re.compile(r"__launch_bounds__\((\d+)[^)]*\)\s+(\w+)\(")


def main() -> int:
    """The number of programs with a problem decides the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.cuda", description=__doc__)
    parser.add_argument("--only", default="", help="the programs whose names contain this text")
    parser.add_argument("--random", type=int, default=0, help="how many random programs")
    parser.add_argument(
        "--template", default="", help="random programs of this template (tests/fuzz/gpu_templates.py), with teams, in the emulator"
    )
    parser.add_argument("--seed", type=int, default=1, help="the number of the first one, and of the emulator's order by chance")
    parser.add_argument("--floats", default=",".join(FLOATS), help="types of arrays of floats")
    parser.add_argument("--arch", default=",".join(ARCHITECTURES), help=f"some of {', '.join(ARCHITECTURES)}")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many nvcc run at a time")
    parser.add_argument("--emulate", action="store_true", help="run them in the emulator (tests/cuda/emulator)")
    parser.add_argument("--order", default="forward", choices=ORDERS, help="in which the emulated threads of a block run")
    parser.add_argument("--tile", metavar="TX,TY,IX,IY", help="threads along x and y and iterations of each, of register tiles")
    parser.add_argument("--mutate", action="store_true", help="try mistakes in 15 kernels, which the emulator has to find")
    parser.add_argument("--predicted", action="store_true", help="compare the report on a GPU with the emulator and ptxas")
    options = parser.parse_args()
    if options.predicted:
        return 1 if predicted.table(options.only) else 0
    if options.mutate:
        launch_plan.TILE = launch_plan.TILE_OF_HALVES = SMALL_TILE
        return report([each for each in subjects() if options.only in each.name], why_equivalent)
    if options.tile:
        tx, ty, ix, iy = map(int, options.tile.split(","))
        launch_plan.TILE = launch_plan.TILE_OF_HALVES = (tx, ty), (ix, iy)
    if options.emulate:
        seeds = range(options.seed, options.seed + options.random)
        return campaign.emulate(options.only, seeds, Run(options.order, options.seed), options.template)
    compiler = nvcc()
    if compiler is None:
        parser.error("there is no nvcc; pip install polyml[gpu-test]")
    start, wrong, refused, found = time.monotonic(), 0, 0, list[Compiled]()
    made = chain(texts(options.only, tuple(options.floats.split(","))), random_texts(options.seed, options.random))
    with ThreadPoolExecutor(options.jobs) as pool:
        runs = []
        for name, text in made:
            refused += not text
            runs += [(name, arch, pool.submit(_compiled, text, arch, compiler)) for arch in options.arch.split(",") if text]
        for name, architecture, run in runs:
            kernels, problems = run.result()
            found += kernels
            wrong += bool(problems)
            for problem in problems:
                print(f"{name}, {architecture}: {problem}", flush=True)
    print(
        f"{len(runs)} texts with {len(found)} kernels in {time.monotonic() - start:.0f} s: {wrong} with problems, "
        f"at most {max((each.registers for each in found), default=0)} registers; {refused} programs have no text; "
        f"{sum(bool(each.stack_bytes) for each in found)} kernels keep some bytes in memory, around calls of CUDA's functions"
    )
    return 1 if wrong else 0


def _compiled(text: str, architecture: str, compiler: str) -> tuple[list[Compiled], list[str]]:
    """Returns the kernels of a text, and what is wrong with them."""
    try:
        found = compiled(text, architecture, compiler)
    except ValueError as problem:
        return [], [f"refused\n{problem}"]
    threads = {name: int(number) for number, name in _BOUNDS.findall(text)}
    return found, list(_problems(found, threads))


def _problems(found: list[Compiled], threads: Mapping[str, int]) -> Iterator[str]:
    """Yields a line for each kernel that has all registers that it may have and spills. threads: of a block, by the name of the kernel.

    A kernel that has registers left spills around calls of CUDA's own functions, such as the rare cases of a division.
    """
    for each in found:
        most = min(255, REGISTERS // threads[each.name])
        if each.spilled and each.registers > most - _GRANULE:
            yield f"{each.name} spills {each.spilled} bytes, at {each.registers} registers"


if __name__ == "__main__":
    with config.scope(cache=False):  # options change what code on disk depends on besides its key
        sys.exit(main())
