"""The interpreter of programs: the order it runs instances in, and what each of them does."""

from collections import Counter

import islpy as isl
import numpy as np
import pytest

from polyml.codegen.astgen.build import build
from polyml.codegen.interpreter.call import UncertainBounds
from polyml.codegen.interpreter.order import sequence, walk
from polyml.codegen.interpreter.run import run
from polyml.codegen.ir.accesses import AccessTable
from polyml.codegen.ir.program import Guard, Instance, Jam, Loop, Program, Unroll
from polyml.dtypes import BOOL, F32, F64, I8, I32, I64, PYBOOL, PYFLOAT, PYINT, U8
from polyml.errors import BoundsError, PolymlOverflowError
from polyml.frontend import syntax
from polyml.frontend.interpreter import interpret
from polyml.frontend.parsing.parse import parse
from polyml.model.core.call_interface import ArrayResult, ScalarResult
from polyml.model.core.scop import Access, Check, Index, Role, ScalarArg
from polyml.polyhedra import points
from polyml.quasi_affine.affine import Affine, Compare, variable
from tests.codegen import handmade
from tests.codegen.handmade import load, plus, times
from tests.codegen.samples import SAMPLES, arguments_for, scop_of, triangle

I, J, N = variable("i"), variable("j"), variable("N")
ZERO = Affine(0)


def loop(name, lower, upper, body, *, step=1, parallel=False):
    return Loop(name, (lower,), (upper,), step, tuple(body), parallel)


def at(*point, statement="S"):
    return Instance(statement, tuple(point))


def order_of(nodes, n, **options):
    """The points that a program of one statement visits; walking needs no SCoP."""
    return [point for _, point in sequence(Program(None, tuple(nodes)), {"N": n}, **options)]


# the order of instances


def test_a_loop_runs_from_the_greatest_lower_to_the_least_upper_bound():
    node = Loop("i", (ZERO, Affine(2)), (N - 1, Affine(7)), 3, (at(I),))
    assert order_of([node], 100) == [(2,), (5,)]
    assert order_of([node], 5) == [(2,)]
    assert order_of([node], 2) == []


def test_a_guard_runs_its_body_where_it_holds():
    node = loop("i", ZERO, N - 1, [Guard(Compare(">=", I - 2), (at(I),)), at(I * -1)])
    assert order_of([node], 4) == [(0,), (-1,), (2,), (-2,), (3,), (-3,)]


def test_a_jam_runs_each_instance_for_all_its_iterations():
    node = Jam("i", Affine(4), 1, 2, None, (at(I, statement="S"), at(I, statement="T")))
    assert sequence(Program(None, (node,)), {}) == [("S", (4,)), ("S", (5,)), ("T", (4,)), ("T", (5,))]


def test_iterations_of_a_jam_above_its_limit_do_not_happen():
    node = Jam("i", Affine(4), 2, 4, N, (at(I),))
    assert order_of([node], 6) == [(4,), (5,), (6,)]
    assert order_of([node], 100) == [(i,) for i in range(4, 12)]
    assert order_of([node], 3) == []


def test_loops_inside_a_jam_run_once_for_all_its_iterations():
    node = Jam("i", ZERO, 2, 1, None, (loop("j", ZERO, N - 1, [at(I, J)]),))
    assert order_of([node], 2) == [(0, 0), (1, 0), (0, 1), (1, 1)]


def test_a_guard_inside_a_jam_keeps_some_of_its_iterations():
    node = Jam("i", ZERO, 3, 1, None, (Guard(Compare(">=", I - 1), (at(I), at(I * 10))),))
    assert order_of([node], 0) == [(1,), (2,), (10,), (20,)]


def test_nested_jams_run_every_combination_together():
    inner = Jam("j", I * 10, 2, 1, None, (at(I, J), at(J)))
    node = Jam("i", ZERO, 2, 1, None, (inner,))
    assert order_of([node], 0) == [(0, 0), (0, 1), (1, 10), (1, 11), (0,), (1,), (10,), (11,)]


def test_an_unroll_runs_the_whole_body_for_each_iteration():
    node = Unroll("i", N, 2, (at(I, statement="S"), at(I, statement="T")))
    assert sequence(Program(None, (node,)), {"N": 3}) == [("S", (3,)), ("T", (3,)), ("S", (4,)), ("T", (4,))]


