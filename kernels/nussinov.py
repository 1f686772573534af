"""nussinov: table[i, j] := the most base pairs that seq[i..j] can form (RNA folding); seq (N,), table (N, N), ints.

Bases are 0 to 3 and pair when they add up to 3; neighbours do not pair.
"""

import numpy as np

import polyml
from polyml.kernels._sizes import size_table

DTYPE = "int32"
SIZES = size_table("N", (60,), (180,), (500,), (2500,), (5500,))
OUTPUTS = ("table",)


@polyml.kernel
def nussinov(seq, table):
    for i in range(table.shape[0] - 1, -1, -1):
        for j in range(i + 1, table.shape[0]):
            if j - 1 >= 0:
                table[i, j] = max(table[i, j], table[i, j - 1])
            if i + 1 < table.shape[0]:
                table[i, j] = max(table[i, j], table[i + 1, j])
            if j - 1 >= 0 and i + 1 < table.shape[0]:
                if i < j - 1:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1] + (1 if seq[i] + seq[j] == 3 else 0))
                else:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1])
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])


def reference(seq, table):
    """Returns {"table": the filled table}. Rows are filled from the bottom; each finished entry is offered to the rest of its
    row as a left part.
    """
    table = table.copy()
    n = len(seq)
    for i in range(n - 2, -1, -1):
        row, below = table[i], table[i + 1]
        pairs = (seq[i] + seq[i + 1 :] == 3).astype(table.dtype)
        pairs[0] = 0
        row[i + 1 :] = np.maximum(row[i + 1 :], np.maximum(below[i + 1 :], below[i:-1] + pairs))
        for j in range(i + 1, n):
            row[j] = max(row[j], row[j - 1])
            if j + 1 < n:
                np.maximum(row[j + 1 :], row[j] + table[j + 1, j + 1 :], out=row[j + 1 :])
    return {"table": table}


def inputs(size, rng, dtype=np.int32):
    n = size["N"]
    return {"seq": rng.integers(0, 4, n).astype(np.int8), "table": np.zeros((n, n), dtype)}


def flops(size):
    n = size["N"]
    pairs, apart = n * (n - 1) // 2, (n - 1) * (n - 2) // 2
    return 3 * pairs + 2 * apart + 2 * (n * (n - 1) * (n - 2) // 6)


terms = None
