"""Innermost loops are split where a piecewise subscript changes its form, so that vectors run along each part.

    for j in 0 ... m - 1: B[j] = A[j - 1 if j >= 1 else m - 1]   ->   for j in 0 ... 0: B[j] = A[m - 1]
                                                                      for j in 1 ... m - 1: B[j] = A[j - 1]

Subscripts that wrap around (`%`, or from the end) or are reflected have several affine pieces, or divide. Between two
breakpoints one piece holds, and the statement gets it as its subscript there. The iterations keep their order.

This is index-set splitting of a finished loop: Griebl, Feautrier and Lengauer, "Index set splitting", IJPP 28, 2000.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import filterfalse

import islpy as isl

from polyml import polyhedra
from polyml.codegen.ir.program import Instance, Loop, Node, Program, with_body
from polyml.model.core.reductions import Reduction
from polyml.model.core.scop import Access, Statement
from polyml.quasi_affine.affine import Affine, variable
from polyml.quasi_affine.from_isl import integer_expression

MAX_BREAKPOINTS = 3  # the most at which a loop is split
MAX_QUOTIENTS = 4  # the most values of a division that get parts of their own


def split_loops(program: Program) -> Program:
    """Returns the program with its innermost loops over single iterations split where subscripts in them change from one affine
    expression to another.
    """
    if not any(map(_has_breakpoints, program.scop.statements.values())):
        return program
    cutter = _LoopSplitter(dict(program.scop.statements), dict(program.reductions), dict(program.prefetches))
    body = cutter.nodes(program.body)
    return replace(
        program,
        scop=replace(program.scop, statements=cutter.statements),
        body=body,
        reductions=cutter.reductions,
        prefetches=cutter.prefetches,
    )


def _has_breakpoints(statement: Statement) -> bool:
    """Returns whether a subscript of the statement is not affine, so that loops may be split for it. Returns False for a statement
    that a pass has made.
    """
    subscripts = [e for access in (*statement.reads, statement.write) for e in access.subscripts]
    if all(map(polyhedra.is_affine, subscripts)):
        return False
    space = statement.domain.get_space()
    return all(space.has_equal_tuples(e.get_domain_space()) for e in subscripts)


@dataclass(frozen=True)
class _Breakpoint:
    """A value of a loop's variable from which on a subscript is another affine expression than before.

    value: this value; from it on, iterator `dim` of the statement is at least `position`.
    statement: the statement's name.
    dim: the position of the iterator.
    position: the value of that iterator there, an expression of parameters.
    """

    value: Affine
    statement: str
    dim: int
    position: Affine


@dataclass(frozen=True)
class _LoopSplitter:
    """A rewriter of loops. It collects the statements that it makes for parts of loops, with their reductions and prefetches.

    statements, reductions, prefetches: those of the program; new ones are added.
    """

    statements: dict[str, Statement]
    reductions: dict[str, Reduction]
    prefetches: dict[str, dict[int, tuple[str, int]]]

    def nodes(self, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        """Returns the nodes with the innermost loops in them split at breakpoints."""
        return tuple(made for node in nodes for made in self._node(node))

    def _node(self, node: Node) -> tuple[Node, ...]:
        """Returns the nodes that replace a node: an innermost loop over single iterations may become several."""
        if isinstance(node, Instance):
            return (node,)
        inside = [n for n in node.body if isinstance(n, Instance)]
        if not isinstance(node, Loop) or len(inside) < len(node.body):
            return (with_body(node, self.nodes(node.body)),)
        if node.step != 1 or node.role == "tile" or node.parallel or node.directives.together:
            return (node,)
        return self._parts(node, inside)

    def _parts(self, loop: Loop, inside: Sequence[Instance]) -> tuple[Node, ...]:
        """Returns the loops that a loop is split into, in the order of its iterations; the loop alone if it has no breakpoints or
        too many.

        inside: the instances in it.
        """
        cuts: dict[Affine, list[_Breakpoint]] = {}
        for instance in inside:
            for cut in self._breakpoints(loop.var, instance):
                cuts.setdefault(cut.value, []).append(cut)
        if not 0 < len(cuts) <= MAX_BREAKPOINTS:
            return (loop,)
        values = sorted(cuts, key=lambda value: (not value.is_constant, value.constant))
        parts = []
        for k in range(
            len(values) + 1
        ):  # the parts are the loop's whole range, in its order, even if the values are in another order
            lower = (*loop.lower, *values[:k])
            upper = (*loop.upper, *(value - 1 for value in values[k : k + 1]))
            from_here = [cut for value in values[:k] for cut in cuts[value]]
            before = [cut for value in values[k : k + 1] for cut in cuts[value]]
            body = tuple(self._specialised(n, from_here, before) for n in inside)
            parts.append(replace(loop, lower=lower, upper=upper, body=body))
        return tuple(parts)

    def _breakpoints(self, name: str, instance: Instance) -> Iterator[_Breakpoint]:
        """Yields the breakpoints of an instance's subscripts along the loop over `name`."""
        statement = self.statements[instance.statement]
        if not _has_breakpoints(statement):
            return
        for dim, e in enumerate(instance.point):
            if e.coefficient(name) != 1:
                continue
            rest = e - variable(name)
            for position in _breakpoints_along(statement, dim):
                yield _Breakpoint(position - rest, statement.name, dim, position)

    def _specialised(self, instance: Instance, from_here: list[_Breakpoint], before: list[_Breakpoint]) -> Instance:
        """Returns the instance, in one part of a loop that is split, with a new statement whose subscripts are the affine
        expressions that hold in this part; the instance as it is if no subscript gets simpler. The statement is added to
        `statements`.

        from_here: the breakpoints at or before the part's first iteration.
        before: the breakpoints that come after its last iteration.
        """
        statement = self.statements[instance.statement]
        known = statement.domain
        for cuts, part in ((from_here, _from), (before, _before)):
            for cut in cuts:
                if cut.statement == statement.name:
                    known = part(known, cut.dim, cut.position)
        if known.is_empty():
            return instance
        reads = tuple(_affine_access(a, known) for a in statement.reads)
        write = _affine_access(statement.write, known)
        if reads == statement.reads and write == statement.write:
            return instance
        name = next(n for k in range(len(self.statements) + 1) if (n := f"{statement.name}_{k}") not in self.statements)
        self.statements[name] = replace(statement, name=name, domain=known, reads=reads, writes=(write,))
        if statement.name in self.reductions:
            self.reductions[name] = replace(self.reductions[statement.name], statement=name)
        if statement.name in self.prefetches:
            self.prefetches[name] = self.prefetches[statement.name]
        return Instance(name, instance.point)


