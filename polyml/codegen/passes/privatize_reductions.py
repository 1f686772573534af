"""Privatization of reductions: each thread updates partial results of its own, which are combined after the loop.

    parallel i: for j: x[j] += ...      ->      for t in range(threads): x_partial[t, :] = 0
                                                parallel i: for j: x_partial[thread, j] += ...
                                                for j: for t in range(threads): x[j] += x_partial[t, j]

The schedule says which arrays these are, and it was proved there that the loop does nothing else with them. A result depends on
the number of threads, but not on which of them is faster.

Jin, Yang and Agrawal, "Shared memory parallelization of data mining algorithms", TKDE 2005. OpenMP calls this the reduction
clause.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, count

import islpy as isl

from polyml import polyhedra
from polyml.codegen.ir.accesses import AccessTable
from polyml.codegen.ir.program import Guard, Instance, Loop, Node, Program, instances, loops, with_body, with_paths
from polyml.dtypes import DType
from polyml.frontend import syntax
from polyml.model.core.reductions import Reduction, identity
from polyml.model.core.scop import Access, Array, Load, Role, Statement, Value
from polyml.quasi_affine.affine import Affine, compare, extremum, negate, variable

LONG_LOOP, INNER_TRIPS = 2**13, 16  # iterations that pay threads, and those that an inner loop is taken to have
SEPARATION_BYTES = 128  # rows of two threads are multiples of this apart, so that they share no cache line


def privatize_reductions(program: Program) -> Program:
    """Returns the program with an array of partial results for each reduction that threads share, and with loops that initialise
    and combine the partial results.
    """
    if not any(loop.partial for loop in loops(program.body)):
        return program
    return _Privatizer(program).program()


@dataclass(frozen=True)
class _Partial:
    """An array of partial results of a reduction, and the statements that it needs.

    whole: the array that is updated in the end.
    array: the partial results of all threads, [threads, ...].
    begin: the statement that initialises one element of one thread.
    join: the statement that combines one element of one thread with the element of `whole`.
    """

    whole: Array
    array: Array
    begin: Statement
    join: Statement


class _Privatizer:
    """A rewriter of a program whose threads share reductions. It collects the arrays, statements and reductions that it makes."""

    def __init__(self, program: Program):
        self._given = program
        self._table = AccessTable(program.scop.context)
        scop = program.scop
        self._taken = {*scop.arrays, *scop.statements, *scop.params, *(p.name for p in scop.parameters)}
        self._taken |= {i for s in scop.statements.values() for i in s.iterators}
        self._taken |= {name for loop in loops(program.body) for name in (loop.var, loop.last)}
        self._thread, self._threads = self._free("thread"), self._free("threads")
        self._partials: dict[tuple[str, str], _Partial] = {}
        self._statements: dict[str, Statement] = {}
        self._reductions: dict[str, Reduction] = {}

    def program(self) -> Program:
        """Returns the program with partial results for each thread."""
        body, scop = self._nodes(self._given.body), self._given.scop
        arrays = {p.array.name: p.array for p in self._partials.values()}
        scop = replace(scop, arrays={**scop.arrays, **arrays}, statements={**scop.statements, **self._statements})
        reductions = {**self._given.reductions, **self._reductions}
        return replace(self._given, scop=scop, body=body, reductions=reductions, thread=self._thread, threads=self._threads)

    def _free(self, stem: str) -> str:
        """Returns a name beginning with `stem` that nothing in the program has, and reserves it."""
        name = next(name for name in chain((stem,), (f"{stem}{n}" for n in count())) if name not in self._taken)
        self._taken.add(name)
        return name

    def _nodes(self, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        """Returns the nodes rewritten: updates in loops that share reductions are made to partial results."""
        return tuple(made for node in nodes for made in self._node(node))

    def _node(self, node: Node) -> Iterator[Node]:
        """Yields the nodes that replace a node: a loop with partial results comes with the loops that initialise and combine
        them.
        """
        if isinstance(node, Instance):
            yield node
        elif not isinstance(node, Loop) or not node.partial:
            yield with_body(node, self._nodes(node.body))
        else:
            operators = {name: self._operator(node, name) for name in node.partial}  # None if this loop never updates it
            partials = [self._partial(name, operator) for name, operator in operators.items() if operator is not None]
            moved = {p.whole.name: p for p in partials}
            made = (
                *(self._over(p, p.begin, threads_first=True) for p in partials),
                replace(node, partial=(), body=tuple(self._redirected(n, moved) for n in node.body)),
                *(self._over(p, p.join, threads_first=False) for p in partials),
            )
            yield from self._if_long(node, made) if self._given.scop.has_regions else made

    def _if_long(self, loop: Loop, shared: tuple[Node, ...]) -> Iterator[Node]:
        """Yields what runs nodes in the place of a loop where it is long enough for threads: beside regions, no size says so before."""
        depth = max(len([n for n in path if isinstance(n, Loop)]) for _, path in with_paths(loop.body))
        depth -= loop.step > 1  # the loop over the iterations of a strip
        iterations = extremum("min", loop.upper) - extremum("max", loop.lower) + 1
        is_long = compare(">=", iterations, Affine(LONG_LOOP // INNER_TRIPS**depth))
        yield Guard(is_long, shared)
        yield Guard(negate(is_long), (replace(loop, parallel=False, partial=()),))

    def _operator(self, loop: Loop, array: str) -> str | None:
        """Returns the operator by which the loop updates the array, or None if it never does."""
        names = (instance.statement for instance in instances(loop.body))
        found = (r for r in map(self._given.reductions.get, names) if r is not None and r.array == array)
        return next((r.operator for r in found), None)

    def _partial(self, name: str, operator: str) -> _Partial:
        """Returns the array and statements for the partial results of an array under an operator; they are made on the first
        call.
        """
        if (name, operator) not in self._partials:
            whole = self._given.scop.arrays[name]
            array = replace(whole, name=self._free(f"{name}_partial"), shape=self._shape(whole), role=Role.LOCAL, pairs=False)
            begin, join = (self._free(f"{word}_{array.name}") for word in ("begin", "join"))
            element = whole.element
            nothing = syntax.Const(identity(operator, element), dtype=element)
            self._statements[begin] = self._element(begin, whole, array, nothing)
            self._statements[join] = self._element(join, whole, array, _joined(operator, element), joins=True)
            self._reductions[join] = Reduction(join, name, operator, 0)
            self._partials[name, operator] = _Partial(whole, array, self._statements[begin], self._statements[join])
        return self._partials[name, operator]

    def _shape(self, whole: Array) -> tuple[isl.PwAff, ...]:
        """Returns the shape [threads, ...] of partial results, with rows padded so that no two threads share a cache line."""
        threads = isl.PwAff(f"[{self._threads}] -> {{ [] -> [({self._threads})] }}")
        step = isl.Val(max(1, SEPARATION_BYTES // whole.element.size_bytes))
        if not whole.shape:
            return threads, isl.PwAff(f"{{ [] -> [({step.to_python()})] }}")
        *outer, last = whole.shape
        return (threads, *outer, last.scale_down_val(step).ceil().scale_val(step))

    def _element(self, name: str, whole: Array, array: Array, value: Value, joins: bool = False) -> Statement:
        """Returns the statement that initialises one element of one thread's partial results, or that combines this element with
        that of the whole array.

        name: the statement's.
        whole: the array that is updated in the end.
        array: the partial results.
        value: what the statement writes.
        joins: whether it combines.
        """
        indices = tuple(f"i{d}" for d in range(len(whole.shape)))
        iterators = (*indices, "t")
        space = f"{name}[{', '.join(iterators)}]"
        *own, thread = (isl.PwAff(f"{{ {space} -> [({i})] }}") for i in iterators)
        mine = _access(array.name, (thread, *(own or [thread.sub(thread)])))
        relation = isl.Map(f"{{ {space} -> {whole.name}[{', '.join(indices)}] }}")
        everyone = Access(array=whole.name, relation=relation, subscripts=tuple(own))
        write, reads = (everyone, (everyone, mine)) if joins else (mine, ())
        return Statement(
            name=name, iterators=iterators, domain=isl.Set(f"{{ {space} }}"), writes=(write,), reads=reads, value=value
        )

    def _over(self, partial: _Partial, statement: Statement, threads_first: bool) -> Node:
        """Returns the loops that run the statement for every element of every thread.

        threads_first: whether the loop over threads is the outermost one; if not, it is the innermost one.
        """
        names = [f"{statement.name}_{iterator}" for iterator in statement.iterators]
        extents = [self._table.affine(extent) for extent in (*partial.whole.shape, partial.array.shape[0])]
        order = list(zip(names, extents))
        order = [order[-1], *order[:-1]] if threads_first else order
        inside: Node = Instance(statement.name, tuple(map(variable, names)))
        for name, extent in reversed(order):
            inside = Loop(name, (Affine(0),), (extent - 1,), 1, (inside,))
        return inside

    def _redirected(self, node: Node, moved: dict[str, _Partial]) -> Node:
        """Returns the node with its updates of some arrays redirected to the thread's partial results.

        moved: { array -> its partial results }.
        """
        if not isinstance(node, Instance):
            return with_body(node, tuple(self._redirected(n, moved) for n in node.body))
        partial = moved.get(self._given.scop.statements[node.statement].write.array)
        if partial is None:
            return node
        return Instance(self._own(node.statement, partial), (*node.point, variable(self._thread)))

    def _own(self, name: str, partial: _Partial) -> str:
        """Returns the name of a statement that updates the thread's partial result where the statement `name` updates the whole
        array; it is made on the first call.
        """
        made = f"{name}_of_{partial.array.name}"
        if made not in self._statements:
            statement, reduction = self._given.scop.statements[name], self._given.reductions[name]
            iterators = (*statement.iterators, self._thread)
            space = f"{made}[{', '.join(iterators)}]"
            onto = isl.MultiAff(f"{{ {space} -> {name}[{', '.join(statement.iterators)}] }}")
            thread = isl.PwAff(f"{{ {space} -> [({self._thread})] }}")
            own = [e.pullback_multi_aff(onto) for e in statement.write.subscripts] or [thread.sub(thread)]
            access = replace(_access(partial.array.name, (thread, *own)), may=statement.write.may)
            reads = tuple(access if n == reduction.access else read for n, read in enumerate(statement.reads))
            self._statements[made] = replace(statement, name=made, iterators=iterators, writes=(access,), reads=reads)
            self._reductions[made] = replace(reduction, statement=made, array=partial.array.name)
        return made


def _access(array: str, subscripts: tuple[isl.PwAff, ...]) -> Access:
    """Returns the access { S[...] -> array[subscripts] }."""
    relation = polyhedra.relation(subscripts[0].get_domain_space(), array, subscripts)
    return Access(array=array, relation=relation, subscripts=subscripts)


def _joined(operator: str, element: DType) -> Value:
    """Returns the value that combines, by the operator, read 0 (an element of the whole array) with read 1 (that of one thread)."""
    both = (Load(0, dtype=element), Load(1, dtype=element))
    if operator in ("minimum", "maximum", "fmin", "fmax"):
        return syntax.Call(operator, both, "numpy", dtype=element)
    return syntax.Binary(operator, *both, dtype=element)
