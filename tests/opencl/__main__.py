"""Runs kernels on an OpenCL device:  python -m tests.opencl [--only TEXT] [--random N] [--device TEXT]

Prints each program that is wrong or that the device did not run. The exit status is 1 where one is wrong.

--oclgrind LIBRARY runs them in Oclgrind, whose driver is that library (/usr/lib/oclgrind/liboclgrind-rt-icd.so of Debian), each in a process
of its own. A program that it reports is wrong: a race between threads, an access out of bounds, memory that is read before it is written, or
a barrier that not all threads reach.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from itertools import chain

import polyml
from polyml import config, kernels
from polyml.codegen.gpu.text.dialect import OPENCL
from polyml.errors import CompileError
from polyml.kernels.arrays import workloads
from polyml.runtime.gpu.host import code as host_code
from polyml.runtime.gpu.opencl import OpenCl, OpenClModule
from polyml.runtime.storage.disk_cache import Cache
from polyml.schedule.gpu import launch_plan
from tests.fuzz.check import check
from tests.fuzz.generate import program
from tests.opencl.footprints import NAMES
from tests.opencl.oclgrind import watched
from tests.opencl.programs import Outcome, array_programs, polybench, shared_footprints


def main() -> int:
    """The number of wrong programs decides the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.opencl", description=__doc__)
    parser.add_argument("--only", default="", help="the kernels and array programs whose names contain this text")
    parser.add_argument("--loops", metavar="NAME", help="this kernel of PolyBench in loops alone")
    parser.add_argument("--arrays", metavar="NAME", help="this array program alone")
    parser.add_argument("--footprint", metavar="NAME", help="this kernel of tests/opencl/footprints.py alone")
    parser.add_argument("--random", type=int, default=0, help="how many random programs")
    parser.add_argument("--seed", type=int, default=1, help="the number of the first one")
    parser.add_argument("--device", default="", help="a part of the device's or its platform's name")
    parser.add_argument("--oclgrind", default="", metavar="LIBRARY", help="run each program in Oclgrind, whose driver this is")
    parser.add_argument(
        "--tile", default="", metavar="TX,TY,IX,IY", help="threads along x and y and iterations of each, of register tiles"
    )
    parser.add_argument("--teams", default="", choices=("team", "split"), help="let threads share loops whatever the sizes are")
    parser.add_argument(
        "--without-barrier", type=int, metavar="K", help="leave out barrier K of each text, from 0 on, which Oclgrind finds"
    )
    parser.add_argument(
        "--in-turn", action="store_true", help="launches for a device that runs the threads of a block one after another"
    )
    options = parser.parse_args()
    OpenCl.in_turn = options.in_turn  # type: ignore[method-assign, assignment]
    if options.tile:
        tx, ty, ix, iy = map(int, options.tile.split(","))
        launch_plan.TILE = launch_plan.TILE_OF_HALVES = (tx, ty), (ix, iy)
    if options.teams:
        host_code.parts = lambda *_: 1 if options.teams == "team" else 3  # type: ignore[assignment]  # the rule, for any sizes
    if options.without_barrier is not None:
        _leave_out(options.without_barrier)
    alone = options.loops or options.arrays or options.footprint
    names = (options.loops,) if options.loops else tuple(name for name in kernels.NAMES if options.only in name and not alone)
    arrays = (options.arrays,) if options.arrays else tuple(name for name in workloads() if options.only in name and not alone)
    shared = (options.footprint,) if options.footprint else tuple(name for name in NAMES if options.only in name and not alone)
    start, wrong, refused, total = time.monotonic(), 0, 0, 0
    if options.oclgrind:
        runs = [*(["--loops", name] for name in names), *(["--arrays", name] for name in arrays)]
        runs += [["--footprint", name] for name in shared]
        runs += [["--only", "(none)", "--random", "1", "--seed", str(options.seed + k)] for k in range(options.random)]
        return watched(options.oclgrind, runs, options.tile, options.teams)
    target = polyml.Target.opencl(options.device)
    groups = [polybench(names, target=target)] if names else []
    groups += [array_programs(arrays, target=target)] if arrays else []
    groups += [shared_footprints(shared, target=target)] if shared else []
    for outcome in chain(*groups, _random(options.seed, options.random, "opencl-teams" if options.teams else "opencl")):
        total += 1
        wrong += bool(outcome.problem)
        refused += bool(outcome.refused)
        if outcome.problem or outcome.refused:
            print(f"{outcome.name}: {outcome.problem or f'not run: {outcome.refused}'}", flush=True)
    print(f"{total} programs in {time.monotonic() - start:.0f} s: {wrong} wrong, {refused} not run")
    return 1 if wrong else 0


def _leave_out(number: int) -> None:
    """Makes devices compile texts without one of their barriers; a text that has not so many is not compiled."""
    compile_whole = OpenCl.compile

    def compile_without(device: OpenCl, text: str, cache: Cache | None = None) -> OpenClModule:
        parts = text.split(OPENCL.barrier)
        if number + 1 >= len(parts):
            raise CompileError(f"there are {len(parts) - 1} barriers")
        return compile_whole(
            device, OPENCL.barrier.join([*parts[:number], parts[number] + parts[number + 1], *parts[number + 2 :]]), cache
        )

    OpenCl.compile = compile_without  # type: ignore[method-assign]


def _random(first: int, count: int, engine: str) -> Iterator[Outcome]:
    """Random programs of the fuzzer's grammar, with one of its engines."""
    for seed in range(first, first + count):
        outcome = check(program(seed), [engine])
        refusal = outcome.detail or outcome.reason
        yield Outcome(f"random {seed}", refusal if outcome.kind == "failed" else "", refusal if outcome.kind == "refused" else "")


if __name__ == "__main__":
    with config.scope(cache=False):  # options change what code on disk depends on besides its key
        sys.exit(main())
