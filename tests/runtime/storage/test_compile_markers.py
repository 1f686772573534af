"""A process that ends while the compiler works: the next one goes on with a simpler form, and says so once."""

import json
import os
import time

import numpy as np
import pytest

import polyml
from polyml.errors import PolymlDefectWarning
from polyml.runtime.storage import compile_markers
from polyml.runtime.storage.disk_cache import Cache
from tests.faults import children

PROGRAM = str(children.ROOT / "tests" / "faults" / "programs" / "ends_in_a_pass.py")
ENDED = "because the compiler failed, a defect of polyml: an earlier process ended in the midst of it"


def started(folder, stage, forms):
    return children.run([PROGRAM, stage, forms], children.environment(folder, POLYML_ON_DEFECT="simpler"))


def test_each_form_that_ends_a_process_is_not_made_again(tmp_path):
    ends = [started(tmp_path, "object", "0123") for _ in range(4)]
    assert all(end.status == -11 for end in ends)
    end = started(tmp_path, "object", "0123")
    assert end.status == 0 and end.out.startswith("right False False ") and f"as plain Python, {ENDED}" in end.out


def test_a_simpler_form_serves_until_the_marker_goes(tmp_path):
    assert started(tmp_path, "object", "0").status == -11
    for _ in range(2):
        end = started(tmp_path, "object", "")
        assert (
            end.status == 0 and end.out.startswith("right True False ") and f"without tiles, copies and fusion, {ENDED}" in end.out
        )
    Cache(str(tmp_path), 10**9).clear()
    end = started(tmp_path, "object", "")
    assert end.out.startswith("right True False 0 warnings")
    assert started(tmp_path, "object", "0").out.startswith("right True True 0 warnings")


@pytest.fixture
def cache(tmp_path):
    return Cache(str(tmp_path), 10**9)


def left(cache, **changes):
    """A marker that a process left, with other facts than its own."""
    facts = {"process": 2**22 - 1, "began": "1", "at": time.time(), **changes}
    cache.put("marker0-ab", json.dumps(facts).encode())
    return compile_markers.ended_in(cache, "kernel-ab")


def test_a_marker_is_there_meanwhile(cache):
    with compile_markers.working(cache, "kernel-ab", 0):
        assert cache.get("marker0-ab") and compile_markers.ended_in(cache, "kernel-ab") == -1  # the process is there
    assert cache.get("marker0-ab") is None
    with pytest.raises(KeyboardInterrupt), compile_markers.working(cache, "kernel-ab", 0):
        raise KeyboardInterrupt
    assert cache.get("marker0-ab") is None


def test_markers_are_of_processes_that_are_gone_and_of_the_last_day(cache):
    assert left(cache) == 0
    assert left(cache, process=os.getpid()) == 0  # of an earlier process with this number
    assert left(cache, process=os.getpid(), began=compile_markers._began(os.getpid())) == -1
    assert left(cache, at=time.time() - compile_markers.LASTS_SECONDS - 1) == -1 and cache.get("marker0-ab") is None
    assert left(cache, at=time.time() + 100) == -1
    for damaged in (b"", b"no json", b"[]", b'{"process": 1}', b'{"process": "x", "began": 1, "at": "y"}', b'"text"'):
        cache.put("marker0-ab", damaged)
        assert compile_markers.ended_in(cache, "kernel-ab") == -1


def test_without_a_cache_there_are_none(tmp_path):
    for given in ((None, "kernel-ab"), (Cache(str(tmp_path / "none"), 10**9), None)):
        with compile_markers.working(*given, 0):
            assert compile_markers.ended_in(*given) == -1
    assert not (tmp_path / "none").exists()


def test_where_defects_raise_nothing_is_simpler(tmp_path, monkeypatch):
    def product(A, B):
        return A @ B

    monkeypatch.setattr(compile_markers, "_has_ended", lambda cache, name: True if "marker0" in name else False)
    args = np.ones((5, 6)), np.ones((6, 7))
    for settings in ({"on_defect": "raise"}, {"on_defect": "simpler", "fallback": "error"}):
        kernel = polyml.kernel(cache_dir=str(tmp_path), **settings)(product)
        np.testing.assert_allclose(kernel(*args), args[0] @ args[1])
    polyml.kernel(cache_dir=str(tmp_path))(product)
    with pytest.warns(PolymlDefectWarning, match="an earlier process ended"):
        polyml.kernel(cache_dir=str(tmp_path / "other"), on_defect="simpler")(product)(*args)
