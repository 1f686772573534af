"""docs/reference/errors.md has, for each error, code that raises it and code that does not."""

import re
import warnings

import pytest

import polyml
from tests.docs import blocks
from tests.docs.test_reasons import below

PAGE = "docs/reference/errors.md"
TEXT = (blocks.ROOT / PAGE).read_text(encoding="utf-8")
RAISED = re.findall(r"^### `(\w+Error|IllegalSchedule)`$", TEXT, re.MULTILINE)
OF_DRIVERS = ("DeviceError",)  # that only a driver of a device raises


def test_every_public_error_and_warning_has_an_entry():
    public = {
        name for name in polyml.__all__ if isinstance(getattr(polyml, name), type) and issubclass(getattr(polyml, name), Exception)
    }
    assert set(re.findall(r"^```\{reference\} polyml\.(\w+)$", TEXT, re.MULTILINE)) == public


@pytest.mark.parametrize("name", [name for name in RAISED if name not in OF_DRIVERS])
def test_the_first_example_raises_the_error_and_the_second_one_does_not(name):
    (wrong, right), names = below(PAGE, f"### `{name}`")
    with warnings.catch_warnings():
        warnings.simplefilter("error", polyml.PolymlPerformanceWarning)
        with pytest.raises(getattr(polyml, name)) as raised:
            blocks.execute(PAGE, wrong, names)
        assert type(raised.value).__name__ == name
        blocks.execute(PAGE, right, names)
