"""Statement reordering, loop distribution, loop interchange and node splitting: what must be taken apart, or done in another order."""

from benchmarks.tsvc.entry import heading

reordering = heading("statement reordering")
distribution = heading("loop distribution")
interchange = heading("loop interchange")
splitting = heading("node splitting")


@reordering("""
for (int i = 1; i < LEN - 1; i++) {
    a[i] = b[i - 1] + c[i] * d[i];
    b[i] = b[i + 1] - e[i] * d[i];
}
""")
def s211(a, b, c, d, e):
    for i in range(1, a.shape[0] - 1):
        a[i] = b[i - 1] + c[i] * d[i]
        b[i] = b[i + 1] - e[i] * d[i]


@reordering("""
for (int i = 0; i < LEN - 1; i++) {
    a[i] *= c[i];
    b[i] += a[i + 1] * d[i];
}
""")
def s212(a, b, c, d):
    for i in range(a.shape[0] - 1):
        a[i] *= c[i]
        b[i] += a[i + 1] * d[i]


@reordering("""
for (int i = 1; i < LEN - 1; i++) {
    a[i] = b[i - 1] + c[i];
    b[i] = a[i + 1] * d[i];
}
""")
def s1213(a, b, c, d):
    for i in range(1, a.shape[0] - 1):
        a[i] = b[i - 1] + c[i]
        b[i] = a[i + 1] * d[i]


@distribution("""
for (int i = 1; i < LEN; i++) {
    a[i] += c[i] * d[i];
    b[i] = b[i - 1] + a[i] + d[i];
}
""")
def s221(a, b, c, d):
    for i in range(1, a.shape[0]):
        a[i] += c[i] * d[i]
        b[i] = b[i - 1] + a[i] + d[i]


@distribution("""
for (int i = 4; i < LEN; i++)
    b[i] = b[i - 4] + a[i];
""")
def s1221(a, b):
    for i in range(4, a.shape[0]):
        b[i] = b[i - 4] + a[i]


@distribution("""
for (int i = 1; i < LEN; i++) {
    a[i] += b[i] * c[i];
    e[i] = e[i - 1] * e[i - 1];
    a[i] -= b[i] * c[i];
}
""")
def s222(a, b, c, e):
    for i in range(1, a.shape[0]):
        a[i] += b[i] * c[i]
        e[i] = e[i - 1] * e[i - 1]
        a[i] -= b[i] * c[i]


@interchange("""
for (int i = 0; i < SIDE; i++)
    for (int j = 1; j < SIDE; j++)
        aa[j][i] = aa[j - 1][i] + bb[j][i];
""")
def s231(aa, bb):
    n = aa.shape[0]
    for i in range(n):
        for j in range(1, n):
            aa[j, i] = aa[j - 1, i] + bb[j, i]


@interchange(
    """
for (int j = 1; j < SIDE; j++)
    for (int i = 1; i <= j; i++)
        aa[j][i] = aa[j][i - 1] * aa[j][i - 1] + bb[j][i];
""",
    aa="small",
    bb="small",
)
def s232(aa, bb):
    for j in range(1, aa.shape[0]):
        for i in range(1, j + 1):
            aa[j, i] = aa[j, i - 1] * aa[j, i - 1] + bb[j, i]


@interchange("""
for (int j = 0; j < SIDE; j++)
    for (int i = j; i < SIDE; i++)
        aa[i][j] = bb[i][j] + cc[i][j];
""")
def s1232(aa, bb, cc):
    n = aa.shape[0]
    for j in range(n):
        for i in range(j, n):
            aa[i, j] = bb[i, j] + cc[i, j]


@interchange("""
for (int i = 1; i < SIDE; i++) {
    for (int j = 1; j < SIDE; j++)
        aa[j][i] = aa[j - 1][i] + cc[j][i];
    for (int j = 1; j < SIDE; j++)
        bb[j][i] = bb[j][i - 1] + cc[j][i];
}
""")
def s233(aa, bb, cc):
    n = aa.shape[0]
    for i in range(1, n):
        for j in range(1, n):
            aa[j, i] = aa[j - 1, i] + cc[j, i]
        for j in range(1, n):
            bb[j, i] = bb[j, i - 1] + cc[j, i]


