"""The host with its rates: measured once, then kept in the disk cache."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
from collections.abc import Iterator
from dataclasses import asdict
from functools import cache

from polyml import config
from polyml.machines import cpu
from polyml.machines.descriptions import Bandwidth, Cpu, Figure, Peak, Rate, Runs
from polyml.measure.measurement import Measured, better
from polyml.runtime.storage.disk_cache import Cache, open_cache

_FORMAT = 1
_WAIT_S = 60


def known() -> Cpu:
    """Returns the host, with rates if they were measured before; nothing is measured."""
    found = _kept(open_cache(config.resolve()))
    return found.cpu if found else _bare()


def measured(*, again: bool = False) -> Cpu:
    """Returns the host with its rates, from the last measurement or, where need be, from one that is made now.

    It is made where there is none yet, where other programs disturbed the last one, and if `again`. Its result is kept in the disk
    cache, where there is one.
    """
    store = open_cache(config.resolve())
    if store is None:
        return _once().cpu if not again else _now().cpu
    found = _kept(store)
    if found and found.quiet and not again:
        return found.cpu
    with _alone(store):
        latest = _kept(store)  # another process may have measured meanwhile
        if latest and latest.quiet and latest != found:
            return latest.cpu
        made = _merged(latest, _now())
        store.put(_key(), _content(made))
        return made.cpu


def _merged(old: Measured | None, new: Measured) -> Measured:
    """Returns the result of a new measurement of the host.

    If other programs disturbed it, each rate is the greater one of the new and the old measurement.
    """
    if old is None or new.quiet:
        return new
    return Measured(better(old.cpu, new.cpu), old.quiet)


def _bare() -> Cpu:
    host = cpu.host()
    return Cpu(name=host.name, machine=host)


def _now() -> Measured:
    from polyml.measure import measurement

    return measurement.measured(cpu.host())


@cache
def _once() -> Measured:
    """Returns the measurement of this process, which is made at the first call only, for where there is no disk cache."""
    return _now()


@contextlib.contextmanager
def _alone(store: Cache) -> Iterator[None]:
    """Returns a context in which no other process measures; where the cache's folder cannot be locked, others may."""
    from filelock import FileLock, Timeout

    with contextlib.ExitStack() as held:
        with contextlib.suppress(OSError, NotImplementedError, Timeout):  # a file system may have no locks
            if store.made():
                held.enter_context(FileLock(os.path.join(store.folder, "measure.lock"), timeout=_WAIT_S))
        yield


def _key() -> str:
    """Returns the name of the rates in the disk cache: a digest of the processor, its caches, and the cores of this process."""
    text = f"rates {_FORMAT} {cpu.host()!r} {' '.join(sorted(cpu.cpu_flags()))}"
    return f"rates-{hashlib.sha256(text.encode()).hexdigest()}"


def _content(found: Measured) -> bytes:
    rates: dict[str, object] = {"frequency_hz": asdict(found.cpu.frequency_hz)}
    rates["peaks"] = [asdict(peak) for peak in found.cpu.peaks]
    rates["bandwidths"] = [asdict(bandwidth) for bandwidth in found.cpu.bandwidths]
    rates["runs"] = [asdict(runs) for runs in found.cpu.runs]
    return json.dumps({"quiet": found.quiet, **rates}).encode()


def _kept(store: Cache | None) -> Measured | None:
    """Returns the measurement in the disk cache; None where there is no cache, no entry, or something else than a measurement."""
    content = store.get(_key()) if store else None
    if content is None:
        return None
    try:
        return _read(json.loads(content))
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError):
        return None


def _read(content: dict) -> Measured:
    """Returns the measurement in a cache entry's content. Raises ValueError, TypeError or LookupError for other contents."""
    if not all(
        isinstance(text, str) for text in (*(p["number"] for p in content["peaks"]), *(b["place"] for b in content["bandwidths"]))
    ):
        raise ValueError("numbers and places have names")
    peaks = tuple(Peak(p["number"], _rate(p["flop_per_s"])) for p in content["peaks"])
    places = tuple(Bandwidth(b["place"], _rate(b["read_bytes_per_s"]), _rate(b["update_bytes_per_s"]))
                   for b in content["bandwidths"])  # fmt: skip
    host, clock = cpu.host(), _rate(content["frequency_hz"])
    runs = tuple(Runs(**each) for each in content.get("runs", []))  # older entries have none
    found = Cpu(name=host.name, machine=host, frequency_hz=clock, peaks=peaks, bandwidths=places, runs=runs)
    return Measured(found, bool(content["quiet"]))


def _rate(content: dict) -> Rate:
    figures = [Figure(float(c["value"]), str(c["origin"]), str(c["source"])) for c in (content["one"], content["all"])]
    if not all(0 < figure.value < math.inf for figure in figures):
        raise ValueError("a rate is a number above zero")
    return Rate(*figures)
