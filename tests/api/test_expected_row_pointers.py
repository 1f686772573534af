"""Row pointers are expected not to fall where rows go to threads then; calls in which they do are run by other code."""

import numpy as np
import pytest

import polyml
from polyml.pipeline.regions import shared_loops

ROWS = 3000


def scaled(ptr, data, factors):
    for i in range(ptr.shape[0] - 1):
        for p in range(ptr[i], ptr[i + 1]):
            data[p] = data[p] * factors[i] + i


def twice(ptr, other, data, factors):
    for i in range(ptr.shape[0] - 1):
        for p in range(ptr[i], ptr[i + 1]):
            data[p] *= factors[i]
    for i in range(other.shape[0] - 1):
        for p in range(other[i], other[i + 1]):
            data[p] += factors[i]


def written_too(ptr, data, factors):
    ptr[0] = 0
    for i in range(ptr.shape[0] - 1):
        for p in range(ptr[i], ptr[i + 1]):
            data[p] *= factors[i]


def pointers(kind, dtype=np.int64):
    counts = np.random.default_rng(1).integers(0, 9, ROWS)
    ptr = np.concatenate([[0], np.cumsum(counts)]).astype(dtype)
    if kind == "falls":
        ptr[1700], ptr[1701] = ptr[1710], ptr[1690]
    if kind == "negative":
        ptr[0] = -3
    return ptr


def arguments(kind, dtype=np.int64):
    ptr = pointers(kind, dtype)
    rng = np.random.default_rng(2)
    return ptr, rng.random(int(pointers("rows")[-1])), rng.random(ROWS)


def outcome(call, given):
    own = [np.copy(each) for each in given]
    try:
        call(*own)
    except IndexError:
        own.append(IndexError)
    return own


def same(one, other):
    return len(one) == len(other) and all(map(np.array_equal, one, other))


@pytest.mark.parametrize("dtype", [np.int64, np.int32])
@pytest.mark.parametrize("fp", ["strict", "reassociate"])
def test_rows_go_to_threads_and_give_what_python_gives(fp, dtype):
    kernel = polyml.kernel(scaled, cache=False, fallback="error", threads=2, fp=fp)
    for kind in ("rows", "falls", "negative", "rows", "falls"):
        given = arguments(kind, dtype)
        assert same(outcome(kernel, given), outcome(scaled, given))
    assert len(kernel.signatures) == 2


def test_it_is_told_what_is_tested():
    kernel = polyml.kernel(scaled, cache=False, fallback="error", threads=2)
    kernel(*arguments("rows"))
    assert "tested at entry: no number is less than the one before it in ptr" in kernel.explain()
    assert "its iterations go to threads" in kernel.explain()
    kernel(*arguments("falls"))
    assert "tested at entry" not in kernel.explain()
    assert "runs in order" in kernel.explain()


def test_one_array_that_falls_is_enough(monkeypatch):
    for order in (("rows", "falls"), ("falls", "rows")):
        kernel = polyml.kernel(twice, cache=False, fallback="error", threads=2)
        for kinds in (("rows", "rows"), order):
            _, data, factors = arguments("rows")
            given = pointers(kinds[0]), pointers(kinds[1]), data, factors
            assert same(outcome(kernel, given), outcome(twice, given))


def test_nothing_is_expected_of_few_rows_on_one_thread_or_of_what_is_written():
    few = polyml.kernel(scaled, cache=False, fallback="error", threads=2)
    few(np.array([0, 2, 3]), np.ones(3), np.ones(2))
    assert "tested at entry" not in few.explain()
    few(*arguments("rows"))  # which have code of their own
    assert "tested at entry" in few.explain()
    for function, threads in ((scaled, 1), (written_too, 2)):
        kernel = polyml.kernel(function, cache=False, fallback="error", threads=threads)
        kernel(*arguments("rows"))
        assert "tested at entry" not in kernel.explain()


def test_an_index_out_of_range_is_told_as_before():
    kernel = polyml.kernel(scaled, cache=False, fallback="error", threads=2)
    ptr, data, factors = arguments("rows")
    with pytest.raises(IndexError, match="data\\[p\\]"):
        kernel(ptr, data[:-5].copy(), factors)


def test_it_is_kept_on_disk(tmp_path):
    with polyml.config.scope(cache_dir=str(tmp_path)):
        for _ in range(2):
            kernel = polyml.kernel(scaled, fallback="error", threads=2)
            for kind in ("rows", "falls", "rows"):
                given = arguments(kind)
                assert same(outcome(kernel, given), outcome(scaled, given))
        assert kernel.from_cache


def test_short_loops_count_too_where_they_are_made_to(monkeypatch):
    monkeypatch.setattr(shared_loops, "LEAST_WORK", 0)
    kernel = polyml.kernel(scaled, cache=False, fallback="error", threads=2)
    for ptr in ([0, 2, 2, 3], [0, 2, 1, 3], [0], [2, 3, 3, 3], [-2, 0, 0, 3]):
        given = np.array(ptr), np.ones(3), np.arange(float(max(len(ptr) - 1, 1)))
        assert same(outcome(kernel, given), outcome(scaled, given))
