"""Linear systems and eigenvalues: sparse sweeps until convergence, and elimination with pivots that the numbers choose."""

import numpy as np

from polyml.kernels.irregular._irregular import compressed, irregular, rows_of

SMALL = {"N": 25, "K": 4}


def _lower(size, rng):
    """Returns a lower triangular CSR matrix, whose rows end with the diagonal, b and x."""
    n, columns = size["N"], size["K"]
    row = np.repeat(np.arange(n), columns)
    keys = np.concatenate([row * n + rng.integers(0, row + 1), np.arange(n) * (n + 1)])
    indptr, indices = compressed(keys, n, n)
    data = rng.uniform(-0.2, 0.2, len(indices))
    data[indptr[1:] - 1] = rng.uniform(1, 2, n)
    return indptr, indices, data, rng.uniform(-1, 1, n), np.zeros(n)


def _lower_right(indptr, indices, data, b, x):
    """Computed by iterations of x = (b - strictly lower part * x) / diagonal, which end with the longest chain of rows."""
    rows, diagonal = rows_of(indptr), data[indptr[1:] - 1]
    below = np.where(indices == rows, 0.0, data)
    right, before = b / diagonal, None
    while before is None or not np.array_equal(right, before):
        before = right
        right = (b - np.bincount(rows, weights=below * right[indices], minlength=len(b))) / diagonal
    return {"x": right}


@irregular({"N": 60, "K": 5}, {"N": 200_000, "K": 6}, _lower, _lower_right, tolerance=1e-11)
def csr_lower_solve(indptr, indices, data, b, x):
    for i in range(x.shape[0]):
        total = b[i]
        last = indptr[i + 1] - 1
        for p in range(indptr[i], last):
            total -= data[p] * x[indices[p]]
        x[i] = total / data[last]


