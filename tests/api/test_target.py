"""Kernels whose calls run on a simulated systolic array: results, types and changed arguments are the processor's."""

import copy
import pickle

import numpy as np
import pytest

import polyml
from polyml import BoundsError, ConfigError, IllegalSchedule, NotAffineError, PolymlTypeError, PolymlValueError
from polyml.measure import lookup
from tests.systolic import designs as systolic

SMALL = polyml.Target.systolic(rows=4, cols=3)


@polyml.kernel(target=polyml.Target.systolic(rows=16, cols=16, dataflow="auto"), cache=False)
def product(A, B):
    C = np.zeros((A.shape[0], B.shape[1]), A.dtype)
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]
    return C


def integers(*shape, seed=0, dtype=np.int64):
    return np.random.default_rng(seed).integers(-9, 10, shape).astype(dtype)


def test_a_call_computes_what_numpy_does():
    A, B = integers(20, 17), integers(17, 19, seed=1)
    C = product(A, B)
    assert type(C) is np.ndarray and C.dtype == np.int64
    np.testing.assert_array_equal(C, A @ B)
    np.testing.assert_array_equal(product(A=A[:3], B=B), A[:3] @ B)


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.float32, np.float64, np.uint16])
def test_types_are_those_of_the_processor(dtype):
    A, B = integers(5, 6, dtype=dtype), integers(6, 4, seed=1, dtype=dtype)
    here = polyml.kernel(product.py_func, cache=False)(A, B)
    there = product(A, B)
    assert there.dtype == here.dtype
    np.testing.assert_array_equal(there, here)  # of small integers exact in floats too


def scalar(x, y, start):
    s = start
    for i in range(x.shape[0]):
        s += x[i] * y[i]
    return s, x


@pytest.mark.parametrize("start", [2.5, np.int32(3), np.int64(4), np.float32(0.5)])
def test_numbers_are_returned_as_the_processor_does(start):
    x, y = integers(9, dtype=np.int32), integers(9, seed=1, dtype=np.int32)
    here, there = (polyml.kernel(scalar, cache=False, target=target)(x, y, start) for target in (None, SMALL))
    assert type(there[0]) is type(here[0]) and there[0] == here[0] == start + int(x @ y)
    assert there[1] is x


def with_a_python_integer(x, h, n, y):
    for i in range(y.shape[0]):
        for k in range(h.shape[0]):
            y[i] += x[i + k] * h[k] if x[i + k] * n < n * n else 0.0


@pytest.mark.parametrize(
    "function, args, message",
    [
        (
            scalar,
            (integers(9, dtype=np.int32), integers(9, dtype=np.int32), 2),
            "S1 converts numbers to integers that they may not fit",
        ),
        (
            with_a_python_integer,
            (np.ones(9), np.ones(3), 3, np.ones(7)),
            "S0 computes with Python integers, which may leave 64 bits",
        ),
    ],
)
def test_what_units_do_not_test_is_refused(function, args, message):
    with pytest.raises(PolymlTypeError, match=message):
        polyml.kernel(function, cache=False, target=SMALL)(*args)


@pytest.mark.parametrize("function", systolic.CALLS, ids=lambda f: f.__name__)
@pytest.mark.sweep(keep=6)
def test_changed_arguments_are_those_of_the_processor(function):
    shapes = [np.shape(a) for a in systolic.CALLS[function]]
    args = [integers(*s, seed=n) if s else 4 for n, s in enumerate(shapes)]
    args = [a.astype(float) if function.__name__ in ("seidel",) and isinstance(a, np.ndarray) else a for a in args]
    here, there = copy.deepcopy(args), copy.deepcopy(args)
    settings = {"cache": False, "fp": "strict"}
    wanted = polyml.kernel(function, **settings)(*here)
    got = polyml.kernel(function, target=SMALL, **settings)(*there)
    assert wanted == got
    for a, b in zip(here, there):
        np.testing.assert_array_equal(a, b)


def distance(a, b):
    D = np.zeros((a.shape[0] + 1, b.shape[0] + 1), np.int32)
    for i in range(a.shape[0] + 1):
        D[i, 0] = i
    for j in range(b.shape[0] + 1):
        D[0, j] = j
    for i in range(1, a.shape[0] + 1):
        for j in range(1, b.shape[0] + 1):
            D[i, j] = min(min(D[i - 1, j] + 1, D[i, j - 1] + 1), D[i - 1, j - 1] + (0 if a[i - 1] == b[j - 1] else 1))
    return D


@pytest.mark.parametrize("engine", ["compiled", "numpy"])
def test_an_edit_distance(engine):
    a, b = (np.frombuffer(text, np.uint8) for text in (b"systolic arrays", b"stoic array"))
    D = polyml.kernel(distance, cache=False).simulate(a, b, array=(4, 4), engine=engine).result
    np.testing.assert_array_equal(D, distance(a, b))
    assert D[-1, -1] == 4 and D.dtype == np.int32


def chosen(h, x, y):
    for i in range(y.shape[0]):
        for k in range(h.shape[0]):
            y[i] += (128 if x[i + k] > 3 else -5) * h[k]


