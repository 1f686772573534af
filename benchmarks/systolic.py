"""What models of systolic arrays say, and how fast: ResNet-50 by closed forms, TPU v1's applications beside its paper; simulations.

python -m benchmarks.systolic [--resnet] [--tpu] [--speed]
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks import simulated, tpu
from benchmarks.nests import Model, conv_stride_1, conv_stride_2, modelled
from polyml.machines.descriptions import DATAFLOWS
from polyml.systolic.mapping.dataflows import Plan, plans

LAYERS = Path(__file__).parent / "resnet50.csv"
ARRAYS = ((128, 128), (256, 256))
CONVOLUTIONS = {1: conv_stride_1, 2: conv_stride_2}  # by stride


@dataclass(frozen=True)
class Layer:
    """A Layer is a convolution of a square picture, padded before; a fully connected layer is one of a single pixel."""

    name: str
    count: int
    channels: int
    height: int
    filters: int
    window: int
    stride: int
    padding: int

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Returns the shapes of the picture, the filters and the results."""
        padded = self.height + 2 * self.padding
        rows = (padded - self.window) // self.stride + 1
        picture, filters = (self.channels, padded, padded), (self.filters, self.channels, self.window, self.window)
        return picture, filters, (self.filters, rows, rows)


def main() -> None:
    parts = {"resnet": print_resnet, "tpu": tpu.print_applications, "speed": simulated.print_speed}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in parts:
        parser.add_argument(f"--{name}", action="store_true")
    asked = vars(parser.parse_args())
    for name in [name for name in parts if asked[name]] or parts:
        parts[name]()


def layers() -> list[Layer]:
    with open(LAYERS) as file:
        return [Layer(row.pop("layer"), **{name: int(value) for name, value in row.items()}) for row in csv.DictReader(file)]


def convolutions() -> dict[int, Model]:
    return {stride: modelled(function, (2, 9, 11), (5, 2, 3, 2), (5, 4, 3)) for stride, function in CONVOLUTIONS.items()}


def resnet(models: Mapping[int, Model], shape: tuple[int, int]) -> Iterator[tuple[Layer, str, Plan]]:
    """Prints the plan of fewest cycles of every layer and dataflow."""
    for layer in layers():
        found = models[layer.stride]
        known = plans(found.nest, found.sizes(*layer.shapes), shape)
        for dataflow in DATAFLOWS:
            yield layer, dataflow, next(plan for plan in known if plan.dataflow == dataflow)


def print_resnet() -> None:
    start = time.perf_counter()
    models = convolutions()
    ready = time.perf_counter()
    found = {shape: list(resnet(models, shape)) for shape in ARRAYS}
    counted = [
        (shape, layer, dataflow, plan.folds.cycles, plan.folds.utilisation, plan.folds.reads, plan.folds.writes)
        for shape, all_ in found.items()
        for layer, dataflow, plan in all_
    ]
    done = time.perf_counter()
    print("ResNet-50, batch 1, each convolution as its nest: cycles, utilisation, elements from and to the buffer")
    for shape in ARRAYS:
        print(
            f"\n{'x'.join(map(str, shape)):24} times"
            + "".join(f"{name:>12} cycles   util.        reads      writes" for name in DATAFLOWS)
        )
        rows = {(layer, dataflow): counts for s, layer, dataflow, *counts in counted if s == shape}
        totals = {name: [0, 0.0, 0, 0] for name in DATAFLOWS}
        for layer in layers():
            cells = [rows[layer, name] for name in DATAFLOWS]
            print(f"{layer.name:24} {layer.count:5}" + "".join(f"{c:19,} {u:7.1%} {r:12,} {w:11,}" for c, u, r, w in cells))
            for name, (cycles, share, reads, writes) in zip(DATAFLOWS, cells):
                for k, value in enumerate((cycles, share * cycles, reads, writes)):
                    totals[name][k] += layer.count * value
        cells = [(c, busy / c, r, w) for c, busy, r, w in totals.values()]
        print(
            f"{'all':24} {sum(layer.count for layer in layers()):5}"
            + "".join(f"{c:19,} {u:7.1%} {r:12,} {w:11,}" for c, u, r, w in cells)
        )
    print(f"\n{done - ready:.3f} s, and {ready - start:.3f} s for the nests from their source")


if __name__ == "__main__":
    main()
