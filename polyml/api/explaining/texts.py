"""What `k.explain()` and `k.why` return: texts with the remarks that they are made of, which notebooks show as HTML."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from polyml.api.inspecting.texts import StageText

if TYPE_CHECKING:
    from polyml.remarks.values import Conflict, LoopRemarks, Remark, Remarks


class ExplainText(StageText):
    """What `k.explain()` returns: a text, and the remarks on each loop of the source as values.

    head: the text without the remarks on loops.
    remarks: a `polyml.remarks.values.Remarks` for each compiled form or part that the text is on; empty where nothing is compiled.

    >>> import numpy as np, polyml
    >>> @polyml.kernel(threads=1)
    ... def prefix_sums(A):
    ...     for i in range(1, A.shape[0]):
    ...         A[i] += A[i - 1]
    >>> prefix_sums(np.ones(4))
    >>> [loop] = prefix_sums.explain().remarks[0].loops
    >>> loop.name, loop.of("parallel").kind, loop.of("parallel").conflict.element
    ('i', 'missed', 'A[1]')
    """

    head: str
    remarks: tuple[Remarks, ...]

    def __new__(cls, head: str, remarks: Sequence[Remarks] = ()) -> ExplainText:
        if remarks:
            from polyml.remarks.formats.text import lines

            loops = "\n".join(f"  {line}" for found in remarks for line in lines(found))
            made = super().__new__(cls, f"{head}\n{loops}" if loops else head)
        else:
            made = super().__new__(cls, head)
        made.head, made.remarks = head, tuple(remarks)
        return made

    def data(self) -> list[dict[str, Any]]:
        """Returns all remarks as plain data for JSON, an entry for each compiled form or part."""
        from polyml.remarks.formats import data

        return [data.data(found) for found in self.remarks]

    def json(self) -> str:
        """Returns the remarks as JSON text."""
        return json.dumps(self.data(), indent=2)

    def _repr_html_(self) -> str:
        from polyml.remarks.formats import html

        return f"<pre>{escape(self.head)}</pre>" + "".join(map(html.part, self.remarks))


@dataclass(frozen=True)
class Answer:
    """The answer to a question on the loops of one name.

    question: "parallel", "vectorized", "tiled", "fused" or "interchanged".
    loops: the loops, with all remarks on them.
    """

    question: str
    loops: tuple[LoopRemarks, ...]

    @property
    def remark(self) -> Remark:
        """Returns the remark on the first of the loops."""
        return self.loops[0].of(self.question)

    @property
    def conflict(self) -> Conflict | None:
        """Returns the pair of instances that would be broken, of the first of the loops for which there is one; None for none."""
        return next((found for loop in self.loops if (found := loop.of(self.question).conflict) is not None), None)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    __repr__ = __str__

    def _lines(self) -> Iterator[str]:
        from polyml.remarks.formats.text import heading, remark_lines

        for loop in self.loops:
            yield heading(loop)
            yield from remark_lines(loop.of(self.question))

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"
