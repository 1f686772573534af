"""LLVM text: functions made of blocks that stay open until the function is printed.

Blocks stay open so that a value can be put where it is cheapest (in the block that enters an outer loop) at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

GROUP_EFFORT = 10_000  # of functions, for which a module takes little more


@dataclass
class BasicBlock:
    label: str
    lines: list[str] = field(default_factory=list)
    phis: list[str] = field(default_factory=list)
    terminator: str = ""


class FunctionBuilder:
    """One LLVM function under construction; `current` is where `emit` writes. attributes: LLVM's, in words."""

    def __init__(self, signature: str):
        self._signature, self.attributes = signature, "nounwind"
        self._counter = 0
        self.blocks: list[BasicBlock] = []
        self.current = self.block("entry")

    def block(self, hint: str) -> BasicBlock:
        block = BasicBlock(f"{hint}{len(self.blocks)}")
        self.blocks.append(block)
        return block

    def name(self) -> str:
        self._counter += 1
        return f"%v{self._counter}"

    def emit(self, operation: str, at: BasicBlock | None = None) -> str:
        """Append `%new = operation` and give the new name."""
        result = self.name()
        (at or self.current).lines.append(f"{result} = {operation}")
        return result

    def do(self, operation: str, at: BasicBlock | None = None) -> None:
        (at or self.current).lines.append(operation)

    def jump(self, target: BasicBlock) -> None:
        self.current.terminator = f"br label %{target.label}"

    def branch(self, condition: str, then: BasicBlock, orelse: BasicBlock) -> None:
        self.current.terminator = f"br i1 {condition}, label %{then.label}, label %{orelse.label}"

    def text(self) -> str:
        out = [f"define {self._signature} {self.attributes} {{"]
        for block in self.blocks:
            out.append(f"{block.label}:")
            out.extend(f"  {line}" for line in (*block.phis, *block.lines, block.terminator or "unreachable"))
        out.append("}")
        return "\n".join(out)


@dataclass(frozen=True)
class Unit:
    """One finished function. declarations: of what it refers to, by name; some may be whole functions. effort: about how long
    its code takes to make, in characters of optimised functions.
    """

    name: str
    definition: str
    declarations: Mapping[str, str]
    effort: float


def text(units: Sequence[Unit]) -> str:
    """Functions as one module, which declares what it lacks."""
    defined = {unit.name for unit in units}
    needed = {declaration for unit in units for name, declaration in unit.declarations.items() if name not in defined}
    return "\n".join([*sorted(needed), *(unit.definition for unit in units)]) + "\n"


def shared(units: Sequence[Unit]) -> tuple[list[Unit], dict[str, str]]:
    """Functions that are their module's own, as those of several modules together; by name, what others declare of them."""
    found, declarations = [], {}
    for unit in units:
        head, rest = unit.definition.split("\n", 1)
        seen = head.replace("define internal ", "define hidden ", 1)
        found.append(replace(unit, definition=f"{seen}\n{rest}"))
        declarations[unit.name] = seen.replace("define ", "declare ", 1).rpartition(")")[0] + ")"
    return found, declarations


class Groups:
    """Functions that follow one another as modules of some effort each, whose texts `take` gets as soon as they are whole."""

    def __init__(self, take: Callable[[str], None]):
        self._take = take
        self._units: list[Unit] = []

    def add(self, unit: Unit) -> None:
        self._units.append(unit)
        if sum(unit.effort for unit in self._units) >= GROUP_EFFORT:
            self.close()

    def close(self) -> None:
        """What is left is the last module."""
        if self._units:
            self._take(text(self._units))
        self._units = []
