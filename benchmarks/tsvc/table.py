"""The table of the loops' times: a row for each loop, means over them, and the reasons why loops are not compiled whole."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.tsvc.entry import Tsvc
from benchmarks.tsvc.forms import WHOLE

BEHIND = 0.9  # of the C compiler's speed


@dataclass(frozen=True)
class Row:
    """A Row is a loop's times in seconds.

    ours: polyml's; None where it has no right result.
    peers: the others', at their best; without those that have none.
    explained: whether polyml compiles it whole, or why not.
    """

    loop: Tsvc
    ours: float | None
    peers: dict[str, float]
    difference: float
    explained: str

    def ratio(self, peer: str) -> float | None:
        """Returns how many times as fast as a peer polyml is."""
        return self.peers[peer] / self.ours if self.ours and peer in self.peers else None


def head(peers: Sequence[str]) -> str:
    ratios = "".join(f"{peer:>9} {'times':>7}" for peer in peers)
    return (
        f"{'loop':7} {'polyml':>9}{ratios} {'differs':>8}  form; * less than {BEHIND} of the speed of {peers[0] if peers else 'C'}"
    )


def line(row: Row, peers: Sequence[str]) -> str:
    """Returns a row as text: times in microseconds."""
    ours = f"{row.ours * 1e6:9.2f}" if row.ours else f"{'none':>9}"
    others = "".join(_other(row, peer) for peer in peers)
    behind = "*" if peers and (row.ratio(peers[0]) or 1) < BEHIND else " "
    return f"{row.loop.name:7} {ours}{others} {row.difference:8.1g} {behind}{'whole' if row.explained == WHOLE else row.explained}"


def summary(rows: Sequence[Row], peers: Sequence[str]) -> list[str]:
    """Returns lines on all rows: means, the least ratios, and the reasons of those that are not compiled whole."""
    whole = [row for row in rows if row.explained == WHOLE]
    lines = [f"{len(whole)} of {len(rows)} loops are compiled whole"]
    for name, some in (("all", rows), ("compiled whole", whole)):
        lines += [_means(name, some, peer) for peer in peers]
    lines += [f"less than {BEHIND} of the speed of {peer}: {_behind(whole, peer)}" for peer in peers]
    for reason, names in sorted(reasons(rows).items(), key=lambda item: -len(item[1])):
        lines.append(f"not whole ({len(names)}), {reason}: {' '.join(names)}")
    return lines


def reasons(rows: Sequence[Row]) -> dict[str, list[str]]:
    """Returns the names of the loops by the reason why they are not compiled whole, in which names of the source are left out."""
    found: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        if row.explained != WHOLE:
            found[re.sub(r"`[^`]*`", "`...`", row.explained)].append(row.loop.name)
    return dict(found)


def _other(row: Row, peer: str) -> str:
    ratio = row.ratio(peer)
    return f"{row.peers[peer] * 1e6:9.2f} {ratio:7.2f}" if ratio is not None else f"{'none':>9} {'':7}"


def _means(name: str, rows: Sequence[Row], peer: str) -> str:
    ratios = {row.loop.name: ratio for row in rows if (ratio := row.ratio(peer)) is not None}
    if not ratios:
        return f"{name}: no ratio to {peer}"
    mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    least = min(ratios, key=lambda each: ratios[each])
    return f"{name} ({len(ratios)}): {mean:.2f} times as fast as {peer} in the geometric mean; least {ratios[least]:.3g} ({least})"


def _behind(rows: Sequence[Row], peer: str) -> str:
    found = [(ratio, row.loop.name) for row in rows if (ratio := row.ratio(peer)) is not None and ratio < BEHIND]
    return ", ".join(f"{name} {ratio:.2f}" for ratio, name in sorted(found)) or "none"
