"""A compilation takes no more work than its budget: past it the form is simpler, the results are the same, and `explain` says so."""

import islpy as isl
import numpy as np
import pytest

import polyml
from polyml import polyhedra
from polyml.errors import ConfigError
from polyml.pass_manager import Pass
from polyml.pipeline.pass_runner import PassRunner
from polyml.polyhedra import BudgetExceeded, account, budget
from tests.nasty.check import check, checked
from tests.nasty.generate import KINDS, nest


def work():
    """Thousands of operations of isl."""
    isl.Set("{ [i, j, k] : 0 <= i, j, k < 1000 and i + 2j + 3k > 5 }").lexmin()
    for number in range(2, 30):
        isl.Set(f"{{ [i, j] : exists e : {number} e = i + j and 0 <= i, j < 100 }}").coalesce().lexmax()


def used(operations=10_000_000):
    with account(operations):
        with budget(operations):
            work()
        return operations - polyhedra.left()


def test_every_budget_takes_from_the_account():
    once = used()
    with account(100_000_000):
        for _ in range(3):
            with budget(50_000_000):
                work()
        assert 2.7 * once < 100_000_000 - polyhedra.left() < 3.3 * once


def test_work_outside_budgets_counts_too():
    once = used()
    with account(100_000_000):
        work()
        with budget(1000):
            pass
        assert 0.9 * once < 100_000_000 - polyhedra.left()


def test_an_account_ends_what_no_budget_would():
    once = used()
    with pytest.raises(BudgetExceeded):
        with account(2 * once):
            for _ in range(4):
                with budget(10 * once):
                    work()
    work()  # isl is as before


def test_what_is_left_is_not_charged_for_what_was_known():
    with account(1_000_000):
        with polyhedra.uncharged(), budget(10_000_000):
            work()
        before = polyhedra.left()
        polyhedra.charge(1000)
        assert polyhedra.left() == before - 1000


def many(A, B, C, n):
    for i in range(n):
        for j in range(n):
            for k in range(n):
                C[i, j] += A[i, k] * B[k, j]
    for i in range(1, n - 1):
        for j in range(1, n - 1):
            A[i, j] = (C[i - 1, j] + C[i + 1, j] + C[i, j - 1] + C[i, j + 1]) * 0.25
    for i in range(1, n - 1):
        for j in range(i, n - 1):
            B[j, i] = A[i, j] + A[i - 1, j + 1]


@pytest.mark.parametrize("model, search, nodes, copies, says", [
    (800_000, 800_000, 60, 1500, ""),
    (200, 800_000, 60, 1500, "does not suffice for its dependences"),
    (800_000, 2000, 60, 1500, "given up"),
    (800_000, 800_000, 0.5, 1500, "loops and statements, for which the compile budget does not suffice"),
    (800_000, 800_000, 60, 1, "copies of statements, for which the compile budget does not suffice"),
])  # fmt: skip
def test_past_each_limit_the_form_is_simpler_and_right(monkeypatch, model, search, nodes, copies, says):
    from polyml.pipeline import compile_budget

    monkeypatch.setattr(compile_budget.CompileBudget, "model", property(lambda self: model * self.seconds))
    monkeypatch.setattr(compile_budget.CompileBudget, "search", property(lambda self: search * self.seconds))
    monkeypatch.setattr(compile_budget, "NODES_PER_SECOND", nodes)
    monkeypatch.setattr(compile_budget, "COPIES_PER_SECOND", copies)
    rng = np.random.default_rng(0)
    given = [rng.integers(-3, 4, (17, 17)).astype(float) for _ in range(3)]
    wanted, got = [a.copy() for a in given], [a.copy() for a in given]
    many(*wanted, 17)
    kernel = polyml.kernel(cache=False, fallback="error", on_defect="raise")(many)
    kernel(*got, 17)
    assert all(map(np.array_equal, wanted, got))
    assert says in kernel.explain()


def test_a_function_past_every_limit_is_plain_python(monkeypatch):
    from polyml.pipeline import compile_budget

    for name in ("model", "search", "last"):
        monkeypatch.setattr(compile_budget.CompileBudget, name, property(lambda self: 50))
    kernel = polyml.kernel(cache=False)(many)
    given = [np.ones((9, 9)) for _ in range(3)]
    wanted = [a.copy() for a in given]
    many(*wanted, 9)
    with pytest.warns(polyml.PolymlPerformanceWarning, match="PML-F081"):
        kernel(*given, 9)
    assert all(map(np.array_equal, wanted, given))


def test_the_same_budget_gives_the_same_code(tmp_path):
    """With the schedule found before too."""
    given = [np.ones((40, 40)) for _ in range(3)]
    texts = []
    for name in ("first", "again", "again"):
        kernel = polyml.kernel(cache_dir=str(tmp_path / name), compile_budget_s=1)(many)
        kernel(*given, 40)
        texts.append(kernel.inspect_llvm())
    assert texts[0] == texts[1] == texts[2]


def test_budgets_are_whole_seconds():
    for wrong in (0, 3601, 1.5, "long"):
        with pytest.raises(ConfigError, match="compile_budget_s"):
            polyml.kernel(compile_budget_s=wrong)(many)


@pytest.mark.parametrize("kind", KINDS)
def test_nasty_nests_are_right(kind):
    """A part of `python -m tests.nasty`, with a budget so small that forms are given up."""
    numbers = [seed for seed in range(40) if nest(seed).kind == kind]
    assert [(n, found) for n, budget_s in zip(numbers, (1, 10)) if (found := check(nest(n), budget_s).difference)] == []


def test_what_a_nasty_nest_raises_is_a_difference(monkeypatch):
    monkeypatch.setattr("tests.nasty.check.check", lambda *_: 1 / 0)
    assert "ZeroDivisionError" in checked(1, 1).difference


def test_a_nest_whose_order_ended_the_process():
    """isl's coalesce ends the process for some sets of hundreds of pieces."""
    assert check(nest(342), 10).difference == ""


@pytest.mark.parametrize("ask", [lambda one: isl.Val(3).to_python(), str])
def test_what_isl_has_no_answer_to_without_operations_is_no_defect_of_a_pass(ask):
    """isl then returns no text, so that Python raises a TypeError."""
    one = isl.Set("{ S[i] : 0 <= i < 10 }")

    def step(value):
        for _ in range(100_000):
            if polyhedra.is_exhausted():
                return ask(one)
            isl.Space.params_alloc(one.get_ctx(), 0)
        return value

    with pytest.raises(BudgetExceeded, match="isl exceeded 1000 operations"), budget(1000):
        PassRunner().run(Pass("step", step, "a test"), one)
