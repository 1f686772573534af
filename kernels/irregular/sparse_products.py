"""Products with sparse matrices in all common formats, and the transposition of one."""

import numpy as np

from polyml.kernels.irregular._irregular import irregular, random_csr, rows_of

SMALL = {"N": 60, "M": 50, "K": 6}
LARGE = {"N": 200_000, "M": 150_000, "K": 16}


def _rows(size, rng):
    """Returns a CSR matrix (N, M), x (M) and y (N)."""
    return *random_csr(rng, size["N"], size["M"], size["K"]), rng.uniform(0, 1, size["M"]), np.zeros(size["N"])


def _rows_right(indptr, indices, data, x, y):
    return {"y": np.bincount(rows_of(indptr), weights=data * x[indices], minlength=len(y))}


@irregular(SMALL, LARGE, _rows, _rows_right, tolerance=1e-12, parallel="0:i")
def csr_matvec(indptr, indices, data, x, y):
    for i in range(y.shape[0]):
        total = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            total += data[p] * x[indices[p]]
        y[i] = total


def _columns(size, rng):
    """Returns a CSC matrix (N, M), x (M) and y (N)."""
    return *random_csr(rng, size["M"], size["N"], size["K"]), rng.uniform(0, 1, size["M"]), np.zeros(size["N"])


def _columns_right(indptr, indices, data, x, y):
    return {"y": np.bincount(indices, weights=data * np.repeat(x, np.diff(indptr)), minlength=len(y))}


@irregular(SMALL, {"N": 100_000, "M": 100_000, "K": 16}, _columns, _columns_right, tolerance=1e-12)
def csc_matvec(indptr, indices, data, x, y):
    for i in range(y.shape[0]):
        y[i] = 0.0
    for j in range(x.shape[0]):
        for p in range(indptr[j], indptr[j + 1]):
            y[indices[p]] += data[p] * x[j]


def _triplets(size, rng):
    """Returns the rows, columns and values of a COO matrix in any order, x (M) and y (N), which is added to."""
    count = size["N"] * size["K"]
    rows, columns = rng.integers(0, size["N"], count), rng.integers(0, size["M"], count)
    return rows, columns, rng.uniform(0, 1, count), rng.uniform(0, 1, size["M"]), rng.uniform(0, 1, size["N"])


def _triplets_right(rows, columns, data, x, y):
    return {"y": y + np.bincount(rows, weights=data * x[columns], minlength=len(y))}


@irregular(SMALL, {"N": 100_000, "M": 100_000, "K": 16}, _triplets, _triplets_right, tolerance=1e-12)
def coo_matvec(rows, columns, data, x, y):
    for p in range(data.shape[0]):
        y[rows[p]] += data[p] * x[columns[p]]


