"""Each publication of docs/bibliography.md has an author, a title, a place and the year of its heading, stands once in order, and is cited."""

import re
import unicodedata

from tests.docs.blocks import PAGES, ROOT

TEXT = (ROOT / "docs" / "bibliography.md").read_text(encoding="utf-8")
ENTRIES = re.findall(r"^## (.+ (\d{4})[ab]?)\n\n((?:.+\n)+)", TEXT, re.MULTILINE)


def anchor(heading):
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def surname(heading):
    plain = unicodedata.normalize("NFC", heading)
    return re.match(r"(?:Van |van )?[^\W\d_]+", plain)[0]


def test_each_entry_has_authors_a_title_a_place_and_its_year():
    assert len(ENTRIES) > 30 and len(ENTRIES) == TEXT.count("\n## ")
    for heading, year, text in ENTRIES:
        text = " ".join(text.split())
        authors, title = re.match(r"""([^"*]+)\. (["*].+?["*])\. """, text).groups()
        assert surname(heading) in authors and len(title) > 12, heading
        assert re.search(rf"\b{year}\.$", text) or "Sparse Matrix Proceedings 1978" in text, heading


def test_entries_are_in_order_and_each_is_cited():
    names = [surname(heading) for heading, _, _ in ENTRIES]
    assert names == sorted(names, key=str.lower)
    cited = {
        target
        for page in PAGES
        for target in re.findall(r"bibliography\.md#([^)\s]+)\)", (ROOT / page).read_text(encoding="utf-8"))
    }
    assert cited == {anchor(heading) for heading, _, _ in ENTRIES}
