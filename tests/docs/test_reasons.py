"""docs/reference/reasons.md has, for each number, a function that gives it and one that is compiled without a warning."""

import re
import warnings

import pytest

import polyml
from polyml.reasons import REASONS
from tests.docs import blocks

PAGE = "docs/reference/reasons.md"
TEXT = (blocks.ROOT / PAGE).read_text(encoding="utf-8")
HEADINGS = dict(re.findall(r"^## (PML-F\d+): (.*)$", TEXT, re.MULTILINE))


def below(page, heading):
    """The blocks of Python below a heading, and the names that the page's first one makes."""
    text = (blocks.ROOT / page).read_text(encoding="utf-8")
    start = text.index(heading)
    following = re.compile(r"^##", re.MULTILINE).search(text, start + len(heading))
    end = following.start() if following else len(text)
    lines = [text.count("\n", 0, place) + 1 for place in (start, end)]
    first, *rest = (block for block in blocks.blocks(page) if block.kind == "python")
    names = {"__name__": "__main__"}
    with warnings.catch_warnings():
        blocks.execute(page, first, names)
    return [block for block in rest if lines[0] < block.line <= lines[1]], names


def given(block, names):
    """The numbers in the first lines of the performance warnings that a block gives, and its warnings of defects."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        blocks.execute(PAGE, block, names)
    heads = [str(w.message).splitlines()[0] for w in caught if w.category is polyml.PolymlPerformanceWarning]
    return [set(re.findall(r"PML-F\d+", head)) for head in heads], [w for w in caught if w.category is polyml.PolymlDefectWarning]


def test_the_page_has_every_number_in_order_with_its_title():
    assert list(HEADINGS.items()) == [(code, title) for code, (title, _) in REASONS.items()]


@pytest.mark.parametrize("code", REASONS)
def test_the_first_example_gives_its_number_and_the_second_one_is_compiled(code):
    (wrong, right), names = below(PAGE, f"## {code}:")
    found, defects = given(wrong, names)
    assert found == [{code}] and bool(defects) is (code == "PML-F080")
    assert given(right, names) == ([], [])
    kernels = [value for value in names.values() if isinstance(value, polyml.Kernel)]
    assert kernels and all(kernel.compiled for kernel in kernels)
