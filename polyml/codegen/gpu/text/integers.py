"""Integer expressions and conditions of a program as C, which divides towards zero."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from polyml.quasi_affine.affine import Affine, Choice, Compare, Condition, Extremum, FloorDiv, Logic

Renamed = TypeVar("Renamed", Affine, Condition)
Use = Callable[[str], str]  # the name of a device function, once told that it is needed


class Rename(Protocol):
    """A Rename returns an expression or a condition with the names of the C text in place of the program's."""

    def __call__(self, value: Renamed, /) -> Renamed: ...


def integer(value: Affine, use: Use) -> str:
    """Returns the C text of an integer expression, a sum without parentheses around it; what is subtracted comes last.

    use: is called with the names of device functions that the text needs.
    """
    parts = []
    for atom, factor in value.terms:
        text = atom if isinstance(atom, str) else _atom(atom, use)
        parts.append((" - " if factor < 0 else " + ") + (text if abs(factor) == 1 else f"{abs(factor)}*{text}"))
    if value.constant or not parts:
        parts.append((" - " if value.constant < 0 else " + ") + str(abs(value.constant)))
    if parts[0].startswith(" - "):
        parts.sort(key=lambda part: part.startswith(" - "))
    text = "".join(parts)
    return text[3:] if text.startswith(" + ") else "-" + text[3:]


def factor(value: Affine, use: Use) -> str:
    """Returns the C text of an integer expression as a factor: in parentheses where it is a sum or negative.

    use: is called with the names of device functions that the text needs.
    """
    text = integer(value, use)
    plain = value.is_constant and value.constant >= 0 or len(value.terms) == 1 and not value.constant and value.terms[0][1] >= 0
    return text if plain else f"({text})"


def _atom(atom: FloorDiv | Extremum | Choice, use: Use) -> str:
    """Returns the C text, which needs no more parentheses, of a floor division, a minimum or maximum, or a Choice: one of two
    expressions, as a condition decides.
    """
    if isinstance(atom, FloorDiv):
        return f"{use('floor_divide_index')}({integer(atom.operand, use)}, {atom.divisor})"
    if isinstance(atom, Extremum):
        return extreme(atom.op, atom.operands, use)
    return f"({condition(atom.condition, use)} ? {integer(atom.then, use)} : {integer(atom.orelse, use)})"


def extreme(op: str, operands: Sequence[Affine], use: Use) -> str:
    """Returns the C text of the minimum or maximum, by `op`, of one or more integer expressions.

    use: is called with the names of device functions that the text needs.
    """
    text = integer(operands[0], use)
    for operand in operands[1:]:
        text = f"{use(f'{op}_index')}({text}, {integer(operand, use)})"
    return text


def row_major(subscripts: Sequence[str], sizes: Sequence[str]) -> str:
    """Returns the C text of the number of an array's element that is stored row by row.

    subscripts: the C texts of the subscripts, by dimension; each is a sum, or binds more tightly than one.
    sizes: the C texts of the array's sizes from the second dimension on, as factors.

    >>> row_major(["i + 1", "0", "-j"], ["n", "m"])
    '(i + 1)*n*m - j'
    """
    offset = subscripts[0] if subscripts else "0"
    is_product = False
    for text, size in zip(subscripts[1:], sizes):
        if (text, size) == ("0", "1"):
            continue
        if offset in ("0", "1"):
            rows = size if offset == "1" else ""
        else:
            is_factor = is_product or offset.isidentifier() or offset.isdigit()
            rows = f"{offset if is_factor else f'({offset})'}*{size}"
        is_product = bool(rows) and text == "0"
        added = f" - {text[1:]}" if text.startswith("-") else f" + {text}"
        offset = rows + added if rows and text != "0" else rows or text
    return offset


def condition(value: Condition, use: Use) -> str:
    """Returns the C text of a condition, without parentheses around it.

    use: is called with the names of device functions that the text needs.
    """
    if isinstance(value, Compare):
        return _comparison(value, use)
    if not value.parts:
        return "1" if value.op == "and" else "0"
    texts = [
        f"({condition(part, use)})" if isinstance(part, Logic) and len(part.parts) > 1 else condition(part, use)
        for part in value.parts
    ]
    return f" {'&&' if value.op == 'and' else '||'} ".join(texts)


def _comparison(value: Compare, use: Use) -> str:
    """Returns the C text of a comparison of two sides with positive terms: i < n rather than n >= i + 1, or n > i."""
    terms, constant = value.expr.terms, value.expr.constant
    left = tuple((a, c) for a, c in terms if c > 0)
    right = tuple((a, -c) for a, c in terms if c < 0)
    op, flipped = ("==", "==") if value.op == "==" else (">=", "<=")
    if op != "==" and constant < 0:  # a >= b + 1 is a > b
        op, flipped, constant = ">", "<", constant + 1
    big, small = Affine(max(constant, 0), left), Affine(max(-constant, 0), right)
    if right and (op == ">" or len(left) < len(right)):
        return f"{integer(small, use)} {flipped} {integer(big, use)}"
    return f"{integer(big, use)} {op} {integer(small, use)}"
