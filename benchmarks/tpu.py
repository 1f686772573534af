"""The six applications of Jouppi et al., "In-Datacenter Performance Analysis of a Tensor Processing Unit", ISCA 2017, by the
models of systolic arrays, beside what its counters say (Table 3).

Layers are products with stationary weights on TPU v1's array. The paper gives weights, batches, kinds of layers and operations
per weight byte (Table 1); what it does not give is assumed, and said in `ASSUMED`. Shares are of the time of matrix operations:
active, waiting for weights, waiting while weights are shifted in.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from benchmarks.nests import Model, gemm, modelled
from polyml.machines.descriptions import Systolic
from polyml.measure import lookup
from polyml.systolic.folding.stalls import FoldStep, RepeatedSteps, Stalled, stalled
from polyml.systolic.mapping.dataflows import plans

TABLE = Path(__file__).parent / "tpu_v1.csv"
SQUARE = "weights even among the layers, as square matrices"
ASSUMED = {
    "MLP0": f"5 fully connected layers, {SQUARE}",
    "MLP1": f"4 fully connected layers, {SQUARE}",
    "LSTM0": f"24 fully connected layers, {SQUARE}",
    "LSTM1": "matrices of 600 x 600, which the paper names (section 7)",
    "CNN0": "16 convolutions of 3 x 3, weights even among them, as many channels as filters",
    "CNN1": "9 tenths of the weights in 4 fully connected layers, as in VGG-16; 72 convolutions of 3 x 3, even, square",
}
LSTM1_SIDE = 600
FULLY_CONNECTED = {"MLP0": 5, "MLP1": 4, "LSTM0": 24}  # and none else
CONVOLUTIONS = {"CNN0": 16, "CNN1": 72}
CNN1_DENSE, CNN1_DENSE_SHARE = 4, 0.9
WINDOW = 3 * 3


@dataclass(frozen=True)
class Layers:
    """Layers are so many products of [rows, depth] and [depth, columns], the weights."""

    number: int
    rows: int
    depth: int
    columns: int

    @property
    def macs(self) -> int:
        return self.number * self.rows * self.depth * self.columns


@dataclass(frozen=True)
class Application:
    """An Application is a network of the paper. measured: the paper's row, shares in percent of all cycles."""

    name: str
    measured: dict[str, float]

    @cached_property
    def layers(self) -> tuple[Layers, ...]:
        weights, batch = self.measured["weights_M"] * 1e6, int(self.measured["batch"])
        rows = self.measured["ops_per_weight_byte"]
        if self.name in FULLY_CONNECTED:
            return (_dense(weights, FULLY_CONNECTED[self.name], batch),)
        if self.name == "LSTM1":
            return (Layers(round(weights / LSTM1_SIDE**2), batch, LSTM1_SIDE, LSTM1_SIDE),)
        dense = weights * CNN1_DENSE_SHARE if self.name == "CNN1" else 0
        rows = round((rows * weights - batch * dense) / (weights - dense))  # so that the mean of all weights is the paper's
        side = round(((weights - dense) / CONVOLUTIONS[self.name] / WINDOW) ** 0.5)
        found = Layers(CONVOLUTIONS[self.name], rows, WINDOW * side, side)
        return (_dense(dense, CNN1_DENSE, batch), found) if dense else (found,)

    def pace(self, machine: Systolic) -> int:
        """Returns the cycles for a row of a tile.

        The array is active for so many times the cycles that the operations measured would take at its peak. It is 2 for both
        LSTMs: their operands have 16 bits on one side, which run at half speed (section 2).
        """
        peak = machine.peak(machine.number).value / 1e12
        return max(1, round(peak * self.measured["useful_macs_pct"] / 100 / self.measured["tops_measured"]))

    def share(self, name: str) -> float:
        """Returns a share of the cycles of matrix operations, as measured."""
        parts = ("array_active_pct", "weight_stall_pct", "weight_shift_pct")
        return self.measured[name] / sum(self.measured[part] for part in parts)


def _dense(weights: float, layers: int, rows: int) -> Layers:
    side = round((weights / layers) ** 0.5)
    return Layers(layers, rows, side, side)


