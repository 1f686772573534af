"""A hierarchy of caches from text: `32K:8:64,1M:16:64:plru`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from polyml.errors import ConfigError
from polyml.machine import CacheLevel

UNITS = {"": 1, "B": 1, "K": 1 << 10, "KIB": 1 << 10, "M": 1 << 20, "MIB": 1 << 20, "G": 1 << 30, "GIB": 1 << 30}
WORDS = {
    "lru": ("replacement", "lru"), "plru": ("replacement", "plru"),
    "back": ("writes", "back"), "through": ("writes", "through"),
    "independent": ("contents", "independent"), "inclusive": ("contents", "inclusive"), "exclusive": ("contents", "exclusive"),
}  # fmt: skip
MOST_WAYS = 64
FORM = "accepted: SIZE:WAYS:LINE[:lru|plru][:back|through][:inclusive|exclusive], nearest first, separated by commas"


def parse(text: str) -> tuple[CacheLevel, ...]:
    """
    >>> [level.size_bytes for level in parse("32K:8:64,1M:16:64:plru:inclusive")]
    [32768, 1048576]

    Raises ConfigError for what is no hierarchy that can be simulated.
    """
    return checked([_level(part.strip(), number + 1) for number, part in enumerate(text.split(","))])


def size_bytes(text: str) -> int:
    """
    >>> size_bytes("32K"), size_bytes("1 MiB")
    (32768, 1048576)
    """
    found = re.fullmatch(r"(\d+)\s*([A-Za-z]*)", text.strip())
    if found is None or found[2].upper() not in UNITS or int(found[1]) == 0:
        raise ConfigError(f"`{text}` is no size", notes=["accepted: a number of bytes, as in 32768, 32K or 1MiB"])
    return int(found[1]) * UNITS[found[2].upper()]


def checked(levels: Sequence[CacheLevel]) -> tuple[CacheLevel, ...]:
    """The levels. Raises ConfigError where they have no such geometry, or one that is not simulated."""
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
    return tuple(levels)


def _level(text: str, number: int) -> CacheLevel:
    size, ways, line, *words = [*map(str.strip, text.split(":")), "", ""]
    words = [word for word in words if word]
    if not ways.isdigit() or not line.isdigit() or set(words) - WORDS.keys():
        raise ConfigError(f"`{text}` is no cache", notes=[FORM])
    chosen = dict(WORDS[word] for word in words)
    return CacheLevel(number, size_bytes(size), int(ways), int(line), 1, **chosen)


def _check(level: CacheLevel) -> None:
    what = f"a cache of {level.size_bytes} bytes, {level.ways} ways and lines of {level.line_bytes} bytes"
    if level.line_bytes < 8 or level.line_bytes & (level.line_bytes - 1):
        raise ConfigError(f"{what}: the length of a line must be a power of two, at least 8")
    if not 1 <= level.ways <= MOST_WAYS:
        raise ConfigError(f"{what}: the number of ways must be 1 ... {MOST_WAYS}")
    if level.size_bytes % (level.ways * level.line_bytes):
        raise ConfigError(f"{what}: the size must be a multiple of ways times line, {level.ways * level.line_bytes} bytes")
    if level.replacement == "plru" and (level.ways & (level.ways - 1) or level.ways > 32):
        raise ConfigError(f"{what}: a tree needs 1, 2, 4, 8, 16 or 32 ways")
