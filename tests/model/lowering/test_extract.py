"""Domains, accesses, values and the source order of what a kernel becomes."""

import islpy as isl
import numpy as np
import pytest

from polyml.codegen.astgen.build import build
from polyml.codegen.interpreter.run import run
from polyml.dtypes import BOOL, F64, I64, PYBOOL, PYFLOAT, PYINT
from polyml.errors import NotAffineError
from polyml.frontend import syntax
from polyml.frontend.interpreter import interpret
from polyml.frontend.parsing.parse import parse
from polyml.frontend.syntax import ArrayType, ScalarType
from polyml.model.core.call_interface import ArrayResult, Parameter, ScalarResult
from polyml.model.core.nest import subvalues
from polyml.model.core.scop import Index, Load, Role, ScalarArg
from polyml.polyhedra import points
from tests.model.modelling import INT, MATRIX, VECTOR, events, instances, model, model_for, sizes_of
from tests.model.polybench import NAMES, case


def steps(A):
    for i in range(0, A.shape[0], 2):
        A[i] += 1
    for i in range(A.shape[0] - 1, -1, -3):
        A[i] -= 2
    for i in range(3, A.shape[0] - 1, 4):
        for j in range(i, 1, -2):
            A[j] += i


def triangles(A):
    n = A.shape[0]
    for i in range(n):
        for j in range(i + 1, min(n, i + 3)):
            A[i, j] = 1
        for j in range(max(0, i - 2), i // 2):
            A[i, j] = 2
        for j in range((2 * n - i) % 5):
            A[i, i] += j


def guards(A, k):
    n = A.shape[0]
    for i in range(n):
        if i % 2 == 0 and not i == k:
            A[i] = 1
        elif i > k or 2 < i <= 4:
            A[i] = 2
        else:
            A[i] = 3
            if i != 3:
                A[i] += 1
    if n > 4:
        A[0] = 5


@pytest.mark.parametrize("size", [0, 1, 2, 7, 9])
@pytest.mark.parametrize("function, shape, more", [(steps, 1, ()), (triangles, 2, ()), (guards, 1, (3,))])
def test_domains_have_exactly_the_instances_that_run(function, shape, more, size):
    args = [np.zeros((size,) * shape), *more]
    scop = model_for(function, args)
    expected = [instance for instance, _, (_, element) in events(function, args) if element]
    assert sorted(instances(scop, sizes_of(scop, args))) == sorted(expected)


@pytest.mark.parametrize("name", NAMES)
def test_polybench_runs_its_instances_in_source_order_and_computes_the_same(name):
    kernel = case(name)
    expected, found = kernel.args, kernel.args
    interpret(parse(kernel.function), expected)
    scop = model_for(kernel.function, found)
    run(build(scop, scop.schedule), dict(zip(scop.params, found)))
    for a, b in zip(expected, found):
        np.testing.assert_array_equal(a, b)


def test_parameters_take_the_name_that_the_source_gives_a_size():
    def named(A, B, C, n, k):
        N, M = A.shape
        P = B.shape[0]
        for i in range(N):
            for j in range(M):
                A[i, j] = B[i] * k + C[n, i]

    scop = model(named, MATRIX, VECTOR, MATRIX, INT, INT)
    assert scop.parameters == (
        Parameter("N", "A", 0, "A"),
        Parameter("M", "A", 1, "A"),
        Parameter("P", "B", 0, "B"),
        Parameter("C_0", "C", 0, "C"),
        Parameter("C_1", "C", 1, "C"),
        Parameter("n", None, 0, "n"),
    )
    assert scop.context.is_equal(isl.Set("[n, N, M, P, C_0, C_1] -> { : N, M, P, C_0, C_1 >= 0 }"))


def test_an_integer_argument_that_is_only_a_value_is_no_parameter():
    def scaled(A, n, m):
        for i in range(n):
            A[i] = A[i] * m

    scop = model(scaled, VECTOR, INT, INT)
    assert {p.name for p in scop.parameters} == {"n", "A_0"}
    leaves = [v for v in subvalues(scop.statements["S0"].value) if isinstance(v, ScalarArg)]
    assert leaves == [ScalarArg("m", dtype=PYINT)]


def test_a_truth_argument_guards_a_domain():
    def flagged(A, on):
        for i in range(A.shape[0]):
            if on:
                A[i] = 1
            else:
                A[i] = 2

    scop = model(flagged, VECTOR, ScalarType(PYBOOL))
    assert points(scop.domain, A_0=2, on=1) == {("S0", (0,)), ("S0", (1,))}
    assert points(scop.domain, A_0=2, on=0) == {("S1", (0,)), ("S1", (1,))}


def test_names_that_isl_cannot_read_are_changed():
    def kernel(mod, floor, ä):
        for max in range(floor):
            for S0 in range(ä):
                mod[max, S0] = 1

    scop = model(kernel, MATRIX, INT, INT)
    assert scop.params == ("mod", "floor", "ä")
    assert {(p.name, p.argument) for p in scop.parameters} >= {("floor_", "floor"), ("_", "ä")}
    assert scop.arrays["mod_"].source_name == "mod"
    assert isl.UnionSet(str(scop.domain)).is_equal(scop.domain)
    assert isl.Schedule(str(scop.schedule)).get_domain().is_equal(scop.domain)


def test_local_integers_are_followed_forward():
    def folded(A):
        n = A.shape[0]
        for i in range(n):
            m = n - i - 1
            last = m
            if i > 2:
                last = m - 1
            A[last] = A[m // 2]

    scop = model(folded, VECTOR)
    assert list(scop.arrays) == ["A"]
    (statement,) = scop.statements.values()
    expected = isl.Map("[n] -> { S0[i] -> A[n - i - 1] : i <= 2; S0[i] -> A[n - i - 2] : i > 2 }")
    inside = statement.domain.intersect(isl.Set("[n] -> { S0[i] : i <= n - 2 }"))
    assert statement.write.relation.intersect_domain(inside).is_equal(expected.intersect_domain(inside))


def test_an_integer_that_a_loop_carries_is_memory():
    def counted(A):
        k = 0
        for i in range(A.shape[0]):
            k = k + i
            A[i] = k

    scop = model(counted, VECTOR)
    assert scop.arrays["k"].element == PYINT and scop.arrays["k"].role is Role.LOCAL
    assert [s.write.array for s in scop.statements.values()] == ["k", "k", "A"]


def test_block_local_scalars_move_into_their_uses():
    def smooth(A, B):
        for i in range(1, A.shape[0] - 1):
            left = A[i - 1]
            both = left + A[i + 1]
            B[i] = both * both
            A[i] = both

    scop = model(smooth, VECTOR, VECTOR)
    assert [s.write.array for s in scop.statements.values()] == ["B", "A"]
    product = scop.statements["S0"].value
    assert product.left is product.right


def test_a_scalar_stays_where_its_operands_change_before_its_use():
    def swap(A):
        for i in range(A.shape[0] - 1):
            t = A[i]
            A[i] = A[i + 1]
            A[i + 1] = t

    assert [s.write.array for s in model(swap, VECTOR).statements.values()] == ["t", "A", "A"]


def test_with_aliased_arguments_a_value_is_read_where_the_source_reads_it():
    def through(A, B):
        for i in range(A.shape[0]):
            t = A[i]
            B[i] = 0
            A[i] = t + 1

    assert "t" not in model(through, VECTOR, VECTOR).arrays
    assert "t" in model(through, VECTOR, VECTOR, aliased=True).arrays


def test_negative_subscripts_count_from_the_end():
    def ends(A):
        for i in range(A.shape[0]):
            A[-1 - i] = A[i - 2] + A[-1]

    scop = model(ends, VECTOR)
    (s,) = scop.statements.values()
    assert s.write.relation.is_equal(isl.Map("[A_0] -> { S0[i] -> A[A_0 - 1 - i] }"))
    wrapped, last = (r.relation.intersect_domain(s.domain) for r in s.reads)
    assert points(wrapped, A_0=4) == {(("S0", (i,)), ("A", ((i - 2) % 4,))) for i in range(4)}
    assert points(last, A_0=4) == {(("S0", (i,)), ("A", (3,))) for i in range(4)}


def test_a_wrap_that_cannot_happen_leaves_no_case():
    def inner(A):
        n = A.shape[0]
        A[n - 1] = 0
        for i in range(1, n):
            for j in range(i, n):
                A[j - i] = A[j - 1]

    for s in model(inner, VECTOR).statements.values():
        for access in (s.write, *s.reads):
            assert [subscript.n_piece() for subscript in access.subscripts] == [1]
            assert "A_0" not in str(access.relation)


def test_selects_on_affine_conditions_become_statements_over_disjoint_domains():
    def padded(A, B):
        n = A.shape[0]
        for i in range(n):
            B[i] = (A[i - 1] if i > 0 else 0.0) + (A[i + 1] if i < n - 1 else 0.0)

    scop = model(padded, VECTOR, VECTOR)
    assert sorted(len(s.reads) for s in scop.statements.values()) == [0, 1, 1, 2]
    assert all(not access.may for s in scop.statements.values() for access in s.reads)
    assert not [c for c in scop.checks if c.what.startswith("A")]
    assert sorted(instances(scop, {"n": 5, "B_0": 5})) == [(scop.statements["S0"].loc.line, (i,)) for i in range(5)]


def test_a_condition_on_data_becomes_a_select_with_may_accesses():
    def positive(A, B, C):
        for i in range(A.shape[0]):
            if A[i] > 0:
                B[i] = C[i]

    (s,) = model(positive, VECTOR, VECTOR, VECTOR).statements.values()
    assert isinstance(s.value, syntax.IfExp) and s.write.may
    assert {a.array: a.may for a in s.reads} == {"A": False, "C": True, "B": True}


def test_a_condition_whose_operands_the_body_changes_is_stored_first():
    def flip(A, B):
        for i in range(A.shape[0]):
            if A[i] > 0:
                A[i] = -1.0
                B[i] = 2.0

    scop = model(flip, VECTOR, VECTOR)
    assert [s.write.array for s in scop.statements.values()] == ["cond", "A", "B"]
    assert scop.arrays["cond"].element == BOOL


def test_a_scalar_set_in_both_branches_is_one_select_without_its_old_value():
    def branches(A, B):
        for i in range(A.shape[0]):
            if A[i] > 0:
                t = A[i] * 2
                u = t
            else:
                t = -A[i]
                u = 1.0
            B[i] = t + u

    (s,) = model(branches, VECTOR, VECTOR).statements.values()
    assert s.write.array == "B" and not s.write.may
    assert [a.array for a in s.reads] == ["A"]


def test_stores_of_both_branches_to_the_same_elements_are_one_store_each():
    def either(A, B):
        for i in range(A.shape[0]):
            if A[i] > 0:
                B[i] = 1.0
                t = B[i] + 1
                A[i] = t
            else:
                B[i] = 2.0
                A[i] = B[i] * 3

    scop = model(either, VECTOR, VECTOR)
    assert [(s.write.array, s.write.may) for s in scop.statements.values()] == [("B", False), ("A", False)]


def test_an_affine_part_of_a_condition_keeps_the_rest_from_being_read():
    def guarded(A, B):
        n = A.shape[0]
        for i in range(n):
            if i < n - 1 and A[i + 1] > 0:
                B[i] = 1.0
            else:
                B[i] = 2.0

    scop = model(guarded, VECTOR, VECTOR)
    assert [(c.what, c.may) for c in scop.checks] == [("B[i]", False), ("B[i]", False)]


def test_local_arrays_are_filled_by_statements_and_results_are_given_out():
    def built(A):
        n, m = A.shape
        total = np.zeros(n)
        scratch = np.empty((m, 2))
        for i in range(n):
            for j in range(m):
                scratch[j, 1] = A[i, j]
                total[i] += scratch[j, 1]
        best = 0.0
        for i in range(n):
            best = max(best, total[i])
        return total, best, n + 1

    scop = model(built, MATRIX)
    assert scop.arrays["total"].role is Role.RESULT and scop.arrays["scratch"].role is Role.LOCAL
    assert [str(extent) for extent in scop.arrays["scratch"].shape] == [
        "[m] -> { [] -> [(m)] }",
        "{ [] -> [(2)] }",
    ]
    first = scop.statements["S0"]
    assert first.write.array == "total" and first.iterators == ("d0",)
    assert first.value == syntax.Const(0.0, dtype=F64)
    array, best, count = scop.results
    assert (array, scop.result_is_tuple) == (ArrayResult("total"), True)
    assert best == ScalarResult("best", scop.arrays["best"].element)
    assert count.dtype == PYINT
    assert isinstance(scop.statements["S4"].value, Index) or any(isinstance(s.value, Index) for s in scop.statements.values())


def test_values_have_affine_integers_as_one_leaf():
    def indexed(A, x):
        for i in range(A.shape[0]):
            A[i] = (2 * i + A.shape[0] - 1) * x + A[i] * A[i]

    scop = model(indexed, VECTOR, ScalarType(PYFLOAT))
    (s,) = scop.statements.values()
    (index,) = [v for v in subvalues(s.value) if isinstance(v, Index)]
    assert index.dtype in (PYINT, I64)
    assert index.value.is_equal(isl.PwAff("[A_0] -> { S0[i] -> [(2i + A_0 - 1)] }"))
    assert [v.access for v in subvalues(s.value) if isinstance(v, Load)] == [0, 0]
    assert len(s.reads) == 1


def test_the_source_order_is_a_tree_of_loops_and_sequences():
    def nest(A, B):
        for i in range(A.shape[0]):
            A[i] = 0
            for j in range(i, -1, -1):
                B[j] += A[i]
        B[0] = 1

    scop = model(nest, VECTOR, VECTOR)
    times = points(scop.schedule.get_map().intersect_domain(scop.domain), A_0=3)
    order = sorted((time, name, point) for (name, point), (_, time) in times)
    expected = []
    for i in range(3):
        expected.append(("S0", (i,)))
        expected += [("S1", (i, j)) for j in range(i, -1, -1)]
    expected.append(("S2", ()))
    assert [(name, point) for _, name, point in order] == expected
    assert [s.iterators for s in scop.statements.values()] == [("i",), ("i", "j"), ()]


def test_a_kernel_without_statements_has_an_empty_domain():
    def nothing(A):
        for i in range(A.shape[0]):
            n = i

    scop = model(nothing, VECTOR)
    assert scop.domain.is_empty() and scop.schedule.get_domain().is_empty()


def _refused(function, *types):
    with pytest.raises(NotAffineError) as caught:
        model(function, *types)
    head, *rest = str(caught.value).splitlines()
    return "\n".join([head.split(": ", 1)[1], *rest])


def test_a_subscript_that_is_not_affine_is_shown():
    def square(A, B):
        for i in range(A.shape[0]):
            A[i * i] = B[i]

    assert _refused(square, VECTOR, VECTOR) == (
        "error: subscript `i * i` is not affine in the loop variables\n"
        "                  A[i * i] = B[i]\n"
        "                    ^^^^^\n"
        "  note: polyml needs subscripts of the form c0 + c1*i + c2*j with integer c"
    )


def test_a_subscript_read_from_memory_is_shown():
    def gather(A, index):
        for i in range(A.shape[0]):
            A[index[i]] = 0

    text = _refused(gather, VECTOR, ArrayType(I64, 1))
    assert text.startswith("error: subscript `index[i]` is not affine in the loop variables\n")
    assert text.splitlines()[2].strip() == "^" * len("index[i]")


def test_a_bound_that_is_not_affine_is_shown():
    def ragged(A, count):
        for i in range(A.shape[0]):
            for j in range(count[i]):
                A[i, j] = 0

    assert _refused(ragged, MATRIX, ArrayType(I64, 1)) == (
        "error: loop bound `count[i]` is not affine in the loop variables and sizes\n"
        "                  for j in range(count[i]):\n"
        "                                 ^^^^^^^^\n"
        "  note: polyml needs bounds of the form c0 + c1*i + c2*N with integer c, and min, max, // and % of such"
    )


def test_an_array_that_grows_with_the_loop_is_shown():
    def growing(A):
        for i in range(A.shape[0]):
            t = np.zeros(i + 1)
            t[i] = 1
            A[i] = t[i]

    assert _refused(growing, VECTOR) == (
        "error: array size `i + 1` changes with the loop\n"
        "                  t = np.zeros(i + 1)\n"
        "                               ^^^^^\n"
        "  note: polyml allocates arrays whose sizes stay the same; allocate the largest one before the loop"
    )


def test_an_array_allocated_under_a_condition_on_data_is_there_in_any_case():
    def sometimes(A):
        for i in range(A.shape[0]):
            if A[i] > 0:
                t = np.zeros(3)
                t[0] = A[i] + 1
                A[i] = t[0] * 2

    A = np.array([1.0, -1.0, 2.0])
    scop = model(sometimes, VECTOR)
    assert scop.arrays["t"].role is Role.LOCAL
    run(build(scop, scop.schedule), {"A": A})
    assert A.tolist() == [4.0, -1.0, 6.0]


def test_a_number_whose_arithmetic_wraps_is_named_where_it_keeps_a_bound_from_being_affine():
    def alternating(A, B, steps):
        for t in range(steps):
            for i in range(1, A.shape[0] - 1):
                B[i] = A[i - 1] + A[i + 1]
            A, B = B, A

    with pytest.raises(NotAffineError) as caught:
        model_for(alternating, [np.ones(4), np.ones(4), np.int32(3)])
    assert "steps is i32, whose arithmetic differs from that of Python's integers: pass int(steps)" in caught.value.notes
    model_for(alternating, [np.ones(4), np.ones(4), 3])
