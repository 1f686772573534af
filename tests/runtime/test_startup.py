"""A kernel in new processes: from the cache without the compiler, and compiled anew where the cache is of no use."""

import json
import os
import subprocess
import sys

import pytest

import polyml

FILE = """
import json, sys, warnings
import numpy as np
import polyml

@polyml.kernel
def scaled(A, factor):
    for i in range(A.shape[0]):
        A[i] *= factor

def main():
    A = np.arange(1000.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        scaled(A, 3.0)
    loaded = sorted({"islpy", "llvmlite", "polyml.frontend.parsing.parse", "polyml.pipeline.compile"} & set(sys.modules))
    print(json.dumps({
        "sum": A.sum(), "from_cache": scaled.from_cache, "compiled": scaled.compiled, "loaded": loaded,
        "warnings": [str(w.message) for w in caught], "timings": scaled.timings,
    }))

main()
"""
COMPILER = ["islpy", "llvmlite", "polyml.frontend.parsing.parse", "polyml.pipeline.compile"]
RIGHT = 3.0 * sum(range(1000))


@pytest.fixture
def start(tmp_path):
    """start() -> what a new process found; start.many(n) for processes at the same time."""
    script = tmp_path / "script.py"
    script.write_text(FILE)
    root = os.path.dirname(os.path.dirname(polyml.__file__))

    def begin(**settings):
        environment = {**os.environ, "PYTHONPATH": root, "POLYML_CACHE_DIR": str(tmp_path / "cache"), **settings}
        return subprocess.Popen(
            [sys.executable, str(script)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def result(process):
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        found = json.loads(out)
        assert (found["sum"], found["compiled"]) == (RIGHT, True)
        return found, err

    def start(**settings):
        return result(begin(**settings))[0]

    start.many = lambda count, **settings: [result(p)[0] for p in [begin(**settings) for _ in range(count)]]
    start.with_stderr = lambda **settings: result(begin(**settings))
    start.cache = tmp_path / "cache"
    start.script = script
    return start


def test_the_second_process_runs_the_kernel_without_the_compiler(start):
    first, second = start(), start()
    assert (first["from_cache"], second["from_cache"]) == (False, True)
    assert first["loaded"] == COMPILER
    if sys.platform == "linux" and os.uname().machine == "x86_64":
        assert second["loaded"] == []
    assert set(second["timings"]) == {"cache", "load"}


def test_damaged_entries_are_compiled_anew(start):
    start()
    entries = [p for p in start.cache.rglob("*.bin")]
    assert len(entries) >= 2  # the kernel and the entry
    for number, path in enumerate(entries):
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2] if number % 2 else content[:-3] + b"xyz")
    assert start()["from_cache"] is False
    assert start()["from_cache"] is True


def test_processes_that_compile_at_the_same_time_are_all_right(start):
    assert [found["warnings"] for found in start.many(2)] == [[]] * 2
    assert start()["from_cache"] is True


def test_a_changed_function_is_compiled_anew(start):
    start()
    start.script.write_text(FILE.replace("A[i] *= factor", "A[i] = factor * A[i]"))
    assert start()["from_cache"] is False


def test_without_a_cache_nothing_is_kept(start):
    found = start(POLYML_CACHE="0")
    assert (found["from_cache"], found["warnings"]) == (False, [])
    assert not start.cache.exists()


def test_a_cache_that_cannot_be_written_costs_a_warning(start, tmp_path):
    (tmp_path / "file").write_text("")
    found = start(POLYML_CACHE_DIR=str(tmp_path / "file" / "cache"))
    assert (found["from_cache"], len(found["warnings"])) == (False, 1)
    assert found["warnings"][0].startswith(
        f"the compile cache {tmp_path}/file/cache cannot be written, so what is compiled is not kept: "
    )


def test_a_dump_is_made_of_a_cached_kernel_too(start):
    start()
    found, err = start.with_stderr(POLYML_DEBUG="schedule")
    assert found["from_cache"] is False
    assert err.startswith("==== scaled: schedule ====\n")
