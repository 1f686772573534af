"""What peers of benchmarks see of the environment."""

import os
from dataclasses import dataclass

from benchmarks.turns import Failed, Process
from benchmarks.unhindered import unhindered
from polyml.bench import OVERRIDES


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
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    with unhindered() as names:
        assert names == ("OPENBLAS_CORETYPE",) and "OPENBLAS_CORETYPE" not in os.environ
    assert os.environ["OPENBLAS_CORETYPE"] == "Haswell"
