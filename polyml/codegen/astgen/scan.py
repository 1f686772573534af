"""Schedule tree -> loops, where every domain is one conjunction of linear constraints.

    for c0: for c1: S(c0, c1)       c0 between what the constraints say with i eliminated, c1 between what they say of it

Ancourt, Irigoin: "Scanning polyhedra with DO loops", PPoPP 1991. isl's generator also has unions, strides and alternatives,
and takes ten times as long where there are none. Bounds here are what follows from the constraints, so that nothing is left
out; before an instance each of its constraints is proved from the loops around it, and asked where it is not.

Trees of every kind are scanned where isl takes too long: then alternatives are statements of their own, a loop goes from the
least bound of its statements to the greatest, of many bounds the shortest are taken, and remainders are asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import gcd, lcm

import islpy as isl

from polyml import polyhedra
from polyml.codegen.astgen.context import Place
from polyml.codegen.astgen.marks import Marked
from polyml.codegen.astgen.row_tree import (
    Band,
    Filter,
    InOrder,
    Leaf,
    Mark,
    PlainTree,
    around,
    bands,
    defined,
    read,
    same_parameters,
    systems_of,
)
from polyml.codegen.ir.program import Guard, Instance, Loop, Node
from polyml.codegen.presburger.constraint_rows import (
    Depth,
    NotSimple,
    both,
    equations_in,
    innermost_loop,
    of_loops,
    opposite,
    outline,
    replaced,
    row_key,
    shadows_of,
    solve,
    solved_for,
    without,
)
from polyml.codegen.presburger.omega_test import Row, System, shadow
from polyml.polyhedra import Quotient
from polyml.quasi_affine.affine import Affine, Compare, Condition, conjunction, extremum, floor_div, linear, operands, variable


def scan(schedule: isl.Schedule, context: isl.Set, every: bool = False) -> list[Node] | None:
    """The loops that run the schedule; None where isl's generator is to make them. context: facts about parameters. every: of a
    tree of any kind, if need be with more tests and more iterations that do nothing.
    """
    root = schedule.get_root()
    domains = {piece.get_tuple_name(): piece for piece in polyhedra.pieces(root.domain_get_domain())}
    try:
        equal, least = polyhedra.integer_rows(context) or ([], [])
        same = same_parameters(equal, polyhedra.parameter_names(context))
        left = (replaced(row, same) for row in equal)
        facts = System(tuple(row for row in left if row[0]), tuple(replaced(row, same) for row in least))
        place = Place(facts, every=every)
        tree = read(root.child(0), frozenset(domains), same, every)
        active = [
            _Active(name, polyhedra.dimensions(piece), system)
            for name, piece in domains.items()
            for system in systems_of(piece, same, every)
        ]
        active = [a for a in (_placed(a, tree, place) for a in active) if a.has_instances(0)]
        asked = [_unproved(place, a.rows_around(0)) for a in active]
        return _guarded(_common(asked), place, lambda inside: _nodes(tree, active, inside, Marked())) if active else []
    except NotSimple:
        return None


@dataclass(frozen=True)
class _Active:
    """A statement, or an alternative of one, at a place in the tree. system: of its iterators (numbers), quotients,
    parameters and loops around. rows: the same of parameters and loops alone. shadows: by how many loops, what it says of
    parameters and as many, None: that there are no instances; both up to the next filter that says more, or to where the
    statement is in several parts of a sequence.
    """

    name: str
    dims: int
    system: System
    rows: tuple[Row, ...] = ()
    shadows: tuple[tuple[Row, ...] | None, ...] = ()

    def rows_around(self, depth: int) -> list[Row]:
        """The rows of parameters and so many loops alone."""
        return [row for row in self.rows if innermost_loop(row) < depth]

    def has_instances(self, depth: int) -> bool:
        return self.shadows[depth] is not None


def _placed(a: _Active, tree: PlainTree, place: Place) -> _Active:
    """The statement with its shadows from this place on, the innermost one first: each one follows from the next."""
    depth = loops = place.depth
    system = a.system
    for band in bands(tree, a.name):
        system &= defined(("loop", loops), band, a.name)
        loops += 1
    _, rows = _solved(system, place)
    own = tuple(rows)
    if not of_loops(rows):
        rows, own = outline(rows) if place.every else _shadow(system, loops), ()
    return replace(a, rows=own, shadows=(None,) * depth + shadows_of(rows, depth, loops, place.every))


def _is_placed(a: _Active, tree: PlainTree, place: Place) -> bool:
    """Whether its shadows go as far as the loops below: they end where it is in several parts of a sequence."""
    return len(a.shadows) > place.depth + sum(1 for _ in bands(tree, a.name))


def _solved(system: System, place: Place) -> tuple[dict[int | Quotient, Row], list[Row]]:
    """(what iterators and quotients are by the system's equations, its rows with them replaced)"""
    solved, left = solve(system.equal, shortest=place.every)
    rows = [replaced(row, solved) for row in both(System(tuple(left), system.least))]
    for row in equations_in(rows) if place.every else ():
        if any(abs(c) == 1 and type(name) in (int, Quotient) for name, c in row[0].items()):
            return _solved(replace(system, equal=(*system.equal, row)), place)
    return solved, rows


def _shadow(system: System, loops: int) -> list[Row] | None:
    """What the system says of parameters and so many loops; None: there are no instances."""
    names = {name for terms, _ in (*system.equal, *system.least) for name in terms if type(name) is str}
    found = shadow(system, frozenset(names | {("loop", depth) for depth in range(loops)}))
    if found is None:
        raise NotSimple
    return None if found.system is None else both(found.system)


def _nodes(tree: PlainTree, active: list[_Active], place: Place, marked: Marked) -> list[Node]:
    if isinstance(tree, Leaf):
        if len(active) != 1 and not place.every:
            raise NotSimple
        return [n for a in active for n in _instance(a, place)]
    if isinstance(tree, Mark):
        return _nodes(tree.child, active, place, marked.under(tree.text))
    if isinstance(tree, InOrder):
        return [n for child in tree.children for n in _nodes(child, active, place, marked)]
    if isinstance(tree, Filter):
        return _filtered(tree, active, place, marked)
    return _loop(tree, active, place, marked)


def _filtered(tree: Filter, active: list[_Active], place: Place, marked: Marked) -> list[Node]:
    chosen = [a for a in active if a.name in tree.more]
    known = [tree.more[a.name] == _NOTHING_MORE and _is_placed(a, tree.child, place) for a in chosen]
    if len(chosen) == len(active) and all(known):
        return _nodes(tree.child, active, place, marked)
    here = [
        a if is_known else _placed(replace(a, system=a.system & more), tree.child, place)
        for a, is_known in zip(chosen, known)
        for more in tree.more[a.name]
    ]
    here = [a for a in here if a.has_instances(place.depth)]
    asked = [_unproved(place, [*a.rows_around(place.depth), *_asked_of_loops(a, place)]) for a in here]
    return _guarded(_common(asked), place, lambda inside: _nodes(tree.child, here, inside, marked)) if here else []


_NOTHING_MORE = (System(),)


def _asked_of_loops(a: _Active, place: Place) -> list[Row]:
    """What loops further inside than the next one ask of the loops around, and would have no iterations without; apart from what
    would spare one iteration.
    """
    inside = {row_key(row) for row in (a.shadows[place.depth + 1 :] or ((),))[0] or ()}
    found = []
    for terms, constant in a.shadows[place.depth] or ():
        innermost = innermost_loop((terms, constant))
        if innermost < 0 or row_key((terms, constant)) not in inside:
            continue
        if not place.proves((terms, constant + abs(terms["loop", innermost]))):
            found.append((terms, constant))
    return found


def _unproved(place: Place, rows: Iterable[Row]) -> list[Row]:
    found: list[Row] = []
    for row in rows:
        if not place.proves(row):
            found.append(row)
            place = place.having([row])
    return found


def _common(asked: Sequence[list[Row]]) -> list[Row]:
    """What all of them ask."""
    others = [{row_key(row) for row in rows} for rows in asked[1:]]
    return [row for row in asked[0] if all(row_key(row) in rows for rows in others)] if asked else []


def _guarded(rows: list[Row], place: Place, make: Callable[[Place], list[Node]]) -> list[Node]:
    body = make(place.having(rows))
    if not rows or not body:
        return body
    return [Guard(_condition(rows, place), tuple(body))]


def _condition(rows: list[Row], place: Place) -> Condition:
    """That all of them hold; two opposite ones are an equation."""
    found: dict[Affine, str] = {}
    for row in rows:
        expr, _ = _total(*row, place)
        if expr * -1 in found:
            found[expr * -1] = "=="
        else:
            found[expr] = ">="
    return conjunction(*sorted((Compare(op, expr) for expr, op in found.items()), key=str))


def _loop(band: Band, active: list[_Active], place: Place, marked: Marked) -> list[Node]:
    """The loop around all statements that are active, or no loop where it has one iteration."""
    depth, name = place.depth, ("loop", place.depth)
    active = [replace(a, system=a.system & defined(name, band, a.name)) for a in active if a.has_instances(depth + 1)]
    if not active:
        return []
    shadows = [a.shadows[depth + 1] for a in active]
    outer = _common([[row for row in rows if name not in row[0]] for rows in shadows])
    likely = place.having(outer)  # else loops inside have no iterations
    own = [_rows_of(name, rows, likely) for rows in shadows]
    equation = _same_value(name, own)
    if equation is not None:  # other equations are asked further inside
        inside = place.in_loop(both(System((equation,))), _value(*solved_for(equation, name), 1, place), 1)
        return _nodes(band.child, active, inside, marked.inside())
    rows = _hull(name, own, likely, active, band.kind)
    lower, upper = _ends(rows, name, band, place)
    if place.every and not (lower and upper):
        each = [_ends(both(its), name, band, place) for its in own]
        lower = lower or _farthest("min", "max", [low for low, _ in each])
        upper = upper or _farthest("max", "min", [high for _, high in each])
    if not lower or not upper:
        raise NotSimple
    inside = place.in_loop(rows, variable(f"c{depth}") - band.offset, band.step)
    body = tuple(_nodes(band.child, active, inside, marked.inside()))
    if not body:
        return []
    asked = {"name": marked.name, "directives": marked.directives, "partial": marked.partial}
    bounds = operands("max", extremum("max", lower)), operands("min", extremum("min", upper))
    return [Loop(f"c{depth}", *bounds, band.step, body, marked.parallel, marked.role, **asked)]


def _ends(rows: Iterable[Row], name: Depth, band: Band, place: Place) -> tuple[list[Affine], list[Affine]]:
    """Bounds of the loop's variable from below and from above."""
    bounds = [(row[0][name] > 0, _bound(row, name, band.step, place) + band.offset) for row in rows]
    return [bound for is_lower, bound in bounds if is_lower], [bound for is_lower, bound in bounds if not is_lower]


def _farthest(over: str, of: str, bounds: Sequence[list[Affine]]) -> list[Affine]:
    """The bound that all statements keep; none where one has none."""
    return [extremum(over, [extremum(of, each) for each in bounds])] if all(bounds) else []


def _rows_of(name: Depth, rows: Iterable[Row], place: Place) -> System:
    """The rows that bound the loop, without those that follow from others and from the loops around; longer ones go first."""
    least = sorted((row for row in rows if name in row[0]), key=lambda row: len(row[0]))
    keys = {row_key(row) for row in least}
    equal = [row for row in least if row[0][name] > 0 and row_key(opposite(row)) in keys]
    ends = [*equal, *map(opposite, equal)]
    least = [row for row in least if row not in ends]
    for row in reversed(least[:]):
        others = [other for other in least if other is not row]
        if any(_follows(row, other, name, place) for other in (*ends, *others)):
            least = others
    return System(tuple(equal), tuple(least))


def _follows(row: Row, other: Row, name: Depth, place: Place) -> bool:
    """Whether one bound of a loop is no weaker than another one on the same side, whatever the loops around."""
    factor, c = row[0][name], other[0][name]
    return (c > 0) == (factor > 0) and place.proves(without(row, abs(c), other, abs(factor)))


def _same_value(name: Depth, own: Sequence[System]) -> Row | None:
    """An equation that gives the loop's name in all iterations of the loops around, the same for all statements."""
    found = [next((row for row in rows.equal if row[0][name] in (1, -1)), None) for rows in own]
    if None in found:
        return None
    values = [solved_for(row, name) for row in found]
    return found[0] if all(v == values[0] for v in values) else None


def _hull(name: Depth, own: Sequence[System], place: Place, active: Sequence[_Active], kind: isl.ast_loop_type) -> list[Row]:
    """Bounds of a loop around all statements. A loop that is not said to stay one has the bounds of each."""
    if kind == isl.ast_loop_type.unroll:
        raise NotSimple
    found = [{row_key(row): row for row in both(rows)} for rows in own]
    if all(rows.keys() == found[0].keys() for rows in found):
        return [*found[0].values()]
    if kind != isl.ast_loop_type.atomic and not place.every:
        raise NotSimple
    weakest: dict[frozenset, Row] = {}
    for rows in found:
        for (key, constant), row in rows.items():
            if key not in weakest or weakest[key][1] < constant:
                weakest[key] = row
    kept = []
    for row in weakest.values():
        constants = [_constant(row, name, rows, a, place) for rows, a in zip(own, active)]
        if None not in constants:
            kept.append((row[0], max(constants)))
    return [*both(_rows_of(name, kept, place))]


def _constant(row: Row, name: Depth, rows: System, a: _Active, place: Place) -> int | None:
    """The least constant with which the row's terms are at least 0 in the statement's iterations; None: none is found."""
    if any(_follows(row, other, name, place) for other in both(rows)):
        return row[1]
    total = ("sum", 0)
    system = a.system & System(equal=(({**row[0], total: -1}, 0),))
    found = shadow(system, frozenset([total]))
    if found is None or found.system is None:
        return None
    least = [-(constant // terms[total]) for terms, constant in found.system.least if terms[total] > 0]
    return -max(least) if least else None


def _bound(row: Row, name: Depth, step: int, place: Place) -> Affine:
    """The bound of the loop's variable less its offset, which is `step` times what its name is."""
    factor = row[0][name]
    sign = -1 if factor > 0 else 1
    rest, constant = {n: sign * c for n, c in row[0].items() if n != name}, sign * row[1]
    if factor > 1:
        return _value(rest, constant + factor - 1, factor, place) * step
    if step % -factor:
        return _value(rest, constant, -factor, place) * step
    scale = step // abs(factor)
    last = step - 1 if factor == -1 else 0  # a multiple of the step that is no greater than one is less than the next one
    return _value({n: scale * c for n, c in rest.items()}, scale * constant + last, 1, place)


def _value(terms: dict, constant: int, divisor: int, place: Place) -> Affine:
    """floor((terms + constant) / divisor) in the program's variables."""
    total, common = _total(terms, constant, place)
    return floor_div(total, common * divisor)


def _total(terms: dict, constant: int, place: Place) -> tuple[Affine, int]:
    """(a multiple of terms + constant in the program's variables, which multiple)"""
    parts = []
    for name, c in terms.items():
        if type(name) is str:
            parts.append((variable(name), c, 1))
        elif type(name) is tuple:
            value, by = place.values[name[1]]
            parts.append((value, c // gcd(c, by), by // gcd(c, by)))
        elif name in place.quotients:
            parts.append((place.quotients[name], c, 1))
        else:
            raise NotSimple
    common = lcm(*(by for _, _, by in parts))
    total = linear([(a, c * (common // by) * k) for value, c, by in parts for a, k in value.terms], 0)
    total += common * constant + sum(c * (common // by) * value.constant for value, c, by in parts)
    return total, common


def _instance(a: _Active, place: Place) -> list[Node]:
    """The instance where its iterators are what the loops say, if its constraints hold."""
    solved, rows = _solved(a.system, place)
    if any(k not in solved for k in range(a.dims)):
        raise NotSimple
    if place.every:
        place, rows = _with_quotients(rows, solved, place)
    point = tuple(_value(*replaced(({k: 1}, 0), solved), 1, place) for k in range(a.dims))
    if not place.quotients and not of_loops(rows):
        raise NotSimple
    asked = [row for row in _unproved(place, [row for row in rows if of_loops([row])]) if not place.implies(row)]
    asked += {row_key(row): row for row in rows if not of_loops([row])}.values()
    instance = Instance(a.name, point)
    return [Guard(_condition(asked, place), (instance,))] if asked else [instance]


def _with_quotients(rows: list[Row], solved: dict, place: Place) -> tuple[Place, list[Row]]:
    """The place with quotients computed that loops do not say, and the rows that do not follow from what these are."""
    values: dict[Quotient, Affine] = {}
    first = {name: value for name, value in solved.items() if isinstance(name, int) or of_loops([value])}  # not by one another

    def compute(names: Iterable, inside: frozenset[Quotient]) -> None:
        for name in names:
            if isinstance(name, int) or name in inside:
                raise NotSimple
            if isinstance(name, Quotient) and name not in values:
                terms, constant = replaced((dict(name.terms), name.constant), first)
                compute(terms, inside | {name})
                values[name] = _value(terms, constant, name.divisor, replace(place, quotients=values))

    compute((name for row in (*rows, *solved.values()) for name in row[0]), frozenset())
    own = values.keys() - solved.keys()  # of the others they say that they are what the equations give
    known = {row_key(replaced(row, solved)) for quotient in own for row in around(quotient)}
    return replace(place, quotients=values), [row for row in rows if row_key(row) not in known]
