"""What peers of benchmarks see of the environment."""

import doctest
import os
from dataclasses import dataclass

import pytest

from benchmarks import chosen
from benchmarks.interleaved_processes import Failed, Process
from benchmarks.library_environment import default_choices
from polyml.cli.commands.bench_runner import OVERRIDES


@dataclass(frozen=True)
class Job:
    threads: int = 3


def tell(connection, job):
    connection.send({name: os.environ.get(name) for name in (*OVERRIDES, "OPENBLAS_NUM_THREADS")})


def test_processes_of_peers_see_no_variable_that_overrides_a_choice_of_code(monkeypatch):
    for name in OVERRIDES:
        monkeypatch.setenv(name, "Prescott")
    process = Process(Job(), tell)
    process.prepare()
    process.close()
    assert not isinstance(process.ready, Failed)
    assert process.ready == {**dict.fromkeys(OVERRIDES), "OPENBLAS_NUM_THREADS": "3"}
    assert all(os.environ[name] == "Prescott" for name in OVERRIDES)


def test_the_names_of_what_was_set_are_given(monkeypatch):
    monkeypatch.delenv("OPENBLAS_L2_SIZE", raising=False)
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    with default_choices() as names:
        assert names == ("OPENBLAS_CORETYPE",) and "OPENBLAS_CORETYPE" not in os.environ
    assert os.environ["OPENBLAS_CORETYPE"] == "Haswell"


def test_examples():
    assert doctest.testmod(chosen).failed == 0


@pytest.mark.parametrize(
    "said, line",
    [
        ("0.3.31 SkylakeX\n", "x: 0.3.31 SkylakeX, vectors of 512 bits"),
        ("0.3.31 Prescott\n", "x: 0.3.31 Prescott, vectors of 128 bits, NARROWER than this machine's 512"),
        ("0.3.31 Quantum\n", "x: 0.3.31 Quantum"),
        ("", "x: not there"),
    ],
)
def test_narrower_code_than_the_machine_could_run_is_marked(said, line):
    assert chosen.openblas("x", said).line(512) == line


def test_a_library_says_what_it_chose_without_what_overrides_it(monkeypatch):
    monkeypatch.setenv("NPY_DISABLE_CPU_FEATURES", "X86_V3 X86_V4")
    (loops,) = [line for line in chosen.lines(["numpy"]) if "loops" in line]
    assert loops.startswith("NumPy's loops: ") and "not there" not in loops


def test_each_peer_s_library_is_named_once():
    assert [line.split(":")[0] for line in chosen.lines(["gcc", "pluto", "polyml", "pythran"])] == ["gcc", "OpenBLAS of the system"]
