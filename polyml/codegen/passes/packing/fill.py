"""Makes the loops that fill a copy: they run once for each element of the box that exists in the array, with the statement that
copies it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import islpy as isl

from polyml import polyhedra
from polyml.codegen.analysis.access_boxes import lower_outside
from polyml.codegen.ir.program import Guard, Instance, Loop, Node
from polyml.codegen.passes.packing.copies import PackingContext, TileCopy
from polyml.model.core.scop import Access, Statement
from polyml.quasi_affine.affine import Affine, Compare, floor_div, variable

PANELS_AT_ONCE = 16  # panels that are filled together, row by row, so that the array is read as it is stored

WORDS_AT_ONCE = 16  # rows of words that a thread fills together


@dataclass(frozen=True)
class Filling:
    """The code that fills a copy with the elements of an array.

    statement: copies one element.
    node: the loops that run it for each element.
    """

    statement: Statement
    node: Node


@dataclass(frozen=True)
class _Bounds:
    """The bounds of the loop that fills one dimension of a copy.

    low, high: the first and the last index of the copy's box, each as a tuple of one item; both tuples are empty if the box has all
        indices of the array.
    lower, upper: further lower and upper bounds (inclusive), which all loops that read the copy along the dimension have.
    last: the array's last index in this dimension.
    """

    low: tuple[Affine, ...]
    high: tuple[Affine, ...]
    lower: tuple[Affine, ...]
    upper: tuple[Affine, ...]
    last: Affine

    @property
    def begins(self) -> tuple[Affine, ...]:
        """Returns the lower bounds of the loop that fills this dimension of the copy; the loop begins at the greatest of them."""
        return (*self.low, *self.lower, Affine(0))

    @property
    def ends(self) -> tuple[Affine, ...]:
        """Returns the upper bounds (inclusive) of the loop that fills this dimension of the copy; the loop ends at the least of
        them.
        """
        return (*self.high, *self.upper, self.last)


def fill(context: PackingContext, copy: TileCopy) -> Filling:
    """Returns the statement and the loops that fill the copy with each element of its box that exists in the array."""
    if copy.panel is not None:
        return _fill_panels(context, copy, copy.panel.step)
    rank = len(copy.window.low)
    iterators = tuple(f"i{d}" for d in range(rank))
    subscripts = _subscripts(_name(copy), iterators)
    statement = _statement(copy, iterators, tuple(subscripts[d] for d in copy.order), subscripts)
    variables = [f"{copy.name}_{d}" for d in range(rank)]
    inside: Node = Instance(statement.name, tuple(map(variable, variables)))
    for d in reversed(range(rank)):
        bounds, to_threads = _bounds(context, copy, d), copy.is_shared and d == 0 and rank > 1
        if to_threads and copy.word > 1 and d == copy.order[-2]:  # threads take whole words
            words, step = variable(f"{copy.name}_w"), WORDS_AT_ONCE * copy.word
            row = Loop(variables[d], (words,), (*bounds.ends, words + (step - 1)), 1, (inside,))
            inside = Loop(f"{copy.name}_w", bounds.begins, bounds.ends, step, (row,), parallel=True, role="tile")
            continue
        role = "tile" if to_threads else "point"
        inside = Loop(variables[d], bounds.begins, bounds.ends, 1, (inside,), parallel=to_threads, role=role)
    return Filling(statement, inside)


def _fill_panels(context: PackingContext, copy: TileCopy, width: int) -> Filling:
    """Returns the statement and the loops that fill a copy in panels. A panel has `width` indices of the copy's last dimension, and
    all indices of the others. From the outermost inwards, the loops run over groups of panels, over the indices of the other
    dimensions, over the panels of a group, and over the elements that a panel has at these indices.

    width: of a panel, in elements.
    """
    rank, dim = len(copy.window.low), copy.order[-1]
    iterators = (*(f"i{d}" for d in range(rank)), "p")
    *subscripts, start = _subscripts(_name(copy), iterators)
    read = tuple(start.add(e) if d == dim else e for d, e in enumerate(subscripts))
    written = [start.scale_down_val(isl.Val(width)).floor(), *(subscripts[d] for d in copy.order)]
    statement = _statement(copy, iterators, tuple(written), read)
    variables = [f"{copy.name}_{d}" for d in range(rank)]
    panel, group = f"{copy.name}_p", f"{copy.name}_g"
    along = _bounds(context, copy, dim)
    last = along.last
    begins = (*(along.low or (Affine(0),)), *(floor_div(b, width) * width for b in along.lower if not along.low))
    element = (Instance(statement.name, tuple(map(variable, (*variables, panel)))),)
    part = Loop(variables[dim], (Affine(0),), (Affine(width - 1), last - variable(panel)), 1, element)
    inside: tuple[Node, ...] = (part,)
    step = width * (PANELS_AT_ONCE if copy.word > 1 or context.unit_dim(copy.window.array) == dim else 1)
    if copy.word > 1:
        inside = (Loop(panel, (variable(group),), (*along.ends, variable(group) + (step - width)), width, (part,)),)
    elif step > width:
        whole, ends = replace(part, upper=(Affine(width - 1),)), (*along.ends, variable(group) + (step - width))
        left_over = floor_div(last + 1, width) * width
        narrow = Loop(panel, (variable(group), left_over), ends, width, (part,))
        inside = (
            Loop(panel, (variable(group),), (*ends, last - (width - 1)), width, (whole,)),
            Guard(Compare(">=", last - left_over), (narrow,), rare=True),
        )
    for d in reversed(copy.order[:-1]):
        bounds = _bounds(context, copy, d)
        inside = (Loop(variables[d], bounds.begins, bounds.ends, 1, inside),)
    outer = group if step > width else panel
    return Filling(statement, Loop(outer, begins, along.ends, step, inside, parallel=copy.is_shared, role="tile"))


def _bounds(context: PackingContext, copy: TileCopy, dim: int) -> _Bounds:
    """Returns the bounds of the loop that fills a copy along dimension `dim` of the array."""
    length, first = copy.window.lengths[dim], copy.window.low[dim]
    low, high = ((), ()) if length is None else ((first,), (first + (length - 1),))
    lower, upper = _needed(context, copy, dim, (*low, *high, Affine(0)))
    return _Bounds(low, high, lower, upper, context.table.affine(context.array(copy).shape[dim]) - 1)


def _needed(
    context: PackingContext, copy: TileCopy, dim: int, edges: tuple[Affine, ...]
) -> tuple[tuple[Affine, ...], tuple[Affine, ...]]:
    """Returns (lower, upper): the bounds that all loops reading the copy along dimension `dim` of the array have in common, since
    elements beyond them are never read. Both are empty if some read's subscript in this dimension is not just a loop's variable.

    edges: the bounds of the copy's box, which are left out.
    """
    known = []
    for read in copy.reads:
        e = context.subscripts(read)[dim]
        loop = next((loop for loop in read.loops if e == variable(loop.var)), None)
        if loop is None:
            return (), ()
        inside = read.inner_names(copy.chain, copy.level)
        known.append(
            (
                [b for e in loop.lower for b in lower_outside(e, read.around, inside) if b not in edges],
                [b for b in loop.upper if b not in edges and not b.names & inside],
            )
        )
    lower, upper = known[0]
    return (
        tuple(b for b in dict.fromkeys(lower) if all(b in other for other, _ in known)),
        tuple(b for b in dict.fromkeys(upper) if all(b in other for _, other in known)),
    )


def _name(copy: TileCopy) -> str:
    """Returns the name of the statement that fills the copy."""
    return f"fill_{copy.name}"


def _subscripts(name: str, iterators: tuple[str, ...]) -> tuple[isl.PwAff, ...]:
    """Returns for each iterator ik the function { S[i0, i1, ...] -> [(ik)] }, to be used as a subscript.

    name: the statement S.
    """
    return tuple(isl.PwAff(f"{{ {name}[{', '.join(iterators)}] -> [({i})] }}") for i in iterators)


def _statement(
    copy: TileCopy, iterators: tuple[str, ...], written: tuple[isl.PwAff, ...], read: tuple[isl.PwAff, ...]
) -> Statement:
    """Returns the statement that copies one element.

    written: the subscripts of the element in the copy.
    read: the subscripts of the element in the array.
    """
    name = _name(copy)
    return Statement(
        name=name,
        iterators=iterators,
        domain=isl.Set(f"{{ {name}[{', '.join(iterators)}] }}"),
        writes=(access_to(copy.name, written),),
        reads=(access_to(copy.window.array, read),),
        value=copy.value,
    )


def access_to(array: str, subscripts: tuple[isl.PwAff, ...]) -> Access:
    """Returns the access { S[...] -> array[subscripts] }."""
    relation = polyhedra.relation(subscripts[0].get_domain_space(), array, subscripts)
    return Access(array=array, relation=relation, subscripts=subscripts)
