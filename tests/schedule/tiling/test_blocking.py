"""Block sizes of contractions: every loop is run, working sets fit their caches, threads have work."""

from dataclasses import replace
from math import ceil, prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyml.machines import catalogue
from polyml.machines.cpu import CacheLevel
from polyml.schedule.analysis.loop_roles import LoopRole
from polyml.schedule.tiling.blocking import FEW_ROWS, STRETCH, BlockingSetting, ContractionAxis, blocks

R, D, P = LoopRole.ROWS, LoopRole.DEPTH, LoopRole.PANEL
AVX2 = catalogue.processor("avx2")


@st.composite
def machines(draw):
    first = draw(st.sampled_from([512, 4096, 32 * 1024]))
    second = first * draw(st.sampled_from([2, 8, 32]))
    sizes = (first, second, second * draw(st.sampled_from([4, 16])))
    caches = tuple(CacheLevel(level, size, 8, 64, 1) for level, size in enumerate(sizes, 1))
    host = catalogue.processor(draw(st.sampled_from(["avx2", "avx512"])))
    return replace(host, caches=caches, cores=draw(st.integers(1, 16)))


EXTENTS = st.one_of(st.none(), st.integers(1, 9), st.integers(1, 5000))


@st.composite
def contractions(draw):
    """Axes of which one is the panel, and some rows and depth are longer than one iteration."""
    kinds = [P, R, D, *draw(st.lists(st.sampled_from([k for k in LoopRole if k is not P]), max_size=4))]
    axes = []
    for number, role in enumerate(kinds):
        extent = draw(EXTENTS if number > 2 else EXTENTS.filter(lambda n: n != 1))
        stride = 0 if role is P else -1 if role is D else number
        facts = {"unit": draw(st.booleans()), "leans": draw(st.booleans())}
        if role is D:
            facts |= {"parallel": False, "ordered": draw(st.booleans())}
        axes.append(ContractionAxis("abcdefg"[number], role, extent, stride, **facts))
    return draw(st.permutations(axes))


def named(axes, name):
    return next(a for a in axes if a.name == name)


def loops_of(made):
    return [*made.outer, *([made.shared] if made.shared else []), *made.inner]


@settings(max_examples=150, derandomize=True, deadline=None)
@given(contractions(), st.sampled_from([4, 8]), machines(), st.booleans())
def test_every_axis_ends_in_single_iterations_and_steps_only_shrink(axes, element_bytes, host, parallel):
    made = blocks(axes, BlockingSetting(element_bytes, host, parallel=parallel))
    assert {name for name, _ in loops_of(made)} | {*made.points} == {a.name for a in axes}
    assert len(set(made.points)) == len(made.points)
    for axis in axes:
        steps = [step for name, step in loops_of(made) if name == axis.name]
        assert axis.name in made.points or steps[-1] == 1
        assert all(step >= 1 for step in steps) and steps == sorted(steps, reverse=True)


@settings(max_examples=150, derandomize=True, deadline=None)
@given(contractions(), machines(), st.booleans())
def test_sums_that_are_ordered_keep_their_order(axes, host, parallel):
    axes = [replace(a, ordered=a.role is D) for a in axes]
    made = blocks(axes, BlockingSetting(8, host, parallel=parallel))
    depth = [a.name for a in axes if a.role is D]
    assert [name for name in made.points if name in depth] == depth
    tiles = [(name, step) for name, step in loops_of(made) if name in depth]
    assert [name for name, _ in tiles] == [name for name in depth if name in dict(tiles)]
    for name, _ in tiles[1:]:  # around an axis in several blocks, all go one by one
        before = depth[: depth.index(name)]
        assert all(dict(tiles).get(each) == 1 or named(axes, each).extent == 1 for each in before)


@settings(max_examples=150, derandomize=True, deadline=None)
@given(contractions(), machines())
def test_only_loops_that_may_run_in_parallel_are_shared_and_none_where_that_is_not_wanted(axes, host):
    assert blocks(axes, BlockingSetting(8, host, parallel=False)).shared is None
    made = blocks(axes, BlockingSetting(8, host, parallel=True))
    if host.cores == 1:
        assert made.shared is None
    elif made.shared is not None:
        assert named(axes, made.shared[0]).parallel


