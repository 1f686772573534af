"""Kernels on a GPU beside libraries:  python -m benchmarks.gpu [--target cuda|opencl] [--only TEXT] [--check] [--vectors FILE]

Prints a table in Markdown: products, softmax, layernorm, a sweep of jacobi-2d and ResNet-50's convolutions by polyml, by PyTorch (which calls
cuBLAS and cuDNN), by torch.compile and by Triton; medians of device events, arguments in turn so that none is in the cache, some sizes that are
no multiples of a tile. --check runs PolyBench's kernels and the array programs against their references first; --vectors writes what each
instruction that the tests emulate gives on this device, for the tests to compare.

Exit status: 0; 1 where a result is wrong; 3 where there is no device, which is then said.
"""

from __future__ import annotations

import argparse
import sys

from benchmarks.gpu.cases import SMALL, WHOLE, Sizes, cases
from benchmarks.gpu.checks import checked
from benchmarks.gpu.devices import Device, NoDevice, opened_device
from benchmarks.gpu.table import header, rows
from benchmarks.gpu.vectors import Emulated, Hardware, written

NO_DEVICE = 3


def main(arguments: list[str] | None = None) -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--target", choices=("cuda", "opencl"), default="cuda")
    parser.add_argument("--device", default="", help="of OpenCL: a part of the device's or its platform's name")
    parser.add_argument("--only", default="", help="the rows whose names contain this text")
    parser.add_argument("--small", action="store_true", help="small sizes, as on a processor")
    parser.add_argument("--repeats", type=int, default=20, help="how many runs each median is of")
    parser.add_argument("--no-compile", action="store_true", help="without torch.compile, which takes seconds for each row")
    parser.add_argument("--check", action="store_true", help="run all kernels against their references first")
    parser.add_argument("--vectors", metavar="FILE", help="write what instructions give on this device, and end")
    parser.add_argument("--emulated", action="store_true", help="of --vectors: of the emulator in place of a device")
    options = parser.parse_args(arguments)
    if options.vectors and options.emulated:
        written(options.vectors, Emulated())
        return 0
    try:
        device = opened_device(options.target, options.device)
    except NoDevice as missing:
        print(f"nothing was measured: {missing}", file=sys.stderr)
        return NO_DEVICE
    print(f"{device.name}\n")
    if options.vectors:
        written(options.vectors, Hardware())
        return 0
    wrong = checked(device, options.only) if options.check else 0
    return 1 if wrong + _table(device, SMALL if options.small else WHOLE, options) else 0


def _table(device: Device, sizes: Sizes, options: argparse.Namespace) -> int:
    """Prints the table, and returns how many rows are wrong."""
    chosen = [each for each in cases(sizes) if options.only in each.name]
    print("\n".join(header()), flush=True)
    wrong = 0
    for row in rows(chosen, device, options.repeats, not options.no_compile):
        wrong += bool(row.problem)
        print(f"| {' | '.join(row.cells())} |{f'  {row.problem}' if row.problem else ''}", flush=True)
    return wrong


if __name__ == "__main__":
    sys.exit(main())
