"""A Program as pseudocode that reads like Python, and as data for JSON."""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from polyml.codegen.ir.accesses import AccessTable
from polyml.codegen.ir.program import Guard, Instance, Jam, Loop, Node, Program, Unroll
from polyml.model.core.printer import access_text, parameter_text, region_text, statement_leaf, value_text
from polyml.model.core.scop import Role, Scop
from polyml.quasi_affine.affine import Affine, extremum

_STEP = "    "


def text(program: Program) -> str:
    """Returns the program as pseudocode: its loops with the statements written out.

    def gemm(alpha, beta, C, A, B):
        N = C.shape[0]
        for c0 in range(0, N, 32):  # tile, parallel
            together c1 = 0 .. 15 (2 vectors of 8), c1 <= M - 1:
                C[c0, c1] = beta*C[c0, c1]  # S0
    """
    return "\n".join(line for line, _ in marked_lines(program))


def marked_lines(program: Program) -> Iterator[tuple[str, tuple[Node, ...]]]:
    """Yields each line of the program's pseudocode with the node that it is the head of, after the nodes around it; () for a line of
    no node.
    """
    scop, printer = program.scop, InstancePrinter(program.scop)
    yield f"def {scop.name}({', '.join(scop.params)}):", ()
    head = [parameter_text(p) for p in scop.parameters if p.is_size]
    head += [*printer.allocations(), *(f"{name} = phase({array})" for name, array in program.phases.items())]
    yield from ((_STEP + line, ()) for line in head)
    for node in (*program.before, *program.body):
        yield from ((_STEP + line, path) for line, path in printer.marked(node))
    if scop.results:
        comma = "," if scop.result_is_tuple and len(scop.results) == 1 else ""
        yield f"{_STEP}return {', '.join(r.array for r in scop.results)}{comma}", ()


def program_data(program: Program) -> dict:
    """Returns a program's name, and the loops of its body as nested dictionaries, for JSON. Expressions are texts as in Python."""
    return {"name": program.scop.name, "body": [_node_data(node) for node in program.body]}


class InstancePrinter:
    """A printer of nodes as pseudocode, which writes each instance as the assignment that it runs."""

    def __init__(self, scop: Scop):
        self._scop, self._table = scop, AccessTable(scop.context)

    def allocations(self) -> Iterator[str]:
        """Yields a line of pseudocode, `A = empty([...], type)`, for each array that the kernel makes."""
        for array in self._scop.arrays.values():
            if array.role is not Role.ARGUMENT and array.shape:
                shape = ", ".join(str(self._table.affine(extent)) for extent in array.shape)
                yield f"{array.name} = empty([{shape}], {array.element})"

    def lines(self, node: Node) -> Iterator[str]:
        """Yields the lines of a node as pseudocode, with its body indented."""
        return (line for line, _ in self.marked(node))

    def marked(self, node: Node, around: tuple[Node, ...] = ()) -> Iterator[tuple[str, tuple[Node, ...]]]:
        """Yields the lines of a node as `lines` does, each with the node that it is the head of, after the nodes around it."""
        path = (*around, node)
        if isinstance(node, Instance):
            yield f"{self.instance(node)}  # {node.statement}", path
            return
        yield _head(node), path
        for inner in node.body:
            for line, inside in self.marked(inner, path):
                yield _STEP + line, inside

    def instance(self, node: Instance) -> str:
        """Returns the assignment of an instance as text: its statement with iterators replaced by the instance's point."""
        statement = self._scop.statements[node.statement]
        point = dict(zip(statement.iterators, node.point, strict=True))

        def integer(value: isl.PwAff) -> str:
            return str(self._table.affine(value).substitute(point))

        if statement.region is not None:
            return region_text(statement.region, point)
        value = value_text(statement.value, statement_leaf(statement, integer))
        return f"{access_text(statement.write, integer)} = {value}"


def _head(node: Loop | Guard | Jam | Unroll) -> str:
    """Returns the first line of a node that has a body, as pseudocode."""
    if isinstance(node, Guard):
        return f"if {node.condition}:"
    if isinstance(node, Unroll):
        return f"unrolled {node.var} = {node.base} .. {node.base + (node.count - 1)}{f', by {node.word}' if node.word else ''}:"
    if isinstance(node, Jam):
        vectors = f"{node.count} vector{'s' if node.count > 1 else ''} of {node.lanes}"
        size = vectors if node.lanes > 1 else f"{node.count} iterations"
        size += f"{', scans' if node.scans else ''}{', in order' if node.in_order else ''}"
        limit = "" if node.limit is None else f", {node.var} <= {node.limit}"
        return f"together {node.var} = {node.base} .. {node.base + (node.count * node.lanes - 1)} ({size}){limit}:"
    bounds = [extremum("max", node.lower), extremum("min", [e + 1 for e in node.upper])]
    step = f", {node.step}" if node.step != 1 else ""
    facts = (["tile"] if node.role == "tile" else []) + (["parallel"] if node.parallel else [])
    facts += [f"partial results of {', '.join(node.partial)}"] if node.partial else []
    facts += [f"even shares that end at {node.last}"] if node.last else []
    comment = f"  # {', '.join(facts)}" if facts else ""
    return f"for {node.var} in range({bounds[0]}, {bounds[1]}{step}):{comment}"


def _node_data(node: Node) -> dict:
    """Returns a node and those in it as nested dictionaries for JSON."""
    if isinstance(node, Instance):
        return {"node": "instance", "statement": node.statement, "point": _texts(node.point)}
    body = [_node_data(inner) for inner in node.body]
    if isinstance(node, Guard):
        return {"node": "guard", "condition": str(node.condition), "body": body}
    if isinstance(node, Loop):
        return {
            "node": "loop",
            "var": node.var,
            "lower": _texts(node.lower),
            "upper": _texts(node.upper),
            "step": node.step,
            "parallel": node.parallel,
            "role": node.role,
            "private": list(node.private),
            "last": node.last,
            "partial": list(node.partial),
            "body": body,
        }
    if isinstance(node, Unroll):
        return {"node": "unroll", "var": node.var, "base": str(node.base), "count": node.count, "word": node.word, "body": body}
    return {
        "node": "jam",
        "var": node.var,
        "base": str(node.base),
        "count": node.count,
        "lanes": node.lanes,
        "limit": None if node.limit is None else str(node.limit),
        "scans": node.scans,
        "in_order": node.in_order,
        "body": body,
    }


def _texts(expressions: tuple[Affine, ...]) -> list[str]:
    return [str(e) for e in expressions]
