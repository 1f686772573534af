"""Loops over one array that are as long in the call are one loop in its code, and calls with other sizes have other code."""

import warnings

import numpy as np
import pytest

import polyml
from tests.passing import before_and_after, ran


def swept(A, n):
    """Half in a slice of the second dimension, half in a loop to the first one's size."""
    for t in range(n):
        for i in range(1, A.shape[0] - 1):
            A[i, 1:-1] += A[i - 1, 1:-1] + A[i + 1, 1:-1]
            for j in range(1, A.shape[0] - 1):
                A[i, j] += A[i, j - 1] * 0.25
                A[i, j] /= 4.0


def handed_on(A, B, C):
    for i in range(A.shape[0] - 1):
        B[i] = A[i] * 2.0
    for i in range(B.shape[0]):
        C[i] = B[i] + 1.0


def rows_and_columns(A, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] *= 2.0
    for i in range(A.shape[0]):
        for k in range(B.shape[0]):
            for j in range(A.shape[1]):
                A[i, j] += B[k, j]


def apart(A, B):
    for i in range(A.shape[0]):
        A[i] *= 2.0
    for i in range(B.shape[0]):
        B[i] += 1.0


def read_alone(A, B, C):
    for i in range(A.shape[0]):
        B[i] = A[i] * 2.0
    for i in range(C.shape[0]):
        C[i] = A[i] + 1.0


def relations(function, *arguments, **settings):
    return [str(each) for each in ran("alike_sizes", function, *arguments, **settings).after.related]


def square(n, m=None):
    return np.random.default_rng(n).random((n, m or n))


def test_both_halves_of_a_row_run_to_the_same_size():
    gone, come = before_and_after("alike_sizes", swept, square(60), 3)
    assert any("A_1" in line for line in gone) and not any("A_1" in line for line in come)
    assert relations(swept, square(60), 3) == ["A.shape[1] == A.shape[0] + 0"]


def test_sizes_may_differ_by_a_constant():
    vectors = [np.random.default_rng(0).random(n) for n in (5001, 5000, 5000)]
    assert relations(handed_on, *vectors) == ["B.shape[0] == A.shape[0] + -1"]


@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (swept, ((60, 90), None)),  # not alike in the call
        (swept, ((20, 20), None)),  # code for all small arrays
        (rows_and_columns, ((60, 60), (60, 60))),  # loops over different dimensions are as long by chance
        (apart, ((5000,), (5000,))),
        (read_alone, ((5000,), (5000,), (5000,))),
    ],
    ids=["other sizes", "small", "dimensions", "apart", "read alone"],
)
def test_nothing_is_taken_for_granted_without_need(function, shapes):
    given = [3 if shape is None else np.random.default_rng(0).random(shape) for shape in shapes]
    assert relations(function, *given) == []


def compared(kernel, *arguments):
    """Calls the kernel and the plain function; both must leave behind the same, or raise the same."""
    mine, right = ([np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments] for _ in range(2))
    try:
        kernel.py_func(*right)
    except IndexError:
        with pytest.raises(IndexError):
            kernel(*mine)
        return
    kernel(*mine)
    for a, b in zip(mine, right):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_calls_with_other_sizes_have_other_code_in_any_order():
    shapes = [(60, 60), (60, 64), (64, 64), (50, 60), (63, 60), (60, 60), (50, 50), (49, 64)]
    for first in range(0, len(shapes), 3):
        kernel = polyml.kernel(swept, cache=False, fallback="error", threads=2)
        for rows, columns in shapes[first:] + shapes[:first]:
            compared(kernel, square(rows, columns), 3)  # of (63, 60) an element is out of bounds
            if rows <= columns:
                assert kernel.compiled
        assert len(kernel._specialisations) <= 4  # square or not; past 64 there are others


def test_code_for_calls_that_are_not_alike_gives_way_to_code_for_those_that_are():
    kernel = polyml.kernel(swept, cache=False, fallback="error")
    for rows, columns, alike in ((60, 60, True), (60, 61, False), (60, 61, False), (61, 61, True), (60, 61, False)):
        compared(kernel, square(rows, columns), 3)
        assert bool(kernel._last.artifact.relations) == alike
    assert len(kernel._specialisations) == 2


