"""SVG documents as values: what an interpreter shows of them."""

from polyml.drawing.film import side_by_side
from polyml.drawing.svg import document, text, title_of


def test_an_interpreter_shows_the_title_and_not_the_text():
    drawn = document([text(0, 0, "1 < 2")], 20, 10, label="Orders of f < g. 4 instances.")
    assert repr(drawn).startswith('<picture "Orders of f < g": str() is its SVG text, ') and "svg" not in repr(drawn)
    both = repr(side_by_side([drawn, document([], 1, 1)]))
    assert both.startswith('<pictures "Orders of f < g", ...: str() is their HTML text, ')
    assert title_of("") == "" and str(drawn).startswith("<svg")
