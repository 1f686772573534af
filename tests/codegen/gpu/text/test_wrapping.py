"""Long lines of C in several."""

import re

import pytest

from polyml.codegen.text.wrapping import WIDTH, wrapped


def test_a_short_line_stays_as_it_is():
    assert list(wrapped("    A[i] = B[i];")) == ["    A[i] = B[i];"]


def test_a_sum_is_broken_before_an_operator():
    line = f"    A[i] = {' + '.join(f'f(b{k}, c)' for k in range(30))};"
    first, *rest = wrapped(line)
    assert first.startswith("    A[i] = f(b0, c) + ") and all(each.startswith("        + f(b") for each in rest)
    assert " ".join([first, *(each.strip() for each in rest)]) == line


@pytest.mark.parametrize("line", [
    f"kernel({', '.join(f'const long size_{k}' for k in range(20))})",
    f"    if ({' && '.join(f'i + {k} < n_{k}' for k in range(20))})",
    f"        x[{' + '.join('abcdefghijklmnopqrstuvwxyz')}] = g({', '.join('abcdefghijklmnopqrstuvwxyz' * 3)});  // line 12",
    f"y = {'(' * 40}a + b{' * c)' * 40};",
])  # fmt: skip
def test_lines_are_short_and_together_say_the_same(line):
    made = list(wrapped(line))
    assert len(made) > 1 and max(len(each.strip().partition("  //")[0]) for each in made) <= WIDTH
    assert re.sub(r"\s", "", "".join(made)) == re.sub(r"\s", "", line)


def test_what_has_no_place_for_a_break_and_comments_stay_whole():
    for line in (f"A[{'i' * 200}];", f"// {'word ' * 60}", f"x = y;  // {'a + b ' * 60}"):
        assert list(wrapped(line)) == [line]
