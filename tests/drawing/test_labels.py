"""Texts that are placed in a picture stay apart, inside it and off what is drawn."""

import math
import random

from polyml.drawing.labels import Box, FreeRoom, Place, text_boxes
from polyml.drawing.svg import Font


def corners(place, words, font):
    """The corners of a text that is turned, computed anew: 0.6 heights a character, as `WIDE` says."""
    width = 0.6 * font.size * len(words)
    left = place.x - {"": 0, "middle": width / 2, "end": width}[place.anchor]
    turn = math.radians(place.angle)
    for x, y in (
        (left, place.y),
        (left + width, place.y),
        (left, place.y - 0.7 * font.size),
        (left + width, place.y - 0.7 * font.size),
    ):
        dx, dy = x - place.x, y - place.y
        yield place.x + dx * math.cos(turn) - dy * math.sin(turn), place.y + dx * math.sin(turn) + dy * math.cos(turn)


def test_the_boxes_of_a_text_have_its_corners():
    generator = random.Random(0)
    for _ in range(200):
        place = Place(
            generator.uniform(0, 99),
            generator.uniform(0, 99),
            generator.choice(("", "middle", "end")),
            generator.choice((0.0, -37.5, 60.0)),
        )
        font = Font(generator.choice((9, 12, 15)))
        boxes = text_boxes(place, "some words", font)
        for x, y in corners(place, "some words", font):
            assert any(box.left - 1 <= x <= box.right + 1 and box.top - 1 <= y <= box.bottom + 1 for box in boxes)


def test_no_text_covers_another_or_what_is_taken():
    generator, dot = random.Random(1), Box(40, 40, 60, 60)
    room = FreeRoom(Box(0, 0, 300, 200), [dot])
    found = []
    for number in range(60):
        words = "x" * generator.randint(1, 12)
        places = [
            Place(generator.uniform(0, 300), generator.uniform(0, 200), angle=generator.choice((0.0, -30.0))) for _ in range(20)
        ]
        place = room.placed(words, places, Font(11))
        if place is not None:
            assert place in places
            found.append(text_boxes(place, words, Font(11)))
    assert 10 < len(found) < 60
    flat = [(number, box) for number, boxes in enumerate(found) for box in boxes]
    for number, box in flat:
        assert box.left >= 0 and box.top >= 0 and box.right <= 300 and box.bottom <= 200
        assert not (box.left < dot.right and dot.left < box.right and box.top < dot.bottom and dot.top < box.bottom)
        for other_number, other in flat:
            apart = box.right <= other.left or other.right <= box.left or box.bottom <= other.top or other.bottom <= box.top
            assert number == other_number or apart
