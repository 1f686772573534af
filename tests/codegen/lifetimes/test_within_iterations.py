"""That arrays hand no value from one iteration to another, against runs that remember where each element was written."""

import numpy as np
import pytest

from polyml.codegen.ir.program import Loop
from polyml.codegen.lifetimes.array_uses import common_nodes, uses
from polyml.codegen.lifetimes.within_iterations import hands_nothing_on
from polyml.config import Options
from polyml.frontend.argument_types import arg_type
from polyml.frontend.parsing.parse import parse
from polyml.pipeline.compile import CompileRequest, compile
from polyml.polyhedra import account
from tests.frontend.define import define

BODIES = {  # what an iteration of t does, and whether T, and then U, has no value that another iteration made
    "whole": (["for i in range(n): T[i] = A[i] + t", "for i in range(n): U[i] = T[n - 1 - i]", "for i in range(n): A[i] = U[n - 1 - i]"], True, True),
    "one element is older": (["for i in range(1, n): T[i] = A[i] + t", "for i in range(n): U[i] = T[n - 1 - i]", "for i in range(n): A[i] = U[i] * 2"], False, True),
    "no element is older": (["for i in range(1, n): T[i] = A[i] + t", "for i in range(n - 1): U[i] = T[n - 1 - i]", "for i in range(n - 1): A[i] = U[i] * 2"], True, True),
    "every other one": (["for i in range(0, n, 2): T[i] = A[i] + t", "for i in range(n): U[i] = T[i]", "for i in range(n): A[i] = U[n - 1 - i]"], False, True),
    "sums": (["for i in range(n): T[i] = 0.0", "for i in range(n):\n for j in range(n): T[i] += A[j] * i", "for i in range(n): U[i] = T[i] - T[0]", "for i in range(n): A[i] = U[n - 1 - i]"], True, True),
    "sums that go on": (["for i in range(n):\n for j in range(n): T[i] += A[j] * i", "for i in range(n): U[i] = T[i] - T[0]", "for i in range(n): A[i] = U[n - 1 - i]"], False, True),
    "in some iterations": (["for i in range(n):\n if t > 1: T[i] = A[i]", "for i in range(n): U[i] = T[n - 1 - i]", "for i in range(n): A[i] = U[n - 1 - i]"], False, True),
    "written behind": (["for i in range(n): U[i] = T[n - 1 - i]", "for i in range(n): T[i] = A[i] + t", "for i in range(n): A[i] = U[n - 1 - i]"], False, True),
    "two writes": (["for i in range(1, n): T[i] = A[i]", "for i in range(1): T[i] = 1.0", "for i in range(n): U[i] = T[n - 1 - i]", "for i in range(n): A[i] = U[n - 1 - i]"], True, True),
}  # fmt: skip


def source(body):
    lines = ["def kernel(A):", "    n = A.shape[0]", "    T = np.empty(n)", "    U = np.empty(n)", "    for t in range(4):"]
    for nest in body:
        head, _, rest = nest.partition(": ") if "\n" not in nest else (nest.split(":", 1)[0], "", nest.split(":", 1)[1])
        lines.append(f"        {head}:")
        for line in rest.split("\n"):
            if line.strip():
                lines.append(f"            {line.strip()}")
    lines += ["    for i in range(n):", "        A[i] += 1.0"]
    return "\n".join(lines) + "\n"


def older_values(text, name, n=6):
    """Whether plain Python reads an element of the array whose value another iteration of t, or none, made."""
    found, now = [], [None]

    class Watched(np.ndarray):
        def __getitem__(self, i):
            if now[0] is not None and made.get(i) != now[0]:
                found.append(i)
            return super().__getitem__(i)

        def __setitem__(self, i, value):
            made[i] = now[0]
            super().__setitem__(i, value)

    made = {}
    text = text.replace(f"    {name} = np.empty(n)", f"    {name} = watched(n)")
    text = text.replace("    for t in range(4):", "    for t in times(4):")

    def times(count):
        for t in range(count):
            now[0] = t
            yield t
        now[0] = None

    names = {"np": np, "watched": lambda n: np.zeros(n).view(Watched), "times": times}
    exec(text, names)
    names["kernel"](np.arange(float(n)))
    return bool(found)


@pytest.mark.parametrize("name", BODIES)
def test_it_is_so_where_no_run_reads_an_older_value(name):
    body, *wanted = BODIES[name]
    text = source(body)
    assert [not older_values(text, array) for array in "TU"] == wanted
    request = CompileRequest((arg_type(np.ones(3)),), ("C",), Options(fusion="no", threads=1))
    made = compile(parse(define(text, "kernel")), request).program
    assert [_is_within(made, array) for array in "TU"] == wanted


def test_proofs_are_given_up_once_isl_has_used_what_they_may_use():
    body = next(body for body, first, _ in BODIES.values() if first)
    request = CompileRequest((arg_type(np.ones(3)),), ("C",), Options(fusion="no", threads=1))
    made = compile(parse(define(source(body), "kernel")), request).program
    for operations, wanted in ((10**9, True), (1, False)):
        with account(10**9):
            assert _is_within(made, "T", operations) == wanted


def _is_within(made, name, operations=10**9):
    array = next(a.name for a in made.scop.arrays.values() if (a.source_name or a.name) == name)
    found = uses(made, [array])[array]
    loop, *_ = common_nodes(found)
    assert isinstance(loop, Loop)
    return hands_nothing_on(found, loop, made.scop.checked, operations)
