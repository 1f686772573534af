"""The instances of a program in the order it runs them: what the nodes of `codegen.ir.program` mean."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from types import CodeType
from typing import Any, TypeVar

from polyml.codegen.ir.program import Guard, Instance, Jam, Loop, Node, Program, Unroll
from polyml.quasi_affine.affine import Affine, Condition

Env = dict[str, int]  # the loop variables around a node, and the parameters
StatementPoint = tuple[str, tuple[int, ...]]
Visit = Callable[[str, tuple[int, ...]], None]
Together = Callable[[str, list[tuple[int, ...]]], None]
Execute = Callable[[list[Env]], None]

Item = TypeVar("Item")

ORDERS = ("source", "reversed", "shuffled")
MOST_PHASES = 16  # offsets in a cache line at which an array of numbers may begin
_FUNCTIONS = {"__builtins__": {}, "min": min, "max": max}


def walk(
    program: Program,
    sizes: Mapping[str, int],
    visit: Visit,
    *,
    together: Together | None = None,
    order: str = "source",
    seed: int = 0,
) -> None:
    """Calls visit(statement, point) for every instance of the program, in the order in which the program runs them.

    sizes: the values of the program's parameters.
    together: called as together(statement, points) instead for the lanes of one vector of a Jam whose iterations depend on each
        other (`Jam.in_order`): it has to read for all of these points before it writes for any. None: `visit` is called for them in
        their order.
    order: "source", "reversed" or "shuffled": the order of the iterations of parallel loops, and of those that a Jam (a node in
        the program) runs together; no order of these may change the result.
    seed: the seed for shuffling, and for where in a cache line arrays begin (`Program.phases`).
    """
    if order not in ORDERS:
        raise ValueError(f"order is one of {', '.join(ORDERS)}, not {order!r}")
    phases = {name: Random(f"{seed} {name}").randrange(MOST_PHASES) for name in program.phases}
    team = {program.threads: threads(order), program.thread: 0} if program.threads else {}
    _Walk(visit, together, order, seed, program).block(program.body)([{**sizes, **phases, **team}])


def threads(order: str) -> int:
    """Returns the number of threads to which `walk` deals the iterations of a parallel loop in turn: 1 for the order "source", else
    3.
    """
    return 1 if order == "source" else 3


def sequence(program: Program, sizes: Mapping[str, int], *, order: str = "source", seed: int = 0) -> list[StatementPoint]:
    """Returns the program's instances as a list of (statement, point), in the order in which `walk` visits them."""
    found: list[StatementPoint] = []
    walk(program, sizes, lambda name, point: found.append((name, point)), order=order, seed=seed)
    return found


def integer_code(e: Affine) -> CodeType:
    """Returns compiled Python code of an expression, to be given to `evaluate` many times."""
    return compile(str(e), "<integer>", "eval")


def tuple_code(expressions: Sequence[Affine]) -> CodeType:
    """Returns compiled Python code of a tuple of expressions, for `evaluate`."""
    return compile(f"({''.join(f'{e}, ' for e in expressions)})", "<integers>", "eval")


def evaluate(code: CodeType, values: Env) -> Any:
    """Returns the value of compiled code: an int, a tuple of ints or a truth value, according to what was compiled.

    values: by name of a variable, its value.
    """
    return eval(code, _FUNCTIONS, values)


