"""Functions whose name means themselves, another function, or nothing, and which are compiled in parts."""

import warnings

import numpy as np

import polyml


def counted_down(n, A):
    A += 1
    print(end="")
    if n == 0:
        return 0
    return counted_down(n - 1, A) + 1


def test_a_function_of_which_the_kernel_has_another_name_calls_itself():
    kernel = polyml.kernel(cache=False)(counted_down)
    A = np.zeros(5000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert kernel(3, A) == 3 and A.tolist() == [4.0] * 5000
