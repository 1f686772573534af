"""Tiles of operands are copied next to each other before they are read many times.

    for it: for kt: for jt:                     for it: for kt:
        for i, j, k in the tile:       ->           A_0[...] = A[rows it ..., columns kt ...]
            C[i, j] += A[i, k]*B[k, j]              for jt:
                                                        B_0[...] = B[rows kt ..., columns jt ...]
                                                        for i, j, k in the tile: C[i, j] += A_0[i - it, k - kt]*B_0[k - kt, j - jt]

A copy lies in few pages, its rows begin at cache lines and do not compete for the same few places of the cache, whatever
the caller's strides are, and its last dimension is the one that vectors run along (Goto and van de Geijn, "Anatomy of
high-performance matrix multiplication", ACM TOMS 34(3), 2008). Every access that is moved to a copy is proved to stay
within it, from the loops around it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from math import prod

import islpy as isl

from polyml import polyhedra
from polyml.codegen.accesses import AccessTable
from polyml.codegen.ast import Guard, Instance, Loop, Node, Program, Window, instances, with_body, with_paths
from polyml.codegen.build import negate
from polyml.codegen.conflicts import Around, ConflictTest
from polyml.codegen.integers import Compare, Condition, Lin, conjunction, const, var
from polyml.machine import CpuMachine
from polyml.model.scop import Access, Array, Load, Role, Statement

LEAST_USES = 48  # times that an element is read for which copying it pays
MOST_UNREAD = 2  # elements of a copy for one that is read: a box around a diagonal, or around columns of a flat matrix
LONG_ROW = 8  # cache lines from which rows that follow each other must not begin at multiples of a power of two


def pack(program: Program, machine: CpuMachine) -> Program:
    """The program with copies in its nests of tile loops, where they pay."""
    return _Packer(program, machine).program()


@dataclass(frozen=True)
class _Box:
    """Part of an array: from low, so many elements per dimension."""

    array: str
    low: tuple[Lin, ...]
    lengths: tuple[int, ...]

    @property
    def names(self) -> frozenset[str]:
        return frozenset().union(*(e.names for e in self.low))


@dataclass(frozen=True)
class _Use:
    """One read of an instance. around: what encloses it; moving: the loop variables its subscripts change with."""

    statement: Statement
    read: int
    instance: Instance
    around: tuple[Around, ...]
    window: _Box
    moving: frozenset[str]


@dataclass
class _Copy:
    """A window with memory of its own. order: the array's dimensions as the copy stores them. tile: the loop over tiles
    in whose body it is filled, the chain's number `level`.
    """

    name: str
    window: _Box
    order: tuple[int, ...]
    tile: Loop
    level: int
    uses: list[_Use] = field(default_factory=list)


class _Packer:
    def __init__(self, program: Program, machine: CpuMachine):
        self._given, self._machine = program, machine
        self._table = AccessTable(program.scop.context)
        self._tests = ConflictTest(program.scop, self._table)
        self._arrays: dict[str, Array] = {}
        self._statements: dict[str, Statement] = {}
        self._reductions = dict(program.reductions)
        self._windows: dict[str, Window] = {}
        self._renamed: dict[tuple[str, tuple], str] = {}

    def program(self) -> Program:
        body = self._nodes(self._given.body, ())
        if not self._arrays:
            return self._given
        scop = self._given.scop
        scop = replace(
            scop, arrays={**scop.arrays, **self._arrays}, statements={**scop.statements, **self._statements}
        )
        windows = {**self._given.windows, **self._windows}
        return replace(self._given, scop=scop, body=body, reductions=self._reductions, windows=windows)

    def _nodes(self, nodes: tuple[Node, ...], around: tuple[Around, ...]) -> tuple[Node, ...]:
        return tuple(self._node(node, around) for node in nodes)

    def _node(self, node: Node, around: tuple[Around, ...]) -> Node:
        if isinstance(node, Instance):
            return node
        before = set(self._arrays)
        if isinstance(node, Loop) and node.role == "tile":
            made = self._tiles(node, around)
        else:
            made = with_body(node, self._nodes(node.body, (*around, node)))
        if isinstance(node, Loop) and node.parallel:
            made = replace(made, private=(*made.private, *(a for a in self._arrays if a not in before)))
        return made

    # -- one nest of tile loops ------------------------------------------------------------------------------------

    def _tiles(self, loop: Loop, around: tuple[Around, ...]) -> Node:
        chain = _tile_chain(loop)
        copies = self._copies(chain, around) if len(chain) > 1 else []  # a strip alone goes over its data once
        if not copies:
            body = self._nodes(chain[-1].body, (*around, *chain))
            for each in reversed(chain):
                body = (with_body(each, body),)
            return body[0]
        level = min(copy.level for copy in copies)
        tests = [test for copy in copies for test in self._pays(copy, chain, level)]
        packed = self._filled(chain, copies, level)
        if tests:
            condition = conjunction(tests)
            packed = (Guard(condition, packed), Guard(negate(condition), chain[level].body, rare=True))
        for each in reversed(chain[: level + 1]):
            packed = (with_body(each, packed),)
        return packed[0]

    def _copies(self, chain: tuple[Loop, ...], around: tuple[Around, ...]) -> list[_Copy]:
        written = {self._given.scop.statements[i.statement].write.array for i in instances(chain[-1].body)}
        found: dict[_Box, _Copy] = {}
        for use in self._uses(chain, around):
            if use.window.array in written or not use.window.lengths:
                continue
            level = max((i for i, loop in enumerate(chain) if loop.var in use.window.names), default=-1)
            if level < 0 or self._again(use, chain, level) is None:
                continue
            copy = found.get(use.window)
            if copy is None:
                order = self._order(use)
                copy = found[use.window] = _Copy("", use.window, order, chain[level], level)
            copy.uses.append(use)
        copies = [c for c in found.values() if self._fits(c) and all(self._stays(u) for u in c.uses)]
        level = min((copy.level for copy in copies), default=0)
        copies = [c for c in copies if not any(t.expr.is_const for t in self._pays(c, chain, level))]
        for copy in copies:
            self._declare(copy)
        return copies

    def _uses(self, chain: tuple[Loop, ...], around: tuple[Around, ...]) -> Iterator[_Use]:
        tile_names = {loop.var for loop in chain}
        for instance, path in with_paths(chain[-1].body):
            statement = self._given.scop.statements[instance.statement]
            inner = [node for node in path if isinstance(node, Loop)]
            for number, access in enumerate(statement.reads):
                subscripts = self._tests.subscripts((access, instance))
                window = _box(access.array, subscripts, inner)
                if window is not None:
                    moving = frozenset().union(*(e.names for e in subscripts)) | window.names & tile_names
                    yield _Use(statement, number, instance, (*around, *chain, *path), window, moving)

    def _again(self, use: _Use, chain: tuple[Loop, ...], level: int) -> Loop | None:
        """The outermost loop inside chain[level] that goes over the same elements again."""
        below = use.around[use.around.index(chain[level]) + 1 :]
        return next((n for n in below if isinstance(n, Loop) and n.var not in use.moving), None)

    def _unknown(self, use: _Use, tile: Loop) -> set[str]:
        """The loop variables around the use that have no value in the body of a loop over tiles."""
        return {n.var for n in use.around[use.around.index(tile) + 1 :] if isinstance(n, Loop)}

    def _order(self, use: _Use) -> tuple[int, ...]:
        """The dimensions as they are, or with the one last along which the written row runs."""
        write = self._tests.subscripts((use.statement.write, use.instance))
        read = self._tests.subscripts((use.statement.reads[use.read], use.instance))
        dims = range(len(read))
        along = write[-1].names if write else frozenset()
        last = [d for d in dims if read[d].names & along and not any(read[d].names & e.names for e in write[:-1])]
        last = last[-1:] or [len(read) - 1]
        return (*(d for d in dims if d not in last), *last)

    def _fits(self, copy: _Copy) -> bool:
        """Whether the second cache holds the copy, and most of it is read."""
        element = self._given.scop.arrays[copy.window.array].element
        size = prod(copy.window.lengths)
        read = max(_elements_read(use) for use in copy.uses)
        return size * element.size_bytes <= self._machine.cache(2).size_bytes and size <= MOST_UNREAD * read

    def _stays(self, use: _Use) -> bool:
        """Whether the read never leaves the window."""
        touch = (use.statement.reads[use.read], use.instance)
        return self._tests.stays_within(touch, use.around, use.window.low, use.window.lengths)

    def _pays(self, copy: _Copy, chain: tuple[Loop, ...], level: int) -> list[Condition]:
        """What must hold in the body of chain[level] so that each element of the copy is read often: the first loop that
        goes over it again is long.
        """
        use = copy.uses[0]
        again = self._again(use, chain, copy.level)
        unknown = self._unknown(use, chain[level])
        lengths = [high - low + 1 for low in again.lower for high in again.upper]
        tests = [Compare(">=", n - LEAST_USES) for n in lengths if not n.names & unknown]
        return [t for t in tests if not (t.expr.is_const and t.expr.const >= 0)]

    # -- the code ------------------------------------------------------------------------------------------------------

    def _filled(self, chain: tuple[Loop, ...], copies: Sequence[_Copy], level: int) -> tuple[Node, ...]:
        """The body of chain[level] with the copies filled and read."""
        inside = self._filled(chain, copies, level + 1) if level + 1 < len(chain) else self._redirected(chain[-1].body, copies)
        if level + 1 < len(chain):
            inside = (with_body(chain[level + 1], inside),)
        fills = [self._fill(copy) for copy in copies if copy.level == level]
        return (*fills, *inside)

    def _redirected(self, nodes: tuple[Node, ...], copies: Sequence[_Copy]) -> tuple[Node, ...]:
        moved: dict[int, dict[int, _Copy]] = {}
        for copy in copies:
            for use in copy.uses:
                moved.setdefault(id(use.instance), {})[use.read] = copy

        def redirect(node: Node) -> Node:
            if not isinstance(node, Instance):
                return with_body(node, tuple(map(redirect, node.body)))
            mine = moved.get(id(node))
            return node if mine is None else replace(node, statement=self._reading(node.statement, mine))

        return tuple(map(redirect, nodes))

    def _reading(self, name: str, copies: dict[int, _Copy]) -> str:
        """The statement that reads from the copies."""
        statement = self._given.scop.statements[name]
        key = (name, tuple((read, copy.name) for read, copy in copies.items()))
        if key not in self._renamed:
            made = f"{name}_from_{'_'.join(copy.name for copy in copies.values())}"
            reads = list(statement.reads)
            for read, copy in copies.items():
                subscripts = tuple(reads[read].subscripts[d] for d in copy.order)
                reads[read] = _access(copy.name, subscripts)
            self._statements[made] = replace(statement, name=made, reads=tuple(reads))
            if name in self._reductions:
                self._reductions[made] = replace(self._reductions[name], statement=made)
            self._renamed[key] = made
        return self._renamed[key]

    def _declare(self, copy: _Copy) -> None:
        source = self._given.scop.arrays[copy.window.array]
        copy.name = next(name for n in count() if self._is_free(name := f"{source.name}_tile{n}"))
        shape = tuple(source.shape[d] for d in copy.order)
        self._arrays[copy.name] = replace(source, name=copy.name, shape=shape, role=Role.LOCAL)
        lengths = [copy.window.lengths[d] for d in copy.order]
        lengths[-1] = self._padded(lengths[-1] * source.element.size_bytes) // source.element.size_bytes
        self._windows[copy.name] = Window(tuple(copy.window.low[d] for d in copy.order), tuple(lengths))

    def _is_free(self, name: str) -> bool:
        """Whether nothing is called so, nor as the loops that fill the copy: names of the kernel are the user's."""
        scop = self._given.scop
        taken = (*scop.arrays, *self._arrays, *(p.name for p in scop.parameters))
        return not any(t == name or t.startswith(f"{name}_") for t in taken)

    def _padded(self, row_bytes: int) -> int:
        """Rows of whole cache lines, long ones of an odd number of them."""
        line = self._machine.line_bytes
        lines = -(-row_bytes // line)
        return (lines + 1 - lines % 2 if lines >= LONG_ROW else lines) * line

    def _fill(self, copy: _Copy) -> Node:
        """for each element of the window that the array has: copy it."""
        window = copy.window
        source = self._given.scop.arrays[window.array]
        name = f"fill_{copy.name}"
        iterators = tuple(f"i{d}" for d in range(len(window.low)))
        tuple_text = f"{name}[{', '.join(iterators)}]"
        subscripts = tuple(isl.PwAff(f"{{ {tuple_text} -> [({i})] }}") for i in iterators)
        self._statements[name] = Statement(
            name=name,
            iterators=iterators,
            domain=isl.Set(f"{{ {tuple_text} }}"),
            write=_access(copy.name, tuple(subscripts[d] for d in copy.order)),
            reads=(_access(window.array, subscripts),),
            value=Load(0, source.element),
        )
        loops = [f"{copy.name}_{d}" for d in range(len(window.low))]
        inside: tuple[Node, ...] = (Instance(name, tuple(map(var, loops))),)
        for d in reversed(range(len(loops))):
            last = self._table.affine(source.shape[d]) - 1
            low, high = window.low[d], window.low[d] + (window.lengths[d] - 1)
            lower, upper = self._needed(copy, d)
            inside = (Loop(loops[d], (low, *lower, const(0)), (high, *upper, last), 1, inside),)
        return inside[0]

    def _needed(self, copy: _Copy, dim: int) -> tuple[list[Lin], list[Lin]]:
        """What more is known of the indices that are read: the bounds, beyond the tile's, of the one loop they follow."""
        known = set()
        for use in copy.uses:
            e = self._tests.subscripts((use.statement.reads[use.read], use.instance))[dim]
            loop = next((n for n in use.around if isinstance(n, Loop) and e == var(n.var)), None)
            if loop is None:
                return [], []
            inside = self._unknown(use, copy.tile)
            low = copy.window.low[dim]
            edges = (low, low + (copy.window.lengths[dim] - 1), const(0))
            lower, upper = (
                tuple(b for b in bounds if b not in edges and not b.names & inside) for bounds in (loop.lower, loop.upper)
            )
            known.add((lower, upper))
        if len(known) != 1:
            return [], []
        lower, upper = known.pop()
        return list(lower), list(upper)


def _access(array: str, subscripts: tuple[isl.PwAff, ...]) -> Access:
    relation = polyhedra.relation(subscripts[0].get_domain_space(), array, subscripts)
    return Access(array=array, relation=relation, subscripts=subscripts)


def _tile_chain(loop: Loop) -> tuple[Loop, ...]:
    """Loops over tiles, each the only node of the one before."""
    chain = [loop]
    while len(chain[-1].body) == 1 and isinstance(chain[-1].body[0], Loop) and chain[-1].body[0].role == "tile":
        chain.append(chain[-1].body[0])
    return tuple(chain)


def _box(array: str, subscripts: tuple[Lin, ...], inner: Sequence[Loop]) -> _Box | None:
    """The box that the subscripts stay in while the inner loops run over their tiles; None where it has no known size."""
    low, high = list(subscripts), list(subscripts)
    for loop in reversed(inner):
        for side, smallest in ((low, True), (high, False)):
            for d, e in enumerate(side):
                c = e.coefficient(loop.var)
                if c is None:
                    return None
                if not c:
                    continue
                ends = _tile_of(loop)
                if ends is None:
                    return None
                side[d] = e.substitute({loop.var: ends[0] if (c > 0) == smallest else ends[1]})
    lengths = [h - e + 1 for e, h in zip(low, high)]
    if not all(n.is_const for n in lengths):
        return None
    return _Box(array, tuple(low), tuple(n.const for n in lengths))


def _elements_read(use: _Use) -> int:
    """At most how many elements the loops inside the tile read."""
    total = 1
    for loop in use.around:
        ends = _tile_of(loop) if isinstance(loop, Loop) and loop.role != "tile" else None
        if ends is not None and loop.var in use.moving:
            total *= (ends[1] - ends[0]).const // loop.step + 1
    return total


def _tile_of(loop: Loop) -> tuple[Lin, Lin] | None:
    """Two bounds of the loop that are a constant apart."""
    return next(((low, high) for low in loop.lower for high in loop.upper if (high - low).is_const), None)
