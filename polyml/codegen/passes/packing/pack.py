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

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from math import prod

import islpy as isl

from polyml import polyhedra
from polyml.codegen.analysis.access_boxes import Box, begins_on_step, box, lower_outside, moving_names, tile_of
from polyml.codegen.analysis.access_conflicts import Around, ConflictTest
from polyml.codegen.analysis.cost_model import middle_values, trips
from polyml.codegen.ir.abi import SlotMap
from polyml.codegen.ir.accesses import AccessTable
from polyml.codegen.ir.linexpr import Compare, Condition, Lin, conjunction, const, floor_div, negate, var
from polyml.codegen.ir.program import Guard, Instance, Loop, Node, Program, Window, loops, with_body, with_paths
from polyml.codegen.passes.packing.operands import alone, replaced, with_numbers_in
from polyml.errors import ScheduleError
from polyml.machines.cpu import CpuMachine
from polyml.model.core.nest import subvalues
from polyml.model.core.scop import Access, Array, Gather, Load, Role, Statement, Value

LEAST_USES = 48  # times that an element is read for which copying it pays, where sizes are not known
LEAST_USES_SIZED = 256  # where they are
LEAST_ALIASED_USES = 48  # the same of arrays whose rows compete for the same places of the first cache
LEAST_FAR_USES = 8  # and of arrays of more than half of the last cache, whose rows must be read from memory as they lie there
LEAST_MADE_USES = 16  # and of copies that hold a product of the element
LEAST_TURNED_USES = 4  # and where the loops of a register tile do not run along its rows
NEVER = 2**62
PAGE_BYTES = 4096  # a power of two of which rows that are multiples compete for the same places of the first cache
PANELS_AT_ONCE = 16  # that are filled row by row, so that rows of the array are read as they lie in memory
MOST_UNREAD = 2  # elements of a copy for one that is read: a box around a diagonal, or around columns of a flat matrix
LONG_ROW = 8  # cache lines from which rows that follow each other must not begin at multiples of a power of two


def pack(program: Program, machine: CpuMachine, layouts: tuple[str, ...] = (), sizes: Mapping[str, int] | None = None) -> Program:
    """The program with copies in its nests of tile loops, where they pay. sizes: values of parameters to judge by."""
    return _Packer(program, machine, layouts, sizes).program()


@dataclass(frozen=True)
class _Use:
    """One read of an instance. around: what encloses it; moving: the loop variables its subscripts change with."""

    statement: Statement
    read: int
    instance: Instance
    around: tuple[Around, ...]
    window: Box
    moving: frozenset[str]


@dataclass
class _Copy:
    """A window with memory of its own. value: what the copy holds of each element, in which Load is the element: itself,
    or what a statement makes of it with numbers that never change (`alpha*A[i, k]`), so that it is made once. order: the
    array's dimensions as the copy stores them. level: in the body of which loop of the chain it is filled, -1: before all of
    them. panel: see `_panel`. is_shared: a loop inside goes to threads. is_asked: the schedule asks for it, whether it pays or
    not.
    """

    name: str
    window: Box
    value: Value
    order: tuple[int, ...]
    level: int
    chain: tuple[Loop, ...]
    panel: Loop | None = None
    is_shared: bool = False
    is_asked: bool = False
    uses: list[_Use] = field(default_factory=list)