def test_a_loop_whose_bounds_differ_inside_a_jam_is_refused():
    node = Jam("i", ZERO, 2, 1, None, (loop("j", ZERO, I, [at(I, J)]),))
    with pytest.raises(ValueError, match="loop j differ between iterations that run together"):
        order_of([node], 0)


@pytest.mark.parametrize("order", ["source", "reversed", "shuffled"])
def test_vectors_that_keep_their_order_read_for_all_lanes_before_they_write(order):
    seen = []
    node = Jam("i", ZERO, 2, 3, Affine(4), (at(I), Guard(Compare(">=", N), (at(I + 10),))), in_order=True)
    walk(Program(None, (node,)), {"N": 0}, lambda *given: None, together=lambda name, points: seen.append(points), order=order)
    assert [sorted(points) for points in seen] == [[(0,), (1,), (2,)], [(3,), (4,)], [(10,), (11,), (12,)], [(13,), (14,)]]
    outer = Jam("j", ZERO, 2, 1, None, (node,))
    with pytest.raises(ValueError, match="run inside of others"):
        order_of([outer], 0)


def test_other_orders_change_parallel_loops_and_jams_alone():
    sequential = loop("i", ZERO, Affine(3), [at(I)])
    parallel = loop("i", ZERO, Affine(3), [at(I)], parallel=True)
    jam = Jam("i", ZERO, 2, 2, None, (at(I),))
    forward = [(i,) for i in range(4)]
    assert order_of([sequential], 0, order="reversed") == forward
    assert order_of([parallel], 0, order="reversed") == forward[::-1]
    assert order_of([jam], 0, order="reversed") == forward[::-1]
    mixed = {tuple(order_of([parallel], 0, order="shuffled", seed=seed)) for seed in range(9)}
    assert len(mixed) > 3 and {tuple(sorted(m)) for m in mixed} == {tuple(forward)}


def test_a_name_out_of_its_loop_is_unknown():
    with pytest.raises(NameError):
        order_of([loop("i", ZERO, Affine(1), [at(I)]), at(I)], 0)


# what an instance does


def arguments(n=5, dtype="float64"):
    return {"A": (np.arange(n) * 3 - 2).astype(dtype), "B": (np.arange(n) - 1).astype(dtype)}


def run_value(value, reads, element=F64, args=None, **more):
    scop = handmade.vector_scop("A", value, reads, element=element, **more)
    args = args or arguments(dtype=element.numpy_name)
    return run(build(scop, scop.schedule), args), args


def test_a_statement_writes_its_value_over_what_it_reads():
    _, args = run_value(plus(load(0), times(load(1), load(1))), [("A", ["i"]), ("B", ["N - 1 - i"])])
    assert args["A"].tolist() == [-2 + 9, 1 + 4, 4 + 1, 7 + 0, 10 + 1]


def test_a_value_with_shared_parts_takes_time_linear_in_them():
    value = load(0)
    for _ in range(64):
        value = plus(value, value)
    _, args = run_value(value, [("A", ["i"])])
    assert args["A"].tolist() == [x * 2.0**64 for x in (-2, 1, 4, 7, 10)]


def test_a_branch_that_is_not_taken_reads_nothing():
    far = syntax.IfExp(syntax.Compare("<", load(0), syntax.Const(100.0, dtype=F64), dtype=BOOL), load(0), load(1), dtype=F64)
    _, args = run_value(far, [("A", ["i"]), ("B", ["i + 7"])])
    assert args["A"].tolist() == [-2, 1, 4, 7, 10]


def test_an_access_outside_its_array_is_refused_and_never_wraps():
    for subscript in ("i - 1", "i + 1"):
        with pytest.raises(BoundsError, match=r"B\[(-1|5)\] is outside shape \(5,\)"):
            run_value(load(0), [("B", [subscript])])


def c(value, dtype):
    return syntax.Const(value, dtype=dtype)


def binary(op, a, b, dtype):
    return syntax.Binary(op, c(a, dtype), c(b, dtype), dtype=dtype)


