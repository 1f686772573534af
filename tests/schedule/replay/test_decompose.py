"""The steps of a replay multiply to the schedule: compared with isl's own map of the schedule tree, instance by instance."""

from random import Random

import numpy as np
import pytest

import polyml
from polyml import kernels
from polyml.pictures.nests import parameters
from polyml.polyhedra.points import points
from polyml.schedule.replay.decompose import steps_to
from polyml.schedule.tree import loop_tree
from tests.schedule.random_schedules import random_legal_schedule

SIZE = 5
SLOW = {"heat_3d": 4, "adi": 4}


def automatic(name: str):
    """The schedule that polyml chooses for a kernel of PolyBench."""
    found = kernels.load(name)
    arguments = found.inputs(found.sizes["MINI"], np.random.default_rng(0), found.dtype)
    return polyml.kernel(found.kernel.py_func, cache=False).schedule("auto", *arguments.values())


def sequence(relation, domain, sizes) -> list:
    """Sets of instances that run at one time, in the order of a map from instances to times."""
    at: dict[tuple, set] = {}
    for instance, (_, time) in points(relation.intersect_domain(domain), **sizes):
        at.setdefault(time, set()).add(instance)
    return [at[time] for time in sorted(at)]


@pytest.mark.sweep(keep=8)
@pytest.mark.parametrize("name", kernels.NAMES)
def test_steps_multiply_to_the_schedule(name):
    schedule = automatic(name)
    scop = schedule.problem.scop
    sizes = dict.fromkeys(parameters(scop), SLOW.get(name, SIZE))
    replay = steps_to(schedule.tree, scop)
    now = replay.orders[0]
    assert sequence(now.schedule_map(), scop.domain, sizes) == sequence(scop.schedule.get_map(), scop.domain, sizes)
    for step in replay.steps:
        now = step.applied(now)
    assert sequence(now.schedule_map(), scop.domain, sizes) == sequence(schedule.tree.get_map(), scop.domain, sizes)
    marked = [loop.directives.words() for _, loop in loop_tree.loops(schedule.loops) if loop.directives.parallel]
    assert len(marked) <= sum(level.words != () for piece in now.pieces.values() for level in piece.levels)


@pytest.mark.parametrize("name", ["gemm", "jacobi_1d", "trisolv", "cholesky", "mvt", "durbin", "fdtd_2d", "nussinov"])
def test_random_schedules_are_products_of_steps_too(name):
    problem = automatic(name).problem
    sizes = dict.fromkeys(parameters(problem.scop), 4)
    for seed in range(6):
        tree = random_legal_schedule(problem.scop, problem.dependences, Random(seed))
        orders = steps_to(tree, problem.scop).orders
        wanted = sequence(tree.get_map(), problem.scop.domain, sizes)
        assert sequence(orders[-1].schedule_map(), problem.scop.domain, sizes) == wanted


def test_a_wrong_step_is_noticed():
    schedule = automatic("gemm")
    replay = steps_to(schedule.tree, schedule.problem.scop)
    (step,) = [each for each in replay.steps if each.kind == "interchange"]
    number = replay.steps.index(step)
    now = replay.orders[number]
    for later in replay.steps[number + 1 :]:
        now = later.applied(now)
    assert not now.equals(replay.orders[-1])


def test_steps_have_the_names_and_arguments_of_scripts():
    schedule = automatic("seidel_2d")
    words = [str(step) for step in steps_to(schedule.tree, schedule.problem.scop).steps]
    assert words[:4] == ["skew(j, i, 2)", "interchange(i, j)", "skew(j, t, 4)", "interchange(t, j)"]
    assert words[4:] == ["tile(t_i_j_t, t=32)", "parallel(t_t)"]
