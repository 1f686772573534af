"""Loops that may have lanes although each iteration needs a result of the one before, since all that is passed on are scans.

    for i: X[i] = X[i - 1] + A[i]               for i by 8: v = A[i ... i + 7], v[j] = v[0] + ... + v[j] in three steps
    for i: { s = s + A[i]; B[i] = s }     ->                X[i + j] = carry + v[j], carry = carry + v[7]
    for i: X[i] = c*X[i - 1] + A[i], or                     v[j] = c**j*v[0] + ... + v[j], X[i + j] = c**(j + 1)*carry + v[j]
           { s = c*s + A[i]; X[i] = s }

The scan among the lanes is that of Hillis and Steele ("Data parallel algorithms", CACM 1986): each lane is combined with the
lane 1, 2, 4, ... before it. The operator is one whose updates may run in any order (`model.core.reductions`), so the carry may
be combined with the lanes in another order too. A scan passes its value on in one of two ways: through the element that the
iteration before wrote, or through one accumulator, which other instances of the same iteration read after the update or before
it.
"""

from __future__ import annotations

from itertools import dropwhile, takewhile

from polyml.codegen.analysis.access_conflicts import ConflictTest
from polyml.codegen.analysis.loop_nest import LoopNest, NestAccess
from polyml.codegen.ir.program import Instance, Node, Program
from polyml.dtypes import PYINT
from polyml.model.core.reductions import scan_factor
from polyml.model.core.scop import Statement
from polyml.quasi_affine.affine import Affine, variable


def may_scan(nest: LoopNest, v: int) -> bool:
    """Returns whether vectors may have the iterations of loop number `v` of the nest as lanes and compute scans (prefix sums) over
    them: the loop is the innermost one, has only statements in its body, runs a scan, and carries no dependence except those of
    scans.
    """
    if v != len(nest.chain) - 1 or not all(isinstance(node, Instance) for node in nest.body):
        return False
    name, accesses = nest.chain[v].var, nest.accesses()
    if any(nest.program.scop.arrays[t.array].element == PYINT for t in accesses if t.writes):
        return False  # each result is checked for overflow
    if not any(t.writes and _passes_on(nest, t, name, accesses) for t in accesses):
        return False
    fixed = tuple(k for k in range(len(nest.chain)) if k != v)
    return not any(d.may_be(fixed, v) for d in nest.deltas_but(lambda a, b: _is_of_scan(nest, a, b, name)))


def scanned_read(program: Program, tests: ConflictTest, statement: Statement, instance: Instance, name: str) -> int | None:
    """Returns the number, among the statement's reads, of the one through which it continues a prefix sum: the read of the element
    that the loop's previous iteration has written. None if there is none.

    name: the loop's variable.
    """
    scan = program.scans.get(statement.name)
    if scan is None:
        return None
    write = tests.subscripts((statement.write, instance))
    read = tests.subscripts((statement.reads[scan.access], instance))
    return scan.access if _moves(write, name) and read == _earlier(write, name) else None


def multiplies(program: Program, tests: ConflictTest, statement: Statement, instance: Instance) -> bool:
    """Returns whether the statement multiplies the element that it writes by a constant and adds to it, as x = 0.5*x + A[i] does."""
    scan = program.scans.get(statement.name)
    if scan is None:
        return False
    return tests.subscripts((statement.write, instance)) == tests.subscripts((statement.reads[scan.access], instance))


def is_multiplied(nest: LoopNest) -> bool:
    """Returns whether a scan of the nest multiplies what it passes on by a constant before it adds to it."""
    program = nest.program
    found = ((statement, program.scans[statement.name]) for statement, _, _ in nest.statements() if statement.name in program.scans)
    return any(
        scan.operator == "+" and scan_factor(statement, scan.access, program.scop.arrays[scan.array].element) not in (None, 1.0)
        for statement, scan in found
    )


