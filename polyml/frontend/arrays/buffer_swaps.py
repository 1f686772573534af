"""Loops that swap the arrays of names, as `u, v = v, u` at the end of a time step does, are unrolled by the length of the cycle.

    for t in range(n):                      for q in range(n // 2):
        v[1:-1] = u[2:] - u[:-2]     ->         v[1:-1] = u[2:] - u[:-2]
        u, v = v, u                             u[1:-1] = v[2:] - v[:-2]
                                            if n % 2 > 0: v[1:-1] = u[2:] - u[:-2]

After a whole period every name stands for what it did, so that each copy of the body knows its arrays. What the names stand
for behind the loop depends on how often it ran: where that is read, the number has to be known. (Double buffering; unrolled as in
modulo variable expansion: Lam, "Software pipelining", PLDI 1988.)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from polyml.errors import PolymlError, SizesNeeded
from polyml.frontend import syntax, traversal
from polyml.frontend.arrays.bindings import Uncertain
from polyml.frontend.arrays.loop_builder import LoopBuilder
from polyml.frontend.arrays.shapes import Linear
from polyml.frontend.arrays.views import Elements
from polyml.frontend.name_resolution import bound_names, left, unused
from polyml.frontend.syntax import Expr, Stmt

LONGEST_PERIOD = 4  # how many iterations of a loop are written out at most


@dataclasses.dataclass(frozen=True)
class SwapCycle:
    """A SwapCycle says how each iteration of a loop exchanges the arrays that names stand for, as `u, v = v, u` does.

    period: the number of iterations after which every exchanged name stands again for the array that it stood for at first
    others: names that each iteration binds to further arrays; an iteration may read one only after it has bound it itself
    """

    period: int
    others: tuple[str, ...]


def swap_cycle(builder: LoopBuilder, stmt: syntax.For) -> SwapCycle | None:
    """Returns how each iteration of a loop exchanges the arrays that names stand for at its start.

    None is returned where the loop exchanges no arrays, where it may end early, where its bounds read a name that it assigns, where its body cannot be
    lowered, or where the exchange takes more than 4 iterations (LONGEST_PERIOD) to return to its start.
    """
    assigned = bound_names(stmt.body)
    bound = [n for n in assigned - builder.kept if isinstance(builder.arrays.get(n), Elements)]
    if (
        not bound
        or left(stmt.body)
        or any(isinstance(n, syntax.Name) and n.name in assigned for e in (stmt.start, stmt.stop) for n in traversal.nodes(e))
    ):
        return None
    before = dict(builder.arrays)
    entry = {n: dataclasses.replace(before[n]) for n in bound}  # copies, which are distinct where two names stand for one array
    builder.arrays |= entry
    try:
        builder.iteration(stmt)
    except SizesNeeded:
        raise
    except PolymlError:
        return None  # the loop is lowered as it is, and raises it again
    finally:
        after, builder.arrays = builder.arrays, before
    for name in bound:
        known = after.get(name)
        if isinstance(known, Uncertain) and known.by_number:
            builder.known(name, known, stmt.loc)
    source = {n: next((m for m in bound if entry[m] is after.get(n)), None) for n in bound}
    cyclic = [n for n in bound if _is_on_cycle(source, n)]
    others = tuple(n for n in bound if n not in cyclic)
    successor = {n: m for n in cyclic if (m := source[n]) is not None}
    reached, length = successor, 1
    while any(reached[n] != n for n in cyclic):
        reached, length = {n: successor[reached[n]] for n in cyclic}, length + 1
    return SwapCycle(length, others) if cyclic and length <= LONGEST_PERIOD else None


def unroll_cycle(builder: LoopBuilder, stmt: syntax.For, start: Expr, stop: Expr, cycle: SwapCycle) -> None:
    """Adds the loop, unrolled by the period of the cycle, and the iterations left over behind it, to the builder's statements."""
    period = cycle.period
    count = _iterations(start, stop, stmt.step)
    total = Linear.of(count)
    rounds, left = syntax.Binary("//", count, syntax.Const(period)), syntax.Binary("%", count, syntax.Const(period))
    index = unused(stmt.var, builder.taken)
    first = syntax.Binary("*", syntax.Name(index), syntax.Const(period))
    body: list[Stmt] = []
    _forget(builder, cycle.others)
    for k in range(period):
        body += _as_iteration(builder, stmt, start, syntax.Binary("+", first, syntax.Const(k)))
    builder.out.append(syntax.For(index, syntax.Const(0), rounds, 1, tuple(body), loc=stmt.loc))
    done = syntax.Binary("*", rounds, syntax.Const(period))
    _forget(builder, cycle.others)
    if total.is_constant:
        for k in range(max(total.constant, 0) % period):
            builder.out += _as_iteration(builder, stmt, start, syntax.Binary("+", done, syntax.Const(k)))
        _forget(builder, cycle.others)
        return
    before = dict(builder.arrays)
    for k in range(period - 1):
        made = _as_iteration(builder, stmt, start, syntax.Binary("+", done, syntax.Const(k)))
        some = syntax.Compare(">", count, syntax.Const(k))
        more = syntax.Compare(">", left, syntax.Const(k))
        builder.out.append(syntax.If(syntax.Logical("and", (some, more)), tuple(made), (), loc=stmt.loc))
    builder.arrays = before
    if period > 1:
        for name in bound_names(stmt.body) & builder.arrays.keys():
            why = f"what `{name}` stands for depends on how often a loop runs"
            builder.arrays[name] = Uncertain(why, by_number=True)


def _forget(builder: LoopBuilder, names: Sequence[str]) -> None:
    for name in names:
        builder.arrays[name] = Uncertain(f"`{name}` is bound to another array in each iteration of a loop")


def _as_iteration(builder: LoopBuilder, stmt: syntax.For, start: Expr, number: Expr) -> tuple[Stmt, ...]:
    """Returns the statements of the loop's body in the iteration of this number; iterations are numbered from 0."""
    known = builder.numbers.get(stmt.var)
    step = syntax.Binary("*", number, syntax.Const(stmt.step))
    builder.numbers[stmt.var] = Linear.of(syntax.Binary("+", start, step)).expr
    made = builder.iteration(stmt)
    builder.numbers.pop(stmt.var)
    if known is not None:
        builder.numbers[stmt.var] = known
    return made


def _is_on_cycle(source: dict[str, str | None], name: str) -> bool:
    """Returns whether a name stands for its own array again after some iterations of a loop that rebinds names to arrays.

    source: { name -> the name whose array it stands for after one iteration, None for an array that none of the names stood for }
    """
    at = source[name]
    for _ in source:
        if at is None or at == name:
            break
        at = source[at]
    return at == name


def _iterations(start: Expr, stop: Expr, step: int) -> Expr:
    """Returns the number of iterations of a loop as an expression, which is zero or negative where the loop does not run."""
    length = Linear.of(stop) - Linear.of(start) if step > 0 else Linear.of(start) - Linear.of(stop)
    size = abs(step)
    if length.is_constant:
        return syntax.Const((length.constant + size - 1) // size)
    return length.expr if size == 1 else syntax.Binary("//", (length + (size - 1)).expr, syntax.Const(size))
