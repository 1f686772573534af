"""Scripts of schedules: every step before and after, against plain Python; every refusal with its witness."""

import importlib.util
import re

import numpy as np
import pytest

import polyml
from polyml.errors import IllegalSchedule, NotAffineError, PolymlError, ScheduleError
from polyml.schedule.script.file import tree_from
from tests.schedule.scripts import (
    agrees,
    in_place,
    kernel,
    loops,
    prefix,
    product,
    ring,
    schedule,
    stencil,
    total,
    triangle,
    two,
    upwards,
)


def test_the_source_order_is_printed_with_its_statements():
    assert str(schedule(product)).splitlines() == [
        "schedule of product, C_0 = C.shape[0], C_1 = C.shape[1], A_1 = A.shape[1]",
        "for i:",
        "    for j:",
        "        S0[i, j]: C[i, j] = 0",
        "        for k:",
        "            S1[i, j, k]: C[i, j] = C[i, j] + A[i, k]*B[k, j]",
    ]
    assert repr(schedule(product)) == str(schedule(product))


@pytest.mark.parametrize("function", [product, two, stencil, in_place, upwards, triangle, prefix, total])
@pytest.mark.parametrize("start", ["auto", "source"])
def test_both_starting_points_compute_what_python_does(function, start):
    agrees(function, schedule(function, start))


def test_a_step_leaves_the_schedule_as_it_is():
    before = schedule(product)
    text = str(before)
    after = before.tile(i=4)
    assert str(before) == text and after != before and before == schedule(product)


def test_tile():
    tiled = schedule(triangle).tile(j=3, i=4)
    assert loops(tiled) == [
        "for i_t = i - i % 4:  # tile",
        "    for j_t = j - j % 3:  # tile",
        "        for i:",
        "            for j:",
        "                S0[i, j]: B[i, j] = A[i, j] + A[j, i]",
    ]
    agrees(triangle, tiled)
    twice = tiled.tile(i_t=8).tile(i=2)
    heads = ["for i_t_t = i - i % 8", "for i_t = i - i % 4", "for j_t = j - j % 3", "for i_t2 = i - i % 2", "for i", "for j"]
    assert [line.split(":")[0].strip() for line in loops(twice)[:6]] == heads
    agrees(triangle, twice)


def test_a_step_is_checked_as_it_is_loaded():
    """isl writes 4*((1 + 32*(i // 32)) // 4) in another form than it reads it."""
    tiled = schedule(prefix).tile(i=32).shift("i_t", 1).tile(i_t=4)
    assert str(tiled.tree) == str(tree_from(tiled.saved.tree, tiled.problem.scop))
    agrees(prefix, tiled)


def test_tile_moves_the_threads_to_the_tiles():
    tiled = schedule(triangle).parallel("i").tile(i=4)
    assert loops(tiled)[0] == "for i_t = i - i % 4:  # tile, parallel" and loops(tiled)[1] == "    for i:"
    agrees(triangle, tiled)


def test_interchange():
    changed = schedule(triangle).interchange("i", "j")
    assert [line.strip() for line in loops(changed)[:2]] == ["for j:", "for i:"]
    agrees(triangle, changed)


def test_interchange_goes_over_loops_in_between():
    tiled = schedule(product).distribute("j").distribute("i").tile({"S1.i": 4, "S1.j": 4, "k": 4})
    changed = tiled.interchange("i_t", "k_t")
    assert [line.strip().split()[1] for line in loops(changed)[3:9]] == ["k_t", "j_t", "i_t", "i:", "j:", "k:"]
    agrees(product, changed)


def test_fuse():
    fused = schedule(two).fuse("i", "j")
    assert loops(fused) == [
        "for i = i of S0; j of S1:",
        "    S0[i]: B[i] = A[i]*2",
        "    S1[j]: C[j] = B[j] + 1",
    ]
    agrees(two, fused)


def test_distribute_undoes_fuse():
    apart = schedule(two).fuse("i", "j").distribute("i")
    assert loops(apart) == ["for i:", "    S0[i]: B[i] = A[i]*2", "for i = j:", "    S1[j]: C[j] = B[j] + 1"]
    agrees(two, apart)
    agrees(two, apart.fuse("S0.i", "S1.i"))


