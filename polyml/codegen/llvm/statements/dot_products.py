"""Words of small numbers: instructions that add up their products, and copies that store them.

    together i: together j (16 lanes): unrolled k = 0 .. 3, by vpdpbusd: C[i, j] += int32(A[i, k])*int32(B[k, j])
    ->   C[i, j ... j + 15] = vpdpbusd(C[i, j ... j + 15], A[i, 0 ... 3] in all lanes, B[0 ... 3, j ... j + 15])

Such a loop is also right as any other unrolled loop. It becomes one instruction where the elements of each operand are proved to lie
side by side, so that words of them are loaded. The window of B has them so (`Window.word`), A's has too, or its last dimension is k.

Where the instruction wants the shared numbers with the other sign (`DotUse.is_biased`), their highest bits are inverted, and the
products of the bias with the other factors are summed up once for all sums of a column, and taken off behind the loop.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from polyml.codegen.dot_products.instructions import DotUse, named
from polyml.codegen.dot_products.products import product
from polyml.codegen.ir.jams import Copy
from polyml.codegen.ir.program import COPY, Instance, Unroll
from polyml.codegen.llvm.element_access import ElementAccess
from polyml.codegen.llvm.registers import Location
from polyml.codegen.llvm.ssa_value import SsaValue, vector_type
from polyml.codegen.llvm.statements.expressions import ExpressionEmitter, Operands
from polyml.codegen.llvm.statements.locations import AccessLocations, InstanceCopy
from polyml.dtypes import BF16, DType
from polyml.model.core.scop import Statement
from polyml.quasi_affine.affine import Affine


@dataclass(frozen=True)
class DotStep:
    """A DotStep is one run of an instruction that adds up products.

    use: the instruction, and which operand it takes as what.
    sums: the location of the sums.
    vector, shared: the locations of the first factors of each lane, and of the first one of the word that all lanes share.
    """

    use: DotUse
    sums: Location
    vector: Location
    shared: Location

    @property
    def bias(self) -> Location:
        """A name, among the values of a loop, for the sum of the products of the bias and the vector's factors; it has no memory."""
        return replace(self.vector, array=f"bias of {self.vector.array}")


def dot_steps(body: ElementAccess, locations: AccessLocations, node: Unroll, copies: Iterable[Copy]) -> list[DotStep]:
    """Returns the runs of instructions that a loop `by` one becomes; none if it does not become one.

    copies: what runs together around the loop.
    """
    if node.word in ("", COPY) or len(node.body) != 1 or not isinstance(node.body[0], Instance):
        return []
    instance = node.body[0]
    statement = body.scop.statements[instance.statement]
    found = [_step(body, locations, node, InstanceCopy(statement, {}, copy, instance, ())) for copy in copies]
    steps = [step for step in found if step is not None]
    return steps if len(steps) == len(found) else []


def _step(body: ElementAccess, locations: AccessLocations, node: Unroll, instance: InstanceCopy) -> DotStep | None:
    """Returns the run of an instruction for one vector of iterations; None where it is not proved that it computes them."""
    scop, copy, statement = body.scop, instance.copy, instance.statement
    reduction = body.module.program.reductions.get(statement.name)
    found = product(statement, reduction, scop.arrays)
    if found is None or reduction is None or copy.lane_var is None or copy.scans:
        return None
    first, second = (replace(instance, iterators=_iterators(node, statement, instance.node, place)) for place in (0, 1))
    sums, later = locations.of(first, first.write), locations.of(second, second.write)
    if not sums == later == locations.of(first, reduction.access) or sums.lanes != copy.lanes:
        return None
    words = {read: (locations.of(first, read), locations.of(second, read)) for read in found.reads}
    vector = next((read for read, (one, _) in words.items() if one.lanes > 1), None)
    shared = None if vector is None else found.other(vector)
    if vector is None or shared is None or words[shared][0].lanes > 1:
        return None
    use = named(node.word, copy.lanes, found.result, found.type_of(vector), found.type_of(shared))
    if use is None or use.instruction.length != node.count:
        return None
    if not _in_vector(body, *words[vector], node.count) or not _side_by_side(body, *words[shared], node.count):
        return None
    return DotStep(use, sums, words[vector][0], words[shared][0])


def _iterators(node: Unroll, statement: Statement, instance: Instance, place: int) -> dict[str, Affine]:
    """Returns the values of the statement's iterators in one iteration of an unrolled loop. place: its number, from 0."""
    values = {node.var: node.base + place}
    return {name: e.substitute(values) for name, e in zip(statement.iterators, instance.point)}


