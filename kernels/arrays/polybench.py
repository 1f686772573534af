"""PolyBench's kernels as a NumPy user would write them: whole arrays where the algorithm allows it.

Arguments, outputs and references are those of the loops in `kernels`.
"""

import numpy as np

from polyml import kernels
from polyml.kernels.arrays._workload import workload


def polybench(**large: int):
    """Registers a function as the array form of the PolyBench kernel of its name. large: the size that is timed."""

    def register(function):
        loops = kernels.load(function.__name__)
        return workload(
            sizes={"SMALL": dict(loops.sizes["MINI"]), "LARGE": large},
            inputs=lambda size, rng: tuple(loops.inputs(size, rng).values()),
            reference=loops.reference,
            determined=loops.determined,
        )(function)

    return register


@polybench(M=600, N=800)
def correlation(float_n, data, corr, mean, stddev):
    mean[:] = data.sum(axis=0) / float_n
    stddev[:] = np.sqrt(((data - mean) ** 2).sum(axis=0) / float_n)
    stddev[:] = np.where(stddev <= 0.1, 1.0, stddev)
    data -= mean
    data /= np.sqrt(float_n) * stddev
    corr[:] = data.T @ data
    for i in range(corr.shape[0]):
        corr[i, i] = 1.0


@polybench(M=600, N=800)
def covariance(float_n, data, cov, mean):
    mean[:] = data.sum(axis=0) / float_n
    data -= mean
    cov[:] = data.T @ data / (float_n - 1.0)


@polybench(NI=700, NJ=700, NK=700)
def gemm(alpha, beta, C, A, B):
    C[:] = alpha * A @ B + beta * C


@polybench(N=2000)
def gemver(alpha, beta, A, u1, v1, u2, v2, w, x, y, z):
    A += np.outer(u1, v1) + np.outer(u2, v2)
    x += beta * y @ A + z
    w += alpha * A @ x


@polybench(N=2000)
def gesummv(alpha, beta, A, B, tmp, x, y):
    tmp[:] = A @ x
    y[:] = alpha * tmp + beta * (B @ x)


@polybench(M=300, N=400)
def symm(alpha, beta, C, A, B):
    for i in range(C.shape[0]):
        below = A[i, :i] @ B[:i]
        C[:i] += alpha * np.outer(A[i, :i], B[i])
        C[i] = beta * C[i] + alpha * B[i] * A[i, i] + alpha * below


@polybench(M=300, N=400)
def syr2k(alpha, beta, C, A, B):
    for i in range(C.shape[0]):
        C[i, : i + 1] *= beta
        C[i, : i + 1] += alpha * (A[: i + 1] @ B[i] + B[: i + 1] @ A[i])


@polybench(M=300, N=400)
def syrk(alpha, beta, C, A):
    for i in range(C.shape[0]):
        C[i, : i + 1] *= beta
        C[i, : i + 1] += alpha * (A[: i + 1] @ A[i])


@polybench(M=400, N=400)
def trmm(alpha, A, B):
    for i in range(B.shape[0]):
        B[i] += A[i + 1 :, i] @ B[i + 1 :]
        B[i] *= alpha


@polybench(NI=500, NJ=500, NK=500, NL=500)
def k2mm(alpha, beta, tmp, A, B, C, D):
    tmp[:] = alpha * A @ B
    D[:] = tmp @ C + beta * D


@polybench(NI=500, NJ=500, NK=500, NL=500, NM=500)
def k3mm(E, A, B, F, C, D, G):
    E[:] = A @ B
    F[:] = C @ D
    G[:] = E @ F


@polybench(M=2000, N=2500)
def atax(A, x, y, tmp):
    tmp[:] = A @ x
    y[:] = tmp @ A


@polybench(M=2000, N=2500)
def bicg(A, s, q, p, r):
    s[:] = r @ A
    q[:] = A @ p


@polybench(NQ=60, NR=60, NP=80)
def doitgen(A, C4, sum_):
    A[:] = A @ C4


@polybench(N=2500)
def mvt(x1, x2, y_1, y_2, A):
    x1 += A @ y_1
    x2 += y_2 @ A


@polybench(N=400)
def cholesky(A):
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[j, :j]
            A[i, j] /= A[j, j]
        A[i, i] -= A[i, :i] @ A[i, :i]
        A[i, i] = np.sqrt(A[i, i])