def test_distribute_behind_a_statement():
    cut = schedule(product).distribute("j", after="S0").distribute("i", after="S0")
    assert [line.strip() for line in loops(cut)] == [
        "for i:", "for j:", "S0[i, j]: C[i, j] = 0",
        "for i:", "for j:", "for k:", "S1[i, j, k]: C[i, j] = C[i, j] + A[i, k]*B[k, j]",
    ]  # fmt: skip
    agrees(product, cut)


def test_shift_lets_loops_be_fused():
    apart = schedule(stencil)
    with pytest.raises(IllegalSchedule):
        apart.fuse("S0.i", "S1.i")
    fused = apart.shift("S1.i", 1).fuse("S0.i", "S1.i")
    assert loops(fused) == [
        "for i = i of S0; 1 + i of S1:",
        "    S0[i]: B[i] = A[-1 + i] + A[1 + i]",
        "    S1[i]: A[i] = B[i] - B[-1 + i]",
    ]
    agrees(stencil, fused)
    agrees(stencil, fused.shift("i", S1=1))
    agrees(stencil, apart.shift("S1.i", "2*A_0 - 1"))


def test_skew_makes_a_band_that_may_be_tiled():
    source = schedule(in_place)
    with pytest.raises(IllegalSchedule):
        source.tile(t=2, i=3)
    tiled = source.skew("i", "t").tile(t=2, i=3)
    heads = ["for t_t = t - t % 2:  # tile", "for i_t = t + i - (t + i) % 3:  # tile", "for t:", "for i = t + i:"]
    assert [line.strip() for line in loops(tiled)[:4]] == heads
    agrees(in_place, tiled)
    agrees(in_place, source.skew("i", "t", 2).skew("i", "t", -1))


def test_a_wavefront_goes_to_threads():
    front = schedule(in_place).skew("i", "t", 2).interchange("t", "i")
    with pytest.raises(IllegalSchedule):
        front.parallel("i")
    wave = front.parallel("t")
    assert loops(wave)[:2] == ["for i = 2*t + i:", "    for t:  # parallel"]
    agrees(in_place, wave)
    agrees(upwards, schedule(upwards).parallel("j"))


def test_reverse():
    backwards = schedule(two).reverse("i")
    assert loops(backwards)[0] == "for i = -i:"
    agrees(two, backwards)


def test_split():
    cut = schedule(triangle).split("j", "A_0 - 5")
    assert loops(cut)[:3] == ["for i:", "    if S0: j <= -6 + A_0:", "        for j:"]
    assert loops(cut)[5] == "        for j_2 = j:"
    agrees(triangle, cut)
    agrees(triangle, cut.vectorize("j").unroll_jam("j_2", 2))
    agrees(triangle, cut.fuse("j", "j_2"))
    agrees(triangle, schedule(triangle).split("i", 5).parallel("i_2").tile(i=3))


def test_tiles_over_time_can_be_split():
    cut = schedule(ring, "auto").split("t_i_t", "A_0 - 2")
    assert "t_i_t" in loops(cut)[2]
    agrees(ring, cut)


def test_loops_are_called_by_their_statement_where_several_have_the_name():
    both = schedule(stencil)
    with pytest.raises(ScheduleError, match=r"there are 2 loops `i`\n(.*\n){2}  note: say `S0.i` or `S1.i`"):
        both.reverse("i")
    assert loops(both.reverse("S1.i").reverse("S1.i")) == loops(both)


# refusals