def _in_vector(body: ElementAccess, one: Location, other: Location, length: int) -> bool:
    """Returns whether lanes of words lie one after the other in memory. one, other: the first and the second elements of the words."""
    rank = len(one.subscripts)
    moves = tuple(b - a for a, b in zip(one.subscripts, other.subscripts))
    along = (0,) * (rank - 1) + (1,)
    return (
        body.memory.word(one.array) == length
        and one.strides == along
        and moves == tuple(Affine(int(d == rank - 2)) for d in range(rank))
        and body.module.layout.strides(one.array)[-1] == body.scop.arrays[one.array].element.size_bytes
    )


def _side_by_side(body: ElementAccess, one: Location, other: Location, length: int) -> bool:
    """Returns whether the second element follows the first one in memory, of a word of this length if the array has words."""
    if body.memory.word(one.array) > 1:
        moves, row = [b - a for a, b in zip(one.subscripts, other.subscripts)], len(one.subscripts) - 2
        return body.memory.word(one.array) == length and moves == [Affine(int(d == row)) for d in range(row + 2)]
    strides = body.module.layout.strides(one.array)
    moved = [(stride, b - a) for stride, a, b in zip(strides, one.subscripts, other.subscripts) if b != a]
    return moved == [(body.scop.arrays[one.array].element.size_bytes, Affine(1))]


