"""What it takes to price the nests of one program: its accesses, how arrays lie in memory, the machine, and the expected sizes."""

from __future__ import annotations

from collections.abc import Mapping

from polyml.codegen.analysis.access_conflicts import ConflictTest, Enclosing
from polyml.codegen.analysis.loop_nest import LoopNest, chain_of
from polyml.codegen.analysis.register_tiling import RegisterTiling
from polyml.codegen.costs.cost_model import CostContext, CostModel
from polyml.codegen.dot_products.word_loop import WordLoop
from polyml.codegen.ir.abi import SlotMap
from polyml.codegen.ir.accesses import AccessTable
from polyml.codegen.ir.program import Instance, Loop, Program
from polyml.codegen.register_tiles.word_loops import word_loops
from polyml.machines.cpu import CpuMachine


class NestPrices:
    """The nests of one program with their cost models, which are kept.

    layouts: the memory layout of each array argument, as the calling convention has it.
    sizes: values of parameters to judge by.
    """

    def __init__(self, program: Program, machine: CpuMachine, layouts: tuple[str, ...], sizes: Mapping[str, int] | None):
        self.program, self.machine, self.sizes = program, machine, sizes or {}
        self.table = AccessTable(program.scop.context)
        self._tests = ConflictTest(program.scop, self.table)
        self._models: dict[LoopNest, CostModel] = {}
        slots = SlotMap.of(program, layouts)
        self.unit_dims = {name: slots.unit_dim(array) for name, array in program.scop.arrays.items()}
        given = [a for a in program.scop.arrays.values() if slots.has_word(a.name) and not slots.unaligned(a.name) and not a.pairs]
        taken = {p.name for p in program.scop.parameters}
        self.phases = {a.name: _free_name(f"{a.name}_phase", taken) for a in given}
        self._context = CostContext(self.unit_dims, machine.vector_bytes, machine.vector_registers, self.sizes, self.phases)

    def nest(self, loop: Loop, shared: tuple[Enclosing, ...]) -> LoopNest:
        """Returns the perfect nest that begins with a loop. shared: the loops and guards around it."""
        return LoopNest(self.program, self._tests, shared, *chain_of(loop))

    def model(self, nest: LoopNest) -> CostModel:
        """Returns the cost model of a nest, which is made on the first call."""
        if nest not in self._models:
            self._models[nest] = CostModel(nest, self._context)
        return self._models[nest]

    def lanes(self, nest: LoopNest) -> int:
        """Returns the number of elements in a vector register, for the widest type that a nest computes with."""
        widest = 1
        for statement, _, _ in nest.statements():
            arrays = [self.program.scop.arrays[a.array] for a in (*statement.reads, statement.write)]
            widest = max([widest, *(a.element.size_bytes for a in arrays)])
        return self.machine.vector_bytes // widest

    def words(self, nest: LoopNest) -> tuple[WordLoop, ...]:
        """Returns the loops of a nest whose iterations may run a word at a time."""
        return word_loops(nest, self.machine)

    def scalar_cycles(self, nest: LoopNest) -> float:
        """Returns the cycles per run of a nest's body without a tiling."""
        model = self.model(nest)
        has_loops = any(not isinstance(n, Instance) for n in nest.body)
        tiling = RegisterTiling(0, None if has_loops else len(nest.chain) - 1, None, 1, 1)
        return model.per_iteration(tiling) or 2.0 * model.instances()


def _free_name(name: str, taken: set[str]) -> str:
    """Returns an unused name: `name` with as many underscores as that needs."""
    while name in taken:
        name += "_"
    return name
