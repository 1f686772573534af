"""Programs whose subscripts are elements of index arrays."""

import numpy as np

from tests.arrays.corpus import floats, integers, program


@program(floats(12), integers(7))
def elements(x, index):
    return x[index]


@program(floats(12), integers(5, 4, dtype="i2"))
def elements_of_any_shape(x, index):
    return 2 * x[index] + index


@program(floats(12, 5), integers(6, dtype="i4"), floats(5))
def rows(table, index, bias):
    return np.tanh(table[index] + bias)


@program(floats(4, 11, dtype="f4"), integers(6))
def columns(A, index):
    return A[1:, index].sum(axis=0)


@program(floats(11, 10), integers(6), integers(6))
def pairs(A, i, j):
    return A[i, j]


@program(floats(11, 3, 10), integers(6, 1), integers(5))
def something_between_puts_them_first(A, i, j):
    return A[i, :, j] - A[i, 1, j][..., None]


@program(floats(11, 3, 10), integers(5))
def numbers_go_with_them(A, j):
    return A[2, :, j], A[:, 2, j], A[j, None, 1]


@program(floats(9, 8), integers(9, 8, dtype="u1"), floats(9))
def sparse_rows(values, columns, x):
    return (values * x[columns]).sum(axis=1)


@program(floats(6, 4), integers(6, 4), floats(10), floats(6))
def sparse_rows_in_loops(values, columns, x, y):
    for i in range(values.shape[0]):
        total = 0.0
        for k in range(values.shape[1]):
            total += values[i, k] * x[columns[i, k]]
        y[i] = total


@program(floats(10, 7), integers(5), floats(5, 7))
def a_row_each(table, index, out):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            if index[i] != 3:
                out[i, j] += table[index[i], j]


@program(floats(12) > 0, integers(7))
def truths(x, index):
    return x[index].sum()


@program(floats(12), integers(0))
def no_index(x, index):
    return x[index]


@program(floats(3, 12), integers(8))
def np_take(A, index):
    return np.take(A, index, axis=1), A[0].take(index[:0])


@program(floats(10, 7), integers(5, dtype="i4"), floats(7), 2)
def an_index_with_a_name(table, index, out, n):
    for i in range(index.shape[0]):
        row = index[i]
        for j in range(out.shape[0]):
            out[j] += table[row, j]
    if n > 1:
        row = index[0]
    else:
        row = index[1]
    return row


@program(floats(3, 12), integers(8))
def of_a_row(A, index):
    return A[0][1:] * 2, A[1].take(index), A.T[index]