@interchange("""
for (int i = 1; i < SIDE; i++) {
    for (int j = 1; j < SIDE; j++)
        aa[j][i] = aa[j - 1][i] + cc[j][i];
    for (int j = 1; j < SIDE; j++)
        bb[i][j] = bb[i - 1][j] + cc[i][j];
}
""")
def s2233(aa, bb, cc):
    n = aa.shape[0]
    for i in range(1, n):
        for j in range(1, n):
            aa[j, i] = aa[j - 1, i] + cc[j, i]
        for j in range(1, n):
            bb[i, j] = bb[i - 1, j] + cc[i, j]


@interchange("""
for (int i = 0; i < SIDE; i++) {
    a[i] += b[i] * c[i];
    for (int j = 1; j < SIDE; j++)
        aa[j][i] = aa[j - 1][i] + bb[j][i] * a[i];
}
""")
def s235(a, b, c, aa, bb):
    n = aa.shape[0]
    for i in range(n):
        a[i] += b[i] * c[i]
        for j in range(1, n):
            aa[j, i] = aa[j - 1, i] + bb[j, i] * a[i]


@splitting("""
for (int i = 0; i < LEN - 1; i++) {
    a[i] = b[i] * c[i] * d[i];
    b[i] = a[i] * a[i + 1] * d[i];
}
""")
def s241(a, b, c, d):
    for i in range(a.shape[0] - 1):
        a[i] = b[i] * c[i] * d[i]
        b[i] = a[i] * a[i + 1] * d[i]


@splitting(
    """
for (int i = 1; i < LEN; i++)
    a[i] = a[i - 1] + s1 + s2 + b[i] + c[i] + d[i];
""",
    s1=0.001,
    s2=0.002,
)
def s242(a, b, c, d, s1, s2):
    for i in range(1, a.shape[0]):
        a[i] = a[i - 1] + s1 + s2 + b[i] + c[i] + d[i]


@splitting("""
for (int i = 0; i < LEN - 1; i++) {
    a[i] = b[i] + c[i] * d[i];
    b[i] = a[i] + d[i] * e[i];
    a[i] = b[i] + a[i + 1] * d[i];
}
""")
def s243(a, b, c, d, e):
    for i in range(a.shape[0] - 1):
        a[i] = b[i] + c[i] * d[i]
        b[i] = a[i] + d[i] * e[i]
        a[i] = b[i] + a[i + 1] * d[i]


@splitting("""
for (int i = 0; i < LEN - 1; i++) {
    a[i] = b[i] + c[i] * d[i];
    b[i] = c[i] + b[i];
    a[i + 1] = b[i] + a[i + 1] * d[i];
}
""")
def s244(a, b, c, d):
    for i in range(a.shape[0] - 1):
        a[i] = b[i] + c[i] * d[i]
        b[i] = c[i] + b[i]
        a[i + 1] = b[i] + a[i + 1] * d[i]


@splitting("""
for (int i = 0; i < LEN - 1; i++) {
    a[i] = b[i] + c[i] * c[i] + b[i] * b[i] + c[i];
    d[i] = a[i] + a[i + 1];
}
""")
def s1244(a, b, c, d):
    for i in range(a.shape[0] - 1):
        a[i] = b[i] + c[i] * c[i] + b[i] * b[i] + c[i]
        d[i] = a[i] + a[i + 1]


@splitting("""
for (int i = 0; i < LEN - 1; i++) {
    a[i + 1] = b[i] + e[i];
    a[i] = b[i] + c[i];
}
""")
def s2244(a, b, c, e):
    for i in range(a.shape[0] - 1):
        a[i + 1] = b[i] + e[i]
        a[i] = b[i] + c[i]
