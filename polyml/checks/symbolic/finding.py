"""A finding: what a checker finds wrong with a pass, as a sentence, and the smallest thing that shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Finding:
    """A Finding is a difference between what a pass was given and what it made.

    what: the difference, as a sentence without the full stop.
    instance: the statement instance that shows it, `S1[3, 4]`; "" where no single one does.
    element: the array element that shows it, `A[2, 4]`; "" where no single one does.
    sizes: the values of the parameters with which it was found.
    """

    what: str
    instance: str = ""
    element: str = ""
    sizes: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        known = ", ".join(f"{name} = {value}" for name, value in self.sizes.items())
        return f"{self.what}, with {known}" if known else self.what

    def at(self, sizes: Mapping[str, int]) -> Finding:
        """Returns the finding with `sizes`, the values of the parameters of the run in which the difference was found."""
        return replace(self, sizes=dict(sizes))


class Violation(Exception):
    """A Violation is raised where a run of a program cannot go on because of what the program itself does, such as a conflict of
    iterations that run at the same time, or a read of memory that holds another element.
    """

    def __init__(self, finding: Finding):
        super().__init__(str(finding))
        self.finding = finding


def element_text(array: str, index: tuple[int, ...]) -> str:
    """Returns an element as the source writes it.

    >>> element_text("A", (1, 2)), element_text("s", ())
    ('A[1, 2]', 's')
    """
    return f"{array}[{', '.join(map(str, index))}]" if index else array


def instance_text(statement: str, point: tuple[int, ...]) -> str:
    """Returns an instance as messages write it.

    >>> instance_text("S0", (1, 2))
    'S0[1, 2]'
    """
    return f"{statement}[{', '.join(map(str, point))}]"
