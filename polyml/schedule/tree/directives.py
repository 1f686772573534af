"""What a schedule asks of a loop, and its name: the text of the mark above it.

loop i_t: tile, parallel        loop j: unroll_jam(4)        loop k_t: tile, pack(A, B)
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_MARK = re.compile(r"loop (\w+)(?:: (.+))?")
_WORD = re.compile(r"(\w+)(?:\((.*)\))?")


@dataclass(frozen=True)
class Directives:
    """tile: it goes over tiles. parallel: its iterations go to threads. vectorize: they are lanes of vectors. unroll_jam: how
    many run together, 0: as many as the generator finds best. partial: arrays of which each thread may have results of its own,
    joined behind the loop. pack: arrays of which the elements that one iteration reads
    are copied. isolate: full tiles get code apart from partial ones.
    """

    tile: bool = False
    parallel: bool = False
    vectorize: bool = False
    unroll_jam: int = 0
    partial: tuple[str, ...] = ()
    pack: tuple[str, ...] = ()
    isolate: bool = False

    @property
    def together(self) -> bool:
        """Whether it says how iterations run together."""
        return self.vectorize or self.unroll_jam > 0

    @property
    def of_code(self) -> bool:
        """Whether the generator has to do something that it may not be able to do."""
        return self.together or bool(self.pack) or self.isolate

    def words(self) -> list[str]:
        """As a mark and as messages have them."""
        flags = [name for name in ("tile", "parallel", "vectorize", "isolate") if getattr(self, name)]
        jam = [f"unroll_jam({self.unroll_jam})"] if self.unroll_jam else []
        named = [f"{key}({', '.join(arrays)})" for key in ("partial", "pack") if (arrays := getattr(self, key))]
        return [*flags, *jam, *named]


NO_DIRECTIVES = Directives()


def mark_text(name: str, directives: Directives) -> str:
    """The mark above a loop."""
    words = ", ".join(directives.words())
    return f"loop {name}: {words}" if words else f"loop {name}"


def parse_mark(text: str) -> tuple[str, Directives] | None:
    """What `mark_text` was given; None for a mark of another kind. ValueError for words that ask nothing known."""
    found = _MARK.fullmatch(text)
    if found is None:
        return None
    name, words = found.groups()
    given: dict[str, object] = {}
    for word in re.split(r", (?![^(]*\))", words) if words else []:
        matched = _WORD.fullmatch(word)
        key, value = matched.groups() if matched else (word, None)
        if key in ("tile", "parallel", "vectorize", "isolate") and value is None:
            given[key] = True
        elif key == "unroll_jam" and value and value.isdecimal() and int(value) > 1:
            given[key] = int(value)
        elif key in ("partial", "pack") and value:
            given[key] = tuple(value.split(", "))
        else:
            raise ValueError(f"`{word}` is nothing that a loop can be asked")
    return name, Directives(**given)
