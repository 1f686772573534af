"""The least and the greatest element of index arrays are found before the kernel writes anything.

                                                 columns_min = 2**62
                                                 for i: for j: columns_min = min(columns_min, columns[i, j])
    check 0 <= columns_min                  ->   check 0 <= columns_min
    for i, j: y[i] += x[columns[i, j]]           for i, j: y[i] += x[columns[i, j]]

They are parameters of the checks at entry: a call with an element that is out of bounds runs as plain Python, and the kernel
itself gathers without a test for each element.

This is an inspector in front of an executor: Saltz, Mirchandaney and Crowley, "Run-time parallelization and scheduling of
loops", IEEE Transactions on Computers 40(5), 1991.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count

import islpy as isl

from polyml import polyhedra
from polyml.codegen.ir.accesses import AccessTable
from polyml.codegen.ir.program import Instance, Loop, Node, Program
from polyml.dtypes import BOOL, I64, U64
from polyml.frontend import syntax
from polyml.model.core.call_interface import EXTREMES_OF_NOTHING, Parameter
from polyml.model.core.reductions import Reduction
from polyml.model.core.scop import Access, Array, Load, Role, Scop, Statement, Value
from polyml.quasi_affine.affine import Affine, variable


def index_bounds(program: Program) -> Program:
    """Returns the program with loops, in `Program.before`, that find the least or the greatest element of an array for each
    parameter that stands for such an element (`Parameter.extreme`).
    """
    scop = program.scop
    wanted = [p for p in scop.parameters if p.extreme]
    if not wanted:
        return program
    arrays = {p.name: p.array for p in wanted if p.array is not None}
    statements = {s.name: s for p in wanted for s in (_start(p), _step(p, scop.arrays[arrays[p.name]]))}
    scalars = {p.name: Array(name=p.name, element=I64, shape=(), role=Role.LOCAL) for p in wanted}
    before: list[Node] = [Instance(_start(p).name, ()) for p in wanted]
    for name in dict.fromkeys(arrays.values()):
        before.append(_loops(scop, name, [p for p in wanted if p.array == name]))
    return replace(
        program,
        scop=replace(scop, arrays={**scop.arrays, **scalars}, statements={**scop.statements, **statements}),
        before=tuple(before),
        reductions=program.reductions | dict(_reductions(wanted)),
    )


def _start(parameter: Parameter) -> Statement:
    """Returns the statement that sets the parameter, which stands for an array's least or greatest element, to its value for an
    empty array.
    """
    name = f"start_{parameter.name}"
    return Statement(
        name=name,
        iterators=(),
        domain=isl.Set(f"{{ {name}[] }}"),
        writes=(_scalar(name, (), parameter.name),),
        reads=(),
        value=syntax.Const(EXTREMES_OF_NOTHING[parameter.extreme], dtype=I64),
    )


def _step(parameter: Parameter, array: Array) -> Statement:
    """Returns the statement that updates the parameter, which stands for the array's least or greatest element, with one element.
    For a parameter p it reads { find_p[i0, i1, ...] -> array[i0, i1, ...] }, and writes p.
    """
    name = f"find_{parameter.name}"
    iterators = tuple(f"i{d}" for d in range(len(array.shape)))
    space = f"{name}[{', '.join(iterators)}]"
    subscripts = tuple(isl.PwAff(f"{{ {space} -> [({i})] }}") for i in iterators)
    relation = polyhedra.relation(subscripts[0].get_domain_space(), array.name, subscripts)
    accumulator = _scalar(name, iterators, parameter.name)
    return Statement(
        name=name,
        iterators=iterators,
        domain=isl.Set(f"{{ {space} }}"),
        writes=(accumulator,),
        reads=(accumulator, Access(array=array.name, relation=relation, subscripts=subscripts)),
        value=syntax.Binary(parameter.extreme, Load(0, dtype=I64), _number(Load(1, dtype=array.element)), dtype=I64),
    )


def _number(element: Load) -> Value:
    """Returns the element converted to a signed integer of 64 bits; larger unsigned elements become the greatest such integer."""
    if element.dtype == I64:
        return element
    number = syntax.Cast(element, I64, True, dtype=I64)
    if element.dtype != U64:
        return number
    fits = syntax.Compare(">=", number, syntax.Const(0, dtype=I64), dtype=BOOL)
    return syntax.IfExp(fits, number, syntax.Const(2**63 - 1, dtype=I64), dtype=I64)


def _scalar(statement: str, iterators: tuple[str, ...], name: str) -> Access:
    """Returns a statement's access { statement[iterators] -> name[] } to a scalar."""
    return Access(array=name, relation=isl.Map(f"{{ {statement}[{', '.join(iterators)}] -> {name}[] }}"), subscripts=())


def _reductions(parameters: list[Parameter]) -> Iterator[tuple[str, Reduction]]:
    """Yields (name of the statement, reduction) for each statement that updates a parameter, the least or greatest element of an
    array, so that lanes may share the update.

    parameters: those that stand for such elements.
    """
    for p in parameters:
        yield f"find_{p.name}", Reduction(f"find_{p.name}", p.name, p.extreme, 0)


def _loops(scop: Scop, array: str, parameters: list[Parameter]) -> Node:
    """Returns a nest of loops over the whole array that updates all of the parameters, which are least or greatest elements of
    it.
    """
    table = AccessTable(scop.context)
    taken = {p.name for p in scop.parameters}
    stem = next(stem for n in count() if not any(t.startswith(stem := f"find{n}_") for t in taken))
    names = [f"{stem}{d}" for d in range(len(scop.arrays[array].shape))]
    body: tuple[Node, ...] = tuple(Instance(f"find_{p.name}", tuple(map(variable, names))) for p in parameters)
    for name, extent in zip(reversed(names), reversed(scop.arrays[array].shape)):
        body = (Loop(name, (Affine(0),), (table.affine(extent) - 1,), 1, body),)
    return body[0]
