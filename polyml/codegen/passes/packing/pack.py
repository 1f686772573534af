"""Packing: tiles of operands are copied next to each other before they are read many times.

    for it: for kt: for jt:                     for it: for kt:
        for i, j, k in the tile:       ->           A_0[...] = A[rows it ..., columns kt ...]
            C[i, j] += A[i, k]*B[k, j]              for jt:
                                                        B_0[...] = B[rows kt ..., columns jt ...]
                                                        for i, j, k in the tile: C[i, j] += A_0[i - it, k - kt]*B_0[k - kt, j -
                                                        jt]

A copy lies in few pages, its rows begin at cache lines and do not compete for the same few sets of the cache, whatever the
caller's strides are, and its last dimension is the one that vectors run along. Every read that is moved to a copy is proved to
stay within it, from the loops around it.

Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", ACM TOMS 34(3), 2008. Halide calls this staging with
compute_at, TVM cache_read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count

import islpy as isl

from polyml import polyhedra
from polyml.codegen.analysis.access_conflicts import Enclosing
from polyml.codegen.ir.program import Guard, Instance, Loop, Node, Program, Window, with_body
from polyml.codegen.passes.packing import choose
from polyml.codegen.passes.packing.choose import LONG_ROW
from polyml.codegen.passes.packing.copies import PackingContext, TileCopy
from polyml.codegen.passes.packing.fill import access_to, fill
from polyml.codegen.passes.packing.operands import replaced, scaled_operand
from polyml.machines.cpu import CpuMachine
from polyml.model.core.scop import Array, Load, Role, Statement
from polyml.quasi_affine.affine import Affine, conjunction, floor_div, negate, variable


def pack(program: Program, machine: CpuMachine, layouts: tuple[str, ...] = (), sizes: Mapping[str, int] | None = None) -> Program:
    """Returns the program with copies in its nests of loops over tiles, where they pay or its schedule asks for them.

    layouts: the memory layout of each array argument, as the calling convention has it.
    sizes: values of parameters to judge by.

    Raises ScheduleError if a copy that the schedule asks for cannot be made.
    """
    return _Packer(PackingContext(program, machine, layouts, sizes)).program()


class _Packer:
    """A rewriter of a program that collects the arrays and statements of its copies."""

    def __init__(self, context: PackingContext):
        self._context, self._given = context, context.program
        self._arrays: dict[str, Array] = {}
        self._statements: dict[str, Statement] = {}
        self._reductions = dict(self._given.reductions)
        self._windows: dict[str, Window] = {}
        self._renamed: dict[tuple[str, tuple], str] = {}
        self._notes: dict[str, str] = {}
        self._before: dict[str, Node] = {}  # {a copy: what fills it, which goes before the nest of the outermost loop}

    def program(self) -> Program:
        """Returns the program with its copies, or the given one if there are none."""
        body = tuple(made for node in self._given.body for made in self._outermost(node))
        if not self._arrays:
            return self._given
        scop = self._given.scop
        scop = replace(scop, arrays={**scop.arrays, **self._arrays}, statements={**scop.statements, **self._statements})
        windows = {**self._given.windows, **self._windows}
        notes = (*self._given.notes, *self._notes.values())
        return replace(self._given, scop=scop, body=body, reductions=self._reductions, windows=windows, notes=notes)

    def _outermost(self, node: Node) -> tuple[Node, ...]:
        """Returns the nodes that replace one that no loop is around, behind those that fill copies for all of its iterations."""
        self._before.clear()
        made = self._node(node, ())
        return (*self._before.values(), *made)

    def _nodes(self, nodes: tuple[Node, ...], around: tuple[Enclosing, ...]) -> tuple[Node, ...]:
        """Returns the nodes with copies made in the nests of loops over tiles.

        around: the loops and guards around them.
        """
        return tuple(made for node in nodes for made in self._node(node, around))

    def _node(self, node: Node, around: tuple[Enclosing, ...]) -> tuple[Node, ...]:
        """Returns the nodes that replace a node: a nest of loops over tiles may have copies.

        around: the loops and guards around it.
        """
        if isinstance(node, Loop) and node.role == "tile":
            return self._tiles(node, around)
        if isinstance(node, Enclosing):
            return (self._with_inside((node,), around),)
        return (node,)

    def _with_inside(self, chain: tuple[Enclosing, ...], around: tuple[Enclosing, ...]) -> Node:
        """Returns the chain of loops, or the guard, with its body rewritten. If a loop is parallel, the copies made
        inside of it become private to its threads.

        around: the loops and guards around the chain.
        """
        before = {*self._arrays}
        body = self._nodes(chain[-1].body, (*around, *chain))
        made = [name for name in self._arrays if name not in before and name not in self._before]
        for each in reversed(chain):
            body = (_owning(each, made, body),)
        return body[0]

    def _tiles(self, loop: Loop, around: tuple[Enclosing, ...]) -> tuple[Node, ...]:
        """Returns the nest of loops over tiles that begins with a loop, with copies filled and read. If copies pay only under a
        condition, there are two versions under guards.

        around: the loops and guards around the loop.
        """
        chain = tile_chain(loop)
        copies = [self._declared(copy) for copy in choose.copies(self._context, chain, around)]
        if not copies:
            return (self._with_inside(chain, around),)
        level = min(copy.level for copy in copies)
        if around and level < 0 and not any(choose.pays(self._context, copy, level) for copy in copies):
            copies = [self._made_before(copy, around) for copy in copies]
        tests = [test for copy in copies for test in choose.pays(self._context, copy, level)]
        packed = self._filled(chain, copies, level)
        if tests:
            condition = conjunction(*tests)
            packed = (Guard(condition, packed), Guard(negate(condition), _inside(chain, level), rare=True))
        for each in reversed(chain[: level + 1]):
            packed = (_owning(each, [copy.name for copy in copies], packed),)
        return packed

    # -- arrays ------------------------------------------------------------------------------------------------------

    def _declared(self, copy: TileCopy) -> TileCopy:
        """Returns the copy with a name, and declares its array with memory for the box."""
        source, window = self._context.array(copy), copy.window
        copy = replace(copy, name=next(name for n in count() if self._is_free(name := f"{source.name}_tile{n}")))
        shape = [source.shape[d] for d in copy.order]
        if copy.word > 1:
            shape[-2] = shape[-2].scale_down_val(isl.Val(copy.word)).ceil().scale_val(isl.Val(copy.word))
        low = [window.low[d] for d in copy.order]
        lengths = [window.lengths[d] for d in copy.order]
        if copy.panel is not None:
            width, last = copy.panel.step, lengths[-1]
            shape = [shape[-1].scale_down_val(isl.Val(width)).ceil(), *shape[:-1], _constant_like(shape[-1], width)]
            low = [floor_div(low[-1], width), *low[:-1], Affine(0)]
            lengths = [None if last is None else -(-last // width), *lengths[:-1], width]
        self._arrays[copy.name] = replace(source, name=copy.name, shape=tuple(shape), role=Role.LOCAL)
        row = lengths[-1]
        if row is not None:
            lengths[-1] = self._padded(row * source.element.size_bytes) // source.element.size_bytes
        if copy.word > 1 and (rows := lengths[-2]) is not None:
            lengths[-2] = -(-rows // copy.word) * copy.word
        self._windows[copy.name] = Window(tuple(low), tuple(lengths), word=copy.word)
        if self._context.sizes is not None and not copy.is_requested:
            self._notes[copy.name] = self._note(copy)
        return copy

    def _is_free(self, name: str) -> bool:
        """Returns whether a copy may have this name: no array or parameter has it, or one that begins with it and "_", as the
        variables of the loops that fill the copy do.
        """
        scop = self._given.scop
        taken = (*scop.arrays, *self._arrays, *(p.name for p in scop.parameters))
        return not any(t == name or t.startswith(f"{name}_") for t in taken)

    def _padded(self, row_bytes: int) -> int:
        """Returns the bytes of a row of a copy with padding. A row of up to one cache line is padded to a power of two, so that
        none crosses a line; a longer one to whole lines, and from 8 lines on to an odd number of lines, so that rows do not compete
        for the same sets of a cache.
        """
        line = self._context.machine.line_bytes
        if row_bytes <= line:
            return 1 << (row_bytes - 1).bit_length()
        lines = -(-row_bytes // line)
        return (lines + 1 - lines % 2 if lines >= LONG_ROW else lines) * line

    def _note(self, copy: TileCopy) -> str:
        """Returns a note for the report that says how large the copies are, how they are stored, and how often they are read."""
        context = self._context
        layout = f"in panels of {copy.panel.step}" if copy.panel is not None else "as loops go through them"
        layout += f", in words of {copy.word}" if copy.word > 1 else ""
        uses = f"each read {context.reuse_count(copy.reads[0], copy):.0f} times" + (", shared by threads" if copy.is_shared else "")
        counts, size_kib = " x ".join(map(str, context.counts(copy))), context.size_bytes(copy) / 1024
        return f"copies of {context.array(copy).name}: {counts}, {size_kib:.0f} KiB, {layout}, {uses}"

    # -- code --------------------------------------------------------------------------------------------------------

    def _filled(self, chain: tuple[Loop, ...], copies: Sequence[TileCopy], level: int) -> tuple[Node, ...]:
        """Returns the body of chain[level] with the reads that copies serve redirected to the copies. The copies of this level are
        filled at its beginning, those of further levels where they belong.
        """
        if level + 1 < len(chain):
            own = [copy.name for copy in copies if copy.level > level]
            inside: tuple[Node, ...] = (_owning(chain[level + 1], own, self._filled(chain, copies, level + 1)),)
        else:
            inside = self._redirected(chain[-1].body, copies)
        return (*(self._fill(copy) for copy in copies if copy.level == level and copy.name not in self._before), *inside)

    def _made_before(self, copy: TileCopy, around: tuple[Enclosing, ...]) -> TileCopy:
        """Returns the copy, which is filled before the outermost loop around where all iterations of these loops read the same one:

            for i: { ...; A_0[...] = A[...]; for jt, kt: ... }      ->      A_0[...] = A[...]; for i: { ...; for jt, kt: ... }

        It has the same elements in each iteration if its box and the bounds of the loops that fill it do not depend on the loops
        around, and if nothing inside of these writes the array. It is filled with elements that exist even if no iteration runs.
        """
        loops = self._context.served(copy, around)
        if not loops:
            return copy
        shared = replace(copy, is_shared=copy.is_shared or any(loop.parallel for loop in loops))
        filling = fill(self._context, shared)
        if {loop.var for loop in loops} & _names(filling.node):
            return copy
        self._statements[filling.statement.name] = filling.statement
        self._before[copy.name] = filling.node
        if copy.name in self._notes:
            self._notes[copy.name] = f"{self._note(shared)}, filled before the loop over {loops[0].var}"
        return shared

    def _fill(self, copy: TileCopy) -> Node:
        """Returns the loops that fill the copy, and adds their statement to the program."""
        made = fill(self._context, copy)
        self._statements[made.statement.name] = made.statement
        return made.node

    def _redirected(self, nodes: tuple[Node, ...], copies: Sequence[TileCopy]) -> tuple[Node, ...]:
        """Returns the nodes with the reads that copies serve redirected to the copies."""
        moved: dict[int, dict[int, TileCopy]] = {}  # { position of the instance -> { position of the read -> copy } }
        for copy in copies:
            for read in copy.reads:
                moved.setdefault(read.position, {})[read.number] = copy
        positions = count()
        return tuple(self._redirected_node(node, moved, positions) for node in nodes)

    def _redirected_node(self, node: Node, moved: Mapping[int, Mapping[int, TileCopy]], positions: Iterator[int]) -> Node:
        """Returns a node with reads in it redirected to copies.

        moved: { position of an instance -> { position of a read -> copy } }.
        positions: a counter of the instances, which goes on from node to node.
        """
        if not isinstance(node, Instance):
            return with_body(node, tuple(self._redirected_node(inner, moved, positions) for inner in node.body))
        mine = moved.get(next(positions))
        if mine is None:
            return node
        panels = tuple(variable(copy.panel.var) for copy in mine.values() if copy.panel is not None)
        return Instance(self._reading(node.statement, mine), (*node.point, *panels))

    def _reading(self, name: str, copies: Mapping[int, TileCopy]) -> str:
        """Returns the name of the statement that reads from copies in place of arrays; it is made on the first call.

        name: of the statement that reads from the arrays.
        copies: { position of a read -> copy }.
        """
        key = (name, tuple((read, copy.name) for read, copy in copies.items()))
        if key not in self._renamed:
            made = self._with_copies(self._given.scop.statements[name], copies)
            self._statements[made.name] = made
            if name in self._reductions:
                self._reductions[made.name] = replace(self._reductions[name], statement=made.name)
            self._renamed[key] = made.name
        return self._renamed[key]

    def _with_copies(self, statement: Statement, copies: Mapping[int, TileCopy]) -> Statement:
        """Returns a statement that reads from copies in place of arrays, with a new name.

        copies: { position of a read -> copy }.
        """
        made = f"{statement.name}_from_{'_'.join(copy.name for copy in copies.values())}"
        reads, iterators, value = list(statement.reads), statement.iterators, statement.value
        for read, copy in copies.items():
            value = replaced(value, scaled_operand(statement, read), Load(read, dtype=copy.value.dtype))
            subscripts = [reads[read].subscripts[d] for d in copy.order]
            if copy.panel is not None:
                taken = {*iterators, *self._given.scop.params, *(p.name for p in self._given.scop.parameters)}
                iterators = (*iterators, next(name for n in count() if (name := f"panel{n}") not in taken))
                subscripts = _in_panels(subscripts, made, iterators, copy.panel.step)
            reads[read] = access_to(copy.name, tuple(subscripts))
        return replace(statement, name=made, iterators=iterators, reads=tuple(reads), value=value)


def _owning(node: Enclosing, names: Sequence[str], body: tuple[Node, ...]) -> Enclosing:
    """Returns the loop or guard with another body. If the loop is parallel, the arrays `names` become private to its threads."""
    if isinstance(node, Guard) or not node.parallel:
        return replace(node, body=body)
    return replace(node, private=tuple(dict.fromkeys((*node.private, *names))), body=body)


def _names(node: Node) -> frozenset[str]:
    """Returns the variables in the bounds and conditions of a nest of loops and guards."""
    if isinstance(node, Instance):
        return frozenset()
    own: list[frozenset[str]] = []
    if isinstance(node, Loop):
        own += [each.names for each in (*node.lower, *node.upper)]
    if isinstance(node, Guard):
        own.append(node.condition.names)
    return frozenset().union(*own, *map(_names, node.body))


def _inside(chain: tuple[Loop, ...], level: int) -> tuple[Node, ...]:
    """Returns the body of chain[level]; for level -1, the chain itself."""
    return (chain[0],) if level < 0 else chain[level].body


def tile_chain(loop: Loop) -> tuple[Loop, ...]:
    """Returns the perfect nest of loops over tiles that begins with a loop, outermost first."""
    chain, inner = [loop], loop.body
    while len(inner) == 1 and isinstance(inner[0], Loop) and inner[0].role == "tile":
        chain.append(inner[0])
        inner = inner[0].body
    return tuple(chain)


def _in_panels(subscripts: list[isl.PwAff], made: str, iterators: tuple[str, ...], width: int) -> list[isl.PwAff]:
    """Returns the subscripts of an element in a copy with panels: the panel's number, then the other dimensions, then the offset in
    the panel.

    subscripts: those without panels, in the order of the copy; the statements that they belong to may have fewer iterators, as
        each pass that adds some (panels, threads) adds them at the end.
    made: the name of the new statement.
    iterators: of the new statement; the last one is the start of a panel.
    width: of a panel, in elements.
    """
    all_ = ", ".join(iterators)

    def here(subscript: isl.PwAff) -> isl.PwAff:
        given = subscript.domain()
        own = iterators[: polyhedra.dimensions(given)]
        return subscript.pullback_multi_aff(isl.MultiAff(f"{{ {made}[{all_}] -> {given.get_tuple_name()}[{', '.join(own)}] }}"))

    start = isl.PwAff(f"{{ {made}[{all_}] -> [({iterators[-1]})] }}")
    *others, last = map(here, subscripts)
    return [start.scale_down_val(isl.Val(width)).floor(), *others, last.sub(start)]


def _constant_like(value: isl.PwAff, number: int) -> isl.PwAff:
    """Returns a constant as an isl expression on the same domain as `value`."""
    return value.sub(value).add_constant_val(isl.Val(number))