def test_another_process_whose_first_call_is_not_alike_finds_both_forms_on_disk(tmp_path):
    settings = {"cache_dir": str(tmp_path), "fallback": "error"}
    for _ in range(2):
        kernel = polyml.kernel(swept, **settings)
        for rows, columns in ((60, 60), (60, 62)):
            compared(kernel, square(rows, columns), 3)
    for shapes in (((60, 62), (60, 60), (60, 61)), ((60, 61), (60, 61), (61, 61))):
        kernel = polyml.kernel(swept, **settings)
        for rows, columns in shapes:
            compared(kernel, square(rows, columns), 3)
            assert kernel.from_cache
            assert bool(kernel._last.artifact.relations) == (rows == columns)


def test_explain_names_what_has_to_hold():
    kernel = polyml.kernel(swept, cache=False)
    kernel(square(60), 3)
    assert "for calls with A.shape[1] == A.shape[0]; other code runs others" in str(kernel.explain())
    kernel(square(60, 61), 3)
    assert "for calls with" not in str(kernel.explain())


def test_a_schedule_of_ones_own_is_for_all_sizes():
    kernel = polyml.kernel(swept, cache=False, fallback="error")
    again = kernel.with_schedule(kernel.schedule(square(60), 3))
    for rows, columns in ((60, 60), (60, 64)):
        compared(again, square(rows, columns), 3)


def test_arguments_that_overlap_are_alike_in_nothing():
    def shifted(A, B):
        for i in range(A.shape[0]):
            A[i] = A[i] + 1.0
        for i in range(B.shape[0]):
            A[i] = A[i] * 0.5 - B[i]

    memory = np.random.default_rng(0).random(5001)
    wanted = memory.copy()
    shifted(wanted[1:], wanted[:-1])
    kernel = polyml.kernel(shifted, cache=False, fallback="error")
    kernel(memory[1:], memory[:-1])
    np.testing.assert_allclose(memory, wanted)


LENGTHS = ("A.shape[0]", "A.shape[1]", "B.shape[0]", "B.shape[1]", "A.shape[0] - 1", "B.shape[1] - 2")


def random_nests(rng):
    """The text of a function of two to four nests over two matrices, within bounds that some sizes break."""
    lines = ["def made(A, B):"]
    for _ in range(rng.integers(2, 5)):
        name, other = rng.permutation(["A", "B"])
        rows, columns = rng.choice(LENGTHS, 2)
        source = rng.choice([f"{other}[i, j]", f"{name}[i, j - 1]", f"{other}[i - 1, j]", f"{name}[i, j] * {other}[i, j]"])
        lines += [
            f"    for i in range(1, {rows}):",
            f"        for j in range(1, {columns}):",
            f"            {name}[i, j] = {source} * 0.5 + {rng.integers(1, 9)}",
        ]
    return "\n".join(lines)


def related_calls(seed, folder):
    """How many of some calls of a random function ran code that takes sizes to be related; each is compared with Python's."""
    rng = np.random.default_rng(seed)
    text, path, scope = random_nests(rng), folder / f"made{seed}.py", {}
    path.write_text(text)
    exec(compile(text, str(path), "exec"), scope)  # noqa: S102
    kernel, related = polyml.kernel(scope["made"], cache=False), 0
    for a, b, c, d in ((36, 36, 36, 36), *rng.choice([36, 37, 38, 40], (4, 4)).tolist(), (36, 36, 36, 36)):
        compared(kernel, rng.random((a, b)), rng.random((c, d)))
        artifact = kernel._last.artifact
        related += artifact is not None and bool(artifact.relations)
    return related


def test_random_nests_compute_what_python_does_for_sizes_that_are_alike_or_not(tmp_path, monkeypatch):
    monkeypatch.setattr("polyml.runtime.storage.size_classes._LITTLE", {})
    monkeypatch.setattr("polyml.runtime.storage.size_classes._LITTLE_OF_MANY", 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", polyml.PolymlPerformanceWarning)
        found = [related_calls(seed, tmp_path) for seed in range(10)]
    assert sum(each > 0 for each in found) >= 8
