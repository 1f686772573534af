"""Loops in strips: a region runs the iterations of one as a loop of its own, in which several indices are tested at once.

for i in range(n): b[k[i]] += x[i]     ->     for s in range((n + 255) // 256):
                                                  for i in range(256*s, min(256*s + 256, n)): b[k[i]] += x[i]
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from polyml.dtypes import PYINT
from polyml.frontend import syntax
from polyml.frontend.syntax import Expr, Stmt
from polyml.model.index_arrays.kernel_names import NewNames
from polyml.source import Loc

LENGTH = 256  # iterations of a strip


def in_strips(kernel: syntax.Kernel, places: Collection[Loc]) -> syntax.Kernel:
    """Returns a typed kernel with the outermost loops at these places in strips; the same object where there are none."""
    chosen = [stmt for stmt in kernel.body if isinstance(stmt, syntax.For) and stmt.loc in places and stmt.step == 1]
    if not chosen:
        return kernel
    name = NewNames(kernel).fresh("strip")
    return replace(kernel, body=tuple(_strips(stmt, name) if stmt in chosen else stmt for stmt in kernel.body))


def _strips(loop: Stmt, name: str) -> Stmt:
    """Returns a loop as one over strips. name: of its variable"""
    if not isinstance(loop, syntax.For):
        raise TypeError(f"not a loop: {loop!r}")
    zero, length = syntax.Const(0, dtype=PYINT), syntax.Const(LENGTH, dtype=PYINT)
    rounded = _of("+", _of("-", loop.stop, loop.start), syntax.Const(LENGTH - 1, dtype=PYINT))
    first = _of("+", loop.start, _of("*", syntax.Name(name, dtype=PYINT), length))
    inner = replace(loop, start=first, stop=_of("min", _of("+", first, length), loop.stop))
    return syntax.For(name, zero, _of("//", rounded, length), 1, (inner,), loc=_keyword(loop.loc))


def _keyword(loc: Loc | None) -> Loc | None:
    """Returns the place of a loop's first word, which is another one than that of the whole loop."""
    return None if loc is None else replace(loc, width=len("for"))


def _of(op: str, left: Expr, right: Expr) -> Expr:
    return syntax.Binary(op, left, right, dtype=PYINT)