def _padded(size, rng):
    """Returns an ELL matrix, whose rows end at the first column -1, x (M) and y (N)."""
    indices = rng.integers(0, size["M"], (size["N"], size["K"]))
    lengths = rng.integers(size["K"] // 2, size["K"] + 1, size["N"])
    indices[np.arange(size["K"]) >= lengths[:, None]] = -1
    return indices, rng.uniform(0, 1, indices.shape), rng.uniform(0, 1, size["M"]), np.zeros(size["N"])


def _padded_right(indices, data, x, y):
    return {"y": np.sum(np.where(indices >= 0, data * x[indices], 0.0), axis=1)}


@irregular(SMALL, LARGE, _padded, _padded_right, tolerance=1e-12, parallel="0:i")
def ell_matvec(indices, data, x, y):
    for i in range(indices.shape[0]):
        total = 0.0
        for k in range(indices.shape[1]):
            j = indices[i, k]
            if j < 0:
                break
            total += data[i, k] * x[j]
        y[i] = total


def _blocks(size, rng):
    """Returns a BSR matrix of N by M blocks of B by B, x and y."""
    indptr, indices, _ = random_csr(rng, size["N"], size["M"], size["K"])
    b = size["B"]
    return indptr, indices, rng.uniform(0, 1, (len(indices), b, b)), rng.uniform(0, 1, size["M"] * b), np.zeros(size["N"] * b)


def _blocks_right(indptr, indices, blocks, x, y):
    b = blocks.shape[1]
    parts = np.einsum("pij,pj->pi", blocks, x.reshape(-1, b)[indices])
    whole = np.zeros((len(y) // b, b))
    np.add.at(whole, rows_of(indptr), parts)
    return {"y": whole.reshape(-1)}


@irregular({"N": 12, "M": 10, "K": 3, "B": 4}, {"N": 20_000, "M": 20_000, "K": 10, "B": 4}, _blocks, _blocks_right, 1e-12, "0:i")
def bsr_matvec(indptr, indices, blocks, x, y):
    size = blocks.shape[1]
    for i in range(indptr.shape[0] - 1):
        for r in range(size):
            y[i * size + r] = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            first = indices[p] * size
            for r in range(size):
                for c in range(size):
                    y[i * size + r] += blocks[p, r, c] * x[first + c]


def _diagonals(size, rng):
    """Returns the offsets of K diagonals and their values by column, x and y."""
    n = size["N"]
    offsets = rng.choice(np.arange(-n // 2, n // 2), size["K"], replace=False)
    return offsets, rng.uniform(0, 1, (size["K"], n)), rng.uniform(0, 1, n), np.zeros(n)


def _diagonals_right(offsets, data, x, y):
    columns = np.arange(len(x))
    right = np.zeros(len(y))
    for offset, values in zip(offsets, data):
        inside = (columns - offset >= 0) & (columns - offset < len(y))
        right[columns[inside] - offset] += values[inside] * x[inside]
    return {"y": right}


@irregular({"N": 60, "K": 5}, {"N": 300_000, "K": 11}, _diagonals, _diagonals_right, tolerance=1e-12)
def dia_matvec(offsets, data, x, y):
    n = y.shape[0]
    for i in range(n):
        y[i] = 0.0
    for d in range(offsets.shape[0]):
        k = offsets[d]
        for i in range(max(0, -k), min(n, x.shape[0] - k)):
            y[i] += data[d, i + k] * x[i + k]


def _dense_columns(size, rng):
    """Returns a CSR matrix (N, M), B (M, D) and C (N, D)."""
    made = random_csr(rng, size["N"], size["M"], size["K"])
    return *made, rng.uniform(0, 1, (size["M"], size["D"])), np.zeros((size["N"], size["D"]))


def _dense_columns_right(indptr, indices, data, B, C):
    rows = rows_of(indptr)
    columns = [np.bincount(rows, weights=data * B[indices, d], minlength=len(C)) for d in range(B.shape[1])]
    return {"C": np.stack(columns, axis=1)}


@irregular(
    {"N": 20, "M": 25, "K": 4, "D": 8}, {"N": 20_000, "M": 20_000, "K": 12, "D": 32},
    _dense_columns, _dense_columns_right, tolerance=1e-12, parallel="0:i",
)  # fmt: skip
def csr_matmat(indptr, indices, data, B, C):
    for i in range(C.shape[0]):
        for d in range(C.shape[1]):
            C[i, d] = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            value = data[p]
            j = indices[p]
            for d in range(C.shape[1]):
                C[i, d] += value * B[j, d]


def _sampled(size, rng):
    """Returns a CSR matrix (N, M), A (N, D), B (M, D) and the values to be computed."""
    indptr, indices, data = random_csr(rng, size["N"], size["M"], size["K"])
    A, B = rng.uniform(0, 1, (size["N"], size["D"])), rng.uniform(0, 1, (size["M"], size["D"]))
    return indptr, indices, data, A, B, np.zeros(len(indices))


def _sampled_right(indptr, indices, data, A, B, out):
    return {"out": data * np.einsum("pd,pd->p", A[rows_of(indptr)], B[indices])}


@irregular(
    {"N": 20, "M": 25, "K": 4, "D": 8}, {"N": 20_000, "M": 20_000, "K": 10, "D": 32},
    _sampled, _sampled_right, tolerance=1e-12, parallel="0:i",
)  # fmt: skip
def sampled_dense_product(indptr, indices, data, A, B, out):
    for i in range(indptr.shape[0] - 1):
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            total = 0.0
            for d in range(A.shape[1]):
                total += A[i, d] * B[j, d]
            out[p] = data[p] * total


def _to_transpose(size, rng):
    return *random_csr(rng, size["N"], size["M"], size["K"]), size["M"]


def _transposed_right(indptr, indices, data, columns):
    order = np.argsort(indices, kind="stable")
    pointers = np.concatenate([[0], np.cumsum(np.bincount(indices, minlength=columns))])
    return {"result": (pointers, rows_of(indptr)[order], data[order])}


@irregular(SMALL, {"N": 50_000, "M": 50_000, "K": 16}, _to_transpose, _transposed_right)
def csr_transpose(indptr, indices, data, columns):
    pointers = np.zeros(columns + 1, dtype=np.int32)
    rows = np.empty(indices.shape[0], dtype=np.int32)
    values = np.empty(indices.shape[0])
    for p in range(indices.shape[0]):
        pointers[indices[p] + 1] += 1
    for j in range(columns):
        pointers[j + 1] += pointers[j]
    following = pointers.copy()
    for i in range(indptr.shape[0] - 1):
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            place = following[j]
            rows[place] = i
            values[place] = data[p]
            following[j] += 1
    return pointers, rows, values


def _square(size, rng):
    return random_csr(rng, size["N"], size["N"], size["K"])


def _row_sums_right(indptr, indices, data):
    rows, pieces = len(indptr) - 1, np.diff(indptr)[indices]
    first = np.repeat(indptr[indices] - np.concatenate([[0], np.cumsum(pieces)[:-1]]), pieces)
    places = first + np.arange(pieces.sum())
    keys = np.repeat(rows_of(indptr), pieces) * rows + indices[places]
    keys, group = np.unique(keys, return_inverse=True)
    sums = np.bincount(group, weights=np.repeat(data, pieces) * data[places])
    squares = np.bincount(keys // rows, weights=sums * sums, minlength=rows)
    return {"result": (np.bincount(keys // rows, minlength=rows), squares)}


@irregular({"N": 20, "K": 4}, {"N": 20_000, "K": 8}, _square, _row_sums_right, tolerance=1e-12)
def csr_square_rows(indptr, indices, data):
    """Gustavson's product of a sparse matrix with itself, of which each row's count of elements and sum of squares are kept."""
    rows = indptr.shape[0] - 1
    counts = np.zeros(rows, dtype=np.int64)
    squares = np.zeros(rows)
    sums = np.zeros(rows)
    seen = np.full(rows, -1)
    touched = np.empty(rows, dtype=np.int64)
    for i in range(rows):
        count = 0
        for p in range(indptr[i], indptr[i + 1]):
            k = indices[p]
            for q in range(indptr[k], indptr[k + 1]):
                j = indices[q]
                if seen[j] != i:
                    seen[j] = i
                    sums[j] = 0.0
                    touched[count] = j
                    count += 1
                sums[j] += data[p] * data[q]
        for t in range(count):
            squares[i] += sums[touched[t]] ** 2
        counts[i] = count
    return counts, squares
