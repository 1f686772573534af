"""Facts for remarks are of the program that was made, not of one that was given up on the way."""

import numpy as np

import polyml
from polyml.api.calls.specialisation import Request
from polyml.api.explaining.compiled_facts import facts_of
from polyml.runtime.storage.size_classes import sizes_of


def product(A, B):
    return A @ B


def doubled(A):
    for i in range(A.shape[0]):
        A[i] *= 2


def compilation(function, *arguments, **settings):
    """(what compiles it, for what) of a function."""
    kernel = polyml.kernel(function, cache=False, threads=1, **settings)
    types, layouts, _ = kernel._signature(arguments)
    names = kernel.py_func.__code__.co_varnames
    sizes = sizes_of({name: value.shape for name, value in zip(names, arguments)})
    wanted = Request(types, layouts, polyml.config.resolve({"cache": False, "threads": 1, **settings}), sizes=sizes)
    return lambda: kernel._compile(wanted)[0], wanted


def test_programs_before_passes_are_those_of_the_last_candidate():
    first, _ = compilation(product, np.ones((400, 400)), np.ones((400, 400)))
    last, wanted = compilation(doubled, np.ones(400), tile=False, vectorize=False)
    assert facts_of(last, wanted).unpacked is None
    facts = facts_of(lambda: (first(), last())[1], wanted)
    assert facts.program.scop.name == "doubled"
    assert facts.unpacked is None and facts.scalar is None
