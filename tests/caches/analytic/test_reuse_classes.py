"""Reuse of random nests against stacks of lines in plain Python; what reports say of it."""

from fractions import Fraction

import pytest

from polyml.caches.analytic.reuse_classes import reuse
from polyml.caches.analytic.scheduled_accesses import ScheduledAccesses
from polyml.caches.simulator.simulate import simulate
from polyml.caches.simulator.trace import references
from polyml.codegen.ir.array_layout import placed
from polyml.machines.cpu import CacheLevel
from tests.caches.nests import events, kernel_of, nest, reuses
from tests.caches.simulator.test_simulate import CASES, gemm_ijk, program_of

LEVELS = (CacheLevel(1, 6 * 32, 6, 32, 1), CacheLevel(2, 17 * 32, 17, 32, 1))


def test_product():
    """Per reference: (kind, whose line, carrying loop, uses, distance, least, greatest, uses that hit L1, L2, nothing)."""
    program, sizes = program_of(gemm_ijk, dict.fromkeys("ABC", (256, 256)))
    levels = (CacheLevel(1, 32 * 1024, 8, 64, 1), CacheLevel(2, 1024 * 1024, 16, 64, 1))
    found = reuse(
        ScheduledAccesses(program.scop, program.scop.schedule, references(program), sizes, placed(program, sizes)), levels, 60.0
    )
    assert found.capacities == (512, 16384)
    assert found.unaligned == ()
    assert "A_1 is a multiple of 8" in found.facts
    told = {
        r.position: [
            (c.kind, c.source.position, c.carried, c.uses, str(c.distance), c.least, c.greatest, c.hits) for c in each.classes
        ]
        for r, each in found.references.items()
    }
    n = 256
    far = "(1/8)*A_1*C_1 + (1/4)*A_1 + (1/8)*C_1"
    assert told == {
        0: [
            ("temporal", 3, "k", n * n * (n - 1), "0", 0, 0, (n * n * (n - 1), 0, 0)),
            ("spatial", 3, "j", n * n * 7 // 8, "0", 0, 0, (n * n * 7 // 8, 0, 0)),
        ],
        1: [
            ("spatial", 1, "k", n**3 * 7 // 8, "2", 2, 2, (n**3 * 7 // 8, 0, 0)),
            ("temporal", 1, "j", n * n * (n - 1) // 8, "(9/8)*A_1 - 7", 281, 282, (n * n * (n - 1) // 8, 0, 0)),
        ],
        2: [
            ("spatial", 2, "j", n**3 * 7 // 8, "(9/8)*A_1", 288, 288, (n**3 * 7 // 8, 0, 0)),
            ("temporal", 2, "i", n * n * (n - 1) // 8, far, 8256, 8288, (0, n * n * (n - 1) // 8, 0)),
        ],
        3: [("temporal", 0, "", n**3, "2", 2, 2, (n**3, 0, 0))],
    }


@pytest.mark.parametrize("case", ["gemm, one set", "jacobi, whole lines"])
def test_misses_equal_the_simulation(case):
    program, sizes = program_of(*CASES[case])
    levels = (CacheLevel(1, 1024, 16, 64, 1), CacheLevel(2, 4096, 64, 64, 1))
    places = placed(program, sizes)
    found = reuse(ScheduledAccesses(program.scop, program.scop.schedule, references(program), sizes, places), levels, 60.0)
    simulated = simulate(program, sizes, levels)
    for reference, each in found.references.items():
        assert not each.in_the_middle
        assert found.misses(reference) == simulated.counts[reference].fully_associative


def test_what_is_not_found_in_time_says_so():
    program, sizes = program_of(gemm_ijk, dict.fromkeys("ABC", (256, 256)))
    places = placed(program, sizes)
    found = reuse(ScheduledAccesses(program.scop, program.scop.schedule, references(program), sizes, places), LEVELS, 0.0)
    assert {each.problem for each in found.references.values()} == {"it takes too long"}


def test_rows_that_begin_within_lines_are_told():
    program, sizes = program_of(gemm_ijk, {"A": (8, 9), "B": (9, 12), "C": (8, 12)})
    places = placed(program, sizes)
    found = reuse(ScheduledAccesses(program.scop, program.scop.schedule, references(program), sizes, places), LEVELS, 60.0)
    assert found.unaligned == ("A",)


def drawn_nest(seed, n, m, tmp_path, **settings):
    """(what is found, the uses in plain Python)"""
    drawn = nest(seed)
    arguments = {"A": (40, 40), "B": (40, 48), "x": (40,), "n": n, "m": m}
    program, sizes = program_of(kernel_of(drawn.source, tmp_path), arguments)
    places = placed(program, sizes)
    found = reuse(
        ScheduledAccesses(program.scop, program.scop.schedule, references(program), sizes, places), LEVELS, 2.0, **settings
    )
    return found, events(drawn.traced, n, m, 4)


def by_key(found):
    return {
        ((r.statement, r.position), (c.source.statement, c.source.position), c.kind, c.carried): c
        for r, each in found.references.items()
        for c in each.classes
    }


def hits(distances):
    return sum(d < 6 for d in distances), sum(6 <= d < 17 for d in distances), sum(d >= 17 for d in distances)


@pytest.mark.sweep(keep=6)
@pytest.mark.parametrize("seed", range(40))
def test_random_nests(seed, tmp_path):
    found, uses = drawn_nest(seed, 5 + seed % 4, 7 + seed % 3, tmp_path)
    first, wanted = reuses(uses)
    whole = {(r.statement, r.position) for r, each in found.references.items() if not each.problem and not each.in_the_middle}
    for r, each in found.references.items():
        assert (r.statement, r.position) not in whole or each.first == first[r.statement, r.position]
    by_class = by_key(found)
    assert by_class.keys() <= wanted.keys()
    assert {key for key in by_class if key[0] in whole} == {key for key in wanted if key[0] in whole}
    for key, c in by_class.items():
        assert min(wanted[key]) <= c.least <= c.greatest <= max(wanted[key])
        if key[0] in whole:
            assert c.uses == len(wanted[key])
            assert (c.least, c.greatest) == (min(wanted[key]), max(wanted[key]))
            assert c.hits == hits(wanted[key])


def in_the_middle(uses, width):
    """For each reference its times of about so many values of each coordinate, half way."""
    found = set()
    for reference in {use.reference for use in uses}:
        times = [use.time for use in uses if use.reference == reference]
        for dim in range(len(times[0])):
            low, high = min(t[dim] for t in times), max(t[dim] for t in times)
            if low < high:
                first = min(t[dim] for t in times if t[dim] >= (low + high) // 2 // width * width) // width * width
                times = [t for t in times if first <= t[dim] < first + width]
        found |= {(reference, t) for t in times}
    return found


@pytest.mark.sweep(keep=2)
@pytest.mark.parametrize("seed", range(40, 70))
def test_random_nests_in_the_middle(seed, tmp_path):
    found, uses = drawn_nest(seed, 12 + seed % 7, 11 + seed % 9, tmp_path, whole=False)
    middle = in_the_middle(uses, 4)
    first, wanted = reuses(uses, middle)
    by_class = by_key(found)
    known = {(r.statement, r.position): each for r, each in found.references.items() if not each.problem}
    assert by_class.keys() == {key for key in wanted if key[0] in known}
    for key, c in by_class.items():
        assert known[key[0]].in_the_middle
        times = Fraction(known[key[0]].uses, sum(reference == key[0] for reference, _ in middle))
        assert known[key[0]].uses == sum(use.reference == key[0] for use in uses)
        assert c.uses == round(len(wanted[key]) * times)
        assert (c.least, c.greatest) == (min(wanted[key]), max(wanted[key]))
        assert c.hits == tuple(round(number * times) for number in hits(wanted[key]))
    for reference, each in known.items():
        size = sum(middle_of == reference for middle_of, _ in middle)
        assert each.first == round(first[reference] * Fraction(each.uses, size))
