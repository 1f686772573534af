"""Products of matrices as a BLAS takes them, computed by NumPy from what a library would be given."""

import random

import numpy as np
import pytest

from polyml.config import Options
from polyml.frontend.parsing.parse import parse
from polyml.pipeline.gpu.compile import compile_for_gpu
from polyml.pipeline.gpu.device import Device
from polyml.runtime.gpu.artifact import GpuArtifact
from polyml.runtime.gpu.host.matrices import MatrixCall, matrix_call
from polyml.runtime.gpu.host.nodes import HostProduct, MatrixWalk, products
from polyml.runtime.gpu.library_calls import Operand, ProductStarter
from polyml.runtime.gpu.recorded_calls import Recording
from polyml.runtime.storage.records import parse_type
from polyml.schedule.gpu.libraries import choice
from tests.runtime.gpu.host.random_products import random_product


class Blas:
    """A library for memory of the host, and the memory of one call; calls: what it was asked for."""

    def __init__(self, artifact: GpuArtifact, arguments: dict[str, object]):
        self.queue, self.driver, self.arguments, self.calls = self, self, arguments, []
        self._elements = {each.name: each.element for each in artifact.arrays}

    def matrix_library(self):
        return self

    def operand(self, name, is_written=False):
        return Operand(self.arguments[name], self.arguments[name].shape, self._elements[name])

    def number(self, name):
        return float(self.arguments[name])

    def product(self, call: MatrixCall, types, scales, tf32):
        self.calls.append(call)
        alpha, beta = scales

        def started(queue, blocks, memory):
            m, n, k = call.rows, call.columns, call.depth
            left, right, out = (
                view(array, each, shape, call.batch)
                for array, each, shape in zip(memory, (call.left, call.right, call.result), ((m, k), (k, n), (m, n)))
            )
            out[...] = alpha * (left @ right) + (beta * out if beta else 0)

        return started


def view(array, matrix, shape, batch):
    """The matrices of a batch in an array. Elements outside the array are an error."""
    flat = array.reshape(-1)[matrix.first :]
    rows, columns = (matrix.leading, 1) if matrix.transposed else (1, matrix.leading)
    assert (batch - 1) * matrix.stride + (shape[0] - 1) * rows + (shape[1] - 1) * columns < flat.size
    assert matrix.leading >= shape[matrix.transposed]
    steps = [each * array.itemsize for each in (matrix.stride, rows, columns)]
    return np.lib.stride_tricks.as_strided(flat, (batch, *shape), steps)


def made(function, arguments) -> GpuArtifact:
    kinds = ["f32" if each.dtype == np.float32 else "f64" for each in arguments[:5]]
    types = [f"{kind}[{','.join(':' * array.ndim)}]" if array.ndim else kind for kind, array in zip(kinds, arguments)]
    types += ["int"] * (len(arguments) - 5)
    device = Device("cuda", libraries=True)
    return compile_for_gpu(parse(function), tuple(map(parse_type, types)), Options(libraries=True), device).artifact


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_random_products(first, monkeypatch):
    """Whatever a library computes is right; of products of two matrices most are stored as it takes them."""
    monkeypatch.setattr(choice, "LARGE", 1)
    assert sum(map(is_computed, range(first, first + 10))) >= 3


def is_computed(seed: int) -> bool:
    """Whether a library is asked for a random product. Raises AssertionError where it computes something else."""
    function, arguments, reference = random_product(random.Random(seed), seed)
    artifact = made(function, arguments)
    (product,) = products(artifact.host).values()
    blas = Blas(artifact, dict(zip(artifact.params, arguments)))
    sizes = dict(zip(artifact.params, arguments))
    expected = reference(*(each.copy() if isinstance(each, np.ndarray) else each for each in arguments))
    starter = ProductStarter(blas, product, Recording())
    extents, *firsts = (tuple(eval(text, dict(sizes)) for text in some) for some in (product.extents, *first_texts(product)))
    if not starter(extents, *firsts):
        return False
    assert len(blas.calls) == 1 and np.array_equal(arguments[0], expected)
    return True


def first_texts(product: HostProduct):
    return (each.first for each in (product.result, product.left, product.right))


def simple(roles, steps, alpha=(1.0, ()), beta=(0.0, ())) -> HostProduct:
    """A product of arrays C, A and B. steps: of each, for each loop."""
    walks = [MatrixWalk(name, ("0",) * len(each[0]), each) for name, each in zip("CAB", steps)]
    return HostProduct("product", (), (), roles, ("0",) * len(roles), *walks, alpha, beta)


PLAIN = simple(("row", "column", "sum"), (((1, 0), (0, 1), (0, 0)), ((1, 0), (0, 0), (0, 1)), ((0, 0), (0, 1), (1, 0))))


def test_a_result_stored_by_rows_is_its_transpose_stored_by_columns():
    call = matrix_call(PLAIN, (5, 7, 3), ((0, 0),) * 3, ((5, 7), (5, 3), (3, 7)))
    assert (call.rows, call.columns, call.depth, call.batch) == (7, 5, 3, 1)
    assert [(each.array, each.transposed, each.leading) for each in (call.left, call.right, call.result)] == [
        ("B", False, 7), ("A", False, 3), ("C", False, 7),
    ]  # fmt: skip


def test_parts_of_arrays_begin_where_the_first_iteration_is():
    call = matrix_call(PLAIN, (2, 3, 4), ((1, 2), (3, 0), (0, 5)), ((9, 10), (9, 11), (9, 12)))
    assert [(each.first, each.leading) for each in (call.left, call.right, call.result)] == [(5, 12), (33, 11), (12, 10)]


def test_matrices_without_elements_beside_each_other_are_refused():
    apart = simple(PLAIN.roles, (((1, 0), (0, 2), (0, 0)), PLAIN.left.steps, PLAIN.right.steps))
    assert matrix_call(apart, (5, 3, 4), ((0, 0),) * 3, ((5, 7), (5, 4), (4, 3))) is None
    assert matrix_call(PLAIN, (5, 2**31, 4), ((0, 0),) * 3, ((5, 2**31), (5, 4), (4, 2**31))) is None


@pytest.mark.parametrize("extents, is_large", [((512, 512, 512), True), ((512, 512, 511), False), ((0, 2**20, 2**20), False)])
def test_large_products_are_those_of_a_library(extents, is_large):
    assert choice.library_is_faster(extents) is is_large
