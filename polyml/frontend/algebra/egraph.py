"""An e-graph: many ways to write one expression at once, of which the cheapest is taken.

    A @ B @ x: {(A @ B) @ x, A @ (B @ x)}   ->   A @ (B @ x)

A class holds nodes that have the same value; the operands of a node are classes, so that all ways to write a part are stored
once. Rules add nodes until they find none that are new, or the graph is full. Each class has the fact (shape, type) of its value.
(Willsey et al., "egg: Fast and Extensible Equality Saturation", POPL 2021; Nelson and Oppen, 1980.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Union

from polyml.frontend.algebra.facts import Fact
from polyml.values import cached_property

MOST_NODES = 400  # of a graph, after which no rule is applied any more
MOST_ROUNDS = 10


@dataclass(frozen=True)
class Leaf:
    """A leaf is a part of an expression that no rule looks into, by its position in the list of such parts; or a variable of a
    pattern.
    """

    name: Union[int, str]


@dataclass(frozen=True)
class Term:
    """A term is an operation on terms.

    op: the operation, such as "@"; a Leaf has no operands.
    """

    op: Union[str, Leaf]
    args: tuple[Term, ...] = ()

    @cached_property
    def operations(self) -> frozenset[str]:
        """Returns the operations in the term."""
        own = frozenset((self.op,)) if isinstance(self.op, str) else frozenset()
        return own.union(*(arg.operations for arg in self.args))


Node = tuple[Union[str, Leaf], tuple[int, ...]]
Binding = Mapping[Leaf, int]
Price = Callable[[str, Fact, list[Fact], list[bool]], float]


class EGraph:
    """An e-graph holds classes of nodes of equal value.

    facts: {class: what is known of its value}.
    """

    def __init__(self, fact_of: Callable[[str, list[Fact]], Fact | None]):
        """fact_of: gives what is known of an operation's value from what is known of its operands; None for one that is not
        possible.
        """
        self._fact_of = fact_of
        self._parents: list[int] = []
        self._known: dict[Node, int] = {}
        self.facts: dict[int, Fact] = {}
        self.nodes: dict[int, dict[Node, None]] = {}

    @property
    def size(self) -> int:
        """Returns the number of nodes."""
        return len(self._known)

    def find(self, name: int) -> int:
        """Returns the name of a class that may have been merged with others."""
        while self._parents[name] != name:
            name = self._parents[name]
        return name

    def add(self, op: Union[str, Leaf], args: tuple[int, ...] = (), fact: Fact | None = None) -> int | None:
        """Adds a node, and returns its class; None for an operation that its operands do not allow.

        fact: what is known of a leaf.
        """
        node = (op, tuple(map(self.find, args)))
        if node in self._known:
            return self.find(self._known[node])
        if isinstance(op, str):
            fact = self._fact_of(op, [self.facts[each] for each in node[1]])
        if fact is None:
            return None
        name = len(self._parents)
        self._parents.append(name)
        self._known[node], self.facts[name], self.nodes[name] = name, fact, {node: None}
        return name

    def add_term(self, term: Term, binding: Binding) -> int | None:
        """Adds a pattern's term, with classes in the place of its variables, and returns its class; None where that is not
        possible.
        """
        if isinstance(term.op, Leaf):
            return self.find(binding[term.op])
        args = []
        for arg in term.args:
            made = self.add_term(arg, binding)
            if made is None:
                return None
            args.append(made)
        return self.add(term.op, tuple(args))

    def merge(self, one: int, other: int) -> bool:
        """Makes two classes one, since their values are equal; returns whether they were two."""
        one, other = self.find(one), self.find(other)
        if one == other:
            return False
        self._parents[other] = one
        self.nodes[one].update(self.nodes.pop(other))
        del self.facts[other]
        return True

    def rebuild(self) -> None:
        """Makes nodes with equal operands one again after merges (congruence)."""
        merged = True
        while merged:
            merged = False
            known: dict[Node, int] = {}
            for name, nodes in list(self.nodes.items()):
                for op, args in nodes:
                    node = (op, tuple(map(self.find, args)))
                    same = known.setdefault(node, name)
                    merged = self.merge(same, name) or merged
            self._known = {node: self.find(name) for node, name in known.items()}
            self.nodes = {}
            for node, name in self._known.items():
                self.nodes.setdefault(name, {})[node] = None

    def matches(self, pattern: Term, name: int, binding: Binding) -> Iterator[Binding]:
        """Yields each way in which the value of a class can be written as a pattern: {variable: class}.

        binding: the variables that have a class already.
        """
        name = self.find(name)
        if isinstance(pattern.op, Leaf):
            if binding.get(pattern.op, name) == name:
                yield {**binding, pattern.op: name}
            return
        for op, args in tuple(self.nodes[name]):
            if op == pattern.op and len(args) == len(pattern.args):
                yield from self._all(pattern.args, args, binding)

    def _all(self, patterns: tuple[Term, ...], args: tuple[int, ...], binding: Binding) -> Iterator[Binding]:
        if not patterns:
            yield binding
            return
        for first in self.matches(patterns[0], args[0], binding):
            yield from self._all(patterns[1:], args[1:], first)

    def cheapest(self, root: int, price: Price) -> tuple[Term, float]:
        """Returns the cheapest way to write the value of a class, and its cost: the sum of the prices of its nodes.

        price: of one node, from its operation, its fact, those of its operands, and whether these are leaves.
        """
        best: dict[int, tuple[float, Node]] = {}
        leaves = {name for name, nodes in self.nodes.items() if any(isinstance(op, Leaf) for op, _ in nodes)}
        ways: list[tuple[int, Node, float]] = []
        for name, nodes in self.nodes.items():
            for op, given in nodes:
                args = tuple(map(self.find, given))
                facts = [self.facts[arg] for arg in args]
                own = price(op, self.facts[name], facts, [arg in leaves for arg in args]) if isinstance(op, str) else 0.0
                ways.append((name, (op, args), own))
        changed = True
        while changed:
            changed = False
            for name, node, own in ways:
                if all(arg in best for arg in node[1]):
                    total = own + sum(best[arg][0] for arg in node[1])
                    if name not in best or total < best[name][0] * (1 - 1e-9):
                        best[name], changed = (total, node), True

        def term(name: int) -> Term:
            op, args = best[name][1]
            return Term(op, tuple(map(term, args)))

        root = self.find(root)
        return term(root), best[root][0]
