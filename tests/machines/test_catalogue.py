"""The machines that are known by name: one file for each, and no other list."""

import pytest

from polyml.errors import ConfigError
from polyml.machines import catalogue, cpu
from polyml.machines.cpu import CacheLevel, CpuMachine, LlvmTarget
from polyml.measure import lookup

TYPICAL = (
    CacheLevel(1, 32 << 10, 8, 64, 1),
    CacheLevel(2, 1 << 20, 8, 64, 1),
    CacheLevel(3, 16 << 20, 16, 64, 8),
)
X86, ARM = "x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"


def test_every_file_is_a_machine_by_its_name():
    assert list(catalogue.names()) == sorted(file.stem for file in catalogue.FOLDER.iterdir())
    for name in catalogue.names():
        assert lookup.find(name) is catalogue.preset(name)


@pytest.mark.parametrize(
    "expected",
    [
        CpuMachine("sse2", "x86-64", 16, 16, False, 2, TYPICAL, LlvmTarget(X86, "x86-64", "")),
        CpuMachine("avx2", "x86-64", 32, 16, True, 2, TYPICAL, LlvmTarget(X86, "x86-64-v3", "")),
        CpuMachine("avx512", "x86-64", 64, 32, True, 2, TYPICAL, LlvmTarget(X86, "x86-64-v4", "-prefer-256-bit")),
        CpuMachine("neon", "aarch64", 16, 32, True, 2, TYPICAL, LlvmTarget(ARM, "generic", "+neon")),
    ],
    ids=lambda machine: machine.name,
)
def test_those_without_rates_are_vectors_and_typical_caches(expected):
    assert catalogue.processor(expected.name) == expected
    found = lookup.find(expected.name)
    assert not found.has_rates and found.bandwidths == () and found.peak("f64") is None


def test_the_host_is_a_processor():
    assert catalogue.processor("host") is cpu.host()


def test_an_unknown_preset_lists_the_known_ones():
    with pytest.raises(ConfigError) as caught:
        catalogue.processor("avx3")
    assert str(caught.value) == f"error: there is no machine 'avx3'\n  note: known machines: {', '.join(catalogue.names())}"


def test_a_gpu_is_no_processor():
    with pytest.raises(ConfigError, match="h100 is no processor"):
        catalogue.processor("h100")
