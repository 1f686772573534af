"""The options of a cell: what they are read as, and what is said of wrong ones."""

import numpy as np
import pytest

from polyml import config
from polyml.api.notebook.cell_options import SHOWN, Given, read
from polyml.errors import ConfigError


def test_types_settings_and_what_is_shown_are_read():
    found = read(
        '--fp fast --threads 2 --tile off --tf32 --target cuda --types "f64[N, M], f32[:], int" --show explain,picture:tiles'
    )
    assert found.settings == {"fp": "fast", "threads": 2, "tile": False, "tf32": True}
    assert found.target == "cuda" and found.shows == (("explain", ""), ("picture", "tiles"))
    assert found.types == {"": (Given("f64[:, :]"), Given("f32[:]"), Given("int"))}


def test_nothing_is_needed():
    found = read("")
    assert (found.settings, found.target, found.types, found.shows) == ({}, None, {}, (("explain", ""),))


def test_every_setting_is_an_option():
    texts = {
        "fp": "fast",
        "schedule": "source",
        "fusion": "no",
        "fallback": "error",
        "recompile": "fail",
        "on_defect": "raise",
        "traceback": "full",
    }
    for name in config.NAMES:
        text = texts.get(name, {"cache_dir": "/tmp", "debug_dir": "/tmp", "debug": "llvm"}.get(name, "1"))
        option = name.replace("_", "-")
        assert read(f"--{option} {text}").settings == {name: config.from_text(name, text, name)}


def test_numbers_as_sizes_make_arguments():
    found = read('--types "a: f32[3,4], i64[2]" --types "b: int"').types
    matrix, vector = (each.argument() for each in found["a"])
    assert (matrix.shape, matrix.dtype, vector.shape, vector.dtype) == ((3, 4), np.float32, (2,), np.int64)
    assert found["b"] == (Given("int"),)


@pytest.mark.parametrize(
    "line, message",
    [
        ("--speed 3", "%%polyml: unrecognized arguments: --speed 3"),
        ("fast", "%%polyml: unrecognized arguments: fast"),
        ("--fp", "%%polyml: argument --fp: expected one argument"),
        ("--fp quick", "the setting `--fp` does not take 'quick'"),
        ("--threads many", "the setting `--threads` does not take 'many'"),
        ("--tf32 --fp strict", 'the settings `tf32=True` and `fp="strict"` exclude one another'),
        ("--show music", "--show does not take 'music'"),
        ("--show deps:tiles", "--show does not take 'deps:tiles'"),
        ("--show picture:music", "--show does not take 'picture:music'"),
        ("--types f99[:]", "--types does not take 'f99[:]': 'f99[:]' is not a type"),
        ("--types ''", "--types does not take ''"),
        ("--types f64[:] --types int", "--types is given twice for one kernel"),
        ("--types 'f64[:]", "%%polyml: No closing quotation"),
    ],
)
def test_wrong_options_are_refused_with_what_is_accepted(line, message):
    with pytest.raises(ConfigError) as caught:
        read(line)
    assert caught.value.message.startswith(message) and caught.value.notes


def test_sizes_that_are_missing_or_too_large_are_refused():
    with pytest.raises(ConfigError, match="needs the sizes of f64.*as numbers"):
        read("--types f64[N]").types[""][0].argument()
    with pytest.raises(ConfigError, match="larger than the 1,073,741,824 bytes"):
        read("--types f64[100000,100000]").types[""][0].argument()


def test_what_can_be_shown_is_listed():
    with pytest.raises(ConfigError) as caught:
        read("--show x")
    assert all(what in caught.value.notes[0] for what in SHOWN)
