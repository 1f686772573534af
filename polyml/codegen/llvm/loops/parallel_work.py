"""How much work a parallel loop has: whether it is worth threads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from polyml.codegen.costs.instruction_costs import FUNCTIONS, LIBRARY_CALL, OPERATORS, SIMPLE, Price
from polyml.codegen.ir.program import Guard, Instance, Jam, Loop, Node, Program, Unroll, instances
from polyml.codegen.llvm.addresses import Addresses
from polyml.codegen.llvm.loops.loop_bounds import bounds, trips
from polyml.frontend import syntax, traversal
from polyml.model.core.nest import Integer
from polyml.quasi_affine.affine import Affine, extremum, floor_div

SHORT_DEPTH = 2  # the most nested loops inside of a short loop
LOOP_WORK, BLOCK_WORK = (
    16,
    4,
)  # plain instances that a loop of unknown length takes the time of, in a region, and what stands around it
_MOST_WORK = 2**20  # that is added up of a loop in a region


def is_short(program: Program, node: Loop) -> bool:
    """Returns whether a parallel loop counts as short. Such a loop is divided into several chunks per thread, and inside another
    loop it has a second version that runs without threads where there is little work.

    It counts as short if its chunks may be equal (`Loop.last`) or it stands beside regions, loops inside are nested at most two deep,
    and no thread has arrays or partial results of its own.
    """
    if (
        not (node.last or program.scop.has_regions)
        or node.private
        or sum(isinstance(n, Loop) for n in _longest_path(node.body)) > SHORT_DEPTH
    ):
        return False
    return not any(program.thread in e.names for instance in instances(node.body) for e in instance.point)


def work(body: Addresses, node: Loop) -> str:
    """Emits an estimate of how many instances the loop runs, and returns its SSA name: the product of the trip counts along the
    longest chain of nested loops.
    """
    lower, upper = bounds(body, node)
    total = trips(body, node, lower, upper)
    fn = body.fn
    for reach, step, times in _inside(node):
        if reach.is_constant:
            times *= reach.constant // step
        else:
            count = body.integer(reach)
            count = count if step == 1 else fn.emit(f"sdiv i64 {count}, {step}")
            total = fn.emit(f"mul i64 {total}, {count}")
        total = total if times == 1 else fn.emit(f"mul i64 {total}, {times}")
    return total


def region_work(body: Addresses, node: Loop) -> str:
    """Emits an estimate of how many plain instances an instance of the regions in a loop takes as long as, and returns its SSA name."""
    regions = (body.scop.statements[each.statement].region for each in instances(node.body))
    total = "0"
    for region in regions:
        total = total if region is None else body.fn.emit(f"add i64 {total}, {_block_work(body, region.body)}")
    return total


def _block_work(body: Addresses, block: Sequence[syntax.Stmt]) -> str:
    """Emits an estimate of how many plain instances a block of a region takes as long as, and returns its SSA name."""
    fn, total = body.fn, str(BLOCK_WORK + round(sum(map(_operations_work, block))))
    for stmt in block:
        inside = [_block_work(body, part) for part in traversal.bodies(stmt)]
        if not isinstance(stmt, (syntax.For, syntax.While)):
            longer = [part for part in inside if part != str(BLOCK_WORK)]  # of a branch, both sides
        else:
            times = _trips_of(body, stmt) if isinstance(stmt, syntax.For) else str(LOOP_WORK)
            body.declared.setdefault("llvm.smin.i64", "declare i64 @llvm.smin.i64(i64, i64)")
            product = fn.emit(f"mul i64 {times}, {inside[0]}")
            longer = [fn.emit(f"call i64 @llvm.smin.i64(i64 {product}, i64 {_MOST_WORK})")]
        for part in longer:
            total = fn.emit(f"add i64 {total}, {part}")
    return total


def _operations_work(stmt: syntax.Stmt) -> float:
    """Returns how many plain instances the operations of a statement itself take as long as."""
    nodes = (node for expr in traversal.accessed(stmt) for node in traversal.nodes(expr))
    prices = [price for node in nodes if (price := _price(node)) is not None]
    return sum(price.instructions + price.cycles for price in prices)


def _price(node: syntax.Expr) -> Price | None:
    """Returns the price of an operation; None for a load, a constant or a choice."""
    match node:
        case syntax.Binary():
            return OPERATORS.get(node.op, SIMPLE)
        case syntax.Call():
            return FUNCTIONS.get(node.function, LIBRARY_CALL)
    return None


def _trips_of(body: Addresses, loop: syntax.For) -> str:
    """Emits how many iterations a loop of a region has, where sizes and other parameters alone say so, and returns its SSA name."""
    start, stop = _affine(loop.start), _affine(loop.stop)
    if start is None or stop is None or not start.names | stop.names <= body.module.symbols:
        return str(LOOP_WORK)
    fn = body.fn
    length = stop - start if loop.step > 0 else start - stop
    total = body.integer(length if abs(loop.step) == 1 else floor_div(length, abs(loop.step)))
    for name, bound in (("smax", 0), ("smin", _MOST_WORK)):
        body.declared.setdefault(f"llvm.{name}.i64", f"declare i64 @llvm.{name}.i64(i64, i64)")
        total = fn.emit(f"call i64 @llvm.{name}.i64(i64 {total}, i64 {bound})")
    return total


def _affine(end: syntax.Expr) -> Affine | None:
    """Returns the end of a loop of a region as an affine expression; None where it is none."""
    if isinstance(end, syntax.Const):
        return Affine(int(end.value))
    return end.affine if isinstance(end, Integer) else None


def work_at(node: Loop, *corners: Mapping[str, int]) -> list[int | None]:
    """Returns the estimate that `work` emits for each of several values of the program's sizes; None where it depends on other names."""
    reach = extremum("min", node.upper) - extremum("max", node.lower) + node.step
    inside = [*_inside(node)]
    names = reach.names.union(*(each.names for each, _, _ in inside))
    return [_work(reach.evaluate(values) // node.step, inside, values) if names <= values.keys() else None for values in corners]


def _work(iterations: int, inside: Sequence[tuple[Affine, int, int]], values: Mapping[str, int]) -> int:
    total = max(iterations, 0)
    for reach, step, times in inside:
        total *= reach.evaluate(values) // step * times
    return total


def _inside(node: Loop) -> Iterator[tuple[Affine, int, int]]:
    """Yields (reach, step, times) for each node along the longest chain of nested loops inside a loop, outermost first: a loop has
    reach // step iterations, which are at least one, in the middle of the loops around it, and another node has copies.
    """
    middle = {node.var: _middle(node.lower, node.upper), node.last: node.upper[0]}
    for inner in _longest_path(node.body):
        if not isinstance(inner, Loop):
            yield Affine(1), 1, inner.count * (inner.lanes if isinstance(inner, Jam) else 1)
            continue
        low = [e.substitute(middle) for e in inner.lower]
        high = [e.substitute(middle) for e in inner.upper]
        middle[inner.var] = _middle(low, high)
        yield extremum("max", [Affine(inner.step), extremum("min", high) - extremum("max", low) + inner.step]), inner.step, 1


def _middle(lower: Sequence[Affine], upper: Sequence[Affine]) -> Affine:
    """Returns the middle of a range, rounded down.

    lower, upper: the range's bounds: it begins at the greatest of `lower` and ends at the least of `upper`.
    """
    return floor_div(extremum("max", lower) + extremum("min", upper), 2)


def _longest_path(nodes: tuple[Node, ...]) -> list[Loop | Jam | Unroll]:
    """Returns the longest chain of nested loops, Jam nodes (iterations that run together) and unrolled loops below the nodes,
    outermost first. Of several equally long ones it is the first whose Jam nodes have no masks, or simply the first if all have
    some.
    """
    best: list[Loop | Jam | Unroll] = []
    for node in nodes:
        if isinstance(node, Instance):
            continue
        below = _longest_path(node.body)
        path = below if isinstance(node, Guard) else [node, *below]
        best = max(best, path, key=_depth)  # of equal ones the first
    return best


def _depth(path: list[Loop | Jam | Unroll]) -> tuple[int, bool]:
    """Returns the key by which `_longest_path` compares chains: how long one is, then whether no Jam node in it has a mask."""
    return len(path), not any(isinstance(n, Jam) and n.limit is not None for n in path)
