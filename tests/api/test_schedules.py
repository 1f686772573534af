"""Kernels with schedules of their own: what they compute, say, keep on disk, and refuse."""

import pickle
from pathlib import Path

import numpy as np
import pytest

import polyml
from polyml import kernels
from polyml.errors import IllegalSchedule, NotAffineError, PolymlTypeError, ScheduleError
from tests.schedule.scripts import integers, product, triangle


@polyml.kernel
def scaled(x, A):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] = A[i, j] * x + j


def fresh(**settings):
    return polyml.kernel(scaled.py_func, **settings)


def expected(A):
    return A * 3 + np.arange(A.shape[1])


def test_the_schedule_of_the_last_call_is_taken_where_none_is_given():
    k = fresh(cache=False)
    with pytest.raises(PolymlTypeError, match="has not been called"):
        k.schedule()
    A = integers(1, 7, 9)
    k(3, A)
    assert k.schedule() == k.schedule(3, A) and k.schedule("source") == k.schedule("source", "int", "i64[:, :]")
    assert k.schedule("source") != k.schedule("auto") == k.schedule()


@pytest.mark.parametrize("name", ["gemm", "jacobi_2d", "cholesky", "gramschmidt", "doitgen", "seidel_2d", "correlation"])
@pytest.mark.sweep(keep=3)
def test_the_schedule_that_is_found_gives_the_code_that_is_found(name):
    case = kernels.load(name)
    k = polyml.kernel(cache=False, threads=2)(case.kernel)
    args = list(case.inputs(case.sizes["SMALL"], np.random.default_rng(0)).values())
    k.lower(*args)
    again = k.with_schedule(k.schedule(*args))
    assert again.lower(*args).stages["ast"]() == k.lower(*args).stages["ast"]()
    loaded = again.lower(*args)
    assert "the schedule given:" in loaded.artifact.notes and not loaded.artifact.sized


def test_one_form_is_for_all_sizes():
    k = fresh(cache=False)
    own = k.with_schedule(k.schedule("source", 3, integers(1, 50, 60)).tile(i=8, j=16).parallel("i_t"))
    for shape in ((50, 60), (0, 4), (1, 1), (300, 2), (33, 700)):
        A = integers(2, *shape)
        want = expected(A)
        own(3, A)
        assert own.compiled
        np.testing.assert_array_equal(A, want)
    assert len(own._specialisations) == 1
    assert "the schedule given:" in own.explain() and "for i_t = i - i % 8:  # tile, parallel" in own.explain()
    assert "the schedule given" not in k.explain()


def test_the_kernel_itself_stays_as_it_is_and_settings_go_on():
    k = fresh(cache=False, threads=2)
    own = k.with_schedule(k.schedule("source", 3, integers(1, 5, 6)).interchange("i", "j").unroll_jam("j", 2))
    strict = polyml.kernel(fp="strict")(own)
    assert strict.settings == {"cache": False, "threads": 2, "fp": "strict"}
    own_outer = "for c0_02 in range(0, A_1 - 1, 2)"
    for each, outer in ((k, "for c0 in range(0, A_0"), (own, own_outer), (strict, own_outer)):
        A = integers(1, 5, 6)
        want = expected(A)
        each(3, A)
        np.testing.assert_array_equal(A, want)
        assert outer in each.inspect_ast()


def test_the_schedule_of_such_a_kernel_is_the_one_it_was_given():
    k = fresh(cache=False)
    given = k.schedule("source", 3, integers(1, 5, 6)).interchange("i", "j")
    own = k.with_schedule(given)
    assert own.schedule() == given == own.schedule(3, integers(2, 7, 8))
    own(3, integers(1, 5, 6))
    assert own.schedule() == given
    assert own.schedule("source", "int", "i64[:, :]") == k.schedule("source", "int", "i64[:, :]") != given
    assert own.schedule("auto", "int", "i64[:, :]") == k.schedule("auto", "int", "i64[:, :]")


def test_a_kernel_with_a_schedule_has_its_own_place_in_the_disk_cache(tmp_path):
    k = fresh(cache_dir=str(tmp_path))
    source = k.schedule("source", 3, integers(1, 5, 6))
    made = []
    for schedule in (None, source.tile(i=4), source.tile(i=5), source.tile(i=4)):
        own = fresh(cache_dir=str(tmp_path))
        own = own if schedule is None else own.with_schedule(schedule)
        A = integers(1, 5, 6)
        want = expected(A)
        own(3, A)
        np.testing.assert_array_equal(A, want)
        made.append(own.from_cache)
    assert made == [False, False, False, True]
    assert "for i_t = i - i % 4" in own.explain() and "from the disk cache" in own.explain()


