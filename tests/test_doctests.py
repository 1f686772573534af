"""The examples in docstrings hold."""

import doctest
import importlib

import pytest

MODULES = (
    "polyml.machines.cpu", "polyml.config", "polyml.cli.commands.bench", "polyml.cli.commands.cache", "polyml.kernels._sizes", "tests.fuzz.affine",
    "polyml.machines.descriptions", "polyml.api.target", "polyml.systolic.mapping.parse", "polyml.machines.units", "polyml.measure.lookup",
    "polyml.measure.measurement", "polyml.caches.analytic.unit_scaling", "polyml.caches.analytic.set_conflicts", "polyml.ops.patches", "polyml.ops.costs", "polyml.ops.conv2d",
    "polyml.polyhedra.pw_affs", "polyml.polyhedra.bounds", "polyml.polyhedra.constraints", "polyml.polyhedra.relations",
    "polyml.polyhedra.hulls", "polyml.polyhedra.tiles", "polyml.model.counting.cardinality", "polyml.model.counting.formula_text", "polyml.model.counting.lattice_points",
    "polyml.model.counting.quasi_polynomial", "polyml.model.counting.count_points", "polyml.systolic.folding.box_folds", "polyml.systolic.recurrences.spacetime", "polyml.systolic.folding.stalls",
)  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_hold(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0 and result.failed == 0
