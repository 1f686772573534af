"""What polyml.machines.cpu reads from the operating system."""

import subprocess
import sys

import pytest

from polyml.errors import ConfigError
from polyml.machines import cpu
from polyml.machines.cpu import CacheLevel


def _index(folder, name, **files):
    (folder / name).mkdir(parents=True)
    for key, text in files.items():
        (folder / name / key).write_text(text + "\n")


def test_caches_are_read_with_their_units_and_instruction_caches_left_out(tmp_path):
    _index(
        tmp_path,
        "index0",
        level="1",
        type="Data",
        size="48K",
        ways_of_associativity="12",
        coherency_line_size="64",
        shared_cpu_list="0,64",
    )
    _index(tmp_path, "index1", level="1", type="Instruction", size="32K")
    _index(
        tmp_path,
        "index3",
        level="3",
        type="Unified",
        size="30M",
        ways_of_associativity="0",
        coherency_line_size="128",
        shared_cpu_list="0-7,64-71",
    )
    assert cpu._caches(tmp_path) == (
        CacheLevel(level=1, size_bytes=48 * 1024, ways=12, line_bytes=64, shared_by=2),
        CacheLevel(level=3, size_bytes=30 * 1024 * 1024, ways=0, line_bytes=128, shared_by=16),
    )


def test_a_machine_without_sysfs_gets_typical_caches(tmp_path):
    assert cpu._caches(tmp_path / "missing") == ()
    assert [c.level for c in cpu.host().caches] == sorted(c.level for c in cpu.host().caches)


@pytest.mark.parametrize("text, cores", [("max 100000", None), ("150000 100000", 1.5), ("", None), ("200000 0", None)])
def test_the_quota_of_the_control_group_limits_the_cores(tmp_path, text, cores):
    (tmp_path / "cpu.max").write_text(text + "\n")
    assert cpu._quota_cores(tmp_path) == cores


@pytest.mark.parametrize(
    "isa, flags, expected",
    [
        ("x86-64", "avx2 fma", (32, 16)),
        ("x86-64", "sse4_2", (16, 16)),
        ("x86-64", "avx2 avx512f avx512vl avx512dq avx512bw", (64, 32)),
        ("x86-64", "avx2 avx512f", (32, 16)),  # Knights Landing: no vectors of bytes, nor of 128 and 256 bits
        ("aarch64", "asimd", (16, 32)),
    ],
)
def test_vector_registers_follow_the_features(isa, flags, expected):
    assert cpu._vectors(isa, frozenset(flags.split())) == expected


def test_an_unsupported_processor_is_named():
    with pytest.raises(ConfigError, match="this machine is 'riscv64'"):
        cpu._isa("riscv64")


def test_detecting_the_host_on_linux_does_not_import_llvm():
    code = "import sys, polyml.machines.cpu as m; m.host(); print('llvmlite' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(not sys.platform.startswith("linux"))
