"""How many chunks a loop around regions is divided into."""

import re

import numpy as np
import pytest

import polyml
from polyml.codegen.llvm.emit import CHUNKS_PER_THREAD, UNEVEN_CHUNKS


def rows(ptr, x, y):
    for i in range(y.shape[0]):
        for k in range(ptr[i], ptr[i + 1]):
            y[i] += x[k]


def halvings(ptr, x, y):
    for i in range(y.shape[0]):
        n = ptr[i]
        while n > 1:
            n //= 2
        y[i] = n


def gathered(ptr, x, y):
    for i in range(y.shape[0]):
        for k in range(x.shape[0]):
            y[i] += x[ptr[i] - ptr[k]]


@pytest.mark.parametrize(
    "function, chunks",
    [(rows, UNEVEN_CHUNKS), (halvings, UNEVEN_CHUNKS), (gathered, CHUNKS_PER_THREAD)],
    ids=["rows", "halvings", "gathered"],
)
def test_loops_whose_iterations_differ_in_length_have_more_chunks(function, chunks):
    kernel = polyml.kernel(function, fallback="error", threads=2)
    text = kernel.inspect_llvm(np.arange(9), np.ones(8), np.zeros(8))
    (shares,) = re.findall(r"call void @polyml_parallel\(ptr @\S+, ptr %\w+, i64 (%\w+)", text)
    assert re.search(rf"{shares} = mul i64 %\w+, {chunks}\n", text)