class DotProducts:
    """A DotProducts emits the words of one function's statements."""

    def __init__(self, body: ElementAccess, locations: AccessLocations, expressions: ExpressionEmitter):
        self._body, self._locations, self._expressions = body, locations, expressions

    def emit(self, node: Unroll) -> bool:
        """Emits an unrolled loop as instructions on words, and returns True; returns False without code where it is not proved that
        they compute its iterations.
        """
        if node.word == COPY:
            return self._copied(node)
        steps = dot_steps(self._body, self._locations, node, self._body.jams.copies)
        vectors = {step.vector: self._words(step.vector, node.count) for step in steps}
        shared = {step.shared: self._shared(step, node.count) for step in steps}
        pinned = {step.bias: step for step in steps if step.use.is_biased and step.bias in self._body.registers.pinned}
        for bias, step in pinned.items():
            value = self._of_bias(step, self._body.registers.known(bias), vectors[step.vector])
            self._body.registers.put(bias, value, dirty=True)
        for step in steps:
            vector = vectors[step.vector]
            value = self._run(
                step.use, self._body.math.splat(self._body.load(step.sums), step.sums.lanes), vector, shared[step.shared]
            )
            if step.use.is_biased and step.bias not in pinned:
                nothing = replace(value, ssa="zeroinitializer")
                value = self._body.math.plain("-", value, self._of_bias(step, nothing, vector))
            self._body.store(step.sums, value)
        return bool(steps)

    def _of_bias(self, step: DotStep, sums: SsaValue, vector: str) -> SsaValue:
        """Emits the sums plus the products of the bias with the vector's factors, and returns them. vector: the words."""
        bias = f"splat (i8 {-128})"
        return self._run(step.use, sums, vector, f"{self._operand(step, sums.lanes)} {bias}")

    def _operand(self, step: DotStep, lanes: int) -> str:
        """Returns the LLVM type of an instruction's operand."""
        return _operand_type(step.use.instruction.left, step.use.instruction.length * lanes)

    def _run(self, use: DotUse, sums: SsaValue, vector: str, shared: str) -> SsaValue:
        """Emits one instruction and returns the sums. vector, shared: the factors, each with its LLVM type."""
        body, each = self._body, use.instruction
        name = each.intrinsics[sums.lanes]
        factors = (shared, vector) if use.shared_is_left else (vector, shared)
        given = (f"{sums.type} {sums.ssa}", *factors) if each.adds else factors
        kind = _operand_type(each.left, each.length * sums.lanes)
        kinds = (sums.type, kind, kind) if each.adds else (kind, kind)
        body.declared.setdefault(name, f"declare {sums.type} @{name}({', '.join(kinds)})")
        made = replace(sums, ssa=body.fn.emit(f"call {sums.type} @{name}({', '.join(given)})"))
        return made if each.adds else body.math.plain("+", sums, made)

    # -- words in memory -----------------------------------------------------------------------------------------

    def _words(self, vector: Location, length: int) -> str:
        """Emits the load of one word for each lane, and returns the factors in them with their LLVM type.

        vector: the location of the first elements of the words.
        """
        self._write_back(vector, length)
        element = self._body.scop.arrays[vector.array].element
        ssa = self._body.memory.load_words(vector, length)
        return self._factors(ssa, element, length, vector.lanes)

    def _shared(self, step: DotStep, length: int) -> str:
        """Emits the load of one word into all lanes, its bias included, and returns the factors with their LLVM type."""
        body, where, lanes = self._body, step.shared, step.sums.lanes
        for place in range(length):
            body.write_back(replace(where, subscripts=_moved(body, where, place)))
        element = body.scop.arrays[where.array].element
        word = body.memory.load_word(where, length)
        kind, bits = vector_type(f"i{word.dtype.bits}", lanes), word.dtype.bits
        first = body.fn.emit(f"insertelement {kind} poison, i{bits} {word.ssa}, i32 0")
        every = body.fn.emit(f"shufflevector {kind} {first}, {kind} poison, <{lanes} x i32> zeroinitializer")
        if step.use.is_biased:
            mask = int("80" * length, 16) - (1 << bits)
            every = body.fn.emit(f"xor {kind} {every}, splat (i{bits} {mask})")
        return self._factors(every, element, length, lanes)

    def _factors(self, words: str, element: DType, length: int, lanes: int) -> str:
        """Emits words as vectors of their elements, and returns these with their LLVM type. words: the SSA name."""
        kind = _operand_type(element, length * lanes)
        return f"{kind} {self._body.fn.emit(f'bitcast <{lanes} x i{length * element.bits}> {words} to {kind}')}"

    def _write_back(self, location: Location, length: int) -> None:
        """Emits stores of those elements of words that memory does not have yet."""
        *others, row, column = location.subscripts
        for place in range(length):
            self._body.write_back(replace(location, subscripts=(*others, row + place, column)))

    # -- copies --------------------------------------------------------------------------------------------------

    def _copied(self, node: Unroll) -> bool:
        """Emits an unrolled loop that copies the elements of words, a whole word for each lane at once, and returns True; returns
        False without code where its elements are not proved to make up words.
        """
        body, length = self._body, node.count
        if len(node.body) != 1 or not isinstance(node.body[0], Instance):
            return False
        instance = node.body[0]
        statement = body.scop.statements[instance.statement]
        element = body.scop.arrays[statement.write.array].element
        rows = []
        for copy in body.jams.copies:
            if copy.lane_var is None or copy.scans:
                return False
            row = [InstanceCopy(statement, _iterators(node, statement, instance, p), copy, instance, ()) for p in range(length)]
            targets = [self._locations.of(each, each.write) for each in row]
            if targets[0].lanes != copy.lanes or not _in_vector(body, targets[0], targets[1], length):
                return False
            rows.append((targets[0], row))
        for target, row in rows:
            self._write_back(target, length)
            values = [self._expressions.value(statement.value, Operands(each, None)) for each in row]
            body.memory.store_words(target, length, self._joined(values, element, target.lanes))
        return True

    def _joined(self, values: list[SsaValue], element: DType, lanes: int) -> str:
        """Emits words of which each has one element of each value, and returns the vector's SSA name."""
        body, bits = self._body, element.bits
        kind, total = vector_type(f"i{bits * len(values)}", lanes), ""
        for place, value in enumerate(values):
            number = body.math.splat(value, lanes)
            wide = body.fn.emit(f"zext {number.type} {number.ssa} to {kind}")
            if place:
                moved = body.fn.emit(f"shl {kind} {wide}, splat (i{bits * len(values)} {bits * place})")
                wide = body.fn.emit(f"or {kind} {total}, {moved}")
            total = wide
        return total


def _moved(body: ElementAccess, location: Location, place: int) -> tuple[Affine, ...]:
    """Returns the subscripts of the element that is `place` elements behind the location in memory."""
    size_bytes = body.scop.arrays[location.array].element.size_bytes
    has_words = body.memory.word(location.array) > 1
    dim = len(location.subscripts) - 2 if has_words else body.module.layout.strides(location.array).index(size_bytes)
    return tuple(e + place if d == dim else e for d, e in enumerate(location.subscripts))


def _operand_type(element: DType, count: int) -> str:
    """Returns the LLVM type of so many factors."""
    return vector_type("bfloat" if element == BF16 else f"i{element.bits}", count)
