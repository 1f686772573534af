"""Steps that change which loops pieces share, and in which order they run: distribution, fusion and reordering."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

from polyml.schedule.replay.nests import Betas, Key, Order
from polyml.schedule.replay.steps import Step

Shared = Callable[[Key, Key], int]


def shared(order: Order, first: Key, second: Key) -> int:
    """Returns how many loops two pieces share, and one more where they also run in one place of the innermost loop's body."""
    a, b = order.pieces[first], order.pieces[second]
    return len(a.betas) if a.betas == b.betas else order.shared(first, second)


def distributed(order: Order, wanted: Order) -> Step | None:
    """Returns the step after which pieces share no loop that they do not share in the order `wanted`; None where that is so already.

    The order of pieces stays.
    """

    def common(first: Key, second: Key) -> int:
        return min(shared(order, first, second), shared(wanted, first, second))

    keys = sorted(order.pieces, key=lambda key: order.pieces[key].betas)
    betas: dict[Key, list[int]] = {key: [] for key in keys}
    _number(keys, 0, common, {key: len(order.pieces[key].levels) for key in keys}, betas)
    apart = [(a, b) for a, b in combinations(keys, 2) if common(a, b) < min(shared(order, a, b), len(order.pieces[a].levels))]
    if not apart:
        return None
    loops = dict.fromkeys(order.pieces[a].levels[common(a, b)].name for a, b in apart)
    statements = dict.fromkeys(key[0] for pair in apart for key in pair)
    return Step("distribute", ", ".join(loops), tuple(statements), betas={key: tuple(own) for key, own in betas.items()})


def _number(keys: Sequence[Key], depth: int, common: Shared, depths: Mapping[Key, int], betas: Mapping[Key, list[int]]) -> None:
    """Appends to `betas` the positions of pieces from a depth on, where pieces share as many loops as `common` says.

    keys: pieces that share the loops outside this depth, in their order.
    depths: how many loops each piece has.
    """
    groups: list[list[Key]] = []
    for key in keys:
        group = next((each for each in groups if common(each[0], key) > depth), None)
        if group is None:
            groups.append([key])
        else:
            group.append(key)
    for position, group in enumerate(groups):
        for key in group:
            betas[key].append(position)
        if depths[group[0]] > depth:
            _number(group, depth + 1, common, depths, betas)


def placed(order: Order, wanted: Order) -> Step | None:
    """Returns the step after which pieces have the positions of the order `wanted`, which has as many loops; None where they have them.

    It is a fusion where pieces share more loops, else a reordering.
    """
    betas: dict[Key, Betas] = {key: piece.betas for key, piece in wanted.pieces.items()}
    changed = [key for key, own in betas.items() if order.pieces[key].betas != own]
    if not changed:
        return None
    closer = [(a, b) for a, b in combinations(betas, 2) if wanted.shared(a, b) > order.shared(a, b)]
    if not closer:
        names = dict.fromkeys(key[0] for key in sorted(changed, key=lambda key: betas[key]))
        return Step("reorder", ", ".join(names), tuple(names), betas=betas)
    loops = dict.fromkeys(wanted.pieces[a].levels[order.shared(a, b)].name for a, b in closer)
    statements = dict.fromkeys(key[0] for pair in closer for key in pair)
    return Step("fuse", ", ".join(loops), tuple(statements), betas=betas)
