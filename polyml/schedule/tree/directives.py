"""The directives of a loop and its name, as the text of the mark above it.

loop i_t: tile, parallel        loop j: unroll_jam(4)        loop k_t: tile, pack(A, B)
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

_MARK = re.compile(r"loop (\w+)(?:: (.+))?")
_WORD = re.compile(r"(\w+)(?:\((.*)\))?")


@dataclass(frozen=True)
class Directives:
    """Directives say how the iterations of one loop are run.

    tile: the loop goes over tiles.
    parallel: its iterations go to threads.
    vectorize: its iterations are lanes of vectors.
    unroll_jam: how many iterations are unrolled and jammed; 0: as many as the code generator finds best.
    partial: arrays of which each thread may have partial results, which are added up behind the loop.
    pack: arrays whose elements that one iteration reads are copied next to each other first.
    isolate: full tiles get code of their own, and partial tiles too.
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
        """Returns whether several iterations run together, as lanes or unrolled and jammed."""
        return self.vectorize or self.unroll_jam > 0

    @property
    def of_code(self) -> bool:
        """Returns whether a directive needs the code generator, which may refuse it: lanes, jamming, packing or isolation."""
        return self.together or bool(self.pack) or self.isolate

    def words(self) -> list[str]:
        """Returns the texts of the directives, such as "parallel" and "unroll_jam(4)", as in marks and messages."""
        flags = [name for name in _FLAGS if getattr(self, name)]
        jam = [f"unroll_jam({self.unroll_jam})"] if self.unroll_jam else []
        named = [f"{key}({', '.join(arrays)})" for key in ("partial", "pack") if (arrays := getattr(self, key))]
        return [*flags, *jam, *named]


NO_DIRECTIVES = Directives()


def mark_text(name: str, directives: Directives) -> str:
    """Returns the text of the mark above a loop, which `parse_mark` reads."""
    words = ", ".join(directives.words())
    return f"loop {name}: {words}" if words else f"loop {name}"


def parse_mark(text: str) -> tuple[str, Directives] | None:
    """Returns the loop's name and its directives; None for a mark that `mark_text` did not make.

    Raises ValueError for a word that is no directive.
    """
    found = _MARK.fullmatch(text)
    if found is None:
        return None
    name, words = found.groups()
    directives = NO_DIRECTIVES
    for word in re.split(r", (?![^(]*\))", words) if words else []:
        directives = _with_word(directives, word)
    return name, directives


def _with_word(directives: Directives, word: str) -> Directives:
    """Returns the directives with the one that the word gives, such as "pack(A, B)". Raises ValueError for another word."""
    matched = _WORD.fullmatch(word)
    key, value = matched.groups() if matched else (word, None)
    if value is None and key in _FLAGS:
        return _FLAGS[key](directives)
    if value and key == "unroll_jam" and value.isdecimal() and int(value) > 1:
        return replace(directives, unroll_jam=int(value))
    if value and key == "partial":
        return replace(directives, partial=tuple(value.split(", ")))
    if value and key == "pack":
        return replace(directives, pack=tuple(value.split(", ")))
    raise ValueError(f"`{word}` is no directive of a loop")


_FLAGS: dict[str, Callable[[Directives], Directives]] = {
    "tile": lambda directives: replace(directives, tile=True),
    "parallel": lambda directives: replace(directives, parallel=True),
    "vectorize": lambda directives: replace(directives, vectorize=True),
    "isolate": lambda directives: replace(directives, isolate=True),
}