@pytest.mark.parametrize(
    ("function", "step", "message"),
    [
        (
            upwards,
            lambda s: s.interchange("i", "j"),
            "interchange(i, j) is not legal: S0[2, 0] must run after S0[1, 1]\n"
            "  note: flow dependence through A, with A_0 = 3, A_1 = 3",
        ),
        (
            in_place,
            lambda s: s.tile(t=2, i=3),
            "tile(t=2, i=3) is not legal: S0[1, 2] must run after S0[0, 3]\n"
            "  note: flow dependence through A and anti dependence through A, with A_0 = 5, steps = 2",
        ),
        (
            in_place,
            lambda s: s.skew("i", "t", 2).skew("t", "i", -1),
            "skew(t, i, -1) is not legal: S0[1, 1] must run after S0[0, 1]\n"
            "  note: output dependence through A, with A_0 = 3, steps = 2",
        ),
        (
            prefix,
            lambda s: s.reverse("i"),
            "reverse(i) is not legal: S0[2] must run after S0[1]\n  note: flow dependence through A, with A_0 = 3",
        ),
        (
            stencil,
            lambda s: s.fuse("S0.i", "S1.i"),
            "fuse(S0.i, S1.i) is not legal: S1[1] must run after S0[2]\n  note: anti dependence through A, with A_0 = 4",
        ),
        (
            product,
            lambda s: s.shift("j", S0=1),
            "shift(j, S0=1) is not legal: S1[0, 0, 0] must run after S0[0, 0]\n"
            "  note: flow dependence through C and output dependence through C, with C_0 = 1, C_1 = 1, A_1 = 1",
        ),
        (
            prefix,
            lambda s: s.parallel("i"),
            "parallel(i) is not legal: S0[2] depends on S0[1], so their loop cannot be parallel\n"
            "  note: flow dependence through A, with A_0 = 3",
        ),
        (
            prefix,
            lambda s: s.vectorize("i"),
            "vectorize(i) is not legal: S0[2] depends on S0[1], so their loop cannot be run in lanes\n"
            "  note: flow dependence through A, with A_0 = 3",
        ),
        (
            prefix,
            lambda s: s.unroll_jam("i", 2),
            "unroll_jam(i, 2) is not legal: S0[2] depends on S0[1], so their loop cannot be unrolled and jammed\n"
            "  note: flow dependence through A, with A_0 = 3",
        ),
    ],
)  # fmt: skip
def test_a_step_that_breaks_a_dependence_is_refused_with_kind_array_and_witness(function, step, message):
    with pytest.raises(IllegalSchedule) as refused:
        step(schedule(function))
    said, note = message.split("\n")
    assert re.sub(r"^step \d+, ", "", refused.value.message) == said
    assert f"  note: {refused.value.notes[0]}" == note


@pytest.mark.parametrize("step", [
    lambda s: s.unroll_jam("j", 2),
    lambda s: s.unroll_jam("j", 7),
    lambda s: s.vectorize("j"),
    lambda s: s.vectorize("j").unroll_jam("j", 3),
    lambda s: s.unroll_jam("i", 3).unroll_jam("j", 2),
])  # fmt: skip
def test_iterations_of_a_sum_run_together(step):
    agrees(total, step(schedule(total)))


def test_explain_says_what_is_asked_for_and_slower():
    A, B, C = (np.ones((60, 60)) for _ in range(3))
    made = polyml.kernel(cache=False, threads=1)(gathering)
    asked = made.with_schedule(made.schedule("source", A, B, C).vectorize("k"))
    asked(A, B, C)
    assert "what is asked of k is thought to take" in asked.explain()
    asked = made.with_schedule(made.schedule("source", A, B, C).vectorize("j"))
    asked(A, B, C)
    made(A, B, C)
    assert "what is asked" not in made.explain()


def test_explain_says_where_loops_come_out_in_another_order():
    A, B, C = (np.ones((60, 60)) for _ in range(3))
    made = polyml.kernel(cache=False, threads=1)(gathering)
    moved = made.with_schedule(made.schedule("source", A, B, C).interchange("i", "k"))
    moved(A, B, C)
    assert "loops from the outermost j, i, k, not k, j, i, as none of them is asked anything" in moved.explain()
    kept = made.with_schedule(made.schedule("source", A, B, C).interchange("i", "k").unroll_jam("i", 2))
    kept(A, B, C)
    made(A, B, C)
    assert "from the outermost" not in kept.explain() + made.explain()


