"""The directives of a loop and its name, as the text of the mark above it.

loop i_t: tile, parallel        loop j: unroll_jam(4)        loop k_t: tile, pack(A, B)
loop t: host                    loop i: grid(y, threads=16, items=4, adjacent)        loop k: shared(A, B)
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

_MARK = re.compile(r"loop (\w+)(?:: (.+))?")
_WORD = re.compile(r"(\w+)(?:\((.*)\))?")


@dataclass(frozen=True)
class GridPlace:
    """A grid place says which axis of a GPU's grid a loop goes to, and how its iterations are divided there.

    axis: 0 for x, 1 for y, 2 for z; axes behind these have one thread per block.
    threads: threads of a block along the axis; 0: as many as polyml finds best.
    items: iterations of a thread.
    adjacent: whether a thread's iterations follow one another, in place of those of neighbouring threads.
    rolled: whether a thread runs its iterations in a loop of its own; if not, they are unrolled.
    """

    axis: int
    threads: int = 0
    items: int = 1
    adjacent: bool = False
    rolled: bool = False

    def __str__(self) -> str:
        threads = f", threads={self.threads}" if self.threads else ""
        items = f", items={self.items}" if self.items > 1 else ""
        flags = "".join(f", {name}" for name in ("adjacent", "rolled") if getattr(self, name))
        return f"grid({axis_name(self.axis)}{threads}{items}{flags})"

    @staticmethod
    def parse(text: str) -> GridPlace | None:
        """Returns the place that is written between the parentheses of `grid(...)`; None for another text."""
        found = _PLACE.fullmatch(text)
        if found is None or found["axis"] not in map(axis_name, range(_MOST_AXES)):
            return None
        axis = [axis_name(k) for k in range(_MOST_AXES)].index(found["axis"])
        return GridPlace(
            axis,
            int(found["threads"] or 0),
            int(found["items"] or 1),
            *(found[name] is not None for name in ("adjacent", "rolled")),
        )


_MOST_AXES = 20
_PLACE = re.compile(
    r"(?P<axis>\w+)(?:, threads=(?P<threads>[1-9]\d{0,3}))?(?:, items=(?P<items>[1-9]\d{0,3}))?"
    r"(?P<adjacent>, adjacent)?(?P<rolled>, rolled)?"
)


def axis_name(axis: int) -> str:
    """Returns the name of an axis of a grid: x, y, z, and axis3 and so on for those behind."""
    return "xyz"[axis] if axis < 3 else f"axis{axis}"


@dataclass(frozen=True)
class Directives:
    """Directives say how the iterations of one loop are run, by processors or, the last three, by GPUs.

    tile: the loop goes over tiles.
    parallel: its iterations go to threads.
    vectorize: its iterations are lanes of vectors.
    unroll_jam: how many iterations are unrolled and jammed; 0: as many as the code generator finds best.
    partial: arrays of which each thread may have partial results, which are added up behind the loop; of GPUs, the threads of a block.
    pack: arrays whose elements that one iteration reads are copied next to each other first.
    isolate: full tiles get code of their own, and partial tiles too.
    grid: the axis of a launch whose blocks and threads run its iterations; None: there is none.
    host: each of its iterations launches a kernel again.
    shared: arrays of which a block copies to shared memory what several iterations of the loop read.
    """

    tile: bool = False
    parallel: bool = False
    vectorize: bool = False
    unroll_jam: int = 0
    partial: tuple[str, ...] = ()
    pack: tuple[str, ...] = ()
    isolate: bool = False
    grid: GridPlace | None = None
    host: bool = False
    shared: tuple[str, ...] = ()

    @property
    def of_gpu(self) -> bool:
        """Returns whether a directive is for GPUs."""
        return self.grid is not None or self.host or bool(self.shared) or bool(self.partial) and not self.parallel

    @property
    def of_processor(self) -> bool:
        """Returns whether a directive is for processors."""
        return self.parallel or self.of_code

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
        named = [f"{key}({', '.join(arrays)})" for key in ("partial", "pack", "shared") if (arrays := getattr(self, key))]
        return [*flags, *([str(self.grid)] if self.grid else []), *jam, *named]


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
    if value and key == "shared":
        return replace(directives, shared=tuple(value.split(", ")))
    if value and key == "grid" and (place := GridPlace.parse(value)):
        return replace(directives, grid=place)
    raise ValueError(f"`{word}` is no directive of a loop")


_FLAGS: dict[str, Callable[[Directives], Directives]] = {
    "tile": lambda directives: replace(directives, tile=True),
    "parallel": lambda directives: replace(directives, parallel=True),
    "vectorize": lambda directives: replace(directives, vectorize=True),
    "isolate": lambda directives: replace(directives, isolate=True),
    "host": lambda directives: replace(directives, host=True),
}
