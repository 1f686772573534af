"""A page on which a random function is written line by line, with the names that have a value where the next line stands."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

INDENT = "    "
REALS = ("float64", "float64", "float64", "float32")
WHOLES = ("int64", "int64", "int32")
NAMES = {
    "reals": ("x", "y", "z"),
    "wholes": ("a", "b"),
    "flags": ("mask",),
    "rows": ("perm", "parent"),
    "columns": ("col",),
    "values": ("val",),
    "pointers": ("ptr",),
    "counts": ("size",),
    "matrix": ("A", "B"),
    "sparse": ("S",),
    "real": ("t",),
    "whole": ("limit",),
}
OF_ROWS = ("reals", "wholes", "flags", "rows", "counts")  # arrays of one dimension with an element for each row


@dataclass(frozen=True)
class Parameter:
    """A Parameter is what a function takes, or an array that it makes to work with.

    kind: a key of NAMES. Of n rows are `reals`, `wholes`, `flags`, `counts` (small numbers) and `rows`, whose elements are rows;
    of m entries are `values` and `columns`, whose elements are rows; `pointers` has n + 1 elements, which are entries; `matrix` is
    n by p, `sparse` an n by n matrix of SciPy's in compressed rows.
    element: the NumPy type of its elements; "" for a number. is_local: the function makes it itself.
    """

    name: str
    kind: str
    element: str = ""
    is_local: bool = False


@dataclass(frozen=True)
class Scope:
    """A Scope has the names that have a value: of rows and entries (valid subscripts), of numbers, of counters that nothing
    else may assign, and of loops that are open.
    """

    rows: tuple[str, ...] = ()
    entries: tuple[str, ...] = ()
    reals: tuple[str, ...] = ()
    wholes: tuple[str, ...] = ()
    counters: tuple[str, ...] = ()
    loops: tuple[str, ...] = ()


@dataclass
class Writer:
    """A Writer is the page and the pen: lines so far, parameters asked for so far, the scope, names that are taken."""

    rng: random.Random
    lines: list[str] = field(default_factory=list)
    parameters: dict[str, Parameter] = field(default_factory=dict)
    scope: Scope = Scope()
    taken: set[str] = field(default_factory=lambda: {"n", "m", *(name for names in NAMES.values() for name in names)})
    depth: int = 1
    arrays: list[str] = field(default_factory=list)  # made here, or changed, which the function may return
    result: tuple[str, ...] = ()  # how many values a return gives, and of which kinds; () before the first is decided

    def emit(self, *lines: str) -> None:
        """Writes lines at the present depth; those of a block below are indented by the caller."""
        self.lines += [INDENT * self.depth + line for line in lines]

    @contextmanager
    def block(self, head: str, **names: str) -> Iterator[None]:
        """Writes a head and, indented, what is written inside, where `names` are in scope, by the fields of Scope."""
        kept = self.scope
        self.emit(head)
        self.depth += 1
        self.know(**names)
        start = len(self.lines)
        yield
        if len(self.lines) == start:
            self.emit("pass")
        self.depth -= 1
        self.scope = kept

    def know(self, **names: str) -> None:
        """Takes names into scope: `know(rows="i")`."""
        self.scope = replace(self.scope, **{kind: (*getattr(self.scope, kind), name) for kind, name in names.items()})

    def chance(self, share: float) -> bool:
        """Returns True in this share of all cases."""
        return self.rng.random() < share

    def pick(self, *choices: str) -> str:
        """Returns one of these texts."""
        return self.rng.choice(choices)

    def fresh(self, *stems: str) -> str:
        """Returns a name that is new: one of the stems, with a number where it is taken."""
        stem = self.rng.choice(stems)
        name, number = stem, 2
        while name in self.taken:
            name, number = f"{stem}{number}", number + 1
        self.taken.add(name)
        return name

    def counter(self) -> str:
        """Returns the name of a loop variable: the first of i, j, k, .. that no loop around has."""
        name = next(name for name in "ijkluvw" if name not in self.scope.loops)
        self.taken.add(name)
        return name

    def array(self, kind: str, is_new: bool = False) -> str:
        """Returns a parameter of this kind: one that is there, or a new one while there are names for it."""
        present = [parameter.name for parameter in self.parameters.values() if parameter.kind == kind]
        free = [name for name in NAMES[kind] if name not in self.parameters]
        if present and not (free and (is_new or self.chance(0.3))):
            return self.rng.choice(present)
        elements = {
            "flags": ("bool",),
            "reals": REALS,
            "values": REALS,
            "matrix": (*REALS, "int64"),
            "sparse": REALS,
            "real": ("",),
            "whole": ("",),
        }
        name = free[0]
        self.parameters[name] = Parameter(name, kind, self.rng.choice(elements.get(kind, WHOLES)))
        return name

    def matrix(self) -> tuple[str, bool]:
        """Returns a matrix, and whether its elements are real."""
        name = self.array("matrix")
        return name, self.parameters[name].element in REALS


def result(w: Writer, kind: str, text: str) -> None:
    """Takes a value into scope, and, of arrays and texts that are no name, into what may be returned."""
    if kind == "array" or not text.isidentifier() or text in w.parameters:
        w.arrays.append(text)
    else:
        w.know(**{"wholes" if kind == "whole" else "reals": text})
