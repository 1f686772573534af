"""Search loops, packing, and loops that were unrolled by hand."""

import numpy as np

from benchmarks.tsvc.entry import heading

searching = heading("search loops")
packing = heading("packing")
rerolling = heading("loop rerolling")


@searching("""
int j = -1;
for (int i = 0; i < LEN; i++)
    if (a[i] < 0.0f)
        j = i;
result[0] = j;
""")
def s331(a):
    j = -1
    for i in range(a.shape[0]):
        if a[i] < 0:
            j = i
    return j


@searching(
    """
int index = -2;
float value = -1.0f;
for (int i = 0; i < LEN; i++)
    if (a[i] > t) {
        index = i;
        value = a[i];
        break;
    }
result[0] = value;
result[1] = index;
""",
    a="two at last",
    t=1.0,
)
def s332(a, t):
    index = -2
    value = np.float32(-1)
    for i in range(a.shape[0]):
        if a[i] > t:
            index = i
            value = a[i]
            break
    return value, index


@packing("""
int j = -1;
for (int i = 0; i < LEN; i++)
    if (b[i] > 0.0f) {
        j++;
        a[j] = b[i];
    }
""")
def s341(a, b):
    j = -1
    for i in range(a.shape[0]):
        if b[i] > 0:
            j += 1
            a[j] = b[i]


@packing("""
int j = -1;
for (int i = 0; i < LEN; i++)
    if (a[i] > 0.0f) {
        j++;
        a[i] = b[j];
    }
""")
def s342(a, b):
    j = -1
    for i in range(a.shape[0]):
        if a[i] > 0:
            j += 1
            a[i] = b[j]


@packing("""
int k = -1;
for (int i = 0; i < SIDE; i++)
    for (int j = 0; j < SIDE; j++)
        if (bb[j][i] > 0.0f) {
            k++;
            flat[k] = aa[j][i];
        }
""")
def s343(flat, aa, bb):
    n = aa.shape[0]
    k = -1
    for i in range(n):
        for j in range(n):
            if bb[j, i] > 0:
                k += 1
                flat[k] = aa[j, i]


@rerolling("""
float alpha = c[0];
for (int i = 0; i < LEN; i += 5) {
    a[i] += alpha * b[i];
    a[i + 1] += alpha * b[i + 1];
    a[i + 2] += alpha * b[i + 2];
    a[i + 3] += alpha * b[i + 3];
    a[i + 4] += alpha * b[i + 4];
}
""")
def s351(a, b, c):
    alpha = c[0]
    for i in range(0, a.shape[0], 5):
        a[i] += alpha * b[i]
        a[i + 1] += alpha * b[i + 1]
        a[i + 2] += alpha * b[i + 2]
        a[i + 3] += alpha * b[i + 3]
        a[i + 4] += alpha * b[i + 4]


@rerolling("""
float *to = a;
const float *left = b, *right = c;
for (int i = 0; i < LEN; i++)
    *to++ = *left++ + *right++;
""")
def s1351(a, b, c):
    for i in range(a.shape[0]):
        a[i] = b[i] + c[i]


@rerolling("""
float dot = 0.0f;
for (int i = 0; i < LEN; i += 5)
    dot = dot + a[i] * b[i] + a[i + 1] * b[i + 1] + a[i + 2] * b[i + 2] + a[i + 3] * b[i + 3] + a[i + 4] * b[i + 4];
result[0] = dot;
""")
def s352(a, b):
    dot = np.float32(0)
    for i in range(0, a.shape[0], 5):
        dot = dot + a[i] * b[i] + a[i + 1] * b[i + 1] + a[i + 2] * b[i + 2] + a[i + 3] * b[i + 3] + a[i + 4] * b[i + 4]
    return dot


@rerolling("""
float alpha = c[0];
for (int i = 0; i < LEN; i += 5) {
    a[i] += alpha * b[ip[i]];
    a[i + 1] += alpha * b[ip[i + 1]];
    a[i + 2] += alpha * b[ip[i + 2]];
    a[i + 3] += alpha * b[ip[i + 3]];
    a[i + 4] += alpha * b[ip[i + 4]];
}
""")
def s353(a, b, c, ip):
    alpha = c[0]
    for i in range(0, a.shape[0], 5):
        a[i] += alpha * b[ip[i]]
        a[i + 1] += alpha * b[ip[i + 1]]
        a[i + 2] += alpha * b[ip[i + 2]]
        a[i + 3] += alpha * b[ip[i + 3]]
        a[i + 4] += alpha * b[ip[i + 4]]
