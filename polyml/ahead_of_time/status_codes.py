"""What a library's function returns: 0, or the number of what went wrong, with its name in C, its kind and its text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from polyml.model.core.call_interface import Status
from polyml.runtime.storage.records import CheckRecord
from polyml.source import short_name

REGION = -20  # an error in a region, see `call_interface.failure`
OVERLAP, POINTER, SIZES = -16, -17, -18  # what the entry for C finds, beside the kernel's own `Status`


@dataclass(frozen=True)
class StatusCode:
    """A StatusCode is one of the numbers that a library's function returns.

    name: the end of its name in C: OUT_OF_MEMORY of GEMM_OUT_OF_MEMORY.
    kind: "bounds", "shape", "range", "limit", "usual" (a call for which a kernel runs as plain Python), "raise" (one that raises), "memory", "overlap", "pointer", "sizes" or "number"; "" of 0.
    text: what went wrong, for people.
    """

    number: int
    name: str
    kind: str
    text: str


_OWN = (
    StatusCode(Status.OUT_OF_MEMORY, "OUT_OF_MEMORY", "memory", "there is no memory for temporaries; nothing is written"),
    StatusCode(Status.LEFT_64_BITS, "LEFT_64_BITS", "number", "an integer left 64 bits; arrays may be partly written"),
    StatusCode(Status.NOT_A_NUMBER, "NOT_A_NUMBER", "number", "NaN was converted to an integer; arrays may be partly written"),
    StatusCode(
        Status.TOO_LARGE_A_FLOAT, "TOO_LARGE_A_FLOAT", "number",
        "a float that 64 bits cannot hold was converted to an integer; arrays may be partly written",
    ),
    StatusCode(
        Status.DOES_NOT_FIT, "DOES_NOT_FIT", "number",
        "an integer does not fit the type of the element that it is stored in; arrays may be partly written",
    ),
    StatusCode(Status.TOO_LARGE_AN_ARRAY, "TOO_LARGE_AN_ARRAY", "sizes", "a temporary array would have 2**63 bytes or more"),
    StatusCode(Status.TOO_GREAT_A_SIZE, "TOO_GREAT_A_SIZE", "sizes", "a size is too great for loops in 64 bits"),
    StatusCode(
        Status.TOO_LARGE_TO_SPARE, "TOO_LARGE_TO_SPARE", "sizes", "an array that the code does without would have more than 512 GiB"
    ),
    StatusCode(OVERLAP, "OVERLAP", "overlap", "an array that is written shares memory with another one; nothing is written"),
    StatusCode(POINTER, "POINTER", "pointer", "a pointer is null, or no multiple of its element's size; nothing is written"),
    StatusCode(SIZES, "SIZES", "sizes", "a size is negative, or an array would have 2**63 bytes or more; nothing is written"),
)  # fmt: skip
_NAMES = {
    "bounds": "OUT_OF_BOUNDS",
    "shape": "NEGATIVE_SHAPE",
    "range": "RANGE",
    "limit": "LIMIT",
    "usual": "UNUSUAL",
    "raise": "RAISE",
}


def codes(checks: Sequence[CheckRecord], has_regions: bool = False) -> tuple[StatusCode, ...]:
    """Returns what a library's function returns: 0, then from 1 on the tests at entry, then the negative numbers.

    has_regions: whether the function has regions, in which a call may end with an error.
    """
    done = StatusCode(0, "OK", "", "ok")
    found = [StatusCode(n, f"{_NAMES[c.kind]}_{n}", c.kind, _text(c)) for n, c in enumerate(checks, 1)]
    region = StatusCode(
        REGION,
        "IN_A_REGION",
        "region",
        "an index is out of bounds, an integer is divided by zero, or the source raises; what ran before is written",
    )
    return (done, *found, *_OWN, *([region] if has_regions else []))


def _text(check: CheckRecord) -> str:
    place = f" ({short_name(check.loc.source.file)}:{check.loc.line}:{check.loc.column})" if check.loc else ""
    end = f"{place}; nothing is written"
    if check.kind == "bounds":
        verb = "may be" if check.may else "is"
        return f"`{check.what}` {verb} out of bounds in dimension {check.dim}{end}"
    if check.kind == "range":
        return f"a Python integer does not fit: `{check.what}`{end}"
    if check.kind == "limit":
        return f"`{check.what}` is too great for loops in 64 bits{end}"
    if check.kind == "raise":
        return f"it is {check.what}{end}"
    if check.kind == "usual":
        return f"there is {check.what}, for which plain Python would run{end}"
    return f"dimension {check.dim} of `{check.what}` is negative{end}"
