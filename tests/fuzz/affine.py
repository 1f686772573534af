"""Affine expressions over loop variables and sizes, and what keeps a subscript inside its array.

An expression is a dict: name -> coefficient, with the constant under "".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Affine = dict[str, int]


def affine(constant: int = 0, **terms: int) -> Affine:
    return {"": constant, **terms}


def plus(a: Mapping[str, int], b: Mapping[str, int], factor: int = 1) -> Affine:
    """a + factor * b."""
    total = dict(a)
    for name, coefficient in b.items():
        total[name] = total.get(name, 0) + factor * coefficient
    return {name: c for name, c in total.items() if c or name == ""}


def text(a: Mapping[str, int], spelling: Mapping[str, str] = {}) -> str:
    """Python source of the expression. spelling: how a size is written, "N" -> "A.shape[0]".

    >>> text({"": -1, "N": 1, "i": -2})
    'N - 2 * i - 1'
    """
    out = ""
    ordered = sorted((n, c) for n, c in a.items() if c and n)
    ordered.sort(key=lambda item: item[1] < 0)  # a positive term first
    for name, c in ordered:
        term = spelling.get(name, name) if abs(c) == 1 else f"{abs(c)} * {spelling.get(name, name)}"
        out += (f" {'-' if c < 0 else '+'} {term}") if out else ("-" + term if c < 0 else term)
    constant = a.get("", 0)
    if not out:
        return str(constant)
    return out + (f" {'-' if constant < 0 else '+'} {abs(constant)}" if constant else "")


@dataclass(frozen=True)
class Var:
    """A loop variable with what is known of it: lower <= name <= upper(sizes) whenever the body runs."""

    name: str
    lower: int
    upper: tuple[tuple[str, int], ...]

    @staticmethod
    def make(name: str, lower: int, upper: Mapping[str, int]) -> Var:
        return Var(name, lower, tuple(upper.items()))


def hull(a: Mapping[str, int], scope: Mapping[str, Var]) -> tuple[Affine, Affine]:
    """Bounds of the expression over all loop points: (lower, upper), affine in the sizes."""
    low, high = affine(), affine()
    for name, c in a.items():
        if name not in scope:
            low, high = plus(low, {name: c}), plus(high, {name: c})
            continue
        bottom, top = affine(scope[name].lower), dict(scope[name].upper)
        low = plus(low, bottom if c > 0 else top, c)
        high = plus(high, top if c > 0 else bottom, c)
    return low, high


def room(a: Mapping[str, int], extent: Mapping[str, int], scope: Mapping[str, Var]) -> range:
    """The constants c for which 0 <= a + c < extent at every loop point, for all sizes; empty where none is."""
    low, high = hull(a, scope)
    slack = plus(plus(extent, high, -1), affine(-1))
    if any(c < 0 for name, c in [*low.items(), *slack.items()] if name):
        return range(0)
    return range(-low.get("", 0), slack.get("", 0) + 1)
