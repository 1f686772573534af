"""Control loops: the simplest ones, which the others are compared with."""

import numpy as np

from benchmarks.tsvc.entry import heading

control = heading("control loops")


@control("""
for (int i = 0; i < LEN; i++)
    a[i] = b[i];
""")
def va(a, b):
    for i in range(a.shape[0]):
        a[i] = b[i]


@control("""
for (int i = 0; i < LEN; i++)
    a[i] = b[ip[i]];
""")
def vag(a, b, ip):
    for i in range(a.shape[0]):
        a[i] = b[ip[i]]


@control("""
for (int i = 0; i < LEN; i++)
    a[ip[i]] = b[i];
""")
def vas(a, b, ip):
    for i in range(a.shape[0]):
        a[ip[i]] = b[i]


@control("""
for (int i = 0; i < LEN; i++)
    if (b[i] > 0.0f)
        a[i] = b[i];
""")
def vif(a, b):
    for i in range(a.shape[0]):
        if b[i] > 0:
            a[i] = b[i]


@control("""
for (int i = 0; i < LEN; i++)
    a[i] += b[i];
""")
def vpv(a, b):
    for i in range(a.shape[0]):
        a[i] += b[i]


@control("""
for (int i = 0; i < LEN; i++)
    a[i] *= b[i];
""")
def vtv(a, b):
    for i in range(a.shape[0]):
        a[i] *= b[i]


@control("""
for (int i = 0; i < LEN; i++)
    a[i] += b[i] * c[i];
""")
def vpvtv(a, b, c):
    for i in range(a.shape[0]):
        a[i] += b[i] * c[i]


@control(
    """
for (int i = 0; i < LEN; i++)
    a[i] += b[i] * s;
""",
    s=1.5,
)
def vpvts(a, b, s):
    for i in range(a.shape[0]):
        a[i] += b[i] * s


@control("""
for (int i = 0; i < LEN; i++)
    a[i] += b[i] + c[i];
""")
def vpvpv(a, b, c):
    for i in range(a.shape[0]):
        a[i] += b[i] + c[i]


@control("""
for (int i = 0; i < LEN; i++)
    a[i] = a[i] * b[i] * c[i];
""")
def vtvtv(a, b, c):
    for i in range(a.shape[0]):
        a[i] = a[i] * b[i] * c[i]


@control("""
float sum = 0.0f;
for (int i = 0; i < LEN; i++)
    sum += a[i];
result[0] = sum;
""")
def vsumr(a):
    total = np.float32(0)
    for i in range(a.shape[0]):
        total += a[i]
    return total


@control("""
float dot = 0.0f;
for (int i = 0; i < LEN; i++)
    dot += a[i] * b[i];
result[0] = dot;
""")
def vdotr(a, b):
    dot = np.float32(0)
    for i in range(a.shape[0]):
        dot += a[i] * b[i]
    return dot


@control("""
for (int i = 0; i < SIDE; i++) {
    float p = a[i], q = b[i], r = c[i], s = d[i], t = e[i], u = aa[0][i];
    p = p * q * r + p * q * s + p * q * t + p * q * u + p * r * s + p * r * t + p * r * u + p * s * t + p * s * u + p * t * u;
    q = q * r * s + q * r * t + q * r * u + q * s * t + q * s * u + q * t * u;
    r = r * s * t + r * s * u + r * t * u;
    s = s * t * u;
    x[i] = p * q * r * s;
}
""")
def vbor(a, b, c, d, e, x, aa):
    for i in range(aa.shape[0]):
        p = a[i]
        q = b[i]
        r = c[i]
        s = d[i]
        t = e[i]
        u = aa[0, i]
        p = p * q * r + p * q * s + p * q * t + p * q * u + p * r * s + p * r * t + p * r * u + p * s * t + p * s * u + p * t * u
        q = q * r * s + q * r * t + q * r * u + q * s * t + q * s * u + q * t * u
        r = r * s * t + r * s * u + r * t * u
        s = s * t * u
        x[i] = p * q * r * s
