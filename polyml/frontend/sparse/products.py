"""Products of sparse matrices with vectors, as the loops that a user would write; kernels have them in the place of `A @ x`.

Each takes the arrays of a matrix in the order of `matrices.ARRAYS`, its sizes, and the vector. Sums are taken in SciPy's order.
"""

from __future__ import annotations

import numpy as np

from polyml.frontend.library.requirements import required


def csr_vector(data, indices, indptr, rows, columns, x):
    (_,) = x.shape
    required(x.shape[0] == columns, "a product of arrays that do not fit")
    y = np.empty(rows, dtype=np.result_type(data, x))
    for i in range(rows):
        total = 0
        for k in range(indptr[i], indptr[i + 1]):
            total += data[k] * x[indices[k]]
        y[i] = total
    return y


def csc_vector(data, indices, indptr, rows, columns, x):
    (_,) = x.shape
    required(x.shape[0] == columns, "a product of arrays that do not fit")
    y = np.zeros(rows, dtype=np.result_type(data, x))
    for j in range(columns):
        for k in range(indptr[j], indptr[j + 1]):
            y[indices[k]] += data[k] * x[j]
    return y


def coo_vector(data, row, col, rows, columns, x):
    (_,) = x.shape
    required(rows > 1, "a matrix of one row, with which SciPy gives a number")
    required(x.shape[0] == columns, "a product of arrays that do not fit")
    y = np.zeros(rows, dtype=np.result_type(data, x))
    for k in range(data.shape[0]):
        y[row[k]] += data[k] * x[col[k]]
    return y


def dia_vector(data, offsets, rows, columns, x):
    (_,) = x.shape
    required(x.shape[0] == columns, "a product of arrays that do not fit")
    y = np.zeros(rows, dtype=np.result_type(data, x))
    for d in range(offsets.shape[0]):
        k = offsets[d]
        for j in range(max(0, k), min(rows + k, columns, data.shape[1])):
            y[j - k] += data[d, j] * x[j]
    return y


def transposed_dia_vector(data, offsets, rows, columns, x):
    (_,) = x.shape
    required(x.shape[0] == rows, "a product of arrays that do not fit")
    y = np.zeros(columns, dtype=np.result_type(data, x))
    for d in range(offsets.shape[0]):
        k = offsets[d]
        for j in range(max(0, k), min(rows + k, columns, data.shape[1])):
            y[j] += data[d, j] * x[j - k]
    return y


def bsr_vector(data, indices, indptr, rows, columns, x):
    (_,) = x.shape
    required(x.shape[0] == columns, "a product of arrays that do not fit")
    height, width = data.shape[1], data.shape[2]
    y = np.zeros(rows, dtype=np.result_type(data, x))
    for i in range(indptr.shape[0] - 1):
        for k in range(indptr[i], indptr[i + 1]):
            first = indices[k] * width
            for r in range(height):
                for c in range(width):
                    y[i * height + r] += data[k, r, c] * x[first + c]
    return y


def transposed_bsr_vector(data, indices, indptr, rows, columns, x):
    (_,) = x.shape
    required(x.shape[0] == rows, "a product of arrays that do not fit")
    height, width = data.shape[1], data.shape[2]
    y = np.zeros(columns, dtype=np.result_type(data, x))
    for i in range(indptr.shape[0] - 1):
        for k in range(indptr[i], indptr[i + 1]):
            first = indices[k] * width
            for r in range(height):
                for c in range(width):
                    y[first + c] += data[k, r, c] * x[i * height + r]
    return y
