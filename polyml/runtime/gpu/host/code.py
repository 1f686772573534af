"""What the host does for a kernel on a GPU, as a Python function: tests at entry, extents of arrays, and loops around launches.

for t in 0 .. T - 1: launch step_0 on (N + 255) // 256 blocks
    ->   def launches(_p0, _p1, _k0): for _v0 in range(0, _p0): _k0(((_p1 + 255) // 256,), (0,), (_p1, _v0)) ...

Artifacts come from files, so that of their texts nothing is run but what `result_extents` has read and written anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod

from polyml.errors import PolymlValueError
from polyml.runtime.calling.result_extents import rewritten
from polyml.runtime.gpu.artifact import GpuArtifact
from polyml.runtime.gpu.host.nodes import (
    HostChoice,
    HostGuard,
    HostLaunch,
    HostLoop,
    HostNode,
    HostProduct,
    HostRows,
    HostTiles,
    products,
)
from polyml.schedule.gpu.team_choice import PLAIN, WHOLE, cheapest, parts, row_variant

_STEP = "    "
MOST_POSITIONS = 1 << 30  # of merged loops: numbers of 32 bits, with room for a block and a chunk
_DEEPEST = 18  # loops in loops, of which Python allows 20


@dataclass(frozen=True)
class HostCode:
    """Host code is what the host does in a call of one kernel, compiled to Python functions.

    Each takes the values of the artifact's parameters, in their order.

    violated: returns the number of the first test at entry that fails, from 1 on; 0 where all hold.
    shapes: returns the shapes of the artifact's arrays, in their order.
    needed: returns, in the same order, whether launches need the elements that the array has before the call.
    launches: calls, for each launch in order, the function of its kernel, with numbers of blocks, first blocks, integers and how many partial
        results there are; and for each product of matrices a function, with how many iterations its loops have and with the first subscripts of
        the result and both operands, which returns whether a library computes it. These functions follow the parameters: in the order of
        `kernels`, and of the products' names.
    products: these names.
    """

    violated: Callable[..., int]
    shapes: Callable[..., tuple[tuple[int, ...], ...]]
    needed: Callable[..., tuple[bool, ...]]
    launches: Callable[..., None]
    products: tuple[str, ...]


def host_code(artifact: GpuArtifact) -> HostCode:
    """Returns the host's part of a kernel as Python functions. Raises ValueError where a text in the artifact is no expression."""
    names = {parameter.name: f"_p{number}" for number, parameter in enumerate(artifact.parameters)}
    by_library = tuple(products(artifact.host))
    kernels = {name: f"_k{number}" for number, name in enumerate((*(kernel.name for kernel in artifact.kernels), *by_library))}
    given = [*names.values()]
    lines = [f"def violated({', '.join(given)}):"]
    for number, condition in enumerate(artifact.violated):
        lines += [f"{_STEP}if {_condition(condition, names)}:", f"{_STEP * 2}return {number + 1}"]
    lines += [f"{_STEP}return 0", f"def shapes({', '.join(given)}):"]
    shapes = [_tuple(f"_max(0, {rewritten(extent, names)})" for extent in array.shape) for array in artifact.arrays]
    lines += [f"{_STEP}return {_tuple(shapes)}", f"def needed({', '.join(given)}):"]
    needed = _tuple(_condition(array.needed, names) for array in artifact.arrays)
    lines += [f"{_STEP}return {needed}", f"def launches({', '.join([*given, *kernels.values()])}):"]
    lines += _block(artifact.host, names, kernels)
    threads = {kernel.name: prod(kernel.threads) for kernel in artifact.kernels}
    made: dict = {"_min": min, "_max": max, "_fits": _fits, "__builtins__": {"range": range}}
    made |= {"_parts": partial(_parts, threads), "_rows": _rows, "_cheapest": partial(_cheapest, threads)}
    exec("\n".join(lines), made)
    return HostCode(made["violated"], made["shapes"], made["needed"], made["launches"], by_library)


def _fits(count: int) -> None:
    """Raises PolymlValueError where loops that are merged have more combinations of iterations than threads number."""
    if count > MOST_POSITIONS:
        raise PolymlValueError(
            f"loops of a sum have {count:,} combinations of iterations, and a GPU numbers {MOST_POSITIONS:,} at most"
        )


def _cheapest(threads: Mapping[str, int], blocks: Sequence[Sequence[int]], costs: Sequence[int], kernels: Sequence[str]) -> int:
    """Returns which form of a launch runs, as `team_choice.cheapest` does.

    threads: of a block, by kernel.
    blocks: of each form, along each axis; kernels: their names.
    """
    return cheapest([prod(max(each, 0) for each in some) for some in blocks], costs, [threads[name] for name in kernels])


def _parts(
    threads: Mapping[str, int],
    trips: Sequence[int],
    plain: Sequence[int],
    teams: Sequence[int],
    along: int,
    size: int,
    lanes: int,
    beside: bool,
    kernels: Sequence[str],
) -> int:
    """Returns which launches of a choice run, as `team_choice.parts` does.

    threads: of a block, by kernel.
    plain, teams: blocks along each axis, without and with teams; kernels: the names of these two.
    """
    without, with_teams = (threads[name] * prod(max(each, 0) for each in blocks) for name, blocks in zip(kernels, (plain, teams)))
    return parts(trips, along, without, with_teams, (size, lanes), beside)


