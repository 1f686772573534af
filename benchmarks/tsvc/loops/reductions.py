"""Reductions and recurrences: loops that end in one number, or pass one on."""

import numpy as np

from benchmarks.tsvc.entry import heading

reduction = heading("reductions")
recurrence = heading("recurrences")


@reduction("""
float sum = 0.0f;
for (int i = 0; i < LEN; i++)
    sum += a[i];
result[0] = sum;
""")
def s311(a):
    total = np.float32(0)
    for i in range(a.shape[0]):
        total += a[i]
    return total


def sum_of_four(a, first):
    """Returns the sum of four elements in a row."""
    total = np.float32(0)
    for i in range(4):
        total += a[first + i]
    return total


@reduction("""
float sum = 0.0f;
sum += sum_of_four(a);
sum += sum_of_four(a + 4);
sum += sum_of_four(a + 8);
sum += sum_of_four(a + 12);
sum += sum_of_four(a + 16);
sum += sum_of_four(a + 20);
sum += sum_of_four(a + 24);
sum += sum_of_four(a + 28);
result[0] = sum;
""")
def s31111(a):
    total = np.float32(0)
    total += sum_of_four(a, 0)
    total += sum_of_four(a, 4)
    total += sum_of_four(a, 8)
    total += sum_of_four(a, 12)
    total += sum_of_four(a, 16)
    total += sum_of_four(a, 20)
    total += sum_of_four(a, 24)
    total += sum_of_four(a, 28)
    return total


@reduction(
    """
float product = 1.0f;
for (int i = 0; i < LEN; i++)
    product *= a[i];
result[0] = product;
""",
    a="near one",
)
def s312(a):
    product = np.float32(1)
    for i in range(a.shape[0]):
        product *= a[i]
    return product


@reduction("""
float dot = 0.0f;
for (int i = 0; i < LEN; i++)
    dot += a[i] * b[i];
result[0] = dot;
""")
def s313(a, b):
    dot = np.float32(0)
    for i in range(a.shape[0]):
        dot += a[i] * b[i]
    return dot


@reduction("""
float most = a[0];
for (int i = 0; i < LEN; i++)
    if (a[i] > most)
        most = a[i];
result[0] = most;
""")
def s314(a):
    most = a[0]
    for i in range(a.shape[0]):
        if a[i] > most:
            most = a[i]
    return most


@reduction("""
float most = a[0];
int index = 0;
for (int i = 0; i < LEN; i++)
    if (a[i] > most) {
        most = a[i];
        index = i;
    }
result[0] = most;
result[1] = index;
""")
def s315(a):
    most = a[0]
    index = 0
    for i in range(a.shape[0]):
        if a[i] > most:
            most = a[i]
            index = i
    return most, index


@reduction("""
float least = a[0];
for (int i = 1; i < LEN; i++)
    if (a[i] < least)
        least = a[i];
result[0] = least;
""")
def s316(a):
    least = a[0]
    for i in range(1, a.shape[0]):
        if a[i] < least:
            least = a[i]
    return least


@reduction(
    """
float power = 1.0f;
for (int i = 0; i < n / 2; i++)
    power *= 0.99f;
result[0] = power;
""",
    n=lambda size: size.length,
)
def s317(n):
    power = np.float32(1)
    for _ in range(n // 2):
        power *= np.float32(0.99)
    return power


@reduction(
    """
int k = 0, index = 0;
float most = fabsf(a[0]);
k += inc;
for (int i = 1; i < LEN; i++) {
    if (fabsf(a[k]) > most) {
        index = i;
        most = fabsf(a[k]);
    }
    k += inc;
}
result[0] = most;
result[1] = index;
""",
    inc=1,
)
def s318(a, inc):
    k = 0
    index = 0
    most = abs(a[0])
    k += inc
    for i in range(1, a.shape[0]):
        if abs(a[k]) > most:
            index = i
            most = abs(a[k])
        k += inc
    return most, index


@reduction("""
float sum = 0.0f;
for (int i = 0; i < LEN; i++) {
    a[i] = c[i] + d[i];
    sum += a[i];
    b[i] = c[i] + e[i];
    sum += b[i];
}
result[0] = sum;
""")
def s319(a, b, c, d, e):
    total = np.float32(0)
    for i in range(a.shape[0]):
        a[i] = c[i] + d[i]
        total += a[i]
        b[i] = c[i] + e[i]
        total += b[i]
    return total


@reduction("""
float most = aa[0][0];
int row = 0, column = 0;
for (int i = 0; i < SIDE; i++)
    for (int j = 0; j < SIDE; j++)
        if (aa[i][j] > most) {
            most = aa[i][j];
            row = i;
            column = j;
        }
result[0] = most;
result[1] = row;
result[2] = column;
""")
def s3110(aa):
    n = aa.shape[0]
    most = aa[0, 0]
    row = 0
    column = 0
    for i in range(n):
        for j in range(n):
            if aa[i, j] > most:
                most = aa[i, j]
                row = i
                column = j
    return most, row, column


@reduction("""
float most = aa[0][0];
for (int i = 0; i < SIDE; i++)
    for (int j = 0; j < SIDE; j++)
        if (aa[i][j] > most)
            most = aa[i][j];
result[0] = most;
""")
def s13110(aa):
    n = aa.shape[0]
    most = aa[0, 0]
    for i in range(n):
        for j in range(n):
            if aa[i, j] > most:
                most = aa[i, j]
    return most


@reduction("""
float sum = 0.0f;
for (int i = 0; i < LEN; i++)
    if (a[i] > 0.0f)
        sum += a[i];
result[0] = sum;
""")
def s3111(a):
    total = np.float32(0)
    for i in range(a.shape[0]):
        if a[i] > 0:
            total += a[i]
    return total


@reduction("""
float sum = 0.0f;
for (int i = 0; i < LEN; i++) {
    sum += a[i];
    b[i] = sum;
}
result[0] = sum;
""")
def s3112(a, b):
    total = np.float32(0)
    for i in range(a.shape[0]):
        total += a[i]
        b[i] = total
    return total


@reduction("""
float most = fabsf(a[0]);
for (int i = 0; i < LEN; i++)
    if (fabsf(a[i]) > most)
        most = fabsf(a[i]);
result[0] = most;
""")
def s3113(a):
    most = abs(a[0])
    for i in range(a.shape[0]):
        if abs(a[i]) > most:
            most = abs(a[i])
    return most


@recurrence("""
for (int i = 1; i < LEN; i++)
    a[i] += a[i - 1] * b[i];
""")
def s321(a, b):
    for i in range(1, a.shape[0]):
        a[i] += a[i - 1] * b[i]


@recurrence(
    """
for (int i = 2; i < LEN; i++)
    a[i] = a[i] + a[i - 1] * b[i] + a[i - 2] * c[i];
""",
    b="small",
    c="small",
)
def s322(a, b, c):
    for i in range(2, a.shape[0]):
        a[i] = a[i] + a[i - 1] * b[i] + a[i - 2] * c[i]


@recurrence("""
for (int i = 1; i < LEN; i++) {
    a[i] = b[i - 1] + c[i] * d[i];
    b[i] = a[i] + c[i] * e[i];
}
""")
def s323(a, b, c, d, e):
    for i in range(1, a.shape[0]):
        a[i] = b[i - 1] + c[i] * d[i]
        b[i] = a[i] + c[i] * e[i]
