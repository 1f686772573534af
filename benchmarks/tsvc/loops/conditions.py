"""Control flow inside loops: iterations that do one thing or another, decided by data or by their number."""

import numpy as np

from benchmarks.tsvc.entry import heading

control = heading("control flow")


@control("""
for (int i = 0; i < LEN; i++)
    if (b[i] > 0.0f)
        a[i] += b[i] * c[i];
""")
def s271(a, b, c):
    for i in range(a.shape[0]):
        if b[i] > 0:
            a[i] += b[i] * c[i]


@control(
    """
for (int i = 0; i < LEN; i++)
    if (e[i] >= t) {
        a[i] += c[i] * d[i];
        b[i] += c[i] * c[i];
    }
""",
    t=0.0,
)
def s272(a, b, c, d, e, t):
    for i in range(a.shape[0]):
        if e[i] >= t:
            a[i] += c[i] * d[i]
            b[i] += c[i] * c[i]


@control("""
for (int i = 0; i < LEN; i++) {
    a[i] += d[i] * e[i];
    if (a[i] < 0.0f)
        b[i] += d[i] * e[i];
    c[i] += a[i] * d[i];
}
""")
def s273(a, b, c, d, e):
    for i in range(a.shape[0]):
        a[i] += d[i] * e[i]
        if a[i] < 0:
            b[i] += d[i] * e[i]
        c[i] += a[i] * d[i]


@control("""
for (int i = 0; i < LEN; i++) {
    a[i] = c[i] + e[i] * d[i];
    if (a[i] > 0.0f)
        b[i] = a[i] + b[i];
    else
        a[i] = d[i] * e[i];
}
""")
def s274(a, b, c, d, e):
    for i in range(a.shape[0]):
        a[i] = c[i] + e[i] * d[i]
        if a[i] > 0:
            b[i] = a[i] + b[i]
        else:
            a[i] = d[i] * e[i]


@control("""
for (int i = 0; i < SIDE; i++)
    if (aa[0][i] > 0.0f)
        for (int j = 1; j < SIDE; j++)
            aa[j][i] = aa[j - 1][i] + bb[j][i] * cc[j][i];
""")
def s275(aa, bb, cc):
    n = aa.shape[0]
    for i in range(n):
        if aa[0, i] > 0:
            for j in range(1, n):
                aa[j, i] = aa[j - 1, i] + bb[j, i] * cc[j, i]


@control("""
for (int i = 0; i < SIDE; i++) {
    for (int j = 0; j < SIDE; j++)
        aa[j][i] = aa[j][i] + bb[j][i] * cc[j][i];
    a[i] = b[i] + c[i] * d[i];
}
""")
def s2275(a, b, c, d, aa, bb, cc):
    n = aa.shape[0]
    for i in range(n):
        for j in range(n):
            aa[j, i] = aa[j, i] + bb[j, i] * cc[j, i]
        a[i] = b[i] + c[i] * d[i]


@control("""
int mid = LEN / 2;
for (int i = 0; i < LEN; i++)
    if (i + 1 < mid)
        a[i] += b[i] * c[i];
    else
        a[i] += b[i] * d[i];
""")
def s276(a, b, c, d):
    mid = a.shape[0] // 2
    for i in range(a.shape[0]):
        if i + 1 < mid:
            a[i] += b[i] * c[i]
        else:
            a[i] += b[i] * d[i]


@control("""
for (int i = 0; i < LEN - 1; i++) {
    if (a[i] >= 0.0f)
        continue;
    if (b[i] < 0.0f)
        a[i] += c[i] * d[i];
    b[i + 1] = c[i] + d[i] * e[i];
}
""")
def s277(a, b, c, d, e):
    for i in range(a.shape[0] - 1):
        if a[i] >= 0:
            continue
        if b[i] < 0:
            a[i] += c[i] * d[i]
        b[i + 1] = c[i] + d[i] * e[i]


@control("""
for (int i = 0; i < LEN; i++) {
    if (a[i] > 0.0f)
        c[i] = -c[i] + d[i] * e[i];
    else
        b[i] = -b[i] + d[i] * e[i];
    a[i] = b[i] + c[i] * d[i];
}
""")
def s278(a, b, c, d, e):
    for i in range(a.shape[0]):
        if a[i] > 0:
            c[i] = -c[i] + d[i] * e[i]
        else:
            b[i] = -b[i] + d[i] * e[i]
        a[i] = b[i] + c[i] * d[i]


@control("""
for (int i = 0; i < LEN; i++) {
    if (a[i] > 0.0f) {
        c[i] = -c[i] + e[i] * e[i];
    } else {
        b[i] = -b[i] + d[i] * d[i];
        if (b[i] > a[i])
            c[i] += d[i] * e[i];
    }
    a[i] = b[i] + c[i] * d[i];
}
""")
def s279(a, b, c, d, e):
    for i in range(a.shape[0]):
        if a[i] > 0:
            c[i] = -c[i] + e[i] * e[i]
        else:
            b[i] = -b[i] + d[i] * d[i]
            if b[i] > a[i]:
                c[i] += d[i] * e[i]
        a[i] = b[i] + c[i] * d[i]


@control("""
for (int i = 0; i < LEN; i++)
    if (a[i] < 0.0f)
        if (b[i] > a[i])
            c[i] += d[i] * e[i];
""")
def s1279(a, b, c, d, e):
    for i in range(a.shape[0]):
        if a[i] < 0:
            if b[i] > a[i]:
                c[i] += d[i] * e[i]


@control(
    """
for (int i = 0; i < LEN; i++)
    if (a[i] > b[i]) {
        a[i] += b[i] * d[i];
        if (LEN > 10)
            c[i] += d[i] * d[i];
        else
            c[i] = d[i] * e[i] + 1.0f;
    } else {
        b[i] = a[i] + e[i] * e[i];
        if (t > 0.0f)
            c[i] = a[i] + d[i] * d[i];
        else
            c[i] += e[i] * e[i];
    }
""",
    t=1.0,
)
def s2710(a, b, c, d, e, t):
    n = a.shape[0]
    for i in range(n):
        if a[i] > b[i]:
            a[i] += b[i] * d[i]
            if n > 10:
                c[i] += d[i] * d[i]
            else:
                c[i] = d[i] * e[i] + np.float32(1)
        else:
            b[i] = a[i] + e[i] * e[i]
            if t > 0:
                c[i] = a[i] + d[i] * d[i]
            else:
                c[i] += e[i] * e[i]


@control("""
for (int i = 0; i < LEN; i++)
    if (b[i] != 0.0f)
        a[i] += b[i] * c[i];
""")
def s2711(a, b, c):
    for i in range(a.shape[0]):
        if b[i] != 0:
            a[i] += b[i] * c[i]


@control("""
for (int i = 0; i < LEN; i++)
    if (a[i] > b[i])
        a[i] += b[i] * c[i];
""")
def s2712(a, b, c):
    for i in range(a.shape[0]):
        if a[i] > b[i]:
            a[i] += b[i] * c[i]
