"""The fuzzers find where a text does not read back."""

from unittest.mock import patch

import polyml
from polyml.frontend.text import writer
from tests.arrays.differential import checked
from tests.fuzz.check import check
from tests.fuzz.generate import program
from tests.mixed.check import checked as mixed_checked
from tests.texts import differences, reading_back


def lossy(kernel):
    """The text of a kernel without its first addition."""
    return writer_text(kernel).replace(" + ", " - ", 1)


writer_text = writer.text


def test_a_text_that_loses_something_is_a_failure_to_each_fuzzer():
    with patch.object(writer, "text", lossy):
        outcome = check(program(4), ("default",))
        assert (outcome.kind, outcome.engine) == ("failed", "texts")
        assert outcome.detail.startswith("the text of a Kernel reads back as another one: ")
        assert any("reads back as another one" in checked(seed)[1] for seed in range(3, 12, 3))
        assert any("reads back as another one" in mixed_checked(seed).difference for seed in range(2, 12, 2))


def test_what_is_compiled_is_read_back_once():
    def twice(A):
        for i in range(A.shape[0]):
            A[i] = A[i] + A[i]

    with reading_back() as lost, patch.object(writer, "text", lossy), polyml.config.scope(cache=False):
        polyml.kernel(twice).lower("f64[:]")
    with reading_back(False) as unread, polyml.config.scope(cache=False):
        polyml.kernel(twice).lower("f64[:]")
    assert (lost, unread) == ([], [])  # it was whole when it was read


def test_differences_are_of_types_too():
    assert differences((1, 2.0), (1, 2.0)) == []
    assert differences((1,), (True,)) == ["[0]: 1 is a int, True a bool"]
    assert differences(0.0, -0.0) == [": 0.0 and -0.0"]
    assert differences({"a": 1, "b": 2}, {"b": 2, "a": 1}) == [": keys ['a', 'b'] and ['b', 'a']"]
