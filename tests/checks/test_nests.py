"""A bug planted in each pass on kernels and nests is found by its checker, which names the element; the pass itself is clean."""

from dataclasses import replace

import numpy as np
import pytest

from polyml.checks.kernels import check, check_function
from polyml.frontend import syntax, traversal
from polyml.frontend.argument_types import arg_type
from polyml.frontend.parsing.parse import parse
from polyml.frontend.types.infer import infer
from polyml.model.core import nest as nodes
from tests.checks.passing import changed, compiled, finding, planted


def windows(w, A, B):
    for i in range(B.shape[0] - 2):
        s = 0.0
        for p in range(3):
            s += w[p] * A[i + p]
        B[i] = s


def count(A, r):
    for i in range(A.shape[0]):
        c = 0
        for j in range(A.shape[1]):
            if A[i, j] > 0:
                c += 1
        r[i] = c


def named(A, B):
    for i in range(A.shape[0]):
        t = A[i] + 1
        B[i] = t * t


def greatest(A):
    k = 0
    best = A[0]
    for i in range(1, A.shape[0]):
        if A[i] > best:
            best = A[i]
            k = i
    return k, best


def mirrored(A, B):
    T = A + 1
    B[:] = T[::-1] * 2


def copied(A, C):
    T = A @ A
    C[:, :] = T


