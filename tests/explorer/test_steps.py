"""Steps as texts: read, written, and refused where they are none."""

import pytest

from polyml.errors import ScheduleError
from polyml.explorer.single_steps import single_steps
from polyml.explorer.steps import METHODS, Step, parse
from polyml.schedule.script.schedule import Schedule
from tests.explorer.pages import exploration


def test_every_single_step_is_read_from_its_text():
    explored = exploration("jacobi_2d")
    steps = single_steps(explored.schedule.loops, (2, 3))
    assert len(steps) > 50 and [parse(step.text) for step in steps] == steps
    assert len({step.text for step in steps}) == len(steps)


def test_single_steps_are_all_interchanges_skews_reversals_and_fusions():
    texts = {step.text for step in single_steps(exploration("jacobi_1d").schedule.loops, (2,))}
    assert {f'interchange("t", "{name}")' for name in ("S0.i", "S1.i")} == {t for t in texts if t.startswith("interchange")}
    assert {t for t in texts if t.startswith("skew")} == {
        f'skew("{name}", "t", {by})' for name in ("S0.i", "S1.i") for by in (-2, -1, 1, 2)
    }
    assert {t for t in texts if t.startswith("reverse")} == {f'reverse("{name}")' for name in ("t", "S0.i", "S1.i")}
    assert {t for t in texts if t.startswith("fuse")} == {'fuse("S0.i", "S1.i")'}
    assert {t for t in texts if t.startswith("tile")} == {f'tile({{"{name}": 2}})' for name in ("t", "S0.i", "S1.i")}


def test_methods_are_those_of_schedules():
    assert all(callable(getattr(Schedule, name)) for name in METHODS)


@pytest.mark.parametrize(
    "text",
    [
        "", "tile", "1 + 1", "save('x')", "__class__()", "s.tile(i=3)", "tile(i=open('x'))", "interchange(*['i', 'j'])", "tile(**{'i': 2})",
        "tile({'i': 2.5})", "tile({2: 3})", "lambda: 0", "tile(" * 50, "x" * 5000, 7, None, "skew('i', 'j', 1); reverse('i')",
    ],
)  # fmt: skip
def test_other_texts_are_refused(text):
    with pytest.raises(ScheduleError, match="step"):
        parse(text)


def test_arguments_that_a_method_does_not_have_are_refused():
    with pytest.raises(ScheduleError, match="reverse does not take these arguments"):
        parse("reverse('i', 'j', 'k')").applied(exploration("jacobi_1d").schedule)
    assert Step("reverse", ("t",)).text == 'reverse("t")'
