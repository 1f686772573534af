"""Every public name of polyml has a docstring with an example; tests/test_doctests.py runs it."""

import inspect

import pytest

import polyml
import polyml.ops
from polyml.report.report import Report

FROM_ELSEWHERE = {"with_traceback", "add_note"}  # of Python's exceptions


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
