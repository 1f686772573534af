"""Tables, whose columns bring their cells along."""

from dataclasses import fields

from polyml.performance.cache_misses import MissTotal
from polyml.report.html import page
from polyml.report.table import Column, lines, table
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
