"""The bundles in the cache folder: DIR/defects/product-3f2a91c0.py."""

from __future__ import annotations

from pathlib import Path

from polyml.bundles.bundle import Bundle
from polyml.bundles.failure import FailedCompilation, of_failure
from polyml.errors import PolymlError
from polyml.reading.userfiles import write_text
from polyml.runtime.storage.disk_cache import Cache

KEPT = 20  # the newest


def keep_failure(cache: Cache | None, tried: FailedCompilation, problem: PolymlError) -> str:
    """Writes a file that repeats a failed compilation to the cache folder. Returns its path; "" where that is not possible."""
    try:
        return "" if cache is None else keep(cache, of_failure(tried, problem))
    except (OSError, TypeError, ValueError, SyntaxError, RecursionError):
        return ""


def keep(cache: Cache, bundle: Bundle) -> str:
    """Writes a bundle to the cache folder and returns the file's path; "" where that folder cannot be used. Removes all but the
    newest 20.

    Raises OSError where the file cannot be written.
    """
    if not cache.made():
        return ""
    file = _folder(cache) / bundle.file
    file.parent.mkdir(mode=0o700, exist_ok=True)
    write_text(file, bundle.text())
    for old in kept(cache)[KEPT:]:
        old.unlink(missing_ok=True)
    return str(file)


def kept(cache: Cache) -> list[Path]:
    """Returns the files of the bundles in the cache folder, the newest first."""
    try:
        found = [(file.stat().st_mtime, file) for file in _folder(cache).glob("*.py")]
    except OSError:
        return []
    return [file for _, file in sorted(found, reverse=True)]


def _folder(cache: Cache) -> Path:
    return Path(cache.folder) / "defects"
