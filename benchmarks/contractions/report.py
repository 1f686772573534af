"""Tables of what was measured, and what is asked of it."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence

from rich.console import Console
from rich.table import Table

from benchmarks.contractions import cold
from benchmarks.contractions.measure import Row
from benchmarks.contractions.sets import Set
from benchmarks.contractions.worker import PEAK
from benchmarks.results import geometric_mean

ASKED: Mapping[tuple[str, str], float] = {
    ("looptune", "numpy"): 1.15,
    ("square", "the best of them"): 1.0,
    ("skinny", "the best of them"): 1.0,
    ("tccg", "numpy"): 1.5,
    ("tccg", "torch"): 1.0,
    ("convolution", "torch"): 1.0,
}
"""{(set, peer): geometric mean of polyml's rate / the peer's that is asked for}"""

_UNDISTURBED = 0.85  # of so many times one thread's peak: with less, threads did not have a core each
_SPREAD = 1.5  # of a peer's turns, from which a case's ratio says little


def show(work: Set, peers: Sequence[str], rows: Sequence[Row], peak_rates: Mapping[tuple[str, int], float]) -> None:
    """Prints one table for each type and number of threads, and the figures over its cases under it.

    Cases in which others used the cores are in no mean: libraries whose threads wait for each other suffer more than polyml.
    """
    console = Console(width=None if sys.stdout.isatty() else 160)
    for dtype, threads in dict.fromkeys((r.dtype, r.threads) for r in rows):
        found = [r for r in rows if (r.dtype, r.threads) == (dtype, threads)]
        peak = peak_rates[dtype, threads]
        title = f"{work.what}: {dtype}, {_threads(found[0])}, peak {peak:.0f} GFLOP/s"
        doubtful = disturbed(found, peak_rates[dtype, 1])
        console.print(_table(title, work, peers, found, doubtful))
        trusted = [r for r in found if r.case not in doubtful]
        for line in (*summary(work, peers, trusted), *disturbances(found, peak_rates[dtype, 1])):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
        for note, count in _notes(found).items():
            console.print(f"{note} ({count} cases)" if count > 1 else note, markup=False, highlight=False, soft_wrap=True)


def _threads(row: Row) -> str:
    return f"{row.threads} thread{'s' * (row.threads > 1)}"


def _table(title: str, work: Set, peers: Sequence[str], rows: Sequence[Row], doubtful: Collection[str]) -> Table:
    """Returns a table with the GFLOP/s of all, polyml's share of the peak, and polyml's rates over the peers'."""
    pairs = [(own, peer) for own in work.own for peer in peers]
    table = Table(title=title)
    table.add_column("case", no_wrap=True)
    for heading in (*work.own, *peers, *(f"{own}, of peak" for own in work.own), *(f"{o} / {p}" for o, p in pairs)):
        table.add_column(heading, justify="right")
    for case in dict.fromkeys(r.case for r in rows):
        by_peer = {r.peer: r for r in rows if r.case == case}
        table.add_row(
            f"{case} ~" if case in doubtful else case,
            *(_rate(by_peer[name]) for name in (*work.own, *peers)),
            *("" if by_peer[o].peak_share is None else f"{by_peer[o].peak_share:.0%}" for o in work.own),
            *(_ratio(by_peer[peer], own) for own, peer in pairs),
        )
    return table


def _rate(row: Row) -> str:
    if row.rate is not None:
        return f"{row.rate:.1f}"
    return "-" if row.failure == "unavailable" else row.failure


def _ratio(row: Row, own: str) -> str:
    return f"{row.ratios[own]:.2f}" if own in row.ratios else ""


def summary(work: Set, peers: Sequence[str], rows: Sequence[Row]) -> Iterator[str]:
    """Yields lines on polyml against each peer, and against the best of them in each case."""
    for own in work.own:
        shares = [r.peak_share for r in rows if r.peer == own and r.peak_share is not None]
        if shares:
            yield f"{own}: median {statistics.median(shares):.0%} of the peak, least {min(shares):.0%}"
        found = {peer: [r.ratios[own] for r in rows if r.peer == peer and own in r.ratios] for peer in peers}
        if len(peers) > 1:
            cases = ([r.ratios[own] for r in of if r.peer in peers and own in r.ratios] for of in _measured(rows).values())
            found["the best of them"] = [min(ratios) for ratios in cases if ratios]
        for peer, ratios in found.items():
            if ratios:
                yield _line(work, own, peer, ratios)


def _line(work: Set, own: str, peer: str, ratios: Sequence[float]) -> str:
    asked = ASKED.get((work.name, peer))
    wanted = "" if asked is None else f" (asked {asked:.2f})"
    least, share = min(ratios), sum(ratio >= 1.0 for ratio in ratios) / len(ratios)
    return (
        f"{own} / {peer}: geometric mean {geometric_mean(ratios):.2f}{wanted}, least {least:.2f}, "
        f"at least 1.0 in {share:.0%} of {len(ratios)} cases"
    )


def disturbed(rows: Sequence[Row], peak_of_one: float) -> list[str]:
    """Returns the cases in whose turns the multiply-adds were slow."""
    least = _UNDISTURBED * peak_of_one
    return [r.case for r in rows if r.peer == PEAK and r.rate is not None and r.rate < least * r.threads]


def disturbances(rows: Sequence[Row], peak_of_one: float) -> Iterator[str]:
    """Yields what makes figures doubtful: cores that others use, turns that differ. peak_of_one: GFLOP/s of multiply-adds."""
    measured = _measured(rows)
    found = disturbed(rows, peak_of_one)
    if found:
        yield (
            f"DOUBTFUL, marked ~: {len(found)} of {len(measured)} cases, in whose turns {_threads(rows[0])} of multiply-adds "
            f"reached less than {_UNDISTURBED:.0%} of {rows[0].threads} x {peak_of_one:.0f} GFLOP/s: others used the cores; "
            "the means leave them out"
        )
    spreads = {case: max(r.spread for r in of) for case, of in measured.items()}
    uneven = {case: spread for case, spread in spreads.items() if spread > _SPREAD}
    if uneven:
        worst = max(uneven, key=uneven.get)
        yield (
            f"turns of one peer differ by more than {_SPREAD}x in {len(uneven)} of {len(spreads)} cases, "
            f"most by {uneven[worst]:.1f}x: {worst}"
        )


def _measured(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Returns {case: its rows that have figures}."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        if row.rate is not None:
            found.setdefault(row.case, []).append(row)
    return found


def _notes(rows: Sequence[Row]) -> dict[str, int]:
    """Returns what kept peers from having figures, once where it is the same in all cases."""
    counts: dict[str, int] = {}
    for row in rows:
        if row.failure:
            where = "" if row.failure == "unavailable" else f" {row.case}:"
            text = f"{row.peer}:{where} {row.failure}: {row.note}"
            counts[text] = counts.get(text, 0) + 1
    return counts


def show_cold(rows: Sequence[cold.Row]) -> None:
    for dtype in dict.fromkeys(r.dtype for r in rows):
        times = [r.seconds for r in rows if r.dtype == dtype and r.seconds is not None]
        if times:
            print(
                f"{dtype}, from decorated function to first result in a new process: median "
                f"{statistics.median(times) * 1e3:.0f} ms, worst {max(times) * 1e3:.0f} ms ({len(times)} processes)"
            )
    for row in rows:
        if row.note:
            print(f"{row.case} {row.dtype}: {row.note}")