def test_constants_that_may_not_fit_are_checked():
    args = np.ones(4, np.int8), np.zeros(12, np.int64), np.zeros(9, np.int8)
    polyml.kernel(chosen, cache=False)(*args)
    assert args[2].tolist() == [-20] * 9
    args[1][:] = 4
    with pytest.raises(OverflowError):
        polyml.kernel(chosen, cache=False)(*args)
    with pytest.raises(PolymlTypeError, match="S0 converts numbers to integers that they may not fit"):
        on_array(chosen)(*args)
    with pytest.raises(PolymlTypeError, match="S0 converts numbers to integers that they may not fit"):
        on_array(added)(integers(3, 3), integers(3, 3), integers(3, 3, dtype=np.int32))


@pytest.mark.parametrize("view", [lambda a: a.T.copy().T, lambda a: a[::-1], lambda a: np.repeat(a, 2, axis=1)[:, ::2]])
def test_arrays_of_any_layout_are_taken(view):
    A, B = view(integers(7, 6)), view(integers(6, 5, seed=1))
    np.testing.assert_array_equal(product(A, B), A @ B)


def added(A, B, C):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def on_array(function, **options):
    return polyml.kernel(function, cache=False, target=SMALL, **options)


def test_lists_are_read_and_not_written():
    A, B = integers(3, 4), integers(4, 2, seed=1)
    C = integers(3, 2)
    wanted = C + A @ B
    on_array(added)(A.tolist(), B.tolist(), C)
    np.testing.assert_array_equal(C, wanted)
    with pytest.raises(PolymlTypeError, match="`C` is written, but a list would have to be copied"):
        on_array(added)(A, B, C.tolist())
    C.flags.writeable = False
    with pytest.raises(PolymlValueError, match="read-only"):
        on_array(added)(A, B, C)


def test_bounds_are_checked_before_anything_is_written():
    C = integers(3, 3)
    before = C.copy()
    with pytest.raises(BoundsError, match="out of bounds"):
        on_array(added)(integers(2, 4), integers(4, 3), C)
    np.testing.assert_array_equal(C, before)


def test_arguments_that_overlap_are_refused():
    C = integers(3, 3)
    with pytest.raises(PolymlValueError, match="`C` and `A` have elements that share memory, of which some are written"):
        on_array(added)(C, integers(3, 3), C)
    A = integers(3, 3)
    wanted = C + A @ A
    on_array(added)(A, A, C)  # both are only read
    np.testing.assert_array_equal(C, wanted)


@pytest.mark.parametrize("shape", [(0, 4, 3), (3, 0, 2), (3, 4, 0)])
def test_nothing_is_simulated_of_empty_arrays(shape):
    n, k, m = shape
    C = product(integers(n, k), integers(k, m))
    assert C.shape == (n, m) and not C.any()
    C = integers(n, m)
    on_array(systolic.triangular, fp="strict")(integers(n, n), integers(n, m, seed=1), C)
    np.testing.assert_array_equal(C, integers(n, m) + np.tril(integers(n, n)) @ integers(n, m, seed=1))


def test_what_cannot_be_mapped_is_refused():
    def steps(P):
        for k in range(P.shape[0]):
            for i in range(P.shape[0]):
                for j in range(P.shape[0]):
                    P[i, j] = min(P[i, j], P[i, k] + P[k, j])

    def while_loop(x):
        i = 0
        while i < x.shape[0]:
            i += 1
        return i

    with pytest.raises(IllegalSchedule, match="is used "):
        on_array(steps)(integers(4, 4))
    with pytest.raises(NotAffineError):
        on_array(while_loop)(integers(4))


def test_the_report_is_the_array_s():
    args = integers(20, 17), integers(17, 19)
    report = product.report(*args)
    assert report.shape == (16, 16) and report.links == "manhattan" and report.dataflow == "auto"
    assert product.report(*args, array=(4, 4), dataflow="ws").shape == (4, 4)
    assert product.report(*args, machine=lookup.find("tpu-v1")).shape == (256, 256)
    assert hasattr(product.report(*args, target="cpu", simulate=False), "forms")
    other = polyml.kernel(product, target=polyml.Target.systolic(8, 8, "os", "diagonal"))
    assert (other.report(*args).shape, other.report(*args).links, other.report(*args).dataflow) == ((8, 8), "diagonal", "os")


def test_simulate_gives_the_runs_and_changes_arguments_once():
    A, B, C = integers(9, 8), integers(8, 7), integers(9, 7)
    wanted = C + A @ B
    found = polyml.kernel(added, cache=False).simulate(A, B, C, array=(4, 4), dataflow="ws")
    np.testing.assert_array_equal(C, wanted)
    (run,) = found.runs
    assert found.result is None and run.plan.dataflow == "ws" and run.cycles == run.plan.folds.cycles
    assert len(run.active) == run.cycles and int(run.active.sum()) == 9 * 8 * 7
    again = on_array(added).simulate(A, B, C, engine="numpy", mapping="t = i + j + k, x = i, y = j")
    assert again.engine == "numpy" and again.runs[0].plan.dataflow == "os" and again.runs[0].plan.folds.shape == (4, 3)
    np.testing.assert_array_equal(C, wanted + A @ B)
    report = on_array(added).report(A, B, C)
    for plan in report.nests[0].plans:
        assert on_array(added).simulate(A, B, C.copy(), plans=[plan]).runs[0].plan == plan
    for plans, given in ((report.nests[0].plans[:1] * 2, (A, B, C)), (report.nests[0].plans[:1], (A[:5], B, C[:5].copy()))):
        with pytest.raises(ConfigError, match="there are plans of S0"):
            on_array(added).simulate(*given, plans=plans)
    with pytest.raises(ConfigError, match="there is no engine 'fast'"):
        on_array(added).simulate(A, B, C, engine="fast")
    with pytest.raises(ConfigError, match="a systolic array has rows and columns"):
        polyml.kernel(added, cache=False).simulate(A, B, C)


