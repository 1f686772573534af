"""Live ranges: each local number becomes one name per group of assignments that reach a common read.

    x = A[i]                x = A[i]
    B[i] = x       ->       B[i] = x
    x = 0                   x.1 = 0
    C[x] = 1                C[x.1] = 1

So every name has one type, and unrelated uses of one name have no false dependences. A parameter is never assigned in the result:
where the kernel does, a live range that holds the argument's value starts with a copy of it. (Live ranges are called webs by
Muchnick, "Advanced Compiler Design and Implementation", ch. 16.)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from polyml.frontend import reaching_definitions, syntax, traversal
from polyml.frontend.name_resolution import statements, unused
from polyml.frontend.syntax import Stmt


def split(kernel: syntax.Kernel) -> syntax.Kernel:
    """Returns the kernel with a name of its own for each live range of its local numbers: x, x.1, x.2."""
    return _LiveRangeSplitter(kernel).kernel


class _LiveRangeSplitter:
    """A _LiveRangeSplitter unites the assignments that reach a common read by union-find, and gives each group a name of its own.

    kernel: the kernel with its live ranges renamed
    """

    def __init__(self, kernel: syntax.Kernel):
        self._flow = reaching_definitions.ReachingDefinitions(kernel.params)
        self._parent: dict[reaching_definitions.Definition, reaching_definitions.Definition] = {}
        self._collect(kernel.body, self._flow.start)
        self._names = self._named(kernel)
        starts = (d for p in kernel.params for d in self._flow.start[p.name])
        arguments = {self._root(d): d for d in starts if isinstance(d, reaching_definitions.Argument)}
        copies = tuple(
            syntax.Assign(
                syntax.Name(self._names[root], loc=a.param.loc),
                syntax.Name(a.param.name, loc=a.param.loc),
                loc=a.param.loc,
            )
            for root, a in arguments.items()
            if root in self._names
        )
        self.kernel = dataclasses.replace(kernel, body=(*copies, *self._renamed(kernel.body, self._flow.start)))

    def _collect(self, body: Sequence[Stmt], state: reaching_definitions.Reaching) -> None:
        for stmt in body:
            inside = self._flow.inside(stmt, state)
            for expr in traversal.expressions(stmt):
                for node in traversal.nodes(expr):
                    if isinstance(node, syntax.Name):
                        here = inside if isinstance(stmt, syntax.While) else state  # it tests before each run of its body
                        self._unite(reaching_definitions.reaching(here, node.name))
            for inner in traversal.bodies(stmt):
                self._collect(inner, inside)
            state = self._flow.after(stmt, state)

    def _unite(self, definitions: frozenset[reaching_definitions.Definition]) -> None:
        roots = list(map(self._root, definitions - {reaching_definitions.UNSET}))  # which is one for all names
        for other in roots[1:]:
            if other is not roots[0]:
                self._parent[other] = roots[0]

    def _root(self, definition: reaching_definitions.Definition) -> reaching_definitions.Definition:
        while definition in self._parent:
            definition = self._parent[definition]
        return definition

    def _named(self, kernel: syntax.Kernel) -> dict[reaching_definitions.Definition, str]:
        """Returns {definition: name} with one entry, and one name, for each live range that has an assignment.

        The definition is the one that stands for the live range: the root of its set in the union-find.
        """
        taken = {p.name for p in kernel.params}
        for stmt in statements(kernel.body):
            match stmt:
                case syntax.For(var=name) | syntax.Alloc(name=name):
                    taken.add(name)
        named: dict[reaching_definitions.Definition, str] = {}
        for stmt in statements(kernel.body):
            if isinstance(stmt, syntax.Assign) and isinstance(stmt.target, syntax.Name):
                root = self._root(self._flow.assigned(stmt))
                if root not in named:
                    named[root] = unused(stmt.target.name, taken)
        return named

    def _renamed(self, body: Sequence[Stmt], state: reaching_definitions.Reaching) -> tuple[Stmt, ...]:
        result = []
        for stmt in body:
            result.append(self._stmt(stmt, state))
            state = self._flow.after(stmt, state)
        return tuple(result)

    def _stmt(self, stmt: Stmt, state: reaching_definitions.Reaching) -> Stmt:
        inside = self._flow.inside(stmt, state)
        state = inside if isinstance(stmt, syntax.While) else state

        def new_name(node) -> str:
            if not isinstance(node, syntax.Name):
                return traversal.named(node)
            definitions = reaching_definitions.reaching(state, node.name) - {reaching_definitions.UNSET}
            return self._names.get(self._root(next(iter(definitions))), node.name) if definitions else node.name

        def renamed(expr: syntax.Expr) -> syntax.Expr:
            return traversal.rename(expr, new_name)

        if isinstance(stmt, syntax.Assign) and isinstance(stmt.target, syntax.Name):
            own = dataclasses.replace(stmt.target, name=self._names[self._root(self._flow.assigned(stmt))])
            return dataclasses.replace(traversal.map_reads(stmt, renamed), target=own)
        return traversal.with_bodies(traversal.map_reads(stmt, renamed), lambda body: self._renamed(body, inside))
