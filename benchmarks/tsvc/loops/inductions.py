"""Induction variables, and what is known of scalars across statements and functions: data flow, control flow, symbols."""

from benchmarks.tsvc.entry import heading

induction = heading("induction variable recognition")
flow = heading("global data flow analysis")
nonlinear = heading("nonlinear dependence testing")
interprocedural = heading("interprocedural data flow analysis")
control = heading("control flow")
symbolics = heading("symbolics")


@induction("""
for (int i = 0; i < LEN - 1; i++) {
    int j = i + 1;
    a[i] = a[j] + b[i];
}
""")
def s121(a, b):
    for i in range(a.shape[0] - 1):
        j = i + 1
        a[i] = a[j] + b[i]


@induction(
    """
int j = 1, k = 0;
for (int i = n1 - 1; i < LEN; i += n3) {
    k += j;
    a[i] += b[LEN - k];
}
""",
    n1=1,
    n3=1,
)
def s122(a, b, n1, n3):
    n = a.shape[0]
    j = 1
    k = 0
    for i in range(n1 - 1, n, n3):
        k += j
        a[i] += b[n - k]


@induction("""
int j = -1;
for (int i = 0; i < LEN / 2; i++) {
    j++;
    a[j] = b[i] + d[i] * e[i];
    if (c[i] > 0.0f) {
        j++;
        a[j] = c[i] + d[i] * e[i];
    }
}
""")
def s123(a, b, c, d, e):
    j = -1
    for i in range(a.shape[0] // 2):
        j += 1
        a[j] = b[i] + d[i] * e[i]
        if c[i] > 0:
            j += 1
            a[j] = c[i] + d[i] * e[i]


@induction("""
int j = -1;
for (int i = 0; i < LEN; i++) {
    if (b[i] > 0.0f) {
        j++;
        a[j] = b[i] + d[i] * e[i];
    } else {
        j++;
        a[j] = c[i] + d[i] * e[i];
    }
}
""")
def s124(a, b, c, d, e):
    j = -1
    for i in range(a.shape[0]):
        if b[i] > 0:
            j += 1
            a[j] = b[i] + d[i] * e[i]
        else:
            j += 1
            a[j] = c[i] + d[i] * e[i]


@induction("""
int k = -1;
for (int i = 0; i < SIDE; i++)
    for (int j = 0; j < SIDE; j++) {
        k++;
        flat[k] = aa[i][j] + bb[i][j] * cc[i][j];
    }
""")
def s125(flat, aa, bb, cc):
    n = aa.shape[0]
    k = -1
    for i in range(n):
        for j in range(n):
            k += 1
            flat[k] = aa[i, j] + bb[i, j] * cc[i, j]


@induction("""
int k = 1;
for (int i = 0; i < SIDE; i++) {
    for (int j = 1; j < SIDE; j++) {
        bb[j][i] = bb[j - 1][i] + flat[k - 1] * cc[j][i];
        k++;
    }
    k++;
}
""")
def s126(flat, bb, cc):
    n = bb.shape[0]
    k = 1
    for i in range(n):
        for j in range(1, n):
            bb[j, i] = bb[j - 1, i] + flat[k - 1] * cc[j, i]
            k += 1
        k += 1


@induction("""
int j = -1;
for (int i = 0; i < LEN / 2; i++) {
    j++;
    a[j] = b[i] + c[i] * d[i];
    j++;
    a[j] = b[i] + d[i] * e[i];
}
""")
def s127(a, b, c, d, e):
    j = -1
    for i in range(a.shape[0] // 2):
        j += 1
        a[j] = b[i] + c[i] * d[i]
        j += 1
        a[j] = b[i] + d[i] * e[i]


@induction("""
int j = -1;
for (int i = 0; i < LEN / 2; i++) {
    int k = j + 1;
    a[i] = b[k] - d[i];
    j = k + 1;
    b[k] = a[i] + c[k];
}
""")
def s128(a, b, c, d):
    j = -1
    for i in range(a.shape[0] // 2):
        k = j + 1
        a[i] = b[k] - d[i]
        j = k + 1
        b[k] = a[i] + c[k]


@flow("""
int m = 1;
for (int i = 0; i < LEN - 1; i++)
    a[i] = a[i + m] + b[i];
""")
def s131(a, b):
    m = 1
    for i in range(a.shape[0] - 1):
        a[i] = a[i + m] + b[i]


@flow("""
int m = 0, j = m, k = m + 1;
for (int i = 1; i < SIDE; i++)
    aa[j][i] = aa[k][i - 1] + b[i] * c[1];
""")
def s132(aa, b, c):
    m = 0
    j = m
    k = m + 1
    for i in range(1, aa.shape[0]):
        aa[j, i] = aa[k, i - 1] + b[i] * c[1]


@nonlinear("""
for (int i = 0; i < SIDE; i++) {
    int k = (i + 1) * i / 2 + i;
    for (int j = i; j < SIDE; j++) {
        flat[k] += bb[j][i];
        k += j + 1;
    }
}
""")
def s141(flat, bb):
    n = bb.shape[0]
    for i in range(n):
        k = (i + 1) * i // 2 + i
        for j in range(i, n):
            flat[k] += bb[j, i]
            k += j + 1


def shifted_sum(a, b, m):
    """Adds b to the elements of a that are m places further."""
    for i in range(a.shape[0] - 1):
        a[i] = a[i + m] + b[i]


@interprocedural("shifted_sum(1);")
def s151(a, b):
    shifted_sum(a, b, 1)


def add_product(a, b, c, i):
    """Adds a product to one element."""
    a[i] += b[i] * c[i]


@interprocedural("""
for (int i = 0; i < LEN; i++) {
    b[i] = d[i] * e[i];
    add_product(i);
}
""")
def s152(a, b, c, d, e):
    for i in range(a.shape[0]):
        b[i] = d[i] * e[i]
        add_product(a, b, c, i)


@control("""
for (int i = 0; i < LEN - 1; i++) {
    if (b[i] < 0.0f)
        c[i + 1] = a[i] + d[i] * d[i];
    else
        a[i] = c[i] + d[i] * e[i];
}
""")
def s161(a, b, c, d, e):
    for i in range(a.shape[0] - 1):
        if b[i] < 0:
            c[i + 1] = a[i] + d[i] * d[i]
        else:
            a[i] = c[i] + d[i] * e[i]


@control("""
for (int i = 0; i < LEN - 1; i++) {
    if (c[i] < 0.0f)
        b[i] = a[i] + d[i] * d[i];
    else
        a[i] = c[i] + d[i] * e[i];
}
""")
def s1161(a, b, c, d, e):
    for i in range(a.shape[0] - 1):
        if c[i] < 0:
            b[i] = a[i] + d[i] * d[i]
        else:
            a[i] = c[i] + d[i] * e[i]


@control(
    """
if (k > 0)
    for (int i = 0; i < LEN - 1; i++)
        a[i] = a[i + k] + b[i] * c[i];
""",
    k=1,
)
def s162(a, b, c, k):
    if k > 0:
        for i in range(a.shape[0] - 1):
            a[i] = a[i + k] + b[i] * c[i]


@symbolics(
    """
for (int i = 0; i < LEN; i++)
    a[i * inc] += b[i];
""",
    inc=1,
)
def s171(a, b, inc):
    for i in range(a.shape[0]):
        a[i * inc] += b[i]


@symbolics(
    """
for (int i = n1 - 1; i < LEN; i += n3)
    a[i] += b[i];
""",
    n1=1,
    n3=1,
)
def s172(a, b, n1, n3):
    for i in range(n1 - 1, a.shape[0], n3):
        a[i] += b[i]


@symbolics("""
int k = LEN / 2;
for (int i = 0; i < LEN / 2; i++)
    a[i + k] = a[i] + b[i];
""")
def s173(a, b):
    k = a.shape[0] // 2
    for i in range(a.shape[0] // 2):
        a[i + k] = a[i] + b[i]


@symbolics(
    """
for (int i = 0; i < m; i++)
    a[i + m] = a[i] + b[i];
""",
    m=lambda size: size.length // 2,
)
def s174(a, b, m):
    for i in range(m):
        a[i + m] = a[i] + b[i]


@symbolics(
    """
for (int i = 0; i < LEN - 1; i += inc)
    a[i] = a[i + inc] + b[i];
""",
    inc=1,
)
def s175(a, b, inc):
    for i in range(0, a.shape[0] - 1, inc):
        a[i] = a[i + inc] + b[i]


@symbolics("""
int m = LEN / 2;
for (int j = 0; j < LEN / 2; j++)
    for (int i = 0; i < m; i++)
        a[i] += b[i + m - j - 1] * c[j];
""")
def s176(a, b, c):
    m = a.shape[0] // 2
    for j in range(m):
        for i in range(m):
            a[i] += b[i + m - j - 1] * c[j]
