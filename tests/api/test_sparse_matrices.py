"""Sparse matrices are arguments of kernels: their attributes in loops, and their products, compiled whole and equal to plain Python."""

from dataclasses import dataclass

import numpy as np
import pytest

import polyml

sparse = pytest.importorskip("scipy.sparse", reason="SciPy has sparse matrices")
FORMATS = ("csr", "csc", "coo", "bsr", "dia")
TYPES = ("float64", "float32", "int64", "int32", "int8", "complex64", "complex128", "bool")
SETTINGS = ({"fp": "strict", "threads": 1}, {"fp": "strict", "threads": 2}, {"threads": 2})


def matrix(form, rows=13, columns=9, dtype="float64", of="csr_array", seed=0):
    rng = np.random.default_rng(seed)
    dense = rng.uniform(1, 9, (rows, columns)) * (rng.uniform(0, 1, (rows, columns)) < 0.3)
    made = getattr(sparse, of)(dense.astype(dtype))
    return made.asformat(form)


def vector(size, dtype="float64", seed=1):
    return (np.random.default_rng(seed).uniform(1, 9, size)).astype(dtype)


def compared(function, *args, exact=True, **settings):
    """The kernel of a function, after a call that is compiled and gives what Python gives."""
    kernel = polyml.kernel(function, fallback="error", **settings)
    wanted = function(*args)
    for _ in range(2):  # the second call is of the kernel that the first one made
        got = kernel(*args)
        assert kernel.compiled and type(got) is type(wanted)
        assert got.dtype == wanted.dtype and got.shape == wanted.shape
        if exact:
            np.testing.assert_array_equal(got, wanted)
        else:
            np.testing.assert_allclose(got, wanted, rtol=1e-5)
    return kernel


def product(A, x):
    return A @ x


def transposed(A, x):
    return A.T @ x


def from_the_left(x, A):
    return x @ A


def dotted(A, x):
    return A.dot(x) + A.transpose().T.dot(x)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("dtype", TYPES)
def test_products_are_scipys(form, dtype):
    A = matrix(form, dtype=dtype)
    compared(product, A, vector(9, dtype), fp="strict", threads=1)
    compared(product, A, vector((9, 13)), fp="strict", threads=1)
    compared(transposed, A, vector(13, dtype), fp="strict", threads=1)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_products_of_all_kinds(form, settings):
    A, exact = matrix(form), settings.get("fp") == "strict"
    compared(product, A, vector((9, 1)), exact=exact, **settings)
    compared(transposed, A, vector((13, 19)), exact=exact, **settings)
    compared(from_the_left, vector(13), A, exact=exact, **settings)
    compared(from_the_left, vector((2, 13)), A, exact=exact, **settings)
    compared(dotted, A, vector(9), exact=exact, **settings)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (7, 1), (6, 6)])
def test_small_matrices(form, shape):
    A = matrix(form, *shape)
    if form == "coo" and 1 in shape:  # SciPy gives a number there, and no array
        assert polyml.kernel(product, fallback="silent")(A, vector(shape[1])).tolist() == product(A, vector(shape[1])).tolist()
        return
    compared(product, A, vector(shape[1]), fp="strict")
    compared(transposed, A, vector(shape[0]), fp="strict")


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_matrices_without_elements(form):
    for shape in ((0, 5), (5, 0), (4, 4)):
        A = sparse.csr_array(shape).asformat(form)
        if form != "coo" or shape[0]:
            compared(product, A, vector(shape[1]))
        compared(product, A, vector((shape[1], 3)))


def test_indices_of_64_bits_unsorted_and_more_than_once():
    A = sparse.csr_array((np.arange(1.0, 6), np.array([3, 0, 3, 2, 2]), np.array([0, 3, 3, 5])), (3, 4))
    B = A.copy()
    B.indices, B.indptr = B.indices.astype(np.int64), B.indptr.astype(np.int64)
    for each in (A, B, A.tocsc(), sparse.coo_array((A.data, (np.array([2, 0, 2, 1, 2]), A.indices)), (3, 4))):
        compared(product, each, vector(4), fp="strict")
        compared(diagonal, each, fp="strict")


def diagonal(A):
    return A.diagonal()


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("dtype", TYPES)
def test_diagonals(form, dtype):
    compared(diagonal, matrix(form, dtype=dtype), fp="strict")
    compared(diagonal, matrix(form, 3, 8, dtype=dtype), fp="strict")


def star(A, x):
    return A * x


