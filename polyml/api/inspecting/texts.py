"""Texts of stages that notebooks show as text, with what they are made of."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from polyml.drawing.tables import html_table
from polyml.source import short_name

if TYPE_CHECKING:
    from polyml.model.references.direct import ReferenceDependence
    from polyml.model.references.text import Found


class StageText(str):
    """The text that a stage of the compiler makes, a `str` that notebooks show line by line."""

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self)}</pre>"

    def _repr_pretty_(self, printer, cycle: bool) -> None:
        """Prints the text itself where IPython would print its repr."""
        printer.text(str(self))


class DependenceText(StageText):
    """The direct dependences of a kernel as a text with one line for each pair of references, and as values.

    dependences: a `polyml.model.references.direct.ReferenceDependence` for each line: kind, array, source and sink with their places,
        relation { S[i] -> T[j] } as an isl.Map, distance and direction vectors.
    missing: the kinds that are not among them, since isl would need too many operations to find them.

    >>> import polyml
    >>> @polyml.kernel
    ... def prefix_sums(A):
    ...     for i in range(1, A.shape[0]):
    ...         A[i] += A[i - 1]
    >>> [flow] = prefix_sums.inspect_deps("f64[:]").dependences
    >>> flow.kind, flow.array, flow.source.text, flow.sink.text, flow.distance, flow.direction
    ('flow', 'A', 'A[i]', 'A[i - 1]', (1,), ('<',))
    >>> print(flow.relation)
    [A_0] -> { S0[i] -> S0[i' = 1 + i] : 0 < i <= -2 + A_0 }
    """

    dependences: tuple[ReferenceDependence, ...]
    missing: tuple[str, ...]

    def __new__(cls, found: Found) -> DependenceText:
        from polyml.model.references.text import text

        made = super().__new__(cls, text(found))
        made.dependences = tuple(each for known in found.values() for each in known or ())
        made.missing = tuple(kind for kind, known in found.items() if known is None)
        return made

    def _repr_html_(self) -> str:
        from polyml.model.references.text import HEADINGS, file_of, row

        file = file_of(self.dependences)
        caption = f"dependences between references{f' in {short_name(file)}' if file else ''}"
        table = html_table(caption, HEADINGS, [row(each, file) for each in self.dependences])
        missing = "".join(f"<p>{kind}: isl would need too many operations to find these dependences</p>" for kind in self.missing)
        return f"{table}{missing}"
