"""The pass `algebra`: array expressions in the cheapest form that rules of linear algebra give them.

    y = A @ B @ x   ->   y = A @ (B @ x)

Under fp="strict" only rules that keep every bit apply, and those of integers, which wrap. The sizes of the call decide what is
cheap; what is made is right for all sizes. (The order of chained products by dynamic programming: Godbole, IEEE Transactions on
Computers, 1973; here the e-graph has all orders, and the cheapest is taken from it bottom up.)
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from polyml.frontend import syntax, traversal
from polyml.frontend.algebra import einsum_order, terms
from polyml.frontend.algebra import statements as blocks
from polyml.frontend.algebra.egraph import MOST_NODES, MOST_ROUNDS, EGraph, Leaf, Term
from polyml.frontend.algebra.facts import Facts, evaluated
from polyml.frontend.algebra.rules import RULES
from polyml.frontend.arrays.shapes import Linear
from polyml.frontend.name_resolution import reads_of, statements, unused
from polyml.frontend.syntax import ArgType, Expr, Stmt

Extents = Mapping[tuple[str, int], int]
USUAL = 32  # a size that is not known
WORTH = 1 - 1e-6  # of the cost at most has to be left, so that equal costs change nothing
MOVED_WORTH = 0.9  # the same where statements change, of which later passes make one loop anyway
_CORNERS = (4, 2048)  # sizes by which it is tried whether the choice depends on sizes
_MOST_CORNERS = 16
_PLACEHOLDER = "?"  # the name of what is shared, until it is known that it will be
_MOST_CANDIDATES = 10  # statements joined or products shared in one block


@dataclass(frozen=True)
class Rewrite:
    """A rewrite says what became of one expression of the source.

    line: where the expression stands, in its file; 0: not known.
    before, after: the expression and what it became, as Python text; "" after a sentence that says what became of statements.
    cost_before, cost_after: estimated cycles of both for the sizes of the call.
    """

    line: int
    before: str
    after: str
    cost_before: float
    cost_after: float

    def __str__(self) -> str:
        costs = f"{self.cost_before:,.0f} -> {self.cost_after:,.0f} cycles, estimated"
        what = f"`{self.before}` is computed as `{self.after}`" if self.after else self.before
        return f"algebra: line {self.line}: {what} ({costs})"


@dataclass(frozen=True)
class Rewritten:
    """What the pass made.

    kernel: the kernel with the expressions rewritten.
    rewrites: what was changed.
    depends_on_sizes: whether other sizes would have led to other expressions.
    """

    kernel: syntax.Kernel
    rewrites: tuple[Rewrite, ...] = ()
    depends_on_sizes: bool = False


def unchanged(kernel: syntax.Kernel, *given: object, **named: object) -> Rewritten:
    """Returns a kernel as it is, in place of the pass where it is left out."""
    return Rewritten(kernel)


def rewritten(
    kernel: syntax.Kernel, types: Sequence[ArgType], *, fp: str = "reassociate", extents: Extents | None = None
) -> Rewritten:
    """Returns a kernel, before its arrays become loops, with its array expressions in the cheapest form.

    types: one per parameter.
    fp: the setting of that name.
    extents: {(array, dimension): extent} in the call; None: not known, all sizes are taken to be equal.
    """
    work = _Rewriting(fp == "strict", extents, kernel)
    body = work.block(kernel.body, Facts.of(kernel, types))
    if not work.rewrites:
        return Rewritten(kernel, depends_on_sizes=work.depends_on_sizes)
    return Rewritten(replace(kernel, body=body), tuple(work.rewrites), work.depends_on_sizes)


class _Rewriting:
    """A rewriting goes through the statements of a kernel, with what is known at each of them."""

    def __init__(self, strict: bool, extents: Extents | None, kernel: syntax.Kernel):
        self._strict, self._extents, self._kernel = strict, extents, kernel
        self._memory = blocks.Memory(kernel.body)
        self._uses = reads_of(kernel.body)
        self._taken = {param.name for param in kernel.params} | {
            name for stmt in statements(kernel.body) for name in blocks.names_of(stmt)
        }
        self.rewrites: list[Rewrite] = []
        self.depends_on_sizes = False
        self.total = 0.0  # cycles of what was looked at

    def block(self, body: Sequence[Stmt], facts: Facts) -> tuple[Stmt, ...]:
        """Returns a block with its statements joined and their products shared where that is cheaper, then rewritten."""
        made: list[Stmt] = []
        for stmt in self._improved(tuple(body), facts):
            made.append(self._stmt(stmt, facts))
            facts.after(stmt)
        return tuple(made)

    def _improved(self, body: tuple[Stmt, ...], facts: Facts) -> tuple[Stmt, ...]:
        for _ in range(_MOST_CANDIDATES):
            at = list(_facts_at(body, facts))
            better = None
            for candidate in blocks.candidates(body, at, self._memory, self._uses.__getitem__, lambda: _PLACEHOLDER):
                better = better or self._better(candidate, body, at)
            if better is None:
                return body
            body = better
        return body

    def _better(self, candidate: blocks.Candidate, body: tuple[Stmt, ...], at: Sequence[Facts]) -> tuple[Stmt, ...] | None:
        """Returns the block as a candidate has it; None where that is not cheaper."""
        cost_before = sum(self._cost(body[place], at[place]) for place in candidate.before)
        if candidate.first is not None:
            candidate = candidate.renamed(unused("_shared", self._taken))
        cost, first = 0.0, candidate.first
        for place, stmt in zip(candidate.before, candidate.after):
            there = at[place].copy()
            if first is not None:
                fact = at[candidate.before[0]].fact(first.value)
                there.names |= {} if fact is None else {blocks.target_of(first): fact}
            cost += 0.0 if stmt is None else self._cost(stmt, there)
        cost += 0.0 if first is None else self._cost(first, at[candidate.before[0]])
        if cost >= MOVED_WORTH * cost_before:
            return None
        loc = body[candidate.before[0]].loc
        self.rewrites.append(Rewrite(0 if loc is None else loc.line, candidate.text, "", cost_before, cost))
        return candidate.applied(body)

    def _cost(self, stmt: Stmt, facts: Facts) -> float:
        """Returns the estimated cycles of a statement in its cheapest form."""
        probe = _Rewriting(self._strict, self._extents, self._kernel)
        probe._stmt(stmt, facts)
        self.depends_on_sizes |= probe.depends_on_sizes
        return probe.total

    def _stmt(self, stmt: Stmt, facts: Facts) -> Stmt:
        match stmt:
            case syntax.For() | syntax.While():
                return replace(stmt, body=self.block(stmt.body, facts.inside(stmt)))
            case syntax.Block():
                return replace(stmt, body=self.block(stmt.body, facts.copy()))
            case syntax.If():
                then, orelse = (self.block(branch, facts.copy()) for branch in (stmt.then, stmt.orelse))
                return replace(stmt, then=then, orelse=orelse)
            case syntax.Assign() | syntax.Return():
                return traversal.map_reads(stmt, lambda expr: self._expr(expr, facts))
        return stmt

    def _expr(self, expr: Expr, facts: Facts) -> Expr:
        """Returns an expression with all parts of it that rules know in their cheapest form."""
        leaves = terms.Leaves()
        term = terms.term_of(expr, facts, leaves)
        inner = [self._operands(each, facts) for each in leaves.exprs]
        if isinstance(term.op, Leaf):
            return inner[0]
        best = self._cheapest(term, leaves, facts, expr)
        if best == term and all(new is old for new, old in zip(inner, leaves.exprs)):
            return expr
        return terms.written(best, replace(leaves, exprs=inner), expr.loc)

    def _operands(self, expr: Expr, facts: Facts) -> Expr:
        given = traversal.operands(expr)
        made = tuple(self._expr(each, facts) for each in given)
        work = einsum_order.contraction(expr, [facts.fact(each) for each in given], self._strict)
        if work is not None:
            order = self._order(work, facts, expr)
            if order != einsum_order.left_to_right(len(given)):
                return einsum_order.written(order, work, made, expr)
        return expr if all(new is old for new, old in zip(made, given)) else traversal.with_operands(expr, made)

    def _order(self, work: einsum_order.Contraction, facts: Facts, expr: Expr) -> einsum_order.Order:
        """Returns the cheapest order of an einsum's operands; that in which they are written where none is cheaper."""

        def extents(call: Extents) -> dict[str, int]:
            return {c: max(evaluated(size.expr, call, facts.middles, USUAL), 0) for c, size in work.sizes.items()}

        def chosen(sizes: Mapping[str, int]) -> einsum_order.Order:
            best = work.cheapest(sizes)
            return best if work.cost(best, sizes)[0] < WORTH * work.cost(plain, sizes)[0] else plain

        plain, sizes = einsum_order.left_to_right(len(work.labels)), extents(self._extents or {})
        best = chosen(sizes)
        self.total += work.cost(best, sizes)[0]
        tried = itertools.islice(itertools.product(_CORNERS, repeat=len(sizes)), _MOST_CORNERS)
        self.depends_on_sizes |= any(chosen(each) != best for each in (extents({}), *(dict(zip(sizes, v)) for v in tried)))
        if best != plain:
            shown = [_shown(each) for each in traversal.operands(expr)]
            before, after = (einsum_order.text(each, work, shown) for each in (plain, best))
            self._note(expr, before, after, work.cost(plain, sizes)[0], work.cost(best, sizes)[0])
        return best

    def _note(self, expr: Expr, before: str, after: str, cost_before: float, cost: float) -> None:
        line = 0 if expr.loc is None else expr.loc.line
        self.rewrites.append(Rewrite(line, before, after, cost_before, cost))

    def _cheapest(self, term: Term, leaves: terms.Leaves, facts: Facts, expr: Expr) -> Term:
        plain, start = _graph(term, leaves, facts)
        graph, root = _graph(term, leaves, facts)
        if is_worth_a_look(term):
            saturate(graph, self._strict)

        def chosen(extents: Extents, otherwise: int) -> tuple[Term, float, float]:
            price = terms.price(lambda size: evaluated(size.expr, extents, facts.middles, otherwise))
            best, cost = graph.cheapest(root, price)
            _, cost_before = plain.cheapest(start, price)
            return (best, cost_before, cost) if cost < WORTH * cost_before else (term, cost_before, cost_before)

        best, cost_before, cost = chosen(self._extents or {}, USUAL)
        self.total += cost
        if graph.size == plain.size:
            return term
        self.depends_on_sizes |= any(chosen(corner, USUAL)[0] != best for corner in corners(graph))
        if best != term:
            shown = [_shown(each) for each in leaves.exprs]
            self._note(expr, terms.text(term, shown.__getitem__), terms.text(best, shown.__getitem__), cost_before, cost)
        return best


