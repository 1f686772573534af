"""A step of a schedule that breaks a dependence is found right behind it, though the whole is proved at the end anyway."""

from dataclasses import is_dataclass, replace

import islpy as isl
import numpy as np
import pytest

from polyml import polyhedra
from tests.checks.passing import compiled, finding, planted, small


def handed_on(A, B, C):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[i, j] = C[i, j] * C[i, j]


def blurred(A, B):
    T = np.empty((A.shape[0], A.shape[1]))
    for i in range(1, A.shape[0] - 1):
        for j in range(A.shape[1]):
            T[i, j] = A[i - 1, j] + A[i + 1, j]
    for i in range(2, A.shape[0] - 2):
        for j in range(A.shape[1]):
            B[i, j] = T[i - 1, j] + T[i + 1, j]


def swept(A, B):
    for _t in range(20):
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                B[i, j] = A[i - 1, j] + A[i + 1, j] + A[i, j - 1] + A[i, j + 1]
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                A[i, j] = B[i, j]


def factorized(A):
    for k in range(A.shape[0]):
        for i in range(k + 1, A.shape[0]):
            A[i, k] /= A[k, k]
            for j in range(k + 1, A.shape[0]):
                A[i, j] -= A[i, k] * A[k, j]


SQUARE = np.zeros((40, 40))
CALLS = {
    handed_on: {"A": SQUARE, "B": SQUARE, "C": SQUARE},
    blurred: {"A": SQUARE, "B": SQUARE},
    swept: {"A": SQUARE, "B": SQUARE},
    factorized: {"A": SQUARE},
}


def last_first(made, before):
    """What the step makes, in which statements run one after the other, the last one first."""
    names = sorted(polyhedra.set_names(before.get_domain()), reverse=True)
    spaces = {polyhedra.domain_name(m): m for m in polyhedra.pieces(before.get_map())}
    texts = (
        f"{name}[{', '.join(f'i{k}' for k in range(polyhedra.dimensions(spaces[name].domain())))}] -> [({place})]"
        for place, name in enumerate(names)
    )
    band = isl.MultiUnionPwAff(f"[{{ {'; '.join(texts)} }}]")
    wrong = isl.Schedule.from_domain(before.get_domain()).insert_partial_schedule(band)
    if isinstance(made, tuple):
        return (wrong, *made[1:])
    return replace(made, tree=wrong) if is_dataclass(made) else wrong


PLANTED = [
    ("traffic_fusion", handed_on),
    ("fusion", handed_on),
    ("shift", handed_on),
    ("time_tiling", swept),
    ("blocked_factorization", factorized),
    ("contraction", handed_on),
    ("cpu_mapping", blurred),
    ("row_chunks", blurred),
]


@pytest.mark.parametrize(("name", "function"), PLANTED, ids=lambda v: getattr(v, "__name__", v))
def test_a_planted_bug_is_found(name, function):
    with small():
        assert name in [each for each, _, _ in compiled(function, CALLS[function])], "the pass does not run here"
        assert finding(name, function, CALLS[function]) is None
        with planted(name, last_first):
            problem = finding(name, function, CALLS[function])
    assert problem is not None
    assert problem.message.startswith(f"pass {name} is wrong: S")
    assert " must run after " in problem.message