@settings(max_examples=150, derandomize=True, deadline=None)
@given(st.integers(64, 5000), st.integers(64, 5000), st.integers(64, 5000), st.sampled_from([4, 8]), st.integers(2, 16))
def test_the_shared_loop_of_a_large_product_has_work_for_every_thread(n, m, k, element_bytes, cores):
    axes = (ContractionAxis("i", R, n, 1), ContractionAxis("j", P, m, 0), ContractionAxis("k", D, k, parallel=False))
    name, step = blocks(axes, BlockingSetting(element_bytes, replace(AVX2, cores=cores), parallel=True)).shared
    extent = named(axes, name).extent
    assert ceil(extent / step) >= min(cores, extent // 32) / 2  # of 32: no less than two register tiles


@pytest.mark.parametrize("n", [1000, 1024, 1500, 2048, 2500, 3000, 3072, 4096])
def test_threads_get_about_as_much_of_a_large_product_as_each_other(n):
    axes = (ContractionAxis("i", R, n, 1), ContractionAxis("j", P, n, 0), ContractionAxis("k", D, n, parallel=False))
    _, step = blocks(axes, BlockingSetting(4, replace(catalogue.processor("avx512"), cores=2), parallel=True)).shared
    most = ceil(ceil(n / step) / 2) * step
    assert most <= 1.07 * n / 2


@pytest.mark.parametrize("element_bytes", [4, 8])
@pytest.mark.parametrize("name", ["sse2", "avx2", "avx512"])
@settings(max_examples=40, derandomize=True, deadline=None)
@given(st.integers(2, 5000), st.integers(2, 5000), st.integers(2, 5000))
def test_rows_of_a_tile_fit_the_first_cache_and_a_block_of_columns_the_second(name, element_bytes, n, m, k):
    host = catalogue.processor(name)
    axes = (ContractionAxis("i", R, n, 1), ContractionAxis("j", P, m, 0), ContractionAxis("k", D, k, parallel=False))
    made = blocks(axes, BlockingSetting(element_bytes, host, parallel=False))
    (_, height), (_, width) = made.inner[-2:]
    block = {"i": n, "j": m, "k": k} | dict(reversed([*made.outer, *made.inner[:-2]]))
    slack = STRETCH * 1.1
    home = host.cache(2 if m <= 128 else 1)  # few columns: a longer depth
    assert height * block["k"] * element_bytes <= slack * home.size_bytes
    assert block["j"] * block["k"] * element_bytes <= slack * max(host.cache(2).size_bytes, FEW_ROWS * width * element_bytes)
    assert block["k"] * block["i"] * element_bytes <= slack * host.cache(3).size_bytes


@pytest.mark.parametrize("operand_bytes", [1, 2])
def test_blocks_are_deeper_where_operands_are_smaller_than_sums(operand_bytes):
    axes = (ContractionAxis("i", R, 4000, 1), ContractionAxis("j", P, 4000, 0), ContractionAxis("k", D, 4000, parallel=False))
    setting = BlockingSetting(4, catalogue.processor("zen4"), parallel=False)
    wide, narrow = (dict(blocks(axes, each).outer)["k"] for each in (setting, replace(setting, operand_bytes=operand_bytes)))
    height = dict(blocks(axes, replace(setting, operand_bytes=operand_bytes)).inner)["i"]
    assert wide < narrow and narrow * height * operand_bytes <= setting.machine.cache(1).size_bytes
    assert height == (12 if operand_bytes == 1 else 8)


def test_a_small_product_is_one_block():
    axes = (ContractionAxis("i", R, 40, 1), ContractionAxis("j", P, 40, 0), ContractionAxis("k", D, 40, parallel=False))
    made = blocks(axes, BlockingSetting(8, AVX2, parallel=False))
    assert (made.outer, made.shared, made.inner, made.points) == ((), None, (("i", 5), ("j", 8)), ("i", "j", "k"))


def test_the_blocks_of_a_large_product_are_those_of_the_literature():
    axes = (ContractionAxis("i", R, 4000, 1), ContractionAxis("j", P, 4000, 0), ContractionAxis("k", D, 4000, parallel=False))
    made = blocks(axes, BlockingSetting(8, replace(AVX2, cores=2), parallel=True))
    assert [name for name, _ in made.outer] == ["i", "k"] and made.shared[0] == "j"
    assert prod(step for _, step in made.outer) > 10_000 and made.inner == (("i", 6), ("j", 8))