def _facts_at(body: Sequence[Stmt], facts: Facts) -> Iterator[Facts]:
    """Yields what is known at each statement of a block."""
    known = facts.copy()
    for stmt in body:
        yield known.copy()
        known.after(stmt)


def _graph(term: Term, leaves: terms.Leaves, facts: Facts) -> tuple[EGraph, int]:
    """Returns an e-graph that has one term, with the class of that."""
    graph = EGraph(terms.fact_of)
    binding: dict[Leaf, int] = {}
    for place, expr in enumerate(leaves.exprs):
        made = graph.add(Leaf(place), fact=facts.fact(expr))
        if made is None:
            raise ValueError(f"nothing is known of {expr!r}")
        binding[Leaf(place)] = made
    root = graph.add_term(term, binding)
    if root is None:
        raise ValueError(f"nothing is known of {term}")
    return graph, root


def _shown(expr: Expr) -> str:
    """Returns a part of an expression as the source has it."""
    if isinstance(expr, syntax.Const):
        return repr(expr.value)
    if isinstance(expr, syntax.Name):
        return expr.name
    shown = "..." if expr.loc is None else expr.loc.text
    return f"({shown})" if isinstance(expr, (syntax.Binary, syntax.Unary, syntax.Compare)) else shown


def is_worth_a_look(term: Term) -> bool:
    """Returns whether a term has more than one operation, one of them a product or a sum, so that a rule may apply."""
    found = [each.op for each in _operations(term)]
    return len(found) > 1 and any(op in ("@", "sum", "sum0", "sum1", "T") for op in found)