@polybench(N=3000)
def durbin(r, y):
    beta = 1.0
    alpha = -r[0]
    y[0] = -r[0]
    for k in range(1, r.shape[0]):
        beta *= 1 - alpha * alpha
        alpha = -(r[k] + r[:k][::-1] @ y[:k]) / beta
        y[:k] += alpha * y[:k][::-1]
        y[k] = alpha


@polybench(M=300, N=300)
def gramschmidt(A, R, Q):
    for k in range(A.shape[1]):
        R[k, k] = np.sqrt(A[:, k] @ A[:, k])
        Q[:, k] = A[:, k] / R[k, k]
        R[k, k + 1 :] = Q[:, k] @ A[:, k + 1 :]
        A[:, k + 1 :] -= np.outer(Q[:, k], R[k, k + 1 :])


@polybench(N=400)
def lu(A):
    for k in range(A.shape[0]):
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= np.outer(A[k + 1 :, k], A[k, k + 1 :])


@polybench(N=300)
def ludcmp(A, b, x, y):
    n = A.shape[0]
    for k in range(n):
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= np.outer(A[k + 1 :, k], A[k, k + 1 :])
    for i in range(n):
        y[i] = b[i] - A[i, :i] @ y[:i]
    for i in range(n - 1, -1, -1):
        x[i] = (y[i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]


@polybench(N=2000)
def trisolv(L, x, b):
    for i in range(L.shape[0]):
        x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]


@polybench(W=720, H=480)
def deriche(alpha, imgIn, imgOut, y1, y2):
    k = (1.0 - np.exp(-alpha)) ** 2 / (1.0 + 2.0 * alpha * np.exp(-alpha) - np.exp(2.0 * alpha))
    a1, a2 = k, k * np.exp(-alpha) * (alpha - 1.0)
    a3, a4 = k * np.exp(-alpha) * (alpha + 1.0), -k * np.exp(-2.0 * alpha)
    b1, b2 = 2.0 ** (-alpha), -np.exp(-2.0 * alpha)
    w, h = imgIn.shape
    y1[:, 0] = a1 * imgIn[:, 0]
    y1[:, 1] = a1 * imgIn[:, 1] + a2 * imgIn[:, 0] + b1 * y1[:, 0]
    for j in range(2, h):
        y1[:, j] = a1 * imgIn[:, j] + a2 * imgIn[:, j - 1] + b1 * y1[:, j - 1] + b2 * y1[:, j - 2]
    y2[:, h - 1] = 0.0
    y2[:, h - 2] = a3 * imgIn[:, h - 1]
    for j in range(h - 3, -1, -1):
        y2[:, j] = a3 * imgIn[:, j + 1] + a4 * imgIn[:, j + 2] + b1 * y2[:, j + 1] + b2 * y2[:, j + 2]
    imgOut[:] = y1 + y2
    y1[0] = a1 * imgOut[0]
    y1[1] = a1 * imgOut[1] + a2 * imgOut[0] + b1 * y1[0]
    for i in range(2, w):
        y1[i] = a1 * imgOut[i] + a2 * imgOut[i - 1] + b1 * y1[i - 1] + b2 * y1[i - 2]
    y2[w - 1] = 0.0
    y2[w - 2] = a3 * imgOut[w - 1]
    for i in range(w - 3, -1, -1):
        y2[i] = a3 * imgOut[i + 1] + a4 * imgOut[i + 2] + b1 * y2[i + 1] + b2 * y2[i + 2]
    imgOut[:] = y1 + y2


@polybench(N=250)
def floyd_warshall(path):
    for k in range(path.shape[0]):
        path[:] = np.minimum(path, path[:, k, None] + path[k])


@polybench(N=150)
def nussinov(seq, table):
    n = table.shape[0]
    for i in range(n - 2, -1, -1):
        for j in range(i + 1, n):
            best = max(table[i, j], table[i, j - 1], table[i + 1, j])
            if i < j - 1:
                best = max(best, table[i + 1, j - 1] + (1 if seq[i] + seq[j] == 3 else 0))
                best = max(best, (table[i, i + 1 : j] + table[i + 2 : j + 1, j]).max())
            else:
                best = max(best, table[i + 1, j - 1])
            table[i, j] = best


