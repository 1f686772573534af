"""Completeness of the language: names for one storage, ways to branch and to leave, functions, and subscripts from arrays."""

import numpy as np

from benchmarks.tsvc.entry import heading

storage = heading("storage classes and equivalencing")
parameters = heading("parameter statements")
branches = heading("non-logical ifs")
intrinsics = heading("intrinsic functions")
calls = heading("call statements")
exits = heading("non-local gotos")
vectors = heading("vector semantics")
indirect = heading("indirect addressing")
functions = heading("statement functions")


@storage("""
float *xx = flat, *yy = xx;
for (int i = 0; i < LEN - 1; i++)
    xx[i] = yy[i + 1] + a[i];
""")
def s421(a, flat):
    xx = flat
    yy = xx
    for i in range(a.shape[0] - 1):
        xx[i] = yy[i + 1] + a[i]


@storage("""
float *xx = b + LEN / 2;
for (int i = 0; i < LEN / 2; i++)
    b[i] = xx[i] + a[i];
""")
def s1421(a, b):
    half = b.shape[0] // 2
    xx = b[half:]
    for i in range(half):
        b[i] = xx[i] + a[i]


@storage("""
float *xx = flat + 4;
for (int i = 0; i < LEN; i++)
    xx[i] = flat[i + 8] + a[i];
""")
def s422(a, flat):
    xx = flat[4:]
    for i in range(a.shape[0]):
        xx[i] = flat[i + 8] + a[i]


@storage("""
float *xx = flat + 64;
for (int i = 0; i < LEN - 1; i++)
    flat[i + 1] = xx[i] + a[i];
""")
def s423(a, flat):
    xx = flat[64:]
    for i in range(a.shape[0] - 1):
        flat[i + 1] = xx[i] + a[i]


@storage("""
float *xx = flat + 63;
for (int i = 0; i < LEN - 1; i++)
    xx[i + 1] = flat[i] + a[i];
""")
def s424(a, flat):
    xx = flat[63:]
    for i in range(a.shape[0] - 1):
        xx[i + 1] = flat[i] + a[i]


@parameters("""
int k1 = 1, k2 = 2, k = 2 * k1 - k2;
for (int i = 0; i < LEN; i++)
    a[i] = a[i + k] + b[i];
""")
def s431(a, b):
    k1 = 1
    k2 = 2
    k = 2 * k1 - k2
    for i in range(a.shape[0]):
        a[i] = a[i + k] + b[i]


@branches(
    """
for (int i = 0; i < LEN; i++)
    if (d[i] < 0.0f)
        a[i] += b[i] * c[i];
    else if (d[i] == 0.0f)
        a[i] += b[i] * b[i];
    else
        a[i] += c[i] * c[i];
""",
    d="signs",
)
def s441(a, b, c, d):
    for i in range(a.shape[0]):
        if d[i] < 0:
            a[i] += b[i] * c[i]
        elif d[i] == 0:
            a[i] += b[i] * b[i]
        else:
            a[i] += c[i] * c[i]


@branches("""
for (int i = 0; i < LEN; i++)
    switch (indx[i]) {
    case 2: a[i] += c[i] * c[i]; break;
    case 3: a[i] += d[i] * d[i]; break;
    case 4: a[i] += e[i] * e[i]; break;
    default: a[i] += b[i] * b[i];
    }
""")
def s442(a, b, c, d, e, indx):
    for i in range(a.shape[0]):
        if indx[i] == 2:
            a[i] += c[i] * c[i]
        elif indx[i] == 3:
            a[i] += d[i] * d[i]
        elif indx[i] == 4:
            a[i] += e[i] * e[i]
        else:
            a[i] += b[i] * b[i]


@branches("""
for (int i = 0; i < LEN; i++)
    if (d[i] <= 0.0f)
        a[i] += b[i] * c[i];
    else
        a[i] += b[i] * b[i];
""")
def s443(a, b, c, d):
    for i in range(a.shape[0]):
        if d[i] <= 0:
            a[i] += b[i] * c[i]
        else:
            a[i] += b[i] * b[i]


@intrinsics("""
for (int i = 0; i < LEN; i++)
    a[i] = sinf(b[i]) + cosf(c[i]);
""")
def s451(a, b, c):
    for i in range(a.shape[0]):
        a[i] = np.sin(b[i]) + np.cos(c[i])