def reshaped(A, B, C):
    T = np.empty((2, 12, 3))
    for g in range(2):
        for r in range(12):
            for j in range(3):
                T[g, r, j] = 0.0
                for k in range(A.shape[2]):
                    T[g, r, j] += A[g, r, k] * B[k, j]
    for h in range(8):
        for i in range(3):
            for j in range(3):
                C[h, i, j] = T[(3 * h + i) // 12, (3 * h + i) % 12, j]


def scaled(A, n, B):
    for i in range(A.shape[0]):
        B[i] = A[i] * n


def placed(A):
    for i in range(A.shape[0]):
        for j in range(i):
            w = A[i, j]
            for k in range(j):
                w -= A[i, k] * A[k, j]
            A[i, j] = w * 2


def rows_that_shrink(A, C):
    for i in range(A.shape[1]):
        C[i, i:] = A[:, i] @ A[:, i:] / 3


def traced(A, C):
    C[0, 0] = np.trace(A @ A)


def added(A, C):
    C += A @ A


def updated(A, C):
    C[:] = C * 3
    C[:] = C + A


def relaxed(A):
    for t in range(3):
        for i in range(1, A.shape[0]):
            for j in range(1, A.shape[1] - 1):
                A[i, j] = A[i, j] + A[i - 1, j] + A[i, j + 1]
            for j in range(1, A.shape[1] - 1):
                A[i, j] = (A[i, j] + A[i, j - 1]) / 3


def symmetric(A, C):
    C[:] = A.T @ A


def same_shapes(A, B, C):
    C[:] = A + B


def sizes_apart(A, B):
    for i in range(A.shape[0]):
        A[i] = A[i] * 2
    for i in range(B.shape[0]):
        A[i] = A[i] + B[i]


def rotated(z, w):
    for i in range(z.shape[0]):
        w[i] = z[i] * (1 + 2j)


def twice(A, B):
    for i in range(A.shape[0]):
        t = A[i] + 1.0
        B[i] = t * 2.0
    for i in range(A.shape[0]):
        t = A[i] - 1.0
        A[i] = t * 3.0 + B[i]


ROW = np.zeros(40)
CALLS = {
    windows: {"w": np.zeros(3), "A": ROW, "B": ROW},
    count: {"A": np.zeros((40, 40)), "r": ROW.astype(int)},
    named: {"A": ROW, "B": ROW},
    greatest: {"A": ROW},
    mirrored: {"A": ROW, "B": ROW},
    copied: {"A": np.zeros((40, 40)), "C": np.zeros((40, 40))},
    reshaped: {"A": np.zeros((2, 12, 40)), "B": np.zeros((40, 3)), "C": np.zeros((8, 3, 3))},
    scaled: {"A": ROW, "n": 3, "B": ROW},
    placed: {"A": np.zeros((40, 40))},
    rows_that_shrink: {"A": np.zeros((40, 40)), "C": np.zeros((40, 40))},
    added: {"A": np.zeros((40, 40)), "C": np.zeros((40, 40))},
    traced: {"A": np.zeros((40, 40)), "C": np.zeros((40, 40))},
    updated: {"A": np.zeros((40, 40)), "C": np.zeros((40, 40))},
    relaxed: {"A": np.zeros((40, 40))},
    symmetric: {"A": np.zeros((40, 40)), "C": np.zeros((40, 40))},
    same_shapes: {"A": ROW, "B": ROW, "C": ROW},
    sizes_apart: {"A": np.zeros(5000), "B": np.zeros(5000)},
    rotated: {"z": ROW.astype(complex), "w": ROW.astype(complex)},
    twice: {"A": ROW, "B": ROW},
}


def without_last(body):
    """The nodes without the last assignment."""
    *before, last = body
    if isinstance(last, nodes.Assign):
        return tuple(before)
    inside = without_last(last.body)
    return (*before, replace(last, body=inside)) if inside else tuple(before)


def forgets(nest, before):
    return replace(nest, body=without_last(nest.body))


def late(nest, before):
    """Loops begin one iteration late."""

    def node(n):
        if isinstance(n, nodes.Assign):
            return n
        made = replace(n, body=tuple(map(node, n.body)))
        return replace(made, start=made.start + 1) if isinstance(made, nodes.Loop) else made

    return replace(nest, body=tuple(map(node, nest.body)))


def next_element(nest, before):
    """Reads name the element behind the one that they should."""

    def leaf(part):
        wanted = isinstance(part, nodes.Read) and part.subscripts
        return replace(part, subscripts=(part.subscripts[0] + 1, *part.subscripts[1:])) if wanted else part

    def node(n):
        if isinstance(n, nodes.Assign):
            return replace(n, value=nodes.map_leaves(n.value, leaf))
        return replace(n, body=tuple(map(node, n.body)))

    return replace(nest, body=tuple(map(node, nest.body)))


def last_statement_gone(kernel, before):
    return replace(kernel, body=kernel.body[:-1])


def not_transposed(made, before):
    def changed(expr):
        if isinstance(expr, syntax.Function) and expr.function == "transpose":
            return changed(expr.args[0])
        return traversal.with_operands(expr, tuple(map(changed, traversal.operands(expr))))

    body = tuple(traversal.map_reads(stmt, changed) for stmt in made.kernel.body)
    return replace(made, kernel=replace(made.kernel, body=body))


PLANTED = [
    ("algebra", traced, not_transposed),
    ("live_ranges", twice, last_statement_gone),
    ("equal_sizes", same_shapes, late),
    ("alike_sizes", sizes_apart, late),
    ("unroll_sums", windows, forgets),
    ("narrow_counters", count, late),
    ("forward_substitution", named, next_element),
    ("counter_steps", count, forgets),
    ("block_argmax", greatest, forgets),
    ("inline_arrays", mirrored, next_element),
    ("copy_coalescing", copied, late),
    ("reshaped_copies", reshaped, next_element),
    ("value_arguments", scaled, forgets),
    ("array_contraction", rows_that_shrink, next_element),
    ("in_place_sums", added, next_element),
    ("update_chains", updated, late),
    ("update_chains", relaxed, next_element),
    ("scalar_placement", placed, next_element),
    ("symmetric_results", symmetric, forgets),
]


@pytest.mark.parametrize(("name", "function", "mutate"), PLANTED, ids=lambda v: getattr(v, "__name__", v))
def test_a_planted_bug_is_found(name, function, mutate):
    assert name in changed(compiled(function, CALLS[function])), "the pass has nothing to do here"
    assert finding("extract", function, CALLS[function]) is None
    with planted(name, mutate):
        problem = finding("extract", function, CALLS[function])
    assert problem is not None
    assert problem.message.startswith(f"pass {name} is wrong: ")


def test_a_bug_in_the_parts_of_complex_numbers_is_found_in_the_scop():
    with planted("complex_parts", last_statement_gone):
        problem = finding("extract", rotated, CALLS[rotated])
    assert problem.message.startswith("pass extract is wrong: w[")


def test_a_bug_of_extraction_is_found():
    def mutate(scop, before):
        name, statement = next(iter(scop.statements.items()))
        first = statement.domain.subtract(statement.domain.lexmin())
        return replace(
            scop,
            statements={**scop.statements, name: replace(statement, domain=first)},
            schedule=scop.schedule.intersect_domain(first),
        )

    with planted("extract", mutate):
        problem = finding("extract", named, CALLS[named])
    assert problem.message.startswith("pass extract is wrong: B[0] is ")


def typed(function, arguments):
    return infer(parse(function), tuple(arg_type(value, name) for name, value in arguments.items()))


@pytest.mark.parametrize("function", [named, same_shapes, twice, windows], ids=lambda f: f.__name__)
def test_what_the_frontend_makes_of_a_function_is_compared_with_the_function(function):
    arguments = {name: np.arange(5.0) + n + 2 for n, name in enumerate(CALLS[function])}
    kernel = typed(function, arguments)
    assert check_function(function, kernel, arguments) is None
    wrong = replace(kernel, body=tuple(map(_late, kernel.body)))
    assert check_function(function, wrong, arguments) is not None


def test_two_kernels_are_compared_bit_by_bit():
    kernel = typed(named, CALLS[named])
    arguments = {"A": np.arange(4.0), "B": np.zeros(4)}
    assert check(kernel, kernel, arguments) is None
    assert str(check(kernel, replace(kernel, body=tuple(map(_late, kernel.body))), arguments)) == "B[0] is 0.0, not 1.0"


def _late(stmt):
    """A loop that begins one iteration late."""
    if not isinstance(stmt, syntax.For):
        return stmt
    return replace(stmt, start=syntax.Binary("+", stmt.start, syntax.Const(1, dtype=stmt.start.dtype), dtype=stmt.start.dtype))
