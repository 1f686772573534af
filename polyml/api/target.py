"""What a kernel runs on where that is not the processor."""

from __future__ import annotations

import os
from dataclasses import dataclass

from polyml.errors import ConfigError
from polyml.machines.descriptions import DATAFLOWS, LINKS, LONGEST, Systolic
from polyml.reading.input_limits import shown


@dataclass(frozen=True)
class Target:
    """A systolic array, whose units are simulated one by one: what `report` and `simulate` are asked.

    array: rows and columns, or the length of an array of one dimension; (): the machine's.
    """

    array: tuple[int, ...]
    dataflow: str
    links: str
    machine: Systolic | None

    @staticmethod
    def systolic(
        rows: int | None = None,
        cols: int | None = None,
        dataflow: str = "auto",
        links: str = "manhattan",
        machine: Systolic | str | os.PathLike | None = None,
    ) -> Target:
        """rows, cols: of the array, the machine's if left out; rows alone: an array of one dimension. dataflow: "os", "ws", "is",
        which results, weights or inputs stay, or "auto", the fastest. links: of units, "manhattan", "diagonal" or "broadcast".
        machine: of `polyml machine --list`, a TOML file, or as `polyml.measure.lookup.find` gives it.

        >>> Target.systolic(rows=16, cols=8).array, Target.systolic(machine="gemmini").array
        ((16, 8), (16, 16))

        Raises ConfigError for what is none of these.
        """
        found = _machine(machine)
        if found is not None and rows is None and cols is None:
            rows, cols = found.rows, found.columns
        if rows is None:
            expected = "expected Target.systolic(rows=16, cols=16), or a machine such as tpu-v1"
            raise ConfigError("a systolic array has rows and columns", notes=[expected])
        array = (rows,) if cols is None else (rows, cols)
        if any(type(length) is not int or not 1 <= length <= LONGEST for length in array):
            expected = f"expected positive numbers, as in rows=16, cols=16, at most {LONGEST:,}"
            raise ConfigError(f"there is no array of {' x '.join(map(shown, array))}", notes=[expected])
        for name, value, known in (("dataflow", dataflow, ("auto", *DATAFLOWS)), ("links", links, LINKS)):
            if not isinstance(value, str) or value not in known:
                expected = f"expected {name}= one of {', '.join(known)}"
                raise ConfigError(f"Target.systolic has no {name} {shown(value)}", notes=[expected])
        return Target(array, dataflow, links, found)

    def __str__(self) -> str:
        """
        >>> print(Target.systolic(16, 16, dataflow="ws"))
        a systolic array of 16 x 16 units, manhattan links, dataflow ws
        """
        machine = f" of {self.machine.name}" if self.machine else ""
        shape = " x ".join(map(str, self.array))
        return f"a systolic array of {shape} units{machine}, {self.links} links, dataflow {self.dataflow}"

    @property
    def asked(self) -> dict[str, object]:
        """Of a report or a simulation."""
        return {"machine": self.machine, "array": self.array, "dataflow": self.dataflow, "links": self.links}


def _machine(machine: Systolic | str | os.PathLike | None) -> Systolic | None:
    found: object = machine
    if isinstance(machine, (str, os.PathLike)):
        from polyml.measure import lookup

        found = lookup.find(machine)
    if found is None or isinstance(found, Systolic):
        return found
    called = getattr(found, "name", None) or shown(found)
    notes = ["expected a systolic array of `polyml machine --list`, or its file"]
    raise ConfigError(f"{called} is no systolic array", notes=notes)