@intrinsics("""
for (int i = 0; i < LEN; i++)
    a[i] = b[i] + c[i] * (float)(i + 1);
""")
def s452(a, b, c):
    for i in range(a.shape[0]):
        a[i] = b[i] + c[i] * np.float32(i + 1)


@intrinsics("""
float s = 0.0f;
for (int i = 0; i < LEN; i++) {
    s += 2.0f;
    a[i] = s * b[i];
}
""")
def s453(a, b):
    s = np.float32(0)
    for i in range(a.shape[0]):
        s += np.float32(2)
        a[i] = s * b[i]


def nothing():
    """Returns 0: a call that does nothing."""
    return 0


@calls("""
for (int i = 0; i < LEN; i++) {
    x[i] = b[i] + d[i] * d[i];
    nothing();
    b[i] = c[i] + d[i] * e[i];
}
""")
def s471(b, c, d, e, x):
    for i in range(x.shape[0]):
        x[i] = b[i] + d[i] * d[i]
        nothing()
        b[i] = c[i] + d[i] * e[i]


@exits(
    """
for (int i = 0; i < LEN; i++) {
    if (d[i] < 0.0f)
        return;
    a[i] += b[i] * c[i];
}
""",
    d="negative at last",
)
def s481(a, b, c, d):
    for i in range(a.shape[0]):
        if d[i] < 0:
            return
        a[i] += b[i] * c[i]


@exits(
    """
for (int i = 0; i < LEN; i++) {
    a[i] += b[i] * c[i];
    if (c[i] > b[i])
        break;
}
""",
    b="near one",
    c="two at last",
)
def s482(a, b, c):
    for i in range(a.shape[0]):
        a[i] += b[i] * c[i]
        if c[i] > b[i]:
            break


@vectors("""
for (int i = 0; i < LEN; i++)
    a[ip[i]] = b[i] + c[i] * d[i];
""")
def s491(a, b, c, d, ip):
    for i in range(a.shape[0]):
        a[ip[i]] = b[i] + c[i] * d[i]


@indirect(
    """
for (int i = 0; i < LEN; i++)
    a[i] += b[ip[i]] * s;
""",
    s=1.5,
)
def s4112(a, b, ip, s):
    for i in range(a.shape[0]):
        a[i] += b[ip[i]] * s


@indirect("""
for (int i = 0; i < LEN; i++)
    a[ip[i]] = b[ip[i]] + c[i];
""")
def s4113(a, b, c, ip):
    for i in range(a.shape[0]):
        a[ip[i]] = b[ip[i]] + c[i]


@indirect(
    """
for (int i = n1 - 1; i < LEN; i++) {
    int k = ip[i];
    a[i] = b[i] + c[LEN - k - 1] * d[i];
}
""",
    n1=1,
)
def s4114(a, b, c, d, ip, n1):
    n = a.shape[0]
    for i in range(n1 - 1, n):
        k = ip[i]
        a[i] = b[i] + c[n - k - 1] * d[i]


@indirect("""
float sum = 0.0f;
for (int i = 0; i < LEN; i++)
    sum += a[i] * b[ip[i]];
result[0] = sum;
""")
def s4115(a, b, ip):
    total = np.float32(0)
    for i in range(a.shape[0]):
        total += a[i] * b[ip[i]]
    return total


@indirect(
    """
float sum = 0.0f;
for (int i = 0; i < SIDE - 1; i++) {
    int off = inc + i;
    sum += a[off] * aa[j - 1][ip[i]];
}
result[0] = sum;
""",
    j=lambda size: size.side // 2,
    inc=1,
)
def s4116(a, aa, ip, j, inc):
    total = np.float32(0)
    for i in range(aa.shape[0] - 1):
        off = inc + i
        total += a[off] * aa[j - 1, ip[i]]
    return total


@indirect("""
for (int i = 0; i < LEN; i++)
    a[i] = b[i] + c[i / 2] * d[i];
""")
def s4117(a, b, c, d):
    for i in range(a.shape[0]):
        a[i] = b[i] + c[i // 2] * d[i]


def product(left, right):
    """Returns a product."""
    return left * right


@functions("""
for (int i = 0; i < LEN; i++)
    a[i] += product(b[i], c[i]);
""")
def s4121(a, b, c):
    for i in range(a.shape[0]):
        a[i] += product(b[i], c[i])
