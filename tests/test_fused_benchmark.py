"""The programs of `benchmarks.fused`: their forms agree, their bytes are counted right, and what is fused as well as by hand stays so."""

from collections import Counter

import numpy as np
import pytest

import polyml
from benchmarks.fused import programs, table, times
from benchmarks.fused.__main__ import main, setting
from benchmarks.fused.moved_bytes import moved
from benchmarks.fused.peers import CALLS, with_module
from tests.caches import brute

# programs that move at most 1.05 of the bytes of the nest written by hand, at the small sizes: they must not lose that
REACHED = (
    "blur_chain", "conv_bn_relu", "depthwise_pointwise", "layer_norm_product", "low_rank", "product_bias_gelu", "product_bias_relu",
    "product_masked", "regression_gradient", "residual_block", "rms_norm_product", "unsharp_mask",
)  # fmt: skip


@pytest.mark.parametrize("name", programs())
@pytest.mark.parametrize("form", ("function", "hand"))
@pytest.mark.sweep(keep=12)
def test_the_forms_of_a_program_compute_the_same(name, form):
    program = programs()[name]
    function = getattr(program, form)
    if function is None:
        pytest.skip("no nest by hand")
    arguments = program.arguments("QUICK")
    given = [np.copy(a) for a in arguments]
    found = polyml.kernel(function, fallback="error")(*arguments)
    assert not program.problem(found, given)
    assert all(np.array_equal(a, b) for a, b in zip(arguments, given))


def test_a_wrong_result_is_told():
    program = programs()["product_bias_relu"]
    arguments = program.arguments("QUICK")
    wrong = program.reference(*arguments) + np.float32(0.01)
    assert "apart" in program.problem(wrong, arguments)
    assert "shape" in program.problem(wrong[:-1], arguments)
    assert program.problem((wrong, wrong), arguments) == "2 results in place of 1"
    quantised = programs()["product_quantised"]
    arguments = quantised.arguments("QUICK")
    assert "whole numbers" in quantised.problem(quantised.reference(*arguments) // 2, arguments)


@pytest.mark.parametrize("name", REACHED)
def test_a_program_that_moves_as_little_as_by_hand_does_so_still(name):
    row = table.row(programs()[name], "QUICK", setting("QUICK"))
    assert not row.problem
    assert row.over_hand <= table.MOST_OF_HAND, "\n".join(table.arrays(row))


def doubled_twice(A):
    middle = np.empty(A.shape[0])
    out = np.empty(A.shape[0])
    for i in range(A.shape[0]):
        middle[i] = A[i] * 2.0
    for i in range(A.shape[0]):
        out[i] = middle[i] * 2.0
    return out


@pytest.mark.parametrize("size", [8, 64, 1000])
def test_bytes_are_those_of_a_cache_in_plain_python(size):
    caches = "1K:4:64,4K:8:64"
    found = moved(doubled_twice, (np.ones(size),), setting("QUICK", caches=caches), schedule="source", fusion="no")
    levels = [(1024, 4, "lru", "back", "independent"), (4096, 8, "lru", "back", "independent")]
    place = {"A": 0, "result": 8 * size + -8 * size % 64}
    place["middle"] = 2 * place["result"] + 64 + 63 & -64
    hierarchy = brute.Hierarchy(levels, 64, lambda line: max((at, name) for name, at in place.items() if at <= 64 * line)[1])
    for source, target in (("A", "middle"), ("middle", "result")):
        for i in range(size):
            hierarchy.access(source, place[source] + 8 * i, False)
            hierarchy.access(target, place[target] + 8 * i, True)
    fetched = Counter()
    for (_, level, array, _), count in hierarchy.misses.items():
        fetched[array] += count * (level == 1)
    written = hierarchy.dirty() + Counter()
    del written["middle"]
    written += Counter({array: count for (level, array), count in hierarchy.written.items() if level == 1})
    wanted = 64 * (fetched.total() + written.total())
    assert found.total == wanted


def test_the_least_bytes_are_those_of_arguments_and_results():
    program = programs()["product_bias_relu"]
    assert program.least_bytes("QUICK") == 4 * (512 * 32 + 32 * 256 + 256) + 2 * 4 * 512 * 256
    assert programs()["pca"].least_bytes("QUICK") == 8 * (2 * 1024 * 32 + 32 * 4) + 2 * 8 * (32 * 32 + 1024 * 4)


def test_the_command_prints_a_row_for_each_program(capsys):
    assert main(["blur_chain", "regression_gradient", "--quick", "--arrays"]) == 0
    said = capsys.readouterr().out
    assert "| blur_chain |" in said and "of 2 programs move at most 1.05 of the bytes by hand" in said


def test_a_program_without_bytes_says_why(monkeypatch, capsys):
    def unknown(A):
        return sorted(A)

    broken = type(programs()["blur_chain"])(
        name="broken", function=unknown, hand=None, reference=lambda A: A, torch=None, jax=None,
        inputs=lambda size, rng: (np.ones(4),), sizes={"QUICK": {}},
    )  # fmt: skip
    row = table.row(broken, "QUICK", setting("QUICK"))
    assert row.problem and row.over_hand is None
    assert row.problem in "\n".join(table.lines([row]))


def test_an_unknown_program_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["no_such_program"])
    assert "no program 'no_such_program'; there are attention" in capsys.readouterr().err


