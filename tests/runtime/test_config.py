"""Settings: defaults < environment < scope < arguments, and what a wrong one is told."""

import asyncio
import dataclasses
import threading

import pytest

from polyml import config
from polyml.config import PASSES, STAGES, Options, check, resolve, scope
from polyml.errors import ConfigError


def test_every_setting_is_an_option_and_takes_its_default():
    defaults = dataclasses.asdict(Options())
    assert set(config._SETTINGS) == set(defaults)
    assert check(defaults) == defaults


def test_each_source_of_settings_wins_over_the_one_before(monkeypatch):
    assert resolve().fp == "reassociate"
    monkeypatch.setenv("POLYML_FP", "fast")
    assert resolve().fp == "fast"
    with scope(fp="strict"):
        assert resolve().fp == "strict"
        assert resolve({"fp": "reassociate"}).fp == "reassociate"
    assert resolve().fp == "fast"
    monkeypatch.delenv("POLYML_FP")
    assert resolve().fp == "reassociate"


def test_rounded_operands_and_strict_arithmetic_exclude_one_another(monkeypatch):
    with pytest.raises(ConfigError, match='`tf32=True` and `fp="strict"` exclude'):
        check({"tf32": True, "fp": "strict"})
    with scope(tf32=True):
        assert resolve().tf32 and resolve({"tf32": False, "fp": "strict"}).fp == "strict"
        with pytest.raises(ConfigError, match="exclude"):
            resolve({"fp": "strict"})
    monkeypatch.setenv("POLYML_TF32", "1")
    assert resolve().tf32 and resolve().compile_key() != resolve({"tf32": False}).compile_key()
    monkeypatch.setenv("POLYML_FP", "strict")
    with pytest.raises(ConfigError, match="exclude"):
        resolve()


def test_an_inner_scope_keeps_what_it_does_not_name():
    with scope(fp="strict", threads=3):
        with scope(threads=1):
            assert (resolve().fp, resolve().threads) == ("strict", 1)
        assert resolve().threads == 3
    assert config.active() is None


def test_a_scope_ends_with_an_exception():
    with pytest.raises(KeyError), scope(threads=2):
        raise KeyError
    assert resolve().threads == 0


def test_a_scope_holds_in_its_own_thread_alone():
    seen = []
    with scope(threads=2):
        worker = threading.Thread(target=lambda: seen.append(resolve().threads))
        worker.start()
        worker.join()
        assert (seen, resolve().threads) == ([0], 2)


def test_a_scope_holds_in_its_own_task_alone():
    async def task(number: int) -> list[int]:
        with scope(threads=number):
            seen = []
            for _ in range(3):
                await asyncio.sleep(0)
                seen.append(resolve().threads)
            return seen

    async def both():
        return await asyncio.gather(task(1), task(2))

    assert asyncio.run(both()) == [[1, 1, 1], [2, 2, 2]]


@pytest.mark.parametrize(
    "variable, text, name, value",
    [
        ("POLYML_FP", "strict", "fp", "strict"),
        ("POLYML_SCHEDULE", " source ", "schedule", "source"),
        ("POLYML_THREADS", "4", "threads", 4),
        ("POLYML_PARALLEL", "0", "parallel", False),
        ("POLYML_VECTORIZE", "off", "vectorize", False),
        ("POLYML_TILE", "No", "tile", False),
        ("POLYML_FALLBACK", "error", "fallback", "error"),
        ("POLYML_CACHE", "false", "cache", False),
        ("POLYML_CACHE", "1", "cache", True),
        ("POLYML_CACHE_DIR", "/some/where", "cache_dir", "/some/where"),
        ("POLYML_CACHE_SIZE_MB", "100", "cache_size_mb", 100),
        ("POLYML_DEBUG", "schedule, llvm", "debug", ("schedule", "llvm")),
        ("POLYML_DEBUG", "all", "debug", STAGES),
        ("POLYML_DEBUG", "", "debug", ()),
        ("POLYML_DEBUG", "llvm,pack,passes,pack", "debug", ("llvm", "pack", *(name for name in PASSES if name != "pack"))),
        ("POLYML_DEBUG_DIR", "dumps", "debug_dir", "dumps"),
    ],
)
def test_every_setting_can_be_a_variable(monkeypatch, variable, text, name, value):
    monkeypatch.setenv(variable, text)
    assert getattr(resolve(), name) == value