def _may_come_first(nest: LoopNest, instance: Instance) -> bool:
    """Returns whether the instances before this one, directly in the nest's body, write no array that this one accesses."""
    statements = nest.program.scop.statements
    statement, before = statements[instance.statement], takewhile(lambda node: node is not instance, nest.body)
    written = {statements[node.statement].write.array for node in before if isinstance(node, Instance)}
    return written.isdisjoint(a.array for a in (*statement.reads, statement.write))


def is_read_before(program: Program, tests: ConflictTest, body: tuple[Node, ...], instance: Instance) -> bool:
    """Returns whether another instance that precedes this one in the body reads the element that this one writes."""
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


def _passes_on(nest: LoopNest, write: NestAccess, name: str, accesses: list[NestAccess]) -> bool:
    """Returns whether the access writes the running values of a scan. There are two cases: each iteration writes an element of its
    own, which the next one reads to continue; or all iterations update one accumulator, which is also accessed otherwise than by
    updates.

    name: the variable of the loop that scans.
    accesses: all accesses of the nest.
    """
    if _before(nest, write, name) is not None or not _moves(write.subscripts, name) and _multiplies(nest, write):
        return True
    if not write.accumulates or _moves(write.subscripts, name):
        return False
    return any(t.array == write.array and not t.accumulates for t in accesses)


def _is_of_scan(nest: LoopNest, a: NestAccess, b: NestAccess, name: str) -> bool:
    """Returns whether a scan is the only reason why two accesses refer to one element in different iterations of a loop.

    name: the loop's variable.
    """
    for write, other in ((a, b), (b, a)):
        if not write.writes:
            continue
        access = _before(nest, write, name)
        if access is not None:
            statement = nest.program.scop.statements[write.instance.statement]
            if other.instance is write.instance and other.access is statement.reads[access]:
                return True
        elif _moves(write.subscripts, name) or other.subscripts != write.subscripts:
            continue
        elif write.accumulates or _multiplies(nest, write):
            if other.instance is write.instance:
                if other.accumulates or not write.accumulates and (other.writes or _is_multiplied(nest, other)):
                    return True
            elif not other.writes and (_comes_later(nest, write, other) or _may_come_first(nest, write.instance)):
                return True
    return False


def _multiplies(nest: LoopNest, write: NestAccess) -> bool:
    """Returns whether the access writes an element that its statement multiplies by a constant and adds to."""
    statement = nest.program.scop.statements[write.instance.statement]
    return write.writes and multiplies(nest.program, nest.tests, statement, write.instance)


def _is_multiplied(nest: LoopNest, read: NestAccess) -> bool:
    """Returns whether the access is the read of the element that its statement multiplies."""
    statement = nest.program.scop.statements[read.instance.statement]
    return read.access is statement.reads[nest.program.scans[statement.name].access]


def _before(nest: LoopNest, write: NestAccess, name: str) -> int | None:
    """Returns the number, among its statement's reads, of the one through which the instance that makes the write continues a scan
    along a loop; None if it continues none.

    name: the loop's variable.
    """
    statement = nest.program.scop.statements[write.instance.statement]
    return scanned_read(nest.program, nest.tests, statement, write.instance, name)


def _comes_later(nest: LoopNest, write: NestAccess, read: NestAccess) -> bool:
    """Returns whether the read's instance is the write's own or comes after it directly in the nest's body. False if either is in a
    loop or guard there.
    """
    return any(node is read.instance for node in dropwhile(lambda node: node is not write.instance, nest.body))


def _moves(subscripts: tuple[Affine, ...], name: str) -> bool:
    """Returns whether a subscript depends on the loop variable `name`."""
    return any(name in e.names for e in subscripts)


def _earlier(subscripts: tuple[Affine, ...], name: str) -> tuple[Affine, ...]:
    """Returns the subscripts as they are in the previous iteration of the loop over `name`."""
    return tuple(e.substitute({name: variable(name) - 1}) for e in subscripts)
