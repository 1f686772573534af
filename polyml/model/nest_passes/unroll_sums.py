"""Short loops that sum into one element are fully unrolled, so that the element's value is one expression.

        s = 0.0                                          s = 0.0
        for p in range(2):                               s += w[0]*A[i]
            s += w[p]*A[i + p]             ->            s += w[1]*A[i + 1]
        B[i] = s                                         B[i] = s

`forward` then makes one statement of what is left: a stencil, in which nothing has to run in order. Sums that go on in a loop
around, such as those of contractions, stay loops. (Full unrolling: LLVM's loop-unroll-full, Halide's unroll.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from polyml.model.core.nest import Assign, Guard, Loop, Nest, Node, assigns, iterators, substituted_in
from polyml.quasi_affine import affine as af
from polyml.quasi_affine.affine import Affine

MOST_COPIES = 32  # of assignments that one loop becomes


def unrolled(nest: Nest) -> Nest:
    """Returns the nest with short loops that sum into one element fully unrolled; its requirements do not change."""
    return replace(nest, body=_block(nest.body, ()))


def _block(body: Sequence[Node], around: tuple[str, ...]) -> tuple[Node, ...]:
    """Returns the nodes of a block with its short loops that sum into one element unrolled.

    around: the iterators of the loops around the block
    """
    done: list[Node] = []
    for node in body:
        if isinstance(node, Loop):
            copies = _copies(node)
            if copies is not None and _is_of_one_element(node, copies, done, around):
                done += copies
                continue
            node = replace(node, body=_block(node.body, (*around, node.iterator)))
        elif isinstance(node, Guard):
            node = replace(node, body=_block(node.body, around))
        done.append(node)
    return tuple(done)


def _copies(loop: Loop) -> list[Node] | None:
    """Returns the nodes of all iterations of a loop, in order, with inner loops unrolled as well.

    The result is None where there would be too many nodes, or where a number of iterations is not constant.
    """
    if not (loop.start.is_constant and loop.stop.is_constant):
        return None
    values = range(loop.start.constant, loop.stop.constant, loop.step)
    if len(values) * sum(1 for _ in assigns(loop.body)) > MOST_COPIES:
        return None
    found: list[Node] = []
    for value in values:
        for node in loop.body:
            copies = _straight(substituted_in(node, {loop.iterator: Affine(value)}))
            if copies is None or len(found) + len(copies) > MOST_COPIES:
                return None
            found += copies
    return found


def _straight(node: Node) -> list[Node] | None:
    """Returns the nodes that a node becomes when the loops in it are unrolled; None where one of the loops is not unrolled."""
    if isinstance(node, Assign):
        return [node]
    if isinstance(node, Loop):
        return _copies(node)
    whole: list[Node] = []
    for child in node.body:
        inner = _straight(child)
        if inner is None:
            return None
        whole += inner
    if node.condition == af.TRUE:
        return whole
    return [replace(node, body=tuple(whole))] if whole and node.condition != af.FALSE else []


def _is_of_one_element(loop: Loop, copies: Sequence[Node], before: Sequence[Node], around: tuple[str, ...]) -> bool:
    """Returns whether all iterations of a loop assign the same elements, and each iteration of the loops around assigns others.

    The second condition is not for scalars: it is enough that one is assigned in front of the loop, or in the loop before it is
    read.

    copies: the loop's iterations, unrolled
    before: the nodes in front of it in its block
    around: the iterators of the loops around it
    """
    defined = {node.array for node in before if isinstance(node, Assign)}
    moving = {loop.iterator, *iterators(loop.body)}
    for assign in assigns(loop.body):
        names = frozenset().union(*(s.names for s in assign.subscripts))
        if not names.isdisjoint(moving):
            return False
        if assign.subscripts:
            if not names >= set(around):
                return False
        elif assign.array not in defined and _is_read_first(assign.array, copies):
            return False
    return True


def _is_read_first(name: str, nodes: Sequence[Node]) -> bool:
    """Returns whether the scalar `name` may be read in the nodes before they assign it."""
    for node in nodes:
        if isinstance(node, Assign):
            if any(read.array == name for read in node.reads):
                return True
            if node.array == name:
                return False
        elif name in node.uses:
            return True
    return False
