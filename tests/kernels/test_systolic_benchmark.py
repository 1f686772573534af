"""The tables of benchmarks.systolic: closed forms against what isl counts, TPU v1's applications against its paper."""

from math import prod

import pytest

from benchmarks import systolic, tpu
from polyml.measure import lookup
from polyml.systolic.folding.folded_domain import FoldedDomain


@pytest.fixture(scope="module")
def models():
    return systolic.convolutions()


def test_the_layers_are_resnet_50_s():
    """25.5 M weights in 54 layers, 4.09 G multiply-adds (He et al., CVPR 2016; strides in the windows of 3)."""
    every = [(layer.count, *layer.shapes) for layer in systolic.layers()]
    assert sum(count for count, *_ in every) == 54
    assert sum(count * prod(filters) for count, _, filters, _ in every) == 25_502_912
    assert sum(count * prod(filters) * prod(out[1:]) for count, _, filters, out in every) == 4_089_184_256


@pytest.mark.parametrize("shape", systolic.ARRAYS, ids=str)
def test_closed_forms_are_what_isl_counts(models, shape):
    for layer, dataflow, plan in list(systolic.resnet(models, shape))[::7]:
        counted = FoldedDomain(plan.recurrence, plan.mapping, plan.folds.shape)
        assert plan.dataflow == dataflow
        assert plan.folds.classes == tuple(counted.classes(False)), layer
        assert plan.folds.traffic == tuple(counted.traffic()), layer
        assert plan.padded.classes == tuple(counted.classes(True)), layer


def cycles_of_a_product(across, along, shape, preloads):
    """Block by block: a row or column of operands each cycle, behind the rows of what stays."""
    blocks = [[min(r, n - start) for start in range(0, n, r)] for n, r in zip(across, shape)]
    return sum(along + rows + columns - 2 + preloads * rows for rows in blocks[0] for columns in blocks[1])


@pytest.mark.parametrize("shape", systolic.ARRAYS, ids=str)
def test_cycles_are_those_of_products_of_im2col(models, shape):
    for layer, dataflow, plan in systolic.resnet(models, shape):
        (channels, _, _), (filters, _, window, _), (_, rows, columns) = layer.shapes
        m, n, k = rows * columns, filters, channels * window**2
        across, along = {"os": ((m, n), k), "ws": ((k, n), m), "is": ((k, m), n)}[dataflow]
        ways = [cycles_of_a_product(way, along, shape, dataflow != "os") for way in (across, across[::-1])]
        assert plan.folds.cycles == min(ways), layer
        assert plan.folds.utilisation == m * n * k / prod(shape) / plan.folds.cycles


@pytest.fixture(scope="module")
def predicted():
    machine, model = lookup.find("tpu-v1"), tpu.product()
    return {each.name: tpu.predicted(each, machine, model) for each in tpu.applications()}


def test_weights_are_shifted_in_for_19_percent_of_the_time_of_layers_bound_by_memory(predicted):
    for name in ("MLP0", "MLP1", "LSTM0", "LSTM1"):
        assert predicted[name].stalled.shift_share == pytest.approx(0.190, rel=0.05)
        assert predicted[name].stalled.shift_share == pytest.approx(predicted[name].application.share("weight_shift_pct"), rel=0.05)


@pytest.mark.parametrize("name", ["MLP0", "LSTM0"])
def test_active_shares_are_the_paper_s(predicted, name):
    found = predicted[name]
    assert found.stalled.active_share == pytest.approx(found.application.share("array_active_pct"), rel=0.08)


def test_lstms_run_at_half_speed(predicted):
    """Operations measured over those of the cycles in which the array is active: half of its peak, and of no other application."""
    assert {name: found.pace for name, found in predicted.items()} == {
        "MLP0": 1, "MLP1": 1, "LSTM0": 2, "LSTM1": 2, "CNN0": 1, "CNN1": 1,
    }  # fmt: skip
    assert lookup.find("tpu-v1").pace(("i8", "i16")) == 2


def test_600_x_600_weights_are_nine_tiles():
    machine = lookup.find("tpu-v1")
    layers = tpu.Layers(1, 200, 600, 600)
    number, _ = tpu._steps(layers, machine, tpu.product())
    assert number == 9
    assert number * machine.tile_load_cycles / machine.frequency_hz.all.value == pytest.approx(18e-6, rel=0.05)


def test_every_application_is_printed(capsys):
    tpu.print_applications()
    out = capsys.readouterr().out
    assert all(f"\n{name}" in out and f"  {name}" in out for name in tpu.ASSUMED) and "9 tiles, 17.35 us" in out
