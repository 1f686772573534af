"""Which loops of the kernels' sources may run in parallel as they stand: the outermost that carry no dependence.

A loop is named by its place in the source, counted from 0 as written, and its variable. Scalars set in every
iteration before they are used do not count as dependences; sums into a scalar do not either, since numba reduces
them. Sums into array elements do: numba would race on them.
"""

PARALLEL_LOOPS = {
    "correlation": ("0:j", "2:j", "4:i", "6:i"),
    "covariance": ("0:j", "2:i", "4:i"),
    "gemm": ("0:i",),
    "gemver": ("0:i", "2:i", "4:i", "5:i"),
    "gesummv": ("0:i",),
    "symm": ("1:j",),  # rows above i take sums, columns are independent
    "syr2k": ("0:i",),
    "syrk": ("0:i",),
    "trmm": ("1:j",),  # row i reads the rows below it before they change
    "k2mm": ("0:i", "3:i"),
    "k3mm": ("0:i", "3:i", "6:i"),
    "atax": ("0:i", "3:j"),  # y takes a sum over i, tmp[i] one over j
    "bicg": ("0:i",),  # s takes a sum over i and q one over j, in the same loops
    "doitgen": ("2:p", "4:p"),  # one row buffer serves every r and q
    "mvt": ("0:i", "2:i"),
    "cholesky": (),  # everything but sums into elements is sequential
    "durbin": ("1:i", "2:i", "3:i"),
    "gramschmidt": ("1:i", "2:i", "3:j"),
    "lu": ("3:j",),
    "ludcmp": ("3:j", "6:j", "8:j"),
    "trisolv": (),
    "deriche": ("0:i", "2:i", "4:i", "6:j", "8:j", "10:i"),
    "floyd_warshall": ("1:i",),  # row and column k do not change in step k, as no distance is negative
    "nussinov": (),
    "adi": ("1:i", "4:i"),
    "fdtd_2d": ("1:j", "2:i", "4:i", "6:i"),
    "heat_3d": ("1:i", "4:i"),
    "jacobi_1d": ("1:i", "2:i"),
    "jacobi_2d": ("1:i", "3:i"),
    "seidel_2d": (),
}