@dataclass(frozen=True)
class Predicted:
    """A Predicted is what the model says of an application.

    tiles: how many are shifted in.
    useful_share: multiply-adds of weights over those of whole tiles.
    """

    application: Application
    pace: int
    tiles: int
    stalled: Stalled
    useful_share: float
    tops: float


def applications() -> list[Application]:
    with open(TABLE) as file:
        return [Application(row.pop("app"), {name: float(value) for name, value in row.items()}) for row in csv.DictReader(file)]


def predicted(application: Application, machine: Systolic, model: Model) -> Predicted:
    steps, tiles, whole, macs = [], 0, 0, 0
    pace = application.pace(machine)
    for layers in application.layers:
        folds, found = _steps(layers, machine, model)
        steps.append(RepeatedSteps(layers.number, found))
        tiles += layers.number * folds
        whole += layers.number * folds * layers.rows * machine.rows * machine.columns
        macs += layers.macs
    result = stalled(steps, machine.tile_load_cycles, machine.weight_tiles, pace)
    seconds = result.cycles / machine.frequency_hz.all.value / (1 - application.measured["non_matrix_pct"] / 100)
    return Predicted(application, pace, tiles, result, macs / whole, 2 * macs / seconds / 1e12)


def _steps(layers: Layers, machine: Systolic, model: Model) -> tuple[int, tuple[FoldStep | RepeatedSteps, ...]]:
    """Returns how many tiles a layer has, and when each goes on, for the padded folds of the best weight-stationary plan."""
    m, k, n = layers.rows, layers.depth, layers.columns
    best = plans(model.nest, model.sizes((m, k), (k, n), (m, n)), (machine.rows, machine.columns), dataflow="ws")[0]
    return best.padded.number, best.padded.overlap.steps


def product() -> Model:
    return modelled(gemm, (9, 7), (7, 5), (9, 5))


def print_applications() -> None:
    machine, model = lookup.find("tpu-v1"), product()
    print("TPU v1: shares of the time of matrix operations, in %, as modelled | as measured (Jouppi et al., ISCA 2017, Table 3)")
    heads = ("", "rows", "pace", "tiles", "active", "wait for weights", "shift", "useful", "TOPS")
    print("{:6} {:>6} {:>5} {:>7}  {:^23} {:^17} {:^13} {:^13} {:^13}".format(*heads))
    for application in applications():
        for line in _lines(predicted(application, machine, model)):
            print(line)
    one = Layers(1, 200, LSTM1_SIDE, LSTM1_SIDE)
    folds, _ = _steps(one, machine, model)
    seconds = folds * machine.tile_load_cycles / machine.frequency_hz.all.value
    print(f"\n{LSTM1_SIDE} x {LSTM1_SIDE} weights: {folds} tiles, {seconds * 1e6:.2f} us (the paper: 18 us)")
    print("rows: that go through a tile, at the mean; pace: cycles for each, by the operations measured; useful: multiply-adds of")
    print("weights over those of whole tiles; TOPS: with the share of other cycles that was measured. Assumed:")
    for name, text in ASSUMED.items():
        print(f"  {name:6} {text}")


def _lines(found: Predicted) -> Iterator[str]:
    mine, theirs = found.stalled, found.application
    active, stall, shift = (theirs.share(f"{name}_pct") for name in ("array_active", "weight_stall", "weight_shift"))
    useful = theirs.measured["useful_macs_pct"] / theirs.measured["array_active_pct"]
    off = mine.active_share / active - 1
    rows = round(sum(each.macs for each in theirs.layers) / sum(each.macs / each.rows for each in theirs.layers))
    yield (
        f"{theirs.name:6} {rows:6,} {found.pace:5} {found.tiles:7,}  {mine.active_share:6.1%} | {active:6.1%} {off:+6.1%}"
        f"  {mine.stall_share:6.1%} | {stall:6.1%}  {mine.shift_share:5.1%} | {shift:5.1%} {found.useful_share:5.0%} | {useful:5.0%}"
        f"  {found.tops:5.1f} | {theirs.measured['tops_measured']:5.1f}"
    )


if __name__ == "__main__":
    print_applications()
