"""Points, witnesses, texts and the budget of isl operations."""

from fractions import Fraction

import islpy as isl
import pytest

from polyml.model.counting.lattice_points import lattice
from polyml.polyhedra import (
    BudgetExceeded,
    Frame,
    budget,
    fix,
    is_within,
    iterator_coefficients,
    length,
    minimum,
    parameter_names,
    parameter_range,
    points,
    range_of_dimension,
    ranges,
    text,
    used_parameters,
    with_parameters_in_front,
    witness,
)

TRIANGLE = "[N] -> { S[i, j] : 0 <= i < N and 0 <= j <= i }"


def test_points_of_a_set_are_named_tuples():
    assert points(isl.Set(TRIANGLE), N=2) == {("S", (0, 0)), ("S", (1, 0)), ("S", (1, 1))}


def test_points_of_a_union_and_of_relations():
    union = isl.UnionSet("[N] -> { S[i] : 0 <= i < N; T[] }")
    assert points(union, N=1) == {("S", (0,)), ("T", ())}
    relation = isl.UnionMap("[N] -> { S[i] -> A[i + 1, N] : 0 <= i < N }")
    assert points(relation, N=2) == {(("S", (0,)), ("A", (1, 2))), (("S", (1,)), ("A", (2, 2)))}
    assert points(isl.Map("{ S[i] -> T[i, 2i] : 1 <= i <= 1 }")) == {(("S", (1,)), ("T", (1, 2)))}
    assert points(isl.Map("{ S[] -> T[] }")) == {(("S", ()), ("T", ()))} and points(isl.Set("{ S[i] : i < 0 and i > 0 }")) == set()
    far = 10**30
    assert points(isl.Set(f"{{ [i, j] : i = -{far} and j = {far} }}")) == {("", (-far, far))}


def test_points_of_something_infinite_are_refused():
    with pytest.raises(ValueError, match="not finite"):
        points(isl.Set("{ S[i] : i >= 0 }"))


def test_the_witness_has_the_least_sizes_then_the_first_instance():
    found = witness(isl.Set("[N, M] -> { S[i, j] : 3 <= i < N and 0 <= j }"))
    assert str(found) == "S[3, 0] with N = 4"
    assert found.instances == (("S", (3, 0)),) and found.sizes == (("N", 4),)


def test_the_witness_of_a_relation_is_a_pair():
    broken = isl.UnionMap("[N] -> { S[i] -> T[j, k] : 1 <= i < N and j = i + 1 and k = 2; S[i] -> S[i] : 5 <= i < N }")
    assert str(witness(broken)) == "S[1] -> T[2, 2] with N = 2"


def test_the_witness_is_the_least_of_all_alternatives():
    alternatives = "i = 9 or i = 4 and j >= 2 or i mod 5 = 4 and i > 4 or i mod 3 = 1 and i >= 2 and j = 3"
    assert str(witness(isl.Set(f"{{ S[i, j] : ({alternatives}) and 0 <= j <= 5 }}"))) == "S[4, 2]"


def test_a_witness_exists_where_no_least_point_does():
    assert str(witness(isl.Set("[n] -> { S[i] : i <= n and n <= -3 }"))).startswith("S[")


def test_nothing_has_no_witness():
    assert witness(isl.Set("{ S[i] : i > 0 and i < 0 }")) is None
    assert witness(isl.UnionMap("{ }")) is None


def test_fix_passes_over_parameters_that_do_not_occur():
    assert fix(isl.Set(TRIANGLE), {"N": 1, "M": 3}).is_equal(isl.Set("[N] -> { S[0, 0] : N = 1 }"))
    assert points(fix(isl.UnionSet(TRIANGLE), {"N": 1}), N=1) == {("S", (0, 0))}


def test_parameters_by_name():
    value = isl.Set("[N, M] -> { S[i] : i < M }")
    assert parameter_names(value) == ("N", "M")
    assert used_parameters(value) == ("M",)


def test_a_frame_builds_affine_expressions_by_name():
    frame = Frame(("N",), ("i", "j"))
    built = frame.aff(-1, [("i", 2), ("N", 1)]).to_pw_aff()
    assert built.is_equal(isl.PwAff("[N] -> { [i, j] -> [(2i + N - 1)] }"))


def test_text_has_one_line_per_pair():
    relation = isl.UnionMap("[N] -> { S[i] -> T[i] : 0 <= i < N; A[] -> S[0] }")
    first, second = text(relation).splitlines()
    assert first == "A[] -> S[0]"
    assert isl.UnionMap(f"[N] -> {{ {first}; {second} }}").is_equal(relation)
    assert text(isl.UnionMap("{ }")) == "(empty)"