def gathering(A, B, C):
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (lambda s: s.tile(), "tile(): tile takes at least one loop and a size\n  note: as in tile(i=32, j=32)\n  note: loops: i, j, k"),
        (lambda s: s.tile(i=0), "tile(i=0): tile takes a size of at least 1 for `i`, not 0"),
        (lambda s: s.tile(i=-3), "tile(i=-3): tile takes a size of at least 1 for `i`, not -3"),
        (lambda s: s.tile(i=True), "tile(i=True): tile takes a size of at least 1 for `i`, not True"),
        (lambda s: s.tile(i="8"), "tile(i='8'): tile takes a size of at least 1 for `i`, not '8'"),
        (lambda s: s.tile(x=4), "tile(x=4): there is no loop `x`\n  note: loops: i, j, k"),
        (lambda s: s.tile({"S7.i": 4}), "tile(S7.i=4): there is no statement `S7`\n  note: statements: S0, S1"),
        (lambda s: s.tile({3: 4}), "tile(3=4): a loop is called by its name, a text, not by 3\n  note: loops: i, j, k"),
        (
            lambda s: s.tile(j=3, k=4),
            "tile(j=3, k=4): tile takes loops directly inside one another: inside `j` the parts S0; S1 follow each other\n"
            "  note: distribute(`j`) gives each part a loop of its own, where that is legal",
        ),
        (
            lambda s: s.distribute("j").tile({"i": 3, "k": 4}),
            "tile(i=3, k=4): tile takes loops directly inside one another: inside `i` the parts S0; S1 follow each other\n"
            "  note: distribute(`i`) gives each part a loop of its own, where that is legal",
        ),
        (
            lambda s: s.distribute("j").distribute("i").tile({"S1.i": 3, "k": 4}),
            "tile(S1.i=3, k=4): tile takes loops directly inside one another: between `S1.i` and `k` is `j`\n"
            "  note: tile it too, or interchange it first",
        ),
        (
            lambda s: s.distribute("j").interchange("S0.j", "k"),
            "interchange(S0.j, k): interchange takes loops inside one another, which `S0.j` and `k` are not\n"
            "  note: loops: i, S0.j, S1.j, k",
        ),
        (lambda s: s.interchange("i", "i"), "interchange(i, i): interchange takes two loops, not `i` twice\n  note: loops: i, j, k"),
        (lambda s: s.fuse("i"), "fuse(i): fuse takes two or more loops next to each other\n  note: next to each other: none"),
        (
            lambda s: s.distribute("j").fuse("S0.j", "k"),
            "fuse(S0.j, k): `S0.j` and `k` do not stand next to each other\n  note: next to each other: S0.j and S1.j",
        ),
        (
            lambda s: s.distribute("j").fuse("S0.j", "S0.j"),
            "fuse(S0.j, S0.j): fuse takes each loop once\n  note: next to each other: S0.j and S1.j",
        ),
        (
            lambda s: s.distribute("j").parallel("S0.j").fuse("S0.j", "S1.j"),
            "fuse(S0.j, S1.j): fuse takes loops with the same directives\n  note: `S0.j`: parallel\n  note: `S1.j`: none\n"
            "  note: plain(loop) takes back a loop's directives",
        ),
        (lambda s: s.distribute("k"), "distribute(k): loop `k` has one part and cannot be distributed\n  note: loops of several parts: j"),
        (lambda s: s.distribute("j", "S1"), "distribute(j): loop `j` cannot be cut behind `S1`\n  note: it can behind S0"),
        (lambda s: s.skew("j", "k"), "skew(j, k, 1): loop `k` is not around S0, which `j` is around\n  note: loops: i, j, k"),
        (lambda s: s.skew("j", "i", 0), "skew(j, i, 0): skew takes a factor other than 0, an integer, not 0"),
        (lambda s: s.skew("j", "j"), "skew(j, j, 1): skew takes two loops, not `j` twice\n  note: loops: i, j, k"),
        (
            lambda s: s.shift("i"),
            "shift(i, ...): shift takes a distance for all statements or for some, as in shift('i', 1) or shift('i', S0=1)",
        ),
        (lambda s: s.shift("k", S0=1), "shift(k, S0=1): loop `k` is not around a statement `S0`\n  note: it is around S1"),
        (
            lambda s: s.shift("k", "A_1*A_1"),
            "shift(k, A_1*A_1): shift takes an integer or a text that is affine in sizes, not 'A_1*A_1'\n  note: sizes: C_0, C_1, A_1",
        ),
        (
            lambda s: s.split("k", "n"),
            "split(k, at=n): split takes an integer or a text that is affine in sizes, not 'n'\n  note: sizes: C_0, C_1, A_1",
        ),
        (
            lambda s: s.split("k", 1.5),
            "split(k, at=1.5): split takes an integer or a text that is affine in sizes, not 1.5\n  note: sizes: C_0, C_1, A_1",
        ),
        (lambda s: s.split("k", 0), "split(k, at=0): loop `k` has no iterations on both sides of 0\n  note: whatever the sizes"),
        (lambda s: s.unroll_jam("i", 1), "unroll_jam(i, 1): unroll_jam takes a count from 2 to 64, not 1"),
        (lambda s: s.unroll_jam("i", 2.0), "unroll_jam(i, 2.0): unroll_jam takes a count from 2 to 64, not 2.0"),
        (
            lambda s: s.isolate("k"),
            "isolate(k): isolate takes a loop over tiles, which `k` is not\n  note: loops over tiles: none",
        ),
        (lambda s: s.pack("D", "k"), "pack(D, at=k): there is no array `D`\n  note: in loop `k` are read: A, B, C"),
        (
            lambda s: s.distribute("j").pack("A", "S0.j"),
            "pack(A, at=S0.j): `A` is not read in loop `S0.j`\n  note: in loop `S0.j` are read: no array",
        ),
        (
            lambda s: s.parallel("i").vectorize("i"),
            "vectorize(i): loop `i` goes to threads, so its iterations do not run together\n"
            "  note: take the loop inside its tiles, or tile it",
        ),
        (
            lambda s: s.vectorize("j").parallel("j"),
            "parallel(j): loop `j` has the directive vectorize, so it cannot go to threads\n  note: tile it first",
        ),
    ],
)  # fmt: skip
def test_a_step_that_does_not_fit_is_refused_with_what_would_be_accepted(step, message):
    with pytest.raises(ScheduleError) as refused:
        step(schedule(product))
    said = re.sub(r"^step \d+, ", "", refused.value.message)
    assert "\n".join([said, *(f"  note: {note}" for note in refused.value.notes)]) == message
    assert isinstance(refused.value, (PolymlError, ValueError))


