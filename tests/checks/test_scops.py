"""A bug planted in each pass on SCoPs is found by its checker; the pass itself is clean."""

from dataclasses import replace

import numpy as np
import pytest

from polyml.frontend.syntax import Const
from polyml.model.core.nest import map_leaves
from polyml.model.core.scop import Index
from tests.checks.passing import changed, compiled, finding, planted


def lu_slices(A):
    for k in range(A.shape[0]):
        A[k + 1 :, k] /= A[k, k]


def row_sums(A, B):
    for i in range(A.shape[0]):
        s = 0.0
        for j in range(A.shape[1]):
            s += A[i, j]
        B[i] += 2 * s


def contracted(A, C, s):
    for r in range(A.shape[0]):
        for q in range(A.shape[1]):
            for p in range(A.shape[2]):
                s[p] = 0.0
                for k in range(A.shape[2]):
                    s[p] += A[r, q, k] * C[k, p]
            for p in range(A.shape[2]):
                A[r, q, p] = s[p]


def differences(A, B, s):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            s[i] += A[i, j] * B[j, i] - A[j, i] * B[i, j]


def scaled(A, B, s):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            s[i] += 0.5 * (A[i, j] * B[j, i])


def shortest(paths):
    for k in range(paths.shape[0]):
        for i in range(paths.shape[0]):
            for j in range(paths.shape[0]):
                paths[i, j] = min(paths[i, j], paths[i, k] + paths[k, j])


def masked(A, B):
    places = np.arange(A.shape[0])
    return np.sum(np.where(places[None, :] <= places[:, None], A @ B.T, 0.5), axis=1)


def attention(Q, K, V):
    S = Q @ K.T
    W = np.exp(S - S.max(axis=1, keepdims=True))
    return (W @ V) / W.sum(axis=1, keepdims=True)


CALLS = {
    masked: {"A": np.zeros((90, 5)), "B": np.zeros((90, 5))},
    lu_slices: {"A": np.zeros((40, 40))},
    row_sums: {"A": np.zeros((40, 40)), "B": np.zeros(40)},
    contracted: {"A": np.zeros((9, 9, 9)), "C": np.zeros((9, 9)), "s": np.zeros(9)},
    differences: {"A": np.zeros((40, 40)), "B": np.zeros((40, 40)), "s": np.zeros(40)},
    scaled: {"A": np.zeros((40, 40)), "B": np.zeros((40, 40)), "s": np.zeros(40)},
    attention: {"Q": np.zeros((70, 1)), "K": np.zeros((9000, 1)), "V": np.zeros((9000, 1))},
    shortest: {"paths": np.zeros((40, 40))},
}


def scop_of(made):
    return made[0] if isinstance(made, tuple) else getattr(made, "scop", made)


def with_scop(made, scop):
    if isinstance(made, tuple):
        return (scop, *made[1:])
    return replace(made, scop=scop) if hasattr(made, "scop") else scop


def on_statements(change):
    """A bug in what some statement of the SCoP is."""

    def mutate(made, before):
        scop = scop_of(made)
        statements = {name: change(s) for name, s in scop.statements.items()}
        return with_scop(made, replace(scop, statements=statements))

    return mutate


def moved(access):
    """The access at the neighbouring element of the last dimension."""
    if not access.subscripts:
        return access
    *others, last = access.subscripts
    return replace(access, subscripts=(*others, last.add(last.sub(last).add_constant_val(1))))


@on_statements
def reads_a_neighbour(statement):
    return replace(statement, reads=tuple(map(moved, statement.reads)))


@on_statements
def first_is_lost(statement):
    return replace(statement, domain=statement.domain.subtract(statement.domain.lexmin()))


@on_statements
def all_signs_plus(statement):
    def plus(value):
        parts = {"left": plus(value.left)} if hasattr(value, "left") else {}
        return replace(value, op="+", **parts) if getattr(value, "op", "") == "-" else replace(value, **parts) if parts else value

    return replace(statement, value=map_leaves(plus(statement.value), lambda v: v if not isinstance(v, Index) else v))


@on_statements
def numbers_are_one(statement):
    """All factors that are numbers are 1."""
    return replace(statement, value=map_leaves(statement.value, lambda v: replace(v, value=1.0) if isinstance(v, Const) else v))


@on_statements
def sums_are_not_corrected(statement):
    is_correction = getattr(statement.value, "op", "") == "*" and statement.reads[0].array == statement.write.array
    return replace(statement, value=statement.value.left) if is_correction else statement


PLANTED = [
    ("align_slices", lu_slices, reads_a_neighbour),
    ("scalar_expansion", row_sums, reads_a_neighbour),
    ("masked_updates", masked, first_is_lost),
    ("array_expansion", contracted, first_is_lost),
    ("running_maximum", attention, sums_are_not_corrected),
    ("term_by_term", differences, all_signs_plus),
    ("term_by_term", scaled, numbers_are_one),
    ("index_set_splitting", shortest, first_is_lost),
    ("node_splitting", shortest, reads_a_neighbour),
]


@pytest.mark.parametrize(("name", "function", "mutate"), PLANTED, ids=lambda v: getattr(v, "__name__", v))
def test_a_planted_bug_is_found(name, function, mutate):
    assert name in changed(compiled(function, CALLS[function])), "the pass has nothing to do here"
    assert finding(name, function, CALLS[function]) is None
    with planted(name, mutate):
        problem = finding(name, function, CALLS[function])
    assert problem is not None
    assert problem.message.startswith(f"pass {name} is wrong: ")
