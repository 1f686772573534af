"""Kernels whose entries in the cache are others', or none: they are compiled again, and right."""

import json
import linecache

import numpy as np
import pytest

import polyml
from polyml import config
from polyml.errors import LanguageError, PolymlPerformanceWarning
from polyml.runtime.loading import embedded_ir
from polyml.runtime.storage.checksum import seal
from polyml.runtime.storage.disk_cache import open_cache

TEXT = """
import numpy as np

def doubled(A):
    B = np.zeros(A.shape[0] + 1)
    for i in range(A.shape[0]):
        B[i] = A[i] * 2.0
    return B

def squared(A):
    B = np.zeros(A.shape[0] + 1)
    for i in range(A.shape[0]):
        B[i] = A[i] * A[i]
    return B
"""


@pytest.fixture
def functions(tmp_path, monkeypatch):
    monkeypatch.setenv("POLYML_CACHE_DIR", str(tmp_path / "cache"))
    return imported(tmp_path / "functions.py", TEXT)


def imported(path, text):
    path.write_text(text)
    linecache.checkcache(str(path))
    names = {"__name__": "functions"}
    exec(compile(text, str(path), "exec"), names)
    return names


def called(function):
    """(whether it was found in the cache, what it gave)."""
    kernel = polyml.kernel(function)
    result = kernel(np.arange(4.0))
    return kernel.from_cache, result.tolist()


def entry(path, function):
    """The place of the function's entry."""
    before = {file.path for file in open_cache(config.resolve())._files()}
    called(function)
    (new,) = (file.path for file in open_cache(config.resolve())._files() if file.path not in before and "kernel-" in file.path)
    return path / new


def name_of(path):
    return path.name.removesuffix(".bin")


def content(path):
    return path.read_bytes()[26 + len(name_of(path)) :]


RIGHT = [0.0, 2.0, 4.0, 6.0, 0.0]


@pytest.mark.parametrize("how", ["copied", "sealed anew"])
def test_another_kernels_entry_is_not_run(functions, tmp_path, how):
    first, second = (entry(tmp_path, functions[name]) for name in ("doubled", "squared"))
    code = second.read_bytes() if how == "copied" else seal(name_of(first), content(second))
    first.write_bytes(code)
    assert called(functions["doubled"]) == (False, RIGHT)
    assert called(functions["doubled"]) == (True, RIGHT)


@pytest.mark.parametrize("part", ["entry", "object", "shape", "types"])
def test_an_entry_that_cannot_be_used_is_replaced(functions, tmp_path, part):
    path = entry(tmp_path, functions["doubled"])
    right = content(path)
    end = 4 + int.from_bytes(right[:4], "little")
    head, code = json.loads(right[4:end]), right[end:]
    if part == "entry":
        head["entry"] = "another"
    elif part == "object":
        code = bytes(len(code))
    elif part == "shape":
        head["result_arrays"][0]["shape"] = ["__import__('sys').exit(1)"]
    else:
        head["types"] = ["f32[:]"]
    text = json.dumps(head).encode()
    path.write_bytes(seal(name_of(path), len(text).to_bytes(4, "little") + text + code))
    assert called(functions["doubled"]) == (False, RIGHT)
    assert called(functions["doubled"]) == (True, RIGHT)


def test_a_file_that_changed_after_its_import_is_not_what_was_imported(functions, tmp_path):
    path = tmp_path / "functions.py"
    new = imported(path, TEXT.replace("* 2.0", "* 3.0"))
    assert called(new["doubled"]) == (False, [0.0, 3.0, 6.0, 9.0, 0.0])
    with pytest.warns(PolymlPerformanceWarning, match="the file has changed since it was imported"):
        assert called(functions["doubled"])[1] == RIGHT
    with polyml.config.scope(fallback="error"), pytest.raises(LanguageError, match="the file has changed since it was imported"):
        called(functions["doubled"])
    imported(path, TEXT)
    assert called(functions["doubled"]) == (False, RIGHT)


@pytest.mark.parametrize("damage", [b"", b"\x7fELF\x02\x01 and no more", bytes(4000)])
def test_the_runtimes_own_code_is_made_again_where_what_is_kept_is_none(tmp_path, monkeypatch, damage):
    monkeypatch.setenv("POLYML_CACHE_DIR", str(tmp_path / "cache"))
    text = "define i64 @answer() { ret i64 42 }"
    address = embedded_ir.loaded("test", text, "answer").address("answer")
    cache = open_cache(config.resolve())
    ((path, name),) = ((file.path, file.path.rpartition("/")[2].removesuffix(".bin")) for file in cache._files())
    right = cache.get(name)
    cache.put(name, damage)
    assert address and embedded_ir.loaded("test", text, "answer").address("answer")
    assert cache.get(name) == right
