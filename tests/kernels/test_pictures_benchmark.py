"""The benchmark of pictures: it draws every subject, counts what is drawn, and opens a page where a browser is installed."""

import json

import pytest

from benchmarks import page_times, pictures
from polyml.api.plotting.plot import DRAWN_BY
from tests.browser import program


def test_every_subject_has_a_row_with_what_is_drawn(tmp_path, capsys):
    file = tmp_path / "rows.json"
    assert pictures.main(["--kernels", "gemm", "--points", "100", "--repeat", "2", "--pages", "--json", str(file)]) == 0
    rows = {row["subject"]: row for row in json.loads(file.read_text())["rows"]}
    assert [*rows] == [*DRAWN_BY] and all(0 < r["least_ms"] <= r["ms"] <= r["greatest_ms"] for r in rows.values())
    assert {rows[each]["size"] for each in ("domain", "tiles", "replay")} == {4}  # 16 + 64 instances, and 25 + 125 for 5
    assert all(rows[each]["points"] == 80 for each in ("domain", "dependences", "schedule", "tiles", "threads", "wavefronts"))
    assert rows["dependences"]["arrows"] == 64 + 64  # each update depends on what wrote the element before: flow and output
    assert rows["comparison"]["frames"] == 2 and rows["comparison"]["points"] == 160
    assert rows["replay"]["points"] == 80 * rows["replay"]["frames"]
    assert "of 15 pictures take more than 200 ms" in capsys.readouterr().out


def test_slow_pictures_are_named(capsys):
    row = pictures.Row("f", "domain", 3, 9, 0, 1, 250.0, 240.0, 300.0)
    pictures.show([row, pictures.Row("g", "tiles", 3, 9, 0, 1, 25.0, 24.0, 30.0)], [])
    assert "1 of 2 pictures take more than 200 ms: f domain 250 ms" in capsys.readouterr().out


@pytest.mark.skipif(program() is None, reason="no browser is installed")
def test_a_page_is_opened_and_clicked_on():
    (found,) = page_times.page_times(["gemm"], 1)
    times = {what: each[0] for what, each in found.times_ms.items()}
    assert 0 < times[page_times.USABLE] < times[page_times.FIRST_FRAME] < times[page_times.WHOLE]
    assert min(times.values()) > 0 and len(times) == 6


def test_without_a_browser_no_page_is_measured(monkeypatch, capsys):
    monkeypatch.setattr(page_times, "program", lambda: None)
    assert page_times.page_times(["gemm"], 1) == [] and "no browser" in capsys.readouterr().err
