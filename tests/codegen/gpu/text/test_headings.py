"""Comments before kernels for GPUs."""

import polyml
from tests.frontend.define import define


def heads(text, *types, **settings):
    """The comments before each launch of the function f that the text defines."""
    shown = polyml.kernel(define(text), **settings).inspect_opencl(*types)
    found = [part.rpartition("\n\n")[2].splitlines() for part in ("\n\n" + shown).split("__kernel")[:-1]]
    return [[line.partition(".py:")[2] or line for line in each if line.startswith("//")] for each in found]


def test_a_heading_says_which_line_runs_on_which_threads():
    text = """
    def f(A, B):
        for t in range(10):
            for i in range(A.shape[0]):
                B[i] = A[i]
            for i in range(1, A.shape[0]):
                A[i] = B[i - 1]
    """
    assert heads(text, "f64[:]", "f64[:]") == [
        ["4: B[i] = A[i]", "// one launch for each iteration of t", "// blocks of 128 threads: along x for i"],
        ["6: A[i] = B[i - 1]", "// one launch for each iteration of t", "// blocks of 128 threads: along x for i"],
    ]


def test_a_heading_says_why_there_is_one_thread():
    (heading,) = heads("def f(x):\n    for i in range(1, 5):\n        x[i] = x[i - 1] * x[0]\n", "f64[:]")
    assert heading[0] == "3: x[i] = x[i - 1] * x[0]" and "// one thread: loop `i`: S0[2] depends on S0[1]" in heading[1]


def test_lines_are_told_behind_statements_where_there_are_several():
    text = """
    def f(x, y):
        for i in range(x.shape[0]):
            y[i] = x[i]
            y[i] = y[i] * y[i]
    """
    shown = polyml.kernel(define(text)).inspect_opencl("f64[:]", "f64[:]")
    assert "y[i] = x[i];  // line 3\n" in shown and "y[i] *= y[i];  // line 4\n" in shown


def test_a_line_that_ends_in_a_backslash_does_not_make_code_a_comment():
    text = "def f(x, y):\n    for i in range(x.shape[0]):\n        y[i] = x[i] + \\\n            1\n"
    (heading,) = heads(text, "f64[:]", "f64[:]")
    assert heading[0] == "3: y[i] = x[i] +"


def test_iterations_of_a_thread_and_axes_without_threads_are_told():
    text = """
    def f(C, A, B):
        for i in range(C.shape[0]):
            for j in range(C.shape[1]):
                for k in range(A.shape[1]):
                    C[i, j] += A[i, k] * B[k, j]
    """
    usual, small = (heading[-1] for heading in heads(text, *["f32[:, :]"] * 3))
    assert usual == "// blocks of 16 x 16 = 256 threads, each with 8 x 8 iterations: along x for j, along y for i"
    assert small == "// blocks of 16 x 16 = 256 threads, each with 4 x 4 iterations: along x for j, along y for i"