class _Packer:
    def __init__(self, program: Program, machine: CpuMachine, layouts: tuple[str, ...], sizes: Mapping[str, int] | None):
        self._given, self._machine, self._sizes = program, machine, sizes
        if sizes is not None:
            slots = SlotMap.of(program, layouts)
            self._unit_dims = {name: slots.unit_dim(array) for name, array in program.scop.arrays.items()}
        self._table = AccessTable(program.scop.context)
        self._tests = ConflictTest(program.scop, self._table)
        self._arrays: dict[str, Array] = {}
        self._statements: dict[str, Statement] = {}
        self._reductions = dict(program.reductions)
        self._windows: dict[str, Window] = {}
        self._renamed: dict[tuple[str, tuple], str] = {}
        self._notes: list[str] = []

    def program(self) -> Program:
        body = self._nodes(self._given.body, ())
        if not self._arrays:
            return self._given
        scop = self._given.scop
        scop = replace(scop, arrays={**scop.arrays, **self._arrays}, statements={**scop.statements, **self._statements})
        windows = {**self._given.windows, **self._windows}
        notes = (*self._given.notes, *self._notes)
        return replace(self._given, scop=scop, body=body, reductions=self._reductions, windows=windows, notes=notes)

    def _nodes(self, nodes: tuple[Node, ...], around: tuple[Around, ...]) -> tuple[Node, ...]:
        return tuple(made for node in nodes for made in self._node(node, around))

    def _node(self, node: Node, around: tuple[Around, ...]) -> tuple[Node, ...]:
        if isinstance(node, Instance):
            return (node,)
        if isinstance(node, Loop) and node.role == "tile":
            return self._tiles(node, around)
        return (self._with_inside((node,), around),)

    def _with_inside(self, chain: tuple[Loop, ...] | tuple[Guard], around: tuple[Around, ...]) -> Node:
        """The loops around each other, or the guard, with what is inside."""
        before = {*self._arrays}
        body = self._nodes(chain[-1].body, (*around, *chain))
        made = [name for name in self._arrays if name not in before]
        for each in reversed(chain):
            body = (self._owning(each, made, body),)
        return body[0]

    def _owning(self, node: Loop | Guard, names: Sequence[str], body: tuple[Node, ...]) -> Loop | Guard:
        """The loop (or guard) around the body. Of loops that could go to threads around each other one does: each of these threads
        needs its own of the copies made in there.
        """
        if isinstance(node, Guard) or not node.parallel:
            return with_body(node, body)
        return replace(node, private=tuple(dict.fromkeys((*node.private, *names))), body=body)

    # -- one nest of tile loops ------------------------------------------------------------------------------------

    def _tiles(self, loop: Loop, around: tuple[Around, ...]) -> tuple[Node, ...]:
        chain = _tile_chain(loop)
        copies = self._copies(chain, around)
        if not copies:
            return (self._with_inside(chain, around),)
        level = min(copy.level for copy in copies)
        tests = [test for copy in copies for test in self._pays(copy, chain, level)]
        packed = self._filled(chain, copies, level)
        if tests:
            condition = conjunction(tests)
            packed = (Guard(condition, packed), Guard(negate(condition), _inside(chain, level), rare=True))
        for each in reversed(chain[: level + 1]):
            packed = (self._owning(each, [copy.name for copy in copies], packed),)
        return packed

    def _copies(self, chain: tuple[Loop, ...], around: tuple[Around, ...]) -> list[_Copy]:
        if any(loop.asked.pack for loop in loops((chain[0],))):
            return self._asked_copies(chain, around)
        is_strip = len(chain) == 1  # it goes over its data once, or as it lies in memory
        if is_strip and (self._sizes is None or any(map(_has_tiles, chain[0].body))):
            return []
        found: dict[tuple, _Copy] = {}
        for uses in self._uses(chain, around):
            chosen = self._copy(uses, chain, found)
            if chosen is not None:
                use, copy = chosen
                found.setdefault(_key(copy), copy).uses.append(use)
        copies = [c for c in found.values() if not is_strip or self._is_turned(c)]
        copies = [c for c in copies if all(self._stays(u, c) for u in c.uses)]
        level = min((copy.level for copy in copies), default=0)
        copies = [c for c in copies if not any(t.expr.is_const for t in self._pays(c, chain, level))]
        for copy in copies:
            self._declare(copy)
            if self._sizes is not None:
                self._note(copy)
        return copies

    def _asked_copies(self, chain: tuple[Loop, ...], around: tuple[Around, ...]) -> list[_Copy]:
        """The copies that the schedule asks for in the chain's loops, and no others. ScheduleError for what cannot be."""
        found: dict[tuple, _Copy] = {}
        packed: dict[tuple[int, int], Loop] = {}  # where, by instance and read
        for level, loop in enumerate(chain):
            for name in loop.asked.pack:
                for use in self._reads_of(name, chain, level, around):
                    value = alone(with_numbers_in(use.statement, use.read))
                    copy = _Copy("", use.window, value, self._order(use, chain), level, chain, is_asked=True)
                    copy.panel = self._panel(use, copy, chain)
                    copy.is_shared = any(inner.parallel for inner in chain[level + 1 :])
                    known = found.setdefault((level, *_key(copy)), copy)
                    other = packed.setdefault((id(use.instance), use.read), loop)
                    if other is not loop:
                        raise _refused(loop, name, f"it is at loop `{other.name}`, which is around that one")
                    if self._is_written(use, chain, level):
                        raise _refused(loop, name, "the element that is read may be written in the same iteration")
                    if not self._stays(use, known):
                        raise _refused(loop, name, "which elements are read cannot be told")
                    known.uses.append(use)
        deeper = [loop for loop in loops(chain[-1].body) if loop.asked.pack]
        if found and deeper:
            why = f"`{chain[0].name}`, with other loops in between, has copies already"
            raise _refused(deeper[0], deeper[0].asked.pack[0], why)
        for copy in found.values():
            self._declare(copy)
        return [*found.values()]

    def _reads_of(self, array: str, chain: tuple[Loop, ...], level: int, around: tuple[Around, ...]) -> list[_Use]:
        """The reads of the array's elements in the body of chain[level], each with its window there."""
        found = []
        for instance, path in with_paths(chain[-1].body):
            statement = self._given.scop.statements[instance.statement]
            if any(isinstance(v, Gather) and v.array == array for v in subvalues(statement.value)):
                raise _refused(chain[level], array, "data decide which elements are read")
            inner = [node for node in path if isinstance(node, Loop)]
            for number, access in enumerate(statement.reads):
                if access.array == array and access.subscripts:
                    subscripts = self._tests.subscripts((access, instance))
                    window = box(array, subscripts, [*chain[level + 1 :], *inner], True)
                    moving = moving_names(subscripts, (*chain, *inner))
                    found.append(_Use(statement, number, instance, (*around, *chain, *path), window, moving))
        return found

    def _copy(
        self, uses: Sequence[tuple[int, _Use]], chain: tuple[Loop, ...], found: Mapping[tuple, _Copy]
    ) -> tuple[_Use, _Copy] | None:
        """The copy that the read is best moved to, and the read with its window: the outermost one that pays, or the same in
        parts inside loops that go over other elements each time, as long as threads share it or no second cache holds it.
        """
        best: tuple[_Use, _Copy] | None = None
        for level, use in uses:
            if best is not None and not self._is_better_apart(*best, level):
                break
            if not use.window.lengths or self._again(use, chain, level) is None:
                continue
            order, value = self._order(use, chain), with_numbers_in(use.statement, use.read)
            copy = _Copy("", use.window, alone(value), order, level, chain)
            known = found.get(_key(copy))
            if known is None:
                copy.panel = self._panel(use, copy, chain)
                copy.is_shared = any(loop.parallel for loop in chain[level + 1 :])
                if not self._fits(copy, use, chain):
                    continue
                if self._sizes is not None and self._times(use, copy) < self._least_uses(copy, use):
                    break
            elif known.level != level:
                continue
            else:
                copy = known
            if not self._is_written(use, chain, level) and (best is None or self._is_part(copy, best[1])):
                best = use, copy
        return best

    def _is_better_apart(self, use: _Use, copy: _Copy, level: int) -> bool:
        """Whether parts of the copy, made in the body of a loop further inside, are used as often and may be nearer."""
        if self._sizes is None or any(loop.var not in use.moving for loop in copy.chain[copy.level + 1 : level + 1]):
            return False
        return copy.is_shared or self._size_bytes(copy) > self._machine.cache(2).size_bytes

    def _is_part(self, part: _Copy, whole: _Copy) -> bool:
        """Whether the part lies in memory as the whole does, and is read from the array in pieces that are long as well."""
        unit = self._unit_dim(part.window.array)
        if unit is None or (part.panel is None) != (whole.panel is None):
            return False
        long = LONG_ROW * self._machine.line_bytes // self._given.scop.arrays[part.window.array].element.size_bytes
        return part.window.lengths[unit] in (None, whole.window.lengths[unit]) or part.window.lengths[unit] >= long

    def _uses(self, chain: tuple[Loop, ...], around: tuple[Around, ...]) -> Iterator[list[tuple[int, _Use]]]:
        """Each read with the windows that hold it in the bodies of the chain's loops, from the outermost one inwards."""
        for instance, path in with_paths(chain[-1].body):
            statement = self._given.scop.statements[instance.statement]
            inner = [node for node in path if isinstance(node, Loop)]
            for number, access in enumerate(statement.reads):
                subscripts = self._tests.subscripts((access, instance))
                moving = moving_names(subscripts, (*chain, *inner))
                found = []
                for level in range(-1 if self._sizes else 0, len(chain)):
                    window = box(access.array, subscripts, [*chain[level + 1 :], *inner], self._sizes is not None)
                    if window is not None and (level < 0 or chain[level].var in window.names):
                        found.append((level, _Use(statement, number, instance, (*around, *chain, *path), window, moving)))
                yield found

    def _is_written(self, use: _Use, chain: tuple[Loop, ...], level: int) -> bool:
        """Whether something in the body of chain[level] may write an element that is read there."""
        for instance, path in with_paths(chain[-1].body):
            write = self._given.scop.statements[instance.statement].write
            if write.array == use.window.array:
                loops = [n for n in (*chain[level + 1 :], *path) if isinstance(n, Loop)]
                shared = use.around[: _inside_of(use, chain, level)]
                touch = (use.statement.reads[use.read], use.instance)
                if self._tests.may_be_same(touch, (write, instance), shared, self._below(use, chain, level), loops):
                    return True
        return False

    def _again(self, use: _Use, chain: tuple[Loop, ...], level: int) -> Loop | None:
        """The outermost loop inside chain[level] that goes over the same elements again."""
        return next((n for n in self._below(use, chain, level) if n.var not in use.moving), None)

    def _below(self, use: _Use, chain: tuple[Loop, ...], level: int) -> list[Loop]:
        """The loops around the use, inside the body of chain[level]."""
        return [n for n in use.around[_inside_of(use, chain, level) :] if isinstance(n, Loop)]

    def _unknown(self, use: _Use, chain: tuple[Loop, ...], level: int) -> set[str]:
        """The names of loops around the use that have no value in the body of chain[level]."""
        return {name for n in self._below(use, chain, level) for name in (n.var, n.last)}

    def _order(self, use: _Use, chain: tuple[Loop, ...]) -> tuple[int, ...]:
        """The dimensions as the loops around go through them, and last the one along which the written row runs; where
        there is none, the one whose elements are neighbours, if what is written moves along it and tiles hold several.
        """
        write = self._tests.subscripts((use.statement.write, use.instance))
        read = self._tests.subscripts((use.statement.reads[use.read], use.instance))
        row = self._row(use, write)
        along = (write[row].names if write else frozenset()) - self._of_one_iteration(use)
        others = [e for d, e in enumerate(write) if d != row]
        last = [d for d, e in enumerate(read) if e.names & along and not any(e.names & other.names for other in others)]
        unit = self._unit_dim(use.window.array)
        if not last and len(chain) > 1 and unit is not None and any(read[unit].names & e.names & _in_tile(use) for e in write):
            last = [unit]
        places = {n.var: k for k, n in enumerate(use.around) if isinstance(n, Loop)}

        def place(d: int) -> tuple[bool, int]:
            return d in last[-1:], max((places.get(name, -1) for name in read[d].names), default=-1)

        return tuple(sorted(range(len(read)), key=place))

    def _row(self, use: _Use, write: Sequence[Lin]) -> int:
        """The dimension of what is written that a register tile is longest along: the last one, or that of the innermost loop
        where its tile is longer than the last one's.
        """
        last, steps = len(write) - 1, _tile_steps(use)
        moving = [v for v in steps if any(v in e.names for e in write)]
        if self._sizes is None or not moving or moving[-1] in write[last].names:
            return last
        own = max((steps.get(v, 1) for v in moving if v in write[last].names), default=0)
        dims = [d for d, e in enumerate(write) if moving[-1] in e.names]
        return dims[0] if len(dims) == 1 and 0 < own < steps.get(moving[-1], 1) else last

    def _of_one_iteration(self, use: _Use) -> set[str]:
        """The variables of loops that run once at the sizes expected."""
        loops = [n for n in use.around if isinstance(n, Loop)]
        known = middle_values(loops, self._sizes or {})
        return {n.var for n in loops if trips(n, known) == 1}

    def _panel(self, use: _Use, copy: _Copy, chain: tuple[Loop, ...]) -> Loop | None:
        """The loop over tiles inside the copy's that moves along its last dimension, and along what is written: its tiles
        become panels, in which that dimension is as short as a tile. Not one whose tiles begin where a thread's share does.
        """
        dim = copy.order[-1]
        e = self._tests.subscripts((use.statement.reads[use.read], use.instance))[dim]
        written = self._tests.subscripts((use.statement.write, use.instance))
        if not any(e.names & other.names for other in written):
            return None
        point = next((n for n in use.around if isinstance(n, Loop) and e == var(n.var)), None)
        for tile in chain[copy.level + 1 :] if point is not None else ():
            begins, ends = ([e - var(tile.var) for e in side] for side in (point.lower, point.upper))
            along = any(e.is_const and e.const >= 0 for e in begins) and any(e.is_const and e.const < tile.step for e in ends)
            if along and tile.step > 1 and begins_on_step(tile, copy.window.low[dim], use.around):
                return tile
        return None

    def _fits(self, copy: _Copy, use: _Use, chain: tuple[Loop, ...]) -> bool:
        """Whether a cache holds the copy, of which all sizes are known, and most of it is read."""
        array = self._given.scop.arrays[copy.window.array]
        whole = [d for d, n in enumerate(copy.window.lengths) if n is None]
        size = prod(n for n in copy.window.lengths if n is not None)
        inside = self._unknown(use, chain, copy.level)
        if size == 1 and not whole or size > MOST_UNREAD * _elements_read(use, inside, whole, self._tests, self._sizes or {}):
            return False
        extents = [self._table.affine(array.shape[d]) for d in whole]
        if any(not e.names <= self._sizes.keys() for e in extents):
            return False
        limit = max(self._machine.cache(2).size_bytes, self._machine.cache(3).size_bytes // 4)
        return self._size_bytes(copy) <= limit

    def _size_bytes(self, copy: _Copy) -> int:
        return prod(self._counts(copy)) * self._given.scop.arrays[copy.window.array].element.size_bytes

    def _counts(self, copy: _Copy) -> list[int]:
        """Elements of the copy per dimension of the array."""
        shape = self._given.scop.arrays[copy.window.array].shape
        return [self._table.affine(e).evaluate(self._sizes or {}) if n is None else n for e, n in zip(shape, copy.window.lengths)]

    def _stays(self, use: _Use, copy: _Copy) -> bool:
        """Whether the read never leaves the window."""
        touch = (use.statement.reads[use.read], use.instance)
        if not self._tests.stays_within(touch, use.around, use.window.low, use.window.lengths):
            return False
        if copy.panel is None:
            return True
        dim, tile = copy.order[-1], copy.panel
        lows = tuple(var(tile.var) if d == dim else low for d, low in enumerate(use.window.low))
        lengths = tuple(tile.step if d == dim else n for d, n in enumerate(use.window.lengths))
        return self._tests.stays_within(touch, use.around, lows, lengths)

    def _pays(self, copy: _Copy, chain: tuple[Loop, ...], level: int) -> list[Condition]:
        """What must hold in the body of chain[level] so that each element of the copy is read often, where sizes are not
        known: the first loop that goes over it again is long.
        """
        if self._sizes is not None or copy.is_asked:
            return []
        use = copy.uses[0]
        again = self._again(use, chain, copy.level)
        unknown = self._unknown(use, chain, level)
        lengths = [high - low + 1 for low in again.lower for high in again.upper]
        tests = [Compare(">=", n - LEAST_USES) for n in lengths if not n.names & unknown]
        return [t for t in tests if not (t.expr.is_const and t.expr.const >= 0)]

    def _least_uses(self, copy: _Copy, use: _Use) -> int:
        """Times that an element is read for which copying it pays, where sizes are known."""
        array, unit = self._given.scop.arrays[copy.window.array], self._unit_dim(copy.window.array)
        if not isinstance(copy.value, Load):
            return LEAST_MADE_USES
        if self._is_turned(copy) or copy.panel is not None and not self._is_along_row(copy, use):
            return LEAST_TURNED_USES
        extents = [self._table.affine(e) for e in array.shape]
        if all(e.names <= self._sizes.keys() for e in extents):
            counts = [e.evaluate(self._sizes) for e in extents]
            is_aliased = counts[unit] * array.element.size_bytes % PAGE_BYTES == 0
            if copy.panel is None and self._is_read_in_rows(use):
                return NEVER
            if 2 * prod(counts) * array.element.size_bytes > self._machine.cache(3).size_bytes:
                return LEAST_FAR_USES
            if is_aliased and copy.panel is not None:
                return LEAST_ALIASED_USES
        return LEAST_USES_SIZED

    def _is_turned(self, copy: _Copy) -> bool:
        """Whether neighbours in the copy are none in the array."""
        return copy.order[-1] != self._unit_dim(copy.window.array)

    def _is_read_in_rows(self, use: _Use) -> bool:
        """Whether a register tile reads rows of the array as they lie: what is written stays along one dimension only, and that
        or the tile goes along the rows.
        """
        written = {name for e in self._tests.subscripts((use.statement.write, use.instance)) for name in e.names}
        read = self._tests.subscripts((use.statement.reads[use.read], use.instance))
        unit = self._unit_dim(use.window.array)
        along = unit is None or not read[unit].names & written or bool(read[unit].names & _in_tile(use))
        return along and sum(not e.names & written for e in read) == 1

    def _is_along_row(self, copy: _Copy, use: _Use) -> bool:
        """Whether the copy's last dimension is that along which the written row runs."""
        write = self._tests.subscripts((use.statement.write, use.instance))[-1:]
        read = self._tests.subscripts((use.statement.reads[use.read], use.instance))[copy.order[-1]]
        return any(read.names & e.names for e in write)

    # -- the code ------------------------------------------------------------------------------------------------------

    def _filled(self, chain: tuple[Loop, ...], copies: Sequence[_Copy], level: int) -> tuple[Node, ...]:
        """The body of chain[level] with the copies filled and read."""
        inside = self._filled(chain, copies, level + 1) if level + 1 < len(chain) else self._redirected(chain[-1].body, copies)
        if level + 1 < len(chain):
            own = [copy.name for copy in copies if copy.level > level]
            inside = (self._owning(chain[level + 1], own, inside),)
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
            if mine is None:
                return node
            panels = tuple(var(copy.panel.var) for copy in mine.values() if copy.panel is not None)
            return Instance(self._reading(node.statement, mine), (*node.point, *panels))

        return tuple(map(redirect, nodes))

    def _reading(self, name: str, copies: dict[int, _Copy]) -> str:
        """The statement that reads from the copies."""
        statement = self._given.scop.statements[name]
        key = (name, tuple((read, copy.name) for read, copy in copies.items()))
        if key not in self._renamed:
            made = f"{name}_from_{'_'.join(copy.name for copy in copies.values())}"
            reads, iterators, value = list(statement.reads), statement.iterators, statement.value
            for read, copy in copies.items():
                value = replaced(value, with_numbers_in(statement, read), Load(read, dtype=copy.value.dtype))
                subscripts = [reads[read].subscripts[d] for d in copy.order]
                if copy.panel is not None:
                    taken = {*iterators, *self._given.scop.params, *(p.name for p in self._given.scop.parameters)}
                    iterators = (*iterators, next(name for n in count() if (name := f"panel{n}") not in taken))
                    subscripts = _in_panels(subscripts, made, statement, iterators, copy.panel.step)
                reads[read] = _access(copy.name, tuple(subscripts))
            self._statements[made] = replace(statement, name=made, iterators=iterators, reads=tuple(reads), value=value)
            if name in self._reductions:
                self._reductions[made] = replace(self._reductions[name], statement=made)
            self._renamed[key] = made
        return self._renamed[key]

    def _declare(self, copy: _Copy) -> None:
        source = self._given.scop.arrays[copy.window.array]
        copy.name = next(name for n in count() if self._is_free(name := f"{source.name}_tile{n}"))
        shape = [source.shape[d] for d in copy.order]
        low = [copy.window.low[d] for d in copy.order]
        lengths = [copy.window.lengths[d] for d in copy.order]
        if copy.panel is not None:
            width = copy.panel.step
            shape = [shape[-1].scale_down_val(isl.Val(width)).ceil(), *shape[:-1], _constant_like(shape[-1], width)]
            low = [floor_div(low[-1], width), *low[:-1], const(0)]
            lengths = [None if lengths[-1] is None else -(-lengths[-1] // width), *lengths[:-1], width]
        self._arrays[copy.name] = replace(source, name=copy.name, shape=tuple(shape), role=Role.LOCAL)
        if lengths[-1] is not None:
            lengths[-1] = self._padded(lengths[-1] * source.element.size_bytes) // source.element.size_bytes
        self._windows[copy.name] = Window(tuple(low), tuple(lengths))

    def _note(self, copy: _Copy) -> None:
        array = self._given.scop.arrays[copy.window.array]
        counts = self._counts(copy)
        layout = f"in panels of {copy.panel.step}" if copy.panel is not None else "as loops go through them"
        size = self._size_bytes(copy) / 1024
        uses = f"each read {self._times(copy.uses[0], copy):.0f} times" + (", shared by threads" if copy.is_shared else "")
        self._notes.append(f"copies of {array.name}: {' x '.join(map(str, counts))}, {size:.0f} KiB, {layout}, {uses}")

    def _times(self, use: _Use, copy: _Copy) -> int:
        """How often an element of the copy is read at the sizes expected."""
        known = middle_values((n for n in use.around if isinstance(n, Loop)), self._sizes)
        below = self._below(use, copy.chain, copy.level)
        return prod(trips(loop, known) for loop in below if loop.var not in use.moving)

    def _is_free(self, name: str) -> bool:
        """Whether nothing is called so, nor as the loops that fill the copy: names of the kernel are the user's."""
        scop = self._given.scop
        taken = (*scop.arrays, *self._arrays, *(p.name for p in scop.parameters))
        return not any(t == name or t.startswith(f"{name}_") for t in taken)

    def _padded(self, row_bytes: int) -> int:
        """Rows of whole cache lines, long ones of an odd number of them; short ones that none of two lines holds."""
        line = self._machine.line_bytes
        if row_bytes <= line:
            return 1 << (row_bytes - 1).bit_length()
        lines = -(-row_bytes // line)
        return (lines + 1 - lines % 2 if lines >= LONG_ROW else lines) * line

    def _fill_panels(self, copy: _Copy) -> Node:
        """for some panels: for each row of them: for each panel, and each element of it that the array has: copy it."""
        window, width, dim = copy.window, copy.panel.step, copy.order[-1]
        source = self._given.scop.arrays[window.array]
        name = _fill_name(copy)
        iterators = (*(f"i{d}" for d in range(len(window.low))), "p")
        *subscripts, start = _subscripts(name, iterators)
        read = tuple(start.add(e) if d == dim else e for d, e in enumerate(subscripts))
        written = [start.scale_down_val(isl.Val(width)).floor(), *(subscripts[d] for d in copy.order)]
        self._statements[name] = _filling(copy, iterators, tuple(written), read)
        loops = [f"{copy.name}_{d}" for d in range(len(window.low))]
        panel, group = f"{copy.name}_p", f"{copy.name}_g"
        last = self._table.affine(source.shape[dim]) - 1
        (low, high), (lower, upper) = self._ends(window, dim), self._needed(copy, dim)
        along = (*high, *upper, last)
        begins = (*(low or (const(0),)), *(floor_div(b, width) * width for b in lower if not low))
        element = (Instance(name, tuple(map(var, (*loops, panel)))),)
        part = Loop(loops[dim], (const(0),), (const(width - 1), last - var(panel)), 1, element)
        inside: tuple[Node, ...] = (part,)
        step = width * (PANELS_AT_ONCE if self._is_unit(copy, dim) else 1)
        if step > width:
            whole, ends = replace(part, upper=(const(width - 1),)), (*along, var(group) + (step - width))
            left_over = floor_div(last + 1, width) * width
            narrow = Loop(panel, (var(group), left_over), ends, width, (part,))
            inside = (
                Loop(panel, (var(group),), (*ends, last - (width - 1)), width, (whole,)),
                Guard(Compare(">=", last - left_over), (narrow,), rare=True),
            )
        for d in reversed(copy.order[:-1]):
            (first, end), (lower, upper) = self._ends(window, d), self._needed(copy, d)
            edge = self._table.affine(source.shape[d]) - 1
            inside = (Loop(loops[d], (*first, *lower, const(0)), (*end, *upper, edge), 1, inside),)
        outer = group if step > width else panel
        return Loop(outer, begins, along, step, inside, parallel=copy.is_shared, role="tile")

    def _is_unit(self, copy: _Copy, dim: int) -> bool:
        """Whether the array's elements along the dimension are neighbours."""
        return self._unit_dim(copy.window.array) == dim

    def _unit_dim(self, array: str) -> int | None:
        """The dimension along which the array's elements are neighbours, where that is known."""
        return self._unit_dims[array] if self._sizes is not None else None

    def _ends(self, window: Box, dim: int) -> tuple[tuple[Lin, ...], tuple[Lin, ...]]:
        """The first and the last index of a window that is not all of the array."""
        length = window.lengths[dim]
        return ((), ()) if length is None else ((window.low[dim],), (window.low[dim] + (length - 1),))

    def _fill(self, copy: _Copy) -> Node:
        """for each element of the window that the array has: copy it."""
        if copy.panel is not None:
            return self._fill_panels(copy)
        window = copy.window
        source = self._given.scop.arrays[window.array]
        name = _fill_name(copy)
        iterators = tuple(f"i{d}" for d in range(len(window.low)))
        subscripts = _subscripts(name, iterators)
        written = tuple(subscripts[d] for d in copy.order)
        self._statements[name] = _filling(copy, iterators, written, subscripts)
        loops = [f"{copy.name}_{d}" for d in range(len(window.low))]
        inside: tuple[Node, ...] = (Instance(name, tuple(map(var, loops))),)
        for d in reversed(range(len(loops))):
            last = self._table.affine(source.shape[d]) - 1
            (low, high), (lower, upper) = self._ends(window, d), self._needed(copy, d)
            to_threads = copy.is_shared and d == 0 and len(loops) > 1
            role = "tile" if to_threads else "point"
            inside = (Loop(loops[d], (*low, *lower, const(0)), (*high, *upper, last), 1, inside, parallel=to_threads, role=role),)
        return inside[0]

    def _needed(self, copy: _Copy, dim: int) -> tuple[list[Lin], list[Lin]]:
        """What more is known of the indices that are read: the bounds, beyond the tile's, of the loops that they follow."""
        low, high = self._ends(copy.window, dim)
        edges, known = (*low, *high, const(0)), []
        for use in copy.uses:
            e = self._tests.subscripts((use.statement.reads[use.read], use.instance))[dim]
            loop = next((n for n in use.around if isinstance(n, Loop) and e == var(n.var)), None)
            if loop is None:
                return [], []
            inside = self._unknown(use, copy.chain, copy.level)
            known.append(
                (
                    [b for e in loop.lower for b in lower_outside(e, use.around, inside) if b not in edges],
                    [b for b in loop.upper if b not in edges and not b.names & inside],
                )
            )
        lower, upper = known[0]
        return (
            [b for b in dict.fromkeys(lower) if all(b in other for other, _ in known)],
            [b for b in dict.fromkeys(upper) if all(b in other for _, other in known)],
        )


def _refused(loop: Loop, array: str, why: str) -> ScheduleError:
    return ScheduleError(f"`{array}` cannot be packed at loop `{loop.name}`: {why}")


def _tile_steps(use: _Use) -> dict[str, int]:
    """Of the loops over single iterations around the use, outermost first, how many iterations the innermost tile around has."""
    loops = [n for n in use.around if isinstance(n, Loop)]
    tiles = {n.var: n.step for n in loops if n.role == "tile"}
    steps = {}
    for loop in loops:
        if loop.role != "tile":
            around = [name for name in tiles if any(name in e.names for e in loop.lower)]
            steps[loop.var] = tiles[around[-1]] if around else 1
    return steps


def _in_tile(use: _Use) -> set[str]:
    """The loops of which a register tile has several iterations."""
    return {name for name, step in _tile_steps(use).items() if step > 1}


def _key(copy: _Copy) -> tuple:
    """What copies of the same elements have in common."""
    return copy.window, copy.order, str(copy.value)


def _access(array: str, subscripts: tuple[isl.PwAff, ...]) -> Access:
    relation = polyhedra.relation(subscripts[0].get_domain_space(), array, subscripts)
    return Access(array=array, relation=relation, subscripts=subscripts)


def _fill_name(copy: _Copy) -> str:
    return f"fill_{copy.name}"


def _subscripts(name: str, iterators: tuple[str, ...]) -> tuple[isl.PwAff, ...]:
    """Each iterator as a subscript."""
    return tuple(isl.PwAff(f"{{ {name}[{', '.join(iterators)}] -> [({i})] }}") for i in iterators)


def _filling(
    copy: _Copy,
    iterators: tuple[str, ...],
    written: tuple[isl.PwAff, ...],
    read: tuple[isl.PwAff, ...],
) -> Statement:
    """The statement that copies one element."""
    name = _fill_name(copy)
    return Statement(
        name=name,
        iterators=iterators,
        domain=isl.Set(f"{{ {name}[{', '.join(iterators)}] }}"),
        write=_access(copy.name, written),
        reads=(_access(copy.window.array, read),),
        value=copy.value,
    )


def _inside(chain: tuple[Loop, ...], level: int) -> tuple[Node, ...]:
    """The body of chain[level]; of what is around the chain for level -1."""
    return (chain[0],) if level < 0 else chain[level].body


def _tile_chain(loop: Loop) -> tuple[Loop, ...]:
    """Loops over tiles, each the only node of the one before."""
    chain = [loop]
    while len(chain[-1].body) == 1 and isinstance(chain[-1].body[0], Loop) and chain[-1].body[0].role == "tile":
        chain.append(chain[-1].body[0])
    return tuple(chain)


def _has_tiles(node: Node) -> bool:
    """Whether some loop in there is over tiles."""
    if isinstance(node, Instance):
        return False
    return isinstance(node, Loop) and node.role == "tile" or any(map(_has_tiles, node.body))


def _inside_of(use: _Use, chain: tuple[Loop, ...], level: int) -> int:
    """How many of what is around the use is around the body of chain[level]."""
    return use.around.index(chain[0]) if level < 0 else use.around.index(chain[level]) + 1


def _elements_read(use: _Use, inside: set[str], whole: Sequence[int], tests: ConflictTest, sizes: Mapping[str, int]) -> int:
    """About how many elements the loops inside read, for each index in dimensions that are read as a whole. A loop over
    tiles counts its tiles.
    """
    subscripts = tests.subscripts((use.statement.reads[use.read], use.instance))
    around = [n for n in use.around if isinstance(n, Loop)]
    of_whole = moving_names(tuple(subscripts[d] for d in whole), around) if whole else frozenset()
    total, known = 1, middle_values(around, sizes)
    for loop in around:
        ends = tile_of(loop) if loop.var in inside - of_whole else None
        if ends is not None and loop.var in use.moving:
            total *= (ends[1] - ends[0]).const // loop.step + 1
        elif loop.var in (inside - of_whole) & use.moving & known.keys():
            total *= max(1, trips(loop, known))
    return total


def _in_panels(
    subscripts: list[isl.PwAff], made: str, statement: Statement, iterators: tuple[str, ...], width: int
) -> list[isl.PwAff]:
    """The subscripts of a copy in panels, of which the statement's last iterator is the start of one."""
    all_ = ", ".join(iterators)
    onto = isl.MultiAff(f"{{ {made}[{all_}] -> {statement.domain.get_tuple_name()}[{', '.join(statement.iterators)}] }}")
    start = isl.PwAff(f"{{ {made}[{all_}] -> [({iterators[-1]})] }}")
    *others, last = (e.pullback_multi_aff(onto) for e in subscripts)
    return [start.scale_down_val(isl.Val(width)).floor(), *others, last.sub(start)]


def _constant_like(value: isl.PwAff, number: int) -> isl.PwAff:
    return value.sub(value).add_constant_val(isl.Val(number))