def test_overlapping_arguments_still_run_in_the_order_of_the_source():
    def copied(A, B):
        for i in range(A.shape[0]):
            B[i] = A[i] + 1

    k = polyml.kernel(cache=False)(copied)
    memory = np.arange(20)
    own = k.with_schedule(k.schedule("source", memory[:10], memory[10:]).reverse("i"))
    own(memory[:-1], memory[1:])
    np.testing.assert_array_equal(memory, np.arange(20))
    assert "source order" in own.explain()


def test_settings_that_forbid_what_the_schedule_has_are_refused():
    A = integers(1, 5, 6)
    k = fresh(cache=False)
    source = k.schedule("source", 3, A)
    cases = [
        ({"parallel": False}, source.parallel("i"), "the schedule has loops that the setting parallel=False forbids"),
        ({"tile": False}, source.tile(i=4), "the schedule has loops that the setting tile=False forbids"),
        ({"vectorize": False}, source.unroll_jam("i", 2), "the schedule has loops that the setting vectorize=False forbids"),
        ({"schedule": "source"}, source, 'the setting schedule="source" forbids a schedule of one\'s own'),
    ]
    for settings, schedule, message in cases:
        own = fresh(cache=False, **settings).with_schedule(schedule) if not schedule_is_generated(schedule) else None
        with pytest.raises(ScheduleError) as refused:
            (own or fresh(cache=False, **settings).with_schedule(schedule))(3, A)
        assert refused.value.message == message
    plain = fresh(cache=False, vectorize=False).with_schedule(source)
    plain(3, A)
    assert "together" not in plain.inspect_ast()


def schedule_is_generated(schedule):
    """Whether `with_schedule` makes its code at once."""
    return any(word in str(schedule) for word in ("unroll_jam", "vectorize", "pack", "isolate"))


def test_a_schedule_of_another_kernel_other_statements_or_nothing_at_all_is_refused():
    own = fresh(cache=False).schedule("source", 3, integers(1, 5, 6))
    other = polyml.kernel(cache=False)(product)
    with pytest.raises(ScheduleError, match="the schedule is for the kernel `scaled`, not for `product`"):
        other.with_schedule(own)
    with pytest.raises(PolymlTypeError, match="with_schedule takes a schedule, not a str"):
        other.with_schedule("source")

    def scaled(x, A):
        for i in range(A.shape[0]):
            for j in range(1, A.shape[1]):
                A[i, j] = A[i, j] * x + j

    with pytest.raises(ScheduleError) as refused:
        polyml.kernel(cache=False)(scaled).with_schedule(own)
    assert refused.value.message == "the schedule is for another domain of S0"
    assert refused.value.notes[0].startswith("it has [A_0, A_1] -> { S0[i, j] : 0 <= i < A_0")


def test_types_with_other_statements_are_refused_when_called():
    def rows(A, B):
        for i in range(A.shape[0]):
            A[i] += B[i]

    k = polyml.kernel(cache=False)(rows)
    own = k.with_schedule(k.schedule("source", "i64[:]", "i64[:]").tile(i=4))
    floats = np.ones(9)
    own(floats, np.ones(9))
    np.testing.assert_array_equal(floats, np.full(9, 2.0))  # the order does not depend on the type of elements
    with pytest.raises(ScheduleError, match="the schedule is for"):
        own(np.ones((9, 3)), np.ones((9, 3)))


def test_what_is_not_affine_is_not_run_as_python_instead():
    def stored(A, n):
        for i in range(A.shape[0]):
            A[i * n] = 0

    k = polyml.kernel(cache=False)(stored)
    with pytest.raises(NotAffineError):
        k.schedule("source", "f64[:]", "int")
    first = np.ones(1)
    k(first, 3)
    own = k.with_schedule(k.schedule("source"))
    with pytest.raises(ScheduleError, match="the schedule is for another"):
        own(np.ones(7), 2)


