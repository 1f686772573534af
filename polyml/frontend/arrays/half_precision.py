"""Half precision: whether a kernel may compute in float16 or bfloat16, whose sums are taken in float32."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from polyml.dtypes import BOOL, BY_NUMPY_NAME, HALVES, I8, U8, DType
from polyml.frontend import syntax, traversal
from polyml.frontend.elementwise_functions import COMPARISONS, OPERATORS, TESTS
from polyml.frontend.name_resolution import statements
from polyml.frontend.syntax import ArgType, ArrayType

_OF_INTEGERS = (
    "where minimum maximum fmin fmax abs fabs sign square floor ceil trunc rint conj negative positive invert logical_not"
).split() + [name for name in (*TESTS, *OPERATORS, *COMPARISONS) if name != "pow"]


def may_have_halves(kernel: syntax.Kernel, types: Sequence[ArgType]) -> bool:
    """Returns whether a kernel called with arguments of these types may compute in float16 or bfloat16.

    Such numbers come from arguments and conversions, and from functions of NumPy that give float16 for bool, int8 and uint8.
    """
    given = {t.element if isinstance(t, ArrayType) else t.dtype for t in types}
    nodes = [node for stmt in statements(kernel.body) for expr in traversal.expressions(stmt) for node in traversal.nodes(expr)]
    if any(kind in HALVES for kind in (*given, *_named(kernel, nodes))):
        return True
    return not given.isdisjoint((BOOL, I8, U8)) and any(
        isinstance(node, syntax.Call) and node.function not in _OF_INTEGERS for node in nodes
    )


def _named(kernel: syntax.Kernel, nodes: Sequence[syntax.Expr]) -> Iterator[DType | object]:
    """Yields the types of numbers that a kernel names in conversions, options of functions, NumPy constants and allocations.

    Options such as axis=0 are not told from types, so their values are yielded too.

    nodes: all expressions of the kernel
    """
    for node in nodes:
        match node:
            case syntax.Cast(to=to):
                yield to
            case syntax.Function(options=options):
                yield from (value for _, value in options)
            case syntax.Const(value=np.generic() as number):
                yield BY_NUMPY_NAME[number.dtype.name]
    yield from (stmt.element for stmt in statements(kernel.body) if isinstance(stmt, syntax.Alloc))
