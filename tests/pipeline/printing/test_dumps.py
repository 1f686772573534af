"""Dumps by name: passes at once when they have run, stages at the end, or where a later one fails."""

import numpy as np
import pytest

import polyml
from polyml import pass_manager
from polyml.config import scope
from polyml.errors import CompileError
from polyml.pipeline.printing import texts


def smooth(A, B):
    for i in range(1, A.shape[0] - 1):
        t = A[i - 1] + A[i + 1]
        B[i] = t * 0.5


def compiled():
    polyml.kernel(smooth, cache=False, on_defect="raise")(np.ones(50), np.ones(50))


def stopped(*given, **named):
    raise KeyError("injected")


def dumped(folder, debug):
    """stage or pass -> text, in order, of a compilation with this setting."""
    with scope(debug=debug, debug_dir=folder):
        compiled()
    return read(folder)


def read(folder):
    return {path.name.split(".")[1]: path.read_text() for path in sorted(folder.iterdir())}


def test_passes_are_dumped_by_name_in_the_order_in_which_they_run(tmp_path):
    found = dumped(tmp_path, "ast,pack,resolve,forward_substitution")
    assert list(found) == ["resolve", "forward_substitution", "pack", "ast"]
    assert "array t" in found["resolve"] and "array t" not in found["forward_substitution"]


def test_all_passes_are_dumped_and_no_stage(tmp_path):
    found = dumped(tmp_path, "passes")
    assert {"lower", "infer", "equal_sizes", "align_slices", "shift", "build", "fold_storage"} <= set(found)
    assert not {"kernel", "domain", "deps", "schedule", "ast", "llvm"} & set(found)


@pytest.mark.parametrize(
    ("failing", "dumps"),
    [
        ("extract", ["resolve", "kernel"]),
        ("build", ["resolve", "kernel", "domain", "deps", "schedule"]),
        ("vectorize", ["resolve", "pack", "kernel", "domain", "deps", "schedule", "ast"]),
        ("object", ["resolve", "pack", "kernel", "domain", "deps", "schedule", "ast", "llvm"]),
    ],
)
def test_what_was_made_is_dumped_where_a_later_stage_fails(monkeypatch, tmp_path, failing, dumps):
    monkeypatch.setitem(pass_manager.instead, failing, stopped)
    with pytest.raises(CompileError, match=f"stage {failing} failed"):
        dumped(tmp_path, "all,pack,resolve")
    found = read(tmp_path)
    assert list(found) == dumps and all(text.strip() for text in found.values())


def test_dumps_go_to_stderr_where_no_folder_is_named(capfd):
    with scope(debug="forward_substitution"):
        compiled()
    err = capfd.readouterr().err
    assert err.startswith("==== smooth: forward_substitution ====\nparameter A_0 = A.shape[0]\n")


def test_no_text_is_made_without_the_setting(monkeypatch):
    for module, name in ((texts, "text"), (texts, "shown")):
        monkeypatch.setattr(module, name, stopped)
    monkeypatch.setattr(pass_manager, "_watchers", ())  # nothing is appended to it either
    compiled()
