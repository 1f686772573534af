"""What is expected of index arrays, since loops around regions go to threads then: it is tested at entry, and other code runs other calls.

    for i in range(n):                                              for i: if ptr[i] < 0: falls = True
        for p in range(ptr[i], ptr[i + 1]):        ->               for i: if ptr[i] < ptr[i - 1]: falls = True
            out[p] = row(i, p)                                      if falls: raise Unexpected
                                                                    threads: for i in range(n): ...

Only what row pointers are is expected: numbers that do not fall. The test reads an element for each row, which is little beside the row, and
nothing is written before it. (Inspector and executor: Saltz, Mirchandaney and Crowley, "Run-time parallelization and scheduling of loops",
IEEE Transactions on Computers 40, 1991.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from polyml.errors import UNEXPECTED
from polyml.frontend import syntax
from polyml.frontend.syntax import Expr, Fact, Stmt
from polyml.model.index_arrays.origins import MONOTONIC

_FALLS, _PLACE = "falls.expected", "k.expected"  # names that no function has


def with_expected(kernel: syntax.Kernel, arrays: Sequence[str]) -> syntax.Kernel:
    """Returns a kernel, not typed yet, that tests at entry whether arguments are monotonic, and is modelled as if they were.

    arrays: the arguments' names
    """
    falls = syntax.Name(_FALLS)
    begin: list[Stmt] = [syntax.Assign(falls, syntax.Const(False))]
    for array in arrays:
        begin += _tested(array, falls)
    begin.append(syntax.If(falls, (syntax.Raise(UNEXPECTED, ()),), ()))
    facts = (*kernel.facts, *(Fact(MONOTONIC, array) for array in arrays))
    return replace(kernel, body=(*begin, *kernel.body), facts=facts)


def _tested(array: str, falls: syntax.Name) -> Iterator[Stmt]:
    """Yields loops that set a number where an array has a negative number, or one that is less than the one before it."""
    place = syntax.Name(_PLACE)
    for first, other in ((0, syntax.Const(0)), (1, _at(array, syntax.Binary("-", place, syntax.Const(1))))):
        is_less = syntax.If(syntax.Compare("<", _at(array, place), other), (syntax.Assign(falls, syntax.Const(True)),), ())
        yield syntax.For(_PLACE, syntax.Const(first), syntax.Shape(array, 0), 1, (is_less,))


def _at(array: str, index: Expr) -> Expr:
    return syntax.Subscript(array, (index,), inside=True)
