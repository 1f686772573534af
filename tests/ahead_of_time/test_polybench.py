"""Every kernel of PolyBench as a library, at several sizes, against the references."""

import copy
import random

import numpy as np
import pytest

import polyml
from polyml import kernels
from polyml.ahead_of_time.library_build import LibraryRequest, build
from polyml.kernels._accuracy import compare

OF_NUMPY = {"float64": "f64", "float32": "f32", "int32": "i32", "int64": "i64", "int8": "i8"}


def sizes_of(benchmark, seed):
    """Sizes of which no two are equal or follow one another."""
    names = [*benchmark.sizes["MINI"]]
    values = random.Random(seed).sample(range(4, 60, 3), len(names))
    return dict(zip(names, values))


def signature_of(size, arguments):
    """The types of arguments, with names for the sizes that they were made for."""
    named = {value: name for name, value in size.items()}

    def extent(found):
        near = next((offset for offset in (0, 1, -1) if found - offset in named), None)
        return ":" if near is None else f"{named[found - near]}{near:+d}" if near else named[found]

    def kind(value):
        if isinstance(value, np.ndarray):
            return f"{OF_NUMPY[value.dtype.name]}[{','.join(map(extent, value.shape))}]"
        return type(value).__name__ if type(value) in (int, float) else OF_NUMPY[value.dtype.name]

    return ", ".join(map(kind, arguments.values()))


@pytest.mark.sweep(keep=10)
@pytest.mark.parametrize("name", kernels.NAMES)
def test_a_library_computes_what_the_reference_does(tmp_path, name):
    benchmark, rng = kernels.load(name), np.random.default_rng(7)
    first = sizes_of(benchmark, 1)
    signature = signature_of(first, benchmark.inputs(first, rng))
    assert "[" in signature and ":" not in signature
    library = polyml.load(
        build(benchmark.kernel, LibraryRequest(signature, cpu="x86-64-v3" if name < "g" else "native"), tmp_path).shared
    )
    for size in (first, sizes_of(benchmark, 2), benchmark.sizes["MINI"], benchmark.sizes["SMALL"]):
        arguments = benchmark.inputs(size, rng)
        given = copy.deepcopy(arguments)
        library(*arguments.values())
        found = compare(benchmark, size, given, arguments)
        assert found.ok, (size, found)
