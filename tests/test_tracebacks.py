"""Errors show the user's own lines: in the plain interpreter, in IPython, and for what a kernel raises as plain Python."""

import re
import subprocess
import sys
import traceback
from pathlib import Path

import numpy as np
import pytest

import polyml
from polyml import tracebacks

OWN = str(Path(polyml.__file__).parent)


@polyml.kernel(fallback="error")
def clear(A):
    for i in range(A.shape[0]):
        A[i] = np.zeros(int(A[i])) @ A


@polyml.kernel(fallback="silent")
def picked(A):
    A.sort()
    return A[10]


@polyml.kernel
def double(A):
    for i in range(A.shape[0]):
        A[i] *= 2.0


def files(error) -> list[str]:
    return [frame.filename for frame in traceback.extract_tb(error.__traceback__)]


def own(error) -> list[str]:
    return [file for file in files(error) if file.startswith(OWN)]


def schedule():
    return double.schedule("source", "f64[:]")


WRONG = {
    "call": lambda: clear(np.ones(3)),
    "types of a call": lambda: double(),
    "method": lambda: double.lower("f99[:]"),
    "step": lambda: schedule().tile(k=8),
    "illegal step": lambda: schedule().fuse("i", "j"),
    "step for a GPU": lambda: schedule().grid("k"),
    "setting": lambda: polyml.config.scope(speed=1),
    "decorator": lambda: polyml.kernel(speed=1),
    "picture": lambda: polyml.plot(double, "music"),
    "file": lambda: double.load_schedule("/nowhere"),
}


@pytest.mark.parametrize("what", WRONG)
def test_one_frame_of_polyml_is_left(what):
    with pytest.raises(polyml.PolymlError) as caught:
        WRONG[what]()
    assert len(own(caught.value)) == 1 and files(caught.value)[-1] == own(caught.value)[0]
    assert caught.value.__context__ is None or caught.value.__suppress_context__


@pytest.mark.parametrize("settings", [{"traceback": "full"}, {"debug": "asm"}], ids=str)
def test_settings_keep_the_whole_traceback(settings):
    with polyml.config.scope(**settings), pytest.raises(polyml.NotAffineError) as caught:
        clear(np.ones(3))
    assert len(own(caught.value)) > 3
    assert sum(OWN in line for line in caught.value._render_traceback_()) > 3


def test_a_defect_keeps_its_traceback():
    def fails():
        raise polyml.CompileError("stage x failed")

    with pytest.raises(polyml.CompileError) as caught:
        tracebacks.guarded(fails)()
    assert [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)][-1] == "fails"


def test_what_a_kernel_raises_as_plain_python_shows_the_users_lines():
    with pytest.raises(IndexError) as caught:
        picked(np.ones(3))
    assert len(own(caught.value)) == 1 and files(caught.value)[-1] == __file__
    assert traceback.extract_tb(caught.value.__traceback__)[-1].line == "return A[10]"


@polyml.kernel
def shifted(A, c):
    for i in range(A.shape[0]):
        A[i] = A[i] + c


@polyml.kernel
def lengths(A):
    B = A + 1
    return np.hypot(B, B)


@pytest.mark.filterwarnings("ignore::polyml.PolymlPerformanceWarning")
@pytest.mark.parametrize(
    "call, line",
    [
        (lambda: shifted(np.ones(3), None), "A[i] = A[i] + c"),
        (lambda: shifted(np.ones(3), "a"), "A[i] = A[i] + c"),
        (lambda: shifted([1.0], 2.0), "for i in range(A.shape[0]):"),
        (lambda: lengths(np.ones(5, object)), "return np.hypot(B, B)"),
    ],
)
def test_what_python_raises_for_other_arguments_shows_the_users_lines(call, line):
    """Arguments that polyml does not take, also in a part of a function that is compiled by itself."""
    with pytest.raises((TypeError, AttributeError)) as caught:
        call()
    assert len(own(caught.value)) == 1 and caught.value.__context__ is None
    assert line in [frame.line for frame in traceback.extract_tb(caught.value.__traceback__)]


@pytest.mark.parametrize("method", ["report", "schedule", "explain", "why", "lower"])
def test_arguments_that_a_method_does_not_have_show_the_users_line(method):
    with pytest.raises(TypeError) as caught:
        getattr(shifted, method)(no_such_argument=1)
    assert "no_such_argument" in str(caught.value)
    assert len(own(caught.value)) == 1 and files(caught.value)[-1] == own(caught.value)[0]


def test_an_exception_that_the_user_is_handling_is_still_shown():
    with pytest.raises(polyml.PolymlError) as caught:
        try:
            {}["a"]
        except KeyError:
            double()
    assert isinstance(caught.value.__context__, KeyError) and not caught.value.__suppress_context__


def test_guarded_functions_keep_their_name_their_text_and_their_signature():
    import inspect

    assert double.lower.__name__ == "lower" and "Compiles the function" in double.lower.__doc__
    assert list(inspect.signature(polyml.plot).parameters)[:3] == ["of", "what", "sizes"]
    assert polyml.plot.__globals__ is sys.modules["polyml.api.plotting.plot"].__dict__


CELLS = [
    "import numpy as np, polyml",
    '@polyml.kernel(fallback="error")\ndef clear(A):\n    for i in range(A.shape[0]):\n        A[i] = np.zeros(int(A[i])) @ A',
    "def called():\n    return clear(np.ones(3))\ncalled()",
]
SHELL = """
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(colors="NoColor")
for cell in {cells!r}:
    shell.run_cell(cell, store_history=True)
"""


def in_ipython(*cells: str, **env) -> str:
    pytest.importorskip("IPython")
    import os

    program = SHELL.format(cells=[*cells])
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "IPYTHONDIR": "/tmp/none", **env},
    )
    return re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)


def test_ipython_shows_the_users_lines_alone(tmp_path):
    shown = in_ipython(*CELLS, IPYTHONDIR=str(tmp_path))
    assert shown[shown.index("NotAffineError") :].splitlines() == [
        "NotAffineError                            Traceback (most recent call last)",
        "Cell In[3], line 3",
        "----> 3 called()",
        "",
        "Cell In[3], line 2 in called",
        "----> 2 return clear(np.ones(3))",
        "",
        "Cell In[2]:4:29: error: array size `A[i]` is not affine in the sizes",
        "              A[i] = np.zeros(int(A[i])) @ A",
        "                                  ^^^^",
        "  note: polyml needs bounds of the form c0 + c1*i + c2*N with integer c, and min, max, // and % of such",
        "  note: and no region has it, since line 4: whether there is a product of arrays whose sizes differ depends on data",
    ]


def test_ipython_shows_all_where_it_is_asked_to(tmp_path):
    shown = in_ipython(*CELLS, IPYTHONDIR=str(tmp_path), POLYML_TRACEBACK="full")
    assert shown.count(OWN) > 3 and "error: array size `A[i]` is not affine" in shown


def test_a_script_shows_one_line_of_polyml(tmp_path):
    script = tmp_path / "mine.py"
    script.write_text("\n".join(CELLS))
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=300)
    frames = re.findall(r'File "(.*?)"', done.stderr)
    assert frames[:2] == [str(script)] * 2 and len(frames) == 3 and frames[2].startswith(OWN)
    assert f"{script}:5:29: error: array size" in done.stderr
