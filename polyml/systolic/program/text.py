"""The program of an array's units as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from polyml.model.core.printer import access_text
from polyml.systolic.program.events import Events
from polyml.systolic.program.fold_program import RESULT, FoldProgram, Register, Wire
from polyml.systolic.program.program import NestProgram

MOST_LINES = 400
_LINES = ("column", "row")


def listing(program: NestProgram, fold: FoldProgram, units: Sequence[tuple[int, ...]] = ()) -> str:
    """What every unit does alike, and cycle by cycle what single ones do. units: by coordinates, () for all."""
    shape = program.folds.shape
    wanted = list(units) or list(product(*map(range, shape)))
    lines = [f"fold {list(fold.number)}: {fold.cycles} cycles on {' x '.join(map(str, shape))} units"]
    if fold.preload_cycles:
        lines.append(f"before: {fold.preload_cycles} cycles in which what stays is shifted in")
    lines += ["every unit, every cycle:", *(f"  {line}" for line in _alike(program, fold))]
    happens = _by_unit(program, fold)
    for unit in wanted:
        number = int(np.ravel_multi_index(unit, shape))
        lines.append(f"unit {list(unit)}:")
        lines += [f"  t = {cycle}: {'; '.join(words)}" for cycle, words in sorted(happens.get(number, {}).items())] or ["  nothing"]
    if len(lines) > MOST_LINES:
        lines = [*lines[:MOST_LINES], f"... {len(lines) - MOST_LINES} more lines"]
    return "\n".join(lines)


def _alike(program: NestProgram, fold: FoldProgram) -> Iterator[str]:
    """By wires, and what is computed."""
    for register, operand in fold.operands.items():
        if operand.wire is not None:
            yield f"{_name(program, register)} <- {_along(program, operand.wire)}"
        for each in operand.broadcasts:
            yield f"{_name(program, register)} <- what is on the wire of its {_LINES[each.along]}"
    for name, cell in program.cells.items():
        inputs = ", ".join(_name(program, (name, read)) for read in range(len(cell.types)))
        yield f"{access_text(cell.statement.write)} <- {name}({inputs})"


def _by_unit(program: NestProgram, fold: FoldProgram) -> dict[int, dict[int, list[str]]]:
    found: dict[int, dict[int, list[str]]] = {}

    def note(starts: np.ndarray, units: np.ndarray, words: Sequence[str]) -> None:
        cycles = np.repeat(np.arange(fold.cycles), np.diff(starts)).tolist()
        for cycle, unit, text in zip(cycles, units.tolist(), words):
            found.setdefault(unit, {}).setdefault(cycle, []).append(text)

    for register, operand in fold.operands.items():
        name = _name(program, register)
        for wire, places in operand.transfers:
            note(places.starts, places.units, [f"take {name} from {_along(program, wire)}"] * len(places.units))
        for events in (each.listed() for each in operand.loads):
            note(events.places.starts, events.places.units, [f"load {name} = {element}" for element in _elements(program, events)])
        for each in operand.broadcasts:
            drivers = each.drivers
            note(drivers.starts, drivers.units, [f"put {name} on the wire of its {_LINES[each.along]}"] * len(drivers.units))
    for name, events in ((name, each.listed()) for name, each in fold.stores):
        note(events.places.starts, events.places.units, [f"drain {element} = {name}" for element in _elements(program, events)])
    return found


def _elements(program: NestProgram, events: Events) -> list[str]:
    kind, name = events.memory
    if kind == "number":
        return [str(number) for number in events.elements.tolist()]
    if kind == "made":
        return [f"value {element} of {name}" for element in events.elements.tolist()]
    subscripts = np.column_stack(np.unravel_index(events.elements, program.shape(name) or (1,)))
    return [f"{name}{subscript}" if program.shape(name) else name for subscript in subscripts.tolist()]


def _name(program: NestProgram, register: Register) -> str:
    name, read = register
    cell = program.cells[name]
    if read == RESULT:
        return access_text(cell.statement.write)
    if read >= len(cell.statement.reads):
        return f"index {read - len(cell.statement.reads)}"
    return access_text(cell.statement.reads[read])


def _along(program: NestProgram, wire: Wire) -> str:
    """Whose, from how far and how long before."""
    place = f"unit [{', '.join(f'{-step:+d}' if step else '0' for step in wire.steps)}]" if any(wire.steps) else "here"
    when = f"{wire.cycles} cycle{'s' * (wire.cycles > 1)} before" if wire.cycles else "of the same cycle"
    return f"{_name(program, wire.source)} of {place}, {when}"
