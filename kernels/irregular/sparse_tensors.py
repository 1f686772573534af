"""Products of two sparse matrices in two passes, and of a sparse tensor with the factors of its decomposition."""

import numpy as np

from polyml.kernels.irregular._irregular import irregular, random_csr, rows_of


def _expanded(left, right):
    """Returns the row, column and value of each product of an element of one CSR matrix with one of another, in the order of rows."""
    (indptr, indices, data), (others, columns, values) = left, right
    counts = np.diff(others)[indices]
    first = np.repeat(others[indices] - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
    places = first + np.arange(counts.sum())
    return np.repeat(rows_of(indptr), counts), columns[places], np.repeat(data, counts) * values[places]


def _pair(size, rng):
    """Returns two CSR matrices of sizes (N, M) and (M, N), and the number of columns of their product."""
    return *random_csr(rng, size["N"], size["M"], size["K"]), *random_csr(rng, size["M"], size["N"], size["K"]), size["N"]


def _counted(indptr, indices, data, others, columns, values, width):
    rows, found, _ = _expanded((indptr, indices, data), (others, columns, values))
    rows = np.unique(rows * width + found) // width
    return {"result": np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(indptr) - 1))])}


_SMALL, _LARGE = {"N": 30, "M": 25, "K": 4}, {"N": 20_000, "M": 20_000, "K": 8}


@irregular(_SMALL, _LARGE, _pair, _counted)
def sparse_product_pointers(indptr, indices, data, others, columns, values, width):
    """The first pass: how many elements the rows of a product have."""
    rows = indptr.shape[0] - 1
    pointers = np.zeros(rows + 1, dtype=np.int64)
    seen = np.full(width, -1)
    for i in range(rows):
        count = 0
        for p in range(indptr[i], indptr[i + 1]):
            k = indices[p]
            for q in range(others[k], others[k + 1]):
                j = columns[q]
                if seen[j] != i:
                    seen[j] = i
                    count += 1
        pointers[i + 1] = pointers[i] + count
    return pointers


def _with_room(size, rng):
    """Returns two CSR matrices, the pointers of their product, and room for its columns and values."""
    *pair, width = _pair(size, rng)
    pointers = _counted(*pair, width)["result"]
    return *pair, pointers, np.zeros(pointers[-1], dtype=np.int64), np.zeros(pointers[-1]), width


def _filled(indptr, indices, data, others, columns, values, pointers, found, sums, width):
    rows, columns, products = _expanded((indptr, indices, data), (others, columns, values))
    keys, first, group = np.unique(rows * width + columns, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return {"found": keys[order] % width, "sums": np.bincount(group, weights=products)[order]}


@irregular(_SMALL, _LARGE, _with_room, _filled, tolerance=1e-12)
def sparse_product_values(indptr, indices, data, others, columns, values, pointers, found, sums, width):
    """The second pass: the columns of a product in the order in which they are found, and their values."""
    places = np.full(width, -1)
    for i in range(indptr.shape[0] - 1):
        end = pointers[i]
        for p in range(indptr[i], indptr[i + 1]):
            k = indices[p]
            factor = data[p]
            for q in range(others[k], others[k + 1]):
                j = columns[q]
                place = places[j]
                if place < pointers[i]:
                    places[j] = end
                    found[end] = j
                    sums[end] = factor * values[q]
                    end += 1
                else:
                    sums[place] += factor * values[q]


def _tensor(size, rng):
    """Returns the elements of a tensor of three dimensions in any order, two of its factors, and room for the third."""
    count, rank = size["K"] * size["N"], size["R"]
    places = (rng.integers(0, size["N"], count) for _ in range(3))
    return *places, rng.uniform(0, 1, count), *(rng.uniform(0, 1, (size["N"], rank)) for _ in range(2)), np.zeros((size["N"], rank))


def _factor(i, j, k, values, B, C, factor):
    products = values[:, None] * B[j] * C[k]
    return {"factor": np.stack([np.bincount(i, weights=column, minlength=len(factor)) for column in products.T], axis=1)}


@irregular({"N": 15, "K": 6, "R": 5}, {"N": 20_000, "K": 20, "R": 16}, _tensor, _factor, tolerance=1e-12)
def tensor_times_factors(i, j, k, values, B, C, factor):
    """MTTKRP: a matricized tensor times the Khatri-Rao product of two factors."""
    for p in range(values.shape[0]):
        for r in range(B.shape[1]):
            factor[i[p], r] += values[p] * B[j[p], r] * C[k[p], r]
