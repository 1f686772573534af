"""Index sets: loops whose first or last iterations differ from the others, and loops over diagonals."""

import numpy as np

from benchmarks.tsvc.entry import heading

crossing = heading("crossing thresholds")
peeling = heading("loop peeling")
diagonals = heading("diagonals")
wavefronts = heading("wavefronts")


@crossing("""
for (int i = 0; i < LEN; i++) {
    float t = a[LEN - i - 1] + b[i] * c[i];
    a[i] = t - 1.0f;
    b[i] = t;
}
""")
def s281(a, b, c):
    n = a.shape[0]
    for i in range(n):
        t = a[n - i - 1] + b[i] * c[i]
        a[i] = t - np.float32(1)
        b[i] = t


@crossing("""
for (int i = 0; i < LEN; i++) {
    float t = b[i] * c[i] + a[i] * d[i] + e[i];
    a[i] = t - 1.0f;
    b[i] = t;
}
""")
def s1281(a, b, c, d, e):
    for i in range(a.shape[0]):
        t = b[i] * c[i] + a[i] * d[i] + e[i]
        a[i] = t - np.float32(1)
        b[i] = t


@peeling("""
int before = LEN - 1;
for (int i = 0; i < LEN; i++) {
    a[i] = (b[i] + b[before]) * 0.5f;
    before = i;
}
""")
def s291(a, b):
    before = b.shape[0] - 1
    for i in range(a.shape[0]):
        a[i] = (b[i] + b[before]) * np.float32(0.5)
        before = i


@peeling("""
int before = LEN - 1, earlier = LEN - 2;
for (int i = 0; i < LEN; i++) {
    a[i] = (b[i] + b[before] + b[earlier]) * 0.333f;
    earlier = before;
    before = i;
}
""")
def s292(a, b):
    before = b.shape[0] - 1
    earlier = b.shape[0] - 2
    for i in range(a.shape[0]):
        a[i] = (b[i] + b[before] + b[earlier]) * np.float32(0.333)
        earlier = before
        before = i


@peeling("""
for (int i = 0; i < LEN; i++)
    a[i] = a[0];
""")
def s293(a):
    for i in range(a.shape[0]):
        a[i] = a[0]


@diagonals("""
for (int i = 0; i < SIDE; i++)
    aa[i][i] += bb[i][i] * cc[i][i];
""")
def s2101(aa, bb, cc):
    for i in range(aa.shape[0]):
        aa[i, i] += bb[i, i] * cc[i, i]


@diagonals("""
for (int i = 0; i < SIDE; i++) {
    for (int j = 0; j < SIDE; j++)
        aa[j][i] = 0.0f;
    aa[i][i] = 1.0f;
}
""")
def s2102(aa):
    n = aa.shape[0]
    for i in range(n):
        for j in range(n):
            aa[j, i] = np.float32(0)
        aa[i, i] = np.float32(1)


@wavefronts("""
for (int j = 1; j < SIDE; j++)
    for (int i = 1; i < SIDE; i++)
        aa[j][i] = (aa[j][i - 1] + aa[j - 1][i]) / 1.9f;
""")
def s2111(aa):
    n = aa.shape[0]
    for j in range(1, n):
        for i in range(1, n):
            aa[j, i] = (aa[j, i - 1] + aa[j - 1, i]) / np.float32(1.9)
