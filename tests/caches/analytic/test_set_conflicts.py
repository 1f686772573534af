"""Lines and sets along loops against addresses one by one."""

import random

import islpy as isl
import pytest

from polyml.caches.analytic.scheduled_accesses import ScheduledAccesses
from polyml.caches.analytic.set_conflicts import lines_and_sets, set_count, strided_walks
from polyml.caches.simulator.trace import references
from polyml.codegen.ir.array_layout import placed
from polyml.machines.cpu import CacheLevel
from tests.caches.simulator.test_simulate import gemm_ijk, program_of, trmm

LEVELS = (CacheLevel(1, 2048, 2, 64, 1), CacheLevel(2, 3 * 16 * 4 * 64, 4, 64, 1))


def test_lines_and_sets_of_random_walks():
    chosen = random.Random(5)
    for _ in range(4000):
        start, stride, count = chosen.randrange(5000), chosen.randrange(1, 3000), chosen.randrange(1, 200)
        stride *= chosen.choice([1, 1, 8, 64, -8])
        start += max(0, -stride * count)
        line, sets = chosen.choice([8, 32, 64]), chosen.choice([1, 2, 12, 16, 48, 64])
        lines = {(start + stride * k) // line for k in range(count)}
        assert lines_and_sets(start, stride, count, line, sets) == (len(lines), len({each % sets for each in lines}))


def expected(addresses):
    lines = {address // 64 for address in addresses}
    return len(lines), tuple(len({each % set_count(level) for each in lines}) for level in LEVELS)


@pytest.mark.parametrize("shape", [(24, 20, 28), (16, 32, 32), (64, 64, 64)])
def test_product(shape):
    n, k, m = shape
    program, sizes = program_of(gemm_ijk, {"A": (n, k), "B": (k, m), "C": (n, m)})
    places = placed(program, sizes)
    found = {
        (w.reference.position, w.loop): (w.lines, w.sets)
        for w in strided_walks(ScheduledAccesses(program.scop, program.scop.schedule, references(program), sizes, places), LEVELS)
    }
    a, b, c = (places[name].address for name in "ABC")
    wanted = {
        (1, "i"): expected(a + 8 * k * i for i in range(n)),
        (1, "k"): expected(a + 8 * x for x in range(k)),
        (2, "j"): expected(b + 8 * j for j in range(m)),
        (2, "k"): expected(b + 8 * m * x for x in range(k)),
        **{(p, "i"): expected(c + 8 * m * i for i in range(n)) for p in (0, 3)},
        **{(p, "j"): expected(c + 8 * j for j in range(m)) for p in (0, 3)},
    }
    assert found == wanted


def test_triangle_counts_the_most_iterations():
    program, sizes = program_of(trmm, {"A": (28, 28), "B": (28, 20)})
    found = strided_walks(
        ScheduledAccesses(program.scop, program.scop.schedule, references(program), sizes, placed(program, sizes)), LEVELS
    )
    (along,) = (w for w in found if w.reference.array == "A" and w.loop == "k")
    assert (along.iterations, along.stride_bytes) == (27, 28 * 8)


def test_tiles():
    program, sizes = program_of(gemm_ijk, dict.fromkeys("ABC", (64, 64)))
    band = program.scop.schedule.get_root().child(0)
    members = isl.MultiUnionPwAff("[A_1, C_0, C_1] -> [{ S0[i, j, k] -> [(16*floor(i/16))] }, { S0[i, j, k] -> [(floor(k/8))] }]")
    schedule = band.insert_partial_schedule(members).get_schedule()
    found = strided_walks(ScheduledAccesses(program.scop, schedule, references(program), sizes, placed(program, sizes)), LEVELS)
    strides = {(w.reference.array, w.loop): (w.iterations, w.stride_bytes) for w in found}
    assert strides["A", "i"] == (4, 16 * 64 * 8)
    assert strides["A", "i_2"] == (16, 64 * 8)
    assert strides["A", "k"] == (8, 8 * 8)
    assert strides["A", "k_2"] == (8, 8)
    assert strides["B", "k"] == (8, 8 * 64 * 8)


def test_rows_as_long_as_the_sets_are_crowded_until_they_are_padded():
    program, sizes = program_of(gemm_ijk, {"A": (20, 128), "B": (128, 128), "C": (20, 128)})
    found = strided_walks(
        ScheduledAccesses(program.scop, program.scop.schedule, references(program), sizes, placed(program, sizes)), LEVELS
    )
    (down,) = (w for w in found if w.reference.array == "B" and w.loop == "k")
    assert (down.stride_bytes, down.lines, down.sets) == (1024, 128, (1, 3))
    assert not down.crowded(0)  # more lines than the cache has
    assert down.crowded(1)
    assert down.padding_bytes(1) == 64


def test_a_level_of_one_set_has_no_crowded_one():
    """A fully associative level, which ways=0 says, holds any lines that fit."""
    program, sizes = program_of(gemm_ijk, {"A": (16, 32), "B": (32, 32), "C": (16, 32)})
    level = CacheLevel(1, 32768, 0, 64, 1)
    accesses = ScheduledAccesses(program.scop, program.scop.schedule, references(program), sizes, placed(program, sizes))
    walks = strided_walks(accesses, (level,))
    assert walks and not any(walk.crowded(0) for walk in walks)