def test_the_star_is_the_product_of_a_matrix_and_not_of_an_array():
    compared(star, matrix("csr", of="csr_matrix"), vector(9), fp="strict")
    compared(star, matrix("coo", of="csr_matrix"), vector((9, 2)), fp="strict")
    with pytest.raises(polyml.PolymlError, match=r"`A` is a sparse matrix \(csr\)"):
        polyml.kernel(star, fallback="error")(matrix("csr"), vector(9))
    kernel = polyml.kernel(star, fallback="silent")
    assert (kernel(matrix("csr"), vector(9)) != star(matrix("csr"), vector(9))).nnz == 0 and not kernel.compiled


# Attributes in loops


def rows_of(A, x):
    n, m = A.shape
    y = np.zeros(n)
    for i in range(A.shape[0]):
        for k in range(A.indptr[i], A.indptr[i + 1]):
            y[i] += A.data[k] * x[A.indices[k]]
    return y + m + A.nnz


def by_format(A, x):
    y = np.zeros(A.shape[-2], dtype=A.dtype)
    if A.format == "coo":
        for k in range(A.nnz):
            y[A.row[k]] += A.data[k] * x[A.col[k]]
    elif A.format == "dia":
        for d in range(A.offsets.shape[0]):
            k = A.offsets[d]
            for j in range(max(0, k), min(A.shape[0] + k, A.shape[1], A.data.shape[1])):
                y[j - k] += A.data[d, j] * x[j]
    else:
        for j in range(A.shape[1]):
            for k in range(A.indptr[j], A.indptr[j + 1]):
                y[A.indices[k]] += A.data[k] * x[j]
    return y


def test_attributes_in_loops():
    compared(rows_of, matrix("csr"), vector(9), fp="strict")
    kernel = polyml.kernel(by_format, fallback="error", fp="strict")
    for form in ("coo", "csc", "dia", "coo"):
        assert kernel(matrix(form), vector(9)).tolist() == by_format(matrix(form), vector(9)).tolist() and kernel.compiled


def scale(A, factor):
    data = A.data
    for k in range(A.nnz):
        data[k] *= factor


def test_elements_are_changed_in_place():
    A = matrix("csr")
    wanted = A.data * 3
    polyml.kernel(scale, fallback="error")(A, 3.0)
    assert A.data.tolist() == wanted.tolist()


def norm(A):
    total = 0.0
    for k in range(A.data.shape[0]):
        total += A.data[k] ** 2
    return total


def of_others(A, B, x):
    return product(A, x) + product(B, x) * norm(A)


def test_matrices_are_handed_on_to_functions():
    compared(of_others, matrix("csr"), matrix("coo", seed=4), vector(9), fp="strict")


def test_keywords_defaults_and_settings_in_force_are_those_of_every_call():
    A, x = matrix("csr"), vector(9)

    @polyml.kernel(fp="strict", fallback="error")
    def scaled(A, x, *, factor=2.0):
        """The product, scaled."""
        return A @ x * factor

    for _ in range(2):
        assert scaled(A, x).tolist() == (A @ x * 2.0).tolist() and scaled.compiled
        assert scaled(x=x, A=A, factor=3.0).tolist() == (A @ x * 3.0).tolist() and scaled.compiled
        with polyml.config.scope(threads=1):
            assert scaled(A, x).tolist() == (A @ x * 2.0).tolist() and scaled.compiled
    assert scaled(A.toarray(), x).shape == (13,) and scaled.compiled  # an array in its place is another form
    assert scaled(A.tocsc(), x).tolist() == (A.tocsc() @ x * 2.0).tolist() and scaled.compiled


def by_mode(mode, A, x, times=None):
    if times is not None:
        x = x * times
    if mode == "transposed":
        return A.T @ x
    return A @ x


def test_constants_stand_beside_matrices():
    A, x = matrix("csr", 9, 9), vector(9)
    kernel = polyml.kernel(by_mode, fallback="silent", fp="strict")
    for mode in ("transposed", "plain", "transposed"):
        for times in (None, 2.0):
            assert kernel(mode, A, x, times).tolist() == by_mode(mode, A, x, times).tolist()
        with pytest.raises(ValueError) as wanted:
            by_mode(mode, A, vector(8))
        with pytest.raises(ValueError) as got:
            kernel(mode, A, vector(8))
        assert str(got.value) == str(wanted.value)


class Shifted:
    def __init__(self, shift):
        self.shift = shift
        self.weights = np.arange(13.0)

    @polyml.kernel(fallback="silent", fp="strict")
    def apply(self, A, x):
        return A @ x + self.shift * self.weights

    @polyml.kernel(fallback="silent", fp="strict")
    def preconditioned(self, A, x):
        return A @ (self.inverse @ x)

    @polyml.kernel(fallback="silent", fp="strict")
    def counted(self, A, x):
        self.shift += 1
        return A @ x


