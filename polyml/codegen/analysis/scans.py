"""Which loops may have lanes although each iteration needs the one before: where all that passes on are scans.

    for i: X[i] = X[i - 1] + A[i]               for i by 8: v = A[i ... i + 7], v[j] = v[0] + ... + v[j] in three steps
    for i: { s = s + A[i]; B[i] = s }     ->                X[i + j] = carry + v[j], carry = carry + v[7]

The lanes' own scan is that of Hillis and Steele ("Data parallel algorithms", CACM 1986): every lane is joined to the one 1,
2, 4, ... before. The operator is one whose updates may run in any order (`model.core.reductions`), so that lanes and what came
before may be joined in another order too. A scan passes its value on through the element of the iteration before, or through
one element, which is read behind the update in the same iteration, or before it.
"""

from __future__ import annotations

from itertools import dropwhile, takewhile

from polyml.codegen.analysis.access_conflicts import ConflictTest
from polyml.codegen.analysis.loop_nest import Nest, TouchIn
from polyml.codegen.ir.linexpr import Lin, var
from polyml.codegen.ir.program import Instance, Node, Program
from polyml.dtypes import PYINT
from polyml.model.core.scop import Statement


def may_scan(nest: Nest, v: int) -> bool:
    """Whether lanes of chain[v], the innermost loop around instances alone, may share scans, and there is one."""
    if v != len(nest.chain) - 1 or not all(isinstance(node, Instance) for node in nest.body):
        return False
    name, touches = nest.chain[v].var, nest.touches()
    if any(nest.program.scop.arrays[t.access.array].element == PYINT for t in touches if t.writes):
        return False  # which are checked one by one
    if not any(t.writes and _passes_on(nest, t, name, touches) for t in touches):
        return False
    fixed = tuple(k for k in range(len(nest.chain)) if k != v)
    return not any(d.may_be(fixed, v) for d in nest.deltas_but(lambda a, b: _is_of_scan(nest, a, b, name)))


def before_of(program: Program, tests: ConflictTest, statement: Statement, instance: Instance, name: str) -> int | None:
    """Which read of the statement is the element that the iteration of `name` before has written, None where none is scanned."""
    scan = program.scans.get(statement.name)
    if scan is None:
        return None
    write = tests.subscripts((statement.write, instance))
    read = tests.subscripts((statement.reads[scan.access], instance))
    return scan.access if _moves(write, name) and read == _earlier(write, name) else None


def _may_come_first(nest: Nest, instance: Instance) -> bool:
    """Whether nothing that the instance touches is written by those before it, in a body of instances alone."""
    statements = nest.program.scop.statements
    statement, before = statements[instance.statement], takewhile(lambda node: node is not instance, nest.body)
    written = {statements[node.statement].write.array for node in before if isinstance(node, Instance)}
    return written.isdisjoint(a.array for a in (*statement.reads, statement.write))


def is_read_before(program: Program, tests: ConflictTest, body: tuple[Node, ...], instance: Instance) -> bool:
    """Whether one of those before the instance reads the element that it writes."""
    statements = program.scop.statements
    write = statements[instance.statement].write
    before = takewhile(lambda node: node is not instance, body)
    reads = (
        (a, node)
        for node in before
        if isinstance(node, Instance)
        for a in statements[node.statement].reads
        if a.array == write.array
    )
    return any(tests.subscripts(read) == tests.subscripts((write, instance)) for read in reads)


def _passes_on(nest: Nest, write: TouchIn, name: str, touches: list[TouchIn]) -> bool:
    """Whether the touch writes a scan's values: to an element each, or to one that others read."""
    if _before(nest, write, name) is not None:
        return True
    if not write.accumulates or _moves(write.subscripts, name):
        return False
    return any(t.access.array == write.access.array and not t.accumulates for t in touches)


def _is_of_scan(nest: Nest, a: TouchIn, b: TouchIn, name: str) -> bool:
    """Whether the two touches meet in other iterations as a scan has it."""
    for write, other in ((a, b), (b, a)):
        if not write.writes:
            continue
        access = _before(nest, write, name)
        if access is not None:
            statement = nest.program.scop.statements[write.instance.statement]
            if other.instance is write.instance and other.access is statement.reads[access]:
                return True
        elif write.accumulates and not _moves(write.subscripts, name) and other.subscripts == write.subscripts:
            if other.instance is write.instance:
                if other.accumulates:
                    return True
            elif not other.writes and (_comes_later(nest, write, other) or _may_come_first(nest, write.instance)):
                return True
    return False


def _before(nest: Nest, write: TouchIn, name: str) -> int | None:
    statement = nest.program.scop.statements[write.instance.statement]
    return before_of(nest.program, nest.tests, statement, write.instance, name)


def _comes_later(nest: Nest, write: TouchIn, read: TouchIn) -> bool:
    """Whether the read stands behind the write in a body of instances alone."""
    return any(node is read.instance for node in dropwhile(lambda node: node is not write.instance, nest.body))


def _moves(subscripts: tuple[Lin, ...], name: str) -> bool:
    return any(name in e.names for e in subscripts)


def _earlier(subscripts: tuple[Lin, ...], name: str) -> tuple[Lin, ...]:
    return tuple(e.substitute({name: var(name) - 1}) for e in subscripts)