@pytest.mark.parametrize(
    ("value", "element", "wanted"),
    [
        (binary("//", -7, 2, I32), I32, -4),
        (binary("%", -7, 2, I32), I32, 1),
        (binary("//", 7, 0, I32), I32, 0),
        (binary("%", 7, 0, I8), I8, 0),
        (binary("//", -128, -1, I8), I8, -128),
        (binary("+", 127, 1, I8), I8, -128),
        (binary("-", 0, 1, U8), U8, 255),
        (binary("*", 16, 16, U8), U8, 0),
        (binary("**", 3, 5, U8), U8, 243),
        (binary("<<", 1, 8, I8), I8, 0),
        (binary(">>", -5, 1, I8), I8, -3),
        (binary("//", 7, 0, PYINT), I64, 0),
        (binary("%", -7, 3, PYINT), I64, 2),
        (binary("+", True, True, BOOL), BOOL, True),
        (binary("/", 1.0, 0.0, F64), F64, np.inf),
        (binary("/", 0.0, 0.0, F32), F32, np.nan),
        (binary("//", -7.5, 2.0, F64), F64, -4.0),
        (binary("%", -7.5, 2.0, F64), F64, 0.5),
        (binary("min", 1.0, np.nan, F64), F64, 1.0),
        (binary("min", np.nan, 1.0, F64), F64, np.nan),
        (binary("max", 0.0, -0.0, F64), F64, 0.0),
        (binary("+", 1e8, 1.0, F32), F32, np.float32(1e8)),
        (syntax.Unary("-", c(-128, I8), dtype=I8), I8, -128),
        (syntax.Unary("~", c(5, U8), dtype=U8), U8, 250),
        (syntax.Unary("not", c(0, I8), dtype=BOOL), BOOL, True),
        (syntax.Cast(c(300, I32), U8, dtype=U8), U8, 44),
        (syntax.Cast(c(-1.9, F64), I8, dtype=I8), I8, -1),
        (syntax.Cast(c(0.1, F64), F32, dtype=F32), F32, np.float32(0.1)),
        (syntax.Cast(c(-3, PYINT), F32, dtype=F32), F32, -3.0),
        (syntax.Cast(c(np.nan, F64), BOOL, dtype=BOOL), BOOL, True),
        (syntax.Call("sqrt", (c(-1.0, PYFLOAT),), "math", dtype=PYFLOAT), F64, np.nan),
        (syntax.Call("floor", (c(-1.5, PYFLOAT),), "math", dtype=PYINT), I64, -2),
        (syntax.Call("floor", (c(-1.5, F64),), dtype=F64), F64, -2.0),
        (syntax.Call("maximum", (c(1.0, F32), c(np.nan, F32)), dtype=F32), F32, np.nan),
        (syntax.Call("pow", (c(2.0, F64), c(0.5, F64)), dtype=F64), F64, 2.0**0.5),
        (syntax.Logical("and", (c(True, BOOL), c(False, PYBOOL)), dtype=BOOL), BOOL, False),
    ],
)
def test_values_follow_the_rules_of_their_types(value, element, wanted):
    if value.dtype == PYINT:
        value = syntax.Cast(value, element, True, dtype=element)
    _, args = run_value(value, [], element=element)
    assert args["A"].dtype == element.numpy_name
    np.testing.assert_array_equal(args["A"], np.full(5, wanted, element.numpy_name))
    assert not args["A"].dtype.kind == "f" or (np.signbit(args["A"]) == np.signbit(wanted)).all() or np.isnan(wanted)


@pytest.mark.parametrize(
    "value",
    [
        binary("*", 2**40, 2**40, PYINT),
        binary("**", 2, 10**9, PYINT),
        binary("<<", 1, 63, PYINT),
        binary("//", -(2**63), -1, PYINT),
        syntax.Cast(c(1e30, F64), PYINT, dtype=PYINT),
        syntax.Cast(c(np.nan, F64), PYINT, dtype=PYINT),
    ],
)
def test_a_python_int_that_leaves_64_bits_is_refused(value):
    with pytest.raises(PolymlOverflowError):
        run_value(syntax.Cast(value, F64, dtype=F64), [])


def test_a_python_int_that_its_element_cannot_hold_is_refused():
    with pytest.raises(PolymlOverflowError, match="the Python int 128 does not fit i8"):
        run_value(syntax.Cast(c(128, PYINT), I8, True, dtype=I8), [], element=I8)


