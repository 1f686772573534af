"""Programs whose loops bind a name to a new array in each iteration."""

import numpy as np

from tests.arrays.corpus import complexes, floats, program


@program(complexes(8, 9), 5)
def escape(c, n):
    z = np.zeros_like(c)
    count = np.zeros(c.shape)
    for t in range(n):
        z = np.where(np.abs(z) < 2, z * z + c, z)
        count += np.abs(z) < 2
    return count, z


@program(floats(9), 4)
def smoothed(u, n):
    for t in range(n):
        u = 0.5 * (np.roll(u, 1) + np.roll(u, -1))
    return u


@program(floats(9, 9), floats(9), 3)
def power_iteration(A, x, n):
    for t in range(n):
        x = A @ x
        x = x / np.sqrt((x * x).sum())
    return x, x @ A @ x


@program(floats(9), 3)
def changed_beside(u, n):
    v = u * 1.0
    for t in range(n):
        v[0] = 1
        v = v + u
        v[-1] = 2
    v += 1
    return v


@program(floats(9), 3)
def two_names_of_one(u, n):
    v = u * 1
    w = v
    for t in range(n):
        v = v + 1
        w += 1
    return v, w


@program(floats(9), 4)
def under_conditions(u, n):
    v = u + 0
    for t in range(n):
        if t > 1:
            v = v * 2
        for s in range(t):
            v = v + s
    return v


# which no compiled code has


def the_old_one_is_read(u, n):
    e = 0.0
    for t in range(n):
        before = u
        u = u * 0.5 + 1
        e = abs(u - before).max()
    return u, e


def the_type_changes(u, n):
    for t in range(n):
        u = u / 2
    return u


def the_shape_changes(u, n):
    for t in range(n):
        u = u[1:] + 1
    return u


def the_argument_changes_first(u, n):
    for t in range(n):
        u[0] += 1
        u = u * 2
    return u


def an_older_view(u, n):
    v = u * 1
    for t in range(n):
        first = v[:2]
        v = v + 1
        first += 10
        v[0] += first[1]
    return v


@program(np.array([1.0, 2, 3]))
def the_rows_of_what_it_was(u):
    v = u * 1
    for x in v:
        v = v + x
    return v


def another_name_changes_it(u, n):
    w = u
    for t in range(n):
        w[0] = 99
        u = u * 2
    return u


def a_view_made_inside_changes_it(u, n):
    for t in range(n):
        part = u[1:]
        for k in range(2):
            part[k] += t
        u = u * 2
    return u


def its_copy_changes_by_another_name(u, n):
    v = u.copy()
    w = v
    for t in range(n):
        w[0] += 1
        v = v * 2
    return v
