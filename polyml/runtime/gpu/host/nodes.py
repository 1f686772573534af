"""What the host does for a kernel on a GPU as data: loops, tests and choices around launches.

Expressions of sizes and of the variables of the host's loops are texts, as `runtime.calling.result_extents` reads them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Union


@dataclass(frozen=True)
class HostLaunch:
    """A host launch starts a kernel on a grid.

    kernel: its name.
    blocks: how many blocks there are along each axis; where there are none, nothing is started.
    firsts: along each axis, the number of the first block.
    integers: the values of sizes and of variables of the host's loops that the kernel has as parameters.
    given_firsts, given_extents: the axes of which the kernel has the number of the first block, and how many blocks there are, as
        parameters, behind `integers`.
    stored: numbers whose product is how many partial results there are of each name.
    counts: numbers that are at most `MOST_POSITIONS`, or the call is refused.
    """

    kernel: str
    blocks: tuple[str, ...]
    firsts: tuple[str, ...]
    integers: tuple[str, ...]
    given_firsts: tuple[int, ...]
    given_extents: tuple[int, ...]
    stored: tuple[str, ...] = ()
    counts: tuple[str, ...] = ()


@dataclass(frozen=True)
class HostLoop:
    """A host loop runs its body for var = max(lower); var <= min(upper); var += step."""

    var: str
    lower: tuple[str, ...]
    upper: tuple[str, ...]
    step: int
    body: tuple[HostNode, ...]


@dataclass(frozen=True)
class HostGuard:
    """A host guard runs its body where its condition holds."""

    condition: str
    body: tuple[HostNode, ...]


@dataclass(frozen=True)
class HostChoice:
    """A host choice runs some launches of several, by the rule of `schedule.gpu.team_choice.parts`.

    body: the launch without teams, the one with teams, and, if there are any, two launches in place of the latter.
    parts: the name, in these two, of the number of blocks that divide the iterations of a team.
    trips, along, size, lanes, beside: what the rule asks for.
    """

    body: tuple[HostLaunch, ...]
    parts: str
    trips: tuple[str, ...]
    along: str
    size: int
    lanes: int
    beside: bool


@dataclass(frozen=True)
class HostRows:
    """A host rows runs one launch of several by the rule of `schedule.gpu.team_choice.row_variant`, or else others.

    body: what runs where the rule chooses none.
    launches: those of which it chooses; () where another launch stands for all of them, so that nothing is to do where it chooses one.
    longest, rows: the length of the longest row, and numbers whose product is how many rows there are.
    threads, most: for each launch that the rule chooses among, the threads of a team, and how many iterations it has registers for.
    """

    body: tuple[HostNode, ...]
    launches: tuple[HostLaunch, ...]
    longest: str
    rows: tuple[str, ...]
    threads: tuple[int, ...]
    most: tuple[int, ...]


@dataclass(frozen=True)
class HostTiles:
    """Host tiles run one of two forms of a launch, by the rule of `schedule.gpu.team_choice.cheapest`.

    body: the launch, and the one with smaller blocks.
    costs: how long a block of each takes.
    """

    body: tuple[HostLaunch, ...]
    costs: tuple[int, ...]


@dataclass(frozen=True)
class MatrixWalk:
    """A matrix walk says which elements of an array the loops of a product access.

    first: the subscripts in the first iteration of all loops.
    steps: for each loop, what one iteration adds to each subscript.
    """

    array: str
    first: tuple[str, ...]
    steps: tuple[tuple[int, ...], ...]


PRODUCT_ROLES = ("batch", "row", "column", "sum")  # of the loops of a product


@dataclass(frozen=True)
class HostProduct:
    """A host product is a product of matrices that a library computes where that is faster, or else a part of the host's program.

    Each element of the result becomes alpha * (a sum of products of an element of `left` and one of `right`) + beta * the element.

    name: by which the function that calls the library is known; no kernel has it.
    body: what runs where the library does not.
    rest: what runs after the library has computed the product.
    roles: what each of the product's loops is, one of PRODUCT_ROLES; extents: how many iterations it has.
    result, left, right: which elements the loops access.
    alpha, beta: a number and names of arguments that are multiplied to it.
    tf32: whether operands of float32 may be rounded to 11 bits.
    """

    name: str
    body: tuple[HostNode, ...]
    rest: tuple[HostNode, ...]
    roles: tuple[str, ...]
    extents: tuple[str, ...]
    result: MatrixWalk
    left: MatrixWalk
    right: MatrixWalk
    alpha: tuple[float, tuple[str, ...]]
    beta: tuple[float, tuple[str, ...]]
    tf32: bool = False


HostNode = Union[HostLaunch, HostLoop, HostGuard, HostChoice, HostRows, HostTiles, HostProduct]


def launches(nodes: Sequence[HostNode]) -> Iterator[HostLaunch]:
    """Yields the launches in the host's loops, in order."""
    for node in nodes:
        if isinstance(node, HostLaunch):
            yield node
        else:
            yield from node.launches if isinstance(node, HostRows) else ()
            yield from launches(node.body)
            yield from launches(node.rest) if isinstance(node, HostProduct) else ()


def products(nodes: Sequence[HostNode]) -> dict[str, HostProduct]:
    """Returns the products of matrices in the host's loops by their names; of several with one name, which differ in expressions alone,
    the last one.
    """
    found: dict[str, HostProduct] = {}
    for node in nodes:
        if isinstance(node, HostProduct):
            found |= {node.name: node} | products(node.rest)
        found |= {} if isinstance(node, HostLaunch) else products(node.body)
    return found
