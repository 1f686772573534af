"""Time the convolutions of ResNet-50 against PyTorch:  python -m benchmarks.convolutions --images 1 --threads 1

A layer is size x channels-in x channels-out x filter x stride. The peers are torch.nn.functional.conv2d, and oneDNN
asked for directly, which PyTorch does not take for every layer. Each has a process of its own, the processes take
turns, and elements of every result are checked against float64.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.compare import geometric_mean, taking_turns, write_rows
from benchmarks.contractions import take_turns
from benchmarks.worker import Failed

LAYERS = (
    "224x3x64x7x2 56x64x64x1x1 56x64x64x3x1 56x64x256x1x1 56x256x64x1x1 56x256x128x1x1 56x128x128x3x2 28x128x512x1x1 "
    "56x256x512x1x2 28x512x128x1x1 28x128x128x3x1 28x512x256x1x1 28x256x256x3x2 14x256x1024x1x1 28x512x1024x1x2 "
    "14x1024x256x1x1 14x256x256x3x1 14x1024x512x1x1 14x512x512x3x2 7x512x2048x1x1 14x1024x2048x1x2 7x2048x512x1x1 "
    "7x512x512x3x1"
).split()  # every convolution of ResNet-50 once (He et al., CVPR 2016), the stride in the filters of 3 x 3
PEERS = ("torch", "onednn")
CHECKED = 200  # elements
LARGEST_ERROR = 50  # units of eps * the largest sum |x||w|; Winograd's F(4x4, 3x3) has up to 36


@dataclass(frozen=True)
class Job:
    """peer: one of PEERS, or an algorithm of polyml.ops.conv2d."""

    peer: str
    layer: tuple[int, int, int, int, int]
    images: int
    layout: str
    threads: int

    @property
    def flop(self) -> float:
        size, c_in, c_out, filter_, stride = self.layer
        return 2.0 * self.images * (-(-size // stride)) ** 2 * c_in * c_out * filter_**2


@dataclass(frozen=True)
class Row:
    """rates: peer -> GFLOP/s of the definition's work. ratios: peer -> median of its time / polyml's of the same round.
    chosen: what "auto" is.
    """

    layer: str
    images: int
    layout: str
    threads: int
    chosen: str = ""
    rates: dict[str, float] | None = None
    ratios: dict[str, float] | None = None
    note: str = ""


def _polyml(job: Job, x: np.ndarray, w: np.ndarray) -> Callable[[], np.ndarray]:
    from polyml.ops import conv2d

    stride, padding = job.layer[4], job.layer[3] // 2
    if job.layout == "NHWC":
        x, w = np.ascontiguousarray(x.transpose(0, 2, 3, 1)), np.ascontiguousarray(w.transpose(2, 3, 1, 0))
    given = dict(stride=stride, padding=padding, layout=job.layout, algorithm=job.peer, threads=job.threads)
    return lambda: conv2d(x, w, **given)


def _torch(job: Job, x: np.ndarray, w: np.ndarray) -> Callable[[], object]:
    import torch

    torch.set_num_threads(job.threads)
    torch.set_grad_enabled(False)
    stride, padding = (job.layer[4],) * 2, (job.layer[3] // 2,) * 2
    form = torch.channels_last if job.layout == "NHWC" else torch.contiguous_format
    X, W = (torch.from_numpy(a).to(memory_format=form) for a in (x, w))
    if job.peer == "onednn":
        return lambda: torch.mkldnn_convolution(X, W, None, padding, stride, (1, 1), 1)
    return lambda: torch.nn.functional.conv2d(X, W, None, stride, padding)


def _error(job: Job, y: np.ndarray, x: np.ndarray, w: np.ndarray) -> float:
    """The largest of some elements' errors, in units of eps * the largest of their sums |x||w|. All NCHW."""
    size, _, _, filter_, stride = job.layer
    x = np.pad(x, ((0, 0), (0, 0), *[(filter_ // 2,) * 2] * 2)).astype("f8")
    errors, sums = [], []
    for n, o, i, j in np.random.default_rng(1).integers(0, y.shape, (CHECKED, 4)):
        read = x[n, :, i * stride : i * stride + filter_, j * stride : j * stride + filter_]
        errors.append(abs(y[n, o, i, j] - (read * w[o]).sum()))
        sums.append(np.abs(read * w[o]).sum())
    return max(errors) / max(sums) / np.finfo(y.dtype).eps


def serve(connection: Connection, job: Job) -> None:
    """Send None or Failed, then seconds for each "run" received, until anything else arrives."""
    size, c_in, c_out, filter_, _ = job.layer
    random = np.random.default_rng(0)
    x = random.uniform(-1, 1, (job.images, c_in, size, size)).astype("f4")
    w = random.uniform(-1, 1, (c_out, c_in, filter_, filter_)).astype("f4")
    try:
        call = (_torch if job.peer in PEERS else _polyml)(job, x, w)
    except ImportError as problem:
        connection.send(Failed("unavailable", str(problem)))
        return
    y = np.asarray(call())
    error = _error(job, y.transpose(0, 3, 1, 2) if job.layout == "NHWC" and job.peer not in PEERS else y, x, w)
    connection.send(None if error <= LARGEST_ERROR else Failed("wrong", f"{error:.1f} times eps * sum |x||w|"))
    take_turns(connection, call)


def compare(layer: str, images: int, layout: str, threads: int, algorithm: str, repeat: int, budget_s: float) -> Row:
    size, c_in, c_out, filter_, stride = sizes = tuple(int(n) for n in layer.split("x"))
    jobs = [Job(peer, sizes, images, layout, threads) for peer in (algorithm, *PEERS)]
    processes = taking_turns(jobs, repeat, budget_s, serve)
    common = {"layer": layer, "images": images, "layout": layout, "threads": threads}
    failed = next((p for p in processes if p.failure is not None), None)
    if failed is not None:
        return Row(**common, note=f"{failed.job.peer} {failed.failure.kind}: {failed.failure.reason}")
    from polyml.ops import conv2d_plan

    nhwc = layout == "NHWC"
    x_shape = (images, size, size, c_in) if nhwc else (images, c_in, size, size)
    w_shape = (filter_, filter_, c_in, c_out) if nhwc else (c_out, c_in, filter_, filter_)
    given = dict(stride=stride, padding=filter_ // 2, layout=layout, algorithm=algorithm, threads=threads)
    return Row(
        **common,
        chosen=conv2d_plan(x_shape, w_shape, **given).algorithm,
        rates={p.job.peer: 1e-9 * p.job.flop / statistics.median(p.seconds) for p in processes},
        ratios={
            p.job.peer: statistics.median(b / a for a, b in zip(processes[0].seconds, p.seconds)) for p in processes[1:]
        },
    )


def show(rows: Sequence[Row], algorithm: str) -> None:
    table = Table("layer", "images", "layout", "threads", "algorithm", *(f"{p} GFLOP/s" for p in (algorithm, *PEERS)),
                  *(f"{p} / polyml time" for p in PEERS))  # fmt: skip
    for row in rows:
        figures = [row.note] if row.rates is None else [
            row.chosen,
            *(f"{rate:.0f}" for rate in row.rates.values()),
            *(f"{ratio:.2f}" for ratio in row.ratios.values()),
        ]  # fmt: skip
        table.add_row(row.layer, str(row.images), row.layout, str(row.threads), *figures)
    Console(width=max(Console().width, 120)).print(table)
    for peer in PEERS:
        mean = geometric_mean(row.ratios[peer] for row in rows if row.ratios)
        if mean is not None:
            print(f"geometric mean of {peer} / polyml: {mean:.2f}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 1 when a result is wrong or missing."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0].split(":")[0])
    parser.add_argument("--layers", nargs="+", default=LAYERS, metavar="SIZExINxOUTxFILTERxSTRIDE")
    parser.add_argument("--images", nargs="+", type=int, default=[1, 16])
    parser.add_argument("--layouts", nargs="+", default=["NCHW", "NHWC"], choices=("NCHW", "NHWC"))
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--algorithm", default="auto", help="of polyml.ops.conv2d (default: auto)")
    parser.add_argument("--repeat", type=int, default=5, help="rounds (default: 5)")
    parser.add_argument("--budget", type=float, default=4.0, metavar="SECONDS", help="for the rounds of one layer")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there")
    options = parser.parse_args(arguments)
    rows: list[Row] = []
    for threads in options.threads:
        for images in options.images:
            for layout in options.layouts:
                for layer in options.layers:
                    print(layer, images, layout, threads, file=sys.stderr, flush=True)
                    common = images, layout, threads, options.algorithm
                    rows.append(compare(layer, *common, options.repeat, options.budget))
                    write_rows(options.json, rows)
    show(rows, options.algorithm)
    return int(any(row.ratios is None for row in rows))


if __name__ == "__main__":
    sys.exit(main())
