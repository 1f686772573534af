"""The examples in docstrings hold, in whichever module they stand."""

import doctest
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import polyml

ROOT = Path(polyml.__file__).parent.parent


def modules() -> Iterator[str]:
    """The modules of the package, its kernels and the tests in which an example stands."""
    for folder, package in (("polyml", "polyml"), ("kernels", "polyml.kernels"), ("tests", "tests")):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "\n    >>> " in path.read_text() or "\n        >>> " in path.read_text():
                yield ".".join((package, *path.relative_to(ROOT / folder).with_suffix("").parts)).removesuffix(".__init__")


FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MODULES = list(modules())


def test_examples_are_found():
    assert {"polyml.machines.cpu", "polyml.kernels._sizes", "tests.fuzz.affine", "polyml.report.table"} <= set(MODULES)


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_hold(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
    assert result.attempted > 0 and result.failed == 0