def test_methods_take_matrices_and_read_attributes_of_their_object():
    A, x = matrix("csr"), vector(9)
    for shift in (2.0, 3, True):
        shifted = Shifted(shift)
        for _ in range(2):
            assert shifted.apply(A, x).tolist() == (A @ x + shift * np.arange(13.0)).tolist() and Shifted.apply.compiled
    shifted.weights = np.arange(13.0) * 2
    assert shifted.apply(A, x).tolist() == (A @ x + shifted.weights).tolist()
    shifted.inverse = matrix("csc", 9, 9)
    assert shifted.preconditioned(A, x).tolist() == (A @ (shifted.inverse @ x)).tolist() and Shifted.preconditioned.compiled
    shifted.shift = "text"
    with pytest.raises(TypeError):
        shifted.apply(A, x)
    shifted.shift = 0
    assert shifted.counted(A, x).tolist() == (A @ x).tolist() and shifted.shift == 1 and not Shifted.counted.compiled


def residual_norm(A, b, tolerance):
    x = np.zeros(b.shape[0])
    r = b - A @ x
    p = r.copy()
    square = r @ r
    while square > tolerance:
        q = A @ p
        alpha = square / (p @ q)
        x += alpha * p
        r -= alpha * q
        new = r @ r
        p *= new / square
        p += r
        square = new
    return x


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_conjugate_gradients_are_compiled_whole(form):
    B = matrix("csr", 40, 40)
    A = (B + B.T + 200 * sparse.eye_array(40)).asformat(form)
    compared(residual_norm, A, vector(40), 1e-18, exact=False)


# Errors


def test_vectors_that_do_not_fit_raise_what_scipy_raises():
    A, kernel = matrix("csr"), polyml.kernel(product, fallback="silent", fp="strict")
    for x in (vector(8), vector(10), vector((9, 2, 2)), 3.0):
        with pytest.raises(ValueError) as wanted:
            product(A, x)
        with pytest.raises(ValueError) as got:
            kernel(A, x)
        assert str(got.value) == str(wanted.value)
    assert kernel(A, vector(9)).tolist() == (A @ vector(9)).tolist() and kernel.compiled


def test_an_index_outside_of_its_array_raises():
    A = matrix("csr")
    A.indices[3] = 9
    with pytest.raises(IndexError, match="index 9 in dimension 0 of size 9"):
        polyml.kernel(rows_of, fallback="error")(A, vector(9))


def unknown(A, x):
    return A.power(2) @ x


def test_what_is_not_known_of_matrices_runs_as_plain_python_with_the_reason():
    A, x = matrix("csr"), vector(9)
    kernel = polyml.kernel(unknown)
    with pytest.warns(polyml.PolymlPerformanceWarning, match=r"`A.power` is not compiled: `A` is a sparse matrix \(csr\)"):
        assert kernel(A, x).tolist() == unknown(A, x).tolist()
    assert not kernel.compiled and "sparse matrix" in kernel.explain()


def renewed(A):
    A.indptr[-1] = 2
    return A.nnz


def test_a_count_that_the_function_changes_is_left_to_python():
    A, kernel = matrix("csr"), polyml.kernel(renewed, fallback="silent")
    assert kernel(A) == 2 and not kernel.compiled


# Objects of other classes


@dataclass
class Rows:
    """A class with the attributes of a CSR matrix."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    shape: tuple
    format: str = "csr"
    nnz: int = 0

    def __matmul__(self, x):
        return x * 2


def test_other_classes_have_attributes_and_operators_of_their_own():
    A = matrix("csr")
    rows = Rows(A.data, A.indices, A.indptr, A.shape, nnz=A.nnz)
    compared(rows_of, rows, vector(9), fp="strict")
    kernel = polyml.kernel(product, fallback="silent", fp="strict")
    assert kernel(rows, vector(9)).tolist() == (vector(9) * 2).tolist() and not kernel.compiled
    assert kernel(A, vector(9)).tolist() == (A @ vector(9)).tolist() and kernel.compiled


def test_explain_and_status_tell_of_the_arrays():
    kernel = compared(product, matrix("csr"), vector(9), exact=False)
    text = kernel.explain()
    assert text.startswith("product (") and "compiled" in text.splitlines()[0]
    assert "A_data: f64[:]" in text and "parallel" in text
    assert kernel.status().form == "compiled"
    kernel(np.ones((2, 9)), vector(9))
    assert "A: f64[:, :]" in kernel.explain()
    kernel(matrix("coo"), vector(9))
    assert "A_row: i32[:]" in kernel.explain()


def test_half_precision_beside_bytes_is_left_to_scipy():
    A, x = matrix("csr", dtype="int8"), vector(9, "float16")
    kernel = polyml.kernel(product, fallback="silent")
    assert kernel(A, x).dtype == (A @ x).dtype == np.float32
    compared(product, matrix("csr", dtype="float32"), x, fp="strict")
