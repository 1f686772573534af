"""Every public name of polyml has a docstring with an example, which tests/test_doctests.py runs, and an entry in docs/reference."""

import doctest
import importlib
import inspect
import re

import pytest

import polyml
import polyml.kernels
import polyml.ops
from polyml.report.report import Report
from polyml.schedule.script.schedule import Schedule
from tests.docs import blocks

REFERENCE = "docs/reference"
PAGES = [page for page in blocks.PAGES if page.startswith(REFERENCE)]
SCHEDULE = f"{Schedule.__module__}.Schedule"
STEPS = [
    name
    for name, value in inspect.getmembers(Schedule)
    if not name.startswith("_") and (callable(value) or isinstance(value, property))
]
EXTENSIONS = ("docstring_text", "outside_pages", "reference", "commands", "drawn", "mathml")  # of docs/_extensions


def public_names():
    """Yields (name, object) of what users reach by names without an underscore."""
    yield from ((f"polyml.{name}", getattr(polyml, name)) for name in polyml.__all__)
    yield from ((f"polyml.ops.{name}", getattr(polyml.ops, name)) for name in polyml.ops.__all__)
    for name in ("Options", "check", "environment", "resolve", "scope"):
        yield f"polyml.config.{name}", getattr(polyml.config, name)
    for owner in (polyml.Kernel, polyml.Target, Report):
        yield owner.__qualname__, owner
        for name, value in inspect.getmembers(owner):
            if not name.startswith("_") and (callable(value) or isinstance(value, property)):
                yield f"{owner.__name__}.{name}", value


@pytest.mark.parametrize("name, value", [pytest.param(name, value, id=name) for name, value in public_names()])
def test_a_public_name_has_a_docstring_with_an_example(name, value):
    assert ">>> " in (inspect.getdoc(value) or ""), f"{name} has no example"


def test_every_public_name_has_an_entry_in_the_reference():
    listed = {
        name for page in PAGES for block in blocks.blocks(page) if block.kind == "{reference}" for name in block.words.split()
    }
    wanted = {f"polyml.{name}" for name in polyml.__all__} | {f"polyml.ops.{name}" for name in polyml.ops.__all__}
    wanted |= {f"polyml.config.{name}" for name in ("Options", "check", "environment", "resolve", "scope")}
    wanted |= {f"polyml.kernels.{name}" for name in ("Benchmark", "canonical", "load", "preset")}
    wanted |= {f"{Report.__module__}.Report", SCHEDULE} | {f"{SCHEDULE}.{step}" for step in STEPS}
    missing = wanted - listed
    assert not missing, f"add ```{{reference}} NAME``` to a page of {REFERENCE} for {sorted(missing)}"


@pytest.mark.parametrize("step", STEPS)
def test_each_step_of_a_schedule_has_an_example(step):
    text = (blocks.ROOT / REFERENCE / "schedules.md").read_text(encoding="utf-8")
    part = text.split(f"### `{step}`\n")[1].split("\n##")[0]
    assert re.search(rf">>> .*\.{step}\b", part), f"docs/reference/schedules.md has no example of {step}"


def test_names_of_polybench_s_kernels_have_an_example():
    examples = [block.text for block in blocks.blocks(f"{REFERENCE}/polybench.md") if block.kind == "pycon"]
    for name in (
        "load(",
        "canonical(",
        "preset(",
        *(f"gemm.{field}" for field in ("title", "unit", "rate", "reference", "inputs")),
    ):
        assert any(name in text for text in examples), name


@pytest.mark.parametrize("name", EXTENSIONS)
def test_examples_of_the_site_s_extensions_hold(name, monkeypatch):
    if name != "docstring_text":
        pytest.importorskip("sphinx", reason="the extra `docs` is not installed")
    monkeypatch.syspath_prepend(str(blocks.ROOT / "docs" / "_extensions"))
    assert doctest.testmod(importlib.import_module(name)).failed == 0
