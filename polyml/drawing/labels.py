"""Places of texts in a picture, so that none covers another."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from polyml.drawing.svg import Font

WIDE = 0.6  # of a character, in heights of its font: more than most have in any sans-serif font


@dataclass(frozen=True)
class Box:
    """A box is the place of something in a picture, in pixels from the picture's upper left corner."""

    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: Box) -> bool:
        """Returns whether two boxes have a part of the picture in common."""
        return self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom

    def holds(self, other: Box) -> bool:
        """Returns whether another box lies wholly inside this one."""
        return self.left <= other.left and self.top <= other.top and other.right <= self.right and other.bottom <= self.bottom


@dataclass(frozen=True)
class Place:
    """A place says where a text begins, is centred or ends.

    x, y: of its base line, in pixels.
    anchor: "", "middle" or "end".
    angle: by which the text is turned around (x, y), in degrees clockwise.
    """

    x: float
    y: float
    anchor: str = ""
    angle: float = 0.0


def text_boxes(place: Place, words: str, font: Font) -> list[Box]:
    """Returns the boxes that a text takes at a place, a little too large rather than too small: one where it is level, else a row of
    small ones.
    """
    width, above, below = WIDE * font.size * len(words), 0.85 * font.size, 0.3 * font.size
    begin = {"": 0.0, "middle": -width / 2, "end": -width}[place.anchor]
    if not place.angle:
        return [Box(place.x + begin, place.y - above, place.x + begin + width, place.y + below)]
    cosine, sine = math.cos(math.radians(place.angle)), math.sin(math.radians(place.angle))
    steps = max(math.ceil(width / font.size), 1)
    half = (above + below) / 2
    found = []
    for number in range(steps + 1):
        along, across = begin + width * number / steps, (below - above) / 2
        x, y = place.x + along * cosine - across * sine, place.y + along * sine + across * cosine
        found.append(Box(x - half, y - half, x + half, y + half))
    return found


class FreeRoom:
    """The free room of a picture, which gets less with each text that is placed.

    inside: where texts may be.
    taken: what they must not cover.
    """

    def __init__(self, inside: Box, taken: Iterable[Box] = ()):
        self._inside, self._taken = inside, [*taken]

    def take(self, boxes: Iterable[Box]) -> None:
        """Takes places at which texts may not be from now on."""
        self._taken += boxes

    def placed(self, words: str, candidates: Sequence[Place], font: Font) -> Place | None:
        """Returns the first place at which a text covers nothing, and takes it; None where there is none."""
        for place in candidates:
            boxes = text_boxes(place, words, font)
            if all(self._inside.holds(box) and not any(map(box.overlaps, self._taken)) for box in boxes):
                self.take(boxes)
                return place
        return None