def _breakpoints_along(statement: Statement, dim: int) -> list[Affine]:
    """Returns the values of one dimension of the statement's domain at which its subscripts change their form, as expressions of
    parameters.
    """
    found: dict[Affine, None] = {}
    for access in (*statement.reads, statement.write):
        for subscript in filterfalse(polyhedra.is_affine, access.subscripts):
            for piece in _affine_parts(subscript, statement.domain):
                found.update(dict.fromkeys(_ends(piece, dim)))
    inside = (b for b in found if not _before(statement.domain, dim, b).is_empty())
    return [b for b in inside if not _from(statement.domain, dim, b).is_empty()]


def _affine_parts(subscript: isl.PwAff, domain: isl.Set) -> Iterator[isl.Set]:
    """Yields the parts of the domain in which the subscript is one affine expression; parts in which a division in it has too many
    values are left out.
    """
    for part, aff in subscript.intersect_domain(domain).get_pieces():
        yield from _by_quotients(part, polyhedra.divisions(aff))


def _by_quotients(part: isl.Set, divisions: list[isl.Aff]) -> Iterator[isl.Set]:
    """Yields the parts of a set in each of which every division has a single value; nothing if a division has too many values."""
    if not divisions:
        yield part
        return
    first, *others = divisions
    values = polyhedra.without_sizes(isl.Map.from_aff(first).intersect_domain(part).range())
    if values.is_empty():
        return
    limits = polyhedra.extremes(values)
    if limits is not None and limits[1] - limits[0] < MAX_QUOTIENTS:
        for value in range(limits[0], limits[1] + 1):
            here = first.to_pw_aff().eq_set(isl.PwAff(f"{{ {_space(part)} -> [({value})] }}"))
            yield from _by_quotients(part.intersect(here), others)


def _ends(part: isl.Set, dim: int) -> Iterator[Affine]:
    """Yields the first value that a dimension has in the part, and the value after its last one, as expressions of parameters. One
    that is no single affine expression is left out.
    """
    if part.is_empty():
        return
    alone = polyhedra.along(part, dim)
    for end, beyond in ((alone.dim_min(0), 0), (alone.dim_max(0), 1)):
        if end.n_piece() == 1:
            value = integer_expression(end)
            if all(isinstance(atom, str) for atom, _ in value.terms):
                yield value + beyond


def _from(domain: isl.Set, dim: int, position: Affine) -> isl.Set:
    """Returns { S[i] in domain : i[dim] >= position }."""
    return domain.intersect(polyhedra.dimension(domain, dim).to_pw_aff().ge_set(_on(domain, position)))


def _before(domain: isl.Set, dim: int, position: Affine) -> isl.Set:
    """Returns { S[i] in domain : i[dim] < position }."""
    return domain.intersect(polyhedra.dimension(domain, dim).to_pw_aff().lt_set(_on(domain, position)))


def _on(domain: isl.Set, value: Affine) -> isl.PwAff:
    """Returns the function { S[i] -> [(value)] }, whose tuple is that of the domain."""
    return isl.PwAff(f"[{', '.join(sorted(value.names))}] -> {{ {_space(domain)} -> [({value})] }}")


def _space(domain: isl.Set) -> str:
    """Returns the text of the domain's tuple with names for its dimensions, S[i0, i1, ...]."""
    names = ", ".join(f"i{k}" for k in range(polyhedra.dimensions(domain)))
    return f"{domain.get_tuple_name()}[{names}]"


def _affine_access(access: Access, known: isl.Set) -> Access:
    """Returns the access with subscripts that are affine on the instances `known` replaced by these affine expressions."""
    subscripts = tuple(e if polyhedra.is_affine(e) else _affine(e, known) for e in access.subscripts)
    return access if all(a is b for a, b in zip(subscripts, access.subscripts)) else replace(access, subscripts=subscripts)


def _affine(subscript: isl.PwAff, known: isl.Set) -> isl.PwAff:
    """Returns the affine expression that the subscript is on the instances `known`, or the subscript itself if it is none there."""
    hull = isl.Map.from_basic_map(isl.Map.from_pw_aff(subscript).intersect_domain(known).affine_hull())
    if not hull.is_single_valued():
        return subscript
    found = isl.PwMultiAff.from_map(hull).get_pw_aff(0)
    return found if polyhedra.is_affine(found) else subscript
