"""The examples in docstrings hold."""

import doctest
import importlib

import pytest

MODULES = (
    "polyml.machine", "polyml.config", "polyml.cli.bench", "polyml.cli.cache", "kernels._sizes", "tests.fuzz.affine",
    "polyml.hardware", "polyml.target", "polyml.schedule.mapping_text", "polyml.machines.units", "polyml.machines.find",
    "polyml.machines.measure", "polyml.caches.units", "polyml.caches.conflicts", "polyml.ops.windows", "polyml.ops.costs", "polyml.ops.conv2d",
    "polyml.polyhedra.affs", "polyml.polyhedra.bounds", "polyml.polyhedra.constraints", "polyml.polyhedra.relations",
    "polyml.polyhedra.shapes", "polyml.polyhedra.tiles", "polyml.model.counting", "polyml.model.formulas", "polyml.model.lattice",
    "polyml.model.quasi", "polyml.model.tally", "polyml.schedule.boxes", "polyml.schedule.spacetime", "polyml.schedule.stalls",
)  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_hold(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0 and result.failed == 0
