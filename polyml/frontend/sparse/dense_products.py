"""Products of sparse matrices with dense ones, their diagonals and their elements in dense arrays, as the loops that a user would write."""

from __future__ import annotations

import numpy as np

from polyml.frontend.library.requirements import required


def csr_columns(data, indices, indptr, rows, columns, x):
    """Returns the product in strips of eight columns, whose sums stay in registers while a row is gone through."""
    _, count = x.shape
    required(x.shape[0] == columns, "a product of arrays that do not fit")
    y = np.empty((rows, count), dtype=np.result_type(data, x))
    for i in range(rows):
        for c in range(0, count - 7, 8):
            t0 = t1 = t2 = t3 = t4 = t5 = t6 = t7 = 0
            for k in range(indptr[i], indptr[i + 1]):
                value = data[k]
                j = indices[k]
                t0 += value * x[j, c]
                t1 += value * x[j, c + 1]
                t2 += value * x[j, c + 2]
                t3 += value * x[j, c + 3]
                t4 += value * x[j, c + 4]
                t5 += value * x[j, c + 5]
                t6 += value * x[j, c + 6]
                t7 += value * x[j, c + 7]
            y[i, c] = t0
            y[i, c + 1] = t1
            y[i, c + 2] = t2
            y[i, c + 3] = t3
            y[i, c + 4] = t4
            y[i, c + 5] = t5
            y[i, c + 6] = t6
            y[i, c + 7] = t7
        for c in range(count - count % 8, count):
            total = 0
            for k in range(indptr[i], indptr[i + 1]):
                total += data[k] * x[indices[k], c]
            y[i, c] = total
    return y


def csc_columns(data, indices, indptr, rows, columns, x):
    _, count = x.shape
    required(x.shape[0] == columns, "a product of arrays that do not fit")
    y = np.zeros((rows, count), dtype=np.result_type(data, x))
    for j in range(columns):
        for k in range(indptr[j], indptr[j + 1]):
            value = data[k]
            i = indices[k]
            for c in range(count):
                y[i, c] += value * x[j, c]
    return y


def coo_columns(data, row, col, rows, columns, x):
    _, count = x.shape
    required(x.shape[0] == columns, "a product of arrays that do not fit")
    y = np.zeros((rows, count), dtype=np.result_type(data, x))
    for k in range(data.shape[0]):
        value = data[k]
        i = row[k]
        j = col[k]
        for c in range(count):
            y[i, c] += value * x[j, c]
    return y


def dia_columns(data, offsets, rows, columns, x):
    _, count = x.shape
    required(x.shape[0] == columns, "a product of arrays that do not fit")
    y = np.zeros((rows, count), dtype=np.result_type(data, x))
    for d in range(offsets.shape[0]):
        k = offsets[d]
        for j in range(max(0, k), min(rows + k, columns, data.shape[1])):
            value = data[d, j]
            for c in range(count):
                y[j - k, c] += value * x[j, c]
    return y


def transposed_dia_columns(data, offsets, rows, columns, x):
    _, count = x.shape
    required(x.shape[0] == rows, "a product of arrays that do not fit")
    y = np.zeros((columns, count), dtype=np.result_type(data, x))
    for d in range(offsets.shape[0]):
        k = offsets[d]
        for j in range(max(0, k), min(rows + k, columns, data.shape[1])):
            value = data[d, j]
            for c in range(count):
                y[j, c] += value * x[j - k, c]
    return y


def bsr_columns(data, indices, indptr, rows, columns, x):
    _, count = x.shape
    required(x.shape[0] == columns, "a product of arrays that do not fit")
    height, width = data.shape[1], data.shape[2]
    y = np.zeros((rows, count), dtype=np.result_type(data, x))
    for i in range(indptr.shape[0] - 1):
        for k in range(indptr[i], indptr[i + 1]):
            first = indices[k] * width
            for r in range(height):
                for j in range(width):
                    value = data[k, r, j]
                    for c in range(count):
                        y[i * height + r, c] += value * x[first + j, c]
    return y


def transposed_bsr_columns(data, indices, indptr, rows, columns, x):
    _, count = x.shape
    required(x.shape[0] == rows, "a product of arrays that do not fit")
    height, width = data.shape[1], data.shape[2]
    y = np.zeros((columns, count), dtype=np.result_type(data, x))
    for i in range(indptr.shape[0] - 1):
        for k in range(indptr[i], indptr[i + 1]):
            first = indices[k] * width
            for r in range(height):
                for j in range(width):
                    value = data[k, r, j]
                    for c in range(count):
                        y[first + j, c] += value * x[i * height + r, c]
    return y


def compressed_diagonal(data, indices, indptr, rows, columns):
    y = np.empty(min(rows, columns), dtype=data.dtype)
    for i in range(min(rows, columns)):
        total = 0
        for k in range(indptr[i], indptr[i + 1]):
            if indices[k] == i:
                total += data[k]
        y[i] = total
    return y


def coo_diagonal(data, row, col, rows, columns):
    y = np.zeros(min(rows, columns), dtype=data.dtype)
    for k in range(data.shape[0]):
        if row[k] == col[k]:
            y[row[k]] += data[k]
    return y
