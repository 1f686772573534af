"""The text of elements that are in registers while a loop runs: how they get there, and back to memory.

Registers   ->   C_held[j_item][i_item] = 0.0f; ... store_vector_f32(&C[...], C_held[j_item][i_item], C_held[j_item + 1][i_item], ...);
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from polyml.codegen.gpu.block_loops.swizzles import VECTOR_BYTES
from polyml.codegen.gpu.block_loops.vector_stores import vector_axis, vector_width
from polyml.codegen.gpu.cut_blocks import End, has_iteration, is_there
from polyml.codegen.gpu.registers import Registers
from polyml.codegen.gpu.shared_tiles import BlockAxis
from polyml.codegen.gpu.text.block_loops.tile_copies import Surroundings
from polyml.codegen.gpu.text.integers import condition, factor
from polyml.codegen.gpu.text.names import named
from polyml.codegen.gpu.text.values import Text
from polyml.dtypes import DType
from polyml.quasi_affine.affine import Affine, variable

_STEP = "    "


@dataclass(frozen=True)
class HeldSums:
    """A HeldSums writes the lines around a loop that keeps elements in registers.

    blocks: the axes along which the block has more than one iteration.
    ends: of the axes along which it may have fewer than the thread's text has.
    has_vectors: whether the device stores 16 bytes at once.
    """

    held: Registers
    blocks: Sequence[BlockAxis]
    ends: Sequence[End]
    has_vectors: bool
    around: Surroundings

    @property
    def name(self) -> str:
        return f"{named(self.held.array)}_held"

    @property
    def register(self) -> str:
        """The C text of the register of an item."""
        return self.name + "".join(f"[{item}]" for item, _ in self.held.items)

    def _test(self, names: Mapping[str, Affine]) -> str:
        """Returns the C text of a test of whether an item is an iteration of the launch; "" where all are.

        With a variable of `_aside`, it is in terms of the iteration; else of its number in the block, of which pocl 3.1 stored all: with the
        other test it left out some of a loop's stores behind a barrier.
        """
        where = (has_iteration if names else is_there)(self.ends).substitute(names)
        return condition(self.around.renamed(where), self.around.use) if self.ends else ""

    def declared(self) -> str:
        """Returns the C declaration of the registers."""
        kind = self.around.dialect.register_type(self._element)
        return f"{kind} {self.name}{''.join(f'[{count}]' for _, count in self.held.items)};"

    @property
    def _element(self) -> DType:
        return self.around.scop.arrays[self.held.array].element

    def _memory(self, names: Mapping[str, Affine] = MappingProxyType({})) -> str:
        """Returns the C text of an item's element in memory. names: { name in its subscripts -> what stands in its place }."""
        subscripts = [self.around.values.index(each.substitute(names)) for each in self.held.subscripts]
        return self.around.values.element(self.held.array, subscripts)

    def _aside(self, suffix: str) -> dict[str, Affine]:
        """Returns { name of a thread's first iteration -> the same, in a variable that compilers know nothing of }, so that they do not keep
        addresses and tests of elements in registers while the loop runs. suffix: of the variables' names.
        """
        starts = [axis.start for axis in self.blocks if any(axis.start in each.names for each in self.held.subscripts)]
        return {start: variable(f"{start}_{suffix}") for start in starts} if self.has_vectors and self.held.items else {}

    def _declared(self, names: Mapping[str, Affine]) -> Iterator[str]:
        """Yields the C declarations of such variables."""
        for start, name in names.items():
            yield f"const {self.around.dialect.index} {name} = {self.around.use('again')}({named(start)});"

    def loaded(self) -> Iterator[str]:
        """Yields the C lines that load the elements, or zeros in place of those of no iteration."""
        names = self._aside("first")
        yield from self._declared(names)
        value = self.around.values.loaded(self._memory(names), self._element).text
        there = self._test(names)
        yield from for_items(self.held.items, [f"{self.register} = {f'{there} ? {value} : 0' if there else value};"])

    def stored(self) -> Iterator[str]:
        """Yields the C lines that store the elements: in vectors of 16 bytes where rows in memory and those of a thread allow it."""
        names = self._aside("again")
        yield from self._declared(names)
        store = [f"{self._memory(names)} = {self.around.values.stored(Text(self.register), self._element)};"]
        if self.ends:
            store = [f"if ({self._test(names)})", _STEP + store[0]]
        single = list(for_items(self.held.items, store))
        axis = vector_axis(self.held, self.blocks, self._element) if self.has_vectors else None
        if axis is None:
            yield from single
            return
        yield f"if ({self._is_aligned(axis, names)}) {{"
        yield from (_STEP + line for line in self._vectors(axis, names))
        yield "}"
        yield "else {"
        yield from (_STEP + line for line in single)
        yield "}"

    def _is_aligned(self, axis: BlockAxis, names: Mapping[str, Affine]) -> str:
        """Returns the C text of a test of whether all vectors of the thread are at multiples of 16 bytes, and of elements that there are."""
        around, zero = self.around, {item: Affine() for item, _ in self.held.items}
        first = self._memory({**names, **zero})
        tests = [f"({around.dialect.unsigned(64)})&{first} % {VECTOR_BYTES} == 0"]
        if len(self.held.subscripts) > 1:
            pitch = around.values.affine(around.scop.arrays[self.held.array].shape[-1])
            tests.append(f"{factor(around.renamed(pitch), around.use)} % {vector_width(self._element)} == 0")
        tests += [f"{end.count} % {vector_width(self._element)} == 0" for end in self.ends if end.axis is axis]
        return " && ".join(tests)

    def _vectors(self, axis: BlockAxis, names: Mapping[str, Affine]) -> Iterator[str]:
        """Yields the C lines that store the elements in vectors along the axis."""
        others = [each for each in self.held.items if each[0] != axis.item]
        values = ", ".join(
            self.name + "".join(f"[{item}{f' + {k}' if k and item == axis.item else ''}]" for item, _ in self.held.items)
            for k in range(vector_width(self._element))
        )
        store = f"{self.around.use(f'store_vector_{self._element.name}')}(&{self._memory(names)}, {values});"
        test = self._test({**names, axis.item: variable(axis.item) + (vector_width(self._element) - 1)})
        lines = [f"if ({test})", _STEP + store] if test else [store]
        yield from for_items(
            [*others, (axis.item, dict(self.held.items)[axis.item])], lines, {axis.item: vector_width(self._element)}
        )


def for_items(items: Sequence[tuple[str, int]], lines: Sequence[str], steps: dict[str, int] | None = None) -> Iterator[str]:
    """Yields C lines of unrolled loops over a thread's items (its iterations along each axis), with the given lines inside.

    steps: { name of an axis's items -> the step of the loop, if it is not 1 }.
    """
    indent = ""
    for item, count in items:
        step = (steps or {}).get(item, 1)
        yield f"{indent}#pragma unroll"
        yield f"{indent}for (int {item} = 0; {item} < {count}; {f'{item}++' if step == 1 else f'{item} += {step}'})"
        indent += _STEP
    yield from (indent + line for line in lines)