def test_a_kernel_with_a_schedule_is_pickled_with_it():
    own = scaled.with_schedule(scaled.schedule("source", 3, integers(1, 5, 6)).tile(i=4))
    again = pickle.loads(pickle.dumps(own))
    A = integers(1, 9, 6)
    want = expected(A)
    again(3, A)
    np.testing.assert_array_equal(A, want)
    assert "for i_t = i - i % 4" in again.explain()
    assert pickle.loads(pickle.dumps(scaled)) is scaled


# files


@pytest.fixture
def saved(tmp_path):
    k = polyml.kernel(cache=False, threads=2)(triangle)
    schedule = (
        k.schedule("source", integers(1, 9, 9), integers(2, 9, 9))
        .tile(i=4, j=4)
        .parallel("i_t")
        .vectorize("j")
        .pack("A", "j_t")
        .isolate("j_t")
    )
    path = tmp_path / "triangle.txt"
    schedule.save(path)
    return k, schedule, path


def test_a_file_gives_the_schedule_back(saved):
    k, schedule, path = saved
    for loaded in (k.load_schedule(path), k.load_schedule(str(path), integers(1, 9, 9), integers(2, 9, 9))):
        assert loaded == schedule and str(loaded) == str(schedule) and hash(loaded) == hash(schedule)
        assert loaded.text == schedule.text == path.read_text()
    again = loaded.plain("i_t").parallel("i_t")
    assert again == schedule
    A, B = integers(1, 21, 21), integers(2, 21, 21)
    want = B.copy()
    triangle(A, want)
    k.with_schedule(loaded)(A, B)
    np.testing.assert_array_equal(B, want)


def test_the_file_is_text_that_says_what_it_is_for(saved):
    lines = saved[2].read_text().splitlines()
    assert lines[:9] == [
        "polyml schedule, format 1",
        "kernel: triangle",
        "arguments: i64[:, :] C; i64[:, :] C",
        "sizes: any",
        "code for sizes: no",
        "code for sizes alike: none",
        "statement S0: [A_0] -> { S0[i, j] : i < A_0 and 0 <= j <= i }",
        "  write: [A_0] -> { S0[i, j] -> B[i, j] }",
        "  read: [A_0] -> { S0[i, j] -> A[i, j] }",
    ]
    assert lines[-1] == "end" and [line.strip() for line in lines if "mark" in line] == [
        'mark: "loop i_t: tile, parallel"', 'mark: "loop j_t: tile, isolate, pack(A)"', 'mark: "loop i"', 'mark: "loop j: vectorize"',
    ]  # fmt: skip


def test_a_kernel_that_changed_refuses_the_file(saved):
    _, _, path = saved

    def triangle(A, B):
        for i in range(A.shape[0]):
            for j in range(i + 1):
                B[i, j] = A[i, j] - A[j, j]

    with pytest.raises(ScheduleError) as refused:
        polyml.kernel(cache=False)(triangle).load_schedule(path)
    assert refused.value.message == "the schedule is for another read of S0"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: "", "is no schedule of polyml"),
        (lambda t: "\x00" + t, "is no schedule of polyml"),
        (lambda t: t.replace("format 1", "format 2"), "has format `2`"),
        (lambda t: t[: len(t) // 2], "is damaged: it does not end with a tree and `end`"),
        (lambda t: t.replace("tree:\n", ""), "is damaged: it does not end with a tree and `end`"),
        (lambda t: t.replace("kernel: triangle\n", ""), "is damaged: no `kernel` on line 2"),
        (lambda t: t.replace("sizes: any", "sizes: many"), "is damaged: `sizes: many` on line 4"),
        (lambda t: t.replace("for sizes: no", "for sizes: perhaps"), "is damaged: `code for sizes: perhaps` on line 5"),
        (lambda t: t.replace("statement S0:", "statement"), "is damaged: no `statement` on line 7"),
        (lambda t: t.replace("  write: ", "  wrote: "), "is damaged: no `write` on line 8"),
        (lambda t: t.replace("i64[:, :] C; ", "i65[:, :] C; "), "is damaged: "),
        (lambda t: t.replace("i64[:, :] C; ", ""), "is for arguments of another number: 1; `triangle` has 2"),
        (lambda t: t.replace("i64[:, :] C; ", "i64[:, :]; "), "the argument `i64[:, :]` has no layout, or one too many"),
        (lambda t: t.replace("statement S0: [A_0] -> {", "statement S0: [A_0] -> ("), "the domain of S0 is damaged: isl cannot read it"),
        (lambda t: t.replace(" schedule: ", " schedual: ", 1), "a schedule tree of loops has no `schedual` there"),
        (lambda t: t.replace("child:", "child", 1), "the tree is damaged: line 2 of the tree"),
        (lambda t: t.replace("mod 4)] }]", "mod 4]) }]", 1), "the tree is damaged: isl cannot read it"),
        (lambda t: t.replace("S0[i, j] -> [(j)]", "S1[i, j] -> [(j)]"), "loop `j` is one value for each of S0"),
        (lambda t: t.replace("-> { S0[i, j] : i < A_0", "-> { S0[i, j] : i <= A_0").replace("i <= A_0", "i < A_0", 1), "the tree is damaged: its domain is not that of the statements"),
        (lambda t: t.replace("vectorize", "vectorise"), "the mark `loop j: vectorise` is damaged: `vectorise` is no directive of a loop"),
        (lambda t: t.replace("statement S0", "statement S1"), "the schedule is for S1; `triangle` has S0"),
    ],
)  # fmt: skip
def test_damaged_files_are_refused(saved, change, message):
    k, _, path = saved
    text = change(path.read_text())
    assert text != path.read_text()
    path.write_text(text)
    with pytest.raises(ScheduleError) as refused:
        k.load_schedule(path)
    assert message in refused.value.message


