"""The memory of arrays whose elements are terms (values as the operations that made them).

It knows where each element lies, and which instance wrote it last.
"""

from __future__ import annotations

from types import CodeType
from typing import NamedTuple

from polyml.checks.symbolic.finding import Finding, Violation, element_text, instance_text
from polyml.checks.symbolic.terms import Term, Terms
from polyml.codegen.interpreter.order import Env, evaluate, tuple_code
from polyml.codegen.ir.accesses import AccessTable
from polyml.codegen.ir.program import Program
from polyml.model.core.scop import Role, Scop

Index = tuple[int, ...]
Instance = tuple[str, Index]
Place = tuple[str, Index]  # an array, and where in its memory: the element's index where it has no window


class Cell(NamedTuple):
    """A Cell is the content of one memory location.

    value: the term that is stored there.
    element: the index of the element that it is the value of.
    writer: the instance that wrote it; None: nobody.
    """

    value: Term
    element: Index
    writer: Instance | None


class Memory:
    """A Memory holds all arrays of a SCoP at given sizes, with symbolic values as elements.

    Of an array with a window, only the elements in a moving range, which begins at `Window.low`, have memory at a time. In a
    dimension with storage folding, an element lies at (index - low) modulo the window's length, so that several elements share a
    location. Reading a location that holds another element is a violation. A write to an array takes the values of all arrays that
    share its memory.
    """

    def __init__(self, program: Program | Scop, sizes: Env, table: AccessTable, terms: Terms):
        scop, windows, shared = (program, {}, {}) if isinstance(program, Scop) else (program.scop, program.windows, program.shared)
        self._terms, self._arrays, self._shared = terms, scop.arrays, shared
        self._holders = {owner: owner for owner in shared.values()}  # whose values the memory of an array has now
        self._shapes = (
            {a.name: tuple(table.affine(e).evaluate(sizes) for e in a.shape) for a in scop.arrays.values()} if sizes else {}
        )
        self._windows = windows
        self.in_word: int | None = None  # the place in their words of the elements that are accessed next; None: in any
        self._lows: dict[str, CodeType] = {name: tuple_code(window.low) for name, window in windows.items()}
        self._first: dict[Place, Cell] = {}  # of elements that were read before they were written
        self._cells: dict[str, dict[Index, Cell]] = {name: {} for name in scop.arrays}

    def place(self, array: str, index: Index, env: Env, instance: Instance) -> Place:
        """Returns the memory location of an array's element. Raises Violation where the array has a window and the element is
        outside it, or at another place of its word than `in_word`.

        env: the loop variables at the access. instance: the one that makes it.
        """
        window = self._windows.get(array)
        if window is None:
            return array, index
        offsets = [e - low for e, low in zip(index, evaluate(self._lows[array], env))]
        if window.folded is not None and (length := window.lengths[window.folded]) is not None:
            offsets[window.folded] %= length
        extents = (n if length is None else length for n, length in zip(self._shapes[array], window.lengths))
        if not all(0 <= offset < extent for offset, extent in zip(offsets, extents)):
            element = element_text(array, index)
            what = f"{instance_text(*instance)} touches {element}, for which {array} has no memory there"
            raise Violation(Finding(what, instance_text(*instance), element))
        if self.in_word is not None and window.word > 1 and offsets[-2] % window.word != self.in_word:
            element, number = element_text(array, index), offsets[-2] % window.word
            what = (
                f"{instance_text(*instance)} takes {element} as number {self.in_word} of a word of {array}, of which it is {number}"
            )
            raise Violation(Finding(what, instance_text(*instance), element))
        return array, tuple(offsets)

    def has(self, array: str, index: Index) -> bool:
        """Returns whether the array has an element with this index."""
        if (array, index) in self._first:  # as most are: they were read before
            return True
        return all(0 <= e < n for e, n in zip(index, self._shapes[array]))

    def read(self, place: Place, index: Index, instance: Instance) -> Cell:
        """Returns the content of an element's memory location, which an instance reads. Raises Violation where another element is
        there.

        place, index: the location, and the index of the element.
        """
        array, where = place
        cell = self._cells[array].get(where)
        if cell is None:
            return self.at_first(array, index)
        if cell.element != index:
            element = element_text(array, index)
            holder = f"{element_text(array, cell.element)}, which {instance_text(*cell.writer)} wrote" if cell.writer else "another"
            what = f"{instance_text(*instance)} reads {element}, whose memory holds {holder}"
            raise Violation(Finding(what, instance_text(*instance), element))
        return cell

    def at_first(self, array: str, index: Index) -> Cell:
        """Returns the content that an element has before anything writes it: a symbol for the argument's element, or, for an array
        that is no argument, a symbol that equals no other value.
        """
        known = self._first.get((array, index))
        if known is not None:
            return known
        is_given = self._arrays[array].role is Role.ARGUMENT
        text = f"{element_text(array, index)}{' of the call' if is_given else ', never written'}"
        made = Cell(self._terms.leaf(text, "argument" if is_given else "fresh", array, index), index, None)
        self._first[array, index] = made
        return made

    def write(self, place: Place, index: Index, value: Term, instance: Instance) -> None:
        """Stores the value of an element. Raises Violation where the array has no such element.

        place, index: the location and the element. instance: the one that writes.
        """
        array, where = place
        if not self.has(array, index):
            element = element_text(array, index)
            what = f"{instance_text(*instance)} writes {element}, outside the shape {self._shapes[array]}"
            raise Violation(Finding(what, instance_text(*instance), element))
        owner = self._shared.get(array, array)
        if self._holders.get(owner, array) != array:
            self._cells[self._holders[owner]].clear()
            self._holders[owner] = array
        self._cells[array][where] = Cell(value, index, instance)

    def forget(self, arrays: tuple[str, ...]) -> None:
        """Removes what was written to the given arrays, as when a thread begins with private arrays that have no values yet."""
        for array in arrays:
            self._cells[array].clear()

    def visible(self) -> dict[Place, Cell]:
        """Returns {memory location: content} of the elements that changed and that the caller may see afterwards: those of arrays
        that are not local, and of all variables without dimensions, as these may be results.
        """
        shown = (a for a in self._arrays.values() if a.role is not Role.LOCAL or not a.shape)
        cells = {(a.name, index): cell for a in shown for index, cell in self._cells[a.name].items()}
        return {place: cell for place, cell in cells.items() if cell.value != self.at_first(*place).value}
