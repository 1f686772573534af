"""What a thread loads and stores, by hand."""

import numpy as np

from polyml.gpu.thread_accesses import LaunchPoints
from polyml.gpu.thread_code import gathers
from tests.gpu import kernels
from tests.gpu.mapping import program_of


def found_in(function, shapes, dtype=np.float64, **wanted):
    _, program, sizes = program_of(function, [np.zeros(shape, dtype) for shape in shapes], **wanted)
    return [each for launch in program.plain for each in LaunchPoints.of(program, launch, sizes).accesses()]


def summary(found):
    return [("store " * each.touch.is_write + each.touch.text, each.touch.place.loops, each.touch.held) for each in found]


def test_what_registers_hold_is_loaded_and_stored_once():
    """Of a product in whole tiles the sums are in registers over k; A and B come from shared memory."""
    found = found_in(kernels.gemm, [(128, 128), (128, 32), (32, 128)])
    assert summary(found) == [
        ("C[i, j] of S0", (), ("k",)),
        ("A to shared memory", (), ()), ("store A to shared memory", (), ()),
        ("B to shared memory", (), ()), ("store B to shared memory", (), ()),
        ("A[i, k] of S0", ("k",), ()), ("B[k, j] of S0", ("k",), ()),
        ("store C[i, j] of S0", (), ("k",)),
    ]  # fmt: skip
    by_text = {each.touch.text: each for each in found if not each.touch.is_write}
    assert by_text["B[k, j] of S0"].points.count_val().to_python() == 32 * 16 * 16 * 8


def test_whole_chunks_are_apart_from_the_last_one():
    found = found_in(kernels.gemm, [(128, 128), (128, 40), (40, 128)], np.float32)
    copies = [each for each in found if each.touch.is_copy and each.touch.tile is None and each.touch.array == "A"]
    assert [each.points.count_val().to_python() for each in copies] == [2 * 128 * 16, 128 * 8]
    assert len({each.key for each in copies}) == 1


def test_an_element_that_a_statement_reads_twice_is_loaded_once():
    def twice(A, B):
        for i in range(A.shape[0]):
            B[i] = A[i] * A[i] + A[i]

    assert summary(found_in(twice, [9, 9])) == [("A[i] of S0", (), ()), ("store B[i] of S0", (), ())]


def test_threads_of_a_warp_are_in_their_nth_iterations_together():
    """The sum of row i begins at k = i: in iteration n the threads of one row read A[i + n, i]."""

    def tails(A, x):
        for i in range(x.shape[0]):
            for k in range(i, A.shape[0]):
                x[i] += A[k, i]

    load = next(each for each in found_in(tails, [(40, 40), 40]) if each.touch.array == "A")
    *_, counter = load.touch.place.dims
    assert load.step("t0'") == 41 * 8 and load.step(counter) == 40 * 8


def test_rows_of_a_thread_share_what_they_load():
    """Four rows: six elements of the column in the middle, and four on both sides."""
    found = found_in(kernels.five_point, [(66, 66), (66, 66)])
    whole = [each for each in found if each.version == 0 and not each.touch.is_write]
    counts = {}
    for each in whole:
        counts[each.touch.text] = counts.get(each.touch.text, 0) + each.points.count_val().to_python()
    assert sorted(count // min(counts.values()) for count in counts.values()) == [1, 1, 4, 4, 4]


def test_what_does_not_move_is_loaded_outside_of_the_innermost_loops():
    def product(A, x, B):
        for i in range(B.shape[0]):
            for j in range(B.shape[1]):
                for k in range(A.shape[1]):
                    for m in range(x.shape[0]):
                        B[i, j] += A[i, k] * x[m]

    found = {
        text: (loops, held)
        for text, loops, held in summary(found_in(product, [(5, 6), 7, (5, 4)], block=(4, 2)))
        if "store" not in text
    }
    assert found["A[i, k] of S0"] == (("k",), ("m",)) and found["x[m] of S0"] == (("k", "m"), ())  # k is not innermost


def test_a_load_under_a_test_stays_there():
    def switched(A, x):
        for i in range(x.shape[0]):
            for k in range(x.shape[0]):
                if k < i:
                    x[i] += A[i]

    found = [(loops, held) for text, loops, held in summary(found_in(switched, [9, 9])) if text.startswith("A")]
    assert found in ([(("k",), ())], [((), ("k",))])


def test_launches_of_a_loop_of_the_host():
    _, program, sizes = program_of(kernels.sweeps, [np.zeros(100), np.zeros(100), np.zeros(7)])
    assert [LaunchPoints.of(program, launch, sizes).launches_count for launch in program.plain] == [7, 7]


def test_elements_that_data_decide():
    def gathered(x, columns, y):
        for i in range(y.shape[0]):
            y[i] = x[columns[i]]

    _, program, sizes = program_of(gathered, [np.zeros(90), np.zeros(90, int), np.zeros(90)])
    (launch,) = program.launches.values()
    assert gathers(launch, program.scop) == ("x",)

    def chosen(x, y):
        for i in range(y.shape[0]):
            y[i] = x[i] if y[i] > 0.0 else 1.0

    (data,) = [each.touch for each in found_in(chosen, [9, 9]) if each.touch.array == "x"]
    assert data.may
