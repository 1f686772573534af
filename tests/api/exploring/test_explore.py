"""`Kernel.explore`: the page that it returns, and what it refuses."""

from html import unescape

import pytest

import polyml
from polyml.errors import ConfigError, PolymlTypeError
from polyml.explorer.page import packed_data


@polyml.kernel
def prefix(A):
    for i in range(1, A.shape[0]):
        A[i] += A[i - 1]


def explored(**given):
    return prefix.explore("f64[:]", **given)


def test_a_page_has_the_verdicts_of_the_schedule_that_it_begins_with(tmp_path):
    page = explored(sizes={"A_0": 5}, tiles=(3,))
    data = packed_data(page.html)
    assert {step["step"]: step["verdict"] for step in data["steps"]} == {
        'tile({"i": 3})': "legal", 'reverse("i")': "illegal", 'parallel("i")': "illegal",
    }  # fmt: skip
    assert data["pictures"][0]["points"] == {"S0": [[1], [2], [3], [4]]} and data["start"] == "source"
    page.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page.html
    tiled = prefix.explore(start=page.schedule.tile(i=4), sizes={"A_0": 5})
    assert [loop["address"] for loop in packed_data(tiled.html)["view"]["loops"]] == ["i_t", "i"]


def test_a_notebook_shows_the_page_with_the_address_of_its_kernel():
    page = explored(sizes={"A_0": 5})
    try:
        frame = page._repr_html_()
        assert frame.startswith("<iframe srcdoc=") and f'content="{page.serve()}"' in unescape(frame)
        assert page.serve() == page.serve()
    finally:
        page.close()
    assert 'name="polyml-live" content=""' in page.html


@pytest.mark.parametrize(
    "given",
    [
        {"sizes": {"B_0": 3}}, {"sizes": {"A_0": -1}}, {"sizes": {"A_0": 2.5}}, {"sizes": []}, {"sizes": 7}, {"sizes": "A_0"}, {"sizes": [3]},
        {"tiles": ()}, {"tiles": (1,)}, {"tiles": 4}, {"tiles": "2"}, {"tiles": (2, 3, 4, 5, 6, 7, 8)}, {"tiles": (10**9,)}, {"start": "best"},
    ],
)  # fmt: skip
def test_what_is_no_page_is_refused(given):
    with pytest.raises(ConfigError):
        explored(**given)


def test_other_starts_are_refused():
    with pytest.raises(PolymlTypeError, match="takes a schedule, not a int"):
        prefix.explore(start=7)
    with pytest.raises(ConfigError, match="arguments or a schedule"):
        explored(start=prefix.schedule("source", "f64[:]"))
    with pytest.raises(ConfigError, match="for a GPU"):
        polyml.kernel(prefix.py_func, target="opencl").explore("f64[:]")
    with pytest.raises(ConfigError, match="cannot be written"):
        explored(sizes={"A_0": 5}).save("/no/such/folder/page.html")
    with pytest.raises(ConfigError, match="port"):
        explored().serve(70_000)
