"""A failure of the compiler in any stage: the call goes on with a simpler form, at last plain Python, and says so once."""

import warnings

import numpy as np
import pytest

import polyml
from polyml import pass_manager
from polyml.api.compiling import simpler_forms
from polyml.config import Options
from polyml.errors import CompileError, PolymlDefectWarning, PolymlPerformanceWarning
from polyml.pipeline.passes import (
    ARRAY_EXPANSION,
    INFERENCE,
    SCHEDULE,
    SCHEDULE_PASSES,
    SPLITTING,
    TILE_PASSES,
    VECTOR_PASSES,
)
from polyml.runtime.loading import load

PARTS = {step.name for step in (*INFERENCE, *SCHEDULE_PASSES)}  # of other passes, which are named where they fail
SIMPLER = {"on_defect": "simpler", "cache": False}


def product(A, B, C):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def arguments():
    rng = np.random.default_rng(5)
    return rng.random((20, 30)), rng.random((30, 25)), np.zeros((20, 25))


def passes():
    """The names of all passes of a compilation of the sample, in order."""
    seen = {}
    with pass_manager.watched(lambda step, *_: seen.setdefault(step.name)):
        polyml.kernel(**SIMPLER)(product)(*arguments())
    return [name for name in seen if name not in PARTS]


PASSES = passes()


@pytest.fixture
def broken(monkeypatch):
    """broken(name, times): the pass of that name fails so often."""

    def inject(wanted, times):
        left, true = [times], pass_manager.run

        def failing(step, *given, **named):
            if step.name == wanted and left[0]:
                left[0] -= 1
                raise KeyError("injected")
            return true(step, *given, **named)

        monkeypatch.setattr(pass_manager, "run", failing)

    return inject


def called(**settings):
    """(kernel, warnings) of two calls that must be right."""
    kernel = polyml.kernel(**{**SIMPLER, **settings})(product)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            A, B, C = arguments()
            kernel(A, B, C)
            np.testing.assert_allclose(C, A @ B, rtol=1e-12)
    return kernel, caught


@pytest.mark.parametrize("name", PASSES)
def test_a_pass_that_fails_once_gives_a_simpler_form(broken, name):
    broken(name, 1)
    kernel, caught = called()
    (warning,) = caught
    assert warning.category is PolymlDefectWarning and warning.filename == __file__
    assert f"stage {name} failed: KeyError: 'injected'" in str(warning.message) and "without tiles" in str(warning.message)
    assert kernel.compiled


SPARED = {  # by the simplest form
    "algebra",
    "scalar_expansion",
    "masked_updates",
    *(step.name for step in (ARRAY_EXPANSION, SPLITTING, SCHEDULE, *TILE_PASSES, *VECTOR_PASSES)),
}
NEEDED = {*PASSES} - SPARED


@pytest.mark.parametrize("name", PASSES)
def test_a_pass_that_always_fails_is_gone_without(broken, name):
    broken(name, -1)
    kernel, caught = called()
    assert caught[0].category is PolymlDefectWarning
    assert kernel.compiled is (name not in NEEDED)
    assert ("as plain Python" in str(caught[0].message)) is (name in NEEDED)
    behind = [w for w in caught[1:] if w.category is PolymlPerformanceWarning and "PML-F080" in str(w.message)]
    assert len(behind) == (name in NEEDED)


def test_code_that_cannot_be_loaded_is_such_a_failure(monkeypatch):
    true, left = load.load, [1]

    def failing(*given):
        left[0] -= 1
        if left[0] >= 0:
            raise OSError("injected")
        return true(*given)

    monkeypatch.setattr("polyml.api.calls.specialisation.load.load", failing)
    kernel, caught = called()
    assert "could not be loaded: OSError: injected" in str(caught[0].message) and kernel.compiled


def test_it_raises_where_that_is_asked(broken):
    broken("schedule", -1)
    for settings in ({"on_defect": "raise"}, {"fallback": "error"}):
        with pytest.raises(CompileError, match="stage schedule failed"):
            polyml.kernel(**{**SIMPLER, **settings})(product)(*arguments())


def test_a_simpler_form_is_not_kept_on_disk(broken, tmp_path):
    broken("schedule", 1)
    polyml.kernel(on_defect="simpler", cache_dir=str(tmp_path))(product)
    with pytest.warns(PolymlDefectWarning):
        polyml.kernel(on_defect="simpler", cache_dir=str(tmp_path))(product)(*arguments())
    again = polyml.kernel(on_defect="simpler", cache_dir=str(tmp_path))(product)
    again(*arguments())
    assert not again.from_cache


def test_forms_become_simpler_and_are_never_the_same_twice():
    everything = [options for _, options in simpler_forms.forms(Options())]
    assert [o.schedule for o in everything] == ["auto", "source", "source"]
    assert len(list(simpler_forms.forms(everything[-1]))) == 0
