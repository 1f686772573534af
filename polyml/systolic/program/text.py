"""The program of an array's PEs as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from polyml.model.core.printer import access_text
from polyml.systolic.program.events import Events
from polyml.systolic.program.fold_program import FoldProgram, Link, Register
from polyml.systolic.program.program import NestProgram
from polyml.systolic.recurrences.value_sources import RESULT

MOST_LINES = 400
_LINES = ("column", "row")


def listing(program: NestProgram, fold: FoldProgram, units: Sequence[tuple[int, ...]] = ()) -> str:
    """Returns the program of one fold as text: what all PEs do in every cycle, and then cycle by cycle what single ones do.

    units: the coordinates of the PEs to list; () for all.
    """
    shape = program.folds.shape
    wanted = list(units) or list(product(*map(range, shape)))
    lines = [f"fold {list(fold.number)}: {fold.cycles} cycles on {' x '.join(map(str, shape))} units"]
    if fold.preload_cycles:
        lines.append(f"before: {fold.preload_cycles} cycles in which what stays is shifted in")
    lines += ["every unit, every cycle:", *(f"  {line}" for line in _common(program, fold))]
    happens = _by_unit(program, fold)
    for unit in wanted:
        number = int(np.ravel_multi_index(unit, shape))
        lines.append(f"unit {list(unit)}:")
        lines += [f"  t = {cycle}: {'; '.join(words)}" for cycle, words in sorted(happens.get(number, {}).items())] or ["  nothing"]
    if len(lines) > MOST_LINES:
        lines = [*lines[:MOST_LINES], f"... {len(lines) - MOST_LINES} more lines"]
    return "\n".join(lines)


def _common(program: NestProgram, fold: FoldProgram) -> Iterator[str]:
    """Yields a line for each thing that every PE does in every cycle: what comes by links and wires, and what is computed."""
    for register, operand in fold.operands.items():
        if operand.link is not None:
            yield f"{_name(program, register)} <- {_origin(program, operand.link)}"
        for each in operand.broadcasts:
            yield f"{_name(program, register)} <- what is on the wire of its {_LINES[each.along]}"
    for name, datapath in program.datapaths.items():
        inputs = ", ".join(_name(program, (name, read)) for read in range(len(datapath.types)))
        yield f"{access_text(datapath.statement.write)} <- {name}({inputs})"


def _by_unit(program: NestProgram, fold: FoldProgram) -> dict[int, dict[int, list[str]]]:
    """Returns the texts of what single PEs do in a fold, by the number of the PE and by cycle."""
    found: dict[int, dict[int, list[str]]] = {}

    def note(starts: np.ndarray, units: np.ndarray, words: Sequence[str]) -> None:
        """Adds texts to those that the enclosing function returns.

        starts: for each cycle, where its PEs begin in `units`.
        units: the PEs, in the order of the cycles.
        words: the text for each of `units`.
        """
        cycles = np.repeat(np.arange(fold.cycles), np.diff(starts)).tolist()
        for cycle, unit, text in zip(cycles, units.tolist(), words):
            found.setdefault(unit, {}).setdefault(cycle, []).append(text)

    for register, operand in fold.operands.items():
        name = _name(program, register)
        for link, places in operand.transfers:
            note(places.starts, places.units, [f"take {name} from {_origin(program, link)}"] * len(places.units))
        for events in (each.listed() for each in operand.loads):
            note(
                events.units_by_cycle.starts,
                events.units_by_cycle.units,
                [f"load {name} = {element}" for element in _elements(program, events)],
            )
        for each in operand.broadcasts:
            drivers = each.drivers
            note(drivers.starts, drivers.units, [f"put {name} on the wire of its {_LINES[each.along]}"] * len(drivers.units))
    for name, events in ((name, each.listed()) for name, each in fold.stores):
        note(
            events.units_by_cycle.starts,
            events.units_by_cycle.units,
            [f"drain {element} = {name}" for element in _elements(program, events)],
        )
    return found


def _elements(program: NestProgram, events: Events) -> list[str]:
    """Returns a text for the element of each event: its array and subscripts, its number, or the statement that made it."""
    kind, name = events.memory
    if kind == "number":
        return [str(number) for number in events.elements.tolist()]
    if kind == "produced":
        return [f"value {element} of {name}" for element in events.elements.tolist()]
    subscripts = np.column_stack(np.unravel_index(events.elements, program.shape(name) or (1,)))
    return [f"{name}{subscript}" if program.shape(name) else name for subscript in subscripts.tolist()]


def _name(program: NestProgram, register: Register) -> str:
    """Returns the text of a register: the access of the source whose value it holds."""
    name, read = register
    datapath = program.datapaths[name]
    if read == RESULT:
        return access_text(datapath.statement.write)
    if read >= len(datapath.statement.reads):
        return f"index {read - len(datapath.statement.reads)}"
    return access_text(datapath.statement.reads[read])


def _origin(program: NestProgram, link: Link) -> str:
    """Returns the text of where a link brings values from: a register, how far away its PE is, and how many cycles before."""
    place = f"unit [{', '.join(f'{-step:+d}' if step else '0' for step in link.steps)}]" if any(link.steps) else "here"
    when = f"{link.cycles} cycle{'s' * (link.cycles > 1)} before" if link.cycles else "of the same cycle"
    return f"{_name(program, link.source)} of {place}, {when}"
