"""The ledger of a kernel's compiled forms: for which types and sizes each was made, when, why, and at what cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from html import escape
from typing import TYPE_CHECKING

from polyml.api.explaining import words
from polyml.config import Options

if TYPE_CHECKING:
    from polyml.api.calls.specialisation import Request, Specialisation

_HEADINGS = ("types", "sizes", "made", "why", "seconds", "from")
FIRST, OVERLAP, VALUES = (
    "the first call",
    "arguments share memory",
    "more values of sizes and integers than have forms of their own",
)


@dataclass(frozen=True)
class CompiledForm:
    """A compiled form is code, made for calls with arguments of some types and sizes.

    signature: the types of the arguments as text, with the layout of each array that is not in C's order.
    types, layouts: of the arguments, and of those that are arrays: "C", "F" or "A" (any strides).
    sizes: the sizes of arrays for which the code is used, as text; "any" where it is for all.
    made: when it was compiled or loaded, in local time.
    why: why the forms that were there did not serve the call.
    seconds: what its compilation took, or its load from the disk cache.
    from_cache: whether it is from the disk cache.
    reason: why calls run as plain Python; "" where there is code.
    """

    signature: str
    types: tuple[str, ...]
    layouts: tuple[str, ...]
    sizes: str
    made: datetime
    why: str
    seconds: float
    from_cache: bool
    reason: str = ""

    @property
    def source(self) -> str:
        """Returns where the code is from: "compiled", "disk cache" or "plain Python"."""
        if self.reason:
            return "plain Python"
        return "disk cache" if self.from_cache else "compiled"

    def cells(self) -> tuple[str, ...]:
        """Returns what a table has on the form, in the order of its headings."""
        when = self.made.isoformat(sep=" ", timespec="seconds")
        return self.signature, self.sizes, when, self.why, f"{self.seconds:.3f}", self.source


class Ledger(tuple):
    """The compiled forms of a kernel, a tuple of `CompiledForm` that prints as a table, the first one made first."""

    __slots__ = ()

    def __str__(self) -> str:
        rows = [_HEADINGS, *(form.cells() for form in self)]
        widths = [max(map(len, column)) for column in zip(*rows)]
        return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)

    __repr__ = __str__

    def __iter__(self) -> Iterator[CompiledForm]:
        return super().__iter__()

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{heading}</th>" for heading in _HEADINGS)
        rows = (f"<tr>{''.join(_cell(text) for text in form.cells())}</tr>" for form in self)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _cell(text: str) -> str:
    return f'<td style="text-align: left">{escape(text)}</td>'


def entry(form: Specialisation, before: Sequence[Request], made: datetime) -> CompiledForm:
    """Returns the ledger's entry on a form.

    before: the requests that forms were made for earlier, the latest last. made: when the form was made.
    """
    wanted = form.request
    return CompiledForm(
        signature=words.signature(wanted.types, wanted.layouts),
        types=tuple(map(str, wanted.types)),
        layouts=wanted.layouts,
        sizes=_sizes(wanted) if form.is_sized else "any",
        made=made,
        why=why(wanted, before),
        seconds=sum(form.timings.values()),
        from_cache=form.from_cache,
        reason="" if form.reason is None else form.reason.message,
    )


def why(wanted: Request, before: Sequence[Request]) -> str:
    """Returns why none of the forms that were made before serves a request: what is new in it.

    before: the requests of those forms, the latest last.
    """
    if wanted.aliased and not any(each.aliased for each in before if each.types == wanted.types):
        return OVERLAP
    if not before:
        return FIRST
    if not any(each.types == wanted.types for each in before):
        return "new types"
    same = [each for each in before if each.types == wanted.types and each.aliased == wanted.aliased]
    if not any(each.layouts == wanted.layouts for each in same):
        return "arrays with other strides"
    if wanted.general and not any(each.general for each in same):
        return VALUES
    same = [each for each in same if each.layouts == wanted.layouts]
    options = wanted.options.compile_key()
    if not any(each.options.compile_key() == options for each in same):
        return f"other settings: {', '.join(_changed(same[-1].options, wanted.options))}"
    same = [each for each in same if each.options.compile_key() == options]
    if not any(_captured(each) == _captured(wanted) for each in same):
        return f"a value from outside the function changed: {_first_difference(_captured(same[-1]), _captured(wanted))}"
    same = [each for each in same if _captured(each) == _captured(wanted)]
    if wanted.sizes is None:
        return "sizes for which no form of its own is made"
    if any(each.sizes is not None and each.sizes.limits == wanted.sizes.limits for each in same):
        return "the same sizes, related in another way"
    return "sizes of another class"


def _changed(old: Options, new: Options) -> Iterator[str]:
    """Yields the names of the settings for which other code is made than for the old ones."""
    for each in fields(old):
        if replace(old, **{each.name: getattr(new, each.name)}).compile_key() != old.compile_key():
            yield each.name


def _captured(wanted: Request) -> str:
    return "" if wanted.captured is None else wanted.captured.content


def _first_difference(old: str, new: str) -> str:
    """Returns the first line in which two texts differ, in short."""
    known = set(old.splitlines())
    line = next((line for line in new.splitlines() if line not in known), "")
    return line if len(line) <= 80 else f"{line[:77]}..."


def _sizes(wanted: Request) -> str:
    """Returns the sizes for which a form is used, such as "A[65..128, 7], B[65..128]"."""
    if wanted.sizes is None:
        return "any"
    shown = []
    for name, limits in wanted.sizes.limits:
        shown.append(f"{name}[{', '.join(str(a) if a == b else f'{a}..{b}' for a, b in limits)}]")
    return ", ".join(shown)