class _Walk:
    """A walk turns nodes into functions that run them for a list of environments. An environment is a dictionary { name: value } of
    integers; the list has one for each of the iterations that the Jams (loops whose iterations run together) around the node run
    together.

    An instance runs for every environment of the list before the next instance does. `lanes` of the methods: of how many
    environments of the list each vector of a Jam around that keeps their order (`Jam.in_order`) consists; 0 where there is none.
    """

    def __init__(self, visit: Visit, together: Together | None, order: str, seed: int, program: Program):
        self._visit, self._together, self._order, self._random = visit, together, order, Random(seed)
        self._thread, self._threads = program.thread, threads(order)

    def block(self, nodes: tuple[Node, ...], lanes: int = 0) -> Execute:
        """Returns a function that runs the nodes one after the other for a list of environments."""
        parts = [self._node(node, lanes) for node in nodes]

        def execute(envs: list[Env]) -> None:
            for part in parts:
                part(envs)

        return execute

    def _node(self, node: Node, lanes: int) -> Execute:
        """Returns a function that runs a node for a list of environments."""
        if isinstance(node, Instance):
            return self._vectors(node, lanes) if lanes else self._instance(node)
        if isinstance(node, Loop):
            return self._loop(node, lanes)
        if isinstance(node, Guard):
            return self._guard(node, lanes)
        return self._jam(node) if isinstance(node, Jam) else self._unroll(node, lanes)

    def _vectors(self, node: Instance, lanes: int) -> Execute:
        """Returns a function that runs an instance for one vector of environments after the other."""
        point = tuple_code(node.point)
        together = self._together
        if together is None:
            return self._instance(node)

        def execute(envs: list[Env]) -> None:
            for first in range(0, len(envs), lanes):
                together(node.statement, self._any_order([evaluate(point, env) for env in envs[first : first + lanes]]))

        return execute

    def _instance(self, node: Instance) -> Execute:
        point = tuple_code(node.point)

        def execute(envs: list[Env]) -> None:
            for env in envs:
                self._visit(node.statement, evaluate(point, env))

        return execute

    def _loop(self, node: Loop, lanes: int) -> Execute:
        lower, upper, body = tuple_code(node.lower), tuple_code(node.upper), self.block(node.body, lanes)

        def execute(envs: list[Env]) -> None:
            first = _common(node, (max(evaluate(lower, env)) for env in envs))
            last = _common(node, (min(evaluate(upper, env)) for env in envs))
            iterations = list(range(first, last + 1, node.step))
            if node.last:
                envs = [{**env, node.last: last} for env in envs]
            for number, value in enumerate(self._any_order(iterations) if node.parallel else iterations):
                team = {self._thread: number % self._threads} if node.parallel and self._thread else {}
                body([{**env, node.var: value, **team} for env in envs])

        return execute

    def _guard(self, node: Guard, lanes: int) -> Execute:
        condition, body = _condition_code(node.condition), self.block(node.body, lanes)

        def execute(envs: list[Env]) -> None:
            inside = [env for env in envs if evaluate(condition, env)]
            if inside:
                body(inside)

        return execute

    def _jam(self, node: Jam) -> Execute:
        base, body = integer_code(node.base), self.block(node.body, node.lanes if node.in_order else 0)
        limit = None if node.limit is None else integer_code(node.limit)

        def execute(envs: list[Env]) -> None:
            inner: list[Env] = []
            if node.in_order and len(envs) != 1:
                raise ValueError(f"the iterations of {node.var} that keep their order run inside of others that run together")
            for env in envs:
                first = evaluate(base, env)
                last = first + node.count * node.lanes - 1
                if limit is not None:
                    last = min(last, evaluate(limit, env))
                inner += [{**env, node.var: value} for value in range(first, last + 1)]
            if node.scans:
                for env in inner:
                    body([env])
            elif inner:
                body(inner if node.in_order else self._any_order(inner))

        return execute

    def _unroll(self, node: Unroll, lanes: int) -> Execute:
        base, body = integer_code(node.base), self.block(node.body, lanes)

        def execute(envs: list[Env]) -> None:
            first = _common(node, (evaluate(base, env) for env in envs))
            for value in range(first, first + node.count):
                body([{**env, node.var: value} for env in envs])

        return execute

    def _any_order(self, items: list[Item]) -> list[Item]:
        """Returns the items, whose order must not matter, in the order that this walk tries: as they are, reversed or shuffled."""
        if self._order == "reversed":
            return items[::-1]
        return self._random.sample(items, len(items)) if self._order == "shuffled" else items


def _common(node: Loop | Unroll, values: Iterable[int]) -> int:
    """Returns the one value of a loop's bound in all environments that run together. Raises ValueError where the values differ."""
    distinct = set(values)
    if len(distinct) != 1:
        raise ValueError(f"the bounds of loop {node.var} differ between iterations that run together: {distinct}")
    return distinct.pop()


def _condition_code(condition: Condition) -> CodeType:
    return compile(str(condition), "<condition>", "eval")
