"""Programs whose loops exchange the arrays that names stand for."""

import numpy as np

from tests.arrays.corpus import floats, integers, program


@program(floats(9), floats(9), 5)
def two_buffers(u, v, n):
    for t in range(n):
        v[1:-1] = 0.5 * (u[2:] + u[:-2])
        u, v = v, u


@program(floats(7, 6), 4)
def which_one_comes_back(u, n):
    v = u.copy()
    for t in range(n):
        v[1:-1] = u[2:] - u[:-2] * t
        u, v = v, u
    return u


@program(floats(7, 6), 3)
def both_come_back(u, n):
    v = np.zeros_like(u)
    for t in range(2, n + 2):
        v[1:-1] = u[2:] - u[:-2] * t
        u, v = v, u
    return v, u


@program(floats(8), floats(8), floats(8), 5)
def three_in_a_ring(a, b, c, n):
    for t in range(n):
        c[1:] = a[:-1] - b[1:]
        a, b, c = b, c, a
    return a.sum() + 2 * b.sum()


@program(integers(6), integers(6), 7)
def through_a_third_name(a, b, n):
    for t in range(n):
        b[1:] = a[:-1] + t
        old = a
        a = b
        b = old
    a[0] = 100


@program(floats(6), floats(6), 9)
def downwards_in_steps(a, b, n):
    for t in range(n, 1, -3):
        b[:] = a * t
        a, b = b, a
    b += 1


@program(floats(5, 6), floats(5, 6), 4)
def rows_of_one(A, B, n):
    x, y = A[0], A[1]
    for t in range(n):
        y[1:] = x[:-1] + B[t, 1:]
        x, y = y, x
    x[0] = 7


@program(floats(6), floats(6), 3)
def inside_another_loop(a, b, n):
    for s in range(2):
        for t in range(n):
            b[1:] = a[:-1] + s
            a, b = b, a


@program(floats(6), floats(6), 3)
def exchanged_back_each_time(a, b, n):
    for t in range(n):
        a, b = b, a
        a += t
        a, b = b, a
    return a


@program(floats(6), floats(6), 5)
def numbers_go_on(a, b, n):
    s, last = 0.0, 0.0
    for t in range(n):
        b[1:] = a[:-1] + t
        s += b.sum()
        last = a[2] * 2
        a, b = b, a
    return s, last + s


# which no compiled code has


def under_a_condition(a, b, n):
    for t in range(n):
        if t > 1:
            a, b = b, a
        a += 1


def the_number_changes_inside(a, b, n):
    for t in range(n):
        n = 1
        a, b = b, a
        a += n
    return a


def a_new_array_each_time(a, b, n):
    for t in range(n):
        b[1:] += a[:-1]
        a = b + 1
    return a
