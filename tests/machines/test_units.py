"""Numbers with units."""

import pytest

from polyml.errors import ConfigError
from polyml.machines.units import Quantity, quantity, shown


@pytest.mark.parametrize("text, kind, value", [
    ("64 B", "size", 64), ("32KiB", "size", 32768), ("1.25 MiB", "size", 1310720), ("48 kB", "size", 48000),
    ("8 GiB", "size", 2**33),
    ("3.2 GHz", "frequency", 3.2e9), ("700 MHz", "frequency", 7e8), ("1e9 Hz", "frequency", 1e9),
    ("34 GB/s", "bandwidth", 34e9), ("167 GiB/s", "bandwidth", 167 * 2**30), ("3.35 TB/s", "bandwidth", 3.35e12),
    ("1.5 TFLOP/s", "operations", 1.5e12), ("92 TOP/s", "operations", 92e12), ("1_000 FLOP/s", "operations", 1000),
])  # fmt: skip
def test_a_number_and_its_unit_are_one_value(text, kind, value):
    assert quantity(text, kind) == Quantity(pytest.approx(value, rel=1e-12))


def test_what_is_per_cycle_says_so():
    assert quantity("64 B/cycle", "bandwidth") == Quantity(64, per_cycle=True)
    assert quantity("32 FLOP/cycle", "operations") == Quantity(32, per_cycle=True)


@pytest.mark.parametrize("text, kind, message", [
    ("32", "size", "error: `32` has no unit\n  note: accepted: a number and a unit, as in \"32 KiB\", \"64 B\""),
    ("32 kib", "size", "error: `kib` is no unit of a size\n  note: did you mean KiB?"),
    ("3 Ghz", "frequency", "error: `Ghz` is no unit of a frequency\n  note: did you mean GHz?"),
    ("3 apples", "bandwidth",
     "error: `apples` is no unit of a bandwidth\n  note: accepted: a number and a unit, as in \"34 GB/s\", \"64 B/cycle\""),
    ("0 GB/s", "bandwidth", "error: a bandwidth of `0 GB/s` is not possible\n  note: accepted: numbers above zero"),
    ("-1 GHz", "frequency", "error: a frequency of `-1 GHz` is not possible\n  note: accepted: numbers above zero"),
    ("1e999 GHz", "frequency", "error: a frequency of `1e999 GHz` is not possible\n  note: accepted: numbers above zero"),
    ("fast", "operations",
     "error: `fast` is no rate of operations\n  note: accepted: a number and a unit, as in \"1.5 TFLOP/s\", \"32 FLOP/cycle\""),
    ("", "size", "error: `` is no size\n  note: accepted: a number and a unit, as in \"32 KiB\", \"64 B\""),
])  # fmt: skip
def test_what_is_no_quantity_is_told_what_would_be_one(text, kind, message):
    with pytest.raises(ConfigError) as caught:
        quantity(text, kind)
    assert str(caught.value) == message


@pytest.mark.parametrize("value, kind, text", [
    (64, "size", "64 B"), (49152, "size", "48 KiB"), (38.5 * 2**20, "size", "38.5 MiB"), (1.0e9, "frequency", "1 GHz"),
    (517.3e9, "bandwidth", "517 GB/s"), (9.18e13, "integers", "91.8 TOP/s"), (12, "operations", "12 FLOP/s"),
])  # fmt: skip
def test_values_are_shown_with_three_digits(value, kind, text):
    assert shown(value, kind) == text
