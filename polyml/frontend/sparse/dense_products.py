"""Products of sparse matrices with dense ones, their diagonals and their elements in dense arrays, as the loops that a user would write."""

from __future__ import annotations

import numpy as np

from polyml.frontend.sparse.requirements import required


def csr_columns(data, indices, indptr, rows, columns, x):
    _, count = x.shape
    required(x.shape[0] == columns, "a product of arrays that do not fit")
    y = np.zeros((rows, count), dtype=np.result_type(data, x))
    for i in range(rows):
        for k in range(indptr[i], indptr[i + 1]):
            value = data[k]
            j = indices[k]
            for c in range(count):
                y[i, c] += value * x[j, c]
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