def _rows(longest: int, rows: Sequence[int], threads: Sequence[int], most: Sequence[int]) -> int | None:
    """Returns the number of the launch that runs rows, as `team_choice.row_variant` does."""
    return row_variant(longest, prod(max(each, 0) for each in rows), [*zip(threads, most)])


def _condition(text: str, names: Mapping[str, str]) -> str:
    return text if text in ("True", "False") else rewritten(text, names)


def _tuple(parts: Iterator[str] | Sequence[str]) -> str:
    return f"({''.join(f'{part}, ' for part in parts)})"


def _block(nodes: Sequence[HostNode], names: Mapping[str, str], kernels: Mapping[str, str], depth: int = 1) -> list[str]:
    """Returns the lines of a function's body, or of a loop's, that runs the nodes.

    names: the new names of parameters and of variables of loops around.
    kernels: by the name of a kernel or of a product, that of the function that starts it.
    depth: how many steps the lines are indented.
    """
    if depth > _DEEPEST:
        raise ValueError("loops are nested too deeply")
    lines = [line for node in nodes for line in _node(node, names, kernels, depth)]
    return lines or [f"{_STEP * depth}pass"]


def _node(node: HostNode, names: Mapping[str, str], kernels: Mapping[str, str], depth: int) -> Iterator[str]:
    indent = _STEP * depth
    if isinstance(node, HostLaunch):
        yield from (f"{indent}_fits({rewritten(each, names)})" for each in node.counts)
        parts = (_tuple(rewritten(each, names) for each in some) for some in (node.blocks, node.firsts, node.integers, node.stored))
        yield f"{indent}{kernels[node.kernel]}({', '.join(parts)})"
    elif isinstance(node, HostChoice):
        yield from _choice(node, names, kernels, depth)
    elif isinstance(node, HostRows):
        yield from _row_choice(node, names, kernels, depth)
    elif isinstance(node, HostTiles):
        blocks = _tuple(_tuple(rewritten(each, names) for each in form.blocks) for form in node.body)
        forms = _tuple(repr(form.kernel) for form in node.body)
        yield f"{indent}if _cheapest({blocks}, {_tuple(map(str, node.costs))}, {forms}) == 0:"
        yield from _block(node.body[:1], names, kernels, depth + 1)
        yield f"{indent}else:"
        yield from _block(node.body[1:], names, kernels, depth + 1)
    elif isinstance(node, HostProduct):
        yield from _product(node, names, kernels, depth)
    elif isinstance(node, HostGuard):
        yield f"{indent}if {_condition(node.condition, names)}:"
        yield from _block(node.body, names, kernels, depth + 1)
    else:
        yield from _loop(node, names, kernels, depth)


def _product(node: HostProduct, names: Mapping[str, str], kernels: Mapping[str, str], depth: int) -> Iterator[str]:
    indent = _STEP * depth
    extents = _tuple(rewritten(each, names) for each in node.extents)
    firsts = (_tuple(rewritten(each, names) for each in walk.first) for walk in (node.result, node.left, node.right))
    yield f"{indent}if {kernels[node.name]}({extents}, {', '.join(firsts)}):"
    yield from _block(node.rest, names, kernels, depth + 1)
    yield f"{indent}else:"
    yield from _block(node.body, names, kernels, depth + 1)


def _choice(node: HostChoice, names: Mapping[str, str], kernels: Mapping[str, str], depth: int) -> Iterator[str]:
    indent, chosen = _STEP * depth, f"_c{depth}"
    numbers = [_tuple(rewritten(each, names) for each in some) for some in (node.trips, *(each.blocks for each in node.body[:2]))]
    names = {**names, node.parts: chosen}
    told = f"{node.size}, {node.lanes}, {node.beside}, {[each.kernel for each in node.body[:2]]}"
    yield f"{indent}{chosen} = _parts({', '.join(numbers)}, {rewritten(node.along, names)}, {told})"
    plain, team, *split = node.body
    yield f"{indent}if {chosen} == {PLAIN}:"
    yield from _block([plain], names, kernels, depth + 1)
    yield f"{indent}elif {chosen} == {WHOLE}:" if split else f"{indent}else:"
    yield from _block([team], names, kernels, depth + 1)
    if split:
        yield f"{indent}else:"
        yield from _block(split, names, kernels, depth + 1)


def _row_choice(node: HostRows, names: Mapping[str, str], kernels: Mapping[str, str], depth: int) -> Iterator[str]:
    indent, chosen = _STEP * depth, f"_c{depth}"
    rows = _tuple(rewritten(each, names) for each in node.rows)
    yield f"{indent}{chosen} = _rows({rewritten(node.longest, names)}, {rows}, {node.threads}, {node.most})"
    yield f"{indent}if {chosen} is None:"
    yield from _block(node.body, names, kernels, depth + 1)
    for number, launch in enumerate(node.launches):
        yield f"{indent}elif {chosen} == {number}:"
        yield from _block([launch], names, kernels, depth + 1)


def _loop(node: HostLoop, names: Mapping[str, str], kernels: Mapping[str, str], depth: int) -> Iterator[str]:
    lower = _extreme("_max", [rewritten(each, names) for each in node.lower])
    upper = _extreme("_min", [rewritten(each, names) for each in node.upper])
    variable = f"_v{depth}"
    yield f"{_STEP * depth}for {variable} in range({lower}, {upper} + 1, {node.step}):"
    yield from _block(node.body, {**names, node.var: variable}, kernels, depth + 1)


def _extreme(function: str, texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{function}({', '.join(texts)})"
