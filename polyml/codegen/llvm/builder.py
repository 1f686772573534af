"""LLVM text: functions made of basic blocks.

Blocks stay open until the function is printed, so that a value can be put where it is cheapest, such as in the block before an
outer loop, at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

ROUGH = "; rough"  # the first line of a module that LLVM's passes have to optimise
GROUP_EFFORT = 10_000  # the effort of a module, beside which what LLVM does once per module is small


Run = tuple[str, tuple[str, ...]]  # a statement, and the names that the loops around it have in the schedule, outermost first


@dataclass
class BasicBlock:
    """A BasicBlock is a basic block of LLVM: its label, phis, other instructions, terminator, and the instances that run in it."""

    label: str
    lines: list[str] = field(default_factory=list)
    phis: list[str] = field(default_factory=list)
    terminator: str = ""
    runs: set[Run] = field(default_factory=set)


class FunctionBuilder:
    """A FunctionBuilder is one LLVM function under construction.

    blocks: its basic blocks in order.
    current: the block that instructions are appended to.
    attributes: LLVM's attributes of the function.
    """

    def __init__(self, signature: str):
        self._signature, self.attributes = signature, "nounwind"
        self._counter = 0
        self.blocks: list[BasicBlock] = []
        self.current = self.block("entry")

    def block(self, hint: str) -> BasicBlock:
        """Adds a block whose label begins with the hint to the function, and returns it."""
        block = BasicBlock(f"{hint}{len(self.blocks)}")
        self.blocks.append(block)
        return block

    def name(self) -> str:
        """Returns a new SSA name, such as %v7."""
        self._counter += 1
        return f"%v{self._counter}"

    def emit(self, operation: str, at: BasicBlock | None = None) -> str:
        """Appends `%new = operation` to a block and returns the new name. at: the block, by default the current one."""
        result = self.name()
        (at or self.current).lines.append(f"{result} = {operation}")
        return result

    def do(self, operation: str, at: BasicBlock | None = None) -> None:
        """Appends an instruction without a result to a block. at: the block, by default the current one."""
        (at or self.current).lines.append(operation)

    def jump(self, target: BasicBlock, hint: str = "") -> None:
        """Ends the current block with a branch to the target. hint: what LLVM is told of a loop that the branch closes"""
        self.current.terminator = f"br label %{target.label}{hint}"

    def branch(self, condition: str, then: BasicBlock, orelse: BasicBlock) -> None:
        """Ends the current block with a conditional branch. condition: the SSA name of an i1."""
        self.current.terminator = f"br i1 {condition}, label %{then.label}, label %{orelse.label}"

    def text(self) -> str:
        """Returns the function's definition as LLVM text."""
        out = [f"define {self._signature} {self.attributes} {{"]
        for block in self.blocks:
            out.append(f"{block.label}:")
            out.extend(f"  {line}" for line in (*block.phis, *block.lines, block.terminator or "unreachable"))
        out.append("}")
        return "\n".join(out)


@dataclass(frozen=True)
class Unit:
    """A Unit is one finished LLVM function.

    name: its symbol.
    definition: its LLVM text.
    declarations: { name -> declaration } of the functions that it calls; some are whole definitions.
    effort: an estimate of how long it takes to compile, in characters of text that is optimised.
    runs: { label of a block -> what runs in it }, for blocks in which instances of statements run.
    rough: whether LLVM's passes have to make registers of its memory, as code of regions needs it.
    """

    name: str
    definition: str
    declarations: Mapping[str, str]
    effort: float
    runs: Mapping[str, frozenset[Run]] = field(default_factory=dict)
    rough: bool = False


def text(units: Sequence[Unit]) -> str:
    """Returns the LLVM text of one module that defines these functions, and declares those of other modules that they call."""
    defined = {unit.name for unit in units}
    needed = {declaration for unit in units for name, declaration in unit.declarations.items() if name not in defined}
    head = [ROUGH] if any(unit.rough for unit in units) else []
    return "\n".join([*head, *sorted(needed), *(unit.definition for unit in units)]) + "\n"


def shared(units: Sequence[Unit]) -> tuple[list[Unit], dict[str, str]]:
    """Returns (functions, declarations): functions that were internal to one module, changed to hidden ones that the other modules
    of the kernel can call, and { name -> declaration } for those modules.
    """
    found, declarations = [], {}
    for unit in units:
        head, rest = unit.definition.split("\n", 1)
        seen = head.replace("define internal ", "define hidden ", 1)
        found.append(replace(unit, definition=f"{seen}\n{rest}"))
        declarations[unit.name] = seen.replace("define ", "declare ", 1).rpartition(")")[0] + ")"
    return found, declarations


class Groups:
    """A Groups divides a sequence of functions into modules of about the same effort, each of which is passed on as soon as it is
    complete.

    take: a callback that is called with the LLVM text of each module.
    """

    def __init__(self, take: Callable[[str], None]):
        self._take = take
        self._units: list[Unit] = []

    def add(self, unit: Unit) -> None:
        """Adds a function to the module that is being filled, and passes this on if it has enough effort."""
        self._units.append(unit)
        if sum(unit.effort for unit in self._units) >= GROUP_EFFORT:
            self.close()

    def close(self) -> None:
        """Passes on the module that is being filled, unless it is empty, even if it has less effort than others."""
        if self._units:
            self._take(text(self._units))
        self._units = []