def _much_work():
    relation = isl.Map("[N] -> { S[i, j, k] -> S[k, i + j, 3j] : 0 <= i, j, k < N and 2i + 3j > k }")
    return relation.apply_range(relation).subtract(relation).transitive_closure()


def test_a_budget_stops_isl_and_everything_works_afterwards():
    with pytest.raises(BudgetExceeded, match="isl exceeded 1000 operations"), budget(1000):
        _much_work()
    assert not isl.Set(TRIANGLE).is_empty()


def test_a_budget_also_stops_where_a_number_is_read():
    number = isl.Val(5)
    with pytest.raises(BudgetExceeded, match="isl exceeded 10 operations"), budget(10):
        for _ in range(100):
            number.to_python()
    assert number.to_python() == 5


def test_a_budget_that_ends_while_points_are_listed_prints_nothing(capfd):
    square = isl.Set("{ S[i, j] : 0 <= i, j < 40 }")
    for operations in range(100, 12_000, 41):
        try:
            with budget(operations):
                assert len(points(square)) == 1600
        except BudgetExceeded:
            continue
    assert capfd.readouterr() == ("", "")


def test_a_budget_that_suffices_changes_nothing():
    with budget(10_000_000):
        assert points(isl.Set(TRIANGLE), N=1) == {("S", (0, 0))}


def test_other_errors_pass_through_a_budget():
    with pytest.raises(isl.Error, match="syntax error"), budget(1_000_000):
        isl.Set("{ S[i] : ")


def test_an_inner_budget_ends_without_ending_the_outer_one():
    with pytest.raises(BudgetExceeded, match="2000"), budget(2000):
        with pytest.raises(BudgetExceeded, match="1000"), budget(1000):
            _much_work()
        _much_work()


def test_coefficients_may_be_fractions():
    """isl's scheduler finds such loops where a statement runs for each other iteration alone."""
    loop = isl.PwAff("[N] -> { S[i, j] -> [(2*i + N)] : i <= 3; S[i, j] -> [(i - (3*j)/2)] : i > 3 }")
    assert sorted(iterator_coefficients(loop)) == [(1, Fraction(-3, 2)), (2, 0)]


def test_values_whose_ends_are_quotients_may_be_apart():
    """isl has no maximum of the difference of such ends."""
    values = isl.Set("[C, B, A] -> { [i] : (1 + i) mod 2 = 0 and 0 <= i < B and i <= C - 4 and 3*floor(i/3) < i }")
    assert not is_within(values, 100)
    short = values.intersect(isl.Set("[C, B, A] -> { [i] : C <= 20 }"))
    assert is_within(short, 16) and not is_within(short, 10)


def test_least_and_greatest_values_are_those_of_the_points():
    """Of a set for which isl's minimum of one dimension, by search, is 2 in place of 1."""
    constraints = [
        "5*i1 + i2 + 6*i3 + 2*i4 + i5 = 12", "i0 <= 4", "i1 >= 0", "i2 >= 0", "i3 >= 0", "i3 <= 1", "i4 >= 0", "i4 <= 2",
        "12 - 5*i1 - i2 - 6*i3 - 2*i4 >= 0", "5*i1 + i2 + 6*i3 + 2*i4 >= 11", "i0 - 5*i1 - i2 >= 0", "5*i1 + i2 >= 1",
        "12 - 5*i1 - i2 >= 0",
    ]  # fmt: skip
    domain = isl.Set(f"{{ [i0, i1, i2, i3, i4, i5] : {' and '.join(constraints)} }}")
    found = {point for _, point in points(isl.Set(str(domain)))}
    ends = [(min(values), max(values)) for values in zip(*found)]
    assert ranges(domain) == [range_of_dimension(domain, dim) for dim in range(6)] == ends
    assert [length(domain, dim) for dim in range(6)] == [last - first + 1 for first, last in ends]
    assert [minimum(domain, {dim: 1}) for dim in range(6)] == [first for first, _ in ends]
    assert parameter_range(isl.Set(f"[i0, i1, i2, i3, i4, i5] -> {{ : {' and '.join(constraints)} }}"), "i2") == ends[2]
    assert set(map(tuple, lattice(domain).tolist())) == found


def test_parameters_become_the_first_dimensions():
    values = isl.Set("[n, m] -> { A[i] : 0 <= i < n + 2m and m = 1 and 0 <= n < 3 }")
    found = with_parameters_in_front(values, ["m", "n"])
    assert sorted(map(tuple, lattice(found).tolist())) == [(1, n, i) for n in range(3) for i in range(n + 2)]
