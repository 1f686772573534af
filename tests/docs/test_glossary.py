"""The glossary has a line and a source for each term, and each source that is a name and a year is spelled out."""

import re

from tests.docs.blocks import ROOT

TEXT = (ROOT / "docs" / "glossary.md").read_text()
BODY, SOURCES = TEXT.split("## Sources")
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in BODY.splitlines() if line.startswith("| ")]
TERMS = [row for row in ROWS if row[0] != "term"]


def test_each_term_has_a_sentence_and_a_source_and_stands_once():
    assert 30 <= len(TERMS) <= 60
    assert all(len(row) == 3 and row[1].endswith(".") and row[2] for row in TERMS)
    assert len({row[0] for row in TERMS}) == len(TERMS)


def test_a_source_with_a_year_is_spelled_out_at_the_end():
    for _, _, source in TERMS:
        for year in re.findall(r"\b(?:19|20)\d\d\b", source):
            author = re.findall(r"[A-Z]\w+", source.split(year)[0])[0]
            assert author in SOURCES or year in SOURCES, source
