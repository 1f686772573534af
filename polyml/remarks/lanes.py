"""What lanes would cost, by the model with which the pass `vectorize` chose: for statements that it left one by one, which of their
loops lanes were possible along, at how many cycles, and what ruled out the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from polyml.codegen.analysis.access_conflicts import Enclosing
from polyml.codegen.analysis.loop_nest import FARTHEST, LoopNest, guard_names
from polyml.codegen.costs.access_strides import StrideKind
from polyml.codegen.costs.cost_model import CostModel
from polyml.codegen.ir.program import Guard, Instance, Loop, Node, Program
from polyml.codegen.register_tiles.legal_tilings import LegalTilings
from polyml.codegen.register_tiles.nest_prices import NestPrices
from polyml.machines.cpu import CpuMachine
from polyml.remarks.performed import counted

DEPENDS = "its iterations depend on each other"


@dataclass(frozen=True)
class LanePrice:
    """What lanes along one loop would cost for one statement.

    why: what rules them out; "" where they are possible.
    cycles: of each iteration with the cheapest register tile that has such lanes; None where there is none.
    scalar_cycles: of each iteration, one by one.
    order: how dependences between the iterations are kept where they are lanes; "" where there are none.
    """

    why: str
    cycles: float | None
    scalar_cycles: float
    order: str = ""


Prices = Mapping[tuple[str, int], LanePrice]  # by the name of a Program's statement and the position of its iterator


def lane_prices(program: Program, machine: CpuMachine, layouts: tuple[str, ...], sizes: Mapping[str, int] | None) -> Prices:
    """Returns what lanes would cost in a program, as it is before the pass `vectorize`."""
    prices = NestPrices(program, machine, layouts, sizes)
    found: dict[tuple[str, int], LanePrice] = {}
    for nest in _nests(program.body, (), prices):
        for v, loop in enumerate(nest.chain):
            price = None
            for statement, instance, _ in nest.statements():
                position = counted(instance, loop.var, len(statement.iterators))
                if position is None or not found.get((statement.name, position), _NONE).why:
                    continue
                price = price or _price(nest, v, prices)
                found[statement.name, position] = price
    return found


_NONE = LanePrice("not looked at", None, 0.0)


def _nests(nodes: tuple[Node, ...], shared: tuple[Enclosing, ...], prices: NestPrices) -> Iterator[LoopNest]:
    """Yields the perfect nests of loops over single iterations, also those inside others' bodies."""
    for node in nodes:
        if isinstance(node, Guard):
            yield from _nests(node.body, (*shared, node), prices)
        elif isinstance(node, Loop):
            if node.role == "tile" or node.parallel:
                yield from _nests(node.body, (*shared, node), prices)
            else:
                nest = prices.nest(node, shared)
                yield nest
                if any(not isinstance(each, Instance) for each in nest.body):
                    yield from _nests(nest.body, (*shared, *nest.chain), prices)


def _price(nest: LoopNest, v: int, prices: NestPrices) -> LanePrice:
    """Returns what lanes along loop number v of a nest cost."""
    model, lanes = prices.model(nest), prices.lanes(nest)
    scalar = prices.scalar_cycles(nest) / max(model.instances(), 1.0)
    if lanes < 2:
        return LanePrice("a register holds one element", None, scalar)
    if why := _ruled_out(nest, v, model):
        return LanePrice(why, None, scalar)
    tilings = [tiling for tiling in LegalTilings(nest, model, lanes, False).all() if tiling.vector == v]
    if not tilings:
        return LanePrice(DEPENDS, None, scalar)
    cycles = [found for tiling in tilings if (found := model.per_iteration(tiling)) is not None]
    if not cycles:
        return LanePrice("the registers do not suffice", None, scalar)
    order = _order(nest) if v == len(nest.chain) - 1 and any(tiling.in_order for tiling in tilings) else ""
    return LanePrice("", min(cycles) / max(model.instances(), 1.0), scalar, order)


def _order(nest: LoopNest) -> str:
    """Returns how the dependences between iterations of a nest's innermost loop are kept where these are lanes, vector by vector."""
    reach = nest.lane_reach
    nearest = min(reach.vector, reach.block)
    if nearest < FARTHEST:
        return f"no dependence that this order would break is shorter than {nearest} iterations"
    return "dependences go from reads to later writes, or to statements behind, and each vector reads before it writes"


def _ruled_out(nest: LoopNest, v: int, model: CostModel) -> str:
    """Returns why the iterations of loop number v cannot be lanes, apart from dependences; "" where nothing rules them out."""
    loop = nest.chain[v]
    if loop.step != 1:
        return f"its steps are {loop.step}"
    if loop.var in guard_names(nest.body):
        return "a condition inside depends on it"
    if model.is_vectorizable(v):
        return ""
    uneven = [access.array for access in model.accesses if access.strides[v].kind is StrideKind.NOT_LINEAR]
    if uneven:
        return f"the elements of {uneven[0]} that its iterations touch are not at one distance"
    same = [a.array for a in model.accesses if a.strides[v].is_invariant and a.access.writes and not a.access.accumulates]
    if same:
        return f"all its iterations write the same element of {same[0]}"
    return "an operation is for numbers one by one"
