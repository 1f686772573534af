"""The units' programs as text."""

from polyml.systolic.program.program import NestProgram
from polyml.systolic.program.text import listing
from tests.systolic.designs import CALLS, matmul
from tests.systolic.simulate.simulating import Simulated, filled


def stationary_results(shape):
    simulated = Simulated(matmul, filled(CALLS[matmul]))
    plan = next(plans[0] for plans in simulated.plans(shape) if plans[0].dataflow == "os")
    return NestProgram(simulated.interface, plan.folds)


def test_a_unit_loads_forwards_computes_and_drains():
    program = stationary_results((2, 2))
    lines = listing(program, next(iter(program)), [(0, 1), (1, 1)]).splitlines()
    assert lines == [
        "fold [0, 0]: 11 cycles on 2 x 2 units",
        "every unit, every cycle:",
        "  C[i, j] <- C[i, j] of here, 1 cycle before",
        "  A[i, k] <- A[i, k] of unit [0, -1], 1 cycle before",
        "  B[k, j] <- B[k, j] of unit [-1, 0], 1 cycle before",
        "  C[i, j] <- S0(C[i, j], A[i, k], B[k, j])",
        "unit [0, 1]:",
        "  t = 1: load C[i, j] = C[0, 1]; load B[k, j] = B[0, 1]",
        *(f"  t = {k + 1}: load B[k, j] = B[{k}, 1]" for k in range(1, 8)),
        "  t = 9: load B[k, j] = B[8, 1]; drain C[0, 1] = S0",
        "unit [1, 1]:",
        "  t = 2: load C[i, j] = C[1, 1]",
        "  t = 10: drain C[1, 1] = S0",
    ]


def test_long_listings_end():
    program = stationary_results((16, 16))
    text = listing(program, next(iter(program)))
    assert text.endswith(" more lines") and len(text.splitlines()) == 401
