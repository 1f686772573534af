"""What a kernel assumes of index arrays, over the names of its nest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from polyml.frontend import syntax
from polyml.frontend.name_resolution import assigned_arrays
from polyml.model.index_arrays.origins import IndexFact
from polyml.quasi_affine.affine import Affine


def known_facts(
    kernel: syntax.Kernel, names: Mapping[str, str], bound: Callable[[syntax.Expr], Affine | None]
) -> Iterator[IndexFact]:
    """Yields what a kernel assumes of arguments that it does not change, whose numbers are integers of up to 64 bits with a sign.

    names: the user's name -> the name in the nest
    bound: returns an expression of sizes and arguments as an affine one; None where it is none
    """
    changed = assigned_arrays(kernel.body)
    types = {param.name: kind for param, kind in zip(kernel.params, kernel.types)}
    for fact in kernel.facts:
        kind = types.get(fact.array)
        if fact.array in changed or not isinstance(kind, syntax.ArrayType) or not kind.element.is_integer:
            continue
        if fact.low is None or fact.high is None:
            yield IndexFact(fact.kind, names[fact.array])
            continue
        low, high = bound(fact.low), bound(fact.high)
        if low is not None and high is not None:
            yield IndexFact(fact.kind, names[fact.array], low, high)
