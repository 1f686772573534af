"""What folds wait for, against a memory, a queue and an array that go from cycle to cycle."""

from fractions import Fraction
from random import Random

import pytest

from polyml.systolic.folding.stalls import FoldStep, RepeatedSteps, nested, stalled


def clocked(steps, tile, queue):
    """(cycles, active, waiting for a tile, waiting for its rows), of one step per fold."""
    read = taken = loaded = begun = now = idle = free = 0
    reading = rows = None  # cycles that are left
    counts = [0, 0, 0]
    while True:
        before = None
        while before != (before := (read, taken, loaded, begun, reading, rows)):
            if reading == 0:
                read, reading = read + 1, None
            if reading is None and read < len(steps) and read - taken < queue:
                reading = tile
            if rows == 0:
                loaded, rows = loaded + 1, None
            if rows is None and taken == begun and taken < read:  # the second registers are empty
                rows, taken = steps[taken].shift_cycles, taken + 1
            if loaded > begun and now >= free:
                fold, begun = steps[begun], begun + 1
                idle, free = now + int(fold.active_cycles), now + fold.free_cycles
                if begun == len(steps):
                    return free, counts[0] + int(fold.active_cycles), *counts[1:]
        if now < idle:
            counts[0] += 1
        elif rows is not None:
            counts[2] += 1
        elif loaded == begun:
            counts[1] += 1
        reading, rows, now = reading and reading - 1, rows and rows - 1, now + 1


def flat(steps):
    return [one for step in steps for one in (flat(step.steps) * step.number if isinstance(step, RepeatedSteps) else [step])]


def some_steps(random, depth=2):
    found = []
    for _ in range(random.randint(1, 3)):
        if depth and random.random() < 0.6:
            found.append(RepeatedSteps(random.randint(1, 20), tuple(some_steps(random, depth - 1))))
        else:
            active = random.randint(1, 9)
            found.append(FoldStep(random.choice((0, 0, 4, 7)), Fraction(active), active + random.choice((0, 0, 1, 6))))
    return found


@pytest.mark.parametrize("seed", range(60))
def test_folds_wait_as_long_as_cycle_by_cycle(seed):
    random = Random(seed)
    steps, tile, queue = some_steps(random), random.randint(0, 12), random.randint(1, 4)
    found = stalled(steps, tile, queue)
    assert (found.cycles, found.active_cycles, found.stall_cycles, found.shift_cycles) == clocked(flat(steps), tile, queue)


def test_a_million_folds_are_as_few_as_one():
    steps = [RepeatedSteps(1000, (RepeatedSteps(1000, (FoldStep(4, Fraction(10), 10),)), FoldStep(4, Fraction(3), 5)))]
    found = stalled(steps, Fraction(27, 2), 4)
    assert found.cycles == pytest.approx(1000 * 1001 * 13.5, rel=1e-4) and found.active_cycles == 1000 * 10_003


def test_a_queue_lends_the_memory_time():
    """Ten long folds, then five short ones: what was read meanwhile is there."""
    steps = [RepeatedSteps(10, (FoldStep(0, Fraction(100), 100),)), RepeatedSteps(5, (FoldStep(0, Fraction(1), 1),))]
    waiting = [stalled(steps, 50, queue).stall_cycles for queue in (1, 2, 4, 9)]
    assert waiting == sorted(waiting, reverse=True) and waiting[0] > waiting[-1] == 50  # for the first one alone


def test_a_slow_array_hides_the_memory():
    fast, slow = (stalled([RepeatedSteps(50, (FoldStep(256, Fraction(64), 64),))], 1349, 4, pace) for pace in (1, 2))
    assert slow.active_cycles == 2 * fast.active_cycles and slow.cycles == pytest.approx(fast.cycles, rel=0.01)
    assert slow.active_share == pytest.approx(2 * 64 / 1349, rel=0.01) and slow.shift_share == pytest.approx(256 / 1349, rel=0.01)


def unrolled(steps):
    for step in steps:
        if isinstance(step, RepeatedSteps):
            for _ in range(step.number):
                yield from unrolled(step.steps)
        else:
            yield step


@pytest.mark.parametrize("seed", range(20))
def test_repetitions_are_of_the_same_steps_in_order(seed):
    rng = Random(seed)
    few = [FoldStep(shift, Fraction(7), 9) for shift in range(rng.choice((1, 2, 3)))]
    numbers = sorted({tuple(rng.randrange(4) for _ in range(3)) for _ in range(rng.randrange(40))})
    steps = [rng.choice(few) for _ in numbers]
    assert list(unrolled(nested(numbers, steps))) == steps


def test_what_outer_folds_do_alike_is_told_once():
    steps = [FoldStep(4, Fraction(n), n) for n in (3, 5, 5)]
    numbers = [(o, f) for o in range(100) for f in range(3)]
    assert nested(numbers, 100 * steps) == (RepeatedSteps(100, (steps[0], RepeatedSteps(2, (steps[1],)))),)
