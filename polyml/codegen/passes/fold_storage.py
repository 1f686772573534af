"""Storage folding: a local array of which a loop uses only a few neighbouring rows at a time is kept in a circular buffer.

        for c by 64: for i in c ... c + 63: T[i, :] = ...                                  T: N rows
                     for i in c - 1 ... c + 62: B[i, :] = T[i - 1, :] + T[i + 1, :]     -> T: 66 rows, row i at i % 66

Proof. In every access the index stays within c + low ... c + high (or N - c + low ..., depending on the loop's direction); this
is shown on the finished loops. So an element i is accessed only in iterations with i - high <= c <= i - low, and two elements
whose distance is high - low + 1 or more are never accessed in the same iteration. All accesses to one of them come before all
accesses to the other, so they may share memory.

The last dimension stays whole, since vectors run along it, unless one index of it suffices, as for a scalar that was expanded; so
does any dimension that lanes run along. The order of
accesses inside an iteration of the loop does not matter, so threads may share an iteration. Loops whose own iterations run on
several threads or in lanes are left alone.

Halide calls this fold_storage. Lefebvre and Feautrier, "Automatic storage management for parallel programs", Parallel Computing
24, 1998: the modulus of a dimension.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile

import islpy as isl

from polyml.codegen.analysis.access_conflicts import TEST_OPERATIONS, ConflictTest, InstanceAccess, compares, jam_range, loop_range
from polyml.codegen.ir.accesses import AccessTable
from polyml.codegen.ir.program import Guard, Instance, Jam, Loop, Node, Program, Window, every, loops, with_paths
from polyml.codegen.presburger.loop_facts import NotAffine, isl_text
from polyml.model.core.scop import Array, Role
from polyml.polyhedra import BudgetExceeded, budget, extremes, without_sizes
from polyml.quasi_affine.affine import Affine, variable

_Use = tuple[InstanceAccess, tuple[Node, ...]]  # an access, and the nodes around it


def fold_storage(program: Program, arrays: Iterable[Array]) -> Program:
    """Returns the program with circular buffers for those of the arrays for which they are proved to suffice.

    The loops must be final: a pass that changes their order afterwards would break the proof.
    """
    candidates = {a.name: a for a in arrays if _may_fold(program, a)}
    if not candidates:
        return program
    tests = ConflictTest(program.scop, AccessTable(program.scop.context))
    found: dict[str, Window] = {}
    notes: list[str] = []
    for name, uses in _uses(program, candidates).items():
        before = program.windows.get(name)
        loop = _common_loop(name, before, uses)
        if loop is None or sum(node is loop for node in every(program.body)) > 1:
            continue
        window = _circular_buffer(tests, program.scop.checked, candidates[name], loop, uses)
        if window is not None:
            found[name] = window if before is None else _both(before, window)
            is_private = any(name in loop.private for loop in loops(program.body))
            notes.append(_note(candidates[name], window, is_private))
    return replace(program, windows={**program.windows, **found}, notes=(*program.notes, *notes)) if found else program


def _both(window: Window, folded: Window) -> Window:
    """Returns a window with the circular buffer of another one along the dimension that it has it in."""
    pairs = list(enumerate(zip(window.low, window.lengths, folded.low, folded.lengths)))
    low = tuple(new if d == folded.folded else old for d, (old, _, new, _) in pairs)
    lengths = tuple(new if d == folded.folded else old for d, (_, old, _, new) in pairs)
    return Window(low, lengths, folded.folded)


def _note(array: Array, window: Window, is_private: bool) -> str:
    """Returns a note for the report that says how many rows or planes of the array have memory."""
    length = _buffer_length(window)
    what = "row" if window.folded == len(array.shape) - 2 else "plane"
    whose = " and thread" if is_private else ""
    return f"{array.source_name or array.name}: {length} {what}{'s' * (length > 1)} at a time{whose} in memory"


def _buffer_length(window: Window) -> int:
    """Returns the number of rows in the window's circular buffer. Raises ValueError if it has none."""
    length = None if window.folded is None else window.lengths[window.folded]
    if length is None:
        raise ValueError("a window without a circular buffer has no length")
    return length


def _may_fold(program: Program, array: Array) -> bool:
    """Returns whether the array may get a circular buffer: a local array that is no result and has none."""
    if array.role is not Role.LOCAL or not array.shape or any(r.array == array.name for r in program.scop.results):
        return False
    window = program.windows.get(array.name)
    return window is None or window.folded is None and _moves(window)


def _moves(window: Window) -> bool:
    """Returns whether the window has elements of one iteration of a loop around: its first index is that loop's variable."""
    return bool(window.low[0].names) and not any(first.names for first in window.low[1:])


def _uses(program: Program, names: dict[str, Array]) -> dict[str, list[_Use]]:
    """Returns, for each array, the accesses to it with the nodes around each, outermost first."""
    found: dict[str, list[_Use]] = {}
    for instance, path in with_paths(program.body):
        statement = program.scop.statements[instance.statement]
        for access in (*statement.reads, statement.write):
            if access.array in names:
                found.setdefault(access.array, []).append(((access, instance), path))
    return found


def _common_loop(name: str, window: Window | None, uses: Sequence[_Use]) -> Loop | None:
    """Returns the outermost sequential loop around all accesses to the array, or None if there is none.

    A loop of which each iteration has memory of its own is skipped: one whose threads have the array for themselves, or one that the
    array's window moves with.
    """
    outermost = [_loops(path) for _, path in uses]
    if not all(outermost):
        return None
    first = outermost[0][0]
    own = window is not None and first.var in window.low[0].names
    if own or first.parallel and name in first.private:
        if any(found[0] is not first for found in outermost):
            return None
        outermost = [found[1:] for found in outermost]
    if not all(outermost):
        return None
    loop = outermost[0][0]
    return loop if not loop.parallel and all(found[0] is loop for found in outermost) else None