def _dominant(size, rng):
    """Returns a symmetric CSR matrix whose diagonal is half as large again as the rest of its row, b, x and a bound of error."""
    n = size["N"]
    one, other = rng.integers(0, n, (2, n * size["K"] // 2))
    keys = np.concatenate([one * n + other, other * n + one, np.arange(n) * (n + 1)])
    indptr, indices = compressed(keys, n, n)
    rows = rows_of(indptr)
    data = np.where(rows == indices, 0.0, -1.0 - np.sin(rows + indices.astype(float)) / 2)
    sums = np.bincount(rows, weights=-data, minlength=n)
    data[rows == indices] = 1.5 * sums + 0.5
    return indptr, indices, data, rng.uniform(-1, 1, n), np.zeros(n), 1e-11


def _dominant_right(indptr, indices, data, b, x, tolerance):
    """Computed by Richardson's iteration, scaled by the diagonal."""
    rows, right = rows_of(indptr), np.zeros(len(b))
    diagonal = data[rows == indices]
    for _ in range(120):
        right = right + (b - np.bincount(rows, weights=data * right[indices], minlength=len(b))) / diagonal
    return {"x": right}


@irregular(SMALL, {"N": 20_000, "K": 8}, _dominant, _dominant_right, tolerance=1e-9, parallel="0:i")
def csr_jacobi(indptr, indices, data, b, x, tolerance):
    """Sweeps until no value changes by more than the tolerance."""
    new = np.empty(x.shape[0])
    change = 1.0
    while change > tolerance:
        for i in range(x.shape[0]):
            total = b[i]
            diagonal = 1.0
            for p in range(indptr[i], indptr[i + 1]):
                if indices[p] == i:
                    diagonal = data[p]
                else:
                    total -= data[p] * x[indices[p]]
            new[i] = total / diagonal
        change = 0.0
        for i in range(x.shape[0]):
            change = max(change, abs(new[i] - x[i]))
            x[i] = new[i]


@irregular(SMALL, {"N": 20_000, "K": 8}, _dominant, _dominant_right, tolerance=1e-9)
def csr_gauss_seidel(indptr, indices, data, b, x, tolerance):
    for _ in range(1000):
        change = 0.0
        for i in range(x.shape[0]):
            total = b[i]
            diagonal = 1.0
            for p in range(indptr[i], indptr[i + 1]):
                j = indices[p]
                if j == i:
                    diagonal = data[p]
                else:
                    total -= data[p] * x[j]
            new = total / diagonal
            if abs(new - x[i]) > change:
                change = abs(new - x[i])
            x[i] = new
        if change < tolerance:
            break


@irregular(SMALL, {"N": 20_000, "K": 10}, _dominant, _dominant_right, tolerance=1e-9, parallel="1:i")
def csr_conjugate_gradient(indptr, indices, data, b, x, tolerance):
    n = b.shape[0]
    r = np.empty(n)
    d = np.empty(n)
    q = np.empty(n)
    rho = 0.0
    for i in range(n):
        x[i] = 0.0
        r[i] = b[i]
        d[i] = b[i]
        rho += b[i] * b[i]
    while rho > tolerance * tolerance:
        for i in range(n):
            total = 0.0
            for p in range(indptr[i], indptr[i + 1]):
                total += data[p] * d[indices[p]]
            q[i] = total
        dq = 0.0
        for i in range(n):
            dq += d[i] * q[i]
        alpha = rho / dq
        new_rho = 0.0
        for i in range(n):
            x[i] += alpha * d[i]
            r[i] -= alpha * q[i]
            new_rho += r[i] * r[i]
        beta = new_rho / rho
        rho = new_rho
        for i in range(n):
            d[i] = r[i] + beta * d[i]


def _square(size, rng):
    """Returns a matrix and the order of its rows."""
    return rng.uniform(-1, 1, (size["N"], size["N"])), np.zeros(size["N"], dtype=np.int64)


def _lu_right(A, pivots):
    """Computed column by column (Crout's order), with the rows as they have been exchanged."""
    LU, order = A.copy(), np.arange(len(A))
    for k in range(len(A)):
        for j in range(k):
            LU[j + 1 :, k] -= LU[j + 1 :, j] * LU[j, k]
        p = k + int(np.argmax(np.abs(LU[k:, k])))
        LU[[k, p]], order[[k, p]] = LU[[p, k]], order[[p, k]]
        LU[k + 1 :, k] /= LU[k, k]
    return {"A": LU, "pivots": order}


@irregular({"N": 16}, {"N": 256}, _square, _lu_right, tolerance=1e-9)
def lu_with_pivots(A, pivots):
    n = A.shape[0]
    for i in range(n):
        pivots[i] = i
    for k in range(n):
        p = k
        largest = abs(A[k, k])
        for i in range(k + 1, n):
            if abs(A[i, k]) > largest:
                largest = abs(A[i, k])
                p = i
        if p != k:
            for j in range(n):
                A[k, j], A[p, j] = A[p, j], A[k, j]
            pivots[k], pivots[p] = pivots[p], pivots[k]
        for i in range(k + 1, n):
            A[i, k] /= A[k, k]
            for j in range(k + 1, n):
                A[i, j] -= A[i, k] * A[k, j]


def _system(size, rng):
    return rng.uniform(-1, 1, (size["N"], size["N"])), rng.uniform(-1, 1, size["N"])


@irregular({"N": 16}, {"N": 300}, _system, lambda A, b: {"result": np.linalg.solve(A, b)}, tolerance=1e-8)
def gaussian_elimination(A, b):
    """Solves A x = b with partial pivoting, on copies."""
    n = A.shape[0]
    M = A.copy()
    x = b.copy()
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(M[i, k]) > abs(M[p, k]):
                p = i
        if p != k:
            for j in range(k, n):
                t = M[k, j]
                M[k, j] = M[p, j]
                M[p, j] = t
            t = x[k]
            x[k] = x[p]
            x[p] = t
        for i in range(k + 1, n):
            f = M[i, k] / M[k, k]
            if f != 0.0:
                for j in range(k, n):
                    M[i, j] -= f * M[k, j]
                x[i] -= f * x[k]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            x[i] -= M[i, j] * x[j]
        x[i] /= M[i, i]
    return x


def _positive(size, rng):
    """Returns a symmetric matrix of positive numbers, whose largest eigenvalue is well apart, and the vector to start with."""
    A = rng.uniform(0, 1, (size["N"], size["N"])) ** 3
    return A + A.T + np.diag(np.arange(size["N"]) / 8.0), np.ones(size["N"])


def _positive_right(A, v):
    values, vectors = np.linalg.eigh(A)
    return {"v": np.abs(vectors[:, -1]), "result": values[-1]}


@irregular({"N": 16}, {"N": 1000}, _positive, _positive_right, tolerance=1e-8, parallel="0:i")
def power_iteration(A, v):
    n = A.shape[0]
    w = np.empty(n)
    value = 0.0
    while True:
        for i in range(n):
            total = 0.0
            for j in range(n):
                total += A[i, j] * v[j]
            w[i] = total
        squares = 0.0
        for i in range(n):
            squares += w[i] * w[i]
        length = np.sqrt(squares)
        change = 0.0
        for i in range(n):
            change = max(change, abs(w[i] / length - v[i]))
            v[i] = w[i] / length
        value = length
        if change < 1e-12:
            break
    return value


def _grid(size, rng):
    """Returns values on a grid whose border is given, the right side, and a bound of error."""
    n = size["N"]
    return rng.uniform(0, 1, (n + 2, n + 2)), rng.uniform(-1, 1, (n + 2, n + 2)), 1e-10


def _grid_right(u, f, tolerance):
    """Computed by a direct solution of all equations at once."""
    n = len(u) - 2
    border = u.copy()
    border[1:-1, 1:-1] = 0.0
    right = border[:-2, 1:-1] + border[2:, 1:-1] + border[1:-1, :-2] + border[1:-1, 2:] - f[1:-1, 1:-1]
    line = 2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    values, Q = np.linalg.eigh(line)
    border[1:-1, 1:-1] = Q @ ((Q.T @ right @ Q) / (values[:, None] + values)) @ Q.T
    return {"u": border}


@irregular({"N": 5}, {"N": 32}, _grid, _grid_right, tolerance=1e-7)
def poisson_gauss_seidel(u, f, tolerance):
    """Sweeps over the grid until no value changes by more than the tolerance."""
    change = tolerance + 1.0
    while change > tolerance:
        change = 0.0
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                new = (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - f[i, j]) / 4.0
                change = max(change, abs(new - u[i, j]))
                u[i, j] = new