def test_peers_take_turns_and_their_results_are_checked():
    row = times.row("blur_chain", "QUICK", 1, ["polyml", "numpy"], repeat=2, budget_s=5.0)
    assert set(row.seconds) == {"polyml", "numpy"} and not row.notes
    assert row.best == (row.ratios["numpy"], "numpy") and row.ratios["numpy"] > 0


def test_times_are_lines_of_a_table():
    rows = [
        times.Row("a", {"polyml": 0.001, "numpy": 0.004, "jax": 0.002}, {"numpy": 4.0, "jax": 2.0}),
        times.Row("b", {"polyml": 0.002, "numpy": 0.001}, {"numpy": 0.5}, {"jax": "wrong: 1.0e+00 apart"}),
        times.Row("c", {"numpy": 0.001}, {}, {"polyml": "refused: X: y", "jax": "unavailable: no"}),
    ]
    assert list(times.lines(rows, ["polyml", "numpy", "jax"])) == [
        "| program | polyml ms | numpy | jax | best |",
        "|---|---|---|---|---|",
        "| a | 1 | 4.00 | 2.00 | 2.00 jax |",
        "| b | 2 | 0.50 | - | 0.50 numpy |",
        "| c | - | - | - | - |",
        "",
        "geometric means: numpy 1.41, jax 2.00",
        "the best peer of each program / polyml: 1.00; under 0.9: b",
        "b, jax: wrong: 1.0e+00 apart",
        "c, polyml: refused: X: y",
    ]


def doubled(A):
    return np.add(A, A)


def doubled_sum(A):
    return np.sum(doubled(A))


class Recorded:
    """A module that writes down which of NumPy's functions are used."""

    def __init__(self):
        self.used = []

    def __getattr__(self, name):
        self.used.append(name)
        return getattr(np, name)


def test_a_function_and_those_that_it_calls_use_another_module():
    module = Recorded()
    assert with_module(doubled_sum, module)(np.ones(4)) == 8
    assert sorted(module.used) == ["add", "sum"]


@pytest.mark.parametrize("peer", ("torch", "jax"))
@pytest.mark.parametrize("name", programs())
@pytest.mark.sweep(keep=6)
def test_the_forms_of_other_libraries_compute_the_same(peer, name):
    pytest.importorskip(peer)
    program = programs()[name]
    arguments = program.arguments("QUICK")
    assert not program.problem(CALLS[peer](program, arguments, 1)(), arguments)