@polybench(TSTEPS=10, N=100)
def adi(tsteps, u, v, p, q):
    n = u.shape[0]
    dx, dt = 1.0 / n, 1.0 / tsteps
    mul1, mul2 = 2.0 * dt / (dx * dx), 1.0 * dt / (dx * dx)
    a, b = -mul1 / 2.0, 1.0 + mul1
    d, e = -mul2 / 2.0, 1.0 + mul2
    for t in range(tsteps):
        v[0, 1:-1] = 1.0
        p[1:-1, 0] = 0.0
        q[1:-1, 0] = v[0, 1:-1]
        for j in range(1, n - 1):
            p[1:-1, j] = -a / (a * p[1:-1, j - 1] + b)
            right = -d * u[j, :-2] + (1.0 + 2.0 * d) * u[j, 1:-1] - d * u[j, 2:] - a * q[1:-1, j - 1]
            q[1:-1, j] = right / (a * p[1:-1, j - 1] + b)
        v[n - 1, 1:-1] = 1.0
        for j in range(n - 2, 0, -1):
            v[j, 1:-1] = p[1:-1, j] * v[j + 1, 1:-1] + q[1:-1, j]
        u[1:-1, 0] = 1.0
        p[1:-1, 0] = 0.0
        q[1:-1, 0] = u[1:-1, 0]
        for j in range(1, n - 1):
            p[1:-1, j] = -d / (d * p[1:-1, j - 1] + e)
            right = -a * v[:-2, j] + (1.0 + 2.0 * a) * v[1:-1, j] - a * v[2:, j] - d * q[1:-1, j - 1]
            q[1:-1, j] = right / (d * p[1:-1, j - 1] + e)
        u[1:-1, n - 1] = 1.0
        for j in range(n - 2, 0, -1):
            u[1:-1, j] = p[1:-1, j] * u[1:-1, j + 1] + q[1:-1, j]


@polybench(TMAX=20, NX=500, NY=600)
def fdtd_2d(tmax, ex, ey, hz, _fict_):
    for t in range(tmax):
        ey[0] = _fict_[t]
        ey[1:] -= 0.5 * (hz[1:] - hz[:-1])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])


@polybench(TSTEPS=10, N=70)
def heat_3d(tsteps, A, B):
    for t in range(tsteps):
        B[1:-1, 1:-1, 1:-1] = (
            0.125 * (A[2:, 1:-1, 1:-1] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[:-2, 1:-1, 1:-1])
            + 0.125 * (A[1:-1, 2:, 1:-1] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[1:-1, :-2, 1:-1])
            + 0.125 * (A[1:-1, 1:-1, 2:] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[1:-1, 1:-1, :-2])
            + A[1:-1, 1:-1, 1:-1]
        )
        A[1:-1, 1:-1, 1:-1] = (
            0.125 * (B[2:, 1:-1, 1:-1] - 2.0 * B[1:-1, 1:-1, 1:-1] + B[:-2, 1:-1, 1:-1])
            + 0.125 * (B[1:-1, 2:, 1:-1] - 2.0 * B[1:-1, 1:-1, 1:-1] + B[1:-1, :-2, 1:-1])
            + 0.125 * (B[1:-1, 1:-1, 2:] - 2.0 * B[1:-1, 1:-1, 1:-1] + B[1:-1, 1:-1, :-2])
            + B[1:-1, 1:-1, 1:-1]
        )


@polybench(TSTEPS=200, N=100000)
def jacobi_1d(tsteps, A, B):
    for t in range(tsteps):
        B[1:-1] = 0.33333 * (A[:-2] + A[1:-1] + A[2:])
        A[1:-1] = 0.33333 * (B[:-2] + B[1:-1] + B[2:])


@polybench(TSTEPS=20, N=1000)
def jacobi_2d(tsteps, A, B):
    for t in range(tsteps):
        B[1:-1, 1:-1] = 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])
        A[1:-1, 1:-1] = 0.2 * (B[1:-1, 1:-1] + B[1:-1, :-2] + B[1:-1, 2:] + B[2:, 1:-1] + B[:-2, 1:-1])


@polybench(TSTEPS=10, N=150)
def seidel_2d(tsteps, A):
    n = A.shape[0]
    for t in range(tsteps):
        for i in range(1, n - 1):
            A[i, 1:-1] += A[i - 1, :-2] + A[i - 1, 1:-1] + A[i - 1, 2:] + A[i, 2:] + A[i + 1, :-2] + A[i + 1, 1:-1] + A[i + 1, 2:]
            for j in range(1, n - 1):
                A[i, j] += A[i, j - 1]
                A[i, j] /= 9.0