def _loops(path: Sequence[Node]) -> list[Loop]:
    """Returns the loops of a path of nodes, outermost first, up to the first node that runs iterations together."""
    plain = takewhile(lambda node: isinstance(node, Guard | Loop), path)
    return [node for node in plain if isinstance(node, Loop)]


def _circular_buffer(tests: ConflictTest, context: isl.Set, array: Array, loop: Loop, uses: Sequence[_Use]) -> Window | None:
    """Returns the circular buffer of an array, along its first dimension that can have one; None if no dimension can. While the
    loop runs, the indices of such a dimension stay within a constant distance of an expression that moves with the loop, and no
    vector lanes run along it. Of the last dimension a buffer has one index.

    context: the constraints on parameters.
    uses: the accesses to the array.
    """
    for dim in range(len(array.shape)):
        places = [(tests.subscripts(touch)[dim], path) for touch, path in uses]
        found = (_reach([(e - centre, path) for e, path in places], context) for centre in _centres(loop, places))
        length = next((n for n in found if n is not None), None)
        is_last = dim == len(array.shape) - 1
        if length is not None and (length == 1 or not is_last) and not any(_lanes_along(tests, use, dim) for use in uses):
            lengths = tuple(length if d == dim else None for d in range(len(array.shape)))
            return Window((Affine(0),) * len(array.shape), lengths, folded=dim)
    return None


def _centres(loop: Loop, places: Sequence[tuple[Affine, tuple[Node, ...]]]) -> Iterator[Affine]:
    """Yields expressions that one dimension's indices may stay near while `loop` runs. The first is the loop's variable. If an
    index is another expression of this variable and of no other loop's, the second one is the first such index without its constant
    term.

    places: the indices along the dimension, each with the nodes around it.
    """
    yield variable(loop.var)
    for e, path in places:
        others = {node.var for node in path if not isinstance(node, Guard | Instance)} - {loop.var}
        if e.coefficient(loop.var) and not e.names & others and e - e.constant != variable(loop.var):
            yield e - e.constant
            return


def _reach(offsets: Sequence[tuple[Affine, tuple[Node, ...]]], context: isl.Set) -> int | None:
    """Returns the number of consecutive integers that contain the values of all expressions; None if no number is known.

    offsets: the expressions, each with the nodes around it.
    context: the constraints on parameters.
    """
    known: dict[str, tuple[int, int] | None] = {}
    found: list[tuple[int, int]] = []
    for offset, path in offsets:
        text = _values(offset - offset.constant, path)
        if text not in known:
            known[text] = _limits(text, context)
        limits = known[text]
        if limits is None:
            return None
        least, greatest = limits
        found.append((least + offset.constant, greatest + offset.constant))
    return max(greatest for _, greatest in found) - min(least for least, _ in found) + 1


def _limits(text: str, context: isl.Set) -> tuple[int, int] | None:
    """Returns the least and the greatest integer of a set { [value] } over all values of its parameters; None if there is none, or
    isl takes too long.

    text: the set in isl's syntax.
    context: the constraints on parameters.
    """
    try:
        with budget(TEST_OPERATIONS):
            return extremes(without_sizes(isl.Set(text).intersect_params(context)))
    except BudgetExceeded:
        return None


def _values(e: Affine, path: Sequence[Node]) -> str:
    """Returns the text, in isl's syntax, of the set of values that the expression e takes inside of the nodes; the text of the set
    of all integers if e is not affine.

    path: the nodes around e, outermost first.
    """
    names, facts = set(e.names), []
    for node in reversed(path):
        if isinstance(node, Instance):
            continue
        if isinstance(node, Guard) or node.var in names or isinstance(node, Loop) and node.last in names:
            for text, used in _facts(node):
                facts.append(text)
                names |= used
    try:
        here = [f"value = {isl_text(e, {})}", *facts]
    except NotAffine:
        here = ["true"]
    return f"[{', '.join(sorted(names))}] -> {{ [value] : {' and '.join(here)} }}"


def _facts(node: Node) -> Iterator[tuple[str, frozenset[str]]]:
    """Yields the constraints that hold inside of a node, as text in isl's syntax, each with the names in it. Constraints that are
    not affine are left out.
    """
    for expression, sign in _signs(node):
        try:
            yield f"{isl_text(expression, {})} {sign} 0", expression.names
        except NotAffine:
            continue


def _signs(node: Node) -> Iterator[tuple[Affine, str]]:
    """Yields (expression, "=" or ">=") for what holds inside of a node: the expression is zero, or not negative."""
    if isinstance(node, Instance):
        return
    if isinstance(node, Guard):
        yield from ((c.expr, ">=" if c.op == ">=" else "=") for c in compares(node.condition))
        return
    ranges = [loop_range(node) if isinstance(node, Loop) else jam_range(node)]
    if isinstance(node, Loop) and node.last:
        ranges.append(replace(ranges[0], var=node.last, low=()))
    for each in ranges:
        yield from ((variable(each.var) - low, ">=") for low in each.low)
        yield from ((high - variable(each.var), ">=") for high in each.high)


def _lanes_along(tests: ConflictTest, use: _Use, dim: int) -> bool:
    """Returns whether vector lanes run along dimension `dim` of the accessed array."""
    touch, path = use
    moving = tests.subscripts(touch)[dim].names
    return any(isinstance(node, Jam) and node.lanes > 1 and node.var in moving for node in path)
