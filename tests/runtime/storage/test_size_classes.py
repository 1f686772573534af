"""Forms of a kernel for sizes: which calls share one, how many there are, and which the disk cache finds again."""

import threading

import numpy as np
import pytest

import polyml
from polyml import kernels
from polyml.pipeline import compile as pipeline
from polyml.runtime.storage.size_classes import EXACT, sizes_of


def product(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def scaled(A, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[i, j] = 2 * A[i, j]


def matrices(n, m, k, dtype=float):
    random = np.random.default_rng(n * m + k)
    return [random.integers(-4, 5, shape).astype(dtype) for shape in ((n, m), (n, k), (k, m))]


def call(kernel, *sizes, dtype=float):
    C, A, B = matrices(*sizes, dtype=dtype)
    wanted = C + A @ B
    kernel(C, A, B)
    np.testing.assert_array_equal(C, wanted)


@pytest.fixture
def compiled(monkeypatch):
    """The sizes of every compilation."""
    made, compile_ = [], pipeline.compile

    def counted(kernel, wanted, schedules=None, given=None):
        made.append(wanted.sizes)
        return compile_(kernel, wanted, schedules, given)

    monkeypatch.setattr(pipeline, "compile", counted)
    return made


@pytest.fixture
def uncached(monkeypatch):
    monkeypatch.setenv("POLYML_CACHE", "0")


# What calls have in common


def test_calls_of_about_the_same_size_have_the_same_limits():
    first, second = (sizes_of(dict(A=(n, 7))) for n in (100, 128))
    assert first.limits == second.limits == (("A", ((65, 128), (7, 7))),)
    assert (first.extents, second.extents) == ((("A", (100, 7)),), (("A", (128, 7)),))
    assert sizes_of(dict(A=(129, 7))).limits != first.limits != sizes_of(dict(A=(100, 8))).limits


@pytest.mark.parametrize("extent", [0, 1, 2, EXACT - 1, EXACT, EXACT + 1, 64, 65, 1000, 1024, 1025, 2**40])
def test_an_extent_is_within_its_limits_and_so_is_what_shares_them(extent):
    low, high = sizes_of(dict(A=(0, 5000), B=(0, extent))).limits[1][1][1]
    assert low <= extent <= high and (low == high == extent or extent > EXACT and high == 2 * (low - 1))


def test_small_arrays_are_told_apart_from_large_ones_only():
    small = [sizes_of(dict(A=(n, m), B=(m,))) for n, m in ((0, 1), (3, 48), (48, 2))]
    assert len(set(small)) == 1 and small[0].extents is None
    assert all(low == 0 and high >= 48 for _, limits in small[0].limits for low, high in limits)
    assert sizes_of(dict(A=(3, 48), B=(5000,))).extents is not None


# Which form a call gets


def test_a_form_serves_the_sizes_within_its_limits(compiled, uncached):
    kernel = polyml.kernel(product)
    for sizes in ((70, 90, 100), (128, 65, 128), (70, 90, 100), (100, 100, 100)):
        call(kernel, *sizes)
    assert len(compiled) == 1
    call(kernel, 70, 90, 129)
    call(kernel, 70, 90, 100)
    assert [dict(s.extents)["A"] for s in compiled] == [(70, 100), (70, 129)]


def test_small_calls_share_one_form(compiled, uncached):
    kernel = polyml.kernel(product)
    for sizes in ((1, 2, 3), (48, 48, 48), (0, 5, 5), (5, 5, 0), (5, 0, 5), (33, 17, 1)):
        call(kernel, *sizes)
    assert [s.extents for s in compiled] == [None]
    call(kernel, 49, 2, 3)
    call(kernel, 3, 2, 3)
    assert len(compiled) == 2


def test_sizes_do_not_matter_to_kernels_without_contractions(compiled, uncached):
    kernel = polyml.kernel(scaled)
    for n, m in ((3, 5), (100, 5), (5, 300), (129, 129)):
        A, B = np.ones((n, m)), np.zeros((n, m))
        kernel(A, B)
        assert (B == 2).all()
    assert len(compiled) == 1


def rows_times(A, C, s):
    for r in range(A.shape[0]):
        for q in range(A.shape[1]):
            for p in range(A.shape[2]):
                s[p] = 0.0
                for k in range(A.shape[2]):
                    s[p] += A[r, q, k] * C[k, p]
            for p in range(A.shape[2]):
                A[r, q, p] = s[p]


def test_small_calls_leave_large_ones_the_form_with_expanded_arrays(compiled, uncached):
    """Which of a small call has none, so that no size matters to its own."""
    kernel = polyml.kernel(rows_times)
    for extents in ((3, 4, 5), (50, 60, 70), (3, 4, 5)):
        random = np.random.default_rng(0)
        A, C, s = (random.integers(-4, 5, e).astype(float) for e in (extents, extents[2:] * 2, extents[2:]))
        wanted = A @ C
        kernel(A, C, s)
        np.testing.assert_array_equal(A, wanted)
        np.testing.assert_array_equal(s, wanted[-1, -1])
    assert [s.extents is None for s in compiled] == [True, False]


def test_past_so_many_forms_one_more_is_made_for_all_sizes(compiled, uncached, monkeypatch):
    monkeypatch.setattr("polyml.api.specialised.FORMS", 2)
    kernel = polyml.kernel(product)
    extents = (50, 100, 200, 60, 5, 300, 101, 0, 1, 400)
    for n in (*extents, *reversed(extents)):
        call(kernel, n, 7, 50)
    assert [s and s.limits[0][1][0] for s in compiled] == [(33, 64), (65, 128), None]
    call(kernel, 50, 7, 50, dtype=np.float32)  # other types have forms of their own
    assert len(compiled) == 4 and compiled[-1] is not None


def test_calls_of_several_forms_in_turn_need_no_look_at_the_arguments(uncached, monkeypatch):
    kernel, calls = polyml.kernel(product), [matrices(2, 3, n) for n in (60, 100, 200, 300, 600, 1200)]
    for arrays in calls:
        kernel(*arrays)
    monkeypatch.setattr(kernel, "_arguments", None)
    for arrays in 2 * calls:
        kernel(*arrays)


def test_threads_that_ask_at_once_make_no_more_forms(compiled, uncached, monkeypatch):
    monkeypatch.setattr("polyml.api.specialised.FORMS", 2)
    kernel, failed = polyml.kernel(product), []
    start = threading.Barrier(4)

    def work(number):
        start.wait()
        for n in (50 + number, 100 + number, 200 + number, 60 - number):
            try:
                call(kernel, n, 7, 50)
            except BaseException as problem:
                failed.append(problem)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failed
    limits = [s and s.limits for s in compiled]
    assert len(limits) == len(set(limits)) <= 3


def test_arguments_that_overlap_take_the_form_for_all_sizes(compiled, uncached):
    kernel = polyml.kernel(product)
    for n in (60, 130):
        X = np.eye(n)
        wanted = X.copy()
        kernel.py_func(wanted[:9, :9], wanted[:9], wanted[:, :9])
        kernel(X[:9, :9], X[:9], X[:, :9])
        np.testing.assert_array_equal(X, wanted)
    assert sum(s is None for s in compiled) == 1


def test_sizes_that_are_numbers_in_the_code_need_no_limits(uncached):
    @polyml.kernel
    def flat(C, A, n):
        for i in range(n):
            for j in range(C.shape[0] // n):
                for k in range(n):
                    C[i * n + j] += A[i * n + k] * A[k * n + j]

    for n in (3, 9, 3):
        C, A = np.zeros(n * n), np.arange(n * n) * 1.0
        flat(C, A, n)
        np.testing.assert_array_equal(C, (A.reshape(n, n) @ A.reshape(n, n)).ravel())


def test_stages_are_shown_for_the_sizes_given(uncached):
    kernel = polyml.kernel(product)
    one, other = (kernel.inspect_schedule(*matrices(n, n, n)) for n in (60, 3000))
    assert one != other
    assert kernel.inspect_schedule("f64[:, :]", "f64[:, :]", "f64[:, :]")


# The disk cache


@pytest.fixture
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv("POLYML_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("POLYML_CACHE", raising=False)


def test_code_for_all_sizes_is_found_for_all_sizes(compiled, folder):
    for n in (3, 100, 500):
        kernel, A = polyml.kernel(scaled), np.ones((n, n))
        kernel(A, np.zeros_like(A))
        assert kernel.from_cache == (n != 3)
    assert len(compiled) == 1


def test_code_for_some_sizes_is_found_for_these(compiled, folder):
    for n, cached in ((60, False), (60, True), (130, False), (130, True), (60, True)):
        kernel = polyml.kernel(product)
        call(kernel, n, n, n)
        assert kernel.from_cache == cached
    assert len(compiled) == 2


def test_the_form_past_all_others_is_found_too_and_not_taken_for_one_of_them(compiled, folder, monkeypatch):
    monkeypatch.setattr("polyml.api.specialised.FORMS", 0)
    for cached in (False, True):
        kernel = polyml.kernel(product)
        call(kernel, 60, 60, 60)
        assert kernel.from_cache == cached
    monkeypatch.setattr("polyml.api.specialised.FORMS", 8)
    call(polyml.kernel(product), 60, 60, 60)
    assert [s is None for s in compiled] == [True, False]


def test_sizes_that_are_alike_in_the_first_call_and_not_in_a_later_one_are_found_at_entry():
    """Code for tiles over time is made for arrays of equal sizes, where those of the call are."""
    k = polyml.kernel(cache=False, threads=2, fp="strict")(kernels.load("fdtd_2d").kernel)

    def arguments(rows):
        rng = np.random.default_rng(0)
        return [9, rng.random((rows, 240)), rng.random((200, 240)), rng.random((200, 240)), rng.random(9)]

    for rows, forms in ((200, 1), (199, 2), (200, 2)):
        got, expected = arguments(rows), arguments(rows)
        k(*got)
        k.py_func(*expected)
        assert k.compiled and len(k._specialisations) == forms
        for a, b in zip(got[1:], expected[1:]):
            np.testing.assert_array_equal(a, b)
        assert bool(k._last.artifact.relations) == (rows == 200)  # each call has its own form, whichever was last
    with pytest.raises(IndexError):
        k(*arguments(202))