NAMES = f'stage names (kernel, domain, deps, schedule, ast, llvm, asm) or "all", names of passes ({", ".join(PASSES)}) or "passes"'
ABSOLUTE = "the absolute path of a folder (/home/me/polyml, not ~/polyml), or None"
REFUSED = [
    ("fp", "exact", '"strict", "reassociate", "fast"'),
    ("fp", ["strict"], '"strict", "reassociate", "fast"'),
    ("schedule", None, '"auto", "source"'),
    ("fallback", "raise", '"warn", "silent", "error"'),
    ("threads", -1, "a number of threads from 1 to 256, or 0 for every core"),
    ("threads", 257, "a number of threads from 1 to 256, or 0 for every core"),
    ("threads", True, "a number of threads from 1 to 256, or 0 for every core"),
    ("threads", 1.5, "a number of threads from 1 to 256, or 0 for every core"),
    ("tile", 1, "True or False (in the environment 1, true, yes, on, 0, false, no, off)"),
    ("cache_dir", 3, ABSOLUTE),
    ("cache_dir", "", ABSOLUTE),
    ("cache_dir", "below/here", ABSOLUTE),
    ("cache_dir", "~/polyml", ABSOLUTE),
    ("cache_dir", "/with\0zero", ABSOLUTE),
    ("debug_dir", "", "the path of a folder, or None"),
    ("debug_dir", "with\0zero", "the path of a folder, or None"),
    ("cache_size_mb", 0, "a size in megabytes, at least 1"),
    ("debug", "tree", NAMES),
    ("debug", 3, NAMES),
]


@pytest.mark.parametrize("name, value, accepted", REFUSED)
def test_a_bad_value_is_told_what_is_accepted(name, value, accepted):
    expected = f"error: the setting `{name}` does not take {value!r}\n  note: it takes {accepted}"
    with pytest.raises(ConfigError) as caught:
        check({name: value})
    assert str(caught.value) == expected
    with pytest.raises(ConfigError):
        scope(**{name: value})


@pytest.mark.parametrize(
    "variable, text, accepted",
    [
        ("POLYML_FP", "exact", '"strict", "reassociate", "fast"'),
        ("POLYML_THREADS", "two", "a number of threads from 1 to 256, or 0 for every core"),
        ("POLYML_CACHE", "maybe", "True or False (in the environment 1, true, yes, on, 0, false, no, off)"),
        ("POLYML_CACHE_DIR", "", ABSOLUTE),
        ("POLYML_CACHE_DIR", "~/polyml", ABSOLUTE),
        ("POLYML_DEBUG", "llvm,trees", NAMES),
    ],
)
def test_a_bad_variable_is_told_what_is_accepted(monkeypatch, variable, text, accepted):
    monkeypatch.setenv(variable, text)
    with pytest.raises(ConfigError) as caught:
        resolve()
    assert str(caught.value) == f"error: the setting `{variable}` does not take {text!r}\n  note: it takes {accepted}"


def test_an_unknown_setting_is_told_the_known_ones(monkeypatch):
    names = [field.name for field in dataclasses.fields(Options)]
    with pytest.raises(ConfigError) as caught:
        check({"thread": 2})
    assert str(caught.value) == f"error: there is no setting `thread`\n  note: settings: {', '.join(names)}"
    monkeypatch.setenv("POLYML_THREAD", "2")
    monkeypatch.setenv("POLYML_THREADS", "2")
    config._environment.cache_clear()
    with pytest.raises(ConfigError) as caught:
        resolve()
    variables = ", ".join(f"POLYML_{name.upper()}" for name in names)
    assert str(caught.value) == f"error: there is no setting `POLYML_THREAD`\n  note: settings: {variables}"


def test_options_that_only_matter_at_run_time_share_one_compilation():
    same = Options(threads=3, fallback="error", cache=False, cache_dir="x", debug=("llvm",))
    assert same.compile_key() == Options().compile_key()
    for change in (
        {"fp": "strict"},
        {"schedule": "source"},
        {"fusion": "smart"},
        {"parallel": False},
        {"vectorize": False},
        {"tile": False},
    ):
        assert Options(**change).compile_key() != Options().compile_key()