def _operations(term: Term) -> Iterable[Term]:
    if isinstance(term.op, str):
        yield term
    for arg in term.args:
        yield from _operations(arg)


def saturate(graph: EGraph, strict: bool) -> None:
    """Applies the rules to a graph until they add nothing, or the graph is full."""
    for _ in range(MOST_ROUNDS):
        merged, before = 0, graph.size
        present = {op for nodes in graph.nodes.values() for op, _ in nodes}
        for rule in RULES:
            if rule.before.operations <= present:
                merged += rule.apply(graph, strict)
            if graph.size > MOST_NODES:
                graph.rebuild()
                return
        graph.rebuild()
        if not merged and graph.size == before:
            return


def corners(graph: EGraph) -> Iterator[Extents]:
    """Yields sizes, each very small or very large, by which it is tried whether a choice depends on sizes; first all unknown.

    Sizes that a product needs to be equal are.
    """
    same = {each: each for fact in graph.facts.values() for size in fact.shape for each in _sizes_in(size)}

    def first(size: tuple[str, int]) -> tuple[str, int]:
        return size if same[size] == size else first(same[size])

    for nodes in graph.nodes.values():
        for op, args in nodes:
            if op == "@":
                inner = (graph.facts[graph.find(args[0])].shape[-1], graph.facts[graph.find(args[1])].shape[0])
                ends = [_sizes_in(size) for size in inner]
                if [len(end) for end in ends] == [1, 1]:
                    same[first(ends[0][0])] = first(ends[1][0])
    free = sorted({first(size) for size in same})
    yield {}
    for values in itertools.islice(itertools.product(_CORNERS, repeat=len(free)), _MOST_CORNERS):
        chosen = dict(zip(free, values))
        yield {size: chosen[first(size)] for size in same}


def _sizes_in(size: Linear) -> list[tuple[str, int]]:
    """Returns the sizes of arrays, (array, dimension), that a size is made of."""
    nodes = (node for atom, _ in size.terms for node in traversal.nodes(atom))
    return [(node.array, node.dim) for node in nodes if isinstance(node, syntax.Shape)]
