"""A hierarchy of caches from text, nearest first: `32K:8:64,1M:16:64:plru,32M:16:64:shared`.

SIZE:WAYS:LINE[:WORD...]    bytes, with K, M, G; ways, or `full`; bytes
lru, plru                   what gives way: the line used longest ago (if left out), or what a tree of bits leads to
back, through               when writes go on: with the line that is let go (if left out), or at once
independent, inclusive, exclusive
                            of the levels above (if left out; what it lets go, they let go too; it has what they let go)
shared, shared=4            by all threads; by so many that follow one another. If left out, each thread has one of its own
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import replace

from polyml.errors import ConfigError
from polyml.machines.cpu import CacheLevel
from polyml.reading.input_limits import shown, whole_number

UNITS = {"": 1, "B": 1, "K": 1 << 10, "KIB": 1 << 10, "M": 1 << 20, "MIB": 1 << 20, "G": 1 << 30, "GIB": 1 << 30}
WORDS = {
    "lru": ("replacement", "lru"), "plru": ("replacement", "plru"),
    "back": ("writes", "back"), "through": ("writes", "through"),
    "independent": ("contents", "independent"), "inclusive": ("contents", "inclusive"), "exclusive": ("contents", "exclusive"),
}  # fmt: skip
FULL = "full"  # the word in place of a number of ways
MOST_WAYS = 64  # ways of a cache with several sets at most
MOST_LEVELS = 8
LARGEST = 1 << 50  # bytes
MOST_THREADS = 1 << 31
_NUMBERS = (
    ("level", 1, 1_000), ("size_bytes", 1, LARGEST), ("ways", 0, LARGEST), ("line_bytes", 1, LARGEST), ("shared_by", 0, MOST_THREADS),
)  # fmt: skip
_MOST_PARTS = 16  # parts of the text of a level at most
FORM = (
    "accepted: SIZE:WAYS:LINE[:lru|plru][:back|through][:inclusive|exclusive][:shared[=THREADS]], nearest first, "
    "separated by commas; WAYS may be full"
)


def parse(text: str) -> tuple[CacheLevel, ...]:
    """Returns the cache levels that a text such as `32K:8:64,1M:16:64:plru` describes, nearest first.

    Raises ConfigError for what is no hierarchy that can be simulated.

    >>> [level.size_bytes for level in parse("32K:8:64,1M:16:64:plru:inclusive")]
    [32768, 1048576]
    """
    parts = text.split(",", MOST_LEVELS)
    if len(parts) > MOST_LEVELS:
        raise _too_many(text.count(",") + 1)
    return described([_level(part.strip(), number) for number, part in enumerate(parts, 1)])


def _too_many(levels: int) -> ConfigError:
    return ConfigError(f"there are {levels:,} levels of caches", notes=[f"at most {MOST_LEVELS} are simulated"])


def size_bytes(text: str) -> int:
    """Returns how many bytes a text such as "32K" stands for. Raises ConfigError for what is no size.

    >>> size_bytes("32K"), size_bytes("1 MiB")
    (32768, 1048576)
    """
    found = re.fullmatch(r"([0-9]+) *([A-Za-z]*)", text.strip())
    unit = 0 if found is None else UNITS.get(found[2].upper(), 0)
    size = whole_number(found[1], 1, LARGEST // unit) if found and unit else None
    if size is None:
        notes = ["accepted: a number of bytes, as in 32768, 32K or 1MiB", f"at most {LARGEST >> 30:,}G"]
        raise ConfigError(f"{shown(text)} is no size", notes=notes)
    return size * unit


def described(levels: Sequence[CacheLevel]) -> tuple[CacheLevel, ...]:
    """Returns a description's cache levels, nearest first, in which fully associative ones get as many ways as they have lines.

    Raises ConfigError for levels that are impossible or cannot be simulated, and where fewer threads share a level than a nearer
    one.
    """
    found = checked(levels)
    for above, level in itertools.pairwise(found):
        if level.shared_by and not 0 < above.shared_by <= level.shared_by:
            raise ConfigError(f"level {level.level} is shared by fewer threads than the one above it")
    return found


def checked(levels: Sequence[CacheLevel]) -> tuple[CacheLevel, ...]:
    """Returns the cache levels, in which fully associative ones (of 0 ways) get as many ways as they have lines.

    Raises ConfigError for a geometry that cannot be, or that is not simulated.
    """
    if len(levels) > MOST_LEVELS:
        raise _too_many(len(levels))
    for level in levels:
        _check(level)
    lines = {level.line_bytes for level in levels}
    if len(lines) > 1:
        raise ConfigError(f"the levels have lines of {', '.join(map(str, sorted(lines)))} bytes; all must be of one length")
    if levels and levels[0].contents != "independent":
        raise ConfigError(f"the nearest cache is {levels[0].contents} of nothing")
    for above, level in itertools.pairwise(levels):
        if level.contents == "exclusive" and above.writes == "through":
            raise ConfigError(f"level {level.level} is exclusive of a level that writes through")
        if level.size_bytes < above.size_bytes:
            raise ConfigError(f"level {level.level} is smaller than the one above it")
    return tuple(level if level.ways else replace(level, ways=level.lines) for level in levels)


def _level(text: str, number: int) -> CacheLevel:
    """Returns the cache level that a text such as `1M:16:64:plru` describes. number: of the level, from 1.

    Raises ConfigError for other text.
    """
    size, ways, line, *words = [*map(str.strip, text.split(":", _MOST_PARTS)), "", ""]
    words = [word for word in words if word]
    named = [word for word in words if word.startswith("shared")]
    shared = [threads for word in named if (threads := _sharing(word)) is not None]
    others = [word for word in words if word not in named]
    count, line_bytes = 0 if ways == FULL else whole_number(ways, 0, LARGEST), whole_number(line, 0, LARGEST)
    if count is None or line_bytes is None or len(shared) < len(named) or set(others) - WORDS.keys():
        raise ConfigError(f"{shown(text)} is no cache", notes=[FORM])
    chosen = dict(WORDS[word] for word in others)
    level = CacheLevel(number, size_bytes(size), count, line_bytes, [1, *shared][-1], **chosen)
    if ways != FULL and count == 0:
        raise ConfigError(f"{_what(level)}: the number of ways must be 1 ... {MOST_WAYS}, or {FULL}")
    return level


def _sharing(word: str) -> int | None:
    """Returns how many threads share a cache by the word "shared" or "shared=4", 0: all; None for any other word."""
    name, equals, threads = word.partition("=")
    if name != "shared":
        return None
    return whole_number(threads, 1, MOST_THREADS) if equals else 0


def _what(level: CacheLevel) -> str:
    ways = f"{level.ways} ways" if level.ways else "full associativity"
    return f"a cache of {level.size_bytes} bytes, {ways} and lines of {level.line_bytes} bytes"


def _check(level: CacheLevel) -> None:
    """Raises ConfigError for a cache level that cannot be, or that is not simulated."""
    for name, least, most in _NUMBERS:
        number = getattr(level, name)
        if type(number) is not int or not least <= number <= most:
            notes = [f"expected a whole number from {least} to {most:,}"]
            raise ConfigError(f"a cache has no {name} {shown(number)}", notes=notes)
    for name in ("replacement", "writes", "contents"):
        known = [word for key, word in WORDS.values() if key == name]
        if type(getattr(level, name)) is not str or getattr(level, name) not in known:
            raise ConfigError(f"a cache has no {name} {shown(getattr(level, name))}", notes=[f"expected {' or '.join(known)}"])
    what = _what(level)
    if level.line_bytes < 8 or level.line_bytes & (level.line_bytes - 1):
        raise ConfigError(f"{what}: the length of a line must be a power of two, at least 8")
    if level.ways > MOST_WAYS and level.ways != level.lines:
        raise ConfigError(f"{what}: the number of ways must be 1 ... {MOST_WAYS}, or {FULL}")
    if level.size_bytes % (max(level.ways, 1) * level.line_bytes):
        unit = max(level.ways, 1) * level.line_bytes
        raise ConfigError(f"{what}: the size must be a multiple of ways times line, {unit} bytes")
    if level.replacement == "plru" and (level.ways not in (1, 2, 4, 8, 16, 32)):
        raise ConfigError(f"{what}: a tree needs 1, 2, 4, 8, 16 or 32 ways")
