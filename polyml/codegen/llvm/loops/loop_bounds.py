"""The bounds of a loop as integers of the code around it."""

from __future__ import annotations

from polyml.codegen.ir.program import Instance, Loop, Node
from polyml.codegen.llvm.addresses import Addresses
from polyml.quasi_affine.affine import Compare, Condition, Logic, conjunction, extremum

_SMALL_BOUND = 2**20  # loops with constant bounds below it are short in every call


def bounds(body: Addresses, node: Loop) -> tuple[str, str]:
    """Emits the maximum of the loop's lower bounds and the minimum of its upper ones, and returns their SSA names."""
    return body.integer(extremum("max", node.lower)), body.integer(extremum("min", node.upper))


def trips(body: Addresses, node: Loop, lower: str, upper: str) -> str:
    """Emits the number of iterations of the loop, 0 or less if it has none, and returns its SSA name."""
    step, fn = node.step, body.fn
    reach = fn.emit(f"add i64 {fn.emit(f'sub i64 {upper}, {lower}')}, {step}")
    return reach if step == 1 else fn.emit(f"sdiv i64 {reach}, {step}")


def ends(body: Addresses, node: Loop) -> tuple[str, str]:
    """Emits the first and the last iteration of a loop, and returns their SSA names. If it is an outermost loop and no loop inside
    can have iterations in this call, its last iteration is one before its first, so that it has none either.

    Otherwise to visit the rows of an array without columns would take as long as there are rows.
    """
    lower, upper = bounds(body, node)
    is_outermost = all(_is_fixed(n) for n in body.path if isinstance(n, Loop)) and not _is_fixed(node) and not node.resumes
    tests = _something_inside(body, node.body) if is_outermost else None
    if tests is None:
        return lower, upper
    at = body.scopes[depth(body, node)].entry
    none = body.fn.emit(f"sub i64 {lower}, 1", at)
    return lower, body.fn.emit(f"select i1 {body.condition(tests, at)}, i64 {upper}, i64 {none}", at)


def depth(body: Addresses, node: Loop) -> int:
    """Returns the index in `Addresses.scopes` of the outermost scope in which all names in the loop's bounds have values: 0 is that
    of the function, and the loops around the loop follow, the outermost first.
    """
    return max(body.deepest(e.names) for e in (*node.lower, *node.upper))


def _something_inside(body: Addresses, nodes: tuple[Node, ...]) -> Condition | None:
    """Returns a condition on parameters that holds whenever some loop below the nodes has an iteration; None if there is no such
    condition, because an instance or a loop whose bounds depend on other names may run in any case.
    """
    found: list[Condition] = []
    for node in nodes:
        if isinstance(node, Instance):
            return None
        inside = _something_inside(body, node.body)
        own: tuple[Condition, ...] = ()
        if isinstance(node, Loop) and all(e.names <= body.module.symbols for e in (*node.lower, *node.upper)):
            reach = extremum("min", node.upper) - extremum("max", node.lower)
            own = () if body.module.ranges.of(reach)[0] >= 0 else (Compare(">=", reach),)
        if not own and inside is None:
            return None
        found.append(conjunction(*own, *(() if inside is None else (inside,))))
    return Logic("or", tuple(dict.fromkeys(found)))


def _is_fixed(loop: Loop) -> bool:
    """Returns whether all bounds of the loop are small constants, so that it has the same few iterations in every call."""
    bounds = (*loop.lower, *loop.upper)
    return all(e.is_constant for e in bounds) and max(abs(e.constant) for e in bounds) < _SMALL_BOUND