def test_compare_leaves_the_arguments():
    A, B, C = integers(9, 8), integers(8, 7), integers(9, 7)
    before = C.copy()
    found = on_array(added).compare(A, B, C, dataflow="all", trace=True)
    np.testing.assert_array_equal(C, before)
    assert found.ok and len(found.trials) >= 3 and "units at work" in str(found)


def test_explain_says_what_was_simulated():
    kernel = on_array(added)
    assert kernel.explain().endswith("not called yet")
    kernel(integers(4, 4), integers(4, 4), integers(4, 4))
    assert "simulated on a systolic array of 4 x 3 units, manhattan links, dataflow auto" in kernel.explain()
    assert "S0: t = i + j + k" in kernel.explain() and "cycles" in kernel.explain()
    assert kernel.compiled is None


def test_a_target_is_kept_by_pickles_and_other_decorators():
    A, B = integers(5, 6), integers(6, 4)
    assert pickle.loads(pickle.dumps(product)) is product
    assert polyml.kernel(product, fp="strict").target == product.target
    assert polyml.kernel(product, target=SMALL).target == SMALL
    assert product.lower(A, B).artifact.name == "product"


def test_a_schedule_is_for_the_processor():
    args = integers(5, 6), integers(6, 4), integers(5, 4)
    plain = polyml.kernel(added, cache=False)
    schedule = plain.schedule("source", *args)
    with pytest.raises(ConfigError, match="a schedule is for processors and GPUs, and added is for a systolic array"):
        on_array(added).with_schedule(schedule)
    with pytest.raises(ConfigError, match="added has a schedule, which is for the processor"):
        polyml.kernel(plain.with_schedule(schedule), target=SMALL)


def test_machines_give_the_array():
    assert polyml.Target.systolic(machine="gemmini").array == (16, 16)
    assert polyml.Target.systolic(8, 4, machine=lookup.find("tpu-v1")).array == (8, 4)
    assert polyml.Target.systolic(8).array == (8,)


@pytest.mark.parametrize(
    "options, message",
    [
        ({}, "a systolic array has rows and columns"),
        ({"cols": 4}, "a systolic array has rows and columns"),
        ({"rows": 0, "cols": 4}, "there is no array of 0 x 4"),
        ({"rows": 2.0, "cols": 4}, "there is no array of 2.0 x 4"),
        ({"rows": True, "cols": 4}, "there is no array of True x 4"),
        ({"rows": 4, "cols": 4, "dataflow": "all"}, "Target.systolic has no dataflow 'all'"),
        ({"rows": 4, "cols": 4, "links": "wires"}, "Target.systolic has no links 'wires'"),
        ({"machine": "zen4"}, "is no systolic array"),
        ({"machine": "tpu-v9"}, "there is no machine 'tpu-v9'"),
        ({"machine": 3}, "3 is no systolic array"),
    ],
)
def test_what_is_no_target_is_refused_at_once(options, message):
    with pytest.raises(ConfigError) as refused:
        polyml.Target.systolic(**options)
    assert message in refused.value.message


def test_a_target_is_a_target():
    with pytest.raises(ConfigError) as refused:
        polyml.kernel(target="systolic")
    assert str(refused.value) == (
        "error: there is no target 'systolic'\n  note: expected opencl, cuda or polyml.Target.systolic(rows=16, cols=16)"
    )
    with pytest.raises(ConfigError) as refused:
        polyml.kernel(target=16)
    assert str(refused.value) == (
        'error: target= does not take a int\n  note: expected polyml.Target.systolic(rows=16, cols=16), "opencl" or "cuda"'
    )


def test_a_cuda_device_that_there_is_not_is_refused():
    @polyml.kernel(target=polyml.Target.cuda("no such device"))
    def double(A):
        for i in range(A.shape[0]):
            A[i] = A[i] * 2.0

    with pytest.raises(ConfigError, match="there is no CUDA device|target cuda needs cuda.bindings or pycuda"):
        double(np.ones(3))
    assert "double_0" in double.inspect_cuda("f64[:]")


def test_a_library_that_does_not_call_cuda_is_refused():
    with pytest.raises(ConfigError) as refused:
        polyml.Target.cuda(library="cupy")
    assert str(refused.value) == ("error: target cuda is not called through 'cupy'\n  note: cuda is, through cuda-python or pycuda")
