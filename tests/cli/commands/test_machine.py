"""`polyml machine`, as users type it."""

import dataclasses
import json

import pytest

from polyml.machines import catalogue
from polyml.machines.descriptions import ORIGINS, Runs
from polyml.measure import host, lookup
from tests.cli.running import run
from tests.machines.test_toml_machine import CPU
from tests.measure.test_measurement import of_rates


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("POLYML_CACHE_DIR", str(tmp_path / "cache"))


def test_the_host_says_how_to_measure_it_and_where_its_caches_come_from():
    out, _ = run("machine")
    assert "polyml machine --measure" in out and "L1" in out and "LRU is assumed" in out


def test_measured_figures_say_so(monkeypatch):
    monkeypatch.setattr(host, "measured", lambda again: of_rates(5e9, 2e9))
    out, _ = run("machine", "--measure")
    assert "5 GB/s" in out and "measured" in out and "--measure" not in out
    assert "L1 read, L1 update, memory read, memory update" in out and "sources" in out


def test_measured_rates_have_the_spread_of_their_runs(monkeypatch):
    runs = (Runs("L1 read", 2, "bandwidth", 8, 10e9, 20e9, 30e9),)
    monkeypatch.setattr(host, "measured", lambda again: dataclasses.replace(of_rates(5e9, 2e9), runs=runs))
    out, _ = run("machine", "--measure")
    assert "L1 read 2 8 10 GB/s 20 GB/s 30 GB/s 100%" in " ".join(out.split())
    (found,) = json.loads(run("machine", "--measure", "--json")[0])["runs"]
    assert found == dataclasses.asdict(runs[0])


@pytest.mark.parametrize("name", catalogue.names())
def test_presets_print_every_level_with_origins(name):
    out, _ = run("machine", name)
    found = lookup.find(name)
    lines = {line.split()[0]: line for line in out.split("\nsources")[0].splitlines() if line.strip()}
    for place in found.bandwidths:
        assert any(origin in lines[place.place] for origin in ORIGINS)
    assert found.name in out and "--measure" not in out and "LRU is assumed" not in out


def test_a_file_is_described(tmp_path):
    (tmp_path / "mine.toml").write_text(CPU)
    out, _ = run("machine", "mine.toml")
    assert "64 GFLOP/s" in out and "700 GB/s" in out and "its manual" in out


def test_data_instead_of_text():
    out, _ = run("machine", "tpu-v1", "--json")
    data = json.loads(out)
    assert (data["version"], data["kind"], data["rows"]) == (1, "systolic", 256)
    assert data["bandwidths"][1]["read_bytes_per_s"]["all"] == {
        "value": 34e9, "origin": "manual", "source": "Jouppi et al., ISCA 2017"}  # fmt: skip
    out, _ = run("machine", "--json")
    assert json.loads(out)["machine"]["caches"][0]["level"] == 1


def test_the_names_are_listed():
    out, _ = run("machine", "--list")
    assert [line.split()[0] for line in out.splitlines()][: 1 + len(catalogue.names())] == ["host", *catalogue.names()]


@pytest.mark.parametrize("words, message", [
    (["zenn5"], "error: there is no machine 'zenn5' (did you mean zen5?; known: host, "),
    (["nothing.toml"], "error: there is no file nothing.toml (expected a TOML file, or one of host, "),
    (["zen4", "--measure"], "error: zen4 cannot be measured from here (--measure is for the host)\n"),
    (["wrong.toml"], "wrong.toml:1:1: error: `kind` does not take \"cup\" (expected \"cpu\", \"gpu\", \"systolic\")\n"),
])  # fmt: skip
def test_bad_input_is_one_line_and_status_2(tmp_path, words, message):
    (tmp_path / "wrong.toml").write_text('kind = "cup"\n')
    out, err = run("machine", *words, code=2)
    assert out == "" and err.startswith(message) and err.count("\n") == 1
