"""How passes run: who watches, what stands in a pass's place, and that nothing else happens."""

import pytest

from polyml import pass_manager
from polyml.pass_manager import Pass, apply, replaced, run, watched


def doubled(value, *, times=2):
    return value * times


def with_notes(value):
    return value + 1, ("a note",)


DOUBLE = Pass("double", doubled, "first")


def test_a_pass_is_its_function():
    assert run(DOUBLE, 4) == 8 and run(DOUBLE, 4, times=3) == 12
    file, line = DOUBLE.place
    assert file == __file__ and open(file).readlines()[line - 1].startswith("def doubled(")


def test_who_watches_is_told_when_a_pass_has_run():
    seen = []
    with watched(lambda *told: seen.append(told)):
        assert run(DOUBLE, 4) == 8
        with pytest.raises(TypeError):
            run(DOUBLE, 4, unknown=1)
    run(DOUBLE, 5)
    [(step, before, after, seconds)] = seen
    assert (step, before, after) == (DOUBLE, 4, 8) and 0 <= seconds < 1


def test_the_value_is_found_among_what_a_function_returns():
    seen = []
    listed = Pass("listed", lambda value: None, "", value=lambda made: made)
    with watched(lambda step, before, after, seconds: seen.append((step.name, before, after))):
        assert apply(with_notes, 4) == (5, ("a note",))
        assert run(listed, 7) is None
    assert seen == [("test_pass_manager", 4, 5), ("listed", 7, 7)]


def test_what_a_watcher_raises_ends_the_pass():
    def checker(step, before, after, seconds):
        raise ValueError(f"{step.name} is wrong")

    with watched(checker), pytest.raises(ValueError, match="double is wrong"):
        run(DOUBLE, 4)
    assert run(DOUBLE, 4) == 8


def test_other_functions_run_in_place_of_passes_inside_a_block():
    with replaced({"double": lambda value, **named: -value, "test_pass_manager": lambda value: (value, ())}):
        assert run(DOUBLE, 4) == -4 and apply(with_notes, 4) == (4, ())
    assert run(DOUBLE, 4) == 8 and apply(with_notes, 4) == (5, ("a note",)) and not pass_manager.instead
