"""Scalar and array expansion: names and elements that one iteration overwrites before the next."""

import numpy as np

from benchmarks.tsvc.entry import heading

expansion = heading("scalar and array expansion")


@expansion("""
for (int i = 0; i < LEN; i++) {
    float s = b[i] + c[i] * d[i];
    a[i] = s * s;
}
""")
def s251(a, b, c, d):
    for i in range(a.shape[0]):
        s = b[i] + c[i] * d[i]
        a[i] = s * s


@expansion("""
for (int i = 0; i < LEN; i++) {
    float s = b[i] + c[i];
    b[i] = a[i] + d[i];
    a[i] = s * e[i];
}
""")
def s1251(a, b, c, d, e):
    for i in range(a.shape[0]):
        s = b[i] + c[i]
        b[i] = a[i] + d[i]
        a[i] = s * e[i]


@expansion("""
float s = 0.0f;
for (int i = 0; i < LEN; i++) {
    a[i] = s * e[i];
    s = b[i] + c[i];
    b[i] = a[i] + d[i];
}
""")
def s2251(a, b, c, d, e):
    s = np.float32(0)
    for i in range(a.shape[0]):
        a[i] = s * e[i]
        s = b[i] + c[i]
        b[i] = a[i] + d[i]


@expansion("""
for (int i = 0; i < LEN - 1; i++) {
    a[i + 1] = b[i] + c[i];
    b[i] = c[i] * e[i];
    d[i] = a[i] * e[i];
}
""")
def s3251(a, b, c, d, e):
    for i in range(a.shape[0] - 1):
        a[i + 1] = b[i] + c[i]
        b[i] = c[i] * e[i]
        d[i] = a[i] * e[i]


@expansion("""
float t = 0.0f;
for (int i = 0; i < LEN; i++) {
    float s = b[i] * c[i];
    a[i] = s + t;
    t = s;
}
""")
def s252(a, b, c):
    t = np.float32(0)
    for i in range(a.shape[0]):
        s = b[i] * c[i]
        a[i] = s + t
        t = s


@expansion("""
for (int i = 0; i < LEN; i++)
    if (a[i] > b[i]) {
        float s = a[i] - b[i] * d[i];
        c[i] += s;
        a[i] = s;
    }
""")
def s253(a, b, c, d):
    for i in range(a.shape[0]):
        if a[i] > b[i]:
            s = a[i] - b[i] * d[i]
            c[i] += s
            a[i] = s


@expansion("""
float before = b[LEN - 1];
for (int i = 0; i < LEN; i++) {
    a[i] = (b[i] + before) * 0.5f;
    before = b[i];
}
""")
def s254(a, b):
    before = b[b.shape[0] - 1]
    for i in range(a.shape[0]):
        a[i] = (b[i] + before) * np.float32(0.5)
        before = b[i]


@expansion("""
float before = b[LEN - 1], earlier = b[LEN - 2];
for (int i = 0; i < LEN; i++) {
    a[i] = (b[i] + before + earlier) * 0.333f;
    earlier = before;
    before = b[i];
}
""")
def s255(a, b):
    before = b[b.shape[0] - 1]
    earlier = b[b.shape[0] - 2]
    for i in range(a.shape[0]):
        a[i] = (b[i] + before + earlier) * np.float32(0.333)
        earlier = before
        before = b[i]


@expansion("""
for (int i = 0; i < SIDE; i++)
    for (int j = 1; j < SIDE; j++) {
        a[j] = 1.0f - a[j - 1];
        aa[j][i] = a[j] + bb[j][i] * d[j];
    }
""")
def s256(a, d, aa, bb):
    n = aa.shape[0]
    for i in range(n):
        for j in range(1, n):
            a[j] = np.float32(1) - a[j - 1]
            aa[j, i] = a[j] + bb[j, i] * d[j]


@expansion("""
for (int i = 1; i < SIDE; i++)
    for (int j = 0; j < SIDE; j++) {
        a[i] = aa[j][i] - a[i - 1];
        aa[j][i] = a[i] + bb[j][i];
    }
""")
def s257(a, aa, bb):
    n = aa.shape[0]
    for i in range(1, n):
        for j in range(n):
            a[i] = aa[j, i] - a[i - 1]
            aa[j, i] = a[i] + bb[j, i]


@expansion("""
float s = 0.0f;
for (int i = 0; i < SIDE; i++) {
    if (a[i] > 0.0f)
        s = d[i] * d[i];
    b[i] = s * c[i] + d[i];
    e[i] = (s + 1.0f) * aa[0][i];
}
""")
def s258(a, b, c, d, e, aa):
    s = np.float32(0)
    for i in range(aa.shape[0]):
        if a[i] > 0:
            s = d[i] * d[i]
        b[i] = s * c[i] + d[i]
        e[i] = (s + np.float32(1)) * aa[0, i]


@expansion("""
for (int i = 1; i < LEN; i++) {
    float t = a[i] + b[i];
    a[i] = t + c[i - 1];
    t = c[i] * d[i];
    c[i] = t;
}
""")
def s261(a, b, c, d):
    for i in range(1, a.shape[0]):
        t = a[i] + b[i]
        a[i] = t + c[i - 1]
        t = c[i] * d[i]
        c[i] = t