def test_a_value_of_another_type_than_its_element_is_a_defect_of_the_typing():
    with pytest.raises(TypeError, match="is not of type f32"):
        run_value(c(1.0, F64), [], element=F32)
    with pytest.raises(TypeError, match="is not of type i64"):
        run_value(syntax.Binary("+", c(1, I32), c(1, I32), dtype=I64), [], element=I64)


def test_affine_integers_and_number_arguments_are_leaves():
    index = Index(isl.PwAff("[N] -> { S[i] -> [(2i + N)] }"), dtype=PYINT)
    value = times(syntax.Cast(index, F64, dtype=F64), ScalarArg("alpha", dtype=F64))
    _, args = run_value(value, [], args=arguments() | {"alpha": np.float64(0.5)})
    assert args["A"].tolist() == [2.5, 3.5, 4.5, 5.5, 6.5]


# memory, checks and results


def local_scop(element, value):
    """T[0] is never written: A[i] = value(T[0])."""
    extra = {"T": (Role.LOCAL, element, ["1"])}
    return handmade.vector_scop("A", value, [("T", ["0"])], extra=extra)


def test_memory_that_was_never_written_shows():
    scop, args = local_scop(F64, load(0)), arguments()
    run(build(scop, scop.schedule), args)
    assert np.isnan(args["A"]).all()
    scop = local_scop(I32, syntax.Cast(load(0, I32), F64, dtype=F64))
    run(build(scop, scop.schedule), args)
    assert args["A"].tolist() == [float(np.array([0xA5A5A5A5], np.uint32).view(np.int32)[0])] * 5


def test_other_layouts_of_memory_are_read_and_written_in_place():
    room = np.zeros(20)
    args = {"A": room[18:8:-2], "B": np.arange(5.0)}
    run_value(load(0), [("B", ["i"])], args=args)
    assert room.tolist() == [0.0] * 10 + [4, 0, 3, 0, 2, 0, 1, 0, 0, 0]


def check(kind, violated, may=False):
    return Check(kind=kind, violated=isl.Set(violated), instances=isl.Set("{ S[i] }"), iterators=("i",), what="`B[i]`", may=may)


@pytest.mark.parametrize(
    ("made", "error"),
    [
        (check("bounds", "[N] -> { : N >= 3 }"), BoundsError),
        (check("bounds", "[N] -> { : N >= 3 }", may=True), UncertainBounds),
        (check("range", "[N] -> { : N >= 3 }"), PolymlOverflowError),
        (check("range", "[N] -> { : N >= 3 }", may=True), UncertainBounds),
        (check("shape", "[N] -> { : N >= 3 }"), ValueError),
    ],
)
def test_a_violated_check_raises_before_anything_is_written(made, error):
    scop = handmade.vector_scop("A", load(0), [("B", ["i"])])
    scop = handmade.changed(scop, checks=(made,))
    program = build(scop, scop.schedule)
    args = arguments(5)
    with pytest.raises(error) as caught:
        run(program, args)
    assert type(caught.value) is error and "`B[i]`" in str(caught.value)
    assert args["A"].tolist() == arguments(5)["A"].tolist()
    few = arguments(2)
    run(program, few)
    assert few["A"].tolist() == few["B"].tolist()


def test_results_are_arrays_numpy_scalars_and_python_numbers():
    scop = handmade.vector_scop("x", c(1.5, F64), [], extra={"x": (Role.LOCAL, F64, [])}, write_at=[])
    args = arguments()
    results = (ArrayResult("A"), ScalarResult("x", F64), ScalarResult("x", PYFLOAT))
    array, scalar, number = run(build(handmade.changed(scop, results=results, is_tuple=True), scop.schedule), args)
    assert array is args["A"]
    assert (type(scalar), scalar, type(number), number) == (np.float64, 1.5, float, 1.5)
    assert run(build(handmade.changed(scop, results=results[1:2]), scop.schedule), args) == 1.5
    assert run(build(scop, scop.schedule), args) is None


def test_an_argument_of_another_type_is_refused():
    with pytest.raises(TypeError, match="A is not of type f64 with 1 dimensions"):
        run_value(load(0), [("B", ["i"])], args=arguments(dtype="float32"))


# programs that isl built


