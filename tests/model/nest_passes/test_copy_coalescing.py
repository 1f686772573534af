"""Local arrays that are copied to another one become that other one, wherever nobody can tell."""

import numpy as np
import pytest

import polyml
from polyml.frontend.argument_types import arg_type
from polyml.frontend.parsing.parse import parse
from polyml.frontend.types.infer import infer
from polyml.model.core.scop import Role
from polyml.pipeline.stages import extract
from tests.frontend.define import define

PRODUCT = ("T = A @ B",)  # of C's size
RUNNING = ("T = np.zeros_like(C)", "for i in range(1, C.shape[0]):", "    T[i] += T[i - 1] + A[i]")
STATE = ("T = np.zeros_like(C)", "for t in range(3):", "    for i in range(1, 6):", "        T[i] += T[i - 1] + A[i]")


def kernel(*lines, of="C, A, B"):
    return define("\n    ".join([f"def kernel({of}):", *lines]) + "\n", "kernel")


def arguments(*shapes):
    random = np.random.default_rng(0)
    return [random.integers(-4, 5, shape).astype(float) for shape in shapes or ((6, 6),) * 3]


def locals_of(function, given, **options):
    types = tuple(map(arg_type, given))
    scop = extract(infer(parse(function), types, **options), **options)
    return [name for name, a in scop.arrays.items() if a.role is Role.LOCAL and a.shape]


def check(function, given) -> list[str]:
    """The local arrays that are left, once compiled code is seen to do what Python does."""
    wanted, got = ([a.copy() if isinstance(a, np.ndarray) else a for a in given] for _ in range(2))
    returned, result = function(*wanted), polyml.kernel(cache=False, threads=1)(function)(*got)
    for a, b in zip([*wanted, returned], [*got, result]):
        np.testing.assert_array_equal(a, b)
    return locals_of(function, given)


@pytest.mark.parametrize("made", [PRODUCT, RUNNING], ids=["product", "running"])
@pytest.mark.parametrize("copy", ["C[...] = T", "C[:, :] = T", "C[:T.shape[0], :T.shape[1]] = T"])
def test_a_copied_array_is_what_it_is_copied_to(made, copy):
    assert check(kernel(*made, copy), arguments()) == []


def test_before_and_after_the_other_one_may_be_used():
    lines = ("A[...] = C + 1", *RUNNING, "C[...] = T", "C[0] += A[0]")
    assert check(kernel(*lines), arguments()) == []


def test_so_it_is_in_loops_and_under_conditions():
    for head in ("for t in range(3):", "if A.shape[0] > 3:"):
        assert check(kernel(head, *(f"    {line}" for line in (*RUNNING, "C[...] = T"))), arguments()) == []


def test_to_a_part_of_a_larger_array():
    function = kernel(*PRODUCT, "C[:T.shape[0], :T.shape[1]] = T")
    assert check(function, arguments((9, 8), (6, 5), (5, 7))) == []


STAYS = {
    "is read later": (*PRODUCT, "C[...] = T", "A[...] = T + 1"),
    "is written later": (*PRODUCT, "C[...] = T", "T[0, 0] = 5", "A[...] = T"),
    "is returned": (*PRODUCT, "C[...] = T", "return T"),
    "what it becomes is read meanwhile": (*RUNNING[:2], "    T[i] += T[i - 1] + C[i]", "C[...] = T"),
    "what it becomes is written meanwhile": (*RUNNING, "C[0] = 7", "A[...] = C", "C[...] = T"),
    "only rows are copied": (*RUNNING, "C[1:] = T[1:]"),
    "it is shifted": (*RUNNING, "C[1:] = T[:-1]"),
    "it is transposed": (*RUNNING, "C[...] = T.T"),
    "it is added": (*RUNNING, "C[...] += T"),
    "the copy depends on data": (*RUNNING, "for i in range(6):", "    for j in range(6):", "        if A[i, j] > 0:", "            C[i, j] = T[i, j]"),
    "it goes on in the next iteration": (*STATE, "    C[...] = T"),
    "another iteration writes what it becomes": ("for t in range(3):", *(f"    {line}" for line in RUNNING), "    C[...] = T", "    A[...] = C", "    C[0] = 2"),
    "it has another type": (*(line.replace("zeros_like(C)", "zeros(C.shape, dtype=np.float32)") for line in RUNNING), "C[...] = T"),
}  # fmt: skip


@pytest.mark.parametrize("lines", STAYS.values(), ids=STAYS)
def test_an_array_stays_where_that_would_be_seen(lines):
    function = kernel(*lines)
    assert check(function, arguments()) != [] or "return T" in lines


def test_arguments_that_share_memory_keep_their_arrays():
    function = kernel(*RUNNING, "C[...] = T")
    C, A, B = arguments()
    assert locals_of(function, (C, A, B), aliased=True) != []
    got = np.zeros((7, 6))
    wanted = got.copy()
    got[:] = wanted[:] = np.arange(42).reshape(7, 6)
    function(wanted[1:], wanted[:-1], B)
    polyml.kernel(cache=False)(function)(got[1:], got[:-1], B)
    np.testing.assert_array_equal(got, wanted)


def test_an_index_outside_the_array_is_found_though_the_other_one_is_larger():
    function = kernel("T = np.zeros(A.shape[0])", "for i in range(A.shape[0]):", "    T[i + 1] = A[i]",
                      "for i in range(T.shape[0]):", "    C[i] = T[i]", of="C, A")  # fmt: skip
    C, A = arguments(9, 5)
    before = C.copy()
    with pytest.raises(IndexError):
        polyml.kernel(cache=False)(function)(C, A)
    np.testing.assert_array_equal(C, before)


def test_indices_from_the_end_are_from_its_own():
    function = kernel("T = np.zeros((6, 6))", "T[-1, -2:] = A[0, :2]", "T[0] = B[0]", "C[:6, :6] = T")
    assert check(function, arguments((8, 9), (6, 6), (6, 6))) == []
