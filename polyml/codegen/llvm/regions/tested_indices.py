"""Which indices were tested where code of a region is emitted, so that `x[k] += 1` tests k once."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from polyml.frontend import syntax, traversal


class TestedIndices:
    """The indices of which code that always runs before the place has tested that dimensions of some sizes have them."""

    def __init__(self) -> None:
        self._known: dict[tuple[syntax.Expr, str], str] = {}

    def position(self, index: syntax.Expr, size: str) -> str | None:
        """Returns an index counted from 0, which was tested; None where it was not. size: the SSA name of the dimension's size"""
        return self._known.get((index, size))

    def add(self, index: syntax.Expr, size: str, position: str) -> None:
        """Tells that an index was tested. position: the SSA name of the index counted from 0"""
        self._known[index, size] = position

    def forget(self, names: Collection[str]) -> None:
        """Tells that numbers, or elements of arrays, may have other values from here on."""
        self._known = {
            (index, size): position
            for (index, size), position in self._known.items()
            if not any(traversal.name_of(node) in names for node in traversal.nodes(index))
        }

    def forget_elements(self) -> None:
        """Tells that elements of any array may have other values from here on."""
        self._known = {
            (index, size): position
            for (index, size), position in self._known.items()
            if not any(isinstance(node, syntax.Subscript) for node in traversal.nodes(index))
        }

    @contextmanager
    def branch(self) -> Iterator[None]:
        """Goes through code that does not always run before what comes after it."""
        before = dict(self._known)
        yield
        self._known = before