def test_reversing_a_loop_that_is_wrongly_called_parallel_changes_the_result():
    def prefix_sums(order, parallel):
        reads = [("A", ["i"]), ("A", ["i - 1"])]
        scop = handmade.vector_scop("A", plus(load(0), load(1)), reads, domain="[i] : 0 < i < N")
        body = (loop("i", Affine(1), N - 1, [at(I)], parallel=parallel),)
        args = arguments()
        run(Program(scop, body), args, order=order)
        return args["A"].tolist()

    wanted = np.cumsum(arguments()["A"]).tolist()
    assert prefix_sums("source", False) == prefix_sums("reversed", False) == wanted
    assert prefix_sums("reversed", True) != wanted


@pytest.mark.parametrize("n", [0, 1, 4, 7])
@pytest.mark.parametrize(
    "schedule",
    [
        "[{ S[i, j] -> [(i)] }, { S[i, j] -> [(j)] }]",
        "[{ S[i, j] -> [(-j)] }, { S[i, j] -> [(i + 2j)] }]",
        "[{ S[i, j] -> [(floor(i/3))] }, { S[i, j] -> [(floor(j/2))] }, { S[i, j] -> [(i)] }, { S[i, j] -> [(j)] }]",
        "[{ S[i, j] -> [(i mod 3)] }, { S[i, j] -> [(j - i)] }, { S[i, j] -> [(i)] }]",
    ],
)
def test_every_instance_runs_once_in_the_order_of_its_schedule(schedule, n):
    domain = "[N] -> { S[i, j] : 0 <= i < N and i <= j < N and (i + j) mod 3 != 1 }"
    tree = isl.Schedule(f'{{ domain: "{domain}", child: {{ schedule: "{schedule}" }} }}')
    scop = handmade.triangle_scop(domain)
    ran = sequence(build(scop, tree), {"N": n})
    assert set(Counter(ran).values()) <= {1}
    assert set(ran) == points(isl.Set(domain), N=n)
    dates = dict(points(tree.get_map().intersect_domain(tree.get_domain()), N=n))
    order = [dates[instance] for instance in ran]
    assert order == sorted(order)


@pytest.mark.parametrize("subscript", ["i + 1", "i - 2j + N", "floor((i + j)/2)", "(2i + j) mod 5", "max(i, j)", "min(i, N - j)"])
def test_compiled_subscripts_are_those_of_the_relation(subscript):
    head = "[N] -> { S[i, j] -> "
    if subscript.startswith(("max", "min")):
        a, b = subscript[4:-1].split(", ")
        less = ">=" if subscript.startswith("max") else "<="
        cases = [f"[({a})] : {a} {less} {b}", f"[({b})] : not ({a} {less} {b})"]
        value = isl.PwAff(f"[N] -> {{ {'; '.join(f'S[i, j] -> {case}' for case in cases)} }}")
    else:
        value = isl.PwAff(f"{head}[({subscript})] }}")
    relation = isl.Map.from_pw_aff(value).intersect_domain(isl.Set("{ S[i, j] : -4 <= i <= 4 and -4 <= j <= 4 }"))
    access = Access(array="A", relation=relation, subscripts=(value,))
    (compiled,) = AccessTable(isl.Set("[N] -> { : N >= 0 }")).subscripts(access)
    for n in (0, 3):
        for (_, (i, j)), (_, (element,)) in points(relation, N=n):
            assert compiled.evaluate({"N": n, "i": i, "j": j}) == element


# against the definition of the language


def same(got, wanted):
    assert type(got) is type(wanted)
    if isinstance(wanted, tuple):
        assert len(got) == len(wanted)
        for a, b in zip(got, wanted):
            same(a, b)
    else:
        np.testing.assert_array_equal(got, wanted, strict=True)


@pytest.mark.parametrize("n", [3, 8])
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda f: f.__name__)
def test_source_order_gives_what_the_language_says(sample, n):
    wanted, got = arguments_for(sample, n), arguments_for(sample, n)
    result = interpret(parse(sample), list(wanted.values()))
    scop = scop_of(sample, got)
    same(run(build(scop, scop.schedule), got), result)
    same(tuple(got.values()), tuple(wanted.values()))


def test_a_violated_bound_raises_and_leaves_the_arguments_alone():
    args = arguments_for(triangle, 5) | {"x": np.arange(4)}
    scop = scop_of(triangle, args)
    with pytest.raises(IndexError, match=r"x\[i\]"):
        run(build(scop, scop.schedule), args)
    assert args["x"].tolist() == [0, 1, 2, 3]
