"""Schedule tree -> loops, where every domain is one conjunction of linear constraints.

    for c0: for c1: S(c0, c1)       c0 between what the constraints say with i eliminated, c1 between what they say of it

Ancourt, Irigoin: "Scanning polyhedra with DO loops", PPoPP 1991. isl's generator also has unions, strides and alternatives,
and takes ten times as long where there are none. Bounds here are what follows from the constraints, so that nothing is left
out; before an instance each of its constraints is proved from the loops around it, and asked where it is not.

Trees of every kind are scanned where isl takes too long: then alternatives are statements of their own, a loop goes from the
least bound of its statements to the greatest, of many bounds the shortest are taken, and remainders are asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import islpy as isl

from polyml import polyhedra
from polyml.codegen.astgen.context import LoopContext
from polyml.codegen.astgen.loop_hulls import bounding_rows, common_rows, hull, same_value
from polyml.codegen.astgen.marks import LoopMarks
from polyml.codegen.astgen.row_expressions import all_non_negative, loop_bound, rounded_quotient
from polyml.codegen.astgen.row_tree import (
    RowFilter,
    RowLeaf,
    RowLoop,
    RowMark,
    RowSequence,
    RowTree,
    around,
    defined,
    loops_to,
    maxima_in,
    read,
    same_parameters,
    systems_of,
)
from polyml.codegen.ir.program import Guard, Instance, Loop, Node
from polyml.codegen.presburger.constraint_rows import (
    LoopName,
    Maximum,
    NotSimple,
    both,
    equations_in,
    innermost_loop,
    is_fixed,
    of_loops,
    opposite,
    outline,
    replaced,
    row_key,
    row_of_linear,
    shadows_of,
    solve,
    solved_for,
    without_maxima,
)
from polyml.codegen.presburger.omega_test import Name, Row, System, shadow
from polyml.polyhedra import Quotient
from polyml.quasi_affine.affine import Affine, extremum, operands, variable


def scan(schedule: isl.Schedule, context: isl.Set, every: bool = False) -> list[Node] | None:
    """Returns the loops that run the schedule, or None where isl's generator is to make them.

    context: constraints on the parameters.
    every: whether a tree of any kind is taken, if need be with more tests and more iterations that do nothing.
    """
    root = schedule.get_root()
    domains = {piece.get_tuple_name(): piece for piece in polyhedra.pieces(root.domain_get_domain())}
    try:
        equal, least = ([*map(row_of_linear, side)] for side in polyhedra.integer_rows(context) or ([], []))
        same = same_parameters(equal, polyhedra.parameter_names(context))
        left = (replaced(row, same) for row in equal)
        tree = read(root.child(0), frozenset(domains), same, every)
        known = (
            *(replaced(row, same) for row in least),
            *(row for found in dict.fromkeys(maxima_in(tree)) for row in found.facts()),
        )
        here = LoopContext(System(tuple(row for row in left if row[0]), known), every=every)
        found = [
            ActiveStatement(name, polyhedra.dimensions(piece), system)
            for name, piece in domains.items()
            for system in systems_of(piece, same, every)
        ]
        active = [a for a in (_with_shadows(a, tree, here) for a in found) if a.has_instances(0)]
        asked = [_unproved(here, a.rows_around(0)) for a in active]
        return _guarded(common_rows(asked), here, lambda inside: _nodes(tree, active, inside, LoopMarks())) if active else []
    except NotSimple:
        return None


@dataclass(frozen=True)
class ActiveStatement:
    """A statement, or one conjunction of its domain if that is a union, at a node of the tree.

    name: the statement.
    dims: how many iterators it has.
    system: constraints on its iterators (numbers), quotients, parameters and loops around.
    rows: the constraints that follow on parameters and loops alone.
    shadows: projections: at [n], the constraints that follow on parameters and the n outermost loops alone, None if there are no
        instances. There is one for each loop down to the next filter that adds constraints to the statement, or sequence that has
        it in several children.
    """

    name: str
    dims: int
    system: System
    rows: tuple[Row, ...] = ()
    shadows: tuple[tuple[Row, ...] | None, ...] = ()

    def rows_around(self, depth: int) -> list[Row]:
        """Returns the constraints in `rows` that are on parameters and the outermost `depth` loops alone."""
        return [row for row in self.rows if innermost_loop(row) < depth]

    def has_instances(self, depth: int) -> bool:
        """Returns whether the statement may have instances, by its constraints on the outermost `depth` loops."""
        return self.shadows[depth] is not None

    def shadow(self, depth: int) -> tuple[Row, ...]:
        """Returns the constraints that follow on parameters and the outermost `depth` loops; none if there are no instances."""
        return self.shadows[depth] or ()


def _with_shadows(a: ActiveStatement, tree: RowTree, here: LoopContext) -> ActiveStatement:
    """Returns the statement with the projections of its constraints onto the loops below a node of the tree, found by elimination
    of one loop after the other, the innermost first.

    here: the context at the node.
    """
    depth = loops = here.depth
    system = a.system
    for loop in loops_to(tree, a.name):
        system &= defined(("loop", loops), loop, a.name)
        loops += 1
    _, rows = _solved(system, here)
    own: tuple[Row, ...] = ()
    outer: list[Row] | None = rows
    if of_loops(rows):
        own = tuple(rows)
    else:
        outer = outline(rows) if here.every else _shadow(system, loops)
    return replace(a, rows=own, shadows=(None,) * depth + shadows_of(outer, depth, loops, here.every))


def _has_shadows(a: ActiveStatement, tree: RowTree, here: LoopContext) -> bool:
    """Returns whether the projections of the statement's constraints are known for all loops around it that are below a node of the
    tree.

    here: the context at the node.
    """
    return len(a.shadows) > here.depth + sum(1 for _ in loops_to(tree, a.name))


def _solved(system: System, here: LoopContext) -> tuple[dict[Name, Row], list[Row]]:
    """Returns the values of iterators and quotients that the system's equations give, and the system's constraints, as linear
    expressions that are at least 0, with these values put in.
    """
    solved, left = solve(system.equal, shortest=here.every)
    rows = [replaced(row, solved) for row in both(System(tuple(left), system.least))]
    for row in equations_in(rows) if here.every else ():
        if any(abs(c) == 1 and type(name) in (int, Quotient) for name, c in row[0].items()):
            return _solved(replace(system, equal=(*system.equal, row)), here)
    return solved, rows


def _shadow(system: System, loops: int) -> list[Row] | None:
    """Returns the constraints that the system implies on parameters and the outermost `loops` loops, or None where it has no
    solution. Raises NotSimple if this takes too long.
    """
    names: set[Name] = {name for terms, _ in (*system.equal, *system.least) for name in terms if is_fixed(name)}
    found = shadow(system, frozenset(names | {("loop", depth) for depth in range(loops)}))
    if found is None:
        raise NotSimple
    return None if found.system is None else both(found.system)


def _nodes(tree: RowTree, active: list[ActiveStatement], here: LoopContext, marks: LoopMarks) -> list[Node]:
    """Returns the nodes that run the active statements below a node of the tree.

    here: the context of the loops around.
    marks: the marks above.
    """
    if isinstance(tree, RowLeaf):
        if len(active) != 1 and not here.every:
            raise NotSimple
        return [n for a in active for n in _instance(a, here)]
    if isinstance(tree, RowMark):
        return _nodes(tree.child, active, here, marks.under(tree.text))
    if isinstance(tree, RowSequence):
        return [n for child in tree.children for n in _nodes(child, active, here, marks)]
    if isinstance(tree, RowFilter):
        return _filtered(tree, active, here, marks)
    return _loop(tree, active, here, marks)


def _filtered(tree: RowFilter, active: list[ActiveStatement], here: LoopContext, marks: LoopMarks) -> list[Node]:
    """Returns the nodes that run the statements that a filter keeps, under a guard for the constraints that all of them share."""
    chosen = [a for a in active if a.name in tree.more]
    known = [tree.more[a.name] == _NOTHING_MORE and _has_shadows(a, tree.child, here) for a in chosen]
    if len(chosen) == len(active) and all(known):
        return _nodes(tree.child, active, here, marks)
    filtered = [
        a if is_known else _with_shadows(replace(a, system=a.system & more), tree.child, here)
        for a, is_known in zip(chosen, known)
        for more in tree.more[a.name]
    ]
    left = [a for a in filtered if a.has_instances(here.depth)]
    asked = [_unproved(here, [*a.rows_around(here.depth), *_asked_of_loops(a, here)]) for a in left]
    return _guarded(common_rows(asked), here, lambda inside: _nodes(tree.child, left, inside, marks)) if left else []


_NOTHING_MORE = (System(),)


def _asked_of_loops(a: ActiveStatement, here: LoopContext) -> list[Row]:
    """Returns constraints on the loops around a filter, for a guard to test before the next loop inside begins; they hold wherever
    that loop has iterations. Constraints whose test would skip no more than one iteration of a loop around are left out.
    """
    further = a.shadows[here.depth + 1 :]
    inside = {row_key(row) for row in (further[0] if further else None) or ()}
    found = []
    for terms, constant in a.shadow(here.depth):
        innermost = innermost_loop((terms, constant))
        if innermost < 0 or row_key((terms, constant)) not in inside:
            continue
        if not here.proves((terms, constant + abs(terms["loop", innermost]))):
            found.append((terms, constant))
    return found


def _unproved(here: LoopContext, rows: Iterable[Row]) -> list[Row]:
    """Returns those of the linear expressions `rows` that are not proved to be at least 0 by the context and the ones before
    them. Of an equation, which is two opposite ones, both are returned unless both are proved.
    """
    each = [left for row in rows for left in without_maxima(row)]
    found: list[Row] = []
    for row in each:
        if not here.proves(row):
            found.append(row)
            here = here.having([row])
    asked, given = {*map(row_key, found)}, {*map(row_key, each)}
    ends = [opposite(row) for row in found]
    return [*found, *(row for row in ends if row_key(row) in given - asked)]


def _guarded(rows: list[Row], here: LoopContext, make: Callable[[LoopContext], list[Node]]) -> list[Node]:
    """Returns the nodes that `make` returns for the context in which the linear expressions `rows` are at least 0, under a guard
    that tests them.
    """
    body = make(here.having(rows))
    if not rows or not body:
        return body
    return [Guard(all_non_negative(rows, here), tuple(body))]


def _loop(loop: RowLoop, statements: list[ActiveStatement], here: LoopContext, marks: LoopMarks) -> list[Node]:
    """Returns the loop around all statements that have instances in it, or its body where it has one iteration; nothing if no
    statement has instances.
    """
    depth, name = here.depth, ("loop", here.depth)
    active = [replace(a, system=a.system & defined(name, loop, a.name)) for a in statements if a.has_instances(depth + 1)]
    if not active:
        return []
    shadows = [a.shadow(depth + 1) for a in active]
    outer = common_rows([[row for row in rows if name not in row[0]] for rows in shadows])
    likely = here.having(outer)  # else loops inside have no iterations
    own = [bounding_rows(name, rows, likely) for rows in shadows]
    equation = same_value(name, own)
    if equation is not None:  # other equations are asked further inside
        inside = here.in_loop(both(System((equation,))), rounded_quotient(solved_for(equation, name), 1, here), 1)
        return _nodes(loop.child, active, inside, marks.inside())
    rows = hull(name, own, likely, [a.system for a in active], loop.kind)
    lower, upper = _ends(rows, name, loop, here)
    if here.every and not (lower and upper):
        each = [_ends(both(its), name, loop, here) for its in own]
        lower = lower or _farthest("min", "max", [low for low, _ in each])
        upper = upper or _farthest("max", "min", [high for _, high in each])
    if not lower or not upper:
        raise NotSimple
    known = here.having(fact for row in rows for name in row[0] if isinstance(name, Maximum) for fact in name.facts())
    inside = known.in_loop(rows, variable(f"c{depth}") - loop.offset, loop.step)
    body = tuple(_nodes(loop.child, active, inside, marks.inside()))
    if not body:
        return []
    first, last = operands("max", extremum("max", lower)), operands("min", extremum("min", upper))
    return [marks.marked(Loop(f"c{depth}", first, last, loop.step, body))]


def _ends(rows: Iterable[Row], name: LoopName, loop: RowLoop, here: LoopContext) -> tuple[list[Affine], list[Affine]]:
    """Returns the lower bounds and the upper bounds of a loop's variable.

    rows: the bounds as linear expressions that are at least 0.
    name: the loop's in the rows.
    """
    bounds = [(row[0][name] > 0, loop_bound(row, name, loop.step, here) + loop.offset) for row in rows]
    return [bound for is_lower, bound in bounds if is_lower], [bound for is_lower, bound in bounds if not is_lower]


def _farthest(over: str, of: str, bounds: Sequence[list[Affine]]) -> list[Affine]:
    """Returns one bound, in a list, that includes the iterations of several statements: the least of their lower bounds or the
    greatest of their upper ones. If some statement has no bound, the list is empty.

    over: "min" for lower bounds, "max" for upper ones.
    of: "max" for lower bounds, "min" for upper ones: how the several bounds of one statement are combined first.
    bounds: by statement, its bounds.
    """
    return [extremum(over, [extremum(of, each) for each in bounds])] if all(bounds) else []


def _instance(a: ActiveStatement, here: LoopContext) -> list[Node]:
    """Returns the instance whose iterators the loops determine, under a guard for its constraints that are not proved. Raises
    NotSimple if an iterator is not determined.
    """
    solved, rows = _solved(a.system, here)
    if any(k not in solved for k in range(a.dims)):
        raise NotSimple
    if here.every:
        here, rows = _with_quotients(rows, solved, here)
    point = tuple(rounded_quotient(replaced(({k: 1}, 0), solved), 1, here) for k in range(a.dims))
    if not here.quotients and not of_loops(rows):
        raise NotSimple
    asked = [row for row in _unproved(here, [row for row in rows if of_loops([row])]) if not here.implies(row)]
    asked += {row_key(row): row for row in rows if not of_loops([row])}.values()
    instance = Instance(a.name, point)
    return [Guard(all_non_negative(asked, here), (instance,))] if asked else [instance]


def _with_quotients(rows: list[Row], solved: Mapping[Name, Row], here: LoopContext) -> tuple[LoopContext, list[Row]]:
    """Returns the context with expressions for the quotients in the rows, and those of the rows that do not follow from the
    definitions of quotients. Raises NotSimple if a quotient cannot be computed from the loops' variables.

    rows: constraints: linear expressions that are at least 0.
    solved: the values of iterators and quotients that equations give.
    """
    values: dict[Quotient, Affine] = {}
    first = {name: value for name, value in solved.items() if isinstance(name, int) or of_loops([value])}  # not by one another

    def compute(names: Iterable[Name], inside: frozenset[Quotient]) -> None:
        for name in names:
            if isinstance(name, int) or name in inside:
                raise NotSimple
            if isinstance(name, Quotient) and name not in values:
                row = replaced((dict(name.terms), name.constant), first)
                compute(row[0], inside | {name})
                values[name] = rounded_quotient(row, name.divisor, replace(here, quotients=values))

    compute((name for row in (*rows, *solved.values()) for name in row[0]), frozenset())
    own = values.keys() - solved.keys()  # of the others they say that they are what the equations give
    known = {row_key(replaced(row, solved)) for quotient in own for row in around(quotient)}
    return replace(here, quotients=values), [row for row in rows if row_key(row) not in known]
