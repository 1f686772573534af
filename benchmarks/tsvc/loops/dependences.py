"""Linear dependence testing: what the subscripts of one loop, or of two, have in common."""

import numpy as np

from benchmarks.tsvc.entry import heading

testing = heading("linear dependence testing")


@testing("""
for (int i = 0; i < LEN; i++)
    a[i] = b[i] + 1.0f;
""")
def s000(a, b):
    for i in range(a.shape[0]):
        a[i] = b[i] + np.float32(1)


@testing("""
for (int i = 1; i < LEN; i += 2)
    a[i] = a[i - 1] + b[i];
""")
def s111(a, b):
    for i in range(1, a.shape[0], 2):
        a[i] = a[i - 1] + b[i]


@testing("""
for (int i = 0; i < LEN / 2; i++)
    a[2 * i] = c[i] * b[i] + d[i] * b[i] + c[i] * c[i] + d[i] * b[i] + d[i] * c[i];
""")
def s1111(a, b, c, d):
    for i in range(a.shape[0] // 2):
        a[2 * i] = c[i] * b[i] + d[i] * b[i] + c[i] * c[i] + d[i] * b[i] + d[i] * c[i]


@testing("""
for (int i = LEN - 2; i >= 0; i--)
    a[i + 1] = a[i] + b[i];
""")
def s112(a, b):
    for i in range(a.shape[0] - 2, -1, -1):
        a[i + 1] = a[i] + b[i]


@testing("""
for (int i = LEN - 1; i >= 0; i--)
    a[i] = b[i] + 1.0f;
""")
def s1112(a, b):
    for i in range(a.shape[0] - 1, -1, -1):
        a[i] = b[i] + np.float32(1)


@testing("""
for (int i = 1; i < LEN; i++)
    a[i] = a[0] + b[i];
""")
def s113(a, b):
    for i in range(1, a.shape[0]):
        a[i] = a[0] + b[i]


@testing("""
for (int i = 0; i < LEN; i++)
    a[i] = a[LEN / 2] + b[i];
""")
def s1113(a, b):
    for i in range(a.shape[0]):
        a[i] = a[a.shape[0] // 2] + b[i]


@testing("""
for (int i = 0; i < SIDE; i++)
    for (int j = 0; j < i; j++)
        aa[i][j] = aa[j][i] + bb[i][j];
""")
def s114(aa, bb):
    for i in range(aa.shape[0]):
        for j in range(i):
            aa[i, j] = aa[j, i] + bb[i, j]


@testing(
    """
for (int j = 0; j < SIDE; j++)
    for (int i = j + 1; i < SIDE; i++)
        a[i] -= aa[j][i] * a[j];
""",
    aa="tiny",
)
def s115(a, aa):
    n = aa.shape[0]
    for j in range(n):
        for i in range(j + 1, n):
            a[i] -= aa[j, i] * a[j]


@testing("""
for (int i = 0; i < SIDE; i++)
    for (int j = 0; j < SIDE; j++)
        aa[i][j] = aa[i][j] * cc[j][i] + bb[i][j];
""")
def s1115(aa, bb, cc):
    n = aa.shape[0]
    for i in range(n):
        for j in range(n):
            aa[i, j] = aa[i, j] * cc[j, i] + bb[i, j]


@testing("""
for (int i = 0; i < LEN - 5; i += 5) {
    a[i] = a[i + 1] * a[i];
    a[i + 1] = a[i + 2] * a[i + 1];
    a[i + 2] = a[i + 3] * a[i + 2];
    a[i + 3] = a[i + 4] * a[i + 3];
    a[i + 4] = a[i + 5] * a[i + 4];
}
""")
def s116(a):
    for i in range(0, a.shape[0] - 5, 5):
        a[i] = a[i + 1] * a[i]
        a[i + 1] = a[i + 2] * a[i + 1]
        a[i + 2] = a[i + 3] * a[i + 2]
        a[i + 3] = a[i + 4] * a[i + 3]
        a[i + 4] = a[i + 5] * a[i + 4]


@testing(
    """
for (int i = 1; i < SIDE; i++)
    for (int j = 0; j < i; j++)
        a[i] += bb[j][i] * a[i - j - 1];
""",
    bb="tiny",
)
def s118(a, bb):
    for i in range(1, bb.shape[0]):
        for j in range(i):
            a[i] += bb[j, i] * a[i - j - 1]


@testing("""
for (int i = 1; i < SIDE; i++)
    for (int j = 1; j < SIDE; j++)
        aa[i][j] = aa[i - 1][j - 1] + bb[i][j];
""")
def s119(aa, bb):
    n = aa.shape[0]
    for i in range(1, n):
        for j in range(1, n):
            aa[i, j] = aa[i - 1, j - 1] + bb[i, j]


@testing("""
for (int i = 1; i < SIDE; i++)
    for (int j = 0; j < SIDE; j++)
        aa[i][j] = aa[i - 1][j] + bb[i][j];
""")
def s1119(aa, bb):
    n = aa.shape[0]
    for i in range(1, n):
        for j in range(n):
            aa[i, j] = aa[i - 1, j] + bb[i, j]
