"""Random legal schedules run every kernel as the source does, and an illegal change is never kept."""

from random import Random

import islpy as isl
import numpy as np
import pytest

from polyml.codegen.astgen.build import build
from polyml.codegen.interpreter.order import sequence
from polyml.codegen.interpreter.run import run
from polyml.codegen.ir.program import loops
from polyml.model.core.dependence import dependences
from polyml.polyhedra import CONTEXT, budget, points
from tests.codegen.samples import SAMPLES, arguments_for, in_place, matmul, prefix_sum, scop_of, stencil
from tests.schedule import random_schedules
from tests.schedule.random_schedules import random_legal_schedule

SEEDS = range(6)
BUILD_OPERATIONS = 20_000_000


def program_of(scop, schedule):
    with budget(BUILD_OPERATIONS):
        return build(scop, schedule)


def outcome(program, sample, n, **options):
    """Everything a run leaves behind, as lists."""
    args = arguments_for(sample, n)
    result = run(program, args, **options)
    result = result if isinstance(result, tuple) else (result,)
    return [np.asarray(v).tolist() for v in (*args.values(), *result)]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda f: f.__name__)
def test_every_random_schedule_computes_what_the_source_does(sample):
    scop = scop_of(sample, arguments_for(sample, 5))
    deps = dependences(scop)
    source = build(scop, scop.schedule)
    wanted = {n: outcome(source, sample, n) for n in (3, 8)}
    for seed in SEEDS:
        program = program_of(scop, random_legal_schedule(scop, deps, Random(seed)))
        for n, values in wanted.items():
            for order in ("source", "reversed", "shuffled"):
                assert outcome(program, sample, n, order=order, seed=seed) == values, f"seed {seed}, n {n}, {order}"


@pytest.mark.parametrize("sample", [matmul, stencil], ids=lambda f: f.__name__)
def test_every_random_schedule_runs_every_instance_once(sample):
    scop = scop_of(sample, arguments_for(sample, 5))
    deps = dependences(scop)
    sizes = {p.name: 4 + k for k, p in enumerate(scop.parameters)}
    for seed in SEEDS:
        ran = sequence(program_of(scop, random_legal_schedule(scop, deps, Random(seed))), sizes)
        assert len(ran) == len(set(ran)) and set(ran) == points(scop.domain, **sizes)


def test_schedules_differ_and_loops_become_tiles_and_parallel():
    scop = scop_of(matmul, arguments_for(matmul, 5))
    deps = dependences(scop)
    made = [random_legal_schedule(scop, deps, Random(seed)) for seed in range(12)]
    assert len({str(schedule) for schedule in made}) >= 10
    assert any("floor" in str(schedule) for schedule in made)
    assert any(loop.parallel for schedule in made for loop in loops(program_of(scop, schedule).body))


def test_the_same_seed_gives_the_same_schedule():
    scop = scop_of(stencil, arguments_for(stencil, 5))
    deps = dependences(scop)
    first, second = (str(random_legal_schedule(scop, deps, Random(3))) for _ in range(2))
    assert first == second


def test_without_the_check_some_schedule_computes_something_else(monkeypatch):
    monkeypatch.setattr(random_schedules._Order, "is_kept_by", lambda self, schedule: True)
    scop = scop_of(in_place, arguments_for(in_place, 5))
    deps = dependences(scop)
    wanted = outcome(build(scop, scop.schedule), in_place, 8)
    others = [random_legal_schedule(scop, deps, Random(seed)) for seed in range(8)]
    assert any(outcome(program_of(scop, schedule), in_place, 8) != wanted for schedule in others)


@pytest.mark.parametrize(
    ("sample", "schedule", "legal"),
    [
        (prefix_sum, "[{ S0[i] -> [(i)] }]", True),
        (prefix_sum, "[{ S0[i] -> [(2i)] }]", True),
        (prefix_sum, "[{ S0[i] -> [(-i)] }]", False),
        (prefix_sum, "[{ S0[i] -> [(floor(i/3))] }]", False),
        (in_place, "[{ S0[i, j] -> [(i)] }, { S0[i, j] -> [(-j)] }]", False),
        (in_place, "[{ S0[i, j] -> [(j)] }, { S0[i, j] -> [(i)] }]", True),
        (in_place, "[{ S0[i, j] -> [(i + j)] }, { S0[i, j] -> [(i)] }]", True),
        (in_place, "[{ S0[i, j] -> [(i + j)] }, { S0[i, j] -> [(-i)] }]", True),
        (in_place, "[{ S0[i, j] -> [(i - j)] }, { S0[i, j] -> [(i)] }]", False),
    ],
)
def test_an_order_is_kept_or_not(sample, schedule, legal):
    scop = scop_of(sample, arguments_for(sample, 5))
    tree = isl.Schedule(f'{{ domain: "{scop.domain}", child: {{ schedule: "{schedule}" }} }}')
    assert random_schedules._Order(scop, dependences(scop)).is_kept_by(tree) == legal


@pytest.mark.parametrize(
    ("sample", "schedule", "permutable", "parallel"),
    [
        (prefix_sum, "[{ S0[i] -> [(i)] }]", True, False),
        (prefix_sum, "[{ S0[i] -> [(-i)] }]", False, False),
        (in_place, "[{ S0[i, j] -> [(i)] }, { S0[i, j] -> [(j)] }]", True, None),
        (in_place, "[{ S0[i, j] -> [(i + j)] }, { S0[i, j] -> [(-i)] }]", False, None),
    ],
)
def test_bands_are_permutable_and_parallel_by_the_dependences_alone(sample, schedule, permutable, parallel):
    scop = scop_of(sample, arguments_for(sample, 5))
    order = random_schedules._Order(scop, dependences(scop))
    band = isl.Schedule(f'{{ domain: "{scop.domain}", child: {{ schedule: "{schedule}" }} }}').get_root().child(0)
    assert order.is_permutable(band) == permutable
    if parallel is not None:
        assert order.is_parallel(band) == parallel
    else:  # below i + j the other member is parallel, below i it is not
        assert order.is_parallel(band.band_split(1).child(0)) == ("i + j" in schedule)


def test_options_of_isl_are_left_as_they_were():
    def options():
        names = [n for n in dir(isl.Context) if n.startswith(("get_schedule_", "get_tile_"))]
        return {name: getattr(CONTEXT, name)() for name in names}

    before = options()
    scop = scop_of(stencil, arguments_for(stencil, 5))
    for seed in SEEDS:
        random_legal_schedule(scop, dependences(scop), Random(seed))
    assert options() == before


class _Failing:
    """Constraints for which isl raises."""

    def __init__(self, message):
        self.message = message

    def compute_schedule(self):
        raise isl.Error(self.message)


def test_where_isl_gives_up_the_source_order_is_taken_and_other_errors_are_not_hidden():
    assert random_schedules._isl_schedule(_Failing("unable to carry dependences in isl_scheduler.c:1")) is None
    with pytest.raises(isl.Error, match="spaces don't match"):
        random_schedules._isl_schedule(_Failing("spaces don't match"))
