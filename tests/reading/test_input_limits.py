"""What is read of what people write: nothing is too long for it, and messages stay short."""

import pytest

from polyml import config
from polyml.errors import ConfigError, PolymlError, PolymlTypeError, ScheduleError
from polyml.reading.input_limits import excess, shown, whole_number, whole_numbers
from polyml.source import Loc, Source


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "-",
        "1__0",
        "_1",
        "1_",
        "+1",
        "1.0",
        "1e3",
        "²",
        "٣",
        "１",
        "0x10",
        "1 2",
        "9" * 5000,
        "0" * 5000 + "1",
        "\0",
        "1\n",
    ],
)
def test_what_is_no_whole_number_is_none(text):
    assert whole_number(text, -(2**70), 2**70) is None


def test_limits_belong_to_the_numbers():
    assert [whole_number(text, 1, 8) for text in ("0", "1", "8", "9", " 7 ", "007")] == [None, 1, 8, None, 7, 7]
    assert whole_numbers("1,2,3", ",", 2, 9) is None and whole_numbers("", ",", 2, 9) is None
    assert whole_numbers(",".join("1" * 10**6), ",", 64, 9) is None


@pytest.mark.parametrize(
    "value",
    ["9" * 10**6, 10**5000, -(10**5000), ["x"] * 10**5, type("Evil", (), {"__repr__": lambda self: 1 // 0})()],
    ids=range(5),
)
def test_what_is_shown_is_short_whatever_it_is(value):
    assert len(shown(value)) < 100


def test_nesting_counts_brackets_that_are_open_at_once():
    assert excess("()" * 1000, 10_000, 1) == "" and excess("([{" * 20 + "}])" * 20, 1_000, 59) and not excess("([{" * 20, 1_000, 60)


def test_messages_and_excerpts_of_very_long_lines_stay_short():
    line = "x" * 10**6
    loc = Loc(Source("f.py", 1, (f"{line} = ?{line}",)), 1, 10**6 + 4)
    error = PolymlError(line, loc=loc, notes=[line])
    assert len(str(error)) < 5_000 and " = ?" in loc.excerpt()
    shown_line, carets = loc.excerpt().split("\n")
    assert shown_line[carets.index("^")] == "?"


def scaled(A):
    for i in range(A.shape[0]):
        A[i] *= 2.0


class Evil:
    __eq__ = __repr__ = __index__ = __fspath__ = __iter__ = __len__ = lambda self, *other: 1 // 0
    __hash__ = None


@pytest.mark.parametrize("value", [Evil(), 10**5000, "\0", "x" * 10**5, b"x", object(), [Evil()], -(2**63)], ids=range(8))
@pytest.mark.parametrize("name", ["fp", "threads", "tile", "cache_dir", "cache_size_mb", "debug"])
def test_settings_refuse_what_they_do_not_take_in_few_words(name, value):
    with pytest.raises(ConfigError) as caught:
        config.check({name: value})
    assert len(str(caught.value)) < 1_100


def test_what_is_asked_of_reports_is_looked_at_first():
    from polyml.api.calls import report_arguments as asked

    for read, values in (
        (asked.sizes, [7, "44", None, (0,), (2**40,), (True,), (1.5,), (1,) * 65, range(10**12), iter([1]), Evil(), [Evil()]]),
        (asked.flag, [0, None, "x", Evil()]), (asked.text, [0, None, b"x", Evil()]), (asked.texts, [0, None, [1], Evil(), ["x"] * 65]),
    ):  # fmt: skip
        for value in values:
            with pytest.raises(ConfigError, match="x= does not take"):
                read("x", value)
    assert asked.sizes("x", [4, 8]) == (4, 8) and asked.texts("x", "a") == ("a",) and asked.texts("x", "") == ()


def test_steps_of_schedules_name_what_they_are_given_whatever_it_is():
    import numpy as np

    import polyml

    found = polyml.kernel(scaled).schedule("source", np.ones(8))
    for value in (Evil(), 10**5000, "9" * 10**5, "(" * 10**5, None, 2**63):
        for step in ("tile", "reverse", "fuse", "vectorize", "plain", "isolate"):
            with pytest.raises(ScheduleError):
                getattr(found, step)(value)
        for step in ("split", "shift", "unroll_jam", "interchange"):
            with pytest.raises(ScheduleError):
                getattr(found, step)("i", value)
    with pytest.raises(PolymlTypeError):
        polyml.kernel(scaled).load_schedule(Evil())
