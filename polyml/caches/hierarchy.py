"""A hierarchy of caches from text, nearest first: `32K:8:64,1M:16:64:plru,32M:16:64:shared`.

    SIZE:WAYS:LINE[:WORD...]    bytes, with K, M, G; ways, or `full`; bytes
    lru, plru                   what gives way: the line used longest ago (if left out), or what a tree of bits leads to
    back, through               when writes go on: with the line that is let go (if left out), or at once
    independent, inclusive, exclusive
                                of the levels above (if left out; what it lets go, they let go too; it has what they let go)
    shared, shared=4            by all threads; by so many that follow one another. If left out, each thread has one of its own
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from polyml.errors import ConfigError
from polyml.machine import CacheLevel

UNITS = {"": 1, "B": 1, "K": 1 << 10, "KIB": 1 << 10, "M": 1 << 20, "MIB": 1 << 20, "G": 1 << 30, "GIB": 1 << 30}
WORDS = {
    "lru": ("replacement", "lru"), "plru": ("replacement", "plru"),
    "back": ("writes", "back"), "through": ("writes", "through"),
    "independent": ("contents", "independent"), "inclusive": ("contents", "inclusive"), "exclusive": ("contents", "exclusive"),
}  # fmt: skip
FULL = "full"  # in place of a number of ways
MOST_WAYS = 64  # of a cache with several sets
FORM = (
    "accepted: SIZE:WAYS:LINE[:lru|plru][:back|through][:inclusive|exclusive][:shared[=THREADS]], nearest first, "
    "separated by commas; WAYS may be full"
)


def parse(text: str) -> tuple[CacheLevel, ...]:
    """
    >>> [level.size_bytes for level in parse("32K:8:64,1M:16:64:plru:inclusive")]
    [32768, 1048576]

    Raises ConfigError for what is no hierarchy that can be simulated.
    """
    return described([_level(part.strip(), number + 1) for number, part in enumerate(text.split(","))])


def size_bytes(text: str) -> int:
    """
    >>> size_bytes("32K"), size_bytes("1 MiB")
    (32768, 1048576)
    """
    found = re.fullmatch(r"(\d+)\s*([A-Za-z]*)", text.strip())
    if found is None or found[2].upper() not in UNITS or int(found[1]) == 0:
        raise ConfigError(f"`{text}` is no size", notes=["accepted: a number of bytes, as in 32768, 32K or 1MiB"])
    return int(found[1]) * UNITS[found[2].upper()]


def described(levels: Sequence[CacheLevel]) -> tuple[CacheLevel, ...]:
    """`checked`, of what people write."""
    found = checked(levels)
    for above, level in zip(found, found[1:]):
        if level.shared_by and not 0 < above.shared_by <= level.shared_by:
            raise ConfigError(f"level {level.level} is shared by fewer threads than the one above it")
    return found


def checked(levels: Sequence[CacheLevel]) -> tuple[CacheLevel, ...]:
    """The levels, those of full associativity with as many ways as lines. Raises ConfigError where they have no such geometry, or
    one that is not simulated.
    """
    for level in levels:
        _check(level)
    lines = {level.line_bytes for level in levels}
    if len(lines) > 1:
        raise ConfigError(f"the levels have lines of {', '.join(map(str, sorted(lines)))} bytes; all must be of one length")
    if levels and levels[0].contents != "independent":
        raise ConfigError(f"the nearest cache is {levels[0].contents} of nothing")
    for above, level in zip(levels, levels[1:]):
        if level.contents == "exclusive" and above.writes == "through":
            raise ConfigError(f"level {level.level} is exclusive of a level that writes through")
        if level.size_bytes < above.size_bytes:
            raise ConfigError(f"level {level.level} is smaller than the one above it")
    return tuple(level if level.ways else replace(level, ways=level.lines) for level in levels)


def _level(text: str, number: int) -> CacheLevel:
    size, ways, line, *words = [*map(str.strip, text.split(":")), "", ""]
    words = [word for word in words if word]
    shared = [found for word in words if (found := re.fullmatch(r"shared(?:=([1-9]\d*))?", word))]
    others = [word for word in words if not any(word == found[0] for found in shared)]
    if not (ways.isdigit() or ways == FULL) or not line.isdigit() or set(others) - WORDS.keys():
        raise ConfigError(f"`{text}` is no cache", notes=[FORM])
    chosen = dict(WORDS[word] for word in others)
    shared_by = int(shared[-1][1] or 0) if shared else 1
    count = 0 if ways == FULL else int(ways)
    level = CacheLevel(number, size_bytes(size), count, int(line), shared_by, **chosen)
    if ways.isdigit() and count == 0:
        raise ConfigError(f"{_what(level)}: the number of ways must be 1 ... {MOST_WAYS}, or {FULL}")
    return level


def _what(level: CacheLevel) -> str:
    ways = f"{level.ways} ways" if level.ways else "full associativity"
    return f"a cache of {level.size_bytes} bytes, {ways} and lines of {level.line_bytes} bytes"


def _check(level: CacheLevel) -> None:
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