def script_in(path, text):
    """The function `script` of a file that has this text."""
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.script


def test_a_step_that_does_not_fit_is_named_by_number_text_and_line(tmp_path):
    path = tmp_path / "script.py"
    script = script_in(path, 'def script(s):\n    s = s.tile(j=4).reverse("k")\n    return s.parallel("q").tile(i=2)\n')
    with pytest.raises(ScheduleError) as refused:
        script(schedule(product))
    assert str(refused.value) == (
        f"{path}:3:14: error: step 3, parallel(q): there is no loop `q`\n"
        '          return s.parallel("q").tile(i=2)\n'
        "                   ^^^^^^^^\n"
        "  note: loops: i, j_t, j, k"
    )


def test_of_a_chain_over_several_lines_the_line_of_the_step_is_named(tmp_path):
    path = tmp_path / "script.py"
    script = script_in(path, 'def script(s):\n    return (\n        s.tile(j=4)\n        .tile(3)\n        .reverse("k")\n    )\n')
    with pytest.raises(ScheduleError) as refused:
        script(schedule(product))
    assert str(refused.value) == (
        f"{path}:4:10: error: step 2, tile(...): tile takes sizes by loop, as in tile(i=32) or tile({{'S0.i': 32}}), not 3\n"
        "              .tile(3)\n"
        "               ^^^^"
    )


def test_a_step_that_breaks_a_dependence_is_named_by_number_text_and_line(tmp_path):
    path = tmp_path / "script.py"
    script = script_in(path, 'def script(s):\n    s = s.tile(j=4)\n    return s.parallel("k")\n')
    with pytest.raises(IllegalSchedule) as refused:
        script(schedule(product))
    assert str(refused.value) == (
        f"{path}:3:14: error: step 2, parallel(k) is not legal: "
        "S1[0, 0, 1] depends on S1[0, 0, 0], so their loop cannot be parallel\n"
        '          return s.parallel("k")\n'
        "                   ^^^^^^^^\n"
        "  note: flow dependence through C and anti dependence through C and output dependence through C, "
        "with C_0 = 1, C_1 = 1, A_1 = 2"
    )


def test_a_script_in_no_file_has_steps_without_lines():
    names = {"s": schedule(product)}
    with pytest.raises(ScheduleError) as refused:
        exec(compile('s.tile(j=4).reverse("q")', "<script>", "exec"), names)
    assert str(refused.value) == "error: step 2, reverse(q): there is no loop `q`\n  note: loops: i, j_t, j, k"


def test_updates_of_a_sum_may_be_reordered_unless_floats_are_strict():
    def floats(A, R):
        for i in range(A.shape[0]):
            R[0] += A[i]

    loose, strict = kernel(floats), kernel(floats, fp="strict")
    loose.schedule("source", "f64[:]", "f64[:]").reverse("i")
    with pytest.raises(IllegalSchedule, match="S0\\[1\\] must run after S0\\[0\\]"):
        strict.schedule("source", "f64[:]", "f64[:]").reverse("i")


def test_a_schedule_of_a_function_that_is_not_affine_is_refused():
    def scatter(A, B):
        for i in range(A.shape[0]):
            B[i * i] = A[i]

    with pytest.raises(NotAffineError):
        kernel(scatter).schedule("f64[:]", "f64[:]")
