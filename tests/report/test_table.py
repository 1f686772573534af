"""Tables, whose columns bring their cells along."""

from dataclasses import fields

import pytest

from polyml.performance.cache_misses import MissTotal
from polyml.report.html import page
from polyml.report.table import Column, Table, lines, table, wrapped
from polyml.report.text import _counts

WORDS = ["tile", "skew"]
NAME, LENGTH = Column("name", str, is_left=True), Column("letters", lambda word: f"{len(word)}")


def test_a_column_moves_with_its_cells():
    assert table([NAME, LENGTH], WORDS).lines() == ["name  letters", "tile        4", "skew        4"]
    assert table([LENGTH, NAME], WORDS).lines() == ["letters  name", "      4  tile", "      4  skew"]


def test_a_table_without_rows_has_its_heads():
    assert lines(["before", table([NAME, LENGTH], []), ""]) == "before\nname  letters"


def test_a_page_puts_every_cell_on_its_column_s_side():
    sides = [part.partition(";")[0] for part in page([table([LENGTH, NAME], WORDS)]).split("text-align: ")[1:]]
    assert sides == ["right", "left"] * 3


def test_every_count_of_misses_has_a_column():
    class Found:
        coherent = True

    total = MissTotal(*range(1, len(fields(MissTotal)) + 1))
    columns = list(_counts(Found))
    assert {str(getattr(total, each.name)) for each in fields(MissTotal)} <= {column.cell(("all", total)) for column in columns}
    Found.coherent = False
    assert {column.head for column in columns} - {column.head for column in _counts(Found)} == {"coherence"}


ROWS = [
    ("A[i, k] of S0", "exact", "1,234,567", "none"),
    ("B[k, j] of S0", "an estimate from strides", "89", "the loop k carries it"),
]
TABLE = Table(("reference", "accuracy", "lines", "because"), tuple(ROWS), (True, True, False, True))


@pytest.mark.parametrize("width", range(24, 90))
def test_a_narrow_table_has_every_word_and_no_long_line(width):
    lines = TABLE.lines(width)
    assert max(map(len, lines)) <= width
    blocks = "\n".join(lines).split("\n\n")
    assert (len(blocks) == 1) or width < 50
    words = " ".join(cell for row in (TABLE.heads, *ROWS) for cell in row).split()
    if max(map(len, words)) <= width // 3:
        assert set(words) == set(" ".join(lines).split())


@pytest.mark.parametrize("width", [40, 30, 24])
def test_a_number_stays_next_to_its_unit(width):
    rows = (("L1", "32 KiB", "154 GB/s", "303 GB/s"), ("memory of the host", "16 GiB", "32 GB/s", "57.2 GB/s"))
    text = "\n".join(Table(("level", "size", "read, one core", "read, all 2"), rows, (True, False, False, False)).lines(width))
    assert all(cell in text for row in rows for cell in row[1:]) and "memory of the host" not in text
    assert all(len(line) <= width for line in text.splitlines())


def test_a_column_too_many_stands_in_a_table_below_with_the_first_column():
    numbers = Table(
        ("name", "first", "second", "third"), (("tile", "1,000,000", "2,000,000", "3,000,000"),), (True, False, False, False)
    )
    assert numbers.lines(30) == [
        "name      first     second", "tile  1,000,000  2,000,000", "", "name      third", "tile  3,000,000"
    ]  # fmt: skip


def test_wrapped_lines_keep_their_indent_and_long_words():
    assert wrapped("    one two three", 11) == "    one two\n      three"
    assert wrapped("see /a/very/long/path/to/a/file now", 12) == "see\n  /a/very/long/path/to/a/file\n  now"
    assert wrapped("── tiles ─────", 10) == "── tiles ─" and wrapped("x" * 99, None) == "x" * 99
