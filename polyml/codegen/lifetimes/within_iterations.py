"""Which arrays hand no value from one iteration of a loop to another.

    for t: for i: T[i] = A[i]                       T has its elements within one iteration of t: each that is read has been written
           for i: A[i] = T[N - 1 - i] + T[0]        in this iteration before

It is so if the elements that each read accesses are among those that writes before it, in the same iteration, are sure to access.
Both sets are made exactly from the finished loops, as sets of isl whose parameters are the variables of the loop and of those around
it; the writes' set may be too small and the reads' set too large, so the answer no may be wrong, and yes is a proof.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import takewhile

import islpy as isl

from polyml.codegen.analysis.access_conflicts import compares
from polyml.codegen.ir.program import Guard, Instance, Jam, Loop, Node, Unroll
from polyml.codegen.lifetimes.array_uses import ArrayUse
from polyml.codegen.presburger.loop_facts import NotAffine, isl_text
from polyml.polyhedra import BudgetExceeded, budget, left
from polyml.quasi_affine.affine import Affine, Compare, Condition

MOST_OPERATIONS = 250_000  # of isl for one read

_Names = dict[str, str]


def hands_nothing_on(found: Sequence[ArrayUse], loop: Loop, context: isl.Set, operations: int) -> bool:
    """Returns whether it is proved that each element of an array which an iteration of the loop reads was written in it before.

    found: all accesses to the array, which are inside of the loop.
    context: the constraints on parameters.
    operations: the proof is given up once isl has used so many, where they are counted (`polyhedra.account`).
    """
    writes, began = [use for use in found if use.is_write], left() or 0
    for read in found:
        if began - (left() or 0) >= operations or not read.is_write and not _is_written(read, writes, loop, context):
            return False
    return True


def _is_written(read: ArrayUse, writes: Sequence[ArrayUse], loop: Loop, context: isl.Set) -> bool:
    """Returns whether it is proved that an iteration of the loop has written what it reads by one access."""
    try:
        with budget(MOST_OPERATIONS):
            return _unwritten(read, writes, loop, context).is_empty()
    except (BudgetExceeded, NotAffine):
        return False


def _unwritten(read: ArrayUse, writes: Sequence[ArrayUse], loop: Loop, context: isl.Set) -> isl.Set:
    """Returns what an access may read that no write before it has written: the variables of the nodes around it, and the element.

    Raises NotAffine where its subscripts are not affine, or those of a write, and BudgetExceeded where isl takes too long.
    """
    inside = _inside(read, loop)
    variables = [name for node in inside for name in _variables(node)]
    known = {f"e{d}": e for d, e in enumerate(read.subscripts)}
    facts = [fact for node in read.path[:-1] for fact in _facts(node, {}, False)]
    facts += [f"{name} = {isl_text(e, {})}" for name, e in known.items()]
    wanted = _set([*variables, *known], (), facts, context)
    for write in writes:
        if write.number < read.number and (sure := _sure(read, write, loop)) is not None:
            renamed, facts = sure
            facts += [f"{name} = {isl_text(e, renamed)}" for name, e in zip(known, write.subscripts)]
            wanted = wanted.subtract(_set([*variables, *known], [*renamed.values()], facts, context))
    return wanted


def _inside(use: ArrayUse, loop: Loop) -> tuple[Node, ...]:
    """Returns the nodes around an access that are inside of the loop."""
    at = next(k for k, node in enumerate(use.path) if node is loop)
    return use.path[at + 1 : -1]


def _sure(read: ArrayUse, write: ArrayUse, loop: Loop) -> tuple[_Names, list[str]] | None:
    """Returns the constraints, as isl's texts, under which a write runs before a read in one iteration of the loops around both, and
    the names there of the variables of the other nodes around the write; None where it is not known when it runs.
    """
    mine = _inside(write, loop)
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1], zip(_inside(read, loop), mine)))
    own = mine[shared:]
    renamed = {name: f"{name}_w" for node in own for name in _variables(node)}
    facts: list[str] = []
    for node in own:
        if isinstance(node, Guard) and not _is_conjunction(node.condition):
            return None
        facts += _facts(node, renamed, True)
    return renamed, facts


def _variables(node: Node) -> list[str]:
    """Returns the names that a node gives values to."""
    if isinstance(node, (Guard, Instance)):
        return []
    return [node.var, node.last] if isinstance(node, Loop) and node.last else [node.var]


def _facts(node: Node, renamed: _Names, is_exact: bool) -> Iterator[str]:
    """Yields the constraints that hold inside of a node, as isl's texts.

    is_exact: whether they are to be all, of a loop in chunks as if it were one chunk; else those that are not affine may be missing.
    """
    for make in (_bounds(node, renamed), _steps(node, renamed, is_exact)):
        try:
            yield from make
        except NotAffine:
            if is_exact:
                raise


def _bounds(node: Node, renamed: _Names) -> Iterator[str]:
    def text(e: Affine) -> str:
        return isl_text(e, renamed)

    if isinstance(node, Guard):
        yield from (f"{text(c.expr)} {'>=' if c.op == '>=' else '='} 0" for c in compares(node.condition))
    elif isinstance(node, Loop):
        var = renamed.get(node.var, node.var)
        yield from (f"{var} >= {text(e)}" for e in node.lower)
        yield from (f"{var} <= {text(e)}" for e in node.upper)
    elif isinstance(node, (Jam, Unroll)):
        var, count = renamed.get(node.var, node.var), node.count * (node.lanes if isinstance(node, Jam) else 1)
        yield f"{text(node.base)} <= {var} < {text(node.base)} + {count}"
        if isinstance(node, Jam) and node.limit is not None:
            yield f"{var} <= {text(node.limit)}"


def _steps(node: Node, renamed: _Names, is_exact: bool) -> Iterator[str]:
    if not isinstance(node, Loop):
        return
    var, last = (renamed.get(name, name) for name in (node.var, node.last))
    if node.last and is_exact:
        yield f"{last} = {_extremum('min', node.upper, renamed)}"
    elif node.last:
        yield from (f"{last} <= {isl_text(e, renamed)}" for e in node.upper)
        yield f"{var} <= {last}"
    if node.step > 1 and (is_exact or not node.last):
        yield f"({var} - ({_extremum('max', node.lower, renamed)})) mod {node.step} = 0"


def _extremum(op: str, bounds: Sequence[Affine], renamed: _Names) -> str:
    return reduce(lambda one, other: f"{op}({one}, {other})", (isl_text(e, renamed) for e in bounds))


def _is_conjunction(condition: Condition) -> bool:
    """Returns whether a condition is comparisons that all have to hold, which `compares` gives."""
    return isinstance(condition, Compare) or condition.op == "and" and all(map(_is_conjunction, condition.parts))


def _set(dims: Sequence[str], exists: Sequence[str], facts: Sequence[str], context: isl.Set) -> isl.Set:
    """Returns the set { [dims] : exists ...: facts } as one of isl, whose parameters are all other names."""
    body = " and ".join(facts) or "true"
    names = {word for fact in facts for word in _words(fact)} - {*dims, *exists, "floor", "mod", "min", "max", "and"}
    inner = f"exists {', '.join(exists)}: {body}" if exists else body
    return isl.Set(f"[{', '.join(sorted(names))}] -> {{ [{', '.join(dims)}] : {inner} }}").intersect_params(context)


def _words(text: str) -> Iterator[str]:
    word = ""
    for c in text + " ":
        if c.isalnum() or c == "_":
            word += c
        else:
            if word and not word[0].isdigit():
                yield word
            word = ""