def test_what_is_not_text_is_refused(saved):
    k, _, path = saved
    path.write_bytes(bytes(range(128, 256)))
    with pytest.raises(ScheduleError, match="is no schedule of polyml"):
        k.load_schedule(Path(path))
    with pytest.raises(FileNotFoundError):
        k.load_schedule(path.parent / "none.txt")


def test_every_cut_and_every_flip_of_a_file_is_refused_or_right(saved):
    """Whatever a damaged file says, the kernel computes what Python does, or nothing."""
    k, _, path = saved
    text, rng = path.read_text(), np.random.default_rng(0)
    A = integers(1, 15, 15)
    want = integers(2, 15, 15)
    triangle(A, want)
    refused = 0
    for _ in range(60):
        place = int(rng.integers(0, len(text)))
        path.write_text(text[:place] + chr(int(rng.integers(33, 126))) + text[place + 1 :])
        try:
            loaded = k.load_schedule(path, A, want)
            own = k.with_schedule(loaded)
        except (ScheduleError, IllegalSchedule):
            refused += 1
            continue
        B = integers(2, 15, 15)
        own(A, B)
        np.testing.assert_array_equal(B, want)
    assert 10 < refused < 60


def test_a_file_that_breaks_a_dependence_is_refused_with_a_witness(tmp_path):
    def prefix(A):
        for i in range(1, A.shape[0]):
            A[i] += A[i - 1]

    k = polyml.kernel(cache=False)(prefix)
    path = tmp_path / "p.txt"
    k.schedule("source", "i64[:]").save(path)
    path.write_text(path.read_text().replace("S0[i] -> [(i)]", "S0[i] -> [(-i)]"))
    with pytest.raises(IllegalSchedule) as refused:
        k.load_schedule(path)
    assert refused.value.message == "S0[2] must run after S0[1]"
    assert refused.value.notes[0] == "flow dependence through A, with A_0 = 3"
    path.write_text(
        path.read_text().replace("S0[i] -> [(-i)]", "S0[i] -> [(i)]").replace('mark: "loop i"', 'mark: "loop i: parallel"')
    )
    with pytest.raises(IllegalSchedule, match="S0\\[2\\] depends on S0\\[1\\], so their loop cannot be parallel"):
        k.load_schedule(path)


def test_small_arrays_whose_sizes_are_not_alike_have_code_of_their_own():
    """Where the schedule was found for arrays of equal sizes: of a small call no form expects any."""
    case = kernels.load("fdtd_2d")
    k = polyml.kernel(cache=False, threads=2, fp="strict")(case.kernel)
    args = list(case.inputs(case.sizes["MEDIUM"], np.random.default_rng(0)).values())
    again = k.with_schedule(k.schedule(*args))
    assert again.lower(*args).artifact.relations
    for rows in (20, 19, 20):  # 19: of the first array alone
        random = np.random.default_rng(0)
        got = [3, random.random((rows, 12)), random.random((20, 12)), random.random((20, 12)), random.random(3)]
        wanted = [np.copy(a) for a in got]
        again(*got)
        case.kernel.py_func(*wanted)
        for a, b in zip(got[1:], wanted[1:]):
            np.testing.assert_array_equal(a, b)
